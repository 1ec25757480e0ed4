/*
 * recording.c - the reader of recordings. A sample is a frame of the file (frame_file.h) and says how it
 * differs from the sample before (codec.h), so reading starts at a keyframe. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/when.h"
#include "source/replay/recording/codec.h"
#include "source/replay/recording/frame_file.h"
#include "source/replay/reader.h"

/* Where a frame is, and the keyframe and the light one that it needs; 0: nowhere. Its time is that of the header. */
struct place {
	off_t at, key, light;
	int64_t time;
};

/* What was read up to a frame, to go on from there again. */
struct bookmark {
	struct place place; /* of the frame; at 0: nothing is kept */
	off_t behind;       /* the next frame */
	struct ks_rec_state state;
	struct ks_store sample; /* of the state */
	z_stream inflater;
};

struct recording {
	struct ks_replay base;
	int fd;
	off_t at;           /* of the next frame */
	struct place current; /* of the sample */
	struct place *places; /* owned: the frames behind each other from a keyframe on, as far as they were listed */
	size_t nplaces, places_cap;
	off_t listed;         /* behind the last one of these */
	z_stream inflater;    /* behind the sample */
	struct ks_buf deflated, bytes;
	struct ks_rec_state state; /* of the sample */
	struct bookmark key;  /* the last keyframe, from version 5 on */
	struct bookmark near; /* a little before a frame that was gone back to: the next step back begins there */
	uint64_t samples;   /* read so far; what is before the sample is all of these unless something was skipped */
	bool skipped;
	bool ordered;       /* where there is a window: the times of the file are in order */
	bool in_stream;     /* a keyframe was read: the ones after it can be understood */
	bool torn;          /* the file ends inside a frame */
	off_t damaged_at;   /* the frame that could not be read last */
	struct ks_buf damages; /* lines that say so, where there are samples behind it; a NUL behind each */
	unsigned ndamages;
};

static struct recording *
recording_of(struct ks_replay *r)
{
	return (struct recording *)r;
}

/* The bytes of the file, or -1 with errno. */
static off_t
file_size(const struct recording *rec)
{
	struct stat st;

	return fstat(rec->fd, &st) == 0 ? st.st_size : -1;
}

/* Says what is wrong with which file; keeps errno. */
static int
fail_at(struct recording *rec, off_t at, const char *what)
{
	rec->damaged_at = at;
	if (rec->skipped)
		return ks_fail(errno, "%s: %s at byte %lld", rec->base.path, what, (long long)at);
	return ks_fail(errno, "%s: %s at byte %lld, after %llu whole sample%s", rec->base.path, what,
	    (long long)at, (unsigned long long)rec->samples, rec->samples == 1 ? "" : "s");
}

static const char *
reason(int error)
{
	switch (error) {
	case EBADMSG:
		return "damaged";
	case EFBIG:
		return KS_STORE_TOO_LARGE;
	case ENOMEM:
		return "out of memory";
	default:
		return strerror(error);
	}
}

static int
inflate_payload(struct recording *rec)
{
	z_stream *z = &rec->inflater;

	z->next_in = (unsigned char *)rec->deflated.data;
	z->avail_in = (uInt)rec->deflated.len + KS_REC_FLUSH_SIZE;
	ks_buf_reset(&rec->bytes);
	do {
		char *to = ks_buf_room(&rec->bytes, 65536);
		int rc;

		if (to == NULL)
			return ks_fail(ENOMEM, "out of memory");
		z->next_out = (unsigned char *)to;
		z->avail_out = 65536;
		rc = inflate(z, Z_SYNC_FLUSH);
		rec->bytes.len += 65536 - z->avail_out;
		if (rc == Z_MEM_ERROR)
			return ks_fail(ENOMEM, "out of memory");
		if (rc != Z_OK && rc != Z_BUF_ERROR)
			return ks_fail(EBADMSG, "damaged");
		if (rec->bytes.len > rec->base.sample.most)
			return ks_fail(EFBIG, KS_STORE_TOO_LARGE);
	} while (z->avail_out == 0);
	return z->avail_in == 0 ? 0 : ks_fail(EBADMSG, "damaged");
}

