/* exposition.c - see exposition.h. SPDX-License-Identifier: MIT */
#include "chain/exposition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number.h"
#include "chain/chain.h"
#include "chain/metric_family.h"
#include "chain/values.h"
#include "model/blobstat.h"
#include "model/histstat.h"

#define STEP_SAMPLES 1024 /* that one step reads, or writes, about */
#define MOST_LABEL 200    /* bytes of a text that is a label; longer ones are left out */
#define MOST_TEXTS 64     /* labels of one kstat beside those of its header */

/* What a sample's name ends with, and which label of its own it has. */
enum part { PART_VALUE, PART_BUCKET, PART_COUNT, PART_SUM, PART_QUANTILE };

struct sample {
	uint32_t family;
	uint32_t labels; /* offset of the labels of its kstat */
	uint32_t own;    /* BUCKET, QUANTILE: offset of the value of `le` or `quantile` */
	uint8_t part;
	uint8_t kind;    /* enum ks_value_kind: I64, U64, NSEC or DOUBLE */
	uint64_t bits;   /* the value */
};

struct ks_exposition {
	kstat_ctl_t *kc;
	const struct ks_selector *const *selectors;
	size_t nselectors;
	enum ks_exposition_format format;
	kid_t chain_id;
	struct ks_selection sel;
	size_t read;             /* kstats that were read */
	struct ks_values values; /* of the kstat that is being read */
	const kstat_t *ksp;
	uint32_t ksp_labels;
	struct ks_metric_families families;
	struct ks_buf labels;    /* NUL-terminated texts */
	struct ks_table by_labels;
	struct sample *sample;   /* owned; in the order of kstats, then in that of families */
	size_t n, cap;
	uint32_t *order;         /* owned; the samples by family, once all are read */
	size_t written;
	bool ended;
};

struct ks_exposition *
ks_exposition_open(kstat_ctl_t *kc, const struct ks_selector *const *selectors, size_t n,
    enum ks_exposition_format format)
{
	struct ks_exposition *x = calloc(1, sizeof(*x));

	if (x == NULL)
		return ks_fail_null(ENOMEM, "out of memory for an exposition");
	x->kc = kc;
	x->selectors = selectors;
	x->nselectors = n;
	x->format = format;
	x->chain_id = kc->kc_chain_id;
	if (ks_selector_select_any(selectors, n, kc, &x->sel) != 0) {
		free(x);
		return NULL;
	}
	return x;
}

void
ks_exposition_free(struct ks_exposition *x)
{
	if (x == NULL)
		return;
	ks_selection_free(&x->sel);
	ks_values_free(&x->values);
	ks_metric_families_free(&x->families);
	ks_buf_free(&x->labels);
	ks_table_free(&x->by_labels);
	free(x->sample);
	free(x->order);
	free(x);
}

size_t
ks_exposition_samples(const struct ks_exposition *x)
{
	return x->n;
}

/* --- labels -------------------------------------------------------------------------------------------- */

static void
add_label(struct ks_buf *b, const char *name, const char *value, size_t n)
{
	if (b->len > 0 && b->data[b->len - 1] != '\0')
		ks_buf_addc(b, ',');
	ks_buf_adds(b, name);
	ks_buf_adds(b, "=\"");
	ks_metric_escape(b, value, n, true);
	ks_buf_addc(b, '"');
}

/* Whether one of the NUL-terminated texts is this one. */
static bool
has_text(const struct ks_buf *texts, const char *text)
{
	for (size_t at = 0; at < texts->len; at += strlen(texts->data + at) + 1) {
		if (strcmp(texts->data + at, text) == 0)
			return true;
	}
	return false;
}

/*
 * Adds a text statistic: the label has its name as far as the format allows it, with a number if that is taken. Names
 * that start with "__" belong to Prometheus, so of several '_' one is left.
 */
static void
add_text_label(struct ks_exposition *x, struct ks_buf *taken, const struct ks_pair *p)
{
	char name[KSTAT_STRLEN + KS_NUMBER_MAX + 2] = "_";
	size_t n = p->name[0] >= '0' && p->name[0] <= '9' ? 1 : 0, stem;

	for (const char *s = p->name; *s != '\0' && n < KSTAT_STRLEN; s++) {
		char c = ks_is_metric_byte(*s) ? *s : '_';

		if (c != '_' || n == 0 || name[n - 1] != '_')
			name[n++] = c;
	}
	name[n] = '\0';
	stem = n;
	for (uint64_t k = 2; has_text(taken, name); k++) {
		n = stem;
		name[n++] = '_';
		n += ks_format_u64(name + n, k);
		name[n] = '\0';
	}
	ks_buf_add(taken, name, n + 1);
	add_label(&x->labels, name, p->value.str, strnlen(p->value.str, p->value.len));
}

