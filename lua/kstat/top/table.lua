--- The rows of a report as a table of a screen: lines that are as wide as the window.
--
-- Columns are as wide as what they have shown; the first text takes the room that the others leave and is shortened in
-- the middle. In a window that is too narrow the columns with the largest `priority` leave, but not the one that sorts.
-- A last column that is `whole` takes what is left: it goes on in the next line, or ends there if it says so.
-- @module kstat.top.table
local colour = require("kstat.base.colour")
local core = require("kstat.core")
local output = require("kstat.command.output")
local text = require("kstat.base.text")

local find, cell = string.find, output.cell

local screen_table = {}

-- Columns that names keep in any window, those that they get before others leave for them, and those of a whole text.
local LEAST, READABLE, LEAST_WHOLE = 8, 20, 28
local STEADY = 40 -- columns that names take if there is room, so that figures stay where they are when longer ones come
local DEEPEST = 20 -- levels of a tree by which names are indented

-- The column that takes what the others leave: the first text of any width. Where there is none, the last text, or the
-- first column, which becomes narrower, and never wider than it has to be.
local function flexible(columns)
  local last
  for i, column in ipairs(columns) do
    local is_name = column.align == "left" and not column.whole
    if is_name and not column.width then
      return i, true
    end
    last = is_name and i or last
  end
  return last or 1, false
end

--- Prepares columns for a table.
-- @tparam {column,...} columns of kstat.report.declare
-- @tparam[opt] boolean narrow names take no more room than they need
-- @treturn table with `columns`, `hidden` (by number: columns that nobody wants to see), `forced` (by number: those
-- that stay in a narrow window), `shown` (the numbers of those that the last lines had)
function screen_table.new(columns, narrow)
  local self = { columns = columns, hidden = {}, forced = {}, widths = {} }
  local stretches
  self.flexible, stretches = flexible(columns)
  self.least = stretches and not narrow and STEADY or 0
  for i, column in ipairs(columns) do
    self.widths[i] = math.max(column.width or 0, core.columns_of(column.title))
    self.hidden[i] = column.hidden or nil
  end
  return self
end

-- The room that a column needs at least; that of the flexible one is given.
local function need_of(self, i, flexible_room)
  local column = self.columns[i]
  if column.whole then
    return column.elide == "end" and LEAST_WHOLE or math.min(self.widths[i], LEAST_WHOLE)
  end
  return i == self.flexible and flexible_room or self.widths[i]
end

-- The place in the list of the column that leaves first: of the largest priority the last one. Those of priority 1 stay
-- as long as names keep a few letters.
local function first_to_leave(self, list, over)
  local worst, most = nil, over and 1 or 2
  for at, i in ipairs(list) do
    local priority = self.columns[i].priority or 1
    if i ~= self.flexible and i ~= self.sort and not self.forced[i] and priority >= most then
      worst, most = at, priority
    end
  end
  return worst
end

