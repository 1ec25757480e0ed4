-- What goes wrong around the metrics of nginx does not stop nginx, costs no request, and is said in one line.
local nginx = require("support.nginx")
local run = require("support.run")

describe("kstat.nginx", function()
  local server

  if nginx.is_missing(pending) then return end

  local function start(options)
    server = nginx.new(options)
    return server:start()
  end

  after_each(function()
    if server then
      server:remove()
      server = nil
    end
  end)

  local function lines_of_kstat(log)
    local lines = {}
    for line in log:gmatch("[^\n]+") do
      if line:find("kstat", 1, true) then
        lines[#lines + 1] = line
      end
    end
    return lines
  end

  -- nginx serves, and has said in one line of its log why it does not count.
  local function serves_without_metrics(words)
    assert.equal("hello\n", server:get("/"))
    local lines = lines_of_kstat(server:log())
    assert.equal(1, #lines, table.concat(lines, "\n"))
    assert.truthy(lines[1]:find("no metrics: .*" .. words), lines[1])
    assert.truthy(server:get("/metrics", "-w '%{http_code}'"):find("^no metrics: .*\n503$"))
    for _, path in ipairs({ "/own", "/kstat.json", "/kstat/" }) do
      server:get(path)
    end
    assert.equal(1, #lines_of_kstat(server:log()))
  end

  local OWN = [[jobs = kn:counter("jobs", { labels = { "queue" } }) depth = kn:gauge("depth")
    wait = kn:histogram("wait", { unit = "seconds", buckets = { .1, 1 } }) pool = kn:queue("pool") ]]
  local OWN_PAGE = [[location = /own { content_by_lua_block { jobs:add(2, "mail") jobs:with("mail"):add() depth:set(1.5)
    wait:observe(.1) wait:observe(-3) pool:enter() pool:start() pool:done(7) ngx.say("counted") } }]]

  it("serves where the directory cannot be made", function()
    start({ kstats = "/dev/null/kstat", init = OWN, locations = OWN_PAGE })
    serves_without_metrics("/dev/null/kstat")
    server:stop()
    server.kstats = "/nowhere/at/all"
    nginx.sh("rm %s/logs/*.log", server.prefix)
    server:start()
    serves_without_metrics("/nowhere/at/all")
  end)

  it("serves where the directory can be read only", function()
    start({ kstats = "/sys/kernel", init = OWN, locations = OWN_PAGE })
    serves_without_metrics("/sys/kernel")
  end)

  it("serves where the file system is full", function()
    local directory = run.directory()
    if nginx.sh("mount -t tmpfs -o size=16k kstat %s", directory).status ~= 0 then
      pending("this user may not mount")
      return
    end
    local ok, problem = pcall(function()
      start({ kstats = directory, init = OWN, locations = OWN_PAGE })
      serves_without_metrics("no room")
      server:stop()
    end)
    nginx.sh("umount %s; rmdir %s", directory, directory)
    assert(ok, problem)
  end)

  it("serves where another nginx has the name, and says what to set", function()
    start({ init = OWN, locations = OWN_PAGE })
    local first = server
    start({ kstats = first.kstats, init = OWN, locations = OWN_PAGE })
    serves_without_metrics("another one needs a name of its own: setup{ name")
    server:configure({ setup = "name = 'second'" })
    server:reload()
    server:get("/")
    assert.equal(1, server:counted("second")["example.com:2xx"])
    server:remove()
    server = first
  end)

  it("says which process has the name, also where the one that took it became a daemon", function()
    start({ daemon = true })
    local first = server
    start({ kstats = first.kstats })
    serves_without_metrics(("published by process %s %%(nginx%%); an nginx beside"):format(first.pid))
    server:remove()
    server = first
  end)

  it("serves whatever the options are", function()
    for _, setup in ipairs({ "nonsense = 1", "labels = { 'nothing' }", "buckets = { 3, 2 }", "status = 7",
        "labels = { { name = 'le', from = '$host' } }", "labels = { { name = 'snaptime', from = '$host' } }" }) do
      start({ setup = setup, init = OWN, locations = OWN_PAGE })
      serves_without_metrics("")
      server:remove()
    end
    server = nil
  end)

  it("says what names and how many buckets are possible", function()
    local function buckets(n)
      return ("buckets = (function() local b = {} for i = 1, %d do b[i] = i end return b end)()"):format(n)
    end
    for setup, line in pairs({ ["name = 'a b'"] = "name: 1 to 30 letters", ["name = '.a'"] = "name: 1 to 30 letters",
        ["name = ('x'):rep(31)"] = "name: 1 to 30 letters",
        [buckets(4089)] = "at most 4088 expected for time, got 4089",
        [buckets(1358) .. ", upstreams = true"] = "at most 1357 expected for connect, header, response" }) do
      start({ setup = setup })
      serves_without_metrics(line)
      server:remove()
    end
    for _, setup in ipairs({ buckets(4088), buckets(1357) .. ", upstreams = true", "name = ('x'):rep(30)" }) do
      start({ setup = setup })
      assert.equal("hello\n", server:get("/"))
      assert.same({}, lines_of_kstat(server:log()))
      server:remove()
    end
    server = nil
  end)

  it("counts metrics of one's own, and refuses what is no value without harm", function()
    start({ init = OWN .. [[bad = kn:counter("not a name") worse = kn:histogram("h", { buckets = { 2, 1 } })
      small = kn:counter("small", { unknown = 1 })]], locations = OWN_PAGE .. [[location = /bad { content_by_lua_block {
      jobs:add(-1, "mail") jobs:add("x") jobs:add(0/0, nil) jobs:add(1) depth:set("deep")
      wait:observe({}) wait:observe(0/0)
      bad:add(1) worse:observe(1) small:with("x"):add() pool:start() pool:done() ngx.say("fine") } }]] })
    assert.equal("counted\n", server:get("/own"))
    assert.equal("fine\n", server:get("/bad"))
    local m = server:metrics()
    assert.equal(3, m['jobs_total{queue="mail"}'])
    assert.is_nil(m['jobs_total{queue=""}'])
    assert.equal(1.5, m.depth)
    assert.equal(2, m['wait_seconds_bucket{le="0.1"}'])
    assert.equal(0.1, m.wait_seconds_sum)
    assert.equal(1, m.pool_done_total)
    assert.equal(7, m.pool_bytes_total)
    for reason, n in pairs({ labels = 3, type = 2, negative = 1, range = 1, order = 2 }) do
      assert.equal(n, m[('kstat_values_refused_total{reason="%s"}'):format(reason)], reason)
    end
    local lines = lines_of_kstat(server:log()) -- three metrics cannot be made; values are refused for six reasons
    assert.equal(3 + 6, #lines, table.concat(lines, "\n"))
  end)

  -- Sends requests whose Host headers are the lines of a file.
  local function send_hosts(hosts)
    local requests = {}
    for i, host in ipairs(hosts) do
      requests[i] = ("GET / HTTP/1.1\r\nHost: %s\r\n%s\r\n"):format(host, i == #hosts and "Connection: close\r\n" or "")
    end
    run.write_file(server.prefix .. "/requests", table.concat(requests))
    local _, before = server:logged()
    nginx.sh("bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d; cat %s/requests >&3; cat <&3 >/dev/null'", server.port,
      server.prefix)
    -- nginx may log the last one after the client has seen the end.
    run.await("the last request", function() return select(2, server:logged()) >= before + #hosts end)
  end

  it("counts requests of any hosts, and those beyond max_rows as other", function()
    start({ setup = "labels = { 'host', 'method' }, max_rows = 20" })
    local hosts = { ("long"):rep(100), ("long"):rep(100) .. "er", "\255\254", "\237\160\128", "x\194\155y", 'quo"te',
      "a,b", "nginx,server", "up", "example.com", "EXAMPLE.com" }
    for i = 1, 60 do
      hosts[#hosts + 1] = ("h%d.example"):format(i)
    end
    send_hosts(hosts)
    local _, total = server:logged()
    local m = server:metrics()
    local sum, others = 0, 0
    for name, value in pairs(m) do
      if name:find("^nginx_http_requests_total") then
        sum = sum + value
        others = others + (name:find('host="other",method="other"', 1, true) and value or 0)
      end
    end
    assert.equal(total, sum)
    assert.equal(20, m.kstat_rows)
    assert.equal(others, m.kstat_rows_refused_total)
    assert.is_true(others >= 45, others)
    assert.equal(1, #lines_of_kstat(server:log()))
    assert.is_nil(server:log():find("%[error%]"))
  end)

  it("has max_rows rows of each family, so that labels of strangers take none from others, also after idle ones went",
    function()
    start({ setup = "max_rows = 20, expire = 2", init = [[
      hosts = kn:counter("hosts_of_strangers_a", { labels = { "h" } })
      others = kn:counter("hosts_of_strangers_b", { labels = { "h" } })]],
      locations = [[location /host { content_by_lua_block { hosts:add(1, ngx.var.arg_h) ngx.print("counted") } }
        location /other { content_by_lua_block { others:add(1, ngx.var.arg_h) ngx.print("counted") } }]] })
    server:get("/host?h=[1-50]")
    server:get("/other?h=1")
    local m = server:metrics()
    assert.equal(1, m['hosts_of_strangers_b_total{h="1"}'])
    assert.equal(30, m['hosts_of_strangers_a_total{h="other"}'])
    assert.equal(1, #lines_of_kstat(server:log()))
    assert.matches("no room for more rows of hosts_of_strangers_a %(max_rows is 20%)", server:log())
    run.await("the end of idle rows", function()
      local rows = server:counted()
      local n = 0
      for name, value in pairs(rows) do
        n = n + (name:find("^nginx,rows[,~].*:rows$") and value or 0)
      end
      return n == 0
    end)
    server:get("/host?h=[51-60]")
    assert.equal(1, server:metrics()['hosts_of_strangers_a_total{h="60"}'])
  end)

  it("serves without metrics, and says why, when what it has once cannot be published", function()
    for _, name in ipairs({ "nginx,server", "nginx,connections" }) do
      server = nginx.new()
      local config = run.read_file(server.prefix .. "/nginx.conf")
      run.write_file(server.prefix .. "/nginx.conf", (config:gsub("init_by_lua_block { ", ([[%%0
        local methods = debug.getmetatable(require('kstat').publish('nginx')).__index
        local named = methods.named
        methods.named = function(self, spec)
          if spec.name == '%s' then return nil, 'refused by this spec' end
          return named(self, spec)
        end
        ]]):format(name))))
      server:start()
      assert.matches("kstat: no metrics: refused by this spec", server:log(), nil, true)
      assert.equal("hello\n", server:get("/"))
      server:remove()
    end
    start({})
  end)

  it("counts on in the row of refused labels when the segment is full", function()
    start({ setup = "labels = { 'host' }, capacity = 131072, percentiles = false, connections = false" })
    local hosts = {}
    for i = 1, 100 do
      hosts[i] = ("h%d.example"):format(i)
    end
    send_hosts(hosts)
    local m, sum = server:metrics(), 0
    for name, value in pairs(m) do
      sum = sum + (name:find("^nginx_http_requests_total") and value or 0)
    end
    assert.equal(select(2, server:logged()), sum)
    assert.is_true(m.kstat_rows_refused_total > 0)
    assert.is_true(m['nginx_http_requests_total{host="other",code="2xx"}'] > 0)
  end)

  it("keeps its memory across reloads", function()
    start({ init = OWN .. "for i = 1, 300 do kn:counter('c' .. i, { help = ('help'):rep(50) }) end" })
    local function kilobytes()
      return tonumber(run.read_file("/proc/" .. server.pid .. "/status"):match("RssAnon:%s*(%d+)"))
    end
    for _ = 1, 3 do server:reload() end
    local before = kilobytes()
    for _ = 1, 6 do server:reload() end
    -- Without release 300 counters were half a megabyte at each reload.
    -- A sanitizer keeps released memory for a while.
    assert.is_true(kilobytes() - before < (os.getenv("ASAN_OPTIONS") and 200000 or 1000), kilobytes() - before)
    assert.equal(9, server:metrics().nginx_reloads_total)
    assert.same({}, lines_of_kstat(server:log()))
  end)

  it("counts each attempt to reach an upstream", function()
    start({ setup = "upstreams = true", locations = "location /up { proxy_pass http://backend; }",
      servers = [[upstream backend { server 127.0.0.1:1; server 127.0.0.1:$port2; }
        server { listen 127.0.0.1:$port2; server_name back; location / { return 204; } }]] })
    server:get_times(4, "/up")
    local m = server:metrics()
    local good = ('nginx_upstream_requests_total{upstream="backend",addr="127.0.0.1:%d",code="2xx"}'):format(
      server.port2)
    assert.equal(4, m[good])
    local bad = m['nginx_upstream_requests_total{upstream="backend",addr="127.0.0.1:1",code="5xx"}']
    assert.is_true(bad >= 1, bad)
    assert.equal(4, m[('nginx_upstream_connect_duration_seconds_count{upstream="backend",addr="127.0.0.1:%d"}'):format(
      server.port2)])
    assert.equal(0, m['nginx_upstream_connect_duration_seconds_count{upstream="backend",addr="127.0.0.1:1"}'])
  end)

  it("says once that upstreams have no names without the map", function()
    start({ setup = "upstreams = true", locations = "location /up { proxy_pass http://127.0.0.1:$port2; }",
      servers = "server { listen 127.0.0.1:$port2; location / { return 204; } }" })
    server:configure({ workers = 1, map = "" })
    server:reload(1)
    server:get_times(3, "/up")
    local lines = lines_of_kstat(server:log())
    assert.equal(1, #lines, table.concat(lines, "\n"))
    assert.truthy(lines[1]:find("map $proxy_host $kstat_upstream { default $proxy_host; }", 1, true))
    assert.equal(3, server:metrics()[('nginx_upstream_requests_total{upstream="",addr="127.0.0.1:%d",code="2xx"}')
      :format(server.port2)])
  end)

  it("gives the wrong parameters of a request a status and a line, as the exporter does", function()
    start()
    for _, path in ipairs({ "/metrics", "/kstat.json", "/kstat/list.json" }) do
      assert.equal("no parameter 'selct'; there is 'select'\n400",
        server:get(path .. "?selct=cpu", "-w '%{http_code}'"))
      assert.equal("select: at most 100 in one request\n400",
        server:get(path .. "?" .. ("select=a&"):rep(101), "-w '%{http_code}'"))
      assert.equal("400", server:get(path .. "?select=/(/", "-o /dev/null -w '%{http_code}'"))
      assert.equal("200", server:get(path .. "?" .. ("select=a&"):rep(100), "-o /dev/null -w '%{http_code}'"))
    end
    -- Without a value it selects everything.
    assert.truthy(server:get("/metrics?select"):find("\nkstat_unix_ncpus{", 1, true))
  end)

  it("removes rows that are idle, and those that it is told to, and counts again in them", function()
    start({ setup = "labels = { 'host' }, expire = 2", init = OWN,
      locations = OWN_PAGE .. [[location = /remove {
        content_by_lua_block { ngx.say(tostring(jobs:remove("mail"))) } }]] })
    server:get_times(20, "/own")
    assert.equal(60, server:metrics()['jobs_total{queue="mail"}'])
    assert.equal("true\n", server:get("/remove"))
    assert.is_nil(server:metrics()['jobs_total{queue="mail"}'])
    server:get_times(20, "/own")
    assert.equal(60, server:metrics()['jobs_total{queue="mail"}'])
    server:get("/", "-H 'Host: idle.example'")
    local name = 'nginx_http_requests_total{host="idle.example",code="2xx"}'
    assert.equal(1, server:metrics()[name])
    run.await("the end of an idle row", function() return not server:metrics()[name] end)
    server:get_times(20, "/", "-H 'Host: idle.example'")
    assert.equal(20, server:metrics()[name])
  end)

  it("counts what is in flight without what killed workers served, and times below a millisecond", function()
    start({ setup = "precise = true",
      locations = [[rewrite_by_lua_block { kn:enter() } error_page 418 = @again; location /again { return 418; }
        location @again { return 200 "again"; } location /slow { content_by_lua_block { ngx.sleep(60) } } ]] })
    server:get_times(10, "/again")
    assert.equal(0, server:metrics().nginx_http_requests_in_flight)
    local slow = run.start(("curl -s -m 60 http://127.0.0.1:%d/slow"):format(server.port), "/dev/null")
    run.await("a slow request", function() return server:metrics().nginx_http_requests_in_flight == 1 end)
    for _, worker in ipairs(server:workers()) do server:signal("KILL", worker) end
    run.await("the end of the request", function() return not run.alive(slow) end)
    run.await("new workers", function() return #server:workers() == 2 end)
    assert.equal(0, server:metrics().nginx_http_requests_in_flight)
    local sum = server:metrics()['nginx_http_request_duration_seconds_sum{server="example.com"}']
    assert.is_true(sum > 0 and sum < 60 and sum * 1000 % 1 ~= 0, sum)
  end)
end)
