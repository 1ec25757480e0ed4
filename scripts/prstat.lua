--- prstat: processes and threads, those that use most CPU first, as Solaris shows them.
--
-- CPU and MEMORY are shares of the whole machine, as on Solaris: 100 % are all CPUs. The first report shows the time
-- since each process started.
--
-- -m: where the time of a process's threads went, in percent; what Linux does not count is "-":
-- USR SYS  in user mode and in the kernel     LAT  waiting for a CPU
-- DFL      waiting for pages from disk (needs CAP_NET_ADMIN and sysctl kernel.task_delayacct=1)
-- SLP      all other time: asleep, waiting for I/O, locks and other things
-- VCX ICX  context switches of its own will and not     TRP TFL LCK SCL SIG  not counted
-- SPDX-License-Identifier: MIT
local choice = require("kstat.prstat.choice")
local columns = require("kstat.prstat.columns")
local cut = require("kstat.base.text").cut
local ended = require("kstat.figures.ended")
local kstat = require("kstat")
local latency = require("kstat.figures.latency")
local machine = require("kstat.base.machine")
local operand = require("kstat.command.operand")
local processes = require("kstat.prstat.rows")
local running = require("kstat.base.running")
local unknown = require("kstat.base.unknown")

local system = assert(kstat.selector("unix:0:system_misc"))
local memory = assert(kstat.selector("unix:0:meminfo"))

-- --- what is selected -------------------------------------------------------------------------

