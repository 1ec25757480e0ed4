-- Completion: what `kstatlua --complete` says of command lines, and bash, zsh and fish that ask it on a terminal.
local capture = require("support.capture")
local pty = require("support.pty")
local run = require("support.run")

local source
local function write_capture()
  return capture.file({ {
    capture.named("pool", 1, 10, '"busy":1,"idle":2,"idle_max":3'), capture.named("queue", 1, 10, '"length":1'),
    capture.kstat("app", 11, "pool", "misc", 1, 1, 10, '"busy":1'),
    capture.kstat("app", 2, "two words", "misc", 1, 1, 10, '"busy":1'),
    capture.kstat("apple", 0, "star*", "fruit", 1, 1, 10, '"a:b":1'),
    capture.kstat("hostile", 0, "x'; echo $HOME", "misc", 1, 1, 10, '"busy":1'),
  } })
end

setup(function() source = write_capture() end)
teardown(capture.clean)

-- The candidates for the last word.
local function complete(...)
  local words = { ... }
  for i, word in ipairs(words) do
    words[i] = run.quote(word)
  end
  local r = run.shell(("KSTAT_SOURCE=%s %s/kstatlua --complete %s"):format(source, run.bin, table.concat(words, " ")))
  assert.equal("", r.err)
  local list = {}
  for candidate, about in r.out:gmatch("([^\t\n]*)\t([^\n]*)\n") do
    list[#list + 1] = candidate
    list[candidate] = about
  end
  return list
end

local function texts(...)
  return table.concat(complete(...), " ")
end

describe("kstatlua --complete", function()
  it("gives modules, instances, names and statistics, one after the other", function()
    assert.equal("app: apple:", texts("kstat", "ap"))
    assert.equal("app:0: app:2: app:11:", texts("kstat", "-p", "app:"))
    assert.equal("app:0:pool: app:0:queue:", texts("kstat", "app:0:"))
    assert.equal("app:0:pool:idle app:0:pool:idle_max", texts("/some/where/kstat", "app:0:pool:i"))
    assert.equal("app:11:pool:busy", texts("kstat", "app:11::", "app:11:pool:"))
    assert.equal("app:*:pool:", texts("kstat", "app:*:po"))
  end)

  it("gives them for -m, -i, -n, -s and -c beside each other", function()
    assert.equal("0 2 11", texts("kstat", "-m", "app", "-i", ""))
    assert.equal("pool queue", texts("kstat", "-p", "-m", "app", "-i", "0", "-n", ""))
    assert.equal("busy", texts("kstat", "-m", "app", "-n", "pool", "-s", "b"))
    assert.equal("fruit misc", texts("kstat", "-c", ""))
    assert.equal("apple:", texts("kstat", "-c", "fruit", "a"))
  end)

  it("quotes names that a selector would take for a pattern", function()
    assert.equal("apple:0:star\\*:", texts("kstat", "apple:0:"))
    assert.equal("apple:0:star\\*:a:b", texts("kstat", "apple:0:star\\*:"))
  end)

  it("gives each option that a tool declares, with what its help says", function()
    local list = complete("kstat", "-")
    assert.equal("parseable lines", list["-p"])
    assert.equal("-E with the device's ID", complete("kstatlua", "iostat", "-")["-i"])
    assert.equal("metrics, in base units", list["-o"])
    assert.equal("counters as their change per second, since creation in the first report", list["--rate"])
    assert.equal("--rate", texts("kstat", "app:", "--ra"))
    for _, line in ipairs({ "iostat -", "devstat -", "vmstat --", "top --", "record --", "convert --", "exporter --",
      "prstat -", "use -" }) do
      local name, word = line:match("(%S+) (%S+)")
      local options = complete("kstatlua", name, word)
      assert.is_true(#options > 1, name)
      for _, option in ipairs(options) do
        assert.truthy(#options[option] > 0 or ("-h -? --help"):find(option, 1, true), name .. " " .. option)
      end
    end
  end)

  it("knows an option that a script declares, without a list of its own", function()
    local dir = run.directory()
    run.shell(("mkdir -p %s/bin %s/share/kstat/scripts; cp %s/kstatlua %s/bin"):format(dir, dir, run.bin, dir))
    run.write_file(dir .. "/share/kstat/scripts/mine.lua", [=[--- mine: a report of one's own.
      return require("kstat").report({ name = "mine", select = "app",
        options = { { "e", "each", help = "each of them" }, { nil, "unit", arg = "kb|mb" } },
        columns = { { "pool", "name" }, { "busy" } } })]=])
    local function ask(words)
      return run.shell(("KSTAT_SOURCE=%s %s/bin/kstatlua --complete %s"):format(source, dir, words)).out
    end
    assert.equal("mine\ta report of one's own\n", ask("kstatlua mi"))
    assert.equal("--each\teach of them\n", ask("kstatlua mine --ea"))
    assert.equal("kb\t\nmb\t\n", ask("kstatlua mine --unit ''"))
    assert.equal("--unit=kb\t\n", ask("kstatlua mine --unit=k"))
    assert.equal("pool\t\nbusy\t\n", ask("kstatlua mine --sort ''"))
    assert.equal("pool\t\n", ask("kstatlua mine p"))
    run.remove_directory(dir)
  end)

  it("gives the host's options, the scripts, and files", function()
    assert.equal("read kstats from a recording, a directory of them or a capture (kstat -j) in place of",
      complete("kstatlua", "-")["-r"])
    assert.equal("vmstat", texts("kstatlua", "-W", "vm"))
    assert.equal("app: apple:", texts("kstatlua", "-e", "x = 1", "kstat", "app"), "a script's words")
    for _, words in ipairs({ { "kstatlua", "my" }, { "kstatlua", "-r", "" }, { "kstat", "-r", "x" },
      { "kstatlua", "vmstat", "--replay=" }, { "kstatlua", "convert", "x" }, { "kstatlua", "./mine.lua", "" } }) do
      local r = run.shell(run.bin .. "/kstatlua --complete " .. run.quote(table.concat(words, "\1")):gsub("\1", "' '"))
      assert.equal("\tfiles\n", r.out)
    end
  end)

  it("gives selectors and scripts for a view of top, and behind a script what that takes", function()
    assert.equal("app: apple: arcstat", texts("kstatlua", "top", "a"))
    assert.equal("app:0:queue:", texts("kstatlua", "top", "-b", "app:0:q"))
    assert.equal("processes published", texts("kstatlua", "top", "--view", "p"))
    assert.equal("--extended", texts("kstatlua", "top", "-b", "nicstat", "--ex"))
    assert.equal("--watch", texts("kstatlua", "nicstat", "--wa"))
    assert.equal("", texts("kstatlua", "top", "app:", "arcs"))
  end)

  it("reads the capture that the command line names", function()
    local path = source
    source = "/nowhere"
    assert.equal("app: apple:", texts("kstat", "-r", path, "a"))
    assert.equal("app: apple:", texts("kstatlua", "-r", path, "kstat", "a"))
    source = path
  end)

  it("says nothing where nothing can follow, and of what it does not know", function()
    for _, words in ipairs({ { "kstat", "-T" , "x" }, { "kstat", "--nonsense", "a" }, { "kstat", "/a" },
      { "kstat", "--gc", "" }, { "kstatlua", "mpstat", "" }, { "kstat", "kstat:/misc" }, { "kstatlua", "-e", "" } }) do
      assert.equal("", texts((table.unpack or unpack)(words)), table.concat(words, " "))
    end
  end)

  it("answers within 20 ms of CPU time", function()
    local line = ("%s/kstatlua --complete kstat unix:0:system_misc: >/dev/null;"):format(run.bin)
    local r = run.shell(("bash -c 'TIMEFORMAT=%%U+%%S; for i in {1..20}; do time %s done'"):format(line))
    local least = math.huge -- on a busy machine most take longer, as other programs use the caches, too
    for user, system in r.err:gmatch("([%d.]+)%+([%d.]+)") do
      least = math.min(least, tonumber(user) + tonumber(system))
    end
    assert.is_true(least < (os.getenv("ASAN_OPTIONS") and 10 or 1) * 0.020, r.err) -- sanitizers make it slower
  end)
end)

-- Types `keys`, then Tab as often, and returns the terminal once it shows the text.
local function press(t, keys, tabs, shown)
  t:send("C-u", keys)
  t:await(keys, true)
  for _ = 1, tabs do
    t:send("Tab")
  end
  return t:await(shown, true)
end

-- The shells: how each is started with its completion, from the directory of the sources.
local SHELLS = {
  bash = "PS1='$ ' exec bash --norc --noprofile -i",
  zsh = "PS1='$ ' exec zsh -f -i",
  fish = "exec fish --no-config -i",
}
local BEGIN = {
  bash = "source completion/kstat.bash",
  zsh = "fpath=($PWD/completion $fpath); autoload -Uz compinit; compinit -u -D",
  fish = "function fish_prompt; echo '$ '; end; source completion/kstat.fish",
}

for _, shell in ipairs({ "bash", "zsh", "fish" }) do
  local installed = run.shell("command -v " .. shell).status == 0
  local test = installed and pty.it(it, pending) or function(name) pending(name .. ": needs " .. shell) end

  test(shell .. " completes command lines with it", function()
    local home = run.directory()
    local t = pty.start(("export HOME=%s KSTAT_SOURCE=%s PATH=%s:$PATH; %s"):format(home, source, run.bin,
      SHELLS[shell]), 100, 30)
    t:await("[$#>%%] ?$?")
    t:send(BEGIN[shell], "Enter", "clear", "Enter")
    t:await("^%$? *\n*%$ *\n")
    press(t, "kstat -p apple:0", 1, "apple:0:")
    press(t, "kstat -p app:0:po", 1, "app:0:pool:")
    press(t, "kstat -p app:0:pool:idl", 1, "app:0:pool:idle")
    press(t, "kstat -p app:0:queue:", 1, "app:0:queue:length")
    local quoted = press(t, "kstat 'app:0:q", 1, "'app:0:queue:")
    assert.falsy(shell == "bash" and quoted:find("queue:'", 1, true))
    press(t, "kstat -m app -n tw", 1, shell == "bash" and "two\\ words" or "words")
    t:send("C-u", "kstat -p hostile:0", "Tab", "x", "Tab")
    t:await("kstat -p hostile:0:x\\'\\;\\ echo\\ \\$HOME:", true)
    press(t, "kstatlua vms", 1, "kstatlua vmstat")
    press(t, "kstatlua vmstat --skip-f", 1, "--skip-first")
    press(t, "kstat --rat", 1, "kstat --rate")
    press(t, "kstatlua -r completion/kstat.b", 1, "completion/kstat.bash")
    press(t, "kstatlua vmstat --replay=completion/kstat.b", 1, "--replay=completion/kstat.bash")
    local text = press(t, "kstat app:0:", 2, "queue:")
    assert.matches("pool:", text, 1, true)
    t:send("C-u", "echo done; kstat -p app:0:que", "Tab", "leng", "Tab")
    t:await("app:0:queue:length", true)
    t:send("Enter")
    t:await("app:0:queue:length\t? +1")
    t:close()
    run.remove_directory(home)
  end)
end

it("the completion is installed where the shells look for it", function()
  local dir = run.directory()
  local r = run.shell(("make -s install BUILD=%s DESTDIR=%s >/dev/null; cd %s/usr/local/share && ls -L %s"):format(
    run.build, dir, dir, "bash-completion/completions zsh/site-functions fish/vendor_completions.d"))
  assert.equal("", r.err)
  assert.equal("bash-completion/completions:\nkstat\nkstatlua\n\nfish/vendor_completions.d:\nkstat.fish\n" ..
    "kstatlua.fish\n\nzsh/site-functions:\n_kstat\n", r.out)
  run.remove_directory(dir)
end)

it("the host's start does not wait for it", function()
  local loaded = run.shell(run.bin .. "/kstatlua -e 'print(package.loaded[\"kstat.complete\"])'").out
  assert.equal("nil\n", loaded)
end)
