-- Answers over time that once looked right and were wrong, each in a few samples.
local run = require("support.run")

describe("a question over time", function()
  local file

  before_each(function() file = os.tmpname() end)
  after_each(function() os.remove(file) end)

  -- The last line, or all lines with spaces between, that kstat -pa prints. samples: { time, name = data as JSON, … }
  local function ask(question, samples, all)
    local lines = {}
    for i, sample in ipairs(samples) do
      local kstats = {}
      for name, data in pairs(sample) do
        kstats[#kstats + 1] = name ~= 1 and ('{"module":"m","instance":0,"name":"%s","class":"misc","type":1,' ..
          '"snaptime":%d,"data":{"crtime":50,"snaptime":%d,%s}}'):format(name, sample[1], sample[1], data) or nil
      end
      lines[i] = ("%d\n[%s]\n\n"):format(sample[1], table.concat(kstats, ","))
    end
    run.write_file(file, table.concat(lines))
    local r = run.run({ "kstat", "-r", file, "-pa", question, "m" , "10", tostring(#samples) })
    if r.status == 2 then
      return r.err
    end
    local values = {}
    for value in r.out:gmatch("\t([^\n]*)\n") do
      values[#values + 1] = value
    end
    return all and table.concat(values, " ") or values[#values]
  end

  local function steps(n, data)
    local samples = {}
    for i = 1, n do
      samples[i] = { 1000 + 10 * i, a = data(i) }
    end
    return samples
  end

  it("about the last minute has no value once that is over", function()
    local samples = steps(12, function(i) return ('"errors":%d,"requests":%d'):format(5 * math.min(i, 4),
      10 * math.min(i, 4)) end)
    local values = ask("sum(avg(rate(errors) / rate(requests), 1m))", samples, true)
    assert.matches("0%.5 0%.5", values)
    assert.matches(" %- %-$", values)
  end)

  it("is fed in a branch that is not taken", function()
    local samples = steps(4, function(i) return ('"inflight":%d'):format(i == 4 and 20 or 4 * i) end)
    assert.equal("11", ask("sum(if(inflight > 11, avg(inflight, 1h), 0))", samples))
  end)

  it("counts on behind a gap", function()
    local samples = steps(5, function(i) return ('"load":%d'):format(i) end)
    for i = 3, 5 do
      samples[i][1] = samples[i][1] + 3600
    end
    assert.matches("1 2 3$", ask("count(load, 10m)", samples, true))
  end)

  it("is of no kstat of before a start of the machine, whatever its crtime", function()
    local lines = {}
    for i = 1, 8 do
      local up = i < 5 and 1000 + 60 * i or 60 * i - 200 -- started again between 4 and 5
      lines[i] = ('%d\n[{"module":"m","instance":0,"name":"a","class":"misc","type":1,"snaptime":%d,"data":' ..
        '{"crtime":0,"snaptime":%d,"x":%d}}]\n\n'):format(1700000000 + 60 * i, up, up, i)
    end
    run.write_file(file, table.concat(lines))
    local r = run.run({ "kstat", "-r", file, "-pa", "sum(x ago 2m), sum(x) ago 2m, sum(count(x, 10m))", "m", "60" })
    local function has(x, group, n)
      local lines_of = ("sum(x ago 2m)\t%s\nsum(x) ago 2m\t%s\nsum(count(x, 10m))\t%d\n"):format(x, group, n)
      assert.truthy(r.out:find(lines_of, 1, true), r.out)
    end
    has("-", 4, 2)
    has(6, 6, 4)
  end)

  it("begins anew where a recording goes back, also of groups", function()
    local samples = {}
    for i = 1, 6 do
      samples[i] = { 1000 + 10 * (i < 4 and i or i - 3), a = ('"x":%d'):format(i) }
    end
    assert.equal("1 1.5 2 4 4.5 5", ask("avg(x, 1h)", samples, true))
    assert.equal("1 2 3 4 5 6", ask("max(sum(x), 1h)", samples, true))
    assert.equal("- 1 2 - 4 5", ask("sum(x) ago 10s", samples, true))
  end)

  it("is of no interval where the clock of the day and that of the machine go back", function()
    local lines = {}
    for i, at in ipairs({ { 1000, 5000, 1 }, { 1010, 5010, 1 }, { 500, 20, 4 }, { 510, 30, 4 } }) do
      lines[i] = ('%d\n[{"module":"m","instance":0,"name":"a","class":"misc","type":1,"snaptime":%d,"data":' ..
        '{"crtime":%d,"snaptime":%d,"x":%d}}]\n\n'):format(1700000000 + at[1], at[2], at[3], at[2], 10 * at[2])
    end
    run.write_file(file, table.concat(lines))
    local r = run.run({ "kstat", "-r", file, "-pa", "sum(rate(x)), sum(delta(x))", "m", "10" })
    assert.matches("sum%(rate%(x%)%)\t10\nsum%(delta%(x%)%)\t100\n\nsum%(rate%(x%)%)\t%-\nsum%(delta%(x%)%)\t%-\n\n" ..
      "sum%(rate%(x%)%)\t10\nsum%(delta%(x%)%)\t100\n$", r.out)
    assert.matches("clocks were set back from", r.err)
  end)

  it("has the intervals of steps behind a gap where they are", function()
    local r = run.run({ "kstat", "-r", "spec/vectors/questions/dirty.rec", "--from", "1700737200", "--to", "1700758800",
      "-pa", "sum(rate(requests, 2h)), sum(inflight) ago 1h, sum(changes(inflight, 2h))", "web", "3600" })
    local values = {}
    for value in r.out:gmatch("\t([^\n]*)") do
      values[#values + 1] = value
    end
    assert.equal("120 - 0 118.4", table.concat(values, " ", 1, 3) .. " " .. values[#values - 2])
    assert.equal("-", values[5]) -- an hour before the end of the first step behind the gap no step had ended
  end)

  it("takes the least of the texts that are as frequent", function()
    local samples = steps(4, function(i) return ('"state":"%s"'):format(i % 2 == 0 and "z" or "b") end)
    assert.equal('"b" "b" "b" "b"', ask("mode(state, 1h)", samples, true))
  end)

  it("about all time begins anew with what was away for a minute, whatever else is asked", function()
    local samples = steps(12, function() return '"x":1' end)
    samples[2].a = '"x":2'
    for i = 4, 10 do
      samples[i].b, samples[i].a = samples[i].a, nil
    end
    samples[3].a, samples[11].a, samples[12].a = '"x":2', '"x":2', '"x":2'
    local alone = ask('sum(since(x)) where name == "a"', samples, true)
    assert.equal("- 0 10 - - - - - - - - -", alone)
    local beside = ask('sum(since(x)), sum(x ago 1h) where name == "a"', samples, true)
    assert.equal(alone, (beside:gsub("(%S+) %-", "%1")))
  end)

  it("about less than a tick is about the sample of now", function()
    local samples = steps(3, function(i) return ('"x":%d'):format(i) end)
    assert.equal("1 2 3", ask("avg(x, 1ms)", samples, true))
    assert.equal("1 2 3", ask("ewma(x, 0.001)", samples, true))
  end)

  it("keeps groups apart whose keys are printed alike", function()
    local samples = steps(2, function() return '"device":"nfs","mount":"host:/x","load":1' end)
    for _, sample in ipairs(samples) do
      sample.b = '"device":"nfs:host","mount":"/x","load":100'
    end
    assert.matches("1 100$", ask("avg(load, 60s) by (device, mount)", samples, true))
  end)

  it("adds what is too large for an integer as the nearest double", function()
    local samples = { { 1000, a = '"big":9223372036854775807', b = '"big":9223372036854775807' } }
    assert.equal(2 ^ 64, tonumber((ask("sum(big)", samples))))
  end)

  it("rounds whole numbers without losing digits", function()
    local samples = { { 1000, a = '"big":9007199254740993,"top":9223372036854775807,"low":-9223372036854775808' } }
    assert.equal("9007199254740993", (ask("round(big)", samples))) -- the command is of Lua 5.4
    assert.equal(2 ^ 63, tonumber((ask("round(top, 10)", samples))))
    assert.equal(-2 ^ 63, tonumber((ask("round(low, 10)", samples))))
    assert.equal("20", (ask("round(x, 10)", { { 1000, a = '"x":15' } })))
    assert.equal("-10", (ask("round(x, 10)", { { 1000, a = '"x":-15' } })))
  end)

  it("refuses a flag that regular expressions do not have", function()
    local line = ask("count where name =~ /a/q", { { 1000, a = '"x":1' } })
    assert.matches("unknown flag 'q' of a regular expression %(known: imsxnU%), at character 21", line)
  end)

  it("has names in the order of the alphabet, and days only as keys of time in that of a week", function()
    local names = ask("count by (name)", { { 1000, sat = '"x":1', pat = '"x":1', wed = '"x":1', fri = '"x":1' } })
    assert.equal("1", names)
    local r = run.run({ "kstat", "-r", file, "-pa", "count by (name)", "m" })
    assert.equal("fri pat sat wed", (r.out:gsub(":count\t1\n", " "):gsub(" $", "")))
  end)

  it("ranks distributions by how many values they have, and takes them for no numbers", function()
    local lines = {}
    for i = 1, 3 do
      local kstats = {}
      for j, name in ipairs({ "a", "b" }) do
        kstats[j] = ('{"module":"m","instance":0,"name":"%s","class":"histogram","type":1,"snaptime":%d,"data":' ..
          '{"crtime":1,"snaptime":%d,"buckets":[0,%d],"type":"linear","range_min":0,"range_max":100,"stepping":100,' ..
          '"sum":%d,"min":1,"max":9,"out_of_range":0}}'):format(name, 60 * i, 60 * i, i * j, 5 * i * j)
      end
      lines[i] = ("%d\n[%s]\n\n"):format(60 * i, table.concat(kstats, ","))
    end
    run.write_file(file, table.concat(lines))
    local function answer(question)
      local r = run.run({ "kstat", "-r", file, "-pa", question, "m", "60" })
      return r.out .. r.err
    end
    assert.matches('^b:buckets\t[^\n]*values"\n', answer("top 1 buckets by (name)"))
    for _, question in ipairs({ "buckets ago 1m", "rate(buckets, 2m)", "trend(buckets, 2m)", "buckets == 3",
      "if(buckets, 1, 2)" }) do
      assert.matches("a distribution is no number: p99%(x%)", answer(question), question)
    end
    assert.matches("p50%(buckets%) ago 1m\t5", answer("p50(buckets) ago 1m"))
  end)

  it("counts kstats, and asks what is added where units differ or nothing says by what", function()
    local samples = { { 1000, a = '"state":"S","x":1,"y":2', b = '"state":"S","x":1,"y":2' } }
    assert.equal("2", ask("count by (state)", samples))
    assert.matches("max%(sum%(x%) by %(name%)%)", ask("max(sum(rate(x)))", samples))
  end)

  it("has a mean that goes on from tick to tick", function()
    local samples = steps(3, function(i) return ('"x":%d'):format(i > 1 and 100 or 0) end)
    local value = tonumber(ask("ewma(x, 600)", samples))
    local w = math.exp(-10 / 600) -- the weight of what is a tick older
    assert.truthy(math.abs(value - 100 * (1 + w) / (1 + w + w * w)) < 1e-9, value)
  end)

  it("is the mean of the intervals of each hour", function()
    local samples = steps(8, function(i) return ('"requests":%d'):format(600 * i) end)
    for _, sample in ipairs(samples) do
      sample.b = sample.a
    end
    assert.equal("120", ask("sum(rate(requests)) by (time(3600))", samples))
    assert.equal("8400", ask("sum(delta(requests)) by (time(3600))", samples))
  end)
end)
