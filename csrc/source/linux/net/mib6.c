/*
 * mib6.c - what IPv6 and the protocols above it count (class mib2), from /proc/net/snmp6: ip:0:ip6, ip:0:icmpv6,
 * udp:0:udp6 and udp:0:udplite6 with names like those of IPv4, and ip:0:icmpv6_msg, ICMPv6 messages by type. And what IPsec
 * counts, from a file like it, /proc/net/xfrm_stat: ip:0:xfrm.
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/lines.h"
#include "source/linux/net/described_net.h"
#include "source/linux/net/udp_fields.h"

static const struct ks_file snmp6_file = { KS_ROOT_PROC, "net/snmp6", KS_MADE_BRIEFLY, false };
static const struct ks_file xfrm_file = { KS_ROOT_PROC, "net/xfrm_stat", KS_MADE_BRIEFLY, false };

#define COUNT(stat, key, desc) KS_COUNT_K(stat, KSTAT_DATA_UINT64, key, desc)
#define BYTES(stat, key, desc) { KS_META_BYTES(stat, KS_KIND_COUNTER, desc), KSTAT_DATA_UINT64, key }

static const struct ks_field ip6_fields[] = {
	COUNT("inReceives", "Ip6InReceives", "IPv6 packets received"),
	COUNT("inHdrErrors", "Ip6InHdrErrors", "IPv6 packets received with a wrong header"),
	COUNT("inTooBigErrors", "Ip6InTooBigErrors",
	    "IPv6 packets not forwarded because they were larger than the next link takes"),
	COUNT("inNoRoutes", "Ip6InNoRoutes", "IPv6 packets received for which there is no route"),
	COUNT("inAddrErrors", "Ip6InAddrErrors", "IPv6 packets received with a wrong address"),
	COUNT("inUnknownProtos", "Ip6InUnknownProtos", "IPv6 packets received of an unknown protocol"),
	COUNT("inTruncatedPkts", "Ip6InTruncatedPkts",
	    "IPv6 packets received that were shorter than their header says"),
	COUNT("inDiscards", "Ip6InDiscards", "IPv6 packets received and dropped"),
	COUNT("inDelivers", "Ip6InDelivers", "IPv6 packets delivered"),
	COUNT("forwDatagrams", "Ip6OutForwDatagrams", "IPv6 packets forwarded"),
	COUNT("outRequests", "Ip6OutRequests", "IPv6 packets to be sent"),
	COUNT("outDiscards", "Ip6OutDiscards", "IPv6 packets dropped before sending"),
	COUNT("outNoRoutes", "Ip6OutNoRoutes", "IPv6 packets not sent for want of a route"),
	COUNT("reasmTimeout", "Ip6ReasmTimeout", "IPv6 reassemblies that took too long"),
	COUNT("reasmReqds", "Ip6ReasmReqds", "IPv6 fragments received"),
	COUNT("reasmOKs", "Ip6ReasmOKs", "IPv6 packets reassembled"),
	COUNT("reasmFails", "Ip6ReasmFails", "IPv6 reassemblies that failed"),
	COUNT("fragOKs", "Ip6FragOKs", "IPv6 packets fragmented"),
	COUNT("fragFails", "Ip6FragFails", "IPv6 packets that could not be fragmented"),
	COUNT("fragCreates", "Ip6FragCreates", "IPv6 fragments made"),
	COUNT("inMcastPkts", "Ip6InMcastPkts", "IPv6 multicast packets received"),
	COUNT("outMcastPkts", "Ip6OutMcastPkts", "IPv6 multicast packets sent"),
	BYTES("inOctets", "Ip6InOctets", "bytes of IPv6 packets received"),
	BYTES("outOctets", "Ip6OutOctets", "bytes of IPv6 packets sent"),
	BYTES("inMcastOctets", "Ip6InMcastOctets", "bytes of IPv6 multicast packets received"),
	BYTES("outMcastOctets", "Ip6OutMcastOctets", "bytes of IPv6 multicast packets sent"),
	BYTES("inBcastOctets", "Ip6InBcastOctets", "bytes of IPv6 broadcast packets received"),
	BYTES("outBcastOctets", "Ip6OutBcastOctets", "bytes of IPv6 broadcast packets sent"),
	COUNT("inNoECTPkts", "Ip6InNoECTPkts", "IPv6 packets received without support for congestion marks"),
	COUNT("inECT1Pkts", "Ip6InECT1Pkts",
	    "IPv6 packets received with support for congestion marks, ECT(1)"),
	COUNT("inECT0Pkts", "Ip6InECT0Pkts",
	    "IPv6 packets received with support for congestion marks, ECT(0)"),
	COUNT("inCEPkts", "Ip6InCEPkts", "IPv6 packets received that a router marked for congestion"),
	COUNT("outTransmits", "Ip6OutTransmits",
	    "IPv6 packets given to links, forwarded ones and fragments included"),
	KS_FIELD_END
};

static const struct ks_field icmpv6_fields[] = {
	COUNT("inMsgs", "Icmp6InMsgs", "ICMPv6 messages received"),
	COUNT("inErrors", "Icmp6InErrors", "ICMPv6 messages received in error"),
	COUNT("outMsgs", "Icmp6OutMsgs", "ICMPv6 messages sent"),
	COUNT("outErrors", "Icmp6OutErrors", "ICMPv6 messages that could not be sent"),
	COUNT("inCksumErrs", "Icmp6InCsumErrors", "ICMPv6 messages received with a wrong checksum"),
	COUNT("outRateLimitHost", "Icmp6OutRateLimitHost",
	    "ICMPv6 messages not sent because of the limit for one host"),
	COUNT("inDestUnreachs", "Icmp6InDestUnreachs", "destination unreachable (IPv6), received"),
	COUNT("inPktTooBigs", "Icmp6InPktTooBigs", "packet too big (IPv6), received"),
	COUNT("inTimeExcds", "Icmp6InTimeExcds", "time exceeded (IPv6), received"),
	COUNT("inParmProblems", "Icmp6InParmProblems", "parameter problem (IPv6), received"),
	COUNT("inEchos", "Icmp6InEchos", "echo request (IPv6), received"),
	COUNT("inEchoReplies", "Icmp6InEchoReplies", "echo reply (IPv6), received"),
	COUNT("inGroupMembQueries", "Icmp6InGroupMembQueries", "multicast listener query (IPv6), received"),
	COUNT("inGroupMembResponses", "Icmp6InGroupMembResponses",
	    "multicast listener report (IPv6), received"),
	COUNT("inGroupMembReductions", "Icmp6InGroupMembReductions",
	    "multicast listener done (IPv6), received"),
	COUNT("inRouterSolicits", "Icmp6InRouterSolicits", "router solicitation (IPv6), received"),
	COUNT("inRouterAdvertisements", "Icmp6InRouterAdvertisements",
	    "router advertisement (IPv6), received"),
	COUNT("inNeighborSolicits", "Icmp6InNeighborSolicits", "neighbour solicitation (IPv6), received"),
	COUNT("inNeighborAdvertisements", "Icmp6InNeighborAdvertisements",
	    "neighbour advertisement (IPv6), received"),
	COUNT("inRedirects", "Icmp6InRedirects", "redirect (IPv6), received"),
	COUNT("inMLDv2Reports", "Icmp6InMLDv2Reports",
	    "multicast listener report, version 2 (IPv6), received"),
	COUNT("outDestUnreachs", "Icmp6OutDestUnreachs", "destination unreachable (IPv6), sent"),
	COUNT("outPktTooBigs", "Icmp6OutPktTooBigs", "packet too big (IPv6), sent"),
	COUNT("outTimeExcds", "Icmp6OutTimeExcds", "time exceeded (IPv6), sent"),
	COUNT("outParmProblems", "Icmp6OutParmProblems", "parameter problem (IPv6), sent"),
	COUNT("outEchos", "Icmp6OutEchos", "echo request (IPv6), sent"),
	COUNT("outEchoReplies", "Icmp6OutEchoReplies", "echo reply (IPv6), sent"),
	COUNT("outGroupMembQueries", "Icmp6OutGroupMembQueries", "multicast listener query (IPv6), sent"),
	COUNT("outGroupMembResponses", "Icmp6OutGroupMembResponses",
	    "multicast listener report (IPv6), sent"),
	COUNT("outGroupMembReductions", "Icmp6OutGroupMembReductions",
	    "multicast listener done (IPv6), sent"),
	COUNT("outRouterSolicits", "Icmp6OutRouterSolicits", "router solicitation (IPv6), sent"),
	COUNT("outRouterAdvertisements", "Icmp6OutRouterAdvertisements", "router advertisement (IPv6), sent"),
	COUNT("outNeighborSolicits", "Icmp6OutNeighborSolicits", "neighbour solicitation (IPv6), sent"),
	COUNT("outNeighborAdvertisements", "Icmp6OutNeighborAdvertisements",
	    "neighbour advertisement (IPv6), sent"),
	COUNT("outRedirects", "Icmp6OutRedirects", "redirect (IPv6), sent"),
	COUNT("outMLDv2Reports", "Icmp6OutMLDv2Reports", "multicast listener report, version 2 (IPv6), sent"),
	KS_FIELD_END
};

static const struct ks_field udp6_fields[] = KS_UDP_FIELDS("Udp6", "UDP on IPv6");

static const struct ks_field udplite6_fields[] = KS_UDP_FIELDS("UdpLite6", "UDP-Lite on IPv6");

static const struct ks_field xfrm_fields[] = {
	COUNT("inError", "XfrmInError",
	    "packets received that failed in a way that has no counter of its own"),
	COUNT("inBufferError", "XfrmInBufferError", "packets received for which there was no memory"),
	COUNT("inHdrError", "XfrmInHdrError", "packets of IPsec received with a wrong header"),
	COUNT("inNoStates", "XfrmInNoStates", "packets received for which there is no security association"),
	COUNT("inStateProtoError", "XfrmInStateProtoError",
	    "packets received that their security association could not authenticate or decrypt"),
	COUNT("inStateModeError", "XfrmInStateModeError",
	    "packets received in another mode than that of their security association"),
	COUNT("inStateSeqError", "XfrmInStateSeqError",
	    "packets received with a sequence number outside the window, as replayed ones have"),
	COUNT("inStateExpired", "XfrmInStateExpired",
	    "packets received for a security association that has expired"),
	COUNT("inStateMismatch", "XfrmInStateMismatch",
	    "packets received whose security association is of another selector"),
	COUNT("inStateInvalid", "XfrmInStateInvalid",
	    "packets received for a security association that is not valid"),
	COUNT("inTmplMismatch", "XfrmInTmplMismatch",
	    "packets received that the template of their policy does not match"),
	COUNT("inNoPols", "XfrmInNoPols",
	    "packets received through a security association that no policy asks for"),
	COUNT("inPolBlock", "XfrmInPolBlock", "packets received and dropped because a policy says so"),
	COUNT("inPolError", "XfrmInPolError", "packets received whose policy could not be applied"),
	COUNT("outError", "XfrmOutError", "packets not sent for a reason that has no counter of its own"),
	COUNT("outBundleGenError", "XfrmOutBundleGenError",
	    "packets not sent because no chain of security associations could be made"),
	COUNT("outBundleCheckError", "XfrmOutBundleCheckError",
	    "packets not sent because their chain of security associations was not valid"),
	COUNT("outNoStates", "XfrmOutNoStates", "packets not sent because there is no security association"),
	COUNT("outStateProtoError", "XfrmOutStateProtoError",
	    "packets not sent because their security association could not encrypt them"),
	COUNT("outStateModeError", "XfrmOutStateModeError",
	    "packets not sent because they do not fit the mode of their security association"),
	COUNT("outStateSeqError", "XfrmOutStateSeqError",
	    "packets not sent because the sequence numbers were used up"),
	COUNT("outStateExpired", "XfrmOutStateExpired",
	    "packets not sent because their security association has expired"),
	COUNT("outPolBlock", "XfrmOutPolBlock", "packets not sent because a policy says so"),
	COUNT("outPolDead", "XfrmOutPolDead", "packets not sent because their policy was removed"),
	COUNT("outPolError", "XfrmOutPolError", "packets not sent because their policy could not be applied"),
	COUNT("fwdHdrError", "XfrmFwdHdrError", "packets not forwarded because of a wrong header"),
	COUNT("outStateInvalid", "XfrmOutStateInvalid",
	    "packets not sent because their security association was not valid"),
	COUNT("acquireError", "XfrmAcquireError",
	    "packets for which a security association could not be requested"),
	COUNT("outStateDirError", "XfrmOutStateDirError",
	    "packets not sent because their security association is for receiving"),
	COUNT("inStateDirError", "XfrmInStateDirError",
	    "packets received through a security association that is for sending"),
	COUNT("inIptfsError", "XfrmInIptfsError", "packets received with an error in an IP-TFS tunnel"),
	COUNT("outNoQueueSpace", "XfrmOutNoQueueSpace",
	    "packets not sent because the queue of an IP-TFS tunnel was full"),
	KS_FIELD_END
};

/* True if a line is of another section of the file than a key is, by its first two letters. */
static bool
is_of_other(const struct ks_text *line, const char *key)
{
	static const char sections[][3] = { "Ip", "Ic", "Ud", "Xf" };

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		if (ks_text_starts(line, sections[i]))
			return memcmp(sections[i], key, 2) != 0;
	}
	return false;
}

