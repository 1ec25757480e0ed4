-- Horizontal bars: megabytes per second of each disk, the busiest first: kstatlua disk_bars.lua 5
local status = kstat.usage(arg, "[interval [count]]")
if status then return status end
local agg = assert(kstat.aggregate("top 10 sum(rate(nread + nwritten) / 1e6) by (name)"))
for now, prev in kstat.every(arg) do
  agg:clear():add(prev and now - prev or now:since_creation(), { class = "disk" })
  local rows = {}
  for name, rate in agg:each() do rows[#rows + 1] = { name[1], rate } end
  io.write(kstat.picture.bars(rows, { format = "%.2f MB/s" }), "\n")
end