static bool
has_labels(const void *arg, uint32_t slot, const void *key)
{
	const struct ks_exposition *x = arg;

	return strcmp(x->labels.data + slot, key) == 0;
}

/* Appends the labels of the kstat that is being read. Returns how many texts are among them, or -1. */
static long
add_labels(struct ks_exposition *x)
{
	static const char taken_names[] = "module\0instance\0name\0class\0le\0quantile\0kid";
	struct ks_buf taken = KS_BUF_INIT;
	const kstat_t *ksp = x->ksp;
	char text[KS_NUMBER_MAX];
	long texts = 0;
	uint64_t hash;

	x->ksp_labels = (uint32_t)x->labels.len;
	add_label(&x->labels, "module", ksp->ks_module, strlen(ksp->ks_module));
	add_label(&x->labels, "instance", text, ks_format_i64(text, ksp->ks_instance));
	add_label(&x->labels, "name", ksp->ks_name, strlen(ksp->ks_name));
	add_label(&x->labels, "class", ksp->ks_class, strlen(ksp->ks_class));
	ks_buf_add(&taken, taken_names, sizeof(taken_names));
	for (size_t i = 0; i < x->values.n && texts < MOST_TEXTS; i++) {
		const struct ks_pair *p = &x->values.pair[i];

		if (p->value.kind == KS_VALUE_STRING && p->value.len <= MOST_LABEL) {
			add_text_label(x, &taken, p);
			texts++;
		}
	}
	ks_buf_addc(&x->labels, '\0');
	/* A capture may hold several kstats of one name: their IDs tell them apart. */
	hash = x->labels.failed ? 0 : ks_hash_string(0, x->labels.data + x->ksp_labels);
	if (!x->labels.failed && ks_table_find(&x->by_labels, hash, has_labels, x,
	    x->labels.data + x->ksp_labels) != KS_NO_SLOT) {
		x->labels.len--;
		add_label(&x->labels, "kid", text, ks_format_i64(text, (int64_t)ksp->ks_kid));
		ks_buf_addc(&x->labels, '\0');
		hash = ks_hash_string(0, x->labels.data + x->ksp_labels);
	}
	if (taken.failed || x->labels.failed || x->labels.len > UINT32_MAX ||
	    !ks_table_add(&x->by_labels, hash, x->ksp_labels))
		texts = -1;
	ks_buf_free(&taken);
	return texts;
}

/* --- samples ------------------------------------------------------------------------------------------- */

/* Adds a sample of the family; of a kstat's several values for one family, the first alone. 0, or -1. */
static int
add_sample(struct ks_exposition *x, uint32_t family, enum part part, uint32_t own, const struct ks_value *v)
{
	struct ks_metric_family *m;

	if (family == KS_NO_SLOT || x->n >= UINT32_MAX || !KS_RESERVE(x->sample, x->cap, x->n + 1))
		return -1;
	m = &x->families.family[family];
	if (part == PART_VALUE) {
		if (m->last == x->read + 1)
			return 0;
		m->last = (uint32_t)x->read + 1;
	}
	m->samples++;
	x->sample[x->n++] = (struct sample){ family, x->ksp_labels, own, (uint8_t)part, v->kind, v->u64 };
	return 0;
}

static int
add_u64(struct ks_exposition *x, uint32_t family, enum part part, uint32_t own, uint64_t u)
{
	struct ks_value v = { .kind = KS_VALUE_U64, .bits = 64 };

	v.u64 = u;
	return add_sample(x, family, part, own, &v);
}

static const char *
help_of(const struct ks_meta *m)
{
	return m != NULL && m->desc != NULL ? m->desc : "";
}

static bool
is_number(const struct ks_value *v)
{
	return v->kind == KS_VALUE_I64 || v->kind == KS_VALUE_U64 || v->kind == KS_VALUE_DOUBLE ||
	    v->kind == KS_VALUE_NSEC;
}

static bool
is_negative(const struct ks_value *v)
{
	return v->kind == KS_VALUE_DOUBLE ? !(v->d >= 0) : v->kind != KS_VALUE_U64 && v->i64 < 0;
}

