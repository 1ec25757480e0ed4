--- The devices that iostat shows: which they are, their order and names, and what they counted.
--
-- Descriptive names, controllers, device IDs and mount points are statistics of a kstat beside the device's own,
-- `<name>,dev` (class device): `descriptive_name`, `controller`, `device_id`, `mount_point`.
-- The size of a disk is a statistic of `<name>,detail` (class disk_detail).
--
-- With --latency they are the I/O kstats that processes publish, whatever their class, and no others.
-- @module kstat.iostat.devices
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local kio = require("kstat.io")
local latency = require("kstat.figures.latency")
local machine = require("kstat.base.machine")
local running = require("kstat.base.running")
local unknown = require("kstat.base.unknown")

local M = {}
M.__index = M

local get = core.kstat_methods.get
local counts, figures = kio.counts, kio.figures

local MOST_NAME = 30 -- bytes of a kstat's name
local DEFAULT_LIMIT = 4
local RANK = { disk = 1, partition = 1, iopath = 1, tape = 2, nfs = 3 }
local WORD = { disk = "disk", partition = "partition", tape = "tape", nfs = "NFS", iopath = "multi-path" }

local function class(name)
  return core.selector({ class = name })
end

--- Selectors of the devices, and of the kstats that describe them, which are read on demand.
-- @tparam table o from kstat.iostat.options
-- @treturn {selector,...} of the devices
-- @treturn {selector,...} of what else is needed
function M.selectors(o)
  if o.latency then
    return { core.selector({}) }, {}
  end
  local list = { class("tape"), class("nfs") }
  if not o.P then
    -- A class that is spelt out is taken for the machine's alone, and what is published is not even opened. A pattern
    -- finds the disks that root or this user publishes, too.
    list[#list + 1] = class("dis[k]")
  end
  if o.p or o.P then
    list[#list + 1] = class("partition")
  end
  if o.X or o.Y then
    list[#list + 1] = class("iopath")
  end
  local asked = o.n or o.C or o.i or o.names[1] or o.interval and not o.s
  local told = { class("disk_detail"), asked and class("device") or nil }
  told[#told + 1] = o.percentiles and latency.disks or nil
  return list, told
end

--- Makes the list of a chain's devices; `refresh` fills it.
-- @param ks chain
-- @tparam table o from kstat.iostat.options
function M.new(ks, o)
  running.warn_later({ o.percentiles and latency.missing(ks, latency.disks, "disks") or nil })
  return setmetatable({ ks = ks, o = o, wanted = (M.selectors(o)), known = {}, rows = {} }, M)
end

-- --- names ---------------------------------------------------------------------------------

local INVENTORY = { "descriptive_name", "controller", "device_id", "mount_point" }

-- A kstat of a device, of the same machine.
local function lookup(x, device, name)
  if not device.host then
    return core.lookup(x, device.module, device.instance, name)
  end
  for _, k in ipairs(core.select(x, { core.selector({ module = device.module, instance = device.instance }) })) do
    if k.name == name and k.host == device.host then
      return k
    end
  end
end

-- The description of a device, beside its counters; read in a sample, so that it is read only once.
local function inventory(self, device)
  if not device.inventory then
    self.facts = self.facts or core.sample(self.ks)
    local k = lookup(self.facts, device, device.inventory_name)
    local found = {}
    for i = 1, k and #INVENTORY or 0 do
      found[INVENTORY[i]] = get(k, INVENTORY[i])
    end
    device.inventory = found
  end
  return device.inventory
end

--- A device's descriptive name; its kstat's if it has none. A published queue is called by its whole name.
function M.pretty(self, device)
  return self.o.latency and device.id or inventory(self, device).descriptive_name or device.name
end

--- A device's ID, or nil.
function M.device_id(self, device)
  return inventory(self, device).device_id
end

local function controller_of(self, device)
  return inventory(self, device).controller or M.pretty(self, device):match("^(c%d+)t")
end

-- Numbers in a name compare as numbers.
local function natural(name)
  return (name:gsub("%d+", function(digits) return ("0"):rep(12 - #digits) .. digits end))
end

-- --- listing -------------------------------------------------------------------------------

local function make_device(k, id)
  local module, name = k.module, k.name
  return {
    module = module, instance = k.instance, name = name, class = k.class, crtime = k.crtime_ns,
    id = id, publisher = k.publisher, host = k.host,
    inventory_name = (name .. ",dev"):sub(1, MOST_NAME),
    -- A name that does not begin with its driver's is a driver's name itself.
    driver = name:sub(1, #module) == module and module or name:match("^%D*"),
    rank = RANK[k.class] or 0, natural = natural(name), counts = {}, figures = {},
  }
end

local function before(a, b)
  if a.host ~= b.host then
    return a.host < b.host
  elseif a.rank ~= b.rank then
    return a.rank < b.rank
  elseif a.driver ~= b.driver then
    return a.driver < b.driver
  elseif a.instance ~= b.instance then
    return a.instance < b.instance
  end
  return a.natural < b.natural
end

-- Every device of the classes asked for, in order; those that were known already are the same tables.
local function find(self)
  local list, known = {}, {}
  for _, k in ipairs(core.select(self.ks, self.wanted)) do
    local is_own = k.publisher and k.class == "disk" and not self.ks:is_replay()
    if k.type == "io" and (self.o.latency and k.publisher or not self.o.latency and (is_own or not k.publisher)) then
      local id = ("%s:%d:%s"):format(k.module, k.instance, k.name)
      local key = id .. (k.host or "")
      local device = self.known[key]
      if not device or device.crtime ~= k.crtime_ns or device.class ~= k.class then
        device = make_device(k, id)
      end
      known[key] = device
      list[#list + 1] = device
    end
  end
  table.sort(list, before)
  return list, known
end

-- Prints, after the first tick, the operands that no device is called by.
local function warn_of_names(self, names, list)
  local called, lines = {}, {}
  for _, device in ipairs(list) do
    called[device.name], called[M.pretty(self, device)] = true, true
  end
  for _, name in ipairs(names) do
    local others = not called[name] and not self.ks:is_replay() and
      require("kstat.read.chain").open({ published = true })
    lines[#lines + 1] = others and others:select({ name = name, class = "disk" })[1] and
      ("the disk %s is published by another user: kstatlua prtop shows it"):format(name) or
      not called[name] and unknown.line("there is no device", name, called) or nil
  end
  running.missing(lines, #names)
end

-- The devices that the operands name, as a set; nil: no operands.
local function named(self, list)
  local names = self.o.names
  if #names == 0 then
    return nil
  end
  local wanted, found = {}, {}
  for _, name in ipairs(names) do
    wanted[name] = true
  end
  for _, device in ipairs(list) do
    if wanted[device.name] or wanted[M.pretty(self, device)] then
      found[device] = true
    end
  end
  if not self.list then
    warn_of_names(self, names, list)
  end
  return found
end

--- Whether a disk holds nothing, such as a loop device without a file. What did some I/O need not be asked, unless it
-- is of a driver whose devices are emptied again.
-- @tparam sample x
-- @tparam table device `module`, `instance`, `name`: the disk's kstat, or what has its fields
-- @treturn boolean
function M.is_empty(x, device)
  local k = lookup(x, device, device.name)
  if k and not machine.passed_over[device.module] and (get(k, "reads") or 0) + (get(k, "writes") or 0) > 0 then
    return false
  end
  local detail = lookup(x, device, (device.name .. ",detail"):sub(1, MOST_NAME))
  return detail ~= nil and get(detail, "size") == 0
end

local function is_empty(self, device)
  if device.class ~= "disk" or self.o.latency then
    return false
  end
  self.facts = self.facts or core.sample(self.ks)
  return M.is_empty(self.facts, device)
end

-- Those that are shown: the named ones, and others as far as the limit lets.
local function choose(self, list, names)
  local o = self.o
  local limit = o.limit or o.blocks and DEFAULT_LIMIT or math.huge
  local chosen, room = {}, limit
  self.empty, self.stale = {}, false
  for device in pairs(names or {}) do
    chosen[device] = true
    room = room - 1
  end
  for _, device in ipairs(list) do
    if room <= 0 or names and o.table then
      break
    elseif not chosen[device] and (o.limit or not o.blocks or not machine.passed_over[device.module]) then
      if is_empty(self, device) then
        self.empty[#self.empty + 1] = device
      else
        chosen[device] = true
        room = room - 1
      end
    end
  end
  local shown = {}
  for _, device in ipairs(list) do
    if chosen[device] then
      shown[#shown + 1] = device
    end
  end
  return shown
end

-- --- rows ----------------------------------------------------------------------------------

-- Controllers first, each followed by its disks; then what has none.
local function by_controller(self, shown)
  local groups, order, rest, rows = {}, {}, {}, {}
  for _, device in ipairs(shown) do
    local name = device.rank == 1 and controller_of(self, device)
    if name and not groups[name] then
      groups[name] = { name = name, natural = natural(name), devices = {}, disks = {} }
      order[#order + 1] = groups[name]
    end
    local group = groups[name]
    if group then
      group.devices[#group.devices + 1] = device
      if device.class == "disk" then
        group.disks[#group.disks + 1] = device
      end
    else
      rest[#rest + 1] = device
    end
  end
  table.sort(order, function(a, b) return a.natural < b.natural end)
  for _, group in ipairs(order) do
    if group.disks[1] then
      rows[#rows + 1] = { label = group.name, sum = group.disks, counts = {}, figures = {} }
    end
    for _, device in ipairs(group.devices) do
      rows[#rows + 1] = device
    end
  end
  for _, device in ipairs(rest) do
    rows[#rows + 1] = device
  end
  return rows
end

-- "ssd22.t2.fp0" is the path from initiator fp0 to target t2 of ssd22. -Y: a sum for each target, then its
-- paths; -X: a sum for each initiator.
local function by_path(self, shown)
  local rows, sums = {}, {}
  for _, device in ipairs(shown) do
    local lun, target, initiator = device.label:match("^(.*)%.([^.]*)%.([^.]*)$")
    if device.class ~= "iopath" or not lun then
      rows[#rows + 1] = device
    else
      local label = lun .. "." .. (self.o.Y and target or initiator)
      local sum = sums[label]
      if not sum then
        sum = { label = label, sum = {}, paths = true, counts = {}, figures = {} }
        sums[label] = sum
        rows[#rows + 1] = sum
      end
      sum.sum[#sum.sum + 1] = device
      if self.o.Y then
        rows[#rows + 1] = device
      end
    end
  end
  return rows
end

-- Adds lines such as "<<disk added: a, b>>", one for each class, with descriptive names.
local function add_change_lines(self, devices, verb, lines)
  local by_word, order = {}, {}
  for _, device in ipairs(devices) do
    local word = self.o.latency and "queue" or WORD[device.class]
    if not by_word[word] then
      by_word[word] = {}
      order[#order + 1] = word
    end
    table.insert(by_word[word], M.pretty(self, device))
  end
  for _, word in ipairs(order) do
    lines[#lines + 1] = ("<<%s %s: %s>>"):format(word, verb, table.concat(by_word[word], ", "))
  end
end

local function missing_from(list, other)
  local set, missing = {}, {}
  for _, device in ipairs(other) do
    set[device] = true
  end
  for _, device in ipairs(list) do
    if not set[device] then
      missing[#missing + 1] = device
    end
  end
  return missing
end

--- Lists the devices anew, after the chain changed.
-- @treturn {string,...}|nil lines about devices that came or went, perhaps empty; nil if none did
function M.refresh(self)
  local o = self.o
  self.facts = nil
  local list, known = find(self)
  local names = named(self, list)
  if names and o.table then
    local limited = {}
    for _, device in ipairs(list) do
      limited[#limited + 1] = names[device] and device or nil
    end
    list = limited
  end
  local lines = {}
  if self.list then
    add_change_lines(self, missing_from(self.list, list), "removed", lines)
    add_change_lines(self, missing_from(list, self.list), "added", lines)
  end
  self.list, self.known = list, known
  local shown = choose(self, list, names)
  for _, device in ipairs(o.interval and not (o.s or o.latency) and list or {}) do
    inventory(self, device) -- by the time it is gone it cannot be asked for its name
  end
  for _, device in ipairs(shown) do
    device.label = (o.n or o.latency) and M.pretty(self, device) or device.name
  end
  self.shown = shown
  self.rows = o.C and by_controller(self, shown) or (o.X or o.Y) and by_path(self, shown) or shown
  self.facts = nil
  return lines[1] and lines or nil
end

-- --- figures -------------------------------------------------------------------------------

-- Sums of paths carry operations and bytes only: their queues are those of the disk.
local function clear_times(c)
  c.wtime, c.wlentime, c.rtime, c.rlentime = 0, 0, 0, 0
end

local function sum_up(row)
  local list = {}
  for _, device in ipairs(row.sum) do
    if device.ready then
      list[#list + 1] = device.counts
    end
  end
  row.ready = list[1] ~= nil
  if row.ready then
    kio.mean(list, row.counts)
    if row.paths then
      clear_times(row.counts)
    end
    figures(row.counts, row.figures)
  end
end

local TIMES, QUANTILES = { ",wait", ",svc" }, { 0.5, 0.99 }

-- The milliseconds below which half and 99 percent of a queue's requests waited, and were served: four values, false
-- where nothing was measured.
local function latencies(d, device)
  local list = {}
  for _, ending in ipairs(TIMES) do
    local k = lookup(d, device, device.name .. ending)
    local distribution = k and k:distribution()
    local is_time = distribution and distribution.unit == "ns" -- else somebody's own, which has that name
    for _, share in ipairs(QUANTILES) do
      local ns = is_time and distribution:quantile(share)
      list[#list + 1] = ns and ns / 1e6 or false
    end
  end
  return list
end

local PARTS = { "read,device", "write,device", "read,queue", "write,queue" }

-- The same of a disk, of eight, from what kstatlua latency measured.
local function percentiles(measured, device)
  local list = {}
  for _, part in ipairs(PARTS) do
    local of = measured[("%s,%s,%s"):format(device.name, part, device.host or "")]
    for _, share in ipairs(QUANTILES) do
      list[#list + 1] = latency.milliseconds(of, share) or false
    end
  end
  return list
end

--- Computes each row's figures; `row.ready` is false where there are none.
-- @param d the difference that they are of
-- @param[opt] since_creation where devices are looked for that the earlier sample lacks
function M.compute(self, d, since_creation)
  local shown, rows = self.shown, self.rows
  local measured = self.o.percentiles and latency.of_disks(d)
  for i = 1, #shown do
    local device = shown[i]
    local k = lookup(d, device, device.name) or since_creation and lookup(since_creation, device, device.name)
    device.ready = k and counts(nil, k, device.counts) ~= nil
    if device.ready then
      figures(device.counts, device.figures)
      device.figures.latencies = measured and percentiles(measured, device) or
        self.o.latency and latencies(k.elapsed and d or since_creation, device)
    end
  end
  for _, device in ipairs(self.empty) do
    local k = lookup(d, device, device.name)
    local c = k and counts(nil, k, device.counts)
    self.stale = self.stale or c ~= nil and c.reads + c.writes > 0
  end
  if rows ~= shown then
    for i = 1, #rows do
      if rows[i].sum then
        sum_up(rows[i])
      end
    end
  end
end

--- Where a device is mounted, or nil.
-- @param now the sample that it is asked of
function M.mount_point(_, now, device)
  if device.sum then
    return nil
  end
  local k = lookup(now, device, device.inventory_name)
  return k and get(k, "mount_point")
end

return M
