/*
 * fs_detail.c - what local file systems count themselves (class fs_detail), those of other mount namespaces included:
 * errors and bytes written of ext4, the operations of XFS, space by kind, commits and errors of btrfs.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "source/linux/devices.h"
#include "source/linux/fs/mount.h"
#include "source/linux/listing.h"

#define COUNT(stat, key, desc) KS_COUNT_K(stat, KSTAT_DATA_UINT64, key, desc)
#define MOMENT(stat, key, desc) \
	KS_OF(stat, KS_KIND_GAUGE, KSTAT2_NVMT_T_EPOCH, KSTAT_DATA_UINT64, "s", key, desc)
#define INODE(stat, desc) KS_OF(stat, KS_KIND_GAUGE, KSTAT2_NVMT_ID, KSTAT_DATA_UINT64, "", stat, desc)
#define KIBIBYTES(stat, key, desc) \
	KS_OF_TIMES(stat, KS_KIND_COUNTER, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, 1024, "KiB", key, desc)

/* --- ext4 ---------------------------------------------------------------------------------------- */

static const struct ks_field ext4_fields[] = {
	COUNT("errors", "errors_count", "errors found in the file system since it was last checked"),
	COUNT("warnings", "warning_count", "warnings since it was mounted"),
	COUNT("messages", "msg_count", "messages since it was mounted"),
	MOMENT("first_error_time", "first_error_time", "time of the first error since 1970; 0: there was none"),
	KS_TEXT_STATE_K("first_error_func", "first_error_func", "function of the kernel that found the first error"),
	INODE("first_error_ino", "number of the inode with the first error"),
	MOMENT("last_error_time", "last_error_time", "time of the last error since 1970; 0: there was none"),
	KS_TEXT_STATE_K("last_error_func", "last_error_func", "function of the kernel that found the last error"),
	INODE("last_error_ino", "number of the inode with the last error"),
	KIBIBYTES("lifetime_write", "lifetime_write_kbytes", "data written since the file system was made"),
	KIBIBYTES("session_write", "session_write_kbytes", "data written since it was mounted"),
	KS_GAUGE_K("delayed_allocation", KSTAT_DATA_UINT64, "delayed_allocation_blocks",
	    "blocks of files that have no place on the disk yet"),
	KS_GAUGE_K("reserved_clusters", KSTAT_DATA_UINT64, "reserved_clusters",
	    "clusters kept so that delayed allocation cannot fail"),
	KS_FIELD_END
};

/* --- XFS ----------------------------------------------------------------------------------------- */