static int
add_value(struct ks_exposition *x, const struct ks_pair *p)
{
	const struct ks_meta *m = ks_chain_meta(x->kc, x->ksp, p->name);
	enum ks_metric_type type = m == NULL ? KS_METRIC_UNKNOWN : m->kind == KS_KIND_COUNTER ?
	    KS_METRIC_COUNTER : KS_METRIC_GAUGE;
	struct ks_metric_unit unit;

	if (type == KS_METRIC_COUNTER && is_negative(&p->value))
		return 0; /* a counter must not be */
	ks_metric_unit_of(m, &unit);
	return add_sample(x, ks_metric_family(&x->families, x->ksp->ks_module, p->name, strlen(p->name), type,
	    &unit, help_of(m)), PART_VALUE, 0, &p->value);
}

/* The value of a label `le` or `quantile`: canonical numbers have a decimal point in OpenMetrics. */
static uint32_t
add_bound(struct ks_exposition *x, const struct ks_value *v, const struct ks_metric_unit *unit)
{
	struct ks_buf *b = &x->labels;
	size_t at = b->len;

	ks_metric_number(b, v, unit->times, unit->per);
	if (x->format == KS_EXPOSITION_OPENMETRICS && !b->failed && memchr(b->data + at, '.', b->len - at) == NULL &&
	    memchr(b->data + at, 'e', b->len - at) == NULL)
		ks_buf_adds(b, ".0");
	ks_buf_addc(b, '\0');
	return (uint32_t)at;
}

static uint32_t
add_infinity(struct ks_exposition *x)
{
	uint32_t at = (uint32_t)x->labels.len;

	ks_buf_add(&x->labels, "+Inf", 5);
	return at;
}

static uint64_t
int_at(const char *ints, size_t i)
{
	uint64_t u;

	memcpy(&u, ints + i * sizeof(u), sizeof(u));
	return u;
}

/* A kstat2 histogram. Its buckets have no sum. */
static int
add_histogram(struct ks_exposition *x, const struct ks_histstat *h)
{
	const struct ks_meta *m = ks_chain_meta(x->kc, x->ksp, "buckets");
	struct ks_metric_unit unit;
	uint64_t total = 0;
	uint32_t family;

	ks_metric_unit_of(m, &unit);
	family = ks_metric_family(&x->families, x->ksp->ks_module, "histogram", 9, KS_METRIC_HISTOGRAM, &unit,
	    help_of(m));
	for (uint32_t i = 0; i < h->n; i++) {
		struct ks_value high = { .kind = KS_VALUE_U64, .bits = 64 };
		uint64_t low;

		ks_hist_bounds(&h->layout, i, &low, &high.u64);
		total += int_at(h->buckets, i);
		if (high.u64 != UINT64_MAX &&
		    add_u64(x, family, PART_BUCKET, add_bound(x, &high, &unit), total) != 0)
			return -1;
	}
	return add_u64(x, family, PART_BUCKET, add_infinity(x), total) != 0 ? -1 :
	    add_u64(x, family, PART_COUNT, 0, total);
}

/* --- statsblobs ---------------------------------------------------------------------------------------- */

static const struct {
	const char *ending, *quantile; /* quantile NULL: of a histogram, which is written by its _buckets */
} blob_endings[] = {
	{ "_p50", "0.5" }, { "_p90", "0.9" }, { "_p99", "0.99" }, { "_p999", "0.999" },
	{ "_buckets", NULL }, { "_bounds", NULL }, { "_oob", NULL }, { "_sum", NULL }, { "_count", NULL }
};

/* Returns the value of the VOI's statistic with this ending, or NULL. */
static const struct ks_value *
find_of_voi(const struct ks_exposition *x, const char *voi, size_t len, const char *ending)
{
	for (size_t i = 0; i < x->values.n; i++) {
		const char *name = x->values.pair[i].name;

		if (strncmp(name, voi, len) == 0 && strcmp(name + len, ending) == 0)
			return &x->values.pair[i].value;
	}
	return NULL;
}

/*
 * The greatest value of bucket i, which is where the next one begins: a bucket does not hold its upper bound, so of
 * whole numbers it is the one below. False if there is none: the last bucket holds all above.
 */
