--- What values are reduced to. Each kind of accumulator is a table of functions over a state of its own:
--
--     new() -> state              add(state, values, n, time, k)     n >= 1 finite numbers, of the kstat k
--     get(state) -> value         merge(state, other)                state then includes the values of other
--
-- One with `texts` takes texts, too. What has no value is nil.
-- A reducer names its accumulator and how its value is read out of the state; reducers of one
-- aggregation that use equal accumulators (p50 and p99) share one.
-- Sums, extremes and moments are plain numbers: integers are summed exactly as long as they fit, which a
-- statsblob's 64-bit sum would not notice to overflow, and other numbers need no fixed point. Percentiles
-- and distributions are statsblobs (kstat.reducers.digest, kstat.reducers.buckets).
--
-- @module kstat.reducers
local reducers = {}

local core = require("kstat.core")

local SECONDS = { ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1, seconds = 1 } -- of the units of times

local accumulators = {}

-- Integers of Lua 5.3 and later wrap around; a sum that would goes on as a float.
local function plus(a, b)
  local sum = a + b
  if (b >= 0) ~= (sum >= a) then
    return a + 0.0 + b
  end
  return sum
end

accumulators.sum = {
  new = function() return {} end,
  add = function(state, values, n)
    local sum = state[1] or 0
    for i = 1, n do
      local v = values[i]
      local more = sum + v
      if (v >= 0) ~= (more >= sum) then
        more = sum + 0.0 + v
      end
      sum = more
    end
    state[1] = sum
  end,
  get = function(state) return state[1] end,
  merge = function(state, other)
    if other[1] ~= nil then
      state[1] = plus(state[1] or 0, other[1])
    end
  end,
}

accumulators.mean = {
  new = function() return { 0, 0 } end,
  add = function(state, values, n)
    accumulators.sum.add(state, values, n)
    state[2] = state[2] + n
  end,
  get = function(state) return state[2] > 0 and state[1] / state[2] or nil end,
  merge = function(state, other)
    state[1], state[2] = plus(state[1], other[1]), state[2] + other[2]
  end,
}

accumulators.count = {
  new = function() return { 0 } end,
  add = function(state, _, n) state[1] = state[1] + n end,
  get = function(state) return state[1] end,
  merge = function(state, other) state[1] = state[1] + other[1] end,
}

local function extreme(better)
  return {
    new = function() return {} end,
    add = function(state, values, n)
      local best = state[1]
      if best == nil then
        best = values[1]
      end
      for i = 1, n do
        if better(values[i], best) then
          best = values[i]
        end
      end
      state[1] = best
    end,
    get = function(state) return state[1] end,
    merge = function(state, other)
      if state[1] == nil or other[1] ~= nil and better(other[1], state[1]) then
        state[1] = other[1]
      end
    end,
  }
end
accumulators.min = extreme(function(a, b) return a < b end)
accumulators.max = extreme(function(a, b) return a > b end)

-- How often each value was there.
local function tally(get)
  return {
    texts = true,
    new = function() return {} end,
    add = function(state, values, n)
      for i = 1, n do
        state[values[i]] = (state[values[i]] or 0) + 1
      end
    end,
    get = get,
    merge = function(state, other)
      for value, n in pairs(other) do
        state[value] = (state[value] or 0) + n
      end
    end,
  }
end
accumulators.distinct = tally(function(state)
  local n = 0
  for _ in pairs(state) do
    n = n + 1
  end
  return n
end)
-- Of several that are as frequent the least, numbers before texts.
accumulators.mode = tally(function(state)
  local best, most = nil, 0
  for value, n in pairs(state) do
    if n > most or n == most and (type(value) == type(best) and value < best or
      type(value) == "number" and type(best) ~= "number") then
      best, most = value, n
    end
  end
  return best
end)

-- The part of the values that are at most `limit`.
function accumulators.share(limit)
  return {
    new = function() return { 0, 0 } end,
    add = function(state, values, n)
      for i = 1, n do
        state[1] = state[1] + (values[i] <= limit and 1 or 0)
      end
      state[2] = state[2] + n
    end,
    merge = function(state, other) state[1], state[2] = state[1] + other[1], state[2] + other[2] end,
  }
end

