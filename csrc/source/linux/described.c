/*
 * described.c - what the kernel's own counters mean: unix:0:vm_events, tcp:0:tcp_ext and ip:0:ip_ext; see
 * described.h. SPDX-License-Identifier: MIT
 */
#include "source/linux/described.h"

#include <stdio.h>
#include <string.h>

#include "model/meta.h"
#include "source/linux/linux.h"

#define EVENT(stat, unit, desc) KS_META(stat, KS_KIND_COUNTER, KSTAT2_NVMT_CNT, unit, desc)
#define GAUGE(stat, unit, desc) KS_META(stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, unit, desc)
#define KIB(stat, kind, desc) KS_META_TIMES(stat, kind, KSTAT2_NVMT_BYTES, 1024, "KiB", desc)

/* A counter that the kernel keeps for each kind of zone, whose name is in the middle of the description. */
#define BY_ZONE(stat, unit, before, after) \
	EVENT(stat "_device", unit, before "device memory" after), EVENT(stat "_dma", unit, before "the DMA zone" after), \
	EVENT(stat "_dma32", unit, before "the DMA32 zone" after), EVENT(stat "_high", unit, before "high memory" after), \
	EVENT(stat "_movable", unit, before "the movable zone" after), \
	EVENT(stat "_normal", unit, before "the normal zone" after)

