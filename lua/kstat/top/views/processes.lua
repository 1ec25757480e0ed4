--- Processes on a screen: what each uses, how long it waited for a CPU, and what it reads and writes.
--
-- CPU% and WAIT% are of one CPU, as top has them and kstatlua use names who is to blame; prstat's CPU is of the
-- machine. Of all processes the file "stat" alone is read. A row finds the rest when somebody looks at it: when it is
-- visible, when a column sorts, or when a filter looks for it. What is read now and was not before has no figures of an
-- interval until the next one.
--
-- Children that ended within an interval have a row with the name and the PID of their parent, as they have no other.
--
-- The samples of a screen have what their own tick asked for, while those of kstat.every go on reading what any tick
-- did: a window that scrolls over 1,000 processes would end up reading four files of each. Where a key made the screen
-- read more (it scrolled, put rows in another order, filtered), the next sample follows in 0.25 s, as at the first
-- frame. To read a page ahead on each side would take eighty files more at every tick. Without a screen (-b) the first
-- sample has what the view selects of all rows.
-- @module kstat.top.views.processes
local core = require("kstat.core")
local ended = require("kstat.figures.ended")
local latency = require("kstat.figures.latency")
local machine = require("kstat.base.machine")
local makers = require("kstat.top.column")
local processes = require("kstat.prstat.rows")
local report = require("kstat.report")
local selector = require("kstat.read.selector")
local text = require("kstat.base.text")

local PROCESS = { selector.compile({ class = "process" }) }
local CHANGES = { utime = "utime", stime = "stime", cutime = "cutime", cstime = "cstime" }
-- What is asked of all processes at once where a column sorts by it.
local SORTED = { RSS = { rss = "rssize" }, THREADS = { nlwp = "nlwp" }, SIZE = { size = "size" },
  PPID = { ppid = "ppid" }, PRI = { pri = "pri" }, NI = { nice = "nice" } }

-- --- what a row finds when it is asked for ------------------------------------------------------------------------

-- What most windows show of the file that is read of all.
local function find_usual(row)
  local name, euid
  name, euid, row.rss, row.nlwp, row.ppid = core.levels(row.k, "fname", "euid", "rssize", "nlwp", "ppid")
  row.process, row.user = name or row.name, machine.user_name(euid)
end

-- The rest of it.
local function find_levels(row)
  processes.add_levels(row)
  processes.add_owner(row)
  row.class = core.levels(row.k, "clname")
end

-- What was counted per second. elapsed: seconds between the readings of its file; without it those of "stat": who looks
-- at a row between two ticks has its other files read then.
local function rate_of(row, count, elapsed)
  return row.is_known and processes.rate(count, elapsed or row.elapsed) or nil
end

local function find_faults(row)
  local minor, major = row.k:get("minf", "majf")
  row.minor, row.major = rate_of(row, minor), rate_of(row, major)
end

local function find_io(row)
  if row.is_known then
    processes.add_io(row.d, row)
    row.io = (row.read or row.write) and row.io or nil
  else
    processes.figure(row.d, row, "io", "nread") -- so that the next interval has it
  end
end

local function find_waiting(row)
  local nsec = rate_of(row, processes.figure(row.d, row, "sched", "wait_nsec"))
  row.wait = nsec and nsec / 1e7
end

local function find_status(row)
  row.swap = processes.figure(row.now, row, "status", "swap")
  row.switches = rate_of(row, processes.figure(row.d, row, "status", "vctx"))
  row.forced = rate_of(row, processes.figure(row.d, row, "status", "ictx"))
end

-- The rows of a tick: they share the difference, the later sample, and whether there is an earlier one.
local meta_of = makers.finding({
  [function(row) row.k = row.d:lookup("process", row.instance, row.name) end] = { "k" },
  [function(row) row.pid = row.instance end] = { "pid" }, [find_waiting] = { "wait" },
  [function(row) row.group = processes.figure(row.now, row, "cgroup", "cgroup") end] = { "group" },
  [function(row) row.command = processes.command(row.d, row, row.now) end] = { "command" },
  [function(row) row.open = processes.figure(row.now, row, "fd", "open") end] = { "open" },
  [find_usual] = { "process", "user", "rss", "nlwp", "ppid" },
  [find_levels] = { "size", "pri", "nice", "time", "state", "class" },
  [find_faults] = { "minor", "major" }, [find_io] = { "read", "write", "cancelled", "io", "DLY" },
  [find_status] = { "swap", "switches", "forced" },
}, { k = true, pid = true })

