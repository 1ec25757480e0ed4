--- One kstat: of a chain, a sample, or the difference of two samples.
--
-- A kstat of a chain stays valid through updates. It is read when it is first asked for a value, and
-- again by `ks:update()`. When it is gone its fields remain, and methods return nil, message,
-- "ENXIO".
-- @module kstat.kstat

--- `k.nread` is the statistic of that name, as `k:get("nread")` has it; methods and the fields below come first, and
-- `k:get("name")` finds a statistic of such a name. Of a mistyped one a line on
-- standard error says what was probably meant.
--
-- Fields of a kstat: `module` (string): the driver or subsystem, `instance` (integer): its number, `name` (string):
-- its own name, `class` (string): of kstats of one kind, `type` ("raw"|"named"|"intr"|"io"|"timer"): how its data are
-- laid out, `crtime` (number): when it was created, in seconds, `snaptime` (?number): when it was read, in seconds;
-- nil before the first read, `crtime_ns` (integer) and `snaptime_ns` (?integer): the same in exact nanoseconds,
-- `writable` (boolean): whether `k:write` may be used; `kid`, `flags` and `ndata` (integer): those of the header, as C
-- has it: its number in the chain, `KSTAT_FLAG_*`, how many records or bytes; `publisher` (?string), the name of the
-- publication that it belongs to (kstat_publish), `publisher_uid` (?integer), the number of the user who owns that,
-- and `publisher_pid` (?integer), the process that opened it, while the chain has the kstat: nil for kstats of the
-- machine, and of older recordings. `tostring(k)` is "module:instance:name". In a recording of several machines
-- (kstatlua convert) each kstat has the statistic `host`. In a difference also `elapsed` (?number) and `elapsed_ns`
-- (?integer): between the two snaptimes, in seconds and in nanoseconds, and `reset` (?boolean), true if the kstat was
-- created anew in between and counts from then.
-- @table kstat

local core = require("kstat.core")

local kstat = {}

local methods = core.kstat_methods

--- One statistic, or several at once; "class", "crtime" and "snaptime" count as such. Times are seconds, arrays tables.
-- @string statistic
-- @param ... further ones
-- @treturn ?value nil if there is no such statistic
-- @fails if the kstat cannot be read
-- @function k:get

--- All statistics as a new table, with class, crtime and snaptime.
-- @treturn {[string]=value}
-- @fails
-- @function k:data

--- Reads the kstat now.
-- @treturn kstat itself
-- @fails
-- @function k:read

--- One statistic, exact: integers as integers in Lua 5.3 and later, as `int64_t` or `uint64_t` cdata in
-- LuaJIT, as decimal digits in Lua 5.1 and 5.2; times in nanoseconds. All else is as get() has it.
-- @string statistic
-- @treturn ?value
-- @fails
-- @function k:exact

--- A time in nanoseconds: crtime, snaptime and the times of I/O and timer kstats.
-- @string statistic
-- @treturn ?integer nil if there is no such statistic
-- @fails "EINVAL" if it is not a time
-- @function k:ns

--- One statistic as kstat(8) prints it.
-- @string statistic
-- @treturn ?string nil if there is no such statistic
-- @fails
-- @function k:text

--- The bytes of a RAW kstat, as C programs get them. One whose layout is not known is found by `ks:lookup` alone, as
-- kstat(8) does not show it.
-- @treturn string
-- @fails "EINVAL" it is of another type, or its bytes are not known
-- @function k:bytes

--- What a histogram kstat, or a VOI of a statsblob, counted: in a difference in between, else since creation.
-- @string[opt] voi the name of the VOI; of a digest it is what was since creation, always
-- @treturn distribution see kstat.histogram
-- @fails "EINVAL" if it is no histogram, "ENOENT": no such VOI, or one without histogram and digest
-- @usage local d = assert(h:distribution()) -- h: a published histogram
-- print(d.count, d:quantile(0.5, 0.99))
-- @function k:distribution

--- What a statistic means.
-- @string statistic
-- @treturn table|nil `kind` ("counter"|"gauge"|"text"|"time"): of its values, `type` (string: what it measures:
-- "bytes", "duration", …), `unit` (string: "ns", "pages", "" for a plain count), `scale` (number, by which the stored
-- value is multiplied to be in the base unit), `description` (string); nil if nothing is known
-- @function k:meta

