--- Columns of reports on a screen.
-- @module kstat.top.column
local column = {}

--- A column that is a field of its row.
-- @string title
-- @string field
-- @tparam string|func|nil format see kstat.report
-- @string about what the help says
-- @int[opt] priority from 2 on it leaves a narrow window
-- @treturn column as kstat.report takes it
function column.of(title, field, format, about, priority)
  return { title, field, format = format, about = about, priority = priority }
end

--- The same for those who choose it: it is hidden, and the first to leave.
-- @string title
-- @string field
-- @tparam string|func|nil format
-- @string about
-- @treturn column
function column.further(title, field, format, about)
  return { title, field, format = format, about = about, priority = 4, hidden = true }
end

--- Marks a column as one that the report's `complete` fills in.
-- @tparam column made
-- @treturn column the same
function column.lazy(made)
  made.lazy = true
  return made
end

return column
