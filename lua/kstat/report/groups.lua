--- Rows of a report that are groups of kstats: `by = { "name" }`.
--
-- Columns that are keys name the row; the expressions of the others have reducers in them, as values of
-- kstat.aggregate have: `{ "r/s", "sum(rate(reads))" }`.
-- @module kstat.report.groups
local aggregate = require("kstat.aggregate")
local mistake = require("kstat.base.mistake")
local running = require("kstat.base.running")

local groups = {}

-- Which columns are keys, and which of the other ones are which value of the aggregation.
local function sort_out(self, keys)
  local numbers, reduce, seen = {}, {}, {}
  for i, key in ipairs(keys) do
    numbers[type(key) == "table" and key[1] or key] = i
  end
  for _, column in ipairs(self.columns) do
    local text = column.expression
    local key = text and numbers[text]
    if key then
      column.kind, column.value = column.kind or "label", function(row) return row.key[key] end
    elseif text then
      if not seen[text] then
        reduce[#reduce + 1] = text
        seen[text] = #reduce
      end
      local at = seen[text]
      column.value = function(row) return row.values[at] end
    end
    column.field = nil
  end
  return reduce
end

--- Gives a report rows that are groups.
-- @tparam report self with `by`, and with columns that were declared
-- @raise what is wrong in the declaration
function groups.prepare(self)
  local keys = type(self.by) == "table" and self.by or { self.by }
  local reduce = sort_out(self, keys)
  if #reduce == 0 then
    mistake.raise("report: by: no column has an expression with a reducer, such as sum(rate(reads))")
  end
  local ok, aggregation, message = pcall(aggregate, { reduce = reduce, by = keys, rest = self.rest,
    where = self.where })
  if not ok or not aggregation then
    mistake.raise("report: %s", tostring(ok and message or aggregation):gsub("^[^ ]+:%d+: ", ""))
  end
  self.columns.fields, self.columns.computed = {}, true
  for i = 1, #self.columns do
    self.columns.fields[i] = false
  end
  self.aggregation = aggregation
  function self.rows(d)
    local problem
    ok, problem = aggregation:clear():add(d, (table.unpack or unpack)(self.selectors or {}))
    return ok and aggregation:rows() or running.stop(1, problem)
  end
end

--- The one row of those that `top` cut off.
-- @tparam report self
-- @tparam {row,...} rows of this tick
-- @treturn row
function groups.rest(self, rows)
  return { key = { self.rest }, values = self.aggregation:together(rows) }
end

return groups
