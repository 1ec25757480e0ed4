--- CPU time and I/O of processes that ended within an interval, by the process that waited for them.
--
-- A process that begins and ends between two samples is in neither; what it used is in the `cutime` and `cstime` of
-- its parent, what it read and wrote in `cnread` and `cnwritten` of its parent's I/O. Children that the earlier sample
-- still had brought what they had used by then into these at once, so that it is taken off again.
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

-- The processes that ended: by PID, that of the parent and what the earlier sample has of them. kind: "" or the ending
-- of the names of a further kind, which is read later: a process may have ended before that, and be in its parent's.
local function gone(d, prev, kind)
  local list = {}
  for k in prev:each({ class = "process" }) do
    local last = prev:lookup(k.module, k.instance, k.name .. kind)
    last = last and last:get("snaptime") and last or nil
    if not d:lookup(k.module, k.instance, k.name) or last and not d:lookup(k.module, k.instance, last.name) then
      list[k.instance] = { parent = k:get("ppid"), last = last }
    end
  end
  return list
end

-- Takes off what ended children had before the interval. Where that is not known of one, what its parent's children had
-- within the interval is not known, either.
local function take_off(used, list, ...)
  for _, one in pairs(list) do
    -- Who had parents that ended, too, is in what the first ancestor that is left waited for.
    local parent, steps = one.parent, 0
    while list[parent] and steps < 100 do
      parent, steps = list[parent].parent, steps + 1
    end
    used[parent or 0] = used[parent] and one.last and used[parent] - sum(one.last, ...)
  end
  for pid, n in pairs(used) do
    used[pid] = n > 0 and n or nil
  end
  return used
end

-- What children had that ended, with what is known of them before; by the PID of the parent, only numbers above 0.
local function of_children(d, prev, class, ...)
  local used = {}
  for k in d:each({ class = class }) do
    local n = prev and sum(k, ...) or 0
    used[k.instance] = n > 0 and n or nil
  end
  return used
end

--- The CPU time that children used which ended.
-- @tparam difference d with kstats of processes
-- @tparam sample|nil prev the earlier sample
-- @treturn {[int]=number} nanoseconds by the PID of the parent, only those above 0
function ended.cpu(d, prev)
  local used = of_children(d, prev, "process", "cutime", "cstime")
  return take_off(used, next(used) and gone(d, prev, "") or {}, "utime", "stime", "cutime", "cstime")
end

--- What children read and wrote which ended.
-- @tparam difference d with kstats of processes and of their I/O
-- @tparam sample|nil prev the earlier sample
-- @treturn {[int]=number} bytes read by the PID of the parent, only those above 0
-- @treturn {[int]=number} bytes written
function ended.io(d, prev)
  local read, written = of_children(d, prev, "process_io", "cnread"), of_children(d, prev, "process_io", "cnwritten")
  local list = (next(read) or next(written)) and gone(d, prev, ",io") or {}
  return take_off(read, list, "nread", "cnread"), take_off(written, list, "nwritten", "cnwritten")
end

--- The process whose children had most.
-- @tparam {[int]=number} used by PID
-- @treturn number the sum of all
-- @treturn int|nil the PID; nil: there is none
function ended.most(used)
  local all, most, parent = 0, 0, nil
  for pid, n in pairs(used) do
    all = all + n
    if n > most then
      most, parent = n, pid
    end
  end
  return all, parent
end

return ended
