--- The path of the Perl module: `ks.cpu_stat[0].cpu_stat0.intr`.
--
-- Every level is a table, made per module when the module is first named: instances, in them names, in them statistics,
-- with class, crtime and snaptime. The last, a leaf, is filled when its path first reaches it, so that `next`, encoders
-- of JSON and whoever copies tables find the statistics; it has the methods, fields and text of the kstat that `lookup`
-- finds, but a statistic of such a name comes first. Where `pairs` does not know `__pairs` (Lua 5.1, LuaJIT) all of a
-- module's are filled together.
--
-- Assignment is no way to write a statistic: k:write{} is. One to a new key raises, and so does one to a module or an
-- instance where `pairs` knows `__pairs`. One to a statistic that is there cannot be caught: the table is the script's
-- own, and no chain, sample or difference knows of it. The path mends it when it leads there again; in Lua 5.1 and
-- LuaJIT it stays until update() reads anew.
-- @module kstat.path
local core = require("kstat.core")

local path = {}

-- Whether pairs() obeys __pairs.
local obeys_pairs = false
for _ in pairs(setmetatable({}, { __pairs = function() return next, { true } end })) do
  obeys_pairs = true
end

local function refuse_assignment(_, key)
  core.usage(("statistics are read here: to write one, look up its kstat and call k:write{[%q] = value}"):format(
    tostring(key)))
end

-- Undoes what a script did to a leaf.
local function mend(held, leaf)
  for key in next, leaf do
    if held[key] == nil then
      leaf[key] = nil
    end
  end
  for key, value in next, held do
    if rawget(leaf, key) ~= value then
      rawset(leaf, key, value)
    end
  end
end

-- Makes a leaf say what its kstat does. Of a leaf that the path guards that is kept apart, in `held`.
local function fill(tree, leaf)
  local held = tree.held[leaf] or obeys_pairs and {} or leaf
  tree.held[leaf] = held
  if core.fill(tree.kstats[leaf], held) and held ~= leaf then
    mend(held, leaf)
  end
end

-- What a level of instances or names holds; only where pairs() obeys __pairs it is not in the table itself.
local function inside(tree, level)
  return tree.inside[level] or level
end

-- The tree of a chain, a sample or a difference. `kstats` maps leaves to their kstats, `held` those that were filled to
-- what is in them, `inside` levels to what is in them.
local function tree_of(object)
  local notes = core.notes(object)
  local tree = notes.tree
  if tree then
    return tree
  end
  tree = { modules = {}, kstats = setmetatable({}, { __mode = "k" }), held = {}, methods = {},
    inside = setmetatable({}, { __mode = "k" }) } -- what is gone goes as soon as no script refers to it
  notes.tree = tree

  local function reach(_, key, value)
    local held = tree.held[value]
    if held then
      mend(held, value)
    elseif tree.kstats[value] then
      fill(tree, value)
    end
    return key, value
  end
  tree.level_meta = {
    __index = function(level, key)
      local values = inside(tree, level)
      local number = type(key) == "string" and rawget(values, key) == nil and tonumber(key) -- ks.sd["0"] is ks.sd[0]
      local _, value = reach(level, key, rawget(values, number or key))
      return value
    end,
    __newindex = refuse_assignment,
    __pairs = function(level)
      return function(_, key)
        return reach(level, next(inside(tree, level), key))
      end, level, nil
    end,
  }
  tree.leaf_meta = {
    -- Methods are called with the leaf, and get its kstat.
    __index = function(leaf, key)
      local method = core.kstat_methods[key]
      if method and not tree.methods[key] then
        tree.methods[key] = function(self, ...) return method(tree.kstats[self] or self, ...) end
      end
      return method and tree.methods[key] or tree.kstats[leaf][key]
    end,
    __newindex = refuse_assignment,
    __tostring = function(leaf) return tostring(tree.kstats[leaf]) end,
    kstat = function(leaf) return tree.kstats[leaf] end, -- for the prompt
  }
  return tree
end

local function new_level(tree)
  local level = setmetatable({}, tree.level_meta)
  tree.inside[level] = obeys_pairs and {} or nil
  return level
end

local function add(tree, module, k)
  local instance, name = k.instance, k.name
  local names = rawget(inside(tree, module), instance)
  if not names then
    names = new_level(tree)
    rawset(inside(tree, module), instance, names)
  end
  if rawget(inside(tree, names), name) == nil then -- of several with one name the first counts, as it does to lookup()
    local leaf = setmetatable({}, tree.leaf_meta)
    tree.kstats[leaf] = k
    rawset(inside(tree, names), name, leaf)
    if not obeys_pairs then
      fill(tree, leaf)
    end
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
    core.usage(message)
  elseif not list or not list[1] then
    return nil
  end
  module = new_level(tree)
  for i = 1, #list do
    add(tree, module, list[i])
  end
  tree.modules[name] = module
  return module
end

local function remove(tree, change)
  local module = tree.modules[change.module]
  local names = module and rawget(inside(tree, module), change.instance)
  local leaf = names and rawget(inside(tree, names), change.name)
  if not leaf then
    return
  end
  tree.held[leaf] = nil
  rawset(inside(tree, names), change.name, nil)
  if not next(inside(tree, names)) then
    rawset(inside(tree, module), change.instance, nil)
  end
  if not next(inside(tree, module)) then
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
  for leaf in pairs(tree.held) do
    fill(tree, leaf)
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
