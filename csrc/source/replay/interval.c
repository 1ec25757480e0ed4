/* interval.c - finds the interval that ends at a time, and gaps; see files.h. SPDX-License-Identifier: MIT */
#include "source/replay/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/when.h"
#include "source/replay/machine.h"
#include "source/replay/replay.h"

#define AHEAD (86400 * KS_NANOSEC) /* of which the times are read at once */

static bool
add_time(void *context, int64_t time)
{
	struct ks_times *t = context;

	if (time < t->from)
		return true;
	t->failed = !KS_RESERVE(t->time, t->cap, t->n + 1);
	if (t->failed)
		return false;
	t->time[t->n++] = time;
	t->beyond += time > t->until || t->beyond > 0;
	return t->beyond < 2 || t->is_set;
}

/* Reads the times from a file on, of which those well before `from` are passed over. */
static int
read_times(struct ks_times *t, struct ks_files *files, size_t start, int64_t from)
{
	t->n = t->beyond = t->at = 0;
	for (size_t i = start; i < files->n && t->beyond < 2; i++) {
		if (files->several && ks_file_look(&files->file[i], NULL) == 0)
			continue;
		t->from = files->several ? ks_machine_begin(files, i) : INT64_MIN;
		/* Of a file that is damaged further on the times before that count; who reads it says so. */
		if (ks_file_times(files->file[i].path, i == start ? from : INT64_MIN, t->start, &t->is_set, add_time, t) != 0 &&
		    (!files->several || (errno != EBADMSG && t->n == 0)))
			return -1;
		if (t->failed)
			return ks_fail(ENOMEM, "out of memory for the times of samples");
	}
	return 0;
}

/* Goes to where earlier samples are: the begin of the file, and then the file before. False: there are none. */
static bool
go_back(size_t *file, int64_t *from)
{
	if (*file == 0 && *from == INT64_MIN)
		return false;
	if (*from == INT64_MIN)
		(*file)--;
	*from = INT64_MIN;
	return true;
}

/* From the sample k to the next one; 0 if there is none, or clocks were set back. */
static int64_t
distance(const struct ks_times *t, size_t k)
{
	int64_t d = k + 1 < t->n ? ks_time_between(t->time[k], t->time[k + 1]) : 0;

	return d > 0 ? d : 0;
}

/* The distance between samples that is usual beside the sample k and the next one; 0: not known. */
static int64_t
usual(const struct ks_times *t, size_t k)
{
	return ks_usual_distance(k > 0 ? distance(t, k - 1) : 0, distance(t, k + 1));
}

static bool
is_gap(const struct ks_times *t, size_t k)
{
	return ks_is_gap(distance(t, k), usual(t, k));
}

/*
 * The number of samples up to the one that a time follows: the first one before a later sample without a gap, else the
 * latest one. *is_twice: so it is for another one, too.
 */
static size_t
count_until(const struct ks_times *t, int64_t time, bool *is_twice)
{
	size_t n = 0;
	bool found = false;

	*is_twice = false;
	for (size_t k = 0; k < t->n; k++) {
		bool is_here = t->time[k] <= time && k + 1 < t->n && t->time[k + 1] > time && !is_gap(t, k);

		*is_twice |= found && is_here;
		if (!found && t->time[k] <= time && (is_here || n == 0 || t->time[k] >= t->time[n - 1]))
			n = k + 1;
		found |= is_here;
	}
	return n;
}

static int
fail_gap(int64_t from, int64_t to)
{
	char a[KS_WHEN_SIZE], b[KS_WHEN_SIZE];

	return ks_fail(ENODATA, "nothing was recorded from %s to %s", ks_when_write(a, from), ks_when_write(b, to));
}

static int
fail_outside(struct ks_files *files, const struct ks_times *t, int64_t time, int64_t length)
{
	char a[KS_WHEN_SIZE], b[KS_WHEN_SIZE], c[KS_WHEN_SIZE], seconds[32] = "";
	int64_t last, first = files->n > 1 || t->n == 0 ? files->file[0].first : t->time[0];

	if (ks_interval_end(files, &last) != 0)
		return -1;
	if (length > 0)
		(void)snprintf(seconds, sizeof(seconds), " of %g s", (double)length / KS_NANOSEC);
	return ks_fail(ENODATA, "no interval%s ends at %s: samples are from %s to %s", seconds, ks_when_write(a, time),
	    ks_when_write(b, first), ks_when_write(c, last));
}

