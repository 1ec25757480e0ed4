-- A scrape of kstat.nginx while something else happens: rows come and go, others scrape, a worker dies, nginx reloads.
local nginx = require("support.nginx")
local protobuf = require("support.protobuf")
local run = require("support.run")

local ROWS = 8000 -- reading them takes long enough that others are let on in between

describe("a scrape of nginx", function()
  local server

  if nginx.is_missing(pending) then return end

  before_each(function()
    server = nginx.new({ workers = 1, setup = "max_rows = 200000",
      init = [[jobs = kn:counter("jobs", { labels = { "queue" } }) ]],
      locations = [[
        location /make { content_by_lua_block {
          for i = ngx.var.arg_from, ngx.var.arg_to do jobs:add(i, "q" .. i) end ngx.print("made") } }
        location /remove { content_by_lua_block {
          for i = ngx.var.arg_from, ngx.var.arg_to do jobs:remove("q" .. i) end ngx.print("removed") } }
        # Stops where the scrape lets others on for the first time, until a file is there.
        location /held { access_log off; log_by_lua_block { return } content_by_lua_block {
          local sleep = ngx.sleep
          ngx.sleep = function()
            ngx.sleep = sleep
            io.open("logs/held", "w"):close()
            repeat sleep(0.01) until io.open("logs/go_on")
          end
          kn:metrics() } }]] }):start()
    nginx.sh("chmod 777 %s/logs", server.prefix)
    assert.equal("made", server:get("/make?from=1&to=" .. ROWS))
  end)
  after_each(function() server:remove() end)

  -- Begins a scrape and returns a function that lets it go on and returns what it gave.
  local function hold()
    local out = server.prefix .. "/held.txt"
    local curl = run.start(("curl -s -m 60 http://127.0.0.1:%d/held"):format(server.port), out)
    run.await("the scrape", function() return io.open(server.prefix .. "/logs/held") end)
    return function()
      run.write_file(server.prefix .. "/logs/go_on", "")
      run.await("its end", function() return not run.alive(curl) end)
      return run.read_file(out)
    end
  end

  -- The rows of a text, each of which may be there once.
  local function rows_of(text)
    local rows, n = {}, 0
    for queue, value in text:gmatch('jobs_total{queue="q(%d+)"} (%d+)\n') do
      assert.is_nil(rows[tonumber(queue)])
      rows[tonumber(queue)] = tonumber(value)
      n = n + 1
    end
    return rows, n
  end

  -- Whether rows from one to another are there with their counts.
  local function has(rows, from, to)
    for i = from, to do
      if rows[i] ~= i then
        return false
      end
    end
    return true
  end

  -- Fails unless protocol buffers have the same rows, all in one message.
  local function check_messages()
    for _, family in ipairs(protobuf.has_decoder and
      protobuf.fetch(("http://127.0.0.1:%d/metrics"):format(server.port), "--compressed") or {}) do
      if family.name[1] == "jobs_total" then
        local rows, n = {}, 0
        for _, metric in ipairs(family.metric) do
          rows[tonumber(metric.label[1].value[1]:match("%d+"))], n = metric.counter[1].value[1], n + 1
          assert.truthy(metric.counter[1].created_timestamp[1].seconds[1] <= os.time())
        end
        assert.equal(ROWS, n)
        return assert.is_true(has(rows, 1, 7000) and has(rows, 7101, 8100))
      end
    end
    assert.is_false(protobuf.has_decoder)
  end

  it("has all rows that were there, whatever comes, goes and is scraped meanwhile", function()
    local go_on = hold()
    server:get("/make?from=8001&to=8100")
    server:get("/remove?from=7001&to=7100")
    local scrapes = {}
    for i = 1, 4 do
      scrapes[i] = run.start(("curl -s -m 60 http://127.0.0.1:%d/metrics"):format(server.port), ("%s/%d.txt"):format(
        server.prefix, i))
    end
    run.await("scrapes", function()
      return not (run.alive(scrapes[1]) or run.alive(scrapes[2]) or run.alive(scrapes[3]) or run.alive(scrapes[4]))
    end)
    for i = 1, 4 do
      local rows, n = rows_of(run.read_file(("%s/%d.txt"):format(server.prefix, i)))
      assert.equal(ROWS, n)
      assert.is_true(has(rows, 1, 7000) and has(rows, 7101, 8100))
    end
    local rows = rows_of(go_on())
    assert.is_true(has(rows, 1, 7000) and has(rows, 7101, ROWS))
    check_messages()
  end)

  it("leaves nothing undone where its worker is killed", function()
    hold()
    server:signal("KILL", server:workers()[1])
    run.await("another worker", function() return server:get("/") == "hello\n" end)
    local rows, n = rows_of(server:get("/metrics"))
    assert.equal(ROWS, n)
    assert.is_true(has(rows, 1, ROWS))
  end)

  it("is whole where nginx reloads meanwhile", function()
    local go_on = hold()
    server:signal("HUP")
    run.await("a new worker", function() return #server:workers() == 2 end)
    local rows, n = rows_of(go_on())
    assert.equal(ROWS, n)
    assert.is_true(has(rows, 1, ROWS))
  end)
end)
