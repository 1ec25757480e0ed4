--- The resources of a machine and what kstat.use.limits names of each, measured over an interval.
--
-- @module kstat.use.resources
local tool = require("kstat.tool")

local resources = {}

--- The kstats that are needed. They name classes rather than modules where a module would ask for more (cgroup).
-- @table select
resources.select = {
  { module = "cpu", name = "/^(sys|sched|throttle|softnet)$/", class = "misc" }, { class = "pressure" },
  { module = "unix", instance = 0, name = "/^(meminfo|vm_events|tables)$/" },
  { module = "intr", name = "MCE", class = "interrupts" }, { module = "edac", name = "mc*", class = "memory" },
  { class = "disk" }, { name = "*,dev", class = "device" }, { class = "device_queue" }, { class = "device_error" },
  { class = "device_state" }, { module = "zfs/*", name = "state" }, { class = "fs" },
  { module = "/^(ext4|btrfs)$/", class = "fs_detail" },
  { module = "link", class = "net" }, { class = "qdisc" }, { module = "tcp", name = "/^tcp(_ext)?$/" },
  { module = "conntrack" }, { module = "neighbour" }, { class = "cgroup" }, { class = "cgroup_memory" },
}

-- --- figures of a kstat, each nil if it has none -------------------------------------------------

-- What is there now: a number, or what `kind` says. Captures may hold anything.
local function now(k, statistic, kind)
  local value = k and k:now():get(statistic)
  return type(value) == (kind or "number") and value or nil
end

-- What was counted in the interval: the sum of the statistics that there are.
local function count(k, ...)
  local sum
  for _, statistic in ipairs({ ... }) do
    local n = k and k:get(statistic)
    sum = type(n) == "number" and (sum or 0) + math.max(n, 0) or sum
  end
  return sum
end

-- The sum over kstats.
local function sum_of(list, ...)
  local sum
  for _, k in ipairs(list) do
    local n = count(k, ...)
    sum = n and (sum or 0) + n or sum
  end
  return sum
end

local function per_second(k, ...)
  local n = count(k, ...)
  return n and k.elapsed and k.elapsed > 0 and n / k.elapsed or nil
end

local function percent(part, of)
  return part and of and of > 0 and 100 * part / of or nil
end

-- The share of the interval that a counter of nanoseconds says. Captures do not know its unit, so rate() is no help.
local function share(k, statistic)
  local n = per_second(k, statistic)
  return n and math.min(n / 1e7, 100)
end

-- --- CPU and memory ----------------------------------------------------------------------------

local BUSY, IDLE = { "cpu_nsec_user", "cpu_nsec_kernel", "cpu_nsec_stolen" }, { "cpu_nsec_idle", "cpu_nsec_wait" }
local unpack = table.unpack or unpack

local function waiting(d)
  local mean
  local list = d:select("cpu::sched")
  for _, k in ipairs(list) do
    local n = per_second(k, "wait_nsec")
    mean = n and (mean or 0) + n / 1e9 / #list or mean
  end
  return mean
end

local function throttled(d)
  local most
  for _, k in ipairs(d:select("cpu::throttle")) do
    local n = count(k, "core_throttle_count", "package_throttle_count")
    most = n and math.max(most or 0, n) or most
  end
  return most
end

local function cpu(d, add)
  local list = d:select("cpu::sys")
  local busy, idle, stolen = sum_of(list, unpack(BUSY)), sum_of(list, unpack(IDLE)), sum_of(list, "cpu_nsec_stolen")
  local all = busy and idle and busy + idle
  add("cpu", "all", {
    busy = percent(busy, all), steal = percent(stolen, all), waiting = waiting(d),
    pressure = share(d:lookup("pressure", 0, "cpu"), "some_nsec"),
    ["machine checks"] = count(d:lookup("intr", 0, "MCE"), "hard"), throttled = throttled(d),
  })
end

local function memory(d, add)
  local info, events, pressure = d:lookup("unix", 0, "meminfo"), d:lookup("unix", 0, "vm_events"),
    d:lookup("pressure", 0, "memory")
  local controllers = d:select("edac::mc*")
  local total, available = now(info, "MemTotal"), now(info, "MemAvailable")
  add("memory", "all", {
    used = percent(total and available and total - available, total),
    pressure = share(pressure, "some_nsec"), ["all stalled"] = share(pressure, "full_nsec"),
    ["swapped out"] = per_second(events, "pswpout"), ["oom kills"] = count(events, "oom_kill"),
    uncorrected = sum_of(controllers, "ue_count"), corrected = sum_of(controllers, "ce_count"),
  })
  local swap, free = now(info, "SwapTotal"), now(info, "SwapFree")
  if swap and swap > 0 then
    add("swap", "all", { used = percent(free and swap - free, swap) })
  end
