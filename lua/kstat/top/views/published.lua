--- What processes publish on a screen: queues, timers, histograms and statsblobs in one table, the worst first.
--
-- p50, p90 and p99 are those of the interval. "was p99" is what p99 was before: the median of the last 60 intervals in
-- which there were values, as far as they were seen, and until there are five of them the p99 of all values since the
-- publisher began. Where p99 is now twice that or more, of at least 20 values, the row is marked with "!" and comes
-- first; then comes where most requests are waiting or in service. TREND shows the last intervals: p99, or else the
-- mean time, or else the rate. Of a publisher that has only counters the busiest are rows. Of digests, which cannot be
-- subtracted, percentiles are those since creation.
--
-- What is kept of a row is bounded (HISTORY), and of rows that are gone nothing is kept for long.
--
-- A median of many intervals does not move with one that is bad, follows a lasting change within half a minute, and
-- needs 60 numbers of a row. Before there are five, p99 of all values is what both samples know, so that it can be
-- compared at once, and after a jump into the past.
-- @module kstat.top.views.published
local core = require("kstat.core")
local machine = require("kstat.base.machine")
local picture = require("kstat.picture")
local published = require("kstat.figures.published")
local report = require("kstat.report")
local selector = require("kstat.read.selector")
local text = require("kstat.base.text")

local HISTORY, ENOUGH, STEP = 60, 5, 5 -- intervals; the median is computed anew after so many
local TREND = 8 -- intervals that are drawn
local FAR, VALUES = 2, 20 -- times as much as before; values that a p99 needs to be told
local COUNTERS, KSTATS = 3, 100 -- of a publisher without distributions: rows, and kstats that are looked at

-- In the past all kstats of a recording are looked at, but for the thousands that no process publishes.
local SELECT = selector.compile({ module = "/^(?!(process|thread|cgroup|cgroup_.*)$)/" })

local SECONDS = { ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1 }

-- --- what was before --------------------------------------------------------------------------------------------

-- What is remembered of rows by their identities, as long as the view is there.
local function memory_of(options)
  local owner = options.screen or options
  owner.published = owner.published or { known = {}, kinds = {}, tick = 0 }
  return owner.published
end

