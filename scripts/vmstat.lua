--- vmstat: threads, memory, paging, disks and CPUs in one line, as Solaris shows them.
--
-- kthr    r ready to run, b waiting for a device, w swapped out    averages of the interval if the system counts
-- memory  swap free virtual memory, free memory                    KB; these, else as they are at its end
-- page    re reclaims, mf minor faults                             1/s
--         pi po read and written, fr freed, de wanted              KB/s; sr pages examined, 1/s
-- disk    operations of up to four disks                           1/s
-- faults  in interrupts, sy system calls, cs context switches      1/s
-- cpu     us sy id: percent in user mode, in the kernel, idle
--
-- Rates, but for those of disks, are per second of the time that the CPUs counted, as on Solaris. Named disks come
-- first; others take the places that are left.
-- Linux does not count w, re, de, sy, nor the faults of executables and files apart (-p): these are "-".
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local kstat = require("kstat")
local machine = require("kstat.base.machine")
local running = require("kstat.base.running")
local ticks = require("kstat.figures.ticks")
local unknown = require("kstat.base.unknown")
local variable = require("kstat.base.environment").variable

local MOST_DISKS = 4
local unpack = table.unpack or unpack
local rates, sum = ticks.rates, ticks.sum

local function selector(module, name, class, instance)
  return assert(kstat.selector({ module = module, instance = instance, name = name, class = class }))
end

local cpu_sys, cpu_vm = selector("cpu", "sys", "misc"), selector("cpu", "vm", "misc")
local disks, details = selector(nil, nil, "disk"), selector(nil, nil, "disk_detail")
local interrupts = { selector(nil, nil, "controller"), selector(nil, nil, "interrupts") }

-- The kstats `sys` and `vm`, as far as there are any, and true if they are Linux's: it counts for the machine as a
-- whole, illumos for each CPU. Either file of /proc may be missing.
local function counters(x)
  local sys, vm, of_cpus = x:lookup("unix", 0, "sys"), x:lookup("unix", 0, "vm"), x:select(cpu_sys)
  if vm or sys or #of_cpus == 0 then
    return { sys }, { vm }, true
  end
  return of_cpus, x:select(cpu_vm), false
end

-- --- the disks ----------------------------------------------------------------------------------

local function line_about(name, ks)
  local names = {}
  for k in ks:each(disks) do
    names[k.name] = true
  end
  return not names[name] and unknown.line("there is no disk", name, names) or nil
end

-- By the letters and the number that a name begins with, as illumos has it: pools stand between disks.
local function before(a, b)
  local driver, number = a.name:match("^(%l*)(%d*)")
  local other_driver, other_number = b.name:match("^(%l*)(%d*)")
  if driver ~= other_driver then
    return driver < other_driver
  elseif number ~= other_number then
    return (tonumber(number) or 0) < (tonumber(other_number) or 0)
  end
  return a.name < b.name
end

