-- Sessions of nginx's block `stream`, and what its caches have, in the real nginx.
local nginx = require("support.nginx")
local run = require("support.run")

local MODULE = "/usr/lib/nginx/modules/ngx_stream_module.so"

local STREAM = "load_module " .. MODULE .. [[;
stream {
    log_format kstat '$server_addr:$server_port $status $bytes_received $bytes_sent $session_time';
    access_log logs/stream.log kstat;
    server { listen 127.0.0.1:$port2; return "good bye"; }
}]]

-- The reader of a log by itself: what it has counted at each second of a clock that does not run.
local ROTATED = [[
  local log, now, seen = arg[1], 100, 0
  ngx = { now = function() return now end, sleep = function() end, worker = { pid = function() return 1 end } }
  for _, name in ipairs({ "distributions", "log", "rows" }) do -- which need more of nginx, and publish what is counted
    package.loaded["kstat.nginx." .. name] = {}
  end
  local function cell(n)
    return { cell = { [0] = n }, set = function(self, value) self.cell[0] = value end }
  end
  local second = require("kstat.nginx.stream").reader({ options = { stream = log },
    streams = { find = function() seen = seen + 1 end },
    stream_place = { reader = cell(1), inode = cell(0), position = cell(0), unread = cell(0) } })
  local function write(path)
    local f = assert(io.open(path, "a"))
    f:write("a:1 200 1 1 1.000\n")
    f:close()
  end
  local function pass(seconds)
    for _ = 1, seconds do
      now = now + 1
      second()
    end
    io.write(seen, " ")
  end
  write(log)
  pass(2)
  assert(os.rename(log, log .. ".1"))
  write(log .. ".1")
  write(log)
  pass(1)
  write(log .. ".1")
  pass(1)
  pass(2)
  write(log .. ".1")
  pass(1)
  pass(4)
]]

describe("kstat.nginx", function()
  local server

  if nginx.is_missing(pending) then return end
  after_each(function() if server then server:remove() end end)

  it("reads a log that was moved away until nothing came for three seconds", function()
    local dir = run.directory()
    run.write_file(dir .. "/rotated.lua", ROTATED)
    local r = run.shell(("LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='%s/lib/lua/5.1/?.so;;' "
      .. "$interpreter luajit %s/rotated.lua %s/log"):format(run.build, dir, dir))
    run.remove_directory(dir)
    assert.same({ "1 2 3 3 4 5 ", "" }, { r.out, r.err })
  end)

  local function sessions(n)
    local url = ("'telnet://127.0.0.1:%d' "):format(server.port2)
    return nginx.sh("for i in $(seq %d); do curl -s -m 60 %s </dev/null; done", n, url)
  end

  local function counted(metrics)
    return metrics[('nginx_stream_sessions_total{server="127.0.0.1:%d",code="2xx"}'):format(server.port2)]
  end

  it("counts sessions of stream, also across reloads, a moved and an emptied log", function()
    if run.shell("test -e " .. MODULE).status ~= 0 then
      pending("nginx's module stream is not installed")
      return
    end
    server = nginx.new({ main = STREAM, setup = "stream = 'logs/stream.log'" })
    run.write_file(server.prefix .. "/logs/stream.log", "old 200 1 1 1.000\n")
    server:start()
    local function await(n)
      run.await(n .. " sessions", function() return counted(server:metrics()) == n end)
    end
    sessions(3)
    await(3)
    server:reload()
    sessions(2)
    await(5)
    local log = server.prefix .. "/logs/stream.log"
    nginx.sh("mv %s %s.1", log, log)
    sessions(1) -- to the log that was moved
    server:signal("USR1")
    run.await("a new log", function() return run.shell("test -e " .. log).status == 0 end)
    sessions(4)
    await(10)
    nginx.sh("echo 'no format' >>%s; sync %s", log, log)
    run.await("a line of another format", function() return server:counted()["nginx,stream:unread"] == 1 end)
    nginx.sh(": >%s", log)
    sessions(1)
    await(11)
    local m = server:metrics()
    assert.is_nil(m['nginx_stream_sessions_total{server="old",code="2xx"}'])
    local labels = ('{server="127.0.0.1:%d"}'):format(server.port2)
    assert.equal(11 * #"good bye", m["nginx_stream_sent_bytes_total" .. labels])
    assert.equal(11, m["nginx_stream_session_duration_seconds_count" .. labels])
    assert.is_nil(server:log():find("kstat", 1, true), server:log())
  end)

  it("shows what caches take, and the versions", function()
    server = nginx.new({ workers = 1 })
    local dir = server.prefix .. "/cache"
    server:configure({ setup = ("caches = { static = '%s', none = '/nowhere' }"):format(dir) })
    nginx.sh("mkdir -p %s/a/b; head -c 10000 /dev/zero >%s/a/b/one; head -c 1 /dev/zero >%s/two; chmod -R a+rX %s", dir,
      dir, dir, dir)
    local taken = 512 * tonumber(nginx.sh("stat -c %%b %s/a/b/one", dir).out) +
      512 * tonumber(nginx.sh("stat -c %%b %s/two", dir).out)
    server:start()
    run.await("a look at the cache", function()
      return server:metrics()['nginx_cache_files{cache="static"}'] == 2
    end)
    local m = server:metrics()
    assert.equal(taken, m['nginx_cache_size_bytes{cache="static"}'])
    assert.equal(0, m['nginx_cache_files{cache="none"}'])
    assert.equal(1, m.nginx_workers)
    local version = nginx.sh("%s -v 2>&1", nginx.binary()).out:match("nginx/([%d.]+)")
    local found
    for name in pairs(m) do
      found = found or name:find('nginx_build_info{version="' .. version .. '",lua_module="', 1, true)
    end
    assert.truthy(found)
  end)
end)
