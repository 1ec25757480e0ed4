/* family.c - see family.h. SPDX-License-Identifier: MIT */
#include "metrics/family.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

void
ks_metric_families_free(struct ks_metric_families *f)
{
	free(f->family);
	free(f->stat);
	ks_buf_free(&f->text);
	ks_table_free(&f->by_name);
	ks_table_free(&f->by_stat);
	*f = (struct ks_metric_families){ .n = 0 };
}

bool
ks_metric_families_moved(const struct ks_metric_families *f)
{
	for (size_t i = 0; i < f->nstats; i++) {
		if (f->stat[i].family != f->stat[i].first_family)
			return true;
	}
	return false;
}

void
ks_metric_families_again(struct ks_metric_families *f)
{
	for (size_t i = 0; i < f->n; i++) {
		struct ks_metric_family *m = &f->family[i];

		m->samples = m->last = m->kstat = m->tried_kstat = 0;
	}
	for (size_t i = 0; i < f->nstats; i++)
		f->stat[i].family = f->stat[i].first_family;
}

static uint32_t
add_text(struct ks_buf *b, const char *s, size_t n)
{
	uint32_t at = (uint32_t)b->len;

	ks_buf_add(b, s, n);
	ks_buf_addc(b, '\0');
	return at;
}

/* --- families ------------------------------------------------------------------------------------------ */

/* Names that the samples of a family may have beside its own, and that no other family may have. */
static const char *const endings[][4] = {
	[KS_METRIC_UNKNOWN] = { "", NULL },
	[KS_METRIC_GAUGE] = { "", NULL },
	[KS_METRIC_COUNTER] = { "", "_total", "_created", NULL },
	[KS_METRIC_HISTOGRAM] = { "", "_bucket", "_count", "_sum" },
	[KS_METRIC_SUMMARY] = { "", "_count", "_sum", NULL },
	[KS_METRIC_INFO] = { "", "_info", NULL },
	[KS_METRIC_RESERVED] = { "", "_total", "_created", NULL }
};

/* What servers add to an exposition about themselves. */
static const char *const reserved[] = { "kstat_scrape_seconds", "kstat_scrape_failures",
	"kstat_scrape_left_out_kstats", "kstat_scrape_left_out_statistics", "kstat_rows", "kstat_rows_refused",
	"kstat_values_refused" };

#define MOST_ENDINGS 4

struct name {
	const char *text;
	size_t len;
};

/* Whether family `slot` has this name itself or as the name of samples. */
static bool
has_name(const void *families, uint32_t slot, const void *key)
{
	const struct ks_metric_families *f = families;
	const struct ks_metric_family *m = &f->family[slot];
	const struct name *t = key;

	if (t->len < m->name_len || memcmp(t->text, ks_metric_text(f, m->name), m->name_len) != 0)
		return false;
	for (size_t i = 0; i < MOST_ENDINGS && endings[m->type][i] != NULL; i++) {
		const char *ending = endings[m->type][i];

		if (strlen(ending) == t->len - m->name_len &&
		    memcmp(t->text + m->name_len, ending, t->len - m->name_len) == 0)
			return true;
	}
	return false;
}

/*
 * Walks the names of a family of this type, whose own name is the end of the texts, from `at`. It adds them
 * for family `take`, or, if that is KS_NO_SLOT, returns the first family that has one of them. KS_NO_SLOT:
 * none has, or all were added.
 */
static uint32_t
walk_names(struct ks_metric_families *f, size_t at, enum ks_metric_type type, uint32_t take)
{
	size_t end = f->text.len;
	uint32_t found = KS_NO_SLOT;

	for (size_t i = 0; found == KS_NO_SLOT && i < MOST_ENDINGS && endings[type][i] != NULL; i++) {
		struct name t;
		uint64_t hash;

		ks_buf_adds(&f->text, endings[type][i]);
		t = (struct name){ f->text.data + at, f->text.len - at };
		hash = ks_hash_bytes(0, t.text, t.len);
		if (take == KS_NO_SLOT)
			found = ks_table_find(&f->by_name, hash, has_name, f, &t);
		else if (f->text.failed || !ks_table_add(&f->by_name, hash, take))
			found = take;
		f->text.len = end;
	}
	return found;
}

/* Whether samples of this name and type, in this unit, of one more kstat may be in the family. */
static bool
fits(const struct ks_metric_families *f, const struct ks_metric_family *m, size_t name_len,
    enum ks_metric_type type, const char *unit, uint32_t kstat)
{
	return m->kstat != kstat && m->type == (uint8_t)type && m->is_published == f->is_published && m->name_len == name_len &&
	    strcmp(ks_metric_text(f, m->unit), unit) == 0;
}

