--- Reports of scripts as a view of their own: `kstatlua top SCRIPT`, `kstatlua SCRIPT --watch`.
--
-- They are shown as their command lines say. Where a tick is one line (vmstat), its line follows those of the ticks
-- before it, as it does without a screen; what has a name takes the place of what had it. A text (iostat) is lines of a
-- table without titles.
-- @module kstat.top.watch
local evaluation = require("kstat.report.evaluation")

local watch = {}

local MOST = 1000 -- lines that are kept of former ticks

-- Appends the rows of a tick to those of earlier ones, which alone are kept: one can go back. None are kept where one
-- jumped in the past, where the tick's interval begins `before`, or between the past and now.
local function append(kept, rows, time, past, before)
  while kept[1] and kept[#kept].at >= time do
    kept[#kept] = nil
  end
  if kept[1] and (past ~= kept.past or past and kept[#kept].at < before) then
    kept = {}
  end
  kept.past = past
  for _, row in ipairs(rows) do
    row.at, kept[#kept + 1] = time, row
  end
  while #kept > MOST do
    table.remove(kept, 1)
  end
  return kept
end

-- Whether anything says whose figures these are.
local function has_name(report, row)
  local values = report.values_of(report.columns, row)
  for i, column in ipairs(report.columns) do
    if evaluation.is_name(column, values[i]) then
      return true
    end
  end
  return values.text ~= nil
end

local function lines_of(text)
  local lines = {}
  for line in text:gmatch("([^\n]*)\n") do
    lines[#lines + 1] = line
  end
  return lines
end

-- Returns function(rows, chain) that gives the text of rows as the report prints them, with their heading.
local function printer(report, given)
  local sink, written
  return function(rows, chain)
    if not sink then
      given.color = "never"
      sink = report:open_sink("table", given, chain, function(text) written = text end)
    end
    local shown = {}
    for i, row in ipairs(rows) do
      shown[i] = report.values_of(report.columns, row)
    end
    sink.show(shown, {})
    return written
  end
end

-- Returns function(text) that gives the lines of a tick's text as rows, whether they follow those of earlier ticks, and
-- the lines above them, which the first tick of lines that follow each other had.
local function lines_maker()
  local above, follows = {}, false
  return function(text)
    local lines = lines_of(text)
    if follows and #lines == #above + 1 and table.concat(lines, "\n", 1, #above) == table.concat(above, "\n") then
      lines = { lines[#lines] } -- on paper a new page begins
    elseif #lines ~= 1 then
      above = { (table.unpack or unpack)(lines, 1, #lines - 1) }
    end
    follows = #lines == 1
    local rows = {}
    for i, line in ipairs(lines) do
      rows[i] = { text = line }
    end
    return rows, follows, follows and above or {}
  end
end

-- Returns function(d, now, prev, given, chain) that gives the rows of a tick, whether they follow those of earlier
-- ticks, and the lines above them, nil for titles. Figures below a heading that are nobody's are lines of text, as they
-- are printed, because their titles say little alone.
local function row_maker(report, given)
  local as_lines, print_rows = lines_maker(), printer(report, given)
  if report.text then
    return function(...) return as_lines(report.text(...)) end
  end
  return function(d, now, prev, options, chain)
    local rows = report:rows_of(d, now, prev, options, chain)
    local is_named = not rows[1] or has_name(report, rows[1])
    if report.heading and not is_named then
      return as_lines(print_rows(rows, chain))
    end
    rows.heading = type(report.heading) == "string" and report.heading or nil
    return rows, #rows == 1 and not is_named
  end
end

-- A section of a view, see kstat.top.application, of a report with its options.
local function section_of(report, given)
  local rows_of = row_maker(report, given)
  local shown, kept = setmetatable({}, { __index = report, __newindex = report }), {}
  rawset(shown, "narrow", true)
  if report.text then
    rawset(shown, "columns", { { title = "", value = function() end, align = "left" }, fields = {} })
    rawset(shown, "make_columns", false)
  end
  rawset(shown, "rows_of", function(_, d, now, prev, options, chain)
    local anew = report.follow and select(2, report.follow(chain, options))
    d, prev = anew and now:since_creation() or d, not anew and prev or nil
    local rows, follows, head = rows_of(d, now, prev, options, chain)
    if not prev and not anew then
      return {} -- what is since creation is none of the intervals that the others are of
    end
    local heading = rows.heading
    rows = append(follows and kept or {}, rows, now.time_of_day, options.screen.past, prev and prev.time_of_day)
    kept, rows.newest_last, rows.head, rows.heading = rows, follows, head, heading
    return rows
  end)
  return { report = shown, given = given }
end

--- A view of reports.
-- @tparam {report,...} reports
-- @tparam {table,...} given their options
-- @treturn table view
function watch.view(reports, given)
  local none = reports[1].filters and ("nothing here is called '%s'"):format(table.concat(given[1].operands, "', '"))
  local view = { name = reports[1].name, sections = {}, none = none }
  for i, report in ipairs(reports) do
    view.sections[i] = section_of(report, given[i])
  end
  return view
end

return watch
