-- The collector at work at every allocation, objects dropped in every order.
local kstat = require("kstat")
local run = require("support.run")

local host = "spec/vectors/kstat/host.jsonl"

-- Runs f with a collector that never rests. LuaJIT interprets it: a trace whose first allocation always starts the
-- collector is left there and entered again, for ever.
local function stressed(f)
  local pause, step = collectgarbage("setpause", 0), collectgarbage("setstepmul", 100000)
  local jit = rawget(_G, "jit")
  if jit then
    jit.off()
  end
  local ok, message = pcall(f)
  if jit then
    jit.on()
  end
  collectgarbage("setpause", pause)
  collectgarbage("setstepmul", step)
  assert(ok, message)
end

local function work(ks)
  local n = 0
  for k, _, value in ks:values("sd:0", "cpu_stat:0::/^c/", { class = "net" }) do
    n = n + (value and k.instance >= 0 and 1 or 0)
  end
  local leaf = ks.cpu_stat[0].cpu_stat0
  local one = assert(ks:sample("sd", "cpu_stat"))
  ks:update()
  local two = assert(ks:sample("sd", "cpu_stat"))
  local d = two - one
  for k in d:each("sd") do
    n = n + (k:rate("nread") and 1 or 0) + k:before():get("reads") - k:before():get("reads")
  end
  for stat in ks:lookup("sd", 0):stats() do
    n = n + #stat
  end
  n = n + #tostring(d) + #kstat.tostring(d:rate("sd:::nread")) + leaf.syscall
  n = n + #ks:render("json", "sd") + #tostring(kstat.selector("/a|b/:*:c?"))
  for now, prev in kstat.every(1, 2, { chain = ks, select = "cpu_stat" }) do
    n = n + (prev and (now - prev).cpu_stat[0].cpu_stat0.syscall or 0) + #now:select("sd")
  end
  return n
end

describe("under a collector that never rests", function()
  it("everything works, and gives the same", function()
    local ks = assert(kstat.open(host))
    local expected = work(ks)
    assert.is_true(expected > 1000)
    stressed(function()
      for _ = 1, 3 do
        assert.equal(expected, work(assert(kstat.open(host))))
      end
    end)
  end)

  it("what fails leaves nothing behind", function()
    stressed(function()
      for _ = 1, 20 do
        assert.is_nil((kstat.open("/nonexistent")))
        assert.is_nil((kstat.selector("/a/:/(/")))
        assert.is_false(pcall(kstat.selector, { module = "/x/", name = 5 }))
        local ks = kstat.open(host)
        assert.is_false(pcall(ks.lookup, ks, {}))
        assert.is_nil((ks:select("/(/")))
      end
    end)
  end)

  it("objects outlive what they came from", function()
    local kept = {}
    stressed(function()
      local ks = assert(kstat.open(host))
      local one = assert(ks:sample("sd"))
      ks:update()
      local d = assert(ks:sample("sd")) - one
      kept.live, kept.sampled, kept.differing = ks:lookup("sd", 0), one:lookup("sd", 0), d:lookup("sd", 0)
      kept.iterate = ks:values("sd:0:sd0:n*")
    end)
    collectgarbage()
    collectgarbage()
    assert.equal(13868881, kept.differing:get("nread"))
    assert.equal(13868881, kept.live:get("nread") - kept.sampled:get("nread"))
    local _, stat = kept.iterate()
    assert.equal("nread", stat)
  end)

  it("a closed chain and collected samples are no trouble", function()
    stressed(function()
      local ks = assert(kstat.open(host))
      local list = ks:select()
      local now = ks:sample("sd")
      ks:close()
      for i = 1, #list do
        assert.is_false(pcall(list[i].get, list[i], "crtime"))
        assert.is_string(tostring(list[i]) .. list[i].class)
      end
      assert.equal("counter", now:lookup("sd", 0):meta("nread").kind)
    end)
  end)

  it("finalizers may still use what they hold", function()
    local seen = {}
    local meta = { __gc = function(x)
      seen[#seen + 1] = tostring(x.k) .. select("#", pcall(x.k.get, x.k, "nread"))
      seen[#seen + 1] = tostring(pcall(x.ks.lookup, x.ks, "sd"))
    end }
    do
      local ks = kstat.open(host)
      local x = { ks = ks, k = ks:sample("sd"):lookup("sd", 0) }
      if _VERSION > "Lua 5.1" then
        setmetatable(x, meta)
      else
        local proxy = newproxy(true)
        getmetatable(proxy).__gc = function() meta.__gc(x) end
        x.proxy = proxy
      end
    end
    for _ = 1, 4 do
      collectgarbage()
    end
    assert.equal(2, #seen)
  end)

  it("frees chains that nobody closed when a process has no descriptors left", function()
    local script = ([[
      package.path, package.cpath = %q, %q
      local kstat = require("kstat")
      collectgarbage("stop") -- as if the memory of chains were too small for the collector to begin
      for _ = 1, 100 do
        local ks = assert(kstat.open())
        assert(ks:sample("cpu", "unix", "net"))
      end
      local held = {}
      for i = 1, 1000 do
        local message
        held[i], message = kstat.open()
        if message then print(i > 15, message) break end
      end]]):format(package.path, package.cpath)
    local r = run.shell(("ulimit -n 300; %s -e %s"):format(run.lua, run.quote(script)))
    assert.matches("^true\tcannot open [^(]*: Too many open files\n$", r.out .. r.err)
  end)
end)
