--- What keys do to a screen (kstat.top.application).
--
-- An action returns what is left for the loop to do: "quit", "sample" (the view has to be read anew), "step" (one more
-- sample now), "interval" (the next deadline is another one), a table for the past, or nil: the window is drawn.
-- @module kstat.top.actions
local order = require("kstat.top.order")
local overlays = require("kstat.top.overlays")
local prompts = require("kstat.top.prompts")

local actions = {}

local INTERVALS = { 0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 15, 30, 60, 120, 300, 600, 3600 }

local function change_interval(direction)
  return function(app)
    if app.mode == "past" then
      app.message = "the interval is that of the recording; [ ] go a minute, { } an hour"
      return nil
    end
    local first, last = direction > 0 and 1 or #INTERVALS, direction > 0 and #INTERVALS or 1
    for i = first, last, direction do
      if (INTERVALS[i] - app.interval) * direction > 1e-9 then
        app.interval = INTERVALS[i]
        return "interval"
      end
    end
  end
end

-- --- moving --------------------------------------------------------------------------------------

-- Moves the selection; across the ends of a part into the next one that has rows.
local function move(app, by)
  local shown, part = app.shown, app:part()
  local to = app:selected_index() + by
  local at = shown.at
  if math.abs(by) == 1 and (to < 1 or to > app.count(part)) then
    repeat
      at = at + by
    until not shown.parts[at] or #shown.parts[at].order > 0 and shown.parts[at].room > 0
    if shown.parts[at] then
      shown.at = at
      app:arrange()
      app:select(by > 0 and 1 or app.count(shown.parts[at]))
    end
    return
  end
  app:select(to)
end

-- Moves the selection, which begins at the first row that is visible.
local function scroll(pages, lines)
  return function(app)
    local part = app:part()
    if app.overlay then
      app.overlay.at = app.overlay.at + pages * (app.height - 2) + lines
      return nil
    end
    local by = pages * part.room + lines
    if not app:selected_index() then
      app:select(part.offset + 1)
      app:arrange() -- which has all rows in order now
      by = math.abs(by) > 1 and by or 0
    end
    if app:selected_index() then
      move(app, by)
    end
    return nil
  end
end

-- Where no row of the table that keys are about is visible, they are about the first one of which there are.
local function look(app)
  local shown = app.shown
  for i, part in ipairs(app:part().room == 0 and shown.parts or {}) do
    if part.room > 0 then
      shown.at, shown.selected = i, nil
      return
    end
  end
end

-- --- order and columns ------------------------------------------------------------------------------

-- What a key does to a table; lines of text have no columns.
local function of_table(act)
  return function(app)
    if app:part().rows.head then
      app.message = "these are lines of text, which have no columns"
      return nil
    end
    return act(app)
  end
end

