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
local kstat = require("kstat")
local tool = require("kstat.tool")
local unknown = require("kstat.unknown")

local OPTIONS = {
  { "m", "microstates", help = "where the time of the threads went" },
  { "L", "threads", help = "a line for each thread" },
  { "t", "users", help = "a line for each user, with all processes" },
  { "n", "lines", arg = "N", type = "count", help = "at most N lines; 15 in tables unless -n says so" },
  { "s", "by", arg = "KEY", help = "the largest first: cpu (default), time, size, rss, pri, pid" },
  { "S", "reverse", arg = "KEY", help = "the same, the smallest first" },
  { "p", "pids", arg = "LIST", help = "only these processes: numbers with commas" },
  { "u", "owners", arg = "LIST", help = "only those of these users, by their effective names or numbers" },
  { "c", "continue", help = "reports one below the other (that is always so)" },
}
local DEFAULT_LINES, DEFAULT_INTERVAL = 15, 5
local KEYS = { cpu = "cpu", time = "time", size = "size", rss = "rss", pri = "pri", pid = "pid" }
local STATES = { R = "run", S = "sleep", D = "disk", T = "stop", t = "trace", Z = "zombie", I = "idle", X = "dead",
  P = "parked" }

local system = assert(kstat.selector("unix:0:system_misc"))
local memory = assert(kstat.selector("unix:0:meminfo"))

-- --- cells ----------------------------------------------------------------------------------

-- Bytes as Solaris writes them: 5412K, 12M, 1.5G is 1536M.
local function size_text(bytes)
  if not bytes then
    return nil
  end
  for _, unit in ipairs({ "K", "M", "G", "T" }) do
    bytes = bytes / 1024
    if bytes < 10000 or unit == "T" then
      return ("%.0f%s"):format(bytes, unit)
    end
  end
end

local function time_text(seconds)
  local s = math.floor(seconds)
  return ("%d:%02d:%02d"):format(math.floor(s / 3600), math.floor(s / 60) % 60, s % 60)
end

-- Percent in three digits: 0.1, 12, 100; times above a thousand as 1K.
local function share_text(share)
  return share < 9.95 and ("%.1f"):format(share) or ("%.0f"):format(share)
end

local function count_text(n)
  return n < 9999.5 and ("%.0f"):format(n) or n < 9999500 and ("%.0fK"):format(n / 1000) or ("%.0fM"):format(n / 1e6)
end

local accounts -- names of users by their numbers

local function user_name(uid)
  if not uid then
    return nil
  end
  if not accounts then
    accounts = {}
    local f = io.open("/etc/passwd", "r")
    for line in f and f:lines() or function() end do
      local name, number = line:match("^([^:]+):[^:]*:(%d+):")
      if name then
        accounts[tonumber(number)] = accounts[tonumber(number)] or name
      end
    end
    if f then
      f:close()
    end
  end
  return accounts[uid] or ("%.0f"):format(uid)
end

-- --- columns --------------------------------------------------------------------------------

local function column(title, width, given)
  local c = { title, given.field or title, width = width }
  for field, value in pairs(given) do
    c[field] = field ~= "field" and value or c[field]
  end
  return c
end

local function share(title, about)
  return column(title, 4, { format = share_text, unit = "%", about = about })
end

local function name_column(options)
  local title = options.threads and "PROCESS/LWPID" or "PROCESS/NLWP"
  return { title, "process", align = "left", about = options.threads and "name of the thread and its number" or
    "name of the process and how many threads it has" }
end

local function size(title, field)
  return column(title, 5, { field = field, format = size_text, unit = "bytes" })
end

local TIME = column("TIME", 9, { field = "time", format = time_text, unit = "s", about = "CPU time since the start" })
local CPU = column("CPU", 5, { field = "cpu", format = "%.1f%%", unit = "%", about = "share of all CPUs" })

local function columns(options)
  if options.users then
    return { column("NPROC", 6, { field = "nproc", format = "%d", align = "right" }),
      { "USERNAME", "user", width = 8, align = "left" }, size("SIZE", "size"), size("RSS", "rss"),
      column("MEMORY", 6, { field = "memory", format = "%.1f%%", unit = "%" }), TIME, CPU }
  end
  local pid = { "PID", "pid", width = 6, align = "right", format = "%d", kind = "label" }
  local user = { "USERNAME", "user", width = 8, align = "left" }
  if options.microstates then
    return { pid, user, share("USR"), share("SYS"), share("TRP"), share("TFL"), share("DFL"), share("LCK"),
      share("SLP"), share("LAT"), column("VCX", 4, { format = count_text }), column("ICX", 4, { format = count_text }),
      column("SCL", 4, {}), column("SIG", 4, {}), name_column(options) }
  end
  return { pid, user, size("SIZE", "size"), size("RSS", "rss"), { "STATE", "state", width = 6, align = "left" },
    column("PRI", 3, { field = "pri", format = "%d" }), column("NICE", 4, { field = "nice", format = "%d" }), TIME, CPU,
    name_column(options) }
