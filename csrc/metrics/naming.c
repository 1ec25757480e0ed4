/* naming.c - see naming.h. SPDX-License-Identifier: MIT */
#include "metrics/naming.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

/* --- units --------------------------------------------------------------------------------------------- */

#define OF_SCALE 0 /* the scale of the statistic's metadata, or else what such a unit usually is */

/* The one table from units as they are stored to base units, as Prometheus names them. */
static const struct {
	const char *unit, *base;
	uint64_t times, per;
} units[] = {
	{ "bytes", "bytes", 1, 1 }, { "B", "bytes", 1, 1 }, { "KiB", "bytes", 1 << 10, 1 },
	{ "MiB", "bytes", 1 << 20, 1 }, { "GiB", "bytes", 1 << 30, 1 }, { "sectors", "bytes", 512, 1 },
	{ "words", "bytes", 4, 1 }, { "pages", "bytes", OF_SCALE, 1 },
	{ "bytes/s", "bytes_per_second", 1, 1 }, { "KiB/s", "bytes_per_second", 1 << 10, 1 },
	{ "bits", "bytes", 1, 8 }, { "bits/s", "bytes_per_second", 1, 8 },
	{ "Mbit/s", "bytes_per_second", 125000, 1 }, { "Gbit/s", "bytes_per_second", 125000000, 1 },
	{ "ns", "seconds", 1, 1000000000 }, { "us", "seconds", 1, 1000000 }, { "ms", "seconds", 1, 1000 },
	{ "s", "seconds", 1, 1 }, { "seconds", "seconds", 1, 1 }, { "1/10 s", "seconds", 1, 10 },
	{ "1/100 s", "seconds", 1, 100 }, { "ticks", "seconds", 1, OF_SCALE },
	{ "%", "ratio", 1, 100 }, { "percent", "ratio", 1, 100 }, { "1/100 %", "ratio", 1, 10000 },
	{ "ppm", "ratio", 1, 1000000 }, { "1/65536 ppm", "ratio", 1, 65536000000 },
	{ "Hz", "hertz", 1, 1 }, { "kHz", "hertz", 1000, 1 }, { "MHz", "hertz", 1000000, 1 },
	{ "J", "joules", 1, 1 }, { "uJ", "joules", 1, 1000000 },
	{ "W", "watts", 1, 1 }, { "mW", "watts", 1, 1000 }, { "uW", "watts", 1, 1000000 },
	{ "V", "volts", 1, 1 }, { "mV", "volts", 1, 1000 }, { "uV", "volts", 1, 1000000 },
	{ "A", "amperes", 1, 1 }, { "mA", "amperes", 1, 1000 }, { "uA", "amperes", 1, 1000000 },
	{ "degrees C", "celsius", 1, 1 }, { "millidegrees C", "celsius", 1, 1000 }, { "RPM", "rpm", 1, 1 }
};

/* The base unit that a metatype names, for statistics whose unit is no row of the table. */
static const char *
base_of_type(uint8_t type)
{
	switch (type) {
	case KSTAT2_NVMT_BYTES:
		return "bytes";
	case KSTAT2_NVMT_T_EPOCH:
	case KSTAT2_NVMT_T_REL:
	case KSTAT2_NVMT_T_ACC:
		return "seconds";
	case KSTAT2_NVMT_PCT:
		return "ratio";
	case KSTAT2_NVMT_TEMP_C:
		return "celsius";
	case KSTAT2_NVMT_RPM:
		return "rpm";
	case KSTAT2_NVMT_VOLT:
		return "volts";
	case KSTAT2_NVMT_WATT:
		return "watts";
	case KSTAT2_NVMT_CURR:
		return "amperes";
	case KSTAT2_NVMT_FREQ:
		return "hertz";
	default:
		return "";
	}
}

/* A publisher's own unit, such as "jobs", if it is one word. */
static void
keep_own_unit(const char *text, struct ks_metric_unit *unit)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++) {
		if (!ks_is_metric_byte(text[i]))
			return;
	}
	if (n < sizeof(unit->text)) {
		memcpy(unit->text, text, n + 1);
		unit->base = unit->text;
	}
}

void
ks_metric_unit_of(const struct ks_meta *m, struct ks_metric_unit *unit)
{
	bool fract = (m->flags & KSTAT2_NVMF_FRACT) != 0;
	uint64_t scale = m->scale != 0 ? m->scale : 1;

	*unit = (struct ks_metric_unit){ .base = "", .times = 1, .per = 1 };
	for (size_t i = 0; m->unit != NULL && m->unit[0] != '\0' && i < sizeof(units) / sizeof(units[0]); i++) {
		if (units[i].unit[0] != m->unit[0] || strcmp(units[i].unit, m->unit) != 0)
			continue;
		unit->base = units[i].base;
		unit->times = units[i].times;
		unit->per = units[i].per;
		if (unit->times == OF_SCALE)
			unit->times = !fract && scale > 1 ? scale : (uint64_t)sysconf(_SC_PAGESIZE);
		if (unit->per == OF_SCALE)
			unit->per = fract && scale > 1 ? scale : (uint64_t)sysconf(_SC_CLK_TCK);
		return;
	}
	unit->base = base_of_type(m->type);
	unit->times = fract ? 1 : scale;
	unit->per = fract ? scale : 1;
	if (m->type == KSTAT2_NVMT_PCT && unit->times == 1)
		unit->per = unit->per <= UINT64_MAX / 100 ? unit->per * 100 : unit->per;
	if (unit->base[0] == '\0' && scale == 1 && m->unit != NULL)
		keep_own_unit(m->unit, unit);
}

/* --- names --------------------------------------------------------------------------------------------- */

static bool
is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

void
ks_metric_add_name(struct ks_buf *b, const char *s, size_t n, bool words)
{
	char *to = ks_buf_room(b, 2 * n);
	size_t len = 0;

	if (to == NULL)
		return;
	for (size_t i = 0; i < n; i++) {
		char c = is_upper(s[i]) ? (char)(s[i] + ('a' - 'A')) : ks_is_metric_byte(s[i]) ? s[i] : '_';

		if (words && is_upper(s[i]) && i > 0 && s[i - 1] >= 'a' && s[i - 1] <= 'z')
			to[len++] = '_';
		if (c != '_' || (len > 0 ? to[len - 1] : b->data[b->len - 1]) != '_')
			to[len++] = c;
	}
	b->len += len;
}

/* Length without the word at the end, be it all there is or behind a '_'. */
static size_t
without_ending(const char *s, size_t n, const char *word)
{
	size_t m = strlen(word);

	if (m == 0 || n < m || strncasecmp(s + n - m, word, m) != 0)
		return n;
	return n == m ? 0 : s[n - m - 1] == '_' ? n - m - 1 : n;
}

size_t
ks_metric_stem(const char *stat, size_t n, const char *base)
{
	static const char *const others[][2] = {
		{ "seconds", "nsec" }, { "seconds", "usec" }, { "seconds", "msec" }, { "seconds", "sec" },
		{ "seconds", "ns" }, { "seconds", "us" }, { "seconds", "ms" }, { "hertz", "Hz" },
		{ "hertz", "kHz" },
		{ "hertz", "MHz" }, { "ratio", "percent" }, { "ratio", "pct" }
	};
	size_t stem = n;

	if (n > strlen("total"))
		stem = n = without_ending(stat, n, "total");
	n = without_ending(stat, n, base);
	for (size_t i = 0; n == stem && i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(others[i][0], base) == 0)
			n = without_ending(stat, n, others[i][1]);
	}
	return n;
}
