-- A segment into which somebody wrote what does not belong there is replaced when its name is published again.
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
end)
