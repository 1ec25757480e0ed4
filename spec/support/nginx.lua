--- Starts real nginx for specs, in a directory of its own, at a port that nobody listens at.
local run = require("support.run")

local M = {}

local methods = {}
local meta = { __index = methods }

local function sh(line, ...)
  return run.shell(line:format(...))
end
M.sh = sh

-- The first of eight ports for the specs of this process: others look for ports at the same time.
local first_port = 20000 + 8 * (tonumber(io.open("/proc/self/stat"):read("*l"):match("^%d+")) % 1500)

-- Ports that nobody listens at now.
local function free_ports(n)
  local taken, list = {}, {}
  for _, name in ipairs({ "tcp", "tcp6" }) do
    for line in io.lines("/proc/net/" .. name) do
      local number = line:match("^%s*%d+: %x+:(%x+)")
      if number then
        taken[tonumber(number, 16)] = true
      end
    end
  end
  local candidate = first_port
  while #list < n do
    if not taken[candidate] then
      list[#list + 1] = candidate
    end
    candidate = candidate + 1
  end
  return list
end

--- The path of nginx: only root has its directory in the PATH.
function M.binary()
  return sh("PATH=$PATH:/usr/sbin command -v nginx").out:match("[^\n]+")
end

--- Whether nginx with Lua, wrk or curl is missing: then the specs are pending, by the pending() of their file.
function M.is_missing(pending)
  local is_there = M.binary() and sh("test -e /usr/lib/nginx/modules/ngx_http_lua_module.so" ..
    " && command -v wrk >/dev/null && command -v curl").status == 0
  if not is_there then
    pending("nginx with its Lua module, wrk and curl are not installed")
  end
  return not is_there
end

local FRAME = [[
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
daemon %s;
worker_processes %s;
pid logs/nginx.pid;
error_log logs/error.log warn;
%s
events { worker_connections 512; }
http {
    access_log logs/access.log;
    client_body_temp_path logs/body; proxy_temp_path logs/proxy; fastcgi_temp_path logs/fastcgi;
    uwsgi_temp_path logs/uwsgi; scgi_temp_path logs/scgi;
    %s
    init_by_lua_block { kn = require("kstat.nginx").setup{ %s } %s }
    init_worker_by_lua_block { kn:worker() }
    log_by_lua_block { kn:log() }
    server {
        listen 127.0.0.1:%d;
        server_name example.com;
        location / { content_by_lua_block { ngx.say("hello") } }
        location /missing { return 404; }
        location = /metrics { access_log off; content_by_lua_block { kn:metrics() } log_by_lua_block { return } }
        location = /kstat.json { access_log off; content_by_lua_block { kn:json() } log_by_lua_block { return } }
        location /kstat/ { access_log off; content_by_lua_block { kn:page() } log_by_lua_block { return } }
        %s
    }
    %s
}
]]

--- Makes a directory for an nginx.
-- @tparam[opt] table options `config`: a whole configuration in place of the frame, whose address is in listen.conf;
-- else `setup`, `init`, `main`, `map` (of names of upstreams), `locations`, `servers`: text that goes into the frame,
-- `$port2` a second port;
-- `workers` (2), `daemon`; `kstats`: KSTAT_DIR
function M.new(options)
  local self = setmetatable({ options = options or {}, prefix = run.directory() }, meta)
  local ports = free_ports(2)
  self.port, self.port2 = ports[1], ports[2]
  self.kstats = self.options.kstats or self.prefix .. "/kstats"
  sh("chmod 755 %s; mkdir -p %s/logs %s", self.prefix, self.prefix, self.options.kstats and "" or self.kstats)
  self:configure({})
  return self
end

--- Writes the configuration, with changed options.
function methods.configure(self, changed)
  for name, value in pairs(changed) do
    self.options[name] = value
  end
  local o = self.options
  o.map = o.map or "map $proxy_host $kstat_upstream { default $proxy_host; }"
  run.write_file(self.prefix .. "/listen.conf", ("listen 127.0.0.1:%d;\n"):format(self.port))
  local text = o.config or FRAME:format(o.daemon and "on" or "off", o.workers or 2, o.main or "", o.map, o.setup or "",
    o.init or "", self.port, o.locations or "", o.servers or "")
  -- Paths in the environment would not reach the new binary of an upgrade. Workers are another user's.
  text = text:gsub("\nhttp {", ([[%%0
    lua_package_path '%s/?.lua;%s/?/init.lua;;';
    lua_package_cpath '%s/lib/lua/5.1/?.so;;';]]):format(run.public().lua, run.public().lua, run.public().build))
  text = text:gsub("\nevents {", "\nenv LD_PRELOAD;\nenv ASAN_OPTIONS;%0") -- the new binary needs a sanitizer, too
  run.write_file(self.prefix .. "/nginx.conf", (text:gsub("%$port2", tostring(self.port2))))
end

--- Starts it, and waits until it answers.
function methods.start(self)
  -- By its whole path: an upgrade does not look for the binary in $PATH. Its parent ends once it runs: nginx does not
  -- upgrade below the process that started it.
  run.write_file(self.prefix .. "/start", ("rm -f logs/nginx.pid\nLD_PRELOAD=%s %s -p %s -c nginx.conf -e " ..
    "logs/error.log &\n"
    .. "while kill -0 $! && ! test -s logs/nginx.pid; do sleep 0.02; done\n"):format(os.getenv("KSTAT_PRELOAD") or "",
    M.binary(), self.prefix))
  local started = run.start(("env -C %s KSTAT_DIR=%s sh start"):format(self.prefix, self.kstats),
    self.prefix .. "/logs/out.log")
  run.await("nginx", function()
    return sh("curl -s -m 60 http://127.0.0.1:%d/", self.port).out == "hello\n" or
      not run.alive(started) and sh("kill -0 $(cat %s/logs/nginx.pid)", self.prefix).status ~= 0
  end)
  local pid = sh("cat %s/logs/nginx.pid", self.prefix).out:match("%d+")
  assert(pid and run.alive(pid), run.read_file(self.prefix .. "/logs/out.log"))
  self.pid = pid
  -- The first worker answers while the master still makes the others: at a reload they would be taken for new ones.
  local n = tonumber(run.read_file(self.prefix .. "/nginx.conf"):match("\nworker_processes (%d+)")) or 1
  run.await("the workers", function() return #self:workers() >= n end)
  return self
end

--- Ends it and removes its directory.
function methods.stop(self)
  if self.pid and run.alive(self.pid) then
    run.stop(self.pid, "QUIT")
  end
  self.pid = nil
end

function methods.remove(self)
  self:stop()
  run.remove_directory(self.prefix)
end

-- Waits until no connection of ours is in one of these states, as /proc/net/tcp has them.
local function await_no_connection(self, states)
  local of_ours = ("^%%s*%%d+: %%x+:%04X %%x+:%%x+ (%%x%%x)"):format(self.port)
  run.await("the last requests", function()
    for line in io.lines("/proc/net/tcp") do
      if states[line:match(of_ours) or ""] then
        return false
      end
    end
    return true
  end)
end

-- Waits until what was answered is counted: nginx logs a request after its answer, and only then sees that the client
-- has closed the connection. Another worker would answer before that.
local function await_log(self)
  await_no_connection(self, { ["08"] = true })
end

--- The body of a page.
function methods.get(self, path, arguments)
  await_log(self)
  return sh("curl -s -m 60 %s 'http://127.0.0.1:%d%s'", arguments or "", self.port, path).out
end

--- Gets a page n times, each by a connection of its own. Returns the bodies, one behind the other.
function methods.get_times(self, n, path, arguments)
  return self:get(("%s?[1-%d]"):format(path, n), "-H 'Connection: close' " .. (arguments or ""))
end

--- The metrics of /metrics: by name and labels as they are written.
function methods.metrics(self)
  local values = {}
  for name, value in self:get("/metrics"):gmatch("([^\n#][^\n]*) (%S+)\n") do
    values[name] = tonumber(value)
  end
  return values
end

--- What kstat -p prints of it: by name:statistic.
function methods.counted(self, module)
  await_log(self)
  local r = sh("KSTAT_DIR=%s KSTAT_PROC=%s KSTAT_SYS=%s %s/kstat -p -m %s", self.kstats, self.kstats, self.kstats,
    run.bin, module or "nginx")
  local values = {}
  for name, value in r.out:gmatch("[^:\n]+:0:([^\n]+)\t([^\n]*)\n") do
    values[name] = tonumber(value) or value
  end
  return values, r
end

--- The lines of a log.
function methods.log(self, name)
  return run.read_file(("%s/logs/%s.log"):format(self.prefix, name or "error"))
end

function methods.signal(self, signal, pid)
  sh("kill -%s %s", signal, pid or self.pid)
end

--- The worker processes of a master.
function methods.workers(self, master)
  local list = {}
  for child in sh("pgrep -P %s", master or self.pid).out:gmatch("%d+") do
    list[#list + 1] = child
  end
  return list
end

--- Reloads, and waits for n new workers.
function methods.reload(self, n)
  local old = {}
  for _, worker in ipairs(self:workers()) do
    old[worker] = true
  end
  self:signal("HUP")
  run.await("new workers", function()
    local list = self:workers()
    for _, worker in ipairs(list) do
      if old[worker] then
        return false
      end
    end
    return #list == (n or 2)
  end)
end

--- Requests by class of status in the access log, and how many there are in all.
function methods.logged(self)
  local classes, total = { 0, 0, 0, 0, 0 }, 0
  for line in io.lines(self.prefix .. "/logs/access.log") do
    local class = tonumber(line:match('" (%d)%d%d '))
    classes[class], total = classes[class] + 1, total + 1
  end
  return classes, total
end

--- Waits until every connection is over: its last request is logged before nginx closes it.
function methods.settle(self)
  await_no_connection(self, { ["01"] = true, ["03"] = true, ["08"] = true }) -- open, opening, closed by the client
end

--- Runs wrk until the log has that many requests more, then `meanwhile`, if there is one, and again until that many
-- more, on a machine of any speed.
function methods.load(self, requests, meanwhile)
  local wrk = run.start(("wrk -t1 -c16 -d86400 http://127.0.0.1:%d/"):format(self.port), self.prefix .. "/logs/wrk.log")
  local function await_requests()
    local before
    run.await("requests", function()
      local total = tonumber(sh("wc -l <%s/logs/access.log", self.prefix).out)
      before = before or total
      return total >= before + requests
    end)
  end
  local ok, problem = pcall(function()
    await_requests()
    if meanwhile then
      meanwhile()
      await_requests()
    end
  end)
  run.stop(wrk)
  assert(ok, problem)
end

return M
