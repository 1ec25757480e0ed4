/*
 * core_histogram.c - the counts of histograms: their sums, what a writer leaves that dies at each step of an
 * update, and what a damaged segment shows. With "splits N": N distributions are the sum of their parts. With
 * "kills N": eight publishers, which are killed N times at any moment. The values of each follow from their
 * number, so every reading can be compared bucket by bucket with the first values of its publisher, as many as it
 * says it counted. KSTAT_DIR is set. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "chain/chain.h"
#include "model/distribution.h"
#include "model/histstat.h"
#include "provider/segment/segment.h"
#include "source/sources.h"
#include "check.h"

static kstat_ctl_t *kc;

static kstat_t *
read_kstat(const char *module, int instance, const char *name)
{
	kstat_t *k;

	(void)kstat_chain_update(kc);
	k = kstat_lookup(kc, module, instance, name);
	return k != NULL && kstat_read(kc, k, NULL) > 0 ? k : NULL;
}

static uint64_t
count_of(const struct ks_histstat *h)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < h->n; i++)
		n += ks_ints_at(h->buckets, i);
	return n;
}

/* Returns whether the kstat counted that many values with these sums. */
static bool
has(int instance, uint64_t count, uint64_t sum, uint64_t min, uint64_t max, uint64_t out_of_range)
{
	kstat_t *k = read_kstat("counts", instance, "h");
	struct ks_histstat h;

	if (k == NULL || !ks_histstat_open(&h, k) || !h.has_sum)
		return false;
	return count_of(&h) == count && h.sum == sum && h.min == min && h.max == max &&
	    h.out_of_range == out_of_range;
}

/* --- sums ------------------------------------------------------------------------------------------ */

static void
sums_of_each_type(void)
{
	static const struct {
		kstat2_nv_hist_type_t type;
		uint64_t min, max, stepping, outside, last; /* last: the greatest value that is not outside */
	} all[] = {
		{ KSTAT2_NVHIST_LINEAR, 10, 20, 5, 3, 20 }, { KSTAT2_NVHIST_LINEAR, 0, 0, 5, 0, UINT64_MAX },
		{ KSTAT2_NVHIST_LOG2, 0, 0, 0, 0, UINT64_MAX }, { KSTAT2_NVHIST_LOG10, 0, 0, 0, 0, UINT64_MAX },
		{ KSTAT2_NVHIST_LOG10_LIN, 1, 2, 5, 3, 999 }, { KSTAT2_NVHIST_EXPONENTIAL, 10, 20, 3, 2, 20 }
	};
	const char *path[] = { "misc", "own", "0", "h" };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		kstat2_t *h = kstat2_create_histogram(path, 4, ALL_ZONES, all[i].type, KSTAT2_NVMT_T_REL, 1000000,
		    KSTAT2_NVMF_FRACT, NULL, 0, all[i].min, all[i].max, all[i].stepping, 0, "", 0);
		kstat_ctl_t *own = ks_chain_open_source(ks_source_local_open(), NULL);
		struct ks_histstat read;
		uint64_t outside;
		kstat_t *k;

		CHECK(kstat2_install(h) == 0 && kstat_chain_update(own) >= 0);
		CHECK(kstat2_hist_add_value(h, 0) == 0 && kstat2_hist_add_value(h, 15) == 0);
		CHECK(kstat2_hist_add_double(h, 2.75) == 0 && kstat2_hist_add_double(h, 0x1p63) == 0);
		CHECK(kstat2_hist_add_double(h, -1) == -1 && errno == EINVAL);
		/* 2.5 ms are 2,500 of the unit. */
		CHECK(kstat_latency_stop(h, kstat_latency_start() + KS_NANOSEC) == -1 && errno == EINVAL);
		k = kstat_lookup(own, "own", 0, "h");
		CHECK(k != NULL && kstat_read(own, k, NULL) > 0 && ks_histstat_open(&read, k));
		CHECK(count_of(&read) == 4 && read.sum == 0x1p63 + 17 && read.min == 0 && read.max == 1ULL << 63);
		CHECK(read.out_of_range == 2 + all[i].outside);
		CHECK(kstat_latency_stop(h, kstat_latency_start() - KS_NANOSEC) == 0 && kstat_read(own, k, NULL) > 0 &&
		    ks_histstat_open(&read, k) && read.sum - (1ULL << 63) >= 1000017 && read.sum - (1ULL << 63) < 60000000);
		outside = read.out_of_range;
		CHECK(kstat2_hist_add_value(h, all[i].last) == 0 && kstat_read(own, k, NULL) > 0 &&
		    ks_histstat_open(&read, k) && read.out_of_range == outside);
		CHECK(all[i].last == UINT64_MAX || (kstat2_hist_add_value(h, all[i].last + 1) == 0 &&
		    kstat_read(own, k, NULL) > 0 && ks_histstat_open(&read, k) && read.out_of_range == outside + 1));
		(void)kstat_close(own);
		kstat2_delete(h);
	}
}

