--- top: any statistics, live, by their rate per second; a window with keys, or plain reports into a pipe.
-- SPDX-License-Identifier: MIT
local options = require("kstat.options")
local statistics = require("kstat.top.views.statistics")
local tool = require("kstat.tool")
local top = require("kstat.top")

local report = statistics.sections[1]

-- --- the command ------------------------------------------------------------------------------------

local function window(given)
  local ok, message = top.run({
    views = require("kstat.top.views"), interval = given.interval, count = given.count, filter = given.filter,
    open = function(only, published) return tool.open(given, only, published) end,
  })
  return ok and 0 or tool.stop(3, message)
end

local function main()
  local given = options.read(report.declared, arg)
  local plain = not given or given.help or given.batch or given.json or given.csv or given.openmetrics
  if plain or not top.possible() then
    return report:run(arg)
  end
  return window(given)
end

return tool.run("top", main)
