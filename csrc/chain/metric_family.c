/* metric_family.c - see metric_family.h. SPDX-License-Identifier: MIT */
#include "chain/metric_family.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/printable.h"

void
ks_metric_families_free(struct ks_metric_families *f)
{
	free(f->family);
	ks_buf_free(&f->text);
	ks_table_free(&f->by_key);
	ks_table_free(&f->by_name);
	*f = (struct ks_metric_families){ .n = 0 };
}

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
	bool fract = m != NULL && (m->flags & KSTAT2_NVMF_FRACT) != 0;
	uint64_t scale = m != NULL && m->scale != 0 ? m->scale : 1;

	*unit = (struct ks_metric_unit){ .base = "", .times = 1, .per = 1 };
	if (m == NULL)
		return;
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

/*
 * Appends small letters; where `words`, with '_' between words: InBcastPkts becomes in_bcast_pkts. Of several '_', one
 * is left.
 */
static void
add_name(struct ks_buf *b, const char *s, size_t n, bool words)
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

static uint32_t
add_text(struct ks_buf *b, const char *s, size_t n)
{
	uint32_t at = (uint32_t)b->len;

	ks_buf_add(b, s, n);
	ks_buf_addc(b, '\0');
	return at;
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

/* Length of a statistic's name without what the family's name ends with: total, the base unit, or another of its kind. */
static size_t
without_endings(const char *stat, size_t n, const char *base)
{
	static const char *const others[][2] = {
		{ "seconds", "nsec" }, { "seconds", "usec" }, { "seconds", "msec" }, { "seconds", "sec" },
		{ "seconds", "ns" }, { "seconds", "us" }, { "seconds", "ms" }, { "hertz", "Hz" }, { "hertz", "kHz" },
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

/* Names that the samples of a family may have beside its own, and that no other family may have. */
static const char *const endings[][4] = {
	[KS_METRIC_UNKNOWN] = { "", NULL },
	[KS_METRIC_GAUGE] = { "", NULL },
	[KS_METRIC_COUNTER] = { "", "_total", "_created", NULL },
	[KS_METRIC_HISTOGRAM] = { "", "_bucket", "_count", "_sum" },
	[KS_METRIC_INFO] = { "", "_info", NULL }
};

#define MOST_ENDINGS 4

struct taken_name {
	const struct ks_metric_families *f;
	const char *name;
	size_t len;
};

/* Whether family `slot` has this name itself or as the name of samples. */
static bool
has_name(const void *families, uint32_t slot, const void *key)
{
	const struct ks_metric_families *f = families;
	const struct ks_metric_family *m = &f->family[slot];
	const struct taken_name *t = key;
	const char *own = ks_metric_text(f, m->name);

	if (t->len < m->name_len || memcmp(t->name, own, m->name_len) != 0)
		return false;
	for (size_t i = 0; i < MOST_ENDINGS && endings[m->type][i] != NULL; i++) {
		const char *ending = endings[m->type][i];

		if (strlen(ending) == t->len - m->name_len &&
		    memcmp(t->name + m->name_len, ending, t->len - m->name_len) == 0)
			return true;
	}
	return false;
}

/* Walks the names of a family of this name and type. Returns true if one is taken, or on failure of `take`. */
static bool
any_taken(struct ks_metric_families *f, const char *name, size_t len, enum ks_metric_type type, uint32_t take)
{
	char text[2 * KSTAT_STRLEN + 96];

	for (size_t i = 0; i < MOST_ENDINGS && endings[type][i] != NULL; i++) {
		struct taken_name t = { f, text, 0 };
		uint64_t hash;

		t.len = (size_t)snprintf(text, sizeof(text), "%.*s%s", (int)len, name, endings[type][i]);
		hash = ks_hash_bytes(0, text, t.len);
		if (take == KS_NO_SLOT && ks_table_find(&f->by_name, hash, has_name, f, &t) != KS_NO_SLOT)
			return true;
		if (take != KS_NO_SLOT && !ks_table_add(&f->by_name, hash, take))
			return true;
	}
	return false;
}

/* Appends the name to the text of the families: kstat_MODULE_STATISTIC[_N]_UNIT, which no other family has. */
static void
make_name(struct ks_metric_families *f, const char *module, const char *stat, size_t stat_len,
    enum ks_metric_type type, const char *unit, struct ks_metric_family *m)
{
	size_t at = f->text.len, stem;

	stat_len = without_endings(stat, stat_len, unit);
	ks_buf_adds(&f->text, "kstat_");
	add_name(&f->text, module, strlen(module), false);
	if (stat_len > 0)
		ks_buf_addc(&f->text, '_');
	add_name(&f->text, stat, stat_len, true);
	while (f->text.len > at && f->text.data[f->text.len - 1] == '_')
		f->text.len--;
	stem = f->text.len;
	for (unsigned n = 1; !f->text.failed; n++) {
		f->text.len = stem;
		if (n > 1)
			ks_buf_addf(&f->text, "_%u", n);
		if (unit[0] != '\0') {
			ks_buf_addc(&f->text, '_');
			ks_buf_adds(&f->text, unit);
		}
		if (f->text.failed || !any_taken(f, f->text.data + at, f->text.len - at, type, KS_NO_SLOT))
			break;
	}
	m->name = (uint32_t)at;
	m->name_len = (uint32_t)(f->text.len - at);
	ks_buf_addc(&f->text, '\0');
}

struct family_key {
	const char *module, *stat;
	size_t stat_len;
	enum ks_metric_type type;
	const struct ks_metric_unit *unit;
	uint64_t hash;
};

static bool
has_key(const void *families, uint32_t slot, const void *key)
{
	const struct ks_metric_families *f = families;
	const struct ks_metric_family *m = &f->family[slot];
	const struct family_key *k = key;

	return m->key == k->hash && m->type == (uint8_t)k->type && m->times == k->unit->times &&
	    m->per == k->unit->per && strcmp(ks_metric_text(f, m->unit), k->unit->base) == 0 &&
	    strcmp(ks_metric_text(f, m->module), k->module) == 0 &&
	    strlen(ks_metric_text(f, m->stat)) == k->stat_len &&
	    memcmp(ks_metric_text(f, m->stat), k->stat, k->stat_len) == 0;
}

uint32_t
ks_metric_family(struct ks_metric_families *f, const char *module, const char *stat, size_t stat_len,
    enum ks_metric_type type, const struct ks_metric_unit *unit, const char *help)
{
	struct family_key key = { module, stat, stat_len, type, unit, 0 };
	struct ks_metric_family *m;
	uint32_t slot;

	key.hash = ks_hash_bytes(ks_hash_string((uint64_t)type, module), stat, stat_len);
	slot = ks_table_find(&f->by_key, key.hash, has_key, f, &key);
	if (slot != KS_NO_SLOT)
		return slot;
	if (f->n >= KS_NO_SLOT || !KS_RESERVE(f->family, f->cap, f->n + 1))
		return KS_NO_SLOT;
	slot = (uint32_t)f->n;
	m = &f->family[slot];
	*m = (struct ks_metric_family){ .times = unit->times, .per = unit->per, .key = key.hash,
		.type = (uint8_t)type };
	make_name(f, module, stat, stat_len, type, unit->base, m);
	m->unit = add_text(&f->text, unit->base, strlen(unit->base));
	m->module = add_text(&f->text, module, strlen(module));
	m->stat = add_text(&f->text, stat, stat_len);
	m->help = (uint32_t)f->text.len;
	if (help[0] != '\0')
		ks_buf_adds(&f->text, help);
	else
		ks_buf_addf(&f->text, "%s%.*s of %s", stat_len > 0 ? "" : "texts", (int)stat_len, stat, module);
	ks_buf_addc(&f->text, '\0');
	if (f->text.failed || f->text.len > UINT32_MAX) {
		errno = ENOMEM;
		return KS_NO_SLOT;
	}
	f->n++;
	if (!ks_table_add(&f->by_key, key.hash, slot) ||
	    any_taken(f, ks_metric_text(f, m->name), m->name_len, type, slot))
		return KS_NO_SLOT;
	return slot;
}

/* --- texts and numbers --------------------------------------------------------------------------------- */

void
ks_metric_escape(struct ks_buf *b, const char *s, size_t n, bool quotes)
{
	for (size_t i = 0, len; i < n; i += len) {
		bool printable;

		len = ks_character(s + i, n - i, &printable);
		if (s[i] == '\\' || (quotes && s[i] == '"')) {
			ks_buf_addc(b, '\\');
			ks_buf_addc(b, s[i]);
		} else if (s[i] == '\n') {
			ks_buf_adds(b, "\\n");
		} else if (!printable) {
			ks_buf_adds(b, "\xef\xbf\xbd"); /* the replacement character */
		} else {
			ks_buf_add(b, s + i, len);
		}
	}
}

static void
add_double(struct ks_buf *b, double d)
{
	char text[KS_NUMBER_MAX];

	if (d - d != 0)
		ks_buf_adds(b, d != d ? "NaN" : d > 0 ? "+Inf" : "-Inf");
	else
		ks_buf_add(b, text, ks_format_double(text, d));
}

/* Appends v / per for a power of ten, exactly. */
static void
add_decimal(struct ks_buf *b, uint64_t v, uint64_t per)
{
	char text[2 * KS_NUMBER_MAX];
	uint64_t rest = v % per;
	size_t n = ks_format_u64(text, v / per);

	if (rest != 0)
		text[n++] = '.';
	while (rest != 0) {
		per /= 10;
		text[n++] = (char)('0' + rest / per);
		rest %= per;
	}
	ks_buf_add(b, text, n);
}

static bool
is_power_of_ten(uint64_t n)
{
	while (n % 10 == 0)
		n /= 10;
	return n == 1;
}

void
ks_metric_number(struct ks_buf *b, const struct ks_value *v, uint64_t times, uint64_t per)
{
	bool negative = v->kind != KS_VALUE_U64 && v->kind != KS_VALUE_DOUBLE && v->i64 < 0;
	uint64_t amount = negative ? 0 - v->u64 : v->u64, product;
	double d;

	if (v->kind == KS_VALUE_DOUBLE) {
		add_double(b, v->d * (double)times / (double)per);
		return;
	}
	if (negative)
		ks_buf_addc(b, '-');
	if (!__builtin_mul_overflow(amount, times, &product) && (per == 1 || is_power_of_ten(per))) {
		add_decimal(b, product, per);
		return;
	}
	d = (double)amount * (double)times / (double)per;
	add_double(b, d);
}
