--- Disks, as kstatlua use measures them.
--
-- @module kstat.use.disk
local culprits = require("kstat.use.culprits")
local figures = require("kstat.use.figures")
local tool = require("kstat.tool")

local now, percent = figures.now, figures.percent

local limits = {
  { "disk", "utilization", "busy", unit = "%", file = "/proc/diskstats: io_ticks",
    reason = "Without a limit: a disk that serves many requests at once is not full at 100 %." },
  { "disk", "utilization", "busy rotational", unit = "%", warning = 90,
    file = "/proc/diskstats: io_ticks, /sys/block/*/queue/rotational",
    reason = "The same of a disk with turning parts, which serves one request after the other." },
  { "disk", "saturation", "queue", unit = "requests", file = "/proc/diskstats: time_in_queue",
    reason = "Mean number of requests in the queue and in service. Without a limit: disks differ." },
  { "disk", "saturation", "queue full", unit = "%", critical = 90, quiet = true,
    file = "/proc/diskstats: time_in_queue, /sys/block/*/queue/nr_requests",
    reason = "The queue has no room for more: programs wait before their requests are even queued." },
  { "disk", "saturation", "all stalled", unit = "%", critical = 5, quiet = true, file = "/proc/pressure/io: full",
    reason = "Share of the time in which all work waited for I/O of the machine. It counts for disks that were busy " ..
      "for half of that time or more, and had two requests at a time or more: one program that reads and waits " ..
      "stalls nobody else." },
  { "disk", "saturation", "slow", unit = "ms", warning = 200, critical = 1000, quiet = true,
    file = "/proc/diskstats: times of reads and writes",
    reason = "Mean time from a request to its answer, of five or more requests a second." },
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

local function missing_disks(d, k)
  local degraded = now(d:lookup(k.module, k.instance, k.name .. ",array"), "degraded")
  local status = d:lookup(k.module, k.instance, k.name .. ",status")
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

-- Whether the controller of an NVMe disk does not work: 1 or 0; nil: it is not known.
local function is_not_live(d, k)
  local controller = k.module == "nvme" and k.name:match("^(nvme%d+)n%d+$")
  local state = controller and now(d:lookup("nvme", tonumber(controller:match("%d+")), controller .. ",controller"),
    "state", "string")
  return state and (state == "live" and 0 or 1) or nil, state
end

-- The share of the interval in which all work waited for I/O of the machine, in percent.
local function stalled_in(d)
  return figures.share(d:lookup("pressure", 0, "io"), "full_nsec")
end

-- How many bytes make somebody known as the one who uses a disk, even if not all were looked at.
local function half_of(k)
  local moved = figures.count(k, "nread", "nwritten")
  return moved and moved > 0 and moved / 2 or math.huge
end

-- What the limits are compared with, of one disk, and who is to blame. kept: see measure() of kstat.use.resources.
local function one(d, k, stalled, prev, kept)
  stalled = stalled or stalled_in(d)
  local function beside(what)
    return d:lookup(k.module, k.instance, k.name .. "," .. what)
  end
  local busy, waits, serves = k:rate("rtime"), k:rate("wlentime"), k:rate("rlentime")
  busy = busy and math.min(100 * busy, 100)
  local queue = waits and serves and waits + serves
  local rotational = now(beside("dev"), "rotational") == 1
  local state = d:lookup("zfs/" .. k.name, 0, "state")
  local is_dead, life = is_not_live(d, k)
  local users = culprits.io(d, prev, kept and not kept.has_io and half_of(k) or nil)
  return {
    [rotational and "busy rotational" or "busy"] = busy, queue = queue,
    ["queue full"] = percent(queue, now(beside("queue"), "nr_requests")),
    ["all stalled"] = busy and stalled and queue and busy >= stalled / 2 and queue >= 2 and stalled or nil,
    slow = service_time(k), ["not live"] = is_dead,
    ["failed requests"] = figures.count(d:lookup(k.module .. "err", k.instance, k.name .. ",err"), "Hard Errors",
      "Transport Errors"),
    ["disks missing"] = missing_disks(d, k), ["paths failed"] = now(beside("map"), "devices_failed"),
    ["pool not online"] = k.module == "zfs" and state and (now(state, "state", "string") == "ONLINE" and 0 or 1) or nil,
  }, { ["busy rotational"] = users, ["queue full"] = users, ["all stalled"] = users, slow = users, ["not live"] = life }
end

local function measure(d, add, is_new, prev, kept)
  local stalled = stalled_in(d)
  for _, k in ipairs(figures.select(d, "class disk")) do
    local size = now(d:lookup(k.module, k.instance, k.name .. ",detail"), "size")
    if k.type == "io" and not tool.passed_over[k.module] and size ~= 0 and not is_new(k) then
      local values, who = one(d, k, stalled, prev, kept)
      add("disk", k.name, values, who, k)
    end
  end
end

return {
  limits = limits, measure = measure, one = one, processes = true,
  select = { { module = "pressure", name = "io", class = "pressure" }, { class = "disk" },
    { name = "*,dev", class = "device" }, { class = "device_queue" }, { class = "device_error" },
    { class = "device_state" }, { module = "nvme", class = "controller" },
    { module = "zfs/*", name = "state" }, { class = "cgroup" } },
}
