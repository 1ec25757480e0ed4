-- What a wrong argument of a function of the module raises: the function's name, the argument, and the script's line,
-- however the function is called.
local capture = require("support.capture")
local kstat = require("kstat")
local run = require("support.run")

local unpack = table.unpack or unpack
local loads = loadstring or load

-- Calls a method as a script does, in a chunk of its own, whose second line calls it: `call` is the text of that line.
local function script(call, object, f, values)
  local chunk = assert(loads("local o, f, v = ...\n" .. call .. "\n", "=script"))
  return select(2, pcall(chunk, object, f, values))
end

local CALLS = {
  method = "local x = o:NAME(VALUES) return x",
  pcall = "local ok, problem = pcall(f, o, VALUES) error(problem, 0)",
  coroutine = "coroutine.wrap(function() local x = o:NAME(VALUES) return x end)()",
  ["coroutine and pcall"] = "coroutine.wrap(function() local ok, e = pcall(f, o, VALUES) error(e, 0) end)()",
}

-- Checks the errors of o:name(...), whose argument i is wrong.
local function check(object, name, i, why, ...)
  local values = {}
  for at = 1, math.max(1, select("#", ...)) do
    values[at] = ("v[%d]"):format(at)
  end
  for how, call in pairs(CALLS) do
    call = call:gsub("NAME", name):gsub("VALUES", table.concat(values, ", "))
    local message = script(call, object, object[name], { ... })
    local own = how:find("pcall") and i + 1 or i -- as in all of Lua, the object counts where there is no colon
    local expected = ("script:2: bad argument #%d to '%s' (%s)"):format(own, name, why)
    assert.equal(expected, tostring(message):gsub("^script:2: (script:2: )", "%1"), how)
  end
end

