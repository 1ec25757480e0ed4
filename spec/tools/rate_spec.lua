-- kstat --rate and kstat -a: what the command makes of the kstats of several moments.
local cjson = require("cjson")
local run = require("support.run")

local path

-- Each report of `data` is a table of kstats by name: { crtime, snaptime, statistics }.
local function write(data)
  local out = {}
  for i, kstats in ipairs(data) do
    local list = {}
    for _, k in ipairs(kstats) do
      local stats = { crtime = k[2], snaptime = k[3] }
      for name, value in pairs(k[4]) do
        stats[name] = value
      end
      list[#list + 1] = { module = k.module or "m", instance = 0, name = k[1], class = "c", type = k.type or 1,
        snaptime = k[3], data = stats }
    end
    out[i] = cjson.encode(list) .. "\n"
  end
  run.write_file(path, table.concat(out))
end

local function kstat(...)
  return run.run({ "kstat", "-r", path, ... })
end

-- One line on standard error, which names the program; nothing else.
local function assert_wrong(r, what)
  assert.equal(2, r.status, r.err)
  assert.equal("", r.out)
  assert.truthy(r.err:find("^kstat: [^\n]+\n$"), r.err)
  assert.truthy(r.err:find(what, 1, true), r.err)
end

before_each(function() path = os.tmpname() end)
after_each(function() os.remove(path) end)

