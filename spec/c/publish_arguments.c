/*
 * publish_arguments.c - gives each function of the publishing interface every kind of kstat there is, and NULL where
 * it expects something: says which it took although it should not, and the reverse. $KSTAT_DIR is an empty directory.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <kstat_blob.h>
#include "check.h"

/* --- kstats of every kind, in every state ---------------------------------------------------------- */

enum kind { NAMED, INTR, IO, TIMER, RAW, HISTOGRAM, BLOB, KINDS };
enum state { OWN, NEW, PUBLISHED, REMOVED, STATES }; /* NEW: published, but not installed yet */

#define BIT(state, kind) (1u << ((state) * KINDS + (kind)))
#define OF(state) ((BIT(state, KINDS) - 1) & ~(BIT(state, 0) - 1))
/* A kstat that another process removed is as good as one that is there: its memory stays. */
#define THERE(kind) (BIT(PUBLISHED, kind) | BIT(REMOVED, kind))

static const char *const kind_names[] = { "NAMED", "INTR", "IO", "TIMER", "RAW", "histogram", "statsblob" };
static const char *const state_names[] = { "own", "new", "published", "removed" };

static kstat_pub_t *pub;
static uint32_t tpl;

static kstat_t *
histogram(enum state state, const char *name)
{
	const char *path[] = { "misc", "all", "0", name };

	if (state == OWN)
		return kstat2_create_histogram(path, 4, ALL_ZONES, KSTAT2_NVHIST_LOG2, KSTAT2_NVMT_BYTES, 1, 0, NULL, 0,
		    0, 0, 0, 0, NULL, 0);
	return kstat2_publish_histogram(pub, path, 4, KSTAT2_NVHIST_LOG2, KSTAT2_NVMT_BYTES, 1, 0, 0, 0, 0, 0, NULL, 0);
}

static kstat_t *
make(enum state state, enum kind kind)
{
	static const uchar_t types[] = { KSTAT_TYPE_NAMED, KSTAT_TYPE_INTR, KSTAT_TYPE_IO, KSTAT_TYPE_TIMER,
		KSTAT_TYPE_RAW };
	char name[KSTAT_STRLEN];
	kstat_t *k;

	(void)snprintf(name, sizeof(name), "%s_%s", state_names[state], kind_names[kind]);
	if (kind == HISTOGRAM)
		k = histogram(state, name);
	else if (kind == BLOB)
		k = state == OWN ? kstat_create_statsblob("all", 0, name, "misc", tpl, 1, 0) :
		    kstat_publish_statsblob(pub, "all", 0, name, "misc", tpl, 1, 0);
	else if (state == OWN)
		k = kstat_create("all", 0, name, "misc", types[kind], kind == RAW ? 64 : 1, 0);
	else
		k = kstat_publish_create(pub, "all", 0, name, "misc", types[kind], kind == RAW ? 64 : 1, 0);
	CHECK(k != NULL);
	if (k != NULL && kind == NAMED)
		kstat_named_init(k->ks_data, "text", KSTAT_DATA_STRING);
	if (k != NULL && kind == TIMER)
		kstat_timer_init(k->ks_data, "timer");
	if (k != NULL && kind == RAW && state != OWN)
		CHECK(kstat_publish_layout(k, "bytes", 1) == 0);
	if (k != NULL && state != NEW)
		CHECK(kstat_install(k) == 0);
	if (k != NULL && state == REMOVED)
		CHECK(kstat_publish_remove(pub, "all", 0, name) == 1);
	return k;
}

/* --- functions of a kstat: 0, or -1 with errno ------------------------------------------------------- */

static int
took(const volatile void *p)
{
	return p != NULL ? 0 : -1;
}

