--- The grammar of expressions, and of the questions that are asked with them.
--
--     [top N | bottom N [and rest]] item {, item} [by (key {, key})] [where expression] [having expression]
--
-- The clauses may stand in any order. Text becomes trees, which kstat.expression makes functions of. A tree is a table
-- with its kind in `tag`, its place in `at`, and
--
--     number, text, name, regex    `value`             duration    `value`, in seconds
--     call        `name` and `arguments`: trees; an argument `*` has the tag "all"; one with keys behind it has `by`
--     unary       `operator` ("-" or "not") and [1]    binary      `operator`, [1] and [2]
--     over all    [1]                                  ago         [1] and `value`, in seconds
--     reducer     `value`: a word alone, of an item: it is of every number
--     $           `value`, of keys                     time        `value`: seconds, "hour" or "weekday", of keys
--     first of    trees of keys, of which the first one counts that a kstat has
--
-- Items, arguments, keys and what follows `where` and `having` have their `text`, and `whole`: the one that was read.
-- @module kstat.figures.expression.grammar
local grammar = {}

local STACK = 20000 -- of LPeg, which stops at 400: parentheses in some 3,000 levels
local SECONDS = { ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1, m = 60, h = 3600, d = 86400, w = 604800 }
local MOST_SECONDS = 3653 * 86400
local MOST_CHARACTERS = 65536

--- The words of the grammar, as keys.
grammar.WORDS = { top = true, bottom = true, by = true, where = true, having = true, over = true, all = true,
  time = true, hour = true, weekday = true, ago = true, ["and"] = true, ["or"] = true, ["not"] = true }

local patterns = {} -- by what is read, made when first needed

-- a - b - c is (a - b) - c.
local function chain(first, ...)
  for i = 1, select("#", ...), 3 do
    local at, operator, operand = select(i, ...)
    first = { tag = "binary", at = at, operator = operator, first, operand }
  end
  return first
end

-- What stands in quotes beside == or != is a text, in either kind of quotes, unless it is compared with a number.
local function compared(left, at, operator, right)
  if operator == "==" or operator == "!=" then
    for one, other in pairs({ [left] = right, [right] = left }) do
      if one.quoted and (other.tag == "name" or other.tag == "text" or other.name == "if") then
        one.tag = "text"
      end
    end
  end
  return operator and chain(left, at, operator, right) or left
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

-- Where parsing came furthest, and what was expected there, for the message. The outermost has the last word.
local function expect(lpeg, pattern, what)
  return pattern + lpeg.Cmt(lpeg.Carg(1), function(_, at, state)
    if at >= state.at then
      state.at, state.expected = at, what
    end
    return false
  end)
end

-- A value that is looked at while it matches: `problem` returns what is wrong with it.
local function checked(lpeg, pattern, value, problem)
  return lpeg.Cmt(lpeg.Cp() * pattern * lpeg.Carg(1), function(_, at, from, ...)
    local found, state = value(...), select(select("#", ...), ...)
    local wrong = problem(found)
    state.problem = state.problem or wrong and ("%s at character %d"):format(wrong, from)
    return at, found
  end)
end