/* The keys are those of listing.h. The names are the kernel's, without "xs_". */
static const struct ks_field xfs_fields[] = {
	COUNT("allocx", "extent_alloc 0", "extents allocated"),
	COUNT("allocb", "extent_alloc 1", "blocks allocated"),
	COUNT("freex", "extent_alloc 2", "extents freed"),
	COUNT("freeb", "extent_alloc 3", "blocks freed"),
	COUNT("abt_lookup", "abt 0", "look-ups in the trees of free space (version 4 on disk)"),
	COUNT("abt_compare", "abt 1", "comparisons in the trees of free space"),
	COUNT("abt_insrec", "abt 2", "records added to the trees of free space"),
	COUNT("abt_delrec", "abt 3", "records removed from the trees of free space"),
	COUNT("blk_mapr", "blk_map 0", "reads of a map of blocks"),
	COUNT("blk_mapw", "blk_map 1", "writes by a map of blocks"),
	COUNT("blk_unmap", "blk_map 2", "blocks removed from a file"),
	COUNT("add_exlist", "blk_map 3", "extents added to lists in memory"),
	COUNT("del_exlist", "blk_map 4", "extents removed from lists in memory"),
	COUNT("look_exlist", "blk_map 5", "look-ups in lists of extents"),
	COUNT("cmp_exlist", "blk_map 6", "comparisons in lists of extents"),
	COUNT("bmbt_lookup", "bmbt 0", "look-ups in trees of a file's blocks (version 4 on disk)"),
	COUNT("bmbt_compare", "bmbt 1", "comparisons in trees of a file's blocks"),
	COUNT("bmbt_insrec", "bmbt 2", "records added to trees of a file's blocks"),
	COUNT("bmbt_delrec", "bmbt 3", "records removed from trees of a file's blocks"),
	COUNT("dir_lookup", "dir 0", "names looked up that were not in the kernel's cache"),
	COUNT("dir_create", "dir 1", "names created"),
	COUNT("dir_remove", "dir 2", "names removed"),
	COUNT("dir_getdents", "dir 3", "readings of directories"),
	COUNT("trans_sync", "trans 0", "transactions that were waited for"),
	COUNT("trans_async", "trans 1", "transactions that were not waited for"),
	COUNT("trans_empty", "trans 2", "transactions that changed nothing"),
	COUNT("ig_attempts", "ig 0", "inodes looked for in the cache of XFS"),
	COUNT("ig_found", "ig 1", "inodes found there"),
	COUNT("ig_frecycle", "ig 2", "inodes found that were about to be freed"),
	COUNT("ig_missed", "ig 3", "inodes not found, and read"),
	COUNT("ig_dup", "ig 4", "inodes that another process had added meanwhile"),
	COUNT("ig_reclaims", "ig 5", "inodes removed from the cache"),
	COUNT("ig_attrchg", "ig 6", "changes of an inode's attributes"),
	COUNT("log_writes", "log 0", "writes of the log"),
	COUNT("log_blocks", "log 1", "blocks of 512 bytes of the log written"),
	COUNT("log_noiclogs", "log 2", "waits for a free buffer of the log"),
	COUNT("log_force", "log 3", "times that the log was forced to disk"),
	COUNT("log_force_sleep", "log 4", "waits for a forced log"),
	COUNT("try_logspace", "push_ail 0", "reservations of space in the log"),
	COUNT("sleep_logspace", "push_ail 1", "waits for space in the log"),
	COUNT("push_ail", "push_ail 2", "times that old metadata were pushed to disk"),
	COUNT("xstrat_quick", "xstrat 0", "delayed extents that were written in one piece"),
	COUNT("xstrat_split", "xstrat 1", "delayed extents that were split"),
	COUNT("write_calls", "rw 0", "calls of write()"),
	COUNT("read_calls", "rw 1", "calls of read()"),
	COUNT("attr_get", "attr 0", "extended attributes read"),
	COUNT("attr_set", "attr 1", "extended attributes set"),
	COUNT("attr_remove", "attr 2", "extended attributes removed"),
	COUNT("attr_list", "attr 3", "listings of extended attributes"),
	KS_GAUGE_K("vn_active", KSTAT_DATA_UINT64, "vnodes 0", "inodes in memory that are in use"),
	COUNT("vn_alloc", "vnodes 1", "inodes allocated in memory"),
	COUNT("vn_get", "vnodes 2", "inodes taken from the list of unused ones"),
	COUNT("vn_hold", "vnodes 3", "references taken to inodes"),
	COUNT("vn_rele", "vnodes 4", "references given back"),
	COUNT("vn_reclaim", "vnodes 5", "inodes in memory given up"),
	COUNT("vn_remove", "vnodes 6", "inodes in memory removed"),
	COUNT("buf_get", "buf 0", "buffers of metadata asked for"),
	COUNT("buf_create", "buf 1", "buffers of metadata created"),
	COUNT("buf_get_locked_waited", "buf 3", "waits for a buffer that another process had locked"),
	COUNT("buf_miss_locked", "buf 5", "buffers that were not in the cache"),
	KS_BYTES_K("xstrat_bytes", "xpc 0", "bytes of delayed extents that were written"),
	KS_BYTES_K("write_bytes", "xpc 1", "bytes written by write()"),
	KS_BYTES_K("read_bytes", "xpc 2", "bytes read by read()"),
	KS_FIELD_END
};

/* The trees of version 5 on disk have a line each, all of the same columns. */
#define TREE(stat, key, what) \
	COUNT(stat "_lookup", key " 0", "look-ups in " what), \
	COUNT(stat "_compare", key " 1", "comparisons in " what), \
	COUNT(stat "_insrec", key " 2", "records added to " what), \
	COUNT(stat "_delrec", key " 3", "records removed from " what), \
	COUNT(stat "_split", key " 10", "blocks split in " what), \
	COUNT(stat "_join", key " 11", "blocks joined in " what), \
	COUNT(stat "_alloc", key " 12", "blocks allocated for " what), \
	COUNT(stat "_free", key " 13", "blocks freed from " what)

