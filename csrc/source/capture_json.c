/* capture_json.c - see capture_json.h. SPDX-License-Identifier: MIT */
#include "source/capture_json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/error.h"
#include "base/number.h"
#include "source/capture_time.h"

#define TOKEN_MAX ((size_t)1024 * 1024) /* bytes of one string or number */
#define DEPTH_MAX 256                   /* of nested values that are passed over */
#define STAMP_MAX 64                    /* bytes of a time-stamp line */

/* Where in a sample the parser is. */
enum place { OUTSIDE, IN_ARRAY, IN_KSTAT, IN_DATA, IN_LIST, PASSING };

/* The member of a kstat, or what is special about one of its data, whose value comes next. */
enum member { OTHER, MODULE, INSTANCE, NAME, CLASS, TYPE, STATSBLOB, SNAPTIME, DATA, CRTIME, REJECTED };

/* The state of parsing one array. */
struct parse {
	struct ks_capture_parser *p;
	yajl_handle yajl;
	enum place place;
	enum place resume; /* PASSING: where it goes on after the value passed over */
	unsigned depth;    /* PASSING: nesting inside it */
	enum member member;
	struct ks_capture_kstat k;
	bool bad;             /* this kstat cannot be kept; the problem was noted */
	bool has_instance, has_crtime, has_snaptime, has_statistics;
	hrtime_t header_snaptime;
	size_t previous_key;  /* of the kstat's data, in the text */
	struct ks_capture_value v; /* the statistic that is being built */
	bool list_rejected;
	bool done;            /* the array is complete */
	bool heard;           /* a token was complete since this was reset */
	size_t problems;
	char problem[KS_CAPTURE_MESSAGE];
};

/* --- messages ------------------------------------------------------------------ */

static uint64_t
position(const struct parse *x)
{
	struct ks_capture_input *in = &x->p->in;
	size_t at = in->pos;

	if (x->yajl != NULL)
		at += yajl_get_bytes_consumed(x->yajl);
	return ks_capture_input_position(in, at);
}

static void
say(char *to, const struct ks_capture_parser *p, uint64_t at, const char *fmt, va_list ap)
{
	int n = snprintf(to, KS_CAPTURE_MESSAGE, "%.200s: sample %llu, byte %llu: ", p->path,
	    (unsigned long long)p->number + 1, (unsigned long long)at);

	(void)vsnprintf(to + n, KS_CAPTURE_MESSAGE - (size_t)n, fmt, ap);
}

/* Something has to be left out; the rest can be read. */
static void __attribute__((format(printf, 2, 3)))
problem(struct parse *x, const char *fmt, ...)
{
	va_list ap;

	if (x->problems++ > 0)
		return;
	va_start(ap, fmt);
	say(x->problem, x->p, position(x), fmt, ap);
	va_end(ap);
}

/* The capture cannot be read any further. Returns 0, for yajl to stop. */
static int __attribute__((format(printf, 4, 5)))
damage(struct ks_capture_parser *p, int error, uint64_t at, const char *fmt, ...)
{
	va_list ap;

	if (p->damage_errno != 0)
		return 0;
	va_start(ap, fmt);
	say(p->damage, p, at, fmt, ap);
	va_end(ap);
	p->damage_errno = error;
	return 0;
}

static int
out_of_memory(struct parse *x)
{
	return damage(x->p, ENOMEM, position(x), "out of memory");
}

/* The name of the statistic at hand, made fit for a message of one line. */
static const char *
shown_name(const struct parse *x, char *to, size_t size)
{
	const char *name = ks_capture_sample_text(&x->p->sample, x->v.name);
	size_t n = 0;

	for (; name[n] != '\0' && n < size - 1; n++)
		to[n] = (unsigned char)name[n] < 0x20 || name[n] == 0x7f ? '?' : name[n];
	to[n] = '\0';
	return to;
}

static void
reject_statistic(struct parse *x, const char *why)
{
	char name[KSTAT_STRLEN];

	problem(x, "the statistic '%s' is left out: %s", shown_name(x, name, sizeof(name)), why);
}

static void
reject_kstat(struct parse *x, const char *why)
{
	if (!x->bad)
		problem(x, "a kstat is left out: %s", why);
	x->bad = true;
}

