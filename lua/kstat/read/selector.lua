--- Selectors: which kstats and which statistics are meant.
--
-- As text, `module:instance:name:statistic`: the operand of kstat(8). Each of the four is a glob or
-- a `/Perl regular expression/` with optional flags behind it (`imsxnU`); what is empty or missing
-- matches everything. The first three colons outside of `/…/` separate; the statistic keeps further
-- ones.
--
-- A kstat2 URI, `kstat:/misc/my_drv/1/data_in`, names one kstat: class, module, and of the last two
-- segments the numeric one is the instance.
--
-- As a table, `{module =, instance =, name =, statistic =, class =}`: each a specifier as above, but
-- here a colon is a character like any other. The instance may be a number.
-- @module kstat.selector

--- A selector as a table: `module`, `name`, `statistic` and `class` (?string): a specifier, nil: any; `instance`
-- (?string|integer): the same, or the number; `reads` (?string): the statistics that are needed, with commas between:
-- a chain that is opened with such selectors alone reads no more of the machine's files than these take.
-- @table fields

--- Whether a compiled selector selects a kstat, and a statistic of this name.
-- @tparam kstat k
-- @string[opt] statistic
-- @treturn boolean
-- @function sel:matches

--- The five specifiers that a compiled selector was made from, where "" is everything.
-- @treturn fields
-- @function sel:fields

local core = require("kstat.core")

local selector = {}

--- Splits an operand into its one to four fields, which are not compiled.
-- @string text the operand
-- @treturn {string,...} module, instance, name, statistic as far as they are given; the field `class`
-- if it is a URI
function selector.parse(text)
  if type(text) ~= "string" then
    core.usage("bad argument #1 to 'parse' (string expected, got " .. type(text) .. ")")
  end
  return core.operand(text)
end

local fields = { module = true, instance = true, name = true, statistic = true, class = true, reads = true }

-- Returns the text of a specifier in a table; an instance may be a number.
local function specifier(field, value)
  if type(value) == "string" then
    return value
  elseif field == "instance" and type(value) == "number" and value % 1 == 0 and math.abs(value) < 2 ^ 53 then
    return ("%d"):format(value)
  end
  core.usage(("selector field '%s': %s expected, got %s"):format(field,
    field == "instance" and "string or integer" or "string", type(value)))
end

local function from_table(spec)
  local texts = {}
  for field, value in pairs(spec) do
    if not fields[field] then
      core.usage(require("kstat.base.unknown").word("unknown selector field", tostring(field), fields))
    end
    texts[field] = specifier(field, value)
  end
  return core.selector(texts)
end

local compiled = setmetatable({}, { __mode = "v" }) -- operands that were compiled before

local function from_text(text)
  local found = compiled[text]
  if found then
    return found
  end
  local sel, message, errname = core.selector_of(text)
  if not sel then
    return nil, ("selector '%s': %s"):format(text, message), errname
  end
  compiled[text] = sel
  return sel
end

--- Compiles a selector. It can be used wherever one is expected, any number of times.
-- @tparam spec spec see above; a compiled one is returned as it is
-- @treturn selector
-- @fails "EINVAL": the message says what is wrong, and where in the expression
-- @raise if spec is of another type, or a table with unknown fields
function selector.compile(spec)
  if type(spec) == "string" then
    return from_text(spec)
  elseif type(spec) == "table" then
    return from_table(spec)
  elseif core.kind(spec) == "selector" then
    return spec
  end
  core.usage("selector expected (string or table), got " .. type(spec))
end

local function is_array(spec)
  for key in pairs(type(spec) == "table" and spec or {}) do
    if type(key) ~= "number" then
      return false
    end
  end
  return type(spec) == "table" and spec[1] ~= nil
end

--- Compiles several, given one by one or as an array.
-- @treturn {selector,...}|nil|boolean nil: there are none. false, message, errno name: one is bad.
function selector.list(...)
  local n = select("#", ...)
  if n == 1 and is_array((...)) then
    return selector.list((table.unpack or unpack)((...)))
  end
  if n == 0 then
    return nil
  end
  local list = {}
  for i = 1, n do
    local sel, message, errname = selector.compile((select(i, ...)))
    if not sel then
      return false, message, errname
    end
    list[i] = sel
  end
  return list
end

return selector