/* Sorted by name, for a search in halves. */
const struct ks_meta ks_vm_events_known[] = {
	EVENT("allocstall", "", "allocations that had to reclaim memory first"),
	BY_ZONE("allocstall", "", "allocations in ", " that had to reclaim memory first"),
	EVENT("balloon_deflate", "", "pages taken back from the hypervisor by the balloon"),
	EVENT("balloon_inflate", "", "pages given to the hypervisor by the balloon"),
	EVENT("balloon_migrate", "", "pages of the balloon that were moved"),
	EVENT("cma_alloc_fail", "pages", "pages that contiguous memory (CMA) could not give"),
	EVENT("cma_alloc_success", "pages", "pages allocated from contiguous memory (CMA)"),
	EVENT("compact_daemon_free_scanned", "pages", "pages looked at by kcompactd for free places"),
	EVENT("compact_daemon_migrate_scanned", "pages", "pages looked at by kcompactd to be moved"),
	EVENT("compact_daemon_wake", "", "times that kcompactd was woken"),
	EVENT("compact_fail", "", "compactions in an allocation that did not help"),
	EVENT("compact_free_scanned", "pages", "pages looked at by compaction for free places"),
	EVENT("compact_isolated", "pages", "pages taken off their lists by compaction"),
	EVENT("compact_migrate_scanned", "pages", "pages looked at by compaction to be moved"),
	EVENT("compact_stall", "", "allocations that had to compact memory first"),
	EVENT("compact_success", "", "compactions in an allocation that helped"),
	EVENT("cow_ksm", "", "pages shared by KSM that were copied for a write"),
	EVENT("direct_map_level2_collapses", "",
	    "large pages of 2 MiB of the kernel's own mapping made of small ones"),
	EVENT("direct_map_level2_splits", "",
	    "large pages of 2 MiB of the kernel's own mapping that were split"),
	EVENT("direct_map_level3_collapses", "",
	    "large pages of 1 GiB of the kernel's own mapping made of smaller ones"),
	EVENT("direct_map_level3_splits", "",
	    "large pages of 1 GiB of the kernel's own mapping that were split"),
	EVENT("drop_pagecache", "", "times that the page cache was dropped by hand"),
	EVENT("drop_slab", "", "times that kernel caches were dropped by hand"),
	EVENT("htlb_buddy_alloc_fail", "", "huge pages of hugetlbfs that could not be made"),
	EVENT("htlb_buddy_alloc_success", "", "huge pages of hugetlbfs made of free memory"),
	EVENT("ksm_swpin_copy", "", "pages shared by KSM that were copied when swapped in"),
	EVENT("kstack_16k", "", "threads that used 8 to 16 KiB of their kernel stack"),
	EVENT("kstack_1k", "", "threads that used up to 1 KiB of their kernel stack"),
	EVENT("kstack_2k", "", "threads that used 1 to 2 KiB of their kernel stack"),
	EVENT("kstack_4k", "", "threads that used 2 to 4 KiB of their kernel stack"),
	EVENT("kstack_8k", "", "threads that used 4 to 8 KiB of their kernel stack"),
	EVENT("kswapd_high_wmark_hit_quickly", "",
	    "times that memory fell below the high watermark soon after kswapd slept"),
	EVENT("kswapd_inodesteal", "pages", "pages freed with their inode by kswapd"),
	EVENT("kswapd_low_wmark_hit_quickly", "", "times that kswapd met the low watermark soon again"),
	GAUGE("nr_active_anon", "pages", "anonymous memory used lately"),
	GAUGE("nr_active_file", "pages", "file memory used lately"),
	GAUGE("nr_alloc_batch", "pages", "what a zone may still give before the allocator turns to the next"),
	GAUGE("nr_anon_pages", "pages", "anonymous memory mapped by processes"),
	GAUGE("nr_anon_transparent_hugepages", "huge pages", "anonymous huge pages"),
	GAUGE("nr_balloon_pages", "pages", "memory given back to the hypervisor by the balloon"),
	GAUGE("nr_bounce", "pages", "memory of bounce buffers"),
	EVENT("nr_dirtied", "pages", "pages that became dirty"),
	GAUGE("nr_dirty", "pages", "file memory that waits to be written"),
	GAUGE("nr_dirty_background_threshold", "pages", "dirty memory at which the kernel starts to write"),
	GAUGE("nr_dirty_threshold", "pages", "dirty memory at which writers must wait"),
	GAUGE("nr_file_hugepages", "huge pages", "huge pages of files"),
	GAUGE("nr_file_pages", "pages", "page cache, shared memory and swap cache included"),
	GAUGE("nr_file_pmdmapped", "huge pages", "huge pages of files that are mapped whole"),
	EVENT("nr_foll_pin_acquired", "pages", "pages pinned for direct I/O and devices"),
	EVENT("nr_foll_pin_released", "pages", "pinned pages that were released"),
	GAUGE("nr_free_cma", "pages", "free memory reserved for contiguous allocations (CMA)"),
	GAUGE("nr_free_pages", "pages", "free memory"),
	GAUGE("nr_free_pages_blocks", "pages", "free memory in whole page blocks"),
	GAUGE("nr_gpu_active", "pages", "memory that graphics processors use"),
	GAUGE("nr_gpu_reclaim", "pages", "memory of graphics drivers that can be reclaimed"),
	GAUGE("nr_hugetlb", "pages", "huge pages of hugetlbfs"),
	GAUGE("nr_inactive_anon", "pages", "anonymous memory not used lately"),
	GAUGE("nr_inactive_file", "pages", "file memory not used lately"),
	GAUGE("nr_indirectly_reclaimable", "pages", "memory of the kernel freed along with other objects"),
	GAUGE("nr_iommu_pages", "pages", "page tables and tables of IOMMUs"),
	GAUGE("nr_isolated_anon", "pages", "anonymous memory taken off its list to be reclaimed or moved"),
	GAUGE("nr_isolated_file", "pages", "file memory taken off its list to be reclaimed or moved"),
	GAUGE("nr_kernel_file_pages", "pages", "file memory that the kernel uses for itself"),
	GAUGE("nr_kernel_misc_reclaimable", "pages", "other memory of the kernel that can be reclaimed"),
	KIB("nr_kernel_stack", KS_KIND_GAUGE, "kernel stacks of all threads"),
	GAUGE("nr_mapped", "pages", "file memory mapped by processes"),
	GAUGE("nr_memmap_boot_pages", "pages", "memory for page descriptors, allocated at boot"),
	GAUGE("nr_memmap_pages", "pages", "memory for page descriptors, allocated since boot"),
	GAUGE("nr_mlock", "pages", "memory locked by mlock"),
	GAUGE("nr_overhead", "pages", "memory that reclaim must leave alone"),
	GAUGE("nr_page_table_pages", "pages", "page tables"),
	GAUGE("nr_pages_scanned", "pages", "memory looked at by reclaim since something was freed last"),
	GAUGE("nr_sec_page_table_pages", "pages", "secondary page tables, of virtual machines and IOMMUs"),
	KIB("nr_shadow_call_stack", KS_KIND_GAUGE, "shadow call stacks of all threads"),
	GAUGE("nr_shmem", "pages", "shared memory and tmpfs"),
	GAUGE("nr_shmem_hugepages", "huge pages", "huge pages of shared memory"),
	GAUGE("nr_shmem_pmdmapped", "huge pages", "huge pages of shared memory that are mapped whole"),
	GAUGE("nr_slab_reclaimable", "pages", "kernel caches that can be shrunk"),
	GAUGE("nr_slab_unreclaimable", "pages", "kernel caches that cannot be shrunk"),
	GAUGE("nr_swapcached", "pages", "memory that is in swap space and in memory"),
	EVENT("nr_throttled_written", "pages", "pages written while reclaim waited for writing"),
	EVENT("nr_tlb_local_flush_all", "", "flushes of a CPU's whole TLB"),
	EVENT("nr_tlb_local_flush_one", "", "flushes of one page of a CPU's TLB"),
	EVENT("nr_tlb_remote_flush", "", "flushes of TLBs of other CPUs"),
	EVENT("nr_tlb_remote_flush_received", "", "flushes of the TLB for other CPUs"),
	GAUGE("nr_unaccepted", "pages", "memory that the hypervisor gave and the kernel did not accept yet"),
	GAUGE("nr_unevictable", "pages", "memory that cannot be reclaimed, such as locked memory"),
	GAUGE("nr_unstable", "pages", "file memory sent to an NFS server that has not stored it yet"),
	EVENT("nr_vmscan_immediate_reclaim", "pages",
	    "pages marked to be reclaimed as soon as they are written"),
	EVENT("nr_vmscan_write", "pages", "pages that reclaim itself had to write"),
	GAUGE("nr_writeback", "pages", "file memory being written to disk"),
	GAUGE("nr_writeback_temp", "pages", "memory that FUSE writes from"),
	EVENT("nr_written", "pages", "dirty pages written to disk"),
	GAUGE("nr_zone_active_anon", "pages", "anonymous memory on the active lists of zones"),
	GAUGE("nr_zone_active_file", "pages", "file memory on the active lists of zones"),
	GAUGE("nr_zone_inactive_anon", "pages", "anonymous memory on the inactive lists of zones"),
	GAUGE("nr_zone_inactive_file", "pages", "file memory on the inactive lists of zones"),
	GAUGE("nr_zone_unevictable", "pages", "memory of zones that cannot be reclaimed"),
	GAUGE("nr_zone_write_pending", "pages", "memory of zones that is dirty or being written"),
	GAUGE("nr_zspages", "pages", "memory of compressed swap (zsmalloc)"),
	EVENT("numa_foreign", "pages", "pages wanted on a node and allocated on another"),
	EVENT("numa_hint_faults", "", "faults that showed which node uses a page"),
	EVENT("numa_hint_faults_local", "", "such faults from the node that has the page"),
	EVENT("numa_hit", "pages", "pages allocated on the node that was wanted"),
	EVENT("numa_huge_pte_updates", "", "entries of huge pages changed to find out which node uses them"),
	EVENT("numa_interleave", "pages", "interleaved pages allocated on the node that was their turn"),
	EVENT("numa_local", "pages", "pages allocated on the node of the CPU that asked"),
	EVENT("numa_miss", "pages", "pages allocated on a node because the wanted one was full"),
	EVENT("numa_other", "pages", "pages allocated on a node by a CPU of another"),
	EVENT("numa_pages_migrated", "pages", "pages moved to the node that uses them"),
	EVENT("numa_pte_updates", "", "page table entries changed to find out which node uses a page"),
	EVENT("numa_task_migrated", "", "tasks moved to the node of their memory"),
	EVENT("numa_task_swapped", "", "tasks exchanged with those of another node"),
	EVENT("oom_kill", "", "processes killed for want of memory"),
	EVENT("pageoutrun", "", "runs of kswapd"),
	EVENT("pgactivate", "pages", "pages moved to an active list"),
	BY_ZONE("pgalloc", "pages", "pages allocated in ", ""),
	EVENT("pgdeactivate", "pages", "pages moved to an inactive list"),
	EVENT("pgdemote_direct", "pages", "pages moved to slow memory by an allocation"),
	EVENT("pgdemote_khugepaged", "pages", "pages moved to slow memory by khugepaged"),
	EVENT("pgdemote_kswapd", "pages", "pages moved to slow memory by kswapd"),
	EVENT("pgdemote_proactive", "pages", "pages moved to slow memory on request of user space"),
	EVENT("pgfault", "", "page faults"),
	EVENT("pgfree", "pages", "pages freed"),
	EVENT("pginodesteal", "pages", "pages freed with their inode by allocations"),
	EVENT("pglazyfree", "pages", "pages that may be dropped after MADV_FREE"),
	EVENT("pglazyfreed", "pages", "pages that were dropped after MADV_FREE"),
	EVENT("pgmajfault", "", "page faults that needed a disk"),
	EVENT("pgmigrate_fail", "pages", "pages that could not be moved"),
	EVENT("pgmigrate_success", "pages", "pages moved to another place"),
	KIB("pgpgin", KS_KIND_COUNTER, "data read from block devices"),
	KIB("pgpgout", KS_KIND_COUNTER, "data written to block devices"),
	EVENT("pgpromote_candidate", "pages", "pages in slow memory that were hot enough for a fast node"),
	EVENT("pgpromote_candidate_nrl", "pages", "hot pages in slow memory moved without a rate limit"),
	EVENT("pgpromote_success", "pages", "pages moved from slow memory to a fast node"),
	EVENT("pgrefill", "pages", "active pages looked at for deactivation"),
	BY_ZONE("pgrefill", "pages", "active pages of ", " looked at for deactivation"),
	EVENT("pgreuse", "pages", "pages reused after a copy-on-write fault"),
	EVENT("pgrotated", "pages", "pages moved to the end of the inactive list to be reclaimed soon"),
	EVENT("pgscan_anon", "pages", "pages looked at for reclaim of anonymous memory"),
	EVENT("pgscan_direct", "pages", "pages looked at for reclaim by allocations"),
	BY_ZONE("pgscan_direct", "pages", "pages looked at in ", " by allocations"),
	EVENT("pgscan_direct_throttle", "", "allocations that waited for kswapd because reserves were low"),
	EVENT("pgscan_file", "pages", "pages looked at for reclaim of files"),
	EVENT("pgscan_khugepaged", "pages", "pages looked at for reclaim by khugepaged"),
	EVENT("pgscan_kswapd", "pages", "pages looked at for reclaim by kswapd"),
	BY_ZONE("pgscan_kswapd", "pages", "pages looked at in ", " by kswapd"),
	EVENT("pgscan_proactive", "pages", "pages looked at for reclaim on request of user space"),
	BY_ZONE("pgskip", "pages", "pages of ", " that reclaim passed over because another zone was short"),
	EVENT("pgsteal_anon", "pages", "pages reclaimed of anonymous memory"),
	EVENT("pgsteal_direct", "pages", "pages reclaimed by allocations"),
	BY_ZONE("pgsteal_direct", "pages", "pages reclaimed in ", " by allocations"),
	EVENT("pgsteal_file", "pages", "pages reclaimed of files"),
	EVENT("pgsteal_khugepaged", "pages", "pages reclaimed by khugepaged"),
	EVENT("pgsteal_kswapd", "pages", "pages reclaimed by kswapd"),
	BY_ZONE("pgsteal_kswapd", "pages", "pages reclaimed in ", " by kswapd"),
	EVENT("pgsteal_proactive", "pages", "pages reclaimed on request of user space"),
	EVENT("pswpin", "pages", "pages read from swap space"),
	EVENT("pswpout", "pages", "pages written to swap space"),
	EVENT("slabs_scanned", "objects", "objects of kernel caches looked at for reclaim"),
	EVENT("swap_ra", "pages", "pages read ahead from swap space"),
	EVENT("swap_ra_hit", "pages", "pages read ahead from swap space and used"),
	EVENT("swpin_zero", "pages", "pages of zeros brought back from swap without reading"),
	EVENT("swpout_zero", "pages", "pages of zeros swapped out without writing"),
	EVENT("thp_collapse_alloc", "", "huge pages allocated to be made of small ones"),
	EVENT("thp_collapse_alloc_failed", "", "huge pages to be made of small ones and not there"),
	EVENT("thp_deferred_split_page", "", "huge pages queued to be split when memory gets short"),
	EVENT("thp_fault_alloc", "", "huge pages given at a page fault"),
	EVENT("thp_fault_fallback", "", "huge pages wanted at a page fault and not there"),
	EVENT("thp_fault_fallback_charge", "",
	    "huge pages wanted at a page fault that a group's limit forbade"),
	EVENT("thp_file_alloc", "", "huge pages allocated for shared memory"),
	EVENT("thp_file_fallback", "", "huge pages wanted for shared memory and not there"),
	EVENT("thp_file_fallback_charge", "",
	    "huge pages wanted for shared memory that a group's limit forbade"),
	EVENT("thp_file_mapped", "", "huge pages of files mapped whole"),
	EVENT("thp_migration_fail", "", "huge pages that could not be moved whole"),
	EVENT("thp_migration_split", "", "huge pages split to be moved"),
	EVENT("thp_migration_success", "", "huge pages moved whole"),
	EVENT("thp_scan_exceed_none_pte", "", "ranges not made huge: too many pages were empty"),
	EVENT("thp_scan_exceed_share_pte", "", "ranges not made huge: too many pages were shared"),
	EVENT("thp_scan_exceed_swap_pte", "", "ranges not made huge: too many pages were in swap space"),
	EVENT("thp_split", "", "huge pages split"),
	EVENT("thp_split_page", "", "huge pages split into small ones"),
	EVENT("thp_split_page_failed", "", "huge pages that could not be split"),
	EVENT("thp_split_pmd", "", "mappings of huge pages split"),
	EVENT("thp_split_pud", "", "mappings of pages of 1 GiB split"),
	EVENT("thp_swpout", "", "huge pages written to swap space whole"),
	EVENT("thp_swpout_fallback", "", "huge pages split to be written to swap space"),
	EVENT("thp_underused_split_page", "", "huge pages split because they were hardly used"),
	EVENT("thp_zero_page_alloc", "", "huge zero pages allocated"),
	EVENT("thp_zero_page_alloc_failed", "", "huge zero pages that could not be allocated"),
	EVENT("unevictable_pgs_cleared", "pages", "locked pages freed by unmapping or truncation"),
	EVENT("unevictable_pgs_culled", "pages", "pages found to be unevictable"),
	EVENT("unevictable_pgs_mlocked", "pages", "pages locked"),
	EVENT("unevictable_pgs_munlocked", "pages", "pages unlocked"),
	EVENT("unevictable_pgs_rescued", "pages", "unevictable pages that became evictable"),
	EVENT("unevictable_pgs_scanned", "pages", "unevictable pages looked at whether they still are"),
	EVENT("unevictable_pgs_stranded", "pages",
	    "unlocked pages that could not be taken off the unevictable list"),
	EVENT("vma_lock_abort", "", "page faults that gave up the lock of their mapping"),
	EVENT("vma_lock_miss", "", "mappings that changed while a page fault locked them"),
	EVENT("vma_lock_retry", "", "page faults done again with the lock of the process"),
	EVENT("vma_lock_success", "", "page faults that needed the lock of their mapping only"),
	EVENT("workingset_activate", "pages",
	    "evicted pages needed again so soon that they became active at once"),
	EVENT("workingset_activate_anon", "pages",
	    "anonymous evicted pages needed again so soon that they became active at once"),
	EVENT("workingset_activate_file", "pages",
	    "evicted file pages needed again so soon that they became active at once"),
	EVENT("workingset_nodereclaim", "", "tree nodes with shadow entries only that were freed"),
	GAUGE("workingset_nodes", "nodes", "tree nodes that hold shadow entries of evicted file pages"),
	EVENT("workingset_refault", "pages", "evicted pages that were needed again"),
	EVENT("workingset_refault_anon", "pages", "anonymous evicted pages that were needed again"),
	EVENT("workingset_refault_file", "pages", "evicted file pages that were needed again"),
	EVENT("workingset_restore", "pages", "evicted pages needed again that had been active before"),
	EVENT("workingset_restore_anon", "pages",
	    "anonymous evicted pages needed again that had been active before"),
	EVENT("workingset_restore_file", "pages",
	    "evicted file pages needed again that had been active before"),
	EVENT("zone_reclaim_failed", "", "runs of node reclaim that freed too little"),
	EVENT("zone_reclaim_success", "", "runs of node reclaim that freed enough"),
	EVENT("zswpin", "pages", "pages brought back from compressed swap (zswap)"),
	EVENT("zswpout", "pages", "pages put into compressed swap (zswap)"),
	EVENT("zswpwb", "pages", "pages of compressed swap written to swap space"),
	KS_META_END
};

