-- kstatlua top: its parts, its reports on a capture, a recorded tree and this machine, and its window
-- on a terminal.
local capture = require("support.capture")
local core = require("kstat.core")
local keys = require("kstat.top.keys")
local kstat = require("kstat")
local pty = require("support.pty")
local rows = require("kstat.top.rows")
local run = require("support.run")
local text_of = require("kstat.text")
local top = require("kstat.top")
local view = require("kstat.top.view")

-- Four samples a second apart: what counts, what does not, and what is no number.
local function write_capture()
  local samples = {}
  for i = 0, 3 do
    samples[i + 1] = {
      capture.named("fast", 1, 10 + i, ('"calls":%d,"level":%g'):format(1000 + 500 * i * i, 7.5 - i)),
      capture.named("slow", 1, 10 + i, ('"calls":%d,"text":"words"'):format(3 * i)),
      capture.kstat("sd", 0, "sd0", "disk", 3, 1, 10 + i, ('"nread":%d,"nwritten":0,"reads":%d,"writes":0,'
        .. '"wtime":0,"wlentime":0,"wlastupdate":0,"rtime":%.9f,"rlentime":%.9f,"rlastupdate":0,"wcnt":0,"rcnt":2')
        :format(200000 * i, 10 * i, 0.25 * i, 0.5 * i)),
    }
  end
  return capture.file(samples)
end

local function selectors(...)
  local list = {}
  for i, text in ipairs({ ... }) do
    list[i] = assert(kstat.selector(text))
  end
  return list
end

