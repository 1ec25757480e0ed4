local pty = require("support.pty")
local run = require("support.run")

local function kstatlua(...)
  return run.run({ "kstatlua", ... })
end

describe("kstatlua's command line", function()
  it("prints its version", function()
    local r = kstatlua("-v")
    assert.equal(0, r.status)
    assert.truthy(r.out:find("^kstatlua %d+%.%d+%.%d+ %(Lua 5%.4"))
    assert.same(r, kstatlua("--version"))
  end)

  it("prints its usage on standard output", function()
    local r = kstatlua("--help")
    assert.equal(0, r.status)
    assert.equal("", r.err)
    assert.truthy(r.out:find("^usage: kstatlua"))
    assert.equal(r.out, kstatlua("-h").out)
  end)

  it("answers wrong usage with one line and status 2", function()
    for _, arguments in ipairs({ { "-Z" }, { "--nothing" }, { "-r" }, { "-e" }, { "--replay" }, { "-iZ" } }) do
      local r = run.run({ "kstatlua", unpack and unpack(arguments) or table.unpack(arguments) })
      assert.equal(2, r.status)
      assert.equal("", r.out)
      assert.truthy(r.err:find("^kstatlua: [^\n]*kstatlua %-%-help[^\n]*\n$"), r.err)
    end
  end)

  it("runs chunks and modules in their order, with the operands as arguments", function()
    local r = kstatlua("-e", "x = 1", "-l", "table", "-e", "print(x, table.concat(arg, ','), ...)", "5", "ten")
    assert.equal("1\t5,ten\t5\tten\n", r.out)
    assert.equal(0, r.status)
  end)

  it("runs the report that a chunk returns, and ends with its status", function()
    local chunk = "return kstat.report({ select = 'unix:0:system_misc', columns = { { 'name' }, { 'n', '%s' } } })"
    local r = kstatlua("-e", chunk:format("2 + 2"), "1", "1")
    assert.equal("name          n\nsystem_misc 4.0\n", r.out)
    assert.equal(0, r.status)
    assert.equal(2, kstatlua("-e", chunk:format("2 + 2"), "--frob").status)
    r = kstatlua("-e", "return 3", "-e", "print('not run')")
    assert.same({ "", 3 }, { r.out, r.status })
  end)

  it("loads a module under another name", function()
    assert.equal("3.0\n", kstatlua("-l", "m=math", "-e", "print(m.sqrt(9))").out)
  end)

  it("says which module is not there", function()
    local r = kstatlua("-l", "no_such_module")
    assert.equal(1, r.status)
    assert.truthy(r.err:find("no_such_module", 1, true))
  end)

  it("turns warnings on", function()
    assert.equal("", kstatlua("-e", "warn('careful')").err)
    assert.truthy(kstatlua("-W", "-e", "warn('careful')").err:find("careful", 1, true))
  end)

  it("names the replay's file to every open", function()
    assert.equal("some.json\n", kstatlua("-r", "some.json", "-e", "print(os.getenv('KSTAT_SOURCE'))").out)
  end)
end)

