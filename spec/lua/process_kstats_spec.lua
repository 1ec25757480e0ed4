-- Kstats of this process alone, as kstat_create(9F) has them, and RAW kstats as bytes.
local kstat = require("kstat")

describe("a kstat of this process alone", function()
  local own, ks

  before_each(function()
    own = assert(kstat.publish("mine", { process = true }))
  end)

  after_each(function()
    if ks then ks:close() end
    own:close()
    ks = nil
  end)

  it("is in the chains of this process until it is deleted or collected", function()
    local named = assert(own:named({ name = "n", statistics = { "a", { name = "b", type = "int32", value = -4 },
      { name = "c", type = "char", value = "hi" }, { name = "d", type = "double" } } }))
    assert.is_true(named:set("a", 7) and named:set("c", "yo") and named:set("d", 2.5))
    ks = assert(kstat.open())
    local k = assert(ks:lookup("mine", 0, "n"))
    assert.same({ 7, -4, "yo", 2.5 }, { k:get("a", "b", "c", "d") })
    assert.is_nil(k.publisher)
    local ok, message, errname = named:set("b", 2 ^ 31)
    assert.same({ "nil", "EINVAL" }, { type(ok), errname })
    assert.matches("^b is of the type int32", message)
    assert.is_nil((named:add("a"))) -- there are no counters that threads share
    named:delete()
    ks:update()
    assert.is_nil((ks:lookup("mine", 0, "n")))
    assert(own:named({ name = "dropped", statistics = { "a" } }))
    for _ = 1, 3 do collectgarbage() end
    ks:update()
    assert.is_nil((ks:lookup("mine", 0, "dropped")))
  end)

  it("can be a histogram whose counts the script gives", function()
    local spec = { name = "h", type = "linear", range_min = 0, range_max = 10, stepping = 5, buckets = { 1, 2, 3, 4 } }
    local h = assert(own:histogram(spec))
    assert.is_true(h:add_value(3))
    ks = assert(kstat.open())
    local k = assert(ks:lookup("mine", 0, "h"))
    assert.same({ 1, 3, 3, 4 }, k.buckets)
    assert.is_true(h:set_buckets({ 9, 8, 7, 6 }))
    ks:update()
    assert.same({ 9, 8, 7, 6 }, k.buckets)
    assert.equal(30, k:distribution().count)
    assert.is_false(pcall(h.set_buckets, h, { 1, 2 }))
    assert.error_matches(function() h:set_buckets({ 1, 2, 3, -1 }) end,
      "buckets%[4%]: 0 or more expected")
    assert.is_false(pcall(h.set_buckets, h, { 1, nil, 3, 4 }))
    ks:update()
    assert.same({ 9, 8, 7, 6 }, k.buckets)
    spec.name, spec.buckets = "short", { 1, 2 }
    assert.same({ nil, "histogram: 2 buckets supplied, the layout has 4", "EINVAL" }, { own:histogram(spec) })
    local pub = assert(kstat.publish("notmine"))
    assert.matches("a published histogram counts itself", select(2, pcall(pub.histogram, pub, spec)))
    pub:close()
  end)

  it("is neither a queue nor another kind that only segments have, and has no name of the machine", function()
    for _, kind in ipairs({ "io", "intr", "timer", "latency" }) do
      assert.matches("kstats of this process alone have no segment",
        select(2, pcall(own[kind], own, { name = kind, timers = kind == "timer" and { "t" } or nil })))
    end
    assert.is_false(pcall(own.named, own, { name = "s", statistics = { { name = "x", type = "string" } } }))
    local machine = kstat.publish("unix", { process = true })
    assert.same({ nil, "unix:0:system_misc is a kstat of this machine, whose name no other can have", "EEXIST" },
      { machine:named({ name = "system_misc", statistics = { "a" } }) })
  end)
end)

describe("a RAW kstat", function()
  it("is bytes, in and out, published or of this process alone", function()
    for _, options in ipairs({ {}, { process = true } }) do
      local pub = assert(kstat.publish("bytes", options))
      local raw = assert(pub:raw({ name = "r", bytes = "abc\0def", layout = "seven bytes" }))
      local ks = assert(kstat.open())
      local k = assert(ks:lookup("bytes", 0, "r"))
      assert.equal("abc\0def", k:bytes())
      assert.equal(0, #ks:select("bytes")) -- as kstat(8) has it
      assert.is_true(raw:store("7654321"))
      ks:update()
      assert.equal("7654321", k:bytes())
      assert.same({ nil, "bytes:0:r has 7 bytes, not 1", "EINVAL" }, { raw:store("x") })
      assert.error_matches(function() raw:store() end, "store: string expected, got nil")
      assert.matches("a string that is not empty expected", select(2, pcall(pub.raw, pub, { name = "q", bytes = "" })))
      pub:close()
      ks:close()
    end
  end)

  it("of the machine has the structure that C programs get, and no other type has bytes", function()
    local ks = assert(kstat.open())
    assert.is_true(#ks:lookup("unix", 0, "sysinfo"):bytes() >= 24)
    assert.same({ nil, "unix:0:system_misc has no bytes that are known", "EINVAL" },
      { ks:lookup("unix", 0, "system_misc"):bytes() })
    ks:close()
  end)
end)
