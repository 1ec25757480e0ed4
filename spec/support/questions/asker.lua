-- Random questions as trees, and their texts. Comparisons are with numbers that no value is, and what is subtracted has
-- an odd factor, so that an answer does not hang on the last bit of a number.
local exact = require("support.questions.exact")

local asker = {}

local GAUGES, COUNTERS = { "inflight", "load" }, { "requests", "errors" }
local FIELDS = { "module", "name", "class", "instance" }

local function number(value)
  local whole = value == math.floor(value)
  return { kind = "number", value = whole and exact.integer(value) or value,
    text = whole and ("%d"):format(value) or ("%.15g"):format(value) }
end

local function statistic(name)
  return { kind = "statistic", name = name }
end

local function call(operator, ...)
  return { kind = "call", operator = operator, ... }
end

-- A number that nothing is.
function asker:odd(low, high)
  return number(self.r:between(low, high) + self.r:one_of({ 0.0317, 0.2719, 0.6183, 0.8371 }))
end

-- A time that windows have: of one to ten distances, and not always whole ones.
function asker:length()
  return self.distance * self.r:one_of({ 1, 2, 2, 3, 3, 4, 5, 7.5, 10, 2.5 })
end

function asker:gauge()
  return statistic(self.r:one_of(GAUGES))
end

function asker:counter()
  return statistic(self.r:one_of(COUNTERS))
end

-- What `rate` and `delta` take: a statistic, or a sum of some.
function asker:linear(counters_only)
  local r, one = self.r, self:counter()
  if r:chance(8) then
    return statistic("big")
  elseif r:chance(20) then
    return call("+", one, self:counter())
  elseif r:chance(10) then
    return call("*", number(r:between(2, 9)), one)
  elseif not counters_only and r:chance(20) then
    return self:gauge()
  end
  return one
end

-- An expression whose values are multiples of 1/16, or integers.
function asker:simple()
  local r = self.r
  local choice = r:below(12)
  if choice < 4 then
    return self:gauge()
  elseif choice < 7 then
    return self:counter()
  elseif choice == 7 then
    return statistic("big")
  elseif choice == 8 then
    return { kind = "delta", self:linear(true) }
  elseif choice == 9 then
    return call("*", self:gauge(), number(r:between(2, 5)))
  elseif choice == 10 then
    return call("+", self:gauge(), self:counter())
  end
  return call("-", statistic("big"), statistic("requests"))
end

function asker:condition(depth)
  local r = self.r
  local choice = r:below(depth > 0 and 9 or 4)
  if choice < 2 then
    return call(r:one_of({ ">", "<", ">=", "<=" }), self:number(depth - 1), self:odd(0, 20))
  elseif choice == 2 then
    return call(r:one_of({ "==", "!=" }), statistic(r:one_of({ "state", "device" })), { kind = "text",
      value = r:one_of({ "run", "sleep", "bad:x", "a,b" }) })
  elseif choice == 3 then
    return { kind = "match", { kind = "field", name = "name" }, pattern = r:one_of({ "^w", "[0-9]$", ":" }) }
  elseif choice < 6 then
    return call("and", self:condition(depth - 1), self:condition(depth - 1))
  elseif choice < 8 then
    return call("or", self:condition(depth - 1), self:condition(depth - 1))
  end
  return call("not", self:condition(depth - 1))
end

-- A function of one or two numbers.
function asker:function_of(depth)
  local r = self.r
  local choice = r:below(9)
  if choice == 0 then
    return call(r:one_of({ "min", "max" }), self:number(depth - 1), self:number(depth - 1))
  elseif choice == 1 then
    return call("floor", call("+", self:number(depth - 1), number(0.3719)))
  elseif choice == 2 then
    return call("round", call("+", self:gauge(), self:odd(20, 30)), number(r:between(2, 7)))
  elseif choice == 3 then
    return call("exp", call("/", self:gauge(), number(8)))
  elseif choice == 4 then
    return call("%", self:counter(), number(r:between(2, 9)))
  elseif choice == 5 then
    return call("negate", self:number(depth - 1))
  end
  return call(r:one_of({ "abs", "sqrt", "log" }), self:number(depth - 1))
end

local REDUCERS = { "sum", "avg", "min", "max", "count", "median", "p", "stddev", "first", "last", "distinct", "share" }

