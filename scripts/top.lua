--- top: any statistics, live, by their rate per second; a window with keys, or plain reports into a pipe.
-- SPDX-License-Identifier: MIT
local kstat = require("kstat")
local options = require("kstat.options")
local rows = require("kstat.top.rows")
local tool = require("kstat.tool")
local top = require("kstat.top")

local OWN = {
  { "b", "batch", help = "plain reports, also on a terminal" },
  { "f", "filter", arg = "TEXT", help = "only names with TEXT in them, or that match TEXT = /regular expression/" },
  operands = "selector",
}
-- Without operands: the machine as a whole, disks, links, protocols.
local DEFAULT = { "unix:0:sys", "unix:0:vm", { class = "disk" }, { class = "net" }, { class = "mib2" },
  { class = "pressure" } }
local OWNERS = { "publisher", "uid", "pid" } -- of what is published, for programs; people see it in the name
local COLUMNS = { rate = true, value = true, name = true, unit = true }

local HINT = "; 'kstatlua top --help' explains"

local function wrong(message)
  tool.stop(2, message .. HINT)
end

-- Without operands; what has none of the default's kstats shows everything. x: a chain or a difference.
local function default(x)
  local selectors = tool.selectors(DEFAULT)
  local unpack = table.unpack or unpack
  return #x:select(unpack(selectors)) > 0 and selectors or tool.selectors({ "*" })
end

-- --- reports ----------------------------------------------------------------------------------

local function tell_unmatched(x, given)
  tool.missing(tool.unmatched(x, given.selectors or {}, given), #given.operands)
end

--- The same rows as a report, with all that reports can do.
local function report(given, filter)
  local state
  local sort = given.sort or "rate"
  local columns = {
    { "name", function(row) return row.name end, align = "left" },
    { "rate", function(row) return row.rate end, about = "change per second", format = "%.2f" },
    { "value", function(row) return row.value end, about = "now", format = not given.csv and "%.6g" or nil },
    { "unit", function(row) return row.unit end, align = "left" },
  }
  for _, name in ipairs((given.json or given.csv or given.openmetrics) and OWNERS or {}) do
    columns[#columns + 1] = { name, kind = "label" }
  end
  return kstat.report({
    name = "top", about = "Statistics by their rate per second; of durations in seconds, so that 1 is all the time.",
    operands = "module[:instance[:name[:statistic]]]",
    options = OWN,
    select = given.selectors, optional = true,
    columns = columns,
    rows = function(d, _, prev)
      if not state then
        tell_unmatched(d, given)
        state = rows.new(given.selectors or default(d))
      end
      state:take(d, prev == nil)
      return state:chosen({ filter = filter, skip_idle = given.skip_idle,
        sort = (sort:gsub("^%-", "")), reverse = sort:find("^%-") ~= nil })
    end,
  })
end

-- --- the command ------------------------------------------------------------------------------------

local function window(given)
  local ok, message = top.run({
    views = require("kstat.top.views"), interval = given.interval, count = given.count, filter = given.filter,
    open = function(only, published) return tool.open(given, only, published) end,
  })
  return ok and 0 or tool.stop(3, message)
end

local function main()
  local given, message = options.read(options.declare(OWN), arg)
  if not given then
    wrong(message)
  elseif given.help then
    return report(given):run({ "--help" })
  end
  local sort = (given.sort or "rate"):gsub("^%-", "")
  if not COLUMNS[sort] then
    wrong(("there is no column '%s' to sort by"):format(sort))
  end
  local filter
  filter, message = rows.filter(given.filter or "")
  if not filter then
    wrong(message)
  end
  local plain = given.batch or given.json or given.csv or given.openmetrics
  given.selectors = #given.operands > 0 and tool.selectors(given.operands, HINT) or nil
  if not plain and top.possible() then
    return window(given)
  end
  return report(given, filter):run(arg)
end

return tool.run("top", main)
