/*
 * recording.c - a recording in place of the machine: one sample of it at a time.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "source/replay/recording/codec.h"
#include "source/replay/recording/frame_file.h"
#include "source/replay/replay.h"

#define MOST_BYTES (256u << 20) /* of one sample, inflated; more is damage */

struct recording {
	struct ks_source base;
	char *path;
	int fd;
	off_t at;           /* of the next frame */
	z_stream inflater;
	struct ks_buf deflated, bytes;
	struct ks_rec_state state;
	int64_t from, to;   /* the window, ns since 1970 */
	uint64_t samples;   /* read so far */
	bool in_stream;     /* a keyframe was read: the ones after it can be understood */
	bool torn;          /* the file ends inside a frame */
};

static off_t
file_size(const struct recording *rec)
{
	struct stat st;

	return fstat(rec->fd, &st) == 0 ? st.st_size : 0;
}

/* Says what is wrong with which file; keeps errno. */
static int
fail_at(const struct recording *rec, off_t at, const char *what)
{
	return ks_fail(errno, "%s: %s at byte %lld, after %llu whole sample%s", rec->path, what,
	    (long long)at, (unsigned long long)rec->samples, rec->samples == 1 ? "" : "s");
}

static int
inflate_payload(struct recording *rec, const struct ks_rec_frame *f)
{
	z_stream *z = &rec->inflater;

	z->next_in = (unsigned char *)rec->deflated.data;
	z->avail_in = f->size + KS_REC_FLUSH_SIZE;
	ks_buf_reset(&rec->bytes);
	do {
		char *to = ks_buf_room(&rec->bytes, 65536);
		int rc;

		if (to == NULL)
			return ks_fail(ENOMEM, "out of memory for a sample of %s", rec->path);
		z->next_out = (unsigned char *)to;
		z->avail_out = 65536;
		rc = inflate(z, Z_SYNC_FLUSH);
		rec->bytes.len += 65536 - z->avail_out;
		if ((rc != Z_OK && rc != Z_BUF_ERROR) || rec->bytes.len > MOST_BYTES)
			return ks_fail(EBADMSG, "damaged");
	} while (z->avail_out == 0);
	return z->avail_in == 0 ? 0 : ks_fail(EBADMSG, "damaged");
}

/* Makes the payload of the frame at rec->at the state. 1, 0 if it is torn, -1 with errno. */
static int
load_frame(struct recording *rec, const struct ks_rec_frame *f)
{
	off_t at = rec->at;
	int rc = ks_rec_payload_read(rec->fd, at, file_size(rec), f, rec->in_stream, &rec->deflated);

	rec->torn = rc == 0;
	if (rc < 0 && errno == EBADMSG)
		return fail_at(rec, at, f->key || rec->in_stream ? "damaged" : "no keyframe");
	if (rc < 0)
		return fail_at(rec, at, errno == ENOMEM ? "out of memory" : strerror(errno));
	if (rc == 0)
		return 0;
	memcpy(rec->deflated.data + f->size, KS_REC_FLUSH, KS_REC_FLUSH_SIZE);
	if (f->key) {
		(void)inflateReset(&rec->inflater);
		ks_rec_state_reset(&rec->state);
		rec->in_stream = true;
	}
	if (inflate_payload(rec, f) != 0 ||
	    ks_rec_decode(&rec->state, rec->bytes.data, rec->bytes.len) != 0) {
		rec->in_stream = false;
		return fail_at(rec, at, errno == ENOMEM ? "out of memory" : "damaged");
	}
	rec->at += KS_REC_HEADER_SIZE + (off_t)f->size;
	rec->samples++;
	return 1;
}

/* Moves to the next sample inside the window. 1, 0 if there is none, -1 with errno. */
static int
next_sample(struct recording *rec)
{
	struct ks_rec_frame f;
	int rc;

	do {
		rc = ks_rec_frame_read(rec->fd, rec->at, file_size(rec), &f, &rec->torn);
		if (rc < 0)
			return fail_at(rec, rec->at, "damaged");
		if (rc == 0 || f.time_of_day > rec->to)
			return 0;
		rc = load_frame(rec, &f);
		if (rc <= 0)
			return rc;
	} while (f.time_of_day < rec->from);
	return 1;
}

static bool
is_empty(const struct recording *rec)
{
	struct ks_rec_frame f;
	bool torn;

	return ks_rec_frame_read(rec->fd, KS_REC_MAGIC_SIZE, file_size(rec), &f, &torn) == 0;
}

