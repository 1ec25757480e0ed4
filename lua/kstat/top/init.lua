--- The application behind `kstatlua top`: the state, what keys do to it, and the loop on a terminal.
--
-- `top.new` and the methods of what it returns do no input or output: kstat.top.keys makes keys of bytes,
-- kstat.top.rows rows of differences, kstat.top.view text of the state. `top.run` is the loop.
--
-- @module kstat.top
local core = require("kstat.core")
local keys = require("kstat.top.keys")
local picture = require("kstat.picture")
local rows = require("kstat.top.rows")
local sample = require("kstat.sample")
local view = require("kstat.top.view")

local top = {}

local app = {}
app.__index = app

local INTERVALS = { 0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 15, 30, 60, 120, 300, 600, 3600 }
local ESCAPE_NS = 50e6 -- how long an escape may take to become a longer key

--- Selected without operands: the machine as a whole, disks, links, protocols.
top.DEFAULT = { "unix:0:sys", "unix:0:vm", { class = "disk" }, { class = "net" }, { class = "mib2" },
  { class = "pressure" } }

--- A new state.
-- @tparam table options `selectors` (compiled), `interval` (seconds), `sort` ("rate", "value", "name"),
-- `reverse`, `skip_idle`, `filter` (text), `host`
-- @treturn app
function top.new(options)
  local self = setmetatable({
    table = rows.new(options.selectors), interval = options.interval or 1, sort = options.sort or "rate",
    reverse = options.reverse or false, skip_idle = options.skip_idle or false, show = "all", text = "",
    host = options.host or "", offset = 0, height = 24, rows = {}, time = 0, kstats = 0,
  }, app)
  if options.filter then
    self:set_filter(options.filter)
  end
  return self
end

function app:set_filter(text)
  self.text = text
  local filter, message = rows.filter(text)
  self.problem = message
  if filter then
    self.passes = filter
  end
end

-- Brings what is derived from the rest up to date.
function app:arrange()
  self.rows = self.table:chosen({ sort = self.sort, reverse = self.reverse, filter = self.passes,
    show = self.show, skip_idle = self.skip_idle })
  self.total, self.shown = #self.table.list, #self.rows
  self:scroll(0)
end

