/* when.c - see when.h. SPDX-License-Identifier: MIT */
#include "base/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"

#define DAY 86400 /* s */

/* A time of the calendar, as far as it was typed. */
struct typed {
	struct tm tm;      /* the date, where it is complete, and the time of day */
	int64_t fraction;  /* ns */
	bool has_date, has_time, has_half, has_zone;
	bool is_last;      /* of a weekday: not today */
	int zone;          /* seconds by which it is ahead of UTC */
	int weekday;       /* 0: Sunday; -1: none */
	int days_ago;      /* of today and yesterday; -1: neither */
};

/* --- reading ----------------------------------------------------------------------------- */

/* Reads seconds since 1970; those that do not fit become INT64_MIN or INT64_MAX. */
static bool
read_seconds(const char *text, int64_t *ns)
{
	size_t n = strlen(text), sign = *text == '-';
	size_t digits = strspn(text + sign, "0123456789");

	if (ks_scan_seconds(text, n, ns) == 0)
		return true;
	if (digits == 0)
		return false;
	if (text[sign + digits] == '.')
		digits += 1 + strspn(text + sign + digits + 1, "0123456789");
	*ns = sign ? INT64_MIN : INT64_MAX;
	return sign + digits == n && text[n - 1] != '.';
}

/* The seconds of a unit of n letters: its first letter, or behind `ago` as much of its name as there is; 0: none. */
static int
unit_of(const char *word, size_t n, bool letter_only)
{
	static const struct {
		const char *name, *other;
		int seconds;
	} units[] = { { "seconds", "secs", 1 }, { "minutes", "mins", 60 }, { "hours", "hrs", 3600 }, { "days", "days", DAY },
		{ "weeks", "weeks", 7 * DAY } };

	for (size_t i = 0; n > 0 && i < sizeof(units) / sizeof(units[0]); i++) {
		if (letter_only ? n == 1 && i < 4 && *word == units[i].name[0] :
		    strncasecmp(word, units[i].name, n) == 0 ||
		    (strlen(units[i].other) == n && strncasecmp(word, units[i].other, n) == 0))
			return units[i].seconds;
	}
	return 0;
}

static size_t
count_letters(const char *text)
{
	size_t n = 0;

	while (isalpha((unsigned char)text[n]))
		n++;
	return n;
}

/* Reads "-3h", "-1h30m", "3h ago", "2 days ago": how long before the reference. */
static bool
read_ago(const char *text, int64_t *ago)
{
	bool minus = *text == '-';
	const char *space = minus ? "" : " ";

	*ago = 0;
	text += minus;
	if (!isdigit((unsigned char)*text))
		return false;
	while (isdigit((unsigned char)*text)) {
		size_t digits = strspn(text, "0123456789."), n;
		const char *word = text + digits + strspn(text + digits, space);
		int64_t part;
		int seconds;

		n = minus ? *word != '\0' : count_letters(word);
		seconds = unit_of(word, n, minus);
		if (seconds == 0 || ks_scan_seconds(text, digits, &part) != 0)
			return false;
		if (__builtin_mul_overflow(part, seconds, &part) || __builtin_add_overflow(*ago, part, ago))
			*ago = INT64_MAX;
		text = word + n;
		text += strspn(text, space);
	}
	return strcasecmp(text, minus ? "" : "ago") == 0;
}

/* Reads a number of at most n digits, from `least` to `most`, and moves behind it. */
static bool
read_number(const char **at, int n, int least, int most, int *to)
{
	const char *start = *at;

	*to = 0;
	while (*at < start + n && isdigit((unsigned char)**at))
		*to = 10 * *to + (*(*at)++ - '0');
	return *at > start && *to >= least && *to <= most;
}

static bool
read_mark(const char **at, char mark)
{
	return **at == mark && (*at)++ != NULL;
}

