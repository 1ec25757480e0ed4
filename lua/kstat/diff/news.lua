--- What is not a matter of figures: kstats that came, went or began anew, and texts that changed.
-- @module kstat.diff.news
-- SPDX-License-Identifier: MIT

local news = {}

-- --- texts ---------------------------------------------------------------------------------------

local FLIGHTY = { process = true, thread = true } -- modules whose texts change by the second

--- The texts of a sample.
-- @tparam sample sample
-- @tparam {selector,...} selectors
-- @treturn {[string]=table} by kstat and statistic: `text`, `k` (kstat), `statistic`
function news.texts(sample, selectors)
  local texts = {}
  for k, statistic, value in sample:values((table.unpack or unpack)(selectors)) do
    if type(value) == "string" and statistic ~= "class" and not FLIGHTY[k.module] then
      texts[tostring(k) .. ":" .. statistic] = { text = value, k = k, statistic = statistic }
    end
  end
  return texts
end

--- The texts that differ.
-- @tparam table before from texts()
-- @tparam table now from texts()
-- @treturn {table,...} sorted by `name`: `before`, `now` (string), `module`, `instance`, `kstat`, `statistic`
function news.changed(before, now)
  local list = {}
  for name, one in pairs(now) do
    local was = before[name]
    if was and was.text ~= one.text then
      list[#list + 1] = { name = name, before = was.text, now = one.text, module = one.k.module,
        instance = one.k.instance, kstat = one.k.name, statistic = one.statistic }
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

--- Finds out when texts changed.
-- @tparam {table,...} changed from changed(); each gets `at`, the number of the first sample with a text that it kept
-- @treturn function(ks, i) to be called at each sample
function news.text_watcher(changed)
  return function(ks, i)
    for _, change in ipairs(changed) do
      local k = ks:lookup(change.module, change.instance, change.kstat)
      local same = k and k:get(change.statistic) == change.now
      change.at = same and (change.at or i) or nil
    end
  end
end

-- --- kstats ----------------------------------------------------------------------------------------

-- The kstats of a process, and what else has parts, are one thing.
local function thing_of(change)
  return change.module, change.instance, (change.name:gsub(",%l+$", ""))
end

-- What a process used since it began: CPU seconds, with those of its children that ended; bytes from and to disks; and
-- the memory that it had at most.
local function used(ks, thing)
  local k = ks:lookup("process", thing.instance, thing.kstat)
  local io = ks:lookup("process", thing.instance, thing.kstat .. ",io")
  if k then
    local cpu = 0
    for _, time in ipairs({ k:get("utime", "stime", "cutime", "cstime") }) do
      cpu = cpu + (type(time) == "number" and time / 1e9 or 0)
    end
    thing.cpu = cpu > 0 and cpu or thing.cpu -- it may have gone meanwhile
    local memory = k:get("rssize")
    thing.memory = math.max(thing.memory or 0, type(memory) == "number" and memory or 0)
  end
  if io then
    local read, written = io:get("nread", "nwritten")
    thing.bytes = read and written and read + written or thing.bytes
  end
end

