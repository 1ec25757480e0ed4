/*
 * neighbour.c - tables of the network: neighbours (ARP and NDISC), of each link, too, and tracked connections, from
 * /proc/net/stat, /proc/net/arp and /proc/sys/net; and the balanced connections of IPVS.
 * SPDX-License-Identifier: MIT
 */
#include "model/meta.h"
#include "source/linux/described.h"
#include "source/linux/linux.h"

static const struct ks_file arp_file = { KS_ROOT_PROC, "net/stat/arp_cache", KS_MADE_BRIEFLY, false };
static const struct ks_file ndisc_file = { KS_ROOT_PROC, "net/stat/ndisc_cache", KS_MADE_BRIEFLY, false };
static const struct ks_file track_file = { KS_ROOT_PROC, "net/stat/nf_conntrack", KS_MADE_BRIEFLY, false };
static const struct ks_file track_count_file = { KS_ROOT_PROC, "sys/net/netfilter/nf_conntrack_count",
	KS_MADE_WHOLE, false };

/* The keys are names in the heading of the file; the limit has none. */
#define COUNT(stat, desc) KS_COUNT_K(stat, KSTAT_DATA_UINT64, stat, desc)
#define GAUGE(stat, key, desc) KS_GAUGE_K(stat, KSTAT_DATA_UINT64, key, desc)

enum { F_ENTRIES, F_LIMIT, F_BUCKETS };

static const struct ks_field neighbour_fields[] = {
	[F_ENTRIES] = GAUGE("entries", "entries", "neighbours in the table, those that do not answer included"),
	[F_LIMIT] = GAUGE("entries_max", NULL, "most neighbours that the table takes (gc_thresh3)"),
	COUNT("allocs", "entries allocated"),
	COUNT("destroys", "neighbours removed"),
	COUNT("hash_grows", "times that the table was made larger"),
	COUNT("lookups", "times that a neighbour was looked up"),
	COUNT("hits", "times that it was found"),
	COUNT("res_failed", "neighbours whose address could not be found out"),
	COUNT("rcv_probes_mcast", "multicast requests received for an address of this machine"),
	COUNT("rcv_probes_ucast", "unicast requests received for an address of this machine"),
	COUNT("periodic_gc_runs", "runs that removed old entries, at regular times"),
	COUNT("forced_gc_runs", "runs that removed old entries because the table was nearly full"),
	COUNT("unresolved_discards", "packets dropped while the address of a neighbour was being found out"),
	COUNT("table_fulls", "times that there was no room for another neighbour"),
	KS_FIELD_END
};

static const struct ks_field track_fields[] = {
	[F_ENTRIES] = GAUGE("entries", "entries", "connections that are tracked"),
	[F_LIMIT] = GAUGE("entries_max", NULL, "most connections that can be tracked (nf_conntrack_max)"),
	[F_BUCKETS] = GAUGE("buckets", NULL, "size of the table of tracked connections"),
	COUNT("searched", "entries looked at in searches"),
	COUNT("clashres", "clashes of two new entries for one connection that were resolved"),
	COUNT("found", "searches that found a connection"),
	COUNT("new", "entries added for connections that were not expected"),
	COUNT("invalid", "packets that belong to no connection and cannot begin one"),
	COUNT("ignore", "packets that are tracked already or need no tracking"),
	COUNT("delete", "connections removed"),
	COUNT("delete_list", "entries put on the list of those to be removed"),
	COUNT("chainlength", "entries not added because too many have the same hash"),
	COUNT("insert", "entries put into the table"),
	COUNT("insert_failed", "entries that could not be put into the table because one like it was there"),
	COUNT("drop", "packets dropped because tracking their connection failed, as with a full table"),
	COUNT("early_drop", "entries removed before their time because the table was full"),
	COUNT("icmp_error", "ICMP errors that could not be tracked"),
	COUNT("expect_new", "entries added for connections that were expected"),
	COUNT("expect_create", "expectations of a connection added"),
	COUNT("expect_delete", "expectations of a connection removed"),
	COUNT("search_restart", "searches started again because the table was made larger"),
	KS_FIELD_END
};

