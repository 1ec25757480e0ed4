/*
 * mib.c - tcp, udp, ip and icmp (class mib2) from /proc/net/snmp and /proc/net/netstat, with
 * the names of Solaris; and the extended counters of Linux as they are (tcp_ext, ip_ext, mptcp_ext, icmp_msg).
 * Behind them what IPv6 counts, from /proc/net/snmp6 with names like those of IPv4 (ip:0:ip6, udp:0:udp6) and ICMPv6
 * messages by type (ip:0:icmpv6_msg), and IPsec, from /proc/net/xfrm_stat (ip:0:xfrm).
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/described.h"
#include "source/linux/linux.h"
#include "source/linux/listing.h"
#include "source/linux/net/described_net.h"

static const struct ks_file snmp_file = { KS_ROOT_PROC, "net/snmp", KS_MADE_WHOLE, false };
static const struct ks_file netstat_file = { KS_ROOT_PROC, "net/netstat", KS_MADE_WHOLE, false };

/* The key is the section and the name in the file. */
#define COUNT(stat, key, desc) KS_COUNT_K(stat, KSTAT_DATA_UINT64, key, desc)
#define GAUGE(stat, key, desc) KS_GAUGE_K(stat, KSTAT_DATA_INT32, key, desc)
#define MSEC(stat, key, desc) \
	{ KS_META_PER(stat, KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, 1000, "ms", desc), KSTAT_DATA_INT32, key }

static const struct ks_field tcp_fields[] = {
	GAUGE("rtoAlgorithm", "Tcp:RtoAlgorithm", "how the retransmission timeout is found (1: other)"),
	MSEC("rtoMin", "Tcp:RtoMin", "least retransmission timeout"),
	MSEC("rtoMax", "Tcp:RtoMax", "greatest retransmission timeout"),
	GAUGE("maxConn", "Tcp:MaxConn", "limit of connections, -1 if there is none"),
	COUNT("activeOpens", "Tcp:ActiveOpens", "connections opened from here"),
	COUNT("passiveOpens", "Tcp:PassiveOpens", "connections opened from elsewhere"),
	COUNT("attemptFails", "Tcp:AttemptFails", "connections that failed to open"),
	COUNT("estabResets", "Tcp:EstabResets", "connections reset"),
	GAUGE("currEstab", "Tcp:CurrEstab", "connections established or closing"),
	COUNT("inSegs", "Tcp:InSegs", "segments received"),
	COUNT("outSegs", "Tcp:OutSegs", "segments sent"),
	COUNT("retransSegs", "Tcp:RetransSegs", "segments sent again"),
	COUNT("inErrs", "Tcp:InErrs", "segments received in error"),
	COUNT("outRsts", "Tcp:OutRsts", "segments sent with a reset"),
	COUNT("inCksumErrs", "Tcp:InCsumErrors", "segments received with a wrong checksum"),
	COUNT("outAckDelayed", "TcpExt:DelayedACKs", "acknowledgements sent late"),
	COUNT("outFastRetrans", "TcpExt:TCPFastRetrans", "segments sent again before a timeout"),
	COUNT("timRetrans", "TcpExt:TCPTimeouts", "retransmission timeouts"),
	COUNT("timKeepaliveProbe", "TcpExt:TCPKeepAlive", "keepalive probes sent"),
	COUNT("listenDrop", "TcpExt:ListenDrops", "connections refused by a listener"),
	COUNT("listenDropQ0", "TcpExt:TCPReqQFullDrop", "connections refused for a full queue"),
	KS_FIELD_END
};

