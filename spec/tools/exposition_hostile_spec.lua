-- What publishers name their kstats, statistics, units and texts cannot spoil an exposition for others: families have
-- one name and are together, series are there once, and readers that others wrote accept all of it.
local exporter = require("support.exporter")
local protobuf = require("support.protobuf")
local run = require("support.run")

local python = "/usr/bin/python3"
local has_reader = run.shell(python .. " -c 'import prometheus_client.openmetrics.parser'").status == 0

local PUBLISHER = [[
local kstat = require("kstat")
local pub = assert(kstat.publish("hostile"))
-- Some of it is refused; the rest is published.
local function try(t)
  t.shards = 1
  pcall(pub.named, pub, t)
end
for _, n in ipairs({ 'a"b', "a\\b", 'a{b="c"} 1', "\240\159\146\169", "\255\254", "\237\160\128", "\192\128", "# EOF",
  " ", "__name__", "le", "9", "-", "_total", "total", "kstat", "\226\128\174evil", "a\194\133b", ("x"):rep(30) }) do
  local long = n:sub(1, 23)
  try({ module = n, name = n, class = n, instance = 2147483647, statistics = {
    { name = n, kind = "counter", value = 1, desc = n, unit = n },
    { name = long .. "_total", kind = "counter", value = 2 },
    { name = long .. "_bucket", kind = "gauge", value = 3 }, { name = "t" .. n:sub(2), type = "string", value = n } } })
end
for i, u in ipairs({ "total", "bucket", "count", "sum", "info", "le", "quantile", "a b", "jobs", "J", "_" }) do
  try({ module = "units", name = "u" .. i, statistics = {
    { name = "v", kind = "counter", unit = u, value = 1 }, { name = "w", kind = "gauge", unit = u, value = 1 },
    { name = "w_" .. u, kind = "gauge", value = 2 }, { name = u, kind = "gauge", value = 2 },
    { name = "x_total", kind = "counter", unit = u, value = 1 },
    { name = "x_total_total", kind = "counter", value = 1 } } })
end
for _, end_ in ipairs({ "", "_bucket", "_count", "_sum", "_created", "_total" }) do
  try({ module = "fam", name = "h" .. end_, statistics = {
    { name = "distribution" .. end_, kind = "gauge", value = 1 } } })
end
assert(pub:histogram({ module = "fam", name = "histogram", type = "log2" })):add_value(5)
for _, name in ipairs({ "a\255", "a\254", "a\253" }) do -- they read alike
  try({ module = "dup", name = name, statistics = { { name = "v", kind = "gauge", value = 1 } } })
end
-- Names of the exporter's own metrics.
try({ module = "scrape", name = "n", statistics = { { name = "seconds", kind = "gauge", value = 666 },
  { name = "failures", kind = "counter", value = 666 }, { name = "failures_total", kind = "gauge", value = 666 },
  { name = "left_out_kstats", kind = "gauge", value = 666 },
  { name = "left_out_statistics", kind = "counter", value = 666 } } })
try({ module = "values", name = "n", statistics = { { name = "refused", kind = "counter", value = 666 } } })
try({ module = "rows", name = "n", statistics = { { name = "-", kind = "gauge", value = 666 },
  { name = "refused", kind = "counter", value = 666 } } })
io.stdout:write("published\n")
io.stdout:flush()
while true do
  os.execute("sleep 0.1")
end
]]

local READER = [[
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
families, series = set(), set()
for f in text_string_to_metric_families(sys.stdin.buffer.read().decode('utf-8')):
    assert f.name not in families, f.name
    families.add(f.name)
    for s in f.samples:
        key = (s.name, tuple(sorted(s.labels.items())))
        assert key not in series, key
        series.add(key)
print(len(families))
]]

