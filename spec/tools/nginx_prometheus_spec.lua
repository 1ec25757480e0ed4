-- The calls of nginx-lua-prometheus in the real nginx: a configuration of its documentation, with one line changed.
local nginx = require("support.nginx")
local run = require("support.run")

local CONFIGURATION = [[
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
daemon off;
worker_processes 2;
pid logs/nginx.pid;
error_log logs/error.log warn;

events { worker_connections 512; }

http {
    access_log off;
    client_body_temp_path logs/body; proxy_temp_path logs/proxy; fastcgi_temp_path logs/fastcgi;
    uwsgi_temp_path logs/uwsgi; scgi_temp_path logs/scgi;
    lua_shared_dict prometheus_metrics 10M;
    %s {
      prometheus = require("kstat.nginx.prometheus").init("prometheus_metrics"%s)
      metric_requests = prometheus:counter(
        "nginx_http_requests_total", "Number of HTTP requests", {"host", "status"})
      metric_latency = prometheus:histogram(
        "nginx_http_request_duration_seconds", "HTTP request latency", {"host"})
      metric_connections = prometheus:gauge(
        "nginx_http_connections", "Number of HTTP connections", {"state"})
      metric_sizes = prometheus:histogram("nginx_http_response_size_bytes", "Size of HTTP responses", nil,
        {10,100,1000,10000,100000,1000000})
      metric_busy = prometheus:counter("busy")
      metric_jobs = prometheus:gauge("jobs", nil, {"queue"})
    }
    log_by_lua_block {
      metric_requests:inc(1, {ngx.var.server_name, ngx.var.status})
      metric_latency:observe(tonumber(ngx.var.request_time), {ngx.var.server_name})
      metric_sizes:observe(tonumber(ngx.var.bytes_sent))
    }
    server {
      include listen.conf;
      server_name example.com;
      location / { content_by_lua_block { ngx.say("hello") } }
      location /missing { return 404; }
      location /use { content_by_lua_block { local f = loadstring(ngx.req.get_uri_args().f) f() ngx.print("used") } }
      location /metrics { log_by_lua_block { } content_by_lua_block {
        metric_connections:set(ngx.var.connections_reading, {"reading"})
        metric_connections:set(ngx.var.connections_waiting, {"waiting"})
        metric_connections:set(ngx.var.connections_writing, {"writing"})
        prometheus:collect()
      } }
      location /data { log_by_lua_block { } content_by_lua_block {
        ngx.print(table.concat(prometheus:metric_data())) } }
    }
}
]]

