-- kstatlua listen: on a capture, and on this machine beside a server of its own.
local capture = require("support.capture")
local run = require("support.run")

local function sample(t)
  local function socket(port, name, statistics)
    return capture.kstat("listen", port, name .. ",owner", "socket_owner", 1, 0, t, statistics)
  end
  return {
    socket(8080, "tcp,127.0.0.1", ('"sockets":4,"queue":3,"queue_max":511,"drops":%d,"address":"127.0.0.1",' ..
      '"uid":0,"pid":77,"fname":"nginx","processes":5'):format(7 * t)),
    socket(22, "tcp6", '"sockets":1,"queue":0,"queue_max":128,"drops":0,"address":"::","uid":424242'),
  }
end

describe("listen", function()
  local path
  setup(function() path = capture.file({ sample(10), sample(20) }) end)
  teardown(capture.clean)

  it("shows owners, queues and drops by port", function()
    local r = run.run({ "kstatlua", "-r", path, "listen", "-y", "10", "2" })
    assert.equal("", r.err)
    assert.equal([[
PROTO ADDRESS        QUEUE BACKLOG  DROPS USERNAME NPROC     PID PROCESS
tcp6  [::]:22            0     128      0 424242       -       - -
tcp   127.0.0.1:8080     3     511     70 root         5      77 nginx
]], r.out)
  end)

  it("chooses by port and by name", function()
    for _, words in ipairs({ { "-p", "8080,443" }, { "nginx" }, { "*:8080" }, { "root" } }) do
      local r = run.run({ "kstatlua", "-r", path, "listen", words[1], words[2] })
      assert.equal(0, r.status)
      assert.truthy(r.out:find("127.0.0.1:8080", 1, true) and not r.out:find("[::]", 1, true), r.out)
    end
  end)

  it("says what is not there, with status 1, and refuses what is no port", function()
    local r = run.run({ "kstatlua", "-r", path, "listen", "-p", "443" })
    assert.same({ "listen: nothing listens at port 443\n", 1 }, { r.err, r.status })
    r = run.run({ "kstatlua", "-r", "spec/vectors/kstat/host.jsonl", "listen" })
    assert.matches("^listen: this recording has no listening sockets; record with: [^\n]+\n$", r.err)
    assert.equal(1, r.status)
    for _, ports in ipairs({ "http", ",", "" }) do
      assert.equal(2, run.run({ "kstatlua", "listen", "-p", ports }).status)
    end
  end)

  it("finds a server of this machine, and what it is recorded with is what the line says", function()
    local out = os.tmpname()
    local server = run.start(run.bin .. "/kstatlua exporter --listen 127.0.0.1:0", out)
    local port = run.await("the server", function() return run.read_file(out):match("127%.0%.0%.1:(%d+)") end)
    local r = run.run({ "kstatlua", "listen", "-p", port })
    assert.matches(("tcp   127.0.0.1:%s +0 +%%d+ +0 %%S+ +1 +%s kstatlua\n"):format(port, server), r.out)
    local file = os.tmpname()
    os.remove(file)
    run.shell(("%s/kstatlua record -o %s 'listen::*,owner' 1 1"):format(run.bin, file))
    assert.equal(r.out, run.run({ "kstatlua", "-r", file, "listen", "-p", port }).out)
    run.stop(server)
    os.remove(file)
    os.remove(out)
  end)
end)
