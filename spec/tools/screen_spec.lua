-- kstatlua top on terminals, which tmux plays: every view in windows of three sizes, every key, now and in the past,
-- and what terminals, signals, names and large machines do to it.
local pty = require("support.pty")
local run = require("support.run")

local it = pty.it(it, pending)
local top = run.quote(run.bin .. "/kstatlua") .. " top "

local dir
setup(function() dir = run.directory() end)
teardown(function() run.remove_directory(dir) end)

-- Starts top with these arguments in a window of that size. It lies in a larger terminal, which shows what goes beyond
-- it. variables: in front of the command.
local function start(arguments, width, height, variables)
  return pty.start(("stty cols %d rows %d; exec env %s %s"):format(width, height, variables or "", top .. arguments),
    140, 50)
end

local function assert_fits(terminal, width, height)
  local text, n = terminal:screen(), 0
  for line in text:gmatch("([^\n]*)\n") do
    n = n + 1
    assert.is_true(require("kstat.core").columns_of(line) <= width and (n <= height or line == ""),
      ("beyond %d columns and %d lines:\n%s"):format(width, height, text))
  end
  return text
end

-- A process that publishes, with a name that is wide, combines, and commands terminals.
local function start_publisher()
  run.write_file(dir .. "/publisher.lua", [[
    local kstat = require("kstat")
    local f = assert(io.open("/proc/self/comm", "w"))
    f:write("\27[2J\230\188\162\204\129x\r\n")
    f:close()
    local times = assert(assert(kstat.publish("shop")):histogram({ name = "\230\188\162\229\173\151x\204\129_ns",
      type = "log10_lin", range_min = 3, range_max = 9, stepping = 5 }))
    print("ready")
    io.stdout:flush()
    for _ in kstat.every(0.1) do times:add_value(1000) end
  ]])
  local out = dir .. "/ready"
  local pid = run.start(("env KSTAT_DIR=%s %s/kstatlua %s/publisher.lua"):format(dir, run.bin, dir), out)
  run.await("the publisher", function() return run.read_file(out) == "ready\n" end)
  return pid
end

describe("every view", function()
  local publisher
  setup(function() publisher = start_publisher() end)
  teardown(function() run.stop(publisher) end)

  -- What a window that is high enough shows of each view.
  local SHOWS = { resources = "\n RESOURCE ", processes = "\n PROCESS ", cgroups = "\n CGROUP", disks = "\n DISK",
    statistics = " statistics[^\n]*without idle", published = "\n PUBLISHED [^\n]*\n shop:漢字x\204\129_ns " }

  for _, size in ipairs({ { 80, 24 }, { 120, 40 }, { 20, 5 } }) do
    local width, height = size[1], size[2]
    it(("fits a window of %d columns and %d lines, also with help and a selection"):format(width, height), function()
      local terminal = start("0.2", width, height, "KSTAT_DIR=" .. dir)
      for i, view in ipairs(require("kstat.top.views")) do
        terminal:send(tostring(i))
        terminal:await(height > 5 and SHOWS[view.name] or "LIVE")
        assert_fits(terminal, width, height)
        terminal:send("Down", "End", "h")
        terminal:await("1 to 6")
        assert_fits(terminal, width, height)
        terminal:send("h", "v", ">", "r")
        assert_fits(terminal, width, height)
      end
    end)
  end
end)

