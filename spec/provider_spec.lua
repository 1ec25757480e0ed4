-- The kstats of one's own process, by way of spec/c/core_provider.c.
local lines = require("support.lines")

describe("a provider in C", function()
  it("creates, updates, writes, deletes and describes kstats as kstat_create(9F) says", function()
    local out = lines.run("core_provider", {})
    assert.are.equal(1, #out, table.concat(out, "\n"))
    local checks, failures = out[1]:match("^(%d+) checks, (%d+) failures$")
    assert.are.equal("0", failures)
    assert.is_true(tonumber(checks) > 100)
  end)
end)
