/*
 * stream.c - the past as one stream of samples: files and directories, one behind the other in order of time.
 *
 * A file is read from its first sample that is later than the last one of the file before, so what two files have is
 * read once. Where the machine was started again, or nothing was recorded for long, the samples before and behind make no
 * difference: the stream is cut there, which ks_source_ops.cut tells. Files of two machines are refused.
 *
 * A file is chosen by the times at its two ends, which are in headers, or by its name until it is needed. Which samples
 * of a file an earlier one has, too, is found once, when it is opened (ks_machine_begin()): both have such times, and
 * count them by one clock. One rule says from when an incomplete time counts, the last sample, so that a command gives
 * the same tomorrow; only the recordings of this machine, which nobody named, count from now.
 * SPDX-License-Identifier: MIT
 */
#include "source/replay/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/when.h"
#include "source/replay/files.h"
#include "source/replay/machine.h"

/*
 * Between calls `reader` has the sample that is shown, of the file number `at`. Readers of files that ended are closed; what
 * they had to say is among the notes.
 */
struct stream {
	struct ks_source base;
	struct ks_files files;
	struct ks_window window; /* of all files; what of the next one is wanted begins later */
	char *paths, *host;      /* owned, as are the texts of the window; host is NULL if none was chosen */
	char *from_text, *to_text;
	size_t at;
	struct ks_replay *reader;
	struct ks_machine machine; /* of the sample */
	int64_t step;            /* from the sample before to this one, ns; 0: not known */
	struct ks_times times;   /* of samples around this one, where they were asked for */
	bool is_interval, is_pair; /* an interval was asked for; it is that between two samples */
	enum ks_cut cut;
	struct ks_buf notes, damages; /* lines for the next scan, with a NUL behind each */
};

static struct stream *
stream_of(struct ks_source *src)
{
	return (struct stream *)src;
}

/* --- notes ------------------------------------------------------------------------------ */

static void
add_note(struct ks_buf *notes, const char *line)
{
	ks_buf_add(notes, line, strlen(line) + 1);
}

/* The last one of notes, of which there are some. */
static const char *
last_note(const struct ks_buf *notes)
{
	size_t at = notes->len - 1;

	while (at > 0 && notes->data[at - 1] != '\0')
		at--;
	return notes->data + at;
}

/* A scan that only takes warnings. */
struct listener {
	struct ks_scan scan;
	struct stream *s;
};

static void
take_warning(struct ks_scan *scan, bool damaged, const char *line)
{
	struct stream *s = ((struct listener *)scan)->s;

	add_note(damaged ? &s->damages : &s->notes, line);
}

/* Closes the reader, and keeps what it has to say. */
static void
close_reader(struct stream *s)
{
	static const struct ks_scan_ops ops = { .warn = take_warning };
	struct listener listener = { { .ops = &ops }, s };

	if (s->reader == NULL)
		return;
	s->reader->ops->warn(s->reader, &listener.scan);
	s->reader->base.ops->close(&s->reader->base);
	s->reader = NULL;
}

static void
tell_notes(struct stream *s, struct ks_scan *scan)
{
	for (size_t at = 0; at < s->notes.len; at += strlen(s->notes.data + at) + 1)
		ks_scan_warn(scan, "%s", s->notes.data + at);
	for (size_t at = 0; at < s->damages.len; at += strlen(s->damages.data + at) + 1)
		ks_scan_damage(scan, "%s", s->damages.data + at);
	ks_buf_reset(&s->notes);
	ks_buf_reset(&s->damages);
}

/* --- cuts --------------------------------------------------------------------------------- */

#define CUT_SIZE 160

/* Says what the cut is between the sample before and this one. */
static void
write_cut(const struct stream *s, char line[CUT_SIZE], int64_t before)
{
	char a[KS_WHEN_SIZE], b[KS_WHEN_SIZE];

	(void)snprintf(line, CUT_SIZE, "nothing was recorded from %s to %s%s", ks_when_write(a, before),
	    ks_when_write(b, s->machine.time), s->cut == KS_CUT_BOOT ? ", and the machine was started again" : "");
}

