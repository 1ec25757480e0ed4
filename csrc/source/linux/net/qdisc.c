/*
 * qdisc.c - what waits to be sent on a link: qdisc:0:LINK, the root queueing discipline of each link, over netlink.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "source/linux/net/links.h"

enum { Q_KIND = KS_QDISC_COUNTERS };

#define COUNT(stat, desc) KS_COUNT(stat, KSTAT_DATA_UINT64, desc)

static const struct ks_field fields[] = {
	[KS_QDISC_BYTES] = KS_BYTES("bytes", "bytes given to the link"),
	[KS_QDISC_PACKETS] = COUNT("packets", "packets given to the link"),
	[KS_QDISC_DROPS] = COUNT("drops", "packets dropped because the queue was full, or as its discipline demands"),
	[KS_QDISC_OVERLIMITS] = COUNT("overlimits", "times that a rate limit held packets back"),
	[KS_QDISC_REQUEUES] = COUNT("requeues", "packets put back because the device could not take them"),
	[KS_QDISC_QLEN] = KS_GAUGE("qlen", KSTAT_DATA_UINT64, "packets that wait to be sent"),
	[KS_QDISC_BACKLOG] = KS_AMOUNT("backlog", "bytes of the packets that wait to be sent"),
	[Q_KIND] = KS_TEXT("kind", KSTAT_DATA_CHAR, "kind of the queueing discipline, such as fq_codel"),
	KS_FIELD_END
};

/* ks_unit.extra of a link. */
struct queue {
	struct ks_qdisc qdisc;
	uint64_t seq; /* of the answer that it was in last */
	struct ks_widened wide[KS_QDISC_QLEN]; /* the kernel keeps all counters but bytes in 32 bits */
};

struct state {
	uint64_t seq; /* counts the answers */
	struct ks_reading reading; /* the last one */
};

struct answer {
	struct ks_linux *lx;
	bool scan;      /* new ones become units */
	uint32_t hint;
};

/* Stores what a message says of a link's queue. */
static int
take_message(void *arg, uint16_t type, struct ks_text body)
{
	struct answer *a = arg;
	struct ks_units *units = &a->lx->sub[KS_SUB_qdisc].units;
	const struct state *s = a->lx->sub[KS_SUB_qdisc].state;
	const struct ks_unit *link;
	struct ks_unit *unit;
	struct ks_qdisc qdisc;
	struct queue *q;
	bool is_new = false;

	if (!ks_qdisc_parse(type, body, &qdisc))
		return 0;
	link = ks_link_by_index(a->lx, qdisc.index, &a->hint);
	if (link == NULL)
		return 0;
	unit = a->scan ? ks_units_see(units, link->key, strlen(link->key), qdisc.index, &is_new) :
	    ks_units_find(units, link->key, strlen(link->key));
	if (unit == NULL)
		return a->scan ? ENOMEM : 0;
	if (is_new) {
		unit->extra = calloc(1, sizeof(struct queue));
		if (unit->extra == NULL)
			return ENOMEM;
		unit->parts = 1;
	}
	q = unit->extra;
	q->qdisc = qdisc;
	q->seq = s->seq;
	return 0;
}

/* Asks the kernel. Returns 0 or an errno. */
static int
ask(struct ks_linux *lx, struct ks_netlink *nl, bool scan)
{
	struct state *s = lx->sub[KS_SUB_qdisc].state;
	const struct tcmsg head = { .tcm_family = AF_UNSPEC };
	struct answer a = { lx, scan, 0 };
	int err;

	s->seq++;
	ks_reading_begin(&s->reading, lx->round);
	err = ks_netlink_dump(nl, RTM_GETQDISC, &head, sizeof(head), take_message, &a);
	ks_reading_end(&s->reading, err);
	return err;
}

static int
read_queue(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_netlink *nl = ks_link_netlink(lx);
	struct state *s = lx->sub[KS_SUB_qdisc].state;
	struct queue *q = unit->extra;
	struct ks_values vals = { .have = 0 };
	int err = 0;

	if (nl == NULL)
		return ks_linux_gone(unit);
	if (ks_reading_is_due(&s->reading, lx->round))
		err = ask(lx, nl, false);
	if (err != 0)
		return ks_fail(err, "cannot ask the kernel for queues of network links: %s", strerror(err));
	if (q->seq != s->seq)
		return ks_linux_gone(unit);
	ks_linux_taken(lx, 0, s->reading.taken);
	for (size_t i = 0; i < KS_QDISC_COUNTERS; i++) {
		uint64_t v = q->qdisc.counter[i];

		if ((q->qdisc.known >> i & 1) != 0)
			ks_have(&vals, i, i > KS_QDISC_BYTES && i < KS_QDISC_QLEN ? ks_widen(&q->wide[i], v) : v);
	}
	ks_have_text(&vals, Q_KIND, q->qdisc.kind);
	ks_fields_add(r, fields, &vals);
	return 0;
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("qdisc", "@", "qdisc", .fields = KS_TABLE(fields), .read = read_queue, .needs = &ks_linux_link,
	    .from = "RTM_GETQDISC (netlink)", .title = "qdisc:0:NAME"),
};

static int
scan_queues(struct ks_linux *lx, struct ks_units *units)
{
	struct ks_netlink *nl = ks_link_netlink(lx);
	int err;

	ks_units_begin(units);
	/* A kernel without disciplines says so: then there are none. */
	err = nl != NULL ? ask(lx, nl, true) : 0;
	if (err == ENOMEM)
		return -1;
	if (ks_is_lack(err))
		lx->lack = err;
	return ks_units_end(units);
}

KS_SUBSYSTEM(qdisc, parts, .scan = scan_queues, .state_size = sizeof(struct state));
