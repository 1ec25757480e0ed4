-- examples/nginx in the real nginx: what kstat counts is what the access log has.
local run = require("support.run")

-- LuaJIT is inside nginx, whatever runs this spec: once is enough.
describe("examples/nginx", function()
  local prefix, kstats, environment, pid, port, wrk

  local function sh(line, ...)
    return run.shell(line:format(...))
  end

  local function workers()
    local list = {}
    for child in sh("pgrep -P %s", pid).out:gmatch("%d+") do list[#list + 1] = child end
    return list
  end

  local function logged()
    local classes, total = { 0, 0, 0, 0, 0 }, 0
    for line in io.lines(prefix .. "/logs/access.log") do
      local class = tonumber(line:match('" (%d)%d%d '))
      classes[class], total = classes[class] + 1, total + 1
    end
    return classes, total
  end

  local function counted()
    local r = sh("%s KSTAT_PROC=%s KSTAT_SYS=%s %s/kstat -p -m nginx", environment, kstats, kstats, run.bin)
    assert.equal("", r.err)
    local values = {}
    for name, value in r.out:gmatch("nginx:0:([%w_]+:[%w_]+)\t(%d+)\n") do values[name] = tonumber(value) end
    local classes = {}
    for i = 1, 5 do classes[i] = values["requests:" .. i .. "xx"] end
    return classes, values
  end

  -- Runs wrk until the log has that many requests more, then `meanwhile`, if there is one, and again until
  -- that many more, on a machine of any speed.
  local function load(requests, meanwhile)
    wrk = run.start(("wrk -t1 -c16 -d86400 http://127.0.0.1:%d/"):format(port), prefix .. "/logs/wrk.log")
    local function await_requests()
      local before
      run.await("requests", function()
        local total = tonumber(sh("wc -l <%s/logs/access.log", prefix).out)
        before = before or total
        return total >= before + requests
      end)
    end
    await_requests()
    if meanwhile then
      meanwhile()
      await_requests()
    end
    run.stop(wrk)
    wrk = nil
  end

  -- Waits until every connection is over: its last request is logged before nginx closes it.
  local function settle()
    local of_ours = ("^%%s*%%d+: %%x+:%04X %%x+:%%x+ (%%x%%x)"):format(port)
    run.await("the last requests", function()
      for line in io.lines("/proc/net/tcp") do
        local state = line:match(of_ours)
        if state == "01" or state == "03" or state == "08" then -- open, opening, closed by the other side
          return false
        end
      end
      return true
    end)
  end

  setup(function()
    prefix = os.tmpname()
    os.remove(prefix)
    kstats = prefix .. "/kstats"
    sh("mkdir -p %s/logs %s && chmod 755 %s && cp examples/nginx/* %s", prefix, kstats, prefix, prefix)
    environment = "KSTAT_DIR=" .. kstats
    local lua = ("LUA_PATH='%s/lua/?.lua;%s/lua/?/init.lua;;' LUA_CPATH='%s/lib/lua/5.1/?.so;;'"):format(
      os.getenv("PWD"), os.getenv("PWD"), run.build)
    -- A port that nobody listens at; if somebody took it meanwhile, another.
    local taken = {}
    for _, name in ipairs({ "tcp", "tcp6" }) do
      for line in io.lines("/proc/net/" .. name) do
        local number = line:match("^%s*%d+: %x+:(%x+)")
        if number then taken[tonumber(number, 16)] = true end
      end
    end
    -- Debian's nginx is in a directory that only root has in the PATH.
    local command = ("env -C %s PATH=\"$PATH:/usr/sbin\" %s LD_PRELOAD=%s %s nginx -p %s -c nginx.conf " ..
      "-e logs/error.log"):format(prefix, environment, os.getenv("KSTAT_PRELOAD") or "", lua, prefix)
    local tries = 0
    for candidate = 20000 + os.time() % 5000, 32000 do
      if not taken[candidate] then
        tries, port = tries + 1, candidate
        local f = assert(io.open(prefix .. "/listen.conf", "w"))
        f:write(("listen 127.0.0.1:%d;\n"):format(port))
        f:close()
        pid = run.start(command, prefix .. "/logs/out.log")
        run.await("nginx", function()
          -- It writes its process id once it listens.
          return not run.alive(pid) or sh("grep -qx %s %s/logs/nginx.pid", pid, prefix).status == 0
            and sh("curl -s -m 60 http://127.0.0.1:%d/", port).out == "hello\n"
        end)
        if run.alive(pid) or tries == 10 then break end
      end
    end
    assert.is_true(run.alive(pid), run.read_file(prefix .. "/logs/out.log"))
  end)

  teardown(function()
    if wrk then run.stop(wrk, "KILL") end
    if pid then
      run.stop(pid, "QUIT")
      assert.equal("", sh("ls %s", kstats).out)
    end
    os.execute("rm -rf " .. prefix)
  end)

  -- A worker is killed, and the master starts another.
  local function kill_one()
    local victim = workers()[1]
    sh("kill -9 %s", victim)
    run.await("another worker", function()
      local list = workers()
      return #list == 2 and list[1] ~= victim and list[2] ~= victim
    end)
  end

  local function agree()
    settle()
    local log, total = logged()
    local classes, values = counted()
    assert.same(log, classes)
    return total, values
  end

  it("counts requests by class of status", function()
    settle()
    local _, before = logged()
    for _, path in ipairs({ "/", "/missing", "/moved", "/broken", "/" }) do
      sh("curl -s -m 60 -o /dev/null http://127.0.0.1:%d%s", port, path)
    end
    assert.equal(before + 5, (agree()))
  end)

  it("counts what the access log has, of two workers under load", function()
    assert.equal(2, #workers())
    load(1000)
    local _, values = agree()
    assert.equal(0, values["service:rcnt"])
    assert.is_true(values["service:rlentime"] >= values["service:rtime"])
    assert.is_true(values["service:rtime"] > 0)
  end)

  it("goes on counting across a reload", function()
    local old = {}
    for _, worker in ipairs(workers()) do old[worker] = true end
    load(1000, function()
      sh("kill -HUP %s", pid)
      run.await("new workers", function()
        local list = workers()
        return #list == 2 and not old[list[1]] and not old[list[2]]
      end)
    end)
    local _, values = agree()
    assert.equal(0, values["service:rcnt"])
  end)

  it("goes on counting after a worker was killed", function()
    kill_one()
    load(1000)
    local _, values = agree()
    assert.equal(0, values["service:rcnt"])
  end)

  it("differs by no more than the request a worker was about to log when it was killed under load", function()
    load(1000, function() kill_one() end)
    settle()
    local log = logged()
    local classes, values = counted()
    -- nginx runs log_by_lua and then writes the log line: a worker can die between the two, once.
    assert.is_true(classes[2] == log[2] or classes[2] == log[2] + 1, log[2] .. " " .. classes[2])
    assert.same({ log[1], log[3], log[4], log[5] }, { classes[1], classes[3], classes[4], classes[5] })
    -- What it was serving does not stay in the queue.
    assert.equal(0, values["service:rcnt"])
  end)
end)