end

-- --- disks and file systems ----------------------------------------------------------------------

local function missing_disks(d, k)
  local degraded = now(d:lookup(k.module, k.instance, k.name .. ",array"), "degraded")
  local status = d:lookup(k.module, k.instance, k.name .. ",status")
  local required, active = now(status, "disks_required"), now(status, "disks_active")
  return degraded or required and active and required - active
end

local function disk(d, add, k, stalled)
  local function beside(what)
    return d:lookup(k.module, k.instance, k.name .. "," .. what)
  end
  local busy, waits, serves = k:rate("rtime"), k:rate("wlentime"), k:rate("rlentime")
  busy = busy and math.min(100 * busy, 100)
  local queue = waits and serves and waits + serves
  local rotational = now(beside("dev"), "rotational") == 1
  local state = d:lookup("zfs/" .. k.name, 0, "state")
  add("disk", k.name, {
    [rotational and "busy rotational" or "busy"] = busy, queue = queue,
    ["queue full"] = percent(queue, now(beside("queue"), "nr_requests")),
    ["all stalled"] = busy and stalled and busy >= stalled / 2 and stalled or nil,
    ["failed requests"] = count(d:lookup(k.module .. "err", k.instance, k.name .. ",err"), "Hard Errors",
      "Transport Errors"),
    ["disks missing"] = missing_disks(d, k), ["paths failed"] = now(beside("map"), "devices_failed"),
    ["pool not online"] = k.module == "zfs" and state and (now(state, "state", "string") == "ONLINE" and 0 or 1) or nil,
  })
end

local function disks(d, add)
  local stalled = share(d:lookup("pressure", 0, "io"), "full_nsec")
  for _, k in ipairs(d:select({ class = "disk" })) do
    local size = now(d:lookup(k.module, k.instance, k.name .. ",detail"), "size")
    if k.type == "io" and not tool.passed_over[k.module] and size ~= 0 then
      disk(d, add, k, stalled)
    end
  end
end

-- These are read only by their nature.
local READ_ONLY = { squashfs = true, iso9660 = true, udf = true, erofs = true, cramfs = true, romfs = true }

-- Whether a file system that was mounted to be written cannot be; nil if that is not known.
local function stopped_writing(k)
  local is, options = now(k, "read_only"), now(k, "options", "string")
  if not is or not options then
    return nil
  end
  local meant = ("," .. options .. ","):find(",ro,", 1, true) or READ_ONLY[now(k, "fs_type", "string") or ""]
  return is == 1 and not meant and 1 or 0
end

local function file_system(d, add, k, detailed)
  local used, available = now(k, "used"), now(k, "available")
  local space = percent(used, used and available and used + available)
  local inodes = percent(now(k, "inodes_used"), now(k, "inodes"))
  local answered, writable = now(k, "answered"), now(k, "read_only") ~= 1
  local detail = d:lookup("ext4", 0, now(k, "device_name", "string") or "")
  detailed[detail and detail.name or ""] = true
  add("fs", now(k, "mount_point", "string") or k.name, {
    [writable and "space" or "space, read only"] = space, inodes = writable and inodes or nil,
    ["space full"] = writable and space or nil, ["inodes full"] = writable and inodes or nil,
    errors = now(detail, "errors"),
    ["read only"] = stopped_writing(k), ["no answer"] = answered and 1 - answered,
  })
end

-- What a btrfs counts belongs to no single mount; nor that of a file system mounted in another namespace.
local function file_systems(d, add)
  local detailed = {}
  for _, k in ipairs(d:select({ class = "fs" })) do
    file_system(d, add, k, detailed)
  end
  for _, k in ipairs(d:select({ class = "fs_detail" })) do
    if not (k.module == "ext4" and detailed[k.name]) then
      add("fs", k.module .. " " .. k.name, { errors = now(k, "errors"),
        ["devices missing"] = now(k, "devices_missing") })
    end
  end
end

-- --- the network -----------------------------------------------------------------------------

