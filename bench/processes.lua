-- Samples of 1,000 processes and more: the CPU time of one, beside top, ps and pidstat, and the memory of each process.
-- The processes sleep; those of the machine come on top. SPDX-License-Identifier: MIT
local figure = require("figure")

local COUNT, SAMPLES = 1000, 11
local bin = os.getenv("KSTAT_BUILD") .. "/bin/"
local kstat, kstatlua = bin .. "kstat", bin .. "kstatlua"

local function lines_of(command)
  local pipe = assert(io.popen(command))
  local list = {}
  for line in pipe:lines() do
    list[#list + 1] = line
  end
  pipe:close()
  return list
end

local sleepers = lines_of(("for i in $(seq %d); do sleep 600 >/dev/null & echo $!; done"):format(COUNT))

local function compare(name, ours, theirs, what, most)
  figure.print(name, ("%.2f ms"):format(ours), ("%s %.2f ms"):format(what, theirs), ours / theirs,
    ("at most %gx"):format(most or 1), ours <= (most or 1) * theirs)
end

-- The CPU time in ms of a further sample.
local function further(one, many)
  return (figure.measure(many, { runs = 3 }) - figure.measure(one, { runs = 3 })) / (SAMPLES - 1)
end

local function measure()
  local n = #lines_of("ls -d /proc/[0-9]*")
  local once, _, all = figure.measure({ kstat, "-p", "-c", "process" })
  compare("kstat -p -c process", once, figure.measure({ "top", "-b", "-n1" }), "top -b -n1")
  compare("kstat -p -c process", once, figure.measure({ "ps", "-eo", "pid,user,vsz,rss,s,pri,ni,time,comm" }), "ps")
  local single = figure.measure({ kstatlua, "prstat", "1", "1" })
  compare("kstatlua prstat 1 1", single, figure.measure({ "top", "-b", "-n1" }), "top -b -n1")
  local samples = tostring(SAMPLES)
  local sample = further({ kstatlua, "prstat", "0.1", "1" }, { kstatlua, "prstat", "0.1", samples })
  compare("prstat, a further sample", sample, further({ "top", "-b", "-d", "0.1", "-n", "1" },
    { "top", "-b", "-d", "0.1", "-n", samples }), "top", 1.25)
  local pidstat = figure.measure({ "pidstat", "1", "1" }, { runs = 3 }) / 2 -- it reads at the start, too
  compare("prstat, a further sample", sample, pidstat, "pidstat")
  local _, _, none = figure.measure({ kstat, "-p", "unix:0" })
  local each = (all - none) / n
  figure.print("memory of a process", ("%.2f KB"):format(each), "-", "-", "under 2 KB", each < 2)
  figure.print("processes", tostring(n), "-", "-", "-", nil)
end

local ok, message = pcall(measure)
os.execute("kill " .. table.concat(sleepers, " "))
assert(ok, message)
