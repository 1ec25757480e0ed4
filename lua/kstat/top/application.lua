--- The state of a screen: which view is shown, in which order its rows are, and what is selected.
--
-- A view has sections, which are reports (kstat.report); each of them is a table below the other. It has a `name`, may
-- have a `head` (fun(screen): lines above the tables), `keys` of its own (each with `help` and `act`), and says `none`
-- in place of rows, from where enter leads to `instead`. Nothing here does input or output: kstat.top.actions says what
-- keys do to the state, kstat.top.window how it looks, kstat.top the loop.
-- @module kstat.top.application
local mistake = require("kstat.base.mistake")
local options = require("kstat.base.options")
local order = require("kstat.top.order")
local screen_table = require("kstat.top.table")
local window = require("kstat.top.window")

local app = {}
app.__index = app

-- --- views --------------------------------------------------------------------------------------

-- Puts rows in an order: by the column of a title, "-TITLE": the least first, or by a function.
local function set_order(part, sort)
  local title = type(sort) == "string" and sort:gsub("^%-", "") or nil
  part.sort, part.up, part.by = title, title ~= nil and title ~= sort, type(sort) == "function" and sort or nil
end

-- A table of a view. The report's options on a screen are its defaults, or those that somebody gave it, in a table for
-- each time that the view is opened, since reports keep in it what they found.
local function new_part(section, screen, number)
  local report, given = section.report or section, { operands = {} }
  for name, value in pairs(section.given or report.declared and options.read(report.declared, {}) or {}) do
    given[name] = value
  end
  given.screen, given.first = screen, true
  local part = { report = report, given = given, rows = {}, order = {}, texts = {}, offset = 0, room = 0,
    reverse = false, number = number }
  set_order(part, given.sort or report.sort)
  return part
end

-- What is kept of a view that was shown.
local function open_view(self, view, about)
  local shown = { view = view, screen = { live = true, tick = 0, about = about }, parts = {},
    filter = about and about.filter or "", at = 1, marks = {} }
  shown.remembered = not about and self.remembered or nil
  if shown.remembered then
    local filter = self.remembered:get(view.name, 0, "filter")
    shown.tree = self.remembered:get(view.name, 0, "tree") ~= nil
    shown.filter = filter and order.filter(filter) and filter or ""
  end
  shown.passes = order.filter(shown.filter)
  for i, section in ipairs(view.sections) do
    shown.parts[i] = new_part(section, shown.screen, i)
  end
  local first = shown.parts[1]
  if about and about.sort then
    set_order(first, (about.up and "-" or "") .. about.sort)
    first.is_sorted = true
  end
  shown.groups = self.group(shown)
  return shown
end

--- A new state.
-- @tparam table given `views` (an array), `view` (the name of the first), `interval` (seconds), `host`,
-- `filter` (text), `coloured` (boolean), `strict` (boolean: an error in a report ends it all, and is not a message in
-- the last line), `group` (fun(shown): the groups of sections that share a chain, see kstat.top.sampling), `window`
-- (its first size, with `width`, `height` and `utf8`), `remembered` (see kstat.top.remembered)
-- @treturn app
function app.new(given)
  local size = given.window or { width = 80, height = 24, utf8 = false }
  local self = setmetatable({ views = given.views, interval = given.interval or 1, host = given.host or "",
    coloured = given.coloured, strict = given.strict, group = given.group, kept = {}, before = {}, mode = "live",
    width = size.width, height = size.height, utf8 = size.utf8, remembered = given.remembered,
    message = given.remembered and given.remembered.problem }, app)
  self:show(given.view or self.views[1].name, given.about)
  self.kept[self.shown.view.name] = self.shown
  self.shown.remembered = self.remembered
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

--- Looks for a column of the first table; a view without it gives its place to processes.
-- @tparam {string,...} titles of which one is enough
-- @treturn string|nil the title; nil: there is none, which the message says
function app:find_column(titles)
  local from = self.shown
  local part = from.parts[1]
  for _, title in ipairs(part.columns and titles or {}) do
    if part.report:column_of(title) then
      return title
    end
  end
  if from.view.name == "processes" and part.columns or not self:show("processes") then
    self.message = ("this view has no column %s"):format(titles[1])
    return nil
  end
  self.before = { from ~= self.shown and from or nil }
  return titles[1]
end

