--- Where the samples of a screen come from: chains of the running machine, or a moment of the past.
--
-- The sections of a view that read the same kind of kstats share a chain, which is bounded by what they select; it is
-- opened when the view is first shown. In the past all sections share the samples of the recording.
-- @module kstat.top.sampling
local core = require("kstat.core")
local machine = require("kstat.top.machine")
local selector = require("kstat.read.selector")
local step = require("kstat.read.step")

local sampling = {}
sampling.__index = sampling

--- New samples.
-- @func open fun(only, published): a chain, or nil and a message; see kstat.command.opening.open
-- @tparam[opt] boolean is_replay whether it opens a replay, of which there is one: all views share its chain
-- @tparam[opt] table frames of those who show whole intervals alone: the first one is known of all rows, and not of
-- those alone that its begin shows, and a replay goes by steps (kstat.read.step) of `step` seconds (?number)
-- @treturn sampling
function sampling.new(open, is_replay, frames)
  return setmetatable({ open = open, is_replay = is_replay, frames = frames }, sampling)
end

local function add_all(list, more)
  for _, sel in ipairs(more) do
    list[#list + 1] = sel
  end
end

--- The groups of a view's sections that share a chain.
-- @tparam table shown of kstat.top.application
-- @treturn table an array of groups; `of` has the group of each part, `machine` that of the first line
function sampling.group(shown)
  local groups, by_kind = { of = {} }, {}
  local function group_of(published)
    local kind = tostring(published)
    if not by_kind[kind] then
      by_kind[kind] = { published = published, only = {} }
      groups[#groups + 1] = by_kind[kind]
    end
    return by_kind[kind]
  end
  for _, part in ipairs(shown.parts) do
    local published = part.report.published
    if type(published) == "function" then
      published = published(part.given)
    end
    local group, selected = group_of(published), part.report:selected(part.given)
    if selected and group.only then
      add_all(group.only, selected)
    else
      group.only = nil
    end
    groups.of[part] = group
    groups.machine = groups.machine or published ~= true and group or nil
  end
  groups.machine = groups.machine or group_of(false)
  if groups.machine.only then
    add_all(groups.machine.only, selector.list((table.unpack or unpack)(machine.select)))
  end
  return groups
end

local function take(group, now, prev)
  group.now, group.prev = now, prev
  group.d = prev and now - prev or now:since_creation()
end

-- The chain of a group, opened if it is not; nil and a message.
local function open(self, group)
  local chain, message = self.replay, nil
  if not chain and self.is_replay then
    chain, message = self.open()
  elseif not chain then
    chain, message = self.open(group.only, group.published)
  end
  self.replay = self.is_replay and chain
  group.chain = chain
  return chain, message
end

-- The next step of a replay; results as those of advance().
local function advance_step(self, group)
  if group.now then
    core.sample_freeze(group.now)
  end
  local now, prev, errname = self.steps:next(group.now)
  if now then
    take(group, now, prev)
    return true
  elseif prev then
    return nil, prev, errname
  end
  return false
end

-- The selectors of all groups; nil: one of them reads everything.
local function union(groups)
  local only = {}
  for _, group in ipairs(groups) do
    only = group.only and only or nil
    if only then
      add_all(only, group.only)
    end
  end
  return only
end

-- The next sample of a group; false at the end of a replay; nil and a message. select: what is read whether it is asked
-- for or not. stay: a replay is not moved.
local function advance(self, group, oldest, select, stay)
  local message
  if not group.chain then
    group.chain, message = open(self, group)
    if not group.chain then
      return nil, message
    end
    self.steps = self.is_replay and self.frames and step.new(group.chain, self.frames.step, select, {})
  elseif not stay and not self.steps then
    core.sample_freeze(group.now)
    local ok
    ok, message = group.chain:update()
    if not ok then
      return nil, message
    elseif group.chain:ended() then
      return false
    end
  end
  if self.steps then
    return advance_step(self, group)
  end
  local before = not stay and group.now or nil
  local now
  -- It reads what this tick asks for, and not what earlier ones did: rows that are not visible any more cost nothing.
  now, message = core.sample(group.chain, nil, select)
  if not now then
    return nil, message
  end
  -- By the clock, and not by the sample: the time of a recorded tree of /proc is another one. Live is_cut() does not
  -- count, as the first interval of a screen is short.
  local is_replay = group.chain:is_replay()
  local is_cut = is_replay and group.chain:is_cut() or not is_replay and before and group.at < oldest
  group.at = core.gethrtime()
  take(group, now, not is_cut and before or nil)
  return true
end

--- Reads all groups of a view.
-- @tparam table groups
-- @number interval seconds; a sample of much more ago is not compared with
-- @tparam[opt] boolean again another view is shown, for which a replay does not go on
-- @treturn[1] boolean false: the replay is at its end
-- @treturn[1] boolean whether each group has an earlier sample
-- @treturn[2] nil
-- @treturn[2] string what could not be read
-- @treturn[2] string|nil the name of the error
function sampling:live(groups, interval, again)
  local oldest = core.gethrtime() - 1e9 * math.max(3 * interval, 2)
  local complete = true
  for i, group in ipairs(groups) do
    if self.is_replay and i > 1 then
      group.chain = groups[1].chain
      take(group, groups[1].now, groups[1].prev)
    else
      -- A replay may have two samples, and the first one is not asked for all that the second one is.
      local select = self.is_replay and union(groups) or self.frames and not group.now and group.only or nil
      local ok, message, errname = advance(self, group, oldest, select, self.is_replay and again)
      if not ok then
        return ok, message, errname
      end
    end
    complete = complete and group.prev ~= nil
  end
  return true, complete
end

--- How much was read for the last samples: it grows while a window is drawn that shows something else.
-- @tparam table groups
-- @treturn int kstats
function sampling.count(groups)
  local n = 0
  for _, group in ipairs(groups) do
    n = n + (group.now and #group.now or 0)
  end
  return n
end

--- The same at a moment of the past.
-- @tparam table groups
-- @tparam past p
-- @treturn[1] boolean
-- @treturn[2] nil
-- @treturn[2] string
function sampling.past(groups, p)
  local only = union(groups)
  for _, group in ipairs(groups) do
    local now, prev = p:samples(only, group)
    if not now then
      return nil, prev
    end
    group.live, group.chain = group.live or not p.chain and group.now or nil, p.chain or group.chain
    take(group, now, prev)
  end
  return true
end

--- Lets views begin anew now that were shown in the past.
-- @tparam {shown} list of kstat.top.application
-- @tparam past p
function sampling.forget(list, p)
  for _, shown in pairs(list) do
    for _, group in ipairs(shown.groups) do
      group.now, group.live = group.live or group.now, nil
      if group.chain == p.chain then
        group.chain, group.now, group.prev = nil, nil, nil
      end
    end
  end
end

--- What the chains of a view could not read.
-- @tparam table groups
-- @treturn string|nil the last line
function sampling.warning(groups)
  local last
  for _, group in ipairs(groups) do
    local lines = group.chain and group.chain:warnings() or {}
    last = lines[#lines] or last
  end
  return last
end

return sampling
