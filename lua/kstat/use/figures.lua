--- Figures of kstats over an interval, each nil if there is none. Captures may hold anything.
-- @module kstat.use.figures
local core = require("kstat.core")
local selector = require("kstat.read.selector")

local figures = {}

local unpack = table.unpack or unpack

local compiled = {} -- selectors, by their text

--- Kstats of a difference. Their selector is compiled once.
-- @tparam difference d
-- @string text a selector, or of what begins with "class " the class
-- @treturn {kstat,...} in the order of kstat(8)
function figures.select(d, text)
  local class = text:match("^class (.*)")
  compiled[text] = compiled[text] or assert(selector.compile(class and { class = class } or text))
  return d:select(compiled[text])
end

--- What is there now.
-- @tparam kstat|nil k of a difference
-- @string statistic
-- @string[opt="number"] kind of value that is wanted
-- @return the value; nil: there is none of that kind
function figures.now(k, statistic, kind)
  local value = k and core.levels(k, statistic)
  return type(value) == (kind or "number") and value or nil
end

--- Several numbers as they are now.
-- @tparam kstat k of a difference
-- @param ... the names of statistics
-- @return each number; nil: there is none
function figures.levels(k, ...)
  local values = { core.levels(k, ...) }
  for i = 1, select("#", ...) do
    values[i] = type(values[i]) == "number" and values[i] or nil
  end
  return unpack(values, 1, select("#", ...))
end

--- What was counted in the interval.
-- @tparam kstat|nil k of a difference
-- @param ... the names of statistics
-- @treturn number|nil the sum of those that there are
function figures.count(k, ...)
  local sum, values = nil, k and { k:get(...) } or {}
  for i = 1, k and select("#", ...) or 0 do
    local n = values[i]
    sum = type(n) == "number" and (sum or 0) + math.max(n, 0) or sum
  end
  return sum
end

--- What was counted in the interval, of several kstats.
-- @tparam {kstat,...} list
-- @param ... the names of statistics
-- @treturn number|nil
function figures.sum_of(list, ...)
  local sum
  for _, k in ipairs(list) do
    local n = figures.count(k, ...)
    sum = n and (sum or 0) + n or sum
  end
  return sum
end

--- The one of several, kstats or tables, of which a figure is largest; of equals the first.
-- @tparam {kstat|table,...} list
-- @func figure function(k) that returns a number or nil
-- @treturn number|nil the figure; nil: none has it
-- @treturn kstat|table|nil
function figures.most(list, figure)
  local most, of
  for _, k in ipairs(list) do
    local n = figure(k)
    if n and (not most or n > most) then
      most, of = n, k
    end
  end
  return most, of
end

--- What was counted, per second.
-- @tparam kstat|nil k of a difference
-- @param ... the names of statistics
-- @treturn number|nil
function figures.per_second(k, ...)
  local n = figures.count(k, ...)
  return n and k.elapsed and k.elapsed > 0 and n / k.elapsed or nil
end

--- A share in percent.
-- @tparam number|nil part
-- @tparam number|nil of
-- @treturn number|nil nil also where `of` is 0
function figures.percent(part, of)
  return part and of and of > 0 and 100 * part / of or nil
end

--- The share of the interval that counters of nanoseconds say. Captures do not know their unit, so rate() is no help.
-- @tparam kstat|nil k of a difference
-- @param ... the names of statistics
-- @treturn number|nil percent
function figures.share(k, ...)
  local n = figures.per_second(k, ...)
  return n and math.min(n / 1e7, 100)
end

--- What a gauge was at both ends of an interval at least: what is there for a moment does not count.
-- @tparam difference d
-- @tparam sample|nil prev the earlier sample; nil: only the end is known
-- @tparam table path module, instance and name of the kstat
-- @string statistic
-- @treturn number|nil
function figures.lasting(d, prev, path, statistic)
  local at_end = figures.now(d:lookup(unpack(path)), statistic)
  local before = prev and prev:lookup(unpack(path))
  local at_begin = before and before:get(statistic)
  return at_end and type(at_begin) == "number" and math.min(at_begin, at_end) or at_end
end

return figures
