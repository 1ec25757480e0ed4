--- Text of the world, which may be UTF-8 or anything.
-- @module kstat.text
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

return text
