-- Reports of sums: what `from` declares.
local capture = require("support.capture")
local kstat = require("kstat")
local run = require("support.run")

local small = run.tree("small")

-- --- what the figures say -------------------------------------------------------------------

-- Of two CPUs and a pool, twice, ten seconds apart. In between CPU 0 spends 3 s of 10 s in `user`, CPU 1 1 s.
local function known_numbers()
  local samples = {}
  for step = 0, 1 do
    local time = ("%d.0"):format(101 + 10 * step)
    local function cpu(i, user, idle, calls)
      return capture.kstat("cpu", i, "sys", "misc", 1, "1.0", time, ('"user":%d,"idle":%d,"calls":%d')
        :format(100 + step * user, 900 + step * idle, 1000 + step * calls))
    end
    samples[step + 1] = {
      cpu(0, 3, 7, 50), cpu(1, 1, 9, 150),
      capture.kstat("cpu", 1, "vm", "misc", 1, "1.0", time, ('"faults":%d'):format(step * 30)),
      capture.kstat("pool", 0, "whole", "misc", 1, "1.0", time, ('"updates":%d,"sum":%d,"size":%d')
        :format(100 + 4 * step, 1000 + 42 * step, 7 + step)),
    }
  end
  return capture.file(samples)
end

local CPUS, NOTHING = { module = "cpu", name = "sys" }, { module = "nothing" }
local POOL = { module = "pool", name = "whole" }

local function figures_of_cpus()
  return kstat.figures({
    busy = { "percent", "user", of = { "user", "idle" } }, n = { "count" }, calls = { "rate", "calls" },
    half = { "delta", "calls", scale = 0.5 },
  })
end

local function columns(...)
  local list = {}
  for i, title in ipairs({ ... }) do
    list[i] = { title, width = 6, format = "%.0f" }
  end
  return list
end

local file

