--- What an aggregation is made of: its keys, what it computes of each group, and what is read for that.
-- @module kstat.aggregate.definition
local expression = require("kstat.figures.expression")
local foreign = require("kstat.figures.foreign")
local grammar = require("kstat.figures.expression.grammar")
local reducers = require("kstat.figures.reducers")
local reduction = require("kstat.figures.expression.reduction")
local unknown = require("kstat.base.unknown")
local window = require("kstat.figures.expression.window")

local definition = {}

local unpack = table.unpack or unpack

local HEADER = { module = true, instance = true, name = true, class = true, publisher = true, host = true }
local KNOWN = { reduce = true, by = true, of = true, where = true, having = true, top = true, bottom = true,
  rest = true }
local GONE = { rate = "reduce = 'sum(rate(*))'", over_time = "a window, such as 'sum(x, 1h)', or a key time(3600)" }
local DAY = 86400
local EVERYTHING = { tag = "reducer", at = 1, value = "sum", text = "sum", whole = "sum" } -- a question of keys alone
local WEEKDAYS = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" }

-- --- keys -----------------------------------------------------------------------------------------

--- The number of a capture group of a selector, or nil if it has none.
function definition.capture_of(sel, group)
  if type(group) == "string" then
    return sel:group(group)
  end
  return group >= 1 and group <= sel:group() and group or nil
end

