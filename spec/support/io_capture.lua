--- Turns the devices of the I/O vectors into captures: times there are decimal strings of nanoseconds.
local capture = require("support.capture")

local M = {}

--- Nanoseconds as the seconds of a capture, digit for digit.
function M.seconds(ns)
  local sign, digits = tostring(ns):match("^(%-?)(%d+)$")
  if digits == "0" then
    return "0"
  end
  digits = ("0"):rep(10 - #digits) .. digits
  return sign .. digits:sub(1, -10) .. "." .. digits:sub(-9)
end

-- All that an I/O kstat has: with less, it would be none.
local FIELDS = { "nread", "nwritten", "reads", "writes", "wtime", "wlentime", "wlastupdate", "rtime", "rlentime",
  "rlastupdate", "wcnt", "rcnt" }

local function text(value)
  return type(value) == "number" and ("%.0f"):format(value) or value
end

--- One I/O kstat. id: module, instance, name, class; row: snaptime and the counters.
function M.kstat(id, crtime, row)
  local members = {}
  for i, field in ipairs(FIELDS) do
    members[i] = ('"%s":%s'):format(field, text(row[field] or 0))
  end
  return capture.kstat(id.module or "sd", id.instance or 0, id.name or "sd0", id.class or "disk", 3,
    M.seconds(crtime), M.seconds(row.snaptime), table.concat(members, ","))
end

return M