static const struct ks_field xfs_tree_fields[] = {
	TREE("abtb2", "abtb2", "the tree of free space by block"),
	TREE("abtc2", "abtc2", "the tree of free space by size"),
	TREE("bmbt2", "bmbt2", "the trees of a file's blocks"),
	TREE("ibt2", "ibt2", "the trees of inodes"),
	TREE("fibt2", "fibt2", "the trees of free inodes"),
	TREE("rmapbt", "rmapbt", "the tree of owners of blocks"),
	TREE("refcntbt", "refcntbt", "the tree of shared blocks"),
	KS_FIELD_END
};

static const struct ks_field xfs_log_fields[] = {
	COUNT("push_ail_success", "push_ail 3", "old metadata that were written out"),
	COUNT("push_ail_pushbuf", "push_ail 4", "pushes that found a buffer on its way to disk"),
	COUNT("push_ail_pinned", "push_ail 5", "pushes of metadata that the log does not have on disk yet"),
	COUNT("push_ail_locked", "push_ail 6", "pushes of metadata that were locked"),
	COUNT("push_ail_flushing", "push_ail 7", "pushes of metadata that were being written already"),
	COUNT("push_ail_restarts", "push_ail 8", "pushes that began anew"),
	COUNT("push_ail_flush", "push_ail 9", "pushes that forced the log to disk"),
	COUNT("icluster_flushcnt", "icluster 0", "clusters of inodes written"),
	COUNT("icluster_flushinode", "icluster 2", "inodes written with their cluster"),
	COUNT("buf_get_locked", "buf 2", "buffers that were in the cache and could be locked at once"),
	COUNT("buf_busy_locked", "buf 4", "buffers that were locked when nobody wanted to wait"),
	COUNT("buf_page_retries", "buf 6", "retries to get memory for a buffer"),
	COUNT("buf_page_found", "buf 7", "pages of a buffer that were in the cache"),
	COUNT("buf_get_read", "buf 8", "buffers that were read from disk"),
	COUNT("qm_dquot_reclaims", "qm 0", "quotas of users in memory that were given up"),
	COUNT("qm_dquot_reclaim_misses", "qm 1", "quotas that could not be given up"),
	COUNT("qm_dquot_dups", "qm 2", "quotas that another process had read meanwhile"),
	COUNT("qm_dquot_cachemisses", "qm 3", "quotas that were read from disk"),
	COUNT("qm_dquot_cachehits", "qm 4", "quotas that were found in memory"),
	COUNT("qm_dquot_wants", "qm 5", "quotas that were in use again before they were given up"),
	KS_GAUGE_K("qm_dquot", KSTAT_DATA_UINT64, "qm 6", "quotas in memory"),
	KS_GAUGE_K("qm_dquot_unused", KSTAT_DATA_UINT64, "qm 7", "quotas in memory that are not in use"),
	COUNT("defer_relog", "defer_relog 0", "intents logged anew so that the log could go on"),
	KS_FIELD_END
};

static const struct ks_devices xfs = { .root = KS_ROOT_SYS, .path = "fs/xfs", .prefix = "", .needs = "stats/stats",
	.by = KS_BY_NAME };
static const struct ks_devices xfs_all = { .root = KS_ROOT_PROC, .path = "fs/xfs", .needs = "stat" };

static int
read_xfs(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_devices *d = lx->part->devices;
	struct ks_values vals = { .have = 0 };
	char path[600];

	(void)snprintf(path, sizeof(path), "%s/%s", ((const struct ks_device *)unit->extra)->path, d->needs);
	if (ks_linux_once(lx, unit, d->root, path) == NULL)
		return -1;
	ks_columns_collect(lx, ks_image_text(lx->im), &vals);
	ks_fields_add(r, lx->part->fields, &vals);
	return 0;
}

/* --- btrfs ---------------------------------------------------------------------------------------- */

enum { B_ERRORS, B_WRITE, B_READ, B_FLUSH, B_CORRUPTION, B_GENERATION, B_DEVICES, B_MISSING, B_SIZE };

