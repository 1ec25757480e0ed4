--- The grammar of expressions, and of the questions that are asked with them.
--
--     [top N | bottom N [and rest]] item {, item} [by (key {, key})] [of expression] [where expression] [over time]
--
-- The clauses may stand in any order, `over time` last. Text becomes trees, which kstat.expression makes functions of.
-- A tree is a table with its kind in `tag`, its place in `at`, and
--
--     number, text, name, regex    `value`             duration    `value`, in seconds
--     call        `name` and `arguments`: trees; an argument `*` has the tag "all"
--     unary       `operator` ("-" or "not") and [1]    binary      `operator`, [1] and [2]
--     over all    [1]                                  ago         [1] and `value`, in seconds
--     reducer     `value`: a word alone, of an item, whose expression stands behind `of`
--
-- Items, arguments and what follows `of` and `where` have the range of their text in `from` and `to` (just behind it).
--
-- @module kstat.expression.grammar
local grammar = {}

local STACK = 20000 -- of LPeg, which stops at 400: parentheses in some 3,000 levels
local SECONDS = { ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1, m = 60, h = 3600, d = 86400 }
local MOST_SECONDS = 30 * 366 * 86400

--- The words of the grammar, as keys.
grammar.WORDS = { top = true, bottom = true, by = true, of = true, where = true, over = true, all = true, time = true,
  ago = true, ["and"] = true, ["or"] = true, ["not"] = true }

local patterns = {} -- by what is read, made when first needed

-- a - b - c is (a - b) - c.
local function chain(first, ...)
  for i = 1, select("#", ...), 3 do
    local at, operator, operand = select(i, ...)
    first = { tag = "binary", at = at, operator = operator, first, operand }
  end
  return first
end

local function negated(at, operator, e)
  if operator == "-" and e.tag == "number" then
    return { tag = "number", at = at, value = -e.value }
  end
  return { tag = "unary", at = at, operator = operator, e }
end

-- What stands behind an operand: "over all", or a time ago.
local function postfix(e, ...)
  for i = 1, select("#", ...), 2 do
    local at, seconds = select(i, ...)
    e = seconds and { tag = "ago", at = at, value = seconds, e } or { tag = "over all", at = at, e }
  end
  return e
end

