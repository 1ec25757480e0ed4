--- Kstats under the names of node_exporter, for dashboards and alerts that exist.
--
-- The names, labels and units are those of node_exporter 1.x on Linux. What the machine lacks is left out.
--
-- @module kstat.node_names
local core = require("kstat.core")

local node_names = {}

-- The groups, in the order of the exposition. A group has the selector of its kstats, where their labels are from
-- (chain/metric_names.h says what that may be), and a line for each metric: its name (counters end in _total), the
-- statistic, the divisor, and labels of its own. `*` stands for each statistic; its name and unit follow that of the
-- metric.
local GROUPS = {
  { "cpu::time", labels = { "cpu", "instance" }, [[
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
  { "unix:0:system_misc", [[
    node_load1                       avenrun_1min   256
    node_load5                       avenrun_5min   256
    node_load15                      avenrun_15min  256
    node_boot_time_seconds           boot_time      1
  ]] },
  { "unix:0:sys", [[
    node_context_switches_total      pswitch        1
    node_forks_total                 sysfork        1
    node_intr_total                  intr           1
    node_procs_running               procs_running  1
    node_procs_blocked               procs_blocked  1
  ]] },
  { "unix:0:vm_events", kind = "untyped", [[
    node_vmstat_oom_kill             oom_kill    1
    node_vmstat_pgfault              pgfault     1
    node_vmstat_pgmajfault           pgmajfault  1
    node_vmstat_pgpgin               pgpgin      1
    node_vmstat_pgpgout              pgpgout     1
    node_vmstat_pswpin               pswpin      1
    node_vmstat_pswpout              pswpout     1
  ]] },
  { "/^(?!loop$|ram$|fd$)/::/,detail$/", labels = { "device", "name,detail" }, [[
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
  { "link:::", labels = { "device", "name" }, [[
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
    node_network_transmit_queue_length         tx_queue_len     1
    node_network_carrier_changes_total         carrier_changes  1
    node_network_carrier_up_changes_total      carrier_up_count    1
    node_network_carrier_down_changes_total    carrier_down_count  1
    node_network_mtu_bytes                     mtu              1
    node_network_speed_bytes                   ifspeed          8
    node_network_carrier                       link_state       1
  ]] },
  { "fs:::", labels = { "device", "device", "fstype", "fs_type", "mountpoint", "mount_point" }, [[
    node_filesystem_size_bytes       capacity     1
    node_filesystem_free_bytes       free         1
    node_filesystem_avail_bytes      available    1
    node_filesystem_files            inodes       1
    node_filesystem_files_free       inodes_free  1
    node_filesystem_readonly         read_only    1
  ]] },
  { "pressure:0:cpu", [[
    node_pressure_cpu_waiting_seconds_total     some_nsec  1e9
  ]] },
  { "pressure:0:memory", [[
    node_pressure_memory_waiting_seconds_total  some_nsec  1e9
    node_pressure_memory_stalled_seconds_total  full_nsec  1e9
  ]] },
  { "pressure:0:io", [[
    node_pressure_io_waiting_seconds_total      some_nsec  1e9
    node_pressure_io_stalled_seconds_total      full_nsec  1e9
  ]] },
  { "tcp:0:tcp", kind = "untyped", [[
    node_netstat_Tcp_ActiveOpens     activeOpens   1
    node_netstat_Tcp_PassiveOpens    passiveOpens  1
    node_netstat_Tcp_CurrEstab       currEstab     1
    node_netstat_Tcp_InSegs          inSegs        1
    node_netstat_Tcp_OutSegs         outSegs       1
    node_netstat_Tcp_RetransSegs     retransSegs   1
    node_netstat_Tcp_InErrs          inErrs        1
    node_netstat_Tcp_OutRsts         outRsts       1
  ]] },
  { "tcp:0:tcp_ext", kind = "untyped", [[
    node_netstat_TcpExt_ListenDrops      ListenDrops      1
    node_netstat_TcpExt_ListenOverflows  ListenOverflows  1
    node_netstat_TcpExt_TCPSynRetrans    TCPSynRetrans    1
    node_netstat_TcpExt_SyncookiesSent   SyncookiesSent   1
    node_netstat_TcpExt_SyncookiesRecv   SyncookiesRecv   1
    node_netstat_TcpExt_SyncookiesFailed SyncookiesFailed 1
    node_netstat_TcpExt_TCPTimeouts      TCPTimeouts      1
  ]] },
  { "udp:0:udp", kind = "untyped", [[
    node_netstat_Udp_InDatagrams     inDatagrams   1
    node_netstat_Udp_OutDatagrams    outDatagrams  1
    node_netstat_Udp_NoPorts         noPorts       1
    node_netstat_Udp_InErrors        inErrors      1
    node_netstat_Udp_RcvbufErrors    inOverflows   1
    node_netstat_Udp_SndbufErrors    outErrors     1
  ]] },
  { "udp:0:udp6", kind = "untyped", [[
    node_netstat_Udp6_InDatagrams    inDatagrams   1
    node_netstat_Udp6_OutDatagrams   outDatagrams  1
    node_netstat_Udp6_NoPorts        noPorts       1
    node_netstat_Udp6_InErrors       inErrors      1
    node_netstat_Udp6_RcvbufErrors   inOverflows   1
    node_netstat_Udp6_SndbufErrors   outErrors     1
  ]] },
  { "ip:0:ip", kind = "untyped", [[
    node_netstat_Ip_Forwarding       forwarding    1
  ]] },
  { "ip:0:ip6", kind = "untyped", [[
    node_netstat_Ip6_InOctets        inOctets      1
    node_netstat_Ip6_OutOctets       outOctets     1
  ]] },
  { "ip:0:icmp", kind = "untyped", [[
    node_netstat_Icmp_InMsgs         inMsgs        1
    node_netstat_Icmp_InErrors       inErrors      1
    node_netstat_Icmp_OutMsgs        outMsgs       1
  ]] },
  { "ip:0:icmpv6", kind = "untyped", [[
    node_netstat_Icmp6_InMsgs        inMsgs        1
    node_netstat_Icmp6_InErrors      inErrors      1
    node_netstat_Icmp6_OutMsgs       outMsgs       1
  ]] },
  { "ip:0:ip_ext", kind = "untyped", [[
    node_netstat_IpExt_InOctets      InOctets      1
    node_netstat_IpExt_OutOctets     OutOctets     1
  ]] },
  { "sockets:0:all", [[
    node_sockstat_sockets_used       used          1
  ]] },
  { "sockets:0:tcp", [[
    node_sockstat_TCP_inuse          inuse         1
    node_sockstat_TCP_orphan         orphan        1
    node_sockstat_TCP_tw             tw            1
    node_sockstat_TCP_alloc          alloc         1
    node_sockstat_TCP_mem_bytes      memory        1
  ]] },
  { "sockets:0:udp", [[
    node_sockstat_UDP_inuse          inuse         1
    node_sockstat_UDP_mem_bytes      memory        1
  ]] },
  { "cpu::softnet", labels = { "cpu", "instance" }, [[
    node_softnet_processed_total     processed      1
    node_softnet_dropped_total       dropped        1
    node_softnet_times_squeezed_total time_squeezed 1
  ]] },
  { "unix:0:tables", [[
    node_filefd_allocated            files          1
    node_filefd_maximum              files_max      1
  ]] },
  { "unix:0:entropy", [[
    node_entropy_available_bits      available      1
    node_entropy_pool_size_bits      poolsize       1
  ]] },
  { "unix:0:clock", [[
    node_timex_estimated_error_seconds estimated_error 1e6
    node_timex_maxerror_seconds      max_error      1e6
    node_timex_offset_seconds        offset         1e9
    node_timex_status                status         1
    node_timex_sync_status           synchronized   1
    node_timex_tai_offset_seconds    tai            1
  ]] },
  { "conntrack:0:nf_conntrack", [[
    node_nf_conntrack_entries        entries        1
    node_nf_conntrack_entries_limit  entries_max    1
  ]] },
  { "unix:0:meminfo", [[
    node_memory_                     *              1
  ]] },
}

-- The names of a group, five elements each: family, statistic, divisor, labels, type.
local function names_of(group)
  local names = {}
  for family, stat, divisor, labels in group[2]:gmatch("(node_[%w_]+) +([%w_*]+) +([%w.]+) *([^\n]*)\n") do
    local name, is_counter = family:gsub("_total$", "")
    for _, element in ipairs({ name, stat, tonumber(divisor), labels,
      group.kind or is_counter > 0 and "counter" or "gauge" }) do
      names[#names + 1] = element
    end
  end
  return names
end

--- The selectors of all kstats that have such names, for `kstat.open`'s `only`.
-- @treturn {string,...}
function node_names.selectors()
  local list = {}
  for i, group in ipairs(GROUPS) do
    list[i] = group[1]
  end
  return list
end

--- The table of names, for `core.exposition`.
-- @treturn names
function node_names.names()
  local list = {}
  for i, group in ipairs(GROUPS) do
    list[i] = { selector = assert(core.selector_of(group[1])), labels = group.labels or {}, names = names_of(group) }
  end
  return core.metric_names(list)
end

-- The words of a file of the kernel, or "".
local function kernel_text(name)
  local file = io.open((os.getenv("KSTAT_PROC") or "/proc") .. "/sys/kernel/" .. name)
  local text = file and file:read("*l")
  if file then
    file:close()
  end
  return text or ""
end

--- Adds what dashboards know the machine by, and its time.
-- @tparam metrics w of `core.metrics`
function node_names.add_machine(w)
  w:family("node_uname_info", "gauge", "the machine and its kernel")
  w:add(core.metric_labels("domainname", kernel_text("domainname"), "machine", kernel_text("arch"), "nodename",
    kernel_text("hostname"), "release", kernel_text("osrelease"), "sysname", kernel_text("ostype"), "version",
    kernel_text("version")), 1)
  w:family("node_time_seconds", "gauge", "the time of the machine")
  w:add("", os.time())
end

return node_names
