-- What fingers type that know top and htop: keys that sort, search, filter, mark and send signals, and what a screen
-- remembers of them until it starts again.
local actions = require("kstat.top.actions")
local application = require("kstat.top.application")
local capture = require("support.capture")
local keys = require("kstat.top.keys")
local pty = require("support.pty")
local remembered = require("kstat.top.remembered")
local run = require("support.run")
local sampling = require("kstat.top.sampling")
local seen = require("kstat.top.seen")
local kstat = require("kstat")

local VIEWS = require("kstat.top.views")

-- The text of a file; nil: there is none.
local function text_of(path)
  local f = io.open(path)
  local text = f and f:read("*a")
  return text, f and f:close()
end

-- A capture of two samples of processes { pid, name, uid, CPU s, bytes in use, bytes written, control group }.
local function capture_of(list)
  local samples = {}
  for t = 1, 2 do
    samples[t] = {}
    for _, p in ipairs(list) do
      local function add(suffix, class, values)
        table.insert(samples[t], capture.kstat("process", p[1], p[2] .. suffix, class, 1, 1, 100 + t, values))
      end
      add("", "process", ('"fname":"%s","ppid":0,"euid":%d,"state":"S","nlwp":1,"pri":20,"nice":0,"size":1,' ..
        '"rssize":%.0f,"utime":%.0f,"stime":0,"cutime":0,"cstime":0,"minf":0,"majf":0'):format(p[2], p[3], p[5],
          (p[8] or 0) * 1e9 + (t - 1) * p[4] * 1e9))
      add(",io", "process_io", ('"nread":0,"nwritten":%.0f,"ncancelled":0,"cnread":0,"cnwritten":0'):format(
        (t - 1) * p[6]))
      add(",args", "process_args", ('"psargs":"/opt/%s --long"'):format(p[2]))
      add(",cgroup", "process_cgroup", ('"cgroup":"%s"'):format(p[7]))
    end
  end
  return capture.file(samples)
end

local MANY = { { 7, "web", 0, 0.5, 4e6, 10, "/web" }, { 8, "dump", 33, 0.1, 2e6, 9e6, "/website", 99 },
  { 70, "hog", 0, 0.9, 1e6, 0, "/web/a" }, { 9, "large", 4242, 0.2, 9e6, 0, "/" } }

