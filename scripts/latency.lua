--- latency: counts in the kernel, by BPF, how long disks, CPUs, connections and children take; root starts it.
-- It publishes kstats of the modules latency and exits until it ends; see doc/latency.md. Exit status: 0, 2 the command
-- line was wrong, 3 the kernel does not let it, or another one runs. SPDX-License-Identifier: MIT
local kstat = require("kstat")
local interval = require("kstat.base.options.interval")
local operand = require("kstat.command.operand")
local options = require("kstat.base.options")
local running = require("kstat.base.running")
local text = require("kstat.base.text")

local USAGE = [=[
usage: kstatlua latency [--groups] [disk] [cpu] [connect] [exits] [interval [count]]

  --groups    the run queue also by control group
  -h, --help  this

Counts in the kernel, until it is interrupted, and publishes every interval seconds (1), count times:
  disk        how long requests waited for a disk and were served, by disk and kind of request
  cpu         how long tasks waited for a CPU
  connect     how long TCP connections took to come about, or to fail
  exits       which processes ended, by command and parent, how long they lived and what CPU time they had
Without any of these, all. It takes root, or CAP_BPF and CAP_PERFMON.
Read it with:  kstat -p latency::, kstat -a 'p99(buckets)' -m latency, iostat -x --latency
]=]

local OPTIONS = options.command({ { nil, "groups" }, { "h", "help", final = true } })
local AREAS = { "disk", "cpu", "connect", "exits" }
local MOST_GROUPS, MOST_DISKS, MOST_EXITS = 1000, 1024, 64
local EXITS_KEPT = 60 -- seconds that a pair is among the busiest, and how long the kernel keeps it without exits
local stop = running.stop

local function wrong(message)
  stop(2, message .. "; 'kstatlua latency --help' explains")
end

--- Returns what is counted as a set, the interval and the count.
local function read_arguments(words)
  local given, operands, seconds, count = operand.command_line(OPTIONS, words, USAGE, wrong)
  local known, wanted = {}, {}
  for _, area in ipairs(AREAS) do
    known[area], wanted[area] = true, #operands == 0
  end
  for _, word in ipairs(operands) do
    if not known[word] then
      wrong(("there is no '%s' to count: it is disk, cpu, connect or exits"):format(word))
    end
    wanted[word] = true
  end
  if given.groups and not wanted.cpu then
    wrong("--groups is about cpu")
  end
  wanted.groups = given.groups and MOST_GROUPS or 0
  return wanted, seconds or 1, count
end

-- --- what may be done, and what exists --------------------------------------------------------

local function read_file(path)
  local f = io.open(path)
  local contents = f and f:read("a")
  return f and f:close() and contents or nil
end