describe("kstat --rate", function()
  it("shows counters per second: since creation, then since the report before", function()
    write({ { { "a", 10, 20, { n = 50, g = 0.5, t = "x" } } }, { { "a", 10, 22, { n = 53, g = 0.25, t = "y" } } } })
    local r = kstat("--rate", "-p", "1")
    assert.equal("m:0:a:class\tc\nm:0:a:crtime\t10\nm:0:a:g\t0.5\nm:0:a:n\t5\nm:0:a:snaptime\t20\nm:0:a:t\tx\n\n" ..
      "m:0:a:class\tc\nm:0:a:crtime\t10\nm:0:a:g\t0.25\nm:0:a:n\t1.5\nm:0:a:snaptime\t22\nm:0:a:t\ty\n",
      (r.out:gsub("(%d%d)%.0+\n", "%1\n")))
    assert.equal("", r.err)
    assert.equal(0, r.status)
  end)

  it("once: since creation", function()
    write({ { { "a", 10, 20, { n = 50 } } } })
    assert.equal("m:0:a:n\t5\n", kstat("--rate", "-p", ":::n").out)
  end)

  it("takes a raw structure that became a statsblob as another kstat, and the other way round", function()
    local raw = cjson.decode(run.run({ "kstat", "-j", "-m", "cpu_stat", "-i", "0" }).out)[1]
    local blob = { module = raw.module, instance = 0, name = raw.name, class = raw.class, type = 0, statsblob = 1,
      snaptime = raw.snaptime + 1, data = { crtime = raw.crtime, snaptime = raw.snaptime + 1, x_sum = 5 } }
    local later = cjson.decode(cjson.encode(raw))
    later.snaptime, later.data.snaptime = raw.snaptime + 2, raw.snaptime + 2
    local lines = {}
    for i, k in ipairs({ raw, blob, later, blob }) do
      lines[i] = cjson.encode({ k }) .. "\n"
    end
    run.write_file(path, table.concat(lines))
    local r = kstat("--rate", "-p", "cpu_stat:::/^(x_sum|idle)$/", "1")
    assert.same({ "", 0 }, { r.err, r.status })
    assert.truthy(r.out:match("idle.*x_sum.*idle.*x_sum"))
    r = run.run({ "kstatlua", "-r", path, "-e",
      "return kstat.report({ select = 'cpu_stat:::', columns = { { 'x', 'rate(x_sum)' }, { 'i', 'rate(idle)' } } })",
      "1" })
    assert.equal(0, r.status, r.err)
  end)

  it("has all formats", function()
    write({ { { "a", 10, 20, { n = 55 } } } })
    assert.equal("m:0:a:n:5.5\n", kstat("--rate", "-C", ":::n").out)
    assert.equal("m:0:a:n\n", kstat("--rate", "-l", ":::n").out)
    assert.equal("", kstat("--rate", "-q", ":::n").out)
    assert.equal(0, kstat("--rate", "-q", ":::n").status)
    assert.equal("module: m                               instance: 0     \n" ..
      "name:   a                               class:    c\n\tn                               5.5\n\n",
      kstat("--rate", ":::n").out)
    local decoded = cjson.decode(kstat("--rate", "-j").out)
    assert.equal(5.5, decoded[1].data.n)
    assert.equal(20, decoded[1].snaptime)
    assert.is_nil(decoded[1].data.class)
  end)

  it("counts a kstat that was created anew from its creation, a counter that fell as 0", function()
    write({ { { "a", 10, 20, { n = 500 } }, { "b", 10, 20, { n = 500 } } },
      { { "a", 21, 25, { n = 8 } }, { "b", 10, 25, { n = 10 } } } })
    local r = kstat("--rate", "-p", ":::n", "1")
    assert.equal("m:0:a:n\t50\nm:0:b:n\t50\n\nm:0:a:n\t2\nm:0:b:n\t0\n", r.out)
  end)

  it("leaves out what the earlier report could not show, unless it is new", function()
    write({ { { "a", 10, 20, { n = 1 } } },
      { { "a", 10, 22, { n = 3 } }, { "old", 5, 22, { n = 100 } }, { "new", 21, 22, { n = 100 } } } })
    assert.equal("m:0:a:n\t0.1\n\nm:0:a:n\t1\nm:0:new:n\t100\n", kstat("--rate", "-p", ":::n", "1").out)
  end)

  it("shows 0 where no time went by and nothing happened", function()
    write({ { { "a", 10, 20, { n = 1 } } }, { { "a", 10, 20, { n = 1 } } } })
    assert.equal("m:0:a:n\t0.1\n\nm:0:a:n\t0\n", kstat("--rate", "-p", ":::n", "1", "2").out)
  end)

  it("gives times in seconds per second", function()
    local zero = { nread = 0, nwritten = 0, reads = 0, writes = 0, wtime = 0, wlentime = 0, wlastupdate = 0,
      rtime = 0, rlentime = 0, rlastupdate = 0, wcnt = 0, rcnt = 0 }
    local busy = {}
    for name, value in pairs(zero) do
      busy[name] = value
    end
    busy.rtime, busy.reads, busy.rcnt = 1000000000, 20, 3
    write({ { { "a", 10, 20, zero, type = 3 } }, { { "a", 10, 24, busy, type = 3 } } })
    assert.equal("m:0:a:rcnt\t0\nm:0:a:reads\t0\nm:0:a:rtime\t0\n\nm:0:a:rcnt\t3\nm:0:a:reads\t5\nm:0:a:rtime\t0.25\n",
      kstat("--rate", "-p", ":::/^(rcnt|reads|rtime)$/", "1").out)
  end)

  it("prints what the first operand selects first", function()
    write({ { { "a", 10, 20, { n = 10 } }, { "b", 10, 20, { n = 20 } } } })
    assert.equal("m:0:b:n\t2\nm:0:a:n\t1\nm:0:b:n\t2\n", kstat("--rate", "-p", "::b:n", ":::n").out)
  end)

  it("says with its status whether anything matched", function()
    write({ { { "a", 10, 20, { n = 10 } } } })
    local r = kstat("--rate", "-p", "nosuch")
    assert.same({ 1, "", "" }, { r.status, r.out, r.err })
    assert.equal("[]\n", kstat("--rate", "-j", "nosuch").out)
  end)

  it("refuses what does not go with it", function()
    write({ { { "a", 10, 20, { n = 10 } } } })
    assert_wrong(kstat("--rate", "-d"), "-d and --rate cannot be used together")
    assert_wrong(kstat("--rates"), "unknown option '--rates'")
  end)

  it("runs on this machine", function()
    local r = run.run({ "kstat", "--rate", "-p", "unix:0:system_misc:lbolt", "1", "2" })
    local first, second = r.out:match("^unix:0:system_misc:lbolt\t(%S+)\n\nunix:0:system_misc:lbolt\t(%S+)\n$")
    assert.is_true(math.abs(tonumber(first) - 100) < 10, r.out)
    assert.is_true(math.abs(tonumber(second) - 100) < 10, r.out)
  end)
end)

