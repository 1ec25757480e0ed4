-- Every function of the Lua module is documented, for people and for editors.
local core = require("kstat.core")
local kstat = require("kstat")
local run = require("support.run")

local function slurp(pattern)
  return run.shell("cat " .. pattern).out
end

local sources = slurp("$(find lua/kstat -name '*.lua')")
local types = slurp("$(find lua/kstat -name '*.d.lua')")

-- The methods of an object of each kind.
local function methods(object)
  return getmetatable(object).__index
end

local path = os.tmpname()
os.remove(path)
local recording = assert(kstat.recording.open(path))
recording:close()
os.remove(path)

-- Names with a doc comment: "@function x:select", or a comment right above "function kstat.open(".
local documented = {}
for name in sources:gmatch("@function [%w_]+[.:]([%w_]+)") do
  documented[name] = true
end
for name in sources:gmatch("\n%-%-[^\n]*\nfunction [%w_]+[.:]([%w_]+)%(") do
  documented[name] = true
end
for name in sources:gmatch("`[%w_]+:([%w_]+)%(") do
  documented[name] = true -- told beside another
end

local function names_of(functions)
  local list = {}
  for name, value in pairs(functions) do
    if type(value) == "function" then
      list[#list + 1] = name
    end
  end
  assert.is_true(#list > 0)
  table.sort(list)
  return list
end

describe("the documentation", function()
  for what, functions in pairs({
    kstat = kstat, chain = core.chain_methods, k = core.kstat_methods,
    aggregation = methods(kstat.aggregate("sum")), picture = kstat.picture,
    map = methods(kstat.picture.heatmap({ rows = { "a" } })), recording = kstat.recording, rec = methods(recording),
    report = { report = kstat.report.new, run = kstat.report.run },
  }) do
    it("has every function of " .. what, function()
      for _, name in ipairs(names_of(functions)) do
        assert.is_true(documented[name], name .. " is not documented")
        assert.truthy(types:find("[.:]" .. name .. "%(") or name:find("^_"), name .. " has no types")
      end
    end)
  end
end)
