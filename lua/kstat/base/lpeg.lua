--- LPeg, loaded without the global that it leaves behind in Lua 5.1.
-- @module kstat.base.lpeg
local before = rawget(_G, "lpeg")
local lpeg = require("lpeg")
if rawget(_G, "lpeg") ~= before then
  rawset(_G, "lpeg", before)
end
return lpeg
