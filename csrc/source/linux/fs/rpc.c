/*
 * rpc.c - what the client and the server of NFS count for the whole machine, from /proc/net/rpc: the calls of each
 * procedure under illumos's names (rfsreqcnt_v3 of the client, rfsproccnt_v3 of the server), and RPC.
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/described.h"
#include "source/linux/listing.h"

static const struct ks_file client_file = { KS_ROOT_PROC, "net/rpc/nfs", KS_MADE_ANYHOW, false };
static const struct ks_file server_file = { KS_ROOT_PROC, "net/rpc/nfsd", KS_MADE_ANYHOW, false };

/* The procedures in the order of the kernel's columns; illumos has the same for versions 2 and 3. NULL: unused. */
static const char *const procedures2[] = { "null", "getattr", "setattr", "root", "lookup", "readlink", "read",
	"wrcache", "write", "create", "remove", "rename", "link", "symlink", "mkdir", "rmdir", "readdir", "statfs" };
static const char *const procedures3[] = { "null", "getattr", "setattr", "lookup", "access", "readlink", "read",
	"write", "create", "mkdir", "symlink", "mknod", "remove", "rmdir", "rename", "link", "readdir", "readdirplus",
	"fsstat", "fsinfo", "pathconf", "commit" };
/* Calls of the client of version 4, each of which is a compound of several operations. */
static const char *const calls4[] = { "null", "read", "write", "commit", "open", "open_confirm", "open_noattr",
	"open_downgrade", "close", "setattr", "fsinfo", "renew", "setclientid", "setclientid_confirm", "lock", "lockt",
	"locku", "access", "getattr", "lookup", "lookup_root", "remove", "rename", "link", "symlink", "create",
	"pathconf", "statfs", "readlink", "readdir", "server_caps", "delegreturn", "getacl", "setacl", "fs_locations",
	"release_lockowner", "secinfo", "fsid_present", "exchange_id", "create_session", "destroy_session", "sequence",
	"get_lease_time", "reclaim_complete", "layoutget", "getdeviceinfo", "layoutcommit", "layoutreturn",
	"secinfo_no_name", "test_stateid", "free_stateid", "getdevicelist", "bind_conn_to_session",
	"destroy_clientid", "seek", "allocate", "deallocate", "layoutstats", "clone", "copy", "offload_cancel",
	"lookupp", "layouterror", "copy_notify", "getxattr", "setxattr", "listxattrs", "removexattr", "read_plus" };
static const char *const compounds4[] = { "null", "compound" };
/* Operations by their numbers in the protocol (RFC 7530, 8881, 7862, 8276). */
static const char *const operations4[] = { NULL, NULL, NULL, "access", "close", "commit", "create", "delegpurge",
	"delegreturn", "getattr", "getfh", "link", "lock", "lockt", "locku", "lookup", "lookupp", "nverify", "open",
	"openattr", "open_confirm", "open_downgrade", "putfh", "putpubfh", "putrootfh", "read", "readdir", "readlink",
	"remove", "rename", "renew", "restorefh", "savefh", "secinfo", "setattr", "setclientid", "setclientid_confirm",
	"verify", "write", "release_lockowner", "backchannel_ctl", "bind_conn_to_session", "exchange_id",
	"create_session", "destroy_session", "free_stateid", "get_dir_delegation", "getdeviceinfo", "getdevicelist",
	"layoutcommit", "layoutget", "layoutreturn", "secinfo_no_name", "sequence", "set_ssv", "test_stateid",
	"want_delegation", "destroy_clientid", "reclaim_complete", "allocate", "copy", "copy_notify", "deallocate",
	"io_advise", "layouterror", "layoutstats", "offload_cancel", "offload_status", "read_plus", "seek",
	"write_same", "clone", "getxattr", "setxattr", "listxattrs", "removexattr" };

/* Adds the counts of a line "proc3 22 0 1 ...": how many there are, then these. Others than the names are ignored. */
static void
add_procedures(struct ks_linux *lx, struct ks_text all, struct ks_record *r, const char *key, const char *const *names,
    size_t n)
{
	struct ks_text rest;
	uint64_t count, v;

	if (!ks_columns_line(all, ks_text_of(key, strlen(key)), &rest))
		return;
	if (!ks_text_u64(&rest, &count)) {
		ks_linux_odd_line(lx, lx->im, &rest);
		return;
	}
	for (size_t i = 0; i < count && i < n && ks_text_u64(&rest, &v); i++) {
		if (names[i] != NULL)
			ks_named_u64(r, names[i], v);
	}
}

/* The names of these parts are "rfsreqcnt_v3" and "rfsproccnt_v4"; the lines are those of the version. */
static int
add_version(struct ks_linux *lx, struct ks_text all, struct ks_record *r)
{
	const struct ks_part *part = lx->part;
	char key[] = "proc4ops";
	bool is_server4 = part->names == operations4;

	key[4] = part->name[strlen(part->name) - 1];
	if (is_server4)
		add_procedures(lx, all, r, "proc4", compounds4, sizeof(compounds4) / sizeof(*compounds4));
	else
		key[5] = '\0';
	add_procedures(lx, all, r, key, part->names, part->nnames);
	return 0;
}

