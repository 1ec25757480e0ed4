--- Values over time: avg(x, 60s), rate(x, 5m), x ago 1d, trend(x, 30m), until(x, 0, 30m), changes(x, 1h), since(x);
-- and means and percentiles of all that was so far: ewma(x, 600), and p99(x) in a column.
--
-- A set has the values of one expression over time, a series for each kstat of one creation, or for each group; their
-- owner has them by the set. It is
-- fed at every tick, before anything is read, by those who make ticks: kstat.aggregate and kstat.report. What a window
-- has at the time t are the values of (t - T, t], whether a new one came or not. Times run on the axis of the clock,
-- which goes on over starts of the machine; a gap is none of its intervals.
--
-- What was counted since creation is no interval, and is not added. A column, a function of its row that asks for the
-- same, and sorting use one value: the report counts its ticks in a state that expressions are compiled with.
-- @module kstat.figures.expression.window
local core = require("kstat.core")

local window = {}

local MOST_BYTES, BYTES, DISTRIBUTION = 256 * 2 ^ 20, 16, 8192 -- of all values; of one; of a distribution
local SAME = 0.01 -- seconds: so far may ticks be from where they should be
local AWAY = 60 -- seconds after which a kstat that is not there is forgotten, if no time asks for it
local KINDS = { min = "least", max = "greatest", digest = "ranked" } -- by the key of a reducer; others: all
local READ = { sum = "sum", mean = "mean", count = "count", min = "first", max = "first", first = "first",
  last = "last", digest = "quantile" }

-- --- the clock ------------------------------------------------------------------------------------

--- Says that what has series, a group or a kstat, is forgotten.
function window.forget(owner)
  for set in pairs(owner) do
    if type(set) == "table" and set.clock then
      set.n = set.n - 1
    end
  end
end

-- Says it of all kstats of a name.
local function forget_all(who)
  for _, creation in pairs(who.creations) do
    window.forget(creation)
  end
  window.forget(who)
end

--- Makes a clock of a table, or one that has nothing behind it any more: `tick` counts, `time` is that of the tick in
-- seconds on an axis of its own, `length` that of the interval that ends with it (0: there is none), `place` its
-- difference; `interval`: the seconds between ticks, if known.
function window.clock(clock)
  for _, who in pairs(clock.names or {}) do
    forget_all(who)
  end
  clock.sets, clock.longest, clock.kept = clock.sets or {}, clock.longest or 0, clock.kept or 0
  -- Windows of groups stay: the axis goes on behind all that is in them.
  clock.time = clock.time and clock.time + math.max(clock.longest, clock.kept) + 1 or 0
  clock.tick, clock.before, clock.length, clock.slack, clock.taken = clock.tick or 0, clock.time, 0, 0, nil
  clock.kids, clock.names, clock.times, clock.cuts, clock.first_tick, clock.starts = {}, {}, {}, {}, clock.tick + 1, 0
  if clock.now then -- a tick goes on already
    clock.tick = clock.tick - 1
    clock.first_tick = clock.tick + 1
    window.tick(clock, clock.now, clock.ends, false)
  end
  return clock
end

-- Forgets the times of ticks before the longest time that is asked for, and kstats that are gone for so long.
local function forget(clock)
  local from = clock.time - clock.longest - SAME
  local first = clock.first_tick
  while clock.times[first + 1] and clock.times[first + 1] <= from do
    clock.times[first], clock.cuts[first], first = nil, nil, first + 1
  end
  clock.first_tick = first
  from = math.min(from, clock.before - clock.kept, clock.times[first] or from) -- with the sample before a window
  if clock.time - (clock.swept or 0) > math.max(clock.longest, 60) then
    clock.swept, clock.kids = clock.time, {}
    for name, who in pairs(clock.names) do
      for crtime, creation in pairs(who.creations) do
        if creation.time <= from - AWAY and creation.tick < clock.tick - 1 then
          who.creations[crtime] = nil
          window.forget(creation)
        end
      end
      if not next(who.creations) then
        clock.names[name] = nil
        window.forget(who)
      end
    end
  end
end

