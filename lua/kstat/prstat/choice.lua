--- Which processes prstat shows: its options, checked.
-- @module kstat.prstat.choice
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local output = require("kstat.command.output")
local operand = require("kstat.command.operand")
local past = require("kstat.base.past")
local running = require("kstat.base.running")

local choice = {}

choice.options = {
  { "a", "all", help = "processes, and below them a line for each user" },
  { "A", "args", help = "the command line in place of the name" },
  { "c", "continue", help = "reports one below the other (that is always so)" },
  { "d", "io", help = "bytes read from and written to devices, and the time that I/O took; -d u, -d d: -T" },
  { "L", "threads", help = "a line for each thread" },
  { "m", "microstates", help = "where the time of the threads went" },
  { "n", "lines", arg = "N[,M]", help = "at most N lines, M of users or groups; 15,5 in tables unless -n says so" },
  { "p", "pids", arg = "LIST", help = "only these processes: numbers with commas" },
  { "P", "cpus", arg = "LIST", help = "only what one of these CPUs ran last: 0,4-7" },
  { "R", "realtime", help = "runs in the real-time class, before all that are not (needs root)" },
  { "s", "by", arg = "KEY", help = "the largest first: cpu (default), time, size, rss, pri, pid, io" },
  { "S", "reverse", arg = "KEY", help = "the same, the smallest first" },
  { "t", "users", help = "a line for each user, with all processes" },
  { "u", "owners", arg = "LIST", help = "only those of these users, by their effective names or numbers" },
  { "U", "real", arg = "LIST", help = "only those of these users, by their real names or numbers" },
  { "v", "verbose", help = "like -m, with less to read: no LAT and DFL" },
  { "W", "truncate", help = "names no wider than their columns" },
  { "Z", "groups", help = "processes, and below them a line for each control group" },
}

-- Options of prstat(8) that Linux has no use for: the name, and why.
local REFUSED = {
  { "C", "sets", arg = "LIST", why = "Linux has no processor sets: -P chooses CPUs, -Z shows control groups" },
  { "H", "home", why = "Linux has no home node of a thread: numastat -p PID shows where its memory is" },
  { "J", "projects", why = "Linux has no projects: -Z shows control groups" },
  { "k", "tasks", arg = "LIST", why = "Linux has no tasks of projects: -Z shows control groups" },
}
for _, o in ipairs(REFUSED) do
  choice.options[#choice.options + 1] = { o[1], o[2], arg = o.arg, help = "not on Linux" }
end

local KEYS = { cpu = true, time = true, size = true, rss = true, pri = true, pid = true, io = true }
local DEFAULT_LINES, DEFAULT_SUMS, DEFAULT_INTERVAL = 15, 5, 5

-- What cannot be used together: each with those behind it.
local RIVALS = { users = { "threads", "microstates", "verbose", "args", "all", "groups" }, all = { "groups" },
  microstates = { "io", "verbose" }, verbose = { "io" }, args = { "threads" },
  threads = { "all", "groups" } }

local function letter_of(name)
  for _, o in ipairs(choice.options) do
    if o[2] == name then
      return "-" .. o[1]
    end
  end
end

-- What is wrong with options that are each in order.
local function conflict(options)
  for _, o in ipairs(REFUSED) do
    if options[o[2]] then
      return ("-%s: %s"):format(o[1], o.why)
    end
  end
  for name, rivals in pairs(RIVALS) do
    for _, rival in ipairs(options[name] and rivals or {}) do
      if options[rival] then
        return ("%s cannot be used together with %s"):format(letter_of(name), letter_of(rival))
      end
    end
  end
  if (options.all or options.groups) and (options.sort or options.top) then
    return ("--sort and --top do not go with %s: -s and -n do"):format(options.all and "-a" or "-Z")
  end
end

local function words_of(text)
  local words = {}
  for word in (text or ""):gmatch("[^,%s]+") do
    words[#words + 1] = word
  end
  return words
end

local function set_of(words)
  local set = {}
  for _, word in ipairs(words) do
    set[word] = true
  end
  return words[1] and set
end

-- The numbers of users; ends the command if there is no user of a name.
local function users_of(text)
  local set = {}
  for _, word in ipairs(words_of(text)) do
    local uid = core.user_number(word)
    if not uid then
      running.stop(1, ("there is no user '%s'"):format(word))
    end
    set[uid] = true
  end
  return next(set) and set
end

-- Reads -n: lines of processes, and of sums. False if it is wrong.
local function read_lines(options)
  if options.lines then
    local n, comma, m = options.lines:match("^(%d+)(,?)(%d*)$")
    options.lines, options.sum_lines = tonumber(n), tonumber(m) or options.users and tonumber(n) or DEFAULT_SUMS
    return n and options.lines > 0 and options.sum_lines > 0 and (comma == "") == (m == "")
  end
  local form = output.format(options)
  options.lines, options.sum_lines = not form and DEFAULT_LINES or nil,
    not form and (options.users and DEFAULT_LINES or DEFAULT_SUMS) or nil
  return true
end

--- Takes -d u and -d d, which are the time before each report on illumos, for -T.
-- @tparam table options
function choice.take_time(options)
  local how = options.operands[1]
  if options.io and (how == "u" or how == "d") then
    options.io, options.timestamp = nil, table.remove(options.operands, 1)
  end
end

--- Checks the options, and adds what they mean: sets of PIDs, CPUs and users, the key to sort by, and lines.
-- @tparam table options
-- @treturn string|nil what is wrong
function choice.check(options)
  local message = conflict(options)
  if message then
    return message
  end
  for _, name in ipairs({ "pids", "cpus", "owners", "real" }) do
    if options[name] and not words_of(options[name])[1] then
      return ("%s: '%s' is an empty list"):format(letter_of(name), options[name])
    end
  end
  local pids = words_of(options.pids)
  for _, pid in ipairs(pids) do
    if not pid:find("^%d+$") then
      return ("-p: '%s' is not the number of a process"):format(pid)
    end
  end
  options.pid_set = set_of(pids)
  options.cpu_set, message = operand.cpus(options.cpus)
  if message then
    return "-P: " .. message
  end
  options.is_reverse = options.reverse ~= nil
  options.by = options.by or options.reverse or options.io and "io" or "cpu"
  if not KEYS[options.by] then
    return ("there is no key '%s' to sort by, but: cpu, io, pid, pri, rss, size, time"):format(options.by)
  elseif not read_lines(options) then
    return "-n takes a whole number above 0, or two with a comma"
  end
  if options.realtime then
    local ok, problem = core.realtime()
    if not ok then
      running.stop(3, "-R: " .. problem)
    end
  end
  options.user_set, options.real_set = users_of(options.owners), users_of(options.real)
  options.is_sorted = options.sort ~= nil or options.top ~= nil -- by the report, which would sort a last line too
  if options.is_sorted then
    options.top, options.lines = options.top or options.lines, nil
  end
  options.by_sample = not options.interval
  options.interval = options.interval or not (options.openmetrics or past.at(options)) and DEFAULT_INTERVAL or nil
  return nil
end

return choice
