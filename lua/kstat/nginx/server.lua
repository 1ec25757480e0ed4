--- What there is once in an nginx: how many rows, reloads, restarts, connections, and the sizes of dictionaries.
local chains = require("kstat.read.chain")
local distributions = require("kstat.nginx.distributions")
local ffi = require("ffi")
local names = require("kstat.nginx.names")
local rows = require("kstat.nginx.rows")

ffi.cdef([[
typedef volatile unsigned long kstat_nginx_atomic;
extern kstat_nginx_atomic *ngx_stat_accepted, *ngx_stat_handled, *ngx_stat_active, *ngx_stat_reading,
  *ngx_stat_writing, *ngx_stat_waiting, *ngx_stat_requests;
]])

local M = {}

local methods = {}
local meta = { __index = methods }

local CONNECTIONS = { "active", "reading", "writing", "waiting", "accepted", "handled", "requests" }

--- Counts labels that got no row, and says so once for each family in the error log.
-- @tparam set set of kstat.nginx.rows
-- @string[opt] message why there is none; nil: there are as many rows as there may be
-- @function server:refuse
function methods.refuse(self, set, message)
  self.refused:add()
  self.all_refusals:add()
  local who = message and self or set -- a full segment is of all families
  if not who.has_warned then
    who.has_warned = true
    ngx.log(ngx.WARN, "kstat: there is no room for more rows", message and "" or " of ",
      message and "" or set.metric or set.kind.class, " (", message or "max_rows is " .. self.options.max_rows,
      "); further labels are counted as 'other'")
  end
end

M.REASONS = { "labels", "type", "negative", "fraction", "range", "order" }

--- Counts a value that a metric could not take, and says so once for each metric and reason.
-- @string metric
-- @string reason one of M.REASONS
-- @string line what was wrong
-- @function server:refuse_value
function methods.refuse_value(self, metric, reason, line)
  self.refusals[reason]:add()
  self.all_refusals:add()
  local key = metric .. "\0" .. reason
  if not self.told[key] then
    self.told[key] = true
    ngx.log(ngx.ERR, "kstat: ", metric, ": ", line, ": not counted, nor will others like it")
  end
end

--- Ends the counting of this worker: some process wrote into the segment what does not belong there. Nobody may be kept
-- from serving by that.
-- @string message
-- @string errname "EIO", or "EAGAIN": what kept the row locked may have been a process that was stopped for a while
-- @function server:damage
function methods.damage(self, message, errname)
  if self.is_damaged then
    return
  end
  self.is_damaged = ("%s was overwritten: %s; nginx makes a new one when it is reloaded"):format(self.pub:path(),
    message)
  if errname == "EIO" then
    self.pub:condemn()
  end
  ngx.log(ngx.ERR, "kstat: this worker stops counting, for ", self.is_damaged)
end

--- Opens a chain of this nginx's kstats, once in a worker, and brings it up to date.
-- @function server:chain
function methods.chain(self)
  if not self.ks then
    local message
    self.ks, message = chains.open({ only = { self.options.name .. ":::" }, published = true })
    if not self.ks then
      return nil, message
    end
  end
  self.ks_used = ngx.now()
  local ok, message = self.ks:update(true)
  if not ok then
    return nil, message
  end
  return self.ks
end

local IDLE = 60 -- seconds

--- Closes the chain if nobody asked for it lately: with many rows it is large.
-- @function server:rest
function methods.rest(self)
  if self.ks and ngx.now() - self.ks_used > IDLE then
    self.ks:close()
    self.ks = nil
  end
end

--- Returns the set of a row by its name, which may have been cut.
-- @function server:set_of
function methods.set_of(self, name)
  local found, several
  for _, set in ipairs(self.sets) do
    if set.kind.prefix ~= "" and names.begins(name, set.kind.prefix) then
      found, several = set, found ~= nil
    end
  end
  local k = several and self:chain() and self.ks:lookup(self.options.name, 0, name)
  for _, set in ipairs(k and self.sets or {}) do
    found = set.statistic and (k:get(set.statistic) or k:get(set.statistic .. "_sum")) and set or found
  end
  return found or self.requests
end

--- Removes the kstats of a row of a set by its name. Workers look only whether
-- the first two are there, which therefore go last.
-- @function server:remove_row
function methods.remove_row(self, set, name)
  for i = #distributions.ENDINGS, 1, -1 do
    self.pub:remove(name .. distributions.ENDINGS[i])
  end
  local existed = self.pub:remove(name)
  if existed then
    set:count(-1)
  end
  return existed or false
end

-- nginx's own counter. The pointer to it changes while nginx starts, and there is none without stub_status.
local function nginx_counter(name)
  return ffi.C["ngx_stat_" .. name]
end

