-- What a program of root's publishes of latencies (modules latency and exits), and where it shows. No program of the
-- kernel is needed: spec/vectors/kstat/latency.rec is made by hand, see spec/support/latency_recording.lua.
local cjson = require("cjson")
local run = require("support.run")

local RECORDING = "spec/vectors/kstat/latency.rec"
local root = run.shell("id -u").out == "0\n"

local PUBLISHER = [[
  local pub = assert(kstat.publish("latency"))
  local l = assert(pub:latency({ name = "vda,read,device", class = "disk_latency", scale = 4, lowest = 1,
    labels = { device = "vda", operation = "read", part = "device" } }))
  assert(l:add_counts({ 0, 3 }, 3))
  io.write("published\n")
  io.flush()
  if arg[1] then
    os.execute(arg[1])
  else
    for _ in kstat.every({ 60 }) do end
  end
]]

describe("The modules latency and exits", function()
  local dir

  before_each(function()
    dir = run.directory()
    run.shell("chmod 755 " .. dir)
    run.write_file(dir .. "/publisher.lua", PUBLISHER)
  end)

  after_each(function() run.remove_directory(dir) end)

  local function whose(options)
    return ("%s/kstatlua -e 'local k = assert(kstat.open(%s)):select({ class = \"disk_latency\" })[1] " ..
      "print(k and k.name, k and k.publisher)'"):format(run.bin, options)
  end

  local function publish(command)
    local r = run.run({ "kstatlua", dir .. "/publisher.lua", command, env = { KSTAT_DIR = dir } })
    assert.equal("", r.err)
    return (r.out:gsub("published\n", ""))
  end

  it("are the machine's where root publishes them, also for who asks for it alone, and in recordings", function()
    if not root then
      return pending("takes root")
    end
    for _, options in ipairs({ "{ machine = true }", "{ only = { class = \"disk_latency\" } }", "{}" }) do
      assert.equal("vda,read,device\tnil\n", publish(whose(options)), options)
    end
    assert.equal("nil\tnil\n", publish(whose("{ published = true }")))
    assert.equal("nil\tnil\n", publish(whose("{ machine = true, only = { class = \"disk\" } }")))
    publish(("%s/kstatlua record -o %s/rec --machine latency 0.01 1"):format(run.bin, dir))
    local r = run.run({ "kstat", "-r", dir .. "/rec", "-p", "--machine", "latency:::count" })
    assert.equal("latency:0:vda,read,device:count\t3\n", r.out)
  end)

  it("are nobody else's: what others publish there is not shown, and told", function()
    if not root then
      return pending("takes root, who becomes somebody else by setpriv")
    end
    run.shell(("mkdir %s/other; chown 65534 %s/other"):format(dir, dir))
    local env = "KSTAT_DIR=" .. dir .. "/other "
    local pid = run.start(("env %s setpriv --reuid=65534 --regid=65534 --clear-groups %s/bin/kstatlua %s/publisher.lua")
      :format(env, run.public().build, dir), dir .. "/out")
    run.await("a publisher", function() return run.read_file(dir .. "/out"):find("published") end)
    local r = run.shell("export " .. env .. "; " .. whose("{}") .. "; " .. run.bin .. "/kstat -p latency")
    run.shell("kill " .. pid)
    assert.equal("nil\tnil\n", r.out)
    assert.matches("user 65534 publishes under 'latency', a module of the machine: such kstats are not shown", r.err)
  end)

  it("are gone at once when their program is killed", function()
    if not root then
      return pending("takes root")
    end
    local env = "KSTAT_DIR=" .. dir .. " "
    local pid = run.start("env " .. env .. run.bin .. "/kstatlua " .. dir .. "/publisher.lua", dir .. "/out")
    run.await("a publisher", function() return run.read_file(dir .. "/out"):find("published") end)
    assert.equal("vda,read,device\tnil\n", run.shell(env .. whose("{}")).out)
    run.shell("kill -9 " .. pid)
    run.await("its end", function() return run.shell("kill -0 " .. pid).status ~= 0 end)
    assert.equal("nil\tnil\n", run.shell(env .. whose("{}")).out)
  end)
end)

