/* frame_writer.c - writes the file of a recording; see frame_file.h. SPDX-License-Identifier: MIT */
#include "source/replay/recording/frame_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#define PIECE 65536 /* bytes that zlib gets room for at once */

/* Fails with what errno says of the file. */
static int
fail(const struct ks_rec_writer *w)
{
	return ks_fail(errno, "%s: %s", w->path, strerror(errno));
}

/* --- opening --------------------------------------------------------------------- */

/* Notes the time of the frame at w->size. */
static void
pass_time(struct ks_rec_writer *w, int64_t time_of_day)
{
	w->set_back += w->size > KS_REC_MAGIC_SIZE && time_of_day < w->time_of_day;
	w->time_of_day = time_of_day;
}

/*
 * The frame at w->size, as a reader looks at it: 1, 0 if there is none or it is torn, -1 with errno.
 * Nobody would read what is written behind a damaged one.
 */
static int
pass_frame(struct ks_rec_writer *w, off_t file_size)
{
	struct ks_rec_frame f;
	bool torn;
	int rc = ks_rec_frame_read(w->fd, w->size, file_size, &f, &torn);

	if (rc > 0 && f.kind != KS_REC_KEY && w->size == KS_REC_MAGIC_SIZE)
		return ks_fail(EBADMSG, "no keyframe");
	if (rc > 0)
		rc = ks_rec_payload_read(w->fd, w->size, file_size, &f, &w->frame);
	if (rc > 0)
		pass_time(w, f.time_of_day);
	if (rc > 0)
		w->size += KS_REC_HEADER_SIZE + (off_t)f.size;
	return rc;
}

/* Finds the end of the last whole frame. Nothing is written yet: this may be the file that is read. */
static int
find_end(struct ks_rec_writer *w)
{
	off_t size = lseek(w->fd, 0, SEEK_END);
	char magic[KS_REC_MAGIC_SIZE];
	ssize_t got = size <= 0 ? size : ks_rec_read_at(w->fd, magic, sizeof(magic), 0);
	int rc;

	if (got < 0)
		return fail(w);
	if (memcmp(magic, KS_REC_MAGIC, (size_t)got) != 0)
		return ks_fail(EEXIST, "%s: exists and is not a recording; name another file", w->path);
	if (got < KS_REC_MAGIC_SIZE)
		return 0; /* a killed recorder got no further: as good as empty */
	w->size = KS_REC_MAGIC_SIZE;
	do
		rc = pass_frame(w, size);
	while (rc > 0);
	if (rc < 0 && errno == EBADMSG)
		return ks_fail(EBADMSG, "%s: damaged at byte %lld; name another file (kstatlua convert -o "
		    "ANOTHER keeps the whole samples of this one)", w->path, (long long)w->size);
	return rc < 0 ? fail(w) : 0;
}

/*
 * Locks the file. A recorder that was killed may hold its lock for a moment longer than its process is
 * seen, so this waits for a second.
 */
int
ks_rec_lock(int fd)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
		if (errno != EWOULDBLOCK || i == 100)
			return -1;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

/* Opens a file that has no name but that of its descriptor. */
static int
open_memory(struct ks_rec_writer *w)
{
	w->fd = memfd_create("kstat recording", MFD_CLOEXEC);
	if (w->fd >= 0 && asprintf(&w->path, "/proc/self/fd/%d", w->fd) < 0)
		w->path = NULL;
	return w->fd < 0 ? ks_fail(errno, "a recording in memory: %s", strerror(errno)) : 0;
}

/* Prepares a writer for a file, which is not open yet. */
static int
init(struct ks_rec_writer *w, const char *path)
{
	*w = (struct ks_rec_writer){ .path = path != NULL ? strdup(path) : NULL, .fd = -1,
		.frame = KS_BUF_INIT };
	if (path == NULL && open_memory(w) != 0)
		return -1;
	if (w->path == NULL ||
	    deflateInit2(&w->deflater, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return ks_fail(ENOMEM, "out of memory for a recorder");
	return 0;
}

/* Makes an opened file, fd -1: with errno, the writer's. */
static int
take(struct ks_rec_writer *w, int fd)
{
	w->fd = fd;
	if (fd < 0)
		return fail(w);
	if (ks_rec_lock(fd) != 0)
		return ks_fail(errno, "%s: another recorder writes it", w->path);
	return find_end(w);
}

int
ks_rec_writer_open(struct ks_rec_writer *w, const char *path)
{
	if (init(w, path) != 0)
		return -1;
	return path == NULL ? 0 : take(w, open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644));
}

int
ks_rec_writer_open_in(struct ks_rec_writer *w, int dir, const char *path, bool is_new)
{
	const char *slash = strrchr(path, '/');
	int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : 0);

	if (init(w, path) != 0)
		return -1;
	return take(w, openat(dir, slash != NULL ? slash + 1 : path, flags, 0640));
}

