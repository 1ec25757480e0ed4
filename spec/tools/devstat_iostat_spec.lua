-- scripts/devstat.lua: the output of FreeBSD's iostat, from captures.
local cjson = require("cjson")
local capture = require("support.devstat_capture")
local run = require("support.run")

local build = os.getenv("KSTAT_BUILD") or "build"

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local function quote(s)
  return "'" .. s:gsub("'", "'\\''") .. "'"
end

-- Runs the script on a capture: exit status, standard output, standard error.
local function iostat(path, args)
  local words = {}
  for i, a in ipairs(args) do words[i] = quote(a) end
  local out, err = os.tmpname(), os.tmpname()
  local pipe = assert(io.popen(("%s/bin/kstatlua -r %s scripts/devstat.lua %s >%s 2>%s; echo $?")
    :format(build, path, table.concat(words, " "), out, err)))
  local status = tonumber(pipe:read("*a"))
  pipe:close()
  local stdout, stderr = read(out), read(err)
  os.remove(out)
  os.remove(err)
  return status, stdout, stderr
end

local function with_capture(snapshots, use)
  local path = capture.write(snapshots)
  local ok, err = pcall(use, path)
  os.remove(path)
  if not ok then error(err, 0) end
end

-- A snapshot of devices that are described by a few numbers.
local function snapshot(uptime, devices)
  local s = { uptime = uptime, tty_nin = 0, tty_nout = 0, cp_time = { 1, 0, 1, 0, 8 }, devices = {} }
  for i, d in ipairs(devices) do
    local zero = { 0, "0" }
    s.devices[i] = {
      device_number = i, device_name = d.name, unit_number = d.unit or 0, device_type = 16,
      block_size = 512, start_count = d.queue or 0, end_count = 0,
      bytes = { "0", tostring(d.bytes or 0), "0", "0" },
      operations = { "0", tostring(d.ops or 0), "0", "0" },
      duration = { zero, { d.seconds or 0, "0" }, zero, zero },
      busy_time = { d.seconds or 0, "0" }, creation_time = d.created,
    }
  end
  return s
end