static const struct ks_field udp_fields[] = {
	COUNT("inDatagrams", "Udp:InDatagrams", "datagrams received"),
	COUNT("inErrors", "Udp:InErrors", "datagrams received and not delivered"),
	COUNT("outDatagrams", "Udp:OutDatagrams", "datagrams sent"),
	COUNT("noPorts", "Udp:NoPorts", "datagrams received for a port nobody listens on"),
	COUNT("inOverflows", "Udp:RcvbufErrors", "datagrams dropped for a full receive buffer"),
	COUNT("outErrors", "Udp:SndbufErrors", "datagrams not sent for a full send buffer"),
	COUNT("inCksumErrs", "Udp:InCsumErrors", "datagrams received with a wrong checksum"),
	COUNT("ignoredMulti", "Udp:IgnoredMulti", "multicast datagrams received that no socket here had joined"),
	COUNT("memErrors", "Udp:MemErrors", "datagrams dropped because UDP as a whole used too much memory"),
	KS_FIELD_END
};

/*
 * What the kernel counts of UDP and protocols like it: the same names in several files and sections.
 * prefix: what the names in the file begin with; over: the protocol.
 */
#define UDP_FIELDS(prefix, over) { \
	COUNT("inDatagrams", prefix "InDatagrams", "datagrams received over " over), \
	COUNT("inErrors", prefix "InErrors", "datagrams received over " over " and not delivered"), \
	COUNT("outDatagrams", prefix "OutDatagrams", "datagrams sent over " over), \
	COUNT("noPorts", prefix "NoPorts", \
	    "datagrams received over " over " for a port on which nobody listens"), \
	COUNT("inOverflows", prefix "RcvbufErrors", \
	    "datagrams of " over " dropped because a receive buffer was full"), \
	COUNT("outErrors", prefix "SndbufErrors", \
	    "datagrams of " over " not sent because a send buffer was full"), \
	COUNT("inCksumErrs", prefix "InCsumErrors", \
	    "datagrams received over " over " with a wrong checksum"), \
	COUNT("ignoredMulti", prefix "IgnoredMulti", \
	    "multicast datagrams received over " over " that no socket here had joined"), \
	COUNT("memErrors", prefix "MemErrors", \
	    "datagrams dropped because " over " as a whole used too much memory"), \
	KS_FIELD_END \
}

static const struct ks_field udplite_fields[] = UDP_FIELDS("UdpLite:", "UDP-Lite");

static const struct ks_field ip_fields[] = {
	GAUGE("forwarding", "Ip:Forwarding", "1: this machine forwards, 2: it does not"),
	GAUGE("defaultTTL", "Ip:DefaultTTL", "time to live of packets sent"),
	COUNT("inReceives", "Ip:InReceives", "packets of IPv4 received"),
	COUNT("inHdrErrors", "Ip:InHdrErrors", "packets of IPv4 received with a wrong header"),
	COUNT("inAddrErrors", "Ip:InAddrErrors", "packets received with a wrong address"),
	COUNT("forwDatagrams", "Ip:ForwDatagrams", "packets forwarded"),
	COUNT("inUnknownProtos", "Ip:InUnknownProtos", "packets received of an unknown protocol"),
	COUNT("inDiscards", "Ip:InDiscards", "packets of IPv4 received and dropped"),
	COUNT("inDelivers", "Ip:InDelivers", "packets delivered"),
	COUNT("outRequests", "Ip:OutRequests", "packets to be sent"),
	COUNT("outDiscards", "Ip:OutDiscards", "packets of IPv4 dropped before sending"),
	COUNT("outNoRoutes", "Ip:OutNoRoutes", "packets not sent for want of a route"),
	COUNT("reasmTimeout", "Ip:ReasmTimeout", "reassemblies that took too long"),
	COUNT("reasmReqds", "Ip:ReasmReqds", "fragments received"),
	COUNT("reasmOKs", "Ip:ReasmOKs", "packets reassembled"),
	COUNT("reasmFails", "Ip:ReasmFails", "reassemblies that failed"),
	COUNT("fragOKs", "Ip:FragOKs", "packets fragmented"),
	COUNT("fragFails", "Ip:FragFails", "packets that could not be fragmented"),
	COUNT("fragCreates", "Ip:FragCreates", "fragments made"),
	COUNT("outTransmits", "Ip:OutTransmits", "packets given to links, forwarded ones and fragments included"),
	KS_FIELD_END
};

