/* sample.c - see sample.h. SPDX-License-Identifier: MIT */
#include "metrics/sample.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "chain/chain.h"

void
ks_metric_samples_free(struct ks_metric_samples *s)
{
	ks_metric_families_free(&s->families);
	ks_buf_free(&s->labels);
	free(s->known);
	ks_buf_free(&s->taken);
	ks_buf_free(&s->states);
	ks_table_free(&s->by_kstat);
	free(s->sample);
	free(s->uses.use);
	free(s->last.use);
	free(s->named);
	*s = (struct ks_metric_samples){ .n = 0 };
}

void
ks_metric_samples_again(struct ks_metric_samples *s)
{
	struct ks_metric_uses now = s->uses;

	ks_metric_families_again(&s->families);
	/* Labels that were written anew leave the old ones behind: now and then all begin anew. */
	if (s->nknown == 0 || s->not_known > s->nknown / 8 ||
	    (s->least_labels > 0 && s->labels.len > 2 * s->least_labels)) {
		ks_buf_reset(&s->labels);
		s->nknown = s->least_labels = 0;
	} else if (s->least_labels == 0) {
		s->least_labels = s->labels.len;
	}
	s->expected_known = s->not_known = 0;
	ks_table_clear(&s->by_kstat);
	s->borders.layout.n = 0; /* the labels are gone */
	s->n = s->kstats = 0;
	s->uses = s->last;
	s->last = now;
	s->uses.n = s->expected = 0;
	s->is_again = true;
	s->kid = -1;
}

/* --- labels -------------------------------------------------------------------------------------------- */

bool
ks_metric_has_labels(const void *arg, uint32_t slot, const void *key)
{
	const struct ks_metric_samples *s = arg;

	return strcmp(s->labels.data + slot, key) == 0;
}

bool
ks_metric_labels_are_new(struct ks_metric_samples *s)
{
	const char *labels = s->labels.data + s->ksp_labels;
	uint64_t hash = s->labels.failed ? 0 : ks_hash_string(0, labels);

	return !s->labels.failed && ks_table_find(&s->by_kstat, hash, ks_metric_has_labels, s, labels) == KS_NO_SLOT &&
	    ks_table_add(&s->by_kstat, hash, s->ksp_labels);
}

/* --- samples ------------------------------------------------------------------------------------------- */

int
ks_metric_add_sample(struct ks_metric_samples *s, uint32_t family, uint64_t times, uint64_t per,
    enum ks_metric_part part, uint32_t own, const struct ks_value *v)
{
	struct ks_metric_sample *sample;
	struct ks_metric_family *m = &s->families.family[family];

	if (s->n >= UINT32_MAX || !KS_RESERVE(s->sample, s->cap, s->n + 1))
		return -1;
	if (m->type == KS_METRIC_COUNTER && ks_metric_is_negative(v))
		return 0;
	m->samples++;
	sample = &s->sample[s->n++];
	*sample = (struct ks_metric_sample){ .family = family, .labels = s->ksp_labels, .own = own,
		.part = (uint8_t)part };
	ks_metric_scale(v, times, per, &sample->value);
	return 0;
}

/* In the format that has times of creation, that of a row stands before its labels. */
void
ks_metric_samples_row(struct ks_metric_samples *s, hrtime_t crtime)
{
	if (s->labels.len == 0)
		ks_buf_addc(&s->labels, '\0');
	if (s->format == KS_METRIC_PROTOBUF)
		ks_buf_add(&s->labels, &crtime, sizeof(crtime));
	s->ksp_labels = (uint32_t)s->labels.len;
}

void
ks_metric_samples_keep_row(struct ks_metric_samples *s, uint32_t labels)
{
	if (s->format == KS_METRIC_PROTOBUF)
		s->labels.len -= sizeof(hrtime_t);
	s->ksp_labels = labels;
}

