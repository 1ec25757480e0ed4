/* restore.c - undoes what printing did to kstats and times; see capture.h. SPDX-License-Identifier: MIT */
#include "source/replay/capture/capture.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/number.h"
#include "model/raw_layout.h"

#define MOST_FIELDS 128

/* --- order ------------------------------------------------------------------------- */

static unsigned char
lower(char c)
{
	unsigned char u = (unsigned char)c;

	return u >= 'A' && u <= 'Z' ? (unsigned char)(u | 0x20) : u;
}

int
ks_capture_compare(const char *a, const char *b)
{
	while (*a != '\0' && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return (int)lower(*a) - (int)lower(*b);
}

int
ks_capture_compare_kstats(const struct ks_store *s, const struct ks_store_kstat *a,
    const struct ks_store_kstat *b)
{
	int c = ks_capture_compare(ks_store_text(s, a->module), ks_store_text(s, b->module));

	if (c == 0)
		c = a->instance < b->instance ? -1 : a->instance > b->instance;
	if (c == 0)
		c = ks_capture_compare(ks_store_text(s, a->name), ks_store_text(s, b->name));
	return c;
}

/* Reverses each run of values with equal names. */
static void
reverse_values(const struct ks_store *s, struct ks_store_value *v, size_t n)
{
	for (size_t from = 0, to; from < n; from = to) {
		const char *name = ks_store_text(s, v[from].name);

		for (to = from + 1; to < n; to++) {
			if (ks_capture_compare(name, ks_store_text(s, v[to].name)) != 0)
				break;
		}
		for (size_t i = from, j = to - 1; i < j; i++, j--) {
			struct ks_store_value t = v[i];

			v[i] = v[j];
			v[j] = t;
		}
	}
}

void
ks_capture_restore_order(struct ks_store *s)
{
	struct ks_store_kstat *k = s->kstat;

	for (size_t from = 0, to; from < s->nkstats; from = to) {
		for (to = from + 1; to < s->nkstats; to++) {
			if (ks_capture_compare_kstats(s, &k[from], &k[to]) != 0)
				break;
		}
		for (size_t i = from, j = to - 1; i < j; i++, j--) {
			struct ks_store_kstat t = k[i];

			k[i] = k[j];
			k[j] = t;
		}
	}
}

/* --- class ---------------------------------------------------------------------------- */

/*
 * In captures of -pj, class is among the statistics though it is none. One that differs from
 * the kstat's class is the kstat's own.
 */
static void
drop_class(struct ks_store *s, struct ks_store_kstat *k)
{
	const char *class_ = ks_store_text(s, k->class_);
	struct ks_store_value *v = ks_store_values(s, k);

	for (size_t i = 0; i < k->nvalues; i++) {
		if (v[i].type != KSTAT_DATA_STRING || v[i].at == KS_STORE_NULL ||
		    strcmp(ks_store_text(s, v[i].name), "class") != 0 ||
		    strcmp(ks_store_text(s, v[i].at), class_) != 0)
			continue;
		memmove(v + i, v + i + 1, (k->nvalues - i - 1) * sizeof(*v));
		k->nvalues--;
		s->nvalues--;
		return;
	}
}

/* --- structures --------------------------------------------------------------------------- */

/* The number of a field; `hint` is the one to try first. -1 if there is none of that name. */
static int
field_index(const struct ks_raw_layout *l, const char *name, int hint)
{
	if (l->fields[hint].name != NULL && strcmp(l->fields[hint].name, name) == 0)
		return hint;
	for (int i = 0; l->fields[i].name != NULL; i++) {
		if (strcmp(l->fields[i].name, name) == 0)
			return i;
	}
	return -1;
}

/* Makes the value what the field holds; false if it does not fit. */
static bool
convert(const struct ks_raw_field *f, struct ks_store_value *v)
{
	bool is_unsigned = v->type == KSTAT_DATA_UINT64;

	switch (f->type) {
	case KS_RAW_CHARS:
		return v->type == KSTAT_DATA_STRING && v->at != KS_STORE_NULL && v->len <= f->count;
	case KS_RAW_I32:
		return is_unsigned ? v->u64 <= INT32_MAX : v->type == KSTAT_DATA_INT64 && v->i64 >= INT32_MIN;
	case KS_RAW_U32:
		return is_unsigned && v->u64 <= UINT32_MAX;
	case KS_RAW_NSEC:
		if (v->type == KSTAT_DATA_DOUBLE) { /* seconds, as the Perl module has them */
			double ns = v->d * (double)KS_NANOSEC;

			if (!(ns > -9.2e18 && ns < 9.2e18))
				return false;
			v->type = KSTAT_DATA_INT64;
			v->i64 = llround(ns);
			return true;
		}
		return is_unsigned ? v->u64 <= INT64_MAX : v->type == KSTAT_DATA_INT64;
	default:
		return is_unsigned;
	}
}

/* Hides the fields of a RAW structure that the capture does not have. */
static void
add_hidden(struct ks_store_value *sorted, const struct ks_raw_layout *l, const size_t *seen)
{
	for (size_t f = 0; l->fields[f].name != NULL; f++) {
		bool is_text = l->fields[f].type == KS_RAW_CHARS;

		if (seen[f] > 0)
			continue;
		sorted[f] = (struct ks_store_value){ .type = KSTAT_DATA_UINT64, .width = sizeof(uint64_t), .hidden = true };
		if (is_text)
			sorted[f] = (struct ks_store_value){ .type = KSTAT_DATA_STRING, .hidden = true, .at = KS_STORE_NULL };
	}
}

/*
 * Sorts the values, the last ones of the sample, into the order of the structure's fields, record by record; false if
 * they do not fit. A RAW structure may lack some.
 */
static bool
sort_values(struct ks_store *s, struct ks_store_kstat *k, const struct ks_raw_layout *l)
{
	bool is_raw = k->type == KSTAT_TYPE_RAW;
	size_t nfields = ks_raw_layout_count(l), records = is_raw ? k->nvalues > 0 : k->nvalues / nfields;
	size_t seen[MOST_FIELDS] = { 0 };
	struct ks_store_value *v, *sorted;
	int hint = 0;

	if (nfields > MOST_FIELDS || records == 0 || (!is_raw && records * nfields != k->nvalues) ||
	    (records > 1 && k->type != KSTAT_TYPE_TIMER))
		return false;
	if (!KS_RESERVE(s->value, s->value_cap, s->nvalues + records * nfields)) {
		s->failed = true;
		return false;
	}
	v = &s->value[k->first];
	sorted = s->value + s->nvalues;
	for (size_t i = 0; i < k->nvalues; i++) {
		int f = field_index(l, ks_store_text(s, v[i].name), hint);
		struct ks_store_value *to;

		/* The n-th event's members are the n-th of their names. */
		if (f < 0 || seen[f] >= records)
			return false;
		to = &sorted[seen[f]++ * nfields + (size_t)f];
		*to = v[i];
		if (!convert(&l->fields[f], to))
			return false;
		hint = f + 1;
	}
	if (is_raw)
		add_hidden(sorted, l, seen);
	memmove(v, sorted, records * nfields * sizeof(*v));
	k->nvalues = (uint32_t)(records * nfields);
	k->ndata = (uint_t)records;
	s->nvalues = k->first + k->nvalues;
	return true;
}

static void
restore_structure(struct ks_store *s, struct ks_store_kstat *k)
{
	const struct ks_raw_layout *l = ks_store_layout(s, k);

	if (ks_store_is_statsblob(k))
		return;
	if (l == NULL) {
		s->nvalues = k->first;
		k->nvalues = 0;
	} else if (!sort_values(s, k, l)) {
		k->type = KSTAT_TYPE_NAMED;
	}
}

void
ks_capture_restore(struct ks_store *s, struct ks_store_kstat *k, bool reversed)
{
	drop_class(s, k);
	if (reversed)
		reverse_values(s, ks_store_values(s, k), k->nvalues);
	if (k->type != KSTAT_TYPE_NAMED && k->readable)
		restore_structure(s, k);
	if (k->type == KSTAT_TYPE_NAMED)
		k->ndata = k->nvalues;
}

/* --- times ---------------------------------------------------------------------------------- */

static bool
month_number(const char *name, int *month)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (int i = 0; i < 12; i++) {
		if (strncmp(names + 3 * i, name, 3) == 0) {
			*month = i;
			return true;
		}
	}
	return false;
}