/* Takes the machine of the sample. -1 with errno EINVAL: it is another one than that of the file with this path. */
static int
take_machine(struct stream *s, const struct ks_machine *before, const char *path)
{
	struct ks_machine m;

	if (ks_machine_look(&m, s->reader, before) != 0)
		return ks_machine_fail(path, before, s->reader->path, &m);
	s->machine = m;
	return 0;
}

/* True if a distance from the sample of a time to this one is a gap; -1 with errno. */
static int
is_gap(struct stream *s, int64_t before, int64_t step)
{
	int64_t usual;

	if (step < KS_SHORTEST_GAP || ks_is_gap(step, s->step))
		return step >= KS_SHORTEST_GAP;
	usual = ks_interval_usual(&s->times, &s->files, before, s->machine.time);
	return usual < 0 ? -1 : ks_is_gap(step, usual);
}

/*
 * Looks at the sample that was moved to, from one of the machine `before`. -1 with errno: EINVAL it is of another
 * machine, ENODATA an interval was asked for, and this is none.
 */
static int
arrive(struct stream *s, const struct ks_machine *before, const char *path)
{
	char line[CUT_SIZE];
	int64_t step;
	int gap;

	if (take_machine(s, before, path) != 0)
		return -1;
	step = ks_time_between(before->time, s->machine.time);
	gap = ks_is_sleep(step, ks_time_between(before->newest, s->machine.newest)) ? 1 : is_gap(s, before->time, step);
	if (gap < 0)
		return -1;
	s->cut = ks_machine_is_restarted(before, &s->machine) ? KS_CUT_BOOT : gap > 0 ? KS_CUT_GAP : KS_CUT_NONE;
	if (s->cut != KS_CUT_NONE && step > 0) {
		write_cut(s, line, before->time);
		if (s->is_pair)
			return ks_fail(ENODATA, "%s", line);
		add_note(&s->notes, line);
	}
	if (s->cut == KS_CUT_NONE && step <= -KS_NANOSEC) {
		char a[KS_WHEN_SIZE], b[KS_WHEN_SIZE];

		(void)snprintf(line, sizeof(line), "clocks were set back from %s to %s", ks_when_write(a, before->time),
		    ks_when_write(b, s->machine.time));
		add_note(&s->notes, line);
		/* Who does not say when the machine was started: its own clock never falls, so this is no interval. */
		if (before->started == 0 && ks_time_between(before->newest, s->machine.newest) <= -KS_NANOSEC)
			s->cut = KS_CUT_GAP;
	}
	s->step = step > 0 ? step : 0;
	return 0;
}

/* The same for a move that skips samples, or goes back. */
static int
arrive_anywhere(struct stream *s, const struct ks_machine *before)
{
	bool back;

	if (take_machine(s, before, "the sample before") != 0)
		return -1;
	back = s->machine.time < before->time;
	s->cut = ks_machine_is_restarted(back ? &s->machine : before, back ? before : &s->machine) ? KS_CUT_BOOT :
	    KS_CUT_NONE;
	s->step = 0;
	return 1;
}

/* --- files -------------------------------------------------------------------------------- */

#define DAY (86400 * KS_NANOSEC)

/* True if a file ends before what is wanted, by a day in case that its clock was set. The last one may have grown. */
static bool
is_before(const struct stream *s, size_t i, const struct ks_window *w)
{
	return i + 1 < s->files.n && ks_time_between(s->files.file[i].last, w->from) > DAY && !s->files.file[i].is_set;
}

/* Opens the file of a number for what is wanted of it, and is not in an earlier one. NULL with errno. */
static struct ks_source *
open_reader(struct stream *s, size_t i, const struct ks_window *w)
{
	struct ks_window rest = *w;
	int rc = s->files.several ? ks_file_look(&s->files.file[i], &s->damages) : 1;
	int64_t begin = rc > 0 && s->files.several ? ks_machine_begin(&s->files, i) : INT64_MIN;

	if (rc <= 0) {
		errno = rc < 0 ? errno : ENODATA;
		return NULL;
	}
	if (begin > rest.from)
		rest.from = begin;
	return ks_source_replay_open(s->files.file[i].path, &rest);
}

