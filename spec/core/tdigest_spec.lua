-- The t-digest: its accuracy beside a plain merging t-digest with as many centroids, on
-- the reference's data sets and on synthetic ones, and what must hold at every step. The
-- work is done by spec/c/core_tdigest.c.
local cjson = require("cjson")

local build = os.getenv("KSTAT_BUILD") or "build"
local program = build .. "/spec/core_tdigest"
local QUANTILES = { "p50", "p90", "p99", "p99.9" }

local function lines_of(args)
  local p = assert(io.popen(program .. " " .. args .. " 2>&1", "r"))
  local lines = {}
  for line in p:lines() do lines[#lines + 1] = line end
  p:close()
  return lines
end

-- One line of key=value; a value with commas becomes a list of numbers.
local function measure(args)
  local line = assert(lines_of(args)[1], "no answer to " .. args)
  local t = {}
  for key, value in line:gmatch("(%w+)=(%S+)") do
    if value:find(",", 1, true) then
      t[key] = {}
      for v in value:gmatch("[^,]+") do t[key][#t[key] + 1] = assert(tonumber(v)) end
    else
      t[key] = assert(tonumber(value))
    end
  end
  assert.equal(4, #assert(t.ours, line))
  return t
end

local function assert_whole(t, n, what)
  assert.equal(0, t.refused, what)
  assert.equal(n, t.count, what)
  assert.equal(n, t.weight, what)
  assert.equal(1, t.extremes, what)
end

local function assert_bound(t, what)
  for i, e in ipairs(t.ours) do
    assert.is_true(e <= t.bound[i], ("%s %s: %g, bound %g"):format(what, QUANTILES[i], e, t.bound[i]))
  end
end

describe("t-digest", function()
  describe("on the reference's data sets", function()
    local sets = {}
    setup(function()
      local f = assert(io.open("spec/vectors/statsblob/tdigest_accuracy.json"))
      local doc = cjson.decode(f:read("*a"))
      f:close()
      for i, case in ipairs(doc.cases) do
        local g = case.gen
        local a, b, c = g.value or g.start or g.seed, g.step or g.lo or g.maxbits or 0, g.span or 0
        local kind = case.tdgst == "TDGSTCLUST32" and 17 or 18
        local t = measure(("set %d %d %d %s %s %s %s %s"):format(kind, case.nctds, case.prec,
          g.kind, a, b, c, g.n))
        t.name, t.n, t.nctds_max = case.name, tonumber(g.n), case.nctds
        sets[i] = t
      end
      assert.equal(50, #sets)
    end)

    it("refuses no sample and knows the extremes", function()
      for _, t in ipairs(sets) do
        assert_whole(t, t.n, t.name)
        assert.is_true(t.nctds <= t.nctds_max, t.name)
      end
    end)

    it("stays within its bound", function()
      for _, t in ipairs(sets) do assert_bound(t, t.name) end
    end)

    it("is at most as far off as the plain digest, at each quantile of each set", function()
      local pairs_seen = 0
      for _, t in ipairs(sets) do
        for i, e in ipairs(t.ours) do
          assert.is_true(e <= t.plain[i], ("%s %s: %g, plain %g"):format(t.name, QUANTILES[i], e, t.plain[i]))
          pairs_seen = pairs_seen + 1
        end
      end
      assert.equal(200, pairs_seen)
    end)

    it("is on average far more accurate", function()
      local of_plain = { 0.25, 0.35, 0.35, 0.1 }
      for i, name in ipairs(QUANTILES) do
        local ours, plain = 0, 0
        for _, t in ipairs(sets) do ours, plain = ours + t.ours[i], plain + t.plain[i] end
        assert.is_true(ours <= plain * of_plain[i], ("%s: %g of %g"):format(name, ours, plain))
      end
    end)
  end)

  describe("on a million synthetic values", function()
    local N = 1000000
    for _, set in ipairs { "lognormal", "uniform", "bimodal", "sorted", "reversed", "constant" } do
      it(("is at least as accurate as the plain digest: %s"):format(set), function()
        local t = measure(("set 18 100 8 %s 42 0 0 %d"):format(set, N))
        assert_whole(t, N, set)
        assert_bound(t, set)
        for i, e in ipairs(t.ours) do
          assert.is_true(e <= t.plain[i] + 1e-5, ("%s %s: %g, plain %g"):format(set, QUANTILES[i],
            e, t.plain[i]))
        end
      end)

      it(("keeps its bound when 64 digests of a part each are merged: %s"):format(set), function()
        local t = measure(("merge 64 18 100 %s %d"):format(set, N))
        assert_whole(t, N, set)
        assert_bound(t, set)
        assert_bound(measure(("merge 64 18 20 %s %d"):format(set, N)), set)
      end)
    end
  end)

  describe("as a program", function()
    local titles = {
      sizes = "has the layout's sizes and precisions",
      empty = "answers for an empty digest",
      few = "shows up to three samples as they came",
      exact = "is exact for no more distinct values than centroids",
      invariants = "loses no sample, no extreme and nothing of the mean, at any size",
      monotone = "has monotone quantiles, and cdf for an inverse",
      range = "takes every value of its range and no other, at every precision",
      large_integers = "keeps its bound with values that leave no room for fractions",
      weights = "takes weights as so many samples",
      saturation = "goes on when counts are at their end",
      deterministic = "makes the same bytes of the same samples, aligned or not, read or not",
      reset = "is as new after a reset",
      merge = "merges few and many, other sizes and other precisions",
      merge_overflow = "does not merge what does not fit",
      hostile = "refuses damaged bytes, or can be used with them",
      large = "works at the largest sizes",
      bounds = "keeps its bound whatever comes, at any size and length",
      scale = "has the scale functions it says it has",
    }
    for _, name in ipairs(lines_of("checks")) do
      it(titles[name] or name, function()
        assert.same({ "ok" }, lines_of("check " .. name))
        titles[name] = nil
      end)
    end

    it("has all the checks that are listed here", function()
      assert.same({}, titles)
    end)
  end)
end)
