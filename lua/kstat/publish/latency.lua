--- Published distributions of times and sizes.
-- @submodule kstat.publish
local core = require("kstat.core").publish
local check = require("kstat.publish.check")
local library = require("kstat.publish.library")
local object = require("kstat.publish.object")

local M = {} -- add: histograms have it, too

local now = library.fn and library.fn.now or core.now

local latency_methods = {}
local latency_meta, plain = object.class(latency_methods)
local latency_fields = check.with_header("unit", "scale", "lowest", "highest", "desc", "dense",
  "labels")

-- How many of a unit are a second.
local seconds = { ns = 1e9, us = 1e6, ms = 1e3, s = 1 }

--- Counts a value. A fraction is cut off.
-- @tparam number value in the kstat's unit
-- @treturn boolean true
-- @fails "EINVAL" a negative value, one that is no number, or 2^64 and more: it is counted in `out_of_range` alone
-- @function latency:add
if library.fn then
  local fn, result = library.fn, library.result
  local add_value, add_number, add_since = fn.add_value, fn.add_number, fn.add_since
  function latency_methods.add(self, value)
    if not self.record then
      check.usage("%s was deleted", tostring(self))
    end
    if type(value) ~= "number" then
      value = check.number(value, "value")
      if type(value) == "cdata" and value >= 0 then -- all of their 64 bits count
        return result(add_value(self.record, value))
      end
    elseif value >= 0 and value < 9007199254740992 then -- the conversion to uint64_t cuts the fraction off
      return result(add_value(self.record, value))
    end
    return result(add_number(self.record, value))
  end
  function latency_methods.add_since(self, start)
    if not self.record then
      check.usage("%s was deleted", tostring(self))
    end
    return result(add_since(self.record, check.whole(start, "start") or check.number(start, "start")))
  end
end

M.add = plain.add

--- Adds values that were counted elsewhere, many buckets in one call: `kstat2_hist_add_counts(3)`.
-- @tparam {integer,...} counts of the first bucket, of the second, …, as the statistic `buckets` has them
-- @tparam[opt] integer sum of all these values; default: that of the middles of their buckets
-- @treturn boolean true
-- @fails "EINVAL" more buckets than there are, one that no whole number is in, a negative count, 2^63 values and more:
-- nothing changes
-- @usage local h = assert(kstat.publish("shop")):latency({ name = "answers", lowest = 1, highest = 16, scale = 0 })
-- h:add_counts({ 0, 3, 0, 2 }, 9)  -- three times 1, and twice a number from 3 to 4
-- @function latency:add_counts
function latency_methods.add_counts(self, counts, sum)
  return core.add_counts(self.box, check.counts(counts, "counts"), check.integer(sum or 0, "sum", 0))
end

M.add_counts = plain.add_counts

local function check_time(self, name)
  if not self.is_time then
    check.usage("%s: %s counts %s, no times", name, tostring(self), self.unit)
  end
end

--- Notes that an operation begins. Of operations that overlap, each keeps what this returns for stop().
-- @treturn number a token: nanoseconds of `kstat.gethrtime()`
-- @function latency:start
function latency_methods.start(self)
  check_time(self, "start")
  self.started = now()
  return self.started
end

--- Counts the time since start().
-- @tparam[opt] number token what start() returned; default: at the last call
-- @treturn boolean true
-- @fails "EINVAL" it has not begun yet
-- @function latency:stop
function latency_methods.stop(self, token)
  check_time(self, "stop")
  if not token then
    token, self.started = self.started or check.usage("stop: %s was not started", tostring(self)), false
  end
  return self:add_since(check.whole(token, "stop"))
end

local function finish(self, start, ok, ...)
  self:add_since(start)
  if not ok then
    error((...), 0)
  end
  return ...
end

--- Calls a function and counts how long that took, also if it raises: the error then goes on.
-- @tparam function f
-- @param ... its arguments
-- @return what it returns
-- @function latency:time
function latency_methods.time(self, f, ...)
  check_time(self, "time")
  if type(f) ~= "function" then
    check.usage("time: function expected, got %s", type(f))
  end
  return finish(self, now(), pcall(f, ...))
end

-- What a unit says to the library.
local function meaning(unit)
  if seconds[unit] then
    return core.metatypes.t_rel, seconds[unit], 1
  elseif unit == "bytes" then
    return core.metatypes.bytes, 1, 0
  end
  return core.metatypes.cnt, 1, 0, unit
end

-- Gives the kstat its labels, in the order of their names.
local function set_labels(box, labels)
  local names = {}
  for name, text in pairs(labels) do
    check.text(name, "labels")
    if type(text) ~= "string" and type(text) ~= "number" then
      check.usage("labels: %s: string expected, got %s", name, type(text))
    end
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local ok, message, errname = core.label(box, name, tostring(labels[name]))
    if not ok then
      return nil, message, errname
    end
  end
  return true
end

--- Creates a distribution of times or sizes in exponential buckets, see `kstat_publish_latency(3)`: percentiles of any
-- interval, and of any group of publishers, are wrong by at most 1.1 %.
-- @tparam published_spec spec beside the common fields (`class`: "histogram"):
--
--   * `unit` (string): of the values: `"ns"` (default), `"us"`, `"ms"`, `"s"`: times; `"bytes"`, or any other word
--   * `scale` (integer): 0 to 8; buckets grow by 2^(2^-scale), and a percentile is wrong by half of that (5)
--   * `lowest`, `highest` (integer): the range with buckets (times: 1 µs to 1,000 s; else 1 to 2^40); values outside
--     of it count in the first or last bucket, and in `out_of_range`
--   * `labels` ({[string]=string}): whose values these are: texts of at most 255 bytes, keys of expressions and labels
--     of metrics; a latency of each set of labels has a name of its own
--   * `desc` (string): a line about it
--   * `dense` (boolean): it takes as little space as it can, as one of thousands: while somebody reads it, it should
--     change less than a million times a second
-- @treturn published.latency
-- @fails
-- @usage local answers = assert(pub:latency({ name = "answers", unit = "us", desc = "time to answer" }))
-- answers:add(1500)
-- local answer = answers:time(string.rep, "x", 10)
-- @function pub:latency
function M.latency(self, spec)
  check.fields(spec, latency_fields, "latency")
  local unit = check.text(spec.unit or "ns", "unit")
  local meta, factor, md_flags, word = meaning(unit)
  local header = setmetatable({ class = spec.class or "histogram" }, { __index = spec })
  local labels = spec.labels or {}
  if type(labels) ~= "table" then
    check.usage("labels: table expected, got %s", type(labels))
  end
  local function prepare(box) return set_labels(box, labels) end
  local k, message, errname = object.create_bound("record", true, latency_meta, self, header, prepare,
    core.distribution, {
    meta = meta, factor = factor, md_flags = md_flags, unit = word, desc = spec.desc, dense = spec.dense,
    scale = check.integer(spec.scale or 5, "scale", 0), lowest = check.integer(spec.lowest or 0, "lowest", 0),
    highest = check.integer(spec.highest or 0, "highest", 0),
  })
  if not k then
    return nil, message, errname
  end
  k.unit, k.is_time, k.started = unit, seconds[unit] ~= nil, false
  return k
end

return M
