-- The exact rank test of kstatlua diff, against counting all ways to choose.
local ranks = require("kstat.diff.ranks")

-- The sum of the ranks (equal figures share the mean of theirs) of the chosen figures, doubled.
local function doubled_sum(all, chosen)
  local sum = 0
  for i in pairs(chosen) do
    local below, equal = 0, 0
    for _, x in ipairs(all) do
      below, equal = below + (x < all[i] and 1 or 0), equal + (x == all[i] and 1 or 0)
    end
    sum = sum + 2 * below + equal + 1
  end
  return sum
end

-- Calls visit with each choice of n of the numbers from `from` to m.
local function choices(from, m, n, chosen, visit)
  if n == 0 then
    return visit(chosen)
  end
  for i = from, m - n + 1 do
    chosen[i] = true
    choices(i + 1, m, n - 1, chosen, visit)
    chosen[i] = nil
  end
end

local function counted(a, b)
  local all, first = {}, {}
  for i, x in ipairs(a) do
    all[i], first[i] = x, true
  end
  for i, x in ipairs(b) do
    all[#a + i] = x
  end
  local mean = #a * (#all + 1)
  local seen, as_far, ways = math.abs(doubled_sum(all, first) - mean), 0, 0
  choices(1, #all, #a, {}, function(chosen)
    ways = ways + 1
    as_far = as_far + (math.abs(doubled_sum(all, chosen) - mean) >= seen and 1 or 0)
  end)
  return as_far / ways
end

describe("the rank test", function()
  it("gives the probability that counting all ways to choose gives, also with equal figures", function()
    for _, sets in ipairs({
      { { 1, 2, 3, 4, 5 }, { 6, 7, 8, 9, 10 } }, { { 1, 3, 5 }, { 2, 4, 6, 8 } },
      { { 0, 0, 0, 1, 0 }, { 0, 1, 1, 2, 2 } },
      { { 5, 5, 5 }, { 5, 5, 5 } }, { { 2.5, -1, 7, 7 }, { 7, 2.5, 100, 3 } }, { { 9 }, { 1, 2, 3, 9, 9 } },
    }) do
      assert.near(counted(sets[1], sets[2]), ranks.probability(sets[1], sets[2]), 1e-12)
      assert.near(counted(sets[1], sets[2]), ranks.probability(sets[2], sets[1]), 1e-12)
    end
  end)

  it("says that ten figures above ten others are so by chance twice in 184,756 times", function()
    local a, b = {}, {}
    for i = 1, 10 do
      a[i], b[i] = i, i + 10
    end
    assert.near(2 / 184756, ranks.probability(a, b), 1e-15)
    assert.equal(1, ranks.probability(a, {}))
  end)

  it("calls those different of which a twentieth at most is expected to be so by chance", function()
    assert.equal(0.02, ranks.threshold({ 0.5, 0.001, 0.02, 0.9, 0.018 }, 0.05))
    assert.equal(0, ranks.threshold({ 0.04, 0.9, 0.5 }, 0.05))
    assert.equal(0, ranks.threshold({}, 0.05))
  end)

  it("has medians that an outlier does not move", function()
    assert.same({ 3, 2.5 }, { ranks.median({ 1000, 1, 3 }), ranks.median({ 4, 1, 3, 2 }) })
  end)
end)