--- Begins a tick with a difference or a sample. ends: the seconds of the interval that ends with it, or false; cut:
-- nothing is known of the time before.
function window.tick(clock, place, ends, cut)
  local taken, wall = core.sample_taken(place), core.sample_time_of_day(place)
  local step = ends or 0
  if clock.taken and taken < clock.taken and wall < clock.wall then
    local now = clock.now
    clock.now = nil
    window.clock(clock) -- somebody went back in a recording
    clock.now, step = now, 0
  elseif clock.taken then
    step = taken - clock.taken
    cut = cut or ends and ends < step - SAME -- a gap lies before what a step of the past has joined
    if step < 0 then -- the machine was started again: no kstat is the same, whatever its crtime
      clock.starts, clock.kids = clock.starts + 1, {}
    end
    if cut or step < 0 then
      step = math.max(step, wall - clock.wall, 0)
    else
      clock.slack = math.min(SAME, step / 10)
    end
  end
  clock.before = clock.time
  clock.tick, clock.time, clock.taken, clock.wall = clock.tick + 1, clock.time + step, taken, wall
  clock.length, clock.cut, clock.place = ends and (cut and ends or step) or 0, cut, place
  clock.times[clock.tick], clock.cuts[clock.tick] = clock.time, cut
  forget(clock)
end

-- So far ticks may be from where they should be, for a window of so many seconds: it always has the value of now.
local function slack_of(clock, seconds)
  return math.min(clock.slack, seconds / 2)
end

-- From when on values are in a window, and the time of the sample that was the newest then; nil in a gap, or before
-- all.
local function beginning(clock, seconds)
  local slack = slack_of(clock, seconds)
  local from = clock.time - seconds + slack
  local low, high = clock.first_tick, clock.tick
  if seconds > clock.longest or clock.times[low] > from then
    return from, nil
  end
  while low < high do -- to the last one that is not later
    local middle = math.ceil((low + high) / 2)
    if clock.times[middle] <= from then
      low = middle
    else
      high = middle - 1
    end
  end
  local time = clock.times[low]
  return from, not (clock.cuts[low + 1] and time < from - 2 * slack) and time or nil
end

-- What belongs to the creation of a kstat; `who`: what belongs to all kstats of its name, one after the other: the
-- newest `creation`, the `tick` when it was seen last, and whether that `renewed` one of the tick before.
local function creation_of(clock, k)
  local kid = core.kid(k) -- one that is created anew has another kid, and one that was away, too
  local creation = clock.kids[kid]
  if not creation then
    local name, crtime = core.identity(k)
    local who = clock.names[name] or { creations = {} }
    clock.names[name] = who
    if clock.starts > 0 then
      crtime = ("%s:%d"):format(tostring(crtime), clock.starts)
    end
    creation = who.creations[crtime] or { who = who, tick = 0, time = 0 }
    clock.kids[kid], who.creations[crtime] = creation, creation
  end
  local tick = clock.tick
  if creation.tick ~= tick then
    local who = creation.who
    who.renewed = who.tick == tick - 1 and who.creation ~= creation
    who.creation, who.tick, creation.tick, creation.time = creation, tick, tick, clock.time
  end
  return creation
end

-- --- series -----------------------------------------------------------------------------------------

local function check_memory(set)
  local interval = set.clock.interval
  local samples = math.max(set.samples, interval and math.floor(set.seconds / interval) + 1 or 0)
  local bytes = set.n * samples * set.bytes
  if set.seconds < math.huge and bytes > MOST_BYTES then
    core.fail(("'%s': %d rows of %d samples take %.0f MB, more than %d MB: fewer rows, a shorter time or a longer " ..
      "interval"):format(set.text, set.n, samples, bytes / 2 ^ 20, MOST_BYTES / 2 ^ 20))
  end
end