/* Adds the family whose name is the end of the texts, from `at`. */
static uint32_t
add_family(struct ks_metric_families *f, size_t at, enum ks_metric_type type, const char *unit,
    const char *help)
{
	uint32_t slot = (uint32_t)f->n;
	struct ks_metric_family *m;

	if (f->n >= KS_NO_SLOT || !KS_RESERVE(f->family, f->cap, f->n + 1) ||
	    walk_names(f, at, type, slot) != KS_NO_SLOT)
		return KS_NO_SLOT;
	m = &f->family[slot];
	*m = (struct ks_metric_family){ .name = (uint32_t)at, .name_len = (uint32_t)(f->text.len - at),
		.type = (uint8_t)type, .is_published = f->is_published };
	ks_buf_addc(&f->text, '\0');
	m->unit = add_text(&f->text, unit, strlen(unit));
	m->help = add_text(&f->text, help, strlen(help));
	f->n++;
	return f->text.failed || f->text.len > UINT32_MAX ? KS_NO_SLOT : slot;
}

/* Sees to it that publishers get none of the reserved names. */
static bool
reserve_names(struct ks_metric_families *f)
{
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		size_t at = f->text.len;

		ks_buf_adds(&f->text, reserved[i]);
		if (f->text.failed || add_family(f, at, KS_METRIC_RESERVED, "", "") == KS_NO_SLOT)
			return false;
	}
	return true;
}

/*
 * Takes its names from a family of what processes publish, for the machine's, which came later. It has no samples: those
 * of the machine are added before those of others.
 */
static void
drop_family(struct ks_metric_families *f, uint32_t slot)
{
	f->family[slot].name_len = UINT32_MAX; /* no text is that long */
	for (size_t i = 0; i < f->nstats; i++) {
		if (f->stat[i].family == slot || f->stat[i].first_family == slot)
			f->stat[i].family = f->stat[i].first_family = KS_NO_SLOT;
	}
}

/*
 * Returns the family kstat_MODULE_STATISTIC[_N]_UNIT in which this kstat has no sample yet. All kstats of a
 * module whose statistics have the same name, type and base unit share one.
 */
static uint32_t
find_or_add_family(struct ks_metric_families *f, uint32_t kstat, const char *module, const char *stat,
    size_t stat_len, enum ks_metric_type type, const char *unit, const char *help)
{
	size_t at, stem;
	uint32_t first = KS_NO_SLOT;

	if (f->n == 0 && !reserve_names(f))
		return KS_NO_SLOT;
	at = f->text.len;
	stat_len = ks_metric_stem(stat, stat_len, unit);
	ks_buf_adds(&f->text, "kstat_");
	ks_metric_add_name(&f->text, module, strlen(module), false);
	if (stat_len > 0)
		ks_buf_addc(&f->text, '_');
	ks_metric_add_name(&f->text, stat, stat_len, true);
	while (f->text.len > at && f->text.data[f->text.len - 1] == '_')
		f->text.len--;
	stem = f->text.len;
	for (uint32_t n = 1; !f->text.failed; n++) {
		uint32_t taken;

		f->text.len = stem;
		if (n > 1)
			ks_buf_addf(&f->text, "_%u", n);
		if (unit[0] != '\0') {
			ks_buf_addc(&f->text, '_');
			ks_buf_adds(&f->text, unit);
		}
		if (f->text.failed)
			break;
		taken = walk_names(f, at, type, KS_NO_SLOT);
		if (taken == KS_NO_SLOT)
			return add_family(f, at, type, unit, help);
		if (fits(f, &f->family[taken], f->text.len - at, type, unit, kstat)) {
			f->text.len = at;
			return taken;
		}
		if (f->family[taken].is_published && !f->is_published) {
			drop_family(f, taken);
			n--;
			continue;
		}
		/* Names of strangers may all look alike: those that this kstat has are not tried again. */
		first = n == 1 ? taken : first;
		if (n == 1 && f->family[first].tried_kstat == kstat)
			n = f->family[first].tried;
		f->family[first].tried = n;
		f->family[first].tried_kstat = kstat;
	}
	return KS_NO_SLOT;
}

uint32_t
ks_metric_named_family(struct ks_metric_families *f, const char *name, enum ks_metric_type type, const char *desc)
{
	size_t at = f->text.len;
	uint32_t taken;

	ks_buf_adds(&f->text, name);
	if (f->text.failed)
		return KS_NO_SLOT;
	taken = walk_names(f, at, type, KS_NO_SLOT);
	if (taken == KS_NO_SLOT)
		return add_family(f, at, type, "", desc != NULL && desc[0] != '\0' ? desc : name);
	taken = fits(f, &f->family[taken], f->text.len - at, type, "", KS_NO_SLOT) ? taken : KS_NO_SLOT;
	f->text.len = at;
	return taken;
}

/* --- statistics ---------------------------------------------------------------------------------------- */

struct stat_key {
	const char *module, *name;
	size_t name_len;
	enum ks_metric_type type;
	const struct ks_meta *meta; /* not NULL */
	const char *unit;           /* its unit, not NULL */
	uint64_t hash;
};

