--- Samples and their differences.
--
-- A sample holds copies of kstats as they were at one moment; nothing changes in it afterwards.
-- One made with selectors (`ks:sample(…)`) is complete at once. The samples of `kstat.every` read
-- a kstat when it is first asked for, as long as their tick lasts; from then on every later tick
-- reads it at its start, so that all of a tick's figures are of one moment. After its tick such a sample has what
-- was read: to ask it for another kstat that was there raises, because nil would say that there was none. A
-- difference has none of what the earlier sample did not read: what is first asked for at the second tick is not in
-- the first difference. What the option `select` names is read at each tick, asked for or not.
--
-- The difference of two samples, `now - prev`, is used like a sample. Its values are what happened
-- in between: counters as differences; gauges, texts and points in time as they are now. What a
-- statistic is, its metadata says; without, integers count and other numbers do not. A kstat that
-- was created anew counts from its creation (one younger than a tenth of the interval over the interval: what was
-- counted in an instant makes no rate). A counter that passed its 32 or 64 bits is continued. One
-- that fell otherwise counts 0: kernels correct some times backwards, and only `crtime` shows a reset.
-- So a difference is never a huge number. A kstat that the earlier sample lacks is not in the
-- difference, unless it was created after that sample, or while kstats of its module were read for it.
-- @module kstat.sample
local core = require("kstat.core")
local object = require("kstat.read.object")
local selector = require("kstat.read.selector")

local sample = {}

local function first(f)
  return function(self) return (f(self)) end
end

local function nth(n, f)
  return function(self) return (select(n, f(self))) end
end

--- The time of day of a sample as text.
-- @string[opt="%c"] format as os.date() has it
-- @treturn string
-- @usage print(now:date("%T"))
-- @function now:date

--- Fields of a sample: `time_of_day` (number), seconds since 1970 (UTC); in a replay those of the recording, or else
-- they follow the snaptimes; `time_of_day_ns` (integer), the same in exact nanoseconds.
-- @table sample

local methods = object.methods("sample")

function methods.date(self, format)
  object.check(self, "sample", "date")
  return os.date(format or "%c", (select(3, core.sample_time_of_day(self))))
end

--- What was counted since each kstat was created: the difference that the first lines of iostat and
-- vmstat show. Its `elapsed` is the time since gethrtime() was zero, near boot.
-- @treturn difference
-- @usage local d = prev and now - prev or now:since_creation()
-- @function now:since_creation
function methods.since_creation(self)
  object.check(self, "sample", "since_creation")
  return core.difference(self)
end

object.install(core.sample_meta, "sample", methods, {
  time_of_day = first(core.sample_time_of_day),
  time_of_day_ns = nth(2, core.sample_time_of_day),
})

--- Fields of a difference: `elapsed` (number), seconds between the two samples; `elapsed_ns` (integer), the same in
-- exact nanoseconds.
-- @table difference

local difference = object.methods("difference")

--- Change per second of everything that a selector matches, added up; seconds are those between
-- each kstat's own snaptimes. Times change in seconds: 1 means all the time.
-- @tparam spec spec
-- @treturn number|nil nil if nothing matches that has a rate
-- @raise on a bad selector
-- @usage print((now - prev):rate("sd:::nread"))
-- @function difference:rate
function difference.rate(self, spec)
  object.check(self, "difference", "rate")
  local sel, message = selector.compile(spec)
  if not sel then
    core.usage(message)
  end
  local sum
  local names, values, list = {}, {}, { sel }
  for k in self:each(sel) do
    for i = 1, core.collect(k, list, names, values) do
      local rate = k:rate(names[i])
      if rate then
        sum = (sum or 0) + rate
      end
    end
  end
  return sum
end

object.install(core.difference_meta, "difference", difference, {
  elapsed = first(core.difference_elapsed),
  elapsed_ns = nth(2, core.difference_elapsed),
})

-- A complete sample of what the selectors match. earlier: one of the same chain and selectors, by which these are found
-- without looking at the whole chain. same: it is of the moment at which the chain, a replay, is again.
function sample.take(ks, list, earlier, same)
  local s, message, errname = core.sample(ks)
  if s then
    s, message, errname = core.sample_add(s, list, earlier, same)
  end
  if not s then
    return nil, message, errname
  end
  return core.sample_freeze(s, true)
end

return sample
