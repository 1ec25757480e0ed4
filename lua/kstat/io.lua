--- The figures of iostat, computed from the I/O kstat of a device.
--
--     local io = require("kstat.io")
--     for now, prev in kstat.every(arg) do
--         for k in (prev and now - prev or now:since_creation()):each({ class = "disk" }) do
--             print(k.name, io.rates(k).asvc_t)
--         end
--     end
--
-- All of it follows from a kstat's counters and its two queues, whose length over time the kernel adds up:
-- with T the time between the two snaptimes, wait and actv are sums of length by T, and a mean service
-- time is a mean length by completed operations per second (Little's law). So the service times are 0
-- where nothing completed, even if the queue was full, and none of it depends on the interval.
--
-- Exact between any two samples: counters that passed their width are continued, a kstat that was created anew
-- counts from then. A counter that fell otherwise counts 0.
-- @module kstat.io
local core = require("kstat.core")

local M = {}

local io_delta = core.io_delta
local OVER_THE_TOP = 18446744073709551616.0 -- 2^64

--- What was counted between two samples.
-- @tparam kstat|nil prev of the earlier sample; nil: everything since creation
-- @tparam kstat now the same kstat in the later sample; or pass the kstat of a difference alone, which
-- has both
-- @tparam[opt] table into is filled and returned, in place of a new table
-- @treturn table `nread`, `nwritten` (number) in bytes; `reads`, `writes` (number): how many; `wtime`, `wlentime`,
-- `rtime`, `rlentime`, `elapsed` (number) in nanoseconds; `has_wait` (boolean): false if the system counts no wait
-- queue (Linux: time waited is in the run queue's)
-- @fails if the kstat could not be read
-- @raise if it is not an I/O kstat, or of a chain: only samples have a moment
function M.counts(prev, now, into)
  if now == nil then
    prev, now = nil, prev
  end
  if core.kind(now) ~= "kstat" then
    core.usage(("kstat of a difference expected, or two kstats of samples, got %s"):format(core.kind(now) or type(now)))
  end
  local nread, nwritten, reads, writes, wtime, wlentime, rtime, rlentime, elapsed, has_wait =
    io_delta(now, prev)
  if not nread then
    return nil, nwritten, reads -- message, errno name
  end
  into = into or {}
  into.nread, into.nwritten, into.reads, into.writes = nread, nwritten, reads, writes
  into.wtime, into.wlentime, into.rtime, into.rlentime = wtime, wlentime, rtime, rlentime
  into.elapsed, into.has_wait = elapsed, has_wait
  return into
end

-- The titles of iostat are other names of the figures: `rates["r/s"]`, `rates["%b"]`.
local TITLES = { ["r/s"] = "r_s", ["w/s"] = "w_s", ["kr/s"] = "kr_s", ["kw/s"] = "kw_s", ["%w"] = "w_pct",
  ["%b"] = "b_pct" }
local with_titles = {
  __index = function(figures, title)
    local name = TITLES[title]
    return name and rawget(figures, name)
  end,
}

--- The figures that follow from counts.
-- @tparam counts counts from `counts` or `mean`
-- @tparam[opt] table into is filled and returned, in place of a new table
-- @treturn table
--
--   * `r_s`, `w_s`, `tps` (number): reads, writes, both per second
--   * `kr_s`, `kw_s`, `kps` (number): kilobytes (1024 bytes) per second
--   * `wait`, `actv` (number): mean length of the wait queue and of the run queue
--   * `wsvc_t`, `asvc_t`, `svc_t` (number): mean milliseconds of an operation in the wait queue, in service, and both
--   * `w_pct`, `b_pct` (number): percent of the time in which anything waited, was in service; not cut at 100
--   * `seconds` (number): the time in seconds that these are means of; 1 if none passed
--   * `has_wait` (boolean): as in the counts
--
-- The titles of iostat work too: `["r/s"]`, `["w/s"]`, `["kr/s"]`, `["kw/s"]`, `["%w"]`, `["%b"]`.
function M.figures(counts, into)
  if type(counts) ~= "table" then
    core.usage(("bad argument #1 to 'figures' (table expected, got %s)"):format(type(counts)))
  end
  into = setmetatable(into or {}, with_titles)
  local t = counts.elapsed
  if t == 0 then
    t = 1e9
  elseif t < 0 then
    t = t + OVER_THE_TOP -- a clock that went backwards: no rate is to be had, and none is huge
  end
  local s = t / 1e9
  local r_s, w_s = counts.reads / s, counts.writes / s
  local tps = r_s + w_s
  local wait, actv = counts.wlentime / t, counts.rlentime / t
  into.r_s, into.w_s, into.tps = r_s, w_s, tps
  into.kr_s, into.kw_s = counts.nread / s / 1024, counts.nwritten / s / 1024
  into.kps = into.kr_s + into.kw_s
  into.wait, into.actv = wait, actv
  into.w_pct, into.b_pct = 100 * counts.wtime / t, 100 * counts.rtime / t
  if tps > 0 then
    into.wsvc_t, into.asvc_t = 1000 * wait / tps, 1000 * actv / tps
  else
    into.wsvc_t, into.asvc_t = 0, 0
  end
  into.svc_t = into.wsvc_t + into.asvc_t
  into.seconds, into.has_wait = s, counts.has_wait
  return into
end

--- Both in one: the figures of a kstat between two samples.
-- @tparam kstat|nil prev
-- @tparam kstat now as for `counts`
-- @tparam[opt] table into is filled and returned, in place of a new table
-- @treturn figures see `figures`
-- @fails
-- @usage print(kstat.io.rates(d:lookup("sd", 0, "sd0")).asvc_t) -- d = now - prev
function M.rates(prev, now, into)
  local counts, message, errname = M.counts(prev, now, into)
  if not counts then
    return nil, message, errname
  end
  return M.figures(counts, counts)
end

local SUMMED = { "nread", "nwritten", "reads", "writes", "wlentime", "rlentime" }

--- Several devices as one, a controller say: operations, bytes and queue lengths are added up, while the
-- share of time that anything waited or was in service is the mean of them all.
-- @tparam {counts,...} list counts of each, at least one
-- @tparam[opt] table into is filled and returned, in place of a new table
-- @treturn counts over the mean time of all
function M.mean(list, into)
  into = into or {}
  local n = #list
  for i = 1, #SUMMED do
    local name, sum = SUMMED[i], 0
    for j = 1, n do
      sum = sum + list[j][name]
    end
    into[name] = sum
  end
  local elapsed, wtime, rtime, has_wait = 0, 0, 0, false
  for i = 1, n do
    local counts = list[i]
    elapsed = elapsed + counts.elapsed
    wtime, rtime = wtime + counts.wtime, rtime + counts.rtime
    has_wait = has_wait or counts.has_wait
  end
  into.elapsed = math.floor(elapsed / n)
  into.wtime, into.rtime, into.has_wait = wtime / n, rtime / n, has_wait
  return into
end

return require("kstat.base.guess").within("kstat.io", M)
