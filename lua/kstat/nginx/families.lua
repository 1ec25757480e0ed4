--- The metrics of an nginx as Prometheus reads them, by names that dashboards know.
local core = require("kstat.core")
local gather = require("kstat.nginx.gather")
local names = require("kstat.nginx.names")

local M = {}

local PIECE = 1000 -- texts and numbers of a piece; they take a fraction of a millisecond

-- A number as table.concat() takes it: that writes 14 digits.
local function number(n)
  if n % 1 == 0 and n > -1e14 and n < 1e14 then
    return n
  elseif n == math.huge or n == -math.huge then
    return n > 0 and "+Inf" or "-Inf"
  end
  return ("%.17g"):format(n)
end

-- The same of a value that is kept in parts of its unit.
local function scaled(n, scale)
  return scale == 1 and number(n) or n < 1e18 and n / scale or number(n / scale)
end

-- --- writing ---------------------------------------------------------------------------------------

local writer_methods = {}
local writer_meta = { __index = writer_methods }

-- Each line begins with the end of the one before.
local function line(name, labels, own)
  labels = labels ~= "" and own ~= "" and labels .. "," .. own or labels .. own
  return labels == "" and ("\n%s "):format(name) or ("\n%s{%s} "):format(name, labels)
end

function writer_methods.write(self, text)
  self.n = self.n + 1
  self[self.n] = text
end

-- A sample: its line up to the value, and the value.
function writer_methods.put(self, before, value)
  local n = self.n + 2
  self[n - 1], self[n] = before, value
  self.n = n
  if n >= PIECE then
    self:flush()
  end
end

function writer_methods.flush(self)
  local text = table.concat(self, "", 1, self.n)
  self.n = 0
  self.emit(self.has_begun and text or text:sub(2))
  self.has_begun = true
end

-- The head of a family; its samples follow. Each may come once only.
function writer_methods.family(self, name, kind, help)
  local title = kind == "counter" and not self.is_openmetrics and name .. "_total" or name
  if help and help ~= "" then
    self:write(("\n# HELP %s %s"):format(title, (help:gsub("[\\\n]", { ["\\"] = "\\\\", ["\n"] = "\\n" }))))
  end
  self:write(("\n# TYPE %s %s"):format(title, kind == "untyped" and self.is_openmetrics and "unknown" or kind))
end

function writer_methods.sample(self, name, labels, value)
  self:put(line(name, labels, ""), number(value))
end

-- A family of one sample without labels.
function writer_methods.single(self, name, kind, help, value)
  self:family(name, kind, help)
  self:sample(kind == "counter" and name .. "_total" or name, "", value)
end

-- The lines of a row for a family, made once. own: the label that each has beside those of the row, by its key.
local function lines_of(row, name, own)
  local lines = row.lines[name]
  if not lines then
    lines = {}
    for key, label in pairs(own) do
      lines[key] = line(name, row.labels, label)
    end
    row.lines[name] = lines
  end
  return lines
end

-- The lines of a row's buckets, and its sum and count.
local function lines_of_histogram(row, name, bounds, n, scale)
  local lines = row.lines[name]
  if not lines then
    lines = { sum = line(name .. "_sum", row.labels, ""), count = line(name .. "_count", row.labels, "") }
    for i = 1, n do
      -- A bucket begins one behind the greatest value of the last one.
      local le = bounds[i + 1] and ("%.10g"):format((bounds[i + 1] - 1) / scale) or "+Inf"
      lines[i] = line(name .. "_bucket", row.labels, ('le="%s"'):format(le))
    end
    row.lines[name] = lines
  end
  return lines
end

-- A histogram of a value of interest of rows.
function writer_methods.histogram(self, name, help, list, voi, scale)
  local buckets, bounds, sum = voi .. "_buckets", voi .. "_bounds", voi .. "_sum"
  self:family(name, "histogram", help)
  for _, row in ipairs(list) do
    local counts, total = row.values[buckets], 0
    if counts and not row.is_hidden then
      local lines = lines_of_histogram(row, name, row.values[bounds], #counts, scale)
      local of_sum = row.values[sum]
      for i = 1, #counts do
        total = total + counts[i]
        self:put(lines[i], number(total))
      end
      self:put(lines.sum, scaled(of_sum, scale))
      self:put(lines.count, number(total))
    end
  end
end

local QUANTILES = { p50 = 'quantile="0.5"', p90 = 'quantile="0.9"', p99 = 'quantile="0.99"',
  p999 = 'quantile="0.999"' }

function writer_methods.quantiles(self, name, help, list, voi, scale)
  local names_of = {}
  for i, p in ipairs({ "p50", "p90", "p99", "p999" }) do
    names_of[i] = { p, voi .. "_" .. p }
  end
  if not (list[1] and list[1].values[voi .. "_p50"]) then
    return
  end
  self:family(name, "summary", help)
  for _, row in ipairs(list) do
    local lines = lines_of(row, name, QUANTILES)
    for i = 1, 4 do
      local value = row.values[names_of[i][2]]
      if value and not row.is_hidden then
        self:put(lines[names_of[i][1]], scaled(value, scale))
      end
    end
  end
end

-- Requests by code, of the rows of a class.
function writer_methods.codes(self, name, help, list)
  self:family(name, "counter", help)
  local own, codes = {}, self.codes_of_rows
  for _, code in ipairs(codes) do
    own[code] = ('code="%s"'):format(code)
  end
  for _, row in ipairs(list) do
    local lines, of_row = lines_of(row, name .. "_total", own), row.values
    for i = 1, row.is_hidden and 0 or #codes do
      local code = codes[i]
      local value = of_row[code]
      -- Codes that did not occur are left out, classes not: rates start from 0.
      if value and (value > 0 or i <= 5) then
        self:put(lines[code], number(value))
      end
    end
  end
end

local NO_LABEL = { "" }

function writer_methods.numbers(self, name, kind, help, list, statistic)
  if not (list[1] and list[1].values[statistic]) then
    return
  end
  self:family(name, kind, help)
  name = kind == "counter" and name .. "_total" or name
  for _, row in ipairs(list) do
    local value = row.values[statistic]
    if value and not row.is_hidden then
      self:put(lines_of(row, name, NO_LABEL)[1], number(value))
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
  for _, class in ipairs({ "http", "upstream", "app_counter", "app_gauge", "app_histogram_time" }) do
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
    local w = setmetatable({ n = 0, is_openmetrics = format == "openmetrics", codes_of_rows = server.codes,
      emit = function(text) emit(text) rest() end }, writer_meta)
    requests(w, classes, server)
    upstream_families(w, classes)
    cache_families(w, classes)
    server_families(w, classes, values)
    own_families(w, classes, server)
    w:single("kstat_scrape_seconds", "gauge", "time that this took", core.hrtime() - started)
    w:write(w.is_openmetrics and "\n# EOF\n" or "\n")
    w:flush()
  end
  if kept == server.kept_rows then
    server.scraped_since = nil
  end
  return values and true, "this worker can read no kstats of " .. server.options.name .. " in " .. server.pub:path()
end

return M
