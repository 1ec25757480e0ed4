-- Metrics of one's own in the real nginx: any name and unit that is accepted comes out at /metrics.
local nginx = require("support.nginx")

describe("metrics of one's own in nginx", function()
  local server, metrics

  if nginx.is_missing(pending) then return end

  setup(function()
    server = nginx.new({ init = [[
      plain = { kn:counter("name"), kn:counter("labels"), kn:counter("k"),
        kn:counter("a_counter_with_thirty_letters") }
      kn:gauge("taken"):set(7)
      again = kn:counter("taken")
      fraction = kn:counter("fraction")
      busy = kn:counter("busy", { unit = "seconds", step = 0.001 })
      kn:counter("steps", { step = 0.3 })
      level = kn:gauge("level")
      wide = kn:counter("wide", { labels = { "a", "b", "c", "d", "e", "f", "g", "h" } })
      kn:counter("wider", { labels = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p",
        "q" } })
      kept = kn:counter("kept", { labels = { "a" } })
      kept_row = kept:with("x")
      tenants = kn:counter("requests_by_tenant", { labels = { "tenant" } })
      sizes = kn:histogram("sizes", { buckets = { 10, 20 }, percentiles = true })
      latency = kn:histogram("latency_of_the_backend", { unit = "seconds", buckets = { .01, 1 }, labels = { "a" } })
      kn:counter("wordy", "words") kn:counter("labelled", { labels = "a" })
      kn:histogram("endless", { buckets = { 1, math.huge } })
      kn:histogram("close", { unit = "seconds", buckets = { 1e-9, 2e-9 } })
      kn:histogram("texts", { buckets = { "a" } })
      kn:gauge("g_jobs") kn:gauge("g", { unit = "jobs" }) kn:counter("d_seconds_count")
      kn:histogram("d", { unit = "seconds" }) kn:queue("tank") kn:gauge("tank_waiting") kn:counter("tank_done")
      kn:counter("nginx_reloads") kn:gauge("snaptime")
      kn:gauge("rate", { unit = "jobs/s" }) kn:gauge("unitless", { unit = 7 })
      for _, label in ipairs({ "module", "snaptime", "crtime", "quantile", "__a" }) do
        kn:counter("with", { labels = { label } })
      end
      coarse = kn:histogram("coarse", { buckets = { 10, 20 } })
      large = kn:histogram("large", { buckets = { 10 } })
      require("kstat.nginx").setup("nginx")
      idle = require("kstat.nginx").setup({ name = "idle", expire = 0 })]],
      locations = [[location /use { content_by_lua_block {
        for _, counter in ipairs(plain) do counter:add(2) end
        again:add(5)
        fraction:add(1) fraction:add(1.9)
        for _ = 1, 3 do busy:add(0.4) end busy:add(0.0004) busy:with():add(0.0006)
        level:set(1) level:inc(2.5) level:dec() level:with():dec(0.5)
        for _ = 1, 2 do wide:add(1, { 1, 2, 3, 4, 5, 6, 7, 8 }) end wide:add(1, { 1, 2, 3, 4, 5, 6, 7 })
        tenants:add(1) tenants:add(1, "a", "b") tenants:add(1, {}) tenants:add(1, { "a", "b" }) tenants:add(1, {{}})
        tenants:add(1, { "table" }) tenants:with({ "table" }):add() tenants:add(1, 7) tenants:add("2", { 7 })
        tenants:add(3, "a tenant whose name is long")
        sizes:observe(10) sizes:observe(15)
        latency:observe(0.5, "a label that is long")
        coarse:observe(10)
        for _ = 1, 2100 do large:observe(2 ^ 52) end
        ngx.print("used") } }
        location /keep { content_by_lua_block {
          kept_row:add(1) kept:add(1, "x") kept:remove("x") kept_row:add(2) kept:add(3, "x") ngx.print("kept") } }
        location /remove { content_by_lua_block { ngx.print(tostring(tenants:remove("other"))) } }
        location /idle { content_by_lua_block { idle:metrics() } log_by_lua_block { return } }]] })
    server:start()
    assert.equal("used", server:get("/use"))
    metrics = server:metrics()
  end)
  teardown(function() server:remove() end)

  it("may have the name of anything that describes a row", function()
    for _, name in ipairs({ "name", "labels", "k" }) do
      assert.equal(2, metrics[name .. "_total"], name)
    end
  end)

  it("count whole things, and fractions where the step is smaller", function()
    assert.equal(1, metrics.fraction_total)
    assert.equal(1.201, metrics.busy_seconds_total)
    local general = server:get("/metrics?select=nginx:0:app,busy")
    assert.truthy(general:find("kstat_nginx_busy_seconds_total{[^\n]*} 1%.201\n"), general)
    assert.equal(1, metrics['kstat_values_refused_total{reason="fraction"}'])
    local log = server:log()
    assert.truthy(log:find("kstat: fraction: 1.9 is no whole number; with step = 0.001 it could be added", 1, true))
    assert.truthy(log:find("kstat: steps: step: 1, 0.1, 0.01 … or 0.000000001 expected", 1, true))
  end)

  it("raise and lower gauges", function()
    assert.equal(2, metrics.level)
  end)

  it("take labels in their order or as a table, and refuse what is neither", function()
    assert.equal(2, metrics['requests_by_tenant_total{tenant="table"}'])
    assert.equal(3, metrics['requests_by_tenant_total{tenant="7"}'])
    assert.equal(2, metrics['wide_total{a="1",b="2",c="3",d="4",e="5",f="6",g="7",h="8"}'])
    assert.equal(5 + 1, metrics['kstat_values_refused_total{reason="labels"}'])
    assert.truthy(server:log():find("kstat: wider: at most 16 labels are possible", 1, true))
    for name in pairs(metrics) do
      assert.is_nil(name:find('tenant="a"', 1, true) or name:find('tenant=""', 1, true) or name:find("table:", 1, true))
    end
    local line = "kstat: requests_by_tenant: values expected for tenant, got nil as number 1: not"
    local _, n = server:log():gsub(line, "")
    assert.equal(1, n)
  end)

  it("are shown where the kstat's name had to be cut", function()
    assert.equal(2, metrics.a_counter_with_thirty_letters_total)
    assert.equal(3, metrics['requests_by_tenant_total{tenant="a tenant whose name is long"}'])
    assert.equal(1, metrics['latency_of_the_backend_seconds_bucket{a="a label that is long",le="1"}'])
  end)

  it("keep whole values as they are if they have no unit", function()
    assert.equal(1, metrics['sizes_bucket{le="10"}'])
    assert.equal(2, metrics['sizes_bucket{le="20"}'])
    assert.equal(25, metrics.sizes_sum)
  end)

  it("are refused with a line if another kind has the name", function()
    assert.equal(7, metrics.taken)
    assert.is_nil(metrics.taken_total)
    assert.truthy(server:log():find("taken: there is a metric of this name already", 1, true))
  end)

  it("are refused with a line that says what was expected", function()
    local log = server:log()
    for _, line in ipairs({ "wordy: a table expected", "labelled: a table expected", "setup: a table of options" }) do
      assert.truthy(log:find("kstat: [^\n]*" .. line), line)
    end
    local _, n = log:gsub("buckets: numbers above 0 that grow, by a millionth at least, expected", "")
    assert.equal(3, n)
  end)

  it("are refused where /metrics would have two of one name", function()
    local log = server:log()
    for _, line in ipairs({ "g: 'g_jobs' at /metrics is of the metric 'g_jobs' already",
        "d: 'd_seconds_count' at /metrics is of the metric 'd_seconds_count' already",
        "tank_waiting: 'tank_waiting' at /metrics is of the metric 'tank' already",
        "tank_done: 'tank_done' at /metrics is of the metric 'tank' already",
        "'nginx_reloads' cannot be the name of a metric", "'snaptime' cannot be the name of a metric" }) do
      assert.truthy(log:find("kstat: " .. line, 1, true), line)
    end
  end)

  it("have units and labels that the names of metrics can have", function()
    local log = server:log()
    for _, name in ipairs({ "rate", "unitless" }) do
      assert.truthy(log:find(name .. ": unit: at most 20 letters, digits and _ expected", 1, true), name)
    end
    for _, label in ipairs({ "module", "snaptime", "crtime", "quantile", "__a" }) do
      assert.truthy(log:find(("with: '%s' cannot be the name of a label"):format(label), 1, true), label)
    end
  end)

  it("are no quantiles at /metrics, which could not be added up", function()
    assert.equal(1, metrics['coarse_bucket{le="10"}'])
    for name in pairs(metrics) do
      assert.falsy(name:find("quantile", 1, true), name)
    end
  end)

  it("have sums beyond 2^63", function()
    assert.equal(2100 * 2 ^ 52, metrics.large_sum)
  end)

  it("are counted by what with() returned, also in a row that was removed", function()
    assert.equal("kept", server:get("/keep"))
    assert.equal(5, server:metrics()['kept_total{a="x"}'])
  end)

  it("keep the row of refused labels", function()
    assert.equal("false", server:get("/remove"))
  end)

  it("are not removed at once by an option that gives no time", function()
    assert.truthy(server:get("/idle"):find("expire: a number of seconds above 0 expected", 1, true))
  end)
end)
