--- What covers the tables of a screen: the list of keys, the choice of columns, and why a row is in its state.
--
-- An overlay has lines(app, width), `at`, how many of them are above the window, and may have `keys`, by their names
-- fun(overlay, app). It is there while it is the application's `overlay`.
-- @module kstat.top.overlays
local core = require("kstat.core")
local order = require("kstat.top.order")
local text = require("kstat.base.text")

local overlays = {}

local function close(_, app)
  app.overlay = nil
end

-- --- columns ----------------------------------------------------------------------------------------

local columns = { chosen = 1, at = 0 }
columns.__index = columns

function columns:lines(app, width)
  local part = app:part()
  local out = { " Columns: up and down; space shows or hides one, enter sorts by it, o or F6 is the end" }
  for i, column in ipairs(part.columns) do
    local line = (" [%s] %-10s %s%s"):format(part.table.hidden[i] and " " or "x", column.title ~= "" and column.title or
      column.key or "", part.table.sort == i and "(sorts) " or "", column.about or "")
    line = text.cut(text.harmless(line, app.utf8), width)
    out[#out + 1] = i == self.chosen and ("\27[7m%s\27[0m"):format(line) or line
  end
  return out
end

local function choose(by)
  return function(self, app)
    self.chosen = math.max(1, math.min(self.chosen + by, #app:part().columns))
    self.at = math.max(0, self.chosen + 3 - app.height)
  end
end

columns.keys = {
  up = choose(-1), down = choose(1), k = choose(-1), j = choose(1),
  [" "] = function(self, app)
    local part, i = app:part(), self.chosen
    app:choose_column(part, i, not part.table.hidden[i] and i > 1 and "hide" or "show")
    app:again()
  end,
  enter = function(self, app)
    app:sort(app:part(), self.chosen)
    close(self, app)
  end,
  o = close, f6 = close,
  tab = function(self, app)
    app:next_part()
    self.chosen, self.at = 1, 0
  end,
}

--- The list of the columns of the table that keys are about: each can be shown or not, and sorts.
-- @treturn overlay
function overlays.columns()
  return setmetatable({}, columns)
end

-- --- reasons ----------------------------------------------------------------------------------------

-- Appends a text in lines that fit the window: `head` stands before the first one, and blanks before the others.
local function append(out, app, width, head, line)
  local room = math.max(width - core.columns_of(head), 10)
  line = head .. text.wrap(text.harmless(line, app.utf8), room, width - room)
  for part in (line .. "\n"):gmatch("(.-)\n") do
    out[#out + 1] = part
  end
end

local function explained(self, app, width)
  local row
  for _, other in ipairs(self.part.order) do
    row = order.identity(self.part, other) == self.identity and other or row
  end
  local lines = row and self.part.report.explain(row, self.part.given) or { "it is not there any more" }
  local out = {}
  for _, line in ipairs(lines) do
    local blanks, words = line:match("^( *)(.*)")
    append(out, app, width, " " .. blanks, words)
  end
  return out
end

--- Why a row is in its state: told anew of each sample, as long as the row is there.
-- @tparam table part of kstat.top.application; its report explains rows
-- @string identity of the row
-- @treturn overlay
function overlays.explanation(part, identity)
  return { part = part, identity = identity, at = 0, lines = explained }
end

-- --- help -------------------------------------------------------------------------------------------

-- The keys, before those of the view.
local HELP = {
  "1 to 6       the views, see the last line",
  "up down      select a row; page up, page down, home, end; tab: the next table",
  "enter        who uses the selected (or the first) row; backspace: back",
  "e            why it is in its state: the rule, the file, the last values",
  "P M T I      sort by CPU, memory, time, I/O;  r  the other way",
  "<  >         sort by the column to the left, to the right",
  "F3 /         search: select a row with a text, or that matches /a regular expression/",
  "F4 \\         filter: only rows with it;  u  of a user;  p  a PID;  escape  all rows",
  "F6 o         columns: which of them sorts, and which are shown;  c  command lines",
  "F5 t v       as a tree",
  "F9 K         a signal to the selected process, or to those that space marks",
  "F            forget columns, orders and filters, which are kept for the next start",
  "Z            pause and go on;  .  a sample at once;  +  -  longer, shorter",
  "left right   a sample back and forth;  [ ]  a minute;  { }  an hour;  L  live",
  "g            go to a time: 14:32, yesterday 3:12, 2026-11-22 3:12, -3h",
  "N  n         the moment before, behind, at which a state changed",
  "F1 h ?       this, and back;  ctrl-l  draws all anew;  q  F10  back, the end",
  "",
}

local function help(_, app, width)
  local out = {}
  local function add(name, about)
    append(out, app, width, (" %-12s "):format(name), about)
  end
  for _, line in ipairs(HELP) do
    add(line:sub(1, 12), line:sub(14))
  end
  for key, own in pairs(app.shown.view.keys or {}) do
    add(key, own.help)
  end
  for _, part in ipairs(app.shown.parts) do
    for _, column in ipairs(part.columns or {}) do
      if column.about then
        add(text.harmless(column.title, app.utf8), column.about)
      end
    end
  end
  return out
end

--- The keys, and what the columns of the view mean.
-- @treturn overlay
function overlays.help()
  return { at = 0, lines = help, keys = { h = close, ["?"] = close, f1 = close } }
end

return overlays
