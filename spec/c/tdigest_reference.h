/*
 * tdigest_reference.h - what the t-digest is measured with: data sets, true ranks, and a
 * merging t-digest in plain doubles. For spec/c/core_tdigest.c and bench/tdigest.c.
 * SPDX-License-Identifier: MIT
 */
#ifndef SPEC_TDIGEST_REFERENCE_H
#define SPEC_TDIGEST_REFERENCE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- data sets --- */

struct ref_set {
	const char *kind; /* constant, arith, lcg_uniform, lcg_explike, or one of those below */
	uint64_t a;       /* value, start, seed, seed */
	int64_t b;        /* -, step, lo, maxbits */
	uint64_t c;       /* -, -, span, - */
	size_t n;
};

static double
ref_random(uint64_t *s)
{
	uint64_t z;

	*s += UINT64_C(0x9e3779b97f4a7c15);
	z = *s;
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double
ref_normal(uint64_t *s)
{
	double u = ref_random(s), v = ref_random(s);

	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* The values of a set, which the caller frees; NULL if there is no such kind. */
static int64_t *
ref_values(const struct ref_set *set)
{
	int64_t *v = malloc((set->n > 0 ? set->n : 1) * sizeof(*v));
	uint64_t s = set->a, e;
	size_t i;

	for (i = 0; v != NULL && i < set->n; i++) {
		if (strcmp(set->kind, "constant") == 0) {
			v[i] = (int64_t)set->a;
		} else if (strcmp(set->kind, "arith") == 0) {
			v[i] = (int64_t)set->a + (int64_t)i * set->b;
		} else if (strncmp(set->kind, "lcg_", 4) == 0) {
			s = s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			if (strcmp(set->kind, "lcg_uniform") == 0) {
				v[i] = set->b + (int64_t)((s >> 33) % set->c);
			} else {
				e = UINT64_C(1) << ((s >> 58) % (uint64_t)set->b);
				v[i] = (int64_t)(e + (s >> 20) % e);
			}
		} else if (strcmp(set->kind, "lognormal") == 0) {
			v[i] = (int64_t)(100000 * exp(ref_normal(&s)));
		} else if (strcmp(set->kind, "uniform") == 0) {
			v[i] = (int64_t)(ref_random(&s) * 1e9);
		} else if (strcmp(set->kind, "bimodal") == 0) {
			v[i] = (int64_t)((ref_random(&s) < 0.5 ? 1e4 : 1e6) *
			    (1 + 0.1 * ref_normal(&s)));
		} else if (strcmp(set->kind, "sorted") == 0) {
			v[i] = (int64_t)i;
		} else if (strcmp(set->kind, "reversed") == 0) {
			v[i] = (int64_t)(set->n - i);
		} else {
			free(v);
			return NULL;
		}
	}
	return v;
}

/* --- truth --- */

static int
ref_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* How many of the sorted values are below x, or at most x. */
static size_t
ref_count(const int64_t *sorted, size_t n, double x, int or_equal)
{
	size_t lo = 0, hi = n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if ((double)sorted[mid] < x || (or_equal && (double)sorted[mid] == x))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The distance of q from [share of values < x, share of values <= x]. */
static double
ref_rank_error(const int64_t *sorted, size_t n, double x, double q)
{
	double lo = (double)ref_count(sorted, n, x, 0) / (double)n;
	double hi = (double)ref_count(sorted, n, x, 1) / (double)n;

	return q < lo ? lo - q : q > hi ? q - hi : 0;
}

/* --- the merging t-digest of Dunning and Ertl, size-limited as in common C versions --- */

struct ref_centroid {
	double mean;
	double weight;
};

struct ref_digest {
	double compression;
	size_t nmerged, nall, cap;
	double count, min, max;
	struct ref_centroid *c;
};

static struct ref_digest *
ref_digest_new(size_t compression)
{
	struct ref_digest *d = calloc(1, sizeof(*d));

	if (d == NULL)
		abort();
	d->compression = (double)compression;
	d->cap = 6 * compression + 10;
	d->c = calloc(d->cap, sizeof(*d->c));
	if (d->c == NULL)
		abort();
	return d;
}

static void
ref_digest_free(struct ref_digest *d)
{
	free(d->c);
	free(d);
}

static int
ref_centroid_compare(const void *a, const void *b)
{
	double x = ((const struct ref_centroid *)a)->mean;
	double y = ((const struct ref_centroid *)b)->mean;

	return x < y ? -1 : x > y;
}

static void
ref_digest_merge(struct ref_digest *d)
{
	double normalizer, before = 0, w, z, q0, q2;
	size_t i, cur = 0;

	if (d->nall == d->nmerged)
		return;
	qsort(d->c, d->nall, sizeof(*d->c), ref_centroid_compare);
	normalizer = d->compression / (6.283185307179586 * d->count * log(d->count));
	for (i = 1; i < d->nall; i++) {
		w = d->c[cur].weight + d->c[i].weight;
		z = w * normalizer;
		q0 = before / d->count;
		q2 = (before + w) / d->count;
		if (z <= q0 * (1 - q0) && z <= q2 * (1 - q2)) {
			d->c[cur].weight = w;
			d->c[cur].mean += (d->c[i].mean - d->c[cur].mean) * d->c[i].weight / w;
		} else {
			before += d->c[cur].weight;
			d->c[++cur] = d->c[i];
		}
	}
	d->nmerged = d->nall = cur + 1;
}

static void
ref_digest_add(struct ref_digest *d, double x)
{
	if (d->nall == d->cap)
		ref_digest_merge(d);
	d->min = d->count == 0 || x < d->min ? x : d->min;
	d->max = d->count == 0 || x > d->max ? x : d->max;
	d->c[d->nall++] = (struct ref_centroid){ x, 1 };
	d->count++;
}

static double
ref_digest_quantile(struct ref_digest *d, double q)
{
	double rank = q * d->count, before = 0, x0 = 0, y0 = d->min, x1, y1;
	size_t i;

	ref_digest_merge(d);
	for (i = 0; i <= d->nmerged; i++) {
		x1 = i < d->nmerged ? before + d->c[i].weight / 2 : d->count;
		y1 = i < d->nmerged ? d->c[i].mean : d->max;
		if (rank <= x1)
			return x1 > x0 ? y0 + (y1 - y0) * (rank - x0) / (x1 - x0) : y1;
		if (i < d->nmerged)
			before += d->c[i].weight;
		x0 = x1;
		y0 = y1;
	}
	return d->max;
}

#endif