const struct ks_meta ks_tcp_ext_known[] = {
	EVENT("ArpFilter", "", "ARP requests not answered because of arp_filter"),
	EVENT("BeyondWindow", "", "segments dropped because they reached beyond the window"),
	EVENT("BusyPollRxPackets", "", "packets received by busy polling"),
	EVENT("DelayedACKLocked", "", "delayed acknowledgements put off because the socket was in use"),
	EVENT("DelayedACKLost", "", "segments received twice because an acknowledgement was lost or late"),
	EVENT("DelayedACKs", "", "delayed acknowledgements sent when their timer expired"),
	EVENT("EmbryonicRsts", "", "resets received for connections that were not open yet"),
	EVENT("IPReversePathFilter", "",
	    "packets dropped because their source is not reached by the way they came"),
	EVENT("ListenDrops", "", "connections that a listener dropped for any reason"),
	EVENT("ListenOverflows", "", "connections dropped because the accept queue of a listener was full"),
	EVENT("LockDroppedIcmps", "", "ICMP messages dropped because the socket was in use"),
	EVENT("OfoPruned", "", "times that segments out of order were dropped for want of buffer space"),
	EVENT("OutOfWindowIcmps", "",
	    "ICMP messages dropped because their sequence number was outside the window"),
	EVENT("PAWSActive", "", "answers to own SYNs refused because of an old time stamp"),
	EVENT("PAWSEstab", "", "segments of open connections dropped because of an old time stamp"),
	EVENT("PAWSOldAck", "", "old acknowledgements dropped because of their time stamp"),
	EVENT("PAWSPassive", "", "connections refused from elsewhere because of an old time stamp"),
	EVENT("PAWSTimewait", "", "segments for sockets in TIME_WAIT dropped because of an old time stamp"),
	EVENT("PFMemallocDrop", "", "packets dropped because they used memory reserved for swapping"),
	EVENT("PruneCalled", "", "times that a receive queue was pruned for want of buffer space"),
	EVENT("RcvPruned", "", "segments dropped from a receive queue for want of buffer space"),
	EVENT("SyncookiesFailed", "", "acknowledgements received with a wrong SYN cookie"),
	EVENT("SyncookiesRecv", "", "connections opened by a valid SYN cookie"),
	EVENT("SyncookiesSent", "", "SYN cookies sent because a listener's queue was full"),
	EVENT("TCPACKSkippedChallenge", "",
	    "challenge acknowledgements not sent because of their rate limit"),
	EVENT("TCPACKSkippedFinWait2", "",
	    "acknowledgements not sent in FIN_WAIT2 because of their rate limit"),
	EVENT("TCPACKSkippedPAWS", "",
	    "acknowledgements of old time stamps not sent because of their rate limit"),
	EVENT("TCPACKSkippedSeq", "",
	    "acknowledgements of wrong sequence numbers not sent because of their rate limit"),
	EVENT("TCPACKSkippedSynRecv", "",
	    "acknowledgements not sent in SYN_RECV because of their rate limit"),
	EVENT("TCPACKSkippedTimeWait", "",
	    "acknowledgements not sent in TIME_WAIT because of their rate limit"),
	EVENT("TCPAOBad", "", "segments dropped because of a wrong authentication option"),
	EVENT("TCPAODroppedIcmps", "", "ICMP messages ignored for connections with authentication"),
	EVENT("TCPAOGood", "", "segments with a right authentication option"),
	EVENT("TCPAOKeyNotFound", "",
	    "segments dropped because there is no key for their authentication option"),
	EVENT("TCPAORequired", "", "segments dropped because they lacked an authentication option (TCP-AO)"),
	EVENT("TCPAbortFailed", "", "resets that could not be sent for want of memory"),
	EVENT("TCPAbortOnClose", "", "connections reset because unread data was left at close"),
	EVENT("TCPAbortOnData", "", "connections reset because data came after close"),
	EVENT("TCPAbortOnLinger", "", "connections reset because their linger time was over"),
	EVENT("TCPAbortOnMemory", "", "connections reset for want of memory"),
	EVENT("TCPAbortOnTimeout", "", "connections given up after too many retransmissions or probes"),
	EVENT("TCPAckCompressed", "", "acknowledgements left out because a later one covers them"),
	EVENT("TCPAutoCorking", "", "times that small writes were held back to be joined"),
	EVENT("TCPBacklogCoalesce", "", "segments joined in the backlog of a socket in use"),
	EVENT("TCPBacklogDrop", "", "segments dropped because the backlog of a socket in use was full"),
	EVENT("TCPChallengeACK", "", "challenge acknowledgements sent for suspicious segments"),
	EVENT("TCPDSACKIgnoredDubious", "", "reports of duplicates ignored because they cannot be true"),
	EVENT("TCPDSACKIgnoredNoUndo", "", "reports of duplicates ignored because nothing could be undone"),
	EVENT("TCPDSACKIgnoredOld", "", "reports of duplicates ignored because they were too old"),
	EVENT("TCPDSACKOfoRecv", "", "reports of duplicates received for data out of order"),
	EVENT("TCPDSACKOfoSent", "", "reports of duplicates sent for data out of order"),
	EVENT("TCPDSACKOldSent", "", "reports of duplicates sent for data received before"),
	EVENT("TCPDSACKRecv", "", "reports of duplicates received"),
	EVENT("TCPDSACKRecvSegs", "", "segments that reports of duplicates covered"),
	EVENT("TCPDSACKUndo", "", "recoveries undone because the peer reported duplicates"),
	EVENT("TCPDeferAcceptDrop", "",
	    "acknowledgements without data dropped while a listener waited for data"),
	EVENT("TCPDelivered", "", "segments delivered to the peer, by its acknowledgements"),
	EVENT("TCPDeliveredCE", "", "segments delivered that a router marked for congestion"),
	KS_META_BYTES("TCPDirectCopyFromBacklog", KS_KIND_COUNTER, "bytes copied to processes from the backlog"),
	KS_META_BYTES("TCPDirectCopyFromPrequeue", KS_KIND_COUNTER,
	    "bytes copied to processes from the queue of waiting readers"),
	EVENT("TCPFACKReorder", "", "reorderings found by forward acknowledgements"),
	EVENT("TCPFastOpenActive", "", "connections opened from here with data in the SYN"),
	EVENT("TCPFastOpenActiveFail", "",
	    "connections opened from here whose data in the SYN was not accepted"),
	EVENT("TCPFastOpenBlackhole", "", "times that Fast Open was switched off because a network drops it"),
	EVENT("TCPFastOpenCookieReqd", "", "SYNs received that asked for a Fast Open cookie"),
	EVENT("TCPFastOpenListenOverflow", "",
	    "connections with data in the SYN refused because too many were pending"),
	EVENT("TCPFastOpenPassive", "", "connections opened from elsewhere with data in the SYN"),
	EVENT("TCPFastOpenPassiveAltKey", "", "connections with data in the SYN accepted by the second key"),
	EVENT("TCPFastOpenPassiveFail", "", "connections from elsewhere whose data in the SYN was refused"),
	EVENT("TCPFastRetrans", "", "segments sent again in fast recovery"),
	EVENT("TCPForwardRetrans", "", "segments sent again ahead of those known to be lost"),
	EVENT("TCPFromZeroWindowAdv", "", "times that the window advertised opened again from zero"),
	EVENT("TCPFullUndo", "", "recoveries undone entirely: nothing had been lost"),
	EVENT("TCPHPAcks", "", "acknowledgements received on the fast path"),
	EVENT("TCPHPHits", "", "segments with data received on the fast path"),
	EVENT("TCPHPHitsToUser", "", "segments received on the fast path and copied at once to a process"),
	EVENT("TCPHystartDelayCwnd", "",
	    "sum of the congestion windows where the round trip time ended slow start"),
	EVENT("TCPHystartDelayDetect", "", "slow starts ended because the round trip time grew"),
	EVENT("TCPHystartTrainCwnd", "", "sum of the congestion windows at these ends"),
	EVENT("TCPHystartTrainDetect", "",
	    "slow starts ended because of the length of trains of acknowledgements"),
	EVENT("TCPKeepAlive", "", "keepalive probes sent"),
	EVENT("TCPLoss", "", "segments found lost by forward acknowledgements"),
	EVENT("TCPLossFailures", "", "timeouts while recovering from an earlier timeout"),
	EVENT("TCPLossProbeRecovery", "", "losses at the end of a transfer mended by such a probe"),
	EVENT("TCPLossProbes", "", "probes sent to find a loss at the end of a transfer"),
	EVENT("TCPLossUndo", "", "slow starts after a timeout undone: nothing had been lost"),
	EVENT("TCPLostRetransmit", "", "segments sent again that were lost once more"),
	EVENT("TCPMD5Failure", "", "segments dropped because of a wrong MD5 signature"),
	EVENT("TCPMD5NotFound", "", "segments dropped because they lacked an MD5 signature"),
	EVENT("TCPMD5Unexpected", "",
	    "segments dropped because they had an MD5 signature that was not expected"),
	EVENT("TCPMTUPFail", "", "probes of a larger packet size that failed"),
	EVENT("TCPMTUPSuccess", "", "probes of a larger packet size that succeeded"),
	EVENT("TCPMemoryPressures", "",
	    "times that TCP came to use more memory than tcp_mem allows without pressure"),
	EVENT("TCPMemoryPressuresChrono", "ms", "milliseconds that TCP was short of memory"),
	EVENT("TCPMigrateReqFailure", "", "requests that could not be moved to another listener"),
	EVENT("TCPMigrateReqSuccess", "", "requests moved to another listener"),
	EVENT("TCPMinTTLDrop", "",
	    "segments dropped because their time to live was below the socket's least"),
	EVENT("TCPOFODrop", "", "segments received out of order and dropped for want of memory"),
	EVENT("TCPOFOMerge", "", "segments received out of order that overlapped queued ones"),
	EVENT("TCPOFOQueue", "", "segments received out of order and queued"),
	EVENT("TCPOrigDataSent", "", "segments with new data sent, without those sent again"),
	EVENT("TCPPLBRehash", "", "times that congestion chose another path (protective load balancing)"),
	EVENT("TCPPartialUndo", "", "recoveries undone in part: some segments had only been late"),
	EVENT("TCPPrequeueDropped", "", "segments dropped from the queue of waiting readers"),
	EVENT("TCPPrequeued", "", "segments queued for a process that waited for data"),
	EVENT("TCPPureAcks", "", "acknowledgements without data received off the fast path"),
	EVENT("TCPRcvCoalesce", "", "segments joined with the one before in a receive queue"),
	EVENT("TCPRcvCollapsed", "", "segments joined in receive queues to save buffer space"),
	EVENT("TCPRcvQDrop", "", "segments dropped because the receive queue was full"),
	EVENT("TCPRenoFailures", "", "recoveries without selective acknowledgements that ended in a timeout"),
	EVENT("TCPRenoRecovery", "", "recoveries from loss started without selective acknowledgements"),
	EVENT("TCPRenoRecoveryFail", "", "losses found in recovery without selective acknowledgements"),
	EVENT("TCPRenoReorder", "", "reorderings found by duplicate acknowledgements"),
	EVENT("TCPReqQFullDoCookies", "", "SYNs answered by cookies because the queue of requests was full"),
	EVENT("TCPReqQFullDrop", "", "SYNs dropped because the queue of requests was full"),
	EVENT("TCPRetransFail", "", "segments that could not be sent again, for want of memory for instance"),
	EVENT("TCPSACKDiscard", "", "selective acknowledgements ignored because they were invalid"),
	EVENT("TCPSACKReneging", "", "times that a peer took back a selective acknowledgement"),
	EVENT("TCPSACKReorder", "", "reorderings found by selective acknowledgements"),
	EVENT("TCPSYNChallenge", "", "challenge acknowledgements sent for SYNs of open connections"),
	EVENT("TCPSackFailures", "", "recoveries with selective acknowledgements that ended in a timeout"),
	EVENT("TCPSackMerged", "", "selective acknowledgements that joined buffers"),
	EVENT("TCPSackRecovery", "", "recoveries from loss started by selective acknowledgements"),
	EVENT("TCPSackRecoveryFail", "", "losses found in recovery with selective acknowledgements"),
	EVENT("TCPSackShiftFallback", "",
	    "selective acknowledgements for which buffers could be neither moved nor joined"),
	EVENT("TCPSackShifted", "", "selective acknowledgements that moved data between buffers"),
	EVENT("TCPSchedulerFailed", "", "times that the queue of waiting readers was used in a timer"),
	EVENT("TCPSlowStartRetrans", "", "segments sent again in slow start after a timeout"),
	EVENT("TCPSpuriousRTOs", "", "retransmission timeouts found to be needless (F-RTO)"),
	EVENT("TCPSpuriousRtxHostQueues", "",
	    "segments not sent again because the first copy was still queued here"),
	EVENT("TCPSynRetrans", "", "SYNs and their answers sent again"),
	EVENT("TCPTSReorder", "", "reorderings found by time stamps"),
	EVENT("TCPTimeWaitOverflow", "", "sockets closed without TIME_WAIT because there were too many"),
	EVENT("TCPTimeouts", "", "retransmission timers that expired"),
	EVENT("TCPToZeroWindowAdv", "", "times that the window advertised fell to zero"),
	EVENT("TCPWantZeroWindowAdv", "",
	    "times that the window wanted was zero and could not be advertised"),
	EVENT("TCPWinProbe", "", "probes of a closed window sent"),
	EVENT("TCPWqueueTooBig", "", "segments not split because the send queue was too large"),
	EVENT("TCPZeroWindowDrop", "", "segments dropped because the receive window was zero"),
	EVENT("TSEcrRejected", "", "segments dropped because they echoed a time stamp that was never sent"),
	EVENT("TW", "", "sockets whose TIME_WAIT state ended normally"),
	EVENT("TWKilled", "", "sockets whose TIME_WAIT state was ended early"),
	EVENT("TWRecycled", "", "sockets in TIME_WAIT used again by a time stamp"),
	EVENT("TcpDuplicateDataRehash", "", "times that data received twice chose another path (hash)"),
	EVENT("TcpTimeoutRehash", "", "times that a timeout chose another path (hash) for a connection"),
	KS_META_END
};

