--- exporter: answers over HTTP with all kstats as metrics for Prometheus, and as JSON.
-- Exit status: 0 it was ended by a signal, 2 the command line was wrong, 3 it could not start.
-- SPDX-License-Identifier: MIT
local busiest = require("kstat.page.busiest")
local core = require("kstat.core")
local entrance = require("kstat.exporter.entrance")
local history = require("kstat.page.history")
local interval = require("kstat.base.options.interval")
local kstat = require("kstat")
local opening = require("kstat.command.opening")
local operand = require("kstat.command.operand")
local options = require("kstat.base.options")
local page = require("kstat.page")
local running = require("kstat.base.running")

local LISTEN = "127.0.0.1:9105"
local USAGE = ([=[
usage: kstatlua exporter [options] [module[:instance[:name[:statistic]]] ...]
       kstatlua exporter [options] --names node

  --listen ADDRESS:PORT
              where it answers (LISTEN); an IPv6 address in brackets; port 0: any free one
  --public    the address may be one that other machines reach
  --names node
              /metrics has what node_exporter has of CPUs, memory, disks, links, file systems, pressure,
              sockets and protocols, under its names
  --args      the command lines of processes, too, which may hold secrets
  --machine   the machine's kstats alone, nobody's who publishes
  --trust USER,...
              of published ones root's, its own user's and those of these users
  --max-series N
              what processes publish has at most N series in /metrics (50000), and so have all text files
              together; the machine's own are always whole
  --collector.…, --web.…
              as those of node_exporter: collectors, filters, text files, TLS and passwords
  -h, --help  this

  /metrics    what the operands match (none: everything) as metrics: OpenMetrics, or the classic
              text format, as the client wants. /metrics?select=cpu&select=sd::: less of it
  /kstat.json the same as JSON, as kstat -j prints it
  /kstat/     a page for browsers: charts of the machine and of any selector
]=]):gsub("LISTEN", LISTEN)

local OPTIONS = options.command({
  { nil, "listen", arg = "ADDRESS" }, { nil, "public" }, { nil, "args" },
  { nil, "max_series", long = "max-series", arg = "N", type = "count", default = 50000 },
  { nil, "names", arg = "node" }, { "h", "help", final = true },
  operands = "selector",
}, options.whose)

local FOREIGN_HOST = "the exporter answers at 127.0.0.1, [::1] and localhost; --public lets it answer to other names\n"

local NOT_FOUND = "not found: there are %s, /kstat.json and the page /kstat/\n"

local wrong = running.refusal("kstatlua exporter --help")

-- Ends the command if an operand is no selector, but a port, an address or an interval.
local function check_operands(operands)
  for _, word in ipairs(operands) do
    local port = word:match("^%d+$") or word:gsub("^localhost", ""):match("^[%d.]*:(%d+)$")
    if port or interval.is_number(word) then
      wrong(("'%s' is no selector; --listen 127.0.0.1:%s says where it answers"):format(word, port or "PORT"))
    end
  end
end

--- Returns the options and the compiled operands.
local function read_arguments(words)
  local theirs, rest = require("kstat.node.options").take(words)
  if not theirs then
    wrong(rest)
  end
  local given = operand.read(OPTIONS, rest, USAGE, wrong)
  given.names = given.names or theirs.asks and "node"
  given.theirs = theirs
  theirs.warn = running.warn
  given.metrics = theirs.path or "/metrics"
  for _, line in ipairs(theirs.notes) do
    running.warn(line)
  end
  if given.names and given.names ~= "node" then
    wrong(("--names: 'node' expected, not '%s'"):format(given.names))
  elseif given.names and #given.operands > 0 then
    wrong("--names node has kstats of its own: operands do not go with it")
  elseif given.names and given.trust then
    wrong("--names node is about the machine: --trust does not go with it")
  end
  check_operands(given.operands)
  given.machine = given.machine or given.names ~= nil
  return given, given.names and operand.selectors(require("kstat.node").selectors(theirs.enabled)) or
    operand.selectors(given.operands, "; 'kstatlua exporter --help' explains")
end

local function load_server()
  local ok, http = pcall(require, "kstat.http")
  if not ok then
    running.stop(3, "the module kstat.http cannot be loaded; it is built where libmicrohttpd is installed (Debian: "
      .. "libmicrohttpd-dev)")
  end
  return http
end

-- --- answers ----------------------------------------------------------------------------------

-- The selectors of a request: its own, or those of the command line. nil, message: one is wrong.
local function selectors_of(parameters, otherwise)
  for name in pairs(parameters) do
    if name ~= "select" then
      return nil, ("no parameter '%s'; there is 'select'"):format(name)
    end
  end
  if not parameters.select then
    return otherwise
  end
  return page.selectors(parameters.select)
end

