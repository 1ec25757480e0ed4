--- Counters: objects that add to one statistic.
-- @submodule kstat.publish
local check = require("kstat.publish.check")
local core = require("kstat.core").publish
local library = require("kstat.publish.library")

local fn, forks = library.fn, library.forks

local counter_methods = {}
local counter_meta = { __index = counter_methods, __name = "kstat.counter" }

-- This thread's own part of the number, or the number itself, which others change too.
local function find_cell(self)
  local cell, own = core.cell(self.kstat.box, self.statistic, true)
  if cell then
    self.cell = library.integer(cell)
    self.own = own
  end
  self.forks = forks[0]
end

-- Raises the caller's mistake: the function was called with a dot in the place of the colon, or with a value that it
-- cannot use.
local function mistake(name, is_self, value)
  local n = type(value) ~= "cdata" and tonumber(value)
  local why = "number out of range"
  if not is_self then
    check.usage("calling '%s' on bad self (it is called as counter:%s(...))", name, name)
  elseif not n then
    why = "number expected, got " .. type(value)
  elseif n % 1 ~= 0 then
    why = "number has no integer representation"
  end
  check.usage("bad argument #1 to '%s' (%s)", name, why)
end

local LEAST, SIGNED_END, UNSIGNED_END = -2 ^ 63, 2 ^ 63, 2 ^ 64

-- Looks at a value of which the fast ways do not know whether the statistic can take it. Returns it as a number or as
-- LuaJIT's integer; or nil, message, errno: a counter would fall, or the value is not of its type. The functions of
-- the C half call this too.
local function examine(self, name, value, is_self)
  if is_self == false then
    mistake(name)
  end
  local n, size
  local real = self.real
  if type(value) == "cdata" and (library.is_int64(value) or library.is_uint64(value)) then
    -- As a number it could be rounded up to what is no number of 64 bits.
    size = math.min(tonumber(value), library.is_int64(value) and SIGNED_END - 1024 or UNSIGNED_END - 2048)
    n = real and size or value
  else
    size = type(value) ~= "cdata" and tonumber(value)
    if not size or not real and not (size % 1 == 0 and size >= LEAST and size < UNSIGNED_END) then
      mistake(name, true, value)
    end
    n = not real and size >= SIGNED_END and library.unsigned and library.unsigned(size) or size
  end
  local falls = self.counts and (size < 0 or size ~= size or size == math.huge)
  if falls or not real and (size < (name == "add" and LEAST or self.least) or
    name ~= "add" and size >= self.ending) then
    local what = tostring(self.kstat) .. ":" .. self.statistic
    local line = "%s counts from 0 on and never falls: %s is no step of it (kind = \"gauge\" declares what may fall)"
    if falls then
      return nil, line:format(what, tostring(value)), "EINVAL"
    end
    return nil, check.not_of_type(what, self.type, value)
  end
  return n
end

--- Adds to the statistic, to a gauge also what is negative, to one of floating point also fractions. In LuaJIT this is
-- a plain addition in memory that belongs to this thread alone, if the statistic is a counter and the kstat has
-- shards; else an atomic one.
-- @number[opt=1] n to a whole statistic: fractions raise, and what is no number or not within -2^63 and 2^64 - 1
-- @treturn boolean true
-- @fails "EINVAL" a counter would fall
-- @function counter:add
function counter_methods.add(self, n)
  -- All of this is known to LuaJIT once it has compiled the caller.
  if getmetatable(self) ~= counter_meta then
    mistake("add")
  end
  if n ~= nil and not (type(n) == "number" and n % 1 == 0 and n >= self.step and n < SIGNED_END) then
    local message, errname
    n, message, errname = examine(self, "add", n)
    if n == nil then
      return nil, message, errname
    end
  end
  if forks[0] ~= self.forks then
    find_cell(self)
  end
  if self.own then
    local cell = self.cell
    cell[0] = cell[0] + (n or 1)
  else
    fn.add(self.cell, n or 1)
  end
  return true
end

-- A method that changes the statistic by a value that it can take.
local function changing(name, apply)
  return function(self, value)
    if getmetatable(self) ~= counter_meta then
      mistake(name)
    end
    local n, message, errname = examine(self, name, value == nil and name == "add" and 1 or value)
    if n == nil then
      return nil, message, errname
    end
    apply(self, n)
    return true
  end
end

--- Sets the statistic; only for gauges, and for counters of a kstat without shards.
-- @number value
-- @treturn boolean true
-- @fails "EINVAL" it is not of the statistic's type: what has a sign is declared with `type = "int64"`
-- @function counter:set
counter_methods.set = changing("set", function(self, value) (self.real or self.cell)[0] = value end)

--- Sets the statistic if the value is greater than it.
-- @int value
-- @treturn boolean true
-- @fails "EINVAL" as `set`
-- @function counter:max
counter_methods.max = changing("max", function(self, value) fn.max(self.cell, value) end)

local function refuse_set()
  check.usage("a counter with shards is the sum of its parts: it can only be added to")
end

local function refuse_max()
  check.usage("a floating-point statistic cannot be raised: it can be set and added to")
end

-- Of a floating-point statistic, where LuaJIT calls the library.
local add_real = changing("add", function(self, n) fn.add_double(self.cell, n) end)

-- The counter of a statistic of a named kstat.
local function new_counter(k, statistic)
  local stat = k.types[statistic]
  if not stat then
    check.usage("%s", require("kstat.base.unknown").word(tostring(k) .. " has no statistic", statistic, k.types))
  elseif not stat.number then
    check.usage("%s is not a number", statistic)
  end
  local real = stat.type == "double" or stat.type == "float"
  local counter = setmetatable({ kstat = k, statistic = statistic, counts = stat.counts, real = real,
    step = stat.counts and 0 or LEAST }, counter_meta)
  if not real then
    counter.type, counter.least, counter.ending = stat.type, check.ranges[stat.type][1], check.ranges[stat.type][2]
  end
  if fn then
    local cell, message, errname = core.cell(k.box, statistic, true)
    if not cell then
      return nil, message, errname
    end
    find_cell(counter)
    if real then
      counter.real = library.double(counter.cell)
    end
  else
    local add, set_value, max = core.counter(k.box, statistic, real, counter, examine)
    if not add then
      return nil, set_value, max
    end
    counter.add, counter.set, counter.max = add, set_value, max
  end
  if stat.sharded then
    counter.set, counter.max = refuse_set, refuse_set
  elseif real then
    counter.add, counter.max = fn and add_real or counter.add, refuse_max
  end
  return counter
end

return { new = new_counter }
