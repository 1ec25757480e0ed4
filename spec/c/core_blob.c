/*
 * core_blob.c - exercises statsblob kstats: of this process and published, updated by threads and
 * by processes that are killed, sharded, damaged, recorded. In the directory $KSTAT_DIR. Says which
 * checks fail, and how many there were. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chain/chain.h"
#include "check.h"
#include "kstat_blob.h"
#include "model/blobstat.h"
#include "model/meta.h"
#include "output/recorder.h"
#include "output/render.h"
#include "provider/blob_layout.h"
#include "provider/segment/segment.h"
#include "source/sources.h"

static kstat_ctl_t *kc; /* over segments */
static kstat_pub_t *pub;
static uint32_t rtt, small, rel;

static void
templates(void)
{
	struct voistatspec whole[] = { STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN(),
		STATS_VSS_CRHIST64_LIN(0, 900, 100, 0), STATS_VSS_TDGSTCLUST64(50, 4) };
	struct voistatspec few[] = { STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN() };
	struct voistatspec q[] = { STATS_VSS_QSUM(8), STATS_VSS_QMAX(8) };
	struct voistatspec hist[] = { STATS_VSS_SUM(), STATS_VSS_CRHIST32_LIN(-10, 10, 10, 0) };

	rtt = (uint32_t)stats_tpl_alloc("rtt", 0);
	small = (uint32_t)stats_tpl_alloc("small", 0);
	rel = (uint32_t)stats_tpl_alloc("rel", 0);
	CHECK(stats_tpl_add_voistats(rtt, 0, "rtt", VSD_DTYPE_INT_U64, NVSS(whole), whole, 0) == 0);
	CHECK(stats_tpl_add_voistats(small, 1, "bytes", VSD_DTYPE_INT_U32, NVSS(few), few, 0) == 0);
	CHECK(stats_tpl_add_voistats(small, 3, "load", VSD_DTYPE_Q_S64, NVSS(q), q, 0) == 0);
	CHECK(stats_tpl_add_voistats(small, 4, "drift", VSD_DTYPE_INT_S64, NVSS(hist), hist, 0) == 0);
	CHECK(stats_tpl_add_voistats(rel, 0, "r", VSD_DTYPE_INT_S64, NVSS(few), few,
	    SB_VOI_RELUPDATE) == 0);
}

/* --- reading ------------------------------------------------------------------------- */

static bool
stat_of(const kstat_t *k, const char *stat, struct ks_value *v)
{
	struct ks_cursor c;
	const char *name;

	ks_cursor_open(&c, k);
	while (ks_cursor_next(&c, &name, v)) {
		if (strcmp(name, stat) == 0)
			return true;
	}
	return false;
}

static uint64_t
u64(const kstat_t *k, const char *stat)
{
	struct ks_value v;

	CHECK(stat_of(k, stat, &v) && v.kind == KS_VALUE_U64);
	return v.u64;
}

static double
dbl(const kstat_t *k, const char *stat)
{
	struct ks_value v;

	CHECK(stat_of(k, stat, &v) && v.kind == KS_VALUE_DOUBLE);
	return v.d;
}

static bool
has(const kstat_t *k, const char *stat)
{
	struct ks_value v;

	return stat_of(k, stat, &v);
}

static kstat_t *
find(const char *name)
{
	(void)kstat_chain_update(kc);
	return kstat_lookup(kc, "blob", 0, name);
}

static kstat_t *
read_blob(const char *name)
{
	kstat_t *k = find(name);

	CHECK(k != NULL);
	CHECK(k == NULL || kstat_read(kc, k, NULL) > 0);
	return k;
}

/* True if the blob that was read and another one hold the same, but for when they were made. */
static bool
same_blob(const kstat_t *k, struct statsblob *b)
{
	return k->ks_ndata == b->cursz && stats_blob_check(k->ks_data, k->ks_ndata) == 0 &&
	    memcmp((char *)k->ks_data + 32, (char *)b + 32, b->cursz - 32u) == 0;
}

static kstat_t *
publish(const char *name, uint32_t tpl, uint_t shards)
{
	kstat_t *k = kstat_publish_statsblob(pub, "blob", 0, name, "misc", tpl, shards, 0);

	CHECK(k != NULL);
	CHECK(kstat_install(k) == 0);
	return k;
}

/* --- what one writer does -------------------------------------------------------------- */

