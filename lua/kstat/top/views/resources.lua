--- The first view: what is wrong with the machine, who causes it, and since when; and the resources it is about.
--
-- The states are those of kstatlua use. Above the table are the verdict, which names the worst resource, and a line of
-- the worst states over time. A row is there for each resource that is not well, and for CPUs, memory, the busiest disk
-- and the busiest link; a large window has rows of others, too.
--
-- Two things are read less often than kstatlua use reads them, as they would be half of a frame: descriptors of
-- processes every five seconds from the second sample on, and what all processes read and wrote only while a disk is
-- used, or where the kernel's averages say that somebody waited for one before the screen began. In the interval in
-- which a disk comes into use only new processes are known: the verdict names one if it did half of what the disk did,
-- and else the control group, or nobody.
-- @module kstat.top.views.resources
local colour = require("kstat.base.colour")
local core = require("kstat.core")
local culprits = require("kstat.use.culprits")
local figures = require("kstat.use.figures")
local levels = require("kstat.use.levels")
local makers = require("kstat.top.column")
local reader = require("kstat.use.reader")
local recent = require("kstat.use.recent")
local report = require("kstat.report")
local resources = require("kstat.use.resources")
local states = require("kstat.top.states")
local text = require("kstat.base.text")
local use = require("kstat.use.rows")

local HOUR = 3600
local NAMES = states.NAMES

-- --- which rows ---------------------------------------------------------------------------------------------

-- How much a resource is used; a link whose speed nobody knows by what goes through it, loopback last.
local function use_of(row)
  if row.utilization or row.resource ~= "link" then
    return row.utilization or -1
  end
  local loops = row.name:find("^lo%d*$")
  return loops and -2 or (figures.per_second(row.k, "rbytes64", "obytes64") or 0) / 1e15
end

-- Whether a row comes before another one: the worse state, then what is nearer to its limit, but in the order in which
-- resources are measured where neither is well: what is short first is often the cause of the rest.
local function in_order(list)
  for i, row in ipairs(list) do
    row.place = i
  end
  table.sort(list, function(a, b)
    local x, y = a.severity or 0, b.severity or 0
    if x ~= y then
      return x > y
    elseif x == 0 and a.is_always ~= b.is_always then
      return a.is_always
    elseif x == 0 and not a.is_always and a.nearest_share ~= b.nearest_share then
      return (a.nearest_share or -1) > (b.nearest_share or -1)
    end
    return a.place < b.place
  end)
end

local MANY = 10 -- of which the busiest says that it is one of so many

