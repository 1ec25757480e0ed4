--- The interval loop: `for now, prev in kstat.every(arg) do … end`.
-- @module kstat.every
local chain = require("kstat.read.chain")
local core = require("kstat.core")
local intervals = require("kstat.base.options.interval")
local selector = require("kstat.read.selector")
local stdout = require("kstat.base.stdout")
local steps = require("kstat.read.step")

local every = {}

local known = { source = true, chain = true, select = true, wait = true, clock = true, begin = true, step = true,
  values = true, tell = true }

-- nil, or what is wrong.
local function check_options(options)
  if type(options) ~= "table" then
    return "options: table expected, got " .. type(options)
  end
  for key in pairs(options) do
    if not known[key] then
      return require("kstat.base.unknown").word("unknown option", key, known)
    end
  end
  if options.chain ~= nil and core.kind(options.chain) ~= "chain" then
    return "option 'chain': an open chain expected"
  end
  return nil
end

-- Sleeps until a deadline. false: the loop is to end; true: the process was stopped beyond it, and a
-- new cadence starts. Stopped for less, the cadence stays.
local function sleep(wait, clock, deadline)
  while true do
    local why = wait(deadline)
    if why == "time" then
      return nil
    elseif why == "interrupted" then
      return false
    elseif why == "continued" then
      if clock() >= deadline then
        return true
      end
    elseif why ~= "signal" then
      return nil
    end
  end
end

-- What could not be read of a chain that only the loop knows: nobody else can tell.
local function tell_warnings(ks)
  for _, line in ipairs(ks:warnings()) do
    core.tell(line, ks:damaged())
  end
end

-- Prints a line for each selector that selects nothing.
local function tell_missing(ks, now, list)
  local function everything()
    return core.select(ks)
  end
  for _, sel in ipairs(list or {}) do
    local line = require("kstat.base.unknown").selector(sel, core.select(now, { sel }), everything)
    if line then
      core.tell(line, false)
    end
  end
end