static uint64_t
noise(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (*state >> 33) % 1000;
}

static void
one_writer(void)
{
	kstat_t *k = kstat_publish_statsblob(pub, "blob", 0, "one", "misc", rtt, 1, 0);
	struct statsblob *mine = stats_blob_alloc(rtt, 0);
	kstat_blob_t *b;
	const struct ks_meta *m;
	struct ks_value v;
	uint64_t state = 1;
	double q;

	CHECK(k != NULL && mine != NULL);
	CHECK(kstat_blob(k) == NULL && errno == EINVAL);
	CHECK(kstat_blob_describe(k, 0, "us", "time to answer") == 0);
	CHECK(kstat_blob_describe(k, 1, "us", "") == -1 && errno == EINVAL);
	CHECK(kstat_install(k) == 0);
	CHECK(kstat_blob_describe(k, 0, "us", "") == -1 && errno == EINVAL);
	b = kstat_blob(k);
	CHECK(b != NULL);
	CHECK(kstat_blob_voi(b, "rtt") == 0);
	CHECK(kstat_blob_voi(b, "other") == -1 && errno == ENOENT);

	/* Seen before it is read; without samples there is nothing but sums and counts. */
	k = find("one");
	CHECK(k != NULL && ks_is_shown(k) && k->ks_data == NULL && !has(k, "rtt_sum"));
	k = read_blob("one");
	CHECK(k->ks_type == KSTAT_TYPE_RAW && (k->ks_flags & KSTAT_FLAG_STATSBLOB) != 0);
	CHECK(u64(k, "rtt_sum") == 0 && u64(k, "rtt_count") == 0);
	CHECK(!has(k, "rtt_max") && !has(k, "rtt_p50"));
	CHECK(same_blob(k, mine));

	/* After any number of updates the reader has what a private blob has: across copies and logs. */
	for (int i = 1; i <= 500; i++) {
		uint64_t x = noise(&state);

		CHECK(kstat_blob_update_int(b, 0, (int64_t)x, false) == 0);
		CHECK(stats_voi_update_abs_u64(mine, 0, x) == 0);
		k = read_blob("one");
		CHECK(same_blob(k, mine));
	}
	for (int i = 0; i < 20000; i++) {
		uint64_t x = noise(&state);

		if (kstat_blob_update_dbl(b, 0, (double)x, false) != 0)
			CHECK(!"updated");
		(void)stats_voi_update_abs_u64(mine, 0, x);
	}
	k = read_blob("one");
	CHECK(same_blob(k, mine));
	CHECK(u64(k, "rtt_count") == 20500);
	CHECK(stats_voi_quantile(mine, 0, 0.99, &q, NULL) == 0 && dbl(k, "rtt_p99") == q);
	CHECK(stats_voi_quantile(mine, 0, 0.5, &q, NULL) == 0 && dbl(k, "rtt_p50") == q);
	CHECK(stats_voi_quantile(k->ks_data, 0, 0.5, &q, NULL) == 0 && dbl(k, "rtt_p50") == q);
	CHECK(stat_of(k, "rtt_buckets", &v) && v.kind == KS_VALUE_INTS && v.len == 10);
	CHECK(stat_of(k, "rtt_bounds", &v) && v.kind == KS_VALUE_INTS && v.len == 10);
	CHECK(memcmp(v.str + 72, &(uint64_t){ 900 }, 8) == 0);

	m = ks_chain_meta(kc, k, "rtt_sum");
	CHECK(m != NULL && m->kind == KS_KIND_COUNTER && strcmp(m->unit, "us") == 0);
	CHECK(m != NULL && strcmp(m->desc, "time to answer: sum of the values") == 0);
	m = ks_chain_meta(kc, k, "rtt_p99");
	CHECK(m != NULL && m->kind == KS_KIND_GAUGE && strcmp(m->unit, "us") == 0);
	m = ks_chain_meta(kc, k, "rtt_count");
	CHECK(m != NULL && m->kind == KS_KIND_COUNTER && strcmp(m->unit, "") == 0);
	CHECK(ks_chain_meta(kc, k, "rtt_none") == NULL);
	CHECK(ks_chain_meta(kc, k, "snaptime") != NULL);

	CHECK(kstat_blob_voi(b, "rtt") == 0 && kstat_blob_voi(b, "rt") == -1 && errno == ENOENT);
	CHECK(kstat_blob_voi(b, "rtt_which_is_longer_than_any_name_that_fits") == -1);

	/* What is refused changes nothing. */
	CHECK(kstat_blob_update_int(b, 1, 5, false) == -1 && errno == EINVAL);
	CHECK(kstat_blob_update_int(b, 0, 5, true) == -1 && errno == EINVAL);
	CHECK(kstat_blob_update_int(b, 0, -5, false) == -1 && errno == ERANGE);
	CHECK(kstat_blob_update_dbl(b, 0, NAN, false) == -1 && errno == ERANGE);
	CHECK(kstat_blob_update_int(NULL, 0, 5, false) == -1 && errno == EINVAL);
	CHECK(same_blob(read_blob("one"), mine));

	/* Whole blobs. */
	CHECK(kstat_blob_merge(b, mine) == 0);
	k = read_blob("one");
	CHECK(u64(k, "rtt_count") == 41000);
	CHECK(kstat_blob_update_int(b, 0, 7, false) == 0);
	CHECK(u64(read_blob("one"), "rtt_count") == 41001);
	CHECK(kstat_blob_store(b, mine) == 0);
	CHECK(same_blob(read_blob("one"), mine));
	CHECK(kstat_blob_store(b, NULL) == 0);
	CHECK(u64(read_blob("one"), "rtt_count") == 0);
	CHECK(kstat_blob_update_int(b, 0, 7, false) == 0);
	k = read_blob("one");
	CHECK(u64(k, "rtt_count") == 1 && u64(k, "rtt_max") == 7 && dbl(k, "rtt_p999") == 7);
	stats_blob_destroy(mine);
	mine = stats_blob_alloc(small, 0);
	CHECK(kstat_blob_merge(b, mine) == -1 && errno == EINVAL);
	CHECK(kstat_blob_store(b, mine) == -1 && errno == EINVAL);
	CHECK(u64(read_blob("one"), "rtt_count") == 1);
	CHECK(kstat_blob_copy(b, NULL) == -1 && errno == EINVAL);
	stats_blob_destroy(mine);
}

