--- Misspelt functions: to read a field of a module or of an object that is not there, but is like one that is, raises
-- an error with the name that was probably meant. All other absent fields are nil, so that a script can ask whether
-- there is a function.
-- @module kstat.base.guess
require("kstat.base.mistake")

local guess = {}

--- Makes the `__index` of a table of functions.
-- @string what the name of the table in the error
-- @tparam table functions
-- @tparam[opt] table names further names that there are, as keys
-- @int[opt=1] level 2: an `__index` calls it, and its caller is to blame
-- @treturn function
function guess.index(what, functions, names, level)
  local meant = {} -- by the name that was asked for, because a search costs much more than a read
  return function(_, name)
    if meant[name] == nil and type(name) == "string" then
      local all = {}
      for _, list in ipairs({ functions, names }) do
        for known in pairs(list) do
          all[known] = true
        end
      end
      meant[name] = require("kstat.base.unknown").nearest(name, all) or false
    end
    if meant[name] then
      error(("%s has no field '%s'; did you mean '%s'?"):format(what, name, meant[name]), 1 + (level or 1))
    end
    return nil
  end
end

--- Lets a table of functions without a metatable, perhaps the `__index` of a class, guess.
-- @string what the name of the table in the error
-- @tparam table functions
-- @treturn table functions
function guess.within(what, functions)
  return setmetatable(functions, { __index = guess.index(what, functions) })
end

return guess
