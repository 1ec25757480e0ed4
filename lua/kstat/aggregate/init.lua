--- Aggregations: many values reduced to few, by key, in the manner of DTrace's.
--
--     local agg = assert(kstat.aggregate("sum(rate(nread)), max(rate(nread)) by (module)"))
--     agg:add(now - prev)
--     for key, sum, max in agg:each() do print(key, sum, max) end
--     io.write(agg:text())
--
-- Over kstats at one moment: add one sample. What is added without a `clear` between counts together, but for what is
-- over time, which has a value a tick.
-- The text form is that of `kstat -a` (kstat.figures.expression.grammar), whose reducers and keys
-- doc/scripting-reference.md lists. A value is an expression (kstat.expression) with reducers in it, or a reducer
-- alone: of every number, which have to be of one unit, and for count of the kstats. What stands outside of reducers is
-- of the one kstat that has the keys (without keys: module, instance, name). class, crtime, snaptime, texts, and
-- numbers that are not finite do not count. An expression of a sample or a chain is about the time since the kstats
-- were created; that of a difference about what lies between its samples.
--
-- A kstat that lacks a key is left out. Where the machine's kstats have a key, what is published under the same key is
-- left out: nobody would know whose figure the result is. Distributions that histograms counted are values, too: those
-- of a group are merged, and reducers are of all their values.
-- @module kstat.aggregate
local adding = require("kstat.aggregate.adding")
local core = require("kstat.core")
local definitions = require("kstat.aggregate.definition")
local groups = require("kstat.aggregate.groups")
local order = require("kstat.aggregate.order")
local output = require("kstat.aggregate.output")
local reducers = require("kstat.figures.reducers")
local selector = require("kstat.read.selector")
local unknown = require("kstat.base.unknown")
local window = require("kstat.figures.expression.window")

local aggregate = {}

local methods = {}
local meta = { __index = methods, __name = "kstat.aggregation" }

local unpack = table.unpack or unpack

--- Makes an aggregation: `kstat.aggregate(definition)`.
-- @tparam table|string definition the text form, or a table
--
--   * `reduce` (string|{string|table,...}, needed): "sum", or an array of values as in the text form. An own reducer
--     is a table: its name, and functions: `new()` gives a state, `add(state, value, k)` puts a value of the kstat k
--     into it, `result(state)` is what is shown, and `merge(state, other)` adds another state. add and merge return
--     the state if it is no table
--   * `by` (string|function|{string|function|table,...}): "module", or an array of keys; a key may be a function(k,
--     statistic, value) or `{ title, function }`, which gives a string or a number, or nil for what is to be left out
--   * `of` (fun(k:kstat):any): what reducers alone are of: a function of the kstat of a difference
--   * `where` (string): a filter of kstats; `having` (string): one of groups
--   * `top`, `bottom` (integer): how many rows, the largest or the smallest; `rest` (string): what all others are
--     called together
--
-- Reducers of one kind have their arguments as part of their title; the same reducer or the same named key twice is
-- refused.
-- @treturn aggregation which `differs` (boolean) if it takes differences
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

-- --- adding -----------------------------------------------------------------------------------

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
    core.usage(("bad argument #1 to 'add' (chain, sample or difference expected, got %s)"):format(kind or type(x)))
  end
  local list, message, errname = selector.list(...)
  if list == false then
    return nil, message, errname
  end
  return adding.kstats(self, x, kind, list)
end

--- Adds one value of one's own.
-- @tparam {string|number,...} key a value for each key column, in their order
-- @number value NaN and infinities are not counted
-- @number[opt] time in seconds, for first, last, ewma and windows, where it does not fall; default: kstat.hrtime()
-- @treturn aggregation itself
-- @raise on a wrong argument, and of keys of time, groups within and what is over time of a group: these take samples
-- @function agg:add_value
function methods.add_value(self, key, value, time)
  if type(key) ~= "table" then
    core.usage("bad argument #1 to 'add_value' (table expected, got " .. type(key) .. ")")
  elseif type(value) ~= "number" then
    core.usage("bad argument #2 to 'add_value' (number expected, got " .. type(value) .. ")")
  elseif time ~= nil and not reducers.is_finite(time) then
    core.usage(("bad argument #3 to 'add_value' (seconds expected, got %s)"):format(
      type(time) == "number" and tostring(time) or type(time)))
  elseif self.children[1] or self.sets[1] or self.past then
    core.usage("add_value: keys of time, groups within and what is over time of a group take samples: agg:add()")
  end
  time = (self.timed or self.is_over_time) and (time or core.hrtime())
  local clock = self.clock
  if clock.longest > 0 and time < clock.time then
    core.usage("bad argument #3 to 'add_value' (a time that does not fall, for there is a window)")
  end
  clock.time = self.is_over_time and time or clock.time
  local path = groups.path_of(self, key)
  for i, column in ipairs(self.path) do
    if path[i] == nil or path[i] ~= path[i] then
      core.usage(("bad argument #1 to 'add_value' (no value for the key '%s')"):format(self.columns[column].title))
    end
  end
  for _, source in ipairs(reducers.is_finite(value) and self.sources or {}) do
    adding.update(self, groups.find(self, path, true), source, { value }, 1, time)
  end
  return self
end

--- Forgets everything, but for what is over time: windows go on.
-- @treturn aggregation itself
-- @function agg:clear
function methods.clear(self)
  adding.end_tick(self)
  if self.past then
    groups.clear(self.past)
    groups.clear(self.whole)
  end
  groups.forget(self)
  return self
