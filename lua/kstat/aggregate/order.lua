--- The orders in which an aggregation is read. Each is a function(columns) of the keys that gives a function(a, b) of
-- rows, as table.sort takes it, for one sort; that by key is of groups, too.
-- @module kstat.aggregate.order
local order = {}

local DAYS = { mon = 1, tue = 2, wed = 3, thu = 4, fri = 5, sat = 6, sun = 7 }

-- Compares values of keys: numbers before text, those of a key weekday in the order of a week, text without case as
-- kstat(8) has it.
local function comparing(columns)
  local lowered = {}
  local function low(text)
    local made = lowered[text]
    if not made then
      made = tostring(text):lower()
      lowered[text] = made
    end
    return made
  end
  return function(a, b, i)
    if type(a) == "number" and type(b) == "number" then
      return a < b
    elseif type(a) == "number" or type(b) == "number" then
      return type(a) == "number"
    elseif columns[i].period and DAYS[a] and DAYS[b] then
      return DAYS[a] < DAYS[b]
    end
    local x, y = low(a), low(b)
    if x ~= y then
      return x < y
    end
    return tostring(a) < tostring(b)
  end
end

-- By the columns of the key, or first by one of them, perhaps the other way around.
local function by_columns(first, descending)
  return function(columns)
    local less = comparing(columns)
    return function(a, b)
      local x, y = a.key, b.key
      if first and x[first] ~= y[first] then
        return less((descending and y or x)[first], (descending and x or y)[first], first)
      end
      for i = 1, x.n do
        if x[i] ~= y[i] then
          return less(x[i], y[i], i)
        end
      end
      return false
    end
  end
end

--- By the columns of the key.
order.by_key = by_columns()

-- Distributions are in order by how many values they have: those of buckets, and those of the core.
local function size_of(value)
  local kind = type(value)
  return kind == "table" and value.total or kind == "userdata" and value.count or value
end

--- By the values of reducer i, largest first; nil goes last, whatever the direction; equals by key.
function order.by_value(i, ascending)
  return function(columns)
    local by_key = order.by_key(columns)
    return function(a, b)
      local x, y = a.values[i], b.values[i]
      x, y = size_of(x), size_of(y)
      if x == y then
        return by_key(a, b)
      elseif x == nil or y == nil then
        return y == nil
      elseif type(x) ~= type(y) then
        return type(x) == "number"
      elseif ascending then
        return x < y
      end
      return x > y
    end
  end
end

--- Keeps the rows that come first: `most` of them in order, or all as they come. Returns a function(row) that takes a
-- row and returns the one that is not among the first any more, if any; and the first ones.
function order.first(less, most)
  local first = {}
  return function(row)
    local at, out = #first + 1, nil
    if most and at > most then
      if most == 0 or not less(row, first[most]) then
        return row
      end
      at, out = most, first[most]
    end
    while most and at > 1 and less(row, first[at - 1]) do
      first[at], at = first[at - 1], at - 1
    end
    first[at] = row
    return out
  end, first
end

--- The order that a title asks for, with a minus in front the other way around; nil if there is none.
function order.named(aggregation, text)
  local function find(title, turned)
    for i, column in ipairs(aggregation.columns) do
      if column.title == title then
        return by_columns(i, turned)
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
