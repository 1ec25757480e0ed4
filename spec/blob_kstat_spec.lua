-- Statsblobs as kstats: kstat_blob.h by way of spec/c/core_blob.c, and the Lua face.
local run = require("support.run")

describe("a statsblob kstat", function()
  local dir

  before_each(function()
    dir = run.directory()
  end)

  after_each(function()
    run.remove_directory(dir)
  end)

  it("is updated together, survives deaths and damage, and is recorded, as kstat_blob.h says", function()
    local r = run.run({ run.build .. "/spec/core_blob", env = { KSTAT_DIR = dir } })
    local checks, failures = r.out:match("^(%d+) checks, (%d+) failures\n$")
    assert.are.equal("0", failures, r.out .. r.err)
    assert.is_true(tonumber(checks) > 2000)
  end)
end)
