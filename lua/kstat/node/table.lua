--- The table of the names of node_exporter: which statistic is which metric.
--
-- A group has a collector, the selector of its kstats, where their labels are from, and a line for each metric: its
-- name (counters end in _total), the statistic, the divisor (`*N`: a factor), and labels of its own. A label is from
-- `instance`, `name` or a statistic; a pattern behind that says with `*` which part of it counts. A statistic may be
--
--     1      the number 1, for what the labels say         ~stat      divided and rounded to hundredths
--     a=b    1 where the text a is b, else 0               +stat      divided, and 1 more
--     a?b    a, where b is not 0                           !stat      1 where it is 0, else 0
--     l@*_l  1 for each text that matches, which is the label l
--     a*, a# all that match, # by digits; in the name and in the labels `*` is what that stands for, `^` the same with
--            a capital, and `%` at the end of a name is the unit
--
-- `kind` is the type of all its metrics. `once`: of kstats with the same labels the first counts. `keep`: patterns for
-- labels of other kstats, which have no metrics. Groups of one selector that follow each other are read together.
--
-- @module kstat.node.table
local core = require("kstat.core")

local PAGE = ("%d"):format(core.pagesize) -- the kernel's figures of sockets are in these

-- Lines for the procedures of NFS: their names as node_exporter has them, and ours behind `=` where that is not the
-- same in small letters.
local function procedures(metric, label, words)
  return (words:gsub("(%w+)=?([%w_]*)%s*", function(word, stat)
    return ("%s %s 1 %s=\"%s\"\n"):format(metric, stat ~= "" and stat or word:lower(), label, word)
  end))
end

-- Lines for each word, which a line has as `$`.
local function each(words, line)
  return (words:gsub("(%S+)%s*", function(word) return line:gsub("%$", word) .. "\n" end))
end

-- Lines for the sensors of a kind: what they measure and their limits, in a unit, and how they are set.
local function sensors(kind, unit, divisor)
  local with_unit = ("node_hwmon_KIND_$UNIT KIND#_$ DIVISOR sensor=\"KIND*\""):gsub("UNIT", unit)
  local without = "node_hwmon_KIND_$ KIND#_$ 1 sensor=\"KIND*\""
  local lines = ("node_hwmon_KINDUNIT KIND# DIVISOR sensor=\"KIND*\"\n"):gsub("UNIT", unit)
    .. each("max min crit lcrit emergency max_hyst min_hyst crit_hyst average cap highest lowest target offset",
      with_unit)
    .. each("max_alarm min_alarm crit_alarm lcrit_alarm emergency_alarm", kind == "fan" and without or with_unit)
    .. each("alarm fault enable mode manual pulses div tolerance output", without)
    .. "node_hwmon_KIND_beep_enabled KIND#_beep 1 sensor=\"KIND*\"\n"
  return (lines:gsub("KIND", kind):gsub("DIVISOR", divisor))
end

-- Lines for counters of packets: our inNoStates is in_no_states.
local function packets(metric, words)
  return (words:gsub("(%S+)%s*", function(word)
    local name = word:gsub("(%l)(%u)", "%1_%2"):lower()
    return ("%s%s_packets_total %s 1\n"):format(metric, name, word:sub(1, 1):lower() .. word:sub(2))
  end))
