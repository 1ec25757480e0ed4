--- Figures that follow from the statistics of an I/O kstat, under the names of iostat.
--
-- In a column expression they stand beside the statistics; a statistic of the same name comes first.
--
--     r_s, w_s        operations per second          kr_s, kw_s   kilobytes (1024 bytes) per second
--     wait, actv      mean length of wait and run queue
--     wsvc_t, asvc_t, svc_t   mean time in the wait queue, in service, and both, in milliseconds
--     w_pct, b_pct    percent of the time with requests waiting, in service (not clipped at 100)
--     busy            the share of the time with requests in service, 0 to 1
--
-- Queue lengths and service times follow from completed operations (Little's law): without any, the
-- service times are 0. Of a difference since creation they are means since then.
--
-- @module kstat.report.derived

local function completed(k)
    local reads, writes = k:rate("reads"), k:rate("writes")
    return reads and writes and reads + writes
end

-- Milliseconds that an operation spends in a queue of that mean length.
local function service_time(k, length)
    local operations = completed(k)
    if not operations or not length then
        return nil
    end
    return operations > 0 and 1000 * length / operations or 0
end

local function scaled(statistic, factor)
    return function(k)
        local rate = k:rate(statistic)
        return rate and rate * factor
    end
end

return {
    r_s = scaled("reads", 1),
    w_s = scaled("writes", 1),
    kr_s = scaled("nread", 1 / 1024),
    kw_s = scaled("nwritten", 1 / 1024),
    wait = scaled("wlentime", 1),
    actv = scaled("rlentime", 1),
    w_pct = scaled("wtime", 100),
    b_pct = scaled("rtime", 100),
    busy = scaled("rtime", 1),
    wsvc_t = function(k) return service_time(k, k:rate("wlentime")) end,
    asvc_t = function(k) return service_time(k, k:rate("rlentime")) end,
    svc_t = function(k)
        local wait, actv = k:rate("wlentime"), k:rate("rlentime")
        return wait and actv and service_time(k, wait + actv)
    end,
}
