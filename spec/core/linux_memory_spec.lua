-- Memory of Linux by node and zone, swap space, huge pages, same pages, and the kernel's tables.
local L = require("support.linux")
local kstat = require("kstat")
local run = require("support.run")

local TREE = run.tree("hardware")

-- Runs a function with the directory of a copy of the tree.
local function with_copy(f)
  local dir = L.copy(TREE)
  local ok, err = pcall(f, dir)
  L.remove(dir)
  assert(ok, err)
end

describe("memory and tables", function()
  local d

  setup(function()
    d = L.dump(TREE .. "/proc", TREE .. "/sys")
  end)

  local function same(...) L.same(d, ...) end

  it("are read without an error", function()
    assert.same({}, d.error)
    assert.same({}, d.warnings)
    assert.same({}, d.twice)
  end)

  it("show NUMA nodes as illumos shows locality groups", function()
    same("lgrp:0:lgrp0", { cpus = "5", ["pages free"] = "150000", ["pages installed"] = "500000",
      ["alloc fail"] = "6", numa_hit = "1000", numa_miss = "5", other_node = "105" })
    assert.equal("misc", d.kstat["lgrp:0:lgrp0"].class)
    same("lgrp:1:lgrp1", { cpus = "0", ["pages free"] = "100000" })
    assert.is_nil(d.stat["lgrp:1:lgrp1:numa_hit"], "a node without the file has no counts")
  end)

  it("show what the kernel says of each node, with its own names", function()
    same("lgrp:0:meminfo", { MemTotal = "2048000000", MemUsed = "1433600000", ["Active(anon)"] = "4194304",
      FilePages = "2097152", HugePages_Total = "3" })
    same("lgrp:0:vm_events", { nr_free_pages = "150000", numa_hit = "1000" })
    assert.is_nil(d.kstat["lgrp:1:vm_events"])
    assert.equal("memory of the node that is not free", d.meta["lgrp:0:meminfo:MemUsed"].desc)
  end)

  it("show zones and their free blocks", function()
    same("zone:0:DMA", { free = "2949", min = "8", low = "11", high = "14", spanned = "4095", managed = "3973",
      nr_free_pages = "2949", numa_hit = "7", protection_0 = "0", protection_3 = "31932" })
    same("zone:1:Normal", { free = "60", min = "1" })
    assert.is_nil(d.stat["zone:0:DMA:nr_inactive_anon"], "what the node counts is not its first zone's")
    assert.is_nil(d.stat["zone:1:Normal:high"])
    same("zone:0:Normal,free", { order_0 = "4381", order_1 = "1093", order_2 = "185" })
    assert.is_nil(d.stat["zone:0:Normal,free:order_3"])
    same("zone:1:Normal,free", { order_2 = "30" })
  end)

  it("show the keys of each user and how many he may have", function()
    same("keys:0:1000", { keys = "190", keys_max = "200", bytes = "3900", bytes_max = "20000" })
    same("keys:0:0", { keys = "3", keys_max = "1000000", bytes = "40", bytes_max = "25000000" })
  end)

  it("show swap space", function()
    same("swap:0:/dev/dm-1", { path = "/dev/dm-1", type = "partition", size = "2147479552", used = "1048576",
      priority = "-2" })
    same("swap:0:/swap\\040file", { path = "/swap\\040file", type = "file", used = "0", priority = "10" })
  end)

  it("show huge pages and same pages", function()
    same("hugepages:0:hugepages-2048kB", { total = "3", free = "1", reserved = "2" })
    same("lgrp:0:hugepages-2048kB", { total = "3", free = "1" })
    same("unix:0:ksm", { run = "1", pages_sharing = "255", full_scans = "323", general_profit = "-1044480" })
  end)

  it("show how full the kernel's tables are", function()
    same("unix:0:tables", { files = "1024", files_max = "1631329", inodes = "5000", inodes_free = "120",
      dentries = "9000", dentries_unused = "800", dentries_negative = "70", threads = "345", threads_running = "5",
      threads_max = "7801",
      pid_max = "32768", ptys = "2", ptys_max = "4096", aio_requests = "3" })
    same("unix:0:entropy", { available = "256", poolsize = "256" })
    assert.equal("tsc", d.stat["unix:0:clock:source"])
    assert.is_nil(d.stat["unix:0:clock:offset"], "a recorded tree has no clock")
  end)

  it("leave out what is missing, and name what cannot be understood", function()
    with_copy(function(dir)
      L.write(dir .. "/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition many 0 -2\nnonsense\n")
      L.write(dir .. "/proc/buddyinfo", "Node 0, zone DMA 1 2 x\nNode 99999999999999999999, zone DMA 1\n")
      L.write(dir .. "/proc/zoneinfo", "Node 0, zone DMA\n  pages free 5\n  min x\n  low 99999999999999999999\n")
      L.write(dir .. "/sys/devices/system/node/node0/numastat", "numa_hit\nnuma_miss 5\n")
      L.write(dir .. "/sys/devices/system/node/node0/cpulist", "3-1\n")
      L.write(dir .. "/sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:\nNode x\n")
      L.write(dir .. "/proc/sys/fs/file-nr", "-1 0 x\n")
      L.write(dir .. "/proc/loadavg", "garbage")
      local g = L.dump(dir .. "/proc", dir .. "/sys")
      assert.same({}, g.error)
      assert.is_nil(g.stat["swap:0:/dev/sda2:size"])
      assert.equal("2", g.stat["zone:0:DMA,free:order_1"])
      assert.equal("5", g.stat["zone:0:DMA:free"])
      assert.is_nil(g.stat["zone:0:DMA:low"])
      assert.equal("5", g.stat["lgrp:0:lgrp0:numa_miss"])
      assert.is_nil(g.stat["lgrp:0:lgrp0:cpus"])
      assert.is_nil(g.stat["lgrp:1:lgrp1:pages free"])
      assert.is_nil(g.stat["unix:0:tables:files"])
      assert.is_nil(g.stat["unix:0:tables:threads"])
      local named = table.concat(g.warnings, "\n")
      for _, file in ipairs({ "swaps", "buddyinfo", "zoneinfo", "node0/numastat", "node0/cpulist", "node1/meminfo" }) do
        assert.truthy(named:find(file, 1, true), file .. " is named")
      end
    end)
  end)

  it("follow nodes and swap spaces that come and go", function()
    with_copy(function(dir)
      local list = L.dumps(dir .. "/proc", dir .. "/sys",
        "rm -r " .. dir .. "/sys/devices/system/node/node1; sed -i 2d " .. dir .. "/proc/swaps",
        "read:rm " .. dir .. "/sys/devices/system/node/node0/meminfo")
      assert.is_not_nil(list[1].kstat["lgrp:1:lgrp1"])
      assert.is_nil(list[2].kstat["lgrp:1:lgrp1"])
      assert.is_nil(list[2].kstat["swap:0:/dev/dm-1"])
      assert.is_not_nil(list[2].kstat["swap:0:/swap\\040file"])
      assert.matches("gone", list[3].error["lgrp:0:meminfo"])
    end)
  end)
end)

