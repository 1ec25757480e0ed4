--- Control groups that have a limit, as kstatlua use measures them.
--
-- @module kstat.use.cgroup
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
  { "cgroup", "saturation", "memory pressure", unit = "%", critical = 10, file = "memory.pressure: some",
    reason = "Share of the time in which some thread of the group waited for memory." },
  { "cgroup", "saturation", "memory stalled", unit = "%", critical = 5, file = "memory.pressure: full",
    reason = "Share of the time in which all work of the group waited for memory." },
  { "cgroup", "saturation", "at limit", unit = "", critical = 1, quiet = true,
    file = "memory.events: max, or memory.failcnt",
    reason = "Times that memory met its limit, of a group that uses 90 % of it. Below, only caches are dropped." },
  { "cgroup", "saturation", "throttled", unit = "%", warning = 10, critical = 50,
    file = "cpu.stat: nr_throttled, nr_periods",
    reason = "Share of the periods in which the group was stopped. Bursts of threads are stopped now and then." },
  { "cgroup", "saturation", "pids refused", unit = "", critical = 1, quiet = true, file = "pids.events: max",
    reason = "Times that a process or thread could not be created." },
  { "cgroup", "errors", "oom kills", unit = "", critical = 1, file = "memory.events: oom_kill",
    reason = "A process was killed for want of memory in the group." },
}

local function group(d, add, k)
  local memory_max, pids_max, quota = now(k, "memory_max"), now(k, "pids_max"), now(k, "cpu_nsec_max")
  if not (memory_max or pids_max or quota) then
    return
  end
  local used, idle = now(k, "memory"), now(d:lookup("cgroup_memory", k.instance, k.name), "inactive_file")
  local allowed = percent(quota, now(k, "cpu_nsec_period")) -- percent of one CPU
  local at = percent(used and math.max(used - (idle or 0), 0), memory_max)
  local cpu_used = figures.per_second(k, "cpu_nsec")
  local hits = count(k, "memory_max_events")
  add("cgroup", k.name, {
    memory = at, cpu = percent(cpu_used and cpu_used / 1e7, allowed), pids = percent(now(k, "pids"), pids_max),
    ["memory pressure"] = memory_max and share(k, "memory_nsec_waiting"),
    ["memory stalled"] = memory_max and share(k, "memory_nsec_stalled"),
    ["at limit"] = hits and at and (at >= 90 and hits or 0),
    throttled = quota and (percent(count(k, "cpu_throttled"), count(k, "cpu_periods")) or 0),
    ["pids refused"] = pids_max and count(k, "pids_max_events"), ["oom kills"] = count(k, "oom_kills"),
  })
end

local function measure(d, add, is_new)
  for _, k in ipairs(d:select({ class = "cgroup" })) do
    if not is_new(k) then
      group(d, add, k)
    end
  end
end

return { limits = limits, measure = measure, select = { { class = "cgroup" }, { class = "cgroup_memory" } } }
