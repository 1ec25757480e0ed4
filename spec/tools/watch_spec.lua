-- Reports on the screen: `kstatlua SCRIPT --watch`, `kstatlua top SCRIPT`. Without a terminal they are frames, which
-- have the same lines.
local capture = require("support.capture")
local pty = require("support.pty")
local run = require("support.run")

local RECORDING = "spec/vectors/past/faults.rec"
local dir

setup(function()
  dir = run.directory()
  run.write_file(dir .. "/tree.lua", [[
    local list = { { name = "root", n = 1 }, { name = "leaf", up = "root", n = 2 } }
    return kstat.report({ name = "mine", select = "unix:0:system_misc", totals = true, sort = "n",
      columns = { { "name", kind = "label" }, { "n", format = "%d" }, { "late", align = "left" } },
      rows = function() return list end, identity = function(row) return row.name end,
      parent = function(row) return row.up end, complete = function(row) row.late = "late " .. row.name end,
      explain = function(row) return { "explained " .. row.name } end })
  ]])
  run.write_file(dir .. "/lines.lua", [[
    local n = 0
    return kstat.report({ name = "lines", select = "unix:0:system_misc", columns = { { "n", format = "%d" } },
      rows = function() n = n + 1 return { { n = n } } end })
  ]])
  run.write_file(dir .. "/two.lua", [[
    local function one(name)
      return kstat.report({ name = name, select = "unix:0:system_misc", columns = { { name, "nproc" } } })
    end
    return { one("first"), one("second") }
  ]])
  run.write_file(dir .. "/oops.lua", [[
    return kstat.report({ name = "ouch", select = "unix:0:system_misc",
      columns = { { "name" }, { "bad", function() error("oops") end } } })
  ]])
  run.write_file(dir .. "/broken.lua", "local nothing\nreturn nothing.at_all")
end)
teardown(function() run.remove_directory(dir) end)