-- The state after the samples of a capture, in a window of that height.
local function after(path, ticks, options)
  options = options or {}
  options.selectors = options.selectors or selectors("*")
  options.host = "spec"
  local app = top.new(options)
  local ks = assert(kstat.open(path))
  for now, prev in kstat.every(1, ticks, { chain = ks, select = options.selectors }) do
    app:tick(now, prev, #ks)
  end
  app.time = 0
  return app
end

local function names(list)
  local out = {}
  for i, row in ipairs(list) do
    out[i] = row.name
  end
  return out
end

describe("keys", function()
  local function parsed(bytes, final)
    local list, rest = keys.parse(bytes, final)
    return table.concat(list, " ") .. (rest ~= "" and " +" .. #rest or "")
  end

  it("are characters and the names of what is none", function()
    assert.equal("q R / enter enter tab backspace backspace ctrl-c other",
      parsed("qR/\r\n\t\127\8\3\1"))
    assert.equal("é ✓ 😀 x", parsed("é✓😀x"))
  end)

  it("are found in the sequences of terminals", function()
    assert.equal("up down right left", parsed("\27[A\27[B\27OC\27OD"))
    assert.equal("home end home end pageup pagedown delete insert",
      parsed("\27[H\27[F\27[1~\27[4~\27[5~\27[6~\27[3~\27[2~"))
    assert.equal("up other other q", parsed("\27[1;5A\27[15~\27OPq"))
    assert.equal("escape q", parsed("\27q"))
  end)

  it("wait for the rest of what is not whole, unless nothing follows", function()
    assert.equal(" +1", parsed("\27"))
    assert.equal("q +3", parsed("q\27[1"))
    assert.equal(" +2", parsed("\27O"))
    assert.equal(" +2", parsed("\226\156"))
    assert.equal("escape", parsed("\27", true))
    assert.equal("escape [ 1", parsed("\27[1", true))
    assert.equal("other", parsed("\226\156", true))
  end)

  it("make something of any bytes", function()
    for byte = 0, 255 do
      for _, text in ipairs({ ("%c"):rep(3), "\27%c", "\27[%c", "\226%c" }) do
        local list, rest = keys.parse((text:gsub("%%c", function() return string.char(byte) end)), true)
        assert.is_true(#list > 0)
        assert.equal("", rest)
      end
    end
  end)
end)

describe("rows", function()
  local path, app

  setup(function()
    path = write_capture()
    app = after(path, 3)
  end)
  teardown(capture.clean)

  local function row(name)
    for _, r in ipairs(app.table.list) do
      if r.name == name then
        return r
      end
    end
  end

  it("have the rate and the value of counters, in seconds for durations", function()
    local r = row("app:0:fast:calls")
    assert.same({ 1500, 3000, true }, { r.rate, r.value, r.counter })
    r = row("sd:0:sd0:rtime")
    assert.same({ 0.25, 0.5, "s" }, { r.rate, r.value, r.unit })
    r = row("sd:0:sd0:nread")
    assert.same({ 200000, 400000, "bytes" }, { r.rate, r.value, r.unit })
  end)

  it("have the value alone of gauges, and leave out what is neither", function()
    local r = row("sd:0:sd0:rcnt")
    assert.same({ 2, false }, { r.value, r.counter })
    assert.is_nil(r.rate)
    for _, name in ipairs({ "app:0:slow:text", "sd:0:sd0:rlastupdate", "sd:0:sd0:class", "sd:0:sd0:snaptime" }) do
      assert.is_nil(row(name))
    end
  end)

  it("remember the rates of intervals", function()
    assert.same({ { 500, 1500 }, 2 }, { rows.history(row("app:0:fast:calls"), 10) })
    assert.same({ { 1500 }, 1 }, { rows.history(row("app:0:fast:calls"), 1) })
  end)

  it("remember only the last of many", function()
    local samples = {}
    for i = 1, 100 do
      samples[i] = { capture.named("a", 0, i, ('"n":%d'):format(i * (i + 1) / 2)) }
    end
    local list, n = rows.history(after(capture.file(samples), nil).table.list[1], 100)
    assert.equal(64, n)
    assert.same({ 37, 100 }, { list[1], list[64] })
  end)

  it("are forgotten when their kstat is gone", function()
    local file = capture.file({ { capture.named("a", 0, 1, '"n":1'), capture.named("b", 0, 1, '"n":1') },
      { capture.named("a", 0, 2, '"n":2') } })
    assert.same({ "app:0:a:n" }, names(after(file, 2).rows))
  end)

  it("are those that the selectors' statistics name", function()
    assert.same({ "app:0:fast:calls", "app:0:slow:calls" },
      names(after(path, 2, { selectors = selectors("app:::calls") }).rows))
  end)

  it("are sorted by any of their figures, what has none last", function()
    local how = { filter = assert(rows.filter("app:")), sort = "rate" }
    local list = names(app.table:chosen(how))
    assert.same({ "app:0:fast:calls", "app:0:slow:calls" }, { list[1], list[2] })
    local n = #list
    how.reverse = true
    list = names(app.table:chosen(how))
    assert.equal(n, #list)
    assert.same({ "app:0:slow:calls", "app:0:fast:calls" }, { list[1], list[2] })
    how.sort, how.reverse = "value", false
    assert.equal("app:0:fast:calls", app.table:chosen(how)[1].name)
    how.sort, how.reverse = "name", true
    assert.equal("app:0:slow:calls", app.table:chosen(how)[1].name)
  end)

  it("pass a filter by text, or by regular expression", function()
    local function passing(text)
      return names(app.table:chosen({ filter = assert(rows.filter(text)), sort = "name" }))
    end
    assert.same({ "sd:0:sd0:nread", "sd:0:sd0:reads" }, passing("READ"))
    assert.same({ "sd:0:sd0:reads" }, passing("/:reads$/"))
    assert.same({ "sd:0:sd0:reads" }, passing("/:READS$/i"))
    assert.same({ "sd:0:sd0:reads" }, passing("/:reads$"))
    assert.equal(#app.table.list, #passing(""))
    assert.equal(#app.table.list, #passing("/"))
    local filter, message = rows.filter("/(/")
    assert.is_nil(filter)
    assert.matches("parenthesis", message)
  end)

  it("can be without idle ones, without gauges, without counters", function()
    assert.same({ "app:0:fast:calls", "app:0:slow:calls" }, names(app.table:chosen({ show = "counters",
      filter = rows.filter("app:0:"), skip_idle = true })))
    for _, r in ipairs(app.table:chosen({ show = "gauges" })) do
      assert.is_false(r.counter)
    end
    assert.is_true(#app.table:chosen({ show = "gauges" }) > 1)
  end)
end)

describe("the view", function()
  it("shows numbers in at most seven columns", function()
    for value, text in pairs({
      [0] = "0", [7] = "7", [99999] = "99999", [0.25] = "0.25", [12.345] = "12.35", [123.456] = "123.5",
      [1234.6] = "1235", [0.001] = "1e-03", [100000] = "100k", [123456] = "123k", [1.5e6] = "1.50M",
      [999600] = "1.00M", [99950000] = "100M", [2e9] = "2.00G", [1.8e19] = "18.0E", [-1.5e6] = "-1.50M",
      [-0.25] = "-0.25", [99999.7] = "100k", [1 / 0] = "-",
    }) do
      assert.equal(text, text_of.number(value))
    end
    assert.equal("-", text_of.number(nil))
    assert.equal("-", text_of.number(0 / 0))
    for exponent = -20, 25 do
      for _, digits in ipairs({ 1, 9.994, 9.996, 9.9999, 9.99996, 5.5 }) do
        assert.is_true(#text_of.number(-digits * 10 ^ exponent) <= 8)
        assert.is_true(#text_of.number(digits * 10 ^ exponent) <= 7, text_of.number(digits * 10 ^ exponent))
      end
    end
  end)

  it("lets no text command the terminal", function()
    assert.equal("a?[2Jb?", text_of.harmless("a\27[2Jb\r", true))
    assert.equal("?31m", text_of.harmless("\194\15531m", true))
    assert.equal("ä✓😀??", text_of.harmless("ä✓😀\255\226", true))
    assert.equal("??", text_of.harmless("ä", false))
  end)

  it("fits text into columns, not bytes", function()
    assert.equal("äö  ", text_of.fit("äö", 4))
    assert.equal("äö~", text_of.fit("äöüß", 3))
    assert.equal("", text_of.fit("x", 0))
  end)

  it("is a header, a line for each row, and the keys", function()
    local path = write_capture()
    finally(capture.clean)
    local app = after(path, 3, { filter = "/calls|rtime|rcnt/" })
    local lines = app:lines(80, 9, false)
    assert.same({
      "00:00:00  spec  3 kstats  4 of 13 statistics  every 1 s                         ",
      "    RATE    value unit        trend name                                        ",
      "    1500     3000                -@ app:0:fast:calls                            ",
      "       3        6                @@ app:0:slow:calls                            ",
      "    0.25     0.50 s              @@ sd:0:sd0:rtime                              ",
      "       -        2                @@ sd:0:sd0:rcnt                               ",
      (" "):rep(80),
      (" "):rep(80),
      "filter: /calls|rtime|rcnt/   q quit   r v n sort   R reverse   / filter   c kin~",
      reverse = 2,
    }, lines)
    assert.equal("    1500     3000                ▃█ app:0:fast:calls", (app:lines(80, 9, true)[3]:gsub(" +$", "")))
  end)

  it("fills a window of any size exactly", function()
    local path = write_capture()
    finally(capture.clean)
    local app = after(path, 3)
    for _, width in ipairs({ 1, 5, 20, 40, 79, 200 }) do
      for _, height in ipairs({ 1, 2, 3, 4, 24 }) do
        for _, help in ipairs({ true, false }) do
          app.help = help
          local lines = app:lines(width, height, false)
          assert.equal(height, #lines)
          for _, text in ipairs(lines) do
            assert.equal(width, #text)
          end
        end
      end
    end
  end)

  it("sends a terminal only the lines that changed", function()
    assert.equal("\27[0m\27[2J\27[1;1H\27[Ka\27[2;1H\27[Kb", view.update({ "a  ", "b  " }))
    assert.equal("\27[2;1H\27[Kc", view.update({ "a  ", "c  " }, { "a  ", "b  " }))
    assert.equal("", view.update({ "a" }, { "a" }))
    assert.matches("2J", view.update({ "a", "b" }, { "a" }))
  end)
end)

describe("the keys of top", function()
  local path, app

  setup(function() path = write_capture() end)
  before_each(function() app = after(path, 3) end)
  teardown(capture.clean)

  local function type_keys(...)
    local what
    for _, key in ipairs({ ... }) do
      what = app:key(key)
    end
    return what
  end

  it("sort", function()
    type_keys("n")
    assert.equal("app:0:fast:calls", app.rows[1].name)
    type_keys("R")
    assert.equal("sd:0:sd0:wtime", app.rows[1].name)
    type_keys("R", "v")
    assert.equal("sd:0:sd0:nread", app.rows[1].name)
    type_keys("r")
    assert.same({ "rate", "sd:0:sd0:nread" }, { app.sort, app.rows[1].name })
  end)

  it("filter while one types, also by what is not yet a regular expression", function()
    type_keys("/", "n", "w")
    assert.same({ "sd:0:sd0:nwritten" }, names(app.rows))
    assert.is_nil(type_keys("q"))
    assert.equal("nwq", app.text)
    type_keys("backspace", "backspace", "backspace", "/", "(")
    assert.matches("parenthesis", app.problem)
    assert.matches("parenthesis", app:lines(80, 5, false)[5])
    type_keys("r", "t", ")")
    assert.is_nil(app.problem)
    type_keys("enter")
    assert.same({ "sd:0:sd0:rtime" }, names({ app.rows[1] }))
    type_keys("escape")
    assert.equal(app.total, #app.rows)
    type_keys("/", "(", "/", "escape")
    assert.equal("", app.text)
    type_keys("/", "/", "(", "enter")
    assert.same({ "", false }, { app.text, app.editing })
    assert.is_nil(app.problem)
  end)

  it("pause, step, and change the interval", function()
    assert.equal("interval", type_keys("+"))
    assert.equal(2, app.interval)
    type_keys("-", "-")
    assert.equal(0.5, app.interval)
    for _ = 1, 30 do
      type_keys("-")
    end
    assert.equal(0.1, app.interval)
    app.interval = 7
    type_keys("+")
    assert.equal(10, app.interval)
    type_keys(" ")
    assert.is_true(app.paused)
    assert.equal("step", type_keys("."))
    type_keys(" ")
    assert.is_false(app.paused)
    assert.equal("quit", type_keys("q"))
    assert.equal("quit", type_keys("/", "ctrl-c"))
    assert.is_nil(app:key("x"))
  end)

  it("choose kinds and scroll", function()
    type_keys("c")
    assert.equal("counters", app.show)
    type_keys("c", "c", "z")
    assert.equal("all", app.show)
    assert.is_true(app.skip_idle)
    type_keys("z")
    app:lines(80, 6, false)
    type_keys("down", "down", "up")
    assert.equal(1, app.offset)
    type_keys("pagedown")
    assert.equal(4, app.offset)
    type_keys("end")
    assert.equal(#app.rows - 3, app.offset)
    type_keys("home")
    assert.equal(0, app.offset)
  end)
end)

describe("top without a terminal", function()
  local path
  setup(function() path = write_capture() end)
  teardown(capture.clean)

  it("reports a capture's samples", function()
    local r = run.run({ "kstatlua", "-r", path, "top", "-y", "-f", "/calls|nread|rtime|rcnt/", "*", "1" })
    assert.equal("", r.err)
    assert.equal([[
name                  rate  value unit
sd:0:sd0:nread   200000.00 200000 bytes
app:0:fast:calls    500.00   1500
app:0:slow:calls      3.00      3
sd:0:sd0:rtime        0.25   0.25 s
sd:0:sd0:rcnt            -      2

name                  rate  value unit
sd:0:sd0:nread   200000.00 400000 bytes
app:0:fast:calls   1500.00   3000
app:0:slow:calls      3.00      6
sd:0:sd0:rtime        0.25    0.5 s
sd:0:sd0:rcnt            -      2

name                  rate  value unit
sd:0:sd0:nread   200000.00 600000 bytes
app:0:fast:calls   2500.00   5500
app:0:slow:calls      3.00      9
sd:0:sd0:rtime        0.25   0.75 s
sd:0:sd0:rcnt            -      2
]], r.out)
    assert.equal(0, r.status)
  end)

  it("sorts, filters and takes selectors as the window does", function()
    local r = run.run({ "kstatlua", "top", "-r", path, "--csv", "--sort", "-rate", "-f", "calls", "app", "1", "2" })
    local lines = {}
    for name, rate in r.out:gmatch("\n[^,]*,([^,]*),([^,]*)") do
      lines[#lines + 1] = name .. " " .. rate
    end
    assert.same({ "app:0:slow:calls 3.00", "app:0:fast:calls 500.00" }, { lines[3], lines[4] })
  end)

  it("says in its data who publishes", function()
    local file = capture.file({ { '{"module":"app","instance":0,"name":"a","class":"misc","type":1,"snaptime":2,' ..
      '"publisher":{"name":"shop","uid":7,"pid":8},"data":{"crtime":0,"snaptime":2,"n":4}}' } })
    for option, line in pairs({ ["-j"] = '"publisher":"shop","uid":7,"pid":8', ["--csv"] = ",shop,7,8\n" }) do
      local r = run.run({ "kstatlua", "top", option, "app", "-r", "-", stdin = run.read_file(file) })
      assert.truthy(r.out:find(line, 1, true), r.out .. r.err)
    end
  end)

  it("shows everything of what has nothing that it shows by default", function()
    local file = capture.file({ { capture.named("a", 0, 2, '"n":4') } })
    local r = run.run({ "kstatlua", "top", "-r", "-", stdin = run.read_file(file) })
    assert.equal("name      rate value unit\napp:0:a:n 2.00     4\n", r.out)
  end)

  it("reads a recorded tree", function()
    local r = run.run({ "kstatlua", "top", "--csv", "--sort", "name", "-f",
      "/^(link:0:eth0:.*bytes$|tcp:0:tcp:currEstab)/",
      env = run.tree_env("small") })
    assert.equal("", r.err)
    local seen = {}
    for name, value, unit in r.out:gmatch("\n[^,]*,([^,]*),[^,]*,([^,]*),([^,\n]*)") do
      seen[#seen + 1] = name .. " " .. value .. " " .. unit
    end
    local expected = run.run({ "kstat", "-p", "link:0:eth0:/bytes$/", "tcp:0:tcp:currEstab",
      env = run.tree_env("small") })
    local wanted = {}
    for name, value in expected.out:gmatch("(%S+)\t(%S+)\n") do
      wanted[#wanted + 1] = name .. " " .. value .. (name:find("bytes") and " bytes" or " ")
    end
    assert.is_true(#wanted >= 3)
    assert.same(wanted, seen)
  end)

  it("reports this machine for two intervals", function()
    local r = run.run({ "kstatlua", "top", "-j", "unix:0:system_misc:/^(nproc|lbolt)$/",
      "unix:0:sys:pswitch", "0.05", "2" })
    assert.equal("", r.err)
    local _, switches = r.out:gsub('"name":"unix:0:sys:pswitch","rate":%d[^\n]*"value":%d+', "")
    local _, processes = r.out:gsub('"name":"unix:0:system_misc:nproc","rate":null,"value":%d+', "")
    assert.same({ 2, 2 }, { switches, processes })
  end)

  it("says what is wrong with a command line", function()
    for words, message in pairs({
      ["-X"] = "unknown option '%-X'", ["-f /(/"] = "parenthesis", ["--sort size"] = "no column 'size'",
      ["sd::/(/"] = "parenthesis", ["sd 0"] = "above 0",
    }) do
      local r = run.shell(run.bin .. "/kstatlua top " .. words:gsub("[(/]+", "'%0'") .. " </dev/null")
      assert.equal("", r.out, words)
      assert.matches("^top: [^\n]*" .. message .. "[^\n]*\n$", r.err)
      assert.equal(2, r.status)
    end
    local r = run.run({ "kstatlua", "top", "-r", "/nonexistent/capture" })
    assert.equal(3, r.status)
    assert.matches("^top: [^\n]*/nonexistent/capture[^\n]*\n$", r.err)
  end)
end)

describe("top on a terminal", function()
  local it = pty.it(it, pending)
  local path, terminal, kstatlua
  local dir

  setup(function()
    path = write_capture()
    dir = run.directory()
    kstatlua = run.quote(run.bin .. "/kstatlua")
  end)
  after_each(function()
    if terminal then
      terminal:close()
      terminal = nil
    end
  end)
  teardown(function()
    capture.clean()
    run.remove_directory(dir)
  end)

  -- Runs a line and then shows how it ended, and whether the terminal's mode is what it was. Ctrl-C ends the
  -- line, not the shell.
  local function guarded(line)
    return ("trap : INT; echo before; stty -g >%s/before; %s; echo status $?; stty -g >%s/after; " ..
      "cmp %s/before %s/after && echo same; sleep 999"):format(dir, line, dir, dir, dir)
  end

  local function assert_given_back()
    local text = terminal:await("status %d+\nsame\n")
    assert.equal("before", text:match("^[^\n]*"))
    return tonumber(text:match("status (%d+)"))
  end

  it("shows the one interval that ends at a time", function()
    local made = ("KSTAT_REPLAY_TIME=1700000000 %s convert -o %s/rec %s"):format(kstatlua, dir, path)
    terminal = pty.start(guarded(("%s && %s top -r %s/rec --at -0s \\*"):format(made, kstatlua, dir)), 80, 12)
    local text = terminal:await("app:0:fast:calls")
    assert.is_nil(text:find("since creation", 1, true))
    assert.matches("\n    2500     5500 +[^ ]+ app:0:fast:calls\n", text)
    terminal:send("q")
  end)

  it("steps through a capture, sorts, filters and gives the terminal back", function()
    terminal = pty.start(guarded(kstatlua .. " -r " .. path .. " top \\* 3600"), 80, 12)
    terminal:await("since creation")
    terminal:send(".", ".")
    local text = terminal:await("1500     3000")
    assert.matches("^%d%d:%d%d:%d%d  replay  3 kstats  13 of 13 statistics  every 3600 s\n" ..
      "    RATE    value unit        trend name\n    200k     400k bytes          ██ sd:0:sd0:nread\n" ..
      "    1500     3000                ▃█ app:0:fast:calls\n", text)
    terminal:send("/", "f", "a", "s")
    terminal:await("\n/fas_\n?$")
    text = terminal:await("2 of 13")
    assert.is_nil(text:find("sd0", 1, true))
    terminal:send("Escape")
    terminal:await("13 of 13")
    terminal:send("n")
    terminal:await("NAME\n[^\n]*app:0:fast:calls\n")
    terminal:send(".", ".")
    terminal:await("end of capture")
    terminal:send("h")
    terminal:await("q               quit")
    terminal:send("q")
    assert.equal(0, assert_given_back())
  end)

  it("redraws in place, and follows the window's size at once", function()
    terminal = pty.start(guarded(kstatlua .. " -r " .. path .. " top \\* 3600"), 80, 12)
    terminal:await("since creation")
    terminal:resize(100, 9)
    terminal:await("^[^\n]*\n +RATE[^\n]*\n[^\n]*:calls\n" .. ("[^\n]*\n"):rep(5) .. "q quit.*h help\n?$")
    terminal:send("q")
    terminal:await("status 0\nsame\n")
  end)

  it("takes a terminal that says it is larger than any for one that is large", function()
    terminal = pty.start(guarded("stty cols 65000 rows 65000; " .. kstatlua .. " top unix:0:sys 0.05 3"))
    assert.equal(0, assert_given_back())
  end)

  it("goes on by itself, until the count", function()
    terminal = pty.start(guarded(kstatlua .. " top unix:0:sys 0.05 6"))
    assert.equal(0, assert_given_back())
    terminal:close()
    terminal = pty.start(guarded(kstatlua .. " -r " .. path .. " top \\* 0.05"))
    terminal:await("end of capture")
    terminal:send("q")
    assert.equal(0, assert_given_back())
  end)

  it("pauses, and changes the interval", function()
    terminal = pty.start(guarded(kstatlua .. " top unix:0:sys 0.1"))
    terminal:await("every 0.1 s\n")
    terminal:send("Space")
    terminal:await("every 0.1 s  paused\n")
    terminal:send("+", "+")
    terminal:await("every 0.5 s  paused\n")
    terminal:send("Space")
    terminal:await("every 0.5 s\n")
    terminal:send("C-c")
    assert.equal(0, assert_given_back())
  end)

  it("ends at SIGTERM with the terminal given back", function()
    terminal = pty.start(guarded("sh -c 'echo $$ >" .. dir .. "/pid; exec " .. kstatlua .. " top unix:0:sys 60'"))
    terminal:await("since creation")
    run.shell("kill -TERM $(cat " .. dir .. "/pid)")
    assert.equal(0, assert_given_back())
  end)

  it("gives it back when it hangs up or is killed the hard way", function()
    for signal, status in pairs({ HUP = 129, QUIT = 131 }) do
      terminal = pty.start(guarded("ulimit -c 0; sh -c 'echo $$ >" .. dir .. "/pid; exec " .. kstatlua ..
        " top unix:0:sys 60'"))
      terminal:await("since creation")
      run.shell(("kill -%s $(cat %s/pid)"):format(signal, dir))
      assert.equal(status, assert_given_back())
      terminal:close()
    end
  end)

  it("gives it back while it is stopped, and takes it again", function()
    -- Short names: the shell shows the whole line again, which must not wrap.
    run.shell(("cp %s %s/capture"):format(path, dir))
    terminal = pty.start(("cd %s; exec env PATH=%s:$PATH PS1=%% ENV= sh -im"):format(dir, run.quote(run.bin)), 80, 12)
    terminal:await("%", true)
    terminal:send("stty -g >a; kstatlua -r capture top \\* 3600", "Enter")
    terminal:await("since creation")
    terminal:send("C-z")
    terminal:await("Stopped")
    terminal:send("stty -g >b; cmp a b && echo same mode", "Enter")
    terminal:await("\nsame mode\n")
    terminal:send("fg", "Enter")
    local text = terminal:await("since creation")
    assert.is_nil(text:find("same mode", 1, true))
    assert.matches("q quit", text)
    terminal:send(".")
    terminal:await("3 kstats  13 of 13 statistics  every 3600 s\n")
    terminal:send("q")
    terminal:await("top %* 3600\n%%\n")
    terminal:send("stty -g >b; cmp a b && echo mode as before", "Enter")
    terminal:await("\nmode as before\n")
  end)

  it("gives it back before the message of an error, which is not lost", function()
    local script = dir .. "/fails.lua"
    run.write_file(script, [[
      local top = require("kstat.top")
      local lines = getmetatable(top.new({ selectors = {} })).__index
      lines.lines = function() error("drawing failed") end
      top.run(kstat.open(), { selectors = { kstat.selector("unix:0:sys") } })
    ]])
    terminal = pty.start(guarded(kstatlua .. " " .. script), 100, 20)
    assert.equal(1, assert_given_back())
    assert.matches("fails.lua:3: drawing failed", terminal:screen())
  end)

  it("gives it back when a script forgets to", function()
    for _, ending in ipairs({ "", "os.exit(0)", "error(\"forgotten\")", "local core = require(\"kstat.core\") " ..
      "core.looping(true) io.popen(\"kill -INT $PPID\"):close() io.popen(\"kill -INT $PPID\"):close()" }) do
      terminal = pty.start(guarded(kstatlua .. " -e 'screen = require(\"kstat.core\").screen(\"\\27[?1049h\", " ..
        "\"\\27[?1049l\") screen:enter() " .. ending .. "'"))
      assert_given_back()
      terminal:close()
    end
  end)

  it("gives it back in an interpreter that knows nothing of signals", function()
    terminal = pty.start(guarded("KSTAT_BUILD=" .. run.quote(run.build) .. " " .. run.lua ..
      " -e 'dofile(\"spec/helper.lua\") " ..
      "local top = require(\"kstat.top\") local kstat = require(\"kstat\") " ..
      "print(top.run(kstat.open(), { selectors = { kstat.selector(\"unix:0:sys\") } }))'"), 100, 12)
    terminal:await("since creation")
    terminal:send("C-c")
    assert.equal(0, assert_given_back())
  end)

  it("takes keys from the terminal when the capture comes through a pipe", function()
    terminal = pty.start(guarded(("cat %s | %s -r - top \\* 3600"):format(path, kstatlua)), 80, 12)
    terminal:await("since creation")
    terminal:send(".")
    terminal:await("500     1500")
    terminal:send("q")
    assert.equal(0, assert_given_back())
  end)

  it("is left alone where it can do nothing", function()
    terminal = pty.start("TERM=dumb " .. kstatlua .. " -r " .. path .. " top app::slow:calls 1 1; echo done; sleep 999")
    assert.matches("^name +rate value unit\napp:0:slow:calls +0.00 +0\ndone\n", terminal:await("done\n"))
  end)
end)

describe("kstat.core.screen", function()
  it("says that there is no terminal", function()
    local r = run.shell("setsid " .. run.quote(run.bin .. "/kstatlua") ..
      " -e 'print(require(\"kstat.core\").screen(\"\", \"\"))' </dev/null")
    assert.matches("^nil\tno terminal to read keys from: [^\n]*\tENXIO\n$", r.out)
  end)

  it("refuses what is no text of a terminal", function()
    assert.is_false(pcall(core.screen))
    assert.is_false(pcall(core.screen, ("x"):rep(65), ""))
  end)
end)
