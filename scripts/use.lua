--- use: each resource of the machine: its utilization, saturation, errors, and whether that is too much.
--
-- This is Brendan Gregg's USE method in one report. What is measured, from where on it is a warning or critical, and
-- why, is in the modules of kstat.use.resources, and --explain prints it. Only saturation and errors are ever critical;
-- what cannot be read is "-".
-- SPDX-License-Identifier: MIT
local asked_past = require("kstat.base.past")
local core = require("kstat.core")
local kstat = require("kstat")
local levels = require("kstat.use.levels")
local opening = require("kstat.command.opening")
local operand = require("kstat.command.operand")
local output = require("kstat.command.output")
local reader = require("kstat.use.reader")
local recent = require("kstat.use.recent")
local resources = require("kstat.use.resources")
local rows = require("kstat.use.rows")
local running = require("kstat.base.running")
local selector = require("kstat.read.selector")
local tick = require("kstat.command.tick")

-- --- rows ----------------------------------------------------------------------------------------

local is_replay
local plain = {} -- what those keep who have no screen

-- Tells people once what the verdict on the whole machine goes without; and those who ask for processes, and on a
-- terminal those who look at all resources, that a recording has none: they are in it only if they were named.
local function check_lacks(d, list, options)
  local operands = options.operands
  local wanted = operands[1] == nil and core.terminal(2) ~= nil or operands[1] and
    (" " .. table.concat(operands, " ") .. " "):find(" process ", 1, true)
  if plain.told or output.format(options) then
    return
  elseif is_replay and wanted and #d:select({ class = "process" }) == 0 then
    running.warn_later({ "this recording has no processes; record with: " ..
      "kstatlua record -o FILE '*' process 'process::*,fd' 10" })
  elseif not (is_replay or operands[1]) then
    plain.told = true
    running.warn_later(reader.lacks(d, list))
  end
end

local PATIENCE = 2e9 -- ns for which a recording is judged to say since when

-- What knows since when something is so: of a moment that was asked for its recording, or else what was seen so far.
local function witness(options)
  local screen = options.screen or plain
  local source = asked_past.at(options) and not options.screen and asked_past.source(options)
  local past = source and require("kstat.top.past").open({ capture = source.capture, host = source.host,
    from = "0", at = asked_past.at(options) })
  local deadline = core.gethrtime() + PATIENCE
  return past and { since = function(_, row) return past:since(row, deadline) end } or screen.past or screen.recent
end

-- Says of what is not well since when.
local function tell_since(d, now, prev, list, options)
  local seen
  for _, row in ipairs(prev and not output.format(options) and list or {}) do
    if (row.severity or 0) > 0 then
      seen = seen or witness(options)
      row.since = recent.words(d, row, seen, now.time_of_day, prev.time_of_day)
    end
  end
end

local all_well, report

-- --- --check -------------------------------------------------------------------------------------

local VERDICTS = { [0] = "OK", "WARNING", "CRITICAL", "UNKNOWN" }
local checking, verdict -- whether --check begins; its exit status, once it is known

-- Whether a word is a kind of resource, whether one of it is here or not.
local function is_kind(name)
  for _, limit in ipairs(resources.limits) do
    if limit[1] == name then
      return true
    end
  end
  return false
end

