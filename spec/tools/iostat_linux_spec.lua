-- The iostat command on Linux: recorded trees, and this machine.
local run = require("support.run")

-- The small tree with what the inventory of disks is made of.
local function make_tree()
  local root = run.directory()
  local function file(path, text)
    run.shell("mkdir -p $(dirname " .. run.quote(root .. "/" .. path) .. ")")
    run.write_file(root .. "/" .. path, text)
  end
  run.shell("cp -r " .. run.tree("small") .. "/* " .. root)
  local way = root .. "/sys/devices/pci/ata1/host2/target2:0:0/2:0:0:0/block"
  run.shell(("mkdir -p '%s' && mv %s/sys/block/sda '%s/sda' && ln -s '%s/sda' %s/sys/block/sda"):format(way, root, way,
    way, root))
  file("proc/self/mountinfo", "25 1 8:1 /sub /bind rw - ext4 /dev/sda1 rw\n" ..
    "26 1 8:1 / /export/with\\040blank rw,noatime shared:1 master:2 - ext4 /dev/root rw\n" ..
    "27 1 0:44 /@home /home rw - btrfs /dev/mapper/vg-home rw\n" ..
    "28 1 0:45 / /proc rw - proc proc rw\nnonsense\n29 1 8:16 / /cut\n")
  file("sys/class/block/sda1/dev", "8:1\n")
  file("sys/class/block/sdb/dev", "8:16\n")
  file("sys/block/dm-3/dm/name", "vg-home\n")
  file("sys/block/sda/device/wwid", "naa.5000c500a1b2c3d4\n")
  return root
end

