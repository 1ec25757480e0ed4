--- The resources of a machine with their states: what kstatlua use, the screen and the line of the past show of them.
-- @module kstat.use.rows
local culprits = require("kstat.use.culprits")
local resources = require("kstat.use.resources")

local rows = {}

local STATES = { [0] = "ok", "warning", "critical" }

local MARKS = { [0] = "-", "+", "#" }

--- A line of states over time.
-- @tparam {?int,...} severities the worst of each column's time; nil: nothing is known
-- @int columns
-- @treturn string so many characters: "-" ok, "+" a warning, "#" critical, a blank where nothing is known
function rows.line(severities, columns)
  local marks = {}
  for i = 1, columns do
    marks[i] = MARKS[severities[i]] or " "
  end
  return table.concat(marks)
end

--- How bad a value is.
-- @tparam table limit
-- @number value
-- @number[opt] elapsed seconds in which it was counted; nil: no more than an hour
-- @treturn int 0 ok, 1 warning, 2 critical
function rows.severity(limit, value, elapsed)
  local hours = limit.hourly and math.max((elapsed or 0) / 3600, 1) or 1
  return limit.critical and value / hours >= limit.critical and 2 or limit.warning and value >= limit.warning and 1 or 0
end

-- The fields in which a row has what it shows.
local FIELDS = {}
for _, part in ipairs({ "utilization", "saturation" }) do
  FIELDS[part] = { value = part, of = part .. "_of", unit = part .. "_unit", severity = part .. "_severity" }
end

-- Stores what a row shows of utilization or saturation: what exceeds its limit most, or else the first that is known.
-- steady: always the first, so that the labels of metrics do not change.
local function show(row, limit, value, severity, steady)
  local field = FIELDS[limit[2]]
  local before = row[field.severity]
  if not before or not steady and severity > before or row[field.of] == nil and not limit.quiet then
    local known = steady or not limit.quiet or severity > 0
    row[field.value], row[field.of] = known and value or 0, known and limit[3] or nil
    row[field.unit] = known and limit.unit or nil
    row[field.severity] = math.max(severity, before or 0)
  end
end

-- Keeps what is nearest to its limit of all that a row has: 1 is at the limit.
local function compare(row, limit, value)
  local threshold = limit.warning or limit.critical
  local share = threshold and value / threshold or 0
  if threshold and share > (row.nearest_share or -1) then
    row.nearest, row.nearest_share = row.nearest or {}, share
    row.nearest.limit, row.nearest.value = limit, value
  end
end

-- The row of a resource that was measured.
local function row_of(measured, steady)
  local row = { resource = measured.resource, name = measured.name, k = measured.k, values = measured.values,
    because = {}, d = measured.d, who_of = measured.who, of_host = measured.of_host }
  for _, limit in ipairs(resources.limits_of[measured.resource]) do
    local value = measured.values[limit[3]]
    if value then
      local severity = rows.severity(limit, value, measured.d and measured.d.elapsed)
      row.severity = math.max(row.severity or 0, severity)
      compare(row, limit, value)
      if limit[2] == "errors" then
        row.errors = (row.errors or 0) + value
      else
        show(row, limit, value, severity, steady)
      end
      if severity > 0 then
        table.insert(row.because, { limit = limit, value = value, severity = severity, who = measured.who[limit[3]] })
      end
    end
  end
  row.state = STATES[row.severity]
  return row
end

-- Each reason of a state as text; for people with who is to blame, but for those that share it with the next one.
local function texts_of(because, people)
  local texts = {}
  for i, reason in ipairs(because) do
    local named = people and reason.who ~= "" and not (because[i + 1] and because[i + 1].who == reason.who)
    texts[i] = reason.what .. (named and (" (%s)"):format(reason.who) or "")
  end
  return table.concat(texts, ", ")
end

