-- What the module answers to numbers that are none, too large, negative or not numbers at all: the same in every Lua.
-- The values, in the order of the letters below.
local kstat = require("kstat")
local stats = kstat.stats

local values = { 0 / 0, 1 / 0, -1 / 0, -0.0, -1, 1.5, 2 ^ 53 + 1, 2 ^ 63, 2 ^ 64, "12", "x", false, {}, true }
local COUNT = 14
values[12] = nil
local ffi = rawget(_G, "jit") and require("ffi")

-- A letter for what a call does: + it takes the value, ! it raises at the line of the script, E, R, N, D it returns
-- nil, a message and the errno EINVAL, ERANGE, ENOENT, ENODATA.
local letters = { EINVAL = "E", ERANGE = "R", ENOENT = "N", ENODATA = "D" }
local function answer(f, value)
  local ok, result, message, errname = pcall(f, value)
  if not ok then
    return tostring(result):find("numbers_spec.lua:%d+: ") and "!" or "?"
  elseif result == nil and message then
    return letters[errname] or "?"
  end
  return "+"
end

describe("a number", function()
  local pub, named, queue, timer, histogram, latency, intr, shared, private, digest, ks, distribution
  local made = 0

  local function name()
    made = made + 1
    return "made" .. made
  end

  local function check(rows)
    for what, row in pairs(rows) do
      local got = {}
      for i = 1, COUNT do
        got[i] = answer(row[1], values[i])
      end
      assert.equal(what .. ": " .. row[2], what .. ": " .. table.concat(got))
      if ffi then -- an int64_t is answered as its number; a structure and a complex number are none
        assert.equal(what .. ": " .. (row[3] or "!!!"), what .. ": " .. answer(row[1], ffi.new("int64_t", -1)) ..
          answer(row[1], ffi.new("struct { int x; }")) .. answer(row[1], ffi.new("complex", 1, 2)))
      end
    end
  end

  setup(function()
    pub = assert(kstat.publish("numbers"))
    named = assert(pub:named({ name = "n", statistics = { "c", { name = "g", kind = "gauge" },
      { name = "s", kind = "gauge", type = "int64" }, { name = "d", kind = "gauge", type = "double" },
      { name = "dc", kind = "counter", type = "double" }, { name = "u32", kind = "gauge", type = "uint32" },
      { name = "i32", kind = "gauge", type = "int32" } } }))
    queue, timer, intr = pub:io({ name = "q" }), pub:timer({ name = "t", timers = { "a" } }), pub:intr({ name = "i" })
    histogram = pub:histogram({ name = "h", type = "linear", range_min = 0, range_max = 1000, stepping = 10 })
    latency = pub:latency({ name = "l" })
    local template = assert(stats.template("numbers"))
    assert(template:add_voi(0, "u", "u64", { stats.sum() }, { relupdate = true }))
    assert(template:add_voi(1, "s", "s32", { stats.sum() }))
    assert(template:add_voi(2, "q", "sq64", { stats.tdgstclust64(50) }))
    shared, private = assert(pub:blob({ name = "b", template = template })), assert(template:blob())
    digest = assert(template:blob())
    digest:update(2, 5)
    assert(latency:add(5e6))
    ks = assert(kstat.open({ published = true }))
    distribution = ks:lookup("numbers", 0, "l"):distribution()
  end)

  teardown(function()
    ks:close()
    pub:close()
  end)

  it("that is counted is whole, of the statistic's type, and never makes a counter fall", function()
    local function at(method, statistic)
      local counter = named:counter(statistic)
      return function(v) local ok, message, errname = counter[method](counter, v) return ok, message, errname end
    end
    check({
      ["add to a counter"] = { at("add", "c"), "!!!+E!++!+!+!!", "E!!" },
      ["k:add to a counter"] = { function(v) local a, b, c = named:add("c", v) return a, b, c end,
        "!!!+E!++!+!+!!", "E!!" },
      ["add to a gauge"] = { at("add", "g"), "!!!++!++!+!+!!", "+!!" },
      ["set a gauge"] = { at("set", "g"), "!!!+E!++!+!!!!", "E!!" },
      ["k:set a gauge"] = { function(v) local a, b, c = named:set("g", v) return a, b, c end, "!!!+E!++!+!!!!", "E!!" },
      ["raise a gauge"] = { at("max", "g"), "!!!+E!++!+!!!!", "E!!" },
      ["set a gauge with a sign"] = { at("set", "s"), "!!!++!+E!+!!!!", "+!!" },
      ["set 32 bits"] = { at("set", "u32"), "!!!+E!EE!+!!!!", "E!!" },
      ["set 32 bits with a sign"] = { at("set", "i32"), "!!!++!EE!+!!!!", "+!!" },
      ["set a double"] = { at("set", "d"), "++++++++++!!!!", "+!!" },
      ["add to a counter of doubles"] = { at("add", "dc"), "EEE+E+++++!+!!", "E!!" },
      ["interrupts"] = { function(v) local a, b, c = intr:hard(v) return a, b, c end, "!!!+E!++!+!+!!", "E!!" },
    })
    named:set("s", -3)
    named:set("g", 12)
    assert.is_nil(named:set("g", -3))
    local k = assert(kstat.open({ published = true })):lookup("numbers", 0, "n")
    assert.same({ "-3", "12" }, { k:text("s"), k:text("g") })
  end)

  it("of bytes, or a time, is whole and not below 0", function()
    assert.equal("bytes are counted from 0 on, not -5", select(2, queue:done("write", -5)))
    local function call(object, method, ...)
      local before, n = { ... }, select("#", ...)
      return function(v)
        if object == queue then queue:runq_enter() end
        before[n + 1] = v
        local ok, message, errname = object[method](object, (table.unpack or unpack)(before, 1, n + 1))
        return ok, message, errname
      end
    end
    check({
      ["count"] = { call(queue, "count", "read"), "!!!+E!+E!+!+!!", "E!!" },
      ["done"] = { call(queue, "done", "write"), "!!!+E!+E!+!+!!", "E!!" },
      ["done at"] = { call(queue, "done", "read", 5), "!!!+E!+E!+!+!!", "E!!" },
      ["waitq_enter"] = { call(queue, "waitq_enter"), "!!!+E!+E!+!+!!", "E!!" },
      ["finish"] = { call(queue, "finish", nil, "read"), "!!!+E!+E!+!+!!", "E!!" },
      ["timer:start"] = { call(timer, "start", "a"), "!!!+E!+E!+!+!!", "E!!" },
      ["timer:event"] = { call(timer, "event", "a", 5), "!!!EE!+E!+!!!!", "E!!" },
      ["latency:add_since"] = { call(latency, "add_since"), "!!!+E!EE!+!!!!", "E!!" },
      ["otlp"] = { call(distribution, "otlp", 5), "!!!+E!++!+!!!!" },
    })
  end)

  it("that goes into a histogram is cut, and counted in out_of_range if the histogram cannot hold it", function()
    local function add(v) local ok, message, errname = histogram:add_value(v) return ok, message, errname end
    local function add_latency(v) local ok, message, errname = latency:add(v) return ok, message, errname end
    check({ ["add_value"] = { add, "EEE+E+++E+!!!!", "E!!" }, ["add"] = { add_latency, "EEE+E+++E+!!!!", "E!!" } })
    local _, message = histogram:add_value(-1)
    assert.equal("numbers:0:h counts values from 0 to 2^64-1, not -1", message)
    local h = assert(pub:histogram({ name = "cut", type = "linear", range_min = 0, range_max = 10, stepping = 1 }))
    h:add_value(1.9)
    h:add_value(-1)
    local k = assert(kstat.open({ published = true })):lookup("numbers", 0, "cut")
    assert.same({ 1, 1, 1, 1 }, { k.count, k.sum, k.max, k.out_of_range })
  end)

  it("of 64 bits that LuaJIT has goes into a histogram as it is", function()
    if not ffi then return end
    local h = assert(pub:histogram({ name = "whole", type = "log2" }))
    local least, most = ffi.new("int64_t", 2 ^ 53) + 1, ffi.cast("uint64_t", ffi.new("int64_t", -1))
    assert.is_true(h:add_value(least))
    assert.is_true(h:add_value(most))
    local k = assert(kstat.open({ published = true })):lookup("numbers", 0, "whole")
    assert.is_true(k:exact("min") == least and k:exact("max") == most)
  end)

  it("that goes into a statsblob is of its VOI's type", function()
    for what, blob in pairs({ shared = shared, private = private }) do
      local function update(id)
        return function(v) local ok, message, errname = blob:update(id, v) return ok, message, errname end
      end
      check({
        [what .. " u64"] = { update(0), "RRR+RR++R+!!!!", "R!!" },
        [what .. " s32"] = { update(1), "RRR++RRRR+!!!!", "+!!" },
        [what .. " sq64"] = { update(2), "RRR+++RRR+!!!!", "+!!" },
        [what .. " id"] = { function(v) local ok = blob:update(v, 1) return ok end, "!!!+!!!!!!!!!!" },
      })
    end
    check({
      quantile = { function(v) local q, message, errname = digest:quantile(2, v) return q, message, errname end,
        "!!!+!!!!!!!!!!" },
    })
  end)

  it("that describes a kstat is checked before there is one", function()
    local function spec(field, more)
      return function(v)
        local statistic = { name = "a" }
        for key, value in pairs(more or {}) do statistic[key] = value end
        statistic[field] = v
        local k, message, errname = pub:named({ name = name(), statistics = { statistic } })
        return k, message, errname
      end
    end
    local function of_named(field)
      return function(v)
        local k, message, errname = pub:named({ name = name(), statistics = { "a" }, [field] = v })
        return k, message, errname
      end
    end
    local function linear(field)
      return function(v)
        local s = { name = name(), type = "linear", range_min = 0, range_max = 1000, stepping = 10 }
        s[field] = v
        local k, message, errname = pub:histogram(s)
        return k, message, errname
      end
    end
    check({
      ["value uint64"] = { spec("value", { kind = "gauge" }), "!!!+E!++!+!+!!" },
      ["value uint32"] = { spec("value", { type = "uint32" }), "!!!+E!EE!+!+!!" },
      ["value int32"] = { spec("value", { type = "int32" }), "!!!++!EE!+!+!!" },
      ["value int64"] = { spec("value", { type = "int64" }), "!!!++!+E!+!+!!" },
      ["value double"] = { spec("value", { type = "double" }), "++++++++++!+!!" },
      ["scale"] = { spec("scale"), "!!!+!!++!+!+!!" },
      ["shards"] = { of_named("shards"), "!!!EE!E!!+!+!!" },
      ["instance"] = { of_named("instance"), "!!!+!!!!!!!+!!" },
      ["range_min"] = { linear("range_min"), "!!!+!!EE!E!+!!" },
      ["stepping"] = { linear("stepping"), "!!!E!!EE!E!E!!" },
    })
  end)

  it("that describes a device, or is a time of one, is no other one in any Lua", function()
    local devstat = kstat.devstat
    local function field(key)
      return function(v) local d = devstat.device({ [key] = v }) return d end
    end
    local entry = assert(devstat.registry():new_entry({ name = "md" }))
    check({
      ["read_bytes"] = { field("read_bytes"), "!!!+!!++!+!+!!" },
      ["busy_time_ns"] = { field("busy_time_ns"), "!!!+!!+!!+!+!!" },
      ["block_size"] = { field("block_size"), "!!!+!!!!!+!+!!" },
      ["priority"] = { field("priority"), "!!!+!!!!!+!+!!" },
      ["busy_time"] = { field("busy_time"), "!!!++++!!+!+!!" },
      ["end_transaction"] = { function(v) entry:end_transaction("read", v) return true end, "!!!+!!!!!+!+!!" },
      ["start_transaction"] = { function(v) entry:start_transaction(v) return true end, "!!!++++!!+!+!!" },
      ["compute_etime"] = { function(v) local t = devstat.compute_etime(v) return t end, "!!!++++!!+!!!!" },
    })
  end)

  it("that is set in a kstat of this process alone is of its type", function()
    local own = assert(kstat.publish("numbers_own", { process = true }))
    local k = assert(own:named({ name = "n", statistics = { "u64", { name = "i32", type = "int32" },
      { name = "d", type = "double" } } }))
    local h = assert(own:histogram({ name = "h", type = "linear", range_max = 1, stepping = 1, buckets = { 0, 0 } }))
    local function set(key)
      return function(v) local ok, message, errname = k:set(key, v) return ok, message, errname end
    end
    check({
      ["u64"] = { set("u64"), "!!!+E!++!+!!!!" },
      ["i32"] = { set("i32"), "!!!++!EE!+!!!!" },
      ["d"] = { set("d"), "++++++++++!!!!" },
      ["a count"] = { function(v) local ok = h:set_buckets({ v, 0 }) return ok end, "!!!+!!++!+!!!!" },
    })
    own:close()
  end)

  it("that is an option, a time or a share has the same answer in every Lua", function()
    local capture = assert(kstat.open("spec/vectors/kstat/host.jsonl"))
    local blob = stats.find("numbers"):blob()
    local disk = kstat.devstat.device({ name = "da0", read_bytes = 100 })
    blob:update(2, 5)
    local writable = assert(pub:named({ name = "w", writable = true, statistics = { { name = "g", kind = "gauge" },
      { name = "i", kind = "gauge", type = "int32" }, { name = "d", kind = "gauge", type = "double" } } }))
    ks:update()
    local w = assert(ks:lookup("numbers", 0, writable.name))
    local function first(f, ...)
      local before, n = { ... }, select("#", ...) + 1
      return function(v)
        before[n] = v
        local a, message, errname = f((table.unpack or unpack)(before, 1, n))
        return a, message, errname
      end
    end
    local function step(v)
      local template = assert(stats.template("numbers" .. name()))
      local ok, message, errname = template:add_voi(0, "v", "s64", { stats.crhist64_lin(0, 120, v) })
      return ok, message, errname
    end
    local function write(key)
      return function(v) local ok, message, errname = w:write({ [key] = v }) return ok, message, errname end
    end
    check({
      ["seek"] = { first(capture.seek, capture), "!+DDDD+++D!!!!" },
      ["every"] = { function(v) local f = kstat.every(v, 1, { chain = capture }) return f end, "!!!!!+!!!+!!+!" },
      ["cdf"] = { first(blob.cdf, blob, 2), "E+++++++++!!!!" },
      ["step"] = { step, "!!!E!!+!!!!!!!" },
      ["write u64"] = { write("g"), "EEE+RE++EEE+!!" },
      ["write i32"] = { write("i"), "EEE++ERREEE+!!" },
      ["max"] = { function(v) local list = kstat.devstat.select({ disk }, { max = v }) return list end,
        "!+!+!!+++!!+!!" },
      ["decimals"] = { first(kstat.devstat.text, disk, nil, 1, "total_bytes"), "!!!+!!!!!+!!!!" },
      ["etime"] = { first(kstat.devstat.compute, disk, nil), "++++++++++!!!!" },
    })
  end)

  it("that names a kstat is whole", function()
    check({
      ["lookup"] = { function(v) local k, message, errname = ks:lookup("x", v, "y") return k, message, errname end,
        "NNNNNNNNN!!N!!" },
      ["selector"] = { function(v) local s = kstat.selector({ instance = v }) return s end, "!!!++!!!!+++!!" },
      ["share"] = { function(v) local s = distribution:share(v) return s or 0 end, "++++++++++!!!!" },
      ["quantile"] = { function(v) local q = distribution:quantile(v) return q end, "!!!+!!!!!!!!!!" },
    })
  end)
end)
