--- The past of a screen of which nothing is recorded: the samples that it took itself.
--
-- It has the ways of kstat.top.past that need no recording. A sample has what its view read then: rows that were not
-- visible lack what is read for visible ones.
--
-- @module kstat.top.seen
local core = require("kstat.core")
local past = require("kstat.top.past")

local seen = {}
seen.__index = seen

local SECONDS, BYTES = 600, 16 * 2 ^ 20

--- Nothing yet.
-- @treturn seen
function seen.new()
  return setmetatable({ ticks = {}, bytes = 0, is_seen = true }, seen)
end

-- Counts what the sample of a tick holds: it grows until the next one is taken.
local function weigh(self, tick)
  local bytes = 0
  for _, now in pairs(tick.of) do
    bytes = bytes + core.sample_size(now)
  end
  self.bytes = self.bytes + bytes - (tick.bytes or 0)
  tick.bytes = bytes
end

--- Keeps the samples of a view, for ten minutes and as long as all have 16 MB.
-- @tparam table groups of kstat.top.sampling
-- @number time seconds since 1970
function seen:add(groups, time)
  local ticks = self.ticks
  local tick = { time = time, of = {} }
  for _, group in ipairs(groups) do
    tick.of[group] = group.now
  end
  if ticks[1] then
    weigh(self, ticks[#ticks])
  end
  ticks[#ticks + 1] = tick
  while #ticks > 1 and (self.bytes > BYTES or ticks[1].time < time - SECONDS) do
    self.bytes = self.bytes - ticks[1].bytes
    table.remove(ticks, 1)
  end
end

--- Goes back to the sample before the last one.
-- @treturn[1] boolean true
-- @treturn[1] string what there is to say
-- @treturn[2] nil there is none
function seen:enter()
  if #self.ticks < 2 then
    return nil
  end
  self:go(#self.ticks - 1)
  return true, ("nothing is recorded: this is what the screen saw since %s"):format(
    os.date("%H:%M:%S", math.floor(self.ticks[1].time)))
end

--- Goes to a sample.
-- @int at its number
function seen:go(at)
  self.at = at
  self.time = self.ticks[at].time
end

--- Goes some samples on, or back.
-- @int n
-- @treturn boolean|nil nil: there is no such sample
-- @treturn string|nil why not
function seen:step(n)
  local to = self.at + n
  if not self.ticks[to] then
    return nil, n < 0 and "this is the first sample that is kept" or "this is the last sample; L is live"
  end
  self:go(to)
  return true
end

-- The number of the last sample at or before a time, or of the first one.
local function at_of(self, time)
  local at = 1
  while self.ticks[at + 1] and self.ticks[at + 1].time <= time do
    at = at + 1
  end
  return at
end

--- Goes so many seconds further, at least to the next sample.
-- @number seconds
-- @treturn boolean|nil as step()
-- @treturn string|nil
function seen:by(seconds)
  local to = at_of(self, self.time + seconds)
  if to == self.at then
    return self:step(seconds > 0 and 1 or -1)
  end
  self:go(to)
  return true
end

--- Goes to a time.
-- @string typed see kstat.top.past
-- @treturn boolean|nil
-- @treturn string|nil
function seen:to(typed)
  local time, message = core.when(typed, os.time())
  if not time then
    return nil, message or ("'%s' is no time such as %s"):format(typed, past.FORMS)
  end
  self:go(at_of(self, time))
  return true, time < self.ticks[1].time and "nothing is recorded, and this is the first sample that is kept" or nil
end

--- Moments at which states changed are found in recordings alone.
function seen.change()
  return nil, "nothing is recorded: the line of states shows the changes that the screen saw"
end

--- The samples of a group at the moment, and before.
-- @tparam table group
-- @treturn[1] sample
-- @treturn[1] sample|nil
-- @treturn[2] nil the view was not shown then
function seen:samples(group)
  local now, prev, before
  for i = self.at, 1, -1 do
    local found = self.ticks[i].of[group]
    if found then
      core.sample_freeze(found, true)
    end
    if found and now then
      prev, before = found, i
      break
    end
    now = now or found
    if not found and now then
      break
    end
  end
  return now, before and prev or nil
end

--- The line of states that the view of resources drew so far.
-- @int columns
-- @treturn string
function seen:states(columns)
  return self.recent and (self.recent:line(columns, self.time)) or (" "):rep(columns)
end

--- Since when something is not well is not known.
function seen.since()
  return nil, false
end

--- No values of the last minute are kept.
function seen.values()
  return {}
end

--- There is nothing to be judged later.
function seen.work()
  return nil
end

return seen
