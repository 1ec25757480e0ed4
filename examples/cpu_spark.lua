-- A sparkline for each CPU: how busy it was in the last intervals, 0 to 100 percent: kstatlua cpu_spark.lua 1
local status = kstat.usage(arg, "[interval [count]]")
if status then return status end
local past = {}
for now, prev in kstat.every(arg) do
  local d = prev and now - prev or now:since_creation()
  local width = kstat.picture.terminal().width - 8 -- without the number and the tab
  for k in d:each("cpu_stat") do
    local idle, total = k:get("idle"), k:get("idle") + k:get("user") + k:get("kernel") + k:get("wait")
    local line = past[k.instance] or {}
    past[k.instance] = line
    table.insert(line, total > 0 and 100 - 100 * idle / total or 0)
    while #line > math.max(width, 1) do table.remove(line, 1) end
    print(k.instance, (kstat.picture.sparkline(line, { low = 0, high = 100 })))
  end
end
