/* input.c - the text of a capture, and messages about places in it; see capture.h. SPDX-License-Identifier: MIT */
#include "source/replay/capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define PIECE_SIZE ((size_t)256 * 1024)
#define PACKED_SIZE ((size_t)64 * 1024)
#define GZIP_OR_ZLIB_HEADER 32 /* added to zlib's window bits */

int
ks_capture_input_open(struct ks_capture_input *in, const char *path)
{
	struct stat st;

	*in = (struct ks_capture_input){
		.fd = -1, .removed = KS_BUF_INIT, .before = '\n'
	};
	in->text = malloc(PIECE_SIZE);
	if (in->text == NULL)
		return ks_fail(ENOMEM, "%.200s: out of memory", path);
	if (strcmp(path, "-") == 0)
		in->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	else
		in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (in->fd < 0)
		return ks_fail(errno, "%.200s: cannot open: %s", path, strerror(errno));
	if (fstat(in->fd, &st) == 0 && S_ISDIR(st.st_mode))
		return ks_fail(EISDIR, "%.200s: is a directory, not a capture", path);
	return 0;
}

/* Releases what belongs to the reading that is under way. */
static void
end_reading(struct ks_capture_input *in)
{
	if (in->gzip)
		(void)inflateEnd(&in->z);
	ks_buf_free(&in->removed);
	free(in->packed);
}

int
ks_capture_input_rewind(struct ks_capture_input *in)
{
	if (lseek(in->fd, 0, SEEK_SET) != 0)
		return -1;
	end_reading(in);
	*in = (struct ks_capture_input){ .fd = in->fd, .text = in->text, .removed = KS_BUF_INIT, .before = '\n' };
	return 0;
}

void
ks_capture_input_free(struct ks_capture_input *in)
{
	if (in->fd >= 0)
		(void)close(in->fd);
	end_reading(in);
	free(in->text);
}

/* read(2): bytes read, 0 at the end, -1 with errno and a message. */
static ssize_t
read_some(const struct ks_capture_input *in, void *to, size_t n)
{
	ssize_t got = read(in->fd, to, n);

	/* A signal ends the wait for a pipe, so that Ctrl-C ends the program. */
	if (got < 0)
		return ks_fail(errno, "cannot read: %s", strerror(errno));
	return got;
}

/* Starts to decompress; `start` are the first bytes of the file. */
static int
start_gzip(struct ks_capture_input *in, const char *start, size_t n)
{
	in->packed = malloc(PACKED_SIZE);
	if (in->packed == NULL)
		return ks_fail(ENOMEM, "out of memory");
	if (inflateInit2(&in->z, MAX_WBITS + GZIP_OR_ZLIB_HEADER) != Z_OK)
		return ks_fail(ENOMEM, "cannot start to decompress");
	in->gzip = true;
	memcpy(in->packed, start, n);
	in->z.next_in = in->packed;
	in->z.avail_in = (uInt)n;
	return 0;
}

/* Padding of zero bytes may follow the last member. */
static void
skip_zeros(z_stream *z)
{
	while (z->avail_in > 0 && *z->next_in == 0) {
		z->next_in++;
		z->avail_in--;
	}
}

/* The same as read_some() for compressed input. */
static ssize_t
inflate_some(struct ks_capture_input *in, char *to, size_t room)
{
	z_stream *z = &in->z;

	z->next_out = (Bytef *)to;
	z->avail_out = (uInt)room;
	while (z->avail_out == room) {
		int rc;

		if (!in->in_member)
			skip_zeros(z);
		if (z->avail_in == 0) {
			ssize_t got = read_some(in, in->packed, PACKED_SIZE);

			if (got < 0)
				return -1;
			if (got == 0 && in->in_member)
				return ks_fail(EBADMSG, "the gzip data is cut off");
			if (got == 0)
				return 0;
			z->next_in = in->packed;
			z->avail_in = (uInt)got;
			continue;
		}
		in->in_member = true;
		rc = inflate(z, Z_NO_FLUSH);
		if (rc == Z_STREAM_END) {
			in->in_member = false;
			(void)inflateReset(z);
		} else if (rc == Z_MEM_ERROR) {
			return ks_fail(ENOMEM, "out of memory");
		} else if (rc != Z_OK && rc != Z_BUF_ERROR) {
			/* What came out before the damage is served first; the error stays. */
			if (z->avail_out < room)
				break;
			return ks_fail(EBADMSG, "the gzip data is damaged");
		}
	}
	return (ssize_t)(room - z->avail_out);
}

