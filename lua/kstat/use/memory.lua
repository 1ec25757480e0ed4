--- Memory and swap space, as kstatlua use measures them.
-- @module kstat.use.memory
local culprits = require("kstat.use.culprits")
local figures = require("kstat.use.figures")

local count, now, percent, per_second, share, sum_of = figures.count, figures.now, figures.percent, figures.per_second,
  figures.share, figures.sum_of

local limits = {
  { "memory", "utilization", "used", unit = "%", warning = 90, file = "/proc/meminfo: MemTotal, MemAvailable",
    reason = "Neither caches that can be dropped count, nor huge pages, which are set aside for programs that ask " ..
      "for them. With the rest used, programs have to swap." },
  { "memory", "saturation", "pressure", unit = "%", warning = 20, critical = 40,
    file = "/proc/pressure/memory: some",
    reason = "Share of the time in which some thread waited for memory: reclaim, swap, pages read again." },
  { "memory", "saturation", "all stalled", unit = "%", warning = 10, critical = 20,
    file = "/proc/pressure/memory: full",
    reason = "Share of the time in which all work waited for memory and nothing went on." },
  { "memory", "saturation", "stalled allocations", unit = "per s", warning = 10, critical = 100, quiet = true,
    file = "/proc/vmstat: allocstall",
    reason = "Times that who asked for memory had to find it first, where the kernel does not tell pressure." },
  { "memory", "saturation", "swapped out", unit = "pages/s", warning = 1, critical = 100,
    file = "/proc/vmstat: pswpout",
    reason = "Memory was short: less than a quarter is available, or somebody waited for it. Otherwise somebody " ..
      "swaps idle pages out ahead of time. A few pages may have been idle for long; many are missed soon." },
  { "memory", "saturation", "swapped in", unit = "pages/s", warning = 10, critical = 1000, quiet = true,
    file = "/proc/vmstat: pswpin",
    reason = "Memory was short, as above, and somebody waited until these pages were read. Otherwise pages come " ..
      "back that somebody swapped out ahead of time." },
  { "memory", "saturation", "from other nodes", unit = "%", warning = 10, quiet = true,
    file = "/sys/devices/system/node/node*/numastat",
    reason = "Share of the pages that a node had to get from another one, because it had none left: memory or " ..
      "programs are unevenly spread. Less than a thousand a second are not counted." },
  { "memory", "errors", "oom kills", unit = "", critical = 1, file = "/proc/vmstat: oom_kill",
    reason = "A process was killed for want of memory, of the machine or of its control group.",
    nobody = "it was the memory of the machine, or its group is gone" },
  { "memory", "errors", "uncorrected", unit = "", critical = 1, file = "/sys/devices/system/edac/mc: ue_count",
    reason = "Memory returned wrong data." },
  { "memory", "errors", "corrected", unit = "", warning = 1, file = "/sys/devices/system/edac/mc: ce_count",
    reason = "Memory had an error that was corrected: such modules fail more and more." },
  { "swap", "utilization", "used", unit = "%", warning = 80, file = "/proc/meminfo: SwapTotal, SwapFree",
    reason = "When swap space is full, the next shortage of memory kills processes." },
}

local ALLOCSTALL = { "allocstall", "allocstall_dma", "allocstall_dma32", "allocstall_normal", "allocstall_movable",
  "allocstall_device" }
local unpack = table.unpack or unpack

-- The share of pages that another node than the one that was wanted gave, of the node with most of them.
local function foreign(d)
  return figures.most(figures.select(d, "lgrp::lgrp*"), function(k)
    local wanted, elsewhere = per_second(k, "numa_hit"), per_second(k, "numa_foreign")
    return wanted and elsewhere and (elsewhere >= 1000 and percent(elsewhere, wanted + elsewhere) or 0)
  end)
end

-- What programs can use that do not ask for huge pages, in bytes: all, and how much of it is left.
local function memory_of(info)
  local total, available = now(info, "MemTotal"), now(info, "MemAvailable")
  local pages, size = now(info, "HugePages_Total"), now(info, "Hugepagesize")
  local huge = now(info, "Hugetlb") or pages and size and pages * size or 0
  return total and math.max(total - huge, 0), available
end

local SHORT, WAITS = 25, 1 -- percent of memory that is available, of the time that somebody waits

local function measure(d, add)
  local info, events, pressure = d:lookup("unix", 0, "meminfo"), d:lookup("unix", 0, "vm_events"),
    d:lookup("pressure", 0, "memory")
  local controllers = figures.select(d, "edac::mc*")
  local total, available = memory_of(info)
  local waits = share(pressure, "some_nsec")
  local left = percent(available, total)
  local is_short = not left or left < SHORT or (waits or 0) >= WAITS
  local users, swapping = culprits.swapping(d, true), culprits.swapping(d)
  local swapped_out, swapped_in = per_second(events, "pswpout"), per_second(events, "pswpin")
  local elsewhere, node = foreign(d)
  local function broken(what)
    local n, k = figures.most(controllers, function(k) return count(k, what) end)
    return n and k.name
  end
  add("memory", "all", {
    used = left and math.max(100 - left, 0), pressure = waits,
    ["stalled allocations"] = not waits and per_second(events, unpack(ALLOCSTALL)),
    ["all stalled"] = share(pressure, "full_nsec"),
    ["swapped out"] = swapped_out and is_short and swapped_out, ["swapped in"] = swapped_in and is_short and swapped_in,
    ["from other nodes"] = elsewhere, ["oom kills"] = count(events, "oom_kill"),
    uncorrected = sum_of(controllers, "ue_count"), corrected = sum_of(controllers, "ce_count"),
  }, {
    used = culprits.memory(d), pressure = users, ["all stalled"] = users, ["stalled allocations"] = users,
    ["swapped out"] = swapping, ["swapped in"] = swapping, ["from other nodes"] = node and "node " .. node.instance,
    uncorrected = broken("ue_count"), corrected = broken("ce_count"),
    ["oom kills"] = culprits.groups(d, function(k) return count(k, "oom_kills") end),
  })
  local swap, free = now(info, "SwapTotal"), now(info, "SwapFree")
  if swap and swap > 0 then
    add("swap", "all", { used = percent(free and swap - free, swap) })
  end
end

return {
  limits = limits, measure = measure, processes = true,
  select = { { module = "pressure", name = "memory", class = "pressure" },
    { module = "unix", instance = 0, name = "/^(meminfo|vm_events)$/", class = "/^(vm|misc)$/" },
    { module = "lgrp", name = "lgrp*", class = "misc" },
    { module = "edac", name = "mc*", class = "memory" }, culprits.select_groups },
}
