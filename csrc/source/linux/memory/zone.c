/*
 * zone.c - zones of memory: zone:NODE:NAME from /proc/zoneinfo, which is long and optional, and their free blocks,
 * zone:NODE:NAME,free, from /proc/buddyinfo. SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "source/linux/described.h"
#include "source/linux/listing.h"

static const struct ks_file zoneinfo_file = { KS_ROOT_PROC, "zoneinfo", KS_MADE_ANYHOW, false };
static const struct ks_file buddyinfo_file = { KS_ROOT_PROC, "buddyinfo", KS_MADE_BRIEFLY, false };

/* Takes "Node 0, zone   Normal" from a line; false if it is another line. */
static bool
take_heading(struct ks_text *line, uint64_t *node, struct ks_text *zone)
{
	struct ks_text t = *line, word;

	if (!ks_text_word(&t, &word) || !ks_text_is(&word, "Node") || !ks_text_u64(&t, node) || *node > INT32_MAX ||
	    !ks_text_starts(&t, ","))
		return false;
	t.p++;
	if (!ks_text_word(&t, &word) || !ks_text_is(&word, "zone") || !ks_text_word(&t, zone))
		return false;
	*line = t;
	return true;
}

static size_t
make_key(char key[KS_UNIT_NAME], uint64_t node, const struct ks_text *zone)
{
	return (size_t)snprintf(key, KS_UNIT_NAME, "%u/%.*s", (unsigned)node,
	    (int)(ks_text_size(zone) < 32 ? ks_text_size(zone) : 32), zone->p);
}

static int
set_up(struct ks_linux *lx, struct ks_unit *unit)
{
	const char *p = unit->key;
	uint64_t node = 0;

	(void)lx;
	(void)ks_scan_u64(&p, unit->key + strlen(unit->key), &node);
	unit->instance = (int)node;
	p += *p == '/';
	ks_name_set(unit->name, sizeof(unit->name), p, strlen(p));
	unit->parts = 1;
	return 0;
}

static size_t
take_key(struct ks_text *line, char key[KS_UNIT_NAME])
{
	struct ks_text zone;
	uint64_t node;

	return take_heading(line, &node, &zone) ? make_key(key, node, &zone) : 0;
}

/* --- zoneinfo ---------------------------------------------------------------------------------------- */

#define PAGES(stat, desc) KS_UNITS(stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, "pages", desc)

static const struct ks_field zone_fields[] = {
	PAGES("free", "memory of the zone used by nobody"),
	PAGES("boost", "by how much the watermarks are raised for now"),
	PAGES("min", "free memory kept for the kernel itself"),
	PAGES("low", "free memory at which reclaim starts"),
	PAGES("high", "free memory at which reclaim stops"),
	PAGES("promo", "free memory up to which pages are moved to faster memory"),
	PAGES("spanned", "size of the zone, holes included"),
	PAGES("present", "memory of the zone that the machine has"),
	PAGES("managed", "memory of the zone that the kernel manages"),
	PAGES("cma", "memory of the zone for contiguous allocation"),
	PAGES("scanned", "pages examined by reclaim since it last got on"),
	KS_FIELD_END
};

/* Adds the numbers of "(0, 2039, 31932)". */
static int
add_protection(struct ks_text line, struct ks_record *r)
{
	char name[KSTAT_STRLEN];
	uint64_t v;

	ks_text_skip(&line);
	for (unsigned i = 0; line.p < line.end && (*line.p == '(' || *line.p == ','); i++) {
		line.p++;
		if (!ks_text_u64(&line, &v))
			return -1;
		(void)snprintf(name, sizeof(name), "protection_%u", i);
		ks_named_u64(r, name, v);
	}
	return ks_text_is(&line, ")") ? 0 : -1;
}

