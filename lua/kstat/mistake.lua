--- Mistakes in what a script declares: one line that names the place in the script.
--
-- Nothing but that line is of use to whoever runs the script, so the host shows no traceback.
--
-- @module kstat.mistake
local core = require("kstat.core")

local mistake = {}

local raised = {} -- the metatable of a mistake

--- Raises a mistake.
-- @string format for string.format
-- @param ...
function mistake.raise(format, ...)
  error(setmetatable({ message = format:format(...) }, raised), 0)
end

--- Returns the line of a mistake; nil for any other error.
-- @param problem an error value
-- @treturn string|nil
function mistake.message(problem)
  return getmetatable(problem) == raised and problem.message or nil
end

-- Returns the place `level` calls above this function's caller: "report.lua:3: ". A tail call
-- (`return kstat.report{…}`) leaves no trace of its line, but the script is known.
local function where(level)
  if debug then
    local tail = _VERSION ~= "Lua 5.1" and debug.getinfo(level, "t").istailcall
    local info = not tail and debug.getinfo(level + 1, "Sl")
    if info and info.currentline > 0 then
      return ("%s:%d: "):format(info.short_src, info.currentline)
    end
  end
  local words = rawget(_G, "arg")
  return type(words) == "table" and words[0] and words[0] .. ": " or ""
end

--- Calls f(...), and raises its mistakes as lines that name the place.
-- @int level 1: the line that called the caller of this function
-- @func f
-- @param ...
-- @return the first result of f
function mistake.blame(level, f, ...)
  local ok, result = pcall(f, ...)
  if not ok then
    local message = mistake.message(result)
    if message then
      core.fail(where(level + 2) .. message, 1)
    end
    error(result, 0)
  end
  return result
end

return mistake
