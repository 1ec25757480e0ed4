-- What metrics cost in nginx: CPU time of the worker for each request, beyond that without metrics, in rounds that take
-- turns, ours beside metrics in a shared dictionary (bench/helper/shared_metrics.lua) as their documentation uses them,
-- in log_by_lua_block itself, and in their best form, a function of a module. The same series: requests by server and
-- code, times by server. Then what an update of a metric of one's own costs, and scrapes of the families and of one's
-- own metrics at size (bench/helper/nginx_scrape.lua). The median of the rounds counts: the variants of one round meet
-- the same machine.
-- SPDX-License-Identifier: MIT
local figure = require("figure")

local ROUNDS, SECONDS = tonumber(os.getenv("KSTAT_BENCH_ROUNDS") or 7), 1

local function capture(command)
  local p = assert(io.popen(command, "r"))
  local text = p:read("a")
  p:close()
  return text
end

local binary = capture("PATH=$PATH:/usr/sbin command -v nginx"):match("%S+")
if not binary or capture("command -v wrk") == "" then
  io.stderr:write("bench/nginx: nginx and wrk are not installed\n")
  os.exit(1)
end

local dir = capture("mktemp -d"):match("%S+")
os.execute("chmod 755 " .. dir) -- workers are another user
local root, build = os.getenv("PWD"), os.getenv("KSTAT_BUILD")

local function write_file(name, text)
  local f = assert(io.open(dir .. "/" .. name, "w"))
  f:write(text)
  f:close()
end

local BUCKETS = ".001, .002, .005, .01, .02, .025, .05, .075, .1, .2, .25, .5, .75, 1, 1.5, 2.5, 4, 5, 7.5, 10"

-- Each has an nginx of its own: what LuaJIT compiled, or gave up, for one does not touch another.
local VARIANTS = {
  none = { port = 28711, log = "" },
  empty = { port = 28712, log = "log_by_lua_block { return }" },
  ours = { port = 28713, log = "log_by_lua_block { kn:log() }",
    setup = "status = 'code', bytes = false, percentiles = false, buckets = { BUCKETS }" },
  whole = { port = 28714, log = "log_by_lua_block { kn:log() }", setup = "upstreams = true, dicts = true" },
  block = { port = 28715, log = [[log_by_lua_block { requests:inc(1, { ngx.var.server_name, ngx.var.status })
    latency:observe(tonumber(ngx.var.request_time), { ngx.var.server_name }) }]] },
  dropin = { port = 28718, log = [[log_by_lua_block { theirs:inc(1, { ngx.var.server_name, ngx.var.status })
    times:observe(tonumber(ngx.var.request_time), { ngx.var.server_name }) }]] },
  best = { port = 28716, log = "log_by_lua_block { shared.log(requests, latency) }" },
  series = { port = 28717, log = "log_by_lua_block { kn:log() }", setup = "labels = { 'host' }" },
}
local ORDER = { "none", "empty", "ours", "whole", "block", "dropin", "best" }
local STARTED = { "series", table.unpack(ORDER) }

local CONFIGURATION = [[
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
daemon off; worker_processes 1; pid nginx.pid; error_log error.log warn;
events { worker_connections 512; }
http {
  access_log off; keepalive_requests 100000000;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  lua_package_path 'ROOT/lua/?.lua;ROOT/lua/?/init.lua;ROOT/bench/helper/?.lua;;';
  lua_package_cpath 'BUILD/lib/lua/5.1/?.so;;';
  lua_shared_dict metrics 10m;
  init_by_lua_block {
    kn = require("kstat.nginx").setup{ SETUP }
    shared = require("shared_metrics")
    requests, latency = shared.counter("requests"), shared.histogram("latency", { BUCKETS })
    prometheus = require("kstat.nginx.prometheus").init()
    theirs = prometheus:counter("nginx_http_requests_total", nil, { "host", "status" })
    times = prometheus:histogram("nginx_http_request_duration_seconds", nil, { "host" }, { BUCKETS })
    jobs = kn:counter("jobs", { labels = { "queue" } })
    plain = kn:histogram("plain", { unit = "seconds", buckets = { BUCKETS } })
    fine = kn:histogram("fine", { unit = "seconds", percentiles = true })
  }
  init_worker_by_lua_block { kn:worker() shared.start(ngx.shared.metrics) }
  server { listen 127.0.0.1:PORT; server_name example.com; location / { return 204; } LOG
    location /updates { content_by_lua_block {
    local function least(f, n)
      local best = math.huge
      for _ = 1, 9 do
        local before = os.clock()
        f(n)
        best = math.min(best, (os.clock() - before) / n * 1e9)
      end
      ngx.say(best)
    end
    local ok = jobs:with("mail")
    least(function(n) for i = 1, n do ok:add() end end, 1e7)
    least(function(n) for i = 1, n do jobs:add(1, "mail") end end, 1e7)
    least(function(n) for i = 1, n do plain:observe(i % 1024 * 0.0031) end end, 1e6)
    least(function(n) for i = 1, n do fine:observe(i % 1024 * 0.0031) end end, 1e6)
  } }
  location = /metrics { content_by_lua_block { kn:metrics() } log_by_lua_block { return } }
  # The same, with the longest time of the processor between two points where other requests go on.
  location = /longest { content_by_lua_block {
    local sleep, flush, print, clock, longest = ngx.sleep, ngx.flush, ngx.print, os.clock, 0
    local since = clock()
    local function look() longest, since = math.max(longest, clock() - since), clock() end
    ngx.sleep = function(...) look() local ok = sleep(...) since = clock() return ok end
    ngx.print = function() return true end
    ngx.flush = ngx.print
    kn:metrics()
    look()
    ngx.sleep, ngx.flush, ngx.print = sleep, flush, print
    ngx.print(longest)
  } log_by_lua_block { return } } }
}
]]