--- Publishes how many connections there are and how large the dictionaries are, as of now.
-- @function server:refresh
function methods.refresh(self)
  if self.is_damaged then
    return
  end
  for name, counter in pairs(self.connections or {}) do
    counter:set(tonumber(nginx_counter(name)[0]))
  end
  if self.dicts then
    for name, dict in pairs(ngx.shared) do
      local row = self.dicts:find({ name })
      if row then
        row.counters.capacity:set(dict:capacity())
        row.counters.free:set(dict:free_space())
      end
    end
  end
  if self.worker then
    self.worker.lua:set(math.floor(collectgarbage("count") * 1024))
  end
end

--- Starts the work of a worker: what killed workers were serving is taken out of the requests in flight, and a worker
-- that started since the last reload with the same number was restarted.
-- @function server:start_worker
function methods.start_worker(self)
  self.k:reclaim("in_flight")
  self.in_flight:add(0) -- takes a row of its own now, before another worker dies and leaves one that is not empty
  local id = ngx.worker.id()
  local row = id and self.workers:find({ tostring(id) }) -- a cache manager has no number
  if not row then
    return
  end
  local counters = row.counters
  local cycle = self.cycle.cell[0]
  if counters.cycle.cell[0] == cycle then
    self.restarts:add()
  end
  counters.cycle:set(cycle)
  counters.pid:set(ngx.worker.pid())
  self.worker = counters
end

local STATES, SERVED = "connections of clients by state", "requests being served"

local function gauge(name, desc, unit)
  return { name = name, kind = "gauge", desc = desc, unit = unit, meta = unit == "bytes" and "bytes" or nil }
end

local function publish_connections(server)
  local statistics = {}
  for i, name in ipairs(CONNECTIONS) do
    statistics[i] = i <= 4 and gauge(name, name == "writing" and SERVED or STATES) or
      { name = name, desc = name == "requests" and "requests of all servers, with those that log() does not count" or
        "connections that were " .. name }
  end
  local k, message = server.pub:named({ name = "nginx,connections", class = "nginx", shards = 1,
    statistics = statistics })
  if not k then
    return nil, message
  end
  server.connections = {}
  for _, name in ipairs(CONNECTIONS) do
    server.connections[name] = k:counter(name)
  end
  return true
end

--- Publishes what there is once.
-- @tparam pub pub
-- @tparam table options of setup()
-- @tparam boolean reloaded
-- @treturn[1] server
-- @treturn[2] nil
-- @treturn[2] string message
function M.new(pub, options, reloaded)
  local self = setmetatable({ pub = pub, options = options, own = {}, sets = {}, queues = {}, scrapes = {},
    refusals = {}, told = {} }, meta)
  local statistics = {
    { name = "reloads", desc = "reloads of the configuration" },
    { name = "restarts", desc = "workers started in place of one that ended" },
    gauge("rows", "rows of labels"),
    { name = "rows_refused", desc = "requests whose labels got no row" },
    { name = "refused", desc = "values and labels that were refused" },
    { name = "in_flight", type = "int64", kind = "gauge", parts = true, desc = SERVED },
    gauge("cycle", "configurations loaded so far"),
  }
  for _, reason in ipairs(M.REASONS) do
    statistics[#statistics + 1] = { name = "refused_" .. reason, desc = "values that could not be counted" }
  end
  local k, message = pub:named({ name = "nginx,server", class = "nginx", shards = rows.SHARDS,
    statistics = statistics })
  if not k then
    return nil, message
  end
  self.k = k
  self.rows, self.refused, self.restarts = k:counter("rows"), k:counter("rows_refused"), k:counter("restarts")
  self.all_refusals = k:counter("refused")
  self.in_flight, self.cycle = k:counter("in_flight"), k:counter("cycle")
  for _, reason in ipairs(M.REASONS) do
    self.refusals[reason] = k:counter("refused_" .. reason)
  end
  self.cycle:set(self.cycle.cell[0] + 1)
  if reloaded then
    k:add("reloads")
  end
  self.workers, message = rows.new(self, { prefix = "nginx,worker", class = "nginx_worker", labels = { "worker" },
    unlimited = true, shards = 1, statistics = { gauge("lua", "memory of a worker's Lua", "bytes"), gauge("pid"),
    gauge("cycle") } })
  if not self.workers then
    return nil, message
  end
  local ok = true
  if options.connections and pcall(nginx_counter, "active") then
    ok, message = publish_connections(self)
  end
  if ok and options.dicts then
    self.dicts, message = rows.new(self, { prefix = "nginx,dict", class = "nginx_dict", labels = { "dict" },
      unlimited = true, shards = 1, statistics = { gauge("capacity", "sizes of lua_shared_dict", "bytes"),
      gauge("free", "whole pages of it that are free", "bytes") } })
    ok = self.dicts
  end
  return ok and self or nil, message
end

return M
