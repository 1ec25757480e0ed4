-- kstat -o openmetrics of several samples: one exposition with times, which fills a gap of a Prometheus.
local capture = require("support.capture")
local run = require("support.run")
local series = require("kstat.command.output.series")

local START = 1700000000

local function has(program)
  return run.shell("command -v " .. program).status == 0
end

-- A capture of so many samples, 10 seconds apart: two counters and a gauge that comes late.
local function file_of(samples)
  local path, out = os.tmpname(), {}
  for i = 1, samples do
    local list = { capture.named("a", 1, 100 + 10 * i, ('"hits":%d'):format(10 * i)),
      capture.named("b", 1, 100 + 10 * i, ('"hits":%d'):format(7 * i)),
      i > 2 and capture.named("late", 1, 100 + 10 * i, ('"level":%d.5'):format(i)) or nil }
    out[i] = ("%d\n[%s]\n"):format(START + 10 * i, table.concat(list, ","))
  end
  run.write_file(path, table.concat(out, "\n"))
  return path
end

describe("kstat -o openmetrics of several samples", function()
  it("is one exposition: families whole, in these each metric in order of time", function()
    local file = file_of(4)
    local r = run.run({ "kstat", "-o", "openmetrics", "-r", file, "10" })
    os.remove(file)
    assert.same({ 0, "" }, { r.status, r.err })
    local rows, _, heads = {}, r.out:gsub("# TYPE", "")
    assert.equal(2, heads)
    assert.equal(1, select(2, r.out:gsub("# EOF\n", "")))
    assert.equal("# EOF\n", r.out:sub(-6))
    for name, value, time in r.out:gmatch('name="(%w+)"[^}]*} (%S+) (%S+)\n') do
      rows[#rows + 1] = ("%s %s %d"):format(name, value, time - START)
    end
    assert.same({ "a 10 10", "a 20 20", "a 30 30", "a 40 40", "b 7 10", "b 14 20", "b 21 30", "b 28 40",
      "late 3.5 30", "late 4.5 40" }, rows)
  end)

  it("becomes blocks of a Prometheus that have every value at its time", function()
    if not has("promtool") then
      return pending("promtool (Debian: prometheus) is not here")
    end
    local file, dir = file_of(3), os.tmpname()
    os.remove(dir)
    local r = run.shell(([[mkdir %s && %s/kstat -o openmetrics -r %s 10 >%s/text &&
      promtool tsdb create-blocks-from openmetrics %s/text %s/blocks >/dev/null &&
      mkdir %s/blocks/wal && promtool tsdb dump %s/blocks; rm -rf %s]]):format(dir, run.bin, file, dir, dir, dir, dir,
      dir, dir))
    os.remove(file)
    local rows = {}
    for name, value, time in r.out:gmatch('name="(%w+)"} (%S+) (%d+)') do
      rows[#rows + 1] = ("%s %s %d"):format(name, value, time / 1000 - START)
    end
    table.sort(rows)
    assert.same({ "a 10 10", "a 20 20", "a 30 30", "b 14 20", "b 21 30", "b 7 10", "late 3.5 30" }, rows)
  end)

  it("is whole after an interrupt", function()
    local out = os.tmpname()
    local pid = run.start(run.bin .. "/kstat -o openmetrics unix:0:system_misc:ncpus 0.05", out)
    -- Each wait for an interval is a switch of its own will; a few more belong to its start.
    run.await("samples", function()
      local waits = run.read_file("/proc/" .. pid .. "/status"):match("\nvoluntary_ctxt_switches:%s*(%d+)")
      return tonumber(waits) >= 10
    end)
    run.stop(pid, "INT")
    local text = run.read_file(out)
    os.remove(out)
    assert.truthy(text:find("^# TYPE kstat_unix_ncpus gauge\n.*\n# EOF\n$"))
    local _, lines = text:gsub("kstat_unix_ncpus{", "")
    assert.is_true(lines >= 2)
  end)

  it("is the same where it did not fit into memory", function()
    local function text_of(most)
      local all, out = series.new(most), {}
      for i = 1, 5 do
        assert(all:add(('# TYPE a counter\n# HELP a A.\na_total{x="1"} %d\na_total{x="2"} 5\n# TYPE h histogram\n' ..
          'h_bucket{x="1",le="1.0"} %d\nh_bucket{x="1",le="+Inf"} 9\nh_count{x="1"} 9\n# EOF\n'):format(i, i),
          START + i))
      end
      all:write(function(text) out[#out + 1] = text end)
      return table.concat(out)
    end
    local text = text_of()
    assert.equal(text, text_of(100))
    assert.equal(text, text_of(0))
    assert.truthy(text:find('h_bucket{x="1",le="1.0"} 2 1700000002.000\nh_bucket{x="1",le="+Inf"} 9 1700000002.000\n' ..
      'h_count{x="1"} 9 1700000002.000\nh_bucket{x="1",le="1.0"} 3', 1, true))
  end)

  it("goes on in time where a clock was set back", function()
    local all, out = series.new(), {}
    assert(all:add("# TYPE a gauge\na 1\n# EOF\n", START))
    assert(all:add("# TYPE a gauge\na 2\n# EOF\n", START - 100))
    all:write(function(text) out[#out + 1] = text end)
    assert.equal("# TYPE a gauge\na 1 1700000000.000\na 2 1700000000.001\n# EOF\n", table.concat(out))
  end)
end)