/*
 * Opens the first file from number i on that has a sample of the window. 1, 0 if there is none, -1 with errno; what
 * cannot be read is left out where there are several.
 */
static int
open_file(struct stream *s, size_t i, const struct ks_window *w)
{
	for (; i < s->files.n; i++) {
		const struct ks_file *f = &s->files.file[i];
		bool is_wanted = !is_before(s, i, w) && (f->is_set || f->first <= w->to);
		struct ks_source *src = is_wanted ? open_reader(s, i, w) : NULL;

		if (src != NULL) {
			close_reader(s);
			s->reader = (struct ks_replay *)src;
			s->at = i;
			return 1;
		}
		if (!is_wanted || (s->files.several && (errno == ENODATA || errno == ENOENT)))
			continue; /* the recorder removes old files at any time */
		if (!s->files.several || ks_is_lack(errno))
			return -1;
		add_note(&s->damages, kstat_errmsg());
	}
	return 0;
}

/* Lists the directory again: a recorder may have begun a file. */
static int
look_for_new(struct stream *s)
{
	struct ks_files files;
	size_t n = s->files.n;

	if (ks_files_list(&files, s->paths, &s->damages) != 0 ||
	    (s->host != NULL && ks_machine_choose(&files, s->host) != 0)) {
		ks_files_free(&files);
		return ks_is_lack(errno) ? -1 : 0;
	}
	return ks_files_join(&s->files, &files) != 0 ? -1 : open_file(s, n, &s->window);
}

/* Goes on in the files behind this one, which are read in their order, whatever their times are. */
static int
open_next(struct stream *s)
{
	int rc = s->files.several ? open_file(s, s->at + 1, &s->window) : 0;

	return rc != 0 || !s->files.several ? rc : look_for_new(s);
}

static int
next_sample(struct stream *s)
{
	struct ks_machine before = s->machine;
	char path[128]; /* the list may be another one then */
	int rc = s->reader->base.ops->advance(&s->reader->base);

	(void)snprintf(path, sizeof(path), "%s", s->files.file[s->at].path);
	if (rc < 0 && (!s->files.several || ks_is_lack(errno)))
		return -1;
	if (rc < 0) {
		add_note(&s->damages, kstat_errmsg());
		s->files.file[s->at].last = s->machine.time; /* what is behind that may be in another file */
		for (size_t i = s->at + 1; i < s->files.n; i++)
			s->files.file[i].is_compared = false;
	}
	if (rc <= 0)
		rc = open_next(s);
	if (rc > 0 && arrive(s, &before, path) != 0)
		return -1;
	return rc;
}

/* --- the source ------------------------------------------------------------------------------ */

#define FORWARD(src) (&((struct stream *)(src))->reader->base)

static int
stream_scan(struct ks_source *src, struct ks_scan *scan)
{
	tell_notes(stream_of(src), scan);
	return FORWARD(src)->ops->scan(FORWARD(src), scan);
}

static int
stream_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *record)
{
	return FORWARD(src)->ops->read(FORWARD(src), ksp, cookie, record);
}

static const struct ks_meta *
stream_meta(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, const char *stat)
{
	return FORWARD(src)->ops->meta(FORWARD(src), ksp, cookie, stat);
}

static bool
stream_publisher(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_origin *o)
{
	return FORWARD(src)->ops->publisher(FORWARD(src), ksp, cookie, o);
}

static int
stream_advance(struct ks_source *src)
{
	struct stream *s = stream_of(src);

	/* Where clocks were set back, there are samples of these times again behind the interval. */
	if (s->is_interval && s->machine.time >= s->window.to)
		return 0;
	return next_sample(s);
}

/* True if the file of a number is the one that is open, with that window. */
static bool
is_open(const struct stream *s, size_t i, const struct ks_window *w)
{
	return s->reader != NULL && s->at == i && s->reader->window.to == w->to;
}

