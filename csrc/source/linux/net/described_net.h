/*
 * described_net.h - counters of the network by their names, and metadata of those that kernels have under their own:
 * those of ICMP messages by type, and of MPTCP. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_NET_DESCRIBED_NET_H
#define SOURCE_LINUX_NET_DESCRIBED_NET_H

#include "model/meta.h"
#include "source/linux/linux.h"

/*
 * Return the metadata of a statistic such as "InType3" (icmp_msg, icmpv6_msg) or "MPTCPRetrans" (mptcp_ext), which
 * stays until the thread's next call; NULL for crtime and such.
 */
const struct ks_meta *ks_icmp_msg_meta(const char *stat);
const struct ks_meta *ks_icmpv6_msg_meta(const char *stat);
const struct ks_meta *ks_mptcp_ext_meta(const char *stat);

/* Collects the fields of lx->part whose keys are "Section:name", of a section of net/snmp or net/netstat: "TcpExt:". */
void ks_mib_collect(struct ks_linux *lx, const struct ks_image *im, const char *section, struct ks_values *vals);

/* The counters of MPTCP whose meaning is known, sorted by name; a NULL stat ends the table. */
extern const struct ks_meta ks_mptcp_ext_known[];

#endif
