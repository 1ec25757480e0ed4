-- Questions in the words of others, and in forms that went, are answered with the line that was meant.
local kstat = require("kstat")
local run = require("support.run")

-- What was typed, and what is to be typed.
local LINES = {
  ["sum by (name) of rate(x)"] = "sum(rate(x)) by (name)",
  ["sum, max by (name) of x where y > 1"] = "sum(x), max(x) by (name) where y > 1",
  ["top 5 by (name) of rate(nread)"] = "top 5 sum(rate(nread)) by (name)",
  ["top 5 and rest max by (name) of x"] = "top 5 and rest max(x) by (name)",
  ["lquantize(0, 100, 10) by (class) of x"] = "lquantize(x, 0, 100, 10) by (class)",
  ["max by (module, name, statistic) of rate(*)"] = "max(rate(*)) by (module, name, statistic)",
  ["quantize of asvc_t over time"] = "quantize(asvc_t, 1h)",
  ["sum(x) by (name) over time"] = "sum(x, 1h) by (name)",
  ["100 * boot(x) / sum(boot(y))"] = "100 * x / sum(y)",
  ["llquantize(x, 10, 0, 6, 20)"] = "quantize(x)",
  ["sum(increase(x[5m]))"] = "sum(sum(delta(x), 5m))",
  ["delta(x[1h])"] = "x - x ago 1h",
  ["100 * delta(x[1h])"] = "100 * (x - x ago 1h)",
  ["increase(x)"] = "sum(delta(x))",
  ["deriv(x[10m])"] = "trend(x, 10m)",
  ["predict_linear(available[1h], 14400)"] = "available + 14400 * trend(available, 1h)",
  ["max(predict_linear(x[1h], 60) * 8)"] = "max((x + 60 * trend(x, 1h)) * 8)",
  ["changes(x[1h])"] = "changes(x, 1h)",
  ["sum(rate(x[5m] offset 1d))"] = "sum(rate(x, 5m)) ago 1d",
  ["sum by (k) (x offset 1d)"] = "sum(x) ago 1d by (k)",
  ["sum(rate(x)) - sum(rate(x) offset 1w)"] = "sum(rate(x)) - sum(rate(x)) ago 1w",
  ["sum(abs(x offset 1d))"] = "sum(abs(x ago 1d))",
  ["sum(x - x offset 1d)"] = "sum(x - x ago 1d)",
  ["sum(rate(x)) offset 1d"] = "sum(rate(x)) ago 1d",
  ["quantile(0.9, x)"] = "p90(x)",
  ["quantile_over_time(0.99, x[5m])"] = "p99(x, 5m)",
  ["histogram_quantile(0.999, latency)"] = "p99.9(latency)",
  ["sum by (pool) (x)"] = "sum(x) by (pool)",
  ["sum by (pool) (rate(e[1m])) / sum by (pool) (rate(r[1m]))"] =
    "sum(rate(e, 1m)) / sum(rate(r, 1m)) by (pool)",
  ["sum(x) by (pool) / sum(y) by (pool)"] = "sum(x) / sum(y) by (pool)",
  ["topk(5, x)"] = "top 5 x",
  ["topk(3, sum by (name) (rate(nread[5m])))"] = "top 3 sum(rate(nread, 5m)) by (name)",
  ["bottomk(2, max(x))"] = "bottom 2 max(x)",
  ["avg_over_time(x[5m])"] = "avg(x, 5m)",
  ['sum(x) where state = "bad"'] = 'sum(x) where state == "bad"',
  ['sum(x) where name in ("sda", "sdb")'] = 'sum(x) where (name == "sda" or name == "sdb")',
  ["sum(x) where name like 'web%'"] = "sum(x) where name =~ /^web.*$/",
  ["SELECT sum(x) FROM disk GROUP BY name"] = "sum(x) by (name)",
  ["sum(x) group by name, module having count(*) > 5"] = "sum(x) by (name, module) having count > 5",
  ["sum(x) by (name) having count(*) > 5"] = "sum(x) by (name) having count > 5",
  ["sum(x) by (k) > 40"] = "sum(x) by (k) having sum(x) > 40",
  ["sum by (k) (rate(x[5m])) >= 40"] = "sum(rate(x, 5m)) by (k) having sum(rate(x, 5m)) >= 40",
  ['x{a="b"}'] = 'x where a=="b"',
  ['sum(rate(x{a=~"b/c", d!="e"}[5m]))'] = 'sum(rate(x, 5m)) where a=~ /^b\\/c$/ and d!="e"',
  ["sum without (instance) (x)"] = "sum(x) by (module, name)",
  ["sum(x) where y between 1 and 5"] = "sum(x) where (y >= 1 and y <= 5)",
  ["sum(x) by name"] = "sum(x) by (name)",
  ["sum(x) by (name) order by sum(x) desc limit 5"] = "top 5 sum(x) by (name)",
  ["@x = sum(y)"] = "sum(y)",
  ["@latency[name] = quantize(y);"] = "quantize(y) by (name)",
  ["@[name, module] = quantize(y)"] = "quantize(y) by (name, module)",
  ["sum($3)"] = "sum(x)",
  [".[] | .nread * 2"] = "nread * 2",
  ["sum(x) where a <> 1 && b == 2"] = "sum(x) where a != 1 and b == 2",
  ["percentile(x, 99)"] = "p99(x)",
}

