--- Colour for people, with restraint: green, yellow and red stand for a state, and nothing else has a colour.
-- @module kstat.base.colour
local core = require("kstat.core")
local variable = require("kstat.base.environment").variable

local colour = {}

local CODES = { ok = "32", warning = "33", critical = "31" }

--- Whether standard output gets colours.
-- @string[opt="auto"] when "always", "never", or "auto": on a terminal that is not dumb, unless NO_COLOR is set to
-- anything but the empty string
-- @treturn boolean
function colour.wanted(when)
  if when == "always" or when == "never" then
    return when == "always"
  end
  local term = variable("TERM") or "dumb"
  return not variable("NO_COLOR") and term ~= "dumb" and core.terminal(1) ~= nil
end

--- A text in the colour of a state.
-- @string text
-- @string|nil state "ok", "warning" or "critical"; anything else: no colour
-- @treturn string
function colour.paint(text, state)
  local code = CODES[state]
  return code and ("\27[%sm%s\27[0m"):format(code, text) or text
end

return colour
