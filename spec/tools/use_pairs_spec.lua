-- kstatlua use of machines that are sick, and of others that are well and look like them: spec/vectors/use/pairs.lua.
local linux = require("support.linux")
local use = require("support.use")

describe("kstatlua use tells", function()
  local tree

  before_each(function() tree = linux.copy() end)

  after_each(function() linux.remove(tree) end)

  local function look(side)
    use.apply(tree, side.both or {})
    return use.look(tree, side.from, side.to)[side.row]
  end

  for _, pair in ipairs(dofile("spec/vectors/use/pairs.lua")) do
    it("who is sick by its rule: " .. pair.rule, function()
      local row = assert(look(pair.sick), pair.sick.row)
      assert.equal(pair.sick.state, row.state)
      assert.matches(pair.sick.why, row.why)
      assert.matches(pair.sick.who or "", row.who)
    end)

    it("from who is well and looks like it by its rule: " .. pair.rule, function()
      local row = look(pair.well)
      assert.same({ pair.well.state, row and "" }, { row and row.state, row and row.why })
    end)
  end
end)
