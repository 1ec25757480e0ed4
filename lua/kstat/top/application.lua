--- The state of a screen: which view is shown, what is selected in it, and the lines of its window.
--
-- A view has sections, which are reports (kstat.report); each of them is a table below the other. Nothing here does
-- input or output: kstat.top.actions says what keys do to the state, kstat.top the loop around it.
--
-- @module kstat.top.application
local core = require("kstat.core")
local machine = require("kstat.top.machine")
local mistake = require("kstat.mistake")
local options = require("kstat.options")
local order = require("kstat.top.order")
local declare = require("kstat.report.declare")
local screen_table = require("kstat.top.table")
local text = require("kstat.text")

local app = {}
app.__index = app

-- --- views --------------------------------------------------------------------------------------

-- The options that a report gets on a screen: its defaults, or those that somebody gave it.
local function given_of(section, screen)
  local report = section.report or section
  local given = section.given
  if not given then
    given = report.declared and options.read(report.declared, {}) or { operands = {} }
  end
  given.screen, given.first = screen, true
  return given
end

local function new_part(section, screen)
  local report = section.report or section
  local given = given_of(section, screen)
  local own = given.sort or report.sort
  local title = type(own) == "string" and own or nil
  return { report = report, given = given, rows = {}, order = {}, texts = {}, offset = 0, room = 0, reverse = false,
    sort = title and title:gsub("^%-", "") or nil, up = title ~= nil and title:find("^%-") ~= nil,
    by = type(own) == "function" and own or nil }
end

-- What is kept of a view that was shown.
local function open_view(self, view, about)
  local shown = { view = view, screen = { live = true, interval = self.interval, tick = 0, about = about }, parts = {},
    filter = about and about.filter or "", at = 1 }
  for i, section in ipairs(view.sections) do
    shown.parts[i] = new_part(section, shown.screen)
  end
  local first = shown.parts[1]
  if about and about.sort then
    first.sort, first.up, first.by = about.sort, false, nil
  end
  shown.groups = self.group(shown)
  return shown
end

--- A new state.
-- @tparam table given `views` (an array), `view` (the name of the first), `interval` (seconds), `host`,
-- `filter` (text), `coloured` (boolean), `group` (fun(shown): the groups of sections that share a chain, see
-- kstat.top.sampling)
-- @treturn app
function app.new(given)
  local self = setmetatable({ views = given.views, interval = given.interval or 1, host = given.host or "",
    coloured = given.coloured, group = given.group, kept = {}, before = {}, width = 80, height = 24, utf8 = false,
    mode = "live" }, app)
  self:show(given.view or self.views[1].name)
  if given.filter then
    self:set_filter(given.filter)
  end
  return self
end

--- The view of a name; nil: there is none.
-- @string name
-- @treturn table|nil
-- @treturn int|nil its number
function app:view_of(name)
  for i, view in ipairs(self.views) do
    if view.name == name then
      return view, i
    end
  end
  return nil
end

--- Shows a view; as it was left, or anew if it is about something.
-- @string name
-- @tparam[opt] table about what a report's `enter` gave: `filter`, `sort`, and what the view understands
-- @treturn boolean false: there is no such view
function app:show(name, about)
  local view = self:view_of(name)
  if not view then
    return false
  end
  local shown = not about and self.kept[name] or open_view(self, view, about)
  self.kept[name], self.shown = shown, shown
  shown.screen.interval = self.interval
  self.overlay = nil
  return true
end

-- --- ticks --------------------------------------------------------------------------------------

-- The columns of a part, known when its chain is open.
local function prepare(part, chain)
  local report = part.report
  local columns = report.columns
  if report.make_columns then
    columns = declare.columns(report.make_columns(part.given, chain), report.state)
  end
  part.columns, part.table = columns, screen_table.new(columns)
end

local function index_of(columns, title)
  for i, column in ipairs(columns) do
    if column.title == title or column.key == title then
      return i
    end
  end
  return nil
end

