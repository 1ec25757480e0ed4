/*
 * netdev.c - what /sys/class/net says of a link beside its counters: netdev:0:NAME, for those who name it. Exporters
 * show these as node_exporter does; link.c has what the same link is in Solaris's terms. SPDX-License-Identifier: MIT
 */
#include <net/if.h>

#include "source/linux/devices.h"

#define NUMBER(stat, key, desc) KS_OF(stat, KS_KIND_GAUGE, KSTAT2_NVMT_ID, KSTAT_DATA_UINT32, "", key, desc)

enum { N_FLAGS, N_ADMIN_STATE };

static const struct ks_field fields[] = {
	[N_FLAGS] = KS_OF("flags", KS_KIND_GAUGE, KSTAT2_NVMT_FLAGS, KSTAT_DATA_UINT32, "", "flags",
	    "the bits IFF_* of netdevice(7)"),
	[N_ADMIN_STATE] = KS_TEXT_STATE("admin_state", KSTAT_DATA_STRING,
	    "up if the administrator switched the link on, or down"),
	KS_STATE_K("carrier", "carrier", "1 if the link has a carrier; a link that is switched off does not say"),
	KS_TEXT_STATE_K("operstate", "operstate", "state of the link as RFC 2863 has it: up, down, dormant, unknown"),
	KS_OF_TIMES("speed", KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_INT64, 1000000, "Mbit/s", "speed",
	    "speed of the link as its driver says it; -1: not known"),
	KS_TEXT_STATE_K("duplex", "duplex", "full, half or unknown"),
	NUMBER("ifindex", "ifindex", "the kernel's number of this link"),
	NUMBER("iflink", "iflink", "number of the link that this one is a part of or a peer of, or its own"),
	NUMBER("type", "type", "kind of the hardware as the bits ARPHRD_*: 1 is Ethernet, 772 the loopback"),
	KS_TEXT_K("address", "address", "address of the hardware"),
	KS_TEXT_K("broadcast", "broadcast", "address by which all stations on the link are reached"),
	KS_TEXT_K("ifalias", "ifalias", "a text that the administrator gave the link"),
	NUMBER("addr_assign_type", "addr_assign_type",
	    "where the address is from: 0 the hardware, 1 random, 2 another link, 3 the administrator"),
	NUMBER("name_assign_type", "name_assign_type",
	    "where the name is from: 1 counted by the kernel, 2 predictable, 3 a program, 4 renamed"),
	NUMBER("netdev_group", "netdev_group", "the group that the administrator put the link into"),
	NUMBER("link_mode", "link_mode", "0 the carrier decides about the state of the link, 1 a program does, too"),
	KS_STATE_K("dormant", "dormant", "1 if the link waits for something else, such as a login"),
	NUMBER("dev_id", "dev_id", "tells devices that share an address apart"),
	KS_FIELD_END
};

static void
have_admin_state(struct ks_linux *lx, const struct ks_dir *dir, struct ks_device *dev, struct ks_values *vals)
{
	(void)lx;
	(void)dir;
	(void)dev;
	if ((vals->have >> N_FLAGS & 1) != 0)
		ks_have_text(vals, N_ADMIN_STATE, (vals->v[N_FLAGS].u & IFF_UP) != 0 ? "up" : "down");
}

static const struct ks_part parts[] = {
	KS_DEVICE_PART("netdev", "@", "net_device", fields, KS_DEVICES("class/net", "", .by = KS_BY_NAME,
	    .add = have_admin_state)),
};

KS_SUBSYSTEM(netdev, parts, .scan = ks_devices_scan, .on_events = true, .optional = "netdev");
