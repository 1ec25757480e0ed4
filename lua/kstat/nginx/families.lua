--- The metrics of an nginx as Prometheus reads them, by names that dashboards know.
local core = require("kstat.core")
local names = require("kstat.nginx.names")

local M = {}

local PIECE = 16384 -- bytes of a piece; it takes well below a millisecond

local function escape(text)
  return (text:gsub('[\\"\n]', { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n" }))
end

local function number(n)
  return n % 1 == 0 and n > -1e15 and n < 1e15 and ("%.0f"):format(n) or ("%.17g"):format(n)
end

-- --- reading ---------------------------------------------------------------------------------------

-- A kstat: its texts as labels, and its other statistics by name in a table that holds nothing else.
local function read(k)
  local labels, values, used, idle = {}, {}, false, true
  for statistic, value in k:stats() do
    if type(value) == "string" then
      labels[#labels + 1] = ('%s="%s"'):format(statistic, escape(value))
      used = used or value ~= "other"
    else
      values[statistic] = value
      idle = idle and value == 0
    end
  end
  -- The row of refused labels is shown once something was refused.
  return { k = k, name = k.name, values = values, labels = table.concat(labels, ","),
    is_hidden = #labels > 0 and not used and idle }
end

-- All rows by class, and the times of each.
local function gather(sample, name)
  local classes, by_name = {}, {}
  for _, k in ipairs(sample:select(name .. ":0")) do
    local row = read(k)
    by_name[k.name] = row
    classes[k.class] = classes[k.class] or {}
    table.insert(classes[k.class], row)
  end
  for class, list in pairs(classes) do
    for _, row in ipairs(class:find("_time$") and list or {}) do
      local owner = by_name[row.name:gsub(",time$", "")]
      if owner and owner ~= row then
        row.labels = owner.labels
        row.is_hidden = owner.is_hidden
      end
    end
  end
  return classes
end

-- --- writing ---------------------------------------------------------------------------------------

local writer_methods = {}
local writer_meta = { __index = writer_methods }

function writer_methods.write(self, text)
  self.size = self.size + #text
  self[#self + 1] = text
  if self.size >= PIECE then
    self:flush()
  end
end

function writer_methods.flush(self)
  self.emit(table.concat(self))
  for i = #self, 1, -1 do
    self[i] = nil
  end
  self.size = 0
end

-- The head of a family; its samples follow. Each may come once only.
function writer_methods.family(self, name, kind, help)
  local title = kind == "counter" and not self.is_openmetrics and name .. "_total" or name
  if help and help ~= "" then
    self:write(("# HELP %s %s\n"):format(title, (help:gsub("[\\\n]", { ["\\"] = "\\\\", ["\n"] = "\\n" }))))
  end
  self:write(("# TYPE %s %s\n"):format(title, kind == "untyped" and self.is_openmetrics and "unknown" or kind))
end

function writer_methods.sample(self, name, labels, value)
  if labels == "" then
    self:write(("%s %s\n"):format(name, number(value)))
  else
    self:write(("%s{%s} %s\n"):format(name, labels, number(value)))
  end
end

local function join(a, b)
  return a ~= "" and b ~= "" and a .. "," .. b or a .. b
end

-- A family of one sample without labels.
function writer_methods.single(self, name, kind, help, value)
  self:family(name, kind, help)
  self:sample(kind == "counter" and name .. "_total" or name, "", value)
end

-- A histogram of a value of interest of rows.
function writer_methods.histogram(self, name, help, list, voi, scale)
  self:family(name, "histogram", help)
  for _, row in ipairs(list) do
    local counts, bounds, total = row.values[voi .. "_buckets"], row.values[voi .. "_bounds"], 0
    if counts and not row.is_hidden then
      for i = 1, #counts do
        total = total + counts[i]
        -- A bucket begins one behind the greatest value of the last one.
        local le = bounds[i + 1] and ("%.10g"):format((bounds[i + 1] - 1) / scale) or "+Inf"
        self:sample(name .. "_bucket", join(row.labels, ('le="%s"'):format(le)), total)
      end
      self:sample(name .. "_sum", row.labels, row.values[voi .. "_sum"] / scale)
      self:sample(name .. "_count", row.labels, total)
    end
  end
end

local QUANTILES = { p50 = "0.5", p90 = "0.9", p99 = "0.99", p999 = "0.999" }

function writer_methods.quantiles(self, name, help, list, voi, scale)
  if not (list[1] and list[1].values[voi .. "_p50"]) then
    return
  end
  self:family(name, "summary", help)
  for _, row in ipairs(list) do
    for _, p in ipairs({ "p50", "p90", "p99", "p999" }) do
      local value = row.values[voi .. "_" .. p]
      if value and not row.is_hidden then
        self:sample(name, join(row.labels, ('quantile="%s"'):format(QUANTILES[p])), value / scale)
      end
    end
  end
end

-- Requests by code, of the rows of a class.
function writer_methods.codes(self, name, help, list)
  self:family(name, "counter", help)
  for _, row in ipairs(list) do
    for _, code in ipairs(row.is_hidden and {} or self.codes_of_rows) do
      local value = row.values[code]
      -- Codes that did not occur are left out, classes not: rates start from 0.
      if value and (value > 0 or code:find("xx$")) then
        self:sample(name .. "_total", join(row.labels, ('code="%s"'):format(code)), value)
      end
    end
  end
end

function writer_methods.numbers(self, name, kind, help, list, statistic)
  if not (list[1] and list[1].values[statistic]) then
    return
  end
  self:family(name, kind, help)
  for _, row in ipairs(list) do
    if row.values[statistic] and not row.is_hidden then
      self:sample(kind == "counter" and name .. "_total" or name, row.labels, row.values[statistic])
    end
  end
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
    w:sample("nginx_cache_requests_total", ('status="%s"'):format(state), cache.values[state] or 0)
  end
end

local function server_families(w, classes, values)
  local connections = (classes.nginx_connections or {})[1]
  if connections then
    w:family("nginx_connections", "gauge", "connections of clients by state")
    for _, state in ipairs({ "active", "reading", "writing", "waiting" }) do
      w:sample("nginx_connections", ('state="%s"'):format(state), connections.values[state])
    end
    w:single("nginx_connections_accepted", "counter", "connections that were accepted", connections.values.accepted)
    w:single("nginx_connections_handled", "counter", "connections that were handled", connections.values.handled)
  end
  w:numbers("nginx_shdict_capacity_bytes", "gauge", "sizes of lua_shared_dict", classes.nginx_dict or {}, "capacity")
  w:numbers("nginx_shdict_free_bytes", "gauge", "whole pages of it that are free", classes.nginx_dict or {}, "free")
  w:numbers("nginx_worker_lua_bytes", "gauge", "memory of a worker's Lua", classes.nginx_worker or {}, "lua")
  w:single("nginx_worker_restarts", "counter", "workers started in place of one that ended", values.restarts)
  w:single("nginx_reloads", "counter", "reloads of the configuration", values.reloads)
  w:single("kstat_rows", "gauge", "sets of labels that have a row", values.rows)
  w:single("kstat_rows_refused", "counter", "requests whose labels got no row", values.rows_refused)
  w:single("kstat_values_refused", "counter", "values that could not be counted", values.values_refused)
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
      return name, metrics[name], meta.unit or "", help
    end
  end
end

local function own_families(w, classes, server)
  for name, list, unit, help in by_metric(classes.app_counter or {}, "") do
    w:numbers(names.with_unit(name:gsub("_total$", ""), unit), "counter", help, list, name)
  end
  for name, list, unit, help in by_metric(classes.app_gauge or {}, "") do
    w:numbers(names.with_unit(name, unit), "gauge", help, list, name)
  end
  for name, list, unit, help in by_metric(classes.app_histogram_time or {}, "_sum") do
    local scale = 1
    if unit == "us" then
      scale, unit = 1e6, "seconds"
    elseif unit:find("^0%.000001 ") then
      scale, unit = 1e6, unit:sub(10)
    end
    local family = names.with_unit(name, unit)
    w:histogram(family, help, list, name, scale)
    if server.has_digest and server.has_digest[name] then -- what buckets alone say is too coarse
      w:quantiles(family .. "_quantile", help, list, name, scale)
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
  local classes = gather(ks:sample(server.options.name .. ":0"), server.options.name)
  for _, row in ipairs(classes.nginx or {}) do
    if row.name == "nginx,connections" then
      classes.nginx_connections = { row }
    else
      server.values = row.values
    end
  end
  if not server.values then
    return nil, "the kstats of " .. server.options.name .. " are not there"
  end
  local rows = 0
  for _, class in ipairs({ "http", "upstream", "app_counter", "app_gauge", "app_histogram_time" }) do
    for _, row in ipairs(classes[class] or {}) do
      rows = rows + (row.labels:gsub('"other"', ""):find('"') and 1 or 0)
    end
  end
  server.rows:set(rows)
  server.values.rows = rows
  local w = setmetatable({ size = 0, emit = emit, is_openmetrics = format == "openmetrics",
    codes_of_rows = server.codes }, writer_meta)
  requests(w, classes, server)
  upstream_families(w, classes)
  cache_families(w, classes)
  server_families(w, classes, server.values)
  own_families(w, classes, server)
  w:single("kstat_scrape_seconds", "gauge", "time that this took", (core.hrtime() - started))
  if w.is_openmetrics then
    w:write("# EOF\n")
  end
  w:flush()
  return true
end

return M
