--- The metrics of an nginx as Prometheus reads them, by names that dashboards know.
local core = require("kstat.core")
local gather = require("kstat.nginx.gather")
local names = require("kstat.nginx.names")
local servers = require("kstat.nginx.server")

local M = {}

local PIECE = 40000 -- bytes of text that are sent at once; they take a fraction of a millisecond

-- --- writing ---------------------------------------------------------------------------------------

-- The writer of kstat.core, which gives its text away piece by piece.
local writer = {}
writer.__index = writer

local function sent_if_large(w, size)
  if size > PIECE then
    w.emit(w.metrics:text())
  end
end

function writer.family(self, name, kind, help)
  self.metrics:family(name, kind, help)
end

function writer.sample(self, labels, value)
  sent_if_large(self, self.metrics:add(labels, value))
end

-- A family of one sample without labels.
function writer.single(self, name, kind, help, value)
  self:family(name, kind, help)
  self:sample("", value)
end

-- A histogram of a value of interest of rows. The labels of a row's buckets are made once.
function writer.histogram(self, name, help, list, voi, scale)
  local buckets, bounds, sum, key = voi .. "_buckets", voi .. "_bounds", voi .. "_sum", self.format .. name
  self:family(name, "histogram", help)
  for _, row in ipairs(list) do
    local values = row.values
    if values[buckets] and not row.is_hidden then
      row.buckets[key] = row.buckets[key] or core.metric_buckets(self.format, values[bounds], scale)
      sent_if_large(self, self.metrics:histogram(row.labels, values[buckets], row.buckets[key], values[sum], scale))
    end
  end
end

-- Several statistics of rows in one family. statistics, scale, always: see values() of the writer.
function writer.several(self, name, kind, help, list, statistics, scale, always)
  self:family(name, kind, help)
  for _, row in ipairs(list) do
    if not row.is_hidden then
      sent_if_large(self, self.metrics:values(row.labels, row.values, statistics, scale, always))
    end
  end
end

function writer.numbers(self, name, kind, help, list, statistic)
  self:several(name, kind, help, list, { statistic, "" })
end

function writer.quantiles(self, name, help, list, voi, scale)
  self:several(name, "summary", help, list, { voi .. "_p50", 'quantile="0.5"', voi .. "_p90", 'quantile="0.9"',
    voi .. "_p99", 'quantile="0.99"', voi .. "_p999", 'quantile="0.999"' }, scale)
end

