-- Reports: the column language, the command line, and the forms of output, over a capture.
local expression = require("kstat.figures.expression")
local kstat = require("kstat")

local capture = os.tmpname()

-- Two samples, ten seconds apart, of three disks.
local function write_capture()
  local f = assert(io.open(capture, "w"))
  for step = 0, 1 do
    local out = {}
    for i = 0, 2 do
      out[#out + 1] = ([[{"module":"sd","instance":%d,"name":"sd%d","class":"disk","type":3,"snaptime":%d.0,
        "data":{"crtime":1.0,"snaptime":%d.0,"nread":%d,"nwritten":0,"reads":%d,"writes":0,"wtime":0,"wlentime":0,
        "wlastupdate":0,"rtime":%d,"rlentime":%d,"rlastupdate":0,"wcnt":0,"rcnt":%d}}]])
        :format(i, i, 101 + 10 * step, 101 + 10 * step, 1024000 * (1 + step * i), 1000 * (1 + step * i),
          10000000000 * (1 + step * i / 4), 20000000000 * (1 + step * i / 4), i)
    end
    f:write(("%d\n[%s]\n\n"):format(1700000000 + 10 * step, table.concat(out, ",")))
  end
  f:close()
end

local columns = {
  { "device", "name" },
  { "r/s", "rate(reads)" },
  { "kr", "delta(nread) / 1024", format = "%d" },
  { "asvc_t" },
  { "%b", "b_pct", format = "%3.0f" },
}

