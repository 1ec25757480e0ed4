/*
 * disk.c - clients that ask for disks and for what went wrong on them. SPDX-License-Identifier: MIT
 */
#include "clients.h"

/* Copies each kstat of type I/O and of one of these classes into a kstat_io_t of its own, up to a number of them. */
static int
show_disks(const char *classes, int most)
{
	struct { kstat_io_t io; char guard[16]; } memory;
	kstat_t *ksp;
	int count = 0;

	for (ksp = kc->kc_chain; ksp != NULL && count < most; ksp = ksp->ks_next) {
		if (ksp->ks_type != KSTAT_TYPE_IO || strstr(classes, ksp->ks_class) == NULL)
			continue;
		(void)memset(&memory, '#', sizeof(memory));
		if (kstat_read(kc, ksp, &memory.io) <= 0)
			fail(strerror(errno), ksp->ks_name);
		if (memory.guard[0] != '#')
			fail("is larger than a kstat_io_t", ksp->ks_name);
		show_io(ksp, &memory.io);
		count++;
	}
	if (count == 0)
		fail("no disk", classes);
	return (count);
}

static void
iostat(void)
{
	(void)show_disks("disk partition nfs tape iopath", 1000000);
}

/* vmstat's four places go to the first disks of the chain. */
static void
vmstat_disks(void)
{
	(void)show_disks("disk", 4);
}

/* Kstats of device_error, with the disk that they belong to: the name up to the comma. */
static kstat_t *
next_error(kstat_t *ksp)
{
	for (ksp = ksp == NULL ? kc->kc_chain : ksp->ks_next; ksp != NULL; ksp = ksp->ks_next)
		if (ksp->ks_type == KSTAT_TYPE_NAMED && strcmp(ksp->ks_class, "device_error") == 0)
			break;
	if (ksp != NULL && (strchr(ksp->ks_name, ',') == NULL || kstat_read(kc, ksp, NULL) <= 0))
		fail("cannot be read, or names no disk", ksp->ks_name);
	return (ksp);
}

/* iostat -e: soft, hard and transport errors are the first three, read as 32 bits. */
static void
iostat_e(void)
{
	static const char *const names[] = { "Soft Errors", "Hard Errors", "Transport Errors" };
	kstat_t *ksp;
	int i;

	for (ksp = NULL; (ksp = next_error(ksp)) != NULL;)
		for (i = 0; i < 3; i++)
			show_number(ksp, names[i], KSTAT_NAMED_PTR(ksp)[i].value.ui32);
}

/* iostat -E: all of it, by position and type, without the empty names. */
static void
iostat_E(void)
{
	kstat_t *ksp;
	uint_t i;

	for (ksp = NULL; (ksp = next_error(ksp)) != NULL;)
		for (i = 0; i < ksp->ks_ndata; i++)
			if (KSTAT_NAMED_PTR(ksp)[i].name[0] != '\0')
				show(ksp, &KSTAT_NAMED_PTR(ksp)[i]);
}

static void
pcp_errors(void)
{
	kstat_t *ksp;

	for (ksp = NULL; (ksp = next_error(ksp)) != NULL;)
		show_present(ksp, "Soft Errors|Hard Errors|Transport Errors|Vendor|Product|Revision|Serial No|Size|"
		    "Media Error|Device Not Ready|No Device|Recoverable|Illegal Request|Predictive Failure Analysis");
}

/* libstatgrab and collectd: class disk, without md; the name ends with a number for collectd's instances. */
static void
libstatgrab_disk(void)
{
	kstat_t *ksp;
	kstat_io_t io;

	for (ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (ksp->ks_type != KSTAT_TYPE_IO || strcmp(ksp->ks_class, "disk") != 0 ||
		    strncmp(ksp->ks_module, "md", 2) == 0)
			continue;
		(void)memset(&io, 0, sizeof(io));
		if (kstat_read(kc, ksp, &io) == -1)
			continue;
		show_number(ksp, "nread", io.nread);
		show_number(ksp, "nwritten", io.nwritten);
	}
}

/* sigar and oshi know only the name of the disk. */
static void
sigar_disk(void)
{
	kstat_t *ksp, *found;

	for (ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (ksp->ks_type != KSTAT_TYPE_IO || strcmp(ksp->ks_class, "disk") != 0)
			continue;
		found = kstat_lookup(kc, NULL, -1, ksp->ks_name);
		if (found == NULL || found->ks_type != KSTAT_TYPE_IO || kstat_read(kc, found, NULL) <= 0)
			fail("is something else by its name alone", ksp->ks_name);
		show_io(found, KSTAT_IO_PTR(found));
	}
}

/* net-snmp divides the times of the I/O by the time since the kstat was made. */
static void
net_snmp_disk(void)
{
	kstat_t *ksp;

	for (ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (ksp->ks_type != KSTAT_TYPE_IO || strcmp(ksp->ks_class, "disk") != 0)
			continue;
		if (kstat_read(kc, ksp, NULL) <= 0 || ksp->ks_snaptime <= ksp->ks_crtime ||
		    KSTAT_IO_PTR(ksp)->rtime > ksp->ks_snaptime || KSTAT_IO_PTR(ksp)->wtime > ksp->ks_snaptime)
			fail("was busy for longer than it exists", ksp->ks_name);
		show_io(ksp, KSTAT_IO_PTR(ksp));
	}
}

const struct client disk_clients[] = {
	{ "iostat", iostat }, { "vmstat-disks", vmstat_disks }, { "iostat-e", iostat_e }, { "iostat-E", iostat_E },
	{ "pcp-errors", pcp_errors }, { "libstatgrab-disk", libstatgrab_disk }, { "sigar-disk", sigar_disk },
	{ "net-snmp-disk", net_snmp_disk }, { NULL, NULL }
};
