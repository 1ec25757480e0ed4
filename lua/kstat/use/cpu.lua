--- The CPUs, as kstatlua use measures them.
-- @module kstat.use.cpu
local culprits = require("kstat.use.culprits")
local figures = require("kstat.use.figures")
local latency = require("kstat.figures.latency")

local count, percent, sum_of = figures.count, figures.percent, figures.sum_of

local limits = {
  { "cpu", "utilization", "busy", unit = "%", file = "/proc/stat",
    reason = "All time but idle, of all CPUs. Without a limit: where nobody else waits, a busy machine is well." },
  { "cpu", "utilization", "busy while others wait", unit = "%", warning = 90, quiet = true,
    file = "/proc/stat, /proc/pressure/cpu: some",
    reason = "The same while some thread was ready and had no CPU for 40 % of the time." },
  { "cpu", "saturation", "pressure", unit = "%", warning = 75, critical = 90, file = "/proc/pressure/cpu: some",
    reason = "Share of the time in which some thread was ready and had no CPU. Two CPUs that are busy for 60 % of " ..
      "the time at random reach 27 %, for 80 % 57 %. It counts up to the share for which the busiest CPU is busy: " ..
      "who waits beyond that is stopped by the limit of a group." },
  { "cpu", "saturation", "waiting", unit = "per CPU", warning = 2, critical = 4, file = "/proc/schedstat: run_delay",
    reason = "Mean number of threads that waited for each CPU: with 1 work takes twice its time, as it does at " ..
      "random where two CPUs are busy for 75 % of the time." },
  { "cpu", "saturation", "waiting for one", unit = "threads", warning = 4, quiet = true,
    file = "/proc/schedstat: run_delay",
    reason = "Mean number of threads that waited for the CPU with the longest queue: programs may be bound to it." },
  { "cpu", "saturation", "run queue", unit = "ms", warning = 10, quiet = true,
    file = "kstatlua latency: time of each wait for a CPU",
    reason = "99 % of the waits for a CPU were at most as long, of 500 waits or more: what has to answer is late." },
  { "cpu", "saturation", "running", unit = "per CPU", warning = 2, critical = 4, quiet = true,
    file = "/proc/stat: procs_running",
    reason = "Threads that ran or were ready for each CPU, at the begin and at the end of the interval, where the " ..
      "kernel tells neither pressure nor who waited." },
  { "cpu", "saturation", "interrupts of one", unit = "%", warning = 80, critical = 95, quiet = true,
    file = "/proc/stat: irq, softirq",
    reason = "Share of the time that the CPU with most of it spent in interrupts: who is bound to it stands still, " ..
      "and what it does not get done in time is dropped." },
  { "cpu", "saturation", "steal", unit = "%", critical = 10, file = "/proc/stat: steal",
    reason = "The hypervisor gave this time to other machines while work was ready here.",
    nobody = "the hypervisor did it" },
  { "cpu", "utilization", "busiest", unit = "%", quiet = true, file = "/proc/stat: cpu*",
    reason = "All time but idle, of the CPU that has most. Without a limit: one program that never waits fills one." },
  { "cpu", "errors", "machine checks", unit = "", critical = 1, file = "/proc/interrupts: MCE",
    reason = "The hardware found an error of a CPU, a cache, a bus or memory.", nobody = "the hardware did it" },
  { "cpu", "errors", "throttled", unit = "", critical = 1,
    file = "/sys/devices/system/cpu/cpu*/thermal_throttle",
    reason = "A core or chip was slowed down because it was too hot: its cooling fails. The most of any CPU." },
  { "cpu", "errors", "power limited", unit = "", warning = 1,
    file = "/sys/devices/system/cpu/cpu*/thermal_throttle: *_power_limit_count",
    reason = "A core or chip was slowed down because it took more power than its limit. The most of any CPU." },
}

local BUSY, IDLE = { "cpu_nsec_user", "cpu_nsec_kernel", "cpu_nsec_stolen" }, { "cpu_nsec_idle", "cpu_nsec_wait" }
local unpack = table.unpack or unpack
local FULL, NOT_FULL = 90, 75 -- percent: the busiest CPU is told where it is full, and all are not
local WAIT = 40 -- percent of the time
local WAITS = 500

