--- Reducers in expressions: over the kstats of a group, over other groups, over a kstat alone, and over time.
--
-- Expressions of groups get the group (kstat.aggregate.groups) in place of a row.
--
-- Functions of a `tree`, a `context` and `build` (kstat.expression) make a function(row).
-- @module kstat.figures.expression.reduction
local core = require("kstat.core")
local reducers = require("kstat.figures.reducers")
local window = require("kstat.figures.expression.window")

local reduction = {}

local LEVELS = { number = 0, text = 0, duration = 0, regex = 0, name = 1, all = 1, ["function"] = 1, own = 2,
  reducer = 2 }

-- Whether a tree is a call of a reducer: min and max of several values are functions.
local function is_reducer(tree)
  local arguments = tree.arguments
  return tree.tag == "call" and reducers.known(tree.name) and not ((tree.name == "min" or tree.name == "max") and
    arguments[2] and arguments[2].tag ~= "duration")
end
reduction.is_reducer = is_reducer

--- What a tree has values of: 0: it is a constant, 1: of each kstat, 2: of a group.
function reduction.level(tree)
  local level = tree.level or LEVELS[tree.tag] or (is_reducer(tree) or tree.tag == "over all") and 2
  if not level then
    level = 0
    for _, below in ipairs(tree.arguments or tree) do
      level = math.max(level, reduction.level(below))
    end
  end
  tree.level = level
  return level
end

local function refuse(tree, format, ...)
  error({ message = format:format(...), at = tree.at }, 0)
end