/* ICMP messages by kind: those received, and those sent. */
#define MESSAGES(in, key, way) \
	COUNT(in "DestUnreachs", key "DestUnreachs", "destination unreachable, " way), \
	COUNT(in "TimeExcds", key "TimeExcds", "time exceeded, " way), \
	COUNT(in "ParmProbs", key "ParmProbs", "parameter problem, " way), \
	COUNT(in "SrcQuenchs", key "SrcQuenchs", "source quench, " way), \
	COUNT(in "Redirects", key "Redirects", "redirect, " way), \
	COUNT(in "Echos", key "Echos", "echo request, " way), \
	COUNT(in "EchoReps", key "EchoReps", "echo reply, " way), \
	COUNT(in "Timestamps", key "Timestamps", "timestamp request, " way), \
	COUNT(in "TimestampReps", key "TimestampReps", "timestamp reply, " way), \
	COUNT(in "AddrMasks", key "AddrMasks", "address mask request, " way), \
	COUNT(in "AddrMaskReps", key "AddrMaskReps", "address mask reply, " way)

static const struct ks_field icmp_fields[] = {
	COUNT("inMsgs", "Icmp:InMsgs", "messages received"),
	COUNT("inErrors", "Icmp:InErrors", "messages received in error"),
	COUNT("inCksumErrs", "Icmp:InCsumErrors", "messages received with a wrong checksum"),
	MESSAGES("in", "Icmp:In", "received"),
	COUNT("outMsgs", "Icmp:OutMsgs", "messages sent"),
	COUNT("outErrors", "Icmp:OutErrors", "messages that could not be sent"),
	MESSAGES("out", "Icmp:Out", "sent"),
	COUNT("outRateLimitGlobal", "Icmp:OutRateLimitGlobal", "messages not sent because of the limit for all hosts"),
	COUNT("outRateLimitHost", "Icmp:OutRateLimitHost", "messages not sent because of the limit for one host"),
	KS_FIELD_END
};

/* --- the files --------------------------------------------------------------------------- */

/* Both files are pairs of lines that begin with the same "Section:": names, then numbers. */
struct section {
	struct ks_text names, numbers;
};

/* Finds a section, "Tcp:"; false if it does not have both lines. */
static bool
find_section(struct ks_linux *lx, const struct ks_image *im, const char *name, struct section *s)
{
	struct ks_text all = ks_text_of(im->data, im->len), line;
	bool second = false;

	while (ks_text_line(&all, &line)) {
		if (memchr(line.p, ':', ks_text_size(&line)) == NULL && !ks_text_empty(&line))
			ks_linux_odd_line(lx, im, &line);
		if (!ks_text_starts(&line, name))
			continue;
		line.p += strlen(name);
		if (second) {
			s->numbers = line;
			return true;
		}
		s->names = line;
		second = true;
	}
	return false;
}

/* Parses a number, which may be negative. */
static bool
parse_number(struct ks_text word, int64_t *v)
{
	uint64_t u;

	if (ks_scan_i64(&word.p, word.end, v) == 0 && word.p == word.end)
		return true;
	if (ks_scan_u64(&word.p, word.end, &u) != 0 || word.p != word.end)
		return false;
	*v = (int64_t)u;
	return true;
}

/* Parses the next name and its number; false, and nothing is skipped, if there are not both. */
static bool
next_pair(struct section *s, struct ks_text *name, int64_t *v)
{
	struct section next = *s;
	struct ks_text word;

	if (!ks_text_word(&next.names, name) || !ks_text_word(&next.numbers, &word) || !parse_number(word, v))
		return false;
	*s = next;
	return true;
}

/* Warns if names and numbers do not end together: then one of them could not be parsed. */
static void
check_end(struct ks_linux *lx, const struct ks_image *im, const struct section *s)
{
	if (!ks_text_empty(&s->names) || !ks_text_empty(&s->numbers))
		ks_linux_odd_line(lx, im, &s->numbers);
}

