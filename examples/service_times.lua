-- A distribution as DTrace draws it: how long the disks took for a request, in microseconds, one value a disk
-- and interval with requests; printed when the loop ends: kstatlua service_times.lua 1 60
local status = kstat.usage(arg, "[interval [count]]")
if status then return status end
local disks = { class = "disk" }
local agg = assert(kstat.aggregate("count, quantize of 1e6 * rate(rlentime) / rate(reads + writes)"))
for now, prev in kstat.every(arg, { select = disks }) do
  agg:add(prev and now - prev or now:since_creation(), disks)
end
io.write(agg:text())