-- All series of one expression. kind: that of the core's window; reducer: what they are read by, which has accumulators
-- in place of windows if all so far counts, a mean of which is one for some time without a new value. What takes texts
-- has numbers for them.
local function new_set(text, seconds, clock, kind, reducer)
  local endless, accumulator = seconds == math.huge, reducer and reducer.make()
  if not clock.kids then
    window.clock(clock)
  end
  local set = { text = text, kind = not (endless and reducer) and kind, seconds = seconds, clock = clock, samples = 0,
    n = 0, bytes = BYTES, one = {}, accumulator = endless and accumulator or nil }
  set.tau = endless and reducer and reducer.arguments and reducer.arguments[1]
  if accumulator and accumulator.texts then
    set.texts, set.numbers, set.ntexts = {}, {}, 0
  end
  clock.longest = math.max(clock.longest, endless and 0 or seconds)
  clock.kept = math.max(clock.kept, set.tau or 0)
  return set
end

-- Those of a reducer over time.
local function set_of(reducer, text, seconds, clock)
  return new_set(text, seconds, clock, KINDS[reducer.key] or "all", reducer)
end

local function new_series(set, owner)
  local accumulator = set.accumulator
  local series = { state = accumulator and accumulator.new and accumulator.new(), tick = false, last = false,
    window = set.kind and core.window(set.kind, set.seconds) or nil }
  owner[set], set.n = series, set.n + 1
  check_memory(set)
  return series
end

-- From when on values are in a window: those behind this time.
local function start_of(set)
  local clock = set.clock
  if set.tick ~= clock.tick then
    set.tick, set.start = clock.tick, clock.time - set.seconds + slack_of(clock, set.seconds)
  end
  return set.start
end

-- Takes the oldest distribution away. What merged at a coarser scale cannot be taken back: the others merge anew.
local function forget_oldest(series)
  local past = series.past
  local ok, rest = pcall(function() return series.merged - past[past.first].distribution end)
  past[past.first], past.first = nil, past.first + 1
  if not ok then
    rest = past[past.first] and past[past.first].distribution
    for i = past.first + 1, past.n do
      rest = rest + past[i].distribution
    end
  end
  series.merged = past.first <= past.n and rest or nil
end

-- The distribution of the window, or nil.
local function merged(set, series)
  local past, from = series.past, start_of(set)
  while past and past.first <= past.n and past[past.first].time <= from do
    forget_oldest(series)
  end
  return series.merged
end

-- Adds the distribution of an interval. One that does not merge with those before, of a kstat that was made anew with
-- other buckets or another unit, begins anew.
local function add_distribution(set, series, d)
  local all = merged(set, series)
  local both = all and all:merge(d)
  local past = both and series.past or { first = 1, n = 0 }
  series.past, series.merged, set.bytes = past, both or d, DISTRIBUTION
  past.n = past.n + 1
  past[past.n] = { time = set.clock.time, distribution = d }
  return past.n - past.first + 1
end

-- The number by which a window holds a text: one that no value is.
local function number_of(set, text)
  if not set.numbers[text] then
    set.ntexts = set.ntexts + 1
    local number = -2 ^ 1000 - set.ntexts * 2 ^ 950
    set.numbers[text], set.texts[number] = number, text
  end
  return set.numbers[text]
end

-- Adds the value of a tick to a series, if there is one.
local function add(set, series, v)
  local n, clock, kind = 0, set.clock, type(v)
  if kind == "string" then
    local number = set.texts and number_of(set, v) or tonumber(v)
    if not number and not series.last then -- else what publishes it has changed
      core.fail(("'%s' is a text in '%s', which is of numbers: count(x, 1h), distinct(x, 1h) and changes(x, 1h) " ..
        "take texts"):format(v, set.text))
    end
    v, kind = number, number and "number"
  end
  if kind == "number" and v - v == 0 then
    if not set.accumulator then
      n = core.window_add(series.window, start_of(set), clock.time, v)
    else
      if set.tau and series.last and series.last <= clock.before - set.tau + slack_of(clock, set.tau) then
        series.state = set.accumulator.new() -- a tick found nothing in this time
      end
      set.one[1], series.merged = v, nil
      series.state = set.accumulator.add(series.state, set.one, 1, clock.time)
    end
    series.last = clock.time
  elseif kind == "userdata" and set.accumulator then
    series.merged = v -- what has a distribution needs no digest
  elseif kind == "userdata" then
    n = add_distribution(set, series, v)
  end
  if n > set.samples then
    set.samples = n
    check_memory(set)
  end
