-- Block devices of Linux on a tree with NVMe, device mapper, an array, zram and bcache.
local kstat = require("kstat")
local L = require("support.linux")
local run = require("support.run")

local TREE = run.tree("storage")

describe("block devices", function()
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

  it("are of the module that their name has before its number, whatever that name is", function()
    local dir, lines = L.copy(TREE), {}
    local names = { ["dm-3"] = "dm:3", ["x-4"] = "x:4", ["_5"] = "_:5", ["-_6"] = "-:6", ["md_d7"] = "md_d:7",
      ["7"] = "7:7", ["u"] = "u:0", ["z-99999999999"] = "z:0" }
    for name in pairs(names) do
      lines[#lines + 1] = (" 240 %d %s 5 1 16 2 3 1 8 1 0 3 3\n"):format(#lines, name)
    end
    L.write(dir .. "/proc/diskstats", table.concat(lines))
    local changed = L.dump(dir .. "/proc", dir .. "/sys")
    L.remove(dir)
    for name, id in pairs(names) do
      assert.truthy(changed.kstat[id .. ":" .. name], name)
    end
  end)

  it("show what is in flight, and how their queue is set", function()
    same("nvme:0:nvme0n1,queue", { reads_in_flight = "1", writes_in_flight = "2", state = "live", scheduler = "none",
      nr_requests = "1023", write_cache = "write back", read_ahead = "128", max_sectors = "1280" })
    same("sd:0:sda,queue", { state = "running", scheduler = "bfq", nr_requests = "64" })
    assert.equal("1", d.stat["sd:0:sda,dev:rotational"])
    assert.equal("0", d.stat["nvme:0:nvme0n1,dev:rotational"])
    assert.equal("KiB", d.meta["nvme:0:nvme0n1,queue:read_ahead"].unit)
    assert.is_nil(d.kstat["nvme:0:nvme0n1p1,queue"], "a partition has no queue of its own")
    assert.is_nil(d.stat["sd:1:sdb,queue:nr_requests"], "what a device does not have is absent")
  end)

  it("have of the settings of their queue those that are asked for, and no more", function()
    local ks = assert(kstat.open({ proc = TREE .. "/proc", sys = TREE .. "/sys",
      only = { { class = "device_queue", reads = "scheduler" } } }))
    local k = ks:lookup("sd", 0, "sda,queue")
    assert.same({ "bfq", nil }, { k.scheduler, k.nr_requests })
    ks:close()
  end)

  it("have texts of files without the blanks around them", function()
    local dir = L.copy(TREE)
    L.write(dir .. "/sys/block/sda/device/state", "  run ning \t\n")
    local changed = L.dump(dir .. "/proc", dir .. "/sys")
    L.remove(dir)
    assert.equal("run ning", changed.stat["sd:0:sda,queue:state"])
  end)

  it("have of a serial number that is cut off what is there", function()
    local dir = L.copy(TREE)
    L.sh("mkdir -p " .. dir .. "/sys/block/sda/device")
    run.write_file(dir .. "/sys/block/sda/device/vpd_pg80", "\0\128\0\20  ABC123")
    local cut = L.dump(dir .. "/proc", dir .. "/sys")
    L.remove(dir)
    assert.equal("ABC123", cut.stat["sderr:0:sda,err:Serial No"])
  end)

  it("have the state of an array and of its disks", function()
    same("md:127:md127,array", { state = "active", level = "raid5", raid_disks = "4", degraded = "1",
      disks_in_sync = "3", disks_faulty = "1", disks_spare = "1", sync_action = "recover", sync_done = "1048576",
      sync_total = "4194304", sync_speed = "114176", mismatches = "8", chunk_size = "524288" })
    assert.equal("KiB/s", d.meta["md:127:md127,array:sync_speed"].unit)
  end)

  it("have the sums of /proc/mdstat", function()
    same("md:127:md127,status", { state = "active", level = "raid5", disks_required = "4", disks_active = "3",
      disks_failed = "1", disks_spare = "1", blocks = "6291456", sync = "recovery", sync_done = "524288",
      sync_speed = "114176" })
    same("md:1:md1,status", { level = "raid1", disks_active = "2", sync = "resync", activity = "resync",
      blocks_synced = "0" })
    assert.is_nil(d.stat["md:1:md1,status:sync_done"])
    same("md:2:md2,status", { state = "inactive", disks_active = "0", disks_spare = "2" })
    assert.is_nil(d.stat["md:2:md2,status:level"])
    assert.is_nil(d.stat["md:2:md2,status:disks_required"])
    same("md:10:md10,status", { disks_required = "2", disks_active = "2", blocks = "314159265" })
  end)

  it("have the names of maps, and the paths that failed", function()
    same("dm:0:dm-0,map", { name = "mpatha", devices = "2", devices_running = "1", devices_failed = "1",
      suspended = "0", size = "4194304" })
    same("dm:1:dm-1,map", { name = "vg0-root", devices = "1", devices_running = "0", devices_failed = "0",
      suspended = "1" })
  end)

  it("show what zram compressed", function()
    same("zram:0:zram0,memory", { orig_data_size = "1048576", compr_data_size = "262144", mem_used = "524288",
      mem_used_max = "786432", same_pages = "12", failed_writes = "2", comp_algorithm = "zstd" })
  end)

  it("show what bcache does, sizes in bytes", function()
    same("bcache:0:0a0b0c0d-0000-4000-8000-000000", { cache_available_percent = "97", btree_cache_size = "1572864",
      btree_nodes = "11" })
    same("bcache:0:bdev0,0a0b0c0d-0000-4000-8000-", { state = "dirty", cache_mode = "writeback", cache_hits = "546",
      dirty_data = "12288", bypassed = "2147483648", writeback_rate = "1048576", writeback_target = "22011707392" })
    same("bcache:0:cache0,0a0b0c0d-0000-4000-8000", { io_errors = "5", written = "3298534883328", unused = "99",
      metadata = "2" })
  end)

  it("have the state of NVMe controllers", function()
    same("nvme:0:nvme0,controller", { state = "live", model = "Fast SSD 2", transport = "pcie", cntlid = "5" })
    same("nvme:1:nvme1,controller", { state = "resetting" })
  end)

  it("come and go", function()
    local dir = L.copy(TREE)
    local list = L.dumps(dir .. "/proc", dir .. "/sys", "rm -r " .. dir .. "/sys/block/md127",
      "read:rm -r " .. dir .. "/sys/class/nvme/nvme1 " .. dir .. "/sys/block/dm-0/slaves",
      "mkdir " .. dir .. "/sys/class/nvme/nvme2; echo dead > " .. dir .. "/sys/class/nvme/nvme2/state")
    L.remove(dir)
    assert.is_nil(list[2].kstat["md:127:md127,array"])
    assert.matches("gone", list[3].error["nvme:1:nvme1,controller"])
    assert.is_nil(list[3].stat["dm:0:dm-0,map:devices"], "a directory that is not there counts nothing, not 0")
    assert.is_nil(list[4].kstat["nvme:1:nvme1,controller"])
    assert.equal("dead", list[4].stat["nvme:2:nvme2,controller:state"])
  end)
end)
