-- "All of the core from Lua" of the reference: each public function of the library is in a row, and what a row says
-- that Lua has is there.
local run = require("support.run")

describe("the table of the core's functions in the reference", function()
  local rows = {}

  setup(function()
    local page = run.read_file("doc/scripting-reference.md"):match("\n## All of the core from Lua\n(.*)$")
    for c, lua in page:gmatch("\n| ([^\n|]+) | ([^\n]+) |") do
      rows[#rows + 1] = { c = c, lua = lua }
    end
  end)

  local function functions()
    local list = {}
    local symbols = run.shell(("nm -D --defined-only %s/lib/libkstat.so.1"):format(run.build)).out
    for name in symbols:gmatch(" T ([%w_]+)") do
      list[#list + 1] = name
    end
    return list
  end

  it("has each once, and no other", function()
    local patterns = {}
    for _, row in ipairs(rows) do
      for name in row.c:gmatch("`([^`]+)`") do
        patterns[name] = 0
      end
    end
    local all = functions()
    assert.is_true(#all > 200)
    for _, name in ipairs(all) do
      local found = patterns[name] and name
      for pattern in pairs(patterns) do
        found = found or pattern:find("*", 1, true) and name:find("^" .. pattern:gsub("%*", ".*") .. "$") and pattern
      end
      assert.truthy(found, name .. " is in no row")
      patterns[found] = patterns[found] + 1
    end
    for pattern, n in pairs(patterns) do
      assert.is_true(n > 0, pattern .. " is no function")
    end
  end)

  it("names what Lua has", function()
    local definitions = run.shell("cat " .. run.build .. "/definitions/*.lua").out
    for _, row in ipairs(rows) do
      for name in row.lua:gmatch("`%l+:(%l[%w_]*)`") do
        assert.truthy(definitions:find("[:.]" .. name .. "%f[^%w_]") or definitions:find("@field " .. name, 1, true),
          row.lua)
      end
      for name in row.lua:gmatch("`kstat%.([%w_.]+)%(%)`") do
        local found = require("kstat")
        for part in name:gmatch("[%w_]+") do
          found = found[part]
        end
        assert.equal("function", type(found), name)
      end
    end
  end)
end)

describe("a name of the module", function()
  it("stands in the pages for scripts as it is called", function()
    local names, unknown = 0, {}
    for _, page in ipairs({ "scripting.md", "scripting-reference.md", "publishing-from-lua.md", "from-perl.md" }) do
      for name in run.read_file("doc/" .. page):gmatch("kstat(%.[%a_][%w_.]*)") do
        local member = require("kstat")
        for word in name:gmatch("[%w_]+") do
          local is, part = pcall(require, "kstat." .. word)
          member = type(member) == "table" and member[word] or is and part or nil
        end
        -- kstat.nginx can only be loaded by nginx.
        names, unknown[#unknown + 1] = names + 1, not member and name ~= ".nginx" and page .. ": kstat" .. name or nil
      end
    end
    assert.truthy(names > 50)
    assert.same({}, unknown)
  end)
end)