static void
kinds_of_values(void)
{
	kstat_blob_t *b = kstat_blob(publish("kinds", small, 1));
	struct ks_value v;
	kstat_t *k;

	CHECK(kstat_blob_update_int(b, 1, 4000000000, false) == 0);
	CHECK(kstat_blob_update_dbl(b, 3, -1.5, false) == 0);
	CHECK(kstat_blob_update_int(b, 4, -3, false) == 0);
	CHECK(kstat_blob_update_int(b, 4, -30, false) == 0);
	k = read_blob("kinds");
	CHECK(stat_of(k, "bytes_sum", &v) && v.u64 == 4000000000u && v.bits == 32);
	CHECK(!has(k, "bytes_count") && !has(k, "bytes_p50"));
	CHECK(dbl(k, "load_sum") == -1.5 && dbl(k, "load_max") == -1.5 && !has(k, "load_min"));
	CHECK(stat_of(k, "drift_sum", &v) && v.kind == KS_VALUE_I64 && v.i64 == -33);
	CHECK(ks_chain_meta(kc, k, "drift_sum")->kind == KS_KIND_GAUGE);
	CHECK(stat_of(k, "drift_bounds", &v) && v.kind == KS_VALUE_STRS);
	CHECK(memcmp(v.str, "-10\0000\00010", 7) == 0);
	CHECK(u64(k, "drift_oob") == 1 && u64(k, "drift_count") == 2);
	b = kstat_blob(publish("relative", rel, 1));
	CHECK(kstat_blob_update_int(b, 0, 10, false) == 0);
	CHECK(kstat_blob_update_int(b, 0, -4, true) == 0);
	CHECK(kstat_blob_update_dbl(b, 0, 1, true) == 0);
	k = read_blob("relative");
	CHECK(stat_of(k, "r_sum", &v) && v.i64 == 23 && stat_of(k, "r_min", &v) && v.i64 == 6);
}