describe("the screen", function()
  -- A line, and then how it ended, and whether the terminal's mode is what it was. Ctrl-C ends the line, not the shell.
  local function guarded(line, width, height)
    return pty.start(("cd %s; trap : INT; echo before; stty -g >before; { %s; }; echo status $?; stty -g >after; " ..
      "cmp before after && echo same; sleep 999"):format(dir, line), width, height)
  end

  local function assert_given_back(terminal, status)
    local text = terminal:await("status %d+\nsame\n")
    assert.equal("before", text:match("^[^\n]*"))
    assert.equal(status, tonumber(text:match("status (%d+)")))
  end

  -- The line of a process whose number is in the file pid.
  local function with_pid(line)
    return ("ulimit -c 0; sh -c 'echo $$ >pid; exec %s'"):format(line:gsub("'", "'\\''"))
  end

  it("goes on by itself until the count, or until the key q", function()
    assert_given_back(guarded(top .. "0.05 6"), 0)
    local terminal = guarded(top .. "60")
    terminal:await("LIVE 60s")
    terminal:send("q")
    assert_given_back(terminal, 0)
  end)

  it("is held, steps, and changes the interval", function()
    local terminal = guarded(top .. "10")
    terminal:await("LIVE 10s")
    terminal:send("-", "-")
    terminal:await("LIVE 3s")
    terminal:send("+", "Z")
    terminal:await("PAUSED")
    terminal:send(".", "Z")
    terminal:await("LIVE 5s")
    terminal:send("C-c")
    assert_given_back(terminal, 0)
  end)

  it("gives the terminal back at every signal that ends it", function()
    for signal, status in pairs({ TERM = 0, HUP = 129, QUIT = 131 }) do
      local terminal = guarded(with_pid(top .. "60"))
      terminal:await("LIVE 60s")
      run.shell(("kill -%s $(cat %s/pid)"):format(signal, dir))
      assert_given_back(terminal, status)
      terminal:close()
    end
  end)

  it("gives the terminal back while it is stopped, and takes it again", function()
    run.write_file(dir .. "/run", "echo $$ >pid; exec kstatlua top 60\n")
    local terminal = pty.start(("cd %s; exec env PATH=%s:$PATH PS1=%% ENV= sh -im"):format(dir, run.quote(run.bin)))
    terminal:await("%", true)
    terminal:send("stty -g >a; sh run", "Enter")
    terminal:await("LIVE 60s")
    terminal:send("C-z")
    terminal:await("Stopped")
    terminal:send("stty -g >b; cmp a b && echo same mode", "Enter")
    terminal:await("\nsame mode\n")
    terminal:send("fg", "Enter")
    assert.is_nil(terminal:await("LIVE 60s"):find("same mode", 1, true))
    terminal:send("q")
    terminal:await("%%fg\nsh run\n%%\n")
  end)

  it("goes on after a signal that it cannot see stopped it, and somebody else had the terminal", function()
    local terminal = guarded(with_pid(top .. "60"))
    terminal:await("LIVE 60s")
    local pid = run.read_file(dir .. "/pid"):match("%d+")
    run.shell(("kill -STOP %s; until grep -q ') T ' /proc/%s/stat; do sleep 0.01; done"):format(pid, pid))
    run.shell(("stty -F %s sane; echo noise >%s"):format(terminal:tty(), terminal:tty()))
    run.shell("kill -CONT " .. pid)
    run.await("the screen", function() return not terminal:screen():find("noise") end)
    terminal:send("h")
    terminal:await("1 to 6")
    terminal:send("q") -- closes the help
    terminal:await("1resources")
    terminal:send("q")
    assert_given_back(terminal, 0)
  end)

  it("follows the size of its window while a key is held", function()
    local terminal = pty.start("exec " .. top .. "0.1", 80, 24)
    terminal:await("1resources")
    for width = 20, 120, 10 do
      terminal:send("Down", "Down", "4", "Up", "1")
      terminal:resize(width, width % 20 + 5)
    end
    terminal:send("1")
    terminal:resize(80, 12)
    terminal:await("^[^\n]*LIVE 0.1s" .. ("[^\n]*\n"):rep(11) .. " 1resources[^\n]*q\n?$")
  end)

  it("has the first interval while a key is held", function()
    local terminal, held, text = start("5", 80, 24), 0
    repeat
      terminal:send("j", "k")
      text, held = terminal:screen(), held + 1
    until text:find("LIVE", 1, true) and not text:find("of an interval yet", 1, true) or held == 100
    assert.is_true(held < 100, text)
  end)

  it("takes a terminal that says it is larger than any for one that is large", function()
    assert_given_back(guarded("stty cols 65000 rows 65000; " .. top .. "0.05 3"), 0)
  end)

  it("shows names that are wide, combine, and command terminals", function()
    local publisher = start_publisher()
    for locale, name in pairs({ ["C.UTF-8"] = "?[2J漢\204\129x??", C = "?[2J?????x??" }) do
      local terminal = start("0.2", 80, 24, "LC_ALL=" .. locale)
      terminal:send("2", "F4", "[", "2", "j", "Enter")
      terminal:await("\n " .. name .. " ", true)
      local text = assert_fits(terminal, 80, 24)
      assert.is_true(locale == "C.UTF-8" or not text:find("[\128-\255]"))
      terminal:close()
    end
    run.stop(publisher)
  end)

  it("is left alone where it can do nothing", function()
    local terminal = guarded("TERM=dumb " .. top .. "unix:0:sys 0.05 2")
    local text = terminal:await("status 0\nsame\n")
    assert.matches("unix:0:sys:pswitch", text)
  end)
end)