#define SPACE(kind, file, desc) KS_AMOUNT_K(#kind "_" file, "allocation/" #kind "/" file, desc)
#define SPACES(kind, what) \
	SPACE(kind, "total_bytes", "space set apart for " what), \
	SPACE(kind, "bytes_used", "space in use for " what), \
	SPACE(kind, "bytes_reserved", "space reserved for " what), \
	SPACE(kind, "bytes_may_use", "space that may be needed for " what " under way"), \
	SPACE(kind, "bytes_pinned", "space freed of " what " that can be used after the next commit"), \
	SPACE(kind, "bytes_readonly", "space of " what " that cannot be written"), \
	SPACE(kind, "disk_total", "space set apart on all devices for " what ", copies included"), \
	SPACE(kind, "disk_used", "space in use on all devices for " what ", copies included")
#define MSEC(stat, kind, type, key, desc) \
	KS_OF_PER(stat, kind, type, KSTAT_DATA_UINT64, 1000, "ms", key, desc)

static const struct ks_field btrfs_fields[] = {
	[B_ERRORS] = COUNT("errors", NULL, "errors of all devices: the sum of the next five"),
	[B_WRITE] = COUNT("write_errs", NULL, "writes that failed"),
	[B_READ] = COUNT("read_errs", NULL, "reads of devices that failed"),
	[B_FLUSH] = COUNT("flush_errs", NULL, "flushes that failed"),
	[B_CORRUPTION] = COUNT("corruption_errs", NULL, "blocks with a wrong checksum or contents"),
	[B_GENERATION] = COUNT("generation_errs", NULL, "blocks of another generation than expected: writes were lost"),
	[B_DEVICES] = KS_GAUGE("devices", KSTAT_DATA_UINT32, "devices that the file system is on"),
	[B_MISSING] = KS_GAUGE("devices_missing", KSTAT_DATA_UINT32, "devices that are missing"),
	[B_SIZE] = KS_AMOUNT("devices_size", "size of the devices together"),
	KS_TEXT_K("label", "label", "name that its owner gave the file system"),
	SPACES(data, "data"),
	SPACES(metadata, "metadata"),
	SPACES(system, "the map of space"),
	KS_AMOUNT_K("global_rsv_size", "allocation/global_rsv_size", "space reserved for emergencies"),
	KS_AMOUNT_K("global_rsv_reserved", "allocation/global_rsv_reserved",
	    "part of the space reserved for emergencies that is not used"),
	COUNT("commits", "commit_stats?commits", "transactions committed"),
	MSEC("last_commit_ms", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "commit_stats?last_commit_ms",
	    "time that the last commit took"),
	MSEC("max_commit_ms", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, "commit_stats?max_commit_ms",
	    "time that the longest commit took"),
	MSEC("total_commit_ms", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, "commit_stats?total_commit_ms",
	    "time that all commits took"),
	KS_TEXT_K("uuid", ".", "identifier of the file system"),
	KS_FIELD_END
};

/* A file of a device: "write_errs 0", "read_errs 0" and so on, each in a line. */
static const struct ks_field device_errors[] = {
	[B_ERRORS] = COUNT("errors", NULL, ""),
	[B_WRITE] = COUNT("write_errs", "error_stats?write_errs", ""),
	[B_READ] = COUNT("read_errs", "error_stats?read_errs", ""),
	[B_FLUSH] = COUNT("flush_errs", "error_stats?flush_errs", ""),
	[B_CORRUPTION] = COUNT("corruption_errs", "error_stats?corruption_errs", ""),
	[B_GENERATION] = COUNT("generation_errs", "error_stats?generation_errs", ""),
	[B_DEVICES] = COUNT("in_fs_metadata", "in_fs_metadata", ""),
	[B_MISSING] = COUNT("missing", "missing", ""),
	[B_SIZE] = COUNT("size", "size", ""), /* of a block device, in blocks of 512 bytes */
	KS_FIELD_END
};

