-- The first view of the screen, on recordings: what its lines say at each fault, and of an hour that was busy and well.
local actions = require("kstat.top.actions")
local application = require("kstat.top.application")
local capture = require("support.capture")
local kstat = require("kstat")
local run = require("support.run")
local sampling = require("kstat.top.sampling")
local clock = require("kstat.command.clock")
local view = require("kstat.top.views.resources")

local FAULTS = "spec/vectors/past/faults.rec"

local began = {}
for name, time in run.read_file("spec/vectors/past/faults.times"):gmatch("(%l+) (%d+)") do
  began[name] = tonumber(time)
end

-- Shows each sample of a recording from a time on to look(time, app), until that returns true.
local function play(path, look, from)
  local ks
  local app = application.new({ group = sampling.group, interval = 1, host = "vm", views = {
    { name = "resources", head = view.head, sections = { view.sections[1] } } } })
  local source = sampling.new(function(only)
    ks = ks or assert(kstat.open({ capture = path, only = only, from = from }))
    return ks
  end)
  while source:live(app.shown.groups, 1) do
    local time = clock.seconds(app.shown.groups[1].now)
    app:take(time, true)
    if look(time, app) then
      break
    end
  end
  ks:close()
end

-- The window so many seconds after a fault began.
local function window(fault, seconds, width, height)
  local lines
  play(FAULTS, function(time, app)
    if time >= began[fault] + seconds then
      lines = app:lines(width or 100, height or 24, false)
      return true
    end
  end)
  return table.concat(lines, "\n")
end

-- A pattern for the second at which a fault began; `text` has that one or the one behind it, in which it was seen.
local function start(fault, text)
  local first = os.date("%H:%M:%S", began[fault])
  return "since " .. (text:find(first, 1, true) and first or os.date("%H:%M:%S", began[fault] + 1))
end

