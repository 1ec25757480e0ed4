--- Metrics: 10,000 series of 1,000 published kstats, made in C; beside the same text made in Lua, and beside what
-- `kstat -p` prints of them. And 10,000 series of a report, and 1,000 distributions. A figure is the least CPU time of
-- several runs.
-- SPDX-License-Identifier: MIT
local figure = require("figure")
local core = require("kstat.core")
local kstat = require("kstat")
local metrics = require("kstat.command.output.metrics")

local KSTATS, STATS, ROUNDS = 1000, 10, 25
local LIMIT, STEP_LIMIT = 3, 2 -- ms

local function publish()
  local pub = assert(kstat.publish("bench-exposition"))
  local statistics = {}
  for i = 1, STATS do
    statistics[i] = { name = "count_" .. i, kind = "counter", desc = "events of sort " .. i }
  end
  for i = 1, KSTATS do
    local k = assert(pub:named({ module = "bench", instance = i, name = "row" .. i, shards = 1,
      statistics = statistics }))
    for j = 1, STATS do
      k:add("count_" .. j, i * j)
    end
  end
  return pub
end

-- 1,000 distributions of 960 buckets, of which 130 hold values.
local function publish_distributions()
  local pub = assert(kstat.publish("bench-distributions"))
  for i = 1, KSTATS do
    local l = assert(pub:latency({ module = "benchdist", instance = i, name = "row" .. i }))
    for j = 1, 500 do
      l:add(1000000 * 16 ^ (j / 500))
    end
  end
  return pub
end

-- The text, and the longest step.
local function expose(ks, selectors, format)
  local exposition = assert(core.exposition(ks, selectors, format or "prometheus"))
  local texts, longest = {}, 0
  while true do
    local start = os.clock()
    local text = exposition:step()
    longest = math.max(longest, os.clock() - start)
    if not text then
      return table.concat(texts), longest
    end
    texts[#texts + 1] = text
  end
end

-- The same text as a script would make it: a table of lines for each name.
local function expose_in_lua(ks, selectors)
  local families, names = {}, {}
  for k, stat, value in ks:values(selectors[1]) do
    local meta = stat ~= "class" and k:meta(stat)
    if meta and meta.kind == "counter" then
      local name = "kstat_" .. k.module .. "_" .. stat .. "_total"
      local lines = families[name]
      if not lines then
        lines = { ("# TYPE %s counter\n# HELP %s %s\n"):format(name, name, meta.description) }
        families[name], names[#names + 1] = lines, name
      end
      lines[#lines + 1] = ('%s{module="%s",instance="%d",name="%s",class="%s",publisher="%s"} %d\n'):format(name,
        k.module, k.instance, k.name, k.class, k.publisher, value)
    end
  end
  for i, name in ipairs(names) do
    names[i] = table.concat(families[name])
  end
  return table.concat(names)
end

-- Ten columns of 1,000 rows, as a report hands them to its output.
local function report()
  local columns, rows = { { key = "name" } }, {}
  for i = 1, STATS do
    columns[i + 1] = { key = "v" .. i .. "/s", unit = "1/s", about = "rate " .. i }
  end
  for r = 1, KSTATS do
    rows[r] = { "row" .. r }
    for i = 1, STATS do
      rows[r][i + 1] = r * i + 0.5
    end
  end
  return function()
    local texts = {}
    local sink = metrics.sink(columns, function(text) texts[#texts + 1] = text end, { name = "bench" })
    sink.show(rows, { time = 5, elapsed = 1 })
    sink.finish()
    return table.concat(texts)
  end
end

local pub, distributions = publish(), publish_distributions()
local ks = assert(kstat.open())
local selectors = { assert(core.selector_of("bench:::")) }
local of_distributions = { assert(core.selector_of("benchdist:::")) }
local cases = { c = expose, lua = expose_in_lua, report = report(),
  p = function() return ks:render("parseable", "bench:::") end,
  buckets = function() return expose(ks, of_distributions) end,
  native = function() return expose(ks, of_distributions, "protobuf") end }
-- The lines are the same; families come in another order.
assert(#expose(ks, selectors) == #expose_in_lua(ks, selectors))

local least, step = {}, math.huge
for _ = 1, ROUNDS do -- one after the other, so that all have the same luck
  for name, run in pairs(cases) do
    collectgarbage()
    local start = os.clock()
    local _, longest = run(ks, selectors)
    least[name] = math.min(least[name] or math.huge, (os.clock() - start) * 1000)
    if name == "c" then
      step = math.min(step, longest * 1000)
    end
  end
end
local sizes = { buckets = #expose(ks, of_distributions), native = #expose(ks, of_distributions, "protobuf") }
pub:close()
distributions:close()

local function ms(value)
  return ("%.2f ms"):format(value)
end

figure.print("exposition of 10,000 series", ms(least.c), "in Lua " .. ms(least.lua),
  least.c / least.lua, "<= 3 ms", least.c <= LIMIT)
figure.print("its longest step", ms(step), "-", "-", "<= 2 ms", step <= STEP_LIMIT)
figure.print("exposition beside kstat -p", ms(least.c), "-p " .. ms(least.p), least.c / least.p, "-")
figure.print("report of 10,000 series as OpenMetrics", ms(least.report), "-", "-", "-")
figure.print("1,000 distributions in protocol buffers", ms(least.native), "as text " .. ms(least.buckets),
  least.native / least.buckets, "-")
figure.print("their size", ("%.0f KiB"):format(sizes.native / 1024), ("as text %.0f KiB"):format(sizes.buckets / 1024),
  sizes.native / sizes.buckets, "-")