/* Adds what the directory of one device of a btrfs says to the values. */
static void
add_device(const struct ks_dir *list, const char *name, struct ks_values *vals)
{
	struct ks_dir dir = { .fd = -1, .kernel = list->kernel, .lack = list->lack };
	struct ks_texts texts = { NULL, 0, 0 };
	struct ks_values own = { .have = 0 };
	uint64_t absent = 0;

	dir.fd = ks_open_at(list->fd, name, O_RDONLY | O_DIRECTORY);
	if (dir.fd < 0) {
		ks_note_fault(list, errno);
		return;
	}
	ks_attributes_read(&dir, device_errors, &absent, &own, &texts);
	(void)close(dir.fd);
	for (size_t i = B_WRITE; i <= B_SIZE; i++) {
		if ((own.have >> i & 1) == 0)
			continue;
		ks_have_more(vals, i, i == B_SIZE ? own.v[i].u * 512 : own.v[i].u);
		if (i <= B_GENERATION)
			ks_have_more(vals, B_ERRORS, own.v[i].u);
	}
}

/* Adds the devices of a btrfs, which "devices" links to and "devinfo" (Linux 5.6, errors 5.14) has facts of. */
static void
add_devices(struct ks_linux *lx, const struct ks_dir *dir, struct ks_device *dev, struct ks_values *vals)
{
	static const char *const lists[] = { "devices", "devinfo" };
	uint64_t n = 0;

	(void)dev;
	for (size_t i = 0; i < 2; i++) {
		DIR *entries = ks_dir_list(dir, lists[i]);
		const struct dirent *e;
		struct ks_dir list;

		if (entries == NULL)
			continue;
		list = (struct ks_dir){ .fd = dirfd(entries), .kernel = dir->kernel, .lack = dir->lack };
		while ((e = ks_linux_next_entry(lx, entries)) != NULL) {
			if (e->d_name[0] == '.')
				continue;
			n += i == 0;
			add_device(&list, e->d_name, vals);
		}
		(void)closedir(entries);
	}
	if (n > 0 && (vals->have >> B_DEVICES & 1) == 0)
		ks_have(vals, B_DEVICES, n);
}

/* --- scanning ---------------------------------------------------------------------------------- */

enum { PART_EXT4, PART_XFS, PART_XFS_TREES, PART_XFS_LOG, PART_XFS_ALL, PART_BTRFS };

static const struct ks_part parts[] = {
	[PART_EXT4] = KS_DEVICE_PART("ext4", "@", "fs_detail", ext4_fields, KS_DEVICES("fs/ext4", "",
	    .needs = "lifetime_write_kbytes", .by = KS_BY_NAME)),
	[PART_XFS] = KS_NAMED_PART("xfs", "@", "fs_detail", .fields = KS_TABLE(xfs_fields),
	    .read = read_xfs, .devices = &xfs),
	[PART_XFS_TREES] = KS_NAMED_PART("xfs", "@,trees", "fs_trees", .fields = KS_TABLE(xfs_tree_fields),
	    .read = read_xfs, .devices = &xfs),
	[PART_XFS_LOG] = KS_NAMED_PART("xfs", "@,log", "fs_log", .fields = KS_TABLE(xfs_log_fields),
	    .read = read_xfs, .devices = &xfs, .since = "; defer_relog 5.11"),
	[PART_XFS_ALL] = KS_NAMED_PART("xfs", "all", "fs_detail", .fields = KS_TABLE(xfs_fields),
	    .read = read_xfs, .devices = &xfs_all),
	[PART_BTRFS] = KS_DEVICE_PART("btrfs", "@", "fs_detail", btrfs_fields, KS_DEVICES("fs/btrfs", "",
	    .needs = "allocation", .by = KS_BY_NAME, .add = add_devices),
	    .since = "; *commit* 6.0; errors 5.14; *_errs 5.14"),
};

/* Mounting a file system need not be an event that the kernel counts. */
static int
scan_fs_detail(struct ks_linux *lx, struct ks_units *units)
{
	const struct ks_image *im;

	if (!ks_linux_mounts_changed(lx, lx->sub[KS_SUB_fs_detail].state, &im) && units->scanned)
		return 0;
	/* The sum is of use only where the file systems have no counts of their own: before Linux 4.4. */
	if (ks_linux_exists(lx, xfs.root, xfs.path))
		lx->sub[KS_SUB_fs_detail].wanted &= (uint16_t)~(1u << PART_XFS_ALL);
	return ks_devices_scan(lx, units);
}

KS_SUBSYSTEM(fs_detail, parts, .scan = scan_fs_detail, .state_size = sizeof(uint64_t));
