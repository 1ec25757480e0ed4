-- kstatlua use: each limit on recorded trees and captures, and what the report shows of it.
local capture = require("support.capture")
local cjson = require("cjson")
local linux = require("support.linux")
local run = require("support.run")
local use = require("support.use")

local GROUP = "sys/fs/cgroup/system.slice/web.service/"

local rows_of = use.rows_of

local tree -- a copy of the small one that a spec changes

local function apply(files) use.apply(tree, files) end

local function tree_env() return use.env(tree) end

-- A capture of the tree with the files of f(0), and ten seconds later with those of f(n).
local function two_samples(f, n) return use.two_samples(tree, f(0), f(n)) end

-- The rows of an interval of ten seconds, see two_samples().
local function look(f, n) return use.look(tree, f(0), f(n)) end

-- --- files, by a value -----------------------------------------------------------------------------

-- In the format, each %d is n times the factor; other conversions are left as they are.
local function one_file(path, format, factor)
  return function(n)
    return { [path] = (format:gsub("%%d", function() return ("%d"):format(n * (factor or 1)) end)) }
  end
end

-- n: percent of ten seconds, in microseconds
local function pressure(what, line)
  return function(n)
    local some, full = line == "some" and n or 0, line == "full" and n or 0
    return { ["proc/pressure/" .. what] = ("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n"):format(some * 1e5) ..
      ("full avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n"):format(full * 1e5) }
  end
end

local waiting = one_file("proc/schedstat", "version 15\ntimestamp 1\ncpu0 0 0 0 0 0 0 0 %d 0\n" ..
  "cpu1 0 0 0 0 0 0 0 %d 0\n", 1e10)

-- sda: milliseconds in which it was busy, and of all requests together
local function diskstats(busy, all)
  return ("8 0 sda 100 0 800 %d 0 0 0 0 0 %d %d 0 0 0 0\n"):format(all, busy, all) ..
    "8 16 sdb 100 0 800 0 0 0 0 0 0 0 0 0 0 0 0\n"
end

local function rotational(n)
  return { ["proc/diskstats"] = diskstats(n * 100, n == 0 and 0 or 20000), ["sys/block/sda/queue/rotational"] = "1\n" }
end

local function queue(n)
  return { ["proc/diskstats"] = diskstats(0, n * 1000), ["sys/block/sda/queue/nr_requests"] = "10\n" }
end

-- sda is busy for that share of the time (all of it if nothing is given), sdb not at all
local function io_pressure(n, busy)
  return { ["proc/diskstats"] = diskstats(n == 0 and 0 or 100 * (busy or 100), n == 0 and 0 or 40000),
    ["proc/pressure/io"] = pressure("io", "full")(n)["proc/pressure/io"] }
end

local function eth0(bytes, packets, drop, errors, not_sent)
  return { ["proc/net/dev"] = "Inter-| Receive | Transmit\n face |bytes packets errs drop fifo frame compressed " ..
    "multicast|bytes packets errs drop fifo colls carrier compressed\n" ..
    ("  eth0: %d %d %d %d 0 0 0 0 0 0 0 %d 0 0 0 0\n"):format(bytes, packets, errors, drop, not_sent or 0) }
end

local function conntrack(n)
  return { ["proc/sys/net/netfilter/nf_conntrack_count"] = n .. "\n",
    ["proc/sys/net/netfilter/nf_conntrack_max"] = "100\n" }
end

local function memory_of_group(n)
  return { [GROUP .. "memory.current"] = n + 7 .. "\n", [GROUP .. "memory.max"] = "100\n",
    [GROUP .. "memory.stat"] = "anon 5\ninactive_file 7\n" }
end

local function at_limit(n)
  local files = memory_of_group(90)
  files[GROUP .. "memory.events"] = ("low 0\nhigh 0\nmax %d\noom 0\noom_kill 0\n"):format(n)
  return files
end

local function throttled(n)
  return { [GROUP .. "cpu.max"] = "50000 100000\n", [GROUP .. "cpu.stat"] =
    ("usage_usec %d\nuser_usec 0\nsystem_usec 0\nnr_periods %d\nnr_throttled %d\nthrottled_usec 0\n"):format(
      n, n == 0 and 0 or 100, n) }
end

local function quota(n)
  return { [GROUP .. "cpu.max"] = "50000 100000\n", [GROUP .. "cpu.stat"] =
    ("usage_usec %d\nuser_usec 0\nsystem_usec 0\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"):format(n * 50000) }
end

local function group_pressure(line)
  return function(n)
    local files = memory_of_group(1)
    files[GROUP .. "memory.pressure"] = pressure("x", line)(n)["proc/pressure/x"]
    return files
  end
end

local DRIVER = "proc/driver/nvidia/version"

-- GPUs of the stub, by a word that it knows.
local function gpu(word, factor)
  return function(n)
    return { [DRIVER] = "NVRM\n", nvml = ("%s %d\n"):format(word, n * (factor or 1)) }
  end
end

local function thrashing(n)
  return { [GROUP .. "memory.current"] = "50\n", [GROUP .. "memory.max"] = "100\n",
    [GROUP .. "memory.events"] = ("low 0\nhigh 0\nmax %d\noom 0\noom_kill 0\n"):format(n),
    [GROUP .. "memory.stat"] = ("anon 5\ninactive_file 7\nworkingset_activate_file %d\n"):format(10 * n) }
end

local function group_io(n)
  return { [GROUP .. "io.max"] = "8:0 rbps=max wbps=1000 riops=max wiops=max\n",
    [GROUP .. "io.stat"] = ("8:0 rbytes=0 wbytes=%d rios=0 wios=1 dbytes=0 dios=0\n"):format(100 * n) }
end

-- n: milliseconds that each of a thousand requests takes
local function slow(n)
  return { ["proc/diskstats"] = ("8 0 sda %d 0 800 %d 0 0 0 0 0 10 %d 0 0 0 0\n"):format(n == 0 and 0 or 1000,
    n * 1000, n * 1000) }
end

local function retransmitted(n)
  return { ["proc/net/snmp"] = ("Tcp: OutSegs RetransSegs\nTcp: %d %d\n"):format(
    n == 0 and 0 or 10000 - 100 * n, 100 * n) }
end

local VMSTAT = "nr_free_pages 250000\npgfault 1\n"

-- Without pressure and without the times of those who wait.
local function running(n)
  return { ["proc/pressure"] = false, ["proc/schedstat"] = false, ["proc/stat"] =
    ("cpu0 0 0 0 9 0 0 0 0 0 0\ncpu1 0 0 0 9 0 0 0 0 0 0\nprocs_running %d\nprocs_blocked 0\n"):format(
      n == 0 and 99 or 2 * n) }
end

local function softirq(n)
  return { ["proc/stat"] = ("cpu0 0 0 0 %d 0 0 %d 0 0 0\ncpu1 0 0 0 %d 0 0 0 0 0 0\n"):format(
    n == 0 and 0 or 1000 - 10 * n, 10 * n, n == 0 and 0 or 1000) }
end

local function without_pressure(path, format, factor)
  local files = one_file(path, format, factor)
  return function(n)
    local found = files(n)
    found["proc/pressure"] = false
    return found
  end
end

-- Events of ten seconds, n of them per second.
local function event(name)
  return one_file("proc/net/netstat", "TcpExt: ListenOverflows " .. name .. "\nTcpExt: 0 %d\n", 10)
end

local function commit(n)
  return { ["proc/sys/vm/overcommit_memory"] = "2\n", ["proc/meminfo"] =
    ("MemTotal: 900 kB\nMemAvailable: 800 kB\nCommitLimit: 100 kB\nCommitted_AS: %d kB\n"):format(n) }
end

local function reverse_path(n)
  local files = event("IPReversePathFilter")(n)
  files["proc/net/snmp"] = ("Ip: InReceives\nIp: %d\n"):format(n == 0 and 0 or 1000)
  return files
end

local function swapped(what)
  return function(n)
    return { ["proc/vmstat"] = (VMSTAT .. "%s %d\n"):format(what, 10 * n),
      ["proc/meminfo"] = "MemTotal: 100 kB\nMemFree: 1 kB\nMemAvailable: 20 kB\n" }
  end
end

-- Reads of sda take 1 ms, and within the interval n ms.
local function slower(n)
  return { ["latency.json"] = use.latency("sda,read,device", 0, "disk_latency",
    { device = "sda", operation = "read", part = "device" },
    { [1] = 2000, [n > 0 and n or 1] = n > 0 and 200 or 2000 }) }
end