--- Iterates over samples at an interval.
--
-- The first tick comes at once, with `prev` nil; each further one an interval later, on absolute
-- deadlines, so that the loop does not drift. One that comes more than an interval late (the
-- process was stopped, the machine slept, the loop's body took long) starts a new cadence; ticks
-- are never made up for. After each tick's body standard output is flushed.
-- In a replay nothing waits, and the loop ends after the last sample, whatever the count is. Of a recording an
-- interval that was given is so many seconds, too: a tick joins the samples that lie in them, and `prev` is such that
-- `now - prev` is what was counted between these. If `from` or `to` bound the recording there is a `prev` from the
-- first tick on, and without an interval there is one tick, the whole of that time. Without both, with an interval
-- of 1 where nothing bounds it, and in captures of `kstat -j`, each tick is the next sample; `prev` is nil there where
-- the machine was started again or slept, or
-- nothing was recorded for long, and live behind a minute or more in which the process was stopped (see `ks:is_cut`):
-- what was counted before and behind makes no difference. A replay that is one interval (`at`) has one tick, with its
-- `prev`.
-- The host ends the loop at SIGINT, after the current tick; a closed pipe at standard output ends it too.
--
-- @tparam number|string|{string,...} interval seconds between ticks (fractions allowed, at most 2147483647), a text
-- such as "500ms" or "1m" (ms, s, m, h, d), or a script's `arg`: the last one or two elements are interval and count,
-- if they are such texts. Of the global `arg` further operands and options are refused and `--help` is answered, unless
-- kstat.usage() said that there are operands
-- @tparam[opt] number|every_options count how many ticks, in the form with an interval; nil, or nothing before the
-- options: for ever
-- @tparam[opt] table options
--
--   * `source` (string|source): what to open, see kstat.open. Where none is named, a recording of several machines is
--     refused unless `--host` chooses one, or is "*"
--   * `chain` (chain): an open chain to use instead; the loop updates it
--   * `select` (spec|{spec,...}): a selector or an array of them: read at each tick, whether asked for or not. A sample
--     has nothing else but what the loop's body asked it, or an earlier one, for (see kstat.sample). After the first
--     tick a line on standard error names those that select nothing, unless the script opened the chain
--   * `begin` (fun(now:sample)): is called with the first sample of a time of the past that was asked for, which is no
--     tick
--   * `step` (number|false): the seconds of a step of the past; default: the interval, if one was typed; false: there
--     is one step, or where no time was asked for each sample is one
--   * `values` (boolean): of a step of the past nothing but its last sample is wanted
--   * `tell` (fun(line:string)): takes what there is to say of steps; default: standard error
--   * `wait` (fun(deadline_ns:number):string) and `clock` (fun():number, in ns): another time, for tests
--
-- @treturn fun():?sample,?sample an iterator that yields now, prev (see kstat.sample)
-- @raise on wrong arguments, and if the source cannot be opened or updated, or standard output not be written.
-- Of the latter the message says all there is to say, and the host shows no traceback
-- @usage
-- for now, prev in kstat.every(arg, { select = "cpu_stat" }) do
--     if prev then print((now - prev):rate("cpu_stat:::intr")) end
-- end
-- @function kstat.every
function every.every(interval, count, options)
  local kind = type(interval)
  if type(count) == "table" and options == nil then
    count, options = nil, count
  end
  if kind == "table" then
    local status
    interval, count, status = require("kstat.base.options").times(interval)
    if status then
      core.fail(count, status)
    end
  elseif kind ~= "number" and not (kind == "string" and intervals.seconds(interval)) then
    core.usage("bad argument #1 to 'every' (number or table expected, got " .. kind .. ")")
  end
  options = options == nil and {} or options
  local message = check_options(options)
  if message then
    core.usage(message)
  end
  local typed = interval
  local times
  interval, times = intervals.check(interval, count)
  if not interval and kind == "table" then
    core.fail(times, 2) -- whoever typed the command line is told, and no line of the script blamed
  elseif not interval then
    core.usage(times)
  end
  local list
  if options.select ~= nil then
    list, message = selector.list(options.select)
    if not list then
      core.usage(message)
    end
  end
  local ks = options.chain
  local own = not ks
  if own then
    ks, message = chain.open(options.source == nil and {} or options.source, list)
    message = ks and options.source == nil and chain.several_machines(ks, {}, true) or message
    if message then
      core.fail(message)
    end
  end
  local wait, clock = options.wait or core.wait, options.clock or core.gethrtime

  local replay = ks:is_replay()
  local length = options.step -- of steps of the past
  if length == nil and (kind ~= "table" or typed) then
    length = interval / 1e9
  end
  local past = steps.new(ks, length or nil, list, options)
  local ticks, deadline = 0, nil
  local now

  -- Ends the loop; with a message, by an error at the loop's line.
  local function stop(failure, status)
    if now then
      core.sample_freeze(now)
    end
    ticks = nil
    core.looping(false)
    if own then
      tell_warnings(ks)
    end
    if failure then
      core.fail(failure, status)
    end
    return nil
  end

  -- Lets an interval pass. False: the loop is to end.
  local function pause()
    if replay then
      return not core.interrupted()
    end
    deadline = deadline + interval
    local fresh = sleep(wait, clock, deadline)
    local time = clock()
    if fresh or time - deadline > interval then
      deadline = time
    end
    return fresh ~= false
  end

  -- The sample of the next tick and the one before it, if there is one; nil: the loop ends; nil, what is wrong, errno.
  local function advance()
    if past and (now or past.has_first) then
      return past:next(now, options.begin)
    elseif not now then
      return core.sample(ks, nil, list)
    end
    local fresh, failure
    fresh, failure = ks:update()
    if fresh == nil then
      return nil, failure
    elseif ks:ended() then
      return nil
    end
    fresh, failure = core.sample(ks, now, list)
    if not fresh or ks:is_cut() then
      return fresh, failure
    end
    return fresh, now
  end

  -- Where loops close what they are given (Lua 5.4), leaving one by break or error ends it too.
  local guard = setmetatable({}, { __close = function()
    if ticks and ticks > 0 then
      stop()
    end
  end })

  local function step()
    local failure
    if not ticks then
      return nil
    elseif ticks == 0 then
      core.looping(true)
      deadline = clock()
    else
      core.sample_freeze(now)
      if own then
        tell_warnings(ks)
        if ticks == 1 then
          tell_missing(ks, now, list)
        end
      end
      if core.kind(ks) ~= "chain" then
        ticks = nil
        core.looping(false)
        core.usage("the kstat chain is closed")
      end
      local flushed
      flushed, failure = stdout.flush()
      if flushed == nil then
        stop(failure)
      elseif not flushed or ticks == times or core.interrupted() or not pause() then
        return stop()
      end
    end
    ticks = ticks + 1
    local fresh, before, errname = advance()
    if not fresh then
      return stop(before, errname == "ENODATA" and 1 or nil)
    end
    now = fresh
    return now, before
  end
  return step, nil, nil, guard
end

return every
