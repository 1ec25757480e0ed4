--- Rates by the time that the CPUs counted, as vmstat and mpstat of illumos make them.
--
-- The rates of a difference are per second of its own time, and CPUs count their states by a clock of theirs. The two
-- agree on a machine that runs, and need not in a capture. Reports of less than a second keep their own time: there a
-- tick of 10 ms is too coarse.
-- @module kstat.ticks
-- SPDX-License-Identifier: MIT
local ticks = {}

--- Makes the function that corrects the rates of a row (`finish` of kstat.report.from).
-- The row has a figure `ticks`: the rate of all states of the CPUs together.
-- @tparam {string,...} rates names of the figures that are rates
-- @tparam function cpus (row, d) -> how many CPUs are in the row
-- @number second what one CPU counts in a second
-- @treturn function (row, d)
function ticks.corrector(rates, cpus, second)
  return function(row, d)
    local n = row.ticks and row.ticks > 0 and d.elapsed >= 1 and cpus(row, d)
    if n then
      for _, name in ipairs(rates) do
        row[name] = row[name] and row[name] * n * second / row.ticks
      end
    end
  end
end

return ticks