/* The same as read_some() for the text, compressed or not. */
static ssize_t
next_bytes(struct ks_capture_input *in, char *to, size_t room)
{
	size_t n = 0;

	if (in->gzip)
		return inflate_some(in, to, room);
	if (in->sniffed)
		return read_some(in, to, room);
	while (n < 2) {
		ssize_t got = read_some(in, to + n, PACKED_SIZE - n);

		if (got < 0)
			return -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	in->sniffed = true;
	if (n >= 2 && memcmp(to, "\x1f\x8b", 2) == 0)
		return start_gzip(in, to, n) != 0 ? -1 : inflate_some(in, to, room);
	return (ssize_t)n;
}

/*
 * Removes the backslashes of "\?" from the piece, and moves one at its very end to the next piece.
 * Backslashes occur in strings only, so pairs are found without knowing where strings start.
 */
static int
settle_backslashes(struct ks_capture_input *in)
{
	char *end = in->text + in->len;
	char *from = memchr(in->text, '\\', in->len);
	char *to = from;

	while (from != NULL && from < end) {
		char *next;

		if (from + 1 == end && !in->ended) {
			in->carry = true;
			break;
		}
		if (from + 1 < end && from[1] == '?') {
			size_t at = (size_t)(to - in->text);

			ks_buf_add(&in->removed, &at, sizeof(at));
			from++;
			*to++ = *from++;
		} else {
			*to++ = *from++;
			if (from < end)
				*to++ = *from++;
		}
		next = memchr(from, '\\', (size_t)(end - from));
		if (next == NULL)
			next = end;
		if (to != from)
			memmove(to, from, (size_t)(next - from));
		to += next - from;
		from = next;
	}
	if (to != NULL)
		in->len = (size_t)(to - in->text);
	if (in->removed.failed)
		return ks_fail(ENOMEM, "out of memory");
	return 0;
}

/*
 * Replaces the piece, which must be used up, by the next one. 1 if there is one, 0 at the end,
 * -1 with errno and a message that does not name the file: EBADMSG damaged gzip data, or read(2)'s.
 */
static int
fill(struct ks_capture_input *in)
{
	size_t kept = in->carry;
	ssize_t got;

	if (in->ended)
		return 0;
	if (in->len > 0)
		in->before = in->text[in->len - 1];
	in->base += in->len + in->removed.len / sizeof(size_t);
	in->len = 0;
	in->pos = 0;
	ks_buf_reset(&in->removed);
	do {
		if (in->carry)
			in->text[0] = '\\';
		got = next_bytes(in, in->text + kept, PIECE_SIZE - kept);
		if (got < 0)
			return -1;
		in->ended = got == 0;
		in->carry = false;
		in->len = kept + (size_t)got;
		if (settle_backslashes(in) != 0)
			return -1;
		kept = in->carry;
	} while (in->len == 0 && !in->ended);
	return in->len > 0;
}

uint64_t
ks_capture_input_position(const struct ks_capture_input *in, size_t at)
{
	uint64_t position = in->base + at;

	for (size_t i = 0; i < in->removed.len / sizeof(size_t); i++) {
		size_t place;

		memcpy(&place, in->removed.data + i * sizeof(place), sizeof(place));
		position += place <= at;
	}
	return position;
}

/* --- messages ------------------------------------------------------------------------------- */

uint64_t
ks_capture_position(const struct ks_capture_notes *n)
{
	size_t at = n->in->pos;

	if (n->yajl != NULL)
		at += yajl_get_bytes_consumed(n->yajl);
	return ks_capture_input_position(n->in, at);
}

/* Writes a message. Between arrays it names the next sample. */
__attribute__((format(printf, 4, 0)))
static void
write_message(char *to, const struct ks_capture_notes *n, uint64_t at, const char *fmt, va_list ap)
{
	int len = snprintf(to, KS_CAPTURE_MESSAGE, "%.200s: sample %llu, byte %llu: ", n->path,
	    (unsigned long long)n->number + (n->yajl == NULL), (unsigned long long)at);

	(void)vsnprintf(to + len, KS_CAPTURE_MESSAGE - (size_t)len, fmt, ap);
}

void
ks_capture_problem(struct ks_capture_notes *n, const char *fmt, ...)
{
	va_list ap;

	if (n->problems++ > 0)
		return;
	va_start(ap, fmt);
	write_message(n->problem, n, ks_capture_position(n), fmt, ap);
	va_end(ap);
}

int
ks_capture_damage(struct ks_capture_notes *n, uint64_t at, const char *fmt, ...)
{
	va_list ap;

	if (n->damages++ > 0)
		return 0;
	va_start(ap, fmt);
	write_message(n->damage, n, at, fmt, ap);
	va_end(ap);
	return 0;
}

int
ks_capture_end(struct ks_capture_notes *n, int error, uint64_t at, const char *fmt, ...)
{
	va_list ap;

	if (n->end_errno != 0)
		return 0;
	va_start(ap, fmt);
	write_message(n->end, n, at, fmt, ap);
	va_end(ap);
	n->end_errno = error;
	return 0;
}

int
ks_capture_out_of_memory(struct ks_capture_notes *n)
{
	return ks_capture_end(n, ENOMEM, ks_capture_position(n), "out of memory");
}

int
ks_capture_peek(struct ks_capture_input *in, struct ks_capture_notes *n, char *c)
{
	int rc = 1;

	if (in->pos == in->len)
		rc = fill(in);
	if (rc > 0)
		*c = in->text[in->pos];
	else if (rc < 0)
		(void)ks_capture_end(n, errno, ks_capture_input_position(in, in->len), "%s",
		    kstat_errmsg());
	return rc;
}
