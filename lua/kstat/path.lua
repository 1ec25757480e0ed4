--- The path of the Perl module: `ks.cpu_stat[0].cpu_stat0.intr`.
--
-- Every level is a plain table, made per module when the module is first named: instances, in them
-- names, in them statistics, with class, crtime and snaptime. `pairs` and `next` work as they do on
-- any table. The statistics are read when one is first asked for; where `pairs` does not know
-- `__pairs` (Lua 5.1, LuaJIT) that cannot be noticed, and they are read together with the module.
-- Assignment is no way to write a statistic: k:write{} is. One to statistics that were not read yet
-- raises. Once they are read (in Lua 5.1 and LuaJIT: from the start) they are a plain table, to cost no more than
-- one, and it belongs to the script: an assignment changes that table and nothing else, until update() reads anew.
--
-- @module kstat.path
local core = require("kstat.core")

local path = {}

-- Whether pairs() obeys __pairs.
local obeys_pairs = false
for _ in pairs(setmetatable({}, { __pairs = function() return next, { true } end })) do
  obeys_pairs = true
end

-- ks.sd["0"] is ks.sd[0].
local instances_meta = {
  __index = function(level, key)
    local number = type(key) == "string" and tonumber(key)
    return number and rawget(level, number) or nil
  end
}

local function refuse_assignment(_, key)
  error(("statistics are read here: to write one, look up its kstat and call k:write{[%q] = value}"):format(
    tostring(key)), 2)
end

-- Reads a leaf's kstat into it. Where it cannot be read, that leaves class and crtime.
local function fill(tree, leaf)
  local k = tree.pending[leaf]
  if k then
    tree.pending[leaf] = nil
    setmetatable(leaf, nil)
    if core.fill(k, leaf) then
      tree.read[leaf] = k
    end
  end
  return leaf
end

-- The tree of a chain, a sample or a difference. `pending` and `read` map leaves to their kstats.
local function tree_of(object)
  local notes = core.notes(object)
  local tree = notes.tree
  if not tree then
    tree = { modules = {}, pending = {}, read = {} }
    tree.leaf_meta = {
      __index = function(leaf, key) return rawget(fill(tree, leaf), key) end,
      __newindex = refuse_assignment,
      __pairs = function(leaf) return next, fill(tree, leaf), nil end,
    }
    notes.tree = tree
  end
  return tree
end

local function add(tree, module, k)
  local instance, name = k.instance, k.name
  local names = rawget(module, instance)
  if not names then
    names = {}
    module[instance] = names
  end
  if names[name] == nil then -- of several with one name the first counts, as it does to lookup()
    local leaf = {}
    tree.pending[leaf] = k
    names[name] = obeys_pairs and setmetatable(leaf, tree.leaf_meta) or fill(tree, leaf)
  end
end

-- The module's table, or nil. members: the core function that lists its kstats.
function path.module(object, name, members)
  local tree = tree_of(object)
  local module = tree.modules[name]
  if module then
    return module
  end
  local list, message = members(object, name)
  if list == false then
    error(message, 3)
  elseif not list or not list[1] then
    return nil
  end
  module = setmetatable({}, instances_meta)
  for i = 1, #list do
    add(tree, module, list[i])
  end
  tree.modules[name] = module
  return module
end

local function remove(tree, change)
  local module = tree.modules[change.module]
  local names = module and rawget(module, change.instance)
  local leaf = names and names[change.name]
  if not leaf then
    return
  end
  tree.pending[leaf] = nil
  tree.read[leaf] = nil
  setmetatable(leaf, nil)
  names[change.name] = nil
  if not next(names) then
    module[change.instance] = nil
  end
  if not next(module) then
    tree.modules[change.module] = nil
  end
end

-- Follows an update of a chain: what was read holds the new values, what is gone keeps its last.
function path.update(ks, added, deleted)
  local tree = core.notes(ks).tree
  if not tree then
    return
  end
  for i = 1, #deleted do
    remove(tree, deleted[i])
  end
  for leaf, k in pairs(tree.read) do
    core.fill(k, leaf)
  end
  for i = 1, #added do
    local change = added[i]
    local module = tree.modules[change.module]
    local k = module and ks:lookup(change.module, change.instance, change.name)
    if k then
      add(tree, module, k)
    end
  end
end

return path
