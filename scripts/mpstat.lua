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
local core = require("kstat.core")
local kstat = require("kstat")
local latency = require("kstat.figures.latency")
local ticks = require("kstat.figures.ticks")
local running = require("kstat.base.running")

local function selector(module, name, instance)
  return assert(kstat.selector({ module = module, instance = instance, name = name, class = "misc" }))
end

local CPUS, cpu_vm = { selector("cpu", "sys") }, selector("cpu", "vm")
local all_sys, all_vm = selector("unix", "sys", 0), selector("unix", "vm", 0)
local rates, sum, unpack = ticks.rates, ticks.sum, table.unpack or unpack
local COUNTS = { "minf", "mjf", "xcal", "intr", "ithr", "csw", "icsw", "migr", "smtx", "srw", "syscl" }
local WIDTHS = { minf = 4, mjf = 3, srw = 4, intr = 5, syscl = 5, usr = 4, sys = 3, wt = 3, idl = 3 } -- others: 4

local linux -- whether the machine has kstats of its own, with more statistics than a CPU's
-- What CPUs count besides their time, on Linux the first three: a kstat is searched for each name that it lacks.
local COUNTED = { "xcalls", "intr", "intrthread", "inv_swtch", "cpumigrate", "mutex_adenters", "rw_rdfails",
  "rw_wrfails", "syscall" }

-- The row of CPUs: of their kstats, those of their memory, and those that count switches.
local function row_of(elapsed, sys, vm, switching, has_steal)
  local user, kernel, idle, wait, rate, steal = ticks.shares(sys, ticks.TICKS)
  local n = ticks.factor(elapsed, rate, #sys)
  local hat, as, mjf = rates(vm, "hat_fault", "as_fault", "maj_fault")
  local xcal, intr, ithr, icsw, migr, smtx, readers, writers, syscl =
    rates(sys, unpack(COUNTED, 1, linux and 3 or #COUNTED))
  local csw, minf, srw = rates(switching, "pswitch"), sum(hat, as), sum(readers, writers)
  return {
    sys[1] and sys[1].instance or 0, minf and minf * n, mjf and mjf * n, xcal and xcal * n, intr and intr * n,
    ithr and ithr * n, csw and csw * n, icsw and icsw * n, migr and migr * n, smtx and smtx * n, srw and srw * n,
    syscl and syscl * n, user, kernel, wait, idle, has_steal and steal or nil,
  }
end

-- The milliseconds below which half and 99 percent of the waits for a CPU were; key: the CPU's, "" for all.
local function put_latencies(row, at, waits, key)
  row[at], row[at + 1] = latency.milliseconds(waits[key], 0.5), latency.milliseconds(waits[key], 0.99)
end

-- A row for each CPU, or one for all.
local function rows(d, _, _, options)
  local list, shown = core.select(d, CPUS), {}
  local memory, switching
  if linux and (options.aggregate or #list == 1) then
    memory, switching = { d:lookup("unix", 0, "vm") }, { d:lookup("unix", 0, "sys") }
  elseif linux then
    memory = {}
  elseif options.aggregate then
    memory = d:select(cpu_vm)
  end
  local elapsed, width = d.elapsed, #COUNTS + (options.steal and 6 or 5)
  local waits = options.latency and latency.by(d, latency.cpus, function(k)
    return options.aggregate and "" or k.instance .. (k.host or "")
  end)
  local last = width
  width = width + (waits and 2 or 0)
  if options.aggregate then
    local row = row_of(elapsed, list, memory, switching or list, options.steal)
    row[1], row[width + 1] = 0, not options.sets and list[1] and #list or nil
    if waits then
      put_latencies(row, last + 1, waits, "")
    end
    return { row }
  end
  for i = 1, #list do
    local k = list[i]
    local sys = { k }
    shown[i] = row_of(elapsed, sys, memory or { d:lookup("cpu", k.instance, "vm") }, switching or sys,
      options.steal)
    shown[i][width + (options.sets and 2 or 1)] = k.host
    if waits then
      put_latencies(shown[i], last + 1, waits, k.instance .. (k.host or ""))
    end
  end
  return shown
end

local function columns(options, ks)
  linux = ks:lookup("unix", 0, "vm") ~= nil
  running.warn_later({ options.latency and latency.missing(ks, latency.cpus, "CPUs") or nil })
  local list = { { "CPU", "instance", width = 3, align = "right", format = "%d", kind = "label" } }
  if options.aggregate then
    list[1][1], list[1][2] = "SET", "SET"
  end
  for _, title in ipairs(COUNTS) do
    list[#list + 1] = { title, width = WIDTHS[title] or 4, format = "%.0f" }
  end
  for _, title in ipairs({ "usr", "sys", "wt", "idl", options.steal and "st" or nil }) do
    list[#list + 1] = { title, width = WIDTHS[title], format = "%.0f", unit = "%" }
  end
  for _, title in ipairs(options.latency and { "q_p50", "q_p99" } or {}) do
    list[#list + 1] = { title, width = 7, format = "%.3f", unit = "ms" }
  end
  if options.sets then
    list[#list + 1] = { "set", width = 3 } -- no kstat tells the processor set of a CPU
  elseif options.aggregate then
    list[#list + 1] = { "sze", width = 3, format = "%d", about = "CPUs" }
  end
  local first = not options.aggregate and core.select(ks, CPUS)[1]
  if first and first.host then
    list[#list + 1] = { "host", about = "the machine" }
  end
  return list
end

return kstat.report({
  optional = true,
  name = "mpstat", about = "What each CPU does.", columns = columns, rows = rows, squeeze = true, blank = false,
  repeat_header = 19, operands = false, names_hosts = true,
  note = "Linux does not count icsw, migr, smtx, srw and syscl, and minf and mjf only for the machine (-a); csw of " ..
    "a\nCPU needs /proc/schedstat: these are \"-\". ithr are softirqs.",
  options = {
    { "a", "aggregate", help = "all CPUs together (they are one processor set)" },
    { "p", "sets", help = "the processor set of each CPU (not known: -)" },
    { "q", "quiet", help = "no messages about changes (there are none)" },
    { nil, "latency", help = "q_p50, q_p99: milliseconds below which half and 99 % of the waits for a CPU were" },
    { nil, "steal", help = "st: percent of the time that a hypervisor gave to other machines" },
  },
  select = function(options)
    return { CPUS[1], cpu_vm, all_vm, all_sys, options.latency and latency.cpus or nil }
  end,
})
