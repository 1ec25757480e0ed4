/*
 * frame_find.c - finds keyframes in the file of a recording without the frames between, and the times of frames; see
 * frame_file.h.
 * SPDX-License-Identifier: MIT
 */
#include "source/replay/recording/frame_file.h"

#include <errno.h>

#define NEAR 65536 /* bytes in which frames are no further looked for, but walked over */

/* The first keyframe from `at` on and before `end`; -1: there is none. */
static off_t
find_key(int fd, off_t at, off_t end, struct ks_rec_frame *f, uint32_t *set_back)
{
	while ((at = ks_rec_find(fd, at, end, "KSK")) >= 0 && !ks_rec_is_key(fd, at, f, set_back))
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
	if (ks_rec_end_time(fd, file_size, time))
		return 1;
	*time = INT64_MIN;
	if (ks_rec_times(fd, ks_rec_find_key_before(fd, file_size), file_size, store_time, time) != 0)
		return -1;
	return *time != INT64_MIN;
}
