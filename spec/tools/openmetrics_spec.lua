-- What reports print with --openmetrics is read by a parser that others wrote, and says what the report says.
local capture = require("support.capture")
local run = require("support.run")

local illumos = "spec/vectors/kstat/host.jsonl"
local python = "/usr/bin/python3"

-- Reads the text and prints a line for each sample: family, type, unit, name, labels, value, timestamp.
local READER = [[
import sys
from prometheus_client.samples import Timestamp
# Old versions compare the seconds or the fractions, so that 185.9, 186.0 seems to go back.
Timestamp.__gt__ = lambda a, b: (a.sec, a.nsec) > (b.sec, b.nsec)
Timestamp.__lt__ = lambda a, b: (a.sec, a.nsec) < (b.sec, b.nsec)
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for f in text_string_to_metric_families(sys.stdin.buffer.read().decode('utf-8')):
    for s in f.samples:
        labels = ','.join('%s=%s' % l for l in sorted(s.labels.items())).replace(chr(10), '/')
        print(f.name, f.type, f.unit or '-', s.name, labels or '-',
            repr(float(s.value)), s.timestamp if s.timestamp is not None else '-', sep='\t')
]]

local has_parser = run.shell(python .. " -c 'import prometheus_client.openmetrics.parser'").status == 0

