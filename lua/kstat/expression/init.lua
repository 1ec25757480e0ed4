--- The small language of report columns.
--
--     rate(nread) / 1024        100 * busy        hits / (hits + misses)        'Hard Errors'
--
-- Numbers; `+ - * / %`, parentheses and a leading minus, with the usual precedence; names; functions.
--
-- A name is, in this order, a field of the row, a statistic of the row's kstat as it is now, a header
-- field (module, instance, name, class, crtime, snaptime, elapsed: the seconds between the two
-- samples), or a figure of kstat.expression.derived. A statistic whose name is no word stands in single
-- quotes.
--
--     rate(e)      per second: every statistic in e as its change per second
--     delta(e)     the change between the samples; of a gauge its value now
--     boot(e)      the value now: what was counted since the kstat was created
--     abs(e) floor(e) sqrt(e)  min(e, …)  max(e, …)
--     if(c, a, b)  a if c is not 0, else b; the other one is not looked at
--     p99(e) p50(e) p99.9(e) median(e)  in a report: the percentile of e over the intervals so far, for each
--                  row's kstat. What was counted since creation is not among them, nor an interval in which
--                  e is missing; a service time is missing where nothing completed
--
-- What is missing makes the whole expression nil, and so does a division by zero; a report prints `-`.
--
-- @module kstat.expression
local derived = require("kstat.expression.derived")

local expression = {}

local STACK = 20000 -- of LPeg, which stops at 400: parentheses in some 3,000 levels

local HEADER = {
  module = true, instance = true, name = true, class = true, crtime = true, snaptime = true,
  elapsed = true,
}

-- How the kstat of a row gives a statistic in each mode.
local MODES = {
  boot = function(k, name) return k:now():get(name) end,
  delta = function(k, name) return k:get(name) end,
  rate = function(k, name) return k:rate(name) end,
}
local FUNCTION_OF = { boot = MODES.boot, delta = MODES.delta, rate = MODES.rate, seen = MODES.boot }

-- What the kstat of a row has under a name. mode "seen": as "boot", for a percentile.
local function of_kstat(k, name, mode)
  if not (HEADER[name] and (mode == "boot" or mode == "seen")) then
    local value = FUNCTION_OF[mode](k, name)
    if value ~= nil then
      return value
    end
  end
  if HEADER[name] then
    return k[name]
  end
  local figure = derived[name]
  if figure and k.type == "io" then
    return figure(k, mode == "seen")
  end
  return nil
end

local function value_of(row, name, mode)
  local meta = getmetatable(row)
  local field
  if meta and meta.figures then
    field = rawget(row, name) -- what else such a row has follows from its kstat, in this mode
  else
    field = row[name]
  end
  if field ~= nil then
    return field
  end
  local k = row.kstat
  return k and of_kstat(k, name, mode)
end

local OPERATORS = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
  ["/"] = function(a, b) return b ~= 0 and a / b or nil end,
  ["%"] = function(a, b) return b ~= 0 and a % b or nil end,
}

local function extreme(better)
  return function(first, ...)
    for i = 1, select("#", ...) do
      local v = select(i, ...)
      first = better(v, first) and v or first
    end
    return first
  end
end

-- Functions of numbers, and how many they take at least and at most.
local FUNCTIONS = {
  abs = { math.abs, 1, 1 },
  floor = { math.floor, 1, 1 },
  sqrt = { function(x) return x >= 0 and math.sqrt(x) or nil end, 1, 1 },
  min = { extreme(function(a, b) return a < b end), 1, 100 },
  max = { extreme(function(a, b) return a > b end), 1, 100 },
}

-- The line about a function that there is not.
local function no_function(name)
  local all = { ["if"] = true, median = true }
  for _, list in ipairs({ MODES, FUNCTIONS }) do
    for known in pairs(list) do
      all[known] = true
    end
  end
  return require("kstat.unknown").line("there is no function", name, all)
end

-- Every node of the tree becomes a function(row, mode) that gives a value or nil.
local function constant(v)
  return function() return v end
end

local names_of_this -- the names in the expression that is being compiled

