--- Rows of processes and threads: what prstat and the screen show of each. Every function fills in fields of a row, so
-- that files of /proc are read only for what is shown.
-- @module kstat.prstat.rows
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local machine = require("kstat.base.machine")

local rows = {}

local STATES = { R = "run", S = "sleep", D = "disk", T = "stop", t = "trace", Z = "zombie", I = "idle", X = "dead",
  P = "parked" }

--- A statistic of a further kind of a row's process, such as "io".
-- @tparam difference|sample d
-- @tparam table row
-- @string kind the ending of its class
-- @string statistic
-- @tparam[opt] boolean is_now of a difference: its value now; default: its change
-- @treturn any|nil nil: it is not counted, or not for this user
-- @treturn number|nil of a difference: seconds between the two readings of that kind
function rows.figure(d, row, kind, statistic, is_now)
  local k = d:lookup(row.k.module, row.k.instance, row.k.name .. "," .. kind)
  if k then
    return (is_now and k:now() or k):get(statistic), k.elapsed
  end
end

--- What was counted per second.
-- @param count what was counted; nil unless it is a number
-- @tparam number|nil elapsed seconds
-- @treturn number|nil
function rows.rate(count, elapsed)
  return type(count) == "number" and elapsed and elapsed > 0 and math.max(count, 0) / elapsed or nil
end

--- Begins a row, with what prstat sorts by at first.
-- @tparam kstat k of class process or thread, of a difference
-- @treturn table `k`, `pid`, of a thread `tid`; `elapsed` (s), `used` (s of CPU), `nlwp`
function rows.new(k)
  local now = k:now() -- a capture does not say that these are no counters
  local utime, stime = k:get("utime", "stime")
  local row = { k = k, pid = k.instance, elapsed = k.elapsed, nlwp = 1, used = ((utime or 0) + (stime or 0)) / 1e9 }
  if k.module == "thread" then
    row.tid, row.pid = k.instance, now:get("pid")
  else
    row.nlwp = now:get("nlwp") or 1
  end
  return row
end

--- Adds what a process is now.
-- @tparam table row gets `size`, `rss` (bytes), `pri`, `nice`, `time` (s of CPU so far)
function rows.add_levels(row)
  local utime, stime
  utime, stime, row.size, row.rss, row.pri, row.nice = core.levels(row.k, "utime", "stime", "size", "rssize", "pri",
    "nice")
  row.time = ((utime or 0) + (stime or 0)) / 1e9
end

--- Adds bytes per second, and the share of the time that block I/O took.
-- @tparam difference d
-- @tparam table row gets `read`, `write`, `cancelled`, `io` (their sum, 0 if it is not known), `DLY` (%)
function rows.add_io(d, row)
  local k, rate = row.k, rows.rate
  local io = d:lookup(k.module, k.instance, k.name .. ",io")
  if io then
    local read, written, cancelled = io:get("nread", "nwritten", "ncancelled")
    local elapsed = io.elapsed
    row.read, row.write, row.cancelled = rate(read, elapsed), rate(written, elapsed), rate(cancelled, elapsed)
  end
  row.io = (row.read or 0) + (row.write or 0)
  local delay = rate(k:get("blkio_time"), row.elapsed)
  row.DLY = delay and math.min(100 * delay / 1e9 / row.nlwp, 100)
end

--- Adds shares of the time of the process's threads.
-- @tparam difference d
-- @tparam table row gets `USR`, `SYS`, `LAT`, `DFL`, `SLP` (%), `VCX`, `ICX`
-- @tparam boolean has_latency waiting for a CPU is read
function rows.add_microstates(d, row, has_latency)
  local function percent(nsec, elapsed)
    local rate = rows.rate(nsec, elapsed)
    return rate and math.min(rate / 1e7 / (row.tid and 1 or row.nlwp), 100)
  end
  local utime, stime = row.k:get("utime", "stime")
  row.USR, row.SYS = percent(utime, row.elapsed), percent(stime, row.elapsed)
  row.LAT = percent(rows.figure(d, row, "sched", "wait_nsec"))
  local swapin, elapsed = rows.figure(d, row, "delay", "swapin_nsec")
  local thrashing = rows.figure(d, row, "delay", "thrashing_nsec")
  row.DFL = percent(swapin and swapin + (thrashing or 0), elapsed)
  if row.USR and row.SYS and (row.LAT or not has_latency) then
    row.SLP = math.max(100 - row.USR - row.SYS - (row.LAT or 0) - (row.DFL or 0), 0)
  end
  row.VCX, row.ICX = rows.figure(d, row, "status", "vctx"), rows.figure(d, row, "status", "ictx")
end

--- The name of a process's program.
-- @tparam table row
-- @treturn string
function rows.name(row)
  return core.levels(row.k, "fname") or row.k.name
end

--- The command line of a process.
-- @tparam difference d
-- @tparam table row
-- @tparam[opt] sample now the later sample of d, if the earlier one may not have read command lines
-- @treturn string of threads of the kernel, and where command lines were not recorded, the name
function rows.command(d, row, now)
  local name = rows.name(row)
  local k = (now or d):lookup("process", row.pid, row.k.name .. ",args")
  return k and ((now and k or k:now()):get("psargs") or ("[%s]"):format(name)) or name
end

--- Adds who owns a process and what it does.
-- @tparam table row gets `user`, `state`
function rows.add_owner(row)
  local euid, state = core.levels(row.k, "euid", "state")
  row.user, row.state = machine.user_name(euid), STATES[state] or state
end

return rows
