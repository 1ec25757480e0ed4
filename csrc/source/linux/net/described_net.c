/* described_net.c - see described_net.h. SPDX-License-Identifier: MIT */
#include "source/linux/net/described_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/linux/described.h"
#include "source/linux/linux.h"

#define EVENT(stat, desc) KS_META_COUNTER(stat, desc)
#define GAUGE(stat, desc) KS_META_GAUGE(stat, desc)

/* Sorted by name. */
const struct ks_meta ks_mptcp_ext_known[] = {
	EVENT("AddAddr", "announcements of a further address received"),
	EVENT("AddAddrDrop", "announcements of a further address received and dropped"),
	EVENT("AddAddrTx", "announcements of a further address sent"),
	EVENT("AddAddrTxDrop", "announcements of a further address that could not be sent"),
	EVENT("Blackhole", "times that MPTCP was switched off for a while because a network drops it"),
	EVENT("DSSCorruptionFallback",
	    "connections that went on as plain TCP because their mappings were damaged"),
	EVENT("DSSCorruptionReset", "subflows reset because their mappings were damaged"),
	EVENT("DSSNoMatchTCP", "mappings received that did not fit the data of the subflow"),
	EVENT("DSSNotMatching", "mappings received that contradicted the one in use"),
	EVENT("DataCsumErr", "data received with a wrong MPTCP checksum"),
	EVENT("DssFallback", "connections that went on as plain TCP for want of a mapping"),
	EVENT("DuplicateData", "segments received with data that was there already"),
	EVENT("EchoAdd", "confirmations of an announced address received"),
	EVENT("EchoAddTx", "confirmations of an announced address sent"),
	EVENT("EchoAddTxDrop", "confirmations of an announced address that could not be sent"),
	EVENT("FallbackFailed", "times that a connection could not go on as plain TCP"),
	EVENT("InfiniteMapRx", "infinite mappings received, with which a connection goes on as plain TCP"),
	EVENT("InfiniteMapTx", "infinite mappings sent, with which a connection goes on as plain TCP"),
	EVENT("MD5SigFallback", "connections opened as plain TCP because they have MD5 signatures"),
	EVENT("MPCapableACKRX", "final acknowledgements received that opened an MPTCP connection"),
	EVENT("MPCapableDataFallback",
	    "connections that went on as plain TCP because their first data lacked MPTCP"),
	EVENT("MPCapableEndpAttempt", "connections to a peer that was tried as a further path before"),
	EVENT("MPCapableFallbackACK",
	    "connections that the other side opened, and that went on as plain TCP at its acknowledgement"),
	EVENT("MPCapableFallbackSYNACK",
	    "connections opened from here that went on as plain TCP at the answer"),
	EVENT("MPCapableSYNACKRX", "answers received that accept MPTCP"),
	EVENT("MPCapableSYNRX", "SYNs received that ask for MPTCP"),
	EVENT("MPCapableSYNTX", "SYNs sent that ask for MPTCP"),
	EVENT("MPCapableSYNTXDisabled", "SYNs sent as plain TCP because MPTCP was switched off for a while"),
	EVENT("MPCapableSYNTXDrop", "SYNs sent again as plain TCP because those with MPTCP got no answer"),
	GAUGE("MPCurrEstab", "MPTCP connections that are open"),
	EVENT("MPFailRx", "reports of a checksum failure received"),
	EVENT("MPFailTx", "reports of a checksum failure sent"),
	EVENT("MPFallbackTokenInit", "connections opened as plain TCP because no token was left"),
	EVENT("MPFastcloseRx", "abrupt ends of a connection received"),
	EVENT("MPFastcloseTx", "abrupt ends of a connection sent"),
	EVENT("MPJoinAckHMacFailure",
	    "further subflows refused because the final acknowledgement had a wrong key hash"),
	EVENT("MPJoinAckRx", "final acknowledgements received that opened a further subflow"),
	EVENT("MPJoinNoTokenFound", "further subflows refused because nothing here has their token"),
	EVENT("MPJoinPortAckRx", "final acknowledgements of a subflow received on an announced port"),
	EVENT("MPJoinPortSynAckRx", "answers to a subflow received from an announced port"),
	EVENT("MPJoinPortSynRx", "SYNs of a subflow received on an announced port"),
	EVENT("MPJoinRejected", "further subflows refused by the path manager"),
	EVENT("MPJoinSynAckBackupRx", "answers received that make a further subflow a backup"),
	EVENT("MPJoinSynAckHMacFailure", "further subflows given up because the answer had a wrong key hash"),
	EVENT("MPJoinSynAckRx", "answers received that accept a further subflow"),
	EVENT("MPJoinSynBackupRx", "SYNs received for a further subflow that is a backup"),
	EVENT("MPJoinSynRx", "SYNs received for a further subflow"),
	EVENT("MPJoinSynTx", "SYNs sent for a further subflow"),
	EVENT("MPJoinSynTxBindErr", "further subflows not opened because their address could not be bound"),
	EVENT("MPJoinSynTxConnectErr", "further subflows not opened because connecting failed"),
	EVENT("MPJoinSynTxCreatSkErr", "further subflows not opened because no socket could be made"),
	EVENT("MPPrioRx", "changes of the priority of a subflow received"),
	EVENT("MPPrioTx", "changes of the priority of a subflow sent"),
	EVENT("MPRstRx", "resets of a subflow with a reason received"),
	EVENT("MPRstTx", "resets of a subflow with a reason sent"),
	EVENT("MPTCPRetrans", "segments sent again on the level of MPTCP"),
	EVENT("MismatchPortAckRx",
	    "final acknowledgements of a subflow received on a port that was not announced"),
	EVENT("MismatchPortSynRx", "SYNs of a subflow received on a port that was not announced"),
	EVENT("NoDSSInWindow", "segments received whose mapping is outside the receive window"),
	EVENT("OFOMerge", "segments received out of order that were joined with queued ones"),
	EVENT("OFOQueue", "segments of MPTCP received out of order and queued"),
	EVENT("OFOQueueTail", "segments received out of order and queued at the end"),
	EVENT("PortAdd", "announcements of an address with a port received"),
	EVENT("RcvPruned", "segments dropped from the receive queue of MPTCP for want of buffer space"),
	EVENT("RcvWndConflict",
	    "times that the shared receive window could not be raised, because another subflow had"),
	EVENT("RcvWndConflictUpdate", "times that the shared receive window was taken from another subflow"),
	EVENT("RcvWndShared", "times that a subflow raised the shared receive window"),
	EVENT("RmAddr", "withdrawals of an address received"),
	EVENT("RmAddrDrop", "withdrawals of an address received and dropped"),
	EVENT("RmAddrTx", "withdrawals of an address sent"),
	EVENT("RmAddrTxDrop", "withdrawals of an address that could not be sent"),
	EVENT("RmSubflow", "subflows removed because their address was withdrawn"),
	EVENT("SimultConnectFallback",
	    "connections that went on as plain TCP because both sides opened them"),
	EVENT("SndWndShared", "times that a subflow used the send window that another had received"),
	EVENT("SubflowRecover", "subflows that answered again"),
	EVENT("SubflowStale", "subflows that no longer answered"),
	EVENT("WinProbe", "probes of a closed MPTCP window sent"),
	KS_META_END
};

