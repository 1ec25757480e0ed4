--- Device statistics: FreeBSD's devstat(3) over the disks and tapes of the kstat chain.
--
--     local devstat = require("kstat.devstat")
--     local list = assert(devstat.open())
--     local history = devstat.history()
--     for now in function() return list:read() end do
--       for _, d in ipairs(now.devices) do
--         local s = devstat.compute(d, history:previous(d, now))
--         print(d.name, s.transfers_per_second, s.mb_per_second, s.busy_pct)
--       end
--       history:add(now)
--       -- some time later
--     end
--
-- What the world causes is reported as `nil, message, errno_name`.
-- SPDX-License-Identifier: MIT
-- @module kstat.devstat

--- A *device* is immutable: the state of one device at one time. Its fields:
--
-- - `name` (string) as the system knows it ("sda"), `device_name` (string) and `unit` (integer) as devstat numbers it
--   ("sd", 0), `number` (integer): a number unique in its list, `creation_time` (number) in seconds of uptime;
-- - `type` (?string: "da", "cd", "sa", "floppy", ...; nil if there is no word for it), `interface` (?string:
--   "scsi", "ide", "other"), `pass` (boolean: true for passthrough devices), `priority` (integer): its
--   place in the order of the list;
-- - `block_size` (?integer) in bytes, nil if not known; `queue_length` (integer), transactions outstanding;
-- - `read_bytes`, `write_bytes` (integer): bytes, `free_bytes` (integer): bytes that were discarded; `read_ops`,
--   `write_ops`, `free_ops`, `other_ops` (integer): how many operations; `read_time`, `write_time`, `free_time`,
--   `other_time`, `busy_time` (number): summed durations in seconds. All since creation. `read_time_ns`,
--   `write_time_ns`, `free_time_ns`, `other_time_ns`, `busy_time_ns` (integer) are the same in whole nanoseconds.
-- @table device

--- A *snapshot* is an array of devices in list order, with the fields `devices` ({device,...}), the array itself,
-- `generation` (integer): a number that another list has another one of, `changed` (boolean): whether it is another one
-- than at the last read, `snap_time` (number): seconds
-- of uptime, `cp_time` (?{[string]=integer}): ticks of all CPUs: user, nice, sys, intr, idle; nil if not known,
-- `tk_nin` and `tk_nout` (?integer): characters from and to terminals; nil where the system does not count them.
-- @table snapshot

local core = require("kstat.core").devstat
local kind_of, usage = require("kstat.core").kind, require("kstat.core").usage
local open_kstats = require("kstat.read.chain").open
local unknown = require("kstat.base.unknown")

local M = {}

local reader = {}
reader.__index = reader

-- Raises unless `self` is of the class that the method belongs to.
local function is_self(self, class, kind, name)
  if getmetatable(self) ~= class then
    usage(("calling '%s' on bad self (%s expected, got %s)"):format(name, kind, type(self)))
  end
end

local function expected(i, name, what, got)
  usage(("bad argument #%d to '%s' (%s expected, got %s)"):format(i, name, what, type(got)))
end

local function open_chain(source, name)
  local kind = kind_of(source)
  if kind == "closed" then
    usage("the kstat chain is closed")
  elseif source ~= nil and type(source) ~= "string" and type(source) ~= "table" then
    expected(1, name, "chain, string or table", source)
  end
  return open_kstats(source == nil and {} or source)
end

-- open(), for the public function of that name.
local function open(source, name)
  local chain, own = source, kind_of(source) ~= "chain"
  if own then
    local message, errname
    chain, message, errname = open_chain(source, name)
    if not chain then return nil, message, errname end
  end
  local list, message, errname = core.list(chain)
  if not list then return nil, message, errname end
  return setmetatable({ chain = chain, list = list, own = own, fresh = true }, reader)
end

--- Opens the list of devices.
-- @tparam[opt] string|source|chain source a chain, which stays the caller's to update and to close, or what
-- kstat.open() takes; nil for this machine or the replay in `$KSTAT_SOURCE`, a string for a capture
-- @treturn reader with `chain` (kstat.chain): that it reads
-- @fails
function M.open(source)
  local opened, message, errname = open(source, "open")
  return opened, message, errname
end

