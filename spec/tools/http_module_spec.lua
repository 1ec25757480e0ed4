-- kstat.http, the server as a module: what handlers may do, and what comes of their mistakes.
local exporter = require("support.exporter")
local run = require("support.run")

describe("kstat.http", function()
  if not exporter.is_built then
    pending("is not built here: libmicrohttpd is not installed")
    return
  end

  -- What a client gets from a handler, a text in Lua, and what the script prints, to which `run` is known: it serves
  -- until the client was answered, and returns what server:run() returns or raises.
  local function serve(handler, script)
    local r = run.run({ "kstatlua", "-e", ([[
      local server = assert(require("kstat.http").listen("127.0.0.1:0"))
      local client = io.popen(("curl -s -m 30 -w ' %%%%{http_code}' 127.0.0.1:%%d/path"):format(server:port()))
      local function run()
        local is_called, handler, ok, message = false, %s
        local function handle(...)
          is_called = true
          return handler(...)
        end
        local last = kstat.hrtime() + 30
        repeat
          ok, message = pcall(server.run, server, 0.05, handle)
        until is_called or kstat.hrtime() > last
        if ok then
          server:run(0.05, handle)
        end
        return tostring(message)
      end
      %s
      print(client:read("*a"))
    ]]):format(handler, script or "print(run())") })
    assert.equal("", r.err)
    return r.out
  end

  it("answers by what a handler returns", function()
    assert.equal("nil\n/path 201\n", serve('function(path) return 201, "text/plain", path end'))
  end)

  it("raises what a handler raises, and its client gets a status and a line", function()
    local answer = "the answer failed\n 500\n"
    assert.equal("mistake\n" .. answer, serve('function() error("mistake", 0) end'))
    assert.matches("a handler cannot run the server\n" .. answer, serve("function() return server:run(0, print) end"))
    assert.matches("a handler cannot close the server\n" .. answer, serve("function() return server:close() end"))
    assert.matches("bad argument.*\n" .. answer, serve("function() end"))
    assert.matches("yield.*\n" .. answer, serve("function() coroutine.yield() end"))
  end)

  it("holds 64 MiB of answers that nobody reads: beyond that the oldest of them are given up", function()
    local r = run.run({ "kstatlua", "-e", [[
      local server = assert(require("kstat.http").listen("127.0.0.1:0"))
      local body, done = ("x"):rep(8 * 1024 * 1024), false
      local client = io.popen(("python3 -c '%s' %d; echo end"):format(arg[1], server:port()))
      local function handle(path)
        done = done or path == "/end"
        return 200, "text/plain", path == "/end" and "" or body
      end
      local last = kstat.hrtime() + 60
      repeat
        server:run(0.05, handle)
      until done or kstat.hrtime() > last
      server:run(0.2, handle)
      server:close()
      print(client:read("*a"))
    ]], [[
import socket, sys
def ask(path):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(60)
    s.connect(("127.0.0.1", int(sys.argv[1])))
    s.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path)
    return s
def read(s):
    n = 0
    try:
        while True:
            b = s.recv(1 << 20)
            if not b:
                return n
            n += len(b)
    except OSError:
        return n
deaf = []
for i in range(12):
    deaf.append(ask(b"/"))
    deaf[-1].recv(1)
whole = 8 * 1024 * 1024
print(read(ask(b"/")) > whole, [read(s) >= whole for s in deaf].count(True))
ask(b"/end").recv(1)
]] })
    assert.equal("", r.err)
    assert.same("True 7\nend\n\n", r.out)
  end)

  it("serves after a mistake, and does nothing once it is closed", function()
    assert.equal("fine 200\n", serve('function() return 200, "text/plain", "fine" end', [[
      assert(not pcall(server.run, server, -1, print) and not pcall(server.run, server, 0/0, print))
      assert(not pcall(server.run, server, 0) and not pcall(server.run, server, 4000, print))
      run()
      server:close()
      server:close()
      assert(not pcall(server.run, server, 0, print) and not pcall(server.port, server))]]))
  end)
end)
