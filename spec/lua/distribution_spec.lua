-- What a histogram counted, as a value: k:distribution() of kstats and of the VOIs of statsblobs.
local kstat = require("kstat")
local stats = require("kstat.stats")
local capture = require("spec.support.capture")

describe("a distribution", function()
  local pub, ks

  setup(function()
    pub = assert(kstat.publish("distributions"))
  end)
  before_each(function()
    ks = assert(kstat.open())
  end)
  after_each(function()
    ks:close()
    capture.clean()
  end)
  teardown(function()
    pub:close()
  end)

  local n = 0

  -- A new published histogram that counts values, and a function that reads it.
  local function counting(spec)
    n = n + 1
    spec.name, spec.type, spec.range_min = "h" .. n, spec.type or "log10_lin", spec.range_min or 3
    spec.range_max, spec.stepping = spec.range_max or 9, spec.stepping or 1000
    local h = pub:histogram(spec)
    return h, function()
      ks:update()
      return assert(ks:lookup("distributions", 0, spec.name):read():distribution())
    end
  end

  local function add(h, values)
    for _, v in ipairs(values) do
      h:add_value(v)
    end
  end

  it("says what was counted, and which values lie where", function()
    local h, read = counting({ type = "linear", range_min = 10, range_max = 30, stepping = 10, meta = "bytes" })
    local empty = read()
    assert.same({ 0, 0 }, { empty.count, select("#", empty:quantile(0.5)) - 1 })
    assert.is_nil(empty.min)
    assert.is_nil(empty.mean)
    add(h, { 12, 14, 18, 19, 25 })
    local d = read()
    assert.same({ 5, "bytes", false, "distributions:0:h" .. n },
      { d.count, d.unit, d.since_creation, d.name })
    assert.same({ { low = 10, high = 19, count = 4 }, { low = 20, high = 29, count = 1 } }, d:buckets())
    assert.equal(0.8, d:share(19))
    assert.equal("distributions:0:h" .. n .. ": 5 values", tostring(d))
    assert.equal("distribution", kstat.type(d))
  end)

  it("is of the interval in a difference", function()
    local h, read = counting({})
    add(h, { 1000000, 1000000, 2000000 })
    local before = ks:update() and read()
    local s1 = ks:sample("distributions:0:h" .. n)
    add(h, { 100000000, 100000000 })
    ks:update()
    local s2 = ks:sample("distributions:0:h" .. n)
    local d = (s2 - s1):lookup("distributions", 0, "h" .. n):distribution()
    assert.equal(2, d.count)
    for _, value in ipairs({ d.mean, (d:quantile(0.01)), (d:quantile(0.99)), d.max }) do
      assert.is_true(math.abs(value / 100000000 - 1) <= 0.01, value)
    end
    assert.is_true(d == read() - before)
    assert.is_true(before + d == read())
    assert.is_false(before == read())
  end)

  it("of one that began anew is what it counted since", function()
    local function latencies(crtime, snaptime, counts)
      return capture.named("latency", crtime, snaptime, ('"buckets":[%s],"type":"linear","range_min":1,'
        .. '"range_max":0,"stepping":10'):format(table.concat(counts, ",")))
    end
    local counts = {}
    for now, prev in kstat.every(1, 3, { select = "*", source = capture.file({ { latencies(1, 2, { 0, 9 }) },
        { latencies(1, 3, { 0, 9, 4 }) }, { latencies(3, 4, { 0, 9, 5 }) } }) }) do
      local d = (prev and now - prev or now):lookup("app", 0, "latency"):distribution()
      counts[#counts + 1] = d.count
      if prev then
        assert.equal(d.count, (now:lookup("app", 0, "latency"):distribution() -
          prev:lookup("app", 0, "latency"):distribution()).count)
      end
    end
    assert.same({ 9, 4, 14 }, counts)
  end)

  it("merges exactly, count by count, exponential ones at the coarser scale", function()
    local function read(range_min, range_max, scale, counts)
      local chain = assert(kstat.open(capture.file({ { capture.named("latency", 1, 2, ('"buckets":[%s],'
        .. '"type":"exponential","range_min":%d,"range_max":%d,"stepping":%d'):format(table.concat(counts, ","),
          range_min, range_max, scale)) } })))
      return assert(chain:lookup("app", 0, "latency"):distribution())
    end
    local fine, coarse = read(3, 12, 1, { 1, 2, 3, 4, 5, 6 }), read(1, 16, 0, { 1, 1, 1, 1, 1, 1 })
    local merged = fine + coarse
    assert.is_true(merged == coarse + fine)
    assert.is_true(merged == read(1, 16, 0, { 2, 1, 1, 3, 8, 12 }))
    assert.is_true(fine + fine == read(3, 12, 1, { 2, 4, 6, 8, 10, 12 }))
    assert.equal(21, fine.count)
  end)

  it("merges neither with another unit nor with other buckets, and says what they are", function()
    local _, a = counting({ meta = "bytes" })
    local _, b = counting({ meta = "t_rel", scale = 1000000000, fract = true })
    local _, c = counting({ type = "linear", meta = "bytes", range_max = 0 })
    local d, message, errname = a():merge(b())
    assert.is_nil(d)
    assert.equal("EINVAL", errname)
    assert.matches("distributions:0:h%d+ is in bytes and distributions:0:h%d+ in ns: .* do not merge", message)
    assert.has_error(function() return a() + b() end)
    assert.matches("different buckets", select(2, a():merge(c())))
    assert.matches("different buckets", select(2, pcall(function() return a() - c() end)))
  end)

  it("does not merge into more values than can be counted", function()
    local most = "9223372036854775807"
    local chain = assert(kstat.open(capture.file({ { capture.named("latency", 1, 2, ('"buckets":[%s,%s],'
      .. '"type":"linear","range_min":1,"range_max":0,"stepping":1'):format(most, most)) } })))
    local half = assert(chain:lookup("app", 0, "latency"):distribution())
    local both, message, errname = half:merge(half)
    assert.same({ nil, "EINVAL" }, { both, errname })
    assert.matches("more values together than can be counted", message)
  end)

  it("answers within the bound of its scale", function()
    for _, scale in ipairs({ 0, 3, 5, 8 }) do
      local h, read = counting({ type = "exponential", range_min = 1, range_max = 10000000, stepping = scale })
      for i = 1, 1000 do
        h:add_value(1000 + i * i)
      end
      local growth, d = 2 ^ (2 ^ -scale), read()
      for rank = 1, 999, 7 do
        local right = 1000 + rank * rank
        assert.is_true(math.abs(d:quantile(rank / 1000) / right - 1) <= (growth - 1) / (growth + 1), rank)
      end
      assert.is_true(math.abs(d:share(1000 + 500 * 500) - 0.5) < growth - 1)
    end
  end)

  describe("of a statsblob", function()
    -- A blob with a VOI for each argument's name.
    local function blob(specs)
      n = n + 1
      local template = assert(stats.template("distributions " .. n))
      for i, spec in ipairs(specs) do
        assert(template:add_voi(i, spec[1], "u64", { stats.sum(), stats.min(), stats.max(), spec[2] }))
      end
      return pub:blob({ name = "b" .. n, template = template })
    end

    it("subtracts where the VOI has a histogram, and says where it does not", function()
      local b = blob({ { "cr", stats.crhist64_lin(0, 1000, 100) }, { "dg", stats.tdgstclust64(100) } })
      local function sample()
        ks:update()
        return ks:sample("distributions:0:b" .. n)
      end
      for v = 1, 100 do
        b:update("cr", v)
        b:update("dg", v)
      end
      local s1 = sample()
      b:update("cr", 850)
      b:update("dg", 850)
      local k = (sample() - s1):lookup("distributions", 0, "b" .. n)
      local cr, dg = assert(k:distribution("cr")), assert(k:distribution("dg"))
      assert.same({ 1, false, { { low = 800, high = 900, count = 1 } } }, { cr.count, cr.since_creation, cr:buckets() })
      assert.is_true(cr:quantile(0.5) >= 800 and cr:quantile(0.5) <= 900)
      assert.same({ 101, true }, { dg.count, dg.since_creation })
      assert.is_true(math.abs(dg:quantile(0.5) - 51) <= 2)
      assert.matches("does not subtract", select(2, pcall(function() return dg - dg end)))
      assert.equal(202, (dg + dg).count)
      assert.matches("no histogram zz", select(2, k:distribution("zz")))
      assert.matches("which VOI", select(2, k:distribution()))
    end)
  end)
end)
