-- An aggregation over kstats: bytes per second of all network interfaces by direction, and the largest rate of one
-- interface: kstatlua traffic.lua 5
local status = kstat.usage(arg, "[interval [count]]")
if status then return status end
local agg = assert(kstat.aggregate("sum(rate(*)), max(rate(*)) by ($direction)"))
for now, prev in kstat.every(arg) do
  local d = prev and now - prev or now:since_creation()
  assert(agg:clear():add(d, "link:::/^(?<direction>[ro])bytes64$/"))
  for direction, sum, max in agg:each() do
    print(kstat.format("%-8s %12d B/s  %12d B/s", direction[1] == "r" and "received" or "sent", sum, max))
  end
end
