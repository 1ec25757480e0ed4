-- The view of any statistics: its rows, what keys do to it, and what it leaves out by default.
local actions = require("kstat.top.actions")
local application = require("kstat.top.application")
local capture = require("support.capture")
local kstat = require("kstat")
local run = require("support.run")
local sampling = require("kstat.top.sampling")
local statistics = require("kstat.top.views.statistics")

-- Samples a second apart of a hundred counters, of which number i counts i a second, of gauges and of what stands
-- still.
local function samples(n)
  local list = {}
  for s = 1, n do
    list[s] = { capture.named("idle", 1, 9 + s, '"n":7'), capture.named("level", 1, 9 + s, '"x":0.5,"y":0.0') }
    for i = 1, 100 do
      table.insert(list[s], capture.named(("k%03d"):format(i), 1, 9 + s, ('"calls":%d'):format(s * i)))
    end
  end
  return capture.file(list)
end

describe("the view of any statistics", function()
  local app, source

  -- operands: nil: none.
  local function start(operands, path)
    local section = { report = statistics.sections[1], given = { operands = operands or {} } }
    app = application.new({ group = sampling.group, interval = 1, host = "spec", views = {
      { name = "statistics", head = statistics.head, keys = statistics.keys, sections = { section } } } })
    path = path or samples(4)
    source = sampling.new(function() return kstat.open(path) end)
  end

  local function plain()
    return (table.concat(app:lines(70, 12, false), "\n"):gsub("\27%[[%d;]*m", ""):gsub(" +\n", "\n"))
  end

  local function tick()
    assert.is_true((source:live(app.shown.groups, 1)))
    app:take(app.shown.screen.tick, true)
    return plain()
  end

  local function press(...)
    for _, key in ipairs({ ... }) do
      actions.act(app, key)
    end
    return plain()
  end

  -- The names of the rows.
  local function names(text)
    local list = {}
    for name in text:gmatch("app:0:(%w+):%w+") do
      list[#list + 1] = name
    end
    return table.concat(list, " ")
  end

  before_each(function() start({ "app" }) end)
  teardown(capture.clean)

  it("has no figures of an interval at first, then rates, values and the last rates", function()
    local text = tick()
    assert.matches("103 of 103 statistics\n", text)
    assert.matches("\n +%- +100 +app:0:k100:calls\n +%- +99 +app:0:k099:calls\n", text)
    tick()
    text = tick()
    assert.matches("\n +rate +value +unit +trend +name\n", text)
    assert.matches("\n +100 +300 +@ app:0:k100:calls\n +99 +297 +@ app:0:k099:calls\n", text)
    assert.equal("k100 k099 k098 k097 k096 k095 k094", names(text))
  end)

  it("is sorted by its columns, in both directions", function()
    tick()
    tick()
    assert.equal("idle k001 k002 k003 k004 k005 k006", names(press("r")))
    assert.equal("k100 k099 k098 k097 k096 k095 k094", names(press("r", ">")))
    assert.matches("\n +0 +7 +[^\n]*idle:n\n", press("r", "/", "i", "d", "enter"))
    assert.equal("idle k001 k002 k003 k004 k005 k006", names(press("escape", "<", "<", "r")))
  end)

  it("shows the kinds and the names that one wants", function()
    tick()
    tick()
    assert.matches("101 of 103 statistics, without idle ones\n", press("z"))
    assert.matches("100 of 103 statistics, without idle ones, counters only\n", press("c"))
    local text = press("c")
    assert.matches("1 of 103 statistics, without idle ones, gauges only\n", text)
    assert.equal("level", names(text))
    text = press("z")
    assert.matches("2 of 103 statistics, gauges only\n", text)
    assert.equal("k099", names(press("c", "/", "K", "0", "9", "9")))
    assert.equal("k099", names(press("backspace", "backspace", "backspace", "backspace", "/", "9", "9", ":", "(")))
    assert.equal("k099", names(press("c", ")", "enter")))
  end)

  -- The first, the selected and the last row that is visible.
  local function places(...)
    local text = press(...)
    local list, chosen = names(text), nil
    for _, line in ipairs(app:lines(70, 12, false)) do
      chosen = line:match("\27%[7m.*app:0:(%w+):") or chosen
    end
    return ("%s %s %s"):format(list:match("^%S+"), chosen, list:match("%S+$"))
  end

  it("has a selection that goes through all rows, also those that the window does not show", function()
    tick()
    tick()
    assert.equal("k100 k100 k094", places("down"))
    assert.equal("k100 k098 k094", places("down", "down"))
    assert.equal("k097 k091 k091", places("pagedown"))
    assert.equal("k004 level level", places("end"))
    assert.equal("k100 k100 k094", places("home"))
    assert.equal("k100 k099 k094", places("down"))
    assert.matches("app:0:k099:calls\n", press("e"))
    assert.equal("k093 k099 k099", places("e", "r"))
    assert.equal("k099 k099 k093", places("r", "/", "k", "0", "9"))
  end)

  it("remembers the largest rate of each four intervals, those of later samples not in the past", function()
    local list = {}
    for i = 1, 70 do
      list[i] = { capture.named("a", 0, i, ('"n":%d'):format(i * (i + 1) / 2)) }
    end
    start({ "app" }, capture.file(list))
    for _ = 1, 70 do
      tick()
    end
    local past = app.shown.parts[1].rows[1].past
    assert.same({ 12, 27, 31, 67, 70 }, { #past, past[1], past[2], past[11], past[12] })
    app:take(3, false)
    past = app.shown.parts[1].rows[1].past
    assert.same({ 1, 70 }, { #past, past[1] })
  end)

  it("explains a row", function()
    tick()
    tick()
    assert.matches("app:0:k100:calls\n[^\n]*\n +a counter\n +value 200, rate 100 per second\n", press("e"))
  end)

  it("leads to the view that is about a row's kstat", function()
    local enter = statistics.sections[1].enter
    assert.same({ view = "processes", filter = "pid=7" },
      enter({ class = "process_io", kstat_name = "sh,io", instance = 7 }))
    assert.same({ view = "disks", filter = "vda" }, enter({ class = "disk", kstat_name = "vda" }))
    assert.same({ view = "published", filter = "job_ns" },
      enter({ class = "misc", kstat_name = "job_ns", publisher = "shop" }))
    assert.is_nil(enter({ class = "misc", kstat_name = "system_misc" }))
  end)

  it("says which operand selects nothing", function()
    start({ "nosuch" })
    assert.matches("no kstat matches 'nosuch'", tick())
    press("enter")
    assert.equal("there is nothing below this row", app.message)
    press("down", "e")
    assert.equal("there is nothing to explain about this row", app.message)
  end)

  it("shows all of a capture that has nothing of the default, without idle ones", function()
    start()
    tick()
    assert.matches("101 of 103 statistics, without idle ones\n", tick())
  end)
end)

describe("the default of the view", function()
  local function statistics_of(...)
    local words = { "kstatlua", "top", "--csv", ... }
    words.env = run.tree_env("small")
    local r = run.run(words)
    assert.equal("", r.err)
    return r.out
  end

  it("leaves out the loopback interface, and what another statistic counts with more bits", function()
    local out = statistics_of()
    assert.truthy(out:find("link:0:eth0:obytes64,", 1, true))
    assert.is_nil(out:find("link:0:eth0:obytes,", 1, true))
    assert.is_nil(out:find("link:0:lo:", 1, true))
    assert.truthy(out:find("unix:0:sys:", 1, true))
    out = statistics_of("link:0:lo", "link:0:eth0")
    assert.truthy(out:find("link:0:eth0:obytes,", 1, true))
    assert.truthy(out:find("link:0:lo:obytes64,", 1, true))
  end)
end)
