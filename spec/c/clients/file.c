/*
 * file.c - clients that ask for file systems, NFS, ZFS and zones. Where a machine has none of these they say so
 * and end. SPDX-License-Identifier: MIT
 */
#include <nfs/nfs_clnt.h>
#include <sys/vnode.h>

#include "clients.h"

/* fsstat copies each vopstats_* into a structure of 49 statistics. */
static void
fsstat(void)
{
	struct { vopstats_t operations; char guard[48]; } memory;
	kstat_t *ksp;
	int found = 0;

	for (ksp = NULL; (ksp = next_of(ksp, NULL, VOPSTATS_STR "*")) != NULL; found = 1) {
		(void)memset(&memory, '#', sizeof(memory));
		if (kstat_read(kc, ksp, &memory.operations) <= 0)
			fail(strerror(errno), ksp->ks_name);
		if (memory.guard[0] != '#' || strcmp(memory.operations.nretzcbuf.name, "nretzcbuf") != 0)
			fail("is not a vopstats_t", ksp->ks_name);
		show(ksp, &memory.operations.nread);
		show(ksp, &memory.operations.read_bytes);
		show(ksp, &memory.operations.nwrite);
		show(ksp, &memory.operations.write_bytes);
	}
	if (!found)
		fail("absent", VOPSTATS_STR);
}

/* nfsstat prints all from "null" to the end as 64 bits; collectd and powerd name them. */
static void
nfsstat(void)
{
	kstat_t *ksp;
	kstat_named_t *named;
	int found = 0;

	for (ksp = NULL; (ksp = next_of(ksp, NULL, "rfs*")) != NULL; found = 1) {
		if (kstat_read(kc, ksp, NULL) <= 0)
			fail(strerror(errno), ksp->ks_name);
		for (named = look(ksp, "null"); named < KSTAT_NAMED_PTR(ksp) + ksp->ks_ndata; named++)
			show_number(ksp, named->name, named->value.ui64);
		show_present(ksp, "null|getattr|setattr|lookup|access|readlink|read|write|create|mkdir|symlink|mknod|remove|"
		    "rmdir|rename|link|readdir|readdirplus|fsstat|fsinfo|pathconf|commit");
	}
	if (!found)
		fail("absent", "rfsproccnt_v2");
}

/* autofs, umount and nfsstat -m */
static void
mntinfo(void)
{
	kstat_t *ksp;
	struct mntinfo_kstat mount;
	int found = 0;

	for (ksp = NULL; (ksp = next_of(ksp, "nfs", "mntinfo")) != NULL; found = 1) {
		if (kstat_read(kc, ksp, &mount) <= 0)
			fail(strerror(errno), ksp->ks_name);
		show_text(ksp, "mik_proto", mount.mik_proto, strlen(mount.mik_proto));
		show_number(ksp, "mik_vers", mount.mik_vers);
		show_text(ksp, "mik_curserver", mount.mik_curserver, strlen(mount.mik_curserver));
	}
	if (!found)
		fail("absent", "mntinfo");
}

static void
arcstat(void)
{
	show_present(need("zfs", 0, "arcstats"), "hits|misses|demand_data_hits|demand_data_misses|demand_metadata_hits|"
	    "demand_metadata_misses|prefetch_data_hits|prefetch_data_misses|mfu_hits|mru_hits|mfu_ghost_hits|"
	    "mru_ghost_hits|evict_skip|mutex_miss|deleted|size|c|l2_hits|l2_misses|l2_read_bytes|l2_size|l2_asize");
}

/* htop, sigar, collectd and fastfetch take a few of them without a look. */
static void
arc_size(void)
{
	show_unchecked(need("zfs", 0, "arcstats"), "size|c");
}

/* node_exporter ends at the first statistic that is absent. */
static void
node_exporter_zfs(void)
{
	show_needed(need("zfs", 0, "arcstats"), "c|hits|size");
}

/* The name of the kstat is that of the zone. */
static void
zones(void)
{
	show_present(need("zones", 0, NULL), "zonename|avenrun_1min|nsec_user|nsec_sys|boot_time");
}

/* vfsstat divides by what it finds, so that all of it must be there. */
static void
vfsstat(void)
{
	show_unchecked(need("zone_vfs", -1, NULL), "reads|writes|nread|nwritten|rtime|wtime|rlentime|wlentime");
}

static void
kvmstat(void)
{
	kstat_t *ksp;
	int found = 0;

	for (ksp = NULL; (ksp = next_of(ksp, "kvm", "vcpu-*")) != NULL; found = 1)
		if (strcmp(ksp->ks_class, "misc") == 0 && kstat_read(kc, ksp, NULL) > 0)
			show_needed(ksp, "pid|exits|halt-exits|irq-exits|io-exits|mmio-exits|irq-injections|pf-fixed");
	if (!found)
		fail("absent", "vcpu-0");
}

static void
lgrpinfo(void)
{
	show_present(need("lgrp", 0, "lgrp0"), "load average|loadscale");
}

/* netstat -f unix: the size in each element is the way to the next one; three texts follow the structure. */
static void
netstat_unix(void)
{
	kstat_t *ksp = need("sockfs", 0, "sock_unix_list");
	size_t at = 0, size;
	uint_t i;

	for (i = 0; i < ksp->ks_ndata; i++, at += size) {
		size = *(uint_t *)((char *)ksp->ks_data + at);
		if (size == 0 || size > ksp->ks_data_size - at)
			fail("has an element of a wrong size", "sock_unix_list");
	}
}

const struct client file_clients[] = {
	{ "fsstat", fsstat }, { "nfsstat", nfsstat }, { "mntinfo", mntinfo }, { "arcstat", arcstat },
	{ "arc-size", arc_size }, { "node_exporter-zfs", node_exporter_zfs },
	{ "zones", zones }, { "vfsstat", vfsstat }, { "kvmstat", kvmstat }, { "lgrpinfo", lgrpinfo },
	{ "netstat-unix", netstat_unix }, { NULL, NULL }
};
