-- The past: times as people type them, and files and directories as one stream of samples.
local run = require("support.run")

local unpack = table.unpack or rawget(_G, "unpack")
local MIDNIGHT = 1795219200 -- Saturday, 2026-11-21 in UTC
local dir

-- The text of a capture of the machine `host` that was started at a time, with samples from one time to another: `n`
-- counts 10 a second, and `at` is the time of day.
local function capture(host, started, from, to, step)
  local out = {}
  for time = from, to, step do
    local up = time - started
    local function kstat(module, name, data)
      return ('{"module":"%s","instance":0,"name":"%s","class":"misc","type":1,"snaptime":%.2f,"data":{"crtime":1,' ..
        '"snaptime":%.2f,%s}}'):format(module, name, up, up, data)
    end
    out[#out + 1] = ("%.2f\n[%s,%s,%s]\n"):format(time, kstat("app", "a", ('"n":%.0f,"at":%.0f'):format(10 * up, time)),
      kstat("unix", "os", ('"nodename":"%s"'):format(host)),
      kstat("unix", "system_misc", ('"boot_time":%d'):format(started)))
  end
  return table.concat(out)
end

-- Writes such samples, times being seconds of the day, to a recording.
local function record(name, from, to, more)
  more = more or {}
  local text = capture(more.host or "alpha", MIDNIGHT + (more.started or -5000), MIDNIGHT + from, MIDNIGHT + to,
    more.step or 10)
  run.write_file(dir .. "/capture", text)
  local r = run.run({ "kstatlua", "convert", "-o", dir .. "/" .. name, dir .. "/capture" })
  assert.same({ "", 0 }, { r.err, r.status })
  os.remove(dir .. "/capture")
end

local function kstat(options, env)
  env = env or {}
  env.TZ = env.TZ or "UTC"
  local words = { "kstat", "-p", "app:::at", unpack(options) }
  words.env = env
  return run.run(words)
end

