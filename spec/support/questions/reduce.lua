-- Reducers over lists of values, each { value =, time = }; those over nothing are nil, but for counts.
local exact = require("support.questions.exact")

local reduce = {}
local double, integer = exact.double, exact.integer

-- The values that are numbers, as doubles.
local function numbers(values)
  local list = {}
  for _, value in ipairs(values) do
    if type(value.value) ~= "string" then
      list[#list + 1] = double(value.value)
    end
  end
  return list
end

function reduce.sum(values)
  local sum
  for _, value in ipairs(values) do
    if type(value.value) ~= "string" then
      sum = exact.add(sum or integer(0), value.value)
    end
  end
  return sum
end

function reduce.count(values)
  return integer(#values)
end

function reduce.absent(values)
  return integer(#values == 0 and 1 or 0)
end

function reduce.avg(values)
  local sum = reduce.sum(values)
  return sum and double(sum) / #numbers(values)
end

local function extreme(values, is_better)
  local best
  for _, value in ipairs(values) do
    if type(value.value) ~= "string" and (not best or is_better(exact.compare(value.value, best))) then
      best = value.value
    end
  end
  return best
end

function reduce.min(values)
  return extreme(values, function(difference)
    return difference < 0
  end)
end

function reduce.max(values)
  return extreme(values, function(difference)
    return difference > 0
  end)
end

function reduce.stddev(values)
  local list, sum = numbers(values), 0
  local mean = reduce.avg(values)
  for _, value in ipairs(list) do
    sum = sum + (value - mean) ^ 2
  end
  return mean and (sum / #list) ^ 0.5
end

-- The value below which a share of the values lies: between two of them, in proportion.
local function quantile(values, share)
  local list = numbers(values)
  table.sort(list)
  local rank = share * (#list - 1)
  local below = math.floor(rank)
  local low, high = list[below + 1], list[math.min(below + 2, #list)]
  return low and low + (high - low) * (rank - below)
end

function reduce.median(values)
  return quantile(values, 0.5)
end

function reduce.p(values, percent)
  return quantile(values, percent / 100)
end

function reduce.share(values, limit)
  local list, below = numbers(values), 0
  for _, value in ipairs(list) do
    below = below + (value <= limit and 1 or 0)
  end
  return #list > 0 and below / #list or nil
end

function reduce.distinct(values)
  local seen, count = {}, 0
  for _, value in ipairs(values) do
    local text = type(value.value) == "string" and "t" .. value.value
      or exact.is_integer(value.value) and "n" .. exact.text(value.value) or ("n%.17g"):format(value.value)
    count, seen[text] = count + (seen[text] and 0 or 1), true
  end
  return #values > 0 and integer(count) or nil
end

-- The first or the last by time, of which samples come one after the other; of several the first or the last in order.
local function is_before(a, b)
  if a.tick ~= b.tick then
    return (a.tick or 0) < (b.tick or 0)
  end
  return a.time < b.time
end

function reduce.first(values)
  local best
  for _, value in ipairs(values) do
    if type(value.value) ~= "string" and (not best or is_before(value, best)) then
      best = value
    end
  end
  return best and best.value
end

function reduce.last(values)
  local best
  for _, value in ipairs(values) do
    if type(value.value) ~= "string" and (not best or not is_before(value, best)) then
      best = value
    end
  end
  return best and best.value
end

return reduce
