-- A distribution as DTrace draws it: service times of the disks in microseconds, with one value for each disk and
-- interval with requests. It is printed when the loop ends: kstatlua service_times.lua 1 60
local status = kstat.usage(arg, "[interval [count]]")
if status then return status end
local disks = { class = "disk" }
local agg = assert(kstat.aggregate("count(asvc_t), quantize(1000 * asvc_t)"))
for now, prev in kstat.every(arg, { select = disks }) do
  agg:add(prev and now - prev or now:since_creation(), disks)
end
io.write(agg:text())
