/*
 * template.c - a template of a statsblob, and a blob of it: sum, extremes, a histogram and percentiles of two values of
 * interest, as examples/template.lua.
 *
 *     cc examples/template.c $(pkg-config --cflags --libs kstat) -o template && ./template
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include <statsblob.h>

enum { RTT, BYTES }; /* values of interest */

/* Returns the template's ID, or a negated errno. */
static int
make_template(void)
{
	struct voistatspec rtt[] = { STATS_VSS_SUM(), STATS_VSS_MIN(), STATS_VSS_MAX(), STATS_VSS_TDGSTCLUST64(50, 0) };
	struct voistatspec bytes[] = { STATS_VSS_SUM(), STATS_VSS_CRHIST32_EXP(0, 65536, 4, 4, VSD_HIST_UBOUND_INF) };
	int id = stats_tpl_alloc("answers", 0);
	int err = id < 0 ? -id : stats_tpl_add_voistats((uint32_t)id, RTT, "rtt", VSD_DTYPE_INT_U64, NVSS(rtt), rtt, 0);

	if (err == 0)
		err = stats_tpl_add_voistats((uint32_t)id, BYTES, "bytes", VSD_DTYPE_INT_U64, NVSS(bytes), bytes, 0);
	return err == 0 ? id : -err;
}

int
main(void)
{
	int id = make_template(), err = id < 0 ? -id : 0;
	struct statsblob *blob = id < 0 ? NULL : stats_blob_alloc((uint32_t)id, 0);
	uint64_t sum = 0, most = 0;
	double p99 = 0;

	for (uint64_t i = 1; err == 0 && i <= 1000; i++) {
		err = stats_voi_update_abs_u64(blob, RTT, i);
		if (err == 0)
			err = stats_voi_update_abs_u64(blob, BYTES, i * 100);
	}
	if (err == 0)
		err = stats_voistat_fetch_u64(blob, RTT, VS_STYPE_SUM, &sum);
	if (err == 0)
		err = stats_voistat_fetch_u64(blob, RTT, VS_STYPE_MAX, &most);
	if (err == 0)
		err = stats_voi_quantile(blob, RTT, 0.99, &p99, NULL);
	if (err == 0)
		(void)printf("rtt sum %ju max %ju p99 %.0f\n", (uintmax_t)sum, (uintmax_t)most, p99);
	else
		(void)fprintf(stderr, "template: %s\n", strerror(err));
	stats_blob_destroy(blob);
	return err != 0;
}
