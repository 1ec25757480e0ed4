-- kstatlua prtop, and kstat.histogram: on captures, on this host for two intervals, on a recording.
local capture = require("support.capture")
local histogram = require("kstat.histogram")
local kstat = require("kstat")
local run = require("support.run")

-- An I/O kstat at second t; figures are per second: reads, writes, wait and run queue lengths, and their busy share.
local function queue(module, name, class, t, reads, writes, wait, actv, wbusy, rbusy)
  return capture.kstat(module, 0, name, class, 3, 0, t, (('"nread":%d,"nwritten":%d,"reads":%d,"writes":%d,'
    .. '"wtime":%.9f,"wlentime":%.9f,"wlastupdate":0,"rtime":%.9f,"rlentime":%.9f,"rlastupdate":0,"wcnt":0,"rcnt":0')
    :format(4096 * reads * t, 1024 * writes * t, reads * t, writes * t, wbusy * t, wait * t, rbusy * t, actv * t)))
end

local function timer(t, events, seconds)
  return capture.kstat("app", 0, "timers", "misc", 4, 0, t, ('"name":"parse","num_events":%d,"elapsed_time":%.9f,'
    .. '"min_time":0.001,"max_time":0.25,"start_time":0,"stop_time":0'):format(events * t, seconds * t))
end

local function latencies(t, buckets)
  return capture.named("latency", 0, t, ('"buckets":[%s],"type":"linear","range_min":0,"range_max":40,"stepping":10')
    :format(table.concat(buckets, ",")))
end

-- Two samples ten seconds apart.
local function write_capture()
  local samples = {}
  for i = 1, 2 do
    local t = 10 * i
    samples[i] = {
      queue("sd", "sd0", "disk", t, 50, 50, 0, 9, 0, 1), -- the machine's
      queue("shop", "orders", "misc", t, 100, 20, 0.5, 1.5, 0.25, 0.75),
      queue("shop", "stuck", "queue", t, 0, 0, 0, 4, 0, 1),
      queue("mail", "out", "misc", t, 0, 5, 0, 0.1, 0, 0.1),
      timer(t, 20, 0.5),
      latencies(t, i == 1 and { 0, 10 } or { 0, 20, 80, 10 }),
    }
  end
  return capture.file(samples)
end

describe("prtop on a capture", function()
  local path
  setup(function() path = write_capture() end)
  teardown(capture.clean)

  local function prtop(...)
    local r = run.run({ "kstatlua", "-r", path, "prtop", ... })
    assert.equal("", r.err)
    assert.equal(0, r.status)
    return r.out
  end

  it("shows the queues that are not the machine's, the fullest first", function()
    assert.equal([[
    r/s     w/s     kr/s     kw/s  wait  actv  wsvc_t  asvc_t  %w  %b     pid   uid publisher name
    0.0     0.0      0.0      0.0   0.0   4.0     0.0     0.0   0 100       -     - -         shop:0:stuck
  100.0    20.0    400.0     20.0   0.5   1.5     4.2    12.5  25  75       -     - -         shop:0:orders
    0.0     5.0      0.0      5.0   0.0   0.1     0.0    20.0   0  10       -     - -         mail:0:out
]], prtop("-y", "10", "2"))
  end)

  it("shows those that operands name, sorted as one likes", function()
    local out = prtop("-y", "--csv", "--sort", "asvc_t", "10", "2")
    assert.matches("\n[^\n]*mail:0:out\n[^\n]*shop:0:orders\n[^\n]*shop:0:stuck\n$", out)
    assert.matches("^r/s[^\n]*\n[^\n]*mail:0:out\n$", (prtop("mail"):gsub("^ +", "")))
    local r = run.run({ "kstatlua", "-r", path, "prtop", "/^sd/" })
    assert.matches("^ *r/s[^\n]*name\n$", r.out)
    assert.equal("prtop: there is no publisher '/^sd/'\n", r.err)
  end)

  it("shows timers", function()
    assert.equal([[
    ev/s    busy     avg_t     min_t     max_t     pid   uid publisher name
    20.0    0.50    25.000     1.000   250.000       -     - -         app:0:timers:parse
]], prtop("-t", "-y", "10", "2"))
  end)

  it("shows histograms, with the percentiles of the interval", function()
    -- 10 values of 1 to 9, 80 of 10 to 19, 10 of 20 to 29.
    assert.equal([[
     n/s         p50         p90         p99 unit     pid   uid publisher name
    10.0        14.5          19        28.1            -     - -         app:0:latency
]], prtop("-H", "-y", "10", "2"))
  end)

  it("says what is wrong with a command line", function()
    for words, message in pairs({ ["-t -H"] = "-t and -H cannot be used together", ["'/(/'"] = "parenthesis",
      ["-Q"] = "unknown option '-Q'", ["--sort size"] = "no column 'size'" }) do
      local r = run.shell(run.bin .. "/kstatlua prtop " .. words)
      assert.equal("", r.out)
      assert.truthy(r.err:find(message, 1, true), r.err)
      assert.matches("^prtop: [^\n]*\n$", r.err)
      assert.equal(2, r.status)
    end
  end)
end)

