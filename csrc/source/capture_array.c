/* capture_array.c - see capture_array.h. SPDX-License-Identifier: MIT */
#include "source/capture_array.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/error.h"
#include "source/capture_kstat.h"
#include "source/capture_time.h"

#define TOKEN_MAX ((size_t)1024 * 1024) /* bytes of one string or number */
#define DEPTH_MAX 256                   /* of nested values that are passed over */

/* Where in the array the parser is. */
enum place { OUTSIDE, IN_ARRAY, IN_KSTAT, IN_DATA, IN_LIST, PASSING };

struct parse {
	struct ks_capture_input *in;
	struct ks_capture_notes *notes;
	struct ks_capture_builder kstat;
	enum place place;
	enum place resume; /* PASSING: where it goes on after the value passed over */
	unsigned depth;    /* PASSING: nesting inside it */
	bool done;         /* the array is complete */
	bool heard;        /* a token was complete since this was reset */
};

/* --- what yajl tells --------------------------------------------------------------- */

static void
no_kstat(struct parse *x)
{
	ks_capture_problem(x->notes, "an element of the array is not a kstat");
}

static int
on_null(void *ctx)
{
	struct parse *x = ctx;

	x->heard = true;
	switch (x->place) {
	case IN_ARRAY:
		no_kstat(x);
		return 1;
	case IN_KSTAT:
		ks_capture_header_other(&x->kstat);
		return 1;
	case IN_DATA:
		return ks_capture_data_null(&x->kstat);
	case IN_LIST:
		ks_capture_list_other(&x->kstat);
		return 1;
	default:
		return 1;
	}
}

static int
on_boolean(void *ctx, int value)
{
	struct parse *x = ctx;

	x->heard = true;
	return x->place == IN_DATA ? ks_capture_data_boolean(&x->kstat, value != 0) : on_null(ctx);
}

static int
on_number(void *ctx, const char *s, size_t n)
{
	struct parse *x = ctx;

	x->heard = true;
	switch (x->place) {
	case IN_ARRAY:
		no_kstat(x);
		return 1;
	case IN_KSTAT:
		ks_capture_header_number(&x->kstat, s, n);
		return 1;
	case IN_DATA:
		return ks_capture_data_number(&x->kstat, s, n);
	case IN_LIST:
		return ks_capture_list_number(&x->kstat, s, n);
	default:
		return 1;
	}
}

static int
on_string(void *ctx, const unsigned char *s, size_t n)
{
	struct parse *x = ctx;

	x->heard = true;
	switch (x->place) {
	case IN_ARRAY:
		no_kstat(x);
		return 1;
	case IN_KSTAT:
		return ks_capture_header_string(&x->kstat, s, n);
	case IN_DATA:
		return ks_capture_data_string(&x->kstat, s, n);
	case IN_LIST:
		return ks_capture_list_string(&x->kstat, s, n);
	default:
		return 1;
	}
}

static int
on_key(void *ctx, const unsigned char *key, size_t n)
{
	struct parse *x = ctx;

	x->heard = true;
	if (x->place == IN_KSTAT)
		ks_capture_header_key(&x->kstat, key, n);
	else if (x->place == IN_DATA)
		return ks_capture_data_key(&x->kstat, key, n);
	return 1;
}

/* A nested value that means nothing here begins. */
static int
pass_over(struct parse *x)
{
	if (x->place != PASSING) {
		x->resume = x->place;
		x->place = PASSING;
		x->depth = 0;
	}
	if (++x->depth > DEPTH_MAX)
		return ks_capture_damage(x->notes, ks_capture_position(x->notes),
		    "values are nested deeper than %d", DEPTH_MAX);
	return 1;
}

static int
on_start_map(void *ctx)
{
	struct parse *x = ctx;

	x->heard = true;
	switch (x->place) {
	case IN_ARRAY:
		ks_capture_kstat_begin(&x->kstat);
		x->place = IN_KSTAT;
		return 1;
	case IN_KSTAT:
		if (x->kstat.member == KS_MEMBER_DATA) {
			x->place = IN_DATA;
			return 1;
		}
		ks_capture_header_other(&x->kstat);
		break;
	case IN_DATA:
		ks_capture_data_object(&x->kstat);
		break;
	case IN_LIST:
		ks_capture_list_other(&x->kstat);
		break;
	default:
		break;
	}
	return pass_over(x);
}

static int
on_end_map(void *ctx)
{
	struct parse *x = ctx;

	x->heard = true;
	switch (x->place) {
	case PASSING:
		if (--x->depth == 0)
			x->place = x->resume;
		return 1;
	case IN_KSTAT:
		x->place = IN_ARRAY;
		return ks_capture_kstat_end(&x->kstat);
	default:
		x->place = IN_KSTAT;
		x->kstat.member = KS_MEMBER_OTHER;
		return 1;
	}
}

/* True if the byte at hand is the first of its line, and so the start of another sample. */
static bool
starts_line(const struct parse *x)
{
	size_t behind = x->in->pos + yajl_get_bytes_consumed(x->notes->yajl);

	return behind > 0 && ks_capture_input_starts_line(x->in, behind - 1);
}

static int
cut_off(struct parse *x)
{
	return ks_capture_damage(x->notes, ks_capture_position(x->notes) - 1,
	    "the array is cut off where the next one starts");
}

