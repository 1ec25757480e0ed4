--- The command line of iostat: letters, disks, interval and count, as illumos takes them.
-- @module kstat.iostat.options
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local intervals = require("kstat.base.options.interval")
local options = require("kstat.base.options")
local past = require("kstat.base.past")
local running = require("kstat.base.running")

local M = {}

local USAGE = [=[
usage: iostat [-CcDdEeIijMmnPprstXxYyz] [--csv] [--latency] [--steal] [-l n] [-T d|u] [disk ...] [interval [count]]
]=]

local HELP = USAGE .. [=[

  -x  a line per device: operations and kilobytes per second, mean queue lengths, milliseconds per
      operation, percent of the time waiting and busy (%b near 100 says little of a device that
      serves many requests at once: look at actv and asvc_t)
  -d  kilobytes, transfers per second and milliseconds per transfer     -D  reads, writes, percent busy
  -t  terminal input and output     -c  CPU time: user, system, dtrace, idle      (none: -t -c -d)
  --steal  with -c: st, time that a hypervisor gave to other machines
  -e  error counts    -E  all there is to know of errors, vendor and size   -i  -E with the device's ID
  -n  descriptive names, and the two parts of the service time              -m  mount points (with -n)
  -p  partitions too  -P  only partitions    -C  sums of each controller (with -x or -e)
  -X  paths by initiator      -Y  paths by target and initiator
  --latency  with -x: milliseconds below which half and 99 % of the reads (r_p50, r_p99) and writes (w_p50, w_p99)
      were served by the disk, and waited in its queue (rq_p50, …, wq_p99): where kstatlua latency measures them
  --latency  without -x: of the queues that processes publish, in place of disks, how long requests waited (w_p50,
      w_p99) and were served (s_p50, s_p99), of queues that measure each request
  -I  counts of the interval in place of rates    -M  megabytes    -r  commas    -z  without idle lines
  -l  at most so many disks   -s  without a line about disks that come and go
  -T  time before each report: d as a date, u in seconds since 1970    -y  without the first report
  -j, --json  a row for each device with all its figures, -t and -c in it: JSON, an object a line    --csv  CSV

  --watch  on a terminal, with the keys of kstatlua top

  --at TIME, --from TIME, --to TIME, --host NAME, --replay FILE  what was recorded in place of now: kstat(7)

The first report is since boot. A disk is a kstat's name or a descriptive name. With `kstatlua -r FILE
iostat` a capture stands in place of the machine.

Linux does not count what is shown as `-`: characters of terminals (tin, tout), time in dtrace (dt), the
time before a request is given to the device (wait, wsvc_t, %w; it is in actv and asvc_t, which begin
at the request's start), and the errors of devices that are not on the SCSI layer.
]=]

local OPTIONS = options.command({
  { "h", "help", also = "?", final = true },
  { "l", "limit", long = false, arg = "" }, { "T", "timestamp", long = false, arg = "d|u", type = "timestamp" },
  { "y", "skip_first", long = false }, { "j", "json" }, { nil, "csv" }, { nil, "latency" }, { nil, "steal" },
  options.watch, command = "iostat",
  operands = { { class = "disk" }, { class = "partition" }, { class = "tape" }, { class = "nfs" } },
}, options.letters("CcDdEeIiMmnPprstXxYz", ""), options.past)

local function usage(line)
  running.stop(2, nil, (line and line .. "\n" or "") .. USAGE)
end

local function fail(line)
  running.stop(2, line)
end

-- Elsewhere -r names a recording: ends the command if one follows, since a disk of that name was hardly meant.
local function check_commas(name)
  local ks = name ~= "-" and core.open({ capture = name })
  if ks then
    core.chain_methods.close(ks)
  end
  if ks or name == "-" then
    fail(("-r shows commas here; kstatlua -r %s iostat reads the recording '%s'"):format(name, name))
  end
end

-- Disks, then interval and count, which begin with the first word that looks like a number.
local function read_operands(o)
  local words, i = o.operands, 1
  o.names = {}
  while words[i] and not words[i]:find("^%.?%d") do
    o.names[i] = words[i]
    i = i + 1
  end
  if o.r and o.names[1] then
    check_commas(o.names[1])
  end
  local interval, count = words[i], words[i + 1]
  if interval then
    o.interval = intervals.seconds(interval)
    if not o.interval or o.interval <= 0 or o.interval >= 1e9 then
      fail("invalid interval " .. interval)
    end
  end
  if count then
    o.count = tonumber(count:match("^%d+$"))
    if not o.count then
      fail("invalid count " .. count)
    elseif o.count < 1 then
      fail("invalid count")
    end
  end
  if words[i + 2] then
    usage(("iostat: '%s' is one word too many"):format(words[i + 2]))
  end
end

-- What is written for programs has all that is known of a device, whatever columns people want.
local function settle_data(o)
  o.form = o.json and "json" or o.csv and "csv"
  if o.json and o.csv then
    usage("iostat: --json and --csv cannot be used together")
  elseif o.form and (o.E or o.i or o.r) then
    usage(("iostat: -%s and --%s cannot be used together"):format(o.E and "E" or o.i and "i" or "r", o.form))
  elseif o.form then
    o.x = o.x or o.d or o.D or o.e or o.m or not (o.t or o.c)
  end
end

-- Published queues are all that is read then.
local function settle_latency(o)
  for letter in ("CcDdEeimPptXY"):gmatch(".") do
    if o[letter] then
      usage(("iostat: --latency and -%s cannot be used together"):format(letter))
    end
  end
  o.percentiles, o.latency = o.x, not o.x
  o.x, o.published = true, o.latency
end

-- What the letters mean together.
local function settle(o)
  if o.latency then
    settle_latency(o)
  end
  settle_data(o)
  if o.d and o.D then
    usage("-d and -D are incompatible.")
  elseif o.X and o.Y then
    usage("iostat: -X and -Y cannot be used together")
  end
  if (o.X or o.Y) and not (o.e or o.E) then
    o.x = true
  end
  if o.C and (o.E or not (o.x or o.e) or not o.x and (o.d or o.D)) then
    fail("-C can only be used with -e or -x.")
  end
  local all = (o.host or past.named("host")) == "*" -- machines
  if not (o.d or o.D or o.x or o.e or o.E or o.t or o.c) then
    o.t, o.c, o.d, o.x = not all, not all, not all, all
  end
  if o.x then
    o.d, o.D = nil, nil
  elseif o.d or o.D then
    o.e, o.E = nil, nil
  end
  o.table = o.x or o.e
  o.both = o.n or o.latency -- parts of the service time
  o.blocks = o.d or o.D
  o.devices = o.table or o.blocks or o.E
  o.names_hosts = all and o.x and not (o.e or o.E or o.t or o.c or o.C or o.X or o.Y)
end

--- Reads a command line.
-- @tparam {string,...} words
-- @treturn table the letters as fields, `limit`, `names`, and what kstat.report looks at: `timestamp`, `skip_first`,
-- `json`, `csv`, `interval` and `count`; `table`: a line per device; `blocks`: a block per disk in one line; `devices`:
-- anything of devices
-- @raise running.stop's value, if there is nothing to report
function M.read(words)
  local o, message = options.read(OPTIONS, words)
  if not o then
    usage("iostat: " .. message)
  elseif o.help then
    running.show(HELP)
  elseif o.limit then
    o.limit = o.limit:find("^%d+$") and tonumber(o.limit) > 0 and tonumber(o.limit) or
      usage(("iostat: -l '%s' is not a whole number above 0"):format(o.limit))
  end
  read_operands(o)
  settle(o)
  return o
end

return M
