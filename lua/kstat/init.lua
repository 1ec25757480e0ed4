--- kstat: the counters of the machine, typed and named as Solaris and illumos have them.
--
--     local kstat = require("kstat")
--     local ks = assert(kstat.open())
--     print(ks.unix[0].system_misc.ncpus)
--     for k, stat, value in ks:values("cpu_stat:::/^intr/") do print(k, stat, value) end
--
-- Times are seconds, as the Perl module gave them; names that end in `_ns` and `k:ns()` give exact
-- nanoseconds. Integers are exact in Lua 5.3 and later: an unsigned one above 2^63 - 1 keeps its
-- 64 bits and is negative to Lua (`kstat.format_unsigned` prints it). In LuaJIT and Lua 5.1 numbers
-- are exact to 2^53; `k:exact()` is always exact.
-- What the world causes is returned as nil, message, name of errno ("ENOENT"); mistakes of the
-- caller raise an error.
--
-- @module kstat
local core = require("kstat.core")
local every = require("kstat.every")
local object = require("kstat.object")
local path = require("kstat.path")
local sample = require("kstat.sample")
local selector = require("kstat.selector")
require("kstat.kstat")

local kstat = {
    _VERSION = "kstat " .. core.version,
}

local source_fields = { capture = "text", proc = "text", sys = "text", from = "time", to = "time",
    only = "selectors", published = "boolean" }

-- The field `only` as compiled selectors; nil: everything. Mistakes raise at the caller's caller.
local function only_of(given)
    if given == nil then
        return nil
    end
    local list, message, errname = selector.list(3,
        (table.unpack or unpack)(type(given) == "table" and given[1] ~= nil and given or { given }))
    return list, message, errname
end

local function check_source(source)
    for key, value in pairs(source) do
        local kind = source_fields[key]
        if not kind then
            error(("unknown source field '%s'"):format(tostring(key)), 3)
        elseif kind == "boolean" then
            if type(value) ~= "boolean" then
                error(("source field '%s': boolean expected, got %s"):format(key, type(value)), 3)
            end
        elseif kind ~= "selectors" and type(value) ~= "string" and (type(value) ~= "number" or kind ~= "time") then
            error(("source field '%s': string expected, got %s"):format(key, type(value)), 3)
        end
    end
    if (source.from or source.to) and not source.capture then
        error("a time bounds a capture only", 3)
    end
    if source.capture and (source.proc or source.sys) then
        error("a source is a capture or directories, not both", 3)
    end
end

--- Opens a chain of kstats. Only headers are looked at; data is read when it is asked for.
-- @tparam[opt] string|table source nil: the machine, or what `$KSTAT_SOURCE` names; a string: a
-- capture (output of `kstat -j`, or a recording; "-": standard input); `{capture =}` the same, and
-- `from =` and `to =` bound its samples by their time of day (seconds since 1970, or local time as
-- "2026-11-21 14:05"; without them `$KSTAT_FROM` and `$KSTAT_TO` do); `{proc =, sys =}`: other directories in place of
-- /proc and /sys. `only =` a selector, or an array of them: the chain holds what any of them matches
-- and looks for nothing else, which is cheaper, most so where a class is given. `published = true`: of the
-- machine only what processes publish, `false`: all but that
-- @treturn[1] chain
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name: "ENODATA" no sample in the time asked for, "EINVAL" that is no time, …
function kstat.open(source)
    if source == nil then
        return core.open()
    elseif type(source) == "string" then
        return core.open({ capture = source })
    elseif type(source) ~= "table" then
        error("bad argument #1 to 'open' (string or table expected, got " .. type(source) .. ")", 2)
    end
    check_source(source)
    local only, message, errname = only_of(source.only)
    if only == false then
        return nil, message, errname
    end
    return core.open({ capture = source.capture, from = source.from, to = source.to, proc = source.proc,
        sys = source.sys, published = source.published, only = only })
end
every.open = kstat.open

--- Compiles a selector, see kstat.selector.
-- @tparam string|table spec
-- @treturn[1] selector
-- @treturn[2] nil
-- @treturn[2] string message that points into the expression
-- @treturn[2] string "EINVAL"
function kstat.selector(spec)
    local sel, message, errname = selector.compile(spec, 2)
    return sel, message, errname
