-- kstatlua exporter among clients that are slow, idle, deaf or gone, and at its end.
local exporter = require("support.exporter")
local run = require("support.run")

describe("kstatlua exporter", function()
  if not exporter.is_built then
    pending("is not built here: libmicrohttpd is not installed")
    return
  end
  local dir, server

  before_each(function()
    dir = run.directory()
    server = exporter.start(dir)
  end)
  after_each(function()
    if run.alive(server.pid) then
      run.stop(server.pid)
    end
    run.remove_directory(dir)
  end)

  -- Starts slow_clients.py, which is killed after `test`.
  local function among(what, test)
    local pid = run.start(("python3 spec/support/slow_clients.py %s %s"):format(server.port, what), dir .. "/clients")
    run.await("the clients", function() return run.read_file(dir .. "/clients"):find("ready") end)
    local ok, message = pcall(test)
    run.stop(pid, "KILL")
    assert(ok, message)
  end

  local function is_served()
    return run.shell(("curl -s -m 30 -o /dev/null -w '%%{http_code}' '127.0.0.1:%s/metrics?select=unix:0:system_misc'")
      :format(server.port)).out
  end

  -- What a sanitizer keeps for itself is no cost of a client.
  local most_kilobytes = os.getenv("ASAN_OPTIONS") and 400000 or 40000

  local function sockets()
    return tonumber(run.shell("ls -l /proc/" .. server.pid .. "/fd | grep -c socket:").out)
  end

  local function kilobytes()
    return tonumber(run.read_file("/proc/" .. server.pid .. "/status"):match("VmRSS:%s*(%d+)"))
  end

  for _, what in ipairs({ "idle", "slow", "deaf", "many", "gone" }) do
    it("serves others beside clients that are " .. what .. ", at a bounded cost", function()
      is_served()
      local before = kilobytes()
      among(what, function()
        for _ = 1, 5 do
          assert.equal("200", is_served())
        end
        assert.truthy(kilobytes() - before < most_kilobytes, kilobytes() - before)
        assert.truthy(sockets() <= 70, sockets()) -- of 64 clients, and its own
      end)
      assert.equal("200", is_served())
    end)
  end

  it("keeps a connection that asks again while idle ones come and go", function()
    local r = run.run({ "/usr/bin/python3", "-c", [[
import socket, sys
def connect():
    return socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
asking, idle = connect(), []
for i in range(70):
    idle.append(connect())
    asking.sendall(b"HEAD /none HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert asking.recv(4096).startswith(b"HTTP/1.1 404"), i
]], server.port })
    assert.same({ 0, "" }, { r.status, r.err })
  end)

  it("does not start where it could not answer for want of open files", function()
    for _, most in ipairs({ 12, 16, 127 }) do
      local r = run.shell(("ulimit -n %d; timeout 60 %s/kstatlua exporter --listen 127.0.0.1:0"):format(most, run.bin))
      assert.same({ 3, "", ("exporter: only %d open files are allowed here, and 128 are needed (ulimit -n)\n"):
        format(most) }, { r.status, r.out, r.err })
    end
    run.stop(server.pid)
    server = exporter.start(dir, "", "prlimit -n128")
    among("many", function() assert.equal("200", is_served()) end)
    local metrics = run.shell(("curl -s 127.0.0.1:%s/metrics"):format(server.port)).out
    assert.truthy(metrics:find("\nkstat_scrape_failures_total 0\n", 1, true))
  end)

  it("ends at a signal, whose slow clients would take half an hour", function()
    among("slow", function() run.stop(server.pid) end)
  end)
end)
