-- devstat: FreeBSD's iostat(8) over this machine's disks, or over a capture with kstatlua -r.
--
--     devstat [-CdhIKoTxz?] [-c count] [-n devs] [-t type,if,pass] [-w wait]
--             [drives] [wait [count]]
--
--   -C  CPU statistics (on by default unless -d or -x)   -c  number of reports
--   -d  devices only                                     -n  at most so many devices
--   -h  those that move most bytes first                 -t  only devices of that kind; repeatable
--   -I  totals of the interval in place of rates         -w  seconds between reports
--   -K  blocks of 1024 bytes in -o -I
--   -o  blocks, transfers and milliseconds per transfer
--   -T  terminal statistics (on by default unless -d or -x)
--   -x  one line per device                              -z  without idle ones (with -x)
--
-- Messages and exit statuses are those of iostat(8).
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local devstat = require("kstat.devstat")
local iostat = require("kstat.devstat.iostat")

local deadline

-- Waits until the next tick of a cadence that does not drift.
local function wait(seconds, replay)
  if replay then return not core.interrupted() end
  local now = core.devstat.hrtime()
  local step = seconds * 1e9
  deadline = (deadline or now) + step
  if deadline < now then deadline = now + step end
  local why
  repeat
    why = core.wait(deadline)
    if why == "continued" then deadline = core.devstat.hrtime() + step end
  until why == "time" or why == "interrupted"
  return why == "time"
end

core.looping(true)
local status = iostat.run(arg, {
  open = devstat.open,
  write = function(...) io.stdout:write(...) end,
  flush = function() io.stdout:flush() end,
  complain = function(line) io.stderr:write(line, "\n") end,
  wait = wait,
})
core.looping(false)
return status