const struct ks_meta *
ks_mptcp_ext_meta(const char *stat)
{
	return ks_described(ks_mptcp_ext_known, KS_KNOWN(ks_mptcp_ext_known), stat, "/proc/net/netstat");
}

/* --- ICMP messages by type ------------------------------------------------------------------ */

struct message {
	uint8_t type;
	const char *name;
};

static const struct message icmp[] = {
	{ 0, "echo reply" }, { 3, "destination unreachable" }, { 4, "source quench" }, { 5, "redirect" },
	{ 8, "echo request" }, { 9, "router advertisement" }, { 10, "router solicitation" },
	{ 11, "time exceeded" }, { 12, "parameter problem" }, { 13, "timestamp request" },
	{ 14, "timestamp reply" }, { 17, "address mask request" }, { 18, "address mask reply" },
	{ 42, "extended echo request" }, { 43, "extended echo reply" }, { 0, NULL }
};

static const struct message icmpv6[] = {
	{ 1, "destination unreachable" }, { 2, "packet too big" }, { 3, "time exceeded" },
	{ 4, "parameter problem" }, { 128, "echo request" }, { 129, "echo reply" },
	{ 130, "multicast listener query" }, { 131, "multicast listener report" },
	{ 132, "multicast listener done" }, { 133, "router solicitation" }, { 134, "router advertisement" },
	{ 135, "neighbour solicitation" }, { 136, "neighbour advertisement" }, { 137, "redirect" },
	{ 143, "multicast listener report, version 2" }, { 160, "extended echo request" },
	{ 161, "extended echo reply" }, { 0, NULL }
};

/* Describes "InType3" or "OutType3"; anything else as a counter of that file. */
static const struct ks_meta *
describe_type(const struct message *known, const char *stat, const char *protocol, const char *file)
{
	static _Thread_local char desc[96];
	static _Thread_local struct ks_meta m;
	const struct ks_meta described = EVENT("", desc);
	bool in = strncmp(stat, "InType", 6) == 0;
	const char *digits = stat + (in ? 6 : 7);
	char *end;
	unsigned long type;

	if (!in && strncmp(stat, "OutType", 7) != 0)
		return ks_described(NULL, 0, stat, file);
	type = strtoul(digits, &end, 10);
	if (end == digits || *end != '\0')
		return ks_described(NULL, 0, stat, file);
	while (known->name != NULL && known->type != type)
		known++;
	(void)snprintf(desc, sizeof(desc), "%s messages of type %.3s (%s), %s", protocol, digits,
	    known->name != NULL ? known->name : "not known here", in ? "received" : "sent");
	m = described;
	return &m;
}

const struct ks_meta *
ks_icmp_msg_meta(const char *stat)
{
	return describe_type(icmp, stat, "ICMP", "/proc/net/snmp");
}

const struct ks_meta *
ks_icmpv6_msg_meta(const char *stat)
{
	return describe_type(icmpv6, stat, "ICMPv6", "/proc/net/snmp6");
}
