/* builder.c - builds kstats of the members of JSON objects; see capture.h. SPDX-License-Identifier: MIT */
#include "source/replay/capture/capture.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"

#define LONGEST_PUBLISHER 255 /* bytes of the name of a publication */
#define LONGEST_HOST 64

/* The sample cannot become any larger: says why. */
static int
fail(struct ks_capture_builder *b)
{
	if (!b->store->too_large)
		return ks_capture_out_of_memory(b->notes);
	return ks_capture_end(b->notes, EFBIG, ks_capture_position(b->notes), KS_STORE_TOO_LARGE);
}

/* --- messages ------------------------------------------------------------------ */

/* Returns the name of the current statistic, without control characters. */
static const char *
shown_name(const struct ks_capture_builder *b, char *to, size_t size)
{
	const char *name = ks_store_text(b->store, b->v.name);
	size_t n = 0;

	for (; name[n] != '\0' && n < size - 1; n++)
		to[n] = (unsigned char)name[n] < 0x20 || name[n] == 0x7f ? '?' : name[n];
	to[n] = '\0';
	return to;
}

static void
reject_statistic(struct ks_capture_builder *b, const char *why)
{
	char name[KSTAT_STRLEN];

	ks_capture_problem(b->notes, "the statistic '%s' is left out: %s",
	    shown_name(b, name, sizeof(name)), why);
}

static void
reject_kstat(struct ks_capture_builder *b, const char *why)
{
	if (!b->bad)
		ks_capture_problem(b->notes, "a kstat is left out: %s", why);
	b->bad = true;
}

/* --- samples and kstats ---------------------------------------------------------- */

void
ks_capture_sample_start(struct ks_capture_builder *b)
{
	ks_store_reset(&b->first);
	b->store = &b->first;
	b->ordered = true;
	b->ties = false;
}

bool
ks_capture_sample_finish(struct ks_capture_builder *b, bool only_if_any)
{
	if (b->store == &b->first) {
		if (!only_if_any && !b->passing)
			ks_store_reset(b->sample);
		return !only_if_any;
	}
	if (b->ordered && b->ties)
		ks_capture_restore_order(b->sample);
	return true;
}

void
ks_capture_kstat_begin(struct ks_capture_builder *b)
{
	ks_store_align(b->store);
	b->text = b->store->text.len;
	b->k = (struct ks_store_kstat){
		.module = KS_STORE_NULL, .name = KS_STORE_NULL, .class_ = KS_STORE_NULL,
		.first = (uint32_t)b->store->nvalues, .type = KSTAT_TYPE_NAMED
	};
	b->member = KS_MEMBER_OTHER;
	b->values_ordered = true;
	b->bad = b->values_tie = b->has_statistics = false;
	b->has_instance = b->has_crtime = b->has_snaptime = false;
	b->header_snaptime = 0;
	b->previous_key = KS_STORE_NULL;
}

void
ks_capture_kstat_drop(struct ks_capture_builder *b)
{
	b->store->text.len = b->text;
	b->store->nvalues = b->k.first;
}

/* Notes whether the kstats are in the command's order; k is the next one. */
static void
note_kstat_order(struct ks_capture_builder *b, const struct ks_store_kstat *k)
{
	const struct ks_store *s = b->store;
	int c;

	if (!b->ordered || s->nkstats == 0)
		return;
	c = ks_capture_compare_kstats(s, &s->kstat[s->nkstats - 1], k);
	b->ordered = c <= 0;
	b->ties |= c == 0;
}

static void
add_kstat(struct ks_capture_builder *b)
{
	struct ks_store *s = b->store;

	ks_capture_restore(s, &b->k, b->values_ordered && b->values_tie);
	note_kstat_order(b, &b->k);
	if (!ks_store_add_kstat(s, &b->k) || s == b->sample)
		return;
	ks_store_copy(b->sample, s);
	b->store = b->sample;
}

int
ks_capture_kstat_end(struct ks_capture_builder *b)
{
	struct ks_store_kstat *k = &b->k;

	if (k->module == KS_STORE_NULL)
		reject_kstat(b, "it has no module");
	else if (k->name == KS_STORE_NULL)
		reject_kstat(b, "it has no name");
	else if (!b->has_instance)
		reject_kstat(b, "it has no instance");
	if (b->bad || b->passing) {
		ks_capture_kstat_drop(b);
		return 1;
	}
	if (k->class_ == KS_STORE_NULL)
		k->class_ = ks_store_add_text(b->store, "", 0);
	/*
	 * A kstat without snaptime in its data could not be read. But a capture of chosen statistics (-s)
	 * leaves snaptime out, too; then the header has the time.
	 */
	k->readable = b->has_snaptime || b->has_statistics;
	if (!b->has_snaptime)
		k->snaptime = b->header_snaptime;
	if (!ks_store_failed(b->store))
		add_kstat(b);
	return ks_store_failed(b->store) ? fail(b) : 1;
}

