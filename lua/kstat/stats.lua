--- Statsblobs: sums, extremes, histograms and t-digests of values, after FreeBSD's stats(3).
--
--     local stats = require("kstat.stats")
--     local tpl = stats.template("http")
--     tpl:add_voi(0, "rtt_us", "u64", { stats.sum(), stats.max(), stats.tdgstclust64(100, 4) })
--     local blob = tpl:blob()
--     blob:update(0, 1250)
--     print(blob:fetch(0, "SUM"), blob:quantile(0, 0.99))
--
-- A template says which statistics each value of interest (VOI) has; it lives as long as the
-- process and is shared by all Lua states in it. A blob is one set of data of a template: a
-- few hundred bytes that can be copied, merged and sent. Blobs are not locked: each belongs
-- to the state that made it.
--
-- Integers are Lua's: in Lua 5.3 and later exact to 64 bits, where an unsigned one from 2^63 on is negative to Lua
-- (`kstat.format_unsigned` prints it); in LuaJIT and Lua 5.1 exact to 2^53. Such values are given to an update as
-- floats (2^63 and above) or as LuaJIT's uint64_t: a negative number is never one of an unsigned type, for a time that
-- went backwards must not become a huge one.
--
-- What the world can cause is returned as nil, message, errno name; a caller's mistake (a
-- wrong type, a VOI that does not exist) is raised.
-- @module kstat.stats

--- What a constructor returns, for `template:add_voi`.
-- @table statistic

--- Which ends of a histogram are open, as a list of `stats.LBOUND_INF` and `stats.UBOUND_INF`, and `prec` (?integer):
-- how many fractional bits the bounds of fixed-point VOIs have.
-- @table flags

local core = require("kstat.core").stats
local usage = require("kstat.core").usage
local unknown = require("kstat.base.unknown")

local stats = {}

-- Constructors ------------------------------------------------------------------------

local function bad(i, name, expected, v)
  usage(("bad argument #%d to '%s' (%s expected, got %s)"):format(i, name, expected, type(v) == "number" and
    tostring(v) or type(v)))
end

local function number(v, i, name)
  if type(v) ~= "number" then bad(i, name, "number", v) end
  if v ~= v or v == math.huge or v == -math.huge then bad(i, name, "finite number", v) end
  return v
end

local MOST = 2 ^ 53 -- steps: exact in every Lua

-- A whole number of a range; its type may be either of Lua's.
local function whole(v, i, name, least, most)
  if type(v) ~= "number" then bad(i, name, "number", v) end
  if not (v >= least and v <= most) or v % 1 ~= 0 then
    bad(i, name, ("whole number from %d to %.0f"):format(least, most), v)
  end
  return v
end

-- A table of booleans, all of them known; nil: none.
local function flags_of(options, i, name, known)
  if options == nil then return {} end
  if type(options) ~= "table" then bad(i, name, "table", options) end
  for key, value in pairs(options) do
    if not known[key] then usage(unknown.word(("'%s': unknown option"):format(name), tostring(key), known)) end
    if type(value) ~= "boolean" then
      usage(("option '%s' of '%s': boolean expected, got %s"):format(key, name, type(value)))
    end
  end
  return options
end

-- Fractional bits of fixed-point values.
local function precision(v, i, name)
  return v ~= nil and whole(v, i, name, 0, 64) or nil
end

--- The sum of the values. It wraps as the VOI's type does; a fixed-point sum that would
-- overflow stays, and the update fails with EOVERFLOW.
-- @int[opt=16] prec fractional bits, 0 to 64; VOIs of fixed-point type only
-- @treturn statistic
function stats.sum(prec)
  prec = precision(prec, 1, "sum")
  return { stat = "SUM", prec = prec }
end

--- The greatest value.
-- @int[opt=16] prec as for `sum`
-- @treturn statistic
function stats.max(prec)
  prec = precision(prec, 1, "max")
  return { stat = "MAX", prec = prec }
end

--- The least value.
-- @int[opt=16] prec as for `sum`
-- @treturn statistic
function stats.min(prec)
  prec = precision(prec, 1, "min")
  return { stat = "MIN", prec = prec }
end

-- Flags of the histogram constructors.
stats.LBOUND_INF = "lbound_inf" -- one more bucket, below the first
stats.UBOUND_INF = "ubound_inf" -- one more bucket, above the last