-- A reducer of an expression that is there, with its numbers; of one that counts different values, of a statistic.
function asker:reducer(make)
  local r = self.r
  local node = { kind = "reduce", reducer = r:one_of(REDUCERS) }
  if node.reducer == "distinct" or (node.reducer == "count" and r:chance(30)) then
    node[1] = statistic(r:one_of({ "state", "inflight", "requests", "mount" }))
  elseif node.reducer == "stddev" then
    node[1] = r:chance(50) and self:gauge() or { kind = "rate", self:linear() }
  else
    node[1] = make()
  end
  if node.reducer == "p" then
    node.parameter = r:one_of({ 90, 99, 25, 99.9 })
  elseif node.reducer == "share" then
    node.parameter = self:odd(0, 20).value
  end
  return node
end

-- A value over time of a kstat.
function asker:window(depth)
  local r, length = self.r, self:length()
  local choice = r:below(10)
  local function inner()
    return depth > 0 and r:chance(30) and self:number(depth - 1) or r:chance(50) and self:simple()
      or { kind = "rate", self:linear() }
  end
  if choice < 4 then
    local node = self:reducer(inner)
    node.kind, node.length = "reduce", length
    return node
  elseif choice == 4 then
    return { kind = "rate_over", self:linear(), length = length }
  elseif choice == 5 then
    return { kind = "ago", inner(), length = length }
  elseif choice == 6 then
    return { kind = "trend", r:chance(60) and self:gauge() or { kind = "rate", self:linear() }, length = length }
  elseif choice == 7 then
    return { kind = "reach", self:gauge(), parameter = self:odd(-10, 30).value, length = length }
  elseif choice == 8 then
    return { kind = r:one_of({ "changes", "resets", "since" }), r:chance(70) and self:counter() or self:gauge(),
      length = length }
  end
  return { kind = "ewma", inner(), length = length }
end

-- A number of a kstat.
function asker:number(depth)
  local r = self.r
  local choice = r:below(depth > 0 and 14 or 6)
  if choice < 3 then
    return r:chance(90) and self:simple() or statistic("zz")
  elseif choice < 6 then
    return { kind = "rate", self:linear() }
  elseif choice == 6 then
    return call(r:one_of({ "+", "*", "/" }), self:number(depth - 1), self:number(depth - 1))
  elseif choice == 7 then
    return call("-", self:number(depth - 1), call("*", self:odd(1, 3), self:number(depth - 1)))
  elseif choice == 8 then
    return { kind = "if", self:condition(depth - 1), self:number(depth - 1), self:number(depth - 1) }
  elseif choice < 11 then
    return self:function_of(depth)
  end
  return self:window(depth)
end

-- A reducer over the kstats of a group.
function asker:over_kstats(depth)
  local r = self.r
  if r:chance(6) then
    return { kind = "reduce", reducer = "absent", self:counter(), reduces = true }
  end
  local node = self:reducer(function()
    return self:number(depth)
  end)
  node.reduces = true
  return node
end

-- A reducer of reducers over kstats. Different values are counted of what has no last bit in doubt.
function asker:of_reducers(depth)
  local node = self:reducer(function()
    return self:over_kstats(depth)
  end)
  if node.reducer == "distinct" then
    node[1] = { kind = "reduce", reducer = self.r:one_of({ "max", "count" }),
      self.r:chance(50) and self:gauge() or self:counter(), reduces = true }
  elseif not node[1].reduces then
    node[1] = self:over_kstats(0)
  end
  return node
end

-- Says of an expression within one over time of a group which parts are of the group: those that reduce, and what they
-- stand in. Whether it is one of them.
local function lift(node)
  local reduces = node.kind == "reduce" or node.kind == "ewma"
  for _, part in ipairs(node) do
    reduces = lift(part) or reduces
  end
  node.reduces = reduces
  return reduces
end

-- A value over time of a group.
function asker:of_group_over_time(depth)
  local r, length = self.r, self:length()
  local choice = r:below(10)
  if choice < 4 then
    local node = self:over_kstats(depth)
    lift(node[1])
    node.length = length
    return node
  elseif choice < 6 then
    return { kind = "ago", self:of_group(depth - 1, true), length = length, reduces = true }
  elseif choice == 6 then
    return { kind = "ewma", r:chance(50) and self:over_kstats(0) or self:simple(), length = length, reduces = true }
  elseif choice == 7 then
    return { kind = "trend", { kind = "reduce", reducer = r:one_of({ "sum", "max", "count" }), self:gauge(),
      reduces = true }, length = length, reduces = true }
  elseif choice == 8 then
    return { kind = "reach", { kind = "reduce", reducer = "sum", self:gauge(), reduces = true },
      parameter = self:odd(-10, 60).value, length = length, reduces = true }
  end
  local node = self:of_reducers(0)
  node.length, node.reduces = length, true
  return node
