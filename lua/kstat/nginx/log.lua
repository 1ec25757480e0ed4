--- What is counted of each request.
--
-- LuaJIT compiles the function that counts as a whole: it is made for the labels that were asked for, takes no variable
-- arguments, and reads nginx's variables through the FFI. Code that stands in log_by_lua_block itself is not compiled,
-- and one read of ngx.var there costs more than all of this function.
local ffi = require("ffi")
local base = require("resty.core.base")
local library = require("kstat.publish.library")
local names = require("kstat.nginx.names")
local rows = require("kstat.nginx.rows")
local upstreams = require("kstat.nginx.upstreams")

ffi.cdef([[
typedef struct { long seconds, nanoseconds; } kstat_nginx_time;
int kstat_nginx_clock(int clock, kstat_nginx_time *to) __asm__("clock_gettime");
int kstat_nginx_var(void *r, const char *name, size_t n, char *lowcase, int capture, unsigned char **value,
  size_t *length, char **message) __asm__("ngx_http_lua_ffi_var_get");
intptr_t kstat_nginx_number(const unsigned char *digits, size_t n) __asm__("ngx_atoi");
int kstat_nginx_status(void *r) __asm__("ngx_http_lua_ffi_get_resp_status");
int kstat_nginx_method(void *r) __asm__("ngx_http_lua_ffi_req_get_method");
int kstat_nginx_is_subrequest(void *r) __asm__("ngx_http_lua_ffi_is_subrequest");
double kstat_nginx_start(void *r) __asm__("ngx_http_lua_ffi_req_start_time");
double kstat_nginx_now(void) __asm__("ngx_http_lua_ffi_now");
]])

local M = {}

local C = ffi.C
local lowcase = ffi.new("char[256]")
local value, length, message = ffi.new("unsigned char *[1]"), ffi.new("size_t[1]"), ffi.new("char *[1]")

-- The variables of the labels that have names.
local VARIABLES = { server = "server_name", host = "host", location = "kstat_location", upstream = "kstat_upstream",
  cache = "upstream_cache_status", tls = "ssl_protocol" }

-- Methods as nginx numbers them; a client may send any other word.
local METHODS = { [2] = "GET", [4] = "HEAD", [8] = "POST", [16] = "PUT", [32] = "DELETE", [64] = "MKCOL",
  [128] = "COPY", [256] = "MOVE", [512] = "OPTIONS", [1024] = "PROPFIND", [2048] = "PROPPATCH", [4096] = "LOCK",
  [8192] = "UNLOCK", [16384] = "PATCH", [32768] = "TRACE" }

-- Codes that have counters of their own where status = "code"; others are counted by their class.
local CODES = { 200, 201, 202, 204, 206, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 406, 408, 409, 410,
  411, 412, 413, 414, 415, 416, 421, 422, 426, 428, 429, 431, 444, 451, 494, 495, 496, 497, 499, 500, 501, 502, 503,
  504, 505, 507 }

