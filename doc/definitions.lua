--- Writes the definitions of the Lua module for editors (LuaLS) from the doc comments of the modules, of which LDoc
-- makes the reference: config.ld lists the files of both.
--
--    lua5.4 doc/definitions.lua DIR            writes DIR/kstat.d.lua and a file for each part, DIR/kstat.stats.d.lua …
--
-- A function is what a comment with parameters, returns or `@function` describes; `@also` names others of the same
-- parameters and returns. Types are LDoc's, or names of classes without the "kstat." before them; `{X,...}` is an array
-- of X, and `@fails` stands for nil, message, name of errno. Fields of a table are where a comment names them with
-- their types: `name` (type), `a` and `b` (type), `c` (type, needed). They belong to the class that `@table` names,
-- and after a parameter or a return that is a table to a class of its own.

-- Whose methods functions are: by module, what stands before the colon or dot. Modules that are not here are for other
-- modules.
local OWNERS = {
  ["kstat"] = { kstat = "kstat" }, ["kstat.chain"] = { kstat = "kstat", ks = "kstat.chain", x = "kstat.object" },
  ["kstat.object"] = { x = "kstat.object" }, ["kstat.kstat"] = { k = "kstat.kstat" },
  ["kstat.sample"] = { now = "kstat.sample", difference = "kstat.difference" },
  ["kstat.selector"] = { sel = "kstat.selector" }, ["kstat.every"] = { kstat = "kstat" },
  ["kstat.report"] = { kstat = "kstat", report = "kstat.report" },
  ["kstat.aggregate"] = { kstat = "kstat", agg = "kstat.aggregation" }, ["kstat.format"] = { kstat = "kstat" },
  ["kstat.publish"] = { kstat = "kstat", pub = "kstat.pub", k = "kstat.published", named = "kstat.published.named",
    counter = "kstat.counter", intr = "kstat.published.intr", io = "kstat.published.io",
    timers = "kstat.published.timers", timer = "kstat.timer", histogram = "kstat.published.histogram",
    latency = "kstat.published.latency", blob = "kstat.published.blob", raw = "kstat.published.raw" },
  ["kstat.io"] = { M = "kstat.io" }, ["kstat.histogram"] = { histogram = "kstat.histogram",
    d = "kstat.distribution" },
  ["kstat.stats"] = { stats = "kstat.stats", template = "kstat.stats.template", blob = "kstat.stats.blob" },
  ["kstat.picture"] = { picture = "kstat.picture", map = "kstat.picture.heatmap" },
  ["kstat.recording"] = { recording = "kstat.recording", rec = "kstat.recording.writer" },
  ["kstat.devstat"] = { M = "kstat.devstat", reader = "kstat.devstat.reader", history = "kstat.devstat.history",
    registry = "kstat.devstat.registry", entry = "kstat.devstat.entry" },
  ["kstat.nginx"] = { M = "kstat.nginx", kn = "kstat.nginx.metrics", counter = "kstat.nginx.counter",
    gauge = "kstat.nginx.gauge", histogram = "kstat.nginx.histogram", queue = "kstat.nginx.queue" },
}
local PARENTS = { ["kstat.chain"] = "kstat.object", ["kstat.sample"] = "kstat.object",
  ["kstat.difference"] = "kstat.object" }
for _, kind in ipairs({ "named", "intr", "io", "timers", "histogram", "latency", "blob", "raw" }) do
  PARENTS["kstat.published." .. kind] = "kstat.published"
end
-- What comments have no form for.
local MORE = {
  ["kstat"] = "---@field _VERSION string name and version of the module",
  ["kstat.stats"] = "---@field LBOUND_INF string flag: a histogram's first bucket is open\n"
    .. "---@field UBOUND_INF string flag: its last bucket is open",
  ["kstat.object"] = "---@field [string] table<integer, table<string, table<string, kstat.value>>> instances of a "
    .. "module, see kstat.path",
  ["kstat.distribution"] = "---@operator add(kstat.distribution): kstat.distribution\n"
    .. "---@operator sub(kstat.distribution): kstat.distribution",
  ["kstat.sample"] = "---@operator sub(kstat.sample): kstat.difference",
  ["kstat.devstat.snapshot"] = "---@field [integer] kstat.devstat.device in the order of the list",
  ["kstat.report.row"] = "---@field [string] any fields of its own, and figures of its kstat",
  ["kstat.report.column"] = "---@field [1] string the title\n"
    .. "---@field [2]? string|fun(row: kstat.report.row): any what it shows: an expression (the title), or a function",
  ["kstat.report.option"] = "---@field [1]? string its letter\n---@field [2] string its name in the options",
}
-- Parts of the module with a file and names of classes of their own; those that are fields of the module.
local PARTS = { ["kstat.stats"] = "field", ["kstat.io"] = "field", ["kstat.histogram"] = "field",
  ["kstat.picture"] = "field", ["kstat.recording"] = "field", ["kstat.devstat"] = "field", ["kstat.report"] = true,
  ["kstat.nginx"] = true }
