-- What the page asks its server for, without a browser.
local cjson = require("cjson")
local run = require("support.run")

local unpack = table.unpack or unpack

describe("kstat.page", function()
  local dir

  setup(function() dir = run.directory() end)
  teardown(function() run.remove_directory(dir) end)

  -- What the page's answer of a name is, over a machine that has nothing but what a process published.
  local function answer(name, selector)
    local r = run.run({ "kstatlua", "-e", [[
      local core, page = require("kstat.core"), require("kstat.page")
      local pub = assert(kstat.publish("spec"))
      local h = assert(pub:histogram({ name = "h", type = "log2", range_max = 4 }))
      h:add_value(15)
      assert(pub:named({ name = "n", shards = 1, statistics = {
        { name = "c", kind = "counter", unit = "KiB", scale = 4, desc = "a \"b\"", value = 7 } } }))
      local ks = assert(kstat.open())
      local _, _, body = page.answer(ks, arg[1], arg[2] and { core.selector_of(arg[2]) } or {})
      io.write(tostring(body))
    ]], name, selector, env = { KSTAT_DIR = dir, KSTAT_PROC = dir, KSTAT_SYS = dir } })
    assert.equal("", r.err)
    return r.out
  end

  -- The one of a list that has this name.
  local function named(text, name)
    for _, k in ipairs(cjson.decode(text)) do
      if k.name == name then
        return k
      end
    end
  end

  it("lists kstats with who publishes them, and which are histograms", function()
    local list = answer("list.json")
    assert.same({ module = "spec", instance = 0, name = "n", class = "misc", type = "named", publisher = "spec",
      uid = tonumber(run.shell("id -u").out), histogram = false }, named(list, "n"))
    assert.is_true(named(list, "h").histogram)
  end)

  it("says what statistics mean, and where the buckets of histograms begin", function()
    local of_h = named(answer("meta.json", "spec:0:h"), "h")
    assert.same({ 0, 1, 2, 4, 8 }, { unpack(of_h.lows, 1, 5) })
    assert.same({ c = { kind = "counter", type = "count", unit = "KiB", scale = 4, description = 'a "b"' } },
      named(answer("meta.json", "spec:0:n:c"), "n").statistics)
  end)

  it("has the values, and no other parts", function()
    assert.equal(7, named(answer("kstat.json", "spec:0:n:c"), "n").data.c)
    assert.equal("nil", answer("else.json"))
  end)
end)
