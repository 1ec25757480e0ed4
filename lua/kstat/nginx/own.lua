--- Metrics of one's own: counters, gauges, histograms and queues, with labels.
--
-- Nothing here raises while requests are served: a value that cannot be counted is counted as refused, and a metric
-- that cannot be made is a line in the error log and an object that does nothing.
local library = require("kstat.publish.library")
local names = require("kstat.nginx.names")
local rows = require("kstat.nginx.rows")
local unknown = require("kstat.unknown")

local M = {}

local MOST_LABELS = 6
local LARGEST = 2 ^ 53
local add, forks = library.fn.add, library.forks

-- --- one row, found by its labels -------------------------------------------------------------------

local function refuse_value(metric)
  metric.rows.server.values_refused:add()
end

local function is_number(n)
  return type(n) == "number" and n == n
end

-- The row of labels, of which there may be six.
local function find(metric, a, b, c, d, e, f)
  local count = metric.count
  if count == 0 then
    return metric.single
  end
  local row = metric.rows.top[a == nil and "" or a]
  if count > 1 and row then row = row[b == nil and "" or b] end
  if count > 2 and row then row = row[c == nil and "" or c] end
  if count > 3 and row then row = row[d == nil and "" or d] end
  if count > 4 and row then row = row[e == nil and "" or e] end
  if count > 5 and row then row = row[f == nil and "" or f] end
  return row or metric:resolve({ a, b, c, d, e, f })
end

-- Whether a row with one number is gone, or that of the process before a fork.
local function is_stale(row)
  return row.place[0] ~= row.crtime or row.forks ~= forks[0]
end

-- Adds to a counter's row, or sets a gauge's.
local function count(metric, row, n)
  if n == nil then
    n = 1
  elseif type(n) ~= "number" or not (n >= 0 and n < LARGEST) then
    return refuse_value(metric)
  end
  n = n - n % 1
  if row.own then
    row.cell[0] = row.cell[0] + n
  else
    add(row.cell, n)
  end
end

local function assign(metric, row, n)
  if not is_number(n) then
    return refuse_value(metric)
  end
  row.real[0] = n
end

-- Observes a value in the unit of the metric.
local function observe(metric, row, v)
  local set = metric.rows
  if set.server.is_damaged then
    return
  end
  if row.times_place[0] ~= row.times_crtime or row.place[0] ~= row.crtime then
    set:renew(row)
  end
  if not is_number(v) then
    return refuse_value(metric)
  end
  local n = v * set.scale + 0.5
  n = n >= 1 and n - n % 1 or 0
  local ok, message, errname = row.times:update(0, n)
  if not ok and not set:fail(message, errname) then
    refuse_value(metric)
  end
end

-- --- metrics ----------------------------------------------------------------------------------------

local common = {}

-- Finds the row of labels that are met for the first time, or whose row is gone. nil: nothing can be counted any more.
function common.resolve(metric, given)
  local set, raw = metric.rows, {}
  for i = 1, metric.count do
    raw[i] = tostring(given[i] == nil and "" or given[i])
  end
  local row, may_remember, problem = set:find(raw)
  if not row and metric.count == 0 and not set.server.is_damaged then -- while it is made
    error(("%s: %s"):format(set.statistic, problem), 0)
  end
  if metric.count == 0 then
    metric.single = row or metric.single
  elseif may_remember then
    local at = set.top
    for i = 1, metric.count - 1 do
      at[raw[i]] = at[raw[i]] or {}
      at = at[raw[i]]
    end
    at[raw[metric.count]] = row
  end
  return row
end

--- The object of these labels, whose functions take no labels: to be found once and kept.
function common.with(metric, ...)
  return setmetatable({ metric = metric, row = find(metric, ...), given = { ... } }, metric.bound)
end

--- Removes the metric of these labels. It starts at 0 if it is used again.
function common.remove(metric, ...)
  return metric.rows:remove({ ... })
end

-- Returns the metatables of a kind of metrics with one method, and of what with() returns. change:
-- function(metric, row, value); is_stale_row: function(row), whether the row has to be found again.
local function class(name, change, is_stale_row)
  local methods, bound = {}, {}
  for method, f in pairs(common) do
    methods[method] = f
  end
  methods[name] = function(metric, value, a, b, c, d, e, f)
    local row = find(metric, a, b, c, d, e, f)
    if row and is_stale_row(row) then
      row = metric:resolve({ a, b, c, d, e, f })
    end
    if row then
      change(metric, row, value)
    end
  end
  bound[name] = function(self, value)
    local row = self.row
    if not row or is_stale_row(row) then
      row = self.metric:resolve(self.given)
      self.row = row or self.row
    end
    if row then
      change(self.metric, row, value)
    end
  end
  return { __index = methods }, { __index = bound }
