/*
 * core_allocations.c - lets each request for memory fail once, in this process: malloc(), calloc(), realloc() and mmap(),
 * also those of the libraries that are linked in. Of each operation below every request fails once. It then fails with
 * ENOMEM and a line, or its result is that of the good run, or its chain says in a line that something is left out; it
 * keeps no memory, and the next try works.
 *
 *     core_allocations RECORDING CAPTURE DIRECTORY [NAME]...    the operations of these names only
 *
 * KSTAT_DIR is set; files are made in the directory $TMPDIR. SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chain/chain.h"
#include "check.h"
#include "kstat_blob.h"
#include "kstat_provider.h"
#include "metrics/exposition.h"
#include "output/recorder.h"
#include "output/render.h"
#include "source/replay/replay.h"
#include "source/sources.h"

#define MOST_TOLD 200

/* The sanitizer has functions of its own in place of strdup() and others, and says itself what is kept at the end. */
#ifdef __SANITIZE_ADDRESS__
#define KEPT() 0
#else
#define KEPT() atomic_load(&blocks)
#endif

/* --- requests for memory --------------------------------------------------------------------------------------- */

static atomic_long countdown = -1; /* requests up to the one that fails; negative: none does */
static atomic_long requests, blocks; /* so far, and those that are not free yet */
static atomic_bool refused;

static bool
refuse(void)
{
	atomic_fetch_add(&requests, 1);
	if (atomic_load(&countdown) < 0 || atomic_fetch_sub(&countdown, 1) != 0)
		return false;
	atomic_store(&refused, true);
	errno = ENOMEM;
	return true;
}

#define NEXT(name) do { \
		if (next == NULL) \
			*(void **)&next = dlsym(RTLD_NEXT, name); \
	} while (0)
#define VISIBLE __attribute__((visibility("default")))

static void *
counted(void *p)
{
	if (p != NULL)
		atomic_fetch_add(&blocks, 1);
	return p;
}

VISIBLE void *
malloc(size_t size)
{
	static void *(*next)(size_t);

	NEXT("malloc");
	return refuse() ? NULL : counted(next(size));
}

VISIBLE void *
calloc(size_t n, size_t size)
{
	static void *(*next)(size_t, size_t);

	NEXT("calloc");
	return refuse() ? NULL : counted(next(n, size));
}

VISIBLE void *
realloc(void *p, size_t size)
{
	static void *(*next)(void *, size_t);

	NEXT("realloc");
	if (refuse())
		return NULL;
	return p == NULL ? counted(next(NULL, size)) : next(p, size);
}

VISIBLE void
free(void *p)
{
	static void (*next)(void *);
	static bool is_looking;

	if (is_looking)
		return; /* dlsym() frees the message of an earlier failure */
	is_looking = next == NULL;
	NEXT("free");
	is_looking = false;
	if (p != NULL)
		atomic_fetch_sub(&blocks, 1);
	next(p);
}

VISIBLE void *
mmap(void *at, size_t size, int protection, int flags, int fd, off_t from)
{
	static void *(*next)(void *, size_t, int, int, int, off_t);

	NEXT("mmap");
	return refuse() ? MAP_FAILED : next(at, size, protection, flags, fd, from);
}

/* --- operations -------------------------------------------------------------------------------------------------- */

static const char *recording, *capture, *directory;

/* What an operation came to. */
struct outcome {
	uint64_t hash; /* of what it gave */
	unsigned lines; /* that say what is left out */
	int error;      /* errno of the first call that failed; 0: none did */
	char line[256]; /* its message, or that about what is left out */
};

static int
add_to_hash(void *arg, const char *p, size_t n)
{
	uint64_t *hash = arg;

	for (size_t i = 0; i < n; i++)
		*hash = (*hash ^ (unsigned char)p[i]) * UINT64_C(0x100000001b3);
	return 0;
}

/* Notes a call that failed; returns whether it worked. */
static bool
ok(struct outcome *o, bool worked)
{
	if (!worked && o->error == 0) {
		o->error = errno;
		(void)snprintf(o->line, sizeof(o->line), "%s", kstat_errmsg());
	}
	return worked;
}

static void
close_chain(struct outcome *o, kstat_ctl_t *kc)
{
	const char *line;

	while ((line = ks_chain_warning(kc)) != NULL) {
		o->lines++;
		(void)snprintf(o->line, sizeof(o->line), "%s", line);
	}
	(void)kstat_close(kc);
}

static const struct ks_selector everything;
static const struct ks_selector *const selectors[] = { &everything };

