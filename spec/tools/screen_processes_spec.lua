-- The view of processes on the screen of kstatlua top: on captures, and on this machine.
local actions = require("kstat.top.actions")
local capture = require("support.capture")
local kstat = require("kstat")
local pty = require("support.pty")
local run = require("support.run")
local sampling = require("kstat.top.sampling")
local views = require("support.views")

local it = pty.it(it, pending)
local VIEW = require("kstat.top.views.processes")
local MB = 2 ^ 20

-- The kstats of a process at second t: what it used (CPU, s), waited for a CPU (s), read and wrote (MB), and what its
-- children used and wrote that ended; the files behind the first one are read so many seconds `late`.
local function process(t, pid, name, ppid, given)
  local function n(field)
    return given[field] or 0
  end
  local function kind(suffix, class, values)
    return capture.kstat("process", pid, name .. suffix, class, 1, 1, t + (suffix ~= "" and n("late") or 0), values)
  end
  return kind("", "process", ('"fname":"%s","ppid":%d,"euid":0,"state":"S","nlwp":%d,"pri":20,"nice":0,"size":%.0f,' ..
    '"rssize":%.0f,"utime":%.0f,"stime":0,"cutime":%.0f,"cstime":0,"minf":0,"majf":%d'):format(name, ppid,
      given.threads or 1, 8 * MB, (given.rss or 1) * MB, n("cpu") * 1e9, n("children") * 1e9, n("faults"))),
    kind(",sched", "process_sched", ('"wait_nsec":%.0f'):format(n("wait") * 1e9)),
    kind(",io", "process_io", ('"nread":%.0f,"nwritten":%.0f,"ncancelled":0,"cnread":0,"cnwritten":%.0f'):format(
      n("read") * MB, n("written") * MB, n("waited") * MB)),
    kind(",args", "process_args", ('"psargs":"/opt/%s -x"'):format(name)),
    given.group ~= false and kind(",cgroup", "process_cgroup", ('"cgroup":"%s"'):format(given.group or "/")) or nil
end

-- A capture of samples, each an array of processes { pid, name, ppid, values }, one second apart.
local function samples_of(...)
  local list = {}
  for i, sample in ipairs({ ... }) do
    list[i] = {}
    for _, p in ipairs(sample) do
      for _, k in ipairs({ process(100 + i, p[1], p[2], p[3], p[4] or {}) }) do
        table.insert(list[i], k)
      end
    end
  end
  return { capture = capture.file(list) }
end

local dir

-- Forty processes.
local function tree_of_processes()
  dir = run.directory()
  run.shell(("cd %s && mkdir sys proc && echo 1000.00 1.00 >proc/uptime"):format(dir))
  for pid = 1, 40 do
    run.shell(("mkdir %s/proc/%d"):format(dir, pid))
    local path = ("%s/proc/%d/"):format(dir, pid)
    run.write_file(path .. "stat", ("%d (p%d) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 1%s\n"):format(pid, pid, pid,
      (" 0"):rep(28)))
    run.write_file(path .. "schedstat", "1 2 3\n")
    run.write_file(path .. "io", "read_bytes: 1\nwrite_bytes: 2\n")
  end
  return { proc = dir .. "/proc", sys = dir .. "/sys" }
end

local function screen_of(source, sections)
  return views.screen_of({ sections and { name = "processes", sections = sections } or VIEW,
    { name = "statistics", sections = require("kstat.top.views.statistics").sections } }, source)
end

-- The names in the first column.
local function names(s, ...)
  local list = {}
  for i, line in ipairs(s.lines(...)) do
    list[i] = line:match("^ *[%a ]*%a")
  end
  return table.concat(list, ",", 2)
end

