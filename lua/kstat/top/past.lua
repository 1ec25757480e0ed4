--- The past of the screen: a moment of a recording, and the ways from it to others.
--
-- A moment is a sample and the one before it, which together are an interval. Between calls the chain is at the sample
-- of the moment, because differences ask it what statistics mean.
--
-- @module kstat.top.past
local chain = require("kstat.chain")
local core = require("kstat.core")
local history = require("kstat.use.history")
local sample = require("kstat.sample")
local selector = require("kstat.selector")

local past = {}

local moment = {}
moment.__index = moment

local FIRST, LAST = "this is the first sample", "this is the last sample"
local SLICE = 50e6 -- ns that a search takes before the screen is drawn

local function date(time)
  return os.date("%Y-%m-%d %H:%M:%S", math.floor(time))
end

-- --- moving the chain -----------------------------------------------------------------------------

-- Goes to the next sample. nil: there is none, or it cannot be read, which the message says.
local function forth(self)
  local changed, message = self.chain:update(true)
  if changed == nil then
    return nil, message
  elseif self.chain:ended() then
    return nil, LAST
  end
  return true
end

-- Goes back by n samples, or by as many as there are. Returns how many; nil and a message.
local function back(self, n)
  for i = 1, n do
    local changed, message, errname = self.chain:previous(true)
    if changed == nil then
      return errname == "ENODATA" and i - 1 or nil, message
    end
  end
  return n
end

-- Goes to the latest sample at or before a time, or else to the first one. Returns its time; nil and a message.
local function locate(self, time)
  local changed, message = self.chain:seek(math.max(time, self.first), true)
  if changed == nil then
    return nil, message
  end
  return self.chain:time_of_day()
end

-- Makes the sample that the chain is at the moment, and takes the one before. The chain gets there from two samples
-- before: how far these are apart tells whether nothing was recorded for long.
local function arrive(self)
  local n, message = back(self, 2)
  self.now, self.prev, self.is_cut = nil, nil, true
  for left = n or 0, 1, -1 do
    if left == 1 and self.list then
      self.prev, message = sample.take(self.chain, self.list)
    end
    local ok = left > 1 or not self.list or self.prev
    if ok then
      ok, message = forth(self)
    end
    if not ok then
      return nil, message
    end
    self.is_cut = self.chain:is_cut()
  end
  self.time = n and self.chain:time_of_day() or self.time
  return n and true, message
end

-- Ends a move that led the chain somewhere, or failed: then the moment stays what it was.
local function settle(self, ok, message)
  local remark = message
  if ok then
    ok, message = arrive(self)
  end
  if ok then
    return true, remark
  end
  locate(self, self.time)
  arrive(self)
  return nil, message
end

-- Goes to the sample that is nearest to a time. True; nil and a message.
local function approach(self, time)
  local before, message = locate(self, time)
  local ok = before and before < time
  if ok then
    ok, message = forth(self)
  end
  if not ok then
    return before and (before >= time or message == LAST) or nil, message
  elseif self.chain:time_of_day() - time < time - before then
    return true
  end
  ok, message = back(self, 1)
  return ok and true, message
end

-- --- moments --------------------------------------------------------------------------------------

--- Goes some samples on, or back.
-- @int n
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string why not: at an end nothing moves
function moment:step(n)
  if n < 0 then
    local moved, message = back(self, -n)
    if moved == 0 then
      return nil, FIRST
    end
    return settle(self, moved, moved and nil or message)
  end
  local old = n == 1 and self.now
  for i = 1, n do
    local ok, message = forth(self)
    if not ok and message == LAST and i == 1 then
      return nil, LAST
    elseif not ok and message ~= LAST then
      return settle(self, nil, message)
    end
  end
  if not old then
    return settle(self, true)
  end
  self.now, self.prev, self.is_cut, self.time = nil, old, self.chain:is_cut(), self.chain:time_of_day()
  return true
end

--- Goes to the sample that is nearest to so many seconds later or earlier, and at least to the next one.
-- @number seconds
-- @treturn boolean|nil as step()
-- @treturn string|nil
function moment:by(seconds)
  local ok, message = approach(self, self.time + seconds)
  if ok and (self.chain:time_of_day() - self.time) * seconds > 0 then
    return settle(self, true)
  end
  local moved
  moved, message = settle(self, ok and locate(self, self.time), message)
  if not moved then
    return nil, message
  end
  return self:step(seconds > 0 and 1 or -1)
end

-- Goes to what a time means: the latest sample up to then, and in a gap the nearest one. Where that is another time, a
-- message says so.
local function go_to(self, time)
  local before, message = locate(self, time)
  if not before then
    return nil, message
  elseif before > time then
    return true, "the first sample is of " .. date(before)
  end
  -- From the sample before it the chain knows how far samples are apart.
  local n = back(self, 1)
  local length = before - self.chain:time_of_day()
  local ok
  if n == 1 then
    ok, message = forth(self)
  end
  if n == 0 or ok then
    ok, message = forth(self)
  end
  if not ok then
    return message == LAST and locate(self, before) and true, message ~= LAST and message or
      time - before > math.max(length, 1) and "the last sample is of " .. date(before) or nil
  end
  local behind, is_cut = self.chain:time_of_day(), self.chain:is_cut()
  if not (is_cut and behind - time < time - before) then
    ok, message = back(self, 1)
  end
  return ok and true, ok and is_cut and ("nothing was recorded from %s to %s"):format(date(before), date(behind)) or
    not ok and message or nil
