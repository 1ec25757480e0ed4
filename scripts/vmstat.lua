--- vmstat: threads, memory, paging, disks and CPUs in one line, as Solaris shows them.
--
-- kthr    r ready to run, b waiting for a device, w swapped out    averages of the interval
-- memory  swap free virtual memory, free memory                    KB, averages
-- page    re reclaims, mf minor faults                             1/s
--         pi po read and written, fr freed, de wanted              KB/s; sr pages examined, 1/s
-- disk    operations of up to four disks                           1/s
-- faults  in interrupts, sy system calls, cs context switches      1/s
-- cpu     us sy id: percent in user mode, in the kernel, idle
--
-- Linux does not count w, re, de, sy, nor the faults of executables and files apart (-p): these are "-".
-- SPDX-License-Identifier: MIT
local kstat = require("kstat")
local tool = require("kstat.tool")

local MOST_DISKS = 4

local function selector(module, name, class)
  return assert(kstat.selector({ module = module, name = name, class = class }))
end

-- Linux counts for the machine as a whole, illumos for each CPU.
local cpu_sys, cpu_vm = selector("cpu", "sys", "misc"), selector("cpu", "vm", "misc")
local disks = selector(nil, nil, "disk")
local interrupts = { selector(nil, nil, "controller"), selector(nil, nil, "interrupts") }
local PAGING = { "execpgin", "execpgout", "execfree", "anonpgin", "anonpgout", "anonfree", "fspgin", "fspgout",
  "fsfree" }

-- --- what the line is made of ------------------------------------------------------------------

local vm_figures = kstat.figures({
  re = { "rate", "pgrec" }, mf = { "rate", "hat_fault", "as_fault" }, pi = { "rate", "pgpgin" },
  po = { "rate", "pgpgout" }, fr = { "rate", "dfree" }, sr = { "rate", "scan" },
  swapin = { "rate", "swapin" }, pgswapin = { "rate", "pgswapin" },
  swapout = { "rate", "swapout" }, pgswapout = { "rate", "pgswapout" }, pagesize = { "now", "pagesize" },
})

local paging_figures -- made when they are first needed
local function figures_of_paging()
  local list = {
    re = { "rate", "pgrec" }, mf = { "rate", "hat_fault", "as_fault" }, fr = { "rate", "dfree" },
    sr = { "rate", "scan" }, pagesize = { "now", "pagesize" },
  }
  for _, statistic in ipairs(PAGING) do
    list[statistic] = { "rate", statistic }
  end
  return kstat.figures(list)
end

-- unit: in which the times of the CPUs are counted.
local made
local function sys_figures(unit)
  made = made or kstat.figures({
    ["in"] = { "rate", "intr" }, syscall = { "rate", "syscall" }, cs = { "rate", "pswitch" },
    user = { "delta", unit .. "user" }, kernel = { "delta", unit .. "kernel" },
    idle = { "delta", unit .. "idle", unit .. "wait" }, stolen = { "delta", unit .. "stolen" },
  })
  return made -- one machine has one unit
end

local memory_figures = kstat.figures({ swap = { "mean", "swap_avail" }, free = { "mean", "freemem" } })
local queue_figures = kstat.figures({
  r = { "mean", "runque" }, b = { "mean", "waiting" }, w = { "mean", "swpque" },
})

-- Adds figures of every kstat that the selector finds; of none the row stays what it is.
local function add_all(row, d, spec, figures)
  for k in d:each(spec) do
    row = k:figures(figures, row)
  end
  return row
end

-- The means of a kstat of sums; where no second ended in the interval the last ones stand.
local last = {}
local function means_of(d, name, figures)
  local means = d:figures("unix", 0, name, figures) or {}
  if next(means) or not d:lookup("unix", 0, name) then
    last[name] = means
  end
  return last[name] or means
end

-- Turns figures in pages into KB.
local function in_kilobytes(row, names, per_page)
  for _, name in ipairs(names) do
    row[name] = row[name] and row[name] * per_page
  end
end

-- --- the line -------------------------------------------------------------------------------