static bool
has_day(const struct tm *tm)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int year = tm->tm_year + 1900;
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return tm->tm_mday <= days[tm->tm_mon] + (leap && tm->tm_mon == 1);
}

/* Reads "2026-11-21". */
static bool
read_date(const char **at, struct typed *t)
{
	if (!read_number(at, 4, 0, 9999, &t->tm.tm_year) || !read_mark(at, '-') ||
	    !read_number(at, 2, 1, 12, &t->tm.tm_mon) || !read_mark(at, '-') ||
	    !read_number(at, 2, 1, 31, &t->tm.tm_mday))
		return false;
	t->tm.tm_year -= 1900;
	t->tm.tm_mon--;
	t->has_date = true;
	return has_day(&t->tm);
}

/* Reads "am" or "pm" behind an hour of twelve; false: it does not fit. */
static bool
read_half(const char **at, struct typed *t)
{
	const char *word = *at + strspn(*at, " ");
	bool pm = strncasecmp(word, "pm", 2) == 0;

	if ((!pm && strncasecmp(word, "am", 2) != 0) || isalpha((unsigned char)word[2]))
		return true;
	*at = word + 2;
	t->has_half = t->tm.tm_hour >= 1 && t->tm.tm_hour <= 12;
	t->tm.tm_hour = t->tm.tm_hour % 12 + (pm ? 12 : 0);
	return t->has_half;
}

/* Reads the "Z" or "+02:00" of a time that a log prints. */
static bool
read_zone(const char **at, struct typed *t)
{
	int sign = **at == '-' ? -1 : 1, hours, minutes;

	t->has_zone = t->has_date && strchr("Zz+-", **at) != NULL && **at != '\0';
	if (!t->has_zone || isalpha((unsigned char)*(*at)++))
		return true;
	if (!read_number(at, 2, 0, 14, &hours))
		return false;
	(void)read_mark(at, ':');
	t->zone = sign * 60 * (60 * hours);
	if (!isdigit((unsigned char)**at))
		return true;
	if (!read_number(at, 2, 0, 59, &minutes))
		return false;
	t->zone += sign * 60 * minutes;
	return true;
}

/* Reads "14:32", "14:32:10", "14:32:10.5", "3:12am", "3pm". */
static bool
read_clock(const char **at, struct typed *t)
{
	size_t digits;

	if (t->has_time || !read_number(at, 2, 0, 23, &t->tm.tm_hour))
		return false;
	t->has_time = true;
	if (!read_mark(at, ':'))
		return read_half(at, t) && t->has_half;
	if (!read_number(at, 2, 0, 59, &t->tm.tm_min))
		return false;
	if (read_mark(at, ':')) {
		if (!read_number(at, 2, 0, 60, &t->tm.tm_sec))
			return false;
		digits = **at == '.' ? 1 + strspn(*at + 1, "0123456789") : 0;
		*at += digits;
		/* With the last digit before the point it is a number. */
		if (digits > 0 && ks_scan_seconds(*at - digits - 1, digits + 1, &t->fraction) != 0)
			return false;
		t->fraction %= KS_NANOSEC;
	}
	return read_half(at, t) && read_zone(at, t);
}

/* Reads "today", "yesterday", a weekday, of which three letters are enough and which may have "last" before it, "noon". */
static bool
read_day(const char **at, struct typed *t)
{
	static const char *const days[] = { "sunday", "monday", "tuesday", "wednesday", "thursday", "friday",
		"saturday", "today", "yesterday" };
	const char *word = *at;
	size_t n = count_letters(word);

	*at += n;
	if (n == 4 && strncasecmp(word, "noon", n) == 0 && !t->has_time) {
		t->has_time = true;
		t->tm.tm_hour = 12;
		return true;
	}
	if (n == 4 && strncasecmp(word, "last", n) == 0 && !t->is_last)
		return t->is_last = true;
	for (int i = 0; i < 9; i++) {
		if (n < 3 || strncasecmp(days[i], word, n) != 0 || (i > 6 && days[i][n] != '\0'))
			continue;
		if (t->has_date || t->weekday >= 0 || t->days_ago >= 0 || (t->is_last && i > 6))
			return false;
		t->weekday = i < 7 ? i : -1;
		t->days_ago = i < 7 ? -1 : i - 7;
		return true;
	}
	return false;
}

