--- Who looks: in a container most resources are the host's, and processes are not seen; nor are they by a user from
-- whom hidepid hides them.
-- @module kstat.use.reader
local figures = require("kstat.use.figures")

local reader = {}

--- The kstat that says it.
-- @table select
reader.select = { module = "unix", instance = 0, name = "tables" }

--- Whether the reader has a PID name space of its own, as containers have.
-- @tparam difference d
-- @treturn boolean
function reader.is_contained(d)
  return figures.now(d:lookup("unix", 0, "tables"), "own_pids") == 1
end

--- How many processes of the machine are not seen.
-- @tparam difference d
-- @tparam {table,...} list of those that are, with their `instance`
-- @treturn int|nil nil: all are; a few come and go while they are listed
function reader.unseen(d, list)
  local all = figures.now(d:lookup("unix", 0, "tables"), "processes")
  for i = 1, reader.is_contained(d) and 0 or #list do
    if list[i].instance == 1 then
      return nil
    end
  end
  return all and list[1] and all > #list and all - #list or nil
end

--- What a verdict on the whole machine goes without.
-- @tparam difference d
-- @tparam {table,...} list the rows of kstat.use.rows
-- @treturn {string,...} a line for each
function reader.lacks(d, list)
  local lines = {}
  if not d:lookup("pressure", 0, "cpu") then
    lines[1] = "pressure is not known; the kernel has it with psi=1"
  end
  local spaces = #figures.select(d, "netns:::")
  lines[#lines + 1] = spaces > 0 and ("links and file systems of %d other network name space%s are not seen"):format(
    spaces, spaces == 1 and "" or "s") or nil
  for _, row in ipairs(list) do
    local unseen = row.values and row.resource == "process" and row.values["not seen"]
    lines[#lines + 1] = unseen and ("%d processes are not seen: %s"):format(unseen,
      reader.is_contained(d) and "they are the host's" or "hidepid hides them from this user") or nil
  end
  return lines
end

local OF_HOST = { cpu = true, memory = true, swap = true, disk = true, gpu = true, clock = true, ["table files"] = true,
  ["table pids"] = true, ["table aio"] = true, ["table ptys"] = true, ["table commit"] = true }

--- Puts what is a container's own in front, its control groups first, and marks what is the host's (`of_host`).
-- @tparam difference d
-- @tparam {table,...} list as kstat.use.resources measures them
-- @treturn {table,...} the list
function reader.order(d, list)
  for i, one in ipairs(reader.is_contained(d) and list or {}) do
    one.of_host = OF_HOST[one.resource] or OF_HOST[one.resource .. " " .. one.name]
    one.place = i + #list * (one.of_host and 2 or one.resource == "cgroup" and 0 or 1)
  end
  if list[1] and list[1].place then
    table.sort(list, function(a, b) return a.place < b.place end)
  end
  return list
end

return reader
