-- kstatlua diff on captures whose changes are known: which statistics differ, since when, and what came and went.
local capture = require("support.capture")
local run = require("support.run")

local START, STEP = 1700000000, 10 -- of the first sample, and seconds between two

-- A generator of the same numbers in every Lua: 0 to 1.
local function dice(seed)
  return function()
    seed = (seed * 16807) % 2147483647
    return seed / 2147483647
  end
end

-- A kstat of one statistic, in sample i.
local function one(module, name, class, crtime, i, statistic, value)
  local text = type(value) == "string" and ('"%s"'):format(value) or ("%.0f"):format(value)
  return capture.kstat(module, 0, name, class, 1, crtime, 1000 + STEP * i, ('"%s":%s'):format(statistic, text))
end

-- A capture of so many samples: 40 counters with noise, and what `more(i, list)` adds to sample i.
local function file_of(samples, more)
  local path, random, noise, out = os.tmpname(), dice(11), {}, {}
  for i = 1, samples do
    local list = {}
    for j = 1, 40 do
      noise[j] = (noise[j] or 0) + 1000 + math.floor(200 * random())
      list[j] = one("noise", "n" .. j, "misc", 1, i, "count", noise[j])
    end
    more(i, list, random)
    out[i] = ("%d\n[%s]\n"):format(START + STEP * i, table.concat(list, ","))
  end
  run.write_file(path, table.concat(out, "\n"))
  return path
end

