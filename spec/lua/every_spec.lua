-- The interval loop of the Lua module: cadence by an injected clock, and replays.
local capture = require("support.capture")
local kstat = require("kstat")
local run = require("support.run")

local host = "spec/vectors/kstat/host.jsonl"
local named = capture.named

local function raised(f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  return message
end

-- A clock that only wait() moves; `late` says by how much a wait overshoots, in order, and `stopped`
-- how long the process was stopped where the answer is "continued".
local function fake(late, answers, stopped)
  local time = { now = 1000, deadlines = {} }
  time.clock = function() return time.now end
  time.wait = function(deadline)
    time.deadlines[#time.deadlines + 1] = deadline
    local answer = answers and answers[#time.deadlines] or "time"
    if answer == "time" then
      time.now = math.max(time.now, deadline) + (late and late[#time.deadlines] or 0)
    elseif answer == "continued" then
      time.now = time.now + stopped
    end
    return answer
  end
  return time
end

describe("kstat.every", function()
  after_each(capture.clean)

  it("takes interval and count from the end of a script's arguments", function()
    local function ticks(...)
      local n, passed = 0, nil
      local ks = assert(kstat.open(host))
      local start = ks:time_of_day_ns()
      for _ in kstat.every({ ... }, { chain = ks }) do
        n = n + 1
        passed = ks:time_of_day_ns() - start
      end
      return n, math.floor(passed / 1e6 + 0.5)
    end
    assert.same({ 1, 0 }, { ticks() })
    assert.same({ 1, 0 }, { ticks("sd0") })
    assert.same({ 2, 5000 }, { ticks("5", "2") })
    assert.same({ 2, 5000 }, { ticks("-x", "sd0", "5", "2") })
    assert.same({ 2, 5000 }, { ticks("sd0", "0.5", "2") })
    assert.same({ 3, 10000 }, { ticks("sd0", "2") })
  end)

  it("takes intervals with a unit", function()
    for text, seconds in pairs({ ["500ms"] = 0.5, ["2s"] = 2, ["1.5m"] = 90, ["1h"] = 3600, [".5d"] = 43200 }) do
      local time = fake()
      for _ in kstat.every(text, 2, { select = "unix", wait = time.wait, clock = time.clock }) do
      end
      assert.same({ 1000 + seconds * 1e9 }, time.deadlines)
    end
    assert.has_error(function() kstat.every("5 m") end)
    assert.has_error(function() kstat.every("5y") end)
  end)

  it("takes options behind the interval, too, where there is no count", function()
    local n = 0
    for _ in kstat.every(1, { source = host, select = "sd" }) do
      n = n + 1
    end
    assert.equal(3, n)
  end)

  it("raises what the world causes as one line without a place", function()
    assert.equals("/nonexistent: cannot open: No such file or directory",
      raised(kstat.every, 1, 1, { source = "/nonexistent" }))
  end)

  it("blames the command line, and no line of the script, for what arguments say", function()
    for want, words in pairs({ ["interval '0'"] = { "0", "5" }, ["count '0'"] = { "5", "0" },
      ["count '1.5'"] = { "5", "1.5" }, ["count '1e1'"] = { "5", "1e1" }, ["interval '1e9'"] = { "sd0", "1e9" },
      ["interval '99999999999'"] = { "sd0", "99999999999" } }) do
      assert.matches("^" .. want .. ": [^\n]+ expected$", raised(kstat.every, words))
    end
    local r = run.run({ "kstatlua", "-e", "for now in kstat.every(arg) do print(now) end", "0" })
    assert.equal("kstatlua: interval '0': seconds above 0 and at most 2147483647 expected\n", r.err)
    assert.equal(2, r.status)
  end)

  it("raises at the caller for what is no interval, count, option or source", function()
    for _, case in ipairs({
      { "interval '0'", 0 }, { "interval '%-1'", -1 },
      { "interval '2147483648'", 2147483648 },
      { "interval '1e%-10'", 1e-10 }, { "count '0'", 1, 0 }, { "count 'x'", 1, "x" },
      { "number or table expected", nil }, { "number or table expected", "x" },
      { "options: table expected", 1, 1, 5 }, { "unknown option 'y'", 1, 1, { y = 1 } },
      { "an open chain expected", 1, 1, { chain = 5 } },
      { "/%+/", 1, 1, { source = host, select = "/+/" } },
      { "selector expected", 1, 1, { source = host, select = 5 } },
    }) do
      assert.matches("every_spec.*" .. case[1], raised(function()
        local f = kstat.every(case[2], case[3], case[4])
        return f
      end))
    end
  end)

  it("yields samples, the first without an earlier one", function()
    local seen, list = {}, {}
    for now, prev in kstat.every(1, nil, { source = host }) do
      seen[#seen + 1] = prev or "none"
      list[#list + 1] = now
    end
    assert.same({ "none", list[1], list[2] }, seen)
  end)

  it("ends a replay after its last sample, whatever the count is", function()
    local function count(n)
      local ticks = 0
      for _ in kstat.every(1, n, { source = host }) do
        ticks = ticks + 1
      end
      return ticks
    end
    assert.same({ 3, 2, 3 }, { count(), count(2), count(6) })
  end)

  it("reads what is asked for, and from then on at each tick's start", function()
    local ks = assert(kstat.open(host))
    local lengths, differences = {}, {}
    for now, prev in kstat.every(1, nil, { chain = ks }) do
      lengths[#lengths + 1] = #now:lookup("sd", 0, "sd0"):data() + tonumber(tostring(now):match("%d+"))
      if #lengths == 2 then
        assert.matches("sd:1:sd1 was not read", raised(prev.lookup, prev, "sd", 1, "sd1"))
        assert.equal("sd1", now:lookup("sd", 1, "sd1").name)
        assert.is_nil((now - prev):lookup("sd", 1, "sd1"))
      elseif #lengths == 3 then
        assert.equal("sd1", prev:lookup("sd", 1, "sd1").name)
        assert.is_true((now - prev):lookup("sd", 1, "sd1"):get("reads") >= 0)
      end
      differences[#differences + 1] = prev and (now - prev):lookup("sd", 0, "sd0"):get("nread") or 0
    end
    assert.same({ 1, 1, 2 }, lengths)
    assert.same({ 0, 13868881, 14020015 }, differences)
  end)

  it("reads at once what the option select names", function()
    for _, spec in ipairs({ "sd::/^sd[01]$/", { module = "sd", name = "/^sd[01]$/" }, { "sd:0:sd0", "sd:1:sd1" } }) do
      for now in kstat.every(1, 1, { source = host, select = spec }) do
        assert.equal("kstat sample (2 kstats)", tostring(now))
      end
    end
  end)

  it("freezes a sample when its tick is over", function()
    local kept
    local ks = assert(kstat.open(host))
    for now in kstat.every(1, 2, { chain = ks }) do
      kept = kept or now
      now:lookup("sd", 0, "sd0")
    end
    assert.equal(5106542958369, kept:lookup("sd", 0, "sd0"):get("nread"))
    assert.equal(1, #kept:select("sd:0:sd0"))
    assert.is_nil(kept:lookup("sd", 0, "sd99"))
    assert.is_nil(kept.nothing)
  end)

  it("raises when a sample is asked after its tick for what was not read in it", function()
    local kept
    for now in kstat.every(1, 2, { source = host, select = "sd:0" }) do
      kept = kept or now
    end
    local line = "^%S*every_spec.lua:%d+: sd:1:sd1 was not read during the tick of this sample: "
      .. "name it in the option 'select' of kstat.every%(%)$"
    for _, f in ipairs({
      function() kept:lookup("sd", 1, "sd1") end,
      function() kept:select("sd:1") end,
      function() for _ in kept:each("sd:1") do error("none") end end,
      function() for _ in kept:values("sd:1::nread") do error("none") end end,
      function() (kept - kept):lookup("sd", 1, "sd1") end,
    }) do
      assert.matches(line, raised(f))
    end
    assert.matches("every_spec.lua:%d+: cpu_stat:0:cpu_stat0 was not read", raised(function() print(kept.cpu_stat) end))
  end)

  it("counts in a replay what comes after a sample of which nothing was read, and not what came before", function()
    local path = capture.file({ { named("a", 1, 100, '"n":50') }, { named("a", 1, 101, '"n":55') },
      { named("a", 1, 102, '"n":57') } })
    local seen = {}
    for now, prev in kstat.every(1, nil, { source = path }) do
      if prev then
        local d = now - prev
        seen[#seen + 1] = { d:rate("app:::n") or "none", d.elapsed }
      end
    end
    assert.same({ { "none", 1 }, { 2, 1 } }, seen)
  end)

  it("freezes it too when the chain moves on during the tick", function()
    local ks = assert(kstat.open(host))
    for now in kstat.every(1, 1, { chain = ks }) do
      assert.equal(5106542958369, now:lookup("sd", 0, "sd0"):get("nread"))
      ks:update()
      assert.equal(5106542958369, now:lookup("sd", 0, "sd0"):get("nread"))
      assert.matches("sd:1:sd1 was not read", raised(now.lookup, now, "sd", 1, "sd1"))
    end
  end)

  it("follows kstats that are created anew", function()
    local path = capture.file({
      { named("a", 1, 2, '"n":5') }, { named("a", 3, 4, '"n":7') }, {}, { named("a", 5, 8, '"n":9') },
    })
    local seen = {}
    for now, prev in kstat.every(1, nil, { source = path }) do
      local k = now:lookup("app", 0, "a")
      local d = prev and (now - prev):lookup("app", 0, "a")
      seen[#seen + 1] = (k and k:get("n") or "-") .. ":" .. (d and d:get("n") or "-")
    end
    assert.same({ "5:-", "7:7", "-:-", "9:9" }, seen)
  end)

  it("gives a replay without times of day those that follow from its snaptimes", function()
    local file = capture.file({ { named("a", 1, 100, '"n":5') }, { named("a", 1, 102.6, '"n":6') }, {},
      { named("a", 1, 102.6, '"n":7') }, { named("a", 1, 105, '"n":7') } })
    local start
    local times, clocks = {}, {}
    for now in kstat.every(1, nil, { source = file }) do
      start = start or now.time_of_day
      times[#times + 1] = math.floor((now.time_of_day - start) * 1000 + 0.5)
      clocks[#clocks + 1] = require("kstat.command.clock").seconds(now) - math.floor(now.time_of_day + 0.5)
    end
    assert.same({ 0, 2600, 2600, 2600, 5000 }, times)
    assert.same({ 0, 0, 0, 0, 0 }, clocks)
  end)

  local chain -- a live one: only there is waiting

  setup(function() chain = assert(kstat.open({ proc = "/proc", sys = "/sys" })) end)
  teardown(function() chain:close() end)

  it("waits for absolute deadlines, and does not drift", function()
    local time = fake({ 3, 4, 5 })
    for _ in kstat.every(1e-7, 4, { chain = chain, wait = time.wait, clock = time.clock }) do
      time.now = time.now + 7 -- the body takes its time
    end
    assert.same({ 1100, 1200, 1300 }, time.deadlines)
  end)

  it("starts a new cadence when it is late by more than an interval", function()
    local time = fake({ 0, 250, 0 })
    for _ in kstat.every(1e-7, 4, { chain = chain, wait = time.wait, clock = time.clock }) do
      time.body = true
    end
    assert.same({ 1100, 1200, 1550 }, time.deadlines)
  end)

  it("starts a new cadence when the process was stopped beyond its deadline", function()
    local time = fake(nil, { "time", "continued" }, 1200)
    for _ in kstat.every(1e-6, 4, { chain = chain, wait = time.wait, clock = time.clock }) do
      time.body = true
    end
    assert.same({ 2000, 3000, 4200 }, time.deadlines)
  end)

  it("has no earlier sample where the process was stopped, or the machine slept, for a minute or more", function()
    local clocks = os.tmpname()
    run.write_file(clocks, "0 0")
    -- By how much the clocks go on before each tick, the time of day apart if there are two.
    local r = run.run({ "kstatlua", "-e", [[
      local steps, monotonic, day = { 1, 59, 1, 70, 100, 1, { 3, 60 }, { 3, 70 }, { 30, 100 }, { 1, -100 } }, 0, 0
      local function wait()
        local step = table.remove(steps, 1)
        monotonic, day = monotonic + (tonumber(step) or step[1]), day + (tonumber(step) or step[2])
        local f = assert(io.open(arg[1], "w"))
        f:write(("%d %d"):format(monotonic, day))
        f:close()
        return "time"
      end
      for _, prev in kstat.every(1, #steps + 1, { select = "unix:0:system_misc", wait = wait }) do
        io.write(prev and "+" or "-")
      end]], clocks, env = { LD_PRELOAD = run.build .. "/spec/clocks.so", CLOCKS = clocks,
      ASAN_OPTIONS = "verify_asan_link_order=0:detect_leaks=0" } })
    os.remove(clocks)
    assert.same({ "", "-+++-+++-++" }, { r.err, r.out })
  end)

  it("keeps its cadence when the process was stopped for less", function()
    local time = fake(nil, { "time", "continued" }, 700)
    for _ in kstat.every(1e-6, 4, { chain = chain, wait = time.wait, clock = time.clock }) do
      time.body = true
    end
    assert.same({ 2000, 3000, 3000, 4000 }, time.deadlines)
  end)

  it("waits again after a signal, and ends when interrupted", function()
    local time = fake(nil, { "signal", "time", "interrupted" })
    local ticks = 0
    for _ in kstat.every(1e-7, 9, { chain = chain, wait = time.wait, clock = time.clock }) do
      ticks = ticks + 1
    end
    assert.equal(2, ticks)
    assert.same({ 1100, 1100, 1200 }, time.deadlines)
  end)

  it("tells the host when it is left, where the language lets it", function()
    local core = require("kstat.core")
    local told = {}
    local looping = core.looping
    core.looping = function(flag) told[#told + 1] = flag end
    finally(function() core.looping = looping end)
    for _ in kstat.every(1, 2, { source = host }) do
      assert.same({ true }, told)
    end
    assert.same({ true, false }, told)
    if _VERSION >= "Lua 5.4" then
      local kept
      for now in kstat.every(1, 2, { source = host }) do
        kept = now
        if kept then
          break
        end
      end
      assert.same({ true, false, true, false }, told)
      assert.matches("was not read", raised(function() return kept.sd end))
    end
  end)

  it("says when the chain cannot be used any more", function()
    local ks = assert(kstat.open(host))
    assert.matches("every_spec.*closed", raised(function()
      for _ in kstat.every(1, 3, { chain = ks }) do
        ks:close()
      end
    end))
  end)
end)