end

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
  { "cpu", "cpu::time", labels = { "cpu", "instance" }, [[
    node_cpu_seconds_total           nsec_idle        1e9  mode="idle"
    node_cpu_seconds_total           nsec_iowait      1e9  mode="iowait"
    node_cpu_seconds_total           nsec_irq         1e9  mode="irq"
    node_cpu_seconds_total           nsec_nice        1e9  mode="nice"
    node_cpu_seconds_total           nsec_softirq     1e9  mode="softirq"
    node_cpu_seconds_total           nsec_steal       1e9  mode="steal"
    node_cpu_seconds_total           nsec_system      1e9  mode="system"
    node_cpu_seconds_total           nsec_user        1e9  mode="user"
    node_cpu_guest_seconds_total     nsec_guest       1e9  mode="user"
    node_cpu_guest_seconds_total     nsec_guest_nice  1e9  mode="nice"
  ]] },
  { "cpu", "cpu::throttle", labels = { "core", "core_id", "package", "chip_id" }, once = true, [[
    node_cpu_core_throttles_total    core_throttle_count     1
  ]] },
  { "cpu", "cpu::throttle", labels = { "package", "chip_id" }, once = true, [[
    node_cpu_package_throttles_total package_throttle_count  1
  ]] },
  { "cpufreq", "cpu::frequency", labels = { "cpu", "instance" }, [[
    node_cpu_frequency_max_hertz          hardware_max  *1000
    node_cpu_frequency_min_hertz          hardware_min  *1000
    node_cpu_scaling_frequency_hertz      current       *1000
    node_cpu_scaling_frequency_max_hertz  max           *1000
    node_cpu_scaling_frequency_min_hertz  min           *1000
  ]] },
  { "cpufreq", "cpu::frequency", labels = { "cpu", "instance", "governor", "governor" }, [[
    node_cpu_scaling_governor             1             1
  ]] },
  { "loadavg", "unix:0:system_misc", [[
    node_load1                       ~avenrun_1min   256
    node_load5                       ~avenrun_5min   256
    node_load15                      ~avenrun_15min  256
  ]] },
  { "stat", "unix:0:system_misc", [[
    node_boot_time_seconds           boot_time      1
  ]] },
  { "stat", "unix:0:sys", [[
    node_context_switches_total      pswitch        1
    node_forks_total                 sysfork        1
    node_intr_total                  intr           1
    node_procs_running               procs_running  1
    node_procs_blocked               procs_blocked  1
  ]] },
  { "vmstat", "unix:0:vm_events", kind = "untyped", fields = "node_vmstat_*", [[
    node_vmstat_oom_kill             oom_kill    1
    node_vmstat_pgfault              pgfault     1
    node_vmstat_pgmajfault           pgmajfault  1
    node_vmstat_pgpgin               pgpgin      1
    node_vmstat_pgpgout              pgpgout     1
    node_vmstat_pswpin               pswpin      1
    node_vmstat_pswpout              pswpout     1
  ]] },
  { "diskstats", "::/,detail$/", labels = { "device", "name *,detail" }, [[
    node_disk_reads_completed_total            reads           1
    node_disk_reads_merged_total               read_merges     1
    node_disk_read_bytes_total                 nread           1
    node_disk_read_time_seconds_total          read_nsec       1e9
    node_disk_writes_completed_total           writes          1
    node_disk_writes_merged_total              write_merges    1
    node_disk_written_bytes_total              nwritten        1
    node_disk_write_time_seconds_total         write_nsec      1e9
    node_disk_io_now                           active          1
    node_disk_io_time_seconds_total            busy_nsec       1e9
    node_disk_io_time_weighted_seconds_total   queue_nsec      1e9
    node_disk_discards_completed_total         discards        1
    node_disk_discards_merged_total            discard_merges  1
    node_disk_discarded_sectors_total          ndiscarded      512
    node_disk_discard_time_seconds_total       discard_nsec    1e9
    node_disk_flush_requests_total             flushes         1
    node_disk_flush_requests_time_seconds_total flush_nsec     1e9
  ]] },
  { "diskstats", "::/,dev$/", labels = { "device", "name *,dev", "major", "major", "minor", "minor", "path", "path",
    "rotational", "rotational", "wwn", "wwn", "model", "model", "serial", "serial", "revision", "revision" }, [[
    node_disk_info                             1               1
  ]] },
  { "netdev", "link:::", labels = { "device", "name" }, [[
    node_network_receive_bytes_total           rbytes64         1
    node_network_receive_packets_total         ipackets64       1
    node_network_receive_errs_total            ierrors          1
    node_network_receive_drop_total            norcvbuf         1
    node_network_receive_fifo_total            rx_fifo_errors   1
    node_network_receive_frame_total           frame_errors     1
    node_network_receive_compressed_total      rx_compressed    1
    node_network_receive_multicast_total       multircv         1
    node_network_receive_nohandler_total       rx_nohandler     1
    node_network_transmit_bytes_total          obytes64         1
    node_network_transmit_packets_total        opackets64       1
    node_network_transmit_errs_total           oerrors          1
    node_network_transmit_drop_total           noxmtbuf         1
    node_network_transmit_fifo_total           tx_fifo_errors   1
    node_network_transmit_colls_total          collisions       1
    node_network_transmit_carrier_total        carrier_errors   1
    node_network_transmit_compressed_total     tx_compressed    1
  ]] },
  { "netclass", "link:::", labels = { "device", "name" }, [[
    node_network_carrier_changes_total         carrier_changes  1
    node_network_carrier_up_changes_total      carrier_up_count    1
    node_network_carrier_down_changes_total    carrier_down_count  1
    node_network_mtu_bytes                     mtu              1
    node_network_transmit_queue_length         tx_queue_len     1
  ]] },
  { "bonding", "link:::", labels = { "master", "name", "", "kind" }, keep = { [""] = "^bond$" }, [[
    node_bonding_slaves                        slaves           1
    node_bonding_active                        slaves_up        1
  ]] },
  { "netclass", "netdev:::", labels = { "device", "name" }, [[
    node_network_carrier                       carrier           1
    node_network_up                            operstate=up      1
    node_network_speed_bytes                   speed             *125000
    node_network_address_assign_type           addr_assign_type  1
    node_network_device_id                     dev_id            1
    node_network_dormant                       dormant           1
    node_network_flags                         flags             1
    node_network_iface_id                      ifindex           1
    node_network_iface_link                    iflink            1
    node_network_iface_link_mode               link_mode         1
    node_network_name_assign_type              name_assign_type  1
    node_network_net_dev_group                 netdev_group      1
    node_network_protocol_type                 type              1
  ]] },
  { "netclass", "netdev:::", labels = { "address", "address", "adminstate", "admin_state", "broadcast", "broadcast",
    "device", "name", "duplex", "duplex", "ifalias", "ifalias", "operstate", "operstate" }, [[
    node_network_info                          1                 1
  ]] },
  { "filesystem", "fs:::", labels = { "device", "device", "fstype", "fs_type", "mountpoint", "mount_point" }, [[
    node_filesystem_size_bytes       capacity     1
    node_filesystem_free_bytes       free         1
    node_filesystem_avail_bytes      available    1
    node_filesystem_files            inodes       1
    node_filesystem_files_free       inodes_free  1
    node_filesystem_readonly         read_only    1
    node_filesystem_device_error     !answered    1
  ]] },
  { "pressure", "pressure:0:cpu", [[
    node_pressure_cpu_waiting_seconds_total     some_nsec  1e9
  ]] },
  { "pressure", "pressure:0:memory", [[
    node_pressure_memory_waiting_seconds_total  some_nsec  1e9
    node_pressure_memory_stalled_seconds_total  full_nsec  1e9
  ]] },
  { "pressure", "pressure:0:io", [[
    node_pressure_io_waiting_seconds_total      some_nsec  1e9
    node_pressure_io_stalled_seconds_total      full_nsec  1e9
  ]] },
  { "pressure", "pressure:0:irq", [[
    node_pressure_irq_stalled_seconds_total     full_nsec  1e9
  ]] },
  { "netstat", "tcp:0:tcp", kind = "untyped", fields = "node_netstat_Tcp_^", [[
    node_netstat_Tcp_ActiveOpens     activeOpens   1
    node_netstat_Tcp_PassiveOpens    passiveOpens  1
    node_netstat_Tcp_CurrEstab       currEstab     1
    node_netstat_Tcp_InSegs          inSegs        1
    node_netstat_Tcp_OutSegs         outSegs       1
    node_netstat_Tcp_RetransSegs     retransSegs   1
    node_netstat_Tcp_InErrs          inErrs        1
    node_netstat_Tcp_OutRsts         outRsts       1
  ]] },
  { "netstat", "tcp:0:tcp_ext", kind = "untyped", fields = "node_netstat_TcpExt_*", [[
    node_netstat_TcpExt_ListenDrops      ListenDrops      1
    node_netstat_TcpExt_ListenOverflows  ListenOverflows  1
    node_netstat_TcpExt_TCPSynRetrans    TCPSynRetrans    1
    node_netstat_TcpExt_SyncookiesSent   SyncookiesSent   1
    node_netstat_TcpExt_SyncookiesRecv   SyncookiesRecv   1
    node_netstat_TcpExt_SyncookiesFailed SyncookiesFailed 1
    node_netstat_TcpExt_TCPTimeouts      TCPTimeouts      1
    node_netstat_TcpExt_TCPOFOQueue      TCPOFOQueue      1
    node_netstat_TcpExt_TCPRcvQDrop      TCPRcvQDrop      1
  ]] },
  { "netstat", "udp:0:udp", kind = "untyped", fields = "node_netstat_Udp_^", [[
    node_netstat_Udp_InDatagrams     inDatagrams   1
    node_netstat_Udp_OutDatagrams    outDatagrams  1
    node_netstat_Udp_NoPorts         noPorts       1
    node_netstat_Udp_InErrors        inErrors      1
    node_netstat_Udp_RcvbufErrors    inOverflows   1
    node_netstat_Udp_SndbufErrors    outErrors     1
  ]] },
  { "netstat", "udp:0:udp6", kind = "untyped", fields = "node_netstat_Udp6_^", [[
    node_netstat_Udp6_InDatagrams    inDatagrams   1
    node_netstat_Udp6_OutDatagrams   outDatagrams  1
    node_netstat_Udp6_NoPorts        noPorts       1
    node_netstat_Udp6_InErrors       inErrors      1
    node_netstat_Udp6_RcvbufErrors   inOverflows   1
    node_netstat_Udp6_SndbufErrors   outErrors     1
  ]] },
  { "netstat", "udp:0:udplite", kind = "untyped", fields = "node_netstat_UdpLite_^", [[
    node_netstat_UdpLite_InErrors    inErrors      1
  ]] },
  { "netstat", "udp:0:udplite6", kind = "untyped", fields = "node_netstat_UdpLite6_^", [[
    node_netstat_UdpLite6_InErrors   inErrors      1
  ]] },
  { "netstat", "ip:0:ip", kind = "untyped", fields = "node_netstat_Ip_^", [[
    node_netstat_Ip_Forwarding       forwarding    1
  ]] },
  { "netstat", "ip:0:ip6", kind = "untyped", fields = "node_netstat_Ip6_^", [[
    node_netstat_Ip6_InOctets        inOctets      1
    node_netstat_Ip6_OutOctets       outOctets     1
  ]] },
  { "netstat", "ip:0:icmp", kind = "untyped", fields = "node_netstat_Icmp_^", [[
    node_netstat_Icmp_InMsgs         inMsgs        1
    node_netstat_Icmp_InErrors       inErrors      1
    node_netstat_Icmp_OutMsgs        outMsgs       1
  ]] },
  { "netstat", "ip:0:icmpv6", kind = "untyped", fields = "node_netstat_Icmp6_^", [[
    node_netstat_Icmp6_InMsgs        inMsgs        1
    node_netstat_Icmp6_InErrors      inErrors      1
    node_netstat_Icmp6_OutMsgs       outMsgs       1
  ]] },
  { "netstat", "ip:0:ip_ext", kind = "untyped", fields = "node_netstat_IpExt_*", [[
    node_netstat_IpExt_InOctets      InOctets      1
    node_netstat_IpExt_OutOctets     OutOctets     1
  ]] },
  { "sockstat", "sockets:0:all", [[
    node_sockstat_sockets_used       used          1
  ]] },
  { "sockstat", "sockets:0:tcp", ([[
    node_sockstat_TCP_inuse          inuse         1
    node_sockstat_TCP_orphan         orphan        1
    node_sockstat_TCP_tw             tw            1
    node_sockstat_TCP_alloc          alloc         1
    node_sockstat_TCP_mem            memory        PAGE
    node_sockstat_TCP_mem_bytes      memory        1
  ]]):gsub("PAGE", PAGE) },
  { "sockstat", "sockets:0:udp", ([[
    node_sockstat_UDP_inuse          inuse         1
    node_sockstat_UDP_mem            memory        PAGE
    node_sockstat_UDP_mem_bytes      memory        1
  ]]):gsub("PAGE", PAGE) },
  { "sockstat", "sockets:0:frag", "node_sockstat_FRAG_*   * 1\n" },
  { "sockstat", "sockets:0:frag6", "node_sockstat_FRAG6_* * 1\n" },
  { "sockstat", "sockets:0:raw", "node_sockstat_RAW_inuse inuse 1\n" },
  { "sockstat", "sockets:0:raw6", "node_sockstat_RAW6_inuse inuse 1\n" },
  { "sockstat", "sockets:0:tcp6", "node_sockstat_TCP6_inuse inuse 1\n" },
  { "sockstat", "sockets:0:udp6", "node_sockstat_UDP6_inuse inuse 1\n" },
  { "sockstat", "sockets:0:udplite", "node_sockstat_UDPLITE_inuse inuse 1\n" },
  { "sockstat", "sockets:0:udplite6", "node_sockstat_UDPLITE6_inuse inuse 1\n" },
  { "softnet", "cpu::softnet", labels = { "cpu", "instance" }, [[
    node_softnet_processed_total        processed      1
    node_softnet_dropped_total          dropped        1
    node_softnet_times_squeezed_total   time_squeezed  1
    node_softnet_cpu_collision_total    cpu_collision  1
    node_softnet_received_rps_total     received_rps   1
    node_softnet_flow_limit_count_total flow_limit     1
    node_softnet_backlog_len            backlog_len    1
  ]] },
  { "schedstat", "cpu::sched", labels = { "cpu", "instance" }, [[
    node_schedstat_running_seconds_total run_nsec      1e9
    node_schedstat_waiting_seconds_total wait_nsec     1e9
    node_schedstat_timeslices_total      timeslices    1
  ]] },
  { "filefd", "unix:0:tables", [[
    node_filefd_allocated            files          1
    node_filefd_maximum              files_max      1
  ]] },
  { "processes", "unix:0:procs", off = true, procedures("node_processes_state", "state",
    "R=running S=sleeping D=uninterruptible T=stopped t=traced Z=zombie I=idle")
    .. "node_processes_pids all 1\nnode_processes_threads nlwp 1\n" },
  { "processes", "unix:0:tables", off = true, [[
    node_processes_max_processes     pid_max        1
    node_processes_max_threads       threads_max    1
  ]] },
  { "kernel_hung", "unix:0:tables", off = true, [[
    node_kernel_hung_tasks_total     hung_tasks     1
  ]] },
  { "entropy", "unix:0:entropy", [[
    node_entropy_available_bits      available      1
    node_entropy_pool_size_bits      poolsize       1
  ]] },
  { "timex", "unix:0:clock", [[
    node_timex_estimated_error_seconds      estimated_error   1e6
    node_timex_frequency_adjustment_ratio   +frequency        65536e6
    node_timex_loop_time_constant           constant          1
    node_timex_maxerror_seconds             max_error         1e6
    node_timex_offset_seconds               offset            1e9
    node_timex_pps_calibration_total        pps_calibrations  1
    node_timex_pps_error_total              pps_errors        1
    node_timex_pps_frequency_hertz          pps_frequency     65536e6
    node_timex_pps_jitter_seconds           pps_jitter        1e6
    node_timex_pps_jitter_total             pps_jitters       1
    node_timex_pps_shift_seconds            pps_shift         1
    node_timex_pps_stability_exceeded_total pps_wanders       1
    node_timex_pps_stability_hertz          pps_wander        65536e6
    node_timex_status                       status            1
    node_timex_sync_status                  synchronized      1
    node_timex_tai_offset_seconds           tai               1
    node_timex_tick_seconds                 tick              1e6
  ]] },
  { "arp", "neighbour:0:links", labels = {}, "node_arp_entries * 1 device=\"*\"\n" },
  { "udp_queues", "sockets:0:udp_queues", 'node_udp_queues rx_queue 1 ip="v4",queue="rx"\n'
    .. 'node_udp_queues tx_queue 1 ip="v4",queue="tx"\n' },
  { "udp_queues", "sockets:0:udp6_queues", 'node_udp_queues rx_queue 1 ip="v6",queue="rx"\n'
    .. 'node_udp_queues tx_queue 1 ip="v6",queue="tx"\n' },
  { "ipvs", "ipvs:0:all", [[
    node_ipvs_connections_total       connections  1
    node_ipvs_incoming_bytes_total    inbytes      1
    node_ipvs_incoming_packets_total  inpackets    1
    node_ipvs_outgoing_bytes_total    outbytes     1
    node_ipvs_outgoing_packets_total  outpackets   1
  ]] },
  { "conntrack", "conntrack:0:nf_conntrack", [[
    node_nf_conntrack_entries             entries         1
    node_nf_conntrack_entries_limit       entries_max     1
    node_nf_conntrack_stat_found          found           1
    node_nf_conntrack_stat_invalid        invalid         1
    node_nf_conntrack_stat_ignore         ignore          1
    node_nf_conntrack_stat_insert         insert          1
    node_nf_conntrack_stat_insert_failed  insert_failed   1
    node_nf_conntrack_stat_drop           drop            1
    node_nf_conntrack_stat_early_drop     early_drop      1
    node_nf_conntrack_stat_search_restart search_restart  1
  ]] },
  { "meminfo", "unix:0:meminfo", "node_memory_*% * 1\n" },
  { "meminfo_numa", "lgrp::meminfo", off = true, labels = { "node", "instance" }, "node_memory_numa_* * 1\n" },
  { "meminfo_numa", "lgrp::/^lgrp/", off = true, labels = { "node", "instance" }, [[
    node_memory_numa_interleave_hit_total  interleave_hit  1
    node_memory_numa_local_node_total      local_node      1
    node_memory_numa_numa_foreign_total    numa_foreign    1
    node_memory_numa_numa_hit_total        numa_hit        1
    node_memory_numa_numa_miss_total       numa_miss       1
    node_memory_numa_other_node_total      other_node      1
  ]] },
  { "buddyinfo", "zone::/,free$/", off = true, labels = { "node", "instance", "zone", "name *,free" },
    "node_buddyinfo_blocks order_# 1 size=\"*\"\n" },
  { "zoneinfo", "zone::/^[^,]*$/", off = true, labels = { "node", "instance", "zone", "name" },
    each("high low managed min present spanned", "node_zoneinfo_$_pages $ 1")
    .. each("numa_foreign numa_hit numa_interleave numa_local numa_miss numa_other", "node_zoneinfo_$_total $ 1")
    .. "node_zoneinfo_nr_free_pages nr_free_pages 1\n node_zoneinfo_nr_kernel_stacks nr_kernel_stack 1\n"
    .. "node_zoneinfo_protection_* protection_# 1\n" },
  { "slabinfo", { module = "unix", class = "kmem_cache" }, off = true, labels = { "slab", "name" }, ([[
    node_slabinfo_active_objects      buf_inuse  1
    node_slabinfo_object_size_bytes   buf_size   1
    node_slabinfo_objects             buf_total  1
    node_slabinfo_pages_per_slab      slab_size  PAGE
  ]]):gsub("PAGE", PAGE) },
  { "ksmd", "unix:0:ksm", off = true, each("full_scans_total", "node_ksmd_$ full_scans 1")
    .. each("general_profit_bytes", "node_ksmd_$ general_profit 1")
    .. each("merge_across_nodes pages_shared pages_sharing pages_to_scan pages_unshared pages_volatile run",
      "node_ksmd_$ $ 1") .. "node_ksmd_sleep_seconds sleep 1000\n" },
  { "softirqs", "softirq_cpu:::", off = true, labels = { "type", "name" },
    "node_softirqs_functions_total cpu# 1 cpu=\"*\"\n" },
  { "tcpstat", "tcp_state:0:tcp", off = true, ([[
    node_tcp_connection_states  rx_queued  1  state="rx_queued_bytes"
    node_tcp_connection_states  tx_queued  1  state="tx_queued_bytes"
  ]]) .. each("established syn_sent syn_recv fin_wait1 fin_wait2 time_wait close close_wait last_ack listen closing",
    "node_tcp_connection_states $ 1 state=\"$\"") },
  { "qdisc", "qdisc:::", off = true, labels = { "device", "name", "kind", "kind" }, [[
    node_qdisc_backlog               backlog     1
    node_qdisc_bytes_total           bytes       1
    node_qdisc_current_queue_length  qlen        1
    node_qdisc_drops_total           drops       1
    node_qdisc_overlimits_total      overlimits  1
    node_qdisc_packets_total         packets     1
    node_qdisc_requeues_total        requeues    1
  ]] },
  { "edac", "edac::/^mc/", labels = { "controller", "instance" }, [[
    node_edac_correctable_errors_total            ce_count         1
    node_edac_uncorrectable_errors_total          ue_count         1
    node_edac_csrow_correctable_errors_total      ce_noinfo_count  1  csrow="unknown"
    node_edac_csrow_uncorrectable_errors_total    ue_noinfo_count  1  csrow="unknown"
  ]] },
  { "edac", "edac::/^csrow/", labels = { "controller", "instance", "csrow", "name csrow*" }, [[
    node_edac_csrow_correctable_errors_total      ce_count      1
    node_edac_csrow_uncorrectable_errors_total    ue_count      1
  ]] },
  { "hwmon", "hwmon:::", labels = { "chip", "chip", "chip_name", "name" }, "node_hwmon_chip_names 1 1\n" },
  { "hwmon", "hwmon:::", labels = { "chip", "chip" },
    'node_hwmon_sensor_label label@*_label 1 sensor="*"\n'
    .. sensors("temp", "_celsius", "1000") .. sensors("in", "_volts", "1000") .. sensors("curr", "_amps", "1000")
    .. sensors("power", "_watt", "1e6") .. sensors("energy", "_joule_total", "1e6")
    .. sensors("humidity", "", "100000") .. sensors("fan", "_rpm", "1") .. sensors("pwm", "", "1")
    .. sensors("intrusion", "", "1") },
  { "thermal_zone", "thermal:::", labels = { "zone", "instance", "type", "name" }, [[
    node_thermal_zone_temp           temp        1000
  ]] },
  { "thermal_zone", "thermal::cooling", labels = { "name", "instance", "type", "type" }, [[
    node_cooling_device_cur_state    cur_state   1
    node_cooling_device_max_state    max_state   1
  ]] },
  { "powersupplyclass", "power_supply:::", labels = { "power_supply", "name" }, [[
    node_power_supply_capacity              capacity            1
    node_power_supply_charge_ampere         charge_now          1e6
    node_power_supply_charge_full           charge_full         1e6
    node_power_supply_charge_full_design    charge_full_design  1e6
    node_power_supply_current_ampere        current_now         1e6
    node_power_supply_current_max           current_max         1e6
    node_power_supply_cyclecount            cycle_count         1
    node_power_supply_energy_full           energy_full         1e6
    node_power_supply_energy_full_design    energy_full_design  1e6
    node_power_supply_energy_watthour       energy_now          1e6
    node_power_supply_online                online              1
    node_power_supply_power_watt            power_now           1e6
    node_power_supply_present               present             1
    node_power_supply_temp_celsius          temp                10
    node_power_supply_time_to_empty_seconds time_to_empty       1
    node_power_supply_time_to_full_seconds  time_to_full        1
    node_power_supply_voltage_max_design    voltage_max_design  1e6
    node_power_supply_voltage_min_design    voltage_min_design  1e6
    node_power_supply_voltage_volt          voltage_now         1e6
  ]] },
  { "powersupplyclass", "power_supply:::", labels = { "power_supply", "name", "capacity_level", "capacity_level",
    "health", "health", "manufacturer", "manufacturer", "model_name", "model_name", "serial_number", "serial_number",
    "status", "status", "technology", "technology", "type", "type" }, [[
    node_power_supply_info                  1                   1
  ]] },
  { "rapl", "rapl::core", labels = { "index", "instance", "path", "path" },
    "node_rapl_core_joules_total energy 1e6\n" },
  { "rapl", "rapl::/^package/", labels = { "index", "instance", "path", "path" },
    "node_rapl_package_joules_total energy 1e6\n" },
  { "rapl", "rapl::dram", labels = { "index", "instance", "path", "path" },
    "node_rapl_dram_joules_total energy 1e6\n" },
  { "mdadm", "md::/,status$/", labels = { "device", "name *,status" }, [[
    node_md_blocks                   blocks          1
    node_md_blocks_synced            blocks_synced   1
    node_md_disks                    disks_active    1  state="active"
    node_md_disks                    disks_failed    1  state="failed"
    node_md_disks                    disks_spare     1  state="spare"
    node_md_disks_required           disks_required  1
  ]] .. each("active inactive recovering resync check", "node_md_state activity=$ 1 state=\"$\"") },
  { "mdadm", "md::/,array$/", labels = { "device", "name *,array" }, [[
    node_md_degraded                 degraded        1
    node_md_raid_disks               raid_disks      1
  ]] },
  { "nvme", "nvme::/,controller$/", labels = { "device", "name *,controller", "cntlid", "cntlid", "firmware_revision",
    "firmware_rev", "model", "model", "serial", "serial", "state", "state" }, "node_nvme_info 1 1\n" },
  { "infiniband", "infiniband:::", once = true, labels = { "board_id", "board_id", "device", "name",
    "firmware_version", "fw_ver", "hca_type", "hca_type" }, "node_infiniband_info 1 1\n" },
  { "infiniband", "infiniband:::", labels = { "device", "name", "port", "instance" }, [[
    node_infiniband_state_id                              state                         1
    node_infiniband_physical_state_id                     phys_state                    1
    node_infiniband_rate_bytes_per_second                 rate                          *125000000
    node_infiniband_legacy_data_received_bytes_total      port_rcv_data_64              *4
    node_infiniband_legacy_data_transmitted_bytes_total   port_xmit_data_64             *4
    node_infiniband_legacy_packets_received_total         port_rcv_packets_64           1
    node_infiniband_legacy_packets_transmitted_total      port_xmit_packets_64          1
    node_infiniband_legacy_unicast_packets_received_total port_unicast_rcv_packets      1
    node_infiniband_legacy_unicast_packets_transmitted_total port_unicast_xmit_packets  1
    node_infiniband_legacy_multicast_packets_received_total port_multicast_rcv_packets  1
    node_infiniband_legacy_multicast_packets_transmitted_total port_multicast_xmit_packets 1
    node_infiniband_port_data_received_bytes_total        port_rcv_data                 *4
    node_infiniband_port_data_transmitted_bytes_total     port_xmit_data                *4
    node_infiniband_port_packets_received_total           port_rcv_packets              1
    node_infiniband_port_packets_transmitted_total        port_xmit_packets             1
    node_infiniband_unicast_packets_received_total        unicast_rcv_packets           1
    node_infiniband_unicast_packets_transmitted_total     unicast_xmit_packets          1
    node_infiniband_multicast_packets_received_total      multicast_rcv_packets         1
    node_infiniband_multicast_packets_transmitted_total   multicast_xmit_packets        1
    node_infiniband_port_constraint_errors_received_total port_rcv_constraint_errors    1
    node_infiniband_port_constraint_errors_transmitted_total port_xmit_constraint_errors 1
    node_infiniband_port_discards_received_total          port_rcv_discards             1
    node_infiniband_port_discards_transmitted_total       port_xmit_discards            1
    node_infiniband_port_errors_received_total            port_rcv_errors               1
    node_infiniband_port_receive_remote_physical_errors_total port_rcv_remote_phys_errors 1
    node_infiniband_port_receive_switch_relay_errors_total port_rcv_switch_relay_errors 1
    node_infiniband_port_transmit_wait_total              port_xmit_wait                1
    node_infiniband_excessive_buffer_overrun_errors_total excessive_buffer_overruns     1
    node_infiniband_link_downed_total                     link_downed                   1
    node_infiniband_link_error_recovery_total             link_error_recovery           1
    node_infiniband_local_link_integrity_errors_total     local_link_integrity_errors   1
    node_infiniband_symbol_error_total                    symbol_error                  1
    node_infiniband_vl15_dropped_total                    VL15_dropped                  1
  ]] },
  { "fibrechannel", "fc:::", labels = { "dev_loss_tmo", "dev_loss_tmo", "fabric_name", "fabric_name 0x*",
    "fc_host", "name", "port_id", "port_id 0x*", "port_name", "port_name 0x*", "port_state", "port_state", "port_type",
    "port_type", "speed", "speed", "supported_classes", "supported_classes", "supported_speeds", "supported_speeds",
    "symbolic_name", "symbolic_name" }, "node_fibrechannel_info 1 1\n" },
  { "fibrechannel", "fc:::", labels = { "fc_host", "name" }, [[
    node_fibrechannel_dumped_frames_total            dumped_frames             1
    node_fibrechannel_error_frames_total             error_frames              1
    node_fibrechannel_fcp_packet_aborts_total        fcp_packet_aborts         1
    node_fibrechannel_invalid_crc_total              invalid_crc_count         1
    node_fibrechannel_invalid_tx_words_total         invalid_tx_word_count     1
    node_fibrechannel_link_failure_total             link_failure_count        1
    node_fibrechannel_loss_of_signal_total           loss_of_signal_count      1
    node_fibrechannel_loss_of_sync_total             loss_of_sync_count        1
    node_fibrechannel_nos_total                      nos_count                 1
    node_fibrechannel_rx_frames_total                rx_frames                 1
    node_fibrechannel_rx_words_total                 rx_words                  1
    node_fibrechannel_seconds_since_last_reset_total seconds_since_last_reset  1
    node_fibrechannel_tx_frames_total                tx_frames                 1
    node_fibrechannel_tx_words_total                 tx_words                  1
  ]] },
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
    node_bcache_cache_bypass_hits_total             cache_bypass_hits        1
    node_bcache_cache_bypass_misses_total           cache_bypass_misses      1
    node_bcache_cache_hits_total                    cache_hits               1
    node_bcache_cache_miss_collisions_total         cache_miss_collisions    1
    node_bcache_cache_misses_total                  cache_misses             1
    node_bcache_cache_readaheads_total              cache_readaheads         1
    node_bcache_dirty_data_bytes                    dirty_data               1
    node_bcache_dirty_target_bytes                  writeback_target         1
    node_bcache_writeback_rate                      writeback_rate           1
  ]] },
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
  { "xfrm", "ip:0:xfrm", off = true, packets("node_xfrm_",
    "AcquireError FwdHdrError InBufferError InError InHdrError InNoPols InNoStates InPolBlock InPolError "
    .. "InStateExpired InStateInvalid InStateMismatch InStateModeError InStateProtoError InStateSeqError "
    .. "InTmplMismatch OutBundleCheckError OutBundleGenError OutError OutNoStates OutPolBlock OutPolDead OutPolError "
    .. "OutStateExpired OutStateInvalid OutStateModeError OutStateProtoError OutStateSeqError") },
  { "watchdog", "watchdog:::", labels = { "name", "name" }, [[
    node_watchdog_access_cs0          access_cs0  1
    node_watchdog_bootstatus          bootstatus  1
    node_watchdog_fw_version          fw_version  1
    node_watchdog_nowayout            nowayout    1
    node_watchdog_pretimeout_seconds  pretimeout  1
    node_watchdog_timeleft_seconds    timeleft    1
    node_watchdog_timeout_seconds     timeout     1
  ]] },
  { "watchdog", "watchdog:::", labels = { "identity", "identity", "name", "name", "options", "options",
    "pretimeout_governor", "pretimeout_governor", "state", "state", "status", "status" },
    "node_watchdog_info 1 1\n" },
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
