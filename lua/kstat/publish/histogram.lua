--- Published histograms.
-- @submodule kstat.publish
local core = require("kstat.core").publish
local check = require("kstat.publish.check")
local latency = require("kstat.publish.latency")
local object = require("kstat.publish.object")

local M = {}

local histogram_methods = {}
local histogram_meta = object.class(histogram_methods)
local histogram_fields = check.with_header("type", "meta", "scale", "fract", "range_min", "range_max", "stepping",
  "desc", "stable", "private", "buckets")

--- Counts a value. A fraction is cut off.
-- @number value in the unit that `meta` and `scale` say
-- @treturn boolean true
-- @fails "EINVAL" a negative value, one that is no number, or 2^64 and more: it is counted in `out_of_range` alone
-- @function histogram:add_value
histogram_methods.add_value = latency.add

--- Gives a histogram that was made with `buckets` other counts.
-- @tparam {integer,...} counts as many as at first
-- @treturn boolean true
-- @function histogram:set_buckets
function histogram_methods.set_buckets(self, counts)
  return core.set_buckets(self.box, check.counts(counts, "buckets", 0))
end

local function buckets_of(pub, spec)
  if spec.buckets ~= nil and (not pub.own or type(spec.buckets) ~= "table") then
    check.usage("buckets: %s", pub.own and "table expected, got " .. type(spec.buckets) or
      "a published histogram counts itself: publish(name, { process = true }) is for those whose counts are given")
  end
  return spec.buckets and check.counts(spec.buckets, "buckets", 0)
end

--- Adds values that were counted elsewhere, as `latency:add_counts` does.
-- @tparam {integer,...} counts of the first bucket, of the second, …
-- @tparam[opt] integer sum of all these values; default: that of the middles of their buckets
-- @treturn boolean true
-- @fails "EINVAL" as `latency:add_counts`
-- @function histogram:add_counts
histogram_methods.add_counts = latency.add_counts

--- Creates a histogram, see `kstat2_create_histogram(9F)`.
-- @tparam published_spec spec beside the common fields:
--
--   * `type` (string, needed): "linear"; "log2", "log10": a bucket for each power, which needs no range; "log10_lin"
--   * `stepping` (integer): linear: how many values a bucket has; log10_lin: buckets in each power of ten
--   * `range_min` (integer): linear: the least of the values; log10_lin: the power of ten at which the range begins, 0
--     to 18
--   * `range_max` (integer): linear: the greatest of the values, 0: open; log10_lin: the last power of ten of the range
--   * `meta` (string): what the values measure: "bytes", "t_rel" (times), …
--   * `scale` (integer): by which values are multiplied to be in the base unit, seconds for times: nanoseconds have
--     `meta = "t_rel", scale = 1000000000, fract = true`
--   * `fract` (boolean): the scale divides
--   * `desc` (string): a line about it
--   * `stable` (boolean): it will not go away without notice
--   * `private` (boolean): only this user may read it; needs a private segment
--   * `buckets` ({integer,...}): counts that the script gives, of a kstat of this process alone: as many as the type
--     and the range have buckets, of an open range as many as there shall be. Nobody counts their sum
-- @treturn published.histogram
-- @fails
-- @usage local h = assert(pub:histogram({ name = "answer_ns", type = "log10_lin", range_min = 3, range_max = 9,
--   stepping = 10, meta = "t_rel", scale = 1000000000, fract = true, desc = "time to answer" }))
-- h:add_value(1500000)
-- @function pub:histogram
function M.histogram(self, spec)
  check.fields(spec, histogram_fields, "histogram")
  local kind = check.lookup(core.histograms, spec.type, "histogram: type")
  return object.create_bound("record", nil, histogram_meta, self, spec, nil, core.histogram, {
    type = kind, meta = check.lookup(core.metatypes, spec.meta or "cnt", "histogram: meta"),
    scale = check.integer(spec.scale or 1, "scale", 0), md_flags = spec.fract and 1 or 0,
    range_min = check.integer(spec.range_min or 0, "range_min", 0),
    range_max = check.integer(spec.range_max or 0, "range_max", 0),
    stepping = check.integer(spec.stepping or 0, "stepping", 0),
    desc = spec.desc, buckets = buckets_of(self, spec), flags = (spec.stable and 1 or 0) + (spec.private and 2 or 0),
  })
end

return M
