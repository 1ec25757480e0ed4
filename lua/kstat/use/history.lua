--- The states of what was recorded, over time: which were judged, the next change, and a line of them.
--
-- Intervals are judged when they are needed, in pieces that end at a deadline, and are kept. A judged interval is a
-- table: `from` and `to` (seconds since 1970), `severity` (nil: nothing is known, or the interval is cut by a start of
-- the machine or a time without samples), `states` (text: what is not well; nil as above). Those of one sample each are
-- found by both ends; of a line with many samples in a column each holds several, and shows their mean.
-- @module kstat.use.history
local chain = require("kstat.read.chain")
local core = require("kstat.core")
local recent = require("kstat.use.recent")
local resources = require("kstat.use.resources")
local rows = require("kstat.use.rows")
local sample = require("kstat.read.sample")
local selector = require("kstat.read.selector")

local history = {}

local methods = {}
methods.__index = methods

local MOST_KSTATS = 15000 -- that are read for a column of a line; less than that many samples are judged one by one
local BLOCK = 60 -- samples that are judged behind each other on the way back
local MINUTE = 60 -- seconds for which values are measured
local KEPT = 100000 -- intervals, then all are forgotten

--- Opens the states of a recording.
-- @tparam source source see kstat.open
-- @treturn[1] history
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function history.open(source)
  local list = selector.list((table.unpack or unpack)(resources.select({}, true)))
  local bounded = { only = list }
  for key, value in pairs(source) do
    bounded[key] = value
  end
  local ks, message = chain.open(bounded)
  if not ks then
    return nil, message
  end
  local self = setmetatable({ chain = ks, list = list, first = ks:time_of_day() }, methods)
  self:forget()
  return self
end

function methods:forget()
  self.ending, self.beginning, self.columns, self.kept = {}, {}, {}, 0
end

-- --- judging --------------------------------------------------------------------------------------

-- Brings the chain to the latest sample at or before a time, or to the first one. One before it is looked at, so that
-- the chain knows how far samples are apart, and sees the next gap.
local function go(self, time)
  if self.at == time then
    return true
  end
  self.at, self.sample = nil, nil
  local ok, message, _, went = self.chain:seek(math.max(time, self.first), true, 1)
  if went == 1 then
    ok, message = self.chain:update(true)
  end
  if not ok then
    return nil, message
  end
  self.at = self.chain:time_of_day()
  return true
end

-- What is not well, as text that is equal where the states are: a line for each.
local function text_of(list)
  for i, row in ipairs(list) do
    list[i] = ("%s %s=%d\n"):format(row.resource, row.name, row.severity)
  end
  return table.concat(list)
end

local function values_of(list)
  local values = {}
  for _, row in ipairs(list) do
    values[recent.id(row)] = row.values
  end
  return values
end

local function keep(self, interval, n)
  if self.kept >= KEPT then
    self:forget()
  end
  self.kept = self.kept + 1
  if n == 1 then
    self.beginning[interval.from], self.ending[interval.to] = interval, interval
  end
  return interval
end

-- Moves n samples on, and beyond those that are not later because clocks were set back. Whether no interval lies
-- between: nothing was recorded, or the machine was started. nil: there are not as many, or they cannot be read.
local function move(self, n)
  local from, cut = self.at, false
  while n > 0 do
    if not self.chain:update(true) or self.chain:ended() then
      self.at = nil
      return nil
    end
    local is_later = self.chain:time_of_day() > from
    cut, n = cut or not is_later or self.chain:is_cut(), is_later and n - 1 or n
  end
  self.at = self.chain:time_of_day()
  return cut
end

-- Judges the n samples behind that of a time. nil: there are not as many, or they cannot be read. measured: gets what
-- the rows are judged by, too, by the beginning of the interval.
local function judge(self, time, n, measured)
  local before = go(self, time) and (self.sample or sample.take(self.chain, self.list, self.earlier))
  local interval, all, cut = { from = self.at }, {}, nil
  self.sample = nil
  if before then
    cut = move(self, n)
  end
  if cut == nil then
    return nil
  end
  interval.to, self.sample = self.at, sample.take(self.chain, self.list, before)
  self.earlier = self.sample
  if not cut and self.sample then
    local list
    interval.severity, list, all = rows.states(self.sample - before, before)
    interval.states = text_of(list)
  end
  if measured then
    measured[interval.from] = { to = interval.to, values = values_of(all) }
  end
  return keep(self, interval, n)
