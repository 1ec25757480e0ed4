-- kstatlua exporter: what HTTP clients get, good ones and bad ones.
local exporter = require("support.exporter")
local protobuf = require("support.protobuf")
local run = require("support.run")

local has_server = exporter.is_built

describe("kstatlua exporter", function()
  if not has_server then
    pending("is not built here: libmicrohttpd is not installed")
    return
  end
  local dir, pid, port

  setup(function()
    dir = run.directory()
    local server = exporter.start(dir)
    pid, port = server.pid, server.port
  end)
  teardown(function()
    run.stop(pid)
    run.remove_directory(dir)
  end)

  -- Status, headers (small letters) and body of curl's request.
  local function fetch(path, options)
    local r = run.shell(("curl -s -g -i %s %s"):format(options or "", run.quote("http://127.0.0.1:" .. port .. path)))
    local head, body = r.out:match("^(.-\r\n)\r\n(.*)$")
    assert(head, r.out)
    return tonumber(head:match("^HTTP/1%.1 (%d+)")), head:lower(), body
  end

  it("answers /metrics in the classic text format", function()
    local status, head, body = fetch("/metrics?select=unix:0:system_misc:ncpus")
    assert.equal(200, status)
    assert.truthy(head:find("content-type: text/plain; version=0.0.4", 1, true))
    local line = 'kstat_unix_ncpus{module="unix",instance="0",name="system_misc",class="misc"} '
      .. run.shell("getconf _NPROCESSORS_ONLN").out
    assert.truthy(body:find(line, 1, true), body)
    assert.falsy(body:find("# EOF", 1, true))
  end)

  it("gives of each kstat what the selectors of that kstat match", function()
    local _, _, body = fetch("/metrics?select=unix:0:system_misc:ncpus&select=cpu:0:time")
    assert.truthy(body:find("\nkstat_unix_ncpus{", 1, true), body)
    assert.truthy(body:find("\nkstat_cpu_nsec_user_seconds_total{", 1, true), body)
    assert.falsy(body:find("kstat_unix_nproc", 1, true), body)
  end)

  it("answers in OpenMetrics if the client prefers it", function()
    local accept = "-H 'Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5'"
    local _, head, body = fetch("/metrics?select=unix:0:system_misc", accept)
    assert.truthy(head:find("content-type: application/openmetrics-text; version=1.0.0", 1, true))
    assert.truthy(body:find("# EOF\n$"))
    _, head = fetch("/metrics?select=unix:0:system_misc",
      "-H 'Accept: application/openmetrics-text;q=0.1,text/plain'")
    assert.truthy(head:find("content-type: text/plain", 1, true))
  end)

  it("answers in protocol buffers if the client prefers them, packed or not", function()
    if not protobuf.has_decoder then
      return pending("protoc is not installed")
    end
    for _, options in ipairs({ "", "--compressed" }) do
      local samples = protobuf.samples(protobuf.fetch(("http://127.0.0.1:%s/metrics?select=unix:0:system_misc"):format(
        port), options))
      local ncpus = samples['kstat_unix_ncpus{module="unix",instance="0",name="system_misc",class="misc"}']
      assert.equal(tonumber(run.shell("getconf _NPROCESSORS_ONLN").out), ncpus)
      assert.truthy(samples.kstat_scrape_seconds > 0)
      assert.equal(0, samples.kstat_scrape_failures_total)
    end
  end)

  it("sends the same packed to clients that take gzip, and nothing but the head for HEAD", function()
    local plain = run.shell(("curl -s 127.0.0.1:%s/kstat.json?select=unix:0:system_misc:ncpus"):format(port)).out
    local packed = run.shell(("curl -s --compressed 127.0.0.1:%s/kstat.json?select=unix:0:system_misc:ncpus")
      :format(port)).out
    local function without_time(s) return (s:gsub('"snaptime": [%d.]+', "")) end
    assert.equal(without_time(plain), without_time(packed))
    assert.truthy(run.shell(("curl -s -o /dev/null -D - -H 'Accept-Encoding: gzip' 127.0.0.1:%s/metrics"):format(port))
      .out:find("Content-Encoding: gzip", 1, true))
    local status, _, body = fetch("/metrics", "-I")
    assert.same({ 200, "" }, { status, body })
    for accepts, is_packed in pairs({ ["gzip"] = true, ["identity, GZIP;q=0.5"] = true, ["gzip; q=0.001"] = true,
      ["gzip;q=0"] = false, ["gzip; q=0.00, identity"] = false, ["gzipped"] = false, ["br, deflate"] = false,
      ["identity;q=0,gzip"] = true }) do
      local _, head = fetch("/metrics", "-I -H " .. run.quote("Accept-Encoding: " .. accepts))
      assert.equal(is_packed, head:find("content-encoding: gzip", 1, true) ~= nil, accepts)
    end
  end)

  it("gives bad requests a status and a line", function()
    local status, _, body = fetch("/metric")
    assert.same({ 404, "not found: there are /metrics, /kstat.json and the page /kstat/\n" }, { status, body })
    assert.equal(404, (fetch("/kstat/nothing")))
    status, _, body = fetch("/metrics?select=/(/")
    assert.equal(400, status)
    assert.truthy(body:find("^select: '/%(/': .*missing closing parenthesis"))
    status, _, body = fetch("/metrics?filter=cpu")
    assert.same({ 400, "no parameter 'filter'; there is 'select'\n" }, { status, body })
    status, _, body = fetch("/metrics", "-d x=1")
    assert.same({ 405, "only GET and HEAD are answered here\n" }, { status, body })
    assert.truthy(select(2, fetch("/metrics", "-X PUT")):find("allow: get, head\r\n", 1, true))
    assert.equal(431, (fetch("/metrics", "-H 'X: " .. ("y"):rep(20000) .. "'")))
  end)

  it("does not take what stands before a zero byte for the whole", function()
    assert.equal(404, (fetch("/metrics%00x")))
    assert.equal(400, (fetch("/metrics?select%00x=unix")))
    local _, _, body = fetch("/metrics?select=unix%00x")
    assert.falsy(body:find("kstat_unix_", 1, true))
    _, _, body = fetch("/%6detrics?select=unix%3a0")
    assert.truthy(body:find("kstat_unix_", 1, true))
  end)

  it("tells caches and browsers to keep, mix up and guess nothing", function()
    local _, head = fetch("/metrics?select=unix:0:system_misc:ncpus")
    for _, line in ipairs({ "cache-control: no-store", "vary: accept, accept-encoding",
      "x-content-type-options: nosniff" }) do
      assert.truthy(head:find(line .. "\r\n", 1, true), head)
    end
  end)

  it("counts the lines about what it could not read", function()
    local function failures()
      local _, _, body = fetch("/metrics?select=none")
      return tonumber(body:match("\nkstat_scrape_failures_total (%d+)\n"))
    end
    local before = failures()
    run.write_file(dir .. "/bad.kseg", ("x"):rep(100000))
    fetch("/metrics")
    os.remove(dir .. "/bad.kseg")
    assert.truthy(failures() > before)
  end)

  it("goes on after clients that send garbage or vanish", function()
    run.shell(("exec 3<>/dev/tcp/127.0.0.1/%s; printf 'GARBAGE\\r\\n\\r\\n' >&3"):format(port))
    run.shell(("bash -c 'for i in 1 2 3 4 5; do exec 3<>/dev/tcp/127.0.0.1/%s; printf GET >&3; done'"):format(port))
    assert.equal(200, (fetch("/metrics?select=unix:0:system_misc")))
  end)

  it("says what to install where the module kstat.http is missing", function()
    local alone = run.directory()
    run.shell(("cp %s/kstatlua %s"):format(run.bin, alone))
    local r = run.run({ alone .. "/kstatlua", "exporter", directory = alone,
      env = { LUA_CPATH = alone .. "/?.so", LUA_CPATH_5_4 = false } })
    run.remove_directory(alone)
    assert.same({ 3, "exporter: the module kstat.http cannot be loaded; it is built where libmicrohttpd is installed "
      .. "(Debian: libmicrohttpd-dev)\n" }, { r.status, r.err })
  end)

  it("refuses addresses that others reach, those that are none, and those that are taken", function()
    local function refused(address)
      local r = run.run({ "kstatlua", "exporter", "--listen", address })
      return { r.status, (r.err:gsub(";.*", ""):gsub("\n", "")) }
    end
    local line = "exporter: --listen %s: no address of this machine alone, as 127.0.0.1:9105 is"
    for _, address in ipairs({ "0.0.0.0:9105", "[::]:9105", "128.0.0.1:0", "[::2]:0", "[::ffff:127.0.0.1]:0",
      ":9105" }) do
      assert.same({ 2, line:format(address) }, refused(address))
    end
    line = "exporter: --listen: '%s' is no address: 127.0.0.1:9105 and [::1]:9105 are"
    for _, address in ipairs({ "nowhere", "localhost:9105", ":", "9105", "::1:9105", "127.0.0.1:65536",
      "127.0.0.1:", "127.0.0.1:-1", "127.0.0.1:1x", "unix:/tmp/x", "[]:1", "[:1", "" }) do
      assert.same({ 2, line:format(address) }, refused(address))
    end
    local taken = "127.0.0.1:" .. port
    assert.same({ 3, "exporter: " .. taken .. ": Address already in use" }, refused(taken))
  end)
end)

