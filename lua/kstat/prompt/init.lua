--- The prompt of kstatlua -i: how values are printed, help and exit, and what a misspelt field of `kstat` says.
-- The host, which is built for a Lua whose pairs() knows __pairs, reads the lines and runs them.
-- @module kstat.prompt
local core = require("kstat.core")
local mistake = require("kstat.base.mistake")
local unknown = require("kstat.base.unknown")

local getmetatable = debug.getmetatable -- the metatable itself, whatever its __metatable says

local prompt = {}

local kstat -- the module, which the host hands over

local MOST, DEEPEST, WIDEST = 200, 2, 78 -- entries of a table, tables in tables, columns of a table in one line

-- The columns that a line may have: less than WIDEST in a narrow window.
local function widest()
  return math.min(WIDEST, (core.terminal(1) or math.huge) - 1)
end

local HELP = [=[
A line is Lua; the values of an expression are printed. The module is `kstat`, for example:

  ks = kstat.open()                       the kstats of this machine
  ks.cpu[0].sys                           the statistics of one, by module, instance and name
  k = ks:lookup("cpu", 0, "sys")          the same as an object: k:get("cpu_nsec_user"), k:meta("intr")
  for k in ks:each("link:::") do print(k) end
  for now, prev in kstat.every(1, 3) do if prev then print((now - prev):rate("cpu_stat:::intr")) end end

help(kstat.open) and help "each" explain a function; Tab completes modules, instances, names, statistics, methods and,
in quotes, selectors. Ctrl-C breaks off what runs.
exit, or Ctrl-D, ends the prompt. kstatlua(1) and doc/scripting-reference.md tell the rest.
]=]

-- --- printing -----------------------------------------------------------------------------------------------

local RESERVED = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return then true
  until while]]):gmatch("%a+") do
  RESERVED[word] = true
end

-- Numbers first, by size, then all else by its text.
local function before(a, b)
  local x, y = type(a) == "number", type(b) == "number"
  if x and y then
    return a < b
  elseif x ~= y then
    return x
  end
  return tostring(a) < tostring(b)
end