end

--- Goes to a time.
-- @tparam string|number time seconds since 1970, or a text such as "14:32", "yesterday 3:12" or "-3h", see kstat(7)
-- @treturn[1] boolean true
-- @treturn[1] string|nil what there is to say of it: nothing was recorded then, and this is the nearest sample
-- @treturn[2] nil
-- @treturn[2] string that is no time, or what could not be read
function moment:to(time)
  local remark
  if type(time) == "string" then
    time, remark = core.when(time, self.reference or self.last)
    if not time then
      return nil, remark
    end
  end
  local ok, message = go_to(self, time)
  return settle(self, ok, message or remark)
end

--- Goes to the next moment at which the state of a resource is another one than at the sample before.
-- @int direction 1, or -1: the one before
-- @treturn boolean|string|nil true; nil: there is none; "working": it is still looked for, the same call goes on
-- @treturn string|nil a message; up to where it came
function moment:change(direction)
  local h, message = self:judged()
  if not h then
    return nil, message
  end
  local found, reached = h:change(self.time, direction, core.gethrtime() + SLICE)
  if not found then
    return nil, direction > 0 and "no state changes up to the last sample" or "no state changes since the first sample"
  elseif found == "working" then
    return found, "searching " .. date(reached)
  end
  return settle(self, locate(self, found))
end

--- The samples of the moment.
-- @tparam[opt] {selector,...} selectors compiled, or as kstat.selector has them; nil: everything
-- @treturn[1] sample
-- @treturn[1] sample|nil the one before; nil: there is no interval between, as the machine was started, or nothing was
-- recorded for long
-- @treturn[2] nil
-- @treturn[2] string what could not be read
function moment:samples(selectors)
  selectors = selectors or {}
  local same = self.asked and #self.asked == #selectors
  for i = 1, same and #selectors or 0 do
    same = same and self.asked[i] == selectors[i]
  end
  local ok, message = true, nil
  if not same then
    self.asked, self.list = {}, selector.list(2, (table.unpack or unpack)(selectors))
    for i = 1, #selectors do
      self.asked[i] = selectors[i]
    end
    ok, message = arrive(self)
  end
  if ok and not self.now then
    self.now, message = sample.take(self.chain, self.list)
  end
  if not (ok and self.now) then
    return nil, message
  end
  return self.now, not self.is_cut and self.prev or nil
end

-- --- states ---------------------------------------------------------------------------------------

-- The states of the recording, kstat.use.history; opened when they are first wanted. nil: they cannot be read.
function moment:judged()
  local message
  if self.history == nil then
    self.history, message = history.open(self.source)
    self.history = self.history or false
  end
  return self.history or nil, message
end

--- The worst state of each part of the time before the moment, as far as work() has judged it.
-- @int columns how many characters
-- @number span seconds
-- @treturn string characters of kstat.use.rows.MARKS
function moment:states(columns, span)
  self.line = { columns = columns, span = span }
  local h = self:judged()
  return h and h:line(columns, self.time, span) or (" "):rep(columns)
end

--- Since when a resource is not well, as far as that was judged.
-- @string resource
-- @string name
-- @treturn number|nil seconds since 1970; nil: that is not known
-- @treturn boolean whether it began then; else it may have been before
function moment:since(resource, name)
  local h = self:judged()
  if not h then
    return nil, false
  end
  return h:since(self.time, resource, name)
end

--- Judges some of what states() was asked for last. It is for the time between two keys.
-- @number deadline ns of gethrtime()
-- @treturn boolean|nil true: the line changed, false: there is more, nil: all is done
function moment:work(deadline)
  local h = self.line and self:judged()
  if not h then
    return nil
  end
  return h:work(self.line.columns, self.time, self.line.span, deadline)
end

--- Closes the recording.
function moment:close()
  self.chain:close()
  if self.history then
    self.history.chain:close()
  end
end

-- --- opening --------------------------------------------------------------------------------------

--- Opens the past at its last sample.
-- @tparam[opt] table source fields of kstat.open: `capture` (default: what was recorded of this machine), `from`, `to`
-- and `host`; `at`, where to begin
-- @treturn[1] past with the field `time` (seconds since 1970)
-- @treturn[1] string|nil what there is to say of `at`
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function past.open(source)
  source = source or {}
  -- A bound alone means what was recorded of this machine.
  local bounded = { capture = source.capture, to = source.to, host = source.host,
    from = source.from or os.getenv("KSTAT_FROM") or not source.capture and "0" or nil }
  local ks, message = chain.open(bounded)
  if not ks then
    return nil, message
  end
  local self = setmetatable({ chain = ks, source = bounded, first = ks:time_of_day(),
    reference = not source.capture and os.time() or nil }, moment)
  self.last, message = locate(self, math.huge)
  self.time = self.last
  local ok = self.last and back(self, 1)
  if ok == 1 then
    ok, message = settle(self, locate(self, self.last))
  elseif ok == 0 then
    message = "only one sample is recorded: there is no interval yet"
  end
  if not ok or ok == 0 then
    ks:close()
    return nil, message
  end
  if source.at then
    ok, message = self:to(source.at)
    if not ok then
      ks:close()
      return nil, message
    end
  end
  return self, message
end

return past