local function output(report, ...)
  local out = {}
  local status = report:run({ "-r", capture, ... }, function(text) out[#out + 1] = text end)
  return table.concat(out), status
end

describe("a column expression", function()
  local row = { a = 6, b = 4, zero = 0, text = "word", ["Hard Errors"] = 3 }

  it("has numbers, names and the usual precedence", function()
    for text, want in pairs({
      ["1 + 2 * 3"] = 7, ["(1 + 2) * 3"] = 9, ["a - b - 1"] = 1, ["-a + 1"] = -5, ["a % b"] = 2,
      ["1.5e1"] = 15, ["max(a, b, 5)"] = 6, ["min(a, b)"] = 4, ["if(zero, 1, 2)"] = 2, ["abs(0-a)"] = 6,
      ["'Hard Errors' * 2"] = 6, ["text"] = "word", [".5"] = 0.5,
    }) do
      assert.equals(want, assert(expression.compile(text))(row), text)
    end
  end)

  it("is nil when something is missing or divided by zero", function()
    for _, text in ipairs({ "nothing", "a + nothing", "a / zero", "a % zero", "sqrt(0 - a)", "text + 1" }) do
      assert.is_nil(assert(expression.compile(text))(row), text)
    end
  end)

  it("is refused with the position of the mistake", function()
    for text, want in pairs({
      ["rate("] = "a number, a name or '%(' expected at character 6 of 'rate%('",
      ["a b"] = "an operator or the end expected at character 3",
      ["(a"] = "'%)' expected at character 3",
      ["'a"] = "a closing quote expected at character 3",
      ["nosuch(a)"] = "there is no function 'nosuch'",
      ["rate(a, b)"] = "rate%(%) takes 1 expression",
      [""] = "expected at character 1",
    }) do
      local compiled, message = expression.compile(text)
      assert.is_nil(compiled)
      assert.matches(want, message)
    end
  end)
end)

describe("the rows of a report", function()
  setup(write_capture)
  teardown(function() os.remove(capture) end)

  it("are those that where lets through, and totals and what is over all are of these", function()
    local given = { name = "r", select = "sd", where = "rate(reads) > 0 and name != 'sd2' or avg(reads, 1h) < 1500",
      totals = true, columns = { { "device", "name" }, { "r/s", "rate(reads)" },
        { "share", "100 * rate(reads) / sum(rate(reads)) over all" } } }
    assert.equal("device   r/s share\nsd0      0.0   0.0\nsd1    100.0 100.0\ntotal  100.0 100.0\n",
      output(kstat.report(given), "-y", "10", "2"))
    local text, status = output(kstat.report(given), "-y", "sd2", "10", "2")
    assert.same({ "device r/s share\ntotal\n", 0 }, { text:gsub(" +\n", "\n"), status })
    given.where = "own > 1"
    function given.rows() return { { own = 1 }, { own = 2, name = "b" }, { text = "a line" } } end
    given.columns, given.totals = { { "name" }, { "own" } }, nil
    assert.equal("name own\nb    2.0\na line\n", output(kstat.report(given)))
  end)

  it("have the other columns under their titles, for the functions of columns", function()
    local asked = {}
    local report = kstat.report({ name = "r", select = "sd:1", columns = { { "device", "name" },
      { "sum", function(row) return row["r/s"] + row.twice end }, { "r/s", "rate(reads)" },
      { "twice", function(row)
        asked[#asked + 1] = row.device
        return 2 * row["r/s"]
      end },
      { "reads", function(row) return row.reads end }, { "nread", "rate(reads)" }, { "kB", "nread / 1024" },
      { "a", function(row) return row.b end }, { "b", function(row) return row.a end } } })
    assert.equal("device   sum   r/s twice  reads nread     kB a b\nsd1    300.0 100.0 200.0 2000.0 100.0 2000.0 - -\n",
      output(report, "-y", "10", "2"))
    assert.equal("sd1", asked[1])
    report = kstat.report({ name = "r", rows = function() return { { n = 3 } } end,
      columns = { { "n" }, { "more", "n + 1" }, { "most", function(row) return row.more * 10 end } } })
    assert.equal("n   more most\n3.0  4.0 40.0\n", output(report))
  end)
end)

describe("a report", function()
  local report

  setup(write_capture)
  teardown(function() os.remove(capture) end)

  before_each(function()
    report = kstat.report({ name = "disks", about = "busy disks", select = { class = "disk" }, columns = columns,
      sort = "%b" })
  end)

  it("shows what happened since creation, then between the samples", function()
    local text, status = output(report, "10")
    assert.equals([[
device  r/s   kr asvc_t  %b
sd0    10.0 1000   20.0  10
sd1    10.0 1000   20.0  10
sd2    10.0 1000   20.0  10

device   r/s   kr asvc_t  %b
sd2    200.0 2000    5.0  50
sd1    100.0 1000    5.0  25
sd0      0.0    0      -   0
]], text)
    assert.equals(0, status)
  end)

  it("leaves out the first report, idle rows, and all but the top ones on demand", function()
    local text = output(report, "-yz", "10")
    assert.not_matches("sd0", text)
    assert.matches("sd2.*sd1", text)
    assert.not_matches("\n\n", text)
    assert.not_matches("sd1", (output(report, "--top=1", "-y", "10")))
  end)

  it("sorts by any column, either way", function()
    assert.matches("sd0.*sd1.*sd2", (output(report, "--sort", "device")))
    assert.matches("sd0.*sd1.*sd2", (output(report, "-y", "--sort", "-r/s", "10")))
  end)

  it("takes names of rows as operands", function()
    local text = output(report, "sd[12]")
    assert.not_matches("sd0", text)
    assert.matches("sd1.*sd2", text)
  end)

  it("prints the sample's own time of day", function()
    assert.matches("^1700000000\n.*\n1700000010\n", (output(report, "-Tu", "10")))
  end)

  it("becomes JSON, an object a line", function()
    assert.equals('{"report":"disks","time":1700000010,"elapsed":10,"since_creation":false,"device":"sd2",' ..
      '"r/s":200,"kr":2000,"asvc_t":5,"%b":50}\n', (output(report, "-yj", "--top", "1", "10")))
  end)

  it("becomes CSV with a header", function()
    assert.equals("time,device,r/s,kr,asvc_t,%b\n1700000010,sd2,200,2000,5,50\n",
      (output(report, "-y", "--csv", "--top", "1", "10")))
  end)

  it("has the formats of the columns in CSV, where they make numbers, and the time as -T says", function()
    report = kstat.report({ select = { name = "sd0" }, rows = function()
      return { { a = 2 / 3, b = 2 / 3, c = 2500, d = 0.5 } }
    end, columns = { { "a", format = "%6.2f" }, { "b" }, { "c", format = function(v) return v / 1000 .. "K" end },
      { "d", format = function(v) return ("%3.0f"):format(100 * v) end } } })
    assert.equals(("time,a,b,c,d\n1700000000,0.67,%.16g,2500,50\n"):format(2 / 3), (output(report, "--csv")))
    local iso = os.date("%Y-%m-%dT%H:%M:%S%z", 1700000000):gsub("(%d%d)$", ":%1")
    assert.matches("\n" .. iso .. ",0.67,", (output(report, "--csv", "-Td")), 1, true)
    assert.matches("\n1700000000,0.67,", (output(report, "--csv", "-Tu")), 1, true)
  end)

  it("becomes OpenMetrics", function()
    local text = output(report, "-y", "--openmetrics", "--top", "1", "10")
    assert.matches('# TYPE kstat_disks_r_per_s gauge\nkstat_disks_r_per_s{device="sd2"} 200\n', text, 1, true)
    assert.matches("# EOF\n$", text)
  end)

  it("has a family of OpenMetrics for each column, also where names fall together", function()
    report = kstat.report({ name = "twins", select = { name = "sd0" },
      columns = { { "device", "name" }, { "a b", "rcnt" }, { "a_b", "wcnt" } } })
    local text = output(report, "-y", "--openmetrics", "10")
    for _, name in ipairs({ "kstat_twins_a_b", "kstat_twins_a_b_2" }) do
      assert.equal(1, select(2, text:gsub("# TYPE " .. name .. " gauge\n", "")), text)
    end
  end)

  it("ends with totals if it declares them", function()
    report = kstat.report({ name = "sums", select = { class = "disk" }, totals = true,
      columns = { { "device", "name" }, { "r/s", "rate(reads)" }, { "avg", "rcnt", total = function(list)
        return #list
      end }, { "none", "rcnt", total = false } } })
    assert.matches("total  300.0 3.0\n$", (output(report, "-y", "10")))
  end)

  it("shows '-' for what is missing", function()
    report = kstat.report({ select = { class = "disk" }, columns = { { "device", "name" }, { "x", "nosuch" } } })
    assert.matches("sd0    %-\n", (output(report)))
  end)

  it("makes rows of its own, with options of its own", function()
    report = kstat.report({
      name = "own", operands = "word",
      options = { { "n", "times", arg = "N", type = "number", default = 2, help = "rows" } },
      rows = function(d, _, _, options)
        local rows = {}
        for i = 1, options.times do
          rows[i] = { i = i, kstat = d:lookup("sd", i, nil) }
        end
        return rows
      end,
      columns = { { "i", format = "%d" }, { "name" } },
    })
    assert.matches("1 +sd1\n2 +sd2\n$", (output(report)))
    assert.not_matches("sd2", (output(report, "-n1")))
    assert.matches("%-n, %-%-times N +rows %(default: 2%)", (output(report, "--help")))
  end)

  it("has a line above the titles, and cells that make room for one another", function()
    report = kstat.report({
      name = "look", heading = " left    right", squeeze = true, select = { class = "disk" }, blank = false, gap = "  ",
      columns = {
        { "a", "name", width = 4, align = "right" }, { "b", function() return 123456 end, width = 3, format = "%d" },
        { "c", "rcnt", width = 6, format = "%d", key = "cc" },
      },
    })
    local want = table.concat({ " left    right", "   a    b       c", " sd0  123456    0", " sd1  123456    1",
      " sd2  123456    2", "" }, "\n")
    assert.equals(want .. want, (output(report, "10")))
    assert.matches('"b":123456,"cc":2}\n$', (output(report, "-j")))
    assert.matches("sd2.*sd1.*sd0", (output(report, "--sort", "cc")))
  end)

  it("repeats its header as often as it says", function()
    report = kstat.report({ select = { name = "sd0" }, repeat_header = 2, columns = { { "d", "name" } } })
    assert.equals("d\nsd0\nsd0\n", (output(report, "10")))
    report.repeat_header = 1
    assert.equals("d\nsd0\nd\nsd0\n", (output(report, "10")))
  end)

  it("has no header if no column has a title", function()
    report = kstat.report({ select = { name = "sd0" }, columns = { { "", "name", key = "disk" } } })
    assert.equals("sd0\n", (output(report)))
    assert.matches('"disk":"sd0"', (output(report, "-j")))
  end)

  it("has lines for people among its rows", function()
    report = kstat.report({ select = { name = "sd0" }, rows = function()
      return { { text = "-----" }, { name = "x" } }
    end, columns = { { "d", "name" } } })
    assert.equals("d\n-----\nx\n", (output(report)))
    assert.equals("time,d\n1700000000,x\n", (output(report, "--csv")))
  end)

  it("may decide on its columns when it sees options and kstats", function()
    report = kstat.report({
      name = "late", select = { class = "disk" }, options = { { "s", "short" } },
      rows = function(d) return { { kstat = d:select("sd:1")[1] } } end,
      columns = function(options, ks)
        local list = { { "device", "name" } }
        for k in ks:each("sd:::") do
          list[#list + 1] = not options.short and { k.name, "instance", format = "%d" } or nil
        end
        return list
      end,
    })
    assert.equals("device sd0 sd1 sd2\nsd1      1   1   1\n", (output(report)))
    assert.equals("device\nsd1\n", (output(report, "-s")))
    assert.equals("device sd0 sd1 sd2\nsd1      1   1   1\n", (output(report)))
  end)

  it("may leave out the first report by itself", function()
    report = kstat.report({ select = { name = "sd1" }, skip_first = true, columns = { { "r/s", "rate(reads)" } } })
    assert.equals("r/s\n100.0\n", (output(report, "10")))
  end)

  it("explains itself", function()
    local text, status = output(report, "--help")
    assert.matches("^usage: kstatlua disks %[options%] %[name %.%.%.%] %[interval %[count%]%]\nbusy disks\n", text)
    assert.matches("\n  +%-%-trust [^\n]+\n  %-h, %-%-help +this\n$", text)
    assert.equals(0, status)
  end)

  it("looks like a command of another system: own options, text and lines about what came or went", function()
    local given = {
      name = "old", columns = { { "device", "name" }, { "reads" } }, select = { class = "disk" },
      options = function(words)
        return { replay = words[2], interval = 1, json = words[3] == "json" }
      end,
      follow = function(ks, o)
        o.made = (o.made or 0) + 1
        return o.made > 1 and ("<<%d>>\n"):format(#ks:select("sd")) or nil, o.made > 1
      end,
      text = function(d, _, prev, o)
        return ("%d %d %s\n"):format(o.made, d:lookup("sd", 1, "sd1"):get("reads"), prev and "since" or "all")
      end,
    }
    assert.equals("1 1000 all\n<<3>>\n2 2000 all\n", (output(kstat.report(given))))
    local rows = output(kstat.report(given), "json")
    assert.equals(6, select(2, rows:gsub('"since_creation":true', "")))
    assert.is_nil(rows:find("<<", 1, true))
  end)

  it("begins its messages with another name if it has one", function()
    local said = {}
    local stderr = io.stderr
    finally(function() io.stderr = stderr end) -- luacheck: ignore 122
    io.stderr = { write = function(_, text) said[#said + 1] = text end } -- luacheck: ignore 122
    local made = kstat.report({ name = "old", command = "older", columns = { { "a" } },
      options = function() return nil, "what?" end })
    assert.equals(2, made:run({}))
    assert.same({ "older: what?; 'kstatlua old --help' explains\n" }, said)
  end)

  it("refuses a wrong command line", function()
    local stderr = io.stderr
    finally(function() io.stderr = stderr end) -- luacheck: ignore 122
    for _, words in ipairs({ { "-Q" }, { "--nosuch" }, { "--top" }, { "--top", "x" }, { "-T", "x" }, { "--sort", "x" },
      { "0" }, { "1", "0.5" }, { "/[/" }, { "--json=1" }, { "--from", "noonish" } }) do
      local said = {}
      io.stderr = { write = function(_, text) said[#said + 1] = text end } -- luacheck: ignore 122
      local _, status = output(report, (table.unpack or unpack)(words))
      assert.equals(2, status, words[1])
      assert.matches("^disks: [^\n]+\n$", table.concat(said))
    end
  end)

  it("is declared without mistakes, or the caller hears of them", function()
    local function declare(given)
      return function() kstat.report(given) end
    end
    assert.error_matches(declare({ columns = { { "a", "1 +" } } }), "column 'a': a number, a name")
    assert.error_matches(declare({}), "columns are missing")
    assert.error_matches(declare({ columns = { { "a" } }, colour = 1 }), "unknown field 'colour'")
    assert.error_matches(declare({ columns = { { "a", wide = 1 } } }), "column 'a': unknown field 'wide'")
    assert.error_matches(declare({ columns = { { "a" } }, sort = "b" }), "no column 'b' to sort by")
    assert.error_matches(declare({ columns = { { "a" } }, select = "/[/" }), "regular expression")
    assert.error_matches(declare({ columns = { { "a", 5 } } }), "column 'a': an expression or a function expected")
  end)
end)
