--- Metrics of one's own: counters, gauges, histograms and queues, with labels.
--
-- Nothing here raises while requests are served: a value that cannot be counted is counted as refused, and a metric
-- that cannot be made is a line in the error log and an object that does nothing.
--
-- A counter with fractions is a whole number of steps, as times of histograms are microseconds: it adds up exactly, in
-- parts that belong to a worker each, and the scale of its metadata tells all readers. Gauges that many workers raise
-- are doubles with one atomic addition.
local distributions = require("kstat.nginx.distributions")
local library = require("kstat.publish.library")
local names = require("kstat.nginx.names")
local rows = require("kstat.nginx.rows")
local unknown = require("kstat.base.unknown")

local M = {}

local MOST_LABELS, MOST_LISTED = 16, 6 -- how many a metric may have; and how many may be given without a table
local LARGEST = 2 ^ 53
local add, add_double, forks = library.fn.add, library.fn.add_double, library.forks

-- --- values that are refused --------------------------------------------------------------------------

-- Counts a value that is no number, or too large.
local function refuse(metric, n)
  if type(n) == "number" then
    metric.rows:refuse_value("range", ("%s is not below 2^53"):format(tostring(n)))
  else
    metric.rows:refuse_value("type", "a number expected, got " .. type(n))
  end
end

-- Counts what a counter cannot take.
local function refuse_count(metric, n)
  if type(n) == "number" and n < 0 then
    metric.rows:refuse_value("negative", ("%.14g is negative"):format(n))
  elseif type(n) == "number" and n < LARGEST then
    metric.rows:refuse_value("fraction", ("%.14g is no whole number; with step = 0.001 it could be added"):format(n))
  else
    refuse(metric, n)
  end
end

-- --- one row, found by its labels -------------------------------------------------------------------

-- The row of labels, in their order or as one table.
local function find(metric, a, b, c, d, e, f, g)
  if metric.count > MOST_LISTED then
    return metric:resolve(a, b, c, d, e, f, g)
  elseif type(a) == "table" and b == nil then
    a, b, c, d, e, f, g = a[1], a[2], a[3], a[4], a[5], a[6], a[7]
  end
  local count, row, rest = metric.count, metric.single or metric.rows.top, a
  if count > 0 then row, rest = row[a], b end
  if count > 1 and row then row, rest = row[b], c end
  if count > 2 and row then row, rest = row[c], d end
  if count > 3 and row then row, rest = row[d], e end
  if count > 4 and row then row, rest = row[e], f end
  if count > 5 and row then row, rest = row[f], g end
  if row and rest == nil and not metric.is_stale(row) then
    return row
  end
  return metric:resolve(a, b, c, d, e, f, g)
end

-- Whether a row with one number is gone, or that of the process before a fork.
local function is_stale(row)
  return row.place[0] ~= row.crtime or row.forks ~= forks[0]
end

local function add_to_cell(row, n)
  if row.own then
    row.cell[0] = row.cell[0] + n
  else
    add(row.cell, n)
  end
end

-- Adds a whole number to a counter's row, 1 if none is given.
local function count(metric, row, n)
  if n == nil then
    n = 1
  elseif type(n) ~= "number" or not (n >= 0 and n < LARGEST) or n % 1 ~= 0 then
    return refuse_count(metric, n)
  end
  add_to_cell(row, n)
end

-- Adds to the row of a counter of steps. What is left of the last step waits for the next addition.
local function count_steps(metric, row, n)
  if n == nil then
    n = 1
  elseif type(n) ~= "number" or not (n >= 0 and n * metric.rows.scale < LARGEST) then
    return refuse_count(metric, n)
  end
  n = n * metric.rows.scale + row.left
  local steps = n + 0.5
  steps = steps - steps % 1
  row.left = n - steps
  add_to_cell(row, steps)
end

-- Sets a gauge's row.
local function assign(metric, row, n)
  if type(n) ~= "number" or n ~= n then
    return refuse(metric, n)
  end
  row.real[0] = n
