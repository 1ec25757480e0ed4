--- Compares two spans of time: which statistics differ, since when, and what happened besides.
-- @module kstat.diff.comparison
-- SPDX-License-Identifier: MIT
local blocks = require("kstat.diff.blocks")
local machine = require("kstat.diff.machine")
local news = require("kstat.diff.news")
local onset = require("kstat.diff.onset")
local ranks = require("kstat.diff.ranks")
local running = require("kstat.base.running")

local comparison = {}

local LEAST_BLOCKS = 2
local TOLD_BLOCKS = 5 -- with fewer of each no difference is significant
local CHANGE = 0.2 -- of the greater figure
local DISCOVERY = 0.05 -- the share of false discoveries

local unpack = table.unpack or unpack

-- Whether all figures of both spans are equal.
local function stands_still(before, now)
  return math.min(math.min(unpack(before)), unpack(now)) == math.max(math.max(unpack(before)), unpack(now))
end

-- The figure that stands for a span: what somebody used is what all of it was; what is held in bytes is what was held
-- in the end, because it grows; of the rest the median.
local function figure_of(row, series, is_window)
  if row.is_cause and row.counter then
    local sum = 0
    for i = 1, #series do
      sum = sum + series[i]
    end
    return sum / #series
  elseif is_window and row.unit == "bytes" and not row.counter then
    return series[#series]
  end
  return ranks.median(series)
end

-- The figures of a row in both spans. Who was not there used nothing; others are not compared.
local function both(name, base, window)
  local before, now = base.figures[name], window.figures[name]
  local row = (now or before).row
  row.is_absent = not before
  if row.is_cause then
    before, now = before or {}, now or {}
    blocks.fill(before, row, base.done)
    blocks.fill(now, row, window.done)
  end
  -- What the recorder says of itself only grows; the state of a process, such as the number of its CPU, is a matter of
  -- the moment; means of minutes say late what others say at once.
  local state = row.module == "process" and row.unit == "" and not row.counter
  local is_mean = row.statistic:find("_avg%d+$") or row.statistic:find("^avenrun")
  if before and now and not (state or is_mean) and row.module ~= "kstat_record" then
    return before, now, row
  end
  return nil
end

local RESOURCE, EFFECT = 0.5, 0.25
local LEAST = 0.005 -- of the machine: less is not worth a line
local NEW = 0.01 -- of the machine: who was not there before and uses as much is no matter of chance
local LEADS = 0.1 -- of the machine: who uses as much more stands before all that may only be the effect of it
local SERVICE = 0.01 -- what a service counts comes before
local OTHER = 0.001 -- what is no share of the machine comes behind all that is

-- What a difference is to the machine: the share of all that there is; of somebody who uses it more than of what is
-- used, and of that more than of those who wait for it. Who uses less suffers.
local function weigh(row)
  local size, greatest = math.abs(row.window - row.base), math.max(math.abs(row.base), math.abs(row.window))
  row.change, row.is_share = size / greatest, row.is_derived or row.class == "pressure" and row.counter
  if row.is_derived then
    local factor = row.window < row.base and row.unit ~= "%" and EFFECT or row.factor or RESOURCE
    return math.min(row.all and size / row.all or 0, 1) * (row.busy or 1) * factor
  elseif row.is_share or row.distribution then
    return EFFECT * (row.is_share and size or row.change)
  elseif row.statistic == "link_state" or row.statistic == "admin_state" then
    return RESOURCE
  end
  row.is_other = not row.publisher
  return (row.publisher and SERVICE or OTHER) * row.change
end

-- The rows that differ enough, with `base`, `window`, `p` and `weight`; how many were compared; and whether any could
-- be told from chance. What stands still is no test: it cannot differ by chance, and would hide others among many
-- (R. E. Tarone, "A modified Bonferroni method for discrete data", 1990).
local function rows_of(base, window)
  local names, rows, tests, compared = {}, {}, { {}, {} }, 0
  for _, span in ipairs({ base, window }) do
    for name in pairs(span.figures) do
      names[name] = true
    end
  end
  for name in pairs(names) do
    local before, now, row = both(name, base, window)
    if row and #before >= LEAST_BLOCKS and #now >= LEAST_BLOCKS then
      compared = compared + 1
      if not stands_still(before, now) then
        row.base, row.window, row.p = figure_of(row, before, false), figure_of(row, now, true), 1
        row.tests = tests[row.is_derived and 1 or 2]
        if math.abs(row.window - row.base) > CHANGE * math.max(math.abs(row.base), math.abs(row.window)) then
          row.p, row.weight = ranks.probability(before, now), weigh(row)
          rows[#rows + 1] = row
        end
        row.tests[#row.tests + 1] = row.p
      end
    end
  end
  return rows, tests, compared
end

-- Whether somebody uses so much more that the rest may be the effect of it.
local function leads(row)
  return row.is_cause and row.window > row.base and row.weight >= LEADS or false
end

local function heavier(a, b)
  if leads(a) ~= leads(b) then
    return leads(a)
  elseif a.weight ~= b.weight then
    return a.weight > b.weight
  elseif a.change ~= b.change then
    return a.change > b.change
  end
  return a.name < b.name
end

-- Those of them whose difference is significant, the heaviest first; all, if nothing can be told from chance. Who began
-- since the base did is no matter of chance.
local function significant(rows, tests, is_told, lives, since)
  local limits, list = {}, {}
  for _, family in ipairs(tests) do
    limits[family] = is_told and ranks.threshold(family, DISCOVERY) or 1
  end
  for _, row in ipairs(rows) do
    local life = row.is_cause and lives[row.kstat_name]
    local is_new = row.is_cause and row.weight >= NEW and (row.is_absent or life and life.first >= since)
    local is_small = row.is_share and row.weight < LEAST
    list[#list + 1] = (row.p <= limits[row.tests] or is_new) and not is_small and row or nil
  end
  table.sort(list, heavier)
  return list
end

-- Walks the samples around the window, and learns when each thing happened.
local function look_closer(what, rows, changed)
  local is_before = not what.open_base and what.base[1] < what.window[1]
  local first = what.open_base and 1 or math.max(is_before and what.base[1] or 1, 2 * what.window[1] - what.window[2])
  local record, watch_texts = onset.recorder(rows), news.text_watcher(changed)
  local usual, watch_base, before = news.watcher(what.selectors)
  local ks = what.open_base and what.open_base()
  if ks then
    blocks.walk(ks, function(i, ...) watch_base(ks, i, false, ...) end)
  end
  local things, watch = news.watcher(what.selectors, what.open_base and before)
  ks = what.open()
  blocks.walk(ks, function(i, ...)
    if i >= first and i <= what.window[2] then
      record(ks, i)
      watch_texts(ks, i)
      watch(ks, i, what.cuts[i] == "boot", ...)
    end
  end)
  for _, row in ipairs(rows) do
    onset.clip(row)
    local at = onset.find(row, first, what.window[2])
    row.onset = at and not onset.earlier(row, first, at) and at or nil
  end
  return onset.fold(rows, first, what.window[2]), things, usual
end

-- Adds to those who use something when they began, if it was since the base did.
local function add_lives(leaders, lines, lives, since)
  local events = {}
  for _, line in ipairs(lines) do
    local name = line.process and machine.process_name(line.process) or ""
    events[name] = events[name] or line
  end
  for _, row in ipairs(leaders) do
    local event = row.is_cause and events[row.kstat_name]
    row.life = row.is_cause and lives[row.kstat_name]
    if event and (row.is_absent or event.what ~= "came") then
      row.event, event.is_told, row.onset = event, true, event.at
    elseif row.life and row.life.first >= since then
      row.since = row.life.first
    end
  end
end

-- What a distribution was in a span.
local function summary(one)
  local p50, p99 = one.all:quantile(0.5, 0.99)
  return { count = one.elapsed > 0 and one.all.count / one.elapsed or nil, p50 = p50 and p50 * (one.scale or 1),
    p99 = p99 and p99 * (one.scale or 1), unit = one.unit }
end

--- Compares; ends the command where that cannot be.
-- @tparam table what `open` (function() that opens the replay anew), `times` ({number,...} of its samples) and `cuts`
-- (see kstat.diff.blocks), `window` ({int,int}: its first and last sample), `base` ({int,int}), `base_times`,
-- `base_cuts`, `selectors`, `status` if there is too little; and where the base is another replay `open_base`
-- @treturn table `rows` (number of statistics that are in both), `different`, `leaders` (see kstat.diff.onset),
-- `changed` and `news` (see kstat.diff.news), `times`, `base_times`, `window`, `base`, `cuts`; `is_told`: differences
-- could be told from chance
function comparison.compare(what)
  local base_list, window_list = blocks.of(what.base, what.window, what.base_cuts, what.cuts)
  for i, list in ipairs({ base_list, window_list }) do
    if #list < LEAST_BLOCKS then
      running.stop(what.status, ("of the %s %d intervals can be compared; at least %d are needed: give a longer one")
        :format(i == 1 and "base" or "window", #list, LEAST_BLOCKS))
    end
  end
  local base, window = blocks.span(base_list), blocks.span(window_list)
  local before, now, lives = {}, {}, {}
  local function keep(into)
    return function(sample)
      lives = machine.lives(sample, what.times[what.window[2]])
      for name, text in pairs(news.texts(sample, what.selectors)) do
        into[name] = text
      end
    end
  end
  local at_base, at_window = { [what.base[2]] = keep(before) }, { [what.window[2]] = keep(now) }
  if what.open_base then
    blocks.read(what.open_base(), { base }, what.selectors, at_base)
    blocks.read(what.open(), { window }, what.selectors, at_window)
  else
    at_base[what.window[2]] = at_window[what.window[2]]
    blocks.read(what.open(), { base, window }, what.selectors, at_base)
  end
  local is_told = #base_list >= TOLD_BLOCKS and #window_list >= TOLD_BLOCKS
  local since = what.base_times[what.base[1]]
  for i = 1, what.window[2] do
    since = what.cuts[i] == "boot" and math.huge or since -- all began with it
  end
  local rows, tests, compared = rows_of(base, window)
  local different, changed = significant(rows, tests, is_told, lives, since), news.changed(before, now)
  local leaders, things, usual = look_closer(what, different, changed)
  local lines = news.lines(things, what.open_base and 0 or math.min(what.base[2], what.window[1]), usual)
  add_lives(leaders, lines, lives, since)
  for _, row in ipairs(different) do
    if row.distribution then
      row.summaries = { summary(base.distributions[row.distribution]), summary(window.distributions[row.distribution]) }
    end
  end
  return { rows = compared, different = #different, leaders = leaders, changed = changed, news = lines,
    is_told = is_told, blocks = { #base_list, #window_list }, cuts = what.cuts,
    times = what.times, base_times = what.base_times, window = what.window, base = what.base }
end

return comparison
