-- A worker that writes anything into the memory that it shares with the others harms nobody but the counts.
local nginx = require("support.nginx")
local run = require("support.run")

-- /overwrite?seed=N writes words that follow from the seed (0: all bits set) over the segment, from its first byte.
local OVERWRITE = [[
  location = /overwrite { content_by_lua_block {
    local ffi, seed = require("ffi"), tonumber(ngx.var.arg_seed)
    for line in io.lines("/proc/self/maps") do
      local first, path = line:match("^(%x+)%-%x+ rw%-s .-(/%S+%.kseg)$")
      local file = first and io.open(path)
      local words, x = first and ffi.cast("uint32_t *", tonumber(first, 16)), seed
      for i = 0, file and math.min(file:seek("end"), 2 ^ 20) / 4 - 1 or -1 do
        x = (x * 1103515245 + 12345) % 2 ^ 31
        if seed == 0 then
          words[i] = 0xffffffff
        elseif x >= 2 ^ 29 * seed then -- the greater the seed, the less is overwritten
          words[i] = x * 2
        end
      end
    end
    ngx.say("done")
  } log_by_lua_block { return } }
  # Goes on with it for some seconds: a word here and there, now all bits, now few.
  location = /overwrite_on { content_by_lua_block {
    local ffi, bit, x = require("ffi"), require("bit"), 1
    for line in io.lines("/proc/self/maps") do
      local first, path = line:match("^(%x+)%-%x+ rw%-s .-(/%S+%.kseg)$")
      if first then
        local words, start = ffi.cast("uint32_t *", tonumber(first, 16)), ngx.now()
        local used = tonumber(ffi.cast("uint64_t *", words)[34]) / 4
        repeat
          for _ = 1, 10000 do
            x = bit.tobit(x * 1664525 + 1013904223)
            local at = 1024 + bit.rshift(x, 8) % (used - 1024)
            words[at] = at % 3 == 0 and bit.rshift(x, 25) or at % 3 == 1 and 0xffffffff or bit.bxor(words[at], 1)
          end
          ngx.update_time()
        until ngx.now() - start > tonumber(ngx.var.arg_seconds)
      end
    end
    ngx.say("done")
  } log_by_lua_block { return } } ]]

describe("a worker that overwrites the segment", function()
  local server

  if nginx.is_missing(pending) then return end

  after_each(function()
    if server then
      server:remove()
      server = nil
    end
  end)

  for seed = 0, 3 do
    it(("harms no other worker, master or reader, who say what it did (%d)"):format(seed), function()
      server = nginx.new({ setup = "upstreams = true", locations = OVERWRITE .. [[location = /own {
        content_by_lua_block { wait:observe(1, "mail") jobs:add(1, "mail") pool:enter() ngx.say("counted") } }]],
        init = [[wait = kn:histogram("wait", { labels = { "queue" }, percentiles = true }) pool = kn:queue("pool")
        jobs = kn:counter("jobs", { labels = { "queue" } })]] }):start()
      server:load(200)
      server:get("/own")
      local workers = server:workers()
      assert.equal("done\n", server:get("/overwrite?seed=" .. seed))
      server:load(500)
      assert.equal(("counted\n"):rep(20), server:get_times(20, "/own"))
      server:get("/metrics")
      server:get("/kstat.json")
      assert.same(workers, server:workers())
      assert.is_nil(server:log():find("exited on signal", 1, true))
      local path = server.kstats .. "/nginx.kseg"
      if seed < 3 then -- the head of the segment is among what was overwritten
        assert.truthy(server:log():find("stops counting, for " .. path .. " was overwritten", 1, true), server:log())
        local _, r = server:counted()
        assert.truthy((r.err):find("kstat: " .. path .. ": ", 1, true), r.err)
      end
      server:reload()
      assert.equal("hello\n", server:get("/"))
      if seed < 3 then -- a new segment
        assert.is_true(server:metrics()['nginx_http_requests_total{server="example.com",code="2xx"}'] < 20)
      end
      local before = select(2, server:logged())
      local counted = server:counted()["example.com:2xx"]
      server:load(100)
      server:settle()
      assert.equal(select(2, server:logged()) - before, server:counted()["example.com:2xx"] - counted)
      assert.is_nil(server:log():find("exited on signal", 1, true))
    end)
  end

  it("is found out by who counts in a new row", function()
    server = nginx.new({ locations = OVERWRITE .. [[location = /new {
      content_by_lua_block { jobs:add(1, "new") ngx.say("counted") } log_by_lua_block { return } }]],
      init = [[jobs = kn:counter("jobs", { labels = { "queue" } })]] }):start()
    assert.equal("done\n", server:get("/overwrite?seed=0"))
    assert.equal("counted\n", server:get("/new"))
    local said = ("stops counting, for %s/nginx.kseg was overwritten"):format(server.kstats)
    assert.truthy(server:log():find(said, 1, true), server:log())
  end)

  it("without pause kills no other worker, and the next reload makes a good segment", function()
    server = nginx.new({ setup = "upstreams = true", locations = OVERWRITE .. [[location = /own {
      content_by_lua_block { for i = 1, 300 do wait:observe(i % 7, "mail") end ngx.say("counted") } }]],
      init = [[wait = kn:histogram("wait", { labels = { "queue" }, percentiles = true })]] }):start()
    server:get("/own")
    local workers = server:workers()
    local out = server.prefix .. "/out"
    run.start(("curl -s 'http://127.0.0.1:%d/overwrite_on?seconds=1'"):format(server.port), out)
    repeat
      assert.equal("counted\n", server:get("/own"))
    until run.read_file(out) == "done\n"
    assert.same(workers, server:workers())
    server:reload()
    assert.equal("counted\n", server:get("/own"))
    server:load(100)
    server:settle()
    assert.equal("", select(2, server:counted()).err)
    assert.is_nil(server:log():find("exited on signal", 1, true))
  end)
end)
