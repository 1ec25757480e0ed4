/*
 * block.c - tables of block devices that are made of others: arrays (md), maps (dm) with the state of their paths,
 * compressed memory (zram), caches (bcache). SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "source/linux/devices.h"

#define EVENTS(stat, key, desc) KS_COUNT_K(stat, KSTAT_DATA_UINT64, key, desc)
#define GAUGE(stat, key, desc) KS_GAUGE_K(stat, KSTAT_DATA_UINT64, key, desc)
#define PERCENT(stat, key, desc) \
	KS_OF(stat, KS_KIND_GAUGE, KSTAT2_NVMT_PCT, KSTAT_DATA_UINT32, "%", key, desc)
#define SECTORS(stat, key, desc) \
	KS_OF_TIMES(stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, 512, "sectors", key, desc)

/* --- arrays ------------------------------------------------------------------------------------------ */

enum { MD_IN_SYNC, MD_FAULTY, MD_SPARE };

static const struct ks_field md_fields[] = {
	[MD_IN_SYNC] = GAUGE("disks_in_sync", NULL, "disks of the array that are up to date"),
	[MD_FAULTY] = GAUGE("disks_faulty", NULL, "disks of the array that failed"),
	[MD_SPARE] = GAUGE("disks_spare", NULL, "disks in reserve, and those being brought up to date"),
	KS_TEXT_STATE_K("state", "md/array_state", "state of the array: clean, active, readonly, inactive and so on"),
	KS_TEXT_K("level", "md/level", "how the array uses its disks: raid1, raid5 and so on"),
	GAUGE("raid_disks", "md/raid_disks", "disks that the array needs to be complete"),
	GAUGE("degraded", "md/degraded", "disks that the array lacks"),
	KS_TEXT_STATE_K("sync_action", "md/sync_action",
	    "what the array does now: idle, resync, recover, check, repair"),
	SECTORS("sync_done", "md/sync_completed#0",
	    "data that the running check or rebuild of the array has gone over"),
	SECTORS("sync_total", "md/sync_completed#2",
	    "data that the running check or rebuild of the array goes over"),
	KS_OF_TIMES("sync_speed", KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, 1024, "KiB/s", "md/sync_speed",
	    "speed of the running check or rebuild of the array"),
	SECTORS("mismatches", "md/mismatch_cnt", "data found different on disks that should have the same"),
	KS_OF_TIMES("component_size", KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, 1024, "KiB",
	    "md/component_size", "how much of each disk is used"),
	KS_AMOUNT_K("chunk_size", "md/chunk_size", "how much goes to one disk before it is the turn of the next"),
	GAUGE("stripe_cache_active", "md/stripe_cache_active", "stripes in the cache of the array"),
	KS_TEXT_K("metadata_version", "md/metadata_version", "format of what the disks say about the array"),
	KS_TEXT_K("uuid", "md/uuid", "identifier of the array"),
	KS_FIELD_END
};

/* Which of the counts a disk of the array belongs to, by the file state in its directory dev-NAME. */
static int
kind_of_disk(const struct ks_dir *md, const char *name)
{
	char path[256], state[128];

	(void)snprintf(path, sizeof(path), "%.200s/state", name);
	if (strncmp(name, "dev-", 4) != 0 || ks_file_small(md, path, state, sizeof(state)) <= 0)
		return -1;
	return strstr(state, "faulty") != NULL ? MD_FAULTY : strstr(state, "in_sync") != NULL ? MD_IN_SYNC :
	    strstr(state, "spare") != NULL ? MD_SPARE : -1;
}

static void
have_disks(struct ks_linux *lx, const struct ks_dir *dir, struct ks_device *dev, struct ks_values *vals)
{
	uint64_t counts[3] = { 0 };

	(void)dev;
	if (!ks_count_entries(lx, dir, "md", kind_of_disk, counts))
		return;
	for (size_t i = 0; i < 3; i++)
		ks_have(vals, i, counts[i]);
}

/* --- maps -------------------------------------------------------------------------------------------- */

enum { DM_DEVICES, DM_RUNNING, DM_FAILED };

