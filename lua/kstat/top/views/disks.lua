--- Disks and links on a screen: what goes through them, how long that takes, and whether they are well.
--
-- Figures of disks are those of iostat, figures of links those of nicstat, states those of kstatlua use. Drivers and
-- disks that iostat passes over are left out, the former unless they do something. What is idle comes last.
-- @module kstat.top.views.disks
local core = require("kstat.core")
local devices = require("kstat.iostat.devices")
local io_figures = require("kstat.io")
local latency = require("kstat.figures.latency")
local link_figures = require("kstat.figures.link")
local machine = require("kstat.base.machine")
local makers = require("kstat.top.column")
local report = require("kstat.report")
local selector = require("kstat.read.selector")
local states = require("kstat.top.states")
local text = require("kstat.base.text")
local use = { rows = require("kstat.use.rows"), disk = require("kstat.use.disk"),
  link = require("kstat.use.network") }

local disks, inventories = selector.compile({ class = "disk" }), selector.compile({ class = "device" })
local links = selector.compile({ module = "link", class = "net" })

-- Judges a disk or a link, in a row that is shown.
local function add_state(row, resource)
  if row.has_rates and not row.judged then
    row.judged = use.rows.one(resource, row.name, use[resource].one(row.d, row.k))
    row.errors, row.state = row.judged.errors, states.text(row.judged)
  end
end

local function explain(row, options)
  if not row.judged then
    return { row.name .. ": nothing is known yet" }
  end
  return states.explain(row.judged, row.name, options.screen.utf8)
end

-- What disks and links have in common. Without the sample before there are no figures of an interval.
local function new_row(k, d, now, prev)
  local row = { k = k, d = d, now = now, name = k.name }
  row.has_rates = prev ~= nil and k.crtime <= core.sample_taken(prev)
  return row
end

-- Orders rows by a figure, those that are idle or new last.
local function in_order(list, figure, further)
  table.sort(list, function(a, b)
    local x, y = a[figure] or 0, b[figure] or 0
    if x == y then
      x, y = a[further] or 0, b[further] or 0
    end
    return x > y or x == y and a.name < b.name
  end)
  return list
end

-- --- disks ------------------------------------------------------------------------------------------------------

local function add_disk_figures(row, k)
  local f = io_figures.rates(k)
  if not f then
    return
  end
  row.reads, row.writes, row.read, row.write = f.r_s, f.w_s, f.kr_s * 1024, f.kw_s * 1024
  row.queue, row.busy, row.tps = f.wait + f.actv, math.min(f.b_pct, 100), f.tps
  if f.tps > 0 then
    row.wait, row.service = f.has_wait and f.wsvc_t / 1000 or nil, f.asvc_t / 1000
  end
end

-- The descriptions of disks and of their partitions, by the name of the disk: nothing is read yet.
local function find_inventories(now, known)
  local found = {}
  for k in now:each(inventories) do
    local name = k.name:match("^(.*),dev$") or k.name
    local whole = known[name] and name or name:match("^(.*%d)p%d+$") or name:match("^(.-)%d+$")
    if known[whole] then
      found[whole] = found[whole] or {}
      table.insert(found[whole], k)
    end
  end
  return found
end

-- The seconds in which 99 percent of a disk's reads, or writes, were served.
local function p99(measured, k, operation)
  local ms = latency.milliseconds(measured[("%s,%s,device,%s"):format(k.name, operation, k.host or "")], 0.99)
  return ms and ms / 1000
end

