/* histogram_plot.c - see histogram_plot.h. SPDX-License-Identifier: MIT */
#include "chain/histogram_plot.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "chain/distribution.h"
#include "model/histstat.h"

#define LABEL (KS_NUMBER_MAX + 4)

static uint64_t
count_of(const struct ks_histstat *h, uint32_t i)
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
label_of(const struct ks_histstat *h, uint32_t i, char *text)
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
	struct ks_histstat h;
	uint32_t first, last;
	uint64_t total = 0;

	if (!ks_histstat_open(&h, ksp))
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
