/* described_zfs.c - see described_zfs.h. SPDX-License-Identifier: MIT */
#include "source/linux/fs/described_zfs.h"

#include <stdio.h>
#include <string.h>

#include "source/linux/described.h"
#include "source/linux/linux.h"

#define EVENT(stat, desc) KS_META_COUNTER(stat, desc)
#define GAUGE(stat, desc) KS_META_GAUGE(stat, desc)
#define SIZE(stat, desc) KS_META_BYTES(stat, KS_KIND_GAUGE, desc)
#define BYTES(stat, desc) KS_META_BYTES(stat, KS_KIND_COUNTER, desc)

/* Mostly those of arcstats. "The cache" is the ARC, the cache of OpenZFS in memory; L2ARC is that on devices. */
const struct ks_meta ks_zfs_known[] = {
	EVENT("hits", "lookups that what this kstat is about (the ARC, the prefetcher) could answer"),
	EVENT("misses", "lookups that what this kstat is about (the ARC, the prefetcher) could not answer"),
	EVENT("demand_data_hits", "data that a program asked for and the cache had"),
	EVENT("demand_data_misses", "data that a program asked for and the cache did not have"),
	EVENT("demand_metadata_hits", "metadata that a program needed and the cache had"),
	EVENT("demand_metadata_misses", "metadata that a program needed and the cache did not have"),
	EVENT("prefetch_data_hits", "data to be read ahead that the cache had"),
	EVENT("prefetch_data_misses", "data to be read ahead that the cache did not have"),
	EVENT("prefetch_metadata_hits", "metadata to be read ahead that the cache had"),
	EVENT("prefetch_metadata_misses", "metadata to be read ahead that the cache did not have"),
	EVENT("mru_hits", "hits among the buffers used once lately (MRU)"),
	EVENT("mru_ghost_hits", "misses for buffers that were removed from the MRU list lately"),
	EVENT("mfu_hits", "hits among the buffers used often (MFU)"),
	EVENT("mfu_ghost_hits", "misses for buffers that were removed from the MFU list lately"),
	EVENT("deleted", "buffers that were removed from the cache"),
	EVENT("mutex_miss", "buffers not removed because they were locked"),
	EVENT("access_skip", "buffers passed over because they were released meanwhile"),
	EVENT("evict_skip", "buffers not removed because they were in use"),
	EVENT("evict_not_enough", "times that too little could be removed from the cache"),
	BYTES("evict_l2_cached", "bytes removed from the cache that the L2ARC has"),
	BYTES("evict_l2_eligible", "bytes removed from the cache that the L2ARC could have had"),
	BYTES("evict_l2_ineligible", "bytes removed from the cache that the L2ARC may not have"),
	EVENT("evict_l2_skip", "buffers not removed because they were being written to the L2ARC"),
	GAUGE("hash_elements", "buffers in the hash table of the cache"),
	GAUGE("hash_elements_max", "most buffers ever in the hash table of the cache"),
	EVENT("hash_collisions", "buffers added to a chain of the hash table that had one already"),
	GAUGE("hash_chains", "chains of the hash table with more than one buffer"),
	GAUGE("hash_chain_max", "longest chain of the hash table ever"),
	SIZE("p", "size that the cache aims at for buffers used once (MRU)"),
	SIZE("c", "size that the cache aims at"),
	SIZE("c_min", "size below which the cache does not shrink"),
	SIZE("c_max", "size above which the cache does not grow"),
	SIZE("size", "size of the cache"),
	SIZE("compressed_size", "size of the cached data, compressed as on the disks"),
	SIZE("uncompressed_size", "size that the cached data has when it is not compressed"),
	SIZE("overhead_size", "size of uncompressed copies that are in use"),
	SIZE("hdr_size", "size of the descriptions of buffers"),
	SIZE("data_size", "size of cached data of files"),
	SIZE("metadata_size", "size of cached metadata"),
	SIZE("dbuf_size", "size of the descriptions of blocks of files (dbufs)"),
	SIZE("dnode_size", "size of the descriptions of files (dnodes)"),
	SIZE("bonus_size", "size of the attributes kept with dnodes"),
	SIZE("other_size", "size of what the cache holds beside data, metadata and descriptions"),
	SIZE("anon_size", "size of buffers that are not on the disks yet"),
	SIZE("anon_evictable_data", "data not on the disks yet that could be removed"),
	SIZE("anon_evictable_metadata", "metadata not on the disks yet that could be removed"),
	SIZE("mru_size", "size of the buffers used once lately"),
	SIZE("mru_evictable_data", "data used once lately that could be removed"),
	SIZE("mru_evictable_metadata", "metadata used once lately that could be removed"),
	SIZE("mru_ghost_size", "size that buffers lately removed from the MRU list had"),
	SIZE("mru_ghost_evictable_data", "size that data lately removed from the MRU list had"),
	SIZE("mru_ghost_evictable_metadata", "size that metadata lately removed from the MRU list had"),
	SIZE("mfu_size", "size of the buffers used often"),
	SIZE("mfu_evictable_data", "data used often that could be removed"),
	SIZE("mfu_evictable_metadata", "metadata used often that could be removed"),
	SIZE("mfu_ghost_size", "size that buffers lately removed from the MFU list had"),
	SIZE("mfu_ghost_evictable_data", "size that data lately removed from the MFU list had"),
	SIZE("mfu_ghost_evictable_metadata", "size that metadata lately removed from the MFU list had"),
	EVENT("l2_hits", "misses of the cache that the L2ARC could answer"),
	EVENT("l2_misses", "misses of the cache that the L2ARC could not answer"),
	EVENT("l2_feeds", "rounds in which the L2ARC looked for buffers to write"),
	EVENT("l2_rw_clash", "reads of the L2ARC that met a write of the same buffer"),
	BYTES("l2_read_bytes", "bytes read from the L2ARC"),
	BYTES("l2_write_bytes", "bytes written to the L2ARC"),
	EVENT("l2_writes_sent", "writes to the L2ARC that were started"),
	EVENT("l2_writes_done", "writes to the L2ARC that were completed"),
	EVENT("l2_writes_error", "writes to the L2ARC that failed"),
	EVENT("l2_writes_lock_retry", "completed writes to the L2ARC whose buffer was locked"),
	EVENT("l2_evict_lock_retry", "buffers of the L2ARC not removed at once because they were locked"),
	EVENT("l2_evict_reading", "buffers of the L2ARC not removed because they were being read"),
	EVENT("l2_evict_l1cached", "buffers removed from the L2ARC that the cache still has"),
	EVENT("l2_free_on_write", "buffers freed while they were written to the L2ARC"),
	EVENT("l2_abort_lowmem", "writes to the L2ARC given up because memory was short"),
	EVENT("l2_cksum_bad", "reads from the L2ARC with a wrong checksum"),
	EVENT("l2_io_error", "reads from the L2ARC that failed"),
	SIZE("l2_size", "size of what the L2ARC holds, uncompressed"),
	SIZE("l2_asize", "space that the L2ARC uses on its devices"),
	SIZE("l2_hdr_size", "memory for the descriptions of what the L2ARC holds"),
	EVENT("memory_throttle_count", "writes delayed because memory was short"),
	EVENT("memory_direct_count", "times that an allocation made the cache shrink"),
	EVENT("memory_indirect_count", "times that the kernel's own thread made the cache shrink"),
	SIZE("memory_all_bytes", "memory of the machine as OpenZFS sees it"),
	SIZE("memory_free_bytes", "free memory as OpenZFS sees it"),
	SIZE("memory_available_bytes", "memory that the cache may still take; negative if it should give some back"),
	GAUGE("arc_no_grow", "1: the cache may not grow now"),
	SIZE("arc_tempreserve", "memory promised to transactions that are being opened"),
	SIZE("arc_loaned_bytes", "buffers lent to those who fill them"),
	EVENT("arc_prune", "times that caches of names and inodes were asked to shrink"),
	SIZE("arc_meta_used", "memory used for metadata"),
	SIZE("arc_meta_limit", "memory above which metadata is removed"),
	SIZE("arc_meta_max", "most memory ever used for metadata"),
	SIZE("arc_meta_min", "memory that metadata may keep"),
	SIZE("arc_need_free", "memory that the kernel asked the cache to give back"),
	SIZE("arc_sys_free", "free memory that the cache leaves to the machine"),
	EVENT("zil_commit_count", "calls such as fsync that had the intent log written"),
	EVENT("zil_commit_writer_count", "times that the intent log was written"),
	EVENT("zil_itx_count", "transactions put into the intent log"),
	EVENT("dmu_tx_assigned", "transactions that got a group at once"),
	EVENT("dmu_tx_delay", "transactions that waited because much was dirty"),
	EVENT("dmu_tx_error", "transactions that failed"),
	EVENT("dmu_tx_suspended", "transactions that met a suspended pool"),
	EVENT("dmu_tx_dirty_throttle", "transactions that waited because too much was dirty"),
	EVENT("dmu_tx_quota", "transactions that met a quota"),
	BYTES("nread", "bytes read from the file system or volume"),
	BYTES("nwritten", "bytes written to the file system or volume"),
	KS_META_TEXT("dataset_name", "name of the file system or volume"),
	EVENT("reads", "reads of the file system or volume"),
	EVENT("writes", "writes to the file system or volume"),
	EVENT("nunlinks", "files whose removal has begun"),
	EVENT("nunlinked", "removed files whose space was freed"),
	KS_META_END
};

