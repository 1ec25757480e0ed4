/*
 * listen.c - sockets that wait for TCP connections: listen:PORT:tcp and listen:PORT:tcp6, or with an address such as
 * listen:53:tcp,127.0.0.1, over netlink. Sockets that share a port and an address are one kstat. The first question
 * may make the kernel load a module, so these kstats are optional. Which processes hold a socket is found among the
 * descriptors of all of them: the kind ",owner" has the same and that, for those who name it.
 * SPDX-License-Identifier: MIT
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "source/linux/linux.h"
#include "source/linux/net/netlink.h"
#include "source/linux/process/processes.h"

enum { L_SOCKETS, L_QUEUE, L_QUEUE_MAX, L_DROPS, L_ADDRESS, L_UID, L_PID, L_FNAME, L_PROCESSES };

#define FIELDS \
	[L_SOCKETS] = KS_GAUGE("sockets", KSTAT_DATA_UINT64, "sockets that listen at this address and port"), \
	[L_QUEUE] = KS_GAUGE("queue", KSTAT_DATA_UINT64, "connections that wait to be accepted"), \
	[L_QUEUE_MAX] = KS_GAUGE("queue_max", KSTAT_DATA_UINT64, "most connections that may wait: the backlog"), \
	[L_DROPS] = KS_COUNT("drops", KSTAT_DATA_UINT64, "connections that these sockets refused or dropped"), \
	[L_ADDRESS] = KS_TEXT("address", KSTAT_DATA_STRING, "address that is listened at"), \
	[L_UID] = KS_ID("uid", KSTAT_DATA_UINT32, "user who made the socket")

static const struct ks_field fields[] = { FIELDS, KS_FIELD_END };

static const struct ks_field owner_fields[] = {
	FIELDS,
	[L_PID] = KS_ID("pid", KSTAT_DATA_INT32,
	    "process that holds the socket, of several the first one; absent if this user may not see it"),
	[L_FNAME] = KS_TEXT("fname", KSTAT_DATA_STRING, "name of that process's command"),
	[L_PROCESSES] = KS_GAUGE("processes", KSTAT_DATA_UINT32, "processes that hold the socket, such as workers"),
	KS_FIELD_END
};

enum { PART_PLAIN, PART_OWNER };

/* ks_unit.extra of an address and port. */
struct listener {
	uint64_t seq; /* of the answer that it was in last */
	uint64_t sockets, queue, queue_max, drops;
	bool has_drops;
	uint32_t uid;
	pid_t pid, last; /* the first and the last process that was found to hold it; 0: none */
	uint32_t processes;
	char address[INET6_ADDRSTRLEN];
};

struct state {
	struct ks_netlink nl; /* first: see ks_diag_start() */
	uint64_t seq;   /* counts the answers */
	struct ks_reading reading; /* the last one, with the search for owners */
	uint64_t owned; /* the answer for which owners were looked for */
	struct ks_socket *sockets; /* those of the answer; owned */
	size_t n, cap;
};

struct answer {
	struct ks_linux *lx;
	bool scan; /* new ones become units */
};

static size_t
key_of(char key[KS_UNIT_NAME], const struct ks_diag *d)
{
	size_t n = (size_t)snprintf(key, KS_UNIT_NAME, "%u,%u,%u,", d->family, d->port, d->interface);

	for (size_t i = 0; i < sizeof(d->address); i++)
		n += (size_t)snprintf(key + n, KS_UNIT_NAME - n, "%02x", d->address[i]);
	return n;
}

/* Names the kstat of a new unit. Colons of an address become '_'. */
static int
set_up(struct ks_unit *unit, const struct ks_diag *d)
{
	static const unsigned char any[sizeof(d->address)];
	struct listener *l = calloc(1, sizeof(*l));
	char name[80], interface[16] = "";

	if (l == NULL)
		return ENOMEM;
	unit->extra = l;
	unit->instance = d->port;
	unit->parts = 1 << PART_PLAIN | 1 << PART_OWNER;
	if (inet_ntop(d->family, d->address, l->address, sizeof(l->address)) == NULL)
		l->address[0] = '\0';
	if (d->interface != 0)
		(void)snprintf(interface, sizeof(interface), "%%%u", d->interface);
	(void)snprintf(name, sizeof(name), "%s%s%s%s", d->family == AF_INET ? "tcp" : "tcp6",
	    memcmp(d->address, any, sizeof(any)) != 0 ? "," : "",
	    memcmp(d->address, any, sizeof(any)) != 0 ? l->address : "", interface);
	ks_name_set(unit->name, sizeof(unit->name), name, strlen(name));
	for (char *p = unit->name; *p != '\0'; p++)
		*p = *p == ':' ? '_' : *p;
	return 0;
}

