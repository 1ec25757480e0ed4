--- The figures of two spans of time, in blocks of equal length: what `kstatlua diff` compares.
--
-- A counter's figure in a block is its rate, a gauge's is its value at the end. Blocks of the base are as long as those
-- of the window, because figures over a longer time spread less; where the base is longer they lie apart evenly.
--
-- @module kstat.diff.blocks
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")

local blocks = {}

local MOST = 10 -- blocks of a span

--- Walks the samples of a replay.
-- @tparam chain ks that was just opened
-- @func visit function(i, changed, added, deleted), called at sample i from 1 on; what ks:update() returned
-- @treturn[1] true
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function blocks.walk(ks, visit)
  local i, changed, added, deleted = 1, false, {}, {}
  repeat
    visit(i, changed, added, deleted)
    i = i + 1
    changed, added, deleted = ks:update(true)
    if changed == nil then
      return nil, added
    end
  until ks:ended()
  return true
end

--- When the samples were taken.
-- @tparam chain ks that was just opened
-- @treturn[1] {number,...} seconds since 1970
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function blocks.times(ks)
  local times = {}
  local ok, message = blocks.walk(ks, function(i) times[i] = ks:time_of_day() end)
  if not ok then
    return nil, message
  end
  return times
end

-- Of a span's samples, first to last, n blocks of so many intervals each, as evenly as they lie: { first, last }.
local function divide(first, last, n, length)
  local list = {}
  for i = 1, n do
    local from = first + math.floor((i - 1) * (last - length - first) / math.max(n - 1, 1) + 0.5)
    list[i] = { from, from + length }
  end
  return list
end

--- Blocks of the base and of the window.
-- @tparam {int,int} base its first and its last sample
-- @tparam {int,int} window the same
-- @treturn {{int,int},...} of the base: first and last sample of each
-- @treturn {{int,int},...} of the window
function blocks.of(base, window)
  local length = math.max(1, math.min(math.floor((window[2] - window[1]) / MOST),
    math.floor((base[2] - base[1]) / MOST)))
  local function fit(span)
    return divide(span[1], span[2], math.min(MOST, math.floor((span[2] - span[1]) / length)), length)
  end
  return fit(base), fit(window)
end

local function take(figures, difference, selectors)
  for _, row in ipairs(assert(core.rank(difference, selectors, { sort = "name" }))) do
    local figure = row.rate
    if not row.counter then
      figure = row.value
    end
    -- A counter has no rate where its snaptime stands still.
    if figure and figure == figure and math.abs(figure) ~= math.huge then
      local series = figures[row.name]
      if not series then
        series = { row = row }
        figures[row.name] = series
      end
      series[#series + 1] = figure
    end
  end
end

--- Reads the figures of blocks.
-- @tparam chain ks that was just opened
-- @tparam {{list={{int,int},...},figures=table},...} spans `figures` gets an array of figures for each statistic by its
-- name, `module:instance:name:statistic`, with `row`, as core.rank() has it: `name` and its parts
-- `module`, `instance`, `kstat_name` and `statistic`; `class`, `unit`, `counter` (boolean), `publisher`
-- @tparam {selector,...} selectors
-- @tparam {[int]=function(sample),...} visits what else is to be called with the sample of that number
-- @treturn[1] true
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function blocks.read(ks, spans, selectors, visits)
  local starts, ends = {}, {}
  for _, span in ipairs(spans) do
    for _, block in ipairs(span.list) do
      starts[block[1]] = (starts[block[1]] or 0) + 1
      ends[block[2]] = ends[block[2]] or {}
      table.insert(ends[block[2]], { from = block[1], figures = span.figures })
    end
  end
  local open = {} -- the samples at which blocks began, by number
  return blocks.walk(ks, function(i)
    if not (starts[i] or ends[i] or visits[i]) then
      return
    end
    local sample = assert(ks:sample((table.unpack or unpack)(selectors)))
    for _, block in ipairs(ends[i] or {}) do
      take(block.figures, sample - open[block.from], selectors)
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
