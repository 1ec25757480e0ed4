--- The limits of kstatlua use in words.
--
-- @module kstat.use.limits
local resources = require("kstat.use.resources")

-- A value as people read it, with its unit.
local function amount(value, unit)
  local number = (value % 1 == 0 and "%d" or "%.1f"):format(value)
  return number .. (unit == "%" and "%" or unit ~= "" and " " .. unit or "")
end

--- Explains all limits.
-- @treturn string lines
local function explain()
  local out, last = {}, nil
  for _, limit in ipairs(resources.limits) do
    out[#out + 1] = limit[1] ~= last and (last and "\n" or "") .. limit[1] .. "\n" or nil
    last = limit[1]
    local from = {}
    for _, state in ipairs({ "warning", "critical" }) do
      from[#from + 1] = limit[state] and ("%s from %s"):format(state, amount(limit[state], limit.unit)) or nil
    end
    out[#out + 1] = ("  %s: %s, %s\n    %s\n    %s\n"):format(limit[2], limit[3],
      from[1] and table.concat(from, ", ") or "no limit", limit.file, limit.reason)
  end
  return table.concat(out)
end

return { amount = amount, explain = explain }