#define MAX_FIELDS 24
_Static_assert(sizeof(track_fields) / sizeof(track_fields[0]) <= MAX_FIELDS &&
    sizeof(neighbour_fields) / sizeof(neighbour_fields[0]) <= MAX_FIELDS, "a field needs a counter");

enum { PART_ARP, PART_NDISC, PART_TRACK, PART_COUNT };

static const struct ks_file arp_list_file = { KS_ROOT_PROC, "net/arp", KS_MADE_BRIEFLY, false };
static const struct ks_file ipvs_file = { KS_ROOT_PROC, "net/ip_vs_stats", KS_MADE_WHOLE, false };

/* The kernel keeps the counters in 32 bits, for each CPU. */
struct state {
	struct ks_widened wide[PART_COUNT][MAX_FIELDS];
};

static const struct ks_part parts[];

/*
 * Adds up the lines of a table: a heading with names, then a line of hexadecimal numbers for each CPU. The number of
 * entries is the same in all of them.
 */
static void
add_up(struct ks_linux *lx, const struct ks_image *im, const struct ks_field *fields, struct ks_values *vals)
{
	struct ks_text all = ks_text_of(im->data, im->len), heading, line;

	if (!ks_text_line(&all, &heading))
		return;
	while (ks_text_line(&all, &line)) {
		struct ks_text names = heading, rest = line, name;
		size_t next = 0;
		uint64_t v;

		while (ks_text_word(&names, &name) && ks_text_hex(&rest, &v)) {
			size_t i = ks_field_by_key(fields, name.p, ks_text_size(&name), next);

			if (i == KS_NO_FIELD)
				continue;
			next = i + 1;
			if (i == F_ENTRIES)
				ks_have(vals, i, v);
			else
				ks_have_more(vals, i, v);
		}
		if (!ks_text_empty(&rest))
			ks_linux_odd_line(lx, im, &line);
	}
}

/* The file of a limit may be missing, as in a network namespace. */
static void
have_file(struct ks_linux *lx, struct ks_values *vals, size_t field, const char *path)
{
	uint64_t v;

	if (ks_file_u64(&lx->root[KS_ROOT_PROC], path, &v) == 0)
		ks_have(vals, field, v);
}

static int
read_table(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	static const struct ks_file *const files[PART_COUNT] = { &arp_file, &ndisc_file, &track_file };
	static const char *const limits[PART_COUNT] = { "sys/net/ipv4/neigh/default/gc_thresh3",
		"sys/net/ipv6/neigh/default/gc_thresh3", "sys/net/netfilter/nf_conntrack_max" };
	struct state *s = lx->sub[KS_SUB_neighbour].state;
	size_t part = (size_t)(lx->part - parts);
	/* Where connections are tracked, their number is known without the other file. */
	const struct ks_image *im = part == PART_TRACK ? ks_linux_try(lx, files[part]) : ks_linux_image(lx, files[part]);
	const struct ks_field *fields = lx->part->fields;
	struct ks_values vals = { .have = 0 };

	(void)unit;
	if (im == NULL && part != PART_TRACK)
		return -1;
	if (im != NULL)
		add_up(lx, im, fields, &vals);
	for (size_t i = 0; fields[i].meta.stat != NULL; i++) {
		if ((vals.have >> i & 1) != 0 && fields[i].meta.kind == KS_KIND_COUNTER)
			ks_have(&vals, i, ks_widen(&s->wide[part][i], vals.v[i].u));
	}
	have_file(lx, &vals, F_LIMIT, limits[part]);
	if (part == PART_TRACK) {
		have_file(lx, &vals, F_ENTRIES, track_count_file.path);
		have_file(lx, &vals, F_BUCKETS, "sys/net/netfilter/nf_conntrack_buckets");
	}
	ks_fields_add(r, fields, &vals);
	return 0;
}

#define TABLE(module, name, fields_, file_, from_) \
	KS_NAMED_PART(module, name, "misc", .fields = KS_TABLE(fields_), .read = read_table, .file = (file_), .from = (from_))

