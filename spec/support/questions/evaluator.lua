-- Answers questions about a history from the definitions alone, simply and slowly: each window looks at all samples.
-- It shares nothing with the language that it checks.
local exact = require("support.questions.exact")
local reduce = require("support.questions.reduce")
local scalar = require("support.questions.scalar")

local evaluator = {}

local GAP = 60 -- seconds: less is none
local SPANS = { ago = true, trend = true, reach = true } -- they look at the sample before the time, too

-- The seconds between a sample and the one before it, also where the clock of day was set back.
local function distance_of(samples, i)
  local sample, before = samples[i], samples[i - 1]
  return sample.time > before.time and sample.time - before.time or math.max(sample.clock - before.clock, 0)
end

-- Whether nothing is known of the time between a sample and the one before it.
local function is_cut(samples, i)
  local sample, before = samples[i], samples[i - 1]
  local awake = sample.clock - before.clock
  local asleep = sample.time - before.time - awake
  if sample.boot or (asleep >= GAP and asleep > 3 * awake) then
    return true
  end
  local beside = math.huge
  if i > 2 then
    beside = distance_of(samples, i - 1)
  end
  if i < #samples then
    beside = math.min(beside, distance_of(samples, i + 1))
  end
  local distance = distance_of(samples, i)
  return distance >= GAP and distance > 3 * beside
end

-- Prepares a history: which samples are behind a gap, which record a kstat has in a sample, and `at`, the time in which
-- windows are: it goes on as the machine's clock does, and in a gap as the time of day, unless that was set back.
function evaluator.prepare(history)
  for i, sample in ipairs(history.samples) do
    sample.cut = i > 1 and is_cut(history.samples, i)
    local before = history.samples[i - 1]
    local awake, length = before and sample.clock - before.clock, before and sample.time - before.time
    sample.at = before and before.at + (sample.cut and math.max(length, awake, 0) or awake) or 0
    sample.by_id, sample.start = {}, (before and before.start or 0) + (sample.boot and 1 or 0)
    for _, record in ipairs(sample.kstats) do
      record.id = ("%s\0%d\0%s"):format(record.module, record.instance, record.name)
      sample.by_id[record.id] = record
    end
  end
  return history
end

-- The number of the sample that was the newest at a moment; nil before the first one and within a gap.
local function newest_at(samples, time)
  local newest
  for i, sample in ipairs(samples) do
    if sample.at <= time then
      newest = i
    end
  end
  local following = newest and samples[newest + 1]
  if following and following.cut and samples[newest].at < time then
    return nil
  end
  return newest
end

-- What a kstat's statistics were at the beginning of the interval that ends with a record, and how long that is: nil
-- where there is no such interval. What is told since creation, at first, is no interval of those that are looked back
-- at (`past`).
local function beginning(samples, record, past)
  local before = samples[record.tick - 1]
  if not before then
    if past then
      return nil
    end
    return "creation", record.snaptime - record.crtime
  end
  local sample, earlier = samples[record.tick], before.by_id[record.id]
  if sample.cut then
    return nil
  elseif earlier and earlier.crtime == record.crtime then
    return earlier.data, record.snaptime - earlier.snaptime
  elseif record.crtime > before.clock then
    return "creation", record.snaptime - record.crtime
  end
  return nil
end

-- How much a statistic changed in that interval; a counter that fell counted nothing.
local function change_of(name, record, began)
  local value = record.data[name]
  if type(value) == "string" or not value or not began then
    return nil
  elseif began == "creation" then
    return value
  end
  local earlier = began[name]
  if not earlier then
    return nil
  elseif exact.is_integer(value) and exact.compare(value, earlier) < 0 then
    return exact.integer(0)
  end
  return exact.subtract(value, earlier)
end

-- A question asked of a history: `kstat(node, record, past)` is the value of an expression for a kstat, and
-- `group(node, group, tick, past)` one with reducers in it for a group.
local asking = {}
asking.__index = asking