static int
take_message(void *arg, uint16_t type, struct ks_text body)
{
	struct answer *a = arg;
	struct ks_units *units = &a->lx->sub[KS_SUB_listen].units;
	struct state *s = a->lx->sub[KS_SUB_listen].state;
	char key[KS_UNIT_NAME];
	struct ks_unit *unit;
	struct listener *l;
	struct ks_diag d;
	bool is_new = false;
	size_t len;

	if (!ks_diag_parse(type, body, &d) || d.state != KS_TCP_LISTEN ||
	    (d.family != AF_INET && d.family != AF_INET6))
		return 0;
	len = key_of(key, &d);
	unit = a->scan ? ks_units_see(units, key, len, 0, &is_new) : ks_units_find(units, key, len);
	if (unit == NULL)
		return a->scan ? ENOMEM : 0;
	if (is_new && set_up(unit, &d) != 0)
		return ENOMEM;
	l = unit->extra;
	if (l->seq != s->seq) {
		l->sockets = l->queue = l->queue_max = l->drops = 0;
		l->pid = l->last = 0;
		l->processes = 0;
		l->seq = s->seq;
		l->uid = d.uid;
	}
	if (!KS_RESERVE(s->sockets, s->cap, s->n + 1))
		return ENOMEM;
	s->sockets[s->n++] = (struct ks_socket){ d.inode, l };
	l->sockets++;
	l->queue += d.rqueue;
	l->queue_max += d.wqueue;
	l->drops += d.drops;
	l->has_drops = d.has_drops;
	return 0;
}

/* Asks the kernel. Returns 0 or an errno. */
static int
ask(struct ks_linux *lx, bool scan)
{
	struct state *s = lx->sub[KS_SUB_listen].state;
	struct answer a = { lx, scan };
	int err;

	s->seq++;
	s->n = 0;
	ks_reading_begin(&s->reading, lx->round);
	err = ks_diag_dump(&s->nl, AF_INET, 1u << KS_TCP_LISTEN, take_message, &a);
	if (err == 0)
		err = ks_diag_dump(&s->nl, AF_INET6, 1u << KS_TCP_LISTEN, take_message, &a);
	ks_reading_end(&s->reading, err);
	return err;
}

static void
note_owner(void *listener, pid_t pid)
{
	struct listener *l = listener;

	l->processes += l->last != pid;
	l->last = pid;
	if (l->pid == 0 || pid < l->pid)
		l->pid = pid;
}

/* Sets what is known of the process that holds the socket. The name stays in `p`. */
static void
have_owner(struct ks_linux *lx, const struct listener *l, struct ks_values *vals, struct ks_process *p)
{
	struct state *s = lx->sub[KS_SUB_listen].state;
	struct ks_process_line line;
	char text[KS_PROCESS_STAT];

	if (s->owned != s->seq) {
		ks_process_find_sockets(lx, s->sockets, s->n, note_owner);
		s->owned = s->seq;
		ks_reading_end(&s->reading, 0);
	}
	if (l->pid == 0)
		return;
	ks_have(vals, L_PID, (uint64_t)l->pid);
	ks_have(vals, L_PROCESSES, l->processes);
	p->pid = l->pid;
	if (ks_process_load_stat(lx, p, text, &line) == 0)
		ks_have_text(vals, L_FNAME, p->fname);
}

static int
read_listener(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct state *s = lx->sub[KS_SUB_listen].state;
	const struct listener *l = unit->extra;
	struct ks_values vals = { .have = 0 };
	struct ks_process owner = { .tid = 0 };
	int err = 0;

	if (ks_reading_is_due(&s->reading, lx->round))
		err = ask(lx, false);
	if (err != 0)
		return ks_fail(err, "cannot ask the kernel for listening sockets: %s", strerror(err));
	if (l->seq != s->seq)
		return ks_linux_gone(unit);
	ks_linux_taken(lx, 0, s->reading.taken);
	ks_have(&vals, L_SOCKETS, l->sockets);
	ks_have(&vals, L_QUEUE, l->queue);
	ks_have(&vals, L_QUEUE_MAX, l->queue_max);
	if (l->has_drops)
		ks_have(&vals, L_DROPS, l->drops);
	ks_have_text(&vals, L_ADDRESS, l->address);
	ks_have(&vals, L_UID, l->uid);
	if (lx->part->named)
		have_owner(lx, l, &vals, &owner);
	ks_fields_add(r, lx->part->fields, &vals);
	return 0;
}

static const struct ks_part parts[] = {
	[PART_PLAIN] = KS_NAMED_PART("listen", "@", "socket", .fields = KS_TABLE(fields), .read = read_listener,
	    .from = "inet_diag (netlink)", .title = "listen:PORT:tcp"),
	[PART_OWNER] = KS_NAMED_PART("listen", "@,owner", "socket_owner", .fields = KS_TABLE(owner_fields),
	    .read = read_listener, .from = "inet_diag (netlink) and /proc/PID/fd", .title = "listen:PORT:tcp,owner",
	    .named = true),
};

static void
release(void *state)
{
	ks_diag_release(state);
	free(((struct state *)state)->sockets);
}

static int
scan_listeners(struct ks_linux *lx, struct ks_units *units)
{
	int err = 0;

	ks_units_begin(units);
	/* A recorded tree has no kernel that could be asked. */
	if (lx->root[KS_ROOT_PROC].kernel)
		err = ask(lx, true);
	if (err == ENOMEM)
		return -1;
	if (err != 0)
		ks_scan_warn(lx->scan, "cannot ask the kernel for listening sockets: %s", strerror(err));
	return ks_units_end(units);
}

KS_SUBSYSTEM(listen, parts, .scan = scan_listeners, .optional = "listen", .state_size = sizeof(struct state),
    .start = ks_diag_start, .release = release);
