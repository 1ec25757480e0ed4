--- Processes that are in trouble, and the clock, as kstatlua use measures them.
-- @module kstat.use.system
local core = require("kstat.core")
local culprits = require("kstat.use.culprits")
local ended = require("kstat.figures.ended")
local figures = require("kstat.use.figures")
local reader = require("kstat.use.reader")
local selector = require("kstat.read.selector")

local now = figures.now
local WITH_DESCRIPTORS = { selector.compile({ class = "process_fd" }) }

local limits = {
  { "process", "utilization", "descriptors", unit = "%", warning = 90, file = "/proc/PID/fd, /proc/PID/limits",
    reason = "Open files and sockets of the process that is nearest to its limit of them (ulimit -n)." },
  { "process", "saturation", "descriptors used up", unit = "%", critical = 99, quiet = true, file = "the same",
    reason = "At its limit a program cannot open files nor take connections." },
  { "process", "utilization", "threads of a user", unit = "%", warning = 90, file = "/proc/PID/limits: Max processes",
    reason = "Threads of the user, but for root, who is nearest to the limit of them that his processes have " ..
      "(ulimit -u)." },
  { "process", "saturation", "threads used up", unit = "%", critical = 99, quiet = true, file = "the same",
    reason = "At that limit a user cannot start anything." },
  { "process", "saturation", "stuck", unit = "", critical = 1, file = "/proc/PID/stat: state D",
    reason = "Processes that no signal wakes and that did nothing in an interval of a second or more, while no disk " ..
      "was busy and served requests, or that wait for NFS: the file system is frozen, or its server or device does " ..
      "not answer. Groups that somebody stopped do not count, nor do processes of which this user may not see " ..
      "where they wait (/proc/PID/wchan): those may be in such a group." },
  { "process", "errors", "zombies", unit = "", warning = 50, file = "/proc/PID/stat: state Z",
    reason = "Processes that ended and that their parent did not wait for all the time: each holds a number until " ..
      "that ends.", nobody = "their parent is not seen" },
  { "process", "utilization", "not seen", unit = "", quiet = true, file = "/proc: number of links",
    reason = "Processes of the machine that are hidden from this user (hidepid), or in other PID name spaces than " ..
      "that of this container: nobody of them is named." },
  { "process", "saturation", "blocked", unit = "", warning = 20, critical = 100, quiet = true,
    file = "/proc/stat: procs_blocked",
    reason = "Tasks that waited for I/O at both ends of the interval, where the kernel does not tell pressure." },
  { "clock", "errors", "not synchronized", unit = "", warning = 1, file = "adjtimex(2)",
    reason = "Somebody kept the clock in step, and does no more. Of a clock that was never kept nothing is said." },
}

-- The process that is nearest to its limit of descriptors, in percent, and the limits of threads by PID. x: a sample or
-- a difference.
local function descriptors(x)
  local of_threads = {}
  local share, of = figures.most(assert(core.figures(x, WITH_DESCRIPTORS, { open = "open", limit = "limit",
    threads = "threads_limit" })), function(p)
    of_threads[p.instance] = type(p.threads) == "number" and p.threads or nil
    return type(p.open) == "number" and type(p.limit) == "number" and figures.percent(p.open, p.limit) or nil
  end)
  return share, of, of_threads
end

-- The share of the limit of threads that the user has who is nearest to it, and a text about him.
local function threads_of_users(list, of_threads)
  local users, most_of = {}, nil
  for _, p in ipairs(list) do
    local user = type(p.euid) == "number" and p.euid ~= 0 and (users[p.euid] or { threads = 0, limit = math.huge })
    if user then
      users[p.euid] = user
      user.threads = user.threads + (type(p.nlwp) == "number" and p.nlwp or 0)
      user.limit = math.min(user.limit, of_threads[p.instance] or math.huge)
    end
  end
  local most
  for uid, user in pairs(users) do
    local share = user.limit < math.huge and figures.percent(user.threads, user.limit)
    if share and (not most or share > most) then
      most, most_of = share, ("user %d with %d of %d"):format(uid, user.threads, user.limit)
    end
  end
  return most, most_of
end

local SLOW = 5 -- seconds for which that is kept

