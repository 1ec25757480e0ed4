--- intrstat: interrupts per second of each device; by default every second, for ever.
--
-- Kstats count how many interrupts a device had, on all CPUs together or (-c) on each, but not how long they took:
-- %tim is "-".
-- SPDX-License-Identifier: MIT
local kstat = require("kstat")
local operand = require("kstat.command.operand")
local running = require("kstat.base.running")
local past = require("kstat.base.past")

local cpus -- the numbers of those of -c, in order

-- What counts for all CPUs together is hard, soft, watchdog, spurious, multiple_service.
local function row_of(k)
  local row, all = { device = k.name, bar = "|" }, 0
  for _, cpu in ipairs(cpus) do
    local count = k:get("cpu" .. cpu)
    row["cpu" .. cpu] = count and count / k.elapsed
  end
  for _, count in k:stats() do
    all = k.type == "intr" and all + count
  end
  row.all = all and all / k.elapsed
  return (row.all or cpus[1]) and k.elapsed > 0 and row
end

-- Tells of CPUs of -c that nothing counts for.
local function check_cpus(rows)
  local lines = { cpus[1] and #rows < 2 and "this recording has no interrupts by CPU; record with: kstatlua record " ..
    "-o FILE intr_cpu softirq_cpu 10" or nil }
  for _, cpu in ipairs(cpus) do
    local found = #rows < 2
    for _, row in ipairs(rows) do
      found = found or row["cpu" .. cpu] ~= nil
    end
    lines[#lines + 1] = not found and ("there is no CPU %d"):format(cpu) or nil
  end
  running.missing(lines, #rows < 2 and 1 or #cpus)
end

return kstat.report({
  optional = true,
  name = "intrstat", about = "Interrupts per second of each device.", skip_first = true,
  note = "No system tells with kstats how long interrupts took: %tim is \"-\".",
  options = { { "c", "cpus", arg = "LIST", help = "a column for each of these CPUs: 0,4-7" },
    { "C", "sets", arg = "LIST", help = "not on Linux" } },
  select = function(options)
    return options.cpus and { { class = "interrupts_cpu" } } or { { class = "controller" }, { class = "interrupts" } }
  end,
  columns = function()
    local columns = { { "device", width = 12, align = "right" }, { "|", "bar", width = 1, data = false } }
    for _, cpu in ipairs(cpus) do
      columns[#columns + 1] = { "cpu" .. cpu, width = 9, format = "%.0f", unit = "1/s" }
      columns[#columns + 1] = { "%tim", "time" .. cpu, key = "time" .. cpu, width = 4, unit = "%" }
    end
    if not cpus[1] then
      columns[3] = { "all", width = 9, format = "%.0f", unit = "1/s" }
      columns[4] = { "%tim", "time", width = 4, unit = "%" }
    end
    return columns
  end,
  check = function(options)
    local set, message = operand.cpus(options.cpus)
    cpus = {}
    for cpu in pairs(set or {}) do
      cpus[#cpus + 1] = cpu
    end
    table.sort(cpus)
    options.by_sample = not options.interval
    options.interval = options.interval or not past.at(options) and 1 or nil
    return options.sets and "-C: Linux has no processor sets: -c chooses CPUs" or
      (message or options.cpus and not set and "an empty list") and "-c: " .. (message or "an empty list") or nil
  end,
  rows = function(d, _, _, options)
    local rows = { { text = "-------------+" .. ("---------------"):rep(math.max(1, #cpus)) } }
    for _, k in ipairs(d:select()) do
      rows[#rows + 1] = row_of(k) or nil
    end
    if options.first then
      check_cpus(rows)
    end
    return rows
  end,
})