end

-- The interval from one sample to the next that begins at a time.
local function behind(self, time)
  return self.beginning[time] or judge(self, time, 1)
end

local function is_over(deadline)
  return core.gethrtime() >= deadline
end

-- --- changes --------------------------------------------------------------------------------------

-- A search is a table: `at` (a time up to which it came), `start` (the moment that it is from), `direction`, `states`
-- (those at `at`; nil: not known yet), `to` (the end of the interval that has them), `block` (of what is judged on the
-- way back, how far that came).

-- Judges what is before the place of a search. False: there is more of it; nil: there is nothing before.
local function judge_before(self, search, deadline)
  if not search.block or search.block >= search.at then
    local length = self.latest and self.latest.to - self.latest.from or 1
    if not go(self, search.at - (search.direction < 0 and BLOCK or 1) * length) or self.at >= search.at then
      return nil
    end
    search.block = self.at
  end
  repeat
    local interval = behind(self, search.block)
    if not interval or interval.to >= search.at then
      search.block = nil
      return true
    end
    self.latest, search.block = interval.states and interval or self.latest, interval.to
  until is_over(deadline)
  return false
end

-- The interval that ends at the place of a search. False: it is not judged yet; nil: there is none.
local function before(self, search, deadline)
  if not self.ending[search.at] and judge_before(self, search, deadline) == false then
    return false
  end
  return self.ending[search.at]
end

-- One step of a search, forth. The moment of a change; false: there may be one further on; nil: there is none.
local function look_forth(self, search, deadline)
  if not search.started then
    local interval = before(self, search, deadline)
    search.started = interval ~= false
    search.states = interval and interval.states
    return false
  end
  local interval = behind(self, search.at)
  if not interval then
    return nil
  end
  local is_other = interval.states and search.states and interval.states ~= search.states
  search.at, search.states = interval.to, interval.states or search.states
  return is_other and interval.to or false -- an interval without states is a start of the machine, or the first one
end

local function look_back(self, search, deadline)
  local interval = before(self, search, deadline)
  if not interval then
    return interval
  end
  local is_other = interval.states and search.states and interval.states ~= search.states
  if is_other and search.to < search.start then
    return search.to
  end
  search.at = interval.from
  if interval.states then
    search.states, search.to = interval.states, interval.to
  end
  return false
end

--- Looks for the next moment at which the state of a resource is another one than at the sample before.
-- @number time seconds since 1970, of a sample
-- @int direction 1: later ones, -1: earlier ones
-- @number deadline ns of gethrtime()
-- @treturn[1] number its time
-- @treturn[2] string "working": it is not found yet; the same call goes on
-- @treturn[2] number up to which time it came
-- @treturn[3] nil there is none
function methods:change(time, direction, deadline)
  local search = self.search
  if not search or search.start ~= time or search.direction ~= direction then
    search = { start = time, at = time, direction = direction }
  end
  self.search = search
  repeat
    local found = (direction > 0 and look_forth or look_back)(self, search, deadline)
    if found ~= false then
      self.search = nil
      return found
    end
  until is_over(deadline)
  return "working", search.at
end

--- Since when a resource is not well, as far as what was judged goes back.
-- @number time seconds since 1970, of a sample
-- @string resource
-- @string name
-- @number[opt] deadline ns of gethrtime(), up to which more is judged
-- @treturn number|nil seconds since 1970; nil: nothing is known of that time
-- @treturn boolean whether it began then; else it may have been before
function methods:since(time, resource, name, deadline)
  local search = { at = time, direction = -1 }
  local function ending_at(at)
    search.at = at
    return deadline and before(self, search, deadline) or self.ending[at]
  end
  local interval, since = ending_at(time), nil
  local line = "\n" .. resource .. " " .. name .. "="
  while interval and interval.states and ("\n" .. interval.states):find(line, 1, true) do
    since, interval = interval.from, ending_at(interval.from)
  end
  return since, interval ~= nil
