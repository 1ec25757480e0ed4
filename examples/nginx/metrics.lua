-- Requests of nginx as kstats: by class of status, and their service times as a queue.
--
-- nginx.conf calls these functions. The master makes the segment, and its workers share it; after a reload the counts
-- continue. No function here reads ngx.var, because one such read costs more than all the rest.
-- luacheck: globals ngx
local publish = require("kstat.publish")

local M = {}

local requests, service, in_flight
local class = {}

-- Called by init_by_lua: in the master, and again in the same process at each reload.
function M.init()
  local pub = assert(publish.publish("nginx"))
  requests = assert(pub:named({
    name = "requests",
    class = "net",
    statistics = {
      { name = "1xx", desc = "responses with an informational status" },
      { name = "2xx", desc = "successful responses" },
      { name = "3xx", desc = "redirections" },
      { name = "4xx", desc = "errors of clients" },
      { name = "5xx", desc = "errors of the server" },
      { name = "in_flight", type = "int64", kind = "gauge", parts = true, desc = "requests being served" },
    },
  }))
  service = assert(pub:io({ name = "service", class = "net" }))
end

-- Called by init_worker_by_lua: removes the requests of killed workers from the number in service, then opens this
-- worker's own counters.
function M.start()
  for _ = 1, requests:reclaim("in_flight") do
    service:runq_exit()
  end
  in_flight = requests:counter("in_flight")
  for i = 1, 5 do
    class[i] = requests:counter(i .. "xx")
  end
end

-- Called by rewrite_by_lua: a request begins to be served.
function M.enter()
  local ctx = ngx.ctx
  if not ctx.kstat_entered then -- an internal redirect calls this again
    ctx.kstat_entered = true
    service:runq_enter()
    in_flight:add(1)
  end
end

-- Called by log_by_lua: the request ends. For some requests, such as malformed ones, enter() was not called.
function M.leave()
  local counter = class[(ngx.status - ngx.status % 100) / 100]
  if counter then
    counter:add()
  end
  if ngx.ctx.kstat_entered then
    local method = ngx.req.get_method()
    in_flight:add(-1)
    service:done((method == "POST" or method == "PUT") and "write" or "read")
  end
end

return M
