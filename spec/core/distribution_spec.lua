-- Distributions for programs in C, by way of spec/c/core_distribution.c.
local lines = require("support.lines")

describe("a distribution in C", function()
  local printed = {}

  setup(function()
    for _, line in ipairs(lines.run("core_distribution", {})) do
      local key, rest = line:match("^(.-):? (%-?%d.*)$")
      printed[key or line] = rest or true
    end
  end)

  it("has the statistics of all values, and of an interval by bucket", function()
    assert.equal("1010 values, 100 to 20000, sum 300000, mean 297.03, p50 100, p99 100, 0.990099 at most 150",
      printed.all)
    assert.equal("0", printed.subtract)
    assert.equal("10 values, 19911 to 20000, sum 200000, mean 20000, p50 19955, p99 19955, 0 at most 150",
      printed.interval)
  end)

  it("merges at the coarser scale", function()
    assert.equal("0", printed.merge)
    assert.equal("11 values, 100 to 20000, sum 200100, mean 18190.9, p50 19739, p99 19739, 0.0909091 at most 150",
      printed.merged)
  end)

  it("does not merge with another unit, and names both", function()
    assert.matches("^%-1 1 cdist:0:a is in bytes and cdist:0:c in no unit: .* do not merge$", printed["other unit"])
  end)

  it("is NAN where there are no values, and nothing of what is no histogram", function()
    assert.same({ "1 1", "1 1" }, { printed.empty, printed["no histogram"] })
  end)

  it("is found by kstat_data_lookup() in chains of all types alone", function()
    assert.is_true(printed["a p90 none"])
    assert.matches("^1 .*kstat2_all_types", printed.plain)
    assert.same({ "1010", "20000", "100" }, { printed["a count"], printed["a max"], printed["a p99"] })
    assert.equal("0", printed["empty count"])
    assert.is_true(printed["empty p99 none"])
  end)
end)