-- The kinds of kstats that the options need beside the first one, by the endings of their classes.
local function kinds(options)
  local wanted = { status = options.microstates or options.verbose or options.real_set, sched = options.microstates,
    delay = options.microstates, io = options.io or options.by == "io", args = options.args, cgroup = options.groups }
  local list = {}
  for _, kind in ipairs({ "status", "sched", "delay", "io", "args", "cgroup" }) do
    list[#list + 1] = wanted[kind] and kind or nil
  end
  return options.threads and "thread" or "process", list
end

local function select(options)
  local base, further = kinds(options)
  local list = { system, (options.users or options.all or options.groups) and memory or nil }
  local pids = base == "process" and options.pid_set
  local function add(class)
    list[#list + 1] = not pids and { module = base, class = class } or nil
    for pid in pairs(pids or {}) do
      list[#list + 1] = { module = base, class = class, instance = pid }
    end
  end
  add(base)
  for _, kind in ipairs(further) do
    add(base .. "_" .. kind)
  end
  list[#list + 1] = base == "process" and latency.exits or nil
  return list
end

local patterns -- of the operands
local by_class = {}

local function processes_of(d, class)
  by_class[class] = by_class[class] or assert(kstat.selector({ class = class }))
  return d:each(by_class[class])
end

-- Reads the kstats of further kinds. They are read for all processes, shown or not: the next report needs them in this
-- sample.
local function read_further_kinds(d, options)
  local base, list = kinds(options)
  for _, kind in ipairs(list) do
    processes_of(d, base .. "_" .. kind)
  end
end

-- --- rows -----------------------------------------------------------------------------------

-- What sorting and choosing need of a process; nil: it is not chosen.
local function new_row(d, k, options)
  local row = processes.new(k)
  row.uid = (options.user_set or options.users or options.all) and k:now():get("euid")
  if options.user_set and not options.user_set[row.uid] or
    options.real_set and not options.real_set[processes.figure(d, row, "status", "uid", true)] or
    options.cpu_set and not options.cpu_set[k:now():get("onpro")] or
    options.pid_set and not options.pid_set[("%d"):format(row.pid)] then
    return nil
  end
  if options.by ~= "cpu" or options.users or options.all or options.groups then
    processes.add_levels(row)
  end
  if options.io or options.by == "io" then
    processes.add_io(d, row)
  end
  row.group = options.groups and processes.figure(d, row, "cgroup", "cgroup", true)
  return row
end

-- seen: gets the names and PIDs of all processes, as keys; nil: they are not needed. interval: seconds, of which
-- who began within them has a share, as all others do; 0: all is since creation
local function collect(d, options, ncpus, seen, interval)
  local list, lwps = {}, 0
  for k in processes_of(d, (kinds(options))) do
    local row = (#patterns == 0 or operand.matches(patterns, k.name)) and new_row(d, k, options)
    if seen then
      seen.names[k.name], seen.pids[options.threads and k:now():get("pid") or k.instance] = true, true
    end
    if row then
      local elapsed = math.max(row.elapsed, interval)
      row.cpu = elapsed > 0 and 100 * row.used / elapsed / ncpus or 0
      lwps = lwps + row.nlwp
      list[#list + 1] = row
    end
  end
  return list, lwps
end

-- The name of a row: its command line, or that of the program and its threads.
local function name_of(d, row, options)
  if options.args then
    return processes.command(d, row)
  end
  local name = processes.name(row)
  return ("%s/%d"):format(options.truncate and cut(name, columns.name_width) or name, row.tid or row.nlwp)
end

-- The cells of a row that is shown.
local function complete(d, row, options)
  processes.add_owner(row)
  row.process = name_of(d, row, options)
  if options.microstates or options.verbose then
    return processes.add_microstates(d, row, options.microstates)
  end
  processes.add_levels(row)
end

-- --- sums -------------------------------------------------------------------------------------

local function physical_memory(d)
  local k = d:lookup("unix", 0, "meminfo")
  return k and k:now():get("MemTotal")
end

local SUMMED = { "size", "rss", "time", "cpu" }
local SUMMED_IO = { "rss", "time", "cpu", "io", "read", "write", "cancelled" }

-- Sums over the processes of each user or control group.
local function sums_of(list, options, physical)
  local found, sums, fields = {}, {}, options.io and SUMMED_IO or SUMMED
  for _, row in ipairs(list) do
    local name = options.groups and row.group or not options.groups and machine.user_name(row.uid) or "-"
    local sum = found[name]
    if not sum then
      sum = { name = name, nproc = 0, rss = 0 }
      found[name], sums[#sums + 1] = sum, sum
    end
    sum.nproc = sum.nproc + 1
    for i = 1, #fields do
      local field = fields[i]
      sum[field] = row[field] and (sum[field] or 0) + row[field] or sum[field]
    end
    sum.memory = physical and 100 * sum.rss / physical or nil
  end
  return sums
end

-- Orders rows by the key, and cuts what is behind the last line.
local function in_order(list, options, lines)
  local key, up = options.by, options.is_reverse
  table.sort(list, function(a, b)
    local x, y = a[key] or 0, b[key] or 0
    if x ~= y then
      return up and x < y or not up and x > y
    end
    return (a.tid or a.pid or a.name) < (b.tid or b.pid or b.name)
  end)
  for i = #list, (lines or #list) + 1, -1 do
    list[i] = nil
  end
end

-- A table of sums, as a row that is text.
local function block(sums, options)
  local rows, text = {}, {}
  local shown = columns.of_sums(options)
  for i, sum in ipairs(sums) do
    rows[i] = {}
    for j, column in ipairs(shown) do
      rows[i][j] = sum[column[2]]
    end
  end
  local sink = require("kstat.command.output").sink("table", require("kstat.report.declare").columns(shown, {}),
    function(lines) text[#text + 1] = lines end, { repeat_header = 1 })
  sink.show(rows, {})
  return { text = (table.concat(text):gsub("\n$", "")) }
end

-- What processes had which are no row, because they ended, and whose children most of them were. figure: fun(sum)
-- gives its text; nil: it is not worth a word. commands: what their parents started most often, by name.
local function ended_text(d, used, commands, figure)
  local sum, parent = ended.most(used)
  local text = parent and figure(sum / d.elapsed)
  local k = text and d:lookup("process", parent, nil)
  local what = k and commands[k.name]
  return k and ("%s, most of %s/%d%s"):format(text, k.name, parent, what and (" (%s)"):format(what) or "") or nil
end

-- The CPU time and the I/O of processes that ended.
local function ended_texts(d, prev, options, ncpus, commands)
  local list = {}
  list[1] = ended_text(d, ended.cpu(d, prev), commands, function(rate)
    local percent = rate / 1e7 / ncpus
    return percent >= 1 and ("%.0f%% CPU"):format(percent)
  end)
  if options.io or options.by == "io" then
    local read, written = ended.io(d, prev)
    local function bytes(verb)
      return function(rate) return rate >= 102400 and columns.bytes(rate) .. "/s " .. verb end
    end
    list[#list + 1] = ended_text(d, read, commands, bytes("read"))
    list[#list + 1] = ended_text(d, written, commands, bytes("written"))
  end
  return list[1] and ", ended: " .. table.concat(list, "; ") or ""
end

local function total(n, lwps, misc, options)
  local text = options.threads and ("Total: %d lwps"):format(n) or ("Total: %d processes, %d lwps"):format(n, lwps)
  local loads = {}
  for i, minutes in ipairs({ "1", "5", "15" }) do
    local load = misc and misc:get("avenrun_" .. minutes .. "min")
    loads[i] = load and ("%.2f"):format(load / 256) or "-"
  end
  return text .. ", load averages: " .. table.concat(loads, ", ")
end

-- --- a tick -----------------------------------------------------------------------------------

local is_replay

-- Tells what a recording does not have that is there only for those who ask; ends the command if it has no process.
local function check_recording(d, options, pids)
  local line = "this recording has no %s; record with: kstatlua record -o FILE %s unix 10"
  if not next(pids) then
    running.stop(1, line:format(options.threads and "threads" or "processes", (kinds(options))))
  elseif options.args and not processes_of(d, "process_args")() then
    running.warn_later({ line:format("command lines", "--args process") })
  elseif options.groups and not processes_of(d, "process_cgroup")() then
    running.warn_later({ line:format("control groups", "process 'process::*,cgroup'") })
  end
end

-- Tells of names and numbers that no process has, and of CPUs that there are not.
local function check_names(options, names, pids, ncpus)
  local lines = unknown.patterns("there is no process", options.operands, patterns, names)
  if options.operands[1] and lines[1] and options.operands[1]:find("^[aux]+$") then -- as ps has them
    lines[1] = lines[1] .. "; 'kstatlua prstat -A' shows all, with command lines"
  end
  local asked = #patterns
  if lines[1] and options.skip_idle then -- zones, to who comes from Solaris
    lines[#lines] = lines[#lines] .. "; -z leaves out idle ones: Linux has no zones, -Z shows control groups"
  end
  for pid in pairs(options.pid_set or {}) do
    asked = asked + 1
    lines[#lines + 1] = not pids[tonumber(pid)] and ("there is no process %s"):format(pid) or nil
  end
  for cpu in pairs(options.cpu_set or {}) do
    asked = asked + 1
    lines[#lines + 1] = cpu >= ncpus and ("there is no CPU %d"):format(cpu) or nil
  end
  running.missing(lines, asked)
end

local function rows(d, _, prev, options)
  local misc = d:lookup("unix", 0, "system_misc")
  misc = misc and misc:now()
  local seen = options.first and { names = {}, pids = {} } or nil
  read_further_kinds(d, options)
  local commands = latency.children(d) -- also at the first tick, so that the next has an earlier sample
  local list, lwps = collect(d, options, misc and misc:get("ncpus") or 1, seen, prev and d.elapsed or 0)
  local n, sums = #list, nil
  if seen and is_replay then
    check_recording(d, options, seen.pids)
  end
  if seen then
    -- Numbers of CPUs may have gaps: one at which a process was seen is there.
    check_names(options, seen.names, seen.pids, n == 0 and misc and misc:get("ncpus") or math.huge)
  end
  if options.users or options.all or options.groups then
    sums = sums_of(list, options, physical_memory(d))
    in_order(sums, options, options.sum_lines)
  end
  if options.users then
    list = sums
  else
    in_order(list, options, options.lines)
    for _, row in ipairs(list) do
      complete(d, row, options)
    end
  end
  if not options.is_sorted then
    list[#list + 1] = not options.users and sums and block(sums, options) or nil
    local rest = prev and not options.threads and
      ended_texts(d, prev, options, misc and misc:get("ncpus") or 1, commands) or ""
    list[#list + 1] = { text = total(n, lwps, misc, options) .. rest }
  end
  return list
end

return kstat.report({
  name = "prstat", about = "Processes and threads, those that use most CPU first.",
  note = "CPU and MEMORY are shares of the whole machine. -m: TRP, TFL, LCK, SCL and SIG are not counted by Linux, " ..
    "and\nDFL needs sysctl kernel.task_delayacct=1 and root: these are \"-\"; SLP is all time that is nothing else. " ..
    "-d: DLY\nneeds that sysctl, and other users' bytes root.",
  optional = true, operands = "name", follow = function(ks) is_replay = ks:is_replay() end,
  options = choice.options, select = select, rows = rows,
  columns = function(options) return options.users and columns.of_sums(options) or columns.of_processes(options) end,
  check = function(options)
    local message
    choice.take_time(options)
    patterns, message = operand.patterns(options.operands)
    return message or choice.check(options)
  end,
})
