-- Published distributions of times and sizes (pub:latency), as a chain of the same process reads them.
local kstat = require("kstat")
local run = require("support.run")

describe("pub:latency", function()
  local pub, ks
  local made = 0

  setup(function()
    pub = assert(kstat.publish("latency_spec"))
    ks = assert(kstat.open())
  end)

  teardown(function()
    ks:close()
    pub:close()
  end)

  local function latency(spec)
    made = made + 1
    spec = spec or {}
    spec.name = "n" .. made
    return assert(pub:latency(spec))
  end

  local function read(l)
    assert(ks:update() ~= nil)
    return assert(ks:lookup(l.module, l.instance, l.name))
  end

  local function sums(l)
    return { read(l):get("sum", "min", "max", "out_of_range") }
  end

  it("counts values with their sum, least and greatest, and cuts fractions off", function()
    local l = latency({ unit = "us" })
    assert.are.same({ sum = 0, out = 0 }, { sum = sums(l)[1], min = sums(l)[2], max = sums(l)[3], out = sums(l)[4] })
    for _, value in ipairs({ 1500, 20.75, 0, 3 }) do
      assert.is_true(l:add(value))
    end
    assert.are.same({ 1523, 0, 1500, 0 }, sums(l))
    assert.are.equal("histogram", read(l).class)
    assert.are.equal("exponential", (read(l):get("type")))
    assert.are.equal(4, read(l):distribution().count)
  end)

  it("counts what is outside of its range in the end buckets, and how much that is", function()
    local l = latency({ unit = "things", lowest = 100, highest = 1000, scale = 0 })
    for _, value in ipairs({ 0, 64, 65, 1024, 1025, 2 ^ 63, 2 ^ 64 - 2048 }) do
      assert.is_true(l:add(value))
    end
    local k = read(l)
    assert.are.same({ 1, 2, 0, 0, 4 }, k:get("buckets"))
    assert.are.equal(4, (k:get("out_of_range")))
    assert.are.equal("18446744073709549568", k:text("max"))
  end)

  it("refuses negative values and what is no number, and counts how many it refused", function()
    local l = latency()
    l:add(7000)
    for _, value in ipairs({ -1, -0.5, 0 / 0, 1 / 0, -1 / 0, 2 ^ 64 }) do
      local ok, message, errname = l:add(value)
      assert.is_nil(ok)
      assert.matches("^latency_spec:0:n%d+ counts values from 0 to 2^64%-1, not ", message)
      assert.are.equal("EINVAL", errname)
    end
    assert.are.same({ 7000, 7000, 7000, 6 }, sums(l))
    assert.are.equal(1, read(l):distribution().count)
    for _, value in ipairs({ "x", {}, true }) do
      assert.has_error(function() l:add(value) end)
    end
    assert.are.same({ 7000, 7000, 7000, 6 }, sums(l))
  end)

  it("times operations, also those that overlap", function()
    local l = latency()
    local first = l:start()
    local second = l:start()
    assert.is_true(second >= first)
    assert.is_true(l:stop(first))
    assert.is_true(l:stop())
    assert.error_matches(function() l:stop() end, "stop: latency_spec:0:n%d+ was not started")
    assert.are.equal(2, read(l):distribution().count)
    local ok, message, errname = l:stop(first + 1e13)
    assert.is_nil(ok)
    assert.matches("counts values from 0", message)
    assert.are.equal("EINVAL", errname)
    assert.are.equal(1, sums(l)[4])
    local slow = latency({ unit = "s" })
    assert.is_true(slow:stop(slow:start() - 3.5e9))
    assert.are.equal(3, sums(slow)[1])
  end)

  it("times a function, which may return and raise anything", function()
    local l = latency()
    local mistake = {}
    assert.are.same({ n = 3, 7, nil, 8 }, { n = 3, l:time(function(a, b) return a, nil, b end, 7, 8) })
    local ok, raised = pcall(l.time, l, error, mistake)
    assert.is_false(ok)
    assert.is_true(raised == mistake)
    assert.are.equal(2, read(l):distribution().count)
    assert.error_matches(function() l:time("f") end, "time: function expected, got string")
  end)

  it("takes times from 1 us to 1,000 s, and sizes, where no range is given", function()
    for unit, range in pairs({ ns = { 1e3, 1e12 }, us = { 1, 1e9 }, ms = { 1, 1e6 }, s = { 1, 1e3 },
        bytes = { 1, 2 ^ 40 }, rows = { 1, 2 ^ 40 } }) do
      assert.are.same(range, { read(latency({ unit = unit })):get("range_min", "range_max") })
    end
    assert.are.equal("bytes", read(latency({ unit = "bytes" })):distribution().unit)
    assert.are.equal("rows", read(latency({ unit = "rows" })):distribution().unit)
    assert.error_matches(function() latency({ unit = "bytes" }):start() end,
      "start: latency_spec:0:n%d+ counts bytes, no times")
  end)

  it("refuses what it does not know, where the caller wrote it", function()
    for pattern, spec in pairs({ ["latency: unknown field 'sclae'; did you mean 'scale'%?"] = { sclae = 3 },
        ["scale: 0 or more expected"] = { scale = -1 }, ["lowest: 0 or more expected"] = { lowest = -1 },
        ["highest: number has no integer representation"] = { highest = 0.5 } }) do
      assert.error_matches(function() latency(spec) end, pattern)
    end
    local _, where = pcall(function() return { pub:latency({ sclae = 3 }) } end)
    assert.matches("latency_spec.lua:%d+: latency: unknown", where)
    local l, message, errname = pub:latency({ name = "x", scale = 9 })
    assert.is_nil(l)
    assert.are.equal("exponential histogram: the scale is 0 to 8, not 9", message)
    assert.are.equal("EINVAL", errname)
  end)

  it("has labels, which are keys of expressions", function()
    local fast, slow = latency({ labels = { route = "/a", code = 200 } }), latency({ labels = { route = "/b" } })
    fast:add(5000)
    slow:add(7000)
    slow:add(7000)
    assert.are.same({ "/a", "200" }, { read(fast):get("route", "code") })
    assert.are.same({ "/b" }, { read(slow):get("route") })
    assert.are.same({ 14000, 7000, 7000, 0 }, sums(slow))
    local out = run.shell(run.bin .. "/kstat -a 'count(buckets) by (route)' -m latency_spec").out
    assert.matches("/a%s+1\n", out)
    assert.matches("/b%s+2\n", out)
    for problem, labels in pairs({ ["p99: .* a statistic of histograms"] = { p99 = "x" },
        ["class: .* a key or"] = { class = "x" },
        ["a text of at most 255"] = { route = ("x"):rep(256) } }) do
      local l, message, errname = pub:latency({ name = "bad", labels = labels })
      assert.is_nil(l)
      assert.matches(problem, message)
      assert.are.equal("EINVAL", errname)
    end
    assert.error_matches(function() latency({ labels = { route = {} } }) end,
      "labels: route: string expected, got table")
  end)

  it("adds counts that were made elsewhere in one call, or nothing", function()
    local l = latency({ lowest = 1, highest = 1000, scale = 0 })
    assert.is_true(l:add_counts({ 0, 3, 0, 2 }, 9))
    assert.is_true(l:add_counts({ [5] = 10 }))
    assert.are.same({ 9 + 65, 1, 8, 0 }, sums(l))
    assert.are.equal(15, read(l):distribution().count)
    for problem, counts in pairs({ ["has 12 buckets, not 13"] = { [13] = 1 },
        ["counts[2]: 0 or more expected, not -1"] = { 1, -1 }, ["2^63 values and more"] = { 2 ^ 62, 2 ^ 62 },
        ["array of counts expected"] = { 1, x = 1 } }) do
      local ok, message, errname = l:add_counts(counts)
      assert.is_nil(ok)
      assert.truthy(message:find(problem, 1, true), message)
      assert.are.equal("EINVAL", errname)
    end
    assert.error_matches(function() l:add_counts(7) end, "counts: table expected, got number")
    assert.error_matches(function() l:add_counts({ 0, 0.5 }) end,
      "counts%[2%]: number has no integer representation")
    assert.are.same({ 74, 1, 8, 0 }, sums(l))
    local h = assert(pub:histogram({ name = "counted", type = "log2" }))
    assert.is_true(h:add_counts({ 1, 2 }))
    assert.are.same({ 1, 2 }, { read(h):get("buckets")[1], read(h):get("buckets")[2] })
  end)

  it("goes on where one of that name was, and ends with its segment", function()
    local other = assert(kstat.publish("latency_other"))
    assert(other:latency({ name = "kept" })):add(5000)
    local kept = assert(other:latency({ name = "kept" }))
    kept:add(6000)
    assert.are.same({ 11000, 5000, 6000, 0 }, sums(kept))
    local spare = assert(other:latency({ name = "spare", dense = true }))
    spare:add(1000)
    assert.are.same({ 1000, 1000, 1000, 0 }, sums(spare))
    spare:delete()
    assert.error_matches(function() spare:add(1) end, "deleted")
    other:close()
    assert.error_matches(function() kept:add(1) end, "deleted")
  end)

  it("is as exact as its scale says, for values of any shape", function()
    local function gauss()
      return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
    end
    local shapes = {
      uniform = function() return 1000 + math.random() * 1e6 end,
      lognormal = function() return math.exp(12 + 1.5 * gauss()) end,
      humps = function() return math.random() < 0.7 and 5e4 * (1 + 0.05 * gauss()) or 4e6 * (1 + 0.1 * gauss()) end,
      pareto = function() return 1000 / (1 - math.random()) ^ (1 / 1.2) end,
      constant = function() return 123456 end,
    }
    for shape, value in pairs(shapes) do
      local values = {}
      for i = 1, 1000 do
        values[i] = math.floor(value())
      end
      for scale = 0, 8 do
        local l = latency({ scale = scale, lowest = 100, highest = 1e15 })
        for _, v in ipairs(values) do
          l:add(v)
        end
        local d, bound = read(l):distribution(), (2 ^ 2 ^ -scale - 1) / (2 ^ 2 ^ -scale + 1)
        table.sort(values)
        for p = 1, 999 do
          local got, want = d:quantile(p / 1000), values[p]
          if math.abs(got - want) > (bound + 1e-4) * want then -- whole numbers lie beside the bounds of buckets
            error(("%s at scale %d: p%g is %g, not %g"):format(shape, scale, p / 10, got, want))
          end
        end
      end
    end
  end)

  it("is a histogram for kstat.histogram and pub:histogram, too", function()
    local h = assert(pub:histogram({ name = "h", type = "exponential", range_min = 1, range_max = 16 }))
    h:add_value(3)
    h:add_value(17)
    assert.are.same({ 0, 0, 0, 1, 0, 1 }, read(h):get("buckets"))
    assert.are.same({ 20, 3, 17, 1 }, sums(h))
    assert.matches("latency_spec:0:h:out_of_range\t1\n", run.shell(run.bin .. "/kstat -p latency_spec").out)
  end)
end)