describe("kstatlua's scripts", function()
  local dir

  setup(function()
    dir = run.directory()
  end)

  teardown(function()
    run.remove_directory(dir)
  end)

  local function script(name, text)
    run.write_file(dir .. "/" .. name, text)
    return dir .. "/" .. name
  end

  it("get arg and ... as lua gives them", function()
    local path = script("args.lua", "print(arg[0], arg[-1], arg[-2], arg[1], arg[2], #arg, ...)")
    local r = kstatlua("-W", path, "-x", "5")
    assert.equal(path .. "\t-W\t" .. run.bin .. "/kstatlua\t-x\t5\t2\t-x\t5\n", r.out)
  end)

  it("may have a name that looks like an option", function()
    script("-odd.lua", "print('odd')")
    local r = run.run({ "kstatlua", "--", "-odd.lua", directory = dir })
    assert.equal("odd\n", r.out)
  end)

  it("come from standard input", function()
    assert.equal("-\ta\n", run.run({ "kstatlua", "-", "a", stdin = "print(arg[0], ...)" }).out)
    assert.equal("piped\n", run.run({ "kstatlua", stdin = "print('piped')" }).out)
  end)

  it("may start with #!", function()
    assert.equal("2\n", kstatlua(script("sharp.lua", "#!/usr/bin/env kstatlua\nprint(2)\n")).out)
  end)

  it("are found in the working directory, though not before an installed one", function()
    script("plain", "print('plain')")
    script("kstat", "print('a file that lies about')")
    assert.equal("plain\n", run.run({ "kstatlua", "plain", directory = dir }).out)
    assert.truthy(run.run({ "kstatlua", "kstat", "-h", directory = dir }).out:find("^[Uu]sage"))
  end)

  it("that do not exist are named, and where those that do are listed", function()
    local r = kstatlua("no_such_script", "5")
    assert.equal(2, r.status)
    assert.truthy(r.err:find("^kstatlua: no script 'no_such_script'[^\n]*kstat[^\n]*\n$"))
    r = kstatlua(dir .. "/gone.lua")
    assert.equal(2, r.status)
    assert.truthy(r.err:find("gone.lua': No such file or directory\n$"))
    assert.equal(2, kstatlua(dir).status)
  end)

  it("that are installed are listed in --help and in the manual page", function()
    local help, page = kstatlua("--help").out, run.read_file("doc/man/kstatlua.1")
    local seen = 0
    for name in run.shell("ls scripts").out:gmatch("([%w_]+)%.lua\n") do
      seen = seen + 1
      assert.truthy(help:find(("\n  %-11s %%S[^\n]*[^.\n]\n"):format(name)), name)
      local reference = name == "kstat" and name or "kstatlua-" .. name
      assert.truthy(page:find("\n.It Xr " .. reference .. " 1\n", 1, true), name)
    end
    assert.is_true(seen >= 6)
  end)

  it("that fail show the message, the script's name and a traceback", function()
    local path = script("fails.lua", "local function inner()\n  error('went wrong')\nend\ninner()\n")
    local r = kstatlua(path)
    assert.equal(1, r.status)
    assert.truthy(r.err:find("kstatlua: " .. path .. ":2: went wrong\nstack traceback:\n", 1, true))
    assert.truthy(r.err:find("in local 'inner'", 1, true))
  end)

  it("that do not parse show where", function()
    local r = kstatlua(script("syntax.lua", "x = = 1\n"))
    assert.equal(1, r.status)
    assert.truthy(r.err:find("syntax.lua:1: unexpected symbol", 1, true))
  end)

  it("may raise any value", function()
    local r = kstatlua("-e", "error(setmetatable({}, { __tostring = function() return 'told' end }))")
    assert.equal(1, r.status)
    assert.equal("kstatlua: told\n", r.err)
    assert.truthy(kstatlua("-e", "error({})").err:find("(error object is a table value)", 1, true))
    assert.truthy(kstatlua("-e", "error()").err:find("(error object is a nil value)", 1, true))
  end)

  it("end with the status that they return or pass to os.exit", function()
    assert.equal(0, kstatlua(script("s.lua", "return")).status)
    assert.equal(3, kstatlua(script("s.lua", "return 3")).status)
    assert.equal(0, kstatlua(script("s.lua", "return true")).status)
    assert.equal(1, kstatlua(script("s.lua", "return false")).status)
    assert.equal(0, kstatlua(script("s.lua", "return {}")).status)
    assert.equal(4, kstatlua(script("s.lua", "io.write('kept') os.exit(4)")).status)
    assert.equal("kept", kstatlua(script("s.lua", "io.write('kept') os.exit(4)")).out)
  end)

  it("that return a table with a run function have it called with arg", function()
    local path = script("r.lua", "return { n = 7, run = function(self, a) print(a == arg, a[1]) return self.n end }")
    local r = kstatlua(path, "first")
    assert.equal("true\tfirst\n", r.out)
    assert.equal(7, r.status)
    path = script("r.lua", "return { run = function() error('in run') end }")
    r = kstatlua(path)
    assert.equal(1, r.status)
    assert.truthy(r.err:find("r.lua:1: in run\nstack traceback:", 1, true))
  end)

  it("are told when their output cannot be written", function()
    for _, words in ipairs({ "-e 'io.write(\"x\")'", "record -h", "convert -h" }) do
      local r = run.shell(("%s/kstatlua %s >/dev/full"):format(run.bin, words))
      assert.equal(3, r.status)
      assert.truthy(r.err:find("^%w+: [a-z ]*standard output: [^\n]+\n$"))
    end
  end)

  it("are in order if the world fails their loop: one line in their name, and status 3", function()
    local path = script("loop.lua", "for _ in kstat.every(arg) do print('x') end")
    local function fails(before, behind, message)
      local r = run.shell(("%s %s/kstatlua %s 0.01 3 %s"):format(before, run.bin, path, behind))
      assert.matches("^loop: " .. message .. "\n$", r.err)
      assert.equal(3, r.status)
    end
    fails("", ">/dev/full", "standard output: [^\n]*")
    fails("KSTAT_SOURCE=/nonexistent", "", "/nonexistent: cannot open: [^\n]*")
    fails("KSTAT_SOURCE=" .. script("bad", "[{]\n"), "", "[^\n]*/bad: sample 1, byte %d+: [^\n]*")
    fails("KSTAT_FROM=x KSTAT_SOURCE=spec/vectors/kstat/host.jsonl", "", "KSTAT_FROM: 'x' is not a time; times are .*")
  end)

  it("end with status 3 if their loop had to leave out what was damaged", function()
    local r = run.shell(("{ cat spec/vectors/kstat/host.jsonl; echo nonsense; " ..
      "cat spec/vectors/kstat/host.jsonl; } | KSTAT_SOURCE=- %s/kstatlua -e 'n = 0 " ..
      "for _ in kstat.every(1) do n = n + 1 end print(n)'"):format(run.bin))
    assert.equal("6\n", r.out)
    assert.matches("^kstatlua: standard input: sample 4, byte %d+: [^\n]*\n$", r.err)
    assert.equal(3, r.status)
  end)
end)

