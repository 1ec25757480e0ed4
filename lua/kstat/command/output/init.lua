--- How a report looks: a table for people, JSON lines, CSV, OpenMetrics.
--
-- A sink has functions: start(), show(rows, tick) for each tick, finish() at the end, and broken() in its place if the
-- source failed; all but show may be missing. rows is an array of arrays of values, one for each column, nil for what
-- is missing; a row's `text` is a line for people, in place of values. tick has `time` (seconds since 1970; CSV takes a
-- text, too) and `elapsed` (seconds), both but for people, `first` (since creation) and `totals` (a row, or nil); and
-- `part` where the rows are a part of a summary: its name.
-- @module kstat.command.output
local colour = require("kstat.base.colour")
local core = require("kstat.core")
local kstat_text = require("kstat.base.text")
local pager = require("kstat.command.tick").pager
local stdout = require("kstat.base.stdout")

local columns_of = core.columns_of
local unpack = table.unpack or unpack

local MOST = 2 ^ 53 -- below it a whole number is exact, and %d takes it

local output = {}

--- The data formats that options name, by their long forms.
-- @table formats
output.formats = { "json", "csv", "openmetrics" }

--- The data format that a command writes.
-- @tparam table given options
-- @treturn string|nil one of `formats`; nil: people read the output
function output.format(given)
  for _, format in ipairs(output.formats) do
    if given[format] then
      return format
    end
  end
  return nil
end

local formatted -- the column whose format is at work

--- Returns the column whose format failed, if one did, and forgets it.
function output.current()
  local column = formatted
  formatted = nil
  return column
end

-- Finite numbers; nil for all else.
local function finite(value)
  return type(value) == "number" and value - value == 0 and value or nil
end

local function joined(values, separator)
  local texts = {}
  for i, value in ipairs(values) do
    texts[i] = tostring(value)
  end
  return table.concat(texts, separator)
end

--- A value as the text of a cell for people.
-- @tparam column column
-- @param value
-- @string missing what stands for one that there is not
-- @treturn string
local function cell(column, value, missing)
  if value == nil then
    return missing
  end
  local format, kind = column.format, type(value)
  if kind == "number" and not finite(value) then
    return "-"
  elseif type(format) == "function" then
    formatted = column
    local text = tostring(format(value))
    formatted = nil
    return text
  elseif kind == "number" then
    -- %d takes whole numbers only in Lua 5.3 and later, and none of more than 64 bits.
    if format == "%d" and value % 1 == 0 and value < MOST and value > -MOST then
      return format:format(value)
    elseif column.is_integer == nil then
      column.is_integer = format ~= nil and format:find("%%[%d%-+ #.]*[dioxXuc]") ~= nil
    end
    if column.is_integer then
      return require("kstat.format")(format, value)
    end
    return (format or "%.1f"):format(value)
  elseif kind == "table" then
    return "[" .. joined(value, ",") .. "]"
  end
  return tostring(value)
end
output.cell = cell

-- --- a table ------------------------------------------------------------------------------

-- The cells of a row.
local function cells(columns, values, missing)
  local texts = {}
  for i, column in ipairs(columns) do
    texts[i] = cell(column, values[i], missing)
  end
  return texts
end

--- The state of a value by the limits or the function of its column, for its colour.
-- @tparam column column
-- @param value
-- @treturn string|nil
local function state_of(column, value)
  if type(value) ~= "number" then
    return column.state and value ~= nil and column.state(value) or nil
  end
  return column.critical and value >= column.critical and "critical" or
    column.warning and value >= column.warning and "warning" or nil
end
output.state_of = state_of

-- Brings cells into the room of their columns, and colours those of values; nil: they are titles.
local function dressed(columns, texts, values)
  for i, column in ipairs(columns) do
    local room = column.limit or math.huge
    local shown = column.whole and kstat_text.wrap(texts[i], room, columns.indent) or
      kstat_text[column.kind == "label" and "shorten" or "cut"](texts[i], room)
    texts[i] = columns.coloured and values and colour.paint(shown, state_of(column, values[i])) or shown
  end
  return texts
end