/* The field whose key is "Section:name", or KS_NO_FIELD. It is looked for from `first` on. */
static size_t
find_field(const struct ks_field *fields, const char *section, const struct ks_text *name, size_t first)
{
	size_t len = strlen(section), n = ks_text_size(name);
	char key[64];

	if (len + n > sizeof(key))
		return KS_NO_FIELD;
	memcpy(key, section, len);
	memcpy(key + len, name->p, n);
	return ks_field_by_key(fields, key, len + n, first);
}

void
ks_mib_collect(struct ks_linux *lx, const struct ks_image *im, const char *section, struct ks_values *vals)
{
	const struct ks_field *fields = lx->part->fields;
	struct ks_text name;
	struct section s;
	size_t next = 0;
	int64_t v;

	if (im == NULL || !find_section(lx, im, section, &s))
		return;
	while (next_pair(&s, &name, &v)) {
		size_t i = find_field(fields, section, &name, next);

		if (i == KS_NO_FIELD)
			continue;
		ks_have(vals, i, (uint64_t)v);
		next = i + 1;
	}
	check_end(lx, im, &s);
}

enum { PART_TCP, PART_UDP, PART_UDPLITE, PART_IP, PART_ICMP, PART_ICMP_MSG, PART_TCP_EXT, PART_MPTCP_EXT,
	PART_IP_EXT, PART_COUNT };

static const struct ks_part parts[PART_COUNT];

/* The sections that a kstat is made of: of net/snmp, and of net/netstat. */
static const struct {
	const char *snmp, *netstat;
} sections[PART_COUNT] = {
	[PART_TCP] = { "Tcp:", "TcpExt:" },
	[PART_UDP] = { "Udp:", NULL },
	[PART_UDPLITE] = { "UdpLite:", NULL },
	[PART_IP] = { "Ip:", NULL },
	[PART_ICMP] = { "Icmp:", NULL },
	[PART_ICMP_MSG] = { "IcmpMsg:", NULL },
	[PART_TCP_EXT] = { NULL, "TcpExt:" },
	[PART_MPTCP_EXT] = { NULL, "MPTcpExt:" },
	[PART_IP_EXT] = { NULL, "IpExt:" },
};

static const char *
section_of(size_t part)
{
	return sections[part].snmp != NULL ? sections[part].snmp : sections[part].netstat;
}

static void
collect_mib(struct ks_linux *lx, struct ks_text all, struct ks_values *vals)
{
	size_t part = (size_t)(lx->part - parts);

	(void)all;
	ks_mib_collect(lx, lx->im, sections[part].snmp, vals);
	if (sections[part].netstat != NULL)
		ks_mib_collect(lx, ks_linux_try(lx, &netstat_file), sections[part].netstat, vals);
}

/* Adds all counters of a section as they are. */
static int
add_ext(struct ks_linux *lx, struct ks_text all, struct ks_record *r)
{
	char stat[KSTAT_STRLEN];
	struct ks_text name;
	struct section s;
	int64_t v;

	(void)all;
	if (!find_section(lx, lx->im, section_of((size_t)(lx->part - parts)), &s))
		return 0;
	while (next_pair(&s, &name, &v)) {
		ks_name_set(stat, sizeof(stat), name.p, ks_text_size(&name));
		ks_named_u64(r, stat, (uint64_t)v);
	}
	check_end(lx, lx->im, &s);
	return 0;
}

/* --- the subsystem --------------------------------------------------------------------------- */

#define MIB(module, name, fields_) \
	KS_NAMED_PART(module, name, "mib2", .fields = KS_TABLE(fields_), .collect = collect_mib, .file = &snmp_file)
#define EXT(module, name, meta_, file_, ...) \
	KS_NAMED_PART(module, name, "mib2", .add = add_ext, .meta = (meta_), .file = (file_), __VA_ARGS__)

