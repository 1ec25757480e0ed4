--- Reading the rows of an nginx for /metrics, step by step, with what stays the same from one scrape to the next.
local core = require("kstat.core")

local M = {}

local unpack = table.unpack or unpack

local STEP = 4 -- kstats between two looks at the clock: reading one takes some microseconds

-- What the first n of these arrays have of the kstat that is being read.
local names, values = {}, {}

-- A row with the labels that its texts make, and `buckets`, in which others keep the labels of histograms.
local function new_row(k, n)
  local labels, is_used = {}, false
  for i = 1, n do
    if type(values[i]) == "string" then
      labels[#labels + 1] = names[i]
      labels[#labels + 1] = values[i]
      is_used = is_used or values[i] ~= "other"
    end
  end
  return { name = k.name, class = k.class, crtime = k.crtime, values = {},
    labels = core.metric_labels(unpack(labels)), is_used = is_used, is_other = #labels > 0 and not is_used,
    buckets = {} }
end

-- Puts the numbers of the kstat into its row. The row of refused labels is hidden until something was refused.
local function enter(row, n)
  local of_row, is_idle = row.values, true
  for i = 1, n do
    local value = values[i]
    if type(value) ~= "string" then
      of_row[names[i]] = value
      is_idle = is_idle and value == 0
    end
  end
  row.is_hidden = row.is_other and is_idle
end

-- Gives the times of a row its labels.
local function connect(row, owner)
  row.labels, row.is_hidden = owner.labels, owner.is_hidden
end

-- The kstats of the module, which stay the same as long as the chain does. They are kept under a number, which is no
-- name of a row.
local function kstats_of(kept, ks, module)
  local known, id = kept[1], ks:chain_id()
  if not known or known.ks ~= ks or known.id ~= id then
    known = { ks = ks, id = id, list = ks:select(module .. ":0") }
  end
  return known
end

--- Reads all rows.
-- @tparam table kept what was kept of the last time; {} at first
-- @tparam chain ks of this nginx's kstats, up to date
-- @string module
-- @tparam function rest called often; it may yield
-- @treturn {[string]={row,...}} by class: `name`, `k`, `values` by statistic, `labels`, `is_used` (a label is
-- not "other"), `is_hidden`
function M.read(kept, ks, module, rest)
  local classes, rows = {}, {}
  local known = kstats_of(kept, ks, module)
  for i, k in ipairs(known.list) do
    local n = core.list(k, names, values)
    if n then
      local row = kept[k.name]
      if not row or row.crtime ~= k.crtime then
        row = new_row(k, n)
      end
      row.k, rows[row.name] = k, row
      enter(row, n)
      local list = classes[row.class] or {}
      classes[row.class] = list
      list[#list + 1] = row
    end
    if i % STEP == 0 then
      rest()
    end
  end
  for class, list in pairs(classes) do
    for _, row in ipairs(class:find("_time$") and list or {}) do
      row.owner = row.owner or row.name:gsub(",time$", "")
      local owner = rows[row.owner]
      if owner and owner ~= row then
        connect(row, owner)
      end
    end
  end
  for name in pairs(kept) do
    kept[name] = rows[name]
  end
  kept[1] = known
  for name, row in pairs(rows) do
    kept[name] = row
  end
  return classes
end

return M