static int crtime(kstat_t *k) { return took(kstat_publish_crtime(k)); }
static int memory(kstat_t *k) { return took(kstat_publish_memory(k)); }
static int shards(kstat_t *k) { return kstat_publish_shards(k, 1); }
static int layout(kstat_t *k) { return kstat_publish_layout(k, "bytes", 1); }
static int counter(kstat_t *k) { return took(kstat_counter(k, "hard")); }
static int counter_own(kstat_t *k) { return took(kstat_counter_own(k, "hard", NULL)); }
static int named_store(kstat_t *k) { return kstat_named_store(k, "text", "x", 1); }
static int ioq(kstat_t *k) { return took(kstat_ioq(k)); }
static int etimer(kstat_t *k) { return took(kstat_etimer(k, NULL)); }
static int blob_describe(kstat_t *k) { return kstat_blob_describe(k, 0, "us", NULL); }
static int blob(kstat_t *k) { return took(kstat_blob(k)); }
static int add_value(kstat_t *k) { return kstat2_hist_add_value(k, 1); }

static int
reclaim(kstat_t *k)
{
	int64_t taken;

	return kstat_counter_reclaim(k, "hard", &taken);
}

static int
raw_store(kstat_t *k)
{
	static const char bytes[4096];

	return kstat_raw_store(k, bytes);
}

static int
bounds(kstat_t *k)
{
	uint64_t low, high;

	return kstat2_hist_bounds(k, 0, &low, &high);
}

static int
set_md(kstat_t *k)
{
	static const kstat2_md_t md = { .md_type = KSTAT2_NVMT_BYTES };

	return kstat2_set_md(k, k != NULL && strstr(k->ks_name, "histogram") != NULL ? "buckets" : "text", &md);
}

static const struct {
	const char *name;
	int (*call)(kstat_t *k);
	uint32_t takes;
} functions[] = {
	{ "kstat_publish_crtime", crtime, OF(PUBLISHED) | OF(REMOVED) },
	{ "kstat_publish_memory", memory, THERE(RAW) | THERE(BLOB) },
	{ "kstat_publish_shards", shards, BIT(NEW, NAMED) | BIT(NEW, INTR) },
	{ "kstat_publish_layout", layout, BIT(NEW, RAW) | BIT(NEW, BLOB) },
	{ "kstat_counter", counter, THERE(INTR) },
	{ "kstat_counter_own", counter_own, THERE(INTR) },
	{ "kstat_counter_reclaim", reclaim, THERE(INTR) },
	{ "kstat_named_store", named_store, THERE(NAMED) },
	{ "kstat_raw_store", raw_store, 0 }, /* none: these have memory */
	{ "kstat_ioq", ioq, THERE(IO) },
	{ "kstat_etimer", etimer, THERE(TIMER) },
	{ "kstat_blob_describe", blob_describe, BIT(NEW, BLOB) },
	{ "kstat_blob", blob, BIT(OWN, BLOB) | THERE(BLOB) },
	{ "kstat2_hist_add_value", add_value, BIT(OWN, HISTOGRAM) | THERE(HISTOGRAM) },
	{ "kstat2_hist_bounds", bounds, 0 }, /* none: these are not of a chain */
	{ "kstat2_set_md", set_md, OF(NEW) },
	{ "kstat_install", kstat_install, OF(NEW) },
};

static void
offer(size_t f, kstat_t *k, bool takes, const char *state, const char *kind)
{
	int rc;

	printf("%s of %s %s: ", functions[f].name, state, kind); /* this stays if it crashes */
	(void)fflush(stdout);
	errno = 0;
	rc = functions[f].call(k);
	checks++;
	failures += (rc == 0) != takes || (rc != 0 && errno != EINVAL && errno != ENOENT);
	printf("%s\n", (rc == 0) != takes ? rc == 0 ? "WRONG: taken" : "WRONG: refused" : rc == 0 ? "taken" : "refused");
}

static void
kstats(void)
{
	kstat_t *all[STATES][KINDS];

	for (int s = 0; s < STATES; s++) {
		for (int i = 0; i < KINDS; i++)
			all[s][i] = make((enum state)s, (enum kind)i);
	}
	for (size_t f = 0; f < sizeof(functions) / sizeof(functions[0]); f++) {
		offer(f, NULL, false, "no", "kstat");
		for (int s = 0; s < STATES; s++) {
			for (int i = 0; i < KINDS; i++)
				offer(f, all[s][i], functions[f].takes & BIT(s, i), state_names[s], kind_names[i]);
		}
	}
	for (int s = 0; s < STATES; s++) {
		for (int i = 0; i < KINDS; i++)
			kstat_delete(all[s][i]);
	}
}

