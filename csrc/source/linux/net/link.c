/*
 * link.c - network links, with the statistic names of illumos's mac kstats and behind them what Linux counts. The
 * running kernel is asked over netlink: for everything when it says that a link changed, else for the counters alone.
 * That takes a quarter of the time of /proc/net/dev, which is read where there is no netlink, and in recorded trees.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "source/linux/devices.h"
#include "source/linux/listing.h"
#include "source/linux/net/links.h"

static const struct ks_file netdev_file = { KS_ROOT_PROC, "net/dev", KS_MADE_BRIEFLY, false };
static const struct ks_listing listing;

/* Speed and duplex are read again after this time (ns), or when the link went down or up. */
#define MEDIA_AGE 10000000000

/* Columns of a line. */
enum { N_RBYTES, N_RPACKETS, N_RERRS, N_RDROP, N_RFIFO, N_RFRAME, N_RCOMPRESSED, N_MULTICAST,
	N_OBYTES, N_OPACKETS, N_OERRS, N_ODROP, N_OFIFO, N_COLLS, N_CARRIER, N_OCOMPRESSED, N_COUNT };

enum { L_COLLISIONS, L_IERRORS, L_IFSPEED, L_IPACKETS, L_IPACKETS64, L_DUPLEX, L_STATE, L_MULTIRCV,
	L_NORCVBUF, L_NOXMTBUF, L_OBYTES, L_OBYTES64, L_OERRORS, L_OPACKETS, L_OPACKETS64, L_RBYTES,
	L_RBYTES64, L_FRAME, L_CARRIER, L_RX_FIFO, L_TX_FIFO, L_RX_COMPRESSED, L_TX_COMPRESSED, L_RX_LENGTH, L_RX_OVER,
	L_RX_CRC, L_RX_FRAME, L_RX_MISSED, L_RX_NOHANDLER, L_RX_OTHERHOST, L_TX_ABORTED, L_TX_CARRIER, L_TX_HEARTBEAT,
	L_TX_WINDOW, L_CHANGES, L_UPS, L_DOWNS, L_ADMIN, L_MTU, L_TX_QUEUE_LEN, L_PROMISCUITY, L_INDEX, L_KIND,
	L_MASTER, L_SLAVES, L_SLAVES_UP };

#define BYTES32(stat, desc) \
	KS_UNITS(stat, KS_KIND_COUNTER, KSTAT2_NVMT_BYTES, KSTAT_DATA_UINT32, "bytes", desc)

#define COUNT64(stat, desc) KS_COUNT(stat, KSTAT_DATA_UINT64, desc)

