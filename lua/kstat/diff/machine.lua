--- What an interval says of those who use a machine and of what they use: figures that no single statistic has, each
-- with what all of the machine would be.
--
-- Processes of one name are one, with their children that ended: what began later used nothing before.
-- @module kstat.diff.machine
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local ended = require("kstat.figures.ended")
local figures = require("kstat.use.figures")
local selector = require("kstat.read.selector")

local machine = {}

local count, now, per_second = figures.count, figures.now, figures.per_second

local PROCESS, IO = { selector.compile({ class = "process" }) }, { selector.compile({ class = "process_io" }) }

-- What a figure is called, its unit, and whether it is one per second.
local CPU_TIME, MEMORY = { "CPU", "s", true }, { "memory", "bytes", false }
local TRAFFIC, BUSY = { "I/O", "bytes", true }, { "busy", "s", true }
local REQUEST, SPACE = { "a request", "s", false }, { "space used", "%", false }
local LOST, SENT = { "dropped", "%", false }, { "traffic", "bytes", true }
local AGAIN, RESTING = { "sent again", "%", false }, { "available", "bytes", false }

local SLOW = 0.01 -- seconds: a disk whose requests take so much longer is slow

--- The name of a process, or of what does the kernel's work whichever thread does it.
-- @string name of its kstat
-- @treturn string
function machine.process_name(name)
  return (name:gsub(",%l+$", ""):gsub("^kworker/.*", "kworker"):gsub("^(%a+)/%d+$", "%1"))
end

local function number(value)
  return type(value) == "number" and math.max(value, 0) or 0
end

-- What processes counted, of two statistics together, by their names; of one that began in the interval all it has.
local function by_name(d, prev, selectors, a, b)
  local begin, sums, names = core.sample_taken(prev), {}, {}
  local list = assert(core.figures(d, selectors, { all_a = a, all_b = b, memory = "rssize" }, { a = a, b = b }))
  for _, p in ipairs(list) do
    local name = machine.process_name(p.name)
    local k = not p.elapsed and d:lookup("process", p.instance, p.name)
    local n = number(p.a) + number(p.b)
    if k and k.crtime >= begin then
      n = number(p.all_a) + number(p.all_b)
    end
    names[p.instance], sums[name] = name, (sums[name] or 0) + n
  end
  return sums, names, list
end

local function add_children(sums, names, used)
  for pid, n in pairs(used) do
    sums[names[pid] or ""] = (sums[names[pid] or ""] or 0) + n
  end
end

local function processes(d, prev, add, all)
  local sums, names, list = by_name(d, prev, PROCESS, "utime", "stime")
  local moved, movers = by_name(d, prev, IO, "nread", "nwritten")
  local read, written = ended.io(d, prev)
  add_children(sums, names, ended.cpu(d, prev))
  add_children(moved, movers, read)
  add_children(moved, movers, written)
  local memory = {}
  for _, p in ipairs(list) do
    local name = names[p.instance]
    memory[name] = (memory[name] or 0) + number(p.memory)
  end
  for name, time in pairs(sums) do
    local who = { module = "process", name = name, is_cause = true, factor = 1 }
    add(who, CPU_TIME, time / 1e9 / d.elapsed, all.cpus)
    add(who, MEMORY, memory[name], all.memory)
    add(who, TRAFFIC, moved[name] and moved[name] / d.elapsed, all.traffic)
  end
end

local function groups(d, add, all)
  for _, k in ipairs(figures.select(d, "class cgroup")) do
    if k.name ~= "/" then
      local who = { module = k.module, instance = k.instance, name = k.name, title = "group " .. k.name,
        factor = 0.9 }
      local time = per_second(k, "cpu_nsec")
      add(who, CPU_TIME, time and time / 1e9, all.cpus)
      add(who, MEMORY, now(k, "memory"), all.memory)
      add(who, TRAFFIC, per_second(k, "nread", "nwritten"), all.traffic)
    end
  end
end

-- The disks; and what they moved, and could move if they went on so all the time.
local function disks(d, add)
  local moved, busiest = 0, 0
  for _, k in ipairs(figures.select(d, "class disk")) do
    local busy, bytes, requests = k:rate("rtime"), per_second(k, "nread", "nwritten"), count(k, "reads", "writes")
    local waited = k.type == "io" and count(k, "wlentime", "rlentime")
    if busy and bytes and requests then
      local who = { module = k.module, instance = k.instance, name = k.name, title = "disk " .. k.name }
      busy = math.min(busy, 1)
      moved, busiest = moved + bytes, math.max(busiest, busy)
      add(who, BUSY, busy, 1)
      add(who, TRAFFIC, bytes, busy > 0 and bytes / busy or nil)
      add(who, REQUEST, waited and requests >= 5 and waited / requests or nil, SLOW, busy)
    end
  end
  return busiest > 0 and math.max(moved / busiest, 1e7) or nil
