/*
 * frame_file.c - reads the file of a recording, finds keyframes in it without the frames between, and the times of
 * frames; see frame_file.h. SPDX-License-Identifier: MIT
 */
#include "source/replay/recording/frame_file.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"

#define FEWEST_ZEROS 20 /* so many zeros are no coincidence */

static const char kinds[] = { [KS_REC_DIFFERENCE] = 'D', [KS_REC_LIGHT] = 'L', [KS_REC_KEY] = 'K' };

static void
put_number(unsigned char *to, uint32_t v)
{
	v = htole32(v);
	memcpy(to, &v, sizeof(v));
}

static uint32_t
get_number(const unsigned char *from)
{
	uint32_t v;

	memcpy(&v, from, sizeof(v));
	return le32toh(v);
}

static void
pack_fields(const struct ks_rec_frame *f, unsigned char to[16])
{
	uint64_t time_of_day = htole64((uint64_t)f->time_of_day);

	to[0] = 'K';
	to[1] = 'S';
	to[2] = (unsigned char)kinds[f->kind];
	to[3] = (unsigned char)('0' + f->version);
	put_number(to + 4, f->size);
	memcpy(to + 8, &time_of_day, 8);
}

/* True if the payload of a frame starts with what is there to find it. */
static bool
has_check(const struct ks_rec_frame *f)
{
	return f->kind == KS_REC_KEY && f->version >= KS_REC_VERSION;
}

static uint32_t
check_of(const unsigned char *frame)
{
	return (uint32_t)crc32_z(crc32_z(0, frame, 16), frame + KS_REC_HEADER_SIZE, 4);
}

/* The CRC that belongs to a frame with this payload. */
static uint32_t
crc_of(const struct ks_rec_frame *f, const void *payload)
{
	unsigned char fields[16];

	pack_fields(f, fields);
	return (uint32_t)crc32_z(crc32_z(0, fields, sizeof(fields)), payload, f->size);
}

void
ks_rec_frame_pack(const struct ks_rec_frame *f, uint32_t set_back, unsigned char *frame)
{
	pack_fields(f, frame);
	if (has_check(f)) {
		put_number(frame + KS_REC_HEADER_SIZE, set_back);
		put_number(frame + KS_REC_HEADER_SIZE + 4, check_of(frame));
	}
	put_number(frame + 16, crc_of(f, frame + KS_REC_HEADER_SIZE));
}

/* Returns false if the bytes are no frame header. */
static bool
unpack_header(struct ks_rec_frame *f, const unsigned char from[KS_REC_HEADER_SIZE])
{
	const char *kind = memchr(kinds, from[2], sizeof(kinds));
	uint64_t time_of_day;

	if (from[0] != 'K' || from[1] != 'S' || kind == NULL || from[3] < '1' || from[3] > '0' + KS_REC_VERSION)
		return false;
	f->kind = (enum ks_rec_kind)(kind - kinds);
	f->version = from[3] - '0';
	memcpy(&time_of_day, from + 8, 8);
	f->size = get_number(from + 4);
	f->time_of_day = (int64_t)le64toh(time_of_day);
	f->crc = get_number(from + 16);
	/* Of the older versions differences have the first number. */
	return f->size <= KS_REC_MOST_PAYLOAD && f->size >= (has_check(f) ? KS_REC_CHECK_SIZE : 0) &&
	    (f->version == KS_REC_VERSION || f->kind == KS_REC_KEY || (f->kind == KS_REC_DIFFERENCE && f->version == 1));
}