/* Created again it goes on, unless its template or description is another. */
static void
again(void)
{
	kstat_t *k = publish("again", rtt, 2);

	CHECK(kstat_blob_update_int(kstat_blob(k), 0, 5, false) == 0);
	k = publish("again", rtt, 2);
	CHECK(kstat_blob_update_int(kstat_blob(k), 0, 6, false) == 0);
	CHECK(u64(read_blob("again"), "rtt_sum") == 11);
	k = kstat_publish_statsblob(pub, "blob", 0, "again", "misc", rtt, 2, 0);
	CHECK(kstat_blob_describe(k, 0, "ms", NULL) == 0 && kstat_install(k) == 0);
	CHECK(u64(read_blob("again"), "rtt_sum") == 0);
	CHECK(strcmp(ks_chain_meta(kc, find("again"), "rtt_sum")->unit, "ms") == 0);
	k = publish("again", small, 1);
	CHECK(!has(read_blob("again"), "rtt_sum") && has(find("again"), "bytes_sum"));
	kstat_delete(k);
	CHECK(find("again") == NULL);
}

static void
refused(void)
{
	CHECK(kstat_publish_statsblob(pub, "blob", 0, "x", "misc", 99, 1, 0) == NULL && errno == EINVAL);
	CHECK(kstat_publish_statsblob(pub, "blob", 0, "x", "misc", rtt, 0, 0) == NULL && errno == EINVAL);
	CHECK(kstat_publish_statsblob(pub, "blob", 0, "x", "misc", rtt, 65, 0) == NULL && errno == EINVAL);
	CHECK(kstat_publish_statsblob(pub, "blob", 0, "x", "misc", rel, 2, 0) == NULL && errno == EINVAL);
	CHECK(kstat_publish_statsblob(pub, "blob", 0, "x", "misc", rtt, 1, KSTAT_FLAG_WRITABLE) == NULL &&
	    errno == EINVAL);
	CHECK(kstat_publish_statsblob(pub, "blob", 0, "x", "misc",
	    (uint32_t)stats_tpl_alloc("empty", 0), 1, 0) == NULL && errno == EINVAL);
	CHECK(kstat_create("blob", 0, "x", "misc", KSTAT_TYPE_RAW, 100, KSTAT_FLAG_STATSBLOB) == NULL &&
	    errno == EINVAL);
	CHECK(kstat_blob(NULL) == NULL && errno == EINVAL);
}

/* --- of this process -------------------------------------------------------------------------- */

static void
local(void)
{
	kstat_t *k = kstat_create_statsblob("blob", 0, "local", "misc", rtt, 4, 0), *seen;
	kstat_ctl_t *own = ks_chain_open_source(ks_source_local_open(), 0);
	kstat_blob_t *b;

	CHECK(k != NULL && kstat_install(k) == 0);
	b = kstat_blob(k);
	CHECK(kstat_blob_update_int(b, 0, 100, false) == 0);
	CHECK(kstat_blob_update_int(b, 0, 300, false) == 0);
	(void)kstat_chain_update(own);
	seen = kstat_lookup(own, "blob", 0, "local");
	CHECK(seen != NULL && kstat_read(own, seen, NULL) > 0);
	CHECK(u64(seen, "rtt_sum") == 400 && u64(seen, "rtt_max") == 300);
	CHECK(kstat_write(own, seen, NULL) == -1 && errno == EACCES);
	kstat_delete(k);
	CHECK(kstat_read(own, seen, NULL) == -1 && errno == ENXIO);
	(void)kstat_close(own);
}

/* --- threads and processes ------------------------------------------------------------------------- */

#define THREADS 4
#define PROCESSES 3
#define UPDATES 20000

static void *
update_many(void *arg)
{
	uint64_t failed = 0;

	for (int i = 0; i < UPDATES; i++)
		failed += kstat_blob_update_int(arg, 0, i % 1000, false) != 0;
	return (void *)(uintptr_t)failed;
}

static int
update_in_threads(kstat_blob_t *b)
{
	pthread_t thread[THREADS];
	void *failed;
	int rc = 0;

	for (int i = 0; i < THREADS; i++)
		rc |= pthread_create(&thread[i], NULL, update_many, b);
	for (int i = 0; i < THREADS; i++)
		rc |= pthread_join(thread[i], &failed) | (failed != NULL);
	return rc;
}