int
ks_capture_time(const char *s, size_t n, int64_t *ns)
{
	char line[64], day[4], month[4], zone[16] = "";
	struct tm tm = { .tm_isdst = -1 };
	time_t t;
	int end = -1;

	while (n > 0 && (s[n - 1] == '\r' || s[n - 1] == ' '))
		n--;
	if (n == 0 || n >= sizeof(line))
		return -1;
	if (ks_scan_seconds(s, n, ns) == 0)
		return 0;
	memcpy(line, s, n);
	line[n] = '\0';
	if (sscanf(line, "%3s %3s %2d %2d:%2d:%2d %4d%n", day, month, &tm.tm_mday, &tm.tm_hour,
	    &tm.tm_min, &tm.tm_sec, &tm.tm_year, &end) != 7 || (size_t)end != n) {
		end = -1;
		if (sscanf(line, "%3s %3s %2d %2d:%2d:%2d %15s %4d%n", day, month, &tm.tm_mday,
		    &tm.tm_hour, &tm.tm_min, &tm.tm_sec, zone, &tm.tm_year, &end) != 8 ||
		    (size_t)end != n)
			return -1;
	}
	if (!month_number(month, &tm.tm_mon) || tm.tm_mday < 1 || tm.tm_mday > 31 ||
	    tm.tm_hour < 0 || tm.tm_hour > 23 || tm.tm_min < 0 || tm.tm_min > 59 ||
	    tm.tm_sec < 0 || tm.tm_sec > 60 || tm.tm_year < 1970)
		return -1;
	tm.tm_year -= 1900;
	if (strcmp(zone, "UTC") == 0 || strcmp(zone, "GMT") == 0 || strcmp(zone, "Z") == 0)
		t = timegm(&tm);
	else
		t = mktime(&tm);
	if (t == (time_t)-1 || __builtin_mul_overflow((int64_t)t, KS_NANOSEC, ns))
		return -1;
	return 0;
}
