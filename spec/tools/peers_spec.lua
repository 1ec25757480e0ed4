-- The figures of the machine's other tools, taken at the same time: free, vmstat, mpstat and iostat. Those of
-- ip, nstat and ss are compared in spec/core/linux_network_spec.lua, of df in linux_fs_spec.lua, of pidstat in
-- prstat_spec.lua, and of node_exporter in exporter_spec.lua.
local cjson = require("cjson")
local run = require("support.run")

-- Runs a command between two readings of kstats. Returns the values before and after by name, and its output.
local function around(selectors, command)
  local kstat = ("env KSTAT_DIR=/nonexistent %s/kstat -p %s"):format(run.bin, selectors)
  local r = run.shell(("%s; echo ==; LC_ALL=C %s; echo ==; %s"):format(kstat, command, kstat))
  assert.equal("", r.err)
  local texts, values = {}, { {}, {} }
  for text in (r.out .. "==\n"):gmatch("(.-)==\n") do
    texts[#texts + 1] = text
  end
  for i, text in ipairs({ texts[1], texts[3] }) do
    for name, value in text:gmatch("([^\n]-)\t([^\n]*)\n") do
      values[i][name] = tonumber(value) or value
    end
  end
  return values[1], values[2], texts[2]
end

-- Notes a value that is not between two others, with some room around them.
local function between(wrong, what, low, value, high, room)
  low, high = math.min(low, high) - (room or 0), math.max(low, high) + (room or 0)
  if value < low or value > high then
    wrong[what] = ("%s, kstat: %s to %s"):format(value, low, high)
  end
end

local function has(command)
  return run.shell("command -v " .. command).status == 0
end

describe("kstat", function()
  it("has the figures of free", function()
    if not has("free") then
      return pending("free is not installed")
    end
    assert.same({}, run.always_wrong(function()
      local before, after, text = around("unix:0:meminfo", "free -b -w")
      local total, _, free, shared, buffers, cache, available =
        text:match("Mem: +(%d+) +(%d+) +(%d+) +(%d+) +(%d+) +(%d+) +(%d+)")
      local swap, _, swap_free = text:match("Swap: +(%d+) +(%d+) +(%d+)")
      local wrong = {}
      local function same(value, room, ...)
        local low, high = 0, 0
        for _, stat in ipairs({ ... }) do
          low = low + before["unix:0:meminfo:" .. stat]
          high = high + after["unix:0:meminfo:" .. stat]
        end
        between(wrong, ..., low, tonumber(value), high, room)
      end
      same(total, 0, "MemTotal")
      same(swap, 0, "SwapTotal")
      same(swap_free, 1e6, "SwapFree")
      same(free, 16e6, "MemFree")
      same(available, 16e6, "MemAvailable")
      same(shared, 4e6, "Shmem")
      same(buffers, 4e6, "Buffers")
      same(cache, 16e6, "Cached", "SReclaimable")
      return wrong
    end))
  end)

  it("has the counters of vmstat -s", function()
    if not has("vmstat") then
      return pending("vmstat is not installed")
    end
    local TICK = 1e7 -- ns
    local COUNTERS = {
      { "non%-nice user cpu ticks", "time:nsec_user", TICK }, { "nice user cpu ticks", "time:nsec_nice", TICK },
      { "system cpu ticks", "time:nsec_system", TICK }, { "idle cpu ticks", "time:nsec_idle", TICK },
      { "IO%-wait cpu ticks", "time:nsec_iowait", TICK }, { "softirq cpu ticks", "time:nsec_softirq", TICK },
      { "stolen cpu ticks", "time:nsec_steal", TICK },
      { "K paged in", "vm_events:pgpgin", 1 }, { "K paged out", "vm_events:pgpgout", 1 },
      { "pages swapped in", "vm_events:pswpin", 1 }, { "pages swapped out", "vm_events:pswpout", 1 },
      { "interrupts", "sys:intr", 1 }, { "CPU context switches", "sys:pswitch", 1 }, { "forks", "sys:sysfork", 1 },
      { "boot time", "system_misc:boot_time", 1 },
    }
    -- The sum over the kstats with that end: times are those of each CPU.
    local function sum(values, ending)
      local total = 0
      for name, value in pairs(values) do
        total = total + (name:sub(-#ending - 1) == ":" .. ending and value or 0)
      end
      return total
    end
    assert.same({}, run.always_wrong(function()
      local before, after, text = around(
        "'cpu::time' unix:0:sys unix:0:vm_events unix:0:system_misc", "vmstat -s")
      local wrong = {}
      for _, counter in ipairs(COUNTERS) do
        local value = tonumber(text:match("\n *(%d+) " .. counter[1] .. "\n"))
        -- The kernel counts for each CPU and for all: ticks that are under way are in one of them.
        between(wrong, counter[1], sum(before, counter[2]) / counter[3], value, sum(after, counter[2]) / counter[3],
          counter[3] == TICK and 20 or counter[1] == "boot time" and 1 or 0)
      end
      return wrong
    end))
  end)

  it("has the CPU times of mpstat, in the same interval", function()
    if not has("mpstat") then
      return pending("mpstat is not installed")
    end
    local NAMES = { usr = "user", nice = "nice", sys = "system", iowait = "iowait", irq = "irq", soft = "softirq",
      steal = "steal", idle = "idle" }
    assert.same({}, run.always_wrong(function()
      -- A process keeps a CPU busy, so that there is something to see.
      local before, after, text = around("'cpu::time'",
        "sh -c 'timeout 2 sh -c \"while :; do :; done\" & exec mpstat -P ALL -o JSON 2 1'")
      local wrong = {}
      for _, load in ipairs(cjson.decode(text).sysstat.hosts[1].statistics[1]["cpu-load"]) do
        local kstat = "cpu:" .. load.cpu .. ":time:"
        local window = after[kstat .. "snaptime"] and after[kstat .. "snaptime"] - before[kstat .. "snaptime"]
        for name, stat in pairs(load.cpu ~= "all" and NAMES or {}) do
          local guest = (name == "usr" and load.guest) or (name == "nice" and load.gnice) or 0
          local ours = (after[kstat .. "nsec_" .. stat] - before[kstat .. "nsec_" .. stat]) / 1e9
          -- What was counted in the part of our interval that is not in theirs may be all or nothing.
          between(wrong, name .. " of CPU " .. load.cpu, ours - (window - 2), (load[name] + guest) / 100 * 2, ours,
            0.06)
        end
      end
      return wrong
    end))
  end)

  it("has the figures of iostat while disks are busy", function()
    local file = run.shell("TMPDIR=/var/tmp mktemp").out:match("[^\n]+")
    -- A tmpfs takes direct I/O, too, since Linux 6.6: what the kernel counts says whether a disk was written to.
    local reaches_disk = run.shell(("dd if=/dev/zero of=%s bs=64k count=1 oflag=direct && " ..
      "awk '/^write_bytes:/ { exit $2 < 65536 }' /proc/$$/io"):format(file)).status == 0
    if not has("iostat") or not reaches_disk then
      os.remove(file)
      return pending("iostat is not installed, or direct I/O in /var/tmp is not possible or reaches no disk")
    end
    local NAMES = { ["r/s"] = { "reads", 1 }, ["w/s"] = { "writes", 1 }, ["rkB/s"] = { "nread", 1024 },
      ["wkB/s"] = { "nwritten", 1024 }, ["rrqm/s"] = { "read_merges", 1 }, ["wrqm/s"] = { "write_merges", 1 },
      ["d/s"] = { "discards", 1 }, ["f/s"] = { "flushes", 1 }, util = { "busy_nsec", 1e7 },
      ["aqu-sz"] = { "queue_nsec", 1e9 } }
    local pid = run.start(("sh -c 'while :; do dd if=/dev/zero of=%s bs=64k count=64 oflag=direct 2>/dev/null; "
      .. "dd if=%s of=/dev/null bs=64k iflag=direct 2>/dev/null; done'"):format(file, file), "/dev/null")
    local ok, wrong_figures = pcall(run.always_wrong, function()
      local before, after, text = around("'/./:::/,detail$|^nothing$/' ':::/./' 2>/dev/null | grep ,detail:",
        "iostat -d -x -y -o JSON 2 1")
      local wrong, busy, kstats = {}, 0, {}
      for id in pairs(after) do
        kstats[id:match("^%w+:%d+:(.-),detail:snaptime$") or ""] = id:match("^.*:")
      end
      for _, disk in ipairs(cjson.decode(text).sysstat.hosts[1].statistics[1].disk) do
        local kstat = assert(kstats[disk.disk_device], disk.disk_device)
        local window = after[kstat .. "snaptime"] - before[kstat .. "snaptime"]
        busy = busy + disk["w/s"]
        for column, stat in pairs(NAMES) do
          local last = after[kstat .. stat[1]]
          local ours = last and (last - before[kstat .. stat[1]]) / stat[2] or 0
          -- The load is steady, and theirs is the shorter interval.
          between(wrong, column .. " of " .. disk.disk_device, 0.5 * ours * 2 / window, disk[column] * 2, ours,
            0.05 * ours + (column == "util" and 5 or 2))
        end
      end
      wrong.disks = busy == 0 and "none was written to" or nil
      return wrong
    end)
    run.stop(pid)
    os.remove(file)
    assert.same({ true, {} }, { ok, wrong_figures })
  end)
end)