describe("kstat.nginx.prometheus", function()
  local server

  if nginx.is_missing(pending) then return end

  local function start(phase, options)
    server = nginx.new({ config = CONFIGURATION:format(phase or "init_worker_by_lua_block", options or "") })
    return server:start()
  end
  -- The segment of workers is where their user has it, and stays there.
  after_each(function()
    local pid = server.pid
    server:remove()
    run.shell(("rm -f /dev/shm/kstat-*/prometheus_metrics.%s.kseg"):format(pid))
  end)

  local function use(lua)
    assert.equal("used", server:get("/use", "-G --data-urlencode " .. run.quote("f=" .. lua)))
  end

  it("serves the metrics of that documentation by their names, of all workers", function()
    for _, phase in ipairs({ "init_worker_by_lua_block", "init_by_lua_block" }) do
      start(phase)
      local before = server:metrics()['nginx_http_requests_total{host="example.com",status="200"}']
      server:get_times(20, "/")
      server:get_times(5, "/missing")
      local m = server:metrics()
      assert.equal(before + 20, m['nginx_http_requests_total{host="example.com",status="200"}'])
      assert.equal(5, m['nginx_http_requests_total{host="example.com",status="404"}'])
      assert.equal(before + 25, m['nginx_http_request_duration_seconds_count{host="example.com"}'])
      assert.equal(before + 25, m['nginx_http_request_duration_seconds_bucket{host="example.com",le="0.005"}'])
      assert.equal(before + 25, m.nginx_http_response_size_bytes_count)
      assert.equal(1, m['nginx_http_connections{state="writing"}'])
      assert.equal(0, m.nginx_metric_errors_total)
      local log = server:log()
      assert.is_nil(log:find("kstat", 1, true), log)
      if phase == "init_worker_by_lua_block" then
        local pid = server.pid
        server:remove()
        run.shell(("rm -f /dev/shm/kstat-*/prometheus_metrics.%s.kseg"):format(pid))
      end
    end
  end)

  it("gives the text away, in the format of Prometheus", function()
    start()
    run.write_file(server.prefix .. "/text", server:get("/data"))
    local r = run.shell(("promtool check metrics <%s/text"):format(server.prefix))
    assert.truthy(r.status == 0 or r.err:find("promtool", 1, true) and not r.err:find("error", 1, true), r.err)
    local text = run.read_file(server.prefix .. "/text")
    assert.truthy(text:find("# TYPE nginx_http_requests_total counter\n" ..
      "# HELP nginx_http_requests_total Number of HTTP requests\n", 1, true))
    assert.truthy(text:find('# TYPE nginx_http_request_duration_seconds histogram\n', 1, true))
  end)

  it("counts fractions, exactly and together", function()
    start()
    use("for _ = 1, 3 do metric_busy:inc(0.4) end metric_busy:inc()")
    use("for _ = 1, 10 do metric_busy:inc(0.0001) end")
    assert.equal(2.201, server:metrics().busy)
  end)

  it("raises and lowers gauges, from whichever worker", function()
    start()
    for _ = 1, 10 do use("metric_jobs:inc(1.5, {'mail'}) metric_jobs:inc(-0.5, {'mail'})") end
    assert.equal(10, server:metrics()['jobs{queue="mail"}'])
    use("metric_jobs:set(-7, {'mail'}) metric_jobs:inc(nil, {'mail'})")
    assert.equal(-6, server:metrics()['jobs{queue="mail"}'])
  end)

  it("deletes what has these labels, and resets all of a metric, for all workers", function()
    start()
    for _ = 1, 10 do use("for _, q in ipairs{ 'a', 'b', 'c' } do metric_jobs:inc(1, { q }) end metric_busy:inc(2)") end
    use("metric_jobs:del({'a'})")
    local m = server:metrics()
    assert.same({ nil, 10, 10 }, { m['jobs{queue="a"}'], m['jobs{queue="b"}'], m['jobs{queue="c"}'] })
    use("metric_jobs:reset() metric_busy:reset() metric_latency:reset()")
    m = server:metrics()
    assert.same({}, { m['jobs{queue="b"}'], m['jobs{queue="c"}'], m.busy })
    for _ = 1, 10 do use("metric_jobs:inc(1, {'b'}) metric_busy:inc(1)") end
    m = server:metrics()
    assert.same({ 10, 10 }, { m['jobs{queue="b"}'], m.busy })
    -- The last one is still there when the reset request itself is logged.
    assert.is_true(m['nginx_http_request_duration_seconds_count{host="example.com"}'] <= 11)
  end)

  it("counts what it cannot take as errors, by the name that was asked for, and under a prefix", function()
    start(nil, ", { prefix = 'my_', error_metric_name = 'wrong_total', sync_interval = 3 }")
    use([[metric_requests:inc(1) metric_requests:inc(1, {"a"}) metric_requests:inc(1, {"a", "b", "c"})
      metric_requests:inc(-1, {"a", "b"}) metric_latency:observe(nil, {"a"}) metric_jobs:set("x", {"a"})]])
    local m = server:metrics()
    assert.equal(6, m.my_wrong_total)
    assert.equal(0, m['my_nginx_http_requests_total{host="a",status="b"}'])
    assert.is_true(m['my_nginx_http_requests_total{host="example.com",status="200"}'] > 0)
  end)

  it("goes on counting when nginx is reloaded or all workers are killed, and starts anew with nginx", function()
    start()
    for _ = 1, 10 do use("metric_busy:inc(1)") end
    server:reload()
    for _, worker in ipairs(server:workers()) do server:signal("KILL", worker) end
    run.await("new workers", function() return server:get("/") == "hello\n" and #server:workers() == 2 end)
    for _ = 1, 10 do use("metric_busy:inc(1)") end
    assert.equal(20, server:metrics().busy)
    local function segments()
      return run.shell(("find %s /dev/shm -name 'prometheus_metrics.%s.kseg' 2>/dev/null"):format(server.kstats,
        server.pid)).out
    end
    local first, old = segments(), server.pid
    assert.truthy(first:find(old, 1, true), first)
    server:stop()
    server:start()
    assert.equal(0, server:metrics().busy)
    assert.equal("", run.shell("ls " .. first:gsub("\n", " ") .. " 2>/dev/null").out)
  end)
end)
