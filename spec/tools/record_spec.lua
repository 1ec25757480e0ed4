-- kstatlua record and convert: what they leave behind when they are killed or the disk is full, and that
-- nothing is lost on the way from one form to the other.
local support = require("support.run")
local pty = require("support.pty")
local build = support.build
local host = build .. "/bin/kstatlua"
local capture = "spec/vectors/kstat/host.jsonl"
local dir

--- Output of a shell command, both streams, and its exit status.
local function run(command)
  local pipe = assert(io.popen(("{ %s; } 2>&1; echo $?"):format(command)))
  local text = pipe:read("*a")
  pipe:close()
  local output, status = text:match("^(.*)%f[%d](%d+)\n$")
  return output, tonumber(status)
end

local function kstatlua(words)
  return run(("KSTAT_REPLAY_TIME=1700000000 LC_ALL=C TZ=UTC %s %s"):format(host, words))
end

local function samples(file)
  local text = kstatlua("convert " .. file .. " unix:0:system_misc:ncpus")
  local _, n = text:gsub("\n%]", "")
  local _, m = text:gsub("%}%]", "")
  return n + m
end

describe("recordings by command", function()
  local terminal_it = pty.it(it, pending)

  before_each(function()
    dir = os.tmpname()
    os.remove(dir)
    assert(os.execute("mkdir " .. dir))
  end)

  after_each(function()
    os.execute("rm -rf " .. dir)
  end)

  it("go from a capture to a recording and back without a change", function()
    local text = kstatlua("convert " .. capture)
    kstatlua(("convert -o %s/r %s"):format(dir, capture))
    assert.equals(text, (kstatlua(("convert %s/r"):format(dir))))
    assert.is_true(#text > 200000)
  end)

  it("hold in each sample the kstats that were chosen for it", function()
    support.write_file(dir .. "/choose.lua", [[
      local ks, rec = kstat.open(arg[1]), kstat.recording.open(arg[2])
      assert(rec:add(ks, "cpu:1:vm") and rec:add(ks, "cpu:0:vm", "cpu:1:vm") and rec:add(ks, "cpu:0:vm"))]])
    kstatlua(("%s/choose.lua %s %s/r"):format(dir, capture, dir))
    local shown = "%s/bin/kstat -p -r %s "
    local one = shown:format(build, capture)
    local plain = run(("%s cpu:1:vm; echo; %s 'cpu:[01]:vm'; echo; %s cpu:0:vm"):format(one, one, one))
    assert.equals(plain, (run(shown:format(build, dir .. "/r 1"))))
    assert.is_true(#plain > 1000)
  end)

  it("replay as the capture does", function()
    kstatlua(("convert -o %s/r %s"):format(dir, capture))
    local plain = run(("%s/bin/kstat -p -r %s 5 3"):format(build, capture))
    assert.equals(plain, (run(("%s/bin/kstat -p -r %s/r 5 3"):format(build, dir))))
    assert.is_true(#plain > 100000)
  end)

  it("are bounded by --from and --to", function()
    kstatlua(("convert -o %s/r %s"):format(dir, capture))
    kstatlua(("convert %s/r > %s/c"):format(dir, dir))
    assert.equals(3, samples(dir .. "/r"))
    assert.equals(2, samples(("--from 1700000004 %s/r"):format(dir)))
    for _, file in ipairs({ "r", "c" }) do
      assert.equals(1, samples(("--from '2023-11-14 22:13:22' --to 1700000006 %s/%s"):format(dir, file)))
      assert.equals(2, samples(("--to=1700000006 -- %s/%s"):format(dir, file)))
    end
    for bounds, told in pairs({
      ["--from 1800000000"] = "at or after 1800000000",
      ["--from 99999999999"] = "at or after 99999999999",
      ["--from '9999-12-31'"] = "at or after 9999-12-31",
      ["--to -99999999999.5"] = "at or before -99999999999.5",
      ["--from=1 --to=2"] = "from 1 to 2",
    }) do
      for _, file in ipairs({ "r", "c" }) do
        local text, status = kstatlua(("convert %s %s/%s"):format(bounds, dir, file))
        assert.equals(("convert: %s/%s: no sample %s\n"):format(dir, file, told), text)
        assert.equals(3, status)
      end
    end
  end)

  it("and captures are bounded by $KSTAT_FROM and $KSTAT_TO, whoever replays them", function()
    kstatlua(("convert -o %s/r %s && %s convert %s/r > %s/c"):format(dir, capture, host, dir, dir))
    for _, command in ipairs({
      "bin/kstat -p -r FILE unix:0:system_misc:snaptime 1",
      "bin/kstatlua convert FILE unix:0:system_misc:snaptime | grep snaptime",
    }) do
      for _, file in ipairs({ "r", "c" }) do
        local line = build .. "/" .. command:gsub("FILE", ("%s/%s"):format(dir, file))
        local all, first = run(line), run("KSTAT_TO=1700000003; export KSTAT_TO; " .. line)
        local last = run("export KSTAT_FROM='2023-11-14 22:13:29' TZ=UTC; " .. line)
        assert.is_true(#first > 0 and #last > 0 and not first:find("r: "))
        assert.equals(first, all:sub(1, #first))
        assert.not_equals(first, last)
        local text, status = run("export KSTAT_FROM=soon; " .. line:gsub(" |.*", ""))
        assert.matches("KSTAT_FROM: 'soon' is not a time; times are [^\n]+\n$", text)
        assert.is_true(status > 0)
      end
    end
    -- Reports and loops are of intervals, and this time has one sample.
    for command, name in pairs({ ["vmstat -r %s/r 1"] = "vmstat",
      ["-r %s/r -e 'for _ in kstat.every({1}) do end'"] = "kstatlua" }) do
      local text, status = run(("KSTAT_TO=1700000003 %s/bin/kstatlua " .. command):format(build, dir))
      assert.equals(name .. ": no interval lies in that time: it takes two samples\n", text)
      assert.is_true(status > 0)
    end
  end)

  describe("that are not whole", function()
    local commands = {
      "kstat -p -r FILE unix:0:system_misc:snaptime 1", "kstat -p -r FILE unix:0:system_misc:snaptime 1 9",
      "kstatlua convert FILE", "kstatlua convert -o FILE.copy FILE", "kstatlua mpstat -r FILE 1",
      "kstatlua vmstat -r FILE 1 9", "kstatlua -r FILE iostat -x 1", "kstatlua -r FILE iostat -x 1 9",
      "kstatlua -r FILE devstat 1", "kstatlua -r FILE -e 'for _ in kstat.every({1}) do end'",
      "kstatlua -r FILE record -o FILE.copy 1", "kstatlua top -b -r FILE 1",
    }

    -- What each of them says on standard error, and the exit status.
    local function each(file)
      local lines, i = {}, 0
      for _, command in ipairs(commands) do
        run(("rm -f %s/%s.copy"):format(dir, file))
        lines[#lines + 1] = { command, run(("%s/bin/%s >/dev/null"):format(build, command:gsub("FILE", dir .. "/" ..
          file))) }
      end
      return function()
        i = i + 1
        if lines[i] then
          return lines[i][1], lines[i][2], lines[i][3]
        end
      end
    end

    before_each(function()
      kstatlua(("convert -o %s/r %s"):format(dir, capture))
    end)

    it("because the recorder was killed, are served to the last whole sample, with one line and status 0", function()
      run(("cd %s && head -c -7 r > cut && { cat r && head -c 5000 /dev/zero; } > zeros && size=$(wc -c < r) && " ..
        "head -c $((size - 1000)) r > half && head -c 9000 /dev/zero >> half"):format(dir))
      for file, whole in pairs({ cut = 2, zeros = 3, half = 2 }) do
        for command, text, status in each(file) do
          assert.matches(("^%%a+: [^\n]*/%s: ends inside a sample; the %d before it are whole\n$"):format(file, whole),
            text, 1, nil, command)
          assert.equals(0, status, command)
        end
        kstatlua(("convert -o %s/%s %s/r"):format(dir, file, dir))
        assert.equals(whole + 3, samples(dir .. "/" .. file))
      end
    end)

    it("because they are damaged, are served up to there, with one line and status 3", function()
      local f = assert(io.open(dir .. "/r", "rb"))
      local bytes = f:read("*a")
      f:close()
      f = assert(io.open(dir .. "/bad", "wb"))
      f:write(bytes:sub(1, 16999), string.char((bytes:byte(17000) + 1) % 256), bytes:sub(17001))
      f:close()
      for command, text, status in each("bad") do
        assert.matches("^%a+: [^\n]*/bad: damaged at byte %d+, after 1 whole sample\n$", text, 1, nil, command)
        assert.equals(3, status, command)
      end
    end)
  end)

  it("have samples in the whole of a second that is named without a fraction", function()
    kstatlua(("record -o %s/r unix:0:system_misc 0.01 1"):format(dir))
    local second = kstatlua(("convert %s/r"):format(dir)):match("^%d+")
    local text, status = kstatlua(("convert --from %s --to %s %s/r"):format(second, second, dir))
    assert.same({ second, 0 }, { text:match("^%d+"), status })
    text, status = kstatlua(("convert --to %s.0 %s/r"):format(second, dir))
    assert.same({ ("convert: %s/r: no sample at or before %s.0\n"):format(dir, second), 3 }, { text, status })
  end)

  it("tell what they have nothing of", function()
    kstatlua(("convert -o %s/r %s"):format(dir, capture))
    local text, status = kstatlua(("convert %s/r nosuch >/dev/null"):format(dir))
    assert.same({ "convert: no kstat matches 'nosuch'\n", 1 }, { text, status })
    text, status = kstatlua(("convert %s/r nosuch unix >/dev/null"):format(dir))
    assert.same({ "convert: no kstat matches 'nosuch'\n", 0 }, { text, status })
  end)

  it("are not streams", function()
    local text, status = kstatlua("record -o - 0.01 1")
    assert.matches("^record: %-o %-: a recording is a plain file", text)
    assert.equals(2, status)
  end)

  it("are not continued if they are damaged anywhere, and not touched", function()
    kstatlua(("convert -o %s/r %s"):format(dir, capture))
    kstatlua(("convert -o %s/r %s"):format(dir, capture)) -- six samples; the fourth is a keyframe, too
    local bytes = support.read_file(dir .. "/r")
    local damaged = "damaged at byte (%d+)"
    local fourth = bytes:find("KSK5", 20, true)
    local second, last = bytes:find("KSD5", 1, true), bytes:match(".*()KSD5")
    for what, at in pairs({
      ["a payload in the middle"] = math.floor(#bytes * 2 / 3), ["the first payload"] = 100,
      ["a header"] = second + 1, ["a time of day"] = second + 10, ["the last payload"] = #bytes - 5,
      ["the last header"] = last + 17, ["a keyframe"] = fourth + 30,
      -- Sizes that reach beyond the file, as that of a sample whose recorder was killed does.
      ["a size"] = second + 6, ["the first size"] = 17 + 6,
    }) do
      support.write_file(dir .. "/bad", bytes:sub(1, at - 1) .. string.char((bytes:byte(at) + 1) % 256) ..
        bytes:sub(at + 1))
      run(("cp -p %s/bad %s/before; touch -d @1000000000 %s/bad"):format(dir, dir, dir))
      local told = kstatlua(("convert %s/bad >/dev/null"):format(dir)):match(damaged)
      assert.is_string(told, what)
      for _, words in ipairs({ "record -o %s/bad unix:0:system_misc 0.01 2", "convert -o %s/bad " .. capture }) do
        local text, status = kstatlua(words:format(dir))
        assert.equals(("%s: %s/bad: damaged at byte %d; name another file (kstatlua convert -o ANOTHER keeps " ..
          "the whole samples of this one)\n"):format(words:match("^%a+"), dir, told), text, what)
        assert.equals(3, status, what)
      end
      assert.equals("1000000000\n", (run(("cmp %s/bad %s/before; stat -c %%Y %s/bad"):format(dir, dir, dir))), what)
    end
    -- What starts without a keyframe has nothing that anybody could read.
    support.write_file(dir .. "/bad", bytes:sub(1, 16) .. bytes:sub(second, fourth - 1))
    assert.matches("bad: damaged at byte 16; name another", (kstatlua(("convert -o %s/bad %s"):format(dir, capture))))
    assert.matches("bad: no keyframe at byte 16, after 0", (kstatlua(("convert %s/bad"):format(dir))))
  end)

  it("are continued before a sample that a crash of the machine filled with zeros, however many it took", function()
    kstatlua(("convert -o %s/r %s"):format(dir, capture))
    kstatlua(("convert -o %s/r %s"):format(dir, capture))
    local bytes = support.read_file(dir .. "/r")
    local fourth = bytes:find("KSK5", 20, true)
    -- As a crash of the machine leaves it: the length is that of six samples, the last blocks are zeros.
    support.write_file(dir .. "/r", bytes:sub(1, fourth + 40) .. ("\0"):rep(#bytes - fourth - 41))
    local text, status = kstatlua(("convert -o %s/r %s"):format(dir, capture))
    assert.equals("", text)
    assert.equals(0, status)
    assert.equals(6, samples(dir .. "/r"))
  end)

  it("hold a sample, or tell that they do not", function()
    run(("printf 'kstat-recording\\n' > %s/empty"):format(dir))
    assert.equals(("convert: %s/empty: no sample in this recording\n"):format(dir), (kstatlua(("convert %s/empty")
      :format(dir))))
  end)

  it("are whole up to the last sample after kill -9", function()
    local pid = support.start(("%s record -o %s/r unix 0.005"):format(host, dir), dir .. "/out")
    finally(function() support.stop(pid, "KILL") end)
    support.await("some samples", function() return samples(dir .. "/r") > 5 end)
    support.stop(pid, "KILL")
    local before = samples(dir .. "/r")
    assert.is_true(before > 5)
    local _, status = run(("%s record -o %s/r unix 0.001 5"):format(host, dir))
    assert.equals(0, status)
    assert.equals(before + 5, samples(dir .. "/r"))
  end)

  -- KSTAT_KILLS: how many recorders are killed; `make soak` kills 10,000.
  it("lose no sample and no publisher, however often recorders are killed", function()
    local kills = tonumber(os.getenv("KSTAT_KILLS")) or 20
    support.write_file(dir .. "/publish.lua", [[
      local jobs = kstat.publish("shop"):named({ name = "jobs", statistics = { "done" } }):counter("done")
      for _ in kstat.every(0.001) do jobs:add(1) end]])
    support.write_file(dir .. "/check.lua", [[
      local samples, last = 0, -1
      for now in kstat.every(1, { source = arg[1] }) do
        local k = assert(now:lookup("shop", 0, "jobs"), "a sample lacks a kstat")
        assert(k.publisher == "shop" and k.publisher_uid == tonumber(arg[2]), "a kstat lacks its publisher")
        assert(k:get("done") >= last, "a counter falls")
        assert(not now:lookup("unix", 0, "system_misc").publisher, "the machine has a publisher")
        samples, last = samples + 1, k:get("done")
      end
      print(samples)]])
    local text = run(([[
      cd %s; export KSTAT_DIR=$PWD; host=%s
      $host publish.lua & publisher=$!
      until %s/kstat -q shop; do sleep 0.01; done
      i=0; before=0
      while [ $i -lt %d ]; do
        $host record -o kills.rec shop unix:0:system_misc 0.001 & p=$!
        # The last one before a check has written a sample; others may have died before, on a slow machine.
        size=$(stat -c %%s kills.rec 2>&- || echo 0)
        [ $((i %% 20)) != 19 ] || until [ "$(stat -c %%s kills.rec 2>&-)" -gt $size ]; do sleep 0.01; done 2>&-
        sleep 0.0$((i %% 10 / 2 + 1))$((i * 7 %% 10)); kill -9 $p; wait $p 2>/dev/null
        i=$((i + 1))
        if [ $((i %% 20)) = 0 ]; then
          now=$($host check.lua kills.rec $(id -u)) && [ $now -gt $before ] || echo "after $i kills: $before, $now"
          before=$now
          if [ $now -gt 5000 ]; then rm kills.rec; before=0; fi
        fi
      done 2>&1 | grep -v Killed
      kill -9 $publisher]]):format(dir, host, support.bin, kills))
    assert.equals("", text)
  end)

  it("are whole up to the last sample on a full disk", function()
    if select(2, run("unshare -rm true")) ~= 0 then
      pending("needs a small file system of its own: CAP_SYS_ADMIN, or user namespaces")
      return
    end
    local text = run(("unshare -rm sh -c 'mount -t tmpfs -o size=64k none %s && " ..
      "%s record -o %s/r unix 0.0005; echo status $?; cp %s/r %s.copy'"):format(dir, host, dir, dir, dir))
    finally(function() os.remove(dir .. ".copy") end)
    assert.equals(("record: %s/r: No space left on device; the samples so far are whole\nstatus 3\n"):format(dir),
      text)
    assert.is_true(samples(dir .. ".copy") > 10)
  end)

  it("are whole up to the last sample when their conversion is interrupted, which a shell learns of", function()
    -- The capture never ends: only the signal can end the conversion.
    local text, status = run(([[
      dir=%s; mkfifo $dir/f
      { while cat %s; do :; done >$dir/f; } 2>&- &
      %s convert -o $dir/r - <$dir/f &
      pid=$!
      while kill -0 $pid && [ "$(stat -c %%s $dir/r 2>&- || echo 0)" -lt 40000 ]; do sleep 0.02; done
      kill -INT $pid
      wait $pid]]):format(dir, capture, host))
    assert.equals("", text)
    assert.equals(130, status)
    local before = samples(dir .. "/r")
    assert.is_true(before > 1)
    text, status = kstatlua(("convert -o %s/r %s"):format(dir, capture))
    assert.equals("", text)
    assert.equals(0, status)
    assert.equals(before + 3, samples(dir .. "/r"))
    text, status = kstatlua(("convert %s/r >/dev/null"):format(dir))
    assert.matches("^convert: clocks were set back from [^\n]+ to 2023%-11%-14 22:13:20\n$", text)
    assert.equals(0, status)
  end)

  terminal_it("show on a terminal how far their conversion is, after a second, and erase it at the end", function()
    support.write_file(dir .. "/more", "")
    local terminal = pty.start((
      "d=%s; mkfifo $d/f; while [ -e $d/more ]; do cat %s; sleep 0.2; done >$d/f & " ..
      "%s convert -o $d/r - <$d/f; echo over; sleep 60"):format(dir, capture, host))
    terminal:await("%d+ samples")
    os.remove(dir .. "/more")
    assert.equal("over", terminal:await("over"):match("^%s*(.-)%s*$"))
  end)

  it("and captures are converted until the reader goes away, silently", function()
    kstatlua(("convert -o %s/r %s"):format(dir, capture))
    for _, file in ipairs({ capture, dir .. "/r" }) do
      local text = run(("(KSTAT_REPLAY_TIME=1700000000 %s convert %s; echo $? >%s/status) | head -n 1; " ..
        "cat %s/status"):format(host, file, dir, dir))
      assert.matches("^17000000%d%d\n0\n$", text, 1, nil, file)
    end
  end)

  it("keep out a second recorder", function()
    local pid = support.start(("%s record -o %s/r unix 86400"):format(host, dir), dir .. "/out")
    finally(function() support.stop(pid) end)
    support.await("its first sample", function() return samples(dir .. "/r") == 1 end)
    local text = run(("%s record -o %s/r unix 1 1"):format(host, dir))
    assert.equals(("record: %s/r: another recorder writes it\n"):format(dir), text)
  end)

  it("are never the file that they are made from, by whatever name", function()
    kstatlua(("convert -o %s/r %s"):format(dir, capture))
    run(("cd %s; cp r torn; printf KSD5 >> torn; ln torn hard; ln -s torn soft; cp torn before"):format(dir))
    local refused = "^%a+: [^\n]*: names the file that is read; name another file\n$"
    for _, name in ipairs({ "torn", "hard", "soft", "../" .. dir:match("[^/]*$") .. "/torn" }) do
      local text, status = kstatlua(("convert -o %s/%s %s/torn"):format(dir, name, dir))
      assert.matches(refused, text)
      assert.equals(3, status)
      text, status = run(("KSTAT_SOURCE=%s/torn %s record -o %s/%s 1"):format(dir, host, dir, name))
      assert.matches(refused, text)
      assert.equals(3, status)
    end
    assert.equals("", (run(("cmp %s/torn %s/before"):format(dir, dir))))
  end)

  it("tell of operands that match nothing, and go on", function()
    local text, status = kstatlua(("-r %s record -o %s/r unix:0:system_misc nosuch 'no more' 1"):format(capture, dir))
    assert.equals("record: no kstat matches 'nosuch' yet\nrecord: no kstat matches 'no more' yet\n", text)
    assert.equals(0, status)
    assert.equals(3, samples(dir .. "/r"))
    text, status = kstatlua(("-r %s record --output=%s/none nosuch 1"):format(capture, dir))
    assert.equals("record: no kstat matches 'nosuch' yet\n", text)
    assert.equals(1, status)
    text, status = kstatlua(("-r %s record -o%s/all 1"):format(capture, dir))
    assert.equals("", text)
    assert.equals(0, status)
  end)

  it("say what is wrong with a command line", function()
    for words, message in pairs({
      ["record 1"] = "no file to write",
      ["record -o f"] = "no interval",
      ["record -o f 1 2 3"] = "'3' is a third number",
      ["record -o f 0"] = "interval '0' is not above 0",
      ["record -o f 1 0"] = "count '0' is not a whole number",
      ["record -o f 1 9999999999"] = "count '9999999999' is not a whole number between 1 and",
      ["record -x"] = "unknown option '%-x'",
      ["record -o f /[/ 1"] = "regular expression",
      ["convert"] = "no file to convert",
      ["convert -q"] = "unknown option '%-q'",
      ["convert --from soon f"] = "'soon' is not a time; times are 14:32, ",
      ["convert --to 2001-02-30 f"] = "'2001%-02%-30' is not a time",
      ["convert --to 1900-02-29 f"] = "'1900%-02%-29' is not a time",
      ["convert --to"] = "%-%-to needs an argument",
      ["convert --of"] = "unknown option '%-%-of'",
    }) do
      local text, status = kstatlua(words)
      assert.matches("^%a+: .*" .. message .. "[^\n]*\n$", text)
      assert.equals(2, status)
    end
  end)
end)
