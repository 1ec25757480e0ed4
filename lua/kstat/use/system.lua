--- Processes that are in trouble, and the clock, as kstatlua use measures them.
--
-- @module kstat.use.system
local culprits = require("kstat.use.culprits")
local figures = require("kstat.use.figures")

local now = figures.now

local limits = {
  { "process", "utilization", "descriptors", unit = "%", warning = 90, file = "/proc/PID/fd, /proc/PID/limits",
    reason = "Open files and sockets of the process that is nearest to its limit of them (ulimit -n)." },
  { "process", "saturation", "descriptors used up", unit = "%", critical = 99, quiet = true, file = "the same",
    reason = "At its limit a program cannot open files nor take connections." },
  { "process", "saturation", "stuck", unit = "", critical = 1, file = "/proc/PID/stat: state D",
    reason = "Processes that no signal wakes and that did nothing in the interval, while no disk was busy: the file " ..
      "system is frozen, or its server or device does not answer." },
  { "process", "errors", "zombies", unit = "", warning = 50, file = "/proc/PID/stat: state Z",
    reason = "Processes that ended and that their parent does not wait for: each holds a number until that ends." },
  { "clock", "errors", "not synchronized", unit = "", warning = 1, file = "adjtimex(2)",
    reason = "Somebody kept the clock in step, and does no more. Of a clock that was never kept nothing is said." },
}

-- The process that is nearest to its limit of descriptors, in percent.
local function descriptors(d)
  return figures.most(d:select({ class = "process_fd" }), function(k)
    return figures.percent(now(k, "open"), now(k, "limit"))
  end)
end

-- True if a disk was busy for half of the time.
local function is_any_disk_busy(d)
  local most = figures.most(d:select({ class = "disk" }), function(k) return (k:rate("rtime")) end)
  return most and most >= 0.5
end

-- Processes that were not woken all the time, those of the kernel aside, and parents of zombies with their number.
local function in_trouble(d, prev)
  local stuck, parents, zombies = {}, {}, 0
  local idle = not is_any_disk_busy(d)
  for _, k in ipairs(d:select({ class = "process" })) do
    local state = now(k, "state", "string")
    if state == "Z" then
      local parent = now(k, "ppid") or 0
      zombies, parents[parent] = zombies + 1, (parents[parent] or 0) + 1
    elseif state == "D" and idle and (now(k, "size") or 0) > 0 and figures.count(k, "utime", "stime", "minf") == 0 then
      local before = prev and prev:lookup(k.module, k.instance, k.name)
      stuck[#stuck + 1] = before and before:get("state") == "D" and culprits.name(k) or nil
    end
  end
  return stuck, zombies, parents
end

-- The parent of most zombies.
local function parent_of(d, parents)
  return function()
    local most, pid = 0, nil
    for parent, n in pairs(parents) do
      if n > most or n == most and parent < pid then
        most, pid = n, parent
      end
    end
    for k in d:each({ class = "process" }) do
      if k.instance == pid then
        return ("%d of %s"):format(most, culprits.name(k))
      end
    end
    return nil
  end
end

local function processes(d, add, prev)
  local stuck, zombies, parents = in_trouble(d, prev)
  local share, of = descriptors(d)
  local who = of and culprits.name(of)
  add("process", "all", {
    descriptors = share, ["descriptors used up"] = share,
    stuck = (next(parents) or #d:select({ class = "process" }) > 0) and #stuck or nil,
    zombies = zombies,
  }, { descriptors = who, ["descriptors used up"] = who, zombies = parent_of(d, parents),
    stuck = table.concat(stuck, ", ", 1, math.min(#stuck, 3)) })
end

local function clock(d, add)
  local k = d:lookup("unix", 0, "clock")
  local is, frequency = now(k, "synchronized"), now(k, "frequency")
  if is == 1 or is and frequency and frequency ~= 0 then
    add("clock", "all", { ["not synchronized"] = 1 - is })
  end
end

local function measure(d, add, _, prev)
  processes(d, add, prev)
  clock(d, add)
end

return {
  limits = limits, measure = measure, processes = true,
  select = { { module = "unix", instance = 0, name = "clock" }, { class = "process_fd" },
    { class = "disk" } },
}
