-- Reports with rows that are groups of kstats, what `top` cuts off, and what all intervals were together.
local capture = require("support.capture")
local kstat = require("kstat")
local run = require("support.run")

-- Three samples, ten seconds apart, of disks of two kinds.
local function disks()
  local samples = {}
  for i = 1, 3 do
    local list = {}
    for j, disk in ipairs({ { "sd", 100 }, { "sd", 300 }, { "nvme", 50 }, { "md", 7 } }) do
      list[j] = capture.kstat(disk[1], j, disk[1] .. j, "disk", 1, 1, 10 * i,
        ('"reads":%d,"level":%d.5'):format(disk[2] * 10 * i * i, i))
    end
    samples[i] = list
  end
  return capture.file(samples)
end

local function show(file, given, ...)
  local out = {}
  given.name = "g"
  local status = kstat.report(given):run({ "-r", file, ... }, function(text) out[#out + 1] = text end)
  assert.equal(0, status)
  return table.concat(out)
end

describe("a report", function()
  local file
  before_each(function() file = disks() end)
  after_each(capture.clean)

  local function by_module(more)
    local given = { select = { class = "disk" }, by = "module", columns = { { "module" },
      { "r/s", "sum(rate(reads))" }, { "most", "max(rate(reads))" },
      { "share", "100 * sum(reads) / (sum(reads) over all)" } } }
    for field, value in pairs(more or {}) do
      given[field] = value
    end
    return given
  end

  it("has a row for each group of kstats", function()
    assert.equal("module    r/s  most share\nmd       21.0  21.0   1.5\nnvme    150.0 150.0  10.9\n" ..
      "sd     1200.0 900.0  87.5\n", show(file, by_module(), "-y", "10", "2"))
    assert.equal("module    r/s  most share\nsd     1200.0 900.0  87.5\n",
      show(file, by_module(), "-y", "sd", "10", "2"))
  end)

  it("sums up what top cuts off, and totals of all rows", function()
    local text = show(file, by_module({ sort = "r/s", top = 1, rest = "others", totals = true }), "-y", "10", "2")
    assert.equal("module    r/s   most share\nsd     1200.0  900.0  87.5\nothers  171.0  150.0  12.5\n" ..
      "total  1371.0 1071.0 100.0\n", (text:gsub(" +\n", "\n")))
    local columns = { { "device", "name" }, { "r/s", "rate(reads)" } }
    text = show(file, { select = { class = "disk" }, columns = columns, sort = "r/s", rest = "others", totals = true },
      "--top", "2", "-y", "10", "2")
    assert.equal("device    r/s\nsd2     900.0\nsd1     300.0\nothers  171.0\ntotal  1371.0\n", text)
  end)

  it("has groups of the kstats that where lets through, and columns that see those of other titles", function()
    local columns = { { "module" }, { "half", function(row) return row["r/s"] / 2 end }, { "r/s", "sum(rate(reads))" },
      { "name of", function(row) return ("%s%.1f"):format(row.module, row.half) end } }
    local text = show(file, { select = { class = "disk" }, by = "module", columns = columns,
      where = "rate(reads) > 90 and module != \"md\"", sort = "r/s", top = 1, rest = "others" }, "-y", "10", "2")
    assert.equal("module  half    r/s name of\nsd     600.0 1200.0 sd600.0\nothers  75.0  150.0 others75.0\n",
      (text:gsub(" +\n", "\n")))
  end)

  it("says in its declaration what is wrong with groups", function()
    for message, given in pairs({
      ["by: no column has an expression with a reducer"] = { by = "name", columns = { { "name" } } },
      ["there is no function 'summ'; did you mean 'sum'?"] = { by = "name", columns = { { "x", "summ(reads)" } } },
      ["where: sum() stands within a reducer, or in where"] = { where = "sum(x) > 1", columns = { { "name" } } },
      ["where: a number, a name or '(' expected at character 4 of 'x >'"] = { where = "x >", columns = { { "name" } } },
      ["there is no function 'foo'"] = { by = "name", where = "foo(x) > 1", columns = { { "x", "sum(reads)" } } },
      ["by makes the rows"] = { by = "name", rows = print, columns = { { "x", "sum(reads)" } } },
    }) do
      local ok, problem = pcall(kstat.report, given)
      assert.is_false(ok)
      assert.truthy(problem:find(message, 1, true), problem)
    end
  end)

  it("ends with the average, least, greatest and p99 of all intervals, by their length", function()
    local given = { select = { module = "nvme" }, columns = { { "device", "name" }, { "r/s", "rate(reads)" } } }
    local text = show(file, given, "-y", "--summary", "10")
    assert.equal("device   r/s\nnvme3  150.0\nnvme3  250.0\n\naverage:\nnvme3  200.0\n\nleast:\nnvme3  150.0\n\n" ..
      "greatest:\nnvme3  250.0\n\np99:\nnvme3  249.0\n", text)
    text = show(file, given, "-y", "-j", "--summary", "10")
    assert.truthy(text:find('"summary":true,"part":"average","device":"nvme3","r/s":200}', 1, true), text)
    text = show(file, given, "-y", "--csv", "--summary", "10")
    assert.truthy(text:find("\naverage,nvme3,200\nleast,nvme3,150\ngreatest,nvme3,250\n", 1, true), text)
  end)

  it("weighs intervals by their length", function()
    local uneven = capture.file({ { capture.named("a", 1, 10, '"n":0') }, { capture.named("a", 1, 20, '"n":100') },
      { capture.named("a", 1, 50, '"n":1000') } })
    local text = show(uneven, { select = "app", columns = { { "name" }, { "n/s", "rate(n)" } } }, "-y", "-j",
      "--summary", "10")
    assert.truthy(text:find('"elapsed":40,"summary":true,"part":"average","name":"a","n/s":25}', 1, true), text)
  end)

  it("has no summary where its text is its own, and says so", function()
    local r = run.run({ "kstatlua", "vmstat", "--openmetrics", "--summary", "1", "2" })
    assert.equal(2, r.status)
    assert.matches("^vmstat: %-%-summary: there is none with %-%-openmetrics;", r.err)
  end)
end)