describe("a wrong argument", function()
  local ks, pub, named, live, stats, blob

  setup(function()
    stats = kstat.stats
    ks = assert(kstat.open("spec/vectors/kstat/host.jsonl"))
    pub = assert(kstat.publish("errors"))
    named = pub:named({ name = "k", statistics = { "n" } })
    live = assert(kstat.open({ only = "errors:::" }))
    local template = stats.template("errors")
    assert(template:add_voi(0, "rtt", "u64", { stats.sum(), stats.tdgstclust64(10, 5) }))
    blob = template:blob()
  end)

  teardown(function()
    for _, object in ipairs({ ks, pub, live }) do
      object:close()
    end
    capture.clean()
  end)

  it("of a kstat, a sample's or a chain's, is named with the function and the script's line", function()
    local d = ks:sample() - ks:sample()
    for _, k in ipairs({ ks:lookup("cpu", 0, "sys"), d:lookup("cpu", 0, "sys") }) do
      for _, name in ipairs({ "get", "ns", "text" }) do
        check(k, name, 1, "string expected, got table", {})
      end
      check(k, "meta", 1, "string expected, got nil")
      check(k, "distribution", 1, "string expected, got table", {})
    end
    check(d:lookup("cpu", 0, "sys"), "rate", 2, "string expected, got function", "cpu_ticks_idle", print)
    check(live:lookup("errors"), "write", 1, "table expected, got string", "n")
    check(ks, "lookup", 1, "string expected, got table", {})
    check(ks, "lookup", 2, "number expected, got string", "cpu", "x")
    check(d, "lookup", 3, "string expected, got table", "cpu", 0, {})
    check(ks, "seek", 1, "number expected, got string", "x")
    check(ks, "previous", 2, "number has no integer representation", false, 1.5)
    check(kstat.selector("cpu"), "matches", 1, "kstat expected, got sample", ks:sample())
  end)

  it("of what is published or recorded is named so, too", function()
    local timer = pub:timer({ name = "t", timers = { "t" } }):timer("t")
    check(named, "cell", 1, "string expected, got table", {})
    local rec = assert(kstat.recording.memory())
    check(rec, "add", 1, "a chain, a sample or a difference expected", 5)
    rec:close()
    if not rawget(_G, "jit") then -- there the FFI is called
      check(timer, "start", 1, "number expected, got table", {})
      check(timer, "event", 2, "number has no integer representation", 1, 1.5)
    end
    check(blob, "fetch", 1, "no value of interest is named 'x'", "x")
    check(blob, "quantile", 2, "number expected, got table", 0, {})
    check(blob, "merge", 1, "blob expected", 5)
    assert(pub:histogram({ name = "h", type = "log2", range_max = 10 }) and live:update())
    local d = assert(live:lookup("errors", 0, "h"):distribution())
    check(d, "quantile", 1, "number expected, got string", "x")
    check(d, "merge", 1, "distribution expected, got number", 5)
  end)

  it("is of the script where the module's own functions are in between, and behind a tail call", function()
    for call, expected in pairs({
      ["f.io.rates(nil, 5)"] = "script:2: kstat of a difference expected, or two kstats of samples, got number",
      ["f.io.figures(5)"] = "script:2: bad argument #1 to 'figures' (table expected, got number)",
      ["f.recording.directory('x', 5)"] = "script:2: bad argument #2 to 'directory' (table expected, got number)",
      ["f.exposition_format({})"] = "script:2: bad argument #1 to 'exposition_format' (string expected, got table)",
      ["pcall(o.named, o, 5) o:named(5)"] = "script:2: named: table expected, got number",
      ["local g = o.latency g = pcall(g, o, 5) o:latency(5)"] = "script:2: latency: table expected, got number",
    }) do
      assert.equal(expected, script(call, pub, kstat))
    end
    local tail = "local k = ...\nlocal function get() return k:get({}) end\nlocal x = get()\nreturn x"
    local chunk = assert(loads(tail, "=script"))
    assert.matches("^script:[23]: bad argument #[12] to 'get' %(string expected, got table%)$",
      select(2, pcall(chunk, ks:lookup("cpu", 0, "sys"))))
  end)

  it("is of the script behind a tail call also where something is closed, and in every part of the module", function()
    local closed, registry = assert(kstat.open("spec/vectors/kstat/host.jsonl")), kstat.devstat.registry()
    local k = closed:lookup("sd")
    closed:close()
    for call, expected in pairs({
      ["return o:sample()"] = "the kstat chain is closed",
      ["return o:update()"] = "the kstat chain is closed",
      ["for x in v.pairs(f) do return x end"] = "the kstat chain is closed",
      ["for x in v.pairs(5) do return x end"] = "bad argument #1 to 'pairs' (table expected, got number)",
      ["return v.open(5)"] = "bad argument #1 to 'open' (string or table expected, got number)",
      ["return v.devstat.open({ zzz = 1 })"] = "unknown source field 'zzz'",
      ["return v.stats.template('x'):add_voi(-1)"] = "bad argument #1 to 'add_voi' (whole number from 0 to 32767",
      ["return v.stats.sum('x')"] = "bad argument #1 to 'sum' (number expected, got string)",
      ["return v.aggregate('sum(x)'):add_value(5)"] = "bad argument #1 to 'add_value' (table expected, got number)",
      ["return v.picture.sparkline(5)"] = "bad argument #1 to 'sparkline' (table expected, got number)",
      ["return v.histogram.counts(5)"] = "bad argument #1 to 'counts' (kstat expected, got number)",
      ["return v.format(5)"] = "bad argument #1 to 'format' (string expected, got number)",
      ["return v.registry:new_entry({})"] = "name: a string of 1 to 15 bytes expected",
    }) do
      local message = script(call, closed, k, setmetatable({ registry = registry }, { __index = kstat }))
      local place, said = message:match("^(%S+:%d+): (.*)")
      assert.truthy(place == "script:2" or place and place:find("errors_spec.lua:", 1, true), message)
      assert.equal(expected, said:sub(1, #expected))
    end
  end)

  it("in a table is answered with the fields that there are", function()
    for expected, call in pairs({
      ["unknown selector field 'zzz'; expected: 'class', 'instance', 'module', 'name', 'reads', 'statistic'"] =
        { ks.select, ks, { zzz = 1 } },
      ["publish: unknown field 'zzz'; expected: 'capacity', 'private', 'process', 'shared'"] =
        { kstat.publish, "x", { zzz = 1 } },
      ["directory: unknown field 'zzz'; expected: 'keep', 'keep_bytes'"] =
        { kstat.recording.directory, "x", { zzz = 1 } },
      ["unknown histogram flag 'zzz'; expected: 'lbound_inf', 'prec', 'ubound_inf'"] =
        { stats.crhist64_lin, 0, 1, 1, "zzz" },
      ["a device has no field 'zzz'; expected: name, number, type, interface, pass, priority, block_size, " ..
        "queue_length, busy_time[_ns], creation_time, {read|write|free|other}_{bytes|ops|time|time_ns}"] =
        { kstat.devstat.device, { zzz = 1 } },
    }) do
      local ok, message = pcall(unpack(call))
      assert.is_false(ok)
      assert.equal(expected, (message:gsub("^[^ ]+:%d+: ", "")))
    end
  end)

  it("is told by kstatlua, whose own functions have no lines, with the script's line", function()
    for call, expected in pairs({
      ["kstat.open():seek('x')"] = "bad argument #1 to 'seek' (number expected, got string)",
      ["pcall(1) kstat.publish(5)"] = "publish: a name expected, got number",
      ["print(pcall(kstat.open().lookup, kstat.open(), {}))"] =
        "bad argument #2 to 'lookup' (string expected, got table)",
    }) do
      local r = run.run({ "kstatlua", "-e", call, env = { KSTAT_SOURCE = "spec/vectors/kstat/host.jsonl" } })
      assert.truthy((r.err .. r.out):find(":1: " .. expected, 1, true), r.err .. r.out)
    end
  end)
end)