end

local function links(d, add)
  for _, k in ipairs(figures.select(d, "class net")) do
    local speed = now(k, "ifspeed")
    local who = { module = k.module, instance = k.instance, name = k.name, title = "link " .. k.name }
    local dropped, packets = count(k, "norcvbuf", "noxmtbuf"), count(k, "ipackets64", "opackets64")
    add(who, SENT, per_second(k, "rbytes64", "obytes64"), speed and speed > 0 and speed / 8 or 1.25e8)
    add(who, LOST, figures.percent(dropped, packets and dropped and packets + dropped), 20)
  end
  local tcp = d:lookup("tcp", 0, "tcp")
  local again = count(tcp, "retransSegs")
  add({ module = "tcp", instance = 0, name = "tcp", title = "TCP" }, AGAIN,
    figures.percent(again, count(tcp, "retransSegs", "outSegs")), 20)
end

local function file_systems(d, add)
  for _, k in ipairs(figures.select(d, "class fs")) do
    local used, available = now(k, "used"), now(k, "available")
    local share = now(k, "read_only") ~= 1 and figures.percent(used, used and available and used + available)
    add({ module = k.module, instance = k.instance, name = k.name,
      title = "fs " .. (now(k, "mount_point", "string") or k.name) }, SPACE, share or nil, 100)
  end
end

local function cpus(d, add)
  local idle, list = 0, figures.select(d, "cpu::sys")
  for _, k in ipairs(list) do
    idle = idle + (per_second(k, "cpu_nsec_idle", "cpu_nsec_wait") or 0) / 1e9
  end
  if #list > 0 then
    add({ module = "cpu", instance = 0, name = "sys", title = "CPUs" }, BUSY,
      math.max(0, 1 - idle / #list), 1)
  end
  return math.max(#list, 1)
end

--- What machine.figures() needs to be in a sample.
machine.select = {}
for i, fields in ipairs({ { class = "process" }, { class = "process_io" }, { class = "cgroup" }, { class = "disk" },
  { class = "net" }, { class = "fs" }, { module = "cpu", name = "sys" }, { module = "tcp", name = "tcp" },
  { module = "unix", name = "meminfo" } }) do
  machine.select[i] = selector.compile(fields)
end

--- When processes began.
-- @tparam sample sample with machine.select
-- @number time_of_day of it, seconds since 1970
-- @treturn {[string]=table} by their names: `n` of them, the PID of one, and `first`, when the first one of them began
function machine.lives(sample, time_of_day)
  local lives = {}
  for _, p in ipairs(assert(core.figures(sample, PROCESS, {}))) do
    local k, name = sample:lookup("process", p.instance, p.name), machine.process_name(p.name)
    local life = lives[name] or { n = 0, pid = p.instance, first = math.huge }
    local age = k and core.sample_taken(sample) - k.crtime or math.huge -- who is no process of the machine has no age
    life.n, life.first = life.n + 1, math.min(life.first, time_of_day - age)
    lives[name] = life
  end
  return lives
end

--- What there is to say of an interval.
-- @tparam difference d
-- @tparam sample prev its earlier sample
-- @func add function(row, value) is called with each figure; `row` has the fields of a row of statistics (see
-- kstat.diff.blocks), and `title`; `is_cause`: it is somebody who uses something; `all` (?number): the value that
-- all of the machine would be; `busy` (?number): the share of the time in which the figure mattered; `factor`
-- (?number): how much more it matters than what is used
function machine.figures(d, prev, add)
  local function note(who, what, value, all, busy)
    if value and value == value then
      add({ name = ("%s:%s:%s:%s"):format(who.module, who.instance or "*", who.name, what[1]), module = who.module,
        instance = who.instance, kstat_name = who.name, title = who.title, statistic = what[1],
        unit = what[2], counter = what[3], is_cause = who.is_cause, factor = who.factor, all = all, busy = busy,
        is_derived = true }, value)
    end
  end
  local info = d:lookup("unix", 0, "meminfo")
  local all = { memory = now(info, "MemTotal"), cpus = cpus(d, note), traffic = disks(d, note) }
  note({ module = "unix", instance = 0, name = "meminfo", title = "memory" }, RESTING, now(info, "MemAvailable"),
    all.memory)
  links(d, note)
  file_systems(d, note)
  groups(d, note, all)
  if d.elapsed and d.elapsed > 0 then
    processes(d, prev, note, all)
  end
end

return machine
