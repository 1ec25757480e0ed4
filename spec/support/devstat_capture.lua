-- Turns a fixture of iostat_text.json into a capture: what `kstat -j` prints of such a machine.
local M = {}

local TYPES = { [0] = "da", [1] = "sa", [5] = "cd", [14] = "floppy" }
local INTERFACES = { "scsi", "ide", "other" }
local KINDS = { "other", "read", "write", "free" }

-- A binary time in whole nanoseconds, as decimal text.
local function nanoseconds(t)
  return ("%.0f"):format(t[1] * 1e9 + math.floor(tonumber(t[2]) / 2 ^ 64 * 1e9 + 0.5))
end

local function int(n)
  return ("%.0f"):format(n)
end

--- One kstat as JSON. data: array of { name, text of the value }; crtime: seconds, or nil for 0.
function M.kstat(module, instance, name, class, kind, snaptime, data, crtime)
  local stats = { ('"crtime":%.9f,"snaptime":%s'):format(crtime or 0, snaptime) }
  for i, pair in ipairs(data) do stats[i + 1] = ('"%s":%s'):format(pair[1], pair[2]) end
  return ('{"module":"%s","instance":%d,"name":"%s","class":"%s","type":%d,"snaptime":%s,"data":{%s}}')
    :format(module, instance, name, class, kind, snaptime, table.concat(stats, ","))
end

local function device_kstats(out, d, snaptime)
  local unit = int(d.unit_number)
  local name = d.device_name .. unit
  out[#out + 1] = M.kstat(d.device_name, d.unit_number, name, "disk", 3, snaptime, {
    { "nread", d.bytes[2] }, { "nwritten", d.bytes[3] },
    { "reads", d.operations[2] }, { "writes", d.operations[3] },
    { "wtime", "0" }, { "wlentime", "0" }, { "wlastupdate", "0" },
    { "rtime", nanoseconds(d.busy_time) }, { "rlentime", "0" }, { "rlastupdate", "0" },
    { "wcnt", "0" }, { "rcnt", int(d.start_count - d.end_count) },
  }, d.creation_time)
  local data = {
    { "device_type", ('"%s"'):format(TYPES[d.device_type % 16]) },
    { "interface", ('"%s"'):format(INTERFACES[math.floor(d.device_type / 16) % 16]) },
    { "pass", d.device_type >= 256 and "1" or "0" },
    { "block_size", int(d.block_size) },
    { "priority", "272" },
  }
  for i, kind in ipairs(KINDS) do
    data[#data + 1] = { kind .. "_bytes", d.bytes[i] }
    data[#data + 1] = { kind .. "_ops", d.operations[i] }
    data[#data + 1] = { kind .. "_time", nanoseconds(d.duration[i]) }
  end
  out[#out + 1] = M.kstat(d.device_name, d.unit_number, name .. ",dev", "device", 1, snaptime, data,
    d.creation_time)
end

--- One snapshot as a line of JSON.
function M.sample(snapshot)
  local snaptime = ("%.9f"):format(snapshot.uptime)
  local cp = snapshot.cp_time
  local function ns(ticks) return int(ticks * 1e7) end
  local out = {
    M.kstat("cpu", 0, "sys", "misc", 1, snaptime, {
      { "rawch", int(snapshot.tty_nin) }, { "outch", int(snapshot.tty_nout) },
    }),
    M.kstat("cpu", 0, "time", "misc", 1, snaptime, {
      { "nsec_user", ns(cp[1]) }, { "nsec_nice", ns(cp[2]) }, { "nsec_system", ns(cp[3]) },
      { "nsec_irq", ns(cp[4]) }, { "nsec_softirq", "0" }, { "nsec_idle", ns(cp[5]) },
    }),
  }
  for _, d in ipairs(snapshot.devices) do device_kstats(out, d, snaptime) end
  return "[" .. table.concat(out, ",") .. "]\n"
end

--- All snapshots of a fixture, in a new temporary file; returns its name.
function M.write(snapshots)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  for _, s in ipairs(snapshots) do file:write(M.sample(s)) end
  file:close()
  return path
end

return M
