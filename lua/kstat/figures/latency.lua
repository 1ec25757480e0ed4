--- Latencies that a program of root's measures and publishes as the machine's (kstatlua latency), over an interval.
-- Where it does not run there are none.
-- @module kstat.figures.latency
-- SPDX-License-Identifier: MIT
local selector = require("kstat.read.selector")

local latency = {}

local function class(name)
  return selector.compile({ class = name })
end

--- What is needed of disks, of CPUs, of connections, and of processes that ended.
latency.disks, latency.cpus = class("disk_latency"), class("runq_latency")
latency.connections, latency.exits = class("connect_latency"), class("exits_command")

--- What was counted in an interval: of a kstat that came within it, all.
-- @tparam kstat|nil k
-- @treturn distribution|nil nanoseconds, which captures do not say; nil: nothing was, or it is no histogram
function latency.counted(k)
  local d = k and k:distribution()
  return d and d.count > 0 and (d.unit == "ns" or d.unit == "") and d or nil
end

local counted = latency.counted

--- The distributions of a difference or a sample that selectors choose, merged by a key.
-- @tparam difference|sample d
-- @tparam selector which
-- @tparam fun(k:kstat):?string key nil: the kstat does not count
-- @treturn {[string]=distribution} nanoseconds
function latency.by(d, which, key)
  local found = {}
  for _, k in ipairs(d:select(which)) do
    local name = key(k)
    local more = name and counted(k)
    if more then
      found[name] = found[name] and found[name]:merge(more) or more
    end
  end
  return found
end

local function text(k, name)
  local value = k:get(name)
  return type(value) == "string" and value or ""
end

--- Those of disks.
-- @tparam difference|sample d
-- @treturn {[string]=distribution} by the disk's name, "read", "write", "flush" or "discard", "queue" or "device", and
-- in a recording of several machines the name of the machine, with commas between
function latency.of_disks(d)
  return latency.by(d, latency.disks, function(k)
    return ("%s,%s,%s,%s"):format(text(k, "device"), text(k, "operation"), text(k, "part"), k.host or "")
  end)
end

local HOUR, STEP = 3600, 300 -- seconds: how far back it goes, and what lies between two distributions that are kept
local seen = {} -- by kstat, for those who look often

-- The distribution since creation that lies an hour back, or nil: it is not known from then.
local function hour_ago(k, before, at)
  local key = ("%s %d %s"):format(k.host or "", k.instance, k.name)
  local list = seen[key]
  if not list or list.crtime ~= k.crtime_ns or list[#list].at > at then
    list = { crtime = k.crtime_ns, { at = at, before = before } }
    seen[key] = list
  elseif at - list[#list].at >= STEP then
    list[#list + 1] = { at = at, before = before }
  end
  while list[2] and at - list[2].at >= HOUR do
    table.remove(list, 1)
  end
  return at - list[1].at >= HOUR and list[1].before or nil
end

--- What a kstat had counted in the hour before an interval, or since its creation, if that is all that is known.
-- @tparam kstat k of a difference
-- @tparam sample|nil prev the earlier sample
-- @treturn distribution|nil nil: the kstat came within the interval
function latency.hour(k, prev)
  local earlier = prev and prev:lookup(k.module, k.instance, k.name)
  local before = earlier and earlier.crtime_ns == k.crtime_ns and counted(earlier)
  if not before then
    return nil
  end
  local ago = hour_ago(k, before, earlier.snaptime)
  return ago and before - ago or before
end

--- What ended within an interval, however short it lived: for each parent the command of which most ended.
-- @tparam difference d
-- @treturn {[string]=string} by the name of the parent, such as "100/s true"
function latency.children(d)
  local most, texts = {}, {}
  for _, k in ipairs(d:select(latency.exits)) do
    local parent, n = text(k, "parent"), k:rate("exits")
    if n and n > (most[parent] or 0) then
      most[parent], texts[parent] = n, ("%.0f/s %s"):format(n, text(k, "command"))
    end
  end
  return texts
end

--- A percentile in milliseconds.
-- @tparam distribution|nil of
-- @number share 0 to 1
-- @treturn number|nil nil: nothing was counted
function latency.milliseconds(of, share)
  local ns = of and of:quantile(share)
  return ns and ns / 1e6
end

--- Whether any program's latencies are in a chain.
-- @tparam chain ks
-- @tparam selector which
-- @string about "disks" or "CPUs"
-- @treturn string|nil what to say where there are none
function latency.missing(ks, which, about)
  if ks:select(which)[1] then
    return nil
  end
  return ("latencies of %s are not %s: 'kstatlua latency' measures them, as root"):format(about,
    ks:is_replay() and "recorded" or "measured")
end

return latency