static const struct ks_meta call = KS_META_COUNTER("", "");

static const struct ks_meta *
client_meta(const char *stat)
{
	return ks_described_as(&call, "calls of the procedure ", stat, " that this machine made");
}

static const struct ks_meta *
server_meta(const char *stat)
{
	return ks_described_as(&call, "calls of the procedure ", stat, " that this machine served");
}

/* --- RPC ---------------------------------------------------------------------------------------- */

#define COUNT(stat, key, desc) KS_COUNT_K(stat, KSTAT_DATA_UINT64, key, desc)

/* The keys are those of listing.h. */
static const struct ks_field client_fields[] = {
	COUNT("calls", "rpc 0", "calls of NFS sent"),
	COUNT("retrans", "rpc 1", "calls of NFS sent again"),
	COUNT("newcreds", "rpc 2", "credentials that were refreshed"),
	COUNT("packets", "net 0", "packets of RPC received"),
	COUNT("udp_packets", "net 1", "packets received by UDP"),
	COUNT("tcp_packets", "net 2", "packets received by TCP"),
	COUNT("tcp_connections", "net 3", "connections of TCP"),
	KS_FIELD_END
};

static const struct ks_field server_fields[] = {
	COUNT("calls", "rpc 0", "calls received"),
	COUNT("badcalls", "rpc 1", "calls that were refused: the sum of the next three"),
	COUNT("badfmt", "rpc 2", "calls that could not be decoded"),
	COUNT("badauth", "rpc 3", "calls with wrong credentials"),
	COUNT("badclnt", "rpc 4", "calls of clients that may not call"),
	COUNT("dupchecks", "rc 0 1", "calls that were looked for in the cache of replies"),
	COUNT("dupreqs", "rc 0", "calls that were repetitions, by the cache of replies"),
	COUNT("packets", "net 0", "packets of RPC received"),
	COUNT("udp_packets", "net 1", "packets received by UDP"),
	COUNT("tcp_packets", "net 2", "packets received by TCP"),
	COUNT("tcp_connections", "net 3", "connections of TCP accepted"),
	KS_FIELD_END
};

static const struct ks_field nfsd_fields[] = {
	KS_GAUGE_K("threads", KSTAT_DATA_UINT64, "th 0", "threads that serve NFS"),
	COUNT("threads_all_busy", "th 1", "times that all threads were in use (0 with today's kernels)"),
	KS_BYTES_K("read_bytes", "io 0", "bytes that clients read"),
	KS_BYTES_K("write_bytes", "io 1", "bytes that clients wrote"),
	COUNT("stale_handles", "fh 0", "file handles of files that are gone"),
	COUNT("reply_cache_hits", "rc 0", "replies that were sent again from the cache"),
	COUNT("reply_cache_misses", "rc 1", "calls that were not in the cache of replies, and were added"),
	COUNT("reply_cache_nocache", "rc 2", "calls whose replies are not cached"),
	KS_GAUGE_K("readahead_cache_size", KSTAT_DATA_UINT64, "ra 0", "entries of the readahead cache (0 with today's kernels)"),
	COUNT("readahead_not_found", "ra 11", "reads that were not in the readahead cache (0 with today's kernels)"),
	COUNT("wdeleg_getattr", "wdeleg_getattr 0", "attributes asked of clients that hold a write delegation"),
	KS_FIELD_END
};

#define VERSION_PART(name_, who, names, ...) \
	KS_NAMED_PART("nfs", name_, "misc", .add = add_version, .meta = who##_meta, .file = &who##_file, \
	    KS_NAMES_OF(names), __VA_ARGS__)

/* What rfsproccnt_v4 has beside the operations. */
static const struct ks_meta compounds4_known[] = {
	KS_META_COUNTER("null", "calls of the procedure null that this machine served"),
	KS_META_COUNTER("compound", "calls of the procedure compound that this machine served"),
	KS_META_END
};

#define COLUMNS_PART(module, name, class, fields_, file_) \
	KS_NAMED_PART(module, name, class, .fields = KS_TABLE(fields_), .collect = ks_columns_collect, .file = (file_))

static const struct ks_part parts[] = {
	COLUMNS_PART("unix", "rpc_client", "rpc", client_fields, &client_file),
	VERSION_PART("rfsreqcnt_v2", client, procedures2), VERSION_PART("rfsreqcnt_v3", client, procedures3),
	VERSION_PART("rfsreqcnt_v4", client, calls4),
	COLUMNS_PART("unix", "rpc_server", "rpc", server_fields, &server_file),
	VERSION_PART("rfsproccnt_v2", server, procedures2), VERSION_PART("rfsproccnt_v3", server, procedures3),
	VERSION_PART("rfsproccnt_v4", server, operations4, .known = compounds4_known),
	COLUMNS_PART("nfs", "nfsd", "misc", nfsd_fields, &server_file),
};

KS_SUBSYSTEM(rpc, parts);
