--- What the tools have in common.
-- @module kstat.tool
local core = require("kstat.core")

local tool = {}

-- --- running ----------------------------------------------------------------------------------

local stopped = {} -- the metatable of what stop() raises

--- Ends the tool that tool.run runs.
-- @int status the exit status
-- @string[opt] message the line for the person, without the tool's name and a newline
-- @string[opt] text what is written as it is in its place: to standard output if the status is 0
-- @raise always
function tool.stop(status, message, text)
    error(setmetatable({ status = status, message = message, text = text }, stopped), 0)
end

-- Where the error is raised: text becomes what stop() raises.
local function explain(problem)
    if type(problem) ~= "string" then
        return problem
    end
    local message = core.failed(problem) and problem or debug.traceback(problem, 2)
    return setmetatable({ status = 3, message = message }, stopped)
end

--- Runs the body of a tool. What ends it early is one line on standard error: what tool.stop was told, or
-- what core.fail raised, with status 3; a mistake in the tool has a traceback, and status 3 too.
-- @string name the tool's
-- @func main the body; returns the exit status
-- @treturn int the exit status
-- @raise errors that are neither text nor tool.stop's, as they are: by such a one the host breaks a script off
-- when it is interrupted, or when nobody reads its output any more, and ends the process accordingly
function tool.run(name, main)
    local ok, result = xpcall(main, explain)
    if ok then
        return result
    elseif getmetatable(result) ~= stopped then
        error(result, 0)
    end
    if result.text then
        (result.status == 0 and io.stdout or io.stderr):write(result.text)
    elseif result.message then
        io.stderr:write(name, ": ", result.message, "\n")
    end
    return result.status
end

-- --- command lines and output -------------------------------------------------------------------

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
        patterns[i], message = core.pattern(operand)
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
