/*
 * udp_fields.h - the table of what the kernel counts of UDP and protocols like it: the same names in several files
 * and sections. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_NET_UDP_FIELDS_H
#define SOURCE_LINUX_NET_UDP_FIELDS_H

#include "source/linux/field.h"

/* prefix: what the names in the file begin with; over: the protocol. */
#define KS_UDP_FIELDS(prefix, over) { \
	KS_UDP_COUNT("inDatagrams", prefix "InDatagrams", "datagrams received over " over), \
	KS_UDP_COUNT("inErrors", prefix "InErrors", "datagrams received over " over " and not delivered"), \
	KS_UDP_COUNT("outDatagrams", prefix "OutDatagrams", "datagrams sent over " over), \
	KS_UDP_COUNT("noPorts", prefix "NoPorts", \
	    "datagrams received over " over " for a port on which nobody listens"), \
	KS_UDP_COUNT("inOverflows", prefix "RcvbufErrors", \
	    "datagrams of " over " dropped because a receive buffer was full"), \
	KS_UDP_COUNT("outErrors", prefix "SndbufErrors", \
	    "datagrams of " over " not sent because a send buffer was full"), \
	KS_UDP_COUNT("inCksumErrs", prefix "InCsumErrors", \
	    "datagrams received over " over " with a wrong checksum"), \
	KS_UDP_COUNT("ignoredMulti", prefix "IgnoredMulti", \
	    "multicast datagrams received over " over " that no socket here had joined"), \
	KS_UDP_COUNT("memErrors", prefix "MemErrors", \
	    "datagrams dropped because " over " as a whole used too much memory"), \
	KS_FIELD_END \
}
#define KS_UDP_COUNT(stat, key, desc) KS_COUNT_K(stat, KSTAT_DATA_UINT64, key, desc)

#endif
