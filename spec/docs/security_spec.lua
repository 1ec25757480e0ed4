-- SECURITY.md: each promise and each bound names specs that there are, by words of their names.
local run = require("support.run")

local TABLES = { ["| A hostile … |"] = 4, ["| Of | at most |"] = 4 }

-- The rows of a table that begins so, as cells; all on one line each.
local function rows_of(page, first)
  local at, rows = page:find(first, 1, true), {}
  for line in page:sub(at):match("^.-\n\n"):gmatch("[^\n]+") do
    local cells = {}
    for cell in line:gmatch("| ([^|]+) %f[|]") do
      cells[#cells + 1] = cell
    end
    rows[#rows + 1] = cells
  end
  return { (table.unpack or unpack)(rows, 3) }
end

describe("SECURITY.md", function()
  local page = run.read_file("SECURITY.md")

  it("has a spec for each promise and each bound", function()
    for first, n in pairs(TABLES) do
      local at = first:find("hostile") and 3 or 4
      local before
      for _, cells in ipairs(rows_of(page, first)) do
        assert.equal(n, #cells, cells[1] .. ": " .. tostring(cells[2]))
        assert.truthy(cells[at]:find("spec/", 1, true) or cells[at]:find("the same", 1, true), cells[at])
        for file, quoted in cells[at]:gsub("the same", function() return ("`%s`"):format(before) end)
          :gmatch("`(spec/[%w_/.]+)`([^`]*)") do
          before = file
          local text = run.read_file(file):gsub("%s+", " ")
          for name in quoted:gmatch('"([^"]+)"') do
            assert.truthy(text:find(name:gsub(" ?…$", ""), 1, true), ("%s has no '%s'"):format(file, name))
          end
        end
      end
    end
  end)
end)
