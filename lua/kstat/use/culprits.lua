--- Who is to blame for what kstatlua use warns of: processes, control groups. Each function returns a function that
-- gives the names when they are wanted, because most machines are well; nil: nobody is known.
--
-- @module kstat.use.culprits
local ended = require("kstat.ended")
local figures = require("kstat.use.figures")
local text_of = require("kstat.text")

local culprits = {}

--- What the culprits are found in. Processes are in a chain only for those who ask.
-- @table select
culprits.select = { { class = "process" }, { class = "process_io" } }

--- Reads them, so that the next difference has them: what is asked for at a warning only would be missing there.
-- @tparam difference d
function culprits.read(d)
  for _, selector in ipairs(culprits.select) do
    for k in d:each(selector) do
      k:get("utime", "nread")
    end
  end
end

local MOST = 3 -- names
local LEAST = 0.2 -- of the first one's figure

-- A number of bytes, as people read it.
local function bytes(n)
  return text_of.number(n) .. "B"
end

--- Names a process.
-- @tparam kstat k of class process
-- @treturn string such as "nginx[1234]"
function culprits.name(k)
  return ("%s[%d]"):format((k.name:gsub(",%l+$", "")), k.instance)
end

-- The names of those kstats that have most of a figure, with the figure; nil: none has any.
local function top(list, figure, name, format)
  local found = {}
  for i, k in ipairs(list) do
    local n = figure(k)
    found[#found + 1] = n and n > 0 and { k = k, n = n, i = i } or nil
  end
  table.sort(found, function(a, b) return a.n > b.n or a.n == b.n and a.i < b.i end)
  local names = {}
  for i = 1, math.min(#found, MOST) do
    if found[i].n >= LEAST * found[1].n then
      names[i] = name(found[i].k) .. " " .. format(found[i].n)
    end
  end
  return names[1] and table.concat(names, ", ")
end

local function processes(d, class, figure, format)
  return function()
    return top(d:select({ class = class }), figure, culprits.name, format)
  end
end

--- Those that use most CPU time, in percent of one CPU, with their children that ended.
-- @tparam difference d
-- @tparam sample|nil prev the earlier sample
-- @treturn function
function culprits.cpu(d, prev)
  return function()
    local children = ended.cpu(d, prev)
    return processes(d, "process", function(k)
      local time = figures.count(k, "utime", "stime")
      time = time and k.elapsed > 0 and (time + (children[k.instance] or 0)) / k.elapsed
      return time and time >= 1e7 and time / 1e7
    end, function(n) return ("%.0f%%"):format(n) end)()
  end
end

--- Those that hold most memory.
-- @tparam difference d
-- @treturn function
function culprits.memory(d)
  return processes(d, "process", function(k) return figures.now(k, "rssize") end, bytes)
end

--- Who makes others wait for memory: the control groups that met their limit of it; or else the processes that read
-- most pages from disks because they were not in memory; or else those that hold most memory.
-- @tparam difference d
-- @treturn function
function culprits.pressure(d)
  local limited = culprits.groups(d, function(k) return figures.per_second(k, "memory_max_events") end,
    function(n) return ("%.0f times/s at its limit"):format(n) end)
  local faulting = processes(d, "process", function(k) return figures.per_second(k, "majf") end,
    function(n) return ("%.0f faults/s"):format(n) end)
  return function()
    return limited() or faulting() or culprits.memory(d)()
  end
end

--- The programs that have most threads, all their processes together.
-- @tparam difference d
-- @treturn function
function culprits.threads(d)
  return function()
    local first, sums = {}, {}
    for k in d:each({ class = "process" }) do
      first[#first + 1] = not sums[k.name] and k or nil
      sums[k.name] = (sums[k.name] or 0) + (figures.now(k, "nlwp") or 0)
    end
    return top(first, function(k) return sums[k.name] end, function(k) return k.name end,
      function(n) return ("%d threads"):format(n) end)
  end
end

--- Those that read and write most on disks: processes, and children of processes that ended; or else control groups.
-- @tparam difference d
-- @tparam sample|nil prev the earlier sample; nil: children that ended are not known
-- @treturn function
function culprits.io(d, prev)
  local function moved(k) return figures.per_second(k, "nread", "nwritten") end
  local function rate(n) return bytes(n) .. "/s" end
  local function moving()
    local read, written = ended.io(d, prev)
    local list = d:select({ class = "process_io" })
    for i = 1, #list do
      local k = list[i]
      local n = (read[k.instance] or 0) + (written[k.instance] or 0)
      list[#list + 1] = n > 0 and k.elapsed > 0 and { of = k, moved = n / k.elapsed } or nil
    end
    return top(list, function(k) return type(k) == "table" and k.moved or moved(k) end, function(k)
      return type(k) == "table" and "ended children of " .. culprits.name(k.of) or culprits.name(k)
    end, rate)
  end
  return function()
    return moving() or culprits.groups(d, moved, rate)()
  end
end

--- The control groups that have most of a figure. A group is part of those above it, whose figures are no less.
-- @tparam difference d
-- @func figure function(k)
-- @func[opt] format function(n); default: no figure is shown
-- @treturn function
function culprits.groups(d, figure, format)
  return function()
    local list = {}
    for _, k in ipairs(d:select({ class = "cgroup" })) do
      list[#list + 1] = k.name ~= "/" and k or nil
    end
    local text = top(list, figure, function(k) return k.name end, format or function() return "" end)
    return text and (text:gsub(" ,", ","):gsub(" $", ""))
  end
end

return culprits
