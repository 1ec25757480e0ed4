--- Error counts of devices, and all else that their error kstats hold (-e, -E).
--
-- They are kstats of class device_error whose names are the devices' with something behind a comma:
-- sderr:0:sd0,err belongs to sd0.
-- @module kstat.iostat.errors
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")

local M = {}

local get = core.kstat_methods.get
local COUNTS = { "Soft Errors", "Hard Errors", "Transport Errors" }
local FULL_LINE = 62 -- a line of -E ends behind the item that gets here

local function class(name)
  return core.selector({ class = name })
end

--- What a chain has to hold.
-- @treturn {selector,...}
function M.selectors()
  return { class("device_error"), class("disk_detail") }
end

--- The error kstats of a chain by the device's name and instance, to be found anew when it changes.
-- @param ks chain
-- @treturn table
function M.find(ks)
  local found = { system = "counted" }
  for _, k in ipairs(core.select(ks, { class("device_error") })) do
    local name = k.name:match("^(.*),[^,]*$")
    if name then
      found[name] = { module = k.module, instance = k.instance, name = k.name }
    end
  end
  -- A system that publishes details of disks counts their errors only where it publishes them.
  if core.select(ks, { class("disk_detail") })[1] then
    found.system = "partly"
  end
  return found
end

local function error_kstat(found, now, device)
  local e = found[device.name]
  return e and core.lookup(now, e.module, e.instance, e.name)
end

--- Soft, hard, transport errors and their sum, since the system started; nil where nothing counts them.
-- A controller has its disks' sums.
-- @tparam table found from `find`
-- @param now sample
-- @tparam table row device or controller
function M.counts(found, now, row)
  if row.sum then
    local soft, hard, transport, total = 0, 0, 0, 0
    for _, device in ipairs(row.paths and {} or row.sum) do
      local s, h, t, sum = M.counts(found, now, device)
      soft, hard = soft and s and soft + s, hard and h and hard + h
      transport, total = transport and t and transport + t, total and sum and total + sum
    end
    return soft, hard, transport, total
  end
  local k = error_kstat(found, now, row)
  if not k and found.system == "counted" then
    return 0, 0, 0, 0
  end
  local count, total = {}, nil
  for i, name in ipairs(COUNTS) do
    local value = k and get(k, name)
    count[i] = value
    total = value and (total or 0) + value or total
  end
  return count[1], count[2], count[3], total
end

-- A number's digits; what 64 bits hold is printed unsigned.
local function digits(value)
  return type(value) == "number" and core.format_unsigned(value) or value
end

-- The items of -E in order: { name, value }. What Solaris has of every disk is there, as "-" if need be; false is a
-- device's id that is not known.
local function items_of(k, device_id, with_id)
  local names, values, items, seen = {}, {}, {}, {}
  local n = core.list(k, names, values) or 0
  for i = 1, n do
    seen[names[i]] = values[i]
  end
  for i, name in ipairs(COUNTS) do
    items[i] = { name, seen[name] or "-" }
  end
  local size_at
  for i = 1, n do
    local name = names[i]
    if name == "Size" then
      size_at = #items + 1
    end
    if name == "Serial No" and with_id then
      items[#items + 1] = { "Device Id", device_id or false }
      with_id = false
    elseif not (name == COUNTS[1] or name == COUNTS[2] or name == COUNTS[3]) then
      items[#items + 1] = { name, values[i] }
    end
  end
  if with_id then
    table.insert(items, size_at or #items + 1, { "Device Id", device_id or false })
  end
  return items
end

local function long_form(out, k, label, device_id, o)
  -- As illumos counts it: without what separates items, and with room for four digits in each number.
  local column = 0
  local begun = true -- there is something in the line
  local function newline()
    if begun then
      out[#out + 1] = "\n"
    end
    column, begun = 0, false
  end
  local function add(text)
    out[#out + 1] = begun and o.r and "," .. text or text
    begun = true
  end
  out[#out + 1] = (o.n and "%-16s " or "%-9s "):format(label)
  for i, item in ipairs(items_of(k, device_id, o.i)) do
    local name, value = item[1], item[2]
    if name == "Size" and type(value) == "number" then
      newline()
      local bytes = value >= 0 and value or value + 18446744073709551616.0
      add(("Size: %.2fGB <%s bytes>"):format(bytes / 1e9, digits(value)))
      newline()
    else
      add(value and ("%s: %s "):format(name, digits(value)) or name .. ": ")
      column = column + #name + (type(value) == "number" and 4 or #(value or ""))
      if i == #COUNTS or column >= FULL_LINE then
        newline()
      end
    end
  end
  newline()
end

--- Adds the long form (-E) of every device that has an error kstat.
-- @tparam {string,...} out
-- @tparam table o options
-- @param devices list
-- @tparam table found from `find`
-- @param now sample
function M.write(out, o, devices, found, now)
  for _, device in ipairs(devices.shown) do
    local k = error_kstat(found, now, device)
    if k then
      long_form(out, k, device.label, o.i and devices:device_id(device), o)
    end
  end
end

return M
