--- Intervals and counts, as commands, scripts and loops take them.
-- @module kstat.options.interval
local interval = {}

local MAX_SECONDS = 2147483647 -- as kstat(8) has it; in nanoseconds it fits 64 bits

--- Whether a word is an interval or a count, and no operand.
-- @tparam number|string text
-- @treturn boolean
function interval.is_number(text)
    return type(text) == "number" or type(text) == "string" and
        (text:match("^%d+%.?%d*$") or text:match("^%.%d+$")) ~= nil
end

--- Checks an interval and a count.
-- @tparam number|string|nil seconds nil: 1
-- @tparam number|string|nil count
-- @treturn[1] int the interval in nanoseconds
-- @treturn[1] int|nil the count
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function interval.check(seconds, count)
    local number = seconds ~= nil and tonumber(seconds) or 1
    local nanoseconds = math.floor(number * 1e9 + 0.5)
    if not (nanoseconds > 0 and number <= MAX_SECONDS) then
        return nil, ("interval '%s': seconds above 0 and at most %d expected"):format(tostring(seconds), MAX_SECONDS)
    end
    local times = tonumber(count)
    if count ~= nil and not (times and times >= 1 and times % 1 == 0) then
        return nil, ("count '%s': a whole number above 0 expected"):format(tostring(count))
    end
    return nanoseconds, times
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

return interval
