/*
 * devstat_hostile.c - arguments that no program should pass, and a device that cannot be read.
 * Prints a line for each. SPDX-License-Identifier: MIT
 */
#include <devstat.h>
#include <err.h>
#include <errno.h>
#include <kstat_provider.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int broken;

static int
update(kstat_t *ksp, int rw)
{
	(void)ksp;
	(void)rw;
	return broken ? EIO : 0;
}

static kstat_t *
add_disk(const char *name, int instance)
{
	kstat_t *ksp = kstat_create("da", instance, name, "disk", KSTAT_TYPE_IO, 1, 0);

	if (ksp == NULL)
		errx(1, "%s", kstat_errmsg());
	if (instance == 0)
		ksp->ks_update = update;
	if (kstat_install(ksp) != 0)
		errx(1, "%s", kstat_errmsg());
	return ksp;
}

static void
look(struct statinfo *stats)
{
	int changed = devstat_getdevs(NULL, stats);
	int numdevs = devstat_getnumdevs(NULL);

	(void)printf("changed %d devices %d of %d generation %ld %ld\n", changed,
	    stats->dinfo->numdevs, numdevs, stats->dinfo->generation, devstat_getgeneration(NULL));
}

static void
select_with(int num_selected, struct statinfo *stats, struct device_selection **sel, int *n,
    long *generation)
{
	int ret = devstat_selectdevs(sel, &num_selected, n, generation, stats->dinfo->generation,
	    stats->dinfo->devices, stats->dinfo->numdevs, NULL, 0, NULL, 0, DS_SELECT_ADD, 10, 1);

	(void)printf("select %d: %d selected\n", ret, num_selected);
}

int
main(void)
{
	struct devinfo dinfo = { 0 };
	struct statinfo stats = { .dinfo = &dinfo };
	struct device_selection *sel = NULL;
	kstat_t *disks[2] = { add_disk("da0", 0), add_disk("da1", 1) };
	long generation = 0;
	int n = 0;

	look(&stats);
	select_with(0, &stats, &sel, &n, &generation);
	select_with(1000000, &stats, &sel, &n, &generation);
	select_with(-7, &stats, &sel, &n, &generation);
	devstat_free(sel);

	broken = 1;
	look(&stats);
	look(&stats);
	broken = 0;
	look(&stats);
	look(&stats);

	errno = 0;
	if (devstat_list_open(NULL) == NULL && errno == EINVAL)
		(void)printf("%s\n", devstat_errbuf);
	(void)printf("%d\n", devstat_list_getdevs(NULL, &stats));
	devstat_list_close(NULL);
	devstat_swap(&stats, NULL);
	devstat_swap(NULL, &stats);
	(void)printf("swapped with nothing: %s\n", stats.dinfo == &dinfo ? "unchanged" : "changed");
	devstat_freedevs(&dinfo);
	devstat_close();
	kstat_delete(disks[0]);
	kstat_delete(disks[1]);
	return 0;
}
