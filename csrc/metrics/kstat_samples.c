/* kstat_samples.c - see sample.h. SPDX-License-Identifier: MIT */
#include "metrics/sample.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/number.h"
#include "chain/chain.h"
#include "metrics/histogram.h"
#include "model/blobstat.h"
#include "model/histstat.h"

#define MOST_LABEL 200 /* bytes of a text that is a label; longer ones are left out */
#define MOST_TEXTS 64  /* labels of one kstat beside those of its header */

/* --- labels -------------------------------------------------------------------------------------------- */

static void
add_label(struct ks_metric_samples *s, const char *name, const char *value, size_t n)
{
	ks_metric_add_label(&s->labels, s->ksp_labels, name, value, n);
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

/* Whether a text says how something is now, and not what it is. */
static bool
is_state(const struct ks_metric_samples *s, const char *name)
{
	const struct ks_meta *m = ks_chain_meta(s->kc, s->ksp, name);

	return m != NULL && m->type == KSTAT2_NVMT_STATE;
}

/*
 * Adds a text statistic to the labels of the kstat, or to its states. The label has its name as far as the format
 * allows it, with a number if that is taken. Names that start with "__" belong to Prometheus, so of several '_' one
 * is left.
 */
static void
add_text_label(struct ks_metric_samples *s, const struct ks_pair *p)
{
	char name[KSTAT_STRLEN + KS_NUMBER_MAX + 2] = "_";
	size_t n = p->name[0] >= '0' && p->name[0] <= '9' ? 1 : 0, stem;

	for (const char *from = p->name; *from != '\0' && n < KSTAT_STRLEN; from++) {
		char c = ks_is_metric_byte(*from) ? *from : '_';

		if (c != '_' || n == 0 || name[n - 1] != '_')
			name[n++] = c;
	}
	name[n] = '\0';
	stem = n;
	for (uint64_t k = 2; has_text(&s->taken, name); k++) {
		n = stem;
		name[n++] = '_';
		n += ks_format_u64(name + n, k);
		name[n] = '\0';
	}
	ks_buf_add(&s->taken, name, n + 1);
	n = strnlen(p->value.str, p->value.len);
	if (is_state(s, p->name))
		ks_metric_add_label(&s->states, 0, name, p->value.str, n);
	else
		add_label(s, name, p->value.str, n);
}

/* Adds who publishes the kstat, if somebody does, and of strangers the user's number. */
static void
add_publisher(struct ks_metric_samples *s)
{
	char text[KS_NUMBER_MAX];
	struct ks_origin o;

	s->families.is_published = ks_chain_publisher(s->kc, s->ksp, NULL);
	if (!ks_chain_publisher(s->kc, s->ksp, &o))
		return;
	add_label(s, "publisher", o.name, strlen(o.name));
	ks_buf_add(&s->taken, "publisher", sizeof("publisher"));
	if (o.uid == 0 || o.uid == geteuid())
		return;
	add_label(s, "uid", text, ks_format_u64(text, o.uid));
	ks_buf_add(&s->taken, "uid", sizeof("uid"));
}

/*
 * Appends the labels of the kstat, and stores the labels of its states, which would start new series of all its
 * samples where they change. Returns how many texts there are, or -1.
 */
static long
add_labels(struct ks_metric_samples *s)
{
	static const char taken_names[] = "module\0instance\0name\0class\0le\0quantile\0kid";
	const kstat_t *ksp = s->ksp;
	const char *host = ks_chain_host(s->kc, ksp);
	char text[KS_NUMBER_MAX];
	long texts = 0;
	uint64_t hash = ks_hash_string(ks_hash_string((uint64_t)ksp->ks_instance, ksp->ks_module),
	    ksp->ks_name);

	add_label(s, "module", ksp->ks_module, strlen(ksp->ks_module));
	add_label(s, "instance", text, ks_format_i64(text, ksp->ks_instance));
	add_label(s, "name", ksp->ks_name, strlen(ksp->ks_name));
	add_label(s, "class", ksp->ks_class, strlen(ksp->ks_class));
	ks_buf_reset(&s->taken);
	ks_buf_add(&s->taken, taken_names, sizeof(taken_names));
	ks_buf_reset(&s->states);
	add_publisher(s);
	if (host != NULL) {
		add_label(s, "host", host, strlen(host));
		ks_buf_add(&s->taken, "host", sizeof("host"));
	}
	for (size_t i = 0; i < s->values->n && texts < MOST_TEXTS; i++) {
		const struct ks_pair *p = &s->values->pair[i];

		if (p->value.kind == KS_VALUE_STRING && p->value.len <= MOST_LABEL) {
			add_text_label(s, p);
			texts++;
		}
	}
	ks_buf_addc(&s->labels, '\0');
	ks_buf_addc(&s->states, '\0');
	if (s->taken.failed || s->states.failed || s->labels.failed || s->labels.len > UINT32_MAX)
		return -1;
	/* A capture may hold several kstats of one name: their IDs tell them apart. */
	if (ks_table_find(&s->by_kstat, hash, ks_metric_has_labels, s, s->labels.data + s->ksp_labels) != KS_NO_SLOT) {
		s->labels.len--;
		add_label(s, "kid", text, ks_format_i64(text, (int64_t)ksp->ks_kid));
		ks_buf_addc(&s->labels, '\0');
		return s->labels.failed ? -1 : texts;
	}
	return ks_table_add(&s->by_kstat, hash, s->ksp_labels) ? texts : -1;
}

/* Mixes a text into a hash, eight bytes at a time. */
static uint64_t
mix(uint64_t hash, const char *text, size_t n)
{
	uint64_t word;

	hash ^= n;
	for (; n > 0; text += sizeof(word), n -= n < sizeof(word) ? n : sizeof(word)) {
		word = 0;
		memcpy(&word, text, n < sizeof(word) ? n : sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 32;
	}
	return hash;
}

/* Of what the labels of the kstat are made, beside what it never changes. */
static uint64_t
hash_of_labels(const struct ks_metric_samples *s, const struct ks_origin *o)
{
	uint64_t hash = mix(o->uid, o->name, strlen(o->name));

	for (size_t i = 0; i < s->values->n; i++) {
		const struct ks_value *v = &s->values->pair[i].value;

		if (v->kind == KS_VALUE_STRING)
			hash = mix(hash, v->str, strnlen(v->str, v->len));
	}
	return hash;
}

#define MOST_PASSED 8 /* kstats that were there in the exposition before, and cannot be read in this one */

/* Returns what is known of the labels of the kstat, or NULL. */
static struct ks_metric_labels *
find_known(struct ks_metric_samples *s)
{
	for (size_t i = s->expected_known; i < s->nknown && i < s->expected_known + MOST_PASSED; i++) {
		if (s->known[i].kid == s->kid) {
			s->expected_known = i + 1;
			return &s->known[i];
		}
	}
	return NULL;
}

/* Returns a place for what is known of the labels of one more kstat: all of them come in one exposition. */
static struct ks_metric_labels *
add_known(struct ks_metric_samples *s)
{
	if (s->least_labels > 0 || !KS_RESERVE(s->known, s->known_cap, s->nknown + 1)) {
		s->not_known++;
		return NULL;
	}
	s->expected_known = s->nknown + 1;
	return &s->known[s->nknown++];
}

/*
 * As add_labels(). Most kstats that somebody publishes have the labels that they had in the exposition before, and these
 * are still there: to write them took half of its time.
 */
static long
add_or_keep_labels(struct ks_metric_samples *s)
{
	struct ks_metric_labels *known;
	struct ks_origin o;
	uint64_t hash;
	long texts;

	if (!s->keeps_labels || s->labels.failed || !ks_chain_publisher(s->kc, s->ksp, &o))
		return add_labels(s);
	hash = hash_of_labels(s, &o);
	known = find_known(s);
	if (known != NULL && known->hash == hash) {
		s->families.is_published = true;
		ks_buf_reset(&s->states);
		ks_buf_addc(&s->states, '\0');
		ks_metric_samples_keep_row(s, known->labels);
		return s->states.failed ? -1 : (long)known->texts;
	}
	texts = add_labels(s);
	if (texts < 0 || s->states.data[0] != '\0')
		return texts;
	known = known != NULL ? known : add_known(s);
	if (known != NULL)
		*known = (struct ks_metric_labels){ hash, s->kid, s->ksp_labels, (uint32_t)texts };
	return texts;
}

/* --- samples ------------------------------------------------------------------------------------------- */

/* Returns the number of a statistic of the kstat, see ks_metric_stat(). */
static uint32_t
find_stat(struct ks_metric_samples *s, const char *name, size_t n, enum ks_metric_type type,
    const struct ks_meta *m)
{
	return ks_metric_stat(&s->families, s->kstats, s->ksp->ks_module, name, n, type, m);
}

/* Adds a value of the statistic. 0, or -1. */
static int
add_sample(struct ks_metric_samples *s, uint32_t stat, uint32_t own, const struct ks_value *v)
{
	const struct ks_metric_stat *of;

	if (stat == KS_NO_SLOT)
		return -1;
	of = &s->families.stat[stat];
	return ks_metric_add_sample(s, of->family, of->times, of->per, KS_PART_VALUE, own, v);
}

/* Returns the number of the statistic of a value if it is the one that is expected, or KS_NO_SLOT. */
static uint32_t
find_expected(struct ks_metric_samples *s, const char *name)
{
	const struct ks_metric_use *u = s->expected < s->last.n ? &s->last.use[s->expected] : NULL;

	if (u == NULL || u->kid != s->kid || !ks_metric_stat_again(&s->families, s->kstats, u->stat, name))
		return KS_NO_SLOT;
	s->expected++;
	return u->stat;
}

static int
add_value(struct ks_metric_samples *s, const struct ks_pair *p)
{
	uint32_t stat = find_expected(s, p->name);
	struct ks_metric_family *m;

	if (stat == KS_NO_SLOT) {
		const struct ks_meta *meta = ks_chain_meta(s->kc, s->ksp, p->name);
		enum ks_metric_type type = meta == NULL ? KS_METRIC_UNKNOWN : meta->kind == KS_KIND_COUNTER ?
		    KS_METRIC_COUNTER : KS_METRIC_GAUGE;

		stat = find_stat(s, p->name, strlen(p->name), type, meta);
	}
	if (stat == KS_NO_SLOT || (s->is_again && !KS_RESERVE(s->uses.use, s->uses.cap, s->uses.n + 1)))
		return -1;
	if (s->is_again)
		s->uses.use[s->uses.n++] = (struct ks_metric_use){ s->kid, stat };
	m = &s->families.family[s->families.stat[stat].family];
	if (m->last == s->kstats)
		return 0; /* of several values, the first alone */
	m->last = s->kstats;
	return add_sample(s, stat, 0, &p->value);
}

#define MOST_OF_VOI 16 /* statistics that one VOI may have, and some more */

/*
 * Whether the statistic whose name starts with n bytes and ends with a text is among the values that are
 * wanted. The search begins at value `from`.
 */
static bool
has_value(const struct ks_metric_samples *s, const char *start, size_t n, const char *end, size_t from)
{
	for (size_t i = 0, at = from; i < s->values->n; i++, at++) {
		const char *name;

		at = at < s->values->n ? at : 0;
		name = s->values->pair[at].name;
		if (strncmp(name, start, n) == 0 && strcmp(name + n, end) == 0)
			return true;
	}
	return false;
}

/* --- histograms ---------------------------------------------------------------------------------------- */

/* A kstat2 histogram. */
static int
add_histogram(struct ks_metric_samples *s, const struct ks_histstat *h)
{
	uint32_t stat = find_stat(s, "distribution", strlen("distribution"), KS_METRIC_HISTOGRAM,
	    ks_chain_meta(s->kc, s->ksp, "buckets"));
	const struct ks_metric_stat *of;

	if (stat == KS_NO_SLOT)
		return -1;
	of = &s->families.stat[stat];
	return ks_metric_add_histogram(s, of->family, of->times, of->per, h);
}

/*
 * Stores the greatest value of bucket i: a bucket does not hold its upper bound, where the next one begins,
 * so of whole numbers it is the one below. False: the last bucket holds all above.
 */
static bool
greatest_of_bucket(struct ks_blob_histogram *h, size_t i, struct ks_value *high)
{
	struct ks_value bound;

	if (i + 1 >= h->n)
		return false;
	ks_blob_histogram_bound(h, i + 1, &bound);
	if (bound.kind == KS_VALUE_U64) {
		*high = bound;
		return high->u64-- != 0;
	}
	*high = (struct ks_value){ .kind = KS_VALUE_DOUBLE };
	return ks_scan_double(bound.str, bound.len, &high->d) == 0;
}

/*
 * The histogram of a VOI. Samples in no bucket are below the first bound where the ranges are continuous.
 * Those of discrete ranges and values, which look the same here, are counted there, too. With bounds below
 * zero the sum is no counter, and left out.
 */
static int
add_voi_histogram(struct ks_metric_samples *s, const char *voi, size_t len, struct ks_blob_histogram *h,
    uint32_t from)
{
	uint32_t stat = find_stat(s, voi, len, KS_METRIC_HISTOGRAM,
	    ks_chain_meta(s->kc, s->ksp, h->bounds_name));
	struct ks_metric_stat of;
	struct ks_value v;
	uint64_t total = 0;
	bool has_sum = true;

	if (stat == KS_NO_SLOT)
		return -1;
	of = s->families.stat[stat];
	if (ks_blob_find(s->ksp, voi, len, "_oob", from, &v) != NULL && v.kind == KS_VALUE_U64)
		total = v.u64;
	for (size_t i = 0; i < h->n; i++) {
		total += ks_blob_histogram_count(h, i);
		if (!greatest_of_bucket(h, i, &v))
			continue;
		has_sum = has_sum && !ks_metric_is_negative(&v);
		if (ks_metric_add_bucket(s, of.family, of.times, of.per, &v, total) != 0)
			return -1;
	}
	has_sum = has_sum && ks_blob_find(s->ksp, voi, len, "_sum", from, &v) != NULL &&
	    ks_metric_is_number(&v) && !ks_metric_is_negative(&v);
	return ks_metric_add_total(s, of.family, of.times, of.per, total, has_sum ? &v : NULL);
}

/* A quantile of a digest, which knows no interval: the family says so. */
static int
add_quantile(struct ks_metric_samples *s, const struct ks_pair *p, size_t len, const char *quantile)
{
	const struct ks_meta *m = ks_chain_meta(s->kc, s->ksp, p->name);
	const char *what = m != NULL && m->desc != NULL ? strrchr(m->desc, ':') : NULL; /* "time to answer: median" */
	struct ks_meta of_all = m != NULL ? *m : (struct ks_meta){ .unit = "" };
	char name[KSTAT_STRLEN + sizeof("_quantile_since_creation")], desc[256];
	uint32_t own = (uint32_t)s->labels.len;

	(void)snprintf(name, sizeof(name), "%.*s_quantile_since_creation", (int)len, p->name);
	(void)snprintf(desc, sizeof(desc), "%.*s: quantiles since creation", what != NULL ? (int)(what - m->desc) :
	    (int)len, what != NULL ? m->desc : p->name);
	of_all.desc = desc;
	ks_metric_add_label(&s->labels, own, "quantile", quantile, strlen(quantile));
	ks_buf_addc(&s->labels, '\0');
	return add_sample(s, find_stat(s, name, strlen(name), KS_METRIC_SUMMARY, &of_all), own, &p->value);
}

static const struct {
	const char *ending, *quantile; /* quantile NULL: of a histogram, which is written by its _buckets */
} blob_endings[] = {
	{ "_p50", "0.5" }, { "_p90", "0.9" }, { "_p99", "0.99" }, { "_p999", "0.999" },
	{ "_buckets", NULL }, { "_bounds", NULL }, { "_oob", NULL }, { "_sum", NULL }, { "_count", NULL }
};

/* A statistic of a statsblob. */
static int
add_of_blob(struct ks_metric_samples *s, const struct ks_pair *p)
{
	size_t n = strlen(p->name), at = (size_t)(p - s->values->pair);
	uint32_t from = at > MOST_OF_VOI ? (uint32_t)at - MOST_OF_VOI : 0;

	for (size_t i = 0; i < sizeof(blob_endings) / sizeof(blob_endings[0]); i++) {
		size_t m = strlen(blob_endings[i].ending);
		struct ks_blob_histogram h;

		if (n <= m || strcmp(p->name + n - m, blob_endings[i].ending) != 0)
			continue;
		if (blob_endings[i].quantile != NULL)
			return ks_metric_is_number(&p->value) ? add_quantile(s, p, n - m, blob_endings[i].quantile) : 0;
		if (has_value(s, p->name, n - m, "_buckets", from) &&
		    ks_blob_histogram_open(&h, s->ksp, p->name, n - m, from))
			return p->value.kind == KS_VALUE_INTS && p->value.str == h.buckets.str ?
			    add_voi_histogram(s, p->name, n - m, &h, from) : 0;
	}
	return ks_metric_is_number(&p->value) ? add_value(s, p) : 0;
}

/* --- kstats -------------------------------------------------------------------------------------------- */

static int
add_values(struct ks_metric_samples *s)
{
	bool is_blob = ks_blobstat_is(s->ksp);
	struct ks_histstat histogram;
	int rc = 0;

	if (ks_histstat_open(&histogram, s->ksp))
		return has_value(s, "", 0, "buckets", 0) ? add_histogram(s, &histogram) : 0;
	for (size_t i = 0; rc == 0 && i < s->values->n; i++) {
		const struct ks_pair *p = &s->values->pair[i];

		if (is_blob)
			rc = add_of_blob(s, p);
		else if (ks_metric_is_number(&p->value))
			rc = add_value(s, p);
	}
	return rc;
}

int
ks_metric_samples_add(struct ks_metric_samples *s, kstat_ctl_t *kc, const kstat_t *ksp,
    const struct ks_values *values)
{
	struct ks_value one = { .kind = KS_VALUE_U64, .bits = 64, .u64 = 1 };
	size_t before = s->n;
	long texts;

	while (s->expected < s->last.n && s->last.use[s->expected].kid == s->kid)
		s->expected++; /* of the kstat before, which has fewer values now */
	ks_metric_samples_begin(s, kc, ksp, values);
	texts = add_or_keep_labels(s);
	if (texts < 0 || add_values(s) != 0)
		return -1;
	if (s->states.data[0] == '\0' && (s->n > before || texts == 0))
		return 0;
	return add_sample(s, find_stat(s, "", 0, KS_METRIC_INFO, NULL), ks_metric_own_labels(s, s->states.data), &one);
}
