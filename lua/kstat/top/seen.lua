--- The past of a screen of which nothing is recorded: the samples that it took itself.
--
-- It has the ways of kstat.top.past that need no recording. A sample has what its view read then: rows that were not
-- visible lack what is read for visible ones.
-- @module kstat.top.seen
local core = require("kstat.core")

local seen = {}
seen.__index = seen

local SECONDS, BYTES = 600, 16 * 2 ^ 20

--- Nothing yet.
-- @treturn seen
function seen.new()
  return setmetatable({ ticks = {}, bytes = 0 }, seen)
end

--- Keeps the samples of a view, for ten minutes and as long as all have 16 MB.
-- @tparam table groups of kstat.top.sampling
-- @number time seconds since 1970
function seen:add(groups, time)
  local ticks, tick = self.ticks, { time = time, bytes = 0, of = {} }
  for _, group in ipairs(groups) do
    tick.of[group] = group.now
  end
  local last = ticks[#ticks]
  for _, now in pairs(last and last.of or {}) do -- which grew until now
    last.bytes = last.bytes + core.sample_size(now)
  end
  self.bytes, ticks[#ticks + 1] = self.bytes + (last and last.bytes or 0), tick
  while #ticks > 1 and (self.bytes > BYTES or ticks[1].time < time - SECONDS) do
    self.bytes = self.bytes - table.remove(ticks, 1).bytes
  end
end

-- Goes to a sample by its number.
local function go(self, at)
  self.at, self.time = at, self.ticks[at].time
  return true
end

--- Goes back to the sample before the last one.
-- @treturn[1] boolean true
-- @treturn[1] string what there is to say
-- @treturn[2] nil there is none
function seen:enter()
  if #self.ticks < 2 then
    return nil
  end
  return go(self, #self.ticks - 1), ("nothing is recorded: this is what the screen saw since %s"):format(
    os.date("%H:%M:%S", math.floor(self.ticks[1].time)))
end

--- Goes some samples on, or back.
-- @int n
-- @treturn boolean|nil nil: there is no such sample
-- @treturn string|nil why not
function seen:step(n)
  if not self.ticks[self.at + n] then
    return nil, n < 0 and "this is the first sample that is kept" or "this is the last sample; L is live"
  end
  return go(self, self.at + n)
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
  return go(self, to)
end

--- Goes to a time.
-- @string typed see kstat.top.past
-- @treturn boolean|nil
-- @treturn string|nil
function seen:to(typed)
  local time, message = core.when(typed, os.time())
  return time and go(self, at_of(self, time)), not time and message or
    time < self.ticks[1].time and "nothing is recorded, and this is the first sample that is kept" or nil
end

--- The samples of a group at the moment, and before.
-- @param _ for kstat.top.past
-- @tparam table group
-- @treturn[1] sample
-- @treturn[1] sample|nil
-- @treturn[2] nil
-- @treturn[2] string the view was not shown then
function seen:samples(_, group)
  local at = self.at
  while self.ticks[at] and not self.ticks[at].of[group] do
    at = at - 1
  end
  local now, prev = self.ticks[at] and self.ticks[at].of[group], self.ticks[at - 1] and self.ticks[at - 1].of[group]
  for _, one in ipairs({ now, prev }) do
    core.sample_freeze(one, true)
  end
  return now, now and prev or not now and "this view was not shown then; L is live" or nil
end

--- The line of states that the view of resources drew so far.
-- @int columns
-- @treturn string
function seen:states(columns)
  return self.recent and (self.recent:line(columns, self.time)) or (" "):rep(columns)
end

-- What recordings alone tell: changes, since when, the last minute; and there is nothing to be judged later.
function seen.change() return nil, "nothing is recorded: the line of states shows the changes that the screen saw" end
function seen.since() return nil, false end
function seen.values() return {} end
function seen.work() return nil end

return seen