/* Adds a string of the header. One of more than `most` bytes is cut, as the kernel cuts its own. */
static uint32_t
header_string(struct ks_capture_builder *b, const unsigned char *str, size_t n, size_t most)
{
	if (memchr(str, '\0', n) != NULL) {
		reject_kstat(b, "a name has a NUL in it");
		return KS_STORE_NULL;
	}
	if (n > most) {
		ks_capture_problem(b->notes, "a name longer than %zu bytes is cut", most);
		n = most;
	}
	return ks_store_add_text(b->store, (const char *)str, n);
}

struct member_name {
	const char *name; /* NULL: the end */
	enum ks_capture_member member;
};

static const struct member_name header_members[] = {
	{ "module", KS_MEMBER_MODULE }, { "instance", KS_MEMBER_INSTANCE }, { "name", KS_MEMBER_NAME },
	{ "class", KS_MEMBER_CLASS }, { "type", KS_MEMBER_TYPE }, { "statsblob", KS_MEMBER_STATSBLOB },
	{ "publisher", KS_MEMBER_PUBLISHER }, { "host", KS_MEMBER_HOST }, { "snaptime", KS_MEMBER_SNAPTIME }, { "data", KS_MEMBER_DATA },
	{ NULL, KS_MEMBER_OTHER }
};

static const struct member_name publisher_members[] = {
	{ "name", KS_MEMBER_PUBLICATION }, { "uid", KS_MEMBER_UID }, { "pid", KS_MEMBER_PID },
	{ NULL, KS_MEMBER_OTHER }
};

static enum ks_capture_member
find_member(const struct member_name *m, const unsigned char *key, size_t n)
{
	while (m->name != NULL && (n != strlen(m->name) || memcmp(key, m->name, n) != 0))
		m++;
	return m->member;
}

static bool
is_integer(const char *s, size_t n, int64_t *v)
{
	const char *at = s;

	return ks_scan_i64(&at, s + n, v) == 0 && at == s + n;
}

void
ks_capture_header_key(struct ks_capture_builder *b, const unsigned char *key, size_t n)
{
	b->member = find_member(header_members, key, n);
}

void
ks_capture_publisher_key(struct ks_capture_builder *b, const unsigned char *key, size_t n)
{
	b->member = find_member(publisher_members, key, n);
}

void
ks_capture_header_other(struct ks_capture_builder *b)
{
	if (b->member != KS_MEMBER_OTHER)
		reject_kstat(b, "a member has the wrong type");
}

int
ks_capture_header_string(struct ks_capture_builder *b, const unsigned char *s, size_t n)
{
	if (b->member == KS_MEMBER_MODULE)
		b->k.module = header_string(b, s, n, KSTAT_STRLEN - 1);
	else if (b->member == KS_MEMBER_NAME)
		b->k.name = header_string(b, s, n, KSTAT_STRLEN - 1);
	else if (b->member == KS_MEMBER_CLASS)
		b->k.class_ = header_string(b, s, n, KSTAT_STRLEN - 1);
	else if (b->member == KS_MEMBER_PUBLICATION)
		b->k.published = (b->k.publisher = header_string(b, s, n, LONGEST_PUBLISHER)) != KS_STORE_NULL;
	else if (b->member == KS_MEMBER_HOST)
		b->k.has_host = (b->k.host = header_string(b, s, n, LONGEST_HOST)) != KS_STORE_NULL;
	else
		ks_capture_header_other(b);
	return ks_store_failed(b->store) ? fail(b) : 1;
}

