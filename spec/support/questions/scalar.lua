-- Arithmetic, comparisons and logic of values, any of which may be missing (nil).
local exact = require("support.questions.exact")

local scalar = {}
local double, integer = exact.double, exact.integer

local function finite(value)
  return exact.is_integer(value) and value or (value - value == 0 and value or nil)
end

function scalar.divide(a, b)
  if exact.compare(b, 0) == 0 then
    return nil
  end
  return double(a) / double(b)
end

function scalar.is_true(value)
  return type(value) == "string" or exact.compare(value, 0) ~= 0
end

local function truth(condition)
  return integer(condition and 1 or 0)
end

-- Numbers alone; what is no number afterwards is missing.
local function of_numbers(compute)
  return function(a, b)
    if type(a) == "string" or type(b) == "string" then
      return nil
    end
    local value = compute(a, b)
    return value and finite(value)
  end
end

local function comparison(holds)
  return function(a, b)
    if type(a) == "string" or type(b) == "string" then
      return nil
    end
    return truth(holds(exact.compare(a, b)))
  end
end

local function are_equal(a, b)
  if type(a) == "string" or type(b) == "string" then
    return a == b
  end
  return exact.compare(a, b) == 0
end

local operators = {
  ["+"] = of_numbers(exact.add),
  ["-"] = of_numbers(exact.subtract),
  ["*"] = of_numbers(exact.multiply),
  ["/"] = of_numbers(scalar.divide),
  ["%"] = of_numbers(function(a, b)
    return double(a) - math.floor(double(a) / double(b)) * double(b)
  end),
  min = of_numbers(function(a, b)
    return exact.compare(a, b) <= 0 and a or b
  end),
  max = of_numbers(function(a, b)
    return exact.compare(a, b) >= 0 and a or b
  end),
  abs = of_numbers(function(a)
    return exact.compare(a, 0) < 0 and exact.negate(a) or a
  end),
  negate = of_numbers(exact.negate),
  floor = of_numbers(function(a)
    return exact.is_integer(a) and a or math.floor(a) + 0.0
  end),
  sqrt = of_numbers(function(a)
    return double(a) ^ 0.5
  end),
  log = of_numbers(function(a)
    return double(a) > 0 and math.log(double(a)) or nil
  end),
  exp = of_numbers(function(a)
    return math.exp(double(a))
  end),
  round = of_numbers(function(a, to)
    return math.floor(double(a) / double(to) + 0.5) * double(to)
  end),
  [">"] = comparison(function(difference)
    return difference > 0
  end),
  ["<"] = comparison(function(difference)
    return difference < 0
  end),
  [">="] = comparison(function(difference)
    return difference >= 0
  end),
  ["<="] = comparison(function(difference)
    return difference <= 0
  end),
  ["=="] = function(a, b)
    return truth(are_equal(a, b))
  end,
  ["!="] = function(a, b)
    return truth(not are_equal(a, b))
  end,
}

local UNARY = { abs = true, negate = true, floor = true, sqrt = true, log = true, exp = true, ["not"] = true }

-- What is known decides: 0 and nothing is 0, 1 or nothing is 1.
local function both(a, b)
  if (a ~= nil and not scalar.is_true(a)) or (b ~= nil and not scalar.is_true(b)) then
    return truth(false)
  end
  return a ~= nil and b ~= nil and truth(true) or nil
end

local function either(a, b)
  if (a ~= nil and scalar.is_true(a)) or (b ~= nil and scalar.is_true(b)) then
    return truth(true)
  end
  return a ~= nil and b ~= nil and truth(false) or nil
end

-- The value of an operator or a function.
function scalar.call(operator, a, b)
  if operator == "and" then
    return both(a, b)
  elseif operator == "or" then
    return either(a, b)
  elseif a == nil or (b == nil and not UNARY[operator]) then
    return nil
  elseif operator == "not" then
    return truth(not scalar.is_true(a))
  end
  return operators[operator](a, b)
end

return scalar
