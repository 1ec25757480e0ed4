--- When statistics that differ began to, and which of them moved together.
-- @module kstat.diff.onset
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local machine = require("kstat.diff.machine")
local ranks = require("kstat.diff.ranks")

local onset = {}

-- The figure of a row in the interval before a sample; nil: there was none.
local function figure(difference, row)
  local k = difference:lookup(row.module, row.instance, row.kstat_name)
  if not k then
    return nil
  elseif row.counter then
    return k:rate(row.statistic)
  end
  local value = k:get(row.statistic)
  return type(value) == "number" and value * (row.scale or 1) or nil
end

--- Reads the figures of each interval.
-- @tparam {row,...} rows see kstat.diff.blocks; each gets `series` ({[int]=number}): the figure of the interval that
-- ends at a sample, by its number
-- @treturn function(ks, i) to be called at each sample of the span in turn
function onset.recorder(rows)
  local before, derived = nil, {}
  for _, row in ipairs(rows) do
    row.series = {}
    derived[row.name] = row.is_derived and row or nil
  end
  return function(ks, i)
    local sample = assert(core.sample(ks, before))
    if next(derived) then
      assert(core.sample_add(sample, machine.select))
    end
    for _, row in ipairs(before and {} or rows) do
      local k = not row.is_derived and sample:lookup(row.module, row.instance, row.kstat_name)
      local _ = k and k:get(row.statistic)
    end
    if before then
      local difference = sample - before
      for _, row in ipairs(rows) do
        row.series[i] = row.is_cause and 0 or not row.is_derived and figure(difference, row) or nil
      end
      if next(derived) then
        machine.figures(difference, before, function(row, value)
          if derived[row.name] then
            derived[row.name].series[i] = value
          end
        end)
      end
    end
    core.sample_freeze(sample)
    before = sample
  end
end

--- Keeps the figures of a row between its two medians: what lies beyond them says nothing about when one became the
-- other, nor about what moved with it.
-- @tparam row row with `series`, `base` and `window`, the medians
function onset.clip(row)
  local low, high = math.min(row.base, row.window), math.max(row.base, row.window)
  for i, value in pairs(row.series) do
    row.series[i] = math.max(low, math.min(high, value))
  end
end

--- The sample at which a row began to differ: of all places the one at which the sum of the distances from the mean is
-- greatest (E. S. Page, "Continuous inspection schemes", 1954).
-- @tparam row row with `series`
-- @int first number of the first sample of the span
-- @int last and of the last one
-- @treturn int|nil the number of the sample that ends the first interval that is different; nil: it is not to be seen
function onset.find(row, first, last)
  local numbers, mean = {}, 0
  for i = first, last do
    if row.series[i] then
      numbers[#numbers + 1], mean = i, mean + row.series[i]
    end
  end
  mean = mean / #numbers
  local sum, greatest, best = 0, 0, nil
  for at = 1, #numbers - 1 do
    sum = sum + row.series[numbers[at]] - mean
    if math.abs(sum) > greatest then
      greatest, best = math.abs(sum), at
    end
  end
  return best and numbers[best + 1]
end

-- How alike two series run: the correlation of their figures, without sign; 0 where one stands still.
local function likeness(a, b, first, last)
  local n, sa, sb, saa, sbb, sab = 0, 0, 0, 0, 0, 0
  for i = first, last do
    local x, y = a[i], b[i]
    if x and y then
      n, sa, sb, saa, sbb, sab = n + 1, sa + x, sb + y, saa + x * x, sbb + y * y, sab + x * y
    end
  end
  local variances = (n * saa - sa * sa) * (n * sbb - sb * sb)
  return variances > 0 and math.abs(n * sab - sa * sb) / math.sqrt(variances) or 0
end

-- How alike rows are that belong together: those that seem to have begun at different times have to be more alike.
local ALIKE, ALIKE_APART = 0.7, 0.85

-- What a row is about: processes by their names, others with all their parts.
local function subject_of(row)
  if row.module == "process" then
    return "process " .. machine.process_name(row.kstat_name)
  end
  if row.module == "cpu" or row.kstat_name:find("^meminfo$") or row.kstat_name:find("^vm_?%l*$") then
    return row.module == "cpu" and "cpu" or "memory"
  end
  local module, name = row.module:gsub("^cgroup_%l+$", "cgroup"), row.kstat_name:gsub(",%l+$", "")
  return ("%s:%d:%s"):format(module, row.instance, name)
end

local function moves_with(row, leader, first, last)
  if row.is_cause and row.window > row.base then
    return false -- somebody else who uses more
  end
  local apart = row.onset and leader.onset and math.abs(row.onset - leader.onset)
  return apart and apart <= 1 or
    likeness(row.series, leader.series, first, last) >= (apart and ALIKE_APART or ALIKE)
end

--- Brings rows that move together into one: what is of one process or kstat, and what moved with it.
-- @tparam {row,...} rows in order of their weight, with `series` and `onset`
-- @int first number of the first sample of the span
-- @int last and of the last one
-- @treturn {row,...} those that lead, each with `others` ({row,...})
function onset.fold(rows, first, last)
  local leaders = {}
  for _, row in ipairs(rows) do
    local found
    row.subject = subject_of(row)
    for _, leader in ipairs(leaders) do
      if row.subject == leader.subject then
        found = leader
        break
      elseif not found and moves_with(row, leader, first, last) then
        found = leader
      end
    end
    if found then
      table.insert(found.others, row)
    else
      row.others = {}
      leaders[#leaders + 1] = row
    end
  end
  return leaders
end

--- The figures of a row in a span are what they were before: it began earlier.
-- @tparam row row with `series`, `base` and `window`, the medians
-- @int first number of the first sample
-- @int before number of the sample at which it seems to begin
-- @treturn boolean
function onset.earlier(row, first, before)
  local figures = {}
  for i = first, before - 1 do
    figures[#figures + 1] = row.series[i]
  end
  if #figures == 0 then
    return true
  end
  local median = ranks.median(figures)
  return math.abs(median - row.window) < math.abs(median - row.base)
end

return onset
