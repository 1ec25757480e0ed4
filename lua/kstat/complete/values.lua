--- The names that there are in the chain, as candidates for a word: modules, instances, names, statistics.
-- @module kstat.complete.values
local core = require("kstat.core")
local selector = require("kstat.read.selector")

local values = {}

--- The capture that is read in place of the machine where a command line names none itself; nil: the machine.
values.default_capture = nil

local PARTS = { "module", "instance", "name", "statistic" }

local function open(only, capture)
  return core.open({ capture = capture or values.default_capture, only = only })
end

-- Adds a text to a list, once.
local function add(list, text, about)
  if not list[text] then
    list[text] = true
    list[#list + 1] = { text, about }
  end
end

-- Numbers by their size, all else by its bytes.
local function order(a, b)
  local x, y = tonumber(a[1]:match("^%d+")), tonumber(b[1]:match("^%d+"))
  if x and y and x ~= y then
    return x < y
  end
  return a[1] < b[1]
end

-- A name as a glob that matches nothing else; nil for one that a selector cannot have. whole: colons do not separate.
local function quoted(name, whole)
  if not whole and name:find(":", 1, true) then
    return nil
  end
  return (name:gsub("[*?%[\\]", "\\%0"):gsub("^/", "\\/"))
end

-- What is known of a statistic, such as "free memory (pages)"; nil: nothing.
local function meaning(k, name)
  local meta = core.kstat_methods.meta(k, name)
  if not meta then
    return nil
  end
  return meta.unit ~= "" and ("%s (%s)"):format(meta.description, meta.unit) or meta.description
end

-- The candidates for one part of some kstats. suffix: what is behind each.
local function list_part(kstats, part, suffix, whole)
  local list = {}
  for _, k in ipairs(kstats) do
    if part == "statistic" then
      local names = {}
      for i = 1, core.list(k, names, {}) or 0 do
        add(list, quoted(names[i], true), meaning(k, names[i]))
      end
    else
      local text = quoted(tostring(k[part]), whole)
      if text then
        add(list, text .. suffix)
      end
    end
  end
  table.sort(list, order)
  return list
end

-- The kstats that some specifiers select.
local function select(fields, capture)
  local sel = core.selector(fields)
  local ks = sel and open({ sel }, capture)
  return ks and core.select(ks, { sel }) or {}
end

--- Candidates for the last part of an operand, behind those before it: "cpu:0:s" has "cpu:0:sys:".
-- @string word what was typed of the operand
-- @string[opt] class of the kstats, a specifier
-- @string[opt] capture
-- @treturn {{string,string},...}
function values.operand(word, class, capture)
  local typed, fields = core.operand(word), { class = class }
  local n = #typed
  if typed.class or typed[n]:find("^/") then
    return {} -- a URI, a regular expression
  end
  for i = 1, n - 1 do
    fields[PARTS[i]] = typed[i]
  end
  local start = word:sub(1, #word - #typed[n])
  local list = list_part(select(fields, capture), PARTS[n], n < #PARTS and ":" or "")
  for _, candidate in ipairs(list) do
    candidate[1] = start .. candidate[1]
  end
  return list
end

--- Candidates for one specifier, beside others.
-- @string part "module", "instance", "name", "statistic" or "class"
-- @tparam table given options of kstat: m, i, n, s and c
-- @string[opt] capture
-- @treturn {{string,string},...}
function values.field(part, given, capture)
  local fields = {}
  for _, other in ipairs({ "module", "instance", "name", "class" }) do
    fields[other] = other ~= part and given[other:sub(1, 1)] or nil
  end
  return list_part(select(fields, capture), part, "", true)
end

--- The names of the kstats that some selectors match.
-- @tparam {selector|table|string,...} selectors
-- @string[opt] capture
-- @treturn {{string,string},...}
function values.names(selectors, capture)
  local list = {}
  for _, sel in ipairs(selectors) do
    local ok, compiled = pcall(selector.compile, sel)
    list[#list + 1] = ok and compiled or nil
  end
  local ks = list[1] and open(list, capture)
  return list_part(ks and core.select(ks, list) or {}, "name", "", true)
end

return values
