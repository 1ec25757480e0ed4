--- Reports: a declaration of what to select and which columns to show; everything else is given.
--
--     return kstat.report({
--         name = "disks", about = "busy disks",
--         select = { class = "disk" },
--         columns = {
--             { "device", "name" },
--             { "r/s", "rate(reads)", unit = "1/s" },
--             { "asvc_t", "asvc_t", unit = "ms" },
--             { "%b", "b_pct", format = "%3.0f" },
--         },
--         sort = "%b",
--     })
--
-- A script that returns this is run by `kstatlua`: with interval and count, -j, --csv, --openmetrics, -r,
-- --sort, --top, -T, -y, -z and --help. doc/scripting.md is the whole story, with units.
--
-- @module kstat.report
local core = require("kstat.core")
local every = require("kstat.every")
local options = require("kstat.report.options")
local output = require("kstat.report.output")
local selector = require("kstat.selector")

local report = {}
report.__index = report

local KNOWN = {
    name = true, about = true, options = true, operands = true, select = true, columns = true, rows = true,
    sort = true, top = true, totals = true, skip_idle = true, skip_first = true, check = true, heading = true,
    squeeze = true, published = true, gap = true, blank = true, repeat_header = true,
}
local COLUMN_FIELDS = {
    key = true, width = true, align = true, format = true, unit = true, kind = true, about = true, total = true,
}

-- --- the declaration ------------------------------------------------------------------------

-- A plain name, which is an expression of the row's kstat. Rows that have none need no expressions.
local function of_kstat(name)
    local compiled
    return function(row)
        if not row.kstat then
            return row[name]
        end
        compiled = compiled or require("kstat.report.expression").compile(name)
        return compiled(row)
    end
end

-- One column: { title, expression or function(row), … }.
local function make_column(i, given, level)
    if type(given) ~= "table" or type(given[1]) ~= "string" then
        error(("column %d: { title, expression, … } expected"):format(i), level + 1)
    end
    local title, value = given[1], given[2] or given[1]
    for field in pairs(given) do
        if field ~= 1 and field ~= 2 and not COLUMN_FIELDS[field] then
            error(("column '%s': unknown field '%s'"):format(title, tostring(field)), level + 1)
        end
    end
    local column = { title = title }
    for field in pairs(COLUMN_FIELDS) do
        column[field] = given[field]
    end
    if type(value) == "function" then
        column.value = value
    elseif type(value) == "string" then
        column.field = value:match("^%a[%w_]*$") -- a field of the row comes first
        local message
        column.value = column.field and of_kstat(column.field)
        if not column.value then
            column.value, message = require("kstat.report.expression").compile(value)
        end
        if not column.value then
            error(("column '%s': %s"):format(title, message), level + 1)
        end
    else
        error(("column '%s': an expression or a function expected, got %s"):format(title, type(value)), level + 1)
    end
    return column
end

local function make_selectors(select, level)
    if select == nil then
        return nil
    end
    local list = {}
    for i, spec in ipairs(type(select) == "table" and select[1] ~= nil and select or { select }) do
        local sel, message = selector.compile(spec, level + 1)
        if not sel then
            error(message, level + 1)
        end
        list[i] = sel
    end
    return list
end