/* --- damage ---------------------------------------------------------------------------- */

#define MOST_DAMAGES 100 /* of a file, behind each of which it is read again */

/* The time of the last frame before an offset; INT64_MIN: there is none. */
static int64_t
time_before(const struct recording *rec, off_t end)
{
	off_t at = ks_rec_find_key_before(rec->fd, end), size = file_size(rec);
	int64_t time = INT64_MIN;
	struct ks_rec_frame f;
	bool torn;

	while (at < end && ks_rec_frame_read(rec->fd, at, size, &f, &torn) > 0) {
		time = f.time_of_day;
		at += KS_REC_HEADER_SIZE + (off_t)f.size;
	}
	return time;
}

/*
 * Finds where samples can be read again behind the frame that could not be: a keyframe. Notes what is lost between,
 * unless it was noted before. 0 if there is none: then the failure stays as it is.
 */
static off_t
find_behind_damage(struct recording *rec)
{
	char line[400], from[KS_WHEN_SIZE + 8] = "", to[KS_WHEN_SIZE];
	int64_t before, behind;
	off_t key;

	if (errno != EBADMSG || rec->ndamages >= MOST_DAMAGES)
		return 0;
	key = ks_rec_find_key_behind(rec->fd, rec->damaged_at, file_size(rec), &behind);
	if (key < 0)
		return 0;
	before = time_before(rec, rec->damaged_at);
	if (behind < rec->base.window.from || before > rec->base.window.to)
		return key;
	if (before > INT64_MIN)
		(void)snprintf(from, sizeof(from), "from %s ", ks_when_write(to, before));
	(void)snprintf(line, sizeof(line), "%.200s: damaged at byte %lld: what was recorded %s%s %s is lost",
	    rec->base.path, (long long)rec->damaged_at, from, before > INT64_MIN ? "to" : "before", ks_when_write(to, behind));
	if (rec->damages.len == 0 || memmem(rec->damages.data, rec->damages.len, line, strlen(line) + 1) == NULL) {
		ks_buf_add(&rec->damages, line, strlen(line) + 1);
		rec->ndamages++;
		rec->base.offered = false; /* the next scan warns */
	}
	rec->skipped = true;
	return key;
}

/*
 * Reads the header of the frame at *at; behind a damaged one *at becomes the next keyframe. As ks_rec_frame_read(), but
 * a failure has the path.
 */
static int
read_header(struct recording *rec, off_t *at, off_t size, struct ks_rec_frame *f, bool *torn)
{
	off_t behind;
	int rc;

	while ((rc = ks_rec_frame_read(rec->fd, *at, size, f, torn)) < 0) {
		(void)fail_at(rec, *at, reason(errno));
		behind = find_behind_damage(rec);
		if (behind == 0)
			return -1;
		*at = behind;
	}
	return rc;
}

/* Goes on reading at a frame; behind one that is not the next, nobody knows how many samples are before it. */
static void
jump(struct recording *rec, off_t at)
{
	rec->skipped |= rec->at != at;
	rec->at = at;
}

/* --- bookmarks ------------------------------------------------------------------------- */

static int
copy_stream(z_stream *inflater, struct ks_rec_state *state, z_stream *from_inflater, const struct ks_rec_state *from)
{
	(void)inflateEnd(inflater);
	if (inflateCopy(inflater, from_inflater) != Z_OK)
		return ks_fail(ENOMEM, "out of memory for a recording");
	return ks_rec_state_copy(state, from);
}

/* Keeps what was read up to the sample. -1 with errno ENOMEM: nothing is kept. */
static int
keep(struct recording *rec, struct bookmark *b)
{
	b->place.at = 0;
	b->state.sample = &b->sample;
	if (copy_stream(&b->inflater, &b->state, &rec->inflater, &rec->state) != 0)
		return -1;
	b->place = rec->current;
	b->behind = rec->at;
	return 0;
}

/* Makes the sample what it was when it was kept. 1, or -1 with errno ENOMEM. */
static int
return_to(struct recording *rec, struct bookmark *b)
{
	jump(rec, b->behind);
	rec->current = b->place;
	rec->in_stream = copy_stream(&rec->inflater, &rec->state, &b->inflater, &b->state) == 0;
	if (!rec->in_stream)
		ks_rec_state_reset(&rec->state);
	return rec->in_stream ? 1 : -1;
}