-- Families, types and so on of a command's exposition; fails if the parser refuses it. said: on the standard error.
local function read(words, env, said)
  env = env or { KSTAT_SOURCE = illumos, KSTAT_REPLAY_TIME = "1700000000" }
  local r = run.run({ "/bin/sh", "-c", ("exec %s/kstatlua %s --openmetrics"):format(run.bin, words), env = env })
  assert.equal(said or "", r.err)
  assert.equal(0, r.status)
  assert.matches("# EOF\n$", r.out)
  local parsed = run.run({ python, "-c", READER, stdin = r.out })
  assert.equal("", parsed.err, words)
  assert.equal(0, parsed.status, words)
  local samples = {}
  for line in parsed.out:gmatch("[^\n]+") do
    local s = {}
    for field in (line .. "\t"):gmatch("([^\t]*)\t") do
      s[#s + 1] = field
    end
    samples[#samples + 1] = { family = s[1], type = s[2], unit = s[3], name = s[4], labels = s[5],
      value = tonumber(s[6]), time = s[7] }
  end
  return samples, r.out
end

local script = os.tmpname() .. ".lua"
local function with(text)
  run.write_file(script, text)
  return script
end

describe("--openmetrics", function()
  if not has_parser then
    return pending("python3-prometheus-client is not here")
  end
  teardown(function() os.remove(script) end)

  it("is an exposition, of every tool", function()
    for _, words in ipairs({ "vmstat", "vmstat -i", "vmstat -s", "vmstat -p 5", "mpstat", "mpstat -a", "mpstat 5",
      "nicstat 5", "nicstat -x", "nicstat -l", "nicstat -p", "nicstat -t", "intrstat 5", "arcstat", "arcstat -l",
      "top 5", "examples/cpu_usage.lua 5" }) do
      local samples = read(words)
      assert.is_true(#samples > 0 or words == "arcstat -l", words)
    end
    assert.equal(0, #(read("fsstat")))
    assert.is_true(#(read("vmstat 0.01 3", {})) > 10)
  end)

  it("has times that never go back, though the clock was set back", function()
    local path = os.tmpname()
    local lines = {}
    for i, time in ipairs({ 1700000010, 1700000020, 1600000000, 1600000010 }) do
      lines[i] = time .. "\n[" .. capture.named("a", 1, 10 * i, ('"n":%d'):format(i * i)) .. "]\n"
    end
    run.write_file(path, table.concat(lines))
    local report = with("return kstat.report({ columns = { { 'name' }, { 'n', 'rate(n)' } } })")
    local times = {}
    local said = "report: clocks were set back from 2023-11-14 22:13:40 to 2020-09-13 12:26:40\n"
    for i, s in ipairs(read(report .. " 10", { KSTAT_SOURCE = path }, said)) do
      times[i] = tonumber(s.time)
    end
    os.remove(path)
    assert.same({ 1700000020, 1700000030, 1700000040 }, times)
  end)

  it("tells CPUs apart by a label, though their names are numbers", function()
    local labels = {}
    for _, s in ipairs(read("mpstat")) do
      labels[s.labels] = (labels[s.labels] or 0) + 1
      assert.equal("-", s.time)
    end
    assert.same({ ["CPU=0"] = 15, ["CPU=1"] = 15, ["CPU=2"] = 15, ["CPU=3"] = 15, ["CPU=10"] = 15, ["CPU=11"] = 15 },
      labels)
  end)

  it("has no rules among its labels", function()
    for _, s in ipairs(read("intrstat 5 1")) do
      assert.matches("^device=[%w]+$", s.labels)
      assert.equal("kstat_intrstat_all_per_s", s.name)
      assert.equal("per_s", s.unit)
    end
  end)

  it("is one text of all intervals, each sample with its time, without what was since creation", function()
    local _, text = read("mpstat 5")
    local _, types = text:gsub("# TYPE kstat_mpstat_usr_percent gauge\n", "")
    assert.equal(1, types)
    local _, ends = text:gsub("# EOF\n", "")
    assert.equal(1, ends)
    assert.matches('\nkstat_mpstat_usr_percent{CPU="0"} [%d.]+ 1700000005%.%d+\n' ..
      'kstat_mpstat_usr_percent{CPU="0"} [%d.]+ 1700000010%.%d+\n', text)
    assert.not_matches("1700000000", text)
  end)

  it("needs an end", function()
    local r = run.run({ "kstatlua", "mpstat", "--openmetrics", "1" })
    assert.equal(2, r.status)
    assert.matches("^mpstat: [^\n]*an interval needs a count; [^\n]+\n$", r.err)
  end)

  it("says units, counters and what a column is", function()
    local samples, text = read(with([[
return kstat.report({ name = "9/x", select = { class = "disk", name = "sd[01]" }, columns = {
  { "disk", "name" }, { "asvc_t", unit = "ms", about = 'time "in"\nservice' }, { "r/s", "rate(reads)", unit = "1/s" },
  { "reads", kind = "counter", unit = "requests" }, { "done_total", "writes", kind = "counter" }, { "%b", "b_pct" },
  { "done", "writes" }, { "日", "writes", key = "日" }, { "below", function() return -1 end, kind = "counter" },
} })]]))
    local by = {}
    for _, s in ipairs(samples) do
      by[s.name] = s
      assert.matches("^disk=sd[01]$", s.labels)
    end
    assert.equal("ms", by.kstat__9_per_x_asvc_t_ms.unit)
    assert.equal("per_s", by.kstat__9_per_x_r_per_s.unit)
    assert.equal("counter", by.kstat__9_per_x_reads_requests_total.type)
    assert.equal("kstat__9_per_x_reads_requests", by.kstat__9_per_x_reads_requests_total.family)
    assert.equal("counter", by.kstat__9_per_x_done_total.type)
    assert.equal("gauge", by.kstat__9_per_x_done_2.type)
    assert.is_table(by.kstat__9_per_x_percent_b)
    assert.is_table(by.kstat__9_per_x_column_8)
    assert.is_nil(by.kstat__9_per_x_below_total)
    assert.truthy(text:find('# HELP kstat__9_per_x_asvc_t_ms time \\"in\\"\\nservice\n', 1, true))
  end)

  it("tells rows apart that have no names, or the same one, and shows any bytes", function()
    local samples = read(with([[
return kstat.report({ columns = { { "name" }, { "v", "v" } }, rows = function()
  return { { v = 1 }, { v = 2 }, { name = 'a"\\\n', v = 3 }, { name = 'a"\\\n', v = 4 }, { name = "\255é", v = 5 } }
end })]]))
    local values = {}
    for _, s in ipairs(samples) do
      values[#values + 1] = s.labels .. " " .. s.value
    end
    assert.equal(5, #values)
    assert.equal("row=2", samples[2].labels)
    assert.equal('name=a"\\/', samples[3].labels)
    assert.equal('name=a"\\/,row=2', samples[4].labels)
    assert.truthy(values[5]:find("name=\239\191\189é", 1, true))
  end)

  it("of a damaged recording has no end", function()
    local whole, bad = os.tmpname(), os.tmpname()
    os.remove(whole)
    run.run({ "kstatlua", "convert", "-o", whole, illumos })
    local bytes = run.read_file(whole)
    local at = #bytes - 40
    run.write_file(bad, bytes:sub(1, at - 1) .. string.char((bytes:byte(at) + 1) % 256) .. bytes:sub(at + 1))
    local r = run.run({ "kstatlua", "mpstat", "--openmetrics", "-r", bad, "5" })
    os.remove(whole)
    os.remove(bad)
    assert.equal(3, r.status)
    assert.matches("^mpstat: [^\n]+damaged[^\n]+\n$", r.err)
    assert.not_matches("# EOF", r.out)
    assert.matches("kstat_mpstat_idl_percent", r.out)
  end)
end)
