--- What values are reduced to. Each kind of accumulator is a table of functions over a state, which is nil before any
-- value if there is no `new`:
--
--     new() -> state              add(state, values, n, time, k) -> state    n >= 1 finite numbers, of the kstat k
--     get(state) -> value         merge(state, other) -> state               then includes the values of other
--
-- One with `texts` takes texts, too. What has no value is nil.
-- A reducer names its accumulator and how its value is read out of the state; reducers of one
-- aggregation that use equal accumulators (p50 and p99) share one.
-- Sums, extremes and moments are plain numbers: integers are summed exactly as long as they fit, which a
-- statsblob's 64-bit sum would not notice to overflow, and other numbers need no fixed point. Percentiles
-- and distributions are counts of buckets (kstat.figures.reducers.digest, kstat.figures.reducers.buckets).
--
-- Percentiles are of buckets one percent wide, which merge exactly whatever their scale. An ewma is a mean with
-- decaying weights rather than the usual recursion, so that two of them can be merged and late ticks do not distort it.
-- @module kstat.figures.reducers
local reducers = {}

local core = require("kstat.core")

local SECONDS = { ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1, seconds = 1 } -- of the units of times

local accumulators = {}

--- Whether a value is a number that reducers take.
function reducers.is_finite(v)
  return type(v) == "number" and v - v == 0
end

local function itself(state) return state end

-- The function `add` of an accumulator that takes one value after the other: step(state, value, time) returns the
-- state.
local function each(step)
  return function(state, values, n, time)
    for i = 1, n do
      state = step(state, values[i], time)
    end
    return state
  end
end

-- Integers of Lua 5.3 and later wrap around; a sum that would goes on as a float.
local function plus(a, b)
  local sum = a + b
  if (b >= 0) ~= (sum >= a) then
    return a + 0.0 + b
  end
  return sum
end

local function add_up(a, b)
  if a == nil or b == nil then
    return a or b
  end
  return plus(a, b)
end

accumulators.sum = { add = each(add_up), get = itself, merge = add_up }

-- Sums in one table.
local function add_all(state, other)
  for field, value in pairs(other) do
    state[field] = plus(state[field] or 0, value)
  end
  return state
end

local function ratio(state)
  return state[2] > 0 and state[1] / state[2] or nil
end

-- The mean of what values come to.
local function mean_of(value_of)
  return {
    new = function() return { 0, 0 } end,
    add = each(function(state, v)
      state[1], state[2] = plus(state[1], value_of(v)), state[2] + 1
      return state
    end),
    get = ratio,
    merge = add_all,
  }
end
accumulators.mean = mean_of(itself)

-- The part of the values that are at most `limit`.
function accumulators.share(limit)
  return mean_of(function(v) return v <= limit and 1 or 0 end)
end

local function counting(get)
  return {
    texts = true,
    new = function() return 0 end,
    add = function(count, _, n) return count + n end,
    get = get,
    merge = function(count, other) return count + other end,
  }
end
accumulators.count = counting(itself)
accumulators.absent = counting(function(count) return count == 0 and 1 or 0 end)

local function extreme(better)
  local function pick(best, v)
    if best == nil or v ~= nil and better(v, best) then
      return v
    end
    return best
  end
  return { add = each(pick), get = itself, merge = pick }
end
accumulators.min = extreme(function(a, b) return a < b end)
accumulators.max = extreme(function(a, b) return a > b end)

-- How often each value was there.
local function tally(get)
  return {
    texts = true,
    new = function() return {} end,
    add = each(function(counts, v)
      counts[v] = (counts[v] or 0) + 1
      return counts
    end),
    get = get,
    merge = add_all,
  }
end
accumulators.distinct = tally(function(counts)
  local n = 0
  for _ in pairs(counts) do
    n = n + 1
  end
  return n > 0 and n or nil
end)
-- Of several that are as frequent the least, numbers before texts.
accumulators.mode = tally(function(counts)
  local best, most = nil, 0
  for value, n in pairs(counts) do
    if n > most or n == most and (type(value) == type(best) and value < best or
      type(value) == "number" and type(best) ~= "number") then
      best, most = value, n
    end
  end
  return best
end)

-- The last value of the only kstat: its name and its value, or that there are several.
accumulators.only = {
  texts = true,
  add = function(state, values, _, _, k)
    local name = tostring(k)
    return { name = name, value = values[1], several = state and (state.several or state.name ~= name) }
  end,
  get = function(state) return state and state.value end,
  merge = function(state, other)
    if state and other then
      other = { name = other.name, value = other.value,
        several = state.several or other.several or state.name ~= other.name }
    end
    return other or state
  end,
}

