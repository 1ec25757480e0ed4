--- The language of columns, of `kstat -a` and of `kstat.aggregate`, which doc/scripting-reference.md lists.
--
--     rate(nread) / 1024        100 * b_pct        hits / (hits + misses)        'Hard Errors'
--     sum(rate(errors)) / sum(rate(get + post))   rate(utime) / sum(rate(utime)) over all
--
-- A name is, in this order, a field of the row, a statistic of the row's kstat as it is now, a header
-- field (module, instance, name, class, crtime, snaptime, elapsed: the seconds between the two
-- samples), a figure of kstat.figures.expression.derived, a fact of the same process, or a distribution: what a
-- histogram counted in between, under the name of its kstat or as `buckets`, or what a statsblob counted under the name
-- of a VOI. `rate(e)` and `delta(e)` say how every statistic in e is read: as its change per second, or its change
-- between the samples, of a gauge its value now. Reducers and what is over time are in
-- kstat.figures.expression.reduction and window.
--
-- A comparison is 1 or 0. What is missing makes the whole expression nil, and so does a division by zero; a report
-- prints `-`. A service time is missing in an interval in which nothing completed.
-- @module kstat.expression
local core = require("kstat.core")
local derived = require("kstat.figures.expression.derived")

local expression = {}

local unpack = table.unpack or unpack
local HEADER = {
  module = true, instance = true, name = true, class = true, crtime = true, snaptime = true,
  elapsed = true, host = true,
}

local NOW, CHANGE, RATE = 0, 1, 2 -- how a statistic is read, as core.figure() has it
local MODES = { delta = CHANGE, rate = RATE }

-- Facts of a process: the end of the name of its kstat that has them, and what they are called there.
local FACTS = { fname = { "" }, euid = { "" }, ppid = { "" }, state = { "" }, comm = { "", "fname" },
  cgroup = { ",cgroup" } }

