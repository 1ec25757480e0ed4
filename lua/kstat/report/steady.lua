--- Ticks in which nothing but numbers change, made without a step of the script's.
--
-- A report with `from` and columns that are fields of its rows says all there is to say about a line. So, once a
-- tick has shown it, the C half reads the kstats, adds up and writes by itself, until a kstat comes or goes, a
-- signal arrives, or the last tick was made. What it writes is what the script would have written.
--
-- @module kstat.report.steady
local core = require("kstat.core")

local steady = {}

-- Which field of a row each figure of each source is, the fields by number; the fields' numbers by name; how many.
local function fields_of(source)
    local fields, numbers, n = {}, {}, 0
    for s, one in ipairs(source) do
        fields[s] = {}
        for i, name in ipairs(core.figures_names(one.figures)) do
            if not numbers[name] then
                n = n + 1
                numbers[name] = n
            end
            fields[s][i] = numbers[name]
        end
    end
    return fields, numbers, n
end

-- What each column shows of a row: { the number of a field }, or the number or text that the row has always. nil if
-- there is anything else, or the row is a line of its own.
local function cells_of(columns, numbers, row)
    local cells = {}
    for i, field in ipairs(columns.fields) do
        local value = row[field]
        if numbers[field] then
            cells[i] = { numbers[field] }
        elseif value == nil or type(value) == "number" or type(value) == "string" then
            cells[i] = value
        else
            return nil
        end
    end
    return row.text == nil and cells or nil
end

--- Makes the ticks that follow one which was shown.
-- @tparam chain ks
-- @tparam table last that tick: `source` (kstat.report.from), `columns`, `block` (kstat.output), the
-- difference `d`, its later sample `now` and its `rows`
-- @int deadline when that tick was due, in ns
-- @int interval in ns
-- @tparam int|nil left how many ticks there are at most
-- @treturn[1] nil these ticks are not so simple
-- @treturn[2] int how many were made
-- @treturn[2] int when the last one was due
-- @treturn[2] string why no more: "count"; "woken" by a signal; "due": the next one, now, is not so simple;
-- "failed": the output could not be written
-- @treturn[2] sample what the last tick saw; nil if none was made
-- @treturn[2] string|nil message, if that failed
-- @treturn[2] int|nil errno
function steady.run(ks, last, deadline, interval, left)
    local fields, numbers, n = fields_of(last.source)
    local kstats, closed = last.source:kstats(last.d, last.rows, last.now)
    if not kstats then
        return nil
    end
    local figures, rows, block = {}, {}, last.block
    for s, one in ipairs(last.source) do
        figures[s] = one.figures
    end
    for i, row in ipairs(last.rows) do
        local cells = cells_of(last.columns, numbers, row)
        if not cells then
            return nil
        end
        rows[i] = { kstats = kstats[i], cells = cells }
    end
    local made = core.steady(ks, block.layout, figures, fields, n, rows, closed)
    if not made then
        return nil
    end
    local why, ticks, at, since, message, code = core.steady_run(made, interval, deadline, left, block.header(),
        block.since, block.screen, block.apart, io.stdout)
    block.since = since
    local sample
    if ticks > 0 then
        sample = assert(core.steady_sample(made))
    end
    return ticks, at, why, sample, message, code
end

return steady