static const struct ks_field map_fields[] = {
	[DM_DEVICES] = GAUGE("devices", NULL, "devices that it is made of; of a multipath device, its paths"),
	[DM_RUNNING] = GAUGE("devices_running", NULL, "devices below the map whose state is running or live"),
	[DM_FAILED] = GAUGE("devices_failed", NULL,
	    "devices below the map whose state is neither running nor live"),
	KS_TEXT_K("name", "dm/name", "name of the device"),
	KS_TEXT_K("uuid", "dm/uuid", "maker of the map (LVM-, mpath-, CRYPT- ...) and its identifier"),
	KS_STATE_K("suspended", "dm/suspended", "1 while its requests wait"),
	SECTORS("size", "size", "size of the device"),
	KS_FIELD_END
};

/* Which of the counts a device of a map belongs to. That of a partition, for instance, is not known. */
static int
kind_of_path(const struct ks_dir *slaves, const char *name)
{
	char path[256], state[32];

	(void)snprintf(path, sizeof(path), "%.200s/device/state", name);
	if (ks_file_small(slaves, path, state, sizeof(state)) <= 0)
		return DM_DEVICES;
	return strcmp(state, "running") == 0 || strcmp(state, "live") == 0 ? DM_RUNNING : DM_FAILED;
}

static void
have_paths(struct ks_linux *lx, const struct ks_dir *dir, struct ks_device *dev, struct ks_values *vals)
{
	uint64_t counts[3] = { 0 };

	(void)dev;
	if (!ks_count_entries(lx, dir, "slaves", kind_of_path, counts))
		return;
	ks_have(vals, DM_DEVICES, counts[DM_DEVICES] + counts[DM_RUNNING] + counts[DM_FAILED]);
	ks_have(vals, DM_RUNNING, counts[DM_RUNNING]);
	ks_have(vals, DM_FAILED, counts[DM_FAILED]);
}

/* --- compressed memory ------------------------------------------------------------------------------ */

static const struct ks_field zram_fields[] = {
	KS_AMOUNT_K("orig_data_size", "mm_stat#0", "data stored, before compression"),
	KS_AMOUNT_K("compr_data_size", "mm_stat#1", "the same data, compressed"),
	KS_AMOUNT_K("mem_used", "mm_stat#2", "memory used, fragmentation and tables included"),
	KS_AMOUNT_K("mem_limit", "mm_stat#3", "memory that may be used; 0 is without limit"),
	KS_AMOUNT_K("mem_used_max", "mm_stat#4", "most memory used so far"),
	GAUGE("same_pages", "mm_stat#5", "pages that need no memory because all their words are the same"),
	EVENTS("pages_compacted", "mm_stat#6", "pages freed by compaction"),
	GAUGE("huge_pages", "mm_stat#7", "pages that cannot be compressed"),
	EVENTS("failed_reads", "io_stat#0", "reads of the compressed disk that failed"),
	EVENTS("failed_writes", "io_stat#1", "writes that failed, as when there is no memory"),
	EVENTS("invalid_io", "io_stat#2", "requests that were not of whole pages"),
	EVENTS("notify_free", "io_stat#3", "pages freed because swap space was freed"),
	KS_TEXT_STATE_K("comp_algorithm", "comp_algorithm[]", "how data is compressed"),
	KS_AMOUNT_K("disksize", "disksize", "size of the device"),
	KS_FIELD_END
};

/* --- caches ------------------------------------------------------------------------------------------ */

static const struct ks_field set_fields[] = {
	KS_OF("cache_available_percent", KS_KIND_GAUGE, KSTAT2_NVMT_PCT, KSTAT_DATA_UINT32, "%",
	    "cache_available_percent", "share of the cache without data to be written"),
	GAUGE("congested", "congested", "how slow the cache is; from a limit on it is passed by"),
	SECTORS("average_key_size", "average_key_size", "mean size of what is cached together"),
	KS_AMOUNT_K("btree_cache_size", "btree_cache_size", "memory used for the index"),
	PERCENT("root_usage_percent", "root_usage_percent", "how full the root of the index is"),
	GAUGE("tree_depth", "tree_depth", "depth of the index"),
	GAUGE("btree_nodes", "internal/btree_nodes", "nodes of the index"),
	GAUGE("active_journal_entries", "internal/active_journal_entries",
	    "entries of the journal that are newer than the index"),
	KS_OF_PER("btree_read_average", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, KSTAT_DATA_UINT64, 1000000000, "ns",
	    "internal/btree_read_average_duration_us", "mean time of a read of the index"),
	EVENTS("cache_read_races", "internal/cache_read_races",
	    "reads done again because the data had been replaced meanwhile"),
	KS_TEXT_K("uuid", ".", "identifier of the cache set"),
	KS_FIELD_END
};

