/*
 * swap.c - devices and files of swap space from /proc/swaps: swap:0:PATH. SPDX-License-Identifier: MIT
 */
#include "source/linux/listing.h"

static const struct ks_file swaps_file = { KS_ROOT_PROC, "swaps", KS_MADE_ANYHOW, false };

enum { S_PATH, S_TYPE, S_SIZE, S_USED, S_PRIORITY };

static const struct ks_field fields[] = {
	[S_PATH] = KS_TEXT("path", KSTAT_DATA_STRING, "path of the device or file, in which \\040 is a blank"),
	[S_TYPE] = KS_TEXT("type", KSTAT_DATA_STRING, "partition (any device) or file"),
	[S_SIZE] = KS_AMOUNT("size", "size of this swap space"),
	[S_USED] = KS_AMOUNT("used", "how much of it is in use"),
	[S_PRIORITY] = KS_GAUGE("priority", KSTAT_DATA_INT64, "the highest is used first"),
	KS_FIELD_END
};

static void
collect_swap(struct ks_linux *lx, struct ks_text line, struct ks_values *vals)
{
	struct ks_text whole = line, type;
	uint64_t v[2];
	int64_t priority;

	ks_have_text(vals, S_PATH, lx->unit->key);
	if (!ks_text_word(&line, &type) || ks_text_numbers(&line, v, 2) != 2 || v[0] > UINT64_MAX / 1024 ||
	    v[1] > UINT64_MAX / 1024) {
		ks_linux_odd_line(lx, lx->im, &whole);
		return;
	}
	ks_have_copy(vals, S_TYPE, &lx->texts, type);
	ks_have(vals, S_SIZE, v[0] * 1024);
	ks_have(vals, S_USED, v[1] * 1024);
	ks_text_skip(&line);
	if (ks_scan_i64(&line.p, line.end, &priority) == 0)
		ks_have(vals, S_PRIORITY, (uint64_t)priority);
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("swap", "@", "vm", .fields = KS_TABLE(fields), .collect = collect_swap,
	    .from = "/proc/swaps", .title = "swap:0:PATH"),
};

/* --- scanning ------------------------------------------------------------------------------ */

/* Removes the path, in which the kernel writes blanks as \040. */
static size_t
take_key(struct ks_text *line, char key[KS_UNIT_NAME])
{
	struct ks_text path;

	if (!ks_text_word(line, &path) || *path.p != '/')
		return 0;
	return ks_listing_key(key, &path);
}

static bool
is_heading(const struct ks_image *im, const struct ks_text *line)
{
	(void)im;
	return ks_text_starts(line, "Filename");
}

static const struct ks_listing listing = { &swaps_file, take_key, is_heading, NULL, NULL };

KS_SUBSYSTEM(swap, parts, .listing = &listing);
