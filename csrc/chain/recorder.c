/* recorder.c - see recorder.h. SPDX-License-Identifier: MIT */
#include "chain/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"
#include "base/error.h"
#include "chain/chain.h"
#include "model/decode.h"
#include "source/replay/recording/codec.h"
#include "source/replay/recording/frame_file.h"

/* A keyframe costs about ten other frames; after one, a reader may start. */
#define FRAMES_PER_KEY 360

struct ks_recorder {
	char *path;
	int fd;
	off_t size;           /* of the file, whole frames only */
	z_stream deflater;
	struct ks_store sample;
	struct ks_rec_state state;
	struct ks_buf bytes, frame;
	unsigned frames;      /* since the last keyframe; 0: the next one is a keyframe */
	uint64_t samples;
	kstat_t **found;      /* the kstats of the sample being written, in chain order */
	kstat_t *unread;      /* headers of those that could not be read */
	size_t found_cap, unread_cap;
};

/* --- opening --------------------------------------------------------------------- */

static int
write_all(int fd, const char *p, size_t n, off_t at)
{
	while (n > 0) {
		ssize_t put = pwrite(fd, p, n, at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		p += put;
		n -= (size_t)put;
		at += put;
	}
	return 0;
}

/*
 * The frame at rec->size, as a reader looks at it: 1, 0 if there is none or it is torn, -1 with errno.
 * Nobody would read what is written behind a damaged one. in_stream: there are frames before it.
 */
static int
look_at_frame(struct ks_recorder *rec, off_t file_size, bool in_stream)
{
	struct ks_rec_frame f;
	bool torn;
	int rc = ks_rec_frame_read(rec->fd, rec->size, file_size, &f, &torn);

	if (rc > 0)
		rc = ks_rec_payload_read(rec->fd, rec->size, file_size, &f, in_stream, &rec->frame);
	if (rc > 0)
		rec->size += KS_REC_HEADER_SIZE + (off_t)f.size;
	return rc;
}

/*
 * Finds the end of the last whole frame; all of them are looked at. Nothing is written yet: this may be
 * the file that is read.
 */
static int
find_end(struct ks_recorder *rec)
{
	off_t size = lseek(rec->fd, 0, SEEK_END);
	char magic[KS_REC_MAGIC_SIZE];
	ssize_t got;
	int rc;

	if (size < 0)
		return ks_fail(errno, "%s: %s", rec->path, strerror(errno));
	if (size == 0)
		return 0;
	got = ks_rec_read_at(rec->fd, magic, sizeof(magic), 0);
	if (got < 0)
		return ks_fail(errno, "%s: %s", rec->path, strerror(errno));
	if (memcmp(magic, KS_REC_MAGIC, (size_t)got) != 0)
		return ks_fail(EEXIST, "%s: exists and is not a recording; name another file",
		    rec->path);
	if (got < KS_REC_MAGIC_SIZE)
		return 0; /* a killed recorder got no further: as good as empty */
	rec->size = KS_REC_MAGIC_SIZE;
	do
		rc = look_at_frame(rec, size, rec->size > KS_REC_MAGIC_SIZE);
	while (rc > 0);
	if (rc < 0 && errno == EBADMSG)
		return ks_fail(EBADMSG, "%s: damaged at byte %lld; name another file (kstatlua convert -o "
		    "ANOTHER keeps the whole samples of this one)", rec->path, (long long)rec->size);
	if (rc < 0)
		return ks_fail(errno, "%s: %s", rec->path, strerror(errno));
	return 0;
}

/*
 * Before the first sample: refuses to write the file that the samples come from, cuts off what a killed
 * recorder left behind the last whole frame, and says what the file is.
 */
static int
start(struct ks_recorder *rec, kstat_ctl_t *kc)
{
	struct stat in, out;

	if (fstat(rec->fd, &out) != 0)
		return ks_fail(errno, "%s: %s", rec->path, strerror(errno));
	if (ks_chain_file(kc) >= 0 && fstat(ks_chain_file(kc), &in) == 0 &&
	    in.st_dev == out.st_dev && in.st_ino == out.st_ino)
		return ks_fail(EINVAL, "%s: names the file that is read; name another file", rec->path);
	if (rec->samples > 0)
		return 0;
	if (S_ISREG(out.st_mode) && out.st_size > rec->size && ftruncate(rec->fd, rec->size) != 0)
		return ks_fail(errno, "%s: %s", rec->path, strerror(errno));
	if (rec->size == 0) {
		if (write_all(rec->fd, KS_REC_MAGIC, KS_REC_MAGIC_SIZE, 0) != 0)
			return ks_fail(errno, "%s: %s", rec->path, strerror(errno));
		rec->size = KS_REC_MAGIC_SIZE;
	}
	return 0;
}

static const struct ks_meta *
describe(void *kc, const kstat_t *ksp, const char *stat)
{
	return ks_chain_meta(kc, ksp, stat);
}

static bool
publisher(void *kc, const kstat_t *ksp, struct ks_origin *o)
{
	return ks_chain_publisher(kc, ksp, o);
}

/*
 * Locks the file. A recorder that was killed may hold its lock for a moment longer than its process is
 * seen, so this waits for a second.
 */
static int
lock(int fd)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
		if (errno != EWOULDBLOCK || i == 100)
			return -1;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

struct ks_recorder *
ks_recorder_open(const char *path)
{
	struct ks_recorder *rec = calloc(1, sizeof(*rec));
	int error;

	if (rec == NULL || (rec->path = strdup(path)) == NULL) {
		free(rec);
		return ks_fail_null(ENOMEM, "out of memory for a recorder");
	}
	rec->state.sample = &rec->sample;
	rec->state.describe = describe;
	rec->state.publisher = publisher;
	rec->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (rec->fd < 0)
		(void)ks_fail(errno, "%s: %s", path, strerror(errno));
	else if (lock(rec->fd) != 0)
		(void)ks_fail(errno, "%s: another recorder writes it", path);
	else if (deflateInit2(&rec->deflater, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		(void)ks_fail(ENOMEM, "out of memory for a recorder");
	else if (find_end(rec) == 0)
		return rec;
	error = errno;
	ks_recorder_close(rec);
	errno = error;
	return NULL;
}

void
ks_recorder_close(struct ks_recorder *rec)
{
	if (rec == NULL)
		return;
	(void)deflateEnd(&rec->deflater);
	ks_rec_state_free(&rec->state);
	ks_store_free(&rec->sample);
	ks_buf_free(&rec->bytes);
	ks_buf_free(&rec->frame);
	if (rec->fd >= 0)
		(void)close(rec->fd);
	free(rec->found);
	free(rec->unread);
	free(rec->path);
	free(rec);
}

uint64_t
ks_recorder_samples(const struct ks_recorder *rec)
{
	return rec->samples;
}

int64_t
ks_recorder_size(const struct ks_recorder *rec)
{
	return rec->size;
}

/* --- one sample --------------------------------------------------------------------- */

/* Reads what is wanted into rec->found; stores how many, and the newest snaptime. */
static int
read_kstats(struct ks_recorder *rec, kstat_ctl_t *kc, const struct ks_selector *const *selectors,
    size_t n, size_t *count, hrtime_t *newest)
{
	size_t found = 0, unread = 0, most = ks_chain_length(kc);

	*newest = 0;
	if (!KS_RESERVE(rec->found, rec->found_cap, most) ||
	    !KS_RESERVE(rec->unread, rec->unread_cap, most))
		return ks_fail(ENOMEM, "out of memory for a recorder");
	for (kstat_t *ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (!ks_is_shown(ksp) || !ks_selector_any_matches(selectors, n, ksp))
			continue;
		rec->found[found] = ksp;
		if (kstat_read(kc, ksp, NULL) < 0) {
			rec->unread[unread] = *ksp;
			rec->unread[unread].ks_data = NULL;
			rec->found[found] = &rec->unread[unread++];
		} else if (ksp->ks_snaptime > *newest) {
			*newest = ksp->ks_snaptime;
		}
		found++;
	}
	ks_chain_warn_of_selectors(kc, selectors, n);
	*count = found;
	return 0;
}

/* Deflates rec->bytes into rec->frame behind room for the header; without the flush mark. */
static int
deflate_bytes(struct ks_recorder *rec)
{
	z_stream *z = &rec->deflater;

	ks_buf_reset(&rec->frame);
	(void)ks_buf_zeroed(&rec->frame, KS_REC_HEADER_SIZE);
	z->next_in = (unsigned char *)rec->bytes.data;
	z->avail_in = (uInt)rec->bytes.len;
	do {
		char *to = ks_buf_room(&rec->frame, 65536);

		if (to == NULL)
			return ks_fail(ENOMEM, "out of memory for a recorder");
		z->next_out = (unsigned char *)to;
		z->avail_out = 65536;
		(void)deflate(z, Z_SYNC_FLUSH);
		rec->frame.len += 65536 - z->avail_out;
	} while (z->avail_out == 0);
	rec->frame.len -= KS_REC_FLUSH_SIZE;
	return 0;
}

static int
write_frame(struct ks_recorder *rec, int64_t time_of_day)
{
	struct ks_rec_frame f = { .key = rec->frames == 0, .version = KS_REC_VERSION,
		.time_of_day = time_of_day };
	int error;

	if (rec->frame.len - KS_REC_HEADER_SIZE > KS_REC_MOST_PAYLOAD)
		return ks_fail(EFBIG, "%s: a sample is larger than a recording can hold; "
		    "select fewer kstats", rec->path);
	f.size = (uint32_t)(rec->frame.len - KS_REC_HEADER_SIZE);
	f.crc = ks_rec_frame_crc(&f, rec->frame.data + KS_REC_HEADER_SIZE);
	ks_rec_frame_pack(&f, (unsigned char *)rec->frame.data);
	if (write_all(rec->fd, rec->frame.data, rec->frame.len, rec->size) != 0) {
		error = errno;
		if (ftruncate(rec->fd, rec->size) != 0) {
			/* Readers stop at the last whole frame in any case. */
		}
		return ks_fail(error, "%s: %s; the samples so far are whole", rec->path,
		    strerror(error));
	}
	rec->size += (off_t)rec->frame.len;
	return 0;
}

int
ks_recorder_add(struct ks_recorder *rec, kstat_ctl_t *kc,
    const struct ks_selector *const *selectors, size_t n)
{
	int64_t now = ks_chain_time_of_day(kc, NULL);
	hrtime_t newest;
	size_t count = 0;

	if (start(rec, kc) != 0 || read_kstats(rec, kc, selectors, n, &count, &newest) != 0)
		return -1;
	if (rec->frames == 0) {
		(void)deflateReset(&rec->deflater);
		ks_rec_state_reset(&rec->state);
	}
	ks_buf_reset(&rec->bytes);
	rec->state.context = kc;
	if (ks_rec_encode(&rec->state, (const kstat_t *const *)rec->found, count, now, newest,
	    &rec->bytes) != 0 || deflate_bytes(rec) != 0 || write_frame(rec, now) != 0) {
		rec->frames = 0; /* the state is ahead of the file: start anew */
		return -1;
	}
	rec->samples++;
	rec->frames = (rec->frames + 1) % FRAMES_PER_KEY;
	return 0;
}
