-- Functions of the module that no other spec, example or document uses.
local kstat = require("kstat")

describe("the module", function()
  local pub

  setup(function()
    pub = assert(kstat.publish("small_functions"))
  end)

  teardown(function()
    pub:close()
  end)

  it("says whether a kstat is a histogram", function()
    pub:histogram({ name = "sizes", type = "log2", range_max = 10 })
    pub:named({ name = "jobs", statistics = { "done" } })
    local ks = assert(kstat.open())
    assert.is_true(kstat.histogram.is(ks:lookup("small_functions", 0, "sizes")))
    assert.is_false(kstat.histogram.is(ks:lookup("small_functions", 0, "jobs")))
    ks:close()
  end)

  it("gives the fields that a selector was made of", function()
    assert.same({ module = "sd", instance = "0", name = "/^sd/", statistic = "", class = "" },
      kstat.selector("sd:0:/^sd/"):fields())
  end)

  it("takes nothing out of a gauge in which no thread that died has a part", function()
    local jobs = pub:named({ name = "flight", statistics = { { name = "in_flight", kind = "gauge", parts = true } } })
    jobs:add("in_flight", 3)
    assert.equal(0, tonumber(jobs:reclaim("in_flight")))
    local ks = assert(kstat.open())
    assert.equal(3, ks:lookup("small_functions", 0, "flight"):get("in_flight"))
    ks:close()
  end)

  local luajit = rawget(_G, "jit") and it or function() end
  luajit("shows in LuaJIT that a kstat was deleted", function()
    local jobs = pub:named({ name = "pinned", statistics = { "done" } })
    local pointer, created = jobs:pin()
    assert.is_true(pointer[0] == created)
    assert(pub:remove("pinned"))
    assert.is_false(pointer[0] == created)
  end)

  it("flushes what is no file by its own method", function()
    local core = require("kstat.core")
    local sink = { flush = function(self, more) return self.name, more, 5 end, name = "sink" }
    assert.same({ "sink", nil, 5 }, { core.flush(sink) })
  end)

  it("makes no line of a table without a text for what is missing", function()
    local core = require("kstat.core")
    local layout = core.layout({ { room = 3, align = "right" } }, " ")
    assert.equal("  -\n", core.line(layout, {}, "-"))
    assert.error_matches(function() core.line(layout, {}) end, "bad argument #3 to '.*line' %(string expected, got n")
  end)

  it("know signals by their names and numbers", function()
    local core = require("kstat.core")
    for name, number in pairs({ HUP = 1, KILL = 9, TERM = 15, ["9"] = 9 }) do
      assert.equal(number, core.signal_number(name), name)
    end
    assert.is_nil(core.signal_number("HUB"))
    assert.is_nil(core.signal_number("0"))
  end)
end)
