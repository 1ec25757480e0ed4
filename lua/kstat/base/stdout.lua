--- Standard output as loops and commands use it: writing, and what a failure means.
--
-- A reader that went away (a closed pipe) is no failure: nothing is left to do, and there is nobody to say it to.
-- @module kstat.base.stdout
local core = require("kstat.core")
local variable = require("kstat.base.environment").variable

local stdout = {}

stdout.MOST_COLUMNS = 2000 -- and rows of a window

local EPIPE = 32 -- the errno of a pipe without a reader, on every Linux

--- Classifies the results of a function that writes to standard output.
-- @param ok what the function returned first
-- @tparam[opt] string message
-- @tparam[opt] integer|string errno its number or its name
-- @return[1] ok, if it is true
-- @treturn[2] boolean false: the reader went away
-- @treturn[3] nil
-- @treturn[3] string message
function stdout.check(ok, message, errno)
  if ok then
    return ok
  elseif errno == EPIPE or errno == "EPIPE" or errno == 0 and core.interrupted() then
    return false -- 0: what print() wrote failed earlier; a broken pipe interrupts as well
  end
  return nil, message
end

--- Writes to standard output.
-- @param ... texts
-- @return as `check`
function stdout.write(...)
  local ok, message, errno = io.stdout:write(...)
  return stdout.check(ok, message and "standard output: " .. message, errno)
end

--- Flushes standard output. Earlier failures, which print() does not report, count as well.
-- @return as `check`
function stdout.flush()
  local ok, message, errno = core.flush(io.stdout)
  return stdout.check(ok, message and "standard output: " .. message, errno)
end

-- What a variable says of the window; nil: nothing.
local function said(name)
  local number = tonumber(variable(name) or "")
  return number and number >= 1 and math.floor(math.min(number, stdout.MOST_COLUMNS)) or nil
end

--- The size of the window that standard output is shown in: of the terminal, or of what $COLUMNS and $LINES say, as
-- watch(1) does for the commands that it runs.
-- @treturn integer|nil columns; nil: there is no window
-- @treturn integer|nil rows; nil: their number is not known
function stdout.window()
  local columns, rows = core.terminal(1)
  return columns or said("COLUMNS"), rows or said("LINES")
end

return stdout
