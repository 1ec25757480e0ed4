--- What prstat shows: its columns and how their numbers look.
-- @module kstat.prstat.columns
-- SPDX-License-Identifier: MIT
local text = require("kstat.base.text")

local columns = { name_width = 15 } -- of names with -W

local USER_WIDTH = 8

-- --- cells ----------------------------------------------------------------------------------

-- Bytes as Solaris writes them: 5412K, 12M, 1.5G is 1536M.
local function size_text(bytes)
  for _, unit in ipairs({ "K", "M", "G", "T" }) do
    bytes = bytes / 1024
    if bytes < 10000 or unit == "T" then
      return ("%.0f%s"):format(bytes, unit)
    end
  end
end

--- Bytes of an interval, of which a few are more than none.
-- @number bytes
-- @treturn string
function columns.bytes(bytes)
  return bytes > 0 and bytes < 512 and ("%.0f"):format(math.max(bytes, 1)) or size_text(bytes)
end

-- Percent in three digits: 0.1, 12, 100; times above a thousand as 1K.
local function share_text(share)
  return share < 9.95 and ("%.1f"):format(share) or ("%.0f"):format(share)
end

local function count_text(n)
  return n < 9999.5 and ("%.0f"):format(n) or n < 9999500 and ("%.0fK"):format(n / 1000) or ("%.0fM"):format(n / 1e6)
end

-- --- columns --------------------------------------------------------------------------------

local function column(title, width, given)
  given[1], given[2], given.field, given.width = title, given.field or title, nil, width
  return given
end

local function share(title, about)
  return column(title, 4, { format = share_text, unit = "%", about = about })
end

local function size(title, field)
  return column(title, 5, { field = field, format = size_text, unit = "bytes" })
end

local function bytes(title, field)
  return column(title, 7, { field = field, format = columns.bytes, unit = "bytes/s" })
end

local PID = { "PID", "pid", width = 6, align = "right", format = "%d", kind = "label" }
local TIME = column("TIME", 9, { field = "time", format = text.hours, unit = "s", about = "CPU time since the start" })
local CPU = column("CPU", 5, { field = "cpu", format = "%.1f%%", unit = "%", about = "share of all CPUs" })
local READ, WRITE, CANCELLED = bytes("READ/s", "read"), bytes("WRITE/s", "write"), bytes("CANC/s", "cancelled")
local STATE = { "STATE", "state", width = 6, align = "left" }

local function user(options)
  return { "USERNAME", "user", width = USER_WIDTH, align = "left",
    format = options.truncate and function(name) return (text.cut(name, USER_WIDTH)) end or nil }
end

local function name(options)
  if options.args then
    return { "COMMAND", "process", align = "left", about = "the command line; of threads of the kernel their name" }
  end
  local title = options.threads and "PROCESS/LWPID" or "PROCESS/NLWP"
  return { title, "process", align = "left", about = options.threads and "name of the thread and its number" or
    "name of the process and how many threads it has" }
end

--- The columns of processes or threads.
-- @tparam table options those of the command line
-- @treturn {column,...}
function columns.of_processes(options)
  if options.microstates or options.verbose then
    return { PID, user(options), share("USR"), share("SYS"), share("TRP"), share("TFL"), share("DFL"), share("LCK"),
      share("SLP"), share("LAT"), column("VCX", 4, { format = count_text }), column("ICX", 4, { format = count_text }),
      column("SCL", 4, {}), column("SIG", 4, {}), name(options) }
  elseif options.io then
    return { PID, user(options), READ, WRITE, CANCELLED,
      share("DLY", "share of the time in which it waited for block I/O"), STATE, TIME, CPU, name(options) }
  end
  return { PID, user(options), size("SIZE", "size"), size("RSS", "rss"), STATE,
    column("PRI", 3, { field = "pri", format = "%d" }), column("NICE", 4, { field = "nice", format = "%d" }), TIME, CPU,
    name(options) }
end

--- The columns of sums over processes.
-- @tparam table options
-- @treturn {column,...}
function columns.of_sums(options)
  local n = column("NPROC", 6, { field = "nproc", format = "%d", align = "right" })
  local list = options.io and { n, READ, WRITE, CANCELLED, TIME, CPU } or { n, size("SIZE", "size"),
    size("RSS", "rss"), column("MEMORY", 6, { field = "memory", format = "%.1f%%", unit = "%" }), TIME, CPU }
  if options.groups then
    list[#list + 1] = { "CGROUP", "name", align = "left" }
  else
    table.insert(list, 2, user(options))
    list[2][2] = "name"
  end
  return list
end

return columns
