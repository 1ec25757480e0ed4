/*
 * core_tdigest.c - the t-digest, for spec/core/tdigest_spec.lua. SPDX-License-Identifier: MIT
 *
 *	core_tdigest set KIND N PREC SET A B C COUNT	a data set, see tdigest_reference.h
 *	core_tdigest merge PARTS KIND N SET COUNT	the same samples in so many digests
 *	core_tdigest compare PARTS N			mean errors on the sets of ref_hard_sets
 *	core_tdigest check NAME				one of the checks below
 *	core_tdigest checks				their names
 *
 * "set", "merge" and "compare" print one line of key=value; "check" prints what failed, or ok.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "stats/tdigest/scale.h"
#include "stats/tdigest/work.h"
#include "tdigest_reference.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

#define NQUANTILES 7

static const double quantiles[NQUANTILES] = { 0.01, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999 };

#define FAIL(...) \
	do { \
		printf("line %d: ", __LINE__); \
		printf(__VA_ARGS__); \
		printf("\n"); \
		return 1; \
	} while (0)
#define CHECK(cond) \
	do { \
		if (!(cond)) \
			FAIL("%s", #cond); \
	} while (0)

static void *
new_digest(int kind, size_t n, unsigned prec)
{
	void *td = malloc(ks_tdgst_size(kind, n));

	if (td == NULL)
		abort();
	ks_tdgst_init(td, kind, n, prec);
	return td;
}

static uint64_t
next(uint64_t *s)
{
	return (uint64_t)(ref_random(s) * 9007199254740992.0);
}

/* The sum of the centroids' counts, or 0 if they do not ascend. */
static uint64_t
weight(const void *td, int kind)
{
	static struct ks_tdgst_ctd c[KS_TDGST_MAXCTDS];
	size_t n = ks_tdgst_ctds(td, kind, c, COUNT(c)), i;
	uint64_t sum = 0;

	if (n > ks_tdgst_maxctds(td, kind))
		return 0;
	for (i = 0; i < n; i++) {
		if (i > 0 && c[i].mu < c[i - 1].mu)
			return 0;
		sum += c[i].cnt;
	}
	return sum;
}

/* --- accuracy --- */

struct errors {
	double ours[NQUANTILES], k1[NQUANTILES], bound[NQUANTILES];
	int extremes; /* the quantiles 0 and 1 are the least and the greatest value */
};

static void
print_errors(const char *key, const double *v)
{
	printf(" %s=", key);
	for (size_t i = 0; i < NQUANTILES; i++)
		printf("%s%.9f", i > 0 ? "," : "", v[i]);
}

/*
 * Adds the values of a set to the digests in turn, and to as many k1 digests of n centroids; merges both and
 * measures the rank errors. Returns how many values were refused; aborts if there is no such set.
 */
static size_t
measure(void **td, size_t ndigests, int kind, size_t n, const struct ref_set *set, struct errors *e)
{
	int64_t *v = ref_values(set);
	struct ref_digest **k1 = calloc(ndigests, sizeof(*k1));
	size_t i, refused = 0;
	double x, lo, hi;

	if (v == NULL || k1 == NULL)
		abort();
	for (i = 0; i < ndigests; i++)
		k1[i] = ref_digest_new(n);
	for (i = 0; i < set->n; i++) {
		refused += ks_tdgst_add_s64(td[i % ndigests], kind, v[i], 1) != 0;
		ref_digest_add(k1[i % ndigests], (double)v[i]);
	}
	for (i = 1; i < ndigests; i++) {
		refused += ks_tdgst_merge(td[0], td[i], kind) != 0;
		ref_digest_merge(k1[0], k1[i]);
	}
	qsort(v, set->n, sizeof(*v), ref_compare);
	for (i = 0; i < NQUANTILES; i++) {
		(void)ks_tdgst_quantile(td[0], kind, quantiles[i], &x);
		e->ours[i] = ref_rank_error(v, set->n, x, quantiles[i]);
		x = ref_digest_quantile(k1[0], quantiles[i]);
		e->k1[i] = ref_rank_error(v, set->n, x, quantiles[i]);
		e->bound[i] = ks_tdgst_bound(td[0], kind, quantiles[i]);
	}
	(void)ks_tdgst_quantile(td[0], kind, 0, &lo);
	(void)ks_tdgst_quantile(td[0], kind, 1, &hi);
	e->extremes = lo == (double)v[0] && hi == (double)v[set->n - 1];
	for (i = 0; i < ndigests; i++)
		ref_digest_free(k1[i]);
	free(k1);
	free(v);
	return refused;
}

