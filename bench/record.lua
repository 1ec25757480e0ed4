-- record.lua - the recorder as a service, beside sadc and atop on the same machine in the same minute: bytes, CPU
-- time and memory of a sample with 85, 500 and 1,000 processes, of which one in ten works now and then.
-- KSTAT_BENCH_SAMPLES is how many samples, one a second, there are of each (60). SPDX-License-Identifier: MIT
local figure = require("figure")
local load = require("load")

local SAMPLES = tonumber(os.getenv("KSTAT_BENCH_SAMPLES")) or 60
-- Goals: processes, KB and ms of a sample.
local GOALS = { { 85, 1.6 }, { 500, 2.3, 12 }, { 1000, 3, 24 } }

-- The CPU time in ms of all threads of a process, and its largest memory in KB; nil: it is gone.
local function cost(pid)
  local ns = 0
  for time in figure.capture(("cat /proc/%s/task/*/schedstat 2>/dev/null"):format(pid)):gmatch("(%d+) %d+ %d+\n") do
    ns = ns + time
  end
  return ns / 1e6, tonumber(figure.capture(("grep VmHWM /proc/%s/status 2>/dev/null"):format(pid)):match("%d+"))
end

local function size(path)
  return tonumber(figure.capture(("cat %s | wc -c"):format(path)))
end

-- The recorders, ours first: the command, and what it writes.
local function recorders(dir)
  local host = os.getenv("KSTAT_BUILD") .. "/bin/kstatlua"
  local list = { { "kstatlua record", ("%s record --directory %s/rec 1"):format(host, dir), dir .. "/rec/*" } }
  local sadc = figure.capture("ls /usr/lib/sysstat/sadc /usr/lib64/sa/sadc 2>/dev/null"):match("%S+")
  if sadc then
    list[#list + 1] = { "sadc", ("%s -S DISK 1 %s/sadc"):format(sadc, dir), dir .. "/sadc" }
  end
  if figure.capture("command -v atop") ~= "" then
    list[#list + 1] = { "atop", ("atop -w %s/atop 1"):format(dir), dir .. "/atop" }
  end
  return list
end

-- Runs all recorders for SAMPLES seconds, and a few before that; returns for each the KB and the ms of a sample, and
-- its memory in MB.
local function measure(dir)
  local list = recorders(dir)
  for _, r in ipairs(list) do
    r.pid = load.start("exec " .. r[2])
  end
  os.execute("sleep 2.5")
  for _, r in ipairs(list) do
    r.ms, r.bytes = cost(r.pid), size(r[3])
  end
  os.execute("sleep " .. SAMPLES)
  for _, r in ipairs(list) do
    local ms, kb = cost(r.pid)
    r.ms, r.kb, r.mb = (ms - r.ms) / SAMPLES, (size(r[3]) - r.bytes) / 1000 / SAMPLES, kb / 1000
  end
  for _, r in ipairs(list) do
    os.execute(("kill %s; while [ -e /proc/%s ]; do sleep 0.1; done; rm -rf %s"):format(r.pid, r.pid, r[3]))
  end
  return list
end

local function compare(what, unit, list, field, goal)
  local theirs = {}
  for i = 2, #list do
    theirs[#theirs + 1] = ("%s %.2f %s"):format(list[i][1], list[i][field], unit)
  end
  local ours, last = list[1][field], list[#list][field]
  local met -- nil: there is no goal
  if goal then
    met = ours <= goal
  end
  figure.print(what, ("%.2f %s"):format(ours, unit), theirs[1] and table.concat(theirs, ", ") or "-", ours / last,
    goal and ("at most %g %s"):format(goal, unit) or "-", met)
end

load.with_directory(function(dir)
  for _, goal in ipairs(GOALS) do
    if load.fill(goal[1]) then
      local name = ("a sample with %d processes: "):format(goal[1])
      local list = measure(dir)
      compare(name .. "size", "KB", list, "kb", goal[2])
      compare(name .. "CPU time", "ms", list, "ms", goal[3])
      compare(name .. "memory", "MB", list, "mb", 16)
    end
  end
end)