static bool
upper_bound(const struct ks_value *bounds, size_t i, struct ks_value *high)
{
	const char *s = bounds->str, *end = bounds->str + bounds->len;

	if (bounds->kind == KS_VALUE_INTS) {
		*high = (struct ks_value){ .kind = KS_VALUE_U64, .bits = 64 };
		high->u64 = i + 1 < bounds->len ? int_at(bounds->str, i + 1) : 0;
		return high->u64-- != 0;
	}
	for (size_t k = 0; k <= i && s < end; k++)
		s += strnlen(s, (size_t)(end - s)) + 1;
	*high = (struct ks_value){ .kind = KS_VALUE_DOUBLE };
	return s < end && ks_scan_double(s, strnlen(s, (size_t)(end - s)), &high->d) == 0;
}

/*
 * The histogram of a VOI. Samples in no bucket are below the first bound where the ranges are continuous. Those of
 * discrete ranges and values, which look the same here, are counted there, too.
 */
static int
add_voi_histogram(struct ks_exposition *x, const char *voi, size_t len, const struct ks_value *buckets)
{
	const struct ks_value *bounds = find_of_voi(x, voi, len, "_bounds");
	const struct ks_value *oob = find_of_voi(x, voi, len, "_oob"), *sum = find_of_voi(x, voi, len, "_sum");
	const struct ks_meta *m;
	struct ks_metric_unit unit;
	char name[KSTAT_STRLEN + 8];
	uint64_t total;
	uint32_t family;

	if (bounds == NULL || (bounds->kind != KS_VALUE_INTS && bounds->kind != KS_VALUE_STRS))
		return 0;
	memcpy(name, voi, len);
	memcpy(name + len, "_bounds", sizeof("_bounds"));
	m = ks_chain_meta(x->kc, x->ksp, name);
	ks_metric_unit_of(m, &unit);
	family = ks_metric_family(&x->families, x->ksp->ks_module, voi, len, KS_METRIC_HISTOGRAM, &unit, "");
	total = oob != NULL && oob->kind == KS_VALUE_U64 ? oob->u64 : 0;
	for (size_t i = 0; i < buckets->len; i++) {
		struct ks_value high;

		total += int_at(buckets->str, i);
		if (upper_bound(bounds, i, &high) &&
		    add_u64(x, family, PART_BUCKET, add_bound(x, &high, &unit), total) != 0)
			return -1;
	}
	if (add_u64(x, family, PART_BUCKET, add_infinity(x), total) != 0 ||
	    add_u64(x, family, PART_COUNT, 0, total) != 0)
		return -1;
	return sum != NULL && is_number(sum) && !is_negative(sum) ? add_sample(x, family, PART_SUM, 0, sum) : 0;
}

static int
add_quantile(struct ks_exposition *x, const struct ks_pair *p, size_t len, const char *quantile)
{
	const struct ks_meta *m = ks_chain_meta(x->kc, x->ksp, p->name);
	char name[KSTAT_STRLEN + 16];
	struct ks_metric_unit unit;
	uint32_t own = (uint32_t)x->labels.len;

	memcpy(name, p->name, len);
	memcpy(name + len, "_quantile", sizeof("_quantile"));
	ks_buf_add(&x->labels, quantile, strlen(quantile) + 1);
	ks_metric_unit_of(m, &unit);
	return add_sample(x, ks_metric_family(&x->families, x->ksp->ks_module, name, strlen(name), KS_METRIC_GAUGE,
	    &unit, ""), PART_QUANTILE, own, &p->value);
}

/* A statistic of a statsblob. */
static int
add_of_blob(struct ks_exposition *x, const struct ks_pair *p)
{
	size_t n = strlen(p->name);

	for (size_t i = 0; i < sizeof(blob_endings) / sizeof(blob_endings[0]); i++) {
		size_t m = strlen(blob_endings[i].ending);
		const struct ks_value *buckets;

		if (n <= m || strcmp(p->name + n - m, blob_endings[i].ending) != 0)
			continue;
		if (blob_endings[i].quantile != NULL)
			return is_number(&p->value) ? add_quantile(x, p, n - m, blob_endings[i].quantile) : 0;
		buckets = find_of_voi(x, p->name, n - m, "_buckets");
		if (buckets != NULL && buckets->kind == KS_VALUE_INTS)
			return &p->value == buckets ? add_voi_histogram(x, p->name, n - m, buckets) : 0;
	}
	return is_number(&p->value) ? add_value(x, p) : 0;
}

/* --- reading ------------------------------------------------------------------------------------------- */

