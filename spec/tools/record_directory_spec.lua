-- kstatlua record --directory: files, limits, disks that are full or slow, and recorders that are killed.
local run = require("support.run")
local host = run.bin .. "/kstatlua"
local machine = run.build .. "/spec/core_record_directory" -- a made-up machine, whose clock is fast
local dir

-- Prints how many samples a directory has and the time of the last one, in ms, and what is wrong with them.
local COUNT = [[
  local count, last, ks, message, errname = 0, 0, kstat.open(arg[1])
  -- EISDIR: the directory was made while it was opened.
  assert(ks or errname == "ENODATA" or errname == "ENOENT" or errname == "EISDIR", message)
  while ks and not ks:ended() do
    count = count + 1
    last = math.floor(ks:time_of_day() * 1000)
    assert(#ks > 0)
    assert(ks:update() ~= nil)
  end
  assert(not ks or not ks:damaged())
  print(count .. " " .. last)]]

local function samples(path)
  local r = run.run({ "kstatlua", "-e", COUNT, path or dir })
  assert.equal("", r.err)
  return tonumber(r.out:match("%d+"))
end

local function names(path)
  return run.shell("ls " .. (path or dir)).out
end

--- Starts `kstatlua record --directory`; it ends with the spec. env: words of sh.
local function start(words, env)
  local pid = run.start(("env LC_ALL=C %s %s record --directory %s %s"):format(env or "", host, dir, words),
    dir .. ".out")
  finally(function()
    if run.alive(pid) then
      run.stop(pid, "KILL")
    end
  end)
  return pid
end

local function told(what)
  run.await("the line " .. what, function() return run.read_file(dir .. ".out"):find(what) end)
end

local function record(...)
  return run.run({ "kstatlua", "record", "--directory", dir, ... })
end

describe("a directory of recordings", function()
  before_each(function()
    dir = os.tmpname()
    os.remove(dir)
  end)

  after_each(function()
    run.shell(("rm -rf %s %s.*"):format(dir, dir))
  end)

  it("has a file for each day of UTC, and one for each boot", function()
    run.shell(("%s %s 0 60 3600 9000000 1000000; %s %s 216000 2 60 9000000 1000000"):format(machine, dir, machine, dir))
    assert.equal([[
kstat-20231114-220000.rec
kstat-20231115-000000.rec
kstat-20231116-000000.rec
kstat-20231117-000000.rec
kstat-20231117-100000.rec
]], names())
    assert.equal(62, samples())
  end)

  it("does not lose what it has where a clock is set ahead by more than a day", function()
    local capture, kstat, recording = require("support.capture"), require("kstat"), require("kstat.recording")
    local path, day, lines = dir .. ".json", 86400, {}
    for i, time in ipairs({ 0, 10, 20, 400 * day, 400 * day + 10 }) do
      lines[i] = ("%d\n[%s]\n"):format(1700000000 + time, capture.named("a", 1, 100 + 10 * i, '"n":1'))
    end
    run.write_file(path, table.concat(lines, "\n"))
    local ks = assert(kstat.open(path))
    local rec = assert(recording.directory(dir, { keep = 7 * day, keep_bytes = 2 ^ 30 }))
    repeat
      assert(rec:add(ks))
      ks:update(true)
    until ks:ended()
    rec:close()
    assert.equal(5, samples())
  end)

  it("goes back by as many samples as are asked for, over several files", function()
    local capture, kstat, recording = require("support.capture"), require("kstat"), require("kstat.recording")
    local path, day, lines = dir .. ".json", 86400, {}
    local times = { 0, 10, 20, day, day + 10, 2 * day, 2 * day + 10 }
    for i, time in ipairs(times) do
      lines[i] = ("%d\n[%s]\n"):format(1700000000 + time, capture.named("a", 1, 100 + 10 * i, '"n":1'))
    end
    run.write_file(path, table.concat(lines, "\n"))
    local ks = assert(kstat.open(path))
    local rec = assert(recording.directory(dir, { keep = 7 * day, keep_bytes = 2 ^ 30 }))
    repeat
      assert(rec:add(ks))
      ks:update(true)
    until ks:ended()
    rec:close()
    assert.equal(3, select(2, names():gsub("%.rec", "")))
    ks = assert(kstat.open(dir))
    for wanted = 1, #times do
      assert(ks:seek(1700000000 + 2 * day + 10))
      local at = math.max(#times - wanted, 1)
      local went = select(4, assert(ks:previous(nil, wanted)))
      assert.same({ #times - at, times[at] }, { went, ks:time_of_day() - 1700000000 })
    end
  end)

  it("is read in the order of time, also where many files begin in a second", function()
    local capture = require("support.capture")
    run.shell("mkdir " .. dir)
    for i = 1, 12 do
      local second = i == 1 and 19 or i == 12 and 21 or 20
      local name = ("%s/kstat-20231114-2213%d%s.rec"):format(dir, second, i > 2 and i < 12 and "-" .. i - 1 or "")
      run.write_file(dir .. ".json", ("%.3f\n[%s]\n"):format(1699999980 + second + i / 1000,
        capture.named("a", 1, 100 + i, '"n":1')))
      assert.equal("", run.run({ "kstatlua", "convert", "-o", name, dir .. ".json" }).err)
    end
    local r = run.run({ "kstatlua", "convert", dir })
    assert.equal("", r.err)
    local last, n = 0, 0
    for time in r.out:gmatch('"snaptime": (%d+)[.%d]*,\n\t"data"') do
      assert.is_true(tonumber(time) > last, r.out)
      last, n = tonumber(time), n + 1
    end
    assert.equal(12, n)
  end)

  it("leaves no descriptor open when its recorder is closed", function()
    local script = [[local recording = require("kstat.recording")
      local ks = require("kstat").open("spec/vectors/kstat/host.jsonl")
      local function open()
        -- Files and directories: both ends of this pipe may still be open.
        local p = io.popen("find /proc/$PPID/fd -lname '/*' 2> /dev/null | wc -l")
        return p:read("a"):match("%d+"), p:close()
      end
      local before
      for i = 1, 4 do
        local rec = assert(recording.directory(arg[1], { keep = 1e9, keep_bytes = 2 ^ 30 }))
        assert(rec:add(ks))
        rec:close()
        before = i == 1 and open() or before
      end
      io.write(open() - before)]]
    local r = run.run({ "kstatlua", "-e", script, dir })
    assert.same({ "0", "" }, { r.out, r.err })
  end)

  it("is continued in its newest file by a recorder that starts again, which only its owner and group read", function()
    local r = record("unix:0:system_misc", "0.01", "3")
    assert.same({ "", "", 0 }, { r.out, r.err, r.status })
    local first = names()
    record("unix:0:system_misc", "0.01", "3")
    assert.equal(6, samples())
    if first:sub(7, 14) == os.date("!%Y%m%d") then -- else it is another day by now
      assert.equal(first, names())
    end
    assert.matches("^750 640\n", run.shell(("stat -c %%a %s %s/* | xargs"):format(dir, dir)).out)
  end)

  -- KSTAT_KILLS: `make soak` has a sample every 10 s.
  it("keeps its limits at every sample, however long it is written, and needs no more memory", function()
    local seconds = os.getenv("KSTAT_KILLS") and 10 or 600
    for _, limit in ipairs({ 20000, 10000000 }) do
      run.shell("rm -rf " .. dir)
      local count = ("%d"):format(16 * 86400 / seconds)
      local r = run.shell(("%s %s 0 %s %d 1209600 %d"):format(machine, dir, count, seconds, limit))
      local written, dropped, files, descriptors, kb = r.out:match("^(%d+) written, (%d+) dropped, (%d+) files, " ..
        "(%d+) descriptors, (%-?%d+) kB\n$")
      assert.same({ count, "0", "0" }, { written, dropped, descriptors }, r.out)
      assert.is_true(tonumber(files) <= 16 and (tonumber(kb) < 500 or os.getenv("KSTAT_PRELOAD") ~= nil), r.out)
      assert.is_true(tonumber(files) > 5)
    end
  end)

  it("loses only its own old files", function()
    run.shell(("mkdir %s && %s %s.other 0 9 60 9000000 65536 && mv %s.other/* %s.target"):format(dir, machine, dir, dir,
      dir))
    local script = [[cd DIR && echo text > kstat-20200101-000000.rec && ln -s DIR.target kstat-20200102-000000.rec &&
      cp DIR.target kept.rec && cp DIR.target kstat-old.rec && mkdir kstat-20200103-000000.rec &&
      mkfifo kstat-20200104-000000.rec && cp DIR.target kstat-20200105-000000-2.rec && : > kstat-20200106-000000.rec]]
    assert.equal(0, run.shell((script:gsub("DIR", dir))).status)
    local foreign = run.shell(("cp %s.target %s/kstat-20200107-000000.rec && chown 65533 %s/kstat-20200107-000000.rec")
      :format(dir, dir, dir)).status == 0
    local before = names()
    assert.equal("", record("--keep", "1h", "unix:0:system_misc", "0.01", "2").err)
    local after = names()
    for name in before:gmatch("[^\n]+") do
      local is_ours = name:find("20200105") or name:find("20200106") or name:find("20200107") and not foreign
      assert.equal(not is_ours, after:find(name, 1, true) ~= nil, name)
    end
    assert.equal(0, run.shell(("test -s %s.target"):format(dir)).status)
  end)

  it("belongs to one recorder, which publishes what it does and ends with all samples written", function()
    local pid = start("unix:0:system_misc 0.01")
    run.await("samples", function() return samples() > 3 end)
    local r = record("unix", "1", "1")
    assert.same({ ("record: %s: another recorder writes into this directory\n"):format(dir), 3 }, { r.err, r.status })
    local k = run.run({ "kstat", "-p", "kstat_record:0:recorder" }).out
    for _, name in ipairs({ "samples", "bytes", "write_time", "size" }) do
      assert.matches(name .. "\t[1-9]", k)
    end
    assert.matches("dropped\t0\n.*is_writing\t1\n", k)
    run.stop(pid)
    assert.equal("", run.read_file(dir .. ".out"))
    assert.is_true(samples() >= tonumber(k:match("samples\t(%d+)")))
  end)

  it("has the machine and its processes, and no command lines", function()
    local r = record("0.01", "2")
    assert.same({ "", 0 }, { r.err, r.status })
    local function count(selector)
      return #run.shell(("%s/kstat -p -r %s/* %s"):format(run.bin, dir, selector)).out
    end
    assert.is_true(count("unix:0:system_misc:nproc") > 0 and count("process:1::utime") > 0)
    for _, class in ipairs({ "process_args", "process_fd", "thread", "process_status" }) do
      assert.equal(0, #run.run({ "kstatlua", "-r", dir .. "/" .. names():match("[^\n]+"), "-e",
        ("for k in ks:each({ class = '%s' }) do print(k) end"):format(class), "1" }).out, class)
    end
  end)

  it("has the same as a file, with command lines or without processes where that is asked for", function()
    local file = dir .. "/a.rec"
    run.shell("mkdir -p " .. dir)
    for options, expected in pairs({ [""] = { true, false }, ["--args"] = { true, true },
      ["--no-processes"] = { false, false } }) do
      for _, to in ipairs({ "-o " .. file, "--directory " .. dir }) do
        run.shell(("rm -f %s/*"):format(dir))
        local r = run.shell(("%s record %s %s 0.01 1"):format(host, to, options))
        assert.same({ "", 0 }, { r.err, r.status })
        local found = {}
        for i, class in ipairs({ "process", "process_args" }) do
          found[i] = run.shell(("%s/kstat -lr %s/* -c %s"):format(run.bin, dir, class)).out ~= ""
        end
        assert.same(expected, found, to .. " " .. options)
      end
    end
    local r = run.run({ "kstatlua", "record", "-o", file, "--no-processes", "--args", "1", "1" })
    assert.same({ "record: --no-processes and --args cannot be used together; 'kstatlua record --help' explains\n", 2 },
      { r.err, r.status })
  end)

  it("hears root and the recorder's own user, and others who are named", function()
    if run.shell("setpriv --reuid=65534 --regid=65534 --clear-groups env " .. host .. " -e ''").status ~= 0 then
      pending("takes root, who becomes somebody else by setpriv, and a build that others can read")
      return
    end
    run.write_file(dir .. ".lua", [[
      kstat.publish("shop"):named({ name = "jobs", statistics = { "done" } })
      print("ready")
      for _ in kstat.every(1) do io.flush() end]])
    run.shell(("chmod 644 %s.lua; mkdir -m 1777 %s.kstat"):format(dir, dir))
    local stranger = run.start(("setpriv --reuid=65534 --regid=65534 --clear-groups env KSTAT_DIR=%s.kstat %s %s.lua")
      :format(dir, host, dir), dir .. ".out")
    finally(function() run.stop(stranger) end)
    told("ready")
    for trust, heard in pairs({ [""] = false, ["--trust 65534"] = true }) do
      run.shell(("KSTAT_DIR=%s.kstat %s record --directory %s %s 0.01 2"):format(dir, host, dir, trust))
      local r = run.shell(("%s/kstat -p -r %s/* shop 1"):format(run.bin, dir))
      assert.equal(heard, r.out:find("shop:0:jobs:done", 1, true) ~= nil, r.out .. r.err)
      run.shell("rm -r " .. dir)
    end
  end)

  it("is sampled while the disk does not answer, and what has no place is counted", function()
    local slow = dir .. ".slow"
    run.write_file(slow, "")
    local pid = start("unix:0:system_misc 0.002", ("SLOW_DISK=%s LD_PRELOAD=%s/spec/slow_disk.so " ..
      "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0"):format(slow, run.build))
    told("the disk is too slow: 64 samples wait; samples are dropped until that ends\n")
    os.remove(slow)
    told("samples are written again; [1-9]%d* were dropped\n")
    assert.equal(0, run.shell(("kill -TERM %s"):format(pid)).status)
    run.await("the end", function() return not run.alive(pid) end)
    assert.is_true(samples() > 64)
  end)

  it("is not written while the file system is nearly full, with a line when that begins and ends", function()
    if run.shell("unshare -rm true").status ~= 0 then
      pending("needs a small file system of its own: CAP_SYS_ADMIN, or user namespaces")
      return
    end
    local script = [[mount -t tmpfs -o size=270m none DIR && mkdir DIR/rec || exit 1
      KSTATLUA record --directory DIR/rec unix:0:system_misc 0.01 2> DIR/err & pid=$!
      until [ -s DIR/rec/kstat* ]; do sleep 0.02; done
      fallocate -l 20m DIR/large; until grep -q 'less than 5 % or 256 MB' DIR/err; do sleep 0.02; done
      size=$(stat -c %s DIR/rec/*); sleep 0.1; [ $size = $(stat -c %s DIR/rec/*) ] && echo unchanged
      rm DIR/large; until grep -q 'written again' DIR/err; do sleep 0.02; done
      kill $pid; wait $pid; echo status $?; cp -r DIR/rec/* DIR.copy; cat DIR/err]]
    run.shell("mkdir " .. dir)
    local r = run.shell(("timeout 100 unshare -rm sh -c %s"):format(run.quote((script:gsub("DIR", dir)
      :gsub("KSTATLUA", host)))))
    assert.matches("^unchanged\nstatus 0\nrecord: [^\n]*/rec: less than 5 %% or 256 MB of the file system are free; " ..
      "samples are dropped until that ends\nrecord: [^\n]*/rec: samples are written again; [1-9]%d* were dropped\n$",
      r.out .. r.err)
    run.shell(("mkdir %s/whole; cp %s.copy %s/whole/copy.rec"):format(dir, dir, dir))
    assert.is_true(samples(dir .. "/whole") > 1)
  end)

  it("is made again when somebody removes it", function()
    local pid = start("unix:0:system_misc 0.01")
    run.await("samples", function() return samples() > 0 end)
    run.shell("rm -r " .. dir)
    run.await("samples again", function() return samples() > 2 end)
    run.stop(pid)
    assert.falsy(run.read_file(dir .. ".out"):find("No such file", 1, true))
  end)

  -- KSTAT_KILLS: how many recorders are killed; `make soak` kills 10,000.
  it("loses no sample, however often recorders are killed", function()
    local kills = tonumber(os.getenv("KSTAT_KILLS")) or 20
    run.write_file(dir .. ".lua", COUNT)
    -- Of two directories one has such limits that files begin and are removed all the time.
    local script = [[i=0; before=0
      while [ $i -lt KILLS ]; do
        d=DIR limits="--keep-bytes 100M"; [ $((i % 3)) != 0 ] || d=DIR.small limits="--keep-bytes 64k --keep 1s"
        known=$(ls -d $d 2>&-)
        HOST record --directory $d $limits unix 0.001 & p=$!
        # The first one in a directory has written a sample; on a slow machine others may not get so far.
        [ -n "$known" ] || until seen=$(HOST DIR.lua $d) && [ "${seen% *}" -gt 0 ]; do sleep 0.01; done
        sleep 0.0$((i % 10 / 2 + 1))$((i * 7 % 10)); seen=$(HOST DIR.lua $d); kill -9 $p; wait $p 2>/dev/null
        i=$((i + 1))
        now=$(HOST DIR.lua $d) || echo "after $i kills: $d"
        [ ${now#* } -ge ${seen#* } ] || echo "after $i kills: $d: $seen, $now"
        ls -A $d | grep -v '^kstat-[-0-9]*[.]rec$'
        HOST record --directory $d $limits unix 0.001 3 && again=$(HOST DIR.lua $d) || echo "after $i kills: $d"
        if [ $d = DIR ]; then
          [ ${now% *} -ge $before ] && [ ${again% *} = $((${now% *} + 3)) ] ||
            echo "after $i kills: $before, $now, $again"
          before=${again% *}
          if [ $before -gt 500 ]; then rm -r DIR; before=0; fi
        else
          size=$(cat $d/* | wc -c); [ $size -le 65536 ] || echo "after $i kills: $size bytes"
        fi
      done 2>&1 | grep -v Killed]]
    local r = run.shell((script:gsub("KILLS", kills):gsub("HOST", host):gsub("DIR", dir)))
    assert.equal("", r.out)
    assert.is_true(samples() > 0 and samples(dir .. ".small") > 0)
  end)

  it("says what is wrong with a command line", function()
    for words, message in pairs({
      ["--directory d -o f 1"] = "-o and --directory cannot be used together",
      ["-o f --keep 3d 1"] = "--keep and --keep-bytes are limits of a --directory",
      ["--directory d --keep 14 1"] = "--keep: '14' is no time such as 14d or 36h",
      ["--directory d --keep 0s 1"] = "--keep: '0s' is no time",
      ["--directory d --keep-bytes 1K 1"] = "--keep-bytes: '1K' is no number of bytes such as 1G or 500M",
      ["--directory d --keep-bytes 63k 1"] = "of at least 64k",
      ["--directory d"] = "no interval",
    }) do
      local r = run.shell(("%s record %s"):format(host, words))
      assert.equal(2, r.status, words)
      assert.truthy(r.err:find(message, 1, true), r.err)
    end
    local r = run.shell(("%s record --directory /proc/none 1 1"):format(host))
    assert.same({ "record: /proc/none: No such file or directory\n", 3 }, { r.err, r.status })
  end)
end)
