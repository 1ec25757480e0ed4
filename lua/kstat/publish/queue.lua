--- Published kstats of I/O queues and of timers.
-- @submodule kstat.publish
local check = require("kstat.publish.check")
local core = require("kstat.core").publish
local library = require("kstat.publish.library")
local object = require("kstat.publish.object")
local unknown = require("kstat.base.unknown")

local fn, result = library.fn, library.result

local M = {}

--- The transitions of an I/O kstat, by the names of kstat(9F).
-- @int[opt] t_ns the time in nanoseconds; default: now
-- @treturn boolean true
-- @fails "EINVAL" if the queue to leave is empty, and nothing changed
-- @function io:waitq_enter
-- @also io:waitq_exit io:runq_enter io:runq_exit io:waitq_to_runq io:runq_back_to_waitq

--- Leaves the run queue and counts the operation.
-- @tparam "read"|"write" rw
-- @int[opt=0] bytes
-- @int[opt] t_ns
-- @treturn boolean true
-- @fails "EINVAL" if the run queue is empty
-- @function io:done

--- Counts an operation that was in no queue.
-- @tparam "read"|"write" rw
-- @int[opt=0] bytes
-- @treturn boolean true
-- @fails
-- @function io:count

--- A request enters the wait queue. What these three return and take, a token, tells how long a request waited and was
-- served, which a queue with `latency` counts; requests may overtake each other.
-- @treturn integer token for `start`: a time in nanoseconds
-- @fails as the transitions
-- @function io:enter

--- A request goes into service: from the wait queue, or, without a token, from nowhere.
-- @int[opt] token of `enter`
-- @treturn integer token for `finish`
-- @fails "EINVAL" if nothing waits
-- @function io:start

--- A request is done.
-- @tparam integer|nil token of `start`; nil: its time is not known, and not counted
-- @tparam "read"|"write" rw
-- @int[opt=0] bytes
-- @treturn boolean true
-- @fails "EINVAL" if nothing is in service
-- @function io:finish
local io_methods = {}
local io_meta = object.class(io_methods)
local io_fields = check.with_header("latency")
local directions = { read = 0, write = 1 }

local function direction(rw)
  return directions[rw] or check.usage("\"read\" or \"write\" expected, got %s", tostring(rw))
end

local timer_methods = {}
local timer_meta = { __index = require("kstat.base.guess").within("a timer", timer_methods), __name = "kstat.timer" }
require("kstat.base.mistake").guard(timer_methods, timer_meta, "timer")

if fn then
  -- Each a function of its own, so that each call site compiles to a call of one address.
  local load_chunk = loadstring or load
  local template = [[
        local plain, timed, result, check = ...
        return function(self, t)
            if t then
                return result(timed(self.record, check.whole(t, "time")))
            end
            return result(plain(self.record))
        end
    ]]
  local function transition(name)
    return load_chunk(template, check.chunk_name(name))(fn[name], fn[name .. "_at"], result, check)
  end
  for _, name in ipairs({ "waitq_enter", "waitq_exit", "runq_enter", "runq_exit", "waitq_to_runq",
      "runq_back_to_waitq" }) do
    io_methods[name] = transition(name)
  end
  timer_methods.start = transition("start")
  timer_methods.stop = transition("stop")
  local done, done_at, count, event = fn.done, fn.done_at, fn.count, fn.event
  function io_methods.done(self, rw, bytes, t)
    bytes = check.whole(bytes, "bytes")
    if t then
      return result(done_at(self.record, direction(rw), bytes or 0, check.whole(t, "time")))
    end
    return result(done(self.record, direction(rw), bytes or 0))
  end
  function io_methods.count(self, rw, bytes)
    return result(count(self.record, direction(rw), check.whole(bytes, "bytes") or 0))
  end
  -- The kstat's address, whose latencies are counted, too.
  local function address(self)
    return self.address or check.usage("the queue was deleted")
  end
  local function token_of(value)
    value = tonumber(value)
    if value < 0 then
      return result(-1)
    end
    return value
  end
  function io_methods.enter(self)
    return token_of(fn.enter(address(self)))
  end
  function io_methods.start(self, token)
    return token_of(fn.start_request(address(self), check.whole(token, "token") or 0))
  end
  function io_methods.finish(self, token, rw, bytes)
    token, bytes = check.whole(token, "token"), check.whole(bytes, "bytes")
    return result(fn.finish(address(self), token or 0, direction(rw), bytes or 0))
  end
  function timer_methods.event(self, start, stop)
    start, stop = check.whole(start, "start"), check.whole(stop, "stop")
    return result(event(self.record, start or check.number(start, "start"), stop or check.number(stop, "stop")))
  end