describe("a large machine", function()
  it("has all its nodes, zones, CPUs and disks", function()
    require("support.large_tree").with(nil, function(dir)
      local d = L.dump(dir .. "/proc", dir .. "/sys")
      assert.same({}, d.error)
      assert.same({}, d.warnings)
      assert.same({}, d.twice)
      for node = 0, 3 do
        local id = ("lgrp:%d:lgrp%d:"):format(node, node)
        assert.equal("32", d.stat[id .. "cpus"])
        assert.equal(tostring(60000 * (node + 1)), d.stat[id .. "pages free"])
        assert.equal(tostring(60000 * (node + 1)), d.stat[("zone:%d:Normal:free"):format(node)])
        assert.equal(tostring(11 * (node + 1)), d.stat[("zone:%d:Normal,free:order_0"):format(node)])
      end
      assert.equal("320", d.stat["sd:63:sdbl:writes"])
      assert.equal("256", d.stat["sd:63:sdbl,queue:nr_requests"])
      assert.equal("63", d.stat["sderr:63:sdbl,err:Hard Errors"])
      assert.is_not_nil(d.kstat["cpu:127:sys"])
      assert.is_nil(d.kstat["cpu:128:sys"])
    end)
  end)
end)

describe("on this machine, memory and tables", function()
  local function number_in(path, pattern)
    local f = io.open(path, "r")
    local text = f and f:read("*a") or ""
    if f then
      f:close()
    end
    return tonumber(text:match(pattern))
  end

  it("are those of its files", function()
    local ks = assert(kstat.open())
    local tables = ks:lookup("unix", 0, "tables"):read()
    assert.equal(number_in("/proc/sys/kernel/pid_max", "%d+"), tables:get("pid_max"))
    assert.equal(number_in("/proc/sys/fs/file-nr", "%d+%s+%d+%s+(%d+)"), tables:get("files_max"))
    assert.is_true(tables:get("threads") > 0 and tables:get("files") > 0)
    local clock = ks:lookup("unix", 0, "clock")
    if clock and clock:read():get("tick") then
      assert.is_true(clock:get("tick") >= 9000 and clock:get("tick") <= 11000)
    end
    local node = ks:lookup("lgrp", 0, "meminfo")
    if node then
      local kib = number_in("/sys/devices/system/node/node0/meminfo", "MemTotal:%s+(%d+)")
      assert.equal(kib * 1024, node:read():get("MemTotal"))
    end
    ks:close()
  end)

  it("have zones only if they are wanted", function()
    local function zones(arguments)
      local r = run.run(arguments)
      assert.equal("", r.err)
      return ("\n" .. r.out):find("\nzone:%d+:%w+:") ~= nil
    end
    assert.is_false(zones({ "kstat", "-l" }))
    assert.is_true(zones({ env = { KSTAT_WITH = "zone" }, "kstat", "-l" }))
    assert.is_true(zones({ "kstat", "-l", "zone:::" }))
  end)
end)
