/*
 * mib6.c - what IPv6 and the protocols above it count (class mib2), from /proc/net/snmp6: ip:0:ip6, ip:0:icmpv6,
 * udp:0:udp6 and udp:0:udplite6 with names like those of IPv4, and ip:0:icmpv6_msg, ICMPv6 messages by type. And what IPsec
 * counts, from a file like it, /proc/net/xfrm_stat: ip:0:xfrm.
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/listing.h"
#include "source/linux/net/described_net.h"
#include "source/linux/net/udp_fields.h"

static const struct ks_file snmp6_file = { KS_ROOT_PROC, "net/snmp6", KS_MADE_BRIEFLY, false };
static const struct ks_file xfrm_file = { KS_ROOT_PROC, "net/xfrm_stat", KS_MADE_BRIEFLY, false };

#define COUNT(stat, key, desc) KS_COUNT_K(stat, KSTAT_DATA_UINT64, key, desc)
#define BYTES(stat, key, desc) { KS_META_BYTES(stat, KS_KIND_COUNTER, desc), KSTAT_DATA_UINT64, key }

/* Most names are those of the file without the section that they begin with. */
#define IN(stat, desc) COUNT("in" stat, SECTION "In" stat, desc)
#define OUT(stat, desc) COUNT("out" stat, SECTION "Out" stat, desc)
#define IN_BYTES(stat, desc) BYTES("in" stat, SECTION "In" stat, desc)
#define OUT_BYTES(stat, desc) BYTES("out" stat, SECTION "Out" stat, desc)

#define SECTION "Ip6"
static const struct ks_field ip6_fields[] = {
	IN("Receives", "IPv6 packets received"),
	IN("HdrErrors", "IPv6 packets received with a wrong header"),
	IN("TooBigErrors", "IPv6 packets not forwarded because they were larger than the next link takes"),
	IN("NoRoutes", "IPv6 packets received for which there is no route"),
	IN("AddrErrors", "IPv6 packets received with a wrong address"),
	IN("UnknownProtos", "IPv6 packets received of an unknown protocol"),
	IN("TruncatedPkts", "IPv6 packets received that were shorter than their header says"),
	IN("Discards", "IPv6 packets received and dropped"),
	IN("Delivers", "IPv6 packets delivered"),
	COUNT("forwDatagrams", "Ip6OutForwDatagrams", "IPv6 packets forwarded"),
	OUT("Requests", "IPv6 packets to be sent"),
	OUT("Discards", "IPv6 packets dropped before sending"),
	OUT("NoRoutes", "IPv6 packets not sent for want of a route"),
	COUNT("reasmTimeout", "Ip6ReasmTimeout", "IPv6 reassemblies that took too long"),
	COUNT("reasmReqds", "Ip6ReasmReqds", "IPv6 fragments received"),
	COUNT("reasmOKs", "Ip6ReasmOKs", "IPv6 packets reassembled"),
	COUNT("reasmFails", "Ip6ReasmFails", "IPv6 reassemblies that failed"),
	COUNT("fragOKs", "Ip6FragOKs", "IPv6 packets fragmented"),
	COUNT("fragFails", "Ip6FragFails", "IPv6 packets that could not be fragmented"),
	COUNT("fragCreates", "Ip6FragCreates", "IPv6 fragments made"),
	IN("McastPkts", "IPv6 multicast packets received"),
	OUT("McastPkts", "IPv6 multicast packets sent"),
	IN_BYTES("Octets", "bytes of IPv6 packets received"),
	OUT_BYTES("Octets", "bytes of IPv6 packets sent"),
	IN_BYTES("McastOctets", "bytes of IPv6 multicast packets received"),
	OUT_BYTES("McastOctets", "bytes of IPv6 multicast packets sent"),
	IN_BYTES("BcastOctets", "bytes of IPv6 broadcast packets received"),
	OUT_BYTES("BcastOctets", "bytes of IPv6 broadcast packets sent"),
	IN("NoECTPkts", "IPv6 packets received without support for congestion marks"),
	IN("ECT1Pkts", "IPv6 packets received with support for congestion marks, ECT(1)"),
	IN("ECT0Pkts", "IPv6 packets received with support for congestion marks, ECT(0)"),
	IN("CEPkts", "IPv6 packets received that a router marked for congestion"),
	OUT("Transmits", "IPv6 packets given to links, forwarded ones and fragments included"),
	KS_FIELD_END
};
#undef SECTION