--- The classes of kstats that have facts of processes, which a sample has to have for others' sake; names: of an
-- expression.
function expression.classes_of_facts(names)
  local classes, seen = {}, {}
  for _, name in ipairs(names) do
    local class = FACTS[name] and "process" .. FACTS[name][1]:gsub(",", "_")
    if class and not seen[class] then
      classes[#classes + 1], seen[class] = class, true
    end
  end
  return classes
end

-- A fact that another kstat of the same process has. clock: of the tick that the kstat is of.
local function fact_of(k, fact, name, clock)
  local class = k.class
  local place = clock and (clock.place or clock.now and core.difference(clock.now))
  if not place or class ~= "process" and not class:find("^process_") then
    return nil
  end
  local main = class == "process" and k.name or k.name:gsub(",[^,]*$", "")
  local other = core.lookup(place, k.module, k.instance, main .. fact[1])
  return other and core.figure(other, fact[2] or name, NOW)
end

-- What a histogram counted, under the name of its kstat or as buckets, and what a statsblob did under that of a VOI.
local function distribution_of(k, name)
  if k.name == name or name == "buckets" then
    return (k:distribution())
  elseif k.type == "raw" then
    return (k:distribution(name))
  end
  return nil
end

-- What a kstat has under a name that is none of its statistics.
local function beside(k, name, clock)
  local figure = derived[name]
  if figure and k.type == "io" then
    return figure(k)
  end
  return FACTS[name] and fact_of(k, FACTS[name], name, clock) or distribution_of(k, name)
end

-- What a kstat has under a name.
local function of_kstat(k, name, how, clock)
  local value
  if how ~= NOW or not HEADER[name] then
    value = core.figure(k, name, how)
  end
  if value == nil and HEADER[name] then
    value = k[name]
  elseif value == nil then
    value = beside(k, name, clock)
  end
  return value
end

-- What a row has under a name: a field, or what its kstat has. All but the fields of a row with `figures` is of that.
local function value_of(row, name, how, clock)
  local meta = getmetatable(row)
  local field
  if meta and meta.figures then
    field = rawget(row, name)
  else
    field = row[name]
  end
  if field ~= nil then
    return field
  end
  local k = row.kstat -- a row may have a field of that name that is no kstat
  return type(k) == "userdata" and of_kstat(k, name, how, clock) or nil
end

local function flag(condition) return condition and 1 or 0 end

-- A value as a number; nil if it is none.
local function number_of(v)
  if type(v) == "userdata" then
    require("kstat.figures.expression.window").refuse_distribution()
  end
  return tonumber(v)
end

local function less(a, b)
  a, b = number_of(a), number_of(b)
  return a and b and flag(a < b)
end

-- Numbers are equal as numbers, texts as texts.
local function same(a, b)
  return a ~= nil and b ~= nil and flag(a == b or number_of(a) ~= nil and number_of(a) == number_of(b)) or nil
end

local function opposite(v) return v and 1 - v end

-- Integers of Lua 5.3 and later wrap around; where the result is far from that of doubles, these are right.
local function exact(a, b)
  return math.abs(b - a) > 1e18 and b or a
end

-- Of numbers.
local ARITHMETIC = {
  ["+"] = function(a, b) return exact(a + b, a + 0.0 + b) end,
  ["-"] = function(a, b) return exact(a - b, a + 0.0 - b) end,
  ["*"] = function(a, b) return exact(a * b, (a + 0.0) * b) end,
  ["/"] = function(a, b) return b ~= 0 and a / b or nil end,
  ["%"] = function(a, b) return b ~= 0 and a % b or nil end,
}

-- Of any values. `and` is 0 and `or` is 1 as soon as one side says so, though the other one is missing.
local COMPARISONS = {
  ["<"] = less, [">"] = function(a, b) return less(b, a) end,
  ["<="] = function(a, b) return opposite(less(b, a)) end, [">="] = function(a, b) return opposite(less(a, b)) end,
  ["=="] = same, ["!="] = function(a, b) return opposite(same(a, b)) end,
  ["and"] = function(a, b)
    if a == 0 or b == 0 then
      return 0
    end
    return a ~= nil and b ~= nil and 1 or nil
  end,
  ["or"] = function(a, b)
    if a ~= nil and a ~= 0 or b ~= nil and b ~= 0 then
      return 1
    end
    return a ~= nil and b ~= nil and 0 or nil
  end,
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

-- To the nearest multiple; of whole numbers without a division, which is exact up to 2^53 alone.
local function rounded(x, to)
  to = to or 1
  if to == 0 then
    return nil
  elseif to < 0 or x % 1 ~= 0 or to % 1 ~= 0 then
    return math.floor(x / to + 0.5) * to
  end
  local rest = x % to
  local below = exact(x - rest, x - 0.0 - rest)
  return rest >= to - rest and exact(below + to, below + 0.0 + to) or below
end

-- Functions of numbers, and how many they take at least and at most. `min` and `max` of one are reducers.
local FUNCTIONS = {
  abs = { function(x) return x < 0 and exact(-x, 0.0 - x) or x end, 1, 1 },
  floor = { math.floor, 1, 1 },
  round = { rounded, 1, 2 },
  sqrt = { function(x) return x >= 0 and math.sqrt(x) or nil end, 1, 1 },
  log = { function(x) return x > 0 and math.log(x) or nil end, 1, 1 },
  exp = { function(x) return x < 709 and math.exp(x) or nil end, 1, 1 },
  min = { extreme(function(a, b) return a < b end), 1, 100 },
  max = { extreme(function(a, b) return a > b end), 1, 100 },
}

-- --- trees become functions ------------------------------------------------------------------------

-- Every tree becomes a function(row, how) that gives a value or nil. The context has the `names` that were found, the
-- state of a report as `run`, the `clock` of windows, and at the level of groups a `group`, see expression.make(). What
-- cannot be compiled raises { message, at }.
local build

local function refuse(tree, format, ...)
  error({ message = format:format(...), at = tree.at }, 0)
end
expression.refuse = refuse

-- The line about a function that there is not.
local function no_function(name)
  local all = { ["if"] = true }
  for _, list in ipairs({ MODES, FUNCTIONS, require("kstat.figures.reducers").KINDS,
    require("kstat.figures.expression.grammar").WORDS, require("kstat.figures.expression.reduction").OVER_TIME }) do
    for known in pairs(list) do
      all[known] = true
    end
  end
  all[name] = nil -- time and by are words, and no functions
  return require("kstat.base.unknown").line("there is no function", name, all)
end

local function constant(tree)
  local v = tree.value
  return function() return v end
end

local function takes(tree, least, most)
  local n = #tree.arguments
  if n < least or n > most then
    refuse(tree, "%s() takes %d expression%s, not %d", tree.name, least, least ~= 1 and "s" or "", n)
  end
end

-- names.undefined: what was asked for outside of where a function is defined, such as log(0)
local function call(name, f, functions, names)
  return function(row, how)
    local values = {}
    for i, e in ipairs(functions) do
      values[i] = number_of(e(row, how))
      if not values[i] then
        return nil
      end
    end
    local result = f(unpack(values, 1, #functions))
    if result == nil then
      names.undefined = ("%s(%s)"):format(name, table.concat(values, ", "))
    end
    return result
  end
end

local function choice(condition, yes, no)
  return function(row, how)
    local c = number_of(condition(row, how))
    return c and (c ~= 0 and yes or no)(row, how)
  end
end

local BUILD = { number = constant, text = constant }

function BUILD.duration(tree)
  refuse(tree, "a time stands in windows, in share() and behind ago; elsewhere a number in the unit of the statistic")
end

function BUILD.name(tree, context)
  local name = tree.value
  local clock = context.clock
  context.names[#context.names + 1] = name
  if clock and clock.is_of_kstats then -- rows have no fields
    return function(row, how) return of_kstat(row.kstat, name, how, clock) end
  end
  return function(row, how) return value_of(row, name, how, clock) end
end

function BUILD.unary(tree, context)
  local e = build(tree[1], context)
  if tree.operator == "not" then
    return function(row, how) return same(e(row, how), 0) end
  end
  return function(row, how)
    local v = number_of(e(row, how))
    return v and exact(-v, 0.0 - v)
  end
end

local function matching(e, tree)
  local wrong = tree.value:match("/%a*([^imsxnU%W])%a*$") -- else a glob, as file systems have such names
  local pattern, problem = core.pattern(tree.value)
  if wrong or not pattern then
    refuse(tree, "%s", problem or ("unknown flag '%s' of a regular expression (known: imsxnU)"):format(wrong))
  end
  return function(row, how)
    local v = e(row, how)
    if type(v) == "number" then
      v = core.tostring(v)
    end
    return type(v) == "string" and flag(pattern:matches(v)) or nil
  end
end

function BUILD.binary(tree, context)
  local left = build(tree[1], context)
  if tree.operator == "=~" then
    return matching(left, tree[2])
  end
  local right, compare, apply = build(tree[2], context), COMPARISONS[tree.operator], ARITHMETIC[tree.operator]
  if compare then
    return function(row, how) return compare(left(row, how), right(row, how)) end
  end
  return function(row, how)
    local a, b = number_of(left(row, how)), number_of(right(row, how))
    return a and b and apply(a, b)
  end
end

-- The functions of several trees.
local function all_of(trees, context)
  local functions = {}
  for i, tree in ipairs(trees) do
    functions[i] = build(tree, context)
  end
  return functions
end

function BUILD.call(tree, context)
  local name = tree.name
  local mode, f = MODES[name], FUNCTIONS[name]
  if not mode and not f and name ~= "if" then
    refuse(tree, "%s", no_function(name))
  elseif mode then
    takes(tree, 1, 1)
    local e = build(tree.arguments[1], context)
    return function(row) return e(row, mode) end
  elseif name == "if" then
    takes(tree, 3, 3)
  else
    takes(tree, f[2], f[3])
    local step = name == "round" and tree.arguments[2]
    if step and step.tag == "number" and step.value == 0 then
      refuse(step, "round() takes a step that is not 0")
    end
  end
  local functions = all_of(tree.arguments, context)
  if name == "if" then
    return choice(unpack(functions))
  end
  return call(name, f[1], functions, context.names)
end

BUILD["over all"] = function(tree, context)
  local reduction = require("kstat.figures.expression.reduction")
  if not reduction.is_reducer(tree[1]) then
    refuse(tree, "over all follows a reducer, such as sum(x) over all")
  end
  return reduction.make(tree[1], context, build, true)
end

-- Values that a script gave as a function.
BUILD["function"] = function(tree)
  return function(row) return tree.call(row.kstat) end
end

function BUILD.time(tree)
  refuse(tree, "a key of time, or of a group of a selector, stands alone")
end
BUILD["$"] = BUILD.time

function BUILD.all(tree)
  refuse(tree, "'*' stands for all numbers, in a reducer of kstat -a or in rate(*)")
end

-- What an alternative of a key is: the first one that there is.
BUILD["first of"] = function(tree, context)
  local names, n = context.names, #context.names
  local functions = all_of(tree, context)
  names.instead = names.instead or {}
  local alternatives = { unpack(names, n + 1) }
  for _, name in ipairs(alternatives) do
    names.instead[name] = alternatives
  end
  return function(row, how)
    for i = 1, #functions do
      local v = functions[i](row, how)
      if v ~= nil then
        return v
      end
    end
  end
end

function build(tree, context)
  local name, group = tree.name, context.group
  local second = tree.arguments and tree.arguments[2]
  if group or tree.tag == "ago" or name and name ~= "delta" and name ~= "if" and not (FUNCTIONS[name] and second and
    second.tag ~= "duration") and not (name == "rate" and not second) then
    local reduction = require("kstat.figures.expression.reduction")
    local level = group and reduction.level(tree)
    if reduction[tree.tag] then -- a reducer alone, or a script's own
      return reduction[tree.tag](tree, context, build)
    elseif level == 1 then
      return reduction.bare(tree, context, build)
    elseif reduction.is_reducer(tree) then
      return reduction.make(tree, context, build, false)
    elseif reduction.is_over_time(tree) then
      return reduction.over_time(tree, context, build)
    elseif level == 2 and MODES[name] then
      refuse(tree, "%s() stands inside of reducers, as in sum(%s(x))", name, name)
    end
  end
  return BUILD[tree.tag](tree, context)
end

--- Makes a function(row, how) of a tree of kstat.figures.expression.grammar; what is wrong raises, as
-- expression.refuse() does. The context has `names`, which gets those of statistics; `run`: see compile(); or the
-- `group`, if it has values of groups (kstat.figures.expression.reduction): it gets the `sources` of values, the
-- `accumulators` that its reducers read, and the `sets` of windows over its values; it is `timed` if they need times,
-- `all` if any is over all groups, `bare` if something stands outside of reducers.
function expression.make(tree, context)
  context.text = tree.whole
  return build(tree, context)
end

--- Calls a function that may refuse what a text asks for. Returns its result | nil and what is wrong, with the place.
function expression.try(text, f, ...)
  local ok, made = pcall(f, ...)
  if ok then
    return made
  elseif type(made) ~= "table" then
    error(made, 0)
  end
  return nil, ("%s, at character %d of '%s'"):format(made.message, made.at,
    require("kstat.figures.expression.grammar").excerpt(text, made.at))
end

--- Reads an expression and makes its function, in a context as of expression.make(); or returns nil and what is wrong,
-- with what was meant.
function expression.read(text, context)
  local function try(typed, within)
    local tree, problem = require("kstat.figures.expression.grammar").expression(typed)
    if not tree then
      return nil, problem
    end
    return expression.try(typed, expression.make, tree, within)
  end
  local made, problem = try(text, context)
  return made, not made and require("kstat.figures.foreign").line(text, problem, function(meant)
    local apart = context.clock and { rows = {} } or nil
    return try(meant, { names = {}, run = context.run and apart, clock = apart })
  end) or nil
end

--- Compiles an expression.
-- @string text
-- @tparam[opt] table run the state of the report whose column it is: `tick` (a number for each tick); `rows` for what
-- is over all; `over_all` is set where an expression needs these. It is the clock of windows
-- (kstat.figures.expression.window)
-- @treturn function(row): row is a table of fields, with the kstat of a difference as `kstat`;
-- gives a number, a string or nil
-- @treturn {string,...} the names in the expression; or nil and what is wrong, with the position
function expression.compile(text, run)
  local name = text:match("^%s*([%a_][%w_]*)%s*$")
  if name then
    -- Most columns; LPeg need not be loaded.
    return function(row) return value_of(row, name, NOW, run) end, { name }
  end
  local names = {}
  local made, problem = expression.read(text, { names = names, run = run, clock = run })
  return made and function(row) return made(row, NOW) end, made and names or problem
end

--- Whether a name is a field of every kstat, or a figure or a distribution that this one has beside its statistics.
function expression.is_derived(name, k)
  return HEADER[name] or derived[name] ~= nil and k.type == "io" or FACTS[name] and k.class:find("^process") ~= nil or
    distribution_of(k, name) ~= nil
end

--- The metatable of the rows of a report that have a kstat: `row.asvc_t` is what the expression `asvc_t` is, and
-- `row["rate(reads + writes)"]` what that is. run: see compile()
function expression.row_meta(run)
  local compiled = {}
  return {
    figures = true,
    __index = function(row, name)
      if type(name) ~= "string" then
        return nil
      elseif name:find("^[%a_][%w_]*$") then
        local k = rawget(row, "kstat") -- a nil here would come back to this function
        return k and of_kstat(k, name, NOW, run)
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
