--- What the makers of published kstats share: checking what the caller gave.
local core = require("kstat.core")
local unknown = require("kstat.unknown")
require("kstat.mistake")

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
  if type(value) == "cdata" then
    return value -- LuaJIT's 64-bit integers
  end
  return tonumber(value) or usage("%s: number expected, got %s", what, type(value))
end

--- A number without a fraction.
function M.integer(value, what)
  local n = M.number(value, what)
  if n % 1 ~= 0 then -- so is an infinity, and what is no number
    usage("%s: number has no integer representation", what)
  end
  return n
end

--- The same of what may be nil or a 64-bit integer, where it is to cost nothing: LuaJIT compiles it away.
function M.whole(value, what)
  local is = type(value)
  if is == "number" and value % 1 ~= 0 or is ~= "number" and is ~= "cdata" and value ~= nil then
    M.integer(value, what)
  end
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
