--- What a report makes of a tick: rows, which operands choose, columns show, and a column or the report puts in order.
--
-- The functions get the report (kstat.report) first: they are its methods.
-- @module kstat.report.evaluation
local core = require("kstat.core")
local operand = require("kstat.command.operand")
local running = require("kstat.base.running")

local unpack = table.unpack or unpack

local evaluation = {}

local evaluated -- the column whose value is being made
local made = {} -- the `row` whose values are being made, and the `values` that are so far

local function evaluating(column)
  evaluated = column
end

--- The column whose function failed; it is forgotten.
-- @treturn column|nil nil: what failed was no column's
function evaluation.failed_column()
  local column = evaluated
  evaluated = nil
  return column
end

--- Whether a value names its row: a text or a label does; one that is for people alone, such as a time, does not.
-- @tparam column column
-- @param value what it shows
-- @treturn boolean
function evaluation.is_name(column, value)
  return column.data ~= false and (type(value) == "string" or column.kind == "label" and value ~= nil)
end

-- What an operand may name of a column: a text, or a label; else nil.
local function name_of(column, value)
  if column.kind == "label" and type(value) == "number" then
    return core.tostring(value)
  end
  return type(value) == "string" and value or nil
end

-- Whether one of the operands is the name of a kstat, or a text or a label of its row.
local function is_wanted(filters, name, columns, values)
  if name and operand.matches(filters, name) then
    return true
  end
  for i, column in ipairs(columns or {}) do
    local own = name_of(column, values[i])
    if own and operand.matches(filters, own) then
      return true
    end
  end
  return false
end

-- Adds what an operand may name of a row.
local function add_names(names, name, columns, values)
  names[name or ""] = name and true
  for i, column in ipairs(columns) do
    local own = name_of(column, values[i])
    names[own or ""] = own and true
  end
end

