--- The names of node_exporter for file systems, their caches, and NFS. See kstat.node.table.
-- @module kstat.node.table.filesystems
local lines = require("kstat.node.table.lines")

local each, procedures = lines.each, lines.procedures

local NFS2 = "Create FsStat=statfs GetAttr Link Lookup MkDir Read ReadDir ReadLink Remove Rename RmDir Root SetAttr "
  .. "SymLink WrCache Write "
local NFS3 = "Access Commit Create FsInfo FsStat GetAttr Link Lookup MkDir MkNod PathConf Read ReadDir ReadDirPlus "
  .. "ReadLink Remove Rename RmDir SetAttr SymLink Write "
local NFS4 = "Access Allocate BindConnToSession=bind_conn_to_session Clone Close Commit Create "
  .. "CreateSession=create_session DeAllocate DelegReturn DestroyClientID=destroy_clientid "
  .. "DestroySession=destroy_session ExchangeID=exchange_id FreeStateID=free_stateid FsInfo "
  .. "FsLocations=fs_locations FsidPresent=fsid_present GetACL GetDeviceInfo GetDeviceList "
  .. "GetLeaseTime=get_lease_time Getattr LayoutCommit LayoutGet LayoutReturn LayoutStats Link Lock Lockt Locku "
  .. "Lookup LookupRoot=lookup_root Null Open OpenConfirm=open_confirm OpenDowngrade=open_downgrade "
  .. "OpenNoattr=open_noattr Pathconf Read ReadDir ReadLink ReclaimComplete=reclaim_complete "
  .. "ReleaseLockowner=release_lockowner Remove Rename Renew Secinfo SecinfoNoName=secinfo_no_name Seek Sequence "
  .. "ServerCaps=server_caps SetACL SetClientID SetClientIDConfirm=setclientid_confirm Setattr StatFs Symlink "
  .. "TestStateID=test_stateid Write"
local NFSD4 = "Access Close Commit Create DelegPurge DelegReturn GetAttr GetFH Link Lock Lockt Locku Lookup "
  .. "LookupRoot=lookupp Nverify Open OpenAttr OpenConfirm=open_confirm OpenDgrd=open_downgrade PutFH PutPubFH "
  .. "PutRootFH Read ReadDir ReadLink RelLockOwner=release_lockowner Remove Rename Renew RestoreFH SaveFH SecInfo "
  .. "SetAttr SetClientID SetClientIDConfirm=setclientid_confirm Verify Write"

