-- fleet.lua - what a machine costs the Prometheus that scrapes it: fifty exporters on the loopback device and one
-- Prometheus, twenty seconds with each of three sets of series. For each machine: series, bytes of a scrape as
-- Prometheus asks for it (packed), CPU time of a scrape in the exporter and in Prometheus, bytes that a value takes on
-- its disk, and its memory.
-- SPDX-License-Identifier: MIT
local figure = require("figure")
local capture, await, cpu_seconds = figure.capture, figure.await, figure.cpu_seconds

local MACHINES, INTERVAL, SECONDS = 50, 2, 20

local exporter = os.getenv("KSTAT_BUILD") .. "/bin/kstatlua exporter --listen 127.0.0.1:0"

local dir = capture("mktemp -d"):match("%S+")
local started = {}

local function start(command, log)
  local pid = capture(("%s >%s 2>&1 & echo $!"):format(command, log)):match("%d+")
  started[#started + 1] = pid
  return pid
end

local function stop_all()
  local pids = table.concat(started, " ")
  if pids ~= "" then
    os.execute(("kill %s; for p in %s; do while kill -0 $p; do sleep 0.1; done; done 2>/dev/null"):format(pids, pids))
  end
  started = {}
end

local function port_of(log)
  return await("the port of an exporter", function()
    local f = assert(io.open(log))
    local text = f:read("a")
    f:close()
    return text:match("listening at %S-:(%d+)")
  end)
end

local function write_configuration(ports, relabel)
  local f = assert(io.open(dir .. "/prometheus.yml", "w"))
  f:write(("global: { scrape_interval: %ds, scrape_timeout: %ds }\nscrape_configs:\n  - job_name: kstat\n"):format(
    INTERVAL, INTERVAL), "    static_configs: [ targets: [ '127.0.0.1:", table.concat(ports, "', '127.0.0.1:"),
    "' ] ]\n", relabel)
  f:close()
end

-- A value of a metric of Prometheus itself, 0 before it is there.
local function own_metric(url, name)
  return tonumber(capture("curl -s " .. url .. "/metrics"):match("\n" .. name .. "%S* (%S+)")) or 0
end

-- Bytes of the chunks of everything in memory, once it is written as a block.
local function written_bytes(url)
  local name = capture("curl -s -X POST " .. url .. "/api/v1/admin/tsdb/snapshot"):match('"name":"([^"]+)"')
  return tonumber(capture(("cat %s/data/snapshots/%s/*/chunks/* | wc -c"):format(dir, assert(name))))
end

local function measure(name, arguments, relabel)
  local exporters, ports = {}, {}
  for i = 1, MACHINES do
    exporters[i] = start(exporter .. arguments, dir .. "/exporter" .. i)
  end
  for i = 1, MACHINES do
    ports[i] = port_of(dir .. "/exporter" .. i)
  end
  write_configuration(ports, relabel)
  local before = cpu_seconds(table.unpack(exporters))
  local port = capture([[python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])']]):match("%d+")
  local url = "http://127.0.0.1:" .. port
  local server = start(("prometheus --config.file=%s/prometheus.yml --storage.tsdb.path=%s/data --log.level=error "
    .. "--web.enable-admin-api --web.listen-address=127.0.0.1:%s"):format(dir, dir, port), dir .. "/log")
  await("Prometheus", function() return own_metric(url, "prometheus_tsdb_head_series") > 0 end)
  local first, cpu = own_metric(url, "prometheus_tsdb_head_samples_appended_total"), cpu_seconds(server)
  os.execute("sleep " .. SECONDS)
  cpu = cpu_seconds(server) - cpu
  local samples = own_metric(url, "prometheus_tsdb_head_samples_appended_total")
  local series = own_metric(url, "prometheus_tsdb_head_series") / MACHINES
  local exporter_cpu = (cpu_seconds(table.unpack(exporters)) - before) * series / samples
  local memory = capture(("cat /proc/%s/status"):format(server)):match("VmRSS:%s+(%d+)")
  local bytes = capture(("curl -s -H 'Accept-Encoding: gzip' http://127.0.0.1:%s/metrics | wc -c"):format(ports[1]))
  local stored = written_bytes(url) / samples
  stop_all()
  os.execute("rm -rf " .. dir .. "/data")
  for _, f in ipairs({
    { "series", "%.0f", series }, { "packed scrape", "%.1f KiB", bytes / 1024 },
    { "scrape in the exporter", "%.2f ms", exporter_cpu * 1e3 },
    { "scrape in Prometheus", "%.2f ms", cpu * 1e3 * series / (samples - first) },
    { "value on disk", "%.2f bytes", stored }, { "memory of Prometheus", "%.2f MiB", memory / 1024 / MACHINES },
  }) do
    figure.print(("machine with %s, %s"):format(name, f[1]), f[2]:format(f[3]), "-", "-", "-")
  end
end

if capture("command -v prometheus") == "" then
  io.stderr:write("fleet: prometheus is not installed\n")
  os.exit(1)
end

local relabel = assert(capture("cat examples/prometheus/fleet.yml"):match("\n( +metric_relabel_configs:.*)$"))
local ok, message = xpcall(function()
  measure("everything", "", "")
  measure("the series of fleet.yml", "", relabel)
  measure("names of node_exporter", " --names node", "")
end, debug.traceback)
stop_all()
os.execute("rm -rf " .. dir)
if not ok then
  io.stderr:write(message, "\n")
  os.exit(1)
end