static void
free_bookmark(struct bookmark *b)
{
	(void)inflateEnd(&b->inflater);
	ks_rec_state_free(&b->state);
	ks_store_free(&b->sample);
}

/* --- frames ---------------------------------------------------------------------------- */

/* Makes the state what the differences of a frame refer to. -1 with errno. */
static int
start_frame(struct recording *rec, off_t at, const struct ks_rec_frame *f)
{
	memcpy(rec->deflated.data + rec->deflated.len, KS_REC_FLUSH, KS_REC_FLUSH_SIZE);
	if (f->kind == KS_REC_DIFFERENCE)
		return 0;
	(void)inflateReset(&rec->inflater);
	if (f->kind == KS_REC_LIGHT) {
		if (rec->key.place.at == 0)
			return ks_fail(EBADMSG, "no keyframe");
		rec->current.key = rec->key.place.at; /* the sample was perhaps one behind another keyframe */
		rec->current.light = at;
		return ks_rec_state_copy(&rec->state, &rec->key.state);
	}
	rec->current = (struct place){ .key = at };
	rec->key.place.at = 0;
	ks_rec_state_reset(&rec->state);
	rec->state.version = f->version;
	return 0;
}

/* Brings the state up to date with a frame that was started. -1 with errno. */
static int
finish_frame(struct recording *rec, off_t at, const struct ks_rec_frame *f)
{
	if (inflate_payload(rec) != 0 || ks_rec_decode(&rec->state, rec->bytes.data, rec->bytes.len) != 0)
		return -1;
	if ((int64_t)rec->state.time_of_day != f->time_of_day)
		return ks_fail(EBADMSG, "damaged"); /* it would be found at one time, and be of another */
	ks_buf_free(&rec->bytes);
	rec->in_stream = true;
	rec->at = at + KS_REC_HEADER_SIZE + (off_t)f->size;
	rec->current.at = at;
	return f->kind == KS_REC_KEY && f->version >= KS_REC_VERSION ? keep(rec, &rec->key) : 0;
}

/* Reads a frame into the sample, and goes on behind it. 1, 0 if it is torn, -1 with errno: then it goes on as before. */
static int
load_frame(struct recording *rec, off_t at)
{
	struct ks_rec_frame f;
	off_t size = file_size(rec);
	int rc = size < 0 ? -1 : ks_rec_frame_read(rec->fd, at, size, &f, &rec->torn);

	rec->skipped |= rec->at != at;
	if (rc > 0 && f.kind != KS_REC_KEY && !rec->in_stream) {
		errno = EBADMSG;
		return fail_at(rec, at, "no keyframe");
	}
	if (rc > 0) {
		rc = ks_rec_payload_read(rec->fd, at, size, &f, &rec->deflated);
		rec->torn = rc == 0;
	}
	if (rc < 0)
		return fail_at(rec, at, reason(errno));
	if (rc == 0)
		return 0;
	if (start_frame(rec, at, &f) != 0 || finish_frame(rec, at, &f) != 0) {
		rc = fail_at(rec, at, reason(errno));
		rec->in_stream = false;
		rec->skipped = true;
		ks_rec_state_reset(&rec->state); /* the sample is empty now, and reads of its kstats fail */
		return rc;
	}
	rec->samples++;
	return 1;
}

/* --- going to samples ------------------------------------------------------------------ */

/* What frame is looked for, among those of the window. */
struct search {
	off_t from, end;     /* the frames there; `from` is one */
	struct place before; /* what the frame at `from` needs, unless it is a keyframe */
	bool first;          /* the first one; else the last one, */
	bool has_time;       /* or the latest that is not later than `time`, ns since 1970 */
	bool ordered;        /* no frame behind one that is later is wanted */
	int64_t time;
};