#define TOTAL(stat, desc) EVENTS(stat, "stats_total/" stat, desc)

static const struct ks_field backing_fields[] = {
	KS_TEXT_STATE_K("state", "state", "no cache, clean, dirty or inconsistent"),
	TOTAL("cache_hits", "requests that the cache served"),
	TOTAL("cache_misses", "requests that the cache did not have"),
	TOTAL("cache_bypass_hits", "requests of the cache that were meant to pass it by"),
	TOTAL("cache_bypass_misses", "requests that were meant to pass the cache by, and did"),
	TOTAL("cache_readaheads", "reads made larger for what may be read next"),
	TOTAL("cache_miss_collisions", "data not put into the cache because it had been written meanwhile"),
	KS_BYTES_K("bypassed", "stats_total/bypassed", "data that passed the cache by"),
	KS_AMOUNT_K("dirty_data", "dirty_data", "data that is to be written to the device"),
	KS_TEXT_STATE_K("cache_mode", "cache_mode[]", "writethrough, writeback, writearound or none"),
	KS_OF("writeback_rate", KS_KIND_GAUGE, KSTAT2_NVMT_BYTES, KSTAT_DATA_UINT64, "bytes",
	    "writeback_rate_debug?rate:", "how much is written to the device in a second"),
	KS_AMOUNT_K("writeback_target", "writeback_rate_debug?target:", "how much data may wait to be written"),
	KS_TEXT_K("uuid", "..", "identifier of the cache set"),
	KS_TEXT_K("backing_device", ".", "the kernel's name of the device in its set"),
	KS_FIELD_END
};

static const struct ks_field cache_fields[] = {
	EVENTS("io_errors", "io_errors", "errors of the device; old ones count less and less"),
	KS_BYTES_K("written", "written", "data written to the cache"),
	KS_BYTES_K("metadata_written", "metadata_written", "metadata that was written to the cache"),
	PERCENT("unused", "priority_stats?Unused:", "share of the cache that is empty"),
	PERCENT("metadata", "priority_stats?Metadata:", "share of the cache that does not hold data"),
	KS_TEXT_K("uuid", "..", "identifier of the cache set"),
	KS_TEXT_K("cache_device", ".", "the kernel's name of the device in its set"),
	KS_FIELD_END
};

static const struct ks_part parts[] = {
	KS_DEVICE_PART("md", "@,array", "device_state", md_fields, KS_DEVICES("block", "md",
	    .needs = "md/array_state", .add = have_disks)),
	KS_DEVICE_PART("dm", "@,map", "device_state", map_fields, KS_DEVICES("block", "dm-", .needs = "dm",
	    .add = have_paths)),
	KS_DEVICE_PART("zram", "@,memory", "device_state", zram_fields, KS_DEVICES("block", "zram",
	    .needs = "mm_stat")),
	KS_DEVICE_PART("bcache", "@", "cache", set_fields, KS_DEVICES("fs/bcache", "", .needs = "congested",
	    .by = KS_BY_NAME), .since = "3.10"),
	KS_DEVICE_PART("bcache", "@", "cache", backing_fields, KS_DEVICES("fs/bcache", "", .inside = "",
	    .inner = "bdev", .by = KS_BY_BOTH), .since = "3.10"),
	KS_DEVICE_PART("bcache", "@", "cache", cache_fields, KS_DEVICES("fs/bcache", "", .inside = "",
	    .inner = "cache", .needs = "io_errors", .by = KS_BY_BOTH), .since = "3.10"),
};

KS_SUBSYSTEM(block, parts, .scan = ks_devices_scan, .on_events = true);
