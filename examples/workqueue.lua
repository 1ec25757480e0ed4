-- A work queue that can be watched while it works: how many jobs wait, and how long a job waits and is served.
--
--     kstatlua examples/workqueue.lua 30 &       (or lua5.4, luajit: any Lua that has the module)
--     kstat -p workqueue::jobs 5
--     kstat workqueue::job_ns
--     kstatlua prtop 5                           the queue: wait, actv, wsvc_t, asvc_t
--
-- Usage: workqueue.lua [SECONDS]
local kstat = kstat or require("kstat")
local status = kstat.usage(arg, "[seconds]")
if status then os.exit(status) end

local pub = assert(kstat.publish("workqueue"))

-- The queue itself: a request waits, is served, ends.
local queue = assert(pub:io({ name = "queue", class = "disk" }))

-- Counts of jobs, by kind.
local jobs = assert(pub:named({
  name = "jobs",
  statistics = {
    { name = "small", desc = "jobs of less than a hundred steps" },
    { name = "large", desc = "all others" },
    { name = "backlog", kind = "gauge", desc = "jobs of the current batch that are left" },
    { name = "state", type = "string", value = "starting", desc = "what the worker does" },
  },
}))
local small, large, backlog = jobs:counter("small"), jobs:counter("large"), jobs:counter("backlog")

-- Durations of jobs, in powers of ten with five steps each, as DTrace's llquantize() has them.
local times = assert(pub:histogram({
  name = "job_ns", type = "log10_lin", range_min = 3, range_max = 7, stepping = 5,
  meta = "t_rel", scale = 1e9, fract = true, desc = "service time of a job",
}))

local function work(steps)
  local x = 0
  for i = 1, steps * 100 do
    x = x + i % 7
  end
  return x
end

local seconds = tonumber(arg and arg[1]) or 30
local stop = kstat.hrtime() + seconds

jobs:set("state", "working")
repeat
  local batch = math.random(1, 20)
  for _ = 1, batch do
    queue:waitq_enter()
  end
  for left = batch, 1, -1 do
    backlog:set(left)
    local steps = math.random(1, 200)
    queue:waitq_to_runq()
    local start = kstat.gethrtime()
    work(steps)
    times:add_value(kstat.gethrtime() - start)
    queue:done("read", steps)
    local counter = steps < 100 and small or large
    counter:add()
  end
  backlog:set(0)
until kstat.hrtime() >= stop
jobs:set("state", "done")