-- The texts by which a filter finds a row.
local function words_of(part, row)
  if row.text then
    return nil
  end
  local words = {}
  for i, column in ipairs(part.columns) do
    if column.kind == "label" or column.align == "left" or i == 1 then
      local value = column.field and row[column.field]
      if value == nil and not (column.field and column.names == nil) then
        value = column.value(row)
      end
      words[#words + 1] = value ~= nil and tostring(value) or nil
    end
  end
  return table.concat(words, " ")
end

local function identity_of(part, row)
  if row.text then
    return nil
  end
  return part.report.identity and part.report.identity(row) or words_of(part, row)
end

local function value_in(column)
  return column.order or function(row)
    local value = column.field and row[column.field]
    if value == nil then
      value = column.value(row)
    end
    return value
  end
end

-- Brings the rows of a part into the order in which they are shown.
local function arrange(self, part, filter, every)
  if part.rows.ready then
    part.order, part.texts = part.rows, {}
    return
  end
  local list, texts = {}, {}
  for _, row in ipairs(part.rows) do
    if row.text then
      texts[#texts + 1] = row
    elseif not row.hidden and (filter == nil or filter(words_of(part, row))) then
      list[#list + 1] = row
    end
  end
  local column = part.sort and part.columns[index_of(part.columns, part.sort) or 0]
  if column then
    local most = not every and not self.shown.tree and part.offset + self.height or nil
    part.count = #list
    list = order.by(list, value_in(column), part.up ~= part.reverse, most)
  elseif part.by then
    table.sort(list, part.by)
  end
  if not column and part.reverse then
    for i = 1, math.floor(#list / 2) do
      list[i], list[#list + 1 - i] = list[#list + 1 - i], list[i]
    end
  end
  if self.shown.tree and part.report.parent then
    list = order.tree(list, function(row) return identity_of(part, row) end, part.report.parent)
  else
    for _, row in ipairs(list) do
      row.depth = nil
    end
  end
  part.count = math.max(column and part.count or 0, #list)
  part.order, part.texts = list, texts
end

-- Tells a report which of its rows are looked at.
local function tell(self, part)
  local screen = part.given.screen
  screen.width, screen.height, screen.utf8, screen.lines = self.width, self.height, self.utf8, self.height
  screen.sort, screen.reverse, screen.offset, screen.tree = part.sort, part.reverse, part.offset, self.shown.tree
  screen.filter = self.shown.filter
end

local function make_rows(self, part, group)
  if not part.columns then
    prepare(part, group.chain)
  end
  tell(self, part)
  local ok, rows = pcall(part.report.rows_of, part.report, group.d, group.now, group.prev, part.given)
  if not ok then
    if type(rows) == "userdata" then
      error(rows, 0) -- the host ends the script
    end
    local message = mistake.message(rows) or type(rows) == "table" and rows.message or tostring(rows)
    self.message, rows = ("%s: %s"):format(part.report.name, (message:gsub("%s*\n.*", ""))), {}
  end
  part.given.first = false
  part.rows = rows
end

--- Takes in the samples of a tick, which are in the groups of the view.
-- @number time of day, seconds since 1970
-- @tparam boolean live whether this is now
function app:take(time, live)
  local shown = self.shown
  shown.screen.time, shown.screen.live, shown.screen.tick = time, live, shown.screen.tick + 1
  self.time = time
  for _, part in ipairs(shown.parts) do
    make_rows(self, part, shown.groups.of[part])
  end
  self.machine = shown.groups.machine and shown.groups.machine.now
  self:arrange()
end

--- Brings the order of the rows up to date: after a tick, and when a key changed it.
function app:arrange()
  local shown = self.shown
  local filter = shown.filter ~= "" and self.passes or nil
  for i, part in ipairs(shown.parts) do
    if part.columns then
      arrange(self, part, filter, shown.selected and shown.at == i)
    end
  end
  self:follow()
end

--- Makes the rows of the part that is looked at again, of the samples that there are: for reports that give only what
-- is visible.
function app:again()
  local shown = self.shown
  for _, part in ipairs(shown.parts) do
    local group = shown.groups.of[part]
    if part.rows.ready and group.d then
      make_rows(self, part, group)
    end
  end
  self:arrange()
end

--- Sets the filter.
-- @string wanted a text, or /a regular expression/
function app:set_filter(wanted)
  local passes, message = order.filter(wanted)
  self.shown.filter, self.problem = wanted, message
  if passes then
    self.passes = passes
  end
  for _, part in ipairs(self.shown.parts) do
    part.offset = 0
  end
end

-- --- the selection ------------------------------------------------------------------------------

--- The part that keys are about.
function app:part()
  return self.shown.parts[self.shown.at]
end

--- The number of the selected row among those of its part; nil: none is selected.
function app:selected_index()
  local shown, part = self.shown, self:part()
  for i, row in ipairs(shown.selected and part.order or {}) do
    if identity_of(part, row) == shown.selected then
      return i
    end
  end
  return nil
end

--- Moves the selection with its row; where that is gone, it goes to the row in its place.
function app:follow()
  local shown, part = self.shown, self:part()
  if not shown.selected then
    return
  end
  local i = self:selected_index()
  if not i and #part.order > 0 and not part.rows.ready then
    i = math.max(1, math.min(shown.index or 1, #part.order))
    shown.selected = identity_of(part, part.order[i])
  end
  if i then
    shown.index = i
    self:bring(i)
  end
end

--- Scrolls so far that a row of the part is visible.
-- @int i
function app:bring(i)
  local part = self:part()
  local room = math.max(1, part.room)
  if not part.rows.ready then
    part.offset = math.max(math.min(part.offset, i - 1), i - room, 0)
  end
end

--- Selects a row of the part.
-- @int i its number; out of range: the first or the last one
function app:select(i)
  local shown, part = self.shown, self:part()
  i = math.max(1, math.min(i, #part.order))
  local row = part.order[i]
  if row then
    shown.selected, shown.index = identity_of(part, row), i
    self:bring(i)
  end
end

--- The selected row, or without a selection the first one.
-- @treturn row|nil
function app:row()
  local part = self:part()
  return part.order[self:selected_index() or 1]
end

-- --- lines --------------------------------------------------------------------------------------

-- How many rows each part can show: each gets a line in turn as long as there are any.
local function share(parts, room)
  local rooms, left, given = {}, room, true
  for i, part in ipairs(parts) do
    local needs = #part.order + #part.texts > 0 and 2 or 0
    if i > 1 and needs > 0 and left < 4 then
      needs = 0
    end
    rooms[i] = needs > 0 and 0 or nil
    left = left - (i == 1 and needs > 0 and 1 or needs)
  end
  while given and left > 0 do
    given = false
    for i, part in ipairs(parts) do
      if rooms[i] and left > 0 and rooms[i] < #part.order + #part.texts then
        rooms[i], left, given = rooms[i] + 1, left - 1, true
      end
    end
  end
  return rooms
end

local function visible(part, room)
  local rows, ready = {}, part.rows.ready
  local offset = ready and part.offset - (part.rows.first or 1) + 1 or part.offset
  for i = 1, room do
    rows[i] = part.order[offset + i] or part.texts[offset + i - #part.order]
  end
  return rows
end

-- The lines of a part.
local function part_lines(self, part, room, out)
  local report, values = part.report, {}
  part.room = room
  local most = (part.rows.ready and part.rows.total or #part.order + #part.texts) - room
  part.offset = math.max(0, math.min(part.offset, most))
  local rows = visible(part, room)
  for i, row in ipairs(rows) do
    if report.complete and not row.text then
      report.complete(row, part.given)
    end
    values[i] = report.values_of(part.columns, row)
    values[i].depth = row.depth
  end
  part.table.sort, part.table.coloured = part.sort, self.coloured
  local title, lines = screen_table.lines(part.table, values, self.width, self.utf8)
  out[#out + 1] = ("\27[1m%s\27[0m"):format(title)
  local shown, left = self.shown, room
  for i, row in ipairs(rows) do
    local chosen = shown.selected and part == self:part() and identity_of(part, row) == shown.selected
    for _, line in ipairs(lines[i]) do
      if left > 0 then
        out[#out + 1] = chosen and ("\27[7m%s\27[0m"):format(text.fit(line, self.width)) or line
        left = left - 1
      end
    end
  end
end

local MODES = { live = "LIVE %s", paused = "PAUSED", past = "PAST %s", ended = "END" }

local function seconds(v)
  return (("%.3f"):format(v):gsub("%.?0+$", "")) .. "s"
end

-- The last line: what is typed, what went wrong, or the keys.
local function last_line(self)
  local shown = self.shown
  if self.prompt then
    return (" %s%s_%s"):format(self.prompt.label, self.prompt.text, self.problem and "   " .. self.problem or "")
  elseif self.message then
    return " " .. self.message
  end
  local parts = {}
  for i, view in ipairs(self.views) do
    local name = ("%d%s"):format(i, view.label or view.name)
    parts[i] = #self.views > 1 and (view == shown.view and ("\27[7m%s\27[27m"):format(name) or name) or nil
  end
  local filter = shown.filter ~= "" and "/" .. text.harmless(shown.filter, self.utf8) or nil
  local _, number = self:view_of(shown.view.name)
  if core.columns_of(table.concat(parts, " ")) > self.width then
    parts = { ("%d%s"):format(number, shown.view.label or shown.view.name) }
  end
  parts[#parts + 1] = filter
  parts[#parts + 1] = " <- -> past  g time  h help  q"
  return " " .. table.concat(parts, " ")
end

--- The lines of the window.
-- @int width
-- @int height
-- @tparam boolean utf8
-- @treturn {string,...} at most height lines, with the styles of kstat.top.table
function app:lines(width, height, utf8)
  self.width, self.height, self.utf8 = width, height, utf8
  local shown, out = self.shown, {}
  local screen = shown.screen
  screen.width, screen.height, screen.utf8, screen.coloured = width, height, utf8, self.coloured
  local interval = self.mode == "past" and screen.elapsed or self.interval
  out[1] = machine.line({ host = self.host, time = self.time or os.time(), dated = self.mode == "past",
    mode = MODES[self.mode]:format(seconds(interval or 0)), machine = self.machine }, width)
  if self.overlay then
    local lines = self.overlay.lines(self, width)
    self.overlay.at = math.max(0, math.min(self.overlay.at or 0, #lines - (height - 2)))
    for i = 1, math.min(height - 2, #lines) do
      out[#out + 1] = lines[self.overlay.at + i]
    end
  else
    for _, line in ipairs(shown.view.head and height > 4 and self.time and shown.view.head(screen) or {}) do
      out[#out + 1] = line
    end
    local rooms = share(shown.parts, height - 1 - #out)
    for i, part in ipairs(shown.parts) do
      if rooms[i] and part.columns then
        out[#out + 1] = (i > 1 or shown.view.head and height > 10) and "" or nil
        part_lines(self, part, rooms[i], out)
      end
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

return app