--- Remembers what somebody chose.
-- @tparam table|nil part nil: it is about the view
-- @string what
-- @string|nil how nil: as at first
function app:remember(part, what, how)
  local shown = self.shown
  if shown.remembered then
    shown.remembered:set(shown.view.name, part and part.number or 0, what, how)
  end
end

-- By what a column is known between starts.
local function choice_of(column)
  return "column " .. (column.title ~= "" and column.title or column.key or "")
end

--- Shows or hides a column.
-- @tparam table part
-- @int i its number
-- @string how "show", "hide", or "keep": also where the window is narrow
function app:choose_column(part, i, how)
  part.table.hidden[i], part.table.forced[i] = how == "hide" or nil, how == "keep" or nil
  self:remember(part, choice_of(part.columns[i]), how)
end

--- Forgets what was chosen, now and before: all views are as they were at first.
function app:forget()
  local name = self.shown.view.name
  if self.remembered then
    self.remembered.choices = {}
  end
  self.kept, self.before = {}, {}
  self:show(name)
end

--- Sorts a table by a column, the largest first, which is shown from then on.
-- @tparam table part
-- @int i the number of the column
function app:sort(part, i)
  local title = part.columns[i].title
  part.sort = part.report:column_of(title) == i and title or part.columns[i].key
  part.table.sort, part.table.hidden[i] = i, nil
  part.up, part.by = false, nil
  self:reorder(part)
end

--- Shows the rows of a table in the order that is chosen for it, from the first one on.
-- @tparam table part
function app:reorder(part)
  part.offset = 0
  self:remember(part, "sort", part.sort and (part.up ~= part.reverse and "-" or "") .. part.sort)
  self:again()
end

--- Shows a view; as it was left, or anew if it is about something: then it is not what the key of the view shows.
-- @string name
-- @tparam[opt] table about what a report's `enter` gave: `filter`, `sort`, `up` (boolean: the least first), and what
-- the view understands
-- @treturn boolean false: there is no such view
function app:show(name, about)
  local view = self:view_of(name)
  if not view then
    return false
  end
  local shown = not about and self.kept[name] or open_view(self, view, about)
  self.kept[name], self.shown = not about and shown or self.kept[name], shown
  self.overlay = nil
  return true
end

-- --- ticks --------------------------------------------------------------------------------------

-- The columns of a part, known when its chain is open.
local function prepare(shown, part, chain)
  local report = part.report
  report:open_columns(part.given, chain)
  part.columns, part.table = report.columns, screen_table.new(report.columns, report.narrow)
  local hidden, forced = part.table.hidden, part.table.forced
  local function remembered(what)
    return shown.remembered and shown.remembered:get(shown.view.name, part.number, what)
  end
  for i, column in ipairs(part.columns) do
    local how = remembered(choice_of(column))
    if how then
      hidden[i], forced[i] = how == "hide" or nil, how == "keep" or nil
    end
  end
  local sort = not part.is_sorted and remembered("sort")
  if sort and report:column_of((sort:gsub("^%-", ""))) then
    set_order(part, sort)
  end
  hidden[part.sort and report:column_of(part.sort) or 0] = nil
end

