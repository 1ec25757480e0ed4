--- kstat: the counters of the machine, typed and named as Solaris and illumos have them.
--
--     local kstat = require("kstat")
--     local ks = assert(kstat.open())
--     print(ks.unix[0].system_misc.ncpus)
--     for k, stat, value in ks:values("cpu_stat:::/^intr/") do print(k, stat, value) end
--
-- Times are seconds, as the Perl module gave them; names that end in `_ns` and `k:ns()` give exact
-- nanoseconds. Integers are exact in Lua 5.3 and later: an unsigned one above 2^63 - 1 keeps its
-- 64 bits and is negative to Lua (`kstat.format_unsigned` prints it). In LuaJIT and Lua 5.1 numbers
-- are exact to 2^53; `k:exact()` is always exact.
-- What the world causes is returned as nil, message, name of errno ("ENOENT"); mistakes of the
-- caller raise an error. So does a field of this module or its parts that is not there but is spelt like one that is:
-- `kstat.opne`. To ask whether an older version has a function, `rawget(kstat, "name")` never raises.
-- @module kstat
local chain = require("kstat.read.chain")
local core = require("kstat.core")
local every = require("kstat.read.every")
local selector = require("kstat.read.selector")
require("kstat.read.kstat")

local kstat = {
  _VERSION = "kstat " .. core.version,
}

kstat.open = chain.open

--- Compiles a selector, see kstat.selector.
-- @tparam spec spec
-- @treturn selector
-- @fails "EINVAL": the message points into the expression
function kstat.selector(spec)
  return selector.compile(spec)
end

kstat.every = every.every

--- Answers the options of a script that has none: `--help` and `-h` print the usage on standard output; for any
-- other, and for operands if the script takes none, one line is printed on standard error.
-- @tparam {string,...} arg the script's arguments, with its name at 0
-- @string arguments what it takes: "[interval [count]]" if there are no other operands
-- @treturn nil go on
-- @treturn[2] integer the exit status to return: 0, or 2 for a mistake
-- @usage local status = kstat.usage(arg, "[interval [count]]")
-- if status then return status end
function kstat.usage(arg, arguments)
  if type(arg) ~= "table" then
    core.usage("bad argument #1 to 'usage' (table expected, got " .. type(arg) .. ")")
  end
  return require("kstat.base.options").usage(arg, arguments)
end

--- Nanoseconds of a clock that never steps back; zero is near boot. crtime and snaptime are on it.
-- @treturn integer
-- @function kstat.gethrtime
kstat.gethrtime = core.gethrtime

--- The same in seconds.
-- @treturn number
-- @function kstat.hrtime
kstat.hrtime = core.hrtime

--- A number's shortest text: the digits of an integer, "3" for 3.0. Exact values of LuaJIT are
-- printed without their suffix.
-- @tparam number|cdata value
-- @treturn string
function kstat.tostring(value)
  if type(value) == "number" then
    return core.tostring(value)
  end
  return (tostring(value):gsub("U?LL$", ""))
end

--- The same, taking an integer's 64 bits as unsigned: for uint64 values above 2^63 - 1.
-- @tparam number|cdata value
-- @treturn string
function kstat.format_unsigned(value)
  if type(value) == "number" then
    return core.format_unsigned(value)
  end
  return kstat.tostring(value)
end

local metatables = {
  chain = core.chain_meta,
  closed = core.chain_meta,
  sample = core.sample_meta,
  difference = core.difference_meta,
  kstat = core.kstat_meta,
}

--- As `pairs`, also for the modules of a chain, a sample or a difference, and for the statistics of a kstat, in Lua 5.1
-- and LuaJIT, where `pairs` takes tables only.
-- @param x
-- @treturn function,any,any what `for` takes
function kstat.pairs(x)
  local meta = metatables[core.kind(x)]
  if meta then
    return meta.__pairs(x)
  elseif type(x) ~= "table" and type(x) ~= "userdata" then
    core.usage("bad argument #1 to 'pairs' (table expected, got " .. type(x) .. ")")
  end
  return pairs(x)
end

--- What an object of this module is: "chain", "sample", "difference", "kstat", "selector",
-- "distribution", or "closed": a chain that was closed, or a kstat of one.
-- @param x anything
-- @treturn string|nil nil for anything else
-- @function kstat.type
kstat.type = core.kind

--- The format of metrics that a client of HTTP wants, see `ks:exposition`.
-- @string[opt] accept the header Accept of its request
-- @treturn metrics_format
-- @treturn string the media type, for the header Content-Type of the answer
-- @function kstat.exposition_format
kstat.exposition_format = core.exposition_format

function kstat.publish(name, options)
  return require("kstat.publish").publish(name, options)
end

function kstat.gc(persistent)
  return require("kstat.publish").gc(persistent)
end

--- Parts that are loaded when they are first used: `kstat.report` (see kstat.report), `kstat.aggregate`,
-- `kstat.io`, `kstat.histogram`, `kstat.recording`, `kstat.picture`, `kstat.format`, `kstat.stats`,
-- `kstat.devstat`; and `kstat.publish` and `kstat.gc` (see kstat.publish).
-- @section parts
local parts = {
  io = true, report = true, aggregate = true, recording = true, picture = true, format = true, stats = true,
  devstat = true, histogram = true,
}

local absent -- of a field that is not there: made when one is first read

return setmetatable(kstat, {
  __index = function(self, name)
    if parts[name] then
      self[name] = require("kstat." .. name)
      return rawget(self, name)
    end
    absent = absent or require("kstat.base.guess").index("kstat", kstat, parts, 2)
    return (absent(self, name)) -- no tail call: the error is to name the caller's line
  end,
})