/* Mean errors over the hard sets, of 10^3 to 10^5 values and with several seeds. */
static int
cmd_compare(size_t ndigests, size_t n)
{
	static const struct { size_t n; uint64_t seeds; } size[] = { { 1000, 8 }, { 10000, 6 }, { 100000, 2 } };
	void **td = calloc(ndigests, sizeof(*td));
	struct errors sum = { 0 }, e;
	size_t cases = 0, refused = 0;

	for (size_t i = 0; i < ndigests; i++)
		td[i] = new_digest(KS_TDGST64, n, 8);
	for (size_t set = 0; set < COUNT(ref_hard_sets); set++)
		for (size_t s = 0; s < COUNT(size); s++)
			for (uint64_t seed = 1; seed <= size[s].seeds; seed++, cases++) {
				const struct ref_set of = { .kind = ref_hard_sets[set], .a = seed * 7919,
					.n = size[s].n };

				for (size_t i = 0; i < ndigests; i++)
					ks_tdgst_reset(td[i], KS_TDGST64);
				refused += measure(td, ndigests, KS_TDGST64, n, &of, &e);
				for (size_t i = 0; i < NQUANTILES; i++) {
					sum.ours[i] += e.ours[i];
					sum.k1[i] += e.k1[i];
				}
			}
	for (size_t i = 0; i < NQUANTILES; i++) {
		sum.ours[i] /= (double)cases;
		sum.k1[i] /= (double)cases;
	}
	printf("cases=%zu refused=%zu", cases, refused);
	print_errors("ours", sum.ours);
	print_errors("k1", sum.k1);
	printf("\n");
	for (size_t i = 0; i < ndigests; i++)
		free(td[i]);
	free(td);
	return 0;
}

static int
cmd_measure(size_t ndigests, int kind, size_t n, unsigned prec, const struct ref_set *set)
{
	void **td = calloc(ndigests, sizeof(*td));
	struct errors e;
	size_t i, refused;

	for (i = 0; i < ndigests; i++)
		td[i] = new_digest(kind, n, prec);
	refused = measure(td, ndigests, kind, n, set, &e);
	printf("count=%" PRIu64 " refused=%zu weight=%" PRIu64 " nctds=%zu extremes=%d",
	    ks_tdgst_count(td[0], kind), refused, weight(td[0], kind),
	    ks_tdgst_ctds(td[0], kind, NULL, 0), e.extremes);
	print_errors("ours", e.ours);
	print_errors("k1", e.k1);
	print_errors("bound", e.bound);
	printf("\n");
	for (i = 0; i < ndigests; i++)
		free(td[i]);
	free(td);
	return 0;
}

/* --- checks --- */

static const int kinds[] = { KS_TDGST32, KS_TDGST64 };
static const size_t sizes[] = { 1, 2, 3, 4, 5, 20, 39, 40, 100, 200 };

/* The fractional bits that a digest has if this many are asked for. */
static unsigned
fraction_bits(int kind, unsigned asked)
{
	uint64_t td[256];

	ks_tdgst_init(td, kind, 4, asked);
	return ks_tdgst_frac(td, kind);
}

static int
check_sizes(void)
{
	CHECK(ks_tdgst_size(KS_TDGST32, 1) == 36);
	CHECK(ks_tdgst_size(KS_TDGST32, 100) == 1620);
	CHECK(ks_tdgst_size(KS_TDGST64, 1) == 56);
	CHECK(ks_tdgst_size(KS_TDGST64, 100) == 2432);
	CHECK(ks_tdgst_size(KS_TDGST32, 4094) == 65524);
	CHECK(ks_tdgst_size(KS_TDGST32, 4095) == 0);
	CHECK(ks_tdgst_size(KS_TDGST64, 2729) == 65528);
	CHECK(ks_tdgst_size(KS_TDGST64, 2730) == 0);
	CHECK(ks_tdgst_size(KS_TDGST64, 0) == 0);
	CHECK(ks_tdgst_size(16, 1) == 0);
	CHECK(fraction_bits(KS_TDGST32, 0) == 2);
	CHECK(fraction_bits(KS_TDGST32, 9) == 16);
	CHECK(fraction_bits(KS_TDGST32, 40) == 28);
	CHECK(fraction_bits(KS_TDGST64, 40) == 48);
	CHECK(fraction_bits(KS_TDGST64, 64) == 60);
	return 0;
}

static int
check_empty(void)
{
	void *td = new_digest(KS_TDGST64, 10, 4);
	double x;

	CHECK(ks_tdgst_count(td, KS_TDGST64) == 0);
	CHECK(ks_tdgst_ctds(td, KS_TDGST64, NULL, 0) == 0);
	CHECK(ks_tdgst_quantile(td, KS_TDGST64, 0.5, &x) == ENOENT);
	CHECK(ks_tdgst_cdf(td, KS_TDGST64, 0.5, &x) == ENOENT);
	CHECK(ks_tdgst_quantile(td, KS_TDGST64, NAN, &x) == EINVAL);
	CHECK(ks_tdgst_cdf(td, KS_TDGST64, NAN, &x) == EINVAL);
	CHECK(ks_tdgst_bound(td, KS_TDGST64, 0.5) == 1);
	CHECK(ks_tdgst_add_s64(td, KS_TDGST64, 5, 0) == 0);
	CHECK(ks_tdgst_count(td, KS_TDGST64) == 0);
	CHECK(ks_tdgst_check(td, ks_tdgst_size(KS_TDGST64, 10), KS_TDGST64) == 0);
	free(td);
	return 0;
}