/* --- a death in an update ---------------------------------------------------------------------------- */

enum step { LOCKED, HALF_AN_ENTRY, ENTRY, BUCKET, COMMITTED, STEPS };

/* Adds a value as ks_hist_add() does, and is killed behind a step. */
static void
die_behind(kstat2_t *h, enum step step, uint64_t value)
{
	const struct ks_hist_place *p = &((struct ks_provider *)h)->histogram->place;
	uint32_t bucket = ks_hist_index(&((struct ks_provider *)h)->histogram->layout, value);
	uint64_t v = ks_hist_lock(p), count = *ks_hist_bucket(p, bucket) + 1;
	struct ks_hist_sums sums = ks_hist_entry_of(p, v)->sums;

	sums.sum += value;
	sums.max = value;
	if (step == HALF_AN_ENTRY)
		ks_hist_entry_of(p, v + KS_WORD_ONE)->key = (uint64_t)KS_WORD_SEQ(v + KS_WORD_ONE) << 32 | bucket;
	if (step >= ENTRY)
		ks_hist_log(p, v, bucket, count, &sums);
	if (step >= BUCKET)
		*ks_hist_bucket(p, bucket) = count;
	if (step >= COMMITTED)
		ks_word_commit(&p->hist->word, v);
	(void)raise(SIGKILL);
}

static void
deaths(kstat_pub_t *pub, int instance, bool is_dense)
{
	kstat2_t *h = kstat_publish_latency(pub, "counts", instance, "h", NULL, 0, NULL, 3, 1, 1000000);
	uint64_t count = 0, sum = 0, max = 0;

	if (is_dense)
		ks_publish_dense(h);
	CHECK(kstat2_install(h) == 0 && has(instance, 0, 0, 0, 0, 0));
	CHECK(kstat2_hist_add_value(h, 10) == 0);
	for (int i = 0; i < 40 * STEPS; i++) {
		enum step step = (enum step)(i % STEPS);
		uint64_t value = 1000 + (uint64_t)i;
		pid_t pid = fork();

		if (pid == 0)
			die_behind(h, step, value);
		CHECK(waitpid(pid, NULL, 0) == pid);
		/* What was logged counts, and only that: a reader sees it as the next writer of the histogram completes it. */
		if (step >= ENTRY) {
			count++;
			sum += value;
			max = value;
		}
		CHECK(has(instance, count + 1, sum + 10, 10, max > 0 ? max : 10, 0));
		CHECK(kstat2_hist_add_value(h, 15) == 0);
		count++;
		sum += 15;
		max = max > 0 ? max : 15;
		CHECK(has(instance, count + 1, sum + 10, 10, max, 0));
	}
	CHECK(kstat2_hist_add_double(h, -5) == -1 && errno == EINVAL && has(instance, count + 1, sum + 10, 10, max, 1));
	kstat2_delete(h);
}

/* --- damage -------------------------------------------------------------------------------------------- */

static void
make_check_right(struct ks_seg_entry *e)
{
	e->check = ks_seg_entry_check(e, (char *)e + e->fields, (char *)e + e->strings);
}

/* Returns whether the warning of a chain that meets the changed entry has that text, and leaves the kstat out. */
static bool
is_left_out(kstat_t *h, struct ks_seg_entry *e, const struct ks_seg_entry *sound, const char *text)
{
	kstat_ctl_t *other;
	const char *warning;
	bool is_right;

	make_check_right(e);
	other = ks_chain_open_source(ks_source_segment_open(), NULL);
	warning = ks_chain_warning(other);
	is_right = kstat_lookup(other, h->ks_module, h->ks_instance, h->ks_name) == NULL && warning != NULL &&
	    strstr(warning, text) != NULL && ks_chain_warning(other) == NULL;
	(void)kstat_close(other);
	memcpy(e, sound, sizeof(*e));
	return is_right;
}

