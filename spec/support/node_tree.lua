--- What node_exporter calls our statistics: for comparing both on the same files (spec/tools/node_tree_spec.lua).
-- lua/kstat/node_names.lua has those that `kstatlua exporter --names node` offers; here are the others.
local M = {}

-- Chips by the names that node_exporter makes of their paths.
local CHIPS = { coretemp = "2:coretemp", nct6775 = "5:nct6775" }

-- What stands in braces in the table below: a label of the sample, or one of these, which are made of labels.
local MADE_OF = {
  chip = function(l) return CHIPS[l.chip] end,
  -- The frequencies of a chip have the names of their labels.
  freq = function(l) return ({ sclk = "freq1", mclk = "freq2" })[l.sensor] end,
  bdev = function(l) return (l.backing_device .. "," .. l.uuid):sub(1, 30) end,
  cache = function(l) return (l.cache_device .. "," .. l.uuid):sub(1, 30) end,
  set = function(l) return l.uuid:sub(1, 30) end,
  host = function(l) return l.fc_host:match("%d+") .. ":" .. l.fc_host end,
  disk = function(l) return l.device:match("%d+") .. ":" .. l.device end,
  -- The packages of the tree have one core each.
  core = function(l) return l.package end,
  supply = function(l) return tonumber(l.power_supply:match("%d*$")) or 0 end,
  dashed = function(l) return (l.stat:gsub("_", "-")) end,
  objset = function(l)
    return ({ tank = "objset-0x36", ["tank/home"] = "objset-0x101", ["pond/fish"] = "objset-0x21" })[l.dataset]
  end,
  mount = function(l) return l.protocol == "tcp" and "40" or "41" end,
  op = function(l) return l.operation:lower() end,
  method = function(l)
    return l.proto == "2" and l.method == "FsStat" and "statfs" or M.procedure(l.method)
  end,
  softirq = function(l) return ({ block_iopoll = "IRQ_POLL" })[l.vector] or l.vector:upper() end,
  meminfo = function(l) return (l.stat:gsub("^(%u%l+)_(%l+)$", "%1(%2)")) end,
  error = function(l) return "bad" .. l.error:gsub("cInt", "clnt") end,
  unknown = function(l) return l.csrow == "unknown" and "mc" .. l.controller or "csrow" .. l.csrow end,
  noinfo = function(l) return l.csrow == "unknown" and "_noinfo" or "" end,
  line = function(l)
    return l.devices == "" and "0:" .. l.type
      or l.type .. ":" .. l.devices:gsub("^%d+%-%l+ +", ""):gsub(":", "_")
  end,
}

-- "GetAttr" as "getattr", "OpenConfirm" as "open_confirm": the name of a procedure of NFS.
local SPLIT = { BindConnToSession = "bind_conn_to_session", CreateSession = "create_session",
  DestroyClientID = "destroy_clientid", DestroySession = "destroy_session", ExchangeID = "exchange_id",
  FreeStateID = "free_stateid", FsLocations = "fs_locations", FsidPresent = "fsid_present",
  GetLeaseTime = "get_lease_time", LookupRoot = "lookup_root", OpenConfirm = "open_confirm",
  OpenDowngrade = "open_downgrade", OpenNoattr = "open_noattr", ReclaimComplete = "reclaim_complete",
  ReleaseLockowner = "release_lockowner", SecinfoNoName = "secinfo_no_name", ServerCaps = "server_caps",
  SetClientID = "setclientid", SetClientIDConfirm = "setclientid_confirm", TestStateID = "test_stateid",
  SymLink = "symlink", ReadLink = "readlink", MkDir = "mkdir", RmDir = "rmdir", MkNod = "mknod",
  OpenDgrd = "open_downgrade",
  OpenConf = "open_confirm", OpenAttr = "openattr", RelLockOwner = "release_lockowner", RestoreFH = "restorefh",
  SaveFH = "savefh", PutFH = "putfh", PutPubFH = "putpubfh", PutRootFH = "putrootfh", GetFH = "getfh",
  SecInfo = "secinfo", SetClientIDConf = "setclientid_confirm", FsStat = "fsstat" }

function M.procedure(method)
  return SPLIT[method] or method:lower()
end

