-- What looking at the whole machine costs: a sample of every kstat that is on by default, beside a scrape of
-- node_exporter and a program that only reads the same files, in rounds that alternate between the three; the memory
-- of `kstat -p`; and a sample of a recorded machine with 128 CPUs and 64 disks.
-- node_exporter (Debian: prometheus-node-exporter) listens on the loopback device while the benchmark runs. strace
-- tells which files a sample reads. What is not installed is left out. SPDX-License-Identifier: MIT
local figure = require("figure")

local SAMPLES, ROUNDS, PORT = 100, 5, 19100
local kstat = os.getenv("KSTAT_BUILD") .. "/bin/kstat"
local kstatlua = os.getenv("KSTAT_BUILD") .. "/bin/kstatlua"
local read_files = os.getenv("KSTAT_BENCH") .. "/helper/read_files"
local samples = "local k = assert(kstat.open()) for i = 1, tonumber(arg[1]) do k:sample() end"

local function output(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("a")
  return pipe:close() and text or nil
end

local function is_there(program)
  return os.execute("command -v " .. program .. " >/dev/null") == true
end

-- Returns the CPU time in ms of what a program does once more. `with` makes its command line from a number.
local function once_more(with, options)
  return (figure.measure(with(2 + SAMPLES), options) - figure.measure(with(2), options)) / SAMPLES
end

local function sample(options)
  return once_more(function(n) return { kstatlua, "-e", samples, tostring(n) } end, options)
end

-- The files that a sample after the first reads; nil without strace. What cannot be opened now is left out.
local function files_of_a_sample()
  local log = os.tmpname()
  local traced = is_there("strace") and os.execute(("strace -y -e trace=openat,pread64,read,getcwd -o %s %s -e %s 2>&1")
    :format(log, kstatlua, figure.quote(
      "local k = kstat.open() k:sample() k:sample() io.open('/mark') k:sample() io.open('/mark')")))
  local list, seen, marks = { read_files }, {}, 0
  for line in traced and io.lines(log) or function() end do
    marks = marks + (line:find('"/mark"', 1, true) and 1 or 0)
    local path = marks == 1 and line:match("^p?read[64]*%(%d+<(/[^>]*)>.*= %d+$")
    path = path and path:gsub("^/proc/%d+/", "/proc/self/")
    if path and not seen[path] and (path:find("^/proc/") or path:find("^/sys/")) and io.open(path) then
      seen[path] = true
      list[#list + 1] = path
    end
  end
  os.remove(log)
  return traced and list or nil
end

-- closes: each file is opened, read and closed, as programs do that are not made for it.
local function bare(list, closes)
  return once_more(function(n)
    local argv = table.move(list, 2, #list, closes and 3 or 2, { list[1], closes and "-c" })
    argv[#argv + 1], argv[#argv + 2] = "0", tostring(n)
    return argv
  end)
end

-- The CPU time in ms of a running program so far.
local function cpu_of(pid)
  local stat = io.open("/proc/" .. pid .. "/stat"):read("a")
  local user, system = stat:match("^.*%) " .. ("%S+ "):rep(11) .. "(%d+) (%d+)")
  return (user + system) * 1000 / tonumber(output("getconf CLK_TCK"))
end

local function start_exporter()
  if not is_there("prometheus-node-exporter") or not is_there("curl") then
    return nil
  end
  local command = "prometheus-node-exporter --web.listen-address=127.0.0.1:%d >/dev/null 2>&1 & echo $!"
  local pid = output(command:format(PORT))
  os.execute("sleep 1")
  return tonumber(pid)
end

-- The CPU time in ms of a scrape, of many, because the kernel counts in steps of 10 ms.
local function scrape(pid)
  local before = cpu_of(pid)
  local url = (" http://127.0.0.1:%d/metrics"):format(PORT)
  assert(os.execute("curl -sf -o /dev/null" .. (" -o /dev/null"):rep(SAMPLES - 1) .. url:rep(SAMPLES)))
  return (cpu_of(pid) - before) / SAMPLES
end

local function compare(name, ours, theirs_name, theirs, goal)
  figure.print(name, ("%.3f ms CPU"):format(ours), ("%s: %.3f ms CPU"):format(theirs_name, theirs), ours / theirs,
    ("at most %gx"):format(goal), ours <= goal * theirs)
end

local list, exporter = files_of_a_sample(), start_exporter()
local best = { ours = math.huge, bare = math.huge, closing = math.huge, exporter = math.huge }
for _ = 1, ROUNDS do
  best.ours = math.min(best.ours, sample())
  best.bare = math.min(best.bare, list and bare(list) or math.huge)
  best.closing = math.min(best.closing, list and bare(list, true) or math.huge)
  best.exporter = math.min(best.exporter, exporter and scrape(exporter) or math.huge)
end
if exporter then
  os.execute("kill " .. exporter)
  compare("a sample of the machine", best.ours, "a scrape of node_exporter", best.exporter, 0.2)
end
if list then
  compare("a sample of the machine", best.ours, ("open, read and close of the same %d files"):format(#list - 1),
    best.closing, 1.3)
  compare("a sample of the machine", best.ours, ("pread of the same %d files"):format(#list - 1), best.bare, 1.3)
end

local _, _, peak = figure.measure({ kstat, "-p" })
figure.print("kstat -p, peak memory", ("%.1f MB"):format(peak / 1024), "-", "-", "under 12 MB", peak < 12 * 1024)

local tree = os.tmpname()
os.remove(tree)
assert(os.execute("lua5.4 spec/support/large_tree.lua " .. tree))
local options = { shell = ("KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys"):format(tree, tree) }
local large = sample(options)
os.execute("rm -r " .. tree)
figure.print("128 CPUs and 64 disks, a sample", ("%.2f ms CPU"):format(large), "-", "-", "under 3 ms", large < 3)