describe("kstatlua's libraries", function()
  it("make kstat a global that is loaded when it is used", function()
    local r = kstatlua("-e", "print(package.loaded.kstat, rawget(_G, 'kstat'))")
    assert.equal("nil\tnil\n", r.out)
    r = kstatlua("-e", "print(kstat == require('kstat'), rawget(_G, 'kstat') == kstat, undefined)")
    assert.equal("true\ttrue\tnil\n", r.out)
  end)

  it("hold kstat.core without a file", function()
    local r = kstatlua("-e", "package.cpath = '' print(type(require('kstat.core')))")
    assert.equal("table\n", r.out)
  end)

  it("find C modules of Debian, which find Lua in the host", function()
    local r = kstatlua("-e", "print(require('lpeg').match(require('lpeg').P('a'), 'a'))")
    assert.equal("2\n", r.out)
  end)

  it("are found from any directory and by way of a link", function()
    local dir = run.directory()
    run.shell("ln -s " .. run.quote(run.bin .. "/kstatlua") .. " " .. dir .. "/kstatlua")
    local r = run.run({ dir .. "/kstatlua", "-e", "print(package.searchpath('kstat', package.path) ~= nil)",
      directory = "/", env = { LUA_PATH = false, LUA_PATH_5_4 = false } })
    assert.equal("true\n", r.out)
    run.remove_directory(dir)
  end)
end)

