-- The metrics of nginx in the real nginx: what kstat counts is what the access log has.
local nginx = require("support.nginx")
local run = require("support.run")

-- LuaJIT is inside nginx, whatever runs this spec: once is enough.
describe("kstat.nginx", function()
  local server

  local function start(options)
    server = nginx.new(options)
    server:start()
  end

  if nginx.is_missing(pending) then return end

  local function classes_of(values, row)
    local classes = {}
    for i = 1, 5 do
      classes[i] = values[("%s:%dxx"):format(row, i)] or 0
    end
    return classes
  end

  -- The counts of kstat and of /metrics are those of the access log.
  local function agree()
    server:settle()
    local log, total = server:logged()
    local values = server:counted()
    assert.same(log, classes_of(values, "example.com"))
    local metrics = server:metrics()
    for i = 1, 5 do
      local name = ('nginx_http_requests_total{server="example.com",code="%dxx"}'):format(i)
      assert.equal(log[i], metrics[name] or 0, name)
    end
    assert.equal(total, metrics['nginx_http_request_duration_seconds_count{server="example.com"}'])
    return total, metrics, values
  end

  describe("in the example", function()
    setup(function()
      start({ config = run.read_file("examples/nginx/nginx.conf") })
    end)
    teardown(function() server:remove() end)

    it("counts requests by class of status", function()
      local _, before = server:logged()
      for _, path in ipairs({ "/", "/missing", "/moved", "/broken", "/" }) do
        server:get(path)
      end
      assert.equal(before + 5, (agree()))
    end)

    it("counts what the access log has across reloads, killed workers and other numbers of workers", function()
      server:load(500)
      agree()
      server:load(500, function() server:reload() end)
      agree()
      server:load(300)
      local _, metrics = agree()
      assert.equal(1, metrics.nginx_reloads_total)
      local victim = server:workers()[1]
      server:signal("KILL", victim)
      run.await("another worker", function()
        local list = server:workers()
        return #list == 2 and list[1] ~= victim and list[2] ~= victim
      end)
      server:load(300)
      _, metrics = agree()
      assert.equal(1, metrics.nginx_worker_restarts_total)
      for _, n in ipairs({ 4, 1 }) do
        server:configure({ config = (server.options.config:gsub("worker_processes %d", "worker_processes " .. n)) })
        server:load(300, function() server:reload(n) end)
        agree()
      end
    end)

    it("counts at most the request more that a worker was about to log when it was killed under load", function()
      server:load(500, function() server:signal("KILL", server:workers()[1]) end)
      server:settle()
      local log, values = server:logged(), server:counted()
      local more = values["example.com:2xx"] - log[2]
      assert.is_true(more == 0 or more == 1, more)
    end)

    it("goes on counting across an upgrade of the binary", function()
      local old = server.pid
      server:load(500, function()
        server:signal("USR2")
        run.await("a new master", function()
          server.pid = nginx.sh("cat %s/logs/nginx.pid", server.prefix).out:match("%d+") or old
          return server.pid ~= old and #server:workers() == 1
        end)
        server:signal("QUIT", old)
        run.await("the end of the old master", function() return not run.alive(old) end)
      end)
      local log, values = server:logged(), server:counted()
      local more = values["example.com:2xx"] - log[2]
      assert.is_true(more == 0 or more == 1, more)
      server:load(300)
      assert.is_nil(server:log():find("kstat"))
    end)

    it("has metrics that promtool accepts, in both formats, and shows the page", function()
      if nginx.sh("command -v promtool").status ~= 0 then
        pending("promtool is not installed")
        return
      end
      local text = server:get("/metrics")
      local r = run.run({ "/usr/bin/promtool", "check", "metrics", stdin = text })
      assert.equal("", r.out .. r.err)
      assert.equal(0, r.status)
      local open = server:get("/metrics", "-H 'Accept: application/openmetrics-text; version=1.0.0'")
      assert.truthy(open:find("\n# TYPE nginx_http_request_duration_seconds histogram\n.*\n# EOF\n$"))
      assert.truthy(server:get("/metrics?select=nginx:0:example.com"):find("\nkstat_nginx_2xx"))
      assert.equal("400", server:get("/metrics?select=/(/", "-o /dev/null -w '%{http_code}'"))
      assert.truthy(server:get("/kstat.json"):find('"name": "example.com"', 1, true))
      assert.truthy(server:get("/kstat/"):find("<!DOCTYPE html>", 1, true))
    end)

    it("leaves no file behind", function()
      server:stop()
      assert.equal("", nginx.sh("ls %s", server.kstats).out)
    end)
  end)

  describe("as a daemon whose counts last", function()
    setup(function()
      start({ setup = "persistent = true", daemon = true })
    end)
    teardown(function() server:remove() end)

    it("goes on counting across an upgrade, and after it was stopped and started", function()
      local old = server.pid
      server:load(300, function()
        server:signal("USR2")
        run.await("a new master", function()
          server.pid = nginx.sh("cat %s/logs/nginx.pid", server.prefix).out:match("%d+") or old
          return server.pid ~= old and #server:workers() == 2
        end)
        server:signal("QUIT", old)
        run.await("the end of the old master", function() return not run.alive(old) end)
      end)
      agree()
      server:stop()
      server:start()
      agree()
    end)
  end)
end)
