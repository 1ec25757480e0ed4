-- Figures of a machine whose counters fall, pass their width, and come and go.
local kstat = require("kstat")
local capture = require("support.capture")
local run = require("support.run")
local L = require("support.linux")

describe("the figures of Linux", function()
  local tree

  before_each(function() tree = L.copy() end)
  after_each(function() L.remove(tree) end)
  teardown(capture.clean)

  local function write(path, text)
    L.write(tree .. "/" .. path, text)
  end

  -- Samples of the tree as each function leaves it.
  local function samples(...)
    local list, ks = {}, nil
    for i, change in ipairs({ ... }) do
      change()
      if ks then
        ks:update()
      else
        ks = assert(kstat.open({ proc = tree .. "/proc", sys = tree .. "/sys" }))
      end
      list[i] = assert(ks:sample())
    end
    return list
  end

  local function stat(...)
    local text = table.concat({ ... }, "\n") .. "\n"
    return function() write("proc/stat", text .. "ctxt 1\nbtime 1700000000\nprocesses 1\n") end
  end

  -- What the CPUs, or all of them together, did between two samples, in ticks: user, idle, wait.
  local function ticks(d, module, name)
    local k = d:lookup(module or "unix", 0, name or "sys")
    return { k:get("cpu_nsec_user") / 1e7, k:get("cpu_nsec_idle") / 1e7, k:get("cpu_nsec_wait") / 1e7 }
  end

  it("do not count a CPU's time that falls", function()
    local s = samples(stat("cpu 1000 0 0 9000 5000 0 0 0 0 0", "cpu0 1000 0 0 9000 5000 0 0 0 0 0"),
      stat("cpu 1050 0 0 9050 4999 0 0 0 0 0", "cpu0 1050 0 0 9050 4999 0 0 0 0 0"),
      stat("cpu 1060 0 0 9060 5003 0 0 0 0 0", "cpu0 1060 0 0 9060 5003 0 0 0 0 0"))
    assert.same({ 50, 50, 0 }, ticks(s[2] - s[1], "cpu"))
    assert.same({ 50, 50, 0 }, ticks(s[2] - s[1]))
    assert.same({ 10, 10, 4 }, ticks(s[3] - s[2], "cpu"))
    assert.same({ 10, 10, 4 }, ticks(s[3] - s[2]))
    assert.equal(5004, s[3]:lookup("cpu", 0, "sys"):get("cpu_ticks_wait"))
    assert.equal(5000, s[1]:lookup("cpu", 0, "time"):get("nsec_iowait") / 1e7)
  end)

  it("give idle what is left of the time if idle itself falls", function()
    local s = samples(stat("cpu 1000 0 0 100000 0 0 0 0 0 0", "cpu0 1000 0 0 100000 0 0 0 0 0 0"), function()
      L.sh("sleep 0.3")
      stat("cpu 1015 0 0 99997 0 0 0 0 0 0", "cpu0 1015 0 0 99997 0 0 0 0 0 0")()
    end)
    local got = ticks(s[2] - s[1], "cpu")
    assert.equal(15, got[1])
    assert.is_true(got[2] >= 14 and got[2] < 1000, got[2])
  end)

  it("add up the CPUs, though one comes back with less than before", function()
    local s = samples(
      stat("cpu 2000 0 0 20000 0 0 0 0 0 0", "cpu0 1000 0 0 10000 0 0 0 0 0 0", "cpu1 1000 0 0 10000 0 0 0 0 0 0"),
      stat("cpu 2010 0 0 90000 0 0 0 0 0 0", "cpu0 1010 0 0 10090 0 0 0 0 0 0"),
      stat("cpu 2036 0 0 10162 0 0 0 0 0 0", "cpu0 1036 0 0 10162 0 0 0 0 0 0", "cpu1 1000 0 0 0 0 0 0 0 0 0"),
      stat("cpu 2066 0 0 10242 0 0 0 0 0 0", "cpu0 1046 0 0 10202 0 0 0 0 0 0", "cpu1 1020 0 0 40 0 0 0 0 0 0"))
    assert.same({ 10, 90, 0 }, ticks(s[2] - s[1]))
    assert.same({ 26, 72, 0 }, ticks(s[3] - s[2]))
    assert.same({ 30, 80, 0 }, ticks(s[4] - s[3]))
    assert.is_nil((s[3] - s[2]):lookup("cpu", 1, "sys"))
    assert.equal(20, (s[4] - s[3]):lookup("cpu", 1, "sys"):get("cpu_ticks_user"))
  end)

  it("find out once how a kernel counts TLB shootdowns", function()
    local function interrupts(tlb, total)
      return function()
        write("proc/interrupts", ("      CPU0\n  1: 1000  IO-APIC  1-edge  i8042\nCAL: %d Function call interrupts\n" ..
          "TLB: %d TLB shootdowns\n"):format(tlb + 10, tlb))
        stat("cpu 1 1 1 1", "cpu0 1 1 1 1", "intr " .. total)()
      end
    end
    local s = samples(interrupts(500, 1510), interrupts(600, 99999))
    assert.equal(100, (s[2] - s[1]):lookup("cpu", 0, "sys"):get("intr"))
  end)

  it("have a run queue only if the kernel adds it up, and the time that it was occupied", function()
    local function queue(uptime, total)
      return function()
        write("proc/uptime", ("%d.00 1.00\n"):format(uptime))
        write("proc/pressure/cpu", ("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n"):format(total))
        stat("cpu 1 1 1 1", "cpu0 1 1 1 1", "cpu1 1 1 1 1", "procs_running 16")()
      end
    end
    local function sysinfo(s)
      return { s:lookup("unix", 0, "sysinfo"):get("updates", "runocc", "runque", "waiting") }
    end
    write("proc/schedstat", "version 15\ntimestamp 1\ncpu0 0 0 0 0 0 0 1 5000000000 1\n")
    assert.same({ 1000, 7, 5 }, sysinfo(samples(queue(1000, 7e6))[1]))
    L.sh("rm " .. tree .. "/proc/schedstat")
    local s = samples(queue(1000, 7e6), queue(1004, 9e6))
    assert.same({ 4, 2 }, sysinfo(s[2] - s[1]))
  end)

  it("are described one by one", function()
    local vmstat = L.read("/proc/vmstat") .. "a_new_event 1\nnr_new_pages 1\n"
    write("proc/vmstat", vmstat)
    local f = io.open("/proc/net/netstat")
    write("proc/net/netstat", f and f:read("*a") or "TcpExt: TW TCPNewEvent\nTcpExt: 1 2\n")
    if f then f:close() end
    local d, general = L.dump(tree .. "/proc", tree .. "/sys"), 0
    for _, id in ipairs({ "unix:0:vm_events", "tcp:0:tcp_ext", "ip:0:ip_ext" }) do
      local seen = {}
      for path in pairs(d.stat) do
        local name = path:match("^" .. id .. ":(.+)$")
        if name then
          local desc = d.meta[path].desc
          assert.is_nil(seen[desc], name)
          seen[desc] = name
          general = general + (desc:sub(1, #name + 1) == name .. ":" and 1 or 0)
        end
      end
    end
    assert.equal("a_new_event: events of this name since boot, by /proc/vmstat",
      d.meta["unix:0:vm_events:a_new_event"].desc)
    assert.equal("gauge", d.meta["unix:0:vm_events:nr_new_pages"].kind)
    assert.is_true(general < 12, "too many names are not known")
    local function kind(name) return (d.meta["unix:0:vm_events:" .. name] or {}).kind end
    assert.is_true((kind("nr_throttled_written") or "counter") == "counter")
    assert.is_true((kind("workingset_nodes") or "gauge") == "gauge")
  end)

  it("have the time of a recorded tree", function()
    local function uptime(s)
      return function() write("proc/uptime", ("%.2f 1.00\n"):format(s)) end
    end
    local s = samples(uptime(1234.25), uptime(1244.25), function()
      uptime(1254.25)()
      write("proc/diskstats", L.read(tree .. "/proc/diskstats") .. "8 112 sdh 40 0 80 10 20 0 160 20 0 30 30\n")
    end)
    for _, name in ipairs({ "sys", "vm", "system_misc" }) do
      assert.equal(1234.25, s[1]:lookup("unix", 0, name).snaptime)
      assert.equal(10, (s[2] - s[1]):lookup("unix", 0, name).elapsed)
    end
    local new = (s[3] - s[2]):lookup("sd", 7, "sdh")
    assert.equal(1249.25, new.crtime)
    assert.equal(8, new:rate("reads"))
    for k in s[1]:each() do
      assert.is_true(k.crtime <= k.snaptime, tostring(k))
    end
  end)

  it("have the time of a recorded tree that stood still before it stepped", function()
    local function uptime(seconds)
      return function() write("proc/uptime", ("%.2f 1.00\n"):format(seconds)) end
    end
    local s = samples(uptime(1000), function() L.sh("sleep 0.3") end, uptime(1000.1), uptime(1000.4))
    assert.is_true((s[2] - s[1]).elapsed >= 0.3)
    assert.near(0.1, (s[3] - s[2]).elapsed, 1e-6)
    assert.near(0.3, (s[4] - s[3]).elapsed, 1e-6)
  end)

  it("count in the pages of a recorded tree", function()
    write("proc/meminfo", "MemTotal: 32000000 kB\nMemFree: 16000000 kB\n")
    write("proc/vmstat", "nr_free_pages 250010\npgpgin 1\n")
    assert.equal(65536, samples(function() end)[1]:lookup("unix", 0, "vm"):get("pagesize"))
  end)

  local function disk(...)
    local line = ("8 0 sda " .. ("%d "):rep(17) .. "\n"):format(...)
    return function() write("proc/diskstats", line) end
  end

  it("continue the times of disks, which the kernel keeps in 32 bits of milliseconds", function()
    local s = samples(disk(100, 0, 8, 4294967000, 0, 0, 0, 0, 0, 4294967290, 4294967295, 0, 0, 0, 0, 1, 4294967000),
      disk(350, 0, 16, 204, 0, 0, 0, 0, 1, 494, 499, 0, 0, 0, 0, 2, 4),
      disk(450, 0, 16, 304, 0, 0, 0, 0, 1, 594, 599, 0, 0, 0, 0, 2, 4))
    local d = s[2] - s[1]
    local io = assert(kstat.io.counts(d:lookup("sd", 0, "sda")))
    assert.same({ 500e6, 500e6, 250 }, { io.rlentime, io.rtime, io.reads })
    assert.near(2, kstat.io.rates(d:lookup("sd", 0, "sda")).asvc_t, 1e-9)
    local detail = d:lookup("sd", 0, "sda,detail")
    assert.same({ 500e6, 500e6, 500e6, 300e6 }, { detail:get("read_nsec"), detail:get("busy_nsec"),
      detail:get("queue_nsec"), detail:get("flush_nsec") })
    assert.equal(100e6, (s[3] - s[2]):lookup("sd", 0, "sda,detail"):get("read_nsec"))
    assert.equal(4294967000e6, s[1]:lookup("sd", 0, "sda,detail"):get("read_nsec"))
  end)

  it("continue numbers of interrupts and of calls of the scheduler, which have 32 bits", function()
    local function interrupts(device, timer, softirq, wakeups)
      return function()
        write("proc/interrupts", ("      CPU0  CPU1\n  1: %d 3000000000  IO-APIC  1-edge  i8042\nLOC: %d 7 timer\n")
          :format(device, timer))
        write("proc/softirqs", ("      CPU0  CPU1\nTIMER: %d 5\n"):format(softirq))
        write("proc/schedstat", ("version 15\ntimestamp 1\ncpu0 0 0 9 9 %d 1 8 8 8\n"):format(wakeups))
      end
    end
    local s = samples(interrupts(4000000000, 4294967290, 4294967200, 4294967295), interrupts(100, 14, 104, 4))
    local d = s[2] - s[1]
    assert.equal(294967396, d:lookup("i8042", 0, "i8042"):get("hard"))
    assert.equal(20, d:lookup("intr", 0, "LOC"):get("hard"))
    assert.equal(200, d:lookup("softirq", 0, "TIMER"):get("soft"))
    local sys = d:lookup("cpu", 0, "sys")
    assert.same({ 294967416, 200 }, { sys:get("intr"), sys:get("intrthread") })
    assert.equal(5, d:lookup("cpu", 0, "sched"):get("wakeups"))
  end)

  it("continue all numbers of calls of the scheduler, the first one, too", function()
    local function calls(n)
      return function()
        write("proc/schedstat", ("version 15\ntimestamp 1\ncpu0 %d 0 %d %d %d %d 1 2 3\n"):format(n, n, n, n, n))
      end
    end
    local s = samples(calls(4294967290), calls(5))
    local sched = (s[2] - s[1]):lookup("cpu", 0, "sched")
    for _, name in ipairs({ "yields", "schedules", "idle_schedules", "wakeups" }) do
      assert.equal(11, sched:get(name), name)
    end
  end)

  it("do not count what a CPU that comes back had counted of an interrupt", function()
    local function timer(heading, numbers)
      return function() write("proc/interrupts", heading .. "\nLOC: " .. numbers .. " timer\n") end
    end
    local s = samples(timer("CPU0 CPU1", "100 5000"), timer("CPU0", "110"), timer("CPU0 CPU1", "120 5000"),
      timer("CPU0 CPU1", "130 5004"))
    for i, want in ipairs({ 0, 0, 14 }) do
      assert.equal(want, (s[i + 1] - s[i]):lookup("intr", 0, "LOC"):get("hard"))
    end
  end)

  it("have rates of times in seconds, whatever these are stored in", function()
    local s = samples(stat("cpu 100 0 0 100", "cpu0 100 0 0 100"), function()
      L.sh("sleep 0.05")
      stat("cpu 300 0 0 100", "cpu0 300 0 0 100")()
    end)
    local k = (s[2] - s[1]):lookup("cpu", 0, "sys")
    local expected = 2 / k.elapsed
    assert.near(expected, k:rate("cpu_nsec_user"), 1e-9 * expected)
    assert.near(expected * 100, k:rate("cpu_ticks_user"), 1e-7 * expected)
    assert.equal(2e9, k:get("cpu_nsec_user"))
  end)

  it("are there for links with a bar in their names, and old sensors", function()
    write("proc/net/dev", L.read(tree .. "/proc/net/dev") .. " a|b: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n")
    L.sh(("cd %s/sys/class/hwmon && mkdir -p hwmon9/device && cd hwmon9/device && echo w83627 >name && echo 41000 " ..
      ">temp1_input"):format(tree))
    local s = samples(function() end)
    assert.equal(9, s[1]:lookup("link", 0, "a|b"):get("obytes64"))
    assert.equal(41000, s[1]:lookup("hwmon", 9, "w83627"):get("temp1"))
  end)

  it("keep devices apart whose names agree in 30 bytes", function()
    local long = ("x"):rep(30)
    local line = "9 0 %s%s %d 0 8 1 0 0 0 0 0 1 1\n"
    write("proc/diskstats", line:format(long, "", 1) .. line:format(long, "a", 2) .. line:format(long, "b", 3))
    local s = samples(function() end)
    local seen, sum = {}, 0
    for k in s[1]:each({ class = "disk" }) do
      if k.module:sub(1, 1) == "x" then
        assert.is_nil(seen[k.name])
        seen[k.name] = true
        sum = sum + k:get("reads")
      end
    end
    assert.equal(6, sum)
  end)

  it("are read from a file of interrupts of 20 MB", function()
    local row = ("         1 "):rep(1024)
    local heading = {}
    for i = 0, 1023 do heading[#heading + 1] = "CPU" .. i end
    local lines = { table.concat(heading, " ") }
    for i = 1, 1900 do lines[#lines + 1] = ("%d: %s IO-APIC %d-edge      dev%d-x"):format(i, row, i, i) end
    write("proc/interrupts", table.concat(lines, "\n") .. "\n")
    local ks = assert(kstat.open({ proc = tree .. "/proc", sys = tree .. "/sys", only = { module = "dev" } }))
    assert.equal(1024, assert(ks:sample()):lookup("dev", 1900, "dev1900-x"):get("hard"))
  end)

  -- The lines of a tool for a capture of one CPU that counted these ticks in a second.
  local function tool(before, after, ...)
    local list = {}
    for i, t in ipairs({ before, after }) do
      list[i] = { capture.kstat("cpu", 0, "sys", "misc", 1, 1, 10 + i, ('"cpu_ticks_user":%d,"cpu_ticks_kernel":%d,' ..
        '"cpu_ticks_idle":%d,"cpu_ticks_wait":%d,"cpu_ticks_stolen":%d'):format(t[1], t[2], t[3], t[4], t[5])) }
    end
    return run.run({ "kstatlua", "-r", capture.file(list), ... }).out
  end

  it("are the same in all tools where iowait fell", function()
    local before, after = { 1000, 0, 9000, 5000, 0 }, { 1050, 0, 9050, 4999, 0 }
    assert.matches(" 50%s+0%s+0%s+50\n$", tool(before, after, "mpstat", "1", "2"))
    assert.matches(" 50%s+0%s+50\n$", tool(before, after, "vmstat", "1", "2"))
    assert.matches(" 50%s+0%s+%-%s+50%s*\n$", tool(before, after, "iostat", "-c", "1", "2"))
    assert.matches("wait\t0\n$", tool(before, after, "kstat", "--rate", "-p", "cpu:0:sys:cpu_ticks_wait", "1", "2"))
  end)

  it("count stolen time as time in iostat", function()
    assert.matches(" 25%s+0%s+%-%s+25%s*\n$", tool({ 0, 0, 0, 0, 0 }, { 25, 0, 25, 0, 50 }, "iostat", "-c", "1", "2"))
  end)
end)