static int
check_few(void)
{
	static const int64_t v[3] = { 171, -144, 78 };
	struct ks_tdgst_ctd c[5];
	size_t k, i;
	void *td;

	for (k = 0; k < 2; k++) {
		td = new_digest(kinds[k], 5, 4);
		for (i = 0; i < 3; i++)
			CHECK(ks_tdgst_add_s64(td, kinds[k], v[i], 1) == 0);
		CHECK(ks_tdgst_slots(td, kinds[k], c, 5) == 5);
		for (i = 0; i < 3; i++)
			CHECK(c[i].mu == v[i] * 16 && c[i].cnt == 1 && c[i].exact);
		CHECK(c[3].cnt == 0 && c[4].cnt == 0 && c[4].mu == 0);
		CHECK(ks_tdgst_ctds(td, kinds[k], c, 5) == 3);
		CHECK(c[0].mu == -144 * 16 && c[1].mu == 78 * 16 && c[2].mu == 171 * 16);
		CHECK(td_get6(td, kinds[k], TD_ROOT) == 2);
		free(td);
	}
	return 0;
}

static int
check_exact(void)
{
	struct ks_tdgst_ctd c[100];
	uint64_t s = 1, count[100] = { 0 }, v;
	size_t k, i;
	double x, below;
	void *td;

	for (k = 0; k < 2; k++) {
		td = new_digest(kinds[k], 100, 4);
		memset(count, 0, sizeof(count));
		for (i = 0; i < 100000; i++) {
			v = next(&s) % 10000;
			v = v * v / 1000000; /* 0..99, uneven */
			count[v]++;
			CHECK(ks_tdgst_add_u64(td, kinds[k], v * 37, 1) == 0);
		}
		CHECK(ks_tdgst_compcnt(td, kinds[k]) == 0);
		CHECK(ks_tdgst_bound(td, kinds[k], 0.5) == 0);
		CHECK(ks_tdgst_ctds(td, kinds[k], c, 100) == 100);
		below = 0;
		for (i = 0; i < 100; i++) {
			CHECK(c[i].exact && c[i].cnt == count[i]);
			CHECK(c[i].mu == (int64_t)i * 37 * 16);
			below += (double)count[i];
			CHECK(ks_tdgst_cdf(td, kinds[k], (double)i * 37, &x) == 0);
			CHECK(fabs(x - below / 100000) < 1e-12);
			CHECK(ks_tdgst_quantile(td, kinds[k], (below - 0.5) / 100000, &x) == 0);
			CHECK(x == (double)i * 37);
		}
		free(td);
	}
	return 0;
}

/* Nothing is lost on the way: count, weights, extremes, order, and the mean of all. */
static int
check_invariants(void)
{
	static struct ks_tdgst_ctd c[200];
	uint64_t s = 7, total, wt;
	size_t k, j, i, m, n;
	int64_t v, lo, hi;
	double x, sum, mean;
	void *td;

	for (k = 0; k < 2; k++)
		for (j = 0; j < COUNT(sizes); j++) {
			td = new_digest(kinds[k], sizes[j], 6);
			lo = INT64_MAX;
			hi = INT64_MIN;
			sum = 0;
			for (i = 1; i <= 3000; i++) {
				v = (int64_t)(exp(3 * ref_normal(&s)) * 10) - 300;
				v = v < 2000000 ? v : 2000000;
				lo = v < lo ? v : lo;
				hi = v > hi ? v : hi;
				sum += (double)v;
				CHECK(ks_tdgst_add_s64(td, kinds[k], v, 1) == 0);
				CHECK(ks_tdgst_count(td, kinds[k]) == i);
				if (i % 7 != 0 && i > 50)
					continue;
				CHECK(ks_tdgst_check(td, ks_tdgst_size(kinds[k], sizes[j]),
				    kinds[k]) == 0);
				CHECK(weight(td, kinds[k]) == i);
				n = ks_tdgst_ctds(td, kinds[k], c, COUNT(c));
				CHECK(n >= 1 && n <= sizes[j]);
				mean = 0;
				total = 0;
				for (m = 0; m < n; m++) {
					wt = c[m].cnt;
					total += wt;
					mean += (double)c[m].mu / 64 * (double)wt;
				}
				/* each mean is within half of 1/64, no more after any number */
				CHECK(fabs(mean - sum) / (double)total <= 0.5 / 64 + 1e-6);
				if (sizes[j] < 4)
					continue;
				CHECK(ks_tdgst_quantile(td, kinds[k], 0, &x) == 0);
				CHECK(x == (double)lo);
				CHECK(ks_tdgst_quantile(td, kinds[k], 1, &x) == 0);
				CHECK(x == (double)hi);
			}
			free(td);
		}
	return 0;
}

