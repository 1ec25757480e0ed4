-- Which row of kstat.nginx a request is counted in, and what is counted there.
local nginx = require("support.nginx")
local run = require("support.run")

describe("a row of kstat.nginx", function()
  local server

  if nginx.is_missing(pending) then return end

  local function start(options)
    server = nginx.new(options):start()
  end

  after_each(function() server:remove() end)

  it("has times in whole milliseconds where they are not precise", function()
    start({ locations = "location /slow { content_by_lua_block { ngx.sleep(0.003) } }" })
    server:get_times(20, "/slow")
    local us = server:counted()["example.com,time:sum"]
    assert.is_true(us >= 20 * 2000 and us % 1000 == 0, us)
  end)

  it("has a counter for each code that servers send, where codes are counted", function()
    start({ setup = "status = 'code'", locations = [[location /code {
      content_by_lua_block { ngx.status = tonumber(ngx.var.arg_n) ngx.say("") } }]] })
    local codes, urls = { 200, 201, 202, 206, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 406, 408, 409, 410, 411,
      412, 413, 414, 415, 416, 421, 422, 426, 428, 429, 431, 451, 500, 501, 502, 503, 504, 505, 507, 418 }, {}
    for i, code in ipairs(codes) do
      urls[i] = ("'http://127.0.0.1:%d/code?n=%d'"):format(server.port, code)
    end
    nginx.sh("curl -s -m 60 %s", table.concat(urls, " "))
    local counted = server:metrics()
    for _, code in ipairs(codes) do
      local name = ('nginx_http_requests_total{server="example.com",code="%s"}'):format(code == 418 and "4xx" or code)
      assert.equal(code == 200 and 2 or 1, counted[name], name) -- one is that of the start
    end
  end)

  it("counts a request that is passed on within nginx once as in flight", function()
    start({ locations = [[rewrite_by_lua_block { kn:enter() }
      location /on { content_by_lua_block { ngx.exec("/") } }]] })
    for _ = 1, 5 do server:get("/on") end
    assert.equal(0, server:metrics().nginx_http_requests_in_flight)
  end)

  it("is that of each upstream that a request was passed to, one after the other", function()
    start({ setup = "upstreams = true", locations = [[location /both { proxy_pass http://127.0.0.1:1;
      error_page 502 = @second; } location @second { proxy_pass http://127.0.0.1:$port2; }]],
      servers = "server { listen 127.0.0.1:$port2; location / { return 204; } }" })
    server:get("/both")
    local counted = server:metrics()
    for address, code in pairs({ ["127.0.0.1:1"] = "5xx", ["127.0.0.1:" .. server.port2] = "2xx" }) do
      local found = 0
      for name, value in pairs(counted) do
        found = found + (name:find(('addr="%s",code="%s"'):format(address, code), 1, true) and value or 0)
      end
      assert.equal(1, found, address)
    end
  end)

  it("takes the name of an upstream from the module ngx.upstream, where there is no map", function()
    server = nginx.new({ setup = "upstreams = true, labels = { 'upstream' }", map = "",
      locations = "location /up { proxy_pass http://127.0.0.1:$port2; }",
      servers = "server { listen 127.0.0.1:$port2; location / { return 204; } }" })
    run.write_file(server.prefix .. "/upstream.lua", "return { current_upstream_name = function() return 'named' end }")
    nginx.sh("mkdir %s/ngx; mv %s/upstream.lua %s/ngx", server.prefix, server.prefix, server.prefix)
    server:start()
    server:get("/up")
    local metrics = server:metrics()
    assert.equal(1, metrics[('nginx_upstream_requests_total{upstream="named",addr="127.0.0.1:%d",code="2xx"}'):format(
      server.port2)])
    assert.is_nil(server:log():find("kstat", 1, true))
  end)

  it("makes room for another one when it is removed", function()
    start({ setup = "labels = { 'host' }, max_rows = 2", locations = [[location /remove { content_by_lua_block {
      ngx.print(tostring(kn:remove("a"))) } }]] }) -- the other row is that of the address
    server:get("/", "-H 'Host: a'")
    assert.equal("true", server:get("/remove"))
    server:get("/", "-H 'Host: b'")
    assert.equal(1, server:metrics()['nginx_http_requests_total{host="b",code="2xx"}'])
  end)

  it("stays, idle as it is, where it is that of refused labels", function()
    start({ setup = "labels = { 'host' }, expire = 2",
      init = [[sizes = kn:histogram("sizes", { labels = { "a" }, percentiles = true })]],
      locations = "location /observe { content_by_lua_block { sizes:observe(7, 'idle') ngx.print('observed') } }" })
    server:get("/", "-H 'Host: idle'")
    assert.equal("observed", server:get("/observe"))
    assert.equal(1, server:counted()["app,sizes,idle,time:count"])
    run.await("the end of idle rows", function()
      local counted = server:counted()
      return not counted["idle:2xx"] and not counted["app,sizes,idle,time:count"]
    end)
    run.shell("sleep 1")
    assert.equal(0, server:counted()["other:2xx"])
    assert.equal(0, server:counted()["app,sizes,other,time:sum"])
    server:get("/observe")
    assert.equal(1, server:counted()["app,sizes,idle,time:count"])
  end)

  it("is removed when idle, and alone, where its labels end like the name of a distribution", function()
    start({ setup = "expire = 2", init = [[ways = kn:counter("ways", { labels = { "host", "way" } })
      sides = kn:counter("sides", { labels = { "way" } })]],
      locations = [[location /count { content_by_lua_block { ways:add(1, "a", "out") ngx.print("counted") } }
        location /once { content_by_lua_block { ways:add(1, "a", "in") sides:add(1, "in") ngx.print("counted") } }]] })
    assert.equal("counted", server:get("/once"))
    local n = 0
    run.await("the end of idle rows", function()
      server:get("/count")
      n = n + 1
      local metrics = server:metrics()
      return not metrics['sides_total{way="in"}'] and not metrics['ways_total{host="a",way="in"}']
    end)
    assert.equal(n, server:metrics()['ways_total{host="a",way="out"}'])
  end)

  it("is not shown where it is that of refused labels and nothing was refused", function()
    start({ setup = "labels = { 'host' }, max_rows = 1" })
    local name = 'nginx_http_requests_total{host="other",code="2xx"}'
    assert.is_nil(server:metrics()[name])
    server:get("/", "-H 'Host: a'")
    assert.equal(1, server:metrics()[name])
  end)

  it("has labels of UTF-8, whatever a client sends", function()
    start({ setup = "labels = { { name = 'agent', from = '$http_user_agent' } }" })
    for _, bytes in ipairs({ "\255", "\237\160\128", "\240\128\128\128", "\244\144\128\128", "\194\155x" }) do
      server:get("/", run.quote("-A" .. bytes))
    end
    run.write_file(server.prefix .. "/text", server:get("/metrics"))
    assert.equal(0, nginx.sh("iconv -f UTF-8 -t UTF-8 %s/text >/dev/null", server.prefix).status)
  end)

  it("is never taken for what nginx has once", function()
    start({ setup = "labels = { 'host', { name = 'a', from = '$arg_a' } }" })
    server:get("/?a=server", "-H 'Host: nginx'")
    local metrics = server:metrics()
    assert.equal(1, metrics['nginx_http_requests_total{host="nginx",a="server",code="2xx"}'])
    assert.equal(0, metrics.nginx_reloads_total)
  end)

  it("is at /metrics also where almost every one has texts of other lengths", function()
    start({ workers = 1, setup = "max_rows = 5000", init = [[jobs = kn:counter("jobs", { help = ("help "):rep(1800),
        labels = { "a", "b", "c", "d" } })]],
      locations = [[location /make { content_by_lua_block {
        for i = 0, 2199 do
          local labels, rest = {}, i
          for digit = 1, 4 do
            labels[digit], rest = ("x"):rep(32 * (rest % 7)) .. i, math.floor(rest / 7)
          end
          jobs:add(1, labels)
        end ngx.print("made") } }]] })
    assert.equal("made", server:get("/make"))
    local _, shown = server:get("/metrics"):gsub("\njobs_total{", "")
    assert.equal(2200, shown)
    assert.equal(2201, server:metrics().kstat_rows) -- with that of requests
  end)

  it("has its numbers where a worker learns of more of their names", function()
    start({ workers = 1, locations = [[location /make { content_by_lua_block {
      local sizes = kn:histogram("sizes", { buckets = { 10, 20 }, percentiles = true })
      if ngx.var.arg_value then sizes:observe(tonumber(ngx.var.arg_value)) end
      ngx.print("made") } }]] })
    server:get("/make?value=15")
    server:reload(1) -- the new worker does not know of the metric
    assert.equal(15, server:metrics().sizes_sum)
    server:get("/make")
    local counted = server:metrics()
    assert.same({ 15, 1 }, { counted.sizes_sum, counted['sizes_bucket{le="20"}'] })
  end)
end)
