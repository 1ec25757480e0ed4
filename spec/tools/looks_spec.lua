-- How tables look: columns stay aligned, fit the window, and numbers beyond a limit have a colour.
local capture = require("support.capture")
local kstat = require("kstat")
local picture = require("kstat.picture")
local pty = require("support.pty")
local run = require("support.run")

-- A capture of one queue, whose number and text grow.
local function growing()
  local samples = {}
  for i, n in ipairs({ 5, 70, 123456 }) do
    samples[i] = { capture.kstat("app", 0, "queue", "misc", 1, 1, 10 + i, ('"label":"%s","level":%d'):format(
      ("q"):rep(2 * i), n)) }
  end
  return capture.file(samples)
end

local function show(declaration, ...)
  local out = {}
  kstat.report(declaration):run({ ... }, function(text) out[#out + 1] = text end)
  return table.concat(out)
end

describe("a table", function()
  teardown(capture.clean)

  it("has a new header when a later row is wider", function()
    local text = show({ select = "app", columns = { { "label" }, { "level", format = "%d" }, { "n", "level", width = 2,
      format = "%d" } } }, "-r", growing(), "1", "3")
    assert.equal("label level  n\nqq        5  5\nqqqq     70 70\n" ..
      "label   level  n\nqqqqqq 123456 123456\n", text)
  end)

  it("has no colour but for numbers beyond their limit, and that only where it is wanted", function()
    local declaration = { select = "app", columns = { { "label", width = 6 },
      { "level", width = 7, format = "%d", warning = 70, critical = 1000 } } }
    local path = growing()
    assert.falsy(show(declaration, "-r", path, "1", "3"):find("\27", 1, true))
    assert.falsy(show(declaration, "--color=always", "--csv", "-r", path, "1", "3"):find("\27", 1, true))
    assert.equal("label    level\nqq           5\nqqqq        \27[33m70\27[0m\nqqqqqq  \27[31m123456\27[0m\n",
      show(declaration, "--color=always", "-r", path, "1", "3"))
  end)

  pty.it(it, pending)("has colours on a terminal, unless it is dumb or NO_COLOR is set", function()
    local function coloured(variables)
      return run.shell(("%s script -qec %s /dev/null </dev/null"):format(variables, run.quote(
        ("%s/kstatlua -r %s -e %s"):format(run.bin, growing(), run.quote("return kstat.report({ select = 'app', " ..
        "columns = { { 'level', format = '%d', warning = 1 } } })"))))).out:find("\27[33m5\27[0m", 1, true) ~= nil
    end
    assert.same({ true, true, false, false }, { coloured("TERM=xterm"), coloured("TERM=xterm NO_COLOR="),
      coloured("TERM=xterm NO_COLOR=1"), coloured("TERM=dumb") })
  end)

  it("leaves its texts whole in a pipe, also if whole numbers come last", function()
    local r = run.run({ "kstatlua", "-r", growing(), "-e", "return kstat.report({ select = 'app', columns = { " ..
      "{ 'name', function() return ('long '):rep(8) end }, { 'level', format = '%d' } } })", env = { COLUMNS = "30" } })
    assert.matches(("long "):rep(8), r.out, 1, true)
  end)

  it("leaves its texts to the window's width, and never cuts numbers", function()
    local function names(width)
      return run.shell(("COLUMNS=80 LC_ALL=C script -qec %s /dev/null </dev/null"):format(run.quote(
        ("stty cols %d; %s/kstatlua -r %s -e %s"):format(width, run.bin, growing(), run.quote(
        "return kstat.report({ select = 'app', columns = { { 'name', function() return ('long '):rep(8) end }, " ..
        "{ 'level', format = '%d' }, { 'what', function() return 'text' end, align = 'left' } } })"))))).out
    end
    if run.shell("script -qec true /dev/null </dev/null").status ~= 0 then
      return pending("needs a terminal: /dev/ptmx and /dev/pts")
    end
    assert.matches("long long long long long long long long      5 text", names(80), 1, true)
    local text = names(30)
    assert.matches("long long long lon~     5 text", text, 1, true)
    for line in text:gmatch("[^\r\n]+") do
      assert.is_true(#line <= 30, line)
    end
  end)

  it("of vmstat is aligned in a wide window, and its memory in any, on a machine with much of it", function()
    local function lines_of(before)
      local lines = {}
      for line in run.shell(before .. run.bin .. "/kstatlua vmstat").out:gmatch("[^\n]+") do
        lines[#lines + 1] = line
      end
      assert.equal(3, #lines)
      return lines
    end
    local lines = lines_of("")
    local swap, free = lines[2]:find(" +swap +free")
    assert.matches("^ +%d+ +%d+$", lines[3]:sub(swap, free), lines[3])
    lines = lines_of("COLUMNS=130 ")
    for at in lines[2]:gmatch("[^ ]()%f[ %z]") do
      assert.matches("^[%d-] ?$", lines[3]:sub(at - 1, at), lines[3])
    end
    assert.is_true(lines[2]:find("sr", 1, true) > lines[1]:find("page", 1, true))
    assert.is_true(lines[2]:find("in ", 1, true) < lines[1]:find("faults", 1, true) + 8)
  end)
end)

it("pictures are what the locale says, into a pipe, too", function()
  local function line(locale)
    return run.shell(("LC_ALL=%s %s/kstatlua -e 'print(kstat.picture.sparkline({ 1, 2 }))' | cat"):format(locale,
      run.bin)).out
  end
  assert.equal(picture.sparkline({ 1, 2 }, { utf8 = true }) .. "\n", line("C.UTF-8"))
  assert.equal(picture.sparkline({ 1, 2 }, { utf8 = false }) .. "\n", line("C"))
end)

it("CSV has quotes around a text with a carriage return", function()
  local text = show({ select = "app", columns = { { "a", function() return "x\ry" end } } }, "--csv", "-r", growing())
  assert.matches(',"x\ry"\n$', text)
end)
