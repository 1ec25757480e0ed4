--- Any statistics: a row each, with its rate, its value, and on a screen the rates of the last intervals.
--
-- Rows are made by core.rank(), which walks over all statistics and keeps those that are shown. Without operands they
-- are those of the machine as a whole, of disks, links and protocols: without those of the loopback interface, which
-- sends itself what it receives, without those that another one counts with more bits (obytes beside obytes64), and for
-- people without idle ones.
--
-- Only what is shown has a history, which the view keeps; a row that comes into sight begins anew.
-- @module kstat.top.views.statistics
local asked = require("kstat.base.past")
local core = require("kstat.core")
local machine = require("kstat.base.machine")
local operand = require("kstat.command.operand")
local order = require("kstat.top.order")
local output = require("kstat.command.output")
local picture = require("kstat.picture")
local report = require("kstat.report")
local running = require("kstat.base.running")
local text = require("kstat.base.text")

local DEFAULT = { "unix:0:sys", "unix:0:vm", { class = "disk" }, { class = "net", name = "/^(?!lo$)/" },
  { class = "mib2" }, { class = "pressure" } }
local HINT = "; 'kstatlua top --help' explains"
local SORTS = { rate = true, value = true, name = true }
local HISTORY, SPAN = 12, 4 -- characters that are remembered of a row's trend, and intervals of each

-- --- rows ---------------------------------------------------------------------------------------------------

-- The selectors that a command line names, or the row from which somebody came; nil: none.
local function named(options)
  local about = options.screen and options.screen.about
  local operands = about and about.select and { about.select } or options.operands or {}
  options.selectors = options.selectors or operand.selectors(operands, HINT)
  return options.selectors[1] and options.selectors or nil
end

-- What a capture without the kstats of the default has is shown all.
local function selected(options)
  local is_capture = options.replay or asked.named("capture")
  return named(options) or not is_capture and DEFAULT or nil
end

-- How core.rank() orders and chooses rows.
local function how_of(options)
  local screen = options.screen or {}
  local sort = screen.sort or options.sort or "rate"
  local how = { sort = sort:gsub("^%-", ""), reverse = screen.reverse or sort:find("^%-") ~= nil, show = screen.show,
    skip_idle = options.skip_idle, skip_twins = not named(options) }
  how.sort = SORTS[how.sort] and how.sort or "rate"
  -- While somebody types, a regular expression may not be whole yet.
  local filter = order.wanted(screen.filter or options.filter or "") or screen.wanted
  screen.wanted = filter
  how[type(filter) == "userdata" and "pattern" or "text"] = filter
  return how
end

local function rank(d, options, how)
  local selectors = named(options) or operand.selectors(DEFAULT)
  local list, total, passed, place = core.rank(d, selectors, how)
  if list and total == 0 and not named(options) then
    list, total, passed, place = core.rank(d, operand.selectors({ "*" }), how)
  end
  return list or error(total, 0), total, passed, place
end

