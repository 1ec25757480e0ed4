--- What is outside of the process: variables of the environment, and files.
-- @module kstat.base.environment
local environment = {}

--- The value of a variable. One that is empty is not set, as for the C half: `KSTAT_AT= command` asks for nothing.
-- @string name
-- @treturn string|nil
function environment.variable(name)
  local value = os.getenv(name)
  return value ~= "" and value or nil
end

--- All that a file holds.
-- @string path
-- @treturn string|nil nil: it cannot be read
-- @treturn string|nil why, where it could not be opened
function environment.contents(path)
  local file, message = io.open(path, "rb")
  local text = file and file:read("*a")
  if file then
    file:close()
  end
  return text, message
end

return environment