/* True if some word of the list is in the name. */
static bool
has_word(const char *stat, const char *const *words)
{
	while (*words != NULL && strstr(stat, *words) == NULL)
		words++;
	return *words != NULL;
}

/* OpenZFS does not say what its numbers are: those that are not known are classified by words in their names. */
const struct ks_meta *
ks_zfs_meta(const char *stat)
{
	static const struct ks_meta size = SIZE("", ""), bytes = BYTES("", ""), count = EVENT("", ""),
	    gauge = GAUGE("", "");
	static const char *const size_words[] = { "_size", "arc_meta_", "evictable_", "arc_sys_free", NULL };
	static const char *const gauge_words[] = { "_elements", "_chain", "no_grow", "_max", "_cached", "_levels",
		NULL };
	const struct ks_meta *m = ks_meta_find(ks_zfs_known, stat);

	if (m != NULL)
		return m;
	if (strcmp(stat, "pd") == 0 || strcmp(stat, "pm") == 0 || strcmp(stat, "meta") == 0 ||
	    has_word(stat, size_words))
		return ks_described_as(&size, "", stat, ": a size or a limit, by OpenZFS");
	if (strstr(stat, "bytes") != NULL)
		return ks_described_as(&bytes, "", stat, ": bytes, by OpenZFS");
	if (has_word(stat, gauge_words))
		return ks_described_as(&gauge, "", stat, ": an amount, by OpenZFS");
	return ks_described_as(&count, "", stat, ": events of this name, by OpenZFS");
}