-- Enters flags: one of the two, or a list of them; prec may follow in the table: { prec = 8 }.
local function with_flags(spec, flags, i, name)
  if type(flags) == "string" then flags = { flags } end
  if flags ~= nil and type(flags) ~= "table" then bad(i, name, "flag or table of flags", flags) end
  for key, f in pairs(flags or {}) do
    if key == "prec" then
      if type(f) ~= "number" or not (f >= 0 and f <= 64) or f % 1 ~= 0 then
        usage(("prec of '%s': whole number from 0 to 64 expected, got %s"):format(name, tostring(f)))
      end
      spec.prec = f
    elseif f ~= stats.LBOUND_INF and f ~= stats.UBOUND_INF then
      usage(unknown.word("unknown histogram flag", tostring(type(key) == "number" and f or key),
        { lbound_inf = true, ubound_inf = true, prec = true }))
    else
      spec[f] = true
    end
  end
end

-- Makes the constructor of a scheme: lb, ub, two or one steps by their names, flags.
local function scheme_of(scheme, first, second)
  return function(kind, name)
    return function(lb, ub, ...)
      local steps = second and 2 or 1
      local one, two = ...
      local spec = { stat = "HIST", hist = kind, scheme = scheme, lb = number(lb, 1, name), ub = number(ub, 2, name),
        [first] = whole(one, 3, name, 0, MOST) }
      if second then
        spec[second] = whole(two, 4, name, 0, MOST)
      end
      with_flags(spec, (select(steps + 1, ...)), 3 + steps, name)
      return spec
    end
  end
end

local lin = scheme_of("LIN", "stepinc")
local exp = scheme_of("EXP", "stepbase", "stepexp")
local linexp = scheme_of("LINEXP", "nlinsteps", "stepbase")

-- Buckets are numbers, or for discrete ranges pairs {lb, ub}.
local function usr(kind, name)
  local ranges = kind:find("^DR") ~= nil
  return function(buckets, flags)
    if type(buckets) ~= "table" then bad(1, name, "table of buckets", buckets) end
    local list = {}
    for i, b in ipairs(buckets) do
      local lb, ub = b, b
      if ranges then
        if type(b) ~= "table" then usage(("bucket %d of '%s': {lb, ub} expected"):format(i, name)) end
        lb, ub = b[1], b[2]
      end
      local fine = type(lb) == "number" and type(ub) == "number" and (not ranges or lb < ub)
      if not fine then
        usage(("bucket %d of '%s': %s expected"):format(i, name, ranges and "{lb, ub} with lb < ub" or "number"))
      end
      list[i] = { lb, ub }
    end
    local spec = { stat = "HIST", hist = kind, scheme = "USR", buckets = list }
    with_flags(spec, flags, 2, name)
    return spec
  end
end

--- Histograms of continuous ranges with 32-bit counts; the `64` forms have 64-bit ones.
-- Bounds start at `lb` and are generated as long as they are <= `ub`; each bucket counts the
-- values from its bound up to the next, the last those from there on. Values below `lb` are
-- counted out of bucket.
-- @function crhist32_lin
-- @number lb first bound
-- @number ub last possible bound
-- @int step width of a bucket
-- @tparam[opt] string|flags flags `stats.LBOUND_INF`, `stats.UBOUND_INF` or both in a list
-- @treturn statistic
-- @also crhist64_lin
stats.crhist32_lin = lin("CRHIST32", "crhist32_lin")
stats.crhist64_lin = lin("CRHIST64", "crhist64_lin")

--- Widths that grow: the i-th is base^(first + i).
-- @function crhist32_exp
-- @also crhist64_exp
-- @number lb
-- @number ub
-- @int base
-- @int first exponent of the first width
-- @tparam[opt] string|flags flags
-- @treturn statistic
stats.crhist32_exp = exp("CRHIST32", "crhist32_exp")
stats.crhist64_exp = exp("CRHIST64", "crhist64_exp")

--- Each power of `base` divided into `nlinsteps` buckets.
-- @function crhist32_linexp
-- @also crhist64_linexp
-- @number lb
-- @number ub
-- @int nlinsteps
-- @int base
-- @tparam[opt] string|flags flags
-- @treturn statistic
stats.crhist32_linexp = linexp("CRHIST32", "crhist32_linexp")
stats.crhist64_linexp = linexp("CRHIST64", "crhist64_linexp")

