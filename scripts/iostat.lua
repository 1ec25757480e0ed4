--- iostat: the I/O statistics of Solaris and illumos, its options, columns and rounding: `kstatlua iostat -h`.
-- Exit status: 0, 2 the command line was wrong, 3 the source could not be read.
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local lines = require("kstat.iostat.lines")
local options = require("kstat.iostat.options")
local report = require("kstat.report")
local tick = require("kstat.command.tick")

local PAGE = 19 -- reports after which the short forms print their head again

-- What the options ask for, in a table that the report hands around with them: the parts that are needed.
local function read(words)
  local o = options.read(words)
  o.system = (o.t or o.c) and require("kstat.iostat.system")
  o.errors = (o.e or o.E) and require("kstat.iostat.errors")
  -- With descriptive names nothing follows a device's line, and the system has lines of its own.
  o.apart = o.system and (not o.table or o.n)
  o.heads_due = tick.pager(o.r and math.huge or PAGE)
  return o
end

-- Selectors of what is shown and of nothing else.
local function select(o)
  local only = {}
  local function add(list)
    for _, selector in ipairs(list) do
      only[#only + 1] = selector
    end
  end
  if o.devices then
    local shown, told = require("kstat.iostat.devices").selectors(o)
    add(shown)
    add(told)
  end
  add(o.system and o.system.selectors() or {})
  add(o.errors and o.errors.selectors() or {})
  return only
end

-- Follows changes of the chain; returns lines about devices that came or went. As on Solaris, everything in a capture
-- is since boot again then. Where devices come and go all the time, as on Linux, no interval would ever be shown:
-- here the new ones alone are since their creation.
local function follow(ks, o)
  local id = ks:chain_id()
  if id == o.chain_id and not (o.list and o.list.stale) then
    o.changed = false
    return nil
  end
  o.list = o.list or o.devices and require("kstat.iostat.devices").new(ks, o) or nil
  local changes = o.list and o.list:refresh()
  o.chain_id, o.changed = id, changes ~= nil and not core.bounds(ks)
  o.cpus = o.system and o.system.cpus(ks)
  o.found = o.errors and o.errors.find(ks)
  if o.table then
    o.lines = lines.new(o, o.list.rows, o.system and not o.apart)
  end
  if o.blocks or o.apart then
    o.short = lines.short(o, o.blocks and o.list.rows or {})
  end
  return changes and not o.s and table.concat(changes, "\n") .. "\n" or nil,
    changes and ks:is_replay() and not ks:is_interval() and not core.bounds(ks)
end

-- Computes the figures of a tick. Returns those of the system, and functions that give a row's error counts and its
-- mount point, as far as they are shown.
local function compute(d, now, o)
  if o.list then
    o.list:compute(d, o.changed and now:since_creation())
  end
  return o.system and o.system.figures(d, o.cpus, o.I),
    o.e and function(row) return o.errors.counts(o.found, now, row) end,
    o.m and (o.n or o.form) and function(row) return o.list:mount_point(now, row) end
end

local function text(d, now, _, o)
  local out = {}
  local system, errors, mounts = compute(d, now, o)
  if o.short then
    out[1] = (o.table or o.heads_due(1)) and o.short.head or nil
    out[#out + 1] = lines.short_line(o.short, system)
  end
  if o.table then
    lines.write(out, o.lines, not o.apart and system or nil, errors, mounts)
  end
  if o.E then
    o.errors.write(out, o, o.list, o.found, now)
  end
  return table.concat(out)
end

local function rows(d, now, _, o)
  return lines.rows(o, o.list and o.list.rows, compute(d, now, o))
end

return report({
  name = "iostat", options = read, operands = "disk", optional = true,
  select = select, published = function(o) return o.latency or "own" end, follow = follow,
  columns = lines.columns, rows = rows, text = text,
})
