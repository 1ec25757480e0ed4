--- What iostat shows: a line per device (-x, -e), or a line with a block per disk (-d, -D), beside terminals and CPUs;
-- and rows for programs. A line is made of a list of columns, and each column knows what it shows.
-- @module kstat.iostat.lines
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")

local M = {}

local unpack = table.unpack or unpack
local LEAST_NAME, MOST_NAME = 6, 24
local TITLE, QUEUES_TITLE, ERRORS_TITLE = "extended device statistics", "extended queue statistics", "---- errors --- "
local LATENCIES = { "w_p50", "w_p99", "s_p50", "s_p99" }
local OF_DISKS = { "r_p50", "r_p99", "w_p50", "w_p99", "rq_p50", "rq_p99", "wq_p50", "wq_p99" }
-- Columns: title, width, format ("%.0f"), the field that they show of what the line is about, and a function that
-- changes its value, if it is needed.
local DEVICE, HOST = { "device", 0, "%s", "name", align = "left" }, { "host", 0, "%s", "host", align = "left" }
local ERRORS = { { "s/w", 3, nil, "soft" }, { "h/w", 3, nil, "hard" }, { "trn", 3, nil, "transport" },
  { "tot", 3, nil, "total" } }
local TTY = { { "tin", 3, nil, "tin" }, { "tout", 4, nil, "tout" } }
local CPU = { { "us", 2, nil, "us" }, { "sy", 2, nil, "sy" }, { "dt", 2, nil, "dt" }, { "id", 2, nil, "id" } }
local CPU_STEAL = { CPU[1], CPU[2], CPU[3], CPU[4], { "st", 2, nil, "st" } }
local TTY_TITLE, CPU_TITLE = "   tty    ", "     cpu"
local BLOCK, BLOCK_NAME, MOST_BLOCK_NAME = 14, 12, 13 -- columns of a block, where its name is centred, its name

-- Adds columns. of: which of the tables that values_of() gets has their fields; nil: they are blank. `blanks` is room
-- for all values at once.
local function add(list, columns, of)
  list.blanks = list.blanks or {}
  for _, c in ipairs(columns) do
    local n = #list + 1
    list.blanks[n] = ""
    list[n] = { of, c[4], c[5], title = c[1], key = c[1], room = c[2], format = c[3] or "%.0f", align = c.align }
  end
  return list
end

-- A blank more between two columns, or at an end, is a column without anything; programs and -r have none.
local function blank(o, list)
  return (o.r or o.form) and list or add(list, { { "", 0 } })
end

-- What columns show, of tables by their names.
local function values_of(columns, about)
  local values, last, x = { unpack(columns.blanks) }, nil, nil
  for i = 1, #columns do
    local c = columns[i]
    local of, change = c[1], c[3]
    if of then
      if of ~= last then
        last, x = of, about[of]
      end
      local value = x and x[c[2]]
      if change and x then
        value = change(value, x)
      end
      values[i] = value
    end
  end
  return values
end

-- How -I and -M change rates and bytes; nil: not at all.
local function scales(o)
  local rate = o.I and function(v, f) return v * f.seconds end or nil
  return rate, o.M and function(v, f) return (rate and rate(v, f) or v) / 1024 end or rate
end

-- What belongs to a wait queue has no value where the system counts none.
local function of_wait(v, f)
  return f.has_wait and v or nil
end

