--- How much there is of a resource at the moment: the figure that tells people most, as a short text.
-- @module kstat.use.levels
local figures = require("kstat.use.figures")
local io_figures = require("kstat.io")
local link_figures = require("kstat.figures.link")
local text = require("kstat.base.text")

local now = figures.now

local levels = {}

--- The one of many CPUs that is busy while others are not.
-- @tparam table row of kstat.use.rows
-- @treturn string|nil such as "cpu17 100%"
function levels.one(row)
  local who = row.who_of and row.who_of.busiest
  return who and ("%s %.0f%%"):format(who, row.values.busiest)
end

-- "22.4G available"; nil without a number.
local function amount(bytes, word)
  return bytes and text.bytes(bytes) .. " " .. word
end

-- The greater of two rates, with a word for each.
local function busier(x, y, format, of_x, of_y)
  if not (x or y) then
    return nil
  end
  return (x or 0) > (y or 0) and format(x) .. " " .. of_x or format(y or 0) .. " " .. of_y
end

local function used_of(used, most)
  return used and most and ("%s of %s"):format(text.bytes(used), text.bytes(most))
end

-- Those that a machine has once, of a difference.
local OF_MACHINE = {
  cpu = function(d, row)
    local running, one = now(d:lookup("unix", 0, "tables"), "threads_running"), levels.one(row)
    return running and "run queue " .. text.number(running) .. (one and "  " .. one or "")
  end,
  memory = function(d) return amount(now(d:lookup("unix", 0, "meminfo"), "MemAvailable"), "available") end,
  swap = function(d) return amount(now(d:lookup("unix", 0, "meminfo"), "SwapFree"), "free") end,
}

-- Those of which there may be several, of their kstats.
local OF_ONE = {
  disk = function(k)
    local f = k.elapsed and k.elapsed > 0 and io_figures.rates(k)
    if not f then
      return nil
    end
    if f.tps == 0 then
      return "idle"
    end
    local moved = busier(f.kr_s * 1024, f.kw_s * 1024, function(n) return text.number(n) .. "/s" end, "r", "w")
    return moved .. "  " .. text.duration(f.svc_t / 1000)
  end,
  link = function(k)
    local f = link_figures.figures(k)
    if f.state == "down" then
      return "no carrier"
    end
    return busier(f.r, f.w, function(n) return text.number(8 * n) .. "bit/s" end, "in", "out")
  end,
  fs = function(k) return amount(now(k, "available"), "free") end,
  cgroup = function(k) return used_of(now(k, "memory"), now(k, "memory_max")) end,
}

--- The level of a resource.
-- @tparam difference d
-- @tparam table row of kstat.use.rows
-- @treturn string|nil such as "run queue 15", "22.4G available", "566M/s w  0.6 ms"; nil: there is none
function levels.of(d, row)
  local of_machine, of_one = OF_MACHINE[row.resource], row.k and OF_ONE[row.resource]
  return of_machine and of_machine(d, row) or of_one and of_one(row.k) or nil
end

return levels
