/*
 * sys/vnode.h - the Solaris header of vopstats_t, the data of unix:0:vopstats_*. SPDX-License-Identifier: MIT
 */
#ifndef KSTAT_SOLARIS_VNODE_H
#define KSTAT_SOLARIS_VNODE_H
#include <kstat.h>

typedef struct vopstats {
	kstat_named_t nopen, nclose, nread, read_bytes, nwrite, write_bytes, nioctl, nsetfl, ngetattr, nsetattr,
	    naccess, nlookup, ncreate, nremove, nlink, nrename, nmkdir, nrmdir, nreaddir, readdir_bytes, nsymlink,
	    nreadlink, nfsync, ninactive, nfid, nrwlock, nrwunlock, nseek, ncmp, nfrlock, nspace, nrealvp, ngetpage,
	    nputpage, nmap, naddmap, ndelmap, npoll, ndump, npathconf, npageio, ndumpctl, ndispose, nsetsecattr,
	    ngetsecattr, nshrlock, nvnevent, nreqzcbuf, nretzcbuf;
} vopstats_t;

#define VOPSTATS_STR "vopstats_"

#endif
