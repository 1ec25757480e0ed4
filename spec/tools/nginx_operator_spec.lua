-- What an operator of nginx does wrong is answered in the error log, and mended by a reload.
local nginx = require("support.nginx")
local run = require("support.run")

describe("kstat.nginx for its operator", function()
  local server

  if nginx.is_missing(pending) then return end

  local function start(options)
    server = nginx.new(options):start()
  end

  after_each(function() server:remove() end)

  for what, break_it in pairs({ file = "rm %s/nginx.kseg", directory = "rm -r %s" }) do
    it(("makes a new %s at a reload where it was removed"):format(what), function()
      start()
      nginx.sh(break_it, server.kstats)
      assert.equal("503", server:get("/metrics", "-o /dev/null -w '%{http_code}'"))
      server:reload()
      local n = 0 -- a worker from before the reload may answer, and a request is counted after its answer
      while n < 100 and (server:counted()["example.com:2xx"] or 0) < 3 do
        server:get("/")
        n = n + 1
      end
      assert.is_true(server:metrics()['nginx_http_requests_total{server="example.com",code="2xx"}'] >= 3)
    end)
  end

  it("says once that a label's function fails, and counts with an empty label", function()
    start({ setup = "labels = { { name = 'tenant', from = function() return missing.name end } }" })
    server:configure({ workers = 1 })
    server:reload(1)
    for _ = 1, 3 do server:get("/") end
    assert.is_true(server:metrics()['nginx_http_requests_total{tenant="",code="2xx"}'] >= 3)
    local _, n = server:log():gsub("%[error%][^\n]*the function of the label 'tenant' failed: ", "")
    assert.is_true(n >= 1 and n <= 3, n) -- of each worker
  end)

  it("says what is wrong with options and lists", function()
    for setup, line in pairs({ ["capacity = 2 ^ 70"] = "capacity: a whole number of bytes, 65536 to 1073741824",
        ["labels = { server = true }"] = "labels: a list expected",
        ["labels = { 'server', nil, 'host' }"] = "labels: a list expected" }) do
      server = nginx.new({ setup = setup }):start()
      assert.truthy(server:log():find("no metrics: [^\n]*" .. line), setup)
      server:remove()
    end
    start({ init = "kn:counter('jobs', { labels = { queue = true } })" })
    assert.truthy(server:log():find("labels: a list expected", 1, true))
  end)

  it("refuses names of others by the two servers of the page", function()
    local page = run.read_file("doc/nginx.md")
    local servers = page:match("\n```nginx\n(server { listen 127%.0%.0%.1:9145 default_server;.-)```")
    start({ servers = servers:gsub("9145", "$port2") })
    local function code(host)
      return nginx.sh("curl -s -o /dev/null -w '%%{http_code}' -H 'Host: %s' http://127.0.0.1:%d/metrics", host,
        server.port2).out
    end
    assert.same({ "200", "200", "000" }, { code("localhost:9145"), code("127.0.0.1:9145"), code("evil.example") })
    assert.is_nil(server:counted()[":2xx"])
  end)

  it("is installed by the first blocks of its page, and packs answers where that is asked for", function()
    local page, root = run.read_file("doc/nginx.md"), run.directory()
    local install = page:match("```sh\n.-\n(make [^\n#]-) *#")
    local r = run.tool((install:gsub("make", "make -s BUILD=" .. run.quote(run.build) .. " DESTDIR=" .. root)))
    assert.equal(0, r.status, r.err)
    run.shell("chmod 755 " .. root) -- workers are another user's
    local http = page:match("\n```nginx\n(http {.-\n})\n```")
    -- The two blanks keep away the paths that specs have.
    http = http:gsub("/usr/local", root .. "/usr/local"):gsub("^http", "http "):gsub("9145", "$port2"):gsub("}$", [[
      access_log logs/access.log;
      client_body_temp_path logs/body; proxy_temp_path logs/proxy; fastcgi_temp_path logs/fastcgi;
      uwsgi_temp_path logs/uwsgi; scgi_temp_path logs/scgi;
      server { include listen.conf; location / { content_by_lua_block { ngx.say("hello") } }
        location /where { content_by_lua_block { ngx.print(package.searchpath("kstat.nginx", package.path)) } } }
    }]])
    start({ config = "load_module /usr/lib/nginx/modules/ndk_http_module.so;\n" ..
      "load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;\ndaemon off;\npid logs/nginx.pid;\n" ..
      "error_log logs/error.log warn;\nevents { worker_connections 64; }\n" .. http })
    assert.equal(root .. "/usr/local/share/lua/5.1/kstat/nginx/init.lua", server:get("/where"))
    local function head(path, header)
      return nginx.sh("curl -s -D - -o /dev/null %s 'http://127.0.0.1:%d%s'", header, server.port2, path).out
    end
    for _, path in ipairs({ "/metrics", "/metrics?select=cpu", "/kstat.json", "/kstat/", "/kstat/list.json" }) do
      local packed = head(path, "-H 'Accept-Encoding: gzip'")
      assert.matches("\r\nContent%-Encoding: gzip\r\n", packed)
      assert.matches("\r\nVary: Accept%-Encoding\r\n", packed)
      assert.matches("\r\nVary: Accept%-Encoding\r\n", head(path, ""))
      assert.falsy(head(path, ""):find("Content-Encoding", 1, true))
    end
    run.remove_directory(root)
  end)

  it("says why there is no room for a row", function()
    start({ setup = "labels = { 'host' }, capacity = 131072, connections = false", init = [[
      for i = 1, 999 do kn:counter("c" .. i) end ]] })
    assert.truthy(server:log():find("kstat: c999: the segment of nginx is full", 1, true), server:log():sub(-500))
    for i = 1, 20 do
      server:get("/", ("-H 'Host: h%d.example'"):format(i))
    end
    assert.is_true(server:metrics().kstat_rows_refused_total > 0)
    assert.truthy(server:log():find("no room for more rows (the segment of nginx is full", 1, true), server:log())
  end)
end)
