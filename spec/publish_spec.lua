-- Publishing from Lua; each block publishes in a directory of its own, which a chain of the same
-- process reads like any other process would.
local run = require("support.run")

local script = [[
local kstat = require("kstat")
local pub = assert(kstat.publish("spec"))
local function read(name, stat)
  local ks = assert(kstat.open())
  local k = assert(ks:lookup("spec", 0, name))
  local v = k:text(stat)
  ks:close()
  return tonumber(v) or v
end
local function check(got, want, what)
  if got ~= want then
    error(("%s: got %s, want %s"):format(what or "value", tostring(got), tostring(want)), 2)
  end
end
]]

describe("kstat.publish", function()
  local dir

  before_each(function()
    dir = os.tmpname()
    os.remove(dir)
    assert(os.execute("mkdir " .. dir))
  end)

  after_each(function() os.execute("rm -rf " .. dir) end)

  -- Runs Lua text in a process of its own.
  local function lua(text, prefix, err)
    local file = dir .. "/script.lua"
    local f = assert(io.open(file, "w"))
    f:write("package.path = ", ("%q"):format(package.path), "\npackage.cpath = ", ("%q"):format(package.cpath),
      "\n", prefix or script, text, "\nprint('done')\n")
    f:close()
    local r = run.shell(("KSTAT_DIR=%s KSTAT_PROC=%s KSTAT_SYS=%s %s %s"):format(dir, dir, dir, run.lua, file))
    assert.equal(err or "", r.err)
    assert.equal("done\n", r.out)
    os.remove(file)
  end

  it("blames the caller, whatever module found the mistake", function()
    lua([[
      local k = assert(pub:named({ name = "n", statistics = { "hits", { name = "load", type = "double" } } }))
      for what, f in pairs({
        ["named: unknown field 'nam'"] = function() pub:named({ nam = "x" }) end,
        ["type: 'cubic' is not known"] = function() pub:histogram({ name = "h", type = "cubic" }) end,
        ["spec:0:n has no statistic 'x'"] = function() k:add("x") end,
        ["a floating-point statistic can only be set"] = function() k:add("load", 1) end,
      }) do
        local ok, message = pcall(f)
        check(ok, false)
        check(message:match("^.*script.lua:%d+: (.*)$"), what)
      end
    ]])
  end)

  it("counts", function()
    lua([[
      local k = assert(pub:named({ name = "n", statistics = { "hits", "misses",
        { name = "level", kind = "gauge" }, { name = "load", type = "double" } } }))
      local hits = k:counter("hits")
      for _ = 1, 100000 do hits:add(2) end
      hits:add()
      k:add("misses", 5)
      k:set("level", 17)
      k:counter("level"):max(12)
      k:counter("level"):max(21)
      k:set("load", 0.5)
      check(read("n", "hits"), 200001)
      check(read("n", "misses"), 5)
      check(read("n", "level"), 21)
      check(read("n", "load"), 0.5)
      check(k:counter("hits"), hits)
      check(pcall(hits.set, hits, 5), false)
      check(pcall(k.counter, k, "none"), false)
      k:delete()
      check(pcall(k.set, k, "level", 1) and assert(kstat.open()):lookup("spec", 0, "n"), nil)
    ]])
  end)

  it("publishes texts and arrays", function()
    lua([[
      local k = assert(pub:named({ name = "t", statistics = { { name = "version", type = "string", value = "v1.0" },
        { name = "state", type = "char", value = "starting" }, { name = "sizes", type = "ints", value = { 1, 2, 3 } },
        { name = "names", type = "strs", value = { "a", "bc" } } } }))
      check(read("t", "version"), "v1.0")
      check(read("t", "state"), "starting")
      check(read("t", "sizes"), "[1,2,3]")
      check(read("t", "names"), "[a,bc]")
      assert(k:set("version", "1.1 of today"))
      assert(k:set("sizes", { 4294967296, 5 }))
      assert(k:set("state", "up"))
      check(read("t", "version"), "1.1 of today")
      check(read("t", "sizes"), "[4294967296,5]")
      check(read("t", "state"), "up")
      local ok, message, errname = k:set("version", ("x"):rep(100))
      check(ok, nil)
      check(errname, "ENOSPC")
      check(type(message), "string")
    ]])
  end)

  it("keeps queues, by the names of the manual page", function()
    lua([[
      local q = assert(pub:io({ name = "q", class = "disk" }))
      check(q:waitq_enter(1000), true)
      check(q:waitq_to_runq(3000), true)
      check(q:done("read", 512, 4500), true)
      check(q:count("write", 8), true)
      check(read("q", "wtime"), 2000)
      check(read("q", "rlentime"), 1500)
      check(read("q", "reads"), 1)
      check(read("q", "nwritten"), 8)
      local ok, message, errname = q:runq_exit()
      check(ok, nil)
      check(errname, "EINVAL")
      check(message, "kstat_runq_exit: nothing is being served")
      check(pcall(q.done, q, "sideways"), false)
      assert(q:runq_enter() and q:runq_back_to_waitq() and q:waitq_exit())
      check(read("q", "rcnt") + read("q", "wcnt"), 0)
    ]])
  end)

  it("keeps timers, interrupts and histograms", function()
    lua([[
      local t = assert(pub:timer({ name = "t", timers = { "parse", "send" } }))
      t:start("parse", 100)
      t:stop("parse", 130)
      assert(t:timer("send"):event(5, 12))
      check(pcall(t.timer, t, "none"), false)
      local i = assert(pub:intr({ name = "i" }))
      i:hard()
      i:watchdog(4)
      i:counter("soft"):add(2)
      check(read("i", "hard") + read("i", "watchdog") + read("i", "soft"), 7)
      local h = assert(pub:histogram({ name = "h", type = "linear", range_max = 1024, stepping = 128,
        meta = "bytes", desc = "sizes" }))
      for v = 0, 255 do assert(h:add_value(v)) end
      check(read("h", "buckets"), "[1,127,128]")
      check(read("h", "type"), "linear")
      local ok, _, errname = pub:histogram({ name = "h2", type = "log10_lin", range_min = 1, range_max = 2,
        stepping = 3 })
      check(ok, nil)
      check(errname, "EINVAL")
      h:delete()
      check(pcall(h.add_value, h, 5), false)
    ]])
  end)

  it("has histograms that kstat draws, with their units, and prints as arrays", function()
    lua([[
      local h = assert(pub:histogram({ name = "h", class = "misc", type = "log10_lin", range_min = 2,
        range_max = 3, stepping = 5, meta = "t_rel", scale = 1e6, fract = true }))
      for _ = 1, 30 do assert(h:add_value(150)) end
      for _ = 1, 10 do assert(h:add_value(450)) end
      local empty = assert(pub:histogram({ name = "empty", type = "log2" }))
      local ks = assert(kstat.open())
      local text = ks:render("human", "kstat:/misc/spec/0/h")
      check(text:match("\ttype[^\n]*\n(.*)$"), table.concat({
        "\t          value (us)  ------------- Distribution ------------- count",
        "\t               < 100 |                                         0",
        "\t                 100 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@           30",
        "\t                 200 |                                         0",
        "\t                 400 |@@@@@@@@@@                               10",
        "\t                 600 |                                         0",
        "", "" }, "\n"))
      check(ks:render("human", "spec::h"):gsub("snaptime[^\n]*", ""), (text:gsub("snaptime[^\n]*", "")))
      check(ks:render("parseable", "kstat:/misc/spec/h/0"):match("h:buckets\t(%S+)"),
        "[0,30,0,10,0,0,0,0,0,0,0,0]")
      check(ks:render("json", "spec::h"):match('"buckets": (%S+),'), "[0,30,0,10,0,0,0,0,0,0,0,0]")
      check(ks:render("human", "spec::empty"):match("%(no values%)"), "(no values)")
      check(ks:render("human", "kstat:/net/spec/0/h"), "")
      check(ks:render("human", "spec::h:stepping"):match("Distribution"), nil)
    ]])
  end)

  it("goes on with what is there when it is done again, and stops when closed", function()
    lua([[
      local spec = { name = "n", statistics = { "a" } }
      local first = assert(pub:named(spec))
      first:add("a", 3)
      local counter = first:counter("a")
      local again = assert(assert(kstat.publish("spec")):named(spec))
      again:add("a", 4)
      check(read("n", "a"), 7)
      assert(io.open(pub:path())):close()
      pub:close()
      counter:add(1)
      check(pcall(pub.named, pub, spec), false)
      check(read == nil, false)
      local path = again and assert(kstat.publish("spec")):path()
      check(type(path), "string")
    ]])
    assert.equal("", run.shell("ls " .. dir).out)
  end)

  it("names mistakes at the caller's line", function()
    lua([[
      local function fails(pattern, f, ...)
        local ok, message = pcall(f, ...)
        if ok or not message:find(pattern) then error(tostring(message) .. " / " .. pattern, 2) end
      end
      fails("unknown field 'statistic'", function() pub:named({ name = "x", statistic = {} }) end)
      fails("script.lua:%d+: name: a string", function() pub:named({ statistics = {} }) end)
      fails("'uint63' is not known", function()
        pub:named({ name = "x", statistics = { { name = "a", type = "uint63" } } })
      end)
      fails("1 to 30 bytes", function() kstat.publish(("x"):rep(31)) end)
      fails("timers: an array", function() pub:timer({ name = "t" }) end)
      local ok, message, errname = kstat.publish("no/slash")
      check(ok, nil)
      check(errname, "EINVAL")
      check(message:find("no/slash", 1, true) ~= nil, true)
    ]])
  end)

  it("refuses names that readers would not show", function()
    lua([[
      local names = { { name = "a\nb", statistics = { "x" } }, { name = "n", statistics = { "x\27[31m" } },
        { name = "n", class = "\127", statistics = { "x" } }, { name = "n", module = "\1", statistics = { "x" } } }
      for _, spec in ipairs(names) do
        local k, message, errname = pub:named(spec)
        check(k, nil)
        check(message:match("control character"), "control character")
        check(errname, "EINVAL")
      end
      check(pub:timer({ name = "t", timers = { "a\tb" } }), nil)
      check(pub:named({ name = "n", statistics = { "x" } }) ~= nil, true)
      check(read("n", "x"), 0)
    ]])
  end)

  it("refuses fractions where it counts whole things, and names what has one", function()
    lua([[
      local k = assert(pub:named({ name = "n", statistics = { "hits", { name = "level", kind = "gauge" },
        { name = "load", type = "double" } } }))
      local h = assert(pub:histogram({ name = "h", type = "log2" }))
      local q = assert(pub:io({ name = "io" }))
      local t = assert(pub:timer({ name = "t", timers = { "job" } }))
      local hits, level = k:counter("hits"), k:counter("level")
      local function linear(field, value)
        local spec = { name = "x", type = "linear", range_min = 0, range_max = 10, stepping = 1 }
        spec[field] = value
        return function() pub:histogram(spec) end
      end
      local function named(field, value)
        return function()
          pub:named({ name = "x", statistics = { { name = "a", type = type(value) == "table" and "ints" or nil,
            [field] = value } } })
        end
      end
      -- What is called in C without LuaJIT names the argument by its number.
      local c = not rawget(_G, "jit")
      for what, fs in pairs({
        ["hits"] = { function() k:add("hits", 0.5) end },
        ["level"] = { function() k:set("level", -0.5) end },
        [c and "bad argument #1 to 'add'" or "hits"] = { function() hits:add(1e-9) end },
        [c and "bad argument #1 to 'set'" or "level"] = { function() level:set(0.5) end },
        [c and "bad argument #1 to 'max'" or "level"] = { function() level:max(0.5) end },
        [c and "bad argument #1 to 'add_value'" or "value"] = { function() h:add_value(1.5) end },
        [c and "bad argument #2 to 'done'" or "bytes"] = { function() q:done("read", 1.5) end },
        [c and "bad argument #2 to 'count'" or "bytes"] = { function() q:count("read", 1.5) end },
        [c and "bad argument #1 to 'waitq_enter'" or "time"] = { function() q:waitq_enter(1.5) end },
        ["time"] = { function() t:start("job", 1.5) end, function() t:stop("job", 1.5) end },
        ["start"] = { function() t:event("job", 1.5, 2) end },
        ["stop"] = { function() t:event("job", 1, 2.5) end },
        ["range_min"] = { linear("range_min", 0.5) },
        ["range_max"] = { linear("range_max", 9.5) },
        ["stepping"] = { linear("stepping", 1.5), linear("stepping", 1 / 0), linear("stepping", 0 / 0) },
        ["scale"] = { linear("scale", 1.5) },
        ["scale of a"] = { named("scale", 0.5) },
        ["value of a"] = { named("value", 1.5) },
        ["a"] = { named("value", { 1, 2.5 }) },
        ["shards"] = { function() pub:named({ name = "x", statistics = { "a" }, shards = 1.5 }) end },
      }) do
        for _, f in ipairs(fs) do
          local ok, message = pcall(f)
          check(ok, false, what)
          local said, why = message:match("^.*script.lua:%d+: (.-):? %(?(number has no integer representation)%)?$")
          check(said, what, message)
          check(why ~= nil, true)
        end
      end
      hits:add(2.0)
      k:add("hits", 1e3)
      k:set("load", 0.5)
      assert(h:add_value(3.0))
      check(read("n", "hits"), 1002)
      check(read("n", "load"), 0.5)
    ]])
  end)

  it("refuses two statistics or timers of one name, and says which", function()
    lua([[
      local k, message, errname = pub:named({ name = "n", statistics = { "a", "b", { name = "a", type = "double" } } })
      check(k, nil)
      check(message, "spec:0:n: more than one statistic is named 'a'")
      check(errname, "EINVAL")
      k, message, errname = pub:timer({ name = "t", timers = { "job", "job" } })
      check(k, nil)
      check(message, "spec:0:t: more than one statistic is named 'job'")
      check(errname, "EINVAL")
      check(pub:named({ name = "n", statistics = { "a", "A" } }) ~= nil, true)
      check(read("n", "A"), 0)
    ]])
  end)

  it("has no part in files that no publisher makes", function()
    local name = "x\27[31m.kseg"
    assert(io.open(dir .. "/" .. name, "w")):close()
    local environment = ("KSTAT_DIR=%s KSTAT_PROC=%s KSTAT_SYS=%s"):format(dir, dir, dir)
    local r = run.shell(("%s %s/kstat -p ':::x'; %s %s/kstat --gc"):format(environment, run.bin, environment, run.bin))
    assert.equal("", r.err)
    assert.equal("", r.out)
  end)

  it("refuses a name that another process publishes, or shares it", function()
    lua([[
      local kstat = require("kstat")
      assert(assert(kstat.publish("spec")):named({ name = "n", statistics = { "a" } })):add("a", 40)
      local text = [=[
        local kstat = require("kstat")
        local pub, message, errname = kstat.publish("spec")
        if pub or errname ~= "EBUSY" then error("not refused") end
        local k = assert(assert(kstat.publish("spec", { shared = true })):named({ name = "n", statistics = { "a" } }))
        k:counter("a"):add(2)
      ]=]
      local file = os.getenv("KSTAT_DIR") .. "/child.lua"
      local f = assert(io.open(file, "w"))
      f:write("package.path = ", ("%q"):format(package.path), "\npackage.cpath = ",
        ("%q"):format(package.cpath), "\n", text)
      f:close()
      local status = os.execute(arg[-1] .. " " .. file)
      assert(status == true or status == 0)
      assert(assert(kstat.open()):lookup("spec", 0, "n"):get("a") == 42)
      os.remove(file)
    ]], "")
  end)

  it("cleans up what the dead left", function()
    lua([[
      local kstat = require("kstat")
      assert(assert(kstat.publish("mortal")):named({ name = "n", statistics = { "a" } }))
      os.execute("kill -9 $PPID")
    ]], "io.stdout:write('done\\n') io.stdout:flush() ", "Killed\n")
    assert.equal("mortal.kseg\n", run.shell("ls " .. dir .. " | grep -v lua").out)
    lua([[
      local removed = require("kstat").gc()
      assert(#removed == 1 and removed[1]:find("mortal.kseg", 1, true))
    ]], "")
  end)
end)
