--- The screen: views of reports in a terminal's window, now and at any moment that was recorded.
--
-- This is the loop, which has the terminal, the time and the samples. `kstat.top.application` is the state,
-- `kstat.top.actions` what keys do to it, `kstat.top.sampling` where samples come from.
-- @module kstat.top
local actions = require("kstat.top.actions")
local application = require("kstat.top.application")
local colour = require("kstat.base.colour")
local core = require("kstat.core")
local keys = require("kstat.top.keys")
local machine = require("kstat.top.machine")
local picture = require("kstat.picture")
local sampling = require("kstat.top.sampling")
local seen = require("kstat.top.seen")
local variable = require("kstat.base.environment").variable

local top = {}

local ENTER = "\27[?1049h\27[?25l\27[?7l" -- the other screen, no cursor, no wrapping
local LEAVE = "\27[?7h\27[?25h\27[?1049l"
local ESCAPE_NS = 50e6 -- how long an escape may take to become a longer key
local SOON_NS = 0.25e9 -- after what has no figures of an interval: a first sample, or rows that a key brings into sight
local WORK_NS = 5e6 -- what is done at a time between two looks at the keys

local run = {}
run.__index = run

local FAILED = {} -- the metatable of what could not be read

local function fail(message)
  error(setmetatable({ message = message }, FAILED))
end

-- --- samples ------------------------------------------------------------------------------------

-- Reads what the view shows. At the end of a replay the last frame stays.
function run:sample(again)
  local app, groups = self.app, self.app.shown.groups
  local ok, complete
  if self.past then
    ok, complete = sampling.past(groups, self.past)
    app.shown.screen.past, self.past.recent = self.past, app.shown.screen.recent
  else
    ok, complete = self.sampling:live(groups, app.interval, again)
    app.shown.screen.past = nil
  end
  if ok == nil then
    if self.ticks == 0 or not self.past then
      fail(complete)
    end
    app.message = complete
    return
  elseif ok == false then
    app.mode = "ended"
    return
  end
  local now = groups[1].now
  app.shown.screen.elapsed = groups[1].prev and groups[1].d.elapsed or nil
  app:take(require("kstat.command.clock").seconds(now), not self.past)
  if not self.past and not self.sampling.is_replay then
    self.seen:add(groups, now.time_of_day)
  end
  self.ticks, self.complete = self.ticks + 1, complete
  app.message = app.message or sampling.warning(groups)
end

-- --- the past -----------------------------------------------------------------------------------

function run:live()
  for _, list in ipairs({ self.app.before, self.app.kept, { self.app.shown } }) do
    sampling.forget(list, self.past)
  end
  self.past, self.app.mode = nil, "live"
end

-- Goes into the past: at the last sample, or from there on by what a key asks for.
function run:travel(action)
  local app, what = self.app, action[1]
  if what == "live" then
    if self.past and self.only_past then
      app.message = "this is a recording; kstatlua top without it shows this machine now"
    elseif self.past then
      self:live()
    end
    return
  end
  local entered = not self.past
  if entered and self.only_past then
    app.message = "what is shown here comes through a pipe, or is one sample: it has no way back"
    return
  elseif entered then
    local p, message = require("kstat.top.past").open()
    local is_seen, remark = false, nil
    if not p and not self.sampling.is_replay then
      is_seen, remark = self.seen:enter()
    end
    p, self.complete, app.message = p or is_seen and self.seen, self.complete or is_seen, remark or message
    if not p then
      return
    end
    self.past, app.mode = p, "past"
  end
  if not (entered and what == "step") then
    local ok, message = self.past[what](self.past, action[2])
    while ok == "working" do
      app.message = message
      self:draw()
      local why = self:type_ahead(core.gethrtime())
      if self.typed[1] or why == "interrupted" or why == "closed" then
        return -- what a key asks for is done next
      end
      ok, message = self.past[what](self.past, action[2])
    end
    app.message = message or app.message
    if not ok and entered and what == "to" then
      self:live() -- no time was typed
    end
  end
end

-- Does a piece of what is left to do between two keys. Returns whether there is more, and whether the window changed.
function run:work()
  if self.past and not self.idle then
    local changed = self.past:work(core.gethrtime() + WORK_NS)
    self.idle = changed == nil
    return not self.idle, changed or self.idle -- once all is judged, the verdict may know since when
  end
  return false
end

-- --- the terminal -------------------------------------------------------------------------------

function run:draw()
  local terminal = picture.terminal()
  if not terminal.tty then
    return
  end
  local lines = self.app:lines(terminal.width, terminal.height, terminal.utf8)
  self.waiting = not self.screen:draw(lines)
end

-- Puts what is typed until the deadline into `typed`, where nothing waits. Returns why nothing is.
function run:type_ahead(deadline)
  local pending = self.pending
  if self.typed[1] then
    return nil
  end
  local limit = pending ~= "" and math.min(deadline, core.gethrtime() + ESCAPE_NS) or deadline
  local bytes, why = self.screen:read(limit)
  if bytes or why == "time" and pending ~= "" then
    self.typed, self.pending = keys.parse(pending .. (bytes or ""), not bytes)
    return nil
  elseif why == "continued" then
    self.screen:enter()
  end
  return why