local function disk_rows(d, now, prev)
  local list, known, measured = {}, {}, latency.of_disks(d)
  for k in d:each(disks) do
    if k.type == "io" and not devices.is_empty(now, k) then
      local row = new_row(k, d, now, prev)
      if row.has_rates then
        add_disk_figures(row, k)
        row.read_p99, row.write_p99 = p99(measured, k, "read"), p99(measured, k, "write")
      end
      if not machine.passed_over[k.module] or (row.tps or 0) > 0 then
        list[#list + 1], known[k.name] = row, true
      end
    end
  end
  local found = find_inventories(now, known)
  for _, row in ipairs(list) do
    row.inventories = found[row.name]
  end
  return in_order(list, "busy", "tps")
end

-- What users call a disk: its descriptive name, and where it and its partitions are mounted.
local function called(list)
  local names, seen = {}, {}
  for _, statistic in ipairs({ "descriptive_name", "mount_point" }) do
    for _, k in ipairs(list or {}) do
      local name = k:get(statistic)
      if type(name) == "string" and name ~= "" and not seen[name] then
        names[#names + 1], seen[name] = name, true
      end
    end
  end
  return names[1] and table.concat(names, " ")
end

local function complete_disk(row)
  row.called = row.called or called(row.inventories)
  add_state(row, "disk")
end

-- --- links ------------------------------------------------------------------------------------------------------

local function link_rows(d, now, prev)
  local list = {}
  for k in d:each(links) do
    local row, f = new_row(k, d, now, prev), link_figures.figures(k)
    row.speed, row.link = f.speed and f.speed > 0 and f.speed or nil, f.state
    if row.has_rates then
      row.r, row.w, row.rpk, row.wpk, row.util, row.drops = f.r, f.w, f.rpk, f.wpk, f.util, f.sat
      row.bytes = (f.r or 0) + (f.w or 0)
    end
    -- What comes back from loopback comes from this machine.
    list[#list + 1] = not k.name:find("^lo%d*$") and row or nil
  end
  return in_order(list, "util", "bytes")
end

-- --- the view ---------------------------------------------------------------------------------------------------

local column, lazy = makers.of, makers.lazy
local STATE = { "STATE", "state", align = "left", whole = true, lazy = true, order = states.order, state = states.of,
  about = "ok, or what is too much" }

local number, rate, percent = text.number, text.number, text.percent

local P99S = {
  column("RP99", "read_p99", text.duration, "time in which 99 % of the reads were served (kstatlua latency)", 2),
  column("WP99", "write_p99", text.duration, "the same of writes", 2),
}

-- The columns; percentiles where they are measured.
local function with_percentiles(columns)
  return function(_, ks)
    local list = {}
    for _, one in ipairs(columns) do
      list[#list + 1] = one
      for _, further in ipairs(one[1] == "SVC" and ks and ks:select(latency.disks)[1] and P99S or {}) do
        list[#list + 1] = further
      end
    end
    return list
  end
end

local disk_section = report({
  name = "disks", about = "Disks: what goes through them, and how long that takes.", optional = true,
  select = { { class = "disk" }, { class = "disk_detail" }, { class = "device" }, { class = "device_queue" },
    { class = "device_error" }, { class = "device_state" }, { module = "/^nvme$/", class = "controller" },
    { module = "zfs/*", name = "state" }, { module = "pressure", name = "io", class = "pressure" }, latency.disks },
  rows = disk_rows, complete = complete_disk, explain = explain, identity = function(row) return row.name end,
  enter = function(row) return { view = "cgroups", sort = "IO/s", disk = row.name } end,
  columns = with_percentiles({
    { "DISK", "name", kind = "label", about = "the kernel's name of the disk" },
    { "NAME", "called", align = "left", width = 8, priority = 2, lazy = true,
      about = "what users know: name of a device mapper, mount points" },
    column("r/s", "reads", number, "reads per second"), column("w/s", "writes", number, "writes per second"),
    column("READ/s", "read", rate, "bytes read per second"),
    column("WRITE/s", "write", rate, "bytes written per second"),
    { "WAIT", "wait", format = text.duration, hidden = true,
      about = "mean time of a request before it is in service; Linux counts it in SVC" },
    column("SVC", "service", text.duration, "mean time of a request in service"),
    column("QUEUE", "queue", percent, "requests waiting or in service, in the mean"),
    column("BUSY%", "busy", percent, "share of the time with requests in service"),
    lazy(column("ERR", "errors", number, "errors in the interval, and those that last", 3)), STATE,
  }),
})

local link_section = report({
  name = "links", about = "Links: what goes through them.", optional = true,
  select = { { module = "link", class = "net" }, { class = "qdisc" } },
  rows = link_rows, complete = function(row) add_state(row, "link") end, explain = explain,
  identity = function(row) return row.name end,
  columns = {
    { "LINK", "name", kind = "label", about = "network interface" },
    column("IN/s", "r", rate, "bytes received per second"), column("OUT/s", "w", rate, "bytes sent per second"),
    column("INPK/s", "rpk", number, "packets received per second", 2),
    column("OUTPK/s", "wpk", number, "packets sent per second", 2),
    column("DROP/s", "drops", number, "packets per second for which there was no room"),
    lazy(column("ERR", "errors", number, "errors in the interval", 3)),
    column("SPEED", "speed", number, "bits per second that the link can do", 2),
    column("UTIL%", "util", percent, "of its speed, of the busier direction"),
    { "UP", "link", align = "left", priority = 4, about = "up or down" }, STATE,
  },
})

return { name = "disks", sections = { disk_section, link_section } }
