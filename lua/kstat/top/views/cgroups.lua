--- Control groups on a screen: what each uses, how long its processes waited, and whether it is at a limit.
--
-- A group counts with those below it. CPU% is of one CPU. WAIT% is the share of the interval in which some process of
-- the group waited for a CPU, for memory or for I/O, whichever was longest; without pressure (version 1) it is "-".
-- States are those of kstatlua use, which judges groups that have a limit. Of each group the view reads the file that
-- CPU% is from. A row finds the rest when somebody looks at it, as rows of processes do: when it is visible, or when a
-- column sorts. In the first view all is read anyway, as its verdict judged all groups.
-- @module kstat.top.views.cgroups
local cgroup = require("kstat.use.cgroup")
local core = require("kstat.core")
local figures = require("kstat.use.figures")
local makers = require("kstat.top.column")
local report = require("kstat.report")
local selector = require("kstat.read.selector")
local states = require("kstat.top.states")
local text = require("kstat.base.text")
local use = require("kstat.use.rows")

local ALL, BRIEF = { selector.compile({ class = "cgroup" }) }, { selector.compile({ class = "cgroup_cpu" }) }

-- --- what a row finds when it is asked for --------------------------------------------------------------------

local function number(value)
  return type(value) == "number" and value or nil
end

-- The larger of two numbers, either of which may be missing.
local function larger(a, b)
  return a and b and math.max(a, b) or a or b
end

-- Of nanoseconds: the share of the interval in percent.
local function share(count, elapsed)
  return number(count) and math.max(math.min(count / elapsed / 1e7, 100), 0) or nil
end

-- A kstat of a row's group in a sample or a difference.
local function beside(row, x, module)
  return x:lookup(module, row.instance, row.group)
end

local LEVELS = { memory = "memory", limit = "memory_max", pids = "pids", pids_max = "pids_max" }

local function find_levels(row)
  local k = beside(row, row.now, "cgroup")
  for field, statistic in pairs(k and LEVELS or {}) do
    row[field] = number(k:get(statistic))
  end
  row.quota = k and figures.percent(number(k:get("cpu_nsec_max")), number(k:get("cpu_nsec_period"))) or nil
end

local function find_rates(row)
  local k = row.has_rates and row.k
  local elapsed = k and k.elapsed or 0
  if elapsed > 0 then
    local for_cpu, for_memory, for_io, throttled, periods = k:get("cpu_nsec_waiting", "memory_nsec_waiting",
      "io_nsec_waiting", "cpu_throttled", "cpu_periods")
    row.for_cpu, row.for_memory = share(for_cpu, elapsed), share(for_memory, elapsed)
    row.for_io = share(for_io, elapsed)
    row.wait = larger(larger(row.for_cpu, row.for_memory), row.for_io)
    row.throttled = figures.percent(number(throttled), number(periods))
  end
end

-- Bytes of all disks; or of one: who comes from a disk asks who uses it.
local function find_io(row)
  local k, prefix = row.k, ""
  if row.disk then
    k, prefix = beside(row, row.d, "cgroup_io"), row.disk .. "_"
  end
  if row.has_rates then
    row.read, row.write = figures.per_second(k, prefix .. "nread"), figures.per_second(k, prefix .. "nwritten")
    row.io = (row.read or row.write) and (row.read or 0) + (row.write or 0)
  end
end

-- The rows of a tick: they share the difference, the later sample, when the earlier one was taken, and a disk.
local meta_of = makers.finding({
  [function(row) row.k = beside(row, row.d, "cgroup") end] = { "k" },
  [find_levels] = { "memory", "limit", "pids", "pids_max", "quota" },
  [find_rates] = { "for_cpu", "for_memory", "for_io", "wait", "throttled" }, [find_io] = { "read", "write", "io" },
}, { k = true })

-- --- rows ---------------------------------------------------------------------------------------------------