-- Those who are to blame, each once.
local function all_culprits(because)
  local texts, seen = {}, { [""] = true }
  for _, reason in ipairs(because) do
    texts[#texts + 1] = not seen[reason.who] and reason.who or nil
    seen[reason.who] = true
  end
  return table.concat(texts, ", ")
end

--- The name of a row among others: cpu, disk vda, fs /home.
-- @tparam row row
-- @treturn string
function rows.title(row)
  return row.name == "all" and row.resource or row.resource .. " " .. row.name
end

-- Why nobody can be named, by resource; of others the name of the row says what is sick.
local NOBODY = { network = "it is counted for all sockets together", clock = "who kept it is not known",
  table = "it is counted for all together", swap = "it is counted for all together" }

--- Completes a row: what is too much, and who is to blame for it, which is found only now.
-- @tparam table row of measure() or states()
function rows.tell(row)
  if not row.because[1] then
    row.why, row.who, row.reasons = "", "", ""
    return
  end
  local known = {} -- several reasons may have the same function
  for _, reason in ipairs(row.because) do
    local who, nobody = reason.who, reason.limit.nobody or NOBODY[row.resource]
    if type(who) == "function" then
      known[who] = known[who] or who() or not nobody and row.d and culprits.nobody(row.d) or ""
      who = known[who]
    end
    who = who and who ~= "" and who or nobody and "nobody can be named: " .. nobody
    reason.what, reason.who = reason.limit[3] .. " " .. resources.amount(reason.value, reason.limit.unit), who or ""
  end
  row.why, row.who, row.reasons = texts_of(row.because), all_culprits(row.because), texts_of(row.because, true)
end

--- One thing with its state.
-- @string resource
-- @string name
-- @tparam table values what its limits are compared with, see kstat.use.resources
-- @tparam[opt] table who is to blame for each of them
-- @treturn table as measure() gives them
function rows.one(resource, name, values, who)
  return row_of({ resource = resource, name = name, values = values, who = who or {} })
end

--- The resources of a machine with their states.
-- @tparam difference d
-- @tparam sample|nil prev the earlier sample; nil: there is none
-- @tparam[opt] {string,...} names as for kstat.use.resources.select()
-- @tparam[opt=false] boolean steady what a row shows never changes with the values, for metrics
-- @tparam[opt] table kept as for kstat.use.resources.measure()
-- @treturn {table,...} each with `resource`, `name`, `severity` (?integer: 0 to 2, nil: nothing is known) and `state`
-- (its name), `utilization` and `saturation` with what is shown of them (`_of`), its unit (`_unit`) and severity
-- (`_severity`), `errors`, and `because`, what exceeds its limit: `limit`, `value`, `severity`, `who`, see tell(); the
-- `values` that were measured, who is to blame by value (`who_of`), the `k` (?kstat) that it is about, `of_host`, see
-- kstat.use.reader, and what is `nearest` (?table) to its limit: `limit`, `value`
function rows.measure(d, prev, names, steady, kept)
  local list = resources.measure(d, prev, names or {}, kept)
  for i = 1, #list do
    list[i] = row_of(list[i], steady)
  end
  return list
end

--- What is shown of a row's saturation.
-- @tparam table row
-- @treturn string|nil
function rows.saturation(row)
  if row.saturation == nil or not row.saturation_of then
    return row.saturation and "0"
  end
  local number = row.saturation_unit == "" and "%.0f" or "%.1f"
  local unit = row.saturation_unit == "%" and "%" or ""
  return number:format(row.saturation) .. unit .. " " .. row.saturation_of
end

--- The worst state of all, and what is not well; nobody looks for who is to blame.
-- @tparam difference d
-- @tparam sample|nil prev
-- @treturn int|nil 0 to 2; nil: nothing is known
-- @treturn {table,...} those above 0: `resource`, `name`, `severity`, `values`
-- @treturn {table,...} all
function rows.states(d, prev)
  local worst, list, all = nil, {}, resources.measure(d, prev, {})
  for _, row in ipairs(all) do
    for _, limit in ipairs(resources.limits_of[row.resource]) do
      local value = row.values[limit[3]]
      row.severity = value and math.max(row.severity or 0, rows.severity(limit, value, d.elapsed)) or row.severity
    end
    worst = row.severity and math.max(worst or 0, row.severity) or worst
    list[#list + 1] = (row.severity or 0) > 0 and row or nil
  end
  return worst, list, all
end

--- The same with reasons: `why`, `who` is to blame, and `reasons`, both in one text for people.
-- @tparam difference d
-- @tparam sample|nil now the later one, which grows; nil: it was read with all that is needed
-- @tparam sample|nil prev the earlier one
-- @tparam[opt] {string,...} names
-- @tparam[opt=false] boolean steady
-- @treturn {table,...}
function rows.of(d, now, prev, names, steady)
  if now then
    culprits.read(now)
  end
  local list = rows.measure(d, prev, names, steady, now and { now = now, has_io = true })
  for i = 1, #list do
    rows.tell(list[i])
  end
  return list
end

return rows