/* --- by link --------------------------------------------------------------------------------- */

#define MOST_LINKS 256

/*
 * Adds how many neighbours each link has: the last word of a line of /proc/net/arp is the link. The lines of a link
 * are mostly next to each other.
 */
static int
add_links(struct ks_linux *lx, struct ks_text all, struct ks_record *r)
{
	struct { struct ks_text name; uint64_t entries; } link[MOST_LINKS];
	struct ks_text line, word;
	size_t n = 0, last = 0;

	(void)ks_text_line(&all, &line); /* the heading */
	while (ks_text_line(&all, &line)) {
		struct ks_text name = { NULL, NULL };
		size_t i, k;

		while (ks_text_word(&line, &word))
			name = word;
		for (k = 0; name.p != NULL && k < n; k++) {
			i = (last + k) % n;
			if (ks_text_equal(&link[i].name, &name))
				break;
		}
		if (name.p == NULL || (k == n && n == MOST_LINKS))
			continue;
		last = k < n ? (last + k) % n : n;
		if (k == n)
			link[n++].entries = 0, link[last].name = name;
		link[last].entries++;
	}
	for (size_t i = 0; i < n; i++) {
		char stat[KSTAT_STRLEN];

		ks_name_set(stat, sizeof(stat), link[i].name.p, ks_text_size(&link[i].name));
		ks_named_u64(r, stat, link[i].entries);
	}
	(void)lx;
	return 0;
}

static const struct ks_meta *
links_meta(const char *stat)
{
	static const struct ks_meta entries = KS_META_GAUGE("", "");

	return ks_meta_is_header(stat) ? NULL : ks_described_as(&entries, "IPv4 neighbours of the link ", stat,
	    ", as ip -4 neighbour shows them");
}

/* --- IPVS -------------------------------------------------------------------------------------- */

static const struct ks_field ipvs_fields[] = {
	KS_COUNT("connections", KSTAT_DATA_UINT64, "connections that were given to servers, as ipvsadm --stats shows them"),
	KS_COUNT("inpackets", KSTAT_DATA_UINT64, "packets that came for balanced services"),
	KS_COUNT("outpackets", KSTAT_DATA_UINT64, "packets of servers that went back through this machine"),
	KS_BYTES("inbytes", "bytes that came for balanced services"),
	KS_BYTES("outbytes", "bytes of servers that went back through this machine"),
	KS_FIELD_END
};

/* Two lines of heading, then a line of hexadecimal numbers. */
static void
collect_ipvs(struct ks_linux *lx, struct ks_text all, struct ks_values *vals)
{
	struct ks_text line;
	uint64_t v;

	(void)ks_text_line(&all, &line);
	(void)ks_text_line(&all, &line);
	if (!ks_text_line(&all, &line))
		return;
	for (size_t i = 0; i < 5 && ks_text_hex(&line, &v); i++)
		ks_have(vals, i, v);
	if ((vals->have >> 4 & 1) == 0)
		ks_linux_odd_line(lx, lx->im, &line);
}

static const struct ks_part parts[] = {
	[PART_ARP] = TABLE("neighbour", "arp", neighbour_fields, &arp_file,
	    "/proc/net/stat/arp_cache, /proc/sys/net/ipv4/neigh"),
	[PART_NDISC] = TABLE("neighbour", "ndisc", neighbour_fields, &ndisc_file,
	    "/proc/net/stat/ndisc_cache, /proc/sys/net/ipv6/neigh"),
	[PART_TRACK] = TABLE("conntrack", "nf_conntrack", track_fields, &track_count_file,
	    "/proc/net/stat/nf_conntrack, /proc/sys/net/netfilter"),
	KS_NAMED_PART("neighbour", "links", "misc", .add = add_links, .meta = links_meta, .file = &arp_list_file,
	    KS_NAMES("eth0")),
	KS_NAMED_PART("ipvs", "all", "misc", .fields = KS_TABLE(ipvs_fields), .collect = collect_ipvs, .file = &ipvs_file),
};

KS_SUBSYSTEM(neighbour, parts, .state_size = sizeof(struct state));