-- Adds a counter that counts `slow` a sample, and `fast` from the sample `at` on.
local function step(name, at, slow, fast)
  local count = 0
  return function(i, list, random)
    count = count + math.floor((i >= at and fast or slow) * (0.95 + 0.1 * random()))
    list[#list + 1] = one("app", name, "misc", 1, i, "count", count)
  end
end

local function lines(text)
  local list = {}
  for line in text:gmatch("[^\n]+") do
    list[#list + 1] = line
  end
  return list
end

-- The lines of `diff -j` about one kind, each cut to what is asked for.
local function found(file, kind, ...)
  local r = run.run({ "kstatlua", "diff", "-r", file, "-j", ... })
  assert.equal("", r.err)
  local list = {}
  for _, line in ipairs(lines(r.out)) do
    list[#list + 1] = line:find('"kind":"' .. kind .. '"', 1, true) and line or nil
  end
  return list
end

local function field(line, name)
  return line:match('"' .. name .. '":"([^"]*)"') or tonumber(line:match('"' .. name .. '":([^,}]*)'))
end

describe("kstatlua diff", function()
  local file
  after_each(function()
    if file then
      os.remove(file)
    end
    file = nil
  end)

  it("finds a load that began with the window, at its sample, and nothing of the noise", function()
    local load = step("busy", 301, 10000, 90000)
    file = file_of(360, load)
    local list = found(file, "differs", "--from", tostring(START + 10 * 300), "--to", tostring(START + 10 * 360))
    assert.equal(1, #list)
    assert.same({ "app:0:busy:count", START + 3010 }, { field(list[1], "statistic"), field(list[1], "time") })
    assert.near(1000, field(list[1], "base"), 20)
    assert.near(9000, field(list[1], "window"), 180)
    assert.near(2 / 184756, field(list[1], "p"), 1e-9)
  end)

  it("brings what moves together into one group, and what moves alone into another", function()
    local first, second, third = step("a", 305, 1000, 5000), step("b", 305, 70, 7000), step("c", 290, 9000, 1000)
    file = file_of(360, function(...)
      first(...)
      second(...)
      third(...)
    end)
    local groups = {}
    for _, line in ipairs(found(file, "differs", "--from", tostring(START + 3000), "--to", tostring(START + 3600))) do
      groups[field(line, "statistic")] = field(line, "group")
    end
    assert.equal(groups["app:0:a:count"], groups["app:0:b:count"])
    assert.is_true(groups["app:0:c:count"] ~= groups["app:0:a:count"])
  end)

  it("finds nothing where nothing changed, and says how much it compared", function()
    file = file_of(200, function() end)
    local r = run.run({ "kstatlua", "diff", "-r", file })
    assert.same({ 0, "" }, { r.status, r.err })
    assert.truthy(r.out:find("\n0 of 40 statistics differ\n", 1, true))
  end)

  it("tells what came, went and began anew, and which texts changed, with the times", function()
    file = file_of(360, function(i, list)
      list[#list + 1] = i >= 310 and one("app", "new", "misc", 4100, i, "count", i) or nil
      list[#list + 1] = i < 320 and one("app", "old", "misc", 1, i, "count", i) or nil
      list[#list + 1] = one("app", "again", "misc", i >= 330 and 4300 or 1, i, "count", i)
      list[#list + 1] = one("eth0", "link", "misc", 1, i, "state", i >= 340 and "down" or "up")
    end)
    local window = { "--from", tostring(START + 3000), "--to", tostring(START + 3600) }
    for kind, at in pairs({ came = 310, went = 320, restarted = 330 }) do
      local list = found(file, kind, window[1], window[2], window[3], window[4])
      assert.same({ 1, "app", START + 10 * at }, { #list, field(list[1], "module"), field(list[1], "time") }, kind)
    end
    assert.same({}, found(file, "came", window[1], window[2], window[3], window[4], "eth0"))
    local list = found(file, "changed", window[1], window[2], window[3], window[4])
    assert.same({ 1, "eth0:0:link:state", "up", "down", START + 3400 }, { #list, field(list[1], "statistic"),
      field(list[1], "base"), field(list[1], "window"), field(list[1], "time") })
  end)

  it("finds one change among thousands that stand still, and what came between base and window", function()
    local still = {}
    for j = 1, 6000 do
      still[j] = ('"s%d":5'):format(j)
    end
    still = table.concat(still, ",")
    file = file_of(60, function(i, list)
      list[#list + 1] = capture.kstat("app", 0, "still", "misc", 1, 1, 1000 + STEP * i, still)
      list[#list + 1] = capture.kstat("app", 0, "level", "misc", 1, 1, 1000 + STEP * i, i > 39 and '"level":7.5' or
        '"level":9.5')
      list[#list + 1] = i >= 30 and one("app", "new", "misc", 1200, i, "count", i) or nil
    end)
    local window = { "--from", tostring(START + 400), "--to", tostring(START + 600), "--base", tostring(START) }
    local r = run.run({ "kstatlua", "diff", "-r", file, (table.unpack or unpack)(window) })
    assert.truthy(r.out:find("came: app 0:new", 1, true), r.out)
    assert.truthy(r.out:find("of 6041 statistics differ", 1, true), r.out)
    assert.truthy(r.out:find("app:0:level: level  9.50 -> 7.50", 1, true), r.out)
  end)

  it("compares no totals of counters whose snaptime stands still", function()
    file = file_of(120, function(i, list)
      list[#list + 1] = capture.kstat("app", 0, "hung", "misc", 1, 1, 1000 + STEP * math.min(i, 90), '"count":50000')
    end)
    local r = run.run({ "kstatlua", "diff", "-r", file, "5m" })
    assert.same({ 0, "" }, { r.status, r.err })
    assert.truthy(r.out:find("\n0 of 40 statistics differ\n", 1, true), r.out)
  end)

  it("shows what others published without what a terminal would obey", function()
    file = file_of(120, function(i, list)
      list[#list + 1] = one("app", "n\\u001b[31m\\n", "misc", 1, i, "state", i > 100 and "\\u001b[2J" or "\\u0007")
    end)
    local r = run.run({ "kstatlua", "diff", "-r", file, "5m" })
    assert.truthy(r.out:find('  changed: app:0:n?[31m?:state "?" -> "?[2J"\n', 1, true), r.out)
    r = run.run({ "kstatlua", "diff", "-r", file, "5m", env = { COLUMNS = "40" } })
    assert.matches(" changed: app:0:n%?%[31m%?:state\n" .. (" "):rep(10) .. '"%?" %-> "%?%[2J"\n', r.out)
  end)

  it("compares two recordings", function()
    file = file_of(100, step("busy", 1, 10000, 10000))
    local again = run.run({ "kstatlua", "diff", file, file })
    local load = step("busy", 1, 30000, 30000)
    local other = file_of(100, function(i, list, random)
      load(i, list, random)
      list[#list + 1] = one("only", "here", "misc", 1, i, "count", i)
    end)
    local r = run.run({ "kstatlua", "diff", other, file })
    assert.truthy(r.out:find("went: only 0:here\n", 1, true), r.out)
    assert.falsy(again.out:find("came", 1, true), again.out)
    r = run.run({ "kstatlua", "diff", file, other })
    os.remove(other)
    assert.same({ 0, "" }, { r.status, r.err })
    assert.truthy(r.out:find("app:0:busy: count  [%d.]+/s %-> [%d.]+/s"))
    assert.truthy(r.out:find("\n1 of 41 statistics differ\n", 1, true))
  end)

  it("compares with a base behind the window, too, and says what came in the window", function()
    file = file_of(200, function(i, list)
      list[#list + 1] = i >= 80 and one("app", "new", "misc", 800, i, "count", i) or nil
    end)
    local list = found(file, "came", "--from", tostring(START + 500), "--to", tostring(START + 1000), "--base",
      tostring(START + 1200))
    assert.same({ 1, START + 800 }, { #list, list[1] and field(list[1], "time") })
  end)

  -- A capture of two processes: one begins in sample `began`, at once takes a CPU and grows, the other sleeps; from
  -- sample `boot` on the machine is another one, which is up for `uptime` seconds then, of twice as many that went by.
  -- cpus: so many have no idle time from `began` on.
  local function with_processes(samples, began, boot, seconds, uptime, cpus)
    local path, out = os.tmpname(), {}
    seconds = seconds or STEP
    for i = 1, samples do
      local is_other = boot and i >= boot
      local time = (is_other and (uptime or 10) or 1000) + seconds * i
      local function process(pid, name, crtime, cpu, memory)
        return capture.kstat("process", pid, name, "process", 1, crtime, time,
          ('"utime":%.0f,"stime":0,"rssize":%.0f,"ppid":1,"cutime":0,"cstime":0'):format(cpu, memory))
      end
      local list = { process(1, "init", 1, 1e6 * i, 4096), capture.kstat("unix", 0, "system_misc", "misc", 1, 1, time,
        ('"boot_time":%d'):format(is_other and START + 900 + (uptime or 0) or START - 900)) }
      for cpu = 0, (cpus or 0) - 1 do
        list[#list + 1] = capture.kstat("cpu", cpu, "sys", "misc", 1, 1, time,
          ('"cpu_nsec_idle":%.0f,"cpu_nsec_wait":0'):format(seconds * 1e9 * math.min(i, began)))
      end
      list[#list + 1] = i >= began and process(77, "backup", 1000 + seconds * began, seconds * 1e9 * (i - began),
        1e8 + 1e7 * (i - began)) or nil
      local went_by = seconds * i + (is_other and uptime and 2 * uptime or 0)
      out[i] = ("%d\n[%s]\n"):format(START + went_by, table.concat(list, ","))
    end
    run.write_file(path, table.concat(out, "\n"))
    return path
  end

  local function text_of(...)
    local r = run.run({ "kstatlua", "diff", env = { TZ = "UTC" }, ... })
    assert.same({ 0, "" }, { r.status, r.err })
    return r.out
  end

  it("names who began before the window and goes on, wherever the window begins", function()
    file = with_processes(120, 60)
    for _, behind in ipairs({ -20, 50, 120 }) do
      local text = text_of("-r", file, "--from", tostring(START + 600 + behind), "--to", tostring(START + 1200))
      local first = text:match("base [^\n]*\n([^\n]*)")
      assert.matches("backup%[77%]", first)
      assert.matches(behind < 0 and "^22:23:20  backup%[77%] began: CPU  0%% %-> %d+%%$" or
        ", runs since 22:23:20: CPU  [%d.]+%% %-> 100%%$", first)
      assert.equal(1, select(2, text:gsub("backup", "")))
    end
  end)

  it("names who uses a fourth of the machine before the CPUs that are all busy now", function()
    file = with_processes(120, 60, nil, nil, nil, 4)
    local text = text_of("-r", file, "--from", tostring(START + 600), "--to", tostring(START + 1200))
    assert.matches("backup%[77%], runs since [^\n]*\n.*CPUs: busy  0%% %-> 100%%", text)
  end)

  it("has next to nothing to say of two halves of a quiet hour", function()
    local text = text_of("-r", "spec/vectors/use/hour.rec", "30m")
    assert.is_true(#lines(text) <= 12, text)
    assert.is_nil(text:find("busy", 1, true) or text:find("CPU", 1, true), text)
  end)

  it("has dates in a window of more than a day", function()
    file = with_processes(120, 60, nil, 1800)
    local text = text_of("-r", file, "--from", tostring(START + 100000), "--to", tostring(START + 190000), "--base",
      tostring(START))
    assert.matches("\n2023%-11%-16 04:13:20  backup%[77%] began: ", text)
  end)

  it("has one line for a start of the machine", function()
    for _, from in ipairs({ 900, 1050 }) do
      file = with_processes(120, 60, 100)
      local text = text_of("-r", file, "--from", tostring(START + from), "--to", tostring(START + 1200))
      assert.matches("\n22:30:00  the machine was started again: ", text)
      assert.is_nil(text:find("restarted", 1, true) or text:find("since", 1, true), text)
    end
    file = with_processes(120, 60, 100, nil, 5000) -- its clock is not behind that of the sample before
    local text = text_of("-r", file, "--from", tostring(START + 900), "--to", tostring(START + 11200))
    assert.matches("\n[^\n]*01:16:40  the machine was started again: ", text)
  end)

  it("takes the last third of a short recording, and says when that is too few to tell anything from chance", function()
    file = with_processes(12, 9)
    local text = text_of("-r", file)
    assert.matches("^window 2023%-11%-14 22:14:50 to 2023%-11%-14 22:15:20\n", text)
    assert.matches("backup%[77%]", text)
    assert.equal(1, select(2, text:gsub("too few to tell a difference from chance", "")))
  end)

  it("has one row for a distribution", function()
    local captured = file_of(60, function(i, list)
      local n = math.max(1, i - 40)
      list[#list + 1] = capture.kstat("app", 0, "answers", "histogram", 1, 1, 1000 + STEP * i,
        ('"buckets":[0,%d,0,0,%d],"type":"linear","range_min":0,"range_max":400,' ..
        '"stepping":100,"sum":%d,"min":10,"max":390,"out_of_range":0')
        :format(100 * i, 5 * n, 5000 * i + 1900 * n))
    end)
    file = os.tmpname()
    run.run({ "kstatlua", "convert", "-o", file, captured })
    os.remove(captured)
    local text = text_of("-r", file, "--from", tostring(START + 400), "--to", tostring(START + 600))
    assert.matches("app:0:answers: 10/s, p50 5[%d.]+, p99 98.%d+ %-> 10.%d+/s, p50 5[%d.]+, p99 370.%d\n", text)
    assert.equal(1, select(2, text:gsub("app:", "")))
  end)

  it("takes a base that ends where the window begins, though samples lie behind the times that are typed", function()
    local r = run.run({ "kstatlua", "diff", "-r", "spec/vectors/past/incidents.rec", "--from", "1795894824", "--to",
      "1795894848", "--base", "1795894800" })
    assert.equal("", r.err)
  end)

  it("says in one line what it cannot compare", function()
    file = file_of(30, function() end)
    for message, words in pairs({
      ["of the window 1 intervals can be compared; at least 2 are needed: give a longer one"] =
        { "-r", file, "--from", tostring(START + 270), "--to", tostring(START + 280) },
      ["of the base 0 intervals can be compared; at least 2 are needed: give a longer one"] =
        { "-r", file, "--from", tostring(START), "--to", tostring(START + 280) },
      ["the base, from 2023-11-14 22:14:20 to 2023-11-14 22:16:20, overlaps the window, from 2023-11-14 22:16:00 to " ..
        "2023-11-14 22:18:00: let it begin earlier; 'kstatlua diff -h' explains"] = { "-r", file, "--from",
        tostring(START + 160), "--to", tostring(START + 280), "--base", tostring(START + 60) },
      ["no figure of 'none other' is in the base and in the window, and no text of it changed"] =
        { "-r", file, "2m", "none", "other" },
      ["--base is a time of one recording; of two the first one is the base; 'kstatlua diff -h' explains"] =
        { file, file, "--base", "14:00" },
      ["two recordings are needed, or --at, --from or -r; 'kstatlua diff -h' explains"] = { file },
    }) do
      local r = run.run({ "kstatlua", "diff", env = { TZ = "UTC" }, (table.unpack or unpack)(words) })
      assert.same({ "diff: " .. message .. "\n", "" }, { r.err, r.out })
      assert.is_true(r.status == 1 or r.status == 2)
    end
  end)

  it("ends with 3 where a recording is damaged, also if there is nothing to compare", function()
    file = os.tmpname()
    local bytes = run.read_file("spec/vectors/past/busy1.rec")
    run.write_file(file, bytes:sub(1, 16) .. ("?"):rep(30) .. bytes:sub(17))
    local r = run.run({ "kstatlua", "diff", file, file, "none", "other" })
    assert.matches("^diff: [^\n]* damaged at byte 16: [^\n]*\ndiff: no figure of 'none other' is [^\n]*\n", r.err)
    assert.same({ "", 3 }, { r.out, r.status })
  end)
end)
