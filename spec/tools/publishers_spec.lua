-- Whose figure it is: what processes publish is never taken for the machine's, and says who published it wherever it
-- goes. What cannot be tested without being two users takes root.
local exporter = require("support.exporter")
local run = require("support.run")

local root = run.shell("id -u").out == "0\n" and run.shell("setpriv --version").status == 0
local stranger = "setpriv --reuid=65534 --regid=65534 --clear-groups "

-- All that speaks of the machine, with arguments that show as much as possible.
local REPORTS = {
  "arcstat", "devstat -d", "fsstat", "intrstat 0.01 1", "iostat -xnpe", "iostat -E", "iostat -tc", "iostat -C -x",
  "mpstat", "mpstat -a", "nicstat", "nicstat -t", "nicstat -x", "prstat -c 0.01 1", "top -b --view any 0.01 1",
  "use 0.01 1", "vmstat", "vmstat -p", "vmstat -i", "vmstat -s", "examples/cpu_spark.lua", "examples/cpu_usage.lua",
  "examples/disk_bars.lua", "examples/disk_service.lua", "examples/latency_heatmap.lua", "examples/net_per_nic.lua",
  "examples/service_times.lua", "examples/traffic.lua",
}

describe("what is published under the machine's names", function()
  local dir, pid
  -- As a user of its own if that is possible, so that no other publication on the host has a part in it.
  local function forge(prefix)
    dir = run.directory()
    run.shell(("chmod 755 %s; mkdir -m 1777 %s/seg; cp spec/support/publish_forgeries.lua %s/kstatlua %s"):format(dir,
      dir, run.bin, dir))
    pid = run.start(("env KSTAT_DIR=%s/seg %s %s/kstatlua %s/publish_forgeries.lua"):format(dir, prefix, dir, dir),
      dir .. "/out")
    run.await("the forger", function() return run.read_file(dir .. "/out"):find("ready") end)
  end
  after_each(function()
    run.stop(pid, "KILL")
    run.remove_directory(dir)
  end)

  -- What a command says of a tree of files, with the forgeries or without.
  local function say(command, forged)
    local r = run.shell(("export %s KSTAT_DIR=%s/%s; %s/%s"):format(run.tree_words("small"), dir,
      forged and "seg" or "none", run.bin, command))
    return r.out, r.err
  end

  -- The same of a report, without the time of day that some show.
  local function report_of(command, forged)
    return (say(command, forged):gsub("%d%d:%d%d:%d%d", "TIME"))
  end

  local function json(operands)
    return require("cjson").decode((say("kstat -j " .. operands, true)))
  end

  -- A disk of this user's, or of root's, is one of iostat's, as kstat_create(9F) has it.
  it("is in no report about the machine, whoever published it, but for iostat's disks of oneself and root", function()
    forge("")
    for _, report in ipairs(REPORTS) do
      local disks
      local shown = report_of("kstatlua " .. report, true)
      shown, disks = shown:gsub("[^\n]*forgeddisk[^\n]*\n", "")
      assert.equal(report_of("kstatlua " .. report), shown, report)
      assert.equal(report:find("^iostat .*x") and 1 or 0, math.min(disks, 1), report)
    end
  end)

  it("is not even opened by who asks for the machine alone", function()
    dir = run.directory()
    run.shell(("mkdir %s/seg; head -c 9000 /dev/zero > %s/seg/damaged.kseg"):format(dir, dir))
    local function opens(command)
      return say(command, true) and select(2, say(command, true)):find("damaged.kseg", 1, true) ~= nil
    end
    assert.is_true(opens("kstat -p shop"))
    if root then -- of root itself, a program may measure what is the machine's
      run.shell(("chown -R 65534:65534 %s/seg"):format(dir))
    end
    for _, command in ipairs({ "use 0.01 1", "use cpu disk 0.01 1", "devstat -c 1", "devstat -x -c 1",
      "top -b cpu 0.01 1", "top -b --view disks 0.01 1", "top -b --view processes 0.01 1",
      "top -b --view cgroups 0.01 1", "top -b --machine 0.01 1", "vmstat", "mpstat", "nicstat", "fsstat",
      "prstat -c 0.01 1", "intrstat 0.01 1", "listen", "arcstat" }) do
      assert.is_false(opens("kstatlua " .. command), command)
    end
  end)

  it("by another user is no disk of iostat, which says who shows it", function()
    if not root then
      pending("needs root")
      return
    end
    forge(stranger)
    local out, err = say("kstatlua iostat -xn forgeddisk", true)
    assert.falsy(out:find("forgeddisk", 1, true))
    assert.equal("iostat: the disk forgeddisk is published by another user: kstatlua prtop shows it\n", err)
    assert.falsy(say("kstatlua iostat -xn", true):find("forged", 1, true))
  end)

  it("is in no report of a recording or a capture", function()
    forge("")
    for _, forged in ipairs({ false, true }) do
      say(("kstatlua record -o %s/%s.rec 0.01 1"):format(dir, forged), forged)
      say(("kstat -j > %s/%s.json"):format(dir, forged), forged)
    end
    for _, report in ipairs(REPORTS) do
      for _, kind in ipairs({ "rec", "json" }) do
        local replay = ("kstatlua -r %s/%%s.%s %s"):format(dir, kind, report)
        assert.equal(report_of(replay:format(false)), report_of(replay:format(true)), report .. " of " .. kind)
      end
    end
    assert.matches("cpu:7799:time:nsec_user\t0", (say(("kstat -p -r %s/true.rec cpu:7799"):format(dir))))
  end)

  it("says who published it: -j, -d, -v, and recordings and captures of it", function()
    forge("")
    local uid = tonumber(run.shell("id -u").out)
    local publisher = { name = "forger", uid = uid, pid = tonumber(pid) }
    assert.same(publisher, json("shop cpu:7799:time")[2].publisher)
    assert.is_nil(json("unix:0:system_misc")[1].publisher)
    local words = ("published by forger, user %d, process %s"):format(uid, pid)
    assert.equal("shop:7799:jobs:done\tcounter\t-\t\t" .. words .. "\n", (say("kstat -d shop:::done", true)))
    assert.truthy(select(2, say("kstat -v -q shop", true)):find("20 kstats " .. words, 1, true))
    say(("kstat -j shop > %s/json; %s/kstatlua record -o %s/rec shop 0.01 1"):format(dir, run.bin, dir), true)
    for _, file in ipairs({ "json", "rec" }) do
      local out = say(("kstat -r %s/%s -j"):format(dir, file))
      assert.same(publisher, require("cjson").decode(out)[1].publisher, file)
      assert.equal("", (say(("kstat -r %s/%s -p --machine"):format(dir, file))))
      assert.equal(("forger\t%d\t%s\n"):format(uid, pid), (say(("kstatlua -r %s/%s -e 'local k = kstat.open():lookup("
        .. '"shop") print(k.publisher, k.publisher_uid, k.publisher_pid)\''):format(dir, file))))
    end
  end)

  it("is left out if a stranger did it, with a line that names the user and the module", function()
    if not root then
      pending("takes root, who becomes somebody else by setpriv")
      return
    end
    forge(stranger)
    local out, err = say("kstat -p '/^(cpu|cpu_stat|link|fs|unix|zfs.forged|nfs|process|pressure)$/:7799'", true)
    assert.equal("", out)
    assert.matches("^kstat: user 65534 publishes under '[^']+', a module of the machine: such kstats are not shown\n$",
      err)
    -- The modules of disks are those of this machine, and not looked for only where they are asked for.
    local driver = say("kstat -l -m sd -c disk"):match("^sd:") and "sd" or "vd"
    assert.equal("", (say(("kstat -p -c disk %s:7799"):format(driver), true)))
    assert.equal("", (say(("kstat -p -c nothing %s:7799"):format(driver), true)))
    assert.matches("shop:7799:jobs:done\t0", (say("kstat -p shop", true)))
    assert.matches("cpu:7799:time", (say("kstat -l --trust 65534 cpu:7799", true)))
  end)

  it("is no disk of programs in C if a stranger did it, live and in a recording", function()
    if not root then
      pending("takes root, who becomes somebody else by setpriv")
      return
    end
    forge(stranger)
    say(("kstatlua record -o %s/rec --trust 65534 0.01 1"):format(dir), true)
    assert.matches("forgediopath", (say(("kstat -l -r %s/rec forger"):format(dir))))
    for _, source in ipairs({ "", dir .. "/rec" }) do
      local out = run.shell(("export %s KSTAT_DIR=%s/seg KSTAT_SOURCE=%s; %s/spec/man_page_io"):format(
        run.tree_words("small"), dir, source, run.build)).out
      assert.matches("sda ", out)
      assert.falsy(out:find("forged", 1, true), out)
    end
  end)

  it("is in no result of -a together with the machine's, and has the key publisher", function()
    forge("")
    for _, operands in ipairs({ "-c disk", "cpu::time", "-c net" }) do
      for _, what in ipairs({ "sum", "sum by (name)", "count by (module)" }) do
        local command = ("kstat -p -a '%s' %s"):format(what, operands)
        assert.equal((say(command)), (say(command, true)))
      end
    end
    assert.equal((say("kstat -p -a count '*::tcp'")), (say("kstat -p -a count '*::tcp'", true)))
    assert.equal((say("kstat -p -a count cpu_stat")), (say("kstat -p -a count '/^(cpu_stat|shop)$/'", true)))
    assert.matches("\nforger:count\t1\n", (say("kstat -p -a 'count by (publisher)' '*::tcp'", true)))
    assert.equal("jobs:sum\t0\n", (say("kstat -p -a 'sum by (name)' '*::jobs'", true)))
  end)

  it("names no process of another user if a stranger did it; prtop shows process and user", function()
    if not root then
      pending("takes root, who becomes somebody else by setpriv")
      return
    end
    forge(stranger)
    local function shows(process, user)
      local out = say("kstatlua prtop forger", true)
      assert.same({ process, user }, { out:match(" (%S+) +(%d+) forger +forger:7799:forgediopath\n") }, out)
    end
    shows(pid, "65534")
    run.shell(("chown 65533 %s/seg/forger.kseg"):format(dir)) -- the file of another, who names this process
    shows("-", "65533")
    assert.is_nil(json("forger:7799:forgediopath")[1].publisher.pid)
  end)

  it("is left out as soon as the machine has the driver of a disk that a stranger named", function()
    if not root then
      pending("takes root, who becomes somebody else by setpriv")
      return
    end
    forge(stranger)
    run.shell(("cp -r %s %s/tree; sed -i '/ sd/d' %s/tree/proc/diskstats; rm -rf %s/tree/sys/block/sd*"):format(
      run.tree("small"), dir, dir, dir))
    run.write_file(dir .. "/plug.lua", [[
      local kstat = require("kstat")
      local ks = kstat.open({ everybody = true })
      local before = ks:lookup("sd", 7799).publisher
      local list = assert(io.open(arg[1] .. "/proc/diskstats", "a"))
      list:write("   8       0 sda 100 10 800 50 200 20 1600 150 3 120 210\n")
      list:close()
      ks:update()
      print(before, ks:lookup("sd", 0, "sda") ~= nil, (ks:lookup("sd", 7799)))]])
    local r = run.shell(("cd %s; KSTAT_DIR=seg KSTAT_PROC=tree/proc KSTAT_SYS=tree/sys %s/kstatlua plug.lua tree"):
      format(dir, run.bin))
    assert.equal("forger\ttrue\tnil\n", r.out)
  end)

  it("does not reach the names of node_exporter, and is marked in the data of the page", function()
    if not exporter.is_built then
      pending("is not built here: libmicrohttpd is not installed")
      return
    end
    forge("")
    local node = exporter.start(dir .. "/seg", "--names node", "env " .. run.tree_words("small"))
    local all = exporter.start(dir .. "/seg", "", "env " .. run.tree_words("small"))
    local metrics = run.shell("curl -s 127.0.0.1:" .. node.port .. "/metrics").out
    local data = run.shell("curl -s 127.0.0.1:" .. all.port .. "/kstat.json?select=cpu::time").out
    run.stop(node.pid)
    run.stop(all.pid)
    assert.matches("node_cpu_seconds_total", metrics)
    -- In quotes: the digits of a time may be these, too.
    assert.falsy(metrics:find('"7799"', 1, true) or metrics:find("forged", 1, true))
    for _, k in ipairs(require("cjson").decode(data)) do
      assert.equal(k.instance == 7799, k.publisher ~= nil)
    end
  end)

  it("is bounded if it is strangers', and the exporter counts what it leaves out", function()
    if not root or not exporter.is_built then
      pending("takes root, who becomes somebody else by setpriv, and libmicrohttpd")
      return
    end
    forge(stranger)
    run.write_file(dir .. "/flood.lua", [[
      local kstat = require("kstat")
      local pub, list = assert(kstat.publish("flood")), {}
      for i = 1, 100 do list[i] = "s" .. i end
      for i = 1, 60 do assert(pub:named({ module = "aflood", name = "n" .. i, statistics = list })) end
      print("ready")
      io.stdout:flush()
      for _ in kstat.every(600, { source = { only = "unix:0:system_misc" } }) do end]])
    local flood = run.start(("env KSTAT_DIR=%s/seg %s %s/kstatlua %s/flood.lua"):format(dir, stranger, dir, dir),
      dir .. "/flood")
    run.await("the flood", function() return run.read_file(dir .. "/flood"):find("ready") end)
    local server = exporter.start(dir .. "/seg", "", "env " .. run.tree_words("small"))
    local few = exporter.start(dir .. "/seg", "--max-series 3000", "env " .. run.tree_words("small"))
    local text = run.shell("curl -s 127.0.0.1:" .. server.port .. "/metrics").out
    local cut = run.shell("curl -s 127.0.0.1:" .. few.port .. "/metrics").out
    local list, err = say("kstat -p aflood:::/^s[0-9]/", true)
    for _, process in ipairs({ server.pid, few.pid, flood }) do
      run.stop(process, "KILL")
    end
    local function count(of, pattern) return select(2, of:gsub(pattern, "")) end
    assert.equal(5000, count(list, "\n"))
    assert.equal("kstat: the publications of user 65534 were cut: too many statistics\n", err)
    local flooded = count(text, '\nkstat_aflood_[^\n]*,publisher="flood",uid="65534"')
    assert.is_true(flooded > 4800 and flooded <= 5000, flooded) -- others of this user count, too
    assert.truthy(tonumber(text:match("\nkstat_scrape_left_out_statistics (%d+)\n")) >= 1000)
    assert.matches("\nkstat_scrape_left_out_kstats 0\n", text)
    local function machine(of)
      local lines = {}
      for line in of:gmatch("\n(kstat_[^\n]*)") do
        if not line:find("publisher=", 1, true) and not line:find("^kstat_scrape") then
          lines[#lines + 1] = line:match("^[^}]*")
        end
      end
      return table.concat(lines, "\n")
    end
    assert.equal(machine(text), machine(cut)) -- the machine's are all there
    local series = count(cut, "\nkstat_[^\n]*publisher=")
    assert.is_true(series > 2900 and series <= 3000, series)
    assert.falsy(cut:find("\nkstat_scrape_left_out_kstats 0\n", 1, true))
  end)

  it("is heard or not by one switch", function()
    forge(root and stranger or "")
    local uid = root and "65534" or run.shell("id -u").out:match("%d+")
    local commands = {
      "kstat -l %s shop", "kstatlua top -b %s shop 0.01 1", "kstatlua prtop %s forger",
      ("kstatlua record %%s -o %s/rec shop 0.01 1; %s/kstat -l -r %s/rec; rm -f %s/rec"):format(dir, run.bin, dir, dir),
    }
    for _, command in ipairs(commands) do
      local function heard(switch)
        return (say(command:format(switch), true):find("shop:7799", 1, true) or
          say(command:format(switch), true):find("forged", 1, true)) ~= nil
      end
      assert.equal(not (root and command:find("record", 1, true)), heard(""), command) -- as into a directory
      assert.is_false(heard("--machine"), command)
      assert.is_true(heard("--trust " .. uid), command)
      assert.equal(not root, heard("--trust root"), command)
      for _, wrong in ipairs({ "--trust no-such-user", "--machine --trust root" }) do
        local r = run.shell(("env KSTAT_DIR=%s/seg %s/%s"):format(dir, run.bin, command:format(wrong)):match("^[^;]*"))
        assert.equal(2, r.status, command)
        assert.matches("^%w+: [^\n]*\n$", r.err)
      end
    end
  end)
end)