void
ks_capture_header_number(struct ks_capture_builder *b, const char *s, size_t n)
{
	int64_t v;

	switch (b->member) {
	case KS_MEMBER_INSTANCE:
		if (!is_integer(s, n, &v) || v < INT32_MIN || v > INT32_MAX) {
			reject_kstat(b, "its instance is not a 32-bit integer");
			break;
		}
		b->k.instance = (int)v;
		b->has_instance = true;
		break;
	case KS_MEMBER_TYPE:
		if (!is_integer(s, n, &v) || v < 0 || v >= KSTAT_NUM_TYPES) {
			reject_kstat(b, "its type is not one of 0 to 4");
			break;
		}
		b->k.type = (uint8_t)v;
		break;
	case KS_MEMBER_UID:
	case KS_MEMBER_PID:
		if (!is_integer(s, n, &v) || v < 0 || v > UINT32_MAX)
			reject_kstat(b, "the number of its publisher is out of range");
		else
			*(b->member == KS_MEMBER_UID ? &b->k.uid : &b->k.pid) = (uint32_t)v;
		break;
	case KS_MEMBER_STATSBLOB:
		if (is_integer(s, n, &v) && v != 0)
			b->k.flags |= KSTAT_FLAG_STATSBLOB;
		break;
	case KS_MEMBER_SNAPTIME:
		if (ks_scan_seconds(s, n, &v) != 0)
			reject_kstat(b, "its snaptime is out of range");
		else
			b->header_snaptime = v;
		break;
	default:
		ks_capture_header_other(b);
		break;
	}
}

/* --- statistics ------------------------------------------------------------------ */

/* Notes whether the statistics are in the command's order. */
static void
note_order(struct ks_capture_builder *b)
{
	if (b->values_ordered && b->previous_key != KS_STORE_NULL) {
		int c = ks_capture_compare(ks_store_text(b->store, b->previous_key),
		    ks_store_text(b->store, b->v.name));

		b->values_ordered = c <= 0;
		b->values_tie |= c == 0;
	}
	b->previous_key = b->v.name;
}

int
ks_capture_data_key(struct ks_capture_builder *b, const unsigned char *key, size_t n)
{
	size_t kept = n > KSTAT_STRLEN - 1 ? KSTAT_STRLEN - 1 : n;

	b->member = KS_MEMBER_OTHER;
	b->v = (struct ks_store_value){
		.name = ks_store_add_text(b->store, (const char *)key, kept)
	};
	if (b->v.name == KS_STORE_NULL)
		return fail(b);
	note_order(b);
	if (memchr(key, '\0', n) != NULL) {
		reject_statistic(b, "its name has a NUL in it");
		b->member = KS_MEMBER_REJECTED;
	} else if (n > kept) {
		ks_capture_problem(b->notes, "the name of a statistic longer than %d bytes is cut",
		    KSTAT_STRLEN - 1);
	} else if (!b->has_crtime && n == 6 && memcmp(key, "crtime", 6) == 0) {
		b->member = KS_MEMBER_CRTIME;
	} else if (!b->has_snaptime && n == 8 && memcmp(key, "snaptime", 8) == 0) {
		b->member = KS_MEMBER_SNAPTIME;
	}
	return 1;
}

/* Adds the statistic, which is of that type: a KSTAT_DATA_*. */
static int
add_value(struct ks_capture_builder *b, uint8_t type)
{
	bool is_class = type == KSTAT_DATA_STRING &&
	    strcmp(ks_store_text(b->store, b->v.name), "class") == 0;

	b->v.type = type;
	if (type == KSTAT_DATA_STRING || type == KSTAT_DATA_STRS)
		b->k.flags |= KSTAT_FLAG_LONGSTRINGS;
	else if (type != KSTAT_DATA_INTS)
		b->v.width = sizeof(b->v.u64);
	b->has_statistics |= !is_class; /* which -pj puts among the statistics */
	if (!ks_store_add_value(b->store, &b->v))
		return fail(b);
	b->k.nvalues++;
	return 1;
}

/* Stores the value of a number's text and returns its type, KSTAT_DATA_*, or -1 if it does not fit. */
static int
scan_number(const char *s, size_t n, struct ks_store_value *v)
{
	const char *at = s;

	if (*s == '-') {
		if (ks_scan_i64(&at, s + n, &v->i64) == 0 && at == s + n)
			return v->i64 < 0 ? KSTAT_DATA_INT64 : KSTAT_DATA_UINT64;
	} else if (ks_scan_u64(&at, s + n, &v->u64) == 0 && at == s + n) {
		return KSTAT_DATA_UINT64;
	}
	for (at = s; at < s + n; at++) {
		if (*at == '.' || *at == 'e' || *at == 'E')
			return ks_scan_double(s, n, &v->d) == 0 ? KSTAT_DATA_DOUBLE : -1;
	}
	return -1;
}

