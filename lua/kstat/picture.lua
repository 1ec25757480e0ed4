--- Pictures in the terminal: sparklines, bars, heat maps over time.
--
--     local picture = require("kstat.picture")
--     print(picture.sparkline({ 1, 5, 2, 8 }))                     -- ▁▅▂█
--     io.write(picture.bars({ { "vda", 30 }, { "vdb", 5 } }))
--
-- Every function returns text and prints nothing. Characters are plain ASCII where the locale is not
-- UTF-8; the option `utf8` (true, false) overrides that. Widths are columns;
-- the option `width` overrides the window's; of fractions the whole part counts, and 2,000 is the most.
-- @module kstat.picture
local core = require("kstat.core")
local variable = require("kstat.base.environment").variable

local kstat_format = require("kstat.format")
local stdout = require("kstat.base.stdout")

local columns_of = core.columns_of

local picture = {}

local EIGHTHS = { "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" }
local LEVELS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }
local ASCII_LEVELS = { ".", ":", "-", "=", "+", "*", "#", "@" }
local SHADES = { " ", "░", "▒", "▓", "█" }
local ASCII_SHADES = { " ", ".", ":", "*", "#" }

local function speaks_utf8()
  local language = variable("LC_ALL") or variable("LC_CTYPE") or variable("LANG")
  return language ~= nil and language:lower():find("utf%-?8") ~= nil
end

local MOST_COLUMNS = stdout.MOST_COLUMNS

-- A width as a whole number; nil if it is none.
local function whole_width(width)
  width = type(width) == "number" and width >= 1 and math.floor(math.min(width, MOST_COLUMNS))
  return width or nil
end

--- What standard output is.
-- @treturn table `tty` (boolean): whether it is a terminal, `utf8` (boolean: what the locale says, also for a pipe),
-- `width` and `height` (integer: columns and rows; 80 and 24 where it is no terminal, unless $COLUMNS and $LINES say
-- otherwise; at most 2,000 and 1,000)
function picture.terminal()
  local columns, rows = stdout.window()
  return {
    tty = core.terminal(1) ~= nil,
    utf8 = speaks_utf8(),
    width = columns or 80,
    height = rows or 24,
  }
end

-- The options that each function takes.
local OPTIONS = {
  sparkline = { n = true, low = true, high = true, width = true, utf8 = true }, bar = { utf8 = true },
  bars = { most = true, format = true, width = true, utf8 = true },
  heatmap = { rows = true, most = true, title = true, width = true, utf8 = true },
}

-- Raises if a function is given an option that it does not take.
local function check_names(options, name)
  for key in pairs(options) do
    if not OPTIONS[name][key] then
      local line = require("kstat.base.unknown").word("unknown option", tostring(key), OPTIONS[name])
      core.usage(("'%s': %s"):format(name, line))
    end
  end
end

-- The options of a function with `utf8` and `width` decided.
local function decide(options, name)
  if options ~= nil and type(options) ~= "table" then
    core.usage("options: table expected, got " .. type(options))
  end
  options = options or {}
  check_names(options, name)
  local terminal = (options.utf8 == nil or options.width == nil) and picture.terminal()
  local utf8, width = options.utf8, options.width
  if utf8 == nil then
    utf8 = terminal.utf8
  end
  if width ~= nil and not whole_width(width) then
    core.usage(("option 'width': a number of columns above 0 expected, got %s"):format(tostring(width)))
  end
  return utf8, whole_width(width) or terminal.width, options
end

-- Finite numbers only; anything else counts as missing.
local function number(value)
  value = tonumber(value)
  if value and value == value and value ~= math.huge and value ~= -math.huge then
    return value
  end
  return nil
end

local function extremes(values, n)
  local low, high
  for i = 1, n do
    local v = number(values[i])
    if v then
      low = math.min(low or v, v)
      high = math.max(high or v, v)
    end
  end
  return low, high
end

-- 1..steps for a value between low and high.
local function step_of(value, low, high, steps)
  if high <= low then
    return value > low and steps or 1
  end
  local step = math.floor((value - low) / (high - low) * steps) + 1
  return math.max(1, math.min(steps, step))
end