/* Finds a frame. 1, 0 if there is none, which sets rec->torn, -1 with errno. */
static int
find_frame(struct recording *rec, const struct search *s, struct place *found)
{
	off_t size = file_size(rec), at = s->from;
	struct place place = s->before;
	struct ks_rec_frame f;
	int rc = size < 0 ? -1 : 1;
	bool was_passed = false; /* the time that is looked for, behind what was found */

	*found = (struct place){ .at = 0, .time = INT64_MIN };
	while (rc > 0 && at < s->end && (rc = read_header(rec, &at, size, &f, &rec->torn)) > 0 && at < s->end) {
		bool wanted = !s->has_time || (f.time_of_day <= s->time && f.time_of_day >= found->time + was_passed);

		was_passed = !wanted && (was_passed || (found->at > 0 && f.time_of_day > s->time));
		place = (struct place){ at, f.kind == KS_REC_KEY ? at : place.key,
			f.kind == KS_REC_DIFFERENCE ? place.light : f.kind == KS_REC_LIGHT ? at : 0, f.time_of_day };
		if (s->ordered && f.time_of_day > s->time) {
			/* A time may be late because it is damaged, which whoever reads on is told. */
			if (!s->first || ks_rec_payload_read(rec->fd, at, size, &f, &rec->deflated) >= 0)
				break;
			(void)fail_at(rec, at, reason(errno));
			at = find_behind_damage(rec);
			rc = at > 0 ? 1 : -1;
			continue;
		}
		if (wanted && ks_window_has(&rec->base.window, f.time_of_day))
			*found = place;
		if (s->first && found->at > 0)
			break;
		at += KS_REC_HEADER_SIZE + (off_t)f.size;
	}
	if (rc < 0) {
		rec->skipped |= !s->first;
		return -1;
	}
	rec->torn &= found->at == 0 && at == rec->at; /* else the end is not what comes next */
	return found->at > 0;
}

/*
 * Lists the frames from a keyframe on and before an offset; those that were listed before are not looked at again, as a
 * file only grows. 0, or -1 with errno.
 */
static int
list_frames(struct recording *rec, off_t key, off_t end)
{
	off_t size = file_size(rec);
	struct ks_rec_frame f;
	bool torn;
	int rc = size < 0 ? -1 : 1;

	if (rec->nplaces == 0 || rec->places[0].at != key) {
		rec->nplaces = 0;
		rec->listed = key;
	}
	while (rc > 0 && rec->listed < end && (rc = read_header(rec, &rec->listed, size, &f, &torn)) > 0) {
		off_t at = rec->listed;
		struct place last = rec->nplaces > 0 ? rec->places[rec->nplaces - 1] : (struct place){ .at = 0 };

		if (!KS_RESERVE(rec->places, rec->places_cap, rec->nplaces + 1))
			return ks_fail(ENOMEM, "%s: out of memory", rec->base.path);
		rec->places[rec->nplaces++] = (struct place){ at, f.kind == KS_REC_KEY ? at : last.key,
			f.kind == KS_REC_DIFFERENCE ? last.light : f.kind == KS_REC_LIGHT ? at : 0, f.time_of_day };
		rec->listed += KS_REC_HEADER_SIZE + (off_t)f.size;
	}
	return rc < 0 ? -1 : 0;
}

/* Changes *place to *back frames of the window before it, or to the first one; *back becomes how many these are. 1 or -1. */
static int
find_before(struct recording *rec, struct place *place, unsigned *back)
{
	off_t end = place->at, key = place->key < end ? place->key : 0;
	unsigned n = 0;

	while (n < *back && end > KS_REC_MAGIC_SIZE) {
		if (key == 0)
			key = ks_rec_find_key_before(rec->fd, end);
		if (list_frames(rec, key, end) != 0)
			return -1;
		for (size_t i = rec->nplaces; i-- > 0 && n < *back && key > 0;) {
			const struct place *p = &rec->places[i];

			if (p->at < end && ks_window_has(&rec->base.window, p->time)) {
				*place = *p;
				n++;
			} else if (rec->ordered && p->time < rec->base.window.from) {
				key = 0; /* so are all before it */
			}
		}
		end = key;
		key = 0;
	}
	*back = n;
	return 1;
}

/* Makes the sample of a keyframe the current one, which is kept if it was the last one. 1, or as load_frame(). */
static int
load_key(struct recording *rec, off_t key)
{
	if (rec->key.place.at == key)
		return return_to(rec, &rec->key);
	rec->in_stream = false;
	return load_frame(rec, key);
}

