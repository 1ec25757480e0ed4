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
  local out, n = {}, 0
  for character in line:gmatch("[%z\1-\127\194-\244][\128-\191]*") do
    if n == width - 1 then
      break
    end
    n = n + 1
    out[n] = character
  end
  return table.concat(out) .. "~", width
end

return text