static const struct ks_field link_fields[] = {
	[L_COLLISIONS] = KS_COUNT("collisions", KSTAT_DATA_UINT32, "collisions while sending"),
	[L_IERRORS] = KS_COUNT("ierrors", KSTAT_DATA_UINT32, "packets received with errors"),
	[L_IFSPEED] = KS_UNITS("ifspeed", KS_KIND_GAUGE, KSTAT2_NVMT_BITS, KSTAT_DATA_UINT64, "bits/s",
	    "speed of the link"),
	[L_IPACKETS] = KS_COUNT("ipackets", KSTAT_DATA_UINT32, "packets received, low 32 bits"),
	[L_IPACKETS64] = KS_COUNT("ipackets64", KSTAT_DATA_UINT64, "packets received"),
	[L_DUPLEX] = KS_STATE("link_duplex", "1 half duplex, 2 full duplex"),
	[L_STATE] = KS_STATE("link_state", "0 down, 1 up"),
	[L_MULTIRCV] = KS_COUNT("multircv", KSTAT_DATA_UINT32, "multicast packets received"),
	[L_NORCVBUF] = KS_COUNT("norcvbuf", KSTAT_DATA_UINT32, "packets dropped on receipt"),
	[L_NOXMTBUF] = KS_COUNT("noxmtbuf", KSTAT_DATA_UINT32, "packets dropped before sending"),
	[L_OBYTES] = BYTES32("obytes", "bytes sent, low 32 bits"),
	[L_OBYTES64] = KS_BYTES("obytes64", "bytes sent"),
	[L_OERRORS] = KS_COUNT("oerrors", KSTAT_DATA_UINT32, "packets that could not be sent"),
	[L_OPACKETS] = KS_COUNT("opackets", KSTAT_DATA_UINT32, "packets sent, low 32 bits"),
	[L_OPACKETS64] = KS_COUNT("opackets64", KSTAT_DATA_UINT64, "packets sent"),
	[L_RBYTES] = BYTES32("rbytes", "bytes received, low 32 bits"),
	[L_RBYTES64] = KS_BYTES("rbytes64", "bytes received"),
	[L_FRAME] = COUNT64("frame_errors", "packets received with a wrong length, checksum or frame, or overrun"),
	[L_CARRIER] = COUNT64("carrier_errors",
	    "packets not sent because of the carrier, an abort, a late collision or the heartbeat"),
	[L_RX_FIFO] = COUNT64("rx_fifo_errors", "packets lost on receipt because a queue of the device was full"),
	[L_TX_FIFO] = COUNT64("tx_fifo_errors", "packets lost before sending because a queue of the device ran empty"),
	[L_RX_COMPRESSED] = COUNT64("rx_compressed", "packets received compressed (CSLIP, PPP)"),
	[L_TX_COMPRESSED] = COUNT64("tx_compressed", "packets sent compressed (CSLIP, PPP)"),
	[L_RX_LENGTH] = COUNT64("rx_length_errors", "packets received with a wrong length"),
	[L_RX_OVER] = COUNT64("rx_over_errors", "packets received that were larger than the buffer of the device"),
	[L_RX_CRC] = COUNT64("rx_crc_errors", "packets received with a wrong checksum of the link"),
	[L_RX_FRAME] = COUNT64("rx_frame_errors", "packets received with a wrong alignment"),
	[L_RX_MISSED] = COUNT64("rx_missed_errors",
	    "packets that the device dropped for want of buffers of the machine; part of norcvbuf"),
	[L_RX_NOHANDLER] = COUNT64("rx_nohandler", "packets received on an inactive link of a bond, and dropped"),
	[L_RX_OTHERHOST] = COUNT64("rx_otherhost_dropped", "packets received for the address of another machine"),
	[L_TX_ABORTED] = COUNT64("tx_aborted_errors", "packets not sent after too many collisions or an abort"),
	[L_TX_CARRIER] = COUNT64("tx_carrier_errors", "packets not sent because the carrier was lost"),
	[L_TX_HEARTBEAT] = COUNT64("tx_heartbeat_errors", "packets not sent because the heartbeat test failed"),
	[L_TX_WINDOW] = COUNT64("tx_window_errors", "packets not sent because of a late collision"),
	[L_CHANGES] = COUNT64("carrier_changes", "times that the carrier came or went"),
	[L_UPS] = COUNT64("carrier_up_count", "times that the carrier came"),
	[L_DOWNS] = COUNT64("carrier_down_count", "times that the carrier went"),
	[L_ADMIN] = KS_STATE("admin_state", "0 switched off, 1 switched on by the administrator"),
	[L_MTU] = KS_UNITS("mtu", KS_KIND_GAUGE, KSTAT2_NVMT_BYTES, KSTAT_DATA_UINT32, "bytes",
	    "largest packet that the link takes"),
	[L_TX_QUEUE_LEN] = KS_GAUGE("tx_queue_len", KSTAT_DATA_UINT32, "most packets that wait to be sent, by default"),
	[L_PROMISCUITY] = KS_GAUGE("promiscuity", KSTAT_DATA_UINT32, "how many want the packets of other machines, too"),
	[L_INDEX] = KS_ID("ifindex", KSTAT_DATA_UINT32, "the kernel's number of the link"),
	[L_KIND] = KS_TEXT("kind", KSTAT_DATA_CHAR, "kind of a virtual link: bond, bridge, vlan, veth and so on"),
	[L_MASTER] = KS_TEXT("master", KSTAT_DATA_CHAR, "bond, bridge or other link that this one belongs to"),
	[L_SLAVES] = KS_GAUGE("slaves", KSTAT_DATA_UINT32, "links that belong to this one"),
	[L_SLAVES_UP] = KS_GAUGE("slaves_up", KSTAT_DATA_UINT32, "links that belong to this one and are up"),
	KS_FIELD_END
};

