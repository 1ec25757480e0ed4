-- Reports at their edges: what rows know, who is blamed for what, and names of all kinds.
local capture = require("support.capture")
local expression = require("kstat.figures.expression")
local kstat = require("kstat")
local run = require("support.run")

local illumos = "spec/vectors/kstat/host.jsonl"
local script = os.tmpname() .. ".lua"

-- Runs the text as a script on the capture of illumos.
local function play(text, ...)
  run.write_file(script, text)
  return run.run({ "kstatlua", script, env = { KSTAT_SOURCE = illumos, KSTAT_REPLAY_TIME = "1700000000" }, ... })
end

-- A report in this process: what it prints, its status, and what it says on standard error.
local function show(report, ...)
  local out, said, stderr = {}, {}, io.stderr
  io.stderr = { write = function(_, ...) said[#said + 1] = table.concat({ ... }) end } -- luacheck: ignore 122
  local ok, status = pcall(report.run, report, { "-r", illumos, ... }, function(text) out[#out + 1] = text end)
  io.stderr = stderr -- luacheck: ignore 122
  assert.is_true(ok, status)
  return table.concat(out), status, table.concat(said)
end

local function disks(columns, more)
  local given = { name = "d", select = { class = "disk", name = "sd[01]" }, columns = columns }
  for field, value in pairs(more or {}) do
    given[field] = value
  end
  return kstat.report(given)
end

teardown(function()
  os.remove(script)
  capture.clean()
end)

describe("if()", function()
  it("looks at the branch that it takes and at no other", function()
    local row = { a = 6, zero = 0, word = "text" }
    for text, want in pairs({
      ["if(zero, a / zero, a)"] = 6, ["if(a, a, nothing)"] = 6, ["if(zero, 1, if(a, 2, 3))"] = 2,
      ["if(a, word, 0)"] = "text", ["if(a - 6, 1, 0)"] = 0,
    }) do
      assert.equal(want, assert(expression.compile(text))(row), text)
    end
    assert.is_nil(assert(expression.compile("if(nothing, 1, 2)"))(row))
    assert.is_nil(assert(expression.compile("if(a, a / zero, 2)"))(row))
    assert.matches("if%(%) takes 3 expressions, not 2", select(2, expression.compile("if(a, 2)")))
  end)
end)

describe("an expression", function()
  it("may be nested in a hundred levels, and is refused in one line beyond what can be read", function()
    for _, n in ipairs({ 100, 1000 }) do
      assert.equal(7, assert(expression.compile(("("):rep(n) .. "7" .. (")"):rep(n)))({}))
      assert.equal(7, assert(expression.compile(("-"):rep(n) .. "7"))({}))
    end
    local compiled, message = expression.compile(("("):rep(30000) .. "7" .. (")"):rep(30000))
    assert.is_nil(compiled)
    assert.matches("^'%(+…' is nested too deeply$", message)
    local r = run.run({ "kstat", "-r", illumos, "-a", "sum(" .. ("-"):rep(60000) .. "snaptime)" })
    assert.equal(2, r.status)
    assert.matches("^kstat: [^\n]*nested too deeply[^\n]*\n$", r.err)
  end)

  it("has percentiles of one expression", function()
    assert.error_matches(function() disks({ { "a", "p99(a, b)" } }) end, "column 'a': p99%(%) takes one expression")
    assert.error_matches(function() disks({ { "a", "p101(a)" } }) end, "column 'a': there is no reducer 'p101'")
  end)
end)

describe("a name of the header in an expression", function()
  it("is the statistic of that name in differences, and the header's as it is", function()
    local source = capture.file({ { capture.kstat("app", 3, "pool", "misc", 1, 1, 10, '"instance":100') },
      { capture.kstat("app", 3, "pool", "misc", 1, 1, 15, '"instance":107') } })
    local r = kstat.report({ name = "h", select = { "app" }, skip_first = true, columns = {
      { "delta", "delta(instance)" }, { "now", "instance" } } })
    local out = {}
    assert.equal(0, (r:run({ "-r", source, "--csv", "5" }, function(text) out[#out + 1] = text end)))
    assert.matches("\n[^\n]*7,3\n$", table.concat(out))
  end)
end)

describe("a mistake in a function of an expression", function()
  it("is told with its position", function()
    for text, want in pairs({
      ["1 + foo(reads)"] = "there is no function 'foo', at character 5",
      ["if(1, 2)"] = "if() takes 3 expressions, not 2, at character 1",
      ["max(1, abs(1, 2))"] = "abs() takes 1 expression, not 2, at character 8",
    }) do
      assert.equal(("%s of '%s'"):format(want, text), (select(2, expression.compile(text))))
    end
  end)
end)

describe("a percentile over time", function()
  -- sd0's service times in the two intervals of the capture: 2.374785 and 2.704607 ms; sd1: 6.475699, 7.246286
  it("is that of the intervals so far, for each row", function()
    local text = show(disks({ { "n", "name" }, { "p50", "median(asvc_t)", format = "%.4f" },
      { "p100", "p100(asvc_t)", format = "%.4f" }, { "p99.9", "p99.9(asvc_t)", format = "%.4f" },
      { "p999", "p999(asvc_t)", format = "%.4f" } }), "5", "--csv")
    local lines = {}
    for line in text:gmatch("[^\n]+") do
      lines[#lines + 1] = line
    end
    assert.matches("^[%d.]+,sd0,,,,$", lines[2])
    assert.matches(",sd0,2.3748,2.3748,", lines[4])
    assert.matches(",sd0,2.5397,2.7046,2.7043,2.7043$", lines[6])
    assert.matches(",sd1,6.8610,7.2463,", lines[7])
  end)

  it("starts anew with each run, and may be of any expression", function()
    local report = disks({ { "n", "name" }, { "p", "p50(rate(reads) * 2) - p50(rate(reads))", format = "%.3f" },
      { "r", "p50(rate(reads))", format = "%.3f" } })
    local first = show(report, "-y", "5")
    assert.equal(first, (show(report, "-y", "5")))
    for p, r in first:gmatch("sd%d +([%d.]+) +([%d.]+)") do
      assert.equal(p, r)
    end
  end)

  it("is the same for a function of the row, and counts an interval once", function()
    local report = disks({ { "n", "name" }, { "a", "p99(asvc_t)" }, { "b", function(row)
      return row["p99(asvc_t)"] and row["p99(asvc_t)"]
    end } })
    for a, b in (show(report, "-y", "5")):gmatch("sd%d +([%d.]+) +([%d.]+)") do
      assert.equal(a, b)
    end
  end)

  it("leaves out intervals in which nothing completed", function()
    local samples = {}
    for i, reads in ipairs({ 0, 10, 10, 10, 20 }) do
      samples[i] = { capture.kstat("sd", 0, "sd0", "disk", 3, "1.0", ("%d.0"):format(100 + i), ('"nread":0,' ..
        '"nwritten":0,"reads":%d,"writes":0,"wtime":0,"wlentime":0,"wlastupdate":0,"rtime":0,"rlentime":%.1f,' ..
        '"rlastupdate":0,"wcnt":0,"rcnt":0'):format(reads, reads / 10)) }
    end
    local report = kstat.report({ columns = { { "t", "asvc_t" }, { "p", "p50(asvc_t)" }, { "l", "p50(actv)" } } })
    local out = {}
    report:run({ "-r", capture.file(samples), "-y", "1" }, function(text) out[#out + 1] = text end)
    -- 10 operations in one second in which one was in service all the time: 100 ms each; then nothing twice
    assert.equal("t         p   l\n100.0 100.0 1.0\n-     100.0 0.5\n-     100.0 0.0\n100.0 100.0 0.5\n",
      table.concat(out))
  end)

  it("needs a row with a kstat", function()
    local _, status, said = show(kstat.report({ name = "x", columns = { { "p", "p99(v)" } },
      rows = function() return { { v = 1 } } end }), "5")
    assert.equal(1, status)
    assert.equal("x: column 'p': p99() follows the kstat of a row, and this row has none\n", said)
  end)
end)

describe("a row with a kstat", function()
  it("knows by name what an expression knows, its own fields first", function()
    local got = {}
    local report = kstat.report({ name = "x", columns = { { "n", "name" }, { "f", function(row)
      got[#got + 1] = { row.reads, row.asvc_t, row["rate(reads)"], row.nosuch or "nothing", row.class, row.mine }
      return row["2 * (mine + mine)"]
    end } }, rows = function(d)
      return { { kstat = d:lookup("sd", 0, "sd0"), mine = 4 } }
    end })
    assert.equal("n      f\nsd0 16.0\n", (show(report, "-y", "5", "2")))
    local row = got[#got]
    local chain = assert(kstat.open(illumos))
    chain:update()
    assert.equal(chain:lookup("sd", 0, "sd0"):get("reads"), row[1])
    assert.is_true(math.abs(row[2] - 2.374784984) < 1e-6)
    assert.is_true(math.abs(row[3] - 44) < 0.01)
    assert.same({ "nothing", "disk", 4 }, { row[4], row[5], row[6] })
  end)

  it("is sorted by its figures", function()
    local report = kstat.report({ select = { name = "sd[012]" }, columns = { { "name" } },
      sort = function(a, b) return a.asvc_t > b.asvc_t end })
    assert.matches("^name\nsd2\nsd1\nsd0\n", (show(report, "-y", "5")))
  end)
end)

describe("a mistake in a declaration", function()
  it("is one line that names the script and, where Lua knows it, the line", function()
    for text, want in pairs({
      ["return kstat.report({ columns = { { 'a', 'rate(' } } })"] =
        "column 'a': a number, a name or '(' expected at character 6 of 'rate('",
      ["\nlocal r = kstat.report({ colour = 1 })\nreturn r"] = ":2: report: unknown field 'colour'",
    }) do
      local r = play(text)
      assert.equal(1, r.status)
      assert.matches("^[^\n]+\n$", r.err)
      assert.truthy(r.err:find(script, 1, true), r.err)
      assert.truthy(r.err:find(want, 1, true), r.err)
    end
  end)

  it("is found in every field", function()
    local function column(fields)
      fields[1], fields[2] = "a", fields[2] or "name"
      return { columns = { fields } }
    end
    for want, given in pairs({
      ["columns: a table or a function expected, not 5"] = { columns = 5 },
      ["top: a whole number above 0 expected, not 'x'"] = { columns = { { "a" } }, top = "x" },
      ["top: a whole number above 0 expected, not 0.5"] = { columns = { { "a" } }, top = 0.5 },
      ["name: a string expected, not 5"] = { columns = { { "a" } }, name = 5 },
      ["column 'a': width: a whole number of at most 1000 expected, not %-3"] = column({ width = -3 }),
      ["column 'a': format: [^\n]+ expected, not '%%d %%d'"] = column({ format = "%d %d" }),
      ["column 'a': format: [^\n]+ expected, not '%%y'"] = column({ format = "%y" }),
      ["column 'a': format: [^\n]+ expected, not 5"] = column({ format = 5 }),
      ["column 'a': kind: 'gauge', 'counter' or 'label' expected, not 'banana'"] = column({ kind = "banana" }),
      ["column 'a': align: 'left' or 'right' expected, not 'middle'"] = column({ align = "middle" }),
      ["column 2: { title, expression, … } expected"] = { columns = { { "a" }, "b" } },
      ["columns 1 and 2 are both called 'a'; key = "] = { columns = { { "a" }, { "a", "b" } } },
      ["column 'time': the data formats have a 'time' of their own; key = "] = { columns = { { "time", "a" } } },
      ["column 'x': the data formats have a 'elapsed' of their own"] = { columns = { { "x", key = "elapsed" } } },
      ["select: unknown selector field 'foo'"] = { columns = { { "a" } }, select = { foo = "x" } },
      ["option 'b': there is another with that letter, %-x"] = { columns = { { "a" } },
        options = { { "x", "a" }, { "x", "b" } } },
      ["option 'b': there is another with that name"] = { columns = { { "a" } },
        options = { { "x", "b" }, { "y", "b" } } },
      ["option 'count': options.count is taken"] = { columns = { { "a" } }, options = { { "n", "count" } } },
      ["option 'n': type is 'number', 'count' or 'word', not 'text'"] = { columns = { { "a" } },
        options = { { "n", "n", type = "text" } } },
      ["option 'n': unknown field 'hlep'"] = { columns = { { "a" } }, options = { { "n", "n", hlep = "text" } } },
      ["no column 'b' to sort by, but: a"] = { columns = { { "a" } }, sort = "b" },
    }) do
      assert.error_matches(function() kstat.report(given) end, want)
    end
  end)

  it("is found where columns are made late", function()
    for given, want in pairs({ ["nil"] = "an array of at least one expected, not nil", ["{}"] = "not an empty one",
      ["{ { 'a' }, { 'a' } }"] = "columns 1 and 2 are both called 'a'" }) do
      local r = play(("return kstat.report({ name = 'late', columns = function() return %s end })"):format(given))
      assert.equal(1, r.status)
      assert.matches("^late: [^\n]+\n$", r.err)
      assert.truthy(r.err:find(want, 1, true), r.err)
    end
  end)

  it("is not seen in equal titles with keys, nor in what the data formats do not have", function()
    local report = kstat.report({ select = "unix:0:system_misc", columns = {
      { "", "name" }, { "", "class" }, { "a", "instance" }, { "a", "nproc", key = "n" },
      { "time", "module", data = false },
    } })
    assert.matches('"name":"system_misc","class":"misc","a":0,"n":%d+}\n$', (show(report, "-j")))
  end)
end)

describe("a function of a report that fails", function()
  it("is told in one line, with the column that it belongs to", function()
    local script_name = script:gsub("%p", "%%%0")
    for text, want in pairs({
      ["{ 'a', function(row) return row.name .. nil end }"] =
        "x: column 'a': " .. script_name .. ":1: attempt to [^\n]+\n",
      ["{ 'a', 'nproc', format = function(v) return v .. nil end }"] =
        "x: column 'a': " .. script_name .. ":1: [^\n]+\n",
      ["{ 'a', function(row) return row['rate('] end }"] = "x: column 'a': [^\n]+ expected at character 6 [^\n]+\n",
      ["{ 'a', 'nproc', total = function() error('boom', 0) end }"] = "x: column 'a': boom\n",
      ["{ 'a', function() error({}) end }"] = "x: column 'a': table: %w+\n",
    }) do
      local r = play(("return kstat.report({ name = 'x', totals = true, select = 'unix:0:system_misc', columns = " ..
        "{ { 'n', 'name' }, %s } })"):format(text))
      assert.matches("^" .. want .. "$", r.err)
      assert.equal(1, r.status)
    end
    for rows, want in pairs({ ["nil"] = "x: rows: an array of rows expected, not nil\n",
      ["{ 'a' }"] = "x: rows: row 1: a table of fields expected, not a\n" }) do
      local r = play(("return kstat.report({ name = 'x', columns = { { 'n' } }, rows = function() return %s end })")
        :format(rows))
      assert.equal(want, r.err)
      assert.equal(1, r.status)
    end
  end)
end)

describe("sorting", function()
  it("takes values of any kind, NaN and nil last", function()
    local values = { 2, "b", true, 0 / 0, 3, false, "a", { 1 } }
    local report = kstat.report({ columns = { { "v", function(row)
      return row.v
    end, format = "%g" }, { "i", format = "%d" } }, rows = function()
      local rows = {}
      for i = 1, 9 do
        rows[i] = { v = values[i], i = i }
      end
      return rows
    end })
    for sort, want in pairs({ v = "5 1 7 2 3 6 8 4 9", ["-v"] = "1 5 7 2 6 3 8 4 9" }) do
      local order = {}
      for i in (show(report, "--sort", sort)):gmatch(" (%d)\n") do
        order[#order + 1] = i
      end
      assert.equal(want, table.concat(order, " "))
    end
  end)

  it("leaves rows with the same value in their order", function()
    local rows, want = {}, {}
    for i = 1, 40 do
      rows[i], want[i] = { v = 1, i = i }, "1 " .. i
    end
    local report = kstat.report({ columns = { { "v", format = "%d" }, { "i", format = "%d", width = 1 } },
      rows = function() return rows end })
    for _, sort in ipairs({ "v", "-v" }) do
      assert.equal("v i\n" .. table.concat(want, "\n") .. "\n", (show(report, "--sort", sort)))
    end
  end)
end)

describe("totals", function()
  it("are the sums of the numbers, without those that are none", function()
    local report = kstat.report({ totals = true, columns = { { "n" }, { "v", format = "%d" } }, rows = function()
      return { { n = "a", v = 1 }, { n = "b", v = 0 / 0 }, { n = "c", v = 2 } }
    end })
    assert.matches("\ntotal +3\n$", (show(report)))
  end)
end)

describe("operands", function()
  it("are names of rows also where a function makes these, by their kstats, texts and labels", function()
    local report = kstat.report({ name = "x", columns = { { "cpu", kind = "label", format = "%d" }, { "v", "word" } },
      rows = function(d)
        return { { cpu = 0, word = "zero" }, { cpu = 1, word = "one" }, { cpu = 2, kstat = d:lookup("sd", 0, "sd0") } }
      end })
    assert.equal("cpu v\n0   zero\n", (show(report, "--", "zero")))
    assert.equal("cpu v\n0   zero\n1   one\n", (show(report, "/^(zero|one)$/")))
    assert.equal("cpu v\n2   -\n", (show(report, "sd?")))
    local text, status, said = show(report, "nosuch")
    assert.equal("", (text:gsub("^cpu v\n", "")))
    assert.equal(1, status)
    assert.equal("x: nothing here is called 'nosuch'\n", said)
  end)

  it("are globs for interfaces and file systems, and refused where there can be none", function()
    local function tool(...)
      return run.run({ "kstatlua", env = { KSTAT_SOURCE = illumos, KSTAT_REPLAY_TIME = "1700000000" }, ... })
    end
    local _, n = tool("nicstat", "net*").out:gsub("\n", "")
    assert.equal(3, n)
    assert.equal(2, tool("nicstat", "/[/").status)
    assert.equal(1, tool("intrstat", "nosuch", "5", "1").status)
    assert.matches("mpt1", tool("intrstat", "mpt?", "5", "1").out)
    assert.not_matches("e1000g0", tool("intrstat", "mpt?", "5", "1").out)
    for _, name in ipairs({ "mpstat", "arcstat" }) do
      local r = tool(name, "nosuch")
      assert.equal(2, r.status)
      assert.matches("^" .. name .. ": 'nosuch': there are no operands but interval and count", r.err)
      assert.matches("^usage: kstatlua " .. name .. " %[options%] %[interval", tool(name, "--help").out)
    end
  end)
end)

describe("the command line of a report", function()
  local report = disks({ { "n", "name" }, { "r", "rate(reads)" } })

  it("takes intervals as kstat.every does", function()
    assert.equal(0, (select(2, show(report, ".5", "2"))))
    assert.equal(0, (select(2, show(report, "0.5", "2"))))
    for _, words in ipairs({ { "99999999999" }, { "0" }, { "1", "0" }, { "1", "1.5" }, { "1e10" } }) do
      local _, status, said = show(report, (table.unpack or unpack)(words))
      assert.equal(2, status)
      assert.matches("^d: %l+ '" .. words[#words] .. "': [^\n]+ expected; 'kstatlua d %-%-help' explains\n$", said)
    end
  end)

  it("takes times that are times, for a capture, and says what is not there", function()
    local function bounded(...)
      return run.run({ "kstatlua", "vmstat", env = { KSTAT_REPLAY_TIME = "1700000000", TZ = "UTC" }, ... })
    end
    for _, option in ipairs({ "--from", "--to" }) do
      local r = bounded("-r", illumos, option, "soon")
      assert.equal(2, r.status)
      assert.matches("^vmstat: 'soon' is not a time; times are [^\n]+; 'kstatlua vmstat %-%-help' explains\n$", r.err)
      r = run.run({ "kstatlua", "vmstat", option, "1700000000", env = { KSTAT_RECORDINGS = "/nowhere" } })
      assert.equal(2, r.status)
      assert.matches("^vmstat: nothing is recorded in /nowhere: " ..
        "'kstatlua record %-%-directory /nowhere 10' begins to record; %-r ", r.err)
    end
    local recording = os.tmpname()
    os.remove(recording)
    assert.equal("", run.run({ "kstatlua", "convert", "-o", recording, illumos }).err)
    local r = bounded("-r", recording, "--from", "2100-01-01")
    os.remove(recording)
    assert.equal(3, r.status)
    assert.matches("^vmstat: [^\n]+: no sample at or after 2100%-01%-01\n$", r.err)
  end)

  it("takes one data format, and --top whole numbers above 0", function()
    for _, case in ipairs({ { "--json and --csv cannot be used together", "-j", "--csv" },
      { "--csv and --openmetrics cannot be used together", "--openmetrics", "--csv" },
      { "--top takes a whole number above 0, not '0'", "--top", "0" },
      { "--top takes a whole number above 0, not '-3'", "--top", "-3" },
      { "--top takes a whole number above 0, not '0.5'", "--top=0.5" },
      { "there is no column 'x' to sort by, but: n, r", "--sort", "x" } }) do
      local _, status, said = show(report, (table.unpack or unpack)(case, 2))
      assert.equal(2, status)
      assert.equal("d: " .. case[1] .. "; 'kstatlua d --help' explains\n", said)
    end
    local r = run.run({ "kstatlua", "vmstat", "--sort", "nosuch" })
    assert.equal(2, r.status)
    assert.matches("^vmstat: there is no column 'nosuch' to sort by, but: r, b, [^\n]*; 'kstatlua vmstat %-%-help' ",
      r.err)
  end)
end)

describe("a field that a script gives its rows", function()
  it("may be nil until there is an earlier sample", function()
    local function report_of(field)
      return kstat.report({ name = "x", columns = { { "name" }, { field } }, rows = function(d, _, prev)
        return { { kstat = d:lookup("sd", 0, "sd0"), delta = prev and 7 } }
      end })
    end
    local text, _, said = show(report_of("delta"), "5", "2")
    assert.same({ "name delta\nsd0      -\nsd0    7.0\n", "" }, { text, said })
    _, _, said = show(report_of("readz"), "5", "2")
    assert.equal("x: no selected kstat has 'readz'; did you mean 'reads'?\n", said)
  end)
end)

describe("-z", function()
  it("leaves out rows of nothing but '-' beside their names", function()
    local report = kstat.report({ columns = { { "disk" }, { "v" }, { "w" } }, rows = function()
      return { { disk = "a" }, { disk = "b", w = 0 }, { disk = "c", w = 2 }, { text = "all else" } }
    end })
    assert.equal("disk v   w\nc    - 2.0\nall else\n", (show(report, "-z")))
  end)

  it("does not take the number of a row for a figure", function()
    local report = kstat.report({ totals = true, columns = { { "CPU", kind = "label", format = "%d" }, { "v" } },
      rows = function()
        return { { CPU = 0, v = 0 }, { CPU = 1, v = 0 }, { CPU = 2, v = 5 } }
      end })
    assert.equal("CPU     v\n2     5.0\ntotal 5.0\n", (show(report, "-z")))
    report = kstat.report({ select = "cpu::sys", skip_idle = true,
      columns = { { "instance", format = "%d" }, { "z", function() return 0 end } } })
    assert.equal("instance z\n", (show(report)))
  end)
end)

describe("a table", function()
  it("is straight where names are not ASCII", function()
    local function rows()
      return { { n = "é日本", v = 1 }, { n = "abc", v = 22 } }
    end
    local report = kstat.report({ columns = { { "n" }, { "v", format = "%d" } }, rows = rows })
    assert.equal("n      v\né日本  1\nabc   22\n", (show(report)))
    for _, squeeze in ipairs({ false, true }) do
      for _, format in ipairs({ "%d", function(v) return type(v) == "number" and ("%d"):format(v) or v end }) do
        report = kstat.report({ columns = { { "n", width = 5, align = "right", format = format },
          { "v", width = 3, format = format } }, rows = rows, squeeze = squeeze })
        assert.equal("    n   v\né日本   1\n  abc  22\n", (show(report)))
      end
    end
  end)
end)

describe("a whole number", function()
  local function shown(value, format, width)
    local report = kstat.report({ columns = { { "", "v", key = "v", format = format, width = width, align = "right" } },
      rows = function() return { { v = value } } end })
    local text, status = show(report)
    assert.equal(0, status)
    return (text:gsub("^ *\n", ""):gsub("^ *(.*)\n$", "%1"))
  end

  it("may be of any size, with and without a width of its column", function()
    for _, width in ipairs({ 5, false }) do
      assert.equal("73786976294838206464", shown(2 ^ 66, "%d", width or nil))
    end
  end)

  it("is 0, not -0, if it is rounded to that", function()
    for _, width in ipairs({ 5, false }) do
      for _, format in ipairs({ "%d", "%5d" }) do
        assert.equal("0", shown(-0.4, format, width or nil))
      end
    end
  end)
end)

describe("a note", function()
  it("tells in --help what a system lacks", function()
    for _, name in ipairs({ "vmstat", "mpstat", "nicstat", "arcstat", "fsstat" }) do
      assert.matches("\n[^\n]*Linux[^\n]*", run.run({ "kstatlua", name, "--help" }).out, name)
    end
  end)
end)
