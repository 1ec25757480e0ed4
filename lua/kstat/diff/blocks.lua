--- The figures of two spans of time, in blocks of equal length: what `kstatlua diff` compares.
--
-- A counter's figure in a block is its rate, a gauge's is its value at the end. Blocks of the base are as long as those
-- of the window, because figures over a longer time spread less; where the base is longer they lie apart evenly.
-- @module kstat.diff.blocks
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local machine = require("kstat.diff.machine")
local running = require("kstat.base.running")

local blocks = {}

local MOST = 10 -- blocks of a span

--- Walks the samples of a replay; ends the command if they cannot be read.
-- @tparam chain ks that was just opened
-- @func visit function(i, id, added, deleted), called at sample i from 1 on; what ks:update() returned
function blocks.walk(ks, visit)
  local i, id, added, deleted = 1, 0, {}, {}
  repeat
    visit(i, id, added, deleted)
    i = i + 1
    id, added, deleted = ks:update(true)
    if not id then
      running.stop(3, added)
    end
  until ks:ended()
end

--- When the samples were taken.
-- @tparam chain ks that was just opened
-- @treturn {number,...} seconds since 1970
-- @treturn {[int]=string,...} by the number of the sample behind it, "boot" or "gap"
function blocks.times(ks)
  local times, cuts = {}, {}
  blocks.walk(ks, function(i)
    times[i] = ks:time_of_day()
    local is_cut, is_restarted = ks:is_cut()
    cuts[i] = i > 1 and (is_restarted and "boot" or is_cut and "gap") or nil
  end)
  return times, cuts
end

-- Of a span's samples, first to last, n blocks of so many intervals each, as evenly as they lie: { first, last }.
-- Those with a gap or a start of the machine in them are left out.
local function divide(first, last, n, length, cuts)
  local list = {}
  for i = 1, n do
    local from = first + math.floor((i - 1) * (last - length - first) / math.max(n - 1, 1) + 0.5)
    local is_whole = true
    for at = from + 1, from + length do
      is_whole = is_whole and not cuts[at]
    end
    list[#list + 1] = is_whole and { from, from + length } or nil
  end
  return list
end

--- Blocks of the base and of the window.
-- @tparam {int,int} base its first and its last sample
-- @tparam {int,int} window the same
-- @tparam table base_cuts from blocks.times()
-- @tparam table window_cuts the same
-- @treturn {{int,int},...} of the base: first and last sample of each
-- @treturn {{int,int},...} of the window
function blocks.of(base, window, base_cuts, window_cuts)
  local length = math.max(1, math.min(math.floor((window[2] - window[1]) / MOST),
    math.floor((base[2] - base[1]) / MOST)))
  local function fit(span, cuts)
    return divide(span[1], span[2], math.min(MOST, math.floor((span[2] - span[1]) / length)), length, cuts)
  end
  return fit(base, base_cuts), fit(window, window_cuts)
end

-- What distributions counted: by the name of the kstat the sum of its blocks. Of their statistics three are rows.
local KEPT = { count = true, p50 = true, p99 = true }

local function take_distribution(span, difference, row, name)
  local k = difference:lookup(row.module, row.instance, row.kstat_name)
  local distribution = k and k:distribution()
  if not distribution then
    return nil
  end
  local sum = span.distributions[name] or { elapsed = 0 }
  span.distributions[name] = sum
  sum.scale = row.scale or sum.scale
  sum.all = sum.all and sum.all:merge(distribution) or distribution
  sum.elapsed, sum.unit = sum.elapsed + (k.elapsed or 0), row.unit
  return name
end

-- What a row's figure is of the kstat's: durations are nanoseconds there, and seconds for people.
local function scale_of(difference, row)
  local k = not row.counter and row.unit == "s" and difference:lookup(row.module, row.instance, row.kstat_name)
  local value = k and k:get(row.statistic)
  return type(value) == "number" and value ~= 0 and row.value / value or nil
end

--- Fills up the figures of somebody who uses something: who was not there used nothing.
-- @tparam {number,...} series
-- @tparam row row
-- @int n how many there are to be
function blocks.fill(series, row, n)
  while row.is_cause and #series < n do
    series[#series + 1] = 0
  end
end

local function add(span, row, figure)
  -- A counter has no rate where its snaptime stands still.
  if not figure or figure ~= figure or math.abs(figure) == math.huge then
    return
  end
  local series = span.figures[row.name] or { row = row }
  span.figures[row.name] = series
  blocks.fill(series, row, span.done)
  series[#series + 1] = figure
  local known = series.row
  known.all = known.all and row.all and math.max(known.all, row.all) or known.all or row.all
  known.scale = known.scale or row.scale
  known.busy = known.busy and math.max(known.busy, row.busy) or row.busy
end

local function take(span, difference, prev, selectors)
  local rows, distributions = assert(core.rank(difference, selectors, { sort = "name" })), {}
  local function kstat_of(row) return ("%s:%d:%s"):format(row.module, row.instance, row.kstat_name) end
  for _, row in ipairs(rows) do
    row.scale = scale_of(difference, row)
    local key = kstat_of(row)
    distributions[key] = distributions[key] or row.statistic == "p99" and take_distribution(span, difference, row, key)
  end
  for _, row in ipairs(rows) do
    row.distribution = distributions[kstat_of(row)] or nil
    if not row.distribution or KEPT[row.statistic] then
      add(span, row, row.counter and row.rate or not row.counter and row.value or nil)
    end
  end
  machine.figures(difference, prev, function(row, value) add(span, row, value) end)
  span.done = span.done + 1
end

--- A span whose figures are to be read.
-- @tparam {{int,int},...} list its blocks
-- @treturn span
function blocks.span(list)
  return { list = list, figures = {}, distributions = {}, done = 0 }
end

--- Reads the figures of blocks.
-- @tparam chain ks that was just opened
-- @tparam {span,...} spans from span(); `figures` gets an array of figures for each statistic by its name,
-- `module:instance:name:statistic`, with `row`, as core.rank() and machine.figures() have it: `name` and its parts
-- `module`, `instance`, `kstat_name` and `statistic`; `class`, `unit`, `counter` (boolean), `publisher`; and
-- `distribution`, the name by which it is in `distributions`
-- @tparam {selector,...} selectors
-- @tparam {[int]=function(sample),...} visits what else is to be called with the sample of that number
function blocks.read(ks, spans, selectors, visits)
  local starts, ends = {}, {}
  for _, span in ipairs(spans) do
    for _, block in ipairs(span.list) do
      starts[block[1]] = (starts[block[1]] or 0) + 1
      ends[block[2]] = ends[block[2]] or {}
      table.insert(ends[block[2]], { from = block[1], span = span })
    end
  end
  local open = {} -- the samples at which blocks began, by number
  blocks.walk(ks, function(i)
    if not (starts[i] or ends[i] or visits[i]) then
      return
    end
    local sample = assert(ks:sample((table.unpack or unpack)(selectors)))
    for _, block in ipairs(ends[i] or {}) do
      take(block.span, sample - open[block.from], open[block.from], selectors)
      starts[block.from] = starts[block.from] - 1
      open[block.from] = starts[block.from] > 0 and open[block.from] or nil
    end
    open[i] = starts[i] and sample or nil
    if visits[i] then
      visits[i](sample)
    end
  end)
end

return blocks
