--- Whether two sets of figures differ by more than chance: the Mann-Whitney test, exact, and the false discovery
-- rate over many tests.
--
-- Sources: H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is stochastically larger
-- than the other", 1947; Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", 1995.
-- @module kstat.diff.ranks
-- SPDX-License-Identifier: MIT
local ranks = {}

-- The ranks of the figures of both sets in ascending order, doubled: equal figures share the mean of their ranks,
-- which may end in a half. The figures of the first set have theirs added up.
local function ranked(a, b)
  local all = {}
  for i = 1, #a do
    all[i] = { a[i], true }
  end
  for i = 1, #b do
    all[#a + i] = { b[i], false }
  end
  table.sort(all, function(x, y) return x[1] < y[1] end)
  local doubled, sum, i = {}, 0, 1
  while i <= #all do
    local last = i
    while all[last + 1] and all[last + 1][1] == all[i][1] do
      last = last + 1
    end
    for j = i, last do
      doubled[j] = i + last
      sum = sum + (all[j][2] and i + last or 0)
    end
    i = last + 1
  end
  return doubled, sum
end

-- In how many ways n of the ranks add up to each sum: ways[sum].
local function ways_of(doubled, n)
  local ways = { [0] = { [0] = 1 } }
  for k = 1, n do
    ways[k] = {}
  end
  for i = 1, #doubled do
    for k = math.min(i, n), 1, -1 do
      local to = ways[k]
      for sum, count in pairs(ways[k - 1]) do
        to[sum + doubled[i]] = (to[sum + doubled[i]] or 0) + count
      end
    end
  end
  return ways[n]
end

local tails = {} -- by the sizes and the ranks: by distance from the mean, the probability to be as far or farther

local function tail_of(doubled, n)
  local key = n .. ":" .. table.concat(doubled, " ")
  local tail = tails[key]
  if not tail then
    local mean, total, distances, at = n * (#doubled + 1), 0, {}, {}
    for sum, count in pairs(ways_of(doubled, n)) do
      local distance = math.abs(sum - mean)
      if not at[distance] then
        distances[#distances + 1] = distance
      end
      at[distance] = (at[distance] or 0) + count
      total = total + count
    end
    table.sort(distances, function(x, y) return x > y end)
    local above = 0
    tail = {}
    for _, distance in ipairs(distances) do
      above = above + at[distance]
      tail[distance] = above / total
    end
    tails[key] = tail
  end
  return tail, n * (#doubled + 1)
end

--- The probability that two sets of figures from one source differ as much as these or more: the two-sided
-- Mann-Whitney test, exact also where figures are equal.
-- @tparam {number,...} a
-- @tparam {number,...} b
-- @treturn number 0 to 1; 1 if one of them is empty
function ranks.probability(a, b)
  if #a == 0 or #b == 0 then
    return 1
  end
  local doubled, sum = ranked(a, b)
  local tail, mean = tail_of(doubled, #a)
  return tail[math.abs(sum - mean)]
end

--- The greatest probability that still counts as a difference, so that of all that are called different at most a
-- share is expected to be so by chance.
-- @tparam {number,...} probabilities of all tests; sorted by this
-- @number share such as 0.05
-- @treturn number 0: none counts
function ranks.threshold(probabilities, share)
  table.sort(probabilities)
  for k = #probabilities, 1, -1 do
    if probabilities[k] <= share * k / #probabilities then
      return probabilities[k]
    end
  end
  return 0
end

--- The median.
-- @tparam {number,...} figures at least one
-- @treturn number
function ranks.median(figures)
  local sorted = {}
  for i = 1, #figures do
    sorted[i] = figures[i]
  end
  table.sort(sorted)
  local n = #sorted
  return (sorted[math.floor((n + 1) / 2)] + sorted[math.floor(n / 2) + 1]) / 2
end

return ranks
