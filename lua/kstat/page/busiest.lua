--- The processes and control groups that use most CPU, memory and I/O, and the GPUs, for the page.
-- @module kstat.page.busiest
local chain = require("kstat.read.chain")
local core = require("kstat.core")
local selector = require("kstat.read.selector")

local busiest = {}

-- How many are named by each figure; seconds that a sample serves all who ask; seconds after which a sample is too old
-- to say what happens now, and nobody asks any more.
local MOST, LEAST_AGE, MOST_AGE = 10, 0.9, 60

local asked = { { class = "process" }, { class = "process_io" }, { class = "cgroup" },
  { class = "cgroup_io", statistic = "/_(nread|nwritten)$/" }, { class = "gpu" } }
local selectors = {}
for i, of in ipairs({ "process", "io", "cgroup", "disks", "gpu" }) do
  selectors[of] = selector.compile(asked[i])
end

local methods = {}
methods.__index = methods

--- Makes one; nothing is read before somebody asks.
function busiest.new()
  return setmetatable({ text = "", taken = -MOST_AGE }, methods)
end

local function add(a, b)
  return (a or b) and (a or 0) + (b or 0)
end

-- The rates of a kstat's statistics, added up; nil: it has none of them.
local function rates(k, ...)
  local a, b = k:rate(...)
  return add(a, b)
end

local function processes_of(d)
  local list, by_pid = {}, {}
  for k in d:each(selectors.process) do
    local now = k:now()
    local row = { pid = k.instance, name = k.name, uid = now:get("euid"), cpu = rates(k, "utime", "stime"),
      memory = now:get("rssize") }
    list[#list + 1], by_pid[k.instance] = row, row
  end
  for k in d:each(selectors.io) do
    local row = by_pid[k.instance]
    if row then
      row.read, row.written = k:rate("nread", "nwritten")
    end
  end
  return list
end

local function cgroups_of(d)
  local list, by_id = {}, {}
  for k in d:each(selectors.cgroup) do
    local now = k:now()
    local row = { name = now:get("path") or k.name, cpu = k:rate("cpu_nsec"), memory = now:get("memory"),
      waiting = k:rate("io_nsec_waiting") }
    list[#list + 1], by_id[k.instance] = row, row
  end
  for k, name in d:values(selectors.disks) do -- a statistic for each disk
    local row = by_id[k.instance]
    local field = name:find("_nread$") and "read" or "written"
    if row then
      row[field] = add(row[field], k:rate(name))
    end
  end
  return list
end

-- The statistics of GPUs by the module of their kstats, and what makes W and °C of their power and temperature.
local GPUS = {
  nvidia = { busy = "gpu_util", memory = "memory_used", total = "memory_total", watts = 1e-3, degrees = 1 },
  drm = { busy = "gpu_busy_percent", memory = "mem_info_vram_used", total = "mem_info_vram_total", watts = 1e-6,
    degrees = 1e-3 },
}

local function scaled(value, scale)
  return value and value * scale
end

local function gpus_of(sample)
  local list = {}
  for k in sample:each(selectors.gpu) do
    local of = GPUS[k.module]
    local busy, memory, total, power, degrees, reason = k:get(of.busy, of.memory, of.total, "power", "temp", "throttle")
    if busy or memory or power then
      list[#list + 1] = { name = k.name, busy = busy, memory = memory, total = total, power = scaled(power, of.watts),
        temperature = scaled(degrees, of.degrees), throttle = reason }
    end
  end
  return list
end

local function cpu(row)
  return row.cpu
end

local FIGURES = { cpu, function(row) return row.memory end, function(row) return add(row.read, row.written) end }

local function sort(rows, figure)
  table.sort(rows, function(a, b) return (figure(a) or 0) > (figure(b) or 0) end)
end

-- Those rows that are among the first by any figure, each once, and by CPU.
local function chosen(rows)
  local list, has = {}, {}
  for _, figure in ipairs(FIGURES) do
    sort(rows, figure)
    for i = 1, math.min(MOST, #rows) do
      local row = rows[i]
      if not has[row] and (figure(row) or 0) > 0 then
        list[#list + 1], has[row] = row, true
      end
    end
  end
  for _, row in ipairs(list) do
    row.user = row.uid and (core.user_name(row.uid) or ("%.0f"):format(row.uid))
  end
  sort(list, cpu)
  return list
end

local USER = { "pid", "name", "user", "cpu", "memory", "waiting", "read", "written" }
local GPU = { "name", "busy", "memory", "total", "power", "temperature", "throttle" }

-- Rows as core.json() writes them.
local function encoded(rows, keys)
  local list = {}
  for i, row in ipairs(rows) do
    local one = { keys = keys }
    for j, key in ipairs(keys) do
      one[j] = row[key]
    end
    list[i] = one
  end
  return list
end

local function open()
  return chain.open({ machine = true, only = asked, processes = true })
end

--- The ten greatest by CPU, memory and I/O each, as JSON: { processes, cgroups, gpus }. The first two are arrays of
-- { pid, name, user, cpu, memory, waiting, read, written }: `cpu` is in CPUs, `memory` in bytes, `waiting` the share of
-- time that something waited for I/O, `read` and `written` are bytes a second. These are figures since somebody asked
-- before, at least a second ago; the first answer has none. GPUs, all of them, are { name, busy, memory, total, power,
-- temperature, throttle }: percent, bytes, W, °C and why the clocks are low. What cannot be known is null.
-- @treturn[1] string
-- @treturn[2] nil
-- @treturn[2] string why not
function methods:json()
  local now = core.hrtime()
  local age = now - self.taken
  if age < LEAST_AGE then
    return self.text
  end
  local message
  if not self.chain then
    self.chain, message = open()
  elseif not self.chain:update() then
    self.chain, message = nil, "the processes cannot be read"
  end
  if not self.chain then
    return nil, message
  end
  local sample = self.chain:sample(selectors.process, selectors.io, selectors.cgroup, selectors.disks, selectors.gpu)
  local d = self.sample and age < MOST_AGE and sample - self.sample
  self.sample, self.taken = sample, now
  self.text = core.json({ encoded(d and chosen(processes_of(d)) or {}, USER),
    encoded(d and chosen(cgroups_of(d)) or {}, USER), encoded(gpus_of(sample), GPU),
    keys = { "processes", "cgroups", "gpus" } })
  self.chain:warnings()
  return self.text
end

--- Frees what is kept for the next question, if nobody has asked for a minute.
function methods:rest()
  if self.chain and core.hrtime() - self.taken > MOST_AGE then
    self.chain:close()
    self.chain, self.sample = nil, nil
  end
end

return busiest
