-- The past of the screen: moments of a recording, the ways between them, and the states over time.
local core = require("kstat.core")
local kstat = require("kstat")
local history = require("kstat.use.history")
local past = require("kstat.top.past")
local rows = require("kstat.use.rows")
local recording = require("kstat.recording")
local resources = require("kstat.use.resources")
local run = require("support.run")

local FAULTS = "spec/vectors/past/faults.rec"
local START = 1795219200 -- midnight in UTC
local dir

-- Writes a recording of samples: { seconds after START, whether the clock is wrong, when the machine was started }.
local function record(name, samples)
  local out = {}
  for i, s in ipairs(samples) do
    local time, up = START + s[1], s[1] - (s[3] or -1000)
    local function one(module, kstat_name, data)
      return ('{"module":"%s","instance":0,"name":"%s","class":"misc","type":1,"snaptime":%.2f,"data":{"crtime":1,' ..
        '"snaptime":%.2f,%s}}'):format(module, kstat_name, up, up, data)
    end
    out[i] = ("%.2f\n[%s]\n"):format(time, table.concat({ one("app", "a", ('"n":%d'):format(10 * up)),
      one("unix", "clock", ('"synchronized":%d,"frequency":7'):format(s[2] and 0 or 1)),
      one("unix", "system_misc", ('"boot_time":%d'):format(START + (s[3] or -1000))) }, ","))
  end
  run.write_file(dir .. "/capture", table.concat(out))
  local rec, ks = assert(recording.open(dir .. "/" .. name)), assert(kstat.open(dir .. "/capture"))
  repeat
    assert(rec:add(ks))
    assert(ks:update() ~= nil)
  until ks:ended()
  rec:close()
  os.remove(dir .. "/capture")
end

