--- What the tools have in common.
-- @module kstat.tool
local core = require("kstat.core")

local stdout = require("kstat.stdout")

local tool = {}

-- --- running ----------------------------------------------------------------------------------

local stopped = {} -- the metatable of what stop() raises
local running = "kstat" -- the name of the command that runs
local printed = {} -- the lines that it has printed on standard error
local waiting = {} -- those that it prints after the tick
local missed = false -- whether nothing that was asked for by name is there

--- Ends the command that tool.run runs.
-- @int status the exit status
-- @string[opt] message the line for the person, without the command's name and a newline
-- @string[opt] text what is written to standard error as it is in its place
-- @raise always
function tool.stop(status, message, text)
  error(setmetatable({ status = status, message = message, text = text }, stopped), 0)
end

local WIDEST = 200 -- columns of a line that repeats what somebody typed

-- A line as a terminal and a log may have it, whatever words are in it; where it is too long for people these are
-- shortened, paths last.
local function shown(line)
  local text = require("kstat.text")
  line = core.printable(line)
  if #line > WIDEST then
    local whole = #line <= 2 * WIDEST and "/" or "\n"
    line = line:gsub("[^%s]+", function(word)
      return #word > 60 and not word:find(whole, 1, true) and text.shorten(word:sub(1, 4000), 60) or nil
    end)
  end
  return #line > 2 * WIDEST and text.shorten(line:sub(1, 4000), WIDEST - #running - 2) or line
end

--- Prints a line on standard error in the command's name. What others named, such as files, shows as it is fit for a
-- terminal and a log.
-- @string line without a newline
function tool.tell(line)
  core.progress(0)
  io.stderr:write(("%s: %s\n"):format(running, shown(line)))
end

--- The same, unless warn() has printed that line before.
-- @string line without a newline
function tool.warn(line)
  if not printed[line] then
    printed[line] = true
    tool.tell(line)
  end
end

--- Lets warn() print again what it has printed, and a chain say again what it still cannot read.
-- @tparam chain ks
function tool.warn_again(ks)
  printed = {}
  core.warn_again(ks)
end

