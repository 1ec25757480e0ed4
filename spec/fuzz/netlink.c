/*
 * netlink.c - fuzzes the parsers of what the kernel answers over netlink: links, queueing disciplines, sockets.
 * Whatever the answer is, they must stay inside it, and what they make of it must be texts that end and counts that
 * fit. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "source/linux/net/links.h"
#include "source/linux/net/netlink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool is_true)
{
	if (!is_true)
		abort();
}

static int
parse_all(void *arg, uint16_t type, struct ks_text body)
{
	struct ks_link link;
	struct ks_qdisc qdisc;
	struct ks_diag diag;
	size_t *n = arg;

	if (ks_link_parse(type, body, &link)) {
		check(memchr(link.name, '\0', sizeof(link.name)) != NULL);
		check(memchr(link.kind, '\0', sizeof(link.kind)) != NULL);
		check(link.ncounters <= KS_LINK_COUNTERS && link.facts >> KS_LINK_FACTS == 0);
	}
	if (ks_qdisc_parse(type, body, &qdisc)) {
		check(memchr(qdisc.kind, '\0', sizeof(qdisc.kind)) != NULL);
		check(qdisc.known >> KS_QDISC_COUNTERS == 0);
	}
	if (ks_diag_parse(type, body, &diag))
		check(diag.state < KS_TCP_STATES);
	++*n;
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = 0;
	struct ks_netlink_answer answer = { .seq = 1, .each = parse_all, .arg = &n };
	enum ks_netlink_state state = ks_netlink_parse((const char *)data, size, &answer);

	check((state == KS_NETLINK_FAILED) == (answer.err != 0));
	check(n <= size / sizeof(struct nlmsghdr));
	return 0;
}
