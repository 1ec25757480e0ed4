--- Who is to blame for what kstatlua use warns of: processes, control groups. Each function returns a function that
-- gives the names when they are wanted, because most machines are well; nil: nobody is known.
-- @module kstat.use.culprits
local core = require("kstat.core")
local ended = require("kstat.figures.ended")
local figures = require("kstat.use.figures")
local reader = require("kstat.use.reader")
local selector = require("kstat.read.selector")
local text_of = require("kstat.base.text")

local culprits = {}

--- What the culprits are found in. Processes are in a chain only for those who ask.
-- @table select
culprits.select = { { class = "process" }, { class = "process_io" } }

--- The same of control groups: what those are judged by that have a limit.
-- @table select_groups
culprits.select_groups = { class = "cgroup", reads = "cpu_nsec,cpu_nsec_max,cpu_nsec_period,cpu_periods," ..
  "cpu_throttled,io_nsec_stalled,memory,memory_max,memory_max_events,memory_nsec_stalled,memory_nsec_waiting," ..
  "nread,nwritten,oom_kills,pids,pids_max,pids_max_events" }

local PROCESSES, IO = { selector.compile(culprits.select[1]) }, { selector.compile(culprits.select[2]) }

--- Reads them, so that the next difference has them: what is asked for at a warning only would be missing there.
-- @tparam sample now which grows, see kstat.sample
-- @tparam[opt=false] boolean only_io that of processes alone, who reads these otherwise
function culprits.read(now, only_io)
  if not only_io then
    assert(core.sample_add(now, PROCESSES))
  end
  assert(core.sample_add(now, IO))
end

local MOST = 3 -- names
local LEAST = 0.2 -- of the first one's figure
local SHARE = 0.1 -- of what is used: who has less is no culprit

-- A number of bytes, as people read it.
local function bytes(n)
  return text_of.number(n) .. "B"
end

-- A name that whoever chose it can make look like others with their figures is quoted.
local function quoted(name)
  return name:find("[%s%[%](),%%\"'\128-\255]") and '"' .. name:gsub('[\\"]', "\\%0") .. '"' or name
end

--- Names a process.
-- @tparam kstat|table k of class process, or a table with its `name` and `instance`
-- @treturn string such as "nginx[1234]"
function culprits.name(k)
  return ("%s[%d]"):format(quoted((k.name:gsub(",%l+$", ""))), k.instance)
end