static bool
is_wanted(const struct ks_exposition *x, const char *stat)
{
	for (size_t s = 0; s < x->nselectors; s++) {
		if (ks_selector_matches_stat(x->selectors[s], stat) &&
		    (x->nselectors == 1 || ks_selector_matches(x->selectors[s], x->ksp)))
			return true;
	}
	return false;
}

/* Keeps the values that a selector of the kstat wants, and all texts, which are labels. */
static void
keep_wanted(struct ks_exposition *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->values.n; i++) {
		if (x->values.pair[i].value.kind == KS_VALUE_STRING || is_wanted(x, x->values.pair[i].name))
			x->values.pair[n++] = x->values.pair[i];
	}
	x->values.n = n;
}

static int
add_info(struct ks_exposition *x)
{
	static const struct ks_metric_unit none = { .base = "", .times = 1, .per = 1 };

	return add_u64(x, ks_metric_family(&x->families, x->ksp->ks_module, "", 0, KS_METRIC_INFO, &none, ""),
	    PART_VALUE, 0, 1);
}

/* Adds the samples of one kstat that was read. */
static int
add_kstat(struct ks_exposition *x)
{
	struct ks_histstat histogram;
	bool is_histogram = ks_histstat_open(&histogram, x->ksp), is_blob = ks_blobstat_is(x->ksp);
	size_t before = x->n;
	long texts;
	int rc = 0;

	if (ks_values_collect(&x->values, x->ksp, false) != 0)
		return -1;
	keep_wanted(x);
	texts = add_labels(x);
	if (texts < 0)
		return -1;
	if (is_histogram)
		return is_wanted(x, "buckets") ? add_histogram(x, &histogram) : 0;
	for (size_t i = 0; rc == 0 && i < x->values.n; i++) {
		const struct ks_pair *p = &x->values.pair[i];

		if (is_blob)
			rc = add_of_blob(x, p);
		else if (is_number(&p->value))
			rc = add_value(x, p);
	}
	return rc == 0 && x->n == before && texts > 0 ? add_info(x) : rc;
}

/* Puts the samples into the order of their families. */
static int
sort_samples(struct ks_exposition *x)
{
	struct ks_metric_family *family = x->families.family;
	uint32_t at = 0;

	x->order = malloc((x->n + 1) * sizeof(*x->order));
	if (x->order == NULL)
		return -1;
	for (size_t i = 0; i < x->families.n; i++) {
		uint32_t count = family[i].samples;

		family[i].samples = at;
		at += count;
	}
	for (size_t i = 0; i < x->n; i++)
		x->order[family[x->sample[i].family].samples++] = (uint32_t)i;
	return 0;
}

static int
read_some(struct ks_exposition *x)
{
	size_t end = x->n + STEP_SAMPLES;
	int rc = 0;

	for (; rc == 0 && x->read < x->sel.n && x->n < end; x->read++) {
		kstat_t *ksp = x->sel.ksp[x->read];
		bool is_ours = ksp->ks_data == NULL;

		x->ksp = ksp;
		/* One that cannot be read is left out, and the chain has a warning. */
		if (kstat_read(x->kc, ksp, NULL) >= 0)
			rc = add_kstat(x);
		if (is_ours) {
			free(ksp->ks_data);
			ksp->ks_data = NULL;
		}
		end -= end > x->n; /* reading costs something, too */
	}
	if (rc == 0 && x->read == x->sel.n)
		rc = sort_samples(x);
	return rc;
}

/* --- writing ------------------------------------------------------------------------------------------- */

static void
write_head(const struct ks_exposition *x, const struct ks_metric_family *m, struct ks_buf *out)
{
	static const char *const types[][2] = {
		[KS_METRIC_UNKNOWN] = { "untyped", "unknown" },
		[KS_METRIC_GAUGE] = { "gauge", "gauge" },
		[KS_METRIC_COUNTER] = { "counter", "counter" },
		[KS_METRIC_HISTOGRAM] = { "histogram", "histogram" },
		[KS_METRIC_INFO] = { "gauge", "info" }
	};
	bool open = x->format == KS_EXPOSITION_OPENMETRICS;
	const char *name = ks_metric_text(&x->families, m->name), *unit = ks_metric_text(&x->families, m->unit);
	const char *help = ks_metric_text(&x->families, m->help);
	const char *ending = open ? "" : m->type == KS_METRIC_COUNTER ? "_total" : m->type == KS_METRIC_INFO ?
	    "_info" : "";

	ks_buf_addf(out, "# TYPE %s%s %s\n", name, ending, types[m->type][open]);
	if (open && unit[0] != '\0')
		ks_buf_addf(out, "# UNIT %s %s\n", name, unit);
	ks_buf_addf(out, "# HELP %s%s ", name, ending);
	ks_metric_escape(out, help, strlen(help), open);
	ks_buf_addc(out, '\n');
}

