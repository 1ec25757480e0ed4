--- Operands of commands: selectors, and patterns of names.
-- @module kstat.command.operand
local core = require("kstat.core")

local opening = require("kstat.command.opening")
local past = require("kstat.base.past")
local running = require("kstat.base.running")

local operand = {}

--- Reads a command line, or shows the help.
-- @tparam table declared what kstat.base.options.command returned
-- @tparam {string,...} words
-- @string usage the help
-- @tparam function wrong function(message), which ends the command
-- @treturn table the options
function operand.read(declared, words, usage, wrong)
  local given, problem = require("kstat.base.options").read(declared, words)
  if not given then
    wrong(problem)
  elseif given.help then
    running.show(usage)
  end
  return given
end

--- The same of one that ends in an interval and a count.
-- @treturn table the options
-- @treturn {string,...} the other operands
-- @treturn string|nil the interval
-- @treturn string|nil the count
function operand.command_line(declared, words, usage, wrong)
  local given = operand.read(declared, words, usage, wrong)
  local operands, seconds, count = require("kstat.base.options.interval").split(given.operands)
  if not operands then
    wrong(seconds)
  end
  return given, operands, seconds, count
end

--- Compiles operands that are selectors; ends the command with status 2 if one is wrong.
-- @tparam {string|table,...} operands
-- @string[opt] hint what the line ends with
-- @treturn {selector,...}
function operand.selectors(operands, hint)
  local selectors = {}
  for i, text in ipairs(operands) do
    local sel, message = require("kstat.read.selector").compile(text)
    selectors[i] = sel or running.stop(2, message .. (hint or ""))
  end
  return selectors
end

--- Lines about selectors that select nothing.
-- @param x a chain, a sample or a difference
-- @tparam {selector,...} selectors
-- @tparam table given the options of the command line, see kstat.command.opening.open
-- @treturn {string,...}
function operand.unmatched(x, selectors, given)
  local all
  local lines = {}
  local function everything()
    if all == nil and not past.is_read_once(given.replay and given.replay[1]) then
      local ks = opening.open(given)
      all = ks and core.select(ks)
    end
    return all
  end
  for _, sel in ipairs(selectors) do
    local module = sel:fields().module
    local how = running.command() == "kstat" and "kstat" or "select"
    for _, word in ipairs(how == "select" and given.operands or {}) do
      how = word == module and "operand" or how
    end
    lines[#lines + 1] = require("kstat.base.unknown").selector(sel, core.select(x, { sel }), everything, how)
  end
  return lines
end

--- Operands that are globs or /regular expressions/ for names.
-- @tparam {string,...} operands
-- @treturn[1] {pattern,...}
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function operand.patterns(operands)
  local patterns = {}
  for i, text in ipairs(operands) do
    local message
    patterns[i], message = core.pattern(text)
    if not patterns[i] then
      return nil, message
    end
  end
  return patterns
end

--- Whether any of the patterns matches; without any, everything does.
-- @tparam {pattern,...} patterns
-- @string text
-- @treturn boolean
function operand.matches(patterns, text)
  for _, pattern in ipairs(patterns) do
    if pattern:matches(text) then
      return true
    end
  end
  return #patterns == 0
end

--- The CPUs of a list such as 0,4-7.
-- @string[opt] text
-- @treturn[1] table|nil with the numbers as keys; nil: the list is empty
-- @treturn[1] nil|string what is wrong with it
function operand.cpus(text)
  local set = {}
  for word in (text or ""):gmatch("[^,%s]+") do
    local first, dash, last = word:match("^(%d+)(%-?)(%d*)$")
    first, last = tonumber(first), tonumber(dash == "" and first or last)
    if not last or first > last or #word > 9 then
      return nil, ("'%s' is not the number of a CPU, nor a range of them"):format(word)
    end
    for cpu = first, last do
      set[cpu] = true
    end
  end
  return next(set) and set
end

return operand