-- Ends the command as plugins of monitoring systems end: with a line that names the worst resource and who is to blame.
local function conclude(all, options)
  local list, worst, count, least = {}, nil, 0, options.check == "critical" and 2 or 1
  verdict = 3
  for _, row in ipairs(all) do
    local wanted = operand.matches(report.filters or {}, row.resource) or operand.matches(report.filters, row.name)
    list[#list + 1] = wanted and row or nil
    verdict = wanted and row.severity and 0 or verdict -- what is known of any
    if wanted and (row.severity or 0) >= least then
      count = count + 1
      worst = worst and worst.severity >= row.severity and worst or row
    end
  end
  verdict = worst and worst.severity or verdict
  local line = worst and rows.title(worst) .. ": " .. worst.reasons ..
    (count > 1 and ("; %d more"):format(count - 1) or "") or
    not list[1] and (is_kind(options.operands[1]) and "none is here" or "nothing has that name") or
    options.check == true and all_well(list) or "nothing is critical"
  running.write("USE ", VERDICTS[verdict], " - ", (line:gsub("|", "/")), "\n")
  running.flush()
  running.stop(verdict)
end

-- --- the table -----------------------------------------------------------------------------------

-- Adds a row for each resource that was asked for and that is not here, such as a GPU.
local function add_absent(list, operands)
  for _, name in ipairs(operands) do
    local is_here = false
    for _, row in ipairs(list) do
      is_here = is_here or row.resource == name
    end
    list[#list + 1] = is_kind(name) and not is_here and
      { resource = name, name = "-", state = "none is here", reasons = "" } or nil
  end
end

local function make_rows(d, now, prev, options)
  local screen = options.screen or plain
  local list = rows.of(d, not screen.past and now or nil, prev, options.operands, options.openmetrics)
  if options.check and prev then
    conclude(list, options)
  end
  if not output.format(options) then
    add_absent(list, options.operands)
  end
  local most = screen.height
  screen.recent = screen.recent or recent.new()
  if prev and not screen.past then
    screen.recent:add(prev.time_of_day, now.time_of_day, list)
  end
  tell_since(d, now, prev, list, options)
  if prev and not most then
    check_lacks(d, list, options)
  end
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
function all_well(list)
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

-- Why a resource is in its state, with its values of the last minute.
local function explain(row, options)
  local seen = options.screen.past or options.screen.recent
  return row.resource and require("kstat.top.states").explain(row, rows.title(row), options.screen.utf8, row.since,
    function(figure) return seen:values(row, figure) end)
end

-- --- columns -------------------------------------------------------------------------------------

-- The state and what led to it, which is never cut.
local STATE = { "state", function(row)
  local one = row.severity == 0 and levels.one(row)
  return row.state and row.state .. (one and ", " .. one or "") .. (row.of_host and ", of the host" or "") ..
    (row.reasons ~= "" and ": " .. row.reasons or "") .. (row.since and " " .. row.since or "")
end, align = "left", whole = true, state = function(text) return text:match("^%l+") end }

local function columns(options)
  local list = {
    -- On a screen the first text without a width is what becomes narrower: a name does, and not the state.
    { "resource", align = "left", width = 8, kind = "label" }, { "name", align = "left", kind = "label" },
  }
  local function add(...)
    for _, column in ipairs({ ... }) do
      list[#list + 1] = column
    end
  end
  if not output.format(options) then
    add({ "util", "utilization", unit = "%" }, { "saturation", rows.saturation, align = "left" },
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

local MOMENT = 0.1 -- seconds: ticks of 10 ms of CPU time are counted within them

-- What can be measured of the machine, or of the recording; nil: it cannot be looked at.
local function measured(options)
  local list
  local select = selector.list((table.unpack or unpack)(resources.select({})))
  local ks = opening.open(options, select)
  if ks then
    tick.run(ks, ks:is_replay() and 1 or MOMENT, 2, function(now, prev)
      list = prev and resources.measure(now - prev, prev, {}) or list
    end, select)
    ks:close()
  end
  return list
end

report = kstat.report({
  optional = true, skip_first = true, follow = function(ks) is_replay = ks:is_replay() end,
  name = "use", about = "Each resource of the machine: utilization, saturation, errors, and whether that is too much.",
  options = {
    { "x", "worst", help = "only resources that are not ok" },
    { nil, "check", arg = "critical", optional = true, type = "word",
      help = "one line, and status 0 ok, 1 warning, 2 critical, 3 unknown; =critical: 0, 2 or 3" },
    { nil, "explain", help = "what is measured, the limits, the kernel's files and the reasons" },
  },
  check = function(options)
    checking = options.check
    if options.explain then
      running.show(resources.explain(measured(options)))
    end
  end,
  none = all_well,
  note = "Without an interval it looks for a second. States: ok, warning, critical; what cannot be read is \"-\".",
  select = function(options) return resources.select(options.operands) end, columns = columns, rows = make_rows,
  explain = explain, identity = rows.title,
})

-- With --check whatever is no verdict is unknown: no failure has the status of a warning.
function report:run(words, write)
  local status, asked = kstat.report.run(self, words, write), false
  for _, word in ipairs(words) do
    asked = asked or tostring(word):find("^%-%-check") ~= nil
  end
  if not asked or verdict or status == 0 and not checking then
    return verdict or status
  end
  io.stdout:write("USE UNKNOWN - standard error says why\n")
  return 3
end

return report