describe("kstat -a", function()
  before_each(function()
    write({
      { { "a", 10, 20, { n = 10, k = 100 }, module = "sd" }, { "b", 10, 20, { n = 30 }, module = "sd" },
        { "c", 10, 20, { n = 5 }, module = "vd" } },
      { { "a", 10, 22, { n = 14, k = 100 }, module = "sd" }, { "b", 10, 22, { n = 30 }, module = "sd" },
        { "c", 10, 22, { n = 105 }, module = "vd" } },
    })
  end)

  it("prints a table, lines, names or JSON", function()
    assert.equal("module  sum  count(*)\nsd      140         3\nvd        5         1\n",
      kstat("-a", "sum, count(*) by (module)").out)
    assert.equal("sd:sum\t140\nvd:sum\t5\n", kstat("-p", "-a", "sum by (module)").out)
    assert.equal("sd:sum:140\nvd:sum:5\n", kstat("-Ca", "sum by (module)").out)
    assert.equal("sd:sum\nvd:sum\n", kstat("-la", "sum by (module)").out)
    for _, options in ipairs({ "-j", "-jp" }) do
      assert.same({ { module = "sd", sum = 140 }, { module = "vd", sum = 5 } },
        cjson.decode(kstat(options, "-a", "sum by (module)").out))
    end
    local r = kstat("-q", "-a", "sum by (module)")
    assert.same({ 0, "", "" }, { r.status, r.out, r.err })
  end)

  it("takes operands as ever", function()
    assert.equal("sd:sum\t40\n", kstat("-pa", "sum by (module)", "sd:::n").out)
    assert.equal("sd:sum\t40\n", kstat("-pa", "sum by (module)", "-m", "sd", "-s", "n").out)
    assert.equal("n:sum\t45\n", kstat("-pa", "sum by ($1)", ":::/^(n)/").out)
  end)

  it("starts again at each report", function()
    assert.equal("sum\t40\n\nsum\t44\n", kstat("-pa", "sum", "sd:::n", "1").out)
  end)

  it("has rates between the reports", function()
    assert.equal("a:sum(rate(n))\t1\nc:sum(rate(n))\t0.5\n\na:sum(rate(n))\t2\nc:sum(rate(n))\t50\n",
      kstat("-pa", "sum(rate(n)) by (name)", "::/[ac]/", "1").out)
    assert.equal("a:sum\t11\n\na:sum\t2\n", kstat("--rate", "-pa", "sum by (name)", "::a", "1").out)
    assert.equal("a:sum(rate(*))\t11\n\na:sum(rate(*))\t2\n", kstat("-pa", "sum(rate(*)) by (name)", "::a", "1").out)
  end)

  it("may be given more than once", function()
    assert.equal("module  sum\nsd      140\nvd        5\nname  sum\na     110\nb      30\n",
      kstat("-a", "sum by (module)", "-a", "top 2 by (name)").out)
  end)

  it("shows the time before each report", function()
    assert.matches("^%d+\nsum\t40\n\n%d+\nsum\t44\n$", kstat("-T", "u", "-pa", "sum", "sd:::n", "1").out)
  end)

  it("draws distributions", function()
    local r = kstat("-a", "quantize by (module)", "sd:::n")
    assert.truthy(r.out:find("  sd\n               value  %-+ Distribution %-+ count\n"), r.out)
    assert.truthy(r.out:find("                  16 |@@@@@@@@@@@@@@@@@@@@                     1\n", 1, true), r.out)
  end)

  it("says with its status whether anything matched", function()
    local r = kstat("-a", "sum by (module)", "nosuch")
    assert.same({ 1, "", "" }, { r.status, r.out, r.err })
    assert.equal(1, kstat("-a", "sum by (module)", "sd:::crtime").status)
  end)

  it("points at what is wrong", function()
    assert_wrong(kstat("-a", "sum by (time(7))"), "time() takes whole seconds")
    assert_wrong(kstat("-a", "sum by (time(7))"), "character 9 of 'sum by (time(7))'")
    assert_wrong(kstat("-a", "sum", "-a", ""), "character 1")
    assert_wrong(kstat("-a", "sum by ($1)", "sd"), "no selector has the capture group '$1'")
    assert_wrong(kstat("-d", "-a", "sum"), "-d and -a cannot be used together")
    assert_wrong(kstat("-a"), "-a needs an argument")
  end)

  it("runs on this machine", function()
    local r = run.run({ "kstat", "-a", "count by (module, class)", "-a", "quantize(rate(cpu_nsec_user))", "1", "2" })
    assert.equal(0, r.status)
    assert.equal("", r.err)
    assert.equal(2, select(2, r.out:gsub("module +class +count\n", "")))
    assert.equal(2, select(2, r.out:gsub("Distribution", "")))
  end)
end)
