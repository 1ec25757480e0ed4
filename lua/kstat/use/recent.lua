--- What was seen of resources lately: since when each is not well, what was measured in the last minute, and the worst
-- state over some minutes. What is kept is bounded, however many resources there are and however short intervals are.
-- @module kstat.use.recent
local figures = require("kstat.use.figures")
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

local HALF_DAY = 12 * 3600
local PRESSURES = { cpu = "cpu", memory = "memory", disk = "io" } -- what the kernel has averages of
local MINUTES = { { 10, "10 s" }, { 60, "1 min" }, { 300, "5 min" } }

--- An average of the kernel over the last seconds; those of I/O are about all disks.
-- @tparam difference d
-- @tparam table row
-- @int seconds 10, 60 or 300
-- @treturn number|nil percent; nil: the kernel has none of that resource
function recent.average(d, row, seconds)
  local value = PRESSURES[row.resource] and
    figures.now(d:lookup("pressure", 0, PRESSURES[row.resource]), "some_avg" .. seconds)
  return value and value / 100 or nil -- it has hundredths
end

-- For how long a state has lasted at least, by the averages of the kernel: they know what was before the first sample.
-- seen: for so many seconds it was seen; nil: they do not know more. One over a time counts if the shorter ones agree.
local function lasted(d, row, seen)
  local words
  for _, reason in ipairs(row.because) do
    for _, minutes in ipairs(reason.limit[3] == "pressure" and MINUTES or {}) do
      if (recent.average(d, row, minutes[1]) or 0) < (reason.limit.warning or reason.limit.critical) then
        break
      end
      words = minutes[1] > seen and "for over " .. minutes[2] or words
    end
  end
  return words
end

--- Since when a resource is not well, in words.
-- @tparam difference d
-- @tparam table row with what is too much
-- @tparam recent|past seen what knows it
-- @number at seconds since 1970, when it is read
-- @number[opt] first of who sees nothing but one interval its begin: that says nothing
-- @treturn string|nil such as "since 04:53:53", "since before 04:53:53", "for over 1 min"; nil: that is not known
function recent.words(d, row, seen, at, first)
  local time, is_exact = seen:since(row)
  local words = not is_exact and lasted(d, row, time and at - time or 0)
  if words or not time or time == first and not is_exact then
    return words or nil
  end
  return (is_exact and "since " or "since before ") ..
    os.date(at - time < HALF_DAY and "%H:%M:%S" or "%Y-%m-%d %H:%M:%S", math.floor(time))
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