void
ks_rec_writer_close(struct ks_rec_writer *w)
{
	(void)deflateEnd(&w->deflater);
	ks_buf_free(&w->frame);
	if (w->fd >= 0)
		(void)close(w->fd);
	free(w->path);
}

/* --- one sample ------------------------------------------------------------------ */

/* Puts a byte behind each "KSK" from an offset on. */
static int
hide_marks(struct ks_buf *b, size_t from)
{
	for (char *at; (at = memmem(b->data + from, b->len - from, "KSK", 3)) != NULL; b->len++) {
		from = (size_t)(at - b->data) + 3;
		if (ks_buf_room(b, 1) == NULL)
			return ks_fail(ENOMEM, "out of memory for a recorder");
		memmove(b->data + from + 1, b->data + from, b->len - from);
		b->data[from++] = '\0';
	}
	return 0;
}

/* Deflates the sample into w->frame behind `head` bytes; without the flush mark. */
static int
deflate_sample(struct ks_rec_writer *w, const struct ks_buf *sample, size_t head)
{
	z_stream *z = &w->deflater;

	ks_buf_reset(&w->frame);
	(void)ks_buf_zeroed(&w->frame, head);
	z->next_in = (unsigned char *)sample->data;
	z->avail_in = (uInt)sample->len;
	do {
		char *to = ks_buf_room(&w->frame, PIECE);

		if (to == NULL)
			return ks_fail(ENOMEM, "out of memory for a recorder");
		z->next_out = (unsigned char *)to;
		z->avail_out = PIECE;
		(void)deflate(z, Z_SYNC_FLUSH);
		w->frame.len += PIECE - z->avail_out;
	} while (z->avail_out == 0);
	w->frame.len -= KS_REC_FLUSH_SIZE;
	return hide_marks(&w->frame, head);
}

static int
write_at(int fd, const char *p, size_t n, off_t at)
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

struct ks_rec_input
ks_rec_input_of(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? (struct ks_rec_input){ st.st_dev, st.st_ino } : (struct ks_rec_input){ 0 };
}

int
ks_rec_writer_start(struct ks_rec_writer *w, struct ks_rec_input input)
{
	struct stat out;

	if (fstat(w->fd, &out) != 0)
		return fail(w);
	if (input.ino != 0 && input.dev == out.st_dev && input.ino == out.st_ino)
		return ks_fail(EINVAL, "%s: names the file that is read; name another file", w->path);
	if (w->started)
		return 0;
	if (S_ISREG(out.st_mode) && out.st_size > w->size && ftruncate(w->fd, w->size) != 0)
		return fail(w);
	if (w->size == 0) {
		if (write_at(w->fd, KS_REC_MAGIC, KS_REC_MAGIC_SIZE, 0) != 0)
			return fail(w);
		w->size = KS_REC_MAGIC_SIZE;
	}
	w->started = true;
	return 0;
}

int
ks_rec_writer_pack(struct ks_rec_writer *w, enum ks_rec_kind kind, int64_t time_of_day,
    const struct ks_buf *sample)
{
	struct ks_rec_frame f = { .kind = kind, .version = KS_REC_VERSION, .time_of_day = time_of_day };
	size_t head = KS_REC_HEADER_SIZE + (kind == KS_REC_KEY ? KS_REC_CHECK_SIZE : 0);

	if (kind != KS_REC_DIFFERENCE)
		(void)deflateReset(&w->deflater);
	if (deflate_sample(w, sample, head) != 0)
		return -1;
	pass_time(w, time_of_day);
	if (w->frame.len - KS_REC_HEADER_SIZE > KS_REC_MOST_PAYLOAD)
		return ks_fail(EFBIG, "%s: a sample is larger than a recording can hold; "
		    "select fewer kstats", w->path);
	f.size = (uint32_t)(w->frame.len - KS_REC_HEADER_SIZE);
	ks_rec_frame_pack(&f, w->set_back, (unsigned char *)w->frame.data);
	return 0;
}

int
ks_rec_writer_put(struct ks_rec_writer *w, struct ks_rec_input input)
{
	int error;

	if (ks_rec_writer_start(w, input) != 0)
		return -1;
	if (write_at(w->fd, w->frame.data, w->frame.len, w->size) != 0) {
		error = errno;
		if (ftruncate(w->fd, w->size) != 0) {
			/* Readers stop at the last whole frame in any case. */
		}
		return ks_fail(error, "%s: %s; the samples so far are whole", w->path, strerror(error));
	}
	w->size += (off_t)w->frame.len;
	return 0;
}
