--- `kstat.format(format, …)`: string.format for figures: any number fits any directive, nothing raises.
--
--     kstat.format("%-8s %6d %s\n", "sda", 3.7, nil)        -- "sda           4 -\n"
--
-- `%d`, `%i`, `%u`, `%x`, `%X`, `%o` and `%c` round to whole numbers (string.format of Lua 5.3 and later
-- refuses others), and `%d` takes numbers beyond 2^63, `%u` the 64 bits of an integer as unsigned. A flag that a
-- letter does not know is ignored, a width may have any number of digits, a precision beyond 99 is 99. `%s` shows a
-- number's shortest text. What is nil or no finite number is shown as `-`, as wide as the directive says. Text for
-- a number's directive is shown as text.
-- @module kstat.format
local core = require("kstat.core")

local WHOLE = { d = "d", i = "d", u = "d", x = "x", X = "X", o = "o", c = "c" }
local MOST = 2 ^ 53 -- whole numbers beyond are printed by %.0f, which is exact there

local function finite(value)
  return value == value and value ~= math.huge and value ~= -math.huge
end

-- The flags that string.format of every Lua takes with a letter; others mean nothing there.
local FLAGS = { d = "-+0 ", i = "-+0 ", u = "-0", x = "-#0", X = "-#0", o = "-#0", c = "-", s = "-", q = "-" }
local REAL_FLAGS = "-+#0 "

local function known_flags(flags, letter)
  local known, out = FLAGS[letter] or REAL_FLAGS, ""
  for flag in flags:gmatch(".") do
    if known:find(flag, 1, true) and not out:find(flag, 1, true) then
      out = out .. flag
    end
  end
  return out
end

-- Text in a column that may be wider than the 99 characters that string.format takes.
local function pad(flags, width, text)
  local room = (tonumber(width) or 0) - #text
  if room <= 0 then
    return text
  elseif flags:find("-", 1, true) then
    return text .. (" "):rep(room)
  elseif flags:find("0", 1, true) then
    local sign, digits = text:match("^([-+ ]?0[xX])(.*)$")
    if not sign then
      sign, digits = text:match("^([-+ ]?)(.*)$")
    end
    return sign .. ("0"):rep(room) .. digits
  end
  return (" "):rep(room) .. text
end

-- "%-8s" for "%+-08.3f" and the like: width and alignment of the directive.
local function as_text(flags, width, text)
  return pad(flags:find("-", 1, true) and "-" or "", width, text)
end

-- `width`: at most two digits.
local function whole(flags, width, precision, letter, value)
  local is_integer = math.type and math.type(value) == "integer"
  if is_integer and letter == "u" and value < 0 then
    return pad(flags, width, core.format_unsigned(value))
  elseif not is_integer then
    value = math.floor(value + 0.5)
  end
  if not is_integer and math.abs(value) > MOST then
    return ("%" .. known_flags(flags, "f") .. width .. ".0f"):format(value)
  end
  return ("%" .. flags .. width .. (letter ~= "c" and precision or "") .. WHOLE[letter]):format(value)
end

local function one(flags, width, precision, letter, value)
  local kind = type(value)
  if kind == "number" and not finite(value) then
    return as_text(flags, width, "-")
  elseif letter == "s" or letter == "q" or kind ~= "number" then
    local text = value == nil and "-" or kind == "number" and core.tostring(value) or tostring(value)
    if letter == "s" and precision ~= "" then
      text = text:sub(1, tonumber(precision:sub(2)) or 0)
    end
    return as_text(flags, width, text)
  end
  flags = flags ~= "" and known_flags(flags, letter) or ""
  local narrow = #width <= 2 and width or ""
  if #precision > 3 then
    precision = ".99"
  end
  local text = WHOLE[letter] and whole(flags, narrow, precision, letter, value)
    or ("%" .. flags .. narrow .. precision .. letter):format(value)
  return narrow == width and text or pad(flags, width, text)
end

--- Formats values.
-- @string format as string.format has it
-- @param ... values
-- @treturn string
-- @raise if the format holds a directive that string.format does not know
-- @function kstat.format
return function(format, ...)
  if type(format) ~= "string" then
    core.usage("bad argument #1 to 'format' (string expected, got " .. type(format) .. ")")
  end
  local values, at = { ... }, 0
  return (format:gsub("%%([%-+ #0]*)(%d*)(%.?%d*)(.?)", function(flags, width, precision, letter)
    if letter == "%" then
      return "%"
    elseif letter == "" or not ("diuxXocsqeEfFgGaA"):find(letter, 1, true) then
      core.usage(("bad argument #1 to 'format' (unknown directive '%%%s')"):format(letter))
    end
    at = at + 1
    return one(flags, width, precision, letter == "F" and "f" or letter, values[at])
  end))
end
