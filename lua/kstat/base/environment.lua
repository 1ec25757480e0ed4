--- Variables of the environment.
-- @module kstat.base.environment
local environment = {}

--- The value of a variable. One that is empty is not set, as for the C half: `KSTAT_AT= command` asks for nothing.
-- @string name
-- @treturn string|nil
function environment.variable(name)
  local value = os.getenv(name)
  return value ~= "" and value or nil
end

return environment
