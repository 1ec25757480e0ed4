--- The past of the screen: a moment of a recording, and the ways from it to others.
--
-- A moment is a sample and the one before it, or some samples before (`width`), which together are an interval. Between
-- calls the chain is at the sample of the moment, because differences ask it what statistics mean.
-- @module kstat.top.past
local asked = require("kstat.base.past")
local chain = require("kstat.read.chain")
local core = require("kstat.core")
local history = require("kstat.use.history")
local sample = require("kstat.read.sample")
local selector = require("kstat.read.selector")

local past = {}

--- Times as moment:to() takes them, for those who are asked for one.
past.FORMS = "3:12, yesterday 3:12, mon 9:00, 2026-11-22 3:12, -1h30m"

local moment = {}
moment.__index = moment

local FIRST, LAST = "this is the first sample", "this is the last sample"
local EARLY = 1e8 -- s since 1970: no recording is as old, and who types such a number means something else
local SLICE = 50e6 -- ns that a search takes before the screen is drawn

local function date(time)
  return os.date("%Y-%m-%d %H:%M:%S", math.floor(time))
end

-- --- moving the chain -----------------------------------------------------------------------------

-- Goes to the next sample. nil: there is none, or it cannot be read, which the message says.
local function forth(self)
  local ok, message = self.chain:update(true)
  if not ok then
    return nil, message
  elseif self.chain:ended() then
    return nil, LAST
  end
  return true
end

-- Goes n samples back, or to the first one. Returns how many; nil and a message.
local function back(self, n)
  local ok, message, what, went = self.chain:previous(true, n)
  if not ok then
    return what == "ENODATA" and 0 or nil, message
  end
  return went
end

-- Goes to n samples before the latest one at or before a time; where there is none that is the first one. Returns how
-- many samples it is before; nil and a message.
local function locate(self, time, n)
  local ok, message, _, went = self.chain:seek(math.max(time, self.first), true, n)
  if not ok then
    return nil, message
  end
  return went
end

-- A sample of what was asked for; that before it says what that is. known: one of this moment, taken before the chain
-- was elsewhere and came back. What the chain lost there is another kstat now; of the others nothing is read again.
local function take(self, known)
  local message
  self.taken, message = sample.take(self.chain, self.list, known or self.taken, known)
  return self.taken, message
end

-- Makes the sample that is n behind that of the chain the moment, and takes the one with which its interval begins:
-- that behind a gap in it. Moves that skip samples lead to a sample before that: how far these are apart tells whether
-- nothing was recorded for long behind them.
local function arrive(self, n, message)
  self.now, self.prev, self.is_cut, self.known = nil, nil, true, nil
  for left = n or 0, 1, -1 do
    local before, is_first = self.chain:time_of_day(), left == math.min(self.width, n)
    local ok = true
    if self.asked and (is_first or self.is_cut and left < self.width) then
      self.prev, message = take(self)
      ok = self.prev
    end
    if ok then
      ok, message = forth(self)
    end
    if not ok then
      return nil, message
    end
    self.is_cut = self.chain:is_cut()
    self.length = self.is_cut and self.length or self.chain:time_of_day() - before
  end
  self.time = n and self.chain:time_of_day() or self.time
  if self.seconds and self.length > 0 then
    self.width = math.max(1, math.floor(self.seconds / self.length + 0.5))
  end
  return n and true, message
end

-- The same; where that fails, or the move before did, the moment stays what it was.
local function settle(self, n, message)
  local ok, why = arrive(self, n, message)
  if not ok then
    arrive(self, locate(self, self.time, self.width + 1))
  end
  return ok, why
end

-- --- moments --------------------------------------------------------------------------------------

--- Goes some intervals on, or back.
-- @int n
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string why not: at an end nothing moves
function moment:step(n)
  local known = n == -1 and self.width == 1 and self.prev
  n = n * self.width
  if n < 0 then
    local went, message = back(self, self.width + 1 - n)
    if went == 0 then
      return nil, FIRST
    end
    local ok, why = settle(self, went and math.max(went + n, 0), message)
    self.known = ok and known
    return ok, why
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
    return settle(self, back(self, self.width + 1))
  end
  self.now, self.known, self.prev, self.is_cut, self.time = nil, nil, old, self.chain:is_cut(), self.chain:time_of_day()
  return true
end

--- Goes to the sample that is nearest to so many seconds later or earlier, and at least to the next one.
-- @number seconds
-- @treturn boolean|nil as step()
-- @treturn string|nil
function moment:by(seconds)
  local time = self.time
  local ok, message = settle(self, locate(self, time + seconds + self.length / 2, self.width + 1))
  if not ok then
    return nil, message
  elseif (self.time - time) * seconds > 0 then
    local is_first = self.time - (time + seconds) > self.length
    return true, seconds < 0 and is_first and not self.prev and "the first sample is of " .. date(self.time) or nil
  end
  if self.time ~= time then
    settle(self, locate(self, time, self.width + 1))
  end
  return self:step(seconds > 0 and 1 or -1)
