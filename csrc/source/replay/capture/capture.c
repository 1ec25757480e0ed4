/*
 * capture.c - the reader of captures: what `kstat -j` printed, illumos's or ours. One array is one
 * sample. Arrays follow each other with anything blank between, and before an array the line that -T
 * prints may stand. What is neither is passed over, up to the next line that starts with an array.
 *
 * A capture does not say how wide integers are, nor which kind of text a text is. Whole numbers of NAMED
 * kstats become UINT64, or INT64 if negative, others DOUBLE; texts become STRING; null a null string;
 * true and false 1 and 0. Bytes from 0x80 up, which illumos prints as one \u00xx each, are the characters
 * of that number.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "source/replay/capture/capture.h"
#include "source/replay/reader.h"

#define STAMP_MAX 64 /* bytes of a line with a time of day */

struct capture {
	struct ks_replay base;
	struct ks_capture_input in;
	struct ks_capture_builder builder;
	struct ks_capture_notes notes; /* about the sample, and what was passed over before it */
	bool lost;    /* behind damage: the next array starts a line */
	bool outside; /* the last time of day was not in the window */
	bool over;    /* no later sample is wanted */
};

/* What stands before an array. */
struct lead {
	bool has_time;
	int64_t time; /* ns since 1970 */
};

static struct capture *
capture_of(struct ks_replay *r)
{
	return (struct capture *)r;
}

/* --- between arrays ------------------------------------------------------------------ */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static int
peek(struct capture *cap, char *c)
{
	return ks_capture_peek(&cap->in, &cap->notes, c);
}

static uint64_t
position(const struct capture *cap)
{
	return ks_capture_input_position(&cap->in, cap->in.pos);
}

static int
skip_blanks(struct capture *cap, char *c)
{
	int rc;

	while ((rc = peek(cap, c)) > 0 && is_blank(*c))
		cap->in.pos++;
	return rc;
}

/* Moves behind the next newline, or to the end. Returns what peek() does. */
static int
skip_line(struct capture *cap)
{
	char c;
	int rc;

	while ((rc = peek(cap, &c)) > 0) {
		const char *at = cap->in.text + cap->in.pos;
		const char *newline = memchr(at, '\n', cap->in.len - cap->in.pos);

		cap->in.pos = newline != NULL ? (size_t)(newline - cap->in.text) + 1 : cap->in.len;
		if (newline != NULL)
			break;
	}
	return rc;
}

/*
 * Reads what could be a time of day: up to the end of the line, a "[", or more bytes than a time has. 1 if
 * it is one, 0 if not, -1 after a failure.
 */
static int
read_stamp(struct capture *cap, struct lead *lead)
{
	char line[STAMP_MAX], c = '\0';
	size_t n = 0;
	int rc;

	while ((rc = peek(cap, &c)) > 0 && c != '\n' && c != '[' && n < sizeof(line)) {
		line[n++] = c;
		cap->in.pos++;
	}
	if (rc < 0)
		return -1;
	if (ks_capture_time(line, n, &lead->time) != 0)
		return 0;
	lead->has_time = true;
	return 1;
}

/* Moves behind the mark that some editors put before UTF-8. */
static int
skip_byte_order_mark(struct capture *cap, char *c)
{
	static const char mark[] = "\xef\xbb\xbf";
	int rc = 1;

	for (size_t i = 0; rc > 0 && i < sizeof(mark) - 1 && *c == mark[i]; i++) {
		cap->in.pos++;
		rc = peek(cap, c);
	}
	return rc;
}

/* Behind damage: moves to the next line that starts with "[". 1, 0 at the end, -1. */
static int
find_line(struct capture *cap, struct lead *lead)
{
	char c = '\0';
	int rc;

	while ((rc = peek(cap, &c)) > 0) {
		if (ks_capture_input_starts_line(&cap->in, cap->in.pos)) {
			if (c == '[')
				return 1;
			if (read_stamp(cap, lead) < 0)
				return -1;
		}
		rc = skip_line(cap);
		if (rc <= 0)
			return rc;
	}
	return rc;
}

/* Moves to the "[" of the next array. 1, 0 at the end, -1. */
static int
find_start(struct capture *cap, struct lead *lead)
{
	char c = '\0';
	int rc = peek(cap, &c);

	if (rc > 0 && cap->in.base == 0 && cap->in.pos == 0)
		rc = skip_byte_order_mark(cap, &c);
	while (rc > 0 && !cap->lost && (rc = skip_blanks(cap, &c)) > 0 && c != '[') {
		uint64_t at = position(cap);

		rc = read_stamp(cap, lead);
		if (rc == 0) {
			(void)ks_capture_damage(&cap->notes, at, "not a capture: neither an array of "
			    "kstats in JSON nor the time of day");
			cap->lost = true;
			rc = 1;
		}
	}
	if (rc > 0 && cap->lost)
		rc = find_line(cap, lead);
	return rc;
}

/* Moves to what follows the "[" of the next array. 1, 0 at the end, -1. */
static int
find_array(struct capture *cap, struct lead *lead)
{
	int rc = find_start(cap, lead);
	char c = '\0';

	if (rc == 0 && lead->has_time)
		(void)ks_capture_end(&cap->notes, EBADMSG, position(cap), "cut off after the time of day");
	if (rc <= 0)
		return rc;
	cap->lost = false;
	cap->in.pos++;
	/* illumos puts a comma before the first kstat of its second and later reports. */
	rc = skip_blanks(cap, &c);
	if (rc > 0 && c == ',')
		cap->in.pos++;
	return rc < 0 ? -1 : 1;
}

/* --- samples -------------------------------------------------------------------------- */

