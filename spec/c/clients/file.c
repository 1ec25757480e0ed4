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

/* vfsstat and zones: the name of the kstat is that of the zone. */
static void
zones(void)
{
	kstat_t *ksp = need("zones", 0, NULL);

	show_present(ksp, "zonename|avenrun_1min|nsec_user|nsec_sys|boot_time");
}

const struct client file_clients[] = {
	{ "fsstat", fsstat }, { "nfsstat", nfsstat }, { "mntinfo", mntinfo }, { "arcstat", arcstat },
	{ "arc-size", arc_size }, { "zones", zones }, { NULL, NULL }
};
