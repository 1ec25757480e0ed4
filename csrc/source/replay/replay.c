/* replay.c - see replay.h. SPDX-License-Identifier: MIT */
#include "source/replay/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "model/histstat.h"
#include "source/replay/machine.h"
#include "source/replay/reader.h"
#include "source/replay/recording/frame_file.h"

/* --- the source -------------------------------------------------------------------- */

static struct ks_replay *
replay_of(struct ks_source *src)
{
	return (struct ks_replay *)src;
}

/* --- scanning and reading ------------------------------------------------------------ */

static int
offer(struct ks_replay *r, struct ks_scan *scan, size_t i)
{
	const struct ks_store *s = &r->sample;
	const struct ks_store_kstat *k = &s->kstat[i];
	struct ks_offer offer = {
		.module = ks_store_text(s, k->module),
		.instance = k->instance,
		.name = ks_store_text(s, k->name),
		.class_ = ks_store_text(s, k->class_),
		.type = k->type,
		.flags = k->flags & (uchar_t)~KSTAT_FLAG_WRITABLE,
		.crtime = k->crtime,
		.cookie = i,
		.published = k->published,
		.host = k->has_host && r->window.host == NULL ? ks_store_text(s, k->host) : NULL
	};
	enum ks_hearing hears = ks_scan_hears(scan, k->uid);

	if (!ks_machine_has(r, k))
		return 0;
	if (k->published && (hears == KS_HEARS_NOT ||
	    (hears == KS_HEARS_STRANGER && ks_scan_mistakes(scan, offer.class_))))
		return 0;
	offer.data_size = ks_store_data_size(s, k, &offer.nforeign);
	offer.ndata = k->type == KSTAT_TYPE_RAW ? (uint_t)offer.data_size : k->ndata;
	if (r->for_program && ks_program_measure(r, k, &offer) != 0)
		return -1;
	return ks_scan_offer(scan, &offer);
}

static int
replay_scan(struct ks_source *src, struct ks_scan *scan)
{
	struct ks_replay *r = replay_of(src);

	if (r->offered)
		return 0;
	r->for_program = scan->for_program;
	r->ops->warn(r, scan);
	/* A capture is sorted by name. */
	for (int late = 0; late <= r->for_program; late++) {
		for (size_t i = 0; i < r->sample.nkstats; i++) {
			if (r->for_program && ks_program_is_late(r, &r->sample.kstat[i]) != late)
				continue;
			if (offer(r, scan, i) != 0)
				return -1;
		}
	}
	if (r->for_program && ks_program_offer(r, scan) != 0)
		return -1;
	r->offered = true;
	return 1;
}

/* The kstat of the chain in the sample; NULL if it is not there. */
static const struct ks_store_kstat *
find_kstat(const struct ks_store *s, const kstat_t *ksp, uint64_t cookie)
{
	const struct ks_store_kstat *k = cookie < s->nkstats ? &s->kstat[cookie] : NULL;

	if (k == NULL || k->instance != ksp->ks_instance || k->type != ksp->ks_type ||
	    strcmp(ks_store_text(s, k->name), ksp->ks_name) != 0 ||
	    strcmp(ks_store_text(s, k->module), ksp->ks_module) != 0)
		return NULL;
	return k;
}

static int
replay_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *record)
{
	const struct ks_replay *r = replay_of(src);
	const struct ks_store_kstat *k = find_kstat(&r->sample, ksp, cookie);
	char why[160];

	if (ks_program_has(cookie))
		return ks_program_read(r, cookie, record);
	if (k == NULL)
		return ks_fail(ENXIO, "%s: the sample has no %s:%d:%s", r->path, ksp->ks_module,
		    ksp->ks_instance, ksp->ks_name);
	if (!k->readable)
		return ks_fail(EIO, "%s: %s:%d:%s could not be read when the sample was taken", r->path,
		    ksp->ks_module, ksp->ks_instance, ksp->ks_name);
	if (ks_store_read(&r->sample, k, record) != 0)
		return ks_fail(errno, "%s: %s:%d:%s: %s", r->path, ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name, errno == ENOMEM ? "out of memory" :
		    errno == EOPNOTSUPP ? "a statsblob of another byte order or version" : "a damaged statsblob");
	if (ksp->ks_type == KSTAT_TYPE_NAMED && ks_histstat_check(record) != 0) {
		(void)snprintf(why, sizeof(why), "%s", kstat_errmsg());
		return ks_fail(errno, "%s: %s:%d:%s is left out: %s", r->path, ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name, why);
	}
	return r->for_program ? ks_program_complete(r, k, record) : 0;
}

