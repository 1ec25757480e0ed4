/*
 * devstat_find.c - searches each device of a sample in another one, in which all were replaced: with an
 * index beside devstat_finddev(), and shows how the cost grows with the devices. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devstat.h"

#define RUNS 5

static struct devstat *
make_list(int n, time_t created)
{
	struct devstat *list = calloc((size_t)n, sizeof(*list));

	for (int i = 0; list != NULL && i < n; i++) {
		(void)strcpy(list[i].device_name, "da");
		list[i].unit_number = i;
		list[i].creation_time.sec = created;
	}
	return list;
}

/* Returns the least time of a run in ms; -1 if a device was found. */
static double
measure(int n, int by_index)
{
	struct devstat *now = make_list(n, 2), *before = make_list(n, 1);
	double best = 1e9;

	for (int run = 0; run < RUNS && now != NULL && before != NULL; run++) {
		hrtime_t start = gethrtime();
		devstat_index_t *ix = by_index ? devstat_index_open(before, n) : NULL;
		double took;

		for (int i = 0; i < n; i++) {
			if ((by_index ? devstat_index_find(ix, &now[i]) :
			    devstat_finddev(before, n, &now[i], i)) != NULL)
				best = -1;
		}
		devstat_index_close(ix);
		took = (double)(gethrtime() - start) / 1e6;
		if (took < best)
			best = took;
	}
	free(now);
	free(before);
	return best;
}

int
main(void)
{
	double index10 = measure(10000, 1), index20 = measure(20000, 1);
	double linear10 = measure(10000, 0), linear20 = measure(20000, 0);

	if (index10 < 0 || index20 < 0 || linear10 < 0 || linear20 < 0)
		return 1;
	printf("10,000 absent devices, by index\t%.2f ms\tdevstat_finddev() %.1f ms\t%.3f\t<= 0.1\t%s\n",
	    index10, linear10, index10 / linear10, index10 <= linear10 * 0.1 ? "met" : "missed");
	printf("20,000 absent devices, by index\t%.2f ms\tdevstat_finddev() %.1f ms\t%.3f\t<= 0.1\t%s\n",
	    index20, linear20, index20 / linear20, index20 <= linear20 * 0.1 ? "met" : "missed");
	printf("20,000 absent devices beside 10,000\t%.2f ms\t%.2f ms\t%.2f\t<= 3\t%s\n", index20, index10,
	    index20 / index10, index20 <= 3 * index10 ? "met" : "missed");
	return 0;
}