-- What all rules are made of: functions that make patterns, and patterns of words, numbers and texts.
local function make_tokens(lpeg)
  local P, R, S, C, Cp = lpeg.P, lpeg.R, lpeg.S, lpeg.C, lpeg.Cp
  local space, digits, letter = S(" \t\n") ^ 0, R("09") ^ 1, R("az", "AZ") + "_"
  local boundary = -(letter + R("09"))
  local t = { space = space }
  function t.expect(pattern, what) return expect(lpeg, pattern, what) end
  function t.token(text) return P(text) * space end
  function t.sign(pattern) return C(pattern) * space end
  function t.word(text) return -lpeg.B(letter + R("09")) * P(text) * boundary * space end
  function t.part(pattern)
    return lpeg.Carg(1) * C(pattern) / function(state, text, e, by)
      e.whole, e.text, e.by = state.text, text:match("^(.-)%s*$"), by
      return e
    end
  end
  function t.leaf(tag, pattern)
    return Cp() * pattern / function(at, value) return { tag = tag, at = at, value = value } end
  end
  t.clause = t.word("by") + t.word("of") + t.word("where") + t.word("having") + t.word("over")
  t.over_all = t.word("over") * t.word("all")
  t.reserved = t.clause + t.word("and") + t.word("or") + t.word("not") + t.word("ago")
  local plain = (digits * (P(".") * R("09") ^ 0) ^ -1 + P(".") * digits) * (S("eE") * S("+-") ^ -1 * digits) ^ -1
  local unit = P("ns") + "us" + "ms" + S("smhdw")
  t.number = C(plain) * boundary * space / tonumber
  t.duration = checked(lpeg, C(plain) * C(unit) * boundary * space, function(n, u) return tonumber(n) * SECONDS[u] end,
    function(seconds)
      return (seconds <= 0 or seconds > MOST_SECONDS) and "a time above 0 and of at most 10 years expected"
    end)
  t.name = C(letter * (letter + R("09")) ^ 0) * space
  t.function_name = C(letter * (letter + R("09")) ^ 0 * (P(".") * digits) ^ -1) * space
  t.capture = P("$") * C(digits + letter * (letter + R("09")) ^ 0) * space
  t.quoted = P("'") * C((1 - P("'")) ^ 1) * t.expect(P("'"), "a closing quote") * space
  t.text = P('"') * C((1 - P('"')) ^ 0) * t.expect(P('"'), "a closing quote") * space
  t.regex = C(P("/") * (P("\\") * 1 + (1 - S("/\\"))) ^ 0 * t.expect(P("/"), "a closing slash") * R("az", "AZ") ^ 0) *
    space
  return t
end

local function add_expressions(lpeg, t, rules)
  local P, S, V, C, Cc, Cp = lpeg.P, lpeg.S, lpeg.V, lpeg.C, lpeg.Cc, lpeg.Cp
  local token, word, leaf, sign, close = t.token, t.word, t.leaf, t.sign, t.expect(t.token(")"), "')'")
  -- LPeg nests captures in 200 levels at most, but not those that are evaluated while it matches.
  local function at_once(pattern, make)
    return lpeg.Cmt(pattern, function(_, _, ...) return true, make(...) end)
  end
  local function left(operand, operator)
    return operand * (Cp() * operator * operand) ^ 0 / chain
  end
  local function call(at, called, arguments)
    return { tag = "call", at = at, name = called, arguments = arguments }
  end
  rules.column = t.space * V("part") * t.expect(P(-1), "an operator or the end")
  rules.part = t.part(V("expression"))
  rules.argument = t.part(V("expression") * V("keys") ^ -1)
  rules.expression = left(V("both"), word("or") * Cc("or"))
  rules.both = left(V("denied"), word("and") * Cc("and"))
  rules.denied = at_once(Cp() * C(word("not")) * V("denied"), function(at, _, e) return negated(at, "not", e) end)
    + V("compared")
  rules.compared = V("sum") * (Cp() * sign(P(">=") + "<=" + "==" + "!=" + S("<>")) * V("sum") +
    Cp() * sign("=~") * t.expect(leaf("regex", t.regex), "a /regular expression/")) ^ -1 / compared
  rules.sum = left(V("product"), sign(S("+-")))
  rules.product = left(V("factor"), sign(S("*/%")))
  rules.factor = at_once(Cp() * sign("-") * V("factor"), negated) + V("operand") * (Cp() *
    (t.over_all * Cc(false) + word("ago") * t.expect(t.duration, "a time such as 1d"))) ^ 0 / postfix
  rules.operand = leaf("duration", t.duration) + leaf("number", t.number)
    + at_once(Cp() * (t.function_name - t.reserved) * token("(") * lpeg.Ct(leaf("all", sign("*")) * #P(")") +
      V("argument") * (token(",") * V("part")) ^ 0) * close, call)
    + leaf("name", t.name - t.reserved) * -P("(") + leaf("text", t.text)
    + leaf("name", t.quoted) / function(e)
      e.quoted = true
      return e
    end
    + at_once(token("(") * V("expression") * close, function(e) return e end)
    + t.expect(P(false), "a number, a name or '('")
end