/* Returns 0, or -1 if the end of the capture is damage, or the reason why reading ended. */
static int
end(struct ks_capture_notes *n)
{
	if (n->end_errno == 0 && n->damages > 0) {
		n->end_errno = EBADMSG;
		memcpy(n->end, n->damage, sizeof(n->end));
	}
	return n->end_errno != 0 ? ks_fail(n->end_errno, "%s", n->end) : 0;
}

/*
 * Finds out whether the array behind this lead is in the window; an array without a time belongs to the
 * one before. A file is read to its end, because clocks can be set back; a pipe ends with the first
 * sample that is too late. -1 with errno EINVAL if there is a window, but no time before the first array.
 */
static int
enter(struct capture *cap, const struct lead *lead)
{
	const struct ks_replay *r = &cap->base;
	struct stat st;

	if (lead->has_time)
		cap->outside = !ks_window_has(&r->window, lead->time);
	else if (cap->notes.number == 0 && ks_window_is_bounded(&r->window))
		return ks_fail(EINVAL, "%.200s: its samples have no time of day to choose by "
		    "(kstat -T u -j writes it)", r->path);
	cap->over = lead->has_time && lead->time > r->window.to &&
	    (fstat(cap->in.fd, &st) != 0 || !S_ISREG(st.st_mode));
	cap->builder.passing = cap->outside;
	return 0;
}

/*
 * Of a damaged array the sample is what was complete before the damage; an array without a complete kstat
 * is passed over. Fails if the capture cannot be read any further, or ends in damage.
 */
static int
capture_next(struct ks_replay *r)
{
	struct capture *cap = capture_of(r);
	struct ks_capture_notes *n = &cap->notes;

	while (n->end_errno == 0 && !cap->over) {
		struct lead lead = { false, 0 };
		size_t damages;
		bool whole;

		if (find_array(cap, &lead) <= 0)
			break;
		if (enter(cap, &lead) != 0)
			return -1;
		if (cap->over)
			break;
		n->number++;
		n->problems = 0;
		ks_capture_sample_start(&cap->builder);
		damages = n->damages;
		whole = ks_capture_array_parse(&cap->in, &cap->builder);
		cap->lost = !whole;
		whole = whole && n->damages == damages;
		if (ks_capture_sample_finish(&cap->builder, !whole) && !cap->outside) {
			r->has_time = lead.has_time;
			if (lead.has_time)
				r->time = lead.time;
			return 1;
		}
	}
	return cap->over ? 0 : end(n);
}

/* Moves to the first sample that has anything; 0: there is none in the window. */
static int
first_sample(struct capture *cap)
{
	struct ks_capture_notes *n = &cap->notes;
	char problem[KS_CAPTURE_MESSAGE];
	size_t skipped;
	int rc = capture_next(&cap->base);

	if (rc == 0 && (n->number > 0 || cap->over))
		return 0;
	if (rc == 0)
		return ks_fail(EBADMSG, "%s: empty: a capture is what kstat -j prints", cap->base.path);
	if (rc < 0 || cap->base.sample.nkstats > 0 || n->problems == 0)
		return rc;
	/* The array has elements, but no kstat: later samples may have some. */
	memcpy(problem, n->problem, sizeof(problem));
	skipped = n->problems;
	while (cap->base.sample.nkstats == 0) {
		rc = capture_next(&cap->base);
		if (rc <= 0)
			return ks_fail(EBADMSG, "%s", problem);
		skipped += n->problems;
	}
	memcpy(n->problem, problem, sizeof(n->problem));
	n->problems = skipped;
	return rc;
}

static int
capture_open(struct ks_replay *r, const char *path)
{
	struct capture *cap = capture_of(r);

	if (ks_capture_input_open(&cap->in, path) != 0)
		return -1;
	cap->notes.path = r->path;
	cap->builder.first.most = r->window.most;
	return first_sample(cap);
}

static int
first_again(struct ks_replay *r)
{
	struct capture *cap = capture_of(r);

	if (ks_capture_input_rewind(&cap->in) != 0)
		return ks_fail(errno, "%.200s: cannot be read again, as a file could: %s", r->path, strerror(errno));
	cap->notes = (struct ks_capture_notes){ .path = r->path, .in = &cap->in };
	cap->lost = cap->outside = cap->over = false;
	return first_sample(cap);
}

static void
warn_of(struct ks_scan *scan, const char *line, size_t n)
{
	if (n > 1)
		ks_scan_damage(scan, "%s (and %zu more)", line, n - 1);
	else if (n == 1)
		ks_scan_damage(scan, "%s", line);
}

static void
capture_warn(struct ks_replay *r, struct ks_scan *scan)
{
	struct ks_capture_notes *n = &capture_of(r)->notes;

	warn_of(scan, n->problem, n->problems);
	warn_of(scan, n->damage, n->damages);
	n->damages = 0;
	if (n->end_errno != 0)
		ks_scan_damage(scan, "%s", n->end);
}

static int
capture_file(struct ks_replay *r)
{
	return capture_of(r)->in.fd;
}

static void
capture_close(struct ks_replay *r)
{
	struct capture *cap = capture_of(r);

	ks_capture_input_free(&cap->in);
	ks_store_free(&cap->builder.first);
	free(cap);
}

static const struct ks_replay_ops capture_ops = {
	.open = capture_open,
	.next = capture_next,
	.first = first_again,
	.warn = capture_warn,
	.file = capture_file,
	.close = capture_close
};

struct ks_replay *
ks_replay_capture(void)
{
	struct capture *cap = calloc(1, sizeof(*cap));

	if (cap == NULL)
		return NULL;
	cap->base.ops = &capture_ops;
	cap->in.fd = -1;
	cap->notes.in = &cap->in;
	cap->builder.notes = &cap->notes;
	cap->builder.sample = &cap->base.sample;
	return &cap->base;
}