--- A row of numbers as a row of characters, the higher the larger.
-- @tparam {?number,...} values nil, NaN and infinities show as a blank
-- @tparam[opt] table options `n` (integer: how many values, if some are nil), `low` and `high` (number: the scale;
-- default: 0, or the smallest if negative, and the largest), `width` (integer: columns; of more values only the last
-- are shown), `utf8` (boolean: more than ASCII)
-- @treturn string
function picture.sparkline(values, options)
  if type(values) ~= "table" then
    core.usage("bad argument #1 to 'sparkline' (table expected, got " .. type(values) .. ")")
  end
  local utf8, width
  utf8, width, options = decide(options, "sparkline")
  local n = options.n or #values
  local least, most = extremes(values, n)
  local low = options.low or math.min(0, least or 0)
  local high = options.high or most or 0
  local levels = utf8 and LEVELS or ASCII_LEVELS
  local out = {}
  for i = math.max(1, n - width + 1), n do
    local v = number(values[i])
    out[#out + 1] = v and levels[step_of(v, low, high, #levels)] or " "
  end
  return table.concat(out)
end

--- One number as a horizontal bar.
-- @number value
-- @number most what a full bar stands for
-- @int width columns of a full bar
-- @tparam[opt] table options `utf8` (boolean: more than ASCII)
-- @treturn string padded to width
function picture.bar(value, most, width, options)
  local utf8 = decide(options, "bar")
  width = whole_width(width)
  if not width then
    core.usage("bad argument #3 to 'bar' (a number of columns above 0 expected)")
  end
  local share = 0
  value, most = number(value), number(most)
  if value and most and most > 0 then
    share = math.max(0, math.min(1, value / most))
  end
  if not utf8 then
    local full = math.floor(share * width + 0.5)
    return ("#"):rep(full) .. (" "):rep(width - full)
  end
  local eighths = math.floor(share * width * 8 + 0.5)
  local full, rest = math.floor(eighths / 8), eighths % 8
  return EIGHTHS[8]:rep(full) .. (rest > 0 and EIGHTHS[rest] or "") ..
    (" "):rep(width - full - (rest > 0 and 1 or 0))
end

local function pad(text, width)
  return text .. (" "):rep(width - columns_of(text))
end

--- Labelled horizontal bars, one a line: label, bar, value.
-- @tparam {{string,?number},...} rows each a label and a value
-- @tparam[opt] table options `most` (number: of a full bar; default: the largest of the values), `format`
-- (string|fun(value:number):string, for kstat.format; default "%g"), `width` (integer: columns),
-- `utf8` (boolean: more than ASCII)
-- @treturn string lines
function picture.bars(rows, options)
  if type(rows) ~= "table" then
    core.usage("bad argument #1 to 'bars' (table expected, got " .. type(rows) .. ")")
  end
  local utf8, width
  utf8, width, options = decide(options, "bars")
  local format = options.format or "%g"
  local texts, values = {}, {}
  local label_width, text_width = 0, 0
  for i, row in ipairs(rows) do
    if type(row) ~= "table" then
      core.usage(("bad argument #1 to 'bars' (row %d: table expected, got %s)"):format(i, type(row)))
    end
    local v = number(row[2])
    values[i] = v
    if not v then
      texts[i] = "-"
    elseif type(format) == "function" then
      texts[i] = tostring(format(v))
    else
      texts[i] = kstat_format(format, v)
    end
    label_width = math.max(label_width, columns_of(tostring(row[1])))
    text_width = math.max(text_width, columns_of(texts[i]))
  end
  local _, largest = extremes(values, #rows)
  local most = options.most or largest or 0
  local bar_width = math.max(1, width - label_width - text_width - 2)
  local out = {}
  for i, row in ipairs(rows) do
    out[i] = ("%s %s %s%s\n"):format(pad(tostring(row[1]), label_width),
      picture.bar(values[i], most, bar_width, { utf8 = utf8 }),
      (" "):rep(text_width - columns_of(texts[i])), texts[i])
  end
  return table.concat(out)
end

local heatmap = {}
heatmap.__index = heatmap

--- A heat map over time: each added column is an interval, each row a range of values (or one thing, such as
-- a disk), each cell as dark as its count is large.
-- @tparam table options
--
--   * `rows` ({string,...}, needed): the labels from bottom to top
--   * `most` (number): the count of the darkest cell (default: the largest in view)
--   * `title` (string): a line above, `width` (integer): columns, `utf8` (boolean): more than ASCII
--
-- @treturn heatmap
-- @usage
-- local map = kstat.picture.heatmap({ rows = { "<1ms", "<10ms", "<100ms" }, title = "latency" })
-- map:add({ 20, 3, 0 })
-- io.write(map:text())
function picture.heatmap(options)
  if type(options) ~= "table" or type(options.rows) ~= "table" or #options.rows == 0 then
    core.usage("bad argument #1 to 'heatmap' (table with rows expected)")
  end
  check_names(options, "heatmap")
  return setmetatable({ options = options, columns = {} }, heatmap)
end

--- Adds the column of one interval.
-- @tparam {?number,...} counts one for each row; nil: none
-- @function map:add
function heatmap:add(counts)
  if type(counts) ~= "table" then
    core.usage("bad argument #1 to 'add' (table expected, got " .. type(counts) .. ")")
  end
  local column = {}
  for i = 1, #self.options.rows do
    column[i] = number(counts[i]) or 0
  end
  self.columns[#self.columns + 1] = column
  -- Only what the widest window could show is kept.
  if #self.columns > MOST_COLUMNS then
    table.remove(self.columns, 1)
  end
end

--- The map so far: as many of the last columns as fit.
-- @treturn string lines, the highest row first
-- @function map:text
function heatmap:text()
  local options = self.options
  local utf8, width = decide(options, "heatmap")
  local label_width = 0
  for _, label in ipairs(options.rows) do
    label_width = math.max(label_width, columns_of(tostring(label)))
  end
  local room = math.max(1, width - label_width - 3)
  local first = math.max(1, #self.columns - room + 1)
  local most = options.most or 0
  if not options.most then
    for i = first, #self.columns do
      local _, high = extremes(self.columns[i], #options.rows)
      most = math.max(most, high or 0)
    end
  end
  local shades = utf8 and SHADES or ASCII_SHADES
  local out = { options.title and options.title .. "\n" }
  for row = #options.rows, 1, -1 do
    local line = {}
    for i = first, #self.columns do
      local count = self.columns[i][row]
      local shade = count > 0 and 1 + step_of(count, 0, most, #shades - 1) or 1
      line[#line + 1] = shades[shade]
    end
    local label = tostring(options.rows[row])
    out[#out + 1] = ("%s%s |%s|\n"):format((" "):rep(label_width - columns_of(label)), label,
      pad(table.concat(line), room))
  end
  return table.concat(out)
end

return require("kstat.base.guess").within("kstat.picture", picture)
