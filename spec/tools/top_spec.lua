-- kstatlua top: its parts, its reports on a capture, a recorded tree and this machine, and its window
-- on a terminal.
local capture = require("support.capture")
local core = require("kstat.core")
local keys = require("kstat.top.keys")
local run = require("support.run")
local text_of = require("kstat.base.text")

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

describe("keys", function()
  local function parsed(bytes, final)
    local list, rest = keys.parse(bytes, final)
    return table.concat(list, " ") .. (rest ~= "" and " +" .. #rest or "")
  end

  it("are characters and the names of what is none", function()
    assert.equal("q R / enter enter tab backspace backspace ctrl-c ctrl-l other",
      parsed("qR/\r\n\t\127\8\3\12\1"))
    assert.equal("é ✓ 😀 x", parsed("é✓😀x"))
  end)

  it("are found in the sequences of terminals", function()
    assert.equal("up down right left", parsed("\27[A\27[B\27OC\27OD"))
    assert.equal("home end home end pageup pagedown delete insert",
      parsed("\27[H\27[F\27[1~\27[4~\27[5~\27[6~\27[3~\27[2~"))
    assert.equal("up f5 f1 q", parsed("\27[1;5A\27[15~\27OPq"))
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

describe("texts", function()
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
    assert.equal("a?b?c", text_of.harmless("a\216\156b\226\128\174c", true))
    assert.equal("ä✓😀??", text_of.harmless("ä✓😀\255\226", true))
    assert.equal("??", text_of.harmless("ä", false))
  end)

  it("fits text into columns, not bytes", function()
    assert.equal("äö  ", text_of.fit("äö", 4))
    assert.equal("äö~", text_of.fit("äöüß", 3))
    assert.equal("", text_of.fit("x", 0))
    assert.equal("中~ ", text_of.fit("中文字", 4))
    assert.equal("e\204\129~", text_of.fit("e\204\129xy", 2))
    assert.equal("日本~です", text_of.shorten("日本語の名前です", 9))
    assert.equal("日本\n 語の", text_of.wrap("日本 語の", 5, 1))
    assert.equal(3, core.columns_of("\27[31m中\27[m\255"))
  end)

end)

describe("top without a terminal", function()
  local path
  setup(function() path = write_capture() end)
  teardown(capture.clean)

  it("prints a frame of each interval of a capture, whose first line alone does not begin with a blank", function()
    local r = run.run({ "kstatlua", "-r", path, "top", "-f", "/calls|nread|rtime|rcnt/", "*", "1", "2",
      env = { KSTAT_REPLAY_TIME = "1700000000", TZ = "UTC", LC_ALL = "C", COLUMNS = "60" } })
    assert.equal("", r.err)
    assert.equal([[
replay  2023-11-14 22:13:21 PAST 1s
 5 of 13 statistics

 rate value unit    trend name
 200k  200k bytes       @ sd:0:sd0:nread
  500  1500             @ app:0:fast:calls
    3     3             @ app:0:slow:calls
 0.25  0.25 s           @ sd:0:sd0:rtime
    -     2             @ sd:0:sd0:rcnt

replay  2023-11-14 22:13:22 PAST 1s
 5 of 13 statistics

 rate value unit    trend name
 200k  400k bytes      @@ sd:0:sd0:nread
 1500  3000             @ app:0:fast:calls
    3     6             @ app:0:slow:calls
 0.25  0.50 s          @@ sd:0:sd0:rtime
    -     2             @ sd:0:sd0:rcnt

]], r.out)
    assert.equal(0, r.status)
  end)

  it("prints frames of at most a screen, without a byte for a terminal unless colours are asked for", function()
    local env = run.tree_env("small", { COLUMNS = "50", LINES = "9" })
    for _, words in ipairs({ { "-b", "0.01", "2" }, { "*", "0.01", "2" }, { "--view", "disks", "-z", "0.01", "2" } }) do
      local r = run.run({ "kstatlua", "top", env = env, (table.unpack or unpack)(words) })
      assert.equal("", r.err)
      local n = 0
      for frame in r.out:gmatch("(%S.-\n)\n%f[%S%z]") do
        n = n + 1
        assert.is_true(select(2, frame:gsub("\n", "")) < 9, frame)
        for line in frame:gmatch("[^\n]+") do
          assert.is_true(#line <= 50, line)
        end
      end
      assert.equal(2, n, r.out)
      assert.falsy(r.out:find("\27", 1, true))
    end
    local line = run.run({ "kstatlua", "top", "-b", "0.01", "1",
      env = run.tree_env("small", { COLUMNS = "1", LINES = "1" }) })
    assert.same({ "", 2 }, { line.err, #line.out:gsub("[^\n]", "") })
    local r = run.run({ "kstatlua", "top", "--color=always", "-b", "0.01", "1", env = run.tree_env("small") })
    assert.truthy(r.out:find("\27[", 1, true))
  end)

  it("begins with the view of --view, and gives its rows as data", function()
    local env = run.tree_env("small")
    local r = run.run({ "kstatlua", "top", "-b", "--view=disks", "--sort=-name", "0.01", "1", env = env })
    assert.matches("^[^\n]+\n DISK[^\n]*\n cciss/c0d1 .*\n LINK", r.out)
    r = run.run({ "kstatlua", "top", "-j", "--view", "disks", "0.01", "1", env = env })
    assert.matches('^{"report":"disks",[^\n]*"since_creation":false,"DISK":"', r.out)
    assert.same({ "", 0 }, { r.err, r.status })
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
    local r = run.run({ "kstatlua", "top", "--view=any", "-r", "-", stdin = run.read_file(file) })
    assert.matches("\n 1 of 1 statistics, without idle ones\n\n rate value unit[^\n]*\n    %-     4 +app:0:a:n\n\n$",
      r.out)
  end)

  it("reads a recorded tree", function()
    local r = run.run({ "kstatlua", "top", "--csv", "--sort", "name", "-f",
      "/^(link:0:eth0:.*bytes64$|tcp:0:tcp:currEstab)/",
      env = run.tree_env("small") })
    assert.equal("", r.err)
    local seen = {}
    for name, value, unit in r.out:gmatch("\n[^,]*,([^,]*),[^,]*,([^,]*),([^,\n]*)") do
      seen[#seen + 1] = name .. " " .. value .. " " .. unit
    end
    local expected = run.run({ "kstat", "-p", "link:0:eth0:/bytes64$/", "tcp:0:tcp:currEstab",
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

  it("begins with the first view that has what it is sorted by", function()
    for column, title in pairs({ value = "trend", ["CPU%"] = "PROCESS", ["-UTIL"] = "RESOURCE" }) do
      assert.matches("\n [^\n]*" .. title, run.shell(run.bin .. "/kstatlua top -b --sort " .. column .. " 0.05 1").out)
    end
  end)

  it("says what is wrong with a command line", function()
    for words, message in pairs({
      ["-X"] = "unknown option '%-X'", ["-f /(/"] = "parenthesis", ["--sort nix"] = "no column 'nix'",
      ["sd::/(/"] = "parenthesis", ["sd 0"] = "above 0", ["--view nix"] = "no view 'nix', but: resources",
      ["--view 0"] = "no view '0'", ["--summary"] = "%-j and %-%-csv have one",
      ["examples/cpu_spark.lua"] = "'examples/cpu_spark.lua' is no view", ["record"] = "'record' is no view",
      ["kstat -p unix"] = "'kstat' is no view", ["no.lua"] = "cannot open script 'no%.lua'",
      ["--csv --json"] = "%-%-json and %-%-csv cannot be used together", ["-j --watch"] = "cannot be used together",
      ["--view resources --openmetrics"] = "%-j and %-%-csv have it, and 'kstatlua use %-%-openmetrics' its metrics",
      ["--view 2 unix:0:sys -j"] = "'unix:0:sys': the view 'processes' takes no selectors",
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
