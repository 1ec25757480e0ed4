--- The limits of kstatlua use in words.
--
-- @module kstat.use.limits
local resources = require("kstat.use.resources")

local limits = {}

--- The limits of each resource, by its name.
-- @table of
limits.of = {}

for _, limit in ipairs(resources.limits) do
  limits.of[limit[1]] = limits.of[limit[1]] or {}
  table.insert(limits.of[limit[1]], limit)
end

--- A value as people read it, with its unit.
-- @number value
-- @string unit of a limit
-- @treturn string
function limits.amount(value, unit)
  local number = (value % 1 == 0 and "%d" or "%.1f"):format(value)
  return number .. (unit == "%" and "%" or unit ~= "" and " " .. unit or "")
end

--- Explains one limit.
-- @tparam table limit
-- @treturn string what it is about, and from where on the state is another one
-- @treturn string the kernel's file
-- @treturn string the reason
function limits.lines(limit)
  local from = {}
  for _, state in ipairs({ "warning", "critical" }) do
    from[#from + 1] = limit[state] and ("%s from %s%s"):format(state, limits.amount(limit[state], limit.unit),
      limit.hourly and state == "critical" and " an hour" or "") or nil
  end
  return ("%s: %s, %s"):format(limit[2], limit[3], from[1] and table.concat(from, ", ") or "no limit"), limit.file,
    limit.reason
end

--- Explains all limits.
-- @tparam[opt] {table,...} measured what kstat.use.resources measured here: of the others it says that they are not
-- known here
-- @treturn string lines
function limits.explain(measured)
  local out, last, known = {}, nil, {}
  for _, one in ipairs(measured or {}) do
    for what in pairs(one.values) do
      known[one.resource .. " " .. what] = true
    end
  end
  for _, limit in ipairs(resources.limits) do
    out[#out + 1] = limit[1] ~= last and (last and "\n" or "") .. limit[1] .. "\n" or nil
    last = limit[1]
    local title, file, reason = limits.lines(limit)
    local mark = measured and not known[limit[1] .. " " .. limit[3]] and "; not known here" or ""
    out[#out + 1] = ("  %s%s\n    %s\n    %s\n"):format(title, mark, file, reason)
  end
  return table.concat(out)
end

return limits