-- The last value of the only kstat; nil if there are several.
accumulators.only = {
  texts = true,
  new = function() return {} end,
  add = function(state, values, _, _, k)
    local name = tostring(k)
    state.several = state.several or state.name ~= nil and state.name ~= name
    state.name, state.value = name, values[1]
  end,
  get = function(state)
    if not state.several then
      return state.value
    end
  end,
  merge = function(state, other)
    state.several = state.several or other.several or state.name ~= nil and state.name ~= other.name
    state.name, state.value = other.name, other.value
  end,
}

-- Count, mean and sum of squared distances from the mean, which stays exact where squares of large
-- counters would cancel out (Welford; merging: Chan, Golub, LeVeque).
accumulators.moments = {
  new = function() return { 0, 0, 0 } end,
  add = function(state, values, n)
    local count, mean, squares = state[1], state[2], state[3]
    for i = 1, n do
      local v = values[i]
      local distance = v - mean
      count = count + 1
      mean = mean + distance / count
      squares = squares + distance * (v - mean)
    end
    state[1], state[2], state[3] = count, mean, squares
  end,
  get = function(state) return state[1] > 0 and math.sqrt(math.max(0, state[3] / state[1])) or nil end,
  merge = function(state, other)
    local a, b = state[1], other[1]
    if b > 0 then
      local distance = other[2] - state[2]
      state[1] = a + b
      state[2] = state[2] + distance * b / (a + b)
      state[3] = state[3] + other[3] + distance * distance * a * b / (a + b)
    end
  end,
}

-- The value of the least or greatest time; of equal times the first, or the last, that came.
local function at_end(later)
  local function take(state, value, time)
    if state.time == nil or later(time, state.time) then
      state.time, state.value = time, value
    end
  end
  return {
    timed = true,
    new = function() return {} end,
    get = function(state) return state.value end,
    merge = function(state, other)
      if other.time ~= nil then
        take(state, other.value, other.time)
      end
    end,
    take = take,
  }
end
accumulators.first = at_end(function(time, than) return time < than end)
accumulators.last = at_end(function(time, than) return time >= than end)
function accumulators.first.add(state, values, _, time)
  accumulators.first.take(state, values[1], time)
end
function accumulators.last.add(state, values, n, time)
  accumulators.last.take(state, values[n], time)
end

-- A mean whose weights fall to 1/e in `seconds`: sums of weighted values and of weights, both as of
-- state.time.
function accumulators.ewma(seconds)
  local function pass(state, time)
    if state.time and time > state.time then
      local factor = math.exp((state.time - time) / seconds)
      state.sum, state.weight = state.sum * factor, state.weight * factor
    end
    state.time = math.max(state.time or time, time)
  end
  return {
    timed = true,
    new = function() return { sum = 0, weight = 0 } end,
    add = function(state, values, n, time)
      pass(state, time)
      local weight = math.exp((time - state.time) / seconds)
      local sum = 0
      for i = 1, n do
        sum = sum + values[i]
      end
      state.sum, state.weight = state.sum + sum * weight, state.weight + n * weight
    end,
    -- After a pause of many times `seconds` the weight of older values may be 0: the mean is then nil.
    get = function(state) return state.weight > 0 and state.sum / state.weight or nil end,
    merge = function(state, other)
      if other.time then
        pass(state, other.time)
        local weight = math.exp((other.time - state.time) / seconds)
        state.sum, state.weight = state.sum + other.sum * weight, state.weight + other.weight * weight
      end
    end,
  }
end

local function lazily(module)
  return function(...)
    return require("kstat.reducers." .. module).accumulator(...)
  end
end
accumulators.digest = lazily("digest")
accumulators.buckets = lazily("buckets")

-- --- reducers ---------------------------------------------------------------------------------

-- Reducers of numbers, and how the same is read from a distribution.
local function same(accumulator, of)
  return function() return { accumulator = accumulator, key = accumulator, of = of } end
end

local function field(name)
  return function(_, d) return d[name] end
end

local function share_of(title)
  local nines = title:match("^p(99%d+)$") -- p999 is p99.9
  local percent = nines and 100 * tonumber("0." .. nines) or tonumber(title:match("^p(%d+%.?%d*)$"))
  return percent and percent <= 100 and percent / 100
end

local function percentile(share)
  return {
    accumulator = "digest", key = "digest", share = share,
    get = function(state) return require("kstat.reducers.digest").quantile(state, share) end,
    of = function(_, d) return (d:quantile(share)) end,
  }