end

--- Names the figures that a report takes of a kstat at every tick, for k:figures(), d:figures() and d:rows().
-- @tparam {[string]={string,...}} list by the figure's name { how, statistic, … }: the sum of these
-- statistics, "rate" as k:rate() has them (per second), "delta" as k:get() of a difference, "now" as
-- k:now():get(), "mean" of sums to which something is added once a second, counted by `updates` (unix:0:vminfo,
-- unix:0:sysinfo): the mean over the interval, rounded down, or the last one if no second ended in it; "percent"
-- what they changed by, in percent of the change of others, `of = { statistic, … }`; in the statistics' own units,
-- times in seconds. { "count" } is how many kstats there are. `scale = number` multiplies a figure. Names of
-- statistics have at most 30 bytes, and there are at most 1,000 figures
-- @treturn figures
-- @raise on a mistake, naming the figure
-- @usage local figures = kstat.figures({ faults = { "rate", "hat_fault", "as_fault" } })
-- @function kstat.figures
kstat.figures = core.figures

kstat.every = every.every

--- Answers the options of a script that has none: `--help` and `-h` print the usage on standard output; for any
-- other, and for operands if the script takes none, one line is printed on standard error.
-- @tparam {string,...} arg the script's arguments, with its name at 0
-- @string arguments what it takes: "[interval [count]]" if there are no other operands
-- @treturn[1] nil go on
-- @treturn[2] integer the exit status to return: 0, or 2 for a mistake
-- @usage local status = kstat.usage(arg, "[interval [count]]")
-- if status then return status end
function kstat.usage(arg, arguments)
    return require("kstat.options").usage(arg, arguments)
end

--- Nanoseconds of a clock that never steps back; zero is near boot. crtime and snaptime are on it.
-- @treturn integer
-- @function kstat.gethrtime
kstat.gethrtime = core.gethrtime

--- The same in seconds.
-- @treturn number
-- @function kstat.hrtime
kstat.hrtime = core.hrtime

--- A number's shortest text: the digits of an integer, "3" for 3.0. Exact values of LuaJIT are
-- printed without their suffix.
-- @tparam number|cdata value
-- @treturn string
function kstat.tostring(value)
    if type(value) == "number" then
        return core.tostring(value)
    end
    return (tostring(value):gsub("U?LL$", ""))
end

--- The same, taking an integer's 64 bits as unsigned: for uint64 values above 2^63 - 1.
-- @tparam number|cdata value
-- @treturn string
function kstat.format_unsigned(value)
    if type(value) == "number" then
        return core.format_unsigned(value)
    end
    return kstat.tostring(value)
end

local metatables = {
    chain = core.chain_meta,
    closed = core.chain_meta,
    sample = core.sample_meta,
    difference = core.difference_meta,
}

--- As `pairs`, also for the modules of a chain, a sample or a difference in Lua 5.1 and LuaJIT,
-- where `pairs` takes tables only. The levels below are plain tables.
-- @param x
-- @treturn function,any,any
function kstat.pairs(x)
    local meta = metatables[core.kind(x)]
    if meta then
        return meta.__pairs(x)
    end
    return pairs(x)
end

--- What an object of this module is: "chain", "sample", "difference", "kstat", "selector",
-- "figures", or "closed": a chain that was closed, or a kstat of one.
-- @param x anything
-- @treturn string|nil nil for anything else
-- @function kstat.type
kstat.type = core.kind

--- Chains, beside what kstat.object describes.
-- @section chains

local how = {
    kind = "chain",
    select = core.chain_select,
    members = core.chain_members,
    names = core.chain_names,
}
local chain = object.methods(how)
for name, method in pairs(core.chain_methods) do
    chain[name] = method
end

--- Brings the chain up to date, and reads again what was read. In a replay: the next sample, if there
-- is one. Tables of the path get their new values, kstat objects stay what they are.
-- @treturn[1] boolean whether kstats came or went
-- @treturn[1] {table,...} those that came: {module =, instance =, name =}, with tostring()
-- @treturn[1] {table,...} those that are gone
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name
-- @function ks:update
function chain.update(self)
    object.check(self, "chain", "update")
    local changed, added, deleted = core.chain_methods.update(self)
    if changed ~= nil then
        path.update(self, added, deleted)
    end
    return changed, added, deleted
