--- What an aggregation is made of: its keys, its reducers and their expression, out of what was given.
--
-- @module kstat.aggregate.definition
local grammar = require("kstat.aggregate.grammar")
local unknown = require("kstat.unknown")

local definition = {}

local HEADER = { module = true, instance = true, name = true, class = true, publisher = true }
local KNOWN = { reduce = true, by = true, of = true, top = true, over_time = true, rate = true }

-- A key column: `header`: a field of the kstat; else `value`: a function(k, statistic, value).
local function make_column(self, given, level)
  local title, value = given, nil
  if type(given) == "table" then
    title, value = given[1], given[2]
  elseif type(given) == "function" then
    title, value = "key", given
  end
  if type(title) ~= "string" or value ~= nil and type(value) ~= "function" then
    error("aggregate: a key is a name, a function, or { name, function }", level + 1)
  elseif value then
    return { title = title, value = value }
  elseif HEADER[title] then
    return { title = title, header = title }
  elseif title == "statistic" then
    return { title = title, value = function(_, statistic) return statistic end }
  end
  local group = title:match("^%$([%w_]+)$")
  if not group then
    error(("aggregate: there is no key '%s'"):format(title), level + 1)
  end
  local column = { title = tonumber(group) and title or group, group = tonumber(group) or group }
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

local function make_reducers(self, given, level)
  if type(given) ~= "table" or given.make then
    given = { given }
  end
  local index = {} -- of accumulators by key
  for i, reducer in ipairs(given) do
    if type(reducer) == "string" then
      local parsed, problem = grammar.parse(reducer)
      if not parsed or parsed.by or parsed.of or parsed.top or #parsed.reduce ~= 1 then
        problem = problem or ("one reducer expected, got '%s'"):format(reducer)
        error("aggregate: " .. problem, level + 1)
      end
      reducer = parsed.reduce[1]
    elseif type(reducer) ~= "table" or not reducer.make then
      error("aggregate: a reducer expected, got " .. type(reducer), level + 1)
    end
    if not index[reducer.key] then
      self.accumulators[#self.accumulators + 1] = reducer.make()
      index[reducer.key] = #self.accumulators
    end
    local accumulator = index[reducer.key]
    self.timed = self.timed or self.accumulators[accumulator].timed
    self.reducers[i] = {
      title = reducer.title, name = reducer.name,
      distribution = reducer.distribution, accumulator = accumulator,
      get = reducer.get or self.accumulators[accumulator].get,
    }
  end
  if #self.reducers == 0 then
    error("aggregate: reducers are missing", level + 1)
  end
end

-- Gives reducers of one kind their arguments as part of their title: "ewma 10", "ewma 60".
local function make_titles_unique(list)
  local times = {}
  for _, reducer in ipairs(list) do
    times[reducer.title] = (times[reducer.title] or 0) + 1
  end
  for _, reducer in ipairs(list) do
    if times[reducer.title] > 1 then
      reducer.title = reducer.name
    end
  end
end

-- The first reducer or named key that is there twice; two functions may be two keys.
local function recurring(self, keys)
  local seen = {}
  for _, reducer in ipairs(self.reducers) do
    if seen[reducer.name] then
      return reducer.name
    end
    seen[reducer.name] = true
  end
  seen = {}
  for _, key in ipairs(keys) do
    if type(key) == "string" and seen[key] then
      return key
    end
    seen[key] = true
  end
  return nil
end

-- What `of` says: an expression, or rates of everything.
local function make_expression(self, of)
  self.of = of or self.rate and "rate(*)" or nil
  if of == nil then
    return true
  elseif of:match("^%s*rate%s*%(%s*%*%s*%)%s*$") then
    self.rate = true
    return true
  end
  local compiled, names = require("kstat.expression").compile(of)
  if not compiled then
    return nil, names
  end
  self.expression, self.expression_text, self.names = compiled, (of:gsub("%s+$", "")), names
  return true
end

--- What an aggregation is made of.
-- @tparam table given see `kstat.aggregate`
-- @int level whose mistakes are blamed
-- @treturn[1] table `columns` (of the key: `title`, and `header` or `value`), `reducers`, the `accumulators` that
-- they read, `titles` (of all columns), `groups`, `timed`, `expression` and `expression_text`, `of`, `rate`, `top`,
-- `over_time`, `path` (the columns in the order of the tree of keys), `early` of which are fields of the header, and
-- `late` (the others)
-- @fails what is wrong; "EINVAL"
-- @raise on a wrong table
function definition.compile(given, level)
  level = level + 1
  for field in pairs(given) do
    if not KNOWN[field] then
      error(unknown.line("aggregate: unknown field", tostring(field), KNOWN), level)
    end
  end
  if given.top ~= nil and not (type(given.top) == "number" and given.top >= 1 and given.top % 1 == 0) then
    error("aggregate: top is a whole number above 0", level)
  elseif given.of ~= nil and type(given.of) ~= "string" then
    error("aggregate: of is an expression (string), got " .. type(given.of), level)
  end
  local self = {
    columns = {}, reducers = {}, accumulators = {}, titles = {}, groups = {},
    over_time = given.over_time or false, top = given.top, rate = given.rate or false,
  }
  local ok, problem = make_expression(self, given.of)
  if not ok then
    return nil, problem, "EINVAL"
  end
  make_reducers(self, given.reduce, level)
  make_titles_unique(self.reducers)
  local by = given.by == nil and {} or given.by
  by = type(by) == "table" and by or { by }
  for i, key in ipairs(by) do
    self.columns[i] = make_column(self, key, level)
    self.titles[i] = self.columns[i].title
  end
  for _, reducer in ipairs(self.reducers) do
    self.titles[#self.titles + 1] = reducer.title
  end
  local twice = recurring(self, by)
  if twice then
    return nil, ("'%s' is there twice"):format(twice), "EINVAL"
  end
  -- Columns of the header decide once for all statistics of a kstat, so they come first in the tree of
  -- keys, whatever their order on paper. `late` are the others.
  self.path, self.late = {}, {}
  for i, column in ipairs(self.columns) do
    if column.header then
      self.path[#self.path + 1] = i
    end
  end
  self.early = #self.path
  for i, column in ipairs(self.columns) do
    if not column.header then
      self.path[#self.path + 1] = i
      self.late[#self.late + 1] = column
    end
  end
  return self
end

return definition