-- The ticks of (t - length, t], of which t is the time of a tick.
local function ticks_within(samples, tick, length)
  local ticks, time = {}, samples[tick].at
  for i = 1, tick do
    if samples[i].at > time - length then
      ticks[#ticks + 1] = i
    end
  end
  return ticks
end

-- A subject is what values over time belong to: `there(tick)` is what it is at a tick, nil if it is not there, and
-- `value(node, what, past)` gives the values of an expression for it, each with the time by which first and last go.
function asking:subject_of_kstat(record)
  return {
    there = function(tick, of_any_creation)
      local then_ = self.samples[tick].by_id[record.id]
      local is_same = then_ and then_.crtime == record.crtime and
        self.samples[tick].start == self.samples[record.tick].start -- of another start no kstat is the same
      return (is_same or of_any_creation) and then_ or nil
    end,
    values = function(node, then_)
      local value = self:kstat(node, then_, true)
      return value ~= nil and { { value = value, time = then_.snaptime } } or {}
    end,
  }
end

function asking:subject_of_group(group)
  return {
    there = function(tick)
      return tick
    end,
    values = function(node, tick)
      local values = {}
      if not node.reduces then
        for _, record in ipairs(group.members(tick, true)) do
          local value = self:kstat(node, record, true)
          values[#values + 1] = value ~= nil and { value = value, time = record.snaptime } or nil
        end
      else
        local value
        if self:is_there(group, tick, true) then
          value = self:group(node, group, tick, true)
        end
        values[1] = value ~= nil and { value = value, time = self.samples[tick].at } or nil
      end
      return values
    end,
  }
end

-- All values of an expression at some ticks, with `at`, the time of day of each.
function asking:values_at(node, subject, ticks)
  local values = {}
  for _, tick in ipairs(ticks) do
    local then_ = subject.there(tick)
    for _, value in ipairs(then_ and subject.values(node, then_) or {}) do
      value.at, value.tick, value.then_ = self.samples[tick].at, tick, then_
      values[#values + 1] = value
    end
  end
  return values
end

local over_time = {}

function over_time:reduce(node, subject, tick)
  local values = self:values_at(node[1], subject, ticks_within(self.samples, tick, node.length))
  return reduce[node.reducer](values, node.parameter)
end

function over_time:ago(node, subject, tick)
  local ticks = { newest_at(self.samples, self.samples[tick].at - node.length) }
  local value = self:values_at(node[1], subject, ticks)[1]
  return value and value.value
end

-- The mean of all values up to now, each with a weight that falls to 1/e in a time; a tick that finds nothing in this
-- time empties it.
function over_time:ewma(node, subject, tick)
  local sum, weights, newest = 0, 0, nil
  for i = 1, tick do
    local now, values = self.samples[i].at, self:values_at(node[1], subject, { i })
    if #values > 0 then
      local fallen = newest and math.exp((newest - now) / node.length) or 0
      sum, weights, newest = sum * fallen, weights * fallen + #values, now
      for _, value in ipairs(values) do
        sum = sum + exact.double(value.value)
      end
    elseif newest and newest <= now - node.length then
      sum, weights, newest = 0, 0, nil
    end
  end
  return newest and sum / weights or nil
end

-- The straight line through the values of a time and the one with which it began: its value now, and its slope.
function asking:line(node, subject, tick)
  local now = self.samples[tick].at
  local first = newest_at(self.samples, now - node.length)
  local ticks = ticks_within(self.samples, tick, node.length)
  if first and first ~= ticks[1] then
    table.insert(ticks, 1, first)
  end
  local values = self:values_at(node[1], subject, ticks)
  local mean, mean_time = 0, 0
  for _, value in ipairs(values) do
    mean, mean_time = mean + exact.double(value.value) / #values, mean_time + (value.at - now) / #values
  end
  local both, square = 0, 0
  for _, value in ipairs(values) do
    local distance = value.at - now - mean_time
    both, square = both + distance * (exact.double(value.value) - mean), square + distance * distance
  end
  if square == 0 then
    return nil
  end
  return mean - mean_time * both / square, both / square
end

function over_time:trend(node, subject, tick)
  local _, slope = self:line(node, subject, tick)
  return slope
end

function over_time:reach(node, subject, tick)
  local now, slope = self:line(node, subject, tick)
  local seconds = now and slope ~= 0 and (node.parameter - now) / slope
  return seconds and seconds >= 0 and seconds or nil
end

-- The changes of the intervals that end in a time, by the lengths of these.
function over_time:rate_over(node, subject, tick)
  local changes, lengths
  for _, i in ipairs(ticks_within(self.samples, tick, node.length)) do
    local record = subject.there(i)
    local change, length
    if record then
      change, length = self:change(node[1], record, true)
    end
    if change then
      changes, lengths = exact.add(changes or exact.integer(0), change), (lengths or 0) + length
    end
  end
  return changes and scalar.divide(changes, lengths) or nil
end

local function equal(a, b)
  if type(a) == "string" or type(b) == "string" then
    return a == b
  end
  return exact.compare(a, b) == 0
end

-- In a time, each interval in which a statistic changed, or, of one that fell or began anew, in which it did so.
function asking:events(node, subject, tick, of_any_creation, is_event)
  local events, seen = {}, false
  for _, i in ipairs(ticks_within(self.samples, tick, node.length)) do
    local record = subject.there(i, of_any_creation)
    local value, before = record and record.data[node[1].name], self.samples[i - 1]
    seen = seen or value ~= nil
    local earlier = record and before and not self.samples[i].cut and before.by_id[record.id]
    if value ~= nil and earlier and is_event(record, earlier, value, earlier.data[node[1].name]) then
      events[#events + 1] = i
    end
  end
  return events, seen
end

function over_time:changes(node, subject, tick)
  local events, seen = self:events(node, subject, tick, false, function(record, earlier, value, before)
    return record.crtime == earlier.crtime and before ~= nil and not equal(value, before)
  end)
  return seen and exact.integer(#events) or nil
end

function over_time:resets(node, subject, tick)
  local events, seen = self:events(node, subject, tick, true, function(record, earlier, value, before)
    return before ~= nil and (record.crtime ~= earlier.crtime or exact.compare(value, before) < 0)
  end)
  return seen and exact.integer(#events) or nil
end

function over_time:since(node, subject, tick)
  local events = self:events(node, subject, tick, false, function(record, earlier, value, before)
    return record.crtime == earlier.crtime and before ~= nil and not equal(value, before)
  end)
  local last = events[#events]
  return last and self.samples[tick].at - self.samples[last].at or nil
end

-- How much an expression without a product of statistics changed in the interval of a record, and how long that is.
function asking:change(node, record, past)
  local began, length = beginning(self.samples, record, past)
  local function change(part)
    if part.kind == "statistic" then
      return change_of(part.name, record, began)
    elseif part.kind == "number" then
      return part.value
    end
    return scalar.call(part.operator, change(part[1]), change(part[2]))
  end
  return change(node), length
end

local of_kstat = {}

function of_kstat.statistic(_, node, record)
  return record.data[node.name]
end

function of_kstat.field(_, node, record)
  return node.name == "instance" and exact.integer(record.instance) or record[node.name]
end

function of_kstat:rate(node, record, past)
  local change, length = self:change(node[1], record, past)
  return change and scalar.divide(change, length)
end

function of_kstat:delta(node, record, past)
  return (self:change(node[1], record, past))
end

-- Values that are the same for a kstat and a group: of numbers, texts and calls.
local function plain(node, value_of)
  if node.kind == "number" or node.kind == "text" then
    return node.value
  elseif node.kind == "match" then
    local text = value_of(node[1])
    return type(text) == "string" and exact.integer(text:find(node.pattern) and 1 or 0) or nil
  elseif node.kind == "if" then
    local condition = value_of(node[1])
    if condition == nil then
      return nil
    end
    return value_of(scalar.is_true(condition) and node[2] or node[3])
  end
  local values = {}
  for i = 1, #node do
    values[i] = value_of(node[i])
  end
  return scalar.call(node.operator, values[1], values[2])
end

-- A table for each key, made when it is asked for.
local function entry(t, key)
  t[key] = t[key] or {}
  return t[key]
end

local NOTHING = {}

-- Calls a function once for each of its arguments.
local function remembered(t, key, compute)
  if t[key] == nil then
    local value = compute()
    t[key] = value == nil and NOTHING or value
  end
  if t[key] == NOTHING then
    return nil
  end
  return t[key]
end

function asking:kstat(node, record, past)
  return remembered(entry(entry(self.known, node), record), past and true or false, function()
    if of_kstat[node.kind] then
      return of_kstat[node.kind](self, node, record, past)
    elseif over_time[node.kind] then
      return over_time[node.kind](self, node, self:subject_of_kstat(record), record.tick)
    end
    return plain(node, function(part)
      return self:kstat(part, record, past)
    end)
  end)
end

-- A key as text that is the same for the same values alone.
local function identity(values)
  local parts = {}
  for i, value in ipairs(values) do
    local text = type(value) == "string" and value or ("%.17g"):format(exact.double(value))
    parts[i] = ("%s%d:%s"):format(type(value) == "string" and "t" or "n", #text, text)
  end
  return table.concat(parts)
end

-- The value of a key for a kstat; of alternatives that of the first which the kstat has.
function asking:key_of(key, record, past)
  for _, alternative in ipairs(key) do
    local value = self:kstat(alternative, record, past)
    if value ~= nil then
      return value
    end
  end
  return nil
end

-- Groups of records by keys, and in them the values of the keys; those that lack a key are in none.
function asking:grouped(records, keys, past)
  local groups = {}
  for _, record in ipairs(records) do
    local values = {}
    for i, key in ipairs(keys) do
      values[i] = self:key_of(key, record, past)
      if values[i] == nil then
        values = nil
        break
      end
    end
    if values then
      local id = identity(values)
      groups[id] = groups[id] or { key = values, records = {} }
      table.insert(groups[id].records, record)
    end
  end
  return groups
end

-- The groups within a group at a tick; each goes back in time as a group of the same keys.
function asking:groups_within(node, group, tick, past)
  local function grouped(i, before)
    before = i == 1 and before
    return remembered(entry(entry(self.parts, node), group), before and "before" or i, function()
      return self:grouped(group.members(i, before), node.by, before)
    end)
  end
  local groups, known = {}, entry(entry(self.subgroups, node), group)
  local ids = {}
  for i = 1, tick do
    for id in pairs(grouped(i, past or i < tick)) do
      ids[id] = true
    end
  end
  for id in pairs(ids) do
    known[id] = known[id] or { parts = { node[1] }, members = function(i, before)
      local part = grouped(i, before)[id]
      return part and part.records or {}
    end }
    if self:is_there(known[id], tick, past) or self:looks_back(node[1], known[id], tick) then
      groups[#groups + 1] = known[id]
    end
  end
  return groups
end

-- A reducer over the kstats of a group now, or over the groups within it.
function asking:reduced(node, group, tick, past)
  local values = {}
  if node.by then
    for _, part in ipairs(self:groups_within(node, group, tick, past)) do
      local value = self:group(node[1], part, tick, past)
      values[#values + 1] = value ~= nil and { value = value, time = 0 } or nil
    end
    return reduce[node.reducer](values, node.parameter)
  end
  for _, record in ipairs(group.members(tick, past)) do
    local value
    if node[1] then
      value = self:kstat(node[1], record, past)
    else
      value = exact.integer(1)
    end
    values[#values + 1] = value ~= nil and { value = value, time = record.snaptime } or nil
  end
  return reduce[node.reducer](values, node.parameter)
end

function asking:group(node, group, tick, past)
  if node.over_all then
    group = self.all
  end
  return remembered(entry(entry(entry(self.known, node), group), tick), past and true or false, function()
    if node.kind == "reduce" and not node.length then
      return self:reduced(node, group, tick, past)
    elseif over_time[node.kind] and node.reduces then
      return over_time[node.kind](self, node, self:subject_of_group(group), tick)
    elseif not node.reduces and node.kind ~= "number" then
      local members = group.members(tick, past)
      return #members == 1 and self:kstat(node, members[1], past) or nil
    end
    return plain(node, function(part)
      return self:group(part, group, tick, past)
    end)
  end)
end

-- The kstats of a sample that a question is about. What looks back at the first sample knows no interval there.
function asking:selected(tick, past)
  past = tick == 1 and past
  return remembered(self.chosen, past and "past" or tick, function()
    local records = {}
    for _, record in ipairs(self.samples[tick].kstats) do
      local condition = not self.question.where or self:kstat(self.question.where, record, past)
      if condition == true or (condition ~= nil and scalar.is_true(condition)) then
        records[#records + 1] = record
      end
    end
    return records
  end)
end

-- Those of them that have all keys.
function asking:with_keys(tick, past)
  past = tick == 1 and past
  return remembered(self.keyed, past and "past" or tick, function()
    local records = {}
    for _, part in pairs(self:grouped(self:selected(tick, past), self.question.keys, past)) do
      for _, record in ipairs(part.records) do
        records[#records + 1] = record
      end
    end
    return records
  end)
end

function evaluator.ask(history, question)
  local self = setmetatable({ samples = history.samples, question = question, known = {}, parts = {}, subgroups = {},
    chosen = {}, keyed = {}, groups = {} }, asking)
  self.all = { always = true, members = function(tick, past)
    return self:with_keys(tick, past)
  end }
  return self
end

-- The groups of all samples up to a tick, by identity.
function asking:groups_up_to(tick)
  local parts = { self.question.having }
  for _, column in ipairs(self.question.columns) do
    parts[#parts + 1] = column
  end
  if #self.question.keys == 0 then
    self.all.key = {}
    return { self.all }
  end
  local function note(i, past)
    for id, part in pairs(self:grouped(self:selected(i, past), self.question.keys, past)) do
      self.groups[id] = self.groups[id] or { key = part.key, records = {} }
      self.groups[id].records[past and 0 or i] = part.records
    end
  end
  for i = (self.seen or 0) + 1, tick do
    note(i, false)
    self.seen = i
  end
  if not self.seen_before then
    note(1, true)
    self.seen_before = true
  end
  local list = {}
  for _, group in pairs(self.groups) do
    group.parts, group.members = parts, group.members or function(i, past)
      return group.records[past and i == 1 and 0 or i] or {}
    end
    list[#list + 1] = group
  end
  return list
end

-- Whether kstats of a group have any value of what stands in a reducer, or outside of all; `absent` and `count` alone
-- are of the kstats themselves.
function asking:has_values(node, group, tick, past)
  if node.kind == "reduce" and node.by then
    for _, part in ipairs(self:groups_within(node, group, tick, past)) do
      if self:group(node[1], part, tick, past) ~= nil then
        return true
      end
    end
    return false
  elseif node.reduces and not (over_time[node.kind] and node[1] and not node[1].reduces) and node.kind ~= "reduce" then
    for _, part in ipairs(node) do
      if self:has_values(part, group, tick, past) then
        return true
      end
    end
    return false
  elseif node[1] and node[1].reduces then
    return self:has_values(node[1], group, tick, past)
  end
  local part = node.reduces and node[1] or node
  for _, record in ipairs(group.members(tick, past)) do
    if node.reducer == "absent" or (node.reduces and not node[1])
      or (part.kind ~= "number" and self:kstat(part, record, past) ~= nil) then
      return true
    end
  end
  return false
end

-- Whether a group is there at a tick: something that is asked of it has a value.
function asking:is_there(group, tick, past)
  local there = group.always or false
  for _, part in ipairs(group.parts or {}) do
    there = there or self:has_values(part, group, tick, past)
  end
  return there
end

-- Whether something that looks back has a value of a group still.
function asking:looks_back(node, group, tick)
  if over_time[node.kind] and node.reduces and node.length and not node.over_all then
    local ticks = ticks_within(self.samples, tick, node.length)
    local first = newest_at(self.samples, self.samples[tick].at - node.length)
    if first and SPANS[node.kind] then
      table.insert(ticks, 1, first)
    end
    if #self:values_at(node[1], self:subject_of_group(group), ticks) > 0 then
      return true
    end
  end
  for _, part in ipairs(node) do
    if part.reduces and not node.by and self:looks_back(part, group, tick) then
      return true
    end
  end
  return false
end

-- The row of a group that is there, or of which a column has a value still: its values in order, of which those that
-- are missing are false; nil if there is none.
function asking:row(group, tick)
  local row, any, looks_back = { key = group.key }, false, false
  for i, column in ipairs(self.question.columns) do
    local value = self:group(column, group, tick)
    row[i] = value == nil and false or value
    any = any or value ~= nil
    looks_back = looks_back or self:looks_back(column, group, tick)
  end
  looks_back = looks_back or self.question.having and self:looks_back(self.question.having, group, tick)
  if not self:is_there(group, tick) and not (any and looks_back) then
    return nil
  end
  if self.question.having then
    local condition = self:group(self.question.having, group, tick)
    if condition == nil or not scalar.is_true(condition) then
      return nil
    end
  end
  row.group = group
  return row
end

-- Whether a key comes before another: numbers before texts.
local function comes_before(a, b)
  for i = 1, #a do
    local one, other = a[i], b[i]
    local is_text = type(one) == "string"
    if is_text ~= (type(other) == "string") then
      return not is_text
    elseif is_text and one ~= other then
      return one < other
    elseif not is_text and exact.compare(one, other) ~= 0 then
      return exact.compare(one, other) < 0
    end
  end
  return false
end

-- Orders rows by their first column as top and bottom do, and cuts them off; what was cut off may be one row.
function asking:ranked(rows, tick)
  local question = self.question
  table.sort(rows, function(a, b)
    local one, other = a[1], b[1]
    if not one or not other or exact.compare(one, other) == 0 then
      if (one and true or false) ~= (other and true or false) then
        return one and true or false
      end
      return comes_before(a.key, b.key)
    end
    return (exact.compare(one, other) > 0) == (question.order == "top")
  end)
  local others, records = {}, {}
  for i = #rows, question.limit + 1, -1 do
    for _, record in ipairs(rows[i].group.members(tick)) do
      others[record] = true
    end
    rows[i] = nil
  end
  for _, record in ipairs(self.samples[tick].kstats) do
    records[#records + 1] = others[record] and record or nil
  end
  if question.rest and #records > 0 then
    local key = { "rest" }
    for i = 2, #question.keys do
      key[i] = ""
    end
    rows[#rows + 1] = self:row({ key = key, parts = question.columns, members = function()
      return records
    end }, tick)
  end
end

-- The rows at a tick.
function asking:rows(tick)
  local rows = {}
  for _, group in ipairs(self:groups_up_to(tick)) do
    rows[#rows + 1] = self:row(group, tick)
  end
  table.sort(rows, function(a, b)
    return comes_before(a.key, b.key)
  end)
  if self.question.order then
    self:ranked(rows, tick)
  end
  return rows
end

-- What a time is called as a key: the period of so many seconds, the hour of the day, or the day of the week.
local function period_of(time, period)
  if period == "hour" then
    return os.date("%H", time):gsub("^0", "")
  elseif period == "weekday" then
    return os.date("%a", time):lower()
  end
  local begins = time - time % period
  return os.date(period % 60 == 0 and "%Y-%m-%d %H:%M" or "%Y-%m-%d %H:%M:%S", begins)
end

local ONE = { kind = "number", value = exact.integer(1) }

-- Whether the values of an expression are parts of what was counted: a change within an interval is in it.
local function is_counted(node)
  if node.kind == "delta" then
    return true
  elseif node.kind == "reduce" or node.length then
    return false
  end
  for _, part in ipairs(node) do
    if is_counted(part) then
      return true
    end
  end
  return false
end

-- The value of a reducer over the intervals of a period: what was counted is added up, sums and means of intervals
-- have a mean by their lengths, and everything else is over all values.
function asking:over_period(node, group)
  local by_length = node.reducer == "sum" or node.reducer == "avg"
  local counts = node.reducer == "sum" and node[1] ~= nil and is_counted(node[1])
  local all, sum, lengths, counted, plain_sum, n = {}, 0, 0, nil, 0, 0
  for _, tick in ipairs(group.ticks) do
    local sample, before = self.samples[tick], self.samples[tick - 1]
    local length = before and not sample.cut and sample.at - before.at or 0
    local within = not (node[1] and node[1].reduces) or self:has_values(node[1], group, tick, true)
    local values = within and self:values_at(node[1] or ONE, self:subject_of_group(group), { tick }) or {}
    local value = by_length and reduce[node.reducer](values)
    if value then
      plain_sum, n = plain_sum + exact.double(value), n + 1
    end
    if value and length > 0 then
      sum, lengths = sum + length * exact.double(value), lengths + length
      counted = counts and exact.add(counted or exact.integer(0), value)
    end
    for _, one in ipairs(values) do
      all[#all + 1] = one
    end
  end
  if counts then
    return counted
  elseif by_length then
    return lengths > 0 and sum / lengths or n > 0 and plain_sum / n or nil
  end
  return reduce[node.reducer](all, node.parameter)
end

function asking:period_value(node, group)
  if node.kind == "reduce" and not node.length then
    return self:over_period(node, group)
  end
  return plain(node, function(part)
    return self:period_value(part, group)
  end)
end

-- The rows of a question that has a time among its keys.
function asking:rows_of_periods()
  local groups, rows = {}, {}
  for tick, sample in ipairs(self.samples) do
    local before = self.samples[tick - 1]
    local length = before and not sample.cut and sample.at - before.at or 0
    local name = period_of(math.floor(sample.time - length / 2), self.question.period)
    for id, part in pairs(self:grouped(self:selected(tick, true), self.question.keys, true)) do
      local whole = id .. name
      if not groups[whole] then
        part.key[#part.key + 1] = name
        groups[whole] = { key = part.key, parts = self.question.columns, ticks = {}, records = {} }
      end
      local group = groups[whole]
      group.ticks[#group.ticks + 1], group.records[tick] = tick, part.records
      group.members = group.members or function(i)
        return group.records[i] or {}
      end
    end
  end
  for _, group in pairs(groups) do
    local row, there = { key = group.key }, false
    for _, tick in ipairs(group.ticks) do
      there = there or self:is_there(group, tick, true)
    end
    for i, column in ipairs(self.question.columns) do
      local value = self:period_value(column, group)
      row[i] = value == nil and false or value
    end
    rows[#rows + 1] = there and row or nil
  end
  return rows
end

return evaluator