return {
  { "btrfs", "btrfs:::", labels = { "uuid", "uuid" }, [[
    node_btrfs_global_rsv_size_bytes  global_rsv_size   1
    node_btrfs_commits_total          commits           1
    node_btrfs_commit_seconds_total   total_commit_ms   1000
    node_btrfs_last_commit_seconds    last_commit_ms    1000
    node_btrfs_max_commit_seconds     max_commit_ms     1000
    node_btrfs_reserved_bytes         *_bytes_reserved  1  block_group_type="*"
  ]] },
  { "btrfs", "btrfs:::", labels = { "label", "label", "uuid", "uuid" }, "node_btrfs_info 1 1\n" },
  { "bcache", "bcache:::", labels = { "uuid", "uuid" }, [[
    node_bcache_active_journal_entries              active_journal_entries   1
    node_bcache_average_key_size_sectors            average_key_size         1
    node_bcache_btree_cache_size_bytes              btree_cache_size         1
    node_bcache_btree_nodes                         btree_nodes              1
    node_bcache_btree_read_average_duration_seconds btree_read_average       1e9
    node_bcache_cache_available_percent             cache_available_percent  1
    node_bcache_cache_read_races_total              cache_read_races         1
    node_bcache_congested                           congested                1
    node_bcache_root_usage_percent                  root_usage_percent       1
    node_bcache_tree_depth                          tree_depth               1
  ]] },
  { "bcache", "bcache:::", labels = { "backing_device", "backing_device", "uuid", "uuid" }, [[
    node_bcache_bypassed_bytes_total                bypassed                 1
    node_bcache_dirty_data_bytes                    dirty_data               1
    node_bcache_dirty_target_bytes                  writeback_target         1
    node_bcache_writeback_rate                      writeback_rate           1
  ]] .. each("cache_bypass_hits cache_bypass_misses cache_hits cache_miss_collisions cache_misses cache_readaheads",
    "node_bcache_$_total $ 1") },
  { "bcache", "bcache:::", labels = { "cache_device", "cache_device", "uuid", "uuid" }, [[
    node_bcache_io_errors                           io_errors                1
    node_bcache_metadata_written_bytes_total        metadata_written         1
    node_bcache_priority_stats_metadata_percent     metadata                 1
    node_bcache_priority_stats_unused_percent       unused                   1
    node_bcache_written_bytes_total                 written                  1
  ]] },
  { "xfs", "xfs::/^(?!all$)/", labels = { "device", "name" }, [[
    node_xfs_allocation_btree_compares_total          abt_compare   1
    node_xfs_allocation_btree_lookups_total           abt_lookup    1
    node_xfs_allocation_btree_records_deleted_total   abt_delrec    1
    node_xfs_allocation_btree_records_inserted_total  abt_insrec    1
    node_xfs_block_map_btree_compares_total           bmbt_compare  1
    node_xfs_block_map_btree_lookups_total            bmbt_lookup   1
    node_xfs_block_map_btree_records_deleted_total    bmbt_delrec   1
    node_xfs_block_map_btree_records_inserted_total   bmbt_insrec   1
    node_xfs_block_mapping_extent_list_compares_total cmp_exlist    1
    node_xfs_block_mapping_extent_list_deletions_total del_exlist   1
    node_xfs_block_mapping_extent_list_insertions_total add_exlist  1
    node_xfs_block_mapping_extent_list_lookups_total  look_exlist   1
    node_xfs_block_mapping_reads_total                blk_mapr      1
    node_xfs_block_mapping_unmaps_total               blk_unmap     1
    node_xfs_block_mapping_writes_total               blk_mapw      1
    node_xfs_directory_operation_create_total         dir_create    1
    node_xfs_directory_operation_getdents_total       dir_getdents  1
    node_xfs_directory_operation_lookup_total         dir_lookup    1
    node_xfs_directory_operation_remove_total         dir_remove    1
    node_xfs_extent_allocation_blocks_allocated_total allocb        1
    node_xfs_extent_allocation_blocks_freed_total     freeb         1
    node_xfs_extent_allocation_extents_allocated_total allocx       1
    node_xfs_extent_allocation_extents_freed_total    freex         1
    node_xfs_inode_operation_attempts_total           ig_attempts   1
    node_xfs_inode_operation_attribute_changes_total  ig_attrchg    1
    node_xfs_inode_operation_duplicates_total         ig_dup        1
    node_xfs_inode_operation_found_total              ig_found      1
    node_xfs_inode_operation_missed_total             ig_missed     1
    node_xfs_inode_operation_reclaims_total           ig_reclaims   1
    node_xfs_inode_operation_recycled_total           ig_frecycle   1
    node_xfs_read_calls_total                         read_calls    1
    node_xfs_vnode_active_total                       vn_active     1
    node_xfs_vnode_allocate_total                     vn_alloc      1
    node_xfs_vnode_get_total                          vn_get        1
    node_xfs_vnode_hold_total                         vn_hold       1
    node_xfs_vnode_reclaim_total                      vn_reclaim    1
    node_xfs_vnode_release_total                      vn_rele       1
    node_xfs_vnode_remove_total                       vn_remove     1
    node_xfs_write_calls_total                        write_calls   1
  ]] },
  { "zfs", "zfs:0:abdstats", kind = "untyped", "node_zfs_abd_* * 1\n" },
  { "zfs", "zfs:0:arcstats", kind = "untyped", "node_zfs_arc_* * 1\n" },
  { "zfs", "zfs:0:dbufstats", kind = "untyped", "node_zfs_dbuf_* * 1\n" },
  { "zfs", "zfs:0:dmu_tx", kind = "untyped", "node_zfs_dmu_tx_* * 1\n" },
  { "zfs", "zfs:0:dnodestats", kind = "untyped", "node_zfs_dnode_* * 1\n" },
  { "zfs", "zfs:0:fm", kind = "untyped", "node_zfs_fm_* * 1\n" },
  { "zfs", "zfs:0:vdev_cache_stats", kind = "untyped", "node_zfs_vdev_cache_* * 1\n" },
  { "zfs", "zfs:0:vdev_mirror_stats", kind = "untyped", "node_zfs_vdev_mirror_* * 1\n" },
  { "zfs", "zfs:0:xuio_stats", kind = "untyped", "node_zfs_xuio_* * 1\n" },
  { "zfs", "zfs:0:zfetchstats", kind = "untyped", "node_zfs_zfetch_* * 1\n" },
  { "zfs", "zfs:0:zil", kind = "untyped", "node_zfs_zil_* * 1\n" },
  { "zfs", "/^zfs\\//:0:/^objset-/", kind = "untyped", labels = { "dataset", "dataset_name", "zpool",
    "module zfs/*" }, each("nread nunlinked nunlinks nwritten reads writes", "node_zfs_zpool_dataset_$ $ 1") },
  { "zfs", "/^zfs\\//:0:state", labels = { "zpool", "module zfs/*" },
    each("online degraded faulted offline removed unavail suspended", "node_zfs_zpool_state state=$ 1 state=\"$\"") },
  { "zfs", { module = "zfs", class = "disk" }, kind = "untyped", labels = { "zpool", "name" },
    each("nread nwritten rcnt reads rlentime rtime wcnt wlentime writes wtime", "node_zfs_zpool_$ $ 1")
    .. "node_zfs_zpool_rupdate rlastupdate 1\nnode_zfs_zpool_wupdate wlastupdate 1\n" },
  { "nfs", "unix:0:rpc_client", [[
    node_nfs_connections_total                  tcp_connections  1
    node_nfs_packets_total                      tcp_packets      1  protocol="tcp"
    node_nfs_packets_total                      udp_packets      1  protocol="udp"
    node_nfs_rpc_authentication_refreshes_total newcreds         1
    node_nfs_rpc_retransmissions_total          retrans          1
    node_nfs_rpcs_total                         calls            1
  ]] },
  { "nfs", "nfs:0:rfsreqcnt_v2", labels = { "proto", "name rfsreqcnt_v*" },
    procedures("node_nfs_requests_total", "method", NFS2 .. "Null") },
  { "nfs", "nfs:0:rfsreqcnt_v3", labels = { "proto", "name rfsreqcnt_v*" },
    procedures("node_nfs_requests_total", "method", NFS3 .. "Null") },
  { "nfs", "nfs:0:rfsreqcnt_v4", labels = { "proto", "name rfsreqcnt_v*" },
    procedures("node_nfs_requests_total", "method", NFS4) },
  { "nfsd", "unix:0:rpc_server", [[
    node_nfsd_connections_total                 tcp_connections  1
    node_nfsd_packets_total                     tcp_packets      1  proto="tcp"
    node_nfsd_packets_total                     udp_packets      1  proto="udp"
    node_nfsd_rpc_errors_total                  badauth          1  error="auth"
    node_nfsd_rpc_errors_total                  badclnt          1  error="cInt"
    node_nfsd_rpc_errors_total                  badfmt           1  error="fmt"
    node_nfsd_server_rpcs_total                 calls            1
  ]] },
  { "nfsd", "nfs:0:nfsd", [[
    node_nfsd_disk_bytes_read_total             read_bytes            1
    node_nfsd_disk_bytes_written_total          write_bytes           1
    node_nfsd_file_handles_stale_total          stale_handles         1
    node_nfsd_read_ahead_cache_not_found_total  readahead_not_found   1
    node_nfsd_read_ahead_cache_size_blocks      readahead_cache_size  1
    node_nfsd_reply_cache_hits_total            reply_cache_hits      1
    node_nfsd_reply_cache_misses_total          reply_cache_misses    1
    node_nfsd_reply_cache_nocache_total         reply_cache_nocache   1
    node_nfsd_requests_total                    wdeleg_getattr        1  method="WdelegGetattr",proto="4"
    node_nfsd_server_threads                    threads               1
  ]] },
  { "nfsd", "nfs:0:rfsproccnt_v2", labels = { "proto", "name rfsproccnt_v*" },
    procedures("node_nfsd_requests_total", "method", NFS2) },
  { "nfsd", "nfs:0:rfsproccnt_v3", labels = { "proto", "name rfsproccnt_v*" },
    procedures("node_nfsd_requests_total", "method", NFS3) },
  { "nfsd", "nfs:0:rfsproccnt_v4", labels = { "proto", "name rfsproccnt_v*" },
    procedures("node_nfsd_requests_total", "method", NFSD4) },
}
