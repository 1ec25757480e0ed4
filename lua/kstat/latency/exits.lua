--- Which processes end: what kstatlua latency publishes of it. The sums of all, and the pairs of a command and its
-- parent that had the most exits in the last minute.
-- @module kstat.latency.exits
local name_of = require("kstat.base.text").kstat_name

local exits = {}
exits.__index = exits

local MOST = 64
local KEPT = 60 -- seconds that a pair is among the busiest, and half of how long the kernel keeps it without exits
local COUNTERS, TEXTS = { "exits", "failed", "killed", "lifetime", "cputime" }, { "command", "parent", "cgroup" }

local function statistics_with(...)
  local list = {
    { "exits", desc = "processes that ended" }, { "failed", desc = "of these, with another status than 0" },
    { "killed", desc = "of these, by a signal" },
    { "lifetime", unit = "ns", meta = "t_acc", desc = "how long they had lived, all together" },
    { "cputime", unit = "ns", meta = "t_acc", desc = "CPU time that they had had, all together" }, ...
  }
  for _, s in ipairs(list) do
    s.name, s.kind, s[1] = s[1], not s.type and "counter" or nil, nil
  end
  return list
end

local function set(k, names, values)
  for _, name in ipairs(k and names or {}) do
    k:set(name, values[name])
  end
end

local function drop(pair)
  if pair.k then
    pair.k = pair.k:delete()
  end
end

--- Publishes the sums.
-- @tparam pub pub
-- @func groups function() that returns the control groups by id
-- @treturn exits
function exits.new(pub, groups)
  local self = setmetatable({ pub = pub, groups = groups, numbers = 0 }, exits)
  self:restart()
  return self
end

--- All begin anew, with the programs.
function exits:restart()
  for _, pair in pairs(self.pairs or {}) do
    drop(pair)
  end
  if self.sums then
    self.sums:delete()
  end
  self.pairs = {}
  self.sums = assert(self.pub:named({ module = "exits", name = "exits", class = "exits", shards = 1,
    statistics = statistics_with({ "lost", desc = "exits that are in these sums alone: too many commands" }) }))
end

-- What is known of the pair of an entry of the kernel's, and how busy it was.
local function pair_of(self, e, now)
  local key = e.command .. "\0" .. e.parent
  local pair = self.pairs[key] or { since = now, then_exits = 0, key = key }
  if pair.seen ~= e.exits then
    pair.seen, pair.at = e.exits, now
  end
  if now - pair.since >= KEPT then
    pair.recent, pair.since, pair.then_exits = e.exits - pair.then_exits, now, e.exits
  end
  self.pairs[key], pair.e, pair.rank = pair, e, math.max(e.exits - pair.then_exits, pair.recent or 0)
  return pair
end

local function publish(self, pair, groups)
  local e = pair.e
  if not pair.k then
    self.numbers = self.numbers + 1
    pair.k = self.pub:named({ module = "exits", instance = self.numbers, name = name_of(e.command, name_of(e.parent)),
      class = "exits_command", shards = 1, statistics = statistics_with(
        { "command", type = "string", desc = "its name" },
        { "cgroup", type = "string", desc = "the control group that one of them was in" },
        { "parent", type = "string", desc = "the name of who started it" }) })
    e.cgroup = pair.k and groups()[e.group] or ""
    set(pair.k, TEXTS, e)
  end
  set(pair.k, COUNTERS, e)
end

--- Publishes what the programs counted, and lets the kernel forget the pairs that have no more exits.
-- @tparam programs programs of kstat.bpf
-- @number now seconds
function exits:copy(programs, now)
  local sums, list = programs:exits()
  local busiest, groups = {}, nil
  set(self.sums, COUNTERS, sums)
  self.sums:set("lost", programs:losses().exit)
  for _, e in ipairs(list) do
    local pair = pair_of(self, e, now)
    if now - pair.at >= 2 * KEPT then
      programs:forget(e.command, e.parent)
      drop(pair)
      self.pairs[pair.key] = nil
    else
      busiest[#busiest + 1] = pair
    end
  end
  table.sort(busiest, function(a, b) return a.rank > b.rank end)
  for i, pair in ipairs(busiest) do
    if i > MOST then
      drop(pair)
    else
      publish(self, pair, function()
        groups = groups or self.groups()
        return groups
      end)
    end
  end
end

return exits
