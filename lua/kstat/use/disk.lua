--- Disks, as kstatlua use measures them.
-- @module kstat.use.disk
local culprits = require("kstat.use.culprits")
local figures = require("kstat.use.figures")
local latency = require("kstat.figures.latency")
local machine = require("kstat.base.machine")

local now, percent = figures.now, figures.percent

local limits = {
  { "disk", "utilization", "busy", unit = "%", file = "/proc/diskstats: io_ticks",
    reason = "Without a limit: a disk that serves many requests at once is not full at 100 %." },
  { "disk", "utilization", "busy rotational", unit = "%", warning = 90,
    file = "/proc/diskstats: io_ticks, /sys/block/*/queue/rotational",
    reason = "The same of a disk with turning parts, which serves one request after the other, while two requests " ..
      "or more are there: with one nobody else waits, and disks of virtual machines say that they turn." },
  { "disk", "saturation", "queue", unit = "requests", file = "/proc/diskstats: time_in_queue",
    reason = "Mean number of requests in the queue and in service. Without a limit: disks differ." },
  { "disk", "saturation", "queue full", unit = "%", critical = 90, quiet = true,
    file = "/proc/diskstats: time_in_queue, /sys/block/*/queue/nr_requests",
    reason = "The queue has no room for more: programs wait before their requests are even queued." },
  { "disk", "saturation", "all stalled", unit = "%", critical = 5, quiet = true, file = "/proc/pressure/io: full",
    reason = "Share of the time in which all work waited for I/O of the machine; where the kernel does not tell it, " ..
      "of the time in which CPUs were idle for that. It counts for disks that were busy for half of that time or " ..
      "more, while two tasks waited at both ends of the interval, or four requests or windows of read-ahead on " ..
      "average: one program that reads ahead and waits stalls nobody else." },
  { "disk", "saturation", "slow", unit = "ms", warning = 200, critical = 1000, quiet = true,
    file = "/proc/diskstats: times of reads and writes",
    reason = "Mean time from a request to its answer, of five or more requests a second." },
  { "disk", "saturation", "slower than in its hour", unit = "times", warning = 10, quiet = true,
    file = "kstatlua latency: time of each request in the device",
    reason = "The time in which 99 % of the reads, or writes, were served, by that of the hour before: of a hundred " ..
      "requests or more, of which the slowest hundredth took 20 ms or more, and a thousand in the hour." },
  { "disk", "errors", "failed requests", unit = "", critical = 1, file = "/sys/block/*/device/ioerr_cnt",
    reason = "Requests ended with an error: the disk, its cable or its controller fails." },
  { "disk", "errors", "not live", unit = "", critical = 1, file = "/sys/class/nvme/nvme*/state",
    reason = "The controller of the disk is being reset, lost its connection, or is dead." },
  { "disk", "errors", "disks missing", unit = "", critical = 1,
    file = "/sys/block/md*/md/degraded, /proc/mdstat",
    reason = "The array lacks disks: the next one that fails may take the data with it." },
  { "disk", "errors", "paths failed", unit = "", critical = 1, file = "/sys/block/dm-*/slaves/*/device/state",
    reason = "Disks or paths below this device do not run." },
  { "disk", "errors", "pool not online", unit = "", critical = 1, file = "/proc/spl/kstat/zfs/*/state",
    reason = "A ZFS pool is degraded, faulted or suspended." },
}

local function beside(d, k, what)
  return d:lookup(k.module, k.instance, k.name .. "," .. what)
end

local function missing_disks(d, k)
  if k.module ~= "md" then
    return nil
  end
  local degraded, status = now(beside(d, k, "array"), "degraded"), beside(d, k, "status")
  local required, active = now(status, "disks_required"), now(status, "disks_active")
  return degraded or required and active and required - active
end

-- Mean milliseconds from a request to its answer; 0 for few requests, nil for a disk without times.
local function service_time(k)
  local waited, served, reads, writes = k:rate("wlentime", "rlentime", "reads", "writes")
  local requests = reads and writes and reads + writes
  if not (waited and served and requests) then
    return nil
  end
  return requests >= 5 and 1000 * (waited + served) / requests or 0
end

local REQUESTS, BEFORE, SLOW = 100, 1000, 20 -- in the interval and in the hour; milliseconds

-- By how many times the slowest hundredth of a disk's reads or writes took longer than in the hour before; nil: nothing
-- measures it, or not for long enough.
local function times_of_hour(d, k, prev)
  local most
  for _, operation in ipairs({ "read", "write" }) do
    local requests = d:lookup("latency", k.instance, ("%s,%s,device"):format(k.name, operation))
    local served, hour = latency.counted(requests), requests and latency.hour(requests, prev)
    if hour and hour.count >= BEFORE then
      local p99 = served and served.count >= REQUESTS and latency.milliseconds(served, 0.99) or 0
      most = math.max(most or 0, p99 >= SLOW and p99 / latency.milliseconds(hour, 0.99) or 0)
    end
  end
  return most
end

