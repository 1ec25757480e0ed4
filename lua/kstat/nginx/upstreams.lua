--- Attempts to reach upstreams, and what caches answered.
local distributions = require("kstat.nginx.distributions")
local rows = require("kstat.nginx.rows")

local M = {}

local TIMES = { "connect", "header", "response" }
local STATES = { "miss", "bypass", "expired", "stale", "updating", "revalidated", "scarce", "hit" }

-- The lists of nginx's variables: ", " between the attempts of one group of servers, " : " between groups.
local function split(text)
  local list = {}
  for part in (text:gsub(" : ", ", ") .. ", "):gmatch("(.-), ") do
    list[#list + 1] = part
  end
  return list
end
M.split = split

--- Makes the set of rows of upstreams.
-- @treturn[1] set
-- @treturn[2] nil
-- @treturn[2] string message
function M.rows(server, options, statistics)
  local times, message = distributions.buckets({ names = TIMES, bounds = options.bounds, unit = "us",
    desc = "time of an attempt until then" })
  if not times then
    return nil, message
  end
  return rows.new(server, { prefix = "up", class = "upstream", labels = { "upstream", "addr" }, statistics = statistics,
    distributions = { times } })
end

-- Counts one attempt; a time that is no number was not reached.
local function count(set, upstream, addr, status, times)
  local by_addr = set.top[upstream]
  local row = by_addr and by_addr[addr]
  if not row then
    local may_remember
    row, may_remember = set:find({ upstream, addr })
    if may_remember then
      set.top[upstream] = set.top[upstream] or {}
      set.top[upstream][addr] = row
    end
  end
  if row.place[0] ~= row.crtime or row.times_place[0] ~= row.times_crtime then
    set:renew(row)
  end
  status = tonumber(status) or 0
  local counter = row.codes[status] or row.classes[status - status % 100] or row.rest
  counter:add()
  for i = 1, 3 do
    local seconds = tonumber(times[i])
    if seconds then
      row.times:update(i - 1, rows.microseconds(seconds))
    end
  end
end

-- The module of lua-upstream-nginx-module, which OpenResty has and Debian's nginx has not.
local has_names, names = pcall(require, "ngx.upstream")
local current_name = has_names and names.current_upstream_name
M.knows_names = current_name and true or false

--- The name of the group of servers to which a request was passed: as the variable $kstat_upstream has it, or else as
-- nginx knows it, where its module ngx.upstream is there. Lua cannot read $proxy_host, so a `map` must copy it.
-- @tparam cdata r the request
-- @tparam function read function(r, variable)
-- @treturn string "" if neither is there
function M.name(r, read)
  local name = read(r, "kstat_upstream")
  return name ~= "" and name or current_name and current_name() or ""
end

--- Makes the function that counts the attempts of a request.
-- @tparam server server
-- @tparam function read function(r, variable)
-- @treturn function function(r)
function M.counter(server, read)
  local set = server.upstreams
  local has_warned = false
  return function(r)
    local upstream = M.name(r, read)
    if upstream == "" and not has_warned then
      has_warned = true
      ngx.log(ngx.WARN, "kstat: upstreams have no names without the line: ",
        "map $proxy_host $kstat_upstream { default $proxy_host; }")
    end
    local addrs, statuses = split(read(r, "upstream_addr")), split(read(r, "upstream_status"))
    local connect, header, response = split(read(r, "upstream_connect_time")), split(read(r, "upstream_header_time")),
      split(read(r, "upstream_response_time"))
    for i, addr in ipairs(addrs) do
      count(set, upstream, addr, statuses[i], { connect[i] or "", header[i] or "", response[i] or "" })
    end
  end
end

--- Makes the counters of what caches answered, by nginx's words for it.
-- @treturn {[string]=counter}
function M.cache(server)
  local counters = {}
  for _, state in ipairs(STATES) do
    counters[state:upper()] = server.cache:counter(state)
  end
  return counters
end

--- Publishes these counters.
-- @treturn[1] kstat
-- @treturn[2] nil
-- @treturn[2] string message
function M.publish_cache(server)
  local statistics = {}
  for i, state in ipairs(STATES) do
    statistics[i] = { name = state, desc = "answers of caches" }
  end
  return server.pub:named({ name = "nginx,cache", class = "nginx_cache", shards = rows.SHARDS, statistics = statistics,
    persistent = server.options.persistent })
end

return M
