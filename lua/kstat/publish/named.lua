--- Published kstats of named numbers and texts, and of interrupts.
-- @submodule kstat.publish
local core = require("kstat.core").publish
local check = require("kstat.publish.check")
local counters = require("kstat.publish.counter")
local library = require("kstat.publish.library")
local object = require("kstat.publish.object")

local SHARDS = 32
local WHOLE = { int32 = true, uint32 = true, int64 = true, uint64 = true }
local REAL = { float = true, double = true }
local TEXT = { string = true, ints = true, strs = true }
local intr_names = { "hard", "soft", "watchdog", "spurious", "multiple_service" }

local M = {}

local named_methods = {}

-- A number, or a text of the type "char", of a statistic of that type; nil, message, errno if it is none.
local function number_of(data_type, value, name)
  if data_type == "char" then
    return value
  end
  value = (REAL[data_type] and check.number or check.integer)(value, "value of " .. name)
  local range = check.ranges[data_type]
  if range and (value < range[1] or value >= range[2]) then
    return nil, check.not_of_type(name, data_type, value)
  end
  return value
end

-- The counter of a statistic, of a kstat of either kind.
local function counter_of(self, statistic)
  local counter = self.counters[statistic]
  if not counter then
    local message, errname
    counter, message, errname = counters.new(self, statistic)
    if not counter then
      return nil, message, errname
    end
    self.counters[statistic] = counter
  end
  return counter
end

--- An object whose `add` is as cheap as the language allows: get it once, keep it in a local. It belongs to
-- the thread that this Lua state runs in; after a fork it finds a part of its own by itself.
-- @string statistic
-- @treturn counter
-- @fails
-- @function named:counter
-- @also intr:counter
named_methods.counter = counter_of

--- Adds to a statistic; `k:counter(statistic):add(n)`.
-- @string statistic
-- @int[opt=1] n
-- @treturn boolean true
-- @fails "EINVAL" a counter would fall
-- @function named:add
-- @also intr:add
function named_methods.add(self, statistic, n)
  local counter, message, errname = counter_of(self, statistic)
  if not counter then
    return nil, message, errname
  elseif n ~= nil then
    n = (self.types[statistic].real and check.number or check.whole)(n, statistic)
  end
  return counter:add(n)
end

--- Takes out of a sharded statistic what threads that died left in their parts: after a crash, the share of
-- the dead in a gauge such as "requests in flight". To be called before this thread's first counter of
-- the kstat, which may take over such a part.
-- @string statistic
-- @treturn integer what was taken out
-- @fails
-- @function named:reclaim
function named_methods.reclaim(self, statistic)
  return core.reclaim(self.box, statistic)
end

--- Sets a statistic: a number, a text, or an array.
-- @string statistic
-- @param value nil: the null string
-- @treturn boolean true
-- @fails what has no room: there is room for what was there at first, at least 64 bytes; "EINVAL" a number that is not
-- of its type: -3 needs `type = "int64"`
-- @function named:set
function named_methods.set(self, statistic, value)
  local stat = self.types[statistic]
  if stat and not stat.number and not stat.place then
    return core.store(self.box, statistic, check.bytes_of(stat.type, value, statistic))
  end
  if stat and stat.place then
    local n, message, errname = number_of(stat.type, value, statistic)
    if n == nil then
      return nil, message, errname
    end
    return core.put(self.box, stat.place, n)
  end
  local counter, message, errname = counter_of(self, statistic)
  if not counter then
    return nil, message, errname
  end
  return counter:set(((stat.real or value == nil) and check.number or check.whole)(value, statistic))
end

--- Returns where a number lies, and whether that is this thread's own part of it, which nobody else adds to. A process
-- that is forked later has another part. LuaJIT only.
-- @string statistic
-- @treturn cdata pointer to an int64_t
-- @treturn boolean
-- @fails
-- @function named:cell
function named_methods.cell(self, statistic)
  local address, own, errname = core.cell(self.box, statistic, true)
  if not address then
    return nil, own, errname
  end
  return library.integer(address), own
end

local named_meta, plain = object.class(named_methods)
local statistic_fields = check.set("name", "type", "value", "kind", "meta", "scale", "fract", "parts", "unit", "desc")
local named_fields = check.with_header("statistics", "shards", "writable", "dense")

local function describe(box, name, spec)
  if not (spec.kind or spec.meta or spec.unit or spec.desc or spec.scale or spec.parts) then
    return true
  end
  return core.describe(box, name, {
    meta = check.lookup(core.metatypes, spec.meta or "cnt", "meta"),
    kind = spec.kind and check.lookup(core.kinds, spec.kind, "kind") or 0,
    scale = check.integer(spec.scale or 0, "scale of " .. name, 0),
    flags = (spec.fract and 1 or 0) + (spec.parts and 2 or 0), unit = spec.unit, desc = spec.desc,
  })
end

-- Statistics as tables, checked.
local function statistics_of(spec, is_own)
  if type(spec.statistics) ~= "table" then
    check.usage("statistics: table expected, got %s", type(spec.statistics))
  end
  local list = {}
  for i, stat in ipairs(spec.statistics) do
    if type(stat) == "string" then
      stat = { name = stat, kind = "counter" }
    else
      check.fields(stat, statistic_fields, "statistic " .. i)
    end
    check.text(stat.name, "statistic " .. i)
    check.lookup(core.data_types, stat.type or "uint64", "type of " .. stat.name)
    if is_own and TEXT[stat.type] then
      check.usage("type of %s: texts of a kstat of this process alone are of the type \"char\"", stat.name)
    end
    list[i] = stat
  end
  return list