/* --- kstats -------------------------------------------------------------------- */

static void
begin_kstat(struct parse *x)
{
	ks_capture_sample_begin(&x->p->sample, &x->k);
	x->place = IN_KSTAT;
	x->member = OTHER;
	x->bad = x->has_instance = x->has_crtime = x->has_snaptime = x->has_statistics = false;
	x->header_snaptime = 0;
	x->previous_key = KS_CAPTURE_NULL;
}

static int
end_kstat(struct parse *x)
{
	struct ks_capture_sample *s = &x->p->sample;
	struct ks_capture_kstat *k = &x->k;

	x->place = IN_ARRAY;
	if (k->module == KS_CAPTURE_NULL)
		reject_kstat(x, "it has no module");
	else if (k->name == KS_CAPTURE_NULL)
		reject_kstat(x, "it has no name");
	else if (!x->has_instance)
		reject_kstat(x, "it has no instance");
	if (x->bad) {
		ks_capture_sample_drop(s, k);
		return 1;
	}
	if (k->class_ == KS_CAPTURE_NULL)
		k->class_ = ks_capture_sample_add_text(s, "", 0);
	/*
	 * Without snaptime among its data a kstat could not be read; but a capture of chosen
	 * statistics (-s) leaves it out too, and then its header tells the time.
	 */
	k->readable = x->has_snaptime || x->has_statistics;
	if (!x->has_snaptime)
		k->snaptime = x->header_snaptime;
	ks_capture_sample_end(s, k);
	return ks_capture_sample_failed(s) ? out_of_memory(x) : 1;
}

/* A string of the header. A longer one is cut, as the kernel's own would be. */
static size_t
header_string(struct parse *x, const unsigned char *str, size_t n)
{
	if (memchr(str, '\0', n) != NULL) {
		reject_kstat(x, "a name has a NUL in it");
		return KS_CAPTURE_NULL;
	}
	if (n > KSTAT_STRLEN - 1) {
		problem(x, "a name longer than %d bytes is cut", KSTAT_STRLEN - 1);
		n = KSTAT_STRLEN - 1;
	}
	return ks_capture_sample_add_text(&x->p->sample, (const char *)str, n);
}

static enum member
header_member(const unsigned char *key, size_t n)
{
	static const struct {
		const char *name;
		enum member member;
	} members[] = {
		{ "module", MODULE }, { "instance", INSTANCE }, { "name", NAME },
		{ "class", CLASS }, { "type", TYPE }, { "statsblob", STATSBLOB },
		{ "snaptime", SNAPTIME }, { "data", DATA }
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (n == strlen(members[i].name) && memcmp(key, members[i].name, n) == 0)
			return members[i].member;
	}
	return OTHER;
}

static bool
is_integer(const char *s, size_t n, int64_t *v)
{
	const char *at = s;

	return ks_scan_i64(&at, s + n, v) == 0 && at == s + n;
}

static void
header_number(struct parse *x, const char *s, size_t n)
{
	int64_t v;

	switch (x->member) {
	case INSTANCE:
		if (!is_integer(s, n, &v) || v < INT32_MIN || v > INT32_MAX) {
			reject_kstat(x, "its instance is not a 32-bit integer");
			break;
		}
		x->k.instance = (int)v;
		x->has_instance = true;
		break;
	case TYPE:
		if (!is_integer(s, n, &v) || v < 0 || v >= KSTAT_NUM_TYPES) {
			reject_kstat(x, "its type is not one of 0 to 4");
			break;
		}
		x->k.type = (uint8_t)v;
		break;
	case STATSBLOB:
		if (is_integer(s, n, &v) && v != 0)
			x->k.flags |= KSTAT_FLAG_STATSBLOB;
		break;
	case SNAPTIME:
		if (ks_capture_seconds(s, n, &v) != 0)
			reject_kstat(x, "its snaptime is out of range");
		else
			x->header_snaptime = v;
		break;
	case OTHER:
		break;
	default:
		reject_kstat(x, "a member has the wrong type");
		break;
	}
}

/* --- statistics ------------------------------------------------------------------ */

