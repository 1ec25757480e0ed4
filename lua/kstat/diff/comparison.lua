--- Compares two spans of time: which statistics differ, since when, and what happened besides.
--
-- @module kstat.diff.comparison
-- SPDX-License-Identifier: MIT
local blocks = require("kstat.diff.blocks")
local news = require("kstat.diff.news")
local onset = require("kstat.diff.onset")
local ranks = require("kstat.diff.ranks")

local comparison = {}

local LEAST_BLOCKS = 5 -- with fewer of each nothing is significant
local CHANGE = 0.2 -- of the greater median
local DISCOVERY = 0.05 -- the share of false discoveries
local SPREAD = 0.05 -- of the greater median: nothing is held to spread less

-- Whether all figures of both spans are equal.
local function stands_still(before, now)
  for _, list in ipairs({ before, now }) do
    for i = 1, #list do
      if list[i] ~= before[1] then
        return false
      end
    end
  end
  return true
end

-- The rows that are on both sides, with `base` and `window`, their medians, `p` and `weight`; the probabilities of all
-- that were tested, and how many rows were compared. What stands still is no test: it cannot differ by chance, and
-- would hide others among many (R. E. Tarone, "A modified Bonferroni method for discrete data", 1990).
local function rows_of(base, window)
  local rows, probabilities, compared = {}, {}, 0
  for name, now in pairs(window) do
    local before = now.row.module ~= "kstat_record" and base[name] -- what the recorder says of itself only grows
    -- The state of a process, such as the number of its CPU, is a matter of the moment.
    local state = now.row.module == "process" and now.row.unit == "" and not now.row.counter
    local both = before and not state and #before >= LEAST_BLOCKS and #now >= LEAST_BLOCKS
    compared = compared + (both and 1 or 0)
    if both and not stands_still(before, now) then
      local row = now.row
      row.base, row.window = ranks.median(before), ranks.median(now)
      local size, greatest = math.abs(row.window - row.base), math.max(math.abs(row.base), math.abs(row.window))
      row.p = 1
      if size > CHANGE * greatest then
        row.p = ranks.probability(before, now)
        row.weight = size / math.max(ranks.spread(before), ranks.spread(now), SPREAD * greatest)
        rows[#rows + 1] = row
      end
      probabilities[#probabilities + 1] = row.p
    end
  end
  return rows, probabilities, compared
end

-- What a person asks about first: of rows that differ about as much, these classes and units come before others.
local CLASSES = {}
for i, class in ipairs({ "disk", "net", "fs", "gpu", "pressure", "process_io", "process", "cgroup", "misc" }) do
  CLASSES[class] = i
end

local function place(row)
  return row.publisher and 0 or CLASSES[row.class] or 99
end

-- Bytes before shares of time, and these before other counts.
local function measure(row)
  return row.unit == "bytes" and 1 or row.unit == "s" and 2 or 3
end

local function heavier(a, b)
  local x, y = math.floor(math.log(a.weight) / math.log(4)), math.floor(math.log(b.weight) / math.log(4))
  if x ~= y then
    return x > y
  elseif place(a) ~= place(b) then
    return place(a) < place(b)
  end
  if measure(a) ~= measure(b) then
    return measure(a) < measure(b)
  elseif a.weight ~= b.weight then
    return a.weight > b.weight
  end
  return a.name < b.name
end

-- Those of them whose difference is significant, the heaviest first.
local function significant(rows, probabilities)
  local limit, list = ranks.threshold(probabilities, DISCOVERY), {}
  for _, row in ipairs(rows) do
    list[#list + 1] = row.p <= limit and row or nil
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
  local ok, message = true, nil
  if ks then
    ok, message = blocks.walk(ks, function(...) watch_base(ks, ...) end)
  end
  if not ok then
    return nil, message
  end
  local things, watch = news.watcher(what.selectors, what.open_base and before)
  ks = what.open()
  ok, message = blocks.walk(ks, function(i, ...)
    if i >= first and i <= what.window[2] then
      record(ks, i)
      watch_texts(ks, i)
      watch(ks, i, ...)
    end
  end)
  if not ok then
    return nil, message
  end
  for _, row in ipairs(rows) do
    onset.clip(row)
    local at = onset.find(row, first, what.window[2])
    row.onset = at and not onset.earlier(row, first, at) and at or nil
  end
  return onset.fold(rows, first, what.window[2]), things, usual
end

--- Compares.
-- @tparam table what `open` (function() that opens the replay anew), `times` ({number,...} of its samples), `window`
-- ({int,int}: its first and last sample), `base` ({int,int}), `base_times`, `selectors`; and where the base is another
-- replay `open_base`
-- @treturn[1] table `rows` (number of statistics that are in both), `different`, `leaders` (see kstat.diff.onset),
-- `changed` and `news` (see kstat.diff.news), `times`, `base_times`, `window`, `base`
-- @treturn[2] nil
-- @treturn[2] string what is wrong
-- @treturn[2] int the exit status
function comparison.compare(what)
  local base_list, window_list = blocks.of(what.base, what.window)
  if #base_list < LEAST_BLOCKS or #window_list < LEAST_BLOCKS then
    local short = #base_list < LEAST_BLOCKS and "base" or "window"
    return nil, ("the %s has %d intervals; at least %d are needed to tell a difference from chance: give a longer " ..
      "one"):format(short, what[short][2] - what[short][1], LEAST_BLOCKS), 1
  end
  local base, window = { list = base_list, figures = {} }, { list = window_list, figures = {} }
  local before, now = {}, {}
  local function keep(into)
    return function(sample)
      for name, text in pairs(news.texts(sample, what.selectors)) do
        into[name] = text
      end
    end
  end
  local at_base, at_window = { [what.base[2]] = keep(before) }, { [what.window[2]] = keep(now) }
  local ok, message
  if what.open_base then
    ok, message = blocks.read(what.open_base(), { base }, what.selectors, at_base)
    if ok then
      ok, message = blocks.read(what.open(), { window }, what.selectors, at_window)
    end
  else
    at_base[what.window[2]] = at_window[what.window[2]]
    ok, message = blocks.read(what.open(), { base, window }, what.selectors, at_base)
  end
  if not ok then
    return nil, message, 3
  end
  local rows, probabilities, compared = rows_of(base.figures, window.figures)
  local different, changed = significant(rows, probabilities), news.changed(before, now)
  local leaders, things, usual = look_closer(what, different, changed)
  if not leaders then
    return nil, things, 3
  end
  return { rows = compared, different = #different, leaders = leaders, changed = changed,
    news = news.lines(things, what.open_base and 0 or math.min(what.base[2], what.window[1]), usual),
    times = what.times, base_times = what.base_times, window = what.window, base = what.base }
end

return comparison