describe("prtop on a host", function()
  local dir
  before_each(function() dir = run.directory() end)
  after_each(function() run.remove_directory(dir) end)

  -- Publishes, runs a command line meanwhile and returns what it says, and the publisher's process.
  local function meanwhile(command)
    run.write_file(dir .. "/publish.lua", [[
      local pub = assert(kstat.publish("shop"))
      local orders, stuck = pub:io({ name = "orders" }), pub:io({ name = "stuck" })
      local timer = pub:timer({ name = "t", timers = { "quick", "slow" } })
      local histogram = pub:histogram({ name = "size", type = "log2", meta = "bytes" })
      for _ = 1, 3 do
        stuck:waitq_enter()
        stuck:waitq_to_runq()
      end
      orders:waitq_enter()
      orders:waitq_to_runq()
      orders:done("read", 4096)
      timer:event("quick", 1, 1e6 + 1)
      timer:event("slow", 1, 1e9 + 1)
      for i = 1, 1000 do
        histogram:add_value(i)
      end
      os.execute(arg[1])
      print(io.open("/proc/self/stat"):read("n"))
    ]])
    local r = run.run({ "kstatlua", dir .. "/publish.lua", command, env = { KSTAT_DIR = dir } })
    assert.equal("", r.err)
    assert.equal(0, r.status)
    return r.out:match("^(.*\n)(%d+)\n$")
  end

  local program = run.quote(run.bin .. "/kstatlua")

  it("shows who publishes, for two intervals", function()
    local out, pid = meanwhile(program .. " prtop 0.05 2")
    local blocks, length = 0, "%d%.%d" -- since creation: what was before the requests came counts, too
    for stuck, orders in (out .. "\n"):gmatch("r/s[^\n]*\n([^\n]*)\n([^\n]*)\n\n") do
      blocks = blocks + 1
      assert.matches("^ *0.0 +0.0 +0.0 +0.0 +0.0 +" .. length .. " +0.0 +0.0 +0 +%d+ +" .. pid ..
        " +%d+ shop +shop:0:stuck$", stuck)
      length = "3%.0"
      assert.matches(" " .. pid .. " +%d+ shop +shop:0:orders$", orders)
    end
    assert.equal(2, blocks, out)
  end)

  it("has no more of the machine than that", function()
    local out = meanwhile(program .. " -e 'print(#kstat.open({ published = true }))'")
    assert.equal("4\n", out)
    local r = run.run({ "kstatlua", "prtop", env = { KSTAT_DIR = dir .. "/nothing" } })
    assert.matches("^ *r/s[^\n]*\nno process publishes an I/O queue\n$", r.out)
  end)

  it("takes no other word for it than true or false", function()
    assert.is_false(pcall(kstat.open, { published = "yes" }))
  end)

  it("shows timers and histograms", function()
    local out, pid = meanwhile(program .. " prtop -t; " .. program .. " prtop -H --csv 'sh*'")
    assert.matches("\n[^\n]* 1000.000 +1000.000 +1000.000 +" .. pid .. " +%d+ shop +shop:0:t:slow\n" ..
      "[^\n]* 1.000 +1.000 +1.000 +" .. pid .. " +%d+ shop +shop:0:t:quick\n", out)
    local p50, p90, p99 = out:match(",([%d.]+),([%d.]+),([%d.]+),bytes," .. pid .. ",%d+,shop,shop:0:size\n$")
    assert.is_true(math.abs(p50 - 500) < 15 and math.abs(p90 - 900) < 60 and math.abs(p99 - 990) < 60, out)
  end)

  it("reads recordings of it", function()
    meanwhile(("%s record -o %s/r shop 0.05 2"):format(program, dir))
    local r = run.run({ "kstatlua", "prtop", "-r", dir .. "/r", "-y", "1", "2" })
    assert.matches("^[^\n]*\n[^\n]*shop:0:stuck\n[^\n]*shop:0:orders\n$", r.out)
    r = run.run({ "kstatlua", "top", "-r", dir .. "/r", "--csv", "-f", "/elapsed|num/", "shop" })
    assert.matches("shop:0:t:slow:elapsed_time,[%d.e-]+,1,s,shop,%d+,%d+\n", r.out)
    assert.matches("shop:0:t:quick:num_events,[%d.e-]+,1,,shop,%d+,%d+\n", r.out)
  end)

  it("finds nothing of its own on a recorded tree", function()
    local r = run.run({ "kstatlua", "prtop", env = run.tree_env("small", { KSTAT_DIR = dir }) })
    assert.matches("\nno process publishes an I/O queue\n$", r.out)
  end)

  it("gives a kstat its publisher, and the machine's none", function()
    local out, pid = meanwhile(program .. [[ -e 'local ks = kstat.open()
      local k, m = ks:lookup("shop", 0, "orders"), ks:lookup("unix", 0, "sys")
      local s = ks:sample("shop", "unix:0:sys")
      print(k.publisher, k.publisher_pid, m.publisher, m.publisher_pid)
      print(s:lookup("shop", 0, "orders").publisher, s:lookup("unix", 0, "sys").publisher)
      print(s:since_creation():lookup("shop", 0, "orders").publisher_pid)
      ks:close()
      print(pcall(function() return s:lookup("shop", 0, "orders").publisher end))']])
    assert.equal(("shop\t%s\tnil\tnil\nshop\tnil\n%s\ntrue\tnil\n"):format(pid, pid), out)
  end)
end)

describe("kstat.histogram", function()
  after_each(capture.clean)

  local function after(samples, ticks)
    local path, found = capture.file(samples), nil
    for now, prev in kstat.every(1, ticks, { source = path, select = "*" }) do
      found = (prev and now - prev or now):lookup("app", 0, "latency")
    end
    return found
  end

  it("counts in between, or since creation", function()
    local samples = { { latencies(1, { 1, 2 }) }, { latencies(2, { 1, 5, 7 }) } }
    local h = assert(histogram.counts(after(samples, 1)))
    assert.same({ { 1, 2 }, 3, { 0, 1 }, { 0, 9 } }, { h.counts, h.total, h.low, h.high })
    assert.is_nil(h.elapsed)
    h = assert(histogram.counts(after(samples, 2)))
    assert.same({ { 0, 3, 7 }, 10, 1 }, { h.counts, h.total, h.elapsed })
  end)

  it("starts anew where the buckets changed, and counts 0 for one that fell", function()
    local h = histogram.counts(after({ { latencies(1, { 0, 9 }) }, { latencies(2, { 1, 4 }) } }, 2))
    assert.same({ 1, 0 }, h.counts)
    local other = latencies(1, { 0, 3 }):gsub('"stepping":10', '"stepping":20')
    h = histogram.counts(after({ { other }, { latencies(2, { 0, 4 }) } }, 2))
    assert.same({ 0, 4 }, h.counts)
  end)

  it("gives quantiles to within a bucket", function()
    local h = histogram.counts(after({ { latencies(1, { 0, 10, 80, 10, 0 }) } }, 1))
    assert.same({ 1, 9, 14.5, 28.1, 29 }, { histogram.quantiles(h, 0, 0.1, 0.5, 0.99, 1) })
    h = histogram.counts(after({ { latencies(1, { 0, 0 }) } }, 1))
    assert.equal(2, select("#", histogram.quantiles(h, 0.5, 0.9)))
    assert.same({}, { histogram.quantiles(h, 0.5, 0.9) })
  end)

  it("says what is no histogram", function()
    for _, data in ipairs({ '"n":1', '"buckets":[1],"type":"linear"',
      '"buckets":[1],"range_min":0,"range_max":10,"stepping":1,"type":7' }) do
      local h, message, errname = histogram.counts(after({ { capture.named("latency", 0, 1, data) } }, 1))
      assert.is_nil(h)
      assert.equal("app:0:latency is no histogram", message)
      assert.equal("EINVAL", errname)
    end
    for data, wanted in pairs({
      ['"type":"linear","range_min":0,"range_max":10,"stepping":3'] = "do not divide",
      ['"type":"cubic","range_min":0,"range_max":10,"stepping":1'] = "no histogram of type 'cubic'",
      ['"type":"linear","range_min":0,"range_max":10,"stepping":"x"'] = "not of unsigned numbers",
      ['"type":"linear","range_min":-0.5,"range_max":10,"stepping":1'] = "not of unsigned numbers",
      ['"type":"linear","range_min":0,"range_max":1e300,"stepping":1'] = "not of unsigned numbers",
    }) do
      local path = capture.file({ { capture.named("latency", 0, 1, '"buckets":[1,2],' .. data) } })
      local h, message, errname = histogram.counts(assert(kstat.open(path)):lookup("app", 0, "latency"))
      assert.is_nil(h)
      assert.matches(wanted, message)
      assert.equal(data:find("cubic") and "EINVAL" or "EBADMSG", errname)
      local r = run.run({ "kstatlua", "prtop", "-H", "-r", path })
      assert.equal(data:find("cubic") and 0 or 3, r.status)
      assert.equal(not data:find("cubic"), r.err:find("app:0:latency is left out: ", 1, true) ~= nil)
    end
  end)
end)

describe("prtop without an interval", function()
  it("waits for a publisher that is only starting", function()
    local directory = run.directory()
    finally(function() run.remove_directory(directory) end)
    local r = run.shell(("export KSTAT_DIR=%s PATH=%s:$PATH; { sleep 0.3; exec kstatlua examples/workqueue.lua 2; } " ..
      ">/dev/null & kstatlua prtop --top 1; wait"):format(directory, run.bin))
    assert.same({ "", 0 }, { r.err, r.status })
    assert.matches(" workqueue +workqueue:0:queue\n", r.out)
  end)
end)