-- The row, what is measured, its state, a value below the limit and one at it, and the files by that value.
local LIMITS = {
  { "cpu all", "busy while others wait", "warning", 89, 90, function(n)
    return { ["proc/stat"] = ("cpu0 %d 0 0 %d 0 0 0 0 0 0\n"):format(n * 10, n == 0 and 0 or 1000 - 10 * n),
      ["proc/pressure/cpu"] = pressure("cpu", "some")(n == 0 and 0 or 40)["proc/pressure/cpu"] }
  end },
  { "cpu all", "run queue", "warning", 8, 16, function(n)
    return { ["latency.json"] = use.latency("runq", 0, "runq_latency", nil,
      { [n > 0 and n or 1] = n > 0 and 1000 or 9 }) }
  end },
  { "cpu all", "running", "warning", 1, 2, running },
  { "cpu all", "running", "critical", 1, 4, running },
  { "cpu all", "interrupts of one", "warning", 79, 80, softirq },
  { "cpu all", "interrupts of one", "critical", 79, 95, softirq },
  { "cpu all", "steal", "critical", 9, 10, function(n)
    return { ["proc/stat"] = ("cpu0 0 0 0 %d 0 0 0 %d 0 0\n"):format(n == 0 and 0 or 1000 - 10 * n, n * 10) }
  end },
  { "cpu all", "pressure", "warning", 74, 75, pressure("cpu", "some") },
  { "cpu all", "pressure", "critical", 0, 90, pressure("cpu", "some") },
  { "cpu all", "waiting for one", "warning", 3.9, 4, function(n)
    local stat = ""
    for i = 0, 3 do
      stat = stat .. ("cpu%d %d 0 0 %d 0 0 0 0 0 0\n"):format(i, n == 0 and 0 or 5, n == 0 and 0 or 995)
    end
    return { ["proc/stat"] = stat, ["proc/schedstat"] = ("version 15\ntimestamp 1\ncpu0 0 0 0 0 0 0 0 %d 0\n" ..
      "cpu1 0 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0 0\ncpu3 0 0 0 0 0 0 0 0 0\n"):format(n * 1e10) }
  end },
  { "cpu all", "waiting", "warning", 1.9, 2, waiting },
  { "cpu all", "waiting", "critical", 0, 4, waiting },
  { "cpu all", "machine checks", "critical", 0, 1, one_file("proc/interrupts",
    "  CPU0 CPU1\nMCE: %d 0 Machine check exceptions\n") },
  { "cpu all", "throttled", "critical", 0, 1,
    one_file("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "%d\n") },
  { "cpu all", "power limited", "warning", 0, 1,
    one_file("sys/devices/system/cpu/cpu0/thermal_throttle/core_power_limit_count", "%d\n") },
  { "memory all", "used", "warning", 89, 90, function(n)
    return { ["proc/meminfo"] = ("MemTotal: 100 kB\nMemFree: 1 kB\nMemAvailable: %d kB\n"):format(100 - n) }
  end },
  { "memory all", "pressure", "warning", 19, 20, pressure("memory", "some") },
  { "memory all", "pressure", "critical", 0, 40, pressure("memory", "some") },
  { "memory all", "all stalled", "warning", 9, 10, pressure("memory", "full") },
  { "memory all", "all stalled", "critical", 0, 20, pressure("memory", "full") },
  { "memory all", "swapped out", "warning", 0.9, 1, swapped("pswpout") },
  { "memory all", "swapped out", "critical", 0, 100, swapped("pswpout") },
  { "memory all", "stalled allocations", "warning", 9, 10,
    without_pressure("proc/vmstat", VMSTAT .. "allocstall_normal %d\n", 10) },
  { "memory all", "stalled allocations", "critical", 0, 100,
    without_pressure("proc/vmstat", VMSTAT .. "allocstall_normal %d\n", 10) },
  { "memory all", "swapped in", "warning", 9, 10, swapped("pswpin") },
  { "memory all", "swapped in", "critical", 0, 1000, swapped("pswpin") },
  { "memory all", "from other nodes", "warning", 9, 10, function(n)
    return { ["sys/devices/system/node/node0/meminfo"] = "Node 0 MemTotal: 100 kB\n",
      ["sys/devices/system/node/node0/numastat"] = ("numa_hit %d\nnuma_miss 0\nnuma_foreign %d\n"):format(
      n == 0 and 0 or (100 - n) * 2000, n * 2000) }
  end },
  { "memory all", "oom kills", "critical", 0, 1, one_file("proc/vmstat", VMSTAT .. "oom_kill %d\n") },
  { "memory all", "uncorrected", "critical", 0, 1, function(n)
    return { ["sys/devices/system/edac/mc/mc0/ce_count"] = "0\n",
      ["sys/devices/system/edac/mc/mc0/ue_count"] = n .. "\n" }
  end },
  { "memory all", "corrected", "warning", 0, 1, function(n)
    return { ["sys/devices/system/edac/mc/mc0/ce_count"] = n .. "\n",
      ["sys/devices/system/edac/mc/mc0/ue_count"] = "0\n" }
  end },
  { "swap all", "used", "warning", 79, 80, function(n)
    return { ["proc/meminfo"] = ("MemTotal: 100 kB\nSwapTotal: 100 kB\nSwapFree: %d kB\n"):format(100 - n) }
  end },
  { "disk sda", "busy rotational", "warning", 89, 90, rotational },
  { "disk sda", "queue full", "critical", 89, 90, queue },
  { "disk sda", "all stalled", "critical", 4, 5, io_pressure },
  { "disk sda", "slow", "warning", 199, 200, slow },
  { "disk sda", "slow", "critical", 0, 1000, slow },
  { "disk sda", "slower than in its hour", "warning", 15, 30, slower },
  { "disk sda", "failed requests", "critical", 0, 1, one_file("sys/block/sda/device/ioerr_cnt", "0x%d\n") },
  { "disk tank", "pool not online", "critical", 0, 1, function(n)
    return { ["proc/spl/kstat/zfs/tank/state"] = n == 0 and "ONLINE\n" or "DEGRADED\n" }
  end },
  { "disk nvme0n1", "not live", "critical", 0, 1, function(n)
    return { ["proc/diskstats"] = "259 0 nvme0n1 100 0 800 0 0 0 0 0 0 0 0 0 0 0 0\n",
      ["sys/class/nvme/nvme0/state"] = n == 0 and "live\n" or "dead\n" }
  end },
  { "link eth0", "speed", "warning", 89, 90, function(n) return eth0(n * 12500000, n, 0, 0) end },
  { "link eth0", "dropped", "critical", 1, 2, function(n)
    return eth0(0, n == 0 and 0 or 1000 - 10 * n, 0, 0, 10 * n)
  end },
  { "link eth0", "unwanted", "warning", 99, 100, function(n) return eth0(0, 10 * n, 10 * n, 0) end },
  { "link eth0", "errors", "critical", 0, 1, function(n) return eth0(0, 0, 0, n) end },
  { "network all", "backlog dropped", "critical", 0.5, 1, one_file("proc/net/softnet_stat",
    "00000001 000000%d 00000000 0 0 0 0 0 00000000\n", 10) },
  { "network all", "listen overflows", "critical", 0, 1, one_file("proc/net/netstat",
    "TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 1 %d\n") },
  { "network all", "refused SYNs", "critical", 0.9, 1, event("ListenDrops") },
  { "network all", "refused connections", "warning", 0.9, 1, function(n)
    return { ["latency.json"] = use.latency("refused,tcp", 0, "connect_latency",
      { outcome = "refused", side = "client", family = "tcp", namespace = "own" }, { [1] = 100 + 10 * n }) }
  end },
  { "network all", "SYN cookies", "warning", 9, 10, event("SyncookiesSent") },
  { "network all", "socket backlog", "critical", 0.9, 1, event("TCPBacklogDrop") },
  { "network all", "TCP memory", "warning", 0, 0.1, event("RcvPruned") },
  { "network all", "TCP memory", "critical", 0, 1, event("TCPAbortOnMemory") },
  { "network all", "TIME_WAIT overflow", "warning", 0.9, 1, event("TCPTimeWaitOverflow") },
  { "network all", "reassembly", "warning", 0.9, 1, one_file("proc/net/snmp", "Ip: ReasmFails\nIp: %d\n", 10) },
  { "network all", "reassembly", "critical", 0, 100, one_file("proc/net/snmp", "Ip: ReasmFails\nIp: %d\n", 10) },
  { "network all", "reverse path", "warning", 1, 2, reverse_path },
  { "network all", "reverse path", "critical", 1, 50, reverse_path },
  { "network all", "udp overflows", "critical", 0.9, 1, function(n)
    return { ["proc/net/snmp"] = ("Udp: InDatagrams RcvbufErrors\nUdp: %d %d\n"):format(
      n == 0 and 0 or 100000 - 1000 * n, 1000 * n) }
  end },
  { "network all", "retransmitted", "warning", 1, 2, retransmitted },
  { "network all", "retransmitted", "critical", 0, 5, retransmitted },
  { "network all", "squeezed", "warning", 99, 100, function(n)
    return { ["proc/net/softnet_stat"] = ("00000001 00000000 %08x 0 0 0 0 0 00000000\n"):format(10 * n) }
  end },
  { "table files", "entries", "warning", 89, 90, one_file("proc/sys/fs/file-nr", "%d 0 100\n") },
  { "table files", "full", "critical", 94, 95, one_file("proc/sys/fs/file-nr", "%d 0 100\n") },
  { "table pids", "full", "critical", 94, 95, function(n)
    return { ["proc/loadavg"] = ("0.50 1.25 2.00 5/%d 9999\n"):format(n),
      ["proc/sys/kernel/threads-max"] = "1000\n", ["proc/sys/kernel/pid_max"] = "100\n" }
  end },
  { "table commit", "promised", "warning", 89, 90, commit },
  { "table commit", "promised up to the limit", "critical", 97, 98, commit },
  { "table conntrack", "entries", "warning", 89, 90, conntrack },
  { "table conntrack", "full", "critical", 94, 95, conntrack },
  { "table conntrack", "refused", "critical", 0, 1, one_file("proc/net/stat/nf_conntrack",
    "entries drop early_drop\n00000021 0000000%d 00000000\n") },
  { "cgroup web.service", "memory", "warning", 89, 90, memory_of_group },
  { "cgroup web.service", "at limit", "critical", 0, 1, at_limit },
  { "cgroup web.service", "read again", "warning", 99, 100, thrashing },
  { "cgroup web.service", "read again", "critical", 0, 1000, thrashing },
  { "cgroup web.service", "io", "warning", 89, 90, group_io },
  { "cgroup web.service", "io at limit", "critical", 94, 95, group_io },
  { "cgroup web.service", "io stalled", "critical", 19, 20, function(n)
    local files = group_io(0)
    files[GROUP .. "io.pressure"] = pressure("x", "full")(n)["proc/pressure/x"]
    return files
  end },
  { "cgroup web.service", "memory pressure", "warning", 19, 20, group_pressure("some") },
  { "cgroup web.service", "memory pressure", "critical", 0, 40, group_pressure("some") },
  { "cgroup web.service", "memory stalled", "warning", 9, 10, group_pressure("full") },
  { "cgroup web.service", "memory stalled", "critical", 0, 20, group_pressure("full") },
  { "cgroup web.service", "oom kills", "critical", 0, 1, one_file(GROUP .. "memory.events",
    "low 0\nhigh 0\nmax 0\noom 0\noom_kill %d\n") },
  { "cgroup web.service", "pids", "warning", 89, 90, one_file(GROUP .. "pids.current", "%d\n") },
  { "cgroup web.service", "pids refused", "critical", 0, 1, one_file(GROUP .. "pids.events", "max %d\n") },
  { "cgroup web.service", "cpu", "warning", 89, 90, quota },
  { "cgroup web.service", "throttled", "warning", 9, 10, throttled },
  { "cgroup web.service", "throttled", "critical", 9, 50, throttled },
  { "gpu gpu0", "throttled by heat", "warning", 0.9, 1, gpu("heat", 1e8) }, -- percent of ten seconds
  { "gpu gpu0", "throttled by heat", "critical", 0, 10, gpu("heat", 1e8) },
  { "gpu gpu0", "throttled by power", "warning", 9, 10, gpu("power", 1e8) },
  { "gpu gpu0", "uncorrected", "critical", 0, 1, gpu("uncorrected") },
  { "gpu gpu0", "corrected", "warning", 9, 10, gpu("corrected") },
  { "gpu gpu0", "rows not replaced", "critical", 0, 1, gpu("failed") },
  { "gpu gpu0", "rows to replace", "warning", 0, 1, gpu("pending") },
  { "gpu gpu0", "lanes missing", "warning", 0, 1, function(n)
    return gpu("width")(16 - n)
  end },
  { "gpu card0", "uncorrected", "critical", 0, 1, function(n)
    return { ["sys/class/drm/card0/device/vendor"] = "0x1002\n",
      ["sys/class/drm/card0/device/ras/umc_err_count"] = ("ue: %d\nce: 0\n"):format(n) }
  end },
  { "gpu card1", "throttled by heat", "critical", 0, 1, function(n)
    return { ["sys/class/drm/card1/device/vendor"] = "0x8086\n",
      ["sys/class/drm/card1/gt/gt0/throttle_reason_thermal"] = n .. "\n" }
  end },
  { "gpu card1", "throttled by power", "warning", 0, 1, function(n)
    return { ["sys/class/drm/card1/device/vendor"] = "0x8086\n",
      ["sys/class/drm/card1/device/tile0/gt0/freq0/throttle/reason_pl1"] = n .. "\n" }
  end },
}

describe("kstatlua use on a recorded tree", function()
  before_each(function()
    tree = linux.copy()
  end)

  after_each(function()
    linux.remove(tree)
  end)

  for _, case in ipairs(LIMITS) do
    local id, what, state, below, at, files = (table.unpack or unpack)(case)
    it(("has %s in state %s by '%s' from %s on"):format(id, state, what, at), function()
      local row = assert(look(files, below)[id])
      assert.falsy((", " .. row.why):find(", " .. what .. " ", 1, true), "below: " .. row.why)
      row = look(files, at)[id]
      assert.truthy((", " .. row.why):find(", " .. what .. " ", 1, true), "at: " .. row.why)
      assert.equal(state, row.state)
    end)
  end

  it("has GPUs: how busy they are, who uses them, what their drivers report, and those that are lost", function()
    apply({ [DRIVER] = "NVRM\n", nvml = "xid 79\n", ["sys/class/drm/card3/device/vendor"] = "0x1a03\n" })
    local rows = rows_of({ "gpu", "0.02", "1" }, tree_env())
    assert.same({ 97, "ok" }, { rows["gpu gpu0"].utilization, rows["gpu gpu0"].state })
    local one = rows["gpu gpu1"]
    assert.same({ "critical", "XID 1", "XID 79" }, { one.state, one.why, one.who })
    assert.is_nil(rows["gpu card3"], "nothing is known of it")
    apply({ nvml = "xid 31\n" })
    assert.equal("XID of a program 1", rows_of({ "gpu", "0.02", "1" }, tree_env())["gpu gpu1"].why)
    local path = two_samples(gpu("power", 1e8), 50)
    assert.equal("[4711] 88%", rows_of({}, { KSTAT_SOURCE = path })["gpu gpu0"].who)
    os.remove(path)
    apply({ nvml = "lost 0\n" })
    local r = run.run({ "kstatlua", "use", "-j", "gpu", "0.02", "1", env = tree_env() })
    assert.truthy(r.out:find('"why":"no answer 1","who":"lost"', 1, true), r.out)
    assert.truthy(r.err:find("gpu0: lost", 1, true), r.err)
  end)

  it("has an Intel GPU at work while it does not sleep, and an AMD one as its driver says", function()
    local rows = look(function(n)
      return { ["sys/class/drm/card0/device/vendor"] = "0x1002\n",
        ["sys/class/drm/card0/device/gpu_busy_percent"] = "37\n", ["sys/class/drm/card1/device/vendor"] = "0x8086\n",
        ["sys/class/drm/card1/gt/gt0/rc6_residency_ms"] = n .. "\n" }
    end, 2500)
    assert.equal(37, rows["gpu card0"].utilization)
    assert.equal(75, rows["gpu card1"].utilization)
  end)

  it("has no limit for a busy disk that does not turn, and none for an idle one when all work waits", function()
    local rows = look(function(n) return { ["proc/diskstats"] = diskstats(n * 100, n) } end, 100)
    assert.equal("ok", rows["disk sda"].state)
    assert.equal(100, rows["disk sda"].utilization)
    rows = look(io_pressure, 50)
    assert.equal("critical", rows["disk sda"].state)
    assert.equal("ok", rows["disk sdb"].state)
    local function busy_for(busy)
      return look(function(n) return io_pressure(n, busy) end, 80)["disk sda"].state
    end
    assert.same({ "ok", "critical" }, { busy_for(39), busy_for(40) })
  end)

  it("does not take threads that a group's limit stops for threads that wait for a CPU", function()
    local function files(n)
      return { ["proc/stat"] = ("cpu0 %d 0 0 %d 0 0 0 0 0 0\n"):format(n * 1, n * 9),
        ["proc/pressure/cpu"] = pressure("cpu", "some")(n == 0 and 0 or 90)["proc/pressure/cpu"] }
    end
    local row = look(files, 100)["cpu all"]
    assert.same({ 10, "ok" }, { row.saturation, row.state })
  end)

  it("does not count single packets that nobody wants, nor caches of a group at its limit", function()
    assert.equal("ok", look(function(n) return eth0(0, n, n, 0) end, 9)["link eth0"].state)
    local function caches(n)
      local files = at_limit(n)
      files[GROUP .. "memory.current"] = "50\n"
      return files
    end
    assert.equal("ok", look(caches, 1000)["cgroup web.service"].state)
    local rows = look(function(n)
      local files = caches(n)
      files["proc/pressure/memory"] = pressure("memory", "some")(n)["proc/pressure/memory"]
      return files
    end, 40)
    assert.same({ "critical", "at limit 40", "web.service 4 times/s at its limit" },
      { rows["cgroup web.service"].state, rows["cgroup web.service"].why, rows["memory all"].who })
  end)

  it("shows a value beyond its limit in place of the first one", function()
    local function files(n)
      return { ["proc/stat"] = ("cpu0 0 0 0 %d 0 0 0 %d 0 0\n"):format(n == 0 and 0 or 1000 - 10 * n, n * 10) }
    end
    assert.equal("pressure", look(files, 9)["cpu all"].saturation_of)
    local row = look(files, 40)["cpu all"]
    assert.same({ 40, "steal", "%" }, { row.saturation, row.saturation_of, row.saturation_unit })
  end)

  it("says '-' and never 0 of what cannot be read", function()
    for _, path in ipairs({ "stat", "schedstat", "pressure", "meminfo", "vmstat", "interrupts", "net/softnet_stat" }) do
      linux.sh("rm -r " .. run.quote(tree .. "/proc/" .. path))
    end
    local rows = look(function() return {} end, 1)
    for _, id in ipairs({ "cpu all", "memory all" }) do
      for _, figure in ipairs({ "utilization", "saturation", "errors", "state" }) do
        assert.equal(cjson.null, rows[id][figure], id .. " " .. figure)
      end
    end
    assert.equal(cjson.null, rows["link lo"].utilization) -- has no speed
    local out = run.run({ "kstatlua", "use", "cpu", "0.01", "1",
      env = { KSTAT_PROC = tree .. "/proc", KSTAT_SYS = tree .. "/sys" } }).out
    assert.matches("\ncpu +all +%- +%- +%- +%-\n$", out)
  end)

  it("names the resources in one order, whatever their states are", function()
    local path = two_samples(pressure("memory", "full"), 50)
    local _, order = rows_of({}, { KSTAT_SOURCE = path })
    os.remove(path)
    local kinds, last = {}, nil
    for _, id in ipairs(order) do
      local kind = id:match("^%l+")
      kinds[#kinds + 1] = kind ~= last and kind or nil
      last = kind
    end
    assert.same({ "cpu", "memory", "swap", "disk", "link", "network", "table", "cgroup", "process" }, kinds)
  end)

  it("is the same over a recording, and shows each interval", function()
    local env = { KSTAT_PROC = tree .. "/proc", KSTAT_SYS = tree .. "/sys" }
    local path = os.tmpname()
    os.remove(path)
    for i, stalled in ipairs({ 0, 50, 50 }) do
      apply(pressure("memory", "full")(stalled))
      apply({ ["proc/uptime"] = ("%d.00 9.00\n"):format(5000 + 10 * i) })
      local r = run.run({ "kstatlua", "record", "-o", path, "1", "1", env = env })
      assert.equal("", r.err)
    end
    local r = run.run({ "kstatlua", "use", "-j", "-r", path, "memory", "10" })
    os.remove(path)
    assert.equal("", r.err)
    local reasons = {}
    for reason in r.out:gmatch('"why":"(.-)"') do
      reasons[#reasons + 1] = reason
    end
    assert.same({ "all stalled 50%", "" }, reasons)
  end)
end)

describe("kstatlua use of a narrow window", function()
  -- The lines of a capture of a full file system, of which a server with a long name says nothing.
  local function lines(columns)
    local samples = {}
    for i = 1, 2 do
      samples[i] = { capture.kstat("fs", 0, "/srv/a", "fs", 1, 0, i * 10,
        '"mount_point":"/srv/a/long/way/down/to/home","used":99,"available":1,"answered":0,' ..
        '"read_only":0,"options":"rw","device":"storage.example.org:/export/home"') }
    end
    local r = run.run({ "kstatlua", "use", "-x", "fs",
      env = { KSTAT_SOURCE = capture.file(samples), COLUMNS = columns } })
    assert.equal("", r.err)
    return r.out
  end

  it("shortens names in the middle, and breaks reasons at blanks, also in a pipe", function()
    assert.equal("resource name                         util saturation       errors state\n" ..
      "fs       /srv/a/long/way/down/to/home 99.0 99.0% space full      1 critical: space 99%, " ..
      "space full 99%, no answer 1 (storage.example.org:/export/home)\n", lines(""))
    assert.equal("resource name           util saturation      errors state\n" ..
      "fs       /srv/a/~o/home 99.0 99.0% space fu~      1 critical: space 99%, space\n" ..
      (" "):rep(52) .. "full 99%, no answer 1\n" .. (" "):rep(52) .. "(storage.example.org:/export\n" ..
      (" "):rep(52) .. "/home)\n", lines("80"))
  end)
end)

-- The recording was made on a virtual machine with Linux 6.1 and two CPUs: nginx in a group of its own answered a
-- container, a database committed, containers came and went with their links, file systems and groups, a backup ran
-- through a small group, programs were compiled, and the link of the container went down and up.
describe("kstatlua use of an hour of a machine that is busy and well", function()
  it("says nothing at any of 60 minutes", function()
    local r = run.run({ "kstatlua", "use", "-x", "-r", "spec/vectors/use/hour.rec", "60" })
    assert.equal(0, r.status)
    local minutes = 0
    for line in r.out:gmatch("[^\n]+") do
      minutes = minutes + (line:find("^all well: %d+ resources$") and 1 or 0)
      assert.truthy(line:find("^all well: ") or line:find("^resource "), line)
    end
    assert.equal(60, minutes)
  end)

  require("support.pty").it(it, pending)("says on a terminal that the recording has no processes", function()
    local r = run.shell(("script -qec %s /dev/null </dev/null"):format(
      run.quote(run.bin .. "/kstatlua use -x -r spec/vectors/use/hour.rec 3600")))
    local line = "use: this recording has no processes; record with: kstatlua record -o FILE"
    assert.truthy(r.out:find(line, 1, true), r.out)
  end)

  it("says to people who ask for processes that the recording has none, and shows the rest", function()
    local line = "use: this recording has no processes; record with: " ..
      "kstatlua record -o FILE '*' process 'process::*,fd' 10\n"
    for err, words in pairs({ [line] = { { "process" }, { "-x", "process" }, { "cpu", "process" } },
      [""] = { {}, { "cpu" }, { "-j" }, { "-j", "process" } } }) do
      for _, list in ipairs(words) do
        local command = { "kstatlua", "use", "-r", "spec/vectors/use/hour.rec", (table.unpack or unpack)(list) }
        local r = run.run(command)
        assert.equal(err, r.err)
        assert.equal(0, r.status)
        assert.truthy(r.out ~= "")
      end
    end
  end)

  it("has what came and went, as all others have it", function()
    local groups, busy = {}, 0
    local r = run.run({ "kstatlua", "use", "-j", "-r", "spec/vectors/use/hour.rec", "60" })
    for line in r.out:gmatch("[^\n]+") do
      local row = cjson.decode(line)
      groups[row.name] = row.resource == "cgroup" or nil
      busy = math.max(busy, row.resource == "cpu" and row.utilization or 0)
    end
    local n = 0
    for name in pairs(groups) do
      n = n + (name:find("^docker%-") and 1 or 0)
    end
    assert.is_true(n >= 5, n)
    assert.is_true(busy >= 40, busy)
  end)
end)

describe("kstatlua use of arrays", function()
  it("shows disks that are missing and paths that failed", function()
    local rows = rows_of({ "0.01", "1" },
      run.tree_env("storage"))
    assert.equal("disks missing 1", rows["disk md127"].why)
    assert.equal("paths failed 1", rows["disk dm-0"].why)
    assert.equal("ok", rows["disk dm-1"].state)
  end)
end)

describe("kstatlua use of a capture", function()
  after_each(capture.clean)

  -- Its rows; data: of the file system /home, and more kstats of both samples
  local function rows_with(data, ...)
    local samples = {}
    for i = 1, 2 do
      samples[i] = { capture.kstat("fs", 0, "/home", "fs", 1, 0, i * 10, '"mount_point":"/home",' .. data) }
      for _, k in ipairs({ ... }) do
        samples[i][#samples[i] + 1] = k(i)
      end
    end
    return rows_of({}, { KSTAT_SOURCE = capture.file(samples) })
  end

  local function space(used, more)
    return rows_with(('"used":%d,"available":%d%s'):format(used, 100 - used, more or ""))["fs /home"]
  end

  it("shows file systems that fill up, and full ones as saturated", function()
    assert.equal("ok", space(89).state)
    assert.same({ "warning", 0 }, { space(90).state, space(97).saturation })
    local full = space(98)
    assert.same({ "critical", "space full", 98 }, { full.state, full.saturation_of, full.saturation })
    local cd = space(100, ',"read_only":1,"options":"ro"')
    assert.same({ "ok", 100, cjson.null }, { cd.state, cd.utilization, cd.saturation })
    local inodes = space(1, ',"inodes":100,"inodes_used":98')
    assert.same({ "critical", "inodes", 98 }, { inodes.state, inodes.utilization_of, inodes.utilization })
  end)

  it("shows errors of file systems, and that one is dead", function()
    assert.equal("no answer 1", rows_with('"answered":0')["fs /home"].why)
    assert.equal("read only 1", space(1, ',"read_only":1,"options":"rw,noatime","fs_type":"ext4"').why)
    assert.equal("ok", space(1, ',"read_only":1,"options":"rw","fs_type":"squashfs"').state)
    local rows = rows_with('"device_name":"sda1"', function(i)
      return capture.kstat("ext4", 0, "sda1", "fs_detail", 1, 0, i * 10, '"errors":2')
    end, function(i)
      return capture.kstat("btrfs", 0, "0a0b", "fs_detail", 1, 0, i * 10, '"errors":0,"devices_missing":1')
    end)
    assert.equal("errors 2", rows["fs /home"].why)
    assert.equal("devices missing 1", rows["fs btrfs 0a0b"].why)
    assert.is_nil(rows["fs ext4 sda1"])
  end)

  it("shows a carrier that came or went, drops of a queueing discipline, and no link switched off", function()
    local function link(state, changes)
      return function(i)
        return capture.kstat("link", 0, "eth7", "net", 1, 0, i * 10, ('"admin_state":%d,"carrier_changes":%d,' ..
          '"ipackets64":0,"opackets64":%d,"noxmtbuf":0'):format(state, i * changes, i * 98))
      end
    end
    assert.is_nil(rows_with('"used":1', function(i)
      return i == 2 and capture.kstat("link", 0, "eth7", "net", 1, 15, 20, '"carrier_changes":2') or
        capture.named("x", 1, 10, '"n":1')
    end)["link eth7"], "came within the interval")
    local function qdisc(i)
      return capture.kstat("qdisc", 0, "eth7", "qdisc", 1, 0, i * 10, ('"drops":%d'):format(i * 14))
    end
    assert.equal("carrier changes 2", rows_with('"used":1', link(1, 2))["link eth7"].why)
    assert.equal("dropped 12.5%", rows_with('"used":1', link(1, 0), qdisc)["link eth7"].why)
    assert.is_nil(rows_with('"used":1', link(0, 2), qdisc)["link eth7"])
  end)

  it("says nothing of carriers of links without a cable, which come and go with containers", function()
    local function said(name, kind)
      return rows_with('"used":1', function(i)
        return capture.kstat("link", 0, name, "net", 1, 0, i * 10,
          ('"link_state":0,"carrier_changes":%d%s'):format(i, kind and (',"kind":"%s"'):format(kind) or ""))
      end)["link " .. name].why
    end
    for _, name in ipairs({ "veth12ab", "tap0", "docker0", "br-12ab" }) do
      assert.equal("", said(name))
    end
    assert.same({ "", "carrier changes 1", "carrier changes 1" }, { said("eth0", "veth"), said("bond0", "bond"),
      said("eno1") })
  end)

  -- What is said of processes; ...: functions of the sample that return kstats
  local function process(pid, name, data)
    return function(i)
      return capture.kstat("process", pid, name, "process", 1, 0, i * 10, type(data) == "function" and data(i) or data)
    end
  end

  it("quotes a name that looks like others with their figures", function()
    local list = {}
    for pid = 100, 149 do
      list[pid - 98] = process(pid, "sh", '"state":"Z","ppid":7,"size":0')
    end
    for name, shown in pairs({ [ [[a[1] 99%, x\"]] ] = [=["a[1] 99%, x\""]=], ["a［1］，99％"] = '"a［1］，99％"',
      a = "a" }) do
      list[1] = process(7, name, '"state":"S","ppid":1,"size":9')
      local row = rows_with('"used":1', (table.unpack or unpack)(list))["process all"]
      assert.equal("50 of " .. shown .. "[7]", row.who)
    end
  end)

  it("names the parent of zombies, and processes that are stuck while no disk is busy", function()
    local list = { process(7, "java", '"state":"S","ppid":1,"size":9') }
    for pid = 100, 149 do
      list[#list + 1] = process(pid, "sh", '"state":"Z","ppid":7,"size":0')
    end
    local row = rows_with('"used":1', (table.unpack or unpack)(list))["process all"]
    assert.same({ "zombies 50", "50 of java[7]", "warning" }, { row.why, row.who, row.state })
    table.remove(list)
    assert.equal("ok", rows_with('"used":1', (table.unpack or unpack)(list))["process all"].state)

    local function writer(busy, first, time, wchan, served)
      wchan = wchan or wchan == nil and "folio_wait_bit"
      return rows_with('"used":1', process(8, "dd", function(i)
        return ('"state":"%s","ppid":1,"size":9,"utime":0,"stime":%d,"minf":3'):format(i == 1 and first or "D",
          i * time) .. (wchan and (',"wchan":"%s"'):format(wchan) or "")
      end), function(i)
        return capture.kstat("sd", 0, "sda", "disk", 3, 0, i * 10, ('"reads":%d,"writes":0,"rtime":%d.5,' ..
          '"wtime":0.0,"nread":1,"nwritten":0,"rlentime":0.0,"wlentime":0.0,"rcnt":9,"wcnt":0'):format(
          i * (served or 9), i * busy))
      end)["process all"]
    end
    row = writer(0, "D", 0)
    assert.same({ "stuck 1", "dd[8] in folio_wait_bit", "critical" }, { row.why, row.who, row.state })
    assert.same({ "", "", "" }, { writer(9, "D", 0).why, writer(0, "S", 0).why, writer(0, "D", 1).why })
    row = writer(0, "D", 0, "rpc_wait_bit_killable")
    assert.same({ "stuck 1", "dd[8] in rpc_wait_bit_killable" }, { row.why, row.who })
    assert.equal("", writer(0, "D", 0, "__refrigerator").why, "frozen, as docker pause does")
    assert.equal("", writer(0, "D", 0, "hrtimer_nanosleep").why, "frozen where it slept")
    assert.equal("", writer(0, "D", 0, false).why, "who may not see where it waits does not see whether it is frozen")
    assert.equal("stuck 1", writer(9, "D", 0, nil, 0).why, "the busy disk serves nobody")
    assert.equal("stuck 1", writer(9, "D", 0, "nfs_wait_bit_killable").why, "the busy disk is another")
  end)

  it("says of nobody within a moment that he is stuck, because CPU time comes in ticks", function()
    local function said(seconds)
      local samples = {}
      for i = 1, 2 do
        samples[i] = { capture.kstat("process", 8, "python3", "process", 1, 0, i * seconds,
          '"state":"D","ppid":1,"size":9,"utime":0,"stime":0,"minf":3,"wchan":"folio_wait_bit"') }
      end
      return rows_of({}, { KSTAT_SOURCE = capture.file(samples) })["process all"].why
    end
    assert.same({ "", "stuck 1" }, { said(0.05), said(1) })
  end)

  it("takes what is counted once in a day for a warning, and once in an hour for critical", function()
    local function states(seconds, counted)
      local samples = {}
      for i = 1, 2 do
        samples[i] = { capture.kstat("link", 0, "eth0", "net", 1, 0, i * seconds,
          ('"ierrors":%d,"oerrors":0'):format(i * counted)),
          capture.kstat("link", 0, "eth1", "net", 1, 0, i * seconds, ('"carrier_changes":%d'):format(i * counted)),
          capture.kstat("tcp", 0, "tcp_ext", "mib2", 1, 0, i * seconds, ('"ListenOverflows":%d'):format(i * counted)) }
      end
      local rows = rows_of({}, { KSTAT_SOURCE = capture.file(samples) })
      return { rows["link eth0"].state, rows["link eth1"].state, rows["network all"].state }
    end
    assert.same({ "warning", "warning", "warning" }, states(86400, 1))
    assert.same({ "critical", "critical", "critical" }, states(86400, 24))
    assert.same({ "critical", "critical", "critical" }, states(10, 1))
  end)

  it("names no group that moves less than a tenth of what the slow disk does", function()
    local function who(bytes)
      return rows_with('"used":1', function(i)
        return capture.kstat("sd", 0, "sda", "disk", 3, 0, i * 10, ('"reads":%d,"writes":0,"rtime":%d.0,"wtime":0.0,' ..
          '"nread":%d,"nwritten":0,"rlentime":%d.0,"wlentime":0.0,"rcnt":0,"wcnt":0,' ..
          '"rlastupdate":0.0,"wlastupdate":0.0'):format(i * 100, i * 9, i * 1e6, i * 200))
      end, function(i)
        return capture.kstat("cgroup", 7, "cron", "cgroup", 1, 0, i * 10, ('"nread":%d,"nwritten":0'):format(i * bytes))
      end)["disk sda"].who
    end
    assert.equal("cron 10000B/s", who(1e5))
    assert.matches("^nobody can be named", who(9e4))
  end)

  it("names the process that is near its limit of descriptors, and a clock that nobody keeps any more", function()
    local function with(open, frequency)
      local rows = rows_with('"used":1', function(i)
        return capture.kstat("process", 9, "web,fd", "process_fd", 1, 0, i * 10,
          ('"open":%d,"limit":1000'):format(open))
      end, function(i)
        return capture.kstat("unix", 0, "clock", "misc", 1, 0, i * 10,
          ('"synchronized":0,"frequency":%d'):format(frequency))
      end)
      return rows["process all"], rows["clock all"]
    end
    local row, clock = with(899, 0)
    assert.same({ "ok" }, { row.state, clock })
    row, clock = with(990, -7)
    assert.same({ "descriptors 99%, descriptors used up 99%", "web[9]", "not synchronized 1" },
      { row.why, row.who, clock.why })
  end)

  it("names the address to which no port is left, and the user who connects there", function()
    local function ports(used)
      return rows_with('"used":1', function(i)
        return capture.kstat("ports", 0, "tcp", "socket", 1, 0, i * 10,
          ('"ports":28232,"used":%d,"to":"10.0.0.1:443","uid":33'):format(used))
      end)["table ports"]
    end
    assert.equal("ok", ports(20000).state)
    local row = ports(28232)
    assert.same({ "critical", "entries 100%, full 100%", "10.0.0.1:443 by user 33" }, { row.state, row.why, row.who })
  end)

  it("names the user who is near his limit of threads, and never root", function()
    local function user(uid, threads)
      local list = {}
      for pid = uid + 1, uid + 2 do
        list[#list + 1] = process(pid, "sh", ('"state":"S","euid":%d,"nlwp":%d'):format(uid, threads / 2))
        list[#list + 1] = function(i)
          return capture.kstat("process", pid, "sh,fd", "process_fd", 1, 0, i * 10, '"open":1,"threads_limit":100')
        end
      end
      return rows_with('"used":1', (table.unpack or unpack)(list))["process all"]
    end
    assert.same({ "", "" }, { user(1000, 88).why, user(0, 200).why })
    local row = user(1000, 90)
    assert.same({ "warning", "threads of a user 90%", "user 1000 with 90 of 100" }, { row.state, row.why, row.who })
    assert.equal("critical", user(1000, 100).state)
  end)

  it("names processes that use the CPUs, the disk and memory", function()
    local function uses(i)
      return ('"state":"R","size":9,"utime":%d,"stime":0,"rssize":5000000,"majf":%d,"nlwp":1'):format(i * 9e9, i * 40)
    end
    local rows = rows_with('"used":1', process(9, "gzip", uses), function(i)
      return capture.kstat("pressure", 0, "cpu", "pressure", 1, 0, i * 10, ('"some_nsec":%d'):format(i * 9e9))
    end, function(i)
      return capture.kstat("pressure", 0, "memory", "pressure", 1, 0, i * 10, ('"some_nsec":%d'):format(i * 3e9))
    end, function(i)
      return capture.kstat("cgroup", 5, "web.service", "cgroup", 1, 0, i * 10, ('"oom_kills":%d'):format(i))
    end, function(i)
      return capture.kstat("unix", 0, "vm_events", "misc", 1, 0, i * 10, ('"oom_kill":%d'):format(i))
    end)
    assert.same({ "pressure 90%", "gzip[9] 90%" }, { rows["cpu all"].why, rows["cpu all"].who })
    local two = '"state":"S","size":9,"nlwp":2'
    local pids = rows_with('"used":1', process(1, "init", '"state":"S","nlwp":3'), process(2, "sh", two),
      process(3, "sh", two), function(i)
        return capture.kstat("unix", 0, "tables", "misc", 1, 0, i * 10, '"threads":99,"pid_max":100')
      end)["table pids"]
    assert.same({ "entries 99%, full 99%", "sh 4 threads, init 3 threads" }, { pids.why, pids.who })
    assert.same({ "pressure 30%, oom kills 1", "gzip[9] 4 faults/s, web.service" },
      { rows["memory all"].why, rows["memory all"].who })
  end)

  it("names no bystander where each process has less than a tenth, nor zombies that were reaped at once", function()
    local list = { function(i)
      return capture.kstat("pressure", 0, "cpu", "pressure", 1, 0, i * 10, ('"some_nsec":%d'):format(i * 9e9))
    end }
    for pid = 1, 60 do
      list[pid + 1] = process(pid, "cc1", function(i)
        return ('"state":"%s","ppid":1,"utime":%d,"stime":0'):format(i == 2 and "Z" or "R", i * 1e9)
      end)
    end
    local rows = rows_with('"used":1', (table.unpack or unpack)(list))
    assert.same({ "nobody can be named: no process has a tenth of it", "" },
      { rows["cpu all"].who, rows["process all"].why })
  end)

  -- CPUs for which somebody waits, a small process that is seen (pid), and what the kernel says of the others.
  local function among_others(pid, tables)
    return rows_with('"used":1', process(pid, "sh", function(i)
      return ('"state":"R","ppid":0,"utime":%d,"stime":0'):format(i * 1e8)
    end), function(i)
      return capture.kstat("pressure", 0, "cpu", "pressure", 1, 0, i * 10, ('"some_nsec":%d'):format(i * 95e8))
    end, function(i)
      return capture.kstat("cpu", 0, "sys", "misc", 1, 0, i * 10,
        ('"cpu_nsec_user":%d,"cpu_nsec_kernel":0,"cpu_nsec_idle":0'):format(i * 1e10))
    end, function(i)
      return capture.kstat("cgroup", 1, "/", "cgroup", 1, 0, i * 10, '"memory":1,"memory_max":2')
    end, function(i)
      return capture.kstat("unix", 0, "tables", "misc", 1, 0, i * 10, tables)
    end)
  end

  it("names no process that is seen where those that use most are not, and says how many these are", function()
    for tables, said in pairs({ ['"processes":9,"own_pids":1'] = "nobody in this container",
      ['"processes":9,"own_pids":0'] = "nobody can be named: 8 processes are not seen",
      ['"processes":1,"own_pids":0'] = "nobody can be named: no process has a tenth of it" }) do
      assert.equal(said, among_others(7, tables)["cpu all"].who)
    end
    assert.equal("nobody can be named: no process has a tenth of it",
      among_others(1, '"processes":9,"own_pids":0')["cpu all"].who)
  end)

  it("has the limits of its own group first in a container, and marks what is the host's", function()
    local rows, order = among_others(1, '"processes":9,"own_pids":1')
    assert.same({ "cgroup /", "fs /home", "network all", "process all", "cpu all", "memory all" }, order)
    assert.equal("critical", rows["cpu all"].state)
    local samples = {}
    for i = 1, 2 do
      samples[i] = { capture.kstat("unix", 0, "tables", "misc", 1, 0, i * 10,
        '"own_pids":1,"files":99,"files_max":100') }
    end
    local r = run.run({ "kstatlua", "use", "table", env = { KSTAT_SOURCE = capture.file(samples) } })
    assert.matches("\ntable +files [^\n]* critical, of the host: entries 99%%, full 99%% %(nobody can be", r.out)
  end)

  it("has a row for another network name space while its listeners drop connections, and names its process", function()
    local function elsewhere(dropped)
      return rows_with('"used":1', function(i)
        return capture.kstat("netns", 0, "4026532177", "namespace", 1, 0, i * 10,
          ('"pid":9,"fname":"nginx","ListenOverflows":%d,"ListenDrops":%d'):format(i * dropped, i * dropped))
      end)["network of nginx[9]"]
    end
    assert.is_nil(elsewhere(0))
    local row = elsewhere(70)
    assert.same({ "critical", "listen overflows 70", "nginx[9]" }, { row.state, row.why, row.who })
  end)

  it("names the one CPU that is full where the others are not, and keeps quiet about it where all are", function()
    local function state(other)
      local samples = {}
      for i = 1, 2 do
        samples[i] = {}
        for cpu, busy in pairs({ [0] = other, 10 }) do
          table.insert(samples[i], capture.kstat("cpu", cpu, "sys", "misc", 1, 0, i * 10,
            ('"cpu_nsec_user":%d,"cpu_nsec_kernel":0,"cpu_nsec_idle":%d'):format(i * busy * 1e9,
              i * (10 - busy) * 1e9)))
        end
      end
      local r = run.run({ "kstatlua", "use", "cpu", env = { KSTAT_SOURCE = capture.file(samples) } })
      return r.out:match("\ncpu [^\n]* (ok[^\n]*)")
    end
    assert.same({ "ok, cpu1 100%", "ok" }, { state(1), state(9) })
  end)

  it("says since when something is not well, by what was recorded before and by the reports before", function()
    local began = tonumber(run.read_file("spec/vectors/past/faults.times"):match("disk (%d+)"))
    local at = os.date("%Y-%m-%d %H:%M:%S", began + 20)
    local r = run.run({ "kstatlua", "use", "-x", "-r", "spec/vectors/past/faults.rec", "--at", at, "disk" })
    assert.matches("critical: all stalled [^\n]* since %d%d:%d%d:%d%d\n$", r.out)
    r = run.run({ "kstatlua", "use", "-x", "disk",
      env = { KSTAT_AT = at, KSTAT_SOURCE = "spec/vectors/past/faults.rec" } })
    assert.matches("critical: all stalled [^\n]* since %d%d:%d%d:%d%d\n$", r.out)
    r = run.run({ "kstatlua", "use", "-x", "-r", "spec/vectors/past/faults.rec", "--from", at, "--to",
      os.date("%Y-%m-%d %H:%M:%S", began + 25), "disk", "1" })
    assert.matches("critical: all stalled [^\n]*%)\n", r.out)
    assert.matches(" since before %d%d:%d%d:%d%d\n$", r.out)
  end)

  it("says what a file system answers that shut itself down, and nothing of a tmpfs that is full by design", function()
    local row = rows_with('"answered":0,"state":"Input/output error","device":"/dev/sdb1"')["fs /home"]
    assert.same({ "critical", "no answer 1", "Input/output error of /dev/sdb1" }, { row.state, row.why, row.who })
    assert.equal("ok", space(100, ',"fs_type":"tmpfs","capacity":65536').state)
    assert.equal("critical", space(100, ',"fs_type":"tmpfs","capacity":1048576').state)
  end)

  it("takes names of groups and numbers of parents as they are, which may be no selectors", function()
    local function group(instance, name, allowed)
      return function(i)
        return capture.kstat("cgroup", instance, name, "cgroup", 1, 0, i * 10, '"memory":1')
      end, function(i)
        return capture.kstat("cgroup_io", instance, name, "cgroup_io", 1, 0, i * 10,
          ('"sda_nread":%d,"sda_nread_max":%d'):format(i * 100, allowed))
      end
    end
    local kstats = { group(1, "a[b", 100) }
    kstats[3], kstats[4] = group(2, "*", 20)
    kstats[5], kstats[6] = group(2, "web", 11)
    for pid = 1, 50 do
      kstats[#kstats + 1] = process(pid, "z", '"state":"Z","ppid":1.5')
    end
    local rows = rows_with('"used":1', (table.unpack or unpack)(kstats))
    assert.same({ 10, 50 }, { rows["cgroup a[b"].utilization, rows["cgroup *"].utilization })
    assert.same({ "zombies 50", "nobody can be named: their parent is not seen" },
      { rows["process all"].why, rows["process all"].who })
  end)

  it("passes over values of a wrong type", function()
    local rows = rows_with('"used":"much",' ..
      '"available":[1],"read_only":"no","device_name":7,"mount_point":1,"inodes":true')
    assert.equal(cjson.null, (rows["fs /home"] or rows["fs 1"]).utilization)
  end)

  it("of illumos shows CPUs, disks and links", function()
    local rows = rows_of({}, { KSTAT_SOURCE = "spec/vectors/kstat/host.jsonl" })
    -- of the six CPUs together: user and kernel, of these and idle, in nanoseconds
    assert.equal("61.7", ("%.1f"):format(rows["cpu all"].utilization))
    assert.equal("17.6", ("%.1f"):format(rows["disk sd0"].utilization))
    assert.equal(cjson.null, rows["memory all"].utilization)
  end)
end)

describe("kstatlua use", function()
  local small = run.tree_env("small")

  it("explains every limit with the kernel's file and the reason", function()
    local limits = require("kstat.use.resources").limits
    local r = run.run({ "kstatlua", "use", "--explain" })
    assert.same({ "", 0 }, { r.err, r.status })
    for _, limit in ipairs(limits) do
      assert.truthy(r.out:find(("  %s: %s, "):format(limit[2], limit[3]), 1, true), limit[3])
      assert.truthy(r.out:find("\n    " .. limit.file .. "\n    " .. limit.reason .. "\n", 1, true), limit[3])
      assert.is_true(limit[2] ~= "utilization" or limit.critical == nil, limit[3] .. ": utilization is no emergency")
    end
  end)

  it("explains which limits' figures are not known here", function()
    local copy = linux.copy()
    use.apply(copy, { ["proc/pressure/memory"] = false })
    local r = run.run({ "kstatlua", "use", "--explain", env = use.env(copy) })
    linux.remove(copy)
    assert.same({ "", 0 }, { r.err, r.status })
    assert.matches("\n  saturation: pressure, warning from 20%%[^\n]*; not known here\n    /proc/pressure/mem", r.out)
    for _, known in ipairs({ "saturation: swapped in", "saturation: pressure, warning from 75%",
      "saturation: all stalled, critical from 5%" }) do
      assert.truthy(r.out:find("\n  " .. known, 1, true), known)
      assert.falsy(r.out:match("\n  " .. known:gsub("%%", "%%%%") .. "[^\n]*; not known"), known)
    end
  end)

  -- What a capture has is there whether it was asked for or not: a machine lacks a statistic that no selector names.
  it("asks for all that its rules read, where a selector says what is read of a kstat", function()
    tree = linux.copy()
    for _, case in ipairs(LIMITS) do
      apply(case[6](case[5]))
    end
    apply(queue(1))
    apply({ ["sys/block/sda/queue/read_ahead_kb"] = "128\n" })
    local r = run.run({ "kstatlua", "-e", [[
      local figures, read = require("kstat.use.figures"), {}
      local function watch(name, most)
        local was = figures[name]
        figures[name] = function(k, ...)
          for i = 1, k and math.min(select("#", ...), most) or 0 do
            -- A group's statistics of each disk have its name in front.
            read[k.class .. " " .. select(i, ...):gsub("^sda_", "")] = true
          end
          return was(k, ...)
        end
      end
      watch("now", 1) watch("levels", 99) watch("count", 99)
      local resources = require("kstat.use.resources")
      local asked, bounded = {}, {}
      for _, selector in ipairs(resources.select({})) do
        for statistic in (selector.reads or ""):gmatch("[^,]+") do
          asked[selector.class .. " " .. statistic], bounded[selector.class] = true, true
        end
      end
      local ks = kstat.open({ only = resources.select({}) })
      local prev = ks:sample((table.unpack or unpack)(resources.select({})))
      ks:update()
      local now = ks:sample((table.unpack or unpack)(resources.select({})))
      for _, one in ipairs(resources.measure(now - prev, prev, {})) do
        for _, who in pairs(one.who) do
          local name = type(who) == "function" and who()
        end
      end
      local n = 0
      for pair in pairs(read) do
        n = n + (asked[pair] and 1 or 0)
        if bounded[pair:match("^%S+")] and not asked[pair] then print(pair .. " is not asked for") end
      end
      print(n > 20)
    ]], env = tree_env() })
    linux.remove(tree)
    assert.same({ "", "true\n", 0 }, { r.err, r.out, r.status })
  end)

  -- Those that trees cannot have are in specs of their own.
  it("has a spec for every limit", function()
    local known = { ["process descriptors"] = true, ["process descriptors used up"] = true, ["process stuck"] = true,
      ["process zombies"] = true, ["process threads of a user"] = true,
      ["process threads used up"] = true, ["process blocked"] = true, ["clock not synchronized"] = true,
      ["disk disks missing"] = true, ["disk paths failed"] = true, ["link carrier changes"] = true,
      ["gpu no answer"] = true, ["gpu XID"] = true, ["gpu XID of a program"] = true }
    for _, case in ipairs(LIMITS) do
      known[case[1]:match("^%l+") .. " " .. case[2]] = true
    end
    for _, limit in ipairs(require("kstat.use.resources").limits) do
      local limited, name = limit.warning or limit.critical, limit[1] .. " " .. limit[3]
      assert.is_true(not limited or limit[1] == "fs" or known[name] or false,
        name .. ": no case in LIMITS of spec/tools/use_spec.lua")
    end
  end)

  it("has for every limit a line in doc/use.md, or a pair that stands for one", function()
    -- These have neither: their cases are all there is of them.
    local known = { ["cpu waiting"] = true, ["cpu waiting for one"] = true, ["disk queue full"] = true,
      ["disk pool not online"] = true, ["fs devices missing"] = true, ["link speed"] = true, ["link errors"] = true,
      ["table promised up to the limit"] = true, ["cgroup oom kills"] = true, ["memory pressure"] = true,
      ["process threads of a user"] = true, ["process threads used up"] = true }
    for _, name in ipairs({ "throttled by heat", "throttled by power", "no answer", "uncorrected", "corrected",
      "rows not replaced", "rows to replace", "XID", "XID of a program", "lanes missing" }) do
      known["gpu " .. name] = true
    end
    for _, pair in ipairs(dofile("spec/vectors/use/pairs.lua")) do
      known[pair.rule:match("^[^,]+")] = true
    end
    local page = run.read_file("doc/use.md")
    for _, limit in ipairs(require("kstat.use.resources").limits) do
      local limited, name = limit.warning or limit.critical, limit[1] .. " " .. limit[3]
      local quoted = page:find("| " .. limit[1] .. " [^|\n]*" .. limit[3]:gsub("%p", "%%%0"))
      assert.is_true(not limited or known[name] or quoted ~= nil,
        name .. ": no line in doc/use.md, and no pair in spec/vectors/use/pairs.lua")
    end
  end)

  it("says of the sicknesses of doc/use.md what that page quotes, as far as its limits are concerned", function()
    local limits, rows = {}, 0
    for _, limit in ipairs(require("kstat.use.resources").limits) do
      limits[limit[1] .. " " .. limit[3]] = limit
    end
    local row = "\n|[^|]+|[^|]+| (%l+) [^|]- (%l+): ([^|]+) |"
    for resource, state, reasons in run.read_file("doc/use.md"):gmatch(row) do
      local worst = 0
      for reason in reasons:gsub(" %b()", ""):gsub("; .*", ""):gmatch("[^,]+") do
        local what, value = reason:match("^ ?(%D-) ([%d.]+)")
        local limit = assert(limits[resource .. " " .. tostring(what)], reason)
        value = tonumber(value)
        worst = math.max(worst, limit.critical and value >= limit.critical and 2 or 1)
        assert.is_true(value >= (limit.warning or limit.critical), reason)
      end
      assert.equal(({ "warning", "critical" })[worst], state, reasons)
      rows = rows + 1
    end
    assert.is_true(rows >= 30, rows)
  end)

  it("shows with -x what is not ok, or that all is", function()
    local r = run.run({ "kstatlua", "use", "-x", "0.01", "1",
      env = run.tree_env("storage") })
    assert.matches("^resource name +util saturation +errors state\n", r.out)
    assert.equal(3, select(2, r.out:gsub("\n", "")))
    r = run.run({ "kstatlua", "use", "-x", "0.01", "1", env = small })
    assert.matches("^resource[^\n]*\nall well: 19 resources\n$", r.out)
    assert.equal("", run.run({ "kstatlua", "use", "-jx", "0.01", "1", env = small }).out)
  end)

  it("ends as plugins of monitoring do with --check, and names the culprit", function()
    local copy = linux.copy()
    local function checked(...)
      local r = run.run({ "kstatlua", "use", "--check", "0.01", "1", env = use.env(copy), ... })
      return r.out, r.status
    end
    assert.same({ "USE OK - all well: 19 resources\n", 0 }, { checked() })
    use.apply(copy, { ["proc/sys/fs/file-nr"] = "91 0 100\n" })
    local out, status = checked()
    assert.same({ "USE WARNING - table files: ", 1 }, { out:match("^USE WARNING %- table files: "), status })
    assert.same({ "USE OK - nothing is critical\n", 0 }, { checked("--check=critical") })
    assert.same({ "USE OK - all well: 8 disks\n", 0 }, { checked("disk") })
    use.apply(copy, { ["proc/sys/fs/file-nr"] = "99 0 100\n" })
    out, status = checked("--check=critical")
    assert.same({ "USE CRITICAL - table files: ", 2 }, { out:match("^USE CRITICAL %- table files: "), status })
    assert.same({ "USE UNKNOWN - nothing has that name\n", 3 }, { checked("nosuch") })
    assert.same({ "USE UNKNOWN - standard error says why\n", 3 }, { checked("--bogus") })
    assert.same({ "USE UNKNOWN - standard error says why\n", 3 }, { checked("-r", "/nowhere") })
    assert.equal(0, select(2, checked("--help")))
    linux.remove(copy)
  end)

  it("says once that the kernel does not tell pressure", function()
    local copy = linux.copy()
    use.apply(copy, { ["proc/pressure"] = false })
    local r = run.run({ "kstatlua", "use", "-x", "0.01", "2", env = use.env(copy) })
    linux.remove(copy)
    assert.equal("use: pressure is not known; the kernel has it with psi=1\n", r.err)
  end)

  it("takes resources and names, with -x where they are well, too", function()
    local function said(...)
      local words = { "kstatlua", "use", ... }
      words[#words + 1], words[#words + 2], words.env = "0.01", "1", small
      local r = run.run(words)
      return r.out:match("^resource[^\n]*\n(.*)$"), r.err, r.status
    end
    assert.same({ "all well: 8 disks\n", "", 0 }, { said("-x", "disk") })
    assert.same({ "all well: 1 resource\n", "", 0 }, { said("-x", "cpu") })
    assert.same({ "all well: 9 resources\n", "", 0 }, { said("-x", "disk", "cpu") })
    assert.same({ "", "use: nothing here is called 'dsk'; did you mean 'disk'?\n", 1 }, { said("-x", "dsk") })
    assert.matches("^disk +sda [^\n]*\n$", (said("sda")))
    local r = run.run({ "kstatlua", "use", "/", "0.01", "1" })
    assert.same({ "", 0 }, { r.err, r.status })
    assert.matches("^resource[^\n]*\nfs +/ [^\n]*\n$", r.out)
  end)

  it("has colours on request, and by itself on terminals only", function()
    local env = run.tree_env("storage", { TERM = "xterm" })
    local r = run.run({ "kstatlua", "use", "--color=always", "md127", "0.01", "1", env = env })
    assert.matches(" \27%[31mcritical: disks missing 1\27%[0m\n$", r.out)
    assert.falsy(run.run({ "kstatlua", "use", "md127", "0.01", "1", env = env }).out:find("\27", 1, true))
    r = run.run({ "kstatlua", "use", "--color=blue", env = env })
    assert.same({ 2, "use: --color takes always, never or auto, not 'blue'; 'kstatlua use --help' explains\n" },
      { r.status, r.err })
    local function on_terminal(before)
      return run.shell(("%s KSTAT_PROC=%s KSTAT_SYS=%s script -qec %s /dev/null </dev/null"):format(before,
        env.KSTAT_PROC, env.KSTAT_SYS, run.quote(run.bin .. "/kstatlua use md127 0.01 1"))).out
    end
    if run.shell("script -qec true /dev/null </dev/null").status == 0 then
      assert.truthy(on_terminal("TERM=xterm"):find("\27[31mcritical", 1, true))
      assert.falsy(on_terminal("TERM=xterm NO_COLOR=1"):find("\27", 1, true))
      assert.falsy(on_terminal("TERM=dumb"):find("\27", 1, true))
    end
  end)

  it("shows with --watch each report in place of the one before, and only what is not ok in a low window", function()
    local function frames(rows)
      local r = run.run({ "kstatlua", "use", "--watch", "0.01", "2",
        env = run.tree_env("storage", { COLUMNS = "90", LINES = rows }) })
      assert.same({ "", 0 }, { r.err, r.status })
      return r.out
    end
    local frame = "%S[^\n]* LIVE %S+[^\n]*\n resource name [^\n]*\n"
    assert.matches("^" .. frame .. " cpu +all .*\n\n" .. frame .. " cpu +all .*\n\n$", frames("60"))
    assert.matches("^" .. frame ..
      " disk +dm%-0 [^\n]*\n disk +md127 [^\n]*disks missing 1\n %d+ more, which are ok\n\n", frames("6"))
  end)

  it("has metrics whose labels do not change with the values", function()
    local function labels(env)
      local list = {}
      local out = run.run({ "kstatlua", "use", "--openmetrics", "cpu", env = env }).out
      for name, text in out:gmatch("\n([%w_]+){(.-)}") do
        list[#list + 1] = name .. text
      end
      return list
    end
    tree = linux.copy()
    local function steal(n)
      return { ["proc/stat"] = ("cpu0 0 0 0 %d 0 0 0 %d 0 0\n"):format(n == 0 and 0 or 1000 - 10 * n, n * 10) }
    end
    local low, high = two_samples(steal, 1), two_samples(steal, 90)
    local expected = labels({ KSTAT_SOURCE = low })
    assert.is_true(#expected >= 3)
    assert.same(expected, labels({ KSTAT_SOURCE = high }))
    os.remove(low)
    os.remove(high)
    linux.remove(tree)
  end)
end)
