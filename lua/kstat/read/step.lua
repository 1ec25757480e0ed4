--- Steps of the past: the samples that lie in some seconds become one interval.
--
-- A step begins with the sample that the one before it ended with, or with the first one behind a gap, and ends with
-- the last one of its time. What was counted is the sum over the intervals between the samples, each of which belongs
-- to the step that its middle lies in: where something began anew or nothing was recorded, csrc/chain/carry.c makes the
-- sample that the step is said to begin with. Steps are counted from the time that was asked for, else from the first
-- sample; hours and days are those of local clocks, unless the time that was asked for begins within one.
-- @module kstat.read.step
local core = require("kstat.core")
local sample = require("kstat.read.sample")

local step = {}
step.__index = step

local methods = core.chain_methods
local ROUNDED = 1.5 -- samples come a little early and late
local HOUR, DAY = 3600, 86400
local CLOCKS = { [HOUR] = { "%Y-%m-%d %H %z", "%M%S" }, [DAY] = { "%Y-%m-%d", "%H%M%S" } }

-- Returns function(time), which names the step that a time lies in.
local function steps_of(ks, seconds, from)
  local clock = CLOCKS[seconds]
  if clock and (not from or tonumber(os.date(clock[2], math.floor(from))) == 0) then
    return function(time) return os.date(clock[1], math.floor(time)) end
  end
  from = from or methods.time_of_day(ks)
  return function(time) return math.floor((time - from) / seconds) end
end

--- The steps of a chain; nil: it is shown as it comes, one sample after the other.
-- @tparam chain ks
-- @tparam number|nil seconds how long they are; nil: there is one, the whole of the time that was asked for
-- @tparam[opt] {selector,...} list what is read, whether it is asked for or not
-- @tparam table options of kstat.every: `values`, `tell`
-- @treturn[1] nil
-- @treturn[2] step with `has_first`: the first tick is a step, too, and not the first sample: where a time was asked
-- for nothing is since boot
function step.new(ks, seconds, list, options)
  local is_bounded, is_capture, from = core.bounds(ks)
  if methods.is_interval(ks) then
    is_bounded, seconds = true, nil
  end
  -- Where no time was asked for, 1 has always meant each sample.
  if not methods.is_replay(ks) or not is_bounded and (not seconds or seconds == 1)
    or is_capture and seconds and (options.values or not is_bounded) then
    return nil
  end
  local number = 0
  local function each() -- a capture goes from sample to sample
    number = number + 1
    return number
  end
  local function whole() return 0 end
  return setmetatable({ ks = ks, seconds = seconds, list = list, values = options.values,
    tell = options.tell or core.tell, has_first = is_bounded and not (options.values and seconds),
    name_of = not seconds and whole or is_capture and each or steps_of(ks, seconds, from) }, step)
end

-- The sample that a step ends with, to which the loop's body can add while the chain stays there.
local function finish(self, last, begin)
  local now, message, errname = core.sample(self.ks, last, self.list)
  return now, now and begin or message, errname
end

-- Tells once that steps are shorter than what lies between samples; an interval of 1 has always meant each sample.
local function measure(self, distance)
  if self.seconds and not self.told and self.seconds ~= 1 and distance > ROUNDED * self.seconds then
    self.told = true
    self.tell(("an interval of %g s is shorter than that of the recording, %g s: each sample is shown"):format(
      self.seconds, math.floor(distance * 10 + 0.5) / 10), false)
  end
end

--- Goes on to the end of the next step.
-- @tparam sample|nil now what the step before ended with; nil: this is the first one
-- @tparam[opt] func begin is called with the first sample of all, while that is the chain's
-- @treturn[1] sample the last one of the step
-- @treturn[1] sample what it begins with
-- @treturn[2] nil
-- @treturn[2] string|nil what is wrong; nil: there is no further step
-- @treturn[2] string|nil the name of the error
function step:next(now, begin)
  local ks, read = self.ks, not self.values and self.list or nil
  local is_first, name = not now, nil
  local ok, message, errname
  if is_first then
    if self.values then
      now, message, errname = core.sample(ks)
      name = self.name_of(methods.time_of_day(ks))
    else
      now, message, errname = sample.take(ks, self.list)
    end
    if not now then
      return nil, message, errname
    elseif begin then
      begin(now)
    end
  end
  local base, last = now, now
  while not core.interrupted() do
    ok, message, errname = methods.update(ks, true)
    if ok == nil then
      return nil, message, errname
    elseif methods.ended(ks) then
      break
    end
    local is_cut, time = methods.is_cut(ks), methods.time_of_day(ks)
    local fresh
    fresh, message, errname = core.sample(ks, last, read)
    if not fresh then
      return nil, message, errname
    end
    local distance = not is_cut and core.sample_taken(fresh) - core.sample_taken(last) or 0
    local belongs_to = self.name_of(time - (is_cut and self.values and self.distance or distance) / 2)
    if name ~= nil and belongs_to ~= name then
      ok, message, errname = methods.previous(ks, true)
      if ok == nil then
        return nil, message, errname
      end
      break
    end
    if is_cut and name == nil then
      base = fresh -- nothing was counted yet
    else
      base, message, errname = core.sample_carry(base, last, fresh, is_cut)
    end
    if not base then
      return nil, message, errname
    end
    last = core.sample_freeze(fresh, true)
    if not is_cut then
      measure(self, distance)
      self.distance, name = distance, belongs_to
    elseif self.values then
      name = belongs_to
    elseif name == nil and self.seconds and self.seconds < ROUNDED * (self.distance or 0) then
      return finish(self, last, nil) -- each sample is shown, this one without what was before
    end
    -- The next sample is expected in the next step: the chain need not be moved back to this one.
    if name ~= nil and self.name_of(time + (self.distance or 0) / 2) ~= name then
      break
    end
  end
  if name == nil then
    return nil, is_first and "no interval lies in that time: it takes two samples" or nil, "ENODATA"
  end
  return finish(self, last, base)
end

return step
