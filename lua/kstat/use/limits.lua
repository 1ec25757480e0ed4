--- What kstatlua use measures of each resource, and from where on that is much, or too much.
--
-- A limit has: [1] the resource, [2] "utilization", "saturation" or "errors", [3] what is measured, `unit`, `warning`
-- and `critical` (values from which the state is that; nil: never), `file` (where the kernel says it) and `reason`.
-- A report shows the value that exceeds its limit most, or else the first one that could be read. Of those that are
-- `quiet` it then shows 0, because their values say nothing below the limit.
--
-- @module kstat.use.limits
local FULL_TABLE = "Where nothing more fits, requests fail: that is saturation."

local limits = {
  { "cpu", "utilization", "busy", unit = "%", warning = 90, file = "/proc/stat",
    reason = "All time but idle, of all CPUs. New work finds a CPU at once only while some are idle." },
  { "cpu", "saturation", "pressure", unit = "%", critical = 10, file = "/proc/pressure/cpu: some",
    reason = "Share of the time in which some thread was ready and had no CPU. Short peaks stay below." },
  { "cpu", "saturation", "waiting", unit = "per CPU", critical = 1, file = "/proc/schedstat: run_delay",
    reason = "Mean number of threads that waited for each CPU: from 1 on work takes twice its time." },
  { "cpu", "saturation", "steal", unit = "%", critical = 10, file = "/proc/stat: steal",
    reason = "The hypervisor gave this time to other machines while work was ready here." },
  { "cpu", "errors", "machine checks", unit = "", critical = 1, file = "/proc/interrupts: MCE",
    reason = "The hardware found an error of a CPU, a cache, a bus or memory." },
  { "cpu", "errors", "throttled", unit = "", critical = 1,
    file = "/sys/devices/system/cpu/cpu*/thermal_throttle",
    reason = "A core or chip was slowed down because it was too hot: its cooling fails. The most of any CPU." },

  { "memory", "utilization", "used", unit = "%", warning = 90, file = "/proc/meminfo: MemTotal, MemAvailable",
    reason = "Caches that can be dropped do not count. With the rest used, programs have to swap." },
  { "memory", "saturation", "pressure", unit = "%", critical = 10, file = "/proc/pressure/memory: some",
    reason = "Share of the time in which some thread waited for memory: reclaim, swap, pages read again." },
  { "memory", "saturation", "all stalled", unit = "%", critical = 5, file = "/proc/pressure/memory: full",
    reason = "Share of the time in which all work waited for memory and nothing went on." },
  { "memory", "saturation", "swapped out", unit = "pages/s", warning = 1, critical = 100,
    file = "/proc/vmstat: pswpout",
    reason = "Memory was short. A few pages may have been idle for long; many are missed soon." },
  { "memory", "errors", "oom kills", unit = "", critical = 1, file = "/proc/vmstat: oom_kill",
    reason = "A process was killed for want of memory, of the machine or of its control group." },
  { "memory", "errors", "uncorrected", unit = "", critical = 1, file = "/sys/devices/system/edac/mc: ue_count",
    reason = "Memory returned wrong data." },
  { "memory", "errors", "corrected", unit = "", critical = 1, file = "/sys/devices/system/edac/mc: ce_count",
    reason = "Memory had an error that was corrected: such modules fail more and more." },
  { "swap", "utilization", "used", unit = "%", warning = 80, file = "/proc/meminfo: SwapTotal, SwapFree",
    reason = "When swap space is full, the next shortage of memory kills processes." },

  { "disk", "utilization", "busy", unit = "%", file = "/proc/diskstats: io_ticks",
    reason = "Without a limit: a disk that serves many requests at once is not full at 100 %." },
  { "disk", "utilization", "busy rotational", unit = "%", warning = 90,
    file = "/proc/diskstats: io_ticks, /sys/block/*/queue/rotational",
    reason = "The same of a disk with turning parts, which serves one request after the other." },
  { "disk", "saturation", "queue", unit = "requests", file = "/proc/diskstats: time_in_queue",
    reason = "Mean number of requests in the queue and in service. Without a limit: disks differ." },
  { "disk", "saturation", "queue full", unit = "%", critical = 90, quiet = true,
    file = "/proc/diskstats: time_in_queue, /sys/block/*/queue/nr_requests",
    reason = "The queue has no room for more: programs wait before their requests are even queued." },
  { "disk", "saturation", "all stalled", unit = "%", critical = 5, quiet = true, file = "/proc/pressure/io: full",
    reason = "Share of the time in which all work waited for I/O of the machine. It counts for disks that were busy " ..
      "for half of that time or more." },
  { "disk", "errors", "failed requests", unit = "", critical = 1, file = "/sys/block/*/device/ioerr_cnt",
    reason = "Requests ended with an error: the disk, its cable or its controller fails." },
  { "disk", "errors", "disks missing", unit = "", critical = 1,
    file = "/sys/block/md*/md/degraded, /proc/mdstat",
    reason = "The array lacks disks: the next one that fails may take the data with it." },
  { "disk", "errors", "paths failed", unit = "", critical = 1, file = "/sys/block/dm-*/slaves/*/device/state",
    reason = "Disks or paths below this device do not run." },
  { "disk", "errors", "pool not online", unit = "", critical = 1, file = "/proc/spl/kstat/zfs/*/state",
    reason = "A ZFS pool is degraded, faulted or suspended." },

  { "fs", "utilization", "space", unit = "%", warning = 90, file = "statvfs(3)",
    reason = "As df shows it: what root alone may use does not count. Time to clean up, or to grow." },
  { "fs", "utilization", "space, read only", unit = "%", file = "statvfs(3)",
    reason = "Without a limit: nothing can be written there, and many such file systems are always full." },
  { "fs", "utilization", "inodes", unit = "%", warning = 90, file = "statvfs(3)",
    reason = "Without inodes no file can be created, however much space there is." },
  { "fs", "saturation", "space full", unit = "%", critical = 98, quiet = true, file = "statvfs(3)",
    reason = FULL_TABLE .. " File systems get slow before that." },
  { "fs", "saturation", "inodes full", unit = "%", critical = 98, quiet = true, file = "statvfs(3)",
    reason = FULL_TABLE },
  { "fs", "errors", "errors", unit = "", critical = 1,
    file = "/sys/fs/ext4/*/errors_count, /sys/fs/btrfs/*/devinfo/*/error_stats",
    reason = "Errors of the file system until it is checked, or of its devices until they are set to 0." },
  { "fs", "errors", "devices missing", unit = "", critical = 1, file = "/sys/fs/btrfs/*/devinfo/*/missing",
    reason = "A btrfs lacks a device." },
  { "fs", "errors", "read only", unit = "", critical = 1, file = "statvfs(3), /proc/self/mountinfo",
    reason = "Mounted to be written, but read only: the kernel stops writing after an error." },
  { "fs", "errors", "no answer", unit = "", critical = 1, file = "statvfs(3)",
    reason = "The file system could not say how full it is: its server may be dead." },

  { "link", "utilization", "speed", unit = "%", warning = 90,
    file = "/proc/net/dev: bytes, /sys/class/net/*/speed",
    reason = "Of the busier direction; of both together if the link is not full duplex. Peaks fill the rest." },
  { "link", "saturation", "dropped", unit = "%", critical = 2,
    file = "/proc/net/dev: drop, drops of the queueing discipline (netlink)",
    reason = "Share of the packets for which there was no room. TCP is slow from 1 or 2 % on. Less than one a " ..
      "second is not counted: some links drop packets of protocols that nobody wants." },
  { "link", "errors", "errors", unit = "", critical = 1, file = "/proc/net/dev: errs",
    reason = "Packets arrived damaged or could not be sent: cable, port or driver." },
  { "link", "errors", "carrier changes", unit = "", critical = 1, file = "/sys/class/net/*/carrier_changes",
    reason = "The carrier went or came: cable, port, or the machine on the other side." },

  { "network", "saturation", "backlog dropped", unit = "", critical = 1, file = "/proc/net/softnet_stat: dropped",
    reason = "Packets dropped because a CPU did not keep up with what arrived." },
  { "network", "saturation", "listen overflows", unit = "", critical = 1,
    file = "/proc/net/netstat: ListenOverflows",
    reason = "Connections dropped because a program did not accept them fast enough." },

  { "table", "utilization", "entries", unit = "%", warning = 90,
    file = "/proc/sys/fs/file-nr, /proc/loadavg, /proc/sys/kernel, /proc/sys/net",
    reason = "The table of the kernel is almost full." },
  { "table", "saturation", "full", unit = "%", critical = 95, quiet = true, file = "the same",
    reason = FULL_TABLE .. " Tables grow fast: 5 % are soon used." },
  { "table", "saturation", "refused", unit = "", critical = 1,
    file = "/proc/net/stat: drop, early_drop, table_fulls",
    reason = "Entries that found no room: packets were dropped." },

  { "cgroup", "utilization", "memory", unit = "%", warning = 90,
    file = "memory.current less inactive_file of memory.stat, memory.max",
    reason = "Of the group's limit; files that were not used lately do not count. With the rest used, it reclaims." },
  { "cgroup", "utilization", "cpu", unit = "%", warning = 90, file = "cpu.stat, cpu.max",
    reason = "CPU time used, of the time that the group's limit allows." },
  { "cgroup", "utilization", "pids", unit = "%", warning = 90, file = "pids.current, pids.max",
    reason = "Of the group's limit of processes and threads." },
  { "cgroup", "saturation", "memory pressure", unit = "%", critical = 10, file = "memory.pressure: some",
    reason = "Share of the time in which some thread of the group waited for memory." },
  { "cgroup", "saturation", "memory stalled", unit = "%", critical = 5, file = "memory.pressure: full",
    reason = "Share of the time in which all work of the group waited for memory." },
  { "cgroup", "saturation", "at limit", unit = "", critical = 1, quiet = true,
    file = "memory.events: max, or memory.failcnt",
    reason = "Times that memory met its limit, of a group that uses 90 % of it. Below, only caches are dropped." },
  { "cgroup", "saturation", "throttled", unit = "%", warning = 10, critical = 50,
    file = "cpu.stat: nr_throttled, nr_periods",
    reason = "Share of the periods in which the group was stopped. Bursts of threads are stopped now and then." },
  { "cgroup", "saturation", "pids refused", unit = "", critical = 1, quiet = true, file = "pids.events: max",
    reason = "Times that a process or thread could not be created." },
  { "cgroup", "errors", "oom kills", unit = "", critical = 1, file = "memory.events: oom_kill",
    reason = "A process was killed for want of memory in the group." },
}

-- A value as people read it, with its unit.
local function amount(value, unit)
  local number = (value % 1 == 0 and "%d" or "%.1f"):format(value)
  return number .. (unit == "%" and "%" or unit ~= "" and " " .. unit or "")
end

--- Explains all limits.
-- @treturn string lines
local function explain()
  local out, last = {}, nil
  for _, limit in ipairs(limits) do
    out[#out + 1] = limit[1] ~= last and (last and "\n" or "") .. limit[1] .. "\n" or nil
    last = limit[1]
    local from = {}
    for _, state in ipairs({ "warning", "critical" }) do
      from[#from + 1] = limit[state] and ("%s from %s"):format(state, amount(limit[state], limit.unit)) or nil
    end
    out[#out + 1] = ("  %s: %s, %s\n    %s\n    %s\n"):format(limit[2], limit[3],
      from[1] and table.concat(from, ", ") or "no limit", limit.file, limit.reason)
  end
  return table.concat(out)
end

return { list = limits, amount = amount, explain = explain }
