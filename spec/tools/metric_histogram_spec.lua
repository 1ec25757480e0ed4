-- Histograms in the text formats: few buckets, the same ones at all times, whose counts are exact.
local capture = require("support.capture")
local kstat = require("kstat")

describe("a histogram as a metric", function()
  teardown(capture.clean)

  -- The kstats of one capture whose samples have these counts of buckets; layout: type, range_min, range_max, stepping.
  local function open(layout, ...)
    local samples = {}
    for i, counts in ipairs({ ... }) do
      samples[i] = { capture.named("h", 1, i + 1, ('"buckets":[%s],"type":"%s","range_min":%d,"range_max":%s,'
        .. '"stepping":%d'):format(table.concat(counts, ","), layout[1], layout[2] or 0, layout[3] or 0,
        layout[4] or 0)) }
    end
    return assert(kstat.open({ capture = capture.file(samples) }))
  end

  -- Bounds and counts of the classic format, but for +Inf, and the count of all.
  local function read(ks)
    local text = ks:render("prometheus", "app:0:h")
    local bounds, counts = {}, {}
    for le, count in text:gmatch('_bucket{[^\n]*le="([%d.e+-]+)"} (%d+)\n') do
      bounds[#bounds + 1], counts[#counts + 1] = tonumber(le) + 0.0, tonumber(count)
    end
    assert.equal(#bounds + 1, select(2, text:gsub("_bucket{", "")))
    return bounds, counts, tonumber(text:match('_count{[^\n]*} (%d+)\n'))
  end

  local function numbers(n, f)
    local list = {}
    for i = 1, n do
      list[i] = f(i)
    end
    return list
  end

  -- Layouts, how many buckets they have, and how many the text has beside +Inf.
  local LAYOUTS = {
    { { "exponential", 1000, "1000000000000", 5 }, 959, 23 }, { { "exponential", 1000, "1000000000", 3 }, 162, 20 },
    { { "exponential", 1024, "18446744073709551615", 0 }, 56, 23 }, { { "log2" }, 65, 23 }, { { "log10" }, 21, 20 },
    { { "log10_lin", 3, 9, 10 }, 65, 23 }, { { "log10_lin", 0, 18, 10 }, 173, 23 },
    { { "linear", 0, 1000, 1 }, 1001, 23 },
    { { "linear", 0, 200, 10 }, 22, 21 }, { { "linear", 0, 0, 1 }, 1024, 12 },
    { { "linear", 100, 100000, 100 }, 1001, 23 }, { { "exponential", 1, 1, 0 }, 2, 0 },
  }

  it("has at most 24 buckets, with exact counts up to their borders", function()
    for _, layout in ipairs(LAYOUTS) do
      local ks = open(layout[1], numbers(layout[2], function(i) return i end))
      local bounds, counts, all = read(ks)
      local what = table.concat(layout[1], " ")
      assert.equal(layout[3], #bounds, what)
      local expected = numbers(#bounds, function() return 0 end)
      local total = 0
      for _, bucket in ipairs(ks:lookup("app", 0, "h"):distribution():buckets()) do
        total = total + bucket.count
        for i, bound in ipairs(bounds) do
          expected[i] = expected[i] + (bucket.high <= bound and bucket.count or 0)
        end
      end
      ks:close()
      assert.same(expected, counts, what)
      assert.equal(total, all, what)
      for i = 2, #bounds do
        assert.truthy(bounds[i] > bounds[i - 1], what)
        assert.truthy(layout[1][1] ~= "exponential" or bounds[i] >= 2 * bounds[i - 1], what)
      end
    end
  end)

  it("has the same buckets before the first value, and after one that lies far away", function()
    for _, layout in ipairs(LAYOUTS) do
      local ks = open(layout[1], { 0 }, numbers(layout[2], function(i) return i == layout[2] and 1 or 0 end))
      local before = read(ks)
      ks:update()
      local after, _, all = read(ks)
      ks:close()
      assert.same(before, after)
      assert.equal(1, all)
    end
  end)

  it("has each doubling of those that are in the middle of a wide range, and every second at its ends", function()
    local ks = open({ "exponential", 1000, "1000000000000", 5 }, { 0 })
    local bounds, powers = read(ks), {}
    for i, bound in ipairs(bounds) do
      powers[i] = ("%.0f"):format(math.log(bound) / math.log(2))
    end
    ks:close()
    assert.same("10 12 14 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 34 36 38", table.concat(powers, " "))
  end)
end)