describe("the first view", function()
  it("says within an interval that the CPUs are short, who takes them, and since when", function()
    local text = window("cpu", 2, 80)
    assert.matches("\n CRITICAL cpu: busy while others wait 100%%, " ..
      "pressure %d+%.%d%% " .. start("cpu", text) ..
      "\n   most: cpuhog%[%d+%] %d+%%, cpuhog%[%d+%] %d+%%, cpuhog%[%d+%] %d+%%  " ..
      "%d others are ok\n", text)
    text = window("cpu", 12)
    assert.matches("\n CRITICAL cpu: busy while others wait 100%%, pressure 9%d%.%d%% " ..
      start("cpu", text) .. "%s+most: cpuhog", text)
    assert.matches("\n last 4 min +%-+%+#+ now\n", text)
    assert.matches("\n cpu +100 9%d%.%d%% pressure +[%d.]+ +[%d.]+ +[%d.]+ +%- .* CRITICAL\n memory ", text)
  end)

  it("says for how long by the kernel's averages, as long as these know more", function()
    local said = {}
    play(FAULTS, function(time, app)
      local n = math.floor(time - began.cpu)
      said[n] = table.concat(app:lines(100, 24, false), "\n"):match(" CRITICAL cpu: [^\n]*%% (%a+ %a+ %S+)")
      return n >= 27
    end, began.cpu + 14)
    assert.equal("for over 10", said[21])
    assert.equal("since before " .. os.date("%H:%M:%S", began.cpu + 14), said[27])
  end)

  it("names the disk that all work waits for, and who writes", function()
    local text = window("disk", 20)
    assert.matches("\n CRITICAL disk vda: all stalled %d+%.%d%% " .. start("disk", text) .. ".*most: diskhog", text)
    assert.matches("\n disk vda +%d+%.%d %d+%.%d%% all stalled .*G/s w +%d+ ms CRITICAL\n cpu ", text)
    assert.matches("\n last 4 min +%-+%+#+%-+#+ now\n", text)
  end)

  it("names who writes after the first interval of a screen that begins while the disk is busy", function()
    local ticks, text = 0, nil
    play(FAULTS, function(_, app)
      ticks, text = ticks + 1, table.concat(app:lines(100, 24, false), "\n")
      return ticks == 2
    end, began.disk + 12)
    assert.matches("\n CRITICAL disk vda: .*most: diskhog%[%d+%] [%d.]+GB/s", text)
  end)

  it("names nobody who did little where a disk is busy of a sudden, and what others did is not known", function()
    local function sample(t, old, young)
      local busy = old > 0 and 1 or 0
      local list = { capture.kstat("pressure", 0, "io", "pressure", 1, 0, t, ('"some_avg10":0,"full_nsec":%d'):format(
        5e8 * busy)), capture.kstat("sd", 0, "sda", "disk", 3, 0, t, ('"nread":0,"nwritten":%d,"reads":0,"writes":9,' ..
        '"wtime":0,"wlentime":0,"wlastupdate":0,"rtime":%.9f,"rlentime":%.9f,"rlastupdate":0,"wcnt":0,"rcnt":0'):format(
        old * 2 ^ 20, busy, 9 * busy)) }
      for pid, written in pairs({ old, young }) do
        local birth = pid == 1 and 1 or 101.5
        list[#list + 1] = capture.kstat("process", pid, "p", "process", 1, birth, t, '"fname":"p","ppid":0')
        list[#list + 1] = capture.kstat("process", pid, "p,io", "process_io", 1, birth, t,
          ('"nread":0,"nwritten":%.0f,"cnread":0,"cnwritten":0'):format(written * 2 ^ 20))
      end
      return list
    end
    for young, said in pairs({ [100] = "nobody", [300] = "p[2] 629MB/s" }) do
      local path, text = capture.file({ sample(100, 0), sample(101, 0), sample(102, 400, young) }), nil
      play(path, function(_, app) text = table.concat(app:lines(100, 24, false), "\n") end)
      assert.matches(" CRITICAL disk sda: all stalled 50%% since", text)
      assert.equal(said, text:match("most: (%S+ %S+)") or "nobody")
    end
  end)

  it("says of shells whose children take the CPUs that it is they", function()
    assert.matches("warning cpu: busy .*most: shorty", window("short", 10))
  end)

  it("shows a link without a carrier, and memory that is left, where nothing is too much", function()
    local text = window("link", 10)
    assert.matches("\n ok all %d+ resources are well  nearest to its limit: memory used [%d.]+%% of 90%%\n", text)
    assert.matches("\n link wan0 .*no carrier", text)
    assert.matches("\n memory +%d%.%d .*22%.%dG available +ok\n", window("memory", 20))
  end)

  it("has no state of an interval at the first sample, but levels and the kernel's averages", function()
    play(FAULTS, function(_, app)
      local text = table.concat(app:lines(100, 24, false), "\n")
      assert.matches("\n cpu +%- %- +[%d.]+ +[%d.]+ +[%d.]+ ", text)
      assert.matches("\n memory +2%.%d %- .*G available +ok\n", text)
      return true
    end)
  end)

  it("reads descriptors of processes from the second sample on, so that the first picture is soon there", function()
    local samples, shown = {}, {}
    for t = 100, 101 do
      samples[#samples + 1] = { capture.kstat("process", 9, "web", "process", 1, 0, t, '"state":"S","ppid":1'),
        capture.kstat("process", 9, "web,fd", "process_fd", 1, 0, t, '"open":99,"limit":100') }
    end
    play(capture.file(samples), function(_, app)
      shown[#shown + 1] = table.concat(app:lines(100, 24, false), "\n"):match("descriptors 99%%") or "none"
    end)
    assert.same({ "none", "descriptors 99%" }, shown)
  end)

  it("explains the rule, the file and the last minute of what is too much first", function()
    play(FAULTS, function(time, app)
      if time < began.cpu + 5 then
        return false
      end
      app:lines(100, 60, false)
      actions.act(app, "e")
      local text = table.concat(app:lines(100, 60, false), "\n")
      assert.matches("\n cpu: %a+ " .. start("cpu", text) ..
        "\n busy while others wait 100%%, pressure .*%(cpuhog", text)
      assert.matches("\n \n utilization: busy while others wait, " ..
        "warning from 90%%; now [%d.]+%%\n   last minute: [.:=+*#@-]+  from [%d.]+%% to 100%%, mean [%d.]+%%\n" ..
        "   /proc/stat, /proc/pressure/cpu: some\n   The same while some thread was ready", text)
      return true
    end)
  end)

  it("says on paper, too, what of a recording is not now", function()
    local r = run.run({ "kstatlua", "top", "-b", "-r", FAULTS, "--at", tostring(began.disk + 10) })
    assert.matches("\n last 4 min +#\n", r.out)
  end)

  it("leads to who uses a resource", function()
    local report, to = view.sections[1], {}
    for _, resource in ipairs({ "cpu", "memory", "disk", "cgroup", "clock" }) do
      to[#to + 1] = report.enter({ resource = resource, name = "x" }) or "nowhere"
    end
    assert.same({ { view = "processes", sort = "CPU%" }, { view = "processes", sort = "RSS" },
      { view = "cgroups", sort = "IO/s", disk = "x" }, { view = "cgroups", filter = "cgroup=x" }, "nowhere" }, to)
  end)

  it("is never wider than the window, and shortens no reason", function()
    for _, width in ipairs({ 20, 40, 80 }) do
      local text = window("cpu", 5, width, 40)
      local head = text:match("^[^\n]*\n(.-)last 4 min"):gsub("\n +", " ")
      assert.matches("cpu: busy while others wait 100%%, pressure %d+%.%d%% since %S+ " ..
        "most: cpuhog%[%d+%] %d+%%, cpuhog", head)
      assert.matches(" %d others are ok", head)
      for line in text:match("\n(.-last 4 min[^\n]*)"):gmatch("[^\n]+") do
        assert.truthy(#line <= width, line)
      end
    end
  end)
end)