local function sort_by(direction)
  return function(app)
    local part = app:part()
    local list, at = part.table and part.table.shown or {}, 0
    for place, i in ipairs(list) do
      at = i == part.table.sort and place or at
    end
    if #list == 0 then
      return -- nothing is shown yet
    end
    at = at == 0 and direction < 0 and 1 or at -- from no column to the last one, or the first one
    local i = list[(at - 1 + direction) % #list + 1]
    app:sort(part, i)
  end
end

-- Sorts the first table by the column that has one of these titles, or processes.
local function sort_named(...)
  local titles = { ... }
  return function(app)
    local title = app:find_column(titles)
    local shown = app.shown
    local part = shown.parts[1]
    if title and part.columns then
      shown.at, shown.selected, part.reverse = 1, nil, false
      app:sort(part, part.report:column_of(title))
    elseif title then -- which has no columns yet
      part.sort, part.up, part.by, part.is_sorted = title, false, nil, true
      app:reorder(part)
    end
    return title and "sample"
  end
end

-- Shows command lines, or hides them.
local function commands(app)
  local part = app:part()
  local i = part.columns and part.report:column_of("COMMAND")
  if not i then
    app.message = "this view has no command lines"
    return
  end
  local is_shown = false
  for _, at in ipairs(part.table.shown or {}) do
    is_shown = is_shown or at == i
  end
  app:choose_column(part, i, is_shown and "hide" or "keep")
end

-- Marks the process of the selected row, and goes to the next row.
local function mark(app)
  local part, row = app:part(), app:row()
  local process = prompts.process_of(row)
  if not process then
    app.message = "space marks processes, for signals; Z pauses"
    return
  end
  local id, marks = order.identity(part, row), app.shown.marks
  marks[id] = not marks[id] and process or nil
  app:select((app:selected_index() or 1) + 1)
end

local function reverse(app)
  local part = app:part()
  part.reverse = not part.reverse
  app:reorder(part)
end

local function tree(app)
  local shown = app.shown
  for _, part in ipairs(shown.parts) do
    if part.report.parent then
      shown.tree = not shown.tree
      app:remember(nil, "tree", shown.tree and "" or nil)
      app:again(true)
      return
    end
  end
  app.message = "this view has no tree"
end

local function choose_columns(app)
  app.overlay = app:part().columns and overlays.columns()
end

-- --- going to another view ---------------------------------------------------------------------------

local function show(number)
  return function(app)
    local view = app.views[number]
    if not view then
      app.message = ("there is no view %d"):format(number)
    elseif app:show(view.name) then
      app.before = {}
      return "sample"
    end
  end
end

local function enter(app)
  local part, row = app:part(), app:row()
  local to = row and part.report.enter and part.report.enter(row, part.given) or
    not row and app.shown.filter == "" and app.shown.view.instead
  if not to then
    app.message = "there is nothing below this row"
    return nil
  end
  local from = app.shown
  if not app:show(to.view, to) then
    app.message = ("there is no view '%s'"):format(to.view)
    return nil
  end
  table.insert(app.before, from)
  return "sample"
end

local function back(app)
  local shown = table.remove(app.before)
  if shown then
    app.shown, app.overlay = shown, nil
    return "sample"
  end
end

-- --- overlays ---------------------------------------------------------------------------------------

local function explain(app)
  local part, row = app:part(), app:row()
  if row and part.report.explain and part.report.explain(row, part.given) then
    app.overlay = overlays.explanation(part, order.identity(part, row))
  else
    app.message = "there is nothing to explain about this row"
  end
end

local function help(app) app.overlay = overlays.help() end

-- --- keys ---------------------------------------------------------------------------------------------

local function past(name, value)
  return function() return { name, value } end
end

local function quit() return "quit" end

local function pause(app)
  if app.mode == "past" then
    app.message = "the past stands still; left and right go a sample"
    return nil
  end
  app.mode = app.mode == "live" and "paused" or app.mode == "paused" and "live" or app.mode
  return "interval"
end

local KEYS = {
  q = quit, f10 = quit, h = help, ["?"] = help, f1 = help, e = explain,
  ["/"] = prompts.search, f3 = prompts.search, ["\\"] = prompts.filter, f4 = prompts.filter, g = prompts.time,
  u = prompts.exactly("user", "user: "), p = prompts.exactly("pid", "PID: "), v = tree, t = tree, f5 = tree,
  P = of_table(sort_named("CPU%", "CPU")), M = of_table(sort_named("RSS", "MEM")), T = of_table(sort_named("TIME")),
  I = of_table(sort_named("IO/s")), c = of_table(commands), K = prompts.signal, f9 = prompts.signal, [" "] = mark,
  F = function(app)
    app:forget()
    app.message = "columns, orders and filters are forgotten"
    return "sample"
  end,
  o = of_table(choose_columns), f6 = of_table(choose_columns), r = of_table(reverse),
  ["<"] = of_table(sort_by(-1)), [">"] = of_table(sort_by(1)),
  enter = enter, backspace = back, tab = function(app) app:next_part() end,
  ["+"] = change_interval(1), ["="] = change_interval(1), ["-"] = change_interval(-1),
  up = scroll(0, -1), down = scroll(0, 1), k = scroll(0, -1), j = scroll(0, 1), pageup = scroll(-1, 0),
  pagedown = scroll(1, 0), home = scroll(0, -1e9), ["end"] = scroll(0, 1e9), Z = pause,
  ["."] = function(app) return app.mode == "past" and { "step", 1 } or "step" end,
  escape = function(app)
    app.shown.selected, app.shown.marks = nil, {}
    prompts.show_all(app)
  end,
  left = past("step", -1), right = past("step", 1), ["["] = past("by", -60), ["]"] = past("by", 60),
  ["{"] = past("by", -3600), ["}"] = past("by", 3600), N = past("change", -1), n = past("change", 1),
  L = past("live"),
}
for i = 1, 9 do
  KEYS[tostring(i)] = show(i)
end

local CLOSING = { escape = true, enter = true, backspace = true, e = true, q = true, f10 = true } -- an overlay

--- Does what a key asks for.
-- @tparam app app
-- @string key see kstat.top.keys
-- @return what is left to do, see above
function actions.act(app, key)
  app.message = nil
  if key == "ctrl-c" then
    return "quit"
  elseif app.prompt then
    return prompts.typed(app, key)
  elseif app.overlay then
    local own = app.overlay.keys and app.overlay.keys[key]
    if own then
      return own(app.overlay, app)
    elseif CLOSING[key] then
      app.overlay = nil
      return nil
    end
  end
  local own = app.shown.view.keys and app.shown.view.keys[key]
  if own then
    own.act(app.shown.screen)
    app:again()
    return nil
  end
  look(app)
  local act = KEYS[key]
  if not act then
    app.message = ("%s means nothing here; h lists the keys"):format(key == "other" and "this key" or key)
    return nil
  end
  return act(app)
end

return actions