-- The rows that a report without `rows` has: a kstat each, filtered by the operands.
local function default_rows(self, d, filters)
  local list = {}
  local kstats, message = core.select(d, self.selectors, true) -- also one that was away and has no interval
  for _, k in ipairs(kstats or core.fail(message)) do
    if self.names then
      self.names[k.name] = true
    end
    if not filters or is_wanted(filters, k.name) then
      list[#list + 1] = { kstat = k }
    end
  end
  return list
end

-- The rows that `rows` makes.
local function own_rows(self, d, now, prev, given)
  local rows = self.rows(d, now, prev, given)
  if type(rows) ~= "table" then
    running.stop(1, ("rows: an array of rows expected, not %s"):format(tostring(rows)))
  end
  for i = 1, #rows do
    if type(rows[i]) ~= "table" then
      running.stop(1, ("rows: row %d: a table of fields expected, not %s"):format(i, tostring(rows[i])))
    end
  end
  return rows
end

-- The value of a column.
local function evaluate(column, row)
  local outer, busy = evaluated, column.busy
  evaluated, column.busy = column, row
  local value = column.value(row)
  evaluated, column.busy = outer, busy
  return value
end

-- The value of a column that the function of another one asks for by its title; nil: there is none, or it needs this.
local function by_title(columns, row, title)
  local column = evaluated and not evaluated.expression and columns.titles[title]
  if not column or column.busy == row then
    return nil
  end
  for i = 1, made.row == row and #columns or 0 do
    if columns[i] == column and made.values[i] ~= nil then
      return made.values[i]
    end
  end
  return evaluate(column, row)
end

-- Every figure of a row's kstat becomes a field of the row, and before these the columns do for functions of others.
local function with_figures(self, row)
  if not (self.columns.computed or rawget(row, "kstat")) then
    return row
  elseif not self.row_meta then
    self.row_meta = require("kstat.figures.expression").row_meta(self.state)
    local figures = self.row_meta.__index
    function self.row_meta.__index(asked, name)
      local value = by_title(self.columns, asked, name)
      if value == nil and type(rawget(asked, "kstat")) == "userdata" then -- else a field of the script's own
        return figures(asked, name)
      end
      return value
    end
  end
  return getmetatable(row) == nil and setmetatable(row, self.row_meta) or row
end

-- Prepares the rows of a tick: what is over time gets its values, whether they are shown or not. Returns the rows that
-- the report's `where` lets through; without one the array itself, with what its fields say of the rows.
local function prepare(self, rows)
  local kept = self.filter and {} or rows
  for i = 1, #rows do
    local row = with_figures(self, rows[i])
    if type(rawget(row, "kstat")) == "userdata" then
      for _, set in ipairs(self.state.sets or {}) do
        set.feed(row)
      end
    end
    if self.filter and (rawget(row, "text") ~= nil or self.filter.passes(row)) then
      kept[#kept + 1] = row
    end
  end
  return kept
end

-- Whether nothing but zeros and "-" is shown beside texts.
local function is_idle(values, columns)
  local numbers = false
  for i, column in ipairs(columns) do
    if column.kind ~= "label" and (values[i] == nil or type(values[i]) == "number") then
      numbers = true
      if (values[i] or 0) ~= 0 then
        return false
      end
    end
  end
  return numbers
end

--- What each column shows of a row; of one that is a text, this. Most columns are fields of the row.
-- @tparam {column,...} columns
-- @tparam row row
-- @tparam[opt] {[int]=boolean} hidden numbers of columns that are not asked for
-- @treturn table values, or `text`
function evaluation.values_of(columns, row, hidden)
  local text = rawget(row, "text")
  if text ~= nil then
    return { text = text }
  elseif rawget(row, 1) ~= nil then
    return row
  end
  local fields = columns.fields
  local values = { unpack(fields) } -- has room for all at once
  made.row, made.values = row, values
  for i = 1, #fields do
    if hidden and hidden[i] then
      values[i] = nil
    else
      values[i] = row[fields[i]]
    end
  end
  if columns.computed or row.kstat then
    for i = 1, #columns do
      if values[i] == nil and not (hidden and hidden[i]) then
        values[i] = evaluate(columns[i], row)
      end
    end
  end
  made.row, made.values = nil, nil
  return values
end

local values_of = evaluation.values_of

-- Rows as arrays of values in the order of the report or of a column.
local function in_order(self, shown, of, sort)
  local order = sort
  if type(sort) == "string" then
    order = require("kstat.report.order").by_column(self:column_of(sort) or self:column_of(sort:sub(2)),
      self:column_of(sort) ~= nil)
  end
  local entries = {}
  for i, values in ipairs(shown) do
    entries[i] = { row = of[values], values = values, order = i }
  end
  table.sort(entries, order ~= sort and order or function(a, b) return sort(a.row, b.row) end)
  for i, entry in ipairs(entries) do
    shown[i] = entry.values
  end
end

-- The names in the expressions of columns, and in a filter, that no row has as a field of its own.
local function names_of_columns(columns, rows, filter)
  local names, seen = {}, {}
  for i = 1, #columns + 1 do
    for _, name in ipairs((columns[i] or filter or {}).names or {}) do
      local is_field = seen[name]
      seen[name] = true
      for _, row in ipairs(rows) do
        is_field = is_field or rawget(row, name) ~= nil
      end
      names[#names + 1] = not is_field and name or nil
    end
  end
  return names
end

-- Looks for statistics in expressions of columns, and in a filter, that no kstat of a row has. Returns whether there
-- was a row with a kstat.
local function look_for_statistics(columns, rows, filter)
  local kstats = {}
  for _, row in ipairs(rows) do
    kstats[#kstats + 1] = rawget(row, "kstat")
  end
  if #kstats > 0 then
    running.warn_later(require("kstat.base.unknown").statistics(names_of_columns(columns, rows, filter), kstats,
      require("kstat.figures.expression").is_derived))
  end
  return #kstats > 0
end

--- Prints, after the first tick, what has no kstat, no statistic or no row. Columns wait for a row with a kstat.
-- @tparam report self whose `unchecked` says what was not looked for yet
-- @tparam difference d
-- @tparam {row,...} rows
-- @tparam table given its options
-- @tparam {pattern,...}|nil filters the operands
-- @tparam[opt] boolean first no sample is earlier
function evaluation.look_for_missing(self, d, rows, given, filters, first)
  if self.unchecked == "all" then
    if not self.optional then
      local selectors = self.select and self.selectors or {}
      running.missing(operand.unmatched(d, selectors, given), #selectors)
    end
    if filters then
      running.warn_later(require("kstat.base.unknown").patterns("nothing here is called", given.operands, filters,
        self.names))
    end
    self.names, self.unchecked = nil, not self.optional and "columns" or nil
  end
  -- Fields that a script gives its rows may be nil until there is an earlier sample.
  if self.unchecked and not (first and self.rows) and look_for_statistics(self.columns, rows, self.filter) then
    self.unchecked = nil
  end
end

-- Removes the rows behind the first `top`; what is left of them is a row in their place if the report has `rest`.
local function cut(self, shown, of, top)
  local behind, rows = {}, {}
  for i = top + 1, #shown do
    behind[i - top], rows[i - top], shown[i] = shown[i], of[shown[i]], nil
  end
  if self.rest then
    local columns = self.columns
    local group = self.by and with_figures(self, require("kstat.report.groups").rest(self, rows))
    local values = group and values_of(columns, group) or
      require("kstat.report.order").totals(columns, behind, evaluating)
    values[1] = self.rest
    shown[top + 1] = values
  end
end

--- The rows of one tick as they are shown.
-- @tparam report self
-- @tparam difference d
-- @tparam sample now
-- @tparam sample|nil prev
-- @tparam table given its options
-- @tparam {pattern,...}|nil filters the operands
-- @treturn {values,...} arrays of values, chosen and in order
-- @treturn int how many rows the operands left
-- @treturn values|nil the totals
-- @treturn {[values]=row} the row of each array
function evaluation.evaluate(self, d, now, prev, given, filters)
  local own = self.rows
  local all = own and own_rows(self, d, now, prev, given) or default_rows(self, d, filters)
  local rows = prepare(self, all)
  self.state.rows = self.state.over_all and filters and not own and default_rows(self, d) or rows
  local columns = self.columns
  local skip_idle, sort, top = given.skip_idle or self.skip_idle, given.sort or self.sort, given.top or self.top
  local shown, of = {}, {} -- values, and the rows that they belong to
  local matched, hidden = not own and #all - #rows or 0, {}
  for i = 1, #rows do
    local row = rows[i]
    local k = type(rawget(row, "kstat")) == "userdata" and row.kstat or nil
    if self.complete and rawget(row, "text") == nil then
      self.complete(row, given)
    end
    local values = values_of(columns, row)
    local wanted = not filters or not own or values.text or
      is_wanted(filters, k and k.name, columns, values)
    matched = wanted and not values.text and matched + 1 or matched
    if self.names and own and not values.text then
      add_names(self.names, k and k.name, columns, values)
    end
    if wanted and rawget(row, "hidden") then
      hidden[#hidden + 1] = row
    elseif wanted and not (skip_idle and not values.text and is_idle(values, columns)) then
      shown[#shown + 1], of[values] = values, row
    end
  end
  if self.unchecked then
    evaluation.look_for_missing(self, d, all, given, filters, not prev)
  end
  if sort then
    in_order(self, shown, of, sort)
  end
  local totals = self.totals and require("kstat.report.order").totals(columns, shown, evaluating)
  if top and #shown > top then
    cut(self, shown, of, top)
  end
  if #shown == 0 and #hidden > 0 and self.none then
    shown[1] = { text = self.none(hidden, given) }
  end
  return shown, matched, totals, of
end

-- The same as the rows that were made. Those that nobody made, totals and what is left of the rows that were cut off,
-- are arrays of values with `last`.
local function chosen_rows(self, d, now, prev, given)
  local rows, matched, totals, of = evaluation.evaluate(self, d, now, prev, given, self.filters)
  self.found = self.found or matched > 0
  rows[#rows + 1] = totals
  for i = 1, #rows do
    local row = of[rows[i]]
    rows[i].last = not row
    rows[i] = row or rows[i]
  end
  return rows
end

--- Begins a tick, for expressions over time.
-- @tparam table state of the report
-- @tparam sample now
-- @tparam sample|nil prev
function evaluation.begin(state, now, prev)
  local tick = state.tick
  state.now, state.first = now, prev == nil
  state.ends = prev and core.sample_taken(now) - core.sample_taken(prev)
  state.still = prev == nil and core.difference(now, false) or nil
  if state.kids then
    require("kstat.figures.expression.window").tick(state, now, state.ends, prev == nil and tick > 0)
  end
  state.tick = tick + 1
end

--- The rows of a tick as they are made, for a screen, which puts them in order and shows some of them.
-- @tparam report self
-- @tparam difference d
-- @tparam sample now
-- @tparam sample|nil prev
-- @tparam table given its options
-- @treturn {row,...}
function evaluation.rows_of(self, d, now, prev, given)
  local state = self.state
  evaluation.begin(state, now, prev)
  if state.tick == 1 and self.filters then
    self.unchecked, self.names = "all", {}
  end
  if self.filters or self.totals or self.none or self.top or given.top or self.skip_idle or given.skip_idle then
    return chosen_rows(self, d, now, prev, given)
  end
  local rows = prepare(self, self.rows and own_rows(self, d, now, prev, given) or default_rows(self, d))
  state.rows = rows
  return rows
end

return evaluation