local function add_questions(lpeg, t, rules)
  local P, S, V, Cc, Cg, Ct = lpeg.P, lpeg.S, lpeg.V, lpeg.Cc, lpeg.Cg, lpeg.Ct
  local token, word, leaf, wanted = t.token, t.word, t.leaf, t.expect
  local function given(kind, what) return Ct(Cg(Cc(kind), "kind") * Cg(lpeg.Cp(), "at") * what) end
  local function list(one) return one * (token(",") * one) ^ 0 end
  local whole = checked(lpeg, t.number, function(n) return n end, function(n)
    return (n < 1 or n % 1 ~= 0) and "top takes a whole number above 0,"
  end)
  local ranked = word("top") + word("bottom")
  local items = given("items", list(wanted(t.part(leaf("reducer", t.function_name - t.reserved - ranked) *
    #(P(",") + t.clause - t.over_all + -1)) + V("part"), "a reducer (sum, avg, p99, …)")))
  local own = leaf("time", word("time") * token("(") * wanted(t.duration + t.number, "seconds") *
    wanted(token(")"), "')'")) + leaf("time", lpeg.C(P("hour") + "weekday") * #(t.space * (S(",)") + P("or") + -1))) *
    t.space + leaf("$", t.capture)
  rules.alternative = own + -(word("time") * P("(")) * V("sum")
  rules.key = wanted(V("alternative"), "a key (module, name, …)") * (word("or") * V("alternative")) ^ 0 /
    function(first, ...)
      return ... and { tag = "first of", at = first.at, first, ... } or first
    end
  rules.keys = word("by") * wanted(token("("), "'('") * Ct(list(t.part(V("key")))) * wanted(token(")"), "',' or ')'")
  local rank = (given("top", word("top") * wanted(whole, "a number")) +
    given("bottom", word("bottom") * wanted(whole, "a number"))) *
    given("rest", word("and") * wanted(word("rest"), "'rest'") * Cc("rest")) ^ -1
  local expression = wanted(V("part"), "an expression")
  local clauses = given("by", V("keys")) + given("where", word("where") * expression) +
    given("having", word("having") * expression)
  rules.whole_key = t.space * t.part(V("key")) * wanted(P(-1), "the end of the key")
  rules.question = Ct(t.space * (rank * (-(t.clause + -1) * items) ^ -1 + -ranked * items) * clauses ^ 0 *
    wanted(P(-1), "',', by, where, having or the end"))
end

--- A text for a message: of a long one what is around a place.
function grammar.excerpt(text, at)
  return #text > 160 and "…" .. text:sub(math.max(1, at - 60), at + 60) .. "…" or text
end

-- LPeg, without the global that it leaves behind in Lua 5.1.
local function load_lpeg()
  local before, lpeg = rawget(_G, "lpeg"), require("lpeg")
  if rawget(_G, "lpeg") ~= before then
    rawset(_G, "lpeg", before)
  end
  return lpeg
end

-- Reads a text from the rule `rule` on. Returns what it captures | nil, what is wrong, with the position
local function read(rule, text, expected)
  local pattern = patterns[rule]
  if not pattern then
    local lpeg = load_lpeg()
    lpeg.setmaxstack(STACK)
    local tokens, rules = make_tokens(lpeg), { rule }
    add_expressions(lpeg, tokens, rules)
    add_questions(lpeg, tokens, rules)
    pattern = lpeg.P(rules)
    patterns[rule] = pattern
  end
  if #text > MOST_CHARACTERS then
    return nil, ("'%s…' is longer than %d characters"):format(text:sub(1, 40), MOST_CHARACTERS)
  end
  local state = { at = 1, expected = expected, text = text }
  local ok, found = pcall(pattern.match, pattern, text, 1, state)
  if not ok then
    return nil, ("'%s%s' is nested too deeply"):format(text:sub(1, 40), #text > 40 and "…" or "")
  end
  local shown = grammar.excerpt(text, state.at)
  if state.problem then
    return nil, ("%s of '%s'"):format(state.problem, shown)
  elseif not found then
    local word = text:match("^%a*", state.at)
    local meant = not grammar.WORDS[word] and require("kstat.base.unknown").nearest(word, grammar.WORDS)
    return nil, ("%s expected at character %d of '%s'%s"):format(state.expected, state.at, shown,
      meant and ("; did you mean '%s'?"):format(meant) or "")
  end
  return found
end

--- Reads an expression. Returns its tree | nil and what is wrong, with the position.
function grammar.expression(text)
  return read("column", text, "an expression")
end

--- Reads a key of a group, as grammar.expression().
function grammar.key(text)
  return read("whole_key", text, "a key")
end

--- Reads a question. Returns a table of the clauses that are there, each a table of trees: `items`, `by` (its keys are
-- in [1]), `where`, `having`; `top` or `bottom`, with a number; `rest`; or as grammar.expression().
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