--- Reads the devices. A reader that opened its chain brings it up to date first, but for the
-- first time: in a replay each further call is the next sample.
-- @treturn snapshot
-- @fails
function reader:read()
  is_self(self, reader, "reader", "read")
  if kind_of(self.chain) == "closed" then usage("the kstat chain is closed") end
  if self.own and not self.fresh then
    local ok, message, errname = self.chain:update()
    if not ok then return nil, message, errname end
  end
  self.fresh = false
  return core.read(self.list)
end

--- Closes the chain, if the reader opened it.
function reader:close()
  is_self(self, reader, "reader", "close")
  if self.own then self.chain:close() end
end

--- Reads the list of devices once.
-- @tparam[opt] string|source|chain source as for open()
-- @treturn snapshot
-- @fails
function M.list(source)
  local opened, message, errname = open(source, "list")
  if not opened then return nil, message, errname end
  local snapshot
  snapshot, message, errname = opened:read()
  opened:close()
  return snapshot, message, errname
end

--- Makes a device from a table of the fields above; `name` is split into name and unit.
-- @tparam table fields
-- @treturn device
-- @raise for a field that a device does not have, or one of another type
-- @function M.device
M.device = core.device

--- Finds devices of an earlier snapshot.
-- @tparam snapshot|{device,...}|nil snapshot or array of devices; nil finds nothing
-- @treturn fun(d:device):?device that, given a device, returns the same device there, or nil if it was
--   not there or another one had its name: then its figures are those since its creation, and so is
--   the time that they are divided by. `history` knows both
function M.by_name(snapshot)
  if snapshot ~= nil and type(snapshot) ~= "table" then
    expected(1, "by_name", "snapshot or array of devices", snapshot)
  end
  local known = {}
  for _, d in ipairs(snapshot and snapshot.devices or snapshot or {}) do known[d.name] = d end
  return function(d)
    local found = known[d.name]
    return found and found.creation_time == d.creation_time and found or nil
  end
end

local history = {}
history.__index = history

--- Remembers devices from snapshot to snapshot, so that one that was missing for a while is compared with
-- itself.
-- @treturn history
function M.history()
  return setmetatable({ known = {} }, history)
end

--- What to compute a device's figures from.
--
-- - It was in a snapshot that was added, however long ago: from that, over the time since then.
-- - Its creation is more recent than the last snapshot: from nothing, over the time since its creation. (If that is
--   less than a tenth of the time since the last snapshot, over the latter: Linux does not say when a disk was
--   created, and its creation time is a guess.)
-- - Otherwise, and if no snapshot was added: from nothing, over the time since its creation.
-- @function history:previous
-- @tparam device d
-- @tparam snapshot now the snapshot that it is in
-- @treturn device|nil the device as it was; nil: since its creation
-- @treturn number seconds between the two; 0 if no time passed
function history:previous(d, now)
  is_self(self, history, "history", "previous")
  if not core.is_device(d) then expected(1, "previous", "device", d) end
  if type(now) ~= "table" or not now.snap_time then expected(2, "previous", "snapshot", now) end
  local known = self.known[d.name]
  local created = d.creation_time
  if known and known.device.creation_time == created then
    return known.device, math.max(now.snap_time - known.snap_time, 0)
  end
  local age = now.snap_time - created
  if self.snap_time and created > self.snap_time then
    local interval = now.snap_time - self.snap_time
    return nil, math.max(age < interval / 10 and interval or age, 0)
  end
  return nil, math.max(age, 0)
end

--- Remembers the devices of a snapshot; those it does not have stay as they were.
-- @function history:add
-- @tparam snapshot snapshot
function history:add(snapshot)
  is_self(self, history, "history", "add")
  if type(snapshot) ~= "table" or not snapshot.snap_time then expected(1, "add", "snapshot", snapshot) end
  for _, d in ipairs(snapshot.devices) do
    self.known[d.name] = { device = d, snap_time = snapshot.snap_time }
  end
  self.snap_time = snapshot.snap_time
end

--- Computes every figure of `devstat_compute_statistics()`.
--
-- The names are those of the manual page without `DSM_`, in small letters, such as
-- `total_bytes`, `kb_per_transfer`, `ms_per_transaction_read`, `busy_pct`. Bytes, transfers
-- and blocks are counts; times are seconds but for `ms_per_...`; rates are per second and 0 if
-- no time has passed (less than a nanosecond). `busy_pct` may exceed 100. A counter that went back counts as unchanged,
-- and `backwards` is then true.
-- @tparam device|table cur a device, or a table of its fields
-- @tparam device|table|nil prev the device before, nil to compute since its creation
-- @tparam number etime seconds between the two
-- @treturn {[string]=number|boolean}
-- @function M.compute
M.compute = core.compute