-- Rows of a report on the recording, one for each of its samples: `name` chooses them.
local function rows_of(report, name)
  local rows = {}
  local command = ("%s/kstatlua -r %s %s -j 1"):format(run.bin, RECORDING, report)
  for line in run.shell(command).out:gmatch("[^\n]+") do
    local row = cjson.decode(line)
    rows[#rows + 1] = (not name or row.device == name or row.CPU == name) and row or nil
  end
  return rows
end

local function near(want, got, what)
  if want == false then
    return assert.equal(cjson.null, got, what)
  end
  assert.is_true(math.abs(got / want - 1) < 0.025, ("%s: %s is not about %s"):format(what, got, want))
end

describe("iostat -x --latency", function()
  -- The disk leaves at the fourth sample and is back at the fifth, at the sixth the program was started again, at the
  -- seventh it has ended.
  it("shows percentiles of reads and writes of each interval, and none where nothing measured them", function()
    local rows = rows_of("iostat -x --latency", "vda")
    assert.equal(7, #rows)
    for i, slower in ipairs({ 1, 1, 100, false, 1, 1, false }) do
      for title, ms in pairs({ r_p50 = 1, r_p99 = 4, w_p50 = 2, w_p99 = 2, rq_p50 = 0.1, rq_p99 = 0.4, wq_p99 = 2 }) do
        near(slower and slower * ms, rows[i][title], title .. " of sample " .. i)
      end
    end
  end)

  it("says so where nobody measures", function()
    local r = run.shell(("%s/kstatlua -r spec/vectors/use/hour.rec iostat -x --latency"):format(run.bin))
    assert.equal("iostat: latencies of disks are not recorded: 'kstatlua latency' measures them, as root\n", r.err)
    assert.equal(0, r.status)
    assert.matches("r_p50 +r_p99 +w_p50 +w_p99 +rq_p50", r.out)
  end)
end)

describe("kstatlua use", function()
  -- Neither a disk that is back nor a program that was started again is measured by what was before.
  it("tells a disk, a run queue and a server that are not well, in their interval alone", function()
    for resource, what in pairs({ disk = "slower than in its hour 10%d.%d times", cpu = "run queue 40.0 ms",
        network = "refused connections 2%d.%d per s" }) do
      local rows = rows_of("use " .. resource)
      assert.equal(6, #rows)
      for i, row in ipairs(rows) do
        assert.equal(i == 2, row.why:find(what) ~= nil, ("%s, interval %d: %s"):format(resource, i, row.why))
      end
    end
  end)
end)

describe("mpstat --latency", function()
  it("shows percentiles of the waits for each CPU, and with -a of all", function()
    for cpu, ms in pairs({ [0] = 0.1, [1] = 1 }) do
      for i, row in ipairs(rows_of("mpstat --latency", cpu)) do
        near(i < 7 and (i == 3 and 40 or ms), row.q_p99, ("cpu%d of sample %d"):format(cpu, i))
      end
    end
    local all = rows_of("mpstat -a --latency")
    near(0.1, all[2].q_p50, "p50 of all")
    near(1, all[2].q_p99, "p99 of all")
  end)
end)

-- Children of a shell that lives on, and what is published of them.
local STORM = [[
  local pub = assert(kstat.publish("latency"))
  local children = assert(pub:named({ module = "exits", instance = 1, name = "true,storm", class = "exits_command",
    statistics = { "exits", { name = "command", type = "string", value = "true" },
    { name = "parent", type = "string", value = "storm" } } }))
  local n = 0
  io.write("published\n")
  io.flush()
  for _ in kstat.every({ 0.02 }) do
    children:counter("exits"):add(20)
  end
]]

describe("Children that lived for milliseconds", function()
  it("are told with their parent: by prstat and by the processes of top", function()
    if not root then
      return pending("takes root")
    end
    local dir = run.directory()
    run.write_file(dir .. "/storm", "#!/bin/sh\nwhile :; do /bin/true; done\n")
    run.write_file(dir .. "/publisher.lua", STORM)
    local env = "env KSTAT_DIR=" .. dir .. " " .. run.bin .. "/kstatlua "
    local pids = { run.start("sh -c 'chmod 755 " .. dir .. "/storm; exec " .. dir .. "/storm'", dir .. "/none"),
      run.start(env .. dir .. "/publisher.lua", dir .. "/out") }
    run.await("a publisher", function() return run.read_file(dir .. "/out"):find("published") end)
    local prstat = run.shell(env .. "prstat 1 2").out
    local top = run.shell("COLUMNS=200 " .. env .. "top -b --view processes 1 1").out
    run.shell("kill " .. table.concat(pids, " "))
    run.remove_directory(dir)
    if prstat:find("most of storm/", 1, true) then -- others may start more on a machine that is busy
      assert.matches(", ended: %d+%% CPU, most of storm/%d+ %(%d+/s true%)", prstat)
    end
    assert.matches("children of storm %(%d+/s true%)", top)
  end)
end)

-- What root publishes under these names may be anything.
local NONE = [[
  local pub = assert(kstat.publish("latency"))
  for name, class in pairs({ ["vda,read,device"] = "disk_latency", runq = "runq_latency", c = "connect_latency" }) do
    assert(pub:named({ name = name, class = class, statistics = { "device", "outcome", "buckets" } }))
  end
  assert(pub:latency({ name = "vda,write,device", class = "disk_latency", unit = "bytes",
    labels = { device = "vda", operation = "write", part = "device" } })):add(5)
  assert(pub:named({ module = "exits", name = "y,x", class = "exits_command", statistics = {
    { name = "exits", type = "string", value = "x" } } }))
  for _, command in ipairs(arg) do
    assert(os.execute(command))
  end
]]

describe("Kstats that only look like latencies", function()
  it("are no figures, and harm none", function()
    if not root then
      return pending("takes root")
    end
    local dir = run.directory()
    run.write_file(dir .. "/publisher.lua", NONE)
    local command = { "kstatlua", dir .. "/publisher.lua", env = { KSTAT_DIR = dir } }
    for _, words in ipairs({ "iostat -x --latency 0.1 2", "mpstat -a --latency 0.1 2", "use 0.1 1", "prstat 0.1 2",
      "top -b --view disks 0.1 1", "top -b --view processes 0.1 1" }) do
      command[#command + 1] = run.bin .. "/kstatlua " .. words
    end
    local r = run.run(command)
    run.remove_directory(dir)
    assert.equal("", r.err)
    assert.equal(0, r.status)
    assert.matches("q_p50 +q_p99 sze\n[^\n]+ +%- +%- +%d+\n", r.out)
  end)
end)

describe("What kstat prints of latencies", function()
  it("is any percentile by disk, and metrics of the machine, classic and native", function()
    local r = run.run({ "kstat", "-r", RECORDING, "-c", "disk_latency", "-a",
      "p99(buckets) by (device, operation, part)" })
    assert.matches("\nvda +read +device +39%d%d%d%d%d", r.out)
    assert.matches("\nvda +write +queue +2000000", r.out)
    r = run.run({ "kstat", "-r", RECORDING, "-o", "prometheus", "-c", "disk_latency" })
    assert.matches('_seconds_count{module="latency",instance="0",name="vda,read,device",class="disk_latency",[^\n]*' ..
      'device="vda",operation="read",part="device"} 1000\n', r.out)
    assert.falsy(r.out:find("publisher=", 1, true))
    r = run.run({ "kstatlua", "-r", RECORDING, "-e", "local ks = kstat.open() local n = 0 " ..
      "for text in ks:exposition('protobuf', 'latency') do n = n + #text end print(n > 500)" })
    assert.equal("true\n", r.out)
  end)
end)

describe("The disks of top", function()
  it("have the time in which 99 % of the reads and writes were served", function()
    local r = run.shell(("COLUMNS=200 %s/kstatlua -r %s top -b --view disks 1"):format(run.bin, RECORDING))
    local found = {}
    for p99s in r.out:gmatch("\n vda +%S+ +%S+ +%S+ +%S+ +%S+ +%S+ [um]s +(.-) +[%d.]+ +[%d.]+ +%- ") do
      found[#found + 1] = p99s:gsub(" +", " ")
    end
    assert.matches("SVC +RP99 +WP99 +QUEUE", r.out)
    assert.equal("3.9 ms 2.0 ms, 398 ms 199 ms, - -, 3.9 ms 2.0 ms, 3.9 ms 2.0 ms, - -", table.concat(found, ", "))
  end)
end)
