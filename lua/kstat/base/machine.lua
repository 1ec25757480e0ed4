--- Names of the machine: of its users, and of drivers.
-- @module kstat.base.machine
local core = require("kstat.core")

local machine = {}

--- Drivers that are in Linux's list of disks whether these are used or not: short forms pass over them.
-- @table passed_over
machine.passed_over = { fd = true, loop = true, ram = true, zram = true, sr = true }

local accounts = {} -- names of users by their numbers

--- The name of a user of this machine; his number where he has none.
-- @tparam int|nil uid
-- @treturn string|nil
function machine.user_name(uid)
  if uid and not accounts[uid] then
    accounts[uid] = core.user_name(uid) or ("%.0f"):format(uid)
  end
  return uid and accounts[uid]
end

return machine
