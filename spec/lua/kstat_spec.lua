-- The Lua module: chains and their kstats, over captures.
local capture = require("support.capture")
local kstat = require("kstat")
local run = require("support.run")

local host = "spec/vectors/kstat/host.jsonl"
local named = capture.named
local has_integers = math.type ~= nil
local is_jit = rawget(_G, "jit") ~= nil

local function raised(f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  return message
end

describe("the module kstat", function()
  it("sets no global", function()
    local abi = is_jit and "5.1" or _VERSION:match("%d%.%d")
    local result = run.shell(run.lua .. [[ -e '
      package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
      package.cpath = "]] .. run.build .. "/lib/lua/" .. abi .. [[/?.so;" .. package.cpath
      local before = {}
      for k in pairs(_G) do before[k] = true end
      local kstat = require("kstat")
      local ks = kstat.open("]] .. host .. [[")
      local n = #ks:select("sd:/0/")
      for now in kstat.every(1, 2, { chain = ks }) do n = n + 1 end
      for k in pairs(_G) do if not before[k] then print(k) end end
      print(n > 2)']])
    assert.equal("true\n", result.out, result.err)
  end)

  it("tells its version and the time", function()
    assert.matches("^kstat %d+%.%d+%.%d+$", kstat._VERSION)
    local a, b = kstat.gethrtime(), kstat.gethrtime()
    assert.is_true(a > 0 and b >= a)
    assert.is_true(math.abs(kstat.hrtime() - a / 1e9) < 60)
    if has_integers then
      assert.equal("integer", math.type(a))
    end
  end)

  it("formats any number", function()
    assert.equal("3", kstat.tostring(3))
    assert.equal("3", kstat.tostring(3.0))
    assert.equal("-3", kstat.tostring(-3))
    assert.equal("0.5", kstat.tostring(0.5))
    assert.equal("9007199254740992", kstat.tostring(2 ^ 53))
    assert.equal("18446744073709549568", kstat.format_unsigned(2 ^ 64 - 2048))
    if has_integers then
      assert.equal("18446744073709551615", kstat.format_unsigned(-1))
      assert.equal("9223372036854775807", kstat.tostring(math.maxinteger))
    end
  end)
end)

describe("kstat.open", function()
  after_each(capture.clean)

  it("opens a capture by name or in a table", function()
    for _, source in ipairs({ host, { capture = host } }) do
      local ks = assert(kstat.open(source))
      assert.equal("chain", kstat.type(ks))
      assert.is_true(ks:is_replay())
      assert.equal(159, #ks:select() + #ks:select("nothing") > 0 and 159)
      assert.matches("^kstat chain %(159 kstats%)$", tostring(ks))
      ks:close()
    end
  end)

  it("opens the machine without a source, and for nil", function()
    assert.is_false(assert(kstat.open(nil)):is_replay())
  end)

  it("returns nil, message, errno name for what the world causes", function()
    local ks, message, errname = kstat.open("/nonexistent/capture")
    assert.same({ nil, "ENOENT" }, { ks, errname })
    assert.matches("/nonexistent/capture", message, 1, true)
  end)

  it("raises at the caller for mistakes", function()
    assert.matches("kstat_spec.*string or table expected", raised(function() local _ = kstat.open(1) end))
    assert.matches("kstat_spec.*unknown source field 'x'", raised(function() local _ = kstat.open({ x = "" }) end))
    assert.matches("kstat_spec.*field 'proc': string expected",
      raised(function() local _ = kstat.open({ proc = 1 }) end))
    assert.matches("kstat_spec.*not both",
      raised(function() local _ = kstat.open({ proc = "/", capture = host }) end))
  end)
end)

describe("a chain of some kstats only", function()
  local small = run.tree_roots("small")

  local function names(ks)
    local list = {}
    for i, k in ipairs(ks:select()) do
      list[i] = tostring(k)
    end
    return list
  end

  -- What a selector finds in a whole chain is what a chain opened for it holds.
  it("holds exactly what its selectors match", function()
    local whole = assert(kstat.open(small))
    for _, only in ipairs({
      { { class = "disk" } }, { { class = "device" } }, { { module = "unix", class = "misc" } },
      { { module = "cpu", class = "misc" }, { class = "net" } }, { "sd:::" }, { "::/^e/" },
      { { class = "/^[dn]/" } }, { "tcp", "zfs" }, { { class = "nosuch" } },
    }) do
      local ks = assert(kstat.open({ proc = small.proc, sys = small.sys, only = only }))
      local want = {}
      for i, k in ipairs(whole:select((table.unpack or unpack)(only))) do
        want[i] = tostring(k)
      end
      assert.same(want, names(ks))
      assert.equal(0, (ks:update()))
      assert.same(want, names(ks))
    end
  end)

  it("reads the same values", function()
    local ks = assert(kstat.open({ proc = small.proc, sys = small.sys, only = { class = "misc", module = "unix" } }))
    local whole = assert(kstat.open(small))
    assert.is_number(ks.unix[0].system_misc.ncpus)
    assert.equal(whole.unix[0].system_misc.ncpus, ks.unix[0].system_misc.ncpus)
    assert.is_nil(ks:lookup("cpu", 0, "sys"))
  end)

  it("lacks what none of its selectors reads", function()
    local function disk(...)
      return assert(kstat.open({ proc = small.proc, sys = small.sys, only = { ... } })):lookup("sderr", 0, "sda,err")
    end
    local some = { class = "device_error", reads = "Hard Errors,Size" }
    local k, whole = disk(some), disk({ class = "device_error" })
    assert.same({ whole["Hard Errors"], whole.Size, nil, nil }, { k["Hard Errors"], k.Size, k.Vendor, k.Product })
    assert.is_string(whole.Vendor)
    assert.equal(whole.Vendor, disk(some, { name = "sda,err" }).Vendor)
    assert.has_error(function() kstat.selector({ reads = 1 }) end,
      "selector field 'reads': string expected, got number")
  end)

  it("may be one of a capture", function()
    local ks = assert(kstat.open({ capture = host, only = { "link:::", { class = "disk" } } }))
    collectgarbage() -- the selectors are held by the chain
    local before = names(ks)
    assert.is_true(#before > 1)
    assert.is_nil(ks:lookup("cpu", 0, "sys"))
    ks:update()
    ks:update()
    assert.is_table(ks.link[0].vnic11)
    assert.is_nil(ks:lookup("link", 0, "vnic10"))
  end)

  it("says what is wrong with a selector", function()
    local ks, message, errname = kstat.open({ only = "/[/" })
    assert.is_nil(ks)
    assert.matches("selector '/%[/'", message)
    assert.equal("EINVAL", errname)
    assert.matches("selector", raised(kstat.open, { only = 5 }))
  end)
end)

describe("a chain", function()
  local ks

  before_each(function() ks = assert(kstat.open(host)) end)
  after_each(function()
    ks:close()
    capture.clean()
  end)

  it("finds a kstat by module, instance and name, nil being any", function()
    assert.equal("sd:1:sd1", tostring(ks:lookup("sd", 1, "sd1")))
    assert.equal("sd:1:sd1", tostring(ks:lookup(nil, nil, "sd1")))
    assert.equal("unix:0:kstat_headers", tostring(ks:lookup()))
    assert.equal("cpu_stat:10:cpu_stat10", tostring(ks:lookup("cpu_stat", 10)))
    assert.equal(ks:lookup("sd", 1, "sd1"), ks:lookup(nil, nil, "sd1"))
    assert.not_equal(ks:lookup("sd", 1, "sd1"), ks:lookup("sd", 2, "sd2"))
  end)

  it("says what it did not find", function()
    local k, message, errname = ks:lookup("sd", 77)
    assert.same({ nil, "no kstat sd:77:*", "ENOENT" }, { k, message, errname })
    for _, name in ipairs({ { "s\0d" }, { "sd", 0.5 }, { "sd", 1e300 }, { "sd", -2 }, { ("x"):rep(1000) } }) do
      assert.is_nil((ks:lookup(name[1], name[2])))
    end
    assert.matches("kstat_spec.*string expected", raised(function() local _ = ks:lookup({}) end))
    assert.matches("kstat_spec.*number expected", raised(function() local _ = ks:lookup("sd", "x") end))
  end)

  it("takes the instance -1 for any, where there is none of that number", function()
    assert.equal(ks:lookup("sd"), ks:lookup("sd", -1))
    assert.equal(ks:sample():lookup("sd").instance, ks:sample():lookup("sd", -1).instance)
    assert.same({ nil, "no kstat nosuch:-1:*", "ENOENT" }, { ks:lookup("nosuch", -1) })
  end)

  it("finds negative instances", function()
    local path = capture.file({ { capture.kstat("neg", 3, "a", "misc", 1, 1, 2, '"v":3'),
      capture.kstat("neg", -1, "a", "misc", 1, 1, 2, '"v":-1') } })
    local neg = assert(kstat.open(path))
    assert.equal(-1, neg:lookup("neg", -1, "a"):get("v"))
    assert.equal(-1, neg:lookup("neg", -1):get("v"))
    assert.equal(-1, neg.neg[-1].a.v)
    assert.equal(3, neg:lookup("neg"):get("v"))
    assert.equal(-1, neg:sample().neg[-1].a.v)
    assert.equal(-1, neg:sample():lookup("neg", -1):get("v"))
  end)

  it("selects in the order of kstat(8)", function()
    local text = assert(ks:render("list", { statistic = "crtime" }))
    local listed, selected = {}, {}
    for line in text:gmatch("([^\n]*):crtime\n") do
      listed[#listed + 1] = line
    end
    for k in ks:each() do
      selected[#selected + 1] = tostring(k)
    end
    assert.is_true(#listed > 100)
    assert.same(listed, selected)
  end)

  it("iterates over the values that kstat -p prints", function()
    for _, operand in ipairs({ "", "cpu_stat:::/^intr/", "sd:0:sd0", ":::class", "unix:0:sysinfo:" }) do
      local lines = {}
      for k, stat in ks:values(operand) do
        lines[#lines + 1] = ("%s:%s\t%s\n"):format(tostring(k), stat, k:text(stat))
      end
      local text, count = ks:render("parseable", operand)
      assert.equal(count, #lines)
      if operand:match("^%w") then -- elsewhere there are statistics that stand twice in one kstat
        assert.equal(text, table.concat(lines))
      end
    end
  end)

  it("renders every format and counts", function()
    assert.equal("module: sd                              instance: 0     \n"
      .. "name:   sd0                             class:    disk\n"
      .. "\treads                           15506766\n\n", (ks:render("human", "sd:0:sd0:reads")))
    assert.same({ "sd:0:sd0:reads:15506766\n", 1 }, { ks:render("colons", "sd:0:sd0:reads") })
    assert.same({ "", 0 }, { ks:render("quiet", "nothing") })
    assert.same({ "", 1 }, { ks:render("quiet", "sd:0:sd0:reads") })
    assert.matches('^%[{\n\t"module": "sd",', (ks:render("json", "sd:0:sd0:reads")))
    assert.same({ ks:render() }, { ks:render("parseable") })
    assert.matches("kstat_spec.*unknown format", raised(function() local _ = ks:render("xml") end))
  end)

  it("lists modules", function()
    local modules = ks:modules()
    assert.equal("8021q", modules[1])
    assert.equal("zones", modules[#modules])
    local seen = 0
    for name, level in kstat.pairs(ks) do
      seen = seen + 1
      assert.equal(modules[seen], name)
      assert.equal(level, ks:module(name))
    end
    assert.equal(#modules, seen)
    assert.is_nil(ks:module("nothing"))
  end)

  it("keeps its numbers: length, ID, time of day, warnings", function()
    assert.is_true(ks:chain_id() > 0)
    assert.same({}, ks:warnings())
    assert.is_true(ks:time_of_day_ns() > 1e18)
    assert.is_true(math.abs(ks:time_of_day() - ks:clock()) <= 0.5)
  end)

  it("cannot be used after it was closed", function()
    local k = ks:lookup("sd", 0, "sd0")
    k:read()
    ks:close()
    ks:close()
    assert.equal("closed", kstat.type(ks))
    assert.equal("kstat chain (closed)", tostring(ks))
    for _, method in ipairs({ "lookup", "select", "each", "values", "update", "sample", "render", "modules",
      "chain_id", "warnings", "is_replay", "time_of_day", "exposition" }) do
      assert.matches("closed", raised(function() local _ = ks[method](ks) end), nil, true)
    end
    assert.matches("kstat_spec.*closed", raised(function() local _ = ks.sd end))
    assert.matches("kstat_spec.*closed", raised(function() local _ = k:get("nread") end))
    assert.matches("kstat_spec.*closed", raised(function() local _ = k:exact("nread") end))
    assert.matches("kstat_spec.*closed", raised(function() local _ = k:stats() end))
    assert.matches("kstat_spec.*closed", raised(function() local _ = ks:select() end))
    assert.matches("kstat_spec.*closed", raised(function() local _ = ks:update() end))
    assert.equal("sd0", k.name)
  end)

  it("does not take another self, nor fields", function()
    local k = ks:lookup("sd")
    for _, method in ipairs({ "lookup", "select", "each", "values", "update", "sample", "render", "modules",
      "module", "chain_id", "warnings", "is_replay", "time_of_day", "close", "pass", "exposition" }) do
      for _, bad in ipairs({ 1, "x", {}, k, io.stdout }) do
        assert.is_string(raised(ks[method], bad))
      end
    end
    assert.matches("kstat_spec.*no field 'x'", raised(function() ks.x = 1 end))
    assert.is_nil(ks[1])
    assert.is_nil(ks.nothing)
    assert.matches("kstat_spec", raised(function() local _ = ks:module(1) end))
    assert.equal("kstat.chain", getmetatable(ks))
  end)

  if has_integers and _VERSION >= "Lua 5.4" then
    it("closes with its block", function()
      local chunk = assert(load([[
        local kstat, host = ...
        local kept
        do
          local ks <close> = kstat.open(host)
          kept = ks
        end
        return kstat.type(kept)]]))
      assert.equal("closed", chunk(kstat, host))
    end)
  end
end)

describe("a kstat", function()
  local ks, k

  before_each(function()
    ks = assert(kstat.open(host))
    k = ks:lookup("sd", 0, "sd0")
  end)
  after_each(function()
    ks:close()
    capture.clean()
  end)

  it("has the fields of its header", function()
    assert.same({ "sd", 0, "sd0", "disk", "io" }, { k.module, k.instance, k.name, k.class, k.type })
    assert.equal(70.123456789, k.crtime)
    assert.equal("70123456789", kstat.tostring(k.crtime_ns))
    assert.is_nil(k.snaptime)
    assert.is_false(k.writable)
    k:read()
    assert.equal(9345678.123579249, k.snaptime)
    assert.equal("9345678123579249", kstat.tostring(k:exact("snaptime")))
    if has_integers then
      assert.equal(9345678123579249, k.snaptime_ns)
    end
    assert.is_nil(k.nothing)
    assert.is_nil(k[1])
    assert.equal("sd:0:sd0", tostring(k))
    assert.equal("kstat", kstat.type(k))
    local types = {}
    for x in ks:each() do
      types[x.type] = true
    end
    assert.same({ raw = true, named = true, intr = true, io = true, timer = true }, types)
  end)

  it("gives values: times in seconds, and exact", function()
    assert.equal(5106542958369, k:get("nread"))
    assert.equal(895189.633825849, k:get("wtime"))
    assert.equal("895189633825849", kstat.tostring(k:ns("wtime")))
    assert.equal("70123456789", kstat.tostring(k:ns("crtime")))
    assert.equal("895189633825849", kstat.tostring(k:exact("wtime")))
    assert.equal("895189633825849", k:text("wtime"))
    assert.equal("70.123456789", k:text("crtime"))
    assert.equal("disk", k:get("class"))
    assert.equal("disk", k:exact("class"))
    assert.equal("disk", k:text("class"))
  end)

  it("has its statistics as fields, behind its methods and those of its header", function()
    local data = '"hits":3,"name":"a text","get":4,"elapsed":5'
    local later = data:gsub("3", "9")
    local replay = kstat.open(capture.file({ { named("x", 1, 2, data) }, { named("x", 1, 4, later) } }))
    local x = replay:lookup("app", 0, "x")
    assert.same({ 3, "x", "a text", 4 }, { x.hits, x.name, x:get("name"), x:get("get") })
    assert.equal("function", type(x.get))
    assert.is_nil(x.elapsed) -- a field of differences
    local before = replay:sample()
    replay:update()
    local d = (replay:sample() - before):lookup("app", 0, "x")
    assert.same({ 6, 2 }, { d.hits, d.elapsed })
  end)

  it("has a line for a field that was mistyped, once", function()
    local file = capture.file({ { named("x", 1, 2, '"hits":3') } })
    local r = run.run({ "kstatlua", "-e", ([[
      local k = require("kstat").open(%q):lookup("app", 0, "x")
      print(k.hist, k.hist, k.hits, k.else_where)]]):format(file) })
    assert.equal("nil\tnil\t3\tnil\n", r.out)
    assert.equal("kstatlua: app:0:x has no statistic 'hist'; did you mean 'hits'?\n", r.err)
  end)

  it("has nil for what it does not have", function()
    for _, method in ipairs({ "get", "exact", "text", "ns", "meta" }) do
      assert.equal(0, select("#", k[method](k, "nothing")) - 1)
      assert.is_nil(k[method](k, "nothing"))
    end
    assert.same({ nil, "nread is not a time", "EINVAL" }, { k:ns("nread") })
  end)

  it("gives all data as a table, and in stored order", function()
    local data = k:data()
    assert.equal("disk", data.class)
    assert.equal(70.123456789, data.crtime)
    assert.equal(9345678.123579249, data.snaptime)
    assert.equal(15506766, data.reads)
    local order = {}
    for stat, value in k:stats() do
      order[#order + 1] = stat
      assert.equal(data[stat], value)
    end
    assert.same({ "nread", "nwritten", "reads", "writes", "wtime", "wlentime", "wlastupdate", "rtime",
      "rlentime", "rlastupdate", "wcnt", "rcnt" }, order)
  end)

  it("lets a statistic called class stand before the header's", function()
    local path = capture.file({ { named("own", 1, 2, '"class":"mine","x":1') } })
    local own = assert(kstat.open(path)):lookup("app", 0, "own")
    assert.equal("mine", own:get("class"))
    assert.equal("mine", own:data().class)
    assert.equal("misc", own.class)
  end)

  it("keeps 64 bits", function()
    local path = capture.file({ { named("big", 1, 2,
      '"max":18446744073709551615,"odd":9223372036854775809,"min":-9223372036854775808,"p53":9007199254740993') } })
    local big = assert(kstat.open(path)):lookup("app", 0, "big")
    assert.equal("18446744073709551615", big:text("max"))
    assert.equal("-9223372036854775808", kstat.tostring(big:exact("min")))
    assert.equal("9007199254740993", kstat.tostring(big:exact("p53")))
    assert.equal("18446744073709551615", kstat.format_unsigned(big:exact("max")))
    assert.equal("9223372036854775809", kstat.format_unsigned(big:exact("odd")))
    if has_integers then
      assert.equal(-1, big:get("max"))
      assert.equal(math.mininteger, big:get("min"))
    else
      assert.equal(2 ^ 64, big:get("max"))
      assert.equal(2 ^ 53, big:get("p53"))
    end
    if is_jit then
      local ffi = require("ffi")
      assert.is_true(ffi.istype("uint64_t", big:exact("max")))
      assert.is_true(ffi.istype("int64_t", big:exact("min")))
      assert.is_true(big:exact("max") - big:exact("odd") == ffi.cast("uint64_t", 2 ^ 63 - 2 ^ 53) + (2 ^ 53 - 2))
    end
  end)

  it("knows what its statistics mean", function()
    local meta = k:meta("wtime")
    assert.same({ "counter", "accumulated time", "ns", 1e-9 }, { meta.kind, meta.type, meta.unit, meta.scale })
    assert.is_true(#meta.description > 5)
    assert.equal("gauge", k:meta("wcnt").kind)
    assert.equal("text", k:meta("class").kind)
    assert.equal("time", k:meta("snaptime").kind)
  end)

  it("cannot be written where kstat_write() forbids it", function()
    local done, message, errname = k:write({ nread = 1 })
    assert.same({ nil, "EACCES" }, { done, errname })
    assert.matches("sd:0:sd0", message, 1, true)
    assert.matches("kstat_spec.*table expected", raised(function() local _ = k:write(1) end))
    assert.matches("numbers or strings", raised(k.write, k, { x = {} }))
    assert.matches("have names", raised(k.write, k, { 1 }))
    assert.matches("k:write", raised(function() k.nread = 1 end))
  end)

  it("is the same after updates, and says ENXIO when it is gone", function()
    local path = capture.file({
      { named("a", 1, 2, '"v":1'), named("b", 1, 2, '"v":1') },
      { named("a", 1, 3, '"v":2'), named("c", 3, 3, '"v":1') },
      { named("b", 4, 4, '"v":7') },
    })
    local chain = assert(kstat.open(path))
    local a, b = chain:lookup("app", 0, "a"), chain:lookup("app", 0, "b")
    assert.same({ 1, 1 }, { a:get("v"), b:get("v") })
    local id = chain:chain_id()
    local kcid, added, deleted = chain:update()
    assert.equal(chain:chain_id(), kcid)
    assert.not_equal(id, chain:chain_id())
    assert.same({ "app:0:c", "app:0:b" }, { tostring(added[1]), tostring(deleted[1]) })
    assert.same({ "app", 0, "c" }, { added[1].module, added[1].instance, added[1].name })
    assert.same({ 1, 1 }, { #added, #deleted })
    assert.equal(2, a:get("v"))
    assert.equal(3, a.snaptime)
    for _, method in ipairs({ "get", "exact", "text", "ns", "data", "read" }) do
      local value, message, errname = b[method](b, "v")
      assert.same({ nil, "app:0:b is gone", "ENXIO" }, { value, message, errname })
    end
    assert.same({ nil, "ENXIO" }, { (b:write({ v = 1 })), (select(3, b:write({ v = 1 }))) })
    assert.same({ "b", 1 }, { b.name, b.crtime })
    assert.matches("kstat_spec.*is gone", raised(function() local _ = b:stats() end))
    chain:update()
    assert.is_nil((b:get("v")))
    assert.equal(7, chain:lookup("app", 0, "b"):get("v"))
    kcid, added, deleted = chain:update()
    assert.same({ 0, 0, 0, true }, { kcid, #added, #deleted, chain:ended() })
  end)

  it("never passes old values off as new ones", function()
    local dark = '{"module":"app","instance":0,"name":"a","class":"misc","type":1,"snaptime":0,"data":{"crtime":1}}'
    local chain = assert(kstat.open(capture.file({
      { named("a", 1, 2, '"v":1') }, { dark }, { named("a", 1, 4, '"v":3') },
    })))
    local a, leaf = chain:lookup("app", 0, "a"), chain.app[0].a
    assert.same({ 1, 1 }, { a:get("v"), leaf.v })
    chain:update()
    local value, message, errname = a:get("v")
    assert.same({ nil, "EIO" }, { value, errname })
    assert.matches("app:0:a", message, 1, true)
    assert.is_nil(leaf.v)
    assert.equal(1, leaf.crtime)
    chain:update()
    assert.same({ 3, 3 }, { a:get("v"), leaf.v })
  end)

  it("may go while one iterates", function()
    local chain = assert(kstat.open(capture.file({
      { named("a", 1, 2, '"v":1'), named("b", 1, 2, '"v":1'), named("c", 1, 2, '"v":1') },
      { named("a", 1, 3, '"v":1'), named("c", 1, 3, '"v":2') },
    })))
    local seen = {}
    for x, _, v in chain:values("app:::v") do
      seen[#seen + 1] = x.name .. v
      if #seen == 1 then
        chain:update()
      end
    end
    assert.same({ "a1", "c2" }, seen)
  end)

  it("keeps its chain alive", function()
    local alone = kstat.open(host):lookup("sd", 0, "sd0")
    for _ = 1, 3 do
      collectgarbage()
    end
    assert.equal(5106542958369, alone:get("nread"))
  end)

  it("does not take another self, nor other arguments", function()
    for _, method in ipairs({ "get", "exact", "text", "ns", "data", "read", "meta", "write", "stats", "rate",
      "now", "before" }) do
      for _, bad in ipairs({ 1, "x", {}, ks, io.stdout }) do
        assert.is_string(raised(k[method], bad, "nread"))
      end
    end
    for _, method in ipairs({ "get", "exact", "text", "ns", "meta" }) do
      assert.matches("kstat_spec.*string expected", raised(function() local _ = k[method](k, {}) end))
      assert.matches("kstat_spec.*string expected", raised(function() local _ = k[method](k) end))
    end
    for _, method in ipairs({ "rate", "now", "before" }) do
      assert.matches("difference", raised(k[method], k, "nread"))
    end
  end)
end)

describe("the path", function()
  local ks

  before_each(function() ks = assert(kstat.open(host)) end)
  after_each(function()
    ks:close()
    capture.clean()
  end)

  it("leads from module over instance and name to the statistic", function()
    assert.equal(242, ks.cpu_stat[0].cpu_stat0.syscall)
    assert.equal(242, ks.cpu_stat["0"].cpu_stat0.syscall)
    assert.equal("misc", ks.cpu_stat[0].cpu_stat0.class)
    assert.equal(ks:lookup("cpu_stat", 0):data().snaptime, ks.cpu_stat[0].cpu_stat0.snaptime)
    assert.is_nil(ks.cpu_stat[99])
    assert.is_nil(ks.cpu_stat.x)
    assert.is_nil(ks.cpu_stat[0].nothing)
    assert.is_nil(ks.cpu_stat[0].cpu_stat0.nothing)
    assert.is_nil(ks.nothing)
  end)

  it("is no way to write: no assignment reaches the chain, a sample or a difference", function()
    local sample = ks:sample()
    for _, x in ipairs({ ks, sample, sample:since_creation() }) do
      local truth = x:lookup("cpu_stat", 0):get("syscall")
      local cpus = x.cpu_stat
      local names = cpus[0]
      local leaf = names.cpu_stat0
      for _, assign in ipairs({ function() leaf.new = 1 end, function() names.new = 1 end,
        function() cpus[99] = 1 end }) do
        assert.matches("^.*kstat_spec.lua:%d+: .*k:write{%[", raised(assign))
      end
      if not (is_jit or _VERSION == "Lua 5.1") then -- elsewhere these are tables that belong to the script
        assert.matches("^.*kstat_spec.lua:%d+: ", raised(function() names.cpu_stat0 = 1 end))
        assert.matches("^.*kstat_spec.lua:%d+: ", raised(function() cpus[0] = nil end))
        leaf.syscall, leaf.class = -1, nil
        assert.same({ truth, "misc" }, { x.cpu_stat[0].cpu_stat0.syscall, x.cpu_stat[0].cpu_stat0.class })
      end
      leaf.syscall = -1
      assert.same({ truth, truth }, { x:lookup("cpu_stat", 0):get("syscall"), x:lookup("cpu_stat", 0):data().syscall })
    end
  end)

  it("has the statistics in it as soon as it is reached, for encoders and copies", function()
    local leaf = ks.cpu_stat[0].cpu_stat0
    assert.is_true(next(leaf) ~= nil)
    assert.matches('"syscall":242', require("cjson").encode(leaf))
    assert.same(ks:lookup("cpu_stat", 0):data(), leaf)
  end)

  it("leads to what has the methods, fields, text and pairs of the kstat that lookup finds", function()
    local k, leaf = ks:lookup("cpu_stat", 0, "cpu_stat0"), ks.cpu_stat[0].cpu_stat0
    assert.equal("cpu_stat:0:cpu_stat0", tostring(leaf))
    assert.same({ "cpu_stat", 0, "cpu_stat0", "raw" }, { leaf.module, leaf.instance, leaf.name, leaf.type })
    assert.same({ 242, "242" }, { leaf:get("syscall"), leaf:text("syscall") })
    assert.same(k:data(), leaf:data())
    local seen = {}
    for statistic, value in kstat.pairs(k) do seen[statistic] = value end
    assert.same(k:data(), seen)
    local d = ks:sample():since_creation()
    assert.equal(d:lookup("cpu_stat", 0):rate("syscall"), d.cpu_stat[0].cpu_stat0:rate("syscall"))
    assert.is_nil(leaf.nothing)
    assert.same({ k.kid, k.flags, k.ndata }, { leaf.kid, leaf.flags, leaf.ndata })
    assert.is_true(k.kid > 0 and k.ndata > 0 and k.flags % 1 == 0)
  end)

  it("and lookup give one object for one kstat, which can be the key of a table", function()
    local sample = ks:sample()
    for _, x in ipairs({ ks, sample, sample:since_creation() }) do
      local seen = { [x:lookup("cpu_stat", 0)] = "object", [x.cpu_stat[0].cpu_stat0] = "table" }
      collectgarbage()
      assert.same({ "object", "table" }, { seen[x:select("cpu_stat:0")[1]], seen[x.cpu_stat["0"].cpu_stat0] })
    end
  end)

  it("can be walked with pairs at every level", function()
    local instances, names, stats = {}, {}, {}
    for instance, level in pairs(ks.sd) do
      instances[#instances + 1] = instance
      for name, leaf in pairs(level) do
        names[#names + 1] = name
        assert.equal(leaf, ks.sd[instance][name])
        for stat, value in pairs(leaf) do
          stats[stat] = (stats[stat] or 0) + 1
          assert.is_true(value ~= nil)
        end
      end
    end
    table.sort(instances)
    assert.same({ 0, 1, 2, 10, 11 }, instances)
    assert.equal(#ks:select("sd"), #names)
    for stat in pairs(ks:lookup("sd", 0, "sd0"):data()) do
      assert.equal(#names, stats[stat], stat)
    end
  end)

  it("is one with what lookup finds", function()
    for k in ks:each() do
      local data = k:data() or { class = k.class, crtime = k.crtime }
      assert.same(data, (function()
        local copy = {}
        for stat, value in pairs(ks:module(k.module)[k.instance][k.name]) do
          copy[stat] = value
        end
        return copy
      end)(), tostring(k))
    end
  end)

  it("follows updates", function()
    local path = capture.file({
      { named("a", 1, 2, '"v":1,"old":1'), named("b", 1, 2, '"v":1') },
      { named("a", 1, 3, '"v":2,"new":1'), named("c", 3, 3, '"v":1') },
      { capture.kstat("other", 0, "x", "misc", 1, 1, 4, '"v":1') },
    })
    local chain = assert(kstat.open(path))
    local names = chain.app[0]
    local a, b = names.a, names.b
    assert.same({ 1, 1, 1 }, { a.v, b.v, a.old })
    chain:update()
    assert.same({ 2, 1, 1, 3 }, { a.v, a.new, b.v, a.snaptime })
    assert.is_nil(a.old)
    assert.is_nil(names.b)
    assert.equal(1, names.c.v)
    assert.equal(a, chain.app[0].a)
    chain:update()
    assert.is_nil(chain.app)
    assert.equal(2, a.v)
    assert.equal(1, chain.other[0].x.v)
  end)

  it("gives way to methods: module() reaches every name", function()
    local path = capture.file({ { capture.kstat("select", 0, "x", "misc", 1, 1, 2, '"v":5') } })
    local chain = assert(kstat.open(path))
    assert.equal("function", type(chain.select))
    assert.equal(5, chain:module("select")[0].x.v)
  end)

  it("shows what cannot be read with class and crtime", function()
    local path = capture.file({ {
      '{"module":"app","instance":0,"name":"dark","class":"misc","type":1,"snaptime":0,"data":{"crtime":3}}' } })
    local chain = assert(kstat.open(path))
    local copy = {}
    for stat, value in pairs(chain.app[0].dark) do
      copy[stat] = value
    end
    assert.same({ class = "misc", crtime = 3 }, copy)
    local dark = chain:lookup("app", 0, "dark")
    assert.same({ 3, "misc", "misc" }, { dark:get("crtime"), dark:get("class"), dark:text("class") })
    local value, message, errname = dark:get("x")
    assert.same({ nil, "EIO" }, { value, errname })
    assert.matches("app:0:dark", message, 1, true)
    assert.is_nil((dark:data()))
    local seen = {}
    for _, stat in chain:values("app") do
      seen[#seen + 1] = stat
    end
    assert.same({ "class", "crtime" }, seen)
    assert.equal("misc", chain:sample().app[0].dark.class)
  end)
end)

describe("a chain over a recorded tree", function()
  local tree = os.tmpname()

  setup(function()
    os.remove(tree)
    assert.equal(0, run.shell("cp -r " .. run.tree("small") .. " " .. tree .. " && chmod -R u+w " .. tree).status)
  end)
  teardown(function() run.shell("rm -rf " .. tree) end)

  it("reads, updates, and notices what goes and comes", function()
    local ks = assert(kstat.open({ proc = tree .. "/proc", sys = tree .. "/sys" }))
    assert.is_false(ks:is_replay())
    assert.is_true(ks.unix[0].system_misc.ncpus > 0)
    local disk
    for k in ks:each({ class = "disk" }) do
      disk = disk or k.type == "io" and k or nil
    end
    local before = disk:get("nread")
    assert.is_true(before > 0)
    local leaf = ks:module(disk.module)[disk.instance][disk.name]
    assert.equal(before, leaf.nread)

    local path = tree .. "/proc/diskstats"
    local text = run.read_file(path)
    local line = text:match("[^\n]* " .. disk.name .. " [^\n]*\n")
    -- The third number behind the name counts sectors of 512 bytes read.
    local more = line:gsub("( " .. disk.name .. " %d+ %d+ )(%d+)", function(head, sectors)
      return head .. ("%d"):format(tonumber(sectors) + 8)
    end)
    run.write_file(path, (text:gsub(line:gsub("%p", "%%%0"), (more:gsub("%%", "%%%%")))))
    assert.equal(0, assert(ks:update()))
    assert.same({ before + 4096, before + 4096 }, { disk:get("nread"), leaf.nread })
    assert.is_true(disk:meta("nread").kind == "counter")

    run.write_file(path, (text:gsub(line:gsub("%p", "%%%0"), "")))
    local kcid, added, deleted = ks:update()
    assert.same({ ks:chain_id(), 0 }, { kcid, #added })
    local gone = {}
    for _, change in ipairs(deleted) do
      gone[tostring(change)] = true
    end
    assert.is_true(gone[tostring(disk)])
    assert.equal("ENXIO", (select(3, disk:get("nread"))))

    run.write_file(path, text)
    kcid, added, deleted = ks:update()
    assert.same({ ks:chain_id(), 0 }, { kcid, #deleted })
    assert.is_true(#added >= 1)
    assert.equal(before, ks:lookup(disk.module, disk.instance, disk.name):get("nread"))
    assert.equal("ENXIO", (select(3, disk:get("nread"))))
    ks:close()
  end)
end)
