--- What the rows of `top` are: a statistic each, with its rate, its value and its recent past.
--
-- A row has `name` (module:instance:name:statistic), `counter` (boolean), `rate` (per second; nil for gauges),
-- `value` (now), `unit` (of the value) and a history. Metadata says what is a counter; without, integers are.
-- Durations are in seconds whatever they are stored in, so a rate of 1 means all the time.
-- Texts, arrays and points in time are no rows.
--
-- @module kstat.top.rows
local core = require("kstat.core")

local rows = {}
rows.__index = rows

local HISTORY = 64 -- intervals that are remembered

--- An empty table of rows.
-- @tparam {selector,...} selectors compiled ones
-- @treturn rows
function rows.new(selectors)
    return setmetatable({ selectors = selectors, known = {}, list = {} }, rows)
end

local math_type = math.type or function(v)
    return v % 1 == 0 and "integer" or "float"
end

-- What does not change about a statistic. counter nil: it is no row.
local function describe(k, statistic, value)
    local about = { name = ("%s:%d:%s:%s"):format(k.module, k.instance, k.name, statistic) }
    local meta = k:meta(statistic)
    if not meta then
        about.counter, about.unit = math_type(value) == "integer", ""
        return about
    elseif meta.kind ~= "counter" and meta.kind ~= "gauge" then
        return about
    end
    about.counter, about.unit = meta.kind == "counter", meta.unit
    if meta.unit == "ns" then
        -- Those of I/O and timer kstats are seconds in Lua.
        about.unit, about.factor = "s", k.type == "named" and 1e-9 or 1
    end
    return about
end

-- Numbers only; an unsigned one above 2^63 - 1 is negative to Lua.
local function number(value, unsigned)
    if type(value) ~= "number" or value ~= value then
        return nil
    elseif unsigned and value < 0 then
        return value + 2 ^ 64
    end
    return value
end

local function remember(row, value)
    row.at = row.at % HISTORY + 1
    row.past[row.at] = value
    row.length = math.min(row.length + 1, HISTORY)
end

-- Statistics of a kstat, by name, as they are now.
local function values_now(k, list)
    local names, values, by_name = {}, {}, {}
    for i = 1, core.collect(k, list, names, values) do
        by_name[names[i]] = values[i]
    end
    return by_name
end

--- Takes in one tick.
-- @tparam difference d
-- @tparam[opt] boolean first d is since creation: nothing for the history
function rows:take(d, first)
    local unpack = table.unpack or unpack
    local names, values, seen, list = {}, {}, {}, {}
    for _, k in ipairs(d:select(unpack(self.selectors))) do
        local elapsed, id = k.elapsed, tostring(k)
        local n = core.collect(k, self.selectors, names, values)
        local now = values_now(k:now(), self.selectors)
        for i = 1, n do
            local statistic, value = names[i], number(values[i])
            local key = id .. ":" .. statistic
            local row = value and not seen[key] and (self.known[key] or describe(k, statistic, value))
            if row and row.counter ~= nil then
                seen[key] = row
                row.past, row.at, row.length = row.past or {}, row.at or 0, row.length or 0
                local factor = row.factor or 1
                if row.counter then
                    row.rate = elapsed > 0 and value / elapsed * factor or nil
                    row.value = (number(now[statistic], true) or value) * factor
                else
                    row.value = value * factor
                end
                if not first then
                    remember(row, row.rate or row.value)
                end
                list[#list + 1] = row
            end
        end
    end
    self.known, self.list = seen, list
end

--- A row's recent rates (of a gauge: values), oldest first.
-- @tparam table row
-- @int most how many at most
-- @treturn {number,...}
-- @treturn int how many
function rows.history(row, most)
    local n = math.min(row.length, most)
    local out = {}
    for i = 1, n do
        out[i] = row.past[(row.at - n + i - 1) % HISTORY + 1]
    end
    return out, n
end

-- --- which rows, in which order ----------------------------------------------------------------

--- Compiles a filter: `/Perl regular expression/` (the closing slash, with flags, may be missing) or a
-- text that is looked for without case; both in the whole name.
-- @string text "": everything passes
-- @treturn[1] function(row)
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function rows.filter(text)
    if text == "" then
        return function() return true end
    elseif text:sub(1, 1) == "/" then
        local pattern, message
        if text == "/" or text == "//" then
            return function() return true end
        elseif text:find("^/.*[^\\]/[imsxnU]*$") then
            pattern, message = core.pattern(text)
        else
            pattern, message = core.pattern(text .. "/")
        end
        if not pattern then
            return nil, message
        end
        return function(row) return pattern:matches(row.name) end
    end
    local wanted = text:lower()
    return function(row)
        return row.name:lower():find(wanted, 1, true) ~= nil
    end
end

-- Rows without that figure are last in either direction; equals are in the order of their names.
local function by_number(field, reverse)
    return function(a, b)
        local x, y = a[field], b[field]
        if x == y then
            return a.name < b.name
        elseif x == nil or y == nil then
            return y == nil
        elseif reverse then
            return x < y
        end
        return x > y
    end
end

local function by_name(reverse)
    return function(a, b)
        if reverse then
            return a.name > b.name
        end
        return a.name < b.name
    end
end

--- The rows that pass, in order.
-- @tparam table how `sort` ("rate": gauges last; "value", "name"), `reverse`, `filter` (a function),
-- `show` ("all", "counters", "gauges"), `skip_idle` (none with a rate, or a gauge's value, of 0)
-- @treturn {row,...}
function rows:chosen(how)
    local list = {}
    for _, row in ipairs(self.list) do
        local shown = how.show == nil or how.show == "all" or row.counter == (how.show == "counters")
        if shown and not (how.skip_idle and (row.rate or row.value) == 0) and
            (not how.filter or how.filter(row)) then
            list[#list + 1] = row
        end
    end
    table.sort(list, how.sort == "name" and by_name(how.reverse) or by_number(how.sort or "rate", how.reverse))
    return list
end

return rows
