--- What an aggregation is made of: its keys, what it computes of each group, and what is read for that.
--
-- @module kstat.aggregate.definition
local core = require("kstat.core")
local expression = require("kstat.expression")
local grammar = require("kstat.expression.grammar")
local reducers = require("kstat.reducers")
local reduction = require("kstat.expression.reduction")
local unknown = require("kstat.unknown")

local definition = {}

local HEADER = { module = true, instance = true, name = true, class = true, publisher = true }
local KNOWN = { reduce = true, by = true, of = true, where = true, top = true, bottom = true, over_time = true,
  rate = true, rest = true }
local DAY = 86400

-- --- keys -----------------------------------------------------------------------------------------

-- A group of the selectors' regular expressions.
local function make_group_column(self, group)
  local column = { title = tonumber(group) and "$" .. group or group, group = tonumber(group) or group }
  function column.value(k, statistic)
    for _, source in ipairs(self.groups[column.group]) do
      local text = source.selector:capture(k, statistic, source.number)
      if text and source.selector:matches(k, statistic) then
        return text
      end
    end
    return nil
  end
  return column
end

-- The beginning of the period that the time is in, as text that sorts; periods begin with the day.
local function make_time_column(self, tree)
  local seconds = tree.value
  if seconds < 1 or seconds % 1 ~= 0 or DAY % seconds ~= 0 then
    return nil, ("time() takes whole seconds that a day is a multiple of, at character %d"):format(tree.at)
  end
  local format = seconds == DAY and "%Y-%m-%d" or seconds % 60 == 0 and "%Y-%m-%d %H:%M" or "%Y-%m-%d %H:%M:%S"
  self.by_time = true
  return { title = "time", of_kstat = function()
    local now = self.seconds
    local t = os.date("*t", now)
    return os.date(format, now - (t.hour * 3600 + t.min * 60 + t.sec) % seconds)
  end }
end