end

-- A value of a group; `calm` has nothing in it that the text could not say behind `ago`.
function asker:of_group(depth, calm)
  local r = self.r
  local choice = r:below(depth > 0 and 12 or 5)
  if choice < 5 then
    local node = self:over_kstats(depth)
    node.over_all = not calm and self.has_keys and r:chance(8)
    return node
  elseif choice == 5 then
    local node = self:of_reducers(depth - 1)
    if r:chance(20) then
      lift(node[1][1] or {})
      node[1].length = self:length()
    end
    if node.reducer == "first" or node.reducer == "last" then
      node.reducer = "avg" -- groups have no order in time
    end
    node.by, node.reduces = self:keys(1), true
    return node
  elseif choice < 8 then
    local node = call(r:one_of({ "+", "*", "/" }), self:of_group(depth - 1, calm), self:of_group(depth - 1, calm))
    node.reduces = true
    return node
  elseif choice == 8 then
    local odd = call("*", self:odd(1, 3), self:of_group(0, calm))
    odd.reduces = true
    local node = call("-", self:of_group(depth - 1, calm), odd)
    node.reduces = true
    return node
  end
  return self:of_group_over_time(depth - 1)
end

-- Keys, each of them once; a key is a list of alternatives.
function asker:keys(count)
  local r, keys, made = self.r, {}, {}
  while #keys < count do
    local choice = r:below(10)
    local key
    if choice < 5 then
      key = { { kind = "field", name = r:one_of(FIELDS) } }
    elseif choice < 8 then
      key = { statistic(r:one_of({ "device", "mount", "state", "nick" })) }
    elseif choice == 8 then
      key = { statistic("nick"), { kind = "field", name = "name" } }
    else
      key = { call("floor", call("/", statistic("inflight"), number(8))) }
    end
    local name = key[1].name or "floor"
    if not made[name] then
      keys[#keys + 1], made[name] = key, true
    end
  end
  return keys
end

-- The text of an expression.
local text_of

local function list_of(nodes)
  local parts = {}
  for i, node in ipairs(nodes) do
    parts[i] = text_of(node)
  end
  return table.concat(parts, ", ")
end

local function keys_text(keys)
  local parts = {}
  for i, key in ipairs(keys) do
    local alternatives = {}
    for j, alternative in ipairs(key) do
      alternatives[j] = text_of(alternative)
    end
    parts[i] = table.concat(alternatives, " or ")
  end
  return table.concat(parts, ", ")
end

-- A length as people write it.
local function length_text(length)
  if length % 60 == 0 then
    return ("%dm"):format(length / 60)
  end
  return length % 1 == 0 and ("%ds"):format(length) or ("%dms"):format(length * 1000)
end

local NAMES = { rate_over = "rate", reach = "until" }

local function function_text(node)
  local name = node.reducer or NAMES[node.kind] or node.kind
  if not node[1] then
    return name
  end
  local parts = { text_of(node[1]) .. (node.by and (" by (%s)"):format(keys_text(node.by)) or "") }
  if name == "p" and (node.parameter == 90 or node.parameter == 99) then
    name = ("p%d"):format(node.parameter)
  elseif node.parameter then
    parts[#parts + 1] = ("%.15g"):format(node.parameter)
  end
  if node.length then
    parts[#parts + 1] = node.kind == "ewma" and ("%.15g"):format(node.length) or length_text(node.length)
  end
  return ("%s(%s)%s"):format(name, table.concat(parts, ", "), node.over_all and " over all" or "")
end

local PREFIX = { negate = "-", ["not"] = "not " }

local function call_text(node)
  local operator = node.operator
  if PREFIX[operator] then
    return ("(%s(%s))"):format(PREFIX[operator], text_of(node[1]))
  elseif operator:match("^%a%a%a") and operator ~= "and" then
    return ("%s(%s)"):format(operator, list_of(node))
  end
  return ("(%s %s %s)"):format(text_of(node[1]), operator, text_of(node[2]))
end

function text_of(node)
  local kind = node.kind
  if kind == "number" then
    return node.text
  elseif kind == "statistic" or kind == "field" then
    return node.name
  elseif kind == "text" then
    return ('"%s"'):format(node.value)
  elseif kind == "match" then
    return ("(%s =~ /%s/)"):format(text_of(node[1]), node.pattern)
  elseif kind == "if" then
    return ("if(%s)"):format(list_of(node))
  elseif kind == "call" then
    return call_text(node)
  elseif kind == "ago" then
    return ("((%s) ago %s)"):format(text_of(node[1]), length_text(node.length))
  end
  return function_text(node)
end

-- The text of a question.
local function question_text(q)
  local keys = keys_text(q.keys)
  if q.period then
    local name = type(q.period) == "number" and ("time(%d)"):format(q.period) or q.period
    keys = keys == "" and name or keys .. ", " .. name
  end
  return (q.order and ("%s %d %s"):format(q.order, q.limit, q.rest and "and rest " or "") or "") .. list_of(q.columns)
    .. (keys ~= "" and (" by (%s)"):format(keys) or "") .. (q.where and " where " .. text_of(q.where) or "")
    .. (q.having and " having " .. text_of(q.having) or "")
end

local function having_of(self)
  local condition = call(self.r:one_of({ ">", "<" }), self:of_group(1), self:odd(0, 30))
  condition.reduces = true
  return condition
end

-- Percentiles of more than 64 values are not exact, unless windows have them.
local function exactly(node)
  if node.kind == "reduce" and not node.length and (node.reducer == "p" or node.reducer == "median") then
    node.reducer, node.parameter = "max", nil
  end
  for _, part in ipairs(node) do
    exactly(part)
  end
end

-- A question with a time among its keys.
local function with_period(self, q)
  local r = self.r
  q.period = r:one_of({ 60, 300, 600, self.distance == 300 and 1800 or self.distance * 5, "hour", "weekday" })
  for i = 1, r:between(1, 2) do
    local node = self:over_kstats(1)
    if r:chance(20) then
      node = { kind = "reduce", reducer = "sum", { kind = "delta", self:linear(true) }, reduces = true }
    elseif r:chance(30) then
      node = { kind = "reduce", reducer = r:one_of({ "max", "min", "avg", "median" }), node, reduces = true }
    end
    q.columns[i] = node
  end
  if not (type(q.period) == "number" and q.period <= self.distance * 5) then
    for _, node in ipairs(q.columns) do
      exactly(node)
    end
  end
  if r:chance(25) then
    q.columns[1] = call("/", q.columns[1], self:over_kstats(0))
    q.columns[1].reduces = true
  end
end

-- A question about a history, `text` its text.
function asker.question(r, history)
  local self = setmetatable({ r = r, distance = history.distance }, { __index = asker })
  local q = { keys = self:keys(r:one_of({ 0, 0, 1, 1, 1, 2 })), columns = {} }
  self.has_keys = #q.keys > 0
  if r:chance(15) then
    with_period(self, q)
  elseif r:chance(10) then
    q.order, q.limit, q.rest = r:one_of({ "top", "bottom" }), r:between(1, 3), true
    q.keys = self:keys(r:between(1, 2))
    for i = 1, r:between(1, 2) do
      q.columns[i] = self:over_kstats(2)
    end
  else
    for i = 1, r:one_of({ 1, 1, 2, 3 }) do
      q.columns[i] = self:of_group(2)
    end
    if #q.keys > 0 and r:chance(10) then
      q.order, q.limit = r:one_of({ "top", "bottom" }), r:between(1, 3)
    end
    if r:chance(6) then
      q.columns[#q.columns + 1] = { kind = "reduce", reducer = "count", reduces = true }
    end
    q.having = #q.keys > 0 and r:chance(15) and having_of(self) or nil
  end
  if q.order then -- by values that have no last bit in doubt
    q.columns[1] = { kind = "reduce", reducer = r:one_of({ "sum", "min", "max", "count", "last" }), self:simple(),
      reduces = true }
  end
  local texts = {}
  for i = #q.columns, 1, -1 do
    local text = text_of(q.columns[i])
    if texts[text] then
      table.remove(q.columns, i) -- nothing is asked twice
    end
    texts[text] = true
  end
  q.where = r:chance(25) and self:condition(1) or nil
  q.text = question_text(q)
  return q
end

return asker