/* Checks that nothing is missing between the samples a and b, and between b and the time; as ks_interval_find(). */
static int
check_gaps(struct ks_files *files, const struct ks_times *t, size_t a, size_t b, int64_t time, int64_t length)
{
	int64_t beside = b > 0 ? distance(t, b - 1) : 0;

	for (size_t k = a; k < b; k++) {
		if (is_gap(t, k))
			return fail_gap(t->time[k], t->time[k + 1]);
	}
	if (b + 1 < t->n && is_gap(t, b) && ks_time_between(t->time[b], time) > usual(t, b))
		return fail_gap(t->time[b], t->time[b + 1]);
	if (b + 1 == t->n && ks_time_between(t->time[b], time) / KS_GAP > beside)
		return fail_outside(files, t, time, length);
	return 0;
}

/* The sample that an interval of a length begins with which ends with the sample b; b itself: it is not among these. */
static size_t
begin_of(const struct ks_times *t, size_t b, int64_t length)
{
	size_t a = b;
	int64_t latest;

	if (b == 0)
		return b;
	/* Samples come a little early and late. */
	if (__builtin_sub_overflow(t->time[b], length - distance(t, b - 1) / 2, &latest))
		return b;
	do
		a--;
	while (a > 0 && length > 0 && t->time[a] > latest);
	return length > 0 && t->time[a] > latest ? b : a;
}

static int
find(struct ks_times *t, struct ks_files *files, int64_t time, int64_t length, struct ks_interval *found)
{
	bool is_there = false;
	size_t a = 0, b = 0;
	int64_t begin;

	if (__builtin_sub_overflow(time, length, &begin))
		begin = INT64_MIN;
	t->until = time;
	found->file = ks_files_at(files, begin);
	do {
		if (read_times(t, files, found->file, begin) != 0)
			return -1;
		b = count_until(t, time, &found->is_twice);
		a = b > 0 ? begin_of(t, b - 1, length) : 0;
	} while ((b == 0 || a == b - 1) && go_back(&found->file, &begin));
	if (b == 0 || a == b - 1)
		return fail_outside(files, t, time, length);
	if (check_gaps(files, t, a, b - 1, time, length) != 0)
		return -1;
	for (size_t i = 0; i < files->n; i++) {
		const struct ks_file *f = &files->file[i];

		if (f->is_looked_at && f->first <= time && f->last >= time && ks_machine_begin(files, i) <= time) {
			found->is_twice |= is_there;
			is_there = true;
		}
	}
	found->from = t->time[a];
	found->to = t->time[b - 1];
	return 0;
}

int
ks_interval_find(struct ks_files *files, int64_t time, int64_t length, struct ks_interval *found)
{
	struct ks_times t = { .n = 0 };
	int rc = find(&t, files, time, length, found);

	free(t.time);
	return rc;
}

/* The number of a sample that the next one follows as is said, looked for from where one was found last; n: there is none. */
static size_t
find_pair(struct ks_times *t, int64_t from, int64_t to)
{
	for (size_t i = 0; i + 1 < t->n; i++) {
		size_t k = (t->at + i) % (t->n - 1);

		if (t->time[k] == from && t->time[k + 1] == to)
			return t->at = k;
	}
	return t->n;
}

int64_t
ks_interval_usual(struct ks_times *t, struct ks_files *files, int64_t from, int64_t to)
{
	size_t k = find_pair(t, from, to), file = ks_files_at(files, from);
	bool is_recording;
	int64_t begin;

	if (k < t->n && (k + 2 < t->n || t->beyond < 2))
		return usual(t, k);
	is_recording = ks_replay_is_recording(files->file[file].path);
	begin = is_recording ? from : INT64_MIN; /* a capture is read from its begin in any case, and so to its end at once */
	if (!is_recording || __builtin_add_overflow(to, AHEAD, &t->until))
		t->until = INT64_MAX;
	do {
		if (read_times(t, files, file, begin) != 0 && ks_is_lack(errno))
			return -1;
		k = find_pair(t, from, to);
	} while ((k == 0 || k == t->n) && go_back(&file, &begin));
	return k < t->n ? usual(t, k) : 0;
}

int
ks_interval_end(struct ks_files *files, int64_t *time)
{
	const struct ks_file *f = &files->file[files->n - 1];
	int rc = files->several ? 1 : ks_file_end(f->path, time);

	for (size_t i = 0; files->several && i < files->n; i++)
		*time = i == 0 || files->file[i].last > *time ? files->file[i].last : *time;
	return rc > 0 ? 0 : rc < 0 ? -1 : ks_fail(ENODATA, "%.200s: no sample", f->path);
}