--- Declares a report: `kstat.report(given)`.
-- @tparam table given
--
--   * `name`, `about`: what --help and the data formats say
--   * `select`: a selector or an array of them (kstat.selector): all that the report looks at, `rows`
--     included; nil: every kstat; or a function(options). With a class in each the machine is read with the
--     least work
--   * `published`: true: of the machine only what processes publish, false: all but that; of a capture everything
--   * `columns`: `{ title, value, width =, align =, format =, unit =, kind =, about =, total = }` each; value is an
--     expression (kstat.report.expression; default: the title) or a function(row); `format` is for
--     string.format (default "%.1f" for numbers) or a function; `align` "left" or "right" (default: left for
--     the first column); `kind` "gauge" (default) or "counter"; `total` false, or a function(values)
--   * `rows`: function(d, now, prev, options) that gives the rows: an array of tables, each with any
--     fields and the kstat of the difference `d` as `kstat`; default: one for each selected kstat
--   * `sort`: a title (descending), "-title" (ascending), or function(a, b) of rows; `top`: at most that many rows
--   * `totals`: true for a last line with the sums of number columns
--   * `options`: own options (kstat.report.options); `operands`: what operands are called; by default
--     they are globs that the names of rows' kstats must match
--   * `skip_idle`: -z from the start; `skip_first`: a report has to wait for its first interval
--   * `check`: function(options) that gives what is wrong with them, or nil
--
-- `columns` may be a function(options, ks) that gives them when the chain is open. What a report for
-- people looks like:
--
--   * `heading`: a line above the titles; or a function(options)
--   * `squeeze`: true: a cell too wide takes its room from those that follow it (needs widths)
--   * `gap`: between columns, default a space; `blank` false: no empty line between blocks of several rows
--   * `repeat_header`: lines between two headers where a tick has one row; default: what the terminal holds
--   * a row with the field `text` is that line, and not in the data formats
--   * a column's `key` names it in the data formats and for --sort, where a title is not unique
--
-- @treturn report with `run(arg)`, see there
-- @raise on a mistake in the declaration, naming the column and the position
function report.new(given, level)
    level = (level or 1) + 1
    if type(given) ~= "table" then
        error("bad argument #1 to 'report' (table expected, got " .. type(given) .. ")", level)
    end
    for field in pairs(given) do
        if not KNOWN[field] then
            error(("report: unknown field '%s'"):format(tostring(field)), level)
        end
    end
    if type(given.columns) ~= "function" and (type(given.columns) ~= "table" or #given.columns == 0) then
        error("report: columns are missing", level)
    end
    local self = setmetatable({}, report)
    for field in pairs(KNOWN) do
        self[field] = given[field]
    end
    self.name = given.name or "report"
    if type(given.select) ~= "function" then
        self.selectors = make_selectors(given.select, level)
    end
    self.declared = options.declare(given.options, level)
    if type(given.columns) == "function" then
        self.make_columns, self.columns = given.columns, nil
    else
        self:set_columns(given.columns, level)
        if type(self.sort) == "string" and not self:sorts_by(self.sort) then
            error(("report: there is no column '%s' to sort by"):format(self.sort), level)
        end
    end
    return self
end

function report:set_columns(given, level)
    self.columns = {}
    for i, column in ipairs(given) do
        self.columns[i] = make_column(i, column, level + 1)
    end
    self.columns[1].align = self.columns[1].align or "left"
end

function report:column_of(title)
    for i, column in ipairs(self.columns) do
        if column.title == title or column.key == title then
            return i
        end
    end
    return nil
end

-- Whether that is a column, or "-" and one.
function report:sorts_by(sort)
    return self:column_of(sort) or self:column_of((sort:gsub("^%-", "", 1)))
end

-- --- one tick ---------------------------------------------------------------------------------

-- The rows that a report without `rows` has: a kstat each, filtered by the operands.
local function default_rows(self, d, filters)
    local list = {}
    local unpack = table.unpack or unpack
    for _, k in ipairs(d:select(unpack(self.selectors or {}))) do
        local wanted = not filters
        for _, filter in ipairs(filters or {}) do
            wanted = wanted or filter:matches(k)
        end
        if wanted then
            list[#list + 1] = { kstat = k }
        end
    end
    return list
end

-- nil sorts last, whatever the direction.
local function by_column(i, descending)
    return function(a, b)
        local x, y = a.values[i], b.values[i]
        if x == nil or y == nil then
            if (x == nil) == (y == nil) then
                return a.order < b.order
            end
            return y == nil
        elseif x == y then
            return a.order < b.order
        elseif type(x) ~= type(y) then
            return type(x) == "number"
        elseif descending and type(x) == "number" then
            return x > y
        end
        return x < y
    end
end

-- Column names descend; a text column ascends anyway; "-title" turns numbers around.
function report:order(sort)
    if type(sort) ~= "string" then
        return sort and function(a, b) return sort(a.row, b.row) end
    end
    local i = self:column_of(sort)
    if i then
        return by_column(i, true)
    end
    return by_column(self:column_of(sort:sub(2)), false)
end

local function is_idle(values, n)
    local numbers = false
    for i = 1, n do
        if type(values[i]) == "number" then
            numbers = true
            if values[i] ~= 0 then
                return false
            end
        end
    end
    return numbers
end

function report:make_totals(shown)
    local totals = {}
    for i, column in ipairs(self.columns) do
        local list = {}
        for _, values in ipairs(shown) do
            if type(values[i]) == "number" and values[i] == values[i] then
                list[#list + 1] = values[i]
            end
        end
        if i == 1 then
            totals[i] = "total"
        elseif type(column.total) == "function" then
            totals[i] = column.total(list)
        elseif column.total ~= false and #list > 0 then
            local sum = 0
            for _, v in ipairs(list) do
                sum = sum + v
            end
            totals[i] = sum
        end
    end
    return totals
end

-- The rows of one tick as arrays of values, chosen and in order.
function report:evaluate(d, now, prev, given, filters)
    local rows = self.rows and self.rows(d, now, prev, given) or default_rows(self, d, filters)
    local columns = self.columns
    local skip_idle, sort, top = given.skip_idle or self.skip_idle, given.sort or self.sort, given.top or self.top
    local shown, of = {}, {} -- values, and the rows that they belong to
    for _, row in ipairs(rows) do
        local values = core.layout_values(#columns)
        values.text = row.text
        for i = 1, row.text and 0 or #columns do
            local column = columns[i]
            local value = column.field and row[column.field]
            if value == nil then
                value = column.value(row)
            end
            values[i] = value
        end
        if not (skip_idle and is_idle(values, #columns)) then
            shown[#shown + 1] = values
            of[values] = sort and row
        end
    end
    if sort then
        local order = self:order(sort)
        local entries = {}
        for i, values in ipairs(shown) do
            entries[i] = { row = of[values], values = values, order = i }
        end
        table.sort(entries, order)
        for i, entry in ipairs(entries) do
            shown[i] = entry.values
        end
    end
    for i = #shown, (top or #shown) + 1, -1 do
        shown[i] = nil
    end
    return shown
end

-- --- running ----------------------------------------------------------------------------------

local function form_of(given)
    return given.json and "json" or given.csv and "csv" or given.openmetrics and "openmetrics" or "table"
end

local function complain(self, message)
    io.stderr:write(("%s: %s\n"):format(self.name, message))
end

-- What is wrong with the options; nil if nothing is.
local function check_options(self, given)
    if given.timestamp and not given.timestamp:find("^[du]") then
        return ("-T takes d or u, not '%s'"):format(given.timestamp)
    elseif given.sort and self.columns and not self:sorts_by(given.sort) then
        return ("there is no column '%s' to sort by"):format(given.sort)
    elseif (given.from or given.to) and not given.replay and not os.getenv("KSTAT_SOURCE") then
        return "--from and --to need a recording (-r)"
    end
    return self.check and self.check(given)
end

local function compile_filters(operands)
    if #operands == 0 then
        return nil
    end
    local filters = {}
    for i, operand in ipairs(operands) do
        local sel, message = selector.compile({ name = operand }, 2)
        if not sel then
            return nil, message
        end
        filters[i] = sel
    end
    return filters
end

local function open(given, selectors, published)
    local capture = given.replay or (given.from or given.to) and os.getenv("KSTAT_SOURCE") or nil
    if not capture then
        return every.open({ only = selectors, published = published })
    end
    local ok, ks, message = pcall(every.open, { capture = capture, from = given.from, to = given.to,
        only = selectors })
    if not ok then
        return nil, "--from and --to take seconds since 1970 or a time such as '2026-11-21 14:05'"
    end
    return ks, message
end

local function write_timestamp(write, how, seconds)
    if how:sub(1, 1) == "u" then
        write(("%d\n"):format(math.floor(seconds)))
    else
        write(os.date("%a %b %e %H:%M:%S %Z %Y", math.floor(seconds)) .. "\n")
    end
end

-- The sink, when columns and heading are known; nil if --sort names no column.
function report:open_sink(form, given, ks, write)
    if self.make_columns then
        self:set_columns(self.make_columns(given, ks), 1)
        if given.sort and not self:sorts_by(given.sort) then
            complain(self, ("there is no column '%s' to sort by"):format(given.sort))
            return nil
        end
    end
    local look = {}
    for field, value in pairs(self) do
        look[field] = value
    end
    if type(self.heading) == "function" then
        look.heading = self.heading(given)
    end
    local sink = output.sink(form, self.columns, write, look)
    if sink.start then
        sink.start()
    end
    return sink
end

-- The loop over the samples of an open chain. Returns the exit status.
function report:loop(ks, given, filters, write)
    local form = form_of(given)
    local sink = self:open_sink(form, given, ks, write)
    if not sink then
        return 2
    end
    local dated = form ~= "table"
    local count = given.interval and given.count or not given.interval and 1 or nil
    local skip = given.skip_first and count ~= 1
    if self.skip_first then
        skip, count = true, count and count + 1
    end
    for now, prev in every.every(given.interval or 1, count, { chain = ks }) do
        -- What this asks for is in every later sample, so it is asked for even if it is not shown.
        local d = prev and now - prev or now:since_creation()
        local rows = self:evaluate(d, now, prev, given, filters)
        if prev or not skip then
            if given.timestamp and form == "table" then
                write_timestamp(write, given.timestamp, now.time_of_day)
            end
            sink.show(rows, {
                time = dated and now.time_of_day, elapsed = dated and d.elapsed, first = prev == nil,
                totals = self.totals and self:make_totals(rows) or nil,
            })
        end
    end
    return 0
end

--- Runs the report for a command line.
-- @tparam {string,...} arg
-- @func[opt] write takes the output; default: standard output
-- @treturn int the exit status: 0, 2 the command line was wrong, 3 the source could not be read
function report:run(arg, write)
    write = write or function(text) return io.stdout:write(text) end
    local given, message = options.read(self.declared, arg)
    if given and given.help then
        write(options.help(self.declared, self))
        return 0
    end
    message = message or check_options(self, given)
    local filters
    if not message and not self.operands then
        filters, message = compile_filters(given.operands)
    end
    if message then
        complain(self, message .. ("; 'kstatlua %s --help' explains"):format(self.name))
        return 2
    end
    if type(self.select) == "function" then
        self.selectors = make_selectors(self.select(given), 1)
    end
    local ks
    ks, message = open(given, self.selectors, self.published)
    if not ks then
        complain(self, message)
        return 3
    end
    local status = self:loop(ks, given, filters, write)
    for _, warning in ipairs(ks:warnings()) do
        complain(self, warning)
    end
    ks:close()
    return status
end

return setmetatable({}, {
    __index = report,
    __call = function(_, given)
        local new = report.new(given, 2) -- no tail call: a mistake is blamed on the caller's line
        return new
    end,
})
