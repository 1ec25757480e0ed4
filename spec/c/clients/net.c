/*
 * net.c - clients that ask for network interfaces, protocols and sockets. SPDX-License-Identifier: MIT
 */
#include "clients.h"

/* Returns the next NAMED kstat of class net, read. */
static kstat_t *
next_net(kstat_t *ksp)
{
	for (ksp = ksp == NULL ? kc->kc_chain : ksp->ks_next; ksp != NULL; ksp = ksp->ks_next)
		if (ksp->ks_type == KSTAT_TYPE_NAMED && strcmp(ksp->ks_class, "net") == 0 &&
		    kstat_read(kc, ksp, NULL) > 0)
			break;
	return (ksp);
}

/* netstat -i and in.routed: link:0:NAME; what is absent or of an odd type counts as 0. */
static void
netstat_i(void)
{
	kstat_t *ksp;

	for (ksp = NULL; (ksp = next_of(ksp, "link", NULL)) != NULL;) {
		if (kstat_lookup(kc, "link", 0, ksp->ks_name) != ksp || kstat_lookup(kc, NULL, -1, ksp->ks_name) == NULL)
			fail("is not found by its name", ksp->ks_name);
		if (kstat_read(kc, ksp, NULL) <= 0)
			fail(strerror(errno), ksp->ks_name);
		show_present(ksp, "ipackets|ierrors|opackets|oerrors|collisions");
	}
}

static void
netstat_m(void)
{
	kstat_t *ksp;

	for (ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (strcmp(ksp->ks_class, "kmem_cache") != 0)
			continue;
		if (kstat_read(kc, ksp, NULL) <= 0)
			fail(strerror(errno), ksp->ks_name);
		show_present(ksp, "alloc|alloc_fail|buf_size|buf_avail|buf_total|buf_max|buf_constructed");
	}
}

/* dladm: a value of another type is refused. */
static void
check_type(kstat_t *ksp, const char *name, int type)
{
	kstat_named_t *named = look(ksp, name);

	if (named == NULL || named->data_type != type)
		fail("absent or of another type", name);
	show(ksp, named);
}

static void
dladm(void)
{
	kstat_t *ksp;

	for (ksp = NULL; (ksp = next_of(ksp, "link", NULL)) != NULL;) {
		if (kstat_read(kc, ksp, NULL) <= 0)
			fail(strerror(errno), ksp->ks_name);
		check_type(ksp, "ipackets64", KSTAT_DATA_UINT64);
		check_type(ksp, "opackets64", KSTAT_DATA_UINT64);
		check_type(ksp, "rbytes64", KSTAT_DATA_UINT64);
		check_type(ksp, "obytes64", KSTAT_DATA_UINT64);
		check_type(ksp, "ipackets", KSTAT_DATA_UINT32);
		check_type(ksp, "rbytes", KSTAT_DATA_UINT32);
		check_type(ksp, "ierrors", KSTAT_DATA_UINT32);
		check_type(ksp, "oerrors", KSTAT_DATA_UINT32);
		check_type(ksp, "ifspeed", KSTAT_DATA_UINT64);
		check_type(ksp, "link_state", KSTAT_DATA_UINT32);
		check_type(ksp, "link_duplex", KSTAT_DATA_UINT32);
	}
}

/* nicstat: only kstats with a UINT32 link_state of 1 are interfaces; -t and -u need tcp and udp. */
static void
nicstat(void)
{
	kstat_t *ksp;
	kstat_named_t *state;

	(void)need("unix", 0, "system_misc");
	for (ksp = NULL; (ksp = next_net(ksp)) != NULL;) {
		state = look(ksp, "link_state");
		if (state == NULL || state->data_type != KSTAT_DATA_UINT32 || state->value.ui32 != 1)
			continue;
		show_present(ksp, "rbytes64|obytes64|ipackets64|opackets64|ierrors|oerrors|collisions|norcvbuf|noxmtbuf|"
		    "ifspeed|link_duplex");
	}
}