static int
check_monotone(void)
{
	uint64_t s = 11;
	size_t i, round;
	double q, x, last, share, bound;
	void *td = new_digest(KS_TDGST64, 50, 8);

	for (round = 0; round < 40; round++) {
		for (i = 0; i < 97; i++)
			CHECK(ks_tdgst_add_s64(td, KS_TDGST64,
			    (int64_t)(1000 * ref_normal(&s)) + (i % 3 == 0 ? 7000 : 0), 1) == 0);
		last = -INFINITY;
		for (i = 0; i <= 1000; i++) {
			q = (double)i / 1000;
			CHECK(ks_tdgst_quantile(td, KS_TDGST64, q, &x) == 0);
			CHECK(x >= last);
			last = x;
			CHECK(ks_tdgst_cdf(td, KS_TDGST64, x, &share) == 0);
			/* the inverse, but for steps of equal values */
			CHECK(share >= q - 1e-9);
			CHECK(ks_tdgst_cdf(td, KS_TDGST64, nextafter(x, -INFINITY), &share) == 0);
			CHECK(share <= q + 1e-9);
		}
		for (last = 0, x = -5000; x < 15000; x += 11) {
			CHECK(ks_tdgst_cdf(td, KS_TDGST64, x, &share) == 0);
			CHECK(share >= last && share <= 1);
			last = share;
		}
		bound = ks_tdgst_bound(td, KS_TDGST64, 0.5);
		CHECK(bound > 0 && bound < 0.2);
	}
	free(td);
	return 0;
}

static int
check_range(void)
{
	static const unsigned precs[] = { 2, 4, 6, 8, 16, 28, 32, 48, 60 };
	int64_t end, v;
	uint64_t s = 3;
	size_t k, i, j;
	double x;
	void *td;

	for (k = 0; k < 2; k++)
		for (i = 0; i < COUNT(precs); i++) {
			td = new_digest(kinds[k], 10, precs[i]);
			end = INT64_C(1) << (td_bits(kinds[k]) - ks_tdgst_frac(td, kinds[k]));
			CHECK(ks_tdgst_add_s64(td, kinds[k], end, 1) == EOVERFLOW);
			CHECK(ks_tdgst_add_s64(td, kinds[k], -end, 1) == EOVERFLOW);
			CHECK(ks_tdgst_add_s64(td, kinds[k], INT64_MIN, 1) == EOVERFLOW);
			CHECK(ks_tdgst_add_u64(td, kinds[k], UINT64_MAX, 1) == EOVERFLOW);
			CHECK(ks_tdgst_add_u64(td, kinds[k], (uint64_t)end, 1) == EOVERFLOW);
			CHECK(ks_tdgst_count(td, kinds[k]) == 0);
			end = INT64_C(1) << td_bits(kinds[k]);
			CHECK(ks_tdgst_add_fix(td, kinds[k], end, 1) == EOVERFLOW);
			CHECK(ks_tdgst_add_fix(td, kinds[k], -end, 1) == EOVERFLOW);
			/* ever larger values, so that each mode is gone through */
			for (j = 0; j < 4000; j++) {
				v = (int64_t)(next(&s) << 8) % (INT64_C(1) <<
				    (2 + j * (td_bits(kinds[k]) - 2) / 4000));
				CHECK(ks_tdgst_add_fix(td, kinds[k], j % 2 == 0 ? v : -v, 1) == 0);
			}
			CHECK(ks_tdgst_add_fix(td, kinds[k], end - 1, 1) == 0);
			CHECK(ks_tdgst_add_fix(td, kinds[k], 1 - end, 1) == 0);
			CHECK(ks_tdgst_count(td, kinds[k]) == 4002);
			CHECK(weight(td, kinds[k]) == 4002);
			CHECK(ks_tdgst_check(td, ks_tdgst_size(kinds[k], 10), kinds[k]) == 0);
			CHECK(ks_tdgst_quantile(td, kinds[k], 1, &x) == 0);
			CHECK(x == ldexp((double)(end - 1), -(int)ks_tdgst_frac(td, kinds[k])));
			free(td);
		}
	return 0;
}

/* Large integers with a precision beyond what they need take the middle mode. */
static int
check_large_integers(void)
{
	void *td = new_digest(KS_TDGST64, 100, 16);
	int64_t v, *all = malloc(200000 * sizeof(*all));
	uint64_t s = 5;
	size_t i;
	double x;

	for (i = 0; i < 200000; i++) {
		v = all[i] = (int64_t)(next(&s) % (UINT64_C(1) << 43));
		CHECK(ks_tdgst_add_s64(td, KS_TDGST64, v, 1) == 0);
	}
	CHECK(td_mode(td, KS_TDGST64) == KS_TDGST_INT);
	CHECK(weight(td, KS_TDGST64) == 200000);
	qsort(all, 200000, sizeof(*all), ref_compare);
	for (i = 0; i < COUNT(quantiles); i++) {
		CHECK(ks_tdgst_quantile(td, KS_TDGST64, quantiles[i], &x) == 0);
		CHECK(ref_rank_error(all, 200000, x, quantiles[i]) <=
		    ks_tdgst_bound(td, KS_TDGST64, quantiles[i]));
	}
	free(all);
	free(td);
	return 0;
}

