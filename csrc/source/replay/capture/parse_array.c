/* parse_array.c - parses one array of kstats, as JSON, into a sample; see capture.h. SPDX-License-Identifier: MIT */
#include "source/replay/capture/capture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/error.h"

#define TOKEN_MAX ((size_t)1024 * 1024) /* bytes of one string or number */
#define DEPTH_MAX 256                   /* of nested values that are passed over */
#define REASON_MAX 120                  /* bytes of what yajl says */

/* --- memory ------------------------------------------------------------------------------ */

/*
 * yajl does not check what its allocator returns; so without memory this one leaves yajl with longjmp(), and all that
 * yajl had is released at once.
 */
struct memory {
	jmp_buf failed;             /* where to go without memory */
	struct block *blocks;       /* all that yajl has; owned */
	yajl_alloc_funcs functions; /* for yajl_alloc() */
};

/* What precedes the bytes that yajl gets. */
struct block {
	struct block *next, **link; /* link points to what points to this block */
	alignas(max_align_t) char bytes[];
};

static struct block *
block_of(void *bytes)
{
	return (struct block *)((char *)bytes - offsetof(struct block, bytes));
}

static void *
resize(void *context, void *bytes, size_t size)
{
	struct memory *m = context;
	struct block *b = size > SIZE_MAX - sizeof(*b) ? NULL :
	    realloc(bytes != NULL ? block_of(bytes) : NULL, sizeof(*b) + size);

	if (b == NULL)
		longjmp(m->failed, 1);
	if (bytes == NULL) {
		b->next = m->blocks;
		b->link = &m->blocks;
	}
	*b->link = b;
	if (b->next != NULL)
		b->next->link = &b->next;
	return b->bytes;
}

static void *
allocate(void *context, size_t size)
{
	return resize(context, NULL, size);
}

static void
release(void *context, void *bytes)
{
	struct block *b = bytes != NULL ? block_of(bytes) : NULL;

	(void)context;
	if (b == NULL)
		return;
	*b->link = b->next;
	if (b->next != NULL)
		b->next->link = b->link;
	free(b);
}

/* Where in the array the parser is. */
enum place { OUTSIDE, IN_ARRAY, IN_KSTAT, IN_PUBLISHER, IN_DATA, IN_LIST, PASSING };

struct parse {
	struct ks_capture_input *in;
	struct ks_capture_notes *notes;
	struct ks_capture_builder *kstat;
	struct memory memory;
	enum place place;
	enum place resume; /* PASSING: where it goes on after the value passed over */
	unsigned depth;    /* PASSING: nesting inside it */
	bool done;         /* the array is complete */
	bool progress;     /* a token was complete since this was reset */
};

/* --- callbacks of yajl --------------------------------------------------------------- */

/* The parser, which has got a whole token. */
static struct parse *
token(void *ctx)
{
	struct parse *x = ctx;

	x->progress = true;
	return x;
}

/* A value of a type that has no meaning in this place. */
static void
no_meaning(struct parse *x)
{
	if (x->place == IN_ARRAY)
		ks_capture_problem(x->notes, "an element of the array is not a kstat");
	else if (x->place == IN_KSTAT)
		ks_capture_header_other(x->kstat);
	else if (x->place == IN_LIST)
		ks_capture_list_other(x->kstat);
}

static int
on_null(void *ctx)
{
	struct parse *x = token(ctx);

	if (x->place == IN_DATA)
		return ks_capture_data_null(x->kstat);
	no_meaning(x);
	return 1;
}

static int
on_boolean(void *ctx, int value)
{
	struct parse *x = token(ctx);

	return x->place == IN_DATA ? ks_capture_data_boolean(x->kstat, value != 0) : on_null(ctx);
}

static int
on_number(void *ctx, const char *s, size_t n)
{
	struct parse *x = token(ctx);

	switch (x->place) {
	case IN_KSTAT:
	case IN_PUBLISHER:
		ks_capture_header_number(x->kstat, s, n);
		return 1;
	case IN_DATA:
		return ks_capture_data_number(x->kstat, s, n);
	case IN_LIST:
		return ks_capture_list_number(x->kstat, s, n);
	default:
		return on_null(ctx);
	}
}