static void
nicstat_tcp(void)
{
	show_present(need("tcp", -1, "tcp"), "inSegs|outSegs|retransBytes|retransSegs|listenDrop|inDataDupBytes|"
	    "attemptFails|estabResets|activeOpens|passiveOpens|outRsts");
	show_present(need("udp", -1, "udp"), "inDatagrams|outDatagrams|inErrors|outErrors");
}

/* libstatgrab looks into mii, which was never read; the lookup must survive that. */
static void
libstatgrab_net(void)
{
	kstat_t *ksp, *mii;

	for (ksp = NULL; (ksp = next_net(ksp)) != NULL;) {
		if (look(ksp, "rbytes") == NULL)
			continue;
		show_needed(ksp, "rbytes|obytes|ipackets|opackets|ierrors|oerrors|collisions");
		if (look(ksp, "link_up") != NULL)
			continue;
		mii = kstat_lookup(kc, ksp->ks_module, ksp->ks_instance, "mii");
		if (mii != NULL && look(mii, "link_up") != NULL)
			show(mii, look(mii, "link_up"));
	}
	for (ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next)
		if (ksp->ks_data == NULL && kstat_data_lookup(ksp, "link_up") != NULL)
			fail("has statistics before it was read", ksp->ks_name);
}

static void
collectd_interface(void)
{
	kstat_t *ksp;

	for (ksp = NULL; (ksp = next_net(ksp)) != NULL;)
		if (look(ksp, "obytes") != NULL)
			show_present(ksp, "ipackets64|opackets64|rbytes64|obytes64|ierrors|oerrors");
}

/* sigar takes the first kstat with the interface's name, whatever it is. */
static void
sigar_net(void)
{
	kstat_t *ksp, *found;

	for (ksp = NULL; (ksp = next_of(ksp, "link", NULL)) != NULL;) {
		found = need(NULL, -1, ksp->ks_name);
		if (found->ks_type != KSTAT_TYPE_NAMED)
			fail("is something else by its name alone", ksp->ks_name);
		show_present(found, "ipackets64|opackets64|rbytes64|obytes64|ierrors|oerrors|collisions|ifspeed");
	}
}

static void
net_snmp_interfaces(void)
{
	kstat_t *ksp;

	for (ksp = NULL; (ksp = next_of(ksp, "link", NULL)) != NULL;) {
		if (kstat_read(kc, ksp, NULL) <= 0 || ksp->ks_type != KSTAT_TYPE_NAMED)
			fail("is not NAMED", ksp->ks_name);
		show_present(ksp, "ifspeed|ipackets64|rbytes64|opackets64|obytes64|ierrors|oerrors|collisions|unknowns|"
		    "brdcstrcv|multircv|brdcstxmt|multixmt");
	}
}

/* PCP, fastfetch and oshi */
static void
pcp_link(void)
{
	kstat_t *ksp;

	for (ksp = NULL; (ksp = next_of(ksp, "link", NULL)) != NULL;)
		if (kstat_read(kc, ksp, NULL) > 0)
			show_present(ksp, "brdcstrcv|brdcstxmt|collisions|ierrors|ifspeed|ipackets64|link_duplex|link_state|"
			    "multircv|multixmt|norcvbuf|noxmtbuf|obytes64|oerrors|opackets64|rbytes64");
}

const struct client net_clients[] = {
	{ "netstat-i", netstat_i }, { "netstat-m", netstat_m }, { "dladm", dladm }, { "nicstat", nicstat },
	{ "nicstat-tcp", nicstat_tcp }, { "libstatgrab-net", libstatgrab_net },
	{ "collectd-interface", collectd_interface }, { "sigar-net", sigar_net },
	{ "net-snmp-interfaces", net_snmp_interfaces }, { "pcp-link", pcp_link }, { NULL, NULL }
};
