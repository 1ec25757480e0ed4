--- What an aggregation takes of kstats: their keys and values, into its groups.
-- @module kstat.aggregate.adding
local core = require("kstat.core")
local definitions = require("kstat.aggregate.definition")
local groups = require("kstat.aggregate.groups")
local ticks = require("kstat.aggregate.ticks")
local window = require("kstat.figures.expression.window")

local adding = {}

local unpack = table.unpack or unpack
local KEY_TYPES = { string = true, number = true, boolean = true }
local MOST_MEMBERS = 100000

--- Adds n values of a source to a group, and to that of all.
function adding.update(self, group, source, values, n, time, k)
  local kind = type(values[1])
  group.touched = true
  if kind == "userdata" then
    self.problem = self.problem or source.of_numbers and ("%s() is of numbers, and '%s' is a distribution"):format(
      source.of_numbers, source.text)
    groups.merge_distribution(self, group, source.index, values[1])
    if self.all then
      groups.merge_distribution(self, self.everything, source.index, values[1])
    end
  end
  local accumulators, showing = source.accumulators, self.clock.showing
  for i = 1, #accumulators do
    local accumulator = accumulators[i]
    local index, to, wanted = accumulator.index, group, kind == "number" or kind == "string" and accumulator.texts
    if accumulator.windowed then
      wanted = not showing
    end
    if wanted then
      if accumulator.all then
        to = self.everything
      end
      to[index] = accumulator.add(to[index], values, n, time, k)
    end
  end
end

-- A group that is known, or the one at a path; nil if it takes no values of that origin.
local function receiver(self, path, origin, group)
  group = group or groups.find(self, path, true)
  return (group.origin == origin or groups.takes(self, group, origin)) and group or nil
end

-- The value of a key, or nil if it is missing.
local function key_of(column, row, name, value)
  local key
  if column.header then
    key = row.kstat[column.header] or ""
  elseif column.of_kstat then
    key = column.of_kstat(row, 0)
  else
    key = column.value(row.kstat, name, value)
  end
  if key ~= nil and not KEY_TYPES[type(key)] then
    error(("aggregate: the function of the key '%s' returned a %s; a string, a number or a boolean expected")
      :format(column.title, type(key)), 0)
  end
  if key ~= key then
    return nil
  end
  return key
end

-- Puts the values of keys into a path, behind so many others. Returns false if one is missing.
local function set_keys(columns, path, behind, row, name, value)
  for i = 1, #columns do
    local key = key_of(columns[i], row, name, value)
    if key == nil then
      return false
    end
    path[behind + i] = key
  end
  return true
end

