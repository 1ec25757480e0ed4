--- The names of node_exporter for the kernel: CPUs, memory, disks, links, protocols. See kstat.node.table.
-- @module kstat.node.table.machine
local core = require("kstat.core")
local lines = require("kstat.node.table.lines")

local each, procedures = lines.each, lines.procedures
local PAGE = ("%d"):format(core.pagesize) -- the kernel's figures of sockets are in these

-- Lines for counters of packets: our inNoStates is in_no_states.
local function packets(metric, words)
  return (words:gsub("(%S+)%s*", function(word)
    local name = word:gsub("(%l)(%u)", "%1_%2"):lower()
    return ("%s%s_packets_total %s 1\n"):format(metric, name, word:sub(1, 1):lower() .. word:sub(2))
  end))
end

return {
  { "cpu", "cpu::time", labels = { "cpu", "instance" },
    each("idle iowait irq nice softirq steal system user", 'node_cpu_seconds_total nsec_$ 1e9 mode="$"') .. [[
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
  { "vmstat", "unix:0:vm_events", kind = "untyped", fields = "node_vmstat_*",
    each("oom_kill pgfault pgmajfault pgpgin pgpgout pswpin pswpout", "node_vmstat_$ $ 1") },
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
  { "netstat", "tcp:0:tcp_ext", kind = "untyped", fields = "node_netstat_TcpExt_*",
    each("ListenDrops ListenOverflows TCPSynRetrans SyncookiesSent SyncookiesRecv SyncookiesFailed TCPTimeouts "
      .. "TCPOFOQueue TCPRcvQDrop", "node_netstat_TcpExt_$ $ 1") },
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
    node_softnet_times_squeezed_total   time_squeezed  1
    node_softnet_flow_limit_count_total flow_limit     1
    node_softnet_backlog_len            backlog_len    1
  ]] .. each("processed dropped cpu_collision received_rps", "node_softnet_$_total $ 1") },
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
  ]] .. each("found invalid ignore insert insert_failed drop early_drop search_restart",
    "node_nf_conntrack_stat_$ $ 1") },
  { "meminfo", "unix:0:meminfo", "node_memory_*% * 1\n" },
  { "meminfo_numa", "lgrp::meminfo", off = true, labels = { "node", "instance" }, "node_memory_numa_* * 1\n" },
  { "meminfo_numa", "lgrp::/^lgrp/", off = true, labels = { "node", "instance" },
    each("interleave_hit local_node numa_foreign numa_hit numa_miss other_node", "node_memory_numa_$_total $ 1") },
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
  { "xfrm", "ip:0:xfrm", off = true, packets("node_xfrm_",
    "AcquireError FwdHdrError InBufferError InError InHdrError InNoPols InNoStates InPolBlock InPolError "
    .. "InStateExpired InStateInvalid InStateMismatch InStateModeError InStateProtoError InStateSeqError "
    .. "InTmplMismatch OutBundleCheckError OutBundleGenError OutError OutNoStates OutPolBlock OutPolDead OutPolError "
    .. "OutStateExpired OutStateInvalid OutStateModeError OutStateProtoError OutStateSeqError") },
}
