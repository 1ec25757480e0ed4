-- The bucket layouts of kstat2 histograms: the tables of kstat2_create_histogram(9F).
local lines = require("support.lines")

local TOP = "18446744073709551615"

local function buckets(type, min, max, step)
  local words = lines.words(lines.run("core_queue_driver",
    { ("hist %s %s %s %s"):format(type, min, max, step) })[1])
  assert.are.equal("ok", table.remove(words, 1))
  return words
end

local function refusal(type, min, max, step)
  local line = lines.run("core_queue_driver",
    { ("hist %s %s %s %s"):format(type, min, max, step) })[1]
  return line:match("^EINVAL (.*)$")
end

describe("a linear histogram", function()
  it("has the buckets of the manual page's first example", function()
    assert.are.same({ "0-0", "1-127", "128-255", "256-383", "384-511", "512-639", "640-767",
      "768-895", "896-1023", "1024-" .. TOP }, buckets("linear", 0, 1024, 128))
  end)

  it("holds everything below range_min in the first bucket", function()
    assert.are.same({ "0-9", "10-14", "15-19", "20-" .. TOP }, buckets("linear", 10, 20, 5))
  end)

  it("has no empty bucket with steps of one", function()
    assert.are.same({ "0-0", "1-1", "2-2", "3-" .. TOP }, buckets("linear", 0, 3, 1))
  end)

  it("stays open without range_max", function()
    local b = buckets("linear", 0, 0, 10)
    assert.are.equal(1024, #b)
    assert.are.equal("0-0", b[1])
    assert.are.equal("1-9", b[2])
    assert.are.equal("10220-" .. TOP, b[1024])
  end)

  it("ends before 2^64 however large the steps are", function()
    assert.are.same({ "0-0", "1-9223372036854775806", "9223372036854775807-18446744073709551613",
      "18446744073709551614-" .. TOP }, buckets("linear", 0, 0, "9223372036854775807"))
  end)

  it("refuses steps that do not divide, an upside-down range, no steps, and too many", function()
    assert.matches("steps of 3 do not divide", refusal("linear", 0, 1024, 3))
    assert.matches("range_min 20 is above range_max 10", refusal("linear", 20, 10, 5))
    assert.matches("stepping is zero", refusal("linear", 0, 1024, 0))
    assert.matches("100002 buckets are too many", refusal("linear", 0, 200000, 2))
  end)
end)

describe("a log2 histogram", function()
  it("has the 65 buckets of the second example", function()
    local b = buckets("log2", 7, 3, 0)
    assert.are.equal(65, #b)
    assert.are.same({ "0-0", "1-1", "2-3", "4-7", "8-15" }, { b[1], b[2], b[3], b[4], b[5] })
    assert.are.equal("4611686018427387904-9223372036854775807", b[64])
    assert.are.equal("9223372036854775808-" .. TOP, b[65])
  end)
end)

describe("a log10 histogram", function()
  it("has the 21 buckets of the third example", function()
    local b = buckets("log10", 0, 0, 0)
    assert.are.equal(21, #b)
    assert.are.same({ "0-0", "1-9", "10-99", "100-999" }, { b[1], b[2], b[3], b[4] })
    assert.are.equal("1000000000000000000-9999999999999999999", b[20])
    assert.are.equal("10000000000000000000-" .. TOP, b[21])
  end)
end)

describe("a log10-linear histogram", function()
  it("has the 17 buckets of the fourth example", function()
    assert.are.same({ "0-99", "100-199", "200-399", "400-599", "600-799", "800-999",
      "1000-1999", "2000-3999", "4000-5999", "6000-7999", "8000-9999",
      "10000-19999", "20000-39999", "40000-59999", "60000-79999", "80000-99999",
      "100000-" .. TOP }, buckets("log10_lin", 2, 4, 5))
  end)

  it("takes 25 steps, which divide a hundred", function()
    local b = buckets("log10_lin", 2, 2, 25)
    assert.are.equal(25, #b)
    assert.are.same({ "0-99", "100-119", "120-159" }, { b[1], b[2], b[3] })
    assert.are.equal("960-999", b[24])
    assert.are.equal("1000-" .. TOP, b[25])
  end)

  it("refuses steps that do not divide, an upside-down range, no steps, and too many", function()
    assert.matches("3 steps do not divide 1000", refusal("log10_lin", 2, 4, 3))
    assert.matches("25 steps do not divide 10", refusal("log10_lin", 0, 4, 25))
    assert.matches("range_min 5 is above range_max 4", refusal("log10_lin", 5, 4, 5))
    assert.matches("stepping is zero", refusal("log10_lin", 2, 4, 0))
    assert.matches("at most 18", refusal("log10_lin", 2, 19, 5))
    assert.matches("1800002 buckets are too many", refusal("log10_lin", 6, 7, 1000000))
  end)

  it("has up to 65535 buckets", function()
    assert.are.equal(63002, #buckets("log10_lin", 3, 16, 5000))
    assert.matches("67502 buckets are too many, at most 65535", refusal("log10_lin", 3, 17, 5000))
  end)
end)

describe("an exponential histogram", function()
  local function ends_of(min, max, scale)
    local b = buckets("exponential", min, max, scale)
    return #b, b[1], b[2], b[#b]
  end

  it("has OTLP's buckets, whose upper bound is inclusive, and one of exactly 0", function()
    assert.are.same({ "0-0", "1-1", "2-2", "3-4", "5-8", "9-16" }, buckets("exponential", 1, 16, 0))
    assert.are.same({ "0-0", "3-4", "5-5", "6-8", "9-11", "12-16" }, buckets("exponential", 3, 12, 1))
    assert.are.same(buckets("exponential", 1, 16, 0), buckets("exponential", 0, 9, 0))
  end)

  it("has bounds at the powers of 2^(2^-scale), at each scale", function()
    for scale = 0, 8 do
      local first = math.ceil(6 * math.log(10, 2) * 2 ^ scale) - 1
      for i, range in ipairs(buckets("exponential", 1000000, 1 << 30, scale)) do
        if i > 1 then
          local low, high = range:match("(%d+)-(%d+)")
          assert.are.equal(2 ^ ((first + i - 2) / 2 ^ scale) // 1 + 1, tonumber(low), scale .. " bucket " .. i)
          assert.are.equal(2 ^ ((first + i - 1) / 2 ^ scale) // 1, tonumber(high), scale .. " bucket " .. i)
        end
      end
    end
  end)

  it("has the buckets from that of range_min to that of range_max", function()
    assert.are.same({ 959, "0-0", "981-1002", "986651748221-1008256608221" },
      { ends_of(1000, "1000000000000", 5) })
    assert.are.same({ 66, "0-0", "1-1", "9223372036854775809-" .. TOP }, { ends_of(1, TOP, 0) })
    assert.are.equal(16386, (ends_of(0, TOP, 8)))
    assert.are.same({ "0-0", "18396865112328554662-" .. TOP }, buckets("exponential", TOP, TOP, 8))
  end)

  it("puts values outside of its range into its end buckets", function()
    local at = {}
    for i, value in ipairs { "0", "1", "980", "981", "961548", "961549", TOP } do
      at[i] = lines.run("core_queue_driver", { "index exponential 1000 1000000 3 " .. value })[1]:match("^%d+")
    end
    assert.are.same({ "0", "1", "1", "1", "80", "81", "81" }, at)
  end)

  it("refuses a scale above 8, an upside-down range, and a range of nothing", function()
    assert.matches("the scale is 0 to 8, not 9", refusal("exponential", 1, 100, 9))
    assert.matches("range_min 100 is above range_max 10", refusal("exponential", 100, 10, 5))
    assert.matches("the highest value, is zero", refusal("exponential", 0, 0, 5))
  end)
end)

describe("every histogram", function()
  it("puts each bucket's limits, and no other value, into that bucket", function()
    local commands, want = {}, {}
    for _, l in ipairs { "linear 0 1024 128", "linear 10 20 5", "linear 0 3 1", "linear 0 0 10",
        "log2 0 0 0", "log10 0 0 0", "log10_lin 2 4 5", "log10_lin 0 18 10", "log10_lin 2 9 25",
        "log10_lin 0 18 1", "log10_lin 3 3 500", "exponential 1000 1000000000000 5",
        "exponential 1 " .. TOP .. " 0", "exponential 9000000000000000000 " .. TOP .. " 8" } do
      local type, min, max, step = l:match("(%S+) (%S+) (%S+) (%S+)")
      for i, range in ipairs(buckets(type, min, max, step)) do
        for value in range:gmatch("%d+") do
          commands[#commands + 1] = ("index %s %s"):format(l, value)
          want[#want + 1] = ("%d %s"):format(i - 1, range)
        end
      end
    end
    assert.is_true(#want > 2000)
    assert.are.same(want, lines.run("core_queue_driver", commands))
  end)

  it("leaves no gap between its buckets", function()
    for _, l in ipairs { { "linear", 0, 1024, 128 }, { "log10_lin", 2, 9, 25 }, { "log2", 0, 0, 0 },
        { "exponential", 1, 1000000, 0 } } do
      local b = buckets(l[1], l[2], l[3], l[4])
      for i = 2, math.min(#b, 50) do
        local high, low = b[i - 1]:match("%-(%d+)$"), b[i]:match("^(%d+)")
        assert.are.equal(tonumber(high) + 1, tonumber(low), l[1] .. " bucket " .. i)
      end
    end
  end)
end)
