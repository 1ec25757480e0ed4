--- Processes that are in trouble, and the clock, as kstatlua use measures them.
--
-- @module kstat.use.system
local core = require("kstat.core")
local culprits = require("kstat.use.culprits")
local figures = require("kstat.use.figures")
local selector = require("kstat.selector")

local now = figures.now
local PROCESSES, WITH_DESCRIPTORS = { selector.compile({ class = "process" }) },
  { selector.compile({ class = "process_fd" }) }

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

-- The process that is nearest to its limit of descriptors, in percent. x: a sample or a difference.
local function descriptors(x)
  return figures.most(assert(core.figures(x, WITH_DESCRIPTORS, { open = "open", limit = "limit" })), function(p)
    return type(p.open) == "number" and type(p.limit) == "number" and figures.percent(p.open, p.limit) or nil
  end)
end

local SLOW = 5 -- seconds for which that is kept

local function descriptors_kept(kept)
  local time = core.sample_taken(kept.now)
  if not kept.descriptors or time - kept.descriptors.time >= SLOW then
    local share, of = descriptors(kept.now)
    kept.descriptors = { time = time, share = share, of = of }
  end
  return kept.descriptors.share, kept.descriptors.of
end

-- True if a disk was busy for half of the time.
local function is_any_disk_busy(d)
  local most = figures.most(figures.select(d, "class disk"), function(k) return (k:rate("rtime")) end)
  return most and most >= 0.5
end

-- Whether a process in state D was not woken all the time; those of the kernel aside.
local function is_stuck(d, prev, p)
  local k, before = d:lookup("process", p.instance, p.name), prev and prev:lookup("process", p.instance, p.name)
  return (now(k, "size") or 0) > 0 and figures.count(k, "utime", "stime", "minf") == 0 and before and
    before:get("state") == "D"
end

-- Processes that are stuck; parents of zombies with their number, and how many these are; and whether there are any
-- processes at all.
local function in_trouble(d, prev)
  local stuck, parents, zombies = {}, {}, 0
  local idle, list = not is_any_disk_busy(d), assert(core.figures(d, PROCESSES, { state = "state", ppid = "ppid" }))
  for _, p in ipairs(list) do
    if p.state == "Z" then
      local parent = type(p.ppid) == "number" and p.ppid or 0
      zombies, parents[parent] = zombies + 1, (parents[parent] or 0) + 1
    elseif p.state == "D" and idle and is_stuck(d, prev, p) then
      stuck[#stuck + 1] = culprits.name(p)
    end
  end
  return stuck, parents, zombies, #list > 0
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

local function processes(d, add, prev, kept)
  local stuck, parents, zombies, known = in_trouble(d, prev)
  local share, of
  if prev or not kept then -- the first picture of a screen does not wait for them
    share, of = (kept and descriptors_kept or descriptors)(kept or d)
  end
  local who = of and culprits.name(of)
  add("process", "all", {
    descriptors = share, ["descriptors used up"] = share,
    stuck = known and #stuck or nil, zombies = zombies,
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

local function measure(d, add, _, prev, kept)
  processes(d, add, prev, kept)
  clock(d, add)
end

return {
  limits = limits, measure = measure, processes = true,
  select = { { module = "unix", instance = 0, name = "clock" }, { class = "process_fd" },
    { class = "disk" } },
}