hrtime_t
ks_metric_crtime(const struct ks_metric_samples *s, uint32_t labels)
{
	hrtime_t crtime = 0;

	if (s->format == KS_METRIC_PROTOBUF && labels > 0)
		memcpy(&crtime, s->labels.data + labels - sizeof(crtime), sizeof(crtime));
	return crtime;
}

uint32_t
ks_metric_own_labels(struct ks_metric_samples *s, const char *labels)
{
	uint32_t at;

	if (labels[0] == '\0')
		return 0;
	if (s->labels.len == 0)
		ks_buf_addc(&s->labels, '\0');
	at = (uint32_t)s->labels.len;
	ks_buf_add(&s->labels, labels, strlen(labels) + 1);
	return at;
}

/* The base unit of a publisher's whole numbers, and how many of them are one of it: of "us" 1000000 "seconds". */
static const char *
own_unit(const char *unit, uint64_t *per)
{
	static const struct {
		const char *unit;
		uint64_t per;
	} times[] = { { "ms", 1000 }, { "us", 1000000 }, { "ns", 1000000000 } };
	size_t zeros = strncmp(unit, "0.", 2) == 0 ? strspn(unit + 2, "0") : SIZE_MAX;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		if (strcmp(unit, times[i].unit) == 0) {
			*per = times[i].per;
			return "seconds";
		}
	}
	if (zeros > 9 || unit[2 + zeros] != '1')
		return unit;
	for (size_t i = 0; i <= zeros; i++)
		*per *= 10;
	unit += 3 + zeros;
	return unit + (*unit == ' ');
}

/* Appends the name of a metric that its publisher named itself, see ks_metric_row_family(). False: none has that name. */
static bool
add_own_name(struct ks_buf *b, enum ks_metric_type type, const char *stat, const char *unit)
{
	size_t n = strlen(stat), units = strlen(unit), total = strlen("_total");

	if (type == KS_METRIC_COUNTER && n > total && strcmp(stat + n - total, "_total") == 0)
		n -= total;
	ks_buf_add(b, stat, n);
	if (units > 0 && !(n == units && memcmp(stat, unit, n) == 0) &&
	    !(n > units && stat[n - units - 1] == '_' && memcmp(stat + n - units, unit, units) == 0)) {
		ks_buf_addc(b, '_');
		ks_buf_adds(b, unit);
	}
	for (size_t i = 0; i < b->len; i++) {
		if (!ks_is_metric_byte(b->data[i]) || (i == 0 && b->data[i] >= '0' && b->data[i] <= '9'))
			return false;
	}
	return true;
}

uint32_t
ks_metric_row_family(struct ks_metric_samples *s, const char *family, enum ks_metric_type type, const char *stat,
    const char *unit, const char *desc, uint64_t *per)
{
	struct ks_buf *b = &s->taken;
	size_t help;

	ks_buf_reset(b);
	if (family != NULL)
		ks_buf_adds(b, family);
	else if (!add_own_name(b, type, stat, type == KS_METRIC_GAUGE ? unit : own_unit(unit, per)))
		return KS_NO_SLOT;
	ks_buf_addc(b, '\0');
	help = b->len;
	ks_buf_adds(b, desc[0] != '\0' ? desc : stat);
	ks_buf_addc(b, '\0');
	if (b->failed)
		return KS_NO_SLOT;
	for (size_t i = help; desc[0] == '\0' && i < b->len; i++)
		b->data[i] = b->data[i] == '_' ? ' ' : b->data[i];
	return ks_metric_named_family(&s->families, b->data, type, b->data + help);
}

void
ks_metric_samples_begin(struct ks_metric_samples *s, kstat_ctl_t *kc, const kstat_t *ksp,
    const struct ks_values *values)
{
	bool has_crtime = s->format == KS_METRIC_PROTOBUF && kc != NULL && ks_chain_has_gethrtime(kc, ksp);

	s->kid = ksp->ks_kid;
	s->kc = kc;
	s->ksp = ksp;
	s->values = values;
	s->kstats++;
	ks_metric_samples_row(s, has_crtime ? ksp->ks_crtime : 0);
}