end

-- --- what is selected -------------------------------------------------------------------------

local function list_of(text)
  local set, n = {}, 0
  for word in (text or ""):gmatch("[^,%s]+") do
    set[word], n = true, n + 1
  end
  return n > 0 and set or nil
end

local function kinds(options)
  local base = options.threads and "thread" or "process"
  return base, options.microstates and { base, base .. "_status", base .. "_sched", base .. "_delay" } or { base }
end

local function select(options)
  local base, classes = kinds(options)
  local list = { system, options.users and memory or nil }
  for _, class in ipairs(classes) do
    if options.pid_set and not options.threads then
      for pid in pairs(options.pid_set) do
        list[#list + 1] = { module = base, class = class, instance = pid }
      end
    else
      list[#list + 1] = { module = base, class = class }
    end
  end
  return list
end

local patterns -- of the operands
local by_class = {}

local function processes_of(d, class)
  by_class[class] = by_class[class] or assert(kstat.selector({ class = class }))
  return d:each(by_class[class])
end

-- --- rows -----------------------------------------------------------------------------------

-- What sorting and choosing need of a process.
local function new_row(k, options)
  local users = options.user_set
  local now = k:now() -- a capture does not say that these are no counters
  local uid = (users or options.users) and now:get("euid")
  if users and not (users[user_name(uid) or ""] or users[("%.0f"):format(uid or -1)]) then
    return nil
  end
  local used = (k:get("utime") or 0) + (k:get("stime") or 0)
  local row = { k = k, uid = uid, pid = k.instance, used = used / 1e9, elapsed = k.elapsed, nlwp = 1 }
  if not options.threads then
    row.nlwp = now:get("nlwp") or 1
  else
    row.tid, row.pid = k.instance, now:get("pid")
  end
  if options.by ~= "cpu" or options.users then
    row.time = ((now:get("utime") or 0) + (now:get("stime") or 0)) / 1e9
    row.size, row.rss, row.pri = now:get("size"), now:get("rssize"), now:get("pri")
  end
  return row
end

-- names: gets those of all processes, as keys; nil: they are not needed.
local function collect(d, options, ncpus, names)
  local base = kinds(options)
  local list, lwps = {}, 0
  for k in processes_of(d, base) do
    local row = (#patterns == 0 or tool.matches(patterns, k.name)) and new_row(k, options)
    if names then
      names[k.name] = true
    end
    if row and (not options.pid_set or options.pid_set[("%d"):format(row.pid)]) then
      row.cpu = row.elapsed > 0 and 100 * row.used / row.elapsed / ncpus or 0
      lwps = lwps + row.nlwp
      list[#list + 1] = row
    end
  end
  return list, lwps
end

-- The kstats of further kinds, by the numbers of their processes. They are read for all processes, shown or not: the
-- next report needs them in this sample.
local function further_kinds(d, options)
  local found = {}
  local base, classes = kinds(options)
  for i = 2, #classes do
    local of = {}
    for k in processes_of(d, classes[i]) do
      of[k.instance] = k
    end
    found[classes[i]:sub(#base + 2)] = of
  end
  return found
end

local function figure(further, row, kind, statistic)
  local k = further[kind][row.k.instance]
  return k and k:get(statistic)
end

-- Shares of the time of the process's threads.
local function add_microstates(row, further)
  local all = row.elapsed * (row.tid and 1 or row.nlwp)
  local function percent(nsec)
    return nsec and all > 0 and math.min(100 * nsec / 1e9 / all, 100) or nil
  end
  row.USR, row.SYS = percent(row.k:get("utime")), percent(row.k:get("stime"))
  row.LAT = percent(figure(further, row, "sched", "wait_nsec"))
  local swapin = figure(further, row, "delay", "swapin_nsec")
  local thrashing = figure(further, row, "delay", "thrashing_nsec")
  row.DFL = percent(swapin and swapin + (thrashing or 0))
  if row.USR and row.SYS and row.LAT then
    row.SLP = math.max(100 - row.USR - row.SYS - row.LAT - (row.DFL or 0), 0)
  end
  row.VCX, row.ICX = figure(further, row, "status", "vctx"), figure(further, row, "status", "ictx")
end

-- The cells of a row that is shown.
local function complete(row, options, further)
  local now = row.k:now()
  row.user = user_name(now:get("euid"))
  row.process = ("%s/%d"):format(row.k.name, row.tid or row.nlwp)
  if options.microstates then
    return add_microstates(row, further)
  end
  row.size, row.rss, row.pri, row.nice = now:get("size"), now:get("rssize"), now:get("pri"), now:get("nice")
  row.time = ((now:get("utime") or 0) + (now:get("stime") or 0)) / 1e9
  row.state = STATES[now:get("state")] or now:get("state")
end

local function by_user(list, physical)
  local users, rows = {}, {}
  for _, row in ipairs(list) do
    local name = user_name(row.uid) or "-"
    local user = users[name]
    if not user then
      user = { user = name, nproc = 0, size = 0, rss = 0, time = 0, cpu = 0, pri = 0, pid = 0 }
      users[name], rows[#rows + 1] = user, user
    end
    user.nproc = user.nproc + 1
    for _, field in ipairs({ "size", "rss", "time", "cpu" }) do
      user[field] = user[field] + (row[field] or 0)
    end
    user.memory = physical and 100 * user.rss / physical or nil
  end
  return rows
end

local function in_order(list, options)
  local key, up = options.by, options.is_reverse
  table.sort(list, function(a, b)
    local x, y = a[key] or 0, b[key] or 0
    if x ~= y then
      return up and x < y or not up and x > y
    end
    return (a.tid or a.pid or 0) < (b.tid or b.pid or 0)
  end)
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

local function physical_memory(d)
  local k = d:lookup("unix", 0, "meminfo")
  return k and k:now():get("MemTotal")
end

local function rows(d, _, prev, options)
  local misc = d:lookup("unix", 0, "system_misc")
  misc = misc and misc:now()
  local names = not prev and {} or nil
  local list, lwps = collect(d, options, misc and misc:get("ncpus") or 1, names)
  local n = #list
  if names then
    tool.missing(unknown.patterns("there is no process", options.operands, patterns, names), #patterns)
  end
  local further = further_kinds(d, options)
  if options.users then
    list = by_user(list, physical_memory(d))
  end
  in_order(list, options)
  for i = #list, (options.lines or #list) + 1, -1 do
    list[i] = nil
  end
  for _, row in ipairs(list) do
    if not options.users then
      complete(row, options, further)
    end
  end
  if not options.is_sorted then
    list[#list + 1] = { text = total(n, lwps, misc, options) }
  end
  return list
end

local function check(options)
  local message
  patterns, message = tool.patterns(options.operands)
  options.is_reverse = options.reverse ~= nil
  options.by = options.by or options.reverse or "cpu"
  options.pid_set, options.user_set = list_of(options.pids), list_of(options.owners)
  for pid in pairs(options.pid_set or {}) do
    if not pid:find("^%d+$") then
      return ("-p: '%s' is not the number of a process"):format(pid)
    end
  end
  if not KEYS[options.by] then
    return ("there is no key '%s' to sort by, but: cpu, pid, pri, rss, size, time"):format(options.by)
  elseif options.users and (options.threads or options.microstates) then
    return "-t cannot be used together with -L or -m"
  elseif message then
    return message
  end
  if not (options.lines or options.json or options.csv or options.openmetrics) then
    options.lines = DEFAULT_LINES
  end
  options.is_sorted = options.sort ~= nil or options.top ~= nil -- by the report, which would sort a last line too
  if options.is_sorted then
    options.top, options.lines = options.top or options.lines, nil
  end
  options.interval = options.interval or not options.openmetrics and DEFAULT_INTERVAL or nil
  return nil
end

return kstat.report({
  name = "prstat", about = "Processes and threads, those that use most CPU first.",
  note = "CPU and MEMORY are shares of the whole machine. -m: TRP, TFL, LCK, SCL and SIG are not counted by Linux, " ..
    "and\nDFL needs sysctl kernel.task_delayacct=1 and root: these are \"-\"; SLP is all time that is nothing else.",
  optional = true, operands = "name",
  options = OPTIONS, select = select, columns = columns, rows = rows, check = check,
})