-- What a report shows of the capture between its samples.
local function shown(from, titles, ...)
  local out = {}
  local report = kstat.report({ name = "sums", from = from, columns = columns((table.unpack or unpack)(titles)) })
  local status = report:run({ "-r", file, "-y", ... }, function(text) out[#out + 1] = text end)
  assert.equal(0, status)
  return table.concat(out)
end

describe("a report of sums", function()
  setup(function() file = known_numbers() end)
  teardown(capture.clean)

  it("is one row of all kstats taken together", function()
    local from = { { CPUS, figures = figures_of_cpus() } }
    assert.equal("busy        n  calls   half\n20          2     20    100\n",
      shown(from, { "busy", "n", "calls", "half" }, "10"))
  end)

  it("has its numbers in JSON and CSV, too", function()
    local from = { { CPUS, figures = figures_of_cpus() } }
    assert.matches('^{"report":"sums",[^\n]*,"busy":20,"n":2,"calls":20,"half":100}\n$', shown(from,
       { "busy", "n", "calls", "half" }, "-j", "10"))
    assert.matches("^time,busy,n,calls,half\n[%d.]+,20,2,20,100\n$",
      shown(from, { "busy", "n", "calls", "half" }, "--csv", "10"))
  end)

  it("adds figures of several sources that have one name", function()
    local from = {
      { CPUS, figures = kstat.figures({ all = { "delta", "calls" } }) },
      { POOL, figures = kstat.figures({ all = { "delta", "sum" }, size = { "now", "size" } }) },
    }
    assert.equal("all      size\n242         8\n", shown(from, { "all", "size" }, "10"))
  end)

  it("takes the second selector where the first finds nothing, and the first where it does", function()
    local calls = kstat.figures({ calls = { "delta", "calls" }, n = { "count" } })
    local two = "calls       n\n200         2\n"
    assert.equal(two, shown({ { NOTHING, CPUS, figures = calls } }, { "calls", "n" }, "10"))
    assert.equal(two, shown({ { CPUS, POOL, figures = calls } }, { "calls", "n" }, "10"))
    assert.equal("calls       n\n-           -\n", shown({ { NOTHING, figures = calls } }, { "calls", "n" }, "10"))
  end)

  it("has a row for each kstat, what is found by the row's instance, and fields of every row", function()
    local from = {
      { CPUS, each = true, figures = figures_of_cpus() },
      { { module = "cpu", instance = "row", name = "vm" },
        figures = kstat.figures({ faults = { "delta", "faults" } }) },
      fields = { set = 5, where = "here" },
    }
    assert.equal([[
module instance   name   busy  calls faults    set  where
cpu         0    sys     30      5      -      5   here
cpu         1    sys     10     15     30      5   here
]], shown(from, { "module", "instance", "name", "busy", "calls", "faults", "set", "where" }, "10"))
  end)

  it("hands each complete row to a function of its own", function()
    local from = {
      { CPUS, each = true, figures = figures_of_cpus() },
      finish = function(row, d)
        row.calls = row.calls * 2 + d.elapsed * 0
      end,
    }
    assert.equal("instance  calls\n0          10\n1          30\n", shown(from, { "instance", "calls" }, "10"))
  end)

  it("shows a mean of what was added once a second, rounded down", function()
    local mean = kstat.figures({ mean = { "mean", "sum" }, tenfold = { "mean", "sum", scale = 10 } })
    assert.equal("mean   tenfold\n10        100\n", shown({ { POOL, figures = mean } }, { "mean", "tenfold" }, "10"))
  end)

  it("may be decided when options and kstats are known", function()
    local from = function(options, ks)
      assert.is_nil(options.json)
      return { { ks:lookup("pool", 0, "whole") and POOL or CPUS, figures = kstat.figures({ n = { "count" } }) } }
    end
    assert.equal("n\n1\n", shown(from, { "n" }, "10"))
  end)
end)

-- --- figures --------------------------------------------------------------------------------

describe("kstat.figures", function()
  local ks, d

  setup(function()
    file = known_numbers()
    ks = assert(kstat.open(file))
    local before = assert(ks:sample())
    ks:update()
    d = assert(ks:sample()) - before
  end)
  teardown(function()
    ks:close()
    capture.clean()
  end)

  it("are those of a kstat, whose row they join", function()
    local row = d:lookup("cpu", 0, "sys"):figures(figures_of_cpus(), { n = 2, other = "x" })
    assert.same({ busy = 30, n = 3, calls = 5, half = 25, other = "x" }, row)
    assert.same({ busy = 10, n = 1, calls = 15, half = 75 }, d:figures("cpu", 1, "sys", figures_of_cpus()))
    assert.is_nil(d:figures("cpu", 2, "sys", figures_of_cpus()))
  end)

  it("leave out what is not known", function()
    local none = kstat.figures({ a = { "percent", "nothing", of = { "user" } }, b = { "percent", "user", of = { "x" } },
      c = { "rate", "nothing", scale = 2 }, d = { "percent", "faults", of = { "faults" } } })
    assert.same({}, d:figures("cpu", 0, "sys", none))
    assert.same({ d = 100 }, d:figures("cpu", 1, "vm", none))
  end)

  it("are refused by name", function()
    for message, given in pairs({
      ["figure 'f': of = { statistic, ... } expected"] = { "percent", "a" },
      ["figure 'f': only a percentage is one of something"] = { "rate", "a", of = { "b" } },
      ["figure 'f': a count has no statistics"] = { "count", "a" },
      ["figure 'f': scale: a number expected"] = { "rate", "a", scale = "2" },
      ["figure 'f': of: the name of a statistic expected"] = { "percent", "a", of = { 1 } },
      ["figure 'f': { how, statistic, ... } expected"] = { "percent", of = { "a" } },
      ["figure 'f': 'rate', 'delta', 'now', 'mean', 'percent' or 'count' expected"] = { "sum", "a" },
    }) do
      local ok, told = pcall(kstat.figures, { f = given })
      assert.is_false(ok)
      assert.equal(message, told:match("figure .*$"))
    end
    for _, scale in ipairs({ 0 / 0, 1 / 0 }) do
      assert.error_matches(function() kstat.figures({ f = { "rate", "a", scale = scale } }) end, "'f': scale: a number")
    end
  end)
end)

-- --- mistakes -------------------------------------------------------------------------------

describe("sources of rows", function()
  local dir

  before_each(function() dir = run.directory() end)
  after_each(function() run.remove_directory(dir) end)

  local BEGINNING = "local kstat = require('kstat')\nlocal f = kstat.figures({ n = { 'count' } })\n"

  local function told(from)
    run.write_file(dir .. "/wrong.lua", BEGINNING .. "return kstat.report({ from = " .. from ..
      ",\n columns = { { 'n', width = 3 } } })\n")
    local r = run.run({ "kstatlua", dir .. "/wrong.lua" })
    assert.not_equal(0, r.status)
    assert.equal("", r.out)
    local place, message = r.err:match("^([^\n]*wrong%.lua:[%d:]*) ([^\n]*)\n$")
    assert.is_string(place, r.err)
    return message
  end

  it("are refused in one line that names the script and the source", function()
    local expected = "{ selector, …, figures = … } expected"
    for from, message in pairs({
      ["{}"] = "an array of sources expected",
      ["{ 'x' }"] = "source 1: " .. expected,
      ["{ { 'a', figures = f }, { figures = f } }"] = "source 2: " .. expected,
      ["{ { 'a', figures = f }, { 'a' } }"] = "source 2: figures: what kstat.figures() gives expected",
      ["{ { 'a', figures = {} } }"] = "source 1: figures: what kstat.figures() gives expected",
      ["{ { 'a', figures = f, wide = 1 } }"] = "source 1: unknown field 'wide'",
      ["{ { 'a', figures = f }, { 'a', figures = f, each = true } }"] =
        "source 2: each: only the first source has rows of its own, for one selector",
      ["{ { 'a', 'b', figures = f, each = true } }"] =
        "source 1: each: only the first source has rows of its own, for one selector",
      ["{ { { module = 'a', instance = 'row', name = 'b' }, figures = f } }"] =
        "source 1: instance = \"row\" needs a module, a name, and another source that comes first",
      ["{ { 'a', figures = f }, { { instance = 'row' }, figures = f } }"] =
        "source 2: instance = \"row\" needs a module, a name, and another source that comes first",
      ["{ { 'a', figures = f }, colour = 1 }"] = "unknown field 'colour'",
      ["{ { 'a', figures = f }, fields = 1 }"] = "fields: a table expected",
      ["{ { 'a', figures = f }, finish = 1 }"] = "finish: a function expected",
      ["{ { 'a', figures = f }, fields = { n = 1 } }"] = "source 1: figure 'n': the row has a field of this name",
      ["{ { 'a', each = true, figures = kstat.figures({ name = { 'count' } }) } }"] =
        "source 1: figure 'name': the row has a field of this name",
      ["{ { 'a', figures = kstat.figures({ text = { 'count' } }) } }"] =
        "source 1: figure 'text': the row has a field of this name",
    }) do
      assert.equal("from: " .. message, told(from))
    end
    assert.matches("^from: source 1: .*regular expression", told("{ { '/[/', figures = f } }"))
    assert.matches("^from: source 2: .*", told("{ { 'a', figures = f }, { { colour = 1 }, figures = f } }"))
  end)

  it("that a function gives are refused when it runs, in one line", function()
    run.write_file(dir .. "/late.lua", BEGINNING .. "return kstat.report({ name = 'late', " ..
      "from = function() return { { 'a' } } end, columns = { { 'n', width = 3 } } })\n")
    local r = run.run({ "kstatlua", dir .. "/late.lua" })
    assert.equal("late: from: source 1: figures: what kstat.figures() gives expected\n", r.err)
    assert.equal(1, r.status)
  end)
end)

-- --- tick after tick ------------------------------------------------------------------------

-- A script whose report calls change(n) before each interval.
local DRIVER = [[
local core, kstat = require("kstat.core"), require("kstat")
local change = function() end
local wait, n = core.wait, 0
function core.wait(...)
  n = n + 1
  change(n)
  return wait(...)
end

local function report(given)
  given.optional = true -- some statistics are missing on purpose
  os.exit(kstat.report(given):run(arg))
end
]]

-- As DRIVER, with what processes publish: `a` and `b`, of which a's statistics change.
local PUBLISHED = DRIVER .. [[
local pub = assert(kstat.publish("spec"))
local function new(name)
  return assert(pub:named({ name = name, class = "app", statistics = { "hits", "misses", "updates", "sum",
    { name = "level", kind = "gauge" } } }))
end
local a, b = new("a"), new("b")
a:set("level", 3)
local FIGURES = kstat.figures({
  hits = { "delta", "hits" }, share = { "percent", "hits", of = { "hits", "misses" } }, n = { "count" },
  level = { "now", "level", scale = 1000 }, mean = { "mean", "sum" }, rate = { "rate", "nothing", "still" },
})
local COLUMNS = {
  { "name", width = 4 }, { "hits", width = 5, format = "%d" }, { "share", width = 6, format = "%.2f" },
  { "n", width = 2, format = "%.0f" }, { "level", width = 3 }, { "mean", width = 5, format = "%.0f" },
  { "rate", width = 5 }, { "word", width = 5 }, { "seven", width = 6, format = "%.3f" },
}
local FIELDS = { word = "wörd", seven = 7 }
local ALL = { module = "spec" }
]]

describe("ticks of a report of sums", function()
  local dir

  before_each(function()
    dir = run.directory()
    run.shell(("mkdir %s/kstat; cp -r %s %s/tree"):format(dir, small, dir))
  end)
  after_each(function() run.remove_directory(dir) end)

  local function env()
    return { KSTAT_DIR = dir .. "/kstat", KSTAT_PROC = dir .. "/tree/proc", KSTAT_SYS = dir .. "/tree/sys",
      TREE = dir .. "/tree" }
  end

  -- What a script prints. Statistics that count are changed alike: nothing depends on time.
  local function printed(script, ...)
    run.shell(("rm -rf %s/tree %s/kstat/*; cp -r %s %s/tree"):format(dir, dir, small, dir))
    run.write_file(dir .. "/report.lua", script)
    local r = run.run({ "kstatlua", dir .. "/report.lua", env = env(), ... })
    assert.equal("", r.err)
    assert.equal(0, r.status)
    return r.out
  end

  local CHANGE = [[
    function change(i)
      a:add("hits", 10 * i)
      a:add("misses", 30)
      b:add("hits", 1)
      if i % 2 == 0 then
        a:add("updates", 2)
        a:add("sum", 1001 * i)
      end
      a:set("level", i)
    end
  ]]

  it("show what happened in each interval, in one row", function()
    local out = printed(PUBLISHED .. CHANGE .. [[
      report({ name = "one", published = true, columns = COLUMNS,
        from = { { ALL, figures = FIGURES }, fields = FIELDS } })
    ]], "0.02", "6")
    assert.equal([[
name  hits  share  n level  mean  rate  word  seven
-        0      -  2 3000.0     -     -  wörd  7.000
-       11  26.83  2 1000.0     -     -  wörd  7.000
-       21  41.18  2 2000.0  1001     -  wörd  7.000
-       31  50.82  2 3000.0  1001     -  wörd  7.000
-       41  57.75  2 4000.0  2002     -  wörd  7.000
-       51  62.96  2 5000.0  2002     -  wörd  7.000
]], out)
  end)

  it("show it in many rows, whose cells make room for one another", function()
    for _, more in ipairs({ "", "squeeze = true, blank = false,", "gap = '  ', heading = ' above',",
      "repeat_header = 1," }) do
      local out = printed(PUBLISHED .. CHANGE .. [[
        report({ name = "many", published = true, columns = COLUMNS, ]] .. more .. [[
          from = { { ALL, each = true, figures = FIGURES },
            { { module = "spec", instance = 0, name = "b" }, figures = kstat.figures({ n = { "count" } }) },
            fields = FIELDS } })
      ]], "0.02", "5")
      assert.equal(5, select(2, out:gsub("name +hits", "")))
      assert.matches("\na +20 +40", out)
      assert.matches("\nb +1 +100", out)
    end
  end)

  it("leave out the first tick, and the header until the screen is full", function()
    local out = printed(PUBLISHED .. CHANGE .. [[
      report({ name = "one", published = true, columns = COLUMNS, repeat_header = 3,
        from = { { ALL, figures = FIGURES } } })
    ]], "-y", "0.02", "10")
    local kinds = out:gsub("[^\n]*\n", function(line) return line:find("^name") and "h" or "l" end)
    assert.equal("hlllhlllhlll", kinds)
  end)

  it("never show what is no number as one", function()
    printed(PUBLISHED .. CHANGE .. [[
      report({ name = "one", published = true, columns = COLUMNS,
        from = { { ALL, figures = FIGURES }, fields = { word = { 1, 2 }, seven = true } } })
    ]], "0.02", "3")
    assert.equal("text\ntext\n", printed(PUBLISHED .. CHANGE .. [[
      report({ name = "one", published = true, columns = { { "", "n", width = 3, key = "n" } },
        from = { { ALL, figures = FIGURES }, fields = { text = "text" } } })
    ]], "0.02", "2"))
  end)

  it("go on when a kstat comes, goes and comes again", function()
    for _, each in ipairs({ "true", "false" }) do
      local out = printed(PUBLISHED .. [[
        local c
        function change(i)
          a:add("hits", 5)
          if i == 3 then
            c = new("c")
            c:add("hits", 1)
          elseif i == 6 then
            c:delete()
          elseif i == 8 then
            b:delete()
          end
        end
        report({ name = "some", published = true, columns = COLUMNS,
          from = { { ALL, each = ]] .. each .. [[, figures = FIGURES } } })
      ]], "0.02", "11")
      assert.is_nil(out:find("%d%d%d%d%d"))
      if each == "true" then
        assert.equal(3, select(2, out:gsub("\nc +", "")))
        assert.equal(8, select(2, out:gsub("\nb +", "")))
        assert.equal(11, select(2, out:gsub("\na +", "")))
      end
    end
  end)

  it("go on with the second selector when the first one finds nothing any more, and back", function()
    local out = printed(PUBLISHED .. [[
      b:add("hits", 1000000)
      function change(i)
        b:add("hits", 7)
        if i == 3 then
          a:delete()
        elseif i == 6 then
          a = new("a")
        end
        if i < 3 or i > 5 then
          a:add("hits", 5)
        end
      end
      local pick = kstat.selector({ module = "spec", name = "a" })
      report({ name = "other", published = true, columns = COLUMNS,
        from = { { pick, { module = "spec", name = "b" }, figures = FIGURES } } })
    ]], "0.02", "9")
    -- What is not in the sample before is not known at first.
    local hits = {}
    for n in out:gmatch("\n%- +(%S+)") do
      hits[#hits + 1] = n
    end
    assert.equal("0 5 5 - 7 7 5 5 5", table.concat(hits, " "))
  end)

  local TREE = [[
    local tree = os.getenv("TREE")
    local function edit(file, f)
      local at = assert(io.open(tree .. file))
      local text = at:read("*a")
      at:close()
      at = assert(io.open(tree .. file, "w"))
      assert(at:write((f(text))))
      at:close()
    end
    local times = kstat.figures({
      usr = { "percent", "cpu_ticks_user", of = { "cpu_ticks_user", "cpu_ticks_kernel", "cpu_ticks_idle" } },
      user = { "delta", "cpu_ticks_user" }, n = { "count" },
    })
    local columns = { { "instance", width = 8, format = "%d" }, { "usr", width = 8 }, { "user", width = 8 },
      { "n", width = 2, format = "%d" } }
    local cpus = { module = "cpu", name = "sys" }
    -- CPU 0 works 30 ticks in user mode and 10 in none.
    local function work(text)
      return (text:gsub("\ncpu0 (%d+) (%d+) (%d+) (%d+)", function(user, nice, system, idle)
        return ("\ncpu0 %d %d %d %d"):format(user + 30, nice, system, idle + 10)
      end))
    end
  ]]

  it("follow the machine, whose CPUs go and come", function()
    for _, each in ipairs({ "true", "false" }) do
      local out = printed(DRIVER .. TREE .. [[
        local gone
        function change(i)
          edit("/proc/stat", work)
          if i == 3 then
            edit("/proc/stat", function(text)
              gone = text:match("\ncpu1[^\n]*")
              return (text:gsub("\ncpu1[^\n]*", ""))
            end)
          elseif i == 6 then
            edit("/proc/stat", function(text) return (text:gsub("\nintr", gone:gsub("%%", "") .. "\nintr", 1)) end)
          end
        end
        report({ name = "cpus", columns = columns, from = { { cpus, each = ]] .. each .. [[, figures = times } } })
      ]], "0.02", "9")
      local counted = {}
      for n in out:gmatch(each == "true" and "\n(%d+)[^\n]*" or "\n%-[^\n]*(%d)") do
        counted[#counted + 1] = n
      end
      assert.equal(each == "true" and "01010100000101" or "222111122", (table.concat(counted)))
      -- CPU 0 since boot, then 30 of 40 ticks at each tick.
      assert.equal(8, select(2, out:gsub("75%.0 +30", "")))
    end
  end)

  it("follow disks that go", function()
    local out = printed(DRIVER .. TREE .. [[
      function change(i)
        if i == 2 then
          edit("/proc/diskstats", function(text) return (text:gsub("[^\n]* sda [^\n]*\n", "")) end)
        end
      end
      report({ name = "disks", columns = { { "name", width = 10 }, { "n", width = 2 }, { "reads", width = 8 } },
        from = { { { class = "disk" }, each = true, figures = kstat.figures({ n = { "count" },
          reads = { "delta", "reads" } }) } } })
    ]], "0.02", "5")
    assert.equal(2, select(2, out:gsub("\nsda ", "")))
    assert.equal(5, select(2, out:gsub("\nsdb ", "")))
  end)

  it("show rates, of one time for all that is read together", function()
    local out = printed(DRIVER .. TREE .. [[
      function change() edit("/proc/stat", work) end
      local all = kstat.selector({ module = "cpu", instance = 0, name = "sys" })
      report({ name = "rates", columns = { { "one", width = 12, format = "%.6f" },
        { "two", width = 12, format = "%.6f" }, { "tenth", width = 12, format = "%.6f" } },
        from = { { all, figures = kstat.figures({ one = { "rate", "cpu_ticks_user" },
          two = { "rate", "cpu_ticks_user", "cpu_ticks_user" },
          tenth = { "rate", "cpu_ticks_user", scale = 0.1 } }) } } })
    ]], "-y", "0.03", "5")
    local lines = 0
    for one, two, tenth in out:gmatch("\n([%d.]+) +([%d.]+) +([%d.]+)") do
      lines = lines + 1
      assert.is_true(tonumber(one) > 0 and tonumber(one) <= 30 / 0.001)
      assert.near(2 * one, tonumber(two), 0.001)
      assert.near(one / 10, tonumber(tenth), 0.001)
    end
    assert.equal(4, lines)
  end)

  -- --- how they end ---------------------------------------------------------------------------

  local PLAIN = [[
    local kstat = require("kstat")
    return kstat.report({
      name = "plain", columns = { { "n", width = 1, format = "%d" }, { "user", width = 3, format = "%d" } },
      from = { { { module = "cpu", name = "sys" }, figures = kstat.figures({ n = { "count" },
        user = { "delta", "cpu_ticks_user" } }) } },
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
