-- What the page asks its server for, without a browser.
local cjson = require("cjson")
local run = require("support.run")

local unpack = table.unpack or unpack

describe("kstat.page", function()
  local dir

  setup(function() dir = run.directory() end)
  teardown(function() run.remove_directory(dir) end)

  -- What the page's answer of a name is, over a machine that has nothing but what a process published.
  local function answer(name, selector)
    local r = run.run({ "kstatlua", "-e", [[
      local core, page = require("kstat.core"), require("kstat.page")
      local pub = assert(kstat.publish("spec"))
      local h = assert(pub:histogram({ name = "h", type = "log2", range_max = 4 }))
      h:add_value(15)
      assert(pub:named({ name = "n", shards = 1, statistics = {
        { name = "c", kind = "counter", unit = "KiB", scale = 4, desc = "a \"b\"", value = 7 } } }))
      local ks = assert(kstat.open())
      local _, _, body = page.answer(ks, arg[1], arg[2] and { core.selector_of(arg[2]) } or {})
      io.write(tostring(body))
    ]], name, selector, env = { KSTAT_DIR = dir, KSTAT_PROC = dir, KSTAT_SYS = dir } })
    assert.equal("", r.err)
    return r.out
  end

  -- The one of a list that has this name.
  local function named(text, name)
    for _, k in ipairs(cjson.decode(text)) do
      if k.name == name then
        return k
      end
    end
  end

  it("lists kstats with who publishes them, and which are histograms", function()
    local list = answer("list.json")
    assert.same({ module = "spec", instance = 0, name = "n", class = "misc", type = "named", publisher = "spec",
      uid = tonumber(run.shell("id -u").out), histogram = false }, named(list, "n"))
    assert.is_true(named(list, "h").histogram)
  end)

  it("says what statistics mean, and where the buckets of histograms begin", function()
    local of_h = named(answer("meta.json", "spec:0:h"), "h")
    assert.same({ 0, 1, 2, 4, 8 }, { unpack(of_h.lows, 1, 5) })
    assert.same({ c = { kind = "counter", type = "count", unit = "KiB", scale = 4, description = 'a "b"' } },
      named(answer("meta.json", "spec:0:n:c"), "n").statistics)
  end)

  it("has the values, and no other parts", function()
    assert.equal(7, named(answer("kstat.json", "spec:0:n:c"), "n").data.c)
    assert.equal("nil", answer("else.json"))
  end)

  it("does not count the time for which others have the CPU as that of regular expressions", function()
    local r = run.run({ "kstatlua", "-e", [[
      local core, page = require("kstat.core"), require("kstat.page")
      local pub, ks, selectors = assert(kstat.publish("spec"))
      assert(pub:named({ name = ("a"):rep(25), statistics = { { name = "c" } } }))
      ks = assert(kstat.open())
      local pid = io.open("/proc/self/stat"):read("*a"):match("^%d+")
      local stopper = io.popen(("sleep 0.05; kill -STOP %d; sleep 0.3; kill -CONT %d"):format(pid, pid))
      local was_stopped, now = false, core.hrtime()
      repeat -- what a request does in 20 ms of its own, until this process was stopped meanwhile
        selectors = page.selectors({ "spec::/^.*.*.*[!,]$/:" })
        local used = os.clock()
        repeat
          local before = now
          ks:select(selectors[1])
          now = core.hrtime()
          was_stopped = was_stopped or now - before > 0.1
        until was_stopped or os.clock() - used > 0.02
      until was_stopped
      ks:select(selectors[1])
      print(page.trouble(selectors))
      stopper:close()
    ]], env = { KSTAT_DIR = dir, KSTAT_PROC = dir, KSTAT_SYS = dir } })
    assert.same({ "nil\n", "" }, { r.out, r.err })
  end)

  it("answers regular expressions of the whole hour as of one sample of it", function()
    local r = run.run({ "kstatlua", "-e", [[
      local page, past = require("kstat.page"), require("kstat.page.history").new()
      local pub = assert(kstat.publish("spec"))
      for i = 1, 150 do
        assert(pub:named({ name = "a" .. i .. ("b"):rep(20), statistics = { { name = "c" } } }))
      end
      local ks = assert(kstat.open())
      for i = 1, 300 do
        past:add(ks, {})
      end
      local texts = {}
      for i = 1, 8 do
        texts[i] = ("spec::/^a[^!]*" .. i .. "[^!]*b$/:/^[a-c]$/")
      end
      local selectors = assert(page.selectors(texts))
      local status, _, body = page.answer(ks, "history.json", selectors, { history = past })
      print(status, page.trouble(selectors), select(2, body:gsub("\30", "")) > 50)
    ]], env = { KSTAT_DIR = dir, KSTAT_PROC = dir, KSTAT_SYS = dir } })
    assert.same({ "200\tnil\ttrue\n", "" }, { r.out, r.err })
  end)

  it("has fewer samples of the past where all would be a large answer, also if much was published later", function()
    local r = run.run({ "kstatlua", "-e", [[
      local past = require("kstat.page.history").new()
      local pub, text = assert(kstat.publish("spec")), ("x"):rep(60000)
      local ks = assert(kstat.open({ everybody = true, only = "spec:0:n*" }))
      for i = 1, 40 do
        assert(pub:named({ name = "n" .. i, statistics = { { name = "t", type = "string", value = text } } }))
        past:add(ks, {})
      end
      io.write(past:json({}))
    ]], env = { KSTAT_DIR = dir } })
    assert.equal("", r.err)
    local samples = {}
    for line in r.out:gmatch("\30([^\30]+)") do samples[#samples + 1] = line end
    local times = cjson.decode(table.remove(samples, 1))
    assert.truthy(#r.out > 2e6 and #r.out < 6.1e6, #r.out)
    assert.equal(#samples, #times)
    for i, sample in ipairs(samples) do -- the sample with number n has n kstats
      assert.equal(16 * i, #cjson.decode(sample))
    end
  end)

  it("has the past as a server keeps it, a bounded part of an hour, and who uses most between two questions", function()
    local r = run.run({ "kstatlua", "-e", [[
      local history, busiest = require("kstat.page.history").new(), require("kstat.page.busiest").new()
      local pub = assert(kstat.publish("spec"))
      local record = assert(pub:named({ name = "n", shards = 1, statistics = {
        { name = "c", kind = "counter", value = 0 } } }))
      local ks = assert(kstat.open({ everybody = true, only = "spec:0:n" }))
      for i = 1, 3 do
        record:add("c", i)
        history:add(ks, {})
      end
      io.write(("[%s%s,%s,"):format(tostring(history:is_due()), history:json({ kstat.selector("spec:0:n:c") }):gsub(
        "\30", ","), (busiest:json())))
      require("kstat.core").wait(kstat.gethrtime() + 1e9)
      io.write((busiest:json()), "]")
    ]], env = { KSTAT_DIR = dir } })
    assert.equal("", r.err)
    local is_due, times, a, b, c, first, second = unpack(cjson.decode(r.out))
    assert.is_false(is_due)
    assert.equal(3, #times)
    assert.truthy(times[1] < times[2] and times[2] < times[3] and math.abs(times[1] - os.time()) < 60, times[1])
    assert.same({ 1, 3, 6 }, { a[1].data.c, b[1].data.c, c[1].data.c })
    assert.same({ processes = {}, cgroups = {}, gpus = {} }, first)
    assert.truthy(#second.processes > 2 and #second.processes <= 30, #second.processes)
    for i, process in ipairs(second.processes) do
      local before = second.processes[i - 1]
      assert.truthy(not before or before.cpu >= process.cpu, r.out)
      assert.truthy(process.pid > 0 and #process.user > 0 and process.memory >= 0 and #process.name > 0, r.out)
    end
  end)

  it("has GPUs of NVIDIA and of others with the same figures", function()
    run.shell(("mkdir -p %s/proc/driver/nvidia %s/sys/class/drm/card1/device/hwmon/hwmon0"):format(dir, dir))
    run.write_file(dir .. "/proc/uptime", "1000.00 1.00\n")
    run.write_file(dir .. "/sys/class/drm/card1/device/gpu_busy_percent", "7\n")
    run.write_file(dir .. "/sys/class/drm/card1/device/mem_info_vram_used", "1024\n")
    run.write_file(dir .. "/sys/class/drm/card1/device/mem_info_vram_total", "4096\n")
    run.write_file(dir .. "/sys/class/drm/card1/device/vendor", "0x1002\n")
    run.write_file(dir .. "/trouble", "")
    local script = 'io.write((require("kstat.page.busiest").new():json()))'
    local r = run.run({ "kstatlua", "-e", script, env = {
      KSTAT_DIR = dir, KSTAT_PROC = dir .. "/proc", KSTAT_SYS = dir .. "/sys",
      KSTAT_NVML = run.build .. "/spec/nvml_stub.so", NVML_STUB = dir .. "/trouble",
    } })
    assert.equal("", r.err)
    local by_name = {}
    for _, gpu in ipairs(cjson.decode(r.out).gpus) do
      by_name[gpu.name] = gpu
    end
    assert.same({ name = "gpu0", busy = 97, memory = 63795363840, total = 85899345920, power = 699, temperature = 64,
      throttle = "power cap, thermal" }, by_name.gpu0)
    assert.same({ 7, 1024, 4096 }, { by_name.card1.busy, by_name.card1.memory, by_name.card1.total })
  end)
end)
