-- core.screen: frames on a terminal, and keys from it. A small program draws on a terminal that the spec plays.
local pty = require("support.pty")
local run = require("support.run")
local it = pty.it(it, pending)

-- Draws a frame, and the next one when `step` says so; ends at the key q, prints then what it has seen.
local PROGRAM = [[
  local core = require("kstat.core")
  local screen = assert(core.screen("<enter>", "<leave>"))
  local seen, keys, drawn = {}, "", 0
  local function draw()
    local lines, _, rows = {}, core.terminal(1)
    for i = 1, rows or 0 do
      lines[i] = ("%%d"):format(drawn):rep(i == 1 and 1 or %d)
    end
    local bytes, why = screen:draw(lines)
    drawn = drawn + (bytes and 1 or 0)
    seen[#seen + 1] = why
    return why
  end
  core.looping(true)
  assert(screen:enter())
  draw()
  draw() -- is refused
  while not keys:find("q") do
    local bytes, why = screen:read(core.gethrtime() + %d)
    keys = keys .. (bytes or "")
    seen[#seen + 1] = why ~= "time" and why or nil
    if why == "closed" or why == "interrupted" then
      break
    elseif why == "continued" then
      screen:enter()
    end
    %s
  end
  core.looping(false)
  screen:close()
  local f = io.open("%s", "w")
  f:write(("%%d frames, keys %%s, %%s"):format(drawn, (keys:gsub("\27", "^")), table.concat(seen, " ")))
  f:close()
]]

describe("a screen", function()
  local dir

  setup(function()
    dir = os.tmpname()
    os.remove(dir)
    run.shell("mkdir " .. dir)
  end)
  teardown(function()
    run.shell("rm -r " .. dir)
  end)

  -- Runs the program with what it does after each read, on a terminal that does these steps. Returns all that the
  -- terminal was sent, and what the program has seen. options: before, behind (lines of sh), wide (columns that are
  -- written), pause (nanoseconds of a read), columns, rows.
  local function play(after_read, options, ...)
    local script, seen = dir .. "/script.lua", dir .. "/seen"
    run.write_file(script, PROGRAM:format(options.wide or 3, options.pause or 60e9, after_read, seen))
    run.write_file(seen, "")
    local words = { run.quote(("%s %s/kstatlua %s %s"):format(options.before or "", run.quote(run.bin), script,
      options.behind or "")) }
    for _, step in ipairs({ ... }) do
      words[#words + 1] = run.quote(step)
    end
    local r = run.shell(("python3 spec/support/terminal.py %d %d %s"):format(options.columns or 20, options.rows or 4,
      table.concat(words, " ")))
    assert.equal("", r.err)
    return r.out, run.read_file(seen)
  end

  local function count(text, part)
    local n = 0
    for _ in text:gmatch((part:gsub("%p", "%%%0"))) do
      n = n + 1
    end
    return n
  end

  it("draws no frame before the terminal has taken the one before", function()
    local out, seen = play("draw() late = (late or 0) + (drawn > 2 and 1 or 0) if late == 20 then keys = 'q' end",
      { pause = 1e6 }, "answers:2", "await:<leave>")
    assert.matches("^3 frames", seen)
    assert.equal(3, count(out, "\27[?2026h"))
  end)

  it("says when a frame that was refused can be drawn", function()
    local _, seen = play("if why == 'ready' then draw() draw() end if drawn == 3 then keys = 'q' end", {},
      "await:<leave>")
    assert.equal('3 frames, keys q, busy ready busy ready busy', seen)
  end)

  it("goes by what the kernel has written where the terminal never answers", function()
    local _, seen = play("if why == 'ready' then draw() draw() end if drawn == 3 then keys = 'q' end", {},
      "answers:0", "await:<leave>")
    assert.equal('3 frames, keys q, busy ready', seen)
  end)

  it("keeps answers from the keys, also one that comes in two pieces", function()
    local _, seen = play("", {}, "answers:0", "await:\\x1b[5n", "type:" .. ("x"):rep(254) .. "\\x1b[0n\\x1b[Aq",
      "await:<leave>")
    assert.matches(("^1 frames, keys %s, busy"):format(("x"):rep(254) .. "%^%[Aq"), seen) -- and ready after a second
  end)

  it("gives the key that begins as answers do", function()
    local _, seen = play("", {}, "answers:0", "await:\\x1b[5n", "type:a\\x1b", "type:\\x1b[q", "await:<leave>")
    assert.matches("^1 frames, keys a%^%^%[q, busy", seen)
  end)

  it("leaves no answer to the next program", function()
    local marker = dir .. "/answered"
    local out = play(("io.popen('until test -e %s; do sleep 0.01; done'):close() keys = 'q'"):format(marker),
      { pause = 1, behind = "; stty raw -echo; echo ready; head -c 1 | od -c" },
      "answers:0", "await:\\x1b[5n", "type:\\x1b[0n", "touch:" .. marker, "await:ready", "type:y")
    assert.matches("0000000   y", out, 1, true)
  end)

  it("leaves none of a terminal far away, that has answered before", function()
    local out = play("if why == 'ready' then draw() keys = 'q' end",
      { behind = "; stty raw -echo; echo ready; head -c 1 | od -c" },
      "answers:1", "await:<leave>", "wait:0.4", "type:\\x1b[0n", "await:ready", "type:y")
    assert.matches("0000000   y", out, 1, true)
  end)

  it("obeys keys and ends while the terminal takes nothing", function()
    local _, seen = play("draw()", { wide = 2000, columns = 2000, rows = 1000 }, "type:q", "end")
    assert.matches("^1 frames, keys q, busy", seen)
  end)

  -- Also if the key comes when an answer was noticed, and is not read yet.
  for what, before in pairs({ [""] = "",
    [", at any moment"] = "strace -o /dev/null -e inject=ppoll:delay_exit=300000" }) do
    it("is entered again where nothing can stop its process" .. what, function()
      if run.shell(before .. " true").status ~= 0 then
        return pending("processes cannot be traced here: no strace, or no ptrace()")
      end
      local out, seen = play("if why == 'continued' then draw() end", { before = before }, "await:\\x1b[5n", "wait:0.1",
        "type:\\x1a", "await:<leave>", "await:<enter>", "await:\\x1b[5n", "type:q", "await:<leave>")
      assert.matches('^2 frames, keys q, busy ', seen)
      assert.equal(2, count(out, "\27[m\27[H"))
    end)
  end

  it("draws the whole frame in a window of another size", function()
    local out = play("if core.terminal(1) == 2 and drawn == 1 then draw() end", { rows = 2 }, "await:\\x1b[5n",
      "resize:2:1", "await:\\x1b[5n", "type:q", "await:<leave>")
    assert.matches("\27%[m\27%[H0\27%[K\11\r000\27%[K.*\27%[m\27%[H1 \27%[%?2026l", out)
  end)

  it("says that the terminal is gone", function()
    local _, seen = play("draw()", { before = "trap '' HUP;" }, "await:\\x1b[5n", "hangup")
    assert.matches("closed$", seen)
  end)
end)