--- Gives statistics new values, all or none, as far as kstat_write() lets.
-- @tparam {[string]=number|string} values
-- @treturn kstat itself
-- @fails "EACCES" not writable, "ENOENT" no such statistic, "ERANGE" does
-- not fit, "EINVAL" wrong kind of value, or a string that its publisher left no room for. Strings of a C provider
-- in this process, and of a file that another user owns, are not writable
-- @function k:write

--- In a difference: change per second of `k.elapsed`. Times change in seconds; a gauge may fall.
-- @string statistic
-- @param ... further ones
-- @treturn number|nil a rate for each; nil if there is no such number or no time went by
-- @usage for _, k in ipairs(d:select("cpu::vm")) do print(k, k:rate("hat_fault", "as_fault")) end
-- @function k:rate

--- In a difference: the kstat as it is in the later sample; `k:before()` as in the earlier, nil if
-- everything since creation counts.
-- @treturn ?kstat
-- @function k:now
-- @also k:before

local told = {} -- names that nothing has, by module

function core.kstat_hooks.missing(k, name)
  local id = k.module .. ":" .. name
  if not told[id] and not methods.meta(k, name) then
    told[id] = true
    local line = require("kstat.base.unknown").statistic(k, name)
    if line then
      core.tell(line, false)
    end
  end
end

local function check(k, method)
  local kind = core.kind(k)
  if kind == "closed" then
    core.usage("the kstat chain is closed")
  elseif kind ~= "kstat" then
    core.usage(("calling '%s' on bad self (kstat expected, got %s)"):format(method, kind or type(k)))
  end
end

-- pairs(k), as pairs() of Lua 5.2 and later and kstat.pairs() see it: what k:data() has.
function core.kstat_meta.__pairs(k)
  local data, message = methods.data(k)
  return next, data or core.usage(message), nil
end

--- Iterates over the statistics in the order in which they are stored, without class and times.
-- @treturn fun():?string,value an iterator that yields statistic, value
-- @raise if the kstat cannot be read
-- @usage for stat, value in k:stats() do print(stat, value) end
-- @function k:stats
function methods.stats(k)
  check(k, "stats")
  local names, values = {}, {}
  local n, message = core.list(k, names, values)
  if not n then
    core.usage(message)
  end
  local i = 0
  return function()
    i = i + 1
    if i <= n then
      return names[i], values[i]
    end
  end
end

--- The statsblob of a kstat that is one (`pub:blob`), as it is when it is read, with all that `kstat.stats` can ask it.
-- @treturn stats.blob
-- @treturn {[string]=integer} the IDs of its VOIs by name
-- @fails "EINVAL" not a statsblob, "ENODATA" a JSON capture does not have it
-- @usage local blob, id = k:blob(); print(blob:cdf(id.rtt, 1000))
-- @function k:blob
function methods.blob(k)
  check(k, "blob")
  local bytes, ids, errname = core.blob(k)
  if not bytes then
    return nil, ids, errname
  end
  local blob, message
  blob, message, errname = require("kstat.stats").from_bytes(bytes)
  if not blob then
    return nil, message, errname
  end
  return blob, ids
end

-- LuaJIT has exact integers of its own.
local has_ffi, ffi = false, nil
if rawget(_G, "jit") then
  has_ffi, ffi = pcall(require, "ffi")
end
if has_ffi then
  local uint64, int64 = ffi.typeof("uint64_t"), ffi.typeof("int64_t")
  local high = uint64(2 ^ 32)

  function methods.exact(k, statistic)
    check(k, "exact")
    if type(statistic) ~= "string" then
      core.usage("bad argument #1 to 'exact' (string expected, got " .. type(statistic) .. ")")
    end
    local upper, lower, signed = core.halves(k, statistic)
    if upper == nil and lower then
      return nil, lower, signed -- message, errno name
    elseif type(lower) ~= "number" then
      return upper
    end
    local bits = uint64(upper) * high + uint64(lower)
    return signed and ffi.cast(int64, bits) or bits
  end
end

return kstat