static int
check_weights(void)
{
	static const uint64_t w[] = { 1, 2, 8, 9, 100, 100000 };
	void *one = new_digest(KS_TDGST64, 100, 8), *many = new_digest(KS_TDGST64, 100, 8);
	uint64_t s = 9, i, j, total = 0;
	double x, share, q;
	int64_t v;

	for (i = 0; i < 600; i++) {
		v = (int64_t)(next(&s) % 1000000);
		total += w[i % COUNT(w)];
		CHECK(ks_tdgst_add_s64(one, KS_TDGST64, v, w[i % COUNT(w)]) == 0);
		for (j = 0; j < w[i % COUNT(w)]; j++)
			CHECK(ks_tdgst_add_s64(many, KS_TDGST64, v, 1) == 0);
	}
	CHECK(ks_tdgst_count(one, KS_TDGST64) == total);
	CHECK(weight(one, KS_TDGST64) == total && weight(many, KS_TDGST64) == total);
	for (q = 0.05; q < 1; q += 0.05) {
		CHECK(ks_tdgst_quantile(one, KS_TDGST64, q, &x) == 0);
		CHECK(ks_tdgst_cdf(many, KS_TDGST64, x, &share) == 0);
		/* one sample weighs up to 1/60th of all here */
		CHECK(fabs(share - q) < 0.04);
	}
	free(one);
	free(many);
	return 0;
}

/* Beyond what cnt holds: the count goes on to its own maximum, the shares stay. */
static int
check_saturation(void)
{
	size_t k, i;
	uint64_t most, step, sum;
	double x;
	void *td;

	for (k = 0; k < 2; k++) {
		td = new_digest(kinds[k], 20, 4);
		most = kinds[k] == KS_TDGST32 ? UINT32_MAX : INT64_MAX;
		step = most / 50;
		for (i = 0; i < 200; i++)
			CHECK(ks_tdgst_add_u64(td, kinds[k], 1 + i % 40, step) == 0);
		CHECK(ks_tdgst_count(td, kinds[k]) >= most);
		for (i = 0; i < 1000; i++)
			CHECK(ks_tdgst_add_u64(td, kinds[k], 1 + i % 40, 1) == 0);
		CHECK(ks_tdgst_add_u64(td, kinds[k], 20, UINT64_MAX) == 0);
		CHECK(ks_tdgst_count(td, kinds[k]) >= most);
		sum = weight(td, kinds[k]);
		CHECK(sum > most / 16 && sum <= (uint64_t)td_limit(kinds[k]));
		CHECK(ks_tdgst_check(td, ks_tdgst_size(kinds[k], 20), kinds[k]) == 0);
		CHECK(ks_tdgst_quantile(td, kinds[k], 0, &x) == 0 && x == 1);
		CHECK(ks_tdgst_quantile(td, kinds[k], 1, &x) == 0 && x == 40);
		CHECK(ks_tdgst_quantile(td, kinds[k], 0.5, &x) == 0 && x > 15 && x < 25);
		free(td);
	}
	return 0;
}

static int
check_deterministic(void)
{
	enum { SIZE = 2432 };
	static uint8_t a[SIZE + 8], b[SIZE + 8];
	uint64_t s;
	size_t off, i;
	double x;

	ks_tdgst_init(a, KS_TDGST64, 100, 8);
	for (s = 1, i = 0; i < 20000; i++)
		CHECK(ks_tdgst_add_s64(a, KS_TDGST64, (int64_t)(next(&s) % 100000), 1) == 0);
	for (off = 0; off < 8; off++) {
		ks_tdgst_init(b + off, KS_TDGST64, 100, 8);
		for (s = 1, i = 0; i < 20000; i++) {
			CHECK(ks_tdgst_add_s64(b + off, KS_TDGST64,
			    (int64_t)(next(&s) % 100000), 1) == 0);
			if (i % 1000 == 77) /* reading changes nothing */
				CHECK(ks_tdgst_quantile(b + off, KS_TDGST64, 0.5, &x) == 0);
		}
		CHECK(memcmp(a, b + off, SIZE) == 0);
	}
	return 0;
}

static int
check_reset(void)
{
	size_t k, size, i;
	void *a, *b;

	for (k = 0; k < 2; k++) {
		size = ks_tdgst_size(kinds[k], 30);
		a = new_digest(kinds[k], 30, 8);
		b = new_digest(kinds[k], 30, 8);
		for (i = 0; i < 1000; i++)
			CHECK(ks_tdgst_add_u64(a, kinds[k], i * 7919 % 1000, 1) == 0);
		ks_tdgst_reset(a, kinds[k]);
		CHECK(memcmp(a, b, size) == 0);
		free(a);
		free(b);
	}
	return 0;
}

