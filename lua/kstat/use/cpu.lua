--- The CPUs, as kstatlua use measures them.
--
-- @module kstat.use.cpu
local culprits = require("kstat.use.culprits")
local figures = require("kstat.use.figures")

local count, percent, sum_of = figures.count, figures.percent, figures.sum_of

local limits = {
  { "cpu", "utilization", "busy", unit = "%", warning = 90, file = "/proc/stat",
    reason = "All time but idle, of all CPUs. New work finds a CPU at once only while some are idle." },
  { "cpu", "saturation", "pressure", unit = "%", critical = 10, file = "/proc/pressure/cpu: some",
    reason = "Share of the time in which some thread was ready and had no CPU. Short peaks stay below." },
  { "cpu", "saturation", "waiting", unit = "per CPU", critical = 1, file = "/proc/schedstat: run_delay",
    reason = "Mean number of threads that waited for each CPU: from 1 on work takes twice its time." },
  { "cpu", "saturation", "steal", unit = "%", critical = 10, file = "/proc/stat: steal",
    reason = "The hypervisor gave this time to other machines while work was ready here." },
  { "cpu", "errors", "machine checks", unit = "", critical = 1, file = "/proc/interrupts: MCE",
    reason = "The hardware found an error of a CPU, a cache, a bus or memory." },
  { "cpu", "errors", "throttled", unit = "", critical = 1,
    file = "/sys/devices/system/cpu/cpu*/thermal_throttle",
    reason = "A core or chip was slowed down because it was too hot: its cooling fails. The most of any CPU." },
}

local BUSY, IDLE = { "cpu_nsec_user", "cpu_nsec_kernel", "cpu_nsec_stolen" }, { "cpu_nsec_idle", "cpu_nsec_wait" }
local unpack = table.unpack or unpack

local function waiting(d)
  local mean
  local list = d:select("cpu::sched")
  for _, k in ipairs(list) do
    local n = figures.per_second(k, "wait_nsec")
    mean = n and (mean or 0) + n / 1e9 / #list or mean
  end
  return mean
end

local function measure(d, add)
  local list = d:select("cpu::sys")
  local busy, idle, stolen = sum_of(list, unpack(BUSY)), sum_of(list, unpack(IDLE)), sum_of(list, "cpu_nsec_stolen")
  local all = busy and idle and busy + idle
  local throttled, hot = figures.most(d:select("cpu::throttle"), function(k)
    return count(k, "core_throttle_count", "package_throttle_count")
  end)
  local users = culprits.cpu(d)
  add("cpu", "all", {
    busy = percent(busy, all), steal = percent(stolen, all), waiting = waiting(d),
    pressure = figures.share(d:lookup("pressure", 0, "cpu"), "some_nsec"),
    ["machine checks"] = count(d:lookup("intr", 0, "MCE"), "hard"), throttled = throttled,
  }, { busy = users, waiting = users, pressure = users, throttled = hot and "cpu" .. hot.instance })
end

return {
  limits = limits, measure = measure, processes = true,
  select = { { module = "cpu", name = "/^(sys|sched|throttle)$/", class = "misc" },
    { module = "pressure", name = "cpu", class = "pressure" },
    { module = "intr", name = "MCE", class = "interrupts" } },
}
