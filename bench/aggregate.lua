--- Aggregations: 200,000 values of an interval by 1,000 keys, beside a plain loop in Lua and awk over the
-- text of `kstat -p`. A figure is the time from the samples to the sorted rows; bench/capture.lua and
-- bench/live.lua measure the reading of the kstats.
-- SPDX-License-Identifier: MIT
local figure = require("figure")
local kstat = require("kstat")

local KSTATS, KEYS = 20000, 1000
local STATS = { "nread", "nwritten", "reads", "writes", "wtime", "wlentime", "rtime", "rlentime", "errors", "retries" }
local LIMIT = 100 -- ms

local build = assert(os.getenv("KSTAT_BUILD"))
local data = build .. "/bench/data"
assert(os.execute("mkdir -p " .. figure.quote(data)))

--- Writes a capture of two samples.
local function generate(path)
  local f = assert(io.open(path, "wb"))
  for step = 1, 2 do
    f:write("[")
    for i = 1, KSTATS do
      local members = {}
      for at, stat in ipairs(STATS) do
        members[at] = ('"%s":%d'):format(stat, (i * 7919 + at * 104729) % 1000000007 * step)
      end
      f:write(i > 1 and "," or "", ('{"module":"m%d","instance":%d,"name":"n%d","class":"misc","type":1,'
        .. '"snaptime":%d.5,"data":{"crtime":60.1,"snaptime":%d.5,%s}}'):format(i % KEYS, i // KEYS, i, 5000 + step,
        5000 + step, table.concat(members, ",")))
    end
    f:write("]\n")
  end
  f:close()
end

--- Returns the least CPU time of several runs, in ms.
local function best(f)
  local least = math.huge
  for _ = 1, 9 do
    local start = os.clock()
    f()
    least = math.min(least, os.clock() - start)
  end
  return least * 1000
end

local path = data .. "/aggregate.json"
generate(path)
local ks = assert(kstat.open(path))
local before = ks:sample()
ks:update()
local now = ks:sample()
local difference = now - before
assert(#now == KSTATS)

local function measure(text, x)
  local agg = assert(kstat.aggregate(text))
  local _, n = agg:add(x)
  assert(n == KSTATS * #STATS and agg:size() == KEYS, text)
  return best(function()
    agg:clear()
    agg:add(x)
    agg:rows()
  end), agg
end

local sums, agg = measure("sum by (module)", now)

-- The same, as a script without kstat.aggregate would do it.
local function plain()
  local list = {}
  local found = {}
  for k, stat, value in now:values() do
    if type(value) == "number" and stat ~= "crtime" and stat ~= "snaptime" then
      local module = k.module
      if not found[module] then
        found[module] = 0
        list[#list + 1] = module
      end
      found[module] = found[module] + value
    end
  end
  table.sort(list)
  return found
end
for module, sum in pairs(plain()) do
  assert(agg:get(module) == sum)
end
local loop = best(plain)

local text = data .. "/aggregate.txt"
assert(os.execute(("%s/bin/kstat -p -r %s > %s"):format(build, figure.quote(path), figure.quote(text))))
local awk = figure.measure({ "awk", "-F", "[:\t]",
  '$4 != "class" && $4 != "crtime" && $4 != "snaptime" { sum[$1] += $NF } END { for (m in sum) print m, sum[m] }',
  text }, { runs = 3 })

local program = { build .. "/bin/kstat", "-a", "sum by (module)", "-r", path }
local whole = figure.measure(program, { runs = 3 })
local pipe = figure.measure({ "sh", "-c", ("%s -p -r %s | awk -F '[:\t]' '%s'"):format(program[1], path,
  '$4 != "class" && $4 != "crtime" && $4 != "snaptime" { sum[$1] += $NF } END { for (m in sum) print m, sum[m] }') },
  { runs = 3 })
figure.print("aggregate: kstat -a 'sum by (module)' of a capture", ("%.0f ms"):format(whole),
  ("kstat -p | awk: %.0f ms"):format(pipe), pipe / whole, ">= 0.8x", pipe / whole >= 0.8)

local function show(name, ours, theirs, value)
  figure.print("aggregate: " .. name, ("%.1f ms"):format(ours), ("%s: %.0f ms"):format(theirs, value), value / ours,
    ("< %d ms"):format(LIMIT), ours < LIMIT)
end

show("sum by (module), 200000 values, 1000 keys", sums, "a loop over now:values()", loop)
show("the same", sums, "awk over the text of kstat -p, made beforehand", awk)
for _, case in ipairs({
  { "sum by (module), differences", "sum by (module)", difference },
  { "sum(rate(*)) by (module)", "sum(rate(*)) by (module)", difference },
  { "sum, count, avg, min, max by (module)", "sum, count, avg, min, max by (module)", now },
  { "p50, p99 by (module)", "p50, p99 by (module)", now },
  { "quantize by (module)", "quantize by (module)", now },
}) do
  show(case[1], measure(case[2], case[3]), "awk, sum", awk)
end
