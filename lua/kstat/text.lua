--- Text of the world, which may be UTF-8 or anything.
-- @module kstat.text
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

-- The characters of a text.
local function characters(line)
  local list = {}
  for character in line:gmatch("[%z\1-\127\194-\244][\128-\191]*") do
    list[#list + 1] = character
  end
  return list
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
  return table.concat(characters(line), "", 1, width - 1) .. "~", width
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
  return table.concat(list, "", 1, width - 1 - behind) .. "~" .. table.concat(list, "", #list - behind + 1)
end

--- A text in lines of at most so many columns: it is broken at blanks, and where a word is longer than a line.
-- @string line UTF-8
-- @int width
-- @int indent columns in front of all lines but the first
-- @treturn string
function text.wrap(line, width, indent)
  if columns_of(line) <= width then
    return line
  end
  local list, lines, from = characters(line), {}, 1
  while #list - from >= width do
    local to = from + width
    while to > from and list[to] ~= " " do
      to = to - 1
    end
    to = to > from and to or from + width
    lines[#lines + 1] = table.concat(list, "", from, to - 1)
    from = list[to] == " " and to + 1 or to
  end
  lines[#lines + 1] = table.concat(list, "", from)
  return table.concat(lines, "\n" .. (" "):rep(indent))
end

return text
