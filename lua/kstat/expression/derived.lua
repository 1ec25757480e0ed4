--- Figures that follow from the statistics of an I/O kstat, under the names of iostat.
--
-- Column expressions may name them like statistics; a statistic of the same name comes first.
--
--     r_s, w_s        operations per second          kr_s, kw_s   kilobytes (1024 bytes) per second
--     wait, actv      mean length of wait and run queue
--     wsvc_t, asvc_t, svc_t   mean time in the wait queue, in service, and both, in milliseconds
--     w_pct, b_pct    percent of the time with requests waiting, in service (not clipped at 100)
--
-- They are those of kstat.io: service times follow from completed operations (Little's law), and are missing without
-- any. What belongs to the wait queue is missing where the system counts none (Linux).
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

-- needs: "wait" is known only where the system counts a wait queue (Linux does not); "service" takes no time where
-- nothing completed.
local function figure(name, needs)
  return function(k)
    local f = figures(k)
    if not f or needs and (needs.wait and not f.has_wait or needs.service and f.tps == 0) then
      return nil
    end
    return f[name]
  end
end

local WAIT, SERVICE, BOTH = { wait = true }, { service = true }, { wait = true, service = true }

return {
  r_s = figure("r_s"), w_s = figure("w_s"), kr_s = figure("kr_s"), kw_s = figure("kw_s"),
  wait = figure("wait", WAIT), actv = figure("actv"),
  wsvc_t = figure("wsvc_t", BOTH), asvc_t = figure("asvc_t", SERVICE), svc_t = figure("svc_t", SERVICE),
  w_pct = figure("w_pct", WAIT), b_pct = figure("b_pct"),
}