-- Family, kstat and statistic, divisor (or *factor).
local TABLE = [[
  node_bcache_active_journal_entries              bcache:0:{set}:active_journal_entries
  node_bcache_average_key_size_sectors            bcache:0:{set}:average_key_size
  node_bcache_btree_cache_size_bytes              bcache:0:{set}:btree_cache_size
  node_bcache_btree_nodes                         bcache:0:{set}:btree_nodes
  node_bcache_btree_read_average_duration_seconds bcache:0:{set}:btree_read_average 1e9
  node_bcache_bypassed_bytes_total                bcache:0:{bdev}:bypassed
  node_bcache_cache_available_percent             bcache:0:{set}:cache_available_percent
  node_bcache_cache_bypass_hits_total             bcache:0:{bdev}:cache_bypass_hits
  node_bcache_cache_bypass_misses_total           bcache:0:{bdev}:cache_bypass_misses
  node_bcache_cache_hits_total                    bcache:0:{bdev}:cache_hits
  node_bcache_cache_miss_collisions_total         bcache:0:{bdev}:cache_miss_collisions
  node_bcache_cache_misses_total                  bcache:0:{bdev}:cache_misses
  node_bcache_cache_read_races_total              bcache:0:{set}:cache_read_races
  node_bcache_cache_readaheads_total              bcache:0:{bdev}:cache_readaheads
  node_bcache_congested                           bcache:0:{set}:congested
  node_bcache_dirty_data_bytes                    bcache:0:{bdev}:dirty_data
  node_bcache_dirty_target_bytes                  bcache:0:{bdev}:writeback_target
  node_bcache_io_errors                           bcache:0:{cache}:io_errors
  node_bcache_metadata_written_bytes_total        bcache:0:{cache}:metadata_written
  node_bcache_priority_stats_metadata_percent     bcache:0:{cache}:metadata
  node_bcache_priority_stats_unused_percent       bcache:0:{cache}:unused
  node_bcache_root_usage_percent                  bcache:0:{set}:root_usage_percent
  node_bcache_tree_depth                          bcache:0:{set}:tree_depth
  node_bcache_writeback_rate                      bcache:0:{bdev}:writeback_rate
  node_bcache_written_bytes_total                 bcache:0:{cache}:written
  node_btrfs_commit_seconds_total                 btrfs:0:{set}:total_commit_ms 1000
  node_btrfs_commits_total                        btrfs:0:{set}:commits
  node_btrfs_global_rsv_size_bytes                btrfs:0:{set}:global_rsv_size
  node_btrfs_last_commit_seconds                  btrfs:0:{set}:last_commit_ms 1000
  node_btrfs_max_commit_seconds                   btrfs:0:{set}:max_commit_ms 1000
  node_btrfs_reserved_bytes                       btrfs:0:{set}:{block_group_type}_bytes_reserved
  node_btrfs_size_bytes                           btrfs:0:{set}:{block_group_type}_total_bytes
  node_btrfs_used_bytes                           btrfs:0:{set}:{block_group_type}_bytes_used
  node_buddyinfo_blocks                           zone:{node}:{zone},free:order_{size}
  node_cooling_device_cur_state                   thermal:{name}:cooling:cur_state
  node_cooling_device_max_state                   thermal:{name}:cooling:max_state
  node_cpu_core_throttles_total                   cpu:{core}:throttle:core_throttle_count
  node_cpu_package_throttles_total                cpu:{package}:throttle:package_throttle_count
  node_cpu_scaling_frequency_hertz                cpu_info:{cpu}:cpu_info{cpu}:current_clock_Hz
  node_edac_correctable_errors_total              edac:{controller}:mc{controller}:ce_count
  node_edac_uncorrectable_errors_total            edac:{controller}:mc{controller}:ue_count
  node_edac_csrow_correctable_errors_total        edac:{controller}:{unknown}:ce{noinfo}_count
  node_edac_csrow_uncorrectable_errors_total      edac:{controller}:{unknown}:ue{noinfo}_count
  node_edac_channel_correctable_errors_total      edac:{controller}:csrow{csrow}:ch{channel}_ce_count
  node_edac_channel_uncorrectable_errors_total    edac:{controller}:csrow{csrow}:ch{channel}_ue_count
  node_entropy_available_bits                     unix:0:entropy:available
  node_entropy_pool_size_bits                     unix:0:entropy:poolsize
  node_fibrechannel_dumped_frames_total           fc:{host}:dumped_frames
  node_fibrechannel_error_frames_total            fc:{host}:error_frames
  node_fibrechannel_fcp_packet_aborts_total       fc:{host}:fcp_packet_aborts
  node_fibrechannel_invalid_crc_total             fc:{host}:invalid_crc_count
  node_fibrechannel_invalid_tx_words_total        fc:{host}:invalid_tx_word_count
  node_fibrechannel_link_failure_total            fc:{host}:link_failure_count
  node_fibrechannel_loss_of_signal_total          fc:{host}:loss_of_signal_count
  node_fibrechannel_loss_of_sync_total            fc:{host}:loss_of_sync_count
  node_fibrechannel_nos_total                     fc:{host}:nos_count
  node_fibrechannel_rx_frames_total               fc:{host}:rx_frames
  node_fibrechannel_rx_words_total                fc:{host}:rx_words
  node_fibrechannel_seconds_since_last_reset_total fc:{host}:seconds_since_last_reset
  node_fibrechannel_tx_frames_total               fc:{host}:tx_frames
  node_fibrechannel_tx_words_total                fc:{host}:tx_words
  node_hwmon_fan_alarm                            hwmon:{chip}:{sensor}_alarm
  node_hwmon_fan_beep_enabled                     hwmon:{chip}:{sensor}_beep
  node_hwmon_fan_fault                            hwmon:{chip}:{sensor}_fault
  node_hwmon_fan_manual                           hwmon:{chip}:{sensor}_manual
  node_hwmon_fan_max_rpm                          hwmon:{chip}:{sensor}_max
  node_hwmon_fan_min_rpm                          hwmon:{chip}:{sensor}_min
  node_hwmon_fan_output                           hwmon:{chip}:{sensor}_output
  node_hwmon_fan_pulses                           hwmon:{chip}:{sensor}_pulses
  node_hwmon_fan_rpm                              hwmon:{chip}:{sensor}
  node_hwmon_fan_target_rpm                       hwmon:{chip}:{sensor}_target
  node_hwmon_fan_tolerance                        hwmon:{chip}:{sensor}_tolerance
  node_hwmon_freq_freq_mhz                        hwmon:{chip}:{freq} 1e6
  node_hwmon_in_alarm                             hwmon:{chip}:{sensor}_alarm
  node_hwmon_in_beep_enabled                      hwmon:{chip}:{sensor}_beep
  node_hwmon_in_max_volts                         hwmon:{chip}:{sensor}_max 1000
  node_hwmon_in_min_volts                         hwmon:{chip}:{sensor}_min 1000
  node_hwmon_in_volts                             hwmon:{chip}:{sensor} 1000
  node_hwmon_intrusion_alarm                      hwmon:{chip}:{sensor}_alarm
  node_hwmon_intrusion_beep_enabled               hwmon:{chip}:{sensor}_beep
  node_hwmon_pwm                                  hwmon:{chip}:{sensor}
  node_hwmon_pwm_enable                           hwmon:{chip}:{sensor}_enable
  node_hwmon_pwm_mode                             hwmon:{chip}:{sensor}_mode
  node_hwmon_temp_celsius                         hwmon:{chip}:{sensor} 1000
  node_hwmon_temp_crit_alarm_celsius              hwmon:{chip}:{sensor}_crit_alarm 1000
  node_hwmon_temp_crit_celsius                    hwmon:{chip}:{sensor}_crit 1000
  node_hwmon_temp_max_celsius                     hwmon:{chip}:{sensor}_max 1000
  node_infiniband_legacy_data_received_bytes_total      infiniband:{port}:{device}:port_rcv_data_64 *4
  node_infiniband_legacy_data_transmitted_bytes_total   infiniband:{port}:{device}:port_xmit_data_64 *4
  node_infiniband_legacy_multicast_packets_received_total infiniband:{port}:{device}:port_multicast_rcv_packets
  node_infiniband_legacy_multicast_packets_transmitted_total infiniband:{port}:{device}:port_multicast_xmit_packets
  node_infiniband_legacy_packets_received_total         infiniband:{port}:{device}:port_rcv_packets_64
  node_infiniband_legacy_packets_transmitted_total      infiniband:{port}:{device}:port_xmit_packets_64
  node_infiniband_legacy_unicast_packets_received_total infiniband:{port}:{device}:port_unicast_rcv_packets
  node_infiniband_legacy_unicast_packets_transmitted_total infiniband:{port}:{device}:port_unicast_xmit_packets
  node_infiniband_link_downed_total                     infiniband:{port}:{device}:link_downed
  node_infiniband_excessive_buffer_overrun_errors_total infiniband:{port}:{device}:excessive_buffer_overruns
  node_infiniband_link_error_recovery_total             infiniband:{port}:{device}:link_error_recovery
  node_infiniband_local_link_integrity_errors_total     infiniband:{port}:{device}:local_link_integrity_errors
  node_infiniband_multicast_packets_received_total      infiniband:{port}:{device}:multicast_rcv_packets
  node_infiniband_multicast_packets_transmitted_total   infiniband:{port}:{device}:multicast_xmit_packets
  node_infiniband_physical_state_id                     infiniband:{port}:{device}:phys_state
  node_infiniband_port_constraint_errors_received_total infiniband:{port}:{device}:port_rcv_constraint_errors
  node_infiniband_port_constraint_errors_transmitted_total infiniband:{port}:{device}:port_xmit_constraint_errors
  node_infiniband_port_data_received_bytes_total        infiniband:{port}:{device}:port_rcv_data *4
  node_infiniband_port_data_transmitted_bytes_total     infiniband:{port}:{device}:port_xmit_data *4
  node_infiniband_port_discards_received_total          infiniband:{port}:{device}:port_rcv_discards
  node_infiniband_port_discards_transmitted_total       infiniband:{port}:{device}:port_xmit_discards
  node_infiniband_port_errors_received_total            infiniband:{port}:{device}:port_rcv_errors
  node_infiniband_port_packets_received_total           infiniband:{port}:{device}:port_rcv_packets
  node_infiniband_port_packets_transmitted_total        infiniband:{port}:{device}:port_xmit_packets
  node_infiniband_port_receive_remote_physical_errors_total infiniband:{port}:{device}:port_rcv_remote_phys_errors
  node_infiniband_port_receive_switch_relay_errors_total infiniband:{port}:{device}:port_rcv_switch_relay_errors
  node_infiniband_port_transmit_wait_total              infiniband:{port}:{device}:port_xmit_wait
  node_infiniband_rate_bytes_per_second                 infiniband:{port}:{device}:rate *125e6
  node_infiniband_state_id                              infiniband:{port}:{device}:state
  node_infiniband_symbol_error_total                    infiniband:{port}:{device}:symbol_error
  node_infiniband_unicast_packets_received_total        infiniband:{port}:{device}:unicast_rcv_packets
  node_infiniband_unicast_packets_transmitted_total     infiniband:{port}:{device}:unicast_xmit_packets
  node_infiniband_vl15_dropped_total                    infiniband:{port}:{device}:VL15_dropped
  node_interrupts_total                           intr_cpu:{line}:cpu{cpu}
  node_softirqs_functions_total                   softirq_cpu:0:{type}:cpu{cpu}
  node_softirqs_total                             softirq:0:{softirq}:soft
  node_ksmd_full_scans_total                      unix:0:ksm:full_scans
  node_ksmd_general_profit_bytes                  unix:0:ksm:general_profit
  node_ksmd_merge_across_nodes                    unix:0:ksm:merge_across_nodes
  node_ksmd_pages_shared                          unix:0:ksm:pages_shared
  node_ksmd_pages_sharing                         unix:0:ksm:pages_sharing
  node_ksmd_pages_to_scan                         unix:0:ksm:pages_to_scan
  node_ksmd_pages_unshared                        unix:0:ksm:pages_unshared
  node_ksmd_pages_volatile                        unix:0:ksm:pages_volatile
  node_ksmd_run                                   unix:0:ksm:run
  node_ksmd_sleep_seconds                         unix:0:ksm:sleep 1000
  node_md_blocks                                  md:{disk},status:blocks
  node_md_degraded                                md:{disk},array:degraded
  node_md_disks_required                          md:{disk},status:disks_required
  node_md_raid_disks                              md:{disk},array:raid_disks
  node_mountstats_nfs_age_seconds_total           nfs:{mount}:mountstats:age
  node_mountstats_nfs_direct_read_bytes_total     nfs:{mount}:mountstats:directreadbytes
  node_mountstats_nfs_direct_write_bytes_total    nfs:{mount}:mountstats:directwrittenbytes
  node_mountstats_nfs_read_bytes_total            nfs:{mount}:mountstats:normalreadbytes
  node_mountstats_nfs_read_pages_total            nfs:{mount}:mountstats:readpages
  node_mountstats_nfs_total_read_bytes_total      nfs:{mount}:mountstats:serverreadbytes
  node_mountstats_nfs_total_write_bytes_total     nfs:{mount}:mountstats:serverwrittenbytes
  node_mountstats_nfs_write_bytes_total           nfs:{mount}:mountstats:normalwrittenbytes
  node_mountstats_nfs_write_pages_total           nfs:{mount}:mountstats:writepages
  node_mountstats_nfs_event_attribute_invalidate_total nfs:{mount}:mountstats:attrinvalidate
  node_mountstats_nfs_event_data_invalidate_total nfs:{mount}:mountstats:datainvalidate
  node_mountstats_nfs_event_dnode_revalidate_total nfs:{mount}:mountstats:dentryrevalidate
  node_mountstats_nfs_event_inode_revalidate_total nfs:{mount}:mountstats:inoderevalidate
  node_mountstats_nfs_event_jukebox_delay_total   nfs:{mount}:mountstats:delay
  node_mountstats_nfs_event_pnfs_read_total       nfs:{mount}:mountstats:pnfs_read
  node_mountstats_nfs_event_pnfs_write_total      nfs:{mount}:mountstats:pnfs_write
  node_mountstats_nfs_event_short_read_total      nfs:{mount}:mountstats:shortread
  node_mountstats_nfs_event_short_write_total     nfs:{mount}:mountstats:shortwrite
  node_mountstats_nfs_event_silly_rename_total    nfs:{mount}:mountstats:sillyrename
  node_mountstats_nfs_event_truncation_total      nfs:{mount}:mountstats:setattrtrunc
  node_mountstats_nfs_event_vfs_access_total      nfs:{mount}:mountstats:vfsaccess
  node_mountstats_nfs_event_vfs_file_release_total nfs:{mount}:mountstats:vfsrelease
  node_mountstats_nfs_event_vfs_flush_total       nfs:{mount}:mountstats:vfsflush
  node_mountstats_nfs_event_vfs_fsync_total       nfs:{mount}:mountstats:vfsfsync
  node_mountstats_nfs_event_vfs_getdents_total    nfs:{mount}:mountstats:vfsgetdents
  node_mountstats_nfs_event_vfs_lock_total        nfs:{mount}:mountstats:vfslock
  node_mountstats_nfs_event_vfs_lookup_total      nfs:{mount}:mountstats:vfslookup
  node_mountstats_nfs_event_vfs_open_total        nfs:{mount}:mountstats:vfsopen
  node_mountstats_nfs_event_vfs_read_page_total   nfs:{mount}:mountstats:vfsreadpage
  node_mountstats_nfs_event_vfs_read_pages_total  nfs:{mount}:mountstats:vfsreadpages
  node_mountstats_nfs_event_vfs_setattr_total     nfs:{mount}:mountstats:vfssetattr
  node_mountstats_nfs_event_vfs_update_page_total nfs:{mount}:mountstats:vfsupdatepage
  node_mountstats_nfs_event_vfs_write_page_total  nfs:{mount}:mountstats:vfswritepage
  node_mountstats_nfs_event_vfs_write_pages_total nfs:{mount}:mountstats:vfswritepages
  node_mountstats_nfs_event_write_extension_total nfs:{mount}:mountstats:extendwrite
  node_mountstats_nfs_operations_major_timeouts_total nfs:{mount}:op_timeouts:{op}
  node_mountstats_nfs_operations_queue_time_seconds_total nfs:{mount}:op_queue_time:{op} 1e9
  node_mountstats_nfs_operations_received_bytes_total nfs:{mount}:op_received:{op}
  node_mountstats_nfs_operations_request_time_seconds_total nfs:{mount}:op_time:{op} 1e9
  node_mountstats_nfs_operations_requests_total   nfs:{mount}:op_count:{op}
  node_mountstats_nfs_operations_response_time_seconds_total nfs:{mount}:op_rtt_time:{op} 1e9
  node_mountstats_nfs_operations_sent_bytes_total nfs:{mount}:op_sent:{op}
  node_mountstats_nfs_operations_transmissions_total nfs:{mount}:op_transmissions:{op}
  node_mountstats_nfs_transport_backlog_queue_total nfs:{mount}:mountstats:backlog
  node_mountstats_nfs_transport_bad_transaction_ids_total nfs:{mount}:mountstats:bad_xids
  node_mountstats_nfs_transport_bind_total        nfs:{mount}:mountstats:binds
  node_mountstats_nfs_transport_connect_total     nfs:{mount}:mountstats:connects
  node_mountstats_nfs_transport_idle_time_seconds nfs:{mount}:mountstats:idle_time
  node_mountstats_nfs_transport_maximum_rpc_slots nfs:{mount}:mountstats:max_slots
  node_mountstats_nfs_transport_pending_queue_total nfs:{mount}:mountstats:pending
  node_mountstats_nfs_transport_receives_total    nfs:{mount}:mountstats:receives
  node_mountstats_nfs_transport_sending_queue_total nfs:{mount}:mountstats:sending
  node_mountstats_nfs_transport_sends_total       nfs:{mount}:mountstats:sends
  node_md_disks                                   md:{disk},status:disks_{state}
  node_nfsd_rpc_errors_total                      unix:0:rpc_server:{error}
  node_pressure_irq_stalled_seconds_total         pressure:0:irq:full_nsec 1e9
  node_zoneinfo_nr_kernel_stacks                  zone:{node}:{zone}:nr_kernel_stack
  node_netstat_Icmp6_InErrors                     ip:0:icmpv6:inErrors
  node_netstat_Icmp6_InMsgs                       ip:0:icmpv6:inMsgs
  node_netstat_Icmp6_OutMsgs                      ip:0:icmpv6:outMsgs
  node_netstat_Icmp_InErrors                      ip:0:icmp:inErrors
  node_netstat_Icmp_InMsgs                        ip:0:icmp:inMsgs
  node_netstat_Icmp_OutMsgs                       ip:0:icmp:outMsgs
  node_netstat_Ip6_InOctets                       ip:0:ip6:inOctets
  node_netstat_Ip6_OutOctets                      ip:0:ip6:outOctets
  node_netstat_Ip_Forwarding                      ip:0:ip:forwarding
  node_netstat_TcpExt_TCPOFOQueue                 tcp:0:tcp_ext:TCPOFOQueue
  node_netstat_TcpExt_TCPRcvQDrop                 tcp:0:tcp_ext:TCPRcvQDrop
  node_netstat_Udp6_InDatagrams                   udp:0:udp6:inDatagrams
  node_netstat_Udp6_InErrors                      udp:0:udp6:inErrors
  node_netstat_Udp6_NoPorts                       udp:0:udp6:noPorts
  node_netstat_Udp6_OutDatagrams                  udp:0:udp6:outDatagrams
  node_netstat_Udp6_RcvbufErrors                  udp:0:udp6:inOverflows
  node_netstat_Udp6_SndbufErrors                  udp:0:udp6:outErrors
  node_netstat_UdpLite6_InErrors                  udp:0:udplite6:inErrors
  node_netstat_UdpLite_InErrors                   udp:0:udplite:inErrors
  node_nf_conntrack_stat_drop                     conntrack:0:nf_conntrack:drop
  node_nf_conntrack_stat_early_drop               conntrack:0:nf_conntrack:early_drop
  node_nf_conntrack_stat_found                    conntrack:0:nf_conntrack:found
  node_nf_conntrack_stat_ignore                   conntrack:0:nf_conntrack:ignore
  node_nf_conntrack_stat_insert                   conntrack:0:nf_conntrack:insert
  node_nf_conntrack_stat_insert_failed            conntrack:0:nf_conntrack:insert_failed
  node_nf_conntrack_stat_invalid                  conntrack:0:nf_conntrack:invalid
  node_nf_conntrack_stat_search_restart           conntrack:0:nf_conntrack:search_restart
  node_nfs_connections_total                      unix:0:rpc_client:tcp_connections
  node_nfs_packets_total                          unix:0:rpc_client:{protocol}_packets
  node_nfs_requests_total                         nfs:0:rfsreqcnt_v{proto}:{method}
  node_nfs_rpc_authentication_refreshes_total     unix:0:rpc_client:newcreds
  node_nfs_rpc_retransmissions_total              unix:0:rpc_client:retrans
  node_nfs_rpcs_total                             unix:0:rpc_client:calls
  node_nfsd_connections_total                     unix:0:rpc_server:tcp_connections
  node_nfsd_disk_bytes_read_total                 nfs:0:nfsd:read_bytes
  node_nfsd_disk_bytes_written_total              nfs:0:nfsd:write_bytes
  node_nfsd_file_handles_stale_total              nfs:0:nfsd:stale_handles
  node_nfsd_packets_total                         unix:0:rpc_server:{proto}_packets
  node_nfsd_read_ahead_cache_not_found_total      nfs:0:nfsd:readahead_not_found
  node_nfsd_read_ahead_cache_size_blocks          nfs:0:nfsd:readahead_cache_size
  node_nfsd_reply_cache_hits_total                nfs:0:nfsd:reply_cache_hits
  node_nfsd_reply_cache_misses_total              nfs:0:nfsd:reply_cache_misses
  node_nfsd_reply_cache_nocache_total             nfs:0:nfsd:reply_cache_nocache
  node_nfsd_requests_total                        nfs:0:rfsproccnt_v{proto}:{method}
  node_nfsd_server_rpcs_total                     unix:0:rpc_server:calls
  node_nfsd_server_threads                        nfs:0:nfsd:threads
  node_power_supply_capacity                      power_supply:{supply}:{power_supply}:capacity
  node_power_supply_current_ampere                power_supply:{supply}:{power_supply}:current_now 1e6
  node_power_supply_cyclecount                    power_supply:{supply}:{power_supply}:cycle_count
  node_power_supply_energy_full                   power_supply:{supply}:{power_supply}:energy_full 1e6
  node_power_supply_energy_full_design            power_supply:{supply}:{power_supply}:energy_full_design 1e6
  node_power_supply_energy_watthour               power_supply:{supply}:{power_supply}:energy_now 1e6
  node_power_supply_online                        power_supply:{supply}:{power_supply}:online
  node_power_supply_power_watt                    power_supply:{supply}:{power_supply}:power_now 1e6
  node_power_supply_present                       power_supply:{supply}:{power_supply}:present
  node_power_supply_voltage_min_design            power_supply:{supply}:{power_supply}:voltage_min_design 1e6
  node_power_supply_voltage_volt                  power_supply:{supply}:{power_supply}:voltage_now 1e6
  node_processes_max_processes                    unix:0:tables:pid_max
  node_processes_max_threads                      unix:0:tables:threads_max
  node_rapl_core_joules_total                     rapl:{index}:core:energy 1e6
  node_rapl_package_joules_total                  rapl:{index}:package-{index}:energy 1e6
  node_schedstat_running_seconds_total            cpu:{cpu}:sched:run_nsec 1e9
  node_schedstat_timeslices_total                 cpu:{cpu}:sched:timeslices
  node_schedstat_waiting_seconds_total            cpu:{cpu}:sched:wait_nsec 1e9
  node_slabinfo_active_objects                    unix:0:{slab}:buf_inuse
  node_slabinfo_object_size_bytes                 unix:0:{slab}:buf_size
  node_slabinfo_objects                           unix:0:{slab}:buf_total
  node_slabinfo_pages_per_slab                    unix:0:{slab}:slab_size 4096
  node_sockstat_FRAG6_inuse                       sockets:0:frag6:inuse
  node_sockstat_FRAG6_memory                      sockets:0:frag6:memory
  node_sockstat_FRAG_inuse                        sockets:0:frag:inuse
  node_sockstat_FRAG_memory                       sockets:0:frag:memory
  node_sockstat_RAW6_inuse                        sockets:0:raw6:inuse
  node_sockstat_RAW_inuse                         sockets:0:raw:inuse
  node_sockstat_TCP6_inuse                        sockets:0:tcp6:inuse
  node_sockstat_TCP_mem                           sockets:0:tcp:memory 4096
  node_sockstat_UDP6_inuse                        sockets:0:udp6:inuse
  node_sockstat_UDPLITE6_inuse                    sockets:0:udplite6:inuse
  node_sockstat_UDPLITE_inuse                     sockets:0:udplite:inuse
  node_sockstat_UDP_mem                           sockets:0:udp:memory 4096
  node_softnet_backlog_len                        cpu:{cpu}:softnet:backlog_len
  node_softnet_cpu_collision_total                cpu:{cpu}:softnet:cpu_collision
  node_softnet_flow_limit_count_total             cpu:{cpu}:softnet:flow_limit
  node_softnet_received_rps_total                 cpu:{cpu}:softnet:received_rps
  node_thermal_zone_temp                          thermal:{zone}:{type}:temp 1000
  node_xfs_allocation_btree_compares_total        xfs:0:{device}:abt_compare
  node_xfs_allocation_btree_lookups_total         xfs:0:{device}:abt_lookup
  node_xfs_allocation_btree_records_deleted_total xfs:0:{device}:abt_delrec
  node_xfs_allocation_btree_records_inserted_total xfs:0:{device}:abt_insrec
  node_xfs_block_map_btree_compares_total         xfs:0:{device}:bmbt_compare
  node_xfs_block_map_btree_lookups_total          xfs:0:{device}:bmbt_lookup
  node_xfs_block_map_btree_records_deleted_total  xfs:0:{device}:bmbt_delrec
  node_xfs_block_map_btree_records_inserted_total xfs:0:{device}:bmbt_insrec
  node_xfs_block_mapping_extent_list_compares_total xfs:0:{device}:cmp_exlist
  node_xfs_block_mapping_extent_list_deletions_total xfs:0:{device}:del_exlist
  node_xfs_block_mapping_extent_list_insertions_total xfs:0:{device}:add_exlist
  node_xfs_block_mapping_extent_list_lookups_total xfs:0:{device}:look_exlist
  node_xfs_block_mapping_reads_total              xfs:0:{device}:blk_mapr
  node_xfs_block_mapping_unmaps_total             xfs:0:{device}:blk_unmap
  node_xfs_block_mapping_writes_total             xfs:0:{device}:blk_mapw
  node_xfs_directory_operation_create_total       xfs:0:{device}:dir_create
  node_xfs_directory_operation_getdents_total     xfs:0:{device}:dir_getdents
  node_xfs_directory_operation_lookup_total       xfs:0:{device}:dir_lookup
  node_xfs_directory_operation_remove_total       xfs:0:{device}:dir_remove
  node_xfs_extent_allocation_blocks_allocated_total xfs:0:{device}:allocb
  node_xfs_extent_allocation_blocks_freed_total   xfs:0:{device}:freeb
  node_xfs_extent_allocation_extents_allocated_total xfs:0:{device}:allocx
  node_xfs_extent_allocation_extents_freed_total  xfs:0:{device}:freex
  node_xfs_inode_operation_attempts_total         xfs:0:{device}:ig_attempts
  node_xfs_inode_operation_attribute_changes_total xfs:0:{device}:ig_attrchg
  node_xfs_inode_operation_duplicates_total       xfs:0:{device}:ig_dup
  node_xfs_inode_operation_found_total            xfs:0:{device}:ig_found
  node_xfs_inode_operation_missed_total           xfs:0:{device}:ig_missed
  node_xfs_inode_operation_reclaims_total         xfs:0:{device}:ig_reclaims
  node_xfs_inode_operation_recycled_total         xfs:0:{device}:ig_frecycle
  node_xfs_read_calls_total                       xfs:0:{device}:read_calls
  node_xfs_vnode_active_total                     xfs:0:{device}:vn_active
  node_xfs_vnode_allocate_total                   xfs:0:{device}:vn_alloc
  node_xfs_vnode_get_total                        xfs:0:{device}:vn_get
  node_xfs_vnode_hold_total                       xfs:0:{device}:vn_hold
  node_xfs_vnode_reclaim_total                    xfs:0:{device}:vn_reclaim
  node_xfs_vnode_release_total                    xfs:0:{device}:vn_rele
  node_xfs_vnode_remove_total                     xfs:0:{device}:vn_remove
  node_xfs_write_calls_total                      xfs:0:{device}:write_calls
]]

