--- What the makers of published kstats share: checking what the caller gave.
local core = require("kstat.core")
local library = require("kstat.publish.library")
local unknown = require("kstat.base.unknown")
require("kstat.base.mistake")

local M = {}

-- The folder of these modules, as chunks are named.
local own_folder = debug.getinfo(1, "S").source:match("^(.*)check%.lua$")

-- What to call a chunk that belongs to them.
function M.chunk_name(name)
  return (own_folder or "=kstat.publish.") .. name
end

-- Raises at the script's line.
local function usage(format, ...)
  core.usage(format:format(...))
end
M.usage = usage

function M.fields(spec, allowed, what)
  if type(spec) ~= "table" then
    usage("%s: table expected, got %s", what, type(spec))
  end
  for key in pairs(spec) do
    if not allowed[key] then
      usage("%s", unknown.word(what .. ": unknown field", tostring(key), allowed))
    end
  end
end

function M.set(...)
  local s = {}
  for _, name in ipairs({ ... }) do
    s[name] = true
  end
  return s
end

local header_fields = { "module", "instance", "name", "class", "persistent" }

function M.with_header(...)
  local s = M.set(...)
  for _, name in ipairs(header_fields) do
    s[name] = true
  end
  return s
end

function M.text(value, what)
  if type(value) ~= "string" or value == "" or #value > 30 or value:find("%z") then
    usage("%s: a string of 1 to 30 bytes without NUL expected", what)
  end
  return value
end

--- A number, or what Lua takes for one; `what` names it.
function M.number(value, what)
  if type(value) == "cdata" and (library.is_int64(value) or library.is_uint64(value)) then
    return value -- LuaJIT's 64-bit integers
  end
  return type(value) ~= "cdata" and tonumber(value) or usage("%s: number expected, got %s", what, type(value))
end

local LEAST, SIGNED_END, UNSIGNED_END = -2 ^ 63, 2 ^ 63, 2 ^ 64

-- The numbers that a statistic of this type can be: the least one, and one that is greater than all.
M.ranges = { int32 = { -2 ^ 31, 2 ^ 31 }, uint32 = { 0, 2 ^ 32 }, int64 = { LEAST, SIGNED_END },
  uint64 = { 0, UNSIGNED_END } }

--- What is wrong with a number for a statistic of this type, which has a range.
function M.not_of_type(what, data_type, value)
  local line = "%s is of the type %s, which has no %s (type = \"int64\" declares a number with a sign)"
  return line:format(what, data_type, tostring(value)), "EINVAL"
end

local function whole(value, what)
  local n = M.number(value, what)
  if n % 1 ~= 0 then -- so is an infinity, and what is no number
    usage("%s: number has no integer representation", what)
  elseif type(n) == "number" and not (n >= LEAST and n < UNSIGNED_END) then
    usage("%s: number out of range", what)
  end
  return n
end

--- A whole number of 64 bits, from `least` on where that is given.
function M.integer(value, what, least)
  local n = whole(type(value) == "cdata" and usage("%s: number expected, got cdata", what) or value, what)
  return n >= (least or LEAST) and n or usage("%s: %d or more expected", what, least)
end

--- The same of what may be nil, as the library takes it: a number of 64 bits. LuaJIT compiles the check away.
function M.whole(value, what)
  if value == nil or type(value) == "number" and value % 1 == 0 and value >= LEAST and value < SIGNED_END then
    return value
  end
  local n = whole(value, what)
  return type(n) == "number" and n >= SIGNED_END and library.unsigned and library.unsigned(n) or n
end

--- An array of whole numbers, from `least` on where that is given.
function M.counts(value, what, least)
  if type(value) ~= "table" then
    usage("%s: table expected, got %s", what, type(value))
  end
  for i, n in pairs(value) do
    if type(n) ~= "number" or n % 1 ~= 0 or n < 0 or n >= SIGNED_END then
      M.integer(n, ("%s[%s]"):format(what, tostring(i)), least)
    end
  end
  return value
end

function M.header(pub, spec)
  local instance = spec.instance or 0
  if type(instance) ~= "number" or instance < 0 or instance % 1 ~= 0 or instance > 2147483647 then
    usage("instance: an integer from 0 on expected")
  end
  return M.text(spec.module or pub.name, "module"), instance, M.text(spec.name, "name"),
    M.text(spec.class or "misc", "class")
end

function M.lookup(map, key, what)
  local value = key ~= nil and map[key]
  if not value then
    usage("%s", unknown.word(what .. (key ~= nil and ": unknown" or ""), key, map))
  end
  return value
end

-- Texts as C sees them; arrays of integers as bytes.
function M.bytes_of(data_type, value, what)
  if value == nil or type(value) == "string" and data_type ~= "ints" and data_type ~= "strs" then
    return value
  elseif type(value) ~= "table" then
    usage("%s: %s expected, got %s", what, data_type == "string" and "string" or "table", type(value))
  end
  local out = {}
  for i, item in ipairs(value) do
    if data_type == "strs" then
      out[i] = tostring(item) .. "\0"
    else
      M.integer(item, what)
      local low, high = item % 4294967296, math.floor(item / 4294967296) % 4294967296
      local b = {}
      for j = 1, 4 do
        b[j], b[j + 4] = string.char(low % 256), string.char(high % 256)
        low, high = math.floor(low / 256), math.floor(high / 256)
      end
      out[i] = table.concat(b)
    end
  end
  return table.concat(out)
end

return M
