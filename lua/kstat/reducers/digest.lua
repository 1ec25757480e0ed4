--- Percentiles: exact while a group has few values, then from a statsblob's t-digest.
--
-- A digest's means are whole numbers of at most 60 bits. Values of any size fit because each digest has a
-- scale, a power of 2^20 that is chosen when it is made: the resolution is then better than 2^-30 of the
-- largest value. Where a larger value comes later, the digest is made anew with a coarser scale.
--
-- @module kstat.reducers.digest
local stats = require("kstat.stats")

local digest = {}

local CENTROIDS = 100
local EXACT = 64      -- that many values are kept as they are
local STEP = 2 ^ 20   -- between scales
local GOOD = 2 ^ 50   -- a new digest's scaled values are below this
local MOST = 2 ^ 57   -- no digest's are beyond this

local template

local function blob()
  if not template then
    template = assert(stats.template("kstat.aggregate digest"))
    assert(template:add_voi(0, "value", "s64", { stats.tdgstclust64(CENTROIDS, 2) }))
  end
  return template:blob()
end

-- The scale for values up to `most`: most * scale is in [2^30, 2^50). Zeros get a fine one, which suits
-- whatever comes: only larger values can change it.
local function scale_for(most)
  if most == 0 then
    return STEP ^ 5
  end
  local scale = 1
  while most * scale >= GOOD do
    scale = scale / STEP
  end
  while most * scale < GOOD / STEP and scale < 2 ^ 900 do
    scale = scale * STEP
  end
  return scale
end

-- As a float: the least of 64-bit integers has no positive counterpart.
local function size_of(value)
  return math.abs(value + 0.0)
end

local function largest(values, n)
  local most = 0
  for i = 1, n do
    most = math.max(most, size_of(values[i]))
  end
  return most
end

-- A blob that saw one value `count` times: by doubling, since a digest is fed one value at a time.
local function repeated(value, count)
  local sum, power = blob(), blob()
  assert(power:update(0, value))
  while count >= 1 do
    if count % 2 >= 1 then
      assert(sum:merge(power))
    end
    count = math.floor(count / 2)
    if count >= 1 then
      assert(power:merge(power:clone()))
    end
  end
  return sum
end

-- Changes the scale of a state's digest.
local function rescale(state, scale)
  local coarser = blob()
  for _, centroid in ipairs((state.blob:fetch(0, "TDGST"))) do
    assert(coarser:merge(repeated(math.floor(centroid.mu / state.scale * scale + 0.5), centroid.cnt)))
  end
  state.blob, state.scale = coarser, scale
end

local function feed(state, values, n)
  local target, scale, floor = state.blob, state.scale, math.floor
  local low, high = state.low, state.high
  for i = 1, n do
    local v = values[i]
    if v < low then
      low = v
    end
    if v > high then
      high = v
    end
    v = v * scale
    if v > MOST or v < -MOST then
      rescale(state, scale_for(size_of(values[i])))
      target, scale = state.blob, state.scale
      v = values[i] * scale
    end
    assert(target:update(0, floor(v + 0.5)))
  end
  state.low, state.high = low, high
end

-- Leaves the exact form.
local function compress(state)
  state.scale = scale_for(largest(state.values, state.n))
  state.blob = blob()
  state.low, state.high = math.huge, -math.huge
  feed(state, state.values, state.n)
  state.values = nil
end

local function add(state, values, n)
  if state.values and state.n + n > EXACT then
    compress(state)
  end
  if not state.values then
    feed(state, values, n)
    return state
  end
  for i = 1, n do
    state.values[state.n + i] = values[i]
  end
  state.n = state.n + n
  return state
end

local function merge(state, other)
  if other.values then
    return add(state, other.values, other.n)
  end
  if state.values then
    local values, n = state.values, state.n
    state.values, state.blob, state.scale = nil, other.blob:clone(), other.scale
    state.low, state.high = other.low, other.high
    return add(state, values, n)
  end
  local scale = math.min(state.scale, other.scale)
  if state.scale > scale then
    rescale(state, scale)
  end
  local theirs = { blob = other.blob, scale = other.scale }
  if theirs.scale > scale then
    rescale(theirs, scale)
  end
  assert(state.blob:merge(theirs.blob))
  state.low, state.high = math.min(state.low, other.low), math.max(state.high, other.high)
  return state
end

--- The value below which the share q of the values lies; between two values it is interpolated.
-- @param state
-- @number q 0..1
-- @treturn number|nil nil if there were none
function digest.quantile(state, q)
  if not state.values then
    if q <= 0 or q >= 1 then
      return q <= 0 and state.low or state.high
    end
    return math.max(state.low, math.min(state.high, state.blob:quantile(0, q) / state.scale))
  elseif state.n == 0 then
    return nil
  end
  table.sort(state.values)
  local at = q * (state.n - 1) + 1
  local below = math.floor(at)
  local low, high = state.values[below], state.values[math.min(below + 1, state.n)]
  return at == below and low or low + (high - low) * (at - below)
end

local accumulator = {
  new = function() return { values = {}, n = 0 } end,
  add = add,
  get = function() return nil end,
  merge = merge,
}

function digest.accumulator()
  return accumulator
end

return digest
