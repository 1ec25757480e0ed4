--- Many expositions as one: OpenMetrics text in which each sample has its time, as those who fill a gap in a server's
-- past need it (`promtool tsdb create-blocks-from openmetrics`).
--
-- The format wants all lines of a family together, and in these all of a metric, in order of time. So nothing is
-- written before the end. What is waiting is in memory up to 16 MB, and beyond that in a temporary file.
-- @module kstat.command.output.series
-- SPDX-License-Identifier: MIT
local series = {}
series.__index = series

local MOST = 16 * 2 ^ 20 -- bytes in memory

--- An empty one.
-- @int[opt] most bytes in memory
-- @treturn series
function series.new(most)
  return setmetatable({ most = most or MOST, bytes = 0, families = {}, by_name = {} }, series)
end

-- Moves the lines that wait to a temporary file.
local function spill(self)
  local message
  if not self.file then
    self.file, message = io.tmpfile()
    if not self.file then
      return nil, "no temporary file for what does not fit into memory: " .. message
    end
  end
  for _, family in ipairs(self.families) do
    local text = table.concat(family)
    local at = self.file:seek("end")
    local ok
    ok, message = self.file:write(text)
    if not ok then
      return nil, "the temporary file: " .. message
    end
    family.places[#family.places + 1] = { at, #text }
    for i = #family, 1, -1 do
      family[i] = nil
    end
  end
  self.bytes = 0
  collectgarbage()
  return true
end

--- Adds an exposition.
-- @string text whole, in OpenMetrics
-- @number time seconds since 1970. Where a clock was set back, time goes on from the last one.
-- @treturn boolean true
-- @fails
function series:add(text, time)
  if self.last and time <= self.last then
    time = self.last + 0.001
  end
  self.last = time
  local stamp = (" %.3f\n"):format(time)
  local at = 1
  while true do
    local head, behind = text:match("^(# [^\n]*\n)()", at)
    if not head or head:sub(1, 5) == "# EOF" then
      break
    end
    local name = head:match("^# %u+ (%S+)")
    while text:sub(behind, behind + 1) == "# " and text:match("^# %u+ (%S+)", behind) == name do
      local line
      line, behind = text:match("^([^\n]*\n)()", behind)
      head = head .. line
    end
    local next_head = text:find("\n# ", behind - 1, true) or #text
    local lines = text:sub(behind, next_head):gsub("\n", stamp)
    local family = self.by_name[name]
    if not family then
      family = { name = name, head = head, places = {} }
      self.by_name[name], self.families[#self.families + 1] = family, family
    end
    family[#family + 1] = lines
    self.bytes = self.bytes + #lines
    at = next_head + 1
  end
  if self.bytes > self.most then
    return spill(self)
  end
  return true
end

-- The pieces of a family's text, in order of time.
local function pieces_of(self, family)
  local i = 0
  return function()
    i = i + 1
    local place = family.places[i]
    if place then
      self.file:seek("set", place[1])
      return self.file:read(place[2])
    end
    return i == #family.places + 1 and table.concat(family) or nil
  end
end

-- What is the same in all lines of a metric: its labels, without those that tell buckets and quantiles apart.
local function metric_of(line)
  local labels = line:match("^[^{ ]*{(.*)} %S+ %S+$")
  if not labels then
    return ""
  end
  return ((","..labels):gsub(',le="[^"]*"', ""):gsub(',quantile="[^"]*"', ""))
end

local MOST_PASSES = 64

-- How often a family is read: each time some of its metrics are put together, as many as fit into memory.
local function passes_of(self, family)
  local bytes = 0
  for _, place in ipairs(family.places) do
    bytes = bytes + place[2]
  end
  return math.max(1, math.min(MOST_PASSES, math.ceil(bytes / math.max(self.most, 1))))
end

--- Writes all families.
-- @func write takes text
function series:write(write)
  for _, family in ipairs(self.families) do
    local passes, pass_of, n = passes_of(self, family), {}, 0
    write(family.head)
    for pass = 1, passes do
      local metrics, order = {}, {}
      for piece in pieces_of(self, family) do
        for line in piece:gmatch("([^\n]*)\n") do
          local key = metric_of(line)
          if not pass_of[key] then
            pass_of[key], n = n % passes + 1, n + 1
          end
          local metric = metrics[key]
          if pass_of[key] == pass and not metric then
            metric = {}
            metrics[key], order[#order + 1] = metric, metric
          end
          if metric then
            metric[#metric + 1] = line
          end
        end
      end
      for _, metric in ipairs(order) do
        write(table.concat(metric, "\n") .. "\n")
      end
    end
  end
  write("# EOF\n")
end

return series
