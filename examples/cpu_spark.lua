-- A sparkline for each CPU: how busy it was in the last intervals, 0 to 100 percent: kstatlua cpu_spark.lua 1
local status = kstat.usage(arg, "[interval [count]]")
if status then return status end
local past = {}
for now, prev in kstat.every(arg) do
  local d = prev and now - prev or now:since_creation()
  for k in d:each("cpu_stat") do
    local idle, total = k:get("idle"), k:get("idle") + k:get("user") + k:get("kernel") + k:get("wait")
    past[k.instance] = past[k.instance] or {}
    table.insert(past[k.instance], total > 0 and 100 - 100 * idle / total or 0)
    print(k.instance, (kstat.picture.sparkline(past[k.instance], { low = 0, high = 100, width = 60 })))
  end
end
