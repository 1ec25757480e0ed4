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
require("kstat.read.kstat")

local histogram = {}

--- Whether a kstat is a histogram: it has buckets and says how they are laid out.
-- @tparam kstat k
-- @treturn boolean
function histogram.is(k)
  return k.type == "named" and k:distribution() ~= nil
end

--- What was counted.
-- @tparam kstat k of a difference: in between; of a sample or a chain: since creation
-- @treturn table `counts` ({integer,...}): how many values each bucket got, `low` and `high` ({integer,...}): the least
-- and the greatest of the values that each holds, `total` (integer): how many values all have; `elapsed` (?number) in
-- seconds, of a difference; and `distribution` (distribution), see `k:distribution`
-- @fails if it is no histogram
function histogram.counts(k)
  if core.kind(k) ~= "kstat" then
    core.usage("bad argument #1 to 'counts' (kstat expected, got " .. (core.kind(k) or type(k)) .. ")")
  end
  local d, message, errname = k:distribution()
  if not d then
    return nil, message, errname
  end
  local counts, low, high = core.bucket_arrays(d, #k:get("buckets"))
  return { counts = counts, low = low, high = high, total = d.count, elapsed = k.elapsed, distribution = d }
end

--- Values below which shares of all values lie, see `d:quantile`.
-- @tparam counts h from `counts`
-- @tparam number ... shares, 0 to 1
-- @treturn number,... one for each share; nil without values
-- @usage local p50, p99 = kstat.histogram.quantiles(kstat.histogram.counts(h), 0.5, 0.99) -- h: a published histogram
function histogram.quantiles(h, ...)
  if type(h) ~= "table" or core.kind(h.distribution) ~= "distribution" then
    core.usage("bad argument #1 to 'quantiles' (what kstat.histogram.counts() returns expected, got " .. type(h) .. ")")
  end
  return h.distribution:quantile(...)
end

--- What a histogram counted, as a value that stays as it is: `k:distribution()` makes it.
-- `d1 + d2` merges two exactly, count by count; exponential ones of different scales merge at the coarser one. `d1
-- - d2` takes away what an earlier reading of the same kstat had counted: what remains is of the interval, and that
-- is everything if the kstat was created anew in between. `d1 == d2`: the same unit, buckets and counts. The
-- operators raise where units or buckets differ.
-- @table distribution
-- @tfield integer count how many values
-- @tfield ?number sum of all values; estimated from the buckets where it was not counted
-- @tfield ?number min the least value, nil without values; in a difference where its bucket starts, unless it is known
-- @tfield ?number max the greatest value, likewise
-- @tfield ?number mean nil without values
-- @tfield integer out_of_range how many values lie outside of the histogram's range
-- @tfield string unit of the values: "ns", "bytes", "" for a plain count
-- @tfield string name which kstat it is from
-- @tfield boolean since_creation whether it is a digest, which knows only what was since creation, in a difference, too

--- Values below which shares of all values lie.
-- Inside a bucket values count as spread evenly, so the error is at most the width of the bucket; in an exponential
-- one at most 1.1 % of the value at scale 5, in general (g - 1) / (g + 1) with g = 2^(2^-scale). In an open last
-- bucket its least value stands for all.
-- @tparam number ... shares, 0 to 1
-- @treturn number,... one for each share; nil without values
-- @function d:quantile

--- Which part of all values is at most as large.
-- @number value in the unit of the distribution
-- @treturn ?number 0 to 1; nil without values
-- @function d:share

--- The buckets that hold values, in ascending order.
-- @treturn {table,...} of each: `low` and `high` (number): the least and the greatest value that it holds, and
-- `count` (integer)
-- @function d:buckets

--- As `d + other`, with a failure as its result.
-- @tparam distribution other
-- @treturn distribution a new one
-- @fails "EINVAL": units or buckets that differ
-- @function d:merge

--- The same as OpenTelemetry sends it: the bytes of a message `ExponentialHistogramDataPoint` without attributes, with
-- the scale and the buckets as they are, in the unit of the distribution.
-- @int start_ns time of day (ns since 1970) at which counting began
-- @int end_ns and when it was read, see `ks:time_of_day_ns()`
-- @treturn string
-- @fails "EINVAL": it is not exponential
-- @usage local ks = assert(kstat.open())
-- local k = ks:lookup("app", 0, "latency")
-- local point = k and k:distribution():otlp(0, ks:time_of_day_ns())
-- @function d:otlp

return require("kstat.base.guess").within("kstat.histogram", histogram)