-- Returns the first MOST keys of a table, in order, and how many keys it has. Only what may be shown is sorted.
local function first_keys(value)
  local keys, n, last = {}, 0, nil -- keys behind the last one are not shown
  for key in pairs(value) do
    n = n + 1
    if last == nil or before(key, last) then
      keys[#keys + 1] = key
      if #keys == 2 * MOST then
        table.sort(keys, before)
        keys = { (table.unpack or unpack)(keys, 1, MOST) }
        last = keys[MOST]
      end
    end
  end
  table.sort(keys, before)
  return keys, n
end

local function key_text(key)
  if type(key) == "string" then
    return key:find("^[%a_][%w_]*$") and not RESERVED[key] and key or ("[%q]"):format(key)
  end
  return "[" .. tostring(key) .. "]"
end

local pretty

-- A value inside a table. seen: the tables around it.
local function inner(value, depth, seen)
  if type(value) == "string" then
    return ("%q"):format(value):gsub("\\\n", "\\n")
  elseif type(value) == "table" and not getmetatable(value) or type(value) == "table" and next(value) == nil and
    not (getmetatable(value) or {}).__tostring then
    return seen[value] and "{ … }" or pretty(value, depth + 1, seen)
  end
  return tostring(value)
end

-- A table: in one line if that is short enough, else a line for each entry. Below DEEPEST it says how many there are.
function pretty(value, depth, seen)
  local keys, n = first_keys(value)
  if n == 0 then
    return "{}"
  elseif depth > DEEPEST then
    return ("{ %d entries }"):format(n)
  end
  seen[value] = true
  local parts, length = {}, 4 + 2 * depth
  for i = 1, math.min(#keys, MOST) do
    local key = keys[i]
    local text = inner(value[key], depth, seen)
    parts[i] = key == i and text or key_text(key) .. " = " .. text
    length = length + #parts[i] + 2
  end
  seen[value] = nil
  if n > MOST then
    parts[#parts + 1] = ("… %d more"):format(n - MOST)
  end
  local one = "{ " .. table.concat(parts, ", ") .. " }"
  if length <= widest() and not one:find("\n", 1, true) then
    return one
  end
  local indent = "\n" .. ("  "):rep(depth)
  return "{" .. indent .. table.concat(parts, "," .. indent) .. "\n" .. ("  "):rep(depth - 1) .. "}"
end

-- A kstat: its name and class, then its statistics below each other.
local function show_kstat(k)
  local lines, width = { ("%s  class %s, type %s"):format(tostring(k), k.class, k.type) }, 0
  local names = {}
  local n, message = core.list(k, names, {})
  for i = 1, n or 0 do
    width = math.max(width, #names[i])
  end
  for i = 1, n or 0 do
    lines[#lines + 1] = ("  %-" .. math.min(width, 32) .. "s  %s"):format(names[i], tostring(k:text(names[i])))
  end
  lines[#lines + 1] = not n and "  " .. message or nil
  return table.concat(lines, "\n")
end

-- A chain, a sample or a difference: what it is, and its modules.
local function show_modules(x)
  local lines, line, most = { tostring(x) .. ", of the modules" }, " ", widest()
  for _, name in ipairs(x:modules()) do
    if #line + #name + 1 > most then
      lines[#lines + 1], line = line, " "
    end
    line = line .. " " .. name
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

local MODULES = { chain = true, sample = true, difference = true }

-- Whether a table of kstat's own, or without a metatable, or one that says nothing of itself.
local function is_plain(value)
  local meta = getmetatable(value)
  return type(value) == "table" and not (meta and (meta.__tostring or meta.__name))
end

-- The text of a value that is more than a word; nil: print says it well enough.
local function readable(value)
  local kind, meta = core.kind(value), getmetatable(value)
  if kind == "kstat" then
    return show_kstat(value)
  elseif type(value) == "table" and meta and meta.kstat then -- of a path
    return show_kstat(meta.kstat(value))
  elseif MODULES[kind] then
    return show_modules(value)
  elseif value == kstat then
    return "module " .. kstat._VERSION .. "; help explains, Tab completes"
  end
  return is_plain(value) and pretty(value, 1, {}) or nil
end

-- --- help and exit ------------------------------------------------------------------------------------------

local ended = false

-- Adds the sources in a directory to the list, in the order of their names.
local function add_sources(list, directory)
  local names = core.directory(directory) or {}
  table.sort(names)
  for _, name in ipairs(names) do
    if name:find("%.lua$") then
      list[#list + 1] = directory .. "/" .. name
    elseif not name:find(".", 1, true) then
      add_sources(list, directory .. "/" .. name)
    end
  end
  return list
end

-- Prints the comments of the functions of this name, behind what the pattern `of` matches, in these sources.
local function print_comments(paths, of, name)
  local found = false
  for _, path in ipairs(paths) do
    local block = ""
    for line in io.lines(path) do
      if not line:find("^%-%-") or line:find("^%-%-%-") then
        if (block .. "\n" .. line):find("[@\n]function [^\n(]*" .. of .. name:gsub("%W", "%%%0") .. "%f[^%w_]") then
          print((block:gsub("@t?(%l+)", "%1")))
          found = true
        end
        block = line:find("^%-%-%- ") and line:sub(5) or ""
      else
        block = block ~= "" and block .. "\n" .. line:sub(4) or ""
      end
    end
  end
  return found
end

-- Prints the comments of a function, or of all of this name, in the sources of the module.
local function explain(what)
  local member = kstat -- the text "kstat.open" is kstat.open
  for word in (type(what) == "string" and what:match("^kstat%.(.+)") or ""):gmatch("[^.]+") do
    member = type(member) == "table" and member[word] or nil
  end
  what = type(member) == "function" and member or what
  local name, of, own = tostring(what), "[.:]", nil -- own: its file
  local function look(list, qualifier, path)
    for key, value in pairs(list) do
      if value == what then
        name, of, own = key, qualifier, path
      end
    end
  end
  for module, members in pairs(package.loaded) do
    if module:find("^kstat%.") and type(members) == "table" then
      look(members, "[.:]", package.searchpath(module, package.path))
    end
  end
  look(kstat, "%f[%w]kstat[.]")
  for _, methods in ipairs({ core.chain_meta.methods, core.difference_meta.methods, core.kstat_methods }) do
    look(methods, ":")
  end
  local folder = (package.searchpath("kstat", package.path) or ""):match("^(.*)/[^/]*$")
  local paths = own and { own } or folder and add_sources({}, folder) or {}
  local method = type(what) == "string" and what:match("[%w_]:([%w_]+)$") -- of an object, which is called as one likes
  if not print_comments(paths, method and "%f[%w]" or of, name) and
    not (method and print_comments(paths, ":", method)) then
    print("no help about '" .. name .. "' here; help alone says how to begin")
  end
end

local words = {
  help = function(what)
    (what ~= nil and explain or print)(what or (HELP:gsub("\n$", "")))
  end,
  exit = function() ended = true end,
}
words.quit = words.exit

local word_meta = { __call = function(self, what) self.run(what) end }

-- --- the prompt ---------------------------------------------------------------------------------------------

--- Begins: adds help, exit and quit to the globals that are free, and lets `kstat` refuse a field that it lacks.
-- @tparam table module kstat
function prompt.start(module)
  kstat = module
  for name, run in pairs(words) do
    if rawget(_G, name) == nil then
      rawset(_G, name, setmetatable({ run = run }, word_meta))
    end
  end
  local meta = getmetatable(kstat)
  local index = meta.__index
  meta.__index = function(self, name)
    local members = require("kstat.prompt.complete").members(self)
    if members[name] == nil then
      mistake.blame(mistake.raise, "%s", unknown.line("kstat has no field", tostring(name), members))
    end
    return index(self, name)
  end
end

--- Prints what a line returned.
-- @param ... the values
-- @treturn boolean whether that was exit
function prompt.show(...)
  local n, simple = select("#", ...), {}
  local word = n == 1 and getmetatable((...)) == word_meta and (...)
  if word then
    word.run()
    return ended
  end
  for i = 1, n do
    local value = select(i, ...)
    local text = readable(value)
    if text then
      if simple[1] then
        print((table.unpack or unpack)(simple, 1, simple.n))
        simple = {}
      end
      print(text)
    else
      simple[#simple + 1], simple.n = tostring(value), #simple + 1
    end
  end
  if simple[1] then
    print((table.unpack or unpack)(simple, 1, simple.n))
  end
  return ended
end

return prompt
