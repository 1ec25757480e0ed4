-- Replays of captures and recordings: where they end, what time it is in them, what damage costs.
local capture = require("support.capture")
local kstat = require("kstat")
local run = require("support.run")

local dir
local unpack = table.unpack or rawget(_G, "unpack")
local MAGIC = "kstat-recording\n"

local function shell(words, ...)
  return run.shell(words:format(...))
end

local function u32(n)
  return string.char(n % 256, math.floor(n / 256) % 256, math.floor(n / 65536) % 256, math.floor(n / 16777216) % 256)
end

-- A keyframe of the time 0 with this payload and the checksum that belongs to it, which gzip computes.
local function keyframe(payload)
  local head = "KSK1" .. u32(#payload) .. ("\0"):rep(8)
  run.write_file(dir .. "/plain", head .. payload)
  shell("gzip -nc %s/plain | tail -c 8 | head -c 4 > %s/crc", dir, dir)
  return head .. run.read_file(dir .. "/crc") .. payload
end

-- A capture of samples with these times of day; the value is the number of the sample.
local function dated(times)
  local path, text = dir .. "/capture", {}
  for i, time in ipairs(times) do
    text[i] = ("%d\n[%s]\n"):format(time, capture.named("a", 1, 100 + i, ('"n":%d'):format(i)))
  end
  run.write_file(path, table.concat(text))
  return path
end

local function command(...)
  return run.run({ "kstat", "-p", ... })
end

describe("a replay", function()
  before_each(function()
    dir = os.tmpname()
    os.remove(dir)
    assert(os.execute("mkdir " .. dir))
  end)
  after_each(function()
    os.execute("rm -rf " .. dir)
    capture.clean()
  end)

  it("lacks the members of structures that the machine does not count, and is whole for programs in C", function()
    local tree, what = run.tree_words("small"), "cpu_stat unix:0:/^(sysinfo|var)$/"
    local live = shell("%s %s/kstat -p %s", tree, run.bin, what).out
    shell("%s %s/kstat -j cpu_stat unix >%s/json && %s %s/kstatlua record -o %s/rec 1 1", tree, run.bin, dir, tree,
      run.bin, dir)
    assert.is_nil(live:find("syscall", 1, true))
    for _, file in ipairs({ "json", "rec" }) do
      assert.equal(live, shell("%s/kstat -p -r %s/%s %s", run.bin, dir, file, what).out)
      assert.equal(shell("%s %s/spec/raw_structures", tree, run.build).out,
        shell("KSTAT_SOURCE=%s/%s %s/spec/raw_structures", dir, file, run.build).out)
    end
    shell("%s/kstatlua record -o %s/again -r %s/json 1 1", run.bin, dir, dir)
    assert.equal(live, shell("%s/kstat -p -r %s/again %s", run.bin, dir, what).out)
  end)

  it("ends at its last sample, whatever the count is", function()
    local file = dated({ 100, 110, 120 })
    local all = "app:0:a:n\t1\n\napp:0:a:n\t2\n\napp:0:a:n\t3\n"
    assert.equals(all, command("-r", file, ":::n", "10", "360").out)
    assert.equals(all, command("-r", file, ":::n", "10").out)
    local r = run.run({ "kstatlua", "-r", "spec/vectors/kstat/host.jsonl", "vmstat", "10", "360" })
    local _, lines = r.out:gsub("\n", "")
    assert.same({ 5, "", 0 }, { lines, r.err, r.status })
  end)

  it("has the times of its snaptimes where it has none of its own, rounded where whole seconds are shown", function()
    local file = capture.file({ { capture.named("a", 1, 100, "") }, { capture.named("a", 1, 104.6, "") },
      { capture.named("a", 1, 105.4, "") } })
    local env = { KSTAT_REPLAY_TIME = "1700000000" }
    local r = run.run({ "kstat", "-T", "u", "-lr", file, ":::crtime", "60", env = env })
    assert.equals("1700000000\napp:0:a:crtime\n\n1700000005\napp:0:a:crtime\n\n1700000005\napp:0:a:crtime\n", r.out)
  end)

  it("finds every sample of a time, though the clock was set back", function()
    local file = dated({ 100, 200, 50, 60, 150 })
    shell("%s/bin/kstatlua convert -o %s/r %s", run.build, dir, file)
    for _, name in ipairs({ file, dir .. "/r" }) do
      local r = run.run({ "kstat", "-pr", name, ":::n", "1", env = { KSTAT_FROM = "55", KSTAT_TO = "150" } })
      assert.equals("app:0:a:n\t1\n\napp:0:a:n\t4\n\napp:0:a:n\t5\n", r.out, name)
    end
  end)

  it("keeps the digits of times, however long the machine has run", function()
    for _, time in ipairs({ "9007199.254740993", "123456789.123456789", "9223372036.854775807" }) do
      local file = capture.file({ { capture.named("a", time, time, "") } })
      assert.equals(("app:0:a:crtime\t%s\napp:0:a:snaptime\t%s\n"):format(time, time),
        command("-r", file, ":::/time/").out)
    end
  end)

  it("says that what it showed is gone after a sample that is damaged", function()
    shell("%s/bin/kstatlua convert -o %s/r %s", run.build, dir, dated({ 100 }))
    run.write_file(dir .. "/bad", run.read_file(dir .. "/r") .. keyframe("\7\7\7\7\7\7"))
    local ks = assert(kstat.open(dir .. "/bad"))
    local k = ks:lookup("app", 0, "a")
    assert.equals(1, k:get("n"))
    local changed, message = ks:update()
    assert.is_nil(changed)
    assert.matches("damaged at byte %d+, after 1 whole sample$", message)
    local _
    _, message = k:read()
    assert.matches("the sample has no app:0:a$", message)
    ks:close()
  end)

  it("looks at a tail of what could be frames no longer than a few seconds", function()
    shell("%s/bin/kstatlua convert -o %s/r %s", run.build, dir, dated({ 100 }))
    local tail = {}
    for i = 1, 50000 do
      tail[i] = "KSD1" .. u32(20 * (50000 - i) + (i == 1 and 100 or 0)) .. ("\1"):rep(12)
    end
    run.write_file(dir .. "/bad", run.read_file(dir .. "/r") .. table.concat(tail))
    local r = shell("timeout 5 %s/bin/kstat -pr %s/bad :::n 1", run.build, dir)
    assert.equals("app:0:a:n\t1\n", r.out)
    assert.matches("/bad: damaged at byte %d+, after 1 whole sample\n$", r.err)
  end)

  describe("has samples of at most KSTAT_SAMPLE_MAX megabytes", function()
    local function limited(file, most)
      return run.run({ "kstat", "-qr", file, env = { KSTAT_SAMPLE_MAX = most } })
    end

    it("in captures", function()
      local list = {}
      for i = 1, 15000 do
        list[i] = capture.named("a" .. i, 1, 2, '"n":1')
      end
      local file = capture.file({ list })
      local r = limited(file, "1")
      assert.matches("^kstat: [^\n]*: sample 1, byte %d+: a sample is larger than KSTAT_SAMPLE_MAX allows\n$", r.err)
      assert.equals(3, r.status)
      assert.equals(0, limited(file, "10").status)
      run.write_file(file, "[" .. capture.named("a", 1, 2, '"n":[' .. ("1,"):rep(200000) .. "1]") .. "]")
      assert.equals(3, limited(file, "1").status)
      assert.equals(0, limited(file, "10").status)
    end)

    it("in recordings", function()
      shell("head -c 3000000 /dev/zero | gzip -nc | tail -c +11 > %s/payload", dir)
      run.write_file(dir .. "/r", MAGIC .. keyframe(run.read_file(dir .. "/payload")))
      local r = limited(dir .. "/r", "1")
      assert.matches(": a sample is larger than KSTAT_SAMPLE_MAX allows at byte 16, after 0 whole samples\n$", r.err)
      assert.equals(3, r.status)
      assert.matches("/r: damaged at byte 16", limited(dir .. "/r", "10").err)
    end)

    it("which is a number", function()
      local r = limited(dated({ 100 }), "1G")
      assert.equals("kstat: KSTAT_SAMPLE_MAX: '1G' is not a number of megabytes\n", r.err)
    end)
  end)

  describe("of a recording", function()
    local selectors = { "unix:0:system_misc", "unix:0:meminfo", "cpu_info", "disk", "link", "ip" }

    it("knows kinds, units and descriptions", function()
      shell("%s/bin/kstatlua record -o %s/r %s 0.01 2", run.build, dir, table.concat(selectors, " "))
      shell("%s/bin/kstatlua convert -o %s/again %s/r", run.build, dir, dir)
      local live = run.run({ "kstat", "-d", unpack(selectors) }).out
      assert.is_true(#live > 3000)
      for _, file in ipairs({ "r", "again" }) do
        assert.equals(live, run.run({ "kstat", "-dr", dir .. "/" .. file, unpack(selectors) }).out)
        local rate = command("--rate", "-r", dir .. "/" .. file, "unix:0:meminfo:MemTotal", "1").out
        assert.equals(rate:match("^[^\n]*\n"), rate:match("[^\n]*\n$"))
        assert.not_matches("MemTotal\t0\n", rate)
      end
    end)

    it("reads those of version 1, and continues them", function()
      local old = ("6b737461742d7265636f7264696e670a4b534b312e00000000e8764817000000306af28b6a58b0" ..
        "bdfd256bc389f50b5419181899130b0a1818135972338b9319191a565cdbc9cec8c298c7c0c4c8" ..
        "c4c400004b5344310f00000000cc829c190000000cc15abe6a9870ff8017986060606062610000")
      old = old:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end)
      run.write_file(dir .. "/r", old)
      assert.equals("app:0:a:n\t1\n\napp:0:a:n\t3\n", command("-r", dir .. "/r", ":::n", "1").out)
      assert.equals("app:0:a:n\t?\t?\t?\n", run.run({ "kstat", "-dr", dir .. "/r", ":::n" }).out)
      shell("%s/bin/kstatlua record -o %s/r unix:0:system_misc:nproc 0.01 1", run.build, dir)
      local r = run.run({ "kstat", "-dr", dir .. "/r", ":::/^n/", "1" })
      assert.matches("^app:0:a:n\t%?\t%?\t%?\n\napp:0:a:n\t%?\t%?\t%?\n\n", r.out)
      assert.matches("unix:0:system_misc:nproc\tgauge\t%-\tprocesses that exist\n", r.out)
    end)
  end)

  it("can be recorded at once behind a recorder that was killed", function()
    local file = dated({ 100 })
    shell("%s/bin/kstatlua convert -o %s/r %s", run.build, dir, file)
    -- The lock of a dead recorder lasts until the kernel has cleared it away: here until the other one waits for it.
    local r = shell("mkfifo %s/held; flock %s/r sh -c 'echo >%s/held; sleep 0.3' & read -r _ <%s/held; " ..
      "%s/bin/kstatlua convert -o %s/r %s; echo $?; wait", dir, dir, dir, dir, run.build, dir, file)
    assert.same({ "0\n", "" }, { r.out, r.err })
  end)
end)