-- Samples `step` seconds apart; is_wrong(time) says when the clock is not synchronized.
local function every(step, from, to, is_wrong)
  local samples = {}
  for time = from, to, step do
    samples[#samples + 1] = { time, is_wrong and is_wrong(time) or false }
  end
  return samples
end

local function seconds(p)
  return p.time - START
end

-- All that a difference says, as text; nil: there is none.
local function text_of(now, prev)
  if not prev then
    return nil
  end
  local out, d = {}, now - prev
  for k, statistic in d:values() do
    out[#out + 1] = ("%s:%s %s %s"):format(tostring(k), statistic, tostring(k:get(statistic)),
      tostring(k:rate(statistic)))
  end
  return table.concat(out, "\n")
end

-- Reads a recording from its first sample on: the times, and the text of the interval that ends with each.
local function read_on(source, ...)
  local ks, times, texts, prev = assert(kstat.open(source)), {}, {}, nil
  repeat
    local now = ks:sample(...)
    times[#times + 1] = now.time_of_day
    texts[#times] = text_of(now, not ks:is_cut() and prev or nil) or false
    prev = now
    assert(ks:update() ~= nil)
  until ks:ended()
  return times, texts
end

-- Goes on with a search until it ends.
local function change(p, direction)
  local ok, message
  repeat
    ok, message = p:change(direction)
  until ok ~= "working"
  return ok, message
end

local function judge_all(p)
  repeat until p:work(core.gethrtime() + 1e9) == nil
end

describe("the past of the screen", function()
  before_each(function() dir = run.directory() end)
  after_each(function() run.remove_directory(dir) end)

  it("shows the same wherever one comes from", function()
    local selectors = { { class = "process" }, { class = "misc" }, { class = "disk" } }
    local times, texts = read_on(FAULTS, selectors[1], selectors[2], selectors[3])
    local p = assert(past.open({ capture = FAULTS }))
    assert.equal(times[#times], p.time)
    local random, at = 7, #times
    for _ = 1, 40 do
      random = (random * 1103515245 + 12345) % 2147483648
      local kind = random % 5
      if kind == 0 then
        at = random % 97 * 2 + 1
        assert(p:to(times[at]))
      elseif kind == 1 and at > 70 then
        assert(p:by(times[at - 60] - times[at]))
        at = at - 60
      else
        local n = kind < 4 and -1 or random % 3 + 1
        local ok = p:step(n)
        assert.equal(n < 0 and at > 1 or n > 0 and at < #times or nil, ok)
        at = math.max(1, math.min(#times, at + n))
      end
      assert.equal(times[at], p.time)
      local now, prev = p:samples(selectors)
      assert.is_true(texts[at] == (text_of(now, prev) or false), at)
    end
  end)

  it("begins at the last sample, or where one says", function()
    record("a.rec", every(10, 0, 300))
    assert.equal(300, seconds(past.open({ capture = dir })))
    assert.equal(200, seconds(past.open({ capture = dir, at = START + 209 })))
    local p, message = past.open({ capture = dir, at = "-1h" })
    assert.equal(0, seconds(p))
    assert.matches("^the first sample is of 2026%-11%-2%d %d%d:%d%d:00$", message)
    local opened = { past.open({ capture = dir, at = "nver" }) }
    assert.matches("^'nver' is not a time; times are ", opened[2])
    assert.equal("EINVAL", opened[3])
    p = past.open({ capture = dir, from = tostring(START + 100), to = tostring(START + 200) })
    assert.equal(200, seconds(p))
    p:by(-3600)
    assert.equal(100, seconds(p))
  end)

  it("goes by the seconds of an interval, which join what was recorded", function()
    local samples = every(10, 0, 300)
    for time = 1000, 1300, 10 do
      samples[#samples + 1] = { time }
    end
    record("a.rec", samples)
    local p = assert(past.open({ capture = dir .. "/a.rec", step = 60 }))
    local function interval()
      local now, prev = p:samples()
      return ("%d from %d"):format(now.time_of_day - START, prev and prev.time_of_day - START or -1)
    end
    assert.equal("1300 from 1240", interval())
    assert(p:step(-1))
    assert.equal("1240 from 1180", interval())
    assert(p:step(-3))
    assert.equal("1060 from 1000", interval())
    assert(p:step(-1))
    assert.equal("1000 from -1", interval()) -- nothing was recorded before for long
    assert(p:to(tostring(START + 1030)))
    assert.equal("1030 from 1000", interval()) -- the rest is a gap
    assert.matches("nothing was recorded from .*05:00 to .*16:40", select(2, p:to(START + 990)))
    assert(p:to(START + 200))
    assert.equal("200 from 140", interval())
    assert(p:by(-60))
    assert.equal("140 from 80", interval())
    assert(p:step(1))
    assert.equal("200 from 140", interval())
    assert(p:to(START + 30))
    assert.equal("30 from 0", interval())
    p = assert(past.open({ capture = dir .. "/a.rec", step = 60, from = tostring(START + 20), at = START + 20 }))
    assert.equal("80 from 20", interval())
  end)

  it("stays at both ends", function()
    record("a.rec", every(10, 0, 30))
    local p = past.open({ capture = dir .. "/a.rec" })
    assert.same({ nil, "this is the last sample" }, { p:step(1) })
    assert.same({ nil, "this is the last sample" }, { p:by(60) })
    assert.is_true(p:step(-9))
    for _ = 1, 2 do
      assert.same({ nil, "this is the first sample" }, { p:step(-1) })
      assert.same({ nil, "this is the first sample" }, { p:by(-60) })
      local now, prev = p:samples()
      assert.same({ 0, nil }, { now.time_of_day - START, prev })
    end
    assert.is_true(p:step(9))
    local now, prev = p:samples()
    assert.same({ 30, 20, 3 }, { seconds(p), prev.time_of_day - START, #now })
  end)

  it("goes to times, and says what is in the way", function()
    local samples = every(10, 0, 600)
    for _, s in ipairs(every(10, 4000, 4600)) do
      samples[#samples + 1] = s
    end
    record("a.rec", samples)
    local p = past.open({ capture = dir })
    for text, at in pairs({ ["-10m"] = 4000, ["-95s"] = 4500, [tostring(START + 39)] = 30, [START - 5] = 0 }) do
      assert.same({ true, nil }, { p:to(text) })
      assert.equal(at, seconds(p), text)
    end
    local gap = "nothing was recorded from %S+ %S+ to %S+ %S+$"
    for time, at in pairs({ [700] = 600, [3900] = 4000 }) do
      local ok, message = p:to(START + time)
      assert.same({ true, at }, { ok, seconds(p) })
      assert.matches(gap, message)
    end
    local ok, message = p:to(START + 9000)
    assert.same({ true, 4600 }, { ok, seconds(p) })
    assert.matches("^the last sample is of %S+ %S+$", message)
    assert.matches("^'x' is not a time; times are ", select(2, p:to("x")))
    assert.same({ nil, "'99' is no time such as " .. past.FORMS }, { p:to("99") })
    assert.equal(4600, seconds(p))
  end)

  it("has no interval across a gap or a start of the machine, and passes both", function()
    record("a.rec", every(10, 0, 300))
    record("b.rec", every(10, 1000, 1300))
    local later = every(10, 1310, 1400)
    for _, s in ipairs(later) do
      s[3] = 1305
    end
    record("c.rec", later)
    local p = past.open({ capture = dir })
    local order = { 1310, 1300, 1290, 1000, 300, 290 }
    local cut = { [1310] = true, [1000] = true }
    for _, back in ipairs({ true, false }) do
      for i = back and 1 or #order, back and #order or 1, back and 1 or -1 do
        local way = math.abs(order[i] - seconds(p)) > 10 and not (cut[order[i]] or order[i] == 300) and "to" or "step"
        if way == "to" or i == 1 and back then
          p:to(START + order[i])
        else
          while seconds(p) ~= order[i] do
            assert(p:step(back and -1 or 1))
          end
        end
        local now, prev = p:samples({ "app" })
        assert.same({ order[i], not cut[order[i]] }, { now.time_of_day - START, prev ~= nil })
      end
    end
    p:to(START + 300)
    assert.is_true(p:by(60))
    assert.equal(1000, seconds(p))
    assert.is_true(p:by(-60))
    assert.equal(300, seconds(p))
  end)

  it("finds what came meanwhile, also in a new file", function()
    record("a.rec", every(10, 0, 30))
    local p = past.open({ capture = dir })
    assert.is_nil(p:step(1))
    record("a.rec", every(10, 40, 50))
    assert.is_true(p:step(1))
    assert.equal(40, seconds(p))
    local now, prev = p:samples({ "app" })
    assert.equal(10, (now - prev):rate("app:0:a:n"))
    record("b.rec", every(10, 60, 70))
    assert.is_true(p:step(3))
    assert.equal(70, seconds(p))
  end)

  it("passes what is damaged, or stays", function()
    record("a.rec", every(10, 0, 300))
    local bytes = run.read_file(dir .. "/a.rec")
    local half = #bytes - 150
    run.write_file(dir .. "/a.rec", bytes:sub(1, half) .. "\255\255\255\255" .. bytes:sub(half + 5))
    local p, message = past.open({ capture = dir .. "/a.rec" })
    assert.is_nil(p)
    assert.matches("damaged", message)
    record("b.rec", every(10, 310, 600))
    p = assert(past.open({ capture = dir }))
    assert.is_true(p:by(-290))
    assert.equal(310, seconds(p))
    assert.is_true(p:by(-60) or true)
    local now = p:samples({ "app" })
    assert.equal(p.time, now.time_of_day)
  end)

  it("tells why there is none", function()
    local function why(source)
      local p, message = past.open(source)
      assert.is_nil(p)
      return (message:gsub(dir, "DIR", 1))
    end
    assert.equal("DIR/none: cannot open: No such file or directory", why({ capture = dir .. "/none" }))
    assert.equal("DIR: no recording in this directory", why({ capture = dir }))
    record("a.rec", { { 0 } })
    assert.equal("only one sample is recorded: there is no interval yet", why({ capture = dir }))
  end)

  it("goes to the moments at which a state changes, and draws a line of them", function()
    local function is_wrong(time) return time >= 1000 and time < 1500 or time == 2000 end
    record("a.rec", every(10, 0, 3600, is_wrong))
    local p = past.open({ capture = dir })
    local seen = {}
    while change(p, -1) do
      seen[#seen + 1] = seconds(p)
    end
    assert.same({ 2010, 2000, 1500, 1000 }, seen)
    seen = {}
    while change(p, 1) do
      seen[#seen + 1] = seconds(p)
    end
    assert.same({ 1500, 2000, 2010 }, seen)
    assert.same({ nil, "no state changes up to the last sample" }, { change(p, 1) })
    p:to(START)
    assert.is_true(change(p, 1))
    assert.equal(1000, seconds(p)) -- from the first sample, of which no interval is known
    p:to(START + 3600)
    assert.equal((" "):rep(36), past.open({ capture = dir }):states(36, 3600))
    p:states(36, 3600)
    judge_all(p)
    assert.equal(("-"):rep(9) .. ("+"):rep(6) .. ("-"):rep(4) .. "+" .. ("-"):rep(16), p:states(36, 3600))
  end)

  it("says since when something is not well", function()
    record("a.rec", every(10, 0, 600, function(time) return time >= 300 end))
    local p = past.open({ capture = dir })
    assert.same({ nil, false }, { p:since({ resource = "clock", name = "all" }) })
    p:states(10, 600)
    judge_all(p)
    assert.same({ START + 290, true }, { p:since({ resource = "clock", name = "all" }) })
    p:to(START + 200)
    assert.is_nil((p:since({ resource = "clock", name = "all" })))
  end)

  it("says what was measured in the minute before, and in no other one", function()
    record("a.rec", every(10, 0, 600, function(time) return time > 330 and time <= 500 end))
    local p, row = past.open({ capture = dir }), { resource = "clock", name = "all" }
    local function values(time)
      p:to(START + time)
      return table.concat(p:values(row, "not synchronized"), " ")
    end
    assert.equal("0 0 0 1 1 1", values(360))
    assert.equal("0 0 1 1 1 1", values(370))
    assert.equal("1 1 1 1 1 1", values(390))
    assert.equal("0 0 0 0 0 0", values(100))
    assert.equal("0 0", values(20))
    assert.same({}, p:values(row, "queue"))
  end)

  it("finds each change that reading on finds", function()
    local ks = assert(kstat.open({ capture = FAULTS, only = resources.select({}) }))
    local expected, before, prev = {}, nil, nil
    repeat
      local now = ks:sample()
      if prev and not ks:is_cut() then
        local _, list = rows.states(now - prev, prev)
        for i, row in ipairs(list) do
          list[i] = row.resource .. row.name .. row.severity
        end
        local states = table.concat(list, " ")
        expected[#expected + 1] = before and before ~= states and now.time_of_day or nil
        before = states
      end
      prev = now
      assert(ks:update() ~= nil)
    until ks:ended()
    assert.is_true(#expected > 4)
    local h, found, at = assert(history.open({ capture = FAULTS })), {}, ks:time_of_day()
    while at do
      local moment
      repeat
        moment = h:change(at, -1, 0) -- a piece at a time
      until moment ~= "working"
      at = moment
      found = moment and { moment, (table.unpack or rawget(_G, "unpack"))(found) } or found
    end
    if expected[#expected] == ks:time_of_day() then
      expected[#expected] = nil -- one stood there
    end
    assert.same(expected, found)
  end)
end)