-- A variable of a request, for labels that are met for the first time.
local function read(r, name)
  return C.kstat_nginx_var(r, name, #name, lowcase, 0, value, length, message) == 0 and
    ffi.string(value[0], length[0]) or ""
end

--- The labels of setup() as tables with `name` and where they come from: `variable`, `call`, or neither: the method.
-- @tparam table list
-- @treturn {table,...}
-- @raise a line about a label that is none
function M.labels(list)
  names.check_list(list)
  local labels, seen = {}, { code = true, other = true, request_bytes = true, response_bytes = true }
  for i, given in ipairs(list) do
    local label = type(given) == "table" and { name = given.name } or { name = given, variable = VARIABLES[given] }
    if given == "upstream" and upstreams.knows_names then
      label = { name = given, call = function() return upstreams.name(base.get_request(), read) end }
    elseif type(given) == "table" and type(given.from) == "function" then
      label.call = given.from
    elseif type(given) == "table" then
      label.variable = type(given.from) == "string" and given.from:match("^%$([%w_]+)$") or
        error(("labels[%d]: from = \"$variable\" or a function expected"):format(i), 0)
    elseif not (label.variable or label.call) and given ~= "method" then
      error(("labels[%d]: '%s' is none of server, host, location, method, upstream, cache, tls"):format(i,
        tostring(given)), 0)
    end
    local name = label.name
    if not names.is_label(name) or seen[name] then
      error(("labels[%d]: '%s' cannot be the name of a label"):format(i, tostring(name)), 0)
    end
    seen[name] = true
    labels[i] = label
  end
  return labels
end

--- The statistics of a row that counts codes.
-- @string status "class" or "code"
-- @string desc
-- @treturn {table,...}
function M.code_statistics(status, desc)
  local list = {}
  for i = 1, 5 do
    list[i] = { name = i .. "xx", desc = desc }
  end
  for _, code in ipairs(status == "code" and CODES or {}) do
    list[#list + 1] = { name = tostring(code), desc = desc }
  end
  list[#list + 1] = { name = "other", desc = "requests without a status" }
  return list
end

-- A label's function, which may fail: then the label is empty, and the error log says why, once.
local function caller(label)
  local has_warned = false
  return function()
    local ok, text = pcall(label.call)
    if not ok and not has_warned then
      has_warned = true
      ngx.log(ngx.ERR, "kstat: the function of the label '", label.name, "' failed: ", tostring(text))
    end
    return ok and text ~= nil and tostring(text) or ""
  end
end

-- The lines that set `row` from a request: a table for each label, found by the last one's.
local function lookup(labels)
  local lines, keys = {}, {}
  for i, label in ipairs(labels) do
    local read_variable = label.variable and ("C.kstat_nginx_var(r, %q, %d, lowcase, 0, value, length, message) == 0")
      :format(label.variable, #label.variable)
    local key
    if label.variable == "server_name" then
      -- It is always the same memory of the server's configuration.
      key = read_variable .. " and tonumber(cast(word, value[0])) or 0"
    elseif label.variable then
      key = read_variable .. " and to_string(value[0], length[0]) or ''"
    elseif label.call then
      key = ("calls[%d]()"):format(i)
    else
      key = "C.kstat_nginx_method(r)"
    end
    keys[i] = "key" .. i
    lines[#lines + 1] = ("local key%d = %s"):format(i, key)
  end
  lines[#lines + 1] = "local row = top"
  for i = 1, #labels do
    lines[#lines + 1] = ("row = row[key%d]"):format(i)
    if i < #labels then
      lines[#lines + 1] = "if row then"
    end
  end
  lines[#lines + 1] = ("end "):rep(#labels - 1)
  if #labels == 0 then
    lines[#lines] = "local row = top[1]"
  end
  lines[#lines + 1] = ("if not row then row = miss(r, { %s }) end"):format(table.concat(keys, ", "))
  return table.concat(lines, "\n    ")
end

local SOURCE = [[
  local x, C, cast, to_string, word, value, length, message, lowcase = ...
  local get_request, top, calls, miss, set = x.get_request, x.top, x.calls, x.miss, x.set
  local entered, in_flight, count_attempts, cache = x.entered, x.in_flight, x.count_attempts, x.cache
  local index, add, update = set.index, x.library.fn.add, x.library.fn.blob_update_int
  local count = x.library.fn.add_value
  local now, tonumber, server = x.now, tonumber, set.server
  return function()
    local r = get_request()
    if not r or server.is_damaged then return end
    LOOKUP
    if not row then return end
    local hot = row.hot or set:heat(row)
    if hot.place[0] ~= hot.crtime or hot.times_place[0] ~= hot.times_crtime then
      set:renew(row)
      if server.is_damaged then return end
      hot = set:heat(row)
    end
    local status = C.kstat_nginx_status(r)
    local cell = hot.cells[status >= 0 and status < 1024 and index[status] or 0]
    if hot.own then cell[0] = cell[0] + 1 else add(cell, 1) end
    BYTES
    local start = C.kstat_nginx_start(r)
    if entered.used then
      local id = tonumber(cast(word, r))
      local since = entered[id]
      if since then
        entered[id] = nil
        in_flight:add(-1)
        PRECISE_START
      end
    end
    local us = (now() - start) * 1e6 + 0.5
    if not (us >= 1) then us = 0 end
    COUNT_TIME
    UPSTREAMS
  end
]]

-- nginx writes these numbers as digits, and its own function reads them.
local BYTES = [[
    if C.kstat_nginx_var(r, "request_length", 14, lowcase, 0, value, length, message) == 0 then
      local n, bytes = C.kstat_nginx_number(value[0], length[0]), hot.request_bytes
      if n > 0 then if hot.own then bytes[0] = bytes[0] + n else add(bytes, n) end end
      COUNT_IN
    end
    if C.kstat_nginx_var(r, "bytes_sent", 10, lowcase, 0, value, length, message) == 0 then
      local n, bytes = C.kstat_nginx_number(value[0], length[0]), hot.response_bytes
      if n > 0 then if hot.own then bytes[0] = bytes[0] + n else add(bytes, n) end end
      COUNT_OUT
    end
]]

local UPSTREAMS = [[
    if C.kstat_nginx_var(r, "upstream_addr", 13, lowcase, 0, value, length, message) == 0 then count_attempts(r) end
    if C.kstat_nginx_var(r, "upstream_cache_status", 21, lowcase, 0, value, length, message) == 0 then
      local state = cache[to_string(value[0], length[0])]
      if state then state:add() end
    end
]]

local clock = ffi.new("kstat_nginx_time[1]")

-- The time of day, as exact as the system has it; nginx's own moves in steps of a millisecond.
local function precise_now()
  C.kstat_nginx_clock(0, clock)
  return tonumber(clock[0].seconds) + tonumber(clock[0].nanoseconds) * 1e-9
end

local function cached_now()
  return tonumber(C.kstat_nginx_now())
end

-- Finds the row of labels that are met for the first time, and remembers it.
local function finder(labels, set)
  return function(r, keys)
    local raw = {}
    for i, label in ipairs(labels) do
      if label.variable == "server_name" then
        raw[i] = read(r, label.variable)
      elseif label.variable or label.call then
        raw[i] = keys[i]
      else
        raw[i] = METHODS[keys[i]] or "OTHER"
      end
    end
    local row, may_remember = set:find(raw)
    if may_remember and row then
      local at = set.top
      for i = 1, #keys - 1 do
        at[keys[i]] = at[keys[i]] or {}
        at = at[keys[i]]
      end
      at[keys[#keys] or 1] = row
    end
    return row
  end
end

--- Makes the functions of the phases.
-- @tparam server server
-- @tparam table options of setup(), checked; `labels` as M.labels() returns them
-- @tparam set set the rows of requests
-- @treturn function for log_by_lua
-- @treturn function for rewrite_by_lua: notes when a request began, and that it is in flight
-- @treturn function ends that early
function M.functions(server, options, set)
  local entered, starts, calls = {}, {}, {}
  for i, label in ipairs(options.labels) do
    calls[i] = label.call and caller(label)
  end
  local function count_in(measures, number)
    local lines = {}
    for i, distribution in ipairs(set.kind.distributions) do
      lines[#lines + 1] = distribution.measures == measures and ("if %s ~= 0 then set:fail() end"):format(
        distribution.call:format(("hot.distributions[%d]"):format(i - 1), number)) or nil
    end
    return table.concat(lines, " ")
  end
  local source = SOURCE:gsub("%u[%u_]+%u", {
    LOOKUP = lookup(options.labels),
    BYTES = options.bytes and BYTES:gsub("COUNT_(%u+)", function(way) return count_in(way:lower(), "n") end) or "",
    COUNT_TIME = count_in("time", "us"),
    PRECISE_START = options.precise and "start = since" or "",
    UPSTREAMS = options.upstreams and UPSTREAMS or "",
  })
  local x = { get_request = base.get_request, top = set.top, calls = calls, miss = finder(options.labels, set),
    set = set, library = library,
    entered = entered, in_flight = server.in_flight, now = options.precise and precise_now or cached_now }
  if options.upstreams then
    x.count_attempts, x.cache = upstreams.counter(server, read), upstreams.cache(server)
  end
  local log = assert(loadstring(source, "=kstat.nginx.log"))(x, C, ffi.cast, ffi.string, rows.word, value, length,
    message, lowcase)

  local function enter()
    local r = base.get_request()
    if not r or C.kstat_nginx_is_subrequest(r) ~= 0 then
      return
    end
    local id, start = tonumber(ffi.cast(rows.word, r)), tonumber(C.kstat_nginx_start(r))
    if entered[id] and starts[id] == start then
      return -- an internal redirect
    end
    if not entered[id] then
      entered.used = true
      server.in_flight:add(1)
    end
    entered[id], starts[id] = x.now(), start
  end

  -- Without this a location that answers with metrics, and does not call log(), would stay in flight.
  local function leave()
    local r = base.get_request()
    local id = r and tonumber(ffi.cast(rows.word, r))
    if id and entered[id] then
      entered[id] = nil
      server.in_flight:add(-1)
    end
  end
  return log, enter, leave
end

return M