describe("an exposition of what hostile processes publish", function()
  local dir, publisher

  setup(function()
    dir = run.directory()
    run.write_file(dir .. "/publisher.lua", PUBLISHER)
    local out = dir .. "/published"
    publisher = run.start(("env KSTAT_DIR=%s %s/kstatlua %s/publisher.lua"):format(dir, run.bin, dir), out)
    run.await("hostile kstats", function() return run.read_file(out):find("published") end)
  end)
  teardown(function()
    run.stop(publisher)
    run.remove_directory(dir)
  end)

  -- Fails unless each family is named once, its samples follow, and no series is there twice.
  local function check(text)
    local families, series, last, n = {}, {}, nil, 0
    for line in text:gmatch("[^\n]+") do
      local name = line:match("^# TYPE (%S+) ")
      if name then
        assert.is_nil(families[name], name)
        families[name], last, n = true, name, n + 1
      elseif line:sub(1, 1) ~= "#" then
        local key = line:match("^(.*) %S+$")
        assert.is_nil(series[key], key)
        series[key] = true
        assert.equal(last, line:sub(1, #last))
      end
    end
    assert.truthy(n > 80, n)
    return families
  end

  local function accept(text)
    if has_reader then
      local r = run.run({ python, "-c", READER, stdin = text })
      assert.same({ 0, "" }, { r.status, r.err })
    end
  end

  it("is right in both formats", function()
    local env = { KSTAT_DIR = dir, KSTAT_PROC = dir, KSTAT_SYS = dir }
    check(run.run({ "kstat", "-o", "prometheus", env = env }).out)
    local open = run.run({ "kstat", "-o", "openmetrics", env = env }).out
    check(open)
    accept(open)
    if run.shell("command -v promtool").status == 0 then
      local r = run.run({ "/bin/sh", "-c", "exec promtool check metrics 2>&1",
        stdin = run.run({ "kstat", "-o", "prometheus", env = env }).out })
      assert.falsy(r.out:find("rror", 1, true), r.out) -- it advises; it can be read
    end
  end)

  it("is the same in protocol buffers", function()
    if not protobuf.has_decoder then
      return pending("protoc is not installed")
    end
    local function render(format)
      return run.run({ "kstatlua", "-e", ("io.write((kstat.open():render(%q)))"):format(format),
        env = { KSTAT_DIR = dir, KSTAT_PROC = dir, KSTAT_SYS = dir } }).out
    end
    assert.truthy(#protobuf.check_same(render("protobuf"), render("prometheus")) > 80)
  end)

  it("does not hide the exporter's own metrics", function()
    if not exporter.is_built then
      return pending("the exporter is not built here: libmicrohttpd is not installed")
    end
    local server = exporter.start(dir)
    local texts = {}
    for i, accepts in ipairs({ "text/plain", "application/openmetrics-text", "text/plain" }) do
      texts[i] = run.shell(("curl -s -H 'Accept: %s' 127.0.0.1:%s/metrics"):format(accepts, server.port)).out
    end
    run.stop(server.pid)
    assert.is_true(check(texts[1]).kstat_scrape_seconds)
    accept(texts[2])
    check(texts[3])
    for _, text in ipairs(texts) do
      assert.truthy(text:find("\nkstat_scrape_seconds 0.", 1, true))
      assert.truthy(text:find("\nkstat_scrape_2_seconds{", 1, true) or text:find("\nkstat_scrape_seconds_2{", 1, true))
      for _, name in ipairs({ "scrape_seconds", "scrape_left_out_kstats", "scrape_left_out_statistics_total",
        "scrape_left_out_statistics", "rows", "values_refused_total" }) do
        assert.falsy(text:find("\nkstat_" .. name .. "{", 1, true), name)
      end
    end
  end)
end)

describe("kstat --output", function()
  it("leaves the old file or the new one where it is killed", function()
    local dir = run.directory()
    local file = dir .. "/node.prom"
    local seen = run.shell(([[
      f=%s; printf 'old\n# EOF\n' >$f
      for i in 00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15; do
        timeout -s KILL 0.0$i %s/kstat -o openmetrics --output $f
        tail -n 1 $f
      done 2>/dev/null; %s/kstat -o openmetrics --output $f; ls -A %s]]):format(file, run.bin, run.bin, dir)).out
    run.remove_directory(dir)
    assert.equal(("# EOF\n"):rep(16) .. "node.prom\n", seen)
  end)

  it("follows no link that another user has put where everybody may write, to a file or a directory", function()
    local as_user = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    if run.shell("id -u").out ~= "0\n" or run.shell(as_user .. " true").status ~= 0 then
      pending("takes root, who becomes somebody else by setpriv")
      return
    end
    local dir = run.directory()
    run.shell(("cd %s; mkdir all; chmod 755 .; chmod 777 all; echo secret >own; %s ln -s ../own all/file; "
      .. "%s ln -s .. all/up; ln -s all/file link; ln -s own short; %s mkdir -m 777 all/theirs; "
      .. "%s ln -s ../../own all/theirs/file"):format(dir, as_user, as_user, as_user, as_user))
    for _, path in ipairs({ "all/file", "all/up/own", "link", "all/theirs/file" }) do
      local r = run.run({ "kstat", "-o", "openmetrics", "--output", dir .. "/" .. path, "unix:0:system_misc" })
      assert.equal(("kstat: --output: %s/%s: a link of user 65534, in a directory to which everybody may write; "
        .. "name the file that is meant\n"):format(dir, path), r.err)
      assert.equal(3, r.status)
    end
    assert.equal("secret\n", run.read_file(dir .. "/own"))
    assert.equal(0, run.run({ "kstat", "-o", "openmetrics", "--output", dir .. "/short", "unix:0:system_misc" }).status)
    assert.matches("# EOF\n$", run.read_file(dir .. "/own"))
    run.remove_directory(dir)
  end)

  it("is not stopped by what another has put where its file is made", function()
    local dir = run.directory()
    run.shell("mkdir " .. dir .. "/.node.prom.kstat")
    local r = run.run({ "kstat", "-o", "openmetrics", "--output", dir .. "/node.prom", "unix:0:system_misc" })
    assert.equal("", r.err)
    assert.matches("# EOF\n$", run.read_file(dir .. "/node.prom"))
    assert.equal(".node.prom.kstat\nnode.prom\n", run.shell("LC_ALL=C ls -A " .. dir).out)
    run.remove_directory(dir)
  end)

  it("says where it cannot write, and fails", function()
    local dir = run.directory()
    run.write_file(dir .. "/file", "")
    for path, why in pairs({ ["/file/x"] = "Not a directory", ["/none/x"] = "No such file or directory",
      ["/" .. ("x"):rep(300)] = "File name too long", [""] = "not a regular file" }) do
      local r = run.run({ "kstat", "-o", "openmetrics", "--output", dir .. path, "unix:0:system_misc" })
      assert.same({ "", ("kstat: --output: %s%s: %s\n"):format(dir, path, why), 3 }, { r.out, r.err, r.status })
    end
    run.remove_directory(dir)
  end)
end)
