-- Questions about time that cannot be answered, and kstats that come, go and change, in kstat -a.
local run = require("support.run")

-- A capture of one kstat in intervals of 10 seconds. values: of its data as JSON; "": it is away.
local function capture(values)
  local lines = {}
  for i, data in ipairs(values) do
    local time = 1000 + 10 * i
    lines[i] = ("%d\n[%s]\n\n"):format(time, data ~= "" and ('{"module":"m","instance":0,"name":"a","class":"%s",' ..
      '"type":1,"snaptime":%d,"data":{"crtime":50,"snaptime":%d,%s}}'):format(data.class or "misc", time, time,
      data.class and data[1] or data) or "")
  end
  return table.concat(lines)
end

describe("kstat -a", function()
  local file

  before_each(function() file = os.tmpname() end)
  after_each(function() os.remove(file) end)

  local function ask(question, values)
    run.write_file(file, capture(values))
    return run.run({ "kstat", "-r", file, "-pa", question, "m", "10", tostring(#values) })
  end

  it("refuses times of 0, negative ones, and those of more than 10 years, with the position", function()
    for question, at in pairs({ ["avg(n, 0s)"] = 8, ["avg(n, -5s)"] = 8, ["avg(n, 4000d)"] = 8, ["n ago 0s"] = 7,
      ["n ago -1d"] = 7, ["avg(n, 1e400s)"] = 8, ["since(n, 0s)"] = 10, ["ewma(n, 0)"] = 1, ["ewma(n, -1)"] = 1,
      ["ewma(n, 1e12)"] = 1, ["ewma(n, 1e400)"] = 1, ["avg(n, nan)"] = 1, ["ewma(n, nan)"] = 1,
      ["sum(n) by (time(0))"] = 12, ["sum(n) by (time(-5))"] = 17, ["sum(n) by (time(nan))"] = 17 }) do
      local r = ask(question, { '"n":1' })
      assert.same({ "", 2 }, { r.out, r.status }, question)
      assert.matches(("^kstat: %%-a: [^\n]* at character %d of '[^\n]*\n$"):format(at), r.err, question)
    end
  end)

  it("answers long questions in short lines, at once: of more than 65,536 bytes before they are parsed", function()
    local function list(n, text)
      local words = {}
      for i = 1, n do
        words[i] = text .. i
      end
      return table.concat(words, ",")
    end
    for question, want in pairs({
      ["sum(n) by (" .. list(12000, "k") .. ")"] = { 2, 1, "is longer than 65536 characters" },
      ["sum(" .. ("-"):rep(60000) .. "n)"] = { 2, 1, "is nested too deeply" },
      ["sum(n) by (" .. list(9000, "k") .. ")"] = { 1, 11, "no selected kstat has more of the names\n$" } }) do
      run.write_file(file, capture({ '"n":1' }))
      local r = run.shell(("ulimit -t 5; %s/kstat -r %s -pa '%s' m"):format(run.bin, file, question))
      assert.same({ want[1], want[2] }, { r.status, select(2, r.err:gsub("\n", "")) }, r.err:sub(1, 300))
      assert.matches(want[3], r.err)
      for line in r.err:gmatch("[^\n]+") do
        assert.truthy(#line <= 200, line)
      end
    end
  end)

  it("counts the kstats that have the statistic of the selector, and says that none has", function()
    run.write_file(file, capture({ '"n":1', '"n":2' }))
    local r = run.run({ "kstat", "-r", file, "-pa", "count", "m:::n", "10" })
    assert.same({ "count\t1\n\ncount\t1\n", "" }, { r.out, r.err })
    r = run.run({ "kstat", "-r", file, "-pa", "count by (name)", "m:::x", "10" })
    assert.same({ "", "kstat: -a: nothing matches 'm:::x'\n" }, { r.out, r.err })
  end)

  it("has no empty lines for a distribution of nothing", function()
    run.write_file(file, capture({ '"n":1' }))
    assert.equal("-\n\n", run.run({ "kstat", "-r", file, "-a", "quantize(x)", "m" }).out)
  end)

  it("says each time that nothing matches any more, and prints nothing then", function()
    local r = ask("sum(n)", { '"n":1', "", "", '"n":2', "" })
    assert.equal("sum(n)\t1\n\nsum(n)\t2\n", r.out)
    local line = "kstat: -a: nothing matches 'm'\n"
    assert.equal(line .. line, r.err)
    assert.equal("count(n)\t1\n\ncount(n)\t0\n", ask("count(n)", { '"n":1', "" }).out)
  end)

  it("counts texts", function()
    assert.equal("count(state)\t1\n", ask("count(state)", { '"state":"on"' }).out)
  end)

  it("goes on where a kstat changes its class, and where a number becomes a text", function()
    local values = { '"n":4', { class = "other", '"n":8' }, '"n":"text"', '"n":12' }
    assert.equal("misc:sum(n)\t4\n\nother:sum(n)\t8\n\nmisc:sum(n)\t12\n", ask("sum(n) by (class)", values).out)
    local r = ask("avg(n, 60s)", values)
    assert.equal("avg(n, 60s)\t4\n\navg(n, 60s)\t6\n\navg(n, 60s)\t6\n\navg(n, 60s)\t8\n", r.out)
    assert.same({ "", 0 }, { r.err, r.status })
    r = ask("sum(n ago 10s)", values)
    assert.same({ "", 0 }, { r.err, r.status })
  end)
end)
