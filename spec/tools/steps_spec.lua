-- Steps of the past: an interval is seconds, and what was counted in a step is what was counted between its samples.
local run = require("support.run")

local START = 1792879200 -- 2026-10-24 22:00 in UTC: midnight of the day on which clocks of Berlin are set back
local dir

-- The text of a sample: `n` and the disk's reads count, `g` is a gauge by its unit, and the machine was started `up`
-- seconds before.
local function sample(time, up, n, more)
  more = more or {}
  local function kstat(module, name, class, type, data)
    return ('{"module":"%s","instance":0,"name":"%s","class":"%s","type":%d,"snaptime":%.2f,"data":{"crtime":%d,' ..
      '"snaptime":%.2f,%s}}'):format(module, name, class, type, up, more.crtime or 1, up, data)
  end
  return ("%.2f\n[%s,%s,%s,%s]\n"):format(time, kstat("app", "a", "misc", 1, ('"n":%.0f,"g":%.1f'):format(n, n / 2)),
    kstat("sd", "sda", "disk", 3, ('"nread":%.0f,"nwritten":0,"reads":%.0f,"writes":0,"wtime":0.1,"wlentime":0.1,' ..
      '"wlastupdate":0.1,"rtime":0.1,"rlentime":0.1,"rlastupdate":0.1,"wcnt":0,"rcnt":0'):format(512 * n, n)),
    kstat("unix", "os", "misc", 1, ('"nodename":"%s"'):format(more.host or "alpha")),
    kstat("unix", "system_misc", "misc", 1, ('"boot_time":%.0f'):format(more.booted or time - up)))
end

local function record(name, text, has_cuts)
  run.write_file(dir .. "/capture", text)
  local r = run.run({ "kstatlua", "convert", "-o", dir .. "/" .. name, dir .. "/capture" })
  assert.same({ has_cuts and r.err or "", 0 }, { r.err, r.status })
  os.remove(dir .. "/capture")
end