end

-- Raises a gauge's row, by 1 if nothing is given, together with other processes that do so.
local function raise(metric, row, n)
  if n == nil then
    n = 1
  elseif type(n) ~= "number" or n - n ~= 0 then
    return refuse(metric, n)
  end
  add_double(row.cell, n)
end

local function lower(metric, row, n)
  if type(n) == "number" then
    n = -n
  end
  raise(metric, row, n == nil and -1 or n)
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
  if type(v) ~= "number" or v ~= v then
    return refuse(metric, v)
  end
  local n = v * set.scale + 0.5
  n = n >= 1 and n - n % 1 or 0
  for i, distribution in ipairs(set.kind.distributions) do
    local ok, message, errname = distribution:count(row.distributions[i], n)
    if not ok and not set:fail(message, errname) then
      set:refuse_value("range", message)
    end
  end
end

-- --- metrics ----------------------------------------------------------------------------------------

local IS_LABEL = { string = true, number = true, boolean = true }

-- The texts of labels, in their order or in one table; nil, with a line in the error log: they are not those of the
-- metric.
local function labels_of(metric, ...)
  local raw, given = {}, { ... }
  if type(given[1]) == "table" and given[2] == nil then
    given = given[1]
  end
  for i = 1, MOST_LABELS + 1 do
    local value = given[i]
    if i <= metric.count and not IS_LABEL[type(value)] or i > metric.count and value ~= nil then
      local labels = table.concat(metric.rows.kind.labels, ", ")
      metric.rows:refuse_value("labels", ("%s, got %s as number %d"):format(
        labels ~= "" and "values expected for " .. labels or "no labels expected", type(value), i))
      return nil
    end
    raw[i] = i <= metric.count and tostring(value) or nil
  end
  return raw
end

-- The row that is remembered for labels.
local function remembered(metric, raw)
  local row = metric.count > 0 and metric.rows.top
  for i = 1, metric.count do
    row = row and row[raw[i]]
  end
  return row and not metric.is_stale(row) and row
end

-- An object each of whose functions does nothing and returns it: a metric that could not be made.
M.nothing = setmetatable({}, { __index = function(self)
  return function() return self end
end })

local common = {}

-- Finds the row of labels that are met for the first time, that are no texts, or whose row is gone. nil: nothing can be
-- counted any more, or the labels are refused.
function common.resolve(metric, ...)
  local set, raw = metric.rows, labels_of(metric, ...)
  local row = raw and remembered(metric, raw)
  if row or not raw then
    return row or nil
  end
  local may_remember, problem
  row, may_remember, problem = set:find(raw)
  if not row and metric.count == 0 and not set.server.is_damaged then -- while it is made
    error(("%s: %s"):format(set.metric, problem), 0)
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
  local raw = labels_of(metric, ...)
  return raw and metric.rows:remove(raw) or false
end
common.del = common.remove

--- Removes the metric of all labels.
function common.reset(metric)
  metric.rows:remove_all()
end

-- Returns the metatables of a kind of metrics, and of what with() returns. changes: by the names of methods,
-- function(metric, row, value); is_stale_row: function(row), whether the row has to be found again.
local function class(changes, is_stale_row)
  local methods, bound = { is_stale = is_stale_row }, {}
  for method, f in pairs(common) do
    methods[method] = f
  end
  for name, change in pairs(changes) do
    methods[name] = function(metric, value, a, b, c, d, e, f, g)
      local row = find(metric, a, b, c, d, e, f, g)
      if row then
        change(metric, row, type(value) == "string" and tonumber(value) or value)
      end
    end
    bound[name] = function(self, value)
      local row = self.row
      if not row or is_stale_row(row) then
        row = self.metric:resolve(unpack(self.given))
        self.row = row or self.row
      end
      if row then
        change(self.metric, row, type(value) == "string" and tonumber(value) or value)
      end
    end
  end
  return { __index = methods, bound = { __index = bound } }
end

