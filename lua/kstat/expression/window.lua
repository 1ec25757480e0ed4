--- Values over time in expressions: avg(x, 60s), rate(x, 5m), x ago 1d, trend(x, 30m), until(x, 0, 30m), and in
-- columns percentiles of what there was so far, p99(x), a window without end.
--
-- Each has a series of values for each kstat, or for each group if it is of what reducers gave: a window of
-- csrc/stats/window.h, the distributions of the intervals, or without end a digest. A series gets one value a tick, and
-- begins anew with a kstat that was created anew. The context's `clock` says which `tick` it is, its `time`, whether it
-- is the `first`, which is no interval, and the `interval`, nil if it is not known; `seen` holds all series, so that
-- who empties it starts again.
--
-- @module kstat.expression.window
local core = require("kstat.core")
local derived = require("kstat.expression.derived")

local window = {}

local MOST_BYTES, BYTES, DISTRIBUTION = 256 * 2 ^ 20, 16, 8192 -- of all values; of one; of a distribution
local KINDS = { min = "least", max = "greatest", digest = "ranked" } -- by the key of a reducer; others: all
local READ = { sum = "sum", mean = "mean", count = "count", min = "first", max = "first", first = "first",
  last = "last", digest = "quantile" }

--- Whether a tree is of an interval: the first tick has no value of it.
-- @tparam table tree
-- @treturn boolean
function window.is_of_interval(tree)
  if tree.tag == "name" then
    return derived[tree.value] ~= nil or tree.value == "buckets"
  end
  local found = tree.tag == "call" and (tree.name == "rate" or tree.name == "delta")
  for _, below in ipairs(tree.arguments or tree) do
    found = found or window.is_of_interval(below)
  end
  return found
end

-- All series of one expression.
local function new_set(text, tree, kind, seconds, clock)
  return { text = text, kind = kind, seconds = seconds, clock = clock, samples = 0, bytes = BYTES,
    of_interval = seconds == math.huge or window.is_of_interval(tree) }
end

local function check_memory(set)
  local interval = set.clock.interval
  local samples = math.max(set.samples, interval and math.floor(set.seconds / interval) + 1 or 0)
  local bytes = set.n * samples * set.bytes
  if set.seconds < math.huge and bytes > MOST_BYTES then
    core.fail(("'%s': %d rows of %d samples take %.0f MB, more than %d MB: fewer rows, a shorter time or a longer " ..
      "interval"):format(set.text, set.n, samples, bytes / 2 ^ 20, MOST_BYTES / 2 ^ 20))
  end
end

-- Forgets what got no value for as long as the window.
local function sweep(set, time)
  for key, series in pairs(set.series) do
    if time - series.time > set.seconds then
      set.series[key], set.n = nil, set.n - 1
    end
  end
  set.swept = time
end

local function series_of(set, key, time)
  local seen = set.clock.seen
  if set.series == nil or seen[set] ~= set.series then
    set.series, set.n, set.swept = {}, 0, nil
    seen[set] = set.series
  end
  local series = set.series[key]
  if not series or time < series.time then
    set.n = set.n + (series and 0 or 1)
    series = { time = time, state = set.accumulator and set.accumulator.new(),
      window = not set.accumulator and core.window(set.kind, set.seconds) }
    set.series[key] = series
    check_memory(set)
  end
  if time - (set.swept or time) > set.seconds then
    sweep(set, time)
  end
  set.swept = set.swept or time
  return series
end

local function minus(a, b)
  return a - b
end

-- Takes the oldest distribution away. What merged at a coarser scale cannot be taken back: the others merge anew.
local function forget_oldest(series, past)
  local ok, rest = pcall(minus, series.merged, past[past.first].distribution)
  past[past.first], past.first = nil, past.first + 1
  if not ok then
    rest = past[past.first].distribution
    for i = past.first + 1, past.n do
      rest = rest + past[i].distribution
    end
  end
  series.merged = rest
end

-- Adds the distribution of an interval, and takes away those that are too old. One that does not merge with these, of a
-- kstat that was made anew with other buckets or another unit, begins anew.
local function add_distribution(set, series, time, d)
  local merged = series.merged and series.merged:merge(d)
  local past = merged and series.past or { first = 1, n = 0 }
  series.past, series.merged, set.bytes = past, merged or d, DISTRIBUTION
  past.n = past.n + 1
  past[past.n] = { time = time, distribution = d }
  while time - past[past.first].time >= set.seconds * 0.999 do
    forget_oldest(series, past)
  end
  return past.n - past.first + 1
end