-- How many threads waited on average for each CPU, and for the one with most, which is that.
local function waiting(d)
  local list = figures.select(d, "cpu::sched")
  local function mean(k)
    local n = figures.per_second(k, "wait_nsec")
    return n and n / 1e9
  end
  local sum = 0
  for _, k in ipairs(list) do
    sum = sum + (mean(k) or 0)
  end
  local most, longest = figures.most(list, mean)
  return most and sum / #list, most, longest
end

-- The share for which the busiest CPU was not idle, in percent, and which that is.
local function busiest(list)
  return figures.most(list, function(k)
    local busy, idle = count(k, unpack(BUSY)), count(k, unpack(IDLE))
    return percent(busy, busy and idle and busy + idle)
  end)
end

-- The share that the CPU with most interrupts spent in them, in percent, and what it did: "cpu3 softirq".
local function interrupted(d)
  local share, k = figures.most(figures.select(d, "cpu::time"), function(k)
    return figures.share(k, "nsec_softirq", "nsec_irq")
  end)
  local soft, hard = count(k, "nsec_softirq"), count(k, "nsec_irq")
  return share, share and ("cpu%d %s"):format(k.instance, (hard or 0) > (soft or 0) and "irq" or "softirq")
end

-- The name of a CPU.
local function cpu_of(k)
  return k and "cpu" .. k.instance
end

-- Milliseconds in which 99 % of the waits for any CPU ended; 0 for few of them, nil where nothing measures them.
local function run_queue(d)
  local all = latency.by(d, latency.cpus, function() return "" end)[""]
  return all and (all.count >= WAITS and latency.milliseconds(all, 0.99) or 0)
end

local function measure(d, add, _, prev)
  local list = figures.select(d, "cpu::sys")
  local busy, idle, stolen = sum_of(list, unpack(BUSY)), sum_of(list, unpack(IDLE)), sum_of(list, "cpu_nsec_stolen")
  local all = busy and idle and busy + idle
  local used = percent(busy, all)
  local function slowed(...)
    local names = { ... }
    return figures.most(figures.select(d, "cpu::throttle"), function(k) return count(k, unpack(names)) end)
  end
  local throttled, hot = slowed("core_throttle_count", "package_throttle_count")
  local limited, hungry = slowed("core_power_limit_count", "package_power_limit_count")
  local waits, most, longest = waiting(d)
  local users = culprits.cpu(d, prev)
  local pressure = figures.share(d:lookup("pressure", 0, "cpu"), "some_nsec")
  local of_busiest, one = busiest(list)
  pressure = pressure and math.min(pressure, of_busiest or 100)
  local in_interrupts, interrupts_of = interrupted(d)
  local running = not (pressure or waits) and figures.lasting(d, prev, { "unix", 0, "sys" }, "procs_running")
  add("cpu", "all", {
    busy = used, busiest = of_busiest, steal = percent(stolen, all), waiting = waits, ["waiting for one"] = most,
    pressure = pressure, ["busy while others wait"] = used and (pressure or 0) >= WAIT and used,
    ["machine checks"] = count(d:lookup("intr", 0, "MCE"), "hard"), throttled = throttled,
    ["power limited"] = limited, ["interrupts of one"] = in_interrupts,
    running = running and list[1] and running / #list, ["run queue"] = run_queue(d),
  }, { ["busy while others wait"] = users, running = users, ["run queue"] = users,
    ["interrupts of one"] = interrupts_of, waiting = users, pressure = users,
    busiest = (of_busiest or 0) >= FULL and used < NOT_FULL and cpu_of(one) or nil,
    ["waiting for one"] = cpu_of(longest),
    throttled = cpu_of(hot), ["power limited"] = cpu_of(hungry) })
end

return {
  limits = limits, measure = measure, processes = true,
  select = { { module = "cpu", name = "/^(sys|sched|throttle|time)$/", class = "misc" },
    { module = "unix", instance = 0, name = "sys", class = "misc" },
    { module = "pressure", name = "cpu", class = "pressure" },
    latency.cpus, { module = "/^intr$/", name = "MCE", class = "interrupts" } },
}