/* --- NULL in every other place -------------------------------------------------------------------------- */

#define REFUSED(call) do { \
		printf("%s: ", #call); \
		(void)fflush(stdout); \
		errno = 0; \
		checks++; \
		if ((call) && (errno == EINVAL || errno == ENOENT)) { \
			printf("refused\n"); \
		} else { \
			failures++; \
			printf("WRONG\n"); \
		} \
	} while (0)

static void
publications(void)
{
	const char *gap[] = { "misc", NULL, "0", "gap" }, *path[] = { "misc", "all", "0", "path" };
	kstat2_path_t parsed;
	char buf[4] = "abc";

	REFUSED(kstat_publish(NULL, 0) == NULL);
	REFUSED(kstat_publish_sized(NULL, 0, 1 << 20) == NULL);
	REFUSED(kstat_publish_sized("small", 0, 1) == NULL);
	REFUSED(kstat_publish_exists(NULL, "all", 0, "x") == -1);
	REFUSED(kstat_publish_exists(pub, NULL, 0, NULL) == -1);
	REFUSED(kstat_publish_remove(NULL, "all", 0, "x") == -1);
	REFUSED(kstat_publish_remove(pub, NULL, 0, NULL) == -1);
	REFUSED(kstat_publish_create(NULL, "all", 0, "x", "misc", KSTAT_TYPE_NAMED, 1, 0) == NULL);
	REFUSED(kstat_publish_create(pub, NULL, 0, "x", "misc", KSTAT_TYPE_NAMED, 1, 0) == NULL);
	REFUSED(kstat_publish_create(pub, "all", 0, "x", NULL, KSTAT_TYPE_NAMED, 1, 0) == NULL);
	REFUSED(kstat_create(NULL, 0, "x", "misc", KSTAT_TYPE_NAMED, 1, 0) == NULL);
	REFUSED(kstat_create("all", 0, "x", NULL, KSTAT_TYPE_NAMED, 1, 0) == NULL);
	REFUSED(kstat_publish_statsblob(NULL, "all", 0, "x", "misc", tpl, 1, 0) == NULL);
	REFUSED(kstat_publish_statsblob(pub, NULL, 0, "x", "misc", tpl, 1, 0) == NULL);
	REFUSED(kstat_publish_statsblob(pub, "all", 0, "x", "misc", UINT32_MAX, 1, 0) == NULL);
	REFUSED(kstat_create_statsblob(NULL, 0, "x", "misc", tpl, 1, 0) == NULL);
	REFUSED(kstat2_publish_histogram(NULL, path, 4, KSTAT2_NVHIST_LOG2, 0, 1, 0, 0, 0, 0, 0, NULL, 0) == NULL);
	REFUSED(kstat2_publish_histogram(pub, NULL, 4, KSTAT2_NVHIST_LOG2, 0, 1, 0, 0, 0, 0, 0, NULL, 0) == NULL);
	REFUSED(kstat2_publish_histogram(pub, gap, 4, KSTAT2_NVHIST_LOG2, 0, 1, 0, 0, 0, 0, 0, NULL, 0) == NULL);
	REFUSED(kstat2_parse_path(gap, 4, &parsed) == -1);
	REFUSED(kstat2_parse_path(path, 4, NULL) == -1);
	REFUSED(kstat2_parse_path(NULL, 4, &parsed) == -1);
	REFUSED(kstat2_parse_uri(NULL, &parsed) == -1);
	REFUSED(kstat2_parse_uri("kstat:/misc/all/0/path", NULL) == -1);
	REFUSED(kstat2_lookup_uri(NULL, "kstat:/misc/all/0/path") == NULL);
	REFUSED(kstat2_all_types(NULL) == -1);
	REFUSED(kstat_delete_byname(NULL, 0, NULL) == -1);
	kstat_publish_path(NULL, buf, sizeof(buf));
	kstat_publish_path(pub, NULL, 0);
	kstat_publish_path(pub, buf, 0);
	kstat_unpublish(NULL);
	kstat_delete(NULL);
	kstat2_delete(NULL);
	kstat_named_init(NULL, "x", KSTAT_DATA_UINT64);
	kstat_timer_init(NULL, "x");
}