-- The seconds that are the last argument, if it is a time behind at least n others; and how many others there are.
local function time_of(tree, n)
  local last = tree.arguments[#tree.arguments]
  if last.tag == "duration" and #tree.arguments > n then
    return last.value, #tree.arguments - 1
  end
  return nil, #tree.arguments
end

-- The reducer of a call, and the seconds of its window: the arguments behind the first one are numbers, then a time.
local function reducer_of(tree)
  local kind = reducers.KINDS[tree.name]
  local needed = kind and kind.least or 0
  local seconds, n = time_of(tree, needed + 1)
  local numbers = {}
  for i = 2, n do
    local argument = tree.arguments[i]
    if argument.tag == "unary" and argument[1].tag == "duration" then
      refuse(argument, "a time above 0 and of at most 10 years expected")
    elseif argument.tag ~= "number" and argument.tag ~= "duration" then
      refuse(tree, needed > 0 and "%s() takes numbers behind its expression" or
        "%s() takes one expression", tree.name)
    end
    numbers[#numbers + 1], numbers.time = argument.value, argument.tag == "duration"
  end
  local reducer, problem = reducers.make(tree.name, numbers)
  if reducer and reducer.key:find("^ewma") then
    if seconds then
      refuse(tree, "ewma() takes no window: its number is its time constant")
    end
    seconds = math.huge
  end
  return reducer or refuse(tree, "%s", problem), seconds
end

-- Whether a test is true of a tree, or of any below it that is not below one that ends the search.
local function has(tree, test, ends)
  local found, goes_on = test(tree), not (ends and ends(tree))
  for _, below in ipairs(goes_on and (tree.arguments or tree) or {}) do
    found = found or has(below, test, ends)
  end
  return found
end

-- Whether a tree is a reducer without a window.
local function is_plain_reducer(tree)
  return tree.tag == "over all" or is_reducer(tree) and not select(2, reducer_of(tree))
end

-- Whether a delta stands in a tree, not over time: its values are parts of what was counted.
local function is_counted(tree)
  return has(tree, function(below) return below.name == "delta" end,
    function(below) return is_reducer(below) or reduction.is_over_time(below) end)
end

-- The context of what stands inside of a reducer, or in groups within.
local function inside_of(context, group)
  return { text = context.text, names = context.names, clock = context.clock, group = group }
end

local function refuse_reducer(tree)
  refuse(tree, "%s() stands within a reducer, or in where: max(sum(x) by (name)) is of groups of the kstats, " ..
    "max(sum(x), 1h) over time; having sum(x) > 1 chooses groups", tree.name)
end

-- --- of a group -----------------------------------------------------------------------------------

-- The source of values that a tree is: every number of a kstat, their rates, an expression, or nil: the kstats.
local function source_of(tree, context, build)
  local group = context.group
  local known = ""
  if tree then
    known = tree.tag == "all" and "*" or tree.text or tree.call and tostring(tree.call)
  end
  for _, source in ipairs(group.sources) do
    if known and source.text == known then
      return source
    end
  end
  local source = { text = known or context.text, index = #group.sources + 1, accumulators = {} }
  group.sources[source.index] = source
  if not tree then
    source.kstats = true
  elseif tree.tag == "call" and tree.name == "rate" and tree.arguments[1].tag == "all" then
    source.rate = true
  elseif tree.tag ~= "all" then
    source.expression = build(tree, inside_of(context))
  end
  source.is_single = source.kstats or source.expression ~= nil
  return source
end

-- How what a reducer comes to at each tick of a period becomes that of the period; nil: its values are put together.
local function fold_of(reducer, tree, over_time)
  local folds = reducers.FOLDS
  if reducer.key == "sum" and not over_time and is_counted(tree) then
    return folds.total
  elseif over_time and (reducer.key == "min" or reducer.key == "max") then
    return folds[reducer.key]
  end
  return (over_time or reducer.key == "sum" or reducer.key == "mean") and folds.mean or nil
end

-- Gives an accumulator, `made`, a place in groups, among those of its source in `list`, and a `fold`: what a period
-- makes of it. Equal ones of a source are one, by their `key`.
local function place_of(context, made, fold, list, key, all)
  local group = context.group
  all = all or false
  for _, accumulator in ipairs(key and list or {}) do
    if accumulator.key == key and accumulator.all == all and accumulator.fold == fold then
      return accumulator
    end
  end
  local accumulator = { key = key, windowed = made.windowed, all = all, index = #group.accumulators + 1, add = made.add,
    get = made.get, new = made.new, merge = made.merge, texts = made.texts, fold = fold }
  group.accumulators[accumulator.index] = accumulator
  group.timed, group.all = group.timed or made.timed, group.all or all
  if list then
    list[#list + 1] = accumulator
  end
  return accumulator
end

-- A function that reads an accumulator of a group by `get`, or what a period has folded; of distributions a period has
-- all values. which: the source that may have these.
local function reading(accumulator, get, which)
  local all, index, fold = accumulator.all, accumulator.index, accumulator.fold
  function accumulator.read(group)
    group = all and group.everything or group
    return get(group[index], group)
  end
  return function(group)
    group = all and group.everything or group
    if fold and group.folded and not (group.distributions and group.distributions[which]) then
      return group.folded[index] and fold.get(group.folded[index])
    end
    return get(group[index], group)
  end
end

local function of_group(reducer, tree, context, build, all, seconds)
  local source, group = source_of(tree, context, build), context.group
  local windowed = seconds and window.accumulator(reducer, context.text, seconds, context.clock)
  local made = windowed or reducer.make()
  local accumulator = place_of(context, made, fold_of(reducer, tree or {}, seconds), source.accumulators,
    not windowed and reducer.key, all)
  source.texts, source.title = source.texts or made.texts, source.title or reducer.title
  source.of_numbers = source.of_numbers or not reducer.of and reducer.title
  group.empty = group.empty or reducer.key == "absent"
  group.of_nothing = group.of_nothing or reducer.of_nothing
  local get, which = not windowed and reducer.get or accumulator.get, source.index
  return reading(accumulator, function(state, of)
    local distribution = not windowed and of.distributions and of.distributions[which]
    if distribution then
      return reducer.of and reducer:of(distribution)
    end
    return get(state)
  end, which)
end

-- A reducer of what other groups come to: those of the same kstats by further keys, or without keys the group itself.
local function of_groups(reducer, tree, context, build, seconds)
  local group = context.group
  local child = reduction.nest(group, tree.by or {})
  local get_value = build(tree, inside_of(context, child))
  local windowed = seconds and window.accumulator(reducer, context.text, seconds, context.clock)
  local accumulator = place_of(context, windowed or reducer.make(), fold_of(reducer, {}, seconds))
  accumulator.nested, child.get_value = child, get_value
  return reading(accumulator, not windowed and reducer.get or accumulator.get)
end

-- A function that is over time and of groups, which a period folds.
local function folding(get, fold, context)
  local accumulator = place_of(context, { windowed = true, merge = window.refuse_merge }, fold)
  return reading(accumulator, function(_, group) return get(group) end)
end

--- A `reducer` of a script's own (kstat.aggregate), over the kstats of a group.
function reduction.own(tree, context, build)
  local own, source = tree.reducer, source_of(tree.arguments[1], context, build)
  -- A state that is no table is replaced by what add and merge return.
  local function changed(state, other)
    if other == nil then
      return state
    end
    return other
  end
  local accumulator = place_of(context, {
    new = function() return own.new() end,
    add = function(state, values, n, _, k)
      for i = 1, n do
        state = changed(state, own.add(state, values[i], k))
      end
      return state
    end,
    merge = function(state, other) return changed(state, own.merge(state, other)) end,
  }, nil, source.accumulators)
  return reading(accumulator, own.result)
end

--- What stands outside of reducers is of the one kstat that has the keys; where there are several, a line says what to
-- type.
function reduction.bare(tree, context, build)
  local text = tree.text or tree.value or context.text
  local reducer = setmetatable({ get = function(state)
    if state and state.several then
      core.fail(("'%s' is of several kstats here: avg(%s)?"):format(text, text), 2)
    end
    return state and state.value
  end }, { __index = reducers.only })
  context.group.bare = true
  return of_group(reducer, tree, context, build)
end

-- --- of one kstat ------------------------------------------------------------------------------------

-- What a reducer comes to over rows.
local function reduce(reducer, accumulator, e, rows)
  local get, one, n = reducer.get or accumulator.get, {}, 0
  local state, merged = accumulator.new and accumulator.new(), nil
  for i = 1, #rows do
    local v = e(rows[i], 0)
    if type(v) == "userdata" then
      merged = merged and merged + v or v
    elseif not accumulator.texts then
      v = tonumber(v)
    end
    if v ~= nil and v == v and not merged then
      one[1], n = v, n + 1
      state = accumulator.add(state, one, 1, 0)
    end
  end
  if merged then
    return reducer.of and reducer:of(merged)
  end
  return (n > 0 or reducer.of_nothing) and get(state) or nil
end

-- Of one value: that of a kstat alone.
local function alone(reducer, e)
  local accumulator, rows = reducer.make(), {}
  return function(row)
    rows[1] = row
    return reduce(reducer, accumulator, e, rows)
  end
end

-- Of all rows of a report, once in each tick.
local function of_rows(reducer, e, run)
  local accumulator, tick, result = reducer.make(), nil, nil
  run.over_all = true
  return function()
    if tick ~= run.tick then
      tick, result = run.tick, reduce(reducer, accumulator, e, run.rows)
    end
    return result
  end
end

-- --- over time ------------------------------------------------------------------------------------------

local ONE = { "an expression and a time", 2 }
local TAKES = { trend = ONE, rate = ONE, changes = ONE, resets = ONE,
  ["until"] = { "an expression, its goal and a time", 3 }, since = { "an expression and perhaps a time", 2, 1 } }

--- Whether a tree is over time, but no reducer.
function reduction.is_over_time(tree)
  local second = tree.arguments and tree.arguments[2]
  return tree.tag == "ago" or tree.tag == "call" and TAKES[tree.name] ~= nil and
    (tree.name ~= "rate" or second ~= nil and second.tag == "duration")
end

--- The names of functions over time.
reduction.OVER_TIME = TAKES

--- What is over time, and no reducer: see kstat.figures.expression.window.
function reduction.over_time(tree, context, build)
  local name, arguments, takes = tree.name or "ago", tree.arguments, TAKES[tree.name]
  local seconds = tree.value
  if arguments then
    local n
    seconds, n = time_of(tree, 1)
    if not (seconds and #arguments == takes[2] or not seconds and n == takes[3]) then
      refuse(tree, "%s() takes %s, such as %s(x, %s30m)", name, takes[1], name, name == "until" and "0, " or "")
    end
  end
  if not context.clock then
    refuse(tree, "what is over time is for kstat -a and the columns of reports")
  end
  local values = arguments and arguments[1] or tree[1]
  local of_group_values = context.group and reduction.level(values) == 2
  if reduction.level(values) == 0 then
    refuse(tree, "%s of a number says nothing: (sum(x) * 2) ago 1d needs parentheses", name)
  end
  if of_group_values and (name == "rate" or takes and name ~= "trend" and name ~= "until") then
    refuse(tree, "%s() stands inside of reducers, as in sum(%s(x, 5m))", name, name)
  end
  local inside = of_group_values and context or
    { text = context.text, names = context.names, clock = context.clock, run = context.run }
  local get = window.over_time(name, context.text, build(values, inside), name == "until" and
    build(arguments[2], inside), seconds or math.huge, context, of_group_values)
  return of_group_values and context.group.by_time and folding(get, reducers.FOLDS.mean, context) or get
end

--- A call of a reducer; all: it is of all kstats.
function reduction.make(tree, context, build, all)
  local reducer, seconds = reducer_of(tree)
  local argument, inside, group = tree.arguments[1], inside_of(context), context.group
  local reduced = argument.by or has(argument, is_plain_reducer)
  local of_values = group and (argument.by or seconds or group.by_time) -- a reducer may stand within this one
  if seconds and not context.clock then
    refuse(tree, "a window is for kstat -a and the columns of reports")
  elseif reduced and not of_values then
    refuse_reducer(not argument.by and argument.name and argument or tree)
  elseif group and (argument.by or reduced and not seconds) then
    return of_groups(reducer, argument, context, build, seconds)
  elseif group and seconds and reduction.level(argument) == 2 then
    local get = window.reducer(reducer, context.text, build(argument, context), seconds, context, true)
    return group.by_time and folding(get, fold_of(reducer, argument, seconds), context) or get
  elseif group then
    return of_group(reducer, argument, context, build, all, seconds)
  elseif not seconds and context.clock and not context.run then
    refuse_reducer(tree)
  elseif reducer.distribution then
    refuse(tree, "%s() is for kstat -a and kstat.aggregate", tree.name)
  elseif seconds and all then
    refuse(tree, "over all has no window in a column")
  elseif seconds or not all and context.run and reducer.key == "digest" then
    return window.reducer(reducer, context.text, build(argument, inside), seconds or math.huge, context)
  elseif all then
    return of_rows(reducer, build(argument, inside), context.run)
  end
  return alone(reducer, build(argument, inside))
end

--- The values of a reducer alone, of an item: every number, or for count the kstats.
function reduction.reducer(tree, context, build)
  local reducer, problem = reducers.make(tree.value, {})
  reducer = reducer or refuse(tree, "%s", problem)
  return of_group(reducer, tree.value ~= "count" and { tag = "all" } or nil, context, build)
end

return reduction
