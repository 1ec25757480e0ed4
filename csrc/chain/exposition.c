/* exposition.c - see exposition.h. SPDX-License-Identifier: MIT */
#include "chain/exposition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/error.h"
#include "base/number.h"
#include "chain/chain.h"
#include "chain/metric_sample.h"
#include "chain/values.h"

#define STEP_SAMPLES 1024 /* that one step reads, or writes, about */

struct ks_exposition {
	kstat_ctl_t *kc;
	const struct ks_selector *const *selectors;
	size_t nselectors;
	enum ks_exposition_format format;
	kid_t chain_id;
	struct ks_selection sel;
	size_t read;             /* kstats that were read */
	struct ks_values values; /* of the kstat that is being read */
	struct ks_metric_samples s;
	struct ks_buf heads;     /* texts of families, see write_head() */
	size_t known;            /* statistics, after the first time */
	uint32_t *order;         /* owned; the samples by family, once all are read */
	size_t order_cap, written;
	bool sorted, ended;
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
	x->s.is_open = format == KS_EXPOSITION_OPENMETRICS;
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
	ks_metric_samples_free(&x->s);
	ks_buf_free(&x->heads);
	free(x->order);
	free(x);
}

/* Statistics that come and go in one chain, as a file of /proc may have them, are forgotten when they are many. */
#define MOST_NEW 1000

int
ks_exposition_again(struct ks_exposition *x)
{
	bool same = x->kc->kc_chain_id == x->chain_id && x->ended && x->s.families.nstats <= 2 * x->known + MOST_NEW;

	if (same) {
		ks_metric_samples_again(&x->s);
	} else {
		bool is_open = x->s.is_open;

		ks_metric_samples_free(&x->s);
		x->s.is_open = is_open;
		ks_buf_reset(&x->heads);
		x->known = 0;
	}
	x->read = x->written = 0;
	x->sorted = x->ended = false;
	if (x->kc->kc_chain_id == x->chain_id)
		return 0;
	ks_selection_free(&x->sel);
	x->chain_id = x->kc->kc_chain_id;
	return ks_selector_select_any(x->selectors, x->nselectors, x->kc, &x->sel);
}

size_t
ks_exposition_samples(const struct ks_exposition *x)
{
	return x->s.n;
}

/* --- reading ------------------------------------------------------------------------------------------- */

static bool
is_wanted(const struct ks_exposition *x, const kstat_t *ksp, const char *stat)
{
	for (size_t s = 0; s < x->nselectors; s++) {
		if (ks_selector_matches_stat(x->selectors[s], stat) &&
		    (x->nselectors == 1 || ks_selector_matches(x->selectors[s], ksp)))
			return true;
	}
	return false;
}

/* Reads the values that a selector of the kstat wants, and all texts, which are labels. */
static int
add_kstat(struct ks_exposition *x, const kstat_t *ksp)
{
	struct ks_values *v = &x->values;
	size_t n = 0;

	if (ks_values_collect(v, ksp, false) != 0)
		return -1;
	for (size_t i = 0; i < v->n; i++) {
		if (v->pair[i].value.kind == KS_VALUE_STRING || is_wanted(x, ksp, v->pair[i].name))
			v->pair[n++] = v->pair[i];
	}
	v->n = n;
	return ks_metric_samples_add(&x->s, x->kc, ksp, v);
}

/* Puts the samples into the order of their families. */
static int
sort_samples(struct ks_exposition *x)
{
	struct ks_metric_family *family = x->s.families.family;
	uint32_t at = 0;

	if (!KS_RESERVE(x->order, x->order_cap, x->s.n + 1))
		return -1;
	for (size_t i = 0; i < x->s.families.n; i++) {
		uint32_t count = family[i].samples;

		family[i].samples = at;
		at += count;
	}
	for (size_t i = 0; i < x->s.n; i++)
		x->order[family[x->s.sample[i].family].samples++] = (uint32_t)i;
	x->known = x->known > 0 ? x->known : x->s.families.nstats;
	x->sorted = true;
	return 0;
}

static int
read_some(struct ks_exposition *x)
{
	size_t end = x->s.n + STEP_SAMPLES;
	int rc = 0;

	for (; rc == 0 && x->read < x->sel.n && x->s.n < end; x->read++) {
		kstat_t *ksp = x->sel.ksp[x->read];
		bool is_ours = ksp->ks_data == NULL;

		/* One that cannot be read is left out, and the chain has a warning. */
		if (kstat_read(x->kc, ksp, NULL) >= 0)
			rc = add_kstat(x, ksp);
		if (is_ours) {
			free(ksp->ks_data);
			ksp->ks_data = NULL;
		}
		end -= end > x->s.n; /* reading costs something, too */
	}
	if (rc == 0 && x->read == x->sel.n)
		rc = sort_samples(x);
	return rc;
}

