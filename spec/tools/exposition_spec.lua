-- Kstats as metrics: what ks:render("prometheus" | "openmetrics") and kstat -o write. Readers that others wrote accept
-- it, and values, names and labels are right.
local capture = require("support.capture")
local L = require("support.linux")
local kstat = require("kstat")
local readers = require("support.readers")
local run = require("support.run")

-- The samples of a text: name and labels without those of the header -> value.
local function values_of(text)
  local values = {}
  for name, labels, value in text:gmatch("\n(kstat_[%w_]+){(.-)} ([^ \n]+)%f[\n]") do
    labels = labels:gsub('^module=".-",instance=".-",name=".-",class=".-",?', "")
    labels = labels:gsub('^publisher="spec",?', "")
    values[name .. (labels ~= "" and "{" .. labels .. "}" or "")] = value
  end
  return values
end

describe("an exposition", function()
  local dir

  before_each(function() dir = run.directory() end)
  after_each(function()
    run.remove_directory(dir)
    capture.clean()
  end)

  local prefix = ("package.path = %q\npackage.cpath = %q\n"):format(package.path, package.cpath) .. [[
local kstat = require("kstat")
local pub = assert(kstat.publish("spec"))
]]

  -- What a script of Lua prints that publishes; the machine has nothing.
  local function lua(text)
    run.write_file(dir .. "/script.lua", prefix .. text)
    local r = run.shell(("d=%s; KSTAT_DIR=$d KSTAT_PROC=$d KSTAT_SYS=$d %s $d/script.lua"):format(dir, run.lua))
    assert.equal("", r.err)
    assert.equal(0, r.status)
    return r.out
  end

  -- Both formats of what a script publishes.
  local function expose(text)
    local out = lua(text .. [[
local ks = assert(kstat.open())
io.write((ks:render("prometheus", "/^m/i:::")), "\0", (ks:render("openmetrics", "/^m/i:::")))
]])
    return out:match("^(.-)%z(.*)$")
  end

  it("has base units, exactly", function()
    local classic, open = expose([[
assert(pub:named({ module = "mod", name = "n", class = "c", shards = 1, statistics = {
  { name = "wait", kind = "counter", meta = "t_acc", scale = 1000000000, fract = true, value = 1500000001 },
  { name = "run_nsec", kind = "counter", unit = "ns", value = 1 },
  { name = "cpu", kind = "counter", unit = "ticks", scale = 100, fract = true, value = 12345 },
  { name = "mem", kind = "gauge", meta = "bytes", unit = "pages", scale = 16384, value = 3 },
  { name = "cache", kind = "gauge", unit = "KiB", value = 3 },
  { name = "busy_percent", kind = "gauge", meta = "pct", unit = "percent", value = 7 },
  { name = "pct_idle", kind = "gauge", meta = "pct", value = 7 },
  { name = "drift", kind = "gauge", unit = "ppm", type = "int64", value = -1500001 },
  { name = "clock_MHz", kind = "gauge", unit = "MHz", value = 2400 },
  { name = "link", kind = "gauge", unit = "Mbit/s", value = 10000 },
  { name = "bits", kind = "gauge", unit = "bits", value = 12 },
  { name = "temp", kind = "gauge", unit = "millidegrees C", type = "int64", value = -40125 },
  { name = "load_1min", kind = "gauge", scale = 256, fract = true, value = 384 },
  { name = "jobs", kind = "gauge", unit = "jobs", value = 4 },
  { name = "waiting", kind = "gauge", unit = "jobs", value = 5 },
  { name = "real", kind = "gauge", unit = "us", type = "double", value = 2.5 },
  { name = "most", kind = "counter", value = 2^63 },
  { name = "most_kib", kind = "gauge", unit = "KiB", value = 2^63 },
  { name = "large", kind = "gauge", unit = "MiB", type = "int64", value = 13194139533312 }, -- above 2^63 bytes
} }))
]])
    local expected = {
      kstat_mod_wait_seconds_total = "1.500000001", kstat_mod_run_seconds_total = "0.000000001",
      kstat_mod_cpu_seconds_total = "123.45", kstat_mod_mem_bytes = "49152", kstat_mod_cache_bytes = "3072",
      kstat_mod_busy_ratio = "0.07", kstat_mod_pct_idle_ratio = "0.07", kstat_mod_drift_ratio = "-1.500001",
      kstat_mod_clock_hertz = "2400000000", kstat_mod_link_bytes_per_second = "1250000000",
      kstat_mod_bits_bytes = "1.5",
      kstat_mod_temp_celsius = "-40.125", kstat_mod_load_1min = "1.5", kstat_mod_jobs = "4",
      kstat_mod_waiting_jobs = "5",
      kstat_mod_real_seconds = "2.5e-06", kstat_mod_most_total = "9223372036854775808",
      kstat_mod_most_kib_bytes = "9.44473296573929e+21",
      kstat_mod_large_bytes = "1.3835058055282164e+19",
    }
    assert.same(expected, values_of("\n" .. classic))
    assert.same(expected, values_of("\n" .. open))
    assert.truthy(open:find("# TYPE kstat_mod_cpu_seconds counter\n# UNIT kstat_mod_cpu_seconds seconds\n", 1, true))
    assert.truthy(classic:find("# TYPE kstat_mod_cpu_seconds_total counter\n", 1, true))
    assert.falsy(classic:find("# UNIT", 1, true))
    assert.falsy(open:find("# UNIT kstat_mod_load_1min", 1, true))
  end)

  it("leaves out counters below zero, and has numbers that are none", function()
    local classic, open = expose([[
assert(pub:named({ module = "mod", name = "n", shards = 1, statistics = {
  { name = "below", kind = "counter", type = "int64", value = -1 },
  { name = "none", kind = "counter", type = "double", value = 0/0 },
  { name = "above", kind = "counter", type = "double", value = 1/0 },
  { name = "under", kind = "gauge", type = "int64", value = -9007199254740991 },
  { name = "nan", kind = "gauge", type = "double", value = 0/0 },
  { name = "inf", kind = "gauge", type = "double", value = 1/0 },
  { name = "ninf", kind = "gauge", type = "double", value = -1/0 },
  { name = "text", type = "string" } } }))
]])
    local expected = { kstat_mod_above_total = "+Inf", kstat_mod_under = "-9007199254740991", kstat_mod_nan = "NaN",
      kstat_mod_inf = "+Inf", kstat_mod_ninf = "-Inf" }
    local values = {}
    for name, value in pairs(values_of("\n" .. classic)) do
      values[name:gsub('{text=""}', "")] = value
    end
    assert.same(expected, values)
    if readers.has_reader then
      readers.check_open(open, "numbers")
    end
  end)

  it("has counters for statistics that are declared by name alone", function()
    local classic = expose([[
assert(pub:named({ module = "mod", name = "n", statistics = { "served" } })):add("served", 3)
assert(pub:named({ module = "mod", name = "one", shards = 1, statistics = { "taken", { name = "set" } } }))
assert(pub:named({ module = "mod", name = "sum", statistics = { { name = "added" }, { name = "i", type = "int64" } } }))
]])
    assert.same({ kstat_mod_served_total = "3", kstat_mod_taken_total = "0", kstat_mod_set = "0",
      kstat_mod_added_total = "0",
      kstat_mod_i = "0" }, values_of("\n" .. classic))
    assert.truthy(classic:find("# TYPE kstat_mod_set untyped\n", 1, true))
  end)

  it("has the texts of a kstat as labels, whatever they are called and hold", function()
    local classic, open = expose([[
assert(pub:named({ module = "mod", name = ("n"):rep(30), class = 'c"\\', shards = 1, statistics = {
  { name = "depth", kind = "gauge", value = 1 },
  { name = "le", type = "string", value = 'a"b\\c\nd\255e\1' },
  { name = "module", type = "string", value = "x" },
  { name = "__name__", type = "string", value = "evil" },
  { name = "Text-x", type = "string", value = "y" },
  { name = "Text_x", type = "string", value = "z" },
  { name = "9t", type = "string", value = "\195\169" },
  { name = "long", type = "string", value = ("z"):rep(250) },
  { name = "none", type = "string" },
  { name = "c", type = "char", value = "abc" } } }))
]])
    local labels = ([[{module="mod",instance="0",name="%s",class="c\"\\",publisher="spec",]] ..
      [[le_2="a\"b\\c?d?e?",module_2="x",]] ..
      [[_name_="evil",Text_x="y",Text_x_2="z",_9t="é",none="",c="abc"} 1]]):format(("n"):rep(30))
    assert.truthy(classic:find("\nkstat_mod_depth" .. labels .. "\n", 1, true), classic)
    assert.truthy(open:find("\nkstat_mod_depth" .. labels .. "\n", 1, true))
    if readers.has_reader and readers.has_promtool then
      readers.check_classic("\n" .. classic, "labels")
      readers.check_open(open, "labels")
    end
  end)

  it("escapes what a capture holds, and tells kstats of one name apart", function()
    local k = capture.kstat("mod", 0, [[a\"b\\c]] .. "\255", "c", 1, 1, 2, [["n":1,"t":"a\nb\u0001\u0085c\u202ed"]])
    local ks = assert(kstat.open({ capture = capture.file({ { k, k, k } }) }))
    local text = ks:render("openmetrics")
    ks:close()
    local labels = ([[{module="mod",instance="0",name="a\"b\\c?",class="c",t="a\nb??c?d"]]):gsub("%?", "\239\191\189")
    for _, kid in ipairs({ "", ',kid="1"', ',kid="2"' }) do
      assert.truthy(text:find("kstat_mod_n" .. labels .. kid .. "} 1\n", 1, true), text)
    end
    if readers.has_reader then
      readers.check_open(text, "capture")
    end
  end)

  it("has one family for each name, and none that looks like another's sample", function()
    local classic, open = expose([[
assert(pub:named({ module = "Mod-1", name = "n", shards = 1, statistics = {
  { name = "InBcastPkts", kind = "counter", value = 1 }, { name = "in_bcast_pkts", kind = "counter", value = 2 },
  { name = "x", kind = "gauge", value = 3 }, { name = "x_total", kind = "counter", value = 4 },
  { name = "done", kind = "counter", value = 5 }, { name = "done_total", kind = "counter", value = 6 },
  { name = "rx_bytes", kind = "counter", unit = "bytes", value = 7 },
  { name = "odd  (name)", kind = "gauge", unit = "jobs", value = 8 }, { name = "total", kind = "gauge", value = 9 },
  { name = "bytes", kind = "gauge", unit = "KiB", value = 1 },
} }))
]])
    assert.same({ kstat_mod_1_in_bcast_pkts_total = "1", kstat_mod_1_in_bcast_pkts_2_total = "2", kstat_mod_1_x = "3",
      kstat_mod_1_x_2_total = "4", kstat_mod_1_done_total = "5", kstat_mod_1_done_2_total = "6",
      kstat_mod_1_rx_bytes_total = "7", kstat_mod_1_odd_name_jobs = "8", kstat_mod_1_total = "9",
      kstat_mod_1_bytes = "1024" },
      values_of("\n" .. classic))
    if readers.has_reader then
      readers.check_open(open, "names")
    end
  end)

  it("has one family for what kstats count in different units", function()
    local classic = expose([[
for i, unit in ipairs({ "KiB", "bytes", "sectors", "KiB" }) do
  assert(pub:named({ module = "mod", name = "n" .. i, shards = 1, statistics = {
    { name = "in", kind = "counter", unit = unit, value = 3 },
    { name = "In", kind = "counter", unit = unit, value = 4 },
    { name = i > 2 and "waiting" or "Waiting", kind = i == 4 and "counter" or "gauge", value = 5 } } }))
end
]])
    local lines = {}
    for name, value in classic:gmatch("\n(kstat_mod_[%w_]+){[^\n]*} (%d+)%f[\n]") do
      lines[#lines + 1] = name .. " " .. value
    end
    table.sort(lines)
    assert.same({ "kstat_mod_in_2_bytes_total 2048", "kstat_mod_in_2_bytes_total 4", "kstat_mod_in_2_bytes_total 4096",
      "kstat_mod_in_2_bytes_total 4096", "kstat_mod_in_bytes_total 1536", "kstat_mod_in_bytes_total 3",
      "kstat_mod_in_bytes_total 3072", "kstat_mod_in_bytes_total 3072", "kstat_mod_waiting 5", "kstat_mod_waiting 5",
      "kstat_mod_waiting 5", "kstat_mod_waiting_2_total 5" }, lines)
    local _, families = classic:gsub("# TYPE", "")
    assert.equal(4, families)
  end)

  it("has the scale of each kstat, though its statistics have one name", function()
    local classic = expose([[
for i, how in ipairs({ { 256, true }, { 1024, true }, { 1024, false }, { 1, false } }) do
  assert(pub:named({ module = "mod", name = "n" .. i, shards = 1, statistics = {
    { name = "load", kind = "gauge", scale = how[1], fract = how[2], value = 512 },
    { name = "wait", kind = "counter", meta = "t_acc", scale = how[1], fract = how[2], value = 512 } } }))
end
assert(pub:named({ module = "mod", name = "n5", shards = 1, statistics = {
  { name = "load", kind = "gauge", meta = "bytes", value = 7 } } }))
]])
    local lines = {}
    for name, value in classic:gmatch("\n(kstat_mod_[%w_]+){[^\n]*} ([%d.]+)%f[\n]") do
      lines[#lines + 1] = name .. " " .. value
    end
    assert.same({ "kstat_mod_load 2", "kstat_mod_load 0.5", "kstat_mod_load 524288", "kstat_mod_load 512",
      "kstat_mod_wait_seconds_total 2", "kstat_mod_wait_seconds_total 0.5", "kstat_mod_wait_seconds_total 524288",
      "kstat_mod_wait_seconds_total 512", "kstat_mod_load_bytes 7" }, lines)
  end)

  it("has kstats of nothing but texts as information", function()
    local classic, open = expose([[
assert(pub:named({ module = "mod", name = "n", statistics = { { name = "t", type = "string", value = "v" } } }))
]])
    assert.same({ ['kstat_mod_info{t="v"}'] = "1" }, values_of("\n" .. classic))
    assert.truthy(classic:find("# TYPE kstat_mod_info gauge\n# HELP kstat_mod_info texts of mod\n", 1, true))
    assert.truthy(open:find("# TYPE kstat_mod info\n# HELP kstat_mod texts of mod\n", 1, true))
  end)

  it("has states as information, so that all other series outlive a change", function()
    local classic, open = expose([[
assert(pub:named({ module = "mod", name = "n", statistics = { { name = "t", type = "string", value = "v" },
  { name = "now", type = "string", meta = "state", value = "idle" }, { name = "jobs", kind = "gauge", value = 2 } } }))
]])
    assert.same({ ['kstat_mod_info{t="v",now="idle"}'] = "1", ['kstat_mod_jobs{t="v"}'] = "2" },
      values_of("\n" .. classic))
    assert.same(values_of("\n" .. classic), values_of("\n" .. open))
  end)

  it("has states of the machine as information, too", function()
    local tree = L.copy(run.tree("hardware"))
    finally(function() L.remove(tree) end)
    local sys = tree .. "/sys"
    local function series_with(status)
      L.write(sys .. "/class/power_supply/BAT1/status", status .. "\n")
      local r = run.run({ "kstat", "-o", "prometheus", "power_supply:::", env = { KSTAT_SYS = sys } })
      return r.out:gsub("[^\n]*_info{[^\n]*", function(line)
        return (line:gsub(status, "STATUS"))
      end)
    end
    local before, infos = series_with("Discharging")
    assert.truthy(infos > 0 and before:find('status="STATUS"', 1, true))
    assert.equal(before, (series_with("Full")))
  end)

  it("has histograms whose bounds are inclusive", function()
    local classic, open = expose([[
local h = assert(pub:histogram({ module = "mod", name = "h", type = "linear", meta = "t_rel", scale = 1000000000,
  fract = true, range_min = 10, range_max = 100, stepping = 30, desc = 'time "of" it' }))
for _, v in ipairs({ 0, 9, 10, 11, 39, 40, 41, 99, 100, 101, 1000 }) do
  h:add_value(v)
end
]])
    local h = "kstat_mod_distribution_seconds"
    local expected = { [h .. '_count{type="linear"}'] = "11", [h .. '_sum{type="linear"}'] = "0.00000145" }
    for bound, count in pairs({ ["0.000000009"] = "2", ["0.000000039"] = "5", ["0.000000069"] = "7",
      ["0.000000099"] = "8", ["+Inf"] = "11" }) do
      expected[('%s_bucket{type="linear",le="%s"}'):format(h, bound)] = count
    end
    assert.same(expected, values_of("\n" .. classic))
    assert.same(expected, values_of("\n" .. open))
    assert.truthy(classic:find("# HELP " .. h .. ' time "of" it\n', 1, true))
    assert.truthy(open:find("# HELP " .. h .. ' time \\"of\\" it\n', 1, true))
    if readers.has_reader and readers.has_promtool then
      readers.check_classic("\n" .. classic, "histogram")
      readers.check_open(open, "histogram")
    end
  end)

  it("has bounds with a decimal point in OpenMetrics", function()
    local classic, open = expose([[
local h = assert(pub:histogram({ module = "mod", name = "h", type = "log2" }))
h:add_value(5)
]])
    assert.truthy(classic:find('le="15"} 1\n', 1, true))
    assert.truthy(open:find('le="15.0"} 1\n', 1, true))
  end)

  it("has bounds with an exponent as they are", function()
    local classic, open = expose([[
local h = assert(pub:histogram({ module = "mod", name = "h", type = "linear", meta = "bytes", scale = 1000000000,
  range_min = 0, range_max = 20000000000002, stepping = 10000000000001 }))
h:add_value(5)
]])
    for _, text in ipairs({ classic, open }) do
      assert.truthy(text:find('le="1e+22"} 1\n', 1, true), text)
    end
  end)

  describe("of a statsblob", function()
    local publish = [[
local stats = require("kstat.stats")
local template = assert(stats.template("exposition"))
assert(template:add_voi(0, "rtt", "u32", { stats.sum(), stats.max(), stats.crhist32_usr({ 10, 20, 50 }) }))
assert(template:add_voi(1, "len", "u32", { stats.tdgstclust64(50, 10) }))
assert(template:add_voi(2, "temp", "sq64", { stats.crhist32_usr({ -1, 0.5 }, { prec = 4 }) }))
local b = assert(pub:blob({ module = "mod", name = "b", template = template,
  vois = { rtt = { unit = "us", desc = "time to answer" }, len = { unit = "bytes", desc = "length" } } }))
]]
    it("has histograms with what lies outside, sums in base units, and percentiles of their own", function()
      local classic, open = expose(publish .. [[
for _, v in ipairs({ 5, 9, 10, 19, 20, 49, 50, 1000 }) do
  b:update("rtt", v)
end
for _ = 1, 100 do
  b:update("len", 7)
end
for _, v in ipairs({ -2, -1, 0, 0.5, 3 }) do
  b:update("temp", v)
end
]])
      local values = values_of("\n" .. classic)
      local h = "kstat_mod_rtt_seconds"
      assert.equal("4", values[h .. '_bucket{le="0.000019"}']) -- 5, 9, 10, 19; 5 and 9 are in no bucket
      assert.equal("6", values[h .. '_bucket{le="0.000049"}'])
      assert.equal("8", values[h .. '_bucket{le="+Inf"}'])
      assert.equal("8", values[h .. "_count"])
      assert.equal("0.001162", values[h .. "_sum"])
      assert.equal("0.001", values.kstat_mod_rtt_max_seconds)
      for _, quantile in ipairs({ "0.5", "0.9", "0.99", "0.999" }) do
        assert.equal("7", values[('kstat_mod_len_quantile_since_creation_bytes{quantile="%s"}'):format(quantile)])
      end
      assert.equal("3", values['kstat_mod_temp_bucket{le="0.5"}'])
      assert.equal("5", values['kstat_mod_temp_bucket{le="+Inf"}'])
      assert.is_nil(values.kstat_mod_rtt_sum_seconds)
      assert.truthy(classic:find("# TYPE kstat_mod_rtt_seconds histogram\n", 1, true))
      assert.truthy(classic:find("# TYPE kstat_mod_len_quantile_since_creation_bytes summary\n"
        .. "# HELP kstat_mod_len_quantile_since_creation_bytes length: quantiles since creation\n", 1, true))
      if readers.has_reader and readers.has_promtool then
        readers.check_classic("\n" .. classic, "blob")
        readers.check_open(open, "blob")
      end
    end)
  end)

  describe("in steps", function()
    it("is the text of ks:render, and its reading and writing are many steps", function()
      local out = lua([[
for i = 1, 1000 do
  assert(pub:named({ module = "mod", name = "n" .. i, shards = 1, statistics = { "a", "b", "c" } }))
end
local ks = assert(kstat.open())
local texts, steps = {}, 0
for text in ks:exposition("prometheus", "mod:::") do
  texts[#texts + 1], steps = text, steps + 1
end
assert(table.concat(texts) == ks:render("prometheus", "mod:::"))
local _, lines = table.concat(texts):gsub("\n", "")
print(lines, steps > 4)
]])
      assert.equal("3006\ttrue\n", out)
    end)

    it("begins again with the same text, also of names that look alike, until the chain changes", function()
      local out = lua([[
local core = require("kstat.core")
local function add(name, ...)
  local statistics = {}
  for i, stat in ipairs({ ... }) do
    statistics[i] = { name = stat, kind = "counter", desc = "about " .. stat }
  end
  return assert(pub:named({ module = "mod", name = name, shards = 1, statistics = statistics }))
end
add("z", "in_pkts")
add("a", "in_pkts")
add("b", "InPkts")
local both = add("c", "InPkts", "in_pkts", "In-Pkts")
add("d", "In-Pkts", "other")
local place = assert(pub:named({ module = "mod", name = "e", shards = 1, statistics = {
  { name = "at", type = "string", value = "somewhere" }, { name = "jobs" } } }))
local ks = assert(kstat.open())
local kept = assert(core.exposition(ks, {}, "openmetrics", true))
local function check(what)
  local text = kept:step(true)
  local fresh = assert(core.exposition(ks, {}, "openmetrics")):step(true)
  print(what, text == fresh and text:find("in_pkts_3_total", 1, true) ~= nil, kept:step())
end
check("first")
both:add("InPkts", 5)
for i = 1, 5 do
  place:set("at", i < 4 and "here" or "there")
  place:set("jobs", i)
  assert(kept:again())
  check("again")
end
kept:again()
kept:step() -- and no further
assert(kept:again())
check("unfinished")
add("A", "in_pkts", "InPkts")
ks:update()
kept:again()
check("changed")
local once = assert(core.exposition(ks, {}, "prometheus"))
once:step(true)
print(pcall(once.again, once))
ks:close()
print(pcall(kept.again, kept))
]])
      assert.equal("first\ttrue\n" .. ("again\ttrue\n"):rep(5) .. "unfinished\ttrue\nchanged\ttrue\n",
        out:match("^(.-)false"))
      assert.truthy(out:find("an exposition that is kept expected", 1, true), out)
      assert.truthy(out:find("the kstat chain is closed", 1, true), out)
    end)

    it("reads what others publish in large pieces, and a single one anew", function()
      local reads = lua([[
local core = require("kstat.core")
local function reads()
  return tonumber(assert(io.open("/proc/self/io")):read("*a"):match("syscr: (%d+)"))
end
local all = {}
for i = 1, 1000 do
  all[i] = assert(pub:named({ name = "n" .. i, shards = 1, statistics = { "jobs" } }))
end
local ks = assert(kstat.open())
local kept = assert(core.exposition(ks, {}, "prometheus", true))
local text = kept:step(true)
local before = reads()
assert(kept:again())
assert(kept:step(true) == text)
print(reads() - before)
all[1000]:add("jobs", 7)
assert(ks:lookup("spec", 0, "n1000"):read().jobs == 7)
assert(kept:again())
assert(kept:step(true) == text:gsub('(name="n1000"[^\n]*) 0\n', "%1 7\n"))
]])
      assert.truthy(tonumber(reads) < 100, reads)
    end)

    it("forgets statistics that came and went", function()
      local grown = lua([[
local core = require("kstat.core")
local function write(round)
  local f = assert(io.open(os.getenv("KSTAT_PROC") .. "/vmstat", "w"))
  for i = 1, 1000 do
    f:write(("s%d_%d 1\n"):format(round, i))
  end
  f:close()
end
local function kilobytes()
  for line in io.lines("/proc/self/status") do
    local n = line:match("VmRSS:%s*(%d+)")
    if n then return tonumber(n) end
  end
end
write(0)
local ks = assert(kstat.open())
local kept = assert(core.exposition(ks, {}, "openmetrics", true))
local before
for round = 1, 100 do
  write(round)
  ks:update()
  kept:again()
  assert(kept:step(true):find(("\nkstat_unix_s%d_1000_total{"):format(round)))
  before = round == 20 and kilobytes() or before
end
print(kilobytes() - before)
]])
      if not os.getenv("ASAN_OPTIONS") then -- a sanitizer keeps what is freed
        assert.truthy(tonumber(grown) < 8000, grown)
      end
    end)

    it("ends when the chain changes, and raises when it is closed", function()
      local out = lua([[
local core = require("kstat.core")
assert(pub:named({ module = "mod", name = "n", statistics = { "a" } }))
local ks = assert(kstat.open())
local exposition = core.exposition(ks, {}, "openmetrics")
assert(pub:named({ module = "mod", name = "other", statistics = { "a" } }))
ks:update()
local open = core.exposition(ks, {}, "openmetrics")
print(exposition:step())
local pieces = ks:exposition("prometheus")
ks:close()
print(pcall(open.step, open))
print(pcall(pieces))
print(pcall(ks.exposition, ks, "prometheus"))
]])
      local lines = {}
      for line in out:gmatch("[^\n]*") do
        if line ~= "" then
          lines[#lines + 1] = line
        end
      end
      assert.matches("^nil\tthe chain was updated while its metrics were read\tEAGAIN$", lines[1])
      for i = 2, 4 do
        assert.matches("^false\t.*the kstat chain is closed", lines[i])
      end
      assert.equal(4, #lines)
    end)
  end)

  it("has the format that a client wants", function()
    local open, classic, messages = "openmetrics", "prometheus", "protobuf"
    local protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
    for accept, format in pairs({
      [""] = classic, ["*/*"] = classic, ["text/html"] = classic, ["text/plain"] = classic,
      ["application/openmetrics-text"] = open, ["APPLICATION/OpenMetrics-Text; version=1.0.0"] = open,
      ["application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.3," ..
        "text/plain;version=0.0.4;q=0.2,*/*;q=0.1"] = open,
      ["application/openmetrics-text;q=0.1, text/plain;q=0.5"] = classic,
      ["application/openmetrics-text;q=0.5, application/openmetrics-text;q=0.1, text/plain;q=0.3"] = open,
      ["text/plain;q=0.5, application/openmetrics-text;q=0.5"] = open, -- as good: the richer one
      ["application/openmetrics-text; q=0"] = classic, ["application/openmetrics-text;q=0,*/*"] = classic,
      ["application/openmetrics-textile"] = classic, ["application/openmetrics-text;q=x"] = classic,
      -- Prometheus 2.42 with native histograms, and 3.x.
      [protobuf .. ",application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75," ..
        "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"] = messages,
      [protobuf .. ";escaping=allow-utf-8;q=0.6," ..
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5," ..
        "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"] = messages,
      ["application/openmetrics-text;version=1.0.0;q=0.6," .. protobuf .. ";q=0.5"] = open,
      ["application/openmetrics-text," .. protobuf] = open, ["text/plain," .. protobuf] = messages,
      [protobuf .. ";q=0"] = classic, [protobuf .. ";q=2"] = classic, [protobuf .. "x"] = classic,
      [protobuf:gsub("delimited", "text")] = classic, ["application/vnd.google.protobuf"] = classic,
      [protobuf:gsub(";", " ; "):upper()] = messages, [";;=;q;" .. protobuf] = classic,
      [protobuf:gsub("MetricFamily", "Metric")] = classic, [protobuf .. (";x"):rep(10000)] = messages,
      [",,;q=,application/openmetrics-text"] = open, [("text/plain,"):rep(1000)] = classic }) do
      assert.equal(format, (kstat.exposition_format(accept)), accept)
    end
    assert.same({ classic, "text/plain; version=0.0.4; charset=utf-8" }, { kstat.exposition_format() })
    assert.equal("application/openmetrics-text; version=1.0.0; charset=utf-8",
      select(2, kstat.exposition_format("application/openmetrics-text")))
    assert.equal((protobuf:gsub(";", "; ")), select(2, kstat.exposition_format(protobuf)))
  end)

  it("of a kstat with 10,000 texts is bounded", function()
    local texts = {}
    for i = 1, 10000 do
      texts[i] = ('"t%d":"%s"'):format(i, ("v"):rep(100))
    end
    local k = capture.kstat("mod", 0, "n", "c", 1, 1, 2, '"depth":1,' .. table.concat(texts, ","))
    local ks = assert(kstat.open({ capture = capture.file({ { k } }) }))
    local start = os.clock()
    local text = ks:render("prometheus")
    ks:close()
    local _, labels = text:gsub('="', "")
    assert.equal(4 + 64, labels)
    assert.is_true(os.clock() - start < 5)
  end)

  it("of a kstat whose 20,000 names look alike takes no time", function()
    local marks, numbers = { "!", "#", "$", "%", "&", "*", "+", ";", "<", "=", ">", "?", "@", "^", "|", "~" }, {}
    for i = 1, 20000 do
      local name, n = "", i
      while n > 0 do
        name, n = name .. marks[n % 16 + 1], math.floor(n / 16)
      end
      numbers[i] = ('"%s":%d'):format(name, i)
    end
    local k = capture.kstat("mod", 0, "n", "c", 1, 1, 2, table.concat(numbers, ","))
    local ks = assert(kstat.open({ capture = capture.file({ { k } }) }))
    local start = os.clock()
    local _, families = ks:render("prometheus"):gsub("# TYPE", "")
    ks:close()
    assert.equal(20000, families)
    assert.is_true(os.clock() - start < 5)
  end)

  describe("in a file (--output)", function()
    local file
    before_each(function() file = dir .. "/node.prom" end)

    -- Runs kstat in sh and returns its status, what it said, and the names in the directory.
    local function output(path, limits)
      local r = run.shell(("%s %s/kstat -o prometheus --output %s unix:0:system_misc; s=$?; ls %s; exit $s"):format(
        limits or "", run.bin, run.quote(path), dir))
      return r.status, r.err, r.out
    end

    it("is complete, and the file keeps its mode; a link keeps leading to it", function()
      assert.same({ 0, "", "node.prom\n" }, { output(file) })
      assert.matches("^# TYPE kstat_unix_.*\n$", run.read_file(file))
      run.shell(("chmod 640 %s; echo old >%s; ln -s node.prom %s/link"):format(file, file, dir))
      assert.same({ 0, "", "link\nnode.prom\n" }, { output(dir .. "/link") })
      assert.matches("^# TYPE", run.read_file(file))
      assert.equal("640\n", run.shell("stat -c %a " .. file).out)
    end)

    it("stays as it was if there is no room, and nothing is left beside it", function()
      run.write_file(file, "old\n")
      local status, err, names = output(file, "trap '' XFSZ; ulimit -f 1;")
      assert.same({ 3, "kstat: --output: " .. file .. ": File too large\n", "node.prom\n" }, { status, err, names })
      assert.equal("old\n", run.read_file(file))
    end)

    it("is standard output by the name -", function()
      local metrics = ("cd %s; %s/kstat -o prometheus --output - unix:0:system_misc:ncpus; ls"):format(dir, run.bin)
      local r = run.shell(metrics)
      assert.matches("^# TYPE kstat_unix_ncpus gauge\n.*} %d+\n$", r.out)
      for _, command in ipairs({ "record -o - 1 1", "convert -o - /dev/null" }) do
        r = run.shell(("cd %s; %s/kstatlua %s; s=$?; ls; exit $s"):format(dir, run.bin, command))
        assert.same({ 2, "" }, { r.status, r.out })
        assert.matches("^%a+: %-o %-: a recording is a plain file, no stream", r.err)
      end
    end)

    it("is refused where no file can be", function()
      for path, why in pairs({ ["/dev/null"] = "not a regular file", [dir] = "not a regular file",
        [dir .. "/none/file"] = "No such file or directory", [""] = "No such file or directory" }) do
        assert.same({ 3, ("kstat: --output: %s: %s\n"):format(path, why) }, { output(path), (select(2, output(path))) })
      end
    end)
  end)
end)
