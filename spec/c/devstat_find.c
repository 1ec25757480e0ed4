/*
 * devstat_find.c - the same devices in another list, by hint and by index, where they are in another order,
 * where they are gone and where there are many of them. Usage: devstat_find DEVICES. Prints what is
 * wrong, and at last how many searches there were. SPDX-License-Identifier: MIT
 */
#include <devstat.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long searches;

static struct devstat *
make_list(int n)
{
	struct devstat *list = calloc((size_t)n, sizeof(*list));

	if (list == NULL)
		errx(1, "out of memory");
	for (int i = 0; i < n; i++) {
		/* Every tenth has the name of another driver, and units come in no order. */
		(void)strcpy(list[i].device_name, i % 10 == 0 ? &"exactly16letters"[1] : "da");
		list[i].unit_number = (int)((unsigned)i * 7919u % (unsigned)n);
		list[i].creation_time.sec = i % 3;
		list[i].creation_time.frac = (uint64_t)i % 7 << 61;
		(void)snprintf(list[i].system_name, KSTAT_STRLEN, "disk%d", i);
	}
	return list;
}

static void
expect(const struct devstat *found, const struct devstat *want, const char *what, int i)
{
	searches++;
	if (found != want)
		(void)printf("%s %d: found %ld, not %ld\n", what, i, found == NULL ? -1L :
		    (long)found->device_number, want == NULL ? -1L : (long)want->device_number);
}

/* One field of a device differs: it is another one. */
static void
others(const devstat_index_t *ix, struct devstat *list, int n)
{
	struct devstat d[5];

	for (int i = 0; i < 5; i++)
		d[i] = list[n / 2];
	d[0].unit_number += n;
	d[1].creation_time.sec += 5;
	d[2].creation_time.frac++;
	d[3].device_name[0] ^= 1;
	(void)strcat(d[4].system_name, "p");
	for (int i = 0; i < 5; i++) {
		expect(devstat_index_find(ix, &d[i]), NULL, "other", i);
		expect(devstat_finddev(list, n, &d[i], i), NULL, "other by hint", i);
	}
}

int
main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10;
	struct devstat *list = make_list(n), *back = make_list(n), *gone = make_list(n);
	devstat_index_t *ix;

	for (int i = 0; i < n / 2; i++) {
		struct devstat d = back[i];

		back[i] = back[n - 1 - i];
		back[n - 1 - i] = d;
	}
	for (int i = 0; i < n; i++) {
		list[i].device_number = (uint32_t)i;
		gone[i].creation_time.sec += 10;
	}
	ix = devstat_index_open(list, n);
	if (ix == NULL)
		errx(1, "%s", devstat_errbuf);
	for (int i = 0; i < n; i++) {
		expect(devstat_index_find(ix, &back[i]), &list[n - 1 - i], "reversed", i);
		expect(devstat_index_find(ix, &gone[i]), NULL, "gone", i);
		expect(devstat_finddev(list, n, &list[i], i), &list[i], "in order", i);
	}
	others(ix, list, n);
	devstat_index_close(ix);
	/* Of two alike the first. */
	list[n - 1] = list[0];
	ix = devstat_index_open(list, n);
	expect(devstat_index_find(ix, &list[n - 1]), &list[0], "twice", 0);
	expect(devstat_index_find(ix, NULL), NULL, "no device", 0);
	devstat_index_close(ix);
	ix = devstat_index_open(NULL, 0);
	expect(devstat_index_find(ix, &list[0]), NULL, "no list", 0);
	devstat_index_close(ix);
	devstat_index_close(NULL);
	if (devstat_index_find(NULL, &list[0]) != NULL || devstat_index_open(NULL, 1) != NULL ||
	    errno != EINVAL || devstat_index_open(list, -1) != NULL || errno != EINVAL)
		(void)printf("what is no list has an index\n");
	(void)printf("%lu searches\n", searches);
	free(list);
	free(back);
	free(gone);
	return 0;
}