-- Whether the controller of an NVMe disk does not work: 1 or 0; nil: it is not known.
local function is_not_live(d, k)
  local controller = k.module == "nvme" and k.name:match("^(nvme%d+)n%d+$")
  local state = controller and now(d:lookup("nvme", tonumber(controller:match("%d+")), controller .. ",controller"),
    "state", "string")
  return state and (state == "live" and 0 or 1) or nil, state
end

-- Who is to blame for what a disk is measured by; life: why its controller does not work.
local function blamed(users, life)
  return { ["busy rotational"] = users, ["queue full"] = users, ["all stalled"] = users, slow = users,
    ["slower than in its hour"] = users,
    ["not live"] = life }
end

-- The share of the interval in which all work waited for I/O of the machine, in percent, and how many tasks did so.
local function stalled_in(d, prev)
  local blocked = figures.lasting(d, prev, { "unix", 0, "sys" }, "procs_blocked")
  local stalled = figures.share(d:lookup("pressure", 0, "io"), "full_nsec")
  if not stalled then
    local cpus = figures.select(d, "cpu::sys")
    local waited, idle = figures.sum_of(cpus, "cpu_nsec_wait"), figures.sum_of(cpus, "cpu_nsec_idle")
    stalled = percent(waited, waited and idle and waited + idle)
  end
  return { share = stalled, blocked = blocked }
end

local DEEP = 4 -- requests, or windows of read-ahead if these take more: one program does not have as many under way

-- The share that counts for a disk: others than one program that reads ahead have to wait for it. queue: requests
local function stalled_by(stalled, busy, queue, k, window)
  if not (busy and stalled.share and queue) then
    return nil
  elseif busy < stalled.share / 2 then
    return false
  end
  local reads, writes, bytes = k:rate("reads", "writes", "nread")
  local is_reading = window and reads and (bytes or 0) > 0 and reads > (writes or 0)
  local ahead = is_reading and 1024 * window * reads / bytes or 1
  return ((stalled.blocked or 0) >= 2 or queue >= DEEP * math.max(1, ahead)) and stalled.share
end

-- How many bytes make somebody known as the one who uses a disk, even if not all were looked at.
local function half_of(k)
  local moved = figures.count(k, "nread", "nwritten")
  return moved and moved > 0 and moved / 2 or math.huge
end

-- What the limits are compared with, of one disk, and who is to blame. kept: see measure() of kstat.use.resources.
local function one(d, k, stalled, prev, kept)
  stalled = stalled or stalled_in(d, prev)
  local busy, waits, serves = k:rate("rtime"), k:rate("wlentime"), k:rate("rlentime")
  busy = busy and math.min(100 * busy, 100)
  local queue = waits and serves and waits + serves
  local rotational = now(beside(d, k, "dev"), "rotational") == 1
  local state = k.module == "zfs" and d:lookup("zfs/" .. k.name, 0, "state") or nil
  local is_dead, life = is_not_live(d, k)
  local is_partly = kept and not kept.has_io -- who used it is known of some alone
  return {
    busy = busy, queue = queue,
    ["busy rotational"] = rotational and queue and queue >= 2 and busy,
    ["queue full"] = percent(queue, now(beside(d, k, "queue"), "nr_requests")),
    ["all stalled"] = stalled_by(stalled, busy, queue, k, now(beside(d, k, "queue"), "read_ahead")),
    slow = service_time(k), ["slower than in its hour"] = times_of_hour(d, k, prev), ["not live"] = is_dead,
    ["failed requests"] = figures.count(d:lookup(k.module .. "err", k.instance, k.name .. ",err"), "Hard Errors",
      "Transport Errors"),
    ["disks missing"] = missing_disks(d, k),
    ["paths failed"] = k.module == "dm" and now(beside(d, k, "map"), "devices_failed") or nil,
    ["pool not online"] = state and (now(state, "state", "string") == "ONLINE" and 0 or 1) or nil,
  }, blamed(culprits.io(d, prev, is_partly and half_of(k) or nil, k), life)
end

local function measure(d, add, is_new, prev, kept)
  local stalled = stalled_in(d, prev)
  for _, k in ipairs(figures.select(d, "class disk")) do
    local size = now(d:lookup(k.module, k.instance, k.name .. ",detail"), "size")
    if k.type == "io" and not machine.passed_over[k.module] and size ~= 0 and not is_new(k) then
      local values, who = one(d, k, stalled, prev, kept)
      add("disk", k.name, values, who, k)
    end
  end
end

return {
  limits = limits, measure = measure, one = one, processes = true,
  -- With its class, a module that is a pattern is the machine's, also where there is no such disk.
  select = { { module = "pressure", name = "io", class = "pressure" }, { class = "disk" },
    { module = "unix", instance = 0, name = "sys", class = "misc" },
    { name = "*,dev", class = "device", reads = "rotational" },
    { class = "device_queue", reads = "nr_requests,read_ahead" },
    { class = "device_error", reads = "Hard Errors,Transport Errors" },
    { class = "device_state" }, latency.disks, { module = "/^nvme$/", class = "controller" },
    { module = "zfs/*", name = "state", class = "misc" },
    culprits.select_groups },
}
