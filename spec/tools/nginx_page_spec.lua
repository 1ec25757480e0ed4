-- The page of kstats that nginx serves.
local cjson = require("cjson")
local nginx = require("support.nginx")
local run = require("support.run")

describe("kn:page()", function()
  if nginx.is_missing(pending) then return end
  local server, url

  setup(function()
    server = nginx.new({ config = run.read_file("examples/nginx/nginx.conf") })
    server:start()
    url = ("http://127.0.0.1:%d/kstat/"):format(server.port)
  end)
  teardown(function() server:remove() end)

  local function fetch(name)
    local r = run.shell("curl -s -g -i " .. run.quote(url .. name))
    local head, body = r.out:match("^(.-\r\n)\r\n(.*)$")
    return tonumber(head:match("^HTTP/1%.1 (%d+)")), body, head
  end

  it("answers with the page and its policy, and with what the page asks for", function()
    local status, body, head = fetch("")
    assert.equal(200, status)
    assert.truthy(body:find("<title>kstat</title>", 1, true))
    assert.truthy(head:find("Content-Security-Policy: default-src 'none'; script-src 'sha256-", 1, true), head)
    status, body = fetch("list.json")
    assert.equal(200, status)
    assert.truthy(#cjson.decode(body) > 10)
    status, body = fetch("meta.json?select=unix:0:system_misc:ncpus")
    assert.same({ 200, "CPUs online" }, { status, cjson.decode(body)[1].statistics.ncpus.description })
    status, body = fetch("kstat.json?select=unix:0:system_misc:ncpus")
    assert.same({ 200, "system_misc" }, { status, cjson.decode(body)[1].name })
  end)

  it("shows what came since the last request, and answers many at once", function()
    -- Both workers have opened their chain before there is such a kstat.
    for _ = 1, 20 do fetch("list.json") end
    server:get("/job")
    for _ = 1, 20 do
      assert.truthy(select(2, fetch("list.json")):find("app,jobs,mail,ok", 1, true))
    end
    local r = run.shell(([[for i in 1 2 3 4 5 6 7 8 9 10; do
      curl -s 'http://127.0.0.1:%d/metrics?select=:::' >%s/metrics.$i & curl -s %slist.json >/dev/null &
      done; wait; tail -qn1 %s/metrics.* | grep -c '^kstat_']]):format(server.port, server.prefix, url, server.prefix))
    assert.equal("10\n", r.out)
    assert.is_nil(server:log():find("[error]", 1, true))
  end)

  it("gives what is wrong a status and a line", function()
    assert.same({ 404, "not found: the page has no such part\n" }, { fetch("nothing"), (select(2, fetch("nothing"))) })
    local status, body = fetch("kstat.json?select=/(/")
    assert.equal(400, status)
    assert.truthy(body:find("^select: '/%(/': "), body)
    status, body = fetch("kstat.json?" .. ("select=/x/"):rep(17, "&"))
    assert.same({ 400, "select: at most 16 regular expressions in one request\n" }, { status, body })
    for _, path in ipairs({ "kstat.json", "meta.json", "../kstat.json", "../metrics" }) do
      status, body = fetch(path .. "?select=::/^.*.*.*.*.*.*.*.*[!,]$/:")
      assert.equal(400, status, path)
      assert.matches("^select: regular expression /.* take too many steps: write it without%)\n$", body)
    end
  end)

  it("shows names in full where those of kstats had to be cut", function()
    local other = nginx.new({ setup = "labels = { 'host' }", init = [[
      jobs = kn:counter("jobs", { labels = { "queue" } })
      took = kn:histogram("took", { unit = "seconds", labels = { "queue" } })]],
      locations = [[location /job { content_by_lua_block {
        jobs:add(1, "a queue with a long name") took:observe(1, "a queue with a long name") } }]] })
    finally(function() other:remove() end)
    other:start()
    other:get("/job", "-H 'Host: a-rather-long-name.of-a-host.example'")
    local titles = {}
    for _, k in ipairs(cjson.decode(other:get("/kstat/list.json"))) do
      if k.publisher == "nginx" then
        titles[k.title or k.name] = k.name
      end
    end
    for _, title in ipairs({ "a-rather-long-name.of-a-host.example", "a-rather-long-name.of-a-host.example,time",
        "app,jobs,a queue with a long name", "app,took,a queue with a long name,time", "127.0.0.1", "nginx,server" }) do
      assert.truthy(titles[title], title)
    end
  end)

  it("shows cards and tables of nginx in a browser, and works there without an error", function()
    if run.shell("command -v chromium").status ~= 0 then
      pending("Chromium is not installed")
      return
    end
    local other = nginx.new({ setup = "labels = { { name = 'who', from = '$http_user_agent' } }, upstreams = true",
      locations = [[location /up { proxy_pass http://127.0.0.1:1; }
        location /slow { content_by_lua_block { ngx.sleep(0.2) ngx.print("slow") } }]] })
    finally(function() other:remove() end)
    other:start()
    local load = run.start(("sh -c 'while :; do curl -s -A \"an agent with ~(a|b) name\" " ..
      "http://127.0.0.1:%d/ http://127.0.0.1:%d/missing http://127.0.0.1:%d/up http://127.0.0.1:%d/slow; " ..
      "sleep 0.05; done'"):format(other.port, other.port, other.port, other.port), "/dev/null")
    local text = "document.querySelector('section[aria-labelledby=nginx-title]').innerText"
    local r = run.shell(("python3 spec/support/browser.py --until=%s %s 0 %s"):format(
      run.quote("/p99/.test(" .. text .. ") && /Upstreams/.test(" .. text .. ") && / sent/.test(" .. text .. ")"),
      run.quote(("http://127.0.0.1:%d/kstat/"):format(other.port)), run.quote(text)))
    run.stop(load)
    local seen = cjson.decode(r.out)
    assert.same({}, seen.errors)
    for _, word in ipairs({ "Requests", "Failures", "Time of a request", "Connections", "Requests by label",
        "Upstreams", "an agent with ~(a|b) name", "127.0.0.1:1" }) do
      assert.truthy(seen.result:find(word, 1, true), word .. "\n" .. seen.result)
    end
    assert.is_nil(seen.result:find("~%x%x%x%x%x%x%x%x"))
    -- The p99 of the last interval, in the card and in the row.
    local p99 = seen.result:match("Time of a request\n([%d.]+) m?s")
    assert.is_true(tonumber(p99) >= 191 or tonumber(p99) < 60, p99) -- milliseconds, or seconds where all is slow
    assert.truthy(seen.result:match("an agent with[^\n]*"):find(p99 .. " ", 1, true), seen.result)
  end)

  it("works in a browser", function()
    if run.shell("command -v chromium").status ~= 0 then
      pending("Chromium is not installed")
      return
    end
    local state = "document.getElementById('state').textContent"
    local has_pictures = "document.querySelectorAll('canvas').length > 5"
    local until_it = ("%s == 'live, without a history' && %s"):format(state, has_pictures)
    local r = run.shell(("python3 spec/support/browser.py --until=%s %s 0 %s"):format(run.quote(until_it), url,
      run.quote(("[%s, %s]"):format(state, has_pictures))))
    local seen = cjson.decode(r.out)
    assert.same({ {}, { "live, without a history", true } }, { seen.errors, seen.result })
  end)
end)
