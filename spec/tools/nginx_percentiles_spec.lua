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

describe("percentiles of nginx", function()
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