-- A group of the selectors' regular expressions.
local function make_group_column(self, name)
  local captures, group = self.captures, tonumber(name) or name
  captures[#captures + 1] = group
  return { title = tonumber(name) and "$" .. name or name, group = group, value = function(k, statistic)
    for _, sel in ipairs(captures.selectors) do
      local number = definition.capture_of(sel, group)
      local text = number and sel:capture(k, statistic, number)
      if text and sel:matches(k, statistic) then
        return text
      end
    end
    return nil
  end }
end

-- The period that a time is in: the beginning of so many seconds, as text that sorts, periods begin with the day; or
-- the hour of the day; or the day of the week.
local function make_time_column(self, tree)
  local seconds = tree.value
  self.by_time = true
  if seconds == "hour" then
    return { title = seconds, period = function(now) return os.date("*t", now).hour end }
  elseif seconds == "weekday" then
    return { title = seconds, period = function(now) return WEEKDAYS[os.date("*t", now).wday] end }
  elseif seconds < 1 or seconds % 1 ~= 0 or DAY % seconds ~= 0 then
    expression.refuse(tree, "time() takes whole seconds that a day is a multiple of")
  end
  return { title = "time", period = function(now)
    local t = os.date("*t", now)
    local from = t.hour * 3600 + t.min * 60 + t.sec -- of the clock on the wall: days may have 23 or 25 hours
    from = from - from % seconds
    local minutes = math.floor(from / 60)
    return ("%d-%02d-%02d"):format(t.year, t.month, t.day) ..
      (seconds < DAY and (" %02d:%02d"):format(math.floor(minutes / 60), minutes % 60) or "") ..
      (seconds % 60 ~= 0 and (":%02d"):format(from % 60) or "")
  end }
end

-- A key of a tree.
local function make_column(self, tree)
  local name = tree.value
  if tree.tag == "function" then
    return { title = name, value = tree.call }
  elseif tree.tag == "$" then
    return make_group_column(self, name)
  elseif tree.tag == "time" then
    return make_time_column(self, tree)
  elseif tree.tag == "name" and HEADER[name] then
    return { title = name, header = name }
  elseif tree.tag == "name" and name == "statistic" then
    return { title = name, value = function(_, statistic) return statistic end }
  end
  self.of_differences = true
  return { title = tree.tag == "name" and name or tree.text,
    of_kstat = expression.make(tree, { names = self.names, clock = self.clock }) }
end

-- A level (kstat.aggregate.groups) of what was added for periods.
local function periods_of(self, path)
  return { columns = self.columns, path = path, tree = {}, list = {}, accumulators = self.accumulators, children = {},
    is_past = true }
end

-- Sorts the keys, whose numbers are the `path` of the tree of groups. Those of the header and of the kstat, `early`,
-- decide once for all statistics of a kstat, so they come first, whatever their order on paper; then those that are
-- `late`. Those of time are in the trees of the periods: `past` has the groups of each, `whole` what is of all groups
-- of each.
local function make_path(self)
  local times, early, late = {}, {}, {}
  local are_fixed = true
  self.early, self.late = {}, {}
  for i, column in ipairs(self.columns) do
    local list, columns = late, self.late
    if column.period then
      list, columns = times, {}
    elseif not column.value then
      list, columns, are_fixed = early, self.early, are_fixed and column.header ~= nil
    end
    list[#list + 1], columns[#columns + 1] = i, column
  end
  self.path = early
  for _, i in ipairs(late) do
    early[#early + 1] = i
  end
  if are_fixed and self.early[1] and not self.late[1] then
    self.members, self.nmembers = {}, 0
  end
  if times[1] then
    local path = { unpack(times) }
    for _, i in ipairs(self.path) do
      path[#path + 1] = i
    end
    self.past, self.whole = periods_of(self, path), periods_of(self, times)
  end
end

-- What an aggregation has before anything is asked for.
local function nothing(outer)
  outer = outer or { captures = {}, names = {}, clock = window.clock({ is_of_kstats = true }) }
  return { columns = {}, values = {}, titles = {}, captures = outer.captures, names = outer.names, sources = {},
    accumulators = {}, sets = {}, children = {}, tree = {}, list = {}, values_of_path = {}, clock = outer.clock }
end

-- The groups that a group is divided into by further keys, for kstat.figures.expression.reduction.
function reduction.nest(self, keys)
  local child = nothing(self)
  for _, column in ipairs(self.columns) do
    child.columns[#child.columns + 1] = not column.period and column or nil
  end
  child.outer = #child.columns
  for _, tree in ipairs(keys) do
    local column = make_column(child, tree)
    if column.period then
      expression.refuse(tree, "a key of time stands in the outer by")
    end
    child.columns[#child.columns + 1] = column
  end
  make_path(child)
  self.children[#self.children + 1] = child
  return child
end

-- --- values -----------------------------------------------------------------------------------------

-- Whether an item is a reducer with nothing but its numbers: it is of every number.
local function is_short(tree)
  local short = tree.tag == "reducer" or reduction.is_reducer(tree)
  for _, argument in ipairs(tree.arguments or {}) do
    short = short and argument.tag == "number"
  end
  return short
end

-- What is shown of each group: `title`, `name` and `get`, a function(row). of: what a reducer alone is of.
local function make_value(self, tree, of)
  if tree.tag == "reducer" and not reducers.known(tree.value) and not unknown.nearest(tree.value, reducers.KINDS) then
    tree.tag = "name" -- a statistic of one kstat
  end
  local short, name = is_short(tree), tree.text
  if short and (of or tree.value ~= "count") then
    local arguments, numbers = { of or { tag = "all" } }, {}
    for i, number in ipairs(tree.arguments or {}) do
      arguments[i + 1], numbers[i] = number, number.value
    end
    tree = { tag = "call", at = tree.at, name = tree.name or tree.value, arguments = arguments, whole = tree.whole }
    local reducer, problem = reducers.make(tree.name, numbers)
    reducer = reducer or expression.refuse(tree, "%s", problem)
    name = numbers[1] and not reducer.arguments and tree.name .. " " .. table.concat(numbers, " ") or reducer.name
  end
  return { title = short and (tree.name or tree.value) or name, name = name,
    get = expression.make(tree, { names = self.names, group = self, clock = self.clock }),
    distribution = tree.tag == "call" and (tree.name == "heat" or tree.name:find("quantize$") ~= nil),
    heat = tree.name == "heat" and {} }
end

-- Gives reducers of one kind their arguments as part of their title: "p 10", "p 60".
local function make_titles_unique(list)
  local times = {}
  for _, value in ipairs(list) do
    times[value.title] = (times[value.title] or 0) + 1
  end
  for _, value in ipairs(list) do
    if times[value.title] > 1 then
      value.title = value.name
    end
  end
end

-- What is wrong with a rest of these values: windows have times that are not those of other groups.
local function wrong_rest(self)
  for _, accumulator in ipairs(self.accumulators) do
    if accumulator.nested then
      return "reducers of groups within do not tell the rest"
    end
  end
  return self.windowed and "windows over groups do not tell the rest; sum(avg(x, 60s)) is one of each kstat" or nil
end

-- The first value or named key that is there twice; two functions may be two keys.
local function recurring(self)
  local seen = { {}, {} }
  for i, list in ipairs({ self.values, self.columns }) do
    for _, one in ipairs(list) do
      local name = one.name or (not one.value or one.title == "statistic" or one.group) and one.title
      if name and seen[i][name] then
        return name
      end
      seen[i][name or ""] = true
    end
  end
  return nil
end

-- Adds what a question asks for: keys, values and filters. of: what reducers alone are of. Returns the question.
local function make_question(self, question, of)
  for i, tree in ipairs(question.by and question.by[1] or {}) do
    self.columns[i] = make_column(self, tree)
  end
  for i, tree in ipairs(question.items or { EVERYTHING }) do
    self.values[i] = make_value(self, tree, of)
  end
  for i, name in ipairs(self.bare and #self.columns == 0 and { "module", "instance", "name" } or {}) do
    self.columns[i] = { title = name, header = name }
  end
  local where, having = question.where, question.having
  if having and having[1].text:find("count%s*%(%s*%*%s*%)") then
    expression.refuse(having[1], "count(*) counts numbers, and count kstats")
  end
  self.where = where and expression.make(where[1], { names = self.names, clock = self.clock })
  self.having = having and expression.make(having[1], { names = self.names, clock = self.clock, group = self })
  return question
end

-- --- tables -----------------------------------------------------------------------------------------

local OWN = { new = true, add = true, result = true, merge = true }

-- Checks a reducer of a script's own.
local function check_own(reducer, level)
  local name = reducer[1]
  if type(name) ~= "string" then
    error("aggregate: a reducer of one's own begins with its name: { name, new =, add =, result = }", level + 1)
  end
  for field in pairs(reducer) do
    if field ~= 1 and not OWN[field] then
      error(unknown.line(("aggregate: reducer '%s': unknown field"):format(name), tostring(field), OWN), level + 1)
    end
  end
  for _, field in ipairs({ "new", "add", "result", "merge" }) do
    local kind = type(reducer[field])
    if kind ~= "function" and (kind ~= "nil" or field ~= "merge") then
      error(("aggregate: reducer '%s': %s is a function, got %s"):format(name, field, kind), level + 1)
    end
  end
  local function merge()
    error(("aggregate: reducer '%s' has no function merge"):format(name), 0)
  end
  return { name, new = reducer.new, add = reducer.add, result = reducer.result, merge = reducer.merge or merge }
end

local function check_table(given, level)
  for field in pairs(given) do
    if GONE[field] then
      error(("aggregate: there is no field '%s': %s"):format(field, GONE[field]), level + 1)
    elseif not KNOWN[field] then
      error(unknown.line("aggregate: unknown field", tostring(field), KNOWN), level + 1)
    end
  end
  if given.of ~= nil and type(given.of) ~= "function" then
    error("aggregate: of is a function of the kstat; an expression stands in its reducer: reduce = 'sum(rate(x))'",
      level + 1)
  end
  if given.rest ~= nil and type(given.rest) ~= "string" then
    error("aggregate: rest is what is left is called (string), got " .. type(given.rest), level + 1)
  end
  for _, field in ipairs({ "top", "bottom" }) do
    local n = given[field]
    if n ~= nil and not (type(n) == "number" and n >= 1 and n % 1 == 0) then
      error(("aggregate: %s is a whole number above 0"):format(field), level + 1)
    end
  end
end

-- What the texts of a table are read by: each gives a question that has nothing else, or nil and what is wrong.
local READ = {}

function READ.reducer(text)
  local found, problem = grammar.question(text)
  if found and not (#(found.items or {}) == 1 and next(found) == "items" and not next(found, "items")) then
    return nil, ("one reducer expected, got '%s'"):format(text)
  end
  return found, problem
end

function READ.key(text)
  local tree, problem = grammar.key(text)
  return tree and { by = { { tree } } }, problem
end

for _, clause in ipairs({ "where", "having" }) do
  READ[clause] = function(text)
    local tree, problem = grammar.expression(text)
    return tree and { [clause] = { tree } }, problem
  end
end

-- The question that a text asks, if it can be asked; else nil and what is wrong.
local function asked(text, reading, plan)
  local question, problem = reading(text)
  if not question then
    return nil, problem
  end
  return expression.try(text, make_question, plan or nothing(), question)
end

-- The question that a text of a table asks; what is wrong raises.
local function read(text, what, level)
  if type(text) ~= "string" then
    error(("aggregate: a %s expected, got %s"):format(what, type(text)), level + 1)
  end
  local question, problem = asked(text, READ[what])
  if not question then
    error("aggregate: " .. foreign.line(text, problem, function(meant) return asked(meant, READ[what]) end), level + 1)
  end
  return question
end

-- A key of a table.
local function key_of(given, level)
  local title, call = given, nil
  if type(given) == "table" then
    title, call = given[1], given[2]
  elseif type(given) == "function" then
    title, call = "key", given
  end
  if type(title) ~= "string" or call ~= nil and type(call) ~= "function" then
    error("aggregate: a key is a name, a function, or { name, function }", level + 1)
  end
  return call and { tag = "function", value = title, call = call } or read(title, "key", level + 1).by[1][1]
end

-- What a table asks for, as grammar.question() has it.
local function question_of(given, of, level)
  level = level + 1
  check_table(given, level)
  local reduce = (type(given.reduce) ~= "table" or given.reduce.new) and { given.reduce } or given.reduce
  local question = { items = {}, by = { {} }, top = { given.top }, bottom = { given.bottom }, rest = { given.rest } }
  for i, one in ipairs(reduce) do
    if type(one) == "table" then
      question.items[i] = { tag = "own", reducer = check_own(one, level), arguments = { of or { tag = "all" } },
        at = 1, text = one[1], whole = one[1] }
    else
      question.items[i] = read(one, "reducer", level).items[1]
    end
  end
  if #reduce == 0 then
    error("aggregate: reducers are missing", level)
  end
  for i, key in ipairs(type(given.by) == "table" and given.by or { given.by }) do
    question.by[1][i] = key_of(key, level)
  end
  for _, clause in ipairs({ "where", "having" }) do
    question[clause] = given[clause] ~= nil and read(given[clause], clause, level)[clause] or nil
  end
  return question
end

-- --- the whole ------------------------------------------------------------------------------------

-- Notes what follows from the sources and accumulators of an aggregation and of groups within.
local function look(self, plan)
  for _, source in ipairs(plan.sources) do
    self.differs = self.differs or source.rate or source.expression ~= nil
  end
  plan.windowed = plan.sets[1] ~= nil
  for _, accumulator in ipairs(plan.accumulators) do
    plan.windowed = plan.windowed or accumulator.windowed
  end
  for _, child in ipairs(plan.children) do
    look(self, child)
  end
  self.windows = self.windows or plan.windowed
end

--- What an aggregation is made of.
-- @tparam table|string given see `kstat.aggregate`
-- @int level whose mistakes are blamed
-- @treturn[1] table `columns` (of the key: `title`, and `header`, `of_kstat`, `period` or `value`), `values` (`title`,
-- `name`, `get`), the `sources`, `accumulators` and `sets` that they read (kstat.expression), `children`: the same of
-- groups within, `where`, `having`, `titles` (of all columns), `captures`, `timed`, `names` (of statistics), `top`,
-- `bottom`, what make_path() says, `by_time`: it has keys of time, `windows`: groups have windows, `is_over_time`: it
-- needs every tick, `differs`: it takes differences
-- @fails what is wrong; "EINVAL"
-- @raise on a wrong table
function definition.compile(given, level)
  local self, is_table = nothing(), type(given) == "table"
  local of = is_table and given.of and { tag = "function", call = given.of } or nil
  local question, problem
  if is_table then
    question = make_question(self, question_of(given, of, level + 1), of)
  else
    question, problem = asked(given, grammar.question, self)
  end
  if not question then
    return nil, foreign.line(given, problem, function(meant) return asked(meant, grammar.question) end), "EINVAL"
  end
  make_titles_unique(self.values)
  local twice = recurring(self)
  if twice then
    return nil, ("'%s' is there twice"):format(twice), "EINVAL"
  end
  for _, list in ipairs({ self.columns, self.values }) do
    for _, column in ipairs(list) do
      self.titles[#self.titles + 1] = column.title
    end
  end
  self.top, self.bottom = question.top and question.top[1], question.bottom and question.bottom[1]
  self.rest = (self.top or self.bottom) and question.rest and question.rest[1]
  look(self, self)
  self.is_over_time = self.by_time or self.windows or self.clock.sets[1] ~= nil
  self.differs = self.differs or self.where ~= nil or self.of_differences or self.is_over_time
  problem = self.rest and wrong_rest(self)
  if problem then
    return nil, problem, "EINVAL"
  end
  make_path(self)
  return self
end

return definition