--- Buckets of one's own: cr: lower bounds, dv: single values. The last bucket that holds a value counts it.
-- @function crhist32_usr
-- @also crhist64_usr dvhist32_usr dvhist64_usr
-- @tparam {number,...} buckets
-- @tparam[opt] string|flags flags
-- @treturn statistic
stats.crhist32_usr = usr("CRHIST32", "crhist32_usr")
stats.crhist64_usr = usr("CRHIST64", "crhist64_usr")
--- Buckets of one's own as ranges {lb, ub}, ub excluded. The last bucket that holds a value counts it.
-- @function drhist32_usr
-- @also drhist64_usr
-- @tparam {{number,number},...} buckets
-- @tparam[opt] string|flags flags
-- @treturn statistic
stats.drhist32_usr = usr("DRHIST32", "drhist32_usr")
stats.drhist64_usr = usr("DRHIST64", "drhist64_usr")
stats.dvhist32_usr = usr("DVHIST32", "dvhist32_usr")
stats.dvhist64_usr = usr("DVHIST64", "dvhist64_usr")

local function tdgst(kind, name)
  return function(nctds, prec)
    nctds = whole(nctds, 1, name, 1, 65535)
    return { stat = "TDGST", tdgst = kind, nctds = nctds, prec = precision(prec, 2, name) or 10 }
  end
end

--- A t-digest: quantiles of any distribution, most exact in the upper tail: see `tdgst_error_bound`.
-- Fewer than about 10 centroids are of no use (1 or 2 answer every quantile with the mean); 100 is the usual choice.
-- With 100 centroids and 200,000 lognormal samples the rank was off by 0.002 % of the samples at p99, by 0.03 % at
-- p50 and by 0.005 % at p1.
-- Values have to be below 2^(60 - f) (tdgstclust32: 2^(28 - f)), where f is `prec` rounded up to 2, 4, 6, 8, 16, 32,
-- 48 or 60 (28): with 4 below 2^56 (2^24), with the default 10 below 2^44 (2^12). Others are "EOVERFLOW".
-- @function tdgstclust64
-- @also tdgstclust32
-- @int nctds centroids; 24 bytes each (tdgstclust32: 16 bytes, smaller range)
-- @int[opt=10] prec fractional bits of the means, 0 to 64
-- @treturn statistic
stats.tdgstclust64 = tdgst("TDGSTCLUST64", "tdgstclust64")
stats.tdgstclust32 = tdgst("TDGSTCLUST32", "tdgstclust32")

--- How far the rank of a digest's quantile may be from q at most, as a share of the samples; `blob:rank_error` is
-- that of one blob. `statsblob.h` has a table, and how the bound was found; mostly the error is a hundredth of it.
-- @int nctds centroids, 1 to 4094
-- @int samples the number of its samples, at most 2^53
-- @number q 0..1
-- @treturn number
function stats.tdgst_error_bound(nctds, samples, q)
  nctds = whole(nctds, 1, "tdgst_error_bound", 1, 4094)
  samples = whole(samples, 2, "tdgst_error_bound", 0, MOST)
  if type(q) ~= "number" or not (q >= 0 and q <= 1) then bad(3, "tdgst_error_bound", "number from 0 to 1", q) end
  return core.error_bound(nctds, samples, q)
end

-- Templates ---------------------------------------------------------------------------

local template = {}
template.__index = require("kstat.base.guess").within("a template", template)
template.__name = "kstat.template"

local dtypes = {}
for _, t in ipairs({ "S32", "U32", "S64", "U64", "SLONG", "ULONG" }) do
  dtypes[t:lower()] = "INT_" .. t
end
for _, t in ipairs({ "S32", "U32", "S64", "U64" }) do
  dtypes[t:sub(1, 1):lower() .. "q" .. t:sub(2)] = "Q_" .. t
end

local function is_template(t, name)
  if getmetatable(t) ~= template then
    usage(("calling '%s' on bad self (template expected, got %s)"):format(name, type(t)))
  end
  return t
end

local function wrap(slot, message, code)
  if not slot then return nil, message, code end
  local name = core.tpl_info(slot)
  return setmetatable({ slot = slot, name = name }, template)
end

