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
        ["2026-11-21T14:05:59"] = hour(14), now = hour(14, 40), ["3h ago"] = hour(11, 40), ["1 d ago"] = hour(-9, -20),
        ["1 hour 30 mins ago"] = hour(13, 10), ["last friday 16:00"] = hour(16 - 24), ["last thu 19:00"] = hour(-29),
        ["3:12am"] = hour(3, 10), ["1 pm"] = hour(13), ["12:30am"] = hour(0, 30), ["3:12 yesterday"] = hour(3 - 24, 10),
        ["yesterday noon"] = hour(-12), noon = hour(12), ["2026-11-21T14:05:10.5Z"] = hour(14),
        ["2026-11-21T16:35:00+02:00"] = hour(14, 30), ["2026-11-21 08:35-0600"] = hour(14, 30),
        ["2026-11-21"] = 0, [tostring(MIDNIGHT + 700)] = 600,
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

    it("or says what times are", function()
      local forms = "14:32, 3:12am, noon, now, today, yesterday 3:12, mon 9:00, last tuesday 16:00, " ..
        "2026-11-21 14:05, 2026-11-21T14:05:10Z, -3h, 3h ago, 2 days ago, 1795269900"
      for _, text in ipairs({ "25:00", "yesterdy 3:12", "14:32:1O", "-3hours", "2026-02-30", "mon 9", "13pm",
        "last noon", "2026-11-21 24:05", "tody", "noon noon", "3 moons ago", "14:05Z", "2026-11-21T14:05+" }) do
        for _, option in ipairs({ "--at", "--from", "--to" }) do
          local _, err, status = times(option, text)
          assert.same({ ("'%s' is not a time; times are %s\n"):format(text, forms), 2 }, { err, status })
        end
      end
      assert.matches("^no interval ends at 2026%-11%-14 00:00:00: ", (select(2, times("--at", "last sat"))))
      local _, err, status = times("--at", "10/27 16:30")
      assert.same({ "'10/27 16:30' has two readings: month/day is 2026-10-27, day/month is 2026-27-10; " ..
        "type one of these\n", 2 }, { err, status })
    end)

    it("in the environment, too, also for programs in C and scripts", function()
      local env = { KSTAT_SOURCE = dir, KSTAT_AT = "14:32" }
      assert.equal(("app:0:a:at\t%d\n"):format(MIDNIGHT + hour(14, 30)), kstat({}, env).out)
      local r = run.run({ "kstatlua", "-e", [[for now, prev in kstat.every({ 1 }) do
        print((now - prev):rate("app:::n"), math.floor(now.time_of_day - prev.time_of_day + 0.5)) end]], env = env })
      assert.equal("10.0\t600\n", r.out)
      env.KSTAT_AT = "soon"
      assert.matches("^kstat: KSTAT_AT: 'soon' is not a time; times are 14:32, ", kstat({}, env).err)
    end)

    it("in no variable that is empty", function()
      local open = ("print(require('kstat.top.past').open({ capture = %q }).time)"):format(dir)
      local none = run.run({ "kstatlua", "-e", open })
      assert.matches("^%d+", none.out)
      assert.same(none, run.run({ "kstatlua", "-e", open, env = { KSTAT_AT = "", KSTAT_FROM = "", KSTAT_TO = "" } }))
      local r = run.run({ "kstat", "root", env = { KSTAT_SOURCE = "", KSTAT_PROC = "" } })
      assert.equal("kstat: 'root' is a user: kstatlua prstat -u root\n", r.err)
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
      assert.equal("60\ttrue\t0\ttrue\n", r.out)
      r = run.run({ "kstat", "--rate", "-p", "-r", dir, "--at", at, "app:::n", "60" })
      assert.same({ "app:0:a:n\t10\n", "", 0 }, { r.out, r.err, r.status })
      r = run.run({ "kstatlua", "-r", dir, "--at", at, "vmstat", "7200" })
      assert.matches("^vmstat: no interval of 7200 s ends at ", r.err)
      r = run.run({ "kstatlua", "-r", dir, "vmstat", "10", "6", env = { KSTAT_AT = at } })
      assert.same({ "vmstat: --at is the end of one interval, which has no count; --from and --to bound many\n", 2 },
        { r.err, r.status })
    end)

    it("and none if the times are the wrong way round, which a line says", function()
      record("a.rec", hour(9), hour(10))
      for _, command in ipairs({ "vmstat", "use", "diff" }) do
        local r = run.run({ "kstatlua", command, "-r", dir, "--from", "2026-11-21 10:00", "--to", "2026-11-21 9:00" })
        local line = ": from '2026-11-21 10:00' to '2026-11-21 9:00': the second time is before the first one"
        assert.same({ command .. line, 2 }, { r.err:match("^[^;\n]*"), r.status })
      end
      for from, to in pairs({ ["10:30"] = "9:30", ["9:40"] = "9:30" }) do -- of the day before, or of the next one
        local _, err, status = times("--from", from, "--to", to)
        local line = ("from '%s' to '%s': the second time is before the first one\n"):format(from, to)
        assert.same({ line, 2 }, { err, status })
      end
      record("b.rec", hour(-3), hour(-2))
      assert.same({ hour(-2), hour(9) }, (times("--from", "22:00", "--to", "9:00", "1")))
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

    describe("without a difference across a gap", function()
      -- Which samples of a replay are cut off from the one before.
      local function cuts(source, input)
        local r = run.shell(("cat %s | %s -r %s -e %s"):format(input or "/dev/null", run.bin .. "/kstatlua", source,
          run.quote("local ks, i = kstat.open(), 1 while ks:update() ~= nil and not ks:ended() do " ..
            "i = i + 1 io.write(ks:is_cut() and i .. ' ' or '') end")))
        return r.out
      end

      local function convert(from, to)
        assert.equal(0, run.run({ "kstatlua", "convert", "-o", dir .. "/" .. to, dir .. "/" .. from }).status)
      end

      -- Some of the samples at these seconds of the day; behind a negative one the machine had slept but for 10 s.
      local function write(name, list, first, last)
        local out, asleep = {}, 0
        for i, time in ipairs(list) do
          asleep = time < 0 and -time - list[i - 1] - 10 or asleep
          time = MIDNIGHT + math.abs(time)
          out[i] = capture("alpha", MIDNIGHT - 5000 + asleep, time, time, 1):gsub('(boot_time":)%d+', "%11795214200")
        end
        run.write_file(dir .. "/" .. name, table.concat(out, "", first, math.min(last, #out)))
      end

      local CASES = { -- samples, the cuts in a file, and in a pipe
        { { 0, 10, 20, 920, 1820, 1830 }, "4 5 ", "4 " }, -- one beside another one
        { { 0, 900, 910, 920 }, "2 ", "" }, -- the first one
        { { 0, 10, 900, 1800, 2700 }, "3 ", "3 " }, -- behind it samples come less often
        { { 0, 20, 80, 140, 280, 290 }, "5 ", "" }, -- more than three times what is behind it
        { { 0, 20, 81, 101 }, "3 ", "3 " },
        { { 0, 19, 78.5, 97.5 }, "", "" }, -- less than a minute
        { { 0, 3600, 7200, 18000 }, "", "" }, -- three times as much, and no more
        { { 1000, 1010, 1020, 500, 510, 520, 1600, 1610 }, "7 ", "7 ", is_set_back = true },
        { { 0, -80 }, "2 ", "2 " }, -- it slept
        { { 0, 3600, -7200, 10800 }, "3 ", "3 " },
      }

      it("in a capture, a recording and a directory; a pipe shows what is before alone", function()
        for i, case in ipairs(CASES) do
          local path = ("%s/%d"):format(dir, i)
          assert(os.execute("mkdir " .. path))
          for from = 1, #case[1], 2 do
            write("part", case[1], from, from + 1)
            convert("part", ("%d/%d.rec"):format(i, from))
          end
          write("capture", case[1], 1, 99)
          convert("capture", i .. ".rec")
          assert.same({ case[2], case[2], case[2], case[3] }, { cuts(dir .. "/capture"), cuts(path .. ".rec"),
            case.is_set_back and case[2] or cuts(path), cuts("-", dir .. "/capture") }, i)
        end
      end)

      it("wherever one comes from, also without times of day", function()
        write("a", { 0, 10, 900, 1800, 2700 }, 1, 99)
        convert("a", "a.rec")
        for _, path in ipairs({ dir .. "/a", dir .. "/a.rec" }) do
          assert.equal("2 ", cuts(("%s --from %d"):format(path, MIDNIGHT + 10)))
          local r = run.run({ "kstatlua", "-e", ([[local ks = kstat.open(arg[1])
            for _, time in ipairs({ 900, 10, 0, 1800 }) do
              assert(ks:seek(%d + time) ~= nil and ks:update() ~= nil)
              io.write(tostring(ks:is_cut()), " ")
            end]]):format(MIDNIGHT), path })
          assert.same({ "false true false false ", "" }, { r.out, r.err })
          for time, status in pairs({ [10] = 0, [900] = 1, [1800] = 0 }) do
            assert.equal(status, kstat({ "-r", path, "--at", tostring(MIDNIGHT + time) }).status)
          end
        end
        write("a", { 0, 900, 910, 920 }, 1, 99)
        run.write_file(dir .. "/a", (run.read_file(dir .. "/a"):gsub("%d+%.%d+\n", "")))
        assert.equal("2 ", cuts(dir .. "/a"))
      end)
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
      assert.same({ 2, "there is no machine 'gamma' here, but alpha and beta\n" }, { status, err })
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

    it("of which damage costs its own samples alone", function()
      record("a.rec", 0, hour(6))
      local bytes, at = run.read_file(dir .. "/a.rec"), 17
      for _ = 1, 162 do -- that of 0:27
        at = at + 20 + bytes:byte(at + 4) + 256 * bytes:byte(at + 5)
      end
      run.write_file(dir .. "/a.rec", bytes:sub(1, at - 1) .. ("x"):rep(200) .. bytes:sub(at + 200))
      -- Without an interval, all from a time on is one step, which ends with the last sample.
      for option, time in pairs({ ["--at 5:00"] = hour(5), ["--from 5:00"] = hour(6), ["--at 0:20"] = hour(0, 20) }) do
        local shown, err, status = times(option:match("(%S+) (%S+)"))
        assert.same({ { time }, "", 0 }, { shown, err, status }, option)
      end
      local lost = ("%s/a.rec: damaged at byte %d: what was recorded from 2026-11-21 00:26:50 to 2026-11-21 " ..
        "01:00:00 is lost\n"):format(dir, at - 1)
      local shown, err, status = times("1")
      assert.same({ 162 + 1801, hour(0, 26, 50), hour(1), hour(6), 3 },
        { #shown, shown[162], shown[163], shown[#shown], status })
      assert.equal(lost, err:sub(-#lost))
      shown, err, status = times("--from", "0:30", "--to", "1:00", "1")
      assert.same({ { hour(1) }, lost, 3 }, { shown, err, status })
      local r = run.run({ "kstatlua", "diff", "-r", dir, "--from", "0:30", "--to", "1:30", "--base", "0:05" })
      assert.same({ "diff: " .. lost, 3 }, { r.err:match("[^\n]*lost\n"), r.status })
      r = run.run({ "kstatlua", "-r", dir, "-e", ([[local ks = kstat.open()
        ks:seek(%d) ks:previous() ks:previous() io.write(ks:clock() - %d, " ")
        ks:seek(%d) io.write(ks:clock() - %d)]]):format(MIDNIGHT + hour(1, 0, 10), MIDNIGHT, MIDNIGHT + 1800,
        MIDNIGHT) })
      assert.equal(("%d %d"):format(hour(0, 26, 50), hour(0, 26, 50)), r.out)
    end)

    it("each sample of which is read once, although a header says another time than its sample", function()
      run.shell(("cp spec/vectors/past/disagree.rec %s/a.rec"):format(dir))
      record("b.rec", 0, 20)
      local damaged = dir .. "/a.rec: damaged at byte 16, after 0 whole samples\n"
      for _, options in ipairs({ { "-r", dir }, { "-r", dir .. "/a.rec", "-r", dir .. "/b.rec" } }) do
        options[#options + 1] = "1"
        local r = kstat(options)
        assert.same({ 3, "kstat: " .. damaged, 3 }, { select(2, r.out:gsub("at\t", "")), r.err, r.status })
      end
      local r = run.shell(("timeout 5 %s/kstatlua convert %s"):format(run.bin, dir))
      assert.same({ "convert: " .. damaged, 3 }, { r.err, r.status })
    end)

    it("of which some come, go, or cannot be read, while it is read", function()
      record("kstat-20261121-000000.rec", 0, 20)
      record("kstat-20261121-000030.rec", 30, 50)
      record("kstat-20261121-000100.rec", 60, 80)
      run.shell(("cd %s && mkfifo kstat-20261121-000025.rec && ln -s kstat-20261121-000026.rec " ..
        "kstat-20261121-000026.rec && : >kstat-20261121-000027.rec && echo no >kstat-20261121-000028.rec"):format(dir))
      local r = run.run({ "kstatlua", "-r", dir, "-e", ([[local ks, gone = kstat.open(), false
        repeat
          io.write(ks:clock() - %d, " ")
          gone = gone or os.remove(arg[1] .. "/kstat-20261121-000030.rec")
          ks:update()
        until ks:ended()
        io.write(table.concat(ks:warnings(), " "))]]):format(MIDNIGHT), dir })
      local damaged = dir .. "/kstat-20261121-000028.rec: damaged at byte 0: not a recording"
      assert.equal("0 10 20 60 70 80 " .. damaged, r.out)
    end)

    it("or says that there is none", function()
      local _, err, status = times("1")
      assert.same({ dir .. ": no recording in this directory\n", 3 }, { err, status })
      run.write_file(dir .. "/a.rec", "nothing")
      _, err, status = times("1")
      assert.same({ dir .. "/a.rec: damaged at byte 0: not a recording\n", 3 }, { err, status })
      run.shell(("cp %s/a.rec %s/kstat-20261121-000028.rec; cp %s/a.rec %s/c.rec"):format(dir, dir, dir, dir))
      _, err, status = times("1")
      assert.matches(": damaged at byte 0: not a recording; 2 more files are damaged, and none is whole\n$", err)
      assert.same({ 1, 3 }, { select(2, err:gsub("\n", "")), status })
    end)

    it("of which a thousand damaged ones are named, and that there are more", function()
      record("z.rec", 0, 50)
      run.shell(("cd %s && seq -f kstat-20251121-%%06g.rec 1001 | xargs touch && echo x | tee kstat-2025*"):format(dir))
      local shown, err, status = times("1")
      assert.truthy(#shown > 0)
      assert.same({ 1000, 3 }, { select(2, err:gsub("\n", "")), status })
      assert.matches("\nfurther lines about what cannot be read are left out\n$", err)
    end)

    it("in which samples keep their order where the clock was set back", function()
      run.write_file(dir .. "/capture", capture("alpha", MIDNIGHT - 500, MIDNIGHT, MIDNIGHT + 40, 10) ..
        (capture("alpha", MIDNIGHT - 500 - 30, MIDNIGHT + 20, MIDNIGHT + 40, 10)))
      assert(os.execute(("%s/kstatlua convert -o %s/a.rec %s/capture"):format(run.bin, dir, dir)))
      os.remove(dir .. "/capture")
      local shown, err, status = times("1")
      assert.same({ { 0, 10, 20, 30, 40, 20, 30, 40 },
        "clocks were set back from 2026-11-21 00:00:40 to 2026-11-21 00:00:20\n", 0 }, { shown, err, status })
      local twice = "'0:00:30' was there twice, because clocks were set back: this is the first one\n"
      assert.same({ { 30 }, twice, 0 }, { times("--at", "0:00:30") })
      assert.same({ { 10 }, "", 0 }, { times("--at", "0:00:15") })
      run.write_file(dir .. "/b.json", run.run({ "kstatlua", "convert", dir .. "/a.rec" }).out)
      for _, file in ipairs({ "a.rec", "b.json" }) do -- a time that is there twice is the first one, as --at has it
        local r = run.run({ "kstatlua", "-r", dir .. "/" .. file, "-e", ([[local ks = kstat.open()
          for _, time in ipairs({ 20, 25, 30, 40, 99 }) do
            ks:seek(%d + time)
            io.write(ks:clock() - %d, " ", ks:update() and ks:ended() and "end" or ks:clock() - %d, "; ")
          end]]):format(MIDNIGHT, MIDNIGHT, MIDNIGHT) })
        assert.equal("20 30; 20 30; 30 40; 40 end; 40 end; ", r.out, file)
      end
    end)

    -- Samples of these times, in that order, by one clock that is set: `n` says which is which.
    local function record_clock(name, list, up)
      local text = {}
      for i, time in ipairs(list) do
        text[i] = capture("alpha", time - up - 10 * i, time, time, 1)
      end
      run.write_file(dir .. "/capture", table.concat(text))
      run.run({ "kstatlua", "convert", "-o", dir .. "/" .. name, dir .. "/capture" })
      os.remove(dir .. "/capture")
    end

    it("of which none hides another, whatever its clock said when it began", function()
      local function days(n, from, to)
        local list = {}
        for time = from, to, 10 do
          list[#list + 1] = MIDNIGHT + 86400 * n + time
        end
        return list
      end
      local names = { { "kstat-20261120-000000.rec", "kstat-19700101-000010.rec", "kstat-20261122-000000.rec" },
        { "kstat-20261120-000000.rec", "kstat-20400101-000000.rec", "kstat-20261122-000000.rec" }, { "b", "c", "a" } }
      for _, odd in ipairs({ 10, 2208988800 }) do
        for _, name in ipairs(names) do
          local middle = days(0, 0, 300)
          table.insert(middle, 1, odd)
          record_clock(name[1], days(-1, 0, 300), 1000)
          record_clock(name[2], middle, 2000)
          record_clock(name[3], days(1, 0, 300), 3000)
          local shown, _, status = times("1")
          assert.same({ 94, 0 }, { #shown, status }, odd)
          assert.same({ odd - MIDNIGHT, 0, 10, 86400 }, { shown[32], shown[33], shown[34], shown[64] }, odd)
          for n = -1, 1 do
            local at, err = times("--at", tostring(MIDNIGHT + 86400 * n + 205))
            assert.same({ { 86400 * n + 200 }, "" }, { at, err }, odd)
          end
          assert.equal("30", (run.run({ "kstatlua", "-r", dir, "-e", ([[local ks, n = kstat.open(), 0
            assert(ks:seek(%d) ~= nil) while n < 30 and ks:previous() ~= nil do n = n + 1 end io.write(n)]]):format(
            MIDNIGHT + 86410) }).out), odd)
          for _, file in ipairs(name) do
            os.remove(dir .. "/" .. file)
          end
        end
      end
    end)
  end)
end)