end

local counter_meta, bound_counter_meta = class("add", count, is_stale)
local gauge_meta, bound_gauge_meta = class("set", assign, is_stale)
local histogram_meta, bound_histogram_meta = class("observe", observe, function() return false end)

local function check_labels(spec, name)
  local labels, seen = spec.labels or {}, { [name] = true }
  names.check_list(labels)
  if #labels > MOST_LABELS then
    error(("%s: at most %d labels are possible"):format(name, MOST_LABELS), 0)
  end
  for _, label in ipairs(labels) do
    if not names.is_label(label) or seen[label] then
      error(("%s: '%s' cannot be the name of a label"):format(name, tostring(label)), 0)
    end
    seen[label] = true
  end
  return labels
end

local function check_name(name, most)
  if type(name) ~= "string" or not name:find("^[%a_][%w_]*$") or #name > most then
    error(("'%s' cannot be the name of a metric: letters, digits and _, at most %d of them"):format(tostring(name),
      most), 0)
  elseif name:find("^nginx_") or name:find("^kstat_") or name == "crtime" or name == "snaptime" then
    error(("'%s' cannot be the name of a metric: nginx_…, kstat_…, crtime and snaptime are taken"):format(name), 0)
  end
end

local FIELDS = { help = true, unit = true, labels = true, buckets = true, percentiles = true }

