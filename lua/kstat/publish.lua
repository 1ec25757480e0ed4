--- kstats of one's own, which every reader on the host sees.
--
--     local pub = assert(kstat.publish("workqueue"))
--     local jobs = assert(pub:named({ name = "jobs", statistics = { "queued", "done" } }))
--     local queued = jobs:counter("queued")
--     queued:add()                       -- kstat -p workqueue:0:jobs:queued
--
-- The segment and its kstats stay until the process ends or `pub:close()`, whether anything refers to
-- them or not. Children of a fork share them. Publishing the same name again, and creating the same
-- kstat again, gives what is there: a reload goes on counting.
--
-- A kstat is described by a table of `name`, and optionally `module` (the segment's name), `instance`
-- (0), `class` ("misc"), `persistent` (it is kept when deleted, and when the process ends, until it is
-- created again), and what its type needs.
-- What the world causes is returned as nil, message, name of errno; mistakes of the caller raise.
--
-- @module kstat.publish
local core = require("kstat.core").publish

local has_ffi, ffi = pcall(require, "ffi")
if not rawget(_G, "jit") then
    has_ffi = false
end

local M = {}

-- KSTAT_TYPE_*, KSTAT_DATA_*, KSTAT_FLAG_*
local NAMED, INTR, IO, TIMER = 1, 2, 3, 4
local WRITABLE, PERSISTENT = 4, 8
local data_types = { char = 0, int32 = 1, uint32 = 2, int64 = 3, uint64 = 4, float = 5, double = 6,
    string = 9, ints = 16, strs = 17 }
local metatypes = { unknown = 0, id = 1, cnt = 2, t_epoch = 3, t_rel = 4, t_acc = 5, pct = 6, addr = 7,
    temp_c = 8, rpm = 9, volt = 10, watt = 11, curr = 12, bytes = 13, bits = 14, state = 15, freq = 16,
    flags = 17, limit = 18 }
local kinds = { counter = 1, gauge = 2, text = 3, time = 4 }
local histogram_types = { linear = 0, log2 = 1, log10 = 2, log10_lin = 3 }
local intr_names = { "hard", "soft", "watchdog", "spurious", "multiple_service" }
local SHARDS = 32

-- --- checking what the caller gave --------------------------------------------

local own_source = debug.getinfo(1, "S").source

-- Raises at the first caller outside of this file.
local function usage(format, ...)
    local level = 2
    local info = debug.getinfo(level, "S")
    while info and info.source == own_source do
        level = level + 1
        info = debug.getinfo(level, "S")
    end
    error(format:format(...), level)
end

local function check_fields(spec, allowed, what)
    if type(spec) ~= "table" then
        usage("%s: table expected, got %s", what, type(spec))
    end
    for key in pairs(spec) do
        if not allowed[key] then
            usage("%s: unknown field '%s'", what, tostring(key))
        end
    end
end

local function set(...)
    local s = {}
    for _, name in ipairs({ ... }) do
        s[name] = true
    end
    return s
end

local header_fields = { "module", "instance", "name", "class", "persistent" }

local function with_header(...)
    local s = set(...)
    for _, name in ipairs(header_fields) do
        s[name] = true
    end
    return s
end

local function check_string(value, what)
    if type(value) ~= "string" or value == "" or #value > 30 then
        usage("%s: a string of 1 to 30 bytes expected", what)
    end
    return value
end

local function header(pub, spec)
    local instance = spec.instance or 0
    if type(instance) ~= "number" or instance < 0 or instance % 1 ~= 0 or instance > 2147483647 then
        usage("instance: an integer from 0 on expected")
    end
    return check_string(spec.module or pub.name, "module"), instance, check_string(spec.name, "name"),
        check_string(spec.class or "misc", "class")
end

local function lookup(map, key, what)
    local value = key ~= nil and map[key]
    if not value then
        usage("%s: '%s' is not known", what, tostring(key))
    end
    return value
end

-- Texts as C sees them; arrays of integers as bytes.
local function bytes_of(data_type, value, what)
    if value == nil or type(value) == "string" and data_type ~= "ints" and data_type ~= "strs" then
        return value
    elseif type(value) ~= "table" then
        usage("%s: %s expected, got %s", what, data_type == "string" and "string" or "table", type(value))
    end
    local out = {}
    for i, item in ipairs(value) do
        if data_type == "strs" then
            out[i] = tostring(item) .. "\0"
        else
            local low, high = item % 4294967296, math.floor(item / 4294967296) % 4294967296
            local b = {}
            for j = 1, 4 do
                b[j], b[j + 4] = string.char(low % 256), string.char(high % 256)
                low, high = math.floor(low / 256), math.floor(high / 256)
            end
            out[i] = table.concat(b)
        end
    end
    return table.concat(out)
end

-- --- what all published kstats have --------------------------------------------

local kstat_methods = {}

--- Takes the kstat from the readers' chains (a persistent one becomes dormant). It cannot be used after.
-- @function k:delete
function kstat_methods.delete(self)
    self.record = nil
    core.delete(self.box)
end

local function class_of(methods)
    for name, method in pairs(kstat_methods) do
        methods[name] = method
    end
    return {
        __index = methods,
        __name = "kstat.published",
        __tostring = function(self)
            return ("%s:%d:%s"):format(self.module, self.instance, self.name)
        end,
    }
end

local function new_object(box, module, instance, name, class)
    return { box = box, module = module, instance = instance, name = name, class = class }
end

local function flags_of(spec)
    return (spec.persistent and PERSISTENT or 0) + (spec.writable and WRITABLE or 0)
end

-- --- LuaJIT: the functions of the library, called through the FFI ----------------------------------------

local fn, forks
if has_ffi then
    local addresses = core.functions()
    local function cast(names, signature)
        for _, name in ipairs(names) do
            fn[name] = ffi.cast(signature, addresses[name])
        end
    end
    fn = {}
    forks = ffi.cast("const uint32_t *", addresses.forks)
    cast({ "add", "max" }, "void (*)(int64_t *, int64_t)")
    cast({ "waitq_enter", "waitq_exit", "runq_enter", "runq_exit", "waitq_to_runq", "runq_back_to_waitq",
        "start", "stop" }, "int (*)(void *)")
    cast({ "waitq_enter_at", "waitq_exit_at", "runq_enter_at", "runq_exit_at", "waitq_to_runq_at",
        "runq_back_to_waitq_at", "start_at", "stop_at" }, "int (*)(void *, int64_t)")
    cast({ "done", "count" }, "int (*)(void *, int, int64_t)")
    cast({ "done_at" }, "int (*)(void *, int, int64_t, int64_t)")
    cast({ "event" }, "int (*)(void *, int64_t, int64_t)")
    cast({ "add_value" }, "int (*)(void *, uint64_t)")
end

local function result(rc)
    if rc == 0 then
        return true
    end
    return core.failure(ffi.errno())
end

-- --- counters --------------------------------------------

local counter_methods = {}
local counter_meta = { __index = counter_methods, __name = "kstat.counter" }

-- This thread's own part of the number, or the number itself, which others change too.
local function find_cell(self)
    local cell, own = core.cell(self.kstat.box, self.statistic, true)
    if cell then
        self.cell = ffi.cast("int64_t *", cell)
        self.own = own
    end
    self.forks = forks[0]
end

--- Adds to the statistic. In LuaJIT this is a plain addition in memory that belongs to this thread alone,
-- if the statistic is a counter and the kstat has shards; else an atomic one.
-- @int[opt=1] n
-- @function counter:add
function counter_methods.add(self, n)
    if forks[0] ~= self.forks then
        find_cell(self)
    end
    if self.own then
        local cell = self.cell
        cell[0] = cell[0] + (n or 1)
    else
        fn.add(self.cell, n or 1)
    end
end

--- Sets the statistic; only for gauges, and for counters of a kstat without shards.
-- @number value
-- @function counter:set
function counter_methods.set(self, value)
    if self.real then
        self.real[0] = value
    else
        self.cell[0] = value
    end
end

--- Sets the statistic if the value is greater than it.
-- @int value
-- @function counter:max
function counter_methods.max(self, value)
    fn.max(self.cell, value)
end

local function refuse_set()
    usage("a counter with shards is the sum of its parts: it can only be added to")
end

local function new_counter(k, statistic)
    local stat = k.types[statistic]
    if not stat then
        usage("%s has no statistic '%s'", tostring(k), tostring(statistic))
    elseif not stat.number then
        usage("%s is not a number", statistic)
    end
    local real = stat.type == "double" or stat.type == "float"
    local counter = setmetatable({ kstat = k, statistic = statistic }, counter_meta)
    if has_ffi then
        local cell, message, errname = core.cell(k.box, statistic, true)
        if not cell then
            return nil, message, errname
        end
        find_cell(counter)
        if real then
            counter.real = ffi.cast("double *", counter.cell)
        end
    else
        local add, set_value, max = core.counter(k.box, statistic, real)
        if not add then
            return nil, set_value, max
        end
        counter.add, counter.set, counter.max = add, set_value, max
    end
    if stat.sharded then
        counter.set, counter.max = refuse_set, refuse_set
    elseif real then
        counter.add, counter.max = nil, nil
    end
    return counter
end

-- --- named --------------------------------------------

local named_methods = {}

--- An object whose `add` is as cheap as the language allows: get it once, keep it in a local. It belongs to
-- the thread that this Lua state runs in; after a fork it finds a part of its own by itself.
-- @string statistic
-- @treturn counter
-- @function k:counter
function named_methods.counter(self, statistic)
    local counter = self.counters[statistic]
    if not counter then
        local message, errname
        counter, message, errname = new_counter(self, statistic)
        if not counter then
            return nil, message, errname
        end
        self.counters[statistic] = counter
    end
    return counter
end

--- Adds to a statistic; `k:counter(statistic):add(n)`.
-- @string statistic
-- @int[opt=1] n
-- @function k:add
function named_methods.add(self, statistic, n)
    named_methods.counter(self, statistic):add(n)
end

--- Takes out of a sharded statistic what threads that died left in their parts: after a crash, the share of
-- the dead in a gauge such as "requests in flight". To be called before this thread's first counter of
-- the kstat, which may take over such a part.
-- @string statistic
-- @treturn[1] integer what was taken out
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name
-- @function k:reclaim
function named_methods.reclaim(self, statistic)
    return core.reclaim(self.box, statistic)
end

--- Sets a statistic: a number, a text, or an array.
-- @string statistic
-- @param value nil: the null string
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message; there is room for what was there at first, at least 64 bytes
-- @treturn[2] string errno name
-- @function k:set
function named_methods.set(self, statistic, value)
    local stat = self.types[statistic]
    if stat and not stat.number then
        return core.store(self.box, statistic, bytes_of(stat.type, value, statistic))
    end
    named_methods.counter(self, statistic):set(value)
    return true
end

local named_meta = class_of(named_methods)
local statistic_fields = set("name", "type", "value", "kind", "meta", "scale", "fract", "parts", "unit", "desc")
local named_fields = with_header("statistics", "shards", "writable")

local function describe(box, name, spec)
    if not (spec.kind or spec.meta or spec.unit or spec.desc or spec.scale or spec.parts) then
        return true
    end
    return core.describe(box, name, lookup(metatypes, spec.meta or "cnt", "meta"),
        spec.kind and lookup(kinds, spec.kind, "kind") or 0, spec.scale or 0,
        (spec.fract and 1 or 0) + (spec.parts and 2 or 0), spec.unit, spec.desc)
end

-- Statistics as tables, checked.
local function statistics_of(spec)
    if type(spec.statistics) ~= "table" then
        usage("statistics: table expected, got %s", type(spec.statistics))
    end
    local list = {}
    for i, stat in ipairs(spec.statistics) do
        if type(stat) == "string" then
            stat = { name = stat }
        else
            check_fields(stat, statistic_fields, "statistic " .. i)
        end
        check_string(stat.name, "statistic " .. i)
        lookup(data_types, stat.type or "uint64", "type of " .. stat.name)
        list[i] = stat
    end
    return list
end

-- Puts the statistics into the kstat; texts that C points to stay in `keep`.
local function fill(box, list, keep)
    for i, stat in ipairs(list) do
        local data_type = stat.type or "uint64"
        local code = data_types[data_type]
        if code >= 9 then
            core.named(box, i - 1, stat.name, code)
            local text = bytes_of(data_type, stat.value, stat.name)
            if text then
                keep[i] = text
                core.text(box, i - 1, text)
            end
        else
            core.named(box, i - 1, stat.name, code, stat.value)
        end
        local ok, message, errname = describe(box, stat.name, stat)
        if not ok then
            return nil, message, errname
        end
    end
    return true
end

local pub_methods = {}
local pub_meta = { __index = pub_methods, __name = "kstat.pub" }

--- Creates a NAMED kstat.
-- @tparam table spec beside the common fields:
--
--   * `statistics`: an array of names (uint64 counters) or tables: `name`, `type` ("uint64", "int64",
--     "uint32", "int32", "double", "char", "string", "ints", "strs"), `value` (the first), `kind`
--     ("counter", "gauge", "text", "time"), `meta` (kstat2's semantic type: "cnt", "bytes", "t_rel", "pct", …),
--     `scale`, `fract` (the scale divides), `unit`, `desc`; `parts`: a gauge that has shards, too, because
--     threads only add to it
--   * `shards`: rows of counters, one for each thread that adds (32); the readers see the sums; 1: none
--   * `writable`: readers with write permission may set its numbers
-- @treturn[1] named `k:counter(statistic)`, `k:add(statistic [, n])`, `k:set(statistic, value)`, `k:delete()`
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name
-- @function pub:named
function pub_methods.named(self, spec)
    check_fields(spec, named_fields, "named")
    local module, instance, name, class = header(self, spec)
    local list = statistics_of(spec)
    local box, message, errname = core.create(self.segment, module, instance, name, class, NAMED, #list,
        flags_of(spec))
    if not box then
        return nil, message, errname
    end
    local keep, ok = {} -- what C points to until the kstat is installed
    ok, message, errname = fill(box, list, keep)
    local shards = spec.shards or SHARDS
    if ok then
        ok, message, errname = core.shards(box, shards)
    end
    if ok then
        ok, message, errname = core.install(box)
    end
    if not ok then
        core.delete(box)
        return nil, message, errname
    end
    local k = new_object(box, module, instance, name, class)
    k.types, k.counters = {}, {}
    for _, stat in ipairs(list) do
        local data_type = stat.type or "uint64"
        local code = data_types[data_type]
        local counts = code >= 1 and code <= 4 and (not stat.kind or stat.kind == "counter") and
            (not stat.meta or stat.kind or stat.meta == "cnt" or stat.meta == "bytes" or stat.meta == "bits" or
            stat.meta == "t_acc") or stat.parts
        k.types[stat.name] = { type = data_type, number = code >= 1 and code <= 6,
            sharded = counts and shards > 1 }
    end
    return setmetatable(k, named_meta)
end

-- --- interrupts --------------------------------------------

local intr_methods = { counter = named_methods.counter, add = named_methods.add }

--- Counts interrupts of each kind: `k:hard([n])`, `k:soft([n])`, `k:watchdog([n])`, `k:spurious([n])`,
-- `k:multiple_service([n])`.
-- @function k:hard
for _, name in ipairs(intr_names) do
    intr_methods[name] = function(self, n)
        named_methods.counter(self, name):add(n)
    end
end

local intr_meta = class_of(intr_methods)

--- Creates an INTR kstat.
-- @tparam table spec the common fields
-- @treturn[1] intr `k:hard([n])` and so on, `k:counter("hard")`
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name
-- @function pub:intr
function pub_methods.intr(self, spec)
    check_fields(spec, with_header(), "intr")
    local module, instance, name, class = header(self, spec)
    local box, message, errname = core.create(self.segment, module, instance, name, class, INTR, 1,
        flags_of(spec))
    if not box then
        return nil, message, errname
    end
    local ok
    ok, message, errname = core.install(box)
    if not ok then
        core.delete(box)
        return nil, message, errname
    end
    local k = new_object(box, module, instance, name, class)
    k.types, k.counters = {}, {}
    for _, stat in ipairs(intr_names) do
        k.types[stat] = { type = "uint32", number = true, sharded = false }
    end
    return setmetatable(k, intr_meta)
end

-- --- queues and timers --------------------------------------------

--- The transitions of an I/O kstat, by the names of kstat(9F): `k:waitq_enter()`, `k:waitq_exit()`,
-- `k:runq_enter()`, `k:runq_exit()`, `k:waitq_to_runq()`, `k:runq_back_to_waitq()`, each with the time in
-- nanoseconds as an optional argument (default: now); `k:done("read" or "write" [, bytes [, t]])` leaves
-- the run queue and counts the operation; `k:count("read" or "write" [, bytes])` counts without it.
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string "EINVAL" if the queue to leave is empty, and nothing changed
-- @function k:waitq_enter
local io_methods = {}
local io_meta = class_of(io_methods)
local directions = { read = 0, write = 1 }

local function direction(rw)
    return directions[rw] or usage("\"read\" or \"write\" expected, got %s", tostring(rw))
end

local timer_methods = {}
local timer_meta = { __index = timer_methods, __name = "kstat.timer" }

if has_ffi then
    -- Each a function of its own, so that each call site compiles to a call of one address.
    local load_chunk = loadstring or load
    local template = [[
        local plain, timed, result = ...
        return function(self, t)
            if t then
                return result(timed(self.record, t))
            end
            return result(plain(self.record))
        end
    ]]
    local function transition(name)
        return load_chunk(template, "=kstat.publish." .. name)(fn[name], fn[name .. "_at"], result)
    end
    for _, name in ipairs({ "waitq_enter", "waitq_exit", "runq_enter", "runq_exit", "waitq_to_runq",
            "runq_back_to_waitq" }) do
        io_methods[name] = transition(name)
    end
    timer_methods.start = transition("start")
    timer_methods.stop = transition("stop")
    local done, done_at, count, event = fn.done, fn.done_at, fn.count, fn.event
    function io_methods.done(self, rw, bytes, t)
        if t then
            return result(done_at(self.record, direction(rw), bytes or 0, t))
        end
        return result(done(self.record, direction(rw), bytes or 0))
    end
    function io_methods.count(self, rw, bytes)
        return result(count(self.record, direction(rw), bytes or 0))
    end
    function timer_methods.event(self, start, stop)
        return result(event(self.record, start, stop))
    end
end

-- The kstat's record, or (without the FFI) functions that have it.
local function bind(box, object, timer)
    local record, message, errname = core.methods(box, object, timer)
    if not record then
        return nil, message, errname
    end
    if has_ffi then
        for name in pairs(object) do
            if type(object[name]) == "function" then
                object[name] = nil
            end
        end
        object.record = ffi.cast("void *", record)
    end
    return true
end

-- Creates and installs a kstat of one record.
local function create(self, spec, kstat_type, ndata, prepare)
    local module, instance, name, class = header(self, spec)
    local box, message, errname = core.create(self.segment, module, instance, name, class, kstat_type,
        ndata, flags_of(spec))
    if not box then
        return nil, message, errname
    end
    if prepare then
        prepare(box)
    end
    local ok
    ok, message, errname = core.install(box)
    if not ok then
        core.delete(box)
        return nil, message, errname
    end
    return new_object(box, module, instance, name, class)
end

--- Creates an I/O kstat.
-- @tparam table spec the common fields; class "disk" shows it to iostat
-- @treturn[1] io see k:waitq_enter
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name
-- @function pub:io
function pub_methods.io(self, spec)
    check_fields(spec, with_header(), "io")
    local k, message, errname = create(self, spec, IO, 1)
    if not k then
        return nil, message, errname
    end
    local ok
    ok, message, errname = bind(k.box, k)
    if not ok then
        return nil, message, errname
    end
    return setmetatable(k, io_meta)
end

local timers_methods = {}
local timers_meta = class_of(timers_methods)

--- One timer of a TIMER kstat: `t:start([t])`, `t:stop([t])`, and `t:event(start, stop)` for events that may
-- overlap, each with its own start; times in nanoseconds of `kstat.gethrtime()`.
-- @string name
-- @treturn timer
-- @function k:timer
function timers_methods.timer(self, name)
    return self.timers[name] or usage("%s has no timer '%s'", tostring(self), tostring(name))
end

--- The same by name: `k:start(name [, t])`, `k:stop(name [, t])`, `k:event(name, start, stop)`.
-- @function k:start
for _, op in ipairs({ "start", "stop", "event" }) do
    timers_methods[op] = function(self, name, a, b)
        local timer = timers_methods.timer(self, name)
        return timer[op](timer, a, b)
    end
end

local timer_fields = with_header("timers")

--- Creates a TIMER kstat.
-- @tparam table spec beside the common fields, `timers`: an array of names
-- @treturn[1] timers `k:timer(name)`, `k:start(name)`, `k:stop(name)`, `k:event(name, start, stop)`
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name
-- @function pub:timer
function pub_methods.timer(self, spec)
    check_fields(spec, timer_fields, "timer")
    if type(spec.timers) ~= "table" or #spec.timers == 0 then
        usage("timers: an array of names expected")
    end
    local k, message, errname = create(self, spec, TIMER, #spec.timers, function(box)
        for i, name in ipairs(spec.timers) do
            core.timer(box, i - 1, check_string(name, "timer " .. i))
        end
    end)
    if not k then
        return nil, message, errname
    end
    k.timers = {}
    for _, name in ipairs(spec.timers) do
        local timer = { kstat = k }
        local ok
        ok, message, errname = bind(k.box, timer, name)
        if not ok then
            return nil, message, errname
        end
        k.timers[name] = setmetatable(timer, timer_meta)
    end
    return setmetatable(k, timers_meta)
end

-- --- histograms --------------------------------------------

local histogram_methods = {}
local histogram_meta = class_of(histogram_methods)
local histogram_fields = with_header("type", "meta", "scale", "fract", "range_min", "range_max", "stepping",
    "desc", "stable", "private")

if has_ffi then
    local add_value = fn.add_value
    function histogram_methods.add_value(self, value)
        if not self.record then
            usage("the histogram was deleted")
        end
        return result(add_value(self.record, value))
    end
end

--- Creates a histogram, see kstat2_create_histogram(9F).
-- @tparam table spec beside the common fields: `type` ("linear", "log2", "log10", "log10_lin"), `range_min`,
-- `range_max`, `stepping`; what the values measure: `meta` ("bytes", "t_rel", …), `scale`, `fract`; `desc`; `stable`,
-- `private` (needs a private segment)
-- @treturn[1] histogram `k:add_value(value)`
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name
-- @function pub:histogram
function pub_methods.histogram(self, spec)
    check_fields(spec, histogram_fields, "histogram")
    local module, instance, name, class = header(self, spec)
    local box, message, errname = core.histogram(self.segment, class, module, instance, name,
        lookup(histogram_types, spec.type, "type"), lookup(metatypes, spec.meta or "cnt", "meta"),
        spec.scale or 1, spec.fract and 1 or 0, spec.range_min or 0, spec.range_max or 0, spec.stepping or 0,
        spec.persistent, spec.desc, (spec.stable and 1 or 0) + (spec.private and 2 or 0))
    if not box then
        return nil, message, errname
    end
    local ok
    ok, message, errname = core.install(box)
    if not ok then
        core.delete(box)
        return nil, message, errname
    end
    local k = new_object(box, module, instance, name, class)
    ok, message, errname = bind(box, k)
    if not ok then
        return nil, message, errname
    end
    self.histograms[k] = true
    return setmetatable(k, histogram_meta)
end

-- --- statsblobs --------------------------------------------

local blob_methods = {}

--- Feeds a value to all statistics of a value of interest (VOI), in one change that readers see whole or
-- not at all. Any process that shares the segment may do so at the same time.
-- @tparam integer|string voi its ID (a little faster), or its name
-- @number v a whole number for integer VOIs; fixed-point VOIs round to their precision
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string "ERANGE" (not of the VOI's type; nothing was counted), "EOVERFLOW" (one statistic could
-- not take it, the others did), "EAGAIN" (a stopped process holds it for a second)
-- @function k:update
local function deleted()
    usage("the statsblob was deleted")
end
blob_methods.update = deleted -- until core.blob_methods() gives the object its own

--- Feeds the previous value plus `dv` (VOIs with `relupdate`); as `update`.
-- @tparam integer|string voi
-- @number dv
-- @function k:add
blob_methods.add = deleted

--- Adds a private blob of the same template, `k:merge(blob)`; becomes a copy of one, `k:store(blob)`; starts
-- again, `k:reset()`.
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name: "EINVAL" a blob of another template
-- @function k:merge
blob_methods.merge, blob_methods.store, blob_methods.reset, blob_methods.bytes = deleted, deleted, deleted, deleted

--- A private copy of it as it is now, its shards merged: see `kstat.stats`.
-- @treturn[1] blob
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name
-- @function k:snapshot
function blob_methods.snapshot(self)
    local bytes, message, errname = self:bytes()
    if not bytes then
        return nil, message, errname
    end
    return require("kstat.stats").from_bytes(bytes)
end

local blob_meta = class_of(blob_methods)

function blob_methods.delete(self)
    for name in pairs(blob_methods) do
        self[name] = nil -- those that know where the blob lies
    end
    kstat_methods.delete(self)
end

if has_ffi then
    local update = ffi.cast("int (*)(void *, int32_t, double, bool)", core.blob_function())

    -- Off the trace: names, other numbers, deleted blobs.
    local function other(self, voi, v, rel)
        if not self.record then
            deleted()
        end
        local id = voi
        if type(voi) == "string" then
            id = self.vois[voi] or usage("%s has no value of interest '%s'", tostring(self), voi)
        end
        if type(id) ~= "number" or type(v) ~= "number" and type(v) ~= "cdata" then
            usage("a value of interest and a number expected")
        end
        return update(self.record, id, tonumber(v), rel)
    end

    local function failed()
        local _, message, errname = result(-1)
        if errname == "EINVAL" then
            usage("%s", message)
        end
        return nil, message, errname
    end

    function blob_methods.update(self, voi, v)
        local record, rc = self.record
        if record and type(voi) == "number" and type(v) == "number" then
            rc = update(record, voi, v, false)
        else
            rc = other(self, voi, v, false)
        end
        if rc == 0 then
            return true
        end
        return failed()
    end

    function blob_methods.add(self, voi, v)
        local record, rc = self.record
        if record and type(voi) == "number" and type(v) == "number" then
            rc = update(record, voi, v, true)
        else
            rc = other(self, voi, v, true)
        end
        if rc == 0 then
            return true
        end
        return failed()
    end
end

local blob_fields = with_header("template", "vois", "shards")
local voi_fields = set("unit", "desc")

local function describe_vois(box, ids, vois)
    for name, voi in pairs(vois) do
        check_fields(voi, voi_fields, "vois." .. tostring(name))
        local ok, message, errname = core.blob_describe(box, ids[name] or
            usage("vois: the template has no value of interest '%s'", tostring(name)), voi.unit, voi.desc)
        if not ok then
            return nil, message, errname
        end
    end
    return true
end

--- Publishes a statsblob (`kstat.stats`): of each value of interest of its template, such as "rtt", readers
-- see the statistics rtt_sum, rtt_max, rtt_min, rtt_count, rtt_p50, rtt_p90, rtt_p99, rtt_p999, rtt_buckets,
-- rtt_bounds and rtt_oob, as far as the template has them, and the whole blob by `ks:lookup(...):blob()`.
-- @tparam table spec beside the common fields:
--
--   * `template`: made by `kstat.stats`.template(), with all its VOIs
--   * `vois`: what they are, by name: `vois = { rtt = { unit = "us", desc = "time to answer" } }`
--   * `shards`: blobs that threads or workers update side by side, at most 64 (1); readers get them merged. Not with
--     VOIs that have `relupdate`
-- @treturn[1] blob `k:update(voi, v)`, `k:add(voi, dv)`, `k:merge(blob)`, `k:store(blob)`, `k:reset()`,
-- `k:snapshot()`, `k:delete()`
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name
-- @function pub:blob
function pub_methods.blob(self, spec)
    check_fields(spec, blob_fields, "blob")
    local module, instance, name, class = header(self, spec)
    if type(spec.template) ~= "table" or type(spec.template.slot) ~= "number" then
        usage("template: one made by kstat.stats expected, got %s", type(spec.template))
    end
    local box, message, errname = core.blob(self.segment, module, instance, name, class, spec.template.slot,
        spec.shards or 1, flags_of(spec))
    if not box then
        return nil, message, errname
    end
    local ok
    local vois = core.blob_vois(box)
    ok, message, errname = describe_vois(box, vois, spec.vois or {})
    if ok then
        ok, message, errname = core.install(box)
    end
    if not ok then
        core.delete(box)
        return nil, message, errname
    end
    local k = new_object(box, module, instance, name, class)
    local record
    record, message, errname = core.blob_methods(box, k)
    if not record then
        return nil, message, errname
    end
    k.vois = vois
    if has_ffi then
        k.record = ffi.cast("void *", record)
        k.update, k.add = nil, nil
    end
    return setmetatable(k, blob_meta)
end

-- --- segments --------------------------------------------

--- The segment's file.
-- @treturn string
-- @function pub:path
function pub_methods.path(self)
    return core.path(self.segment)
end

--- Stops publishing: the kstats disappear (persistent ones stay, dormant). Counters may still be called;
-- nobody sees what they count. Called at the end of the process by itself.
-- @function pub:close
function pub_methods.close(self)
    for k in pairs(self.histograms) do
        k.record = nil -- the kstat itself, which goes now; what others refer to stays
    end
    core.close(self.segment)
end
pub_meta.__close = pub_methods.close

local option_fields = set("private", "shared")

--- Opens a segment, as kstat_publish() of kstat_provider.h: `kstat.publish(name [, options])`.
-- @string name 1 to 30 letters, digits, "-", "_" and "."; also the kstats' module unless they say otherwise
-- @tparam[opt] table options `private`: only this user may read it; `shared`: if another process
-- publishes that name, publish there with it, instead of "EBUSY"
-- @treturn[1] pub
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string errno name
-- @function publish
function M.publish(name, options)
    check_string(name, "publish")
    options = options or {}
    check_fields(options, option_fields, "publish")
    local segment, message, errname = core.open(name, options.private, options.shared)
    if not segment then
        return nil, message, errname
    end
    return setmetatable({ segment = segment, name = name, histograms = setmetatable({}, { __mode = "k" }) },
        pub_meta)
end

--- Removes the segments of dead processes, as far as this user may: `kstat.gc()`.
-- @tparam[opt] boolean persistent also those with persistent kstats
-- @treturn {string,...} the files that were removed
-- @function gc
function M.gc(persistent)
    return core.gc(persistent)
end

return M
