--- What iostat shows of the whole system: terminals and CPUs.
-- @module kstat.iostat.system
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")

local M = {}

local HZ = 100 -- ticks a second, of every system whose kstats count ticks
local TICKS = { "cpu_ticks_idle", "cpu_ticks_user", "cpu_ticks_kernel", "cpu_ticks_wait", "cpu_ticks_stolen" }
local names, values = {}, {}

--- What a chain has to hold.
-- @treturn {selector,...}
function M.selectors()
  return { core.selector({ module = "cpu", name = "sys" }) }
end

--- The CPUs of a chain, to be found anew when it changes.
-- @param ks chain
-- @treturn {table,...}
function M.cpus(ks)
  local list = {}
  for i, k in ipairs(core.select(ks, M.selectors())) do
    list[i] = { module = k.module, instance = k.instance, name = k.name }
  end
  return list
end

-- Adds what the CPUs counted. What none of them has stays nil.
local function add_up(d, cpus)
  local sum, n, elapsed = {}, 0, 0
  for _, cpu in ipairs(cpus) do
    local k = core.lookup(d, cpu.module, cpu.instance, cpu.name)
    if k then
      n = n + 1
      elapsed = elapsed + k.elapsed_ns
      for i = 1, core.list(k, names, values) or 0 do
        local value = values[i]
        if type(value) == "number" then
          sum[names[i]] = (sum[names[i]] or 0) + value
        end
      end
    end
  end
  return sum, n, elapsed
end

--- The figures of an interval; nil is what the system does not count.
-- @param d difference
-- @tparam {table,...} cpus
-- @tparam bool counts characters in place of characters per second
-- @treturn table `tin`, `tout`; `us`, `sy`, `dt`, `id`, `st` in percent
function M.figures(d, cpus, counts)
  local sum, n, elapsed = add_up(d, cpus)
  local total = 0
  for _, name in ipairs(TICKS) do
    total = total + (sum[name] or 0)
  end
  local f = {}
  local seconds = counts and 1 or n > 0 and total / n / HZ or 0
  if seconds <= 0 then
    seconds = 1
  end
  f.tin = sum.rawch and sum.rawch / seconds
  f.tout = sum.outch and sum.outch / seconds
  local function share(ticks)
    return ticks and (total > 0 and 100 * ticks / total or 0)
  end
  f.us, f.sy, f.id = share(sum.cpu_ticks_user), share(sum.cpu_ticks_kernel), share(sum.cpu_ticks_idle)
  f.st = share(sum.cpu_ticks_stolen)
  f.dt = sum.cpu_nsec_dtrace and (elapsed > 0 and 100 * sum.cpu_nsec_dtrace / elapsed or 0)
  return f
end

return M