/* Watches whether the statistics come in the command's order; see capture_sample.h. */
static void
note_order(struct parse *x)
{
	const struct ks_capture_sample *s = &x->p->sample;

	if (x->k.ordered && x->previous_key != KS_CAPTURE_NULL) {
		int c = ks_capture_compare(ks_capture_sample_text(s, x->previous_key),
		    ks_capture_sample_text(s, x->v.name));

		x->k.ordered = c <= 0;
		x->k.ties |= c == 0;
	}
	x->previous_key = x->v.name;
}

static int
data_key(struct parse *x, const unsigned char *key, size_t n)
{
	struct ks_capture_sample *s = &x->p->sample;
	size_t kept = n > KSTAT_STRLEN - 1 ? KSTAT_STRLEN - 1 : n;

	x->member = OTHER;
	x->v = (struct ks_capture_value){
		.name = ks_capture_sample_add_text(s, (const char *)key, kept)
	};
	if (x->v.name == KS_CAPTURE_NULL)
		return out_of_memory(x);
	note_order(x);
	if (memchr(key, '\0', n) != NULL) {
		reject_statistic(x, "its name has a NUL in it");
		x->member = REJECTED;
	} else if (n > kept) {
		problem(x, "the name of a statistic longer than %d bytes is cut", KSTAT_STRLEN - 1);
	} else if (!x->has_crtime && n == 6 && memcmp(key, "crtime", 6) == 0) {
		x->member = CRTIME;
	} else if (!x->has_snaptime && n == 8 && memcmp(key, "snaptime", 8) == 0) {
		x->member = SNAPTIME;
	}
	return 1;
}

static int
add_value(struct parse *x, uint8_t kind)
{
	bool is_class = kind == KS_VALUE_STRING &&
	    strcmp(ks_capture_sample_text(&x->p->sample, x->v.name), "class") == 0;

	x->v.kind = kind;
	if (kind == KS_VALUE_STRING || kind == KS_VALUE_STRS)
		x->k.flags |= KSTAT_FLAG_LONGSTRINGS;
	x->has_statistics |= !is_class; /* which -pj puts among the statistics */
	ks_capture_sample_add_value(&x->p->sample, &x->k, &x->v);
	return 1;
}

/* The value of a number's text: its kind, or -1 if it does not fit. */
static int
scan_number(const char *s, size_t n, struct ks_capture_value *v)
{
	const char *at = s;

	if (*s == '-') {
		if (ks_scan_i64(&at, s + n, &v->i64) == 0 && at == s + n)
			return v->i64 < 0 ? KS_VALUE_I64 : KS_VALUE_U64;
	} else if (ks_scan_u64(&at, s + n, &v->u64) == 0 && at == s + n) {
		return KS_VALUE_U64;
	}
	for (at = s; at < s + n; at++) {
		if (*at == '.' || *at == 'e' || *at == 'E')
			return ks_scan_double(s, n, &v->d) == 0 ? KS_VALUE_DOUBLE : -1;
	}
	return -1;
}

static int
data_number(struct parse *x, const char *s, size_t n)
{
	hrtime_t *time = x->member == CRTIME ? &x->k.crtime : &x->k.snaptime;
	int64_t ns;
	int kind;

	if (x->member == CRTIME || x->member == SNAPTIME) {
		if (ks_capture_seconds(s, n, &ns) != 0) {
			reject_statistic(x, "its time is out of range");
			return 1;
		}
		*time = ns;
		x->has_crtime |= x->member == CRTIME;
		x->has_snaptime |= x->member == SNAPTIME;
		return 1;
	}
	kind = scan_number(s, n, &x->v);
	if (kind < 0) {
		reject_statistic(x, "its number does not fit 64 bits");
		return 1;
	}
	return add_value(x, (uint8_t)kind);
}

static int
add_string(struct parse *x, const unsigned char *str, size_t n, size_t *at)
{
	const unsigned char *nul = memchr(str, '\0', n);

	if (nul != NULL)
		reject_statistic(x, "its text has a NUL in it");
	*at = KS_CAPTURE_NULL;
	if (nul == NULL)
		*at = ks_capture_sample_add_text(&x->p->sample, (const char *)str, n);
	return nul == NULL;
}

static int
data_string(struct parse *x, const unsigned char *str, size_t n)
{
	if (!add_string(x, str, n, &x->v.at))
		return 1;
	x->v.len = (uint32_t)n;
	return x->v.at == KS_CAPTURE_NULL ? out_of_memory(x) : add_value(x, KS_VALUE_STRING);
}

