-- The four modes in which devstat(3) selects devices, of the machine, or of what $KSTAT_SOURCE names.
--
--     kstatlua examples/devstat_modes.lua [NAME]
local kstat = kstat or require("kstat")
local devstat = kstat.devstat
local status = kstat.usage(arg, "[NAME]")
if status then return status end

local reader = assert(devstat.open())
local devices = assert(reader:read()).devices
local name = arg and arg[1] or devices[1] and devices[1].name

-- "add": the named device first, others fill up; "only": it alone; "remove": all but it; "addonly": it is added to what
-- was selected before, here to nothing.
for _, mode in ipairs({ "add", "only", "remove", "addonly" }) do
  local names = {}
  for _, device in ipairs(assert(devstat.select(devices, { names = { name }, mode = mode }))) do
    names[#names + 1] = device.name
  end
  print(mode, table.concat(names, " "))
end