describe("devstat, the command", function()
  it("computes rates per second of reports that are half a second apart", function()
    with_capture({ snapshot(100, { { name = "da" } }),
      snapshot(100.5, { { name = "da", ops = 10, bytes = 10240, seconds = 0.25 } }) }, function(path)
      local status, out, err = iostat(path, { "-x", "-w", "0.5", "-c", "2", "da0" })
      assert.equal("", err)
      assert.equal(0, status)
      local fields = {}
      for word in out:match("\n(da0[^\n]*)\n$"):gmatch("%S+") do fields[#fields + 1] = word end
      -- With an interval below a second operations have a decimal.
      assert.same({ "da0", "20.0", "0.0", "20.0", "0.0" }, { fields[1], fields[2], fields[3], fields[4], fields[5] })
      assert.equal("50", fields[#fields])
    end)
  end)

  local v = cjson.decode(run.vector("devstat/iostat_text.json"))

  it("prints what iostat prints, byte for byte", function()
    local paths = {}
    for name, fixture in pairs(v.fixtures) do paths[name] = capture.write(fixture.snapshots) end
    local passed = 0
    for _, case in ipairs(v.cases) do
      local status, stdout, stderr = iostat(paths[case.fixture], case.args)
      local what = case.id .. ": iostat " .. table.concat(case.args, " ")
      assert.are.equal(case.stdout, stdout, what)
      assert.are.equal(case.stderr or "", (stderr:gsub("^devstat: ", "iostat: ")), what)
      assert.are.equal(case.exit, status, what)
      passed = passed + 1
    end
    for _, path in pairs(paths) do os.remove(path) end
    assert.are.equal(55, passed)
  end)

  it("never prints a number that is none", function()
    -- The same sample again: no time has passed, and nothing has moved.
    local still = snapshot(0, { { name = "da" } })
    with_capture({ still, still, still }, function(path)
      for _, args in ipairs({ {}, { "-x" }, { "-xI" }, { "-o" }, { "-oIK" }, { "-I" } }) do
        args[#args + 1] = "1"
        args[#args + 1] = "3"
        local status, stdout, stderr = iostat(path, args)
        assert.are.equal(0, status)
        assert.are.equal("", stderr)
        assert.matches("da0", stdout)
        assert.is_nil(stdout:lower():match("nan"))
        assert.is_nil(stdout:lower():match("inf"))
      end
    end)
  end)

  it("prints terminals a blank wider where -z leaves no line of a device", function()
    with_capture({ snapshot(10, { { name = "da" } }), snapshot(15, { { name = "da" } }) }, function(path)
      local _, idle = iostat(path, { "-xzT", "-c", "1" })
      assert.equal((" "):rep(52) .. "   0     0", idle:match("([^\n]*)\n$"))
      local _, shown = iostat(path, { "-xT", "-c", "1" })
      assert.equal("   0    0", shown:match("([^\n]*)\n$"):sub(-9))
    end)
  end)

  it("takes a counter that went back as one that stood still", function()
    with_capture({
      snapshot(100, { { name = "da", ops = 5000, bytes = 5120000, seconds = 9 } }),
      snapshot(101, { { name = "da", ops = 10, bytes = 10240, seconds = 1 } }),
    }, function(path)
      local _, stdout = iostat(path, { "-x", "1", "2" })
      assert.matches("da0        0%.0   0%.0     0%.0     0%.0    0   0%.0   0 \n$", stdout)
    end)
  end)

  it("compares each device with itself when one vanishes or appears", function()
    local a = { name = "da", unit = 0, ops = 1000, bytes = 1024000 }
    local b = { name = "da", unit = 1, ops = 50, bytes = 51200 }
    local b2 = { name = "da", unit = 1, ops = 150, bytes = 153600 }
    local c = { name = "da", unit = 2, ops = 10, bytes = 10240 }
    with_capture({ snapshot(100, { a, b }), snapshot(110, { b2, c }) }, function(path)
      local _, stdout = iostat(path, { "-x", "10", "2" })
      local second = stdout:match("\n.*\n(.-\n.-\n.-\n.-\n)$")
      assert.is_nil(second:match("da0"))
      assert.matches("da1       10%.0   0%.0    10%.0 ", second)
      -- It was there before anybody saw it: 10 reads in 110 s.
      assert.matches("da2        0%.1   0%.0     0%.1 ", second)
    end)
  end)

  -- The line of a device in the last report of a run.
  local function last_line(snapshots, name, ...)
    local args, line = { ... }, nil
    with_capture(snapshots, function(path)
      local status, stdout, stderr = iostat(path, args)
      assert.are.equal(0, status)
      assert.are.equal("", stderr)
      for found in stdout:gmatch("(" .. name .. " [^\n]*)") do line = found end
    end)
    return line
  end

  it("compares a device that was missing for a while with what it was then", function()
    local other = { name = "da", unit = 1 }
    local function da(ops, seconds, created)
      return { name = "da", ops = ops, bytes = ops * 1024, seconds = seconds, created = created }
    end
    for _, created in ipairs({ 0, 40 }) do
      local snapshots = {
        snapshot(100, { da(1000000, 50, created), other }), snapshot(101, { other }),
        snapshot(102, { da(1000020, 51, created), other }),
      }
      assert.matches("^da0       10%.0   0%.0    10%.0     0%.0    0  50%.0  50 $",
        last_line(snapshots, "da0", "-x", "1", "3"))
      assert.matches("^da0       +20%.0 ", last_line(snapshots, "da0", "-xI", "1", "3"))
      table.insert(snapshots, snapshot(103, { da(1000025, 51, created), other }))
      assert.matches("^da0        5%.0   0%.0     5%.0     0%.0    0   0%.0   0 $",
        last_line(snapshots, "da0", "-x", "1", "4"))
    end
  end)

  it("counts a device that is new from its creation, over the time since then", function()
    local other = { name = "da", unit = 1 }
    local function line(created, before)
      return last_line({ snapshot(100, { other, before }),
        snapshot(110, { other, { name = "da", ops = 40, bytes = 40960, created = created } }) },
        "da0", "-x", "10", "2")
    end
    assert.matches("^da0       10%.0 ", line(106))
    assert.matches("^da0       10%.0 ", line(106, { name = "da", ops = 7, created = 5 }))
    -- A creation that recent may be a discovery: 40 reads in the 10 s between the reports.
    assert.matches("^da0        4%.0 ", line(109.999))
    assert.matches("^da0        4%.0 ", line(110))
    -- Created before the first report, and not in it.
    assert.matches("^da0        1%.0 ", line(70))
    assert.matches("^da0        1%.0 ", line(70, { name = "da", ops = 7, created = 5 }))
  end)

  it("shows a dash for what the system does not count", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write("[" .. capture.kstat("sd", 0, "sda", "disk", 3, "5.000000000", {
      { "nread", "5120" }, { "nwritten", "0" }, { "reads", "5" }, { "writes", "0" },
      { "wtime", "0" }, { "wlentime", "0" }, { "wlastupdate", "0" }, { "rtime", "2500000000" },
      { "rlentime", "5000000000" }, { "rlastupdate", "0" }, { "wcnt", "0" }, { "rcnt", "2" },
    }) .. "]\n")
    file:close()
    local _, stdout = iostat(path, {})
    local _, extended = iostat(path, { "-x" })
    os.remove(path)
    assert.are.equal("       tty             sda             cpu\n" ..
      " tin  tout  KB/t tps  MB/s  us ni sy in id\n" ..
      "   -     -  1.00   1  0.00   -  -  -  -  -\n", stdout)
    -- Without the companion kstat the sum of the queue is the duration: 5 s for 5 reads.
    assert.matches("\nsda        1%.0   0%.0     1%.0     0%.0    2 1000%.0  50 \n$", extended)
  end)

  it("ends with a replay if there is no count", function()
    local one = snapshot(1, { { name = "da" } })
    with_capture({ one, snapshot(2, { { name = "da" } }) }, function(path)
      local status, stdout = iostat(path, { "-d", "-w", "1" })
      assert.are.equal(0, status)
      local _, lines = stdout:gsub("\n", "")
      assert.are.equal(4, lines)
    end)
  end)

  it("repeats the header after twenty lines", function()
    local many = {}
    for i = 1, 25 do many[i] = snapshot(i, { { name = "da" } }) end
    with_capture(many, function(path)
      local _, stdout = iostat(path, { "-d", "1", "25" })
      local _, headers = stdout:gsub("da0", "")
      assert.are.equal(2, headers)
    end)
  end)

  it("rejects what it cannot do with one line", function()
    with_capture({ snapshot(1, {}) }, function(path)
      for _, args in ipairs({ { "-c", "0" }, { "-w", "0" }, { "-M", "core" }, { "-t", "tape" }, { "-n", "abc" },
        { "-n", "" }, { "-n3x" }, { "-c", "2x" }, { "-w", "abc" }, { "-w." }, { "1x" }, { "1", "x" } }) do
        local status, stdout, stderr = iostat(path, args)
        assert.are.equal(1, status)
        assert.are.equal("", stdout)
        assert.matches("^devstat: [^\n]+\n$", stderr)
      end
      for what, args in pairs({ ["unknown option '-y'"] = { "-y" }, ["unknown option '-Z'"] = { "-xZ" },
        ["unknown option '--frobnicate'"] = { "--frobnicate" }, ["-c needs an argument"] = { "-c" },
        ["'x' is one word too many"] = { "1", "2", "x" } }) do
        local status, stdout, stderr = iostat(path, args)
        assert.are.equal(2, status)
        assert.are.equal("", stdout)
        assert.are.equal("devstat: " .. what .. "; 'kstatlua devstat --help' explains\n", stderr)
      end
    end)
  end)

  it("says which of two intervals and counts it takes: those at the end", function()
    with_capture({ snapshot(1, {}), snapshot(2, {}), snapshot(3, {}), snapshot(4, {}) }, function(path)
      local function lines(...)
        local status, stdout, stderr = iostat(path, { "-d", ... })
        assert.are.equal(0, status)
        return select(2, stdout:gsub("\n", "")) - 2, stderr
      end
      local wait = "devstat: -w 2 is not used, the interval is 1\n"
      local count = "devstat: -c 3 is not used, the count is 2\n"
      assert.are.same({ 2, wait .. count }, { lines("-w", "2", "-c", "3", "1", "2") })
      assert.are.same({ 2, count }, { lines("-c3", "1", "2") })
      assert.are.same({ 3, wait }, { lines("-c3", "-w2", "1") })
      assert.are.same({ 3, "" }, { lines("-c3", "1") })
      assert.are.same({ 2, "" }, { lines("1", "2") })
    end)
  end)

  it("cuts a name only where its column does not hold it, and keeps its unit", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    local kstats = {}
    for i, name in ipairs({ "vdisk_1", "mmcblk0boot0", "mmcblk0boot1", "nvme0n1", "nvme0n2", "abcdefghijklm10",
      "abcdefghijklm11", "abcdefghijklmnop1", "c12345678901234" }) do
      kstats[i] = capture.kstat("sd", i, name, "disk", 3, "5.000000000", {
        { "nread", "0" }, { "nwritten", "0" }, { "reads", "0" }, { "writes", "0" },
        { "wtime", "0" }, { "wlentime", "0" }, { "wlastupdate", "0" }, { "rtime", "0" },
        { "rlentime", "0" }, { "rlastupdate", "0" }, { "wcnt", "0" }, { "rcnt", "0" },
      })
    end
    file:write("[" .. table.concat(kstats, ",") .. "]\n")
    file:close()
    local function names(...)
      local _, stdout = iostat(path, { "-n", "10", ... })
      return stdout
    end
    local default, blocks, extended = names("-d"), names("-do"), names("-x")
    os.remove(path)
    local function one_line(list, width)
      local out = {}
      for i, name in ipairs(list) do out[i] = (" "):rep(width - #name) .. name .. " " end
      return table.concat(out)
    end
    assert.are.equal(one_line({ "mmcblk0boot0", "mmcblk0boot1", "nvme0n1", "nvme0n2", "vdisk_1",
      "abcdefghijklm10", "abcdefghijklm11", "abcdef", "c12345678901234" }, 16), default:match("^[^\n]*"))
    assert.are.equal(one_line({ "mmcblk0boot0", "mmcblk0boot1", "nvme0n1", "nvme0n2", "vdisk_1",
      "abcdefghij~10", "abcdefghij~11", "abcdef", "c~45678901234" }, 13), blocks:match("^[^\n]*"))
    local shown = {}
    for line in extended:gmatch("\n(.......[^e] )") do shown[#shown + 1] = line:match("%S+") end
    assert.are.same({ "device", "mmcblk~0", "mmcblk~1", "nvme0n1", "nvme0n2", "vdisk_1", "abcde~10",
      "abcde~11", "abcdefgh", "c~901234" }, shown)
  end)

  it("fails with one line where standard output is full", function()
    with_capture({ snapshot(1, {}) }, function(path)
      local pipe = assert(io.popen(("%s/bin/kstatlua -r %s scripts/devstat.lua 2>&1 >/dev/full; echo $?")
        :format(build, path)))
      local text = pipe:read("*a")
      pipe:close()
      assert.matches("^devstat: standard output: [^\n]+\n3\n$", text)
    end)
  end)

  it("fails with one line for a capture that is not there", function()
    local status, stdout, stderr = iostat("/nonexistent/capture", {})
    assert.are.equal(3, status)
    assert.are.equal("", stdout)
    assert.matches("^devstat: [^\n]*/nonexistent/capture[^\n]*\n$", stderr)
  end)

  it("has the figures of terminals and of CPUs side by side in JSON, each as it is alone", function()
    local function first(options)
      return cjson.decode(run.shell(("KSTAT_SOURCE=spec/vectors/kstat/host.jsonl %s/kstatlua devstat %s --json 5 1")
        :format(run.bin, options)).out:match("^[^\n]+"))
    end
    local both, terminals, cpus = first("-TC"), first("-T"), first("-C")
    for _, name in ipairs({ "tin", "tout" }) do assert.is_true(both[name] ~= nil and both[name] == terminals[name]) end
    for _, name in ipairs({ "us", "sy", "id" }) do assert.is_true(both[name] ~= nil and both[name] == cpus[name]) end
    assert.is_true(both["r/s"] ~= nil and both["r/s"] == first("-d")["r/s"])
  end)
end)
