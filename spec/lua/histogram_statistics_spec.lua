-- What a histogram kstat shows beside its buckets: count, sum, min, max, mean and percentiles, of the interval in a
-- difference, wherever it is read.
local kstat = require("kstat")
local stats = require("kstat.stats")
local capture = require("spec.support.capture")
local run = require("support.run")

describe("a histogram kstat", function()
  local pub, ks, path

  setup(function()
    pub = assert(kstat.publish("histogram_statistics"))
  end)
  before_each(function()
    ks = assert(kstat.open())
    path = os.tmpname()
  end)
  after_each(function()
    ks:close()
    os.remove(path)
    capture.clean()
  end)
  teardown(function()
    pub:close()
  end)

  local n = 0

  local function new_histogram(spec)
    n = n + 1
    spec = spec or {}
    spec.name, spec.type, spec.range_min, spec.range_max = "h" .. n, "exponential", 1000, 1000000000000
    spec.stepping, spec.meta, spec.scale, spec.fract = 5, "t_rel", 1000000000, true
    return pub:histogram(spec), spec.name
  end

  local function add(h, value, times)
    for _ = 1, times do
      h:add_value(value)
    end
  end

  -- The service that answered in 1 ms and now takes 100 ms: an interval says 100 and back, whatever went before.
  it("says within one interval how long answers take now, live and replayed", function()
    local h, name = new_histogram()
    local rec = assert(kstat.recording.open(path))
    local live, prev = {}, nil
    for i, value in ipairs({ 1000000, 100000000, 1000000 }) do
      add(h, value, i == 1 and 20000 or 300)
      ks:update()
      local now = ks:sample("histogram_statistics")
      assert(rec:add(ks, "histogram_statistics:0:" .. name))
      local difference = prev and now - prev or now:since_creation()
      live[i] = { difference:lookup("histogram_statistics", 0, name):get("count", "p50", "p99", "min", "max", "mean") }
      prev = now
    end
    rec:close()
    assert.same({ 20000, 300, 300 }, { live[1][1], live[2][1], live[3][1] })
    for statistic = 2, 6 do
      assert.is_true(math.abs(live[2][statistic] / 100000000 - 1) < 0.011, statistic)
      assert.is_true(math.abs(live[3][statistic] / 1000000 - 1) < 0.011, statistic)
    end
    local replayed = {}
    for now, before in kstat.every(1, { source = path }) do
      local difference = before and now - before or now:since_creation()
      replayed[#replayed + 1] = { difference:lookup("histogram_statistics", 0, name)
        :get("count", "p50", "p99", "min", "max", "mean") }
    end
    assert.same(live, replayed)
  end)

  it("has rates of its count and its sum, and none of its percentiles", function()
    local h, name = new_histogram()
    add(h, 1000000, 10)
    ks:update()
    local before = ks:sample("histogram_statistics")
    add(h, 2000000, 20)
    ks:update()
    local k = (ks:sample("histogram_statistics") - before):lookup("histogram_statistics", 0, name)
    assert.is_true(math.abs(k:rate("count") * k.elapsed - 20) < 1e-6)
    assert.is_true(math.abs(k:rate("sum") * k.elapsed - 0.04) < 0.001)
    assert.is_nil(k:rate("p99"))
    local list = {}
    for stat, value in k:stats() do
      list[stat] = value
    end
    assert.equal(20, list.count)
    assert.is_true(math.abs(list.p99 - 2000000) <= 22000)
  end)

  it("without values has a count and a sum, and no percentiles", function()
    local _, name = new_histogram()
    ks:update()
    local k = ks:lookup("histogram_statistics", 0, name)
    assert.same({ 0, 0 }, { k:get("count", "sum") })
    for _, stat in ipairs({ "min", "max", "mean", "p50", "p999" }) do
      assert.is_nil(k:get(stat))
    end
  end)

  it("says what they mean, in the unit of its values", function()
    local _, name = new_histogram({ desc = "time to answer" })
    ks:update()
    local k = ks:lookup("histogram_statistics", 0, name):read()
    assert.same({ "gauge", "ns", "time to answer: 99th percentile" },
      { k:meta("p99").kind, k:meta("p99").unit, k:meta("p99").description })
    assert.same({ "counter", "", "counter", "ns" },
      { k:meta("count").kind, k:meta("count").unit, k:meta("sum").kind, k:meta("sum").unit })
  end)

  it("shows the same to the command, in JSON and from a capture of that", function()
    local h, name = new_histogram()
    add(h, 5000000, 7)
    local operand = "histogram_statistics:0:" .. name
    local printed = run.run({ "kstat", "-p", operand .. ":/^(count|m|p|sum)/" }).out
    assert.matches("count\t7\n", printed)
    assert.matches("p999\t50", printed)
    run.write_file(path, run.run({ "kstat", "-j", operand }).out)
    assert.equal(printed, run.run({ "kstat", "-r", path, "-p", operand .. ":/^(count|m|p|sum)/" }).out)
  end)

  it("of an older capture, with nothing but buckets, estimates sum and extremes from these", function()
    local chain = assert(kstat.open(capture.file({ { capture.named("latency", 1, 2,
      '"buckets":[0,4,0,1],"type":"linear","range_min":10,"range_max":0,"stepping":10') } })))
    local k = chain:lookup("app", 0, "latency")
    assert.same({ 5, 4 * 14.5 + 34.5, 10, 39, 18.5 }, { k:get("count", "sum", "min", "max", "mean") })
    chain:close()
  end)

  it("whose buckets, range or sums do not fit is a line, and left out", function()
    for data, what in pairs({
      ['"buckets":[1,2,3,4],"type":"linear","range_min":0,"range_max":10,"stepping":10'] =
        "left out: a histogram has 4 buckets",
      ['"buckets":[1,2],"type":"linear","range_min":0,"range_max":10,"stepping":3'] = "do not divide",
      ['"buckets":[1,2],"type":"exponential","range_min":1,"range_max":10,"stepping":9'] = "scale is 0 to 8",
      ['"buckets":[1,2],"max":9,"min":0,"sum":5,"type":"log2","range_min":0,"range_max":0,"stepping":0'] = "do not fit",
      ['"buckets":[1,2],"max":1,"min":0,"sum":7,"type":"log2","range_min":0,"range_max":0,"stepping":0'] = "do not fit",
      ['"buckets":[18446744073709551615,2],"type":"log2","range_min":0,"range_max":0,"stepping":0'] = "do not fit",
    }) do
      local r = run.run({ "kstat", "-r", capture.file({ { capture.named("a", 1, 2, data), capture.named("b", 1, 2,
        '"buckets":[1,2],"max":1,"min":0,"sum":2,"type":"log2","range_min":0,"range_max":0,"stepping":0') } }),
        "-p", "app:::p50" })
      assert.equal(3, r.status)
      assert.equal("app:0:b:p50\t1\n", r.out)
      assert.matches("app:0:a is left out: ", r.err, 1, true)
      assert.matches(what, r.err, 1, true)
    end
  end)

  it("is no other kstat that has an array named buckets", function()
    local chain = assert(kstat.open(capture.file({ { capture.named("a", 1, 2,
      '"buckets":[1,2],"count":77,"type":"other","range_min":1,"range_max":2,"stepping":3') } })))
    assert.same({ 77 }, { chain:lookup("app", 0, "a"):get("count") })
    assert.is_nil(chain:lookup("app", 0, "a"):get("p50"))
    chain:close()
  end)

  it("has percentiles of the interval in a statsblob, too, and a digest's are since creation", function()
    local template = assert(stats.template("histogram statistics"))
    assert(template:add_voi(0, "dr", "u64", { stats.drhist64_usr({ { 0, 800 }, { 800, 900 } }) }))
    assert(template:add_voi(2, "dv", "u64", { stats.dvhist64_usr({ 50, 850 }) }))
    assert(template:add_voi(1, "dg", "u64", { stats.tdgstclust64(50) }))
    local b = pub:blob({ name = "blob", template = template })
    local function update(value, times)
      for _ = 1, times do
        b:update("dr", value)
        b:update("dv", value)
        b:update("dg", value)
      end
      ks:update()
      return ks:sample("histogram_statistics:0:blob")
    end
    local s1, s2 = update(50, 1000), update(850, 10)
    local s3 = update(0, 0)
    local k = (s2 - s1):lookup("histogram_statistics", 0, "blob")
    local p50, count, exact, digest = k:get("dr_p50", "dr_count", "dv_p50", "dg_p50")
    assert.same({ 10, 850, 50 }, { count, exact, digest })
    assert.is_true(p50 >= 800 and p50 < 900)
    assert.is_nil((s3 - s2):lookup("histogram_statistics", 0, "blob"):get("dr_p50"))
    assert.matches("since creation", k:meta("dg_p50").description)
    assert.is_nil(k:meta("dr_p50").description:find("since creation"))
  end)
end)