describe("a question in words of others", function()
  it("is answered with nothing to type where that would be refused, too", function()
    for _, typed in ipairs({ "idelta(x[1h])", "map(select(.x > 1))", "group_by(.name)" }) do
      local _, message = kstat.aggregate(typed)
      assert.is_nil(message:find("type:", 1, true), message)
    end
  end)

  it("is answered with one line: the position, and what to type, which is right", function()
    local count = 0
    for typed, meant in pairs(LINES) do
      local agg, message, errname = kstat.aggregate(typed)
      assert.same({ nil, "EINVAL" }, { agg, errname }, typed)
      assert.matches(" at character %d+ of '", message, typed)
      assert.equal(meant, message:match("; type: ([^\n]*)$"), message)
      assert.is_nil(message:find("did you mean", 1, true), message)
      assert(kstat.aggregate(meant))
      count = count + 1
    end
    assert.equal(55, count)
  end)

  it("leaves alone what stands in quotes, and says nothing where nothing is meant", function()
    local _, message = kstat.aggregate("sum(x) where name = 'a = b of c'")
    assert.matches("; type: sum%(x%) where name == 'a = b of c'$", message)
    assert.is_nil(select(2, kstat.aggregate("sum(x) where")):find("type", 1, true))
    assert.is_nil(select(2, kstat.aggregate("sum(x) foo")):find("did you mean", 1, true))
  end)

  it("never names a word which stands there already", function()
    for _, text in ipairs({ "sum(x) ago", "sum(x) by", "sum(x) and", "sum(x) or or y", "having sum(x)" }) do
      local _, message = kstat.aggregate(text)
      assert.is_nil(message:find("did you mean", 1, true), message)
    end
  end)

  it("is answered in tables and in a report's where, too", function()
    for meant, given in pairs({ ["sum(delta(x), 5m)"] = { reduce = "increase(x[5m])" },
      ["a == 3"] = { reduce = "sum(x)", having = "a = 3" }, ["name"] = { reduce = "sum(x)", by = ".name" } }) do
      local _, message = pcall(function() return (kstat.aggregate(given)) end)
      assert.equal(meant, message:match("; type: ([^\n]*)$"), message)
    end
    local _, message = pcall(kstat.report, { name = "x", where = "a = 3", columns = { { "x" } } })
    assert.matches("; type: a == 3$", message)
  end)

  it("of any length is answered with a short line", function()
    for _, text in ipairs({ ("x > 1 and "):rep(100000) .. "foo(x)", ("foo"):rep(10000) .. "(x)",
      "sum(x) by (time(7))" .. (" "):rep(50000) }) do
      local _, message = kstat.aggregate(text)
      assert.is_true(#message < 200, message)
    end
  end)

  it("is answered in columns, too", function()
    local r = run.run({ "kstatlua", "-e", 'return kstat.report({ name = "x", about = "x", select = "sd", ' ..
      'columns = { { "d", "deriv(nread[10m])" } } })' })
    assert.matches("; type: trend%(nread, 10m%)", r.err)
  end)

  it("has both kinds of quotes for texts beside == and !=", function()
    local ks = assert(kstat.open("spec/vectors/kstat/host.jsonl"))
    for _, text in ipairs({ "count where class == 'disk'", 'count where class == "disk"' }) do
      assert.truthy(assert(kstat.aggregate(text)):add(ks):get() > 0, text)
    end
    assert.equal(assert(kstat.aggregate("count where class != 'disk'")):add(ks):get(),
      assert(kstat.aggregate('count where class != "disk"')):add(ks):get())
  end)

  it("says what busy is, where nothing has it", function()
    local r = run.run({ "kstat", "-r", "spec/vectors/cookbook/before.rec", "-a", "max(busy)", "-c", "disk" })
    assert.equal("kstat: no selected kstat has 'busy'; did you mean 'b_pct'?\n", r.err)
  end)

  it("alone means the value of the one kstat of a row, else a line asks", function()
    local function asked(...)
      return run.run({ "kstat", "-r", "spec/vectors/cookbook/before.rec", "-a", ... })
    end
    assert.matches("^module +instance +name +nread\n", asked("nread", "-c", "disk").out)
    assert.matches("'nread' is of several kstats here: avg%(nread%)%?", asked("nread by (class)").err)
  end)
end)
