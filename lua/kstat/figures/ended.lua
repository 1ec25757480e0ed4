--- CPU time and I/O of processes that ended within an interval, by the process that waited for them.
--
-- A process that begins and ends between two samples is in neither; what it used is in the `cutime` and `cstime` of
-- its parent, what it read and wrote in `cnread` and `cnwritten` of its parent's I/O. Children that the earlier sample
-- still had brought what they had used by then into these at once, so that it is taken off again.
--
-- A child of which the earlier sample has no I/O, because it ended while that was taken, counts in full if it was
-- younger than an interval; else nobody knows what its parent's children did.
-- @module kstat.figures.ended
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local selector = require("kstat.read.selector")

local ended = {}

local PROCESS, IO = { selector.compile({ class = "process" }) }, { selector.compile({ class = "process_io" }) }
local CPU = { parent = "ppid", utime = "utime", stime = "stime", cutime = "cutime", cstime = "cstime" }
local BYTES = { nread = "nread", nwritten = "nwritten", cnread = "cnread", cnwritten = "cnwritten" }

local function number(value)
  return type(value) == "number" and value or 0
end

local function figures(x, selectors, values, changes, without)
  local list, message = core.figures(x, selectors, values, changes, without)
  return list or error(message, 0)
end

-- What is asked of all processes, most often.
local LEVELS = { letter = "state", ppid = "ppid", euid = "euid", nlwp = "nlwp" }
local CHANGES = { utime = "utime", stime = "stime", cutime = "cutime", cstime = "cstime" }

local latest = setmetatable({}, { __mode = "v" }) -- the list, as long as somebody has it, and its difference

--- The processes of a difference. Several ask for them at a tick: they have one list, which is made once.
-- @tparam difference d
-- @treturn {table,...} see core.figures(): `letter` (the state), `ppid`, `euid` and `nlwp` of each, and what they
-- counted: `utime`, `stime`, `cutime`, `cstime`
function ended.processes(d)
  if latest.d ~= d or not latest.list then
    latest.d, latest.list = d, figures(d, PROCESS, LEVELS, CHANGES)
  end
  return latest.list
end

local function by_pid(list)
  local of = {}
  for _, p in ipairs(list) do
    of[p.instance] = p
  end
  return of
end

-- What children had that ended, with what is known of them before; by the PID of the parent, only numbers above 0.
local function of_children(list, a, b)
  local used = {}
  for i = 1, #list do
    local p = list[i]
    local n = (p[a] or b and p[b]) and number(p[a]) + number(p[b]) or 0
    used[p.instance] = n > 0 and n or nil
  end
  return used
end

-- Takes off what those had before the interval that are gone. gone: of each, by PID, the `parent` and what it had
-- `before`; nil: it is not known, and what its parent's children had within the interval is not known, either.
local function take_off(used, gone, fields)
  for _, one in pairs(gone) do
    -- Who had parents that ended, too, is in what the first ancestor that is left waited for.
    local parent, steps = one.parent, 0
    while gone[parent] and steps < 100 do
      parent, steps = gone[parent].parent, steps + 1
    end
    local n = used[parent] and one.before and used[parent]
    for _, field in ipairs(fields) do
      n = n and n - number(one.before[field])
    end
    used[parent or 0] = n or nil
  end
  for pid, n in pairs(used) do
    used[pid] = n > 0 and n or nil
  end
  return used
end

local found = setmetatable({}, { __mode = "k" }) -- by the difference: a screen asks twice

--- The CPU time that children used which ended.
-- @tparam difference d with kstats of processes
-- @tparam sample|nil prev the earlier sample
-- @tparam[opt] {table,...} list of the processes of d, if it is known: `instance`, `cutime`, `cstime` of each
-- @treturn {[int]=number} nanoseconds by the PID of the parent, only those above 0
function ended.cpu(d, prev, list)
  if found[d] then
    return found[d]
  end
  list = prev and (list or ended.processes(d)) or {}
  local used, gone = of_children(list, "cutime", "cstime"), {}
  local missing = next(used) and figures(prev, PROCESS, CPU, nil, d) or {}
  local there = missing[1] and by_pid(list) -- under another name, after an exec
  for _, p in ipairs(missing) do
    gone[p.instance] = not there[p.instance] and { parent = p.parent, before = p } or nil
  end
  found[d] = take_off(used, gone, { "utime", "stime", "cutime", "cstime" })
  return found[d]
end

-- What a process that is gone had read and written by the earlier sample, which does not have it; nil: nobody knows.
-- If it was younger than an interval it counts with all that it did: where a shell runs one short command after the
-- other, one often ends after the list of processes was read and before its I/O is.
local function before_of(p, d, prev)
  local k = prev:lookup("process", p.instance, p.name)
  return k and k.crtime > core.sample_taken(prev) - (d.elapsed or 0) and {} or nil
end

--- What children read and wrote which ended.
-- @tparam difference d with kstats of processes and of their I/O
-- @tparam sample|nil prev the earlier sample
-- @treturn {[int]=number} bytes read by the PID of the parent, only those above 0
-- @treturn {[int]=number} bytes written
function ended.io(d, prev)
  local list = prev and figures(d, IO, {}, { cnread = "cnread", cnwritten = "cnwritten" }) or {}
  local read, written, gone = of_children(list, "cnread"), of_children(list, "cnwritten"), {}
  if next(read) or next(written) then
    local there, io, before = by_pid(figures(d, PROCESS, {})), by_pid(list), by_pid(figures(prev, IO, BYTES))
    for _, p in ipairs(figures(prev, PROCESS, { parent = "ppid" })) do
      local pid = p.instance
      -- I/O is read behind the list of processes: one may have ended in between, and be in its parent's.
      if not there[pid] or before[pid] and not io[pid] then
        gone[pid] = { parent = p.parent, before = before[pid] or before_of(p, d, prev) }
      end
    end
  end
  return take_off(read, gone, { "nread", "cnread" }), take_off(written, gone, { "nwritten", "cnwritten" })
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