/* --- writing ------------------------------------------------------------------------------------------- */

/* Adds the lines before a family's samples to `heads`. */
static void
make_head(struct ks_exposition *x, struct ks_metric_family *m)
{
	struct ks_buf *out = &x->heads;
	static const char *const types[][2] = {
		[KS_METRIC_UNKNOWN] = { "untyped", "unknown" },
		[KS_METRIC_GAUGE] = { "gauge", "gauge" },
		[KS_METRIC_COUNTER] = { "counter", "counter" },
		[KS_METRIC_HISTOGRAM] = { "histogram", "histogram" },
		[KS_METRIC_INFO] = { "gauge", "info" }
	};
	bool open = x->format == KS_EXPOSITION_OPENMETRICS;
	const char *name = ks_metric_text(&x->s.families, m->name);
	const char *unit = ks_metric_text(&x->s.families, m->unit);
	const char *help = ks_metric_text(&x->s.families, m->help);
	const char *ending = open ? "" : m->type == KS_METRIC_COUNTER ? "_total" : m->type == KS_METRIC_INFO ?
	    "_info" : "";

	m->head = (uint32_t)out->len;
	ks_buf_addf(out, "# TYPE %s%s %s\n", name, ending, types[m->type][open]);
	if (open && unit[0] != '\0')
		ks_buf_addf(out, "# UNIT %s %s\n", name, unit);
	ks_buf_addf(out, "# HELP %s%s ", name, ending);
	ks_metric_escape(out, help, strlen(help), open);
	ks_buf_addc(out, '\n');
	m->head_len = (uint32_t)out->len - m->head;
}

static void
write_head(struct ks_exposition *x, struct ks_metric_family *m, struct ks_buf *out)
{
	if (m->head_len == 0)
		make_head(x, m);
	if (x->heads.failed || x->heads.len > UINT32_MAX)
		out->failed = true;
	else
		ks_buf_add(out, x->heads.data + m->head, m->head_len);
}

/* Copies n bytes and returns where they end. */
static inline char *
put(char *to, const char *from, size_t n)
{
	memcpy(to, from, n);
	return to + n;
}

static void
write_sample(const struct ks_exposition *x, const struct ks_metric_sample *s, struct ks_buf *out)
{
	static const char *const endings[] = { [KS_PART_VALUE] = "", [KS_PART_BUCKET] = "_bucket",
		[KS_PART_COUNT] = "_count", [KS_PART_SUM] = "_sum", [KS_PART_QUANTILE] = "" };
	static const char *const own_names[] = { [KS_PART_BUCKET] = ",le=\"",
		[KS_PART_QUANTILE] = ",quantile=\"" };
	const struct ks_metric_family *m = &x->s.families.family[s->family];
	const char *labels = x->s.labels.data + s->labels, *own = "", *own_name = "";
	const char *ending = m->type == KS_METRIC_COUNTER ? "_total" : m->type == KS_METRIC_INFO ? "_info" :
	    endings[s->part];
	size_t labels_len = strlen(labels), own_len;
	char *to;

	if (s->part == KS_PART_BUCKET || s->part == KS_PART_QUANTILE) {
		own_name = own_names[s->part];
		own = x->s.labels.data + s->own;
	}
	own_len = strlen(own);
	to = ks_buf_room(out, m->name_len + labels_len + own_len + 32);
	if (to == NULL)
		return;
	to = put(to, ks_metric_text(&x->s.families, m->name), m->name_len);
	to = put(to, ending, strlen(ending));
	*to++ = '{';
	to = put(to, labels, labels_len);
	if (own_name[0] != '\0') {
		to = put(to, own_name, strlen(own_name));
		to = put(to, own, own_len);
		*to++ = '"';
	}
	to = put(to, "} ", 2);
	out->len = (size_t)(to - out->data);
	ks_metric_add_number(out, &s->value);
	ks_buf_addc(out, '\n');
}

static void
write_some(struct ks_exposition *x, struct ks_buf *out)
{
	const struct ks_metric_sample *sample = x->s.sample;

	for (size_t n = 0; n < STEP_SAMPLES && x->written < x->s.n; n++, x->written++) {
		const struct ks_metric_sample *s = &sample[x->order[x->written]];

		if (x->written == 0 || sample[x->order[x->written - 1]].family != s->family)
			write_head(x, &x->s.families.family[s->family], out);
		write_sample(x, s, out);
	}
	if (x->written < x->s.n)
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
	if (!x->sorted) {
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
			open = weight > open ? weight : open;
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
