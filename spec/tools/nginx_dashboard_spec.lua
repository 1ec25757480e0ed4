-- The dashboard and the alerts of examples/nginx, held against what a real nginx answers.
local cjson = require("cjson")
local nginx = require("support.nginx")
local run = require("support.run")

local FOLDER = "examples/nginx/"

describe("examples/nginx", function()
  it("has alerts that fire as their tests say", function()
    if run.shell("command -v promtool").status ~= 0 then
      pending("promtool is not installed")
      return
    end
    for _, command in ipairs({ "check rules --lint-fatal rules.yml", "test rules rules_test.yml" }) do
      local r = run.shell(("cd %s && promtool %s"):format(FOLDER, command))
      assert.equal(0, r.status, r.out .. r.err)
    end
    -- Each alert is tested.
    local tests = run.read_file(FOLDER .. "rules_test.yml")
    for alert in run.read_file(FOLDER .. "rules.yml"):gmatch("alert: (%w+)") do
      assert.truthy(tests:find("alertname: " .. alert .. "\n", 1, true), alert)
    end
  end)

  it("has a dashboard and alerts of metrics that there are, with these labels", function()
    if nginx.is_missing(pending) then return end
    local server = nginx.new({ main = "load_module /usr/lib/nginx/modules/ngx_stream_module.so;\n" .. [[
      stream { log_format kstat '$server_addr:$server_port $status $bytes_received $bytes_sent $session_time';
        access_log logs/stream.log kstat; server { listen 127.0.0.1:$port2; return ""; } }]],
      map = "lua_shared_dict d 1m; map $proxy_host $kstat_upstream { default $proxy_host; }",
      setup = "upstreams = true, dicts = true, stream = 'logs/stream.log', caches = { c = '/nowhere' }",
      locations = "location /up { proxy_pass http://127.0.0.1:1; }" })
    finally(function() server:remove() end)
    server:start()
    server:get("/up")
    nginx.sh("curl -s telnet://127.0.0.1:%d </dev/null", server.port2)
    run.await("a session and a look at the cache", function()
      local text = server:get("/metrics")
      return text:find("nginx_stream_sessions_total{", 1, true) and text:find("nginx_cache_files{", 1, true)
    end)
    local there = {} -- labels by name
    for name, labels in server:get("/metrics"):gmatch("\n([%w_]+){?([^ }]*)}? ") do
      there[name] = (there[name] or "") .. labels
    end
    local expressions, seen = {}, 0
    for _, panel in ipairs(cjson.decode(run.read_file(FOLDER .. "dashboard.json")).panels) do
      for _, target in ipairs(panel.targets or {}) do
        expressions[#expressions + 1] = target.expr
      end
    end
    assert.is_true(#expressions > 30)
    expressions[#expressions + 1] = run.read_file(FOLDER .. "rules.yml"):gsub("\n *summary: [^\n]*", "")
    for _, text in ipairs(expressions) do
      for name, rest in text:gmatch("%f[%w_]([nk]%w+_[%w_]+)()") do
        local labels = text:match("^{([^}]*)}", rest) or ""
        seen = seen + 1
        assert.truthy(there[name], name)
        for label in labels:gmatch("([%w_]+)!?=") do
          assert.truthy(label == "job" or label == "instance" or there[name]:find(label .. "=", 1, true), name .. label)
        end
      end
    end
    assert.is_true(seen > 50, seen)
  end)
end)
