--- Intervals and counts, as commands, scripts and loops take them.
-- @module kstat.base.options.interval
local interval = {}

local MAX_SECONDS = 2147483647 -- as kstat(8) has it; in nanoseconds it fits 64 bits

local UNITS = { ms = 1e-3, s = 1, m = 60, h = 3600, d = 86400 } -- in seconds

--- The seconds of an interval: a decimal number, alone or with one of the units ms, s, m, h and d.
-- @tparam number|string text such as 0.5, "5", "500ms" or "1h"
-- @treturn number|nil nil: it is no interval
function interval.seconds(text)
  if type(text) == "number" then
    return text
  end
  local digits, unit = text:match("^([+-]?%d*%.?%d*)(%a*)$")
  local number, factor = tonumber(digits), unit == "" and 1 or UNITS[unit]
  return number and factor and number * factor
end

-- Whether a word is such a number as 1e9: no operand, and no interval and no count either.
local function has_exponent(text)
  return type(text) == "string" and text:find("^[+-]?%d*%.?%d+[eE][+-]?%d%d?$") ~= nil
end

--- Whether a word is an interval or a count, and no operand.
-- @tparam number|string text
-- @treturn boolean
function interval.is_number(text)
  return type(text) == "number" or type(text) == "string" and text:find("^%.?%d") ~= nil
    and (interval.seconds(text) ~= nil or has_exponent(text))
end

--- Checks an interval and a count.
-- @tparam number|string|nil seconds nil: 1
-- @tparam number|string|nil count
-- @treturn[1] int the interval in nanoseconds
-- @treturn[1] int|nil the count
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function interval.check(seconds, count)
  local number = seconds == nil and 1 or interval.seconds(seconds) or 0
  local nanoseconds = math.floor(number * 1e9 + 0.5)
  if has_exponent(seconds) then
    return nil, ("interval '%s': digits without an exponent expected"):format(seconds)
  end
  if not (nanoseconds > 0 and number <= MAX_SECONDS) then
    return nil, ("interval '%s': seconds above 0 and at most %d expected"):format(tostring(seconds), MAX_SECONDS)
  end
  local times = not has_exponent(count) and tonumber(count)
  if count ~= nil and not (times and times >= 1 and times % 1 == 0) then
    return nil, ("count '%s': a whole number above 0 expected"):format(tostring(count))
  end
  return nanoseconds, times or nil
end

--- Removes the last one or two words, if they are numbers.
-- @tparam {string,...} words
-- @treturn string|nil the interval
-- @treturn string|nil the count
function interval.take_last(words)
  local numbers = {}
  while #numbers < 2 and #words > 0 and interval.is_number(words[#words]) do
    table.insert(numbers, 1, table.remove(words))
  end
  return numbers[1], numbers[2]
end

--- Splits operands as kstat(8) does: those that are numbers, wherever they are, are the interval, then the count.
-- @tparam {string,...} words
-- @treturn[1] {string,...} the other operands
-- @treturn[1] number|nil the interval in seconds
-- @treturn[1] number|nil the count
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function interval.split(words)
  local others, numbers = {}, {}
  for _, word in ipairs(words) do
    local text = word:match("^%s*(.*)$")
    local number = word == "" and 0 or text:find("^[+-]?%d") and interval.seconds(text) or
      word:find("^%.%d") and interval.seconds(word)
    if has_exponent(text) then
      return nil, ("'%s' is no interval and no count: digits without an exponent expected"):format(word)
    elseif number then
      if #numbers == 2 then
        return nil, ("'%s' is a third number behind the interval and the count"):format(word)
      elseif #numbers == 0 and not (number > 0 and number <= MAX_SECONDS) then
        return nil, word == "" and "an empty word is no operand and no interval" or
          ("the interval '%s' is not above 0 and at most %d"):format(word, MAX_SECONDS)
      elseif #numbers == 1 and not (tonumber(word) and number >= 1 and number <= MAX_SECONDS and number % 1 == 0) then
        return nil, ("the count '%s' is not a whole number between 1 and %d"):format(word, MAX_SECONDS)
      end
      numbers[#numbers + 1] = number
    else
      others[#others + 1] = word
    end
  end
  return others, numbers[1], numbers[2]
end

return interval
