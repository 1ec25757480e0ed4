-- The figures of iostat, against the reference vectors.
local cjson = require("cjson")
local kstat = require("kstat")
local kio = require("kstat.io")
local capture = require("support.capture")
local io_capture = require("support.io_capture")
local lines = require("support.lines")
local run = require("support.run")

local function vectors(name)
  return cjson.decode(run.vector("ioqueue/" .. name .. ".json"))
end

-- Both samples of devices: a list of { crtime =, old =, new = }. Returns them as the module reads them.
local function samples(devices)
  local old, new = {}, {}
  for i, device in ipairs(devices) do
    local id = { instance = i, name = "sd" .. i }
    if device.old ~= cjson.null then
      old[#old + 1] = io_capture.kstat(id, device.crtime, device.old)
    end
    new[#new + 1] = io_capture.kstat(id, device.crtime, device.new)
  end
  local ks = assert(kstat.open(capture.file({ old, new })))
  local first = assert(ks:sample())
  assert(ks:update() ~= nil)
  return first, assert(ks:sample())
end

local function find(sample, i)
  return sample:lookup("sd", i, "sd" .. i)
end

local NAMES = { "r_s", "w_s", "tps", "kr_s", "kw_s", "kps", "wait", "actv", "wsvc_t", "asvc_t", "svc_t", "w_pct",
  "b_pct" }

local function same(want, got, what)
  want = tonumber(want)
  local close = want == 0 and got == 0 or want ~= 0 and math.abs(got - want) <= 1e-12 * math.abs(want)
  assert.is_true(close, ("%s: %.17g expected, got %.17g"):format(what, want, got))
end

local function compare(want, got, id, except)
  local compared = 0
  for _, name in ipairs(NAMES) do
    if want[name] and not (except and except[name]) then
      same(want[name], got[name], id .. " " .. name)
      compared = compared + 1
    end
  end
  assert.is_true(compared >= 8, id)
end

-- With -I a rate times its seconds, with -M by 1024.
local function compare_derived(want, got, id)
  local s = got.seconds
  same(want.serv, got.svc_t, id .. " serv")
  for short, name in pairs({ r = "r_s", w = "w_s", kr = "kr_s", kw = "kw_s" }) do
    same(want[short .. "_i"], got[name] * s, id .. " " .. short .. "_i")
  end
  for short, name in pairs({ Mr = "kr_s", Mw = "kw_s" }) do
    same(want[short .. "_s"], got[name] / 1024, id .. " " .. short .. "_s")
    same(want[short .. "_i"], got[name] / 1024 * s, id .. " " .. short .. "_i")
  end
end

describe("kstat.io", function()
  teardown(capture.clean)

  it("has every figure of the reference vectors, of two samples", function()
    local cases = vectors("figures").cases
    assert.is_true(#cases > 80)
    for _, case in ipairs(cases) do
      local first, second = samples({ case })
      local got = assert(kio.rates(find(first, 1), find(second, 1)))
      compare(case.figures, got, case.id)
      compare_derived(case.figures, got, case.id)
    end
  end)

  it("has the same figures of a difference", function()
    for _, case in ipairs(vectors("figures").cases) do
      local first, second = samples({ case })
      local d = case.old == cjson.null and second:since_creation() or second - first
      compare(case.figures, assert(kio.rates(find(d, 1))), case.id)
    end
  end)

  it("follows events through the queues into figures", function()
    local cases = vectors("pipeline").cases
    assert.is_true(#cases > 5)
    for _, case in ipairs(cases) do
      local commands, done, at = { "io" }, {}, {}
      local counted = { nread = 0, nwritten = 0, reads = 0, writes = 0 }
      for _, event in ipairs(case.events) do
        commands[#commands + 1] = ("%s %s %d 0"):format(event.op, event.t, event.n or 1)
        if event.done then
          local bytes, count = event.done == "read" and "nread" or "nwritten", event.done .. "s"
          counted[bytes], counted[count] = counted[bytes] + event.bytes, counted[count] + 1
        elseif event.op == "snapshot" then
          at[#at + 1] = #commands - 1
          done[#done + 1] = { nread = counted.nread, nwritten = counted.nwritten, reads = counted.reads,
            writes = counted.writes, snaptime = event.t }
        end
      end
      local answers = lines.run("core_queue_driver", commands)
      assert.are.equal(2, #done)
      for i, row in ipairs(done) do
        local word = lines.words(answers[at[i]])
        row.wtime, row.wlentime, row.rtime, row.rlentime = word[2], word[3], word[5], word[6]
        for name, value in pairs(case.snapshots[i]) do
          assert.are.equal(lines.int(value), lines.int(row[name]), ("%s snapshot %d %s"):format(case.id, i, name))
        end
      end
      local first, second = samples({ { crtime = case.crtime, old = done[1], new = done[2] } })
      local got = assert(kio.rates(find(first, 1), find(second, 1)))
      compare(case.figures, got, case.id)
      compare_derived(case.figures, got, case.id)
    end
  end)

  it("adds up a controller's disks, with true means of w_pct and b_pct", function()
    local cases = vectors("controller").cases
    assert.is_true(#cases > 3)
    local differing = 0
    for _, case in ipairs(cases) do
      local first, second = samples(case.devices)
      local list, wtime, rtime, elapsed = {}, 0, 0, 0
      for i, device in ipairs(case.devices) do
        compare(device.figures, assert(kio.rates(find(first, i), find(second, i))), case.id .. " " .. device.name)
        list[i] = assert(kio.counts(find(first, i), find(second, i)))
        local function delta(name) return tonumber(device.new[name]) - tonumber(device.old[name]) end
        wtime, rtime, elapsed = wtime + delta("wtime"), rtime + delta("rtime"), elapsed + delta("snaptime")
      end
      local got = kio.figures(kio.mean(list))
      -- The reference divides w_pct twice by the number of disks, and b_pct not at all.
      compare(case.controller, got, case.id, { w_pct = true, b_pct = true })
      assert.is_true(math.abs(got.w_pct - 100 * wtime / elapsed) <= 1e-6 * got.w_pct, case.id)
      assert.is_true(math.abs(got.b_pct - 100 * rtime / elapsed) <= 1e-6 * got.b_pct, case.id)
      local n = #case.devices
      same(case.controller.b_pct, got.b_pct * n, case.id)
      if n > 1 then
        differing = differing + 1
        same(case.controller.w_pct, got.w_pct / n, case.id)
      else
        same(case.controller.w_pct, got.w_pct, case.id)
      end
    end
    assert.is_true(differing > 0)
  end)

  -- Counters that passed their width are continued, those that fell otherwise count 0. The reference shows a huge
  -- number or a negative one there, or 0 for a sum that passed 2^63.
  it("subtracts counters as the reference, and none is huge", function()
    local field = { hrtime = "rtime", u64 = "nread", u32 = "reads" }
    local ours = { ["delta-04"] = 2, ["delta-09"] = 20 }
    for _, id in ipairs({ 2, 3, 5, 7, 10, 12, 13, 14, 18, 20, 21, 22 }) do
      ours[("delta-%02d"):format(id)] = 0
    end
    for _, case in ipairs(vectors("delta").cases) do
      local name = field[case.kind]
      local first, second = samples({ { crtime = "0", old = { snaptime = "1000000000", [name] = case.old },
        new = { snaptime = "2000000000", [name] = case.new } } })
      local got = assert(kio.counts(find(first, 1), find(second, 1)))[name]
      same(ours[case.id] or case.delta, got, case.id)
    end
  end)

  it("continues lengths over time that pass 2^63 and 2^64", function()
    for _, step in ipairs({ { "9223372036854775000", "-9223372036854774616" }, { "-1000", "1000" } }) do
      local first, second = samples({ { crtime = "0", old = { snaptime = "1000000000", rlentime = step[1],
        wlentime = step[1] }, new = { snaptime = "2000000000", rlentime = step[2], wlentime = step[2] } } })
      local got = assert(kio.counts(find(first, 1), find(second, 1)))
      assert.are.same({ 2000, 2000 }, { got.rlentime, got.wlentime })
      assert.are.equal(2e-6, (second - first):lookup("sd", 1, "sd1"):rate("rlentime"))
    end
  end)

  it("counts a kstat that was created anew from then on", function()
    local first = io_capture.kstat({}, "1000000000", { snaptime = "9000000000", reads = 900 })
    local second = io_capture.kstat({}, "9500000000", { snaptime = "10000000000", reads = 5 })
    local ks = assert(kstat.open(capture.file({ { first }, { second } })))
    local before = assert(ks:sample())
    ks:update()
    local got = kio.rates(before:lookup("sd", 0, "sd0"), ks:sample():lookup("sd", 0, "sd0"))
    assert.are.equal(10, got.r_s)
  end)

  it("continues 32-bit counters that wrapped", function()
    local first, second = samples({ { crtime = "0", old = { snaptime = "1000000000", reads = 4294967290 },
      new = { snaptime = "2000000000", reads = 4 } } })
    assert.are.equal(10, kio.rates(find(first, 1), find(second, 1)).r_s)
  end)

  it("fills a table that it is given", function()
    local first, second = samples({ { crtime = "0", old = { snaptime = "1000000000" },
      new = { snaptime = "2000000000", writes = 3 } } })
    local into = {}
    assert.are.equal(into, kio.rates(find(first, 1), find(second, 1), into))
    assert.are.equal(3, into.w_s)
  end)

  it("takes kstats of samples only, and of I/O", function()
    local ks = assert(kstat.open(capture.file({ { io_capture.kstat({}, "0", { snaptime = "1000000000" }),
      capture.named("n", 0, 1, '"a":1') } })))
    assert.has_error(function() kio.rates(nil, ks:lookup("sd", 0, "sd0")) end)
    assert.has_error(function() kio.rates(nil, ks:sample():lookup("app", 0, "n")) end)
    assert.has_error(function() kio.rates(nil, {}) end)
  end)

  it("is part of the module", function()
    assert.are.equal(kio, kstat.io)
  end)
end)

describe("the figures of kstat.io", function()
  it("are also found under the titles of iostat", function()
    local figures = require("kstat.io").figures({ nread = 2048, nwritten = 0, reads = 4, writes = 2, wtime = 1e9,
      wlentime = 1e9, rtime = 5e8, rlentime = 1e9, elapsed = 2e9, has_wait = true })
    assert.same({ 2, 1, 1, 0, 50, 25 }, { figures["r/s"], figures["w/s"], figures["kr/s"], figures["kw/s"],
      figures["%w"], figures["%b"] })
    assert.is_nil(figures["x/s"])
  end)
end)