-- The frames that a command prints, without their first lines.
local function frames(words, lines, variables)
  local r = run.shell(("%s COLUMNS=90 LINES=%d TZ=UTC %s/kstatlua %s </dev/null"):format(variables or "", lines or 24,
    run.bin, words))
  assert.same({ "", 0 }, { r.err, r.status }, words)
  local list = {}
  for frame in r.out:gmatch("%S[^\n]+\n(.-)\n%f[%S%z]") do
    list[#list + 1] = frame
  end
  return list
end

describe("a report on a screen", function()
  it("is a table, whose rows are completed when they are shown and whose totals come last", function()
    for _, words in ipairs({ "top -b %s/tree.lua 0.01 1", "%s/tree.lua --watch 0.01 1" }) do
      local frame = frames(words:format(dir))[1]
      assert.matches("^ name  n late *\n", frame) -- figures stand beside the names
      frame = frame:gsub("  +", " ")
      assert.equal(" name n late\n leaf 2 late leaf\n root 1 late root\n total 3 -\n", frame)
    end
    local frame = frames("top -f leaf -b " .. dir .. "/tree.lua --top 1 leaf 0.01 1")[1]:gsub("  +", " ")
    assert.equal(" name n late\n leaf 2 late leaf\n total 2 -\n", frame)
  end)

  it("has the colour of a limit where a figure has passed it", function()
    run.write_file(dir .. "/limits.lua", [[
      return kstat.report({ name = "limits", select = "unix:0:system_misc",
        columns = { { "name", kind = "label" }, { "n", format = "%d", warning = 5, critical = 9 } },
        rows = function() return { { name = "a", n = 4 }, { name = "b", n = 5 }, { name = "c", n = 9 } } end })
    ]])
    local frame = frames("top --color=always -b " .. dir .. "/limits.lua 0.01 1")[1]:gsub(" +", " ")
    for row in ("a 4\n|b \27%[33m5\27%[0m\n|c \27%[31m9\27%[0m\n"):gmatch("[^|]+") do
      assert.matches("\n " .. row, frame)
    end
  end)

  it("keeps the lines of ticks that are one line, as many as fit, the newest last", function()
    local list = frames(dir .. "/lines.lua --watch 0.01 6", 6)
    assert.equal(" n\n 2\n", list[1]) -- the first one was since creation
    assert.equal(" n\n 5\n 6\n 7\n", list[6])
  end)

  it("has the heading of vmstat and the text of iostat, once", function()
    for words, head in pairs({ ["-r %s vmstat --watch 1 25"] = "  kthr [^\n]*\n  r b w [^\n]*\n",
      ["-r %s iostat --watch 1 25"] = "    tty [^\n]*\n  tin tout [^\n]*\n" }) do
      local list = frames(words:format(RECORDING), 9)
      assert.equal(25, #list)
      assert.matches("^" .. head .. "[^\n]+\n$", list[1])
      assert.matches("^" .. head .. ("[ %-%d]+\n"):rep(5) .. "$", list[25])
    end
    local list = frames(("-r %s iostat -x --watch 1 2"):format(RECORDING))
    assert.matches("^ +extended device statistics *\n device [^\n]*\n vda [^\n]*\n$", list[2])
  end)

  it("is a table below the heading of fsstat, whose rows have names", function()
    local list = frames("fsstat --watch 0.01 2", nil, run.tree_words("zfs"))
    assert.matches("^   new  name  name [^\n]*\n  file remov [^\n]*\n +[^\n]* tank/[^\n]*\n +[^\n]* tank\n$", list[2])
    list = frames("fsstat tank --watch 0.01 2", nil, run.tree_words("zfs"))
    assert.matches("^   new [^\n]*\n  file remov [^\n]*\n +[^\n]* tank\n$", list[2])
    assert.matches("\n %(neither vopstats[^\n]*\n$", frames(("-r %s fsstat --watch 1 2"):format(RECORDING))[2])
  end)

  it("may be one of several in a view", function()
    assert.matches("^ first\n +%d+%.0\n\n second\n +%d+%.0\n$", frames("top -b " .. dir .. "/two.lua 0.01 1")[1])
  end)

  it("is of the past that is named before or behind it", function()
    local one = frames(("top -b -r %s --at -0s mpstat -a"):format(RECORDING))
    assert.same(one, frames(("mpstat -a --watch -r %s --at -0s"):format(RECORDING)))
    assert.equal(1, #one)
  end)

  it("is one in any Lua that has the module", function()
    local r = run.shell(("KSTAT_BUILD=%s LINES=8 %s -e %s"):format(run.quote(run.build), run.lua, run.quote([[
      dofile("spec/helper.lua")
      local kstat = require("kstat")
      local report = kstat.report({ select = "unix:0:system_misc", columns = { { "n", "ncpus" } } })
      local view = require("kstat.top.watch").view({ report }, { report:read({}) })
      local function open(only) return kstat.open({ capture = "spec/vectors/past/faults.rec", only = only }) end
      print(require("kstat.top.batch").run({ views = { view }, open = open, is_replay = true, count = 1 }))
      print(require("kstat.top").possible())
    ]])))
    assert.equal("", r.err)
    assert.matches("\n n\n 2.0\n\ntrue\nfalse\n$", r.out)
  end)

  it("says what is wrong in one line", function()
    for words, message in pairs({
      ["nicstat --watch -j"] = "nicstat: %-%-watch and %-%-json cannot be used together",
      ["nicstat --watch --summary"] = "nicstat: %-%-watch and %-%-summary cannot be used together",
      ["examples/cpu_spark.lua --watch"] = "cpu_spark: unknown option '%-%-watch'",
      ["top nicstat --nonsense"] = "nicstat: unknown option '%-%-nonsense'",
    }) do
      local r = run.shell(("%s/kstatlua %s </dev/null"):format(run.bin, words))
      assert.matches("^[^\n]*" .. message .. "[^\n]*\n$", r.err:gsub("^top: ", "nicstat: "), words)
      assert.equal(2, r.status)
    end
    local r = run.shell(("%s/kstatlua top %s/broken.lua </dev/null"):format(run.bin, dir))
    assert.matches("^top: [^\n]*broken.lua:2: ", r.err)
    assert.equal(1, r.status)
    for _, words in ipairs({ "top %s/oops.lua 0.01 1", "%s/oops.lua --watch 0.01 1" }) do
      r = run.shell(("%s/kstatlua " .. words .. " </dev/null"):format(run.bin, dir))
      assert.matches("^ouch: column 'bad': [^\n]*oops.lua:2: oops\n$", r.err)
      assert.equal(1, r.status)
    end
    for words, message in pairs({ ["top %s/tree.lua nobody"] = "mine: nothing here is called 'nobody'\n",
      ["fsstat nobody --watch"] = "fsstat: nothing here is called 'nobody'\n",
      ["nicstat --sort nothing --watch"] = "nicstat: there is no column 'nothing' to sort by, [^\n]*\n" }) do
      r = run.shell(("%s/kstatlua " .. words .. " 0.01 2 </dev/null"):format(run.bin, dir))
      assert.matches("^" .. message .. "$", r.err)
      assert.equal(words:find("sort") and 2 or 1, r.status)
    end
  end)
end)

describe("use on a screen", function()
  it("shortens names before a state leaves", function()
    local source = dir .. "/long.json"
    local samples = {}
    for i = 1, 2 do
      samples[i] = { capture.kstat("fs", 0, "/srv/a", "fs", 1, 0, i * 10,
        '"mount_point":"/srv/a/long/way/down/to/home/and/further","used":99,"available":1,"answered":0,' ..
        '"read_only":0,"options":"rw","device":"storage.example.org:/export/home"') }
    end
    os.rename(capture.file(samples), source)
    local frame = frames("use fs --watch 0.01 1", 24, "KSTAT_SOURCE=" .. source)[1]
    assert.matches("^ resource name +util saturation +errors state", frame)
    assert.matches("\n fs +/srv/[^\n]*~[^\n]* critical: space 99%%", frame)
  end)
end)

describe("a report on a terminal", function()
  pty.it(it, pending)("has the keys of top", function()
    local t = pty.start(("%s/kstatlua %s/tree.lua --watch 0.2; echo status $?; sleep 999"):format(run.bin, dir), 80, 12)
    t:await("\n name +n late\n leaf +2 late leaf\n root +1 late root\n total +3 %-\n")
    t:send("v")
    t:await("\n root +1 late root\n   leaf +2 late leaf\n total")
    t:send("e")
    t:await("explained root", true)
    t:send("q") -- closes the explanation
    t:await("\n root +1 late root\n   leaf ")
    t:send("q")
    t:await("status 0", true)
  end)

  pty.it(it, pending)("goes back into what was recorded", function()
    local recordings = dir .. "/recordings"
    run.shell(("mkdir %s; cp %s %s/kstat-20261123-045233.rec"):format(recordings, RECORDING, recordings))
    for command, row in pairs({ ["iostat -x"] = "vda [^\n]* %d%d\n", ["devstat -x"] = "vda [^\n]* %d%d\n",
      use = "disk +vda [^\n]*\n[^\n]*diskhog" }) do
      local t = pty.start(("KSTAT_RECORDINGS=%s %s/kstatlua %s --watch 60; echo status $?; sleep 99"):format(recordings,
        run.bin, command), 80, 12)
      t:await("LIVE", true)
      t:send("g", "2026-11-23 04:54:15", "Enter") -- in the second fault, which writes to the disk
      t:await("04:54:15 PAST.*\n " .. row)
      t:send("Left")
      t:await("04:54:14 PAST.*\n " .. row)
      t:send("q")
      t:await("status 0", true)
    end
  end)

  pty.it(it, pending)("explains the states of use, at each sample", function()
    local t = pty.start(("%s/kstatlua -r %s use --watch; sleep 999"):format(run.bin, RECORDING), 80, 20)
    t:await("04:57:08 .*\n cpu ")
    t:send("Home", "e")
    t:await("04:57:08 [^\n]*\n cpu: warning[^\n]*\n.*warning from.*last minute: .*/proc/stat")
    t:send("Left")
    t:await("04:57:07 [^\n]*\n cpu: warning since [^\n]*\n")
  end)

  pty.it(it, pending)("does not begin without the past that is asked for, and says whose fault that is", function()
    for given, status in pairs({ ["--to 3:12"] = 2, ["--host web1"] = 2, ["--at 3:12"] = 2,
      ["-r $PWD/spec/vectors/past --at 25:00"] = 2, ["-r /nonexist --at 3:12"] = 3 }) do
      local t = pty.start(("KSTAT_RECORDINGS=%s/none %s/kstatlua top %s; echo status $?; sleep 99"):format(dir, run.bin,
        given), 80, 12)
      assert.matches("top: .*status " .. status, t:await("status %d"), given)
      t:close()
    end
  end)

  pty.it(it, pending)("goes back into what it saw where nothing is recorded, and is live again", function()
    local t = pty.start(("KSTAT_RECORDINGS=%s/none %s/kstatlua %s/lines.lua --watch 60; echo status $?; sleep 99")
      :format(dir, run.bin, dir), 80, 12)
    t:await("LIVE.*\n 2\n")
    for _, step in ipairs({ { "Left", "PAST.*what the screen saw since" },
      { "N", "PAST.*nothing is recorded: the line" },
      { "[", "PAST.*this is the first sample" }, { "L", "LIVE 60s.*\n 2\n" } }) do
      t:send(step[1])
      t:await(step[2])
    end
    t:send("q")
    t:await("status 0", true)
  end)

  pty.it(it, pending)("may be lines of text, which follow each other up to a jump, and have no columns", function()
    local t = pty.start(("%s/kstatlua -r %s vmstat --watch; sleep 999"):format(run.bin, RECORDING), 80, 12)
    for _, step in ipairs({ { "[", "04:56:08", 1 }, { "Right", "04:56:09", 2 }, { "Right", "04:56:10", 3 },
      { "]", "04:57:08", 1 } }) do
      t:send(step[1])
      t:await(step[2] .. " PAST[^\n]*\n  kthr [^\n]*\n  r b w [^\n]*\n" .. ("  +[%d-] [^\n]*\n"):rep(step[3]) .. "\n")
    end
    t:send(">")
    t:await("lines of text", true)
  end)

  pty.it(it, pending)("does what a key is for that stops a search", function()
    run.write_file(dir .. "/search.lua", ([[
      local past = assert(require("kstat.top.past").open({ capture = %q }))
      function past.change() return "working", "searching" end
      local report = kstat.report({ select = "unix:0:system_misc", columns = { { "n", "ncpus" } } })
      local view = require("kstat.top.watch").view({ report }, { report:read({}) })
      require("kstat.top").run({ views = { view }, past = past, only_past = true })
    ]]):format(RECORDING))
    local t = pty.start(("%s/kstatlua %s/search.lua; echo status $?; sleep 999"):format(run.bin, dir), 80, 12)
    t:await("PAST", true)
    t:send("N")
    t:await("searching", true)
    t:send("q")
    t:await("status 0", true)
  end)
end)
