--- Frames of a screen as plain text, one below the other: for pipes, files, and terminals that can do nothing.
--
-- A frame is as large as a window at most. Its first line is the only one that does not begin with a blank, and an
-- empty line ends it. All are of whole intervals, of the past of whole steps.
-- @module kstat.top.batch
local application = require("kstat.top.application")
local clock = require("kstat.command.clock")
local core = require("kstat.core")
local machine = require("kstat.top.machine")
local picture = require("kstat.picture")
local running = require("kstat.base.running")
local sampling = require("kstat.top.sampling")

local batch = {}

-- The frame of a state; the keys in the last line of the window give their place to the empty line.
local function frame_of(app)
  local window = picture.terminal()
  local lines = app:lines(window.width, math.max(window.height, 2), window.utf8)
  lines[#lines] = nil
  for i, line in ipairs(lines) do
    lines[i] = (app.coloured and line or line:gsub("\27%[[%d;]*m", "")):gsub(" +$", "")
  end
  while #lines > 1 and lines[#lines] == "" do
    lines[#lines] = nil
  end
  lines[1] = lines[1]:gsub("^ +", "")
  return table.concat(lines, "\n") .. "\n\n"
end

-- Waits until a deadline. False: the loop is to end.
local function wait(deadline)
  local why
  repeat
    why = core.wait(deadline)
  until why == "time" or why == "interrupted"
  return why == "time"
end

local function print_frame(frame)
  running.write(frame)
  running.flush()
end

-- Takes in a sample of the groups of a view, and prints the frame if it is of a whole interval; else returns it.
local function tick(app, groups, complete)
  local replay = groups[1].chain:is_replay()
  app.mode = replay and "past" or "live"
  app.shown.screen.elapsed = groups[1].prev and groups[1].d.elapsed
  app:take(clock.seconds(groups[1].now), not replay)
  local frame = frame_of(app) -- what it asks for is in the next sample, too
  if complete then
    print_frame(frame)
  end
  for _, group in ipairs(groups) do
    running.warnings(group.chain)
  end
  return not complete and frame or nil
end

--- Prints frames until the source ends, a signal comes, or there were `count` of them.
-- @tparam table given as of kstat.top.run: `views`, `view`, `about`, `filter`, `open`, `interval`, `count`, `host`,
-- `color`, `is_replay`; `step` (?number): the interval, if somebody gave one
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string what could not be read
-- @raise running.stop's, if standard output cannot be written
function batch.run(given)
  local samples = sampling.new(given.open, given.is_replay, { step = given.step })
  local app = application.new({ views = given.views, view = given.view, about = given.about, filter = given.filter,
    interval = given.interval, host = given.host or machine.host(), coloured = given.color == "always", strict = true,
    group = sampling.group, window = picture.terminal() })
  local groups, shown, interval = app.shown.groups, 0, app.interval * 1e9
  local deadline, only = core.gethrtime(), nil
  core.looping(true)
  repeat
    local ok, complete, errname = samples:live(groups, app.interval)
    if not ok then
      core.looping(false)
      if only and shown == 0 then
        print_frame(only) -- a source of one sample has no interval
      end
      return errname == "ENODATA" and running.stop(1, complete) or ok == false or nil, complete
    end
    only = tick(app, groups, complete)
    shown = shown + (only and 0 or 1)
    deadline = math.max(deadline, core.gethrtime() - interval) + interval
  until shown == given.count or not groups[1].chain:is_replay() and not wait(deadline) or core.interrupted()
  core.looping(false)
  return true
end

return batch
