/*
 * stats_updates.c - feeds n values to one recorder and prints nanoseconds a value; the driver
 * (bench/stats.lua) runs it alone for the time and under callgrind for the instructions.
 *
 *	stats_updates WHAT[:SET] N [LIBHDR]
 *
 * SET: lognormal (if there is none), uniform, bimodal, sorted, reversed, constant.
 * WHAT: nothing (the loop), sum3, lin10, lin20, user20, digest, hdr (HdrHistogram_c out of the
 * shared object LIBHDR), tdigest (a plain t-digest in doubles). SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kstat.h"
#include "statsblob.h"

#define VALUES (1u << 20)

static int64_t values[VALUES];

static uint64_t state = 88172645463325252u;

static double
uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) * 0x1p-53;
}

static double
normal(void)
{
	double sum = 0;

	for (int k = 0; k < 12; k++)
		sum += uniform();
	return sum - 6;
}

/* Lognormal as latencies are: median 50, the upper hundredth above 500. */
static int64_t
make_value(const char *set, size_t i)
{
	switch (set[0]) {
	case 'u':
		return (int64_t)(1e9 * uniform());
	case 'b':
		return (int64_t)((uniform() < 0.5 ? 1e4 : 1e6) * (1 + 0.1 * normal()));
	case 's':
		return (int64_t)i;
	case 'r':
		return (int64_t)(VALUES - i);
	case 'c':
		return 4711;
	default:
		return (int64_t)(50 * exp(normal()));
	}
}

/* --- the plain t-digest: merging, scale function k1, compression 100 ----------------- */

#define COMPRESSION 100
#define BUFFER 500
#define PI 3.14159265358979323846

struct centroid {
	double mean, weight;
};

static struct {
	struct centroid c[BUFFER + 2 * COMPRESSION];
	size_t n, merged;
	double total;
} td;

static int
by_mean(const void *a, const void *b)
{
	double x = ((const struct centroid *)a)->mean, y = ((const struct centroid *)b)->mean;

	return x < y ? -1 : x > y;
}

static void
td_merge(void)
{
	size_t to = 0;
	double done = 0, limit, q;

	qsort(td.c, td.n, sizeof(td.c[0]), by_mean);
	td.total = 0;
	for (size_t i = 0; i < td.n; i++)
		td.total += td.c[i].weight;
	limit = td.total * (sin(asin(-1) + 2 * PI / COMPRESSION) + 1) / 2;
	for (size_t i = 1; i < td.n; i++) {
		struct centroid *c = &td.c[to], *d = &td.c[i];

		if (done + c->weight + d->weight <= limit) {
			c->weight += d->weight;
			c->mean += (d->mean - c->mean) * d->weight / c->weight;
			continue;
		}
		done += c->weight;
		q = asin(fmin(1, 2 * done / td.total - 1)) + 2 * PI / COMPRESSION;
		limit = q >= PI / 2 ? td.total : td.total * (sin(q) + 1) / 2;
		td.c[++to] = *d;
	}
	td.n = td.merged = to + 1;
}

static void
td_add(double v)
{
	if (td.n == td.merged + BUFFER)
		td_merge();
	td.c[td.n++] = (struct centroid){ v, 1 };
}

/* --- the recorders --------------------------------------------------------------------- */

static struct statsblob *
make_blob(const char *what)
{
	struct voistatspec lin10[] = { STATS_VSS_SUM(), STATS_VSS_MIN(), STATS_VSS_MAX(),
		STATS_VSS_CRHIST32_LIN(0, 90, 10, 0) };
	struct voistatspec lin20[] = { STATS_VSS_SUM(), STATS_VSS_MIN(), STATS_VSS_MAX(),
		STATS_VSS_CRHIST32_LIN(0, 190, 10, 0) };
	struct voistatspec user20[] = { STATS_VSS_SUM(), STATS_VSS_MIN(), STATS_VSS_MAX(),
		STATS_VSS_CRHIST32_USR(HBKTS(CRBKT(0), CRBKT(1), CRBKT(2), CRBKT(3), CRBKT(5),
		    CRBKT(7), CRBKT(10), CRBKT(14), CRBKT(20), CRBKT(28), CRBKT(40), CRBKT(56),
		    CRBKT(80), CRBKT(113), CRBKT(160), CRBKT(226), CRBKT(320), CRBKT(453),
		    CRBKT(640), CRBKT(905)), 0) };
	struct voistatspec digest[] = { STATS_VSS_SUM(), STATS_VSS_MAX(),
		STATS_VSS_TDGSTCLUST64(100, 10) };
	struct voistatspec *vss = lin10;
	uint32_t n = 3;
	int id = stats_tpl_alloc("bench", 0);

	if (what[0] == 'd') {
		vss = digest;
	} else if (what[0] != 's') {
		n = 4;
		vss = what[0] == 'u' ? user20 : what[3] == '1' ? lin10 : lin20;
	}
	if (stats_tpl_add_voistats((uint32_t)id, 0, "value", VSD_DTYPE_INT_S64, n, vss, 0) != 0)
		return NULL;
	return stats_blob_alloc((uint32_t)id, 0);
}

typedef bool (*hdr_record)(void *h, int64_t v);
typedef int (*hdr_init)(int64_t lowest, int64_t highest, int digits, void **h);

static void *hdr;
static hdr_record hdr_add;

static bool
hdr_open(const char *path)
{
	void *lib = path != NULL ? dlopen(path, RTLD_NOW) : NULL;
	hdr_init init;

	if (lib == NULL)
		return false;
	init = (hdr_init)(uintptr_t)dlsym(lib, "hdr_init");
	hdr_add = (hdr_record)(uintptr_t)dlsym(lib, "hdr_record_value");
	return init != NULL && hdr_add != NULL && init(1, 3600000000, 3, &hdr) == 0;
}

int
main(int argc, char **argv)
{
	const char *what = argc >= 3 ? argv[1] : "";
	long n = argc >= 3 ? atol(argv[2]) : 0;
	const char *set = strchr(what, ':');
	struct statsblob *sb = NULL;
	hrtime_t t;

	if (n <= 0)
		return 2;
	for (size_t i = 0; i < VALUES; i++)
		values[i] = make_value(set != NULL ? set + 1 : "", i);
	if (what[0] == 'h' ? !hdr_open(argc > 3 ? argv[3] : NULL)
	                   : what[0] != 'n' && what[0] != 't' && (sb = make_blob(what)) == NULL)
		return 2;
	t = gethrtime();
	switch (what[0]) {
	case 'n':
		for (long i = 0; i < n; i++)
			__asm__ volatile("" : : "r"(values[i % VALUES]));
		break;
	case 't':
		for (long i = 0; i < n; i++)
			td_add((double)values[i % VALUES]);
		break;
	case 'h':
		for (long i = 0; i < n; i++)
			(void)hdr_add(hdr, values[i % VALUES]);
		break;
	default:
		for (long i = 0; i < n; i++)
			(void)stats_voi_update_abs_s64(sb, 0, values[i % VALUES]);
	}
	t = gethrtime() - t;
	(void)printf("%.3f\n", (double)t / (double)n);
	stats_blob_destroy(sb);
	return 0;
}
