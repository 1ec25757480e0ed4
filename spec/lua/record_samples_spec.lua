-- rec:add() of a sample: what was recorded is what the sample had, whatever its chain is by then.
local kstat = require("kstat")
local run = require("support.run")

local capture = "spec/vectors/kstat/host.jsonl"

-- What each sample of a recording has, as texts.
local function recorded(rec)
  local ks, texts = assert(kstat.open(rec:path())), {}
  repeat
    texts[#texts + 1] = assert(ks:render("parseable"))
    assert(ks:update())
  until ks:ended()
  ks:close()
  return texts
end

-- The lines of a text that a selector's kstats have.
local function lines_of(text, module)
  local lines = {}
  for line in text:gmatch("[^\n]+\n") do
    lines[#lines + 1] = line:find(module .. ":", 1, true) == 1 and line or nil
  end
  return table.concat(lines)
end

describe("a sample that is recorded", function()
  local ks, rec

  before_each(function()
    ks, rec = assert(kstat.open(capture)), assert(kstat.recording.memory())
  end)

  after_each(function()
    ks:close()
    rec:close()
  end)

  it("is as it was when the chain has gone on, with all or some of its kstats", function()
    local text = ks:render("parseable")
    local sample = ks:sample()
    assert(ks:update())
    assert.is_true(text ~= ks:render("parseable"))
    assert.is_true(rec:add(sample))
    assert.is_true(rec:add(sample, "cpu:::", "unix"))
    local texts = recorded(rec)
    assert.equal(2, #texts)
    assert.equal(text, texts[1])
    assert.equal(lines_of(text, "cpu") .. lines_of(text, "unix"), texts[2])
    local replay = assert(kstat.open(rec:path()))
    assert.equal(sample.time_of_day_ns, replay:time_of_day_ns())
    assert.same(ks:lookup("cpu", 0, "sys"):meta("cpu_ticks_idle"),
      replay:lookup("cpu", 0, "sys"):meta("cpu_ticks_idle"))
    replay:close()
  end)

  it("is one of a loop, which reads what selectors add", function()
    local texts = { ks:render("parseable", "unix"), (ks:render("parseable", "cpu_stat:0")) }
    for now in kstat.every(1, 1, { chain = ks, select = "unix" }) do
      assert.is_true(rec:add(now))
      assert.is_true(rec:add(now, "cpu_stat:0"))
      assert.is_true(rec:add(now))
    end
    texts[3] = texts[2] .. texts[1]
    assert.same(texts, recorded(rec))
  end)

  it("has what was published by a process that is gone", function()
    local dir = run.directory()
    local r = run.run({ "kstatlua", "-e", [[
      local pub = assert(kstat.publish("gone"))
      local k = pub:named({ name = "k", statistics = { { name = "depth", kind = "gauge", unit = "jobs" } } })
      k:counter("depth"):set(7)
      local ks, rec = assert(kstat.open({ only = "gone:::" })), assert(kstat.recording.memory())
      local sample = ks:sample()
      pub:close()
      print(ks:update() ~= 0, #ks, rec:add(sample))
      local replay = assert(kstat.open(rec:path()))
      print(replay.gone[0].k.depth, replay:lookup("gone"):meta("depth"), replay:lookup("gone").publisher)]],
      env = { KSTAT_DIR = dir } })
    run.remove_directory(dir)
    assert.equal("true\t0\ttrue\n7\tnil\tnil\n", r.out .. r.err)
  end)

  it("is no difference, and not of a closed chain", function()
    local sample = ks:sample()
    assert.error_matches(function() rec:add(sample - sample) end, "a chain or a sample expected, got a difference")
    assert.error_matches(function() rec:add(nil) end, "bad argument #1 to 'add'")
    ks:close()
    assert.error_matches(function() rec:add(sample) end, "the kstat chain is closed")
  end)
end)
