-- What is typed in good faith and matches nothing: one line says what the word is, and what to type.
local run = require("support.run")

local words = dofile("lua/kstat/base/words.lua")

local tree = run.tree_env("small")

local function said(...)
  local r = run.run({ env = tree, ... })
  return r.err, r.status, r.out
end

describe("a bare word", function()
  it("is told what it is, with an unchanged output and status", function()
    for word, line in pairs({
      disk = "'disk' is a class: kstat -c disk", nvme0n1 = "'nvme0n1' is a name: kstat -n nvme0n1",
      pswitch = "'pswitch' is a statistic: kstat -s pswitch", iostat = "'iostat' is a command: kstatlua iostat",
      ["/dev/nvme0n1"] = "'/dev/nvme0n1' is the device 'nvme0n1': kstat -n nvme0n1",
      ["/"] = "'/' is a mount point: kstat -n /", nvme0m1 = "no kstat matches 'nvme0m1'; did you mean 'nvme0n1'? " ..
        "kstat -n nvme0n1",
      ps = "'ps' is no command of kstat; processes (by memory: -s rss): kstatlua prstat",
      dmesg = "'dmesg' is no command of kstat, which does not show messages of the kernel; dmesg does",
    }) do
      assert.same({ "kstat: " .. line .. "\n", 1, "" }, { said("kstat", word) })
      local host = line:gsub("^no kstat matches '(%w+)'", "no script '%1': neither a file nor installed")
      if word ~= "iostat" then
        assert.same({ "kstatlua: " .. host .. "\n", 2, "" }, { said("kstatlua", word) })
      end
    end
    local line = "'disk' is a class: "
    for _, letter in ipairs({ "-m", "-n", "-i" }) do
      assert.same({ "kstat: " .. line .. "kstat -c disk\n", 1, "" }, { said("kstat", "-p", letter, "disk") })
    end
    assert.same({ "kstat: 'nvme0n1' is a name: kstat -n nvme0n1\n", 1, "" }, { said("kstat", "-c", "nvme0n1") })
    local text, status = said("kstatlua", "top", "-b", "disk")
    assert.same({ "top: " .. line .. "cciss dm loop mmcblk nvme\n", 1 }, { text, status })
    assert.same({ "", 1, "" }, { said("kstat", "-q", "disk") })
  end)

  it("in a script's select is answered as a script writes it", function()
    local r = run.run({ env = tree, "kstatlua", "-e",
      'return kstat.report({ name = "r", select = "disk", columns = { { "n", "name" } } })' })
    assert.equal("r: 'disk' is a class: { class = \"disk\" }\n", r.err)
  end)

  it("is told what it is, where a command has a name like it", function()
    assert.equal("kstatlua: 'tcp' is a module: kstat -m tcp\n", (said("kstatlua", "tcp")))
  end)

  it("may be a process or a user of this machine", function()
    assert.matches("^kstatlua: '1' is the process [^\n]+: kstatlua prstat %-p 1\n$", run.run({ "kstatlua", "1" }).err)
    assert.equal("kstat: 'root' is a user: kstatlua prstat -u root\n", run.run({ "kstat", "root" }).err)
  end)

  it("that begins with a digit and is no interval is an operand, unless it has an exponent", function()
    assert.same({ "kstat: no kstat matches '8021q'; the unit of an interval is one of ms, s, m, h and d\n", 1, "" },
      { said("kstat", "-p", "8021q") })
    local _, status, out = said("kstat", "-p", "unix:0:sys:pswitch", "8021q")
    assert.same({ 0, 1 }, { status, select(2, out:gsub("\n", "")) })
    local err
    err, status, out = said("kstatlua", "vmstat", "1e9")
    assert.same({ "vmstat: interval '1e9': digits without an exponent expected", 2, "" },
      { err:match("^[^;]*"), status, out })
    assert.matches("^kstat: '1e9' is no interval and no count: ", (said("kstat", "cpu", "1e9")))
  end)

  it("that is empty is no interval of 0", function()
    assert.matches("^kstat: an empty word is no operand and no interval;", (said("kstat", "")))
  end)

  it("has its quotes in what to type, too", function()
    local known = require("kstat.base.known")
    assert.equal([[kstat -n 'a'\''; b']], known.form("kstat", "name", "a'; b"))
    assert.equal("kstat -n 'a b'", known.form("kstat", "name", "a b"))
    assert.equal("kstat -n sda", known.form("kstat", "name", "sda"))
  end)

  it("that nothing in a FIFO matches is told without opening the FIFO again", function()
    local directory = run.directory()
    run.write_file(directory .. "/r.lua",
      'return kstat.report({ name = "r", select = "disk", columns = { { "name" } } })')
    for _, command in ipairs({ "kstat -p -r f disk", "kstatlua -r f ./r.lua", "kstatlua ./r.lua -r f" }) do
      local r = run.shell(("cd %s && rm -f f && mkfifo f && PATH=%s:$PATH && { kstat -j unix > f & } && " ..
        "timeout -s KILL 20 %s"):format(directory, run.bin, command))
      assert.equal(1, r.status, command)
    end
    run.remove_directory(directory)
  end)

  it("from anybody is one line of at most 200 columns, and nothing in it is obeyed", function()
    local anybody = { "\27[2Jx", "a\nb", "\194\155x", "\226\128\174x", "\255", ("x"):rep(10000), ("x "):rep(5000),
      "", "-", "--", "/no/such/path", "/etc", "zz*", "[", "/[/", "/[" .. ("x"):rep(300) .. "/", "диск", "磁盘",
      "'", "%s", "a b" }
    for _, word in ipairs(anybody) do
      for _, command in ipairs({ { "kstat", word }, { "kstatlua", word }, { "kstat", "-c", word },
        { "kstatlua", "vmstat", word }, { "kstatlua", "--" .. word }, { "kstatlua", "vmstat", "--" .. word } }) do
        command.env = tree
        local text = run.run(command).err
        assert.truthy(text == "" or text:find("^[^\n]*\n$"), text)
        assert.falsy(text:find("[%z\1-\9\11-\31\127]") or text:find("\194[\128-\159]") or text:find("\226\128\174") or
          text:find("\255"), text)
        assert.is_true(#text <= 200 + #("диск"), text)
      end
    end
  end)
end)

describe("the words of others", function()
  it("are many, and none is a command of ours", function()
    local count = 0
    for word, row in pairs(words) do
      count = count + 1
      assert.is_nil(io.open("scripts/" .. word .. ".lua"), word)
      assert.truthy(#row[2] + #(row[3] or "") < 100, word)
    end
    assert.is_true(count >= 40)
    for word in ([[ps pidstat w who uptime free df du ss netstat lsof ip ifconfig ifstat iftop nload dstat dool sar
      atop htop btop glances nmon numastat lscpu lsblk slabtop perf bpftrace dmesg watch lockstat zpool sysdef psrinfo
      swap load mem network container help nginx biolatency runqlat ping route
      temperature]]):gmatch("%S+") do
      assert.truthy(words[word], word)
    end
  end)

  it("are answered by the option that stands behind them", function()
    local function typed(...)
      return run.run({ env = tree, "kstatlua", ... }).err:match(": (kstatlua [^\n]+)\n$")
    end
    for command, line in pairs({ ["sar -n DEV"] = "nicstat --from -1h", ["sar -d"] = "iostat -x --from -1h",
      ["sar -u 1 5"] = "mpstat -a --from -1h", ["sar"] = "vmstat --from -1h", ["sar -f x"] = "vmstat -r FILE",
      ["pidstat -u"] = "prstat", ["pidstat -r"] = "prstat -s rss", ["pidstat -t"] = "prstat -L",
      ["pidstat -d 1"] = "prstat -d", ["pidstat -p 1"] = "prstat -p PID", ["ps -ef"] = "prstat -A",
      ["htop -u root"] = "top -u USER", ["netstat -tlnp"] = "listen", ["dladm show-link"] = "nicstat",
      ["node_load1"] = "exporter --names node", ["biolatency"] = "iostat -xn" }) do
      local list = {}
      for word in command:gmatch("%S+") do
        list[#list + 1] = word
      end
      assert.equal("kstatlua " .. line, typed((table.unpack or unpack)(list)), command)
    end
  end)

  it("name command lines that run", function()
    local done, env = {}, run.tree_words("small")
    for word, row in pairs(words) do
      local line = row[3]
      if line and not done[line] then
        done[line] = true
        -- Those that serve, write or look at the past explain themselves; the others look once, as briefly as they can.
        local explains = line:find("exporter") or line:find("record") or line:find("--from", 1, true) or
          line:find("--watch", 1, true)
        local r = run.shell(("%s PATH=%s:$PATH; %s%s"):format("export " .. env, run.bin, line,
          explains and " --help" or line:find("^kstatlua") and " 0.01 1" or ""))
        assert.truthy(r.status == 0 or r.status == 1 and not r.err:find("is no") , word .. ": " .. r.err)
        assert.falsy(r.err:find("unknown", 1, true) or r.err:find("explains", 1, true), word .. ": " .. r.err)
      end
    end
  end)
end)

describe("where nothing is recorded", function()
  it("the line names what begins to record", function()
    for _, typed in ipairs({ { "diff" }, { "diff", "--at", "-1h" }, { "use", "--at", "-1h" },
      { "top", "-b", "--at", "-1h" } }) do
      local command = { "kstatlua", (table.unpack or unpack)(typed) }
      command.env = { KSTAT_RECORDINGS = "/nowhere" }
      local r = run.run(command)
      assert.equal(2, r.status)
      assert.matches(": nothing is recorded in /nowhere: 'kstatlua record %-%-directory /nowhere 10' begins", r.err)
    end
    local services = run.shell("test -d /run/systemd/system").status == 0 and "systemctl enable --now kstat-record" or
      "kstatlua record --directory /var/log/kstat 10"
    local r = run.run({ "kstatlua", "vmstat", "--at", "-1h" })
    assert.truthy(not r.err:find("nothing is recorded", 1, true) or r.err:find(services, 1, true), r.err)
  end)

  it("and where something is, diff looks at the end of it", function()
    local directory = run.directory()
    run.shell(("cp spec/vectors/cookbook/after.rec %s/"):format(directory))
    local r = run.run({ "kstatlua", "diff", env = { KSTAT_RECORDINGS = directory } })
    run.remove_directory(directory)
    assert.same({ "", 0 }, { r.err, r.status })
    assert.matches("^window ", r.out)
  end)
end)
