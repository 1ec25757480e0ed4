-- Numbers as the language of questions has them, in any Lua: a double is a number, and an integer a sum of two doubles,
-- which holds all of int64 and uint64, their sums and their products.
local exact = {}

local LEAST, BEYOND = -2 ^ 63, 2 ^ 64

local function two_sum(a, b)
  local sum = a + b
  local part = sum - a
  return sum, (a - (sum - part)) + (b - part)
end

local function split(a)
  local c = 134217729 * a
  local high = c - (c - a)
  return high, a - high
end

local function two_product(a, b)
  local product = a * b
  local a1, a2 = split(a)
  local b1, b2 = split(b)
  return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
end

-- The integer high + low if int64 or uint64 holds it, else the nearest double.
local function integer(high, low)
  high, low = two_sum(high + 0.0, (low or 0) + 0.0)
  local fits = (high > LEAST or (high == LEAST and low >= 0)) and (high < BEYOND or (high == BEYOND and low < 0))
  if fits then
    return { high = high, low = low }
  end
  return high
end
exact.integer = integer

local function is_integer(a)
  return type(a) == "table"
end
exact.is_integer = is_integer

-- The nearest double.
function exact.double(a)
  return is_integer(a) and a.high or a
end
local double = exact.double

function exact.add(a, b)
  if is_integer(a) and is_integer(b) then
    local sum, rest = two_sum(a.high, b.high)
    return integer(sum, rest + (a.low + b.low))
  end
  return double(a) + double(b)
end

function exact.negate(a)
  if is_integer(a) then
    return integer(-a.high, -a.low)
  end
  return -a
end

function exact.subtract(a, b)
  if is_integer(a) and is_integer(b) then
    local sum, rest = two_sum(a.high, -b.high)
    return integer(sum, rest + (a.low - b.low))
  end
  return double(a) - double(b)
end

function exact.multiply(a, b)
  if is_integer(a) and is_integer(b) then
    local product, rest = two_product(a.high, b.high)
    return integer(product, rest + (a.high * b.low + a.low * b.high))
  end
  return double(a) * double(b)
end

-- Below, at, or above 0 as a is less than, equal to, or greater than b.
function exact.compare(a, b)
  local high = double(a) - double(b)
  if high ~= 0 then
    return high
  end
  return (is_integer(a) and a.low or 0) - (is_integer(b) and b.low or 0)
end

-- The digits of an integer, as JSON has them; of a double, enough of them for a multiple of 1/16, and a point.
function exact.text(a)
  if not is_integer(a) then
    return ("%.4f"):format(a)
  end
  local sign = a.high < 0 and "-" or ""
  local rest = a.high < 0 and exact.negate(a) or a
  local upper = math.floor(rest.high / 1e10)
  local lower = exact.double(exact.subtract(rest, exact.multiply(integer(upper), integer(1e10))))
  if lower < 0 then
    upper, lower = upper - 1, lower + 1e10
  end
  return sign .. (upper > 0 and ("%.0f%010.0f"):format(upper, lower) or ("%.0f"):format(lower))
end

return exact
