-- The Linux source: files that cannot be read, that are malformed, or not there.
local L = require("support.linux")
local run = require("support.run")

describe("files that cannot be read", function()
  local dir

  before_each(function()
    dir = L.copy()
  end)
  after_each(function()
    L.remove(dir)
  end)

  it("take only their own kstats away", function()
    for _, file in ipairs({ "stat", "interrupts", "softirqs", "diskstats", "net/dev", "vmstat",
      "cpuinfo", "loadavg", "uptime", "zoneinfo" }) do
      L.sh("rm " .. dir .. "/proc/" .. file)
      local d = L.dump(dir .. "/proc", dir .. "/sys")
      assert.is_not_nil(d.stat["unix:0:meminfo:MemTotal"], file)
      assert.same({}, d.error, file)
      assert.same({}, d.warnings, file)
    end
  end)

  it("are named in one line if they are there", function()
    -- A directory in place of a file cannot be read by anyone, root included.
    for _, file in ipairs({ "diskstats", "interrupts", "meminfo" }) do
      L.sh("rm " .. dir .. "/proc/" .. file .. "; mkdir " .. dir .. "/proc/" .. file)
    end
    local l = L.dumps(dir .. "/proc", dir .. "/sys", "true", "true")
    local all = {}
    for _, d in ipairs(l) do
      for _, warning in ipairs(d.warnings) do
        all[#all + 1] = warning
      end
    end
    table.sort(all)
    assert.equal(3, #all)
    assert.is_truthy(all[1]:find("cannot read " .. dir .. "/proc/diskstats: ", 1, true))
    assert.is_truthy(all[2]:find("/proc/interrupts: ", 1, true))
    assert.is_truthy(all[3]:find("/proc/meminfo: ", 1, true))
    assert.is_truthy(l[1].error["unix:0:meminfo"]:find("/proc/meminfo: ", 1, true))
    assert.equal("872002599946", l[1].stat["link:0:eth0:ipackets64"])
  end)

  -- The warnings of a tree that a shell command changed, without the directory, sorted.
  local function warnings_after(command, prefix)
    L.sh("cd " .. dir .. " && " .. command)
    local d = L.dump(dir .. "/proc", dir .. "/sys", prefix)
    for i, warning in ipairs(d.warnings) do
      d.warnings[i] = warning:gsub(dir .. "/", "", 1)
    end
    table.sort(d.warnings)
    return d.warnings, d
  end

  it("are named under spl/kstat as elsewhere", function()
    local warnings, d = warnings_after("cd proc/spl/kstat/zfs && rm arcstats tank/io && mkdir arcstats && " ..
      "ln -s io tank/io")
    assert.same({ "cannot read proc/spl/kstat/zfs/arcstats: Is a directory",
      "cannot read proc/spl/kstat/zfs/tank/io: Too many levels of symbolic links" }, warnings)
    assert.equal("ONLINE", d.stat["zfs/tank:0:state:state"])
    assert.is_nil(d.kstat["zfs:0:tank"])
  end)

  it("are told once, and have their kstats when they can be read", function()
    local file = dir .. "/proc/spl/kstat/zfs/tank/io"
    L.sh(("mv %s %s.x && ln -s io %s"):format(file, dir, file))
    local l = L.dumps(dir .. "/proc", dir .. "/sys", "true", ("rm %s && mv %s.x %s"):format(file, dir, file))
    assert.equal(1, #l[1].warnings)
    assert.is_nil(l[1].kstat["zfs:0:tank"])
    assert.same({}, l[2].warnings)
    assert.same({}, l[3].warnings)
    assert.is_not_nil(l[3].stat["zfs:0:tank:reads"])
  end)

  it("are named too if they are directories", function()
    for _, path in ipairs({ "proc/spl/kstat", "sys/class/hwmon", "sys/block", "sys/fs/cgroup", "sys/class/net" }) do
      local command = "rm -rf %s && ln -s $(basename %s) %s"
      assert.same({ "cannot read " .. path .. ": Too many levels of symbolic links" },
        (warnings_after(command:format(path, path, path))), path)
      L.remove(dir)
      dir = L.copy()
    end
  end)

  it("are named for want of permission, unless they are root's by design", function()
    local quiet = "cd proc/spl/kstat/zfs && printf 'timestamp message\\n1 x\\n' >dbgmsg && chmod 0600 dbgmsg && "
    local warnings, d = warnings_after(quiet .. "chmod 0 arcstats tank ../../../sys/kernel/threads-max",
      L.as_nobody(dir))
    L.sh("chmod 755 " .. dir .. "/proc/spl/kstat/zfs/tank")
    local why = ": Permission denied (run as root, or ask for read permission)"
    assert.same({ "cannot read proc/spl/kstat/zfs/arcstats" .. why, "cannot read proc/spl/kstat/zfs/tank" .. why,
      "cannot read proc/sys/kernel/threads-max" .. why }, warnings)
    assert.is_not_nil(d.kstat["sd:0:sda"])
  end)

  it("make opening fail if one of the roots is not there, or no directory", function()
    for _, roots in ipairs({ { "/nothing", "/sys" }, { "/proc", "/nothing" }, { "/proc/stat", "/sys" },
      { "/proc", "/proc/stat" } }) do
      local l = L.dumps(dir .. roots[1], dir .. roots[2])
      assert.equal(1, l.status)
      local wrong = dir .. (roots[1] == "/proc" and roots[2] or roots[1])
      assert.is_truthy(l[1].failed:find("cannot open " .. wrong .. ": ", 1, true), l[1].failed)
    end
    L.sh("mkdir " .. dir .. "/empty")
    local l = L.dumps(dir .. "/proc", dir .. "/empty")
    assert.equal(0, l.status)
    assert.equal("100", l[1].stat["sd:0:sda:reads"])
    assert.same({}, l[1].warnings)
  end)

  it("without an end are given up, and named in one line", function()
    for _, file in ipairs({ "net/dev", "meminfo", "spl/kstat/zfs/arcstats" }) do
      L.sh(("ln -sf /dev/zero %s/proc/%s"):format(dir, file))
    end
    local d = L.dump(dir .. "/proc", dir .. "/sys")
    table.sort(d.warnings)
    assert.equal(3, #d.warnings, table.concat(d.warnings, "\n"))
    for i, file in ipairs({ "meminfo", "net/dev", "spl/kstat/zfs/arcstats" }) do
      assert.is_truthy(d.warnings[i]:find(("cannot read %s/proc/%s: File too large"):format(dir, file), 1, true),
        d.warnings[i])
    end
    assert.is_nil(d.kstat["link:0:eth0"])
    assert.equal("100", d.stat["sd:0:sda:reads"])
  end)
end)

describe("malformed files", function()
  it("are read as far as they go", function()
    local dir = L.copy()
    L.write(dir .. "/proc/diskstats", " 8 0 sda 1 2 3\n 8\n 8 16\n\n 8 32 sdc 99999999999999999999 1\n" ..
      " 8 48 sdd 5 0 18446744073709551615 18446744073709551615 0 0 0 0 0 18446744073709551615 1 1")
    L.write(dir .. "/proc/stat", "cpu0 1 2\ncpu1\ncpu99999999999999999999 1 2 3 4\ncpu")
    L.write(dir .. "/proc/net/dev", "eth0:1 2\n:5 6\n../x: 1 2 3\nx")
    L.write(dir .. "/proc/loadavg", "9999999999999999999999 ")
    local d = L.dump(dir .. "/proc", dir .. "/sys")
    assert.equal("1", d.stat["sd:0:sda:reads"])
    assert.equal("0", d.stat["sd:0:sda:writes"])
    assert.equal("9223372036854775807", d.stat["sd:3:sdd:rtime"])
    assert.is_nil(d.stat["cpu:0:sys:cpu_ticks_idle"])
    assert.equal("2", d.stat["link:0:eth0:ipackets64"])
    assert.is_nil(d.stat["link:0:eth0:opackets64"])
    assert.is_nil(d.stat["unix:0:system_misc:avenrun_1min"])
    L.remove(dir)
  end)

  -- What a tree tells of files that have a line in them, before the last of theirs.
  local function told(lines)
    local dir = L.copy()
    for file, line in pairs(lines) do
      local text = L.read(dir .. "/proc/" .. file)
      local last = #text:match("[^\n]*\n?$")
      if last == 0 then
        last = #text:match("[^\n]*\n$")
      end
      L.write(dir .. "/proc/" .. file, text:sub(1, -last - 1) .. line .. "\n" .. text:sub(-last))
    end
    local d = L.dump(dir .. "/proc", dir .. "/sys")
    L.remove(dir)
    table.sort(d.warnings)
    for i, warning in ipairs(d.warnings) do
      d.warnings[i] = warning:sub(#dir + 2)
    end
    return d
  end

  it("are named with the first line that means nothing, and the rest is there", function()
    local whole = L.dump_tree("small")
    local again = L.dump_tree("small")
    assert.same({}, whole.warnings)
    local files = { "net/dev", "slabinfo", "diskstats", "interrupts", "softirqs", "stat", "meminfo", "vmstat",
      "net/snmp", "net/netstat", "pressure/cpu" }
    table.sort(files)
    for _, line in ipairs({ "\127\1\255 \200\n\3 garbage", "garbage" }) do
      local lines = {}
      for _, file in ipairs(files) do
        lines[file] = line
      end
      local d = told(lines)
      assert.equal(#files, #d.warnings, table.concat(d.warnings, "\n"))
      for i, file in ipairs(files) do
        local where, number = d.warnings[i]:match("^proc/(.-): line (%d+) cannot be understood and is left out, ")
        assert.equal(file, where)
        local _, count = L.read(run.tree("small") .. "/proc/" .. file):gsub("\n", "")
        assert.equal(count, tonumber(number), file)
      end
      local same = 0
      for name, value in pairs(whole.stat) do
        if again.stat[name] == value and not name:find("^cgroup[_%l]*:") then -- no time of reading, no inode
          assert.equal(value, d.stat[name], name)
          same = same + 1
        end
      end
      assert.is_true(same > 500)
    end
  end)

  it("of no unit are not listed", function()
    local d = told({ ["net/dev"] = "\1\2:\3", slabinfo = "dentry", diskstats = "8 999 sdxx" })
    assert.equal(3, #d.warnings)
    assert.is_nil(d.kstat["link:0:\1\2"])
    assert.is_nil(d.kstat["sd:647:sdxx"])
  end)

  it("of OpenZFS, zoneinfo and mountinfo are named as well", function()
    local dir = L.copy()
    local zfs = dir .. "/proc/spl/kstat/zfs/"
    L.sh("mkdir " .. dir .. "/proc/self")
    L.write(dir .. "/proc/self/mountinfo", "36 35 8:1 / /mnt rw,noatime - ext3 /dev/sda1 rw\n\ngarbage\nmore\n")
    L.write(dir .. "/proc/zoneinfo", "Node 0, zone DMA\n  pagesets\n  min 5\n  low x\ngarbage\n")
    L.write(zfs .. "arcstats", L.read(zfs .. "arcstats") .. "huge 4 99999999999999999999\nwide 2 4294967296\n" ..
      "kind 9 1\nlast 4 77\n")
    L.write(zfs .. "noise", "\1\200\255x\nabc 4 1\n")
    L.write(zfs .. "short", "6 1 0x01\nname type data\nabc 4 1\n")
    L.write(zfs .. "txgs", "txg birth state\n1 2 O\n")
    L.write(zfs .. "guid", "1234567\n")
    L.write(zfs .. "tank/state", "ONL\1NE\n")
    local io = L.read(zfs .. "tank/io")
    L.write(zfs .. "tank/io", (io:gsub("[^\n]*\n$", "1 2 3 4 99999999999999999999 6 7 8 9 10 11 12\n")))
    local d = L.dump(dir .. "/proc", dir .. "/sys")
    table.sort(d.warnings)
    local where = {}
    for i, warning in ipairs(d.warnings) do
      where[i] = warning:sub(#dir + 2):gsub(" cannot be understood and is left out, as others like it$", "")
    end
    local _, lines = L.read(run.tree("small") .. "/proc/spl/kstat/zfs/arcstats"):gsub("\n", "")
    assert.same({ "proc/self/mountinfo: line 3", "proc/spl/kstat/zfs/arcstats: line " .. lines + 1,
      "proc/spl/kstat/zfs/noise: line 1", "proc/spl/kstat/zfs/short: line 1", "proc/spl/kstat/zfs/tank/io: line 3",
      "proc/spl/kstat/zfs/tank/state: line 1", "proc/zoneinfo: line 4" }, where)
    assert.equal("77", d.stat["zfs:0:arcstats:last"])
    assert.equal("8772612", d.stat["zfs:0:arcstats:hits"])
    assert.is_nil(d.stat["zfs:0:arcstats:wide"])
    assert.equal("/mnt", d.stat["sd:0:sda1,dev:mount_point"])
    assert.equal("5", d.stat["unix:0:system_pages:minfree"])
    L.remove(dir)
  end)

  it("of one line are named too", function()
    local dir = L.copy()
    L.write(dir .. "/proc/loadavg", "1.5 x\n")
    L.write(dir .. "/proc/uptime", "up\n")
    local d = L.dump(dir .. "/proc", dir .. "/sys")
    table.sort(d.warnings)
    assert.equal(2, #d.warnings)
    assert.matches("/proc/loadavg: line 1 cannot be understood", d.warnings[1], 1, true)
    assert.matches("/proc/uptime: line 1 cannot be understood", d.warnings[2], 1, true)
    L.remove(dir)
  end)

  it("never bring the source down", function()
    local files = { "stat", "interrupts", "softirqs", "schedstat", "cpuinfo", "loadavg", "uptime",
      "meminfo", "vmstat", "zoneinfo", "diskstats", "net/dev", "pressure/cpu", "pressure/io",
      "net/snmp", "net/netstat", "slabinfo", "spl/kstat/zfs/arcstats", "spl/kstat/zfs/tank/io",
      "spl/kstat/zfs/tank/state" }
    local seed = 12345
    local function random(n)
      seed = (seed * 1103515245 + 12345) % 2147483648
      return math.floor(seed / 65536) % n
    end
    local mutate = {
      function(s) return s:sub(1, random(#s + 1)) end,
      function(s) return (s:gsub("%d+", function() return random(3) == 0 and "18446744073709551616" or nil end)) end,
      function(s) return (s:gsub("\n", function() return random(2) == 0 and "" or nil end)) end,
      function(s) return (s:gsub(" ", function() return random(20) == 0 and "\0" or nil end)) end,
      function(s) return (s:gsub(".", function() return random(50) == 0 and string.char(random(256)) or nil end)) end,
      function(s) return (s:gsub("%d", function() return random(10) == 0 and "-" or nil end)) end,
      function(s) return s .. s end,
      function() return "" end,
      function(s) return s:rep(3):gsub("[ \t]+", string.rep(" ", 300)) end,
      function(s) return (s:gsub(":", function() return random(2) == 0 and "" or "::" end)) end,
    }
    local dir = L.copy()
    local runs = 0
    for round = 1, 3 do
      for m = 1, #mutate do
        for _, file in ipairs(files) do
          L.write(dir .. "/proc/" .. file, (mutate[m](L.read(run.tree("small") .. "/proc/" .. file))))
        end
        local list = L.dumps(dir .. "/proc", dir .. "/sys", "true")
        assert.equal(0, list.status, ("mutation %d, round %d"):format(m, round))
        assert.is_not_nil(list[1].kstat["unix:0:kstat_types"])
        runs = runs + 1
      end
    end
    L.remove(dir)
    assert.equal(30, runs)
  end)
end)

describe("empty trees", function()
  it("have no statistic that is made up", function()
    local dir = L.copy()
    L.sh(("rm -r %s/proc/* %s/sys/*"):format(dir, dir))
    local d = L.dump(dir .. "/proc", dir .. "/sys")
    local names = {}
    for name in pairs(d.stat) do
      if not name:match("^unix:0:kstat_types:") then
        names[#names + 1] = name
      end
    end
    assert.same({ "unix:0:system_misc:nsec_per_tick" }, names)
    L.remove(dir)
  end)
end)
