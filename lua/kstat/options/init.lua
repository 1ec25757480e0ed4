--- The command line of a report: getopt-style options, long ones too, and the operands.
--
-- An option is declared as `{ letter, name, help =, arg =, default =, type =, long = }`: `-n 5`, `-n5` and
-- `--name 5`, `--name=5` set options.name; one without `arg` is a switch; `type = "number"` checks and converts,
-- `"count"` also that it is whole and above 0. `letter` may be nil.
-- Commands that are no reports read theirs with the same reader, plain.
--
-- @module kstat.options
local declare = require("kstat.report.declare")
local every = require("kstat.every")

local options = {}

-- What every report understands; a report's own letter takes precedence. kstat.options.help explains them.
local STANDARD = {
    { "j", "json" }, { nil, "csv" }, { nil, "openmetrics" }, { "y", "skip_first", long = "skip-first" },
    { "z", "skip_idle", long = "skip-idle" }, { "T", "timestamp", arg = "d|u" }, { nil, "sort", arg = "COLUMN" },
    { nil, "top", arg = "N", type = "count" }, { "r", "replay", arg = "FILE" }, { nil, "from", arg = "TIME" },
    { nil, "to", arg = "TIME" }, { "h", "help" },
}
-- What else is in the table of options.
local TAKEN = { interval = true, count = true, operands = true }
local OWN_FIELDS = { help = "string", arg = "string", long = "string", type = "string", default = "any" }

-- The report's own options followed by the standard ones that they leave.
local function merge(own, standard)
    local all, letters, names = {}, {}, {}
    for _, list in ipairs({ own or {}, standard }) do
        for _, o in ipairs(list) do
            local letter, name = o[1], o[2]
            if not names[name] then
                names[name] = true
                if letter and letters[letter] then
                    letter = nil
                elseif letter then
                    letters[letter] = true
                end
                all[#all + 1] = { letter = letter, name = name, long = o.long or name, help = o.help,
                    arg = o.arg, type = o.type, default = o.default }
            end
        end
    end
    return all
end

local function check_own(own)
    local letters, names = {}, {}
    for i, o in ipairs(own or {}) do
        if type(o) ~= "table" or type(o[2]) ~= "string" or o[1] ~= nil and not tostring(o[1]):find("^%w$") then
            declare.fail("option %d: { letter, name, … } expected, the letter a single one or nil", i)
        end
        for field, value in pairs(o) do
            local kind = OWN_FIELDS[field]
            if field ~= 1 and field ~= 2 and not kind then
                declare.fail("option '%s': unknown field '%s'", o[2], tostring(field))
            elseif kind and kind ~= "any" and type(value) ~= kind then
                declare.fail("option '%s': %s: a %s expected, not %s", o[2], field, kind, tostring(value))
            end
        end
        if o.type and o.type ~= "number" and o.type ~= "count" then
            declare.fail("option '%s': type is 'number' or 'count', not '%s'", o[2], o.type)
        elseif TAKEN[o[2]] then
            declare.fail("option '%s': options.%s is taken, choose another name", o[2], o[2])
        elseif names[o[2]] or o[1] and letters[o[1]] then
            declare.fail("option '%s': there is another with that %s", o[2], names[o[2]] and "name" or
                "letter, -" .. o[1])
        end
        names[o[2]], letters[o[1] or ""] = true, true
    end
end

--- Checks the declaration of a report's options, see kstat.report.declare.
-- @tparam[opt] {table,...} own
-- @tparam[opt] boolean plain there are no others, and no interval and count: for commands that are no reports
-- @treturn table for the functions below
function options.declare(own, plain)
    check_own(own)
    local all = merge(own, plain and {} or STANDARD)
    local by_letter, by_long = {}, {}
    for _, o in ipairs(all) do
        if o.letter then
            by_letter[o.letter] = o
        end
        by_long[o.long] = o
    end
    return { all = all, by_letter = by_letter, by_long = by_long, plain = plain }
end

local function convert(o, value)
    if not o.type then
        return value
    end
    local number = tonumber(value)
    if not number then
        return nil, ("--%s takes a number, not '%s'"):format(o.long, value)
    elseif o.type == "count" and not (number >= 1 and number % 1 == 0) then
        return nil, ("--%s takes a whole number above 0, not '%s'"):format(o.long, value)
    end
    return number
end

-- The last one or two operands, if they are numbers, are interval and count.
local function take_numbers(operands, values)
    local numbers = {}
    while #numbers < 2 and #operands > 0 and every.is_number(operands[#operands]) do
        table.insert(numbers, 1, table.remove(operands))
    end
    if #numbers == 0 then
        return nil
    end
    local interval, message = every.check_interval(numbers[1], numbers[2])
    values.interval, values.count = tonumber(numbers[1]), numbers[2] and tonumber(numbers[2])
    return not interval and message or nil
end

--- Reads a command line.
-- @param declared what declare() gave
-- @tparam {string,...} words
-- @treturn[1] table the options by name, with `operands`, and `interval` and `count` unless plain
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function options.read(declared, words)
    local values, operands = {}, {}
    for _, o in ipairs(declared.all) do
        values[o.name] = o.default
    end
    local i, ended = 1, false

    -- Takes the argument of an option from its own word or from the next.
    local function argument(o, attached, shown)
        local value = attached
        if not value then
            i = i + 1
            value = words[i]
        end
        if not value then
            return ("%s needs an argument (%s)"):format(shown, o.arg)
        end
        local message
        values[o.name], message = convert(o, value)
        return message
    end

    local function long(word)
        local name, attached = word:match("^%-%-([^=]+)=?(.*)$")
        local o = name and declared.by_long[name]
        if not o then
            return ("unknown option '%s'"):format(word)
        elseif o.arg then
            return argument(o, word:find("=", 1, true) and attached or nil, "--" .. name)
        elseif word:find("=", 1, true) then
            return ("--%s takes no argument"):format(name)
        end
        values[o.name] = true
        return nil
    end

    local function bundle(word)
        for at = 2, #word do
            local o = declared.by_letter[word:sub(at, at)]
            if not o then
                return ("unknown option '-%s'"):format(word:sub(at, at))
            elseif o.arg then
                return argument(o, at < #word and word:sub(at + 1) or nil, "-" .. o.letter)
            end
            values[o.name] = true
        end
        return nil
    end

    while words[i] do
        local word, message = words[i], nil
        if ended or word == "-" or word:sub(1, 1) ~= "-" then
            operands[#operands + 1] = word
        elseif word == "--" then
            ended = true
        elseif word:sub(1, 2) == "--" then
            message = long(word)
        else
            message = bundle(word)
        end
        if message then
            return nil, message
        end
        i = i + 1
    end
    local message = not declared.plain and take_numbers(operands, values)
    if message then
        return nil, message
    end
    values.operands = operands
    return values
end

--- The text of --help, see kstat.report.help.
-- @param declared what declare() gave
-- @tparam table about `name`, `about`, `note`, `operands` (what they are, nil: names of rows, false: there are none)
-- @treturn string
function options.help(declared, about)
    return require("kstat.options.help")(declared, about)
end

return options
