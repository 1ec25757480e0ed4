--- What chains, samples and differences have in common: finding kstats in them.
--
-- `x` stands for a chain (`kstat.open`), a sample (`ks:sample`, `kstat.every`) or the difference of
-- two samples (`now - prev`). They all are used alike:
--
--     x:lookup("sd", 0, "sd0")        one kstat; nil matches any; nil, message, ENOENT: there is none
--     x:select("sd:::", …)            an array of kstats, in the order of kstat(8)
--     for k in x:each("sd:::") do     the same as a loop
--     for k, statistic, value in x:values("sd:::/^n/") do
--     x.sd[0].sd0.nread               see kstat.path
--
-- Of what is listed only for those who ask, such as `{ class = "process" }`, a chain looks for what a selector, or the
-- module of `lookup`, is the first to spell out, and has it from then on.
-- A sample of `kstat.every` raises if it is asked, after its tick, for a kstat that was not read during the tick.
-- Methods and fields come before modules of the same name: `x:module("select")` is the module's.
-- @module kstat.object
local core = require("kstat.core")
local path = require("kstat.read.path")
local selector = require("kstat.read.selector")
require("kstat.base.mistake")

local object = {}

-- Raises at the caller's caller unless x is of the kind that the method belongs to.
local function check(x, kind, name)
  local is = core.kind(x)
  if is == kind then
    return
  elseif is == "closed" then
    core.usage("the kstat chain is closed")
  end
  core.usage(("calling '%s' on bad self (%s expected, got %s)"):format(name, kind, is or type(x)))
end
object.check = check

--- An array of kstats, in the order of kstat(8): module and name without case, instance by number.
-- @tparam spec ... selectors (see kstat.selector); a kstat that several match comes once; none: everything
-- @treturn {kstat,...} perhaps empty
-- @fails on a bad selector
-- @function x:select

--- Iterates over the kstats that `select` finds.
-- @tparam spec ... selectors
-- @treturn fun():?kstat an iterator that yields each kstat
-- @raise on a bad selector
-- @function x:each

--- Iterates over statistics: exactly those, and in the order, that `kstat -p` prints for a selector,
-- class, crtime and snaptime among them. A kstat that cannot be read has class and crtime.
-- @tparam spec ... selectors; a statistic comes once if any of them matches it
-- @treturn fun():?kstat,string,value an iterator that yields kstat, statistic, value
-- @raise on a bad selector
-- @usage for k, stat, value in ks:values("cpu_stat:::/^intr/") do print(k, stat, value) end
-- @function x:values

--- Names of the modules, sorted by bytes.
-- @treturn {string,...}
-- @function x:modules

--- The first level of the path: `x:module("sd")` is `x.sd`, whatever the module is called.
-- @string name
-- @treturn {[integer]={[string]={[string]=value}}}|nil instances, see kstat.path
-- @function x:module

-- Lets a chain have what a selector is the first to ask for, such as processes. Returns whether kstats came or went.
local function want(ks, sel)
  local notes, fields = core.notes(ks), sel:fields()
  local id = table.concat({ fields.module, fields.instance, fields.name, fields.class }, "\0")
  notes.wanted = notes.wanted or {}
  if notes.wanted[id] then
    return false
  end
  notes.wanted[id] = true
  local added, deleted = core.want(ks, sel)
  if added then
    notes.wanted[fields.module] = true
    path.update(ks, added, deleted)
  end
  return added ~= nil
end

--- Compiles the selectors that are given to a method, and lets a chain have what they are the first to ask for.
-- @param x
-- @param ... selectors
-- @return as selector.list()
function object.selectors(x, ...)
  local list, message, errname = selector.list(...)
  for i = 1, list and core.kind(x) == "chain" and #list or 0 do
    want(x, list[i])
  end
  return list, message, errname
end

-- The same for what is looked for by its name.
local function want_named(ks, module, instance)
  if type(module) ~= "string" or core.lookup(ks, module) and not (core.notes(ks).wanted or {})[module] then
    return false
  end
  local sel = core.selector({ module = module, instance = instance and core.tostring(instance) })
  return sel and want(ks, sel)
end

-- The Lua methods of one kind of object: "chain", "sample" or "difference".
function object.methods(kind)
  local methods = { lookup = core.lookup }

  if kind == "chain" then
    function methods.lookup(self, module, instance, name)
      local k = core.lookup(self, module, instance, name)
      if not k then
        want_named(self, module, instance)
        return core.lookup(self, module, instance, name)
      end
      return k
    end
  end

  function methods.select(self, ...)
    check(self, kind, "select")
    local list, message, errname = object.selectors(self, ...)
    if list == false then
      return nil, message, errname
    end
    local kstats
    kstats, message, errname = core.select(self, list)
    if kstats == false then
      core.usage(message)
    end
    return kstats, message, errname
  end

  -- For the iterators, which can only raise.
  local function found(self, ...)
    local list, message = object.selectors(self, ...)
    if list == false then
      core.usage(message)
    end
    local kstats
    kstats, message = core.select(self, list)
    if not kstats then
      core.usage(message)
    end
    return kstats, list
  end

  function methods.each(self, ...)
    check(self, kind, "each")
    local kstats = found(self, ...)
    local i = 0
    return function()
      i = i + 1
      return kstats[i]
    end
  end

  function methods.values(self, ...)
    check(self, kind, "values")
    local kstats, list = found(self, ...)
    local names, values = {}, {}
    local at, i, n = 0, 0, 0
    return function()
      i = i + 1
      while i > n do
        at = at + 1
        if not kstats[at] then
          return nil
        end
        i, n = 1, core.collect(kstats[at], list, names, values)
      end
      return kstats[at], names[i], values[i]
    end
  end

  function methods.modules(self)
    check(self, kind, "modules")
    local list = {}
    for name in pairs(core.names(self)) do
      list[#list + 1] = name
    end
    table.sort(list)
    return list
  end

  function methods.module(self, name)
    check(self, kind, "module")
    if type(name) ~= "string" then
      core.usage("bad argument #1 to 'module' (string expected, got " .. type(name) .. ")")
    end
    return (path.module(self, name, core.members)) -- no tail call: an error is to name the caller's line
  end

  return methods
end

-- Completes the metatable: methods, then fields (functions of the object), then modules.
function object.install(meta, kind, methods, fields)
  meta.methods, meta.fields = methods, fields -- what the prompt completes
  function meta.__index(self, key)
    local found = methods[key]
    if found ~= nil then
      return found
    end
    found = fields[key]
    if found then
      return found(self)
    elseif type(key) ~= "string" then
      return nil
    end
    check(self, kind, key)
    return (path.module(self, key, core.members))
  end

  function meta.__newindex(_, key)
    core.usage(("a kstat %s has no field '%s' to set"):format(kind, tostring(key)))
  end

  -- Modules by name, as pairs() of Lua 5.2 and later and kstat.pairs() see them.
  function meta.__pairs(self)
    local names = methods.modules(self)
    local i = 0
    return function()
      local module
      repeat
        i = i + 1
        module = names[i] and path.module(self, names[i], core.members)
      until module or i > #names
      return names[i], module
    end
  end
end

return object
