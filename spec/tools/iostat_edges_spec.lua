-- The iostat command where the reference texts do not go: what comes and goes, is reset, damaged or missing.
local capture = require("support.capture")
local io_capture = require("support.io_capture")
local run = require("support.run")

local function disk(name, crtime, row)
  return io_capture.kstat({ instance = tonumber(name:match("%d+$")), name = name }, crtime, row)
end

local function iostat(samples, ...)
  local path = type(samples) == "string" and samples or capture.file(samples)
  local command = { "kstatlua", "-r", path, "iostat", ... }
  command.env = { KSTAT_REPLAY_TIME = "1700000000" }
  return run.run(command)
end

local function fields_of(text, device)
  local list = {}
  for line in text:gmatch("[^\n]+") do
    local fields = {}
    for field in line:gmatch("%S+") do fields[#fields + 1] = field end
    if fields[1] == device then list[#list + 1] = fields end
  end
  return list
end

local S = "000000000"

describe("iostat", function()
  teardown(capture.clean)

  it("says nothing of disks that come and go with -s", function()
    local one, two = disk("sd0", "0", { snaptime = "10" .. S }), disk("sd1", "0", { snaptime = "10" .. S })
    local samples = { { one }, { one, two }, { two } }
    local got = iostat(samples, "-x", "5")
    assert.truthy(got.out:find("<<disk added: sd1>>\n", 1, true))
    assert.truthy(got.out:find("<<disk removed: sd0>>\n", 1, true))
    assert.falsy(iostat(samples, "-xs", "5").out:find("<<", 1, true))
  end)

  it("counts a disk that was plugged in again since then, and says so", function()
    local got = iostat({
      { disk("sd0", "1" .. S, { snaptime = "10" .. S, reads = 1000 }) },
      { disk("sd0", "14" .. S, { snaptime = "15" .. S, reads = 7 }) },
    }, "-x", "5")
    assert.truthy(got.out:find("<<disk removed: sd0>>\n<<disk added: sd0>>\n", 1, true))
    assert.are.equal("7.0", fields_of(got.out, "sd0")[2][2])
  end)

  it("takes counters that went backwards for counters that stood still", function()
    local got = iostat({
      { disk("sd0", "0", { snaptime = "10" .. S, reads = 1000, nread = "1000000", rtime = "9" .. S,
        rlentime = "9" .. S }) },
      { disk("sd0", "0", { snaptime = "15" .. S, reads = 5, nread = "51200", rtime = "1" .. S,
        rlentime = "1" .. S }) },
    }, "-x", "5")
    assert.are.same({ "sd0", "0.0", "0.0", "0.0", "0.0", "0.0", "0.0", "0.0", "0", "0" },
      fields_of(got.out, "sd0")[2])
  end)

  it("stands no time going by", function()
    local k = disk("sd0", "0", { snaptime = "10" .. S, reads = 3 })
    local got = iostat({ { k }, { k } }, "-x", "5")
    assert.are.equal("0.0", fields_of(got.out, "sd0")[2][2])
    assert.falsy(got.out:find("nan"))
  end)

  it("prints counters up to their limits", function()
    local got = iostat({ { disk("sd0", "0", { snaptime = "1" .. S, reads = 4294967295, writes = 4294967295,
      nread = "18446744073709551615", nwritten = "18446744073709551615", rtime = "9223372036854775807",
      rlentime = "9223372036854775807" }) } }, "-xI")
    local fields = fields_of(got.out, "sd0")[1]
    assert.are.equal("4294967295.0", fields[2])
    assert.are.equal("18014398509481984.0", fields[4])
  end)

  it("has descriptive names for the two parts of a path", function()
    local function path(name, pretty)
      return io_capture.kstat({ module = "ssd", name = name, class = name:find("%.") and "iopath" or "disk" }, "0",
        { snaptime = "10" .. S, reads = 10 }),
        capture.kstat("ssd", 0, name .. ",dev", "device", 1, 0, 10, '"descriptive_name":"' .. pretty .. '"')
    end
    local a, b = path("ssd0", "c4t6d0")
    local c, d = path("ssd0.t2.fp0", "c4t6d0.t50aa.fp0")
    local out = iostat({ { a, b, c, d } }, "-Yn").out
    assert.truthy(out:find(" c4t6d0\n", 1, true))
    assert.truthy(out:find(" c4t6d0.t50aa\n", 1, true))
    assert.truthy(out:find(" c4t6d0.t50aa.fp0\n", 1, true))
    assert.truthy(iostat({ { a, b, c, d } }, "-Xn").out:find(" c4t6d0.fp0\n", 1, true))
  end)

  it("has terminals and CPUs in lines of their own above descriptive names", function()
    local out = iostat({ { disk("sd0", "0", { snaptime = "10" .. S }) } }, "-xntc").out
    assert.truthy(out:find("^   tty         cpu\n tin tout  us sy dt id\n[^\n]*\n +extended device statistics"))
  end)

  it("has terminals and CPUs from the first column where -z leaves no line of a device", function()
    local cpu = capture.kstat("cpu", 0, "sys", "misc", 1, "0", "10", '"cpu_ticks_idle":75,"cpu_ticks_user":25,' ..
      '"cpu_ticks_kernel":0,"cpu_ticks_wait":0,"rawch":3,"outch":5,"cpu_nsec_dtrace":0')
    local idle = { { disk("sd0", "0", { snaptime = "10" .. S }), cpu } }
    assert.equal("   3    5  25  0  0 75", iostat(idle, "-xtcz").out:match("([^\n]*)\n$"))
    assert.equal("3,5,25,0,0,75", iostat(idle, "-xtczr").out:match("([^\n]*)\n$"))
  end)

  it("shows named disks first, and others up to the limit", function()
    local list = {}
    for i = 0, 9 do list[#list + 1] = disk("sd" .. i, "0", { snaptime = "10" .. S }) end
    local out = iostat({ list }, "-d", "sd8", "nothing").out
    assert.are.equal("sd0 sd1 sd2 sd8", out:match("^%s*(.-)%s*\n"):gsub("%s+", " "), out)
    out = iostat({ list }, "-x", "nothing").out
    assert.are.equal(2, select(2, out:gsub("\n", "")))
    out = iostat({ list }, "-x", "-l", "3").out
    assert.are.equal(5, select(2, out:gsub("\n", "")))
  end)

  it("prints the head of the short form again after nineteen reports", function()
    local samples = {}
    for i = 1, 40 do samples[i] = { disk("sd0", "0", { snaptime = (10 + i) .. S }) } end
    local at, n = {}, 0
    for line in iostat(samples, "-d", "1").out:gmatch("[^\n]+") do
      if line:find("kps", 1, true) then at[#at + 1] = n else n = n + (line:find("sd0") and 0 or 1) end
    end
    assert.are.same({ 0, 19, 38 }, at)
    assert.are.equal(1, select(2, iostat(samples, "-dr", "1").out:gsub("kps", "")))
  end)

  it("ends with 3 where a capture is damaged, after what could be read", function()
    local path = capture.file({ { disk("sd0", "0", { snaptime = "10" .. S, reads = 20 }) } })
    run.write_file(path, run.read_file(path) .. '[{"module":"sd",')
    local got = iostat(path, "-x", "1")
    assert.are.equal(3, got.status)
    assert.are.equal("2.0", fields_of(got.out, "sd0")[1][2])
    assert.truthy(got.err:find("^iostat: [^\n]+\n$"))
  end)

  it("takes a fraction of a second, and nothing that is no time", function()
    local k = { disk("sd0", "0", { snaptime = "10" .. S }) }
    assert.are.equal(0, iostat({ k, k }, "-x", "0.5", "2").status)
    for _, words in ipairs({ { "0" }, { "5x" }, { "5", "1.5" }, { "5", "0" }, { "1e999" } }) do
      local got = iostat({ k }, "-x", words[1], words[2])
      assert.are.equal(2, got.status, words[1])
      assert.truthy(got.err:find("^iostat: invalid "), words[1])
    end
  end)

  it("explains every wrong option in one line and the usage", function()
    local k = { disk("sd0", "0", { snaptime = "10" .. S }) }
    for _, words in ipairs({ { "-T" }, { "-T", "x" }, { "-l" }, { "-l", "many" }, { "--nonsense" }, { "-X", "-Y" } }) do
      local got = iostat({ k }, words[1], words[2])
      assert.are.equal(2, got.status, words[1])
      assert.truthy(got.err:find("^iostat: [^\n]+\nusage: iostat [^\n]+\n$"), got.err)
    end
  end)
end)
