/*
 * nfs/nfs_clnt.h - the Solaris header of struct mntinfo_kstat, the data of nfs:N:mntinfo; see kstat_raw.h.
 * SPDX-License-Identifier: MIT
 */
#ifndef NFS_NFS_CLNT_H
#define NFS_NFS_CLNT_H
#include <kstat_raw.h>
#endif