static void
damage(kstat_pub_t *pub)
{
	kstat2_t *h = kstat_publish_latency(pub, "counts", 9, "h", NULL, 0, NULL, 3, 1, 1000000);
	const struct ks_hist_place *p = &((struct ks_provider *)h)->histogram->place;
	static const uint32_t lengths[] = { 0, 1, 3, 256, 1u << 31 };
	struct ks_seg_entry *e, sound;
	kstat_t *k;

	CHECK(kstat2_install(h) == 0 && kstat2_hist_add_value(h, 500) == 0 && has(9, 1, 500, 500, 500, 0));
	/* Counts and sums that are not of the same values. */
	for (uint32_t i = 0; i < p->n; i += 20) {
		++*ks_hist_bucket(p, i);
		CHECK(read_kstat("counts", 9, "h") == NULL && errno == EBADMSG && strstr(kstat_errmsg(), "do not fit") != NULL);
		--*ks_hist_bucket(p, i);
	}
	k = read_kstat("counts", 9, "h");
	CHECK(k != NULL);
	e = ((struct ks_provider *)h)->published->entry;
	memcpy(&sound, e, sizeof(sound));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		e->log = lengths[i];
		CHECK(is_left_out(h, e, &sound, "a kstat whose data does not fit its type"));
	}
	e->stepping = 9;
	CHECK(is_left_out(h, e, &sound, "a kstat whose data does not fit its type"));
	e->range_max = 0;
	CHECK(is_left_out(h, e, &sound, "a kstat whose data does not fit its type"));
	e->range_max = 1ULL << 40;
	CHECK(is_left_out(h, e, &sound, "a kstat whose data does not fit its type"));
	e->ndata = 5;
	CHECK(is_left_out(h, e, &sound, "a histogram without sums"));
	CHECK(has(9, 1, 500, 500, 500, 0));
	kstat2_delete(h);
}

/* --- merging ------------------------------------------------------------------------------------------- */

#define MOST_PARTS 6

/* Returns what part i of a split has counted; part 0 is the whole. */
static kstat_hist_t *
distribution(kstat_ctl_t *own, int i)
{
	kstat_t *k = kstat_lookup(own, "split", i, "h");

	return k != NULL && kstat_read(own, k, NULL) > 0 ? kstat_hist_read(own, k, NULL) : NULL;
}

/* Merges the parts, of which there are n, in any order; what is wrong, or NULL. */
static const char *
merge_parts(kstat_ctl_t *own, int n)
{
	kstat_hist_t *whole = distribution(own, 0), *all = distribution(own, n);
	const char *wrong = NULL;

	for (int i = n - 1; i > 0 && wrong == NULL; i--) {
		kstat_hist_t *part = distribution(own, i);

		if (random() % 2 == 0) {
			kstat_hist_t *other = part;

			part = all;
			all = other;
		}
		if (kstat_hist_merge(all, part) != 0)
			wrong = kstat_errmsg();
		kstat_hist_free(part);
	}
	if (wrong == NULL && (!ks_dist_equal(all, whole) || kstat_hist_sum(all) != kstat_hist_sum(whole) ||
	    kstat_hist_min(all) != kstat_hist_min(whole) || kstat_hist_max(all) != kstat_hist_max(whole) ||
	    all->out_of_range != whole->out_of_range))
		wrong = "the parts are not the whole";
	kstat_hist_free(whole);
	kstat_hist_free(all);
	return wrong;
}

/* Gives each of some values to the whole, and to one of n parts. */
static const char *
split(kstat_ctl_t *own)
{
	int n = 2 + (int)(random() % (MOST_PARTS - 1)), bits = 5 + (int)(random() % 55), values = 1 + (int)(random() % 300);
	const char *path[] = { "misc", "split", NULL, "h" }, *wrong;
	uint64_t scale = (uint64_t)random() % 9, lowest = (uint64_t)random() >> random() % 31;
	kstat2_t *h[MOST_PARTS + 1];
	char instance[16];

	path[2] = instance;
	for (int i = 0; i <= n; i++) {
		(void)snprintf(instance, sizeof(instance), "%d", i);
		h[i] = kstat2_create_histogram(path, 4, ALL_ZONES, KSTAT2_NVHIST_EXPONENTIAL, KSTAT2_NVMT_BYTES, 1, 0, NULL,
		    0, lowest, 1ULL << 50, scale, 0, "", 0);
		if (h[i] == NULL || kstat2_install(h[i]) != 0)
			return kstat_errmsg();
	}
	for (int i = 0; i < values; i++) {
		uint64_t value = ((uint64_t)random() << 31 | (uint64_t)random()) >> (random() % bits);

		(void)kstat2_hist_add_value(h[0], value);
		(void)kstat2_hist_add_value(h[1 + random() % n], value);
	}
	wrong = kstat_chain_update(own) == -1 ? kstat_errmsg() : merge_parts(own, n);
	for (int i = 0; i <= n; i++)
		kstat2_delete(h[i]);
	return wrong;
}