-- A screen of the views on a capture, or on this machine, in a window; with functions to press keys and to see.
local function screen(path, given)
  given = given or {}
  local app = application.new({ group = sampling.group, interval = 1, host = "vm", views = given.views or VIEWS,
    view = given.view or "processes", remembered = given.remembered, filter = given.filter, about = given.about })
  local self = { app = app }
  function self.tick()
    local source = sampling.new(function(only) return kstat.open({ capture = path, only = only }) end)
    for _, group in ipairs(app.shown.groups) do
      group.chain, group.now = nil, nil
    end
    for _ = 1, 2 do
      assert(source:live(app.shown.groups, 1e6))
      app:take(0, not path)
      app:lines(given.width or 80, 20, false)
    end
  end
  function self.press(...)
    for _, key in ipairs({ ... }) do
      local what = actions.act(app, key)
      if what == "sample" then
        self.tick()
      end
    end
    return self.text()
  end
  function self.text()
    return (table.concat(app:lines(given.width or 80, 20, false), "\n"):gsub("\27%[[%d;]*m", ""):gsub(" +\n", "\n"))
  end
  function self.names()
    local list = {}
    for name in (self.text() .. "\n"):gmatch("\n[ *](%l+) +%d+ [^\n]*") do
      list[#list + 1] = name
    end
    return table.concat(list, " ")
  end
  self.tick()
  return self
end

describe("keys of functions", function()
  it("have names, whichever way a terminal sends them", function()
    local bytes = "\27OP\27OS\27[11~\27[15~\27[17~\27[20;2~\27[21~\27[[A\27[[E\27[[?\27[P"
    assert.equal("f1 f4 f1 f5 f6 f9 f10 f1 f5 other f1", table.concat((keys.parse(bytes)), " "))
    for n = 1, 3 do
      local list, rest = keys.parse(("\27[[A"):sub(1, n))
      assert.same({}, list)
      assert.equal(n, #rest)
    end
  end)
end)

describe("the fingers of somebody who knows top and htop", function()
  after_each(capture.clean)

  it("sort by CPU, memory, time and I/O, from other views, too", function()
    local s = screen(capture_of(MANY))
    for key, order in pairs({ P = "hog web large dump", M = "large web dump hog", T = "dump hog web large",
      I = "dump web hog large" }) do
      s.press(key)
      assert.equal(order, s.names(), key)
    end
    s.press("T")
    assert.matches(" TIME", s.text())
    s.press("4", "M")
    assert.equal("processes large web dump hog", s.app.shown.view.name .. " " .. s.names())
    s.press("f6", "down", "down", "down", "enter") -- CPU%
    assert.equal("hog web large dump", s.names())
  end)

  it("show command lines, which a wide window has without a key", function()
    local path = capture_of(MANY)
    local s = screen(path, { width = 70 })
    assert.not_matches("COMMAND", s.text())
    assert.matches(" COMMAND\n.* /opt/hog %-%-long\n", s.press("c"))
    assert.not_matches("COMMAND", s.press("c"))
    s = screen(path, { width = 130 })
    assert.matches(" COMMAND\n.* /opt/hog %-%-long\n", s.text())
    assert.not_matches("COMMAND", s.press("c"))
  end)

  it("filter by exactly one user, one number, one group; and by text", function()
    local s = screen(capture_of(MANY))
    s.press("u", "r", "o", "o", "t", "enter")
    assert.equal("hog web", s.names())
    s.press("u", "4", "2", "4", "2", "enter")
    assert.equal("large", s.names())
    s.press("p", "7", "enter")
    assert.equal("web", s.names())
    assert.matches("'7x' is no number", s.press("p", "7", "x", "enter"))
    s.app:set_filter("cgroup=/web")
    s.app:arrange()
    assert.equal("hog web", s.names())
    s.press("escape", "\\", "w", "e", "b", "enter")
    assert.equal("hog web dump", s.names()) -- by the name of its group
    s.press("escape", "1", "u", "r", "o", "o", "t", "enter")
    assert.equal("processes hog web", s.app.shown.view.name .. " " .. s.names())
    assert.equal("resources", s.press("backspace") and s.app.shown.view.name)
  end)

  it("search, which selects a row, and the next one that has it", function()
    local s = screen(capture_of(MANY))
    s.press("/", "w", "e", "b")
    assert.equal("hog", s.app:row().process) -- by the name of its group
    s.press("f3")
    assert.equal("web", s.app:row().process)
    s.press("f3")
    assert.equal("dump", s.app:row().process)
    assert.matches("search: webx_   no row has it", s.press("x"))
    assert.equal("hog web large dump", s.press("enter") and s.names())
  end)

  it("are told that nobody in a recording gets a signal", function()
    local s = screen(capture_of(MANY))
    assert.matches("this is the past: a signal", s.press("down", "K"))
    assert.matches("\n%*hog ", s.press("home", " "))
    assert.not_matches("\n%*", s.press("escape"))
  end)

  it("send a signal to what still is that process, after a question", function()
    local dir = run.directory()
    local pid = run.start("sleep 987", dir .. "/out")
    run.await("the child", function() return (text_of("/proc/" .. pid .. "/comm") or ""):find("sleep") end)
    local s = screen(nil)
    assert.matches("select a process first", s.press("K"))
    s.app:set_filter("pid=" .. pid)
    s.app:arrange()
    assert.matches("\n signal to sleep%[" .. pid .. "%] of %S+, enter sends it: TERM_", s.press("home", "f9"))
    assert.matches("no signal 'TERMX'", s.press("X", "enter"))
    s.press("K", "escape")
    local marked = select(2, next(s.app.shown.marks)) or require("kstat.top.prompts").process_of(s.app:row())
    local other = { pid = marked.pid, crtime = marked.crtime + 1, text = "sleep" }
    s.app.shown.marks = { other = other }
    assert.matches("it has ended", s.press("K", "enter"))
    assert.matches("sent SIGTERM to sleep%[" .. pid .. "%]", s.press("K", "backspace", "backspace", "backspace",
      "backspace", "S", "I", "G", "T", "E", "R", "M", "enter"))
    run.await("its end", function()
      local stat = text_of("/proc/" .. pid .. "/stat")
      return not stat or stat:find(") Z ", 1, true)
    end)
    run.stop(pid)
    run.remove_directory(dir)
  end)
end)

describe("what a screen remembers", function()
  local dir, path
  before_each(function()
    dir = run.directory()
    path = dir .. "/deep/kstat/top"
  end)
  after_each(function()
    capture.clean()
    run.remove_directory(dir)
  end)

  local function save(s)
    return s.app.remembered:save()
  end

  it("is the columns, the order, the tree and the filter, until one key forgets them", function()
    local file = capture_of(MANY)
    local s = screen(file, { remembered = remembered.open(path) })
    assert(save(s))
    assert.is_nil((text_of(path)), "nothing was chosen")
    s.press("M", "o", "down", "down", " ", "o", "c", "u", "r", "o", "o", "t", "enter")
    assert(save(s))
    s = screen(file, { remembered = remembered.open(path) })
    assert.equal("web hog", s.names())
    assert.matches(" RSS [^\n]* COMMAND\n", s.text())
    assert.not_matches("USER", s.text())
    s.press("4", "1")
    assert(save(s))
    assert.equal("web hog", screen(file, { remembered = remembered.open(path) }).names())
    s = screen(file, { remembered = remembered.open(path), filter = "hog", about = { sort = "PID" } })
    assert.equal("hog", s.names())
    assert(save(s))
    assert.equal("web hog", screen(file, { remembered = remembered.open(path) }).names(), "not of command lines")
    s.press("F")
    assert.equal("hog web large dump", s.names())
    assert(save(s))
    assert.is_nil((text_of(path)))
  end)

  it("is not read from what is damaged, foreign, no file, or of another format", function()
    local file = capture_of(MANY)
    run.shell("mkdir -p " .. dir .. "/deep/kstat")
    for _, text in ipairs({ "something else\n", "kstatlua top 1\nprocesses\tx\tsort\tPID\n", ("x"):rep(70000) }) do
      run.write_file(path, text)
      local s = screen(file, { remembered = remembered.open(path) })
      assert.matches("what was chosen before is ignored: ", s.text())
      assert.equal("hog web large dump", s.press("M", "P") and s.names())
      assert(save(s))
      assert.equal(text, run.read_file(path))
    end
    run.write_file(path, "kstatlua top 1\nprocesses\t1\tsort\tNONE\nnowhere\t9\thide\tPID\nprocesses\t0\tfilter\t/(/\n")
    assert.equal("hog web large dump", screen(file, { remembered = remembered.open(path) }).names())
    run.shell(("rm %s; mkfifo %s"):format(path, path))
    assert.matches("not a small file of this user", remembered.open(path).problem)
  end)

  it("is kept by the program, where the environment says", function()
    local home = { XDG_STATE_HOME = "/state", HOME = "/home/x" }
    local getenv = os.getenv
    os.getenv = function(name) return home[name] end -- luacheck: ignore
    local paths = { remembered.place() }
    home.XDG_STATE_HOME = "relative"
    paths[2] = remembered.place()
    home.HOME = nil
    paths[3] = tostring(remembered.place())
    os.getenv = getenv -- luacheck: ignore
    assert.same({ "/state/kstat/top", "/home/x/.local/state/kstat/top", "nil" }, paths)
  end)
end)

describe("what a screen saw itself", function()
  after_each(capture.clean)

  it("is kept for ten minutes, and as long as it is small", function()
    local ks = assert(kstat.open({ capture = capture_of(MANY) }))
    local core = require("kstat.core")
    local everything = core.sample(ks, nil, { require("kstat.read.selector").compile({ class = "process" }) })
    assert.truthy(core.sample_size(everything) > 1000)
    local s, group = seen.new(), {}
    group.now = everything
    for time = 1, 700 do
      s:add({ group }, time)
    end
    assert.same({ 601, 100 }, { #s.ticks, s.ticks[1].time })
    assert.truthy(s:enter())
    assert.equal(699, s.time)
    assert.is_nil((s:step(2)))
    assert.is_true((s:by(-60)))
    assert.equal(639, s.time)
    assert.is_true((s:by(1.5)))
    assert.equal(640, s.time)
    assert.is_true((s:to("0:00")))
    assert.equal(700, s.time)
    assert.is_nil((s:to("no time")))
    assert.is_true((s:by(-3600)))
    assert.equal(100, s.time)
    assert.is_nil((s:step(-1)))
    local now, prev = s:samples(nil, group)
    assert.truthy(now and not prev)
    assert.is_nil((s:samples(nil, {})))
    local real = core.sample_size
    core.sample_size = function() return 2 ^ 20 end
    for time = 701, 800 do
      s:add({ group }, time)
    end
    core.sample_size = real
    assert.truthy(#s.ticks <= 18, #s.ticks)
  end)
end)

describe("a terminal of kstatlua top", function()
  local it = pty.it(it, pending)

  it("knows keys of functions, and the order that was chosen when it was left", function()
    local state = run.directory()
    local line = ("XDG_STATE_HOME=%s exec %s/kstatlua top -r spec/vectors/past/faults.rec --at 04:53:20"):format(state,
      run.bin)
    local terminal = pty.start(line)
    terminal:await("PAST")
    terminal:send("F1")
    terminal:await("\n F9 K ")
    terminal:send("F10", "M")
    terminal:await("\n PROCESS[^\n]*\n process_api ")
    terminal:send("F10")
    run.await("the file", function() return text_of(state .. "/kstat/top") end)
    assert.equal("kstatlua top 1\nprocesses\t1\tsort\tRSS\n", run.read_file(state .. "/kstat/top"))
    terminal:close()
    terminal = pty.start(line .. " --view processes")
    terminal:await("\n PROCESS[^\n]*\n process_api ")
    terminal:close()
    run.remove_directory(state)
  end)

  it("goes back into what it saw where nothing is recorded", function()
    local terminal = pty.start(("KSTAT_RECORDINGS=/nonexistent exec %s/kstatlua top --view processes 0.2"):format(
      run.bin))
    terminal:await("LIVE 0.2s[^\n]*\n PROCESS")
    run.shell("sleep 1") -- five samples
    terminal:send("Left")
    terminal:await("PAST[^\n]*\n PROCESS[^\n]*\n %S.*this is what the screen saw")
    terminal:send("Left", "1")
    terminal:await("PAST[^\n]*\n.*this view was not shown then")
    terminal:send("2", "{", "N")
    terminal:await("nothing is recorded: the line of states")
    terminal:send("L", "1")
    terminal:await("LIVE 0.2s[^\n]*\n.*\n RESOURCE ")
  end)
end)