/* Which statistics are made of which number. One that is made of several is their sum. */
struct feed {
	uint8_t from, stat;
};

static const struct feed of_columns[] = {
	{ N_RBYTES, L_RBYTES }, { N_RBYTES, L_RBYTES64 }, { N_RPACKETS, L_IPACKETS }, { N_RPACKETS, L_IPACKETS64 },
	{ N_RERRS, L_IERRORS }, { N_RDROP, L_NORCVBUF }, { N_RFIFO, L_RX_FIFO }, { N_RFRAME, L_FRAME },
	{ N_RCOMPRESSED, L_RX_COMPRESSED }, { N_MULTICAST, L_MULTIRCV }, { N_OBYTES, L_OBYTES },
	{ N_OBYTES, L_OBYTES64 }, { N_OPACKETS, L_OPACKETS }, { N_OPACKETS, L_OPACKETS64 }, { N_OERRS, L_OERRORS },
	{ N_ODROP, L_NOXMTBUF }, { N_OFIFO, L_TX_FIFO }, { N_COLLS, L_COLLISIONS }, { N_CARRIER, L_CARRIER },
	{ N_OCOMPRESSED, L_TX_COMPRESSED },
};

/* Those of sums are the same numbers as the columns that /proc/net/dev has. */
static const struct feed of_counters[] = {
	{ KS_LINK_RX_BYTES, L_RBYTES }, { KS_LINK_RX_BYTES, L_RBYTES64 }, { KS_LINK_RX_PACKETS, L_IPACKETS },
	{ KS_LINK_RX_PACKETS, L_IPACKETS64 }, { KS_LINK_RX_ERRORS, L_IERRORS }, { KS_LINK_RX_DROPPED, L_NORCVBUF },
	{ KS_LINK_RX_MISSED_ERRORS, L_NORCVBUF }, { KS_LINK_MULTICAST, L_MULTIRCV }, { KS_LINK_TX_BYTES, L_OBYTES },
	{ KS_LINK_TX_BYTES, L_OBYTES64 }, { KS_LINK_TX_PACKETS, L_OPACKETS }, { KS_LINK_TX_PACKETS, L_OPACKETS64 },
	{ KS_LINK_TX_ERRORS, L_OERRORS }, { KS_LINK_TX_DROPPED, L_NOXMTBUF }, { KS_LINK_COLLISIONS, L_COLLISIONS },
	{ KS_LINK_RX_LENGTH_ERRORS, L_FRAME }, { KS_LINK_RX_OVER_ERRORS, L_FRAME }, { KS_LINK_RX_CRC_ERRORS, L_FRAME },
	{ KS_LINK_RX_FRAME_ERRORS, L_FRAME }, { KS_LINK_TX_ABORTED_ERRORS, L_CARRIER },
	{ KS_LINK_TX_CARRIER_ERRORS, L_CARRIER }, { KS_LINK_TX_HEARTBEAT_ERRORS, L_CARRIER },
	{ KS_LINK_TX_WINDOW_ERRORS, L_CARRIER }, { KS_LINK_RX_FIFO_ERRORS, L_RX_FIFO },
	{ KS_LINK_TX_FIFO_ERRORS, L_TX_FIFO }, { KS_LINK_RX_COMPRESSED, L_RX_COMPRESSED },
	{ KS_LINK_TX_COMPRESSED, L_TX_COMPRESSED }, { KS_LINK_RX_LENGTH_ERRORS, L_RX_LENGTH },
	{ KS_LINK_RX_OVER_ERRORS, L_RX_OVER }, { KS_LINK_RX_CRC_ERRORS, L_RX_CRC },
	{ KS_LINK_RX_FRAME_ERRORS, L_RX_FRAME }, { KS_LINK_RX_MISSED_ERRORS, L_RX_MISSED },
	{ KS_LINK_RX_NOHANDLER, L_RX_NOHANDLER }, { KS_LINK_RX_OTHERHOST_DROPPED, L_RX_OTHERHOST },
	{ KS_LINK_TX_ABORTED_ERRORS, L_TX_ABORTED }, { KS_LINK_TX_CARRIER_ERRORS, L_TX_CARRIER },
	{ KS_LINK_TX_HEARTBEAT_ERRORS, L_TX_HEARTBEAT }, { KS_LINK_TX_WINDOW_ERRORS, L_TX_WINDOW },
};