local function choose_disks(options, ks)
  local chosen = {}
  local named = {}
  for _, name in ipairs(options.operands) do
    local k = not named[name] and ks:lookup(nil, nil, name)
    chosen[#chosen + 1] = k and k.type == "io" and k or nil
    named[name] = true
  end
  if #options.operands == 0 then
    for k in ks:each(disks) do
      if #chosen < MOST_DISKS and k.type == "io" and not tool.passed_over[k.module] then
        chosen[#chosen + 1] = k
      end
    end
  end
  return chosen
end

-- Two characters: s0 for sd0, sa for sda, n1 for nvme1n1.
local function short_name(k)
  if #k.module == 2 and k.name:sub(1, 2) == k.module and k.name:find("^%w", 3) then
    return k.name:sub(1, 1) .. k.name:sub(3, 3)
  end
  return k.name:sub(1, 1) .. k.instance % 10
end

local shown = {} -- the disks

local PAGES = { "swap", "free", "fr", "pi", "po", "de" }

local function line(d, options)
  paging_figures = paging_figures or options.paging and figures_of_paging()
  local figures = options.paging and paging_figures or vm_figures
  local row = d:figures("unix", 0, "vm", figures) -- Linux
  local linux = row ~= nil
  row = row or add_all({}, d, cpu_vm, figures)
  local per_page = (row.pagesize or 4096) / 1024
  local memory = means_of(d, "vminfo", memory_figures)
  row.swap, row.free = memory.swap, memory.free
  local misc = not linux and d:lookup("unix", 0, "system_misc")
  row.de = misc and misc:now():get("deficit") or nil
  in_kilobytes(row, PAGES, per_page)
  if options.paging then
    in_kilobytes(row, PAGING, per_page)
    return row
  end
  local queues = means_of(d, "sysinfo", queue_figures)
  row.r, row.b, row.w = queues.r, queues.b, not linux and queues.w or nil
  row.si, row.so = row.swapin or row.pgswapin, row.swapout or row.pgswapout
  if linux then
    d:figures("unix", 0, "sys", sys_figures("cpu_nsec_"), row)
  else
    add_all(row, d, cpu_sys, sys_figures("cpu_ticks_"))
  end
  local all = row.user and row.kernel and row.idle and row.user + row.kernel + row.idle + (row.stolen or 0)
  if all and all > 0 then
    row.us, row.sy, row.id = 100 * row.user / all, 100 * row.kernel / all, 100 * row.idle / all
  end
  for _, disk in ipairs(shown) do
    disk.figures = disk.figures or kstat.figures({ [disk.field] = { "rate", "reads", "writes" } })
    d:figures(disk.module, disk.instance, disk.name, disk.figures, row)
  end
  return row
end

-- Titles, the fields they show and their widths.
local CLASSIC = {
  { "r", 2 }, { "b", 1 }, { "w", 1 }, { "swap", 6 }, { "free", 5 }, { "re", 3 }, { "mf", 3 }, { "pi", 2 }, { "po", 2 },
  { "fr", 2 }, { "de", 2 }, { "sr", 2 }, { "disk1", 2 }, { "disk2", 2 }, { "disk3", 2 }, { "disk4", 2 }, { "in", 4 },
  { "sy", 4, "syscall" }, { "cs", 4 }, { "us", 2 }, { "sy", 2 }, { "id", 2 },
}
local PAGING_COLUMNS = {
  { "swap", 7 }, { "free", 5 }, { "re", 3 }, { "mf", 3 }, { "fr", 3 }, { "de", 3 }, { "sr", 3 },
  { "epi", 4, PAGING[1] }, { "epo", 4, PAGING[2] }, { "epf", 4, PAGING[3] }, { "api", 4, PAGING[4] },
  { "apo", 4, PAGING[5] }, { "apf", 4, PAGING[6] }, { "fpi", 4, PAGING[7] }, { "fpo", 4, PAGING[8] },
  { "fpf", 4, PAGING[9] },
}
local SWAPPING = { re = "si", mf = "so" }

local function columns(options, ks)
  if options.interrupts then
    return {
      { "interrupt", width = 12 }, { "total", width = 10, format = "%.0f" }, { "rate", width = 8, format = "%.0f" },
    }
  elseif options.summary then
    return {
      { "", "count", key = "count", width = 9, format = "%.0f", align = "right" },
      { "", "what", key = "what", width = 1, align = "left" },
    }
  end
  shown = {}
  for i, k in ipairs(not options.paging and choose_disks(options, ks) or {}) do
    shown[i] = { module = k.module, instance = k.instance, name = k.name, field = "disk" .. i, short = short_name(k) }
  end
  local list = {}
  for i, c in ipairs(options.paging and PAGING_COLUMNS or CLASSIC) do
    local title = options.swapping and SWAPPING[c[1]] or c[1]
    local field = c[3] or title
    local disk = title:match("^disk(%d)$")
    if disk then
      local k = shown[tonumber(disk)]
      title, field = k and k.short or "--", k and title or "nothing"
      list[i] = { title, field, key = k and k.name or "disk" .. disk, width = c[2], format = "%.0f" }
    else
      list[i] = { title, field, key = field, width = c[2], format = "%.0f" }
    end
  end
  list[1].align = "right"
  return list
end

local function heading(options)
  if options.interrupts or options.summary then
    return nil
  elseif options.paging then
    return "     memory           page          executable      anonymous      filesystem "
  end
  return " kthr      memory            page            disk          faults      cpu"
end

-- --- -i and -s --------------------------------------------------------------------------------

local function interrupt_rows(d)
  local ruler = { text = ("-"):rep(32) }
  local rows, total, rates = { ruler }, 0, 0
  local misc = d:lookup("unix", 0, "system_misc")
  local clock = misc and misc:get("clk_intr")
  if clock then
    rows[2] = { interrupt = "clock", total = clock, rate = misc:rate("clk_intr") }
    total, rates = clock, rows[2].rate
  end
  for k in d:each(interrupts[1], interrupts[2]) do
    if k.type == "intr" then
      local times = 0
      for _, n in k:stats() do -- hard, soft, watchdog, spurious, multiple_service
        times = times + n
      end
      rows[#rows + 1] = { interrupt = k.name, total = times, rate = times / k.elapsed }
      total, rates = total + times, rates + times / k.elapsed
    end
  end
  rows[#rows + 1] = ruler
  rows[#rows + 1] = { interrupt = "Total", total = total, rate = rates }
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
  local sys, vm = d:lookup("unix", 0, "sys"), d:lookup("unix", 0, "vm")
  local linux = sys and vm
  sys, vm = linux and { sys } or d:select(cpu_sys), linux and { vm } or d:select(cpu_vm)
  local names = d:lookup("unix", 0, "ncstats")
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
  published = false,
  name = "vmstat", about = "Threads, memory, paging, disks, faults and CPUs in one line.",
  operands = "disk",
  note = "Linux does not count w, re, de and sy, nor the faults of executables and files apart (-p): these are \"-\".",
  options = {
    { "i", "interrupts", help = "how many interrupts each device had since boot" },
    { "s", "summary", help = "events since boot" },
    { "S", "swapping", help = "si, so (swap-ins and swap-outs) in place of re, mf" },
    { "p", "paging", help = "paging of executables, of anonymous memory and of files" },
    { "q", "quiet", help = "no messages about changes (there are none)" },
  },
  check = function(options)
    if options.interrupts or options.summary then
      options.interval, options.count = nil, nil
    end
    return #options.operands > MOST_DISKS and ("no more than %d disks fit"):format(MOST_DISKS) or nil
  end,
  select = function(options)
    if options.interrupts then
      return { interrupts[1], interrupts[2], selector("unix", "system_misc", "misc") }
    end
    return {
      selector("unix", nil, "misc"), selector("unix", "vminfo", "vm"), cpu_sys, cpu_vm,
      not options.summary and not options.paging and disks or nil,
    }
  end,
  heading = heading, columns = columns, squeeze = true, repeat_header = 19, blank = false,
  rows = function(d, _, _, options)
    if options.interrupts then
      return interrupt_rows(d)
    elseif options.summary then
      return summary_rows(d)
    end
    return { line(d, options) }
  end,
})