end

-- Measures the minute up to a sample; what it has in common with the one that was measured before is taken from there.
local function measure_minute(self, time)
  local known = self.minute and self.minute.measured or {}
  local minute = { time = time, measured = {} }
  local at = go(self, time - MINUTE) and self.at
  while at and at < time do
    minute.measured[at] = known[at]
    if not known[at] and not judge(self, at, 1, minute.measured) then
      break
    end
    minute[#minute + 1] = minute.measured[at].values
    at = minute.measured[at].to
  end
  self.minute = minute
end

--- What was measured of a resource in the minute up to a sample.
-- @number time seconds since 1970, of a sample
-- @tparam table row of kstat.use.rows
-- @string figure the name of what is measured, as its limit has it
-- @treturn {number,...} the oldest first, without those that are not known
function methods:values(time, row, figure)
  if not self.minute or self.minute.time ~= time then
    measure_minute(self, time)
  end
  local list = {}
  for _, values in ipairs(self.minute) do
    list[#list + 1] = (values[recent.id(row)] or {})[figure] or nil
  end
  return list
end

-- --- lines ----------------------------------------------------------------------------------------

-- Of a line each column of the clock is kept on its own: `list` (intervals), `at` (up to which time it was judged).

local function column_of(self, width, number)
  local columns = self.columns[width] or {}
  self.columns[width] = columns
  columns[number] = columns[number] or { list = {}, at = number * width }
  return columns[number]
end

-- How many samples of a column are one interval.
local function stride(self, width)
  local length = self.latest and self.latest.to - self.latest.from or width
  return math.max(1, math.floor(width / length / math.max(1, MOST_KSTATS / math.max(#self.chain, 1))))
end

-- Judges a piece of a column. False: there is nothing more to judge in it.
local function fill(self, column, stop, width)
  if column.at >= stop then
    return false
  end
  local n = stride(self, width)
  local interval = n == 1 and behind(self, column.at) or n > 1 and (judge(self, column.at, n) or
    judge(self, column.at, 1))
  if not interval then
    return false
  end
  self.latest = n == 1 and interval.severity and interval or self.latest
  column.list[#column.list + 1], column.at = interval, interval.to
  column.worst = interval.severity and math.max(column.worst or 0, interval.severity) or column.worst
  return true
end

--- Judges some of what a line shows, the newest first.
-- @int columns how many characters it has
-- @number to its end, seconds since 1970
-- @number span seconds
-- @number deadline ns of gethrtime()
-- @treturn boolean|nil whether the line changed; nil: there is nothing left to judge
function methods:work(columns, to, span, deadline)
  local width, changed = span / columns, nil
  for number = math.floor(to / width), math.floor((to - span) / width), -1 do
    local column, stop = column_of(self, width, number), math.min(to, (number + 1) * width)
    local worst = column.worst
    while fill(self, column, stop, width) do
      changed = changed or column.worst ~= worst
      if is_over(deadline) then
        return changed
      end
    end
  end
  return changed
end

--- The worst state of each part of a span.
-- @int columns how many characters
-- @number to its end, seconds since 1970
-- @number span seconds
-- @treturn string see kstat.use.rows.line()
function methods:line(columns, to, span)
  local width, from, worst = span / columns, to - span, {}
  for number = math.floor(from / width), math.floor(to / width) do
    for _, interval in ipairs(column_of(self, width, number).list) do
      local last = math.ceil((interval.to - from) / width)
      for i = math.max(1, math.min(last, math.ceil((interval.from - from) / width) + 1)), math.min(last, columns) do
        worst[i] = interval.severity and math.max(worst[i] or 0, interval.severity) or worst[i]
      end
    end
  end
  return rows.line(worst, columns)
end

return history
