--- The resources of a machine, measured over an interval.
--
-- A part has the `limits` of its resources, the kstats that they need (`select`; classes rather than modules where a
-- module would ask for more, and `processes`: also those who may be to blame), and measure(d, add, is_new, prev, kept).
-- That calls add(resource, name, values, who, k) for each: the values are what the limits name, as far as it is known
-- (false: it is, and says nothing at present), and `who` is to blame for each of them: a text, or a function that gives
-- it; k is the kstat that it is about, if there is one. Of a kstat that is_new() nothing is said: what came within the
-- interval has no earlier sample to be compared with. Of a kstat whose selector has `reads` there is nothing else: what
-- a rule needs of it has to be named there, else the rule is blind on a machine, though not in a capture.
--
-- A limit has: [1] the resource, [2] "utilization", "saturation" or "errors", [3] what is measured, `unit`, `warning`
-- and `critical` (values from which the state is that; nil: never), `file` (where the kernel says it) and `reason`;
-- `nobody`, why nobody can be named, where that is not the processes' fault; and `hourly`, where `critical` is for each
-- hour of a longer interval.
-- A report shows the value that exceeds its limit most, or else the first one that could be read. Of those that are
-- `quiet` it then shows 0, because their values say nothing below the limit.
-- @module kstat.use.resources
local core = require("kstat.core")
local culprits = require("kstat.use.culprits")
local reader = require("kstat.use.reader")

local resources = {}

local parts_in_order = {}

--- All limits, those of a resource together.
-- @table limits
resources.limits = {}

--- The limits of each resource, by its name.
-- @table limits_of
resources.limits_of = {}

for i, name in ipairs({ "cpu", "memory", "disk", "fs", "network", "tables", "cgroup", "gpu", "system" }) do
  parts_in_order[i] = require("kstat.use." .. name)
  for _, limit in ipairs(parts_in_order[i].limits) do
    resources.limits[#resources.limits + 1] = limit
    resources.limits_of[limit[1]] = resources.limits_of[limit[1]] or {}
    table.insert(resources.limits_of[limit[1]], limit)
  end
end

-- The parts that measure resources of these names; all, if there is another name among them, or none.
local function parts_of(names)
  local parts, found = {}, 0
  for _, part in ipairs(parts_in_order) do
    local measured = {}
    for _, limit in ipairs(part.limits) do
      measured[limit[1]] = true
    end
    for _, name in ipairs(names) do
      found = found + (measured[name] and 1 or 0)
      parts[#parts + 1] = measured[name] and parts[#parts] ~= part and part or nil
    end
  end
  return found > 0 and found == #names and parts or parts_in_order
end

--- The kstats that are needed.
-- @tparam {string,...} names what is looked at: names of resources, or anything
-- @tparam[opt] boolean only_states nobody is named, so that what processes read and write is not needed
-- @treturn {selector,...}
function resources.select(names, only_states)
  local list, processes = { reader.select }, false
  for _, part in ipairs(parts_of(names)) do
    for _, selector in ipairs(part.select) do
      list[#list + 1] = selector
    end
    processes = processes or part.processes
  end
  for i = 1, processes and (only_states and 1 or #culprits.select) or 0 do
    list[#list + 1] = culprits.select[i]
  end
  return list
end

--- Measures over an interval, in an order that does not change. Who is to blame is known as far as kstat.use.culprits
-- read it.
-- @tparam difference d
-- @tparam sample|nil prev the earlier sample; nil: there is none
-- @tparam {string,...} names as for select()
-- @tparam[opt] table kept of who measures often: `now`, the later sample, and `has_io`, whether the earlier one has
-- what all processes read and wrote. What is slow to read and to change is measured every few seconds, and kept there
-- @treturn {table,...} `resource` and `name` of each, `values`, who is to blame (`who`) and `k`, as add() got them;
-- `d`; `of_host`, see kstat.use.reader
function resources.measure(d, prev, names, kept)
  local list = {}
  local function add(resource, name, values, who, k)
    list[#list + 1] = { resource = resource, name = name, values = values, who = who or {}, k = k, d = d }
  end
  local function is_new(k)
    return prev and k.crtime > core.sample_taken(prev)
  end
  for _, part in ipairs(parts_of(names)) do
    part.measure(d, add, is_new, prev, kept)
  end
  return reader.order(d, list)
end

-- --- limits in words -------------------------------------------------------------------------------

--- A value as people read it, with its unit.
-- @number value
-- @string unit of a limit
-- @treturn string
function resources.amount(value, unit)
  local number = (value % 1 == 0 and "%d" or "%.1f"):format(value)
  return number .. (unit == "%" and "%" or unit ~= "" and " " .. unit or "")
end

--- Explains one limit.
-- @tparam table limit
-- @treturn string what it is about, and from where on the state is another one
-- @treturn string the kernel's file
-- @treturn string the reason
function resources.lines(limit)
  local from = {}
  for _, state in ipairs({ "warning", "critical" }) do
    from[#from + 1] = limit[state] and ("%s from %s%s"):format(state, resources.amount(limit[state], limit.unit),
      limit.hourly and state == "critical" and " an hour" or "") or nil
  end
  return ("%s: %s, %s"):format(limit[2], limit[3], from[1] and table.concat(from, ", ") or "no limit"), limit.file,
    limit.reason
end

--- Explains all limits.
-- @tparam[opt] {table,...} measured what kstat.use.resources measured here: of the others it says that they are not
-- known here
-- @treturn string lines
function resources.explain(measured)
  local out, last, known = {}, nil, {}
  for _, one in ipairs(measured or {}) do
    for what in pairs(one.values) do
      known[one.resource .. " " .. what] = true
    end
  end
  for _, limit in ipairs(resources.limits) do
    out[#out + 1] = limit[1] ~= last and (last and "\n" or "") .. limit[1] .. "\n" or nil
    last = limit[1]
    local title, file, reason = resources.lines(limit)
    local mark = measured and not known[limit[1] .. " " .. limit[3]] and "; not known here" or ""
    out[#out + 1] = ("  %s%s\n    %s\n    %s\n"):format(title, mark, file, reason)
  end
  return table.concat(out)
end

return resources
