--- What the rows of `top` are: a statistic each, with its rate, its value and its recent past.
--
-- A row has `name` (module:instance:name:statistic), the parts of it (`module`, `instance`, `kstat_name`,
-- `statistic`), the kstat's `class`, `counter` (boolean), `rate` (per second; nil for gauges), `value` (now), `unit`
-- (of the value) and a history. Metadata says what is a counter; without, integers are.
-- Durations are in seconds whatever they are stored in, so a rate of 1 means all the time.
-- What is published has `publisher`, `uid` and `pid`.
-- Texts, arrays and points in time are no rows.
--
-- @module kstat.top.rows
local core = require("kstat.core")

local rows = {}
rows.__index = rows

local HISTORY = 64 -- intervals that are remembered

--- An empty table of rows.
-- @tparam {selector,...} selectors compiled ones
-- @treturn rows
function rows.new(selectors)
  return setmetatable({ selectors = selectors, known = {}, list = {} }, rows)
end

local math_type = math.type or function(v)
  return v % 1 == 0 and "integer" or "float"
end

-- What does not change about a statistic. counter nil: it is no row.
local function describe(k, name, statistic, value)
  local about = { name = name, module = k.module, instance = k.instance, kstat_name = k.name, statistic = statistic,
    class = k.class, publisher = k.publisher, uid = k.publisher_uid, pid = k.publisher_pid }
  local meta = k:meta(statistic)
  if not meta then
    about.counter, about.unit = math_type(value) == "integer", ""
    return about
  elseif meta.kind ~= "counter" and meta.kind ~= "gauge" then
    return about
  end
  about.counter, about.unit = meta.kind == "counter", meta.unit
  if meta.unit == "ns" then
    -- Those of I/O and timer kstats are seconds in Lua.
    about.unit, about.factor = "s", k.type == "named" and 1e-9 or 1
  end
  return about
end

-- Numbers only; an unsigned one above 2^63 - 1 is negative to Lua.
local function number(value, unsigned)
  if type(value) ~= "number" or value ~= value then
    return nil
  elseif unsigned and value < 0 then
    return value + 2 ^ 64
  end
  return value
end

local function remember(row, value)
  row.at = row.at % HISTORY + 1
  row.past[row.at] = value
  row.length = math.min(row.length + 1, HISTORY)
end

-- The statistics of a difference's kstat that selectors name: an array of { name in the row, statistic,
-- difference, value now }.
local function statistics_of(k, selectors)
  local names, values, now, out = {}, {}, {}, {}
  for i = 1, core.collect(k:now(), selectors, names, values) do
    now[names[i]] = values[i]
  end
  for i = 1, core.collect(k, selectors, names, values) do
    out[i] = { names[i], names[i], values[i], now[names[i]] }
  end
  return out
end

-- The same of a timer kstat, where one timer follows the other, and their statistics have the same names.
local function timers_of(k, selectors)
  local names, values, now_names, now, out = {}, {}, {}, {}, {}
  local n = core.list(k, names, values) or 0
  core.list(k:now(), now_names, now)
  local timer = ""
  for i = 1, n do
    local statistic, wanted = names[i], false
    if statistic == "name" then
      timer = values[i]
    end
    for _, sel in ipairs(selectors) do
      wanted = wanted or sel:matches(k, statistic)
    end
    if wanted and now_names[i] == statistic then
      out[#out + 1] = { timer .. ":" .. statistic, statistic, values[i], now[i] }
    end
  end
  return out
end

-- Brings a row up to date.
local function update(row, difference, now, elapsed, first)
  local factor = row.factor or 1
  if row.counter then
    row.rate = elapsed > 0 and difference / elapsed * factor or nil
    row.value = (number(now, true) or difference) * factor
  else
    row.value = difference * factor
  end
  if not first then
    remember(row, row.rate or row.value)
  end
end

--- Takes in one tick.
-- @tparam difference d
-- @tparam[opt] boolean first d is since creation: nothing for the history
function rows:take(d, first)
  local unpack = table.unpack or unpack
  local seen, list = {}, {}
  for _, k in ipairs(d:select(unpack(self.selectors))) do
    local id, elapsed = tostring(k), k.elapsed
    for _, s in ipairs((k.type == "timer" and timers_of or statistics_of)(k, self.selectors)) do
      local name, difference = id .. ":" .. s[1], number(s[3])
      local row = difference and not seen[name] and
        (self.known[name] or describe(k, name, s[2], difference))
      if row and row.counter ~= nil then
        row.past, row.at, row.length = row.past or {}, row.at or 0, row.length or 0
        update(row, difference, s[4], elapsed, first)
        seen[name] = row
        list[#list + 1] = row
      end
    end
  end
  self.known, self.list = seen, list
end

--- A row's recent rates (of a gauge: values), oldest first.
-- @tparam table row
-- @int most how many at most
-- @treturn {number,...}
-- @treturn int how many
function rows.history(row, most)
  local n = math.min(row.length, most)
  local out = {}
  for i = 1, n do
    out[i] = row.past[(row.at - n + i - 1) % HISTORY + 1]
  end
  return out, n
end

-- --- which rows, in which order ----------------------------------------------------------------

--- Compiles a filter: `/Perl regular expression/` (the closing slash, with flags, may be missing) or a
-- text that is looked for without case; both in the whole name.
-- @string text "": everything passes
-- @treturn[1] function(row)
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function rows.filter(text)
  if text == "" then
    return function() return true end
  elseif text:sub(1, 1) == "/" then
    local pattern, message
    if text == "/" or text == "//" then
      return function() return true end
    elseif text:find("^/.*[^\\]/[imsxnU]*$") then
      pattern, message = core.pattern(text)
    else
      pattern, message = core.pattern(text .. "/")
    end
    if not pattern then
      return nil, message
    end
    return function(row) return pattern:matches(row.name) end
  end
  local wanted = text:lower()
  return function(row)
    return row.name:lower():find(wanted, 1, true) ~= nil
  end
end

-- Rows without that figure are last in either direction; equals are in the order of their names.
local function by_number(field, reverse)
  return function(a, b)
    local x, y = a[field], b[field]
    if x == y then
      return a.name < b.name
    elseif x == nil or y == nil then
      return y == nil
    elseif reverse then
      return x < y
    end
    return x > y
  end
end

local function by_name(reverse)
  return function(a, b)
    if reverse then
      return a.name > b.name
    end
    return a.name < b.name
  end
end

--- The rows that pass, in order.
-- @tparam table how `sort` ("rate": gauges last; "value", "name"), `reverse`, `filter` (a function),
-- `show` ("all", "counters", "gauges"), `skip_idle` (none with a rate, or a gauge's value, of 0)
-- @treturn {row,...}
function rows:chosen(how)
  local list = {}
  for _, row in ipairs(self.list) do
    local shown = how.show == nil or how.show == "all" or row.counter == (how.show == "counters")
    if shown and not (how.skip_idle and (row.rate or row.value) == 0) and
      (not how.filter or how.filter(row)) then
      list[#list + 1] = row
    end
  end
  table.sort(list, how.sort == "name" and by_name(how.reverse) or by_number(how.sort or "rate", how.reverse))
  return list
end

return rows
