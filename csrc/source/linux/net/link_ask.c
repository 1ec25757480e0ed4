/*
 * link_ask.c - asks the kernel for network links over netlink, and parses its messages about them; see links.h.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "base/clock.h"
#include "source/linux/net/links.h"

static const struct {
	uint16_t type;
	uint8_t fact;
} facts[] = {
	{ IFLA_MTU, KS_LINK_MTU }, { IFLA_TXQLEN, KS_LINK_TX_QUEUE_LEN },
	{ IFLA_CARRIER_CHANGES, KS_LINK_CARRIER_CHANGES }, { IFLA_CARRIER_UP_COUNT, KS_LINK_CARRIER_UP },
	{ IFLA_CARRIER_DOWN_COUNT, KS_LINK_CARRIER_DOWN }, { IFLA_PROMISCUITY, KS_LINK_PROMISCUITY },
};

_Static_assert(offsetof(struct rtnl_link_stats64, rx_nohandler) == KS_LINK_RX_NOHANDLER * sizeof(uint64_t),
    "the counters are those of the kernel");

static void
take_counters(const struct ks_attr *a, struct ks_link *link)
{
	size_t n = ks_text_size(&a->data) / sizeof(uint64_t);

	link->ncounters = (uint32_t)(n < KS_LINK_COUNTERS ? n : KS_LINK_COUNTERS);
	memcpy(link->counter, a->data.p, link->ncounters * sizeof(uint64_t));
}

static void
take_link_attribute(const struct ks_attr *a, struct ks_link *link)
{
	struct ks_text list = a->data;
	struct ks_attr info;

	switch (a->type) {
	case IFLA_IFNAME:
		ks_attr_text(a, link->name, sizeof(link->name));
		return;
	case IFLA_STATS64:
		take_counters(a, link);
		return;
	case IFLA_MASTER:
		(void)ks_attr_u32(a, &link->master);
		return;
	case IFLA_LINKINFO:
		while (ks_attr_next(&list, &info)) {
			if (info.type == IFLA_INFO_KIND)
				ks_attr_text(&info, link->kind, sizeof(link->kind));
		}
		return;
	default:
		break;
	}
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (facts[i].type == a->type && ks_attr_u32(a, &link->fact[facts[i].fact]))
			link->facts |= 1u << facts[i].fact;
	}
}

bool
ks_link_parse(uint16_t type, struct ks_text body, struct ks_link *link)
{
	struct ifinfomsg head;
	struct if_stats_msg stats;
	struct ks_attr a;

	memset(link, 0, sizeof(*link));
	if (type == RTM_NEWLINK && ks_netlink_head(&body, &head, sizeof(head))) {
		link->index = (uint32_t)head.ifi_index;
		link->flags = head.ifi_flags;
		while (ks_attr_next(&body, &a))
			take_link_attribute(&a, link);
		return link->name[0] != '\0';
	}
	if (type == RTM_NEWSTATS && ks_netlink_head(&body, &stats, sizeof(stats))) {
		link->index = stats.ifindex;
		while (ks_attr_next(&body, &a)) {
			if (a.type == IFLA_STATS_LINK_64)
				take_counters(&a, link);
		}
		return link->ncounters > 0;
	}
	return false;
}

/* Asks for all links with their counters and facts, or for the counters alone. Results as ks_netlink_dump(). */
static int
dump(struct ks_netlink *nl, bool with_facts, ks_netlink_each *each, void *arg)
{
	const struct ifinfomsg links = { .ifi_family = AF_UNSPEC };
	const struct if_stats_msg stats = { .filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64) };

	return with_facts ? ks_netlink_dump(nl, RTM_GETLINK, &links, sizeof(links), each, arg) :
	    ks_netlink_dump(nl, RTM_GETSTATS, &stats, sizeof(stats), each, arg);
}

static void
have_counter(struct ks_qdisc *q, enum ks_qdisc_counter i, uint64_t v)
{
	q->counter[i] = v;
	q->known |= 1u << i;
}

/* Takes the statistics of a discipline, which older kernels cut short. */
static void
take_queue(struct ks_text list, struct ks_qdisc *q)
{
	struct gnet_stats_queue queue;
	struct gnet_stats_basic basic;
	struct ks_attr a;

	while (ks_attr_next(&list, &a)) {
		if (a.type == TCA_STATS_QUEUE && ks_netlink_head(&a.data, &queue, sizeof(queue))) {
			have_counter(q, KS_QDISC_QLEN, queue.qlen);
			have_counter(q, KS_QDISC_BACKLOG, queue.backlog);
			have_counter(q, KS_QDISC_DROPS, queue.drops);
			have_counter(q, KS_QDISC_REQUEUES, queue.requeues);
			have_counter(q, KS_QDISC_OVERLIMITS, queue.overlimits);
		} else if (a.type == TCA_STATS_BASIC && ks_netlink_head(&a.data, &basic, sizeof(basic))) {
			have_counter(q, KS_QDISC_BYTES, basic.bytes);
			if ((q->known >> KS_QDISC_PACKETS & 1) == 0)
				have_counter(q, KS_QDISC_PACKETS, basic.packets);
		} else if (a.type == TCA_STATS_PKT64 && ks_text_size(&a.data) == sizeof(uint64_t)) {
			q->known |= 1u << KS_QDISC_PACKETS;
			memcpy(&q->counter[KS_QDISC_PACKETS], a.data.p, sizeof(uint64_t));
		}
	}
}

