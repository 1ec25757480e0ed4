-- A segment into which somebody wrote what does not belong there is replaced when its name is published again.
local core = require("kstat.core")
local kstat = require("kstat")
local run = require("support.run")

describe("a damaged segment", function()
  local pub, again

  after_each(function()
    for _, p in ipairs({ pub, again }) do
      p:close()
    end
  end)

  local function value()
    return run.shell(run.bin .. "/kstat -p damaged:0:jobs:done").out:match("\t(%d+)\n")
  end

  local function publish()
    local p = assert(kstat.publish("damaged"))
    return p, assert(p:named({ name = "jobs", statistics = { "done" } }))
  end

  it("is replaced once it was condemned, and what counted in it is seen by nobody", function()
    local old, new
    pub, old = publish()
    old:add("done", 5)
    pub:condemn()
    assert.equal("5", value())
    again, new = publish()
    new:add("done", 1)
    old:add("done", 7)
    assert.equal("1", value())
    pub:close()
    assert.equal("1", value())
    again:close()
    assert.is_nil((io.open(os.getenv("KSTAT_DIR") .. "/damaged.kseg")))
  end)

  it("is found by what lies in it, and a sound one is kept", function()
    local k
    pub, k = publish()
    k:add("done", 5)
    again, k = publish()
    k:add("done", 1)
    assert.equal("6", value())
    again:close()
    local f = assert(io.open(pub:path(), "r+"))
    f:seek("set", 4096) -- the first entry
    f:write(("\255"):rep(64))
    f:close()
    again, k = publish()
    k:add("done", 2)
    assert.equal("2", value())
  end)

  it("has nothing that is idle where it does not say what it counted", function()
    pub = assert(kstat.publish("damaged"))
    local template = kstat.stats.find("ns:damaged") or assert(kstat.stats.template("damaged"))
    template:add_voi(0, "rtt", "u64", { kstat.stats.sum() })
    for _, name in ipairs({ "sound", "wrong" }) do
      assert(pub:blob({ name = name, class = "app.idle", template = template }))
    end
    local function idle()
      local list, found = core.idle(), {}
      for _, now in ipairs({ 0, 100 }) do
        assert(list:begin(pub:path()))
        for name in function() return list:next({ "app." }, now, 100) end do
          found[#found + 1] = name ~= "" and name or nil
        end
      end
      table.sort(found)
      return table.concat(found, " ")
    end
    assert.equal("sound wrong", idle())
    local head = run.read_file(pub:path()):match(".*()blob") -- of the last one
    local f = assert(io.open(pub:path(), "r+"))
    f:seek("set", head - 1 + 12) -- how many variables it has
    f:write("\255\255")
    f:close()
    assert.equal("sound", idle())
    again = pub
  end)
end)
