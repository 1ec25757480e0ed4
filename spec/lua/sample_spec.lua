-- Samples, differences and rates of the Lua module.
local capture = require("support.capture")
local core = require("kstat.core")
local kstat = require("kstat")
local run = require("support.run")

local host = "spec/vectors/kstat/host.jsonl"
local named = capture.named

local function raised(f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  return message
end

-- Samples of everything in each line of a capture.
local function samples(lines)
  local ks = assert(kstat.open(type(lines) == "table" and capture.file(lines) or lines))
  local list = {}
  repeat
    list[#list + 1] = assert(ks:sample())
    ks:update()
  until ks:ended()
  return list, ks
end

describe("a sample", function()
  after_each(capture.clean)

  it("and a difference say what they did not find, as chains do", function()
    local ks = assert(kstat.open("spec/vectors/kstat/host.jsonl"))
    local taken = ks:sample()
    for _, x in ipairs({ ks, taken, taken - taken }) do
      assert.same({ nil, "no kstat no:1:where", "ENOENT" }, { x:lookup("no", 1, "where") })
    end
    ks:close()
  end)

  it("that is whole takes no further kstats", function()
    local ks = assert(kstat.open(host))
    assert.error_matches(function() core.sample_add(ks:sample(), {}) end,
      "bad argument #1 to '.*sample_add' %(the sample is frozen%)")
    ks:close()
  end)

  it("holds each of several kstats of one name once", function()
    local k = named("n", "1", "2", '"v":1')
    local ks = assert(kstat.open(capture.file({ { k, k, k } })))
    local sample
    for s in kstat.every(1, 1, { chain = ks }) do
      sample = s
      for _ = 1, 3 do
        assert.equal(3, #s:select("app"))
      end
    end
    ks:close()
    assert.equal(3, #sample:select("app"))
  end)

  it("holds what the selectors match, all without", function()
    local ks = assert(kstat.open(host))
    assert.equal(#ks:select(), #ks:sample():select())
    local sd = assert(ks:sample("sd::/^sd\\d+$/", { class = "net" }))
    assert.equal(#ks:select("sd::/^sd\\d+$/") + #ks:select({ class = "net" }), #sd:select())
    assert.is_nil(sd.cpu_stat)
    assert.is_nil(sd:lookup("cpu_stat", 0, "cpu_stat0"))
    assert.equal(ks.sd[0].sd0.nread, sd.sd[0].sd0.nread)
    assert.equal("sample", kstat.type(sd))
    assert.matches("^kstat sample %(%d+ kstats%)$", tostring(sd))
  end)

  it("is used as a chain is", function()
    local now = samples(host)[1]
    local ks = assert(kstat.open(host))
    local function list(x, ...)
      local lines = {}
      for k, stat, value in x:values(...) do
        lines[#lines + 1] = { tostring(k), stat, value }
      end
      return lines
    end
    assert.same(list(ks), list(now))
    assert.same(list(ks, "sd:0", "cpu*:::/^intr/"), list(now, "sd:0", "cpu*:::/^intr/"))
    local modules, seen = {}, {}
    for each in ks:each() do -- without kstats that kstat(8) hides
      if not seen[each.module] then
        seen[each.module] = true
        modules[#modules + 1] = each.module
      end
    end
    table.sort(modules)
    assert.same(modules, now:modules())
    local k = now:lookup("sd", nil, "sd1")
    assert.same({ "sd", 1, "sd1", "disk", "io" }, { k.module, k.instance, k.name, k.class, k.type })
    assert.same(ks:lookup("sd", 1, "sd1"):data(), k:data())
    assert.equal("counter", k:meta("nread").kind)
    for each in now:each("sd:0:sd0") do
      assert.equal(now:lookup("sd", 0, "sd0"), each)
    end
    for name, module in kstat.pairs(now) do
      assert.equal(now:module(name), module)
    end
  end)

  it("does not change", function()
    local ks = assert(kstat.open(host))
    local now = assert(ks:sample())
    local k = now:lookup("sd", 0, "sd0")
    ks:update()
    assert.equal(5106542958369, k:get("nread"))
    assert.equal(5106542958369, now.sd[0].sd0.nread)
    assert.not_equal(5106542958369, ks.sd[0].sd0.nread)
    ks:close()
    assert.equal(5106542958369, now:lookup("sd", 0, "sd0"):get("nread"))
    assert.equal(5106542958369, now.sd[0].sd0.nread)
    assert.matches("sample_spec.*does not change", raised(function() local _ = k:read() end))
    assert.matches("sample_spec.*does not change", raised(function() local _ = k:write({ nread = 1 }) end))
    assert.matches("sample_spec.*no field", raised(function() now.sd = nil end))
  end)

  it("carries its times", function()
    local list, ks = samples(host)
    assert.is_true(list[2].time_of_day - list[1].time_of_day > 4.9)
    assert.is_true(math.abs(list[1].time_of_day - ks:time_of_day()) < 60)
    assert.equal(list[1].time_of_day_ns / 1e9, list[1].time_of_day)
  end)

  it("says its time as text", function()
    local now = samples(host)[1]
    assert.equal(os.date("%F %T", math.floor(now.time_of_day + 0.5)), now:date("%F %T"))
    assert.equal(os.date("%c", math.floor(now.time_of_day + 0.5)), now:date())
  end)

  it("says that a rate needs two of them", function()
    local r = run.run({ "kstatlua", "-e", ("require('kstat').open('%s'):rate('sd:::nread')"):format(host) })
    assert.matches("a rate needs the difference of two samples", r.err)
    assert.equal(1, r.status)
  end)

  it("is not subtracted from anything else", function()
    local now = samples(host)[1]
    assert.matches("sample_spec.*no earlier sample", raised(function() return now - nil end))
    assert.matches("sample_spec.*got number", raised(function() return now - 1 end))
    assert.matches("sample_spec.*got number", raised(function() return 1 - now end))
    assert.matches("sample_spec.*got difference", raised(function() return now - (now - now) end))
  end)
end)

describe("a difference", function()
  after_each(capture.clean)

  it("has the differences of counters, the present of everything else", function()
    local list = samples(host)
    local one, two = list[1], list[2]
    local d = two - one
    local leaf = d.sd[0].sd0
    assert.equal(5106556827250 - 5106542958369, leaf.nread)
    assert.equal(15506986 - 15506766, leaf.reads)
    assert.is_true(math.abs((895190175585345 - 895189633825849) / 1e9 - leaf.wtime) < 1e-9)
    assert.equal(1, leaf.wcnt)
    assert.equal(two.sd[0].sd0.wlastupdate, leaf.wlastupdate)
    assert.equal(two.sd[0].sd0.snaptime, leaf.snaptime)
    assert.equal("disk", leaf.class)
    local k = d:lookup("sd", 0, "sd0")
    assert.equal(leaf.nread, k:get("nread"))
    assert.equal("541759496", kstat.tostring(k:ns("wtime")))
    assert.equal("541759496", kstat.tostring(k:exact("wtime")))
    assert.is_true(math.abs(k.elapsed - 5.000002447) < 1e-9)
    assert.equal("5000002447", kstat.tostring(k.elapsed_ns))
    assert.is_false(k.reset)
    assert.equal(one:lookup("sd", 0, "sd0"), k:before())
    assert.equal(two:lookup("sd", 0, "sd0"), k:now())
    assert.is_true(math.abs(d.elapsed - (two.time_of_day - one.time_of_day)) < 1e-6)
    assert.equal("difference", kstat.type(d))
  end)

  it("gives rates per second of the kstat's own snaptimes", function()
    local list = samples({
      { named("a", 1, 10, '"n":100,"x":1.5,"s":"t"'), named("b", 1, 11, '"n":5') },
      { named("a", 1, 14, '"n":180,"x":2.5,"s":"t"'), named("b", 1, 13, '"n":6') },
    })
    local d = list[2] - list[1]
    local a = d:lookup("app", 0, "a")
    assert.equal(20, a:rate("n"))
    assert.equal(0.25, a:rate("x"))
    assert.equal(2.5, a:get("x"))
    assert.is_nil(a:rate("s"))
    assert.is_nil(a:rate("nothing"))
    assert.is_nil(a:rate("snaptime"))
    assert.equal(20, d:rate("app:0:a:n"))
    assert.equal(20.5, d:rate("app:::n"))
    assert.equal(20.5, d:rate({ module = "app", statistic = "n" }))
    assert.is_nil(d:rate("app:::s"))
    assert.is_nil(d:rate("nothing"))
    assert.matches("sample_spec.*/%+/", raised(function() local _ = d:rate("/+/") end))
    assert.matches("sample_spec.*selector expected", raised(function() local _ = d:rate(5) end))
    assert.matches("sample_spec.*string expected", raised(function() local _ = a:rate({}) end))
  end)

  it("gives the values and the rates of several statistics at once, nil for what there is not", function()
    local list = samples({
      { named("a", 1, 10, '"n":100,"m":1,"x":1.5,"s":"t"') },
      { named("a", 1, 14, '"m":9,"n":180,"x":2.5,"s":"t","late":7') },
    })
    local k = (list[2] - list[1]):lookup("app", 0, "a")
    assert.same({ n = 3, 20, nil, 2 }, { n = select("#", k:rate("n", "nothing", "m")), k:rate("n", "nothing", "m") })
    assert.same({ 80, 2.5, nil, nil, "t", "misc" }, { k:get("n", "x", "nothing", "late", "s", "class") })
    assert.same({ 180, 9 }, { k:now():get("n", "m") })
    assert.matches("sample_spec.*bad argument #2 to 'rate'", raised(function() k:rate("n", {}) end))
    assert.matches("difference of two samples expected", raised(function() k:now():rate("n", "m") end))
  end)

  it("of a queue is the part of the time", function()
    local list = samples(host)
    local one, two = list[1], list[2]
    local k = (two - one):lookup("sd", 0, "sd0")
    assert.is_true(math.abs(k:rate("rtime") - (568402815331617 - 568401933294814) / 5000002447) < 1e-12)
  end)

  it("continues a counter that passed its width, and takes one that fell for one that stood still", function()
    local list = samples({
      { named("a", 1, 10, '"n":1000,"top":18446744073709551615,"u":4294967290') },
      { named("a", 1, 11, '"n":7,"top":3,"u":5') },
    })
    local a = (list[2] - list[1]):lookup("app", 0, "a")
    assert.same({ 0, 4, 0 }, { a:get("n"), a:get("top"), a:get("u") })
    assert.same({ 0, 4, 0 }, { a:rate("n"), a:rate("top"), a:rate("u") })
  end)

  it("continues 32-bit counters that wrapped", function()
    local io = '"nread":0,"nwritten":0,"reads":%d,"writes":0,"wtime":0,"wlentime":0,"wlastupdate":0,'
      .. '"rtime":0,"rlentime":0,"rlastupdate":0,"wcnt":0,"rcnt":0'
    local list = samples({
      { capture.kstat("sd", 0, "sd0", "disk", 3, 1, 10, io:format(4294967290)) },
      { capture.kstat("sd", 0, "sd0", "disk", 3, 1, 12, io:format(4)) },
    })
    local d = list[2] - list[1]
    assert.equal(10, d.sd[0].sd0.reads)
    assert.equal(5, d:rate("sd:::reads"))
  end)

  it("counts what was discovered just now over the interval, not over the instant since", function()
    local list = samples({
      { named("a", 1, 10, '"n":1000'), named("c", 1, 10, '"n":5') },
      { named("a", 13.999, 14, '"n":1200'), named("b", 13.999, 14, '"n":400'), named("c", 1, 14, '"n":5') },
    })
    local d = list[2] - list[1]
    assert.same({ 4, 300 }, { d:lookup("app", 0, "a").elapsed, d:lookup("app", 0, "a"):rate("n") })
    assert.same({ 4, 100 }, { d:lookup("app", 0, "b").elapsed, d:lookup("app", 0, "b"):rate("n") })
  end)

  it("counts from creation what was created anew", function()
    local list = samples({
      { named("a", 1, 10, '"n":1000') },
      { named("a", 11, 15, '"n":1200') },
    })
    local a = (list[2] - list[1]):lookup("app", 0, "a")
    assert.is_true(a.reset)
    assert.equal(1200, a:get("n"))
    assert.equal(4, a.elapsed)
    assert.equal(300, a:rate("n"))
  end)

  it("has what came in between, and not what the earlier sample was not asked for", function()
    local path = capture.file({
      { named("old", 1, 10, '"n":5'), named("asked", 1, 10, '"n":5') },
      { named("old", 1, 12, '"n":9'), named("asked", 1, 12, '"n":6'), named("young", 11, 12, '"n":3') },
    })
    local ks = assert(kstat.open(path))
    local one = assert(ks:sample("app:0:asked"))
    ks:update()
    local d = assert(ks:sample()) - one
    assert.equal(1, d.app[0].asked.n)
    assert.equal(3, d.app[0].young.n)
    assert.equal(3, d:rate("app:0:young:n"))
    assert.is_nil(d.app[0].old)
    assert.is_nil(d:lookup("app", 0, "old"))
    local found = {}
    for k in d:each() do
      found[#found + 1] = k.name
    end
    assert.same({ "asked", "young" }, found)
    assert.is_nil(d:lookup("app", 0, "young"):before())
  end)

  it("has what came while the earlier sample was read, if nothing was counted before that", function()
    local function process(pid, crtime, snaptime)
      return capture.kstat("process", pid, "p", "process", 1, crtime, snaptime, ('"n":%d'):format(pid))
    end
    local list = samples({
      { process(1, 1, 10), process(2, 1, 10.3), named("last", 1, 10.5, '"n":5') },
      { process(1, 1, 11), process(2, 1, 11.3), process(7, 10, 11.3), process(8, 10.4, 11.3), process(9, 9.98, 11.3),
        named("renamed", 10.2, 11, '"n":5'), named("last", 1, 11.5, '"n":5') },
    })
    local d = list[2] - list[1]
    local function counted(pid)
      local k = d:lookup("process", pid, "p")
      return k and { k:get("n"), math.floor(k.elapsed * 10 + 0.5) }
    end
    assert.same({ { 7, 13 }, { 8, 9 } }, { counted(7), counted(8) })
    assert.is_nil(counted(9), "it began before")
    assert.is_nil(d:lookup("app", 0, "renamed"), "what is of its module was read at once")
  end)

  it("leaves out a counter that the earlier sample lacks, and finds moved ones", function()
    local list = samples({
      { named("a", 1, 10, '"p":1,"q":2,"r":3') },
      { named("a", 1, 11, '"r":13,"new":5,"p":11,"q":12') },
    })
    local data = (list[2] - list[1]):lookup("app", 0, "a"):data()
    assert.same({ 10, 10, 10 }, { data.p, data.q, data.r })
    assert.is_nil(data.new)
  end)

  it("tells apart two kstats of one name", function()
    local list = samples({
      { named("a", 1, 10, '"n":1'), named("a", 2, 10, '"n":100') },
      { named("a", 1, 11, '"n":3'), named("a", 2, 11, '"n":104') },
    })
    local found = {}
    for k in (list[2] - list[1]):each("app") do
      found[#found + 1] = k:get("n")
    end
    table.sort(found)
    assert.same({ 2, 4 }, found)
  end)

  it("of the time since creation is asked for by name", function()
    local list = samples({ { named("a", 1, 11, '"n":100'), named("b", 6, 11, '"n":100') } })
    local d = list[1]:since_creation()
    assert.equal(100, d.app[0].a.n)
    assert.equal(10, d:rate("app:0:a:n"))
    assert.equal(20, d:rate("app:0:b:n"))
    assert.equal(11, d.elapsed)
    assert.is_nil(d:lookup("app", 0, "a"):before())
    assert.equal(100, d:lookup("app", 0, "a"):now():get("n"))
  end)

  it("has no rate between times that are too far apart for a number", function()
    local list = samples({
      { named("a", 1, 9223372036, '"n":1'), named("b", 1, 9223372036, '"n":1') },
      { named("a", -9223372036, -9223372036, '"n":2'), named("b", 1, -9223372036, '"n":2') },
    })
    local d = list[2] - list[1]
    assert.equal(0, d.elapsed)
    for _, name in ipairs({ "a", "b" }) do
      local k = d:lookup("app", 0, name)
      assert.equal(0, k.elapsed)
      assert.is_nil(k:rate("n"))
    end
  end)

  it("has no rate where no time went by", function()
    local list = samples({ { named("a", 1, 11, '"n":100') } })
    local d = list[1] - list[1]
    assert.equal(0, d.app[0].a.n)
    assert.is_nil(d:lookup("app", 0, "a"):rate("n"))
  end)

  it("without an interval has what is now, and nothing that is counted", function()
    local now = samples({ { named("a", 1, 10, '"n":100,"x":1.5,"s":"t"'),
      capture.kstat("sd", 0, "sd0", "disk", 3, 1, 10, '"nread":512,"nwritten":0,"reads":1,"writes":0,"wtime":0,'
        .. '"wlentime":0,"wlastupdate":0,"rtime":0,"rlentime":0,"rlastupdate":9,"wcnt":2,"rcnt":0'),
      capture.kstat("app", 0, "h", "histogram", 1, 1, 10, '"buckets":[0,6,3],"type":"linear","range_min":0,'
        .. '"range_max":200,"stepping":100,"sum":800,"min":10,"max":190,"out_of_range":0'), },
      { named("b", 1, 11, '"n":1') } })[1]
    local d = core.difference(now, false)
    assert.same({ 3, 0 }, { #d:select(), select("#", core.difference_elapsed(d)) })
    local k, sd, h = d:lookup("app", 0, "a"), d:lookup("sd", 0, "sd0"), d:lookup("app", 0, "h")
    assert.same({ x = 1.5, s = "t", class = "misc", crtime = 1, snaptime = 10 }, k:data())
    assert.same({ [2] = 1.5, [3] = "t" }, { k:get("n", "x", "s") })
    assert.same({}, { k:rate("n", "x"), k.elapsed, k.elapsed_ns, k.reset, k:before(), d.elapsed, d.elapsed_ns })
    assert.equal(100, k:now():get("n"))
    local names, values = {}, {}
    assert.same({ 1, "x", 1.5 }, { core.numbers(k, nil, names, values), names[1], values[1] })
    assert.equal(0, core.numbers(k, nil, names, values, true))
    assert.same({ 2 }, { sd:get("wcnt", "reads", "rtime") })
    assert.same({ nil, "sd:0:sd0 has no interval", "ENXIO" }, { kstat.io.rates(sd) })
    assert.same({ nil, "app:0:h has no interval", "ENXIO" }, { h:distribution() })
    assert.same({ [3] = "linear" }, { h:get("p50", "sum", "type") })
  end)

  it("has those that were away if it is asked for them, without an interval", function()
    local list = samples({
      { named("stays", 1, 10, '"n":1') },
      { named("stays", 1, 12, '"n":5'), named("back", 1, 12, '"n":7,"x":2.5'), named("young", 11, 12, '"n":3') },
    })
    local d, found = list[2] - list[1], {}
    assert.equal(2, #core.select(d, nil))
    for _, k in ipairs(core.select(d, nil, true)) do
      found[#found + 1] = { k.name, k.elapsed or "none", k:get("n") or "none", k:rate("n") or "none", k:get("x") }
    end
    assert.same({ { "back", "none", "none", "none", 2.5 }, { "stays", 2, 4, 2 }, { "young", 1, 3, 3 } }, found)
  end)

  it("keeps its samples alive", function()
    local list = samples(host)
    local k = (list[2] - list[1]):lookup("sd", 0, "sd0")
    local now, before = k:now(), k:before()
    list = nil -- luacheck: ignore
    for _ = 1, 3 do
      collectgarbage()
    end
    assert.equal(13868881, k:get("nread"))
    assert.equal(13868881, now:get("nread") - before:get("nread"))
  end)

  it("lists as a chain does", function()
    local list = samples(host)
    local d = list[2] - list[1]
    local n = 0
    for k, stat, value in d:values("cpu_stat:::syscall") do
      n = n + 1
      assert.equal("syscall", stat)
      assert.equal(list[2]:module(k.module)[k.instance][k.name].syscall
        - list[1]:module(k.module)[k.instance][k.name].syscall, value)
    end
    assert.equal(6, n)
    assert.same(list[2]:modules(), d:modules())
    for name, module in kstat.pairs(d) do
      assert.equal(d:module(name), module)
    end
  end)
end)