end

-- Where nothing was recorded at a time, it goes to the nearest sample. Returns what there is to say of the moment.
local function look_around(self, time)
  local before, length = self.time, self.length
  if before > time then
    return "the first sample is of " .. date(before)
  elseif not self:step(1) then
    return time - before > math.max(length, 1) and "the last sample is of " .. date(before) or nil
  end
  local behind, is_cut = self.time, self.is_cut
  if not (is_cut and behind - time < time - before) then
    self:step(-1)
  end
  return is_cut and ("nothing was recorded from %s to %s"):format(date(before), date(behind)) or nil
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
    local typed = time
    time, remark = core.when(typed, self.reference or self.last)
    if not time then
      return nil, remark
    elseif typed:find("^%d+$") and time < EARLY and self.first > EARLY then
      return nil, ("'%s' is no time such as %s"):format(typed, past.FORMS)
    end
  end
  local ok, message = settle(self, locate(self, time, self.width + 1))
  if not ok then
    return nil, message
  elseif math.abs(time - self.time) > self.length then
    local width, seconds = self.width, self.seconds
    self.width, self.seconds = 1, nil
    remark = look_around(self, time) or remark
    self.width, self.seconds = width, seconds
    if seconds then
      settle(self, locate(self, self.time, width + 1))
    end
  end
  return true, remark
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
  return settle(self, locate(self, found, self.width + 1))
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
    self.taken, self.asked, self.list = nil, {}, selector.list((table.unpack or unpack)(selectors))
    for i = 1, #selectors do
      self.asked[i] = selectors[i]
    end
    ok, message = arrive(self, back(self, self.width + 1))
  end
  if ok and not self.now then
    self.now, message = take(self, self.known)
  end
  if not (ok and self.now) then
    return nil, message
  end
  return self.now, not self.is_cut and self.prev or nil
end

-- --- states ---------------------------------------------------------------------------------------

-- The states of the recording, kstat.use.history; opened when there is time to judge, and not for the first frame. nil:
-- they cannot be read.
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
-- @treturn string see kstat.use.rows.line()
function moment:states(columns, span)
  self.line = { columns = columns, span = span }
  local h = self.history
  return h and h:line(columns, self.time, span) or (" "):rep(columns)
end

--- Since when a resource is not well, as far as that was judged.
-- @tparam table row of kstat.use.rows
-- @number[opt] deadline ns of gethrtime(), up to which more is judged
-- @treturn number|nil seconds since 1970; nil: that is not known
-- @treturn boolean whether it began then; else it may have been before
function moment:since(row, deadline)
  local h = deadline and self:judged() or self.history
  if not h then
    return nil, false
  end
  return h:since(self.time, row.resource, row.name, deadline)
end

--- What was measured of a resource in the minute before the moment.
-- @tparam table row of kstat.use.rows
-- @string figure the name of what is measured, as its limit has it
-- @treturn {number,...} the oldest first
function moment:values(row, figure)
  local h = self:judged()
  return h and h:values(self.time, row, figure) or {}
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

-- --- opening --------------------------------------------------------------------------------------

--- Opens the past at its last sample.
-- @tparam[opt] table source fields of kstat.open: `capture` (default: what was recorded of this machine), `from`, `to`
-- and `host`; `at`, where to begin; `step`, the seconds of an interval (nil: each sample ends one)
-- @treturn[1] past with the field `time` (seconds since 1970)
-- @treturn[1] string|nil what there is to say of `at`
-- @treturn[2] nil
-- @treturn[2] string what is wrong
-- @treturn[2] string|nil the name of the error, as kstat.open has it; nil: something else is wrong
function past.open(source)
  source = source or {}
  -- A bound alone means what was recorded of this machine.
  local bounded = { capture = source.capture, to = source.to, host = source.host,
    from = source.from or asked.named("from") or not source.capture and "0" or nil }
  local ks, message, errname = chain.open(bounded)
  if not ks then
    return nil, message, errname
  end
  local self = setmetatable({ chain = ks, source = bounded, first = ks:time_of_day(),
    reference = not source.capture and os.time() or nil,
    length = 0, width = 1, seconds = source.step }, moment)
  local n
  n, message = locate(self, math.huge, 2)
  if n == 0 then
    n, message = nil, "only one sample is recorded: there is no interval yet"
  end
  local ok
  ok, message = arrive(self, n, message)
  self.last = self.time
  local at = asked.at(source)
  if ok and at then
    ok, message = self:to(at)
    errname = not core.when(at, self.reference or self.last) and "EINVAL" or nil
  end
  if not ok then
    ks:close()
    return nil, message, errname
  elseif source.step and self.time == self.first then
    self:step(1) -- where a time begins its first interval is shown
  end
  return self, message
end

return past