/* ICMPv6 messages by kind: those received, and those sent. */
#define MESSAGES(X, way) \
	X("DestUnreachs", "destination unreachable (IPv6), " way), \
	X("PktTooBigs", "packet too big (IPv6), " way), \
	X("TimeExcds", "time exceeded (IPv6), " way), \
	X("ParmProblems", "parameter problem (IPv6), " way), \
	X("Echos", "echo request (IPv6), " way), \
	X("EchoReplies", "echo reply (IPv6), " way), \
	X("GroupMembQueries", "multicast listener query (IPv6), " way), \
	X("GroupMembResponses", "multicast listener report (IPv6), " way), \
	X("GroupMembReductions", "multicast listener done (IPv6), " way), \
	X("RouterSolicits", "router solicitation (IPv6), " way), \
	X("RouterAdvertisements", "router advertisement (IPv6), " way), \
	X("NeighborSolicits", "neighbour solicitation (IPv6), " way), \
	X("NeighborAdvertisements", "neighbour advertisement (IPv6), " way), \
	X("Redirects", "redirect (IPv6), " way), \
	X("MLDv2Reports", "multicast listener report, version 2 (IPv6), " way)

#define SECTION "Icmp6"
static const struct ks_field icmpv6_fields[] = {
	IN("Msgs", "ICMPv6 messages received"),
	IN("Errors", "ICMPv6 messages received in error"),
	OUT("Msgs", "ICMPv6 messages sent"),
	OUT("Errors", "ICMPv6 messages that could not be sent"),
	COUNT("inCksumErrs", "Icmp6InCsumErrors", "ICMPv6 messages received with a wrong checksum"),
	OUT("RateLimitHost", "ICMPv6 messages not sent because of the limit for one host"),
	MESSAGES(IN, "received"),
	MESSAGES(OUT, "sent"),
	KS_FIELD_END
};
#undef SECTION

static const struct ks_field udp6_fields[] = KS_UDP_FIELDS("Udp6", "UDP on IPv6");

static const struct ks_field udplite6_fields[] = KS_UDP_FIELDS("UdpLite6", "UDP-Lite on IPv6");

#define SECTION "Xfrm"
static const struct ks_field xfrm_fields[] = {
	IN("Error", "packets received that failed in a way that has no counter of its own"),
	IN("BufferError", "packets received for which there was no memory"),
	IN("HdrError", "packets of IPsec received with a wrong header"),
	IN("NoStates", "packets received for which there is no security association"),
	IN("StateProtoError",
	    "packets received that their security association could not authenticate or decrypt"),
	IN("StateModeError", "packets received in another mode than that of their security association"),
	IN("StateSeqError",
	    "packets received with a sequence number outside the window, as replayed ones have"),
	IN("StateExpired", "packets received for a security association that has expired"),
	IN("StateMismatch", "packets received whose security association is of another selector"),
	IN("StateInvalid", "packets received for a security association that is not valid"),
	IN("TmplMismatch", "packets received that the template of their policy does not match"),
	IN("NoPols", "packets received through a security association that no policy asks for"),
	IN("PolBlock", "packets received and dropped because a policy says so"),
	IN("PolError", "packets received whose policy could not be applied"),
	OUT("Error", "packets not sent for a reason that has no counter of its own"),
	OUT("BundleGenError", "packets not sent because no chain of security associations could be made"),
	OUT("BundleCheckError",
	    "packets not sent because their chain of security associations was not valid"),
	OUT("NoStates", "packets not sent because there is no security association"),
	OUT("StateProtoError", "packets not sent because their security association could not encrypt them"),
	OUT("StateModeError",
	    "packets not sent because they do not fit the mode of their security association"),
	OUT("StateSeqError", "packets not sent because the sequence numbers were used up"),
	OUT("StateExpired", "packets not sent because their security association has expired"),
	OUT("PolBlock", "packets not sent because a policy says so"),
	OUT("PolDead", "packets not sent because their policy was removed"),
	OUT("PolError", "packets not sent because their policy could not be applied"),
	COUNT("fwdHdrError", "XfrmFwdHdrError", "packets not forwarded because of a wrong header"),
	OUT("StateInvalid", "packets not sent because their security association was not valid"),
	COUNT("acquireError", "XfrmAcquireError",
	    "packets for which a security association could not be requested"),
	OUT("StateDirError", "packets not sent because their security association is for receiving"),
	IN("StateDirError", "packets received through a security association that is for sending"),
	IN("IptfsError", "packets received with an error in an IP-TFS tunnel"),
	OUT("NoQueueSpace", "packets not sent because the queue of an IP-TFS tunnel was full"),
	KS_FIELD_END
};
#undef SECTION

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