static const struct ks_part parts[PART_COUNT] = {
	[PART_TCP] = MIB("tcp", "tcp", tcp_fields),
	[PART_UDP] = MIB("udp", "udp", udp_fields),
	[PART_UDPLITE] = MIB("udp", "udplite", udplite_fields),
	[PART_IP] = MIB("ip", "ip", ip_fields),
	[PART_ICMP] = MIB("ip", "icmp", icmp_fields),
	[PART_ICMP_MSG] = EXT("ip", "icmp_msg", ks_icmp_msg_meta, &snmp_file, KS_NAMES("InType3", "OutType3")),
	[PART_TCP_EXT] = EXT("tcp", "tcp_ext", ks_tcp_ext_meta, &netstat_file, .known = ks_tcp_ext_known),
	[PART_MPTCP_EXT] = EXT("tcp", "mptcp_ext", ks_mptcp_ext_meta, &netstat_file,
	    .known = ks_mptcp_ext_known, .since = "5.7"),
	[PART_IP_EXT] = EXT("ip", "ip_ext", ks_ip_ext_meta, &netstat_file, .known = ks_ip_ext_known),
};

/* False if the file has no such section: kernels may be built without UDP-Lite and MPTCP. */
static bool
has_section(struct ks_linux *lx, size_t part)
{
	const struct ks_image *im = part == PART_UDPLITE || part == PART_MPTCP_EXT ?
	    ks_linux_try(lx, parts[part].file) : NULL;
	struct section s;

	return im == NULL || find_section(lx, im, section_of(part), &s);
}

KS_SUBSYSTEM(mib, parts, .has_part = has_section);

/* --- IPv6 and IPsec ---------------------------------------------------------------------- */

static const struct ks_file snmp6_file = { KS_ROOT_PROC, "net/snmp6", KS_MADE_BRIEFLY, false };
static const struct ks_file xfrm_file = { KS_ROOT_PROC, "net/xfrm_stat", KS_MADE_BRIEFLY, false };

/* Most names are those of the file without the section that they begin with. */
#define IN(stat, desc) COUNT("in" stat, SECTION "In" stat, desc)
#define OUT(stat, desc) COUNT("out" stat, SECTION "Out" stat, desc)
#define IN_BYTES(stat, desc) KS_BYTES_K("in" stat, SECTION "In" stat, desc)
#define OUT_BYTES(stat, desc) KS_BYTES_K("out" stat, SECTION "Out" stat, desc)

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
#define MESSAGES6(X, way) \
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
	MESSAGES6(IN, "received"),
	MESSAGES6(OUT, "sent"),
	KS_FIELD_END
};
#undef SECTION

static const struct ks_field udp6_fields[] = UDP_FIELDS("Udp6", "UDP on IPv6");

static const struct ks_field udplite6_fields[] = UDP_FIELDS("UdpLite6", "UDP-Lite on IPv6");

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
	static const char prefixes[][3] = { "Ip", "Ic", "Ud", "Xf" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (ks_text_starts(line, prefixes[i]))
			return memcmp(prefixes[i], key, 2) != 0;
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

static const struct ks_part mib6_parts[] = {
	MIB6("ip", "ip6", ip6_fields),
	MIB6("ip", "icmpv6", icmpv6_fields),
	KS_NAMED_PART("ip", "icmpv6_msg", "mib2", .add = add_messages, .meta = ks_icmpv6_msg_meta,
	    .file = &snmp6_file, KS_NAMES("InType128", "OutType128")),
	MIB6("udp", "udp6", udp6_fields),
	MIB6("udp", "udplite6", udplite6_fields),
	KS_NAMED_PART("ip", "xfrm", "mib2", .fields = KS_TABLE(xfrm_fields), .collect = collect_mib6, .file = &xfrm_file),
};

KS_SUBSYSTEM(mib6, mib6_parts);
