-- The language of columns, kstat -a and kstat.aggregate: what reducers, keys and filters mean together.
local capture = require("support.capture")
local expression = require("kstat.figures.expression")
local kstat = require("kstat")
local run = require("support.run")
local unpack = table.unpack or unpack -- luacheck: globals unpack

local path

-- Workers of two services at two moments, ten seconds apart.
local function worker(i, app, state, t, get, errors)
  return capture.kstat(app, i, "w" .. i, "worker", 1, 1, t, ('"get":%d,"post":0,"errors":%d,"state":"%s","u":%d')
    :format(get, errors, state, 10 * i))
end

setup(function()
  path = capture.file({
    { worker(1, "web", "busy", 11, 100, 10), worker(2, "web", "idle", 11, 100, 0),
      worker(3, "mail", "busy", 11, 0, 0) },
    { worker(1, "web", "busy", 21, 1100, 20), worker(2, "web", "idle", 21, 110, 5),
      worker(3, "mail", "busy", 21, 0, 0) },
  })
end)
teardown(capture.clean)

-- What a question answers of the interval, as lines.
local function answer(question, ...)
  local ks = assert(kstat.open(path))
  local before = ks:sample()
  ks:update()
  local agg = assert(kstat.aggregate(question))
  assert(agg:add(ks:sample() - before, ...))
  ks:close()
  return (agg:render("parseable"):gsub("\t", " "))
end

