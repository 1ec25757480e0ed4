--- use: each resource of the machine: its utilization, saturation, errors, and whether that is too much.
--
-- This is Brendan Gregg's USE method in one report. What is measured, from where on it is a warning or critical, and
-- why, is in kstat.use.limits, which --explain prints. Only saturation and errors are ever critical; what cannot be
-- read is "-".
-- SPDX-License-Identifier: MIT
local colour = require("kstat.colour")
local kstat = require("kstat")
local limits = require("kstat.use.limits")
local resources = require("kstat.use.resources")
local tool = require("kstat.tool")

local STATES = { [0] = "ok", "warning", "critical" }

local limits_of = {} -- a resource's
for _, limit in ipairs(limits.list) do
  limits_of[limit[1]] = limits_of[limit[1]] or {}
  table.insert(limits_of[limit[1]], limit)
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

-- The row of a resource that was measured.
local function row_of(measured, steady)
  local row, reasons = { resource = measured.resource, name = measured.name }, {}
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
      reasons[#reasons + 1] = severity > 0 and limit[3] .. " " .. limits.amount(value, limit.unit) or nil
    end
  end
  row.state, row.why = STATES[row.severity], table.concat(reasons, ", ")
  return row
end

local function rows(d, _, _, options)
  local list, ok = {}, 0
  for _, measured in ipairs(resources.measure(d)) do
    local row = row_of(measured, options.openmetrics)
    ok = row.severity == 0 and ok + 1 or ok
    if not options.worst or (row.severity or 0) > 0 then
      list[#list + 1] = row
    end
  end
  if options.worst and #list == 0 then
    list[1] = { text = ("%d resources are ok"):format(ok) }
  end
  return list
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

-- The state and what led to it: the last column, so that escape sequences disturb no other one.
local function state_column(coloured)
  return { "state", function(row)
    return row.state and row.state .. (row.why ~= "" and ": " .. row.why or "")
  end, align = "left", format = function(text)
    return coloured and colour.paint(text, text:match("^%l+")) or text
  end }
end

local function columns(options)
  local list = {
    { "resource", kind = "label" }, { "name", align = "left", kind = "label" },
  }
  local function add(...)
    for _, column in ipairs({ ... }) do
      list[#list + 1] = column
    end
  end
  if not (options.json or options.csv or options.openmetrics) then
    add({ "util", "utilization", unit = "%" }, { "saturation", saturation_text, align = "left" },
      { "errors", format = "%.0f" }, state_column(colour.wanted(options.color)))
    return list
  end
  -- Labels of metrics must not change with their values: these have no state and no reasons.
  add({ "utilization", unit = "%", about = "how much of it is in use" }, { "utilization_of" },
    { "saturation", about = "how much has to wait, or was dropped" }, { "saturation_of" }, { "saturation_unit" },
    { "errors", about = "errors in the interval, and those that last" },
    { "severity", about = "0 ok, 1 warning, 2 critical" })
  if not options.openmetrics then
    add({ "state" }, { "why" })
  end
  return list
end

return kstat.report({
  optional = true, skip_first = true,
  name = "use", about = "Each resource of the machine: utilization, saturation, errors, and whether that is too much.",
  options = {
    { "x", "worst", help = "only resources that are not ok" },
    { nil, "explain", help = "what is measured, the limits, the kernel's files and the reasons" },
  },
  check = function(options)
    if options.explain then
      tool.show(limits.explain())
    end
    return nil
  end,
  note = "Without an interval it looks for a second. States: ok, warning, critical; what cannot be read is \"-\".",
  select = resources.select, columns = columns, rows = rows,
})
