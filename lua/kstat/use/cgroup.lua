--- Control groups that have a limit, as kstatlua use measures them.
-- @module kstat.use.cgroup
local core = require("kstat.core")
local culprits = require("kstat.use.culprits")
local figures = require("kstat.use.figures")

local count, now, percent, share = figures.count, figures.now, figures.percent, figures.share

local limits = {
  { "cgroup", "utilization", "memory", unit = "%", warning = 90,
    file = "memory.current less inactive_file of memory.stat, memory.max",
    reason = "Of the group's limit; files that were not used lately do not count. With the rest used, it reclaims." },
  { "cgroup", "utilization", "cpu", unit = "%", warning = 90, file = "cpu.stat, cpu.max",
    reason = "CPU time used, of the time that the group's limit allows." },
  { "cgroup", "utilization", "pids", unit = "%", warning = 90, file = "pids.current, pids.max",
    reason = "Of the group's limit of processes and threads." },
  { "cgroup", "utilization", "io", unit = "%", warning = 90, file = "io.stat, io.max; or blkio.throttle.*",
    reason = "Of the group's limit of bytes or requests of a disk, of the one that is reached first." },
  { "cgroup", "saturation", "memory pressure", unit = "%", warning = 20, critical = 40, file = "memory.pressure: some",
    reason = "Share of the time in which some thread of the group waited for memory. A copy of many files through a " ..
      "small group reaches 15 %." },
  { "cgroup", "saturation", "memory stalled", unit = "%", warning = 10, critical = 20, file = "memory.pressure: full",
    reason = "Share of the time in which all work of the group waited for memory." },
  { "cgroup", "saturation", "at limit", unit = "", critical = 1, quiet = true,
    file = "memory.events: max, or memory.failcnt",
    reason = "Times that memory met its limit, of a group that uses 90 % of it, or while some thread of the machine " ..
      "waits for memory for 40 % of the time. Otherwise only caches are dropped." },
  { "cgroup", "saturation", "read again", unit = "pages/s", warning = 100, critical = 1000, quiet = true,
    file = "memory.stat: workingset_activate_*",
    reason = "Pages that were missed soon after they had to go, of a group that met its limit of memory: what it " ..
      "works with does not fit in." },
  { "cgroup", "saturation", "io at limit", unit = "%", critical = 95, quiet = true, file = "the same as io",
    reason = "A group that has used up its limit of a disk waits, however idle the disk is." },
  { "cgroup", "saturation", "io stalled", unit = "%", critical = 20, quiet = true, file = "io.pressure: full",
    reason = "Share of the time in which all work of a group with such a limit waited for I/O." },
  { "cgroup", "saturation", "throttled", unit = "%", warning = 10, critical = 50,
    file = "cpu.stat: nr_throttled, nr_periods",
    reason = "Share of the periods in which the group was stopped. Bursts of threads are stopped now and then." },
  { "cgroup", "saturation", "pids refused", unit = "", critical = 1, quiet = true, file = "pids.events: max",
    reason = "Times that a process or thread could not be created." },
  { "cgroup", "errors", "oom kills", unit = "", critical = 1, file = "memory.events: oom_kill",
    reason = "A process was killed for want of memory in the group." },
}

-- How much of its limits of disks a group uses, in percent, and which limit that is; nil: it has none.
local function of_io_limits(d, k)
  local io, most, which = d:lookup("cgroup_io", k.instance, k.name), nil, nil
  if not io then
    return nil
  end
  local names = {} -- without a selector: who makes a group chooses its name, which may be no glob
  for i = 1, core.list(io:now(), names, {}) or 0 do
    local what = names[i]:match("^(.*)_max$")
    local used = what and percent(figures.per_second(io, what), now(io, names[i]))
    if used and (not most or used > most) then
      most, which = math.min(used, 100), what:gsub("_", " ")
    end
  end
  return most, which
end

-- The pressure of memory on the whole machine, in percent.
local function pressure_of(d)
  return share(d:lookup("pressure", 0, "memory"), "some_nsec") or 0
end

-- What the limits are compared with, of one group, and who is to blame; nil: the group has no limit.
local function one(d, k, pressure)
  local memory_max, pids_max, quota = figures.levels(k, "memory_max", "pids_max", "cpu_nsec_max")
  local io, of_disk = of_io_limits(d, k)
  if not (memory_max or pids_max or quota or io) then
    return nil
  end
  pressure = pressure or pressure_of(d)
  local detail = d:lookup("cgroup_memory", k.instance, k.name)
  local used, idle = now(k, "memory"), now(detail, "inactive_file")
  local allowed = percent(quota, now(k, "cpu_nsec_period")) -- percent of one CPU
  local at = percent(used and math.max(used - (idle or 0), 0), memory_max)
  local cpu_used = figures.per_second(k, "cpu_nsec")
  local hits = count(k, "memory_max_events")
  local missed = figures.per_second(detail, "workingset_activate_file", "workingset_activate_anon",
    "workingset_activate")
  return {
    memory = at, cpu = percent(cpu_used and cpu_used / 1e7, allowed), pids = percent(now(k, "pids"), pids_max),
    ["memory pressure"] = memory_max and share(k, "memory_nsec_waiting"),
    ["memory stalled"] = memory_max and share(k, "memory_nsec_stalled"),
    ["at limit"] = hits and at and ((at >= 90 or pressure >= 40) and hits or 0),
    ["read again"] = missed and hits and (hits > 0 and missed or 0),
    io = io, ["io at limit"] = io, ["io stalled"] = io and share(k, "io_nsec_stalled"),
    throttled = quota and (percent(count(k, "cpu_throttled"), count(k, "cpu_periods")) or 0),
    ["pids refused"] = pids_max and count(k, "pids_max_events"), ["oom kills"] = count(k, "oom_kills"),
  }, { io = of_disk, ["io at limit"] = of_disk, ["io stalled"] = of_disk }
end

local function measure(d, add, is_new)
  local pressure = pressure_of(d)
  for _, k in ipairs(figures.select(d, "class cgroup")) do
    local values, who = nil, nil
    if not is_new(k) then
      values, who = one(d, k, pressure)
    end
    if values then
      add("cgroup", k.name, values, who, k)
    end
  end
end

return { limits = limits, measure = measure, one = one, select = { culprits.select_groups,
  { class = "cgroup_memory",
    reads = "inactive_file,workingset_activate,workingset_activate_anon,workingset_activate_file" },
  { class = "cgroup_io", reads = "nread,nwritten,reads,writes,nread_max,nwritten_max,reads_max,writes_max" },
  { module = "pressure", name = "memory", class = "pressure" } } }