-- The columns of a device's figures.
local function figures_columns(o, both)
  local per, byte = o.I and "i" or "s", o.M and "M" or "k"
  local rate, bytes = scales(o)
  local list = {
    { "r/" .. per, 6, "%.1f", "r_s", rate }, { "w/" .. per, 6, "%.1f", "w_s", rate },
    { byte .. "r/" .. per, 6, "%.1f", "kr_s", bytes }, { byte .. "w/" .. per, 6, "%.1f", "kw_s", bytes },
    { "wait", 4, "%.1f", "wait", of_wait }, { "actv", 4, "%.1f", "actv" },
  }
  if both then
    list[7], list[8] = { "wsvc_t", 6, "%.1f", "wsvc_t", of_wait }, { "asvc_t", 6, "%.1f", "asvc_t" }
  else
    list[7] = { "svc_t", 6, "%.1f", "svc_t" }
  end
  list[#list + 1] = { "%w", 3, nil, "w_pct", of_wait }
  list[#list + 1] = { "%b", 3, nil, "b_pct" }
  for i, title in ipairs(o.latency and LATENCIES or o.percentiles and OF_DISKS or {}) do
    list[#list + 1] = { title, 7, "%.3f", "latencies", function(v) return v[i] or nil end }
  end
  return list
end

-- The columns of terminals and CPUs, behind others or alone.
local function system_columns(o, list)
  list = o.t and add(blank(o, list), TTY, "system") or list
  return o.c and add(blank(o, list), o.steal and CPU_STEAL or CPU, "system") or list
end

-- Whether -z leaves a line out.
local function is_idle(f, errors)
  return (errors or 0) == 0 and f.r_s < 0.1 and f.w_s < 0.1 and f.kr_s < 0.1 and f.kw_s < 0.1 and
    f.wait < 0.1 and f.actv < 0.1 and f.svc_t < 0.1 and f.w_pct < 0.1 and f.b_pct < 0.1
end

-- A layout of these columns; blanks at the end of a line stay.
local function layout_of(o, columns)
  for _, column in ipairs(columns) do
    column.room = o.r and 0 or column.room
  end
  return core.layout(columns, o.r and "," or " ", false, true)
end

local function head_of(layout, columns)
  local titles = {}
  for i, column in ipairs(columns) do
    titles[i] = column.title
  end
  return core.line(layout, titles, "")
end

-- --- a line per device -----------------------------------------------------------------------------

-- The columns of a device, and the layout of its line. `joined`: no blanks come before its first error count.
local function device_columns(o, width, joined, system)
  local device = { "device", width, "%s", "name", align = "left" }
  local list = not o.n and add({}, { device }, "line") or joined and {} or blank(o, {})
  if o.x then
    add(list, figures_columns(o, o.both), "figures")
  elseif not joined then
    blank(o, list)
  end
  add(list, o.e and { (o.n or not joined) and ERRORS[1] or nil } or {}, "line")
  add(list, o.e and { ERRORS[2], ERRORS[3], ERRORS[4] } or {}, "line")
  add(list, { o.n and DEVICE or nil }, "line")
  add(list, { o.names_hosts and HOST or nil }, "line")
  if system then
    system_columns(o, list)
  end
  list = (o.n or system and o.c) and list or blank(o, list)
  return list, layout_of(o, list)
end

-- The line above the heads: titles centred over what they belong to.
local function title_line(o, head, system)
  local name = o.latency and QUEUES_TITLE or TITLE
  local sides = (system and o.t and TTY_TITLE or "") .. (system and o.c and CPU_TITLE or "")
  if o.r then
    local titles = {}
    for _, title in ipairs({ o.x and name or false, o.e and "errors" or false, system and o.t and "tty" or false,
      system and o.c and "cpu" or false }) do
      titles[#titles + 1] = title or nil
    end
    return table.concat(titles, ",")
  elseif not o.x then
    return (o.n and "  " or (" "):rep(11)) .. ERRORS_TITLE .. sides
  end
  local line = (" "):rep(math.floor((#head - #name) / 2)) .. name
  local columns = #head - (o.n and #"device" or 0) - (o.e and 4 * #ERRORS or 0)
  if o.e then
    return line .. (" "):rep(columns - #line) .. ERRORS_TITLE .. sides
  end
  return line .. (" "):rep(columns - (o.n and 1 or 0) - #line) .. sides
end

--- Prepares the lines for a list of devices; made anew when they change.
-- @tparam table o options
-- @tparam {table,...} rows
-- @tparam bool system whether terminals and CPUs follow the first line
-- @treturn table
function M.new(o, rows, system)
  local self = { o = o, rows = rows, joined = not o.r and not o.x and (o.X or o.Y), width = LEAST_NAME }
  for i = 1, #rows do
    self.width = math.min(math.max(self.width, #rows[i].label), MOST_NAME)
  end
  local columns, layout = device_columns(o, self.width, false)
  local title = title_line(o, head_of(layout, columns):sub(1, -2), system)
  columns, layout = device_columns(o, self.width, false, system)
  self.head = title .. "\n" .. head_of(layout, columns)
  self.plain = { device_columns(o, self.width, self.joined) }
  self.first = { device_columns(o, self.width, self.joined, system) }
  return self
end

-- The name of a device as its line has it; with -n behind the figures, and with -m the mount point behind it.
local function name_of(self, row, mount, soft)
  local o = self.o
  if o.n then
    return mount and ("%s%s(%s)"):format(row.label, o.r and "," or " ", mount) or row.label
  elseif o.r then
    return row.label
  end
  local name = row.label:sub(1, self.width)
  return self.joined and ("%-" .. self.width .. "s%3s"):format(name, soft and ("%.0f"):format(soft) or "-") or name
end

-- What columns show of a device; nil: its line is left out.
local function about_device(o, row, system, errors)
  local soft, hard, transport, total
  if errors then
    soft, hard, transport, total = errors(row)
  end
  return row.ready and not (o.z and is_idle(row.figures, total)) and { figures = row.figures, system = system, line = {
    name = row.label, soft = soft, hard = hard, transport = transport, total = total, host = row.host } } or nil
end

--- Adds a report.
-- @tparam {string,...} out
-- @tparam table self from `new`
-- @tparam table|nil system figures of kstat.iostat.system, behind the first line
-- @tparam function|nil errors row -> soft, hard, transport, total
-- @tparam function|nil mounts row -> mount point
function M.write(out, self, system, errors, mounts)
  out[#out + 1] = self.head
  for _, row in ipairs(self.rows) do
    local about, form = about_device(self.o, row, system, errors), system and self.first or self.plain
    if about then
      about.line.name = name_of(self, row, mounts and mounts(row), about.line.soft)
      out[#out + 1] = core.line(form[2], values_of(form[1], about), "-")
      system = nil
    end
  end
  if system then
    out[#out + 1] = M.short_line(M.short(self.o, {}), system) -- from the first column, as illumos has it
  end
end

-- --- everything in one line -------------------------------------------------------------------------

local function centred(name)
  name = name:sub(1, MOST_BLOCK_NAME)
  local line = (" "):rep(math.max(0, math.floor((BLOCK_NAME - #name) / 2))) .. name
  return line .. (" "):rep(BLOCK - #line)
end

-- The columns of a disk's block.
local function block_columns(o)
  local per, byte = o.I and "i" or "s", o.M and "M" or "k"
  local rate, bytes = scales(o)
  if o.D then
    return { { "rp" .. per, 3, nil, "r_s", rate }, { "wp" .. per, 3, nil, "w_s", rate },
      { "util", 4, "%.1f", "b_pct" } }
  end
  return { { byte .. "p" .. per, 3, nil, "kps", bytes }, { "tp" .. per, 3, nil, "tps", rate },
    { "serv", 4, nil, "svc_t" } }
end

--- Prepares the line of terminals, a block per disk, and CPUs.
-- @tparam table o options
-- @tparam {table,...} rows the disks shown
-- @treturn table with `head`: the two lines above the values
function M.short(o, rows)
  local columns, names, block = {}, {}, block_columns(o)
  if o.t then
    add(blank(o, columns), TTY, "system")
    names[1] = o.r and "tty" or TTY_TITLE
  end
  for i, row in ipairs(rows) do
    blank(o, add(columns, block, i))
    names[#names + 1] = o.r and row.label or centred(row.label)
  end
  if o.c then
    add(blank(o, columns), o.steal and CPU_STEAL or CPU, "system")
    names[#names + 1] = o.r and "cpu" or CPU_TITLE
  end
  local layout = layout_of(o, o.c and columns or blank(o, columns))
  return { rows = rows, layout = layout, columns = columns,
    head = table.concat(names, o.r and "," or "") .. "\n" .. head_of(layout, columns) }
end

--- The line of values.
-- @tparam table self from `short`
-- @tparam table|nil system figures of kstat.iostat.system
-- @treturn string
function M.short_line(self, system)
  local about = { system = system }
  for i, row in ipairs(self.rows) do
    about[i] = row.ready and row.figures or nil
  end
  return core.line(self.layout, values_of(self.columns, about), "-")
end

-- --- for programs --------------------------------------------------------------------------------------

-- What rows show.
local function row_columns(o)
  local list = {}
  if o.devices then
    add(list, { DEVICE }, "line")
    add(list, figures_columns(o, true), "figures")
    add(list, o.e and ERRORS or {}, "line")
    add(list, { o.names_hosts and HOST or nil }, "line")
    add(list, { o.m and { "mount_point", 0, "%s", "mount" } or o.latency and { "publisher", 0, "%s", "publisher" } or
      nil }, "line")
  end
  return system_columns(o, list)
end

--- The columns of the rows.
-- @tparam table o options
-- @treturn {column,...} of kstat.report
function M.columns(o)
  local list = {}
  for i, column in ipairs(row_columns(o)) do
    list[i] = { column.title, function(row) return row[i] end, format = column.format }
  end
  return list
end

--- The rows of a report.
-- @tparam table o options
-- @tparam {table,...}|nil devices rows of kstat.iostat.devices
-- @tparam table|nil system figures of kstat.iostat.system
-- @tparam function|nil errors row -> soft, hard, transport, total
-- @tparam function|nil mounts row -> mount point
-- @treturn {table,...}
function M.rows(o, devices, system, errors, mounts)
  local rows, columns = {}, row_columns(o)
  if not o.devices then
    return { values_of(columns, { system = system }) }
  end
  for _, device in ipairs(devices or {}) do
    local about = about_device(o, device, system, errors)
    if about then
      about.line.publisher, about.line.mount = device.publisher, o.m and mounts(device)
      rows[#rows + 1] = values_of(columns, about)
    end
  end
  return rows
end

return M
