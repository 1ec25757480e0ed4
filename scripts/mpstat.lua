--- mpstat: what each CPU does, as Solaris shows it.
--
-- minf mjf   minor and major faults             xcal   calls from other CPUs
-- intr ithr  interrupts; those run as threads   csw icsw  context switches; involuntary ones
-- migr       threads from other CPUs            smtx srw  mutexes, reader/writer locks not got at once
-- syscl      system calls; all of these 1/s     usr sys wt idl  percent of the time
--
-- Linux does not count icsw, migr, smtx, srw, syscl; faults, and on kernels without /proc/schedstat csw, only
-- for the machine (-a): these are "-". ithr are softirqs.
-- SPDX-License-Identifier: MIT
local kstat = require("kstat")

local function selector(module, name)
  return assert(kstat.selector({ module = module, name = name, class = "misc" }))
end

local cpus = selector("cpu", "sys")

-- Each column's title, its width and the statistics that it adds up; those of memory are in kstats of their own.
local COUNTS = {
  { "minf", 4, "hat_fault", "as_fault", memory = true }, { "mjf", 3, "maj_fault", memory = true },
  { "xcal", 4, "xcalls" }, { "intr", 5, "intr" }, { "ithr", 4, "intrthread" }, { "csw", 4, "pswitch" },
  { "icsw", 4, "inv_swtch" }, { "migr", 4, "cpumigrate" }, { "smtx", 4, "mutex_adenters" },
  { "srw", 4, "rw_rdfails", "rw_wrfails" }, { "syscl", 5, "syscall" },
}
local TIMES = { { "usr", 4, "user" }, { "sys", 3, "kernel" }, { "wt", 3, "wait" }, { "idl", 3, "idle" } }

local sys_figures, vm_figures = { stolen = { "delta", "cpu_ticks_stolen" } }, {}
for _, column in ipairs(COUNTS) do
  local figures = column.memory and vm_figures or sys_figures
  figures[column[1]] = { "rate", column[3], column[4] }
end
for _, column in ipairs(TIMES) do
  sys_figures[column[3]] = { "delta", "cpu_ticks_" .. column[3] }
end
sys_figures, vm_figures = kstat.figures(sys_figures), kstat.figures(vm_figures)

-- Turns ticks into percent.
local function finish(row)
  local user, kernel, wait, idle = row.user, row.kernel, row.wait, row.idle
  local all = (user or 0) + (kernel or 0) + (wait or 0) + (idle or 0) + (row.stolen or 0)
  if all > 0 then
    row.usr, row.sys = user and 100 * user / all, kernel and 100 * kernel / all
    row.wt, row.idl = wait and 100 * wait / all, idle and 100 * idle / all
  end
end

local function sum_of(list)
  local sum = { SET = 0, sze = #list }
  for _, row in ipairs(list) do
    for field, n in pairs(row) do
      if type(n) == "number" then
        sum[field] = (sum[field] or 0) + n
      end
    end
  end
  return sum
end

local without_faults = {} -- CPUs whose kstat of memory is there and empty, as on Linux

local function rows(d, _, _, options)
  local list = assert(d:rows(cpus, sys_figures))
  local whole = options.aggregate or #list == 1 -- rows that stand for the machine, of which Linux knows more
  local machine = whole and d:lookup("unix", 0, "vm")
  for _, row in ipairs(machine and {} or list) do
    local i = row.instance
    if without_faults[i] == nil then
      local k = d:lookup("cpu", i, "vm")
      without_faults[i] = k and not (k:get("hat_fault") or k:get("as_fault") or k:get("maj_fault"))
    end
    if not without_faults[i] then
      d:figures("cpu", i, "vm", vm_figures, row)
    end
  end
  if options.aggregate then
    list = { sum_of(list) }
  end
  if machine and list[1] then
    local row, all = machine:figures(vm_figures, list[1]), d:lookup("unix", 0, "sys")
    row.csw = row.csw or all and all:rate("pswitch")
  end
  for _, row in ipairs(list) do
    finish(row)
  end
  return list
end

local function columns(options)
  local list = { { "CPU", "instance", width = 3, align = "right", format = "%d", kind = "label" } }
  if options.aggregate then
    list[1][1], list[1][2] = "SET", "SET"
  end
  for _, column in ipairs(COUNTS) do
    list[#list + 1] = { column[1], width = column[2], format = "%.0f" }
  end
  for _, column in ipairs(TIMES) do
    list[#list + 1] = { column[1], width = column[2], format = "%.0f", unit = "%" }
  end
  if options.sets then
    list[#list + 1] = { "set", width = 3 } -- no kstat tells the processor set of a CPU
  elseif options.aggregate then
    list[#list + 1] = { "sze", width = 3, format = "%d", about = "CPUs" }
  end
  return list
end

return kstat.report({
  published = false,
  name = "mpstat", about = "What each CPU does.", columns = columns, rows = rows, squeeze = true, blank = false,
  repeat_header = 19, operands = false,
  note = "Linux does not count icsw, migr, smtx, srw and syscl, and minf and mjf only for the machine (-a); csw of " ..
    "a\nCPU needs /proc/schedstat: these are \"-\". ithr are softirqs.",
  options = {
    { "a", "aggregate", help = "all CPUs together (they are one processor set)" },
    { "p", "sets", help = "the processor set of each CPU (not known: -)" },
    { "q", "quiet", help = "no messages about changes (there are none)" },
  },
  select = { cpus, selector("cpu", "vm"), selector("unix", "vm"), selector("unix", "sys") },
})