-- Requests by code, of the rows of a class. Codes that did not occur are left out; the five classes, which come first,
-- are not: rates start from 0.
function writer.codes(self, name, help, list)
  local statistics = {}
  for _, code in ipairs(self.codes_of_rows) do
    statistics[#statistics + 1] = code
    statistics[#statistics + 1] = core.metric_labels("code", code)
  end
  self:several(name, "counter", help, list, statistics, nil, 5)
end

-- --- the families ------------------------------------------------------------------------------------

local function requests(w, classes, server)
  local http, times = classes.http or {}, classes.http_time or {}
  w:codes("nginx_http_requests", "requests by status", http)
  w:histogram("nginx_http_request_duration_seconds", "time from the first byte of a request to the end of its answer",
    times, "time", 1e6)
  if server.options.percentiles then
    w:quantiles("nginx_http_request_duration_quantile_seconds", "the same as quantiles since the start", times, "time",
      1e6)
  end
  w:numbers("nginx_http_request_bytes", "counter", "bytes of requests", http, "request_bytes")
  w:numbers("nginx_http_response_bytes", "counter", "bytes of answers", http, "response_bytes")
  local connections = (classes.nginx_connections or {})[1]
  local in_flight = server.in_flight_is_counted and server.values.in_flight or
    connections and connections.values.writing
  if in_flight then
    w:single("nginx_http_requests_in_flight", "gauge", "requests being served", in_flight)
  end
end

local function upstream_families(w, classes)
  local list, times = classes.upstream or {}, classes.upstream_time or {}
  if #list == 0 then
    return
  end
  w:codes("nginx_upstream_requests", "attempts to reach an upstream, by status", list)
  for _, name in ipairs({ "connect", "header", "response" }) do
    w:histogram(("nginx_upstream_%s_duration_seconds"):format(name), "time of an attempt until then", times, name, 1e6)
  end
end

local function cache_families(w, classes)
  local cache = (classes.nginx_cache or {})[1]
  if not cache then
    return
  end
  w:family("nginx_cache_requests", "counter", "answers of caches")
  for _, state in ipairs({ "hit", "miss", "bypass", "expired", "stale", "updating", "revalidated", "scarce" }) do
    w:sample(core.metric_labels("status", state), cache.values[state] or 0)
  end
end

local function stream_families(w, classes)
  local list = classes.stream
  if not list then
    return
  end
  w:codes("nginx_stream_sessions", "sessions by status", list)
  w:histogram("nginx_stream_session_duration_seconds", "time of a session", classes.stream_time or {}, "time", 1e6)
  w:numbers("nginx_stream_received_bytes", "counter", "bytes from clients", list, "received")
  w:numbers("nginx_stream_sent_bytes", "counter", "bytes to clients", list, "sent")
end

-- What nginx, its Lua and this module are, as labels of a 1.
local function build_family(w)
  local number = ngx.config.nginx_version
  local lua = ngx.config.ngx_lua_version
  w:family("nginx_build_info", "gauge", "versions: nginx, its module for Lua, LuaJIT, kstat")
  w:sample(core.metric_labels("version", ("%d.%d.%d"):format(number / 1e6, number / 1e3 % 1e3, number % 1e3),
    "lua_module", ("%d.%d.%d"):format(lua / 1e6, lua / 1e3 % 1e3, lua % 1e3),
    "luajit", jit.version:gsub("^LuaJIT ", ""), "kstat", core.version), 1)
end

local function server_families(w, classes, values)
  local connections = (classes.nginx_connections or {})[1]
  if connections then
    w:family("nginx_connections", "gauge", "connections of clients by state")
    for _, state in ipairs({ "active", "reading", "writing", "waiting" }) do
      w:sample(core.metric_labels("state", state), connections.values[state])
    end
    w:single("nginx_connections_accepted", "counter", "connections that were accepted", connections.values.accepted)
    w:single("nginx_connections_handled", "counter", "connections that were handled", connections.values.handled)
  end
  w:numbers("nginx_shdict_capacity_bytes", "gauge", "sizes of lua_shared_dict", classes.nginx_dict or {}, "capacity")
  w:numbers("nginx_shdict_free_bytes", "gauge", "whole pages of it that are free", classes.nginx_dict or {}, "free")
  w:numbers("nginx_worker_lua_bytes", "gauge", "memory of a worker's Lua", classes.nginx_worker or {}, "lua")
  w:numbers("nginx_cache_size_bytes", "gauge", "bytes that files of a cache take", classes.nginx_cache_size or {},
    "size")
  w:numbers("nginx_cache_files", "gauge", "files of a cache", classes.nginx_cache_size or {}, "files")
  w:single("nginx_workers", "gauge", "workers that are configured", ngx.worker.count())
  build_family(w)
  w:single("nginx_worker_restarts", "counter", "workers started in place of one that ended", values.restarts)
  w:single("nginx_reloads", "counter", "reloads of the configuration", values.reloads)
  w:single("kstat_rows", "gauge", "sets of labels that have a row", values.rows)
  w:single("kstat_rows_refused", "counter", "requests whose labels got no row", values.rows_refused)
  w:family("kstat_values_refused", "counter", "values that could not be counted, by reason")
  for _, reason in ipairs(servers.REASONS) do
    w:sample(core.metric_labels("reason", reason), values["refused_" .. reason])
  end
end

-- The metric that a row belongs to: its only number, or its only distribution. The kstat's name may have been cut.
local function metric_of(row)
  local name = next(row.values)
  for statistic in pairs(row.values) do
    name = statistic:match("^(.*)_buckets$") or name
  end
  return name
end

-- The families of one's own metrics: rows of one metric are one family, wherever they are in the list.
local function by_metric(list, suffix)
  local order, metrics = {}, {}
  for _, row in ipairs(list) do
    local name = metric_of(row)
    if name and not metrics[name] then
      metrics[name] = {}
      order[#order + 1] = name
    end
    table.insert(metrics[name] or {}, row)
  end
  local i = 0
  return function()
    i = i + 1
    local name = order[i]
    if name then
      local meta = metrics[name][1].k:meta(name .. suffix) or {}
      local help = (meta.description or ""):gsub(":? ?sum of the values$", "")
      return name, metrics[name], meta.unit or "", help ~= "" and help or name:gsub("_", " ")
    end
  end
end

-- The base unit that stored values have, and how many of them are one of it: 1 "jobs", 1000000 "seconds" of "us".
local STEPS = { ms = 1e3, us = 1e6, ns = 1e9 }

local function base_unit(unit)
  local step, of = unit:match("^(0%.0*1) ?(.*)$")
  if step then
    return of, math.floor(1 / tonumber(step) + 0.5)
  end
  return STEPS[unit] and "seconds" or unit, STEPS[unit] or 1
end

-- A family's name, and its type: a counter that another module's programs know without "_total" keeps its name.
local function counter_family(server, name, unit)
  local family = server.families[name] or names.with_unit(name:gsub("_total$", ""), unit) .. "_total"
  local stem = family:match("^(.*)_total$")
  return stem or family, stem and "counter" or "untyped"
end

local function own_families(w, classes, server)
  for name, list, unit, help in by_metric(classes.app_counter or {}, "") do
    local base, steps = base_unit(unit)
    local family, kind = counter_family(server, name, base)
    w:several(family, kind, help, list, { name, "" }, steps)
  end
  for name, list, unit, help in by_metric(classes.app_gauge or {}, "") do
    w:numbers(server.families[name] or names.with_unit(name, unit), "gauge", help, list, name)
  end
  for name, list, unit, help in by_metric(classes.app_histogram_time or {}, "_sum") do
    local base, steps = base_unit(unit)
    local family = server.families[name] or names.with_unit(name, base)
    w:histogram(family, help, list, name, steps)
    if server.has_digest[name] then -- what buckets alone say is too coarse
      w:quantiles(family .. "_quantile", help, list, name, steps)
    end
  end
  for _, row in ipairs(classes.app_queue or {}) do
    local name = row.name:gsub("^app,", "")
    w:single(name .. "_waiting", "gauge", "entered, and not yet served", row.values.wcnt)
    w:single(name .. "_active", "gauge", "being served", row.values.rcnt)
    w:single(name .. "_done", "counter", "served", row.values.reads)
    w:single(name .. "_bytes", "counter", "bytes of what was served", row.values.nread)
    w:single(name .. "_waiting_seconds", "counter", "time spent waiting, of all together", row.values.wlentime)
    w:single(name .. "_active_seconds", "counter", "time spent being served, of all together", row.values.rlentime)
  end
end

-- All that was refused, as the one counter of another module.
local function errors(w, name, values)
  local sum = values.rows_refused
  for _, reason in ipairs(servers.REASONS) do
    sum = sum + values["refused_" .. reason]
  end
  w:single(name:gsub("_total$", ""), name:find("_total$") and "counter" or "untyped", "values that were refused", sum)
end

-- Makes a function that lets other requests go on, if this one kept the worker busy for a millisecond.
local function rester()
  local since = core.hrtime()
  return function()
    if core.hrtime() - since > 0.001 then
      ngx.sleep(0.001) -- 0 yields too, but nginx without a patch warns about it
      since = core.hrtime()
    end
  end
end

-- What is kept of the rows from one scrape to the next. Where two overlap, the second has nothing of it.
local function take_kept(server)
  if server.scraped_since and ngx.now() - server.scraped_since < 60 then
    return {}
  end
  server.scraped_since = ngx.now()
  server.kept_rows = server.kept_rows or {}
  return server.kept_rows
end

-- How many sets of labels have a row.
local function count_rows(classes)
  local rows = 0
  for _, class in ipairs({ "http", "upstream", "stream", "app_counter", "app_gauge", "app_histogram_time" }) do
    for _, row in ipairs(classes[class] or {}) do
      local owner = row.owner and row.labels ~= ""
      rows = rows + ((row.is_used or owner and not row.labels:find('="other"', 1, true)) and 1 or 0)
    end
  end
  return rows
end

--- Renders all families.
-- @tparam server server
-- @tparam chain ks of this nginx's kstats, up to date
-- @string format "prometheus" or "openmetrics"
-- @tparam function emit called with each piece of text; it may yield
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message: the kstats are not there, and nothing was emitted
function M.render(server, ks, format, emit)
  local started = core.hrtime()
  local kept, rest = take_kept(server), rester()
  local classes = gather.read(kept, ks, server.options.name, rest)
  local values
  for _, row in ipairs(classes.nginx or {}) do
    if row.name == "nginx,connections" then
      classes.nginx_connections = { row }
    else
      values = row.values
    end
  end
  if values then
    values.rows = count_rows(classes)
    server.rows:set(values.rows)
    server.values = values
    local w = setmetatable({ metrics = core.metrics(format), format = format, codes_of_rows = server.codes,
      emit = function(text) emit(text) rest() end }, writer)
    if server.requests then
      requests(w, classes, server)
      upstream_families(w, classes)
      cache_families(w, classes)
      stream_families(w, classes)
      server_families(w, classes, values)
    end
    own_families(w, classes, server)
    if server.options.errors then
      errors(w, server.options.errors, values)
    end
    w:single("kstat_scrape_seconds", "gauge", "time that this took", core.hrtime() - started)
    w.emit(w.metrics:text(true))
  end
  if kept == server.kept_rows then
    server.scraped_since = nil
  end
  return values and true, "this worker can read no kstats of " .. server.options.name .. " in " .. server.pub:path()
end

return M