--- A template: a new one, or the one of this name that the process has already, with its VOIs. Code that runs again in
-- a process, as `init_by_lua` does when nginx reloads, so declares its templates in the same words each time.
-- @string name at most 64 bytes, unique in the process; without a quote before a `:` or `=`
-- @treturn template with `name` (string): that given
-- @fails "EINVAL", "ENOMEM"
function stats.template(name)
  if type(name) ~= "string" then
    usage(("bad argument #1 to 'template' (string expected, got %s)"):format(type(name)))
  end
  return wrap(core.tpl_alloc(name))
end

--- The registered template that a spec names: "NAME":HASH, "NAME" or :HASH, quotes optional.
-- @string spec
-- @treturn template
-- @fails "ESRCH"
function stats.find(spec)
  if type(spec) ~= "string" then bad(1, "find", "string", spec) end
  return wrap(core.tpl_fetch(spec))
end

--- All registered templates, in the order in which they were made; `tostring` of one is its normative spec.
-- @treturn {template,...}
function stats.templates()
  local list = {}
  while core.tpl_info(#list) do
    list[#list + 1] = wrap(#list)
  end
  return list
end

--- Adds a value of interest. Blobs made before keep their form. Nothing happens if the template has this very VOI, with
-- the same statistics, already.
-- @int id 0 or more; small IDs make small blobs
-- @string name
-- @string dtype s32, u32, s64, u64, slong, ulong, or the fixed-point sq32, uq32, sq64, uq64
-- (also as `INT_S32` … `Q_U64`)
-- @tparam {statistic,...} list each made by a constructor above
-- @tparam[opt] table options `relupdate` (boolean): `blob:add` may be used
-- @treturn template itself
-- @fails "EINVAL", "EFBIG", "EOPNOTSUPP" (another VOI has the ID), "EEXIST" (another has the name), "ENOMEM"
function template:add_voi(id, name, dtype, list, options)
  is_template(self, "add_voi")
  id = whole(id, 1, "add_voi", 0, 32767)
  if type(name) ~= "string" then bad(2, "add_voi", "string", name) end
  if type(dtype) ~= "string" then bad(3, "add_voi", "string", dtype) end
  if type(list) ~= "table" then bad(4, "add_voi", "table of statistics", list) end
  if not dtypes[dtype] and not dtype:find("^%u") then
    usage(unknown.word("'add_voi': unknown type", dtype, dtypes))
  end
  local relupdate = flags_of(options, 5, "add_voi", { relupdate = true }).relupdate == true
  local ok, message, code = core.tpl_add(self.slot, id, name, dtypes[dtype] or dtype, list, relupdate)
  if not ok then return nil, message, code end
  return self
end

--- A new blob of this template.
-- @treturn blob
function template:blob()
  return core.blob(is_template(self, "blob").slot)
end

--- The hash of the blobs made from now on: name, VOIs and statistics.
-- @treturn integer
function template:hash()
  return (select(2, core.tpl_info(is_template(self, "hash").slot)))
end

--- The size of a blob in bytes.
-- @treturn integer
function template:size()
  return (select(3, core.tpl_info(is_template(self, "size").slot)))
end

function template:__tostring()
  return ('"%s":%.0f'):format(self.name, self:hash())
end

-- Blobs -------------------------------------------------------------------------------

local blob = core.methods
local metatable_of = debug.getmetatable

-- Raises at the caller's caller unless `self` is a blob.
local function is_blob(self, name)
  if metatable_of(self) ~= core.metatable then
    usage(("calling '%s' on bad self (blob expected, got %s)"):format(name, type(self)))
  end
  return self
end

--- A blob out of `blob:bytes()`, which may come from anywhere: it is checked completely.
-- @string s
-- @treturn blob
-- @fails "EINVAL" (not a blob, or not as its template makes them), "EOPNOTSUPP" (of a machine of the other byte order)
-- @function stats.from_bytes
stats.from_bytes = core.from_bytes

--- Feeds a value to all statistics of a VOI.
-- @function blob:update
-- @tparam integer|string id of the VOI
-- @number v a whole number for integer VOIs (in LuaJIT also an `int64_t` or `uint64_t`); fixed-point VOIs round to
-- their precision
-- @treturn boolean true
-- @fails "ERANGE" (not of the VOI's type, or no number; nothing was counted), "EOVERFLOW" (one statistic could not take
-- it, the others did)

--- Feeds the previous value plus `dv` (VOIs with `relupdate`).
-- @function blob:add
-- @tparam integer|string id
-- @number dv
-- @treturn boolean true
-- @fails as `update`

-- LuaJIT compiles calls through the FFI into its traces; a classic C function would end them.
local has_ffi, ffi = false, nil
if rawget(_G, "jit") then
  has_ffi, ffi = pcall(require, "ffi")
end
if has_ffi then
  local update_dbl = ffi.cast("int (*)(void *, int32_t, double, bool)", core.update_dbl)
  local update_int = ffi.cast("int (*)(void *, int32_t, int64_t, bool)", core.update_int)
  local update_uint = ffi.cast("int (*)(void *, int32_t, uint64_t, bool)", core.update_uint)
  local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")
  local metatable, EINVAL = core.metatable, core.EINVAL
  local getmt, type, tobit = debug.getmetatable, type, require("bit").tobit

  -- Off the trace: other numbers and errors. err: of the update, which is done once only, whatever came of it.
  local function other(self, id, v, rel, err)
    if not err then
      local name = rel and "add" or "update"
      id = type(id) == "string" and (tonumber(id) or self:id(id)) or id
      if type(id) ~= "number" then bad(1, name, "number", id) end
      if id % 1 ~= 0 then bad(1, name, "whole number", id) end
      if tobit(id) ~= id then id = -1 end
      if ffi.istype(uint64, v) then
        err = update_uint(self, id, v, rel)
      elseif ffi.istype(int64, v) then
        err = update_int(self, id, v, rel)
      else
        local n = type(v) ~= "cdata" and tonumber(v)
        if not n then bad(2, name, "number", v) end
        err = update_dbl(self, id, n, rel)
      end
    end
    if err == 0 then return true end
    if err == EINVAL and self:id(0) then usage("no such VOI, or not one for this update") end
    return self:failed(err)
  end

  local function answer(ok, message, code)
    if ok then return true end
    return nil, message, code
  end

  local function updater(rel)
    return function(self, id, v)
      if getmt(self) ~= metatable then usage("bad self (blob expected)") end
      local err
      if type(id) == "number" and tobit(id) == id and type(v) == "number" then
        err = update_dbl(self, id, v, rel)
        if err == 0 then return true end
      end
      return answer(other(self, id, v, rel, err))
    end
  end
  blob.update, blob.add = updater(false), updater(true)
end

--- A statistic's value.
-- @function blob:fetch
-- @tparam integer|string id
-- @tparam "SUM"|"MAX"|"MIN"|"HIST"|"TDGST"|"VOISTATE" stat "VOISTATE": the previous value
-- @treturn number|table|nil nil for a MAX or MIN that saw nothing; for HIST a list of {lb, ub, cnt} with the field oob
-- (the last continuous range has no ub); for TDGST a list of {mu, cnt} with the fields smplcnt, compcnt, maxctds
-- @treturn integer the number of failed updates
-- @fails "EINVAL"

--- The counts of a VOI's histogram alone, which is cheaper than `fetch`.
-- @function blob:counts
-- @tparam integer|string id
-- @treturn {integer,...} one for each bucket
-- @treturn integer the count of values that were in none
-- @fails "EINVAL"

--- Iterates: `for voi, stat, value, about in blob:visit() do`, by VOI and statistic. A MAX or MIN that
-- saw nothing has the value nil. `about` is what `stats_blob_visit()` says besides: `name` (?string) of the VOI, as far
-- as its template is in this process, `voi_type` and `type` (string), of the VOI and of the statistic (`"INT_U64"`,
-- `"CRHIST32"`), `size` (integer) in bytes, `errors` (integer), `flags` (integer, `SB_IT_*`).
-- @treturn fun():?integer,string,any,table
function blob:visit()
  local rows, i = is_blob(self, "visit"):rows(), -3
  return function()
    i = i + 4
    return rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
  end
end

--- The ID of a VOI. Every method that takes an ID takes its name as well, in capitals or small letters.
-- @tparam integer|string voi
-- @treturn integer
-- @raise the template, which has to be in this process, has no such name
-- @function blob:id

--- Ends the use of a blob, as `local blob <close>` does; its memory is Lua's. It may be called twice.
-- @function blob:close

--- A coherent copy.
-- @tparam[opt] table options `reset` (boolean): the statistics start again
-- @treturn blob
function blob:snapshot(options)
  return is_blob(self, "snapshot"):copy(flags_of(options, 1, "snapshot", { reset = true }).reset == true)
end

--- A copy.
-- @treturn blob
function blob:clone()
  return is_blob(self, "clone"):copy(false)
end

--- Adds another blob of the same template: sums, extremes, buckets, digests.
-- @function blob:merge
-- @tparam blob other
-- @treturn blob itself
-- @fails "EINVAL" (another template), "EOVERFLOW"

--- The value below which the share q of the samples lies, from the VOI's t-digest or else its
-- histogram; of a histogram also by how much it can be off at most (the width of what a bucket holds; math.huge
-- if that has no bound).
-- @function blob:quantile
-- @tparam integer|string id
-- @number q 0..1
-- @treturn number
-- @treturn ?number the bound of the error
-- @fails "ENOENT" (no samples), "EINVAL"

--- How far the rank of `quantile(id, q)` may be from q at most, as a share of the samples: with 0.001, what is
-- given for 0.99 lies between the 0.989 and the 0.991 quantile. Of VOIs with a t-digest; 0 while it is exact.
-- @function blob:rank_error
-- @tparam integer|string id
-- @number q 0..1
-- @treturn number
-- @fails "ENOENT" (no samples), "EINVAL" (no digest)

--- The share of samples at or below x.
-- @function blob:cdf
-- @tparam integer|string id
-- @number x
-- @treturn number
-- @fails

--- The number of samples in the VOI's digest or histogram.
-- @function blob:count
-- @tparam integer|string id
-- @treturn integer
-- @fails

--- The blob as text.
-- @tparam[opt="freeform"] "freeform"|"json" format
-- @tparam[opt] table options `meta` (boolean): names instead of numbers, needs the template in this process; `objdump`
-- (boolean): every internal
-- @treturn string
-- @fails "EINVAL" (no such template)
function blob:tostring(format, options)
  is_blob(self, "tostring")
  if format ~= nil and format ~= "freeform" and format ~= "json" then
    usage("bad argument #1 to 'tostring' (freeform or json expected)")
  end
  options = flags_of(options, 2, "tostring", { meta = true, objdump = true })
  return self:text(format == "json", options.objdump == true, options.meta == true)
end

--- One statistic as text, as `stats_voistatdata_tostr()` has it.
-- @tparam integer|string id
-- @tparam "SUM"|"MAX"|"MIN"|"HIST"|"TDGST"|"VOISTATE" stat
-- @tparam[opt="freeform"] "freeform"|"json" format
-- @treturn string
-- @fails "EINVAL"
function blob:stat_tostring(id, stat, format)
  is_blob(self, "stat_tostring")
  if format ~= nil and format ~= "freeform" and format ~= "json" then
    usage("bad argument #3 to 'stat_tostring' (freeform or json expected)")
  elseif id == nil then
    usage("bad argument #1 to 'stat_tostring' (integer or name expected, got nil)")
  end
  return self:text(format == "json", false, false, id, stat)
end

--- The blob's bytes, for `stats.from_bytes` here or elsewhere.
-- @treturn string
-- @function blob:bytes

--- The hash of the template it was made from.
-- @treturn integer
-- @function blob:hash

--- Clears all statistics.
-- @function blob:reset

-- Sampling ----------------------------------------------------------------------------

--- Reads a list of sampling rates: SPEC=PERCENT separated by commas, at most 100 together.
-- @string text
-- @treturn {{integer,integer},...} slots and percents, for `stats.roll`
-- @fails "EINVAL", "ESRCH"
-- @function stats.rates
stats.rates = core.rates

--- Selects a template by its rate.
-- @tparam {{integer,integer},...} rates slots and percents: each a registered template's slot and 0 to 100, together at
-- most 100
-- @string[opt] seed the same seed, the same choice. The hash is FreeBSD's, and weak: seeds of up to 4 bytes all choose
-- the first template with a rate above 0, and short texts are skewed (of the addresses of one network a rate of 1 %
-- gets from 0 to 17 %). At least 7 random bytes, or 8 constant ones behind any seed, make it even:
-- `stats.roll(rates, address .. "        ")`
-- @treturn template|nil nil: none this time
function stats.roll(rates, seed)
  if type(rates) ~= "table" then bad(1, "roll", "table of rates", rates) end
  if seed ~= nil and type(seed) ~= "string" then bad(2, "roll", "string", seed) end
  local slot = core.roll(rates, seed)
  return slot and wrap(slot)
end

return require("kstat.base.guess").within("kstat.stats", stats)