describe("the view of processes", function()
  after_each(function()
    capture.clean()
    dir = dir and run.remove_directory(dir)
  end)

  local function busy()
    return samples_of(
      { { 1, "init", 0, { rss = 3 } }, { 7, "web", 1, { threads = 4, group = "/web/a" } }, { 8, "dump", 1 } },
      { { 1, "init", 0, { rss = 3 } }, { 7, "web", 1, { cpu = 1.5, wait = 0.25, threads = 4, group = "/web/a" } },
        { 8, "dump", 1, { cpu = 0.1, read = 2, written = 40 } } })
  end

  it("shows levels at first, then who used most CPU, waited, read and wrote", function()
    local s = screen_of(busy())
    s.tick()
    assert.matches("^PROCESS +PID USER CPU%% WAIT%% +RSS READ/s WRITE/s THREADS COMMAND\n" ..
      "init +1 root +%- +%- 3.0M +%- +%- +1 /opt/init %-x\n", s.text())
    s.tick()
    assert.matches("\nweb +7 root +150 +25 1.0M +0 +0 +4 /opt/web %-x\n" ..
      "dump +8 root +10 +0 1.0M +2.10M +41.9M +1 [^\n]*\ninit ", s.text())
    views.check_fit(s)
  end)

  it("says so where a recording has none", function()
    local s = screen_of(samples_of({}, {}))
    s.tick()
    assert.matches("no processes; a recording has those", s.text())
  end)

  it("divides what a file counted by the time between its readings, which a key may have caused", function()
    local late = { late = 1, cpu = 1, wait = 1, written = 8 }
    local s = screen_of(samples_of({ { 7, "web", 1 } }, { { 7, "web", 1, late } }))
    s.tick()
    s.tick()
    assert.matches("\nweb +7 root +100 +50 1.0M +0 +4.19M +1 /opt/web %-x$", s.text())
  end)

  it("is put in order by what it reads, as a tree, and finds command lines, users and control groups", function()
    local s = screen_of(busy())
    s.tick()
    s.tick()
    local part = s.app:part()
    part.sort = "WRITE/s"
    s.app:arrange()
    assert.equal("dump,init,web", names(s))
    part.sort = "RSS"
    actions.act(s.app, "v")
    assert.equal("init,  web,  dump", names(s))
    actions.act(s.app, "v")
    for filter, found in pairs({ ["/opt/dump"] = "dump", ["/web/a"] = "web", ["root"] = "init,web,dump" }) do
      s.app:set_filter(filter)
      s.app:arrange()
      assert.equal(found, names(s))
    end
  end)

  it("shows those of a control group and of the groups below it", function()
    local s = screen_of(busy())
    s.app:show("processes", { group = "/web" })
    s.tick()
    assert.equal("web", names(s))
    s = screen_of(samples_of({ { 7, "sh", 1, { group = "/web/a" } }, { 8, "sh", 1 } },
      { { 7, "sh", 1, { group = "/web/a", waited = 600 } }, { 8, "sh", 1, { waited = 700 } } }))
    s.app:show("processes", { group = "/web", sort = "WRITE/s" })
    s.tick()
    s.tick()
    assert.matches("^PROCESS[^\n]*\nchildren of sh +7 [^\n]* 629M +%- +%-\nsh +7 [^\n]*$", s.text())
  end)

  it("shows all and says so where no group of a process was recorded", function()
    local recorded = { { 7, "web", 1, { group = false } }, { 8, "dump", 1, { group = false } } }
    local s = screen_of(samples_of(recorded, recorded))
    s.app:show("processes", { group = "/web" })
    s.tick()
    assert.equal("", names(s))
    s.app:take(0, false)
    assert.equal("web,dump", names(s))
    assert.matches("was not recorded: these are all", s.app.message)
  end)

  it("has rows of children that ended, without what the sample before had of them", function()
    local s = screen_of(samples_of({ { 7, "sh", 1 }, { 9, "dd", 7, { cpu = 2, written = 500 } } },
      { { 7, "sh", 1, { children = 2.5, waited = 600 } } }))
    s.app:part().sort = "WRITE/s"
    s.tick()
    s.tick()
    assert.matches("\nchildren of sh +7 +%- +50 +%- +%- +%- +105M +%- +%-\n" ..
      "sh +7 root +0 +0 1.0M +0 +0 +1 /opt/sh %-x$", s.text())
  end)

  it("tells programs what ended children wrote, whatever the order is", function()
    local source = samples_of({ { 7, "sh", 1 } }, { { 7, "sh", 1, { children = 0.5, waited = 100 } } })
    local r = run.run({ "kstatlua", "-r", source.capture, "top", "--view", "processes", "--csv" })
    assert.matches(("\n[%%d.]+,children of sh,7,,50,,,,%d,"):format(100 * MB), r.out)
    r = run.run({ "kstatlua", "-r", source.capture, "top", "--view", "processes", "--csv", "-f", "opt/SH" })
    assert.matches("^time[^\n]*\n[%d.]+,sh,7,root,[^\n]*/opt/sh %-x\n$", r.out)
  end)

  it("leads to the statistics of a process; and a selected one may end", function()
    local both = { { 7, "sh", 1 }, { 8, "dd", 7 } }
    local s = screen_of(samples_of(both, both, { { 7, "sh", 1 } }))
    s.tick()
    s.tick()
    s.app:select(2)
    local selected = s.app:row()
    assert.same({ view = "statistics", select = { module = "process", instance = 8 } },
      VIEW.sections[1].enter(selected, {}))
    s.tick()
    assert.equal("sh", names(s))
    assert.is_nil(selected.swap) -- nobody knows any more
    assert.equal(7, s.app:row().pid)
  end)

  it("reads files of those rows alone that are visible now", function()
    local tree = tree_of_processes()
    local s = screen_of(tree)
    local function read()
      s.tick()
      return #s.app.shown.groups[1].now
    end
    read()
    local before = read()
    assert.truthy(before > 40 and before < 40 + 3 * 24 + 3, before)
    s.app:part().offset = 20
    s.app:arrange()
    assert.equal(before, read(), "those that were visible are read no more")
    s.app:part().sort = "WRITE/s"
    assert.truthy(read() >= 80, "all are compared")
    local groups = sampling.group(s.app.shown)
    assert(sampling.new(function(only)
      return kstat.open({ proc = tree.proc, sys = tree.sys, only = only })
    end, false, true):live(groups, 1))
    assert.truthy(#groups[1].now >= 120, "the first frame on paper is not to lack figures of the busiest")
  end)

  it("has figures of rows that a key brings into sight soon, and not with the next tick alone", function()
    local tree = tree_of_processes()
    local terminal = pty.start(("exec env KSTAT_PROC=%s KSTAT_SYS=%s %s/kstatlua top --view processes 3600"):format(
      tree.proc, tree.sys, run.bin), 80, 10)
    local text, pid = terminal:await("\n p%d+ +%d+ %S+ +0 +0 +4.0K +0 +0 +1\n"), 40
    while text:find(("\n p%d "):format(pid), 1, true) do
      pid = pid - 1
    end
    terminal:send("\\", ("p%d "):format(pid), "Enter")
    terminal:await(("\n p%d +%d %%S+ +0 +0 +4.0K +0 +0 +1\n"):format(pid, pid))
  end)
end)

describe("the processes beside the verdict", function()
  after_each(capture.clean)

  it("are those with most of the resource that is worst", function()
    local large, forks = { 1, "large", 0, { rss = 900 } }, { 4, "forks", 0, { threads = 99 } }
    local list = { large, { 2, "reader", 0 }, { 3, "hog", 0 }, forks }
    local later = { large, { 2, "reader", 0, { read = 5 } }, { 3, "hog", 0, { cpu = 1 } }, forks }
    for resource, name in pairs({ cpu = "hog", disk = "reader", memory = "large", table = "forks" }) do
      local s = screen_of(samples_of(list, later), { VIEW.section })
      s.app.shown.screen.verdict = { resource = resource, severity = 2 }
      s.tick()
      s.tick()
      assert.equal(name, names(s):match("^%a+"), resource)
    end
    later[2][4].faults = 50
    local s = screen_of(samples_of(list, later), { VIEW.section })
    s.app.shown.screen.verdict = { resource = "memory", severity = 1 }
    s.tick()
    s.tick()
    assert.equal("reader", names(s), "who reads pages from disks makes the others wait")
  end)
end)

describe("the view of processes of this machine", function()
  it("has this process, with what it read", function()
    local pid = run.shell("echo $PPID").out:match("%d+")
    local s = screen_of({})
    s.app:set_filter("/^\\S+ " .. pid .. " /")
    s.tick()
    s.tick()
    local row = s.app:row()
    assert.equal(tonumber(pid), row.pid)
    assert.truthy(row.rss > MB and row.nlwp >= 1 and row.time >= 0)
    assert.truthy(row.read and row.read >= 0)
  end)
end)
