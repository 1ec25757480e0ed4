--- The names in a report that nothing has: a line for each, after the first tick that shows it; see kstat.base.unknown.
-- @module kstat.report.missing
local running = require("kstat.base.running")
local unknown = require("kstat.base.unknown")

local missing = {}

-- The names in the expressions of columns, and in a filter, that no row has as a field of its own.
local function names_of_columns(columns, rows, filter)
  local names, seen = {}, {}
  for i = 1, #columns + 1 do
    for _, name in ipairs((columns[i] or filter or {}).names or {}) do
      local is_field = seen[name]
      seen[name] = true
      for _, row in ipairs(rows) do
        is_field = is_field or rawget(row, name) ~= nil
      end
      names[#names + 1] = not is_field and name or nil
    end
  end
  return names
end

--- Looks for statistics in the expressions of columns that no kstat of a row has.
-- @tparam {column,...} columns
-- @tparam {table,...} rows
-- @tparam[opt] filter filter whose names are looked for, too
-- @treturn boolean whether there was a row with a kstat
function missing.in_columns(columns, rows, filter)
  local kstats = {}
  for _, row in ipairs(rows) do
    kstats[#kstats + 1] = rawget(row, "kstat")
  end
  if #kstats > 0 then
    running.warn_later(unknown.statistics(names_of_columns(columns, rows, filter), kstats,
      require("kstat.figures.expression").is_derived))
  end
  return #kstats > 0
end

--- Looks for operands that match no name.
-- @tparam {string,...} operands
-- @tparam {pattern,...} filters the same, compiled
-- @tparam {[string]=boolean} names those of the rows
function missing.in_operands(operands, filters, names)
  running.warn_later(unknown.patterns("nothing here is called", operands, filters, names))
end

return missing