-- Adds n values of one kstat whose keys depend on each.
local function add_each(self, row, path, origin, source, n, time)
  local one, only = {}, source.expression and source.text or source.kstats and ""
  for i = 1, n do
    local group = set_keys(self.late, path, #self.early, row, only or row.names[i], row.values[i]) and
      receiver(self, path, origin)
    if group then
      one[1] = row.values[i]
      adding.update(self, group, source, one, 1, time, row.kstat)
    end
  end
end

-- What is missing if no selector has a capture group of the keys, which look for theirs in these selectors.
local function find_captures(self, list)
  self.captures.selectors = list or {}
  for _, group in ipairs(self.captures) do
    local found = false
    for _, sel in ipairs(self.captures.selectors) do
      found = found or definitions.capture_of(sel, group) ~= nil
    end
    if not found then
      return ("no selector has the capture group '$%s'"):format(group)
    end
  end
  return nil
end

-- A difference, where values are rates or expressions.
local function as_difference(x, list)
  if core.kind(x) == "difference" then
    return x
  elseif core.kind(x) == "chain" then
    local message, errname
    x, message, errname = x:sample(unpack(list or {}))
    if not x then
      return nil, message, errname
    end
  end
  return x:since_creation()
end

-- Whether a kstat has a statistic that any selector wants.
local function has_chosen(k, list)
  for name in pairs(k:data() or {}) do
    for _, sel in ipairs(list) do
      if sel:matches(k, name) then
        return true
      end
    end
  end
  return false
end

-- Reads a source of the kstat of a row into its names and values. Returns how many values there are.
local function read(source, row, list)
  local k, values = row.kstat, row.values
  if source.expression then
    local value = source.expression(row, 0)
    local kind = type(value)
    values[1] = value
    if kind == "number" then
      source.has_numbers = true
      return value - value == 0 and 1 or 0 -- a finite one
    elseif kind == "string" and not source.texts then
      source.has_texts = true
      return 0
    end
    return (kind == "userdata" or kind == "string") and 1 or 0
  elseif source.kstats then
    values[1] = 1
    return (not row.chosen or has_chosen(k, list)) and 1 or 0
  end
  local as_now = row.differing and (row.as_now or source.now) and not source.rate
  return core.numbers(as_now and k:now() or k, list, row.names, values, source.rate)
end

-- The line about numbers of several units: names in their order, and the unit `of` each.
local function tell_units(source, units)
  local told, names, of = {}, units.names, units.of
  for i = 1, math.min(#names, 8) do
    local ends = of[names[i]] ~= "" and of[names[i + 1]] ~= of[names[i]]
    told[i] = ends and ("%s (%s)"):format(names[i], of[names[i]]) or names[i]
  end
  return ("%s of what? %s, …: units differ; type one, such as %s(%s)"):format(source.title, table.concat(told, ", "),
    source.title, (units.kind == "counter" and "rate(%s)" or "%s"):format(names[1]))
end

-- Notes the units of numbers that are reduced together, and what is wrong if they are not one.
local function check_units(self, group, source, k, names, n)
  local units, differ = group.units or { names = {}, of = {} }, false
  group.units = units
  for i = 1, n do
    local name = names[i]
    if not units.of[name] then
      local known = core.kstat_methods.meta(k, name) or {}
      units.of[name], units.kind = known.unit or "", units.kind or known.kind
      units.names[#units.names + 1] = name
      differ = differ or units.of[name] ~= units.of[units.names[1]]
    end
  end
  self.problem = self.problem or differ and tell_units(source, units) or nil
end

-- Adds the kstat of a row to the groups that it belongs to, and to groups within. Returns how many values it had. Where
-- all keys stand in headers, which stay what they are, the groups of the machine's kstats are known by their kids.
local function add_one(self, row, list)
  local path, sources, added, k = self.values_of_path, self.sources, 0, row.kstat
  local kid, is_late, group = self.members and core.kid(k), self.late[1] ~= nil, nil
  local known, origin = kid and self.members[kid], "machine"
  if not known or known.is_gone then
    known, origin = nil, k.publisher and "published" or origin
    if not set_keys(self.early, path, 0, row) then
      return 0
    end
  end
  local time = self.timed and (k.snaptime or k.crtime) - (self.clock.taken or 0) + self.clock.time
  for j = 1, #sources do
    local source = sources[j]
    local n = read(source, row, list)
    if is_late and n > 0 then
      add_each(self, row, path, origin, source, n, time)
    elseif n > 0 or self.empty then
      group = group or receiver(self, path, origin, known)
      if group and n > 0 then
        if not source.is_single then
          check_units(self, group, source, k, row.names, n)
        end
        adding.update(self, group, source, row.values, n, time, k)
      elseif group then
        group.touched = true
      end
    end
    added = added + (source.kstats and sources[2] and 0 or n)
  end
  if kid and group and not known and origin == "machine" then
    if self.nmembers == MOST_MEMBERS then
      self.members, self.nmembers = {}, 0 -- most of these may be gone
    end
    self.members[kid], self.nmembers = group, self.nmembers + 1
  end
  for i = 1, #self.children do
    local child = self.children[i]
    added = added + add_one(child, row, list)
    self.problem = self.problem or child.problem
  end
  return added
end

-- Adds kstats. as_now: those of a difference that nobody gave, so that all numbers are those of now. feeds: only
-- windows over values of kstats get them. Returns how many values there were.
local function add_all(self, x, kstats, list, as_now, feeds)
  local where, sets, added = self.where, self.clock.showing and {} or self.clock.sets, 0
  local row = { names = {}, values = {}, differing = core.kind(x) == "difference", as_now = as_now }
  for _, sel in ipairs(list or {}) do
    row.chosen = row.chosen or sel:fields().statistic ~= ""
  end
  for i = 1, #kstats do
    row.kstat = kstats[i]
    for j = 1, #sets do
      sets[j].feed(row)
    end
    if not feeds and (not where or (tonumber(where(row, 0)) or 0) ~= 0) then
      added = added + add_one(self, row, list)
    end
  end
  return added
end

--- Ends the tick that goes on, if one does: what is over time gets its values.
function adding.end_tick(self)
  if self.pending then
    self.pending = false
    ticks.settle(self)
  end
end

-- Begins a tick with a difference, unless it is of the sample that was added last.
local function begin_tick(self, x)
  local clock, elapsed, taken = self.clock, core.difference_elapsed(x), core.sample_taken(x)
  if not (taken == clock.taken and self.pending) then
    adding.end_tick(self)
    window.tick(clock, x, elapsed ~= taken and elapsed,
      clock.tick > 0 and self.had_interval and (elapsed == nil or elapsed == taken))
    self.had_interval, self.seconds = self.had_interval or elapsed ~= nil, select(3, core.sample_time_of_day(x))
    self.has_intervals = self.has_intervals or elapsed ~= nil and elapsed ~= taken
  end
  return elapsed == taken
end

-- Without keys there is a group whatever kstats have.
local function begin_whole(self, kstats)
  if not self.columns[1] and (kstats[1] or self.of_nothing) then
    groups.find(self, {}, true).touched = true
  end
end

-- Gives what is over time the values of a sample without an interval, before what was counted since creation is shown.
local function feed_first(self, x, list)
  local clock = self.clock
  clock.place = core.difference(x, false)
  local kstats = core.select(clock.place, list) or {}
  begin_whole(self, kstats)
  add_all(self, clock.place, kstats, list, false, not (self.windows or self.past))
  ticks.settle(self)
  if not self.past then
    groups.forget(self)
  end
  clock.place, clock.showing, self.pending = x, true, false
end

--- What agg:add() does and returns. kind: chain, sample or difference; list: its selectors, compiled.
function adding.kstats(self, x, kind, list)
  local message = find_captures(self, list)
  if message then
    return nil, message, "EINVAL"
  end
  local given, clock, kstats, errname = kind == "difference", self.clock
  if self.differs then
    x, message, errname = as_difference(x, list)
    if not x then
      return nil, message, errname
    elseif self.has_intervals and core.difference_elapsed(x) == core.sample_taken(x) then
      x = core.difference(x, false) -- behind a gap what was counted since creation is not of an interval
    end
  end
  kstats, message, errname = core.select(x, list, true)
  if not kstats then
    return nil, message or errname, errname or "EINVAL"
  end
  self.problem, self.unmerged = nil, nil
  local added, since_creation = 0, self.differs and begin_tick(self, x)
  clock.showing = false
  if since_creation and self.is_over_time then
    feed_first(self, x, list)
  end
  if not (clock.showing and self.past) then
    begin_whole(self, kstats)
    added = add_all(self, x, kstats, list, self.differs and not given)
    self.pending = true
  end
  for _, source in ipairs(self.sources) do
    self.problem = self.problem or source.has_texts and not source.has_numbers and source.title and
      ("%s() is of numbers, and '%s' is a text"):format(source.title, source.text)
  end
  if self.problem or self.unmerged then
    return nil, self.problem or self.unmerged, "EINVAL"
  end
  return self, added
end

return adding