/* Goes to a time in a file. 1, 0 if there is no sample that can be read, of which damage is noted, -1 with errno. */
static int
seek_in(struct stream *s, struct ks_source *src, int64_t ns, unsigned *back)
{
	unsigned wanted = *back;

	if (src != NULL && src->ops->seek(src, ns, back) > 0)
		return 1;
	*back = wanted;
	if (ks_is_lack(errno))
		return -1;
	if (errno != ENODATA && errno != ENOENT) /* the recorder removes old files at any time */
		add_note(&s->damages, kstat_errmsg());
	return 0;
}

/*
 * Goes to the latest sample at or before a time, in any file, and *back samples further in this file, and takes it for one
 * that was moved to. Files are tried from number i downwards.
 */
static int
move(struct stream *s, size_t i, int64_t ns, unsigned *back)
{
	struct ks_machine before = s->machine;
	int rc = is_open(s, i, &s->window) ? seek_in(s, FORWARD(s), ns, back) : 0;

	if (rc != 0)
		return rc > 0 ? arrive_anywhere(s, &before) : -1;
	for (;; i--) {
		bool may_have = s->files.file[i].first <= ns || s->files.file[i].is_set;
		struct ks_source *src = may_have ? open_reader(s, i, &s->window) : NULL;

		rc = may_have ? seek_in(s, src, ns, back) : 0;
		if (rc > 0) {
			close_reader(s);
			s->reader = (struct ks_replay *)src;
			s->at = i;
			return arrive_anywhere(s, &before);
		}
		if (src != NULL)
			src->ops->close(src);
		if (rc < 0)
			return -1;
		if (i == 0)
			return ks_fail(ENODATA, "%.200s: no sample at or before that time", s->paths);
	}
}

/* Goes back by at most n samples within the file. Returns how many, or -1 with errno. */
static int
go_back(struct stream *s, unsigned n)
{
	struct ks_machine before = s->machine;

	if (FORWARD(s)->ops->previous(FORWARD(s), &n) < 0)
		return errno == ENODATA ? 0 : -1;
	return arrive_anywhere(s, &before) < 0 ? -1 : (int)n;
}

/* Goes back by *back samples, into earlier files where this one has not as many; as ops->previous(). */
static int
stream_previous(struct ks_source *src, unsigned *back)
{
	struct stream *s = stream_of(src);
	unsigned wanted = *back, n = 0;
	int rc = go_back(s, wanted);

	while (rc >= 0 && (n += (unsigned)rc) < wanted && s->at > 0) {
		unsigned further = wanted - n - 1;

		rc = move(s, s->at - 1, INT64_MAX, &further);
		if (rc < 0 && errno == ENODATA)
			break;
		rc = rc < 0 ? -1 : (int)further + 1;
	}
	*back = n;
	if (rc < 0 && errno != ENODATA)
		return -1;
	return n > 0 ? 1 : ks_fail(ENODATA, "%.200s: no sample before this one", s->reader->path);
}

static int
stream_seek(struct ks_source *src, int64_t ns, unsigned *back)
{
	struct stream *s = stream_of(src);
	struct ks_machine before = s->machine;
	unsigned wanted = *back, rest;

	if (!s->files.several)
		return FORWARD(src)->ops->seek(FORWARD(src), ns, back) < 0 ? -1 : arrive_anywhere(s, &before);
	if (move(s, ks_files_at(&s->files, ns), ns, back) < 0)
		return -1;
	rest = wanted - *back;
	if (rest == 0 || s->at == 0)
		return 1;
	if (stream_previous(src, &rest) < 0 && errno != ENODATA)
		return -1;
	*back += rest;
	return 1;
}

static hrtime_t
stream_now(struct ks_source *src)
{
	return FORWARD(src)->ops->now(FORWARD(src));
}

static int
stream_time_of_day(struct ks_source *src, int64_t *ns)
{
	return FORWARD(src)->ops->time_of_day(FORWARD(src), ns);
}

static int
stream_file(struct ks_source *src)
{
	return FORWARD(src)->ops->file(FORWARD(src));
}

static enum ks_cut
stream_cut(struct ks_source *src)
{
	return stream_of(src)->cut;
}