static void
together(const char *name, uint_t shards)
{
	kstat_blob_t *b = kstat_blob(publish(name, rtt, shards));
	pid_t pid[PROCESSES];
	uint64_t reads = 0, last = 0, total = (uint64_t)THREADS * PROCESSES * UPDATES;
	struct statsblob *copy = NULL;
	kstat_t *k = NULL;
	int status, left = PROCESSES;

	for (int i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			_exit(update_in_threads(b));
	}
	/* Meanwhile every read is of one instant of each shard: counts agree, and never fall. */
	while (left > 0) {
		k = find(name);
		if (kstat_read(kc, k, NULL) > 0) {
			uint64_t count = u64(k, "rtt_count"), sum = 0, n;
			struct ks_value v;

			CHECK(stat_of(k, "rtt_buckets", &v));
			for (uint32_t i = 0; i < v.len; i++) {
				memcpy(&n, v.str + i * 8, 8);
				sum += n;
			}
			CHECK(count == sum && count >= last);
			last = count;
			reads++;
		} else {
			CHECK(errno == EAGAIN);
		}
		while (left > 0 && waitpid(-1, &status, WNOHANG) > 0) {
			CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
			left--;
		}
	}
	CHECK(reads > 0);
	k = read_blob(name);
	CHECK(u64(k, "rtt_count") == total);
	CHECK(u64(k, "rtt_sum") == total * 999 / 2);
	CHECK(u64(k, "rtt_max") == 999 && u64(k, "rtt_min") == 0 && u64(k, "rtt_oob") == 0);
	CHECK(fabs(dbl(k, "rtt_p50") - 500) < 30 && fabs(dbl(k, "rtt_p99") - 990) < 10);
	CHECK(kstat_blob_copy(b, &copy) == 0);
	CHECK(same_blob(k, copy));
	stats_blob_destroy(copy);
}

/* Shards merged by the reader are what merging private blobs gives. */
static void
merged(void)
{
	kstat_blob_t *b = kstat_blob(publish("merged", rtt, 3));
	struct statsblob *sum = stats_blob_alloc(rtt, 0), *part[3];
	uint64_t state = 5;

	for (uint32_t i = 0; i < 3; i++) {
		const struct ks_blob_head *h = (const void *)b->memory;
		struct ks_blob_row *row = (void *)(b->memory + h->first + i * h->row);

		part[i] = stats_blob_alloc(rtt, 0);
		for (int j = 0; j < 3000; j++)
			(void)stats_voi_update_abs_u64(part[i], 0, noise(&state) * (i + 1));
		/* Through the shard's own row: which one a thread gets is not for it to choose. */
		memcpy((char *)row + ks_blob_at(h->blob_size), part[i], h->blob_size);
		memcpy((char *)row + ks_blob_copy_at(0, h->blob_size) + sizeof(struct ks_blob_copy), part[i],
		    h->blob_size);
		((struct ks_blob_copy *)(void *)((char *)row + ks_blob_copy_at(0, h->blob_size)))->check =
		    ks_rec_check(part[i], ks_blob_rounded(h->blob_size), 0);
		if (i == 0)
			memcpy(sum, part[0], part[0]->cursz);
		else
			CHECK(stats_blob_merge(sum, part[i]) == 0);
	}
	CHECK(same_blob(read_blob("merged"), sum));
	for (int i = 0; i < 3; i++)
		stats_blob_destroy(part[i]);
	stats_blob_destroy(sum);
}

/* --- deaths ---------------------------------------------------------------------------------------------- */

static void
killed(int kills)
{
	kstat_blob_t *b = kstat_blob(publish("killed", rtt, 1));
	uint64_t last = 0, before = 0, most;
	int torn = 0;

	/* Further ones if nobody was killed where it matters: on a busy machine they hardly get to run. */
	for (int i = 0; i < kills || (torn == 0 && i < 200 * kills); i++) {
		pid_t pid = fork();
		kstat_t *k;
		uint64_t count, sum;
		int status;

		if (pid == 0) {
			for (;;) {
				(void)kstat_blob_update_int(b, 0, 3, false);
				/* Copies are where most of the time is spent, and what a death must not spoil. */
				(void)kstat_blob_store(b, NULL);
				for (int j = 0; j < 70; j++)
					(void)kstat_blob_update_int(b, 0, 3, false);
			}
		}
		CHECK(pid > 0);
		if (pid < 0)
			return;
		(void)usleep((useconds_t)(300 + (i * 37) % 700));
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
		torn += ((struct ks_blob_row *)(void *)(b->memory + b->first))->number == KS_BLOB_NONE;
		k = find("killed");
		CHECK(kstat_read(kc, k, NULL) > 0);
		count = u64(k, "rtt_count");
		sum = u64(k, "rtt_sum");
		CHECK(sum == 3 * count);
		/* It may have died before it started again, once or many times in a row. */
		most = before + 1 > 71 ? before + 1 : 71;
		CHECK(count <= most);
		before = count + 1;
		/* The next one goes on from there. */
		CHECK(kstat_blob_update_int(b, 0, 3, false) == 0);
		k = read_blob("killed");
		CHECK(u64(k, "rtt_count") == count + 1 && u64(k, "rtt_sum") == 3 * count + 3);
		last += count;
	}
	CHECK(last > 0);
	CHECK(torn > 0);
}

