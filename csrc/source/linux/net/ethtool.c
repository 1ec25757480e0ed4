/*
 * ethtool.c - what drivers count of their links: ethtool:0:LINK, as `ethtool -S LINK` shows it. A driver may ask its
 * device for each number, so these kstats are optional. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/error.h"
#include "source/linux/described.h"
#include "source/linux/linux.h"
#include "source/linux/net/netlink.h"

#define MOST 65536 /* statistics of one driver */

/*
 * The kernel writes as many numbers as the driver has when it is asked, which may be more than it had before. There
 * is always room for so many more.
 */
#define SPARE 1024

struct state {
	int socket;    /* -1: not open yet */
	void *buf;     /* owned; answers of drivers */
	size_t cap;    /* its size */
};

/* ks_unit.extra of a link: the names of its statistics, n of KSTAT_STRLEN bytes. */
struct names {
	uint32_t n;
	char name[][KSTAT_STRLEN];
};

/* Asks the driver of a link. Returns 0 or an errno. */
static int
ask(struct ks_linux *lx, const struct ks_unit *unit, void *question)
{
	struct state *s = lx->sub[KS_SUB_ethtool].state;
	struct ifreq req = { .ifr_data = question };

	if (!ks_ioctl_socket(&s->socket))
		return errno;
	ks_name_set(req.ifr_name, sizeof(req.ifr_name), unit->key, strlen(unit->key));
	return ioctl(s->socket, SIOCETHTOOL, &req) == 0 ? 0 : errno;
}

/* How many statistics the driver has now. Returns 0 or an errno. */
static int
ask_count(struct ks_linux *lx, const struct ks_unit *unit, uint32_t *n)
{
	union {
		struct ethtool_sset_info info;
		unsigned char room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)]; /* info.data has one count */
	} question = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_STATS } };
	int err = ask(lx, unit, &question);

	*n = err == 0 && question.info.sset_mask != 0 ? question.info.data[0] : 0;
	return err == 0 && *n > MOST ? EFBIG : err;
}

/* Makes room for an answer of a head and n things of some size; zeros. NULL without memory. */
static void *
room_for(struct ks_linux *lx, size_t head, uint32_t n, size_t size)
{
	struct state *s = lx->sub[KS_SUB_ethtool].state;
	size_t need = head + ((size_t)n + SPARE) * size;

	if (s->cap < need) {
		free(s->buf);
		s->buf = malloc(need);
		s->cap = s->buf != NULL ? need : 0;
	}
	if (s->buf != NULL)
		memset(s->buf, 0, s->cap);
	return s->buf;
}

/* Reads the names of a link's statistics. Those that are too long end in a number, so that they stay distinct. */
static int
read_names(struct ks_linux *lx, struct ks_unit *unit, uint32_t n)
{
	struct names *names = malloc(sizeof(*names) + n * sizeof(names->name[0]));
	struct ethtool_gstrings *g = room_for(lx, sizeof(*g), n, ETH_GSTRING_LEN);
	int err = names != NULL && g != NULL ? 0 : ENOMEM;

	if (err == 0) {
		g->cmd = ETHTOOL_GSTRINGS;
		g->string_set = ETH_SS_STATS;
		err = ask(lx, unit, g);
	}
	if (err != 0) {
		free(names);
		return err;
	}
	names->n = n < g->len ? n : g->len;
	for (uint32_t i = 0; i < names->n; i++) {
		struct ks_text t = ks_text_of((const char *)g->data + (size_t)i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
		size_t len = strnlen(t.p, ETH_GSTRING_LEN);

		t.end = t.p + len;
		ks_text_trim(&t);
		ks_name_set(names->name[i], KSTAT_STRLEN, t.p, ks_text_size(&t));
		if (ks_text_size(&t) >= KSTAT_STRLEN)
			(void)snprintf(names->name[i] + KSTAT_STRLEN - 7, 7, "~%05x", i & 0xfffff);
	}
	free(unit->extra);
	unit->extra = names;
	return 0;
}

/* Reads the numbers of a link, and the names if there are others now. Returns 0 or an errno. */
static int
read_numbers(struct ks_linux *lx, struct ks_unit *unit, const struct ethtool_stats **stats)
{
	const struct names *names = unit->extra;
	struct ethtool_stats *g;
	uint32_t n;
	int err = ask_count(lx, unit, &n);

	if (err == 0 && (names == NULL || names->n != n))
		err = read_names(lx, unit, n);
	if (err != 0)
		return err;
	g = room_for(lx, sizeof(*g), n, sizeof(uint64_t));
	if (g == NULL)
		return ENOMEM;
	g->cmd = ETHTOOL_GSTATS;
	g->n_stats = n;
	*stats = g;
	return ask(lx, unit, g);
}

static int
read_driver(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ethtool_stats *stats;
	const struct names *names;
	int err = read_numbers(lx, unit, &stats);

	if (err == ENODEV)
		return ks_linux_gone(unit);
	if (err != 0)
		return ks_fail(err, "cannot ask the driver of %s for its statistics: %s", unit->key, strerror(err));
	names = unit->extra;
	for (uint32_t i = 0; i < names->n && i < stats->n_stats; i++) {
		uint64_t v;

		memcpy(&v, (const char *)stats->data + i * sizeof(v), sizeof(v));
		if (names->name[i][0] != '\0')
			ks_named_u64(r, names->name[i], v);
	}
	return 0;
}

static const struct ks_meta *
meta_of(const char *stat)
{
	return ks_described(NULL, 0, stat, "the link's driver, as 'ethtool -S' shows them");
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("ethtool", "@", "net_driver", .read = read_driver, .meta = meta_of, .needs = &ks_linux_link,
	    .from = "SIOCETHTOOL (ioctl)", .title = "ethtool:0:NAME", KS_NAMES("rx_queue_0_packets")),
};

static int
scan_drivers(struct ks_linux *lx, struct ks_units *units)
{
	const struct ks_units *links = &lx->sub[KS_SUB_link].units;

	ks_units_begin(units);
	for (uint32_t i = 0; lx->root[KS_ROOT_PROC].kernel && i < links->n; i++) {
		const struct ks_unit *link = &links->v[i];
		struct ks_unit *unit;
		bool is_new;
		uint32_t n;

		if (!link->alive)
			continue;
		unit = ks_units_see(units, link->key, strlen(link->key), link->ident, &is_new);
		if (unit == NULL)
			return -1;
		if (!is_new)
			continue;
		unit->parts = ask_count(lx, unit, &n) == 0 && n > 0;
	}
	return ks_units_end(units);
}

static void
start(void *state)
{
	((struct state *)state)->socket = -1;
}

static void
release(void *state)
{
	struct state *s = state;

	ks_socket_close(s->socket);
	free(s->buf);
}

KS_SUBSYSTEM(ethtool, parts, .scan = scan_drivers, .optional = "ethtool", .state_size = sizeof(struct state),
    .start = start, .release = release);
