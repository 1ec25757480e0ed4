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
-- @treturn table `tin`, `tout`; `us`, `sy`, `dt`, `id` in percent
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
  f.dt = sum.cpu_nsec_dtrace and (elapsed > 0 and 100 * sum.cpu_nsec_dtrace / elapsed or 0)
  return f
end

local function cell(format, value)
  return value and format:format(value) or (format:gsub("%.%d+f", "s"):format("-"))
end

--- The columns' titles: two lines each, as far as they are asked for.
-- @tparam table o options
-- @treturn string first line, of the terminals' columns; then that of the CPUs'
-- @treturn string
-- @treturn string second line
-- @treturn string
function M.titles(o)
  if o.r then
    return o.t and "tty" or nil, o.c and "cpu" or nil, o.t and "tin,tout" or nil, o.c and "us,sy,dt,id" or nil
  end
  return o.t and "   tty    " or "", o.c and "     cpu" or "", o.t and " tin tout " or "",
    o.c and " us sy dt id" or ""
end

--- The values under these titles.
-- @tparam table o options
-- @tparam table f figures
-- @treturn string the terminals' part
-- @treturn string the CPUs' part
function M.texts(o, f)
  local tty, cpu = not o.r and "" or nil, not o.r and "" or nil
  if o.r then
    tty = o.t and cell("%.0f", f.tin) .. "," .. cell("%.0f", f.tout) or nil
    cpu = o.c and table.concat({ cell("%.0f", f.us), cell("%.0f", f.sy), cell("%.0f", f.dt),
      cell("%.0f", f.id) }, ",") or nil
    return tty, cpu
  end
  if o.t then
    tty = cell(" %3.0f", f.tin) .. " " .. cell("%4.0f", f.tout) .. " "
  end
  if o.c then
    cpu = cell(" %2.0f", f.us) .. cell(" %2.0f", f.sy) .. cell(" %2.0f", f.dt) .. cell(" %2.0f", f.id)
  end
  return tty, cpu
end

return M