local function add(set, series, time, v)
  series.time = time
  if set.accumulator then
    series.merged = type(v) == "userdata" and v or nil -- what has a distribution needs no digest
  end
  if series.merged and set.accumulator or set.of_interval and set.clock.first then
    return
  end
  local n = 0
  if type(v) == "userdata" then
    n = set.clock.first and 0 or add_distribution(set, series, time, v)
  else
    v = tonumber(v)
    if v and v - v == 0 then -- a finite number
      if series.state then
        set.one[1] = v
        set.accumulator.add(series.state, set.one, 1, time)
      else
        n = core.window_add(series.window, time, v)
      end
    end
  end
  if n > set.samples then
    set.samples = n
    check_memory(set)
  end
end

-- How a reducer is read from a series.
local function reader(reducer)
  local what, accumulator, values = READ[reducer.key], reducer.make(), {}
  local get = reducer.get or accumulator.get
  return function(series)
    if series.merged then
      return reducer.of and reducer:of(series.merged)
    elseif series.state then
      return get(series.state)
    elseif what then
      return (core.window_get(series.window, what, reducer.share))
    end
    local state, n = accumulator.new(), core.window_values(series.window, values)
    if n > 0 then
      accumulator.add(state, values, n, series.time)
    end
    return n > 0 and get(state) or nil
  end
end

-- A function of a row that adds what `feed` gives to the series of its group or kstat, once a tick, and reads it.
local function sliding(set, group, feed, read)
  local clock = set.clock
  return function(row, mode)
    local k, key, time = row.kstat, nil, clock.time
    if group then
      key = tostring(row[group].key)
    elseif not k then
      error(("%s() follows the kstat of a row, and this row has none"):format(set.name), 0)
    else
      key, time = core.kid(k), k.snaptime or clock.time -- one that is created anew has another kid
    end
    local series = series_of(set, key, time)
    if series.tick ~= clock.tick then
      series.tick = clock.tick
      feed(series, row, time)
    end
    return read(series, row, mode)
  end
end

--- A reducer over time of the values of each kstat of a group: an accumulator that keeps its state.
-- @tparam table reducer
-- @string text of the expression
-- @tparam table tree of its values
-- @number seconds
-- @tparam table clock
-- @treturn table
function window.accumulator(reducer, text, tree, seconds, clock)
  local set = new_set(text, tree, KINDS[reducer.key] or "all", seconds, clock)
  return {
    windowed = true,
    new = function(group) return series_of(set, tostring(group.key), clock.time or 0) end,
    add = function(series, values, n)
      for i = 1, n do
        add(set, series, clock.time, values[i])
      end
    end,
    get = reader(reducer),
    merge = function() error("aggregations with windows cannot be merged", 0) end,
  }
end

--- Makes a function of a value over time.
-- @tparam table tree of the tag ago, or a call
-- @tparam table reducer nil: it is none, see is()
-- @func e the values
-- @func target of until
-- @number seconds
-- @tparam table context
-- @param group the key of the group in a row; nil: values are of kstats
-- @treturn function(row, mode)
function window.make(tree, reducer, e, target, seconds, context, group)
  local values = tree.arguments and tree.arguments[1] or tree[1]
  local of_rate = not reducer and tree.name == "rate"
  local set = new_set(context.text, values, reducer and (KINDS[reducer.key] or "all") or "span", seconds, context.clock)
  set.of_interval, set.name = set.of_interval or of_rate, tree.name or "ago"
  if seconds == math.huge then
    set.accumulator, set.one = reducer.make(), {}
  end
  local function feed(series, row, time)
    add(set, series, time, e(row, "seen"))
  end
  if reducer then
    return sliding(set, group, feed, reader(reducer))
  elseif of_rate then
    -- What was counted so far, each interval with its own rate: so units, and counters that fell, are as in rate(x).
    feed = function(series, row, time)
      local rate, elapsed = tonumber(e(row, "rate")), row.kstat.elapsed
      if rate and elapsed and elapsed > 0 and not set.clock.first then
        if not series.counted then
          add(set, series, time - elapsed, 0)
        end
        series.counted = (series.counted or 0) + rate * elapsed
        add(set, series, time, series.counted)
      end
    end
    return sliding(set, nil, feed, function(series) return (core.window_get(series.window, "rate")) end)
  elseif tree.tag == "ago" then
    return sliding(set, group, feed, function(series) return (core.window_get(series.window, "ago")) end)
  elseif tree.name == "trend" then
    return sliding(set, group, feed, function(series) return (core.window_get(series.window, "trend")) end)
  end
  return sliding(set, group, feed, function(series, row, mode)
    local goal, slope, now = tonumber(target(row, mode)), core.window_get(series.window, "trend")
    if not goal or not slope then
      return nil
    end
    local rest = goal - now
    return rest == 0 and 0 or slope ~= 0 and rest / slope > 0 and rest / slope or nil
  end)
end

return window
