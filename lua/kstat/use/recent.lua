--- What was seen of resources lately: since when each is not well, what was measured in the last minute, and the worst
-- state over some minutes. What is kept is bounded, however many resources there are and however short intervals are.
--
-- @module kstat.use.recent
local rows = require("kstat.use.rows")

local recent = {}

local methods = {}
methods.__index = methods

local MINUTE = 60 -- seconds for which values are kept
local MOST = 6000 -- values of a resource at a moment, all together
local SPANS = { 240, 600, 1800, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600 } -- seconds that a line of states can show
local MOST_STATES = 4000

--- Nothing was seen yet.
-- @treturn recent
function recent.new()
  return setmetatable({ bad = {}, moments = {}, states = {} }, methods)
end

-- Removes the first n elements of an array.
local function drop(list, n)
  for i = 1, n > 0 and #list or 0 do
    list[i] = list[i + n]
  end
end

-- Forgets the moments that are too old, in passes that are seldom.
local function forget(list, oldest, most)
  local n = math.max(0, #list - most)
  while list[n + 1] and list[n + 1].time <= oldest do
    n = n + 1
  end
  if n > #list / 4 then
    drop(list, n)
  end
end

--- What names a row of kstat.use.rows.
-- @tparam table row
-- @treturn string
function recent.id(row)
  return row.resource .. " " .. row.name
end

--- Takes in an interval.
-- @number from when it began, seconds since 1970: the end of the interval before, or nobody saw what lies between
-- @number to when it ended
-- @tparam {row,...} list of kstat.use.rows
function methods:add(from, to, list)
  local bad, values, worst = {}, {}, nil
  local follows = self.to == from
  if self.to and math.abs(from - self.to) >= MINUTE then
    self.bad = {} -- nobody looked for so long that it may have been well in between
  end
  for _, row in ipairs(list) do
    local id, severity = recent.id(row), row.severity
    values[id], worst = row.values, severity and math.max(worst or 0, severity) or worst
    bad[id] = (severity or 0) > 0 and (self.bad[id] or { since = from, is_exact = follows }) or nil
  end
  self.bad, self.to, self.interval = bad, to, to - from
  table.insert(self.moments, { time = to, values = values })
  local state = self.states[#self.states]
  if state and follows and state.severity == worst then
    state.time = to -- a state that lasts is one entry, however many intervals it takes
  else
    table.insert(self.states, { time = to, from = from, severity = worst })
  end
  forget(self.moments, to - MINUTE, math.floor(MOST / math.max(#list, 1)))
  forget(self.states, to - SPANS[#SPANS], MOST_STATES)
end

--- Since when a resource is not well.
-- @tparam table row
-- @treturn number|nil seconds since 1970; nil: it is well, or was not seen
-- @treturn boolean|nil false: it may have been so before, because that was not seen
function methods:since(row)
  local bad = self.bad[recent.id(row)]
  return bad and bad.since, bad and bad.is_exact
end

--- What was measured of a resource in the last minute.
-- @tparam table row
-- @string figure the name of what is measured, as its limit has it
-- @treturn {number,...} the oldest first, without those that are not known
function methods:values(row, figure)
  local list, id = {}, recent.id(row)
  for _, moment in ipairs(self.moments) do
    local values = moment.time > self.to - MINUTE and moment.values[id]
    list[#list + 1] = values and values[figure] or nil
  end
  return list
end

--- How much time a line of states shows: each character takes at least an interval.
-- @int columns how many characters
-- @treturn int seconds
function methods:span(columns)
  local span = SPANS[1]
  for _, longer in ipairs(SPANS) do
    span = span < columns * (self.interval or 0) and longer or span
  end
  return span
end

--- The worst state over time.
-- @int columns how many characters
-- @number[opt] now seconds since 1970, where nobody looked for some time; default: the end of the last interval
-- @treturn string see kstat.use.rows.line()
-- @treturn int how many seconds they are
function methods:line(columns, now)
  local span, to, worst = self:span(columns), math.max(self.to or 0, now or 0), {}
  for n = #self.states, 1, -1 do
    local state = self.states[n]
    if state.time <= to - span then
      break
    end
    local first = math.floor((state.from - to) / span * columns) + columns + 1
    local last = math.ceil((state.time - to) / span * columns) + columns
    for i = math.max(first, 1), state.severity and last or 0 do
      worst[i] = math.max(worst[i] or 0, state.severity)
    end
  end
  return rows.line(worst, columns), span
end

return recent