end

-- Does what a key asks for. False: the loop is to end.
function run:key(key)
  if key == "ctrl-l" then
    self.screen:anew()
    return true
  end
  local what, ticks = actions.act(self.app, key), self.ticks
  self.idle = false
  if what == "quit" then
    return false
  elseif what == "interval" then
    self.deadline = core.gethrtime() + self.app.interval * 1e9
  elseif what == "sample" or what == "step" and not self.past then
    self:sample(what == "sample")
  elseif type(what) == "table" then
    local before = self.past
    self:travel(what)
    if before or self.past then -- else there is no way into the past, and now is read when its time comes
      self:sample()
    end
  end
  if not self.complete and self.app.mode == "live" then -- a key that is held does not put it off
    local soon = core.gethrtime() + SOON_NS
    self.deadline = self.ticks == ticks and math.min(self.deadline, soon) or soon
  end
  return true
end

-- What a key brought into sight is compared soon, as at the first frame. had: how much was read of the groups before.
function run:soon(groups, had)
  if self.app.mode == "live" and not self.sampling.is_replay and groups == self.app.shown.groups and
      sampling.count(groups) > had then
    self.deadline = math.min(self.deadline, core.gethrtime() + SOON_NS)
  end
end

-- Until the next tick is due: true; false: the loop is to end.
function run:wait()
  while true do
    local idle = self.app.mode ~= "live"
    local more, changed = self:work()
    if changed then
      self:draw() -- it may be long until the next key
    end
    local deadline = more and core.gethrtime() or idle and core.gethrtime() + 3600e9 or self.deadline
    local why = self:type_ahead(deadline)
    if why == "time" and not idle then
      return true
    elseif why == "interrupted" or why == "closed" then
      return false
    end
    local groups = self.app.shown.groups
    local had = sampling.count(groups)
    while self.typed[1] do
      if not self:key(table.remove(self.typed, 1)) then
        return false
      end
    end
    if why ~= "time" and (why ~= "ready" or self.waiting) then
      self:draw()
    end
    self:soon(groups, had)
  end
end

function run:loop(count)
  self.deadline = core.gethrtime()
  self:sample()
  self:draw()
  while self.ticks ~= count do
    local time, interval = core.gethrtime(), self.app.interval * 1e9
    if not self.complete then
      self.deadline = time + math.min(interval, SOON_NS)
    else
      self.deadline = self.deadline + interval
      if self.deadline < time then
        self.deadline = time + interval
      end
    end
    if not self:wait() then
      return
    end
    self:sample()
    self:draw()
  end
end

local function with_traceback(problem)
  if type(problem) == "string" then
    return debug.traceback(problem, 2)
  end
  return problem
end

--- Runs on the terminal of standard output until it is left with `q` or a signal, or after `count` ticks.
-- The terminal is given back in any case.
-- @tparam table given `views` (see kstat.top.application), `view` (the name of the first one), `open` (fun(only,
-- published): chain, or nil and a message), `interval` (seconds), `count` (ticks; nil: for ever), `filter` (text),
-- `about` (see app:show), `color` (see kstat.base.colour), `host` (a name for the first line; nil: that of this
-- machine), `past` (a past, in which the screen begins), `only_past` (boolean: there is no way to now), `is_replay`
-- (boolean: `open` opens one, which goes on by itself), `remembered` (see kstat.top.remembered)
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message: the terminal or the chain could not be read
-- @raise what is a mistake in here
function top.run(given)
  local terminal = picture.terminal()
  local screen, message = core.screen(ENTER, LEAVE, terminal.utf8)
  if not screen then
    return nil, message
  end
  local self = setmetatable({ screen = screen, sampling = sampling.new(given.open, given.is_replay), ticks = 0,
    pending = "", typed = {}, past = given.past, only_past = given.only_past,
    seen = seen.new() }, run)
  self.app = application.new({ views = given.views, view = given.view, interval = given.interval,
    filter = given.filter, about = given.about, host = given.host or machine.host(),
    coloured = colour.wanted(given.color), group = sampling.group, window = terminal, remembered = given.remembered })
  self.app.mode = given.past and "past" or "live"
  core.looping(true)
  local ok, problem = xpcall(function()
    local entered, why = screen:enter()
    if not entered then
      fail(why)
    end
    self:loop(given.count)
  end, with_traceback)
  core.looping(false)
  screen:close()
  if not ok and getmetatable(problem) == FAILED then
    return nil, problem.message
  elseif not ok then
    error(problem, 0)
  end
  return true
end

--- Whether `run` can: standard output is a terminal that does what full-screen programs ask for.
-- @treturn boolean
function top.possible()
  return (variable("TERM") or "dumb") ~= "dumb" and core.terminal(1) ~= nil
end

return top
