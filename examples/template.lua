-- A template of a statsblob and a blob of it: sum, extremes, a histogram and percentiles of two values of interest.
--
--     kstatlua examples/template.lua
local kstat = kstat or require("kstat")
local stats = kstat.stats
local status = kstat.usage(arg, "")
if status then return status end

local template = assert(stats.template("answers"))
assert(template:add_voi(0, "rtt", "u64", { stats.sum(), stats.min(), stats.max(), stats.tdgstclust64(50) }))
assert(template:add_voi(1, "bytes", "u64", { stats.sum(), stats.crhist32_exp(0, 65536, 4, 4, stats.UBOUND_INF) }))

local blob = assert(template:blob())
for i = 1, 1000 do
  assert(blob:update("rtt", i))
  assert(blob:update("bytes", i * 100))
end
for _, statistic, value, about in blob:visit() do
  print(about.name, statistic, type(value) == "table" and #value or kstat.tostring(value))
end
print("rtt", "p99", ("%.0f"):format(blob:quantile("rtt", 0.99)))