-- The rows of a part that the filter leaves; and those that stay behind them: lines of text, and totals.
local function chosen(part, filter)
  local list, texts, complete = {}, {}, nil
  if filter and order.has_lazy_name(part.columns) then
    complete = part.report.complete
  end
  local n, rawget = 0, rawget -- there may be thousands
  for _, row in ipairs(part.rows) do
    if rawget(row, "text") or rawget(row, "last") then
      texts[#texts + 1] = row
    elseif not rawget(row, "hidden") then
      if complete then
        complete(row, part.given)
      end
      if filter == nil or filter(part, row) then
        n = n + 1
        list[n] = row
      end
    end
  end
  return list, texts
end

-- Brings the rows of a part into the order in which they are shown.
local function arrange(self, part, filter, every)
  if part.rows.ready then
    part.order, part.texts = part.rows, {}
    return
  end
  local list, texts = chosen(part, filter)
  local column = part.sort and part.columns[part.report:column_of(part.sort) or 0]
  if column then
    local most = not every and not self.shown.tree and part.offset + self.height or nil
    part.count = #list
    for _, row in ipairs(column.lazy and part.report.complete and list or {}) do
      part.report.complete(row, part.given)
    end
    local function value(row) return order.value(column, row) end
    list = order.by(list, column.order or value, part.up ~= part.reverse, most)
  elseif part.by then
    table.sort(list, part.by)
  end
  if not column and part.reverse then
    for i = 1, math.floor(#list / 2) do
      list[i], list[#list + 1 - i] = list[#list + 1 - i], list[i]
    end
  end
  if self.shown.tree and part.report.parent then
    list = order.tree(list, function(row) return order.identity(part, row) end, part.report.parent)
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
  screen.sort, screen.reverse, screen.offset = part.sort, part.up ~= part.reverse, part.offset
  screen.tree, screen.filter = self.shown.tree, self.shown.filter
  screen.selected = part == self:part() and self.shown.selected or nil
end

local function make_rows(self, part, group)
  tell(self, part)
  if not part.columns then
    prepare(self.shown, part, group.chain)
  end
  local ok, rows = pcall(part.report.rows_of, part.report, group.d, group.now, group.prev, part.given,
    group.chain)
  if not ok then
    if self.strict or type(rows) == "userdata" then -- with the latter the host ends the script
      error(rows, 0)
    end
    local message = mistake.message(rows) or type(rows) == "table" and rows.message or tostring(rows)
    self.message, rows = ("%s: %s"):format(part.report.name, (message:gsub("%s*\n.*", ""))), {}
  end
  part.given.first = false
  part.rows, self.message = rows, self.message or rows.remark
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
  local filter = shown.filter ~= "" and shown.passes or nil
  for i, part in ipairs(shown.parts) do
    if part.columns then
      arrange(self, part, filter, shown.selected and shown.at == i)
    end
  end
  self:follow()
end

--- Brings rows and their order up to date after a key. Reports that give only what is visible make their rows again, of
-- the samples that there are.
-- @tparam[opt] boolean trees so do those that have trees, of which the rows may be others than those of lists
function app:again(trees)
  local shown = self.shown
  for _, part in ipairs(shown.parts) do
    local group = shown.groups.of[part]
    if (part.rows.ready or trees and part.report.parent) and group.d then
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
  self.shown.passes = passes or self.shown.passes
  for _, part in ipairs(self.shown.parts) do
    part.offset = 0
  end
end

-- --- the selection ------------------------------------------------------------------------------

--- The part that keys are about.
function app:part()
  return self.shown.parts[self.shown.at]
end

-- Rows in front of those that a part has: a report may give only those around the window.
local function before(part)
  return part.rows.ready and part.rows.first - 1 or 0
end

--- How many rows a part has, with those that its report did not give.
-- @treturn int
function app.count(part)
  return part.rows.ready and part.rows.total or #part.order
end

--- The number of the selected row among those of its part; nil: none is selected.
function app:selected_index()
  local shown, part = self.shown, self:part()
  for i, row in ipairs(shown.selected and part.order or {}) do
    if order.identity(part, row) == shown.selected then
      return before(part) + i
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
  if not i and #part.order > 0 then
    i = before(part) + math.max(1, math.min((shown.index or 1) - before(part), #part.order))
    shown.selected = order.identity(part, part.order[i - before(part)])
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
  local offset = math.max(math.min(part.offset, i - 1), i - math.max(1, part.room), 0)
  local scrolled = offset ~= part.offset
  part.offset = offset
  if scrolled and part.rows.ready then
    self:again()
  end
end

--- Selects a row of the part.
-- @int i its number; out of range: the first or the last one
function app:select(i)
  local shown, part = self.shown, self:part()
  i = math.max(1, math.min(i, app.count(part)))
  shown.selected, shown.index = nil, i
  self:bring(i)
  local row = part.order[i - before(part)]
  shown.selected = row and order.identity(part, row)
end

--- Goes to the first row of the next part that has any.
function app:next_part()
  local shown = self.shown
  for i = 1, #shown.parts do
    local at = (shown.at + i - 1) % #shown.parts + 1
    if #shown.parts[at].order > 0 and shown.parts[at].room > 0 then
      shown.at, shown.selected = at, nil
      self:arrange()
      self:select(1)
      self:arrange() -- which has all rows in order now
      return
    end
  end
end

--- The selected row, or without a selection the first one.
-- @treturn row|nil nil also where there is a line of text
function app:row()
  local part, i = self:part(), self:selected_index()
  local row = part.order[i and i - before(part) or 1]
  return row and not rawget(row, "text") and row or nil
end

--- The lines of the window, see kstat.top.window.
-- @function app:lines
app.lines = window.lines

return app