-- Adds the exporter's own metrics.
local function add_own(w, started, failures, left_out, strangers)
  w:family("kstat_scrape_seconds", "gauge", "time that reading the kstats took")
  w:add("", math.floor((kstat.hrtime() - started) * 1e6), nil, 1e6)
  w:family("kstat_scrape_failures", "counter", "lines about what could not be read")
  w:add("", failures)
  w:family("kstat_scrape_left_out_kstats", "gauge", "published kstats beyond --max-series")
  w:add("", left_out)
  w:family("kstat_scrape_left_out_statistics", "gauge", "statistics that other users publish beyond their bounds")
  w:add("", strangers)
end

-- Makes function(host): whether a header Host names this machine as seen from itself, or is nil. Browsers send the name
-- of the page that asks, and somebody else's name may lead to this machine's address.
local function local_hosts(http)
  return function(host)
    local name = host and host:lower():gsub(":%d*$", "")
    return not name or name == "localhost" or http.is_loopback(name .. ":0")
  end
end

-- Returns the exposition of selectors. That of what the command line has is kept: it is what Prometheus asks for again
-- and again.
local function exposition_of(server, selectors, format)
  local kept = selectors == server.typed and server.kept[format]
  if kept then
    return kept:again()
  end
  local exposition, message = core.exposition(server.ks, selectors, format, true)
  if exposition then
    exposition:bound(server.given.max_series)
    server.kept[format] = selectors == server.typed and exposition or server.kept[format]
  end
  return exposition, message
end

-- Returns the text of the kstats, and how many were left out; nil and a message.
local function expose(server, selectors, format)
  local exposition, message = exposition_of(server, selectors, format)
  if not exposition then
    return nil, message
  end
  local text
  text, message = exposition:step(true)
  return text, text and exposition:left_out() or message
end

-- Answers with the metrics of selectors, or of collectors if the names are another program's.
local function metrics(server, wanted, headers)
  local given, named = server.given, server.named
  -- Text files are in the classic format, and stay so.
  local format, media_type = core.exposition_format(not given.theirs.textfile and headers.Accept or nil)
  local started, w = kstat.hrtime(), core.metrics(format)
  local text, left_out
  if named then
    text, left_out = named(wanted, format, w)
  else
    text, left_out = expose(server, wanted, format)
  end
  if not text then
    return 503, "text/plain", left_out .. "\n"
  end
  if left_out > 0 then
    running.warn(("processes publish more than %d series, and /metrics leaves the others out; --max-series allows more")
      :format(given.max_series))
  end
  add_own(w, started, server.failures, left_out, core.left_out(server.ks))
  return 200, media_type, w:text() .. text
end

-- Returns function(server, selectors) -> answer of a path of the page, or nil. The page's own names lie below /kstat/;
-- its data are known by a shorter one, too.
local function paged(path)
  local name = path == "/kstat.json" and "kstat.json" or path:match("^/kstat/(.*)$")
  return name and function(server, selectors) return page.answer(server.ks, name, selectors, server.for_page) end
end

-- Brings the chain up to date and answers. What could not be read is told and counted.
local function answer_now(server, answer, wanted, headers)
  local ok, message = server.ks:update()
  if not ok then
    return 503, "text/plain", message .. "\n"
  end
  local status, media_type, body, policy = answer(server, wanted, headers)
  local is_own = not (server.named and answer == metrics) and wanted ~= server.typed
  local mistake = is_own and page.trouble(wanted)
  local lines = server.ks:warnings()
  server.failures = server.failures + #lines
  for _, line in ipairs(lines) do
    running.warn(line)
  end
  if not status then
    return 404, "text/plain", NOT_FOUND:format(server.given.metrics)
  elseif mistake then
    return 400, "text/plain", mistake .. "\n"
  end
  return status, media_type, body, policy
end

local function answer_to(server, path, parameters, headers)
  local given = server.given
  if server.is_local and not server.is_local(headers.Host) then
    return 403, "text/plain", FOREIGN_HOST
  end
  local answer = path == given.metrics and metrics or paged(path)
  if not answer and server.at_the_door[path] then
    return server.at_the_door[path]()
  elseif not answer then
    return 404, "text/plain", NOT_FOUND:format(given.metrics)
  end
  local wanted, message
  if server.named and answer == metrics then
    wanted, message = server.scrape.wanted(given.theirs.enabled, parameters)
  else
    wanted, message = selectors_of(parameters, server.typed)
  end
  if not wanted then
    return 400, "text/plain", message .. "\n"
  end
  return answer_now(server, answer, wanted, headers)
end

