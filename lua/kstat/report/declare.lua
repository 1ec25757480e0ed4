--- What a script declares to kstat.report, checked: fields, columns, options.
--
-- A wrong declaration is a mistake as kstat.base.mistake has them.
-- @module kstat.report.declare
local mistake = require("kstat.base.mistake")
local unknown = require("kstat.base.unknown")

local declare = {}

local fail = mistake.raise

-- --- fields ---------------------------------------------------------------------------------

-- The type, or types, of each field; or a word of EXPECTED, for what else it has to be.
local FIELDS = {
  name = "string", about = "string", note = "string", command = "string", options = "table or function",
  operands = "operands", select = "any", published = "boolean or function", optional = "boolean", follow = "function",
  columns = "table or function", rows = "function", text = "function", sort = "string or function", top = "count",
  totals = "boolean", where = "string", skip_idle = "boolean", skip_first = "boolean", check = "function",
  none = "function", heading = "string or function", squeeze = "boolean", gap = "string",
  blank = "boolean", repeat_header = "count", names_hosts = "boolean", by = "string or table", rest = "string",
  identity = "function", parent = "function", complete = "function", enter = "function", explain = "function",
}
local COLUMN_FIELDS = {
  key = "string", width = "width", align = "align", format = "format", unit = "string", kind = "measure",
  about = "string", total = "boolean or function", data = "boolean", warning = "number", critical = "number",
  state = "function", whole = "boolean", priority = "count", elide = "elide",
  hidden = "boolean", order = "function", lazy = "boolean",
}
local WORDS = { align = { left = true, right = true }, measure = { gauge = true, counter = true, label = true },
  elide = { middle = true, ["end"] = true } }
local MOST_WIDTH = 1000 -- of a column
-- What else the fields have to be, in words.
local EXPECTED = {
  count = "a whole number above 0", operands = "a string or false", width = "a whole number of at most 1000",
  align = "'left' or 'right'", measure = "'gauge', 'counter' or 'label'", elide = "'middle' or 'end'",
  format = "a function or a string for string.format with one value",
}

-- Whether a text formats one number or text.
local function is_format(format)
  local _, directives = format:gsub("%%%%", ""):gsub("%%", "")
  return directives == 1 and (pcall(string.format, format, 1))
end

local function suits(kind, value)
  local is = type(value)
  if WORDS[kind] then
    return WORDS[kind][value]
  elseif kind == "count" or kind == "width" then
    return is == "number" and value % 1 == 0 and value >= (kind == "count" and 1 or 0) and
      (kind == "count" or value <= MOST_WIDTH)
  elseif kind == "format" then
    return is == "function" or is == "string" and (value:find("^%%%d*%.?%d*[fdgs]$") or is_format(value))
  elseif kind == "operands" then
    return is == "string" or value == false
  end
  return kind == "any" or kind:find(is, 1, true)
end

local function shown(value)
  return type(value) == "string" and ("'%s'"):format(value) or tostring(value)
end

-- The fields of `given` that are known, in a new table. skip: how many elements it may have without a name.
local function take(given, known, skip, what, title)
  local taken = {}
  for field, value in pairs(given) do
    local kind = known[field]
    if kind then
      if not suits(kind, value) then
        fail("%s: %s: %s expected, not %s", what:format(title), field,
          EXPECTED[kind] or "a " .. kind:gsub(" or ", " or a "), shown(value))
      end
      taken[field] = value
    elseif not (type(field) == "number" and field % 1 == 0 and field >= 1 and field <= skip) then
      fail("%s", unknown.word(what:format(title) .. ": unknown field", tostring(field), known))
    end
  end
  return taken
end

--- The fields of a report.
-- @tparam table given
-- @treturn table the same, checked each for itself
function declare.report(given)
  if type(given) ~= "table" then
    fail("report: a table expected, not %s", shown(given))
  end
  local taken = take(given, FIELDS, 0, "report")
  if taken.columns == nil or type(taken.columns) == "table" and #taken.columns == 0 then
    fail("report: columns are missing")
  elseif taken.by and (taken.rows or type(taken.columns) == "function") then
    fail("report: by makes the rows, of columns that are known from the start")
  end
  return taken
end

--- The filter of rows.
-- @string text an expression, as of a `where` of kstat.aggregate
-- @tparam table run the report's state, see kstat.expression
-- @treturn table `names` (of statistics in it), `passes` (function(row))
function declare.filter(text, run)
  local filter = { names = {} }
  local value, problem = require("kstat.figures.expression").read(text, { names = filter.names, clock = run })
  if not value then
    fail("where: %s", problem)
  end
  function filter.passes(row)
    return (tonumber(value(row, 0)) or 0) ~= 0
  end
  return filter
end

-- --- columns --------------------------------------------------------------------------------

-- These expressions name the row.
local LABELS = { module = true, instance = true, name = true, class = true }
-- Fields that the data formats have in every row.
local RESERVED = { report = true, time = true, elapsed = true, since_creation = true }

-- A plain name: a field of the row or, where it has a kstat, an expression. Others need no expressions.
local function plain(name, run)
  local compiled
  return function(row)
    compiled = compiled or require("kstat.figures.expression").compile(name, run)
    return compiled(row)
  end
end

local function column_of(i, given, run, by)
  if type(given) ~= "table" or type(given[1]) ~= "string" then
    fail("column %d: { title, expression, … } expected", i)
  end
  local title, value = given[1], given[2]
  if value == nil then
    value = title
  end
  local column = take(given, COLUMN_FIELDS, 2, "column '%s'", title)
  column.title = title
  if type(value) == "function" then
    column.value = value
  elseif type(value) == "string" then
    column.expression = value
    column.field = value:match("^%a[%w_]*$") -- a field of the row comes first
    if column.field then
      column.value, column.names = plain(value, run), { value }
    elseif not by then
      column.value, column.names = require("kstat.figures.expression").compile(value, run)
    end
    if not column.value and not by then
      fail("column '%s': %s", title, column.names)
    end
    column.kind = column.kind or LABELS[value] and "label" or nil
  else
    fail("column '%s': an expression or a function expected, not %s", title, shown(value))
  end
  column.key = column.key or title == "" and type(value) == "string" and value or title
  return column
end

--- The columns of a report.
-- @tparam {table,...} given
-- @tparam table run the report's state, see kstat.expression
-- @param by whether rows are groups, whose columns kstat.report.groups compiles
-- @treturn {column,...} each with `title`, `value` (a function(row)), `key` (its name in the data formats), `names` (in
-- its expression), and what was given; and those by `titles`, the `fields` of the row that they show if it has them
-- (false: none), and whether any has a `computed` value
function declare.columns(given, run, by)
  if type(given) ~= "table" or #given == 0 then
    fail("columns: an array of at least one expected, not %s", type(given) == "table" and "an empty one" or
      shown(given))
  end
  local columns, taken = { fields = {}, titles = {} }, {}
  for i, each in ipairs(given) do
    local column = column_of(i, each, run, by)
    if column.data ~= false then
      if RESERVED[column.key] then
        fail("column '%s': the data formats have a '%s' of their own; key = '…' gives it another name there",
          column.title, column.key)
      elseif taken[column.key] then
        fail("columns %d and %d are both called '%s'; key = '…' gives one another name in the data formats",
          taken[column.key], i, column.key)
      end
      taken[column.key] = i
    end
    columns[i], columns.fields[i] = column, column.field or false
    columns.titles[column.title] = columns.titles[column.title] or column
    columns.computed = columns.computed or not column.field
  end
  columns[1].align = columns[1].align or "left"
  return columns
end

return declare