int
ks_capture_data_number(struct ks_capture_builder *b, const char *s, size_t n)
{
	hrtime_t *time = b->member == KS_MEMBER_CRTIME ? &b->k.crtime : &b->k.snaptime;
	int64_t ns;
	int type;

	if (b->member == KS_MEMBER_REJECTED)
		return 1;
	if (b->member == KS_MEMBER_CRTIME || b->member == KS_MEMBER_SNAPTIME) {
		if (ks_scan_seconds(s, n, &ns) != 0) {
			reject_statistic(b, "its time is out of range");
			return 1;
		}
		*time = ns;
		b->has_crtime |= b->member == KS_MEMBER_CRTIME;
		b->has_snaptime |= b->member == KS_MEMBER_SNAPTIME;
		return 1;
	}
	type = scan_number(s, n, &b->v);
	if (type < 0) {
		reject_statistic(b, "its number does not fit 64 bits");
		return 1;
	}
	return add_value(b, (uint8_t)type);
}

static int
add_string(struct ks_capture_builder *b, const unsigned char *str, size_t n, uint32_t *at)
{
	const unsigned char *nul = memchr(str, '\0', n);

	if (nul != NULL)
		reject_statistic(b, "its text has a NUL in it");
	*at = KS_STORE_NULL;
	if (nul == NULL)
		*at = ks_store_add_text(b->store, (const char *)str, n);
	return nul == NULL;
}

int
ks_capture_data_string(struct ks_capture_builder *b, const unsigned char *str, size_t n)
{
	/* A text called crtime is no time but a statistic. */
	if (b->member == KS_MEMBER_REJECTED)
		return 1;
	if (!add_string(b, str, n, &b->v.at))
		return 1;
	b->v.len = (uint32_t)n;
	return b->v.at == KS_STORE_NULL ? fail(b) : add_value(b, KSTAT_DATA_STRING);
}

int
ks_capture_data_null(struct ks_capture_builder *b)
{
	if (b->member == KS_MEMBER_CRTIME || b->member == KS_MEMBER_SNAPTIME)
		reject_statistic(b, "it is not a time");
	if (b->member != KS_MEMBER_OTHER)
		return 1;
	b->v.at = KS_STORE_NULL;
	b->v.len = 0;
	return add_value(b, KSTAT_DATA_STRING);
}

int
ks_capture_data_boolean(struct ks_capture_builder *b, bool value)
{
	if (b->member != KS_MEMBER_OTHER)
		return ks_capture_data_null(b);
	b->v.u64 = value;
	return add_value(b, KSTAT_DATA_UINT64);
}

void
ks_capture_data_object(struct ks_capture_builder *b)
{
	if (b->member != KS_MEMBER_REJECTED)
		reject_statistic(b, "it is an object");
}

/* --- arrays in the data: integers or strings ------------------------------------- */

static void
reject_list(struct ks_capture_builder *b, const char *why)
{
	if (!b->list_rejected)
		reject_statistic(b, why);
	b->list_rejected = true;
}

bool
ks_capture_list_begin(struct ks_capture_builder *b)
{
	if (b->member != KS_MEMBER_OTHER) {
		if (b->member != KS_MEMBER_REJECTED)
			reject_statistic(b, "it is not a time");
		return false;
	}
	b->list_rejected = false;
	ks_store_align(b->store);
	b->v.at = (uint32_t)b->store->text.len;
	b->v.len = 0;
	b->v.type = KSTAT_DATA_INTS;
	return true;
}

void
ks_capture_list_other(struct ks_capture_builder *b)
{
	reject_list(b, "its array is not one of unsigned integers or of strings");
}

int
ks_capture_list_number(struct ks_capture_builder *b, const char *s, size_t n)
{
	struct ks_store_value number;

	if (b->list_rejected)
		return 1;
	if ((b->v.len > 0 && b->v.type != KSTAT_DATA_INTS) ||
	    scan_number(s, n, &number) != KSTAT_DATA_UINT64) {
		ks_capture_list_other(b);
		return 1;
	}
	if (!ks_store_add_number(b->store, number.u64))
		return fail(b);
	b->v.len += (uint32_t)sizeof(number.u64);
	return 1;
}

int
ks_capture_list_string(struct ks_capture_builder *b, const unsigned char *str, size_t n)
{
	uint32_t at;

	if (b->list_rejected)
		return 1;
	if ((b->v.len > 0 && b->v.type != KSTAT_DATA_STRS) || n >= UINT32_MAX - b->v.len) {
		ks_capture_list_other(b);
		return 1;
	}
	if (!add_string(b, str, n, &at)) {
		b->list_rejected = true;
		return 1;
	}
	b->v.type = KSTAT_DATA_STRS;
	b->v.len += (uint32_t)n + 1;
	return at == KS_STORE_NULL ? fail(b) : 1;
}

int
ks_capture_list_end(struct ks_capture_builder *b)
{
	if (b->list_rejected) {
		b->store->text.len = b->v.at;
		return 1;
	}
	return add_value(b, b->v.type);
}
