--- Control groups on a screen: what each uses, how long its processes waited, and whether it is at a limit.
--
-- A group counts with those below it. CPU% is of one CPU. WAIT% is the share of the interval in which some process of
-- the group waited for a CPU, for memory or for I/O, whichever was longest; without pressure (version 1) it is "-".
-- States are those of kstatlua use, which judges groups that have a limit. What they need besides is read only of the
-- rows that are visible.
--
-- @module kstat.top.views.cgroups
local cgroup = require("kstat.use.cgroup")
local makers = require("kstat.top.column")
local core = require("kstat.core")
local figures = require("kstat.use.figures")
local report = require("kstat.report")
local selector = require("kstat.selector")
local states = require("kstat.top.states")
local text = require("kstat.text")
local use = require("kstat.use.rows")

local groups = selector.compile({ class = "cgroup" })

-- --- rows ---------------------------------------------------------------------------------------------------

local function number(value)
  return type(value) == "number" and value or nil
end

-- The larger of two numbers, either of which may be missing.
local function larger(a, b)
  return a and b and math.max(a, b) or a or b
end

-- What was counted, per second.
local function rate(count, elapsed)
  return number(count) and math.max(count, 0) / elapsed or nil
end

-- Of nanoseconds: the share of the interval in percent.
local function share(count, elapsed)
  return number(count) and math.max(math.min(count / elapsed / 1e7, 100), 0) or nil
end

-- Figures of the interval: they are all counters.
local function add_rates(row, k)
  local elapsed = k.elapsed
  if not elapsed or elapsed <= 0 then
    return
  end
  local cpu, for_cpu, for_memory, for_io, nread, nwritten = k:get("cpu_nsec", "cpu_nsec_waiting",
    "memory_nsec_waiting", "io_nsec_waiting", "nread", "nwritten")
  row.cpu = rate(cpu, elapsed * 1e7)
  row.for_cpu, row.for_memory, row.for_io = share(for_cpu, elapsed), share(for_memory, elapsed), share(for_io, elapsed)
  row.wait = larger(larger(row.for_cpu, row.for_memory), row.for_io)
  row.read, row.write = rate(nread, elapsed), rate(nwritten, elapsed)
  row.io = (row.read or row.write) and (row.read or 0) + (row.write or 0)
end

-- What is known of a group without further files. Figures of an interval need the sample before, taken at `since`.
local function new_row(k, d, now, since)
  local path, memory, limit, pids = core.levels(k, "path", "memory", "memory_max", "pids")
  path = type(path) == "string" and path or k.name
  local row = { k = k, d = d, now = now, path = path, label = path, memory = number(memory), limit = number(limit),
    pids = number(pids), has_rates = since ~= nil }
  if since then
    add_rates(row, k)
    row.is_new = k.crtime > since
  end
  return row
end

-- Bytes of one disk in place of all disks: who comes from a disk asks who uses it.
local function add_disk(row, disk)
  local io = row.d:lookup("cgroup_io", row.k.instance, row.k.name)
  local read, write = figures.per_second(io, disk .. "_nread"), figures.per_second(io, disk .. "_nwritten")
  if io and row.has_rates then
    row.read, row.write, row.io = read, write, (read or write) and (read or 0) + (write or 0)
  end
end

-- The path of the group above.
local function parent(row)
  local above = row.path:match("^(.*)/[^/]+$")
  return above == "" and "/" or above
end

-- Whether all is known by which the group is judged. What the sample before has not read is read from now on.
local function can_be_judged(row)
  local k, known = row.k, row.has_rates and not row.is_new
  for _, module in ipairs({ "cgroup_memory", "cgroup_io" }) do
    local further = row.now:lookup(module, k.instance, k.name)
    known = known and (not further or further:get("snaptime") and row.d:lookup(module, k.instance, k.name) ~= nil)
  end
  return known
end

local function add_state(row)
  if not can_be_judged(row) then
    return
  end
  local values, who = cgroup.one(row.d, row.k)
  if values then
    row.judged = use.one("cgroup", row.path, values, who)
    row.state = states.text(row.judged)
  end
end

-- Fills in what only rows that are shown need.
local function complete(row)
  local k = row.k
  if not row.is_complete then
    row.is_complete = true
    add_state(row)
    row.pids_max = figures.now(k, "pids_max")
    row.quota = figures.percent(figures.now(k, "cpu_nsec_max"), figures.now(k, "cpu_nsec_period"))
    row.throttled = row.has_rates and figures.percent(figures.count(k, "cpu_throttled"),
      figures.count(k, "cpu_periods")) or nil
  end
end

-- A row for each group. All of the machine is the root of the tree, and else no group among others.
local function all_rows(d, now, prev, with_root)
  local list, since = {}, prev and core.sample_taken(prev)
  for k in d:each(groups) do
    local row = new_row(k, d, now, since)
    list[#list + 1] = (with_root or row.path ~= "/") and row or nil
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
  local list = all_rows(d, now, prev, screen.tree)
  for _, row in ipairs(screen.tree and list or {}) do
    row.label = row.path:match("[^/]+$") or row.path -- what stands above it says the rest
  end
  local disk = screen.about and screen.about.disk
  for _, row in ipairs(disk and list or {}) do
    add_disk(row, disk)
  end
  local is_counted = false
  for _, row in ipairs(list) do
    is_counted = is_counted or row.cpu ~= nil
  end
  if not is_counted then -- or not yet
    table.sort(list, by("memory"))
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
  local list, chosen = all_rows(d, now, prev, false), {}
  for _, row in ipairs(verdict.resource == "cgroup" and list or {}) do
    chosen[#chosen + 1] = row.k.name == verdict.name and row or nil
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
  complete(row)
  if not row.judged then
    return { row.path .. (row.has_rates and ": without a limit a group is not judged" or ": nothing is known yet") }
  end
  return states.explain(row.judged, row.path, options.screen.utf8)
end

local column, further, lazy = makers.of, makers.further, makers.lazy
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
      { module = "pressure", name = "memory", class = "pressure" } },
    identity = function(row) return row.path end, parent = parent, complete = complete, enter = enter,
    explain = explain })
end

local all = declare("cgroups", "Control groups: what they use, wait for, and may use.", rows, {
  NAME, CPU, WAIT, MEMORY, LIMIT, IO, PROCESSES,
  lazy(further("PMAX", "pids_max", count, "limit of processes and threads")),
  lazy(further("QUOTA%", "quota", percent, "limit of CPU time, in percent of one CPU")),
  lazy(further("THROT%", "throttled", percent,
    "share of the periods in which the group used its limit of CPU time up")),
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
