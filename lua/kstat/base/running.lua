--- How a command ends, warns and writes: the one place for its exit status and for its lines on standard error.
-- @module kstat.base.running
local core = require("kstat.core")

local stdout = require("kstat.base.stdout")

local running = {}

local stopped = {} -- the metatable of what stop() raises
local command = "kstat" -- the name of the one that runs
local printed = {} -- the lines that it has printed on standard error
local waiting = {} -- those that it prints after the tick
local missed = false -- whether nothing that was asked for by name is there

--- The name of the command that runs.
-- @treturn string
function running.command()
  return command
end

--- Ends the command that running.run runs.
-- @int status the exit status
-- @string[opt] message the line for the person, without the command's name and a newline
-- @string[opt] text what is written to standard error as it is in its place
-- @raise always
function running.stop(status, message, text)
  error(setmetatable({ status = status, message = message, text = text }, stopped), 0)
end

--- Makes what ends the command because its command line is wrong.
-- @string help the command that explains how it is right
-- @treturn function function(message)
function running.refusal(help)
  return function(message) running.stop(2, ("%s; '%s' explains"):format(message, help)) end
end

local WIDEST = 200 -- columns of a line that repeats what somebody typed

-- A line as a terminal and a log may have it, whatever words are in it; where it is too long for people these are
-- shortened, paths last.
local function shown(line)
  local text = require("kstat.base.text")
  line = core.printable(line)
  if #line > WIDEST then
    local whole = #line <= 2 * WIDEST and "/" or "\n"
    line = line:gsub("[^%s]+", function(word)
      return #word > 60 and not word:find(whole, 1, true) and text.shorten(word:sub(1, 4000), 60) or nil
    end)
  end
  return #line > 2 * WIDEST and text.shorten(line:sub(1, 4000), WIDEST - #command - 2) or line
end

--- Prints a line on standard error in the command's name. What others named, such as files, shows as it is fit for a
-- terminal and a log.
-- @string line without a newline
function running.tell(line)
  core.progress(0)
  io.stderr:write(("%s: %s\n"):format(command, shown(line)))
end

--- The same, unless warn() has printed that line before.
-- @string line without a newline
function running.warn(line)
  if not printed[line] then
    printed[line] = true
    running.tell(line)
  end
end

--- Lets warn() print again what it has printed, and a chain say again what it still cannot read.
-- @tparam chain ks
function running.warn_again(ks)
  printed = {}
  core.warn_again(ks)
end

--- Prints lines after the tick's output, as warn() does.
-- @tparam {string,...} lines
function running.warn_later(lines)
  for _, line in ipairs(lines) do
    waiting[#waiting + 1] = line
  end
end

--- Prints, after the tick's output, lines about names that nothing has. If these are all that were asked for, a
-- command that all goes well for otherwise ends with status 1.
-- @tparam {string,...} lines
-- @int asked how many names were asked for
function running.missing(lines, asked)
  running.warn_later(lines)
  missed = missed or asked > 0 and #lines >= asked
end

--- Prints what a chain could not read, each thing once, and the lines that wait; behind what was written so far.
-- @tparam chain ks
function running.warnings(ks)
  local lines = core.chain_methods.warnings(ks)
  if waiting[1] or lines[1] then
    running.flush()
  end
  for i = 1, #waiting do
    running.warn(waiting[i])
    waiting[i] = nil
  end
  for i = 1, #lines do
    running.warn((lines[i]:gsub("%s*\n%s*", " ")))
  end
end

-- Returns the message and the status of an error, and the text in place of the message of a mistake in the command.
local function with_traceback(problem)
  if type(problem) == "string" then
    local failed, status = core.failed(problem)
    return problem, failed and status or 3, not failed and debug.traceback(command .. ": " .. problem, 3) .. "\n" or nil
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
    running.warn(result.message)
  end
  return result.status
end

--- Runs the body of a command. What ends it early is one line on standard error: what running.stop was given, or
-- what core.fail raised, with status 3; a mistake in the command has a traceback, and status 3 too.
-- @string name the command's
-- @func main the body; returns the exit status
-- @func[opt] explain function(problem) that returns the message and the status for another error
-- @treturn int the exit status
-- @raise errors that are neither text nor running.stop's, as they are: by such a one the host breaks a script off
-- when it is interrupted, or when nobody reads its output any more, and ends the process accordingly
function running.run(name, main, explain)
  local before, lines, other_missed = command, printed, missed
  command, printed, waiting, missed = name, {}, {}, false
  local ok, status = pcall(run, main, explain or with_traceback)
  status = ok and status == 0 and missed and 1 or status
  command, printed, missed = before, lines, other_missed
  core.looping(false)
  if not ok then
    error(status, 0)
  end
  return status
end

--- Ends the command if a function that writes to standard output failed, see kstat.base.stdout.check: with status 3, or
-- quietly with 0 if the reader went away.
-- @param ... what the function returned
-- @return its first result
function running.written(...)
  local ok, message = stdout.check(...)
  return ok or running.stop(ok == false and 0 or 3, message)
end

--- Writes to standard output; ends the command if that fails.
-- @param ... texts
function running.write(...)
  local ok, message = stdout.write(...)
  return ok or running.stop(ok == false and 0 or 3, message)
end

--- Flushes standard output; ends the command if that fails.
function running.flush()
  local ok, message = stdout.flush()
  return ok or running.stop(ok == false and 0 or 3, message)
end

--- Writes a text and ends the command with status 0.
-- @string text
function running.show(text)
  running.write(text)
  running.flush()
  running.stop(0)
end

return running