function app:scroll(by)
  local last = math.max(0, #self.rows - view.room(self.height))
  self.offset = math.max(0, math.min(last, self.offset + by))
end

--- Takes in one tick.
-- @tparam sample now
-- @tparam sample|nil prev nil at the first: everything since creation
-- @int kstats how many there are
function app:tick(now, prev, kstats)
  self.first = prev == nil
  self.table:take(prev and now - prev or now:since_creation(), self.first)
  self.time, self.kstats = require("kstat.tool").clock(now), kstats
  self:arrange()
end

local function edit(self, key)
  if key == "enter" then
    self.editing = false
  elseif key == "escape" then
    self.editing = false
    self:set_filter("")
  elseif key == "backspace" then
    self:set_filter((self.text:gsub("[%z\1-\127\194-\244][\128-\191]*$", "")))
  elseif #key == 1 or key:byte() >= 0x80 then
    self:set_filter(self.text .. key)
  end
  if not self.editing and self.problem then
    self:set_filter("")
  end
  self.offset = 0
  self:arrange()
end

local function sort_by(field)
  return function(self)
    self.sort, self.offset = field, 0
    self:arrange()
  end
end

local function change_interval(direction)
  return function(self)
    local first, last = direction > 0 and 1 or #INTERVALS, direction > 0 and #INTERVALS or 1
    for i = first, last, direction do
      if (INTERVALS[i] - self.interval) * direction > 1e-9 then
        self.interval = INTERVALS[i]
        return "interval"
      end
    end
  end
end

local function scroll_by(pages, lines)
  return function(self)
    self:scroll(pages * view.room(self.height) + lines)
  end
end

local SHOW = { all = "counters", counters = "gauges", gauges = "all" }

local function help(self)
  self.help = not self.help
end

local KEYS = {
  q = function() return "quit" end,
  ["ctrl-c"] = function() return "quit" end,
  r = sort_by("rate"), v = sort_by("value"), n = sort_by("name"),
  R = function(self)
    self.reverse, self.offset = not self.reverse, 0
    self:arrange()
  end,
  c = function(self)
    self.show, self.offset = SHOW[self.show], 0
    self:arrange()
  end,
  z = function(self)
    self.skip_idle, self.offset = not self.skip_idle, 0
    self:arrange()
  end,
  ["/"] = function(self)
    self.editing, self.help = true, false
    self:set_filter("")
    self:arrange()
  end,
  escape = function(self)
    self.help = false
    self:set_filter("")
    self:arrange()
  end,
  [" "] = function(self)
    self.paused = not self.paused
    return "interval"
  end,
  ["."] = function() return "step" end,
  ["+"] = change_interval(1), ["="] = change_interval(1), ["-"] = change_interval(-1),
  up = scroll_by(0, -1), down = scroll_by(0, 1), k = scroll_by(0, -1), j = scroll_by(0, 1),
  pageup = scroll_by(-1, 0), pagedown = scroll_by(1, 0),
  home = scroll_by(0, -1e9), ["end"] = scroll_by(0, 1e9),
  h = help, ["?"] = help,
}

--- Does what a key asks for.
-- @string key see kstat.top.keys
-- @treturn string|nil what the loop has to do: "quit", "step" (a tick at once), "interval" (the next
-- deadline is another one)
function app:key(key)
  self.message = nil
  if self.editing and key ~= "ctrl-c" then
    edit(self, key)
    return nil
  end
  local act = KEYS[key]
  return act and act(self)
end

--- The window.
-- @int width
-- @int height
-- @tparam boolean utf8
-- @treturn {string,...} see kstat.top.view
function app:lines(width, height, utf8)
  self.height = height
  self:scroll(0)
  return view.lines(self, width, height, utf8)
end

-- --- the loop ------------------------------------------------------------------------------------

local function host_name()
  local f = io.open("/proc/sys/kernel/hostname")
  local name = f and f:read("*l")
  if f then
    f:close()
  end
  return name or os.getenv("HOSTNAME") or "?"
end

-- One run of the loop: what belongs to the terminal and to the chain.
local run = {}
run.__index = run

local function fail(message)
  error({ message = message })
end

-- The next sample, and the one before it. False at the end of a replay.
function run:move()
  local now, prev
  if not self.now then
    now, prev = sample.begin(self.ks, self.app.table.selectors)
    return now and core.sample_freeze(now, true) or fail(prev), prev
  end
  local changed, message = self.ks:update()
  if changed == nil then
    fail(message)
  elseif self.ks:ended() then
    return false
  end
  now, message = sample.take(self.ks, self.app.table.selectors)
  return now or fail(message), self.now
end

-- Takes in the next sample. False at the end of a replay.
function run:sample()
  local now, prev = self:move()
  while now and self.now and self.ks:is_cut() do -- makes no difference with the one before
    self.now = now
    now, prev = self:move()
  end
  if not now then
    self.app.ended = true
    return false
  end
  self.app:tick(now, prev, #self.ks)
  self.now = now
  self.ticks = self.ticks + 1
  local warnings = self.ks:warnings()
  self.app.message = warnings[#warnings] or self.app.message
  return true
end

function run:draw(anew)
  local terminal = picture.terminal()
  if not terminal.tty then
    return
  end
  local resized = terminal.width ~= self.width or terminal.height ~= self.height
  self.width, self.height = terminal.width, terminal.height
  local lines = self.app:lines(terminal.width, terminal.height, terminal.utf8)
  io.stdout:write(view.update(lines, not (anew or resized) and self.lines or nil))
  io.stdout:flush()
  self.lines = lines
end

-- What is typed until the deadline: keys, or nil and why there are none.
function run:keys(deadline)
  local pending = self.pending
  local limit = pending ~= "" and math.min(deadline, core.gethrtime() + ESCAPE_NS) or deadline
  local bytes, why = self.screen:read(limit)
  local list
  if bytes then
    list, self.pending = keys.parse(pending .. bytes)
    return list
  elseif why == "time" and pending ~= "" then
    list, self.pending = keys.parse(pending, true)
    return list
  end
  return nil, why
end

-- Until the next tick is due: true; false: the loop is to end.
function run:wait()
  local deadline = self.deadline
  if self.steps > 0 and not self.app.ended then
    self.steps = self.steps - 1
    return true
  end
  self.steps = 0
  while true do
    local idle = self.app.paused or self.app.ended
    local list, why = self:keys(idle and core.gethrtime() + 3600e9 or deadline)
    if why == "time" and not idle then
      return true
    elseif why == "interrupted" or why == "closed" then
      return false
    elseif why == "continued" then
      self.screen:enter()
    end
    for _, key in ipairs(list or {}) do
      local what = self.app:key(key)
      if what == "quit" then
        return false
      elseif what == "interval" then
        deadline = core.gethrtime() + self.app.interval * 1e9
        self.deadline = deadline
      elseif what == "step" and not self.app.ended then
        self.steps = self.steps + 1
      end
    end
    if self.steps > 0 then
      self.steps = self.steps - 1
      self.deadline = core.gethrtime()
      return true
    end
    self:draw(why == "continued")
  end
end

function run:loop(count)
  self.deadline = core.gethrtime()
  self:sample()
  self:draw(true)
  while self.ticks ~= count do
    if not self.app.paused then
      local time, interval = core.gethrtime(), self.app.interval * 1e9
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
-- @tparam chain ks
-- @tparam table options those of `top.new`, and `count`; nil: for ever
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message: the terminal or the chain could not be read
-- @raise what is a mistake in here
function top.run(ks, options)
  local screen, message = core.screen(view.ENTER, view.LEAVE)
  if not screen then
    return nil, message
  end
  local self = setmetatable({ ks = ks, screen = screen, replay = ks:is_replay(), ticks = 0, steps = 0,
    pending = "" }, run)
  options.host = options.host or self.replay and "replay" or host_name()
  self.app = top.new(options)
  core.looping(true)
  local ok, problem = xpcall(function()
    local entered, why = screen:enter()
    if not entered then
      fail(why)
    end
    self:loop(options.count)
  end, with_traceback)
  core.looping(false)
  screen:close()
  if not ok and type(problem) == "table" and problem.message then
    return nil, problem.message
  elseif not ok then
    error(problem, 0)
  end
  return true
end

--- Whether `run` can: standard output is a terminal that does what full-screen programs ask for.
-- @treturn boolean
function top.possible()
  local term = os.getenv("TERM") or "dumb"
  return term ~= "dumb" and term ~= "" and core.terminal(1) ~= nil
end

return top
