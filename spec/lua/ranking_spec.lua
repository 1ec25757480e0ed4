-- core.rank(): the statistics of a difference in the order of a figure, of which the first ones are returned.
local capture = require("support.capture")
local core = require("kstat.core")
local kstat = require("kstat")
local run = require("support.run")

local IO = '"nread":%d,"nwritten":0,"reads":%d,"writes":0,"wtime":0,"wlentime":0,"wlastupdate":0,"rtime":%.9f,' ..
  '"rlentime":0,"rlastupdate":7,"wcnt":0,"rcnt":2'
local TIMER = '"name":"%s","num_events":%d,"elapsed_time":%.9f,"min_time":0.1,"max_time":0.2,"start_time":3.0,' ..
  '"stop_time":4.0'

-- Two samples, two seconds apart.
local function samples()
  local list = {}
  for i = 0, 1 do
    list[i + 1] = {
      capture.named("fast", 1, 10 + 2 * i, ('"calls":%d,"level":%g,"word":"x","Still":7'):format(1000 * i, 7.5 - i)),
      capture.named("large", 1, 10 + 2 * i, '"n":' .. (i == 0 and "9223372036854775806" or "18446744073709551614")),
      capture.named("link", 1, 10 + 2 * i, ('"obytes":%d,"obytes64":%d'):format(8 * i, 8 * i)),
      capture.kstat("sd", 10, "sd10", "disk", 3, 1, 10 + 2 * i, IO:format(600 * i, 10 * i, 0.5 * i)),
      capture.kstat("sd", 9, "sd9", "disk", 3, 1, 10 + 2 * i, IO:format(0, 10 * i, 0)),
      capture.kstat("t", 0, "times", "misc", 4, 1, 10 + 2 * i, TIMER:format("get", 4 * i, 1.5 * i)),
    }
  end
  return list
end

local d, now

setup(function()
  local ks = assert(kstat.open(capture.file(samples())))
  local first = ks:sample()
  ks:update()
  now = ks:sample()
  d = now - first
end)
teardown(capture.clean)

local function rank(how, ...)
  local selectors = {}
  for i, text in ipairs({ ... }) do
    selectors[i] = assert(kstat.selector(text))
  end
  return core.rank(d, selectors, how or {})
end

local function names(rows)
  local list = {}
  for i, row in ipairs(rows) do
    list[i] = row.name
  end
  return list
end

local function row_of(name, how)
  for _, row in ipairs((rank(how))) do
    if row.name == name then
      return row
    end
  end
end