local function named(name)
  names_of_this[#names_of_this + 1] = name
  return function(row, mode) return value_of(row, name, mode) end
end

local function negated(e)
  return function(row, mode)
    local v = tonumber(e(row, mode))
    return v and -v
  end
end

local function binary(left, operator, right)
  local apply = OPERATORS[operator]
  return function(row, mode)
    local a, b = tonumber(left(row, mode)), tonumber(right(row, mode))
    return a and b and apply(a, b)
  end
end

-- a - b - c is (a - b) - c.
local function chain(first, ...)
  for i = 1, select("#", ...), 2 do
    local operator, operand = select(i, ...)
    first = binary(first, operator, operand)
  end
  return first
end

local function in_mode(mode, e)
  return function(row) return e(row, mode) end
end

local function call(f, arguments)
  local unpack = table.unpack or unpack
  return function(row, mode)
    local values = {}
    for i, e in ipairs(arguments) do
      values[i] = tonumber(e(row, mode))
      if not values[i] then
        return nil
      end
    end
    return f(unpack(values, 1, #arguments))
  end
end

local function choice(condition, yes, no)
  return function(row, mode)
    local c = tonumber(condition(row, mode))
    if not c then
      return nil
    elseif c ~= 0 then
      return yes(row, mode)
    end
    return no(row, mode)
  end
end

-- A percentile over time. `run` belongs to the report, which counts `tick` up, says in `first` whether what the
-- tick shows was counted since creation, and empties `seen` when it starts.
local function over_time(title, reducer, e, run)
  local accumulator, mine = reducer.make(), {}
  return function(row)
    local k = row.kstat
    if not k then
      error(title .. "() follows the kstat of a row, and this row has none", 0)
    end
    local seen = run.seen[mine]
    if not seen then
      seen = {}
      run.seen[mine] = seen
    end
    local key = tostring(k)
    local state = seen[key]
    if not state then
      state = { data = accumulator.new() }
      seen[key] = state
    end
    if state.tick ~= run.tick and not run.first then
      state.tick = run.tick
      local v = tonumber(e(row, "seen"))
      if v and v == v and v ~= math.huge and v ~= -math.huge then
        state[1] = v
        accumulator.add(state.data, state, 1)
      end
    end
    return reducer.get(state.data)
  end
end

local grammar -- made when it is first needed

local function make_grammar()
  local lpeg = require("kstat.lpeg")
  lpeg.setmaxstack(STACK)
  local P, R, S, V, C, Cc, Cp, Ct, Cmt, Carg = lpeg.P, lpeg.R, lpeg.S, lpeg.V, lpeg.C, lpeg.Cc, lpeg.Cp, lpeg.Ct,
    lpeg.Cmt, lpeg.Carg

  -- Where parsing came furthest, and what was expected there, for the message.
  local function expect(pattern, what)
    return pattern + Cmt(Carg(1), function(_, at, state)
      if at > state.at then
        state.at, state.expected = at, what
      end
      return false
    end)
  end

  local space = S(" \t\n") ^ 0
  local function token(text)
    return P(text) * space
  end
  local digits = R("09") ^ 1
  local number = (digits * (P(".") * R("09") ^ 0) ^ -1 + P(".") * digits) * (S("eE") * S("+-") ^ -1 * digits) ^ -1
  local letter = R("az", "AZ") + "_"
  local word = C(letter * (letter + R("09")) ^ 0) * space
  local function_word = C(letter * (letter + R("09")) ^ 0 * (P(".") * digits) ^ -1) * space
  local quoted = P("'") * C((1 - P("'")) ^ 1) * expect(P("'"), "a closing quote") * space

  -- A function by name with its arguments, or a failure with the reason in the state.
  local function make_call(_, _, at, name, arguments, state)
    local n = #arguments
    local percentile = name:find("^p%d") or name == "median"
    if MODES[name] or percentile then
      local reducer, problem
      if n ~= 1 then
        problem = name .. "() takes one expression"
      elseif not percentile then
        return true, in_mode(name, arguments[1])
      elseif not state.run then
        problem = name .. "() is for the columns of a report"
      else
        reducer, problem = require("kstat.reducers").make(name, {})
      end
      if reducer then
        return true, over_time(name, reducer, arguments[1], state.run)
      end
      state.problem = problem
    elseif name == "if" then
      if n == 3 then
        return true, choice(arguments[1], arguments[2], arguments[3])
      end
      state.problem = ("if() takes 3 expressions, not %d"):format(n)
    elseif FUNCTIONS[name] then
      local f, least, most = FUNCTIONS[name][1], FUNCTIONS[name][2], FUNCTIONS[name][3]
      if n >= least and n <= most then
        return true, call(f, arguments)
      end
      state.problem = ("%s() takes %d expression%s, not %d"):format(name, least,
        least == 1 and "" or "s", n)
    else
      state.problem = no_function(name)
    end
    state.problem_at = at
    return false
  end

  -- LPeg nests captures in 200 levels at most, but not those that are evaluated while it matches.
  local function at_once(make)
    return function(_, _, e) return true, make(e) end
  end

  return P({
    space * V("sum") * expect(P(-1), "an operator or the end"),
    sum = V("product") * (C(S("+-")) * space * V("product")) ^ 0 / chain,
    product = V("factor") * (C(S("*/%")) * space * V("factor")) ^ 0 / chain,
    factor = Cmt(token("-") * V("factor"), at_once(negated))
      + C(number) * space / tonumber / constant
      + Cmt(Cp() * function_word * token("(") * Ct(V("sum") * (token(",") * V("sum")) ^ 0)
        * expect(token(")"), "')'") * Carg(1), make_call)
      + word * -P("(") / named
      + quoted / named
      + Cmt(token("(") * V("sum") * expect(token(")"), "')'"), at_once(function(e) return e end))
      + expect(Cc(false) * P(false), "a number, a name or '('"),
  })
end

--- Compiles an expression.
-- @string text
-- @tparam[opt] table run the state of the report whose column it is, for percentiles over time: `tick` (a number
-- for each tick), `first` (whether it shows what was counted since creation), `seen` (a table)
-- @treturn function(row): row is a table of fields, with the kstat of a difference as `kstat`;
-- gives a number, a string or nil
-- @treturn {string,...} the names in the expression
-- @treturn[2] nil
-- @treturn[2] string what is wrong, with the position
function expression.compile(text, run)
  local name = text:match("^%s*([%a_][%w_]*)%s*$")
  if name then
    -- Most columns; LPeg need not be loaded.
    return function(row) return value_of(row, name, "boot") end, { name }
  end
  names_of_this = {}
  grammar = grammar or make_grammar()
  local state = { at = 0, expected = "an expression", run = run }
  local ok, compiled = pcall(grammar.match, grammar, text, 1, state)
  if not ok then
    return nil, ("'%s%s' is nested too deeply"):format(text:sub(1, 40), #text > 40 and "…" or "")
  elseif not compiled then
    if state.problem then
      return nil, ("%s, at character %d of '%s'"):format(state.problem, state.problem_at, text)
    end
    return nil, ("%s expected at character %d of '%s'"):format(state.expected, math.max(1, state.at), text)
  end
  return function(row)
    return compiled(row, "boot")
  end, names_of_this
end

--- Whether a name is a field of every kstat, or a figure that follows from the statistics of this one.
-- @string name
-- @tparam kstat k
-- @treturn boolean
function expression.is_derived(name, k)
  return HEADER[name] or derived[name] ~= nil and k.type == "io"
end

--- The metatable of the rows of a report that have a kstat: `row.asvc_t` is what the expression `asvc_t` is, and
-- `row["rate(reads + writes)"]` what that is.
-- @tparam table run see compile()
-- @treturn table
function expression.row_meta(run)
  local compiled = {}
  return {
    figures = true,
    __index = function(row, name)
      if type(name) ~= "string" then
        return nil
      elseif name:find("^[%a_][%w_]*$") then
        local k = rawget(row, "kstat") -- a nil here would come back to this function
        return k and of_kstat(k, name, "boot")
      end
      local value = compiled[name]
      if not value then
        local message
        value, message = expression.compile(name, run)
        if not value then
          error(message, 2)
        end
        compiled[name] = value
      end
      return value(row)
    end,
  }
end

return expression
