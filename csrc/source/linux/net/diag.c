/* diag.c - see diag.h. SPDX-License-Identifier: MIT */
#include "source/linux/net/diag.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>

/* The place of a socket's drops among the numbers about its memory. */
#define DROPS 8

bool
ks_diag_parse(uint16_t type, struct ks_text body, struct ks_diag *diag)
{
	struct inet_diag_msg m;
	struct ks_attr a;

	if (type != SOCK_DIAG_BY_FAMILY || !ks_netlink_head(&body, &m, sizeof(m)) || m.idiag_state >= KS_TCP_STATES)
		return false;
	*diag = (struct ks_diag){ .family = m.idiag_family, .state = m.idiag_state, .port = ntohs(m.id.idiag_sport),
		.peer_port = ntohs(m.id.idiag_dport),
		.interface = m.id.idiag_if, .rqueue = m.idiag_rqueue, .wqueue = m.idiag_wqueue,
		.uid = m.idiag_uid, .inode = m.idiag_inode };
	memcpy(diag->address, m.id.idiag_src, m.idiag_family == AF_INET ? 4 : sizeof(diag->address));
	memcpy(diag->peer, m.id.idiag_dst, m.idiag_family == AF_INET ? 4 : sizeof(diag->peer));
	while (ks_attr_next(&body, &a)) {
		if (a.type != INET_DIAG_SKMEMINFO || ks_text_size(&a.data) < (DROPS + 1) * sizeof(uint32_t))
			continue;
		memcpy(&diag->drops, a.data.p + DROPS * sizeof(uint32_t), sizeof(diag->drops));
		diag->has_drops = true;
	}
	return true;
}

int
ks_diag_dump(struct ks_netlink *nl, uint8_t family, uint32_t states, ks_netlink_each *each, void *arg)
{
	const struct inet_diag_req_v2 request = { .sdiag_family = family, .sdiag_protocol = IPPROTO_TCP,
		.idiag_ext = states == 1u << KS_TCP_LISTEN ? 1 << (INET_DIAG_SKMEMINFO - 1) : 0, .idiag_states = states };

	return ks_netlink_dump(nl, SOCK_DIAG_BY_FAMILY, &request, sizeof(request), each, arg);
}

void
ks_diag_start(void *state)
{
	*(struct ks_netlink *)state = (struct ks_netlink)KS_NETLINK_INIT(NETLINK_SOCK_DIAG, 0);
}

void
ks_diag_release(void *state)
{
	ks_netlink_close(state);
}