-- The disks of a chain, in the order of their columns.
local function all_disks(ks)
  local list = {}
  for k in ks:each(disks) do
    list[#list + 1] = k.type == "io" and k or nil
  end
  if not ks:lookup("unix", 0, "vm") then
    table.sort(list, before)
  end
  return list
end

-- Those that are named, and others as far as there is room; none if nothing has the names.
local function choose_disks(options, ks)
  local list, wanted, room, lines = all_disks(ks), {}, MOST_DISKS, {}
  for _, name in ipairs(options.operands) do
    local k = ks:lookup(nil, nil, name)
    if not k or k.type ~= "io" then
      lines[#lines + 1] = line_about(name, ks)
    elseif not wanted[name] then
      wanted[name], room = true, room - 1
      list[#list + 1] = k.class ~= "disk" and k or nil
    end
  end
  running.missing(lines, #options.operands)
  local chosen, others = {}, #options.operands == 0 or room < MOST_DISKS
  for _, k in ipairs(list) do
    local other = not wanted[k.name] and others and room > 0 and not machine.passed_over[k.module]
    room = other and room - 1 or room
    chosen[#chosen + 1] = (wanted[k.name] or other) and k or nil
  end
  return chosen
end

-- Two characters: s0 for sd0, sa for sda, n1 for nvme1n1; of what is no disk of a driver the first and the third.
local function short_name(k)
  if k.name:sub(1, #k.module) ~= k.module then
    return k.name:sub(1, 1) .. k.name:sub(3, 3)
  elseif #k.module == 2 and k.name:sub(1, 2) == k.module and k.name:find("^%w", 3) then
    return k.name:sub(1, 1) .. k.name:sub(3, 3)
  end
  return k.name:sub(1, 1) .. k.instance % 10
end

local shown -- the disks

local function show_disks(options, ks)
  shown = {}
  for i, k in ipairs(choose_disks(options, ks)) do
    shown[i] = { module = k.module, instance = k.instance, name = k.name, short = short_name(k), key = "disk" .. i }
  end
end

-- --- the line -----------------------------------------------------------------------------------

-- Each column has its title, its width, and the statistic whose rate it shows, of `sys`, `vm`, or `vm` in `pages`; and
-- another that illumos adds (`also`). `linux` is what that has in its place: false, nothing, which is not asked for, as
-- a kstat is searched for each name that it lacks. Others show what line_rows() knows by their `key`, or title. `under`
-- is the word above; `roomy`, the width on Linux if the window has the room; `swapping`, what -S has in its place.
local CLASSIC = {
  { "r", 2 }, { "b", 1 }, { "w", 1 },
  { "swap", 6, under = "memory" }, { "free", 5, under = "memory" },
  { "re", 3, vm = "pgrec", linux = false, roomy = 4, under = "page",
    swapping = { "si", 3, vm = "swapin", linux = "pgswapin", roomy = 5, under = "page" } },
  { "mf", 3, vm = "as_fault", also = "hat_fault", roomy = 6, under = "page",
    swapping = { "so", 3, vm = "swapout", linux = "pgswapout", roomy = 5, under = "page" } },
  { "pi", 2, pages = "pgpgin", roomy = 5, under = "page" }, { "po", 2, pages = "pgpgout", roomy = 5, under = "page" },
  { "fr", 2, pages = "dfree", roomy = 5, under = "page" }, { "de", 2, under = "page" },
  { "sr", 2, vm = "scan", roomy = 5, under = "page" },
  { "disk1", 2, roomy = 4, under = "disk", disk = 1 }, { "disk2", 2, roomy = 4, under = "disk", disk = 2 },
  { "disk3", 2, roomy = 4, under = "disk", disk = 3 }, { "disk4", 2, roomy = 4, under = "disk", disk = 4 },
  { "in", 4, sys = "intr", roomy = 6, under = "faults" },
  { "sy", 4, sys = "syscall", linux = false, key = "syscall", roomy = 6, under = "faults" },
  { "cs", 4, sys = "pswitch", roomy = 6, under = "faults" },
  { "us", 2 }, { "sy", 2 }, { "id", 2 },
}
local PAGING = {
  { "swap", 7, under = "memory" }, { "free", 5, under = "memory" },
  { "re", 3, vm = "pgrec", linux = false, swapping = { "si", 3 } },
  { "mf", 3, vm = "as_fault", also = "hat_fault", swapping = { "so", 3 } },
  { "fr", 3, pages = "dfree" }, { "de", 3 }, { "sr", 3, vm = "scan" },
}
for title, statistic in ("epi execpgin epo execpgout epf execfree api anonpgin apo anonpgout apf anonfree " ..
  "fpi fspgin fpo fspgout fpf fsfree"):gmatch("(%l+) (%l+)") do
  PAGING[#PAGING + 1] = { title, 4, pages = statistic, key = statistic,
    linux = statistic:find("^anonpg") and statistic or false }
end

-- Of this machine it is known without a reading; a capture or a recorded tree may be another's.
local function kb_per_page(x, replay)
  local vm = x:lookup("unix", 0, "vm")
  local bytes = vm and core.pagesize
  if vm and (replay or variable("KSTAT_PROC")) then
    bytes = vm:get("pagesize")
  end
  return (bytes or 4096) / 1024
end

local kb -- of a page

local means = {} -- the last ones

-- The mean of a sum that grew in `updates` additions, one a second; nil: there is no such kstat. Without any in the
-- interval it is what it was last.
local function mean(field, updates, total)
  if not updates then
    return nil
  elseif updates > 0 then
    means[field] = total and math.floor(total / updates)
  end
  return means[field]
end

local function scaled(value, factor)
  return value and value * factor
end

-- Memory: swap, free, and de, which Linux does not count.
local function add_memory(row, d, linux)
  local vminfo, meminfo = d:lookup("unix", 0, "vminfo"), d:lookup("unix", 0, "meminfo")
  local misc = not linux and d:lookup("unix", nil, "system_misc")
  if vminfo then
    local updates, available, unused = vminfo:get("updates", "swap_avail", "freemem")
    row.swap, row.free = scaled(mean("swap", updates, available), kb), scaled(mean("free", updates, unused), kb)
  elseif meminfo then
    local available, of_swap, unused = meminfo:get("MemAvailable", "SwapFree", "MemFree")
    row.swap, row.free = scaled(sum(available, of_swap), 1 / 1024), scaled(unused, 1 / 1024)
  end
  row.de = misc and scaled(misc:now():get("deficit"), kb) or nil
end

-- Threads: r, b, w. Linux does not add up who waits for a device, nor without /proc/schedstat who waits for a CPU.
local function add_threads(row, d, sys, linux, ncpus)
  local sysinfo, updates, ready, waiting, swapped = d:lookup("unix", 0, "sysinfo"), nil, nil, nil, nil
  if linux and sys[1] then
    row.r, row.b = sys[1]:get("procs_running", "procs_blocked")
    row.r = row.r and math.max(0, row.r - (ncpus or 1))
  end
  if sysinfo then
    updates, ready, waiting, swapped = sysinfo:get("updates", "runque", "waiting", "swpque")
  end
  row.r, row.b = ready and mean("r", updates, ready) or row.r, waiting and mean("b", updates, waiting) or row.b
  row.w = not linux and mean("w", updates, swapped) or nil
end

local asked -- the columns that show rates, and the names of their statistics, of `sys` and of `vm`

local function ask(c, linux)
  local of = c.sys and asked.sys or (c.vm or c.pages) and asked.vm
  if of and not (linux and c.linux == false) then
    of[#of + 1] = { key = c.key or c[1], pages = c.pages, also = c.also and not linux }
    of.names[#of.names + 1] = linux and c.linux or c.sys or c.vm or c.pages
    of.names[#of.names + 1] = not linux and c.also or nil
  end
end

local function add_rates(row, kstats, of, factor)
  local values, n, of_pages = { rates(kstats, unpack(of.names)) }, 0, factor * kb
  for i = 1, #of do
    local c = of[i]
    n = c.also and n + 2 or n + 1
    local value = c.also and sum(values[n - 1], values[n]) or values[n]
    row[c.key] = value and value * (c.pages and of_pages or factor)
  end
end

local function line_rows(d, options)
  local sys, vm, linux = counters(d)
  local user, kernel, idle, wait, rate, steal = ticks.shares(sys, linux and ticks.NANOSECONDS or ticks.TICKS)
  local row, misc = {}, linux and d:lookup("unix", 0, "system_misc")
  local ncpus = misc and misc:get("ncpus") or not linux and #sys
  local factor = ticks.factor(d.elapsed, rate, ncpus)
  add_memory(row, d, linux)
  add_rates(row, vm, asked.vm, factor)
  if not options.paging then
    row.us, row.sy, row.id, row.st = user, kernel, sum(idle, wait), steal
    add_threads(row, d, sys, linux, ncpus)
    add_rates(row, sys, asked.sys, factor)
    for i = 1, #shown do
      local k = d:lookup(shown[i].module, shown[i].instance, shown[i].name)
      row[shown[i].key] = k and sum(k:rate("reads", "writes"))
    end
  end
  return { row }
end

local wider = {} -- by how much what is under each word is wider than on Solaris

-- The widths of memory on Linux, in which free memory in KB, and swap, have all their digits; and whether the window is
-- wide enough for roomy columns beside them.
local function widths_on_linux(ks, options)
  local k = ks:lookup("unix", 0, "system_pages")
  local pages = k and k:get("physmem")
  local most = pages and pages * kb or 0
  local widths, total = { free = #("%.0f"):format(most), swap = #("%.0f"):format(2 * most) }, 0
  for _, c in ipairs(CLASSIC) do
    total = total + 1 + math.max(c[2], widths[c[1]] or c.roomy or 0)
  end
  return widths, not options.paging and kstat.picture.terminal().width >= total
end

local function columns(options, ks)
  if options.interrupts then
    return {
      { "interrupt", width = 12 }, { "total", width = 10, format = "%.0f" }, { "rate", width = 8, format = "%.0f" },
    }
  elseif options.events then
    return {
      { "", "count", key = "count", width = 9, format = "%.0f", align = "right" },
      { "", "what", key = "what", width = 1, align = "left" },
    }
  end
  kb = kb_per_page(ks, ks:is_replay())
  if not options.paging then
    show_disks(options, ks)
  end
  local list, widths, is_roomy = {}, {}, false
  if ks:lookup("unix", 0, "vm") then
    widths, is_roomy = widths_on_linux(ks, options)
  end
  wider, asked = {}, { sys = { names = {} }, vm = { names = {} } }
  for i, c in ipairs(options.paging and PAGING or CLASSIC) do
    c = options.swapping and c.swapping or c
    ask(c, ks:lookup("unix", 0, "vm"))
    local title, width = c[1], math.max(c[2], widths[c[1]] or 0, is_roomy and c.roomy or 0)
    if c.disk then
      title = shown[c.disk] and shown[c.disk].short or "--"
    end
    if c.under then
      wider[c.under] = (wider[c.under] or 0) + width - c[2]
    end
    list[i] = { title, c.key or c[1], key = c.key or c[1], width = width, format = "%.0f" }
  end
  list[1].align = "right"
  list[#list + 1] = options.steal and not options.paging and { "st", width = 2, format = "%.0f" } or nil
  return list
end

local function heading(options)
  if options.interrupts or options.events then
    return nil
  end
  local text = options.paging and "     memory           page          executable      anonymous      filesystem " or
    " kthr      memory            page            disk          faults      cpu"
  for word, columns_more in pairs(wider) do
    local left = math.floor(columns_more / 2)
    text = text:gsub(word, (" "):rep(left) .. "%0" .. (" "):rep(columns_more - left))
  end
  return text
end

-- --- -i and -s --------------------------------------------------------------------------------

local function interrupt_rows(d)
  local ruler = { text = ("-"):rep(32) }
  local rows, total, changes = { ruler }, 0, 0
  local misc = d:lookup("unix", 0, "system_misc")
  local clock = misc and misc:get("clk_intr")
  if clock then
    rows[2] = { interrupt = "clock", total = clock, rate = misc:rate("clk_intr") }
    total, changes = clock, rows[2].rate
  end
  for k in d:each(interrupts[1], interrupts[2]) do
    if k.type == "intr" then
      local times = 0
      for _, n in k:stats() do -- hard, soft, watchdog, spurious, multiple_service
        times = times + n
      end
      rows[#rows + 1] = { interrupt = k.name, total = times, rate = times / k.elapsed }
      total, changes = total + times, changes + times / k.elapsed
    end
  end
  rows[#rows + 1] = ruler
  rows[#rows + 1] = { interrupt = "Total", total = total, rate = changes }
  return rows
end

local SUMMARY = {
  { "vm", "swap ins", "swapin" }, { "vm", "swap outs", "swapout" }, { "vm", "pages swapped in", "pgswapin" },
  { "vm", "pages swapped out", "pgswapout" },
  { "vm", "total address trans. faults taken", "hat_fault", "as_fault" }, { "vm", "page ins", "pgin" },
  { "vm", "page outs", "pgout" }, { "vm", "pages paged in", "pgpgin" }, { "vm", "pages paged out", "pgpgout" },
  { "vm", "total reclaims", "pgrec" }, { "vm", "reclaims from free list", "pgfrec" },
  { "vm", "micro (hat) faults", "hat_fault" }, { "vm", "minor (as) faults", "as_fault" },
  { "vm", "major faults", "maj_fault" }, { "vm", "copy-on-write faults", "cow_fault" },
  { "vm", "zero fill page faults", "zfod" }, { "vm", "pages examined by the clock daemon", "scan" },
  { "vm", "revolutions of the clock hand", "rev" }, { "vm", "pages freed by the clock daemon", "dfree" },
  { "sys", "forks", "sysfork" }, { "sys", "vforks", "sysvfork" }, { "sys", "execs", "sysexec" },
  { "sys", "cpu context switches", "pswitch" }, { "sys", "device interrupts", "intr" }, { "sys", "traps", "trap" },
  { "sys", "system calls", "syscall" }, { "names" }, { "cpu", "user   cpu", "user" },
  { "cpu", "system cpu", "kernel" }, { "cpu", "idle   cpu", "idle" }, { "cpu", "wait   cpu", "wait" },
}

-- The sum over kstats of what one or two statistics counted; nil if there is none.
local function count(kstats, statistic, other)
  local total
  for _, k in ipairs(kstats) do
    for _, name in ipairs({ statistic, other }) do
      local v = k:get(name)
      total = v and (total or 0) + v or total
    end
  end
  return total
end

local function summary_rows(d)
  local sys, vm, linux = counters(d)
  local names = d:lookup("unix", 0, "dnlcstats") or d:lookup("unix", 0, "ncstats")
  local rows = {}
  for i, entry in ipairs(SUMMARY) do
    local kind, row = entry[1], { what = entry[2] }
    if kind == "names" then
      local hits, misses = names and names:get("hits"), names and names:get("misses")
      local all = hits and hits + misses
      row.count, row.what = all, ("total name lookups (cache hits %s)"):format(all and
        ("%.0f%%"):format(100 * hits / math.max(all, 1)) or "-")
    elseif kind == "cpu" then -- in ticks of 10 ms
      local time = count(sys, (linux and "cpu_nsec_" or "cpu_ticks_") .. entry[3])
      row.count = time and linux and time / 1e7 or time
    else
      row.count = count(kind == "vm" and vm or sys, entry[3], entry[4])
    end
    rows[i] = row
  end
  return rows
end

-- --- the report -------------------------------------------------------------------------------

return kstat.report({
  optional = true,
  name = "vmstat", about = "Threads, memory, paging, disks, faults and CPUs in one line.",
  operands = "disk",
  note = "Linux does not count w, re, de and sy, nor the faults of executables and files apart (-p): these are \"-\".",
  options = {
    { "i", "interrupts", help = "how many interrupts each device had since boot" },
    { "s", "events", help = "events since boot" },
    { "S", "swapping", help = "si, so (swap-ins and swap-outs) in place of re, mf" },
    { "p", "paging", help = "paging of executables, of anonymous memory and of files" },
    { "q", "quiet", help = "no messages about changes (there are none)" },
    { nil, "steal", help = "st: percent of the CPUs' time that a hypervisor gave to other machines" },
  },
  check = function(options)
    if options.interrupts or options.events then
      options.interval, options.count = nil, nil
    end
    return #options.operands > MOST_DISKS and ("no more than %d disks fit"):format(MOST_DISKS) or nil
  end,
  select = function(options)
    if options.interrupts then
      return { interrupts[1], interrupts[2], selector("unix", "system_misc", "misc") }
    end
    return {
      selector("unix", nil, "misc"), selector("unix", "system_pages", "pages"),
      selector("unix", "vminfo", "vm"), selector("unix", "meminfo", "vm"),
      cpu_sys, cpu_vm,
      not options.events and not options.paging and disks or nil,
      not options.events and not options.paging and details or nil,
    }
  end,
  heading = heading, columns = columns, squeeze = true, repeat_header = 19, blank = false,
  rows = function(d, _, _, options)
    return (options.interrupts and interrupt_rows or options.events and summary_rows or line_rows)(d, options)
  end,
})