/* Reads a day and a time of day, or one of them, in either order. */
static bool
read_calendar(const char *text, struct typed *t)
{
	const char *at = text;

	*t = (struct typed){ .weekday = -1, .days_ago = -1 };
	while (*at != '\0') {
		size_t digits = strspn(at, "0123456789");
		bool is_date = at[digits] == '-' && !t->has_date && t->weekday < 0 && t->days_ago < 0;

		if (!(digits == 0 ? read_day(&at, t) : is_date ? read_date(&at, t) : read_clock(&at, t)))
			return false;
		if (*at != '\0' && *at != ' ' && !(is_date && (*at == 'T' || *at == 't')))
			return false;
		at += *at != '\0';
		at += strspn(at, " ");
	}
	if (t->is_last && t->weekday < 0)
		return false;
	return t->has_date || t->has_time || t->weekday >= 0 || t->days_ago >= 0;
}

/* --- the calendar ------------------------------------------------------------------------ */

/* Seconds by which local time is ahead of UTC at a time. */
static int64_t
offset_at(int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;

	return localtime_r(&t, &tm) != NULL ? tm.tm_gmtoff : 0;
}

/* The first time in (from, to] with the offset of `to`, where the offset changes once between them. */
static int64_t
change_between(int64_t from, int64_t to)
{
	int64_t offset = offset_at(to);

	while (to - from > 1) {
		int64_t middle = from + (to - from) / 2;

		if (offset_at(middle) == offset)
			to = middle;
		else
			from = middle;
	}
	return to;
}

/* The seconds since 1970 of a local time; adds what there is to say of it to *flags. */
static int64_t
seconds_of(const struct tm *local, int *flags)
{
	struct tm tm = *local;
	int64_t utc = timegm(&tm);
	int64_t early = utc - offset_at(utc - DAY), late = utc - offset_at(utc + DAY);
	bool is_early = early + offset_at(early) == utc, is_late = late + offset_at(late) == utc;

	if (is_early && is_late && early != late)
		*flags |= KS_WHEN_TWICE;
	if (is_early)
		return early;
	if (is_late)
		return late;
	*flags |= KS_WHEN_NEVER;
	return change_between(late, early);
}

/* Moves a date by days. */
static void
move_days(struct tm *tm, int days)
{
	struct tm noon = { .tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday + days, .tm_hour = 12 };

	(void)timegm(&noon);
	tm->tm_year = noon.tm_year;
	tm->tm_mon = noon.tm_mon;
	tm->tm_mday = noon.tm_mday;
}

/* Completes a time that has no date, by the reference in seconds; stores its seconds since 1970. */
static int
complete(struct typed *t, int64_t reference, int64_t *seconds)
{
	time_t time = (time_t)reference;
	int again = t->weekday >= 0 ? -7 : -1, flags = 0;
	struct tm tm;

	if (localtime_r(&time, &tm) == NULL)
		return -1;
	t->tm.tm_year = tm.tm_year;
	t->tm.tm_mon = tm.tm_mon;
	t->tm.tm_mday = tm.tm_mday;
	if (t->weekday >= 0)
		move_days(&t->tm, -((tm.tm_wday - t->weekday + (t->is_last ? 6 : 7)) % 7) - t->is_last);
	else if (t->days_ago > 0)
		move_days(&t->tm, -t->days_ago);
	*seconds = seconds_of(&t->tm, &flags);
	if (*seconds > reference && t->days_ago < 0) {
		move_days(&t->tm, again);
		flags = 0;
		*seconds = seconds_of(&t->tm, &flags);
	}
	return flags | KS_WHEN_RELATIVE | (t->weekday < 0 && t->days_ago < 0 ? KS_WHEN_DAILY : 0);
}