end

-- --- reading ----------------------------------------------------------------------------------

-- Puts what is read of a group into a row. Returns false if it is no row: nothing of it was there, and no column has a
-- value that comes from windows, or `having` does not want it.
local function read_group(self, group, row)
  local list, values = self.values, row.values
  local shown = group.touched or group.folded
  row.key, row.group = group.key, group
  for i = 1, #list do
    local value = list[i].get(group)
    values[i] = value
    shown = shown or value ~= nil and (not self.windowed or window.is_alive(group))
  end
  return shown and (not self.having or (tonumber(self.having(group)) or 0) ~= 0)
end

-- The rows that come first, of all or of `most` at most; and those behind, in no order and without their values.
local function sorted(self, less, most)
  adding.end_tick(self)
  local level, behind = self.past or self, {}
  if less == order.by_key and not level.is_sorted then
    table.sort(level.list, less(self.columns))
    level.is_sorted = true
  end
  local add, rows = order.first(less(self.columns), most)
  local function new_row()
    return { key = false, group = false, values = { unpack(self.values) } } -- has room for all at once
  end
  local row = new_row()
  groups.each(level, function(group)
    if read_group(self, group, row) then
      local out = add(row)
      if out then
        behind[#behind + 1] = { group = out.group }
      end
      row = out or new_row()
    end
  end)
  if not most and less ~= order.by_key then
    table.sort(rows, less(self.columns))
  end
  return rows, behind
end

--- Everything, in order: by key, or what `top`, `bottom` and `sort` say.
-- @treturn {table,...} each with `key`, an array with tostring(): the columns with colons between, and
-- `values`, an array, one for each reducer; nil where it has no value
-- @function agg:rows
function methods.rows(self)
  local most = self.top or self.bottom
  local rows, cut = sorted(self, self.order or most and order.by_value(1, not self.top) or order.by_key, most)
  if self.rest and cut[1] then
    local key = setmetatable({ n = #self.columns, self.rest }, groups.key_meta)
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
  local key = { ... }
  for i, column in ipairs(self.columns) do
    if key[i] == nil then
      core.usage(("bad argument #%d to 'get' (no value for the key '%s')"):format(i, column.title))
    end
  end
  adding.end_tick(self)
  local level, row = self.past or self, { values = {} }
  local group = groups.find(level, groups.path_of(level, key), false)
  if group and groups.is_there(level, group) then
    read_group(self, group, row)
    return unpack(row.values, 1, #self.values)
  end
  return nil
end

--- How many keys there are.
-- @treturn int
-- @function agg:size
function methods.size(self)
  adding.end_tick(self)
  local n = 0
  groups.each(self.past or self, function() n = n + 1 end)
  return n
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
      core.usage(("bad argument #1 to 'sort' (there is no '%s')"):format(by))
    end
    by = found
  elseif by ~= nil and type(by) ~= "function" then
    core.usage("bad argument #1 to 'sort' (string or function expected, got " .. type(by) .. ")")
  elseif by then
    local less = by
    by = function() return less end
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
    core.usage("bad argument #1 to 'trunc' (whole number expected)")
  end
  local kept = {}
  for _, row in ipairs((sorted(self, order.by_value(1, n < 0), math.abs(n)))) do
    kept[row.group] = true
  end
  groups.each(self.past or self, function(group) return kept[group] or false end)
  return self
end

--- Adds the contents of another aggregation, which does not change.
-- @tparam aggregation other of the same keys and reducers
-- @treturn aggregation itself
-- @raise if it is of others
-- @function agg:merge
function methods.merge(self, other)
  if getmetatable(other) ~= meta then
    core.usage("bad argument #1 to 'merge' (aggregation expected, got " .. type(other) .. ")")
  elseif other:signature() ~= self:signature() then
    core.usage(("bad argument #1 to 'merge' (%s expected, got %s)"):format(self:signature(), other:signature()))
  elseif other == self then
    core.usage("bad argument #1 to 'merge' (an aggregation cannot be merged with itself)")
  end
  adding.end_tick(self)
  adding.end_tick(other)
  groups.merge_all(self, other)
  if self.past then
    groups.merge_all(self.whole, other.whole)
    groups.merge_all(self.past, other.past, self.whole)
  end
  self.clock.showing, self.pending = true, self.children[1] ~= nil
  return self
end

--- The values of several keys as if they were one.
-- @tparam {table,...} rows of `rows`, since when nothing was added
-- @treturn {any,...} the values of all reducers
-- @function agg:together
function methods.together(self, rows)
  local all, together = groups.reset(self.past or self, { everything = rows[1].group.everything }), { values = {} }
  for _, row in ipairs(rows) do
    groups.merge(self, all, row.group)
  end
  read_group(self, all, together)
  return together.values
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
  return (self:render())
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
    core.usage(("bad argument #1 to 'render' (%s)"):format(unknown.word("unknown form", form, output.forms)))
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
    local values = { unpack(row.key, 1, nkeys) }
    for j = 1, #self.values do
      values[nkeys + j] = row.values[j]
    end
    out[i] = fill(format, unpack(values, 1, nkeys + #self.values))
  end
  return table.concat(out)
end

meta.__tostring = function(self)
  return ("kstat aggregation: %s, %d keys"):format(self:signature(), self:size())
end

return setmetatable({}, {
  __index = aggregate,
  __call = function(_, definition)
    local self, message, errname = aggregate.new(definition, 2) -- no tail call: levels count
    return self, message, errname
  end,
})