-- The columns that the window has room for, by their numbers.
local function chosen(self, width)
  local list, wanted, least = {}, -1, -1 -- the room that they need with names that can be read, and at least
  local name = self.widths[self.flexible]
  local readable = math.min(name, math.max(READABLE, math.floor(width / 3)))
  for i = 1, #self.columns do
    if not self.hidden[i] then
      list[#list + 1] = i
      wanted, least = wanted + 1 + need_of(self, i, readable), least + 1 + need_of(self, i, math.min(name, LEAST))
    end
  end
  while #list > 1 and wanted > width do
    local worst = first_to_leave(self, list, least > width)
    if not worst then
      break
    end
    local need = 1 + need_of(self, list[worst])
    wanted, least = wanted - need, least - need
    table.remove(list, worst)
  end
  return list
end

-- The rooms of the chosen columns.
local function rooms_of(self, list, width)
  local rooms, left = {}, width - (#list - 1)
  for _, i in ipairs(list) do
    rooms[i] = self.widths[i]
    left = left - (i ~= self.flexible and not self.columns[i].whole and rooms[i] or 0)
  end
  local last = list[#list]
  if self.columns[last].whole and last ~= self.flexible then
    local name = math.min(self.widths[self.flexible], math.max(LEAST, left - math.min(LEAST_WHOLE, self.widths[last])))
    rooms[self.flexible], rooms[last] = name, math.max(1, left - name)
  else
    rooms[self.flexible] = math.max(1, math.min(left, math.max(self.least, self.widths[self.flexible])))
  end
  return rooms
end

-- A text that takes at most so much room; several lines where it is to be whole.
local function shortened(column, shown, room)
  if #shown <= room then
    return shown -- no character takes more columns than bytes
  end
  if column.elide == "end" then
    return (text.cut(shown, room))
  end
  return column.whole and text.wrap(shown, room, 0) or text.shorten(shown, room)
end

-- The columns by which the name of a row of a tree is indented.
local function indent_of(depth)
  return 2 * math.min(depth, DEEPEST)
end

-- A name as its column shows it. The indentation may take no more than half of the room from a name that is long.
local function name_of(column, shown, room, depth)
  local indent = math.min(indent_of(depth), math.max(math.floor(room / 2), room - core.columns_of(shown)))
  return (" "):rep(indent) .. shortened(column, shown, room - indent)
end

-- The texts of a row's cells; columns become as wide as these.
local function texts_of(self, values, utf8, depth)
  local texts, widths, columns, hidden = {}, self.widths, self.columns, self.hidden
  for i = 1, #columns do
    local column = columns[i]
    if not hidden[i] then
      local shown = cell(column, values[i], "-")
      if find(shown, "[^ -~]") then
        shown = text.harmless(shown, utf8)
      end
      local indent = depth and i == self.flexible and indent_of(depth) or 0
      texts[i] = shown
      if #shown + indent > widths[i] then
        widths[i] = math.max(widths[i], core.columns_of(shown) + indent)
      end
    end
  end
  return texts
end

local function layout_of(self, list, rooms)
  local columns, key = {}, {}
  for at, i in ipairs(list) do
    columns[at] = { room = rooms[i], align = self.columns[i].align }
    key[at] = i .. ":" .. rooms[i]
  end
  key = table.concat(key, " ")
  if self.key ~= key then
    self.key, self.layout = key, core.layout(columns, " ")
  end
  return self.layout
end

-- The lines of one row: several if its last text is whole and long.
local function lines_of(self, list, rooms, layout, texts, values)
  local cells = {}
  for at = 1, #list do
    local i = list[at]
    local column = self.columns[i]
    local shown = i == self.flexible and values.depth and name_of(column, texts[i], rooms[i], values.depth) or
      shortened(column, texts[i], rooms[i])
    if self.coloured and not column.whole and (column.state or column.warning or column.critical) then
      shown = colour.paint(shown, output.state_of(column, values[i]))
    end
    cells[at] = shown
  end
  local more = {}
  local last = cells[#cells]
  if self.columns[list[#list]].whole and last:find("\n", 1, true) then
    for line in last:gmatch("[^\n]+") do
      more[#more + 1] = line
    end
    cells[#cells] = table.remove(more, 1)
  end
  local lines = { " " .. core.line(layout, cells, ""):sub(1, -2) }
  local indent = more[1] and (" "):rep(math.max(0, core.columns_of(lines[1]) - core.columns_of(cells[#cells])))
  for i, line in ipairs(more) do
    lines[i + 1] = indent .. line
  end
  return lines
end

--- The titles and the rows.
-- @tparam table self of new(); `sort` (a column's number) is marked, `coloured` says whether states have colours
-- @tparam {values,...} rows arrays of values, or with `text`; `depth` in a tree
-- @int width columns of the window
-- @tparam boolean utf8
-- @treturn string the line of titles
-- @treturn {{string,...},...} the lines of each row
function screen_table.lines(self, rows, width, utf8)
  local texts = {}
  for i, values in ipairs(rows) do
    texts[i] = not values.text and texts_of(self, values, utf8, values.depth) or nil
  end
  local list = chosen(self, width - 1)
  self.shown = list
  local rooms = rooms_of(self, list, width - 1)
  local layout = layout_of(self, list, rooms)
  local titles, out = {}, {}
  for at, i in ipairs(list) do
    local column = self.columns[i]
    local title = text.cut(column.title, rooms[i])
    titles[at] = self.sort == i and ("\27[4m%s\27[24m"):format(title) or title
  end
  local title = " " .. core.line(layout, titles, ""):sub(1, -2)
  for i, values in ipairs(rows) do
    if values.text then
      out[i] = {}
      for line in (values.text .. "\n"):gmatch("(.-)\n") do
        table.insert(out[i], " " .. (text.cut(text.harmless(line, utf8), width - 1)))
      end
    else
      out[i] = lines_of(self, list, rooms, layout, texts[i], values)
    end
  end
  return title, out
end

return screen_table