-- Of all rows those that are shown: what is not well, what is always there, and others where there is room.
local function choose(list, room)
  for _, resource in ipairs({ "cpu", "memory", "disk", "link" }) do
    local n = 0
    local _, busiest = figures.most(list, function(row)
      n = n + (row.resource == resource and 1 or 0)
      return row.resource == resource and use_of(row) or nil
    end)
    if busiest then
      busiest.is_always, busiest.of_many = true, n >= MANY and (" of %d"):format(n) or ""
    end
  end
  local is_contained = list[1] and list[#list].of_host
  for _, row in ipairs(list) do
    row.is_always = row.is_always or is_contained and row.resource == "cgroup" and row.name == "/" or false
  end
  in_order(list)
  local chosen = {}
  for i, row in ipairs(list) do
    if i > room and not row.is_always and (row.severity or 0) == 0 then
      break
    end
    chosen[i] = row
  end
  return chosen
end

-- --- the verdict ----------------------------------------------------------------------------------------------

-- An average of the kernel. Those of I/O are about all disks: the busiest shows them.
local function average(d, row, seconds)
  return row.is_always and recent.average(d, row, seconds) or nil
end

-- Since when a resource is not well, in words.
local function since(d, row, screen)
  return recent.words(d, row, screen.past or screen.recent, screen.time)
end

-- How many are well; of those of which nothing is known nothing is said.
local function count_well(list)
  local well = 0
  for _, row in ipairs(list) do
    well = well + (row.severity == 0 and 1 or 0)
  end
  return well
end

-- What is nearest to its limit of all that is well.
local function nearest(list)
  local _, most = figures.most(list, function(row) return row.nearest_share end)
  local limit = most and most.nearest.limit
  return limit and ("%s %s %s of %s"):format(use.title(most), limit[3], resources.amount(most.nearest.value,
    limit.unit), resources.amount(limit.warning or limit.critical, limit.unit))
end

-- The parts of the verdict where all that is known is well.
local function all_well(list, well, is_interval)
  local near = nearest(list)
  return not is_interval and { "nothing is known of an interval yet" } or well == 0 and { "nothing is known yet" } or
    { ("all %d resources are well"):format(well), near and "nearest to its limit: " .. near or nil }
end

-- The verdict: `severity`, `parts` (texts, or functions that give them; the most important first), and of the worst row
-- `resource` and `name`, for the sections below. Since when it is so is asked when it is drawn, for in the past it is
-- found out between keys.
local function judge(d, list, screen, is_interval)
  local worst, well = list[1], count_well(list)
  if not worst or (worst.severity or 0) == 0 then
    return { severity = is_interval and well > 0 and 0 or nil, parts = all_well(list, well, is_interval) }
  end
  use.tell(worst)
  local parts, others = {}, {}
  parts[1] = function()
    local words = since(d, worst, screen)
    return ("%s%s: %s%s"):format(use.title(worst), worst.of_host and " of the host" or "", worst.why,
      words and " " .. words or "")
  end
  parts[2] = worst.who ~= "" and (worst.who:find("^nobody") and "" or "most: ") .. worst.who or nil
  for i = 2, #list do
    others[#others + 1] = (list[i].severity or 0) > 0 and use.title(list[i]) or nil
  end
  parts[#parts + 1] = others[1] and "also: " .. table.concat(others, ", ") or nil
  parts[#parts + 1] = well > 0 and ("%d others are ok"):format(well) or nil
  return { severity = worst.severity, resource = worst.resource, name = worst.name, parts = parts }
end

-- --- the report ---------------------------------------------------------------------------------------------------

local IN_USE = 5 -- percent of the time for which a disk is busy, and who reads and writes is looked at

local function is_any_disk_used(list)
  return (figures.most(list, function(row) return row.resource == "disk" and row.utilization or nil end) or 0) >= IN_USE
end

local SOME = 1 -- percent of the last 10 s in which somebody waited for I/O, before a screen begins

-- Whether somebody waited for disks of late; where the kernel does not say it somebody may have.
local function has_waited(d)
  return (figures.now(d:lookup("pressure", 0, "io"), "some_avg10") or 100 * SOME) >= 100 * SOME
end

-- The rows of all resources; those of the first sample have levels alone. The I/O of all processes takes as long as all
-- else, so it is read only while there is any. Of an interval that begins without it little is said of who it is.
local function measure(d, now, prev, options)
  local screen = options.screen
  local kept = not screen.past and (screen.kept or {}) or nil
  screen.kept = kept
  if kept then
    kept.now = now
  end
  local list = use.measure(prev and d or now - now, prev, nil, false, kept)
  if kept then
    kept.has_io = is_any_disk_used(list) or not prev and has_waited(d)
    if kept.has_io then
      culprits.read(now, true)
    end
  end
  return list
end

local function rows(d, now, prev, options)
  local screen = options.screen
  local list = measure(d, now, prev, options)
  screen.recent = screen.recent or recent.new()
  if prev and not screen.past then
    screen.recent:add(prev.time_of_day, now.time_of_day, list)
  end
  local chosen = choose(list, math.floor((screen.height or 24) / 6))
  screen.verdict = judge(d, list, screen, prev ~= nil)
  screen.lacks = screen.lacks or prev and not screen.past and reader.lacks(d, list) or nil -- they hardly change
  for _, lack in ipairs(not screen.past and screen.lacks or {}) do
    table.insert(screen.verdict.parts, lack)
  end
  screen.judged = {} -- control groups, for the section of these
  for _, row in ipairs(list) do
    if row.resource == "cgroup" then
      screen.judged[row.k.instance] = row
    end
  end
  screen.d = d
  return chosen
end

-- Fills in what only rows that are shown need.
local function complete(row, options)
  local screen = options.screen
  if row.is_complete then
    return
  end
  row.is_complete = true
  row.ten, row.minute, row.five = average(screen.d, row, 10), average(screen.d, row, 60), average(screen.d, row, 300)
  row.level = levels.of(screen.d, row)
  local verdict = screen.verdict
  local is_told = verdict.resource == row.resource and verdict.name == row.name
  row.shown = is_told and states.name(row) or states.text(row, since(screen.d, row, screen))
end

local ENTER = {
  cpu = { view = "processes", sort = "CPU%" }, memory = { view = "processes", sort = "RSS" },
  swap = { view = "processes", sort = "RSS" }, disk = { view = "cgroups", sort = "IO/s" },
  fs = { view = "processes", sort = "WRITE/s" }, link = { view = "disks" }, network = { view = "disks" },
  table = { view = "processes", sort = "THREADS" }, process = { view = "processes" }, cgroup = { view = "cgroups" },
}

local function enter(row)
  local to = ENTER[row.resource]
  return to and { view = to.view, sort = to.sort, filter = row.resource == "cgroup" and "cgroup=" .. row.name or nil,
    disk = row.resource == "disk" and row.name or nil }
end

local function explain(row, options)
  local screen = options.screen
  local seen = screen.past or screen.recent
  return states.explain(row, use.title(row), screen.utf8, since(screen.d, row, screen),
    function(figure) return seen:values(row, figure) end)
end

local column, lazy = makers.of, makers.lazy

local section = report({
  name = "resources", about = "Resources that are short or busy, and the state of each.", optional = true,
  select = resources.select({}),
  rows = rows, complete = complete, enter = enter, explain = explain, identity = use.title,
  columns = {
    { "RESOURCE", function(row) return use.title(row) .. (row.of_many or "") end, kind = "label",
      about = "CPUs, memory, disks, file systems, links and so on; of many the busiest" },
    column("UTIL", "utilization", text.percent, "how much of it is used, in percent"),
    { "SATURATION", use.saturation, align = "left", about = "how much has to wait or is refused" },
    lazy(column("10s", "ten", text.percent, "pressure: share of the last 10 s in which some work had to wait")),
    lazy(column("1m", "minute", text.percent, "the same for a minute", 2)),
    lazy(column("5m", "five", text.percent, "the same for 5 minutes", 2)),
    column("ERR", "errors", text.number, "errors in the interval, and those that last", 3),
    { "NOW", "level", align = "left", priority = 3, lazy = true, about = "the level that tells most" },
    { "STATE", "shown", align = "left", whole = true, state = states.of,
      order = function(row) return row.severity end,
      about = "by the limits of kstatlua use; above: - ok, + warning, # critical, blank where nothing is known" },
  },
})

-- --- the lines above the table ------------------------------------------------------------------------------------

-- Appends a line, or several of those that it does not fit in.
local function append(out, line, width)
  line = core.columns_of(line) > width and text.wrap(line, math.max(width - 3, 1), 3) or line
  for short in (line .. "\n"):gmatch("(.-)\n") do
    out[#out + 1] = short
  end
end

-- Parts of a text in lines of a width, with blanks between those in one line. None is shortened.
local function fill(parts, width, line)
  local out = {}
  for _, part in ipairs(parts) do
    local longer = line .. (line:find("%S$") and "  " or "") .. part
    if core.columns_of(longer) > width and line:find("%S$") then
      append(out, line, width)
      longer = "   " .. part
    end
    line = longer
  end
  append(out, line, width)
  return out
end

local STATES = { ["-"] = "ok", ["+"] = "warning", ["#"] = "critical" }

local function coloured(marks)
  return (marks:gsub("%-+", function(run) return colour.paint(run, STATES["-"]) end)
    :gsub("%++", function(run) return colour.paint(run, STATES["+"]) end)
    :gsub("#+", function(run) return colour.paint(run, STATES["#"]) end))
end

local SPANS = { [3600] = "hour", [86400] = "day", [604800] = "week" }

local function span_text(span)
  return SPANS[span] or span % HOUR == 0 and span / HOUR .. " h" or ("%d min"):format(span / 60)
end

-- The line of states, as wide as the window.
local function states_line(screen)
  local past, long = screen.past, screen.has_day and 24 * HOUR or HOUR
  local span = screen.recent:span(1)
  local behind = screen.live and " now" or ""
  local room = screen.width - #(" last  ") - #span_text(past and long or span) - #behind
  if room < 1 then
    return nil
  end
  local marks
  if past then
    span, marks = long, past:states(room, long)
  else
    marks, span = screen.recent:line(room, screen.time)
  end
  local label = (" last %s "):format(span_text(span))
  return label .. (screen.coloured and coloured(marks) or marks) .. behind
end

local function head(screen)
  local verdict = screen.verdict
  if not verdict then
    return {}
  end
  local name, parts = NAMES[verdict.severity], {}
  for i, part in ipairs(verdict.parts) do
    parts[i] = text.harmless(type(part) == "function" and part() or part, screen.utf8)
  end
  local lines = fill(parts, screen.width, name and (" %s "):format(name) or " ")
  if name and screen.coloured then
    lines[1] = " " .. colour.paint(name, name:lower()) .. lines[1]:sub(#name + 2)
  end
  lines[#lines + 1] = states_line(screen)
  return lines
end

local keys = { d = { help = "of the past: the states of an hour, or of a day", act = function(screen)
  screen.has_day = not screen.has_day
end } }

return { name = "resources", head = head, keys = keys, sections = { section,
  require("kstat.top.views.processes").section, require("kstat.top.views.cgroups").section,
  require("kstat.top.views.published").section } }