describe("the past of the screen", function()
  local RECORDING = "spec/vectors/past/faults.rec"
  local AT = 1795409602 -- in the first fault, which took the CPUs

  local function replay(width, height, variables)
    return start(("-r %s --at %d"):format(RECORDING, AT), width, height, variables)
  end

  it("steps by a sample, a minute and an hour, and to a time, in each of which it says where it is", function()
    local terminal = replay(80, 24)
    terminal:await("2026%-11%-23 04:53:21 PAST 1s.*since 04:52:59.*\n cpuhog ")
    for _, step in ipairs({ { "Left", "04:53:20 PAST" }, { "Right", "04:53:21 PAST" },
      { "]", "04:54:21 PAST.*\n CRITICAL disk vda: .*diskhog" }, { "[", "04:53:21 PAST" },
      { "}", "04:57:08 PAST" }, { "Right", "this is the last sample" }, { "{", "04:52:33 PAST" },
      { "Left", "this is the first sample" } }) do
      terminal:send(step[1])
      terminal:await(step[2])
    end
    terminal:send("g", "04:55", "Enter")
    terminal:await("04:55:00 PAST.*\n ok all")
    terminal:send("g", "03:12", "Enter")
    terminal:await("the first sample is of 2026%-11%-23 04:52:33")
    terminal:send("g", "soon", "Enter")
    terminal:await("'soon' is not a time")
    for key, message in pairs({ ["+"] = "the interval is that of the recording", y = "y means nothing here",
      ["9"] = "there is no view 9", Z = "the past stands still", ["F9"] = "this is the past: a signal needs" }) do
      terminal:send(key)
      terminal:await(message)
    end
    terminal:send("q")
  end)

  it("goes to the moments at which a state changes", function()
    local terminal = replay(80, 24)
    terminal:await("04:53:21 PAST")
    terminal:send("N")
    terminal:await("04:53:17 PAST[^\n]*\n CRITICAL cpu")
    terminal:send("d")
    terminal:await("\n last day +[-+#]\n")
    terminal:send("d", "n")
    terminal:await("\n last hour [^\n]*\n")
    terminal:await("04:53:26 PAST[^\n]*\n warning cpu")
  end)

  it("is left by each view that was shown there", function()
    local recordings = run.directory()
    run.shell(("cp %s %s/kstat-20261123-045233.rec"):format(RECORDING, recordings))
    local terminal = start("60", 80, 24, "KSTAT_RECORDINGS=" .. recordings)
    terminal:await("LIVE 60s")
    terminal:send("Left", "2")
    terminal:await("04:57:08 PAST[^\n]*\n PROCESS")
    terminal:send("1", "L")
    terminal:await("LIVE 60s[^\n]*\n.*\n RESOURCE")
    terminal:send("2")
    local text = terminal:await("LIVE 60s[^\n]*\n PROCESS")
    assert.is_nil(text:find("04:57:0", 1, true), text)
    run.remove_directory(recordings)
  end)

  it("has every view in windows of three sizes", function()
    for _, size in ipairs({ { 80, 24 }, { 120, 40 }, { 20, 5 } }) do
      local terminal = replay(size[1], size[2])
      for i, view in ipairs(require("kstat.top.views")) do
        terminal:send(tostring(i), "Left")
        terminal:await((size[2] > 5 and "\27%[7m" or "\n ") .. i .. (view.label or view.name), nil, true)
        assert_fits(terminal, size[1], size[2])
      end
      terminal:close()
    end
  end)

  it("goes from a resource to who uses it, and back, and explains states", function()
    local terminal = replay(80, 24)
    terminal:await("\n cpu +100 [^\n]*\n")
    terminal:send("Enter")
    terminal:await("PAST[^\n]*\n PROCESS +PID [^\n]*\n cpuhog ")
    terminal:send("BSpace")
    terminal:await("\n cpu +100 ")
    terminal:send("e")
    terminal:await("\n cpu: CRITICAL since[^\n]*\n.*/proc/pressure/cpu")
    terminal:send("e")
    terminal:await("\n RESOURCE ")
    terminal:send("]", "4", "Enter") -- the disk, and its groups, of which none was recorded
    terminal:await("\n no control groups are known")
    terminal:send("Enter")
    terminal:await("04:54:21 PAST[^\n]*\n PROCESS[^\n]*\n diskhog ")
    terminal:send("BSpace", "BSpace")
    terminal:await("\n DISK ")
    for _ = 1, 2 do -- what enter shows of a process is not what the key of that view shows
      terminal:send("5")
      terminal:await("without idle ones", true)
      terminal:send("2", "Enter")
      terminal:await("\n[^\n]* process:%d+:diskhog:%l+\n")
    end
  end)

  it("sorts, filters, selects, and shows trees and other columns", function()
    local terminal = replay(80, 24)
    terminal:send("2", "\\", "cpuhog", "Enter")
    local text = terminal:await("PAST[^\n]*\n PROCESS[^\n]*\n" .. (" cpuhog [^\n]*\n"):rep(4) .. "\n")
    local function column(number)
      local list = {}
      for line in terminal:screen():gmatch("\n (cpuhog[^\n]*)") do
        local words = {}
        for word in line:gmatch("%S+") do
          words[#words + 1] = word
        end
        list[#list + 1] = words[number]
      end
      return table.concat(list, " ")
    end
    assert.equal("8889 8886 8888 8887", column(2), text)
    terminal:send("r")
    run.await("the other order", function() return column(2) == "8887 8888 8886 8889" end)
    terminal:send("r", ">")
    run.await("the order of WAIT%", function() return column(5) == "52.5 52.2 49.2 47.4" end)
    terminal:send("<", "Down", "Down")
    terminal:await("\27%[7m cpuhog +8886 ", nil, true)
    terminal:send("o", "Down", "Space", "o")
    terminal:await("\n PROCESS +USER ")
    terminal:send("o", "Down", "Space", "o", "v", "Escape")
    terminal:await("\n +kstatlua ")
    terminal:await("\n process_api +1 [^\n]*\n   ")
  end)

  it("has colours of states, unless nobody wants them", function()
    local terminal = replay(80, 24)
    terminal:await("\27%[31mCRITICAL", nil, true)
    terminal:close()
    terminal = replay(80, 24, "NO_COLOR=1")
    local text = terminal:await("\n CRITICAL", nil, true)
    assert.is_nil(text:find("\27%[3[0-7]m"))
  end)

  it("replays a stream, which has no way back, until it ends", function()
    local terminal = pty.start(("%s/kstatlua convert --from %d --to %d %s | KSTAT_RECORDINGS=%s %s -r - 0.05"):format(
      run.quote(run.bin), AT, AT + 5, RECORDING, RECORDING:match("^(.*)/"), top))
    terminal:await("END")
    for _, key in ipairs({ "Left", "N" }) do
      terminal:send(key)
      terminal:await("END.*it has no way back")
      terminal:send("Escape")
      terminal:await("END.*past g time")
    end
    terminal:send("q")
  end)
end)

describe("the screen of a large machine", function()
  local large -- in memory, where that is possible: it has 50,000 files
  setup(function()
    large = run.directory(run.shell("test -w /dev/shm").status == 0 and "/dev/shm" or nil)
    require("support.large_tree").make(large, { cpus = 4, disks = 2, nodes = 1, processes = 10000, cgroups = 10000 })
  end)
  teardown(function() run.remove_directory(large) end)

  it("has 10,000 processes and 10,000 control groups", function()
    local terminal = start("60", 80, 24, ("KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys"):format(large, large))
    terminal:await("10000 processes")
    terminal:send("2")
    terminal:await("\n worker%-%d+ [^\n]*\n 1resources")
    terminal:send("v", "Home")
    terminal:await("\n init of a large +1 [^\n]*\n   worker%-%d+ ")
    terminal:send("End")
    terminal:await("\n +worker%-%d+ [^\n]*\n 1resources")
    assert_fits(terminal, 80, 24)
    terminal:send("3")
    terminal:await("\n CGROUP[^\n]*\n /system.slice/service%-%d+.service ")
    terminal:send("End")
    terminal:await("\n /system.slice[^\n]*\n 1resources") -- a group, or in the second interval the one above them
    assert_fits(terminal, 80, 24)
  end)
end)
