--- Questions over time. Instructions, counted by callgrind, of three samples of 10,000 kstats; a range over a day of
-- four workers beside Prometheus, which answers the same over blocks that promtool made of the same recording; a day of
-- 500 processes, a sample a minute; and what a value in a window costs. SPDX-License-Identifier: MIT
local figure = require("figure")
local load = require("load")

local START = 1700006400 -- of all recordings
local DAY = 86400
local ROUNDS = 20 -- how often Prometheus is asked; the kernel counts its CPU time in 1/100 s
local kstat = os.getenv("KSTAT_BUILD") .. "/bin/kstat"
local kstatlua = os.getenv("KSTAT_BUILD") .. "/bin/kstatlua"

--- Writes a recording of `samples`, `step` seconds apart, with `kstats` in each; values(i, s) returns what is in the
-- one with number i: its module, its name, and its statistics as members of JSON.
local function record(path, samples, step, kstats, values)
  local f = assert(io.popen(("%s convert -o %s -"):format(kstatlua, figure.quote(path)), "w"))
  for s = 1, samples do
    f:write(START + step * s, "\n[")
    for i = 1, kstats do
      local module, name, members = values(i, s)
      f:write(i > 1 and "," or "", ('{"module":"%s","instance":%d,"name":"%s","class":"misc","type":1,"snaptime":%d,'
        .. '"data":{"crtime":1,"snaptime":%d,%s}}'):format(module, i // 100, name, step * s, step * s, members))
    end
    f:write("]\n")
  end
  assert(f:close())
end

local function show(name, ours, theirs, ratio, goal, met)
  figure.print("questions: " .. name, ours, theirs or "-", ratio or "-", goal or "-", met)
end

local function instructions(path, question)
  local text = figure.capture(("valgrind --tool=callgrind --callgrind-out-file=/dev/null %s -r %s -a %s 10 2>&1 "
    .. ">/dev/null"):format(kstat, path, figure.quote(question)))
  return (tonumber(text:match("Collected : (%d+)")) or error("callgrind failed: " .. text)) / 1e6
end

-- 10,000 kstats, 3 samples.
local function count_instructions(dir)
  local path, plain = dir .. "/many.rec", nil
  record(path, 3, 10, 10000, function(i, s)
    return "module" .. i % 100, "name" .. i, ('"x":%d'):format(i * 7919 % 1000003 * s)
  end)
  for _, case in ipairs({
    { "sum(rate(x))", most = 862 },
    { "sum(avg(rate(x), 1m))", most = 1290 },
    { "sum(max(rate(x), 1m)) by (module)" },
    { "p99(rate(x), 1m)" },
    { "top 5 sum(rate(x)) by (module,instance,name)", times = 1.5 },
  }) do
    local count = instructions(path, case[1])
    plain = plain or count
    local most = case.most or case.times and case.times * plain
    show(case[1] .. ", 10,000 kstats x 3", ("%.0f M instructions"):format(count), ("the first: %.0f M"):format(plain),
      count / plain, case.times and ("<= %gx"):format(case.times) or most and ("<= %d M"):format(most),
      most and count <= most)
  end
end

-- What both are asked: the question, the interval of its reports, and the same for Prometheus.
local RANGES = {
  { "sum(rate(requests))", 10, "sum(rate(kstat_web_requests[10s]))" },
  { "avg(inflight, 1m) by (name)", 10, "sum by (name) (avg_over_time(kstat_web_inflight[59s]))" },
  { "sum(inflight, 1h)", 10, "sum(sum_over_time(kstat_web_inflight[3599s]))" },
  { "p99(inflight, 10m) by (name)", 10, "sum by (name) (quantile_over_time(0.99, kstat_web_inflight[599s]))" },
  { "sum(delta(requests), 1h)", 10, "sum(increase(kstat_web_requests[1h]))" },
  { "sum(rate(requests)) by (time(3600))", DAY, "avg_over_time(sum(rate(kstat_web_requests[10s]))[3599s:10s])" },
}

-- Starts Prometheus with the recording and returns its process and its address.
local function start_prometheus(dir, path)
  assert(os.execute(("%s -r %s -o openmetrics 10 >%s/text && : >%s/config && promtool tsdb create-blocks-from "
    .. "openmetrics %s/text %s/blocks >/dev/null"):format(kstat, path, dir, dir, dir, dir)))
  local pid = load.start(("exec prometheus --config.file=%s/config --storage.tsdb.path=%s/blocks --log.level=error "
    .. "--storage.tsdb.retention.time=100y --web.listen-address=127.0.0.1:0"):format(dir, dir))
  local port = figure.await("Prometheus", function()
    return figure.capture(("ss -ltnpH | grep 'pid=%s,'"):format(pid)):match("127%.0%.0%.1:(%d+)")
  end)
  local url = ("http://127.0.0.1:%s/api/v1/query"):format(port)
  figure.await("Prometheus", function() return figure.capture("curl -s -d query=1 " .. url):find("success") end)
  return pid, url .. "_range"
end

-- The CPU time of an answer of Prometheus in ms, and its last value.
local function ask_prometheus(pid, url, query, step)
  local command = ("curl -s -d 'start=%d&end=%d&step=%d' --data-urlencode query=%s %s"):format(
    START + math.max(step, 20), START + DAY, step, figure.quote(query), url)
  local text = figure.capture(command)
  local last = tonumber(text:match('"([^"]+)"%]%]') or error(query .. ": " .. text:sub(1, 200)))
  local before = figure.cpu_seconds(pid)
  for _ = 1, ROUNDS do
    os.execute(command .. " >/dev/null")
  end
  return (figure.cpu_seconds(pid) - before) / ROUNDS * 1000, last
end

-- Four workers for a day, a sample every 10 s.
local function compare_ranges(dir)
  local path = dir .. "/day.rec"
  record(path, DAY / 10, 10, 4, function(i, s)
    return "web", "worker" .. i, ('"requests":%d,"errors":%d,"inflight":%d.0'):format(1000 * i * s, i * s,
      (i * 7919 + s * 104729) % 97)
  end)
  local pid, url = start_prometheus(dir, path)
  for _, range in ipairs(RANGES) do
    local question, interval, query = range[1], range[2], range[3]
    local theirs, last = ask_prometheus(pid, url, query, math.min(interval, 3600))
    local ours = figure.measure({ kstat, "-r", path, "-pa", question, "web", tostring(interval) }, { runs = 3 })
    show(question .. ", a day of 4 workers", ("%.0f ms CPU"):format(ours), ("prometheus: %.0f ms CPU, last value %g")
      :format(theirs, last), ours / theirs, "<= 5x", ours <= 5 * theirs)
  end
end

-- 500 processes for a day, a sample a minute.
local function measure_processes(dir)
  local SAMPLES, PROCESSES = DAY / 60, 500
  local path = dir .. "/processes.rec"
  record(path, SAMPLES, 60, PROCESSES, function(i, s)
    return "process", "command" .. i, ('"uid":%d.0,"state":"sleeping","cpu":%d,"rss":%d.0,"x":%d.0'):format(
      100 + i % 20, i * s * 1000, 4096 * i, (i * 7919 + s * 104729) % 10007)
  end)
  local function measure(question, ...)
    return figure.measure({ kstat, "-r", path, "-a", question:format(...), "60" }, { runs = 2 })
  end
  local each = measure("avg(x, 1h) by (name)")
  show("avg(x, 1h) by (name), a day of 500 processes", ("%.2f s CPU"):format(each / 1000),
    ("avg(x): %.2f s"):format(measure("avg(x)") / 1000), nil, "<= 4 s", each <= 4000)
  -- Windows of a minute and of a day differ in the values that they hold.
  local values, plain = (SAMPLES - 1) * PROCESSES, measure("sum(x)")
  for _, reducer in ipairs({ "avg", "max", "p99" }) do
    local _, _, empty = measure("sum(%s(x, 1m))", reducer)
    local full, _, memory = measure("sum(%s(x, 1d))", reducer)
    local bytes, us = (memory - empty) * 1024 / values, (full - plain) * 1000 / values
    show(("a value of %s(x, 1d)"):format(reducer), ("%.1f bytes"):format(bytes), nil, nil, "<= 16 bytes", bytes <= 16)
    show(("a value and tick of %s(x, 1d)"):format(reducer), ("%.2f us"):format(us), nil, nil, "<= 0.1 us", us <= 0.1)
  end
end

load.with_directory(function(dir)
  count_instructions(dir)
  measure_processes(dir)
  if figure.capture("command -v prometheus promtool") == "" then
    io.stderr:write("questions: prometheus is not installed\n")
    return
  end
  compare_ranges(dir)
end)
