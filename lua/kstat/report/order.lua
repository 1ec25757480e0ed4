--- The order of a report's rows by a column, and their totals.
-- @module kstat.report.order
local order = {}

local RANKS = { number = 1, string = 2, boolean = 3, table = 4 }

-- A value by which rows can be ordered, and the rank of its kind.
local function sortable(value)
  local kind = type(value)
  if value == nil or value ~= value then
    return nil
  elseif kind == "boolean" then
    value = value and 1 or 0
  elseif kind ~= "number" then
    value = tostring(kind == "table" and value[1] or value)
  end
  return value, RANKS[kind] or 5
end

--- Compares entries, each with `values` and its place in `order`, by one of their values. nil sorts last, whatever
-- the direction, and text ascends anyway.
-- @int i which value
-- @tparam boolean descending the larger number first
-- @treturn function(a, b) for table.sort
function order.by_column(i, descending)
  return function(a, b)
    local x, x_rank = sortable(a.values[i])
    local y, y_rank = sortable(b.values[i])
    if x == nil or y == nil then
      if (x == nil) == (y == nil) then
        return a.order < b.order
      end
      return y == nil
    elseif x_rank ~= y_rank then
      return x_rank < y_rank
    elseif x == y then
      return a.order < b.order
    elseif descending and type(x) == "number" then
      return x > y
    end
    return x < y
  end
end

--- The sums of columns, or what these have in their place.
-- @tparam {column,...} columns
-- @tparam {{any,...},...} rows their values
-- @func evaluating called with each column before that column's own function is called, and with nil at the end
-- @treturn {any,...}
function order.totals(columns, rows, evaluating)
  local totals = {}
  for i, column in ipairs(columns) do
    local list = {}
    for _, values in ipairs(rows) do
      if type(values[i]) == "number" and values[i] == values[i] then
        list[#list + 1] = values[i]
      end
    end
    if i == 1 then
      totals[i] = "total"
    elseif type(column.total) == "function" then
      evaluating(column)
      totals[i] = column.total(list)
    elseif column.total ~= false and column.kind ~= "label" and #list > 0 then
      local sum = 0
      for _, v in ipairs(list) do
        sum = sum + v
      end
      totals[i] = sum
    end
  end
  evaluating(nil)
  return totals
end

return order
