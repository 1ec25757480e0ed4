-- Jumps in a recording of a day, a sample every 10 s of a machine with 500 kstats (recording.c), and in the 8,640
-- samples of a file of sar: one interval is shown, in the first hour, at noon and in the last one.
-- SPDX-License-Identifier: MIT
local figure = require("figure")

local SAMPLES, START = 8640, 1700000000
local dir = figure.capture("mktemp -d"):match("%S+")

local function read(path)
  local f = assert(io.open(path, "rb"))
  local bytes = f:read("a")
  f:close()
  return bytes
end

-- A file of sar: what sadc wrote, and its last record again and again, 10 s later each time.
local function make_sar(sadc, path)
  os.execute(("%s 1 2 %s/two; %s 1 3 %s/three"):format(sadc, dir, sadc, dir))
  local two, three = read(dir .. "/two"), read(dir .. "/three")
  local record = three:sub(#two + 1) -- the uptime in 1/100 s, the time in s, and what was counted
  local uptime, time = ("<i8i8"):unpack(record)
  local f = assert(io.open(path, "wb"))
  f:write(two)
  for i = 1, SAMPLES do
    f:write(("<i8i8"):pack(uptime + 1000 * i, time + 10 * i), record:sub(17))
  end
  f:close()
  return time
end

local function measure()
  local rec, sar, sar_start = dir .. "/day.rec", dir .. "/sar", nil
  figure.capture(("%s/recording %s"):format(os.getenv("KSTAT_BENCH"), rec))
  local sadc = figure.capture("ls /usr/lib/sysstat/sadc /usr/lib64/sa/sadc 2>/dev/null"):match("%S+")
  if sadc then
    sar_start = make_sar(sadc, sar)
  end
  for _, hour in ipairs({ 0.5, 12, 23.5 }) do
    local ours, wall = figure.measure({ os.getenv("KSTAT_BUILD") .. "/bin/kstat", "-p", "-r", rec, "--at",
      tostring(math.floor(START + hour * 3600)), "cpu_stat:0" })
    local function clock(seconds)
      return os.date("!%T", sar_start + math.floor(hour * 3600) + seconds)
    end
    local theirs = sar_start and figure.measure({ "sh", "-c",
      ("LC_ALL=C TZ=UTC exec sar -u -f %s -s %s -e %s"):format(sar, clock(0), clock(15)) })
    figure.print(("a jump to hour %g of a day"):format(hour), ("%.1f ms CPU, %.1f ms"):format(ours, wall),
      theirs and ("sar %.1f ms CPU"):format(theirs) or "-", theirs and ours / theirs or "-", "at most 15 ms",
      ours <= 15)
  end
end

local ok, message = pcall(measure)
os.execute("rm -rf " .. dir)
assert(ok, message)
