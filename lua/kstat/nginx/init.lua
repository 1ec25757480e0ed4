--- Metrics of nginx: requests, times and bytes by server or any other label, upstreams, connections, and metrics of
-- one's own, which every kstat tool sees and Prometheus reads.
--
--     init_by_lua_block        { kn = require("kstat.nginx").setup{ name = "nginx", labels = {"server"} } }
--     init_worker_by_lua_block { kn:worker() }
--     log_by_lua_block         { kn:log() }
--
-- Nothing here stops the server: where no metrics can be published, setup() writes one line into the error log and
-- returns an object whose functions do nothing. doc/nginx.md describes all of it.
-- @module kstat.nginx

--- A label of one's own: `name` (string): the label's, `from` (string|fun():any): a variable as "$name", or a function.
-- @table label

--- What describes a metric: `help` (?string): a line about it, `unit` (?string): "seconds", "bytes" or another word,
-- `labels` (?{string,...}): names of labels, whose values its functions take.
-- @table metric_spec

--- Adds to a counter. What cannot be added is counted in `kstat_values_refused_total`, and said once in the error log.
-- @number[opt=1] n
-- @param ... labels one value for each label, in their order or as one table; so with all functions of metrics
-- @function counter:add
-- @also counter:inc

--- Sets a gauge, or counts a value of a histogram.
-- @number v
-- @param ... labels
-- @function gauge:set
-- @also histogram:observe

--- Raises or lowers a gauge, in one step for all workers.
-- @number[opt=1] n
-- @param ... labels
-- @function gauge:inc
-- @also gauge:dec

--- Removes the rows with whatever labels, for all workers.
-- @function counter:reset
-- @also gauge:reset histogram:reset

--- The metric with these labels, to be kept: its functions take no labels.
-- @param ... labels
-- @treturn self
-- @function counter:with
-- @also gauge:with histogram:with

--- Removes the row with these labels, for all workers.
-- @param ... labels
-- @treturn boolean whether there was one
-- @function counter:remove
-- @also counter:del gauge:remove gauge:del histogram:remove histogram:del

--- Something waits.
-- @treturn integer|nil token of it, for `start`
-- @function queue:enter

--- It is served.
-- @tparam integer|nil token of `enter`; nil: the time that it waited is not known
-- @treturn integer|nil token for `done`; nil without one
-- @function queue:start

--- It is done.
-- @int[opt] bytes
-- @tparam integer|nil token of `start`
-- @function queue:done

local answers = require("kstat.nginx.answers")
local caches = require("kstat.nginx.caches")
local distributions = require("kstat.nginx.distributions")
local expiry = require("kstat.nginx.expiry")
local log = require("kstat.nginx.log")
local own = require("kstat.nginx.own")
local publication = require("kstat.nginx.publication")
local rows = require("kstat.nginx.rows")
local servers = require("kstat.nginx.server")
local stream = require("kstat.nginx.stream")
local unknown = require("kstat.base.unknown")
local upstreams = require("kstat.nginx.upstreams")

local M = {}

local BUCKETS = { .001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10 }
local ROW_BYTES = 24576 -- more than a row takes

-- The options with their types and what they are unless given.
local OPTIONS = {
  name = { "string", "nginx" }, labels = { "table", { "server" } }, status = { "string", "class" },
  buckets = { "table" }, percentiles = { "boolean", true }, bytes = { "boolean", true }, sizes = { "boolean", false },
  max_rows = { "number", 2000 }, capacity = { "number" }, persistent = { "boolean", false }, expire = { "number" },
  precise = { "boolean", false }, upstreams = { "boolean", false }, connections = { "boolean", true },
  dicts = { "boolean", false }, caches = { "table" }, stream = { "string" },
  -- The name of the counter of errors, where there are metrics of one's own only: see kstat.nginx.prometheus.
  errors = { "string" },
}

local function checked(given)
  if type(given) ~= "table" then
    error("setup: a table of options expected, got " .. type(given), 0)
  end
  local options = {}
  for name, value in pairs(given) do
    local option = OPTIONS[name]
    if not option then
      error(unknown.word("setup: there is no option", tostring(name), OPTIONS), 0)
    elseif type(value) ~= option[1] then
      error(("setup: %s: %s expected, got %s"):format(name, option[1], type(value)), 0)
    end
    options[name] = value
  end
  for name, option in pairs(OPTIONS) do
    if options[name] == nil then
      options[name] = option[2]
    end
  end
  if options.status ~= "class" and options.status ~= "code" then
    error("setup: status: \"class\" or \"code\" expected", 0)
  elseif #options.name > 30 or not options.name:find("^[%w_-][%w_.-]*$") then
    error("setup: name: 1 to 30 letters, digits, '-', '_' and '.', which does not come first, expected", 0)
  elseif not (options.max_rows >= 1 and options.max_rows <= 200000) then
    error("setup: max_rows: 1 to 200000 expected", 0)
  elseif options.expire and (options.expire <= 0 or options.expire ~= options.expire) then
    error("setup: expire: a number of seconds above 0 expected", 0)
  elseif options.capacity and not (options.capacity % 1 == 0 and options.capacity >= 2 ^ 16 and
      options.capacity <= 2 ^ 30) then
    error("setup: capacity: a whole number of bytes, 65536 to 1073741824, expected", 0)
  end
  caches.check(options.caches or {})
  options.labels = log.labels(options.labels)
  if options.stream and options.stream:sub(1, 1) ~= "/" then
    options.stream = ngx.config.prefix() .. options.stream
  end
  local _
  _, _, options.bounds = own.scaled("seconds", options.buckets or BUCKETS)
  options.buckets = options.buckets or not options.percentiles and BUCKETS or nil
  options.bytes = options.bytes or options.sizes
  options.capacity = options.capacity or math.min(2 ^ 30, math.max(2 ^ 26, 2 * options.max_rows * ROW_BYTES))
  return options