/* --- arrays in the data: integers or strings ------------------------------------- */

static void
reject_list(struct parse *x, const char *why)
{
	if (!x->list_rejected)
		reject_statistic(x, why);
	x->list_rejected = true;
}

static void
begin_list(struct parse *x)
{
	x->place = IN_LIST;
	x->list_rejected = x->member == REJECTED;
	ks_capture_sample_align(&x->p->sample);
	x->v.at = x->p->sample.text.len;
	x->v.len = 0;
	x->v.kind = KS_VALUE_INTS;
}

static int
list_number(struct parse *x, const char *s, size_t n)
{
	struct ks_capture_value number;

	if (x->list_rejected)
		return 1;
	if ((x->v.len > 0 && x->v.kind != KS_VALUE_INTS) || x->v.len >= UINT32_MAX / 8 ||
	    scan_number(s, n, &number) != KS_VALUE_U64) {
		reject_list(x, "its array is not one of unsigned integers or of strings");
		return 1;
	}
	ks_buf_add(&x->p->sample.text, &number.u64, sizeof(number.u64));
	x->v.len++;
	return 1;
}

static int
list_string(struct parse *x, const unsigned char *str, size_t n)
{
	size_t at;

	if (x->list_rejected)
		return 1;
	if ((x->v.len > 0 && x->v.kind != KS_VALUE_STRS) || n >= UINT32_MAX - x->v.len) {
		reject_list(x, "its array is not one of unsigned integers or of strings");
		return 1;
	}
	if (!add_string(x, str, n, &at)) {
		x->list_rejected = true;
		return 1;
	}
	x->v.kind = KS_VALUE_STRS;
	x->v.len += (uint32_t)n + 1;
	return at == KS_CAPTURE_NULL ? out_of_memory(x) : 1;
}

static int
end_list(struct parse *x)
{
	x->place = IN_DATA;
	if (x->list_rejected) {
		x->p->sample.text.len = x->v.at;
		return 1;
	}
	return add_value(x, x->v.kind);
}

/* --- what yajl tells --------------------------------------------------------------- */

static int
on_null(void *ctx)
{
	struct parse *x = ctx;

	x->heard = true;
	switch (x->place) {
	case IN_ARRAY:
		problem(x, "an element of the array is not a kstat");
		break;
	case IN_KSTAT:
		if (x->member != OTHER)
			reject_kstat(x, "a member has the wrong type");
		break;
	case IN_DATA:
		if (x->member == CRTIME || x->member == SNAPTIME) {
			reject_statistic(x, "it is not a time");
		} else if (x->member == OTHER) {
			x->v.at = KS_CAPTURE_NULL;
			return add_value(x, KS_VALUE_STRING);
		}
		break;
	case IN_LIST:
		reject_list(x, "its array is not one of unsigned integers or of strings");
		break;
	default:
		break;
	}
	return 1;
}

static int
on_boolean(void *ctx, int value)
{
	struct parse *x = ctx;

	if (x->place != IN_DATA || x->member != OTHER)
		return on_null(ctx);
	x->heard = true;
	x->v.u64 = value != 0;
	return add_value(x, KS_VALUE_U64);
}

