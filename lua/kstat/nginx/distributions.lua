--- Distributions of rows: an exponential histogram, of which any interval has percentiles, and buckets that somebody
-- chose. Each has what it `measures` ("time", "in", "out"), the `ending` of its kstats' names, and `publish(pub, name,
-- kind)`, which returns its kstat of a row; `count(k, n)` counts a whole number there, and `call` does so in the log
-- phase, where the kstat's record and the number stand in place of %s.
local stats = require("kstat.stats")

local M = {}

-- What follows the name of a row in those of its distributions: of times, in buckets beside percentiles, and of sizes
-- that came in and went out.
M.ENDINGS = { ",time", ",le", ",in", ",out" }

--- The name of the row that a kstat belongs to.
function M.row_of(name)
  for _, ending in ipairs(M.ENDINGS) do
    if name:sub(-#ending) == ending then
      return name:sub(1, -#ending - 1)
    end
  end
  return name
end

-- --- exponential histograms -------------------------------------------------------------------------------

local exponential = { measures = "time", ending = ",time", call = "count(%s, %s)" }
exponential.__index = exponential

-- By unit: the least value, the greatest, and the scale, so that a kstat takes 1.5 KB at most. A percentile is wrong by
-- at most 4.5 % at the scale 3, and by 9 % at 2.
local RANGES = { us = { 1000, 128e6, 3 }, bytes = { 64, 2 ^ 30, 2 } }
local ANY = { 1, 2 ^ 30, 2 }

--- Makes an exponential histogram.
-- @tparam table given `unit` of the whole numbers that are counted, `desc`, `class`; `measures` and `ending`; `lowest`,
-- `highest` and `scale`, each as usual for the unit if it is nil
-- @treturn distribution
function M.exponential(given)
  local usual = RANGES[given.unit] or ANY
  given.lowest, given.highest = given.lowest or usual[1], given.highest or usual[2]
  given.scale = given.scale or usual[3]
  return setmetatable(given, exponential)
end

function exponential.publish(self, pub, name, kind)
  return pub:latency({ name = name, class = self.class, unit = self.unit ~= "" and self.unit or "values",
    desc = self.desc, lowest = self.lowest, highest = self.highest, scale = self.scale,
    persistent = kind.persistent, dense = true })
end

function exponential.count(_, k, n)
  return k:add(n)
end

-- --- buckets ------------------------------------------------------------------------------------------------

local buckets = { measures = "time", ending = ",time", call = "update(%s, 0, %s, false)" }
buckets.__index = buckets

--- Makes a statsblob with buckets.
-- @tparam table given `names` of what is measured, which are numbered from 0; `bounds`: the greatest value of each
-- bucket; `unit`, `desc`; `ending`
-- @treturn[1] distribution
-- @treturn[2] nil
-- @treturn[2] string message
function M.buckets(given)
  local names, bounds = given.names, given.bounds
  local most = math.floor((65535 / #names - 127) / 16) -- a blob has at most 65,535 bytes, 16 of them for each bucket
  if #bounds > most then
    return nil, ("buckets: at most %d expected for %s, got %d"):format(most, table.concat(names, ", "), #bounds)
  end
  -- Prometheus counts a value that is a bound below it. A blob counts it above, so its bounds are greater by one.
  local lows = { 0 }
  for i, bound in ipairs(bounds) do
    lows[i + 1] = bound + 1
  end
  local template, message = stats.template("kstat.nginx." .. ngx.md5(table.concat(lows, ",") ..
    table.concat(names, ",")))
  given.template, given.vois = template, {}
  for i, name in ipairs(template and names or {}) do
    local ok
    ok, message = template:add_voi(i - 1, name, "u64", { stats.sum(), stats.crhist64_usr(lows) })
    if not ok then
      return nil, message
    end
    given.vois[name] = { unit = given.unit, desc = given.desc }
  end
  return template and setmetatable(given, buckets), message
end

function buckets.publish(self, pub, name, kind)
  return pub:blob({ name = name, class = kind.class .. "_time", template = self.template, vois = self.vois,
    persistent = kind.persistent })
end

function buckets.count(_, k, n)
  return k:update(0, n)
end

return M