/* Goes to the last keyframe that is not after the start of the window. */
static int
seek_window(struct recording *rec, const struct ks_window *w)
{
	off_t size = file_size(rec), at = rec->at;
	struct ks_rec_frame f;
	bool torn;

	while (ks_rec_frame_read(rec->fd, at, size, &f, &torn) > 0) {
		if (f.key) {
			if (f.time_of_day > rec->from && at != rec->at)
				break;
			rec->at = at;
		}
		if (f.time_of_day >= rec->from)
			break;
		at += KS_REC_HEADER_SIZE + (off_t)f.size;
	}
	switch (next_sample(rec)) {
	case 1:
		return 0;
	case 0:
		if (rec->torn ? rec->samples == 0 : is_empty(rec))
			return ks_fail(ENODATA, "%s: no %ssample in this recording", rec->path,
			    rec->torn ? "whole " : "");
		return ks_replay_fail_outside(rec->path, w);
	default:
		return -1;
	}
}

/* --- the source -------------------------------------------------------------- */

static int
recording_scan(struct ks_source *src, struct ks_scan *scan)
{
	struct recording *rec = (struct recording *)src;

	for (size_t i = 0; i < rec->state.n; i++) {
		const kstat_t *k = &rec->state.kstat[i].k;
		struct ks_offer offer = { .module = k->ks_module, .instance = k->ks_instance,
			.name = k->ks_name, .class_ = k->ks_class, .type = k->ks_type,
			.flags = k->ks_flags & (uchar_t)~KSTAT_FLAG_WRITABLE,
			.crtime = k->ks_crtime, .ndata = k->ks_ndata, .cookie = i };

		if (ks_scan_offer(scan, &offer) != 0)
			return -1;
	}
	if (rec->torn)
		ks_scan_warn(scan, rec->samples == 1 ? "%s: ends inside a sample; the %llu before it is whole" :
		    "%s: ends inside a sample; the %llu before it are whole", rec->path,
		    (unsigned long long)rec->samples);
	return 1;
}

static int
recording_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r)
{
	const struct recording *rec = (const struct recording *)src;
	const struct ks_rec_kstat *rk = &rec->state.kstat[cookie];

	if (!rk->readable)
		return ks_fail(EIO, "%s:%d:%s could not be read when it was recorded", ksp->ks_module,
		    ksp->ks_instance, ksp->ks_name);
	if (ks_rec_build(rk, r) != 0)
		return fail_at(rec, rec->at, "a damaged statsblob");
	r->snaptime = (hrtime_t)rk->snaptime;
	return 0;
}

static int
recording_advance(struct ks_source *src)
{
	return next_sample((struct recording *)src);
}

static int
recording_time_of_day(struct ks_source *src, int64_t *ns)
{
	*ns = (int64_t)((struct recording *)src)->state.time_of_day;
	return 1;
}

static int
recording_file(struct ks_source *src)
{
	return ((struct recording *)src)->fd;
}

static void
recording_close(struct ks_source *src)
{
	struct recording *rec = (struct recording *)src;

	(void)inflateEnd(&rec->inflater);
	ks_rec_state_free(&rec->state);
	ks_buf_free(&rec->deflated);
	ks_buf_free(&rec->bytes);
	if (rec->fd >= 0)
		(void)close(rec->fd);
	free(rec->path);
	free(rec);
}

static const struct ks_source_ops recording_ops = {
	.name = "recording",
	.scan = recording_scan,
	.read = recording_read,
	.advance = recording_advance,
	.time_of_day = recording_time_of_day,
	.file = recording_file,
	.close = recording_close
};

struct ks_source *
ks_source_recording_open(const char *path, const struct ks_window *w)
{
	struct recording *rec = calloc(1, sizeof(*rec));
	char magic[KS_REC_MAGIC_SIZE];
	int error;

	if (rec == NULL || (rec->path = strdup(path)) == NULL) {
		free(rec);
		return ks_fail_null(ENOMEM, "out of memory for a recording");
	}
	rec->base.ops = &recording_ops;
	rec->from = w->from;
	rec->to = w->to;
	rec->at = KS_REC_MAGIC_SIZE;
	rec->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (rec->fd < 0)
		(void)ks_fail(errno, "%s: %s", path, strerror(errno));
	else if (inflateInit2(&rec->inflater, -MAX_WBITS) != Z_OK)
		(void)ks_fail(ENOMEM, "out of memory for a recording");
	else if (ks_rec_read_at(rec->fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, KS_REC_MAGIC, sizeof(magic)) != 0)
		(void)ks_fail(EBADMSG, "%s: not a recording", path);
	else if (seek_window(rec, w) == 0)
		return &rec->base;
	error = errno;
	recording_close(&rec->base);
	errno = error;
	return NULL;
}
