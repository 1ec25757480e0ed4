--- How `top` looks: its state as lines of text, and lines as what a terminal is sent. Nothing here does
-- input or output.
-- @module kstat.top.view
local core = require("kstat.core")
local picture = require("kstat.picture")
local rows = require("kstat.top.rows")
local text_of = require("kstat.text")

local view = {}

-- Columns for the sparkline: what a wide window has to spare.
local function trend_width(width)
  return math.max(0, math.min(32, math.floor((width - 60) / 2)))
end

-- A line of cells: rate, value, unit, trend where there is room for it, and name.
local function line_of(width, rate, value, unit, trend, name)
  local columns = { { room = 8 }, { room = 8 }, { room = 6, align = "left" } }
  local cells = { rate, value, (text_of.cut(unit, 6)) }
  if trend_width(width) > 0 then
    columns[4], cells[4] = { room = trend_width(width) }, trend
  end
  columns[#columns + 1], cells[#cells + 1] = { room = 0 }, name
  return text_of.fit(core.line(core.layout(columns, " "), cells, ""):sub(1, -2), width)
end

local function row_line(row, width, utf8)
  local room, trend = trend_width(width), ""
  if room > 0 then
    local past, n = rows.history(row, room)
    trend = picture.sparkline(past, { n = n, width = room, utf8 = utf8 })
  end
  return line_of(width, text_of.number(row.rate), text_of.number(row.value), text_of.harmless(row.unit, utf8), trend,
    text_of.harmless(row.name, utf8))
end

local function header_line(state, width)
  local function title(name)
    return state.sort == name and (state.reverse and "^" or "") .. name:upper() or name
  end
  return line_of(width, title("rate"), title("value"), "unit", "trend", title("name"))
end

local function seconds(v)
  return (("%.3f"):format(v):gsub("%.?0+$", ""))
end

local function status_line(state)
  local parts = {
    os.date("%H:%M:%S", state.time), state.host,
    ("%d kstats"):format(state.kstats), ("%d of %d statistics"):format(state.shown, state.total),
    ("every %s s"):format(seconds(state.interval)),
  }
  if state.first then
    parts[#parts + 1] = "since creation"
  end
  if state.ended then
    parts[#parts + 1] = "end of capture"
  elseif state.paused then
    parts[#parts + 1] = "paused"
  end
  return table.concat(parts, "  ")
end

local HELP = {
  "q               quit",
  "r  v  n         sort by rate, by value, by name;  R  the other way round",
  "/               show names with a text, or that match a /regular expression/; escape: all",
  "c               counters and gauges, counters only, gauges only",
  "z               without idle rows, or with them",
  "space           pause and go on;  .  one interval at once",
  "+  -            longer and shorter interval",
  "arrows, page up, page down, home, end",
  "h  ?            this, and back",
  "",
  "rate    change per second; of durations in seconds, so 1 is all the time; - for gauges",
  "value   now;  k is 1,000, M 1,000 k and so on",
  "trend   the rates (of gauges the values) of the last intervals, each row on its own scale",
}

local function prompt_line(state)
  if state.editing then
    return "/" .. state.text .. "_" .. (state.problem and "   " .. state.problem or "")
  elseif state.message then
    return state.message
  end
  local parts = { "q quit", "r v n sort", "R reverse", "/ filter", "c kinds", "z idle", "space pause",
    "+ - interval", "h help" }
  local text = table.concat(parts, "   ")
  if state.show and state.show ~= "all" then
    text = state.show .. " only   " .. text
  end
  if state.text ~= "" then
    text = ("filter: %s   "):format(state.text) .. text
  end
  return text
end

--- Rows that a window of this height shows.
-- @int height
-- @treturn int at least 1
function view.room(height)
  return math.max(1, height - 3)
end

--- The whole window.
-- @tparam table state `time` (seconds since 1970), `host`, `kstats`, `interval` (seconds), `total` (rows
-- there are), `shown` (that pass), `sort`, `reverse`, `show`, `first`, `paused`, `ended`, `editing`,
-- `text` (the filter), `problem`, `message`, `help`, `rows` (those that pass), `offset` (of the first visible)
-- @int width columns
-- @int height rows of the window
-- @tparam boolean utf8
-- @treturn {string,...} height lines of width columns each; `reverse` is the number of the one to highlight
function view.lines(state, width, height, utf8)
  local lines = { reverse = 2 }
  lines[1] = text_of.fit(text_of.harmless(status_line(state), utf8), width)
  lines[2] = header_line(state, width)
  for i = 1, height - 3 do
    local text
    if state.help then
      text = text_of.fit(HELP[i] or "", width)
    else
      local row = state.rows[state.offset + i]
      text = row and row_line(row, width, utf8) or (" "):rep(width)
    end
    lines[#lines + 1] = text
  end
  while #lines < height - 1 do
    lines[#lines + 1] = (" "):rep(width)
  end
  lines[#lines + 1] = text_of.fit(text_of.harmless(prompt_line(state), utf8), width)
  while #lines > height do
    table.remove(lines, 2)
    lines.reverse = nil
  end
  return lines
end

--- What turns the window from one set of lines to another.
-- @tparam {string,...} lines
-- @tparam[opt] {string,...} before nil: nothing is known about the window
-- @treturn string for the terminal
function view.update(lines, before)
  local out = {}
  if not before or #before ~= #lines then
    before = {}
    out[1] = "\27[0m\27[2J"
  end
  for i, text in ipairs(lines) do
    if text ~= before[i] then
      text = text:gsub(" +$", "")
      if lines.reverse == i then
        text = "\27[7m" .. lines[i] .. "\27[0m"
      end
      out[#out + 1] = ("\27[%d;1H\27[K%s"):format(i, text)
    end
  end
  return table.concat(out)
end

view.ENTER = "\27[?1049h\27[?25l\27[?7l" -- the other screen, no cursor, no wrapping
view.LEAVE = "\27[?7h\27[?25h\27[?1049l"

return view