local RULES = {}
for line in TABLE:gmatch("[^\n]+") do
  local family, id, times, number = line:match("^ *(node_%S+) +(%S+) *(%*?)(%S*)$")
  local factor = tonumber(number) or 1
  RULES[family] = { id = id, factor = times == "*" and factor or 1 / factor }
end

-- Families whose names say which statistic they are: patterns, and kstats for {stat}.
local BY_NAME = {
  { "^node_zoneinfo_(nr_free_pages)$", "zone:{node}:{zone}:{stat}" },
  { "^node_zoneinfo_(%l+)_pages$", "zone:{node}:{zone}:{stat}" },
  { "^node_zoneinfo_(numa_%l+)_total$", "zone:{node}:{zone}:{stat}" },
  { "^node_zoneinfo_(protection_%d)$", "zone:{node}:{zone}:{stat}" },
  { "^node_memory_numa_(%l+_%l+)_total$", "lgrp:{node}:lgrp{node}:{stat}" },
  { "^node_memory_numa_(%u.*)$", "lgrp:{node}:meminfo:{meminfo}" },
  -- node_exporter shows these for each CPU.
  { "^node_lnstat_(.*)_total$", "{subsystem}:{stat}", sum = true },
  { "^node_zfs_abd_(.*)$", "zfs:0:abdstats:{stat}" },
  { "^node_zfs_arc_(.*)$", "zfs:0:arcstats:{stat}" },
  { "^node_zfs_dbuf_(.*)$", "zfs:0:dbufstats:{stat}" },
  { "^node_zfs_dmu_tx_(.*)$", "zfs:0:dmu_tx:{stat}" },
  { "^node_zfs_dnode_(.*)$", "zfs:0:dnodestats:{stat}" },
  { "^node_zfs_fm_(.*)$", "zfs:0:fm:{dashed}" },
  { "^node_zfs_vdev_cache_(.*)$", "zfs:0:vdev_cache_stats:{stat}" },
  { "^node_zfs_vdev_mirror_(.*)$", "zfs:0:vdev_mirror_stats:{stat}" },
  { "^node_zfs_xuio_(.*)$", "zfs:0:xuio_stats:{stat}" },
  { "^node_zfs_zfetch_(.*)$", "zfs:0:zfetchstats:{stat}" },
  { "^node_zfs_zil_(.*)$", "zfs:0:zil:{stat}" },
  { "^node_zfs_zpool_dataset_(.*)$", "zfs/{zpool}:0:{objset}:{stat}" },
  { "^node_zfs_zpool_([rw])update$", "zfs:0:{zpool}:{stat}lastupdate" },
  { "^node_zfs_zpool_(.*)$", "zfs:0:{zpool}:{stat}" },
}
local SUBSYSTEMS = { arp_cache = "neighbour:0:arp", ndisc_cache = "neighbour:0:ndisc",
  nf_conntrack = "conntrack:0:nf_conntrack" }
MADE_OF.subsystem = function(l) return SUBSYSTEMS[l.subsystem] end

local function rule_of(family, labels)
  for _, one in ipairs(BY_NAME) do
    local name = family:match(one[1])
    -- The numbers of entries are no counters: those of all CPUs are the same. The state of a pool is a text.
    if name and name ~= "entries" and name ~= "state" then
      labels.stat = name
      return { id = one[2], factor = 1, sum = one.sum }
    end
  end
  return RULES[family]
end

--- Which of our statistics is a sample of node_exporter.
-- @tparam string family
-- @tparam table labels by name
-- @treturn string|nil "module:instance:name:statistic"; nil if there is none
-- @treturn number what its value is to be multiplied with
-- @treturn boolean whether the samples of several CPUs add up to it
function M.statistic(family, labels)
  local rule = rule_of(family, labels)
  if not rule then
    return nil
  end
  local id = rule.id:gsub("{([%w_]+)}", function(word)
    return tostring((MADE_OF[word] or function(l) return l[word] end)(labels))
  end)
  return id, rule.factor, rule.sum
end

return M
