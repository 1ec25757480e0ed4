--- use: each resource of the machine: its utilization, saturation, errors, and whether that is too much.
--
-- This is Brendan Gregg's USE method in one report. What is measured, from where on it is a warning or critical, and
-- why, is in the modules of kstat.use.resources, and --explain prints it. Only saturation and errors are ever critical;
-- what cannot be read is "-".
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local kstat = require("kstat")
local limits = require("kstat.use.limits")
local resources = require("kstat.use.resources")
local stdout = require("kstat.stdout")
local tool = require("kstat.tool")

local STATES = { [0] = "ok", "warning", "critical" }

local limits_of = {} -- a resource's
for _, limit in ipairs(resources.limits) do
  limits_of[limit[1]] = limits_of[limit[1]] or {}
  table.insert(limits_of[limit[1]], limit)
end

-- Whether a program reads the output, and no people.
local function is_data(options)
  return options.json or options.csv or options.openmetrics
end

-- --- rows ----------------------------------------------------------------------------------------

local function severity_of(limit, value)
  return limit.critical and value >= limit.critical and 2 or limit.warning and value >= limit.warning and 1 or 0
end

-- Stores what a row shows of utilization or saturation: what exceeds its limit most, or else the first that is known.
-- steady: always the first, so that the labels of metrics do not change.
local function show(row, limit, value, severity, steady)
  local part = limit[2]
  local before = row[part .. "_severity"]
  if not before or not steady and severity > before or row[part .. "_of"] == nil and not limit.quiet then
    local known = steady or not limit.quiet or severity > 0
    row[part], row[part .. "_of"] = known and value or 0, known and limit[3] or nil
    row[part .. "_unit"] = known and limit.unit or nil
    row[part .. "_severity"] = math.max(severity, before or 0)
  end
end

-- The reasons of a state: what is too much, and who is to blame, where that is known.
local reasons = {}
reasons.__index = reasons