static int
check_merge(void)
{
	size_t k, i;
	uint64_t s = 21;
	double x, y;
	void *a, *b, *c;

	for (k = 0; k < 2; k++) {
		/* few and few are as if added */
		a = new_digest(kinds[k], 10, 4);
		b = new_digest(kinds[k], 20, 4);
		c = new_digest(kinds[k], 10, 4);
		CHECK(ks_tdgst_merge(a, b, kinds[k]) == 0);
		CHECK(ks_tdgst_count(a, kinds[k]) == 0);
		CHECK(ks_tdgst_add_s64(a, kinds[k], 5, 1) == 0);
		CHECK(ks_tdgst_add_s64(b, kinds[k], -3, 1) == 0);
		CHECK(ks_tdgst_add_s64(b, kinds[k], 9, 1) == 0);
		CHECK(ks_tdgst_merge(a, b, kinds[k]) == 0);
		CHECK(ks_tdgst_add_s64(c, kinds[k], 5, 1) == 0);
		CHECK(ks_tdgst_add_s64(c, kinds[k], -3, 1) == 0);
		CHECK(ks_tdgst_add_s64(c, kinds[k], 9, 1) == 0);
		CHECK(memcmp(a, c, ks_tdgst_size(kinds[k], 10)) == 0);
		/* into an empty one of the same shape: the same quantiles */
		for (i = 0; i < 50000; i++)
			CHECK(ks_tdgst_add_s64(a, kinds[k], (int64_t)(next(&s) % 90000), 1) == 0);
		ks_tdgst_reset(c, kinds[k]);
		CHECK(ks_tdgst_merge(c, a, kinds[k]) == 0);
		CHECK(ks_tdgst_count(c, kinds[k]) == 50003);
		CHECK(weight(c, kinds[k]) == 50003);
		for (i = 0; i < COUNT(quantiles); i++) {
			CHECK(ks_tdgst_quantile(a, kinds[k], quantiles[i], &x) == 0);
			CHECK(ks_tdgst_quantile(c, kinds[k], quantiles[i], &y) == 0);
			CHECK(fabs(x - y) < 1e-3 * x);
		}
		/* other precision, other size, and back */
		free(c);
		c = new_digest(kinds[k], 200, 8);
		CHECK(ks_tdgst_merge(c, a, kinds[k]) == 0);
		CHECK(ks_tdgst_quantile(a, kinds[k], 0.9, &x) == 0);
		CHECK(ks_tdgst_quantile(c, kinds[k], 0.9, &y) == 0);
		CHECK(fabs(x - y) < 1e-2 * x);
		CHECK(ks_tdgst_check(c, ks_tdgst_size(kinds[k], 200), kinds[k]) == 0);
		CHECK(ks_tdgst_merge(a, c, kinds[k]) == 0);
		CHECK(weight(a, kinds[k]) == 100006);
		free(a);
		free(b);
		free(c);
	}
	return 0;
}

static int
check_merge_overflow(void)
{
	size_t k, size, i;
	void *a, *b, *copy;

	for (k = 0; k < 2; k++) {
		size = ks_tdgst_size(kinds[k], 10);
		a = new_digest(kinds[k], 10, 28);
		b = new_digest(kinds[k], 10, 2);
		copy = malloc(size);
		for (i = 0; i < 100; i++) {
			CHECK(ks_tdgst_add_fix(a, kinds[k], (int64_t)i, 1) == 0);
			CHECK(ks_tdgst_add_fix(b, kinds[k],
			    (INT64_C(1) << td_bits(kinds[k])) - 1 - (int64_t)i, 1) == 0);
		}
		memcpy(copy, a, size);
		CHECK(ks_tdgst_merge(a, b, kinds[k]) == EOVERFLOW);
		CHECK(memcmp(copy, a, size) == 0);
		/* the other way round it fits, though not to the last bit */
		CHECK(ks_tdgst_merge(b, a, kinds[k]) == 0);
		CHECK(weight(b, kinds[k]) == 200);
		CHECK(ks_tdgst_check(b, size, kinds[k]) == 0);
		free(a);
		free(b);
		free(copy);
	}
	return 0;
}

/* All that a reader might do with a digest that passed ks_tdgst_check. */
static void
use(uint8_t *td, int kind, size_t size)
{
	static struct ks_tdgst_ctd c[KS_TDGST_MAXCTDS];
	uint8_t *other = malloc(size);
	double x;
	size_t i;

	(void)ks_tdgst_quantile(td, kind, 0.3, &x);
	(void)ks_tdgst_cdf(td, kind, 3, &x);
	(void)ks_tdgst_bound(td, kind, 0.3);
	(void)ks_tdgst_ctds(td, kind, c, COUNT(c));
	(void)ks_tdgst_slots(td, kind, c, COUNT(c));
	ks_tdgst_init(other, kind, ks_tdgst_maxctds(td, kind), 6);
	(void)ks_tdgst_merge(other, td, kind);
	for (i = 0; i < 50; i++)
		(void)ks_tdgst_add_s64(td, kind, (int64_t)(i * i), 1 + i / 10);
	(void)ks_tdgst_merge(td, other, kind);
	free(other);
	ks_tdgst_reset(td, kind);
}

