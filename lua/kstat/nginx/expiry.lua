--- Removing rows in which nothing was counted for a while.
local M = {}

local CLASSES = { http = true, upstream = true, app_counter = true, app_histogram = true, http_time = true,
  upstream_time = true, app_histogram_time = true, stream = true, stream_time = true }

-- What a kstat has counted, and its labels' row: a kstat of times belongs to the row that it is called after.
local function look(k)
  local sum, is_other = 0, true
  for statistic, value in k:stats() do
    if type(value) == "string" then
      is_other = is_other and value == "other"
    elseif type(value) == "number" and not statistic:find("_p%d+$") then
      sum = sum + value
    end
  end
  return sum, is_other, (k.name:gsub(",time$", ""))
end

--- Makes a function that removes what is idle. One worker calls it now and then.
-- @tparam server server
-- @tparam function open_chain returns a chain of this nginx's kstats
-- @tparam number seconds how long a row may be idle
-- @treturn function function(now)
function M.new(server, open_chain, seconds)
  local seen = {}
  return function(now)
    local ks = open_chain()
    if not ks then
      return
    end
    local sums, kept = {}, {}
    for _, k in ipairs(ks:sample():select(server.options.name .. ":0")) do
      if CLASSES[k.class] then
        local sum, is_other, name = look(k)
        sums[name] = (sums[name] or 0) + sum
        kept[name] = kept[name] or is_other and not k.class:find("_time$")
      end
    end
    for name, sum in pairs(sums) do
      if not seen[name] or seen[name].sum ~= sum then
        seen[name] = { sum = sum, since = now }
      elseif now - seen[name].since >= seconds and not kept[name] then
        server:remove_row(name)
      end
    end
    for name in pairs(seen) do
      if not sums[name] then
        seen[name] = nil
      end
    end
  end
end

return M
