-- Scrapes of counters of one's own with two labels, for nginx.lua: an nginx with one worker for each number of rows, of
-- ours and of the other module. That is nginx-lua-prometheus where NGINX_LUA_PROMETHEUS names the directory that it is
-- in, and else shared_metrics.lua, which does the same with a shared dictionary.
-- SPDX-License-Identifier: MIT
local figure = require("figure")

local PORT = 28720
-- Rows, the size of the dictionary that holds them, and what one scrape may take: ms, ms without a yield, MB.
local SIZES = { { 2000, "10m" }, { 10000, "20m", 6, 2, 30 }, { 100000, "200m", 80, 2, 120 } }

local CONFIGURATION = [[
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
daemon off; worker_processes 1; pid nginx.pid; error_log error.log warn;
events { worker_connections 512; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  lua_package_path 'ROOT/lua/?.lua;ROOT/lua/?/init.lua;ROOT/bench/helper/?.lua;OTHER/?.lua;;';
  lua_package_cpath 'BUILD/lib/lua/5.1/?.so;;';
  SETUP
  server { listen 127.0.0.1:PORT;
    location = /make { content_by_lua_block {
      for i = 1, ROWS do add(i, "queue" .. i % 1000, "result" .. math.floor(i / 1000)) end
      collectgarbage() } }
    location = /metrics { content_by_lua_block { scrape() } }
    # The longest time of the processor between two points where other requests go on.
    location = /longest { content_by_lua_block {
      local sleep, flush, print, clock, longest = ngx.sleep, ngx.flush, ngx.print, os.clock, 0
      local since = clock()
      local function look() longest, since = math.max(longest, clock() - since), clock() end
      ngx.sleep = function(...) look() local ok = sleep(...) since = clock() return ok end
      ngx.print = function() return true end
      ngx.flush = ngx.print
      scrape()
      look()
      ngx.sleep, ngx.flush, ngx.print = sleep, flush, print
      ngx.print(longest * 1e3)
    } } } }
]]

local OURS = [[
  init_by_lua_block { kn = require("kstat.nginx").setup{ max_rows = 200000 }
    local jobs = kn:counter("jobs", { labels = { "queue", "result" } })
    function add(n, queue, result) jobs:add(n, queue, result) end
    function scrape() kn:metrics() end }
  init_worker_by_lua_block { kn:worker() }
]]

local STAND_IN = [[
  lua_shared_dict metrics SIZE;
  init_by_lua_block { shared = require("shared_metrics")
    local jobs = shared.counter("jobs")
    function add(n, queue, result) jobs:inc(n, { queue, result }) end
    function scrape() shared.collect(ngx.shared.metrics) end }
  init_worker_by_lua_block { shared.start(ngx.shared.metrics) }
]]

local ORIGINAL = [[
  lua_shared_dict metrics SIZE;
  init_worker_by_lua_block { prometheus = require("prometheus").init("metrics")
    local jobs = prometheus:counter("jobs", "jobs done", { "queue", "result" })
    function add(n, queue, result) jobs:inc(n, { queue, result }) end
    function scrape() prometheus:collect() end }
]]

local original = os.getenv("NGINX_LUA_PROMETHEUS")
local url = ("http://127.0.0.1:%d"):format(PORT)

local function memory(worker)
  for line in io.lines("/proc/" .. worker .. "/status") do
    local kilobytes = line:match("^VmRSS:%s+(%d+)")
    if kilobytes then
      return kilobytes / 1e3
    end
  end
end

-- Measures scrapes of an nginx of this setup: ms of the processor, ms without a yield, MB afterwards, and MB after
-- scrapes that were aborted and that came together. tools: capture(command), cpu(worker) in ns.
local function measure(tools, dir, setup, size)
  local home = dir .. "/scrape"
  local words = { SETUP = setup:gsub("SIZE", size[2]), PORT = PORT, ROWS = size[1], OTHER = original or "",
    ROOT = os.getenv("PWD"), BUILD = os.getenv("KSTAT_BUILD") }
  os.execute(("mkdir -p %s/k"):format(home))
  local f = assert(io.open(home .. "/nginx.conf", "w"))
  f:write((CONFIGURATION:gsub("%u%u%u+", words)))
  f:close()
  local pid = tools.capture(("KSTAT_DIR=%s/k %s -p %s -c nginx.conf -e error.log >/dev/null 2>&1 & echo $!"):format(
    home, tools.binary, home)):match("%d+")
  tools.capture(("curl -s --retry 50 --retry-delay 1 --retry-connrefused -m 120 %s/make"):format(url))
  os.execute("sleep 1.5") -- the other module sums once a second
  local worker = tools.capture("pgrep -P " .. pid):match("%d+")
  local scrape, longest = math.huge, math.huge
  for _ = 1, 10 do
    local before = tools.cpu(worker)
    tools.capture(("curl -s -o %s/metrics %s/metrics"):format(home, url))
    scrape = math.min(scrape, (tools.cpu(worker) - before) / 1e6)
    longest = math.min(longest, tonumber(tools.capture(("curl -s %s/longest"):format(url))) or math.huge)
  end
  local text = assert(io.open(home .. "/metrics")):read("a")
  local rows = select(2, text:gsub("\njobs[^\n]*", ""))
  assert(rows == size[1], ("%d rows of %d are there"):format(rows, size[1]))
  local megabytes = memory(worker)
  tools.capture(("for i in $(seq 20); do timeout 0.02 curl -s --limit-rate 100k -o /dev/null %s/metrics; done"):format(
    url))
  tools.capture(("pids=; for i in $(seq 8); do curl -s -o /dev/null %s/metrics & pids=\"$pids $!\"; done; wait $pids")
    :format(url))
  local after = memory(worker)
  os.execute(("kill -QUIT %s; while kill -0 %s 2>/dev/null; do sleep 0.05; done; rm -rf %s"):format(pid, pid, home))
  return scrape, longest, megabytes, after
end

local function show(what, unit, ours, theirs, goal)
  figure.print("nginx " .. what, ("%.3g %s"):format(ours, unit),
    ("%s %.3g %s"):format(original and "nginx-lua-prometheus" or "a shared dictionary", theirs, unit), ours / theirs,
    goal and ("<=%g %s"):format(goal, unit) or "-", goal and ours <= goal)
end

--- Measures all sizes. tools: `binary` (nginx), `capture`, `cpu`.
return function(tools, dir)
  for _, size in ipairs(SIZES) do
    local ours = { measure(tools, dir, OURS, size) }
    local theirs = { measure(tools, dir, original and ORIGINAL or STAND_IN, size) }
    local rows = ("%d own counters, "):format(size[1])
    show(rows .. "scrape", "ms", ours[1], theirs[1], size[3])
    show(rows .. "longest time without a yield", "ms", ours[2], theirs[2], size[4])
    show(rows .. "memory of the worker", "MB", ours[3], theirs[3], size[5])
    show(rows .. "the same after 20 aborted and 8 simultaneous scrapes", "MB", ours[4], theirs[4], size[5])
  end
end