describe("kstatlua's signals", function()
  -- The program tells when it is ready; nothing waits for a time.
  local function signalled(signal, chunk)
    return run.shell(([[
      f=$(mktemp -u) && mkfifo "$f"
      %s/kstatlua -e %s >"$f" &
      pid=$!
      exec 3<"$f"
      read -r first <&3
      kill -%s $pid
      cat <&3
      wait $pid
      status=$?
      rm -f "$f"
      exit $status]]):format(run.bin, run.quote(chunk), signal))
  end
  local ready = "io.write('ready\\n') io.stdout:flush() "

  it("end an interval loop behind its tick, and the script goes on", function()
    for _, signal in ipairs({ "INT", "TERM" }) do
      local r = signalled(signal, "local core = require('kstat.core') core.looping(true) " .. ready ..
        "local why = core.wait(8e18) core.looping(false) print(why, core.interrupted())")
      assert.equal("interrupted\ttrue\n", r.out)
      assert.equal("", r.err)
      assert.equal(0, r.status)
    end
  end)

  it("break off a script that has no loop, silently, and its shell learns of it", function()
    local r = signalled("INT", ready .. "while true do end")
    assert.equal(130, r.status)
    assert.equal("", r.err)
    assert.equal(143, signalled("TERM", ready .. "while true do end").status)
  end)

  it("let finalizers run when a script is broken off", function()
    local r = signalled("INT", "keep = setmetatable({}, { __gc = function() print('finalized') end }) " ..
      ready .. "while true do end")
    assert.equal("finalized\n", r.out)
  end)

  it("kill at the second time", function()
    local r = signalled("INT", "require('kstat.core').looping(true) " .. ready ..
      "while not require('kstat.core').interrupted() do end print('still here') io.stdout:flush() " ..
      "io.popen('kill -INT $PPID'):close() print('not reached')")
    assert.equal("still here\n", r.out)
    assert.equal(130, r.status)
  end)

  it("hear of SIGCONT", function()
    local r = signalled("CONT", ready .. "print(require('kstat.core').wait(8e18))")
    assert.equal("continued\n", r.out)
    assert.equal(0, r.status)
  end)

  it("end quietly a script whose reader is gone", function()
    local r = run.shell(run.bin .. "/kstatlua -e 'while true do io.write(\"line\\n\") end' | head -n 1")
    assert.equal("line\n", r.out)
    assert.equal("", r.err)
    r = run.shell("{ " .. run.bin .. "/kstatlua -e 'while true do io.write(\"line\\n\") end'; " ..
      "echo $? >&2; } | head -n 1")
    assert.equal("0\n", r.err)
    -- More than a pipe holds: one call of C writes on after the signal; so does a script that does not listen.
    for _, chunk in ipairs({ "io.write(('x'):rep(2 ^ 20)) while true do end",
      "while true do pcall(io.write, ('x'):rep(2 ^ 20)) end" }) do
      r = run.shell(("{ %s/kstatlua -e %s; echo $? >&2; } | head -c 1"):format(run.bin, run.quote(chunk)))
      assert.equal("0\n", r.err)
    end
    -- A coroutine does not hear of it.
    r = run.shell(("timeout 60 %s/kstatlua -e %s | head -n 1"):format(run.bin,
      run.quote("coroutine.wrap(function() while true do print('line') end end)()")))
    assert.equal("line\n", r.out)
    assert.equal("", r.err)
  end)

  it("leave the pipes of a script's own children to the script", function()
    local r = kstatlua("-e", "local p = io.popen('true', 'w') local ok, message " ..
      "repeat ok, message = p:write(('x'):rep(100000)) until not ok print(message) pcall(p.close, p) print('on')")
    assert.equal("Broken pipe\non\n", r.out)
    assert.equal(0, r.status)
  end)
end)

describe("kstatlua -i", function()
  local function session(text)
    return run.run({ "kstatlua", "-i", stdin = text })
  end

  it("prints the values of expressions", function()
    assert.equal("3\n4\ttwo\n", session("1 + 2\n2 * 2, 'two'\n").out)
    assert.equal("5\n", session("=5\n").out)
  end)

  it("reads on until a chunk is whole", function()
    assert.equal("1\n2\n", session("for i = 1, 2 do\nprint(i)\nend\n").out)
    assert.equal("a\nb\n", session("x = [[a\nb]]\nx\n").out)
  end)

  it("goes on after errors", function()
    local r = session("error('bad')\nx = = 1\n'fine'\n")
    assert.equal("fine\n", r.out)
    assert.truthy(r.err:find("kstatlua: stdin:1: bad\nstack traceback", 1, true))
    assert.truthy(r.err:find("unexpected symbol", 1, true))
    assert.equal(0, r.status)
  end)

  pty.it(it, pending)("edits lines on a terminal, and remembers them", function()
    local home = run.directory()
    local command = "TERM=xterm HOME=" .. home .. " script -qec " ..
      run.quote(run.bin .. "/kstatlua -i") .. " /dev/null"
    -- Left, left, delete: a line is edited before it is run. Ctrl-D ends the session.
    local r = run.shell("printf '6 * 71\\033[D\\033[D\\033[3~\\n' | " .. command)
    assert.truthy(r.out:find("\r6\r\n", 1, true), r.out)
    assert.equal("6 * 1\n", run.read_file(home .. "/.kstatlua_history"))
    r = run.shell("printf '\\033[A\\n' | " .. command)
    assert.equal("6 * 1\n6 * 1\n", run.read_file(home .. "/.kstatlua_history"))
    assert.truthy(r.out:find("\r6\r\n", 1, true), r.out)
    run.remove_directory(home)
  end)

  it("sees what -e set", function()
    assert.equal("7\n", run.run({ "kstatlua", "-i", "-e", "x = 7", stdin = "x\n" }).out)
  end)
end)