const struct ks_meta ks_ip_ext_known[] = {
	KS_META_BYTES("InBcastOctets", KS_KIND_COUNTER, "bytes of broadcast packets received"),
	EVENT("InBcastPkts", "", "broadcast packets received"),
	EVENT("InCEPkts", "", "packets received that a router marked for congestion"),
	EVENT("InCsumErrors", "", "packets received with a wrong header checksum"),
	EVENT("InECT0Pkts", "", "packets received with support for congestion marks, ECT(0)"),
	EVENT("InECT1Pkts", "", "packets received with support for congestion marks, ECT(1)"),
	KS_META_BYTES("InMcastOctets", KS_KIND_COUNTER, "bytes of multicast packets received"),
	EVENT("InMcastPkts", "", "multicast packets received"),
	EVENT("InNoECTPkts", "", "packets received without support for congestion marks"),
	EVENT("InNoRoutes", "", "packets received for which there is no route"),
	KS_META_BYTES("InOctets", KS_KIND_COUNTER, "bytes of packets received"),
	EVENT("InTruncatedPkts", "", "packets received that were shorter than their header says"),
	KS_META_BYTES("OutBcastOctets", KS_KIND_COUNTER, "bytes of broadcast packets sent"),
	EVENT("OutBcastPkts", "", "broadcast packets sent"),
	KS_META_BYTES("OutMcastOctets", KS_KIND_COUNTER, "bytes of multicast packets sent"),
	EVENT("OutMcastPkts", "", "multicast packets sent"),
	KS_META_BYTES("OutOctets", KS_KIND_COUNTER, "bytes of packets sent"),
	EVENT("ReasmOverlaps", "", "packets dropped because their fragments overlapped"),
	KS_META_END
};

