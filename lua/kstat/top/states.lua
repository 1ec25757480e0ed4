--- States on a screen: their names, and why something is in its state.
-- @module kstat.top.states
local resources = require("kstat.use.resources")
local picture = require("kstat.picture")
local use = require("kstat.use.rows")

local states = {}

--- The names by severity; that of the worst is seen without colours, too.
-- @table NAMES
states.NAMES = { [0] = "ok", "warning", "CRITICAL" }

--- The state of a text that begins with its name, for its colour.
-- @string shown
-- @treturn string
function states.of(shown)
  return shown:match("^%a+"):lower()
end

--- By what rows are put in order where their states sort them.
-- @tparam row row of a screen; `judged` is one of kstat.use.rows
-- @treturn int|nil 0 to 2; nil: nothing is known
function states.order(row)
  return row.judged and row.judged.severity
end

--- The name of a state, and whose it is.
-- @tparam row row of kstat.use.rows
-- @treturn string|nil nil: nothing is known
function states.name(row)
  local name = states.NAMES[row.severity]
  return name and name .. (row.of_host and ", of the host" or "")
end

--- A state with its reasons.
-- @tparam row row of kstat.use.rows
-- @string[opt] since when its state began, in words
-- @treturn string|nil nil: nothing is known
function states.text(row, since)
  local name = states.name(row)
  if row.severity == 0 or not name then
    return name
  end
  use.tell(row)
  return name .. ": " .. row.reasons .. (since and " " .. since or "")
end

-- One figure of the last minute as a picture and numbers.
local function minute_of(limit, values, utf8)
  local least, most, sum = math.huge, -math.huge, 0
  for _, value in ipairs(values) do
    least, most, sum = math.min(least, value), math.max(most, value), sum + value
  end
  local function amount(value)
    return resources.amount(math.floor(10 * value + 0.5) / 10, limit.unit)
  end
  return ("last minute: %s  from %s to %s, mean %s"):format(picture.sparkline(values, { utf8 = utf8, width = 40,
    high = math.max(most, limit.warning or limit.critical or 0) }), amount(least), amount(most), amount(sum / #values))
end

-- The rule of one figure, its value, and those of the last minute.
local function add_rule(lines, row, limit, values, utf8)
  local value, title, file, reason = row.values[limit[3]], resources.lines(limit)
  local who = row.who_of and row.who_of[limit[3]]
  who = type(who) == "string" and who ~= "" and (" (%s)"):format(who) or ""
  lines[#lines + 1] = ""
  lines[#lines + 1] = title .. (value and "; now " .. resources.amount(value, limit.unit) .. who or "; not known here")
  lines[#lines + 1] = values[1] and "  " .. minute_of(limit, values, utf8) or nil
  lines[#lines + 1] = "  " .. file
  lines[#lines + 1] = "  " .. reason
end

--- The state of something, and the rules by which it is judged: first those of what is too much, last those of what is
-- not known.
-- @tparam row row of kstat.use.rows
-- @string name what it is
-- @tparam boolean utf8
-- @string[opt] since when its state began, in words
-- @func[opt] values_of fun(figure): its values in the last minute
-- @treturn {string,...} lines
function states.explain(row, name, utf8, since, values_of)
  local by_severity = {}
  use.tell(row)
  local title = name .. ": " .. (states.name(row) or "nothing is known") .. (since and " " .. since or "")
  local lines = { title, row.reasons ~= "" and row.reasons or nil }
  for _, limit in ipairs(resources.limits_of[row.resource]) do
    local value = row.values[limit[3]]
    local severity = value and use.severity(limit, value) or -1
    by_severity[severity] = by_severity[severity] or {}
    table.insert(by_severity[severity], limit)
  end
  for severity = 2, -1, -1 do
    for _, limit in ipairs(by_severity[severity] or {}) do
      add_rule(lines, row, limit, values_of and values_of(limit[3]) or {}, utf8)
    end
  end
  return lines
end

return states