static void
places(void)
{
	kstat_t *named = make(PUBLISHED, NAMED), *timer = make(PUBLISHED, TIMER), *io = make(PUBLISHED, IO),
	    *raw = kstat_publish_create(pub, "all", 0, "stored", "misc", KSTAT_TYPE_RAW, 8, 0), *blob_kstat =
	    make(PUBLISHED, BLOB), *new = make(NEW, NAMED), *intr = make(PUBLISHED, INTR), *new_blob = make(NEW, BLOB);
	kstat_blob_t *b = kstat_blob(blob_kstat);
	struct statsblob *copy = NULL;
	kstat_named_t string, number;
	kstat2_md_t md = { .md_type = KSTAT2_NVMT_BYTES };
	int64_t taken;

	CHECK(kstat_install(raw) == 0 && kstat_raw_store(raw, "8 bytes") == 0);
	REFUSED(kstat_raw_store(raw, NULL) == -1);
	REFUSED(kstat_named_store(named, NULL, "x", 1) == -1);
	REFUSED(kstat_named_store(named, "none", "x", 1) == -1);
	CHECK(kstat_named_store(named, "text", NULL, 0) == 0);
	REFUSED(kstat_counter(named, NULL) == NULL);
	REFUSED(kstat_counter(intr, NULL) == NULL);
	REFUSED(kstat_counter_own(intr, NULL, NULL) == NULL);
	REFUSED(kstat_counter_reclaim(intr, NULL, &taken) == -1);
	REFUSED(kstat_counter_reclaim(intr, "hard", NULL) == -1);
	REFUSED(kstat_publish_layout(new, NULL, 0) == -1);
	REFUSED(kstat_publish_shards(new, 0) == -1);
	REFUSED(kstat2_set_md(new, NULL, &md) == -1);
	REFUSED(kstat2_set_md(new, "text", NULL) == -1);
	REFUSED(kstat_etimer(timer, "none") == NULL);
	REFUSED(kstat_ioq_done(kstat_ioq(io), 7, 1) == -1);
	REFUSED(kstat_blob_describe(new_blob, 9, NULL, NULL) == -1);
	CHECK(kstat_blob_describe(new_blob, 0, NULL, NULL) == 0);
	REFUSED(kstat_blob_voi(b, NULL) == -1);
	REFUSED(kstat_blob_voi(NULL, "voi") == -1);
	REFUSED(kstat_blob_update_int(NULL, 0, 1, false) == -1);
	REFUSED(kstat_blob_update_uint(NULL, 0, 1, false) == -1);
	REFUSED(kstat_blob_update_dbl(NULL, 0, 1, false) == -1);
	REFUSED(kstat_blob_update_int(b, 77, 1, false) == -1);
	REFUSED(kstat_blob_merge(NULL, NULL) == -1);
	REFUSED(kstat_blob_merge(b, NULL) == -1);
	REFUSED(kstat_blob_store(NULL, NULL) == -1);
	REFUSED(kstat_blob_copy(NULL, &copy) == -1);
	REFUSED(kstat_blob_copy(b, NULL) == -1);
	CHECK(kstat_blob_store(b, NULL) == 0);
	kstat_named_init(&string, "string", KSTAT_DATA_STRING);
	kstat_named_init(&number, NULL, KSTAT_DATA_UINT64);
	CHECK(number.name[0] == '\0' && kstat_named_setstr(&string, NULL) == 0);
	REFUSED(kstat_named_setstr(NULL, "x") == -1);
	REFUSED(kstat_named_setstr(&number, "x") == -1);
	REFUSED(kstat_named_setints(NULL, NULL, 0) == -1);
	REFUSED(kstat_named_setstrs(NULL, NULL, 0) == -1);
	kstat_delete(raw);
}

