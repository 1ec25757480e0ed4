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

--- Rows that find what they lack when somebody looks at it.
-- @tparam {[func]={string,...},...} finders functions fun(row) with the fields that each sets
-- @tparam {[string]=boolean,...} always the fields that are looked for where there is no field `k`, too
-- @treturn func fun(shared): a metatable for rows, which have the fields of the table `shared`, too
function column.finding(finders, always)
  local finder_of = {}
  for find, fields in pairs(finders) do
    for _, field in ipairs(fields) do
      finder_of[field] = find
    end
  end
  return function(shared)
    return { __index = function(row, field)
      local find = finder_of[field]
      if not find then
        return shared[field]
      elseif not rawget(row, find) and (always[field] or row.k) then
        rawset(row, find, true)
        find(row)
        return rawget(row, field)
      end
    end }
  end
end

return column