-- Makes function(path, parameters, headers) -> status, type, body. typed: the selectors of the command line; given: its
-- options; is_local: which hosts are answered; nil: all; for_page: what the page has of the server.
local function answers(ks, typed, given, is_local, for_page)
  local scrape = given.names and require("kstat.node.scrape")
  local server = { ks = ks, typed = typed, given = given, is_local = is_local, for_page = for_page, scrape = scrape,
    named = scrape and scrape.new(ks, given.theirs, given.max_series), at_the_door = entrance.pages(given.metrics),
    kept = {}, failures = 0 }
  return function(path, parameters, headers) return answer_to(server, path, parameters, headers) end
end

-- A mistake in an answer costs its request, not the server.
local function guarded(answer)
  return function(...)
    local ok, status, media_type, body, policy = pcall(answer, ...)
    if ok then
      return status, media_type, body, policy
    end
    running.warn(tostring(status))
    return 500, "text/plain", "the answer failed: " .. tostring(status) .. "\n"
  end
end

local REALM = 'Basic realm="kstat", charset="UTF-8"'

-- Lets nobody in without the password of a user. door.guard, nil: there are no users.
local function behind(door, answer)
  return function(path, parameters, headers)
    local is_known = not door.guard
    if door.guard then
      is_known = door.guard(headers.Authorization)
    end
    if is_known == nil then
      return 429, "text/plain", "too many wrong passwords: try again in a moment\n"
    elseif not is_known then
      return 401, "text/plain", "a name and a password are needed\n", nil, REALM
    end
    return answer(path, parameters, headers)
  end
end

-- --- the command ------------------------------------------------------------------------------

-- Returns where to listen.
local function address_of(given, http)
  local listen = given.theirs.listen or {}
  if given.theirs.systemd then
    wrong("--web.systemd-socket: the exporter makes its own socket; --web.listen-address says where")
  end
  if #listen > 1 or listen[1] and given.listen then
    wrong("--web.listen-address: one address alone")
  end
  local address = listen[1] and listen[1]:gsub("^localhost:", "127.0.0.1:") or given.listen or LISTEN
  local is_loopback = http.is_loopback(address)
  local name = listen[1] and "--web.listen-address" or "--listen"
  if is_loopback == nil then
    wrong(("%s: '%s' is no address: %s and [::1]:9105 are"):format(name, address, LISTEN))
  elseif not given.public and not is_loopback and not listen[1] then
    wrong(("--listen %s: no address of this machine alone, as %s is; --public allows others"):format(address, LISTEN))
  end
  given.public = given.public or not is_loopback
  return address
end

-- Reads the file of TLS and passwords, if there is one.
local function read_config(given)
  if (given.theirs.config or "") == "" then
    return {}
  end
  local config, message = require("kstat.exporter.config").read(given.theirs.config)
  if not config then
    running.stop(3, message)
  end
  for _, line in ipairs(config.notes) do
    running.warn(line)
  end
  return config
end

local RENEWED = 2 -- seconds between two looks at the files of TLS and passwords

local function take(door, config)
  door.config, door.due = config, core.hrtime() + RENEWED
  door.guard = config.users and next(config.users) and entrance.guard(config.users, door.is_password)
end

-- Goes on with what these files say, if they changed. While they are wrong, what was read before goes on.
local function renew(server, door, path)
  door.due = core.hrtime() + RENEWED
  local config, message = require("kstat.exporter.config").read(path)
  local changed = config and config.text ~= door.config.text
  if changed then
    changed, message = server:renew(config.tls)
  end
  if changed then
    take(door, config)
    running.tell(path .. ": read again")
  elseif message then
    running.warn(("%s: %s; what was read before goes on"):format(path, message))
  end
end

local function main()
  local given, selectors = read_arguments(arg)
  local http = load_server()
  local address = address_of(given, http)
  local door = { is_password = http.is_password }
  take(door, read_config(given))
  local server, message = http.listen(address, door.config.tls)
  if not server then
    running.stop(3, message)
  end
  local ks
  local errname
  ks, message, errname = kstat.open(opening.whose(given, { everybody = true, only = #selectors > 0 and selectors or nil,
    args = opening.args(given, selectors) }))
  if not ks then
    running.stop(given.trust and errname == "EINVAL" and 2 or 3, message)
  end
  running.write(("listening at %s\n"):format((address:gsub(":%d+$", ":" .. server:port()))))
  running.flush()
  local past = history.new()
  -- Processes are named where everything is shown, and nothing was selected.
  local users = #selectors == 0 and busiest.new() or nil
  local answer = behind(door, guarded(answers(ks, selectors, given, not given.public and local_hosts(http),
    { history = past, busiest = users })))
  core.looping(true)
  while not core.interrupted() do
    if past:is_due() then
      past:add(ks, selectors)
    end
    if users then
      users:rest()
    end
    if door.config.text and core.hrtime() >= door.due then
      renew(server, door, given.theirs.config)
    end
    server:run(1, answer)
  end
  server:close()
  return 0
end

return running.run("exporter", main)
