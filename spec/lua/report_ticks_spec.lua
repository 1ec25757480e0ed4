-- The ticks of a report: how its lines look, and how they end.
local kstat = require("kstat")
local run = require("support.run")

local small = run.tree("small")

-- What a report of these rows prints.
local function printed(given, rows)
  local out = {}
  given.name, given.rows = "lines", function() return rows end
  assert.equal(0, kstat.report(given):run({}, function(text) out[#out + 1] = text end))
  return table.concat(out)
end

describe("the lines of a report", function()
  local ROWS = { { a = 1.5, b = "wörd", c = 3 }, { a = 12345.25, b = "x" }, { a = 0 / 0, b = "longer", c = -2 } }

  local function columns()
    return { { "a", width = 4 }, { "b", width = 5, align = "left" }, { "c", width = 3, format = "%d" } }
  end

  it("have cells as wide as their columns, and wider ones where a text or a number needs it", function()
    assert.equal("a    b       c\n1.5  wörd    3\n12345.2 x       -\n-    longer  -2\n",
      printed({ columns = columns() }, ROWS))
  end)

  it("take room for what is too wide from the cells that follow if they are squeezed", function()
    assert.equal("a    b       c\n1.5  wörd    3\n12345.2 x    -\n-    longer -2\n",
      printed({ columns = columns(), squeeze = true }, ROWS))
  end)

  it("are made of values, too, one for each column", function()
    assert.equal("a    b       c\n1.5  wörd    3\n2.0  -       -\n",
      printed({ columns = columns() }, { { 1.5, "wörd", 3 }, { 2 } }))
  end)

  it("are as wide as the longest text", function()
    local long = ("x"):rep(3000)
    assert.equal(("a\n%s\n%s\n"):format(long, "y"), printed({ columns = { { "a" } } }, { { a = long }, { a = "y" } }))
  end)

  it("have any text between their columns", function()
    assert.equal("a    | b     |   c\n1.5  | wörd  |   3\n", printed({ columns = columns(), gap = " | " }, { ROWS[1] }))
  end)

  it("are as wide with colours as without", function()
    local given = columns()
    given[1].warning = 1
    local out = {}
    kstat.report({ name = "c", columns = given, rows = function() return { ROWS[1] } end }):run({ "--color=always" },
      function(text) out[#out + 1] = text end)
    assert.equal("a    b       c\n\27[33m1.5\27[0m  wörd    3\n", table.concat(out))
  end)

  it("round numbers as printf does", function()
    local given = { { "a", width = 3, format = "%.0f" }, { "b", width = 3, format = "%d" },
      { "c", width = 6, format = "%.2f" } }
    assert.equal("a     b      c\n0     1   0.50\n2     3   2.50\n4     4   3.50\n", printed({ columns = given },
      { { a = 0.5, b = 0.5, c = 0.5 }, { a = 2.5, b = 2.5, c = 2.5 }, { a = 3.5, b = 3.5, c = 3.5 } }))
  end)
end)

describe("ticks of a report", function()
  local dir

  before_each(function()
    dir = run.directory()
    run.shell(("mkdir %s/kstat; cp -r %s %s/tree"):format(dir, small, dir))
  end)
  after_each(function() run.remove_directory(dir) end)

  local function env()
    return { KSTAT_DIR = dir .. "/kstat", KSTAT_PROC = dir .. "/tree/proc", KSTAT_SYS = dir .. "/tree/sys" }
  end

  local PLAIN = [[
    local kstat = require("kstat")
    return kstat.report({
      name = "plain", columns = { { "n", width = 1, format = "%d" }, { "user", width = 3, format = "%d" } },
      select = { module = "cpu", name = "sys" },
      rows = function(d)
        local cpus, user = d:select("cpu::sys"), 0
        for _, k in ipairs(cpus) do user = user + k:get("cpu_ticks_user") end
        return { { n = #cpus, user = user } }
      end,
    })
  ]]

  local function plain_words(...)
    run.write_file(dir .. "/plain.lua", PLAIN)
    local words = {}
    for name, value in pairs(env()) do
      words[#words + 1] = name .. "=" .. run.quote(value)
    end
    return ("env %s %s/kstatlua %s/plain.lua %s"):format(table.concat(words, " "), run.bin, dir,
      table.concat({ ... }, " "))
  end

  it("are as many as were asked for", function()
    for _, count in ipairs({ 1, 2, 3, 30 }) do
      local r = run.shell(plain_words("0.02", count))
      assert.equal(0, r.status)
      assert.equal(count, select(2, r.out:gsub("2 +%d+\n", "")))
      assert.equal(count > 22 and 2 or 1, select(2, r.out:gsub("n user\n", "")))
      assert.equal("", r.err)
    end
  end)

  it("end at a full device in one line, with status 3", function()
    local r = run.shell(plain_words("0.02 4 >/dev/full"))
    assert.matches("plain: standard output: No space left on device\n$", r.err)
    assert.equal(3, r.status)
    -- What is full only after a while: a file that may not grow.
    local words = plain_words("0.001 400", ">" .. dir .. "/out")
    r = run.shell("trap '' XFSZ; ulimit -f 1; " .. words)
    assert.equal("plain: standard output: File too large\n", r.err)
    assert.equal(3, r.status)
  end)

  it("end quietly when the reader goes away", function()
    local r = run.shell(("{ %s; echo $? >%s/status; } | head -n 3"):format(plain_words("0.02"), dir))
    assert.equal("", r.err)
    assert.equal("0\n", run.read_file(dir .. "/status"))
    assert.equal(3, select(2, r.out:gsub("\n", "")))
  end)

  local function lines()
    return select(2, run.read_file(dir .. "/out"):gsub("\n", ""))
  end

  -- Starts a report without end in the background, whose lines go to a file; waits until some are there.
  local function started()
    run.write_file(dir .. "/out", "")
    local pid = run.shell(("{ %s; } >%s/out 2>%s/err </dev/null & echo $!"):format("exec " ..
      plain_words("0.02"), dir, dir)).out:match("%d+")
    run.await("some lines", function() return lines() > 4 end)
    return pid
  end

  it("go on after a stop and other signals", function()
    local pid = started()
    finally(function() run.shell("kill -KILL " .. pid .. " 2>&-") end)
    for _, signal in ipairs({ "STOP", "WINCH" }) do
      run.shell(("kill -%s %s"):format(signal, pid))
      if signal == "STOP" then
        run.await("a stop", function() return run.read_file("/proc/" .. pid .. "/stat"):find("%) T ") end)
        run.shell("kill -CONT " .. pid)
      end
      local before = lines()
      run.await("more lines", function() return lines() > before + 3 end)
    end
    run.stop(pid, "INT")
    assert.equal("", run.read_file(dir .. "/err"))
    -- Nothing happens on this machine, and no line is torn.
    local text = run.read_file(dir .. "/out"):gsub("^[^\n]*\n[^\n]*\n", ""):gsub("n user\n", "")
    assert.equal("", (text:gsub("2   0\n", "")))
  end)

  it("end at an interrupt after a whole line, with status 0", function()
    run.write_file(dir .. "/out", "")
    local r = run.shell(([[%s >%s/out & pid=$!
      until [ $(wc -l <%s/out) -gt 4 ]; do sleep 0.02; done
      kill -INT $pid
      wait $pid]]):format(plain_words("0.02"), dir, dir))
    assert.equal("", r.err)
    assert.matches("\n2 +0\n$", run.read_file(dir .. "/out"))
    assert.equal(0, r.status)
  end)

  it("of vmstat and mpstat are alike on any machine", function()
    for _, words in ipairs({ "vmstat", "vmstat -p", "vmstat -S", "mpstat", "mpstat -a" }) do
      for _, tree in ipairs({ false, true }) do
        local argv = { "kstatlua", env = tree and env() or {} }
        for word in (words .. " 0.02 4"):gmatch("%S+") do
          argv[#argv + 1] = word
        end
        local r = run.run(argv)
        assert.equal("", r.err, words)
        assert.equal(0, r.status)
        -- Four ticks: as many lines each, with as many cells.
        local heads, rows, cells = 0, 0, nil
        for line in r.out:gmatch("[^\n]+") do
          if line:find("%l%l") then
            heads = heads + 1
          else
            rows = rows + 1
            local n = select(2, line:gsub("%S+", ""))
            cells = cells or n
            assert.equal(cells, n, words)
          end
        end
        assert.equal(0, rows % 4, words)
        if words == "mpstat" and rows > 4 then
          assert.equal(4, heads)
        end
      end
    end
  end)
end)