/* What begins or ends something: queues and timers, with locks of the caller's and without any. */
static void
moves(void)
{
	REFUSED(kstat_waitq_enter(NULL) == -1);
	REFUSED(kstat_waitq_exit(NULL) == -1);
	REFUSED(kstat_runq_enter(NULL) == -1);
	REFUSED(kstat_runq_exit(NULL) == -1);
	REFUSED(kstat_waitq_to_runq(NULL) == -1);
	REFUSED(kstat_runq_back_to_waitq(NULL) == -1);
	REFUSED(kstat_io_snapshot_at(NULL, NULL, 0) == -1);
	REFUSED(kstat_timer_start(NULL) == -1);
	REFUSED(kstat_timer_stop(NULL) == -1);
	REFUSED(kstat_ioq_waitq_enter(NULL) == -1);
	REFUSED(kstat_ioq_waitq_exit(NULL) == -1);
	REFUSED(kstat_ioq_runq_enter(NULL) == -1);
	REFUSED(kstat_ioq_runq_exit(NULL) == -1);
	REFUSED(kstat_ioq_waitq_to_runq(NULL) == -1);
	REFUSED(kstat_ioq_runq_back_to_waitq(NULL) == -1);
	REFUSED(kstat_ioq_done(NULL, KSTAT_IO_READ, 1) == -1);
	REFUSED(kstat_publish_queue_latency(NULL) == -1);
	REFUSED(kstat_queue_enter(NULL) == -1);
	REFUSED(kstat_queue_start(NULL, 0) == -1);
	REFUSED(kstat_queue_finish(NULL, 0, KSTAT_IO_READ, 1) == -1);
	REFUSED(kstat_ioq_count(NULL, KSTAT_IO_READ, 1) == -1);
	REFUSED(kstat_etimer_start(NULL) == -1);
	REFUSED(kstat_etimer_stop(NULL) == -1);
	REFUSED(kstat_etimer_event(NULL, 0, 1) == -1);
}

/* --- histograms of latencies ------------------------------------------------------------------------ */

/* True if a call failed because of its arguments. */
static bool
is_refused(bool failed)
{
	return failed && errno == EINVAL;
}

static void
latencies(void)
{
	kstat2_t *h = kstat_publish_latency(pub, "all", 0, "labels", NULL, 0, NULL, 2, 1, 1000);

	CHECK(h != NULL);
	CHECK(is_refused(kstat_publish_label(NULL, "a", "x") == -1));
	CHECK(is_refused(kstat_publish_label(h, NULL, "x") == -1));
	CHECK(is_refused(kstat_publish_label(h, "", "x") == -1));
	CHECK(is_refused(kstat_publish_label(h, "a", NULL) == -1));
	CHECK(kstat_publish_label(h, "a", "x") == 0);
	errno = 0;
	CHECK(is_refused(kstat_publish_latency(NULL, "all", 0, "l", NULL, 0, NULL, 2, 1, 1000) == NULL));
	errno = 0;
	CHECK(is_refused(kstat_publish_latency(pub, NULL, 0, "l", NULL, 0, NULL, 2, 1, 1000) == NULL));
	errno = 0;
	CHECK(is_refused(kstat_publish_latency(pub, "all", 0, NULL, NULL, 0, NULL, 2, 1, 1000) == NULL));
	kstat2_delete(h);
}

int
main(void)
{
	struct voistatspec vss[] = { STATS_VSS_SUM() };
	int id = stats_tpl_alloc("all", 0);

	pub = kstat_publish("arguments", 0);
	CHECK(pub != NULL && id >= 0);
	tpl = (uint32_t)id;
	CHECK(stats_tpl_add_voistats(tpl, 0, "voi", VSD_DTYPE_INT_S64, NVSS(vss), vss, 0) == 0);
	publications();
	moves();
	places();
	kstats();
	latencies();
	kstat_unpublish(pub);
	printf("%d checks, %d failures\n", checks, failures);
	return 0;
}
