/*
 * link.c - network links from /proc/net/dev, with the statistic names of illumos's mac kstats.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "source/linux/listing.h"

static const struct ks_file netdev_file = { KS_ROOT_PROC, "net/dev", KS_MADE_BRIEFLY, false };
static const struct ks_listing listing;

struct state {
	int socket; /* for questions about links; -1: not open yet */
};

/* Speed and duplex are read again after this time (ns), or when the link went down or up. */
#define MEDIA_AGE 10000000000

/* Columns of a line. */
enum { N_RBYTES, N_RPACKETS, N_RERRS, N_RDROP, N_RFIFO, N_RFRAME, N_RCOMPRESSED, N_MULTICAST,
	N_OBYTES, N_OPACKETS, N_OERRS, N_ODROP, N_OFIFO, N_COLLS, N_CARRIER, N_OCOMPRESSED, N_COUNT };

enum { L_COLLISIONS, L_IERRORS, L_IFSPEED, L_IPACKETS, L_IPACKETS64, L_DUPLEX, L_STATE, L_MULTIRCV,
	L_NORCVBUF, L_NOXMTBUF, L_OBYTES, L_OBYTES64, L_OERRORS, L_OPACKETS, L_OPACKETS64, L_RBYTES,
	L_RBYTES64 };

#define BYTES32(stat, desc) \
	KS_UNITS(stat, KS_KIND_COUNTER, KSTAT2_NVMT_BYTES, KSTAT_DATA_UINT32, "bytes", desc)

static const struct ks_field link_fields[] = {
	[L_COLLISIONS] = KS_COUNT("collisions", KSTAT_DATA_UINT32, "collisions while sending"),
	[L_IERRORS] = KS_COUNT("ierrors", KSTAT_DATA_UINT32, "packets received with errors"),
	[L_IFSPEED] = KS_UNITS("ifspeed", KS_KIND_GAUGE, KSTAT2_NVMT_BITS, KSTAT_DATA_UINT64, "bits/s",
	    "speed of the link"),
	[L_IPACKETS] = KS_COUNT("ipackets", KSTAT_DATA_UINT32, "packets received, low 32 bits"),
	[L_IPACKETS64] = KS_COUNT("ipackets64", KSTAT_DATA_UINT64, "packets received"),
	[L_DUPLEX] = KS_UNITS("link_duplex", KS_KIND_GAUGE, KSTAT2_NVMT_STATE, KSTAT_DATA_UINT32, "",
	    "1 half duplex, 2 full duplex"),
	[L_STATE] = KS_UNITS("link_state", KS_KIND_GAUGE, KSTAT2_NVMT_STATE, KSTAT_DATA_UINT32, "",
	    "0 down, 1 up"),
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
	KS_FIELD_END
};
KS_FIELDS_FIT(link_fields);

/* Which statistics each column feeds; -1 ends. */
static const int8_t feeds[N_COUNT][3] = {
	[N_RBYTES] = { L_RBYTES, L_RBYTES64, -1 },
	[N_RPACKETS] = { L_IPACKETS, L_IPACKETS64, -1 },
	[N_RERRS] = { L_IERRORS, -1 },
	[N_RDROP] = { L_NORCVBUF, -1 },
	[N_RFIFO] = { -1 },
	[N_RFRAME] = { -1 },
	[N_RCOMPRESSED] = { -1 },
	[N_MULTICAST] = { L_MULTIRCV, -1 },
	[N_OBYTES] = { L_OBYTES, L_OBYTES64, -1 },
	[N_OPACKETS] = { L_OPACKETS, L_OPACKETS64, -1 },
	[N_OERRS] = { L_OERRORS, -1 },
	[N_ODROP] = { L_NOXMTBUF, -1 },
	[N_OFIFO] = { -1 },
	[N_COLLS] = { L_COLLISIONS, -1 },
	[N_CARRIER] = { -1 },
	[N_OCOMPRESSED] = { -1 },
};

/* ks_unit.extra of a link: what /sys said last. */
struct media {
	bool known;
	unsigned flags;
	hrtime_t when;
	uint64_t speed;   /* bits/s; 0: not known */
	uint32_t duplex;  /* 0: not known */
};

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
	struct state *s = lx->sub[KS_SUB_link].state;
	struct ifreq req = { .ifr_flags = 0 };

	if (!lx->root[KS_ROOT_PROC].kernel)
		return false;
	if (s->socket < 0)
		s->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s->socket < 0)
		s->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ks_name_set(req.ifr_name, sizeof(req.ifr_name), unit->key, strlen(unit->key));
	if (s->socket < 0 || ioctl(s->socket, SIOCGIFFLAGS, &req) != 0)
		return false;
	*flags = (unsigned short)req.ifr_flags;
	return true;
}

static void
read_media(struct ks_linux *lx, struct ks_unit *unit, struct media *m)
{
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
	struct media *m = unit->extra;
	unsigned flags = 0;
	bool live = flags_of(lx, unit, &flags);
	uint64_t state;

	if (!live || !m->known || m->flags != flags || lx->taken - m->when > MEDIA_AGE) {
		read_media(lx, unit, m);
		m->known = true;
		m->flags = flags;
		m->when = lx->taken;
	}
	if (m->speed > 0)
		ks_have(vals, L_IFSPEED, m->speed);
	if (m->duplex > 0)
		ks_have(vals, L_DUPLEX, m->duplex);
	if (live)
		ks_have(vals, L_STATE, (flags & IFF_RUNNING) != 0);
	else if (recorded_state(lx, unit, &state))
		ks_have(vals, L_STATE, state);
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
	uint64_t c[N_COUNT];
	struct ks_values vals = { .have = 0 };
	int n = columns_of(lx, unit, c);

	if (n < 0)
		return -1;
	for (int i = 0; i < n; i++) {
		for (const int8_t *f = feeds[i]; *f >= 0; f++)
			ks_have(&vals, (size_t)*f, c[i]);
	}
	add_state(lx, unit, &vals);
	ks_fields_add(r, link_fields, &vals);
	return 0;
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("link", "@", "net", .fields = link_fields, .read = read_link),
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

static int
set_up(struct ks_linux *lx, struct ks_units *units, struct ks_unit *unit, bool is_new)
{
	(void)lx;
	(void)units;
	if (!is_new)
		return 0;
	unit->extra = calloc(1, sizeof(struct media));
	if (unit->extra == NULL) {
		errno = ENOMEM;
		return -1;
	}
	ks_name_set(unit->name, sizeof(unit->name), unit->key, strlen(unit->key));
	unit->parts = 1;
	return 0;
}

static const struct ks_listing listing = { &netdev_file, take_key, is_heading, identity, set_up };

static int
scan_links(struct ks_linux *lx, struct ks_units *units)
{
	if (!units->scanned || !lx->settled)
		ks_linux_check_directory(lx, KS_ROOT_SYS, "class/net");
	return ks_listing_scan(lx, units, &listing);
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

	if (s->socket >= 0)
		(void)close(s->socket);
}

KS_SUBSYSTEM(link, parts, .scan = scan_links, .on_events = true, .state_size = sizeof(struct state),
    .start = start, .release = release);