static bool
is_stat(const void *families, uint32_t slot, const void *key)
{
	const struct ks_metric_families *f = families;
	const struct ks_metric_stat *s = &f->stat[slot];
	const struct stat_key *k = key;
	const struct ks_meta *m = k->meta;

	return s->name_len == k->name_len && s->type == (uint8_t)k->type && s->scale == m->scale &&
	    s->flags == m->flags && s->meta_type == m->type && s->is_published == f->is_published &&
	    memcmp(ks_metric_text(f, s->name), k->name, k->name_len) == 0 &&
	    strcmp(ks_metric_text(f, s->module), k->module) == 0 &&
	    strcmp(ks_metric_text(f, s->unit), k->unit) == 0;
}

static uint32_t
add_stat(struct ks_metric_families *f, const struct stat_key *k)
{
	const struct ks_meta *m = k->meta;
	uint32_t slot = (uint32_t)f->nstats;
	struct ks_metric_unit unit;

	if (f->nstats >= KS_NO_SLOT || !KS_RESERVE(f->stat, f->stats_cap, f->nstats + 1))
		return KS_NO_SLOT;
	ks_metric_unit_of(m, &unit);
	f->stat[slot] = (struct ks_metric_stat){ .times = unit.times, .per = unit.per, .family = KS_NO_SLOT,
		.first_family = KS_NO_SLOT, .next = KS_NO_SLOT, .name_len = (uint32_t)k->name_len, .flags = m->flags, .scale = m->scale,
		.type = (uint8_t)k->type, .meta_type = m->type, .is_published = f->is_published };
	f->stat[slot].module = add_text(&f->text, k->module, strlen(k->module));
	f->stat[slot].name = add_text(&f->text, k->name, k->name_len);
	f->stat[slot].unit = add_text(&f->text, k->unit, strlen(k->unit));
	if (f->text.failed || f->text.len > UINT32_MAX || !ks_table_add(&f->by_stat, k->hash, slot))
		return KS_NO_SLOT;
	f->nstats++;
	return slot;
}

/* Most kstats have the same statistics as the one before, in the same order. */
static uint32_t
find_or_add_stat(struct ks_metric_families *f, struct stat_key *k)
{
	uint32_t slot = f->last < f->nstats ? f->stat[f->last].next : KS_NO_SLOT;

	if (slot == KS_NO_SLOT || !is_stat(f, slot, k)) {
		k->hash = ks_hash_bytes(ks_hash_string((uint64_t)k->type, k->module), k->name, k->name_len);
		slot = ks_table_find(&f->by_stat, k->hash, is_stat, f, k);
		if (slot == KS_NO_SLOT)
			slot = add_stat(f, k);
		if (slot != KS_NO_SLOT && f->last < f->nstats)
			f->stat[f->last].next = slot;
	}
	f->last = slot;
	return slot;
}

static uint32_t
choose_family(struct ks_metric_families *f, uint32_t kstat, const struct stat_key *k)
{
	char text[3 * KSTAT_STRLEN];
	const char *help = k->meta->desc;
	struct ks_metric_unit unit;

	ks_metric_unit_of(k->meta, &unit);
	if (help == NULL || help[0] == '\0') {
		(void)snprintf(text, sizeof(text), "%s%.*s of %s", k->name_len > 0 ? "" : "texts",
		    (int)k->name_len, k->name, k->module);
		help = text;
	}
	return find_or_add_family(f, kstat, k->module, k->name, k->name_len, k->type, unit.base, help);
}

bool
ks_metric_stat_again(struct ks_metric_families *f, uint32_t kstat, uint32_t stat, const char *name)
{
	const struct ks_metric_stat *s = &f->stat[stat];
	struct ks_metric_family *m = s->family != KS_NO_SLOT ? &f->family[s->family] : NULL;

	if (m == NULL || (m->kstat == kstat && m->of_kstat != stat) || strcmp(ks_metric_text(f, s->name), name) != 0)
		return false;
	m->kstat = kstat;
	m->of_kstat = stat;
	return true;
}

uint32_t
ks_metric_stat(struct ks_metric_families *f, uint32_t kstat, const char *module, const char *name,
    size_t name_len, enum ks_metric_type type, const struct ks_meta *meta)
{
	static const struct ks_meta none;
	struct stat_key k = { module, name, name_len, type, meta != NULL ? meta : &none,
		meta != NULL && meta->unit != NULL ? meta->unit : "", 0 };
	uint32_t slot = find_or_add_stat(f, &k);
	struct ks_metric_family *m;

	if (slot == KS_NO_SLOT)
		return KS_NO_SLOT;
	m = f->stat[slot].family == KS_NO_SLOT ? NULL : &f->family[f->stat[slot].family];
	if (m == NULL || (m->kstat == kstat && m->of_kstat != slot)) {
		uint32_t family = choose_family(f, kstat, &k);

		if (family == KS_NO_SLOT)
			return KS_NO_SLOT;
		f->stat[slot].family = family;
		if (f->stat[slot].first_family == KS_NO_SLOT)
			f->stat[slot].first_family = family;
		m = &f->family[family];
	}
	m->kstat = kstat;
	m->of_kstat = slot;
	return slot;
}