-- The seconds of the day that are shown; and standard error and the status.
local function times(...)
  local r = kstat({ "-r", dir, ... })
  local list = {}
  for time in r.out:gmatch("at\t(%d+)") do
    list[#list + 1] = tonumber(time) - MIDNIGHT
  end
  return list, r.err:gsub("kstat: ", ""), r.status
end

local function hour(h, m, s)
  return 3600 * h + 60 * (m or 0) + (s or 0)
end

describe("the past", function()
  before_each(function()
    dir = run.directory()
  end)
  after_each(function()
    run.remove_directory(dir)
  end)

  describe("has times", function()
    before_each(function()
      record("two-days.rec", hour(-30), hour(14, 40), { step = 600, started = hour(-200) })
    end)

    it("in the forms that people use, which count from the last sample", function()
      for text, at in pairs({
        ["14:32"] = hour(14, 30), ["14:30:00"] = hour(14, 30), ["14:29:59"] = hour(14, 20), ["18:00"] = hour(-6),
        today = 0, yesterday = hour(-24), ["yesterday 3:12"] = hour(-24 + 3, 10), ["today 3:12"] = hour(3, 10),
        ["-3h"] = hour(11, 40), ["-90s"] = hour(14, 30), ["-1h30m"] = hour(13, 10), ["-1d"] = hour(14 - 24, 40),
        ["sat 9:00"] = hour(9), ["Saturday"] = 0, ["fri 9:00"] = hour(9 - 24), ["2026-11-21 14:05"] = hour(14),
        ["2026-11-21T14:05:59"] = hour(14), ["2026-11-21"] = 0, [tostring(MIDNIGHT + 700)] = 600,
      }) do
        local shown, err, status = times("--at", text)
        assert.same({ { at }, "", 0 }, { shown, err, status }, text)
      end
    end)

    it("in the zone of TZ", function()
      local r = kstat({ "-r", dir, "--at", "today 3:30" }, { TZ = "Europe/Berlin" })
      assert.equal(("app:0:a:at\t%d\n"):format(MIDNIGHT + hour(2, 30)), r.out)
    end)

    it("of which --from and --to are bounds", function()
      assert.same({ hour(14, 20), hour(14, 30) }, (times("--from", "14:15", "--to", "-5m", "1")))
      assert.same({ hour(14, 30), hour(14, 40) }, (times("--from", "14:30", "--to", "14:50", "1")))
      local _, err, status = times("--from", "-5m", "--to", "-1m")
      assert.same({ dir .. ": no sample from -5m to -1m\n", 3 }, { err, status })
    end)

    it("or says what a text comes nearest to", function()
      for text, nearest in pairs({ ["25:00"] = "14:32", ["yesterdy 3:12"] = "yesterday 3:12", ["14:32:1O"] = "14:32:10",
        ["-3hours"] = "-3h", ["2026/11/21"] = "2026-11-21", ["2026-02-30"] = "2026-11-21", ["mon 9"] = "mon 9:00",
        ["2026-11-21 24:05"] = "2026-11-21 14:05", tody = "today" }) do
        for _, option in ipairs({ "--at", "--from", "--to" }) do
          local _, err, status = times(option, text)
          assert.same({ ("'%s' is not a time such as '%s'\n"):format(text, nearest), 2 }, { err, status })
        end
      end
    end)

    it("in the environment, too, also for programs in C and scripts", function()
      local env = { KSTAT_SOURCE = dir, KSTAT_AT = "14:32" }
      assert.equal(("app:0:a:at\t%d\n"):format(MIDNIGHT + hour(14, 30)), kstat({}, env).out)
      local r = run.run({ "kstatlua", "-e", [[for now, prev in kstat.every({ 1 }) do
        print((now - prev):rate("app:::n"), math.floor(now.time_of_day - prev.time_of_day + 0.5)) end]], env = env })
      assert.equal("10.0\t600\n", r.out)
      env.KSTAT_AT = "noon"
      assert.equal("kstat: KSTAT_AT: 'noon' is not a time such as 'today'\n", kstat({}, env).err)
    end)
  end)

  it("has a time twice or never where clocks were changed for the summer", function()
    local october, march = 1792891500, 1774747500 -- 1:25 in UTC, 2026-10-25 and 2026-03-29
    for start, expected in pairs({
      [october] = { "2:30", october - 3300, "was there twice, because clocks were set back: this is the first one" },
      [march] = { "2:30", march - 1500,
        "was never there, because clocks were set forward: this is 2026-03-29 03:00:00" },
    }) do
      run.write_file(dir .. "/capture", capture("alpha", start - 9000, start - 4500, start + 600, 300))
      local r = kstat({ "-r", dir .. "/capture", "--at", expected[1] }, { TZ = "Europe/Berlin" })
      assert.equal(("kstat: '%s' %s\n"):format(expected[1], expected[3]), r.err)
      assert.equal(("app:0:a:at\t%d\n"):format(expected[2]), r.out)
    end
  end)

  describe("has one interval that ends at a time", function()
    it("or the seconds of the interval that end there", function()
      record("a.rec", hour(9), hour(10))
      local at = tostring(MIDNIGHT + hour(9, 30, 5))
      local r = run.run({ "kstatlua", "-r", dir, "--at", at, "-e",
        "for now, prev in kstat.every({ 60 }) do " ..
      "print(math.floor(now.time_of_day - prev.time_of_day + 0.5), math.floor(now.time_of_day)) end" })
      assert.equal(("10\t%d\n"):format(MIDNIGHT + hour(9, 30)), r.out)
      r = run.run({ "kstatlua", "-e", [[local ks = assert(kstat.open({ capture = arg[1], at = arg[2], interval = 60 }))
        local before = ks:clock() ks:update() print(ks:clock() - before, ks:is_interval(), ks:update(), ks:ended())]],
        dir, at })
      assert.equal("60\ttrue\tfalse\ttrue\n", r.out)
      r = run.run({ "kstat", "--rate", "-p", "-r", dir, "--at", at, "app:::n", "60" })
      assert.same({ "app:0:a:n\t10\n", "", 0 }, { r.out, r.err, r.status })
      r = run.run({ "kstatlua", "-r", dir, "--at", at, "vmstat", "7200" })
      assert.matches("^vmstat: no interval of 7200 s ends at ", r.err)
      r = run.run({ "kstatlua", "-r", dir, "vmstat", "10", "6", env = { KSTAT_AT = at } })
      assert.same({ "vmstat: --at is the end of one interval, which has no count; --from and --to bound many\n", 2 },
        { r.err, r.status })
    end)

    it("also for those that have an interval of their own", function()
      record("a.rec", 0, 0.75, { step = 0.25 })
      for _, command in ipairs({ "prstat", "intrstat", "devstat" }) do
        assert.is_nil(run.run({ "kstatlua", command, "-r", dir, "--at", "-0s" }).err:find("no interval"), command)
      end
    end)

    it("and none in a gap, which says from when to when", function()
      record("a.rec", hour(9), hour(10))
      record("b.rec", hour(11), hour(12))
      record("c.rec", hour(14), hour(15), { started = hour(13) })
      local gap = "nothing was recorded from 2026-11-21 10:00:00 to 2026-11-21 11:00:00\n"
      for _, options in ipairs({ { "10:30" }, { "11:00:09" }, { "11:01", "300" } }) do
        local shown, err, status = times("--at", unpack(options))
        assert.same({ {}, gap, 1 }, { shown, err, status })
      end
      local _, err, status = times("--at", "2026-11-21 14:00:05")
      assert.same({ "nothing was recorded from 2026-11-21 12:00:00 to 2026-11-21 14:00:00\n", 1 }, { err, status })
      assert.same({ hour(10) }, (times("--at", "10:00:05")))
      for _, time in ipairs({ "2026-11-21 8:00", "2026-11-21 9:00:05", "2026-11-22" }) do
        _, err, status = times("--at", time)
        assert.matches("^no interval ends at 2026[%d: -]+: samples are from 2026%-11%-21 09:00:00 to " ..
          "2026%-11%-21 15:00:00\n$", err)
        assert.equal(1, status)
      end
    end)

    it("also where the recorder was late", function()
      record("a.rec", 0, 60, { step = 1 })
      record("b.rec", 65, 120, { step = 1 })
      for time, at in pairs({ ["0:01:03"] = 60, ["0:01:05"] = 65 }) do
        assert.same({ { at }, "", 0 }, { times("--at", time) })
      end
      assert.same({ { 70 }, "", 0 }, { times("--at", "0:01:10", "30") })
    end)

    it("for each command, where the first lines of others are since boot", function()
      local file = "spec/vectors/cookbook/before.rec"
      local last = run.run({ "kstatlua", "-r", file, "-e",
        "local ks, c = kstat.open() repeat c = ks:clock() ks:update() until ks:ended() print(c)" }).out:match("%d+")
      local both = run.run({ "kstatlua", "convert", "--at", last, file, "unix:0:system_misc:nproc" }).out
      assert.equal(2, select(2, both:gsub("nproc", "")))
      for _, command in ipairs({ "vmstat", "mpstat", "iostat -xy", "devstat -x", "nicstat", "fsstat", "intrstat",
        "top --csv", "use", "arcstat" }) do
        local words = {}
        for word in command:gmatch("%S+") do
          words[#words + 1] = word
        end
        local function last_line(text)
          return text:match("[^\n]+\n$"):gsub(" +", " ")
        end
        local function show(...)
          local r = run.run({ "kstatlua", "-r", file, words[1], words[2] or "--color=never", ... })
          return r.out, r.status
        end
        local one, status = show("--at", last)
        local all = show("1")
        assert.equal(0, status, command)
        assert.is_true(#one > 0 and #one < #all, command)
        assert.equal((last_line(one)), (last_line(all)), command)
      end
    end)

    it("also of samples that come several times a second", function()
      record("a.rec", 0, 9.75, { step = 0.25 })
      local r = run.run({ "kstatlua", "-r", dir, "--at", "-0s", "-e",
        "for now, prev in kstat.every({ 1 }) do io.write(('%.2f'):format(now.time_of_day - prev.time_of_day)) end" })
      assert.same({ "0.25", "", 0 }, { r.out, r.err, r.status })
    end)

    it("and takes no count and no other bounds", function()
      record("a.rec", hour(9), hour(9, 1))
      for _, options in ipairs({ { "--from", "9:00" }, { "10", "6" } }) do
        local _, err, status = times("--at", "9:01", unpack(options))
        assert.equal(2, status)
        assert.matches("^%-%-at is the end of one interval, [^\n]+\n$", err)
      end
    end)
  end)

  describe("is one stream of files", function()
    it("in the order of time, whatever they are called, and what two have is read once", function()
      record("b.rec", 0, 100)
      record("a.rec", 60, 200)
      record("c.rec", 80, 120)
      local expected = {}
      for time = 0, 200, 10 do
        expected[#expected + 1] = time
      end
      local shown, err, status = times("1")
      assert.same({ expected, "", 0 }, { shown, err, status })
      local _, rates = run.run({ "kstat", "--rate", "-p", "-r", dir, "app:::n", "10" }).out:gsub("n\t10\n", "")
      assert.equal(20, rates)
      local r = kstat({ "-r", dir .. "/a.rec", "-r", dir .. "/b.rec", "1" })
      assert.equal(kstat({ "-r", dir, "1" }).out, r.out)
      local words = { "kstatlua", "-r", dir .. "/a.rec", "-r", dir .. "/b.rec", "kstat", "-p", "app:::at", "1" }
      assert.equal(r.out, run.run(words).out)
      assert.equal(r.out, kstat({ "1" }, { KSTAT_RECORDINGS = dir, KSTAT_FROM = tostring(MIDNIGHT) }).out)
    end)

    it("which can be gone through in any order", function()
      record("a.rec", 0, 100)
      record("b.rec", 90, 200)
      local r = run.run({ "kstatlua", "-r", dir, "-e", ([[
        local ks = kstat.open()
        local function show() io.write(ks:clock() - %d, " ") end
        for _, time in ipairs({ 105, 33, 190, 101 }) do assert(ks:seek(%d + time) ~= nil) show() end
        for _ = 1, 2 do assert(ks:previous() ~= nil) show() end
        for _ = 1, 3 do assert(ks:update() ~= nil) show() end
        print(select(3, ks:seek(0)))]]):format(MIDNIGHT, MIDNIGHT) })
      assert.same({ "100 30 190 100 90 80 90 100 110 ENODATA\n", "" }, { r.out, r.err })
    end)

    it("where one lies within another", function()
      record("a.rec", 0, 1000)
      record("b.rec", 200, 300)
      record("c.rec", 1010, 1100)
      for _, time in ipairs({ 100, 250, 500, 1010 }) do
        assert.same({ time }, (times("--at", tostring(MIDNIGHT + time))))
      end
      local r = run.run({ "kstatlua", "-r", dir, "-e", ([[
        local ks = kstat.open()
        local function show() io.write(ks:clock() - %d, " ") end
        assert(ks:seek(%d + 505) ~= nil) show()
        assert(ks:seek(%d + 300) ~= nil) show()
        assert(ks:update() ~= nil) show()
        assert(ks:seek(%d + 1010) ~= nil and ks:previous() ~= nil) show()]]):gsub("%%d", MIDNIGHT) })
      assert.same({ "500 300 310 1000 ", "" }, { r.out, r.err })
    end)

    it("without a difference across a start of the machine", function()
      record("a.rec", 0, 100)
      record("b.rec", 120, 220, { started = 110 })
      local r = run.run({ "kstat", "--rate", "-p", "-r", dir, "app:::n", "10" })
      local _, rates = r.out:gsub("app:0:a:n\t10\n", "")
      assert.equal(10 + 10, rates) -- the first one is since creation
      assert.matches("started again\n$", r.err)
      r = run.run({ "kstatlua", "-r", dir, "-e", [[
        local n, ks = 0, kstat.open()
        for now, prev in kstat.every({ 1 }) do n = n + (prev and 0 or 1) end io.write(n, " ")
        while ks:update() ~= nil and not ks:ended() do io.write(ks:is_cut() and ks:clock() or "") end]] })
      assert.equal(("2 %d"):format(MIDNIGHT + 120), r.out)
    end)

    it("of one machine, which --host chooses", function()
      record("a.rec", 0, 100)
      record("b.rec", 200, 220, { host = "beta" })
      local _, err, status = times("1")
      assert.equal(3, status)
      assert.equal(("%s/a.rec is of the machine alpha, and %s/b.rec of beta: --host chooses one, "):format(dir, dir) ..
        "and kstatlua convert joins them\n", err)
      assert.same({ 200, 210, 220 }, (times("--host", "beta", "1")))
      _, err, status = times("--host", "gamma")
      assert.same({ 2, "there is no machine 'gamma' here, but alpha\n" }, { status, err })
      local r = kstat({ "-r", dir .. "/b.rec", "--host", "alpha" })
      assert.same({ 2, "kstat: there is no machine 'alpha' here, but beta\n" }, { r.status, r.err })
    end)

    it("also where another one's file comes later", function()
      record("b.rec", 0, 20)
      record("other", 30, 50, { host = "beta" })
      assert(os.rename(dir .. "/other", dir .. "/../other"))
      local r = run.run({ "kstatlua", "-r", dir, "-e", [[
        local ks = kstat.open() repeat ks:update() until ks:ended()
        assert(os.rename(arg[1] .. "/../other", arg[1] .. "/c.rec"))
        print(select(2, ks:update())) print(select(3, ks:update()))]], dir })
      local line = ("%s/b.rec is of the machine alpha, and %s/c.rec of beta: --host chooses one, "):format(dir, dir) ..
        "and kstatlua convert joins them\tEINVAL\nEINVAL\n"
      assert.same({ line, "" }, { r.out, r.err })
    end)

    it("that goes on where a recorder goes on, also in a new file", function()
      record("a.rec", 0, 20)
      run.write_file(dir .. "/more", capture("alpha", MIDNIGHT - 5000, MIDNIGHT + 30, MIDNIGHT + 40, 10))
      run.write_file(dir .. "/new", capture("alpha", MIDNIGHT - 5000, MIDNIGHT + 50, MIDNIGHT + 60, 10))
      local r = run.run({ "kstatlua", "-r", dir, "-e", ([[
        local ks = kstat.open()
        local function rest()
          while ks:update() ~= nil and not ks:ended() do io.write(ks:clock() - %d, " ") end
        end
        local function convert(from, to)
          assert(os.execute(("%%s/kstatlua convert -o %%s/%%s %%s/%%s"):format(arg[1], arg[2], to, arg[2], from)))
        end
        rest() convert("more", "a.rec") rest() convert("new", "0.rec") rest()]]):format(MIDNIGHT), run.bin, dir })
      assert.same({ "10 20 30 40 50 60 ", "" }, { r.out, r.err })
    end)

    it("from which what cannot be read is left out, with a line", function()
      record("a.rec", 0, 50)
      record("b.rec", 60, 200)
      record("c.rec", 210, 230)
      local bytes = run.read_file(dir .. "/b.rec")
      run.write_file(dir .. "/b.rec", bytes:sub(1, #bytes - 300) .. "x" .. bytes:sub(#bytes - 298))
      run.write_file(dir .. "/d.rec", "nothing")
      run.write_file(dir .. "/e.rec", "")
      run.write_file(dir .. "/notes", "of people")
      run.shell(("cd %s && mkfifo f.rec && ln -s loop loop && ln -s . again && ln -s nowhere g.rec"):format(dir))
      local shown, err, status = times("1")
      assert.equal(3, status)
      assert.equal(0, shown[1])
      assert.equal(230, shown[#shown])
      assert.matches(dir .. "/b.rec: damaged at byte %d+, after %d+ whole samples\n", err)
      assert.matches(dir .. "/d.rec: damaged at byte 0: not a recording\n", err)
      assert.is_nil(err:find("notes", 1, true) or err:find("[efg].rec"))
    end)

    it("also where one goes to a time", function()
      record("a.rec", 0, 50)
      record("b.rec", 60, 200)
      local bytes = run.read_file(dir .. "/b.rec")
      run.write_file(dir .. "/b.rec", bytes:sub(1, #bytes - 300) .. "x" .. bytes:sub(#bytes - 298))
      local r = run.run({ "kstatlua", "-e", ([[
        local ks = assert(kstat.open(arg[1]))
        assert(ks:seek(%d + 200) ~= nil)
        print(ks:time_of_day() - %d, ks:damaged(), table.concat(ks:warnings(), " "))]]):format(MIDNIGHT, MIDNIGHT),
        dir })
      assert.matches("^50%.0\ttrue\t" .. dir .. "/b.rec: damaged at byte %d+, after %d+ whole samples\n$",
        r.out)
    end)

    it("also where a damaged time is later than what is wanted", function()
      record("a.rec", 0, 200)
      local bytes, at = run.read_file(dir .. "/a.rec"), 17
      for _ = 1, 10 do
        at = at + 20 + bytes:byte(at + 4) + 256 * bytes:byte(at + 5)
      end
      run.write_file(dir .. "/a.rec", bytes:sub(1, at + 13) .. "\127" .. bytes:sub(at + 15))
      local shown, err, rc = times("--from", "2026-11-21", "--to", "2026-11-21 0:03", "1")
      assert.same({ 10, 90 }, { #shown, shown[10] })
      assert.same({ ("%s/a.rec: damaged at byte %d, after 10 whole samples\n"):format(dir, at - 1), 3 }, { err, rc })
    end)

    it("or says in its place, where nothing else has that time", function()
      record("a.rec", 0, 50)
      record("b.rec", 60, 90)
      record("c.rec", 200, 230)
      local bytes = run.read_file(dir .. "/b.rec")
      run.write_file(dir .. "/b.rec", bytes:sub(1, 24) .. "x" .. bytes:sub(26)) -- the time of the first sample
      run.write_file(dir .. "/d.rec", "nothing")
      local gap = "nothing was recorded from 2026-11-21 00:00:50 to 2026-11-21 00:03:20; left out: "
      local _, err, status = times("--at", "0:01:20")
      assert.equal(gap, err:sub(1, #gap))
      assert.matches("^" .. dir .. "/[bd].rec: damaged at byte %d+[^\n]*\n$", err:sub(#gap + 1))
      assert.equal(1, status)
      run.write_file(dir .. "/b.rec", bytes:sub(1, 60) .. "\255" .. bytes:sub(62)) -- what it says
      _, err, status = times("--at", "0:01:10")
      assert.same({ dir .. "/b.rec: damaged at byte 16, after 0 whole samples\n", 3 }, { err, status })
    end)

    it("or says that there is none", function()
      local _, err, status = times("1")
      assert.same({ dir .. ": no recording in this directory\n", 3 }, { err, status })
      run.write_file(dir .. "/a.rec", "nothing")
      _, err, status = times("1")
      assert.same({ dir .. "/a.rec: damaged at byte 0: not a recording\n", 3 }, { err, status })
    end)

    it("in which samples keep their order where the clock was set back", function()
      run.write_file(dir .. "/capture", capture("alpha", MIDNIGHT - 500, MIDNIGHT, MIDNIGHT + 40, 10) ..
        (capture("alpha", MIDNIGHT - 500 - 30, MIDNIGHT + 20, MIDNIGHT + 40, 10)))
      assert(os.execute(("%s/kstatlua convert -o %s/a.rec %s/capture"):format(run.bin, dir, dir)))
      os.remove(dir .. "/capture")
      local shown, err, status = times("1")
      assert.same({ { 0, 10, 20, 30, 40, 20, 30, 40 }, "", 0 }, { shown, err, status })
      assert.same({ { 30 }, "", 0 }, { times("--at", "0:00:30") })
    end)
  end)
end)
