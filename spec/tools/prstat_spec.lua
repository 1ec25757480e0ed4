-- kstatlua prstat: on a capture, on a recorded tree, and on this machine beside ps and pidstat.
local capture = require("support.capture")
local run = require("support.run")

local function statistics(given)
  local list = {}
  for name, value in pairs(given) do
    list[#list + 1] = type(value) == "number" and ('"%s":%.0f'):format(name, value) or ('"%s":"%s"'):format(name, value)
  end
  table.sort(list)
  return table.concat(list, ",")
end

-- The kstats of a process at second t that uses `user` and `system` seconds of CPU in each second.
local function process(t, pid, name, user, system, given)
  local stat = { utime = user * t * 1e9, stime = system * t * 1e9, euid = 0, nlwp = 1, pri = 20, nice = 0,
    size = 20480 * 1024, rssize = 1024 * 1024, state = "S" }
  for field, value in pairs(given or {}) do
    stat[field] = value
  end
  local function kind(suffix, class, values)
    return capture.kstat("process", pid, name .. suffix, class, 1, 0, t, statistics(values))
  end
  return kind("", "process", stat),
    kind(",sched", "process_sched", { cpu_nsec = (user + system) * t * 1e9, wait_nsec = 0.1 * t * 1e9, slices = t }),
    kind(",status", "process_status", { vctx = 3 * t, ictx = 20000 * t, uid = name == "half" and 4242 or 0 }),
    kind(",io", "process_io", { nread = 1024 * t * pid, nwritten = name == "half" and 1024 * 1024 * t or 0,
      ncancelled = 0 }),
    kind(",cgroup", "process_cgroup", { cgroup = pid > 20 and "/web.slice" or "/" }),
    kind(",args", "process_args", { psargs = name == "busy" and "java -jar a.jar" or nil })
end

local function sample(t)
  local list = { capture.kstat("unix", 0, "system_misc", "misc", 1, 0, t,
    '"ncpus":4,"avenrun_1min":256,"avenrun_5min":128,"avenrun_15min":64') }
  list[#list + 1] = capture.kstat("unix", 0, "meminfo", "vm", 1, 0, t, '"MemTotal":104857600')
  for _, one in ipairs({ { 100, "busy", 1.5, 0.5, { nlwp = 4, state = "R" } },
    { 7, "idle", 0, 0, { fname = "idle: x", onpro = 3,
      euid = 4242, size = 3 * 2 ^ 40, rssize = 10 * 2 ^ 20, pri = -51, nice = -20 } },
    { 30, "half", 0.25, 0.25 } }) do
    for _, k in ipairs({ process(t, (table.unpack or unpack)(one)) }) do
      list[#list + 1] = k
    end
  end
  return list
end

describe("prstat of a process that began within the interval", function()
  teardown(capture.clean)

  it("shows its share of the interval, as of all others: the shares are no more than there was", function()
    local samples = { sample(100), sample(110) }
    table.insert(samples[2], capture.kstat("process", 99, "new", "process", 1, 105, 110,
      statistics({ utime = 2e9, stime = 0, euid = 0, nlwp = 1, state = "R" })))
    local r = run.run({ "kstatlua", "-r", capture.file(samples), "prstat", "-y" })
    assert.matches("\n +99 [^\n]* 5%.0%% new/1\n", r.out)
    r = run.run({ "kstatlua", "-r", capture.file(samples), "top", "-b", "--view=processes", env = { COLUMNS = "200" } })
    assert.matches("\n new +99 root +20 ", r.out)
  end)
end)

describe("prstat on a capture", function()
  local path
  setup(function() path = capture.file({ sample(100), sample(110) }) end)
  teardown(capture.clean)

  local function prstat(...)
    local r = run.run({ "kstatlua", "-r", path, "prstat", "-y", ... })
    assert.equal("", r.err)
    assert.equal(0, r.status)
    return r.out
  end

  local TOTAL = "Total: 3 processes, 6 lwps, load averages: 1.00, 0.50, 0.25\n"

  it("shows Solaris's columns, those that use most CPU first", function()
    assert.equal([[
   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME   CPU PROCESS/NLWP
   100 root       20M 1024K run     20    0   0:03:40 50.0% busy/4
    30 root       20M 1024K sleep   20    0   0:00:55 12.5% half/1
     7 4242     3072G   10M sleep  -51  -20   0:00:00  0.0% idle: x/1
]] .. TOTAL, prstat("10", "2"))
  end)

  it("shows - for a load average that is not there", function()
    local list = sample(110)
    list[1] = list[1]:gsub('"avenrun_5min":128,', "")
    local r = run.run({ "kstatlua", "-r", capture.file({ sample(100), list }), "prstat", "-y", "10", "2" })
    assert.same({ "", 0 }, { r.err, r.status })
    assert.truthy(r.out:find("load averages: 1.00, -, 0.25\n", 1, true), r.out)
  end)

  it("shows where the time of all threads went", function()
    assert.equal([[
   PID USERNAME  USR  SYS  TRP  TFL  DFL  LCK  SLP  LAT  VCX  ICX  SCL  SIG PROCESS/NLWP
   100 root       38   12    -    -    -    -   48  2.5   30 200K    -    - busy/4
    30 root       25   25    -    -    -    -   40   10   30 200K    -    - half/1
     7 4242      0.0  0.0    -    -    -    -   90   10   30 200K    -    - idle: x/1
]] .. TOTAL, prstat("-m", "10", "2"))
  end)

  it("adds up the processes of each user", function()
    assert.equal([[
 NPROC USERNAME  SIZE   RSS MEMORY      TIME   CPU
     2 root       40M 2048K   2.0%   0:04:35 62.5%
     1 4242     3072G   10M  10.0%   0:00:00  0.0%
]] .. TOTAL, prstat("-t", "10", "2"))
  end)

  it("has a line for each user or control group below the processes", function()
    assert.equal([[
   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME   CPU PROCESS/NLWP
   100 root       20M 1024K run     20    0   0:03:40 50.0% busy/4
 NPROC USERNAME  SIZE   RSS MEMORY      TIME   CPU
     2 root       40M 2048K   2.0%   0:04:35 62.5%
     1 4242     3072G   10M  10.0%   0:00:00  0.0%
]] .. TOTAL, prstat("-a", "-n", "1,2", "10", "2"))
    assert.equal([[
   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME   CPU PROCESS/NLWP
   100 root       20M 1024K run     20    0   0:03:40 50.0% busy/4
    30 root       20M 1024K sleep   20    0   0:00:55 12.5% half/1
 NPROC  SIZE   RSS MEMORY      TIME   CPU CGROUP
     2   40M 2048K   2.0%   0:04:35 62.5% /web.slice
]] .. TOTAL, prstat("-Z", "-n", "2,1", "10", "2"))
  end)

  it("has five control groups unless it is told how many", function()
    local list = { {}, {} }
    for i, sampled in ipairs(list) do
      for pid = 1, 7 do
        sampled[#sampled + 1] = process(100 + i, pid, "p", 0.1, 0)
        sampled[#sampled + 1] = capture.kstat("process", pid, "p,cgroup", "process_cgroup", 1, 0, 100 + i,
          ('"cgroup":"/%d.slice"'):format(pid))
      end
    end
    local seven = capture.file(list)
    for lines, groups in pairs({ ["2"] = 5, ["2,6"] = 6, ["9,1"] = 1 }) do
      local r = run.run({ "kstatlua", "-r", seven, "prstat", "-Z", "-y", "-n", lines, "1", "2" })
      local _, n = r.out:gsub(" /%d%.slice\n", "")
      assert.equal(groups, n, r.out)
    end
  end)

  it("shows who reads and writes, those who do most first", function()
    assert.equal([[
   PID USERNAME  READ/s WRITE/s  CANC/s  DLY STATE       TIME   CPU PROCESS/NLWP
    30 root         30K   1024K      0K    - sleep    0:00:55 12.5% half/1
   100 root        100K      0K      0K    - run      0:03:40 50.0% busy/4
     7 4242          7K      0K      0K    - sleep    0:00:00  0.0% idle: x/1
]] .. TOTAL, prstat("-d", "10", "2"))
  end)

  it("adds up what the processes of a user or control group read and write", function()
    assert.equal([[
 NPROC USERNAME  READ/s WRITE/s  CANC/s      TIME   CPU
     2 root        130K   1024K      0K   0:04:35 62.5%
     1 4242          7K      0K      0K   0:00:00  0.0%
]] .. TOTAL, prstat("-t", "-d", "10", "2"))
    assert.truthy(prstat("-dZ", "10", "2"):find("130K   1024K      0K   0:04:35 62.5% /web.slice\n", 1, true))
  end)

  it("shows command lines, and names that are no wider than their columns", function()
    local out = prstat("-A", "10", "2")
    assert.truthy(out:find("50.0% java -jar a.jar\n", 1, true) and out:find("0.0% [idle: x]\n", 1, true), out)
    assert.truthy(prstat("-v", "10", "2"):find("   38   12    -    -    -    -   50    -   30 200K ", 1, true))
    local r = run.run({ "kstatlua", "-r", path, "prstat", "-W", "-y", "10", "2" })
    assert.truthy(r.out:find(" idle: x/1\n", 1, true), r.out)
  end)

  it("sorts and chooses", function()
    local function pids(...)
      local list = {}
      local words = { ... }
      words[#words + 1], words[#words + 2] = "10", "2"
      for pid in prstat((table.unpack or unpack)(words)):gmatch("\n *(%d+) %w") do
        list[#list + 1] = pid
      end
      return table.concat(list, " ")
    end
    assert.equal("7 30 100", pids("-s", "rss"))
    assert.equal("7 30 100", pids("-S", "cpu"))
    assert.equal("100 30 7", pids("-s", "pid"))
    assert.equal("100", pids("-n", "1"))
    assert.equal("30 7", pids("-p", "7,30"))
    assert.equal("7", pids("-u", "4242"))
    assert.equal("100 30", pids("-u", "root"))
    assert.equal("30", pids("-U", "4242"))
    assert.equal("7", pids("-P", "2-4"))
    assert.equal("30 100 7", pids("-s", "io"))
    assert.equal("30", pids("h*"))
    assert.equal("7 100 30", pids("--sort", "RSS"))
    assert.equal("7", pids("--sort", "RSS", "-n", "1"))
  end)

  it("has all processes in the data formats, with plain numbers", function()
    local out = prstat("--csv", "10", "2")
    assert.matches("^time,PID,USERNAME,SIZE,RSS,STATE,PRI,NICE,TIME,CPU,PROCESS/NLWP\n", out)
    assert.matches(",100,root,20971520,1048576,run,20,0,220,50,busy/4\n", out, 1, true)
    local _, lines = prstat("-j", "10", "2"):gsub("\n", "")
    assert.equal(3, lines)
  end)

  it("takes -d u for the time before each report, and says what -z means where a zone follows", function()
    assert.matches("^%d+\n +PID USERNAME  SIZE ", prstat("-d", "u"))
    assert.matches("^%a+ %a+ [^\n]+\n +PID USERNAME  SIZE ", prstat("-d", "d", "busy"))
    assert.matches("^ +PID USERNAME  READ", prstat("-d", "busy"))
    local r = run.run({ "kstatlua", "-r", path, "prstat", "-z", "global" })
    assert.same({ "prstat: there is no process 'global'; -z leaves out idle ones: Linux has no zones, -Z shows " ..
      "control groups\n", 1 }, { r.err, r.status })
  end)

  it("refuses what it does not understand", function()
    for _, words in ipairs({ { "-p", "x" }, { "-s", "weight" }, { "-t", "-L" }, { "-n", "0" }, { "-n", "5,0" },
      { "-n", "5," }, { "-P", "1-x" }, { "-P", "4-2" }, { "-P", "2-" }, { "-P", "," }, { "-p", "" }, { "-u", "," },
      { "-U", " " }, { "-a", "-Z" }, { "-A", "-L" },
      { "-L", "-Z" }, { "-m", "-d" }, { "-H", "-c" }, { "-C", "1" } }) do
      local r = run.run({ "kstatlua", "prstat", words[1], words[2] })
      assert.equal(2, r.status)
      assert.matches("^prstat: [^\n]+\n$", r.err)
    end
  end)
end)

describe("prstat without what it needs", function()
  local function prstat(...)
    local r = run.run({ "kstatlua", ... })
    assert.equal("", r.out)
    return r.err, r.status
  end

  it("says that a recording has no processes", function()
    local path = capture.file({ { (sample(100))[1] } })
    local err, status = prstat("-r", path, "prstat")
    assert.equal("prstat: this recording has no processes; record with: kstatlua record -o FILE process unix 10\n", err)
    assert.equal(1, status)
    local file = os.tmpname()
    os.remove(file)
    run.shell(("%s/kstatlua record -o %s process:1 unix 1 1"):format(run.bin, file))
    for option, what in pairs({ ["-A"] = "%-%-args process", ["-Z"] = "process 'process::%*,cgroup'" }) do
      local r = run.run({ "kstatlua", "-r", file, "prstat", option })
      assert.matches("^prstat: this recording has no [^\n]+ %-o FILE " .. what .. " unix 10\n$", r.err)
      assert.matches("Total: 1 processes", r.out)
      assert.equal(0, r.status)
    end
    os.remove(file)
    capture.clean()
  end)

  it("says that there is no process of a number", function()
    local r = run.run({ "kstatlua", "prstat", "-p", "99999999", "1", "1" })
    assert.same({ "prstat: there is no process 99999999\n", 1 }, { r.err, r.status })
  end)

  it("says that there is no CPU of a number", function()
    local r = run.run({ "kstatlua", "prstat", "-P", "65535", "1", "1" })
    assert.same({ "prstat: there is no CPU 65535\n", 1 }, { r.err, r.status })
  end)

  it("says that there is no such user", function()
    for _, option in ipairs({ "-u", "-U" }) do
      assert.same({ "prstat: there is no user 'nosuch'\n", 1 }, { prstat("prstat", option .. "nosuch,0") })
    end
  end)
end)

describe("prstat on this machine", function()
  local pid, file

  -- A process that uses all of a CPU for a moment, and then sleeps; its parent waits for it.
  setup(function()
    file = os.tmpname()
    local busy = run.bin .. "/kstatlua -e 'local t = os.clock() while os.clock() < t + 0.3 do end " ..
      "print(\"used\") io.flush() io.read()'"
    run.write_file(file .. ".sh", ("mkfifo %s.in\n%s <%s.in &\necho $!\nexec 3>%s.in\nwait\n"):format(file, busy, file,
      file))
    run.start("sh " .. file .. ".sh", file)
    -- It has slept before, too, when it opened its input.
    pid = run.await("a process that used a CPU", function() return run.read_file(file):match("^(%d+)\nused\n") end)
    run.await("its sleep", function() return run.read_file(("/proc/%s/stat"):format(pid)):find("%) S") end)
  end)
  teardown(function()
    run.shell("kill -KILL " .. pid) -- it reads, and SIGTERM ends scripts between two lines
    run.shell(("rm -f %s %s.sh %s.in"):format(file, file, file))
  end)

  it("shows what ps shows", function()
    local ps = run.shell("ps -o user:32=,ni=,pri=,vsz=,times=,nlwp= -p " .. pid)
    if ps.status ~= 0 then
      pending("ps is not installed")
    end
    local user, nice, _, size, seconds, threads = ps.out:match("(%S+) +(%S+) +(%S+) +(%S+) +(%S+) +(%S+)")
    local r = run.run({ "kstatlua", "prstat", "--csv", "-p", pid, "1", "1" })
    assert.equal("", r.err)
    local row = {}
    for cell in r.out:match("\n(.*)\n"):gmatch("[^,]+") do
      row[#row + 1] = cell
    end
    assert.equal(pid, row[2])
    assert.equal(user, row[3])
    assert.equal(tonumber(size) * 1024, tonumber(row[4]))
    assert.equal("sleep", row[6])
    assert.equal(nice, row[8])
    assert.truthy(math.abs(tonumber(seconds) - tonumber(row[9])) <= 1)
    assert.truthy(tonumber(row[9]) >= 0.2, "it used CPU time")
    assert.matches("/" .. threads .. "$", row[11])
  end)

  it("counts context switches and waiting as pidstat does", function()
    if run.shell("pidstat -V").status ~= 0 then
      pending("sysstat is not installed")
    end
    local both = run.shell(("pidstat -w -p %s 1 1 >%s.w & %s/kstatlua prstat -m -y -p %s 1 2; wait; cat %s.w; rm %s.w")
      :format(pid, file, run.bin, pid, file, file)).out
    local usr, vcx, icx = both:match("\n* *" .. pid .. " +%S+ +(%S+) .- (%d+) +(%d+) +%- +%- ")
    assert.equal("0.0", usr)
    local cswch, nvcswch = both:match("Average: +%d+ +" .. pid .. " +([%d.,]+) +([%d.,]+)")
    assert.truthy(math.abs(tonumber(vcx) - tonumber(cswch)) <= 2, both)
    assert.truthy(math.abs(tonumber(icx) - tonumber(nvcswch)) <= 2, both)
  end)

  it("shows the CPU time of a busy process, and its waiting for a CPU", function()
    -- Both on one CPU, whoever else runs: the first that this process may have.
    local cpu = run.read_file("/proc/self/status"):match("Cpus_allowed_list:%s*(%d+)")
    local loop = ("taskset -c %s %s/kstatlua -e 'while true do end'"):format(cpu, run.bin)
    local busy, rival = run.start(loop, "/dev/null"), run.start(loop, "/dev/null")
    run.await("the loop", function() -- after an exec a process has a new kstat
      return (run.read_file(("/proc/%s/comm"):format(busy)) or ""):find("lua", 1, true)
    end)
    local out = run.shell(("%s/kstatlua prstat -m -y --csv -p %s 1 2"):format(run.bin, busy)).out
    run.stop(busy)
    run.stop(rival)
    local usr, sys, lat = out:match("," .. busy .. ",[^,\n]*,([%d.]+),([%d.]+),[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,([%d.]+),")
    assert.truthy(math.abs(usr + sys + lat - 100) < 15, out)
    assert.truthy(tonumber(lat) > 25, out)
  end)

  it("runs in the real-time class, or says that it may not", function()
    local command = run.quote(run.bin .. "/kstatlua") .. " prstat -R --csv 1 1"
    local can_drop = run.shell("id -u").out == "0\n" and run.shell("setpriv --version").status == 0
    for _, before in ipairs({ "", can_drop and "setpriv --bounding-set -sys_nice --inh-caps -sys_nice " or nil }) do
      local r = run.shell("sh -c " .. run.quote("echo $$; exec " .. before .. command))
      if r.status == 0 and before == "" then
        assert.matches("," .. r.out:match("%d+") .. ",[^\n]*,%-2,", r.out)
      else
        assert.matches("^%d+\n$", r.out)
        assert.equal("prstat: -R: cannot enter the real-time class: Operation not permitted\n", r.err)
        assert.equal(3, r.status)
      end
    end
  end)

  it("shows threads", function()
    local r = run.run({ "kstatlua", "prstat", "-L", "-p", pid, "1", "1" })
    assert.equal(0, r.status)
    assert.matches("PROCESS/LWPID\n *" .. pid .. " [^\n]*/" .. pid .. "\nTotal: 1 lwps,", r.out)
  end)
end)