--- One figure as text, rounded once from the C library's full precision.
-- @tparam device|table cur as for compute()
-- @tparam device|table|nil prev
-- @tparam number etime
-- @tparam string figure its name, as in compute()
-- @tparam integer decimals 0 to 20
-- @tparam[opt=1] number scale what to multiply it by
-- @treturn string
-- @function M.text
M.text = core.text

--- Checks and takes apart a pattern such as "da,scsi,pass".
-- @tparam string pattern up to three words: a device type, an interface, `pass`
-- @treturn table with `type`, `interface` (?string: nil if any), `pass` (boolean): passthrough devices are meant,
-- `text` (string): the pattern
-- @fails "EINVAL"
-- @function M.match
M.match = core.match

--- An empty selection that keeps its state from call to call, as devstat_selectdevs() does.
-- @treturn table with the methods `apply(devices, generation, mode, names, patterns, max,
--   performance)` (true if the selection changed), `entries()` (array of tables with `index` in the list
--   of devices, `selected` (0: not) and `bytes`) and `set_bytes(entry, bytes)`; `#selection` is
--   the number of selected devices
-- @function M.selection
M.selection = core.selection

--- Seconds from one time to another, `devstat_compute_etime()`.
-- @tparam number now seconds, such as the `snap_time` of a snapshot
-- @tparam[opt=0] number before
-- @treturn number
-- @function M.compute_etime
M.compute_etime = core.compute_etime

local registry = {}
registry.__index = registry

--- Devices that a script counts itself, as a driver does: devstat(9). They are this script's; what others shall see is
-- `pub:io` of the class "disk". Times are seconds of uptime, nil is now.
-- @treturn registry
-- @usage local registry = kstat.devstat.registry()
-- local entry = assert(registry:new_entry({ name = "md", unit = 0, block_size = 512, type = "da" }))
-- entry:start_transaction()
-- entry:end_transaction("read", 4096)
-- print(kstat.devstat.compute(registry:read()[1], nil, 1).total_bytes)
function M.registry()
  return setmetatable({ core = assert(core.registry()) }, registry)
end

local ENTRY = { name = true, unit = true, block_size = true, type = true, interface = true, pass = true,
  priority = true }

--- Adds a device behind those of the same or a higher priority.
-- @tparam table fields `name` (string): 1 to 15 bytes, `unit` (?integer): a number behind it (0), `block_size`
-- (?integer) in bytes, `type` (?string): "da" and so on, `interface` (?string): "scsi", "ide" or
-- "other", `pass` (?boolean): a passthrough device, `priority` (?integer): a number from 0 to 4095, its place in the
-- list
-- @treturn entry
-- @fails "ENOMEM"
-- @raise for a field that an entry does not have, or one of another type
-- @function registry:new_entry
function registry:new_entry(fields)
  is_self(self, registry, "registry", "new_entry")
  if type(fields) ~= "table" then expected(1, "new_entry", "table", fields) end
  local name, unit, rest = fields.name, fields.unit or 0, {}
  for key, value in pairs(fields) do
    if not ENTRY[key] then usage(unknown.word("'new_entry': unknown field", tostring(key), ENTRY)) end
    rest[key] = key ~= "name" and key ~= "unit" and value or nil
  end
  if type(name) ~= "string" or #name > 15 or name == "" then usage("name: a string of 1 to 15 bytes expected") end
  if type(unit) ~= "number" or unit % 1 ~= 0 or unit < 0 or unit > 2147483647 then
    usage("unit: a whole number from 0 to 2^31-1 expected")
  end
  local entry, message, errname = core.new_entry(self.core, name, unit, rest)
  return entry, message, errname
end

--- The devices as they are now.
-- @treturn snapshot
-- @fails "ENOMEM"
-- @function registry:read
function registry:read()
  is_self(self, registry, "registry", "read")
  return core.read_registry(self.core)
end

--- A transaction begins.
-- @tparam[opt] number now
-- @function entry:start_transaction

--- A transaction ends.
-- @tparam string kind "read", "write", "free" or "other"
-- @tparam[opt=0] integer bytes from 0 to 2^32-1
-- @tparam[opt] number began without it no duration is added
-- @tparam[opt] number now
-- @function entry:end_transaction

--- Removes the device.
-- @function entry:remove

