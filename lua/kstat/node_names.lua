--- Kstats under the names of node_exporter, for dashboards and alerts that exist.
--
-- The names, labels and units are those of node_exporter 1.x on Linux. What the machine lacks is left out.
--
-- @module kstat.node_names
local core = require("kstat.core")

local node_names = {}

local concat = table.concat

-- A text as labels have it.
local function escaped(text)
  return core.metric_escape(text or "")
end

local function labels_of_cpu(k)
  return ('cpu="%d"'):format(k.instance)
end

local function labels_of_device(k)
  return ('device="%s"'):format(escaped((k.name:gsub(",detail$", ""))))
end

local function labels_of_file_system(k)
  return ('device="%s",fstype="%s",mountpoint="%s"'):format(escaped(k:get("device")), escaped(k:get("fs_type")),
    escaped(k:get("mount_point")))
end

local function no_labels()
  return ""
end

-- The groups, in the order of the exposition. A group has the selector of its kstats, their labels, and a line for each
-- metric: its name (counters end in _total), the statistic, the divisor, and labels of its own.
local GROUPS = {
  { "cpu:::", class = "misc", name = "^time$", labels = labels_of_cpu, [[
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
  { "/^(?!loop$|ram$|fd$)/::/,detail$/", labels = labels_of_device, [[
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
  { "link:::", labels = labels_of_device, [[
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
  { "fs:::", labels = labels_of_file_system, [[
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
  { "cpu:::", name = "^softnet$", labels = labels_of_cpu, [[
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
}

-- Parses the lines of a group: { family, type, statistic, divisor, labels }.
local function parse(group)
  local metrics = {}
  for family, stat, divisor, labels in group[2]:gmatch("(node_[%w_]+) +([%w_]+) +([%w.]+) *([^\n]*)\n") do
    metrics[#metrics + 1] = { family = family, stat = stat, divisor = tonumber(divisor), labels = labels,
      type = group.kind or (family:find("_total$") and "counter" or "gauge") }
  end
  return metrics
end

for _, group in ipairs(GROUPS) do
  group.metrics = parse(group)
end

--- The selectors of all kstats that have such names, for `kstat.open`'s `only`.
-- @treturn {string,...}
function node_names.selectors()
  local list = { "unix:0:meminfo" }
  for i, group in ipairs(GROUPS) do
    list[i + 1] = group[1]
  end
  return list
end

-- What stands above the samples of a family.
local function head_of(family, format)
  local name, type = family.name, family.type
  if format == "openmetrics" then
    name = type == "counter" and name:gsub("_total$", "") or name
    type = type == "untyped" and "unknown" or type
  end
  return ("# TYPE %s %s\n# HELP %s %s\n"):format(name, type, name, escaped(family.help))
end

-- The words of a file of the kernel, or "".
local function kernel_text(name)
  local file = io.open((os.getenv("KSTAT_PROC") or "/proc") .. "/sys/kernel/" .. name)
  local text = file and file:read("*l")
  if file then
    file:close()
  end
  return escaped(text)
end

-- What dashboards know the machine by, and its time.
local function machine()
  local labels = {}
  for i, label in ipairs({ "domainname=domainname", "machine=arch", "nodename=hostname", "release=osrelease",
    "sysname=ostype", "version=version" }) do
    local name, file = label:match("(.*)=(.*)")
    labels[i] = ('%s="%s"'):format(name, kernel_text(file))
  end
  local info = "# TYPE node_uname_info gauge\n# HELP node_uname_info the machine and its kernel\nnode_uname_info{"
    .. concat(labels, ",") .. "} 1\n# TYPE node_time_seconds gauge\n# HELP node_time_seconds the time of the machine\n"
    .. "node_time_seconds "
  return function() return ("%s%d\n"):format(info, os.time()) end
end

-- The samples of an exposition by family, in the order in which families came.
local function families()
  local order, by_name = {}, {}

  local function family_of(name, type, k, stat)
    local family = by_name[name]
    if not family then
      family = { name = name, type = type, help = (k:meta(stat) or {}).description or "", n = 0 }
      family.heads = { prometheus = head_of(family, "prometheus"), openmetrics = head_of(family, "openmetrics") }
      order[#order + 1], by_name[name] = family, family
    end
    return family
  end

  -- Takes the samples: the next exposition begins without any.
  local function text(format)
    local out, n = {}, 0
    for _, family in ipairs(order) do
      if family.n > 0 then
        out[n + 1], out[n + 2] = family.heads[format], concat(family, "", 1, family.n)
        n, family.n = n + 2, 0
      end
    end
    out[n + 1] = format == "openmetrics" and "# EOF\n" or nil
    return concat(out)
  end

  return family_of, text
end

-- What one kstat has: { family, statistic, divisor, "name{labels} " }.
local function metrics_of(k, group, family_of)
  local own, found = (group.labels or no_labels)(k), {}
  for _, m in ipairs(group.metrics) do
    if k:get(m.stat) then
      local labels = m.labels ~= "" and own .. "," .. m.labels or own
      found[#found + 1] = { family_of(m.family, m.type, k, m.stat), m.stat, m.divisor,
        m.family .. (labels ~= "" and "{" .. labels .. "} " or " ") }
    end
  end
  return found
end

-- The same of unix:0:meminfo, whose statistics are those that the kernel has.
local function metrics_of_memory(k, family_of)
  local found = {}
  for stat, value in pairs(k:data()) do
    if type(value) == "number" and stat ~= "crtime" and stat ~= "snaptime" then
      local name = "node_memory_" .. stat:gsub("%(", "_"):gsub("%)", "")
      name = k:meta(stat).unit == "" and name or name .. "_bytes"
      found[#found + 1] = { name, stat }
    end
  end
  table.sort(found, function(a, b) return a[1] < b[1] end)
  for i, one in ipairs(found) do
    found[i] = { family_of(one[1], "gauge", k, one[2]), one[2], 1, one[1] .. " " }
  end
  return found
end

local function add_samples(k, metrics)
  local get = k.get
  for i = 1, #metrics do
    local m = metrics[i]
    local value, divisor = get(k, m[2]), m[3]
    if value then
      local family = m[1]
      local n = family.n
      family[n + 1], family[n + 2] = m[4], core.tostring(divisor == 1 and value or value / divisor)
      family[n + 3] = "\n"
      family.n = n + 3
    end
  end
end

--- Makes the renderer of a chain. What names, labels and texts are made of is looked up once for each kstat.
-- @tparam chain ks opened with node_names.selectors()
-- @treturn function(format) that returns the exposition of what the chain has now; format: "prometheus" or
-- "openmetrics"
function node_names.renderer(ks)
  local family_of, text = families()
  local kstats, chain_id, machine_text

  local function look_up()
    kstats, chain_id, machine_text = {}, ks:chain_id(), machine()
    for _, group in ipairs(GROUPS) do
      for k in ks:each(group[1]) do
        if not group.name or k.name:find(group.name) then
          kstats[#kstats + 1] = { k, metrics_of(k, group, family_of) }
        end
      end
    end
    local memory = ks:lookup("unix", 0, "meminfo")
    kstats[#kstats + 1] = memory and { memory, metrics_of_memory(memory, family_of) } or nil
  end

  return function(format)
    if ks:chain_id() ~= chain_id then
      look_up()
    end
    for _, one in ipairs(kstats) do
      add_samples(one[1], one[2])
    end
    return machine_text() .. text(format)
  end
end

return node_names
