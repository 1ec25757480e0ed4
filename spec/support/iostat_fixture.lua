--- Turns a fixture of iostat_text.json into the capture that `kstat -j` would have printed there, and calculates
-- the averages that the expected texts do not have.
local cjson = require("cjson")
local capture = require("support.capture")
local io_capture = require("support.io_capture")
local lines = require("support.lines")

local M = {}

-- What Solaris' iostat learns from the device tree and the mount table is a kstat beside the device's own.
local function inventory(snapshot, io)
  local pretty = (snapshot.pretty or {})[io.name]
  local data = {}
  local function add(name, value)
    if value and value ~= cjson.null then
      data[#data + 1] = ("%s:%s"):format(cjson.encode(name), cjson.encode(value))
    end
  end
  if pretty then
    add("descriptive_name", pretty.dsk)
    add("device_id", pretty.devid)
  end
  for _, mount in ipairs(snapshot.mounts or {}) do
    if io.class == "nfs" and mount.minor == io.instance then
      add("descriptive_name", mount.device)
      add("mount_point", mount.mount_point)
    elseif pretty and mount.device:match("[^/]*$") == pretty.dsk then
      add("mount_point", mount.mount_point)
    end
  end
  if #data == 0 then
    return nil
  end
  return capture.kstat(io.module, io.instance, (io.name .. ",dev"):sub(1, 30), "device", 1, "0",
    io_capture.seconds(io.snaptime), table.concat(data, ","))
end

-- Members of an object in the order of the text: cjson forgets it.
local function errors_in_order(values)
  local order = { "Soft Errors", "Hard Errors", "Transport Errors", "Vendor", "Product", "Revision", "Serial No",
    "Size", "Media Error", "Device Not Ready", "No Device", "Recoverable", "Illegal Request",
    "Predictive Failure Analysis" }
  local data = {}
  for _, name in ipairs(order) do
    local value = values[name]
    data[#data + 1] = ("%s:%s"):format(cjson.encode(name), type(value) == "number" and ("%.0f"):format(value)
      or cjson.encode(value))
  end
  return table.concat(data, ",")
end

local CPU = { "rawch", "outch", "cpu_ticks_idle", "cpu_ticks_user", "cpu_ticks_kernel", "cpu_ticks_wait",
  "cpu_nsec_dtrace" }

local function sample_of(snapshot)
  local list = {}
  local now = io_capture.seconds(snapshot.snaptime)
  for _, cpu in ipairs(snapshot.cpus) do
    local data = {}
    for i, name in ipairs(CPU) do
      data[i] = ('"%s":%s'):format(name, lines.int(cpu[name]))
    end
    list[#list + 1] = capture.kstat("cpu", cpu.id, "sys", "misc", 1, "0", now, table.concat(data, ","))
  end
  for _, io in ipairs(snapshot.io) do
    list[#list + 1] = io_capture.kstat(io, io.crtime, io)
    list[#list + 1] = inventory(snapshot, io)
    local errors = (snapshot.errors or {})[io.name]
    if errors then
      list[#list + 1] = capture.kstat(io.module .. "err", io.instance, io.name .. ",err", "device_error", 1,
        io_capture.seconds(io.crtime), io_capture.seconds(io.snaptime), errors_in_order(errors))
    end
  end
  return list
end

--- The path of a capture of the fixture.
function M.capture(fixture)
  local samples = {}
  for i, snapshot in ipairs(fixture.snapshots) do
    samples[i] = sample_of(snapshot)
  end
  return capture.file(samples)
end

M.clean = capture.clean

-- --- true averages of controllers -------------------------------------------------------------

local function by_name(snapshot)
  local found = {}
  for _, io in ipairs(snapshot and snapshot.io or {}) do
    found[io.name] = io
  end
  return found
end

-- Whether the devices of two snapshots differ: then the report is since creation.
local function changed(before, now)
  local old, new = by_name(before), by_name(now)
  for name in pairs(old) do
    if not new[name] then return true end
  end
  for name in pairs(new) do
    if not old[name] then return true end
  end
  return false
end

--- %w and %b of a controller in a report: means over its disks (all, or the one named), in percent.
function M.controller_average(fixture, report, controller, disk)
  local now, before = fixture.snapshots[report], fixture.snapshots[report - 1]
  if before and changed(before, now) then
    before = nil
  end
  local old = by_name(before)
  local wtime, rtime, elapsed = 0, 0, 0
  for _, io in ipairs(now.io) do
    local dsk = ((now.pretty or {})[io.name] or {}).dsk or ""
    if dsk:match("^(c%d+)t") == controller and (not disk or dsk == disk) then
      local from = old[io.name] or { wtime = 0, rtime = 0, snaptime = io.crtime }
      wtime = wtime + tonumber(io.wtime) - tonumber(from.wtime)
      rtime = rtime + tonumber(io.rtime) - tonumber(from.rtime)
      elapsed = elapsed + tonumber(io.snaptime) - tonumber(from.snaptime)
    end
  end
  return 100 * wtime / elapsed, 100 * rtime / elapsed
end

return M
