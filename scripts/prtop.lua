--- prtop: what processes publish: their I/O queues, timers or histograms, worst first.
--
-- Worst is the queue in which most requests are, waiting or in service (see kstat.published); the timer with most time
-- under way; the histogram with the largest p99.
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local kstat = require("kstat")
local opening = require("kstat.command.opening")
local operand = require("kstat.command.operand")
local past = require("kstat.base.past")
local published = require("kstat.figures.published")
local running = require("kstat.base.running")
local unknown = require("kstat.base.unknown")

local OPTIONS = {
  { "t", "timers", help = "timers in place of I/O queues" },
  { "H", "histograms", help = "histograms, with their percentiles" },
}

-- --- columns --------------------------------------------------------------------------------

local function number(title, width, format, about, unit)
  return { title, function(row) return row[title] end, width = width, format = format, about = about, unit = unit }
end

local function text(title)
  return { title, function(row) return row[title] end, align = "left" }
end

-- Who and what, behind the figures.
local function named(columns)
  for _, id in ipairs({ { "pid", 7 }, { "uid", 5 } }) do -- names, though of digits: idle rows have them too
    local column = text(id[1])
    column.align, column.width = "right", id[2]
    columns[#columns + 1] = column
  end
  columns[#columns + 1] = text("publisher")
  columns[#columns + 1] = text("name")
  columns[1].align = "right"
  return columns
end

local QUEUES = named({
  number("r/s", 7, "%.1f", "reads per second", "1/s"), number("w/s", 7, "%.1f", "writes per second", "1/s"),
  number("kr/s", 8, "%.1f", "kilobytes read per second", "KB/s"),
  number("kw/s", 8, "%.1f", "kilobytes written per second", "KB/s"),
  number("wait", 5, "%.1f", "requests waiting, in the mean"),
  number("actv", 5, "%.1f", "requests in service, in the mean"),
  number("wsvc_t", 7, "%.1f", "mean time waiting", "ms"), number("asvc_t", 7, "%.1f", "mean time in service", "ms"),
  number("%w", 3, "%.0f", "time with requests waiting"), number("%b", 3, "%.0f", "time with requests in service"),
})
local TIMERS = named({
  number("ev/s", 8, "%.1f", "events per second", "1/s"), number("busy", 7, "%.2f", "events under way, in the mean"),
  number("avg_t", 9, "%.3f", "mean duration", "ms"), number("min_t", 9, "%.3f", "shortest since creation", "ms"),
  number("max_t", 9, "%.3f", "longest since creation", "ms"),
})
local HISTOGRAMS = named({
  number("n/s", 8, "%.1f", "values per second", "1/s"), number("p50", 11, "%.6g"), number("p90", 11, "%.6g"),
  number("p99", 11, "%.6g"), text("unit"),
})

-- --- rows -----------------------------------------------------------------------------------

local KINDS = {
  queues = { columns = QUEUES, add = published.queues, none = "no process publishes an I/O queue" },
  timers = { columns = TIMERS, add = published.timers, none = "no process publishes a timer" },
  histograms = { columns = HISTOGRAMS, add = published.histograms, none = "no process publishes a histogram" },
}

local function kind_of(options)
  return KINDS[options.timers and "timers" or options.histograms and "histograms" or "queues"]
end

local patterns -- of the operands, compiled once

-- Waits for up to a second where nothing is published: who is asked right after he was started may not be ready.
local function wait_for_publisher(options)
  local waited = 0
  repeat
    local ks = opening.open(options, nil, true)
    for _, k in ipairs(ks and core.select(ks) or {}) do
      if published.is(k) then
        return
      end
    end
    waited = waited + 1
  until not ks or waited > 20 or core.wait(core.gethrtime() + 50000000) ~= "time"
end

local function rows(d, _, _, options)
  local kind, list, names = kind_of(options), {}, {}
  for k in d:each() do
    if published.is(k) then
      names[k.publisher or k.module] = true
      if operand.matches(patterns, k.publisher or k.module) then
        kind.add(list, k)
      end
    end
  end
  for _, row in ipairs(list) do
    published.add_owner(row)
  end
  if options.first then
    running.missing(unknown.patterns("there is no publisher", options.operands, patterns, names), #patterns)
  end
  if #list == 0 and #patterns == 0 then
    return { { text = kind.none, worse = 0 } }
  end
  return list
end

return kstat.report({
  name = "prtop", about = "What processes publish, worst first: the queues, timers or histograms with most in them.",
  operands = "publisher",
  options = OPTIONS,
  published = true,
  columns = function(options) return kind_of(options).columns end,
  rows = rows,
  sort = function(a, b)
    if a.worse == b.worse then
      return a.name < b.name
    end
    return a.worse > b.worse
  end,
  check = function(options)
    if options.timers and options.histograms then
      return "-t and -H cannot be used together"
    end
    local message
    patterns, message = operand.patterns(options.operands)
    if not message and not options.interval and not past.is_named(options) then
      wait_for_publisher(options)
    end
    return message
  end,
})