/* --- damage ------------------------------------------------------------------------------------------------- */

/* Reads after `n` bytes at `at` were changed; the errno, 0 for none. */
static int
read_changed(kstat_blob_t *b, size_t at, const void *to, size_t n)
{
	char was[16];
	int rc;

	memcpy(was, b->memory + at, n);
	memcpy(b->memory + at, to, n);
	rc = kstat_read(kc, find("damaged"), NULL) > 0 ? 0 : errno;
	memcpy(b->memory + at, was, n);
	return rc;
}

static void
damaged(void)
{
	kstat_blob_t *b = kstat_blob(publish("damaged", rtt, 1));
	const struct ks_blob_head *h = (const void *)b->memory;
	size_t copy = h->first + ks_blob_copy_at(0, h->blob_size);
	uint32_t big = UINT32_MAX;
	char name[8] = "a\nb";

	CHECK(kstat_blob_update_int(b, 0, 3, false) == 0);
	for (size_t at = 0; at < offsetof(struct ks_blob_head, pad); at += 4) {
		CHECK(read_changed(b, at, &big, sizeof(big)) == EIO);
		CHECK(strchr(kstat_errmsg(), '\n') == NULL && strstr(kstat_errmsg(), "blob:0:damaged: ") != NULL);
	}
	CHECK(read_changed(b, sizeof(*h) + offsetof(struct ks_blob_voi, name), name, 8) == EIO);
	/* The only copy, and the log. */
	CHECK(read_changed(b, copy, &big, 4) == EIO);
	CHECK(read_changed(b, copy + sizeof(struct ks_blob_copy) + 40, &big, 4) == EIO);
	CHECK(read_changed(b, h->first + offsetof(struct ks_blob_row, log) + 24, &big, 4) == EIO);
	/* The blob that writers change is none of the reader's business. */
	CHECK(read_changed(b, h->first + ks_blob_at(h->blob_size), &big, 4) == 0);
	CHECK(u64(read_blob("damaged"), "rtt_count") == 1);
}

/* Reads the statistics of a blob of which only the first and the last VOI are described: they have no other's name. */
static void
undescribed(void)
{
	struct statsblob *blob = stats_blob_alloc(small, 0);
	struct ks_blob_voi vois[2];
	struct ks_record r = KS_RECORD_INIT;
	kstat_t k = { .ks_type = KSTAT_TYPE_RAW, .ks_flags = KSTAT_FLAG_STATSBLOB };

	ks_blob_voi_set(&vois[0], 1, "first", "B", NULL);
	ks_blob_voi_set(&vois[1], 4, "last", "C", NULL);
	CHECK(stats_voi_update_abs_u32(blob, 1, 7) == 0 && stats_voi_update_abs_s64(blob, 4, -3) == 0);
	CHECK(ks_blobstat_build(&r, blob, vois, 2) == 0);
	k.ks_ndata = r.ndata;
	k.ks_data_size = ks_record_size(&r);
	k.ks_data = malloc(k.ks_data_size);
	ks_record_finish(&r, KSTAT_TYPE_RAW, k.ks_data);
	CHECK(u64(&k, "first_sum") == 7 && dbl(&k, "voi3_sum") == 0 && has(&k, "last_sum"));
	CHECK(!has(&k, "voi4_sum") && !has(&k, "voi1_sum"));
	CHECK(strcmp(ks_meta_of_model(&k, "first_sum")->unit, "B") == 0 &&
	    strcmp(ks_meta_of_model(&k, "voi3_sum")->unit, "") == 0 &&
	    strcmp(ks_meta_of_model(&k, "last_sum")->unit, "C") == 0);
	free(k.ks_data);
	ks_record_free(&r);
	stats_blob_destroy(blob);
}

/* --- recordings ------------------------------------------------------------------------------------------------ */

static int
append(void *buf, const char *p, size_t n)
{
	ks_buf_add(buf, p, n);
	return 0;
}

