--- What the fields of a declaration have to be, in words, and formats that are less common.
-- @module kstat.report.expected
local expected = {}

local WORDS = {
  count = "a whole number above 0", operands = "a string or false", width = "a whole number of at most 1000",
  align = "'left' or 'right'", measure = "'gauge', 'counter' or 'label'",
  elide = "'middle' or 'end'",
  format = "a function or a string for string.format with one value",
}

--- What is expected of a field.
-- @string kind one of kstat.report.declare's
-- @treturn string
function expected.of(kind)
  return WORDS[kind] or "a " .. kind:gsub(" or ", " or a ")
end

--- Whether a text formats one number or text.
-- @string format
-- @treturn boolean
function expected.is_format(format)
  local _, directives = format:gsub("%%%%", ""):gsub("%%", "")
  return directives == 1 and (pcall(string.format, format, 1))
end

return expected
