-- Prometheus scrapes exporters, and what examples/prometheus has for it fits them.
local cjson = require("cjson")
local exporter = require("support.exporter")
local nginx = require("support.nginx")
local run = require("support.run")
local unit = require("support.unit")

local EXAMPLES = "examples/prometheus/"

local function has(program)
  return run.shell("command -v " .. program).status == 0
end

describe("Prometheus", function()
  if not exporter.is_built or not has("prometheus") or not has("promtool") then
    pending("scrapes where libmicrohttpd and prometheus are installed")
    return
  end
  local dir, started

  before_each(function()
    dir, started = run.directory(), {}
  end)
  after_each(function()
    for _, pid in ipairs(started) do
      run.stop(pid)
    end
    run.remove_directory(dir)
  end)

  local function start_exporter(arguments)
    local server = exporter.start(dir, arguments)
    started[#started + 1] = server.pid
    return server.port
  end

  -- Starts Prometheus, which scrapes these ports each second, or as often as options says; options: interval, rules: a
  -- file, flags: of its command line. Returns function(query): the values of its answer.
  local function start_prometheus(ports, options)
    options = options or {}
    local targets = {}
    for i, port in ipairs(ports) do
      targets[i] = ('"127.0.0.1:%s"'):format(port)
    end
    local place, interval = ("%s/%d"):format(dir, #started), options.interval or "1s"
    run.shell("mkdir " .. place)
    run.write_file(place .. "/prometheus.yml", ([[
global: { scrape_interval: %s, scrape_timeout: %s, evaluation_interval: %s }
rule_files: [ %s ]
scrape_configs:
  - job_name: kstat
    static_configs: [ targets: [ %s ] ]
]]):format(interval, interval, interval, options.rules or "", table.concat(targets, ", ")))
    local pid = run.start(("prometheus --config.file=%s/prometheus.yml --storage.tsdb.path=%s/data "
      .. "--web.listen-address=127.0.0.1:0 --log.level=error %s"):format(place, place, options.flags or ""),
      place .. "/log")
    started[#started + 1] = pid
    local port = run.port_of(pid)
    return function(query)
      local r = run.shell(("curl -s -m 60 http://127.0.0.1:%s/api/v1/query --data-urlencode query=%s"):format(port,
        run.quote(query)))
      local ok, answer = pcall(cjson.decode, r.out)
      local values = {}
      for i, result in ipairs(ok and answer.data and answer.data.result or {}) do
        values[i] = tonumber(result.value[2])
      end
      return values
    end
  end

  it("scrapes fifty exporters without a miss, and its queries give the values", function()
    local ports = {}
    for i = 1, 50 do
      ports[i] = start_exporter(i == 1 and "" or "cpu::time unix:0:system_misc")
    end
    local query = start_prometheus(ports)
    -- One after the other: on a machine that is busy with other things one may take longer than the second that it has.
    run.await("four scrapes of each", function()
      return query("count(count_over_time(up[5s]) >= 4 and min_over_time(up[5s]) == 1)")[1] == 50
    end)
    local cpus = tonumber(run.shell("getconf _NPROCESSORS_ONLN").out)
    assert.same({ 50 * cpus }, query("sum(kstat_unix_ncpus)"))
    local boot = tonumber(run.shell(run.bin .. "/kstat -p unix:0:system_misc:boot_time").out:match("\t(%d+)"))
    assert.same({ 50 }, query(("count(kstat_unix_boot_time_seconds == %d)"):format(boot)))
    assert.same({ 50 * cpus }, query("count(rate(kstat_cpu_nsec_user_seconds_total[1m]))"))
    assert.same({ 50 }, query("count(scrape_samples_scraped > 5)"))
  end)

  -- Each 1,000 values are from 1 ms to 148 ms, in no order; before these there were many more of 1 s.
  local PUBLISHER = [[
local answers = assert(assert(kstat.publish("spec")):latency({ module = "app", name = "answers" }))
for _ = 1, 10000 do
  answers:add(1000000000)
end
io.stdout:write("published\n")
io.stdout:flush()
while true do
  for i = 1, 1000 do
    answers:add(math.floor(1000000 * math.exp((i * 377 % 1000 + 1) / 200)))
  end
  os.execute("sleep 0.01")
end
]]

  -- The same in nginx, by a request that goes on for a while.
  local WORK = [[location /work { content_by_lua_block {
    for _ = 1, 10000 do waits:observe(1) end
    io.open("logs/begun", "w"):close()
    for _ = 1, 3000 do
      for i = 1, 1000 do waits:observe(0.001 * math.exp((i * 377 % 1000 + 1) / 200)) end
      ngx.sleep(0.01)
    end } }]]

  -- Starts it and returns its port, or nil: nginx is missing.
  local function start_nginx()
    if nginx.is_missing(function() end) then
      return nil
    end
    local server = nginx.new({ workers = 1, locations = WORK, init =
      [[waits = kn:histogram("waits", { unit = "seconds", percentiles = true, scale = 5 })]] }):start()
    finally(function()
      run.stop(server.pid) -- QUIT would wait for the request
      server:remove()
    end)
    nginx.sh("chmod 777 %s/logs", server.prefix)
    started[#started + 1] = run.start(("curl -s http://127.0.0.1:%d/work"):format(server.port), "/dev/null")
    run.await("the distribution", function() return io.open(server.prefix .. "/logs/begun") end)
    return server.port
  end

  it("takes percentiles of an interval as kstat -a does, of native histograms and of classic buckets", function()
    run.write_file(dir .. "/publisher.lua", PUBLISHER)
    started[1] = run.start(("env KSTAT_DIR=%s %s/kstatlua %s/publisher.lua"):format(dir, run.bin, dir), dir .. "/out")
    run.await("the distribution", function() return run.read_file(dir .. "/out") == "published\n" end)
    local ports = { start_exporter("app:::"), start_nginx() }
    local options = { interval = "200ms", rules = run.shell("realpath " .. EXAMPLES .. "rules.yml").out:match("%S+") }
    local classic = start_prometheus(ports, options)
    options.flags = "--enable-feature=native-histograms"
    local native = start_prometheus(ports, options)
    local p99 = tonumber(run.run({ "kstat", "-a", "p99(buckets)", "-p", "app:0:answers", "1", "2",
      env = { KSTAT_DIR = dir } }).out:match("\np99%(buckets%)\t(%S+)\n$")) / 1e9
    assert.truthy(p99 > 0.138 and p99 < 0.145, p99)

    local metric = 'kstat_app_distribution_seconds{name="answers"}[10s]'
    local buckets, counts = metric:gsub("{", "_bucket{"), metric:gsub("{", "_count{")
    local native_count = ("histogram_count(sum(increase(%s)))"):format(metric)
    local classic_count = ("sum(increase(%s))"):format(counts)
    -- The value of an expression, once there are 5,000 values in the interval.
    local function await(query, expression, count)
      expression = ("%s and on() (%s > 5000)"):format(expression, count)
      return run.await(expression, function() return query(expression)[1] end)
    end
    local function is_near(value, error)
      assert.truthy(math.abs(value / p99 - 1) <= error, ("%s and %s"):format(value, p99))
    end
    is_near(await(native, ("histogram_quantile(0.99, sum(rate(%s)))"):format(metric), native_count), 0.02)
    is_near(await(native, "histogram:kstat_seconds:p99", native_count), 0.02)
    if ports[2] then
      is_near(await(native, "histogram_quantile(0.99, sum(rate(waits_seconds[10s])))",
        "histogram_count(sum(increase(waits_seconds[10s])))"), 0.02)
    end
    assert.same({}, native("kstat_app_distribution_seconds_bucket"))
    local value = await(classic, ("histogram_quantile(0.99, sum by (le) (rate(%s)))"):format(buckets), classic_count)
    -- p99 is between the borders 2^27 and 2^28 ns.
    assert.truthy(value > 2 ^ 27 / 1e9 and value <= 2 ^ 28 / 1e9, value)
    assert.truthy(math.abs(await(classic, "histogram:kstat_seconds:p99", classic_count) / value - 1) < 0.2)
    assert.same({}, classic("kstat_app_distribution_seconds"))
  end)
end)

describe("examples/prometheus", function()
  local function check(command)
    local r = run.shell("cd " .. EXAMPLES .. " && " .. command)
    assert.equal(0, r.status, r.out .. r.err)
  end

  it("has a configuration and rules that promtool accepts, and rules that do what they say", function()
    if not has("promtool") then
      pending("promtool is not installed")
      return
    end
    for _, file in ipairs({ "prometheus.yml", "fleet.yml", "--agent agent.yml", "federation.yml" }) do
      check("promtool check config " .. file)
    end
    check("promtool check rules --lint-fatal rules.yml")
    check("promtool test rules rules_test.yml")
  end)

  -- All names of metrics in a live exposition, in one with the files of a small machine, and in one of publishers.
  local function exposed()
    local dir = run.directory()
    local pids = {}
    run.write_file(dir .. "/digest.lua", [[
      local stats = require("kstat.stats")
      local template = assert(stats.template("answers"))
      assert(template:add_voi(0, "time", "u64", { stats.tdgstclust64(20, 4) }))
      local blob = assert(kstat.publish("digest")):blob({ name = "answers", template = template,
        vois = { time = { unit = "us" } } })
      blob:update("time", 5)
      for _ in kstat.every(60, { select = "unix:0:system_misc" }) do end]])
    for i, script in ipairs({ "examples/workqueue.lua", "examples/latency.lua", dir .. "/digest.lua" }) do
      pids[i] = run.start(("env KSTAT_DIR=%s %s/kstatlua %s 60"):format(dir, run.bin, script), "/dev/null")
    end
    run.await("published kstats", function()
      local out = run.run({ "kstat", "-l", "workqueue:::", "answers:::", "digest:::", env = { KSTAT_DIR = dir } }).out
      return out:find("workqueue:0:job_ns", 1, true) and out:find("answers:0:requests:p50", 1, true) and
        out:find("digest:0:answers:time_p50", 1, true)
    end)
    local text = run.run({ "kstat", "-o", "prometheus", env = { KSTAT_DIR = dir } }).out ..
      run.run({ "kstat", "-o", "prometheus", env = run.tree_env("small") }).out
    for _, pid in ipairs(pids) do
      run.stop(pid)
    end
    run.remove_directory(dir)
    local names = { kstat_scrape_seconds = true, kstat_scrape_failures_total = true }
    for name in text:gmatch("\n(kstat_[%w_]+)") do
      names[name] = true
    end
    for name in text:gmatch("# TYPE (%S+) histogram\n") do -- a native one has no other name
      names[name] = true
    end
    return names
  end

  it("names only metrics that there are", function()
    local names, seen = exposed(), 0
    local text = run.read_file(EXAMPLES .. "rules.yml") .. run.read_file(EXAMPLES .. "dashboard.json")
    for name in text:gmatch("%f[%w_:]kstat_[%w_]+%f[^%w_]") do
      seen = seen + 1
      assert.truthy(names[name] or name:find("^kstat_$"), name)
    end
    -- Names that are matched: kstat_[a-z0-9_]+_reads_total and kstat_.+_seconds_bucket.
    for suffix in text:gmatch("kstat_[%[.][^_]*_?%]?%+(_[%w_]+)") do
      seen = seen + 1
      local found
      for name in pairs(names) do
        found = found or name:sub(-#suffix) == suffix
      end
      assert.truthy(found, suffix)
    end
    assert.truthy(seen > 30, seen)
  end)

  it("has a dashboard that uses recorded series of the rules alone", function()
    local rules, dashboard = run.read_file(EXAMPLES .. "rules.yml"), run.read_file(EXAMPLES .. "dashboard.json")
    local seen = 0
    assert.equal("kstat", cjson.decode(dashboard).uid)
    for name in dashboard:gmatch("%w+:kstat_[%w_]+:%w+") do
      seen = seen + 1
      assert.truthy(rules:find("record: " .. name .. "\n", 1, true), name)
    end
    assert.truthy(seen > 3)
  end)

  it("has a unit of systemd that allows each system call of the exporter", function()
    if not has("systemd-analyze") or not has("strace") or os.getenv("ASAN_OPTIONS") then
      pending("systemd-analyze or strace is not installed, or a sanitizer makes calls of its own")
      return
    end
    local allowed = unit.allowed_calls(EXAMPLES .. "kstat-exporter.service")
    local dir = run.directory()
    local server = exporter.start(dir, "", ("strace -f -o %s/calls"):format(dir))
    local function stop()
      run.shell(("kill $(cat /proc/%s/task/*/children)"):format(server.pid))
    end
    finally(stop)
    for _, path in ipairs({ "metrics", "kstat/", "kstat/list.json", "metrics?select=process:::&select=listen:::",
      "metrics?select=/x/:::&select=ethtool:::" }) do
      assert.equal("200", run.shell(("curl -g -s --compressed -o /dev/null -w '%%{http_code}' '127.0.0.1:%s/%s'")
        :format(server.port, path)).out)
    end
    stop()
    run.await("the exporter's end", function() return not run.alive(server.pid) end)
    local calls = unit.calls(dir .. "/calls")
    run.remove_directory(dir)
    for _, call in ipairs(calls) do
      assert.truthy(allowed[call], call)
    end
    assert.truthy(#calls > 500, #calls)
  end)

  it("serves everything to a user who may nothing", function()
    local nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all "
      .. "--inh-caps=-all --no-new-privs "
    if run.shell(nobody .. run.bin .. "/kstatlua -e 'require(\"kstat.http\")'").status ~= 0 then
      pending("takes root, who becomes somebody else by setpriv, and a build that others can read")
      return
    end
    local dir = run.directory()
    local server = exporter.start(dir, "", nobody .. "prlimit --nofile=1024")
    local text = run.shell(("curl -s 127.0.0.1:%s/metrics"):format(server.port)).out
    local all = run.run({ "kstat", "-o", "prometheus", env = { KSTAT_DIR = dir } }).out
    run.stop(server.pid)
    run.remove_directory(dir)
    local _, seen = text:gsub("\nkstat_", "")
    local _, expected = all:gsub("\nkstat_", "")
    assert.truthy(text:find("\nkstat_scrape_failures_total 0\n", 1, true))
    assert.truthy(seen > 0.9 * expected, seen .. " of " .. expected)
  end)

  it("has a unit of systemd that is right, and gives the exporter nothing but the right to read", function()
    if not has("systemd-analyze") then
      pending("systemd-analyze is not installed")
      return
    end
    local trouble, exposure = unit.verify(EXAMPLES .. "kstat-exporter.service")
    assert.equal("", trouble)
    assert.truthy(exposure < 2.5, exposure)
  end)
end)
