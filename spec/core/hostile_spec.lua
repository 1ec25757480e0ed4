-- Neighbours that mean harm: SECURITY.md says what they cannot do, spec/c/core_hostile.c plays them.
local run = require("support.run")

describe("a hostile neighbour", function()
  local dir

  before_each(function() dir = run.directory() end)
  after_each(function() run.shell("rm -rf " .. run.quote(dir)) end)

  local function play(part)
    local r = run.shell(("KSTAT_DIR=%s %s/spec/core_hostile %s"):format(run.quote(dir), run.build, part))
    assert.equal("unharmed\n", r.out .. r.err)
  end

  it("that shares its master's mapping cannot make the master crash", function() play("worker") end)

  it("that a master started holds no descriptor that cuts off the master's file", function() play("descriptor") end)

  it("that reads a segment does not keep it live", function() play("reader") end)
end)