/* What is known of a link beside its counters, and the file in /sys/class/net that has it. */
static const struct {
	uint8_t stat;
	const char *file;
} facts[KS_LINK_FACTS] = {
	[KS_LINK_MTU] = { L_MTU, "mtu" },
	[KS_LINK_TX_QUEUE_LEN] = { L_TX_QUEUE_LEN, "tx_queue_len" },
	[KS_LINK_CARRIER_CHANGES] = { L_CHANGES, "carrier_changes" },
	[KS_LINK_CARRIER_UP] = { L_UPS, "carrier_up_count" },
	[KS_LINK_CARRIER_DOWN] = { L_DOWNS, "carrier_down_count" },
	[KS_LINK_PROMISCUITY] = { L_PROMISCUITY, NULL },
};

static void
feed(struct ks_values *vals, const struct feed *feeds, size_t nfeeds, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < nfeeds; i++) {
		if (feeds[i].from < n)
			ks_have_more(vals, feeds[i].stat, v[feeds[i].from]);
	}
}

/* --- state of a link ------------------------------------------------------------------ */

static int
link_file(const struct ks_linux *lx, const struct ks_unit *unit, const char *file, char *to,
    size_t size)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "class/net/%s/%s", unit->key, file);
	return ks_file_small(&lx->root[KS_ROOT_SYS], path, to, size);
}

/* The interface's flags, from the running kernel only. */
static bool
flags_of(struct ks_linux *lx, const struct ks_unit *unit, unsigned *flags)
{
	struct ks_link_state *s = ks_link_state(lx);
	struct ifreq req = { .ifr_flags = 0 };

	if (!lx->root[KS_ROOT_PROC].kernel)
		return false;
	ks_name_set(req.ifr_name, sizeof(req.ifr_name), unit->key, strlen(unit->key));
	if (!ks_ioctl_socket(&s->socket) || ioctl(s->socket, SIOCGIFFLAGS, &req) != 0)
		return false;
	*flags = (unsigned short)req.ifr_flags;
	return true;
}

/* Reads what only files say of a link, and if there is no netlink, also what it would say. */
static void
read_media(struct ks_linux *lx, struct ks_unit *unit, struct ks_known_link *k)
{
	struct ks_link_media *m = &k->media;
	char text[32];
	const char *p = text;
	uint64_t mbits;
	int n = link_file(lx, unit, "speed", text, sizeof(text));

	m->speed = 0;
	m->duplex = 0;
	/* A link whose speed is not known says -1. */
	if (n > 0 && ks_scan_u64(&p, text + n, &mbits) == 0 && mbits < UINT32_MAX)
		m->speed = mbits * 1000000;
	if (link_file(lx, unit, "duplex", text, sizeof(text)) > 0)
		m->duplex = strcmp(text, "full") == 0 ? 2 : strcmp(text, "half") == 0;
	if (ks_link_state(lx)->netlink == KS_LINK_USED)
		return;
	k->link.facts = 0;
	for (size_t i = 0; i < KS_LINK_FACTS; i++) {
		uint64_t v;

		n = facts[i].file != NULL ? link_file(lx, unit, facts[i].file, text, sizeof(text)) : 0;
		p = text;
		if (n <= 0 || ks_scan_u64(&p, text + n, &v) != 0 || v > UINT32_MAX)
			continue;
		k->link.fact[i] = (uint32_t)v;
		k->link.facts |= 1u << i;
	}
}

