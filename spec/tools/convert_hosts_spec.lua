-- kstatlua convert -o all.rec a.rec b.rec: recordings of several machines become one, in which each kstat has a host.
local kstat = require("kstat")
local run = require("support.run")

describe("a recording of several machines", function()
  local dir, all

  -- A capture of `name` that begins at a time of day, with a sample a second: of a machine that has been up for `up`
  -- seconds, whose latencies are counted in one bucket, so many more each time.
  local function capture(name, time, up, bucket, counts)
    local lines, total = {}, 0
    for i, count in ipairs(counts) do
      total = total + count
      local buckets = { 0, 0, 0 }
      buckets[bucket] = total
      local function one(module, kstat_name, class, data)
        return ('{"module":"%s","instance":0,"name":"%s","class":"%s","type":1,"snaptime":%d,"data":{"crtime":%d,'
          .. '"snaptime":%d,%s}}'):format(module, kstat_name, class, up + i, up, up + i, data)
      end
      lines[#lines + 1] = ("%d\n[%s,%s]\n"):format(time + i, one("app", "latency", "misc", ('"buckets":[%s],'
        .. '"type":"linear","range_min":10,"range_max":20,"stepping":10'):format(table.concat(buckets, ","))),
        one("unix", "os", "misc", '"nodename":"' .. name .. '"'))
    end
    local path = dir .. "/" .. name .. time .. ".json"
    run.write_file(path, table.concat(lines))
    return path
  end

  before_each(function()
    dir = run.directory()
    all = dir .. "/all.rec"
  end)
  after_each(function()
    run.remove_directory(dir)
  end)

  local function convert(...)
    local r = run.run({ "kstatlua", "convert", "-o", all, ... })
    assert.same({ "", 0 }, { r.err, r.status })
  end

  it("has both kstats of a name, and the key host in what is asked", function()
    convert(capture("web1", 1000, 50, 2, { 1, 10, 10 }), capture("web2", 1000, 90000, 1, { 2, 20, 20 }), "app")
    local printed = run.run({ "kstat", "-r", all, "-a", "count(latency), p99(latency) by (host)", "1", "3" })
    assert.same({ "", 0 }, { printed.err, printed.status })
    assert.matches("web1 +10 +18.910\nweb2 +20 +8.910\n", printed.out)
    local hosts = {}
    for now, prev in kstat.every(1, { source = all }) do
      for k in (prev and now - prev or now:since_creation()):each("app:0:latency") do
        hosts[k.host] = hosts[k.host] or {}
        table.insert(hosts[k.host], ("%d in %g"):format(k.count, k.elapsed))
      end
    end
    assert.same({ web1 = { "1 in 1", "10 in 1", "10 in 1" }, web2 = { "2 in 1", "20 in 1", "20 in 1" } }, hosts)
  end)

  it("has the samples of machines that were recorded at other times, none of them lost", function()
    convert(capture("web1", 1000, 50, 2, { 1, 1, 1 }), capture("web2", 1001, 70, 2, { 5, 5, 5 }))
    local seen = {}
    for now in kstat.every(1, { source = all }) do
      local text = ""
      for k in now:each("app:0:latency") do
        text = k.host .. " " .. k.count .. " " .. text
      end
      seen[#seen + 1] = math.floor(now.time_of_day + 0.5) .. ": " .. text
    end
    assert.same({ "1001: web1 1 ", "1002: web1 2 web2 5 ", "1003: web1 3 web2 10 ", "1004: web2 15 " }, seen)
  end)

  it("says whose a kstat is to the command, in JSON, from a capture of that, and to metrics", function()
    convert(capture("web1", 1000, 50, 2, { 1 }), capture("web2", 1000, 70, 2, { 5 }))
    assert.equal("app:0:latency:host\tweb2\napp:0:latency:host\tweb1\n",
      run.run({ "kstat", "-r", all, "-p", "app:::host" }).out)
    local again = dir .. "/again.json"
    run.write_file(again, run.run({ "kstat", "-r", all, "-j" }).out)
    assert.equal("app:0:latency:count\t5\napp:0:latency:host\tweb2\napp:0:latency:count\t1\n" ..
      "app:0:latency:host\tweb1\n", run.run({ "kstat", "-r", again, "-p", "app:::/count|host/" }).out)
    assert.matches('kstat_app_distribution_count{[^}]*host="web2"[^}]*} 5',
      run.run({ "kstat", "-r", all, "-o", "prometheus", "app" }).out)
  end)

  it("names the host of each value that the command prints, whatever is selected", function()
    convert(capture("web1", 1000, 50, 2, { 1 }), capture("web2", 1000, 70, 2, { 5 }))
    for options, form in pairs({ ["-p"] = "app:0:latency:count\t5\napp:0:latency:host\tweb2\n",
      ["-C"] = "app:0:latency:count:5\napp:0:latency:host:web2\n", ["-T u"] = "count +5\n\thost +web2\n" }) do
      local r = run.shell(("%s/kstat %s -r %s app:::count"):format(run.bin, options, all))
      assert.matches(form, r.out)
    end
    assert.equal("app:0:latency:count\t5\n",
      run.run({ "kstat", "-r", all, "--host", "web2", "-p", "app:::count" }).out)
  end)

  it("takes the room that its machines take, also where kstats come on the first one", function()
    -- A sample a second, the first of which has n kstats and each further one `more` more.
    local function grown(name, n, more)
      local text = {}
      for i = 1, 20 do
        local kstats = {}
        for instance = 1, n + more * i do
          kstats[instance] = ('{"module":"app","instance":%d,"name":"a","class":"misc","type":1,"snaptime":%d,' ..
            '"data":{"crtime":9,"snaptime":%d,"requests of %s %d":%d}}'):format(instance, i, i, name, instance, i)
        end
        text[i] = ("%d\n[%s]\n"):format(1000 + i, table.concat(kstats, ","))
      end
      local path = dir .. "/" .. name
      run.write_file(path .. ".json", table.concat(text))
      os.remove(all)
      convert(path .. ".json")
      local size = #run.read_file(all)
      assert(os.rename(all, path .. ".rec"))
      return path .. ".rec", size
    end
    local a, size_a = grown("web1", 1, 1)
    local b, size_b = grown("web2", 200, 0)
    convert(a, b)
    local size = #run.read_file(all)
    assert.is_true(size < size_a + size_b, ("%d bytes of %d and %d"):format(size, size_a, size_b))
  end)

  it("puts recordings of one machine one behind the other", function()
    convert(capture("web1", 1000, 50, 2, { 1, 1 }), capture("web1", 1010, 60, 2, { 5, 5 }))
    assert.equal("", run.run({ "kstat", "-r", all, "-p", "app:::host" }).out)
    assert.matches("count\t10\n$", run.run({ "kstat", "-r", all, "-p", "app:::count", "1" }).out)
  end)

  it("ends a machine whose recording is damaged there, and has the others to their end", function()
    local damaged, whole = capture("web1", 1000, 50, 2, { 1 }), capture("web2", 1000, 70, 2, { 5, 5, 5 })
    run.write_file(damaged, run.read_file(damaged) .. "1002\n[{]\n")
    local r = run.run({ "kstatlua", "convert", "-o", all, damaged, whole })
    assert.equal(3, r.status)
    assert.matches("^convert: [^\n]*/web11000.json: sample 2[^\n]*\n$", r.err)
    local printed = run.run({ "kstat", "-r", all, "-p", "app:::/count|host/", "1" }).out
    assert.equal(" 5 web2 1 web1 10 web2 15 web2 ", (printed:gsub("app:0:latency:%w+", ""):gsub("%s+", " ")))
  end)

  it("is made of one that has several already, also together with another of one of them", function()
    local both = dir .. "/both.rec"
    convert(capture("web1", 1000, 50, 2, { 1 }), capture("web2", 1000, 70, 2, { 5 }))
    assert(os.rename(all, both))
    convert(both, capture("web1", 999, 49, 2, { 1, 1, 1, 1 }))
    assert.matches("host\tweb2\n", run.run({ "kstat", "-r", all, "-p", "app:::host", "1" }).out)
  end)

  it("refuses several files without a recording, and a recording that is read", function()
    local a, b = capture("web1", 1000, 50, 2, { 1 }), capture("web2", 1000, 70, 2, { 5 })
    assert.matches("no kstat matches", run.run({ "kstatlua", "convert", a, b }).err)
    convert(a)
    local r = run.run({ "kstatlua", "convert", "-o", all, all, b })
    assert.equal(3, r.status)
    assert.matches("names the file that is read", r.err)
  end)

  it("that cannot be written is said, with status 3", function()
    local a, b = capture("web1", 1000, 50, 2, { 1 }), capture("web2", 1000, 70, 2, { 5 })
    local r = run.run({ "kstatlua", "convert", "-o", dir .. "/none/all.rec", a, b })
    assert.equal(3, r.status)
    assert.matches("^convert: [^\n]*/none/all%.rec[^\n]*: No such file or directory\n$", r.err)
  end)

  describe("of a busy and an idle one", function()
    local BOTH = "this recording is of the machines busy1 and idle1: --host chooses one\n"

    before_each(function()
      convert("spec/vectors/past/busy1.rec", "spec/vectors/past/idle1.rec")
    end)

    local function shown(command, ...)
      local r = run.run({ "kstatlua", "-r", all, command, ... })
      return r.out, r.err, r.status
    end

    it("is refused by commands whose rows do not say which one they are of", function()
      for _, command in ipairs({ "vmstat", "mpstat", "iostat", "devstat", "use", "top", "prstat", "prtop" }) do
        local out, err, status = shown(command)
        assert.same({ "", BOTH, 3 }, { out, err:gsub("^%a+: ", ""), status }, command)
      end
      -- Of these nothing is recorded here.
      for _, command in ipairs({ "nicstat", "fsstat", "intrstat", "arcstat" }) do
        local out, err, status = shown(command)
        assert.same({ "", BOTH, 3 }, { out, err:gsub("^%a+: ", ""), status }, command)
      end
      local r = run.run({ "kstatlua", "diff", "-r", all })
      assert.same({ "diff: " .. BOTH, 3 }, { r.err, r.status })
      local _, err, status = shown("vmstat", "--host", "*")
      assert.same({ "vmstat: " .. BOTH, 3 }, { err, status })
    end)

    it("is refused, too, where the recorder of one began later", function()
      local late = dir .. "/late.rec"
      run.run({ "kstatlua", "convert", "-o", late, "--from", "2026-11-21T00:00:03Z", "spec/vectors/past/idle1.rec" })
      assert(os.remove(all))
      convert("spec/vectors/past/busy1.rec", late)
      for _, command in ipairs({ "vmstat", "mpstat", "use" }) do
        local out, err, status = shown(command, "--from", "2026-11-21T00:00:00Z")
        assert.same({ "", BOTH, 3 }, { out, err:gsub("^%a+: ", ""), status }, command)
      end
    end)

    it("is refused, too, by kstat.every in scripts that name no source, unless --host is '*'", function()
      local script = dir .. "/one.lua"
      run.write_file(script, "for now in kstat.every(arg) do print(#now:select('vd'), #now:select('cpu:0:sys')) end")
      local r = run.run({ "kstatlua", "-r", all, script })
      assert.same({ "", 3 }, { r.out, r.status })
      assert.matches(BOTH, r.err, 1, true)
      for host, n in pairs({ busy1 = "1\t1\n", ["*"] = "2\t2\n" }) do
        r = run.run({ "kstatlua", "-r", all, "--host", host, script, "10", "1" })
        assert.same({ n, "" }, { r.out, r.err })
      end
    end)

    it("from which --host chooses one, for every command", function()
      for host, idle in pairs({ busy1 = 10, idle1 = 98 }) do
        local out, err = shown("mpstat", "--host", host, "1")
        assert.same({ ("%d\n"):format(idle), "" }, { out:match("%d+\n$"), err })
        assert.matches(("cpu +all +%d%%.0 "):format(100 - idle), (shown("use", "--host", host, "5")))
        local r = run.run({ "kstat", "-r", all, "--host", host, "-p", "unix:0:os:/nodename|host/" })
        assert.equal(("unix:0:os:nodename\t%s\n"):format(host), r.out)
        r = run.run({ "kstatlua", "-r", all, "-e", "print(kstat.open():lookup('unix', 0, 'os'):get('nodename'))",
          env = { KSTAT_HOST = host } })
        assert.equal(host .. "\n", r.out)
        local function of(...)
          return run.run({ "kstat", "-p", "-r", ... }).out:gsub("[^\n]*time\t[^\n]*\n", "")
        end
        assert.equal((of(("spec/vectors/past/%s.rec"):format(host), "cpu", "1")), (of(all, "--host", host, "cpu", "1")))
      end
      local _, err, status = shown("vmstat", "--host", "none")
      assert.equal("vmstat: there is no machine 'none' here, but busy1 and idle1", err:match("^[^;]*"))
      assert.equal(2, status)
    end)

    it("of which mpstat has a row for each CPU of each with --host '*'", function()
      local out, err = shown("mpstat", "--host", "*", "1")
      local _, idle = out:gsub(" 98 idle1\n", "")
      local _, busy = out:gsub(" 10 busy1\n", "")
      assert.same({ "", 22, 22 }, { err, idle, busy })
    end)

    it("of which iostat has a row for each disk of each with --host '*', and none of all together", function()
      local out, err = shown("iostat", "--host", "*", "5", "2")
      local _, busy = out:gsub("\nvda +9%.0 +9%.0 [^\n]* busy1 ", "")
      local _, idle = out:gsub("\nvda +0%.2 +0%.2 [^\n]* idle1 ", "")
      assert.same({ "", 2, 2 }, { err, busy, idle })
      assert.matches('"r/s":0.2,.*,"host":"idle1"}\n$', (shown("iostat", "--json", "--host", "*", "5")))
      for _, letters in ipairs({ "-xc", "-d", "-xe" }) do
        assert.equal("iostat: " .. BOTH, select(2, shown("iostat", letters, "--host", "*")))
      end
    end)

    it("whose series keep the host and their own instance", function()
      local r = run.run({ "kstat", "-r", all, "-o", "openmetrics", "cpu::sys:cpu_nsec_user", "1" })
      for _, host in ipairs({ "busy1", "idle1" }) do
        for instance = 0, 1 do
          local labels = ('{module="cpu",instance="%d",name="sys",class="misc",host="%s"} '):format(instance, host)
          local _, n = r.out:gsub(labels, "")
          assert.equal(11, n)
        end
      end
      r = run.run({ "kstat", "-r", all, "-a", "sum(cpu_nsec_idle) by (host)", "cpu::sys" })
      assert.matches("busy1", r.out)
      assert.matches("idle1", r.out)
    end)
  end)
end)
