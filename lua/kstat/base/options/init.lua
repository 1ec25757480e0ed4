--- Command lines: getopt-style options, long ones too, and the operands. Every command reads its own here.
--
-- An option is declared as `{ letter, name, help =, arg =, default =, type =, long = }`: `-n 5`, `-n5` and
-- `--name 5`, `--name=5` set options.name; one without `arg` is a switch; `type = "number"` checks and converts,
-- `"count"` also that it is whole and above 0, `"word"` is one of those of `arg`, `"timestamp"` d or u. `letter` may
-- be nil. With `optional = true` only `--name=5` has an argument, and options.name is true without one. Commands that
-- are no reports may say more: `also` (a second letter), `long = false` (there is no long form), `repeated = true`
-- (options.name is an array), and `final = true` (nothing behind it is read).
--
-- Options are accepted behind operands, up to `--`; with POSIXLY_CORRECT in the environment only before them.
-- @module kstat.base.options
local interval = require("kstat.base.options.interval")
local mistake = require("kstat.base.mistake")

local options = {}

--- Whose kstats are shown: the same switch for all commands; kstat.command.opening.whose reads it.
-- @table options.whose
options.whose = { { nil, "machine", help = "kstats of the machine alone, of nobody who publishes" }, { nil, "trust",
  arg = "USER,...", help = "of those that are published, root's, one's own and those of these users" } }

--- Which part of the past is shown in place of now: the same for all commands; kstat.base.past.source reads it.
-- @table options.past
options.past = {
  { "r", "replay", arg = "FILE", repeated = true,
    help = "a recording, a directory of them or a capture in place of the machine; repeat it for more than one" },
  { nil, "from", arg = "TIME",
    help = "from there on: 14:32, yesterday 3:12, mon 9:00, -3h, 2026-11-21 14:05; without -r as recorded here" },
  { nil, "to", arg = "TIME", help = "up to there" },
  { nil, "at", arg = "TIME", help = "the one interval that ends then, of as many seconds as the interval" },
  { nil, "host", arg = "NAME", help = "of recordings of several machines, those of this one" },
}

--- Reports on a screen, see kstat.top: `read` gives true, unless the report has an option of that name of its own.
-- @table options.watch
options.watch = { nil, "watch", screen = true,
  help = "on a terminal each report in place of the one before, with the keys of top (h lists them)" }

-- What every report understands; a report's own letter takes precedence.
local STANDARD = {
  { "j", "json", help = "JSON, an object a line" }, { nil, "csv", help = "comma-separated values" },
  { nil, "openmetrics", help = "OpenMetrics text, at the end; an interval needs a count" },
  { "y", "skip_first", long = "skip-first", help = "leave out the first report, which is since creation" },
  { "z", "skip_idle", long = "skip-idle", help = "leave out rows whose numbers are all 0" },
  { "T", "timestamp", arg = "d|u", type = "timestamp",
    help = "the time before each report: d a date, u seconds since 1970" },
  { nil, "sort", arg = "COLUMN", help = "sort by that column, descending; -COLUMN ascending" },
  { nil, "top", arg = "N", type = "count", help = "only the first N rows" },
  { nil, "summary",
    help = "at the end the average, least and greatest value and the p99 of each column, over all intervals" },
  { nil, "color", arg = "always|never|auto", type = "word", default = "auto", help = "colours; auto: on a terminal" },
  options.watch,
}
local HELP = { { "h", "help", final = true, help = "this" } } -- the last one of the list that it prints
-- What else is in the table of options.
local TAKEN = { first = true, interval = true, count = true, operands = true }
local OWN_FIELDS = { help = "string", arg = "string", long = "string", type = "string", default = "any",
  values = "table", optional = "boolean" }