static bool
stream_is_interval(struct ks_source *src)
{
	return stream_of(src)->is_interval;
}

static bool
stream_is_bounded(struct ks_source *src, int64_t *from, bool *is_capture)
{
	const struct stream *s = stream_of(src);

	*from = s->window.from;
	*is_capture = s->reader->ops->first != NULL;
	return !s->is_interval && ks_window_is_bounded(&s->window);
}

static void
stream_close(struct ks_source *src)
{
	struct stream *s = stream_of(src);

	if (s->reader != NULL)
		s->reader->base.ops->close(&s->reader->base);
	ks_files_free(&s->files);
	free(s->times.time);
	ks_buf_free(&s->notes);
	ks_buf_free(&s->damages);
	free(s->paths);
	free(s->host);
	free(s->from_text);
	free(s->to_text);
	free(s);
}

static const struct ks_source_ops stream_ops = {
	.name = "replay",
	.scan = stream_scan,
	.read = stream_read,
	.meta = stream_meta,
	.publisher = stream_publisher,
	.advance = stream_advance,
	.seek = stream_seek,
	.previous = stream_previous,
	.now = stream_now,
	.time_of_day = stream_time_of_day,
	.file = stream_file,
	.cut = stream_cut,
	.is_interval = stream_is_interval,
	.is_bounded = stream_is_bounded,
	.close = stream_close
};

/* --- opening --------------------------------------------------------------------------------- */

/*
 * Reads a time of what is wanted. It counts from the last sample unless something else is said; a time of day is the first
 * one at or after `after`, as long as there is something of its day. Returns KS_WHEN_*, or -1.
 */
static int
read_time(struct stream *s, const struct ks_past *past, const char *text, int64_t after, int64_t *ns)
{
	int64_t reference = past->now != 0 ? past->now : ks_time_of_day();
	char remark[KS_WHEN_REMARK_SIZE];
	int64_t next, midnight;
	int flags = ks_when_need(text, reference, ns);

	if (flags > 0 && (flags & KS_WHEN_RELATIVE) && past->now == 0) {
		if (ks_interval_end(&s->files, &reference) == 0)
			flags = ks_when_read(text, reference, ns);
		else if (errno != ESPIPE)
			return -1; /* nobody knows when a pipe will end */
	}
	if (flags > 0 && (flags & KS_WHEN_DAILY) && *ns < after) {
		int later = ks_when_read(text, after + 86400 * KS_NANOSEC - 1, &next);

		if (ks_when_read("today", next, &midnight) >= 0 && midnight <= reference) {
			flags = later;
			*ns = next;
		}
	}
	if (flags > 0 && flags & (KS_WHEN_TWICE | KS_WHEN_NEVER))
		add_note(&s->notes, ks_when_remark(remark, text, *ns, flags));
	return flags;
}

static int
read_end(struct stream *s, const struct ks_past *past, const char *text, int64_t after, int64_t *ns)
{
	int flags = read_time(s, past, text, after, ns);

	if (flags >= 0)
		*ns = ks_when_end(text, *ns);
	return flags;
}

static bool
store_first(void *context, int64_t time)
{
	*(int64_t *)context = time;
	return false;
}

/* True if two times of day are of different days, the first of which is over where the samples begin. */
static bool
is_day_before(const struct stream *s, int64_t from, int64_t to)
{
	const struct ks_file *f = &s->files.file[0];
	int64_t midnight, first = f->first;

	if (ks_when_read("today", to, &midnight) < 0 || from >= midnight || (!s->files.several &&
	    ks_file_times(f->path, INT64_MIN, &s->window.start, NULL, store_first, &first) != 0))
		return false;
	return first >= midnight;
}

/* As ks_interval_find(), which looks at few files; where it finds nothing, one may have other times than its name. */
static int
find_interval(struct stream *s, int64_t time, int64_t length, struct ks_interval *found)
{
	int rc = ks_interval_find(&s->files, time, length, found);

	if (rc == 0 || errno != ENODATA)
		return rc;
	return ks_files_look(&s->files, &s->damages) < 0 ? -1 : ks_interval_find(&s->files, time, length, found);
}