static int
on_number(void *ctx, const char *s, size_t n)
{
	struct parse *x = ctx;

	x->heard = true;
	switch (x->place) {
	case IN_ARRAY:
		return on_null(ctx);
	case IN_KSTAT:
		header_number(x, s, n);
		return 1;
	case IN_DATA:
		return x->member == REJECTED ? 1 : data_number(x, s, n);
	case IN_LIST:
		return list_number(x, s, n);
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
		return on_null(ctx);
	case IN_KSTAT:
		if (x->member == MODULE)
			x->k.module = header_string(x, s, n);
		else if (x->member == NAME)
			x->k.name = header_string(x, s, n);
		else if (x->member == CLASS)
			x->k.class_ = header_string(x, s, n);
		else if (x->member != OTHER)
			reject_kstat(x, "a member has the wrong type");
		return ks_capture_sample_failed(&x->p->sample) ? out_of_memory(x) : 1;
	case IN_DATA:
		/* A text called crtime is no time: it is a statistic of the kstat's own. */
		return x->member == REJECTED ? 1 : data_string(x, s, n);
	case IN_LIST:
		return list_string(x, s, n);
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
		x->member = header_member(key, n);
	else if (x->place == IN_DATA)
		return data_key(x, key, n);
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
		return damage(x->p, EBADMSG, position(x), "values are nested deeper than %d", DEPTH_MAX);
	return 1;
}

static int
on_start_map(void *ctx)
{
	struct parse *x = ctx;

	x->heard = true;
	switch (x->place) {
	case IN_ARRAY:
		begin_kstat(x);
		return 1;
	case IN_KSTAT:
		if (x->member == DATA) {
			x->place = IN_DATA;
			return 1;
		}
		if (x->member != OTHER)
			reject_kstat(x, "a member has the wrong type");
		break;
	case IN_DATA:
		if (x->member != REJECTED)
			reject_statistic(x, "it is an object");
		break;
	case IN_LIST:
		reject_list(x, "its array is not one of unsigned integers or of strings");
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
	if (x->place == PASSING) {
		if (--x->depth == 0)
			x->place = x->resume;
		return 1;
	}
	if (x->place == IN_KSTAT)
		return end_kstat(x);
	x->place = IN_KSTAT;
	x->member = OTHER;
	return 1;
}

static int
on_start_array(void *ctx)
{
	struct parse *x = ctx;

	x->heard = true;
	switch (x->place) {
	case OUTSIDE:
		x->place = IN_ARRAY;
		return 1;
	case IN_ARRAY:
		problem(x, "an element of the array is not a kstat");
		break;
	case IN_KSTAT:
		if (x->member != OTHER)
			reject_kstat(x, "a member has the wrong type");
		break;
	case IN_DATA:
		if (x->member == OTHER) {
			begin_list(x);
			return 1;
		}
		if (x->member != REJECTED)
			reject_statistic(x, "it is not a time");
		break;
	case IN_LIST:
		reject_list(x, "its array is not one of unsigned integers or of strings");
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
	if (x->place == PASSING)
		return on_end_map(ctx);
	if (x->place == IN_LIST)
		return end_list(x);
	x->done = true;
	return 1;
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

/* --- the text between the arrays ---------------------------------------------------- */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/* The next byte, which stays; 0 at the end, -1 after a failure, which p->damage tells. */
static int
peek(struct ks_capture_parser *p, char *c)
{
	int rc = 1;

	if (p->in.pos == p->in.len)
		rc = ks_capture_input_fill(&p->in);
	if (rc > 0)
		*c = p->in.text[p->in.pos];
	else if (rc < 0)
		(void)damage(p, errno, ks_capture_input_position(&p->in, p->in.len), "%s",
		    kstat_errmsg());
	return rc;
}

static int
skip_blanks(struct ks_capture_parser *p, char *c)
{
	int rc;

	while ((rc = peek(p, c)) > 0 && is_blank(*c))
		p->in.pos++;
	return rc;
}

/* Reads a line that must be a time stamp. 1, or -1. */
static int
read_stamp(struct ks_capture_parser *p, int64_t *ns)
{
	uint64_t start = ks_capture_input_position(&p->in, p->in.pos);
	char line[STAMP_MAX], c = '\0';
	size_t n = 0;
	int rc;

	while ((rc = peek(p, &c)) > 0 && c != '\n' && c != '[' && n < sizeof(line)) {
		line[n++] = c;
		p->in.pos++;
	}
	if (rc < 0)
		return -1;
	if (ks_capture_time(line, n, ns) != 0) {
		(void)damage(p, EBADMSG, start, "not a capture: neither an array of kstats in JSON "
		    "nor the time of day");
		return -1;
	}
	return 1;
}

/* Moves to what follows the "[" of the next array. 1, 0 at the end, -1 after damage. */
static int
find_array(struct ks_capture_parser *p, bool *has_time, int64_t *time)
{
	char c = '\0';
	int rc;

	*has_time = false;
	while ((rc = skip_blanks(p, &c)) > 0 && c != '[') {
		if (read_stamp(p, time) < 0)
			return -1;
		*has_time = true;
	}
	if (rc == 0 && *has_time) {
		(void)damage(p, EBADMSG, ks_capture_input_position(&p->in, p->in.pos),
		    "cut off after the time of day");
		return -1;
	}
	if (rc <= 0)
		return rc;
	p->in.pos++;
	/* illumos puts a comma before the first kstat of its second and later reports. */
	rc = skip_blanks(p, &c);
	if (rc > 0 && c == ',')
		p->in.pos++;
	return rc < 0 ? -1 : 1;
}

/* --- arrays --------------------------------------------------------------------------- */

static void
json_damage(struct parse *x)
{
	char text[120];
	unsigned char *why = yajl_get_error(x->yajl, 0, NULL, 0);

	(void)snprintf(text, sizeof(text), "%s", why != NULL ? (const char *)why : "");
	text[strcspn(text, "\n")] = '\0';
	if (why != NULL)
		yajl_free_error(x->yajl, why);
	(void)damage(x->p, EBADMSG, position(x), "damaged JSON: %s",
	    text[0] != '\0' ? text : "no reason known");
}

/* Parses up to the end of the array, or to damage. */
static void
parse_array(struct parse *x)
{
	struct ks_capture_parser *p = x->p;
	size_t silent = 0; /* bytes since a token was complete */
	char c;

	if (yajl_parse(x->yajl, (const unsigned char *)"[", 1) != yajl_status_ok) {
		(void)out_of_memory(x);
		return;
	}
	while (!x->done) {
		const unsigned char *text;
		yajl_status status;
		size_t n;
		int rc = peek(p, &c);

		if (rc == 0)
			(void)damage(p, EBADMSG, ks_capture_input_position(&p->in, p->in.len),
			    "cut off in the middle of the array");
		if (rc <= 0)
			return;
		x->heard = false;
		text = (const unsigned char *)p->in.text + p->in.pos;
		n = p->in.len - p->in.pos;
		status = yajl_parse(x->yajl, text, n);
		if (status != yajl_status_ok) {
			if (status == yajl_status_error)
				json_damage(x);
			return;
		}
		p->in.pos = x->done ? p->in.pos + yajl_get_bytes_consumed(x->yajl) : p->in.len;
		silent = x->heard ? 0 : silent + n;
		if (silent > TOKEN_MAX) {
			(void)damage(p, EBADMSG, ks_capture_input_position(&p->in, p->in.len),
			    "a string, number or gap longer than %zu bytes", TOKEN_MAX);
			return;
		}
	}
}

int
ks_capture_parser_next(struct ks_capture_parser *p)
{
	struct parse x = { .p = p, .place = OUTSIDE };
	bool has_time;
	int64_t time = 0;
	int rc;

	if (p->damage_errno != 0)
		return ks_fail(p->damage_errno, "%s", p->damage);
	rc = find_array(p, &has_time, &time);
	if (rc < 0)
		return ks_fail(p->damage_errno, "%s", p->damage);
	if (rc == 0)
		return 0;
	x.yajl = yajl_alloc(&callbacks, NULL, &x);
	if (x.yajl == NULL)
		return ks_fail(ENOMEM, "%.200s: out of memory", p->path);
	/* Kernel strings hold any bytes, and what follows the array is the next one. */
	(void)yajl_config(x.yajl, yajl_dont_validate_strings, 1);
	(void)yajl_config(x.yajl, yajl_allow_trailing_garbage, 1);
	ks_capture_sample_start(&p->sample);
	parse_array(&x);
	yajl_free(x.yajl);
	if (!ks_capture_sample_finish(&p->sample, !x.done))
		return ks_fail(p->damage_errno, "%s", p->damage);
	p->number++;
	p->has_time = has_time;
	p->time = time;
	p->problems = x.problems;
	memcpy(p->problem, x.problem, sizeof(p->problem));
	return 1;
}

int
ks_capture_parser_open(struct ks_capture_parser *p, const char *path)
{
	*p = (struct ks_capture_parser){ .path = path, .sample = KS_CAPTURE_SAMPLE_INIT };
	return ks_capture_input_open(&p->in, path);
}

void
ks_capture_parser_free(struct ks_capture_parser *p)
{
	ks_capture_input_free(&p->in);
	ks_capture_sample_free(&p->sample);
}