static int
splits(int n)
{
	kstat_ctl_t *own = ks_chain_open_source(ks_source_local_open(), NULL);
	const char *wrong = NULL;

	srandom((unsigned)getpid());
	for (int i = 0; i < n && wrong == NULL; i++)
		wrong = split(own);
	(void)kstat_close(own);
	printf("%s\n", wrong == NULL ? "equal" : wrong);
	return wrong != NULL;
}

/* --- publishers that are killed -------------------------------------------------------------------------- */

#define PUBLISHERS 8
#define LOWEST 100
#define HIGHEST 1000000
#define BUCKETS 200

/* What a publisher is known to have counted: its first `n` values. */
static struct known {
	struct ks_hist_layout layout;
	uint64_t n, bucket[BUCKETS];
	struct ks_hist_sums sums;
	pid_t pid;
} known[PUBLISHERS];

/* Shared: the number of the value that each publisher adds; behind them, whether they shall wait. */
static volatile uint64_t *begun;
static uint64_t readings, busy;

static uint64_t
value_of(int publisher, uint64_t n)
{
	uint64_t h = (n * PUBLISHERS + (uint64_t)publisher + 1) * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ULL;
	return 50 + (h >> 40) % ((h >> 20) % 4 == 0 ? 2000000 : 1000);
}

/* Goes on behind the values that the kstat counted: also that which the last process of the name had in hand, if so. */
static void
publisher(int i)
{
	uint64_t n = 0, bucket[BUCKETS];
	struct ks_hist_sums sums;
	char name[32];
	kstat_pub_t *pub;
	kstat2_t *h;


	(void)snprintf(name, sizeof(name), "killed-%d", i);
	pub = kstat_publish(name, 0);
	h = pub == NULL ? NULL : kstat_publish_latency(pub, "killed", i, "h", NULL, KSTAT_FLAG_PERSISTENT, NULL, 3, LOWEST,
	    HIGHEST);
	if (h == NULL || kstat2_install(h) != 0)
		_exit(1);
	if (ks_hist_copy(&((struct ks_provider *)h)->histogram->place, bucket, &sums) != 0)
		_exit(1);
	for (uint32_t b = 0; b < known[i].layout.n; b++)
		n += bucket[b];
	for (;; n++) {
		/* Else the parent, and who is to die, would hardly get to run. */
		do {
			if (begun[PUBLISHERS] || n % 2048 == 0)
				(void)nanosleep(&(struct timespec){ 0, 200000 }, NULL);
		} while (begun[PUBLISHERS]);
		begun[i] = n + 1;
		if (kstat2_hist_add_value(h, value_of(i, n)) != 0)
			_exit(2);
	}
}

static void
start(int i)
{
	known[i].pid = fork();
	if (known[i].pid == 0)
		publisher(i);
}

/* Brings what is known of a publisher to its first n values. */
static void
learn(int i, uint64_t n)
{
	struct known *w = &known[i];

	for (; w->n < n; w->n++) {
		uint64_t v = value_of(i, w->n);

		w->bucket[ks_hist_index(&w->layout, v)]++;
		w->sums.sum += v;
		w->sums.min = v < w->sums.min ? v : w->sums.min;
		w->sums.max = v > w->sums.max ? v : w->sums.max;
		w->sums.out_of_range += ks_hist_is_outside(&w->layout, v);
	}
}

/* Says what is wrong with the counts of a publisher that were read, or NULL. */
static const char *
compare(kstat_t *k)
{
	int i = k->ks_instance;
	struct known *w = &known[i];
	struct ks_histstat h;
	uint64_t n;

	if (k->ks_data == NULL)
		return NULL;
	if (!ks_histstat_open(&h, k) || h.n != w->layout.n)
		return "a histogram of another form";
	n = count_of(&h);
	if (n < w->n)
		return "values were lost";
	if (n > begun[i])
		return "more values than were added";
	learn(i, n);
	for (uint32_t b = 0; b < h.n; b++) {
		if (ks_ints_at(h.buckets, b) != w->bucket[b])
			return "torn buckets";
	}
	return n == 0 || (h.sum == w->sums.sum && h.min == w->sums.min && h.max == w->sums.max &&
	    h.out_of_range == w->sums.out_of_range) ? NULL : "torn sums";
}