-- Values of an exposition by name and sorted labels.
local function read_samples(text)
  local samples = {}
  for name, labels, value in text:gmatch("\n([%a_][%w_:]*)({?[^\n]-}?) ([%d.eE+-]+)%f[\n]") do
    local list = {}
    for label in labels:gmatch('[%w_]+="[^"]*"') do
      list[#list + 1] = label
    end
    table.sort(list)
    samples[name .. "{" .. table.concat(list, ",") .. "}"] = tonumber(value)
  end
  return samples
end

describe("kstatlua exporter --names node", function()
  it("has metrics that no selector divides", function()
    if not has_server then
      return pending("is not built here: libmicrohttpd is not installed")
    end
    local r = run.run({ "kstatlua", "exporter", "--names", "node", "cpu" })
    assert.same({ 2, "exporter: --names node has kstats of its own: operands do not go with it; "
      .. "'kstatlua exporter --help' explains\n" }, { r.status, r.err })
    local dir = run.directory()
    local server = exporter.start(dir, "--names node")
    local body = run.shell(("curl -s 127.0.0.1:%s/metrics?select=cpu"):format(server.port)).out
    run.stop(server.pid)
    run.remove_directory(dir)
    assert.equal("no parameter 'select'; there are 'collect[]' and 'exclude[]'\n", body)
  end)

  local node_exporter = run.shell("command -v prometheus-node-exporter").out:match("%S+")
  if not has_server or not node_exporter then
    pending("is compared with node_exporter where both are installed")
    return
  end

  -- How far gauges may go between two looks and come back; all else is between them.
  local SWING = { ["^node_memory_"] = 64e6, ["^node_procs_"] = 20, ["^node_load"] = 0.5, ["^node_sockstat_"] = 20,
    ["^node_filefd_"] = 200, ["^node_filesystem_"] = 64e6, ["^node_disk_io_now"] = 200, ["^node_time_"] = 1,
    ["^node_netstat_Tcp_CurrEstab"] = 10, ["^node_nf_conntrack_"] = 20, ["^node_timex_"] = 0.1 }

  -- Of the program, and of what few machines have: kstat knows nothing of it.
  local THEIRS = { "^go_", "^promhttp_", "^process_", "^node_textfile_",
    "^node_dmi_", "^node_tape_", "^node_ipvs_", "^node_systemd_", "^node_hwmon_pwm_", "^node_nvme_namespace_",
    "^node_disk_ata_", "^node_disk_filesystem_info$", "^node_disk_device_mapper_info$", "^node_btrfs_" }

  local function is_theirs_alone(family)
    for _, pattern in ipairs(THEIRS) do
      if family:find(pattern) then
        return true
      end
    end
    return false
  end

  -- What each program says of itself.
  local function is_own(name)
    return name:find("^node_scrape_collector_duration") or name:find("^process_")
  end

  local function is_between(name, value, before, after)
    local swing = 1e-6 * math.abs(value) -- digits that others round
    for pattern, most in pairs(SWING) do
      swing = name:find(pattern) and swing + most or swing
    end
    return value >= math.min(before, after) - swing and value <= math.max(before, after) + swing
  end

  it("has the names, labels and values of a node_exporter beside it", function()
    local dir = run.directory()
    local ours = run.start(("%s/kstatlua exporter --names node --listen 127.0.0.1:0"):format(run.bin), dir .. "/ours")
    local theirs = run.start(node_exporter .. " --web.listen-address=127.0.0.1:0", dir .. "/theirs")
    local own = run.port_of(ours)
    local port = run.port_of(theirs)
    local texts, both, families
    local wrong = run.always_wrong(function()
      local found = {}
      texts, both, families = {}, 0, {}
      for i, at in ipairs({ own, port, port, own, port }) do -- the first looks open files
        texts[i] = "\n" .. run.shell("curl -s 127.0.0.1:" .. at .. "/metrics").out
      end
      local before, mine, after = read_samples(texts[3]), read_samples(texts[4]), read_samples(texts[5])
      for name, value in pairs(mine) do
        if before[name] and after[name] and not is_own(name) then
          both = both + 1
          families[name:match("^[%w_]+")] = true
          if not is_between(name, value, before[name], after[name]) then
            found[name] = ("%s, node_exporter: %s, %s"):format(value, before[name], after[name])
          end
        end
      end
      return found
    end)
    run.stop(ours)
    run.stop(theirs)
    run.remove_directory(dir)
    assert.same({}, wrong)
    local type_of = {}
    for family, type in texts[5]:gmatch("\n# TYPE (%S+) (%S+)") do
      type_of[family] = type
    end
    for family, type in texts[4]:gmatch("\n# TYPE (%S+) (%S+)") do
      assert.equal(type_of[family] or type, type, family)
    end
    for _, family in ipairs({ "node_time_seconds", "node_boot_time_seconds", "node_cpu_seconds_total" }) do
      assert.is_true(families[family], family)
    end
    -- Kernels before 6.1 do not say for which processor they are.
    assert.is_true(families.node_uname_info or run.shell("test -e /proc/sys/kernel/arch").status ~= 0)
    local missing = {}
    for family in pairs(type_of) do
      local _, here = texts[4]:find("\n# TYPE " .. family .. " ", 1, true)
      missing[#missing + 1] = not here and not is_theirs_alone(family) and family or nil
    end
    assert.same({}, missing)
    assert.truthy(both >= 180, both .. " samples")
  end)
end)