static const struct ks_meta *
find(const struct ks_meta *table, size_t n, const char *stat)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;
		int order = strcmp(stat, table[middle].stat);

		if (order == 0)
			return &table[middle];
		if (order < 0)
			n = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const struct ks_meta *
ks_described_as(const struct ks_meta *like, const char *before, const char *stat, const char *after)
{
	/* Of memory like this a module has little room, so there is one for all. */
	static _Thread_local char desc[128];
	static _Thread_local struct ks_meta m;

	if (ks_meta_is_header(stat))
		return NULL;
	(void)snprintf(desc, sizeof(desc), "%s%s%s", before, stat, after);
	m = *like;
	m.desc = desc;
	return &m;
}

/* A general sentence with the name of a statistic that no table has. It stays until the thread's next call. */
static const struct ks_meta *
general(const char *stat, bool gauge, const char *where)
{
	static const struct ks_meta as_gauge = GAUGE("", "pages", ""), as_event = EVENT("", "", "");
	char after[96];

	(void)snprintf(after, sizeof(after), gauge ? ": memory in this state now, by %s" :
	    ": events of this name since boot, by %s", where);
	return ks_described_as(gauge ? &as_gauge : &as_event, "", stat, after);
}

const struct ks_meta *
ks_vm_events_meta(const char *stat)
{
	const struct ks_meta *m = find(ks_vm_events_known, KS_KNOWN(ks_vm_events_known), stat);

	return m != NULL ? m : general(stat, strncmp(stat, "nr_", 3) == 0, "/proc/vmstat");
}

const struct ks_meta *
ks_described(const struct ks_meta *table, size_t n, const char *stat, const char *file)
{
	const struct ks_meta *m = find(table, n, stat);

	return m != NULL ? m : general(stat, false, file);
}

const struct ks_meta *
ks_tcp_ext_meta(const char *stat)
{
	return ks_described(ks_tcp_ext_known, KS_KNOWN(ks_tcp_ext_known), stat, "/proc/net/netstat");
}

const struct ks_meta *
ks_ip_ext_meta(const char *stat)
{
	return ks_described(ks_ip_ext_known, KS_KNOWN(ks_ip_ext_known), stat, "/proc/net/netstat");
}
