--- Rows that are sums of statistics: what `from` of a report declares.
--
-- An array of sources. Each has its selectors [1], [2], … and `figures`, which kstat.figures() gave: they become
-- fields of the row. All kstats that the first selector finds are added up; where it finds none, the second one
-- counts, and so on. The first source may have `each = true`: then there is a row for each of its kstats, with their
-- module, instance and name as fields. In the others a selector that is a table may have `instance = "row"`: the
-- row's. `fields` beside the sources is a table of fields that every row has, none of them called as a figure.
--
-- @module kstat.report.from
local core = require("kstat.core")
local selector = require("kstat.selector")

local from = {}
from.__index = from

local KNOWN = { figures = true, each = true }

-- One selector of a source: what stands for it in a difference. nil, what is wrong.
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
            return nil, ("unknown field '%s'"):format(tostring(key))
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
-- @treturn[1] from
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
    for i, source in ipairs(self) do
        for _, name in ipairs(core.figures_names(source.figures)) do
            if taken[name] then
                return nil, ("source %d: figure '%s': the row has a field of this name"):format(i, name)
            end
        end
    end
    for key, value in pairs(given) do
        if key == "fields" and type(value) == "table" then
            self.fields = value
        elseif type(key) ~= "number" then
            return nil, key == "fields" and "fields: a table expected" or
                ("unknown field '%s'"):format(tostring(key))
        end
    end
    return self
end

-- The kstats of a source, for a row; and whether no other one could ever be among them.
local function kstats_of(source, d, row)
    for i, one in ipairs(source) do
        if one.module then
            local k = d:lookup(one.module, row.instance, one.name)
            if k then
                return { k }, i == 1
            end
        else
            local list = d:select(one.selector)
            if #list > 0 then
                return list, i == 1 and one.selector:is_one()
            end
        end
    end
    return {}, false
end

-- Whether a difference has all kstats of a source that its later sample has. One that the earlier sample lacks
-- though it was there, is of no use to this difference but to the next one.
local function is_whole(source, d, now, row)
    for _, one in ipairs(source) do
        local told, there
        if one.module then
            told = d:lookup(one.module, row.instance, one.name) and 1 or 0
            there = now:lookup(one.module, row.instance, one.name) and 1 or 0
        else
            told, there = #d:select(one.selector), #now:select(one.selector)
        end
        if told ~= there or told > 0 then
            return told == there
        end
    end
    return true
end

--- The rows of a difference.
-- @tparam difference d
-- @treturn {table,...}
function from:rows(d)
    local rows = { {} }
    if self[1].each then
        rows = d:rows(self[1][1].selector, self[1].figures)
    end
    for field, value in pairs(self.fields or {}) do
        for _, row in ipairs(rows) do
            row[field] = value
        end
    end
    for i = self[1].each and 2 or 1, #self do
        for _, row in ipairs(rows) do
            core.figures_sum(self[i].figures, kstats_of(self[i], d, row), row)
        end
    end
    return rows
end

--- The kstats that rows were made of.
-- @tparam difference d
-- @tparam {table,...} rows of that difference
-- @tparam sample now its later sample
-- @treturn[1] nil the rows of the next difference may be made of others
-- @treturn[2] {{{kstat,...},...},...} for each row and each source an array
-- @treturn[2] boolean whether others could never be part of the rows, and there never be other rows
function from:kstats(d, rows, now)
    local list = {}
    local each = self[1].each and d:select(self[1][1].selector)
    if each and not is_whole(self[1], d, now) then
        return nil
    end
    local closed = not each
    for i, row in ipairs(rows) do
        local of_row = {}
        for s, source in ipairs(self) do
            if s == 1 and each then
                of_row[s] = { each[i] }
            elseif not is_whole(source, d, now, row) then
                return nil
            else
                local all
                of_row[s], all = kstats_of(source, d, row)
                closed = closed and all
            end
        end
        list[i] = of_row
    end
    return list, closed
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