describe("iostat on Linux", function()
  local tree
  setup(function() tree = make_tree() end)
  teardown(function() run.remove_directory(tree) end)

  local function iostat(...)
    local command = { "kstatlua", "iostat", ... }
    command.env = { KSTAT_PROC = tree .. "/proc", KSTAT_SYS = tree .. "/sys" }
    return run.run(command)
  end

  -- The line that ends with a device.
  local function line_of(text, device)
    for line in text:gmatch("[^\n]+") do
      if line:sub(-#device - 1) == " " .. device then return line end
    end
    return nil
  end

  it("shows every disk, by driver and number", function()
    local got = iostat("-x")
    local names = {}
    for name in got.out:gmatch("\n(%S+)%s+%d") do names[#names + 1] = name end
    assert.are.same({ "cciss/c0d1", "dm-3", "loop0", "mmcblk1", "nvme0n1", "sda", "sdb", "sdaa",
      "tank" }, names)
    assert.are.equal("", got.err)
  end)

  it("shows no control character of the names of the machine", function()
    local dir = run.directory()
    run.shell("cp -r " .. run.tree("small") .. "/* " .. dir)
    local names, disks = { "s\27[1md", "s\155md", "sd\226\128\174x", "s\1z", "s\2z" }, {}
    for i, name in ipairs(names) do
      disks[i] = ("8 %d %s 40 0 80 10 20 0 160 20 0 30 30\n"):format(16 * i, name)
    end
    run.write_file(dir .. "/proc/diskstats", table.concat(disks))
    run.shell("mkdir " .. run.quote(dir .. "/sys/fs/cgroup/e\27[31mvil"))
    local function output(...)
      local got = run.run({ env = { KSTAT_PROC = dir .. "/proc", KSTAT_SYS = dir .. "/sys" }, ... })
      assert.falsy(got.out:find("[\1-\8\11-\31\127-\255]"), got.out)
      return got.out
    end
    local shown = output("kstatlua", "iostat", "-x")
    for _, name in ipairs({ "s?[1md", "s?md", "sd???x", "s?z", "s?z~" }) do
      assert.truthy(shown:find(name, 1, true), name .. " in " .. shown)
    end
    assert.truthy(output("kstat", "-p", "-m", "cgroup"):find(":e?[31mvil:path\t/e?[31mvil\n", 1, true))
    output("kstat", "-p", "-c", "disk")
    run.remove_directory(dir)
  end)

  it("goes on with the interval of the disks that stay when one comes or goes", function()
    local dir = run.directory()
    run.shell("cp -r " .. run.tree("small") .. "/* " .. dir)
    local file = dir .. "/proc/diskstats"
    run.write_file(file, "8 0 sda 1000000 0 80 10 20 0 160 20 0 30 30\n")
    run.write_file(dir .. "/iostat.lua", ([[
      local function write(text) local f = assert(io.open(%q, "w")); f:write(text); f:close() end
      local core = require("kstat.core")
      local wait, n = core.wait, 0
      core.wait = function(...)
        n = n + 1
        write("8 0 sda 1000000 0 80 10 20 0 160 20 0 30 30\n" ..
          (n == 1 and "7 5 loop5 50 0 80 10 20 0 160 20 0 30 30\n" or ""))
        return wait(...)
      end
      arg = { [0] = "iostat", "-x", "0.2", "3" }
      return dofile("scripts/iostat.lua")
    ]]):format(file))
    local got = run.run({ "kstatlua", dir .. "/iostat.lua", env = { KSTAT_PROC = dir .. "/proc",
      KSTAT_SYS = dir .. "/sys" } })
    run.remove_directory(dir)
    assert.truthy(got.out:find("<<disk added: loop5>>\n", 1, true), got.out .. got.err)
    assert.truthy(got.out:find("<<disk removed: loop5>>\n", 1, true))
    local _, _, second = got.out:find("<<disk added.-\nsda%s+(%S+)")
    local _, _, third = got.out:find("<<disk removed.-\nsda%s+(%S+)")
    assert.same({ "0.0", "0.0" }, { second, third })
    assert.is_true(tonumber(got.out:match("\nloop5%s+(%S+)")) > 100)
  end)

  it("shows partitions behind their disks", function()
    local names = {}
    for name in iostat("-xp").out:gmatch("\n(%S+)%s+%d") do names[#names + 1] = name end
    assert.are.same({ "cciss/c0d1", "dm-3", "loop0", "mmcblk1", "mmcblk1p1", "nvme0n1", "nvme0n1p1", "sda", "sda1",
      "sdb", "sdb1", "sdaa", "tank" }, names)
  end)

  it("has no figures for a queue that Linux does not count", function()
    local line = line_of(iostat("-xn").out, "sda")
    local fields = {}
    for field in line:gmatch("%S+") do fields[#fields + 1] = field end
    assert.are.equal(11, #fields)
    for i, field in ipairs(fields) do
      assert.are.equal(i == 5 or i == 7 or i == 9, field == "-", "column " .. i)
    end
    assert.are.equal("0.7", fields[8]) -- 50 + 150 ms by 300 operations
  end)

  it("has device mapper's names, and takes them as operands", function()
    local got = iostat("-xn", "vg-home")
    assert.truthy(line_of(got.out, "vg-home"))
    assert.falsy(line_of(got.out, "sda"))
  end)

  it("has mount points of disks and partitions", function()
    local got = iostat("-xnpm")
    assert.truthy(line_of(got.out, "sda1 (/export/with blank)"))
    assert.truthy(line_of(got.out, "vg-home (/home)"))
    assert.truthy(line_of(got.out, "sdb")) -- its line is cut off
    assert.truthy(line_of(got.out, "nvme0n1p1"))
  end)

  it("adds up the disks of a SCSI host", function()
    local got = iostat("-xC")
    assert.truthy(got.out:find("\nhost2 "))
    assert.are.equal(got.out:match("\nhost2%s+([^\n]*)"), got.out:match("\nsda%s+([^\n]*)"))
  end)

  it("says of errors what the SCSI layer counts, and no more", function()
    local got = iostat("-Ei", "sda")
    local text = got.out:match("sda .*")
    assert.truthy(text:find("^sda       Soft Errors: %- Hard Errors: %d+ Transport Errors: %- \n"))
    assert.truthy(text:find("Device Id: naa.5000c500a1b2c3d4 ", 1, true))
    assert.truthy(text:find("\nSize: %d+%.%d%dGB <%d+ bytes>\n"))
    got = iostat("-e")
    assert.truthy(got.out:find("\nsda +%- +%d+ +%- +%d+ \n"))
    assert.truthy(got.out:find("\nsdb +%- +%- +%- +%- \n"))
  end)

  it("has CPU times, and no characters of terminals", function()
    local got = iostat("-tc")
    assert.are.equal("   tty         cpu\n tin tout  us sy dt id\n   -    -  24  6  - 70\n", got.out)
    assert.are.equal("tty,cpu\ntin,tout,us,sy,dt,id\n-,-,24,6,-,70\n", iostat("-tcr").out)
  end)

  it("passes over loops in the short form", function()
    local got = iostat("-d", "-l", "20")
    assert.truthy(got.out:find("loop0", 1, true))
    got = iostat("-d")
    assert.falsy(got.out:find("loop0", 1, true))
    assert.truthy(iostat("-d", "loop0").out:find("loop0", 1, true))
  end)

  it("does without any disk", function()
    local empty = run.directory()
    run.shell("mkdir -p " .. empty .. "/proc " .. empty .. "/sys")
    local env = { KSTAT_PROC = empty .. "/proc", KSTAT_SYS = empty .. "/sys" }
    for option, lines in pairs({ ["-x"] = 2, ["-xn"] = 2, ["-d"] = 3, ["-xtc"] = 3, ["-E"] = 0, ["-xz"] = 2 }) do
      local got = run.run({ "kstatlua", "iostat", option, env = env })
      assert.are.equal(0, got.status, option)
      assert.are.equal(lines, select(2, got.out:gsub("\n", "")), option .. "\n" .. got.out)
    end
    run.remove_directory(empty)
  end)

  it("reports this machine for two intervals", function()
    for _, options in ipairs({ "-x", "-xnz", "-d", "-D", "-tc", "-xtc", "-E", "-e", "-xnpmCe", "-I", "-xr", "-Y" }) do
      local got = run.run({ "kstatlua", "iostat", options, "0.02", "3" })
      assert.are.equal("", got.err, options)
      assert.are.equal(0, got.status, options)
      assert.falsy(got.out:find("nan", 1, true), options)
      assert.falsy(got.out:find("inf", 1, true), options)
      assert.truthy(options == "-E" or got.out:find("\n"), options)
    end
  end)

  it("leaves out the first report with -y", function()
    local count = select(2, run.run({ "kstatlua", "iostat", "-xy", "0.02", "3" }).out:gsub("extended", ""))
    assert.are.equal(2, count)
    count = select(2, run.run({ "kstatlua", "iostat", "-xy" }).out:gsub("extended", ""))
    assert.are.equal(1, count)
  end)

  it("explains itself, and what Linux lacks", function()
    local got = run.run({ "kstatlua", "iostat", "-h" })
    assert.are.equal(0, got.status)
    assert.truthy(got.out:find("usage: iostat", 1, true))
    assert.truthy(got.out:find("Linux does not count what is shown as `-`", 1, true))
    assert.are.equal(got.out, run.run({ "kstatlua", "iostat", "--help" }).out)
  end)

  it("ends quietly when its reader goes away", function()
    local got = run.shell(run.quote(run.bin .. "/kstatlua") .. " iostat -x 0.01 | head -1")
    assert.are.equal("", got.err)
  end)

  it("names a source that cannot be read", function()
    local got = run.run({ "kstatlua", "-r", "/nowhere/capture", "iostat", "-x" })
    assert.are.equal(3, got.status)
    assert.truthy(got.err:find("^iostat: [^\n]*/nowhere/capture[^\n]*\n$"))
  end)
end)