end

--- An immutable sample, see kstat.sample.
-- @param ... selectors; none: every kstat
-- @treturn[1] sample
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name
-- @function ks:sample
function chain.sample(self, ...)
    object.check(self, "chain", "sample")
    local list, message, errname = selector.list(2, ...)
    if list == false then
        return nil, message, errname
    end
    return sample.take(self, list)
end

local formats = { human = true, parseable = true, colons = true, list = true, json = true,
    json_class = true, quiet = true }

--- The text that kstat(8) prints: reads what the selectors match and shows one selector after the
-- other; none: everything.
-- @string[opt="parseable"] format "human", "parseable" (-p), "colons" (-C), "list" (-l), "json" (-j),
-- "json_class" (-j with class in the data), "quiet" (only counts)
-- @param ... selectors
-- @treturn[1] string
-- @treturn[1] integer how many statistics it shows
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name
-- @usage io.write(ks:render("human", "cpu_info:0"))
-- @function ks:render
function chain.render(self, format, ...)
    object.check(self, "chain", "render")
    format = format or "parseable"
    if not formats[format] then
        error(("bad argument #1 to 'render' (unknown format '%s')"):format(tostring(format)), 2)
    end
    local list, message, errname = selector.list(2, ...)
    if list == false then
        return nil, message, errname
    end
    return core.render(self, list, format)
end

--- Finds one kstat, in constant time.
-- @string[opt] module nil: any
-- @int[opt] instance nil: any
-- @string[opt] name nil: any
-- @treturn[1] kstat the first in the chain that matches, see kstat.kstat
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string "ENOENT"
-- @function ks:lookup

--- Frees everything; the chain's kstats cannot be read any more. May be called twice, and is called by
-- the garbage collector and by `local ks <close>`.
-- @function ks:close

--- The ID of the chain: it changes exactly when kstats come or go.
-- @treturn integer
-- @function ks:chain_id

--- Lines about what could not be read, each told once.
-- @treturn {string,...} those that were not told yet
-- @function ks:warnings

--- Whether this is a capture or a recording, and not the machine.
-- @treturn boolean
-- @function ks:is_replay

--- In a replay: whether the last update found no further sample.
-- @treturn boolean
-- @function ks:ended

--- In a replay: whether something was left out because it is damaged, or a regular expression was given up;
-- `ks:warnings()` tell what. A recording that ends inside a sample is in order: that is how a killed recorder
-- leaves it.
-- @treturn boolean
-- @function ks:damaged

--- Time of day of what is read now: seconds since 1970 (UTC). In a replay that of the recording.
-- `ks:time_of_day_ns()` gives exact nanoseconds.
-- @treturn number
-- @function ks:time_of_day

--- In a replay: lets time pass that nobody waits for.
-- @number seconds
-- @function ks:pass

object.install(core.chain_meta, chain, {}, how)

--- Publishes kstats of one's own, see kstat.publish.
-- @string name
-- @tparam[opt] table options
-- @treturn[1] pub
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name
-- @usage local pub = assert(kstat.publish("workqueue"))
function kstat.publish(name, options)
    return require("kstat.publish").publish(name, options)
end

--- Removes what dead processes published, see kstat.publish.
-- @tparam[opt] boolean persistent also what was to be kept
-- @treturn {string,...} the files that were removed
function kstat.gc(persistent)
    return require("kstat.publish").gc(persistent)
end

--- Parts that are loaded when they are first used: `kstat.report` (see kstat.report), `kstat.aggregate`,
-- `kstat.io`, `kstat.histogram`, `kstat.recording`, `kstat.picture`, `kstat.format`, `kstat.stats`,
-- `kstat.devstat`.
-- @section parts
local parts = {
    io = true, report = true, aggregate = true, recording = true, picture = true, format = true, stats = true,
    devstat = true, histogram = true,
}

return setmetatable(kstat, {
    __index = function(self, name)
        if parts[name] then
            self[name] = require("kstat." .. name)
            return rawget(self, name)
        end
        return nil
    end,
})
