-- What holds on machines of other kinds. SPDX-License-Identifier: MIT
local run = require "spec.support.run"

describe("numbers of 128 bits", function()
  it("are the same in words as in the compiler's type", function()
    assert.equal("equal\n", run.tool(run.build .. "/spec/core_wide").out)
  end)
end)