/* The times of what is live change by themselves: there the names are compared. */
static void
read_all(struct outcome *o, kstat_ctl_t *kc)
{
	if (!ok(o, kc != NULL))
		return;
	do {
		(void)ok(o, ks_render_write(kc, selectors, 1, ks_chain_is_replay(kc) ? KS_FORMAT_JSON_CLASS :
		    KS_FORMAT_LIST, add_to_hash, &o->hash) >= 0);
	} while (o->error == 0 && ok(o, ks_chain_step(kc) >= 0) && ks_chain_is_replay(kc) && !ks_chain_ended(kc));
	close_chain(o, kc);
}

static kstat_ctl_t *
open_past(const char *path)
{
	return ks_chain_open_replay(&(struct ks_past){ .paths = path }, NULL);
}

static void
read_recording(struct outcome *o)
{
	read_all(o, open_past(recording));
}

static void
read_capture(struct outcome *o)
{
	read_all(o, open_past(capture));
}

static void
read_directory(struct outcome *o)
{
	read_all(o, open_past(directory));
}

/* Goes to the last sample, back, and to a time. */
static void
seek(struct outcome *o)
{
	kstat_ctl_t *kc = open_past(directory);
	int64_t ns = INT64_MAX / 2;

	if (!ok(o, kc != NULL))
		return;
	if (ok(o, kstat_replay_seek(kc, &ns) >= 0) && ok(o, ks_chain_previous(kc, &(unsigned){ 2 }) >= 0)) {
		ns = ks_chain_time_of_day(kc, NULL);
		(void)add_to_hash(&o->hash, (const char *)&ns, sizeof(ns));
		(void)ok(o, ks_render_write(kc, selectors, 1, KS_FORMAT_JSON_CLASS, add_to_hash, &o->hash) >= 0);
	}
	close_chain(o, kc);
}

static void
read_segment(struct outcome *o)
{
	read_all(o, ks_chain_open_source(ks_source_segment_open(), NULL));
}

static void
expose(struct outcome *o, enum ks_metric_format format)
{
	kstat_ctl_t *kc = open_past(capture);
	struct ks_exposition *x = ok(o, kc != NULL) ? ks_exposition_open(kc, selectors, 1, format) : NULL;
	struct ks_buf text = KS_BUF_INIT;
	int rc = 1;

	if (kc != NULL && ok(o, x != NULL)) {
		while (rc > 0)
			rc = ks_exposition_step(x, &text);
		if (ok(o, rc == 0) && !text.failed)
			(void)add_to_hash(&o->hash, text.data, text.len);
		else if (text.failed)
			o->error = ENOMEM;
	}
	ks_buf_free(&text);
	ks_exposition_free(x);
	if (kc != NULL)
		close_chain(o, kc);
}

static void
expose_text(struct outcome *o)
{
	expose(o, KS_METRIC_OPENMETRICS);
}

static void
expose_messages(struct outcome *o)
{
	expose(o, KS_METRIC_PROTOBUF);
}

/* --- recorders ----------------------------------------------------------------------------------------------------- */

/* Records all samples; one that failed is tried again, and must work then. */
static void
record_with(struct outcome *o, struct ks_recorder *rec)
{
	kstat_ctl_t *kc = ok(o, rec != NULL) ? open_past(recording) : NULL;
	bool repeated = false;

	if (rec != NULL && ok(o, kc != NULL)) {
		do {
			if (!ok(o, ks_recorder_add(rec, kc, NULL, 0) == 0) && !repeated) {
				repeated = true;
				CHECK(ks_recorder_add(rec, kc, NULL, 0) == 0);
			}
		} while (ok(o, ks_chain_step(kc) >= 0) && !ks_chain_ended(kc));
	}
	if (kc != NULL)
		close_chain(o, kc);
}

/* What is read of what was recorded, while all requests are granted. */
static void
read_back(struct outcome *o, const char *path)
{
	struct outcome back = { 0 };

	atomic_store(&countdown, -1);
	read_all(&back, open_past(path));
	o->hash = back.hash;
	o->lines += back.lines;
}

static char *
new_path(char path[256], const char *name)
{
	const char *dir = getenv("TMPDIR");

	(void)snprintf(path, 256, "%s/%s", dir != NULL ? dir : "/tmp", name);
	return path;
}

static void
record(struct outcome *o)
{
	char path[256];
	struct ks_recorder *rec = ks_recorder_open(new_path(path, "recorded"));

	record_with(o, rec);
	ks_recorder_close(rec);
	read_back(o, path);
	(void)unlink(path);
}

