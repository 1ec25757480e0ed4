/* stream.c - see stream.h. SPDX-License-Identifier: MIT */
#include "source/replay/capture/stream.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "source/replay/capture/parse_array.h"
#include "source/replay/capture/times.h"

#define STAMP_MAX 64 /* bytes of a time-stamp line */

/* What stands before an array. */
struct lead {
	bool has_time;
	int64_t time; /* ns since 1970 */
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static int
peek(struct ks_capture_parser *p, char *c)
{
	return ks_capture_peek(&p->in, &p->notes, c);
}

static uint64_t
position(const struct ks_capture_parser *p)
{
	return ks_capture_input_position(&p->in, p->in.pos);
}

static int
skip_blanks(struct ks_capture_parser *p, char *c)
{
	int rc;

	while ((rc = peek(p, c)) > 0 && is_blank(*c))
		p->in.pos++;
	return rc;
}

/* Moves behind the next newline, or to the end. As peek(). */
static int
skip_line(struct ks_capture_parser *p)
{
	char c;
	int rc;

	while ((rc = peek(p, &c)) > 0) {
		const char *at = p->in.text + p->in.pos;
		const char *newline = memchr(at, '\n', p->in.len - p->in.pos);

		p->in.pos = newline != NULL ? (size_t)(newline - p->in.text) + 1 : p->in.len;
		if (newline != NULL)
			break;
	}
	return rc;
}

/*
 * Takes what could be a line with a time stamp: up to its end, a "[", or more bytes than a stamp
 * has. 1 if it is one, 0 if not, -1 after a failure.
 */
static int
read_stamp(struct ks_capture_parser *p, struct lead *lead)
{
	char line[STAMP_MAX], c = '\0';
	size_t n = 0;
	int rc;

	while ((rc = peek(p, &c)) > 0 && c != '\n' && c != '[' && n < sizeof(line)) {
		line[n++] = c;
		p->in.pos++;
	}
	if (rc < 0)
		return -1;
	if (ks_capture_time(line, n, &lead->time) != 0)
		return 0;
	lead->has_time = true;
	return 1;
}

/* The mark that some editors put before UTF-8 says nothing. */
static int
skip_byte_order_mark(struct ks_capture_parser *p, char *c)
{
	static const char mark[] = "\xef\xbb\xbf";
	int rc = 1;

	for (size_t i = 0; rc > 0 && i < sizeof(mark) - 1 && *c == mark[i]; i++) {
		p->in.pos++;
		rc = peek(p, c);
	}
	return rc;
}

/* Behind damage: moves to the next line that starts with "[". 1, 0 at the end, -1. */
static int
find_line(struct ks_capture_parser *p, struct lead *lead)
{
	char c = '\0';
	int rc;

	while ((rc = peek(p, &c)) > 0) {
		if (ks_capture_input_starts_line(&p->in, p->in.pos)) {
			if (c == '[')
				return 1;
			if (read_stamp(p, lead) < 0)
				return -1;
		}
		rc = skip_line(p);
		if (rc <= 0)
			return rc;
	}
	return rc;
}

/* Moves to the "[" of the next array. 1, 0 at the end, -1. */
static int
find_start(struct ks_capture_parser *p, struct lead *lead)
{
	char c = '\0';
	int rc = peek(p, &c);

	if (rc > 0 && p->in.base == 0 && p->in.pos == 0)
		rc = skip_byte_order_mark(p, &c);
	while (rc > 0 && !p->lost && (rc = skip_blanks(p, &c)) > 0 && c != '[') {
		uint64_t at = position(p);

		rc = read_stamp(p, lead);
		if (rc == 0) {
			(void)ks_capture_damage(&p->notes, at, "not a capture: neither an array of "
			    "kstats in JSON nor the time of day");
			p->lost = true;
			rc = 1;
		}
	}
	if (rc > 0 && p->lost)
		rc = find_line(p, lead);
	return rc;
}

/* Moves to what follows the "[" of the next array. 1, 0 at the end, -1. */
static int
find_array(struct ks_capture_parser *p, struct lead *lead)
{
	int rc = find_start(p, lead);
	char c = '\0';

	if (rc == 0 && lead->has_time)
		(void)ks_capture_end(&p->notes, EBADMSG, position(p), "cut off after the time of day");
	if (rc <= 0)
		return rc;
	p->lost = false;
	p->in.pos++;
	/* illumos puts a comma before the first kstat of its second and later reports. */
	rc = skip_blanks(p, &c);
	if (rc > 0 && c == ',')
		p->in.pos++;
	return rc < 0 ? -1 : 1;
}

/* There is no further sample, and why. */
static int
end(struct ks_capture_notes *n)
{
	if (n->end_errno == 0 && n->damages > 0) {
		n->end_errno = EBADMSG;
		memcpy(n->end, n->damage, sizeof(n->end));
	}
	return n->end_errno != 0 ? ks_fail(n->end_errno, "%s", n->end) : 0;
}

int
ks_capture_parser_next(struct ks_capture_parser *p)
{
	struct ks_capture_notes *n = &p->notes;

	while (n->end_errno == 0 && !p->past) {
		struct lead lead = { false, 0 };
		size_t damages;
		bool whole;

		if (find_array(p, &lead) <= 0)
			break;
		p->past = lead.has_time && lead.time > p->until;
		if (p->past)
			break;
		n->number++;
		n->problems = 0;
		ks_capture_sample_start(&p->sample);
		damages = n->damages;
		whole = ks_capture_array_parse(&p->in, &p->sample, n);
		p->lost = !whole;
		if (ks_capture_sample_finish(&p->sample, !whole || n->damages > damages)) {
			p->number = n->number;
			p->has_time = lead.has_time;
			p->time = lead.time;
			return 1;
		}
	}
	return p->past ? 0 : end(n);
}

int
ks_capture_parser_open(struct ks_capture_parser *p, const char *path)
{
	*p = (struct ks_capture_parser){
		.sample = KS_CAPTURE_SAMPLE_INIT, .until = INT64_MAX
	};
	p->notes.path = path;
	p->notes.in = &p->in;
	return ks_capture_input_open(&p->in, path);
}

void
ks_capture_parser_free(struct ks_capture_parser *p)
{
	ks_capture_input_free(&p->in);
	ks_capture_sample_free(&p->sample);
}