/* The state of the link by the files of a recorded tree; false if it is not known. */
static bool
recorded_state(const struct ks_linux *lx, const struct ks_unit *unit, uint64_t *state)
{
	char text[32];

	if (link_file(lx, unit, "operstate", text, sizeof(text)) <= 0)
		return false;
	*state = strcmp(text, "up") == 0;
	if (strcmp(text, "unknown") != 0)
		return true;
	if (link_file(lx, unit, "carrier", text, sizeof(text)) <= 0)
		return false;
	*state = text[0] == '1';
	return true;
}

static void
add_state(struct ks_linux *lx, struct ks_unit *unit, struct ks_values *vals)
{
	struct ks_known_link *k = unit->extra;
	struct ks_link_media *m = &k->media;
	bool asked = ks_link_state(lx)->netlink == KS_LINK_USED;
	unsigned flags = k->link.flags;
	bool live = asked || flags_of(lx, unit, &flags);
	uint64_t state;

	if (!live || !m->known || m->flags != flags || lx->taken - m->when > MEDIA_AGE) {
		read_media(lx, unit, k);
		m->known = true;
		m->flags = flags;
		m->when = lx->taken;
	}
	if (m->speed > 0)
		ks_have(vals, L_IFSPEED, m->speed);
	if (m->duplex > 0)
		ks_have(vals, L_DUPLEX, m->duplex);
	if (live)
		ks_have(vals, L_ADMIN, (flags & IFF_UP) != 0);
	if (live)
		ks_have(vals, L_STATE, (flags & IFF_RUNNING) != 0);
	else if (recorded_state(lx, unit, &state))
		ks_have(vals, L_STATE, state);
	for (size_t i = 0; i < KS_LINK_FACTS; i++) {
		if ((k->link.facts >> i & 1) != 0)
			ks_have(vals, facts[i].stat, k->link.fact[i]);
	}
}

/* Adds the kind of a link, and which links it belongs to and which belong to it. */
static void
add_relations(const struct ks_linux *lx, const struct ks_link *link, struct ks_values *vals)
{
	const struct ks_units *units = &lx->sub[KS_SUB_link].units;
	uint32_t hint = 0, slaves = 0, up = 0;
	const struct ks_unit *master = link->master != 0 ? ks_link_by_index(lx, link->master, &hint) : NULL;

	ks_have(vals, L_INDEX, link->index);
	if (link->kind[0] != '\0')
		ks_have_text(vals, L_KIND, link->kind);
	if (master != NULL)
		ks_have_text(vals, L_MASTER, master->key);
	if (strcmp(link->kind, "bond") != 0 && strcmp(link->kind, "bridge") != 0 && strcmp(link->kind, "team") != 0 &&
	    strcmp(link->kind, "vrf") != 0)
		return;
	for (uint32_t i = 0; i < units->n; i++) {
		const struct ks_known_link *k = units->v[i].extra;
		bool is_slave = units->v[i].alive && k->link.master == link->index;

		slaves += is_slave;
		up += is_slave && (k->link.flags & IFF_RUNNING) != 0;
	}
	ks_have(vals, L_SLAVES, slaves);
	ks_have(vals, L_SLAVES_UP, up);
}

/* --- reading ----------------------------------------------------------------------------- */

/* The columns of a link; how many there are, or -1 with errno and message. */
static int
columns_of(struct ks_linux *lx, struct ks_unit *unit, uint64_t c[N_COUNT])
{
	struct ks_text line;
	const struct ks_image *im = ks_listing_find(lx, &lx->sub[KS_SUB_link].units, &listing, unit, &line);
	size_t n;

	if (im == NULL)
		return -1;
	n = ks_text_numbers(&line, c, N_COUNT);
	if (n < N_COUNT)
		ks_linux_odd_line(lx, im, &line);
	return (int)n;
}

