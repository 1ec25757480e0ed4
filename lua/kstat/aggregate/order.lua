--- The orders in which an aggregation is read. Each is a function(a, b) of rows, as table.sort takes it.
--
-- @module kstat.aggregate.order
local order = {}

-- Numbers before text, text without case as kstat(8) has it.
local function less(a, b)
  if type(a) == "number" and type(b) == "number" then
    return a < b
  elseif type(a) == "number" or type(b) == "number" then
    return type(a) == "number"
  end
  local x, y = tostring(a), tostring(b)
  local lower_x, lower_y = x:lower(), y:lower()
  if lower_x ~= lower_y then
    return lower_x < lower_y
  end
  return x < y
end

--- By the columns of the key.
function order.by_key(a, b)
  for i = 1, a.key.n do
    if a.key[i] ~= b.key[i] then
      return less(a.key[i], b.key[i])
    end
  end
  return false
end

-- What a value counts in comparisons: a distribution by its number of values.
local function weight(value)
  if type(value) == "table" then
    return value.total
  end
  return value
end

--- By the values of reducer i, largest first; nil goes last, whatever the direction; equals by key.
function order.by_value(i, ascending)
  return function(a, b)
    local x, y = weight(a.values[i]), weight(b.values[i])
    if x == y then
      return order.by_key(a, b)
    elseif x == nil or y == nil then
      return y == nil
    elseif ascending then
      return x < y
    end
    return x > y
  end
end

local function by_column(i, descending)
  return function(a, b)
    if a.key[i] == b.key[i] then
      return order.by_key(a, b)
    elseif descending then
      return less(b.key[i], a.key[i])
    end
    return less(a.key[i], b.key[i])
  end
end

--- The order that a title asks for, with a minus in front the other way around; nil if there is none.
function order.named(aggregation, text)
  local function find(title, turned)
    for i, column in ipairs(aggregation.columns) do
      if column.title == title then
        return by_column(i, turned)
      end
    end
    for i, value in ipairs(aggregation.values) do
      if value.title == title then
        return order.by_value(i, turned)
      end
    end
    return nil
  end
  return find(text, false) or text:sub(1, 1) == "-" and find(text:sub(2), true) or nil
end

return order
