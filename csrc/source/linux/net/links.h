/*
 * links.h - what the kernel says of network links over netlink. link.c makes kstats of it, and of files where there is
 * no netlink. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_NET_LINKS_H
#define SOURCE_LINUX_NET_LINKS_H

#include <net/if.h>

#include "source/linux/linux.h"
#include "source/linux/net/netlink.h"

/* The counters of a link, as struct rtnl_link_stats64 has them in a row. Older kernels have fewer. */
enum ks_link_counter { KS_LINK_RX_PACKETS, KS_LINK_TX_PACKETS, KS_LINK_RX_BYTES, KS_LINK_TX_BYTES, KS_LINK_RX_ERRORS,
	KS_LINK_TX_ERRORS, KS_LINK_RX_DROPPED, KS_LINK_TX_DROPPED, KS_LINK_MULTICAST, KS_LINK_COLLISIONS,
	KS_LINK_RX_LENGTH_ERRORS, KS_LINK_RX_OVER_ERRORS, KS_LINK_RX_CRC_ERRORS, KS_LINK_RX_FRAME_ERRORS,
	KS_LINK_RX_FIFO_ERRORS, KS_LINK_RX_MISSED_ERRORS, KS_LINK_TX_ABORTED_ERRORS, KS_LINK_TX_CARRIER_ERRORS,
	KS_LINK_TX_FIFO_ERRORS, KS_LINK_TX_HEARTBEAT_ERRORS, KS_LINK_TX_WINDOW_ERRORS, KS_LINK_RX_COMPRESSED,
	KS_LINK_TX_COMPRESSED, KS_LINK_RX_NOHANDLER, KS_LINK_RX_OTHERHOST_DROPPED, KS_LINK_COUNTERS };

/* What else is known of a link. */
enum ks_link_fact { KS_LINK_MTU, KS_LINK_TX_QUEUE_LEN, KS_LINK_CARRIER_CHANGES, KS_LINK_CARRIER_UP,
	KS_LINK_CARRIER_DOWN, KS_LINK_PROMISCUITY, KS_LINK_FACTS };

/* A link as a message describes it. */
struct ks_link {
	uint32_t index;        /* the kernel's number of it */
	uint32_t flags;        /* IFF_* */
	uint32_t master;       /* index of the bond, bridge or other link that it belongs to; 0: none */
	uint32_t ncounters;
	uint32_t facts;        /* which are known, one bit each */
	uint32_t fact[KS_LINK_FACTS];
	uint64_t counter[KS_LINK_COUNTERS];
	char name[IFNAMSIZ];   /* empty in a message that holds counters only */
	char kind[IFNAMSIZ];   /* "bond", "bridge", "vlan" and so on; empty: the device of a driver */
};

/* Parses the body of an RTM_NEWLINK or RTM_NEWSTATS; false if it is something else or too short. */
bool ks_link_parse(uint16_t type, struct ks_text body, struct ks_link *link);

/* A root queueing discipline as a message describes it. */
enum ks_qdisc_counter { KS_QDISC_BYTES, KS_QDISC_PACKETS, KS_QDISC_DROPS, KS_QDISC_OVERLIMITS, KS_QDISC_REQUEUES,
	KS_QDISC_QLEN, KS_QDISC_BACKLOG, KS_QDISC_COUNTERS };

struct ks_qdisc {
	uint32_t index;   /* of its link */
	uint32_t known;   /* counters, one bit each */
	uint64_t counter[KS_QDISC_COUNTERS];
	char kind[IFNAMSIZ];
};

/* Parses the body of an RTM_NEWQDISC; false if it is not the root of a link, or too short. */
bool ks_qdisc_parse(uint16_t type, struct ks_text body, struct ks_qdisc *qdisc);

/* ks_unit.extra of a link. */
struct ks_known_link {
	struct ks_link link; /* as netlink has it; from files only the facts */
	uint64_t seq;        /* of the answer that it was in last */
	struct ks_link_media { /* what /sys said last */
		bool known;
		unsigned flags;
		hrtime_t when;
		uint64_t speed;   /* bits/s; 0: not known */
		uint32_t duplex;  /* 0: not known */
	} media;
};

/* The state of the subsystem. */
struct ks_link_state {
	int socket; /* for flags where there is no netlink; -1: not open yet */
	struct ks_netlink nl;
	enum { KS_LINK_NOT_TRIED, KS_LINK_USED, KS_LINK_NOT_THERE } netlink;
	bool counters_apart; /* the kernel answers questions for counters alone */
	uint64_t listed;     /* ks_netlink_news() before the last scan that listed the links */
	uint64_t known;      /* the same before everything was asked for last, by a scan or by a reading */
	uint64_t seq;        /* counts the answers */
	struct ks_reading reading; /* the last one */
};

static inline struct ks_link_state *
ks_link_state(const struct ks_linux *lx)
{
	return lx->sub[KS_SUB_link].state;
}

/*
 * Lists the links over netlink, unless none came, went or changed since the last scan. Returns as
 * ks_subsystem.scan does; *err is 0 or the errno with which the kernel could not be asked.
 */
int ks_link_scan(struct ks_linux *lx, struct ks_units *units, int *err);

/* Makes the counters of all links those of this round. Returns 0 or an errno. */
int ks_link_refresh(struct ks_linux *lx);

/* Names the kstats of a link that a scan found: ks_listing.set_up. */
int ks_link_set_up(struct ks_linux *lx, struct ks_unit *unit);

/* Returns the unit of the link with that number as of the last scan; NULL if there is none. Fastest in their order. */
const struct ks_unit *ks_link_by_index(const struct ks_linux *lx, uint32_t index, uint32_t *hint);

/* The connection that links are asked for; NULL if they come from files. */
struct ks_netlink *ks_link_netlink(struct ks_linux *lx);

#endif
