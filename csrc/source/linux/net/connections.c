/*
 * connections.c - TCP connections, for which the kernel is asked over netlink. It goes over all sockets for that, so
 * these kstats are optional. By state: tcp_state:0:tcp and tcp_state:0:tcp6. And the ports for connections that are made
 * from here, ports:0:tcp: how many there are, and how many are in use towards the one address and port that has most of
 * them; beyond that connect() fails with EADDRNOTAVAIL, and nothing counts it. For that sockets are looked at only
 * where half of the ports may be in use. SPDX-License-Identifier: MIT
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "source/linux/linux.h"
#include "source/linux/listing.h"
#include "source/linux/net/netlink.h"

#define GAUGE(stat, desc) KS_GAUGE(stat, KSTAT_DATA_UINT64, desc)

/* The first fields are in the order of the kernel's numbers of states, from 1. */
enum { T_LAST = KS_TCP_STATES - 2, T_RECEIVED, T_SENT };

static const struct ks_field fields[] = {
	GAUGE("established", "connections that are open"),
	GAUGE("syn_sent", "connections being opened from here"),
	GAUGE("syn_recv", "connections being opened from elsewhere"),
	GAUGE("fin_wait1", "connections closed here; the other side has not acknowledged it"),
	GAUGE("fin_wait2", "connections closed here that the other side has not closed yet"),
	GAUGE("time_wait", "closed connections whose late segments are waited for"),
	GAUGE("close", "sockets that are not connected"),
	GAUGE("close_wait", "connections closed by the other side that the program here has not closed yet"),
	GAUGE("last_ack", "connections closed by both sides; the last acknowledgement is waited for"),
	GAUGE("listen", "sockets that wait for connections"),
	GAUGE("closing", "connections that both sides closed at the same time"),
	[T_RECEIVED] = KS_AMOUNT("rx_queued", "bytes received that programs have not read yet"),
	[T_SENT] = KS_AMOUNT("tx_queued", "bytes to be sent, or sent and not acknowledged yet"),
	KS_FIELD_END
};
_Static_assert(sizeof(fields) / sizeof(fields[0]) == T_SENT + 2, "a state needs a field");

#define ALL_STATES ((1u << KS_TCP_STATES) - 2)

static int
count(void *arg, uint16_t type, struct ks_text body)
{
	struct ks_values *vals = arg;
	struct ks_diag d;

	if (!ks_diag_parse(type, body, &d) || d.state == 0)
		return 0;
	vals->v[d.state - 1].u++;
	if (d.state != KS_TCP_LISTEN) {
		vals->v[T_RECEIVED].u += d.rqueue;
		vals->v[T_SENT].u += d.wqueue;
	}
	return 0;
}

static const struct ks_part parts[];

static int
read_states(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_netlink *nl = lx->sub[KS_SUB_tcp_state].state;
	struct ks_values vals = { .have = (1ULL << (T_SENT + 1)) - 1 };
	int err;

	(void)unit;
	lx->taken = gethrtime();
	err = ks_diag_dump(nl, lx->part == parts ? AF_INET : AF_INET6, ALL_STATES, count, &vals);
	if (err != 0)
		return ks_fail(err, "cannot ask the kernel for TCP sockets: %s", strerror(err));
	ks_fields_add(r, fields, &vals);
	return 0;
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("tcp_state", "tcp", "socket", .fields = KS_TABLE(fields), .read = read_states,
	    .from = "inet_diag (netlink)"),
	KS_NAMED_PART("tcp_state", "tcp6", "socket", .fields = KS_TABLE(fields), .read = read_states,
	    .from = "inet_diag (netlink)"),
};

static int
scan(struct ks_linux *lx, struct ks_units *units)
{
	if (lx->root[KS_ROOT_PROC].kernel)
		return ks_linux_scan_files(lx, ks_linux_subsystem_of(lx, units));
	ks_units_begin(units); /* a recorded tree has no kernel that could be asked */
	return ks_units_end(units);
}

KS_SUBSYSTEM(tcp_state, parts, .scan = scan, .optional = "tcp_state", .state_size = sizeof(struct ks_netlink),
    .start = ks_diag_start, .release = ks_diag_release);

/* --- ports --------------------------------------------------------------------------------- */

static const struct ks_file range_file = { KS_ROOT_PROC, "sys/net/ipv4/ip_local_port_range", KS_MADE_WHOLE, false };
static const struct ks_file sockstat_file = { KS_ROOT_PROC, "net/sockstat", KS_MADE_WHOLE, false };

enum { P_PORTS, P_USED, P_TO, P_UID };

static const struct ks_field port_fields[] = {
	[P_PORTS] = KS_GAUGE("ports", KSTAT_DATA_UINT64, "ports that the kernel chooses from for connections from here"),
	[P_USED] = KS_GAUGE("used", KSTAT_DATA_UINT64,
	    "how many of them connections to the address with most use; absent while fewer than half can be in use"),
	[P_TO] = KS_TEXT_STATE("to", KSTAT_DATA_STRING, "that address and its port"),
	[P_UID] = KS_ID("uid", KSTAT_DATA_UINT32, "user of such a connection; absent where all are in TIME_WAIT"),
	KS_FIELD_END
};

struct connection {
	unsigned char peer[16];
	uint16_t peer_port;
	uint8_t family;
	uint32_t uid;
	bool is_held; /* by a process */
};

struct connections {
	struct connection *v;
	size_t n, cap;
	uint64_t first, last; /* the ports that count */
};