local counter_meta = class({ add = count, inc = count }, is_stale)
local steps_meta = class({ add = count_steps, inc = count_steps }, is_stale)
local gauge_meta = class({ set = assign, inc = raise, dec = lower }, is_stale)
local histogram_meta = class({ observe = observe }, function() return false end)

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

-- Returns the name of the statistic of a metric: its own, or a cut one if it is one of another module's, see M.counter.
local function statistic_of(name, most, spec)
  if type(spec) == "table" and spec.family and type(name) == "string" and name:find("^[%a_:][%w_:]*$") then
    return names.statistic(name, most)
  elseif type(name) ~= "string" or not name:find("^[%a_][%w_]*$") or #name > most then
    error(("'%s' cannot be the name of a metric: letters, digits and _, at most %d of them"):format(tostring(name),
      most), 0)
  elseif name:find("^nginx_") or name:find("^kstat_") or name == "crtime" or name == "snaptime" then
    error(("'%s' cannot be the name of a metric: nginx_…, kstat_…, crtime and snaptime are taken"):format(name), 0)
  end
  return name
end

local FIELDS = { help = true, unit = true, labels = true, buckets = true, percentiles = true, step = true,
  family = true, lowest = true, highest = true, scale = true, latency = true }

local function check_spec(spec, name)
  if type(spec) ~= "table" or type(spec.labels or {}) ~= "table" or type(spec.buckets or {}) ~= "table" then
    error(("%s: a table expected, with tables of labels and buckets"):format(name), 0)
  end
  for field in pairs(spec) do
    if not FIELDS[field] then
      error(unknown.word(name .. ": unknown field", tostring(field), FIELDS), 0)
    end
  end
  if spec.family ~= nil and type(spec.family) ~= "string" then
    error(("%s: family: a string expected"):format(name), 0)
  end
  if spec.unit ~= nil and not (type(spec.unit) == "string" and spec.unit:find("^[%w_]*$") and #spec.unit <= 20) then
    error(("%s: unit: at most 20 letters, digits and _ expected, for it ends the name at /metrics"):format(name), 0)
  end
end

-- What follows a family's name in the names of its samples: no other family may have one of these.
local ENDINGS = {
  app_counter = { "", "_total", "_created" },
  app_gauge = { "" },
  app_histogram = { "", "_bucket", "_sum", "_count", "_created" },
  app_queue = { "_waiting", "_active", "_done", "_done_total", "_bytes", "_bytes_total", "_waiting_seconds",
    "_waiting_seconds_total", "_active_seconds", "_active_seconds_total" },
}

-- Two metrics of one name would take the rows of kstats from each other, or their samples at /metrics. The same metric
-- may be made twice. family: its name at /metrics without "_total"; nil: made of the name and the unit.
local function check_kind(server, name, kind, unit, family)
  local taken = server.taken_names or { kstats = {}, samples = {} }
  server.taken_names = taken
  if taken.kstats[name] and taken.kstats[name] ~= kind then
    error(("%s: there is a metric of this name already"):format(name), 0)
  end
  family = family or names.with_unit(kind == "app_counter" and name:gsub("_total$", "") or name, unit or "")
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

-- Makes a metric of a kind of rows. statistic: the name of what they count.
local function make(server, name, statistic, spec, kind, meta)
  local family = spec.family
  check_kind(server, statistic, kind.class, spec.unit, family and family:gsub("_total$", ""))
  kind.prefix, kind.labels = "app," .. statistic, check_labels(spec, statistic)
  local set, message = rows.new(server, kind)
  if not set then
    error(("%s: %s"):format(name, message), 0)
  end
  set.statistic, set.metric, set.family, set.unit = statistic, name, family, spec.unit or ""
  server.own[#server.own + 1] = set
  local metric = setmetatable({ rows = set, count = #kind.labels, bound = meta.bound }, meta)
  if metric.count == 0 then
    metric:resolve()
  end
  return metric
end

local UNITS = { [1e3] = "ms", [1e6] = "us", [1e9] = "ns" }

-- The unit of whole numbers of which `scale` are one of the unit; 1: it is the unit itself.
local function unit_of_steps(unit, scale)
  if scale == 1 then
    return unit or ""
  end
  local step = ("%.9f"):format(1 / scale):gsub("0+$", "")
  return unit == "seconds" and UNITS[scale] or step .. (unit and " " .. unit or "")
end

-- How many steps are one: a power of ten.
local function steps_in_one(name, step)
  local scale = type(step) == "number" and step > 0 and math.floor(1 / step + 0.5) or 0
  if not (scale >= 1 and scale <= 1e9 and tostring(scale):gsub("%.0$", ""):find("^10*$")) then
    error(("%s: step: 1, 0.1, 0.01 … or 0.000000001 expected"):format(name), 0)
  end
  return scale
end

--- A counter.
-- @tparam server server
-- @string name at most 30 letters, digits and _
-- @tparam table spec `help`, `unit`, `labels`; `step`: what it counts in, 1 unless given: with 0.001 it takes
-- fractions; and `family`: the name at /metrics, not made of name and unit, of any length
-- @treturn metric `add(n, labels...)`, `with(labels...)`, `remove(labels...)`
-- @raise a line
function M.counter(server, name, spec)
  local statistic = statistic_of(name, 30, spec)
  check_spec(spec, name)
  local scale = steps_in_one(name, spec.step or 1)
  local metric = make(server, name, statistic, spec, { class = "app_counter", is_number = true, statistics = {
    { name = statistic, kind = "counter", desc = spec.help, unit = unit_of_steps(spec.unit, scale),
      scale = scale > 1 and scale or nil, fract = scale > 1 or nil } } }, scale > 1 and steps_meta or counter_meta)
  metric.rows.scale = scale
  return metric
end

--- A gauge, which all workers set: the last value counts.
-- @treturn metric `set(v, labels...)`, `inc(n, labels...)`, `dec(n, labels...)`, `with(labels...)`, `remove(labels...)`
-- @raise a line
function M.gauge(server, name, spec)
  local statistic = statistic_of(name, 30, spec)
  check_spec(spec, name)
  return make(server, name, statistic, spec, { class = "app_gauge", is_number = true, shards = 1, statistics = {
    { name = statistic, type = "double", kind = "gauge", desc = spec.help, unit = spec.unit } } }, gauge_meta)
end

local SECONDS = { .001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10 }

--- How values of a unit are kept: as whole numbers.
-- @treturn number by what they are multiplied
-- @treturn string the unit of the whole numbers
-- @treturn {number,...} the bounds in that unit
local function scaled(unit, buckets, has_fractions)
  local whole = unit ~= "seconds"
  for _, bound in ipairs(buckets) do
    whole = whole and type(bound) == "number" and bound % 1 == 0
  end
  -- Thousandths leave more room for the sum.
  local scale, bounds = not whole and 1e6 or has_fractions and 1e3 or 1, {}
  for i, bound in ipairs(buckets) do
    local kept = type(bound) == "number" and bound * scale < LARGEST and math.floor(bound * scale + 0.5) or 0
    if kept <= (bounds[i - 1] or 0) then
      error("buckets: numbers above 0 that grow, by a millionth at least, expected", 0)
    end
    bounds[i] = kept
  end
  return scale, unit_of_steps(unit, scale), bounds
end
M.scaled = scaled

-- Checks where a distribution reaches from and to, in the unit, and its scale. Returns those of the two that are given.
local function check_range(spec)
  local ends = {}
  for _, name in ipairs({ "lowest", "highest" }) do
    local n = spec[name]
    if n ~= nil and not (type(n) == "number" and n > (ends[1] or 0) and n < LARGEST) then
      error("lowest and highest: numbers above 0 that grow expected", 0)
    end
    ends[#ends + 1] = n
  end
  if spec.scale ~= nil and not (type(spec.scale) == "number" and spec.scale % 1 == 0 and spec.scale >= 0 and
      spec.scale <= 8) then
    error("scale: 0 to 8 expected", 0)
  end
  return ends
end

--- A histogram.
-- @string name at most 22 letters, digits and _
-- @tparam table spec `help`, `unit`, `labels`, `buckets`: the greatest value of each (those of times in seconds);
-- `percentiles`: any interval has p50 to p999, of values between `lowest` and `highest` (in the unit) at the `scale`
-- 0 to 8, each as usual for the unit unless given
-- @treturn metric `observe(v, labels...)`, `with(labels...)`, `remove(labels...)`
-- @raise a line
function M.histogram(server, name, spec)
  local statistic = statistic_of(name, 22, spec)
  check_spec(spec, name)
  local ends, list, message = check_range(spec), {}, nil
  local per, unit, bounds = scaled(spec.unit, spec.buckets or not spec.percentiles and SECONDS or ends, spec.family)
  local function steps(n)
    return n and math.floor(n * per + 0.5)
  end
  local times_class = spec.percentiles and "app." .. statistic or nil
  if spec.percentiles then
    list[1] = distributions.exponential({ class = times_class, unit = unit, desc = spec.help or
      statistic:gsub("_", " "), scale = spec.scale,
      lowest = steps(spec.lowest), highest = steps(spec.highest) })
  end
  if spec.buckets or not spec.percentiles then
    list[#list + 1], message = distributions.buckets({ names = { statistic }, bounds = bounds, unit = unit,
      desc = spec.help, ending = list[1] and ",le" })
  end
  if message then
    error(("%s: %s"):format(name, message), 0)
  end
  local metric = make(server, name, statistic, spec, { class = "app_histogram", statistics = {}, distributions = list,
    times_class = times_class }, histogram_meta)
  metric.rows.scale, metric.rows.has_buckets = per, spec.buckets ~= nil
  return metric
end

local queue_methods = {}
local queue_meta = { __index = queue_methods }

-- Does what is left to do after a change of the queue.
local function finish(queue, line, ok, message, errname)
  if not ok and rows.DAMAGE[errname] then
    queue.server:damage(message, errname)
  elseif not ok then
    queue.server:refuse_value(queue.name, "order", line)
  end
end

-- A token that a caller gives, or nil: what is none is as good as none.
local function token_of(token)
  return type(token) == "number" and token > 0 and token < LARGEST and token - token % 1 or nil
end

--- Something enters the queue, starts to be served, and is done, with so many bytes. A token says which, see pub:io().
function queue_methods.enter(queue)
  local token, message, errname
  if not queue.server.is_damaged then
    token, message, errname = queue.k:enter()
    finish(queue, "it cannot enter", token, message, errname)
  end
  return token
end

function queue_methods.start(queue, token)
  local started, message, errname
  token = token_of(token)
  if not queue.server.is_damaged then
    if token then
      started, message, errname = queue.k:start(token)
    else
      started, message, errname = queue.k:waitq_to_runq()
    end
    finish(queue, "nothing waits that could be started", started, message, errname)
  end
  return started and started ~= true and started or nil
end

function queue_methods.done(queue, bytes, token)
  if not (type(bytes) == "number" and bytes >= 0 and bytes < LARGEST) then
    bytes = 0
  end
  if not queue.server.is_damaged then
    finish(queue, "nothing is served that could be done", queue.k:finish(token_of(token), "read", bytes - bytes % 1))
  end
end

--- A queue: how much waits and is served, for how long, as of a disk; with `latency` for how long each.
-- @treturn queue `enter()`, `start(token)`, `done(bytes, token)`
-- @raise a line
function M.queue(server, name, spec)
  statistic_of(name, 25)
  check_spec(spec, name)
  check_kind(server, name, "app_queue")
  local k, message = server.pub:io({ name = "app," .. name, class = "app_queue", latency = spec.latency or nil })
  if not k then
    error(("%s: %s"):format(name, message), 0)
  end
  server.queues[name] = true
  return setmetatable({ k = k, name = name, server = server }, queue_meta)
end

return M