local function check_own(own)
  local letters, names = {}, {}
  for i, o in ipairs(own or {}) do
    if type(o) ~= "table" or type(o[2]) ~= "string" or o[1] ~= nil and not tostring(o[1]):find("^%w$") then
      mistake.raise("option %d: { letter, name, … } expected, the letter a single one or nil", i)
    end
    for field, value in pairs(o) do
      local kind = OWN_FIELDS[field]
      if field ~= 1 and field ~= 2 and not kind then
        local line = require("kstat.base.unknown").word("unknown field", tostring(field), OWN_FIELDS)
        mistake.raise("option '%s': %s", o[2], line)
      elseif kind and kind ~= "any" and type(value) ~= kind then
        mistake.raise("option '%s': %s: a %s expected, not %s", o[2], field, kind, tostring(value))
      end
    end
    if o.type and o.type ~= "number" and o.type ~= "count" and o.type ~= "word" then
      mistake.raise("option '%s': type is 'number', 'count' or 'word', not '%s'", o[2], o.type)
    elseif TAKEN[o[2]] then
      mistake.raise("option '%s': options.%s is taken, choose another name", o[2], o[2])
    elseif names[o[2]] or o[1] and letters[o[1]] then
      mistake.raise("option '%s': there is another with that %s", o[2], names[o[2]] and "name" or
        "letter, -" .. o[1])
    end
    names[o[2]], letters[o[1] or ""] = true, true
  end
end

