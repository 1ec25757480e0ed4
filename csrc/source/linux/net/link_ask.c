/* link_ask.c - asks the kernel for network links over netlink; see links.h. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "source/linux/net/links.h"

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
	err = ks_link_dump(&s->nl, everything, take_message, &a);
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
