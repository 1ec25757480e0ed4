-- What a further sample of vmstat and mpstat costs beside the C programs of these names, and a single report.
-- All run at the same time, at an interval of a second, as people run them, and spread over it: caches are cold at
-- each tick, and no program finds there what another has just used. What a program costs with two reports is taken
-- off what it costs with many. CPU time holds what the kernel does for the files that are read: the disks and the
-- memory of Solaris's vmstat and the interrupts of its mpstat are in files that the others do not read (mpstat with
-- -I SUM does; vmstat the memory, when its own clock says so). What reading them costs, and nothing else, is told
-- beside it: no program that shows these columns is below.
-- Instructions, by callgrind, hold the program's own work. SPDX-License-Identifier: MIT
local figure = require("figure")

local SAMPLES, ROUNDS = 30, 3
local APART = "0.029" -- s between two ticks of all the programs
local kstatlua = os.getenv("KSTAT_BUILD") .. "/bin/kstatlua"
local cputime = os.getenv("KSTAT_BENCH") .. "/helper/cputime"
local read_files = os.getenv("KSTAT_BENCH") .. "/helper/read_files"

local function start(words, runs)
  local quoted = { figure.quote(cputime), tostring(runs) }
  for _, word in ipairs(words) do
    quoted[#quoted + 1] = figure.quote(word)
  end
  return assert(io.popen(table.concat(quoted, " ")))
end

-- The least CPU time, in ms, of a run that start() started.
local function finish(pipe)
  local line = pipe:read("l") or ""
  pipe:close()
  return tonumber(line:match("^%S+")) or error("a benchmark failed")
end

-- Each: a name, ours, theirs, and what reads the files of ours and no more.
local programs = {
  { "vmstat 1", { kstatlua, "vmstat" }, { "vmstat" },
    { read_files, "/proc/stat", "/proc/vmstat", "/proc/meminfo", "/proc/diskstats" } },
  { "mpstat 1", { kstatlua, "mpstat" }, { "mpstat", "-P", "ALL" },
    { read_files, "/proc/stat", "/proc/interrupts", "/proc/softirqs" } },
  { "mpstat 1, interrupts on both sides", { kstatlua, "mpstat" }, { "mpstat", "-P", "ALL", "-u", "-I", "SUM" } },
}

-- CPU ms of each program with `samples` reports at 1 s, by name and side; the least of all rounds.
local function measure(samples)
  local pipes = {}
  for _, p in ipairs(programs) do
    for side = 2, #p do
      local words = { (table.unpack or unpack)(p[side]) }
      words[#words + 1], words[#words + 2] = "1", tostring(samples)
      for round = 1, ROUNDS do
        os.execute("sleep " .. APART)
        pipes[#pipes + 1] = { p, side, start(words, 1), round }
      end
    end
  end
  local least = {}
  for _, run in ipairs(pipes) do
    local at = run[1][1] .. run[2]
    least[at] = math.min(least[at] or math.huge, finish(run[3]))
  end
  return least
end

local few, many = measure(2), measure(2 + SAMPLES)
for _, p in ipairs(programs) do
  local name = p[1]
  local ours = (many[name .. 2] - few[name .. 2]) / SAMPLES
  local theirs = (many[name .. 3] - few[name .. 3]) / SAMPLES
  figure.print(name .. ", a further sample", ("%.3f ms CPU"):format(ours),
    ("%s: %.3f ms CPU"):format(table.concat(p[3], " "), theirs), ours / theirs, "at most theirs", ours <= theirs)
  if p[4] then
    local files = (many[name .. 4] - few[name .. 4]) / SAMPLES
    figure.print(name .. ", its files read and no more", ("%.3f ms CPU"):format(files),
      ("%s: %.3f ms CPU"):format(table.concat(p[3], " "), theirs), files / theirs, "a bound of the line above")
  end
end

-- Instructions of a further sample.
local COUNTED = 10
local function start_counted(words, samples)
  local quoted = { "valgrind --tool=callgrind --callgrind-out-file=/dev/null" }
  for _, word in ipairs(words) do
    quoted[#quoted + 1] = figure.quote(word)
  end
  return assert(io.popen(("%s 1 %d 2>&1 >/dev/null"):format(table.concat(quoted, " "), samples)))
end

local function instructions(pipe)
  local text = pipe:read("a")
  pipe:close()
  return tonumber(text:match("Collected : (%d+)")) or error("callgrind failed: " .. text)
end

for _, p in ipairs(programs) do
  local pipes = {}
  for side = 2, 3 do
    pipes[side] = { start_counted(p[side], 2), start_counted(p[side], 2 + COUNTED) }
  end
  local counted = {}
  for side, pair in pairs(pipes) do
    local two, more = instructions(pair[1]), instructions(pair[2])
    counted[side] = (more - two) / COUNTED
  end
  figure.print(p[1] .. ", a further sample, instructions", ("%.0f"):format(counted[2]),
    ("%s: %.0f"):format(table.concat(p[3], " "), counted[3]), counted[2] / counted[3], "at most theirs",
    counted[2] <= counted[3])
end

for _, p in ipairs({ programs[1], programs[2] }) do
  local ours, theirs = figure.measure(p[2], { runs = 100 }), figure.measure({ "vmstat" }, { runs = 100 })
  figure.print(p[1]:match("%S+") .. ", a single report", ("%.2f ms CPU"):format(ours),
    ("vmstat: %.2f ms CPU"):format(theirs), ours / theirs, "under 1x", ours < theirs)
end