static void
record_in_memory(struct outcome *o)
{
	struct ks_recorder *rec = ks_recorder_open(NULL);

	record_with(o, rec);
	if (rec != NULL)
		read_back(o, ks_recorder_path(rec));
	ks_recorder_close(rec);
}

#ifndef __SANITIZE_ADDRESS__
static void
record_directory(struct outcome *o)
{
	const struct ks_rec_limits limits = { .keep = INT64_MAX, .bytes = 1 << 30 };
	struct ks_rec_status status;
	char path[256], line[300];
	struct ks_recorder *rec = ks_recorder_open_directory(new_path(path, "directory"), &limits);

	record_with(o, rec);
	if (rec != NULL) {
		ks_recorder_end(rec);
		ks_recorder_status(rec, &status);
		o->lines += status.dropped > 0;
		if (status.dropped > 0)
			(void)snprintf(o->line, sizeof(o->line), "%llu samples dropped: %.200s",
			    (unsigned long long)status.dropped, status.problem);
	}
	ks_recorder_close(rec);
	read_back(o, path);
	(void)snprintf(line, sizeof(line), "rm -rf '%s'", path);
	CHECK(system(line) == 0);
}
#endif

/* --- publishing ------------------------------------------------------------------------------------------------------ */

static kstat_t *
make_blob(kstat_pub_t *pub)
{
	struct voistatspec vss[] = { STATS_VSS_SUM(), STATS_VSS_TDGSTCLUST32(4, 4) };
	static int tpl = -1;

	if (tpl < 0 && ((tpl = stats_tpl_alloc("allocations", 0)) < 0 ||
	    stats_tpl_add_voistats((uint32_t)tpl, 0, "v", VSD_DTYPE_INT_S64, NVSS(vss), vss, 0) != 0))
		return NULL;
	return kstat_publish_statsblob(pub, "alloc", 0, "blob", "misc", (uint32_t)tpl, 1, 0);
}

static void
name_all(struct outcome *o, kstat_t *k)
{
	const kstat2_md_t md = { .md_type = KSTAT2_NVMT_BYTES, .md_unit = "bytes", .md_desc = "a size" };

	kstat_named_init(&KSTAT_NAMED_PTR(k)[0], "count", KSTAT_DATA_UINT64);
	kstat_named_init(&KSTAT_NAMED_PTR(k)[1], "text", KSTAT_DATA_STRING);
	(void)ok(o, kstat_named_setstr(&KSTAT_NAMED_PTR(k)[1], "what it does") == 0);
	(void)ok(o, kstat2_set_md(k, "count", &md) == 0);
	(void)ok(o, kstat_publish_shards(k, 2) == 0);
}

/* Publishes kstats of all forms. Those that could not be made are left out. */
static void
publish_all(struct outcome *o, kstat_pub_t *pub)
{
	kstat_t *named = kstat_publish_create(pub, "alloc", 0, "named", "misc", KSTAT_TYPE_NAMED, 2, 0), *io, *timer, *blob;
	kstat2_t *times;
	kstat_counter_t *c;

	if (ok(o, named != NULL)) {
		name_all(o, named);
		if (ok(o, kstat_install(named) == 0) && ok(o, (c = kstat_counter_own(named, "count", NULL)) != NULL))
			kstat_counter_add(c, 3);
	}
	io = kstat_publish_create(pub, "alloc", 0, "io", "disk", KSTAT_TYPE_IO, 1, 0);
	if (ok(o, io != NULL) && ok(o, kstat_install(io) == 0))
		(void)ok(o, kstat_ioq_count(kstat_ioq(io), KSTAT_IO_READ, 512) == 0);
	timer = kstat_publish_create(pub, "alloc", 0, "timer", "misc", KSTAT_TYPE_TIMER, 1, 0);
	if (ok(o, timer != NULL)) {
		kstat_timer_init(timer->ks_data, "event");
		(void)ok(o, kstat_install(timer) == 0);
	}
	times = kstat_publish_latency(pub, "alloc", 0, "times", NULL, 0, NULL, 1, 100, 1000);
	if (ok(o, times != NULL) && ok(o, kstat_publish_label(times, "route", "/search") == 0) &&
	    ok(o, kstat2_install(times) == 0))
		(void)ok(o, kstat2_hist_add_value(times, 150) == 0);
	blob = make_blob(pub);
	if (ok(o, blob != NULL) && ok(o, kstat_install(blob) == 0))
		(void)ok(o, kstat_blob_update_int(kstat_blob(blob), 0, 5, false) == 0);
	kstat_delete(named);
	kstat_delete(io);
	kstat_delete(timer);
	kstat2_delete(times);
	kstat_delete(blob);
}