static const struct ks_meta *
replay_meta(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, const char *stat)
{
	struct ks_replay *r = replay_of(src);
	const struct ks_store *s = &r->sample;
	const struct ks_store_kstat *k = find_kstat(s, ksp, cookie);
	const struct ks_store_meta *first = k != NULL && k->meta > 0 ? &s->meta[k->meta - 1] : NULL;

	for (uint32_t i = 0; first != NULL && i < first->count; i++) {
		const struct ks_store_meta *m = &first[i];

		if (strcmp(ks_store_text(s, m->stat), stat) != 0)
			continue;
		r->meta = (struct ks_meta){ ks_store_text(s, m->stat), m->kind, m->type, m->flags, m->scale,
			ks_store_text(s, m->unit), ks_store_text(s, m->desc) };
		return &r->meta;
	}
	return NULL;
}

static bool
replay_publisher(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_origin *o)
{
	const struct ks_store *s = &replay_of(src)->sample;
	const struct ks_store_kstat *k = find_kstat(s, ksp, cookie);

	if (k == NULL || !k->published)
		return false;
	*o = (struct ks_origin){ ks_store_text(s, k->publisher), k->uid, k->pid };
	return true;
}

/* Times of day that the file does not have go on by the snaptimes. */
static void
follow_snaptimes(struct ks_replay *r)
{
	hrtime_t newest = 0;

	for (size_t i = 0; i < r->sample.nkstats; i++) {
		const struct ks_store_kstat *k = &r->sample.kstat[i];

		if (k->readable && k->snaptime > newest)
			newest = k->snaptime;
	}
	if (!r->has_time && r->newest > 0 && newest > r->newest &&
	    __builtin_add_overflow(r->time, newest - r->newest, &r->time))
		r->time = INT64_MAX;
	if (newest > 0)
		r->newest = newest;
}

/* --- moving ------------------------------------------------------------------------ */

/* Takes the sample that the reader moved to. */
static int
arrive(struct ks_replay *r, int rc)
{
	if (rc != 0)
		r->offered = false;
	if (rc > 0)
		follow_snaptimes(r);
	return rc;
}

void (*ks_replay_watch)(void);

static int
replay_advance(struct ks_source *src)
{
	struct ks_replay *r = replay_of(src);
	int rc = r->ops->next(r);

	if (ks_replay_watch != NULL)
		ks_replay_watch();

	r->number += rc > 0;
	return arrive(r, rc);
}

/* Reads the file again up to the sample of that number. 1, or -1 with errno. */
static int
read_again(struct ks_replay *r, uint64_t number)
{
	int rc;

	r->newest = 0;
	r->time = r->window.start;
	rc = arrive(r, r->ops->first(r));
	r->number = 1;
	while (rc > 0 && r->number < number)
		rc = replay_advance(&r->base);
	return rc == 0 ? ks_fail(EBADMSG, "%.200s: changed while it was read", r->path) : rc;
}

/* Reads the file again up to the sample that is *back before that of a number; as ops->previous(). */
static int
read_before(struct ks_replay *r, uint64_t number, unsigned *back)
{
	if (*back > number - 1)
		*back = (unsigned)(number - 1);
	return read_again(r, number - *back);
}

/* As ops->seek(), for readers that have none. */
static int
seek_by_reading(struct ks_replay *r, int64_t ns, unsigned *back)
{
	uint64_t was = r->number, found = 0;
	int64_t latest = INT64_MIN;
	bool was_passed = false; /* the time, behind what was found */
	int rc = read_again(r, 1);

	for (; rc > 0; rc = replay_advance(&r->base)) {
		was_passed |= found > 0 && r->time > ns;
		if (r->time <= ns && r->time >= latest + was_passed) {
			found = r->number;
			latest = r->time;
			was_passed = false;
		}
	}
	if (rc < 0 || (found > 0 ? read_before(r, found, back) : read_again(r, was)) < 0)
		return -1;
	return found > 0;
}

