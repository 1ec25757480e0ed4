-- The t-digest: its accuracy beside a merging t-digest with the scale k1 and as many centroids, on the
-- reference's data sets and on synthetic ones, and what must hold at every step. The work is done by
-- spec/c/core_tdigest.c.
local cjson = require("cjson")
local run = require("support.run")

local build = os.getenv("KSTAT_BUILD") or "build"
local program = build .. "/spec/core_tdigest"
local QUANTILES = { "p1", "p10", "p25", "p50", "p90", "p99", "p99.9" }

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
  assert.equal(#QUANTILES, #assert(t.ours, line))
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
      local doc = cjson.decode(run.vector("statsblob/tdigest_accuracy.json"))
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

    it("is on average at most as far off as the k1 digest, and far less in the upper tail", function()
      local of_k1 = { 1, 1, 1, 1, 0.5, 0.25, 0.1 }
      for i, name in ipairs(QUANTILES) do
        local ours, k1 = 0, 0
        for _, t in ipairs(sets) do ours, k1 = ours + t.ours[i], k1 + t.k1[i] end
        assert.is_true(ours <= k1 * of_k1[i], ("%s: %g of %g"):format(name, ours, k1))
      end
    end)
  end)

  describe("on ten kinds of data, each with 10^3 to 10^5 values, has a mean error #accuracy", function()
    -- The factors leave room for the chance of the data: the errors of neighbouring percentiles differ by more.
    for _, case in ipairs({
      { 1, 100, { 1.1, 1, 1.1, 1, 0.4, 0.2, 0.1 } }, { 1, 200, { 1.1, 1, 1, 1, 0.6, 0.2, 0.1 } },
      { 64, 100, { 1.1, 1, 1.2, 1.1, 0.5, 0.5, 0.2 } }, { 64, 200, { 1.1, 1, 1, 1.2, 1.25, 0.3, 0.1 } },
    }) do
      it(("of the k1 digest's below the median and less above it: %d centroids, %d digests merged"):format(case[2],
        case[1]), function()
        local t = measure(("compare %d %d"):format(case[1], case[2]))
        assert.equal(0, t.refused)
        assert.equal(160, t.cases)
        for i, name in ipairs(QUANTILES) do
          assert.is_true(t.ours[i] <= t.k1[i] * case[3][i], ("%s: %g of %g"):format(name, t.ours[i], t.k1[i]))
        end
      end)
    end
  end)

  describe("on 200,000 synthetic values #accuracy", function()
    local N = 200000
    for _, set in ipairs { "lognormal", "uniform", "bimodal", "sorted", "reversed", "constant" } do
      it(("is at least as accurate as the k1 digest from p90 up: %s"):format(set), function()
        local t = measure(("set 18 100 8 %s 42 0 0 %d"):format(set, N))
        assert_whole(t, N, set)
        assert_bound(t, set)
        for i = 5, #QUANTILES do
          assert.is_true(t.ours[i] <= t.k1[i] + 3e-5, ("%s %s: %g, k1 %g"):format(set, QUANTILES[i],
            t.ours[i], t.k1[i]))
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