local function link(d, add, k)
  local r, w = count(k, "rbytes64") or count(k, "rbytes"), count(k, "obytes64") or count(k, "obytes")
  local speed = now(k, "ifspeed")
  local bytes = r and w and (now(k, "link_duplex") == 2 and math.max(r, w) or r + w)
  local packets = count(k, "ipackets64", "opackets64") or count(k, "ipackets", "opackets")
  local dropped = sum_of({ k, (d:lookup("qdisc", 0, k.name)) }, "norcvbuf", "noxmtbuf", "drops")
  if dropped and k.elapsed and dropped < k.elapsed then
    dropped = 0
  end
  add("link", k.name, {
    speed = speed and speed > 0 and k.elapsed and percent(bytes and 8 * bytes, speed * k.elapsed) or nil,
    dropped = dropped == 0 and 0 or percent(dropped, packets and dropped and packets + dropped),
    errors = count(k, "ierrors", "oerrors"), ["carrier changes"] = count(k, "carrier_changes"),
  })
end

local function network(d, add)
  for _, k in ipairs(d:select({ class = "net" })) do
    if now(k, "admin_state") ~= 0 then
      link(d, add, k)
    end
  end
  local extended = d:lookup("tcp", 0, "tcp_ext")
  add("network", "all", {
    ["backlog dropped"] = sum_of(d:select("cpu::softnet"), "dropped"),
    ["listen overflows"] = count(extended, "ListenOverflows") or
      count(d:lookup("tcp", 0, "tcp"), "listenDrop", "listenDropQ0"),
  })
end

-- --- the kernel's tables, and control groups ------------------------------------------------------

local function tables(d, add)
  local k, conntrack = d:lookup("unix", 0, "tables"), d:lookup("conntrack", 0, "nf_conntrack")
  local function add_table(name, entries, most, refused)
    if entries and most then
      local used = percent(entries, most)
      add("table", name, { entries = used, full = used, refused = refused })
    end
  end
  local threads, pids = now(k, "threads_max"), now(k, "pid_max")
  add_table("files", now(k, "files"), now(k, "files_max"))
  add_table("pids", now(k, "threads"), threads and pids and math.min(threads, pids) or threads or pids)
  add_table("ptys", now(k, "ptys"), now(k, "ptys_max"))
  add_table("conntrack", now(conntrack, "entries"), now(conntrack, "entries_max"),
    count(conntrack, "drop", "early_drop"))
  for _, neighbours in ipairs(d:select("neighbour:::")) do
    add_table(neighbours.name, now(neighbours, "entries"), now(neighbours, "entries_max"),
      count(neighbours, "table_fulls"))
  end
end

local function group(d, add, k)
  local memory_max, pids_max, quota = now(k, "memory_max"), now(k, "pids_max"), now(k, "cpu_nsec_max")
  if not (memory_max or pids_max or quota) then
    return
  end
  local used, idle = now(k, "memory"), now(d:lookup("cgroup_memory", k.instance, k.name), "inactive_file")
  local allowed = percent(quota, now(k, "cpu_nsec_period")) -- percent of one CPU
  local at = percent(used and math.max(used - (idle or 0), 0), memory_max)
  local cpu_used = per_second(k, "cpu_nsec")
  local hits = count(k, "memory_max_events")
  add("cgroup", k.name, {
    memory = at, cpu = percent(cpu_used and cpu_used / 1e7, allowed), pids = percent(now(k, "pids"), pids_max),
    ["memory pressure"] = memory_max and share(k, "memory_nsec_waiting"),
    ["memory stalled"] = memory_max and share(k, "memory_nsec_stalled"),
    ["at limit"] = hits and at and (at >= 90 and hits or 0),
    throttled = quota and (percent(count(k, "cpu_throttled"), count(k, "cpu_periods")) or 0),
    ["pids refused"] = pids_max and count(k, "pids_max_events"), ["oom kills"] = count(k, "oom_kills"),
  })
end

local function groups(d, add)
  for _, k in ipairs(d:select({ class = "cgroup" })) do
    group(d, add, k)
  end
end

--- Measures all resources over an interval, in an order that does not change.
-- @tparam difference d
-- @treturn {table,...} `resource` and `name` of each, and `values`: what kstat.use.limits names, as far as it is known
function resources.measure(d)
  local list = {}
  local function add(resource, name, values)
    list[#list + 1] = { resource = resource, name = name, values = values }
  end
  for _, part in ipairs({ cpu, memory, disks, file_systems, network, tables, groups }) do
    part(d, add)
  end
  return list
end

return resources
