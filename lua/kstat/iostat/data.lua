--- iostat for programs: JSON, an object a line, or CSV. A row for each device has all its figures.
-- @module kstat.iostat.data
-- SPDX-License-Identifier: MIT
local output = require("kstat.output")
local lines = require("kstat.iostat.table")
require("kstat.sample") -- when a sample was made

local M = {}

local ERRORS, TERMINALS, CPUS = { "s/w", "h/w", "trn", "tot" }, { "tin", "tout" }, { "us", "sy", "dt", "id" }

--- Makes the sink of the rows.
-- @string form "json" or "csv"
-- @tparam table o options
-- @func write takes text
-- @treturn sink of kstat.output
function M.new(form, o, write)
  local columns = {}
  local function add(names, format)
    for _, name in ipairs(names) do
      columns[#columns + 1] = { key = name, format = format or name:find("^%%") and "%.0f" or "%.1f" }
    end
  end
  if o.devices then
    add({ "device" }, "%s")
    add(lines.heads(o, true))
    add(o.e and ERRORS or {}, "%.0f")
    add(o.m and { "mount_point" } or {}, "%s")
  end
  add(o.t and TERMINALS or {}, "%.0f")
  add(o.c and CPUS or {}, "%.0f")
  local sink = output.sink(form, columns, write, { name = "iostat" })
  if sink.start then
    sink.start()
  end
  return sink
end

-- Puts values behind others, nil too. n: how many there are already. Returns how many there are then.
local function put(row, n, ...)
  for i = 1, select("#", ...) do
    row[n + i] = (select(i, ...))
  end
  return n + select("#", ...)
end

--- The rows of a report.
-- @tparam table o options
-- @tparam {table,...}|nil devices rows of kstat.iostat.devices
-- @tparam table|nil system figures of kstat.iostat.system
-- @tparam function|nil errors row -> soft, hard, transport, total
-- @tparam function|nil mounts row -> mount point
-- @treturn {table,...}
function M.rows(o, devices, system, errors, mounts)
  local rows = {}
  local function finish(row, n)
    if o.t then
      n = put(row, n, system.tin, system.tout)
    end
    if o.c then
      put(row, n, system.us, system.sy, system.dt, system.id)
    end
    rows[#rows + 1] = row
  end
  if not o.devices then
    finish({}, 0)
  end
  for _, device in ipairs(devices or {}) do
    local row, f = { device.label }, device.figures
    local total = errors and select(4, errors(device))
    if device.ready and not (o.z and lines.is_idle(f, total)) then
      local n = put(row, 1, lines.transfers(o, f))
      n = put(row, n, f.has_wait and f.wait or nil, f.actv, f.has_wait and f.wsvc_t or nil, f.asvc_t,
        f.has_wait and f.w_pct or nil, f.b_pct)
      if errors then
        local soft, hard, transport = errors(device)
        n = put(row, n, soft, hard, transport, total)
      end
      finish(row, o.m and put(row, n, mounts(device)) or n)
    end
  end
  return rows
end

return M