int
ks_when_read(const char *text, int64_t reference, int64_t *ns)
{
	struct typed t;
	int64_t seconds = 0, ago;
	int flags = 0;

	if (read_seconds(text, ns))
		return 0;
	if (strcasecmp(text, "now") == 0) {
		*ns = reference;
		return KS_WHEN_RELATIVE;
	}
	if (read_ago(text, &ago)) {
		if (__builtin_sub_overflow(reference, ago, ns))
			*ns = INT64_MIN;
		return KS_WHEN_RELATIVE;
	}
	if (!read_calendar(text, &t))
		return -1;
	if (t.has_zone)
		seconds = timegm(&t.tm) - t.zone;
	else if (t.has_date)
		seconds = seconds_of(&t.tm, &flags);
	else
		flags = complete(&t, reference / KS_NANOSEC, &seconds);
	if (__builtin_mul_overflow(seconds, KS_NANOSEC, ns) || __builtin_add_overflow(*ns, t.fraction, ns))
		*ns = seconds < 0 ? INT64_MIN : INT64_MAX;
	return flags;
}

/* --- for people ---------------------------------------------------------------------------- */

/* Fails for a date such as 10/27, which has two readings. */
static int
fail_slashes(const char *text, int64_t reference, int a, int b)
{
	time_t now = (time_t)(reference / KS_NANOSEC);
	struct tm tm;
	int year = localtime_r(&now, &tm) != NULL ? tm.tm_year + 1900 : 1970;

	return ks_fail(EINVAL, "'%.40s' has two readings: month/day is %d-%02d-%02d, day/month is %d-%02d-%02d; type one of "
	    "these", text, year, a, b, year, b, a);
}

const char *
ks_when_write(char to[KS_WHEN_SIZE], int64_t ns)
{
	time_t seconds = (time_t)(ns / KS_NANOSEC - (ns % KS_NANOSEC < 0));
	struct tm tm;

	if (localtime_r(&seconds, &tm) == NULL || strftime(to, KS_WHEN_SIZE, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		(void)snprintf(to, KS_WHEN_SIZE, "%lld", (long long)(ns / KS_NANOSEC));
	return to;
}

int
ks_when_need(const char *text, int64_t reference, int64_t *ns)
{
	int flags = ks_when_read(text, reference, ns);

	const char *at = text;
	int a, b;

	if (flags >= 0)
		return flags;
	if (read_number(&at, 2, 1, 31, &a) && read_mark(&at, '/') && read_number(&at, 2, 1, 31, &b))
		return fail_slashes(text, reference, a, b);
	return ks_fail(EINVAL, "'%.40s' is not a time; times are 14:32, 3:12am, noon, now, today, yesterday 3:12, mon 9:00, "
	    "last tuesday 16:00, 2026-11-21 14:05, 2026-11-21T14:05:10Z, -3h, 3h ago, 2 days ago, 1795269900", text);
}

int64_t
ks_when_end(const char *text, int64_t ns)
{
	bool whole = strchr(text, '.') == NULL && ns % KS_NANOSEC == 0 && ns <= INT64_MAX - KS_NANOSEC;

	return whole ? ns + KS_NANOSEC - 1 : ns;
}

const char *
ks_when_remark(char to[KS_WHEN_REMARK_SIZE], const char *text, int64_t ns, int flags)
{
	char when[KS_WHEN_SIZE];

	(void)snprintf(to, KS_WHEN_REMARK_SIZE, flags & KS_WHEN_TWICE ?
	    "'%.40s' was there twice, because clocks were set back: this is the first one" :
	    "'%.40s' was never there, because clocks were set forward: this is %s", text, ks_when_write(when, ns));
	return to;
}
