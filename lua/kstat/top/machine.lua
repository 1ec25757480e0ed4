--- The first line of a screen: which machine, when, and how large and busy it is.
-- @module kstat.top.machine
local core = require("kstat.core")
local environment = require("kstat.base.environment")
local text = require("kstat.base.text")

local machine = {}

--- The kstats that the line needs.
-- @table select
machine.select = { { module = "unix", instance = 0, name = "system_misc", class = "misc" },
  { module = "unix", instance = 0, name = "meminfo", class = "vm" } }

--- The name of this machine.
-- @treturn string
function machine.host()
  local name = environment.contents("/proc/sys/kernel/hostname")
  return name and name:match("[^\n]+") or environment.variable("HOSTNAME") or "?"
end

local function plural(n, word, words)
  return ("%d %s"):format(n, n == 1 and word or words)
end

-- What is known of the machine by a sample, or nil: texts, the most important first.
local function parts_of(x)
  local list = {}
  local misc, info = x and x:lookup("unix", 0, "system_misc"), x and x:lookup("unix", 0, "meminfo")
  local cpus, processes = misc and misc:get("ncpus"), misc and misc:get("nproc")
  local memory = info and info:get("MemTotal") and text.bytes(info:get("MemTotal"))
  list[1] = cpus and plural(cpus, "cpu", "cpus") .. (memory and " " .. memory or "") or memory
  list[#list + 1] = processes and plural(processes, "process", "processes")
  local loads = {}
  for i, minutes in ipairs({ "1", "5", "15" }) do
    local load = misc and misc:get("avenrun_" .. minutes .. "min")
    loads[i] = load and ("%.2f"):format(load / 256) or nil
  end
  list[#list + 1] = loads[1] and "load " .. table.concat(loads, " ") or nil
  return list
end

--- The line.
-- @tparam table state `host`, `time` (seconds since 1970), `mode` (a word such as LIVE), `dated` (boolean), `machine`
-- (a sample)
-- @int width columns
-- @treturn string
function machine.line(state, width)
  local time = os.date(state.dated and "%Y-%m-%d %H:%M:%S" or "%H:%M:%S", state.time)
  local line = (" %s  %s %s"):format(state.host, time, state.mode)
  if core.columns_of(line) > width then
    line = time .. " " .. state.mode -- whose machine it is, who sits before so small a window knows
  end
  for _, part in ipairs(parts_of(state.machine)) do
    local longer = line .. "   " .. part
    if #longer > width then
      break
    end
    line = longer
  end
  return (text.cut(line, width))
end

return machine
