-- How much memory samples take.
local run = require("support.run")

-- Returns the greatest memory, in KiB, of a script that takes n samples of a tree in a way and keeps none.
local function peak(n, way)
  local r = run.run({ "kstatlua", "-e", [[
    local core = require("kstat.core")
    local k = assert(kstat.open())
    for _ = 1, tonumber(arg[1]) do
      ]] .. way .. [[

    end
    print(io.open("/proc/self/status"):read("a"):match("VmHWM:%s*(%d+)"))]], tostring(n),
    env = run.tree_env("small") })
  assert.equal(0, r.status, r.err)
  return tonumber(r.out)
end

describe("samples", function()
  it("that a script has dropped are freed soon, so that a loop does not grow", function()
    if os.getenv("ASAN_OPTIONS") then
      pending("a sanitizer keeps released memory for a while")
      return
    end
    local lazy = "local s = core.sample(k) core.rank(s:since_creation(), {}, { most = 0 }) core.sample_freeze(s)"
    for _, way in ipairs({ "k:sample()", lazy }) do
      assert.is_true(peak(1500, way) - peak(50, way) < 8 * 1024)
    end
  end)
end)
