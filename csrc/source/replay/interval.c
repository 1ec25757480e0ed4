/* interval.c - see interval.h. SPDX-License-Identifier: MIT */
#include "source/replay/interval.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/when.h"

/* The times of the samples around the one that is looked for, in their order. */
struct times {
	int64_t *time; /* owned */
	size_t n, cap;
	int64_t last;  /* of the file before: what a file has up to then was read there */
	int64_t until; /* two samples behind that time are enough */
	size_t beyond;
	bool failed;   /* no memory */
};

static bool
add_time(void *context, int64_t time)
{
	struct times *t = context;

	if (time <= t->last)
		return true;
	t->failed = !KS_RESERVE(t->time, t->cap, t->n + 1);
	if (t->failed)
		return false;
	t->time[t->n++] = time;
	t->beyond += time > t->until || t->beyond > 0;
	return t->beyond < 2;
}

/* Reads the times from a file on, of which those well before `from` are passed over. */
static int
read_times(struct times *t, const struct ks_files *files, size_t start, int64_t from)
{
	t->n = t->beyond = 0;
	t->last = INT64_MIN;
	for (size_t i = start; i < files->n && t->beyond < 2; i++) {
		/* Of a file that is damaged further on the times before that count; who reads it says so. */
		if (ks_file_times(files->file[i].path, i == start ? from : INT64_MIN, add_time, t) != 0 &&
		    (!files->several || (errno != EBADMSG && t->n == 0)))
			return -1;
		if (t->failed)
			return ks_fail(ENOMEM, "out of memory for the times of samples");
		if (t->n > 0)
			t->last = t->time[t->n - 1];
	}
	return 0;
}

/* From the sample k to the next one; 0 if there is none, or clocks were set back. */
static int64_t
distance(const struct times *t, size_t k)
{
	int64_t d = k + 1 < t->n ? ks_time_between(t->time[k], t->time[k + 1]) : 0;

	return d > 0 ? d : 0;
}

/* The distance between samples that is usual beside the sample k and the next one; 0: not known. */
static int64_t
usual(const struct times *t, size_t k)
{
	int64_t before = k > 0 ? distance(t, k - 1) : 0, behind = distance(t, k + 1);

	return before == 0 || (behind > 0 && behind < before) ? behind : before;
}

static bool
is_gap(const struct times *t, size_t k)
{
	int64_t beside = usual(t, k);

	return beside > 0 && distance(t, k) >= KS_SHORTEST_GAP && distance(t, k) / KS_GAP > beside;
}

/* The number of samples up to the first one that is later than a time. */
static size_t
count_until(const struct times *t, int64_t time)
{
	size_t n = 0;

	while (n < t->n && t->time[n] <= time)
		n++;
	return n;
}

static int
fail_gap(int64_t from, int64_t to)
{
	char a[KS_WHEN_SIZE], b[KS_WHEN_SIZE];

	return ks_fail(ENODATA, "nothing was recorded from %s to %s", ks_when_write(a, from), ks_when_write(b, to));
}

static int
fail_outside(const struct ks_files *files, const struct times *t, int64_t time, int64_t length)
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
check_gaps(const struct ks_files *files, const struct times *t, size_t a, size_t b, int64_t time, int64_t length)
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
begin_of(const struct times *t, size_t b, int64_t length)
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
find(struct times *t, const struct ks_files *files, int64_t time, int64_t length, struct ks_interval *found)
{
	size_t a = 0, b = 0;
	int64_t begin;

	if (__builtin_sub_overflow(time, length, &begin))
		begin = INT64_MIN;
	t->until = time;
	found->file = ks_files_at(files, begin);
	for (;;) {
		if (read_times(t, files, found->file, begin) != 0)
			return -1;
		b = count_until(t, time);
		a = b > 0 ? begin_of(t, b - 1, length) : 0;
		if ((b > 0 && a < b - 1) || (found->file == 0 && begin == INT64_MIN))
			break;
		/* It begins earlier: the whole file is read, then the one before. */
		if (begin == INT64_MIN)
			found->file = ks_files_before(files, found->file);
		begin = INT64_MIN;
	}
	if (b == 0 || a == b - 1)
		return fail_outside(files, t, time, length);
	if (check_gaps(files, t, a, b - 1, time, length) != 0)
		return -1;
	found->from = t->time[a];
	found->to = t->time[b - 1];
	return 0;
}

int
ks_interval_find(const struct ks_files *files, int64_t time, int64_t length, struct ks_interval *found)
{
	struct times t = { .n = 0 };
	int rc = find(&t, files, time, length, found);

	free(t.time);
	return rc;
}

int
ks_interval_end(const struct ks_files *files, int64_t *time)
{
	const struct ks_file *f = &files->file[files->n - 1];
	int64_t first;
	int rc = f->last < INT64_MAX ? 1 : ks_file_ends(f->path, &first, time);

	for (size_t i = 0; f->last < INT64_MAX && i < files->n; i++)
		*time = i == 0 || files->file[i].last > *time ? files->file[i].last : *time;
	return rc > 0 ? 0 : rc < 0 ? -1 : ks_fail(ENODATA, "%.200s: no sample", f->path);
}
