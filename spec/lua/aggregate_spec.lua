-- kstat.aggregate: every reducer against figures worked out by hand, keys, merging, output.
local cjson = require("cjson")
local kstat = require("kstat")

local host = "spec/vectors/kstat/host.jsonl"

local function aggregate(definition)
  return assert(kstat.aggregate(definition))
end

-- The value of one reducer over a list of values.
local function reduced(reducer, values, times)
  local agg = aggregate(reducer)
  for i, v in ipairs(values) do
    agg:add_value({}, v, times and times[i] or i)
  end
  return agg:get()
end

local function keys_of(agg)
  local list = {}
  for key in agg:each() do
    list[#list + 1] = tostring(key)
  end
  return list
end

-- Three disks and an interface at two moments, 10 s apart.
local function capture()
  local function kstats(n)
    local list = {}
    local function add(module, instance, name, class, data)
      data.crtime, data.snaptime = 0, 10 * n
      list[#list + 1] = { module = module, instance = instance, name = name, class = class, type = 1,
        snaptime = 10 * n, data = data }
    end
    add("sd", 0, "sd0", "disk", { nread = 100 * n, nwritten = 10 * n, state = "on" })
    add("sd", 1, "sd1", "disk", { nread = 200 * n, nwritten = 20 * n, state = "off" })
    add("vd", 10, "vd10", "disk", { nread = 1000 * n * n })
    add("link", 0, "eth0", "net", { arrived = 7 * n, busy = 0.5 })
    return cjson.encode(list)
  end
  local path = os.tmpname()
  local f = assert(io.open(path, "w"))
  f:write(kstats(1), "\n", kstats(2), "\n")
  f:close()
  return path
end

describe("a reducer:", function()
  local values = { 4, 8, 15, 16, 23, 42 } -- sum 108, squares 2854

  for reducer, want in pairs({
    sum = 108, count = 6, avg = 18, min = 4, max = 42, first = 4, last = 42, median = 15.5, p50 = 15.5, p0 = 4,
    p100 = 42, p90 = 32.5, ["p99.9"] = 41.905,
  }) do
    it(reducer, function()
      assert.is_true(math.abs(want - reduced(reducer, values)) < 1e-9)
    end)
  end

  it("stddev divides by the count", function()
    -- 2854 / 6 - 18^2 = 455 / 3
    assert.is_true(math.abs(math.sqrt(455 / 3) - reduced("stddev", values)) < 1e-9)
    assert.equal(0, reduced("stddev", { 5 }))
  end)

  it("stddev is not lost in large numbers", function()
    assert.is_true(math.abs(math.sqrt(2 / 3) - reduced("stddev", { 1e12 + 1, 1e12 + 2, 1e12 + 3 })) < 1e-3)
  end)

  it("first and last go by time, not by order", function()
    assert.equal(2, reduced("first", { 1, 2, 3 }, { 5, 4, 6 }))
    assert.equal(1, reduced("last", { 1, 2, 3 }, { 7, 4, 6 }))
    assert.equal(1, reduced("first", { 1, 2 }, { 5, 5 }))
    assert.equal(2, reduced("last", { 1, 2 }, { 5, 5 }))
  end)

  it("ewma weighs by age", function()
    local w = math.exp(-1)
    assert.is_true(math.abs((10 * w + 20) / (w + 1) - reduced("ewma(60)", { 10, 20 }, { 0, 60 })) < 1e-9)
    assert.is_true(math.abs((10 * w + 20) / (w + 1) - reduced("ewma(60)", { 20, 10 }, { 60, 0 })) < 1e-9)
    assert.equal(15, reduced("ewma(60)", { 10, 20 }, { 3, 3 }))
    assert.equal(7, reduced("ewma(1)", { 7, 7, 7 }, { 0, 5, 9 }))
  end)

  it("sum goes on where integers end", function()
    local most = math.maxinteger or 2 ^ 63
    assert.equal(most + 0.0 + most, reduced("sum", { most, most }))
    assert.equal(-(most + 0.0 + most), reduced("sum", { -most, -most }))
    if math.maxinteger then
      assert.equal(math.maxinteger, reduced("sum", { math.maxinteger - 5, 5 }))
    end
  end)

  it("percentiles of many values are near the truth", function()
    local many = {}
    for i = 1, 10001 do
      many[i] = (i * 7919) % 10001 -- 0 to 10000, each once
    end
    for _, p in ipairs({ 1, 50, 90, 99 }) do
      assert.is_true(math.abs(p * 100 - reduced("p" .. p, many)) < 60, "p" .. p)
    end
    assert.equal(0, reduced("p0", many))
    assert.equal(10000, reduced("p100", many))
  end)

  it("percentiles have no unit of their own: tiny, huge and ever larger values", function()
    for _, factor in ipairs({ 1e-9, 1e-3, 1e12, 1e200 }) do
      local many = {}
      for i = 1, 1001 do
        many[i] = (i - 1) * factor
      end
      local median = reduced("p50", many)
      assert.is_true(math.abs(median - 500 * factor) < 10 * factor, tostring(factor))
    end
    local growing = {}
    for i = 1, 300 do
      growing[i] = 10 ^ (i / 25)
    end
    assert.equal(10 ^ 12, reduced("p100", growing))
    assert.equal(10 ^ (1 / 25), reduced("p0", growing))
    local rank = math.log(reduced("p50", growing)) / math.log(10) * 25
    assert.is_true(rank > 145 and rank < 155, tostring(rank))
  end)

  it("percentiles take the least of 64-bit integers, which has no positive counterpart", function()
    local least = math.mininteger or -2 ^ 63
    local many = {}
    for i = 1, 101 do
      many[i] = least
    end
    assert.equal(-2 ^ 63, reduced("p50", many))
    many[1] = 0
    assert.equal(-2 ^ 63, reduced("p0", many))
    assert.equal(0, reduced("p100", many))
    local late = {}
    for i = 1, 101 do
      late[i] = i
    end
    late[101] = least
    assert.equal(-2 ^ 63, reduced("p0", late))
  end)

  it("of one kind have their arguments as part of their title, and none is there twice", function()
    local agg = aggregate("ewma(10), ewma(60), max")
    agg:add_value({}, 5, 1)
    assert.equal("ewma 10\newma 60\nmax\n", (agg:render("list")))
    assert.same({ "'max' is there twice", "EINVAL" }, { select(2, kstat.aggregate("max, max")) })
    assert.same({ "'name' is there twice", "EINVAL" }, { select(2, kstat.aggregate("max by (name, name)")) })
    assert.same({ "'ewma 5' is there twice", "EINVAL" }, { select(2, kstat.aggregate("ewma(5), ewma(5)")) })
    local two = aggregate({ reduce = "max", by = { function() return "a" end, function() return "b" end } })
    assert.same({ "a:b" }, keys_of(two:add_value({ "a", "b" }, 1)))
  end)
end)

describe("a distribution", function()
  local function buckets(reducer, values)
    local list = {}
    local d = reduced(reducer, values)
    for i, bucket in ipairs(d) do
      list[i] = { bucket.low or "", bucket.high or "", bucket.count }
    end
    return list, d
  end

  it("quantize goes by powers of two to both sides of 0", function()
    assert.same({ { -3, -1, 2 }, { -1, 0, 1 }, { 0, 1, 2 }, { 1, 2, 1 }, { 2, 4, 2 }, { 4, 8, 1 } },
      (buckets("quantize", { -3, -2, -1, 0, 0.7, 1, 2, 3, 4 })))
  end)

  it("quantize takes the largest numbers", function()
    local list = buckets("quantize", { 2 ^ 62, 1e300, -1e300 })
    assert.equal(2, #list)
    assert.equal("", list[1][1])
    assert.same({ "", 2 }, { list[2][2], list[2][3] })
  end)

  it("lquantize has steps and two open ends", function()
    assert.same({ { "", 10, 1 }, { 10, 15, 1 }, { 15, 20, 2 }, { 20, "", 1 } },
      (buckets("lquantize(10, 20, 5)", { 9.9, 10, 15, 19, 20 })))
    assert.same({ { 1, 2, 1 } }, (buckets("lquantize(0, 3)", { 1 })))
  end)

  it("is drawn as DTrace draws it", function()
    assert.equal([[
               value  ------------- Distribution ------------- count
                   0 |                                         0
                   1 |@@@@@@@@@@@@@@@@@@@@                     2
                   2 |@@@@@@@@@@                               1
                   4 |                                         0
                   8 |@@@@@@@@@@                               1
                  16 |                                         0
]], tostring(reduced("quantize", { 1, 1, 3, 8 })))
    assert.equal([[
               value  ------------- Distribution ------------- count
                 < 0 |@@@@@@@@@@@@@@@@@@@@                     1
                   0 |                                         0
                   5 |                                         0
               >= 10 |@@@@@@@@@@@@@@@@@@@@                     1
]], tostring(reduced("lquantize(0, 10, 5)", { -1, 10 })))
  end)

  it("fits a narrower window, with shorter bars if it must", function()
    local kstatlua = (os.getenv("KSTAT_BUILD") or "build") .. "/bin/kstatlua"
    local function widths(columns)
      local pipe = assert(io.popen(("COLUMNS=%d %s -e 'local a = kstat.aggregate(\"quantize\") " ..
        "for i = 1, 3000 do a:add_value({}, i %% 97) end io.write(a:text())'"):format(columns, kstatlua)))
      local longest, bars = 0, 0
      for line in pipe:lines() do
        longest = math.max(longest, #line)
        bars = bars + select(2, line:gsub("@", ""))
      end
      pipe:close()
      return longest, bars
    end
    local full, bars = widths(80)
    assert.equal(68, full)
    assert.same({ 60, bars }, { widths(60) })
    local narrow, shorter = widths(45)
    assert.equal(45, narrow)
    assert.is_true(shorter < bars)
    assert.is_true(widths(1) <= 36)
  end)

  it("has the same labels in every Lua, beyond 2^53 too", function()
    local function picture(values)
      return (tostring(reduced("quantize", values)):gsub("^[^\n]*\n", ""))
    end
    local empty, full = (" "):rep(41) .. "0\n", ("@"):rep(40) .. " 1\n"
    assert.equal("   18014398509481984 |" .. empty .. "   36028797018963968 |" .. full ..
      "   72057594037927936 |" .. empty, picture({ 2 ^ 55 }))
    assert.equal(" 2305843009213693952 |" .. empty .. " 4611686018427387904 |" .. full, picture({ 2 ^ 62 }))
    assert.equal("-4611686018427387904 |" .. full .. "-2305843009213693952 |" .. empty, picture({ -2 ^ 62 }))
    assert.equal("  -36028797018963968 |" .. empty .. "  -18014398509481984 |" .. full ..
      "   -9007199254740992 |" .. empty, picture({ -2 ^ 54 }))
    assert.equal('[{"quantize":[[36028797018963968,72057594037927936,1]]}]\n',
      (aggregate("quantize"):add_value({}, 2 ^ 55):render("json")))
  end)

  it("is refused where it makes no buckets", function()
    for _, text in ipairs({ "lquantize(10, 10)", "lquantize(0, 10, 0)", "lquantize(0.5, 10)", "lquantize(0, 1e6)",
      "lquantize(0, 1000000)" }) do
      local agg, message, errname = kstat.aggregate(text)
      assert.is_nil(agg, text)
      assert.equal("EINVAL", errname)
      assert.truthy(message:find("quantize", 1, true), message)
    end
  end)
end)

describe("an aggregation", function()
  local path, ks

  setup(function() path = capture() end)
  teardown(function() os.remove(path) end)
  before_each(function() ks = assert(kstat.open(path)) end)
  after_each(function() ks:close() end)

  it("adds what kstats have in common", function()
    local agg = aggregate("sum(*), count(*), count by (module)")
    local same, n = agg:add(ks:sample())
    assert.equal(agg, same)
    assert.equal(7, n)
    assert.same({ "link", "sd", "vd" }, keys_of(agg))
    assert.same({ 330, 4, 2 }, { agg:get("sd") })
    assert.same({ 7.5, 2, 1 }, { agg:get("link") })
    assert.is_nil(agg:get("nosuch"))
    assert.equal(3, agg:size())
  end)

  it("takes chains, samples and differences", function()
    assert.equal(330, aggregate("sum by (module)"):add(ks):get("sd"))
    local before = ks:sample()
    ks:update()
    local now = ks:sample()
    assert.equal(330, aggregate("sum by (module)"):add(now - before):get("sd"))
    assert.equal(3000, aggregate("sum by (module)"):add(now - before):get("vd"))
    assert.equal(4000, aggregate("sum by (module)"):add(now:since_creation()):get("vd"))
    -- a gauge stays what it is
    assert.equal(7.5, aggregate("sum by (module)"):add(now - before):get("link"))
  end)

  it("takes rates and expressions", function()
    local before = ks:sample()
    ks:update()
    local d = ks:sample() - before
    assert.equal(33, aggregate("sum(rate(*)) by (module)"):add(d):get("sd"))
    assert.equal(33, aggregate({ reduce = "sum(rate(*))", by = "module" }):add(d):get("sd"))
    assert.equal(300, aggregate("max(rate(nread)) by (class)"):add(d):get("disk"))
    assert.equal(10 + 20, aggregate("sum(delta(nread)/10 - 1 + 1) by (module)"):add(d):get("sd"))
    -- what lacks a part is left out
    assert.same({ "rate(nread):sd", "rate(nread):vd" },
      keys_of(aggregate("sum(rate(nread)) by (statistic, module)"):add(d)))
    -- of a sample: since creation
    assert.equal(30, aggregate("sum(rate(nread)) by (module)"):add(ks:sample()):get("sd"))
    assert.equal(30, aggregate("sum(rate(nread)) by (module)"):add(ks):get("sd"))
  end)

  it("has every kind of key, in the order given", function()
    assert.same({ "arrived:link", "busy:link", "nread:sd", "nread:vd", "nwritten:sd" },
      keys_of(aggregate("sum by (statistic, module)"):add(ks)))
    local agg = aggregate("sum by (statistic, name, instance, class)"):add(ks, "vd")
    for key, value in agg:each() do
      assert.same({ "nread", "vd10", 10, "disk" }, { key[1], key[2], key[3], key[4] })
      assert.equal("nread:vd10:10:disk", tostring(key))
      assert.equal(1000, value)
    end
    assert.equal(1000, agg:get("nread", "vd10", 10, "disk"))
  end)

  it("sorts instances as numbers", function()
    local agg = aggregate("sum by (instance)")
    for _, n in ipairs({ 10, 9, 100, 1 }) do
      agg:add_value({ n }, 1)
    end
    assert.same({ "1", "9", "10", "100" }, keys_of(agg))
  end)

  it("sorts texts without case, and numbers before them", function()
    local agg = aggregate("sum by (name)")
    for _, key in ipairs({ "b", "C", "A", "a", "10", 9 }) do
      agg:add_value({ key }, 1)
    end
    assert.same({ "9", "10", "A", "a", "b", "C" }, keys_of(agg))
  end)

  it("groups by what a regular expression captures", function()
    local agg = aggregate("sum by ($1, $what)"):add(ks, "/^(.)d$/:::/^n(?<what>read|written)$/")
    assert.same({ "s:read", "s:written", "v:read" }, keys_of(agg))
    assert.same({ 300, 30 }, { agg:get("s", "read"), (agg:get("s", "written")) })
    assert.same({ "$1", "what" }, { agg:rows() and agg.columns[1].title, agg.columns[2].title })
    -- a group that takes no part
    assert.same({ "read" }, keys_of(aggregate("sum by ($1)"):add(ks, ":::/^n(?:(read)|written)$/")))
    -- several selectors: the first that has it
    assert.same({ "eth", "sd" }, keys_of(aggregate("sum by ($1)"):add(ks, "link::/^(eth)/", "sd::/^(..)/")))
  end)

  it("tells that no selector captures", function()
    for _, text in ipairs({ "sum by ($1)", "sum by ($x)", "sum by ($0)" }) do
      local agg, message, errname = aggregate(text):add(ks, "sd")
      assert.is_nil(agg)
      assert.equal("EINVAL", errname)
      assert.truthy(message:find("no selector has the capture group '$", 1, true))
    end
    assert.is_nil((aggregate("sum by ($2)"):add(ks, "/^(s)/")))
  end)

  it("groups by functions", function()
    local agg = aggregate({
      reduce = { "sum", "max" },
      by = { { "size", function(k, statistic, value)
        return k.class == "disk" and statistic == "nread" and (value > 150 and "large" or "small") or nil
      end }, "module" },
    }):add(ks)
    assert.same({ "large:sd", "large:vd", "small:sd" }, keys_of(agg))
    assert.same({ 200, 200 }, { agg:get("large", "sd") })
    assert.same({ "sd" }, keys_of(aggregate({ reduce = "sum", by = function(k) return k.module end }):add(ks, "sd")))
  end)

  it("without keys has one result", function()
    local agg = aggregate("sum"):add(ks, "sd")
    assert.equal(330, agg:get())
    assert.same({ "" }, keys_of(agg))
    assert.equal("sum\n330\n", agg:text())
    assert.equal("sum\t330\n", (agg:render("parseable")))
  end)

  it("goes on over time, and starts again", function()
    local agg = aggregate("sum, max, first, last, count(*) by (name)")
    agg:add(ks, "sd:::nread")
    ks:update()
    agg:add(ks, "sd:::nread")
    assert.same({ 300, 200, 100, 200, 2 }, { agg:get("sd0") })
    assert.equal(agg, agg:clear())
    assert.equal(0, agg:size())
    agg:add(ks, "sd:::nread")
    assert.same({ 200, 200, 200, 200, 1 }, { agg:get("sd0") })
  end)

  it("of nothing is empty", function()
    for _, text in ipairs({ "sum, avg, p99, quantize by (module)", "sum", "quantize", "top 5 by (name)" }) do
      local agg = aggregate(text)
      local _, n = agg:add(ks, "nosuch")
      assert.equal(0, n)
      assert.equal(0, agg:size())
      assert.equal("", agg:text())
      assert.equal("", (agg:render("parseable")))
      assert.equal("[]\n", (agg:render("json")))
      assert.same({}, agg:rows())
      agg:merge(aggregate(text))
      assert.equal("", agg:trunc(3):text())
    end
  end)

  it("counts 0 of nothing, where there are no keys, and has no sum of it", function()
    local agg = aggregate("count(nosuch), sum(nosuch)"):add(ks, "nosuch:::")
    assert.same({ 0, nil }, { agg:get() })
    assert.same({}, keys_of(aggregate("count(nosuch) by (module)"):add(ks, "nosuch:::")))
    assert.same({}, aggregate("sum(nosuch)"):add(ks, "nosuch:::"):rows())
  end)

  it("does not count NaN, infinities and text", function()
    local agg = aggregate("sum, count by (module)")
    agg:add_value({ "a" }, 0 / 0):add_value({ "a" }, math.huge):add_value({ "b" }, -math.huge)
    assert.equal(0, agg:size())
    agg:add_value({ "a" }, 1)
    assert.same({ 1, 1 }, { agg:get("a") })
    assert.equal(0, select(2, aggregate("sum"):add(ks, ":::state")))
  end)

  it("does not count class, crtime and snaptime, whoever asks", function()
    assert.equal(0, select(2, aggregate("sum"):add(ks, ":::/^(class|crtime|snaptime)$/")))
  end)

  it("takes values at times that are numbers, and where nothing waits for the end of a tick", function()
    local agg = aggregate("avg(x, 1h) by (name)"):add_value({ "a" }, 1, 10):add_value({ "a" }, 3, 20)
    assert.equal(2, agg:get("a"))
    local wrong = { [5] = "a time that does not fall", x = "seconds expected, got string",
      [math.huge] = "seconds expected, got inf" }
    for time, line in pairs(wrong) do
      assert.error_matches(function() agg:add_value({ "a" }, 1, time) end, "'add_value' %(" .. line)
    end
    for _, text in ipairs({ "max(sum(x) by (name))", "sum(x) by (hour)", "sum(x) ago 1m" }) do
      assert.error_matches(function() aggregate(text):add_value({}, 1) end, "^add_value: .* take samples: agg:add%(%)$")
    end
  end)

  it("takes uint64 numbers beyond integers as what they are", function()
    local file = os.tmpname()
    finally(function() os.remove(file) end)
    local f = assert(io.open(file, "w"))
    f:write('[{"module":"m","instance":0,"name":"n","class":"c","type":1,"snaptime":1,' ..
      '"data":{"crtime":0,"snaptime":1,"v":18446744073709551615,"w":1}}]')
    f:close()
    local agg = aggregate("sum, max"):add((kstat.open(file)))
    assert.same({ 2 ^ 64, 2 ^ 64 }, { agg:get() })
  end)

  it("keeps the top", function()
    local agg = aggregate("top 2 by (name)"):add(ks, ":::nread")
    assert.same({ "vd10", "sd1" }, keys_of(agg))
    assert.equal(3, agg:size())
    assert.equal(100, agg:get("sd0"))
    assert.same({ "vd10" }, keys_of(aggregate("top 1 max, sum by (name)"):add(ks, ":::nread")))
  end)

  it("sorts by any column", function()
    local agg = aggregate("sum, count by (module)"):add(ks)
    assert.same({ "vd", "sd", "link" }, keys_of(agg:sort("sum")))
    assert.same({ "link", "sd", "vd" }, keys_of(agg:sort("-sum")))
    assert.same({ "sd", "link", "vd" }, keys_of(agg:sort("count")))
    assert.same({ "vd", "sd", "link" }, keys_of(agg:sort("-module")))
    assert.same({ "link", "vd", "sd" }, keys_of(agg:sort(function(a, b) return a.key[1]:len() > b.key[1]:len() or
      a.key[1]:len() == b.key[1]:len() and a.values[1] > b.values[1] end)))
    assert.same({ "link", "sd", "vd" }, keys_of(agg:sort()))
    assert.has_error(function() agg:sort("nosuch") end, "bad argument #1 to 'sort' (there is no 'nosuch')")
  end)

  it("gives the values of several keys as if they were one", function()
    local agg = aggregate("sum, max, median by (module)")
    for i, module in ipairs({ "a", "b", "b", "c" }) do
      agg:add_value({ module }, i)
    end
    local rows = agg:rows()
    assert.same({ 9, 4, 3 }, agg:together({ rows[2], rows[3] }))
    assert.same({ 10, 4, 2.5 }, agg:together(rows))
    assert.same({ 5, 3, 2.5 }, { agg:get("b") })
  end)

  it("has a row of what top cuts off", function()
    for _, definition in ipairs({ "top 2 and rest sum, p50 by (module, name)",
      { reduce = { "sum", "p50" }, by = { "module", "name" }, top = 2, rest = "rest" } }) do
      local agg = aggregate(definition)
      for i, module in ipairs({ "a", "b", "c", "d" }) do
        agg:add_value({ module, "x" }, i)
      end
      assert.same({ "d:x", "c:x", "rest:" }, keys_of(agg))
      assert.same({ 3, 1.5 }, agg:rows()[3].values)
    end
    assert.same({ "a" }, keys_of(aggregate("top 2 and rest sum by (module)"):add_value({ "a" }, 1)))
    assert.matches("'rest' expected at character 11", select(2, kstat.aggregate("top 2 and sum")))
  end)

  it("truncates to the largest, or the smallest", function()
    assert.same({ "sd", "vd" }, keys_of(aggregate("sum by (module)"):add(ks):trunc(2)))
    assert.same({ "link" }, keys_of(aggregate("sum by (module)"):add(ks):trunc(-1)))
    assert.same({}, keys_of(aggregate("sum by (module)"):add(ks):trunc(0)))
    local agg = aggregate("sum by (statistic, module)"):add(ks):trunc(1)
    assert.same({ "nread:vd" }, keys_of(agg))
    agg:add(ks)
    assert.equal(2000, agg:get("nread", "vd"))
    assert.equal(1, aggregate("sum"):add(ks):trunc(5):size())
  end)
end)

describe("merging", function()
  local all = "sum, count(*), avg, min, max, stddev, first, last, p50, p99, quantize by (module)"

  -- The same numbers in each run.
  local function values(n)
    local seed, list = 1, {}
    for i = 1, n do
      seed = (seed * 16807) % 2147483647
      list[i] = { ({ "a", "b", "c" })[seed % 3 + 1], seed % 100000 / 8, seed % 97 }
    end
    return list
  end

  local function check(n)
    local one, two, whole = aggregate(all), aggregate(all), aggregate(all)
    for i, v in ipairs(values(n)) do
      (i % 3 == 0 and one or two):add_value({ v[1] }, v[2], v[3] + i / 1e6)
      whole:add_value({ v[1] }, v[2], v[3] + i / 1e6)
    end
    local before = two:render("json")
    one:merge(two)
    assert.equal(before, two:render("json"))
    assert.same(keys_of(whole), keys_of(one))
    for _, key in ipairs(keys_of(whole)) do
      local want, got = { whole:get(key) }, { one:get(key) }
      for i = 1, 8 do
        assert.is_true(math.abs(want[i] - got[i]) <= 1e-9 * math.abs(want[i]), key .. " " .. i)
      end
      for i = 9, 10 do
        assert.is_true(math.abs(want[i] - got[i]) <= (n < 100 and 0 or 250), key .. " " .. i)
      end
      assert.equal(tostring(want[11]), tostring(got[11]))
    end
  end

  it("is as if one had seen everything", function()
    check(40)
    check(5000)
  end)

  it("brings percentiles of different scales together", function()
    for _, order in ipairs({ { 1e-6, 1e15 }, { 1e15, 1e-6 } }) do
      local one, two = aggregate("p25, p75, p100"), aggregate("p25, p75, p100")
      for i = 1, 200 do
        one:add_value({}, i * order[1])
        two:add_value({}, i * order[2])
      end
      local low, high, most = one:merge(two):get()
      assert.is_true(low < 1, tostring(low))
      assert.is_true(math.abs(high - 100e15) < 5e15, tostring(high))
      assert.equal(200e15, most)
    end
  end)

  it("and adding start well from nothing and from zeros", function()
    local tiny = aggregate("p50, p100")
    for i = 1, 201 do tiny:add_value({}, i * 1e-12) end
    for _, zeros in ipairs({ 0, 1, 100 }) do
      local agg = aggregate("p50, p100")
      for _ = 1, zeros do agg:add_value({}, 0) end
      local median, most = agg:merge(tiny):get()
      assert.equal(201e-12, most)
      assert.is_true(math.abs(median - (101 - zeros / 2) * 1e-12) < 5e-12, zeros .. " " .. median)
      agg:clear()
      for _ = 1, 100 do agg:add_value({}, 0) end
      for i = 1, 301 do agg:add_value({}, i * 1e9) end
      assert.is_true(math.abs(agg:get() - 101e9) < 5e9)
    end
  end)

  it("joins an exact group with a digest", function()
    local one, two = aggregate("p50"), aggregate("p50")
    for i = 1, 10 do one:add_value({}, i) end
    for i = 11, 1001 do two:add_value({}, i) end
    assert.is_true(math.abs(501 - one:merge(two):get()) < 10)
    assert.is_true(math.abs(506 - two:get()) < 10)
  end)

  it("refuses what is of another kind", function()
    for _, other in ipairs({ "sum by (name)", "max by (module)", "sum, max by (module)" }) do
      assert.error_matches(function() aggregate("sum by (module)"):merge(aggregate(other)) end,
        "bad argument #1 to 'merge'")
    end
    assert.error_matches(function() aggregate("p(1)"):merge(aggregate("p(2)")) end, "bad argument")
    assert.error_matches(function() aggregate("lquantize(0,9)"):merge(aggregate("lquantize(0,8)")) end, "bad argument")
    assert.error_matches(function() aggregate("sum"):merge({}) end, "aggregation expected, got table")
    local agg = aggregate("sum")
    assert.error_matches(function() agg:merge(agg) end, "itself")
  end)
end)

describe("the text of an aggregation", function()
  it("is refused with the position of the mistake", function()
    for text, want in pairs({
      [""] = "a reducer %(sum, avg, p99, …%) expected at character 1 of ''",
      ["sum,"] = "a reducer .* expected at character 5",
      ["summ"] = "there is no reducer 'summ'; did you mean 'sum'%?, at character 1",
      ["sum, p101"] = "there is no reducer 'p101' .* at character 6",
      ["sum by"] = "'%(' expected at character 7",
      ["sum by ("] = "a key .* expected at character 9",
      ["sum by (module"] = "',' or '%)' expected at character 15",
      ["sum by (module, time(7))"] = "time%(%) takes whole seconds that a day is a multiple of, at character 17",
      ["sum by (module) where"] = "an expression expected at character 22",
      ["sum by (module) where rate("] = "a number, a name or '%(' expected at character 28",
      ["sum by (module), max by (name)"] = "expected at character 16",
      ["sum x"] = "expected at character 5",
      ["top"] = "a number expected at character 4",
      ["top 0 by (name)"] = "top takes a whole number above 0, at character 5",
      ["top 2.5 by (name)"] = "top takes a whole number above 0, at character 5",
      ["ewma"] = "ewma takes 1 numbers, not 0, at character 1",
      ["ewma(0)"] = "ewma%(%) takes seconds above 0 and of at most 10 years, at character 1",
      ["sum(1)"] = "sum takes no number; a time has a unit, such as 60s, at character 1",
      ["lquantize(1"] = "'%)' expected at character 12",
      ["lquantize(1,"] = "a number, .* expected at character 13",
      ["sum by (time(60)) having"] = "an expression expected at character 25",
    }) do
      local agg, message, errname = kstat.aggregate(text)
      assert.is_nil(agg, text)
      assert.equal("EINVAL", errname)
      assert.matches(want, message)
    end
  end)

  it("takes blanks anywhere, and clauses in any order", function()
    for _, text in ipairs({ " sum , p99.9 by ( module , $1 ) where rate(nread) / 2 > 1 having sum ( nread )> 3 ",
      "sum,p99.9 having sum(nread)>3 where rate(nread) / 2>1 by(module,$1)" }) do
      assert.equal("sum, p99.9 by (module, $1)", aggregate(text):signature())
    end
  end)

  it("as a table raises where it is wrong", function()
    for _, case in ipairs({
      { 5, "string or table expected, got number" }, { {}, "reducers are missing" },
      { { reduce = {} }, "reducers are missing" }, { { reduce = "summ" }, "there is no reducer 'summ'" },
      { { reduce = "sum by (name)" }, "one reducer expected" },
      { { reduce = { 1 } }, "a reducer expected, got number" },
      { { reduce = "sum", by = "time(" }, "seconds expected at character 6 of 'time('" },
      { { reduce = "sum", by = { 5 } }, "a key is a name, a function" },
      { { reduce = "sum", x = 1 }, "unknown field 'x'" }, { { reduce = "sum", top = 0.5 }, "top is a whole number" },
      { { reduce = "sum", of = "x" }, "of is a function of the kstat; an expression stands in its reducer" },
      { { reduce = "sum", rate = true }, "there is no field 'rate': reduce = 'sum(rate(*))'" },
    }) do
      local ok, message = pcall(function() return (kstat.aggregate(case[1])) end)
      assert.is_false(ok)
      assert.truthy(message:find(case[2], 1, true), message)
      assert.truthy(message:find("aggregate_spec.lua", 1, true), message)
    end
  end)

  it("methods raise on wrong arguments", function()
    local agg = aggregate("sum by (module)")
    for _, case in ipairs({
      { function() agg:add(5) end, "bad argument #1 to 'add'" }, { function() agg:add() end, "got nil" },
      { function() agg:add_value(5, 5) end, "table expected, got number" },
      { function() agg:add_value({ "a" }, "5") end, "number expected, got string" },
      { function() agg:add_value({}, 5) end, "no value for the key 'module'" },
      { function() agg:get() end, "no value for the key 'module'" },
      { function() agg:trunc("a") end, "whole number expected" }, { function() agg:sort(5) end, "got number" },
      { function() agg:render("xml") end, "unknown form 'xml'" },
    }) do
      local ok, message = pcall(case[1])
      assert.is_false(ok)
      assert.truthy(message:find(case[2], 1, true), message)
      assert.truthy(message:find("aggregate_spec.lua", 1, true), message)
    end
    local same, message, errname = agg:add((kstat.open(host)), "/(/")
    assert.is_nil(same)
    assert.is_string(message)
    assert.equal("EINVAL", errname)
  end)
end)

describe("what is read of an aggregation:", function()
  local function disks()
    local agg = aggregate("avg, max by (module, instance)")
    return agg:add_value({ "sd", 0 }, 1.5):add_value({ "sd", 0 }, 2):add_value({ "nvme", 10 }, 1e6)
  end

  it("a table", function()
    assert.equal([[
module  instance      avg      max
nvme    10        1000000  1000000
sd      0           1.750        2
]], disks():text())
  end)

  it("lines, JSON, names", function()
    assert.equal("nvme:10:avg\t1000000\nnvme:10:max\t1000000\nsd:0:avg\t1.75\nsd:0:max\t2\n",
      (disks():render("parseable")))
    assert.equal("sd:0:avg:1.75", disks():render("colons"):match("sd:0:avg[^\n]*"))
    assert.equal("nvme:10:avg\nnvme:10:max\nsd:0:avg\nsd:0:max\n", (disks():render("list")))
    local decoded = cjson.decode((disks():render("json")))
    assert.same({ module = "sd", instance = 0, avg = 1.75, max = 2 }, decoded[2])
    assert.equal(2, select(2, disks():render("json")))
  end)

  it("distributions, as pictures and as arrays", function()
    local agg = aggregate("count, lquantize(0, 10, 5) by (module)"):add_value({ "sd" }, 3):add_value({ "sd" }, 12)
    assert.equal([[
  sd  count 2
               value  ------------- Distribution ------------- count
                 < 0 |                                         0
                   0 |@@@@@@@@@@@@@@@@@@@@                     1
                   5 |                                         0
               >= 10 |@@@@@@@@@@@@@@@@@@@@                     1

]], agg:text())
    assert.equal('[{"module":"sd","count":2,"lquantize":[[0,5,1],[10,null,1]]}]\n', (agg:render("json")))
    assert.equal("sd:count\t2\nsd:lquantize\t[[0,5,1],[10,null,1]]\n", (agg:render("parseable")))
  end)

  it("lines in a format of one's own", function()
    assert.equal("nvme    10    1000000 1000000.0\nsd       0          2 2.0\n",
      disks():format("%-6s %3d %10d %.1f\n"))
  end)

  it("its name", function()
    assert.equal("kstat aggregation: avg, max by (module, instance), 2 keys", tostring(disks()))
  end)
end)

describe("an aggregation's key function", function()
  it("is named where it gives what cannot be a key", function()
    local ks = assert(kstat.open(host))
    for name, by in pairs({ key = function() return {} end, mine = { { "mine", function() return print end } } }) do
      assert.error_matches(function() aggregate({ reduce = "sum", by = by }):add(ks, "unix") end,
        "the function of the key '" .. name .. "' returned a %a+; a string, a number or a boolean expected")
    end
    local agg = aggregate({ reduce = "sum", by = function(_, statistic) return statistic == "ncpus" end })
    agg:add(ks, "unix")
    assert.same({ "false", "true" }, keys_of(agg))
  end)
end)

describe("a reducer of one's own", function()
  local trimmed = { "trimmed", new = function() return {} end,
    add = function(state, value) state[#state + 1] = value end,
    merge = function(state, other)
      for _, value in ipairs(other) do
        state[#state + 1] = value
      end
    end,
    result = function(state)
      table.sort(state)
      local sum = 0
      for i = 2, #state - 1 do
        sum = sum + state[i]
      end
      return #state > 2 and sum / (#state - 2) or nil
    end }
  local most = { "most", new = function() return 0 end, merge = math.max,
    add = function(state, value) return math.max(state, value) end, result = function(state) return state end }

  local function filled(definition, ...)
    local agg = aggregate(definition)
    for _, value in ipairs({ ... }) do
      agg:add_value({ "a" }, value)
    end
    return agg
  end

  it("stands among others, in its place", function()
    local agg = filled({ reduce = { "sum", trimmed, "max", most }, by = "module" }, 100, 2, 4, 0)
    assert.same({ 106, 3, 100, 100 }, { agg:get("a") })
    assert.matches("^module +sum +trimmed +max +most\na ", agg:text())
  end)

  it("merges, if it says how", function()
    local definition = { reduce = { trimmed, most }, by = "module" }
    assert.same({ 3, 100 }, { filled(definition, 100, 2):merge(filled(definition, 4, 0)):get("a") })
    local without = { reduce = { { "n", new = most.new, add = most.add, result = most.result } }, by = "module" }
    assert.error_matches(function() filled(without, 1):merge(filled(without, 2)) end, "'n' has no function merge")
  end)

  it("reduces what an expression or a function gives", function()
    local disks = { class = "disk" }
    local agg = aggregate({ reduce = { "sum(reads + writes)", "sum", most }, by = "module",
      of = function(k) return k.reads + k.writes end })
    assert(agg:add(kstat.open(host):sample(disks), disks))
    assert.same({ 310508899, 310508899, 94581405 }, { agg:get("sd") })
  end)

  it("is checked", function()
    for message, definition in pairs({
      ["reducer 'x': add is a function, got nil"] = { reduce = { { "x", new = print } } },
      ["reducer 'x': unknown field 'nwe'; did you mean 'new'?"] = { reduce = { { "x", nwe = print } } },
      ["reducer 'x': new is a function, got number"] = { reduce = { { "x", new = 1 } } },
      ["a reducer of one's own begins with its name"] = { reduce = { { new = print } } },
      ["of is a function of the kstat"] = { reduce = "sum", of = 5 },
    }) do
      local ok, problem = pcall(kstat.aggregate, definition)
      assert.is_false(ok)
      assert.truthy(problem:find(message, 1, true), problem)
    end
  end)
end)

describe("kstat.format", function()
  it("takes any number for any directive", function()
    for want, arguments in pairs({
      ["4|-4|0"] = { "%d|%i|%d", 3.5, -4.2, 0.3 },
      ["   -|-   |-"] = { "%4d|%-4s|%s", nil, nil, 0 / 0 },
      ["ff|7 |%"] = { "%x|%-2d|%%", 254.6, 7 },
      ["1000000000000000000000"] = { "%d", 1e21 },
      ["3|3.5|abc"] = { "%s|%s|%s", 3.0, 3.5, "abc" },
      ["  abc|ab"] = { "%5s|%.2s", "abc", "abc" },
      ["text"] = { "%d", "text" },
      ["1.50 1.5e+00"] = { "%.2f %.1e", 1.5, 1.5 },
      ["+5 005"] = { "%+d %03d", 5, 5 },
      ["3|5|0x5|4"] = { "%#d|%+x|%#x|%+u", 3, 5, 5, 3.7 },
      [(" "):rep(99) .. "7|x" .. (" "):rep(119)] = { "%100d|%-120s", 7, "x" },
      ["-" .. ("0"):rep(99) .. "7|0x" .. ("0"):rep(98) .. "f"] = { "%0101d|%#0101x", -7, 15 },
      [("0"):rep(98) .. "7|0." .. ("5" .. ("0"):rep(98)) .. "|a"] = { "%.300d|%.300f|%.3c", 7, 0.5, 97 },
    }) do
      assert.equal(want, kstat.format((unpack or table.unpack)(arguments, 1, 5)))
    end
  end)

  it("refuses unknown directives", function()
    assert.error_matches(function() kstat.format("%y", 1) end, "unknown directive '%%y'")
    assert.error_matches(function() kstat.format("%") end, "unknown directive")
    assert.error_matches(function() kstat.format(5) end, "string expected")
  end)
end)
