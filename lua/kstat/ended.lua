--- CPU time of processes that ended within an interval, by the process that waited for them.
--
-- A process that begins and ends between two samples is in neither; what it used is in the `cutime` and `cstime` of its
-- parent. Children that the earlier sample still had brought what they had used by then into these at once, so that it
-- is taken off again.
--
-- @module kstat.ended
-- SPDX-License-Identifier: MIT
local ended = {}

local function sum(k, ...)
  local n = 0
  for _, value in ipairs({ k:get(...) }) do
    n = n + (type(value) == "number" and value or 0)
  end
  return n
end

-- The processes that ended: by PID, that of the parent and what had been used until the earlier sample.
local function gone(d, prev)
  local list = {}
  for k in prev:each({ class = "process" }) do
    if not d:lookup(k.module, k.instance, k.name) then
      list[k.instance] = { parent = k:get("ppid"), before = sum(k, "utime", "stime", "cutime", "cstime") }
    end
  end
  return list
end

--- What children that ended used.
-- @tparam difference d with kstats of processes
-- @tparam sample|nil prev the earlier sample
-- @treturn {[int]=number} nanoseconds by the PID of the parent, only those above 0
function ended.cpu(d, prev)
  local used = {}
  for k in d:each({ class = "process" }) do
    local time = prev and sum(k, "cutime", "cstime") or 0
    used[k.instance] = time > 0 and time or nil
  end
  local list = next(used) and gone(d, prev) or {}
  for _, one in pairs(list) do
    -- Who had parents that ended, too, is in what the first ancestor that is left waited for.
    local parent, steps = one.parent, 0
    while list[parent] and steps < 100 do
      parent, steps = list[parent].parent, steps + 1
    end
    used[parent or 0] = used[parent] and used[parent] - one.before
  end
  for pid, time in pairs(used) do
    used[pid] = time > 0 and time or nil
  end
  return used
end

return ended
