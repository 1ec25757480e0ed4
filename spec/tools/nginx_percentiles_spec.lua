-- Percentiles of kstat.nginx: those of an interval are the access log's, within the bound of their scale.
local nginx = require("support.nginx")
local run = require("support.run")

-- Asks for a page many times at each speed, and prints the times of each interval, and those since creation.
local READER = [[
  local ks = assert(kstat.open({ published = true }))
  local now = ks:sample()
  for _, milliseconds in ipairs({ 20, 100, 20 }) do
    assert(os.execute(arg[1]:format(milliseconds)))
    local before, d, distribution = now, nil, nil
    repeat -- nginx counts after it answered
      ks:update()
      now = ks:sample()
      d = now - before
      distribution = assert(d:lookup("nginx", 0, "example.com,time")):distribution()
    until distribution and distribution.count == tonumber(arg[2])
    print(distribution:quantile(0.5, 0.99))
  end
  print(now:lookup("nginx", 0, "example.com,time"):distribution():quantile(0.5, 0.99))
  print(now:lookup("nginx", 0, "example.com,in"):distribution().count)
]]
local REQUESTS = 100

describe("percentiles of requests in nginx", function()
  if nginx.is_missing(pending) then return end

  local server, found, logged

  setup(function()
    server = nginx.new({ setup = "sizes = true", map = [[log_format times '$request_time $request_length $bytes_sent';
      access_log logs/times.log times;]], locations = [[location /slow { content_by_lua_block {
      ngx.sleep(ngx.var.arg_ms / 1000) ngx.print("done") } }]] }):start()
    run.write_file(server.prefix .. "/logs/times.log", "")
    run.write_file(server.prefix .. "/reader.lua", READER)
    local load = ("curl -s -o /dev/null --no-progress-meter -Z --parallel-max 25 " ..
      "'http://127.0.0.1:%d/slow?ms=%%d&n=[1-%d]'"):format(server.port, REQUESTS)
    local r = run.run({ "kstatlua", server.prefix .. "/reader.lua", load, tostring(REQUESTS),
      env = { KSTAT_DIR = server.kstats } })
    assert.equal("", r.err)
    found, logged = {}, {}
    for a, b in r.out:gmatch("([%d.]+)\t([%d.]+)\n") do
      found[#found + 1] = { tonumber(a) / 1e6, tonumber(b) / 1e6 }
    end
    for line in io.lines(server.prefix .. "/logs/times.log") do
      logged[#logged + 1] = tonumber(line:match("%S+"))
    end
  end)
  teardown(function() server:remove() end)

  -- Whether a percentile is within 4.5 % of a time with about that rank in the log.
  local function check(share, value, first, last)
    local times = {}
    for i = first, last do
      times[#times + 1] = logged[i]
    end
    table.sort(times)
    local rank = math.ceil(share * #times)
    local low, high = times[math.max(rank - 1, 1)] / 1.045, times[math.min(rank + 1, #times)] * 1.045
    assert.is_true(value >= low and value <= high, ("%g: %g is not between %g and %g"):format(share, value, low, high))
  end

  it("of an interval are the access log's, before and after it became slow, and when it is fast again", function()
    assert.equal(3 * REQUESTS, #logged)
    for i = 1, 3 do
      for j, share in ipairs({ 0.5, 0.99 }) do
        check(share, found[i][j], (i - 1) * REQUESTS + 1, i * REQUESTS)
      end
    end
    assert.is_true(found[2][1] > 0.09 and found[3][1] < 0.09)
  end)

  it("of all the time are those of all intervals", function()
    check(0.5, found[4][1], 1, #logged)
    check(0.99, found[4][2], 1, #logged)
  end)
end)

describe("percentiles of one's own metrics in nginx", function()
  if nginx.is_missing(pending) then return end

  local server, metrics, counted

  setup(function()
    server = nginx.new({ workers = 1, init = [[
        wait = kn:histogram("wait", { help = "time in the queue", unit = "seconds", labels = { "queue" },
          percentiles = true })
        both = kn:histogram("both", { buckets = { 10, 20 }, percentiles = true })
        exact = kn:histogram("exact", { unit = "bytes", percentiles = true, lowest = 1024, highest = 4096, scale = 8 })
        pool = kn:queue("pool", { latency = true })
        kn:histogram("odd", { percentiles = true, scale = 9 })
        kn:histogram("upside", { percentiles = true, lowest = 2, highest = 1 })]],
      locations = [[location /use { content_by_lua_block {
          for _, seconds in ipairs({ .25, .25, .25, 0, 3 }) do wait:observe(seconds, "a") end
          both:observe(15) both:observe(-1)
          for n = 1, 100 do exact:observe(1020 + 20 * n) end
          local first, second = pool:enter(), pool:enter()
          second = pool:start(second) pool:done(512, second)
          first = pool:start(first) pool:done(512, first)
          pool:enter() pool:start("nonsense") pool:done(512)
          ngx.print("used") } }
        location /again { content_by_lua_block { wait:reset() wait:observe(1, "a") ngx.print("again") } }]] }):start()
    assert.equal("used", server:get("/use"))
    metrics, counted = server:metrics(), server:counted()
  end)
  teardown(function() server:remove() end)

  local function near(want, got, share)
    assert.is_true(math.abs(got / want - 1) <= share, ("%s is not about %s"):format(got, want))
  end

  it("are wrong by 4.5 %, and by less where a finer scale was asked for", function()
    near(250000, counted["app,wait,a,time:p50"], 0.045)
    assert.equal(5, counted["app,wait,a,time:count"])
    near(2020, counted["app,exact:p50"], 0.0014)
    near(3000, counted["app,exact:p99"], 0.0014)
    assert.equal(0, counted["app,exact:out_of_range"])
  end)

  it("come with classic buckets at /metrics: powers of two, or those that somebody chose", function()
    local text = server:get("/metrics")
    assert.truthy(text:find("# TYPE wait_seconds histogram\n# HELP wait_seconds time in the queue\n", 1, true))
    assert.equal(1, metrics['wait_seconds_bucket{queue="a",le="0.131072"}'])
    assert.equal(4, metrics['wait_seconds_bucket{queue="a",le="0.262144"}'])
    assert.equal(5, metrics['wait_seconds_bucket{queue="a",le="+Inf"}'])
    assert.equal(3.75, metrics['wait_seconds_sum{queue="a"}'])
    assert.is_nil(metrics['wait_seconds_count{queue="other"}'])
    assert.same({ 1, 2, 15 }, { metrics['both_bucket{le="10"}'], metrics['both_bucket{le="20"}'], metrics.both_sum })
    assert.equal(2, counted["app,both,time:count"])
  end)

  it("of a queue are those of requests that have tokens", function()
    assert.same({ 2, 2, 3, 1536 }, { counted["app,pool,wait:count"], counted["app,pool,svc:count"],
      counted["app,pool:reads"], counted["app,pool:nread"] })
    assert.equal(0, metrics['kstat_values_refused_total{reason="order"}'])
  end)

  it("are refused with a line where the range or the scale is none", function()
    local log = server:log()
    assert.truthy(log:find("kstat: scale: 0 to 8 expected", 1, true))
    assert.truthy(log:find("kstat: lowest and highest: numbers above 0 that grow expected", 1, true))
  end)

  it("begin again when all rows are reset, or their range changes at a reload", function()
    assert.equal("again", server:get("/again"))
    assert.equal(1, server:counted()["app,wait,a,time:count"])
    server:configure({ init = server.options.init:gsub("scale = 8", "scale = 7") })
    server:reload(1)
    counted = server:counted()
    assert.equal(1, counted["app,wait,a,time:count"])
    assert.equal(7, counted["app,exact:stepping"])
    assert.is_nil(counted["app,exact:p99"])
  end)
end)
