--- What several kstats counted together, how CPUs spent an interval, and rates by the time that they counted, as vmstat
-- and mpstat of illumos make them.
--
-- The rates of a difference are per second of its own time, and CPUs count their states by a clock of theirs. The two
-- agree on a machine that runs, and need not in a capture. Reports of less than a second keep their own time: there a
-- tick of 10 ms is too coarse.
-- @module kstat.figures.ticks
-- SPDX-License-Identifier: MIT
local methods = require("kstat.core").kstat_methods

local ticks = {}

local get, rate = methods.get, methods.rate
local unpack = table.unpack or unpack

-- The states in which CPUs count their time: their names, and how much of it makes a second.
ticks.TICKS = { second = 100, "cpu_ticks_user", "cpu_ticks_kernel", "cpu_ticks_idle", "cpu_ticks_wait",
  "cpu_ticks_stolen" }
ticks.NANOSECONDS = { second = 1e9, "cpu_nsec_user", "cpu_nsec_kernel", "cpu_nsec_idle", "cpu_nsec_wait",
  "cpu_nsec_stolen" }

--- Adds up two numbers.
-- @tparam number|nil a nil: there is none
-- @tparam number|nil b
-- @treturn number|nil nil if there is neither
function ticks.sum(a, b)
  return a and b and a + b or a or b
end

--- The rates of statistics, each added up over kstats.
-- @tparam {kstat,...} kstats of a difference
-- @param ... names of statistics
-- @return a rate for each, nil if no kstat has it
function ticks.rates(kstats, ...)
  if not kstats[1] then
    return nil
  elseif not kstats[2] then
    return rate(kstats[1], ...)
  end
  local sums, n = {}, select("#", ...)
  for i = 1, #kstats do
    local rates = { rate(kstats[i], ...) }
    for j = 1, n do
      sums[j] = rates[j] and (sums[j] or 0) + rates[j] or sums[j]
    end
  end
  return unpack(sums, 1, n)
end

--- How CPUs spent an interval, in percent of the time that they counted.
-- @tparam {kstat,...} kstats of a difference: those called `sys`
-- @tparam table unit ticks.TICKS or ticks.NANOSECONDS
-- @treturn number|nil in user mode; nil if it is not counted
-- @treturn number|nil in the kernel
-- @treturn number|nil idle
-- @treturn number|nil waiting for a device
-- @treturn number how many CPUs counted at any time, in the mean
-- @treturn number|nil given to other machines by a hypervisor: it is in none of the others
function ticks.shares(kstats, unit)
  local user, kernel, idle, wait, steal
  local all, cpus = 0, 0
  for i = 1, #kstats do
    local k = kstats[i]
    local u, s, d, w, stolen = get(k, unpack(unit))
    local mine, elapsed = (u or 0) + (s or 0) + (d or 0) + (w or 0) + (stolen or 0), k.elapsed
    user, kernel = u and (user or 0) + u or user, s and (kernel or 0) + s or kernel
    idle, wait, all = d and (idle or 0) + d or idle, w and (wait or 0) + w or wait, all + mine
    steal = stolen and (steal or 0) + stolen or steal
    cpus = elapsed > 0 and cpus + mine / elapsed / unit.second or cpus
  end
  if all == 0 then
    return nil, nil, nil, nil, cpus
  end
  return user and 100 * user / all, kernel and 100 * kernel / all, idle and 100 * idle / all,
    wait and 100 * wait / all, cpus, steal and 100 * steal / all
end

--- What rates of a difference are multiplied by to be per second of the time that CPUs counted.
-- @number elapsed seconds of the difference
-- @number counting how many CPUs counted at any time, see `shares`
-- @tparam int|nil cpus how many there are
-- @treturn number
function ticks.factor(elapsed, counting, cpus)
  return cpus and counting > 0 and elapsed >= 1 and cpus / counting or 1
end

return ticks