function reasons:add(limit, value, who)
  if type(who) == "function" then
    who = who()
  end
  self[#self + 1] = { what = limit[3] .. " " .. limits.amount(value, limit.unit), who = who or "" }
end

-- The reasons; for people each with who is to blame, but for those that share it with the next one.
function reasons:text(people)
  local texts = {}
  for i, reason in ipairs(self) do
    local named = people and reason.who ~= "" and not (self[i + 1] and self[i + 1].who == reason.who)
    texts[i] = reason.what .. (named and (" (%s)"):format(reason.who) or "")
  end
  return table.concat(texts, ", ")
end

-- Those who are to blame.
function reasons:culprits()
  local texts, seen = {}, { [""] = true }
  for _, reason in ipairs(self) do
    texts[#texts + 1] = not seen[reason.who] and reason.who or nil
    seen[reason.who] = true
  end
  return table.concat(texts, ", ")
end

-- The row of a resource that was measured.
local function row_of(measured, steady)
  local row, why = { resource = measured.resource, name = measured.name }, setmetatable({}, reasons)
  for _, limit in ipairs(limits_of[measured.resource]) do
    local value = measured.values[limit[3]]
    if value then
      local severity = severity_of(limit, value)
      row.severity = math.max(row.severity or 0, severity)
      if limit[2] == "errors" then
        row.errors = (row.errors or 0) + value
      else
        show(row, limit, value, severity, steady)
      end
      if severity > 0 then
        why:add(limit, value, measured.who[limit[3]])
      end
    end
  end
  row.state, row.why, row.who = STATES[row.severity], why:text(), why:culprits()
  row.reasons = why:text(true)
  return row
end

local is_replay

-- Tells those who ask for processes, and on a terminal those who look at all resources, that a recording has none:
-- processes are in it only if they were named.
local function check_processes(d, options)
  local wanted = #options.operands == 0 and core.terminal(2) ~= nil
  for _, operand in ipairs(options.operands) do
    wanted = wanted or operand == "process"
  end
  if wanted and is_replay and not is_data(options) and #d:select({ class = "process" }) == 0 then
    tool.warn_later({ "this recording has no processes; record with: " ..
      "kstatlua record -o FILE '*' process 'process::*,fd' 10" })
  end
end

local function rows(d, _, prev, options)
  local list, most = {}, options.watch and select(2, stdout.window())
  for i, measured in ipairs(resources.measure(d, prev, options.operands)) do
    list[i] = row_of(measured, options.openmetrics)
  end
  check_processes(d, options)
  local narrow, hidden = most and #list > most - 3, 0
  for _, row in ipairs(list) do
    row.hidden = (options.worst or narrow) and (row.severity or 0) == 0
    hidden = row.hidden and hidden + 1 or hidden
  end
  if narrow and not options.worst and hidden < #list then
    list[#list + 1] = { text = ("%d more, which are ok"):format(hidden) }
  end
  return list
end

local WORDS = { fs = "file system", cgroup = "control group", disk = "disk", link = "link", table = "table" }

-- What -x says where nothing is wrong: which resources are well, and of which nothing is known.
local function all_well(list)
  local well, unknown, resource, same = 0, 0, nil, true
  for _, row in ipairs(list) do
    well, unknown = well + (row.severity and 1 or 0), unknown + (row.severity and 0 or 1)
    same = same and (resource == nil or resource == row.resource)
    resource = row.resource
  end
  local word = same and WORDS[resource] or "resource"
  return ("all well: %d %s%s"):format(well, word, well == 1 and "" or "s") ..
    (unknown > 0 and ("; of %d nothing is known"):format(unknown) or "")
end

-- --- columns -------------------------------------------------------------------------------------

local function saturation_text(row)
  if row.saturation == nil or not row.saturation_of then
    return row.saturation and "0"
  end
  local number = row.saturation_unit == "" and "%.0f" or "%.1f"
  local unit = row.saturation_unit == "%" and "%" or ""
  return number:format(row.saturation) .. unit .. " " .. row.saturation_of
end

-- The state and what led to it, which is never cut.
local STATE = { "state", function(row)
  return row.state and row.state .. (row.reasons ~= "" and ": " .. row.reasons or "")
end, align = "left", whole = true, state = function(text) return text:match("^%l+") end }

local function columns(options)
  local list = {
    { "resource", kind = "label" }, { "name", align = "left", kind = "label" },
  }
  local function add(...)
    for _, column in ipairs({ ... }) do
      list[#list + 1] = column
    end
  end
  if not is_data(options) then
    add({ "util", "utilization", unit = "%" }, { "saturation", saturation_text, align = "left" },
      { "errors", format = "%.0f" }, STATE)
    return list
  end
  -- Labels of metrics must not change with their values: these have no state and no reasons.
  add({ "utilization", unit = "%", about = "how much of it is in use" }, { "utilization_of" },
    { "saturation", about = "how much has to wait, or was dropped" }, { "saturation_of" }, { "saturation_unit" },
    { "errors", about = "errors in the interval, and those that last" },
    { "severity", about = "0 ok, 1 warning, 2 critical" })
  if not options.openmetrics then
    add({ "state" }, { "why" }, { "who" })
  end
  return list
end

return kstat.report({
  optional = true, skip_first = true, follow = function(ks) is_replay = ks:is_replay() end,
  name = "use", about = "Each resource of the machine: utilization, saturation, errors, and whether that is too much.",
  options = {
    { "x", "worst", help = "only resources that are not ok" },
    { nil, "watch", help = "each report in place of the one before, every second if no interval is given" },
    { nil, "explain", help = "what is measured, the limits, the kernel's files and the reasons" },
  },
  check = function(options)
    if options.explain then
      tool.show(limits.explain())
    elseif options.watch and (options.replay or not select(2, stdout.window())) then
      return "--watch needs a terminal and the running machine; an interval gives one report after the other"
    elseif options.watch then
      options.interval, options.timestamp = options.interval or 1, options.timestamp or "d"
    end
    return nil
  end,
  refresh = function(options) return options.watch end, none = all_well,
  note = "Without an interval it looks for a second. States: ok, warning, critical; what cannot be read is \"-\".",
  select = function(options) return resources.select(options.operands) end, columns = columns, rows = rows,
})
