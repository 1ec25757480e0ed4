-- The prompt, kstatlua -i: how it prints values, help and exit, misspelt names, and Tab on a terminal.
local capture = require("support.capture")
local pty = require("support.pty")
local run = require("support.run")

local source
setup(function()
  source = capture.file({ {
    capture.named("pool", 1, 10, '"busy":1,"idle":2,"label":"red"'),
    capture.kstat("queue", 3, "jobs", "misc", 1, 1, 10, '"waiting":7'),
  } })
end)
teardown(capture.clean)

local function session(lines)
  return run.run({ "kstatlua", "-r", source, "-i", stdin = lines })
end

describe("the prompt prints", function()
  it("a kstat with its statistics", function()
    assert.equal("app:0:pool  class misc, type named\n  busy   1\n  idle   2\n  label  red\n",
      session("ks = kstat.open()\nks:lookup('app', 0, 'pool')\n").out)
  end)

  it("a chain with its modules, and what is below them", function()
    assert.equal("kstat chain (2 kstats), of the modules\n  app queue\n", session("kstat.open()\n").out)
    assert.equal("{ [3] = { jobs = queue:3:jobs } }\n", session("kstat.open().queue\n").out)
    assert.equal("queue:3:jobs  class misc, type named\n  waiting  7\n",
      session("kstat.open().queue[3].jobs\n").out)
  end)

  it("tables, sorted, in one line if they are short", function()
    assert.equal("{ 1, \"two\", { 3 }, [5] = true, [\"a b\"] = 1, x = {} }\n",
      session("{ 1, 'two', { 3 }, [5] = true, x = {}, ['a b'] = 1 }\n").out)
    assert.equal("{ itself = { … } }\n", session("t = {} t.itself = t\nt\n").out)
    local out = session("t = {} for i = 1, 300 do t[i] = i end\nt\n").out
    assert.matches(",\n  200,\n  … 100 more\n}\n$", out)
    out = session("t = {} for i = 1000, 1, -1 do t['k' .. i] = i t[i] = i end\nt\n").out
    assert.matches("^{\n  1,\n  2,\n.*\n  200,\n  … 1800 more\n}\n$", out)
    assert.equal("{ { 1, { 2 entries } } }\n", session("{ { 1, { 2, 3 } } }\n").out)
  end)

  it("what says for itself what it is, and plain values, as print does", function()
    assert.equal("1\tnil\tx\n", session("1, nil, 'x'\n").out)
    assert.equal("me\n", session("setmetatable({}, { __tostring = function() return 'me' end })\n").out)
    assert.equal("{}\n", session("setmetatable({}, { __metatable = 5 })\n").out)
    assert.equal("1\n{ 2 }\n3\n", session("1, { 2 }, 3\n").out)
    assert.equal("", session("x = 1\n").out)
  end)
end)

describe("at the prompt", function()
  it("help explains, as a word and as a call", function()
    assert.matches("^A line is Lua", session("help\n").out)
    assert.equal(session("help\n").out, session("help()\n").out)
  end)

  it("help explains a function, by itself or by its name, as the definitions do", function()
    local out = session("help(kstat.open)\n").out
    assert.matches("^Opens a chain of kstats%. .*\nreturn chain\nfails .*\nfunction kstat%.open\n$", out)
    assert.matches("function x:each\n", session("help 'each'\n").out)
    assert.matches("\nfunction pub:histogram\n", session("help 'histogram'\n").out)
    assert.matches("^Opens the list of devices", session("help(kstat.devstat.open)\n").out)
    assert.matches("\nfunction k:rate\n", session("k = kstat.open():lookup('app')\nhelp(k.rate)\n").out)
    for _, name in ipairs({ "kstat.open", "kstat.devstat.open" }) do
      assert.equal(session("help(" .. name .. ")\n").out, session("help '" .. name .. "'\n").out)
    end
    assert.matches("^One statistic, .*\nfunction k:get\n$", session("help 'k:get'\n").out)
    assert.matches("^Finds one kstat.*\nfunction x:lookup\n$", session("help 'ks:lookup'\n").out)
    assert.equal("no help about 'nothing' here; help alone says how to begin\n", session("help 'nothing'\n").out)
  end)

  it("exit and quit end it", function()
    for _, word in ipairs({ "exit", "quit", "exit()", "quit()" }) do
      local r = session("1\n" .. word .. "\n2\n")
      assert.same({ "1\n", 0, "" }, { r.out, r.status, r.err }, word)
    end
    assert.equal("5\n6\n", session("exit = 5\nexit\n6\n").out)
  end)

  it("a script's own help stays what it is", function()
    assert.equal("5\n", run.run({ "kstatlua", "-e", "help = 5", "-i", stdin = "help\n" }).out)
  end)

  it("a line from a pipe may have bytes of value 0", function()
    local r = session("#'a\0b'\nprint(2)\n")
    assert.same({ "3\n2\n", "" }, { r.out, r.err })
  end)

  it("a chunk that the end of the input cuts off is a mistake", function()
    local r = session("1\nfor i = 1, 2 do\nprint(i)\n")
    assert.equal("1\n", r.out)
    assert.matches("^kstatlua: stdin:2: 'end' expected", r.err)
  end)

  it("a misspelt field of kstat is named, with what was meant", function()
    local r = session("kstat.opne()\nkstat.piture\nkstat.every and 1\n")
    assert.equal("kstatlua: stdin:1: kstat has no field 'opne'; did you mean 'open'?\n" ..
      "kstatlua: stdin:1: kstat has no field 'piture'; did you mean 'picture'?\n", r.err)
    assert.equal("1\n", r.out)
    assert.equal("nil\n", run.run({ "kstatlua", "-e", "print(kstat.telepathy)" }).out, "scripts may ask for it")
  end)
end)

describe("Tab", function()
  pty.it(it, pending)("completes what can follow", function()
    local home = run.directory()
    local t = pty.start(("HOME=%s exec %s/kstatlua -r %s -i"):format(home, run.bin, source), 100, 30)
    t:await("help explains, Tab completes, exit ends", true)
    t:send("ks = kstat.open(); k = ks:lookup('app', 0, 'pool'); print('found')", "Enter")
    t:await("\nfound\n>", true) -- keys that come before the prompt does would not be its own
    for _, case in ipairs({
      { "kstat.op", "> kstat.open" }, { "pri", "> print" }, { "ks.qu", "> ks.queue" },
      { "ks.app[0].po", "> ks.app[0].pool" }, { "print(ks.app[0].pool.id", "> print(ks.app[0].pool.idle" },
      { "ks:look", "> ks:lookup" },
      { "k:exa", "> k:exact" }, { "k.modu", "> k.module" }, { "k:get('id", "> k:get('idle'" },
      { 'ks["que', '> ks["queue"' }, { 'ks:select("queue:3:jobs:wa', '> ks:select("queue:3:jobs:waiting"' },
      { 'ks:select("qu', '> ks:select("queue:' }, { "ks.queue.", "> ks.queue[3]" },
    }) do
      t:send("C-a", "C-k", case[1], "Tab")
      t:await(case[2], true)
    end
    t:send("C-a", "C-k", 'k = ks:select("queue', "Tab", "3:jo", "Tab")
    t:await('> k = ks:select("queue:3:jobs:', true)
    t:send("C-a", "C-k", "k:re", "Tab", "Tab")
    t:await("> k:read", true)
    t:send("C-a", "C-k", "exit", "Enter")
    t:close()
    run.remove_directory(home)
  end)
end)
