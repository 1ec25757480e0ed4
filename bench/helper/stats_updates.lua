-- stats_updates.lua WHAT N: as stats_updates.c, through kstat.stats; prints ns a value.
-- SPDX-License-Identifier: MIT
local stats = require("kstat.stats")

local what, n = arg[1], tonumber(arg[2])
local tpl = stats.template("bench")
if what == "digest" then
  tpl:add_voi(0, "value", "s64", { stats.sum(), stats.max(), stats.tdgstclust64(100, 10) })
else
  tpl:add_voi(0, "value", "s64", { stats.sum(), stats.min(), stats.max() })
end
local blob, values = tpl:blob(), {}
for i = 0, 4095 do values[i] = (i * 7919) % 1009 end

local function run(update)
  local from = os.clock()
  for i = 1, n do update(blob, 0, values[i % 4096]) end
  return (os.clock() - from) / n * 1e9
end

-- The cost of the same loop with a call that does not change the blob is subtracted.
if what == "nothing" then
  local from, sum = os.clock(), 0
  for i = 1, n do sum = sum + values[i % 4096] end
  print(("%.3f"):format((os.clock() - from) / n * 1e9), sum)
else
  print(("%.3f"):format(run(blob.update)))
end
