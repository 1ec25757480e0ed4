--- Writes a tree of /proc and /sys of a large NUMA machine, for specs and benchmarks. It is too large to be kept.
--
--     lua5.4 spec/support/large_tree.lua DIRECTORY [CPUS [DISKS [NODES]]]
--
-- makes DIRECTORY/proc and DIRECTORY/sys. What the files hold follows from the numbers alone; counters of CPU, disk
-- or node n are multiples of n + 1. Processes and control groups (version 2) are there if they are asked for.
local M = {}

--- How large the machine is if nobody says otherwise.
M.defaults = { cpus = 128, disks = 64, nodes = 4, processes = 0, cgroups = 0 }

local function quote(s)
  return "'" .. s:gsub("'", "'\\''") .. "'"
end

-- Collects files and writes them at the end, after one mkdir for all of their directories.
local function writer(dir)
  local files, dirs = {}, {}
  local function put(path, ...)
    files[#files + 1] = { dir .. "/" .. path, table.concat({ ... }, "\n") .. "\n" }
    dirs[dir .. "/" .. path:match("^(.*)/")] = true
  end
  local function finish()
    local list = io.popen("xargs -d '\\n' mkdir -p --", "w")
    for name in pairs(dirs) do
      list:write(name, "\n")
    end
    list:close()
    for _, file in ipairs(files) do
      local f = assert(io.open(file[1], "w"))
      f:write(file[2])
      f:close()
    end
  end
  return put, finish
end

-- A word times the number of something: "0 1 2 ...", each made by a function, after a heading.
local function row(heading, n, f)
  local cells = { heading }
  for i = 0, n - 1 do
    cells[#cells + 1] = f(i)
  end
  return table.concat(cells, " ")
end

-- The name of disk n: sda, sdb, ... sdz, sdaa.
local function disk_name(n)
  local letters = ""
  repeat
    n, letters = math.floor(n / 26) - 1, string.char(97 + n % 26) .. letters
  until n < 0
  return "sd" .. letters
end

local function put_cpus(put, o)
  local stat, sched, info = { row("cpu", 10, function(i) return 1000 * o.cpus * (i + 1) end) }, {}, {}
  for c = 0, o.cpus - 1 do
    local node = math.floor(c * o.nodes / o.cpus)
    local cpu = "sys/devices/system/cpu/cpu" .. c
    stat[#stat + 1] = row("cpu" .. c, 10, function(i) return 1000 * (i + 1) + c end)
    sched[#sched + 1] = ("cpu%d 0 0 0 0 0 0 %d %d %d"):format(c, 5000000 * (c + 1), 2500000 * (c + 1), 90 * (c + 1))
    info[#info + 1] = ("processor\t: %d\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n"
      .. "model name\t: Large machine\nstepping\t: 6\ncpu MHz\t\t: 2600.000\nphysical id\t: %d\nsiblings\t: %d\n"
      .. "core id\t\t: %d\ncpu cores\t: %d\n"):format(c, node, o.cpus / o.nodes, c, o.cpus / o.nodes)
    put(cpu .. "/topology/core_id", c)
    put(cpu .. "/topology/physical_package_id", node)
    put(cpu .. "/cpufreq/scaling_cur_freq", 2600000)
  end
  stat[#stat + 1] = row("intr 123456", 8, function(i) return i * 100 end)
  put("proc/stat", table.concat(stat, "\n"), "ctxt 123456", "btime 1700000000", "processes 4321", "procs_running 5",
    "procs_blocked 2")
  put("proc/schedstat", "version 15", "timestamp 4294892296", table.concat(sched, "\n"))
  put("proc/cpuinfo", table.concat(info, "\n"))
  for _, name in ipairs({ "online", "present", "possible" }) do
    put("sys/devices/system/cpu/" .. name, "0-" .. o.cpus - 1)
  end
end

local function put_interrupts(put, o)
  local lines = { row("          ", o.cpus, function(c) return "CPU" .. c end) }
  for i = 0, o.disks + 15 do
    lines[#lines + 1] = row((" %d:"):format(24 + i), o.cpus, function(c) return (c + 1) * (i + 1) % 977 end)
      .. (" IR-PCI-MSI %d-edge nvme%dq%d"):format(524288 + i, i % 8, i)
  end
  for _, name in ipairs({ "NMI", "LOC", "RES", "CAL", "TLB" }) do
    lines[#lines + 1] = row(name .. ":", o.cpus, function(c) return 1000 * (c + 1) end) .. " " .. name
  end
  put("proc/interrupts", table.concat(lines, "\n"))
  lines = { row("          ", o.cpus, function(c) return "CPU" .. c end) }
  for _, name in ipairs({ "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
    "RCU" }) do
    lines[#lines + 1] = row(name .. ":", o.cpus, function(c) return 10 * (c + 1) end)
  end
  put("proc/softirqs", table.concat(lines, "\n"))
end

local function put_disks(put, o)
  local lines = {}
  for d = 0, o.disks - 1 do
    local name, block = disk_name(d), "sys/block/" .. disk_name(d)
    local number = ("%d %d "):format(d < 16 and 8 or 64 + math.floor(d / 16), d % 16 * 16)
    lines[#lines + 1] = number .. name .. row("", 17, function(i) return (d + 1) * (i + 1) * (i == 8 and 0 or 1) end)
    put(block .. "/size", 1953525168)
    put(block .. "/removable", 0)
    put(block .. "/inflight", "       0        1")
    put(block .. "/device/vendor", "LARGE")
    put(block .. "/device/model", "DISK")
    put(block .. "/device/state", "running")
    put(block .. "/device/type", 0)
    put(block .. "/device/ioerr_cnt", ("0x%x"):format(d))
    put(block .. "/device/iotmo_cnt", "0x0")
    put(block .. "/queue/rotational", d % 2)
    put(block .. "/queue/scheduler", "[mq-deadline] none")
    put(block .. "/queue/nr_requests", 256)
    put(block .. "/queue/logical_block_size", 512)
    put("sys/class/block/" .. name .. "/dev", (number:gsub(" $", ""):gsub(" ", ":")))
  end
  put("proc/diskstats", table.concat(lines, "\n"))
end

local function put_zone(o, node, name, pages)
  local lines = { ("Node %d, zone %8s"):format(node, name), "  pages free     " .. pages }
  for i, word in ipairs({ "boost", "min", "low", "high", "spanned", "present", "managed" }) do
    lines[#lines + 1] = ("        %-8s %d"):format(word, i * (node + 1))
  end
  lines[#lines + 1] = "        protection: (0, 0, 0, 0, 0)\n      nr_free_pages " .. pages
  for i, word in ipairs({ "numa_hit", "numa_miss", "numa_foreign", "numa_local", "numa_other" }) do
    lines[#lines + 1] = ("      %-12s %d"):format(word, i * 100 * (node + 1))
  end
  lines[#lines + 1] = "  pagesets"
  for c = 0, o.cpus - 1 do
    lines[#lines + 1] = ("    cpu: %d\n              count: 1\n              high:  2\n              batch: 3\n"
      .. "  vm stats threshold: 125"):format(c)
  end
  return table.concat(lines, "\n")
end

local function put_memory(put, o)
  local zones, free = {}, {}
  local each = o.cpus / o.nodes
  for n = 0, o.nodes - 1 do
    local node = "sys/devices/system/node/node" .. n
    zones[#zones + 1] = put_zone(o, n, "Normal", 60000 * (n + 1))
    free[#free + 1] = ("Node %d, zone %8s"):format(n, "Normal")
      .. row("", 11, function(i) return (n + 1) * (11 - i) end)
    put(node .. "/meminfo", ("Node %d MemTotal:       67108864 kB"):format(n),
      ("Node %d MemFree:        %d kB"):format(n, 240000 * (n + 1)),
      ("Node %d MemUsed:        %d kB"):format(n, 67108864 - 240000 * (n + 1)))
    put(node .. "/numastat", "numa_hit " .. 1000 * (n + 1), "numa_miss " .. n + 1, "numa_foreign " .. 2 * (n + 1),
      "interleave_hit 7", "local_node " .. 900 * (n + 1), "other_node " .. 100 * (n + 1))
    put(node .. "/vmstat", "nr_free_pages " .. 60000 * (n + 1), "nr_dirty 12")
    put(node .. "/cpulist", ("%d-%d"):format(n * each, (n + 1) * each - 1))
  end
  put("proc/zoneinfo", table.concat(zones, "\n"))
  put("proc/buddyinfo", table.concat(free, "\n"))
  local pages = 60000 * o.nodes * (o.nodes + 1) / 2
  put("proc/meminfo", ("MemTotal:       %d kB"):format(67108864 * o.nodes), ("MemFree:        %d kB"):format(pages * 4),
    ("MemAvailable:   %d kB"):format(pages * 8), "SwapTotal:      8388604 kB", "SwapFree:       8388604 kB")
  put("proc/vmstat", ("nr_free_pages %d"):format(pages), "pgpgin 4000", "pgpgout 8000", "pswpin 11", "pswpout 22",
    "pgfault 1000", "pgmajfault 100")
  put("proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority", "/dev/sda2 partition 8388604 0 -2")
end

-- Processes, each the child of the one before it or of the first, which has a long name with blanks in it.
local function put_processes(put, o)
  for pid = 1, o.processes do
    local name = pid == 1 and "init of a large" or "worker-" .. pid
    put(("proc/%d/stat"):format(pid), ("%d (%s) S %d 1 1 0 -1 4194560 %d 0 0 0 %d %d 0 0 20 0 1 0 %d 16777216 %d"
      .. row("", 28, function() return 0 end)):format(pid, name, pid % 10 == 0 and pid - 1 or pid > 1 and 1 or 0, pid,
      pid * 10, pid, 100 + pid, 1000 + pid))
    put(("proc/%d/schedstat"):format(pid), ("%d %d 7"):format(110000000 * pid, 1000000 * pid))
  end
end

local function put_cgroups(put, o)
  if o.cgroups > 0 then
    put("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw")
    put("sys/fs/cgroup/cgroup.controllers", "cpu memory")
  end
  for i = 1, o.cgroups do
    local dir = ("sys/fs/cgroup/system.slice/service-%d.service/"):format(i)
    put(dir .. "cgroup.controllers", "cpu memory")
    put(dir .. "cpu.stat", ("usage_usec %d\nuser_usec %d\nsystem_usec %d"):format(3000 * i, 2000 * i, 1000 * i))
    put(dir .. "memory.current", 4096 * i)
  end
end

--- Makes the tree. options: cpus (a multiple of nodes), disks, nodes, processes, cgroups; those of M.defaults if they
-- are missing.
function M.make(dir, options)
  local o = setmetatable(options or {}, { __index = M.defaults })
  local put, finish = writer(dir)
  put("proc/uptime", "5000.00 " .. 4000 * o.cpus .. ".00")
  put("proc/loadavg", "0.50 1.25 2.00 5/3450 4321")
  put("proc/net/dev", "Inter-|   Receive |  Transmit", " face |bytes packets errs drop fifo frame compressed multicast|"
    .. "bytes packets errs drop fifo colls carrier compressed", "  eth0: 1000 10 0 0 0 0 0 0 2000 20 0 0 0 0 0 0")
  put("sys/class/thermal/thermal_zone0/type", "x86_pkg_temp")
  put("sys/class/thermal/thermal_zone0/temp", 50000)
  put_cpus(put, o)
  put_interrupts(put, o)
  put_disks(put, o)
  put_memory(put, o)
  put_processes(put, o)
  put_cgroups(put, o)
  finish()
end

--- Calls a function with the directory of such a tree, and removes the tree.
function M.with(options, f)
  local dir = os.tmpname()
  os.remove(dir)
  M.make(dir, options)
  local ok, err = pcall(f, dir)
  os.execute("rm -rf " .. quote(dir))
  assert(ok, err)
end

if arg and arg[0] and arg[0]:match("large_tree%.lua$") then
  assert(arg[1], "usage: large_tree.lua DIRECTORY [CPUS [DISKS [NODES]]]")
  M.make(arg[1], { cpus = tonumber(arg[2]), disks = tonumber(arg[3]), nodes = tonumber(arg[4]) })
end

return M
