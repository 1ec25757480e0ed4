/* described_zfs.c - metadata of the statistics of OpenZFS, see described.h. SPDX-License-Identifier: MIT */
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
	/* Older ones of arcstats. */
	GAUGE("duplicate_buffers", "buffers of which there is more than one copy"),
	SIZE("duplicate_buffers_size", "size of the copies of buffers"),
	EVENT("duplicate_reads", "reads that made a copy of a buffer"),
	EVENT("l2_cdata_free_on_write", "compressed buffers freed while they were written to the L2ARC"),
	EVENT("l2_compress_successes", "buffers compressed for the L2ARC"),
	EVENT("l2_compress_zeros", "buffers for the L2ARC that held zeros only"),
	EVENT("l2_compress_failures", "buffers for the L2ARC that could not be compressed"),
	/* abdstats: buffers in one piece (linear) or in several pages (scattered). */
	SIZE("struct_size", "memory for the descriptions of buffers in pages"),
	GAUGE("linear_cnt", "buffers in one piece"),
	SIZE("linear_data_size", "size of the buffers in one piece"),
	GAUGE("scatter_cnt", "buffers in several pages"),
	SIZE("scatter_data_size", "size of the buffers in several pages"),
	SIZE("scatter_chunk_waste", "memory at the ends of buffers that holds nothing"),
	GAUGE("scatter_page_multi_chunk", "buffers made of several pieces"),
	GAUGE("scatter_page_multi_zone", "buffers with pages of several zones"),
	EVENT("scatter_page_alloc_retry", "pages for buffers that were not had at once"),
	EVENT("scatter_sg_table_retry", "lists of pages that were not had at once"),
	/* dbufstats. */
	GAUGE("dbuf_cache_count", "blocks in the cache of blocks (dbufs)"),
	SIZE("dbuf_cache_size", "size of the cache of blocks (dbufs)"),
	SIZE("dbuf_cache_size_max", "largest size ever of the cache of blocks (dbufs)"),
	SIZE("dbuf_cache_max_bytes", "size above which the cache of blocks does not grow"),
	SIZE("dbuf_cache_lowater_bytes", "size at which blocks are no longer removed"),
	SIZE("dbuf_cache_hiwater_bytes", "size at which blocks are removed by those who add some"),
	EVENT("dbuf_cache_total_evicts", "blocks removed from the cache of blocks"),
	/* The same by their newer names. */
	GAUGE("cache_count", "blocks in the cache of blocks"),
	SIZE("cache_size_bytes", "size of the cache of blocks"),
	SIZE("cache_size_bytes_max", "largest size ever of the cache of blocks"),
	SIZE("cache_target_bytes", "size that the cache of blocks aims at"),
	SIZE("cache_lowater_bytes", "size at which blocks are no longer removed from the cache of blocks"),
	SIZE("cache_hiwater_bytes", "size at which those who add blocks remove some"),
	EVENT("cache_total_evicts", "blocks removed from the cache of blocks, by its newer name"),
	GAUGE("metadata_cache_count", "blocks in the cache of metadata"),
	SIZE("metadata_cache_size_bytes", "size of the cache of metadata"),
	SIZE("metadata_cache_size_bytes_max", "largest size ever of the cache of metadata"),
	EVENT("metadata_cache_overflow", "blocks for which the cache of metadata had no room"),
	EVENT("hash_hits", "blocks that were looked for in memory and found"),
	EVENT("hash_misses", "blocks that were looked for in memory and not found"),
	EVENT("hash_insert_race", "blocks that somebody else had added by then"),
	/* dnodestats: descriptions of files. */
	EVENT("dnode_hold_dbuf_hold", "dnodes not had because their block could not be held"),
	EVENT("dnode_hold_dbuf_read", "dnodes not had because their block could not be read"),
	EVENT("dnode_hold_alloc_hits", "dnodes in use that were found in memory"),
	EVENT("dnode_hold_alloc_misses", "dnodes in use that were not found in memory"),
	EVENT("dnode_hold_alloc_interior", "dnodes in use asked for by a slot in the middle of another one"),
	EVENT("dnode_hold_alloc_lock_retry", "dnodes in use that were locked, and asked for again"),
	EVENT("dnode_hold_alloc_lock_misses", "dnodes in use that had gone when their lock was had"),
	EVENT("dnode_hold_alloc_type_none", "dnodes asked for that were not in use"),
	EVENT("dnode_hold_free_hits", "free slots for dnodes that were found"),
	EVENT("dnode_hold_free_misses", "slots for dnodes that were not free"),
	EVENT("dnode_hold_free_lock_misses", "slots for dnodes that were taken when their lock was had"),
	EVENT("dnode_hold_free_lock_retry", "slots for dnodes that were locked, and asked for again"),
	EVENT("dnode_hold_free_overflow", "slots for dnodes that reached beyond their block"),
	EVENT("dnode_hold_free_refcount", "slots for dnodes that were still referred to"),
	EVENT("dnode_hold_free_txg", "slots for dnodes not used because their removal is not on the disks"),
	EVENT("dnode_allocate", "dnodes taken into use"),
	EVENT("dnode_reallocate", "dnodes in use that were made new"),
	EVENT("dnode_buf_evict", "blocks of dnodes removed from memory"),
	EVENT("dnode_alloc_next_chunk", "times that a CPU took the next part of the numbers of files"),
	EVENT("dnode_alloc_race", "free slots for dnodes that somebody else took"),
	EVENT("dnode_alloc_next_block", "times that the search for a free slot went on in the next block"),
	EVENT("dnode_move_invalid", "dnodes not moved in memory because they were not valid"),
	EVENT("dnode_move_recheck1", "dnodes not moved in memory because they changed before they were locked"),
	EVENT("dnode_move_recheck2", "dnodes not moved in memory because they changed while they were locked"),
	EVENT("dnode_move_special", "dnodes not moved in memory because they are OpenZFS's own"),
	EVENT("dnode_move_handle", "dnodes not moved in memory because their handle was locked"),
	EVENT("dnode_move_rwlock", "dnodes not moved in memory because their structure was locked"),
	EVENT("dnode_move_active", "dnodes not moved in memory because they were in use"),
	/* dmu_tx. */
	EVENT("dmu_tx_group", "transactions that waited for the next group"),
	EVENT("dmu_tx_memory_reserve", "transactions that waited because memory could not be reserved"),
	EVENT("dmu_tx_memory_reclaim", "transactions that waited because memory was being reclaimed"),
	EVENT("dmu_tx_dirty_delay", "transactions that were slowed down because much was dirty"),
	EVENT("dmu_tx_dirty_over_max", "transactions that waited because no more may be dirty"),
	/* vdev_mirror_stats: which disk of a mirror was read. */
	EVENT("rotating_linear", "reads of a rotating disk that went on where the last one ended"),
	EVENT("rotating_offset", "reads of a rotating disk near the last one"),
	EVENT("rotating_seek", "reads of a rotating disk far from the last one"),
	EVENT("non_rotating_linear", "reads of a disk without moving parts that went on where the last one ended"),
	EVENT("non_rotating_seek", "reads of a disk without moving parts elsewhere"),
	EVENT("preferred_found", "reads of a mirror for which one disk was best"),
	EVENT("preferred_not_found", "reads of a mirror for which no disk was better"),
	EVENT("delegations", "reads of the cache of disks that joined one under way"),
	/* zfetchstats: reading ahead. */
	EVENT("colinear_hits", "reads that joined two streams, by the older prefetcher"),
	EVENT("colinear_misses", "reads that joined no streams, by the older prefetcher"),
	EVENT("stride_hits", "reads in regular steps that were foreseen"),
	EVENT("stride_misses", "reads in regular steps that were not foreseen"),
	EVENT("max_streams", "streams that were not followed because there were as many as may be"),
	EVENT("reclaim_successes", "streams that took the place of an old one"),
	EVENT("reclaim_failures", "streams that found no place"),
	EVENT("streams_resets", "streams that began again"),
	EVENT("streams_noresets", "streams that went on"),
	EVENT("bogus_streams", "streams without a length"),
	/* xuio_stats: buffers lent to those who read and write without a copy. */
	EVENT("onloan_read_buf", "buffers lent to readers"),
	EVENT("onloan_write_buf", "buffers lent to writers"),
	EVENT("read_buf_copied", "buffers of readers that were copied"),
	EVENT("read_buf_nocopy", "buffers of readers that were not copied"),
	EVENT("write_buf_copied", "buffers of writers that were copied"),
	EVENT("write_buf_nocopy", "buffers of writers that were not copied"),
	/* fm: reports of faults. */
	EVENT("erpt-dropped", "reports of faults that were dropped"),
	EVENT("erpt-set-failed", "reports of faults that could not be made"),
	EVENT("fmri-set-failed", "names of resources that could not be made"),
	EVENT("payload-set-failed", "contents of reports that could not be set"),
	/* zil: the intent log, whose records refer to data (indirect) or have it (copied, or copied when needed). */
	BYTES("zil_itx_indirect_bytes", "bytes of data that records of the intent log refer to"),
	EVENT("zil_itx_indirect_count", "records of the intent log that refer to data"),
	BYTES("zil_itx_copied_bytes", "bytes of data in records of the intent log"),
	EVENT("zil_itx_copied_count", "records of the intent log with data"),
	BYTES("zil_itx_needcopy_bytes", "bytes of data copied into records when the intent log was written"),
	EVENT("zil_itx_needcopy_count", "records into which data was copied when the intent log was written"),
	BYTES("zil_itx_metaslab_normal_bytes", "bytes of the intent log written to the pool's disks"),
	EVENT("zil_itx_metaslab_normal_count", "blocks of the intent log written to the pool's disks"),
	BYTES("zil_itx_metaslab_slog_bytes", "bytes of the intent log written to devices of its own"),
	EVENT("zil_itx_metaslab_slog_count", "blocks of the intent log written to devices of its own"),
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
	if (strncmp(stat, "scatter_order_", 14) == 0)
		return ks_described_as(&gauge, "pieces of buffers of 2 to the power of ", stat + 14, " pages");
	if (strstr(stat, "_level_") != NULL && strstr(stat, "_bytes") != NULL)
		return ks_described_as(&size, "size of blocks by their level in the tree of a file: ", stat, "");
	if (strstr(stat, "_level_") != NULL)
		return ks_described_as(&gauge, "blocks by their level in the tree of a file: ", stat, "");
	if (strcmp(stat, "pd") == 0 || strcmp(stat, "pm") == 0 || strcmp(stat, "meta") == 0 ||
	    has_word(stat, size_words))
		return ks_described_as(&size, "", stat, ": a size or a limit, by OpenZFS");
	if (strstr(stat, "bytes") != NULL)
		return ks_described_as(&bytes, "", stat, ": bytes, by OpenZFS");
	if (has_word(stat, gauge_words))
		return ks_described_as(&gauge, "", stat, ": an amount, by OpenZFS");
	return ks_described_as(&count, "", stat, ": events of this name, by OpenZFS");
}
