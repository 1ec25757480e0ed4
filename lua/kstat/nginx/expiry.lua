--- Removing rows in which nothing was counted for a while.
local core = require("kstat.core")
local distributions = require("kstat.nginx.distributions")

local M = {}

-- The classes whose numbers say whether something was counted in a row; "app.": all that begin so.
local CLASSES = { "http", "upstream", "stream", "app_counter", "app_histogram_time", "app." }

-- Whether a row is one of refused labels, or has no labels: those stay.
local function stays(server, name)
  for _, set in pairs({ server.requests, server.upstreams or {}, server.streams or {} }) do
    if set.refuge_name == name then
      return true
    end
  end
  for _, set in ipairs(server.own) do
    if set.refuge_name == name or "app," .. set.statistic == name then
      return true
    end
  end
  return false
end

--- Makes a function that removes what is idle. One worker calls it now and then.
-- @tparam server server
-- @number seconds how long a row may be idle
-- @tparam function rest called often; it may yield
-- @treturn function function(now)
function M.new(server, seconds, rest)
  local idle, is_busy = core.idle(), false
  return function(now)
    if is_busy or server.is_damaged then
      return
    end
    is_busy = true
    local name = idle:begin(server.pub:path()) and ""
    while name do
      name = distributions.row_of(name)
      if name ~= "" and not stays(server, name) then
        server:remove_row(server:set_of(name), name)
      end
      rest()
      name = idle:next(CLASSES, now, seconds)
    end
    is_busy = false
  end
end

return M