describe("a question", function()
  it("has arithmetic around reducers: a ratio of sums is no sum of ratios", function()
    assert.equal("mail:sum(rate(errors)) / sum(rate(get + post)) -\nweb:sum(rate(errors)) / sum(rate(get + post)) " ..
      "0.01485148514851485\n", answer("sum(rate(errors)) / sum(rate(get + post)) by (module)"))
    assert.equal("mail:max(u) - min(u) 0\nweb:max(u) - min(u) 10\n", answer("max(u) - min(u) by (module)"))
    assert.equal("100 * (sum(u) + 1) / count(u) 2033.3333333333333\n", answer("100 * (sum(u) + 1) / count(u)"))
  end)

  it("has parts of all, in groups, of single kstats and in columns", function()
    assert.equal("mail:sum(u) / sum(u) over all 0.5\nweb:sum(u) / sum(u) over all 0.5\n",
      answer("sum(u) / sum(u) over all by (module)"))
    assert.equal("mail:3:w3:u / sum(u) over all 0.5\nweb:1:w1:u / sum(u) over all 0.16666666666666666\n" ..
      "web:2:w2:u / sum(u) over all 0.3333333333333333\n", answer("u / sum(u) over all"))
    local text = {}
    kstat.report({ columns = { { "n", "name" }, { "%", "100 * u / sum(u) over all", format = "%.0f" } } })
      :run({ "-r", path, "w[13]" }, function(s) text[#text + 1] = s end)
    assert.equal("n   %\nw3 50\nw1 17\n", table.concat(text))
  end)

  it("says what to type where something outside of reducers is of several kstats", function()
    assert.equal("1:web:u + 0 10\n2:web:u + 0 20\n3:mail:u + 0 30\n", answer("u + 0 by (instance, module)"))
    assert.error_matches(function() answer("u + 0 by (module)") end,
      "'u %+ 0' is of several kstats here: avg%(u %+ 0%)?")
  end)

  it("has no value where nothing was there", function()
    assert.equal("mail:sum(u) / sum(post) -\nweb:sum(u) / sum(post) -\n", answer("sum(u) / sum(post) by (module)"))
    assert.equal("mail:sum(nothing) + sum(u) -\nweb:sum(nothing) + sum(u) -\n",
      answer("sum(nothing) + sum(u) by (module)"))
  end)

  it("has statistics as keys, and leaves out what lacks them", function()
    assert.equal("busy:sum(u) 40\nidle:sum(u) 20\n", answer("sum(u) by (state)"))
    assert.equal("10:web:sum(u) 10\n20:web:sum(u) 20\n30:mail:sum(u) 30\n", answer("sum(u) by (u, module)"))
    assert.equal("", answer("sum(u) by (nothing)"))
    local r = run.run({ "kstat", "-r", path, "-a", "sum(u) by (staet)" })
    assert.same({ 1, "", "kstat: no selected kstat has 'staet'; did you mean 'state'?\n" }, { r.status, r.out, r.err })
    assert.equal("kstat: no selected kstat has 'modul'; did you mean 'module'?\n",
      run.run({ "kstat", "-r", path, "-a", "sum(u) by (modul)" }).err)
  end)

  it("has filters of numbers, texts and regular expressions", function()
    for filter, want in pairs({
      ["rate(get) > 1"] = 10, ["rate(get) >= 1 and rate(errors) < 1"] = 20, ['state == "busy"'] = 40,
      ['not state == "busy"'] = 20, ['state != "busy" or u == 30'] = 50, ["module =~ /^WE/i"] = 30,
      ["u <= 20"] = 30, ["nothing > 1 or u == 10"] = 10, ["name =~ /w[12]/ and not (u / 0 > 1)"] = "-",
    }) do
      assert.equal(("sum(u) %s\n"):format(want), answer("sum(u) where " .. filter), filter)
    end
  end)

  it("has the smallest first with bottom", function()
    assert.equal("w1:sum(u) 10\nw2:sum(u) 20\n", answer("bottom 2 sum(u) by (name)"))
    assert.equal("w3:max(u) 30\n", answer("top 1 max(u) by (name)"))
  end)

  it("takes rates of counters alone for rate(*)", function()
    local r = run.run({ env = run.tree_env("small"), "kstat", "-pa", "count(rate(*)) by (statistic)",
      "::system_misc" })
    assert.truthy(r.out:find("lbolt:count(rate(*))", 1, true), r.out)
    assert.is_nil(r.out:find("nproc", 1, true))
  end)

  it("says so where an expression is a text and its reducer of numbers", function()
    assert.error_matches(function() answer("sum(name) by (module)") end, "sum%(%) is of numbers, and 'name' is a text")
  end)

  it("counts and names texts", function()
    assert.equal("distinct(state) 2\nmode(state) \"busy\"\nmode(u) 10\n",
      answer("distinct(state), mode(state), mode(u)"))
    assert.equal("share(u, 20) 0.6666666666666666\n", answer("share(u, 20)"))
  end)

  it("is told with its position where it is wrong", function()
    for text, want in pairs({
      ["rate(sum(x))"] = "rate() stands inside of reducers, as in sum(rate(x)), at character 1",
      ["sum(x) / smu(y)"] = "there is no function 'smu'; did you mean 'sum'?, at character 10",
      ["round(x, 0)"] = "round() takes a step that is not 0, at character 10",
      ["time(60)"] = "there is no function 'time', at character 1",
      ["x over all"] = "over all follows a reducer, such as sum(x) over all, at character 3",
      ["sum(sum(x) over all)"] = "stands within a reducer",
      ["sum(x) where y =~ /(/"] = "missing closing parenthesis",
      ["sum(x) where y =~ z"] = "a /regular expression/ expected at character 19",
      ['sum(x) where y == "z'] = "a closing quote expected at character 21",
      ["sum(x) where "] = "an expression expected at character 14",
      ["sum(x) where y where z"] = "where is there twice, at character 16",
      ["sum(x), sum(x)"] = "'sum(x)' is there twice",
      ["sum yb (module)"] = "expected at character 5 of 'sum yb (module)'; did you mean 'by'?",
      ["top 3 yb (module)"] = "there is no function 'yb'; did you mean 'by'?, at character 7",
      ["sum by (module) wehre x > 3"] = "; did you mean 'where'?",
      ["bottom 0"] = "takes a whole number above 0, at character 8",
    }) do
      local agg, message = kstat.aggregate(text)
      assert.is_nil(agg, text)
      assert.truthy(message:find(want, 1, true), message)
    end
  end)

  it("is the same as a table", function()
    local table_form = { reduce = { "sum(rate(get))", "max(u)" }, by = { "state", function(k) return k.module end },
      where = "u < 30", bottom = 1 }
    assert.equal("idle:web:sum(rate(get)) 1\nidle:web:max(u) 20\n", answer(table_form))
  end)

  it("merges what is over all", function()
    local ks = assert(kstat.open(path))
    local one = assert(kstat.aggregate("sum(u) / sum(u) over all by (module)")):add(ks, "web")
    local two = assert(kstat.aggregate("sum(u) / sum(u) over all by (module)")):add(ks, "mail")
    assert.equal(1, one:get("web"))
    assert.equal(0.5, one:merge(two):get("web"))
    ks:close()
  end)
end)

describe("a comparison", function()
  local row = { a = 6, zero = 0, text = "word" }

  it("is 1 or 0, and nil where a side is missing that it depends on", function()
    for text, want in pairs({
      ["a > 5"] = 1, ["a <= 5"] = 0, ["a == 6.0"] = 1, ['text == "word"'] = 1, ['text != "word"'] = 0, ["not a"] = 0,
      ["not zero"] = 1, ["a and zero"] = 0, ["a or zero"] = 1, ["text =~ /^w.*d$/"] = 1, ["nothing or a"] = 1,
      ["nothing and zero"] = 0, ["if(a > 5, 1, 2) + 1"] = 2, ["1 + 1 == 2 and 3 > 2"] = 1, ["a =~ /6/"] = 1,
    }) do
      assert.equal(want, assert(expression.compile(text))(row), text)
    end
    for _, text in ipairs({ "nothing > 1", "not nothing", "nothing and a", "nothing or zero", "nothing == nothing",
      "nothing =~ /x/", "text > 1" }) do
      assert.is_nil(assert(expression.compile(text))(row), text)
    end
  end)
end)

describe("a distribution in a question", function()
  local pub, ks, before, now, one

  -- Two workers answer 100 times each, the one in 1 to 100 ms, the other one in 200 ms; then a file of sizes.
  setup(function()
    pub = assert(kstat.publish("asked"))
    local function histogram(name, instance, meta)
      return assert(pub:histogram({ name = name, instance = instance, type = "log10_lin", range_min = 3, range_max = 9,
        stepping = 1000, meta = meta, scale = meta == "t_rel" and 1000000000 or 1, fract = meta == "t_rel" }))
    end
    one = histogram("latency", 1, "t_rel")
    local two = histogram("latency", 2, "t_rel")
    local size = histogram("size", 1, "bytes")
    one:add_value(5000000000) -- before the interval
    ks = assert(kstat.open())
    before = assert(ks:sample("asked"))
    for i = 1, 100 do
      one:add_value(i * 1000000)
      two:add_value(200000000)
      size:add_value(4096)
    end
    ks:update()
    now = assert(ks:sample("asked"))
  end)
  teardown(function()
    ks:close()
    pub:close()
  end)

  local function ask(question, selector)
    local agg = assert(kstat.aggregate(question))
    assert(agg:add(now - before, selector or "asked"))
    return agg
  end

  local function near(want, question, selector)
    local got = ask(question, selector):get()
    assert.is_true(math.abs(want - got) <= 0.011 * want, ("%s: %s"):format(question, got))
  end

  it("is merged, and is of the interval", function()
    near(100e6, "p50(latency)")
    near(200e6, "p99(latency)")
    near(200e6, "p(latency, 99.95)")
    near(125.25e6, "mean(latency)")
    near(200e6, "max(latency)")
    near(1e6, "min(latency)")
    near(25.05e9, "sum(latency)")
    near(200, "count(latency)")
    near(0.5, "share(latency, 0.1s)")
    near(0.25, "share(latency, 50500000)")
    near(99e6, "p99(buckets) where instance == 1", "asked::latency")
    near(99e6, "min(p99(latency) by (instance))")
    near(0.5, "sum(latency) / sum(latency) over all * 0.5")
    assert.same({ 99 }, { math.floor(ask("p99(latency) by (instance)"):get(1) / 1e6 + 0.5) })
  end)

  it("is merged over the intervals of a window", function()
    local agg = ask("count(latency, 1h), max(latency, 1h), count(latency)")
    one:add_value(300000000)
    ks:update()
    local later = assert(ks:sample("asked"))
    local counts = { agg:clear():add(later - now, "asked"):get() }
    assert.same({ 201, 1 }, { counts[1], counts[3] })
    assert.is_true(math.abs(300e6 - counts[2]) < 3.3e6)
  end)

  it("is a value of columns", function()
    for k in (now - before):each("asked:2:latency") do
      assert.is_true(math.abs(200 - expression.compile("p99(latency) / 1000000")({ kstat = k })) < 2.2)
      assert.equal(100, expression.compile("count(buckets)")({ kstat = k }))
      local state = { tick = 1 }
      for _ = 1, 3 do -- of the interval, not of those so far
        state.tick = state.tick + 1
        assert.is_true(math.abs(200e6 - expression.compile("p50(latency)", state)({ kstat = k })) < 2.2e6)
      end
      assert.equal(1, expression.compile("share(latency, 1s)")({ kstat = k }))
    end
  end)

  it("is drawn, also over time", function()
    assert.matches("134217728 |@@@@@@@@@@@@@@@@@@@@ +100\n", ask("quantize(latency)"):text())
    local agg = ask("heat(latency)")
    agg:text()
    assert.truthy(agg:text():gsub("█", "#"):find("134217728 |## ", 1, true))
    assert.matches('{"heat%(latency%)":%[%[524288,1048576,1%],', (agg:render("json")))
  end)

  it("has no layout among the numbers that are reduced", function()
    local keys = {}
    for key in ask("count(*) by (statistic)"):each() do
      keys[key[1]] = true
    end
    assert.is_true(keys.max)
    assert.same({}, { keys.range_min, keys.range_max, keys.stepping })
  end)

  it("has a part up to a time where it is of times", function()
    assert.error_matches(function() ask("share(size, 0.1s)"):get() end, "up to a time, and asked:1:size is in bytes")
    assert.error_matches(function() ask("share(p99, 0.1s)"):get() end, "of numbers it takes a number in their unit")
    near(0.5, "share(p99, 150000000) where name == \"latency\"")
  end)

  it("does not merge with another unit, and is told where it is no number", function()
    for _, question in ipairs({ "sum(latency / 1000)", "sum(-latency)", "count(latency > 5)" }) do
      assert.error_matches(function() ask(question) end, "a distribution is no number: p99%(x%), mean")
    end
    for question, want in pairs({ ["p99(buckets)"] = "asked:1:latency is in ns and asked:1:size in bytes",
      ["stddev(latency)"] = "stddev() is of numbers, and 'latency' is a distribution" }) do
      local agg = assert(kstat.aggregate(question))
      local same, message, errname = agg:add(now - before, "asked")
      assert.same({ nil, "EINVAL" }, { same, errname })
      assert.truthy(message:find(want, 1, true), message)
    end
  end)

  it("does not end a command that also sees distributions of another unit: a line names them once", function()
    local r = run.run({ "kstat", "-a", "count(buckets)", "-m", "asked", "0.01", "3" })
    assert.equal(0, r.status)
    assert.matches("^kstat: %-a: asked:1:latency is in ns and asked:1:size in bytes:[^\n]* left out\n$", r.err)
    assert.equal(3, select(2, r.out:gsub("count%(buckets%)\n +%d+\n", "")))
  end)
end)

describe("a value over time", function()
  local recorded

  -- Two file systems, a sample each ten seconds: `v` is the number of the sample, times ten of the second one, which is
  -- created anew in sample 8; `n` counts v, `avail` falls by 1 a second.
  setup(function()
    local samples = {}
    for s = 1, 12 do
      local t = 100 + 10 * s
      local function fs(i, name, factor)
        return capture.kstat("fs", i, name, "fs", 1, i == 1 and s >= 8 and 175 or 1, t, ('"v":%.1f,"n":%d,"avail":%.1f')
          :format(factor * s, factor * (i == 1 and s >= 8 and s - 7 or s), 500 - 10 * s))
      end
      samples[s] = { fs(0, "a", 1), fs(1, "b", 10) }
    end
    recorded = capture.file(samples)
  end)
  teardown(capture.clean)

  -- What a question answers of each sample, as a list; "-" where there is none.
  local function answers(question, operand)
    local list = {}
    local r = run.run({ "kstat", "-r", recorded, "-pa", question, operand or "fs", "10" })
    assert.equal("", r.err)
    for line in (r.out .. "\n"):gmatch("([^\n]*)\n") do
      local value = line:match("\t(.*)$")
      list[#list + 1] = value and (tonumber(value) or value)
    end
    return list
  end

  it("is of one distribution after the other where a kstat is made anew with other buckets", function()
    local samples, layouts = {}, { { "exponential", 1, 16, 1 }, { "exponential", 1, 16, 0 }, { "linear", 1, 16, 1 } }
    for s = 1, 9 do
      local layout, counts = layouts[math.ceil(s / 3)], { 0, 1, s }
      for i = 4, ({ 9, 6, 17 })[math.ceil(s / 3)] do
        counts[i] = 0
      end
      samples[s] = { capture.named("served", math.ceil(s / 3), 100 + s, ('"buckets":[%s],"type":"%s","range_min":%d,' ..
        '"range_max":%d,"stepping":%d'):format(table.concat(counts, ","), unpack(layout))) }
    end
    local file, list = capture.file(samples), {}
    local r = run.run({ "kstat", "-r", file, "-pa", "count(buckets, 2s) by (name)", "app", "1" })
    assert.same({ "", 0 }, { r.err, r.status })
    for n in r.out:gmatch("\t(%d+)") do
      list[#list + 1] = tonumber(n)
    end
    assert.same({ 0, 1, 2, 5 + 1, 1 + 5, 2, 8, 1 + 8, 2 }, list) -- what is linear merges with nothing before it
  end)

  it("is reduced over the last so many seconds", function()
    assert.same({ 1, 1.5, 2, 2.5, 3, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5 }, answers("avg(v, 60s)", "::a"))
    assert.same({ 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, answers("min(v, 30s)", "::a"))
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, answers("max(v, 30s)", "::a"))
    assert.same({ 1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }, answers("p50(v, 30s)", "::a"))
    assert.same({ 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3 }, answers("count(v, 30s)", "::a"))
    assert.same({ 0, 1 / 4 }, { select(1, unpack(answers("stddev(v, 20s) * stddev(v, 20s)", "::a"), 1, 2)) })
    assert.equal(11 * 11 / 2, answers("avg(v, 20s)")[11] / 1 + 11 * 11 / 2 - 10.5 * 5.5)
  end)

  it("is of a group, of its kstats, and of what reducers gave", function()
    assert.equal((11 + 12 + 110 + 120) / 4, answers("avg(v, 20s)")[12])
    assert.equal(11.5 + 115, answers("sum(avg(v, 20s))")[12])
    assert.equal(11 * 12, answers("max(sum(v), 5m)")[12])
    assert.equal(11 * 9, answers("min(sum(v), 40s) by (module)")[12])
  end)

  it("is a rate, what was, a trend and when it will be", function()
    local rates = answers("rate(n, 30s) by (name)", "::a")
    assert.same({ 0.1, 0.1, 11 }, { rates[1], rates[11], #rates })
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, answers("v ago 30s by (name)", "::a"))
    assert.same({ "-", "-", "-", 11, 22, 33, 44, 55, 66, 77, 88, 99 }, answers("sum(v) ago 30s"))
    local trend, untils = answers("trend(v, 40s) by (name)", "::a"), answers("until(avail, 0, 1m) by (name)", "::a")
    assert.is_true(math.abs(0.1 - trend[11]) < 1e-12)
    assert.is_true(math.abs(380 - untils[11]) < 1e-6)
    assert.same({}, answers("until(v, 0, 1m) by (name)", "::a"))
    assert.is_true(math.abs(8 - answers("until(sum(v), 132 + 8.8, 1m)")[12]) < 1e-6)
  end)

  it("begins anew with a kstat that was created anew", function()
    local averages = answers("avg(v, 60s) / 1 by (name)", "::b")
    assert.same({ 35, 45 }, { averages[6], averages[7] })
    local alone = answers("sum(avg(v, 60s)) by (name)", "::b")
    assert.same({ 45, 80, 85 }, { alone[7], alone[8], alone[9] })
  end)

  it("is in columns, and by periods", function()
    local report = kstat.report({ select = { name = "a" }, columns = { { "n", "name" },
      { "m", "max(v, 20s) - v ago 20s" } } })
    for _ = 1, 2 do -- each run begins anew
      local text = {}
      report:run({ "-r", recorded, "10" }, function(s) text[#text + 1] = s end)
      assert.equal("n m\na -\na -\nn   m\na 2.0\na 2.0\n", table.concat(text):sub(1, 30))
    end
    local r = run.run({ env = { TZ = "UTC", KSTAT_REPLAY_TIME = "1700000040" }, "kstat", "-r", recorded, "-pa",
      "sum(v), count(rate(n)) by (time(60))", "::a", "10" })
    assert.equal("2023-11-14 22:14:sum(v)\t4.5\n2023-11-14 22:14:count(rate(n))\t6\n" ..
      "2023-11-14 22:15:sum(v)\t10\n2023-11-14 22:15:count(rate(n))\t5\n", r.out)
  end)

  it("says once what a function is not defined for, and nothing of a key that has another one", function()
    local r = run.run({ "kstat", "-r", path, "-a", "sum(log(errors)), sum(u, 1w) by (nosuch or app or name)" })
    assert.equal("kstat: -a: log(0) has no value\n", r.err)
    assert.matches("\nw1 +2.303 +10\n", r.out)
  end)

  it("has no more rows than memory for them", function()
    local agg = assert(kstat.aggregate("sum by (name)"))
    for i = 1, 250000 do
      agg:add_value({ i }, 1)
    end
    assert.error_matches(function() agg:add_value({ 0 }, 1) end, "by %(name%) has more than 250000 rows x 1 sample")
  end)

  it("is refused where it would take the memory of the machine, with rows and samples", function()
    local r = run.run({ env = run.tree_env("small"), "kstat", "-a", "avg(nproc, 365d)", "::system_misc", "1", "1" })
    assert.same({ 3, "" }, { r.status, r.out })
    assert.equal("kstat: 'avg(nproc, 365d)': 1 rows of 31536001 samples take 481 MB, more than 256 MB: fewer rows, " ..
      "a shorter time or a longer interval\n", r.err)
  end)

  it("is told with its position where it is wrong", function()
    for text, want in pairs({
      ["rate(sum(x), 5m)"] = "rate() stands inside of reducers, as in sum(rate(x, 5m)), at character 1",
      ["trend(x)"] = "trend() takes an expression and a time, such as trend(x, 30m), at character 1",
      ["until(x, 5m)"] = "until() takes an expression, its goal and a time, such as until(x, 0, 30m)",
      ["1 + x ago 5"] = "a time such as 1d expected at character 11",
      ["avg(x, 0s)"] = "a time above 0 and of at most 10 years expected at character 8",
      ["avg(x, 1e999ms)"] = "a time above 0 and of at most 10 years expected at character 8",
      ["sum(x > 5s)"] = "a time stands in windows, in share() and behind ago",
      ["avg(x, 60)"] = "avg takes no number; a time has a unit, such as 60s",
      ["top 1 and rest avg(x, 60s) by (name)"] = "windows over groups do not tell the rest; sum(avg(x, 60s)) is",
      ["p(x, 99s)"] = "p() takes numbers, no time, behind its expression, at character 1",
      ["sum(x) by (time(60) or name)"] = "stands alone, at character 12",
    }) do
      local agg, message = kstat.aggregate(text)
      assert.is_nil(agg, text)
      assert.truthy(message:find(want, 1, true), message)
    end
    assert.matches("a window is for kstat %-a and the columns", select(2, expression.compile("avg(x, 60s)")))
  end)
end)
