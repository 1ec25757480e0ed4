-- The views of control groups, of disks and links, and of what processes publish, on the screen of kstatlua top: on
-- trees that change, on captures, and with a publisher that is killed and starts again.
local actions = require("kstat.top.actions")
local capture = require("support.capture")
local core = require("kstat.core")
local L = require("support.linux")
local run = require("support.run")
local selector = require("kstat.read.selector")
local views = require("support.views")

local check_fit, screen_of = views.check_fit, views.screen_of

-- A copy of a tree whose files and clock can be changed.
local function tree_of(name)
  local dir = L.copy(run.tree(name))
  local tree = { source = { proc = dir .. "/proc", sys = dir .. "/sys" }, dir = dir, uptime = 12345 }
  function tree.write(path, text)
    run.write_file(dir .. "/" .. path, text)
  end
  function tree.read(path)
    return run.read_file(dir .. "/" .. path)
  end
  function tree.later(seconds)
    tree.uptime = tree.uptime + seconds
    tree.write("proc/uptime", ("%.2f 1.00\n"):format(tree.uptime))
  end
  tree.later(0)
  return tree
end

local GROUPS = "sys/fs/cgroup/"
local WEB = GROUPS .. "system.slice/web.service/"

describe("the view of control groups", function()
  local view = require("kstat.top.views.cgroups")
  local tree
  before_each(function() tree = tree_of("cgroup-v2") end)
  after_each(function() L.remove(tree.dir) end)

  -- Changes a number in a file.
  local function set(path, name, value)
    tree.write(path, (tree.read(path):gsub(name .. "%d+", name .. ("%d"):format(value))))
  end

  it("shows what each group uses and waits for, those with most CPU time first", function()
    local s = screen_of({ view }, tree.source)
    s.tick()
    assert.matches("/system.slice/web.service +%- +%- 12.0K 16.0K +%- +3 %-\n", s.text()) -- levels alone
    tree.later(2)
    set(WEB .. "cpu.stat", "usage_usec ", 2700 + 15000)
    tree.write(WEB .. "cpu.pressure", "some avg10=1.50 avg60=0.10 avg300=0.00 total=401000\n")
    tree.write(WEB .. "io.stat", "8:0 rbytes=2097155 wbytes=2 rios=3 wios=4\n")
    s.tick()
    assert.matches("^CGROUP +CPU%% WAIT%% +MEM LIMIT +IO/s PROC STATE\n" ..
      "/system.slice/web.service +0.8 +20 12.0K 16.0K +1.05M +3 CRITICAL: io 100%%, " ..
      "io at\n +limit 100%% %(sda nread%)\n", s.text())
  end)

  it("says what is too much, and explains it", function()
    local s = screen_of({ view }, tree.source)
    s.tick()
    tree.later(1)
    tree.write(WEB .. "memory.current", "16000\n")
    set(WEB .. "memory.events", "oom_kill ", 7)
    s.tick()
    assert.matches("/system.slice/web.service [^\n]* CRITICAL: oom kills 2\n", s.text(120))
    s.app:set_filter("web.service")
    s.app:arrange()
    actions.act(s.app, "e")
    local text = s.text()
    assert.matches("^/system.slice/web.service: CRITICAL\noom kills 2\n", text)
    assert.matches("errors: oom kills, critical from 1; now 2\n", text)
    assert.matches("memory.events: oom_kill\n", text)
  end)

  it("is a tree, in which names are those of the parts", function()
    local s = screen_of({ view }, tree.source)
    s.tick()
    actions.act(s.app, "v")
    assert.matches("\n/ +[^\n]*\n", s.text())
    assert.matches("\n  system.slice +[^\n]*\n    web.service ", s.text())
  end)

  it("is a tree in the order of memory where the root alone has a CPU time", function()
    L.sh(("find %s/%s -mindepth 2 -name cpu.stat -delete"):format(tree.dir, GROUPS))
    for name, memory in pairs({ b = 30000000, a = 20000000, c = 10000000 }) do
      L.sh(("cp -r %s/%s %s/%ssystem.slice/%s.service"):format(tree.dir, WEB, tree.dir, GROUPS, name))
      tree.write(GROUPS .. "system.slice/" .. name .. ".service/memory.current", memory .. "\n")
    end
    local s = screen_of({ view }, tree.source)
    s.tick()
    actions.act(s.app, "v")
    tree.later(1)
    s.tick()
    assert.matches("\n/ +%d[^\n]*\n.*\n    b.service +%-.*\n    a.service +%-.*\n    c.service +%-", s.text())
  end)

  it("loses groups that go, and shows those that come without a state", function()
    local s = screen_of({ view }, tree.source)
    s.tick()
    tree.later(1)
    L.sh(("mv %s/%ssystem.slice/web.service %s/%ssystem.slice/new.service"):format(tree.dir, GROUPS, tree.dir, GROUPS))
    L.sh(("rm -r %s/%suser.slice"):format(tree.dir, GROUPS))
    s.tick()
    local text = s.text()
    assert.is_nil(text:find("web.service", 1, true))
    assert.is_nil(text:find("user.slice", 1, true))
    assert.matches("/system.slice/new.service [^\n]* %-\n", text)
  end)

  it("cannot be confused by names, and fits into windows of any size", function()
    local name = "\27[2Jé日本e\204\129\255"
    L.sh(("cp -r %s/%s %s"):format(tree.dir, WEB, run.quote(tree.dir .. "/" .. GROUPS .. "system.slice/" .. name ..
      ".service")))
    local s = screen_of({ view }, tree.source)
    s.tick()
    tree.later(1)
    s.tick()
    check_fit(s)
    assert.matches("/system.slice/%?%[2Jé日本e\204\129%?.service", table.concat(s.app:lines(120, 40, true), "\n"))
  end)

  it("reads files that only states need of the groups that are visible", function()
    local s = screen_of({ view }, tree.source)
    local function has_details(name)
      local now = s.app.shown.groups[1].now
      return pcall(function()
        return assert(now:lookup("cgroup_memory", nil, name):get("anon"))
      end)
    end
    s.app:set_filter("inner")
    s.tick()
    core.sample_freeze(s.app.shown.groups[1].now)
    assert.is_true(has_details("inner"))
    assert.is_false(has_details("web.service"))
  end)

  it("reads one file of the groups that are not visible, unless another column sorts", function()
    for i = 1, 40 do
      L.sh(("cp -r %s/%s %s/%ssystem.slice/s%d.service"):format(tree.dir, WEB, tree.dir, GROUPS, i))
    end
    local s = screen_of({ view }, tree.source)
    local function read()
      s.tick()
      local now = core.sample_freeze(s.app.shown.groups[1].now)
      return #core.figures(now, { selector.compile({ class = "cgroup" }) }, {})
    end
    assert.truthy(read() < 24)
    assert.truthy(read() < 24)
    s.app:part().sort = "MEM"
    assert.truthy(read() > 40)
  end)

  for name, group in pairs({ ["cgroup-v1"] = "/docker/4f1c", ["cgroup-hybrid"] = "/docker/4f1c" }) do
    it("shows version 1 as well: " .. name, function()
      local other = tree_of(name)
      finally(function() L.remove(other.dir) end)
      local s = screen_of({ view }, other.source)
      s.tick()
      other.later(1)
      local found = io.popen(("find %s/sys -path '*%s*' -name cpuacct.usage"):format(other.dir, group)):read("*l")
      run.write_file(found, ("%d\n"):format(25000000615 + 3e8))
      s.tick()
      assert.matches("^[^\n]*\n" .. group .. "%S* +30 +[%d-]+ +5.0M +256M +0 +10 ok\n", s.text(120))
    end)
  end
end)