-- The path of the group above.
local function parent(row)
  local above = row.path:match("^(.*)/[^/]+$")
  return above == "" and "/" or above
end

-- Whether all is known by which the group is judged. What the sample before has not read is read from now on.
local function can_be_judged(row)
  local k = row.k
  local known = row.has_rates and k ~= nil and k.crtime <= row.since
  for _, module in ipairs({ "cgroup_memory", "cgroup_io" }) do
    local further = beside(row, row.now, module)
    known = known and (not further or further:get("snaptime") and beside(row, row.d, module) ~= nil)
  end
  return known
end

-- judged: by instances, all groups that were judged at this tick; nil: none was yet
local function add_state(row, judged)
  if judged then
    row.judged = row.has_rates and row.k and judged[row.k.instance] or nil
  elseif can_be_judged(row) then
    local values, who = cgroup.one(row.d, row.k)
    row.judged = values and use.one("cgroup", row.path, values, who)
  end
  row.state = row.judged and states.text(row.judged)
end

-- Fills in what only rows that are shown need.
local function complete(row, options)
  if not row.is_complete then
    row.is_complete = true
    add_state(row, options.screen.judged)
  end
end

-- A row for each group. All of the machine is the root of the tree, and else no group among others. screen: of a view,
-- which reads one file of each group until somebody looks at the row; recordings have no kstats of that file alone.
local function all_rows(d, now, prev, screen)
  local function figures_of(selectors)
    return assert(core.figures(d, selectors, { path = "path", total = "cpu_nsec" }, prev and { used = "cpu_nsec" }))
  end
  local brief, about = screen and figures_of(BRIEF) or {}, screen and screen.about
  local list, meta = {}, meta_of({ d = d, now = now, since = prev and core.sample_taken(prev), has_rates = prev ~= nil,
    disk = about and about.disk })
  for _, row in ipairs(brief[1] and brief or figures_of(ALL)) do
    row.group, row.path = row.name, type(row.path) == "string" and row.path or row.name
    row.label = row.path
    row.cpu = prev and row.total and row.elapsed > 0 and (row.used or 0) / row.elapsed / 1e7 or nil
    list[#list + 1] = (screen and screen.tree or row.path ~= "/") and setmetatable(row, meta) or nil
  end
  return list
end

local function by(figure)
  return function(a, b)
    local x, y = a[figure] or 0, b[figure] or 0
    return x > y or x == y and a.path < b.path
  end
end

local function rows(d, now, prev, options)
  local screen = options.screen or {}
  local list, figure = all_rows(d, now, prev, screen), "memory"
  for _, row in ipairs(list) do
    if screen.tree then
      row.label = row.path:match("[^/]+$") or row.path -- what stands above it says the rest
    end
    if row.path ~= "/" then -- the root of the tree alone has this where nobody counts the groups' time
      figure = row.cpu and "cpu" or figure == "memory" and row.total and "total" or figure
    end
  end
  if figure ~= "cpu" then -- it is not counted, or not yet
    table.sort(list, by(figure))
  end
  return list
end

-- --- those that tell most ---------------------------------------------------------------------------------------

local MOST = 5 -- rows beside other tables
local LEAST = { cpu = 0.1, io = 1, memory = 1 } -- percent, bytes per second, bytes
local FIGURES = { memory = "memory", disk = "io", fs = "io" } -- by what the verdict is about

-- Those with most of a figure, without groups that are little more than the groups below them; nil: none has it.
local function busiest(list, figure)
  local below, found, is_known = {}, {}, false
  for _, row in ipairs(list) do
    local above = parent(row)
    below[above or ""] = (below[above or ""] or 0) + (row[figure] or 0)
  end
  for _, row in ipairs(list) do
    local n = row[figure]
    is_known = is_known or n ~= nil
    found[#found + 1] = n and n >= LEAST[figure] and 2 * (below[row.path] or 0) <= n and row or nil
  end
  table.sort(found, by(figure))
  return is_known and found or nil
end

-- The few groups that belong beside the verdict; the one that it is about comes first.
local function telling(d, now, prev, options)
  local verdict = options.screen and options.screen.verdict or {}
  local list, chosen = all_rows(d, now, prev), {}
  for _, row in ipairs(verdict.resource == "cgroup" and list or {}) do
    chosen[#chosen + 1] = row.group == verdict.name and row or nil
  end
  for _, row in ipairs(busiest(list, FIGURES[verdict.resource] or "cpu") or busiest(list, "memory") or {}) do
    if #chosen < MOST and row ~= chosen[1] then
      chosen[#chosen + 1] = row
    end
  end
  return chosen
end

-- --- the view ---------------------------------------------------------------------------------------------------

-- The processes of a group; where it is about I/O, those that do most of what the group does most.
local function enter(row, options)
  local by_io = options.screen.sort == "IO/s"
  return { view = "processes", group = row.path,
    sort = by_io and ((row.read or 0) > (row.write or 0) and "READ/s" or "WRITE/s") or nil }
end

local function explain(row, options)
  complete(row, options)
  if not row.judged then
    return { row.path .. (row.has_rates and ": without a limit a group is not judged" or ": nothing is known yet") }
  end
  return states.explain(row.judged, row.path, options.screen.utf8)
end

local column, further = makers.of, makers.further
local percent, bytes, count = text.percent, text.bytes, text.number

local NAME = { "CGROUP", "label", kind = "label", about = "control group: its place in the tree" }
local CPU = column("CPU%", "cpu", percent, "CPU time, in percent of one CPU")
local WAIT = column("WAIT%", "wait", percent,
  "share of the time in which some process waited for a CPU, memory or I/O, whichever was longest")
local MEMORY = column("MEM", "memory", bytes, "memory in use")
local LIMIT = column("LIMIT", "limit", bytes, "limit of memory", 2)
local IO = column("IO/s", "io", count, "bytes read from and written to disks per second")
local PROCESSES = column("PROC", "pids", count, "processes and threads", 2)
local STATE = { "STATE", "state", align = "left", whole = true, lazy = true, order = states.order, state = states.of,
  about = "of groups that have a limit: ok, or what is too much" }

local function declare(name, about, make, columns, sort)
  return report({ name = name, about = about, optional = true, columns = columns, rows = make, sort = sort,
    select = { { class = "cgroup" }, { class = "cgroup_memory" }, { class = "cgroup_io" },
      { module = "pressure", name = "memory", class = "pressure" }, make == rows and { class = "cgroup_cpu" } or nil },
    identity = function(row) return row.path end, parent = parent, complete = complete, enter = enter,
    explain = explain })
end

local all = declare("cgroups", "Control groups: what they use, wait for, and may use.", rows, {
  NAME, CPU, WAIT, MEMORY, LIMIT, IO, PROCESSES,
  further("PMAX", "pids_max", count, "limit of processes and threads"),
  further("QUOTA%", "quota", percent, "limit of CPU time, in percent of one CPU"),
  further("THROT%", "throttled", percent, "share of the periods in which the group used its limit of CPU time up"),
  further("WCPU%", "for_cpu", percent, "share of the time in which some process waited for a CPU"),
  further("WMEM%", "for_memory", percent, "the same for memory"),
  further("WIO%", "for_io", percent, "the same for I/O"),
  further("READ/s", "read", count, "bytes read from disks per second"),
  further("WRITE/s", "write", count, "bytes written to disks per second"),
  STATE,
}, "CPU%")

return {
  name = "cgroups", sections = { all }, none = "no control groups are known; enter: the processes that do I/O",
  instead = { view = "processes", sort = "WRITE/s" },
  section = declare("cgroups", "Control groups that tell most.", telling,
    { NAME, CPU, WAIT, MEMORY, LIMIT, IO, PROCESSES, STATE }),
}