describe("kstatlua's modules", function()
  -- A tree like an installed one, in which a line is added to the module's file.
  local function answer(age)
    local dir = run.directory()
    local file = dir .. "/share/lua/5.4/kstat/init.lua"
    run.shell(("mkdir -p %s/share/lua/5.4 %s/bin && cp %s/kstatlua %s/bin && cp -R lua/kstat %s/share/lua/5.4")
      :format(dir, dir, run.quote(run.bin), dir, dir))
    run.write_file(file, run.read_file(file):gsub("return setmetatable%(kstat", "kstat.edited = true %0"))
    run.shell(("touch -d '%s' %s"):format(age, file))
    local r = run.run({ dir .. "/bin/kstatlua", "-e", "print(kstat.edited, kstat.open() ~= nil)" })
    run.remove_directory(dir)
    return r.out .. r.err
  end

  it("are those compiled into it", function()
    assert.matches("^nil\ttrue\n$", (answer("2001-01-01")))
  end)

  it("are the installed files if these are newer: whoever edits them sees what that does", function()
    assert.matches("^true\ttrue\n$", (answer("next year")))
  end)

  it("blame the script's line for its mistakes", function()
    local r = kstatlua("-e", "\nkstat.open(5)")
    assert.equal(1, r.status)
    assert.matches("^kstatlua: %(command line%):2: bad argument #1 to 'open'", r.err)
  end)
end)

describe("a script's memory", function()
  -- The sanitizers take more address space than that for themselves.
  if not os.getenv("ASAN_OPTIONS") then
    it("that is used up ends it like what it cannot read", function()
      local r = run.shell("ulimit -v 100000; exec " .. run.quote(run.bin .. "/kstatlua") ..
        " -e 'local t = {} for i = 1, 1e9 do t[i] = i .. \"\" end'")
      assert.equal(3, r.status)
      assert.matches("^kstatlua: not enough memory\n$", r.err)
    end)
  end
end)

describe("a copy of the executable, without any file beside it", function()
  local dir

  setup(function()
    dir = run.directory()
    run.shell("mkdir " .. dir .. "/bin && cp " .. run.quote(run.bin .. "/kstatlua") .. " " .. dir .. "/bin && ln -s " ..
      "kstatlua " .. dir .. "/bin/kstat")
  end)

  teardown(function()
    run.remove_directory(dir)
  end)

  it("runs the scripts that it was built with", function()
    local r = run.run({ dir .. "/bin/kstat", "-p", "unix:0:system_misc:ncpus", directory = dir })
    assert.equal("", r.err)
    assert.matches("^unix:0:system_misc:ncpus\t%d+\n$", r.out)
  end)

  it("lists what they are for, as an installed tree does", function()
    local function list(program)
      return run.run({ program, "--help", directory = dir }).out:match("\nInstalled scripts.*")
    end
    local installed = list("kstatlua")
    assert.equal(installed, list(dir .. "/bin/kstatlua"))
    assert.matches("\n  vmstat      threads, memory", installed)
    assert.equal("Look kstat top use\nReports arcstat devstat fsstat intrstat iostat listen mpstat nicstat prstat " ..
      "prtop vmstat\nThe past convert diff record\nServe exporter latency\nScripts NAME\n",
      (installed:gsub("\n  (%w+)[^\n]*", " %1"):gsub("^.-\n\n", ""):gsub("\n\n", "\n")))
  end)
end)