-- The names of those kstats that have most of a figure, with the figure if there is a format; nil: none has any.
-- whole: how much is used, by those that are not seen, too; who has less than a tenth is not named. false: all are
local function top(list, figure, name, format, whole)
  local found, sum = {}, 0
  for i = 1, #list do
    local n = figure(list[i])
    if n and n > 0 then
      found[#found + 1], sum = { k = list[i], n = n, i = i }, sum + n
    end
  end
  table.sort(found, function(a, b) return a.n > b.n or a.n == b.n and a.i < b.i end)
  local names = {}
  for i = 1, math.min(#found, MOST) do
    if found[i].n >= math.max(LEAST * found[1].n, whole == false and 0 or SHARE * math.max(sum, whole or 0)) then
      names[i] = name(found[i].k) .. (format and " " .. format(found[i].n) or "")
    end
  end
  return names[1] and table.concat(names, ", ") or nil
end

local function add(sum, n)
  return type(n) == "number" and (sum or 0) + math.max(n, 0) or sum
end

-- What a process counted per second, of up to three fields; nil: nothing is known. Most processes slept and have none.
local function per_second(p, a, b, c)
  if not (a or b or c) then
    return nil
  end
  local sum = add(add(add(nil, a), b), c)
  return sum and p.elapsed > 0 and sum / p.elapsed or nil
end

local function number(value)
  return type(value) == "number" and value or nil
end

-- Tables of all processes with what they counted (changes), and with what they have now (values).
local function all_processes(d, changes, values)
  return assert(core.figures(d, PROCESSES, values or {}, changes))
end

--- Why nobody is to blame of those that are seen.
-- @tparam difference d
-- @treturn string
function culprits.nobody(d)
  local list = all_processes(d, {})
  local unseen = reader.unseen(d, list)
  return reader.is_contained(d) and "nobody in this container" or "nobody can be named: " ..
    (not list[1] and "processes were not looked at" or unseen and ("%d processes are not seen"):format(unseen) or
    "no process has a tenth of it")
end

--- Those that use most CPU time, in percent of one CPU, with their children that ended.
-- @tparam difference d
-- @tparam sample|nil prev the earlier sample
-- @treturn function
function culprits.cpu(d, prev)
  return function()
    local list = ended.processes(d)
    local children = ended.cpu(d, prev, list)
    local busy = figures.sum_of(figures.select(d, "cpu::sys"), "cpu_nsec_user", "cpu_nsec_kernel")
    local cpus = busy and d.elapsed > 0 and busy / d.elapsed / 1e7 or nil -- percent of one
    return top(list, function(p)
      local time = per_second(p, p.utime, p.stime, children[p.instance])
      return time and time >= 1e7 and time / 1e7
    end, culprits.name, function(n) return ("%.0f%%"):format(n) end, cpus)
  end
end

--- Those that hold most memory.
-- @tparam difference d
-- @treturn function
function culprits.memory(d)
  return function()
    local info = d:lookup("unix", 0, "meminfo")
    local total, left = figures.now(info, "MemTotal"), figures.now(info, "MemAvailable")
    return top(all_processes(d, {}, { rssize = "rssize" }), function(p) return number(p.rssize) end, culprits.name,
      bytes, total and left and total - left)
  end
end

--- Who makes the machine swap, or others wait for memory: the control groups that met their limit of it, or else the
-- processes that read most pages from disks because they were not in memory.
-- @tparam difference d
-- @bool[opt=false] or_most or else those that hold most memory; they are no reason to swap
-- @treturn function
function culprits.swapping(d, or_most)
  return function()
    return culprits.groups(d, function(k) return figures.per_second(k, "memory_max_events") end,
      function(n) return ("%.0f times/s at its limit"):format(n) end)() or
      top(all_processes(d, { majf = "majf" }), function(p) return per_second(p, p.majf) end, culprits.name,
        function(n) return ("%.0f faults/s"):format(n) end,
        figures.per_second(d:lookup("unix", 0, "vm_events"), "pgmajfault")) or or_most and culprits.memory(d)() or nil
  end
end

--- The programs that have most threads, all their processes together.
-- @tparam difference d
-- @treturn function
function culprits.threads(d)
  return function()
    local first, sums = {}, {}
    for _, p in ipairs(all_processes(d, {}, { nlwp = "nlwp" })) do
      first[#first + 1] = not sums[p.name] and p or nil
      sums[p.name] = (sums[p.name] or 0) + (number(p.nlwp) or 0)
    end
    return top(first, function(p) return sums[p.name] end, function(p) return quoted(p.name) end,
      function(n) return ("%d threads"):format(n) end, false)
  end
end

--- Those that read and write most on disks: processes, and children of processes that ended; or else control groups.
-- @tparam difference d
-- @tparam sample|nil prev the earlier sample; nil: children that ended are not known
-- @number[opt=0] least bytes: who moved fewer is not named, because not all were looked at in the earlier sample
-- @tparam[opt] kstat disk the one that is used
-- @treturn function
function culprits.io(d, prev, least, disk)
  local function rate(n) return bytes(n) .. "/s" end
  local function moving()
    local read, written = ended.io(d, prev)
    local list = assert(core.figures(d, IO, {}, { nread = "nread", nwritten = "nwritten" }))
    for i = 1, #list do
      local p = list[i]
      list[#list + 1] = (read[p.instance] or written[p.instance]) and { of = p, elapsed = p.elapsed,
        nread = read[p.instance], nwritten = written[p.instance] } or nil
    end
    return top(list, function(p)
      local n = per_second(p, p.nread, p.nwritten)
      return n and n * p.elapsed >= (least or 0) and n
    end, function(p)
      return p.of and "ended children of " .. culprits.name(p.of) or culprits.name(p)
    end, rate, figures.per_second(disk, "nread", "nwritten"))
  end
  return function()
    local all = figures.per_second(disk, "nread", "nwritten") or 0
    return moving() or culprits.groups(d, function(k)
      local n = figures.per_second(k, "nread", "nwritten")
      return n and n >= SHARE * all and n
    end, rate)()
  end
end

--- The control groups that have most of a figure. A group is part of those above it, whose figures are no less; the
-- first one is named in a container only, whose own it is.
-- @tparam difference d
-- @func figure function(k)
-- @func[opt] format function(n); default: no figure is shown
-- @treturn function
function culprits.groups(d, figure, format)
  return function()
    local list = {}
    for _, k in ipairs(figures.select(d, "class cgroup")) do
      list[#list + 1] = (k.name ~= "/" or reader.is_contained(d)) and k or nil
    end
    return top(list, figure, function(k) return quoted(k.name) end, format, false)
  end
end

return culprits
