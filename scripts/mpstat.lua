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

-- Each column's title, its width and the statistics that it adds up.
local COUNTS = {
  { "minf", 4, vm = { "hat_fault", "as_fault" } }, { "mjf", 3, vm = { "maj_fault" } }, { "xcal", 4, { "xcalls" } },
  { "intr", 5, { "intr" } }, { "ithr", 4, { "intrthread" } }, { "csw", 4, { "pswitch" } },
  { "icsw", 4, { "inv_swtch" } },
  { "migr", 4, { "cpumigrate" } }, { "smtx", 4, { "mutex_adenters" } }, { "srw", 4, { "rw_rdfails", "rw_wrfails" } },
  { "syscl", 5, { "syscall" } },
}
local TIMES = { { "usr", 4, "user" }, { "sys", 3, "kernel" }, { "wt", 3, "wait" }, { "idl", 3, "idle" } }

-- The statistics per second, added up; nil if there is none of them.
local function rates(k, statistics)
  local sum
  for _, statistic in ipairs(statistics) do
    local rate = k:rate(statistic)
    sum = rate and (sum or 0) + rate or sum
  end
  return sum
end

local function add(row, field, value)
  row[field] = value and (row[field] or 0) + value or row[field]
end

-- Adds what a CPU did to a row. vm: the kstat of its faults, if it has any.
local function add_cpu(row, k, vm)
  for _, column in ipairs(COUNTS) do
    if not column.vm or vm then
      add(row, column[1], rates(column.vm and vm or k, column.vm or column[3]))
    end
  end
  for _, column in ipairs(TIMES) do
    add(row, column[3], k:get("cpu_ticks_" .. column[3]))
  end
  row.stolen = (row.stolen or 0) + (k:get("cpu_ticks_stolen") or 0)
end

-- Turns ticks into percent.
local function finish(row)
  local all = row.stolen
  for _, column in ipairs(TIMES) do
    all = all + (row[column[3]] or 0)
  end
  for _, column in ipairs(TIMES) do
    row[column[1]] = row[column[3]] and all > 0 and 100 * row[column[3]] / all or nil
  end
  return row
end

local function rows(d, _, _, options)
  local machine = d:lookup("unix", 0, "vm") -- Linux
  local list, sum = {}, { SET = 0, sze = 0 }
  for i, k in ipairs(d:select(cpus)) do
    local row = options.aggregate and sum or { CPU = k.instance }
    add_cpu(row, k, not machine and d:lookup("cpu", k.instance, "vm") or nil)
    sum.sze = sum.sze + 1
    list[i] = not options.aggregate and finish(row) or nil
  end
  if machine and sum.sze > 0 and (options.aggregate or sum.sze == 1) then
    local all, row = d:lookup("unix", 0, "sys"), list[1] or sum
    add_cpu(row, machine, machine)
    row.csw = row.csw or all and all:rate("pswitch")
  end
  return options.aggregate and { finish(sum) } or list
end

local function columns(options)
  local list = { { options.aggregate and "SET" or "CPU", width = 3, align = "right", format = "%d" } }
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
  repeat_header = 19,
  options = {
    { "a", "aggregate", help = "all CPUs together (they are one processor set)" },
    { "p", "sets", help = "the processor set of each CPU (not known: -)" },
    { "q", "quiet", help = "no messages about changes (there are none)" },
  },
  select = { cpus, selector("cpu", "vm"), selector("unix", "vm"), selector("unix", "sys") },
})