-- A key that a text names.
local function make_column(self, tree)
  local name = tree.value
  if tree.tag == "$" then
    return make_group_column(self, name)
  elseif tree.tag == "time" then
    return make_time_column(self, tree)
  elseif HEADER[name] then
    return { title = name, header = name }
  elseif name == "statistic" then
    return { title = name, value = function(_, statistic) return statistic end }
  end
  self.names[#self.names + 1] = name
  return { title = name, of_kstat = function(k)
    return core.kstat_methods.get(self.differing and k:now() or k, name)
  end }
end

-- The keys that a table has.
local function make_own_columns(self, by, level)
  for i, given in ipairs(type(by) == "table" and by or { by }) do
    local title, value = given, nil
    if type(given) == "table" then
      title, value = given[1], given[2]
    elseif type(given) == "function" then
      title, value = "key", given
    end
    if type(title) ~= "string" or value ~= nil and type(value) ~= "function" then
      error("aggregate: a key is a name, a function, or { name, function }", level + 1)
    elseif value then
      self.columns[i] = { title = title, value = value }
    else
      local tree, problem = grammar.key(title)
      if tree then
        self.columns[i], problem = make_column(self, tree)
      end
      if problem then
        error("aggregate: " .. problem, level + 1)
      end
    end
  end
end

-- What an aggregation has before anything is asked for.
local function nothing()
  return { columns = {}, values = {}, titles = {}, groups = {}, names = {}, sources = {}, accumulators = {},
    clock = { tick = 0, seen = {} } }
end

-- --- values -----------------------------------------------------------------------------------------

-- Whether an item is a reducer in the short form, with nothing but its numbers: its expression follows `of`.
local function is_short(tree)
  local short = tree.tag == "reducer" or reduction.is_reducer(tree)
  for _, argument in ipairs(tree.arguments or {}) do
    short = short and argument.tag == "number"
  end
  return short
end

-- What is shown of each group: `title`, `name` and `get`, a function(row).
local function make_value(self, tree, of, text)
  local short, name = is_short(tree), text:sub(tree.from or 1, (tree.to or 1) - 1):gsub("%s+$", "")
  if short then
    local arguments = { of or { tag = "all" } }
    for i, number in ipairs(tree.arguments or {}) do
      arguments[i + 1] = number
    end
    tree = { tag = "call", at = tree.at, name = tree.name or tree.value, arguments = arguments }
    local numbers = {}
    for i = 2, #arguments do
      numbers[i - 1] = arguments[i].value
    end
    local reducer, problem = reducers.make(tree.name, numbers)
    if not reducer then
      return nil, ("%s, at character %d of '%s'"):format(problem, tree.at, text)
    end
    name = reducer.name
  end
  local get, problem = expression.make(tree, { text = text, names = self.names, group = self, clock = self.clock })
  return get and { title = short and tree.name or name, name = name, get = get,
    distribution = tree.tag == "call" and (tree.name == "heat" or
      tree.name:find("quantize$") ~= nil), heat = tree.name == "heat" and {} },
    problem
end

-- Gives reducers of one kind their arguments as part of their title: "ewma 10", "ewma 60".
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

-- What is wrong with a rest of these values: a window over a group has times that are not those of other groups.
local function wrong_rest(self)
  for _, accumulator in ipairs(self.accumulators) do
    if accumulator.windowed then
      return "windows over groups do not tell the rest; sum(avg(x, 60s)) is one of each kstat"
    end
  end
  return nil
end

-- The first value or named key that is there twice; two functions may be two keys.
local function recurring(self, by)
  local seen = {}
  for _, value in ipairs(self.values) do
    if seen[value.name] then
      return value.name
    end
    seen[value.name] = true
  end
  seen = {}
  for _, key in ipairs(by) do
    if type(key) == "string" and seen[key] then
      return key
    end
    seen[key] = true
  end
  return nil
end

-- --- the whole ------------------------------------------------------------------------------------

local OWN = { new = true, add = true, result = true, merge = true }

-- Checks a reducer of a script's own.
local function check_own(reducer, level)
  local name = reducer[1]
  if type(name) ~= "string" then
    error("aggregate: a reducer of one's own begins with its name: { name, new =, add =, result = }", level + 1)
  end
  for field, value in pairs(reducer) do
    if field ~= 1 and not OWN[field] then
      error(unknown.line(("aggregate: reducer '%s': unknown field"):format(name), tostring(field), OWN), level + 1)
    elseif field ~= 1 and type(value) ~= "function" then
      error(("aggregate: reducer '%s': %s is a function, got %s"):format(name, field, type(value)), level + 1)
    end
  end
  for _, field in ipairs({ "new", "add", "result" }) do
    if not reducer[field] then
      error(("aggregate: reducer '%s': %s is missing"):format(name, field), level + 1)
    end
  end
  local function merge()
    error(("aggregate: reducer '%s' has no function merge"):format(name), 0)
  end
  return { name, new = reducer.new, add = reducer.add, result = reducer.result, merge = reducer.merge or merge }
end

-- Checks a reducer that is text.
local function check_reducer(text, level)
  if type(text) ~= "string" then
    error("aggregate: a reducer expected, got " .. type(text), level + 1)
  end
  local found, problem = grammar.question(text)
  if found and not (#(found.items or {}) == 1 and next(found) == "items" and not next(found, "items")) then
    problem = ("one reducer expected, got '%s'"):format(text)
  elseif found then
    local _
    _, problem = make_value(nothing(), found.items[1], nil, text)
  end
  if problem then
    error("aggregate: " .. problem, level + 1)
  end
end

-- The text form of a table but for its keys, and the reducers of the script's own by their places. `of` may be a
-- function, which is not in the text.
local function text_of(given, level)
  local reduce = (type(given.reduce) ~= "table" or given.reduce.new) and { given.reduce } or given.reduce
  local texts, own = {}, {}
  for i, one in ipairs(reduce) do
    if type(one) == "table" then
      own[i] = check_own(one, level + 1)
    else
      check_reducer(one, level + 1)
      texts[#texts + 1] = one
    end
  end
  if #reduce == 0 then
    error("aggregate: reducers are missing", level + 1)
  end
  local text = texts[1] and table.concat(texts, ", ") or "count" -- which is left out again
  for _, clause in ipairs({ "of", "where" }) do
    local part = given[clause] or clause == "of" and given.rate and "rate(*)" or nil
    if part ~= nil and type(part) ~= "string" and not (clause == "of" and type(part) == "function") then
      error(("aggregate: %s is an expression (string%s), got %s"):format(clause, clause == "of" and
        " or function" or "", type(part)), level + 1)
    elseif type(part) == "string" then
      local tree, problem = grammar.expression(part)
      if not tree then
        return nil, problem
      end
      text = ("%s %s %s"):format(text, clause, part)
    end
  end
  return text, nil, own, #texts
end

-- Puts the reducers of the script's own into their places among the others.
local function add_own(self, own, ntexts, of)
  for i = #self.values, ntexts + 1, -1 do
    self.values[i] = nil
  end
  for i = 1, ntexts + 100 do
    if own[i] then
      local tree = { tag = "own", reducer = own[i], arguments = { of or { tag = "all" } } }
      local get, problem = expression.make(tree, { text = own[i][1], names = self.names, group = self,
        clock = self.clock })
      if not get then
        return nil, problem
      end
      table.insert(self.values, i, { title = own[i][1], name = own[i][1], get = get })
    end
  end
  return true
end

-- Sorts the keys: those of the header and of the kstat decide once for all statistics of a kstat, so they come first in
-- the tree of keys, whatever their order on paper. `late` are the others.
local function make_path(self)
  self.path, self.late = {}, {}
  for i, column in ipairs(self.columns) do
    if not column.value then
      self.path[#self.path + 1] = i
    end
  end
  self.early = #self.path
  for i, column in ipairs(self.columns) do
    if column.value then
      self.path[#self.path + 1] = i
      self.late[#self.late + 1] = column
    end
  end
end

local function check_table(given, level)
  for field in pairs(given) do
    if not KNOWN[field] then
      error(unknown.line("aggregate: unknown field", tostring(field), KNOWN), level + 1)
    end
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

-- Adds what the text asks for: values, keys and the filter. Returns true | nil, what is wrong
local function make_question(self, question, text, of_function)
  local of = of_function and { tag = "function", call = of_function } or question.of and question.of[1]
  self.of = of_function and "function" or of and text:sub(of.from, of.to - 1):gsub("%s+$", "") or nil
  for i, tree in ipairs(question.items or { { tag = "reducer", at = 1, value = "sum" } }) do
    local value, problem = make_value(self, tree, of, text)
    if not value then
      return nil, problem
    end
    self.values[i] = value
  end
  local by = question.by or self.bare and { { value = "module" }, { value = "instance" }, { value = "name" } } or {}
  for i, tree in ipairs(#self.columns == 0 and by or {}) do
    local column, problem = make_column(self, tree)
    if not column then
      return nil, ("%s of '%s'"):format(problem, text)
    end
    self.columns[i] = column
  end
  if question.where then
    local problem
    self.where, problem = expression.make(question.where[1], { text = text, names = self.names, clock = self.clock })
    return self.where, problem
  end
  return true
end

--- What an aggregation is made of.
-- @tparam table|string given see `kstat.aggregate`
-- @int level whose mistakes are blamed
-- @treturn[1] table `columns` (of the key: `title`, and `header`, `of_kstat` or `value`), `values` (`title`, `name`,
-- `get`), the `sources` and `accumulators` that they read (kstat.expression), `where`, `titles` (of all columns),
-- `groups`, `timed`, `of`, `names` (of statistics), `top`, `bottom`, `over_time`, `path` (the columns in the order of
-- the tree of keys), `early` of which belong to a kstat, and `late` (the others), `differs`: it takes differences
-- @fails what is wrong; "EINVAL"
-- @raise on a wrong table
function definition.compile(given, level)
  level = level + 1
  local self = nothing()
  local text, problem, by, own, ntexts = given, nil, {}, {}, nil
  if type(given) == "table" then
    check_table(given, level)
    text, problem, own, ntexts = text_of(given, level)
    by = given.by == nil and {} or type(given.by) == "table" and given.by or { given.by }
    make_own_columns(self, by, level)
  end
  local question = nil
  if text then
    question, problem = grammar.question(text)
  end
  if not question then
    return nil, problem, "EINVAL"
  end
  local ok
  local of = type(given) == "table" and type(given.of) == "function" and given.of or nil
  ok, problem = make_question(self, question, text, of)
  if ok and own and next(own) then
    ok, problem = add_own(self, own, ntexts, of and { tag = "function", call = of } or question.of and question.of[1])
  end
  if not ok then
    return nil, problem, "EINVAL"
  end
  problem = (question.rest or type(given) == "table" and given.rest) and wrong_rest(self)
  if problem then
    return nil, problem, "EINVAL"
  end
  make_titles_unique(self.values)
  for _, tree in ipairs(question.by or {}) do
    by[#by + 1] = tree.tag .. " " .. tree.value
  end
  local twice = recurring(self, by)
  if twice then
    return nil, ("'%s' is there twice"):format((twice:gsub("^name ", ""))), "EINVAL"
  end
  for _, list in ipairs({ self.columns, self.values }) do
    for _, column in ipairs(list) do
      self.titles[#self.titles + 1] = column.title
    end
  end
  self.top, self.bottom = question.top and question.top[1] or given.top, question.bottom and question.bottom[1] or
    given.bottom
  self.rest = (self.top or self.bottom) and (question.rest and "rest" or type(given) == "table" and given.rest) or nil
  self.over_time = question.over_time ~= nil or self.by_time or type(given) == "table" and given.over_time or false
  self.differs = self.where ~= nil
  for _, source in ipairs(self.sources) do
    self.differs = self.differs or source.rate or source.expression ~= nil
  end
  make_path(self)
  return self
end

return definition
