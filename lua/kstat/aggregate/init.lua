--- Aggregations: many values reduced to few, by key, in the manner of DTrace's.
--
--     local agg = assert(kstat.aggregate("sum by (module, statistic)"))
--     agg:add(ks:sample("sd:::n*"))
--     for key, value in agg:each() do print(key, value) end     -- sd:nread   5120 …
--     io.write(agg:text())
--
-- Over kstats at one moment: add one sample. Over time: add one at each tick; `clear` starts again.
-- What is added is every number in the data of the kstats; of a difference of two samples its changes.
-- class, crtime, snaptime, texts, and numbers that are not finite do not count.
--
-- The text form is
--
--     [top N | bottom N [and rest]] value {, value} [by (key {, key})] [of expression] [where expression] [over time]
--
--     sum by (module)                      avg, max by (module, class) of rate(nread)
--     sum(rate(errors)) / sum(rate(get + post)) by (name)
--     top 5 by (name)                      p99 by (state) of latency where name =~ /^web/
--
-- A value is an expression (kstat.expression) with reducers in it, or a reducer alone, which reduces what follows `of`,
-- or else every number: `sum, max by (name) of x` is `sum(x), max(x) by (name)`. What stands outside of reducers is of
-- the one kstat that has the keys (without keys: module, instance, name), and nil if several have. Reducers, in the
-- unit of the values unless said otherwise:
--
--     sum count min max avg   count is how many values
--     stddev                  of all values, around their mean (DTrace's: divided by the count)
--     first last              by the snaptime of their kstats
--     ewma(x, seconds)        a mean in which a value's weight falls to 1/e in so many seconds
--     p50 p99 p99.9 … median, p(x, 99.95)     exact up to 64 values, then from a t-digest
--     share(x, limit)         which part of the values is at most the limit
--     distinct mode           how many different values there are, and the most frequent one; of texts, too
--     quantize                a distribution by powers of two; heat: the same over time, a column for each text()
--     lquantize(x, low, high[, step])      by equal steps (1)
--     llquantize(x, factor, low, high, n)  by powers of a factor from low to high, n steps in each
--     top N, bottom N         what follows (nothing: sum), largest or smallest first, N of them
--     top N and rest          and what all others are together
--     over all                behind a reducer: of all keys
--
-- Keys: module, instance, name, class, statistic, publisher ("" for the machine), a statistic (its value as it is now),
-- time(60) (the period of so many seconds, as text), and `$1` or `$name`, a capture
-- group of the selectors' regular expressions (numbered through module, instance, name, statistic and class). What a
-- group does not match, or has no such statistic, is left out. Without keys everything falls into one. Where the
-- machine's kstats have a key, what
-- is published under the same key is left out: nobody would know whose figure the result is.
--
-- An expression gives one value for each kstat, and is
-- nil where something is missing; statistic is then the expression's text. `*` stands for every number, and `rate(*)`
-- for every counter as its change per second. An expression of a sample or a chain is
-- about the time since the kstats were created; that of a difference about what lies between its samples.
--
-- A distribution that a histogram counted (kstat.expression) is a value, too: `p99 by (module) of latency`. Those of a
-- group are merged, and reducers are of all their values: count, sum, avg (or mean), min, max, percentiles, share (its
-- limit may be a time: 0.1s), quantize and heat.
--
-- `over time` does nothing here (it is the field `over_time`): with it kstat(1) does not start again at each
-- interval.
--
-- @module kstat.aggregate
local core = require("kstat.core")
local definitions = require("kstat.aggregate.definition")
local order = require("kstat.aggregate.order")
local output = require("kstat.aggregate.output")
local reduction = require("kstat.expression.reduction")
local selector = require("kstat.selector")
local unknown = require("kstat.unknown")

local aggregate = {}

local methods = {}
local meta = { __index = methods, __name = "kstat.aggregation" }

local unpack = table.unpack or unpack
local KEY_TYPES = { string = true, number = true, boolean = true }

--- Makes an aggregation: `kstat.aggregate(definition)`.
-- @tparam table|string definition the text form, or a table
--
--   * `reduce` (string|{string|table,...}, needed): "sum", or an array of values as in the text form. An own reducer
--     is a table: its name, and functions: `new()` gives a state, `add(state, value, k)` puts a value of the kstat k
--     into it, `result(state)` is what is shown, and `merge(state, other)` adds another state. add and merge return
--     the state if it is no table
--   * `by` (string|function|{string|function|table,...}): "module", or an array of keys; a key may be a function(k,
--     statistic, value) or `{ title, function }`, which gives a string or a number, or nil for what is to be left out
--   * `of` (string|fun(k:kstat):any): an expression, or a function of the kstat of a difference; `rate` (boolean): true
--     stands for "rate(*)"; `where` (string): a filter
--   * `top` (integer), `bottom` (integer), `rest` (string): what all others are called together, `over_time` (boolean)
--
-- Reducers of one kind have their arguments as part of their title ("ewma 10", "ewma 60"); the same reducer or the
-- same named key twice is refused.
-- @treturn aggregation with `over_time` (boolean), and `of` (?string): its expression; it `differs` (boolean) if it
-- takes differences
-- @fails "EINVAL": the message says what is wrong in a text, with the position
-- @raise on a wrong table
-- @function kstat.aggregate
function aggregate.new(definition, level)
  level = (level or 1) + 1
  if type(definition) ~= "string" and type(definition) ~= "table" then
    error("bad argument #1 to 'aggregate' (string or table expected, got " .. type(definition) .. ")", level)
  end
  local self, problem, errname = definitions.compile(definition, level)
  return self and setmetatable(self, meta):clear(), problem, errname
end

-- --- groups -----------------------------------------------------------------------------------

local key_meta = {
  __tostring = function(key)
    local texts = {}
    for i = 1, key.n do
      texts[i] = type(key[i]) == "number" and core.tostring(key[i]) or tostring(key[i])
    end
    return table.concat(texts, ":")
  end,
}

-- The table below a node; the last level holds groups.
local function descend(node, value)
  local below = node[value]
  if not below then
    below = {}
    node[value] = below
  end
  return below
end

-- The states of all accumulators, before anything was added.
local function reset(self, group)
  for i, accumulator in ipairs(self.accumulators) do
    group[i] = accumulator.new(group)
  end
  group.distributions = nil
  return group
end

-- A new group at the end of a path of values in the order of self.path.
local function new_group(self, values)
  local key = setmetatable({ n = #self.columns }, key_meta)
  for i, column in ipairs(self.path) do
    key[column] = values[i]
  end
  self.n = self.n + 1
  return reset(self, { key = key })
end

-- The group of these values; `make` false: nil if there is none.
local function group_of(self, values, make)
  local node, last = self.tree, #self.path
  for i = 1, last - 1 do
    node = make and descend(node, values[i]) or node[values[i]]
    if not node then
      return nil
    end
  end
  local key = values[last]
  if last == 0 then
    key = true
  end
  if make and not node[key] then
    node[key] = new_group(self, values)
  end
  return node[key]
end

-- Merges distributions of one source, of a kstat or of another group. What does not fit is left out and told.
local function merge_distribution(self, group, index, distribution)
  local all = group.distributions or {}
  group.distributions = all
  local merged, problem = distribution, nil
  if all[index] then
    merged, problem = all[index]:merge(distribution)
  end
  all[index], self.unmerged = merged or all[index], self.unmerged or problem
end

-- Adds values of a source to a group, and to that of all.
local function update(self, group, source, values, n, time, k)
  local kind = type(values[1])
  if kind == "userdata" then
    self.problem = self.problem or source.of_numbers and ("%s() is of numbers, and '%s' is a distribution"):format(
      source.of_numbers, source.text)
    for _, accumulator in ipairs(source.accumulators) do
      if accumulator.windowed then
        accumulator.add(group[accumulator.index], values, 1)
      end
    end
    merge_distribution(self, group, source.index, values[1])
    return self.all and merge_distribution(self, self.everything, source.index, values[1])
  end
  local accumulators = source.accumulators
  for i = 1, #accumulators do
    local accumulator = accumulators[i]
    if kind == "number" or accumulator.texts then
      accumulator.add((accumulator.all and self.everything or group)[accumulator.index], values, n, time, k)
    end
  end
end

-- --- adding -----------------------------------------------------------------------------------

local function is_finite(v)
  return type(v) == "number" and v == v and v ~= math.huge and v ~= -math.huge
end

-- True if a group takes values of that origin: "machine", "published", or nil for a script's own. What is published
-- never mixes with what is the machine's, which replaces it.
local function takes(self, group, origin)
  if origin == "published" and group.origin == "machine" then
    return false
  elseif origin == "machine" and group.origin == "published" then
    reset(self, group)
  end
  group.origin = origin or group.origin
  return true
end

-- The group at a path; nil if it takes no values of that origin.
local function receiver(self, path, origin)
  local group = group_of(self, path, true)
  return takes(self, group, origin) and group or nil
end

-- Puts the values of the keys that a kstat has by itself into a path. Returns false if it lacks one.
local function set_early(self, k, path)
  for i = 1, self.early do
    local column = self.columns[self.path[i]]
    local value
    if column.header then
      value = k[column.header] or ""
    else
      value = column.of_kstat(k)
      if value == nil or value ~= value then
        return false
      end
    end
    path[i] = value
  end
  return true
end

-- Adds n values of one kstat whose keys depend on each.
local function add_each(self, k, path, origin, source, names, values, n, time)
  local late, one = self.late, {}
  for i = 1, n do
    local complete = true
    for j = 1, #late do
      local value = late[j].value(k, names[i], values[i])
      if value == nil or value ~= value then
        complete = false
        break
      elseif not KEY_TYPES[type(value)] then
        error(("aggregate: the function of the key '%s' returned a %s; a string, a number or a boolean " ..
          "expected"):format(late[j].title, type(value)), 0)
      end
      path[self.early + j] = value
    end
    local group = complete and receiver(self, path, origin)
    if group then
      one[1] = values[i]
      update(self, group, source, one, 1, time, k)
    end
  end
end

-- The selectors that have the capture groups of the keys; nil and what is missing.
local function find_groups(self, list)
  for _, column in ipairs(self.columns) do
    local group = column.group
    if group then
      local sources = {}
      for _, sel in ipairs(list or {}) do
        local number
        if type(group) == "string" then
          number = sel:group(group)
        elseif group >= 1 and group <= sel:group() then
          number = group
        end
        if number then
          sources[#sources + 1] = { selector = sel, number = number }
        end
      end
      if #sources == 0 then
        return nil, ("no selector has the capture group '$%s'"):format(group)
      end
      self.groups[group] = sources
    end
  end
  return true
end

-- A difference, where values are rates or expressions.
local function as_difference(x, list)
  local kind = core.kind(x)
  if kind == "chain" then
    local message, errname
    x, message, errname = x:sample(unpack(list or {}))
    if not x then
      return nil, message, errname
    end
    kind = "sample"
  end
  return kind == "sample" and x:since_creation() or x
end

-- Reads a source of a kstat into names and values. Returns how many values there are.
local function read(self, source, k, row, list, names, values, as_now)
  if self.by_time and self.clock.first and source.of_interval then
    return 0 -- what was counted since creation belongs to no period
  elseif source.expression then
    local value = source.expression(row, "boot")
    local kind = type(value)
    names[1], values[1] = source.text, value
    return (kind == "string" and source.texts or kind == "userdata" or is_finite(value)) and 1 or 0
  end
  return core.numbers(as_now and not source.rate and k:now() or k, list, names, values, source.rate)
end

-- Adds kstats. as_now: those of a difference that nobody gave, so that all numbers are those of now. Returns how many
-- values there were.
local function add_all(self, kstats, list, as_now)
  local sources, where, late, timed = self.sources, self.where, self.late[1], self.timed
  local names, values, row, path, added = {}, {}, {}, {}, 0
  for i = 1, #kstats do
    local k = kstats[i]
    row.kstat = k
    if (not where or (tonumber(where(row, "boot")) or 0) ~= 0) and set_early(self, k, path) then
      local origin, time, group = k.publisher and "published" or "machine", timed and (k.snaptime or k.crtime), nil
      for j = 1, #sources do
        local source = sources[j]
        local n = read(self, source, k, row, list, names, values, self.differing and (as_now or source.now))
        if n > 0 and late then
          add_each(self, k, path, origin, source, names, values, n, time)
        elseif n > 0 then
          group = group or receiver(self, path, origin)
          if group then
            update(self, group, source, values, n, time, k)
          end
        end
        added = added + n
      end
    end
  end
  return added
end

--- Adds what selectors match.
-- @tparam chain|sample|difference x
-- @tparam spec ... selectors; none: every kstat
-- @treturn aggregation itself
-- @treturn int how many values were added
-- @fails a bad selector, a capture group that none of them has, distributions that do not merge
-- @function agg:add
function methods.add(self, x, ...)
  local kind = core.kind(x)
  if kind ~= "chain" and kind ~= "sample" and kind ~= "difference" then
    error(("bad argument #1 to 'add' (chain, sample or difference expected, got %s)"):format(kind or type(x)), 2)
  end
  local list, message, errname = selector.list(2, ...)
  if list == false then
    return nil, message, errname
  end
  local found
  found, message = find_groups(self, list)
  if not found then
    return nil, message, "EINVAL"
  end
  local given = kind == "difference"
  if self.differs then
    x, message, errname = as_difference(x, list)
    if not x then
      return nil, message, errname
    end
  end
  self.differing = core.kind(x) == "difference"
  if self.by_time then
    self.seconds = core.kind(x) == "chain" and core.chain_methods.clock(x) or select(3, core.sample_time_of_day(x))
  end
  if self.differing then
    local clock = self.clock
    clock.tick, clock.time = clock.tick + 1, (core.sample_taken(x))
    clock.first = core.difference_elapsed(x) == clock.time
  end
  local kstats
  kstats, message, errname = x:select(unpack(list or {}))
  if not kstats then
    return nil, message, errname
  end
  self.problem, self.unmerged = nil, nil
  local added = add_all(self, kstats, list, self.differs and not given)
  if self.problem or self.unmerged then
    return nil, self.problem or self.unmerged, "EINVAL"
  end
  return self, added
end

--- Adds one value of one's own.
-- @tparam {string|number,...} key a value for each key column, in their order
-- @number value NaN and infinities are not counted
-- @number[opt] time in seconds, for first, last and ewma; default: kstat.hrtime()
-- @treturn aggregation itself
-- @function agg:add_value
function methods.add_value(self, key, value, time)
  if type(key) ~= "table" then
    error("bad argument #1 to 'add_value' (table expected, got " .. type(key) .. ")", 2)
  elseif type(value) ~= "number" then
    error("bad argument #2 to 'add_value' (number expected, got " .. type(value) .. ")", 2)
  end
  local path = {}
  for i, column in ipairs(self.path) do
    path[i] = key[column]
    if path[i] == nil or path[i] ~= path[i] then
      error(("bad argument #1 to 'add_value' (no value for the key '%s')"):format(self.columns[column].title), 2)
    end
  end
  for _, source in ipairs(is_finite(value) and self.sources or {}) do
    update(self, group_of(self, path, true), source, { value }, 1, self.timed and (time or core.hrtime()))
  end
  return self
end

--- Forgets everything.
-- @treturn aggregation itself
-- @function agg:clear
function methods.clear(self)
  self.tree, self.n = {}, 0
  self.everything = self.all and reset(self, {}) or nil
  return self
end

-- --- reading ----------------------------------------------------------------------------------

-- All groups, in no order.
local function groups_of(self)
  local list = {}
  local function walk(node, depth)
    for _, below in pairs(node) do
      if depth <= 1 then
        list[#list + 1] = below
      else
        walk(below, depth - 1)
      end
    end
  end
  walk(self.tree, #self.path)
  return list
end

local function values_of(self, group)
  local values, row = {}, { [reduction.GROUP] = group, [reduction.ALL] = self.everything }
  for i, value in ipairs(self.values) do
    values[i] = value.get(row)
  end
  return values
end

local function sorted(self, less)
  local rows = {}
  for i, group in ipairs(groups_of(self)) do
    rows[i] = { key = group.key, values = values_of(self, group), group = group }
  end
  table.sort(rows, less)
  return rows
end

--- Everything, in order: by key, or what `top`, `bottom` and `sort` say.
-- @treturn {table,...} each with `key`, an array with tostring(): the columns with colons between, and
-- `values`, an array, one for each reducer; nil where it has no value
-- @function agg:rows
function methods.rows(self)
  local most = self.top or self.bottom
  local rows = sorted(self, self.order or most and order.by_value(1, not self.top) or order.by_key)
  local cut = {}
  for i = #rows, (most or #rows) + 1, -1 do
    cut[#cut + 1], rows[i] = rows[i], nil
  end
  if self.rest and cut[1] then
    local key = setmetatable({ n = #self.columns, self.rest }, key_meta)
    for i = 2, key.n do
      key[i] = ""
    end
    rows[#rows + 1] = { key = key, values = self:together(cut) }
  end
  return rows
end

--- Iterates in the order of `rows`.
-- @treturn fun():?{string|number,...},any an iterator that yields the key, and the values of all reducers
-- @usage for key, value in agg:each() do print(key[1], value) end
-- @function agg:each
function methods.each(self)
  local rows, i, n = self:rows(), 0, #self.values
  return function()
    i = i + 1
    if rows[i] then
      return rows[i].key, unpack(rows[i].values, 1, n)
    end
  end
end

--- The values of one key.
-- @tparam string|number ... a value for each key column
-- @treturn any,... the values of all reducers; nil if nothing was added for this key
-- @function agg:get
function methods.get(self, ...)
  local key, path = { ... }, {}
  for i, column in ipairs(self.path) do
    path[i] = key[column]
    if path[i] == nil then
      error(("bad argument #%d to 'get' (no value for the key '%s')"):format(column,
        self.columns[column].title), 2)
    end
  end
  local group = group_of(self, path, false)
  if group then
    return unpack(values_of(self, group), 1, #self.values)
  end
  return nil
end

--- How many keys there are.
-- @treturn int
-- @function agg:size
function methods.size(self)
  return self.n
end

--- Sets the order of what is read.
-- @tparam[opt] string|fun(a:table,b:table):boolean by a reducer, largest first ("-sum": smallest first), a key
-- ("-module": the other way around), function(a, b) of `rows`, or nil: by key
-- @treturn aggregation itself
-- @raise if there is no such column
-- @function agg:sort
function methods.sort(self, by)
  if type(by) == "string" then
    local found = order.named(self, by)
    if not found then
      error(("bad argument #1 to 'sort' (there is no '%s')"):format(by), 2)
    end
    by = found
  elseif by ~= nil and type(by) ~= "function" then
    error("bad argument #1 to 'sort' (string or function expected, got " .. type(by) .. ")", 2)
  end
  self.order = by
  return self
end

--- Forgets all keys but the n with the largest values of the first reducer; of a negative n, the smallest.
-- @int n
-- @treturn aggregation itself
-- @function agg:trunc
function methods.trunc(self, n)
  if type(n) ~= "number" or n % 1 ~= 0 then
    error("bad argument #1 to 'trunc' (whole number expected)", 2)
  end
  local rows, everything = sorted(self, order.by_value(1, n < 0)), self.everything
  self:clear().everything = everything
  for i = 1, math.min(#rows, math.abs(n)) do
    local node, last, key = self.tree, #self.path, rows[i].key
    for j = 1, last - 1 do
      node = descend(node, key[self.path[j]])
    end
    if last == 0 then
      node[true] = rows[i].group
    else
      node[key[self.path[last]]] = rows[i].group
    end
    self.n = self.n + 1
  end
  return self
end

local function merge_group(self, group, other)
  for i, accumulator in ipairs(self.accumulators) do
    accumulator.merge(group[i], other[i])
  end
  for i, distribution in pairs(other.distributions or {}) do
    merge_distribution(self, group, i, distribution)
  end
end

--- Adds the contents of another aggregation, which does not change.
-- @tparam aggregation other of the same keys and reducers
-- @treturn aggregation itself
-- @raise if it is of others
-- @function agg:merge
function methods.merge(self, other)
  if getmetatable(other) ~= meta then
    error("bad argument #1 to 'merge' (aggregation expected, got " .. type(other) .. ")", 2)
  elseif other:signature() ~= self:signature() then
    error(("bad argument #1 to 'merge' (%s expected, got %s)"):format(self:signature(), other:signature()), 2)
  elseif other == self then
    error("bad argument #1 to 'merge' (an aggregation cannot be merged with itself)", 2)
  end
  for _, group in ipairs(groups_of(other)) do
    local path = {}
    for i, column in ipairs(self.path) do
      path[i] = group.key[column]
    end
    local mine = group_of(self, path, true)
    if takes(self, mine, group.origin) then
      merge_group(self, mine, group)
    end
  end
  if self.all then
    merge_group(self, self.everything, other.everything)
  end
  return self
end

--- The values of several keys as if they were one.
-- @tparam {table,...} rows of `rows`, since when nothing was added
-- @treturn {any,...} the values of all reducers
-- @function agg:together
function methods.together(self, rows)
  local all = reset(self, {})
  for _, row in ipairs(rows) do
    merge_group(self, all, row.group)
  end
  return values_of(self, all)
end

--- What it reduces, and by what: equal for aggregations that can be merged.
-- @treturn string
-- @function agg:signature
function methods.signature(self)
  local keys, names = {}, {}
  for i, column in ipairs(self.columns) do
    keys[i] = column.title
  end
  for i, value in ipairs(self.values) do
    names[i] = value.name
  end
  return ("%s by (%s)"):format(table.concat(names, ", "), table.concat(keys, ", "))
end

--- As text: a table with a line for each key, or with distributions a picture for each.
-- @treturn string "" if there is nothing
-- @function agg:text
function methods.text(self)
  return output.forms.human(self, self:rows())
end

--- In one of the forms of kstat(8).
-- @tparam[opt="human"] "human"|"parseable"|"colons"|"list"|"json" form "human": as `text`; "parseable": a line for each
-- key and reducer, the key's columns and the reducer with colons between, a tab, the value; "colons": the same with a
-- colon in place of the tab; "list": without values; "json": an array of objects. There a distribution is an array of
-- [low, high, count]: low <= value < high, null at the open ends.
-- @treturn string
-- @treturn int how many keys it shows
-- @function agg:render
function methods.render(self, form)
  form = form or "human"
  if not output.forms[form] then
    error(("bad argument #1 to 'render' (%s)"):format(unknown.word("unknown form", form, output.forms)), 2)
  end
  local rows = self:rows()
  return output.forms[form](self, rows), #rows
end

--- A line of one's own for each key: see kstat.format, whose directives take any number.
-- @string format for the key's columns and then the values
-- @treturn string
-- @usage io.write(agg:format("%-12s %8d\n"))
-- @function agg:format
function methods.format(self, format)
  local fill, out = require("kstat.format"), {}
  local nkeys = #self.columns
  for i, row in ipairs(self:rows()) do
    local values = {}
    for j = 1, nkeys do
      values[j] = row.key[j]
    end
    for j = 1, #self.values do
      values[nkeys + j] = row.values[j]
    end
    out[i] = fill(format, unpack(values, 1, nkeys + #self.values))
  end
  return table.concat(out)
end

meta.__tostring = function(self)
  return ("kstat aggregation: %s, %d keys"):format(self:signature(), self.n)
end

return setmetatable({}, {
  __index = aggregate,
  __call = function(_, definition)
    local self, message, errname = aggregate.new(definition, 2) -- no tail call: levels count
    return self, message, errname
  end,
})