describe("scripts of one's own", function()
  local dir

  before_each(function() dir = run.directory() end)
  after_each(function() run.remove_directory(dir) end)

  local function write(folder, name, text)
    run.shell("mkdir -p " .. run.quote(dir .. "/" .. folder))
    run.write_file(("%s/%s/%s.lua"):format(dir, folder, name), text)
  end

  local function host(...)
    return run.run({ "kstatlua", env = { HOME = dir, XDG_CONFIG_HOME = "" }, ... })
  end

  it("are run by their names, from the user's folder and from rocks, and listed with their first lines", function()
    write(".config/kstat/scripts", "mine", "-- What I look at.\nprint('mine', ...)")
    write(".luarocks/lib/luarocks/rocks-5.4/kstat-zfs/1.0-1/share/kstat/scripts", "pools",
      "--- pools: of ZFS\nprint(1)")
    assert.equal("mine\ta\t2\n", host("mine", "a", "2").out)
    assert.equal("1\n", host("pools").out)
    local help = host("--help").out
    assert.truthy(help:find("\n  mine        What I look at\n", 1, true))
    assert.truthy(help:find("\n  pools       of ZFS\n", 1, true))
    assert.matches("did you mean 'pools'?", host("poolz").err, 1, true)
    assert.equal("mine\tWhat I look at\n", host("--complete", "kstatlua", "mi").out)
    assert.equal("\tfiles\n", host("--complete", "kstatlua", "mine", "-").out)
  end)

  it("are files, and their first lines cannot command a terminal", function()
    write(".config/kstat/scripts", "red", "--- \27[31mred\27[0m\nprint(1)")
    run.shell(("cd %s/.config/kstat/scripts && mkfifo pipe.lua && mkdir folder.lua && ln -s nowhere link.lua"):format(
      dir))
    local r = run.shell(("HOME=%s XDG_CONFIG_HOME= timeout 60 %s/kstatlua --help"):format(dir, run.bin))
    assert.equal(0, r.status)
    assert.truthy(r.out:find("\n  red         ?[31mred?[0m\n", 1, true))
    for _, name in ipairs({ "pipe", "folder", "link" }) do
      assert.is_nil(r.out:find("\n  " .. name .. "\n", 1, true), name)
    end
  end)

  it("are found by tools as the host finds them, but for files that happen to be called like a word", function()
    write(".config/kstat/scripts", "mine", "return 1 +")
    local function find(name)
      return host("-e", "f, why = require('kstat.host').script(...) print(type(f), why)", name).out
    end
    assert.equal("function\tnil\n", find("vmstat"))
    assert.equal("function\tnil\n", find("examples/traffic.lua"))
    assert.matches("^nil\t.*/mine.lua:1: unexpected symbol", find("mine"))
    assert.equal("nil\tcannot open script './no.lua': No such file or directory\n", find("./no.lua"))
    for _, word in ipairs({ "Makefile", "link:0:lo:/bytes/", "/^sd/", "-", "spec/tools" }) do
      assert.equal("nil\tnil\n", find(word))
    end
  end)

  it("do not hide those that came with the host", function()
    write(".config/kstat/scripts", "vmstat", "print('hidden')")
    assert.matches("kthr", host("vmstat").out)
    assert.equal(1, select(2, host("--help").out:gsub("\n  vmstat ", "")))
  end)
end)

describe("a link to kstatlua", function()
  it("runs the installed script of its name with all of its arguments", function()
    local r = run.run({ "kstat", "-h" })
    assert.equal(0, r.status)
    assert.truthy(r.out:find("^[Uu]sage"))
  end)

  it("of an unknown name says so", function()
    local dir = run.directory()
    run.shell("ln -s " .. run.quote(run.bin .. "/kstatlua") .. " " .. dir .. "/unheard_of")
    local r = run.run({ dir .. "/unheard_of", "-v" })
    assert.equal(2, r.status)
    assert.truthy(r.err:find("^unheard_of: no script 'unheard_of'"))
    run.remove_directory(dir)
  end)
end)