local ALIASES = [[
---@alias kstat.spec string|kstat.fields|kstat.selector
---@alias kstat.value number|string|table
---@alias kstat.metrics_format "prometheus"|"openmetrics"|"protobuf"
]]
local TAG_TYPES = { string = "string", number = "number", int = "integer", bool = "boolean", func = "function",
  param = "any" }
local PLAIN = { int = "integer", bool = "boolean", func = "function", cdata = "userdata", fun = "fun" }
local KNOWN = { string = true, number = true, integer = true, boolean = true, table = true, any = true, ["nil"] = true,
  ["function"] = true, fun = true, userdata = true, self = true, ["true"] = true, ["false"] = true }

-- By class: { name =, functions = {…}, fields = {…}, parent = }; and their order.
local classes, order = {}, {}
local lenient -- at the first reading, which finds the classes

local function class_of(name)
  if not classes[name] then
    classes[name] = { name = name, functions = {}, fields = {}, parent = PARENTS[name] }
    order[#order + 1] = name
  end
  return classes[name]
end

-- --- comments ------------------------------------------------------------------------------------

-- A comment's lines: { text = {…}, tags = { { tag =, modifier =, value = } } }.
local function parse_comment(lines)
  local comment = { text = {}, tags = {} }
  for _, line in ipairs(lines) do
    local tag, rest = line:match("^@(%l+)(.*)$")
    local last = comment.tags[#comment.tags]
    if tag then
      local modifier, value = rest:match("^(%b[])%s*(.*)$")
      last = { tag = tag, modifier = modifier or "", value = value or rest:match("^%s*(.*)$") }
      comment.tags[#comment.tags + 1] = last
    elseif last then
      last.value = last.value .. "\n" .. line
    else
      comment.text[#comment.text + 1] = line
    end
  end
  return comment
end

-- Calls found(comment, code) for each doc comment of a file; code is the line below it.
local function each_comment(path, found)
  local lines
  for line in io.lines(path) do
    local text = line:match(lines and "^%s*%-%- ?(.*)$" or "^%s*%-%-%- (.*)$")
    if text then
      lines = lines or {}
      lines[#lines + 1] = text
    elseif lines then
      found(parse_comment(lines), line)
      lines = nil
    end
  end
end

local function value_of(comment, name)
  for _, tag in ipairs(comment.tags) do
    if tag.tag == name then
      return tag.value:match("^%S+")
    end
  end
end

-- --- types ---------------------------------------------------------------------------------------

-- Splits a text at a byte that stands outside of brackets and quotes.
local function split(text, at)
  local list, depth, start, quoted = {}, 0, 1, false
  for i = 1, #text do
    local c = text:sub(i, i)
    quoted = (c == '"') ~= quoted
    if c:find("[({<]") then
      depth = depth + 1
    elseif c:find("[)}>]") then
      depth = depth - 1
    elseif c == at and depth == 0 and not quoted then
      list[#list + 1] = text:sub(start, i - 1)
      start = i + 1
    end
  end
  list[#list + 1] = text:sub(start)
  return list
end

local type_of

local function parts_of(text, at, space)
  local list = split(text, at)
  for i, part in ipairs(list) do
    list[i] = type_of(part, space)
    if not list[i] then
      return nil
    end
  end
  return list
end

local function table_type(inside, space)
  local key, value = inside:match("^%[(.-)%]=(.*)$")
  if key then
    local pair = parts_of(key .. "," .. value, ",", space)
    return pair and ("table<%s>"):format(table.concat(pair, ", "))
  end
  local item = inside:match("^(.*),%.%.%.$")
  if item then
    item = type_of(item, space)
    return item and (item:find("[|(]") and ("(%s)[]"):format(item) or item .. "[]")
  end
  local list = parts_of(inside, ",", space)
  for i, part in ipairs(list or {}) do
    list[i] = ("[%d]: %s"):format(i, part)
  end
  return list and ("{ %s }"):format(table.concat(list, ", "))
end

local function name_type(name, space)
  name = PLAIN[name] or name
  return KNOWN[name] and name or name:find('^"[^"]*"$') and name
    or name:find(".", 1, true) and classes[name] and name
    or classes[space .. "." .. name] and space .. "." .. name or classes["kstat." .. name] and "kstat." .. name
    or (name == "spec" or name == "value" or name == "metrics_format") and "kstat." .. name or nil
end

local function function_type(arguments, results, space)
  local list = {}
  for name, spelt in (arguments .. ","):gmatch("([%w_]+):?(.-),%f[%a%z]") do
    list[#list + 1] = name .. (spelt ~= "" and ": " .. (type_of(spelt, space) or "?") or "")
  end
  results = results and (parts_of(results, ",", space) or { "?" })
  local text = ("fun(%s)%s"):format(table.concat(list, ", "), results and ": " .. table.concat(results, ", ") or "")
  return not text:find("?", 1, true) and text or nil
end

-- The type as LuaLS writes it, or nil if this is none. space: where names of classes are looked for first.
function type_of(text, space)
  local list = split(text, "|")
  if #list > 1 then
    list = parts_of(text, "|", space)
    return list and table.concat(list, "|")
  elseif text:find("^%?.") then
    local inner = type_of(text:sub(2), space)
    return inner and inner .. "|nil"
  elseif text:find("^{.*}$") then
    return table_type(text:sub(2, -2), space)
  end
  local arguments, results = text:match("^fun(%b())(.*)$")
  if arguments then
    return function_type(arguments:sub(2, -2), results:match("^:(.+)$"), space)
  end
  return name_type(text, space)
end

-- --- fields --------------------------------------------------------------------------------------

-- The type that a text begins with: up to a blank outside of brackets, and without a mark before that.
local function type_text(text)
  local depth = 0
  for i = 1, #text do
    local c = text:sub(i, i)
    depth = depth + (c:find("[({]") and 1 or c:find("[)}]") and -1 or 0)
    if depth == 0 and text:find("^[,:;]? ", i) then
      return text:sub(1, i):gsub("[,:; ]+$", "")
    end
  end
  return text
end

-- What a text says of a field: in the brackets behind the type, and behind these up to the next field.
local function field_text(inside, behind)
  inside = inside:gsub("^, needed", ""):gsub("^[,:;%s]+", "")
  behind = behind:gsub("\1.*", ""):gsub("^[,:;%s]+", ""):gsub("%s+[*-]?%s*$", ""):gsub(",? and$", ""):gsub("[,;.]$", "")
  return inside .. (inside ~= "" and behind ~= "" and "; " or "") .. behind
end

-- The fields that a text names with a type: of each the names, the type, whether it is needed, and what it says of it.
-- One that another one follows after "and" shares the text of that.
local function fields_of(text, space)
  local list, names, from, at = {}, {}, nil, 1
  text = text:gsub("\n%s*\n", "\1"):gsub("%s+", " ") -- \1: the end of a paragraph
  while at do
    local first, last, name, between = text:find("`([%w_]+)`([^`]*)", at)
    if name then
      from, names[#names + 1] = from or first, name
      local inside = between:match("^ (%b())")
      local spelt = inside and type_text(inside:sub(2, -2))
      local known = spelt and type_of(spelt, space)
      if known then
        list[#list + 1] = { names = names, known = known, inside = inside:sub(#spelt + 2, -2), from = from,
          to = first + #name + 2 + #inside + 1 }
      end
      if known or not (between == ", " or between == " and " or between == ", and ") then
        names, from = {}, nil
      end
    end
    at = last and last + 1
  end
  for i = #list, 1, -1 do
    local behind = text:sub(list[i].to, list[i + 1] and list[i + 1].from - 1)
    list[i].needed = list[i].inside:find("^, needed") ~= nil
    list[i].text = behind == " and " and list[i].inside == "" and list[i + 1].text or field_text(list[i].inside, behind)
  end
  return list
end

-- Adds to a class what a text names. optional: all fields but those that are needed.
local function add_fields(class, text, space, optional)
  for _, field in ipairs(fields_of(text, space)) do
    for _, name in ipairs(field.names) do
      class.fields[#class.fields + 1] = ("---@field %s%s %s %s"):format(name, optional and not field.needed and "?" or "",
        field.known, field.text):gsub(" +$", "")
    end
  end
end

-- --- functions -----------------------------------------------------------------------------------

-- The first paragraph as one line; nothing of a list.
local function in_short(text)
  return (text:gsub("\n%s*\n.*", ""):gsub("^%* .*", ""):gsub("%s+", " "))
end

-- Reads a parameter's tag: { name =, type =, text =, optional = }.
local function parse_parameter(tag)
  local value, spelt = tag.value, TAG_TYPES[tag.tag]
  if tag.tag == "tparam" then
    spelt, value = value:match("^(%S+)%s+(.*)$")
  end
  local name, text = value:match("^(%S+)%s*(.*)$")
  return { name = name, spelt = spelt, text = text, optional = tag.modifier:find("^%[opt") ~= nil }
end

-- The class of a table that a comment describes field by field; nil if it names no fields.
local function described_class(name, spelt, text, space, optional)
  local parent = type_of(spelt:gsub("|?nil$", ""), space)
  if fields_of(text, space)[1] and (spelt:find("^table") or classes[parent]) then
    local class = class_of(classes[parent] and not optional and parent or name)
    class.parent = class.parent or classes[parent] and class.name ~= parent and parent or nil
    add_fields(class, text, space, optional)
    return (spelt:gsub("^[^|]*", class.name))
  end
  return spelt
end

local function described_type(where, spelt, space)
  return type_of(spelt, space) or lenient and "any" or error(("%s: '%s' is no type"):format(where, spelt), 0)
end

local function parameters_of(comment, where, name, space)
  local list = {}
  for _, tag in ipairs(comment.tags) do
    if TAG_TYPES[tag.tag] or tag.tag == "tparam" then
      local one = parse_parameter(tag)
      local class = (space .. "." .. name):gsub("(%.%w+)%1$", "%1") .. "_" .. one.name
      local spelt = described_class(class, one.spelt, one.text, space, true)
      one.type = described_type(where, spelt, space)
      list[#list + 1] = one
    end
  end
  return list
end

-- Adds a value at a place to those that a function returns.
local function add_return(list, i, known, text)
  local one = list[i] or { types = {}, texts = {} }
  list[i] = one
  for _, part in ipairs(split(known, "|")) do
    one.types[#one.types + 1] = not one.types[part] and part or nil
    one.types[part] = true
  end
  one.texts[#one.texts + 1] = text ~= "" and text or nil
end

-- What a function returns: by place, what it is in each of its outcomes.
local function returns_of(comment, where, name, space)
  local list, places = {}, {}
  for _, tag in ipairs(comment.tags) do
    if tag.tag == "treturn" then
      local group = tag.modifier:match("%d") or "1"
      local spelt, text = tag.value:match("^(%S+)%s*(.*)$")
      spelt = described_class(space .. "." .. name, spelt, text, space, false)
      local one = spelt:match("^(%w+),%.%.%.$") or spelt:match("^fun%(.*")
      for _, part in ipairs(one and { one } or split(spelt, ",")) do
        places[group] = (places[group] or 0) + 1
        add_return(list, places[group], described_type(where, part, space), in_short(text))
      end
    elseif tag.tag == "fails" then
      add_return(list, 1, "nil", "")
      add_return(list, 2, "string", list[2] and "or a message" or "message")
      add_return(list, 3, "string", "name of errno" .. (tag.value ~= "" and ", " .. in_short(tag.value) or ""))
      list[3].types[#list[3].types + 1] = "nil"
      if #list[2].types == 1 then
        list[2].types[2] = "nil"
      end
    end
  end
  return list
end

local function add_function(class, name, method, comment, parameters, returns)
  local names, out = {}, {}
  for _, line in ipairs(comment.text) do
    out[#out + 1] = "---" .. line
  end
  for _, one in ipairs(parameters) do
    names[#names + 1] = one.name
    out[#out + 1] = ("---@param %s%s %s %s"):format(one.name, one.optional and "?" or "", one.type, in_short(one.text))
  end
  for _, one in ipairs(returns) do
    out[#out + 1] = ("---@return %s # %s"):format(table.concat(one.types, "|"), table.concat(one.texts, ", "))
  end
  for i, line in ipairs(out) do
    out[i] = line:gsub("[ #]+$", "")
  end
  class.functions[#class.functions + 1] = ("%s\nfunction %s%s%s(%s) end\n"):format(table.concat(out, "\n"),
    class.name:gsub("%.", "_"), method and ":" or ".", name, table.concat(names, ", "))
end

-- --- modules -------------------------------------------------------------------------------------

-- The names of a function and those beside it; those of a line of code if the comment has none.
local function names_of(comment, code)
  local names = { value_of(comment, "function") or code:match("^%s*function ([%w_.:]+)%(") }
  for _, tag in ipairs(comment.tags) do
    if tag.tag == "also" then
      for name in tag.value:gmatch("%S+") do
        names[#names + 1] = name
      end
    end
  end
  return names
end

-- Fails if a line of code has other parameters than its comment.
local function check_parameters(where, code, parameters, method)
  local dot, list = code:match("^%s*function [%w_]+([.:])[%w_]+%((.*)%)")
  local described = {}
  for i, one in ipairs(parameters) do
    described[i] = one.name
  end
  list = method and dot == "." and list:gsub("^[%w_]+,? ?", "") or list
  list = list and list:gsub(", level$", "") -- for error(), not for callers
  if list and list ~= "..." and list ~= table.concat(described, ", ") then
    error(("%s has (%s), its comment (%s)"):format(where, list, table.concat(described, ", ")), 0)
  end
end

-- Reads a comment of a module whose classes are below space.
local function read_comment(module, space, comment, code)
  local owners = OWNERS[module]
  for _, full in ipairs(names_of(comment, code)) do
    local prefix, colon, name = full:match("^([%w_]+)([.:])([%w_]+)$")
    if not prefix then
      prefix, name = module:match("%w+$"), full
    end
    local owner = owners[prefix]
    if owner then
      local where = ("%s: %s"):format(module, full)
      local parameters = parameters_of(comment, where, name, space)
      check_parameters(where, code, parameters, colon == ":")
      add_function(class_of(owner), name, colon == ":", comment, parameters, returns_of(comment, where, name, space))
    end
  end
end

-- Reads all modules that the reference has. The classes that it finds are known when it is called again.
local function read_modules(files)
  for _, path in ipairs(files) do
    local module
    each_comment(path, function(comment, code)
      module = value_of(comment, "module") or value_of(comment, "classmod") or value_of(comment, "submodule") or module
      local space = PARTS[module] and module or "kstat"
      if value_of(comment, "table") then
        local class = class_of(space .. "." .. value_of(comment, "table"))
        add_fields(class, table.concat(comment.text, "\n"), space, false)
      elseif OWNERS[module] then
        read_comment(module, space, comment, code)
      end
    end)
  end
end

-- --- files ---------------------------------------------------------------------------------------

local function class_text(class)
  local head = ("---@class %s%s"):format(class.name, class.parent and ": " .. class.parent or "")
  local lines = { head, MORE[class.name] }
  for _, field in ipairs(class.fields) do
    lines[#lines + 1] = field
  end
  lines[#lines + 1] = ("local %s = {}\n"):format((class.name:gsub("%.", "_")))
  return table.concat(lines, "\n") .. "\n" .. table.concat(class.functions, "\n")
end

-- The part of the module in whose file a class is.
local function part_of(name)
  return PARTS[name:match("^kstat%.%w+")] and name:match("^kstat%.%w+") or "kstat"
end

local function write_files(dir)
  local texts = {}
  for _, name in ipairs(order) do
    local part = part_of(name)
    texts[part] = texts[part] or { ("---@meta %s\n-- Written by doc/definitions.lua: what the module's comments say, "
      .. "for editors. Nothing loads this file.\n"):format(part) }
    table.insert(texts[part], class_text(classes[name]))
  end
  table.insert(texts.kstat, 2, ALIASES)
  for part, list in pairs(texts) do
    if PARTS[part] == "field" then
      list[#list + 1] = ("---@class kstat\n---@field %s %s this part of the module\n"):format(part:match("%w+$"), part)
    end
    list[#list + 1] = ("return %s\n"):format((part:gsub("%.", "_")))
    local file = assert(io.open(("%s/%s.d.lua"):format(dir, part), "w"))
    assert(file:write(table.concat(list, "\n")))
    file:close()
  end
end

local function forget()
  for _, name in ipairs(order) do
    classes[name].functions, classes[name].fields = {}, {}
  end
end

local config = {}
local chunk = assert(io.open("config.ld")):read("*a")
config.alias = function() end
if setfenv then
  setfenv(assert(loadstring(chunk)), config)()
else
  assert(load(chunk, "config.ld", "t", config))()
end
for _, owners in pairs(OWNERS) do
  for _, name in pairs(owners) do
    class_of(name)
  end
end
table.sort(order)
lenient = true
read_modules(config.file)
forget()
lenient = false
read_modules(config.file)
write_files((...))
