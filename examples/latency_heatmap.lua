-- A heat map of disk latency: a column for each interval, a row for each range of service times. A cell is darker the
-- more requests per second fall into it: kstatlua latency_heatmap.lua 1
local status = kstat.usage(arg, "[interval [count]]")
if status then return status end
local bounds = { 0.1, 1, 10, 100, math.huge } -- milliseconds
local rows = { "< 0.1 ms", "< 1 ms", "< 10 ms", "< 100 ms", "more" }
local map, disks = kstat.picture.heatmap({ rows = rows, title = "requests by service time" }), { class = "disk" }
for now, prev in kstat.every(arg, { select = disks }) do
  local counts = { 0, 0, 0, 0, 0 }
  for k in (prev and now - prev or now:since_creation()):each(disks) do
    local rate = (k:rate("reads") or 0) + (k:rate("writes") or 0)
    local at = 1
    while rate > 0 and 1000 * k:rate("rlentime") / rate >= bounds[at] do at = at + 1 end
    counts[at] = counts[at] + rate
  end
  map:add(counts)
  io.write(kstat.picture.terminal().tty and "\27[H\27[J" or "", map:text())
end