#define CLOSED 7
#define TIME_WAIT 6
#define CONNECTED (ALL_STATES & ~(1u << KS_TCP_LISTEN) & ~(1u << CLOSED))

static int
take_connection(void *arg, uint16_t type, struct ks_text body)
{
	struct connections *all = arg;
	struct ks_diag d;
	struct connection c;

	if (!ks_diag_parse(type, body, &d) || d.port < all->first || d.port > all->last)
		return 0;
	if (!KS_RESERVE(all->v, all->cap, all->n + 1))
		return ENOMEM;
	c = (struct connection){ .peer_port = d.peer_port, .family = d.family, .uid = d.uid,
		.is_held = d.state != TIME_WAIT };
	memcpy(c.peer, d.peer, sizeof(c.peer));
	all->v[all->n++] = c;
	return 0;
}

/* Puts those towards the same address and port together, those that a process holds first. */
static int
by_peer(const void *a, const void *b)
{
	const struct connection *x = a, *y = b;
	int order = memcmp(x->peer, y->peer, sizeof(x->peer));

	if (order == 0)
		order = (int)x->peer_port - (int)y->peer_port;
	return order != 0 ? order : (int)y->is_held - (int)x->is_held;
}

/* Finds the address and port that most connections go to. Returns the first one of them, and their number. */
static const struct connection *
find_most(struct connections *all, size_t *most)
{
	const struct connection *found = NULL;

	*most = 0;
	if (all->n > 0)
		qsort(all->v, all->n, sizeof(*all->v), by_peer);
	for (size_t i = 0, next; i < all->n; i = next) {
		const struct connection *c = &all->v[i];

		for (next = i + 1; next < all->n && memcmp(all->v[next].peer, c->peer, sizeof(c->peer)) == 0 &&
		    all->v[next].peer_port == c->peer_port;)
			next++;
		if (next - i > *most) {
			*most = next - i;
			found = c;
		}
	}
	return found;
}

static void
have_most(struct ks_values *vals, struct connections *all, char text[INET6_ADDRSTRLEN + 8])
{
	char address[INET6_ADDRSTRLEN];
	size_t most;
	const struct connection *c = find_most(all, &most);

	ks_have(vals, P_USED, most);
	if (c == NULL || inet_ntop(c->family, c->peer, address, sizeof(address)) == NULL)
		return;
	(void)snprintf(text, INET6_ADDRSTRLEN + 8, c->family == AF_INET ? "%s:%u" : "[%s]:%u", address, c->peer_port);
	ks_have_text(vals, P_TO, text);
	if (c->is_held)
		ks_have(vals, P_UID, c->uid);
}

/* Reads the first and the last port. */
static bool
read_range(struct ks_linux *lx, struct connections *all)
{
	const struct ks_image *im = ks_linux_try(lx, &range_file);
	struct ks_text t;
	uint64_t v[2];

	if (im == NULL)
		return false;
	t = ks_text_of(im->data, im->len);
	if (ks_text_numbers(&t, v, 2) != 2 || v[0] > v[1] || v[1] > UINT16_MAX)
		return false;
	all->first = v[0];
	all->last = v[1];
	return true;
}

/* How many TCP sockets there are at most, those in TIME_WAIT included: "TCP: inuse 5 orphan 0 tw 2 ...". */
static uint64_t
count_sockets(struct ks_linux *lx)
{
	const struct ks_image *im = ks_linux_try(lx, &sockstat_file);
	uint64_t sum = 0, v;
	struct ks_text all, line, word;

	all = im != NULL ? ks_text_of(im->data, im->len) : (struct ks_text){ NULL, NULL };
	while (im != NULL && ks_text_line(&all, &line)) {
		if (!ks_text_starts(&line, "TCP:"))
			continue;
		while (ks_text_word(&line, &word))
			if ((ks_text_is(&word, "inuse") || ks_text_is(&word, "tw")) && ks_text_numbers(&line, &v, 1) == 1)
				sum += v;
	}
	return sum;
}

static int
read_ports(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_netlink *nl = lx->sub[KS_SUB_ports].state;
	struct ks_values vals = { .have = 0 };
	struct connections all = { .n = 0 };
	char text[INET6_ADDRSTRLEN + 8];
	int err = 0;

	if (!read_range(lx, &all))
		return ks_linux_gone(unit);
	ks_have(&vals, P_PORTS, all.last - all.first + 1);
	lx->taken = gethrtime();
	if (count_sockets(lx) >= (all.last - all.first + 1) / 2) {
		err = ks_diag_dump(nl, AF_INET, CONNECTED, take_connection, &all);
		if (err == 0)
			err = ks_diag_dump(nl, AF_INET6, CONNECTED, take_connection, &all);
		if (err == 0)
			have_most(&vals, &all, text);
	}
	free(all.v);
	if (err != 0)
		return ks_fail(err, "cannot ask the kernel for TCP sockets: %s", strerror(err));
	ks_fields_add(r, port_fields, &vals);
	return 0;
}

static const struct ks_part port_parts[] = {
	KS_NAMED_PART("ports", "tcp", "socket", .fields = KS_TABLE(port_fields), .read = read_ports,
	    .from = "/proc/sys/net/ipv4/ip_local_port_range, inet_diag (netlink)"),
};

KS_SUBSYSTEM(ports, port_parts, .scan = scan, .optional = "ports", .state_size = sizeof(struct ks_netlink),
    .start = ks_diag_start, .release = ks_diag_release);
