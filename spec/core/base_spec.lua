-- What everything else stands on: the growing array, the hash table and the strings of JSON.
local run = require("support.run")

describe("the ground floor", function()
  it("has an array and a hash table like those of a simple model, also without memory, and strings of JSON", function()
    local r = run.run({ run.build .. "/spec/core_base" })
    assert.equal("", r.err)
    assert.truthy(r.out:find("^%d+ checks, 0 failures\n$"), r.out)
    assert.equal(0, r.status)
  end)
end)