-- Adds a list of options; of those that share a name or a letter the first one has it.
local function add(declared, list)
  for _, o in ipairs(list) do
    local letter, name, long = o[1], o[2], o.long == nil and o[2] or o.long
    if not declared.names[name] then
      local option = { letter = not declared.by_letter[letter or ""] and letter or nil, name = name, long = long }
      for field, value in pairs(o) do
        option[field] = option[field] == nil and value or option[field]
      end
      declared.all[#declared.all + 1], declared.names[name] = option, option
      declared.by_letter[letter or ""] = declared.by_letter[letter or ""] or option
      declared.by_long[long or ""] = option
      declared.by_letter[o.also or ""] = declared.by_letter[o.also or ""] or option
    end
  end
end

--- Declares the options of a command that is no report.
-- @param ... {option,...}; the field `operands` says what else it takes: "selector", "view" (these, or a script
-- and its words), "files", or an array of selectors whose kstats it takes by their names. Shells complete operands by
-- it, and arguments of options by what `arg` calls them: FILE, COLUMN, MODULE, or words with bars between them; or by
-- the option's array `values`.
-- @treturn table for `read`
function options.command(...)
  local declared = { all = {}, names = {}, by_letter = {}, by_long = {} }
  for _, list in ipairs({ ... }) do
    add(declared, list)
    declared.operands, declared.command = declared.operands or list.operands, declared.command or list.command
  end
  return declared
end

--- Options without a long form, which are called by their letters.
-- @string switches their letters
-- @string with_argument the letters of those that take an argument
-- @treturn {option,...}
function options.letters(switches, with_argument)
  local list = {}
  for letter in (switches .. with_argument):gmatch(".") do
    local arg = with_argument:find(letter, 1, true) and "" or nil
    list[#list + 1] = { letter, letter, long = false, arg = arg }
  end
  return list
end

--- Checks and declares a report's options, see kstat.report.declare.
-- @tparam[opt] {option,...} own
-- @string[opt] name the report's, for options of others (kstat.base.options.others)
-- @treturn table for `read`
function options.declare(own, name)
  check_own(own)
  local declared = options.command(own or {}, STANDARD, options.past, options.whose, HELP)
  declared.report, declared.command = true, name
  return declared
end

local function convert(o, value)
  local number, shown = tonumber(value), (#(o.long or "") == 1 and "-" or "--") .. (o.long or "")
  if o.type == "timestamp" then
    local first = value:match("^[du]")
    return first, ("-T takes d or u, not '%s'"):format(value)
  elseif o.type == "user" then
    local user = require("kstat.core").user_number(value)
    return user and o.pattern:format((value:gsub("[^%w]", "\\%0"))), ("%s: there is no user '%s'"):format(shown, value)
  elseif o.type == "word" then
    local words = "|" .. o.arg .. "|"
    return words:find("|" .. value .. "|", 1, true) and value or nil, ("%s takes %s, not '%s'%s"):format(shown,
      o.arg:gsub("|", ", "):gsub("(.*), ", "%1 or "), value, o.instead or "")
  elseif o.type and not number then
    return nil, ("%s takes a number, not '%s'"):format(shown, value)
  elseif o.type == "count" and not (number >= 1 and number % 1 == 0) then
    return nil, ("%s takes a whole number above 0, not '%s'"):format(shown, value)
  end
  return o.type and number or value
end

-- Reads one option: `word`, and the next one if that is its argument. shown: the option as it was typed; attached:
-- the argument that is in the same word. Returns what is wrong, or nil.
local function set(reading, o, shown, attached)
  local values, value = reading.values, attached
  for name, fixed in pairs(o.sets or {}) do
    values[name] = values[name] or fixed
  end
  if not o.arg or o.optional and not attached then
    values[o.name] = o.value or true
    reading.final = o.final
    return nil
  elseif not value then
    reading.at = reading.at + 1
    value = reading.words[reading.at]
  end
  if not value then
    return ("%s needs an argument%s"):format(shown, o.arg ~= "" and (" (%s)"):format(o.arg) or "")
  end
  value = o.map and o.map[value] or value
  local result, message = convert(o, tostring(value))
  if result ~= nil and o.repeated then
    values[o.name] = values[o.name] or {}
    table.insert(values[o.name], result)
  else
    values[o.name] = result
  end
  return result == nil and message or nil
end

local function read_long(reading, declared, word)
  local name, equals, attached = word:match("^%-%-([^=]+)(=?)(.*)$")
  local o = name and declared.by_long[name]
  if not o then
    local longs = {}
    for long in pairs(declared.by_long) do
      longs["--" .. long] = true
    end
    return require("kstat.base.unknown").line("unknown option", word, longs)
  elseif equals ~= "" and not o.arg then
    return ("--%s takes no argument"):format(name)
  end
  return set(reading, o, "--" .. name, equals ~= "" and attached or nil)
end

-- What a letter means to others: an option, or what is to be typed in its place. Of one that is ours, too, the second
-- result is what is wrong with what follows it, and the third an option in its place where nothing follows it.
local function of_others(reading, declared, letter, behind)
  local other = (require("kstat.base.options.others")[declared.command] or {})[letter]
  local follows = tostring(behind ~= "" and behind or reading.words[reading.at + 1])
  if type(other) ~= "table" or other.name then
    return other
  elseif other.alone and (follows == "nil" or follows:find("^%-") or behind:find("^%a+$") == 1) then
    return nil, nil, other.alone
  elseif other.note and require("kstat.core").terminal(2) then
    require("kstat.base.running").warn_later({ other.note })
  end
  return nil, other.follows and follows:find(other.follows) and other.hint
end

local function read_letters(reading, declared, word)
  for at = 2, #word do
    local letter = word:sub(at, at)
    local o = declared.by_letter[letter]
    local other, problem, alone
    if declared.command then
      other, problem, alone = of_others(reading, declared, letter, word:sub(at + 1))
    end
    o = alone or o or type(other) == "table" and other
    if problem then
      return problem
    elseif not o and other then
      return ("there is no option '-%s'; %s"):format(letter, other)
    elseif not o then
      local times = declared.names.from and (letter == "s" or letter == "e") -- as those of sar and sadf are called
      return ("unknown option '-%s'%s"):format(letter, times and "; --from and --to bound a time of the past" or "")
    end
    local message = set(reading, o, "-" .. letter, at < #word and word:sub(at + 1) or nil)
    if message or o.arg or reading.final then
      return message
    end
  end
  return nil
end

-- The last one or two operands of a report, if they are numbers, are interval and count.
local function take_numbers(values)
  local seconds, count = interval.take_last(values.operands)
  seconds = seconds or values.interval or values.count and 1
  count = count or values.count
  if not seconds then
    return nil
  end
  local ok, message = interval.check(seconds, count)
  values.interval, values.count = interval.seconds(seconds), tonumber(count)
  return not ok and message or nil
end

--- Reads a command line.
-- @param declared what declare() or command() returned
-- @tparam {string,...} words
-- @treturn[1] table the options by name, with `operands`, and of a report `interval` and `count`
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function options.read(declared, words)
  local values = { operands = {} }
  for _, o in ipairs(declared.all) do
    values[o.name] = o.default
  end
  local reading = { words = words, values = values, at = 1 }
  local posix, ended = os.getenv("POSIXLY_CORRECT"), false -- which counts if it is empty, too, as for getopt(3)
  while words[reading.at] and not reading.final do
    local word, message = tostring(words[reading.at]), nil
    if ended or word == "-" or word:sub(1, 1) ~= "-" then
      values.operands[#values.operands + 1] = words[reading.at]
      ended = ended or posix ~= nil
    elseif word == "--" then
      ended = true
    elseif word:sub(1, 2) == "--" then
      message = read_long(reading, declared, word)
    else
      message = read_letters(reading, declared, word)
    end
    if message then
      return nil, message
    end
    reading.at = reading.at + 1
  end
  local message = declared.report and take_numbers(values)
  if message then
    return nil, message
  end
  return values
end

-- --- scripts that declare nothing ---------------------------------------------------------------

local TIMES = "[interval [count]]"
local SCRIPT = options.command({ { "h", "help", final = true } })

local arguments_of = setmetatable({}, { __mode = "k" }) -- what scripts said of their arguments, by these

-- Reads a script's words: the values, and the exit status and the text that end it.
local function read_script(words)
  local name = tostring(words[0] or "script")
  local usage = ("usage: %s %s"):format(name, arguments_of[words] or TIMES)
  local given, message = options.read(SCRIPT, words)
  if given and given.help then
    return nil, 0, usage
  elseif given and #given.operands > 0 and (arguments_of[words] or TIMES) == TIMES then
    local operands = { (table.unpack or unpack)(given.operands) }
    interval.take_last(operands)
    message = operands[1] and ("'%s': there are no operands but interval and count"):format(operands[1])
  end
  return given, message and 2, message and ("%s; %s"):format(message, usage)
end

--- See kstat.usage.
-- @tparam {string,...} words
-- @string arguments
-- @treturn[1] nil
-- @treturn[2] integer
function options.usage(words, arguments)
  arguments_of[words] = arguments
  local _, status, text = read_script(words)
  if status == 0 then
    io.stdout:write(text, "\n")
  elseif status then
    local name = tostring(words[0] or "script"):gsub("^.*/", ""):gsub("%.lua$", "")
    io.stderr:write(("%s: %s\n"):format(name, text))
  end
  return status
end

--- Reads the interval and the count from the words of a script, see kstat.every. Of its `arg` options and further
-- operands are refused, unless kstat.usage() said that there are some; other tables are the script's own affair.
-- @tparam {string,...} words
-- @treturn[1] string|nil the interval
-- @treturn[1] string|integer|nil the count
-- @treturn[2] boolean false
-- @treturn[2] string what the script is to end with
-- @treturn[2] int and its exit status
function options.times(words)
  local operands = { (table.unpack or unpack)(words) }
  if words == rawget(_G, "arg") then
    local given, status, text = read_script(words)
    if status then
      return false, text, status
    end
    operands = given.operands
  end
  local seconds, count = interval.take_last(operands)
  return seconds, seconds and count or not seconds and 1 or nil
end

--- The text of --help.
-- @param declared what declare() gave
-- @tparam table about `name`, `about`, `note`, `operands` (what they are, nil: names of rows, false: there are none)
-- @treturn string
function options.help(declared, about)
  local left, width = {}, 0
  for i, o in ipairs(declared.all) do
    left[i] = (o.letter and "-" .. o.letter .. ", " or "    ") .. "--" .. o.long ..
      (o.optional and "[=" .. o.arg .. "]" or o.arg and " " .. o.arg or "")
    width = math.max(width, #left[i])
  end
  local operands = about.operands ~= false and (" [%s ...]"):format(about.operands or "name") or ""
  local out = {
    ("usage: kstatlua %s [options]%s [interval [count]]\n"):format(about.name, operands),
    about.about and about.about .. "\n" or "", about.note and about.note .. "\n" or "", "\n",
  }
  for i, o in ipairs(declared.all) do
    local default = o.default ~= nil and (" (default: %s)"):format(tostring(o.default)) or ""
    out[#out + 1] = ("  %s%s  %s%s\n"):format(left[i], (" "):rep(width - #left[i]),
      o.help or "", default)
  end
  return table.concat(out)
end

return options
