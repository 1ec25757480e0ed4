--- The calls of nginx-lua-prometheus for metrics of one's own, so that a configuration that was written for that module
-- works after one line of it is changed:
--
--     prometheus = require("kstat.nginx.prometheus").init("prometheus_metrics")
--
-- It stands in `init_worker_by_lua_block`, or in `init_by_lua_block`, where it belongs to the master. Names at
-- `/metrics` are those that are given. Values, labels and what goes wrong are as with metrics of kstat.nginx.
-- @module kstat.nginx.prometheus
local nginx = require("kstat.nginx")

local M = {}

-- Where the other module has its buckets: times in seconds.
local BUCKETS = { .005, .01, .02, .03, .05, .075, .1, .2, .3, .4, .5, .75, 1, 1.5, 2, 3, 4, 5, 10 }

local MOST_ROWS = 10000

--- The object of `init`.
-- @table prometheus
local methods = {}
local meta = { __index = methods }

-- Makes a metric, whose name may be longer than a statistic's.
local function make(kind, self, name, help, labels, spec)
  spec.help, spec.labels, spec.family = help, labels, self.prefix .. tostring(name)
  return self.kn[kind](self.kn, name, spec)
end

--- Makes a counter. It counts in thousandths.
-- @string name
-- @string[opt] help
-- @tparam[opt] {string,...} labels
-- @treturn counter `inc(n, labels)`, `del(labels)`, `reset()`; labels are one table
-- @function prometheus:counter
function methods.counter(self, name, help, labels)
  return make("counter", self, name, help, labels, { step = 0.001 })
end

--- Makes a gauge.
-- @string name
-- @string[opt] help
-- @tparam[opt] {string,...} labels
-- @treturn gauge `set(v, labels)`, `inc(n, labels)`, `del(labels)`, `reset()`
-- @function prometheus:gauge
function methods.gauge(self, name, help, labels)
  return make("gauge", self, name, help, labels, {})
end

--- Makes a histogram.
-- @string name
-- @string[opt] help
-- @tparam[opt] {string,...} labels
-- @tparam[opt] {number,...} buckets 19 from 5 ms to 10 s
-- @treturn histogram `observe(v, labels)`, `reset()`
-- @function prometheus:histogram
function methods.histogram(self, name, help, labels, buckets)
  return make("histogram", self, name, help, labels, { buckets = buckets or BUCKETS })
end

--- Starts the work of a worker, where `init` stands in `init_by_lua_block`. The first answer of a worker does it, too.
-- @function prometheus:init_worker
function methods.init_worker(self)
  if not self.is_started then
    self.is_started = true
    self.kn:worker()
  end
end

--- Answers with all metrics.
-- @function prometheus:collect
function methods.collect(self)
  self:init_worker()
  self.kn:metrics()
end

--- The text of all metrics, in pieces.
-- @treturn {string,...}
-- @function prometheus:metric_data
function methods.metric_data(self)
  self:init_worker()
  return self.kn:metric_data()
end

--- Publishes the metrics under the name of the dictionary, which itself is not needed. Never raises.
-- @string[opt="prometheus_metrics"] dict_name
-- @tparam[opt] table|string options `prefix` (string) of all names, or the prefix itself; `error_metric_name` (string,
-- default `nginx_metric_errors_total`): of what was refused. Its other options have no meaning here
-- @treturn prometheus
function M.init(dict_name, options)
  options = type(options) == "string" and { prefix = options } or type(options) == "table" and options or {}
  local prefix = options.prefix or ""
  local kn = nginx.setup({ name = (dict_name or "prometheus_metrics"):sub(1, 30), max_rows = MOST_ROWS, labels = {},
    errors = prefix .. (options.error_metric_name or "nginx_metric_errors_total") })
  local self = setmetatable({ kn = kn, prefix = prefix }, meta)
  if ngx.get_phase() == "init_worker" then
    self:init_worker()
  end
  return self
end

return M
