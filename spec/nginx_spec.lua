-- examples/nginx in the real nginx: what kstat counts is what the access log has.
local run = require("support.run")

-- LuaJIT is inside nginx, whatever runs this spec: once is enough.
describe("examples/nginx", function()
  local prefix, kstats, environment, pid, port, wrk

  local function sh(line, ...)
    return run.shell(line:format(...))
  end

  local function wait_for(what, condition)
    for _ = 1, 100 do
      if condition() then return end
      os.execute("sleep 0.1")
    end
    error("waited too long for " .. what)
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

  -- Starts wrk, whose end settle() waits for.
  local function load(seconds, path)
    wrk = sh("wrk -t1 -c16 -d%d http://127.0.0.1:%d%s >%s/logs/wrk.log 2>&1 & echo $!", seconds, port, path,
      prefix).out:match("%d+")
  end

  -- Connections are closed and the last requests logged.
  local function settle()
    wait_for("wrk to end", function() return not wrk or sh("kill -0 %s", wrk).status ~= 0 end)
    wrk = nil
    local last = -1
    wait_for("the last requests", function()
      local _, total = logged()
      local same = total == last
      last = total
      return same
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
    local tries = 0
    for candidate = 20000 + os.time() % 5000, 32000 do
      if not taken[candidate] then
        tries, port = tries + 1, candidate
        local f = assert(io.open(prefix .. "/listen.conf", "w"))
        f:write(("listen 127.0.0.1:%d;\n"):format(port))
        f:close()
        local checked = sh("cd %s && $interpreter %s %s nginx -t -p %s -c nginx.conf -e logs/error.log 2>&1", prefix,
          environment, lua, prefix)
        if checked.status == 0 or tries == 10 then break end
      end
    end
    sh("cd %s && $interpreter %s %s nginx -p %s -c nginx.conf -e logs/error.log >logs/out.log 2>&1 &", prefix,
      environment, lua, prefix)
    wait_for("nginx", function()
      local f = io.open(prefix .. "/logs/nginx.pid")
      pid = f and f:read("*l")
      if f then f:close() end
      return pid and sh("curl -s -m 5 http://127.0.0.1:%d/", port).out == "hello\n"
    end)
  end)

  teardown(function()
    if pid then
      sh("kill -QUIT %s", pid)
      wait_for("nginx to end", function() return sh("kill -0 %s", pid).status ~= 0 end)
      assert.equal("", sh("ls %s", kstats).out)
    end
    os.execute("rm -rf " .. prefix)
  end)

  local function agree()
    settle()
    local log, total = logged()
    local classes, values = counted()
    assert.same(log, classes)
    return total, values
  end

  it("counts requests by class of status", function()
    for _, path in ipairs({ "/", "/missing", "/moved", "/broken", "/" }) do
      sh("curl -s -m 5 -o /dev/null http://127.0.0.1:%d%s", port, path)
    end
    local total = agree()
    assert.equal(6, total) -- and the one that found nginx ready
  end)

  it("counts what the access log has, of two workers under load", function()
    assert.equal(2, #workers())
    load(2, "/")
    local total, values = agree()
    assert.is_true(total > 1000, total)
    assert.equal(0, values["service:rcnt"])
    assert.is_true(values["service:rlentime"] >= values["service:rtime"])
    assert.is_true(values["service:rtime"] > 0)
  end)

  it("goes on counting across a reload", function()
    local _, before = logged()
    local old = table.concat(workers(), " ")
    load(3, "/")
    os.execute("sleep 1")
    sh("kill -HUP %s", pid)
    wait_for("new workers", function() return #workers() == 2 and table.concat(workers(), " ") ~= old end)
    local total, values = agree()
    assert.is_true(total > before + 1000)
    assert.equal(0, values["service:rcnt"])
  end)

  it("goes on counting after a worker was killed", function()
    local victim = workers()[1]
    sh("kill -9 %s", victim)
    wait_for("another worker", function() return #workers() == 2 and workers()[1] ~= victim end)
    local _, before = logged()
    load(1, "/")
    local total, values = agree()
    assert.is_true(total > before + 1000)
    assert.equal(0, values["service:rcnt"])
  end)

  it("differs by no more than the request a worker was about to log when it was killed under load", function()
    local victim = workers()[1]
    load(3, "/")
    os.execute("sleep 1")
    sh("kill -9 %s", victim)
    wait_for("another worker", function() return #workers() == 2 and workers()[1] ~= victim end)
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