describe("the section of control groups in the first view", function()
  local cgroups = require("kstat.top.views.cgroups")
  local tree
  before_each(function() tree = tree_of("cgroup-v2") end)
  after_each(function() L.remove(tree.dir) end)

  -- A screen after two intervals, in which a service and the group above it used CPU time; verdict: what others found.
  local function after_two(sections, verdict)
    local s = screen_of({ { name = "one", sections = sections } }, tree.source)
    s.app.shown.screen.verdict = verdict
    s.tick()
    tree.later(1)
    for _, path in ipairs({ GROUPS .. "system.slice/", WEB }) do
      tree.write(path .. "cpu.stat", (tree.read(path .. "cpu.stat"):gsub("usage_usec (%d+)", function(n)
        return ("usage_usec %d"):format(n + 9000)
      end)))
    end
    s.tick()
    return s
  end

  local function lines(verdict)
    return after_two({ cgroups.section }, verdict).lines()
  end

  it("has the states by which the verdict was found, and reads nothing more for them", function()
    local resources = require("kstat.top.views.resources")
    local shown = {}
    for i, sections in ipairs({ { cgroups.section }, { resources.sections[1], cgroups.section } }) do
      local app = after_two(sections, { severity = 0 }).app
      shown[i] = {}
      app:lines(100, 40, false)
      for _, row in ipairs(app.shown.parts[i].order) do
        shown[i][row.path] = row.state or "none"
        assert.is_true(i == 1 or row.judged == app.shown.screen.judged[row.k.instance])
      end
    end
    assert.same(shown[1], shown[2])
    assert.matches("^%a", shown[2]["/system.slice/web.service"])
  end)

  it("leaves out what is no more than the groups below it, and what does nothing", function()
    local shown = lines({ severity = 0 })
    assert.equal(2, #shown)
    assert.matches("^/system.slice/web.service +0.9 ", shown[2])
  end)

  it("begins with the group that the verdict is about, and is in the order of what is short", function()
    assert.matches("/inner ", lines({ severity = 2, resource = "cgroup", name = "inner" })[2])
    local shown = lines({ severity = 2, resource = "memory", name = "all" })
    assert.matches("/inner +", shown[2])
    assert.matches("session%-2.scope +", shown[3])
  end)

  it("is not there where there are no groups", function()
    local s = screen_of({ { name = "one", sections = { cgroups.section } } }, run.tree_roots("old"))
    s.tick()
    assert.equal(0, #s.app:part().order)
  end)
end)

-- --- disks and links ------------------------------------------------------------------------------------------------

-- An I/O kstat at second t; figures are per second: reads, writes, the length of the queue, and its busy share.
local function disk(module, name, t, reads, writes, length, busy)
  return capture.kstat(module, 0, name, "disk", 3, 0, t, (('"nread":%d,"nwritten":%d,"reads":%d,"writes":%d,' ..
    '"wtime":0,"wlentime":0,"wlastupdate":0,"rtime":%.9f,"rlentime":%.9f,"rlastupdate":0,"wcnt":0,"rcnt":0')
    :format(4096 * reads * t, 1024 * writes * t, reads * t, writes * t, busy * t, length * t)))
end

local function size_of(module, name, t, size)
  return capture.kstat(module, 0, name .. ",detail", "disk_detail", 1, 0, t, ('"size":%d'):format(size))
end

local function link(name, t, bytes, drops, speed)
  return capture.kstat("link", 0, name, "net", 1, 0, t, (('"rbytes64":%d,"obytes64":%d,"ipackets64":%d,' ..
    '"opackets64":%d,"norcvbuf":0,"noxmtbuf":%d,"ierrors":0,"oerrors":0,"link_state":1,"link_duplex":2%s')
    :format(bytes * t, 2 * bytes * t, 10 * t, 30 * t, drops * t, speed and ',"ifspeed":' .. speed or "")))
end

describe("the view of disks and links", function()
  local view = require("kstat.top.views.disks")
  local path
  setup(function()
    local samples = {}
    for i = 1, 3 do
      local t = 10 * i
      samples[i] = {
        disk("sd", "idle", t, 0, 0, 0, 0), size_of("sd", "idle", t, 1000), -- which did nothing, but could
        disk("sd", "busy", t, 100, 20, 1.2, 0.75), disk("sd", "slow", t, 0, 5, 2, 0.5),
        disk("loop", "loop0", t, 0, 0, 0, 0), disk("loop", "loop1", t, 1, 0, 0, 0), -- the first does nothing
        size_of("loop", "loop0", t, 1000), size_of("loop", "loop1", t, 1000),
        disk("sd", "empty", t, 0, 0, 0, 0), size_of("sd", "empty", t, 0),
        capture.kstat("sd", 0, "busy,dev", "device", 1, 0, t, '"descriptive_name":"vg0-root","rotational":0'),
        capture.kstat("sd", 0, "busy1,dev", "device", 1, 0, t, '"mount_point":"/home"'),
        link("eth0", t, 1000, 0), link("eth1", t, 5e6, 2, 1e8), link("lo", t, 9e9, 0),
        i < 3 and disk("sd", "gone", t, 9, 9, 1, 0.9) or nil,
      }
    end
    path = capture.file(samples)
  end)
  teardown(capture.clean)

  local function after(ticks)
    local s = screen_of({ view }, { capture = path })
    for _ = 1, ticks do
      s.tick()
    end
    return s
  end

  it("has the busiest first and what is idle last, without drivers that do nothing and empty disks", function()
    local text = after(2).text(120)
    assert.matches("^DISK +NAME +r/s +w/s +READ/s WRITE/s +SVC +QUEUE +BUSY%% +ERR STATE\n" ..
      "gone +%- +9 +9 +36864 +9216 +56 ms +1 +90 +%- ok\n" ..
      "busy +vg0%-root /home +100 +20 +410k +20480 +10 ms +1.2 +75 +%- ok\n" ..
      "slow +%- +0 +5 +0 +5120 +400 ms +2 +50 +%- warning: slow 400 ms\n" ..
      "loop1 [^\n]*\nidle +%- +0 +0 +0 +0 +%- +0 +0 +%- ok\nLINK ", text)
  end)

  it("shows links with their part of what they can do, and no loopback", function()
    assert.matches("\nLINK +IN/s +OUT/s INPK/s OUTPK/s DROP/s ERR SPEED UTIL%% UP STATE\n" ..
      "eth1 +5.00M +10.0M +10 +30 +2 +0 +100M +80 up CRITICAL: dropped 4.8%%\n" ..
      "eth0 +1000 +2000 +10 +30 +0 +0 +%- +%- up ok$", after(2).text(120))
  end)

  it("sorts by states, which else only rows that are shown have, the worst first", function()
    local s = after(1)
    s.text(120)
    actions.act(s.app, "<")
    s.tick()
    assert.equal("STATE", s.app:part().sort)
    assert.matches("^DISK [^\n]*\nslow [^\n]* warning: slow 400 ms\ngone ", s.text(120))
  end)

  it("finds a disk by the names that users know, at each tick", function()
    local s = after(1)
    s.app:set_filter("vg0-ROOT")
    s.tick()
    assert.matches("^DISK [^\n]*\nbusy [^\n]*$", s.text(120))
  end)

  it("has no figures of an interval before there is one, and loses a disk that goes", function()
    assert.matches("busy +vg0%-root /home +%- +%- +%- +%- +%- +%- +%- +%- %-\n", after(1).text(120))
    local s = after(2)
    actions.act(s.app, "down")
    assert.equal("gone", s.app:row().name)
    s.tick()
    assert.is_nil(s.text():find("gone", 1, true))
    assert.equal("busy", s.app:row().name)
  end)

  it("leads from a disk to the groups that use it, and from there to their processes", function()
    local groups = require("kstat.top.views.cgroups")
    local tree = tree_of("cgroup-v1")
    finally(function() L.remove(tree.dir) end)
    tree.write("proc/diskstats", "   8       0 sda 10 0 80 1 10 0 80 1 0 1 1\n")
    local s = screen_of({ view, groups, { name = "processes", sections = view.sections } }, tree.source)
    s.tick()
    assert.equal("sample", actions.act(s.app, "enter"))
    assert.same({ "cgroups", "IO/s", "sda" },
      { s.app.shown.view.name, s.app:part().sort, s.app.shown.screen.about.disk })
    s.tick()
    tree.later(2)
    tree.write("sys/fs/cgroup/blkio/docker/blkio.throttle.io_service_bytes_recursive",
      "8:0 Read 6291456\n8:0 Write 8192\n254:0 Read 9000000000\n254:0 Write 65536\nTotal 1\n")
    s.tick()
    assert.matches("^CGROUP [^\n]*\n/docker +0 [^\n]* 3.14M +8 ", s.text())
    actions.act(s.app, "enter")
    assert.same({ "processes", "/docker", "READ/s" },
      { s.app.shown.view.name, s.app.shown.screen.about.group, s.app.shown.screen.about.sort })
    actions.act(s.app, "backspace")
    actions.act(s.app, "backspace")
    assert.equal("disks", s.app.shown.view.name)
  end)
end)

-- --- what is published ----------------------------------------------------------------------------------------------

-- What the publisher does: a line of commands each, which it answers when it is done.
local PUBLISHER = [[
  local pub = assert(kstat.publish("shop"))
  local counting = assert(kstat.publish("counting"))
  local template = kstat.stats.find("ns:screen_spec") or assert(kstat.stats.template("screen_spec"))
  assert(template:add_voi(0, "rtt", "u64", { kstat.stats.sum(), kstat.stats.tdgstclust32(20) }))
  local known = {
    answers = pub:latency({ name = "answers", unit = "us" }), size = pub:latency({ name = "size", unit = "bytes" }),
    jobs = pub:io({ name = "jobs", latency = true }), times = pub:timer({ name = "times", timers = { "parse" } }),
    stuck = pub:io({ name = "stuck" }), wide = assert(pub:latency({ name = "日本e\204\129" })),
    rtt = pub:blob({ name = "rtt", template = template, vois = { rtt = { unit = "ms" } } }),
    counts = counting:named({ name = "counts", statistics = { "hits", "misses", "none", "few",
      { name = "level", kind = "gauge" } } }),
  }
  local act = {
    answers = function(k, value) k:add(value) end, size = function(k, value) k:add(value) end,
    jobs = function(k) k:finish(k:start(k:enter()), "read", 512) end,
    times = function(k, value) k:event("parse", 1, 1 + value) end,
    stuck = function(k) k:waitq_enter() end, rtt = function(k, value) k:update(0, value) end,
    counts = function(k, value) k:add(value) k:set("level", 1000000) end,
  }
  local pid = io.open("/proc/self/stat"):read("n")
  io.write(pid, "\n")
  io.flush()
  for line in io.lines() do
    for what, n, value in line:gmatch("(%a+) (%d+) (%w+)") do
      for _ = 1, n do
        act[what](known[what], tonumber(value) or value)
      end
    end
    io.write("done\n")
    io.flush()
  end
]]

-- A publisher in a process of its own: call it with commands, which it has done then.
local function publisher_in(dir)
  run.write_file(dir .. "/publish.lua", PUBLISHER)
  L.sh(("rm -f %s/commands; mkfifo %s/commands"):format(dir, dir))
  local answers = assert(io.popen(("exec %s/kstatlua %s/publish.lua <%s/commands"):format(run.bin, dir, dir)))
  local commands = assert(io.open(dir .. "/commands", "w"))
  local self = { pid = assert(answers:read("*l"), "the publisher did not start") }
  function self.kill()
    L.sh("kill -9 " .. self.pid)
    commands:close()
    answers:close() -- waits for its end
  end
  return setmetatable(self, { __call = function(_, line)
    commands:write(line, "\n")
    commands:flush()
    assert(answers:read("*l"))
  end })
end

describe("the view of what processes publish", function()
  local view = require("kstat.top.views.published")
  local dir, publish, s
  before_each(function()
    dir = run.directory()
    publish = publisher_in(dir)
    s = screen_of({ view }, {})
  end)
  after_each(function()
    if publish then
      publish.kill()
    end
    run.remove_directory(dir)
  end)

  -- The line of a name, without repeated blanks.
  local function line_of(name, width)
    for _, line in ipairs(s.lines(width or 120)) do
      if line:sub(1, #name + 1) == name .. " " then
        return (line:gsub(" +", " "))
      end
    end
  end

  it("has queues, times, sizes, digests and counters in one table, in their units", function()
    publish("answers 1 1 jobs 1 x")
    s.tick()
    assert.matches("^shop:answers %- %- %- %- %- %- %-", line_of("shop:answers"))
    publish("answers 60 700 answers 30 2000 answers 10 4700 size 100 5000 jobs 3 x times 2 5000000 " ..
      "rtt 30 40 counts 5 hits counts 3 misses counts 1 few")
    s.tick()
    local number = " [%d.k]+"
    assert.matches("^shop:answers" .. number .. " [67]%d%d us [12].%d ms 4.7 ms %- @ 1.5 ms", line_of("shop:answers"))
    assert.matches("^shop:size" .. number .. " 4.9K 4.9K 4.9K %- @ 4.9K %-", line_of("shop:size"))
    assert.matches("^shop:jobs" .. number .. " %d+ %as %S+ %as %S+ %as %- @ %S+ %as 0.0", line_of("shop:jobs"))
    assert.is_nil(line_of("shop:jobs,svc"))
    assert.matches("^shop:times:parse" .. number .. " %- %- %- %- @ 5.0 ms", line_of("shop:times:parse"))
    assert.matches("^shop:rtt:rtt" .. number .. " 40 ms 40 ms 40 ms %- @ 40 ms", line_of("shop:rtt:rtt"))
    assert.matches("^counting:counts:hits" .. number .. " %- %- %- %- @ %- %-", line_of("counting:counts:hits"))
    assert.is_nil(line_of("counting:counts:none"))
    assert.is_nil(line_of("counting:counts:level"))
    s.app.shown.screen.all = true
    for _, row in ipairs(s.app:part().rows) do
      view.sections[1].complete(row, s.app:part().given)
      if row.label == "shop:answers" then
        assert.near(0.0047, row.p99_text, 0.0005, "programs get seconds")
      end
    end
    s.tick()
    assert.matches("^counting:counts:hits 0 ", line_of("counting:counts:hits"), "a publisher that is idle is there")
    assert.is_nil(line_of("counting:counts:level"))
  end)

  it("compares with what was small, but not with nothing", function()
    publish("answers 100 1 size 100 0")
    s.tick()
    publish("answers 100 10 size 100 10")
    s.tick()
    assert.matches("!", line_of("shop:answers"))
    assert.falsy(line_of("shop:size"):find("!", 1, true))
  end)

  it("has what is far worse than before first, then where most requests wait", function()
    publish("answers 100 700 stuck 3 x")
    s.tick()
    publish("answers 1 100") -- no more than 0.1 ms of work: a request of three that wait counts for more
    s.tick()
    assert.matches("^PUBLISHED[^\n]*\nshop:stuck ", s.text())
    for _ = 1, 5 do
      publish("answers 100 1000")
      s.tick()
    end
    assert.matches(" 990 us 990 us [^!]*$", line_of("shop:answers"))
    local seen = line_of("shop:answers")
    s.app:take(0, false) -- the same interval once more, as at an end of a recording
    assert.equal(seen, line_of("shop:answers"))
    publish("answers 100 4700")
    s.tick()
    assert.matches("^PUBLISHED[^\n]*\nshop:answers +%S+ 4.7 ms 4.7 ms 4.7 ms +990 us +%S+ ! ", s.text(120))
    actions.act(s.app, "home")
    actions.act(s.app, "e")
    assert.matches("^shop:0:answers\npublished by shop, process " .. publish.pid .. " of user [^\n]*\n" ..
      "p99 is 4.7 times what it was", s.text())
    actions.act(s.app, "e")
    publish("answers 19 4700") -- too few to tell
    s.tick()
    assert.matches(" 4.7 ms 990 us [^!]*$", line_of("shop:answers"))
  end)

  it("fits into windows of any size, whatever names there are", function()
    publish("answers 1 1")
    s.tick()
    publish("answers 10 1")
    s.tick()
    check_fit(s)
    assert.matches("shop:日本e\204\129 ", table.concat(s.app:lines(120, 40, true), "\n"))
  end)

  it("loses a publisher that is killed, and goes on where it starts again", function()
    publish("answers 100 700")
    s.tick()
    publish("answers 100 700")
    s.tick()
    assert.matches("! *$", line_of("shop:answers") .. " !") -- it is there
    publish = publish.kill()
    s.tick()
    assert.equal(0, #s.app:part().order)
    publish = publisher_in(dir)
    publish("answers 100 4700")
    s.tick()
    assert.matches(" 4.7 ms 4.7 ms 4.7 ms [67]%d%d us %S+ !", line_of("shop:answers"))
    s.app.views[2] = require("kstat.top.views.statistics")
    actions.act(s.app, "enter")
    s.tick()
    assert.matches("\n +%- +470k us +shop:0:answers:sum\n", s.text(120))
    assert.is_nil(s.text():find("unix:0:", 1, true))
  end)

  it("has in the first view the few that do something", function()
    local one = screen_of({ { name = "one", sections = { view.section } } }, {})
    publish("answers 1 1")
    one.tick()
    publish("answers 3 1")
    one.tick()
    assert.equal(2, #one.lines())
    assert.matches("^shop:answers ", one.lines()[2])
  end)
end)

describe("the view of what is published, of a capture that does not say who published", function()
  it("has what is none of the machine's", function()
    local s = screen_of({ require("kstat.top.views.published") }, { capture = "spec/vectors/kstat/host.jsonl" })
    s.tick()
    s.tick()
    assert.matches("^PUBLISHED [^\n]*\nevtimer:poll_latency:poll latency +8.60 [^\n]*$", s.text())
  end)
end)
