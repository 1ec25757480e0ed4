-- Publishing again in one process, as nginx does at each reload.
local run = require("support.run")

describe("publishing again in the same process", function()
  local dir

  before_each(function() dir = run.directory() end)
  after_each(function() run.remove_directory(dir) end)

  local function lua(text)
    run.write_file(dir .. "/script.lua", ("package.path = %q\npackage.cpath = %q\n"):format(package.path, package.cpath)
      .. "local kstat = require('kstat')\n" .. text)
    local r = run.shell(("KSTAT_DIR=%s/k %s %s/script.lua"):format(dir, run.lua, dir))
    assert.equal("", r.err)
    return r.out
  end

  it("keeps no memory of the kstats of the last time", function()
    local kilobytes = tonumber(lua([[
      local function kilobytes()
        collectgarbage() collectgarbage()
        for line in io.lines("/proc/self/status") do
          local n = line:match("^RssAnon:%s*(%d+)")
          if n then return tonumber(n) end
        end
      end
      local function publish()
        local pub = assert(kstat.publish("spec"))
        for i = 1, 300 do
          assert(pub:named({ name = "k" .. i, statistics = { { name = "n", desc = ("text"):rep(50) } } })):add("n")
        end
      end
      for _ = 1, 5 do publish() end
      local before = kilobytes()
      for _ = 1, 20 do publish() end
      print(kilobytes() - before)
    ]]))
    -- Without release it is a kilobyte and a half for each of 6,000 kstats.
    -- A sanitizer keeps released memory for a while.
    assert.is_true(kilobytes < (os.getenv("ASAN_OPTIONS") and 200000 or 1500), kilobytes)
  end)

  it("goes on counting in a kstat that nothing refers to", function()
    assert.equal("3\n", lua([[
      local pub = assert(kstat.publish("spec"))
      for _ = 1, 3 do
        assert(pub:named({ name = "k", statistics = { "n" } })):add("n")
        collectgarbage() collectgarbage()
      end
      print((assert(kstat.open({ published = true })):lookup("spec", 0, "k"):text("n")))
    ]]))
  end)

  it("knows whether a kstat is there", function()
    assert.equal("false true false\n", lua([[
      local pub = assert(kstat.publish("spec"))
      local before = pub:has("k")
      local k = assert(pub:named({ name = "k", statistics = { "n" } }))
      local with = pub:has("k")
      k:delete()
      print(("%s %s %s"):format(before, with, pub:has("k")))
    ]]))
  end)

  it("removes a kstat that another object refers to, whose place a later one may take", function()
    assert.equal("true false 0\n", lua([[
      local pub = assert(kstat.publish("spec"))
      local k = assert(pub:named({ name = "k", statistics = { "n" }, persistent = true }))
      local removed, again = pub:remove("k"), pub:remove("k")
      k:add("n", 5)
      assert(pub:named({ name = "k", statistics = { "n" }, persistent = true }))
      local ks = assert(kstat.open({ published = true }))
      print(("%s %s %s"):format(removed, again, ks:lookup("spec", 0, "k"):text("n")))
    ]]))
  end)

  it("has the size that was asked for, and says when it is full", function()
    assert.equal("ENOSPC\nEINVAL\n", lua([[
      local pub = assert(kstat.publish("spec", { capacity = 65536 }))
      local k, message, code = true
      for i = 1, 10000 do
        k, message, code = pub:named({ name = "k" .. i, statistics = { "n" } })
        if not k then break end
      end
      print(code)
      print((select(3, kstat.publish("other", { capacity = 1 }))))
    ]]))
  end)
end)
