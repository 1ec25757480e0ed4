--- Figures that follow from the statistics of an I/O kstat, under the names of iostat.
--
-- Column expressions may name them like statistics; a statistic of the same name comes first.
--
--     r_s, w_s        operations per second          kr_s, kw_s   kilobytes (1024 bytes) per second
--     wait, actv      mean length of wait and run queue
--     wsvc_t, asvc_t, svc_t   mean time in the wait queue, in service, and both, in milliseconds
--     w_pct, b_pct    percent of the time with requests waiting, in service (not clipped at 100)
--     busy            the share of the time with requests in service, 0 to 1
--
-- They are those of kstat.io: service times follow from completed operations (Little's law), and without
-- any are 0; a percentile over time leaves such an interval out. What belongs to the wait queue is missing where
-- the system counts none (Linux).
-- Of a difference since creation all are means since then.
--
-- @module kstat.expression.derived

local io = require("kstat.io")

-- The figures of a kstat, kept while it is in use: a report asks for one column after the other.
local memo = setmetatable({}, { __mode = "k" })

local function figures(k)
  local f = memo[k]
  if f == nil then
    f = io.rates(k) or false
    memo[k] = f
  end
  return f
end

local function figure(name, factor)
  return function(k)
    local f = figures(k)
    return f and f[name] and f[name] * (factor or 1) or nil
  end
end

-- 0 where nothing completed; for a percentile (`seen`) there is none then.
local function service(name)
  return function(k, seen)
    local f = figures(k)
    return f and not (seen and f.tps == 0) and f[name] or nil
  end
end

-- What is known only where the system counts a wait queue (Linux does not).
local function waiting(plain)
  return function(k, seen)
    local f = figures(k)
    return f and f.has_wait and plain(k, seen) or nil
  end
end

return {
  r_s = figure("r_s"), w_s = figure("w_s"), kr_s = figure("kr_s"), kw_s = figure("kw_s"),
  wait = waiting(figure("wait")), actv = figure("actv"),
  wsvc_t = waiting(service("wsvc_t")), asvc_t = service("asvc_t"), svc_t = service("svc_t"),
  w_pct = waiting(figure("w_pct")), b_pct = figure("b_pct"), busy = figure("b_pct", 0.01),
}
