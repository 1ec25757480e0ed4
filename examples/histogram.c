/*
 * histogram.c - a distribution of sizes in powers of two, as kstat2_create_histogram(9F) makes it, that readers see.
 *
 *     cc examples/histogram.c $(pkg-config --cflags --libs kstat) -o histogram
 *     ./histogram 30 &
 *     kstat histogram::sizes
 *
 * Usage: histogram [SECONDS]. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#include <kstat_provider.h>

int
main(int argc, char **argv)
{
	const char *path[] = { "misc", "histogram", "0", "sizes" };
	kstat_pub_t *pub = kstat_publish("histogram", 0);
	kstat2_t *sizes = pub ? kstat2_publish_histogram(pub, path, 4, KSTAT2_NVHIST_LOG2, KSTAT2_NVMT_BYTES, 1,
	    KSTAT2_NVMF_NONE, 0, 0, 0, 0, "size of a request", KSTAT2_MF_NONE) : NULL;
	hrtime_t stop = gethrtime() + (hrtime_t)((argc > 1 ? atof(argv[1]) : 30) * 1e9);

	if (sizes == NULL || kstat2_install(sizes) != 0) {
		(void)fprintf(stderr, "histogram: %s\n", kstat_errmsg());
		return 1;
	}
	for (unsigned size = 1; gethrtime() < stop; size = size % 4096 + 1)
		(void)kstat2_hist_add_value(sizes, size);
	kstat_unpublish(pub);
	return 0;
}
