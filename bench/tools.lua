-- The cost of a further sample of vmstat and mpstat, and of a single report, beside the C programs of these names. The
-- goal is at most twice the cost of the C program.
-- All programs run at the same time, at an interval of a second, as people run them, with their ticks spread over the
-- second, so that caches are cold at each tick. Each program runs several times, in changing order, because data that
-- one program has just used is warmer for the next; a figure is the median. The cost of a run with two reports is
-- subtracted from that of a run with many. The CPU time includes the kernel's work for the files that are read. The
-- disks of Solaris's vmstat and the interrupts of its mpstat are in files that the C programs do not read (mpstat with
-- -I SUM does), so the cost of only reading such files is printed, too (vmstat reads its few disks from files of their
-- own).
-- vmstat of procps 4.0.0 to 4.0.2 (Debian 12) shows the memory of its first line in all others, because it does not
-- read it again (Debian bug 1027963, fixed in 4.0.3). The cost of one more file is measured and printed as well.
-- Instructions, by callgrind, hold the program's own work. SPDX-License-Identifier: MIT
local figure = require("figure")

local SAMPLES, ROUNDS = 30, 4
local MOST, MOST_TEXT = 2, "at most 2x"
local APART = "0.019" -- s between two ticks of all the programs
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

-- Returns the least CPU time, in ms, of a run that start() started.
local function finish(pipe)
  local line = pipe:read("l") or ""
  pipe:close()
  return tonumber(line:match("^%S+")) or error("a benchmark failed")
end

-- Each entry: a name, our command, theirs, and a command that only reads the files that ours reads.
local vmstat = { "vmstat 1", { kstatlua, "vmstat" }, { "vmstat" },
  { read_files, "/proc/stat", "/proc/vmstat", "/proc/meminfo", "/proc/diskstats" } }
local mpstat = { "mpstat 1", { kstatlua, "mpstat" }, { "mpstat", "-P", "ALL" },
  { read_files, "/proc/stat", "/proc/interrupts", "/proc/softirqs" } }
local interrupts = { "mpstat 1, interrupts on both sides", mpstat[2], { "mpstat", "-P", "ALL", "-u", "-I", "SUM" } }
local memory = { "memory", { read_files, "/proc/stat", "/proc/vmstat", "/proc/meminfo" },
  { read_files, "/proc/stat", "/proc/vmstat" } }

local function forgets_memory()
  local pipe = assert(io.popen("vmstat --version"))
  local text = pipe:read("a")
  pipe:close()
  return text:find("procps%-ng 4%.0%.[012]%s") ~= nil
end

local programs = { vmstat, mpstat, interrupts }
local measured = { vmstat, mpstat, interrupts, forgets_memory() and memory or nil }

-- Returns all sides of all programs in the order of a round: forwards, backwards, or each kind of side after the other.
local function order(round)
  local list = {}
  for i, p in ipairs(measured) do
    for side = 2, #p do
      list[#list + 1] = { program = p, side = side, rank = round > 2 and side * 100 + i or i * 100 + side }
    end
  end
  table.sort(list, function(a, b)
    if round % 2 == 0 then
      a, b = b, a
    end
    return a.rank < b.rank
  end)
  return list
end

-- Returns the CPU time in ms of each program with `samples` reports at 1 s, by name and side.
local function measure(samples)
  local runs, figures = {}, {}
  for round = 1, ROUNDS do
    for _, run in ipairs(order(round)) do
      local words = { (table.unpack or unpack)(run.program[run.side]) }
      words[#words + 1], words[#words + 2] = "1", tostring(samples)
      os.execute("sleep " .. APART)
      run.pipe = start(words, 1)
      runs[#runs + 1] = run
    end
  end
  for _, run in ipairs(runs) do
    local at = run.program[1] .. run.side
    figures[at] = figures[at] or {}
    table.insert(figures[at], finish(run.pipe))
  end
  for at, list in pairs(figures) do
    table.sort(list)
    figures[at] = (list[ROUNDS / 2] + list[ROUNDS / 2 + 1]) / 2
  end
  return figures
end

local few, many = measure(2), measure(2 + SAMPLES)

-- Returns the cost of a further sample of one side of a program.
local function further(p, side)
  return (many[p[1] .. side] - few[p[1] .. side]) / SAMPLES
end

local function compare(what, ours, command, theirs, goal, met)
  figure.print(what, ("%.3f ms CPU"):format(ours), ("%s: %.3f ms CPU"):format(command, theirs), ours / theirs, goal,
    met)
end

for _, p in ipairs(programs) do
  local ours, command, theirs = further(p, 2), table.concat(p[3], " "), further(p, 3)
  compare(p[1] .. ", a further sample", ours, command, theirs, MOST_TEXT, ours <= MOST * theirs)
  if p[4] then
    compare(p[1] .. ", such files read and no more", further(p, 4), command, theirs, "to compare")
  end
  if p == vmstat and measured[4] then
    theirs = theirs + further(memory, 2) - further(memory, 3)
    compare(p[1] .. ", a further sample, memory on both sides", ours, "vmstat and a reading of /proc/meminfo", theirs,
      MOST_TEXT, ours <= MOST * theirs)
  end
end

-- Returns the instructions of a further sample.
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
    ("%s: %.0f"):format(table.concat(p[3], " "), counted[3]), counted[2] / counted[3], "to compare")
end

for _, p in ipairs({ vmstat, mpstat }) do
  local ours, theirs = figure.measure(p[2], { runs = 100 }), figure.measure({ "vmstat" }, { runs = 100 })
  figure.print(p[1]:match("%S+") .. ", a single report", ("%.2f ms CPU"):format(ours),
    ("vmstat: %.2f ms CPU"):format(theirs), ours / theirs, MOST_TEXT, ours <= MOST * theirs)
end
