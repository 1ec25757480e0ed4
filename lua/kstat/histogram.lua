--- What a histogram kstat (`kstat2_create_histogram`, `pub:histogram`) says of the values that it counted.
--
--     local histogram = require("kstat.histogram")
--     for now, prev in kstat.every(arg) do
--         local k = (prev and now - prev or now:since_creation()):lookup("app", 0, "latency")
--         local p50, p99 = histogram.quantiles(histogram.counts(k), 0.5, 0.99)
--     end
--
-- @module kstat.histogram
local core = require("kstat.core")

local histogram = {}

local FIELDS = { "type", "range_min", "range_max", "stepping" }

--- Whether a kstat is a histogram: it has buckets and says how they are laid out.
-- @tparam kstat k
-- @treturn boolean
function histogram.is(k)
  local buckets = k.type == "named" and k:get("buckets")
  if type(buckets) ~= "table" or type(buckets[1]) == "string" or type(k:get("type")) ~= "string" then
    return false
  end
  return tonumber(k:get("range_min")) ~= nil and tonumber(k:get("range_max")) ~= nil and
    tonumber(k:get("stepping")) ~= nil
end

-- The same histogram laid out alike: its counts can be taken from the later ones.
local function continues(before, now)
  for _, field in ipairs(FIELDS) do
    if before:get(field) ~= now:get(field) then
      return false
    end
  end
  return true
end

--- What was counted.
-- @tparam kstat k of a difference: in between; of a sample or a chain: since creation
-- @treturn table `counts` ({integer,...}): how many values each bucket got, `low` and `high` ({integer,...}): the least
-- and the greatest value that each holds, `total` (integer): all of them; and `elapsed` (?number) in seconds, of a
-- difference
-- @fails if it is no histogram
function histogram.counts(k)
  if core.kind(k) ~= "kstat" then
    error("bad argument #1 to 'counts' (kstat expected, got " .. (core.kind(k) or type(k)) .. ")", 2)
  end
  local elapsed = k.elapsed
  local now, before = k, nil
  if elapsed then
    now, before = k:now(), not k.reset and k:before() or nil
  end
  if not histogram.is(now) then
    return nil, tostring(k) .. " is no histogram", "EINVAL"
  end
  local buckets = now:get("buckets")
  local low, high, errname = core.histogram_bounds(now:get("type"), now:get("range_min"), now:get("range_max"),
    now:get("stepping"), #buckets)
  if not low then
    return nil, high, errname
  end
  local earlier = before and histogram.is(before) and continues(before, now) and before:get("buckets") or {}
  local counts, total = {}, 0
  for i = 1, #low do
    counts[i] = math.max(buckets[i] - (earlier[i] or 0), 0)
    total = total + counts[i]
  end
  return { counts = counts, low = low, high = high, total = total, elapsed = elapsed }
end

--- Values below which shares of all values lie. Inside a bucket values count as spread evenly, so the error is at
-- most the width of the bucket; in the last, open one its least value stands for all.
-- @tparam counts h from `counts`
-- @tparam number ... shares, 0 to 1
-- @treturn number,... one for each share; nil without values
-- @usage local p50, p99 = kstat.histogram.quantiles(kstat.histogram.counts(h), 0.5, 0.99) -- h: a published histogram
function histogram.quantiles(h, ...)
  if type(h) ~= "table" or type(h.counts) ~= "table" then
    error("bad argument #1 to 'quantiles' (what kstat.histogram.counts() returns expected, got " .. type(h) .. ")", 2)
  end
  local out = {}
  local n = select("#", ...)
  for q = 1, n do
    local rank, below = select(q, ...) * h.total, 0
    for i = 1, #h.counts do
      local count = h.counts[i]
      if count > 0 and below + count >= rank then
        local low, high = h.low[i], h.high[i]
        out[q] = high >= 18446744073709551615 and low or low + (high - low) * (rank - below) / count
        break
      end
      below = below + count
    end
  end
  local unpack = table.unpack or unpack
  return unpack(out, 1, n)
end

return require("kstat.guess").within("kstat.histogram", histogram)