/* Digests with bytes changed: refused, or good for every use. */
static int
check_hostile(void)
{
	uint64_t s = 99;
	size_t k, n, size, round, i, accepted = 0, refused = 0, grown;
	uint8_t *good, *bad;

	for (k = 0; k < 2; k++)
		for (round = 0; round < 30000; round++) {
			n = 1 + next(&s) % 12;
			size = ks_tdgst_size(kinds[k], n);
			good = new_digest(kinds[k], n, (unsigned)(next(&s) % 60));
			grown = next(&s) % 60;
			for (i = 0; i < grown; i++)
				(void)ks_tdgst_add_fix(good, kinds[k], (int64_t)next(&s) >>
				    (next(&s) % 53), 1 + (next(&s) % 20 == 0));
			bad = malloc(size + 3);
			memcpy(bad + 3, good, size);
			for (i = next(&s) % 4; i > 0; i--)
				bad[3 + (next(&s) % 3 == 0 ? next(&s) % size :
				    next(&s) % 40 % size)] = (uint8_t)next(&s);
			if (ks_tdgst_check(bad + 3, size, kinds[k]) == 0) {
				accepted++;
				use(bad + 3, kinds[k], size);
			} else {
				refused++;
			}
			CHECK(ks_tdgst_check(bad + 3, size - 1, kinds[k]) == EINVAL);
			CHECK(ks_tdgst_check(bad + 3, 0, kinds[k]) == EINVAL);
			free(bad);
			free(good);
		}
	CHECK(accepted > 10000 && refused > 10000);
	/* a count that the next sample would take to 0 */
	good = new_digest(KS_TDGST64, 3, 4);
	for (i = 0; i < 20; i++)
		CHECK(ks_tdgst_add_u64(good, KS_TDGST64, i, UINT64_MAX) == 0);
	CHECK(ks_tdgst_check(good, ks_tdgst_size(KS_TDGST64, 3), KS_TDGST64) == 0);
	memset(good, 0xff, sizeof(uint64_t));
	CHECK(ks_tdgst_check(good, ks_tdgst_size(KS_TDGST64, 3), KS_TDGST64) == EINVAL);
	free(good);
	return 0;
}

/* A large digest takes the path with the large scratch memory. */
static int
check_large(void)
{
	size_t k, n, i;
	uint64_t s = 4;
	double x;
	void *td;

	for (k = 0; k < 2; k++) {
		n = kinds[k] == KS_TDGST32 ? 4094 : 2729;
		td = new_digest(kinds[k], n, 8);
		for (i = 0; i < 100000; i++)
			CHECK(ks_tdgst_add_u64(td, kinds[k], next(&s) % 1000000, 1) == 0);
		CHECK(weight(td, kinds[k]) == 100000);
		CHECK(ks_tdgst_quantile(td, kinds[k], 0.5, &x) == 0);
		CHECK(fabs(x - 500000) < 5000);
		CHECK(ks_tdgst_check(td, ks_tdgst_size(kinds[k], n), kinds[k]) == 0);
		free(td);
	}
	return 0;
}

/*
 * The bound, at nine quantiles of digests of thirteen sizes fed with eight kinds of data in up
 * to five lengths: each error is within it. With KSTAT_VERBOSE set it
 * says how near the worst comes; tdigest.h has what a longer run said.
 */
static int
check_bounds(void)
{
	static const size_t ns[] = { 4, 5, 6, 8, 10, 20, 32, 39, 40, 64, 99, 100, 200 };
	static const char *const names[] = { "lognormal", "uniform", "bimodal", "sorted", "reversed",
		"constant", "lcg_uniform", "lcg_explike" };
	static const size_t lengths[] = { 50, 300, 1000, 10000, 100000 };
	static const double q[] = { 0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1 };
	double x, err, bound, worst = 0;
	size_t i, j, k, m, seed, parts, cases = 0;
	int64_t *v, *sorted;
	struct ref_set set;
	void *td, *part[64];

	for (j = 0; j < COUNT(names) * COUNT(lengths) * 2; j++) {
		seed = 1 + j % 2;
		k = j / 2 % COUNT(lengths);
		set = (struct ref_set){ names[j / 2 / COUNT(lengths)], 977 * seed, 0, 50000,
			lengths[k] };
		if (strcmp(set.kind, "lcg_explike") == 0)
			set.b = 20;
		v = ref_values(&set);
		sorted = ref_values(&set);
		qsort(sorted, set.n, sizeof(*v), ref_compare);
		for (i = 0; i < COUNT(ns); i++) {
			/* One digest, or for the second seed of more samples the sum of 64. */
			parts = seed == 2 && set.n >= 10000 ? COUNT(part) : 1;
			for (m = 0; m < parts; m++)
				part[m] = new_digest(KS_TDGST64, ns[i], 6);
			for (m = 0; m < set.n; m++)
				CHECK(ks_tdgst_add_s64(part[m % parts], KS_TDGST64, v[m], 1) == 0);
			td = part[0];
			for (m = 1; m < parts; m++) {
				CHECK(ks_tdgst_merge(td, part[m], KS_TDGST64) == 0);
				free(part[m]);
			}
			for (m = 0; m < COUNT(q); m++, cases++) {
				CHECK(ks_tdgst_quantile(td, KS_TDGST64, q[m], &x) == 0);
				err = ref_rank_error(sorted, set.n, x, q[m]);
				bound = ks_tdgst_bound(td, KS_TDGST64, q[m]);
				if (err > bound)
					FAIL("%s %zu, n=%zu, q=%g: %g, bound %g", set.kind, set.n,
					    ns[i], q[m], err, bound);
				if (bound > 0 && err / bound > worst)
					worst = err / bound;
			}
			free(td);
		}
		free(v);
		free(sorted);
	}
	if (getenv("KSTAT_VERBOSE") != NULL)
		fprintf(stderr, "%zu cases, at worst %.2f of the bound\n", cases, worst);
	CHECK(cases == 9360 && worst > 0.1);
	return 0;
}