-- Ends the command unless it has the capabilities: what the kernel answers without them says less.
local function check_capabilities()
  local effective = tonumber((read_file("/proc/self/status") or ""):match("CapEff:%s*(%x+)") or "ffffffffffffffff", 16)
  local function has(bit)
    return effective >> bit & 1 == 1
  end
  local is_admin, lacks = has(21), {}
  for bit, name in pairs({ [38] = "CAP_PERFMON", [39] = "CAP_BPF" }) do
    lacks[#lacks + 1] = not is_admin and not has(bit) and name or nil
  end
  table.sort(lacks)
  if lacks[1] then
    stop(3, ("no %s: root may do this, or the service kstat-latency"):format(table.concat(lacks, " and no ")))
  end
end

local REMEDIES = {
  EPERM = "not permitted despite the capabilities: a container, a user namespace or kernel lockdown; "
    .. "run it on the machine itself",
  ESRCH = "a kernel with CONFIG_DEBUG_INFO_BTF has it", EOPNOTSUPP = "it is too old for this, or made without it",
  EACCES = "the kernel refuses them; it is another one than they are made for (5.10 and later)",
  ENOMEM = "not enough memory", E2BIG = "more memory than the kernel gives",
}

-- Returns what takes room for the disks that exist: rows for those that were ever used, slots for the tags of all,
-- their queues, and whether one has no requests.
local function look_at_disks()
  local used, slots, queues, bios = 0, 0, 0, false
  for line in (read_file("/proc/diskstats") or ""):gmatch("[^\n]+") do
    local name, reads, writes = line:match("^%s*%d+%s+%d+%s+(%S+)%s+(%d+)%s+%d+%s+%d+%s+%d+%s+(%d+)")
    local directory = name and "/sys/block/" .. name:gsub("/", "!")
    if directory and read_file(directory .. "/size") then -- else it is a partition
      local hardware, tags = 0, read_file(directory .. "/queue/nr_requests") or 0
      queues = queues + 1
      used = used + ((reads ~= "0" or writes ~= "0") and 1 or 0)
      while true do
        local n = read_file(("%s/mq/%d/nr_tags"):format(directory, hardware))
        if not n then
          break
        end
        hardware, tags = hardware + 1, math.max(tonumber(tags), tonumber(n), 256)
      end
      slots, bios = slots + hardware * tags, bios or hardware == 0
    end
  end
  return { disks = math.min(used + 8, MOST_DISKS), slots = slots + slots // 4 + 1024, bios = bios,
    queues = math.max(1024, 4 * queues) }
end

-- --- publishing -------------------------------------------------------------------------------

local LOSSES = {
  disk = "requests of disks that were not counted: too many disks or tags; it begins anew if that makes room",
  bio = "requests of disks without queues that were not counted: too many at once",
  connect = "connections that were not timed: too many at once",
  exit = "exits that are in the sums alone: too many commands",
  switch = "waits that were not counted: no memory", unseen = "requests that began before they were looked for",
  accept = "connections accepted whose time is not known: a SYN-ACK was sent again, or a cookie",
  missed = "events for which the kernel did not run the program that counts them",
  histogram = "histograms that could not be published: too many, or no space",
}

local EXPECTED = { unseen = true, missed = true, accept = true }

local OUTCOMES = { [0] = "connect", "accept", "refused", "timeout", "failed" }
local OPERATIONS = { [0] = "read", "write", "flush", "discard" }
local DISK = "%s of each request; %s"
local PARTS = { [0] = { "queue", "from its beginning until the disk gets it; a wait for io.max comes before" },
  { "device", "from when the disk gets it until it is done; the empty write that diskstats has for an fsync is none" } }

-- A name of a kstat may have no more than 30 bytes, and no characters that mean something in a selector. Commands and
-- control groups have any bytes.
local function name_of(name, ...)
  name = table.concat({ (name:gsub("[:,*%[%]]", "_")), ... }, ",")
  return (text.harmless(name:sub(1, 30), true):gsub("%?", "_"))
end

local function key_of(instance, name)
  return ("%d:%s"):format(instance, name)
end

local Publisher = {}
Publisher.__index = Publisher

-- Publishes what the programs do.
local function open_publisher(wanted)
  local pub, message, errname = kstat.publish("latency", { capacity = 2 ^ 28 })
  if not pub then
    stop(3, errname == "EBUSY" and "another one runs: 'kstat -p latency:0:latency' is its" or message)
  end
  local statistics = { { name = "copies", kind = "counter", desc = "times that what is counted was published" },
    { name = "loads", kind = "counter", desc = "times that the programs were loaded" } }
  for name, desc in pairs(LOSSES) do
    statistics[#statistics + 1] = { name = "lost_" .. name, kind = "counter", desc = desc }
  end
  table.sort(statistics, function(a, b) return a.name < b.name end)
  for _, area in ipairs(AREAS) do
    statistics[#statistics + 1] = { name = area, kind = "gauge", meta = "state", value = wanted[area] and 1 or 0,
      desc = "1: this is counted" }
  end
  local self = setmetatable({ pub = pub, wanted = wanted, boxes = {}, before = {}, pairs = {},
    numbers = 0, instances = {},
    rows = {}, by_row = {}, disks = {} }, Publisher)
  self.state = assert(pub:named({ name = "latency", shards = 1, statistics = statistics }))
  self:open_exits()
  return self
end

-- Publishes the sums of all exits, which begin anew with the programs.
function Publisher:open_exits()
  for _, known in pairs(self.pairs) do
    if known.k then
      known.k:delete()
    end
  end
  if self.sums then
    self.sums:delete()
  end
  self.pairs = {}
  if self.wanted.exits then
    self.sums = assert(self.pub:named({ module = "exits", name = "exits", class = "exits", shards = 1,
      statistics = self.exit_statistics({ "lost", desc = "exits that are in these sums alone: too many commands" }) }))
  end
end

-- Publishes a histogram for a row of the programs; one that is there goes on.
function Publisher:histogram(kind, row, instance, name, class, labels, desc)
  local key = key_of(instance, name)
  local k, message = self.boxes[key]
  if not k then
    k, message = self.pub:latency({ name = name, instance = instance, class = class, labels = labels, desc = desc,
      unit = "ns", scale = 4, lowest = 1, highest = 1000000000000, dense = true })
    if not k then
      self:lose("histogram", 1)
      running.warn(("latency:%d:%s is not published: %s"):format(instance, name, message))
      self.programs:publish(kind, row)
      return
    end
    self.boxes[key] = k
  end
  self.programs:publish(kind, row, k.box)
  return k
end

function Publisher:lose(what, n)
  self.state:add("lost_" .. what, n)
end

-- The disk's number among the machine's kstats.
function Publisher:instance_of(disk)
  if not self.instances[disk] then
    local ks = kstat.open({ machine = true })
    for _, k in ipairs(ks and ks:select({ class = "disk" }) or {}) do
      self.instances[k.name] = k.instance
    end
    self.instances[disk] = self.instances[disk] or 0
  end
  return self.instances[disk]
end

local fresh = {}

local function is_there(disk)
  return read_file("/sys/block/" .. disk:gsub("/", "!") .. "/size") ~= nil
end

function fresh.disk(self, row, disk)
  if not is_there(disk) then
    self.has_room = true
    return self.programs:publish("disk", row, false)
  end
  local operation, part = OPERATIONS[row // 2 % 4], PARTS[row % 2]
  local k = self:histogram("disk", row, self:instance_of(disk), name_of(disk, operation, part[1]), "disk_latency",
    { device = disk, operation = operation, part = part[1] }, DISK:format(part[1], part[2]))
  if k then -- a disk that came back soon has a second row for the same kstat
    self.disks[k] = self.disks[k] or { name = disk, rows = {} }
    self.disks[k].rows[row] = true
  end
end

function fresh.cpu(self, row)
  self:histogram("cpu", row, row, "runq", "runq_latency", nil, "how long tasks waited in the run queue for this CPU")
end

function fresh.group(self, row)
  local group = self.by_row[row] or { id = 0, path = "(others)" }
  self:histogram("group", row, group.id & 0x7fffffff, row == 0 and "runq,others" or name_of("runq", group.path),
    "runq_latency_group", { cgroup = group.path }, "how long the group's tasks waited in run queues")
end

function fresh.connect(self, row)
  local outcome, family = OUTCOMES[row // 4], row // 2 % 2 == 1 and "tcp6" or "tcp"
  local is_other = row % 2 == 1
  self:histogram("connect", row, 0, name_of(outcome, family, is_other and "others" or nil), "connect_latency",
    { outcome = row // 4 < 2 and "established" or outcome, side = outcome == "accept" and "server" or "client",
      family = family, namespace = is_other and "others" or "own" },
    outcome == "accept" and "from the SYN-ACK to the answer" or "from the SYN to the end of the attempt")
end

-- --- exits ------------------------------------------------------------------------------------

function Publisher.exit_statistics(...)
  local list = {
    { "exits", desc = "processes that ended" }, { "failed", desc = "of these, with another status than 0" },
    { "killed", desc = "of these, by a signal" },
    { "lifetime", unit = "ns", meta = "t_acc", desc = "how long they had lived, all together" },
    { "cputime", unit = "ns", meta = "t_acc", desc = "CPU time that they had had, all together" }, ...
  }
  for i, s in ipairs(list) do
    list[i] = { name = s[1], kind = not s.type and "counter" or nil, unit = s.unit, meta = s.meta, desc = s.desc,
      type = s.type }
  end
  return list
end

local COUNTERS = { "exits", "failed", "killed", "lifetime", "cputime" }

local function set_counters(k, e)
  for _, name in ipairs(COUNTERS) do
    k:set(name, e[name])
  end
end

local function add_pair(self, e)
  self.numbers = self.numbers + 1
  return self.pub:named({ module = "exits", instance = self.numbers, name = name_of(e.command, name_of(e.parent)),
    class = "exits_command", shards = 1, statistics = self.exit_statistics(
      { "command", type = "string", desc = "its name" },
      { "cgroup", type = "string", desc = "the control group that one of them was in" },
      { "parent", type = "string", desc = "the name of who started it" }) })
end

-- The control groups by id, as they were when this was first asked in a round.
function Publisher:groups()
  local root = (read_file("/proc/self/mounts") or ""):match("%S+ (%S+) cgroup2 ")
  return root and self.bpf.groups(root, MOST_GROUPS + 1) or {}
end

-- Publishes the pairs that had the most exits in the last minute, and lets the kernel forget those that had none.
function Publisher:copy_exits(now)
  local sums, list = self.programs:exits()
  local busiest, groups = {}, nil
  set_counters(self.sums, sums)
  self.sums:set("lost", self.programs:losses().exit)
  for _, e in ipairs(list) do
    local key = e.command .. "\0" .. e.parent
    local known = self.pairs[key]
    if not known then
      known = { since = now, then_exits = 0, seen = e.exits, at = now }
      self.pairs[key] = known
    elseif known.seen ~= e.exits then
      known.seen, known.at = e.exits, now
    end
    if now - known.since >= EXITS_KEPT then
      known.recent, known.since, known.then_exits = e.exits - known.then_exits, now, e.exits
    end
    if now - known.at >= 2 * EXITS_KEPT then
      self.programs:forget(e.command, e.parent)
      if known.k then
        known.k:delete()
      end
      self.pairs[key] = nil
    else
      known.rank = math.max(e.exits - known.then_exits, known.recent or 0)
      busiest[#busiest + 1] = { known, e }
    end
  end
  table.sort(busiest, function(a, b) return a[1].rank > b[1].rank end)
  for i, both in ipairs(busiest) do
    local known, e = both[1], both[2]
    if i > MOST_EXITS then
      if known.k then
        known.k:delete()
        known.k = nil
      end
    else
      if not known.k then
        known.k = add_pair(self, e)
        if known.k then
          known.k:set("command", e.command)
          known.k:set("parent", e.parent)
          groups = groups or self:groups()
          known.k:set("cgroup", groups[e.group] or "")
        end
      end
      if known.k then
        set_counters(known.k, e)
      end
    end
  end
end

-- --- control groups ---------------------------------------------------------------------------

-- Gives rows to the groups that there are, at most MOST_GROUPS; those of groups that went are free again. Waits of a
-- group without a row count in row 0.
function Publisher:look_at_groups()
  local there, free = self:groups(), {}
  for id, row in pairs(self.rows) do
    if there[id] ~= self.by_row[row].path then
      self.programs:group(id, 0)
      self.programs:publish("group", row)
      local key = key_of(id & 0x7fffffff, name_of("runq", self.by_row[row].path))
      if self.boxes[key] then
        self.boxes[key]:delete()
      end
      self.boxes[key], self.rows[id], self.by_row[row] = nil, nil, nil
    end
  end
  for row = MOST_GROUPS, 1, -1 do
    free[#free + 1] = not self.by_row[row] and row or nil
  end
  for id, path in pairs(there) do
    local row = not self.rows[id] and table.remove(free)
    if row and self.programs:group(id, row) then
      self.rows[id], self.by_row[row] = row, { id = id, path = path }
      fresh.group(self, row)
    elseif row == nil then
      running.warn(("more than %d control groups: the others are together in runq,others"):format(MOST_GROUPS))
    end
  end
end

-- --- the command ------------------------------------------------------------------------------

local function load_module()
  local ok, bpf = pcall(require, "kstat.bpf")
  if not ok then
    stop(3, "the module kstat.bpf cannot be loaded; it is built where clang and libbpf are (Debian: the package "
      .. "kstat-latency has it)")
  end
  return bpf
end

-- Loads the programs, sized by what there is.
function Publisher:load()
  local wanted, room = self.wanted, look_at_disks()
  local programs, why, errname = self.bpf.open({ disk = wanted.disk, cpu = wanted.cpu, connect = wanted.connect,
    exits = wanted.exits, groups = wanted.groups, bios = room.bios, disks = room.disks, slots = room.slots,
    queues = room.queues })
  if not programs then
    stop(3, ("%s: %s"):format(why, REMEDIES[errname] or errname))
  end
  self.programs, self.room, self.has_room = programs, room, false
  self.before, self.loaded = {}, kstat.hrtime()
  self.state:add("loads", 1)
end

-- Takes away the kstats of disks that went. Returns whether the programs should be loaded anew: a first disk without
-- requests came, or some lost requests for want of room that there is now.
function Publisher:look_for_disks(has_lost)
  for k, disk in pairs(self.disks) do
    if not is_there(disk.name) then
      for row in pairs(disk.rows) do
        self.programs:publish("disk", row, false)
      end
      k:delete()
      self.has_room = true
      self.disks[k], self.boxes[key_of(k.instance, k.name)], self.instances[disk.name] = nil, nil, nil
    end
  end
  local before = self.room
  local now = (has_lost or not before.bios) and look_at_disks() or before
  return now.bios and not before.bios or has_lost
    and (self.has_room or now.disks > before.disks or now.slots > before.slots or now.queues > before.queues)
end

-- Counts what the programs say is lost, and says it. Where disks had no place, the programs are loaded anew, at most
-- once a minute, if there is place for them now.
function Publisher:copy_losses(now)
  for name, n in pairs(self.programs:losses()) do
    local more = n - (self.before[name] or 0)
    self.before[name] = n
    if more > 0 then
      self:lose(name, more)
    end
    -- A few are always under way when the programs are loaded, or come in an interrupt in an interrupt.
    if more > 0 and not EXPECTED[name] then
      running.warn(LOSSES[name])
    end
  end
  local lacks
  if self.wanted.disk and now - (self.looked_at_disks or 0) >= 10 * self.interval then
    self.looked_at_disks = now
    lacks = self:look_for_disks((self.before.disk or 0) > 0 and now - self.loaded >= 60)
  end
  if lacks then
    self.programs:close()
    self:load()
    self:open_exits()
    for id, row in pairs(self.rows) do
      self.programs:group(id, row)
      fresh.group(self, row)
    end
    for _, disk in pairs(self.disks) do
      disk.rows = {}
    end
  end
end

local function main()
  local wanted, seconds, count = read_arguments(arg)
  check_capabilities()
  local bpf = load_module()
  local self = open_publisher(wanted)
  self.bpf, self.interval = bpf, interval.seconds(seconds)
  self:load()
  if wanted.connect then
    fresh.connect(self, 0)
  end
  local looked
  local nothing = kstat.open({ machine = true, only = { class = "misc", module = "latency" } })
  for _ in kstat.every(seconds, count, { chain = nothing }) do
    local now = kstat.hrtime()
    if wanted.groups > 0 and (not looked or now - looked >= 5) then
      looked = now
      self:look_at_groups()
    end
    for _, row in ipairs(self.programs:fresh()) do
      fresh[row[1]](self, row[2], row[3])
    end
    if self.programs:copy() > 0 then
      running.warn("some histograms could not be updated in time; they are the next time")
    end
    if wanted.exits and now - (self.copied_exits or -1) >= 1 then
      self.copied_exits = now
      self:copy_exits(now)
    end
    self:copy_losses(now)
    self.state:add("copies", 1)
  end
  self.programs:close()
  self.pub:close()
  return 0
end

return running.run("latency", main)
