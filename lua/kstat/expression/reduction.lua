--- Reducers in expressions: over the kstats of a group, over a kstat alone, and over the intervals of a report.
--
-- A group is read as a row with two keys of its own, `reduction.GROUP` and `reduction.ALL`: the states of the group's
-- accumulators, and of those over all groups, at the indices that the accumulators have in the context; and the merged
-- distributions, if the values were such, by source in `distributions`.
--
-- @module kstat.expression.reduction
local reducers = require("kstat.reducers")

local reduction = { GROUP = {}, ALL = {} }

local GROUP, ALL = reduction.GROUP, reduction.ALL
local LEVELS = { number = 0, text = 0, duration = 0, regex = 0, name = 1, all = 1, ["function"] = 1, own = 2 }

-- Whether a tree is a call of a reducer: min and max of several values are functions.
local function is_reducer(tree)
  local arguments = tree.arguments
  return tree.tag == "call" and reducers.known(tree.name) and not ((tree.name == "min" or tree.name == "max") and
    arguments[2] and arguments[2].tag ~= "duration")
end
reduction.is_reducer = is_reducer

--- What a tree has values of: 0: it is a constant, 1: of each kstat, 2: of a group.
-- @tparam table tree
-- @treturn int
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

-- The reducer of a call, and the seconds of its window: the arguments behind the first one are numbers, then a time.
local function reducer_of(tree)
  local numbers, seconds, n = {}, nil, #tree.arguments
  local last, kind = tree.arguments[n], reducers.KINDS[tree.name]
  local needed = kind and kind[1] or 0
  if last.tag == "duration" and n - 2 >= needed then
    seconds, n = last.value, n - 1
  end
  for i = 2, n do
    local argument = tree.arguments[i]
    if argument.tag ~= "number" and argument.tag ~= "duration" then
      refuse(tree, needed > 0 and "%s() takes numbers behind its expression" or
        "%s() takes one expression", tree.name)
    end
    numbers[#numbers + 1], numbers.time = argument.value, argument.tag == "duration"
  end
  local reducer, problem = reducers.make(tree.name, numbers)
  return reducer or refuse(tree, "%s", problem), seconds
end

-- --- of a group -----------------------------------------------------------------------------------

-- The source of values that a tree is: every number of a kstat, their rates, or an expression.
local function source_of(tree, context, build)
  local group = context.group
  local known = tree.tag == "all" and "*" or tree.tag == "function" and tostring(tree.call) or
    tree.from and context.text:sub(tree.from, tree.to - 1):gsub("%s+$", "")
  local text = known or context.text
  for _, source in ipairs(known and group.sources or {}) do
    if source.text == text then
      return source
    end
  end
  local source = { text = text, index = #group.sources + 1, accumulators = {} }
  group.sources[source.index] = source
  if tree.tag == "call" and tree.name == "rate" and tree.arguments[1].tag == "all" then
    source.rate, source.of_interval = true, true
  elseif tree.tag ~= "all" then
    source.of_interval = require("kstat.expression.window").is_of_interval(tree)
    source.expression = build(tree, { text = context.text, names = context.names, clock = context.clock })
  end
  return source
end

-- The place of a reducer's accumulator; equal ones of the same source are one.
local function place_of(source, reducer, group, all, windowed)
  for _, accumulator in ipairs(windowed and {} or source.accumulators) do
    if accumulator.key == reducer.key and accumulator.all == all then
      return accumulator
    end
  end
  local made = windowed or reducer.make()
  local accumulator = { key = not windowed and reducer.key, windowed = windowed, all = all,
    index = #group.accumulators + 1, add = made.add, get = made.get,
    new = made.new, merge = made.merge, texts = made.texts }
  group.accumulators[accumulator.index] = accumulator
  group.timed, group.all, source.texts = group.timed or made.timed, group.all or all, source.texts or made.texts
  source.accumulators[#source.accumulators + 1] = accumulator
  return accumulator
end

local function of_group(reducer, tree, context, build, all, seconds)
  local source = source_of(tree, context, build)
  local windowed = seconds and
    require("kstat.expression.window").accumulator(reducer, context.text, tree, seconds, context.clock)
  local accumulator = place_of(source, reducer, context.group, all, windowed)
  local get = not windowed and reducer.get or accumulator.get
  local at, from, which = all and ALL or GROUP, accumulator.index, source.index
  source.of_numbers = source.of_numbers or not reducer.of and reducer.title
  return function(row)
    local group = row[at]
    local distribution = not windowed and group.distributions and group.distributions[which]
    if distribution then
      return reducer.of and reducer:of(distribution)
    end
    return get(group[from])
  end
end

--- A reducer of a script's own, over the kstats of a group.
-- @tparam table tree `arguments`, with the tree of the values, and the `reducer`, see kstat.aggregate
-- @tparam table context
-- @func build
-- @treturn function(row)
function reduction.own(tree, context, build)
  local own, source = tree.reducer, source_of(tree.arguments[1], context, build)
  -- A state that is no table is replaced by what add and merge return.
  local accumulator = place_of(source, nil, context.group, false, {
    new = function() return { own.new() } end,
    add = function(state, values, n, _, k)
      for i = 1, n do
        local changed = own.add(state[1], values[i], k)
        state[1] = changed == nil and state[1] or changed
      end
    end,
    merge = function(state, other)
      local changed = own.merge(state[1], other[1])
      state[1] = changed == nil and state[1] or changed
    end,
  })
  return function(row) return own.result(row[GROUP][accumulator.index][1]) end
end

--- What stands outside of reducers is of the one kstat that has the keys: nil where there are several.
-- @tparam table tree
-- @tparam table context
-- @func build
-- @treturn function(row)
function reduction.bare(tree, context, build)
  context.group.bare = true
  return of_group(reducers.only, tree, context, build)
end

-- --- of one kstat ------------------------------------------------------------------------------------

-- Of one value: that of a kstat alone.
local function alone(reducer, e)
  local accumulator, one = reducer.make(), {}
  local get = reducer.get or accumulator.get
  return function(row, mode)
    local v = e(row, mode)
    if type(v) == "userdata" then
      return reducer.of and reducer:of(v)
    elseif not accumulator.texts then
      v = tonumber(v)
    end
    if v == nil then
      return nil
    end
    one[1] = v
    local state = accumulator.new()
    accumulator.add(state, one, 1, 0)
    return get(state)
  end
end

-- Of all rows of a report, once in each tick.
local function of_rows(reducer, e, run)
  local accumulator, one, tick, result = reducer.make(), {}, nil, nil
  local get = reducer.get or accumulator.get
  run.over_all = true
  return function()
    if tick ~= run.tick then
      tick = run.tick
      local state, merged = accumulator.new(), nil
      for _, row in ipairs(run.rows) do
        local v = e(row, "boot")
        if type(v) == "userdata" then
          merged = merged and merged + v or v
        elseif type(v) == "number" and v == v then
          one[1] = v
          accumulator.add(state, one, 1, 0)
        end
      end
      if merged then
        result = reducer.of and reducer:of(merged)
      else
        result = get(state)
      end
    end
    return result
  end
end

local TAKES = { trend = "an expression and a time", ["until"] = "an expression, its goal and a time",
  rate = "an expression and a time" }

--- Makes a function of what is over time, and no reducer: see kstat.expression.window.
-- @tparam table tree
-- @tparam table context
-- @func build
-- @treturn function(row, mode)
function reduction.over_time(tree, context, build)
  local window, arguments = require("kstat.expression.window"), tree.arguments
  local last, count = arguments and arguments[#arguments], tree.name == "until" and 3 or 2
  if arguments and (#arguments ~= count or last.tag ~= "duration") then
    refuse(tree, "%s() takes %s, such as %s30m)", tree.name, TAKES[tree.name],
      tree.name == "until" and "until(x, 0, " or tree.name .. "(x, ")
  elseif not context.clock then
    refuse(tree, "what is over time is for kstat -a and the columns of reports")
  end
  local of_groups = context.group and reduction.level(arguments and arguments[1] or tree[1]) == 2
  if of_groups and tree.name == "rate" then
    refuse(tree, "rate() stands inside of reducers, as in sum(rate(x, 5m))")
  end
  local e = build(arguments and arguments[1] or tree[1], context)
  return window.make(tree, nil, e, count == 3 and build(arguments[2], context), last and last.value or tree.value,
    context, of_groups and GROUP or nil)
end

--- Makes a function of a call of a reducer.
-- @tparam table tree
-- @tparam table context see kstat.expression
-- @func build makes a function of a tree in a context
-- @tparam boolean all it is of all kstats
-- @treturn function(row, mode)
function reduction.make(tree, context, build, all)
  local reducer, seconds = reducer_of(tree)
  local argument, inside = tree.arguments[1], { text = context.text, names = context.names, clock = context.clock }
  if seconds and not context.clock then
    refuse(tree, "a window is for kstat -a and the columns of reports")
  elseif context.group and not (seconds and reduction.level(argument) == 2) then
    return of_group(reducer, argument, context, build, all, seconds)
  elseif reducer.distribution then
    refuse(tree, "%s() is for kstat -a and kstat.aggregate", tree.name)
  elseif seconds and all then
    refuse(tree, "over all has no window in a column")
  elseif seconds or not all and context.run and reducer.key == "digest" then
    local group = context.group and GROUP or nil
    return require("kstat.expression.window").make(tree, reducer, build(argument, group and context or inside), nil,
      seconds or math.huge, context, group)
  elseif all and not context.run then
    refuse(tree, "over all is for kstat -a and the columns of reports, outside of other reducers")
  elseif all then
    return of_rows(reducer, build(argument, inside), context.run)
  end
  return alone(reducer, build(argument, inside))
end

return reduction