/* Reads a kstat while its publisher adds values; what is wrong, or NULL. */
static const char *
read_one(kstat_t *k)
{
	if (kstat_read(kc, k, NULL) > 0) {
		readings++;
		return NULL;
	}
	busy++;
	return errno == EAGAIN || errno == ENXIO ? NULL : kstat_errmsg();
}

static const char *
each(const char *(*look)(kstat_t *))
{
	const char *wrong = NULL;

	for (kstat_t *k = kc->kc_chain; k != NULL && wrong == NULL; k = k->ks_next)
		wrong = look(k);
	return wrong;
}

static void
end(int i)
{
	(void)kill(known[i].pid, SIGKILL);
	(void)waitpid(known[i].pid, NULL, 0);
}

/* Reads all, kills one, and reads it again: then it must have counted all its values but for the one in hand. */
static const char *
kill_one(int i)
{
	const char *wrong = kstat_chain_update(kc) == -1 ? kstat_errmsg() : each(read_one);

	end(i);
	/* Comparing takes longer than adding, so the others wait for it. */
	begun[PUBLISHERS] = 1;
	if (wrong == NULL)
		wrong = each(compare);
	if (wrong == NULL)
		wrong = kstat_chain_update(kc) == -1 ? kstat_errmsg() : each(read_one);
	if (wrong == NULL)
		wrong = each(compare);
	if (wrong == NULL && begun[i] > known[i].n + 1)
		wrong = "values that were added are not counted";
	begun[PUBLISHERS] = 0;
	start(i);
	return wrong;
}

/* Merges the distributions of all publishers, which have ended. */
static const char *
merge_all(void)
{
	kstat_hist_t *all = NULL;
	uint64_t n = 0, sum = 0;
	bool is_right;

	for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
		kstat_hist_t *one = kstat_hist_read(kc, k, NULL);

		if (one == NULL || (all != NULL && kstat_hist_merge(all, one) != 0))
			return kstat_errmsg();
		if (all != NULL)
			kstat_hist_free(one);
		else
			all = one;
		n += known[k->ks_instance].n;
		sum += known[k->ks_instance].sums.sum;
	}
	is_right = all != NULL && kstat_hist_count(all) == n && kstat_hist_sum(all) == (double)sum;
	kstat_hist_free(all);
	printf("values %" PRIu64 "\n", n);
	return is_right ? NULL : "the merged distribution is not that of all values";
}

static int
kills(int n)
{
	const char *wrong = NULL;

	begun = mmap(NULL, (PUBLISHERS + 1) * sizeof(*begun), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	srandom((unsigned)getpid());
	for (int i = 0; i < PUBLISHERS; i++) {
		(void)ks_hist_layout_init(&known[i].layout, KSTAT2_NVHIST_EXPONENTIAL, LOWEST, HIGHEST, 3);
		known[i].sums.min = UINT64_MAX;
		start(i);
	}
	for (int i = 0; i < n && wrong == NULL; i++) {
		(void)nanosleep(&(struct timespec){ 0, random() % 2000000 }, NULL);
		wrong = kill_one((int)(random() % PUBLISHERS));
	}
	for (int i = 0; i < PUBLISHERS; i++)
		end(i);
	if (wrong == NULL)
		wrong = kstat_chain_update(kc) == -1 ? kstat_errmsg() : each(read_one);
	if (wrong == NULL)
		wrong = each(compare);
	if (wrong == NULL)
		wrong = merge_all();
	printf("kills %d readings %" PRIu64 " busy %" PRIu64 "\n%s\n", n, readings, busy, wrong == NULL ? "exact" : wrong);
	return wrong != NULL;
}

int
main(int argc, char **argv)
{
	kstat_pub_t *pub;
	int rc;

	kc = ks_chain_open_source(ks_source_segment_open(), NULL);
	if (argc > 2) {
		rc = strcmp(argv[1], "splits") == 0 ? splits(atoi(argv[2])) : kills(atoi(argv[2]));
		(void)kstat_close(kc);
		return rc;
	}
	pub = kstat_publish("counts", 0);
	if (kc == NULL || pub == NULL)
		return 1;
	sums_of_each_type();
	deaths(pub, 0, false);
	deaths(pub, 1, true);
	damage(pub);
	kstat_unpublish(pub);
	(void)kstat_close(kc);
	printf("%d checks, %d failures\n", checks, failures);
	return failures != 0;
}
