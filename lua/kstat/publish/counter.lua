--- Counters: objects that add to one statistic.
-- @submodule kstat.publish
local core = require("kstat.core").publish
local check = require("kstat.publish.check")
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
-- cannot use. The functions of the C half call this too.
local function refuse(name, is_self, value, real)
  local n = tonumber(value) -- nil for cdata that is no number
  local why = "number out of range"
  if not is_self then
    check.usage("calling '%s' on bad self (it is called as counter:%s(...))", name, name)
  elseif not n then
    why = "number expected, got " .. type(value)
  elseif not real and n % 1 ~= 0 then
    why = "number has no integer representation"
  end
  check.usage("bad argument #1 to '%s' (%s)", name, why)
end

local LEAST, SIGNED_END, UNSIGNED_END = -2 ^ 63, 2 ^ 63, 2 ^ 64

-- Converts a value that is not a whole number of 64 bits with a sign, and not nil.
local function convert(value, name)
  local n = tonumber(value)
  if type(value) == "cdata" and (library.is_int64(value) or library.is_uint64(value)) then
    return value
  elseif not (n and n % 1 == 0 and n >= LEAST and n < UNSIGNED_END) then
    refuse(name, true, value)
  end
  return n >= SIGNED_END and library.unsigned(n) or n
end

--- Adds to the statistic, to one of floating point also fractions and what is negative. In LuaJIT this is a plain
-- addition in memory that belongs to this thread alone, if the statistic is a counter and the kstat has shards; else an
-- atomic one.
-- @number[opt=1] n to a whole statistic: fractions raise, and what is no number or not within -2^63 and 2^64 - 1
-- @function counter:add
function counter_methods.add(self, n)
  -- All of this is known to LuaJIT once it has compiled the caller.
  if getmetatable(self) ~= counter_meta then
    refuse("add")
  end
  if n ~= nil and not (type(n) == "number" and n % 1 == 0 and n >= LEAST and n < SIGNED_END) then
    n = convert(n, "add")
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
end

--- Sets the statistic; only for gauges, and for counters of a kstat without shards.
-- @number value
-- @function counter:set
function counter_methods.set(self, value)
  if getmetatable(self) ~= counter_meta then
    refuse("set")
  end
  if self.real then
    self.real[0] = tonumber(value) or refuse("set", true, value, true)
  else
    if not (type(value) == "number" and value % 1 == 0 and value >= LEAST and value < SIGNED_END) then
      value = convert(value, "set")
    end
    self.cell[0] = value
  end
end

--- Sets the statistic if the value is greater than it.
-- @int value
-- @function counter:max
function counter_methods.max(self, value)
  if getmetatable(self) ~= counter_meta then
    refuse("max")
  end
  if not (type(value) == "number" and value % 1 == 0 and value >= LEAST and value < SIGNED_END) then
    value = convert(value, "max")
  end
  fn.max(self.cell, value)
end

local function refuse_set()
  check.usage("a counter with shards is the sum of its parts: it can only be added to")
end

local function refuse_max()
  check.usage("a floating-point statistic cannot be raised: it can be set and added to")
end

-- Of a floating-point statistic, where LuaJIT calls the library.
local function add_real(self, n)
  if getmetatable(self) ~= counter_meta then
    refuse("add")
  end
  fn.add_double(self.cell, n == nil and 1 or tonumber(n) or refuse("add", true, n, true))
end

-- The counter of a statistic of a named kstat.
local function new_counter(k, statistic)
  local stat = k.types[statistic]
  if not stat then
    check.usage("%s", require("kstat.unknown").word(tostring(k) .. " has no statistic", statistic, k.types))
  elseif not stat.number then
    check.usage("%s is not a number", statistic)
  end
  local real = stat.type == "double" or stat.type == "float"
  local counter = setmetatable({ kstat = k, statistic = statistic }, counter_meta)
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
    local add, set_value, max = core.counter(k.box, statistic, real, counter, refuse)
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
