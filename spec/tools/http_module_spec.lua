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