local function check_spec(spec, name)
  if type(spec) ~= "table" or type(spec.labels or {}) ~= "table" or type(spec.buckets or {}) ~= "table" then
    error(("%s: a table expected, with tables of labels and buckets"):format(name), 0)
  end
  for field in pairs(spec) do
    if not FIELDS[field] then
      error(unknown.line(name .. ": unknown field", tostring(field), FIELDS), 0)
    end
  end
  if spec.unit ~= nil and not (type(spec.unit) == "string" and spec.unit:find("^[%w_]*$") and #spec.unit <= 20) then
    error(("%s: unit: at most 20 letters, digits and _ expected, for it ends the name at /metrics"):format(name), 0)
  end
end

-- What follows a family's name in the names of its samples: no other family may have one of these.
local ENDINGS = {
  app_counter = { "", "_total", "_created" },
  app_gauge = { "" },
  app_histogram = { "", "_bucket", "_sum", "_count", "_created", "_quantile" },
  app_queue = { "_waiting", "_active", "_done", "_done_total", "_bytes", "_bytes_total", "_waiting_seconds",
    "_waiting_seconds_total", "_active_seconds", "_active_seconds_total" },
}

-- Two metrics of one name would take the rows of kstats from each other, or their samples at /metrics. The same metric
-- may be made twice.
local function check_kind(server, name, kind, unit)
  local taken = server.taken_names or { kstats = {}, samples = {} }
  server.taken_names = taken
  if taken.kstats[name] and taken.kstats[name] ~= kind then
    error(("%s: there is a metric of this name already"):format(name), 0)
  end
  local family = names.with_unit(kind == "app_counter" and name:gsub("_total$", "") or name, unit or "")
  for _, ending in ipairs(ENDINGS[kind]) do
    local owner = taken.samples[family .. ending]
    if owner and owner ~= name then
      error(("%s: '%s' at /metrics is of the metric '%s' already"):format(name, family .. ending, owner), 0)
    end
  end
  taken.kstats[name] = kind
  for _, ending in ipairs(ENDINGS[kind]) do
    taken.samples[family .. ending] = name
  end
end

-- Makes a metric of a kind of rows.
local function make(server, name, spec, kind, meta, bound)
  check_kind(server, name, kind.class, spec.unit)
  kind.prefix, kind.labels = "app," .. name, check_labels(spec, name)
  local set, message = rows.new(server, kind)
  if not set then
    error(("%s: %s"):format(name, message), 0)
  end
  set.statistic = name
  local metric = setmetatable({ rows = set, count = #kind.labels, bound = bound }, meta)
  if metric.count == 0 then
    metric:resolve({})
  end
  return metric
end

--- A counter.
-- @tparam server server
-- @string name at most 30 letters, digits and _
-- @tparam table spec `help`, `unit`, `labels`
-- @treturn metric `add(n, labels...)`, `with(labels...)`, `remove(labels...)`
-- @raise a line
function M.counter(server, name, spec)
  check_name(name, 30)
  check_spec(spec, name)
  return make(server, name, spec, { class = "app_counter", is_number = true, statistics = {
    { name = name, kind = "counter", desc = spec.help, unit = spec.unit } } }, counter_meta, bound_counter_meta)
end

--- A gauge, which all workers set: the last value counts.
-- @treturn metric `set(v, labels...)`, `with(labels...)`, `remove(labels...)`
-- @raise a line
function M.gauge(server, name, spec)
  check_name(name, 30)
  check_spec(spec, name)
  return make(server, name, spec, { class = "app_gauge", is_number = true, shards = 1, statistics = {
    { name = name, type = "double", kind = "gauge", desc = spec.help, unit = spec.unit } } }, gauge_meta,
    bound_gauge_meta)
end

local SECONDS = { .001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10 }

--- How values of a unit are kept: as whole numbers.
-- @treturn number by what they are multiplied
-- @treturn string|nil the unit of the whole numbers
-- @treturn {number,...} the bounds in that unit
local function scaled(unit, buckets)
  local whole = unit ~= "seconds"
  for _, bound in ipairs(buckets) do
    whole = whole and type(bound) == "number" and bound % 1 == 0
  end
  local scale, bounds = whole and 1 or 1e6, {}
  for i, bound in ipairs(buckets) do
    local kept = type(bound) == "number" and bound * scale < LARGEST and math.floor(bound * scale + 0.5) or 0
    if kept <= (bounds[i - 1] or 0) then
      error("buckets: numbers above 0 that grow, by a millionth at least, expected", 0)
    end
    bounds[i] = kept
  end
  return scale, unit == "seconds" and "us" or (whole and "" or "0.000001 ") .. (unit or ""), bounds
end
M.scaled = scaled

--- A histogram.
-- @string name at most 22 letters, digits and _
-- @tparam table spec `help`, `unit`, `labels`, `buckets`: the greatest value of each (those of times in seconds),
-- `percentiles`: whether p50 to p999 are kept too
-- @treturn metric `observe(v, labels...)`, `with(labels...)`, `remove(labels...)`
-- @raise a line
function M.histogram(server, name, spec)
  check_name(name, 22)
  check_spec(spec, name)
  local scale, unit, bounds = scaled(spec.unit, spec.buckets or SECONDS)
  local template, message = rows.template({ vois = { name }, bounds = bounds, percentiles = spec.percentiles })
  if not template then
    error(("%s: %s"):format(name, message), 0)
  end
  local metric = make(server, name, spec, { class = "app_histogram", statistics = {}, template = template,
    vois = { [name] = { unit = unit, desc = spec.help } } }, histogram_meta, bound_histogram_meta)
  metric.rows.scale = scale
  server.has_digest = server.has_digest or {}
  server.has_digest[name] = spec.percentiles
  return metric
end

local queue_methods = {}
local queue_meta = { __index = queue_methods }

--- Something enters the queue, starts to be served, and is done, with so many bytes.
function queue_methods.enter(queue)
  queue.k:waitq_enter()
end

function queue_methods.start(queue)
  if not queue.k:waitq_to_runq() then
    refuse_value(queue)
  end
end

function queue_methods.done(queue, bytes)
  if not (type(bytes) == "number" and bytes >= 0 and bytes < LARGEST) then
    bytes = 0
  end
  if not queue.k:done("read", bytes - bytes % 1) then
    refuse_value(queue)
  end
end

--- A queue: how much waits and is served, for how long, as of a disk.
-- @treturn queue `enter()`, `start()`, `done(bytes)`
-- @raise a line
function M.queue(server, name, spec)
  check_name(name, 25)
  check_spec(spec, name)
  check_kind(server, name, "app_queue")
  local k, message = server.pub:io({ name = "app," .. name, class = "app_queue" })
  if not k then
    error(("%s: %s"):format(name, message), 0)
  end
  return setmetatable({ k = k, rows = { server = server } }, queue_meta)
end

return M
