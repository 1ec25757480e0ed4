/* histogram_plot.c - see histogram_plot.h. SPDX-License-Identifier: MIT */
#include "chain/histogram_plot.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "chain/distribution.h"
#include "model/histogram.h"

#define LABEL (KS_NUMBER_MAX + 4)

struct histogram {
	struct ks_hist_layout layout;
	const char *buckets; /* n numbers, maybe unaligned */
	uint32_t n;
};

static const kstat_named_t *
find(const kstat_t *ksp, const char *name, uchar_t type)
{
	const kstat_named_t *kn = ksp->ks_data;

	for (uint_t i = 0; i < ksp->ks_ndata; i++) {
		if (kn[i].data_type == type && strncmp(kn[i].name, name, KSTAT_STRLEN) == 0)
			return &kn[i];
	}
	return NULL;
}

static bool
get_text(const kstat_t *ksp, const char *name, const char **s, size_t *n)
{
	const kstat_named_t *kn = find(ksp, name, KSTAT_DATA_CHAR);

	if (kn != NULL) {
		*s = kn->value.c;
		*n = strnlen(kn->value.c, sizeof(kn->value.c));
		return true;
	}
	/* A capture has it as a string. */
	kn = find(ksp, name, KSTAT_DATA_STRING);
	if (kn == NULL || KSTAT_NAMED_STR_PTR(kn) == NULL)
		return false;
	*s = KSTAT_NAMED_STR_PTR(kn);
	*n = strnlen(*s, KSTAT_NAMED_STR_BUFLEN(kn));
	return true;
}

static bool
get_number(const kstat_t *ksp, const char *name, uint64_t *v)
{
	const kstat_named_t *kn = find(ksp, name, KSTAT_DATA_UINT64);

	if (kn == NULL)
		kn = find(ksp, name, KSTAT_DATA_INT64);
	if (kn != NULL)
		*v = kn->value.ui64;
	return kn != NULL;
}

static bool
understand(const kstat_t *ksp, struct histogram *h)
{
	const kstat_named_t *kn;
	const char *type;
	uint64_t min, max, step;
	size_t n;
	int t;

	if (ksp->ks_type != KSTAT_TYPE_NAMED || ksp->ks_data == NULL || ksp->ks_ndata != 5)
		return false;
	kn = find(ksp, "buckets", KSTAT_DATA_INTS);
	if (kn == NULL || !get_text(ksp, "type", &type, &n) || !get_number(ksp, "range_min", &min) ||
	    !get_number(ksp, "range_max", &max) || !get_number(ksp, "stepping", &step))
		return false;
	t = ks_hist_type_parse(type, n);
	if (t < 0 || ks_hist_layout_init(&h->layout, (kstat2_nv_hist_type_t)t, min, max, step) != 0)
		return false;
	h->buckets = (const char *)kn->value.string.addr.ptr;
	h->n = h->buckets == NULL ? 0 : kn->value.string.len / sizeof(uint64_t);
	return h->n <= h->layout.n;
}

bool
ks_is_histogram(const kstat_t *ksp)
{
	struct histogram h;

	return understand(ksp, &h);
}

static uint64_t
count_of(const struct histogram *h, uint32_t i)
{
	uint64_t v = 0;

	if (i < h->n)
		memcpy(&v, h->buckets + i * sizeof(v), sizeof(v));
	return v;
}

/*
 * The text of bucket i in LABEL bytes: "< 100" for the first of those that start at 0 and end
 * elsewhere, ">= 100000" for the last.
 */
static void
label_of(const struct histogram *h, uint32_t i, char *text)
{
	uint64_t low, high;
	size_t n = 0;

	ks_hist_bounds(&h->layout, i, &low, &high);
	if (i == 0 && high > 0) {
		memcpy(text, "< ", 2);
		n = 2 + ks_format_u64(text + 2, high + 1);
	} else if (i == h->layout.n - 1 && h->layout.type != KSTAT2_NVHIST_LOG2 &&
	    h->layout.type != KSTAT2_NVHIST_LOG10) {
		memcpy(text, ">= ", 3);
		n = 3 + ks_format_u64(text + 3, low);
	} else {
		n = ks_format_u64(text, low);
	}
	text[n] = '\0';
}

/* "value", with the unit if it is a short one. */
static void
add_head(struct ks_buf *b, const char *unit)
{
	char title[24] = "value";

	if (unit != NULL && *unit != '\0' && strlen(unit) < 12)
		(void)snprintf(title, sizeof(title), "value (%s)", unit);
	ks_buf_addc(b, '\t');
	ks_distribution_head(b, title);
}

void
ks_histogram_plot(struct ks_buf *b, const kstat_t *ksp, const struct ks_meta *meta)
{
	struct histogram h;
	uint32_t first, last;
	uint64_t total = 0;

	if (!understand(ksp, &h))
		return;
	for (uint32_t i = 0; i < h.n; i++) {
		if (__builtin_add_overflow(total, count_of(&h, i), &total))
			total = UINT64_MAX;
	}
	if (total == 0) {
		ks_buf_adds(b, "\t(no values)\n");
		return;
	}
	for (first = 0; count_of(&h, first) == 0; first++)
		continue;
	for (last = h.n - 1; count_of(&h, last) == 0; last--)
		continue;
	first -= first > 0;
	last += last + 1 < h.layout.n;
	add_head(b, meta != NULL ? meta->unit : NULL);
	for (uint32_t i = first; i <= last; i++) {
		char label[LABEL];

		label_of(&h, i, label);
		ks_buf_addc(b, '\t');
		ks_distribution_line(b, label, count_of(&h, i), (double)total);
	}
}
