--- The ticks of a command: reports, kstat, iostat, devstat and record make theirs here.
--
-- `kstat.every` has the cadence, the signals and the ends. What follows a tick is the same for all commands: its
-- output is flushed, and what could not be read is printed.
-- @module kstat.command.tick
local core = require("kstat.core")
local running = require("kstat.base.running")

local tick = {}

-- An iterator that gives one sample; a single report does not need the interval loop.
local function once(ks, select)
  core.looping(true)
  local sample, message = core.sample(ks, nil, select)
  if not sample then
    core.fail(message)
  end
  return function()
    local now = sample
    sample = nil
    return now
  end
end

--- Makes the ticks of the command that running.run runs.
-- @tparam chain ks
-- @tparam number|nil interval seconds; nil: there is one tick
-- @tparam int|nil count how many ticks; nil: until the source ends or a signal comes
-- @func show function(now, prev), called at each tick with its sample and the one before (nil at the first tick)
-- @tparam[opt] {selector,...} select what every sample reads, whether it is asked for or not
-- @tparam[opt] table options `begin`, `step` and `values` of kstat.every
-- @treturn int the exit status: 0, or 3 if the source is damaged
-- @raise what core.fail raises, if the source cannot be read; running.stop's if standard output cannot be written
function tick.run(ks, interval, count, show, select, options)
  local step, guard, _
  if interval or core.chain_methods.is_interval(ks) or core.bounds(ks) then
    local given = options or {}
    local length = given.step
    if length == nil then
      length = interval or false
    end
    options = { chain = ks, select = select, begin = given.begin, values = given.values, step = length,
      tell = function(line) running.warn_later({ line }) end }
    step, _, _, guard = require("kstat.read.every").every(interval or 1, count, options)
  else
    step = once(ks, select)
  end
  for now, prev in step, nil, nil, guard do
    show(now, prev)
    running.warnings(ks)
  end
  running.flush()
  running.warnings(ks) -- those of the step that found the end
  return core.chain_methods.damaged(ks) and 3 or 0
end

--- Says when the heads of a table are due again.
-- @int page how many lines follow a head
-- @treturn function(n, anew) that is called before each n lines, and returns whether heads come before them: where
-- they do not fit into the page any more, or `anew` is true
function tick.pager(page)
  local left = -1 -- lines on the page; heads come first even if there is no line
  return function(n, anew)
    local due = anew or n > left
    left = (due and page or left) - n
    return due
  end
end

return tick