static void
publish(struct outcome *o)
{
	kstat_pub_t *pub = kstat_publish("allocations", 0);

	if (!ok(o, pub != NULL))
		return;
	publish_all(o, pub);
	kstat_unpublish(pub);
}

/* --- all of them ------------------------------------------------------------------------------------------------------ */

static const struct operation {
	const char *name;
	void (*run)(struct outcome *o);
} operations[] = {
	{ "recording", read_recording }, { "capture", read_capture }, { "directory", read_directory }, { "seek", seek },
	{ "segment", read_segment }, { "metrics", expose_text }, { "messages", expose_messages }, { "record", record },
	{ "memory", record_in_memory }, { "publish", publish },
#ifndef __SANITIZE_ADDRESS__ /* which ends a program that has no memory when a thread begins */
	{ "record-directory", record_directory },
#endif
};

/* Runs it while the request of a number fails; returns how many it made. */
static long
run(const struct operation *op, struct outcome *o, long failing)
{
	long before = atomic_load(&requests);

	memset(o, 0, sizeof(*o));
	atomic_store(&refused, false);
	atomic_store(&countdown, failing);
	op->run(o);
	atomic_store(&countdown, -1);
	return atomic_load(&requests) - before;
}

static int told;

static void
wrong(const struct operation *op, long at, const char *what, const struct outcome *o)
{
	failures++;
	if (told++ < MOST_TOLD)
		printf("%s, request %ld: %s (errno %d, %u lines: %s)\n", op->name, at, what, o->error, o->lines, o->line);
}

static void
check_outcome(const struct operation *op, long at, const struct outcome *o, const struct outcome *good)
{
	if (o->error != 0 && o->error != ENOMEM)
		wrong(op, at, "another error than ENOMEM", o);
	else if ((o->error != 0 || o->lines > 0) && (*o->line == '\0' || strchr(o->line, '\n') != NULL))
		wrong(op, at, "not one line", o);
	else if (o->error == 0 && o->lines == 0 && o->hash != good->hash)
		wrong(op, at, "silently another result", o);
	else if (o->lines > 1)
		wrong(op, at, "more than one line", o);
}

static void
sweep(const struct operation *op)
{
	struct outcome good, o;
	long n = 0, kept;

	/* What is kept for good is there after the first runs. */
	for (int i = 0; i < 3; i++)
		n = run(op, &good, -1);
	if (good.error != 0 || good.lines > 0)
		wrong(op, -1, "the good run fails", &good);
	if (n == 0)
		wrong(op, -1, "no request is seen", &good);
	kept = KEPT();
	(void)run(op, &o, -1);
	if (KEPT() != kept)
		wrong(op, -1, "the good run keeps memory", &o);
	for (long at = 0; at < n; at++) {
		kept = KEPT();
		(void)run(op, &o, at);
		if (!atomic_load(&refused))
			continue;
		check_outcome(op, at, &o, &good);
		if (KEPT() > kept)
			wrong(op, at, "keeps memory", &o);
		kept = KEPT();
		(void)run(op, &o, -1);
		if (o.error != 0 || o.lines > 0 || o.hash != good.hash)
			wrong(op, at, "the next try fails", &o);
		if (KEPT() > kept)
			wrong(op, at, "the next try keeps memory", &o);
	}
	(void)fprintf(stderr, "%s: %ld requests\n", op->name, n);
}

int
main(int argc, char **argv)
{
	kstat_pub_t *pub = kstat_publish("always", 0);
	kstat_t *k = pub == NULL ? NULL : kstat_publish_create(pub, "always", 0, "named", "misc", KSTAT_TYPE_NAMED, 2, 0);
	kstat2_t *times = kstat_publish_latency(pub, "always", 0, "times", NULL, 0, NULL, 1, 100, 1000);
	struct outcome o = { 0 };

	if (argc < 4 || k == NULL || times == NULL)
		return 2;
	recording = argv[1];
	capture = argv[2];
	directory = argv[3];
	name_all(&o, k);
	if (kstat_publish_label(times, "route", "/search") != 0 || kstat_install(k) != 0 || kstat2_install(times) != 0)
		return 2;
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		bool is_wanted = argc == 4;

		for (int j = 4; j < argc; j++)
			is_wanted |= strcmp(argv[j], operations[i].name) == 0;
		if (is_wanted)
			sweep(&operations[i]);
	}
	kstat_unpublish(pub);
	printf("%d wrong\n", failures);
	return failures > 0;
}
