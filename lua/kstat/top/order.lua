--- Which rows of a report a screen shows, and in which order.
--
-- A window shows few of many rows, so only as many as it can show are put in order: rows are compared with the last one
-- that is visible, and most of them, which are idle, are passed over at once.
-- @module kstat.top.order
local core = require("kstat.core")
local machine = require("kstat.base.machine")

local order = {}

--- What a filter looks for: `/Perl regular expression/` (the closing slash, with flags, may be missing) or a text
-- without case.
-- @string text "": everything passes
-- @treturn[1] string|pattern a text in lower case, or what has to match
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function order.wanted(text)
  if text:sub(1, 1) ~= "/" then
    return text:lower()
  elseif text == "/" or text == "//" then
    return ""
  end
  return core.pattern(text:find("^/.*[^\\]/[imsxnU]*$") and text or text .. "/")
end

-- What rows are compared with as a whole, and not as a text that is somewhere in them.
local EXACT = {
  user = function(row, wanted) return row.user == wanted end,
  pid = function(row, wanted) return row.pid ~= nil and ("%.0f"):format(row.pid) == wanted end,
  cgroup = function(row, wanted) -- with the groups below it
    local within = (wanted .. "/"):gsub("^//$", "/")
    return ((row.path or "") .. "/"):find(within, 1, true) == 1 or ((row.group or "") .. "/"):find(within, 1, true) == 1
  end,
}

--- Compiles a filter.
-- @string text see order.wanted(); or `user=NAME`, `pid=NUMBER`, `cgroup=PATH`: rows of exactly that one
-- @treturn[1] fun(part:table,row:row):boolean
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function order.filter(text)
  local field, value = text:match("^(%l+)=(.+)$")
  local is_it = EXACT[field]
  if is_it then
    value = field == "user" and machine.user_name(tonumber(value)) or value
    return function(_, row) return is_it(row, value) end
  end
  local wanted, message = order.wanted(text)
  if type(wanted) == "string" then
    return function(part, row) return order.words(part, row):lower():find(wanted, 1, true) ~= nil end
  end
  return wanted and function(part, row) return wanted:matches(order.words(part, row)) end or nil, message
end

-- Whether the value x comes before y: numbers from the largest, texts from A; what is missing (false) is last in
-- either direction.
local function before(x, y, reverse)
  if not x or not y then
    return x and not y
  elseif type(x) ~= type(y) then
    return type(x) == "number"
  elseif (type(x) == "number") ~= reverse then
    return x > y
  end
  return x < y
end

-- Puts all rows in order; rows that are equal stay as they came.
local function sorted(rows, keys, reverse)
  local entries = {}
  for i = 1, #rows do
    entries[i] = i
  end
  table.sort(entries, function(a, b)
    local x, y = keys[a], keys[b]
    if x == y then
      return a < b
    end
    return before(x, y, reverse)
  end)
  for i = 1, #entries do
    entries[i] = rows[entries[i]]
  end
  return entries
end

-- The first `most` rows in their order.
local function best(rows, keys, reverse, most)
  local chosen, of = {}, {} -- rows, and their keys: false for what is missing
  local n, last = 0, nil
  for i = 1, #rows do
    local key = keys[i]
    if n < most or key ~= last and before(key, last or nil, reverse) then
      local at = n + 1
      while at > 1 and before(key, of[at - 1] or nil, reverse) do
        at = at - 1
      end
      table.insert(chosen, at, rows[i])
      table.insert(of, at, key)
      chosen[most + 1], of[most + 1] = nil, nil
      n = math.min(n + 1, most)
      last = of[n]
    end
  end
  return chosen
end

--- Rows in the order of a figure.
-- @tparam {row,...} rows
-- @func value fun(row): what they are compared by
-- @tparam boolean reverse
-- @int[opt] most only so many are wanted; nil: all
-- @treturn {row,...} a new array
function order.by(rows, value, reverse, most)
  local keys = {}
  for i = 1, #rows do
    local key = value(rows[i])
    keys[i] = (type(key) == "number" and key == key or type(key) == "string") and key
  end
  if most and most * 2 < #rows then
    return best(rows, keys, reverse, most)
  end
  return sorted(rows, keys, reverse)
end

--- Rows in the order of a tree: each behind the row above it; `depth` of each is set.
-- @tparam {row,...} rows in the order that those of one parent have
-- @func identity fun(row): string
-- @func parent fun(row): string or nil
-- @treturn {row,...} a new array
function order.tree(rows, identity, parent)
  local children, known, out = {}, {}, {}
  for _, row in ipairs(rows) do
    known[identity(row)] = true
  end
  for _, row in ipairs(rows) do
    local above = parent(row)
    above = above and known[above] and above ~= identity(row) and above or ""
    children[above] = children[above] or {}
    table.insert(children[above], row)
  end
  local placed = {}
  local function add(row, depth)
    local id = identity(row)
    if not placed[id] then -- what is its own ancestor comes once
      placed[id], row.depth, out[#out + 1] = true, depth, row
      for _, child in ipairs(children[id] or {}) do
        add(child, depth + 1)
      end
    end
  end
  for _, row in ipairs(children[""] or {}) do
    add(row, 0)
  end
  for _, row in ipairs(rows) do -- circles hang on nothing
    add(row, 0)
  end
  return out
end

--- What a column shows of a row: a field of it, or what is computed of its kstat.
-- @tparam column column
-- @tparam row row
-- @return the value
function order.value(column, row)
  local value = column.field and row[column.field]
  if value == nil and (not column.field or row.kstat) then
    value = column.value(row)
  end
  return value
end

-- Whether a column names rows, for a filter. The reasons of a state, which are looked for in few rows, do not.
local function is_name(column, i)
  return (column.kind == "label" or column.align == "left" or i == 1) and not (column.lazy and column.whole)
end

--- Whether rows have to be completed before a filter finds them.
-- @tparam {column,...} columns
-- @treturn boolean
function order.has_lazy_name(columns)
  for i, column in ipairs(columns) do
    if column.lazy and is_name(column, i) then
      return true
    end
  end
  return false
end

--- The texts by which a filter finds a row.
-- @tparam table part with `columns`
-- @tparam row row
-- @treturn string|nil nil: it is a line of text
function order.words(part, row)
  if rawget(row, "text") then
    return nil
  end
  local words = {}
  for i, column in ipairs(part.columns) do
    if is_name(column, i) then
      local value = order.value(column, row)
      words[#words + 1] = value ~= nil and tostring(value) or nil
    end
  end
  return table.concat(words, " ")
end

--- What the selection follows.
-- @tparam table part
-- @tparam row row
-- @treturn string|nil nil: it is a line of text
function order.identity(part, row)
  if rawget(row, "text") then
    return nil
  end
  return part.report.identity and part.report.identity(row) or order.words(part, row)
end

return order