static int
on_string(void *ctx, const unsigned char *s, size_t n)
{
	struct parse *x = token(ctx);

	switch (x->place) {
	case IN_KSTAT:
	case IN_PUBLISHER:
		return ks_capture_header_string(x->kstat, s, n);
	case IN_DATA:
		return ks_capture_data_string(x->kstat, s, n);
	case IN_LIST:
		return ks_capture_list_string(x->kstat, s, n);
	default:
		return on_null(ctx);
	}
}

static int
on_key(void *ctx, const unsigned char *key, size_t n)
{
	struct parse *x = token(ctx);

	if (x->place == IN_KSTAT)
		ks_capture_header_key(x->kstat, key, n);
	else if (x->place == IN_PUBLISHER)
		ks_capture_publisher_key(x->kstat, key, n);
	else if (x->place == IN_DATA)
		return ks_capture_data_key(x->kstat, key, n);
	return 1;
}

/* A nested value begins that has no meaning here. */
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

/* What is begun is a place of its own. */
static int
enter(struct parse *x, enum place place)
{
	x->place = place;
	return 1;
}

static int
on_start_map(void *ctx)
{
	struct parse *x = token(ctx);

	if (x->place == IN_ARRAY) {
		ks_capture_kstat_begin(x->kstat);
		return enter(x, IN_KSTAT);
	}
	if (x->place == IN_KSTAT && x->kstat->member == KS_MEMBER_DATA)
		return enter(x, IN_DATA);
	if (x->place == IN_KSTAT && x->kstat->member == KS_MEMBER_PUBLISHER)
		return enter(x, IN_PUBLISHER);
	if (x->place == IN_DATA)
		ks_capture_data_object(x->kstat);
	else
		no_meaning(x);
	return pass_over(x);
}

static int
on_end_map(void *ctx)
{
	struct parse *x = token(ctx);

	switch (x->place) {
	case PASSING:
		if (--x->depth == 0)
			x->place = x->resume;
		return 1;
	case IN_KSTAT:
		x->place = IN_ARRAY;
		return ks_capture_kstat_end(x->kstat);
	default:
		x->place = IN_KSTAT;
		x->kstat->member = KS_MEMBER_OTHER;
		return 1;
	}
}

/* Returns true if the current byte is the first of its line, and so the start of another sample. */
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
	struct parse *x = token(ctx);

	if (x->place != OUTSIDE && starts_line(x))
		return cut_off(x);
	if (x->place == OUTSIDE)
		return enter(x, IN_ARRAY);
	if (x->place == IN_DATA && ks_capture_list_begin(x->kstat))
		return enter(x, IN_LIST);
	no_meaning(x);
	return pass_over(x);
}