describe("a ranking of statistics", function()
  it("has the rate and the value of counters, the value alone of gauges, and nothing of what is neither", function()
    local row = row_of("app:0:fast:calls")
    assert.same({ 500, 1000, true, "" }, { row.rate, row.value, row.counter, row.unit })
    assert.same({ "app", 0, "fast", "calls", "misc" },
      { row.module, row.instance, row.kstat_name, row.statistic, row.class })
    row = row_of("app:0:fast:level")
    assert.same({ 6.5, false }, { row.value, row.counter })
    assert.is_nil(row.rate)
    assert.is_nil(row_of("app:0:fast:word"))
    assert.is_nil(row_of("sd:10:sd10:rlastupdate"))
    assert.is_nil(row_of("sd:10:sd10:snaptime"))
  end)

  it("has durations in seconds, and counters above those that are signed", function()
    local row = row_of("sd:10:sd10:rtime")
    assert.same({ 0.25, 0.5, "s" }, { row.rate, row.value, row.unit })
    row = row_of("app:0:large:n")
    assert.equal(2 ^ 64, row.value)
    assert.equal(2 ^ 62, row.rate)
  end)

  it("names the timers of a kstat", function()
    local row = row_of("t:0:times:get:num_events")
    assert.same({ 2, 4, "num_events" }, { row.rate, row.value, row.statistic })
    row = row_of("t:0:times:get:elapsed_time")
    assert.same({ 0.75, "s" }, { row.rate, row.unit })
  end)

  it("begins with the greatest; what has no rate is last, and equals are in the order of kstat", function()
    assert.same({ "app:0:fast:calls", "sd:10:sd10:nread", "sd:9:sd9:reads", "sd:10:sd10:reads",
      "sd:9:sd9:nread", "sd:9:sd9:rcnt" },
      names(rank({}, "app::fast:calls", "sd:::nread", "sd:::reads", "sd::sd9:rcnt")))
    assert.same({ "sd:9:sd9:nread", "sd:9:sd9:reads", "sd:9:sd9:rcnt" },
      names(rank({ reverse = true }, "sd::sd9:nread", "sd::sd9:reads", "sd::sd9:rcnt")))
    assert.same({ "app:0:fast:calls", "app:0:fast:Still", "app:0:fast:level" },
      names(rank({ sort = "value" }, "app::fast")))
    assert.same({ "app:0:fast:calls", "app:0:fast:level", "app:0:fast:Still", "sd:9:sd9:reads", "sd:10:sd10:reads" },
      names(rank({ sort = "name" }, "app::fast", ":::reads")))
    assert.same({ "sd:10:sd10:reads", "sd:9:sd9:reads" }, names(rank({ sort = "name", reverse = true }, ":::reads")))
  end)

  it("returns any part of the order, and counts what there is and what passes", function()
    for _, how in ipairs({ {}, { reverse = true }, { sort = "value" }, { sort = "name" } }) do
      local all, total, passed = rank(how)
      assert.same({ #all, #all }, { total, passed })
      for first = 1, #all + 2, 3 do
        for _, most in ipairs({ 0, 1, 4, 100 }) do
          how.first, how.most = first, most
          local part = rank(how)
          assert.equal(math.max(0, math.min(most, #all - first + 1)), #part)
          for i, row in ipairs(part) do
            assert.same(all[first + i - 1], row)
          end
        end
      end
    end
  end)

  it("finds the place of a row", function()
    for _, how in ipairs({ {}, { reverse = true, show = "counters" }, { sort = "name", text = "sd" } }) do
      for i, row in ipairs((rank(how))) do
        how.place, how.most = row.name, 3
        assert.equal(i, (select(4, rank(how))))
        how.place, how.most = nil, nil
      end
    end
    for _, name in ipairs({ "app:0:fast:nosuch", "app:0:fast:", "", "sd:9:sd9:nread:x" }) do
      assert.is_nil((select(4, rank({ place = name }))))
    end
    assert.is_nil((select(4, rank({ place = "sd:9:sd9:nread", text = "sd10" }))))
  end)

  it("passes a text without case, a pattern, a kind, and what is not idle", function()
    local function passing(how)
      local rows, total, passed = rank(how, "sd", "app::fast")
      assert.same({ #rows, 23 }, { passed, total })
      return names(rows)
    end
    assert.same({ "sd:9:sd9:nread", "sd:9:sd9:reads" },
      passing({ pattern = core.pattern("/sd9:n?read/"), sort = "name" }))
    assert.same({ "app:0:fast:Still" }, passing({ text = ":sTILL" }))
    assert.same({ "app:0:fast:calls", "sd:10:sd10:nread", "sd:9:sd9:reads", "sd:10:sd10:reads", "sd:10:sd10:rtime" },
      passing({ show = "counters", skip_idle = true }))
    assert.same({ "app:0:fast:level", "sd:9:sd9:rcnt", "sd:10:sd10:rcnt" },
      passing({ show = "gauges", skip_idle = true, sort = "value" }))
  end)

  it("leaves out what another statistic of the kstat counts with more bits", function()
    assert.same({ "app:0:link:obytes", "app:0:link:obytes64" }, names(rank({}, "app::link")))
    local rows, total = rank({ skip_twins = true }, "app::link")
    assert.same({ "app:0:link:obytes64" }, names(rows))
    assert.equal(1, total)
  end)

  it("has what was counted since creation, too", function()
    local rows = core.rank(now:since_creation(), { kstat.selector("app:0:fast:calls") }, {})
    assert.equal(1000 / 11, rows[1].rate)
  end)

  it("refuses what makes no sense", function()
    assert.has_error(function() core.rank(now, {}, {}) end)
    assert.has_error(function() core.rank(d, {}, { sort = "size" }) end)
    assert.has_error(function() core.rank(d, {}, { most = -1 }) end)
    assert.has_error(function() core.rank(d, {}, { text = "a\0b" }) end)
    assert.has_error(function() core.rank(d, {}, { pattern = "sd*" }) end)
  end)
end)

describe("a ranking of what is published", function()
  it("says who publishes, and of histograms the figures of the interval and the counts since creation", function()
    local dir = run.directory()
    finally(function() run.remove_directory(dir) end)
    local r = run.run({ "kstatlua", "-e", [[
      local core, kstat = require("kstat.core"), require("kstat")
      local pub = assert(kstat.publish("shop"))
      local waits = assert(pub:histogram({ name = "waits", type = "linear", range_max = 100, stepping = 10 }))
      for _ = 1, 5 do waits:add_value(5) end
      local ks = kstat.open({ published = true })
      local first = ks:sample()
      waits:add_value(15) waits:add_value(15)
      ks:update()
      for _, row in ipairs(core.rank(ks:sample() - first, { kstat.selector(":::/^(count|p50)$/") }, {})) do
        print(row.name, row.counter, row.value, row.rate ~= nil, row.publisher, row.uid ~= nil, row.pid ~= nil)
      end]], env = { KSTAT_DIR = dir } })
    assert.equal("", r.err)
    assert.equal("shop:0:waits:count\ttrue\t7\ttrue\tshop\ttrue\ttrue\n", r.out:match("^[^\n]*\n"))
    assert.matches("\nshop:0:waits:p50\tfalse\t12.5\t", r.out)
  end)
end)
