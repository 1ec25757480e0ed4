/*
 * tcp_state.c - TCP connections by state: tcp_state:0:tcp and tcp_state:0:tcp6, over netlink. The kernel goes over all
 * sockets for it, so these kstats are optional. SPDX-License-Identifier: MIT
 */
#include <linux/netlink.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "source/linux/linux.h"
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
scan_states(struct ks_linux *lx, struct ks_units *units)
{
	if (lx->root[KS_ROOT_PROC].kernel)
		return ks_linux_scan_files(lx, KS_SUB_tcp_state);
	ks_units_begin(units); /* a recorded tree has no kernel that could be asked */
	return ks_units_end(units);
}

KS_SUBSYSTEM(tcp_state, parts, .scan = scan_states, .optional = "tcp_state", .state_size = sizeof(struct ks_netlink),
    .start = ks_diag_start, .release = ks_diag_release);
