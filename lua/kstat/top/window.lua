--- The lines of a screen's window: the machine, the view's head, its tables, and the keys.
-- @module kstat.top.window
local core = require("kstat.core")
local machine = require("kstat.top.machine")
local order = require("kstat.top.order")
local screen_table = require("kstat.top.table")
local text = require("kstat.base.text")

local window = {}

local FIRST = 4 -- rows that the first part has before others share: processors, memory, a disk and a link

-- The lines above the rows of a part: those that they have, or titles, and the report's heading.
local function above(part, title)
  return part.rows.head or { part.rows.heading or title:find("%S") and title, part.rows.heading and title }
end

-- How many rows each part can show: each gets a line in turn as long as there are any. A part behind the first one has
-- at least one row, or no place. Returns the lines that are left, too.
local function share(parts, room)
  local rooms, left, given = {}, room, true
  for i, part in ipairs(parts) do
    local needs = #part.order + #part.texts > 0 and 1 + #above(part, "titles") or 0
    local least = i > 1 and 1 or 0 -- rows
    if i > 1 and left - needs - least < i - 1 then -- the later ones leave first
      needs = 0
    end
    rooms[i] = needs > 0 and least or nil
    left = left - (needs > 0 and needs - 1 + 2 * least or 0)
  end
  if rooms[1] and left > 0 then
    rooms[1] = math.min(FIRST, #parts[1].order + #parts[1].texts, math.max(1, left - #parts + 1))
    left = left - rooms[1]
  end
  while given and left > 0 do
    given = false
    for i, part in ipairs(parts) do
      if rooms[i] and left > 0 and rooms[i] < #part.order + #part.texts then
        rooms[i], left, given = rooms[i] + 1, left - 1, true
      end
    end
  end
  return rooms, left
end

local function visible(part, room)
  local rows, ready = {}, part.rows.ready
  local offset = ready and part.offset - (part.rows.first or 1) + 1 or part.offset
  for i = 1, room do
    rows[i] = part.order[offset + i] or part.texts[offset + i - #part.order]
  end
  return rows
end

-- The lines of a part. spare: how many more it may have, if rows take several. Returns how many are left of these.
local function part_lines(self, part, room, spare, out)
  local report, values = part.report, {}
  if part.room ~= room then
    part.room = room
    if part == self:part() then
      self:follow() -- another table came above it, or the window is another one
    end
  end
  local most = (part.rows.ready and part.rows.total or #part.order + #part.texts) - room
  part.offset = math.max(0, part.rows.newest_last and not self.shown.selected and most or math.min(part.offset, most))
  local rows = visible(part, room)
  for i, row in ipairs(rows) do
    if report.complete and not rawget(row, "text") and not rawget(row, "last") then
      report.complete(row, part.given)
    end
    values[i] = report.values_of(part.columns, row, part.table.hidden)
    values[i].depth = rawget(row, "depth")
  end
  part.table.sort, part.table.coloured = part.sort and report:column_of(part.sort), self.coloured
  local title, lines = screen_table.lines(part.table, values, self.width, self.utf8)
  for _, line in ipairs(above(part, title)) do
    out[#out + 1] = ("\27[1m%s\27[0m"):format(line == title and line or " " .. text.cut(line, self.width - 1))
  end
  local shown, left = self.shown, room + spare
  for i, row in ipairs(rows) do
    local chosen = shown.selected and part == self:part() and order.identity(part, row) == shown.selected
    local is_marked = next(shown.marks) and shown.marks[order.identity(part, row) or ""]
    for _, line in ipairs(lines[i]) do
      line = is_marked and "*" .. line:sub(2) or line
      if left > 0 then
        out[#out + 1] = chosen and ("\27[7m%s\27[0m"):format(text.fit(line, self.width)) or line
        left = left - 1
      end
    end
  end
  return math.min(spare, left)
end

local MODES = { live = "LIVE %s", paused = "PAUSED", past = "PAST %s", ended = "END" }

local function seconds(v)
  return ((v < 0.95 and "%.2g" or "%.1f"):format(v):gsub("%.0$", "")) .. "s"
end

local KEYS, HELP = "  <-> past g time h help q", "  h help" -- where the window has no room for more

-- The last line: what is typed, what went wrong, or the keys.
local function last_line(self)
  local shown = self.shown
  if self.prompt then
    local hint = self.problem or self.prompt.text == "" and self.prompt.hint
    return (" %s%s_%s"):format(self.prompt.label, self.prompt.text, hint and "   " .. hint or "")
  elseif self.message then
    return (text.cut(" " .. text.harmless(self.message, self.utf8), self.width))
  end
  local parts = {}
  for i, view in ipairs(self.views) do
    local name = ("%d%s"):format(i, view.label or view.name)
    parts[i] = #self.views > 1 and (view == shown.view and ("\27[7m%s\27[27m"):format(name) or name) or nil
  end
  local filter = shown.filter ~= "" and " \\" .. text.harmless(shown.filter, self.utf8) or ""
  local _, number = self:view_of(shown.view.name)
  local this = (" %d%s"):format(number, shown.view.label or shown.view.name)
  local all, line = parts[1] and " " .. table.concat(parts, " ") or "", nil
  for _, choice in ipairs({ { all, KEYS }, { all, HELP }, { this, KEYS }, { this, HELP } }) do
    line = choice[1] .. filter .. choice[2]
    if core.columns_of(line) <= self.width then
      break
    end
  end
  return line
end

--- The lines of the window.
-- @tparam app self
-- @int width
-- @int height
-- @tparam boolean utf8
-- @treturn {string,...} at most height lines, with the styles of kstat.top.table
function window.lines(self, width, height, utf8)
  self.width, self.height, self.utf8 = width, height, utf8
  local shown, out = self.shown, {}
  local screen = shown.screen
  screen.width, screen.height, screen.utf8, screen.coloured = width, height, utf8, self.coloured
  local interval = self.mode ~= "past" and self.interval or screen.elapsed
  local mode = MODES[self.mode]:format(interval and seconds(interval) or ""):gsub(" $", "")
  out[1] = machine.line({ host = self.host, time = self.time or os.time(), dated = self.mode == "past",
    mode = mode, machine = self.machine }, width)
  if self.overlay then
    local lines = self.overlay:lines(self, width)
    self.overlay.at = math.max(0, math.min(self.overlay.at, #lines - (height - 2)))
    for i = 1, math.min(height - 2, #lines) do
      out[#out + 1] = lines[self.overlay.at + i]
    end
  else
    for _, line in ipairs(shown.view.head and height > 4 and self.time and shown.view.head(screen) or {}) do
      out[#out + 1] = line
    end
    local has_rows = false
    if shown.view.head and height > 10 then
      out[#out + 1] = ""
    end
    local rooms, spare = share(shown.parts, height - 1 - #out)
    for i, part in ipairs(shown.parts) do
      if rooms[i] and part.columns then
        out[#out + 1] = i > 1 and "" or nil
        spare = part_lines(self, part, rooms[i], spare, out)
        has_rows = true
      else
        part.room = 0
      end
    end
    if not has_rows and self.time then
      local none = shown.view.none or "there is nothing to be shown"
      out[#out + 1] = " " .. (shown.filter ~= "" and ("no row has '%s'; escape shows all"):format(
        text.harmless(shown.filter, utf8)) or none)
    end
  end
  for i = #out + 1, height - 1 do
    out[i] = ""
  end
  out[math.max(height, 1)] = last_line(self)
  for i = height + 1, #out do
    out[i] = nil
  end
  return out
end

return window
