/*
 * sockets.c - sockets by protocol, from /proc/net/sockstat and sockstat6: sockets:0:tcp, sockets:0:tcp6 and so on; and
 * what waits in those of UDP, from /proc/net/udp and udp6.
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/listing.h"
#include "source/linux/net/netlink.h"

static const struct ks_file sockstat_file = { KS_ROOT_PROC, "net/sockstat", KS_MADE_WHOLE, false };
static const struct ks_file sockstat6_file = { KS_ROOT_PROC, "net/sockstat6", KS_MADE_WHOLE, false };

#define GAUGE(stat, key, desc) KS_GAUGE_K(stat, KSTAT_DATA_UINT64, key, desc)
#define MEM_KEY "mem" /* in pages; what the file calls "memory" is in bytes */

static const struct ks_field all_fields[] = {
	GAUGE("used", "used", "sockets of all protocols and families in use, without those that kstat asks the kernel with"),
	KS_FIELD_END
};

static const struct ks_field fields[] = {
	GAUGE("inuse", "inuse", "sockets of this protocol in use"),
	GAUGE("orphan", "orphan", "TCP sockets that no process has open any more, and that are not closed yet"),
	GAUGE("tw", "tw", "TCP connections in the state TIME_WAIT"),
	GAUGE("alloc", "alloc", "TCP sockets allocated, whatever their state"),
	KS_AMOUNT_K("memory", MEM_KEY, "memory that buffers of this protocol's sockets use"),
	KS_FIELD_END
};

static const struct ks_field frag_fields[] = {
	GAUGE("inuse", "inuse", "packets of which some fragments have arrived"),
	KS_AMOUNT_K("memory", "memory", "memory that fragments use until their packet is complete"),
	KS_FIELD_END
};

enum { Q_TX, Q_RX, Q_DROPS };

static const struct ks_file udp_file = { KS_ROOT_PROC, "net/udp", KS_MADE_BRIEFLY, false };
static const struct ks_file udp6_file = { KS_ROOT_PROC, "net/udp6", KS_MADE_BRIEFLY, false };

static const struct ks_field queue_fields[] = {
	[Q_TX] = KS_AMOUNT_K("tx_queue", NULL, "bytes that wait to be sent in all UDP sockets, as ss -u shows them"),
	[Q_RX] = KS_AMOUNT_K("rx_queue", NULL, "bytes that wait to be read in all UDP sockets"),
	[Q_DROPS] = GAUGE("drops", NULL, "packets that the sockets that are open now have dropped"),
	KS_FIELD_END
};

/* Adds up " 46: 0100007F:0035 00000000:0000 07 00000000:00000000 ... drops"; the queues are behind the state. */
static void
collect_queues(struct ks_linux *lx, struct ks_text all, struct ks_values *vals)
{
	struct ks_text line, word;

	(void)ks_text_line(&all, &line); /* the heading */
	for (size_t i = Q_TX; i <= Q_DROPS; i++)
		ks_have(vals, i, 0);
	while (ks_text_line(&all, &line)) {
		struct ks_text whole = line, queues = { NULL, NULL }, tx, rx;
		uint64_t sent, received, drops = 0;

		for (int i = 0; ks_text_word(&line, &word); i++) {
			if (i == 4)
				queues = word;
			else if (i == 12 && !ks_text_u64(&word, &drops))
				drops = 0;
		}
		if (queues.p == NULL || !ks_text_pair(&queues, &tx, &rx) || !ks_text_hex(&tx, &sent) ||
		    !ks_text_hex(&rx, &received)) {
			ks_linux_odd_line(lx, lx->im, &whole);
			continue;
		}
		ks_have_more(vals, Q_TX, sent);
		ks_have_more(vals, Q_RX, received);
		ks_have_more(vals, Q_DROPS, drops);
	}
}

static const struct ks_part parts[];

/* What the line of each part of sockstat begins with. */
static const char *const lines[] = { "sockets:", "TCP:", "UDP:", "UDPLITE:", "RAW:", "FRAG:", "TCP6:", "UDP6:",
	"UDPLITE6:", "RAW6:", "FRAG6:" };

#define NLINES (sizeof(lines) / sizeof(lines[0]))

static bool
find_line(struct ks_text all, size_t part, struct ks_text *rest)
{
	return ks_columns_line(all, ks_text_of(lines[part], strlen(lines[part])), rest);
}

static void
collect_sockets(struct ks_linux *lx, struct ks_text all, struct ks_values *vals)
{
	struct ks_text line, key;
	uint64_t v;

	if (!find_line(all, (size_t)(lx->part - parts), &line))
		return;
	while (ks_text_word(&line, &key) && ks_text_u64(&line, &v)) {
		size_t i = ks_field_by_key(lx->part->fields, key.p, ks_text_size(&key), 0);
		bool pages = i != KS_NO_FIELD && strcmp(lx->part->fields[i].key, MEM_KEY) == 0;

		if (i != KS_NO_FIELD && !(pages && __builtin_mul_overflow(v, lx->page, &v)))
			ks_have(vals, i, v);
	}
	if (lx->part == parts && vals->have != 0 && lx->root[KS_ROOT_PROC].kernel && vals->v[0].u >= ks_own_sockets)
		vals->v[0].u -= ks_own_sockets;
	if (!ks_text_empty(&line) || key.p < key.end)
		ks_linux_odd_line(lx, lx->im, &line);
}

#define SOCKETS(name, file_, fields_) \
	KS_NAMED_PART("sockets", name, "socket", .fields = KS_TABLE(fields_), .collect = collect_sockets, .file = (file_))

static const struct ks_part parts[] = {
	SOCKETS("all", &sockstat_file, all_fields),
	SOCKETS("tcp", &sockstat_file, fields),
	SOCKETS("udp", &sockstat_file, fields),
	SOCKETS("udplite", &sockstat_file, fields),
	SOCKETS("raw", &sockstat_file, fields),
	SOCKETS("frag", &sockstat_file, frag_fields),
	SOCKETS("tcp6", &sockstat6_file, fields),
	SOCKETS("udp6", &sockstat6_file, fields),
	SOCKETS("udplite6", &sockstat6_file, fields),
	SOCKETS("raw6", &sockstat6_file, fields),
	SOCKETS("frag6", &sockstat6_file, frag_fields),
	KS_NAMED_PART("sockets", "udp_queues", "socket", .fields = KS_TABLE(queue_fields), .collect = collect_queues,
	    .file = &udp_file, .named = true),
	KS_NAMED_PART("sockets", "udp6_queues", "socket", .fields = KS_TABLE(queue_fields), .collect = collect_queues,
	    .file = &udp6_file, .named = true),
};

_Static_assert(NLINES + 2 == sizeof(parts) / sizeof(parts[0]), "a part of sockstat needs a line");

/* Kernels may be built without a protocol: then the file has no such line. */
static bool
has_line(struct ks_linux *lx, size_t part)
{
	const struct ks_image *im = part < NLINES ? ks_linux_try(lx, parts[part].file) : NULL;
	struct ks_text line;

	return im == NULL || find_line(ks_text_of(im->data, im->len), part, &line);
}

KS_SUBSYSTEM(sockets, parts, .has_part = has_line);
