--- The text form of an aggregation:
--
--     [top N] reducer {, reducer} [by (key {, key})] [of expression] [over time]
--
-- `of` may also stand before `by`.
--
-- @module kstat.aggregate.grammar
local reducers = require("kstat.reducers")

local grammar = {}

local WORDS = {
  module = true, instance = true, name = true, class = true, statistic = true, publisher = true,
}

local pattern -- made when it is first needed

-- One thing of the text, checked: a failure leaves its reason and its place in the state.
local function checked(check)
  return function(_, at, from, ...)
    local state = select(select("#", ...), ...)
    local result, problem = check(...)
    if result ~= nil then
      return true, result
    elseif not state.problem then
      state.problem, state.at = problem, from
    end
    return at, false
  end
end

local function make_reducer(name, arguments)
  return reducers.make(name, arguments)
end

local function make_key(name)
  if WORDS[name] or name:find("^%$") then
    return name
  end
  return nil, ("there is no key '%s' (module, instance, name, class, statistic, publisher, $1, $name)"):format(name)
end

local function make_top(n)
  if n >= 1 and n % 1 == 0 then
    return n
  end
  return nil, "top takes a whole number above 0"
end

local function make_grammar()
  local lpeg = require("kstat.lpeg")
  local P, R, S, C, Cc, Cg, Cp, Ct, Cmt, Carg = lpeg.P, lpeg.R, lpeg.S, lpeg.C, lpeg.Cc, lpeg.Cg, lpeg.Cp,
    lpeg.Ct, lpeg.Cmt, lpeg.Carg

  -- Where parsing came furthest, and what was expected there.
  local function expect(what, wanted)
    return what + Cmt(Carg(1), function(_, at, state)
      if not state.problem and at >= state.at then
        state.at, state.expected = at, wanted
      end
      return false
    end)
  end

  local space = S(" \t\n") ^ 0
  local letter = R("az", "AZ") + "_"
  local digits = R("09") ^ 1
  local number = C(P("-") ^ -1 * (digits * (P(".") * digits) ^ -1 + P(".") * digits)) * space / tonumber
  local function word(text)
    return P(text) * -(letter + R("09")) * space
  end
  local function token(text)
    return P(text) * space
  end

  local name = C(letter * (letter + R("09")) ^ 0 * (P(".") * digits) ^ -1) * space
  local arguments = Ct(token("(") * (number * (token(",") * expect(number, "a number")) ^ 0) ^ -1 *
    expect(token(")"), "')'") + -P("("))
  local reducer = Cmt(Cp() * (name - word("top") - word("by") - word("of") - word("over")) * arguments * Carg(1),
    checked(make_reducer))
  local key = Cmt(Cp() * C(letter ^ 1 + P("$") * (digits + letter * (letter + R("09")) ^ 0)) * space * Carg(1),
    checked(make_key))
  local top = word("top") * Cg(expect(Cmt(Cp() * number * Carg(1), checked(make_top)), "a number"), "top")
  local a_reducer = expect(reducer, "a reducer (sum, avg, p99, …)")
  local list = Ct(a_reducer * (token(",") * a_reducer) ^ 0)
  local by = -lpeg.B(letter + R("09")) * word("by") * expect(token("("), "'('") *
    Ct(expect(key, "a key (module, name, …)") * (token(",") * expect(key, "a key (module, name, …)")) ^ 0) *
    expect(token(")"), "',' or ')'")
  local over = -lpeg.B(letter + R("09")) * word("over") * expect(word("time"), "'time'") * Cg(Cc(true), "over_time")
  local keys = Cg(by, "by")
  -- An expression goes to the end, or to where one of these begins.
  local last = space * (by + over + -1)
  local of = word("of") * Cg(expect(C((1 - last) ^ 1), "an expression"), "of") * space
  local sum = Cg(Cmt(Carg(1), function() return true, { reducers.make("sum", {}) } end), "reduce")
  return Ct(space * (top * (Cg(#(letter) * -word("by") * -word("of") * -word("over") * list, "reduce") + sum)
    + Cg(list, "reduce")) * (keys * of ^ -1 + of * keys ^ -1) ^ -1 * over ^ -1 *
    expect(P(-1), "',', by, of or the end"))
end

--- Reads the text.
-- @string text
-- @treturn[1] table `reduce` (array of reducers), `by`, `of`, `top`, `over_time`
-- @treturn[2] nil
-- @treturn[2] string what is wrong, with the position
function grammar.parse(text)
  pattern = pattern or make_grammar()
  local state = { at = 1, expected = "a reducer (sum, avg, p99, …)" }
  local found = pattern:match(text, 1, state)
  if state.problem then
    return nil, ("%s, at character %d of '%s'"):format(state.problem, state.at, text)
  elseif not found then
    return nil, ("%s expected at character %d of '%s'"):format(state.expected, state.at, text)
  end
  return found
end

return grammar