static void
write_sample(const struct ks_exposition *x, const struct sample *s, struct ks_buf *out)
{
	static const char *const endings[] = { [PART_VALUE] = "", [PART_BUCKET] = "_bucket", [PART_COUNT] = "_count",
		[PART_SUM] = "_sum", [PART_QUANTILE] = "" };
	const struct ks_metric_family *m = &x->families.family[s->family];
	struct ks_value v = { .kind = s->kind, .bits = 64 };
	bool count = s->part == PART_BUCKET || s->part == PART_COUNT;

	v.u64 = s->bits;
	ks_buf_add(out, ks_metric_text(&x->families, m->name), m->name_len);
	ks_buf_adds(out, m->type == KS_METRIC_COUNTER ? "_total" : m->type == KS_METRIC_INFO ? "_info" :
	    endings[s->part]);
	ks_buf_addc(out, '{');
	ks_buf_adds(out, x->labels.data + s->labels);
	if (s->part == PART_BUCKET || s->part == PART_QUANTILE) {
		ks_buf_adds(out, s->part == PART_BUCKET ? ",le=\"" : ",quantile=\"");
		ks_buf_adds(out, x->labels.data + s->own);
		ks_buf_addc(out, '"');
	}
	ks_buf_add(out, "} ", 2);
	ks_metric_number(out, &v, count ? 1 : m->times, count ? 1 : m->per);
	ks_buf_addc(out, '\n');
}

static void
write_some(struct ks_exposition *x, struct ks_buf *out)
{
	for (size_t n = 0; n < STEP_SAMPLES && x->written < x->n; n++, x->written++) {
		const struct sample *s = &x->sample[x->order[x->written]];

		if (x->written == 0 || x->sample[x->order[x->written - 1]].family != s->family)
			write_head(x, &x->families.family[s->family], out);
		write_sample(x, s, out);
	}
	if (x->written < x->n)
		return;
	if (x->format == KS_EXPOSITION_OPENMETRICS)
		ks_buf_adds(out, "# EOF\n");
	x->ended = true;
}

int
ks_exposition_step(struct ks_exposition *x, struct ks_buf *out)
{
	if (x->ended)
		return 0;
	if (x->order == NULL) {
		if (x->kc->kc_chain_id != x->chain_id)
			return ks_fail(EAGAIN, "the chain was updated while its metrics were read");
		if (read_some(x) != 0)
			return ks_fail(ENOMEM, "out of memory for metrics");
		return 1;
	}
	write_some(x, out);
	if (out->failed)
		return ks_fail(ENOMEM, "out of memory for metrics");
	return x->ended ? 0 : 1;
}

/* --- HTTP ---------------------------------------------------------------------------------------------- */

#define OPENMETRICS "application/openmetrics-text"

enum ks_exposition_format
ks_exposition_negotiate(const char *accept)
{
	double open = 0, plain = 0;

	while (accept != NULL && *accept != '\0') {
		size_t n = strcspn(accept, ","), type;
		const char *q = accept;
		double weight = 1;

		while (*q == ' ' || *q == '\t')
			q++;
		type = strcspn(q, ",; \t");
		for (const char *p = q + type; p < accept + n; p++) {
			if (strncasecmp(p, ";q=", 3) == 0 || strncasecmp(p, "; q=", 4) == 0) {
				const char *from = strchr(p, '=') + 1;

				if (ks_scan_double(from, strcspn(from, ",; \t"), &weight) != 0)
					weight = 0;
			}
		}
		if (type == sizeof(OPENMETRICS) - 1 && strncasecmp(q, OPENMETRICS, type) == 0)
			open = weight;
		else if (type >= 5 && strncasecmp(q, "text/", 5) == 0 && weight > plain)
			plain = weight;
		accept += n + (accept[n] == ',');
	}
	return open > 0 && open >= plain ? KS_EXPOSITION_OPENMETRICS : KS_EXPOSITION_PROMETHEUS;
}

const char *
ks_exposition_media_type(enum ks_exposition_format format)
{
	return format == KS_EXPOSITION_OPENMETRICS ? OPENMETRICS "; version=1.0.0; charset=utf-8" :
	    "text/plain; version=0.0.4; charset=utf-8";
}
