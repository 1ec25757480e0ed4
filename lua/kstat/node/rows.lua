--- The collectors of node_exporter that are no kstats: a few rows each, about the machine and the exporter itself.
-- @module kstat.node.rows
local core = require("kstat.core")
local environment = require("kstat.base.environment")

local rows = {}

--- Their names, and whether each is on by default.
rows.COLLECTORS = { os = true, selinux = true, textfile = true, time = true, uname = true }

local PROC = environment.variable("KSTAT_PROC") or "/proc"
local SYS = environment.variable("KSTAT_SYS") or "/sys"

-- The first line of a file, or nil.
local function first_line(path)
  return (environment.contents(path) or ""):match("[^\n]+")
end

local KEPT_FOR = 10 -- seconds that what hardly ever changes is not read again
local kept, kept_since = {}, -KEPT_FOR

-- What read(name) returned within the last seconds.
local function recently(read, name)
  local now = core.hrtime()
  if now - kept_since >= KEPT_FOR then
    kept, kept_since = {}, now
  end
  if kept[name] == nil then
    kept[name] = read(name) or false
  end
  return kept[name] or nil
end

local function kernel_text(name)
  return recently(first_line, PROC .. "/sys/kernel/" .. name) or ""
end

local function add_uname(w)
  w:family("node_uname_info", "gauge", "the machine and its kernel")
  w:add(core.metric_labels("domainname", kernel_text("domainname"), "machine", kernel_text("arch"), "nodename",
    kernel_text("hostname"), "release", kernel_text("osrelease"), "sysname", kernel_text("ostype"), "version",
    kernel_text("version")), 1)
  return 1
end

local function add_clock_sources(w)
  local clock = SYS .. "/devices/system/clocksource/clocksource0/"
  local all = recently(first_line, clock .. "available_clocksource")
  local current = recently(first_line, clock .. "current_clocksource")
  if all and current then
    w:family("node_time_clocksource_available_info", "gauge", "what time can be read from")
    for source in all:gmatch("%S+") do
      w:add(core.metric_labels("clocksource", source, "device", "0"), 1)
    end
    w:family("node_time_clocksource_current_info", "gauge", "what time is read from")
    w:add(core.metric_labels("clocksource", current, "device", "0"), 1)
  end
end

local function add_time(w)
  local now = os.time()
  local utc = os.date("!*t", now)
  utc.isdst = os.date("*t", now).isdst
  w:family("node_time_seconds", "gauge", "the time of the machine")
  w:add("", now)
  w:family("node_time_zone_offset_seconds", "gauge", "local time less UTC")
  w:add(core.metric_labels("time_zone", os.date("%Z", now)), os.difftime(now, os.time(utc)))
  add_clock_sources(w)
  return 1
end

local OS_LABELS = { "build_id", "id", "id_like", "image_id", "image_version", "name", "pretty_name", "variant",
  "variant_id", "version", "version_codename", "version_id" }

-- The texts of a file os-release by their names in small letters; nil: there is none.
local function read_os_release()
  local file = environment.contents("/etc/os-release") or environment.contents("/usr/lib/os-release")
  if not file then
    return nil
  end
  local texts = {}
  for line in file:gmatch("[^\n]+") do
    local name, text = line:match("^([%u%d_]+)=(.*)$")
    if name then
      texts[name:lower()] = text:match("^\"(.*)\"$") or text:match("^'(.*)'$") or text
    end
  end
  return texts
end

local function add_os(w)
  local texts = recently(read_os_release, "os-release")
  if not texts then
    return 0
  end
  local labels = {}
  for _, name in ipairs(OS_LABELS) do
    labels[#labels + 1], labels[#labels + 2] = name, texts[name] or ""
  end
  w:family("node_os_info", "gauge", "the distribution")
  w:add(core.metric_labels((table.unpack or unpack)(labels)), 1)
  local version = (texts.version_id or ""):match("^%d+%.?%d*")
  if version then
    w:family("node_os_version", "gauge", "major and minor version of the distribution")
    w:add(core.metric_labels("id", texts.id or "", "id_like", texts.id_like or "", "name", texts.name or ""),
      tonumber(version))
  end
  return 1
end

local function add_selinux(w)
  local enforcing = first_line(SYS .. "/fs/selinux/enforce")
  w:family("node_selinux_enabled", "gauge", "1 if SELinux is on")
  w:add("", enforcing and 1 or 0)
  if enforcing then
    w:family("node_selinux_current_mode", "gauge", "1 if SELinux enforces its rules, 0 if it only notes them")
    w:add("", tonumber(enforcing) or 0)
  end
  return 1
end

local ADD = { { "os", add_os }, { "selinux", add_selinux }, { "time", add_time }, { "uname", add_uname } }

--- Adds the rows of collectors.
-- @tparam metrics w of `core.metrics`
-- @tparam table enabled collectors: name and true
-- @treturn table of each: { time (ns), samples }
function rows.add(w, enabled)
  local costs = {}
  for _, one in ipairs(ADD) do
    local name = one[1]
    if enabled[name] then
      local start = core.gethrtime()
      local samples = one[2](w)
      costs[name] = { (core.gethrtime() - start), samples }
    end
  end
  return costs
end

-- The words behind the name in a file stat of a process, or nil.
local function process_stat(path)
  local text = first_line(path)
  local words = {}
  for word in (text and text:match("%) (.*)") or ""):gmatch("%S+") do
    words[#words + 1] = tonumber(word) or word
  end
  return words[22] and words
end

-- A limit of this process as a number; "unlimited" is the greatest there is.
local function limit_of(text, name)
  local word = text:match(name .. " +(%S+)")
  return word == "unlimited" and 18446744073709551615 or tonumber(word)
end

local function add_value(w, name, kind, help, value, per)
  if value then
    w:family(name, kind, help)
    w:add("", value, nil, per)
  end
end

local began -- when this process began

-- Returns that; it is reckoned once, as two clocks differ a bit each time, which would look like a new process.
local function start_time(ticks)
  local uptime = not began and tonumber((first_line("/proc/uptime") or ""):match("^%S+"))
  began = began or uptime and os.time() - uptime + ticks / 100
  return began
end

-- Adds what clients of Prometheus have about their process: times are hundredths of a second, or seconds since boot.
local function add_process(w)
  local words = process_stat("/proc/self/stat")
  local limits = environment.contents("/proc/self/limits")
  local fds = core.directory("/proc/self/fd")
  if not (words and limits) then
    return
  end
  add_value(w, "process_cpu_seconds", "counter", "time on CPUs", words[12] + words[13], 100)
  add_value(w, "process_max_fds", "gauge", "most open descriptors", limit_of(limits, "Max open files"))
  add_value(w, "process_open_fds", "gauge", "open descriptors", fds and #fds - 1)
  add_value(w, "process_resident_memory_bytes", "gauge", "memory in RAM", words[22] * core.pagesize)
  add_value(w, "process_start_time_seconds", "gauge", "when it began", start_time(words[20]))
  add_value(w, "process_virtual_memory_bytes", "gauge", "address space", words[21])
  add_value(w, "process_virtual_memory_max_bytes", "gauge", "most address space",
    limit_of(limits, "Max address space"))
end

--- Adds what node_exporter has about itself and its process.
-- @tparam metrics w
function rows.add_exporter(w)
  w:family("node_exporter_build_info", "gauge", "the program that answers")
  w:add(core.metric_labels("branch", "", "goarch", kernel_text("arch"), "goos", "linux", "goversion", "", "revision",
    "", "version", core.version), 1)
  add_process(w)
end

return rows
