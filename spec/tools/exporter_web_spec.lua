-- kstatlua exporter in the place of node_exporter: its options, its addresses, TLS, passwords and text files.
local protobuf = require("support.protobuf")
local run = require("support.run")

local has_server = io.open(run.build .. "/lib/lua/5.4/kstat/http.so") ~= nil

-- Starts an exporter with options; returns its process and its port.
local function start(dir, options)
  local pid = run.start(("env KSTAT_DIR=%s %s/kstatlua exporter --web.listen-address=127.0.0.1:0 %s 2>&1"):format(dir,
    run.bin, options), dir .. "/log")
  local port = run.await("the port", function()
    return run.read_file(dir .. "/log"):match("listening at [^\n]*:(%d+)\n")
  end)
  return pid, port
end

describe("kstatlua exporter as node_exporter", function()
  if not has_server then
    pending("is not built here: libmicrohttpd is not installed")
    return
  end
  local dir

  setup(function() dir = run.directory() end)
  teardown(function() run.remove_directory(dir) end)

  local function curl(words)
    return run.shell("curl -gsk -m 60 " .. words).out
  end

  it("has its paths, its collectors and a page that leads there", function()
    local pid, port = start(dir, "--names node --web.telemetry-path=/m --log.level=info --no-collector.loadavg")
    local url = "http://127.0.0.1:" .. port
    local page, health, missing = curl(url .. "/"), curl(url .. "/healthz"), curl(url .. "/metrics")
    local icon = curl(url .. "/favicon.ico -o /dev/null -w '%{http_code} %{content_type}'")
    local all, some = curl(url .. "/m"), curl("'" .. url .. "/m?collect[]=stat&collect[]=uname'")
    local less, unknown = curl("'" .. url .. "/m?exclude[]=stat'"), curl("'" .. url .. "/m?collect[]=loadavg'")
    run.stop(pid)
    assert.truthy(page:find('href="/m"', 1, true) and page:find('href="/kstat/"', 1, true))
    assert.same({ "ok\n", "not found: there are /m, /kstat.json and the page /kstat/\n", "200 image/svg+xml" },
      { health, missing, icon })
    assert.truthy(all:find("\nnode_boot_time_seconds ", 1, true) and all:find("\nprocess_open_fds ", 1, true))
    assert.falsy(all:find("node_load1", 1, true))
    assert.truthy(some:find("\nnode_boot_time_seconds ", 1, true) and some:find("\nnode_uname_info{", 1, true))
    assert.falsy(some:find("node_memory_", 1, true) or less:find("node_boot_time_seconds", 1, true))
    assert.truthy(less:find("\nnode_memory_MemTotal_bytes ", 1, true))
    local began = "\nprocess_start_time_seconds (%S+)"
    assert.equal(all:match(began), less:match(began))
    assert.equal("no collector 'loadavg' is on\n", unknown)
    assert.matches("%-%-log%.level means nothing here", run.read_file(dir .. "/log"))
  end)

  it("understands the options of node_exporter, and passes over those without a meaning", function()
    local take = require("kstat.node.options").take
    local taken, rest = take({ "--collector.cpu.info", "--collector.textfile.directory", "/t", "--log.level", "info",
      "--collector.meminfo_numa", "--no-collector.udp_queues", "--path.procfs", "/proc", "--path.sysfs=/sys",
      "--collector.wifi.fixtures", "x", "--collector.ntp.server-is-local" })
    assert.same({ {}, { "/t" }, true }, { rest, taken.textfile, taken.enabled.meminfo_numa })
    assert.is_nil(taken.enabled.udp_queues)
    assert.same({ "--collector.cpu.info means nothing here, and is passed over",
      "--log.level means nothing here, and is passed over",
      "--collector.wifi.fixtures means nothing here, and is passed over",
      "--collector.ntp.server-is-local means nothing here, and is passed over" }, taken.notes)
    assert.same({ nil, "--path.procfs: the environment variable KSTAT_PROC says that here" },
      { take({ "--path.procfs=/host/proc" }) })
    assert.same({ nil, "--web.telemetry-path: a path such as /metrics expected, not 'm'" },
      { take({ "--web.telemetry-path=m" }) })
  end)

  it("gives the names of node_exporter in protocol buffers, too", function()
    if not protobuf.has_decoder then
      return pending("protoc is not installed")
    end
    local pid, port = start(dir, "--names node")
    local samples = protobuf.samples(protobuf.fetch(("http://127.0.0.1:%s/metrics"):format(port)))
    run.stop(pid)
    assert.truthy(samples.node_load1 >= 0 and samples["node_memory_MemTotal_bytes"] > 0)
    assert.truthy(samples['node_cpu_seconds_total{cpu="0",mode="user"}'] > 0)
    assert.equal(1, samples['node_scrape_collector_success{collector="loadavg"}'])
  end)

  it("takes metrics from text files, and none of a file with a mistake", function()
    run.shell("mkdir -p " .. dir .. "/text")
    run.write_file(dir .. "/text/good.prom", "# HELP a_b one\n# TYPE a_b gauge\na_b{x=\"1,\\\"}\"} 5\n"
      .. "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 2\nh_sum 1.5\nh_count 2\n")
    run.write_file(dir .. "/text/more.prom", "# TYPE a_b gauge\na_b{x=\"2\"} +Inf\n")
    for name, text in pairs({ time = "m 1 1600000000000\n", twice = "m 1\nm 2\n", label = "m{x=1} 1\n",
      order = 'm{a="1",b="2"} 1\nm{ b = "2", a="1", c="", } 2\n', empty = "m{ } 1\nm 1\n",
      kind = "# TYPE a_b counter\na_b 1\n", own = "node_load1 -7\n", unended = "m 1" }) do
      run.write_file(dir .. "/text/z" .. name .. ".prom", text)
    end
    -- What Prometheus would drop the whole scrape for, and what nobody can read.
    for name, text in pairs({ hex = "m 0x10", big = "m 1e400", nan = "m +nan", utf8 = 'm{a="\255"}',
      name = 'm{__name__="x"} 1', later = "node_scrape_collector_success 1", process = "process_open_fds 1",
      sample = '# TYPE a_b gauge\na_b{x="2"} 7' }) do
      run.write_file(dir .. "/text/z" .. name .. ".prom", text .. "\n")
    end
    run.shell(("cd %s/text && mkfifo zfifo.prom && mkdir zdir.prom && ln -s nowhere zlink.prom"):format(dir))
    local pid, port = start(dir, "--collector.textfile.directory=" .. dir .. "/text")
    local text = curl(("-H 'Accept: application/openmetrics-text' http://127.0.0.1:%s/metrics"):format(port))
    run.shell("rm -r " .. dir .. "/text/z*")
    local mended = curl(("-H 'Accept: %s' http://127.0.0.1:%s/metrics"):format(protobuf.ACCEPT, port))
    run.stop(pid)
    assert.truthy(text:find('\n# TYPE a_b gauge\na_b{x="1,\\"}"} 5\na_b{x="2"} +Inf\n', 1, true))
    assert.truthy(text:find("\n# TYPE h histogram\nh_bucket", 1, true))
    assert.truthy(text:find("\nnode_textfile_scrape_error 1\n", 1, true))
    assert.truthy(mended:find("\nnode_textfile_scrape_error 0\n", 1, true))
    assert.truthy(text:find(("\nnode_textfile_mtime_seconds{file=\"%s/text/good.prom\"} "):format(dir), 1, true))
    assert.falsy(text:find("\nm[ {]") or text:find("node_load1 -7", 1, true))
    local log = run.read_file(dir .. "/log")
    for _, line in ipairs({ "ztime.prom:1: a sample with a time", "ztwice.prom:2: a second sample of m",
      'zorder.prom:2: a second sample of m{a="1",b="2"}', "zempty.prom:2: a second sample of m",
      "zlabel.prom:1: no sample", "zkind.prom: a_b is of another type", "zown.prom: node_load1 is a family of the",
      "zunended.prom:the last line has no end", "zhex.prom:1: no sample", "zbig.prom:1: no sample",
      "znan.prom:1: no sample", "zutf8.prom:the text is not UTF-8", "zname.prom:1: no sample",
      "zlater.prom: node_scrape_collector_success is a family", "zprocess.prom: process_open_fds is a family",
      'zsample.prom: another file has the sample a_b{x="2"}', "zfifo.prom: it is no file", "zdir.prom: it is no file",
      "zlink.prom: it is no file" }) do
      assert.truthy(log:find(line, 1, true), line .. " is not in\n" .. log)
    end
  end)

  it("asks for passwords and certificates", function()
    local make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
    assert.equal(0, run.shell(("cd %s && %s -subj /CN=a -keyout key -out cert && %s -subj /CN=b -keyout other.key "
      .. "-out other"):format(dir, make, make)).status)
    -- "secret" by bcrypt with the least cost
    run.write_file(dir .. "/web.yml", "# TLS\ntls_server_config:\n  cert_file: cert\n  key_file: key\n"
      .. "  client_auth_type: \"RequireAndVerifyClientCert\"\n  client_ca_file: cert # of oneself\n"
      .. "basic_auth_users:\n  alice: $2b$04$KBCwKxOzLha2MUDgW0PjXe/hE/UCO9qF89dOydoHjSwxcHev5LRn.\n")
    local pid, port = start(dir, "--web.config.file=" .. dir .. "/web.yml unix:0:system_misc")
    local function status(options)
      return curl(("%s https://127.0.0.1:%s/metrics -o /dev/null -w '%%{http_code}'"):format(options, port))
    end
    local own = ("--cert %s/cert --key %s/key "):format(dir, dir)
    local right = own .. "-u alice:secret"
    local got = { status("-u alice:secret"), status(("--cert %s/other --key %s/other.key -u alice:secret"):format(dir,
      dir)), status(own), status(right), status(own .. "-u bob:secret"), status(right), status(own),
      status(right .. " --tls-max 1.1") }
    local wrong = status(own .. "-u alice:no")
    run.stop(pid)
    assert.same({ "403", "403", "401", "200", "401", "200", "401", "000" }, got)
    assert.truthy(wrong == "401" or wrong == "429")
  end)

  it("takes renewed certificates and passwords; what was there goes on while they are wrong, and SIGHUP ends nothing",
    function()
    local make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
    local yaml = "tls_server_config:\n  cert_file: r.cert\n  key_file: r.key\n"
    run.shell(("cd %s && %s -subj /CN=first -keyout r.key -out r.cert && %s -subj /CN=second -keyout s.key -out s.cert")
      :format(dir, make, make))
    run.write_file(dir .. "/renew.yml", yaml)
    local pid, port = start(dir, "--web.config.file=" .. dir .. "/renew.yml unix:0:system_misc")
    local function name()
      return curl(("-v https://127.0.0.1:%s/healthz 2>&1"):format(port)):match("subject: CN=(%w+)")
    end
    local function await_line(text)
      run.await("the line " .. text, function() return run.read_file(dir .. "/log"):find(text, 1, true) end)
    end
    assert.equal("first", name())
    run.shell(("cp %s/s.cert %s/r.cert; kill -HUP %s"):format(dir, dir, pid))
    await_line("; what was read before goes on")
    assert.equal("first", name())
    run.shell(("cp %s/s.key %s/r.key"):format(dir, dir))
    await_line("renew.yml: read again")
    assert.equal("second", name())
    run.write_file(dir .. "/renew.yml", yaml
      .. "basic_auth_users:\n  alice: $2b$04$KBCwKxOzLha2MUDgW0PjXe/hE/UCO9qF89dOydoHjSwxcHev5LRn.\n")
    local function status(options)
      return curl(("%s https://127.0.0.1:%s/metrics -o /dev/null -w '%%{http_code}'"):format(options, port))
    end
    run.await("the passwords", function() return status("") == "401" end)
    assert.equal("200", status("-u alice:secret"))
    run.stop(pid)
  end)

  it("ends with 2 where it is to listen at a socket of systemd's, for nobody would answer there", function()
    local none = run.run({ "kstatlua", "exporter", "--web.systemd-socket" })
    assert.equal(2, none.status)
    assert.matches("^exporter: %-%-web%.systemd%-socket: the exporter makes its own socket; [^\n]*\n$", none.err)
  end)

  it("remembers right passwords however many wrong ones follow", function()
    local looked = 0
    local guard = require("kstat.exporter.entrance").guard({ alice = "hash" }, function(password)
      looked = looked + 1
      return password == "secret"
    end)
    assert.is_true(guard("Basic YWxpY2U6c2VjcmV0"))
    for i = 1, 250 do
      repeat until guard("Basic " .. i) == false
    end
    local before = looked
    assert.is_true(guard("Basic YWxpY2U6c2VjcmV0"))
    assert.equal(before, looked)
  end)

  it("refuses a file of the web that it does not understand", function()
    local function refused(text)
      run.write_file(dir .. "/web.yml", text)
      local r = run.run({ "kstatlua", "exporter", "--web.config.file", dir .. "/web.yml" })
      return { r.status, (r.err:gsub("^exporter: " .. dir:gsub("%p", "%%%0") .. "/web.yml:? ?", "")) }
    end
    assert.same({ 3, "2: tls_server_config has no 'cert'\n" }, refused("tls_server_config:\n  cert: x\n"))
    assert.same({ 3, "1: no section 'users'; there are tls_server_config, http_server_config and basic_auth_users\n" },
      refused("users:\n"))
    assert.same({ 3, "2: a section expected\n" }, refused("# alone\n  cert_file: x\n"))
    assert.same({ 3, "tls_server_config needs cert_file and key_file\n" },
      refused("tls_server_config:\n  cert_file: x\n"))
    assert.same({ 3, "2: a text for 'bob' expected\n" }, refused("basic_auth_users:\n  bob: {}\n"))
    assert.same({ 3, "basic_auth_users: bob: a hash such as $2y$10$… expected, from htpasswd -nB\n" },
      refused("basic_auth_users:\n  bob: secret\n"))
    assert.same({ 3, "basic_auth_users: bob: a hash such as $2y$10$… expected, from htpasswd -nB\n" },
      refused("basic_auth_users:\n  bob: $2y$10$KBC\n"))
    assert.same({ 3, "basic_auth_users: bob: a cost of at most 15 expected, not 31\n" },
      refused("basic_auth_users:\n  bob: $2y$31$" .. ("a"):rep(53) .. "\n"))
    assert.same({ 3, "3: a second 'bob'\n" }, refused("basic_auth_users:\n  bob: a\n  bob: b\n"))
    local r = run.run({ "kstatlua", "exporter", "--web.config.file", dir })
    assert.same({ 3, "exporter: " .. dir .. ": it cannot be read\n" }, { r.status, r.err })
  end)
end)
