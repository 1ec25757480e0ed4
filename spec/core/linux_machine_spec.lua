-- The Linux source on the machine that the specs run on.
local L = require("support.linux")
local kstat = require("kstat")
local run = require("support.run")

describe("the Linux source on this machine", function()
  local d

  setup(function()
    d = L.dump("-", "-")
  end)

  it("reads everything without an error", function()
    assert.same({}, d.error)
    assert.same({}, d.warnings)
    assert.same({}, d.twice)
    assert.is_true(#d.order > 20)
  end)

  it("knows how long the machine has been up", function()
    for _, statistic in ipairs({ "system_misc:lbolt", "system_misc:clk_intr", "sysinfo:updates" }) do
      assert.is_true(tonumber(d.stat["unix:0:" .. statistic]) > 0, statistic)
    end
  end)

  it("lists object caches only if asked to", function()
    for _, k in pairs(d.kstat) do
      assert.not_equal("kmem_cache", k.class)
    end
  end)

  it("counts no CPU more than /proc/stat, and no less than before", function()
    local function idle()
      local sum = 0
      for line in io.lines("/proc/stat") do
        local v = line:match("^cpu%d+ %d+ %d+ %d+ (%d+)")
        sum = sum + (v and tonumber(v) or 0)
      end
      return sum
    end
    -- Where /proc/stat itself goes back by a tick, as it may, again.
    local before, sum, after
    run.await(function() return ("%d <= %d <= %d"):format(before, sum, after) end, function()
      before, sum = idle(), 0
      for id, value in pairs(L.dump("-", "-").stat) do
        if id:match("^cpu_stat:%d+:cpu_stat%d+:idle$") then
          sum = sum + tonumber(value)
        end
      end
      after = idle()
      return sum >= before and sum <= after
    end)
  end)

  it("has the memory and the boot time that /proc tells", function()
    local total = tonumber(L.read("/proc/meminfo"):match("MemTotal:%s+(%d+)"))
    assert.equal(total * 1024, tonumber(d.stat["unix:0:meminfo:MemTotal"]))
    local btime = tonumber(L.read("/proc/stat"):match("btime (%d+)"))
    assert.is_true(math.abs(btime - tonumber(d.stat["unix:0:system_misc:boot_time"])) <= 1)
  end)

  it("counts processes as ls does", function()
    local function listed()
      return tonumber(run.shell("ls -d /proc/[0-9]* 2>/dev/null | wc -l").out)
    end
    -- They come and go. Where ls looks, it has a shell and wc beside it.
    local before, nproc, after
    run.await(function() return ("%d, %d and %d to agree"):format(before, nproc, after) end, function()
      before, nproc, after = listed(), tonumber(L.dump("-", "-").stat["unix:0:system_misc:nproc"]), listed()
      return nproc >= math.min(before, after) - 3 and nproc <= math.max(before, after) + 3
    end)
  end)

  it("has every disk and link there is", function()
    for line in io.lines("/proc/diskstats") do
      local name, counts = line:match("^%s*%d+%s+%d+%s+(%S+) (.*)$")
      local found = not counts:find("[1-9]") -- perhaps nothing is in it
      for id, k in pairs(d.kstat) do
        found = found or (k.type == 3 and id:match("[^:]*$") == name)
      end
      assert.is_true(found, name)
    end
    for line in io.lines("/proc/net/dev") do
      local name = line:match("^%s*([^%s:]+):")
      if name then
        assert.is_not_nil(d.kstat["link:0:" .. name], name)
      end
    end
  end)

  it("reads few disks from files of their own, with the figures of diskstats", function()
    local r = run.run({ run.build .. "/spec/core_disk_own", env = { KSTAT_DIR = "/nonexistent" } })
    local why = r.out:match("^pending\t(.*)\n$")
    if why then
      return pending(why)
    end
    assert.matches("^0 of %d+ checks failed\n$", r.out)
    assert.equal(0, r.status, r.err)
  end)

  it("describes every statistic", function()
    for id in pairs(d.stat) do
      assert.is_not_nil(d.meta[id], id)
    end
  end)

  it("reads the part of a file that one kstat needs, and all of it for another", function()
    local ks = assert(kstat.open())
    local vm, events = ks:lookup("unix", 0, "vm"), ks:lookup("unix", 0, "vm_events")
    local faults = 0
    for i = 1, 4 do
      local n = vm:read():get("as_fault")
      assert.is_true(n > faults, i)
      faults = n
      run.shell("true")
    end
    events:read()
    for line in io.lines("/proc/vmstat") do
      assert.is_not_nil(events:get(line:match("^%S+")), line)
    end
    assert.is_true(vm:read():get("as_fault") > faults)
    ks:close()
  end)

  it("has the time that somebody waited for a CPU, once the CPUs were busy", function()
    if not io.open("/proc/pressure/cpu") then
      return pending("this kernel does not tell it")
    end
    local ks = assert(kstat.open())
    local sysinfo = ks:lookup("unix", 0, "sysinfo")
    local function told() return tonumber(L.read("/proc/pressure/cpu"):match("some.-total=(%d+)")) / 1e6 end
    local before = sysinfo:read():get("runocc")
    assert.is_true(before >= told() - 2)
    run.await("those who wait", function()
      -- More that run than there are CPUs. The kernel brings the file up to date every two seconds.
      run.shell("for i in $(seq $(($(nproc) + 1))); do timeout 0.7 sh -c 'while :; do :; done' & done; wait")
      local after = sysinfo:read():get("runocc")
      assert.is_true(after <= told())
      return after > before and after >= told() - 4
    end)
    ks:close()
  end)
end)
