--- Distributions with DTrace's buckets: quantize and lquantize.
--
-- Values are rounded down to whole numbers, as DTrace's are whole.
-- @module kstat.figures.reducers.buckets
local core = require("kstat.core")

local buckets = {}

-- Bounds are whole numbers: integers where Lua has them, so that they are exact beyond 2^53.
local whole = math.tointeger or function(x) return x end

-- From -2^n to the next number that a value can be: 1 is lost in a double beyond 2^53.
local function step_above(n)
  return math.tointeger and 1 or math.max(1, 2 ^ (n - 53))
end

--- The digits of a whole number from -2^63 to below 2^63, also where it is a double beyond 2^53.
function buckets.digits(n)
  return (math.tointeger and "%d" or "%.0f"):format(n) -- integers may be too large for a double
end

-- --- schemes --------------------------------------------------------------------------------

-- Powers of two to both sides of 0: a bucket is named by its end nearest to 0.
local function quantize()
  local bounds, labels = {}, { whole(-2 ^ 62) }
  for i = 61, 0, -1 do
    bounds[#bounds + 1] = whole(-2 ^ (i + 1)) + step_above(i + 1)
    labels[#labels + 1] = whole(-2 ^ i)
  end
  bounds[#bounds + 1], labels[#labels + 1] = 0, 0
  for i = 0, 62 do
    bounds[#bounds + 1] = whole(2 ^ i)
    labels[#labels + 1] = whole(2 ^ i)
  end
  return bounds, labels
end

-- Open-ended buckets are labelled `< first` and `>= last`.
local function labels_of(bounds)
  local labels = { "< " .. buckets.digits(bounds[1]) }
  for i = 1, #bounds - 1 do
    labels[i + 1] = bounds[i]
  end
  labels[#bounds + 1] = ">= " .. buckets.digits(bounds[#bounds])
  return labels
end

local MOST_BUCKETS = 1000

local function lquantize(low, high, step)
  step = step or 1
  if low % 1 ~= 0 or high % 1 ~= 0 or step % 1 ~= 0 or step < 1 or low >= high or
    low < -2 ^ 53 or high > 2 ^ 53 then
    return nil, "lquantize takes whole numbers: low, a higher high, and a step above 0"
  elseif (high - low) / step > MOST_BUCKETS then
    return nil, ("lquantize: more than %d steps"):format(MOST_BUCKETS)
  end
  local bounds = {}
  for bound = low, high, step do
    bounds[#bounds + 1] = whole(bound)
  end
  return bounds, labels_of(bounds)
end

--- The buckets of a distribution, "quantize" or "lquantize" with its numbers. Returns a table of `name`, `bounds` (the
-- least values; one bucket more lies below the first) and `labels` | nil and what is wrong.
function buckets.scheme(name, ...)
  local bounds, labels = (name == "quantize" and quantize or lquantize)(...)
  if not bounds then
    return nil, labels
  end
  local texts = {}
  for i = 1, select("#", ...) do
    texts[i] = buckets.digits((select(i, ...)))
  end
  return { name = ("%s(%s)"):format(name, table.concat(texts, ",")), bounds = bounds, labels = labels }
end

-- --- what is read -----------------------------------------------------------------------------

local distribution = {}

local function texts_of(labels, first, last)
  local texts = {}
  for i = first, last do
    local label = labels[i]
    texts[#texts + 1] = type(label) == "number" and buckets.digits(label) or label
  end
  return texts
end

function distribution:__tostring()
  local labels = self.scheme.labels
  return core.distribution(texts_of(labels, 1, #labels), self.counts, nil,
    require("kstat.picture").terminal().width)
end

--- Draws distributions of one scheme over time, the last one at the right.
function buckets.heat(past)
  local first, last = math.huge, 1
  for _, d in ipairs(past) do
    for i = 1, #d.counts do
      if d.counts[i] > 0 then
        first, last = math.min(first, i), math.max(last, i)
      end
    end
  end
  if first > last then
    return ""
  end
  local map = require("kstat.picture").heatmap({ rows = texts_of(past[1].scheme.labels, first, last) })
  for _, d in ipairs(past) do
    local column = {}
    for i = first, last do
      column[#column + 1] = d.counts[i]
    end
    map:add(column)
  end
  return map:text()
end

-- The buckets that hold anything, as { low, high, count }: low <= value < high, nil at the open ends.
local function read(scheme, counts)
  local result = setmetatable({ scheme = scheme, counts = counts, total = 0 }, distribution)
  for i = 1, #counts do
    local count = counts[i]
    if count > 0 then
      result[#result + 1] = { low = scheme.bounds[i - 1], high = scheme.bounds[i], count = count }
      result.total = result.total + count
    end
  end
  return result
end

-- As many zeros as a scheme has buckets.
local function no_counts(scheme)
  local counts = {}
  for i = 1, #scheme.bounds + 1 do
    counts[i] = 0
  end
  return counts
end

-- Counts a value n times: in the bucket below the first bound that is above it.
local function count(scheme, counts, value, n)
  local bounds = scheme.bounds
  local low, high = 1, #bounds + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if bounds[middle] <= value then
      low = middle + 1
    else
      high = middle
    end
  end
  counts[low] = counts[low] + n
end

--- A distribution of the core in the buckets of a scheme, as if each value lay in the middle of its own bucket.
function buckets.of(scheme, d)
  local counts = no_counts(scheme)
  for _, bucket in ipairs(d:buckets()) do
    count(scheme, counts, bucket.high < math.huge and (bucket.low + bucket.high) / 2 or bucket.low, bucket.count)
  end
  return read(scheme, counts)
end

--- Whether a value is a distribution.
function buckets.is_distribution(value)
  return getmetatable(value) == distribution
end

--- The accumulator of a scheme, whose states are counts.
function buckets.accumulator(scheme)
  return {
    new = function() return no_counts(scheme) end,
    add = function(counts, values, n)
      for i = 1, n do
        count(scheme, counts, math.floor(values[i]), 1)
      end
      return counts
    end,
    get = function(counts) return read(scheme, { (table.unpack or unpack)(counts) }) end,
    merge = function(counts, other)
      for i, n in ipairs(other) do
        counts[i] = counts[i] + n
      end
      return counts
    end,
  }
end

return buckets