end

-- least and most arguments, and the reducer that they make, or nil and what is wrong
local KINDS = {
  sum = { 0, 0, same("sum", field("sum")) },
  count = { 0, 0, same("count", field("count")) },
  avg = { 0, 0, same("mean", field("mean")) },
  mean = { 0, 0, same("mean", field("mean")) },
  min = { 0, 0, same("min", field("min")) },
  max = { 0, 0, same("max", field("max")) },
  first = { 0, 0, same("first") },
  last = { 0, 0, same("last") },
  stddev = { 0, 0, same("moments") },
  distinct = { 0, 0, same("distinct") },
  mode = { 0, 0, same("mode") },
  ewma = { 1, 1, function(seconds)
    if seconds <= 0 then
      return nil, "ewma() takes seconds above 0"
    end
    return { accumulator = "ewma", key = "ewma " .. seconds, arguments = { seconds } }
  end },
  median = { 0, 0, function() return percentile(0.5) end },
  p = { 1, 1, function(percent)
    if percent < 0 or percent > 100 then
      return nil, "p() takes a percentage from 0 to 100"
    end
    return percentile(percent / 100)
  end },
  share = { 1, 1, function(limit)
    local found = { accumulator = "share", key = "share " .. limit, arguments = { limit } }
    function found.get(state)
      if found.time and state[2] > 0 then
        core.fail("share() up to a time is of distributions; of numbers it takes a number in their unit")
      end
      return state[2] > 0 and state[1] / state[2] or nil
    end
    function found:of(d)
      local unit = self.time and SECONDS[d.unit]
      if self.time and not unit then
        core.fail(("share() up to a time, and %s is in %s"):format(d.name, d.unit ~= "" and d.unit or "no unit"))
      end
      return (d:share(unit and limit / unit or limit))
    end
    return found
  end },
}
for name, least in pairs({ quantize = 0, heat = 0, lquantize = 2, llquantize = 4 }) do
  KINDS[name] = { least, name == "lquantize" and 3 or least, function(...)
    local buckets = require("kstat.reducers.buckets")
    local scheme, problem = buckets.scheme(name == "heat" and "quantize" or name, ...)
    if not scheme then
      return nil, problem
    end
    return { accumulator = "buckets", key = scheme.name, arguments = { scheme }, distribution = true,
      of = function(_, d) return buckets.of(scheme, d) end }
  end }
end

--- The reducers but percentiles, by their names; of each [1] is how many numbers it needs.
reducers.KINDS = KINDS

--- Whether a name is one of a reducer, or like that of a percentile.
-- @string name
-- @treturn boolean
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
-- @treturn[1] table `title`, `name` (with its arguments), `key` (equal for reducers whose accumulators
-- are equal), `make()` (the accumulator), `get` (reads a state; nil: the accumulator's), `of(self, d)` (reads a
-- distribution of the core; nil: it is of numbers only), `distribution` (true: its values are distributions)
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function reducers.make(name, arguments)
  local unpack = table.unpack or unpack
  local share = share_of(name)
  local kind = KINDS[name] or share and { 0, 0, function() return percentile(share) end }
  if not kind then
    local line = require("kstat.unknown").line("there is no reducer", name, KINDS)
    return nil, ("%s (known: %s, pN)"):format(line, names())
  elseif #arguments < kind[1] or #arguments > kind[2] then
    if kind[2] == 0 then
      return nil, ("%s takes no number; a time has a unit, such as 60s"):format(name)
    end
    return nil, ("%s takes %d%s numbers, not %d"):format(name, kind[1],
      kind[2] > kind[1] and " or " .. kind[2] or "", #arguments)
  elseif arguments.time and name ~= "share" and name ~= "ewma" then
    return nil, name .. "() takes numbers, no time, behind its expression"
  end
  local found, problem = kind[3](unpack(arguments))
  if not found then
    return nil, problem
  end
  found.title = name
  found.name = name ~= "heat" and found.arguments and found.key or name
  found.time = arguments.time
  function found.make()
    local accumulator = accumulators[found.accumulator]
    if type(accumulator) == "function" then
      accumulator = accumulator(unpack(found.arguments or {}))
    end
    return accumulator
  end
  return found
end

return reducers
