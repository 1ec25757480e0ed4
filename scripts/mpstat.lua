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
local ticks = require("kstat.ticks")

local function selector(module, name, instance)
  return assert(kstat.selector({ module = module, instance = instance, name = name, class = "misc" }))
end

local unpack = table.unpack or unpack
local cpus, cpu_vm = selector("cpu", "sys"), selector("cpu", "vm")
local all_sys, all_vm = selector("unix", "sys", 0), selector("unix", "vm", 0)

-- Each column's title, its width and the statistics that it adds up; those of memory are in kstats of their own.
local COUNTS = {
  { "minf", 4, "hat_fault", "as_fault", memory = true }, { "mjf", 3, "maj_fault", memory = true },
  { "xcal", 4, "xcalls" }, { "intr", 5, "intr" }, { "ithr", 4, "intrthread" }, { "csw", 4, "pswitch" },
  { "icsw", 4, "inv_swtch" }, { "migr", 4, "cpumigrate" }, { "smtx", 4, "mutex_adenters" },
  { "srw", 4, "rw_rdfails", "rw_wrfails" }, { "syscl", 5, "syscall" },
}
local TIMES = { { "usr", 4, "user" }, { "sys", 3, "kernel" }, { "wt", 3, "wait" }, { "idl", 3, "idle" } }

-- Each row has the time of its own CPUs, in ticks of 10 ms.
local RATES = {}
for i, column in ipairs(COUNTS) do
  RATES[i] = column[1]
end
local per_tick = ticks.corrector(RATES, function(row) return row.sze end, 100)

local function memory_figures()
  local list = {}
  for _, column in ipairs(COUNTS) do
    list[column[1]] = column.memory and { "rate", column[3], column[4] } or nil
  end
  return kstat.figures(list)
end

-- without: a column that comes from elsewhere.
local function cpu_figures(without)
  local all = { "rate", "cpu_ticks_stolen" }
  for _, column in ipairs(TIMES) do
    all[#all + 1] = "cpu_ticks_" .. column[3]
  end
  local list = { sze = { "count" }, ticks = all }
  all = { unpack(all, 2) }
  for _, column in ipairs(TIMES) do
    list[column[1]] = { "percent", "cpu_ticks_" .. column[3], of = all }
  end
  for _, column in ipairs(COUNTS) do
    list[column[1]] = not column.memory and column[1] ~= without and { "rate", column[3], column[4] } or nil
  end
  return kstat.figures(list)
end

-- A row for each CPU, or one for all. The machine's kstats have more statistics on Linux than a CPU's.
local function from(options, ks)
  local linux = ks:lookup("unix", 0, "vm") ~= nil
  local whole = options.aggregate or #ks:select(cpus) == 1
  local list = { { cpus, each = not options.aggregate, figures = cpu_figures(linux and whole and "csw" or nil) } }
  if linux and whole then
    list[2] = { all_vm, figures = memory_figures() }
    list[3] = { all_sys, figures = kstat.figures({ csw = { "rate", "pswitch" } }) }
  elseif options.aggregate then
    list[2] = { cpu_vm, figures = memory_figures() }
  elseif not linux then
    list[2] = { { module = "cpu", instance = "row", name = "vm" }, figures = memory_figures() }
  end
  list.fields, list.finish = { SET = 0 }, per_tick
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
  optional = true,
  name = "mpstat", about = "What each CPU does.", columns = columns, from = from, squeeze = true, blank = false,
  repeat_header = 19, operands = false,
  note = "Linux does not count icsw, migr, smtx, srw and syscl, and minf and mjf only for the machine (-a); csw of " ..
    "a\nCPU needs /proc/schedstat: these are \"-\". ithr are softirqs.",
  options = {
    { "a", "aggregate", help = "all CPUs together (they are one processor set)" },
    { "p", "sets", help = "the processor set of each CPU (not known: -)" },
    { "q", "quiet", help = "no messages about changes (there are none)" },
  },
  select = { cpus, cpu_vm, all_vm, all_sys },
})
