/*
 * mib.c - tcp, udp, ip and icmp (class mib2) from /proc/net/snmp and /proc/net/netstat, with
 * the names of Solaris; and the extended counters of Linux as they are (tcp_ext, ip_ext, mptcp_ext, icmp_msg).
 * mib6.c has what IPv6 counts.
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/described.h"
#include "source/linux/linux.h"
#include "source/linux/net/described_net.h"
#include "source/linux/net/udp_fields.h"

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

static const struct ks_field udplite_fields[] = KS_UDP_FIELDS("UdpLite:", "UDP-Lite");

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