static void
collect_mib6(struct ks_linux *lx, struct ks_text all, struct ks_values *vals)
{
	const struct ks_field *fields = lx->part->fields;
	struct ks_text line, name;
	size_t i, next = 0;
	uint64_t v;

	while (ks_text_line(&all, &line)) {
		if (is_of_other(&line, fields->key) || !ks_lines_split(lx, line, &name, &v) ||
		    (i = ks_field_by_key(fields, name.p, ks_text_size(&name), next)) == KS_NO_FIELD)
			continue;
		ks_have(vals, i, v);
		next = i + 1;
	}
}

/* Adds the counters of messages by type, such as "Icmp6InType1". */
static int
add_messages(struct ks_linux *lx, struct ks_text all, struct ks_record *r)
{
	struct ks_text line, name;
	char stat[KSTAT_STRLEN];
	uint64_t v;

	while (ks_text_line(&all, &line)) {
		if ((!ks_text_starts(&line, "Icmp6InType") && !ks_text_starts(&line, "Icmp6OutType")) ||
		    !ks_lines_split(lx, line, &name, &v))
			continue;
		name.p += strlen("Icmp6");
		ks_name_set(stat, sizeof(stat), name.p, ks_text_size(&name));
		ks_named_u64(r, stat, v);
	}
	return 0;
}

#define MIB6(module, name, fields_) \
	KS_NAMED_PART(module, name, "mib2", .fields = KS_TABLE(fields_), .collect = collect_mib6, .file = &snmp6_file)

static const struct ks_part parts[] = {
	MIB6("ip", "ip6", ip6_fields),
	MIB6("ip", "icmpv6", icmpv6_fields),
	KS_NAMED_PART("ip", "icmpv6_msg", "mib2", .add = add_messages, .meta = ks_icmpv6_msg_meta,
	    .file = &snmp6_file, KS_NAMES("InType128", "OutType128")),
	MIB6("udp", "udp6", udp6_fields),
	MIB6("udp", "udplite6", udplite6_fields),
	KS_NAMED_PART("ip", "xfrm", "mib2", .fields = KS_TABLE(xfrm_fields), .collect = collect_mib6, .file = &xfrm_file),
};

KS_SUBSYSTEM(mib6, parts);
