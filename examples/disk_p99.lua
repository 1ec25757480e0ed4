-- An aggregation over time: the service times of each disk, in milliseconds, in all intervals in which it had
-- requests. It is printed when the loop ends, by its count or by Ctrl-C: kstatlua disk_p99.lua 1 60
local status = kstat.usage(arg, "[interval [count]]")
if status then return status end
local agg = assert(kstat.aggregate("p50(asvc_t), p99(asvc_t), max(asvc_t) by (name)"))
local disks = { class = "disk" }
for now, prev in kstat.every(arg, { select = disks }) do
  if prev then agg:add(now - prev, disks) end
end
io.write(agg:sort("p99(asvc_t)"):text()) -- the slowest first
