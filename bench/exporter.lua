-- exporter.lua - what a scrape costs the exporter, beside node_exporter: CPU time of the server for each scrape, under
-- the same names and with everything; as curl asks, and packed, as Prometheus asks. Rounds of the three alternate, and
-- the least of each counts.
-- SPDX-License-Identifier: MIT
local figure = require("figure")
local capture, await, cpu_seconds = figure.capture, figure.await, figure.cpu_seconds

local ROUNDS, SCRAPES = 4, 100

local build = os.getenv("KSTAT_BUILD")

-- Starts a server; returns its process and its port.
local function start(command)
  local pid = capture(command .. " >/dev/null 2>&1 & echo $!"):match("%d+")
  local port = await("the port of " .. command, function()
    return capture(("ss -ltnpH | grep 'pid=%s,'"):format(pid)):match("127%.0%.0%.1:(%d+)")
  end)
  local url = (" -o /dev/null http://127.0.0.1:%s/metrics"):format(port)
  return { pid = pid, url = url, best = { math.huge, math.huge } }
end

local AS_PROMETHEUS = " -H 'Accept-Encoding: gzip' -H 'Accept: application/openmetrics-text;version=1.0.0;q=0.5,"
  .. "text/plain;version=0.0.4;q=0.2,*/*;q=0.1'"

local function scrape(server)
  for i, options in ipairs({ "", AS_PROMETHEUS }) do
    local before = cpu_seconds(server.pid)
    os.execute("curl -s" .. options .. server.url:rep(SCRAPES))
    server.best[i] = math.min(server.best[i], (cpu_seconds(server.pid) - before) / SCRAPES)
  end
end

local theirs_is_here = capture("command -v prometheus-node-exporter") ~= ""
if not theirs_is_here then
  io.stderr:write("exporter: prometheus-node-exporter is not installed\n")
  os.exit(1)
end

local exporter = build .. "/bin/kstatlua exporter --listen 127.0.0.1:0"
local named = start(exporter .. " --names node")
local all = start(exporter)
local theirs = start("prometheus-node-exporter --web.listen-address=127.0.0.1:0")

for _ = 1, ROUNDS do
  scrape(named)
  scrape(all)
  scrape(theirs)
end
for _, server in ipairs({ named, all, theirs }) do
  server.series = tonumber(capture(("curl -s http://%s | grep -vc '^#'"):format(server.url:match("http://(.*)"))))
  os.execute("kill " .. server.pid)
end

local function print_figure(name, server, i, goal)
  local ratio = server.best[i] / theirs.best[i]
  local by_series = ratio * theirs.series / server.series
  figure.print(name, ("%.2f ms, %d series"):format(server.best[i] * 1e3, server.series),
    ("node_exporter %.2f ms, %d series"):format(theirs.best[i] * 1e3, theirs.series), ("%.2f"):format(ratio),
    goal and ("<= %.2f"):format(goal) or ("%.2f a series"):format(by_series), goal and ratio <= goal)
end

print_figure("scrape of node_exporter's names", named, 1, 0.2)
print_figure("scrape of everything", all, 1)
print_figure("packed scrape of node_exporter's names", named, 2, 0.2)
print_figure("packed scrape of everything", all, 2)
