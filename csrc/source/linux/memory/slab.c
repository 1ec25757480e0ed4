/*
 * slab.c - kernel object caches from /proc/slabinfo, as unix:0:CACHE, class kmem_cache. Only root may read
 * the file: other users do not have these kstats, and get no warning. There are hundreds of caches and the
 * file is slow, so on the running machine they are optional.
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/listing.h"

static const struct ks_file slabinfo_file = { KS_ROOT_PROC, "slabinfo", KS_MADE_ANYHOW, true };

struct state {
	bool was_read; /* a kstat was read since the last scan */
};

enum { S_BUF_SIZE, S_SLAB_SIZE, S_INUSE, S_AVAIL, S_TOTAL, S_SLABS, S_ACTIVE_SLABS };

static const struct ks_field fields[] = {
	[S_BUF_SIZE] = KS_AMOUNT("buf_size", "size of an object"),
	[S_SLAB_SIZE] = KS_AMOUNT("slab_size", "size of a slab, which holds several objects"),
	[S_INUSE] = KS_GAUGE("buf_inuse", KSTAT_DATA_UINT64, "objects in use"),
	[S_AVAIL] = KS_GAUGE("buf_avail", KSTAT_DATA_UINT64, "objects free"),
	[S_TOTAL] = KS_GAUGE("buf_total", KSTAT_DATA_UINT64, "objects in all slabs"),
	[S_SLABS] = KS_GAUGE("slabs", KSTAT_DATA_UINT64, "slabs, which hold the objects of the cache"),
	[S_ACTIVE_SLABS] = KS_GAUGE("slabs_active", KSTAT_DATA_UINT64, "slabs with objects in use"),
	KS_FIELD_END
};

static void
collect_slab(struct ks_linux *lx, struct ks_text line, struct ks_values *vals)
{
	struct state *s = lx->sub[KS_SUB_slab].state;
	struct ks_text word;
	uint64_t v[5], slabs[2];

	s->was_read = true;
	/* active_objs num_objs objsize objperslab pagesperslab : tunables ... : slabdata active num */
	if (ks_text_numbers(&line, v, 5) == 5) {
		ks_have(vals, S_BUF_SIZE, v[2]);
		ks_have(vals, S_SLAB_SIZE, v[4] * lx->page);
		ks_have(vals, S_INUSE, v[0]);
		ks_have(vals, S_AVAIL, v[1] > v[0] ? v[1] - v[0] : 0);
		ks_have(vals, S_TOTAL, v[1]);
	} else {
		ks_linux_odd_line(lx, lx->im, &line);
	}
	while (ks_text_word(&line, &word)) {
		if (ks_text_is(&word, "slabdata") && ks_text_numbers(&line, slabs, 2) == 2) {
			ks_have(vals, S_ACTIVE_SLABS, slabs[0]);
			ks_have(vals, S_SLABS, slabs[1]);
		}
	}
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("unix", "@", "kmem_cache", .fields = KS_TABLE(fields), .collect = collect_slab,
	    .from = "/proc/slabinfo", .title = "unix:0:CACHE"),
};

/* --- scanning ------------------------------------------------------------------------------ */

/* Removes the name from "name <numbers>". */
static size_t
take_key(struct ks_text *line, char key[KS_UNIT_NAME])
{
	struct ks_text name;

	if (*line->p == '#' || !ks_text_word(line, &name) || !ks_text_at_number(line))
		return 0;
	return ks_listing_key(key, &name);
}

static bool
is_heading(const struct ks_image *im, const struct ks_text *line)
{
	(void)im;
	return *line->p == '#' || ks_text_starts(line, "slabinfo ");
}

static const struct ks_listing listing = { &slabinfo_file, take_key, is_heading, NULL, NULL };

/*
 * The file is slow and the list hardly changes, so it is read again only for callers who read caches and need
 * the file in any case.
 */
static int
scan_slab(struct ks_linux *lx, struct ks_units *units)
{
	struct state *s = lx->sub[KS_SUB_slab].state;

	if (units->scanned && !s->was_read && lx->root[KS_ROOT_PROC].kernel)
		return 0;
	s->was_read = false;
	return ks_listing_scan(lx, units, &listing);
}

KS_SUBSYSTEM(slab, parts, .scan = scan_slab, .listing = &listing, .optional = "slab", .state_size = sizeof(struct state));
