--- Mistakes in what a script declares: one line that names the place in the script.
--
-- Nothing but that line is of use to whoever runs the script, so the host shows no traceback.
-- @module kstat.base.mistake
local core = require("kstat.core")

local mistake = {}

local raised = {} -- the metatable of a mistake

-- Functions of the files of this folder and of those beside it are not the script's.
core.own(debug and debug.getinfo(1, "S").source:match("^(.*)base/mistake%.lua$"))

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

-- Returns the place in the script: "report.lua:3: ". A tail call (`return kstat.report{…}`) leaves no trace of its
-- line, but the script is known.
local function where()
  local place, words = core.where(), rawget(_G, "arg")
  return place == "" and type(words) == "table" and words[0] and words[0] .. ": " or place
end

--- Calls f(...), and raises its mistakes as lines that name the place.
-- @func f
-- @param ...
-- @return the first result of f
function mistake.blame(f, ...)
  local ok, result = pcall(f, ...)
  if not ok then
    local message = mistake.message(result)
    if message then
      core.fail(where() .. message, 1)
    end
    error(result, 0)
  end
  return result
end

local function all(...)
  return ...
end

--- Lets the methods of a class, also those that are assigned later, raise at the script's line where `self` is not of
-- it.
-- @tparam table methods
-- @tparam table meta the metatable of the objects
-- @string kind what they are
-- @treturn table methods as they are without that
function mistake.guard(methods, meta, kind)
  local plain = {}
  local function add(_, name, f)
    local function guarded(self, ...)
      if getmetatable(self) ~= meta then
        core.usage(("calling '%s' on bad self (%s expected, got %s)"):format(name, kind, type(self)))
      end
      return all(f(self, ...)) -- no tail call, which would leave no trace of how the script called
    end
    plain[name] = f
    rawset(methods, name, guarded)
  end
  for name, f in pairs(methods) do
    if type(f) == "function" then
      add(methods, name, f)
    end
  end
  (getmetatable(methods) or {}).__newindex = add
  return plain
end

return mistake