-- Brings a set of kstats, by their names, up to date with those that come and go. Returns those of the set that did.
local function follow(present, selectors, ks, added, deleted)
  local came, went = {}, {}
  for _, change in ipairs(deleted) do
    went[#went + 1] = present[tostring(change)] and change
    present[tostring(change)] = nil
  end
  for _, change in ipairs(added) do
    local k = ks:lookup(change.module, change.instance, change.name)
    for _, selector in ipairs(selectors) do
      if k and not present[tostring(change)] and selector:matches(k) then
        present[tostring(change)], came[#came + 1] = change, change
      end
    end
  end
  return came, went
end

-- The kstats that are in one set and not in another, in the order of their names. Processes are known by theirs.
local function missing(here, there)
  local processes, list = {}, {}
  for _, k in pairs(there) do
    processes[k.name] = k.module == "process"
  end
  for name, k in pairs(here) do
    if not there[name] and not (k.module == "process" and processes[k.name]) then
      list[#list + 1] = name
    end
  end
  table.sort(list)
  for i, name in ipairs(list) do
    list[i] = here[name]
  end
  return list
end

--- Notes what comes and goes.
-- @tparam {selector,...} selectors of which kstats
-- @tparam[opt] table before the third result for another replay: what differs from its end came or went at once
-- @treturn table `things` ({table,...}): each with `module`, `instance`, `kstat`, `came` or `went` (numbers of
-- samples), `again` (boolean): it went and came at once; of processes `cpu` (seconds), `bytes` and `memory` (bytes)
-- that they used
-- @treturn function(ks, i, is_boot, kcid, added, deleted) to be called at each sample with what ks:update()
-- returned; what comes and goes with a start of the machine (`is_boot`) is not noted
-- @treturn table the kstats that there are at the last sample
function news.watcher(selectors, before)
  local things, alive, present, began = {}, {}, {}, false
  local function note(i, change, field)
    local module, instance, kstat = thing_of(change)
    local id = ("%s:%d:%s"):format(module, instance, kstat)
    local thing = alive[id]
    if not thing or field == "came" and thing.came ~= i then
      local again = field == "came" and thing and thing.went == i or nil
      thing = again and thing or { module = module, instance = instance, kstat = kstat }
      things[#things + 1] = not again and thing or nil
      thing.again, alive[id] = again, thing
    end
    thing[field] = i
  end
  return things, function(ks, i, is_boot, kcid, added, deleted)
    local came, went = {}, {}
    if not began then
      for _, k in ipairs(ks:select((table.unpack or unpack)(selectors))) do
        present[tostring(k)] = { module = k.module, instance = k.instance, name = k.name }
      end
      came, went = missing(present, before or present), missing(before or present, present)
      began = true
    elseif kcid ~= 0 then
      came, went = follow(present, selectors, ks, added, deleted)
    end
    if is_boot then
      came, went, alive = {}, {}, {}
    end
    for _, change in ipairs(went) do
      note(i, change, "went")
    end
    for _, change in ipairs(came) do
      note(i, change, "came")
    end
    for id, thing in pairs(alive) do
      if thing.went and not (thing.again and thing.went == thing.came) and thing.went < i then
        alive[id] = nil
      elseif thing.module == "process" and thing.came then
        used(ks, thing)
      end
    end
  end, present
end

local MOST = 4 -- names of a line

-- What one kstat is called in all modules that tell of it, such as cgroup and cgroup_memory: things of these modules
-- that did the same become one.
local function joined(things)
  local list, known = {}, {}
  for _, thing in ipairs(things) do
    local id = ("%d:%s %s %s"):format(thing.instance, thing.kstat, tostring(thing.came), tostring(thing.went))
    local one = known[id]
    if thing.module == "process" or not one then
      known[id] = thing
      list[#list + 1] = thing
    elseif not one.module:find(thing.module, 1, true) then
      one.module = one.module .. ", " .. thing.module
    end
  end
  return list
end

-- What happened to a group of things.
local function verb(group)
  if group.again > 0 or group.gone > 0 and group.new > 0 then
    return "restarted"
  elseif group.gone > 0 then
    return "went"
  elseif group.new == 0 then
    return "came and went"
  end
  return "came"
end

local function line_of(group)
  local names, n, cpu, bytes, memory = {}, #group, 0, 0, 0
  for i, thing in ipairs(group) do
    names[i] = group.process and ("%d"):format(thing.instance) or ("%d:%s"):format(thing.instance, thing.kstat)
    cpu, bytes = cpu + (thing.cpu or 0), bytes + (thing.bytes or 0)
    memory = math.max(memory, thing.memory or 0)
  end
  local more = n > MOST and (" and %d more"):format(n - MOST) or ""
  return { what = verb(group), module = group.module, process = group.process, n = n, at = group.at, cpu = cpu,
    bytes = bytes, memory = memory, names = table.concat(names, " ", 1, math.min(n, MOST)) .. more }
end

-- What a thing did; and what it goes by: of a process its name, of others what they did.
local function key_of(thing)
  local what = thing.again and "again" or thing.came and thing.went and "brief" or thing.came and "new" or "gone"
  return what, thing.module == "process" and thing.kstat or what .. " " .. thing.module
end

--- Brings things together: those of the same modules that did the same, and processes of one name.
-- @tparam {table,...} things of watcher()
-- @int first number of the last sample of the base: what happened until then is usual
-- @tparam {table,...} earlier those of watcher() for another replay that is the base: they are usual
-- @treturn {table,...} `what` ("came", "went", "restarted", "came and went"), `module`, `process` (?string: the name
-- of the processes), `n`, `names` (string), `at` (number of the sample at which the first one did), of processes `cpu`
-- (seconds), `bytes` (of all) and `memory` (bytes, of the largest); the dearest first
function news.lines(things, first, earlier)
  local groups, list, usual = {}, {}, {}
  for _, thing in ipairs(joined(earlier)) do
    local _, key = key_of(thing)
    usual[key] = (usual[key] or 0) + 1
  end
  for _, thing in ipairs(joined(things)) do
    local process = thing.module == "process" and thing.kstat or nil
    local what, key = key_of(thing)
    if math.max(thing.came or 0, thing.went or 0) <= first then
      usual[key] = (usual[key] or 0) + 1
    else
      local at = math.min(thing.came or math.huge, thing.went or math.huge)
      local group = groups[key]
      if not group then
        group = { module = thing.module, process = process, at = at, key = key,
          again = 0, brief = 0, new = 0, gone = 0 }
        groups[key], list[#list + 1] = group, group
      end
      group.at, group[what] = math.min(group.at, at), group[what] + 1
      table.insert(group, thing)
    end
  end
  local lines = {}
  for _, group in ipairs(list) do
    if #group > 2 * (usual[group.key] or 0) then
      lines[#lines + 1] = line_of(group)
    end
  end
  local function cost(line) return line.cpu + line.bytes / 1e9 + line.memory / 1e9 end
  table.sort(lines, function(a, b)
    if cost(a) ~= cost(b) then
      return cost(a) > cost(b)
    elseif a.at ~= b.at then
      return a.at < b.at
    end
    return a.names < b.names
  end)
  return lines
end

return news
