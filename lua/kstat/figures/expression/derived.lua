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
-- @module kstat.figures.expression.derived

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

-- What the wait queue comes to is known only where the system counts one (Linux does not), and what a service takes
-- only where something completed.
local NEEDS = { r_s = "", w_s = "", kr_s = "", kw_s = "", wait = "queue", actv = "", wsvc_t = "queue completed",
  asvc_t = "completed", svc_t = "completed", w_pct = "queue", b_pct = "" }

local derived = {}

for name, needs in pairs(NEEDS) do
  local queue, completed = needs:find("queue"), needs:find("completed")
  derived[name] = function(k)
    local f = figures(k)
    return f and not (queue and not f.has_wait or completed and f.tps == 0) and f[name] or nil
  end
end

return derived