#define NEAR 8 /* frames: as many steps back as begin at one bookmark */

/*
 * The frame at which a bookmark is set on the way to one that was gone back to, behind the same keyframes; 0: nowhere, as
 * the frames between were not listed.
 */
static off_t
bookmark_for(const struct recording *rec, const struct place *to)
{
	for (size_t i = rec->nplaces; i-- > NEAR;) {
		off_t at = rec->places[i - NEAR].at;

		if (rec->places[i].at == to->at)
			return at > to->light ? at : to->light;
	}
	return 0;
}

/* True if reading on from one place leads to another one. */
static bool
leads_to(const struct place *from, const struct place *to)
{
	return from->key == to->key && from->light == to->light && from->at > 0 && from->at <= to->at;
}

/* Goes to where reading on leads to a place. As load_frame(). */
static int
start_towards(struct recording *rec, const struct place *to)
{
	bool has_key = rec->in_stream && rec->key.place.at == to->key;
	int rc = has_key && to->light > 0 ? 1 : load_key(rec, to->key);

	return rc > 0 && to->light > 0 ? load_frame(rec, to->light) : rc;
}

/* Makes the sample of a frame the current one. mark: where a bookmark is set. 1, 0 if the frame is torn, -1 with errno. */
static int
move_to(struct recording *rec, const struct place *to, off_t mark)
{
	int rc = 1;

	if (to->key == 0) {
		errno = EBADMSG;
		return fail_at(rec, to->at, "no keyframe");
	}
	if (!rec->in_stream || !leads_to(&rec->current, to))
		rc = leads_to(&rec->near.place, to) ? return_to(rec, &rec->near) : start_towards(rec, to);
	for (; rc > 0; rc = load_frame(rec, rec->at)) {
		if (rec->current.at == mark)
			(void)keep(rec, &rec->near); /* without memory the next step begins at the keyframe */
		if (rec->at > to->at)
			break;
	}
	if (rc > 0) {
		rec->base.has_time = true;
		rec->base.time = (int64_t)rec->state.time_of_day;
	}
	return rc;
}

/*
 * Makes the sample what it was before a move that did not succeed, if it can still be read, and else empty. Returns what
 * the move did, and keeps its failure.
 */
static int
stay(struct recording *rec, const struct place *was, int moved)
{
	char why[512];
	int error = errno;

	(void)snprintf(why, sizeof(why), "%s", kstat_errmsg());
	if (was->at == 0 || move_to(rec, was, 0) <= 0) {
		rec->in_stream = false;
		ks_rec_state_reset(&rec->state);
	}
	return moved < 0 ? ks_fail(error, "%s", why) : moved;
}

static int
recording_next(struct ks_replay *r)
{
	struct recording *rec = recording_of(r);
	struct search s = { .from = rec->at, .end = INT64_MAX, .before = rec->current, .first = true,
		.ordered = rec->ordered, .time = r->window.to };
	struct place to;
	int rc;

	while ((rc = find_frame(rec, &s, &to)) > 0 && (rc = move_to(rec, &to, 0)) < 0 &&
	    (s.from = find_behind_damage(rec)) > 0)
		s.before = (struct place){ .at = 0 };
	if (rc == 0 && rec->torn)
		r->offered = false; /* the next scan warns */
	return rc;
}

/* Makes what is looked for one that is before an offset. */
static void
search_before(const struct recording *rec, struct search *s, off_t end)
{
	s->end = end;
	if (s->from >= end)
		s->from = ks_rec_find_key_before(rec->fd, end);
}

static int
recording_seek(struct ks_replay *r, int64_t ns, unsigned *back)
{
	struct recording *rec = recording_of(r);
	struct search s = { .end = INT64_MAX, .has_time = true, .time = ns < r->window.to ? ns : r->window.to };
	const struct place was = rec->current;
	struct place to;
	int rc;

	s.from = ks_rec_find_start(rec->fd, file_size(rec), s.time, &s.ordered);
	while ((rc = find_frame(rec, &s, &to)) > 0 && (rc = find_before(rec, &to, back)) >= 0 &&
	    ((rc = move_to(rec, &to, 0)) == 0 || (rc < 0 && find_behind_damage(rec) > 0)))
		search_before(rec, &s, rc == 0 ? to.at : rec->damaged_at); /* that one is torn, or what it needs is damaged */
	return rc > 0 ? rc : stay(rec, &was, rc);
}

