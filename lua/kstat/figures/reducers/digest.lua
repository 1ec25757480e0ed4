--- Percentiles: exact while a group has few values, then of buckets which are one percent wide.
-- @module kstat.figures.reducers.digest
local digest = {}

local EXACT = 64              -- that many values are kept as they are
local WIDTH = math.log(1.01)  -- of a bucket, in logarithms
local ONE = 2 ^ 17            -- the number of the bucket of 1: those of all doubles are above 0

-- The number of the bucket of a value; those of negative ones are below 0. As a float: the least of 64-bit integers has
-- no positive counterpart.
local function bucket_of(value)
  local size = math.abs(value + 0.0)
  local number = size > 0 and ONE + math.floor(math.log(size) / WIDTH + 0.5) or 0
  return value < 0 and -number or number
end

-- The middle of a bucket.
local function value_of(number)
  local size = number ~= 0 and math.exp((math.abs(number) - ONE) * WIDTH) or 0
  return number < 0 and -size or size
end

local function count(counts, number, n)
  counts[number] = (counts[number] or 0) + n
end

-- Leaves the exact form.
local function compress(state)
  state.counts = {}
  for _, value in ipairs(state.values) do
    count(state.counts, bucket_of(value), 1)
  end
  state.values = nil
end

local function add(state, values, n)
  if state.values and state.n + n > EXACT then
    compress(state)
  end
  for i = 1, n do
    local value = values[i]
    state.low, state.high = math.min(state.low, value), math.max(state.high, value)
    if state.values then
      state.values[state.n + i] = value
    else
      count(state.counts, bucket_of(value), 1)
    end
  end
  state.n = state.n + n
  return state
end

local function merge(state, other)
  if other.values then
    return add(state, other.values, other.n)
  elseif state.values then
    compress(state)
  end
  for number, n in pairs(other.counts) do
    count(state.counts, number, n)
  end
  state.n, state.low, state.high = state.n + other.n, math.min(state.low, other.low), math.max(state.high, other.high)
  return state
end

-- The middle of the bucket that has the value with so many others below it.
local function value_at(state, rank)
  local numbers, below = {}, 0
  for number in pairs(state.counts) do
    numbers[#numbers + 1] = number
  end
  table.sort(numbers)
  for _, number in ipairs(numbers) do
    below = below + state.counts[number]
    if below > rank then
      return math.max(state.low, math.min(state.high, value_of(number)))
    end
  end
  return state.high
end

--- The value below which the share q of the values lies, 0..1; between two it is interpolated. nil: there are none.
function digest.quantile(state, q)
  if state.n == 0 then
    return nil
  elseif q <= 0 or q >= 1 then
    return q <= 0 and state.low or state.high
  end
  local at = q * (state.n - 1) + 1
  if not state.values then
    return value_at(state, at - 1)
  end
  table.sort(state.values)
  local below = math.floor(at)
  local low, high = state.values[below], state.values[math.min(below + 1, state.n)]
  return at == below and low or low + (high - low) * (at - below)
end

local accumulator = {
  new = function() return { values = {}, n = 0, low = math.huge, high = -math.huge } end,
  add = add,
  get = function() return nil end,
  merge = merge,
}

function digest.accumulator()
  return accumulator
end

return digest
