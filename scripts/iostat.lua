--- iostat: the I/O statistics of Solaris and illumos, its options, columns and rounding: `kstatlua iostat -h`.
-- Exit status: 0, 2 the command line was wrong, 3 the source could not be read.
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local chain = core.chain_methods
local lines = require("kstat.iostat.lines")
local options = require("kstat.iostat.options")
local tick = require("kstat.tick")
local tool = require("kstat.tool")

local PAGE = 19 -- reports after which the short forms print their head again

-- --- one report -----------------------------------------------------------------------------

local Report = {}
Report.__index = Report

local function new_report(o)
  local self = setmetatable({ o = o, made = 0, heads_due = tick.pager(PAGE) }, Report)
  if o.t or o.c then
    self.system = require("kstat.iostat.system")
  end
  if o.e or o.E then
    self.errors = require("kstat.iostat.errors")
  end
  -- With descriptive names nothing follows a device's line, and the system has lines of its own.
  self.system_apart = self.system and (not o.table or o.n)
  return self
end

-- Opens a chain of what is shown and of nothing else. false and a message if that fails.
function Report:open()
  local only = {}
  local function add(list)
    for _, selector in ipairs(list) do
      only[#only + 1] = selector
    end
  end
  local devices = self.o.devices and require("kstat.iostat.devices")
  if devices then
    local shown, told = devices.selectors(self.o)
    add(shown)
    add(told)
  end
  add(self.system and self.system.selectors() or {})
  add(self.errors and self.errors.selectors() or {})
  local ks, message = core.open({ only = only })
  if not ks then
    return false, message
  end
  self.ks = ks
  self.devices = devices and devices.new(ks, self.o)
  return true
end

-- Follows changes of the chain. Lines about devices that came or went; nil if none did.
function Report:follow()
  local id = chain.chain_id(self.ks)
  if id == self.chain_id and not (self.devices and self.devices.stale) then
    return nil
  end
  self.chain_id = id
  local changes = self.devices and self.devices:refresh()
  self.cpus = self.system and self.system.cpus(self.ks)
  self.found = self.errors and self.errors.find(self.ks)
  if self.o.table then
    self.lines = lines.new(self.o, self.devices.rows, self.system and not self.system_apart)
  end
  if self.o.blocks or self.system_apart then
    self.short = lines.short(self.o, self.o.blocks and self.devices.rows or {})
  end
  return changes
end

-- The functions that give a row's error counts and its mount point, as far as they are shown.
function Report:further(now)
  local o = self.o
  return o.e and function(row) return self.errors.counts(self.found, now, row) end,
    o.m and (o.n or o.form) and function(row) return self.devices:mount_point(now, row) end
end

-- Computes the figures of a report. prev: the sample before; nil: none. Returns the difference, the sample that it
-- is to, and lines about devices that came and went, nil if none did.
function Report:measure(now, prev)
  local changes = self:follow()
  -- As on Solaris, everything in a capture is since boot again. Where devices come and go all the time, as on
  -- Linux, no interval would ever be shown: here the new ones alone are since their creation.
  if changes and chain.is_replay(self.ks) then
    prev = nil
  end
  local d = core.difference(now, prev)
  if self.devices then
    self.devices:compute(d, changes and core.difference(now, nil))
  end
  return d, prev, changes
end

-- Writes a report for programs, unless it is only the one that the next one counts from.
function Report:write_data(now, prev, wanted)
  local o = self.o
  local d, since = self:measure(now, prev)
  local system = self.system and self.system.figures(d, self.cpus, o.I)
  self.sink = self.sink or lines.sink(o)
  if wanted then
    local rows = lines.rows(o, self.devices and self.devices.rows, system, self:further(now))
    self.sink.show(rows, tool.moment(o.form, o.T, now, d, since == nil))
  end
end

-- The text of a report.
function Report:text(now, prev)
  local o = self.o
  local out = {}
  local d, _, changes = self:measure(now, prev)
  out[1] = changes and not o.s and table.concat(changes, "\n") .. "\n" or nil
  if o.T then
    out[#out + 1] = tool.timestamp(o.T, chain.clock(self.ks))
  end
  local system = self.system and self.system.figures(d, self.cpus, o.I)
  if self.short then
    out[#out + 1] = (o.table or self.heads_due(1) and (self.made == 0 or not o.r)) and self.short.head or nil
    out[#out + 1] = lines.short_line(self.short, system)
  end
  if o.table then
    lines.write(out, self.lines, not self.system_apart and system or nil, self:further(now))
  end
  if o.E then
    self.errors.write(out, o, self.devices, self.found, now)
  end
  self.made = self.made + 1
  return table.concat(out)
end

-- --- running -------------------------------------------------------------------------------

local function main()
  local o = options.read(arg)
  local report = new_report(o)
  local ok, message = report:open()
  if not ok then
    tool.stop(3, message)
  end
  return tick.run(report.ks, o.interval, o.count, function(now, prev)
    local wanted = prev or not o.y or not o.interval or o.count == 1
    if o.form then
      report:write_data(now, prev, wanted)
    else
      local text = report:text(now, prev)
      tool.write(wanted and text or "")
    end
  end)
end

return tool.run("iostat", main)