local function median(values)
  local sorted = {}
  for i = 1, #values do
    sorted[i] = values[i]
  end
  table.sort(sorted)
  return sorted[math.floor((#sorted + 1) / 2)]
end

-- The p99 of all values before the interval; of the first sample all that there were.
local function p99_since_creation(row)
  local before = row.k:before()
  local d = row.distribution
  if before then
    d = before:distribution(row.voi)
  end
  return d and d.count >= VALUES and d:quantile(0.99) or nil
end

-- Compares a row with the intervals before it, and remembers this one; once, as a moment of the past is seen again.
local function compare(memory, row, has_interval)
  local known = memory.known[row.id]
  if not known then
    known = { values = {}, trend = {}, n = 0, was = row.distribution and p99_since_creation(row) }
    memory.known[row.id] = known
  end
  known.tick, row.known, row.was = memory.tick, known, known.was
  if not has_interval then
    return
  end
  if row.p99 then
    row.far = known.was and known.was > 0 and row.distribution.count >= VALUES and row.p99 / known.was or nil
    row.far = row.far and row.far >= FAR and row.far or nil
  end
  if known.time == memory.time then
    return
  end
  known.time = memory.time
  if row.p99 then
    known.values[known.n % HISTORY + 1] = row.p99
    known.n = known.n + 1
    if known.n >= ENOUGH and (known.n % STEP == 0 or known.n < 2 * ENOUGH) then
      known.was = median(known.values)
    end
  end
  local trend = known.trend
  trend[#trend + 1] = row.p99 or row.mean or row.n or 0
  if #trend > TREND then
    table.remove(trend, 1)
  end
end

-- Forgets rows that have been gone for long. Where time goes back, nothing of what is remembered was before.
local function forget(memory, time)
  if memory.time and time < memory.time then
    memory.known = {}
  end
  memory.time, memory.tick = time, memory.tick + 1
  if memory.tick % HISTORY == 0 then
    memory.kinds = {}
    for id, known in pairs(memory.known) do
      memory.known[id] = known.tick > memory.tick - HISTORY and known or nil
    end
  end
end

-- --- rows -------------------------------------------------------------------------------------------------------

-- A name as people write it: without the instance 0.
local function short_name(row)
  return (row.name:gsub("^([^:]*):0:", "%1:"))
end

-- What follows brings the rows of kstat.published to the same fields: `n` per second, `mean` in seconds, or in the unit
-- of values, and `load`, how many requests were under way.

local function finish_queue(row)
  row.n, row.mean, row.unit = row["r/s"] + row["w/s"], row.asvc_t > 0 and row.asvc_t / 1e3 or nil, "s"
  row.load, row.queue = row.worse, row.worse
end

local function finish_timer(row)
  row.n, row.mean, row.unit = row["ev/s"], row.avg_t and row.avg_t / 1e3, "s"
  row.load, row.queue = row.busy, row.busy
end

local function finish_distribution(row)
  row.n, row.mean = row["n/s"], row.distribution.mean
  local seconds = SECONDS[row.unit]
  row.load = seconds and row.n and row.mean and not row.distribution.since_creation and row.n * row.mean * seconds
end

-- By the type of a kstat what adds its rows to a list, and what finishes each.
local MAKERS = {
  io = { add = published.queues, finish = finish_queue }, timer = { add = published.timers, finish = finish_timer },
  named = { add = published.histograms, finish = finish_distribution },
  raw = { add = published.blobs, finish = finish_distribution },
}

-- A queue with histograms is one row: it has the percentiles of how long requests were served.
local function join(list)
  local by_name, joined = {}, {}
  for _, row in ipairs(list) do
    by_name[row.name .. row.publisher] = row
  end
  for _, row in ipairs(list) do
    local queue = row.name:match("^(.*),svc$")
    queue = queue and by_name[queue .. row.publisher]
    if queue and queue.k.type == "io" then
      queue.p50, queue.p90, queue.p99, queue.unit, queue.distribution = row.p50, row.p90, row.p99, row.unit,
        row.distribution
      queue.k, queue.mean = row.k, row.mean -- of which the distribution before is asked
    else
      joined[#joined + 1] = row
    end
  end
  return joined
end

-- The busiest counters of kstats that have no distribution; where few count, some of the others.
local function add_counters(list, kstats, publisher)
  local found, idle = {}, 0
  for i = 1, math.min(#kstats, KSTATS) do
    local k, names, values = kstats[i], {}, {}
    for s = 1, core.list(k, names, values) or 0 do
      local value = type(values[s]) == "number" and values[s] or -1
      local meta = (value > 0 or value == 0 and idle < COUNTERS) and (k:meta(names[s]) or {})
      if meta and (meta.kind == nil or meta.kind == "counter") then
        idle = value == 0 and idle + 1 or idle
        found[#found + 1] = { k = k, name = ("%s:%s"):format(k, names[s]), n = k:rate(names[s]), publisher = publisher }
      end
    end
  end
  table.sort(found, function(a, b)
    return (a.n or 0) > (b.n or 0) or a.n == b.n and a.name < b.name
  end)
  for i = 1, math.min(#found, COUNTERS) do
    list[#list + 1] = found[i]
  end
end

-- Who publishes a kstat; nil: it is the machine's. Older recordings do not say it, as kstat.published knows.
local function publisher_of(k)
  local may_be = k.type == "io" or k.type == "timer" or k.class == "histogram"
  return k.publisher or may_be and published.is(k) and k.module or nil
end

-- What is to be done about a kstat, which is found out once: `publisher`, nil if it is of the machine, and `maker`, nil
-- if it has counters alone.
local function kind_of(memory, k)
  local id = tostring(k) .. k.crtime_ns
  local kind = memory.kinds[id]
  if not kind then
    kind = { publisher = publisher_of(k), maker = MAKERS[k.type] }
    memory.kinds[id] = kind
  end
  return kind
end

-- Adds the rows of a kstat that somebody publishes. A statsblob has some when it has values; a named kstat without a
-- distribution never has.
local function add_rows(list, k, kind)
  local from = #list + 1
  if kind.maker then
    kind.maker.add(list, k)
  end
  for i = from, #list do
    list[i].publisher = kind.publisher
    kind.maker.finish(list[i])
  end
  if #list < from and k.type == "named" then
    kind.maker = nil
  end
end

-- All rows: those of queues, timers and distributions, and of publishers that have none of them.
local function collect(d, memory)
  local list, plain, has = {}, {}, {}
  for k in d:each(SELECT) do
    local kind, from = kind_of(memory, k), #list + 1
    local publisher = kind.publisher
    if publisher then
      add_rows(list, k, kind)
      has[publisher] = has[publisher] or #list >= from
      plain[publisher] = plain[publisher] or {}
      table.insert(plain[publisher], not kind.maker and k or nil)
    end
  end
  list = join(list)
  for publisher, kstats in pairs(plain) do
    if not has[publisher] then
      add_counters(list, kstats, publisher)
    end
  end
  return list
end

-- The worst first: far worse than before, then most under way, then busiest.
local function is_worse(a, b)
  for _, field in ipairs({ "far", "load", "n" }) do
    local x, y = a[field] or 0, b[field] or 0
    if x ~= y then
      return x > y
    end
  end
  return a.id < b.id
end

local function without_interval(row)
  row.n, row.mean, row.load, row.queue, row.p50, row.p90, row.p99 = nil, nil, nil, nil, nil, nil, nil
end

local function rows(d, now, prev, options)
  local memory, seen = memory_of(options), {}
  forget(memory, core.sample_taken(now))
  local list = collect(d, memory)
  for _, row in ipairs(list) do
    row.label = short_name(row)
    row.id = seen[row.label] and row.label .. " " .. row.publisher or row.label
    seen[row.label] = true
    if not prev then
      without_interval(row)
    end
    compare(memory, row, prev ~= nil)
  end
  table.sort(list, is_worse)
  return list
end

-- --- the view ---------------------------------------------------------------------------------------------------

-- for_programs: durations are seconds.
local function amount(value, unit, for_programs)
  local seconds = SECONDS[unit]
  if for_programs then
    return value and value * (seconds or 1)
  end
  return value and (seconds and text.duration(value * seconds) or
    unit == "bytes" and text.bytes(value) or text.number(value)) or nil
end

-- Fills in the texts of a row that is shown.
local function complete(row, options)
  local screen, unit = options.screen or {}, row.unit
  for _, field in ipairs({ "p50", "p90", "p99", "was", "mean" }) do
    row[field .. "_text"] = amount(row[field], unit, screen.all)
  end
  published.add_owner(row)
  row.trend = picture.sparkline(row.known.trend, { utf8 = screen.utf8 or false, width = TREND }) ..
    (row.far and " !" or "")
end

-- All statistics of the module.
local function enter(row)
  return { view = "statistics", select = { module = row.k.module } }
end

-- Who publishes it, what it is, and how it compares with what was before.
local function explain(row, options)
  complete(row, options)
  local far = row.far and ("p99 is %.1f times what it was; the mark is there from %d on, of %d values or more"):format(
    row.far, FAR, VALUES)
  return {
    row.name,
    ("published by %s%s%s"):format(row.publisher, row.pid and ", process " .. row.pid or "",
      row.uid and " of user " .. machine.user_name(tonumber(row.uid)) or ""),
    far or "p99 is not far from what it was, or not known",
    ("was p99: median of the last %d intervals with values that were seen, so far %d; of fewer than %d: since creation")
      :format(HISTORY, math.min(row.known.n, HISTORY), ENOUGH),
    row.distribution and row.distribution.since_creation and "of a digest all percentiles are since creation" or nil,
  }
end

-- A column of texts, in the order of the numbers that they are of.
local function column(title, field, about, priority)
  return { title, field .. "_text", align = "right", about = about, priority = priority,
    order = function(row) return row[field] end }
end

local NAME = { "PUBLISHED", "label", kind = "label", about = "what is published; queues have the times of service" }
local RATE = { "n/s", "n", format = text.number, about = "values, requests or events per second" }
local P50 = column("p50", "p50", "half of the values of the interval are not above it")
local P90 = column("p90", "p90", "90 percent are not above it", 2)
local P99 = column("p99", "p99", "99 percent are not above it")
local WAS = column("was p99", "was", "p99 before: median of the last 60 intervals seen, or since creation")
local DRAWN = { "TREND", "trend", align = "left", elide = "end", data = false,
  about = "the last intervals: p99, or else the mean time or the rate; !: p99 is twice what it was, or more" }

local function declare(name, about, make, columns)
  return report({ name = name, about = about, optional = true, published = true, select = SELECT, rows = make,
    columns = columns, complete = complete, enter = enter, explain = explain,
    identity = function(row) return row.id end })
end

local all = declare("published", "What processes publish: queues, times and sizes, worst first.", rows, {
  NAME, RATE, P50, P90, P99, WAS, DRAWN, column("MEAN", "mean", "mean of the interval", 3),
  { "QUEUE", "queue", format = text.percent, priority = 4, about = "requests waiting or in service, in the mean" },
  { "PID", "pid", align = "right", hidden = true, lazy = true, about = "process that publishes it" },
  { "PUBLISHER", "publisher", align = "left", hidden = true, about = "name of the publication" },
})

local MOST = 5 -- rows beside other tables

-- The few that belong beside the verdict: what does something, or does it no more.
local function telling(d, now, prev, options)
  local list, chosen = rows(d, now, prev, options), {}
  for _, row in ipairs(list) do
    if #chosen < MOST and (not prev or (row.n or 0) > 0 or (row.load or 0) > 0) then
      chosen[#chosen + 1] = row
    end
  end
  return chosen
end

return {
  name = "published", sections = { all }, none = "nobody publishes queues, times or counters on this machine",
  section = declare("published", "What processes publish, the worst.", telling,
    { NAME, RATE, P50, P90, P99, WAS, DRAWN }),
}
