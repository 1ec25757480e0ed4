--- intrstat: interrupts per second of each device; by default every second, for ever.
--
-- Kstats count how many interrupts a device had on all CPUs together, but not how long they took: there is one
-- column for all CPUs, and %tim is "-".
-- SPDX-License-Identifier: MIT
local kstat = require("kstat")
local past = require("kstat.base.past")

return kstat.report({
  optional = true,
  name = "intrstat", about = "Interrupts per second of each device.", skip_first = true,
  note = "No system tells with kstats how long interrupts took, nor on which CPU: %tim is \"-\".",
  select = { { class = "controller" }, { class = "interrupts" } },
  columns = {
    { "device", width = 12, align = "right" }, { "|", "bar", width = 1, data = false },
    { "all", width = 9, format = "%.0f", unit = "1/s" }, { "%tim", "time", width = 4, unit = "%" },
  },
  check = function(options)
    options.by_sample = not options.interval
    options.interval = options.interval or not past.at(options) and 1 or nil
    return nil
  end,
  rows = function(d)
    local rows = { { text = "-------------+---------------" } }
    for _, k in ipairs(d:select()) do
      local all = 0
      for _, count in k:stats() do -- hard, soft, watchdog, spurious, multiple_service
        all = k.type == "intr" and all + count
      end
      if all and k.elapsed > 0 then
        rows[#rows + 1] = { device = k.name, bar = "|", all = all / k.elapsed }
      end
    end
    return rows
  end,
})
