--- What kstatlua latency publishes: the histograms that its programs in the kernel count, as they come and go.
-- @module kstat.latency.publisher
local chain = require("kstat.read.chain")
local contents = require("kstat.base.environment").contents
local exits = require("kstat.latency.exits")
local name_of = require("kstat.base.text").kstat_name
local running = require("kstat.base.running")

local Publisher = {}
Publisher.__index = Publisher

--- What can be counted.
-- @table areas
Publisher.areas = { "disk", "cpu", "connect", "exits" }

local MOST_GROUPS, MOST_DISKS, INSTANCES = 1000, 1024, 0x80000000

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
  for line in (contents("/proc/diskstats") or ""):gmatch("[^\n]+") do
    local name, reads, writes = line:match("^%s*%d+%s+%d+%s+(%S+)%s+(%d+)%s+%d+%s+%d+%s+%d+%s+(%d+)")
    local directory = name and "/sys/block/" .. name:gsub("/", "!")
    if directory and contents(directory .. "/size") then -- else it is a partition
      local hardware, tags = 0, tonumber(contents(directory .. "/queue/nr_requests") or 0)
      queues, used = queues + 1, used + ((reads ~= "0" or writes ~= "0") and 1 or 0)
      for n in function() return contents(("%s/mq/%d/nr_tags"):format(directory, hardware)) end do
        hardware, tags = hardware + 1, math.max(tags, tonumber(n), 256)
      end
      slots, bios = slots + hardware * tags, bios or hardware == 0
    end
  end
  return { disks = math.min(used + 8, MOST_DISKS), slots = slots + math.floor(slots / 4) + 1024, bios = bios,
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

local function key_of(instance, name)
  return ("%d:%s"):format(instance, name)
end

-- Publishes a histogram for a row of the programs; one that is there goes on.
function Publisher:histogram(kind, row, instance, name, class, labels, desc)
  local key = key_of(instance, name)
  local k, message = self.boxes[key]
  if not k then
    k, message = self.pub:latency({ name = name, instance = instance, class = class, labels = labels, desc = desc,
      unit = "ns", scale = 4, lowest = 1, highest = 1000000000000, dense = true })
    if not k then
      self.state:add("lost_histogram", 1)
      running.warn(("latency:%d:%s is not published: %s"):format(instance, name, message))
      self.programs:publish(kind, row)
      return
    end
    self.boxes[key] = k
  end
  self.programs:publish(kind, row, k.box)
  return k
end

-- The disk's number among the machine's kstats.
function Publisher:instance_of(disk)
  if not self.instances[disk] then
    local ks = chain.open({ machine = true })
    for _, k in ipairs(ks and ks:select({ class = "disk" }) or {}) do
      self.instances[k.name] = k.instance
    end
    self.instances[disk] = self.instances[disk] or 0
  end
  return self.instances[disk]
end

local fresh = {}

local function is_there(disk)
  return contents("/sys/block/" .. disk:gsub("/", "!") .. "/size") ~= nil
end

function fresh.disk(self, row, disk)
  if not is_there(disk) then
    self.has_room = true
    return self.programs:publish("disk", row, false)
  end
  local operation, part = OPERATIONS[math.floor(row / 2) % 4], PARTS[row % 2]
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
  self:histogram("group", row, group.id % INSTANCES, row == 0 and "runq,others" or name_of("runq", group.path),
    "runq_latency_group", { cgroup = group.path }, "how long the group's tasks waited in run queues")
end

function fresh.connect(self, row)
  local outcome, family = OUTCOMES[math.floor(row / 4)], row % 4 >= 2 and "tcp6" or "tcp"
  local is_other = row % 2 == 1
  self:histogram("connect", row, 0, name_of(outcome, family, is_other and "others" or nil), "connect_latency",
    { outcome = row < 8 and "established" or outcome, side = outcome == "accept" and "server" or "client",
      family = family, namespace = is_other and "others" or "own" },
    outcome == "accept" and "from the SYN-ACK to the answer" or "from the SYN to the end of the attempt")
end

-- --- control groups ---------------------------------------------------------------------------

-- The control groups by id, as they are now.
function Publisher:groups()
  local root = (contents("/proc/self/mounts") or ""):match("%S+ (%S+) cgroup2 ")
  return root and self.bpf.groups(root, MOST_GROUPS + 1) or {}
end

-- Gives rows to the groups that there are, at most MOST_GROUPS; those of groups that went are free again. Waits of a
-- group without a row count in row 0.
function Publisher:look_at_groups()
  local there, free = self:groups(), {}
  for id, row in pairs(self.rows) do
    if there[id] ~= self.by_row[row].path then
      self.programs:group(id, 0)
      self.programs:publish("group", row)
      local key = key_of(id % INSTANCES, name_of("runq", self.by_row[row].path))
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

-- --- the programs -----------------------------------------------------------------------------

-- Loads the programs, sized by what there is.
function Publisher:load(now)
  local room = look_at_disks()
  room.groups = self.wanted.groups and MOST_GROUPS or 0
  for _, area in ipairs(Publisher.areas) do
    room[area] = self.wanted[area]
  end
  local programs, why, errname = self.bpf.open(room)
  if not programs then
    running.stop(3, ("%s: %s"):format(why, REMEDIES[errname] or errname))
  end
  self.programs, self.room, self.has_room = programs, room, false
  self.before, self.loaded = {}, now
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
  local before, now = self.room, (has_lost or not self.room.bios) and look_at_disks() or self.room
  return now.bios and not before.bios or has_lost
    and (self.has_room or now.disks > before.disks or now.slots > before.slots or now.queues > before.queues)
end

-- Counts what the programs say is lost, and says it. Where disks had no place, the programs are loaded anew, at most
-- once a minute, if there is place for them now.
function Publisher:copy_losses(now)
  for name, n in pairs(self.programs:losses()) do
    local more = n - (self.before[name] or 0)
    self.before[name] = n
    self.state:add("lost_" .. name, math.max(more, 0))
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
    self:load(now)
    if self.exits then
      self.exits:restart()
    end
    for id, row in pairs(self.rows) do
      self.programs:group(id, row)
      fresh.group(self, row)
    end
    for _, disk in pairs(self.disks) do
      disk.rows = {}
    end
  end
end

--- Publishes what the programs do, and loads them.
-- @tparam table bpf the module kstat.bpf
-- @tparam pub pub
-- @tparam {[string]=boolean} wanted which of the areas, and whether `groups`, are counted
-- @number interval seconds
-- @number now seconds
-- @treturn publisher with its `programs`
function Publisher.open(bpf, pub, wanted, interval, now)
  local statistics = { { name = "copies", kind = "counter", desc = "times that what is counted was published" },
    { name = "loads", kind = "counter", desc = "times that the programs were loaded" } }
  for name, desc in pairs(LOSSES) do
    statistics[#statistics + 1] = { name = "lost_" .. name, kind = "counter", desc = desc }
  end
  table.sort(statistics, function(a, b) return a.name < b.name end)
  for _, area in ipairs(Publisher.areas) do
    statistics[#statistics + 1] = { name = area, kind = "gauge", meta = "state", value = wanted[area] and 1 or 0,
      desc = "1: this is counted" }
  end
  local self = setmetatable({ bpf = bpf, pub = pub, wanted = wanted, interval = interval, boxes = {}, instances = {},
    rows = {}, by_row = {}, disks = {} }, Publisher)
  self.state = assert(pub:named({ name = "latency", shards = 1, statistics = statistics }))
  self.exits = wanted.exits and exits.new(pub, function() return self:groups() end)
  self:load(now)
  if wanted.connect then
    fresh.connect(self, 0)
  end
  return self
end

--- Publishes what was counted.
-- @number now seconds
function Publisher:copy(now)
  if self.wanted.groups and now - (self.looked_at_groups or -5) >= 5 then
    self.looked_at_groups = now
    self:look_at_groups()
  end
  for _, row in ipairs(self.programs:fresh()) do
    fresh[row[1]](self, row[2], row[3])
  end
  if self.programs:copy() > 0 then
    running.warn("some histograms could not be updated in time; they are the next time")
  end
  if self.exits and now - (self.copied_exits or -1) >= 1 then
    self.copied_exits = now
    self.exits:copy(self.programs, now)
  end
  self:copy_losses(now)
  self.state:add("copies", 1)
end

return Publisher
