--- Rows that are sums of statistics: what `from` of a report declares.
--
-- An array of sources. Each has its selectors [1], [2], … and `figures`, which kstat.figures() gave: they become
-- fields of the row. All kstats that the first selector finds are added up; where it finds none, the second one
-- counts, and so on. The first source may have `each = true`: then there is a row for each of its kstats, with their
-- module, instance and name as fields. In the others a selector that is a table may have `instance = "row"`: the
-- row's. `fields` beside the sources is a table of fields that every row has, none of them called as a figure;
-- `finish` beside them is a function(row, d) that is called with each row when it is complete.
--
-- @module kstat.report.from
local core = require("kstat.core")
local selector = require("kstat.selector")
local unknown = require("kstat.unknown")

local from = {}
from.__index = from

local KNOWN = { figures = true, each = true }
local BESIDE = { fields = "table", finish = "function" } -- the sources

-- Compiles one selector of a source. Returns it as differences take it, or nil and what is wrong.
local function compile(spec, first)
  if type(spec) == "table" and spec.instance == "row" then
    if first or type(spec.module) ~= "string" or type(spec.name) ~= "string" then
      return nil, "instance = \"row\" needs a module, a name, and another source that comes first"
    end
    return { module = spec.module, name = spec.name }
  end
  local ok, sel, message = pcall(selector.compile, spec)
  if not ok or not sel then
    return nil, ok and message or (sel:gsub("^[^ ]+:%d+: ", ""))
  end
  return { selector = sel }
end

-- A source, checked; nil, what is wrong.
local function source_of(given, first)
  if type(given) ~= "table" or given[1] == nil then
    return nil, "{ selector, …, figures = … } expected"
  elseif core.kind(given.figures) ~= "figures" then
    return nil, "figures: what kstat.figures() gives expected"
  elseif given.each and (not first or given[2] ~= nil) then
    return nil, "each: only the first source has rows of its own, for one selector"
  end
  local source = { figures = given.figures, each = given.each or false }
  for key, value in pairs(given) do
    if type(key) ~= "number" and not KNOWN[key] then
      return nil, unknown.line("unknown field", tostring(key), KNOWN)
    elseif type(key) == "number" then
      local message
      source[key], message = compile(value, first)
      if not source[key] then
        return nil, message
      end
    end
  end
  return source
end

--- Checks the sources.
-- @tparam {table,...} given
-- @treturn from
-- @treturn[2] nil
-- @treturn[2] string what is wrong, with the number of the source
function from.new(given)
  if type(given) ~= "table" or #given == 0 then
    return nil, "an array of sources expected"
  end
  local self = setmetatable({}, from)
  for i, each in ipairs(given) do
    local source, message = source_of(each, i == 1)
    if not source then
      return nil, ("source %d: %s"):format(i, message)
    end
    self[i] = source
  end
  local taken = { text = true } -- what figures cannot be called
  for _, name in ipairs(self[1].each and { "module", "instance", "name" } or {}) do
    taken[name] = true
  end
  for name in pairs(type(given.fields) == "table" and given.fields or {}) do
    taken[name] = true
  end
  self.room = 0 -- for the fields of a row
  for i, source in ipairs(self) do
    for _, name in ipairs(core.figures_names(source.figures)) do
      self.room = self.room + 1
      if taken[name] then
        return nil, ("source %d: figure '%s': the row has a field of this name"):format(i, name)
      end
    end
  end
  self.fields, self.finish = given.fields, given.finish
  for key, value in pairs(given) do
    local expected = BESIDE[key]
    if type(key) ~= "number" and type(value) ~= expected then
      return nil, expected and ("%s: a %s expected"):format(key, expected) or
        unknown.line("unknown field", tostring(key), BESIDE)
    end
  end
  return self
end

-- Adds the figures of a source to a row.
local function add_figures(source, d, row)
  for _, one in ipairs(source) do
    local found
    if one.module then
      found = core.difference_figures(d, one.module, row.instance, one.name, source.figures, row)
    else
      found = assert(core.difference_sum(d, one.selector, source.figures, row)) > 0
    end
    if found then
      return
    end
  end
end

--- The rows of a difference.
-- @tparam difference d
-- @treturn {table,...}
function from:rows(d)
  local rows
  if not self[1].each then
    rows = { core.row(self.room) }
  else
    rows = assert(core.difference_rows(d, self[1][1].selector, self[1].figures))
  end
  for field, value in pairs(self.fields or {}) do
    for _, row in ipairs(rows) do
      row[field] = value
    end
  end
  for i = self[1].each and 2 or 1, #self do
    for _, row in ipairs(rows) do
      add_figures(self[i], d, row)
    end
  end
  for _, row in ipairs(self.finish and rows or {}) do
    self.finish(row, d)
  end
  return rows
end

--- Everything that a chain has to hold for the rows.
-- @treturn {selector,...}
function from:selectors()
  local list = {}
  for _, source in ipairs(self) do
    for _, one in ipairs(source) do
      list[#list + 1] = one.selector or assert(selector.compile({ module = one.module, name = one.name }))
    end
  end
  return list
end

return from
