/*
 * tdigest_reference.h - what the t-digest is measured with: data sets, true ranks, and a
 * merging t-digest with scale k1 in plain doubles. For spec/c/core_tdigest.c and bench/tdigest.c.
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

/* Value i of n of the data sets by which digests are compared; false if there is no set of that name. */
static int
ref_hard_value(const char *kind, uint64_t *s, size_t i, size_t n, double *v)
{
	size_t block = n / 100 + 1;

	if (strcmp(kind, "pareto") == 0)
		*v = 1000 * pow(ref_random(s), -1 / 1.5);
	else if (strcmp(kind, "zipf") == 0) /* the continuous law, cut to integers */
		*v = floor(pow(1 - ref_random(s) * (1 - pow(1e4, -0.1)), -10));
	else if (strcmp(kind, "gap") == 0)
		*v = ref_random(s) < 0.5 ? 1000 + 100 * ref_normal(s) : 1e9 + 1e8 * ref_normal(s);
	else if (strcmp(kind, "gamma") == 0)
		*v = -10000 * log(ref_random(s) * ref_random(s));
	else if (strcmp(kind, "blocks") == 0)
		*v = (double)(i % block) / (double)block * 1e6 + 10 * ref_random(s);
	else if (strcmp(kind, "sawtooth") == 0)
		*v = (double)(i % 1000) * 1000 + 1000 * ref_random(s);
	else if (strcmp(kind, "ties") == 0)
		*v = floor(300 + 50 * ref_normal(s));
	else if (strcmp(kind, "duplicates") == 0)
		*v = ref_random(s) < 0.9 ? 5000 : -20000 * log(ref_random(s));
	else if (strcmp(kind, "exponential") == 0)
		*v = -1e5 * log(ref_random(s));
	else if (strcmp(kind, "cauchy") == 0)
		*v = 1e5 * tan(3.141592653589793 * (ref_random(s) - 0.5));
	else
		return 0;
	*v = fmax(fmin(*v, 1e13), -1e13);
	return 1;
}

static const char *const ref_hard_sets[] = { "pareto", "zipf", "gap", "gamma", "blocks", "sawtooth", "ties",
	"duplicates", "exponential", "cauchy" };

/* The values of a set, which the caller frees; NULL if there is no such kind. */
static int64_t *
ref_values(const struct ref_set *set)
{
	int64_t *v = malloc((set->n > 0 ? set->n : 1) * sizeof(*v));
	uint64_t s = set->a, e;
	double x;
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
		} else if (ref_hard_value(set->kind, &s, i, set->n, &x)) {
			v[i] = (int64_t)x;
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

/*
 * --- the merging t-digest of Dunning and Ertl (Computing extremely accurate quantiles using t-digests, 2019), with
 * its scale function k1(q) = d / (2 pi) asin(2 q - 1): of compression d it has at most d centroids ---
 */

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

/* The weight up to which a centroid may reach that begins behind the weight `before`. */
static double
ref_digest_limit(const struct ref_digest *d, double before)
{
	double angle = asin(2 * fmin(before / d->count, 1) - 1) + 6.283185307179586 / d->compression;

	return angle >= 1.5707963267948966 ? d->count : d->count * (sin(angle) + 1) / 2;
}

static void
ref_digest_compress(struct ref_digest *d)
{
	double before = 0, limit = ref_digest_limit(d, 0), w;
	size_t i, cur = 0;

	if (d->nall == d->nmerged)
		return;
	qsort(d->c, d->nall, sizeof(*d->c), ref_centroid_compare);
	for (i = 1; i < d->nall; i++) {
		w = d->c[cur].weight + d->c[i].weight;
		if (before + w <= limit) {
			d->c[cur].weight = w;
			d->c[cur].mean += (d->c[i].mean - d->c[cur].mean) * d->c[i].weight / w;
		} else {
			before += d->c[cur].weight;
			limit = ref_digest_limit(d, before);
			d->c[++cur] = d->c[i];
		}
	}
	d->nmerged = d->nall = cur + 1;
}

static void
ref_digest_add_weighted(struct ref_digest *d, double x, double weight)
{
	if (d->nall == d->cap)
		ref_digest_compress(d);
	d->min = d->count == 0 || x < d->min ? x : d->min;
	d->max = d->count == 0 || x > d->max ? x : d->max;
	d->c[d->nall++] = (struct ref_centroid){ x, weight };
	d->count += weight;
}

static void
ref_digest_add(struct ref_digest *d, double x)
{
	ref_digest_add_weighted(d, x, 1);
}

/* Adds what another digest holds. */
static inline void
ref_digest_merge(struct ref_digest *d, struct ref_digest *from)
{
	ref_digest_compress(from);
	for (size_t i = 0; i < from->nmerged; i++)
		ref_digest_add_weighted(d, from->c[i].mean, from->c[i].weight);
	d->min = fmin(d->min, from->min);
	d->max = fmax(d->max, from->max);
}

static double
ref_digest_quantile(struct ref_digest *d, double q)
{
	double rank = q * d->count, before = 0, x0 = 0, y0 = d->min, x1, y1;
	size_t i;

	ref_digest_compress(d);
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