/* A time of day as it is given in messages, in seconds. */
#define SECONDS(ns) ((double)(ns) / KS_NANOSEC)

static int
replay_seek(struct ks_source *src, int64_t ns, unsigned *back)
{
	struct ks_replay *r = replay_of(src);
	int rc = r->ops->seek != NULL ? r->ops->seek(r, ns, back) : seek_by_reading(r, ns, back);

	if (rc == 0)
		return ks_fail(ENODATA, "%.200s: no sample at or before %.3f (seconds since 1970)", r->path, SECONDS(ns));
	return arrive(r, rc);
}

static int
replay_previous(struct ks_source *src, unsigned *back)
{
	struct ks_replay *r = replay_of(src);
	int rc = r->ops->previous != NULL ? r->ops->previous(r, back) : r->number > 1 ? read_before(r, r->number, back) : 0;

	if (rc == 0)
		return ks_fail(ENODATA, "%.200s: no sample before this one", r->path);
	return arrive(r, rc);
}

static hrtime_t
replay_now(struct ks_source *src)
{
	return replay_of(src)->newest;
}

static int
replay_time_of_day(struct ks_source *src, int64_t *ns)
{
	*ns = replay_of(src)->time;
	return replay_of(src)->has_time;
}

static int
replay_file(struct ks_source *src)
{
	struct ks_replay *r = replay_of(src);

	return r->ops->file(r);
}

static void
replay_close(struct ks_source *src)
{
	struct ks_replay *r = replay_of(src);

	ks_store_free(&r->sample);
	free(r->path);
	r->ops->close(r);
}

static const struct ks_source_ops replay_ops = {
	.name = "replay",
	.scan = replay_scan,
	.read = replay_read,
	.meta = replay_meta,
	.publisher = replay_publisher,
	.advance = replay_advance,
	.seek = replay_seek,
	.previous = replay_previous,
	.now = replay_now,
	.time_of_day = replay_time_of_day,
	.file = replay_file,
	.close = replay_close
};

/* --- opening --------------------------------------------------------------------------- */

bool
ks_replay_is_recording(const char *path)
{
	char start[KS_REC_MAGIC_SIZE];
	struct stat st;
	int fd = -1;
	bool is;

	if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	is = ks_rec_read_at(fd, start, sizeof(start), 0) == sizeof(start) &&
	    memcmp(start, KS_REC_MAGIC, sizeof(start)) == 0;
	(void)close(fd);
	return is;
}

int
ks_replay_fail_outside(const char *path, const struct ks_window *w)
{
	if (w->from_text != NULL && w->to_text != NULL)
		return ks_fail(ENODATA, "%.200s: no sample from %.40s to %.40s", path, w->from_text,
		    w->to_text);
	if (w->from_text != NULL)
		return ks_fail(ENODATA, "%.200s: no sample at or after %.40s", path, w->from_text);
	if (w->to_text != NULL)
		return ks_fail(ENODATA, "%.200s: no sample at or before %.40s", path, w->to_text);
	return ks_fail(ENODATA, "%.200s: no sample", path);
}

struct ks_source *
ks_source_replay_open(const char *path, const struct ks_window *w)
{
	struct ks_replay *r = ks_replay_is_recording(path) ? ks_replay_recording() : ks_replay_capture();
	int rc, error;

	if (r == NULL)
		return ks_fail_null(ENOMEM, "%.200s: out of memory", path);
	r->base.ops = &replay_ops;
	r->window = *w;
	r->time = w->start;
	r->sample.most = w->most;
	r->path = strdup(strcmp(path, "-") == 0 ? "standard input" : path);
	if (r->path == NULL) {
		(void)ks_fail(ENOMEM, "%.200s: out of memory", path);
	} else if ((rc = r->ops->open(r, path)) > 0) {
		follow_snaptimes(r);
		r->number = 1;
		return &r->base;
	} else if (rc == 0) {
		(void)ks_replay_fail_outside(r->path, &r->window);
	}
	error = errno;
	replay_close(&r->base);
	errno = error;
	return NULL;
}