end

-- Puts the statistics into the kstat; texts that C points to stay in `keep`.
local function fill(box, list, keep)
  for i, stat in ipairs(list) do
    local data_type = stat.type or "uint64"
    local code = core.data_types[data_type]
    if TEXT[data_type] then
      core.named(box, i - 1, stat.name, code)
      local text = check.bytes_of(data_type, stat.value, stat.name)
      if text then
        keep[i] = text
        core.text(box, i - 1, text)
      end
    else
      local value = stat.value
      if value ~= nil then
        local message, errname
        value, message, errname = number_of(data_type, value, stat.name)
        if value == nil then
          return nil, message, errname
        end
      end
      core.named(box, i - 1, stat.name, code, value)
    end
    local ok, message, errname = describe(box, stat.name, stat)
    if not ok then
      return nil, message, errname
    end
  end
  return true
end

--- What describes a statistic: `name` (string): its own, `type` (?string: "uint64", "int64", "uint32", "int32",
-- "double", "char", "string", "ints", "strs"), `value` (any): the first, `kind` (?string: "counter", "gauge", "text",
-- "time"), `meta` (?string: kstat2's semantic type: "cnt", "bytes", "t_rel", "pct", …), `scale` (?integer): by which it
-- is multiplied to be in the base unit, `fract` (?boolean: the scale divides), `unit` (?string): a word such as "jobs",
-- `desc` (?string): a line about it; `parts` (?boolean): a gauge that has shards, too, because threads only add to it.
-- @table statistic_spec

--- Creates a NAMED kstat.
-- @tparam published_spec spec beside the common fields:
--
--   * `statistics` ({string|statistic_spec,...}, needed): names of uint64 counters, or tables
--   * `shards` (integer): rows of counters, one for each thread that adds (32); the readers see the sums; 1: none
--   * `dense` (boolean): it takes less than half of the space, as one of thousands: its strings cannot be changed, and
--     threads that add to it at the same time slow each other down
--   * `writable` (boolean): readers with write permission may set its numbers, and the file's owner its texts
-- @treturn published.named
-- @fails "EINVAL" two statistics of one name, or one with a control character
-- @usage local jobs = assert(pub:named({ name = "jobs", statistics = { "done",
--   { name = "waiting", kind = "gauge", unit = "jobs", desc = "jobs that wait" } } }))
-- jobs:add("done")
-- jobs:set("waiting", 3)
-- @function pub:named
function M.named(self, spec)
  check.fields(spec, named_fields, "named")
  if spec.dense and spec.writable then
    check.usage("named: a kstat is either dense or writable")
  end
  local list, keep = statistics_of(spec, self.own), {} -- what C points to until the kstat is installed
  local shards = check.integer(spec.shards or SHARDS, "shards")
  local function prepare(box)
    local ok, message, errname = fill(box, list, keep)
    if not ok then
      return nil, message, errname
    end
    if self.own then
      return true
    end
    return core.shards(box, shards, spec.dense)
  end
  local k, message, errname = object.create(named_meta, self, spec, prepare, core.create, core.types.named, #list)
  if not k then
    return nil, message, errname
  end
  k.types, k.counters = {}, {}
  for i, stat in ipairs(list) do
    local data_type = stat.type or "uint64"
    local counts = WHOLE[data_type] and (not stat.kind or stat.kind == "counter") and
      (not stat.meta or stat.kind or stat.meta == "cnt" or stat.meta == "bytes" or stat.meta == "bits" or
      stat.meta == "t_acc")
    k.types[stat.name] = { type = data_type, place = self.own and i - 1, real = REAL[data_type],
      number = WHOLE[data_type] or REAL[data_type],
      sharded = (counts or stat.parts) and shards > 1, counts = not stat.parts and (stat.kind == "counter" or counts and
      shards > 1 and data_type:sub(1, 1) == "u") }
  end
  return k
end

local intr_methods = { counter = plain.counter, add = plain.add }

--- Counts interrupts of this kind; `k:add(kind, n)` of any.
-- @int[opt=1] n
-- @treturn boolean true
-- @fails "EINVAL" n is below 0
-- @function intr:hard
-- @also intr:soft intr:watchdog intr:spurious intr:multiple_service
for _, name in ipairs(intr_names) do
  intr_methods[name] = function(self, n)
    return plain.add(self, name, n)
  end
end

local intr_meta = object.class(intr_methods)

--- Creates an INTR kstat.
-- @tparam published_spec spec the common fields
-- @treturn published.intr
-- @fails
-- @function pub:intr
function M.intr(self, spec)
  check.fields(spec, check.with_header(), "intr")
  local k, message, errname = object.create(intr_meta, self, spec, nil, core.create, core.types.intr, 1)
  if not k then
    return nil, message, errname
  end
  k.types, k.counters = {}, {}
  for _, stat in ipairs(intr_names) do
    k.types[stat] = { type = "uint32", number = true, sharded = false, counts = true }
  end
  return k
end

return M