local function make_rules(lpeg)
  local P, R, S, V, B, C, Cc, Cg, Cp, Ct, Cmt, Carg = lpeg.P, lpeg.R, lpeg.S, lpeg.V, lpeg.B, lpeg.C, lpeg.Cc,
    lpeg.Cg, lpeg.Cp, lpeg.Ct, lpeg.Cmt, lpeg.Carg

  -- Where parsing came furthest, and what was expected there, for the message. The outermost has the last word.
  local function expect(pattern, what)
    return pattern + Cmt(Carg(1), function(_, at, state)
      if at >= state.at then
        state.at, state.expected = at, what
      end
      return false
    end)
  end

  local space = S(" \t\n") ^ 0
  local function token(text) return P(text) * space end
  local digits, letter = R("09") ^ 1, R("az", "AZ") + "_"
  local boundary = -(letter + R("09"))
  local function word(text) return -B(letter + R("09")) * P(text) * boundary * space end
  local clause = word("by") + word("of") + word("where") + word("over")
  local over_all = word("over") * word("all")
  local reserved = clause + word("and") + word("or") + word("not") + word("ago")

  -- LPeg nests captures in 200 levels at most, but not those that are evaluated while it matches.
  local function at_once(pattern, make)
    return Cmt(pattern, function(_, _, ...) return true, make(...) end)
  end
  local function leaf(tag, pattern)
    return Cp() * pattern / function(at, value) return { tag = tag, at = at, value = value } end
  end
  local function left(operand, operator)
    return operand * (Cp() * operator * operand) ^ 0 / chain
  end
  local function sign(text) return C(text) * space end

  local plain = (digits * (P(".") * R("09") ^ 0) ^ -1 + P(".") * digits) * (S("eE") * S("+-") ^ -1 * digits) ^ -1
  local number = C(plain) * boundary * space / tonumber
  local unit = P("ns") + "us" + "ms" + S("smhd")
  local duration = Cmt(Cp() * C(plain) * C(unit) * boundary * space * Carg(1), function(_, at, from, n, u, state)
    local seconds = tonumber(n) * SECONDS[u]
    if seconds <= 0 or seconds > MOST_SECONDS then
      state.problem = state.problem or ("a time above 0 and of at most 30 years expected at character %d"):format(from)
    end
    return at, seconds
  end)
  local name = C(letter * (letter + R("09")) ^ 0) * space
  local function_name = C(letter * (letter + R("09")) ^ 0 * (P(".") * digits) ^ -1) * space
  local quoted = P("'") * C((1 - P("'")) ^ 1) * expect(P("'"), "a closing quote") * space
  local text = P('"') * C((1 - P('"')) ^ 0) * expect(P('"'), "a closing quote") * space
  local regex = C(P("/") * (P("\\") * 1 + (1 - S("/\\"))) ^ 0 * expect(P("/"), "a closing slash") *
    R("az", "AZ") ^ 0) * space
  local function call(at, called, arguments)
    return { tag = "call", at = at, name = called, arguments = arguments }
  end
  local an_expression = expect(V("ranged"), "an expression")
  local whole = Cmt(Cp() * number * Carg(1), function(_, at, from, n, state)
    if n < 1 or n % 1 ~= 0 then
      state.problem = state.problem or ("top takes a whole number above 0, at character %d"):format(from)
    end
    return at, n
  end)
  local ranked = word("top") + word("bottom")
  local a_reducer = expect(leaf("reducer", function_name - reserved - ranked) * #(P(",") + clause - over_all + -1) +
    V("ranged"), "a reducer (sum, avg, p99, …)")
  local a_key = expect(leaf("time", word("time") * token("(") * expect(duration + number, "seconds") *
    expect(token(")"), "')'")) + leaf("$", P("$") * C(digits + letter * (letter + R("09")) ^ 0) * space) +
    leaf("name", name + quoted), "a key (module, name, …)")
  local function given(kind, what) return Ct(Cg(Cc(kind), "kind") * Cg(Cp(), "at") * what) end
  local items = given("items", a_reducer * (token(",") * a_reducer) ^ 0)
  local rank = given("top", word("top") * expect(whole, "a number")) +
    given("bottom", word("bottom") * expect(whole, "a number"))
  local ranks = rank * given("rest", word("and") * expect(word("rest"), "'rest'") * Cc(true)) ^ -1
  local over = word("over") * expect(word("time"), "'time'")
  local clauses = given("by", word("by") * expect(token("("), "'('") * a_key *
      (token(",") * a_key) ^ 0 * expect(token(")"), "',' or ')'"))
    + given("of", word("of") * an_expression)
    + given("where", word("where") * an_expression)

  return {
    column = space * V("expression") * expect(P(-1), "an operator or the end"),
    question = Ct(space * (ranks * (-(clause + -1) * items) ^ -1 + -ranked * items) * clauses ^ 0 *
      given("over_time", over * Cc(true)) ^ -1 * expect(P(-1), "',', by, of, where or the end")),
    key = space * a_key * expect(P(-1), "the end of the key"),
    ranged = Cp() * V("expression") * Cp() / function(from, e, to)
      e.from, e.to = from, to
      return e
    end,
    expression = left(V("both"), word("or") * Cc("or")),
    both = left(V("denied"), word("and") * Cc("and")),
    denied = at_once(Cp() * C(word("not")) * V("denied"), function(at, _, e) return negated(at, "not", e) end)
      + V("compared"),
    compared = V("sum") * (Cp() * sign(P(">=") + "<=" + "==" + "!=" + S("<>")) * V("sum") +
      Cp() * sign("=~") * expect(leaf("regex", regex), "a /regular expression/")) ^ -1 / chain,
    sum = left(V("product"), sign(S("+-"))),
    product = left(V("factor"), sign(S("*/%"))),
    factor = at_once(Cp() * sign("-") * V("factor"), negated) + V("operand") * (Cp() *
      (over_all * Cc(false) + word("ago") * expect(duration, "a time such as 1d"))) ^ 0 / postfix,
    operand = leaf("duration", duration) + leaf("number", number)
      + at_once(Cp() * (function_name - reserved) * token("(") *
        Ct(leaf("all", sign("*")) * #P(")") + V("ranged") * (token(",") * V("ranged")) ^ 0) *
        expect(token(")"), "')'"), call)
      + leaf("name", name - reserved) * -P("(") + leaf("name", quoted) + leaf("text", text)
      + at_once(token("(") * V("expression") * expect(token(")"), "')'"), function(e) return e end)
      + expect(P(false), "a number, a name or '('"),
  }
end

-- Reads a text from the rule `rule` on. Returns what it captures | nil, what is wrong, with the position
local function read(rule, text, expected)
  local pattern = patterns[rule]
  if not pattern then
    local lpeg = require("kstat.lpeg")
    lpeg.setmaxstack(STACK)
    local rules = make_rules(lpeg)
    rules[1] = rule
    pattern = lpeg.P(rules)
    patterns[rule] = pattern
  end
  local state = { at = 1, expected = expected }
  local ok, found = pcall(pattern.match, pattern, text, 1, state)
  if not ok then
    return nil, ("'%s%s' is nested too deeply"):format(text:sub(1, 40), #text > 40 and "…" or "")
  elseif state.problem then
    return nil, ("%s of '%s'"):format(state.problem, text)
  elseif not found then
    local meant = require("kstat.unknown").nearest(text:match("^%a*", state.at), grammar.WORDS)
    return nil, ("%s expected at character %d of '%s'%s"):format(state.expected, state.at, text,
      meant and ("; did you mean '%s'?"):format(meant) or "")
  end
  return found
end

--- Reads an expression.
-- @string text
-- @treturn[1] table its tree
-- @treturn[2] nil
-- @treturn[2] string what is wrong, with the position
function grammar.expression(text)
  return read("column", text, "an expression")
end

--- Reads a key of a group.
-- @string text
-- @treturn[1] table its tree: a name, "$" with a group's name or number, or "time" with seconds
-- @treturn[2] nil
-- @treturn[2] string what is wrong, with the position
function grammar.key(text)
  return read("key", text, "a key")
end

--- Reads a question.
-- @string text
-- @treturn[1] table of the clauses that are there, each a table of trees: `items`, `by`, `of`, `where`; `top` or
-- `bottom`, with a number; `rest`, `over_time`
-- @treturn[2] nil
-- @treturn[2] string what is wrong, with the position
function grammar.question(text)
  local list, problem = read("question", text, "a reducer (sum, avg, p99, …)")
  local found = {}
  for _, clause in ipairs(list or {}) do
    if found[clause.kind] then
      return nil, ("%s is there twice, at character %d of '%s'"):format(clause.kind, clause.at, text)
    end
    found[clause.kind] = clause
  end
  return list and found, problem
end

return grammar
