--- Any statistics, by their rate per second.
-- @module kstat.top.views.statistics
local rows = require("kstat.top.rows")
local report = require("kstat.report")
local selector = require("kstat.selector")
local text = require("kstat.text")

local DEFAULT = { "unix:0:sys", "unix:0:vm", { class = "disk" }, { class = "net" }, { class = "mib2" },
  { class = "pressure" } }

local function number(value)
  return text.number(value)
end

local known

local section = report({
  name = "statistics", about = "Statistics by their rate per second.", optional = true, select = DEFAULT,
  columns = {
    { "name", function(row) return row.name end, align = "left", kind = "label" },
    { "rate", function(row) return row.rate end, about = "change per second", format = number },
    { "value", function(row) return row.value end, about = "now", format = number },
    { "unit", function(row) return row.unit end, align = "left", priority = 2 },
  },
  sort = "rate",
  rows = function(d, _, prev)
    if not known then
      local list = {}
      for i, spec in ipairs(DEFAULT) do
        list[i] = assert(selector.compile(spec))
      end
      known = rows.new(list)
    end
    known:take(d, prev == nil)
    return known:chosen({ sort = "name" })
  end,
})

return { name = "statistics", label = "any", sections = { section } }