static int
read_link(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_known_link *k = unit->extra;
	struct ks_values vals = { .have = 0 };
	uint64_t c[N_COUNT];
	int n;

	if (ks_link_state(lx)->netlink == KS_LINK_USED) {
		int err = ks_link_refresh(lx);

		if (err != 0)
			return ks_fail(err, "cannot ask the kernel for network links: %s", strerror(err));
		if (k->seq != ks_link_state(lx)->seq)
			return ks_linux_gone(unit);
		feed(&vals, of_counters, sizeof(of_counters) / sizeof(of_counters[0]), k->link.counter,
		    k->link.ncounters);
		add_relations(lx, &k->link, &vals);
	} else {
		n = columns_of(lx, unit, c);
		if (n < 0)
			return -1;
		feed(&vals, of_columns, sizeof(of_columns) / sizeof(of_columns[0]), c, (size_t)n);
	}
	add_state(lx, unit, &vals);
	ks_fields_add(r, link_fields, &vals);
	return 0;
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("link", "@", "net", .fields = KS_TABLE(link_fields), .read = read_link,
	    .from = "RTM_GETLINK and RTM_GETSTATS (netlink), /proc/net/dev, /sys/class/net/NAME", .title = "link:0:NAME",
	    .since = "; carrier_changes 3.15; rx_nohandler 4.6"),
};

/* --- scanning ------------------------------------------------------------------------------ */

/* Removes "name:" from a line. */
static size_t
take_key(struct ks_text *line, char key[KS_UNIT_NAME])
{
	const char *colon = memchr(line->p, ':', ks_text_size(line));
	struct ks_text name;

	if (colon == NULL)
		return 0;
	name = (struct ks_text){ line->p, colon };
	ks_text_trim(&name);
	line->p = colon + 1;
	if (!ks_text_at_number(line) || memchr(name.p, '/', ks_text_size(&name)) != NULL)
		return 0;
	return ks_listing_key(key, &name);
}

/* True for the first two lines. */
static bool
is_heading(const struct ks_image *im, const struct ks_text *line)
{
	const char *end = memchr(im->data, '\n', im->len);

	return line->p == im->data || (end != NULL && line->p == end + 1);
}

static uint64_t
identity(struct ks_linux *lx, const char *key)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "class/net/%s", key);
	return ks_linux_inode(lx, KS_ROOT_SYS, path);
}

static const struct ks_listing listing = { &netdev_file, take_key, is_heading, identity, ks_link_set_up };

static int
scan_links(struct ks_linux *lx, struct ks_units *units)
{
	struct ks_link_state *s = ks_link_state(lx);
	int rc, err;

	if (!units->scanned || (s->netlink == KS_LINK_NOT_THERE && !lx->settled))
		ks_linux_check_directory(lx, KS_ROOT_SYS, "class/net");
	if (s->netlink == KS_LINK_NOT_TRIED && !lx->root[KS_ROOT_PROC].kernel)
		s->netlink = KS_LINK_NOT_THERE;
	if (s->netlink != KS_LINK_NOT_THERE) {
		rc = ks_link_scan(lx, units, &err);
		if (err == 0 || err == ENOMEM) {
			s->netlink = KS_LINK_USED;
			return rc;
		}
		if (ks_is_lack(err))
			lx->lack = err;
		/* It may not be allowed here. If it was once, reading will say what is wrong. */
		if (s->netlink == KS_LINK_USED)
			return 0;
		s->netlink = KS_LINK_NOT_THERE;
		ks_netlink_close(&s->nl);
	}
	return ks_listing_scan(lx, units, &listing);
}

