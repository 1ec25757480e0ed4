-- Numbers that look random, the same in each Lua for a seed.
local random = {}
random.__index = random

function random.new(seed)
  local self = setmetatable({ state = (seed * 7919 + 12345) % 2147483646 + 1 }, random)
  for _ = 1, 5 do
    self:below(2)
  end
  return self
end

-- A whole number from 0 to limit - 1.
function random:below(limit)
  self.state = self.state * 16807 % 2147483647
  return math.floor(self.state / 2147483647 * limit)
end

function random:between(low, high)
  return low + self:below(high - low + 1)
end

-- Whether something happens that does so in so many of a hundred cases.
function random:chance(percent)
  return self:below(100) < percent
end

function random:one_of(list)
  return list[self:below(#list) + 1]
end

return random