-- Columns without a width are as wide as what they show, and never become narrower. Returns whether titles or later
-- columns have to move for one that grew.
local function widen(columns, lines)
  local grew = false
  for i, column in ipairs(columns) do
    if not column.fixed then
      local before = column.width
      column.width = math.max(column.width or 0, columns_of(column.title))
      for _, texts in ipairs(lines) do
        texts = type(texts) == "table" and texts or {}
        column.width = math.max(column.width, texts[i] and columns_of(texts[i]) or 0)
      end
      grew = grew or column.width ~= before and (i < #columns or column.align ~= "left")
    end
  end
  return grew
end

local LEAST, LEAST_WHOLE = 8, 28 -- columns that a text keeps in a narrow window, and one that is never shortened

-- How many columns more than the window has the table takes, if a whole text takes no more than it has to.
local function excess(columns, window)
  local over, whole = -window, columns[#columns].whole and columns[#columns]
  for i, column in ipairs(columns) do
    over = over + column.width + (i > 1 and #columns.gap or 0)
  end
  return over - (whole and math.max(0, whole.width - LEAST_WHOLE) or 0), over
end

-- Gives the columns the room that they have in the terminal's window (of tables with a whole text, which people read:
-- in any window): texts are shortened, the longest first, and never numbers; a whole text gets what the others leave.
-- Returns whether that changed.
local function fit(columns)
  local window = columns[#columns].whole and stdout.window() or core.terminal(1)
  local over, missing = excess(columns, window or math.huge)
  local changed = false
  local rooms = {}
  while over > 0 do
    local longest
    for _, column in ipairs(columns) do
      local room, least = rooms[column] or column.width, math.max(LEAST, columns_of(column.title))
      if column.align == "left" and not column.fixed and not column.whole and room > least and
        (not longest or room > (rooms[longest] or longest.width)) then
        longest = column
      end
    end
    if not longest then
      break
    end
    rooms[longest], over, missing = (rooms[longest] or longest.width) - 1, over - 1, missing - 1
  end
  local last = columns[#columns]
  if last.whole and missing > 0 then
    rooms[last] = math.max(last.width - missing, LEAST_WHOLE)
    columns.indent = window + missing - last.width
  end
  for _, column in ipairs(columns) do
    changed = changed or column.limit ~= rooms[column]
    column.limit, column.room = rooms[column], rooms[column] or column.width
  end
  return changed
end

-- Returns function() that gives the heading and the titles; nil if there are none.
local function header_maker(columns, heading)
  local titles, headed, header = {}, heading, nil
  for i, column in ipairs(columns) do
    titles[i] = column.title
    headed = headed or column.title ~= ""
  end
  return headed and function()
    if not header or columns.flexible then
      local layout = core.layout(columns, columns.gap)
      header = (heading and heading .. "\n" or "") .. core.line(layout, dressed(columns, { unpack(titles) }), "")
    end
    return header
  end
end

-- Lines on a page between two headers.
local function page_of(report)
  local _, height = core.terminal(1)
  return report.repeat_header or (height or 24) - 2
end

-- The last column of a table is flush left if it has texts; others are, too, only where a report says so. Returns
-- whether that changed.
local function turn_last(columns, rows)
  local last = columns[#columns]
  for i = 1, last.align == nil and not last.fixed and #rows or 0 do
    local value = rows[i][#columns]
    if value ~= nil then
      last.align = type(value) == "string" and "left" or "right"
      return last.align == "left"
    end
  end
  return false
end

-- Returns function(rows, totals) that gives the lines of a tick, without newlines, and whether titles have to move.
-- Columns that have all a width, and no colours, are laid out from the values: then there are no cells but for what C
-- does not print.
local function line_maker(columns, squeeze)
  local layout = core.layout(columns, columns.gap, squeeze)
  local direct = not columns.flexible and not columns.coloured
  return function(rows, totals)
    local lines, grew = {}, false
    for i = 1, #rows do
      local row, missing = rows[i], rows[i] == totals and "" or "-"
      lines[i] = row.text and row.text .. "\n" or direct and core.line(layout, row, missing) or
        cells(columns, row, missing)
    end
    if columns.flexible then
      grew = turn_last(columns, rows)
      grew = widen(columns, lines) or grew
      grew = fit(columns) or grew
      layout = grew and core.layout(columns, columns.gap, squeeze) or layout
    end
    for i = 1, #rows do
      local texts = lines[i]
      lines[i] = type(texts) == "string" and texts or core.line(layout, dressed(columns, texts, rows[i]), "")
    end
    return lines, grew
  end
end

local function table_sink(columns, write, report)
  columns.coloured, columns.gap = report.coloured, report.gap or " "
  for _, column in ipairs(columns) do
    columns.flexible = columns.flexible or not column.fixed
    column.room = column.width or 0
  end
  local shown, header, header_due = 0, header_maker(columns, report.heading), pager(page_of(report))
  local lines_of = line_maker(columns, report.squeeze)
  return {
    show = function(rows, tick)
      rows[#rows + 1] = tick.totals
      local lines, grew = lines_of(rows, tick.totals)
      local n = #lines
      -- Many rows: a header each time. One row: a header every screenful, and when it no longer fits.
      if header_due(n, n > 1 or grew and n > 0) then
        if shown > 0 and n > 1 and report.blank ~= false then
          write("\n")
        end
        if header then
          table.insert(lines, 1, header())
        end
      end
      write(table.concat(lines))
      shown = shown + 1
    end,
  }
end

-- --- JSON lines ------------------------------------------------------------------------------

local function json_sink(columns, write, report)
  local function keys_of(...)
    local keys = { ... }
    for _, column in ipairs(columns) do
      keys[#keys + 1] = column.key
    end
    return keys, #keys - #columns
  end
  local of_ticks, of_summaries = keys_of("report", "time", "elapsed", "since_creation"), nil
  return {
    show = function(rows, tick)
      local object, before = { report.name, tick.time, tick.elapsed, tick.first, keys = of_ticks }, 4
      if tick.part then
        of_summaries, before = keys_of("report", "time", "elapsed", "summary", "part")
        object = { report.name, tick.time, tick.elapsed, true, tick.part, keys = of_summaries }
      end
      for _, row in ipairs(rows) do
        for i = 1, #columns do
          object[before + i] = row[i]
        end
        write(core.json(object) .. "\n")
      end
    end,
  }
end

-- --- CSV (RFC 4180) -----------------------------------------------------------------------------

local function csv(value)
  if value == nil or type(value) == "number" and not finite(value) then
    return ""
  elseif type(value) == "number" then
    return core.tostring(value)
  end
  local text = type(value) == "table" and joined(value, " ") or tostring(value)
  if text:find('[",\r\n]') then
    text = '"' .. text:gsub('"', '""') .. '"'
  end
  return text
end

-- A number in the format of its column, if that gives a number: "1.2K" is for people. All else as it is.
local function csv_figure(column, value)
  local text = column.format and finite(value) and cell(column, value, ""):match("^%s*(.-)%s*$")
  return text and tonumber(text) and text or value
end

local function csv_sink(columns, write)
  return {
    start = function()
      local out = { "time" }
      for _, column in ipairs(columns) do
        out[#out + 1] = csv(column.key)
      end
      write(table.concat(out, ",") .. "\n")
    end,
    show = function(rows, tick)
      for _, row in ipairs(rows) do
        local out = { csv(tick.part or tick.time) }
        for i, column in ipairs(columns) do
          out[#out + 1] = csv(csv_figure(column, row[i]))
        end
        write(table.concat(out, ",") .. "\n")
      end
    end,
  }
end

local SINKS = { table = table_sink, json = json_sink, csv = csv_sink, openmetrics = function(...)
  return require("kstat.command.output.metrics").sink(...)
end }

-- For the data formats: without the columns and the rows that are for people. places: the positions of
-- these columns among all.
local function data_only(sink, places)
  local show = sink.show
  function sink.show(rows, tick)
    local data = {}
    for _, row in ipairs(rows) do
      local values = not row.text and row or nil
      if values and places then
        values = {}
        for to, from in ipairs(places) do
          values[to] = row[from]
        end
      end
      data[#data + 1] = values
    end
    show(data, tick)
  end
  return sink
end

--- Makes a sink.
-- @string form "table", "json", "csv" or "openmetrics"
-- @tparam {table,...} columns of kstat.report.declare
-- @func write takes text
-- @tparam table report with `name`, `heading`, `gap`, `squeeze`, `blank`, `repeat_header`, `coloured`
-- @treturn sink
function output.sink(form, columns, write, report)
  local copies, places = {}, {}
  for i, column in ipairs(columns) do
    if form == "table" or column.data ~= false then
      local copy = { fixed = column.width ~= nil }
      for field, value in pairs(column) do
        copy[field] = value
      end
      copies[#copies + 1] = copy
      places[#places + 1] = i
    end
  end
  local sink = SINKS[form](copies, write, report)
  return form == "table" and sink or data_only(sink, #places < #columns and places or nil)
end

return output
