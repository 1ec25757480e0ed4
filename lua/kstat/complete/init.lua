--- What may follow in a command line of kstat or kstatlua: the shells ask with `kstatlua --complete WORD ...`.
--
-- The options are those that the tools declare (kstat.base.options), and what they mean is read from their --help: a
-- tool is run up to the point where it reads its command line. Modules, instances, names and statistics are those of
-- the chain. A candidate is a line, a tab, and what it means; one that ends in ":" or "=" is to be continued. A line
-- that begins with the tab says that the name of a file is to follow.
-- @module kstat.complete
local options = require("kstat.base.options")
local running = require("kstat.base.running")
local values = require("kstat.complete.values")

local complete = {}

local text_of_help = options.help

local HERE = "d\1" -- stands where the cursor is; -T takes it for a date
local FILES = { file = true, recording = true, directory = true }
local FIELDS = { module = true, instance = true, name = true, statistic = true, class = true }

-- --- what a tool takes --------------------------------------------------------------------------------------

-- Returns what a text of help says of each option: { ["-p"] = "parseable lines", ... }.
local function explanations(text)
  local found, specification = {}, nil
  for piece in (text:gsub("\n", "  ") .. "  "):gmatch("(.-)  +") do
    if specification and piece ~= "" then
      for option in specification:gmatch("%f[%-]%-%-?[%w?][%w-]*") do
        found[option] = found[option] or piece
      end
    end
    specification = not specification and piece:find("^%-%-?[%w?]") and piece or nil
  end
  return found
end

-- Runs a tool as far as it shows its help. Returns the options that it declared, the help, and what the tool returned
-- if that is a report. The tools of this process have no command lines and no --help any more.
local function ask(chunk, name)
  local asked = { help = "" }
  local function stop(text)
    asked.help = text
    running.stop(0)
  end
  options.read = function(declared)
    asked.declared = asked.declared or declared
    return { help = true, operands = {} }
  end
  options.help = function(...) stop(text_of_help(...)) end
  running.show = stop
  arg = { [0] = name } -- luacheck: globals arg
  pcall(function()
    local result = chunk()
    if type(result) == "table" and result.run then
      asked.report = result
      result:run(arg)
    end
  end)
  return asked.declared, explanations(asked.help), asked.report
end

