/*
 * slab.c - kernel object caches from /proc/slabinfo, as unix:0:CACHE, class kmem_cache.
 * Only root may read the file; others do not have these kstats, and hear nothing of it. There
 * are hundreds of caches and the file is slow, so on the running machine they are optional.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "base/error.h"
#include "source/linux/linux.h"

enum { S_BUF_SIZE, S_SLAB_SIZE, S_INUSE, S_AVAIL, S_TOTAL, S_SLABS, S_ACTIVE_SLABS };

static const struct ks_field fields[] = {
	[S_BUF_SIZE] = KS_UNITS("buf_size", KS_KIND_GAUGE, KSTAT2_NVMT_BYTES, KSTAT_DATA_UINT64,
	    "bytes", "size of an object"),
	[S_SLAB_SIZE] = KS_UNITS("slab_size", KS_KIND_GAUGE, KSTAT2_NVMT_BYTES, KSTAT_DATA_UINT64,
	    "bytes", "size of a slab, which holds several objects"),
	[S_INUSE] = KS_GAUGE("buf_inuse", KSTAT_DATA_UINT64, "objects in use"),
	[S_AVAIL] = KS_GAUGE("buf_avail", KSTAT_DATA_UINT64, "objects free"),
	[S_TOTAL] = KS_GAUGE("buf_total", KSTAT_DATA_UINT64, "objects in all slabs"),
	[S_SLABS] = KS_GAUGE("slabs", KSTAT_DATA_UINT64, "slabs"),
	[S_ACTIVE_SLABS] = KS_GAUGE("slabs_active", KSTAT_DATA_UINT64, "slabs with objects in use"),
	KS_FIELD_END
};

/* True for the two lines of headings. */
static bool
is_heading(const struct ks_text *line)
{
	return ks_text_empty(line) || *line->p == '#' || ks_text_starts(line, "slabinfo ");
}

/* Takes the name off "name <numbers>"; false if it is something else. */
static bool
take_name(struct ks_text *line, struct ks_text *name)
{
	return !is_heading(line) && ks_text_word(line, name) && ks_text_at_number(line);
}

static void
remember(struct ks_unit *unit, const struct ks_image *im, const struct ks_text *rest)
{
	unit->at = (uint32_t)(rest->p - im->data);
	unit->len = (uint32_t)ks_text_size(rest);
	unit->seq = im->seq;
}

static int
read_slab(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_image *im = ks_linux_image(lx, KS_IMG_SLABINFO);
	struct ks_values vals = { .have = 0 };
	struct ks_text all, line, name;
	uint64_t v[5], slabs[2];

	lx->slab_wanted = true;
	if (im == NULL)
		return -1;
	if (lx->slab_seq != im->seq) {
		all = ks_text_of(im->data, im->len);
		while (ks_text_line(&all, &line)) {
			if (take_name(&line, &name)) {
				struct ks_unit *u = ks_units_find(&lx->units[KS_SUB_SLAB], name.p,
				    ks_text_size(&name));

				if (u != NULL)
					remember(u, im, &line);
			}
		}
		lx->slab_seq = im->seq;
	}
	if (unit->seq != im->seq)
		return ks_linux_gone(unit);
	line = ks_text_of(im->data + unit->at, unit->len);
	/* active_objs num_objs objsize objperslab pagesperslab : tunables ... : slabdata active num */
	if (ks_text_numbers(&line, v, 5) == 5) {
		ks_have(&vals, S_BUF_SIZE, v[2]);
		ks_have(&vals, S_SLAB_SIZE, v[4] * lx->page);
		ks_have(&vals, S_INUSE, v[0]);
		ks_have(&vals, S_AVAIL, v[1] > v[0] ? v[1] - v[0] : 0);
		ks_have(&vals, S_TOTAL, v[1]);
	} else {
		ks_linux_odd_line(lx, im, &line);
	}
	while (ks_text_word(&line, &name)) {
		if (ks_text_is(&name, "slabdata") && ks_text_numbers(&line, slabs, 2) == 2) {
			ks_have(&vals, S_ACTIVE_SLABS, slabs[0]);
			ks_have(&vals, S_SLABS, slabs[1]);
		}
	}
	ks_fields_add(r, fields, &vals);
	return 0;
}

static const struct ks_part parts[] = {
	{ "unix", "@", "kmem_cache", KSTAT_TYPE_NAMED, 0, fields, read_slab, NULL },
	{ .module = NULL },
};

/*
 * The file is slow and the list hardly changes, so it is looked at again only by those who
 * read caches, for whom the reading is not lost.
 */
static int
scan_slab(struct ks_linux *lx, struct ks_units *units)
{
	const struct ks_image *im;
	struct ks_text all, line, name;
	bool fresh;

	if (units->scanned && !lx->slab_wanted && lx->root[KS_ROOT_PROC].kernel)
		return 0;
	lx->slab_wanted = false;
	im = ks_linux_try(lx, KS_IMG_SLABINFO);
	if (im == NULL && errno != EACCES && errno != EPERM)
		im = ks_linux_scan_image(lx, KS_IMG_SLABINFO);
	ks_units_begin(units);
	all = im != NULL ? ks_text_of(im->data, im->len) : ks_text_of("", 0);
	while (ks_text_line(&all, &line)) {
		struct ks_text whole = line;
		struct ks_unit *unit;

		if (!take_name(&line, &name)) {
			if (!is_heading(&whole))
				ks_linux_odd_line(lx, im, &whole);
			continue;
		}
		unit = ks_units_see(units, name.p, ks_text_size(&name), 0, &fresh);
		if (unit == NULL)
			return -1;
		if (fresh) {
			ks_name_set(unit->name, sizeof(unit->name), unit->key, strlen(unit->key));
			unit->parts = 1;
		}
		remember(unit, im, &line);
	}
	if (im != NULL)
		lx->slab_seq = im->seq;
	return ks_units_end(units);
}

const struct ks_subsystem ks_linux_slab = { parts, scan_slab, "slab", NULL };