local MODES = { add = true, only = true, remove = true, addonly = true }
local OPTIONS = { names = true, match = true, mode = true, max = true, sort = true, previous = true }

-- Raises unless it is a table whose items are as is(item) wants them; nil is none.
local function check_list(list, what, is, items)
  if type(list) ~= "table" then usage(("%s: table expected, got %s"):format(what, type(list))) end
  for i, item in ipairs(list) do
    if not is(item) then usage(("%s: %s expected, item %d is a %s"):format(what, items, i, type(item))) end
  end
end

local function is_text(v) return type(v) == "string" end

local function is_pattern(v)
  return type(v) == "string" or type(v) == "table" and type(v.text) == "string"
end

-- The same for the options of select(), and what they may hold.
local function check_options(options)
  if type(options) ~= "table" then expected(2, "select", "table", options) end
  for key in pairs(options) do
    if not OPTIONS[key] then usage(unknown.word("'select': unknown option", tostring(key), OPTIONS)) end
  end
  if options.mode ~= nil and not MODES[options.mode] then
    usage(unknown.word("unknown mode", options.mode, MODES))
  end
  if options.max ~= nil and not (type(options.max) == "number" and options.max >= 0) then
    usage("max: a number of 0 or more expected")
  end
  if options.max and options.max < math.huge and options.max % 1 ~= 0 then
    usage("max: number has no integer representation")
  end
  if options.sort ~= nil and options.sort ~= "bytes" then
    usage("sort must be \"bytes\"")
  end
  if options.previous ~= nil and type(options.previous) ~= "table" then
    usage("previous: table expected, got " .. type(options.previous))
  end
end

local function texts(patterns)
  local out = {}
  for i, p in ipairs(patterns) do out[i] = type(p) == "table" and p.text or p end
  return out
end

--- Chooses devices, at most `max` of them, in the order to show them.
-- @tparam {device,...} devices
-- @tparam[opt] table options
--   `names` ({string,...}): of devices, which come first; `match` (string|match|{string|match,...}): a pattern, or an
--   array of them ("or"); `mode` (string): "add" (fills up with other devices in list order; the default without names
--   and patterns), "only" (the default with them), "addonly", or "remove" (the devices that names and patterns leave);
--   `max` (integer): number of devices to return at most; `sort` (string): "bytes" for those that moved most bytes
--   first, since `previous` (snapshot|{device,...}) if given
-- @treturn {device,...}
-- @fails "EINVAL" for a pattern that makes no sense
-- @raise for an option of another name or type
function M.select(devices, options)
  if options == nil then options = {} end
  check_options(options)
  local match = options.match
  if match == nil then match = {} elseif is_pattern(match) then match = { match } end
  local names = options.names == nil and {} or options.names
  check_list(devices, "devices", core.is_device, "device")
  check_list(names, "names", is_text, "string")
  check_list(match, "match", is_pattern, "pattern")
  local patterns = texts(match)
  local max, mode = math.min(options.max or #devices, #devices), options.mode
  if mode == nil then mode = (#names > 0 or #patterns > 0) and "only" or "add" end
  local s = core.selection()
  -- A removal starts from everything.
  local removing = mode == "remove"
  local ok, message, errname = s:apply(devices, 1, removing and "add" or "addonly", {}, {}, #devices + 1)
  if ok == nil then return nil, message, errname end
  local limit = removing and #devices + 1 or max
  ok, message, errname = s:apply(devices, 1, mode, names, patterns, limit)
  if ok == nil then return nil, message, errname end
  local chosen = {}
  for i, e in ipairs(s:entries()) do
    if e.selected > 0 then
      e.place, e.device = i, devices[e.index]
      chosen[#chosen + 1] = e
    end
  end
  if options.sort then
    local before = M.by_name(options.previous)
    for _, e in ipairs(chosen) do
      e.moved = core.compute(e.device, before(e.device), 0).total_bytes
    end
    table.sort(chosen, function(a, b)
      if a.moved ~= b.moved then return a.moved > b.moved end
      return a.index < b.index
    end)
  elseif removing then
    table.sort(chosen, function(a, b) return a.index < b.index end)
  else
    table.sort(chosen, function(a, b) return a.selected < b.selected end)
  end
  local out = {}
  for i = 1, math.min(max, #chosen) do out[i] = chosen[i].device end
  return out
end

return require("kstat.base.guess").within("kstat.devstat", M)
