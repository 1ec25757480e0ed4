-- kstatlua top on terminals: the order of rows; every view in windows of every size, and every key, now and in the
-- past; and what terminals, names and machines do to it.
local order = require("kstat.top.order")

describe("the order of rows", function()
  it("is the same for the few that a window shows as for all, with values that are missing", function()
    local rows = {}
    for i = 1, 100 do
      rows[i] = { n = i * 37 % 101 }
      rows[i].value = i % 3 > 0 and rows[i].n or nil
    end
    local function value(row) return row.value end
    for _, reverse in ipairs({ false, true }) do
      local all, few = order.by(rows, value, reverse), order.by(rows, value, reverse, 10)
      assert.equal(10, #few)
      for i = 1, 10 do
        assert.equal(all[i], few[i])
      end
      assert.is_nil(all[100].value)
    end
    local few = order.by({ {}, {}, {}, {}, { value = 1 }, {}, {}, {}, {} }, value, false, 2)
    assert.same({ { value = 1 }, {} }, few)
  end)
end)
