--- Text of the world, which may be UTF-8 or anything.
-- @module kstat.base.text
local columns_of = require("kstat.core").columns_of

local text = {}

--- The same with something else in place of bytes that are no whole UTF-8 character.
-- @string s
-- @string stand_in
-- @treturn string
function text.whole(s, stand_in)
  if not s:find("[\128-\255]") then
    return s
  end
  local out, at = {}, 1
  while at <= #s do
    local plain, behind = s:match("^([%z\1-\127]+)()", at)
    if not plain then
      plain, behind = s:match("^([\194-\223][\128-\191])()", at)
    end
    if not plain then
      plain, behind = s:match("^([\224-\239][\128-\191][\128-\191])()", at)
    end
    if not plain then
      plain, behind = s:match("^([\240-\244][\128-\191][\128-\191][\128-\191])()", at)
    end
    out[#out + 1] = plain or stand_in
    at = behind or at + 1
  end
  return table.concat(out)
end

-- The columns of one character. Almost all are ASCII.
local function width_of(character)
  return #character == 1 and 1 or columns_of(character)
end

-- The characters of a text, each with what combines with it.
local function characters(line)
  local list = {}
  for character in line:gmatch("[%z\1-\127\194-\244][\128-\191]*") do
    if list[1] and width_of(character) == 0 then
      list[#list] = list[#list] .. character
    else
      list[#list + 1] = character
    end
  end
  return list
end

-- The first of the characters from `at` on, or from there back, that has no room any more in so many columns.
local function reach(list, at, step, width)
  while list[at] do
    width = width - width_of(list[at])
    if width < 0 then
      break
    end
    at = at + step
  end
  return at
end

--- A text of at most so many columns: one that is longer is cut, with a `~`.
-- @string line UTF-8
-- @int width
-- @treturn string
-- @treturn int the columns that it takes
function text.cut(line, width)
  local have = columns_of(line)
  if have <= width then
    return line, have
  elseif width <= 0 then
    return "", 0
  end
  local list = characters(line)
  local shown = table.concat(list, "", 1, reach(list, 1, 1, width - 1) - 1) .. "~"
  return shown, columns_of(shown)
end

--- A text of at most so many columns: one that is longer keeps its beginning and its end, with a `~` between them.
-- @string line UTF-8
-- @int width
-- @treturn string
function text.shorten(line, width)
  if columns_of(line) <= width then
    return line
  end
  local list = characters(line)
  local behind = math.floor((width - 1) / 2)
  return table.concat(list, "", 1, reach(list, 1, 1, width - 1 - behind) - 1) .. "~" ..
    table.concat(list, "", reach(list, #list, -1, behind) + 1)
end

--- A text in lines of at most so many columns: it is broken at blanks, and where a word is longer than a line.
-- @string line UTF-8
-- @int width without the indent
-- @int indent columns in front of all lines but the first
-- @treturn string
function text.wrap(line, width, indent)
  if columns_of(line) <= width then
    return line
  end
  local list, lines, from = characters(line), {}, 1
  local behind = reach(list, from, 1, width)
  while behind <= #list do
    local to = behind
    while to > from and list[to] ~= " " do
      to = to - 1
    end
    to = to > from and to or math.max(behind, from + 1)
    lines[#lines + 1] = table.concat(list, "", from, to - 1)
    from = list[to] == " " and to + 1 or to
    behind = reach(list, from, 1, width)
  end
  lines[#lines + 1] = table.concat(list, "", from)
  return table.concat(lines, "\n" .. (" "):rep(indent))
end

local LETTERS = { "k", "M", "G", "T", "P", "E", "Z" }

--- A number in at most seven columns: exact if it is whole and below 100,000; k is 1,000, M 1,000 k.
-- @tparam number|nil v
-- @treturn string "-" for nil, NaN and infinities
function text.number(v)
  if v == nil or v ~= v or v == math.huge or v == -math.huge then
    return "-"
  end
  local size = math.abs(v)
  if size < 99999.5 then
    if v % 1 == 0 then
      return ("%.0f"):format(v)
    elseif size < 0.005 then
      return ("%.0e"):format(v)
    end
    return (size < 99.995 and "%.2f" or size < 999.95 and "%.1f" or "%.0f"):format(v)
  end
  local step = 0
  while size >= 999.5 and step < #LETTERS do
    size, v, step = size / 1000, v / 1000, step + 1
  end
  return (size < 9.995 and "%.2f%s" or size < 99.95 and "%.1f%s" or "%.0f%s"):format(v, LETTERS[step])
end

--- A share in percent, or another number of which the first decimal is enough, in five columns up to 99,999.
-- @tparam number|nil v
-- @treturn string "-" for nil
function text.percent(v)
  if v == nil or v ~= v then
    return "-"
  end
  return (v < 99.95 and v % 1 ~= 0 and "%.1f" or "%.0f"):format(v)
end

local PARTS = { { 1e9, "ns" }, { 1e6, "us" }, { 1e3, "ms" } }

--- A length of time in at most seven columns, as 715 us.
-- @tparam number|nil seconds
-- @treturn string "-" for nil
function text.duration(seconds)
  if seconds == nil or seconds ~= seconds then
    return "-"
  elseif seconds == 0 then
    return "0"
  end
  local value, unit = seconds, "s"
  for _, part in ipairs(PARTS) do
    if seconds * part[1] < 999.5 then
      value, unit = seconds * part[1], part[2]
      break
    end
  end
  return (value < 9.95 and "%.1f %s" or "%.0f %s"):format(value, unit)
end

--- A length of time in hours, minutes and seconds, as 12:05:00.
-- @number seconds
-- @treturn string
function text.hours(seconds)
  local s = math.floor(seconds)
  return ("%d:%02d:%02d"):format(math.floor(s / 3600), math.floor(s / 60) % 60, s % 60)
end

local BINARY = { "K", "M", "G", "T", "P", "E" }

--- Bytes by powers of 1,024 in at most five columns, as 5.2M.
-- @tparam number|nil bytes
-- @treturn string "-" for nil
function text.bytes(bytes)
  if not bytes or bytes ~= bytes then
    return "-"
  end
  local step = 0
  while bytes >= 999.5 and step < #BINARY do
    bytes, step = bytes / 1024, step + 1
  end
  return (step > 0 and bytes < 99.95 and "%.1f%s" or "%.0f%s"):format(bytes, BINARY[step] or "")
end

--- Text that may come from anywhere as something that a terminal shows and does not obey: control
-- bytes, what turns the direction of the text around, and where the terminal has no UTF-8 all that is not ASCII, become
-- `?`.
-- @string line
-- @tparam boolean utf8
-- @treturn string
function text.harmless(line, utf8)
  line = line:gsub("[%z\1-\31\127]", "?")
  if not utf8 then
    return (line:gsub("[\128-\255]", "?"))
  end
  -- C1 controls, whole characters aside; then whatever is no whole character.
  line = line:gsub("\194[\128-\159]", "?"):gsub("\216\156", "?")
  line = line:gsub("\226\128[\142\143\168-\174]", "?"):gsub("\226\129[\166-\169]", "?")
  return text.whole(line, "?")
end

--- A name for a kstat: at most 30 bytes, and no characters that mean something in a selector.
-- @string name of a command or a control group, which has any bytes
-- @string ... what follows it, with commas between
-- @treturn string
function text.kstat_name(name, ...)
  name = table.concat({ (name:gsub("[:,*%[%]]", "_")), ... }, ",")
  return (text.harmless(name:sub(1, 30), true):gsub("%?", "_"))
end

--- Text of exactly so many columns: padded, or cut with a `~`.
-- @string line harmless
-- @int width
-- @treturn string
function text.fit(line, width)
  local shown, have = text.cut(line, width)
  return shown .. (" "):rep(width - have)
end

return text
