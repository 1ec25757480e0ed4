-- The screen on a terminal: what begins and ends it, and that the terminal is given back in any case.
local pty = require("support.pty")
local run = require("support.run")

describe("the screen on a terminal", function()
  local it = pty.it(it, pending)
  local LIVE = "LIVE [%d.]+s"
  local terminal, kstatlua
  local dir

  setup(function()
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

  it("takes a terminal that says it is larger than any for one that is large", function()
    terminal = pty.start(guarded("stty cols 65000 rows 65000; " .. kstatlua .. " top 0.05 3"))
    assert.equal(0, assert_given_back())
  end)

  it("goes on by itself, until the count", function()
    terminal = pty.start(guarded(kstatlua .. " top 0.05 6"))
    assert.equal(0, assert_given_back())
  end)

  it("pauses, and changes the interval", function()
    terminal = pty.start(guarded(kstatlua .. " top 0.1"))
    terminal:await("LIVE 0.1s")
    terminal:send("Z")
    terminal:await("PAUSED")
    terminal:send("+", "+")
    terminal:send("Z")
    terminal:await("LIVE 0.5s")
    terminal:send("C-c")
    assert.equal(0, assert_given_back())
  end)

  it("ends at SIGTERM with the terminal given back", function()
    terminal = pty.start(guarded("sh -c 'echo $$ >" .. dir .. "/pid; exec " .. kstatlua .. " top 60'"))
    terminal:await(LIVE)
    run.shell("kill -TERM $(cat " .. dir .. "/pid)")
    assert.equal(0, assert_given_back())
  end)

  it("gives it back when it hangs up or is killed the hard way", function()
    for signal, status in pairs({ HUP = 129, QUIT = 131 }) do
      terminal = pty.start(guarded("ulimit -c 0; sh -c 'echo $$ >" .. dir .. "/pid; exec " .. kstatlua ..
        " top 60'"))
      terminal:await(LIVE)
      run.shell(("kill -%s $(cat %s/pid)"):format(signal, dir))
      assert.equal(status, assert_given_back())
      terminal:close()
    end
  end)

  it("gives it back while it is stopped, and takes it again", function()
    terminal = pty.start(("cd %s; exec env PATH=%s:$PATH PS1=%% ENV= sh -im"):format(dir, run.quote(run.bin)), 80, 12)
    terminal:await("%", true)
    terminal:send("stty -g >a; kstatlua top 3600", "Enter")
    terminal:await(LIVE)
    terminal:send("C-z")
    terminal:await("Stopped")
    terminal:send("stty -g >b; cmp a b && echo same mode", "Enter")
    terminal:await("\nsame mode\n")
    terminal:send("fg", "Enter")
    local text = terminal:await(LIVE)
    assert.is_nil(text:find("same mode", 1, true))
    assert.matches("h help", text)
    terminal:send("q")
    terminal:await("top 3600\n%%\n")
    terminal:send("stty -g >b; cmp a b && echo mode as before", "Enter")
    terminal:await("\nmode as before\n")
  end)

  it("gives it back before the message of an error, which is not lost", function()
    local script = dir .. "/fails.lua"
    run.write_file(script, [[
      local top = require("kstat.top")
      local report = kstat.report({ name = "none", optional = true, columns = { { "name" } },
        rows = function() return {} end })
      top.run({ open = function(only) return kstat.open({ only = only }) end, views = { { name = "fails",
        sections = { report }, head = function() error("drawing failed") end } } })
    ]])
    terminal = pty.start(guarded(kstatlua .. " " .. script), 100, 60)
    assert.equal(1, assert_given_back())
    assert.matches("fails.lua:%d+: drawing failed", terminal:screen())
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
      "print(require(\"kstat.top\").run({ views = require(\"kstat.top.views\"), " ..
      "open = function(only) return require(\"kstat\").open({ only = only }) end }))'"), 100, 12)
    terminal:await(LIVE)
    terminal:send("C-c")
    assert.equal(0, assert_given_back())
  end)
end)

describe("frames without a terminal", function()
  it("are steps of the past, or the whole of the time that was asked for", function()
    local function heads(...)
      local r = run.run({ "kstatlua", "top", "-b", "--view", "processes", "-r", "spec/vectors/past/faults.rec",
        env = { TZ = "UTC" }, ... })
      assert.same({ 0, "" }, { r.status, r.err })
      local list = {}
      for time, length in r.out:gmatch("%-23 (%d%d:%d%d:%d%d) PAST (%d+s)") do
        list[#list + 1] = time .. " " .. length
      end
      return table.concat(list, ", ")
    end
    assert.equal("04:53:59 59s, 04:54:59 60s, 04:55:59 60s", heads("--from", "04:53:00", "--to", "04:55:59", "60"))
    assert.equal("04:53:59 59s", heads("--from", "04:53:00", "--to", "04:56:00", "60", "1"))
    assert.equal("04:56:00 180s", heads("--from", "04:53:00", "--to", "04:56:00"))
    local r = run.run({ "kstatlua", "top", "-b", "-r", "spec/vectors/past/faults.rec", "--from", "04:53:00", "--to",
      "04:53:00", "60", env = { TZ = "UTC" } })
    assert.same({ 1, "top: no interval lies in that time: it takes two samples\n" }, { r.status, r.err })
  end)
end)