local function descriptors_kept(kept)
  local time = core.sample_taken(kept.now)
  if not kept.descriptors or time - kept.descriptors.time >= SLOW then
    local share, of, of_threads = descriptors(kept.now)
    kept.descriptors = { time = time, share = share, of = of, of_threads = of_threads }
  end
  return kept.descriptors.share, kept.descriptors.of, kept.descriptors.of_threads
end

-- True if a disk was busy for half of the time. One that completes nothing is dead, and no reason to wait.
local function is_any_disk_busy(d)
  local most = figures.most(figures.select(d, "class disk"), function(k)
    return (figures.count(k, "reads", "writes") or 0) > 0 and k:rate("rtime") or nil
  end)
  return most and most >= 0.5
end

-- The state that a process had in a sample; nil: it was not there.
local function state_in(sample, p)
  local k = sample:lookup("process", p.instance, p.name)
  return k and k:get("state")
end

-- Where tasks wait that a signal wakes. One in state D there is frozen: since Linux 6.1 it stays where it slept.
local FREEZABLE = { "refrigerator", "nanosleep", "futex", "ep_poll", "epoll_wait", "poll_schedule", "do_poll",
  "do_select", "unix_stream", "sigtimedwait" }

-- Whether a group was stopped by somebody, as `docker pause` does. where: what a process waits in.
local function is_frozen(where)
  for _, name in ipairs(FREEZABLE) do
    if where:find(name, 1, true) then
      return true
    end
  end
  return false
end

local SHORTEST = 0.9 -- seconds: CPU time is counted in ticks of 10 ms, and a timer may miss a second by a little

-- Whether a process in state D was not woken all the time, and where it waits; those of the kernel aside. Where that
-- is not known, it may be frozen. is_busy: a disk serves requests; who waits for another machine does not wait for it
local function is_stuck(d, prev, p, is_busy)
  local k = d:lookup("process", p.instance, p.name)
  local where = now(k, "wchan", "string")
  return where and (not is_busy or where:find("^_*nfs") or where:find("^_*rpc")) and (now(k, "size") or 0) > 0 and
    figures.count(k, "utime", "stime", "minf") == 0 and state_in(prev, p) == "D" and not is_frozen(where), where
end

-- Processes that are stuck, false or nil where the interval does not tell; parents of zombies with their number, and
-- how many these are; and all processes.
local function in_trouble(d, prev)
  local stuck, parents, zombies = {}, {}, 0
  local is_long, is_busy, list = prev and d.elapsed >= SHORTEST, is_any_disk_busy(d), ended.processes(d)
  for _, p in ipairs(list) do
    if p.letter == "Z" and (not prev or state_in(prev, p) == "Z") then
      local parent = type(p.ppid) == "number" and p.ppid or 0
      zombies, parents[parent] = zombies + 1, (parents[parent] or 0) + 1
    elseif p.letter == "D" and is_long then
      local is, where = is_stuck(d, prev, p, is_busy)
      stuck[#stuck + 1] = is and culprits.name(p) .. " in " .. where or nil
    end
  end
  return is_long and stuck, parents, zombies, list
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
  local stuck, parents, zombies, list = in_trouble(d, prev)
  local share, of, of_threads
  if prev or not kept then -- the first picture of a screen does not wait for them
    share, of, of_threads = (kept and descriptors_kept or descriptors)(kept or d)
  end
  local threads, user = threads_of_users(list, of_threads or {})
  local who = of and culprits.name(of)
  local blocked = not d:lookup("pressure", 0, "io") and
    figures.lasting(d, prev, { "unix", 0, "sys" }, "procs_blocked")
  add("process", "all", {
    descriptors = share, ["descriptors used up"] = share,
    ["threads of a user"] = threads, ["threads used up"] = threads,
    stuck = list[1] and stuck and #stuck, zombies = zombies, blocked = blocked,
    ["not seen"] = reader.unseen(d, list) or false,
  }, { descriptors = who, ["descriptors used up"] = who, ["threads of a user"] = user,
    ["threads used up"] = user, zombies = parent_of(d, parents),
    stuck = stuck and table.concat(stuck, ", ", 1, math.min(#stuck, 3)) })
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
  select = { { module = "unix", instance = 0, name = "clock", class = "misc" }, { class = "process_fd" },
    { module = "unix", instance = 0, name = "sys", class = "misc" },
    { module = "pressure", name = "io", class = "pressure" },
    { class = "disk" } },
}
