--- What the tools have in common.
-- @module kstat.tool
local tool = {}

--- Drivers that are in Linux's list of disks whether these are used or not: short forms pass over them.
-- @table passed_over
tool.passed_over = { fd = true, loop = true, ram = true, zram = true, sr = true }

--- The line of -T.
-- @string how "u": seconds since 1970, "d": a date
-- @number seconds since 1970
-- @treturn string with a newline
function tool.timestamp(how, seconds)
    seconds = math.floor(seconds)
    return (how == "u" and ("%d"):format(seconds) or os.date("%a %b %e %H:%M:%S %Z %Y", seconds)) .. "\n"
end

--- Operands that are globs or /regular expressions/ for names.
-- @tparam {string,...} operands
-- @treturn[1] {pattern,...}
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function tool.patterns(operands)
    local patterns = {}
    for i, operand in ipairs(operands) do
        local message
        patterns[i], message = require("kstat.core").pattern(operand)
        if not patterns[i] then
            return nil, message
        end
    end
    return patterns
end

--- Whether any of the patterns matches; without any, everything does.
-- @tparam {pattern,...} patterns
-- @string text
-- @treturn boolean
function tool.matches(patterns, text)
    for _, pattern in ipairs(patterns) do
        if pattern:matches(text) then
            return true
        end
    end
    return #patterns == 0
end

--- Opens what a command line names: the machine, or with -r, or --from and --to, a capture or a recording.
-- @tparam table given its options: `replay`, `from`, `to`
-- @tparam[opt] {selector,...} only see kstat.open
-- @tparam[opt] boolean published see kstat.open
-- @treturn[1] chain
-- @treturn[2] nil
-- @treturn[2] string what is wrong
-- @treturn[2] int the exit status: 2 the command line, 3 the source
function tool.open(given, only, published)
    local every = require("kstat.every") -- iostat may do without
    local bounded = given.from or given.to
    local capture = given.replay or bounded and os.getenv("KSTAT_SOURCE") or nil
    if bounded and not capture then
        return nil, "--from and --to need a capture or a recording (-r)", 2
    end
    local ks, message, errname
    if capture then
        ks, message, errname = every.open({ capture = capture, from = given.from, to = given.to, only = only })
    else
        ks, message = every.open({ only = only, published = published })
    end
    return ks, message, not ks and (bounded and errname == "EINVAL" and 2 or 3) or nil
end

return tool
