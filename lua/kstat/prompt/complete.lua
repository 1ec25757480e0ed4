--- What Tab offers at the prompt: names behind a dot, methods behind a colon, and in quotes statistics or selectors.
-- Nothing is called for it, and no variable changes.
-- @module kstat.prompt.complete
local core = require("kstat.core")
local values = require("kstat.complete.values")

local complete = {}

local PARTS = { "io", "report", "aggregate", "recording", "picture", "format", "stats", "devstat", "histogram" }
local KSTAT_FIELDS = { "module", "instance", "name", "class", "type", "crtime", "snaptime", "crtime_ns", "snaptime_ns",
  "writable", "kid", "flags", "ndata", "publisher", "publisher_uid", "publisher_pid", "elapsed", "elapsed_ns", "reset" }
local METAS = { chain = core.chain_meta, sample = core.sample_meta, difference = core.difference_meta }

--- The fields of a value: the keys that are names, those of its metatable's __index, and what kstat's objects have.
-- @param value
-- @treturn {[string]=any} by name what each is; true where that is not known
-- @treturn {[string]=boolean} which of them are statistics
function complete.members(value)
  local found, statistics = {}, {}
  local function add(t)
    for key, member in pairs(t) do
      if type(key) == "string" or type(key) == "number" then
        found[key] = found[key] == nil and member or found[key]
      end
    end
  end
  local kind = core.kind(value)
  if kind == "kstat" then
    add(core.kstat_methods)
    for _, name in ipairs(KSTAT_FIELDS) do
      found[name] = true
    end
    local names = {}
    for i = 1, core.list(value, names, {}) or 0 do
      found[names[i]] = found[names[i]] or true
      statistics[names[i]] = true
    end
  elseif METAS[kind] then
    add(METAS[kind].methods)
    add(METAS[kind].fields)
    for _, name in ipairs(value:modules()) do
      found[name] = true
    end
  elseif type(value) == "table" then
    add(value)
    local meta = getmetatable(value)
    if meta and type(meta.__index) == "table" then
      add(meta.__index)
    end
  elseif type(value) == "string" then
    add(string)
  end
  for _, name in ipairs(value == package.loaded.kstat and PARTS or {}) do
    found[name] = found[name] or true
  end
  return found, statistics
end

-- The value of names with dots and brackets, such as ks.cpu[0]["sys"]; nil if there is none. Nothing is called.
local function evaluate(text)
  local name, rest = text:match("^([%a_][%w_]*)(.*)$")
  local value = name and rawget(_G, name)
  while value ~= nil and rest ~= "" do
    local key, behind = rest:match("^%.([%a_][%w_]*)(.*)$")
    if not key then
      key, behind = rest:match("^%[(%d+)%](.*)$")
      key = tonumber(key)
    end
    if not key then
      local _
      _, key, behind = rest:match("^%[([\"'])(.-)%1%](.*)$")
    end
    if key == nil then
      return nil
    end
    local ok, next_value = pcall(function() return value[key] end)
    value, rest = ok and next_value or nil, behind
  end
  return value
end

-- The expression at the end of a text: names with dots and brackets.
local function last_expression(text)
  local from = #text + 1
  while from > 1 do
    local before = text:sub(1, from - 1)
    local at = before:match("()%b[]$") or before:match("()[%w_]+$") or before:match("()%.$")
    if not at then
      break
    end
    from = at
  end
  return text:sub(from)
end

-- Where the quotes begin that are still open at the end of a text, or nil.
local function open_quote(text)
  local quote, at
  local i = 1
  while i <= #text do
    local c = text:sub(i, i)
    if quote and c == "\\" then
      i = i + 1
    elseif quote == c then
      quote = nil
    elseif not quote and (c == '"' or c == "'") then
      quote, at = c, i
    end
    i = i + 1
  end
  return quote and at
end

local function is_name(key)
  return type(key) == "string" and key:find("^[%a_][%w_]*$")
end

-- Names in quotes: keys in brackets; statistics, if a method of a kstat is called; else selectors.
local function in_quotes(before, typed)
  local object = before:match("^(.*)%[%s*$")
  if object then
    local list = {}
    for key in pairs(complete.members(evaluate(last_expression(object)))) do
      list[#list + 1] = type(key) == "string" and key or nil
    end
    return list
  end
  object = before:match("^(.-):%a+%s*%(%s*$") or before:match("^(.-):%a+%s*$")
  local k = object and evaluate(last_expression(object))
  if core.kind(k) == "kstat" then
    local names = {}
    core.list(k, names, {})
    return names
  end
  local list = values.operand(typed)
  for i, candidate in ipairs(list) do
    list[i] = candidate[1]
  end
  return list
end

-- Names behind a dot or a colon, or of globals, and a set of those that come first. typed: what the candidates replace.
-- An object's name is repeated.
local function in_code(line, typed)
  local expression = last_expression(line)
  local object, separator, start = line:match("^(.*)([.:])([%w_]*)$")
  local list, first = {}, {}
  if object and #expression >= #start and (separator == ":" or expression:find(".", 1, true)) then
    object = last_expression(object)
    local lead = typed:sub(1, #typed - #start)
    local members, statistics = complete.members(evaluate(object))
    for key, member in pairs(members) do
      if is_name(key) then
        first[lead .. key] = statistics[key]
        local offered = not key:find("^__") and (separator == "." or type(member) == "function")
        list[#list + 1] = offered and lead .. key or nil
      elseif separator == "." and start == "" and key ~= "" then -- no name: with brackets, in place of the dot
        list[#list + 1] = lead:sub(1, -2) .. (type(key) == "number" and "[%s]" or "[%q]"):format(key)
      end
    end
    return list, first
  end
  for key in pairs(_G) do
    list[#list + 1] = is_name(key) and key or nil
  end
  return list, first
end

--- Candidates for the word at the end of a line.
-- @string line up to the cursor
-- @int from where the word begins that they replace, from 1 on
-- @treturn {string,...} in order, statistics of a kstat first
function complete.words(line, from)
  local quote, typed = open_quote(line), line:sub(from)
  local first, found = {}
  if quote then
    found = in_quotes(line:sub(1, quote - 1), typed)
  else
    found, first = in_code(line, typed)
  end
  local list, common = {}, not quote and typed:gsub("%.$", "") or typed -- brackets replace the dot
  for _, text in ipairs(found) do
    list[#list + 1] = text:sub(1, #common) == common and text or nil
  end
  table.sort(list, function(a, b)
    if first[a] ~= first[b] then
      return first[a] ~= nil
    end
    return a < b
  end)
  return list
end

return complete