static int
on_start_array(void *ctx)
{
	struct parse *x = ctx;

	x->heard = true;
	if (x->place != OUTSIDE && starts_line(x))
		return cut_off(x);
	switch (x->place) {
	case OUTSIDE:
		x->place = IN_ARRAY;
		return 1;
	case IN_ARRAY:
		no_kstat(x);
		break;
	case IN_KSTAT:
		ks_capture_header_other(&x->kstat);
		break;
	case IN_DATA:
		if (ks_capture_list_begin(&x->kstat)) {
			x->place = IN_LIST;
			return 1;
		}
		break;
	case IN_LIST:
		ks_capture_list_other(&x->kstat);
		break;
	default:
		break;
	}
	return pass_over(x);
}

static int
on_end_array(void *ctx)
{
	struct parse *x = ctx;

	x->heard = true;
	switch (x->place) {
	case PASSING:
		return on_end_map(ctx);
	case IN_LIST:
		x->place = IN_DATA;
		return ks_capture_list_end(&x->kstat);
	default:
		x->done = true;
		return 1;
	}
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_start_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_end_map,
	.yajl_start_array = on_start_array,
	.yajl_end_array = on_end_array
};

/* --- damage ------------------------------------------------------------------------- */

static void
json_damage(struct parse *x)
{
	char text[120];
	unsigned char *why;

	/* The byte that yajl did not expect is the last one that it took. */
	if (starts_line(x) &&
	    x->in->text[x->in->pos + yajl_get_bytes_consumed(x->notes->yajl) - 1] == '[') {
		(void)cut_off(x);
		return;
	}
	why = yajl_get_error(x->notes->yajl, 0, NULL, 0);
	(void)snprintf(text, sizeof(text), "%s", why != NULL ? (const char *)why : "");
	text[strcspn(text, "\n")] = '\0';
	if (why != NULL)
		yajl_free_error(x->notes->yajl, why);
	(void)ks_capture_damage(x->notes, ks_capture_position(x->notes), "damaged JSON: %s",
	    text[0] != '\0' ? text : "no reason known");
}

/* The start of the line that has the byte `at`, if that is not before what is being parsed. */
static bool
line_start(const struct ks_capture_input *in, size_t at, size_t *start)
{
	while (at > in->pos && !ks_capture_input_starts_line(in, at))
		at--;
	*start = at;
	return ks_capture_input_starts_line(in, at);
}

/*
 * Moves to where later arrays are to be looked for: the line in which parsing stopped, or the time
 * stamp before it. What is being parsed starts behind the "[" of the array, so there is progress.
 */
static void
step_back(struct parse *x)
{
	struct ks_capture_input *in = x->in;
	size_t used = yajl_get_bytes_consumed(x->notes->yajl);
	size_t at = in->pos + (used > 0 ? used - 1 : 0);
	size_t start, before;
	int64_t ns;

	if (line_start(in, at, &start)) {
		at = start;
		if (start > in->pos && line_start(in, start - 1, &before) &&
		    ks_capture_time(in->text + before, start - 1 - before, &ns) == 0)
			at = before;
	}
	in->pos = at;
}

int
ks_capture_peek(struct ks_capture_input *in, struct ks_capture_notes *n, char *c)
{
	int rc = 1;

	if (in->pos == in->len)
		rc = ks_capture_input_fill(in);
	if (rc > 0)
		*c = in->text[in->pos];
	else if (rc < 0)
		(void)ks_capture_end(n, errno, ks_capture_input_position(in, in->len), "%s",
		    kstat_errmsg());
	return rc;
}

/* --- the array ------------------------------------------------------------------------ */

/* Parses up to the end of the array, or to damage. */
static void
parse(struct parse *x)
{
	struct ks_capture_input *in = x->in;
	size_t silent = 0; /* bytes since a token was complete */

	if (yajl_parse(x->notes->yajl, (const unsigned char *)"[", 1) != yajl_status_ok) {
		(void)ks_capture_out_of_memory(x->notes);
		return;
	}
	while (!x->done) {
		const unsigned char *text;
		yajl_status status;
		size_t n;
		char c;
		int rc = ks_capture_peek(in, x->notes, &c);

		if (rc == 0)
			(void)ks_capture_end(x->notes, EBADMSG, ks_capture_input_position(in, in->len),
			    "cut off in the middle of the array");
		if (rc <= 0)
			return;
		x->heard = false;
		text = (const unsigned char *)in->text + in->pos;
		n = in->len - in->pos;
		status = yajl_parse(x->notes->yajl, text, n);
		if (status != yajl_status_ok) {
			if (status == yajl_status_error)
				json_damage(x);
			step_back(x);
			return;
		}
		in->pos = x->done ? in->pos + yajl_get_bytes_consumed(x->notes->yajl) : in->len;
		silent = x->heard ? 0 : silent + n;
		if (silent > TOKEN_MAX) {
			(void)ks_capture_damage(x->notes, ks_capture_input_position(in, in->len),
			    "a string, number or gap longer than %zu bytes", TOKEN_MAX);
			return;
		}
	}
}

bool
ks_capture_array_parse(struct ks_capture_input *in, struct ks_capture_sample *s,
    struct ks_capture_notes *n)
{
	struct parse x = {
		.in = in, .notes = n, .place = OUTSIDE, .kstat = { .sample = s, .notes = n }
	};

	n->yajl = yajl_alloc(&callbacks, NULL, &x);
	if (n->yajl == NULL)
		return ks_capture_out_of_memory(n);
	/* Kernel strings hold any bytes, and what follows the array is the next one. */
	(void)yajl_config(n->yajl, yajl_dont_validate_strings, 1);
	(void)yajl_config(n->yajl, yajl_allow_trailing_garbage, 1);
	parse(&x);
	yajl_free(n->yajl);
	n->yajl = NULL;
	return x.done;
}