--- Prints lines after the tick's output, as warn() does.
-- @tparam {string,...} lines
function tool.warn_later(lines)
  for _, line in ipairs(lines) do
    waiting[#waiting + 1] = line
  end
end

--- Prints, after the tick's output, lines about names that nothing has. If these are all that were asked for, a
-- command that all goes well for otherwise ends with status 1.
-- @tparam {string,...} lines
-- @int asked how many names were asked for
function tool.missing(lines, asked)
  tool.warn_later(lines)
  missed = missed or asked > 0 and #lines >= asked
end

--- Prints what a chain could not read, each thing once, and the lines that wait; behind what was written so far.
-- @tparam chain ks
function tool.warnings(ks)
  local lines = core.chain_methods.warnings(ks)
  if waiting[1] or lines[1] then
    tool.flush()
  end
  for i = 1, #waiting do
    tool.warn(waiting[i])
    waiting[i] = nil
  end
  for i = 1, #lines do
    tool.warn((lines[i]:gsub("%s*\n%s*", " ")))
  end
end

-- Returns the message and the status of an error, and the text in place of the message of a mistake in the command.
local function with_traceback(problem)
  if type(problem) == "string" then
    local failed, status = core.failed(problem)
    return problem, failed and status or 3, not failed and debug.traceback(running .. ": " .. problem, 3) .. "\n" or nil
  end
end

local function run(main, explain)
  local ok, result = xpcall(main, function(problem)
    if getmetatable(problem) == stopped then
      return problem
    end
    local message, status, text = explain(problem)
    return message and setmetatable({ status = status, message = message, text = text }, stopped) or problem
  end)
  if ok then
    return result
  elseif getmetatable(result) ~= stopped then
    error(result, 0)
  elseif result.text then
    io.stdout:flush()
    io.stderr:write(result.text)
  elseif result.message then
    io.stdout:flush()
    tool.warn(result.message)
  end
  return result.status
end

--- Runs the body of a command. What ends it early is one line on standard error: what tool.stop was given, or
-- what core.fail raised, with status 3; a mistake in the command has a traceback, and status 3 too.
-- @string name the command's
-- @func main the body; returns the exit status
-- @func[opt] explain function(problem) that returns the message and the status for another error
-- @treturn int the exit status
-- @raise errors that are neither text nor tool.stop's, as they are: by such a one the host breaks a script off
-- when it is interrupted, or when nobody reads its output any more, and ends the process accordingly
function tool.run(name, main, explain)
  local before, lines, other_missed = running, printed, missed
  running, printed, waiting, missed = name, {}, {}, false
  local ok, status = pcall(run, main, explain or with_traceback)
  status = ok and status == 0 and missed and 1 or status
  running, printed, missed = before, lines, other_missed
  core.looping(false)
  if not ok then
    error(status, 0)
  end
  return status
end

-- --- output -------------------------------------------------------------------------------------

--- Ends the command if a function that writes to standard output failed, see kstat.stdout.check: with status 3, or
-- quietly with 0 if the reader went away.
-- @param ... what the function returned
-- @return its first result
function tool.written(...)
  local ok, message = stdout.check(...)
  return ok or tool.stop(ok == false and 0 or 3, message)
end

--- Writes to standard output; ends the command if that fails.
-- @param ... texts
function tool.write(...)
  local ok, message = stdout.write(...)
  return ok or tool.stop(ok == false and 0 or 3, message)
end

--- Flushes standard output; ends the command if that fails.
function tool.flush()
  local ok, message = stdout.flush()
  return ok or tool.stop(ok == false and 0 or 3, message)
end

--- Writes a text and ends the command with status 0.
-- @string text
function tool.show(text)
  tool.write(text)
  tool.flush()
  tool.stop(0)
end

-- --- command lines -----------------------------------------------------------------------------

--- Drivers that are in Linux's list of disks whether these are used or not: short forms pass over them.
-- @table passed_over
tool.passed_over = { fd = true, loop = true, ram = true, zram = true, sr = true }

--- The data formats that options name, by their long forms.
-- @table formats
tool.formats = { "json", "csv", "openmetrics" }

--- The data format that a command writes.
-- @tparam table given options
-- @treturn string|nil one of `formats`; nil: people read the output
function tool.format(given)
  for _, format in ipairs(tool.formats) do
    if given[format] then
      return format
    end
  end
  return nil
end

--- The line of -T.
-- @string how "u": seconds since 1970, "d": a date
-- @int seconds since 1970
-- @treturn string with a newline
function tool.timestamp(how, seconds)
  return (how == "u" and ("%d"):format(seconds) or os.date("%a %b %e %H:%M:%S %Z %Y", seconds)) .. "\n"
end

--- The time of day of a sample in whole seconds, as clocks show it: rounded if it follows the snaptimes.
-- @tparam sample now
-- @treturn int seconds since 1970
function tool.clock(now)
  return (select(3, core.sample_time_of_day(now)))
end

-- A date as ISO 8601 has it: local time, with its distance from UTC, such as 2026-11-21T14:05:00+01:00.
local function iso_date(seconds)
  return (os.date("%Y-%m-%dT%H:%M:%S%z", seconds):gsub("(%d%d)$", ":%1"))
end

--- When a tick was, as the data formats of kstat.output have it.
-- @string form "json", "csv" or "openmetrics"
-- @tparam[opt] string timestamp "d": CSV has dates
-- @tparam sample now
-- @tparam difference d
-- @tparam bool first whether d is since creation
-- @treturn table `time`, `elapsed`, `first`
function tool.moment(form, timestamp, now, d, first)
  return { time = form == "csv" and timestamp == "d" and iso_date(tool.clock(now)) or now.time_of_day,
    elapsed = d.elapsed, first = first }
end

--- Compiles operands that are selectors; ends the command with status 2 if one is wrong.
-- @tparam {string|table,...} operands
-- @string[opt] hint what the line ends with
-- @treturn {selector,...}
function tool.selectors(operands, hint)
  local selectors = {}
  for i, operand in ipairs(operands) do
    local sel, message = require("kstat.selector").compile(operand)
    selectors[i] = sel or tool.stop(2, message .. (hint or ""))
  end
  return selectors
end

--- Lines about selectors that select nothing.
-- @param x a chain, a sample or a difference
-- @tparam {selector,...} selectors
-- @tparam table given the options of the command line, see open()
-- @treturn {string,...}
function tool.unmatched(x, selectors, given)
  local all
  local lines = {}
  local function everything()
    if all == nil and not (given.replay and given.replay[1] == "-") then
      local ks = tool.open(given)
      all = ks and core.select(ks)
    end
    return all
  end
  for _, sel in ipairs(selectors) do
    local module = sel:fields().module
    local how = running == "kstat" and "kstat" or "select"
    for _, operand in ipairs(how == "select" and given.operands or {}) do
      how = operand == module and "operand" or how
    end
    lines[#lines + 1] = require("kstat.unknown").selector(sel, core.select(x, { sel }), everything, how)
  end
  return lines
end

--- Operands that are globs or /regular expressions/ for names.
-- @tparam {string,...} operands
-- @treturn[1] {pattern,...}
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function tool.patterns(operands)
  local patterns = {}
  for i, operand in ipairs(operands) do
    local message
    patterns[i], message = core.pattern(operand)
    if not patterns[i] then
      return nil, message
    end
  end
  return patterns
end

local accounts = {} -- names of users by their numbers

--- The name of a user of this machine; his number where he has none.
-- @tparam int|nil uid
-- @treturn string|nil
function tool.user_name(uid)
  if uid and not accounts[uid] then
    accounts[uid] = core.user_name(uid) or ("%.0f"):format(uid)
  end
  return uid and accounts[uid]
end

--- Whether any of the patterns matches; without any, everything does.
-- @tparam {pattern,...} patterns
-- @string text
-- @treturn boolean
function tool.matches(patterns, text)
  for _, pattern in ipairs(patterns) do
    if pattern:matches(text) then
      return true
    end
  end
  return #patterns == 0
end

--- The fields of kstat.open for the options that say whose kstats a command shows, kstat.options.whose; ends the
-- command with status 2 if they do not go together.
-- @tparam table given the options of the command line
-- @tparam[opt] table source fields to add them to
-- @treturn table source
function tool.whose(given, source)
  source = source or {}
  if given.machine and given.trust then
    tool.stop(2, "--machine and --trust cannot be used together")
  end
  source.machine = given.machine
  if given.trust then
    source.trust = {}
    for user in given.trust:gmatch("[^,]+") do
      source.trust[#source.trust + 1] = user
    end
  end
  return source
end

--- The field `args` of kstat.open for a command whose output is kept or sent: command lines of processes hold secrets,
-- so that they are in it only if --args asks for them. Tells those who name them without that, or have no processes.
-- @tparam table given the options of the command line
-- @tparam {selector,...} selectors
-- @treturn boolean
function tool.args(given, selectors)
  local has_processes, has_args = false, false
  for _, sel in ipairs(selectors) do
    local fields = sel:fields()
    has_processes = has_processes or fields.module == "process" or fields.class:find("^process") ~= nil
    has_args = has_args or fields.class == "process_args" or fields.statistic == "psargs" or
      fields.name:find(",args", 1, true) ~= nil
  end
  if has_args and not given.args then
    tool.warn("command lines of processes, which may hold secrets, are left out; --args takes them, too")
  elseif given.args and not has_processes then
    tool.warn("--args: there are no processes without an operand that names them: process")
  end
  return given.args or false
end

--- The end of the one interval that a command line asks for: --at, or in its place `$KSTAT_AT`, which `kstatlua --at`
-- sets for the command behind it.
-- @tparam table given the options of the command line
-- @treturn string|nil
function tool.at(given)
  local named = not (given.from or given.to) and os.getenv("KSTAT_AT")
  return given.at or named ~= "" and named or nil
end

--- The fields of kstat.open for the options that say which part of the past a command shows, kstat.options.past; ends
-- the command with status 2 if they do not go together.
-- @tparam table given the options of the command line, with `interval` and `count`
-- @tparam[opt] table source fields to add them to
-- @treturn table source; without any it is the machine, or what the environment names
function tool.past(given, source)
  source = source or {}
  local at = tool.at(given)
  if given.at and (given.from or given.to) then
    tool.stop(2, "--at is the end of one interval, and --from and --to bound many: they cannot be used together")
  elseif at and given.interval and given.count and given.count > 1 then
    tool.stop(2, "--at is the end of one interval, which has no count; --from and --to bound many")
  elseif given.replay then
    source.capture = type(given.replay) == "table" and table.concat(given.replay, "\n") or given.replay
  end
  source.interval = at and given.interval or nil
  source.from, source.to, source.at, source.host = given.from, given.to, source.interval and at or given.at, given.host
  return source
end

--- The exit status for a chain that could not be opened: 2 the command line, 1 there is no interval that ends then,
-- 3 the source.
-- @tparam table given the options of the command line
-- @string errname
-- @treturn int
function tool.not_opened(given, errname)
  local asks = given.from or given.to or given.at or given.host
  if errname == "EINVAL" and (asks or given.trust) or errname == "ENOENT" and asks and not given.replay then
    return 2
  end
  return errname == "ENODATA" and (given.at or os.getenv("KSTAT_AT")) and 1 or 3
end

local function finish_reading(...)
  core.progress(-1)
  return ...
end

--- Calls a function that may read many samples of the past. What takes more than a second shows how far it is, on a
-- terminal.
-- @func f
-- @param ... its arguments
-- @return what f returns
function tool.reading(f, ...)
  core.progress(1)
  return finish_reading(f(...))
end

--- Opens what a command line names: the machine, or the past, see kstat.options.past. A recording of several machines
-- is refused, unless --host chooses one, or is "*" and each row says which one it is of.
-- @tparam table given its options: those of kstat.options.past and kstat.options.whose, and `interval` and `count`;
-- `names_hosts`: each row does
-- @tparam[opt] {selector,...} only see kstat.open
-- @tparam[opt] boolean|"own" published see kstat.open; "own": root and this user are trusted; of the past everything
-- @treturn[1] chain
-- @treturn[2] nil
-- @treturn[2] string what is wrong
-- @treturn[2] int the exit status, see tool.not_opened
function tool.open(given, only, published)
  local source = tool.past(given, tool.whose(given, { only = only }))
  local past = source.capture or source.from or source.to or source.at or source.host
  if published == "own" then
    source.trust = source.trust or not given.machine and {} or nil
  elseif not past and not (given.machine and published) then
    source.published = published
  end
  local chain = require("kstat.chain")
  local ks, message, errname = tool.reading(chain.open, source)
  local problem = ks and chain.several_machines(ks, source, given.names_hosts)
  if problem then
    ks:close()
    return nil, problem, 3
  end
  return ks, message, not ks and tool.not_opened(given, errname) or nil
end

return tool