static void
start(void *state)
{
	const struct ks_link_state initial = { .socket = -1, .counters_apart = true,
		.nl = KS_NETLINK_INIT(NETLINK_ROUTE, RTMGRP_LINK) };

	memcpy(state, &initial, sizeof(initial));
}

static void
release(void *state)
{
	struct ks_link_state *s = state;

	ks_socket_close(s->socket);
	ks_netlink_close(&s->nl);
}

KS_SUBSYSTEM(link, parts, .scan = scan_links, .state_size = sizeof(struct ks_link_state),
    .start = start, .release = release);

/* --- what /sys/class/net says ------------------------------------------------------------------ */

/* netdev:0:NAME, beside the counters, for those who name it: exporters show these as node_exporter does. */
#define NUMBER(stat, key, desc) KS_OF(stat, KS_KIND_GAUGE, KSTAT2_NVMT_ID, KSTAT_DATA_UINT32, "", key, desc)

enum { N_FLAGS, N_ADMIN_STATE };

static const struct ks_field netdev_fields[] = {
	[N_FLAGS] = KS_OF("flags", KS_KIND_GAUGE, KSTAT2_NVMT_FLAGS, KSTAT_DATA_UINT32, "", "flags",
	    "the bits IFF_* of netdevice(7)"),
	[N_ADMIN_STATE] = KS_TEXT_STATE("admin_state", KSTAT_DATA_STRING,
	    "up if the administrator switched the link on, or down"),
	KS_STATE_K("carrier", "carrier", "1 if the link has a carrier; a link that is switched off does not say"),
	KS_TEXT_STATE_K("operstate", "operstate", "state of the link as RFC 2863 has it: up, down, dormant, unknown"),
	KS_OF_TIMES("speed", KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_INT64, 1000000, "Mbit/s", "speed",
	    "speed of the link as its driver says it; -1: not known"),
	KS_TEXT_STATE_K("duplex", "duplex", "full, half or unknown"),
	NUMBER("ifindex", "ifindex", "the kernel's number of this link"),
	NUMBER("iflink", "iflink", "number of the link that this one is a part of or a peer of, or its own"),
	NUMBER("type", "type", "kind of the hardware as the bits ARPHRD_*: 1 is Ethernet, 772 the loopback"),
	KS_TEXT_K("address", "address", "address of the hardware"),
	KS_TEXT_K("broadcast", "broadcast", "address by which all stations on the link are reached"),
	KS_TEXT_K("ifalias", "ifalias", "a text that the administrator gave the link"),
	NUMBER("addr_assign_type", "addr_assign_type",
	    "where the address is from: 0 the hardware, 1 random, 2 another link, 3 the administrator"),
	NUMBER("name_assign_type", "name_assign_type",
	    "where the name is from: 1 counted by the kernel, 2 predictable, 3 a program, 4 renamed"),
	NUMBER("netdev_group", "netdev_group", "the group that the administrator put the link into"),
	NUMBER("link_mode", "link_mode", "0 the carrier decides about the state of the link, 1 a program does, too"),
	KS_STATE_K("dormant", "dormant", "1 if the link waits for something else, such as a login"),
	NUMBER("dev_id", "dev_id", "tells devices that share an address apart"),
	KS_FIELD_END
};

static void
have_admin_state(struct ks_linux *lx, const struct ks_dir *dir, struct ks_device *dev, struct ks_values *vals)
{
	(void)lx;
	(void)dir;
	(void)dev;
	if ((vals->have >> N_FLAGS & 1) != 0)
		ks_have_text(vals, N_ADMIN_STATE, (vals->v[N_FLAGS].u & IFF_UP) != 0 ? "up" : "down");
}

static const struct ks_part netdev_parts[] = {
	KS_DEVICE_PART("netdev", "@", "net_device", netdev_fields, KS_DEVICES("class/net", "", .by = KS_BY_NAME,
	    .add = have_admin_state)),
};

KS_SUBSYSTEM(netdev, netdev_parts, .scan = ks_devices_scan, .on_events = true, .optional = "netdev");