ssize_t
ks_rec_read_at(int fd, void *to, size_t n, off_t at)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = pread(fd, (char *)to + done, n - done, at + (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

/* True if the rest of the file is zeros that start before `end`, the end of a frame that is not whole. */
static bool
is_torn(int fd, off_t end, off_t file_size)
{
	char bytes[4096] = { 0 };
	off_t at = file_size;

	while (at > 0) {
		size_t n = at < (off_t)sizeof(bytes) ? (size_t)at : sizeof(bytes);

		at -= (off_t)n;
		if (ks_rec_read_at(fd, bytes, n, at) != (ssize_t)n)
			return false;
		while (n > 0 && bytes[n - 1] == 0)
			n--;
		if (n > 0 || at == 0) {
			at += (off_t)n; /* the zeros start here; a whole frame may end in a few */
			return at < end && file_size - at >= FEWEST_ZEROS;
		}
	}
	return false;
}

/* True if there is a whole frame at `at`, or *budget, the bytes that may be read to find out, is used up. */
static bool
is_whole_frame(int fd, off_t at, off_t file_size, uint64_t *budget)
{
	unsigned char header[KS_REC_HEADER_SIZE], fields[16];
	struct ks_rec_frame f;
	char bytes[4096];
	uint32_t left;
	uLong crc;

	if (ks_rec_read_at(fd, header, sizeof(header), at) != (ssize_t)sizeof(header) ||
	    !unpack_header(&f, header))
		return false;
	at += (off_t)sizeof(header);
	if (file_size - at < (off_t)f.size)
		return false;
	if (*budget < f.size)
		return true;
	*budget -= f.size;
	pack_fields(&f, fields);
	crc = crc32_z(0, fields, sizeof(fields));
	for (left = f.size; left > 0;) {
		size_t n = left < sizeof(bytes) ? left : sizeof(bytes);

		if (ks_rec_read_at(fd, bytes, n, at) != (ssize_t)n)
			return false;
		crc = crc32_z(crc, (const unsigned char *)bytes, n);
		at += (off_t)n;
		left -= (uint32_t)n;
	}
	return (uint32_t)crc == f.crc;
}

/* The offset from `at` on and before `end` where `mark` is in a file; -1: nowhere. */
static off_t
find_mark(int fd, off_t at, off_t end, const char *mark)
{
	char bytes[16384];
	size_t n = strlen(mark);

	while (at < end) {
		ssize_t got = ks_rec_read_at(fd, bytes, sizeof(bytes), at);

		if (got < (ssize_t)n)
			return -1;
		for (char *p = bytes, *last = bytes + got - n + 1;
		    (p = memchr(p, *mark, (size_t)(last - p))) != NULL && at + (p - bytes) < end; p++) {
			if (memcmp(p, mark, n) == 0)
				return at + (p - bytes);
		}
		at += got - (off_t)n + 1; /* a mark may start in one part and end in the next */
	}
	return -1;
}

/*
 * True if there is a whole frame anywhere behind `at`: then what is not whole before it is no end. Bytes
 * that look like many frames are damage, not the end of a recording, so they are not all looked at.
 */
static bool
is_followed(int fd, off_t at, off_t file_size)
{
	uint64_t budget = 2 * (uint64_t)KS_REC_MOST_PAYLOAD;

	while ((at = find_mark(fd, at, file_size, "KS")) >= 0) {
		if (is_whole_frame(fd, at++, file_size, &budget))
			return true;
	}
	return false;
}

/* False if a frame that starts with a check of its header does not have the right one. */
static bool
is_checked(const struct ks_rec_frame *f, const unsigned char *start)
{
	return !has_check(f) || check_of(start) == get_number(start + KS_REC_HEADER_SIZE + 4);
}

bool
ks_rec_is_key(int fd, off_t at, struct ks_rec_frame *f, uint32_t *set_back)
{
	unsigned char start[KS_REC_HEADER_SIZE + KS_REC_CHECK_SIZE];

	if (ks_rec_read_at(fd, start, sizeof(start), at) != (ssize_t)sizeof(start) || !unpack_header(f, start) ||
	    !has_check(f) || !is_checked(f, start))
		return false;
	*set_back = get_number(start + KS_REC_HEADER_SIZE);
	return true;
}

int
ks_rec_frame_read(int fd, off_t at, off_t file_size, struct ks_rec_frame *f, bool *torn)
{
	unsigned char start[KS_REC_HEADER_SIZE + KS_REC_CHECK_SIZE];
	ssize_t got = ks_rec_read_at(fd, start, sizeof(start), at);

	*torn = false;
	if (got < 0)
		return ks_fail(errno, "%s", strerror(errno));
	if (got < KS_REC_HEADER_SIZE) {
		*torn = got > 0;
		return 0;
	}
	if (!unpack_header(f, start) || (got == (ssize_t)sizeof(start) && !is_checked(f, start))) {
		*torn = is_torn(fd, at + KS_REC_HEADER_SIZE, file_size);
		if (*torn)
			return 0;
		return ks_fail(EBADMSG, "damaged at byte %lld", (long long)at);
	}
	if (file_size - at - KS_REC_HEADER_SIZE < (off_t)f->size) {
		*torn = !is_followed(fd, at + 1, file_size);
		if (*torn)
			return 0;
		return ks_fail(EBADMSG, "damaged at byte %lld", (long long)at);
	}
	return 1;
}

/* Leaves of a payload what is deflated. */
static void
unwrap(const struct ks_rec_frame *f, struct ks_buf *b)
{
	char *at = b->data, *end = b->data + b->len;

	if (f->version < KS_REC_VERSION)
		return;
	if (has_check(f))
		memmove(at, at + KS_REC_CHECK_SIZE, (size_t)((end -= KS_REC_CHECK_SIZE) - at));
	while ((at = memmem(at, (size_t)(end - at), "KSK", 3)) != NULL && (at += 3) < end)
		memmove(at, at + 1, (size_t)(--end - at));
	b->len = (size_t)(end - b->data);
}

/* True if a file of that size ends with a whole frame that is not large, whose time of day is stored. */
static bool
end_time(int fd, off_t file_size, int64_t *time)
{
	unsigned char bytes[16384];
	off_t from = file_size - KS_REC_MAGIC_SIZE < (off_t)sizeof(bytes) ? KS_REC_MAGIC_SIZE :
	    file_size - (off_t)sizeof(bytes);
	ssize_t at = ks_rec_read_at(fd, bytes, sizeof(bytes), from) - KS_REC_HEADER_SIZE;
	struct ks_rec_frame f;

	for (; at >= 0; at--) {
		if (unpack_header(&f, bytes + at) && from + at + KS_REC_HEADER_SIZE + (off_t)f.size == file_size &&
		    crc_of(&f, bytes + at + KS_REC_HEADER_SIZE) == f.crc) {
			*time = f.time_of_day;
			return true;
		}
	}
	return false;
}

int
ks_rec_payload_read(int fd, off_t at, off_t file_size, const struct ks_rec_frame *f, struct ks_buf *to)
{
	char *payload;
	ssize_t got;

	ks_buf_reset(to);
	payload = ks_buf_room(to, (size_t)f->size + KS_REC_FLUSH_SIZE);
	if (payload == NULL)
		return ks_fail(ENOMEM, "out of memory for a sample");
	got = ks_rec_read_at(fd, payload, f->size, at + KS_REC_HEADER_SIZE);
	if (got < 0)
		return ks_fail(errno, "%s", strerror(errno));
	if (got == (ssize_t)f->size && crc_of(f, payload) == f->crc) {
		to->len = f->size;
		unwrap(f, to);
		return 1;
	}
	if (is_torn(fd, at + KS_REC_HEADER_SIZE + (off_t)f->size, file_size))
		return 0;
	return ks_fail(EBADMSG, "damaged at byte %lld", (long long)at);
}

/* --- finding -------------------------------------------------------------------------------- */

#define NEAR 65536 /* bytes in which frames are no further looked for, but walked over */

/* The first keyframe from `at` on and before `end`; -1: there is none. */
static off_t
find_key(int fd, off_t at, off_t end, struct ks_rec_frame *f, uint32_t *set_back)
{
	while ((at = find_mark(fd, at, end, "KSK")) >= 0 && !ks_rec_is_key(fd, at, f, set_back))
		at++;
	return at;
}

off_t
ks_rec_find_key_behind(int fd, off_t at, off_t file_size, int64_t *time)
{
	struct ks_rec_frame f;
	uint32_t set_back;

	do
		at = find_key(fd, at + 1, file_size, &f, &set_back);
	while (at >= 0 && file_size - at - KS_REC_HEADER_SIZE < (off_t)f.size);
	*time = at >= 0 ? f.time_of_day : INT64_MAX;
	return at;
}

off_t
ks_rec_find_key_before(int fd, off_t before)
{
	off_t found = -1, at = before;
	struct ks_rec_frame f;
	uint32_t set_back;

	for (off_t span = NEAR; found < 0 && at > KS_REC_MAGIC_SIZE; span *= 2) {
		at = before > span + KS_REC_MAGIC_SIZE ? before - span : KS_REC_MAGIC_SIZE;
		for (off_t key = at; (key = find_key(fd, key, before, &f, &set_back)) >= 0; key++)
			found = key;
	}
	return found >= 0 ? found : KS_REC_MAGIC_SIZE;
}

/* True if no time from the keyframe `last` on, the last one of the file, is before that of the sample before. */
static bool
is_ordered(int fd, off_t file_size, off_t last)
{
	int64_t time = INT64_MIN;
	struct ks_rec_frame f;
	uint32_t set_back;
	bool torn;

	if (!ks_rec_is_key(fd, last, &f, &set_back) || set_back > 0)
		return false;
	while (ks_rec_frame_read(fd, last, file_size, &f, &torn) > 0) {
		if (f.time_of_day < time)
			return false;
		time = f.time_of_day;
		last += KS_REC_HEADER_SIZE + (off_t)f.size;
	}
	return true;
}

off_t
ks_rec_find_start(int fd, off_t file_size, int64_t time, bool *ordered)
{
	off_t low = KS_REC_MAGIC_SIZE, high = ks_rec_find_key_before(fd, file_size);
	struct ks_rec_frame f;
	uint32_t set_back;

	*ordered = ks_rec_is_key(fd, low, &f, &set_back) && is_ordered(fd, file_size, high);
	if (!*ordered || !ks_rec_is_key(fd, high, &f, &set_back))
		return low;
	if (f.time_of_day < time)
		return high;
	/* What is wanted is not before `low`, and not behind the first keyframe from `high` on. */
	while (high - low > NEAR) {
		off_t middle = low + (high - low) / 2, key = find_key(fd, middle, high, &f, &set_back);

		if (key >= 0 && f.time_of_day < time)
			low = key;
		else
			high = middle;
	}
	return low;
}

int
ks_rec_times(int fd, off_t at, off_t file_size, bool (*visit)(void *context, int64_t time), void *context)
{
	struct ks_rec_frame f;
	int64_t time;
	bool torn;
	int rc;

	for (;;) {
		while ((rc = ks_rec_frame_read(fd, at, file_size, &f, &torn)) > 0 && visit(context, f.time_of_day))
			at += KS_REC_HEADER_SIZE + (off_t)f.size;
		if (rc >= 0 || errno != EBADMSG)
			return rc < 0 ? -1 : 0;
		at = ks_rec_find_key_behind(fd, at, file_size, &time);
		if (at < 0)
			return -1;
	}
}

static bool
store_time(void *to, int64_t time)
{
	*(int64_t *)to = time;
	return true;
}

int
ks_rec_last_time(int fd, off_t file_size, int64_t *time)
{
	if (end_time(fd, file_size, time))
		return 1;
	*time = INT64_MIN;
	if (ks_rec_times(fd, ks_rec_find_key_before(fd, file_size), file_size, store_time, time) != 0)
		return -1;
	return *time != INT64_MIN;
}