-- Count, mean and sum of squared distances from the mean, which stays exact where squares of large
-- counters would cancel out (Chan, Golub, LeVeque).
local function add_moments(state, n, mean, squares)
  local all, distance = state[1] + n, mean - state[2]
  if n > 0 then
    state[3] = state[3] + squares + distance * distance * state[1] * n / all
    state[1], state[2] = all, state[2] + distance * n / all
  end
  return state
end
accumulators.moments = {
  new = function() return { 0, 0, 0 } end,
  add = each(function(state, v) return add_moments(state, 1, v, 0) end),
  get = function(state) return state[1] > 0 and math.sqrt(math.max(0, state[3] / state[1])) or nil end,
  merge = function(state, other) return add_moments(state, other[1], other[2], other[3]) end,
}

-- The value of the least or greatest time; of equal times the first, or the last, that came.
local function at_end(later)
  local function pick(state, other)
    if not state or other and later(other.time, state.time) then
      return other
    end
    return state
  end
  return {
    timed = true,
    add = each(function(state, v, time) return pick(state, { time = time, value = v }) end),
    get = function(state) return state and state.value end,
    merge = pick,
  }
end
accumulators.first = at_end(function(time, than) return time < than end)
accumulators.last = at_end(function(time, than) return time >= than end)

-- The mean of values that count for as long as their interval, in place of a time; all the same if none has a length.
accumulators.weighted = {
  new = function() return { 0, 0 } end,
  add = each(function(state, v, length)
    local weight = length > 0 and length or 1e-200
    state[1], state[2] = state[1] + v * weight, state[2] + weight
    return state
  end),
  get = ratio,
  merge = add_all,
}

-- A mean whose weights fall to 1/e in `seconds`: sums of weighted values and of weights, both as of
-- state.time.
function accumulators.ewma(seconds)
  local function add(state, sum, weight, time)
    local now = math.max(state.time or time, time)
    local fallen, late = math.exp(((state.time or now) - now) / seconds), math.exp((time - now) / seconds)
    state.time, state.sum, state.weight = now, state.sum * fallen + sum * late, state.weight * fallen + weight * late
    return state
  end
  return {
    timed = true,
    new = function() return { sum = 0, weight = 0 } end,
    add = each(function(state, v, time) return add(state, v, 1, time) end),
    -- After a pause of many times `seconds` the weight of older values may be 0: the mean is then nil.
    get = function(state) return state.weight > 0 and state.sum / state.weight or nil end,
    merge = function(state, other)
      return other.time and add(state, other.sum, other.weight, other.time) or state
    end,
  }
end

for _, module in ipairs({ "digest", "buckets" }) do
  accumulators[module] = function(...) return require("kstat.figures.reducers." .. module).accumulator(...) end
end

-- --- reducers ---------------------------------------------------------------------------------

-- Each kind has the name of its `accumulator`; how many numbers it takes (`least` to `most`; none if these are not
-- given) and `make`, a function of them that returns fields of the reducer, or nil and what is wrong; and `of`, how the
-- same is read from a distribution: the name of its field, or a function(reducer, distribution).

local function percentile(share)
  return {
    share = share,
    get = function(state) return require("kstat.figures.reducers.digest").quantile(state, share) end,
    of = function(_, d) return (d:quantile(share)) end,
  }
end

-- The share of the values below a time needs the unit of a distribution.
local function limited(limit)
  local found = { key = "share " .. limit, arguments = { limit } }
  function found.get(state)
    if found.time and state[2] > 0 then
      core.fail("share() up to a time is of distributions; of numbers it takes a number in their unit")
    end
    return ratio(state)
  end
  function found:of(d)
    local unit = self.time and SECONDS[d.unit]
    if self.time and not unit then
      core.fail(("share() up to a time, and %s is in %s"):format(d.name, d.unit ~= "" and d.unit or "no unit"))
    end
    return (d:share(unit and limit / unit or limit))
  end
  return found
end

-- A reducer whose values are distributions in the buckets of a scheme.
local function bucketed(name, least, most)
  return { accumulator = "buckets", least = least, most = most, make = function(...)
    local buckets = require("kstat.figures.reducers.buckets")
    local scheme, problem = buckets.scheme(name, ...)
    return scheme and { key = scheme.name, arguments = { scheme }, distribution = true,
      of = function(_, d) return buckets.of(scheme, d) end }, problem
  end }
end