write_file("pipeline.lua", [[
init = function()
  local r = {}
  for i = 1, 32 do r[i] = wrk.format("GET", "/") end
  all = table.concat(r)
end
request = function() return all end
]])

local function stop_all()
  for _, name in ipairs(STARTED) do
    local pid = VARIANTS[name].pid
    if pid then
        os.execute(("kill -QUIT %s; while kill -0 %s 2>/dev/null; do sleep 0.05; done"):format(pid, pid))
    end
  end
end

for _, name in ipairs(STARTED) do
  local variant = VARIANTS[name]
  local home = dir .. "/" .. name
  os.execute(("mkdir -p %s %s/k"):format(home, home))
  local text = CONFIGURATION:gsub("%u%u%u+", { LOG = variant.log, SETUP = variant.setup or "", PORT = variant.port })
  write_file(name .. "/nginx.conf", (text:gsub("%u%u%u+", { ROOT = root, BUILD = build, BUCKETS = BUCKETS })))
  variant.pid = capture(("KSTAT_DIR=%s/k %s -p %s -c nginx.conf -e error.log >/dev/null 2>&1 & echo $!"):format(
    home, binary, home)):match("%d+")
end
os.execute("sleep 1")
for _, name in ipairs(STARTED) do
  VARIANTS[name].worker = capture("pgrep -P " .. VARIANTS[name].pid):match("%d+")
  if not VARIANTS[name].worker then
    io.stderr:write(capture(("cat %s/%s/error.log"):format(dir, name)))
    stop_all()
    os.execute("rm -rf " .. dir)
    os.exit(1)
  end
end

-- Nanoseconds that a worker has run.
local function cpu(worker)
  local f = assert(io.open("/proc/" .. worker .. "/schedstat"))
  local ns = f:read("n")
  f:close()
  return ns
end

local costs = {}
for round = 0, ROUNDS do
  costs[round] = {}
  for _, name in ipairs(ORDER) do
    local worker = VARIANTS[name].worker
    local before = cpu(worker)
    local text = capture(("wrk -t1 -c8 -d%d -s %s/pipeline.lua http://127.0.0.1:%d/"):format(SECONDS, dir,
      VARIANTS[name].port))
    costs[round][name] = (cpu(worker) - before) / tonumber(text:match("(%d+) requests in"))
  end
end
local updates = capture("curl -s -m 120 http://127.0.0.1:28713/updates")

-- Rows of hosts with all of nginx's families, until there are about 10,000 series.
write_file("hosts.lua", [[
local i = 0
request = function() i = i + 1 return wrk.format("GET", "/", { Host = ("host%d.example.com"):format(i % 380) }) end
]])
local series = VARIANTS.series
local url = ("http://127.0.0.1:%d"):format(series.port)
capture(("wrk -t1 -c8 -d1 -s %s/hosts.lua %s/"):format(dir, url))
local scrape, longest = math.huge, math.huge
local _, samples = capture(("curl -s %s/metrics"):format(url)):gsub("\n[^#]", "")
for _ = 1, 20 do
  local before = cpu(series.worker)
  capture(("curl -s -o %s/metrics %s/metrics"):format(dir, url))
  scrape = math.min(scrape, (cpu(series.worker) - before) / 1e6)
  longest = math.min(longest, tonumber(capture(("curl -s %s/longest"):format(url))) * 1e3)
end
stop_all()

local function ns(n)
  return ("%.3g ns"):format(n)
end

-- The median of what f makes of each round; the first round warms up.
local function median(f)
  local list = {}
  for round = 1, ROUNDS do
    list[round] = f(costs[round])
  end
  table.sort(list)
  return list[(#list + 1) // 2]
end

local function beyond_none(name)
  return median(function(c) return c[name] - c.none end)
end

local function compare(name, what, most, goal)
  local ratio = median(function(c) return (c.ours - c.none) / (c[name] - c.none) end)
  figure.print("nginx request, series of others", ns(beyond_none("ours")), what .. " " .. ns(beyond_none(name)), ratio,
    goal, ratio <= most)
end

compare("block", "in log_by_lua_block", 1 / 6, "<=0.167x")
compare("best", "in a module", 1 / 2, "<=0.5x")
do
  local ratio = median(function(c) return (c.dropin - c.none) / (c.block - c.none) end)
  figure.print("nginx request, calls of the other module", ns(beyond_none("dropin")), "in log_by_lua_block " ..
    ns(beyond_none("block")), ratio, "<=1x", ratio <= 1)
end
figure.print("nginx request, all defaults and upstreams", ns(beyond_none("whole")), ("a log_by_lua_block that does "
  .. "nothing %s, the request itself %s"):format(ns(beyond_none("empty")), ns(median(function(c) return c.none end))),
  "-", "-", nil)
local names = { "counter, labels resolved", "counter, by label", "histogram, 20 buckets",
  "histogram with percentiles" }
local goals, i = { 3, nil, 22, 27 }, 0
for value in updates:gmatch("(%S+)\n") do
  i = i + 1
  local goal = goals[i]
  figure.print("nginx " .. names[i], ns(tonumber(value)), "-", "-", goal and ("<=%d ns"):format(goal) or "-",
    goal and tonumber(value) <= goal)
end
figure.print(("nginx /metrics, %d series of its families"):format(samples), ("%.3g ms"):format(scrape), "-", "-",
  "<=3 ms", scrape <= 3)
figure.print("nginx /metrics, longest time without a yield", ("%.3g ms"):format(longest), "-", "-", "<=2 ms",
  longest <= 2)
require("nginx_scrape")({ binary = binary, capture = capture, cpu = cpu }, dir)
os.execute("rm -rf " .. dir)