-- All rows; those of --top alone if their order is that of the ranking.
local function all_rows(d, options)
  local how = how_of(options)
  how.skip_idle = how.skip_idle or how.skip_twins and not output.format(options)
  how.most = how.sort ~= "name" and (not options.sort or SORTS[(options.sort:gsub("^%-", ""))]) and options.top or nil
  if options.first then
    running.missing(operand.unmatched(d, named(options) or {}, options), #options.operands)
  end
  return (rank(d, options, how))
end

-- --- on a screen ----------------------------------------------------------------------------------------------

-- Adds a figure to a trend. A character is the largest figure of several intervals, so that most frames change the last
-- one alone, and not the whole trend of each row, a third of what a frame would send. `n` begins differently for
-- different rows, so that their trends do not all move on in the same frame.
local function add(past, value)
  past.n = past.n + 1
  if #past == 0 or past.n % SPAN == 0 then
    past[#past + 1] = value
    if #past > HISTORY then
      table.remove(past, 1)
    end
  elseif value then
    past[#past] = math.max(past[#past], value)
  end
end

-- Adds the figures of a tick to what is remembered of the rows that are shown, and forgets the others. In the past the
-- figures of later samples are forgotten.
local function remember(screen, list)
  local before = screen.trends
  if not before or screen.time < before.time then
    before = { time = screen.time, past = {} }
  end
  local trends = { time = screen.time, tick = screen.tick, past = {} }
  for _, row in ipairs(list) do
    local past = before.past[row.name]
    if not past or before.tick ~= trends.tick then
      past = past or { n = #row.name }
      add(past, row.rate or not row.counter and row.value or nil)
    end
    row.past, trends.past[row.name] = past, past
  end
  screen.trends = trends
end

-- Says which operands select nothing.
local function lines_without_rows(d, options)
  local list, screen = {}, options.screen
  screen.missing = screen.missing or operand.unmatched(d, named(options) or {}, options)
  for i, line in ipairs(screen.missing) do
    list[i] = { text = line }
  end
  return list
end

local function has(list, name)
  for _, row in ipairs(list) do
    if row.name == name then
      return true
    end
  end
  return false
end

-- The number of the first row of the window, of which the rows are in `list`: the window follows the selected row, and
-- what there are fewer of than before.
local function first_of(d, options, how, list, passed)
  local first, name = how.first, options.screen.selected
  if name and passed > #list and not has(list, name) then
    local most = how.most
    how.place, how.most = name, 0
    local _, _, _, place = rank(d, options, how)
    how.place, how.most = nil, most
    first = place and (place < first and place or place - most + 1) or first
  end
  return math.max(1, first > passed and passed - how.most + 1 or first)
end

-- The rows from the first visible one on.
local function visible_rows(d, prev, options)
  local screen = options.screen
  if screen.skip_idle == nil then
    screen.skip_idle = options.skip_idle or not named(options)
  end
  local how = how_of(options)
  how.skip_idle, how.first, how.most = screen.skip_idle, (screen.offset or 0) + 1, screen.lines
  local list, total, passed = rank(d, options, how)
  local first = first_of(d, options, how, list, passed)
  if first ~= how.first then
    how.first = first
    list = rank(d, options, how)
  end
  if prev then
    remember(screen, list)
  end
  for _, row in ipairs(list) do
    row.rate = prev and row.rate or nil
  end
  if total == 0 then
    list = lines_without_rows(d, options)
  end
  list.ready, list.first, list.total = true, how.first, math.max(passed, #list)
  screen.statistics, screen.passed, screen.difference = total, passed, d
  return list
end

local function rows(d, _, prev, options)
  if options.screen then
    return visible_rows(d, prev, options)
  end
  return all_rows(d, options)
end

-- A picture takes three bytes for each character: short in small windows.
local function trend_width(screen)
  return (screen.width or 80) < 100 and 6 or 12
end

local function trend_of(screen)
  return function(row)
    return row.past and #row.past > 0 and
      picture.sparkline(row.past, { n = #row.past, width = trend_width(screen), utf8 = screen.utf8 or false }) or ""
  end
end

-- --- the view ---------------------------------------------------------------------------------------------------

local RATE = "change per second; of durations in seconds, so 1 is all the time; - for gauges"

local function columns(options)
  local name = { "name", kind = "label", align = "left" }
  if options.screen then
    return {
      { "rate", align = "right", format = text.number, about = RATE },
      { "value", format = text.number, about = "now; k is 1,000, M 1,000 k and so on" },
      { "unit", align = "left", width = 6, elide = "end", priority = 3 },
      { "trend", trend_of(options.screen), width = trend_width(options.screen), priority = 2,
        about = "the largest rate (of gauges value) of each four intervals, each row on its own scale" },
      name,
    }
  end
  local list = { name, { "rate", about = RATE, format = "%.2f" },
    { "value", about = "now", format = not options.csv and "%.6g" or nil }, { "unit", align = "left" } }
  -- Of what is published; people see it in the name.
  for _, title in ipairs(output.format(options) and { "publisher", "uid", "pid" } or {}) do
    list[#list + 1] = { title, kind = "label" }
  end
  return list
end

local function explain(row, options)
  local d = options.screen.difference
  local k = d and d:lookup(row.module, row.instance, row.kstat_name)
  local meta = k and k:meta(row.statistic)
  return { row.name, meta and meta.description ~= "" and meta.description or "nothing is known of what it means",
    (row.counter and "a counter" or "a gauge") .. (row.unit ~= "" and ", in " .. row.unit or "") ..
    (row.publisher and (", published by %s of user %s"):format(row.publisher, machine.user_name(row.uid)) or ""),
    ("value %s%s"):format(core.tostring(row.value),
      row.rate and (", rate %s per second"):format(text.number(row.rate)) or "") }
end

local BELOW = { process = "processes", cgroup = "cgroups", disk = "disks", net = "disks" } -- by class

-- What the key enter shows of a row: the view that is about its kstat.
local function enter(row)
  local view = row.publisher and "published" or BELOW[row.class:match("^[^_]*")]
  local name = row.kstat_name:match("^[^,]*")
  if view == "processes" or view == "cgroups" then
    name = view == "processes" and ("pid=%.0f"):format(row.instance) or "cgroup=" .. name
  end
  return view and { view = view, filter = name }
end

local section = report({
  name = "top", about = "Statistics by their rate per second; of durations in seconds, so that 1 is all the time.",
  operands = "module[:instance[:name[:statistic]]]", optional = true, select = selected, columns = columns, rows = rows,
  sort = "rate", identity = function(row) return row.name end, enter = enter, explain = explain,
})

local NEXT = { all = "counters", counters = "gauges", gauges = "all" }

local function head(screen)
  return { (" %d of %d statistics%s%s"):format(screen.passed or 0, screen.statistics or 0,
    screen.skip_idle and ", without idle ones" or "", screen.show and screen.show ~= "all" and
      (", %s only"):format(screen.show) or "") }
end

return {
  name = "statistics", label = "any", sections = { section }, head = head,
  keys = {
    c = { help = "counters and gauges, counters only, gauges only",
      act = function(screen) screen.show = NEXT[screen.show or "all"] end },
    z = { help = "without idle rows, or with them",
      act = function(screen) screen.skip_idle = not screen.skip_idle end },
  },
}