/*
 * The tables are what their comment says: k(q) is the integral of its first term, by Simpson's rule in
 * z = (1-q)^(1-b), and of its second, whose integral is an arcsine.
 */
static int
check_scale(void)
{
	const struct ks_tdgst_scale *sc;
	double z0, z1, sum, q0, q1, h;
	size_t t, i, j;

	for (t = 0; t < 2; t++) {
		sc = &ks_tdgst_scales[t];
		CHECK(sc->q[0] == 0 && sc->q[128] == UINT64_C(1) << 63);
		for (i = 16; i < 128; i++) {
			q0 = ldexp((double)sc->q[i - 1], -63);
			q1 = ldexp((double)sc->q[i], -63);
			CHECK(q1 > q0 || 1 - q1 < 1e-9);
			if (1 - q1 < 1e-6)
				continue;
			/* dk = q^-a (1-q)^-b dq = -q^-a / (1-b) dz */
			z0 = pow(1 - q1, 1 - sc->b);
			z1 = pow(1 - q0, 1 - sc->b);
			h = (z1 - z0) / 64;
			for (sum = 0, j = 0; j <= 64; j++)
				sum += (j == 0 || j == 64 ? 1 : j % 2 == 1 ? 4 : 2) *
				    pow(1 - pow(z0 + h * (double)j, 1 / (1 - sc->b)), -sc->a);
			sum *= h / 3 / (1 - sc->b);
			sum += sc->c * (asin(2 * q1 - 1) - asin(2 * q0 - 1));
			CHECK(fabs(sum * 128 / sc->integral - 1) < 1e-3);
		}
	}
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} checks[] = {
	{ "sizes", check_sizes },
	{ "empty", check_empty },
	{ "few", check_few },
	{ "exact", check_exact },
	{ "invariants", check_invariants },
	{ "monotone", check_monotone },
	{ "range", check_range },
	{ "large_integers", check_large_integers },
	{ "weights", check_weights },
	{ "saturation", check_saturation },
	{ "deterministic", check_deterministic },
	{ "reset", check_reset },
	{ "merge", check_merge },
	{ "merge_overflow", check_merge_overflow },
	{ "hostile", check_hostile },
	{ "large", check_large },
	{ "bounds", check_bounds },
	{ "scale", check_scale },
};

int
main(int argc, char **argv)
{
	struct ref_set set = { 0 };
	size_t i;

	if (argc == 10 && strcmp(argv[1], "set") == 0) {
		set = (struct ref_set){ argv[5], strtoull(argv[6], NULL, 10), atoll(argv[7]),
			strtoull(argv[8], NULL, 10), (size_t)atoll(argv[9]) };
		return cmd_measure(1, atoi(argv[2]), (size_t)atoi(argv[3]),
		    (unsigned)atoi(argv[4]), &set);
	}
	if (argc == 7 && strcmp(argv[1], "merge") == 0) {
		set = (struct ref_set){ .kind = argv[5], .a = 42, .n = (size_t)atoll(argv[6]) };
		return cmd_measure((size_t)atoi(argv[2]), atoi(argv[3]), (size_t)atoi(argv[4]),
		    8, &set);
	}
	if (argc == 4 && strcmp(argv[1], "compare") == 0)
		return cmd_compare((size_t)atoi(argv[2]), (size_t)atoi(argv[3]));
	for (i = 0; argc >= 2 && i < COUNT(checks); i++) {
		if (strcmp(argv[1], "checks") == 0)
			printf("%s\n", checks[i].name);
		else if (argc == 3 && strcmp(argv[2], checks[i].name) == 0)
			return checks[i].run() == 0 ? printf("ok\n") < 0 : 1;
	}
	return argc == 2 && strcmp(argv[1], "checks") == 0 ? 0 : 2;
}