end

local TIME = "time from first byte of request to end of answer"

-- The rows of requests.
local function request_rows(server, options, statistics)
  local list, message = {}, nil
  if options.percentiles then
    list[1] = distributions.exponential({ class = "http_time", unit = "us", desc = TIME })
  end
  if options.buckets then
    list[#list + 1], message = distributions.buckets({ names = { "time" }, bounds = options.bounds, unit = "us",
      desc = TIME, ending = list[1] and ",le" })
  end
  if message then
    return nil, message
  end
  for _, way in ipairs(options.sizes and { "in", "out" } or {}) do
    list[#list + 1] = distributions.exponential({ class = "http_" .. way, measures = way, ending = "," .. way,
      unit = "bytes", desc = way == "in" and "sizes of requests" or "sizes of answers" })
  end
  local labels, numbers = {}, {}
  for i, label in ipairs(options.labels) do
    labels[i] = label.name
  end
  for i, statistic in ipairs(statistics) do
    numbers[i] = statistic
  end
  if options.bytes then
    numbers[#numbers + 1] = { name = "request_bytes", unit = "bytes", meta = "bytes", desc = "bytes of requests" }
    numbers[#numbers + 1] = { name = "response_bytes", unit = "bytes", meta = "bytes", desc = "bytes of answers" }
  end
  return rows.new(server, { prefix = "", class = "http", labels = labels, statistics = numbers, distributions = list })
end

-- Publishes everything: the server, or nil, message.
local function start(options)
  local pub, reloaded = publication.open(options)
  if not pub then
    return nil, reloaded
  end
  local server, message = servers.new(pub, options, reloaded)
  if not server then
    return nil, message
  end
  if options.errors then
    return server
  end
  local statistics = log.code_statistics(options.status, "requests by status")
  server.codes = {}
  for i, statistic in ipairs(statistics) do
    server.codes[i] = statistic.name
  end
  server.requests, message = request_rows(server, options, statistics)
  if server.requests and options.upstreams then
    server.upstreams, message = upstreams.rows(server, options, log.code_statistics(options.status,
      "attempts to reach an upstream, by status"))
    if server.upstreams then
      server.cache, message = upstreams.publish_cache(server)
    end
  end
  if not server.requests or options.upstreams and not server.cache then
    return nil, message
  end
  local ok = true
  if options.caches then
    server.caches, message = caches.rows(server)
    ok = server.caches
  end
  if ok and options.stream then
    ok, message = stream.publish(server, options)
  end
  return ok and server or nil, message
end

-- --- the object -----------------------------------------------------------------------------------------

local function warn(...)
  ngx.log(ngx.ERR, "kstat: ", ...)
end

-- The object that setup() returns where nothing can be published.
local function stand_in(line)
  local kn = setmetatable({}, getmetatable(own.nothing))
  local function unavailable()
    answers.refuse(503, "no metrics: " .. line)
  end
  kn.metrics, kn.json, kn.page = unavailable, unavailable, unavailable
  kn.metric_data = function() return {} end
  return kn
end

-- The work of each second.
local function make_tick(server)
  local expire = server.options.expire
  local is_first = ngx.worker.id() == 0
  local clean = expire and is_first and expiry.new(server, expire, answers.rester())
  local read_stream = is_first and server.streams and stream.reader(server)
  local last = ngx.now()
  return function(premature)
    if premature then
      return
    end
    local ok, message = pcall(function()
      server:refresh()
      answers.rest(server)
      if read_stream then
        read_stream()
      end
      local now = ngx.now()
      if clean and now - last >= math.max(1, expire / 4) then
        last = now
        clean(now)
      end
    end)
    if not ok and not server.has_failed then
      server.has_failed = true
      warn(message)
    end
  end
end

local function worker(server)
  publication.find_directory(server.pub)
  server:start_worker()
  if server.caches and ngx.worker.id() == 0 then
    caches.start(server)
  end
  local ok, message = ngx.timer.every(1, make_tick(server))
  if not ok then
    warn("no timer: ", message)
  end
end

-- The functions that make metrics: a mistake is a line, and an object that does nothing.
local function maker(server, make)
  return function(_, name, spec)
    local ok, metric = pcall(make, server, name, spec or {})
    if ok then
      return metric
    end
    warn(metric)
    return own.nothing
  end
end

local function answerer(server, leave, answer)
  return function()
    leave()
    return answer(server)
  end
end

local function object(server)
  local kn = {}
  local enter, leave
  --- Counts a request: for `log_by_lua`.
  -- @function kn:log
  if server.requests then
    kn.log, enter, leave = log.functions(server, server.options, server.requests)
  else
    kn.log, enter, leave = own.nothing.log, own.nothing.log, own.nothing.log
  end
  --- Counts a request as in flight, and its time from here on: for `rewrite_by_lua`, if that is wanted.
  -- @function kn:enter
  kn.enter = function()
    server.in_flight_is_counted = true
    enter()
  end
  --- Starts the work of a worker: for `init_worker_by_lua`.
  -- @function kn:worker
  kn.worker = function()
    local ok, message = pcall(worker, server)
    if not ok then
      warn(message)
    end
  end
  --- Makes a counter: for `init_by_lua`, as the other metrics. A mistake is a line in the error log, and an object
  -- whose functions do nothing.
  -- @string name at most 30 letters, digits and _
  -- @tparam[opt] metric_spec spec also `step` (number): the unit that it counts in, 1 unless given; 0.001 takes
  -- fractions
  -- @treturn counter what `with` of it returns takes no labels
  -- @function kn:counter
  kn.counter = maker(server, own.counter)
  --- Makes a gauge, which all workers set: the last value counts.
  -- @string name as of a counter
  -- @tparam[opt] metric_spec spec
  -- @treturn gauge
  -- @function kn:gauge
  kn.gauge = maker(server, own.gauge)
  --- Makes a histogram.
  -- @string name at most 22 letters, digits and _
  -- @tparam[opt] metric_spec spec also `buckets` ({number,...}): the greatest value of each (those of times in
  -- seconds); `percentiles` (boolean): any interval has p50 to p999; `lowest` and `highest` (number): the range of
  -- values for these, in the unit; `scale` (integer): of their buckets, 0 to 8, see doc/nginx.md
  -- @treturn histogram
  -- @function kn:histogram
  kn.histogram = maker(server, own.histogram)
  --- Makes a queue: how much waits and is served, for how long, as of a disk.
  -- @string name at most 25 letters, digits and _
  -- @tparam[opt] metric_spec spec `help`, `latency` (boolean): percentiles of the times of requests, by their tokens
  -- @treturn queue
  -- @function kn:queue
  kn.queue = maker(server, own.queue)
  --- Answers with metrics: this nginx's own families, or with `?select=` any kstats of the machine.
  -- @function kn:metrics
  kn.metrics = answerer(server, leave, answers.metrics)
  --- The text of `kn:metrics`, in pieces, for those who send it themselves.
  -- @treturn {string,...} classic text; nothing where there are no metrics
  -- @function kn:metric_data
  kn.metric_data = function()
    return answers.metric_data(server)
  end
  --- Answers with JSON as `kstat -j` prints it: this nginx's kstats, or those that `?select=` names.
  -- @function kn:json
  kn.json = answerer(server, leave, answers.json)
  --- Answers below the page's address, a location that ends in a slash: with the page itself, or with what it asks for.
  -- @function kn:page
  kn.page = answerer(server, leave, answers.page)
  --- Removes the row of requests with these labels, for all workers.
  -- @string ... labels, one for each of setup()
  -- @treturn boolean whether there was one
  -- @function kn:remove
  kn.remove = function(_, ...)
    return server.requests:remove({ ... })
  end
  return kn
end

--- Publishes the metrics of this nginx: for `init_by_lua`. Never raises.
-- @tparam[opt] table given see doc/nginx.md: `name` (string): of the segment and of the metrics, `labels`
-- ({string|label,...}): of requests, `status` ("class"|"code"): how the status of an answer is a label, `buckets`
-- ({number,...}): greatest values of the buckets of times, in seconds, `percentiles` (boolean): of times in any
-- interval, `bytes` (boolean): bytes of requests and answers, `sizes` (boolean): their percentiles, too, `precise`
-- (boolean): times as exact as the clock, `persistent` (boolean): counts survive a restart, `upstreams` (boolean):
-- attempts to reach them, `connections` (boolean): how many there are by state, `dicts` (boolean): sizes of each
-- `lua_shared_dict`, `max_rows` (integer): how many sets of labels there are at most, `capacity` (integer): bytes that
-- the file may grow to, `expire` (number): seconds after which a row in which nothing counts is removed, `stream`
-- (string): a log of the block stream, `caches` ({[string]=string}): directories of caches, by name
-- @treturn metrics
function M.setup(given)
  local ok, kn, message = pcall(function()
    local server, problem = start(checked(given or {}))
    if not server then
      return nil, problem
    end
    return object(server)
  end)
  if ok and kn then
    return kn
  end
  local line = tostring(ok and message or kn)
  warn("no metrics: ", line)
  return stand_in(line)
end

return M