bool
ks_qdisc_parse(uint16_t type, struct ks_text body, struct ks_qdisc *q)
{
	struct tcmsg head;
	struct ks_attr a;

	memset(q, 0, sizeof(*q));
	if (type != RTM_NEWQDISC || !ks_netlink_head(&body, &head, sizeof(head)) || head.tcm_parent != TC_H_ROOT)
		return false;
	q->index = (uint32_t)head.tcm_ifindex;
	while (ks_attr_next(&body, &a)) {
		if (a.type == TCA_KIND)
			ks_attr_text(&a, q->kind, sizeof(q->kind));
		else if (a.type == TCA_STATS2)
			take_queue(a.data, q);
	}
	return true;
}

struct ks_netlink *
ks_link_netlink(struct ks_linux *lx)
{
	struct ks_link_state *s = ks_link_state(lx);

	return s->netlink == KS_LINK_USED ? &s->nl : NULL;
}

const struct ks_unit *
ks_link_by_index(const struct ks_linux *lx, uint32_t index, uint32_t *hint)
{
	const struct ks_units *units = &lx->sub[KS_SUB_link].units;

	for (uint32_t i = 0; i < units->n; i++) {
		uint32_t slot = (*hint + i) % units->n;
		const struct ks_known_link *k = units->v[slot].extra;

		if (units->v[slot].alive && k->link.index == index) {
			*hint = slot + 1;
			return &units->v[slot];
		}
	}
	return NULL;
}

int
ks_link_set_up(struct ks_linux *lx, struct ks_unit *unit)
{
	(void)lx;
	unit->extra = calloc(1, sizeof(struct ks_known_link));
	if (unit->extra == NULL)
		return -1;
	unit->parts = 1;
	return 0;
}

struct answer {
	struct ks_linux *lx;
	bool scan;     /* new links become units */
	uint32_t hint;
};

/* The unit of a link; with a scan a new one if there is none. NULL with errno: 0 if there is none. */
static struct ks_unit *
unit_of(struct answer *a, const struct ks_link *link)
{
	struct ks_units *units = &a->lx->sub[KS_SUB_link].units;
	size_t len = strlen(link->name);
	struct ks_unit *unit;
	bool is_new = false;

	errno = 0;
	if (len == 0)
		return (struct ks_unit *)ks_link_by_index(a->lx, link->index, &a->hint);
	if (!a->scan) {
		unit = ks_units_find(units, link->name, len);
		return unit != NULL && unit->ident == link->index ? unit : NULL;
	}
	unit = ks_units_see(units, link->name, len, link->index, &is_new);
	return unit != NULL && (!is_new || ks_link_set_up(a->lx, unit) == 0) ? unit : NULL;
}

/* Stores what a message says of a link. */
static int
take_message(void *arg, uint16_t type, struct ks_text body)
{
	struct answer *a = arg;
	struct ks_link link;
	struct ks_unit *unit;
	struct ks_known_link *k;

	if (!ks_link_parse(type, body, &link) || memchr(link.name, '/', sizeof(link.name)) != NULL)
		return 0;
	unit = unit_of(a, &link);
	if (unit == NULL)
		return errno;
	k = unit->extra;
	if (link.name[0] != '\0') {
		k->link = link;
	} else {
		memcpy(k->link.counter, link.counter, sizeof(link.counter));
		k->link.ncounters = link.ncounters;
	}
	k->seq = ks_link_state(a->lx)->seq;
	return 0;
}

/* Asks the kernel: for everything if it is a scan or there were `news`, else for counters alone. 0 or an errno. */
static int
ask(struct ks_linux *lx, uint64_t news, bool scan)
{
	struct ks_link_state *s = ks_link_state(lx);
	struct answer a = { lx, scan, 0 };
	bool everything = scan || news != s->known || !s->counters_apart;
	int err;

	s->seq++;
	ks_reading_begin(&s->reading, lx->round);
	err = dump(&s->nl, everything, take_message, &a);
	if ((err == EOPNOTSUPP || err == EINVAL) && !everything) { /* kernels before 4.7 */
		s->counters_apart = false;
		return ask(lx, news, scan);
	}
	ks_reading_end(&s->reading, err);
	if (err == 0 && everything)
		s->known = news;
	return err;
}

int
ks_link_refresh(struct ks_linux *lx)
{
	struct ks_link_state *s = ks_link_state(lx);
	int err = 0;

	if (ks_reading_is_due(&s->reading, lx->round))
		err = ask(lx, ks_netlink_news(&s->nl), false);
	ks_linux_taken(lx, err, s->reading.taken);
	return err;
}

int
ks_link_scan(struct ks_linux *lx, struct ks_units *units, int *err)
{
	struct ks_link_state *s = ks_link_state(lx);
	uint64_t news = ks_netlink_news(&s->nl);

	*err = 0;
	if (news == s->listed && units->scanned)
		return 0;
	ks_units_begin(units);
	*err = ask(lx, news, true);
	if (*err == ENOMEM)
		return -1;
	if (*err != 0)
		return 0;
	s->listed = news;
	return ks_units_end(units);
}
