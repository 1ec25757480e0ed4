--- The small language of report columns.
--
--     rate(nread) / 1024        100 * busy        hits / (hits + misses)        'Hard Errors'
--
-- Numbers; `+ - * / %`, parentheses and a leading minus, with the usual precedence; names; functions.
--
-- A name is, in this order, a field of the row, a statistic of the row's kstat as it is now, a header
-- field (module, instance, name, class, crtime, snaptime, elapsed: the seconds between the two
-- samples), or a figure of kstat.report.derived. A statistic whose name is no word stands in single
-- quotes.
--
--     rate(e)      per second: every statistic in e as its change per second
--     delta(e)     the change between the samples; of a gauge its value now
--     boot(e)      the value now: what was counted since the kstat was created
--     abs(e) floor(e) sqrt(e)  min(e, …)  max(e, …)  if(c, e, e): the second if c is not 0
--
-- What is missing makes the whole expression nil, and so does a division by zero; a report prints `-`.
--
-- @module kstat.report.expression
local derived = require("kstat.report.derived")

local expression = {}

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

local function value_of(row, name, mode)
    local field = row[name]
    if field ~= nil then
        return field
    end
    local k = row.kstat
    if not k then
        return nil
    end
    if not (HEADER[name] and mode == "boot") then
        local value = MODES[mode](k, name)
        if value ~= nil then
            return value
        end
    end
    if HEADER[name] then
        return k[name]
    end
    local figure = derived[name]
    if figure and k.type == "io" then
        return figure(k)
    end
    return nil
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
    ["if"] = { function(c, a, b) return c ~= 0 and a or b end, 3, 3 },
}

-- Every node of the tree becomes a function(row, mode) that gives a value or nil.
local function constant(v)
    return function() return v end
end

local function named(name)
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

local grammar -- made when it is first needed

local function make_grammar()
    local lpeg = require("kstat.selector").lpeg()
    local P, R, S, V, C, Cc, Ct, Cmt, Carg = lpeg.P, lpeg.R, lpeg.S, lpeg.V, lpeg.C, lpeg.Cc, lpeg.Ct,
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
    local quoted = P("'") * C((1 - P("'")) ^ 1) * expect(P("'"), "a closing quote") * space

    -- A function by name with its arguments, or a failure with the reason in the state.
    local function make_call(_, at, name, arguments, state)
        local n = #arguments
        if MODES[name] then
            if n == 1 then
                return true, in_mode(name, arguments[1])
            end
            state.problem = name .. "() takes one expression"
        elseif FUNCTIONS[name] then
            local f, least, most = FUNCTIONS[name][1], FUNCTIONS[name][2], FUNCTIONS[name][3]
            if n >= least and n <= most then
                return true, call(f, arguments)
            end
            state.problem = ("%s() takes %d expression%s, not %d"):format(name, least,
                least == 1 and "" or "s", n)
        else
            state.problem = ("there is no function '%s'"):format(name)
        end
        state.problem_at = state.problem_at or at
        return false
    end

    return P({
        space * V("sum") * expect(P(-1), "an operator or the end"),
        sum = V("product") * (C(S("+-")) * space * V("product")) ^ 0 / chain,
        product = V("factor") * (C(S("*/%")) * space * V("factor")) ^ 0 / chain,
        factor = token("-") * V("factor") / negated
            + C(number) * space / tonumber / constant
            + Cmt(word * token("(") * Ct(V("sum") * (token(",") * V("sum")) ^ 0) * expect(token(")"), "')'")
                * Carg(1), make_call)
            + word * -P("(") / named
            + quoted / named
            + token("(") * V("sum") * expect(token(")"), "')'")
            + expect(Cc(false) * P(false), "a number, a name or '('"),
    })
end

--- Compiles an expression.
-- @string text
-- @treturn[1] function(row): row is a table of fields, with the kstat of a difference as `kstat`;
-- gives a number, a string or nil
-- @treturn[2] nil
-- @treturn[2] string what is wrong, with the position
function expression.compile(text)
    local name = text:match("^%s*([%a_][%w_]*)%s*$")
    if name then
        local value = named(name)
        return function(row) return value(row, "boot") end -- most columns; LPeg need not be loaded
    end
    grammar = grammar or make_grammar()
    local state = { at = 0, expected = "an expression" }
    local compiled = grammar:match(text, 1, state)
    if not compiled then
        if state.problem then
            return nil, ("%s in '%s'"):format(state.problem, text)
        end
        return nil, ("%s expected at character %d of '%s'"):format(state.expected, math.max(1, state.at), text)
    end
    return function(row)
        return compiled(row, "boot")
    end
end

return expression