end

-- How a reducer is read from a series.
local function reader(set, reducer)
  local what, accumulator, values = READ[reducer.key], reducer.make(), {}
  local get = reducer.get or accumulator.get
  return function(series)
    local clock = set.clock
    local d = series.past and merged(set, series) or series.merged
    if d then
      return reducer.of and reducer:of(d)
    elseif set.accumulator then
      local since = set.tau and clock.time - set.tau + slack_of(clock, set.tau)
      return (not since or series.last and series.last > since) and get(series.state) or nil
    elseif what then
      return (core.window_get(series.window, start_of(set), what, reducer.share))
    end
    local state, n = accumulator.new and accumulator.new(), core.window_values(series.window, start_of(set), values)
    for i = 1, set.texts and n or 0 do
      values[i] = set.texts[values[i]] or values[i]
    end
    if n > 0 then
      state = accumulator.add(state, values, n, clock.time)
    end
    return (n > 0 or reducer.of_nothing) and get(state) or nil
  end
end

-- Whether a series still says something, now or in time.
local function is_alive(set, series)
  if set.accumulator then
    return series.last and series.last > set.clock.time - (set.tau or 0)
  elseif series.past and merged(set, series) or core.window_get(series.window, start_of(set), "count") > 0 then
    return true
  end
  local from, before = beginning(set.clock, set.seconds)
  return set.kind == "span" and before and core.window_get(series.window, from, "value", before) ~= nil
end

--- Whether any window of a group has a value, or will have one.
function window.is_alive(group)
  for set, series in pairs(group) do
    if type(set) == "table" and set.clock and is_alive(set, series) then
      return true
    end
  end
  return false
end

-- --- functions of rows --------------------------------------------------------------------------------

-- The series of what is fed, or a new one: what is of all time begins anew with what was away for a minute, which would
-- else be remembered for as long as others ask for.
local function series_of(set, owner)
  local series, clock = owner[set], set.clock
  if series and set.seconds == math.huge and not set.tau and series.tick and series.tick < clock.tick - 1 and
    series.time <= clock.time - AWAY then
    series, set.n = nil, set.n - 1
  end
  return series or new_series(set, owner)
end