/* Finds what is wanted; *first becomes the number of the file that it begins in. */
static int
read_bounds(struct stream *s, const struct ks_past *past, size_t *first)
{
	char remark[KS_WHEN_REMARK_SIZE];
	struct ks_interval found;
	int64_t time;
	int from, to;

	*first = 0;
	s->window = KS_WINDOW_ALL;
	s->window.start = past->start;
	s->window.most = past->most;
	s->window.host = s->host;
	s->times.start = &s->window.start;
	if (past->at != NULL) {
		if (read_end(s, past, past->at, INT64_MIN, &time) < 0 || find_interval(s, time, past->interval, &found) != 0)
			return -1;
		if (found.is_twice)
			add_note(&s->notes, ks_when_remark(remark, past->at, time, KS_WHEN_TWICE));
		*first = found.file;
		s->window.from = found.from;
		s->window.to = found.to;
		s->is_interval = true;
		s->is_pair = past->interval == 0;
		return 0;
	}
	from = past->from != NULL ? read_time(s, past, past->from, INT64_MIN, &s->window.from) : 0;
	to = from >= 0 && past->to != NULL ? read_end(s, past, past->to, s->window.from, &s->window.to) : 0;
	if (from < 0 || to < 0)
		return -1;
	if (s->window.from > s->window.to ||
	    ((from & to & KS_WHEN_DAILY) && is_day_before(s, s->window.from, s->window.to)))
		return ks_fail(EINVAL, "from '%.40s' to '%.40s': the second time is before the first one", past->from, past->to);
	s->from_text = past->from != NULL ? strdup(past->from) : NULL;
	s->to_text = past->to != NULL ? strdup(past->to) : NULL;
	s->window.from_text = s->from_text;
	s->window.to_text = s->to_text;
	return 0;
}

static int
open_first(struct stream *s, const struct ks_past *past)
{
	static const struct ks_machine none = { .host = "" };
	bool has_choice = past->host != NULL && strcmp(past->host, "*") != 0;
	size_t first, left_out;
	int rc;

	s->paths = strdup(past->paths);
	s->host = has_choice ? strdup(past->host) : NULL;
	if (s->paths == NULL || (has_choice && s->host == NULL))
		return ks_fail(ENOMEM, "out of memory for a replay");
	if (ks_files_list(&s->files, past->paths, &s->damages) != 0 ||
	    (s->host != NULL && ks_machine_choose(&s->files, s->host) != 0) || read_bounds(s, past, &first) != 0 ||
	    (s->host == NULL && ks_machine_check(&s->files, &s->window) != 0))
		return -1;
	left_out = s->damages.len;
	rc = open_file(s, first, &s->window);
	if (rc == 0)
		return s->damages.len > left_out ? ks_fail(EBADMSG, "%s", last_note(&s->damages)) :
		    ks_replay_fail_outside(past->paths, &s->window);
	if (rc < 0 || (s->host != NULL && ks_machine_find(s->reader) != 0) ||
	    ks_machine_look(&s->machine, s->reader, &none) != 0)
		return -1;
	/* A file that is alone was not looked at. */
	if (s->host != NULL && s->machine.host[0] != '\0' && strcmp(s->machine.host, s->host) != 0)
		return ks_machine_refuse(&s->machine, 1, s->host);
	return 0;
}

/* Where nothing was found, a file that was left out may be why: says so. */
static void
blame_left_out(const struct stream *s)
{
	char message[256];

	if (errno != ENODATA || s->damages.len == 0)
		return;
	(void)snprintf(message, sizeof(message), "%s", kstat_errmsg());
	(void)ks_fail(ENODATA, "%s; left out: %s", message, last_note(&s->damages));
}

struct ks_source *
ks_source_stream_open(const struct ks_past *past)
{
	struct stream *s = calloc(1, sizeof(*s));
	int error;

	if (s == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a replay");
	s->base.ops = &stream_ops;
	if (open_first(s, past) == 0)
		return &s->base;
	blame_left_out(s);
	error = errno;
	stream_close(&s->base);
	errno = error;
	return NULL;
}
