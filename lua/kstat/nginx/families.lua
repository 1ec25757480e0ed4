--- The metrics of an nginx as Prometheus reads them, by names that dashboards know: a table of names, by which the rows
-- are written in C as they lie in the segment (metrics/rows.h).
local core = require("kstat.core")
local names = require("kstat.nginx.names")
local servers = require("kstat.nginx.server")

local M = {}

local ALWAYS = 5 -- codes of which also 0 is shown, the classes, so that rates start from 0

-- A list of names, as core.metric_names() takes them.
local list_methods = {}
local list_meta = { __index = list_methods }

-- Adds a name. A family that is not given with its ending is a counter by its type alone.
function list_methods.add(self, family, statistic, kind, labels, per)
  self[#self + 1] = { family = family, stat = statistic, per = per, labels = labels, type = kind }
  return self
end

function list_methods.label(self, family, statistic, kind, label, value)
  return self:add(family, statistic, kind, core.metric_labels(label, value or statistic))
end

-- The same of several statistics, whose names are the values of the label.
function list_methods.each(self, family, statistics, kind, label)
  for _, statistic in ipairs(statistics) do
    self:label(family, statistic, kind, label)
  end
  return self
end

function list_methods.codes(self, family, codes)
  for i, code in ipairs(codes) do
    self:label(family, (i > ALWAYS and "?" or "") .. code, "counter", "code", code)
  end
  return self
end

local function list()
  return setmetatable({}, list_meta)
end

-- --- the groups ---------------------------------------------------------------------------------------

-- Names by the classes of rows, of those of requests first.
local function requests(server, groups)
  groups.http = list():codes("nginx_http_requests", server.codes)
    :add("nginx_http_request_bytes", "request_bytes", "counter")
    :add("nginx_http_response_bytes", "response_bytes", "counter")
  groups.http_time = list():add("nginx_http_request_duration_seconds",
    server.options.buckets and "time" or "buckets", "histogram", "", 1e6)
  groups.http_in = list():add("nginx_http_request_size_bytes", "buckets", "histogram")
  groups.http_out = list():add("nginx_http_response_size_bytes", "buckets", "histogram")
  groups.upstream, groups.upstream_time = list():codes("nginx_upstream_requests", server.codes), list()
  for _, time in ipairs({ "connect", "header", "response" }) do
    groups.upstream_time:add(("nginx_upstream_%s_duration_seconds"):format(time), time, "histogram", "", 1e6)
  end
  groups.nginx_cache = list():each("nginx_cache_requests", { "hit", "miss", "bypass", "expired", "stale", "updating",
    "revalidated", "scarce" }, "counter", "status")
  groups.nginx_dict = list():add("nginx_shdict_capacity_bytes", "capacity", "gauge")
    :add("nginx_shdict_free_bytes", "free", "gauge")
  groups.stream = list():codes("nginx_stream_sessions", server.codes)
    :add("nginx_stream_received_bytes", "received", "counter"):add("nginx_stream_sent_bytes", "sent", "counter")
  groups.stream_time = list():add("nginx_stream_session_duration_seconds", "time", "histogram", "", 1e6)
  groups.nginx_cache_size = list():add("nginx_cache_size_bytes", "size", "gauge")
    :add("nginx_cache_files", "files", "gauge")
  groups.nginx_worker = list():add("nginx_worker_lua_bytes", "lua", "gauge")
  local once = groups.nginx:each("nginx_connections", { "active", "reading", "writing", "waiting" }, "gauge", "state")
    :add("nginx_connections_accepted", "accepted", "counter")
    :add("nginx_connections_handled", "handled", "counter")
    :add("nginx_http_requests_in_flight", server.in_flight_is_counted and "in_flight" or "writing", "gauge")
    :add("nginx_worker_restarts", "restarts", "counter")
    :add("nginx_reloads", "reloads", "counter")
    :add("kstat_rows_refused", "rows_refused", "counter")
  for _, reason in ipairs(servers.REASONS) do
    once:label("kstat_values_refused", "refused_" .. reason, "counter", "reason", reason)
  end
end

-- A family that is named in full, and its type: a counter that other programs know without "_total" has none.
local function with_type(family, kind)
  local stem = family:match("^(.*)_total$")
  return kind == "counter" and stem or family, kind == "counter" and not stem and "untyped" or kind
end

-- One's own metrics: each is called as its statistic with its unit, unless it has another name.
local function own(server, groups)
  local of_class = { app_counter = "counter", app_gauge = "gauge", app_histogram = "histogram" }
  groups.app_counter, groups.app_gauge, groups.app_histogram = list(), list(), list()
  groups.app_histogram_time = list()
  for _, set in ipairs(server.own) do
    local kind, per = of_class[set.kind.class], set.scale or 1
    local group = groups[kind == "histogram" and "app_histogram_time" or set.kind.class]
    if set.kind.times_class and not set.has_buckets then
      groups[set.kind.times_class] = list():add(set.family or names.with_unit(set.statistic, set.unit), "buckets",
        "histogram", "", per)
    elseif set.family then
      local family, its_type = with_type(set.family, kind)
      group:add(family, set.statistic, its_type, "", per)
    end
  end
  groups.app_counter:add("*", "*", "counter")
  groups.app_gauge:add("*", "*", "gauge")
  groups.app_histogram_time:add("*", "*", "histogram")
end

local function queue(name)
  return list():add(name .. "_bytes", "nread", "counter"):add(name .. "_done", "reads", "counter")
    :add(name .. "_waiting_seconds", "wlentime", "counter", "", 1e9)
    :add(name .. "_active_seconds", "rlentime", "counter", "", 1e9)
    :add(name .. "_waiting", "wcnt", "gauge"):add(name .. "_active", "rcnt", "gauge")
end

-- The classes whose rows count as rows of labels.
local COUNTED = { "http", "upstream", "stream", "app_counter", "app_gauge", "app_histogram" }

-- The table of names, as this nginx is set up.
local function table_of(server)
  local groups, result, is_counted = { nginx = list() }, {}, {}
  if server.requests then
    requests(server, groups)
  end
  if server.options.errors then
    local family, kind = with_type(server.options.errors, "counter")
    groups.nginx:add(family, "refused", kind)
  end
  own(server, groups)
  local function add(operand, class, group)
    result[#result + 1] = { selector = core.selector_of(operand, class), labels = {}, names = group }
  end
  for _, class in ipairs(COUNTED) do
    is_counted[class] = true
    add("", class, groups[class] or list())
  end
  for class, group in pairs(groups) do
    if not is_counted[class] then
      add("", class, group)
    end
  end
  for name in pairs(server.queues) do
    add(":0:app," .. name, "app_queue", queue(name))
  end
  return core.metric_names(result)
end

-- --- writing -----------------------------------------------------------------------------------------

--- Makes a function that lets other requests go on, if this one kept the worker busy for most of a millisecond.
-- @treturn function
function M.rester()
  local since = core.hrtime()
  return function()
    if core.hrtime() - since > 0.0007 then
      ngx.sleep(0.001) -- 0 yields too, but nginx without a patch warns about it
      since = core.hrtime()
    end
  end
end

local IDLE = 60 -- seconds, after which a scrape that was ended from outside gives up its memory

--- Gives up the memory of scrapes that nobody goes on with.
-- @tparam server server
function M.rest(server)
  for exposition, last in pairs(server.scrapes) do
    if ngx.now() - last > IDLE then
      server.scrapes[exposition] = nil
      exposition:close()
    end
  end
end

-- A version as its parts are numbered: 1026003 is 1.26.3.
local function version(number)
  return ("%d.%d.%d"):format(number / 1e6, number / 1e3 % 1e3, number % 1e3)
end

-- What is not in the segment, and the end of the text.
local function ending(server, format, started)
  local metrics = core.metrics(format)
  if server.requests then
    metrics:family("nginx_workers", "gauge", "workers that are configured")
    metrics:add("", ngx.worker.count())
    metrics:family("nginx_build_info", "gauge", "versions: nginx, its module for Lua, LuaJIT, kstat")
    metrics:add(core.metric_labels("version", version(ngx.config.nginx_version), "lua_module",
      version(ngx.config.ngx_lua_version), "luajit", jit.version:gsub("^LuaJIT ", ""), "kstat", core.version), 1)
    metrics:family("kstat_rows", "gauge", "sets of labels that have a row")
    metrics:add("", tonumber(server.rows.cell[0]))
  end
  metrics:family("kstat_scrape_seconds", "gauge", "time that this took")
  metrics:add("", core.hrtime() - started)
  return metrics:text(true)
end

--- Renders all families.
-- @tparam server server
-- @string format "prometheus" or "openmetrics"
-- @tparam function emit called with each piece of text; it may yield. What it returns says whether to go on
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message: the kstats cannot be read, and nothing was emitted
function M.render(server, format, emit)
  local started, rest = core.hrtime(), M.rester()
  local exposition, message = core.rows(server.pub:path(), server.options.name, table_of(server), #COUNTED, format)
  if not exposition then
    return nil, message
  end
  local is_begun, text, is_heard = false, "", true
  while text and is_heard do
    if text ~= "" and not is_begun then
      is_begun = true
      server.rows:set(exposition:rows())
    end
    is_heard = text == "" or emit(text)
    server.scrapes[exposition] = ngx.now()
    rest()
    text, message = exposition:step()
  end
  server.scrapes[exposition] = nil
  exposition:close()
  if message and not is_begun then
    return nil, message
  end
  return true, not message and is_heard and emit(ending(server, format, started))
end

return M