-- A recording of samples 10 s apart in which n counts 10 a second.
local function even(name, from, to, distance)
  local out = {}
  for time = from, to, distance or 10 do
    out[#out + 1] = sample(time, time - START + 1e6, 10 * (time - START))
  end
  record(name, table.concat(out))
end

-- What a loop with the words prints of each tick: when it ends, seconds, what n and the reads counted, and the gauge.
local function ticks(options, words, env)
  local line = { "kstatlua", "-r", dir }
  for _, option in ipairs(options) do
    line[#line + 1] = option
  end
  line[#line + 1] = "-e"
  line[#line + 1] = [[for now, prev in kstat.every(arg, { select = { "app", "sd" } }) do
    if prev then
      local d = now - prev
      local a, disk = d:lookup("app", 0, "a"), d:lookup("sd", 0, "sda")
      local time = now.time_of_day - ]] .. START .. [[

      if a then print(("%.0f %.0f %.0f %.0f %.1f"):format(time, d.elapsed, a.n, disk.reads, a.g)) end
    end
  end]]
  for _, word in ipairs(words) do
    line[#line + 1] = word
  end
  line.env = env or { TZ = "UTC" }
  local r = run.run(line)
  local list = {}
  for text in r.out:gmatch("[^\n]+") do
    list[#list + 1] = text
  end
  return list, r.err, r.status
end

-- The sums of what the ticks say: seconds, n and the reads.
local function sums(list)
  local sum = { 0, 0, 0 }
  for _, text in ipairs(list) do
    local at = 0
    for number in text:match("^%S+ (.*) %S+$"):gmatch("%S+") do
      at = at + 1
      sum[at] = sum[at] + tonumber(number)
    end
  end
  return sum
end

describe("a step of the past", function()
  before_each(function()
    dir = run.directory()
  end)
  after_each(function()
    run.remove_directory(dir)
  end)

  it("joins the samples of so many seconds from --from on, or from the first sample", function()
    even("a.rec", START + 30, START + 200)
    assert.same({ "60 30 300 300 300.0", "100 40 400 400 500.0", "140 40 400 400 700.0", "150 10 100 100 750.0" },
      (ticks({ "--from", tostring(START + 20), "--to", tostring(START + 150) }, { "40" })))
    assert.same({ "80 50 500 500 400.0", "130 50 500 500 650.0", "180 50 500 500 900.0", "200 20 200 200 1000.0" },
      (ticks({}, { "50" })))
    assert.same({ "70 40 400 400 350.0", "110 40 400 400 550.0" }, (ticks({}, { "40", "3" })))
  end)

  it("is the whole of --from and --to without an interval, and never since boot", function()
    even("a.rec", START, START + 200)
    local times = { "--from", tostring(START + 40), "--to", tostring(START + 150) }
    assert.same({ "150 110 1100 1100 750.0" }, (ticks(times, {})))
    local r = run.run({ "kstat", "-p", "-r", dir, times[1], times[2], times[3], times[4], "app:::n" })
    assert.same({ "app:0:a:n\t1500\n", "" }, { r.out, r.err })
    r = run.run({ "kstat", "-p", "--rate", "-r", dir, times[1], times[2], times[3], times[4], "app:::n" })
    assert.same({ "app:0:a:n\t10\n", "" }, { r.out, r.err })
    r = run.run({ "kstat", "-r", dir, times[1], times[2], times[3], times[4], "-a", "sum(rate(reads))", "sd" })
    assert.same({ "sum(rate(reads))\n              10\n", "" }, { r.out, r.err })
    r = run.run({ "kstatlua", "-r", dir, "iostat", "-x", env = { KSTAT_FROM = times[2], KSTAT_TO = times[4] } })
    assert.matches("\nsda +10.0 +0.0 +5.0 ", r.out)
    local _, err, status = ticks({ "--from", tostring(START + 195) }, {})
    assert.same({ "kstatlua: no interval lies in that time: it takes two samples\n", 1 }, { err, status })
  end)

  it("of less than a second has that line, too", function()
    even("a.rec", START, START + 30)
    assert.matches("an interval of 0.5 s is shorter than that of the recording, 10 s", select(2, ticks({}, { "0.5" })))
  end)

  it("that is shorter than the interval of the recording has a line, and each sample is shown", function()
    even("a.rec", START, START + 30)
    local list, err = ticks({}, { "5" })
    assert.same({ "10 10 100 100 50.0", "20 10 100 100 100.0", "30 10 100 100 150.0" }, list)
    local line = "an interval of 5 s is shorter than that of the recording, 10 s: each sample is shown\n"
    assert.equal("kstatlua: " .. line, err)
  end)

  it("is an hour or a day of local clocks, also where these were changed", function()
    even("a.rec", START + 1000, START + 26 * 3600, 100)
    local list = ticks({}, { "86400" }, { TZ = "Europe/Berlin" })
    assert.same({ "90000 89000 890000 890000 450000.0", "93600 3600 36000 36000 468000.0" }, list)
    list = ticks({}, { "3600", "4" }, { TZ = "Europe/Berlin" })
    assert.same({ "3600 2600 26000 26000 18000.0", "7200 3600 36000 36000 36000.0", "10800 3600 36000 36000 54000.0" },
      list)
  end)

  -- A boot, a gap, a clock that is set back and forth, a counter that falls, a kstat that is made anew, a file cut off,
  -- and a file of another machine.
  it("sums up what was counted between all samples, whatever lies within it", function()
    local out, time, up, n, made = {}, START, 5000, 7000, 1
    local booted = START - 5000
    for i = 1, 2000 do
      if i == 300 then
        time, up, n = time + 5000, 20, 3 -- a boot
        booted = time - 20
      elseif i == 700 then
        time, up, n = time + 900, up + 900, n + 1e6 -- a gap
      elseif i == 900 or i == 1100 then
        time = time + (i == 900 and -7200 or 7200)
      elseif i == 1203 then
        n = n - 500
      elseif i == 1427 then
        made, n = up - 4, 20
      end
      out[#out + 1] = sample(time, up, n, { crtime = made, booted = booted })
      time, up, n = time + 10, up + 10, n + i % 50
    end
    record("a.rec", table.concat(out), true)
    local text = run.read_file(dir .. "/a.rec")
    run.write_file(dir .. "/a.rec", text:sub(1, #text - 20))
    local beta = { host = "beta", booted = booted }
    record("b.rec", sample(time + 20, up, n, beta) .. sample(time + 30, up + 10, n + 99, beta))
    local all = sums((ticks({ "--host", "alpha" }, { "1" })))
    assert.is_true(all[2] > 40000 and all[2] < 60000)
    for _, words in ipairs({ { "60" }, { "3600" }, { "1000000000" } }) do
      assert.same(all, sums((ticks({ "--host", "alpha" }, words))), words[1])
    end
    assert.same(all, sums((ticks({ "--host", "alpha", "--from", tostring(START) }, {}))))
  end)

  -- A kstat leaves twice for some samples; is_new: it is another one when it comes again.
  local function leaving(name, is_new)
    local out, n, made = {}, 1000, 1
    for i = 0, 60 do
      local text
      if is_new and (i == 23 or i == 42) then
        made, n = 5000 + 10 * i - 4, 20
      end
      text = sample(START + 10 * i, 5000 + 10 * i, n, { crtime = made })
      n = n + i % 7 * 10
      if i >= 20 and i < 23 or i >= 40 and i < 42 then
        text = text:gsub('{"module":"app".-}},', ""):gsub('{"module":"sd".-}},', "")
      end
      out[#out + 1] = text
    end
    record(name, table.concat(out))
  end

  it("has what a kstat counted that left within it and came again, the same or another one", function()
    for _, is_new in ipairs({ false, true }) do
      os.remove(dir .. "/a.rec")
      leaving("a.rec", is_new)
      local all = sums((ticks({}, { "1" })))
      assert.is_true(all[2] > 1000 and all[2] == all[3], all[2])
      for _, seconds in ipairs({ "60", "300", "3600" }) do
        local sum = sums((ticks({}, { seconds })))
        assert.same({ all[2], all[3] }, { sum[2], sum[3] }, seconds)
      end
    end
  end)

  it("that ends with a kstat that came again has no interval of it", function()
    leaving("a.rec", false)
    local times = { "--from", tostring(START + 200), "--to", tostring(START + 230) }
    assert.same({}, (ticks(times, {})))
    local r = run.run({ "kstatlua", "-r", dir, times[1], times[2], times[3], times[4], "iostat", "-x" })
    assert.equal("", r.err)
    assert.matches("^<<disk added: sda>>\n[^\n]*\n[^\n]*\n$", r.out) -- and nothing since boot
  end)

  it("that --at ends is made of what was recorded, too, also where the machine was started again", function()
    local out = {}
    for i = 0, 40 do
      local up, booted = 1e6 + 10 * i, START - 1e6
      if i >= 20 then
        up, booted = 10 * i - 195, START + 195
      end
      out[#out + 1] = sample(START + 10 * i, up, i < 20 and 1000 + 100 * i or 50 * i, { booted = booted })
    end
    record("a.rec", table.concat(out), true)
    local r = run.run({ "kstat", "--rate", "-p", "-r", dir, "--at", tostring(START + 400), "app:::n", "300" })
    assert.near(1900 / 290, tonumber(r.out:match("^app:0:a:n\t([%d.]+)\n$")), 0.01)
    assert.matches("^kstat: [^\n]*, and the machine was started again\n$", r.err)
    local list, _, status = ticks({ "--at", tostring(START + 200) }, {})
    assert.same({ {}, 1 }, { list, status })
  end)

  it("of a capture goes by samples, in which the machine's own gauges are known", function()
    local text = {}
    for i = 0, 3 do
      text[#text + 1] = ('[{"module":"unix","instance":0,"name":"system_pages","class":"pages","type":1,' ..
        '"snaptime":%d,"data":{"crtime":0,"snaptime":%d,"freemem":%d}},{"module":"app","instance":0,"name":"a",' ..
        '"class":"misc","type":1,"snaptime":%d,"data":{"crtime":0,"snaptime":%d,"freemem":%d}}]\n')
        :format(i, i, 500 - i, i, i, 500 + i)
    end
    run.write_file(dir .. "/live.json", table.concat(text))
    local out = run.run({ "kstat", "--rate", "-p", "-r", dir .. "/live.json", ":::freemem", "20" }).out
    assert.matches("\napp:0:a:freemem\t1\nunix:0:system_pages:freemem\t499\n\n.*\t1\n[^\n]*\t498\n\n.*\t497\n$", out)
    assert.matches("^app:0:a:freemem\t%?\t%?\t%?\nunix:0:system_pages:freemem\tgauge\tpages\t",
      run.run({ "kstat", "-d", "-r", dir .. "/live.json", "app:::freemem", "unix:::freemem" }).out)
  end)

  it("has the CPU times that sar -i has of the same time", function()
    if run.shell("test -x /usr/lib/sysstat/sadc && command -v sar").status ~= 0 then
      pending("takes sysstat")
      return
    end
    local r = run.run({ "kstatlua", "bench/steps.lua", "6", "3", env = { KSTATLUA = run.bin .. "/kstatlua" } })
    -- A sample of either may be taken a part of a second before or behind the other's.
    local ours, theirs, points = r.out:match("steps: (%d+) ours, (%d+) of sar; the greatest difference is ([%d.]+)")
    assert.same({ "2", "2" }, { ours, theirs }, r.out .. r.err)
    assert.is_true(tonumber(points) < 25, r.out)
  end)
end)