-- Has a set fed, and returns a function(row) that reads the series of its kstat or, with `group`, of the group that the
-- row is. owner: what has the series of a kstat, "who" or its creation.
local function sliding(set, context, group, feed, read, owner)
  local clock = set.clock
  function set.feed(row)
    local k = row.kstat
    local of = group and row or creation_of(clock, k)
    if owner then
      of = of[owner]
    end
    local series = series_of(set, of)
    if series.tick ~= clock.tick then
      series.tick, series.time = clock.tick, clock.time
      if clock.still then -- what was counted since creation is no value
        row.kstat = core.lookup(clock.still, k.module, k.instance, k.name)
      end
      feed(series, row)
      row.kstat = k
    end
    set.fed, set.series = k, series
    return series
  end
  local list = group and context.group.sets or clock.sets
  list[#list + 1] = set
  return function(row)
    if group then
      return read(row[set] or new_series(set, row), row)
    elseif type(row.kstat) ~= "userdata" then
      error(("%s() follows the kstat of a row, and this row has none"):format(set.name), 0)
    end
    return read(rawequal(set.fed, row.kstat) and set.series or set.feed(row), row)
  end
end

--- Raises that there should be a number.
function window.refuse_distribution()
  core.fail("a distribution is no number: p99(x), mean(x), count(x) and others of it are")
end

--- Raises that windows have no sums with other ones.
function window.refuse_merge()
  error("aggregations with windows cannot be merged", 0)
end

--- A reducer over time of the values of the kstats of a group: an accumulator that keeps its state.
function window.accumulator(reducer, text, seconds, clock)
  local set = set_of(reducer, text, seconds, clock)
  return {
    windowed = true,
    texts = set.texts,
    new = function(group) return group[set] or new_series(set, group) end,
    add = function(series, values, n)
      for i = 1, n do
        add(set, series, values[i])
      end
      return series
    end,
    get = reader(set, reducer),
    merge = window.refuse_merge,
  }
end

-- What was counted so far in each interval. Its time is the kstat's own, from where it began or came back on.
local function feed_change(set, e)
  local clock = set.clock
  return function(series, row)
    local rate, elapsed = e(row, 2), row.kstat.elapsed
    rate = type(rate) == "userdata" and window.refuse_distribution() or tonumber(rate)
    if rate and elapsed and elapsed > 0 then
      local from = start_of(set)
      local begins = not series.at or series.seen ~= clock.tick - 1 or clock.cut
      if begins then
        series.at = math.max(clock.time - elapsed, series.at or 0)
        core.window_add(series.window, from, series.at, 0 / 0)
      end
      series.at, series.seen = series.at + elapsed, clock.tick
      core.window_add(series.window, from, series.at, rate * elapsed)
    end
  end
end

-- Notes the ticks at which x is not what it was in the one before: another value, or for resets a lower one or one of
-- another creation.
local function feed_happening(set, e, is_reset)
  local clock = set.clock
  return function(series, row)
    local v = e(row, 0)
    if v ~= nil and series.seen == clock.tick - 1 and clock.length > 0 and not clock.cut then
      local happened = v ~= series.value
      if is_reset then
        happened = clock.kids[core.kid(row.kstat)].who.renewed or type(v) == "number" and v < series.value
      end
      if happened then
        series.happened = clock.time
        if series.window then
          add(set, series, 1)
        end
      end
    end
    series.value, series.seen = v, v ~= nil and clock.tick or nil
    series.known = v ~= nil and clock.time or series.known
  end
end

-- How each is read: function(set, series, row, goal).
local READERS = {
  rate = function(set, series)
    return (core.window_get(series.window, start_of(set), "rate"))
  end,
  ago = function(set, series)
    local from, before = beginning(set.clock, set.seconds)
    return before and (core.window_get(series.window, from, "value", before))
  end,
  trend = function(set, series)
    local from, before = beginning(set.clock, set.seconds)
    return (core.window_get(series.window, from, "trend", before, set.clock.time))
  end,
  ["until"] = function(set, series, row, goal)
    local from, before = beginning(set.clock, set.seconds)
    local slope, now = core.window_get(series.window, from, "trend", before, set.clock.time)
    goal = tonumber(goal(row, 0))
    if not goal or not slope then
      return nil
    elseif goal == now then
      return 0
    end
    local rest = slope ~= 0 and (goal - now) / slope
    return rest and rest > 0 and rest or nil
  end,
  changes = function(set, series)
    local from = start_of(set)
    return series.known and series.known > from and core.window_get(series.window, from, "count") or nil
  end,
  since = function(set, series)
    return series.happened and series.happened > start_of(set) and set.clock.time - series.happened or nil
  end,
}
READERS.resets = READERS.changes
local SPANS = { rate = "changes", ago = "span", trend = "span", ["until"] = "span" }

--- Makes a function(row) of a value over time that is no reducer: rate, ago, trend, until, changes, resets or since.
-- text: of the expression; e: the values; goal: of until; group: whether values are of groups
function window.over_time(name, text, e, goal, seconds, context, group)
  local set = new_set(text, seconds, context.clock, SPANS[name] or name ~= "since" and "all")
  set.name = name
  local function feed(series, row)
    local v = e(row, 0)
    add(set, series, type(v) == "userdata" and window.refuse_distribution() or v)
  end
  if name == "rate" then
    feed = feed_change(set, e)
  elseif not SPANS[name] then
    feed = feed_happening(set, e, name == "resets")
  end
  local read = READERS[name]
  return sliding(set, context, group, feed, function(series, row) return read(set, series, row, goal) end,
    name == "resets" and "who" or nil)
end

--- Makes a function(row) of a reducer over time, likewise; seconds: math.huge if all so far counts.
function window.reducer(reducer, text, e, seconds, context, group)
  local set = set_of(reducer, text, seconds, context.clock)
  set.name = reducer.title
  return sliding(set, context, group, function(series, row) add(set, series, e(row, 0)) end, reader(set, reducer))
end

return window
