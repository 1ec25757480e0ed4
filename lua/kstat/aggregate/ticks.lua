--- The ends of ticks: what is over time gets its values, reducers of groups within theirs, and the periods of keys of
-- time what their ticks came to.
-- @module kstat.aggregate.ticks
local groups = require("kstat.aggregate.groups")
local reducers = require("kstat.figures.reducers")
local window = require("kstat.figures.expression.window")

local ticks = {}

local one = {} -- a single value for accumulators

-- Gives reducers of groups within what these came to.
local function settle_nested(self)
  for index, accumulator in ipairs(self.accumulators) do
    local child = accumulator.nested
    if child then
      groups.each(self, function(group) group[index] = accumulator.new and accumulator.new(group) end)
      groups.each(child, function(inner)
        local there = inner.touched or child.windowed and window.is_alive(inner)
        one[1] = there and child.get_value(inner)
        if reducers.is_finite(one[1]) and not (accumulator.windowed and self.clock.showing) then
          local group = groups.find(self, groups.path_of(self, inner.key), true)
          group.touched = true
          group[index] = accumulator.add(group[index], one, 1, self.clock.time)
        end
      end)
    end
  end
end

-- Puts what a group came to in a tick into that of a period.
local function fold_group(self, period, group)
  for i, accumulator in ipairs(self.accumulators) do
    local fold, is_mine = accumulator.fold, accumulator.all == (group == self.everything)
    if is_mine and fold then
      one[1] = accumulator.read(group)
      if type(one[1]) == "number" then
        period.folded[i] = fold.add(period.folded[i] or fold.new and fold.new(), one, 1, self.clock.length)
      end
    elseif is_mine and (group.touched or accumulator.all) then
      period[i] = accumulator.merge(period[i], group[i])
    end
  end
  for i, distribution in pairs(group.distributions or {}) do
    groups.merge_distribution(self, period, i, distribution)
  end
end

-- Puts the groups of a tick into those of the period in which the middle of its interval lies, as steps do.
local function fold_tick(self)
  local middle, whole = math.floor(self.seconds - self.clock.length / 2), nil
  groups.each(self, function(group)
    for _, i in ipairs(self.whole.path) do
      group.key[i] = self.columns[i].period(middle)
    end
    local period = groups.find(self.past, groups.path_of(self.past, group.key), true)
    whole = groups.find(self.whole, groups.path_of(self.whole, group.key), true)
    period.everything = whole
    fold_group(self, period, group)
  end)
  if whole and self.all then
    fold_group(self, whole, self.everything)
  end
end

--- Ends a tick, if one goes on: what is over time gets its values of it, whether somebody reads them or not.
function ticks.settle(self)
  for _, child in ipairs(self.children) do
    ticks.settle(child)
  end
  settle_nested(self)
  if self.clock.showing then
    return
  end
  if self.sets[1] then
    groups.each(self, function(group)
      for _, set in ipairs(group.touched and self.sets or {}) do
        set.feed(group)
      end
    end)
  end
  if self.past then
    fold_tick(self)
    groups.forget(self)
  end
end

return ticks
