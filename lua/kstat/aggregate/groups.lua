--- Groups: what was added for each key, in a tree of the values of the keys.
--
-- The functions get a level first: an aggregation, the groups that further keys make within its groups, or what was
-- added for periods of time (kstat.aggregate.definition). A group has its `key`, at the numbers of the accumulators
-- what they came to, in `distributions` merged ones by the numbers of their sources, in `folded` what a period has of
-- its ticks (nil: it is none), and in `everything` what is of all groups, of its period if it is of one. Groups stay in
-- the tree while values come for them at every tick; one that is not `touched` is there no more, unless the level has
-- windows.
-- @module kstat.aggregate.groups
local core = require("kstat.core")
local window = require("kstat.figures.expression.window")

local groups = {}

local unpack = table.unpack or unpack
local MOST_ROWS = 250000

groups.key_meta = {
  __tostring = function(key)
    local texts = {}
    for i = 1, key.n do
      texts[i] = type(key[i]) == "number" and core.tostring(key[i]) or tostring(key[i])
    end
    return table.concat(texts, ":")
  end,
}

--- Forgets what was added to a group; its windows go on.
function groups.reset(self, group)
  local accumulators = self.accumulators
  for i = 1, #accumulators do
    local new = accumulators[i].new
    group[i] = new and new(group)
  end
  group.distributions, group.touched, group.units, group.origin = nil, false, nil, nil
  group.folded = self.is_past and {} or nil
  return group
end

-- A new group at the end of a path of values.
local function new_group(self, values)
  local path, list = self.path, self.list
  if #list == MOST_ROWS then
    core.fail(("by (%s) has more than %d rows x 1 sample, some 1 KB each: keys with fewer values, or a 'where'"):format(
      self.columns[#self.columns].title, MOST_ROWS))
  end
  local key = { n = #self.columns, unpack(values, 1, #path) } -- has room for all at once
  for i = 1, #path do
    key[path[i]] = values[i]
  end
  local group = groups.reset(self, { key = setmetatable(key, groups.key_meta), everything = self.everything,
    touched = false, origin = false, false })
  list[#list + 1], self.is_sorted = group, false
  return group
end

--- The group of values, in the order of self.path, which is made if `make` is true and there is none; or nil.
function groups.find(self, values, make)
  local node, path = self.tree, self.path
  local last = #path
  for i = 1, last - 1 do
    local below = node[values[i]] or make and {}
    if not below then
      return nil
    end
    node[values[i]] = below
    node = below
  end
  local key = last == 0 or values[last]
  local group = node[key]
  if not group and make then
    group = new_group(self, values)
    node[key] = group
  end
  return group
end

--- The values of a key in the order of self.path.
function groups.path_of(self, key)
  local values = {}
  for i, column in ipairs(self.path) do
    values[i] = key[column]
  end
  return values
end

--- Whether something was added to a group, or may be in its windows.
function groups.is_there(self, group)
  return group.touched or group.folded ~= nil or self.windowed
end

-- Takes a group out of a node of the tree, and nodes without groups.
local function remove(self, node, depth, group)
  local value = self.path[1] == nil or group.key[self.path[depth]]
  if depth < #self.path then
    remove(self, node[value], depth + 1, group)
    node[value] = next(node[value]) ~= nil and node[value] or nil
  else
    node[value], group.is_gone = nil, true
  end
end

--- Calls a function with each group that is there, or with all; where it returns false, the group is forgotten.
function groups.each(self, f, all)
  local list, n = self.list, 0
  for i = 1, #list do
    local group = list[i]
    if (all or group.touched or groups.is_there(self, group)) and f(group) == false then
      remove(self, self.tree, 1, group)
    else
      n = n + 1
      list[n] = group
    end
  end
  for i = n + 1, #list do
    list[i] = nil
  end
end

--- Forgets all groups of a level.
function groups.clear(self)
  self.tree, self.list = {}, {}
end

--- Forgets what was added, but for windows that still have something.
function groups.forget(self)
  groups.each(self, function(group)
    local goes_on = group.touched
    if self.windowed and (not goes_on or self.empty) then
      goes_on = window.is_alive(group)
    end
    if goes_on then
      groups.reset(self, group)
    else
      window.forget(group)
    end
    return goes_on
  end, true)
  self.everything = self.all and groups.reset(self, self.everything or {}) or nil
  for _, child in ipairs(self.children) do
    groups.forget(child)
  end
end

--- Whether a group takes values of that origin: "machine", "published", or nil for a script's own. What is published
-- never mixes with what is the machine's, which replaces it.
function groups.takes(self, group, origin)
  if origin ~= group.origin and origin then
    if group.origin == "machine" then
      return false
    elseif group.origin then
      groups.reset(self, group)
    end
    group.origin = origin
  end
  return true
end

--- Merges distributions of one source, of a kstat or of another group. What does not fit is left out and told.
function groups.merge_distribution(self, group, index, distribution)
  local all = group.distributions or {}
  group.distributions = all
  local merged, problem = distribution, nil
  if all[index] then
    merged, problem = all[index]:merge(distribution)
  end
  all[index], self.unmerged = merged or all[index], self.unmerged or problem
end

--- Adds what was added to another group.
function groups.merge(self, group, other)
  for i, accumulator in ipairs(self.accumulators) do
    group[i] = accumulator.merge(group[i], other[i])
  end
  for i, distribution in pairs(other.distributions or {}) do
    groups.merge_distribution(self, group, i, distribution)
  end
  for i, state in pairs(other.folded or {}) do
    local fold = self.accumulators[i].fold
    group.folded[i] = fold.merge(group.folded[i] or fold.new and fold.new(), state)
  end
  group.touched = group.touched or other.touched
end

--- Adds all groups of another level of the same keys and reducers; whole: the level of what is of all groups of each.
function groups.merge_all(self, other, whole)
  groups.each(other, function(group)
    local mine = groups.find(self, groups.path_of(self, group.key), true)
    mine.everything = whole and groups.find(whole, groups.path_of(whole, group.key), true) or mine.everything
    if groups.takes(self, mine, group.origin) then
      groups.merge(self, mine, group)
    end
  end)
  if self.all and self.everything then
    groups.merge(self, self.everything, other.everything)
  end
  for i, child in ipairs(self.children) do
    groups.merge_all(child, other.children[i])
  end
end

return groups