-- --- rows ---------------------------------------------------------------------------------------------------------

-- The row of children that ended of a process, whose PID it has, and of which `figures` are known.
local function row_of_children(of, figures, what)
  figures.process, figures.pid, figures.ppid = "children of " .. of.process, of.pid, of.pid
  figures.process = what and ("%s (%s)"):format(figures.process, what) or figures.process
  figures.identity, figures.of = "children of " .. of.pid, of
  figures.io = (figures.read or figures.write) and (figures.read or 0) + (figures.write or 0)
  return figures
end

local LEAST_CPU, LEAST_IO = 1, 102400 -- percent, bytes a second

-- Adds rows of children that ended, of which `cpu` is known. has_io: what they read and wrote is looked for, too, which
-- needs that of all.
local function add_children(list, d, prev, cpu, has_io)
  local read, written, commands = {}, {}, latency.children(d)
  if has_io then
    read, written = ended.io(d, prev)
  end
  for i = 1, #list do
    local row = list[i]
    local pid, elapsed = row.instance, row.elapsed
    if elapsed > 0 and (cpu[pid] or read[pid] or written[pid]) then
      local figures = { cpu = cpu[pid] and cpu[pid] / elapsed / 1e7, read = read[pid] and read[pid] / elapsed,
        write = written[pid] and written[pid] / elapsed }
      if (figures.cpu or 0) >= LEAST_CPU or (figures.read or 0) + (figures.write or 0) >= LEAST_IO then
        list[#list + 1] = row_of_children(row, figures, commands[row.process])
      end
    end
  end
end

local BY_IO = { ["READ/s"] = true, ["WRITE/s"] = true, ["IO/s"] = true }

-- A row for each process. list: them, if they are known; values: else what is asked of all of them at once.
local function all_rows(d, now, prev, has_io, values, list)
  local message
  if not list then
    list, message = core.figures(d, PROCESS, values or {}, prev and CHANGES)
  end
  if not list then
    error(message, 0)
  end
  local meta = meta_of({ d = d, now = now, is_known = prev ~= nil })
  -- It reads the rows as they are: later they look for what they lack.
  local of_children, interval = prev and ended.cpu(d, prev, list), prev and d.elapsed or 0
  for i = 1, #list do
    local row = list[i]
    local elapsed = row.is_new and math.max(row.elapsed, interval) or row.elapsed -- it has its share of the interval
    row.elapsed = elapsed
    row.cpu = prev and elapsed > 0 and ((row.utime or 0) + (row.stime or 0)) / elapsed / 1e7 or nil
    setmetatable(row, meta)
  end
  if prev then
    add_children(list, d, prev, of_children, has_io)
  end
  return list
end

local function rows(d, now, prev, options)
  local screen = options.screen
  local has_io = not screen or screen.all or BY_IO[screen.sort]
  local list = all_rows(d, now, prev, has_io, screen and SORTED[screen.sort])
  local about = screen and screen.about
  if about and about.group then
    local chosen, within, is_known = {}, (about.group .. "/"):gsub("^//$", "/"), screen.live
    for _, row in ipairs(list) do
      local group = (row.of or row).group
      is_known = is_known or group ~= nil
      chosen[#chosen + 1] = ((group or "") .. "/"):find(within, 1, true) == 1 and row or nil
    end
    if is_known then
      return chosen
    end
    list.remark = "which of them were in the group was not recorded: these are all"
  end
  return list
end

-- --- those that tell most -----------------------------------------------------------------------------------------

local MOST = 5 -- rows beside other tables
local FIGURES = { memory = "rss", swap = "rss", disk = "io", fs = "io", table = "nlwp" } -- by what the verdict is about

-- What makes others wait for memory is who reads pages from disks, if anybody does.
local function figure_of(verdict, list)
  local figure = FIGURES[verdict.resource] or "cpu"
  if figure == "rss" and (verdict.severity or 0) > 0 then
    for _, row in ipairs(list) do
      if (row.major or 0) > 0 then
        return "major"
      end
    end
  end
  return figure
end

-- The few processes that belong beside the verdict, the first by the resource that is worst.
local function telling(d, now, prev, options)
  local verdict = options.screen and options.screen.verdict or {}
  local by_io = FIGURES[verdict.resource] == "io"
  local list = all_rows(d, now, prev, by_io, nil, prev and ended.processes(d))
  local figure, found = figure_of(verdict, list), {}
  for _, row in ipairs(list) do
    found[#found + 1] = (row[figure] or 0) > 0 and row or nil
  end
  table.sort(found, function(a, b)
    local x, y = a[figure], b[figure]
    return x > y or x == y and (a.pid or 0) < (b.pid or 0)
  end)
  for i = #found, MOST + 1, -1 do
    found[i] = nil
  end
  return found
end

-- --- the view -----------------------------------------------------------------------------------------------------

local function identity(row)
  return row.identity or ("%.0f"):format(row.pid)
end

local function parent(row)
  return row.ppid and ("%.0f"):format(row.ppid)
end

-- A process's statistics; of children that ended those of their parent.
local function enter(row)
  return { view = "statistics", select = { module = "process", instance = row.pid } }
end

local column, extra = makers.of, makers.further
local percent, bytes, count, rate = text.percent, text.bytes, text.number, text.number

local USUAL = {
  { "PROCESS", "process", kind = "label", about = "name; or children that ended within the interval, and whose" },
  { "PID", "pid", kind = "label", align = "right", format = "%d" },
  { "USER", "user", align = "left", priority = 3, elide = "end", about = "effective user" },
  column("CPU%", "cpu", percent, "CPU time, in percent of one CPU"),
  column("WAIT%", "wait", percent, "time that its threads waited for a CPU, in percent of the interval", 2),
  column("RSS", "rss", bytes, "memory in use, shared memory included"),
  column("READ/s", "read", rate, "bytes read from disks per second; of other users only root sees it"),
  column("WRITE/s", "write", rate, "bytes to be written to disks per second"),
  column("THREADS", "nlwp", "%d", "threads", 3),
}
local COMMAND = { "COMMAND", "command", align = "left", whole = true, elide = "end", priority = 4,
  about = "command line; where the window is wide, or with the key c" }

local ALL = { (table.unpack or unpack)(USUAL) }
for _, one in ipairs({
  extra("IO/s", "io", rate, "READ/s and WRITE/s together"),
  extra("CANC/s", "cancelled", rate, "bytes of WRITE/s that were never written: their file was cut or removed"),
  extra("DLY%", "DLY", percent, "share of the time in which it waited for disks (sysctl kernel.task_delayacct)"),
  extra("STATE", "state", nil, "run, sleep, disk (no signal wakes it), stop, zombie, idle"),
  extra("PPID", "ppid", "%d", "parent process"),
  extra("CLASS", "class", nil, "scheduling class: TS, FIFO, RR, BATCH, IDLE, DEADLINE, EXT"),
  extra("PRI", "pri", "%d", "priority: 0 to 39, below 0 for real time; less comes first"),
  extra("NI", "nice", "%d", "nice value: -20 to 19"),
  extra("TIME", "time", text.hours, "CPU time since its start"),
  extra("SIZE", "size", bytes, "size of the address space"),
  extra("SWAP", "swap", bytes, "memory swapped out"),
  extra("MINF/s", "minor", count, "page faults without a disk access per second"),
  extra("MAJF/s", "major", count, "page faults with a disk access per second"),
  extra("VCX/s", "switches", count, "context switches of its own will per second"),
  extra("ICX/s", "forced", count, "context switches because something else got the CPU, per second"),
  extra("FDS", "open", "%d", "open file descriptors"),
  { "CGROUP", "group", align = "left", hidden = true, priority = 4, about = "control group" },
  COMMAND,
}) do
  ALL[#ALL + 1] = one
end

USUAL[#USUAL + 1] = COMMAND

local function select_of(...)
  local list = { { class = "process" }, latency.exits }
  for _, kind in ipairs({ ... }) do
    list[#list + 1] = { class = "process_" .. kind }
  end
  return list
end

local function declare(about, make, select, columns, sort)
  return report({ name = "processes", about = about, optional = true, select = select, rows = make, columns = columns,
    sort = sort, identity = identity, parent = parent, enter = enter })
end

return {
  name = "processes", none = "no processes; a recording has those that were named to its recorder",
  sections = { declare("Processes: what they use and wait for, and what they read and write.", rows,
    select_of("sched", "io", "status", "cgroup", "args", "fd"), ALL, "CPU%") },
  section = declare("Processes that tell most.", telling, select_of("sched", "io", "args"), USUAL),
}