/* Adds what a line says. Returns 1 if the rest is about CPUs, -1 if the line cannot be understood, else 0. */
static int
read_zone_line(struct ks_text line, struct ks_record *r)
{
	struct ks_text key;
	char name[KSTAT_STRLEN];
	uint64_t v;

	if (!ks_text_word(&line, &key))
		return 0;
	if (ks_text_is(&key, "pagesets"))
		return 1;
	if (ks_text_is(&key, "pages") && !ks_text_word(&line, &key))
		return -1;
	if (ks_text_is(&key, "protection:"))
		return add_protection(line, r);
	if (!ks_text_u64(&line, &v))
		return -1;
	ks_name_set(name, sizeof(name), key.p, ks_text_size(&key));
	ks_named_u64(r, name, v);
	return 0;
}

/* Adds what the lines behind the heading of a zone say. */
static int
add_zone(struct ks_linux *lx, struct ks_text line, struct ks_record *r)
{
	struct ks_text all = { line.end, lx->im->data + lx->im->len }, rest, word;
	bool of_node = false;
	int rc = 0;

	while (rc != 1 && ks_text_line(&all, &line) && !ks_text_starts(&line, "Node ")) {
		rest = line;
		/* The first zone of a node has the lines of the node before its own. */
		of_node |= ks_text_word(&rest, &word) && ks_text_is(&word, "per-node");
		of_node &= !ks_text_is(&word, "pages");
		if (!of_node && (rc = read_zone_line(line, r)) < 0)
			ks_linux_odd_line(lx, lx->im, &line);
	}
	return 0;
}

static const struct ks_meta *
zone_meta(const char *stat)
{
	static const struct ks_meta protection = KS_META("", KS_KIND_GAUGE, KSTAT2_NVMT_CNT, "pages",
	    "free memory kept from allocations that could be made in the zone of this number");

	return strncmp(stat, "protection_", 11) == 0 ? &protection : ks_vm_events_meta(stat);
}

static const struct ks_part zone_parts[] = {
	KS_NAMED_PART("zone", "@", "vm", .fields = KS_TABLE(zone_fields), .add = add_zone, .meta = zone_meta,
	    .from = "/proc/zoneinfo", KS_NAMES("protection_0")),
};

/* Lines that are not headings are those of a zone. */
static bool
is_of_zone(const struct ks_image *im, const struct ks_text *line)
{
	(void)im;
	(void)line;
	return true;
}

static const struct ks_listing zones = { &zoneinfo_file, take_key, is_of_zone, NULL, set_up };

/* Zones come and go with memory, of which the kernel sends events. */
KS_SUBSYSTEM(zone, zone_parts, .listing = &zones, .optional = "zone", .on_events = true);

/* --- buddyinfo --------------------------------------------------------------------------------------- */

#define BLOCKS(n, size) \
	KS_GAUGE("order_" #n, KSTAT_DATA_UINT64, "free blocks of " size)

static const struct ks_field free_fields[] = {
	BLOCKS(0, "one page"), BLOCKS(1, "2 pages"), BLOCKS(2, "4 pages"), BLOCKS(3, "8 pages"),
	BLOCKS(4, "16 pages"), BLOCKS(5, "32 pages"), BLOCKS(6, "64 pages"), BLOCKS(7, "128 pages"),
	BLOCKS(8, "256 pages"), BLOCKS(9, "512 pages"), BLOCKS(10, "1024 pages"), BLOCKS(11, "2048 pages"),
	BLOCKS(12, "4096 pages"), BLOCKS(13, "8192 pages"), BLOCKS(14, "16384 pages"), BLOCKS(15, "32768 pages"),
	KS_FIELD_END
};

static void
collect_free(struct ks_linux *lx, struct ks_text line, struct ks_values *vals)
{
	struct ks_text whole = line;
	uint64_t v;

	for (size_t i = 0; free_fields[i].meta.stat != NULL && ks_text_u64(&line, &v); i++)
		ks_have(vals, i, v);
	if (!ks_text_empty(&line))
		ks_linux_odd_line(lx, lx->im, &whole);
}

static const struct ks_listing listing = { &buddyinfo_file, take_key, NULL, NULL, set_up };

static const struct ks_part buddy_parts[] = {
	KS_NAMED_PART("zone", "@,free", "vm", .fields = KS_TABLE(free_fields), .collect = collect_free,
	    .from = "/proc/buddyinfo"),
};

KS_SUBSYSTEM(buddy, buddy_parts, .listing = &listing, .on_events = true);