/* blob:0:one and blob:0:kinds. */
static char *
render(kstat_ctl_t *from, enum ks_format format)
{
	struct ks_buf out = KS_BUF_INIT;
	struct ks_selector s = { .stat = { .kind = KS_PATTERN_ANY } };
	const struct ks_selector *selectors[] = { &s };

	CHECK(ks_pattern_compile(&s.name, "/^(one|kinds)$/", 15) == 0);
	CHECK(ks_render_write(from, selectors, 1, format, append, &out) > 10);
	ks_buf_addc(&out, '\0');
	ks_selector_free(&s);
	return out.data;
}

static char *
path_of(char *path, size_t size, const char *name)
{
	(void)snprintf(path, size, "%s/%s", getenv("KSTAT_DIR"), name);
	return path;
}

/* Makes a recording of a chain and opens it at its second sample. */
static kstat_ctl_t *
record(kstat_ctl_t *from, const char *path)
{
	struct ks_recorder *rec = ks_recorder_open(path);
	kstat_ctl_t *replay;

	CHECK(rec != NULL && ks_recorder_add(rec, from, NULL, 0) == 0);
	CHECK(ks_recorder_add(rec, from, NULL, 0) == 0);
	ks_recorder_close(rec);
	replay = kstat_open_capture(path);
	CHECK(replay != NULL);
	if (replay != NULL)
		(void)ks_chain_step(replay);
	(void)unlink(path);
	return replay;
}

/* Whether statistics, metadata and, if there is one, the blob came through. */
static void
compare(kstat_ctl_t *replay, const char *expected, bool with_blob)
{
	kstat_t *k = kstat_lookup(replay, "blob", 0, "one");
	char *got;

	CHECK(k != NULL && kstat_read(replay, k, NULL) > 0);
	CHECK(k->ks_type == KSTAT_TYPE_RAW && (k->ks_flags & KSTAT_FLAG_STATSBLOB) != 0);
	CHECK((k->ks_ndata > 0) == with_blob);
	CHECK(!with_blob || stats_blob_check(k->ks_data, k->ks_ndata) == 0);
	CHECK(!with_blob || strcmp(ks_meta_of_model(k, "rtt_sum")->unit, "us") == 0);
	CHECK(ks_meta_of_model(k, "rtt_sum")->kind == KS_KIND_COUNTER);
	CHECK(ks_meta_of_model(k, "rtt_buckets")->kind == KS_KIND_COUNTER);
	CHECK(ks_meta_of_model(k, "rtt_p50")->kind == KS_KIND_GAUGE);
	got = render(replay, KS_FORMAT_JSON);
	CHECK(strcmp(got, expected) == 0);
	free(got);
}

static void
replayed(void)
{
	char path[256];
	kstat_ctl_t *recording = record(kc, path_of(path, sizeof(path), "blob.krec")), *capture, *both;
	char *json;
	FILE *f;

	if (recording == NULL)
		return;
	json = render(recording, KS_FORMAT_JSON);
	CHECK(strstr(json, "\"statsblob\": 1,") != NULL && strstr(json, "\"rtt_p99\": 7") != NULL);
	compare(recording, json, true);
	f = fopen(path_of(path, sizeof(path), "blob.json"), "w");
	CHECK(f != NULL && fputs(json, f) >= 0 && fclose(f) == 0);
	capture = kstat_open_capture(path);
	CHECK(capture != NULL);
	if (capture != NULL) {
		compare(capture, json, false);
		both = record(capture, path_of(path, sizeof(path), "both.krec"));
		if (both != NULL) {
			compare(both, json, false);
			(void)kstat_close(both);
		}
		(void)kstat_close(capture);
	}
	(void)unlink(path_of(path, sizeof(path), "blob.json"));
	free(json);
	(void)kstat_close(recording);
}

int
main(void)
{
	pub = kstat_publish("blobs", 0);
	kc = ks_chain_open_source(ks_source_segment_open(), 0);
	CHECK(pub != NULL && kc != NULL);
	templates();
	refused();
	one_writer();
	kinds_of_values();
	again();
	local();
	together("together", 1);
	together("sharded", 5);
	merged();
	killed(getenv("KILLS") != NULL ? atoi(getenv("KILLS")) : 60);
	damaged();
	undescribed();
	replayed();
	(void)kstat_close(kc);
	kstat_unpublish(pub);
	printf("%d checks, %d failures\n", checks, failures);
	return failures != 0;
}