local KINDS = {
  sum = { accumulator = "sum", of = "sum" },
  count = { accumulator = "count", of = "count", of_nothing = true },
  absent = { accumulator = "absent", of = function() return 0 end, of_nothing = true },
  avg = { accumulator = "mean", of = "mean" },
  mean = { accumulator = "mean", of = "mean" },
  min = { accumulator = "min", of = "min" },
  max = { accumulator = "max", of = "max" },
  first = { accumulator = "first" },
  last = { accumulator = "last" },
  stddev = { accumulator = "moments" },
  distinct = { accumulator = "distinct" },
  mode = { accumulator = "mode" },
  ewma = { accumulator = "ewma", least = 1, most = 1, make = function(seconds)
    if seconds <= 0 or seconds > 3653 * 86400 then
      return nil, "ewma() takes seconds above 0 and of at most 10 years"
    end
    return { key = "ewma " .. seconds, arguments = { seconds } }
  end },
  median = { accumulator = "digest", make = function() return percentile(0.5) end },
  p = { accumulator = "digest", least = 1, most = 1, make = function(percent)
    if percent < 0 or percent > 100 then
      return nil, "p() takes a percentage from 0 to 100"
    end
    return percentile(percent / 100)
  end },
  share = { accumulator = "share", least = 1, most = 1, make = limited },
  quantize = bucketed("quantize"),
  heat = bucketed("quantize"),
  lquantize = bucketed("lquantize", 2, 3),
}

-- The kind of a percentile: p99, p99.9, and p999 for the same.
local function kind_of_share(title)
  local nines = title:match("^p(99%d+)$")
  local percent = nines and 100 * tonumber("0." .. nines) or tonumber(title:match("^p(%d+%.?%d*)$"))
  return percent and percent <= 100 and
    { accumulator = "digest", make = function() return percentile(percent / 100) end } or nil
end

--- What a period makes of what a reducer came to at each of its ticks: accumulators, whose times are lengths.
reducers.FOLDS = { total = accumulators.sum, mean = accumulators.weighted, min = accumulators.min,
  max = accumulators.max }

--- The reducers but percentiles, by their names; of each [1] is how many numbers it needs.
reducers.KINDS = KINDS

--- Whether a name is one of a reducer, or like that of a percentile.
function reducers.known(name)
  return KINDS[name] ~= nil or name:find("^p%d") ~= nil
end

--- What stands outside of reducers: the value of the only kstat.
reducers.only = {
  title = "value", name = "value", key = "only", make = function() return accumulators.only end,
  of = function(_, d) return d end,
}

local function names()
  local list = {}
  for name in pairs(KINDS) do
    list[#list + 1] = name
  end
  table.sort(list)
  return table.concat(list, ", ")
end

--- Makes a reducer.
-- @string name "sum", "p99.9", "lquantize" …
-- @tparam {number,...} arguments; with `time` the last one is seconds
-- @treturn table `title`, `name` (with its arguments), `key` (equal for reducers whose accumulators
-- are equal), `make()` (the accumulator), `get` (reads a state; nil: the accumulator's), `of(self, d)` (reads a
-- distribution of the core; nil: it is of numbers only), `of_nothing` (it has a value without any), `distribution`
-- (true: its values are distributions); or nil and what is wrong
function reducers.make(name, arguments)
  local unpack = table.unpack or unpack
  local kind = KINDS[name] or kind_of_share(name)
  if not kind then
    local line = require("kstat.base.unknown").line("there is no reducer", name, KINDS)
    return nil, line:find("did you mean", 1, true) and line or ("%s (known: %s, pN)"):format(line, names())
  end
  local least, most = kind.least or 0, kind.most or 0
  if most == 0 and #arguments > 0 then
    return nil, ("%s takes no number; a time has a unit, such as 60s"):format(name)
  elseif #arguments < least or #arguments > most then
    return nil, ("%s takes %d%s numbers, not %d"):format(name, least, most > least and " or " .. most or "", #arguments)
  elseif arguments.time and name ~= "share" and name ~= "ewma" then
    return nil, name .. "() takes numbers, no time, behind its expression"
  end
  local found, problem = {}, nil
  if kind.make then
    found, problem = kind.make(unpack(arguments))
  end
  if not found then
    return nil, problem
  end
  local of = found.of or kind.of
  found.of = type(of) == "string" and function(_, d) return d[of] end or of
  found.title, found.time, found.of_nothing = name, arguments.time, kind.of_nothing
  found.key = found.key or kind.accumulator
  found.name = name ~= "heat" and found.arguments and found.key or name
  function found.make()
    local accumulator = accumulators[kind.accumulator]
    if type(accumulator) == "function" then
      accumulator = accumulator(unpack(found.arguments or {}))
    end
    return accumulator
  end
  return found
end

return reducers