static int
on_end_array(void *ctx)
{
	struct parse *x = token(ctx);

	switch (x->place) {
	case PASSING:
		return on_end_map(ctx);
	case IN_LIST:
		x->place = IN_DATA;
		return ks_capture_list_end(x->kstat);
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

/* Starts a parser, at the beginning of an array. False if a callback ends it. */
static bool
start_array(struct parse *x)
{
	yajl_handle h = yajl_alloc(&callbacks, &x->memory.functions, x);

	/* Kernel strings hold any bytes, and what follows the array is the next one. */
	(void)yajl_config(h, yajl_dont_validate_strings, 1);
	(void)yajl_config(h, yajl_allow_trailing_garbage, 1);
	x->notes->yajl = h;
	x->place = OUTSIDE;
	return yajl_parse(h, (const unsigned char *)"[", 1) == yajl_status_ok;
}

/* --- damage ------------------------------------------------------------------------- */

/* Stores what yajl found wrong, as one line without a full stop. */
static void
reason(const struct parse *x, char to[REASON_MAX])
{
	unsigned char *why = yajl_get_error(x->notes->yajl, 0, NULL, 0);
	size_t n;

	(void)snprintf(to, REASON_MAX, "damaged JSON: %s",
	    why != NULL ? (const char *)why : "no reason known");
	n = strcspn(to, "\n");
	to[n - (to[n - 1] == '.')] = '\0';
	if (why != NULL)
		yajl_free_error(x->notes->yajl, why);
}

static void
json_damage(struct parse *x)
{
	char why[REASON_MAX];

	/* The byte that yajl did not expect is the last one that it consumed. */
	if (starts_line(x) &&
	    x->in->text[x->in->pos + yajl_get_bytes_consumed(x->notes->yajl) - 1] == '[') {
		(void)cut_off(x);
		return;
	}
	reason(x, why);
	(void)ks_capture_damage(x->notes, ks_capture_position(x->notes), "%s", why);
}

/* Stores where the line with the byte `at` starts. False if that is before what is being parsed. */
static bool
line_start(const struct ks_capture_input *in, size_t at, size_t *start)
{
	while (at > in->pos && !ks_capture_input_starts_line(in, at))
		at--;
	*start = at;
	return ks_capture_input_starts_line(in, at);
}

/*
 * Moves to where the search for later arrays starts: the line with the byte `at`, or the time of day
 * before it. What is being parsed starts behind the "[" of the array, so there is progress.
 */
static void
step_back(struct parse *x, size_t at)
{
	struct ks_capture_input *in = x->in;
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

/* --- damaged strings -------------------------------------------------------------------- */

/* Returns true if the error is inside a string: then the end of the string can be found. */
static bool
is_in_string(const char *why)
{
	return strstr(why, "inside string") != NULL || strstr(why, "inside a string") != NULL;
}

/* Returns how deep in the array's element the parser is; 0: the element is no object or array. */
static unsigned
depth_of(const struct parse *x)
{
	static const unsigned depths[] = {
		[IN_ARRAY] = 0, [IN_KSTAT] = 1, [IN_PUBLISHER] = 2, [IN_DATA] = 2, [IN_LIST] = 3
	};

	return x->place == PASSING ? depths[x->resume] + x->depth : depths[x->place];
}

/* Where pass_element() is. */
struct way {
	bool in_string;
	bool escaped; /* a backslash stood before */
	unsigned depth;
};

/* Passes one byte; true if the element ends with it. */
static bool
step(struct way *w, char c)
{
	if (w->in_string) {
		w->in_string = w->escaped || c != '"';
		w->escaped = !w->escaped && c == '\\';
		return !w->in_string && w->depth == 0;
	}
	if (c == '"')
		w->in_string = true;
	else if (c == '{' || c == '[')
		w->depth++;
	else if (c == '}' || c == ']')
		w->depth--;
	return w->depth == 0;
}

/*
 * Moves from inside a string to the end of its element. Returns false if the element has no end, or the
 * next array starts first: then the search for arrays starts at the current place.
 */
static bool
pass_element(struct parse *x)
{
	struct ks_capture_input *in = x->in;
	struct way w = { .in_string = true, .depth = depth_of(x) };
	char c;

	while (ks_capture_peek(in, x->notes, &c) > 0) {
		for (size_t at = in->pos; at < in->len; at++) {
			if (in->text[at] == '[' && ks_capture_input_starts_line(in, at)) {
				step_back(x, at);
				return false;
			}
			if (step(&w, in->text[at])) {
				in->pos = at + 1;
				return true;
			}
		}
		in->pos = in->len;
	}
	return false;
}

/* Puts a new parser into the state behind an element of the array. False if a callback ends it. */
static bool
start_behind_element(struct parse *x)
{
	bool done;

	yajl_free(x->notes->yajl);
	done = start_array(x);
	x->place = PASSING; /* the element "" only represents what was passed over */
	done = done && yajl_parse(x->notes->yajl, (const unsigned char *)"\"\"", 2) == yajl_status_ok;
	x->place = IN_ARRAY;
	return done;
}

/*
 * A string is damaged at the byte `at` of the capture, and the current place is inside of it. Leaves its
 * element out. Returns false if parsing cannot continue behind it.
 */
static bool
leave_out_element(struct parse *x, uint64_t at, const char *why)
{
	enum place place = x->place == PASSING ? x->resume : x->place;
	bool whole = pass_element(x);

	if (place != IN_ARRAY)
		ks_capture_kstat_drop(x->kstat);
	(void)ks_capture_damage(x->notes, at, "%s%s", why, whole ? "; a kstat is left out" : "");
	if (whole && !start_behind_element(x)) {
		(void)ks_capture_out_of_memory(x->notes);
		return false;
	}
	return whole;
}

/* Continues after an error of yajl or a callback's refusal. Returns false if that is impossible. */
static bool
go_on(struct parse *x, yajl_status status)
{
	struct ks_capture_input *in = x->in;
	size_t used = yajl_get_bytes_consumed(x->notes->yajl);
	char why[REASON_MAX];

	reason(x, why);
	if (status == yajl_status_error && is_in_string(why)) {
		uint64_t at = ks_capture_position(x->notes);

		in->pos += used;
		return leave_out_element(x, at, why);
	}
	if (status == yajl_status_error)
		json_damage(x);
	step_back(x, in->pos + (used > 0 ? used - 1 : 0));
	return false;
}

/* The same for a token that is too long, at the end of the piece. */
static bool
go_on_behind_long(struct parse *x)
{
	uint64_t at = ks_capture_input_position(x->in, x->in->len);
	char why[REASON_MAX];
	enum place place = x->place;
	bool in_string;

	/* No token contains this byte, so the message of yajl says which kind of token it was in. */
	x->place = PASSING;
	(void)yajl_parse(x->notes->yajl, (const unsigned char *)"\1", 1);
	x->place = place;
	reason(x, why);
	in_string = is_in_string(why);
	(void)snprintf(why, sizeof(why), "a string, number or gap longer than %zu bytes", TOKEN_MAX);
	if (in_string)
		return leave_out_element(x, at, why);
	(void)ks_capture_damage(x->notes, at, "%s", why);
	return false;
}

/* --- the array ------------------------------------------------------------------------ */

/* Parses up to the end of the array, or to damage. */
static void
parse_all(struct parse *x)
{
	struct ks_capture_input *in = x->in;
	size_t silent = 0; /* bytes since a token was complete */

	if (!start_array(x)) {
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
		x->progress = false;
		text = (const unsigned char *)in->text + in->pos;
		n = in->len - in->pos;
		status = yajl_parse(x->notes->yajl, text, n);
		if (status != yajl_status_ok) {
			if (!go_on(x, status))
				return;
			silent = 0;
			continue;
		}
		in->pos = x->done ? in->pos + yajl_get_bytes_consumed(x->notes->yajl) : in->len;
		silent = x->progress ? 0 : silent + n;
		if (silent > TOKEN_MAX) {
			if (!go_on_behind_long(x))
				return;
			silent = 0;
		}
	}
}

/* The same; it is also the end when yajl gets no memory. */
static void
parse(struct parse *x)
{
	if (setjmp(x->memory.failed) == 0) {
		parse_all(x);
	} else {
		x->notes->yajl = NULL;
		(void)ks_capture_out_of_memory(x->notes);
	}
}

bool
ks_capture_array_parse(struct ks_capture_input *in, struct ks_capture_builder *b)
{
	struct ks_capture_notes *n = b->notes;
	struct parse x = { .in = in, .notes = n, .kstat = b };

	x.memory.functions = (yajl_alloc_funcs){ allocate, resize, release, &x.memory };
	parse(&x);
	n->yajl = NULL;
	while (x.memory.blocks != NULL) /* no parser is left that uses them */
		release(&x.memory, x.memory.blocks->bytes);
	return x.done;
}
