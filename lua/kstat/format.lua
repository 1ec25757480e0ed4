--- `kstat.format(format, …)`: string.format for figures: any number fits any directive, nothing raises.
--
--     kstat.format("%-8s %6d %s\n", "sda", 3.7, nil)        -- "sda           4 -\n"
--
-- `%d`, `%i`, `%u`, `%x`, `%X`, `%o` and `%c` round to whole numbers (string.format of Lua 5.3 and later
-- refuses others), and `%d` takes numbers beyond 2^63. `%s` shows a number's shortest text. What is nil or no
-- finite number is shown as `-`, as wide as the directive says. Text for a number's directive is shown as text.
--
-- @module kstat.format
local core = require("kstat.core")

local WHOLE = { d = "d", i = "d", u = "d", x = "x", X = "X", o = "o", c = "c" }
local MOST = 2 ^ 53 -- whole numbers beyond are printed by %.0f, which is exact there

local function finite(value)
    return value == value and value ~= math.huge and value ~= -math.huge
end

-- "%-8s" for "%+-08.3f" and the like: width and alignment of the directive.
local function as_text(flags, width, text)
    return ("%" .. (flags:find("-", 1, true) and "-" or "") .. width .. "s"):format(text)
end

local function whole(flags, width, precision, letter, value)
    local is_integer = math.type and math.type(value) == "integer"
    if not is_integer then
        value = math.floor(value + 0.5)
    end
    if not is_integer and math.abs(value) > MOST then
        return ("%" .. flags .. width .. ".0f"):format(value)
    end
    return ("%" .. flags .. width .. precision .. WHOLE[letter]):format(value)
end

local function one(flags, width, precision, letter, value)
    local kind = type(value)
    if kind == "number" and not finite(value) then
        return as_text(flags, width, "-")
    elseif letter == "s" or letter == "q" or kind ~= "number" then
        local text = value == nil and "-" or kind == "number" and core.tostring(value) or tostring(value)
        if letter == "s" and precision ~= "" then
            text = ("%" .. precision .. "s"):format(text)
        end
        return as_text(flags, width, text)
    elseif WHOLE[letter] then
        return whole(flags, width, precision, letter, value)
    end
    return ("%" .. flags .. width .. precision .. letter):format(value)
end

--- @string format as string.format has it
-- @param ... values
-- @treturn string
-- @raise if the format holds a directive that string.format does not know
return function(format, ...)
    if type(format) ~= "string" then
        error("bad argument #1 to 'format' (string expected, got " .. type(format) .. ")", 2)
    end
    local values, at = { ... }, 0
    return (format:gsub("%%([%-+ #0]*)(%d*)(%.?%d*)(.?)", function(flags, width, precision, letter)
        if letter == "%" then
            return "%"
        elseif letter == "" or not ("diuxXocsqeEfFgGaA"):find(letter, 1, true) then
            error(("bad argument #1 to 'format' (unknown directive '%%%s')"):format(letter), 4)
        end
        at = at + 1
        return one(flags, width, precision, letter == "F" and "f" or letter, values[at])
    end))
end
