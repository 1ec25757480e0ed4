-- Each method of each object, called with what is none of its objects, and when what the object came from is closed, or
-- the object collected in any order: an answer, or an error at the script's line.
local core = require("kstat.core")
local kstat = require("kstat")
local stats = kstat.stats

local made = 0

-- One object of each kind, and what they came from.
local function objects()
  made = made + 1
  local ks, pub = assert(kstat.open("spec/vectors/kstat/host.jsonl")), assert(kstat.publish("selves" .. made))
  local own = assert(kstat.publish("selves_own" .. made, { process = true }))
  local before = ks:sample()
  ks:update()
  local now = ks:sample()
  local template = assert(stats.template("selves" .. made))
  assert(template:add_voi(0, "v", "u64", { stats.sum(), stats.tdgstclust64(10, 5) }))
  local histogram, named = pub:histogram({ name = "h", type = "log2" }), pub:named({ name = "n", statistics = { "a" } })
  local timers, registry = pub:timer({ name = "t", timers = { "x" } }), kstat.devstat.registry()
  histogram:add_value(5)
  local live = kstat.open({ published = true })
  return { chain = ks, sample = now, difference = now - before, kstat = ks:lookup("cpu", 0, "sys"),
    of_difference = (now - before):lookup("cpu", 0, "sys"), selector = kstat.selector("cpu"), live = live,
    distribution = live:lookup(pub.name, 0, "h"):distribution(), of_live = live:lookup(pub.name, 0, "n"),
    pub = pub, named = named, counter = named:counter("a"), io = pub:io({ name = "q" }), timers = timers,
    timer = timers:timer("x"), intr = pub:intr({ name = "i" }), histogram = histogram,
    latency = pub:latency({ name = "l" }), raw = pub:raw({ name = "r", bytes = "x" }),
    shared = pub:blob({ name = "b", template = template }), template = template, blob = template:blob(),
    own = own, own_named = own:named({ name = "n", statistics = { "a" } }),
    own_histogram = own:histogram({ name = "h", type = "linear", range_max = 1, stepping = 1, buckets = { 0, 0 } }),
    reader = kstat.devstat.open(ks), history = kstat.devstat.history(), registry = registry,
    entry = registry:new_entry({ name = "md" }), device = kstat.devstat.device({ name = "da0" }),
    selection = kstat.devstat.selection(), recording = kstat.recording.memory() }
end

local HEAVY = { condemn = true, render = true, record = true }

local function methods_of(kind, o)
  local meta, list = debug.getmetatable(o), {}
  local more = { chain = core.chain_meta.methods, live = core.chain_meta.methods, sample = core.sample_meta.methods,
    difference = core.difference_meta.methods, kstat = core.kstat_methods, of_difference = core.kstat_methods,
    of_live = core.kstat_methods }
  for _, from in ipairs({ meta and rawget(meta, "__index") or {}, type(o) == "table" and o or {}, more[kind] or {} }) do
    for name, f in pairs(type(from) == "table" and from or {}) do
      list[name] = type(f) == "function" and not HEAVY[name] and not name:find("^__") and f or nil
    end
  end
  return list
end

-- Calls every method of every object with what self(kind, o) gives; returns how many calls raise at another line.
local function wrong_calls(all, selves)
  local wrong, n = {}, 0
  for kind, o in pairs(all) do
    for name, f in pairs(methods_of(kind, o)) do
      for _, self in ipairs(selves or { o }) do
        local ok, message = pcall(function() local a = f(self[1], 1, 1) return a end)
        n = n + 1
        if not ok and not (tostring(message):find("selves_spec.lua:%d+: ") and not message:find("attempt to")) then
          wrong[#wrong + 1] = ("%s:%s: %s"):format(kind, name, tostring(message))
        end
      end
    end
  end
  assert.is_true(n > 180, n)
  return table.concat(wrong, "\n")
end

describe("a method", function()
  it("whose self is of another kind raises at the script's line", function()
    local all = objects()
    local strange = setmetatable({}, { __index = function() return function() end end })
    assert.equal("", wrong_calls(all, { { nil }, { {} }, { 5 }, { "x" }, { io.stdout }, { strange } }))
    assert.equal("", wrong_calls(all, { { all.io }, { all.histogram }, { all.blob }, { all.chain } }))
  end)

  it("of what is closed, deleted or came from it answers, or raises there", function()
    local all = objects()
    for _, kind in ipairs({ "named", "io", "timers", "histogram", "raw", "shared", "own_named" }) do
      all[kind]:delete()
    end
    for _, kind in ipairs({ "chain", "live", "pub", "own", "recording", "blob" }) do
      all[kind]:close()
    end
    all.entry:remove()
    for kind, o in pairs(all) do
      for name, f in pairs(methods_of(kind, o)) do
        local ok, message = pcall(function() local a = f(o, 1, 1) return a end)
        if not ok then
          assert.matches("selves_spec.lua:%d+: ", tostring(message), kind .. ":" .. name)
        end
      end
      assert.is_string(tostring(o))
    end
  end)
end)

describe("objects", function()
  it("are collected in any order, and used from weak tables, coroutines and finalizers meanwhile", function()
    for round = 1, 6 do
      local all, weak, kinds = objects(), setmetatable({}, { __mode = "v" }), {}
      for kind, o in pairs(all) do
        weak[kind], kinds[#kinds + 1] = o, kind
      end
      table.sort(kinds)
      for i = 1, #kinds do
        local kind = kinds[(i * (round * 2 + 5)) % #kinds + 1] -- each round another order
        all[kind] = nil
        collectgarbage()
        for left, o in pairs(weak) do
          coroutine.wrap(function()
            local ok, message = pcall(function() return tostring(o) .. tostring(methods_of(left, o)) end)
            assert(ok, message)
          end)()
        end
      end
    end
    local seen = 0
    do
      local all = objects()
      local function use()
        for kind, o in pairs(all) do
          for name, f in pairs(methods_of(kind, o)) do
            pcall(f, o, name, 1)
          end
        end
        seen = seen + 1
      end
      if _VERSION > "Lua 5.1" then
        setmetatable({}, { __gc = use })
      else
        getmetatable(newproxy(true)).__gc = use
      end
    end
    for _ = 1, 4 do collectgarbage() end
    assert.equal(1, seen)
  end)
end)