end

--- Creates an I/O kstat: a queue, or a disk.
-- @tparam published_spec spec beside the common fields, `latency` (boolean): the histograms `NAME,wait` and `NAME,svc`
-- (class histogram, 1 us to 1,000 s in nanoseconds) count how long requests waited and were served, each of those that
-- go through `enter`, `start` and `finish`; a name has at most 25 bytes then
-- @treturn published.io
-- @fails
-- @usage local queue = assert(pub:io({ name = "queue", class = "disk" }))
-- queue:waitq_enter()
-- queue:waitq_to_runq()
-- queue:done("read", 512)
-- local jobs = assert(pub:io({ name = "jobs", latency = true }))
-- local token = jobs:start(jobs:enter())
-- jobs:finish(token, "read", 512)
-- @function pub:io
function M.io(self, spec)
  check.fields(spec, io_fields, "io")
  return object.create_bound("address", nil, io_meta, self, spec, spec.latency and core.latency, core.create,
    core.types.io, 1)
end

local timers_methods = {}
local timers_meta = object.class(timers_methods)

--- Starts the timer, or stops it.
-- @int[opt] t_ns nanoseconds of `kstat.gethrtime()`; default: now
-- @treturn boolean true
-- @fails
-- @function timer:start
-- @also timer:stop

--- Counts an event of those that may overlap, each with its own start.
-- @int start_ns
-- @int stop_ns
-- @treturn boolean true
-- @fails
-- @function timer:event

--- One timer of a TIMER kstat.
-- @string name
-- @treturn timer
-- @function timers:timer
function timers_methods.timer(self, name)
  return self.timers[name] or check.usage("%s", unknown.word(tostring(self) .. " has no timer", name, self.timers))
end

--- The same by name.
-- @string name
-- @int[opt] t_ns
-- @treturn boolean true
-- @fails
-- @function timers:start
-- @also timers:stop

--- Counts an event by the timer's name.
-- @string name
-- @int start_ns
-- @int stop_ns
-- @treturn boolean true
-- @fails
-- @function timers:event
for _, op in ipairs({ "start", "stop", "event" }) do
  timers_methods[op] = function(self, name, a, b)
    a, b = check.whole(a, op == "event" and "start" or "time"), check.whole(b, "stop")
    local timer = timers_methods.timer(self, name)
    return timer[op](timer, a, b)
  end
end

local timer_fields = check.with_header("timers")

--- Creates a TIMER kstat.
-- @tparam published_spec spec beside the common fields, `timers` ({string,...}, needed): their names
-- @treturn published.timers
-- @fails "EINVAL" two timers of one name, or one with a control character
-- @usage local times = assert(pub:timer({ name = "times", timers = { "parse" } }))
-- times:start("parse")
-- times:stop("parse")
-- @function pub:timer
function M.timer(self, spec)
  check.fields(spec, timer_fields, "timer")
  if type(spec.timers) ~= "table" or #spec.timers == 0 then
    check.usage("timers: an array of names expected")
  end
  local function prepare(box)
    for i, name in ipairs(spec.timers) do
      core.timer(box, i - 1, check.text(name, "timer " .. i))
    end
    return true
  end
  local k, message, errname = object.create(timers_meta, self, spec, prepare, core.create, core.types.timer,
    #spec.timers)
  if not k then
    return nil, message, errname
  end
  k.timers = {}
  for _, name in ipairs(spec.timers) do
    local timer = { kstat = k }
    local ok
    ok, message, errname = object.bind(k.box, timer, name)
    if not ok then
      return nil, message, errname
    end
    k.timers[name] = setmetatable(timer, timer_meta)
  end
  return k
end

return M