static int
recording_previous(struct ks_replay *r, unsigned *back)
{
	struct recording *rec = recording_of(r);
	const struct place was = rec->current;
	struct place to = was;
	int rc;

	while ((rc = find_before(rec, &to, back)) > 0 &&
	    (rc = *back > 0 ? move_to(rec, &to, bookmark_for(rec, &to)) : 0) < 0 && find_behind_damage(rec) > 0)
		to = (struct place){ .at = rec->damaged_at };
	return rc > 0 ? rc : stay(rec, &was, rc);
}

static bool
is_empty(const struct recording *rec)
{
	struct ks_rec_frame f;
	bool torn;

	return ks_rec_frame_read(rec->fd, KS_REC_MAGIC_SIZE, file_size(rec), &f, &torn) == 0;
}

static int
first_sample(struct recording *rec)
{
	int rc = recording_next(&rec->base);

	if (rc == 0 && rec->ndamages > 0)
		return ks_fail(EBADMSG, "%s", rec->damages.data);
	if (rc == 0 && (rec->torn ? rec->samples == 0 : is_empty(rec)))
		return ks_fail(ENODATA, "%s: no %ssample in this recording", rec->base.path,
		    rec->torn ? "whole " : "");
	return rc;
}

static int
recording_open(struct ks_replay *r, const char *path)
{
	struct recording *rec = recording_of(r);

	rec->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (rec->fd < 0)
		return ks_fail(errno, "%s: %s", path, strerror(errno));
	if (inflateInit2(&rec->inflater, -MAX_WBITS) != Z_OK)
		return ks_fail(ENOMEM, "out of memory for a recording");
	if (ks_window_is_bounded(&r->window))
		rec->at = ks_rec_find_start(rec->fd, file_size(rec), r->window.from, &rec->ordered);
	rec->skipped = rec->at > KS_REC_MAGIC_SIZE;
	return first_sample(rec);
}

static void
recording_warn(struct ks_replay *r, struct ks_scan *scan)
{
	const struct recording *rec = recording_of(r);

	for (size_t at = 0; at < rec->damages.len; at += strlen(rec->damages.data + at) + 1)
		ks_scan_damage(scan, "%s", rec->damages.data + at);
	if (rec->torn && rec->skipped && rec->samples > 0)
		ks_scan_warn(scan, "%s: ends inside a sample; those before it are whole", r->path);
	else if (rec->torn)
		ks_scan_warn(scan, "%s: ends inside a sample; the %llu before it %s whole", r->path,
		    (unsigned long long)rec->samples, rec->samples == 1 ? "is" : "are");
}

static int
recording_file(struct ks_replay *r)
{
	return recording_of(r)->fd;
}

static void
recording_close(struct ks_replay *r)
{
	struct recording *rec = recording_of(r);

	(void)inflateEnd(&rec->inflater);
	ks_rec_state_free(&rec->state);
	free_bookmark(&rec->key);
	free_bookmark(&rec->near);
	ks_buf_free(&rec->deflated);
	ks_buf_free(&rec->bytes);
	ks_buf_free(&rec->damages);
	free(rec->places);
	if (rec->fd >= 0)
		(void)close(rec->fd);
	free(rec);
}

static const struct ks_replay_ops recording_ops = {
	.open = recording_open,
	.next = recording_next,
	.seek = recording_seek,
	.previous = recording_previous,
	.warn = recording_warn,
	.file = recording_file,
	.close = recording_close
};

struct ks_replay *
ks_replay_recording(void)
{
	struct recording *rec = calloc(1, sizeof(*rec));

	if (rec == NULL)
		return NULL;
	rec->base.ops = &recording_ops;
	rec->fd = -1;
	rec->at = KS_REC_MAGIC_SIZE;
	rec->state.sample = &rec->base.sample;
	return &rec->base;
}