-- The host's options, from its usage: "  -e chunk    run this Lua text, ...".
local function host_options(usage)
  local list = {}
  for letter, argument in usage:gmatch("\n  %-(%a) ?(%S*)  ") do
    local kind = argument == "file" and "FILE" or argument ~= "" and "TEXT" or nil
    list[#list + 1] = { letter, letter, long = false, arg = kind, repeated = true }
  end
  for long in usage:gmatch("%-%-(%l+) %l") do
    list[#list + 1] = { nil, long, arg = "TEXT" }
  end
  list[#list + 1] = { nil, "help" }
  return options.command(list), explanations(usage)
end

-- --- candidates -----------------------------------------------------------------------------------------------

-- The options that the help explains, and --help itself: others are there to be refused in words of their own.
local function option_words(declared, explained)
  local list = {}
  for _, o in ipairs(declared.all) do
    for _, word in ipairs({ o.letter and "-" .. o.letter or false, o.long and "--" .. o.long or false }) do
      local about = word and (explained[word] or o.letter and explained["-" .. o.letter])
      list[#list + 1] = word and (about or o.final) and { word, about or nil } or nil
    end
  end
  return list
end

-- The option whose argument is to follow, or nil; `given` was read with HERE for that argument.
local function awaiting(declared, given)
  for _, o in ipairs(declared.all) do
    local value = given[o.name]
    if o.arg and (value == HERE or type(value) == "table" and value[#value] == HERE) then
      return o
    end
  end
end

-- The files that options name.
local function capture_of(given)
  return given.replay and table.concat(given.replay, "\n")
end

-- A field of a report that may be a function of the options instead; nil if it cannot be had.
local function field_of(report, name, given)
  local value = report["make_" .. name] or report[name]
  if type(value) == "function" then
    local ok, result = pcall(value, given)
    value = ok and result or nil
  end
  return value
end

local function columns_of(report, given)
  local list = {}
  for _, column in ipairs(report and field_of(report, "columns", given) or {}) do
    list[#list + 1] = { column.title or column[1] }
  end
  return list
end

-- What operands of a report are: selectors of kstats with the names of its rows.
local function selectors_of(report, given)
  local list = report.selectors or field_of(report, "select", given) or {}
  return report.operands ~= false and (type(list) == "table" and list[1] ~= nil and list or { list }) or {}
end

-- Candidates for the argument of an option, by what the option calls it; "files".
local function arguments(o, given, report)
  local kind = o.arg:lower()
  local list = {}
  for i, word in ipairs(o.values or {}) do
    list[i] = { word }
  end
  if o.values then
    return list
  elseif FILES[kind] then
    return "files"
  elseif kind == "column" then
    return columns_of(report, given)
  elseif FIELDS[kind] then
    return values.field(kind, given, capture_of(given))
  end
  for word in o.arg:gmatch("[^|]+") do
    list[#list + 1] = kind == o.arg and { word } or nil
  end
  return list
end

-- Candidates for an operand: selectors, names of kstats, "files".
local function operands(word, declared, given, report)
  local kind = declared.operands or report and selectors_of(report, given) or {}
  if kind == "selector" or kind == "view" then
    return values.operand(word, given.c, capture_of(given))
  elseif kind == "files" then
    return kind
  end
  return values.names(kind, capture_of(given))
end

-- Candidates for an operand that may be the name of a script, too.
local function with_scripts(list, scripts)
  if scripts == "files" or list == "files" then
    return #list > 0 and list or scripts
  end
  for _, script in ipairs(scripts) do
    list[#list + 1] = script
  end
  return list
end

-- Candidates for the word behind some others, for a command with these options. scripts: those for an operand, if it
-- may be one.
local function candidates(words, word, declared, explained, report, scripts)
  local before, start = { (table.unpack or unpack)(words) }, ""
  for _, o in ipairs(declared.all) do
    o.type = nil -- HERE is no number
  end
  declared.report = nil
  local long = word:match("^%-%-[^=]+=")
  if long then
    before[#before + 1], start = long:sub(1, -2), long
  end
  before[#before + 1] = HERE
  local given = options.read(declared, before)
  if not given then
    return {}
  end
  local o = awaiting(declared, given)
  if o then
    return arguments(o, given, report), start
  elseif word:find("^%-") and not long then
    return given.operands[#given.operands] == HERE and option_words(declared, explained) or {}, ""
  elseif given.operands[#given.operands] == HERE then
    return with_scripts(operands(word, declared, given, report), scripts or {}), ""
  end
  return {}
end

-- --- command lines --------------------------------------------------------------------------------------------

-- How many words of the host's command line are up to the script, which is the last of them; nil: there is none yet.
local function find_script(declared, words)
  local upto = {}
  for i, word in ipairs(words) do
    upto[i] = word
    local given = options.read(declared, upto)
    if given and #given.operands == 1 then
      return i, given
    end
  end
end

-- Candidates for the name of a script.
local function scripts_of(abouts, word)
  local list, some = {}, false
  for name, about in abouts:gmatch("  (%S+) +([^\n]*)\n") do
    list[#list + 1] = { name, about }
    some = some or name:sub(1, #word) == word
  end
  return some and list or "files"
end

-- Candidates for a word of a tool's command line.
local function of_tool(host, name, words, word)
  local chunk = host.load(name)
  if not chunk then
    return "files"
  end
  local read = options.read
  local declared, explained, report = ask(chunk, name)
  options.read = read
  if not declared then
    return {}
  end
  local scripts
  if declared.operands == "view" then -- which may be a script, and its words then
    local at = find_script(declared, words)
    if at and host.load(words[at]) then
      return of_tool(host, words[at], { (table.unpack or unpack)(words, at + 1) }, word)
    end
    scripts = not at and scripts_of(host.abouts, word) or nil
  end
  return candidates(words, word, declared, explained, report, scripts)
end

local function of_host(host, words, word)
  local declared, explained = host_options(host.usage)
  local at, given = find_script(declared, words)
  if at then
    values.default_capture = given.r and given.r[#given.r]
    return of_tool(host, words[at], { (table.unpack or unpack)(words, at + 1) }, word)
  end
  return candidates(words, word, declared, explained, nil, scripts_of(host.abouts, word))
end

--- Returns the candidates for the last word of a command line.
-- @tparam {string,...} words the command line, unquoted: the command, and the words up to the cursor
-- @tparam table host `usage`: the host's --help; `abouts`: the lines on installed scripts; `load`: function(name) that
-- returns the function of an installed script, or nil
-- @treturn string lines as said above
function complete.lines(words, host)
  local command = (words[1] or ""):match("[^/]*$")
  local before, word = { (table.unpack or unpack)(words, 2, #words - 1) }, #words > 1 and words[#words] or ""
  local list, start
  if command:find("^kstatlua") then
    list, start = of_host(host, before, word)
  else
    list, start = of_tool(host, command, before, word)
  end
  if list == "files" then
    return "\tfiles\n"
  end
  local out = {}
  for _, candidate in ipairs(list) do
    local text = (start or "") .. candidate[1]
    if text:sub(1, #word) == word and not text:find("%c") then
      out[#out + 1] = text .. "\t" .. (candidate[2] or ""):gsub("%c+", " ") .. "\n"
    end
  end
  return table.concat(out)
end

return complete
