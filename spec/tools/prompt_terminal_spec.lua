-- The prompt, kstatlua -i, on a terminal: its keys, a narrow window, and the file of earlier lines.
local pty = require("support.pty")
local run = require("support.run")

local home
before_each(function() home = run.directory() end) -- a prompt of an earlier terminal may still write to its own
after_each(function() run.remove_directory(home) end)

-- Starts a shell with the prompt.
local function prompt(width, environment)
  local t = pty.start(("cd %s; export HOME=%s KSTATLUA=%s/kstatlua PS1='sh: ' ENV=; exec sh -i"):format(home, home,
    run.bin), width or 80, 24)
  t:await("sh:", true)
  t:send("clear; " .. (environment or "") .. " $KSTATLUA -i", "Enter")
  t:await("ends\n>")
  return t
end

describe("on a terminal", function()
  local it = pty.it(it, pending)

  it("Ctrl-C drops a line, and ends a loop of either kind", function()
    local t = prompt()
    t:send("abandoned")
    t:await("> abandoned", true)
    t:send("C-c")
    t:await("> abandoned\n>")
    t:send("print('on') while true do end", "Enter")
    t:await("\non\n")
    t:send("C-c")
    t:await("interrupted\n>")
    t:send("for now in kstat.every(0.1) do print('tick') end", "Enter")
    t:await("\ntick\n")
    t:send("C-c")
    t:await("^C\n>", true)
    t:send("6 * 7", "Enter")
    t:await("\n42\n>")
  end)

  it("Ctrl-D ends only an empty line", function()
    local t = prompt()
    t:send("6 *")
    t:await("> 6 *", true)
    t:send("C-d")
    t:send(" 7", "Enter")
    t:await("\n42\n>")
    t:send("C-d")
    t:await("42\n>\nsh:")
  end)

  it("lines are as long as the window is wide, and a terminal need not know anything", function()
    local t = prompt(30, "TERM=dumb")
    t:send("{ 'fifteen letters', 'and fifteen' }", "Enter")
    t:await('\n{\n  "fifteen letters",\n  "and fifteen"\n}\n>')
  end)

  it("earlier lines are kept for their owner alone, 1000 of them, os.exit() or not", function()
    local path = home .. "/.kstatlua_history"
    run.shell(("seq -f x=%%g 1500 > %s; chmod 644 %s"):format(path, path))
    local t = prompt()
    t:send("os.exit()", "Enter")
    t:await("os.exit()\nsh:", true)
    assert.equal("1000 600 os.exit()\n", run.shell(("echo $(wc -l <%s) $(stat -c %%a %s) $(tail -n 1 %s)"):format(path,
      path, path)).out)
  end)

  it("prompts side by side keep the lines of both", function()
    local first, second = prompt(), prompt()
    second:send("'of the second'", "Enter", "exit", "Enter")
    second:await("exit\nsh:", true)
    first:send("'of the first'", "Enter", "exit", "Enter")
    first:await("exit\nsh:", true)
    assert.equal("'of the second'\nexit\n'of the first'\nexit\n", run.read_file(home .. "/.kstatlua_history"))
  end)

  it("a home that cannot be written is no mistake", function()
    local t = prompt(80, "HOME=/nonexistent")
    t:send("C-d")
    t:await("ends\n>\nsh:")
  end)

  it("Tab leaves out names with two underscores in front", function()
    local t = prompt()
    t:send("t = { __hidden = 1, shown = 2 }", "Enter", "t.", "Tab")
    t:await("> t.shown", true)
  end)
end)
