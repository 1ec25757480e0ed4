-- The disks of Linux as devstat sees them, from small trees in place of /proc and /sys.
local capture = require("support.capture")
local devstat = require("kstat.devstat")
local io_capture = require("support.io_capture")
local kstat = require("kstat")

local function run(command)
  assert(os.execute(command), command)
end

local function write(path, text)
  run("mkdir -p '" .. path:match("^(.*)/") .. "'")
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

describe("devstat on Linux", function()
  local root, chain

  -- Disks in the order of the kernel's file, and what /sys says of them.
  local DISKSTATS = [[
   7       0 loop0 1 0 8 0 0 0 0 0 0 0 0
   8       0 sda 100 10 800 50 200 20 1600 150 3 120 210 5 1 80 7 9 4
   8       1 sda1 60 6 480 30 150 15 1200 100 0 90 130
   8      16 sdb 1 0 8 1 0 0 0 0 0 1 1
  11       0 sr0 4 0 16 1 0 0 0 0 0 1 1
   2       0 fd0 4 0 16 1 0 0 0 0 0 1 1
   9     127 md127 4 0 16 1 0 0 0 0 0 1 1
 259       0 nvme0n1 5000000000 0 16000 250 3000 0 48000 750 1 800 1000
]]

  setup(function()
    root = os.tmpname()
    os.remove(root)
    local proc, sys = root .. "/proc", root .. "/sys"
    write(proc .. "/diskstats", DISKSTATS)
    local ata = sys .. "/devices/pci0000:00/ata3/host2/target2:0:0/2:0:0:0/block/sda"
    write(ata .. "/device/type", "0\n")
    write(ata .. "/device/vendor", "ATA     \n")
    write(ata .. "/queue/logical_block_size", "4096\n")
    write(ata .. "/queue/rotational", "1\n")
    run("mkdir -p " .. sys .. "/block")
    run("ln -s ../devices/pci0000:00/ata3/host2/target2:0:0/2:0:0:0/block/sda " .. sys .. "/block/sda")
    write(sys .. "/block/sdb/device/type", "0\n")
    write(sys .. "/block/sdb/device/vendor", "SEAGATE\n")
    write(sys .. "/block/sdb/queue/logical_block_size", "512\n")
    write(sys .. "/block/sr0/device/type", "5\n")
    write(sys .. "/block/sr0/removable", "1\n")
    write(sys .. "/block/fd0/device/media", "x\n")
    write(sys .. "/block/nvme0n1/device/model", "x\n")
    write(sys .. "/block/md127/md/level", "raid1\n")
    chain = assert(kstat.open({ proc = proc, sys = sys }))
  end)

  teardown(function()
    chain:close()
    run("rm -rf " .. root)
  end)

  local function find(name)
    local list = assert(devstat.open(chain))
    for _, d in ipairs(assert(list:read()).devices) do
      if d.name == name then return d end
    end
  end

  it("lists whole disks: arrays, disks, CDs, floppies, then what is no device of its own", function()
    local list = assert(devstat.open(chain))
    local names = {}
    for i, d in ipairs(list:read().devices) do names[i] = d.name end
    assert.are.same({ "md127", "sda", "sdb", "nvme0n1", "sr0", "fd0", "loop0" }, names)
  end)

  it("knows type, interface and block size from /sys", function()
    local function kind(name)
      local d = find(name)
      return { d.type, d.interface, d.block_size or 0, d.device_name, d.unit }
    end
    assert.are.same({ "da", "ide", 4096, "sd", 0 }, kind("sda"))
    assert.are.same({ "da", "scsi", 512, "sd", 1 }, kind("sdb"))
    assert.are.same({ "cd", "scsi", 0, "sr", 0 }, kind("sr0"))
    assert.are.same({ "floppy", "other", 0, "fd", 0 }, kind("fd0"))
    assert.are.same({ "da", "other", 0, "nvme0n", 1 }, kind("nvme0n1"))
  end)

  it("knows of a capture the kinds of disks by their names, numbers in digits or in letters", function()
    local kinds = { sd0 = "da scsi", sdab = "da scsi", vda = "da other", xvdb = "da other", nvme0n1 = "da other",
      ada1 = "da ide", sr0 = "cd scsi", cd1 = "cd scsi", cdrom = "da other", st0 = "sa scsi", fd0 = "floppy other",
      fda = "da other", mda = "da other", sdX = "da other", sd = "da other" }
    local list = {}
    for name in pairs(kinds) do
      list[#list + 1] = io_capture.kstat({ name = name, module = name:match("^%a+") }, 1000000000,
        { snaptime = 2000000000 })
    end
    local ks = assert(kstat.open({ capture = capture.file({ list }) }))
    for _, d in ipairs(assert(assert(devstat.open(ks)):read()).devices) do
      assert.equal(kinds[d.name], d.type .. " " .. d.interface, d.name)
      kinds[d.name] = nil
    end
    ks:close()
    capture.clean()
    assert.same({}, kinds)
  end)

  it("counts by kind: reads, writes, discards as free, flushes as other", function()
    local d = find("sda")
    assert.are.same({ 100, 200, 5, 9 }, { d.read_ops, d.write_ops, d.free_ops, d.other_ops })
    assert.are.same({ 800 * 512, 1600 * 512, 80 * 512 }, { d.read_bytes, d.write_bytes, d.free_bytes })
    assert.are.same({ 50000000, 150000000, 7000000, 4000000 },
      { d.read_time_ns, d.write_time_ns, d.free_time_ns, d.other_time_ns })
    assert.are.same({ 120000000, 3 }, { d.busy_time_ns, d.queue_length })
    local s = devstat.compute(d, nil, 10)
    assert.are.equal(211 / 314, s.ms_per_transaction)
  end)

  it("counts beyond 32 bits", function()
    assert.are.equal(5000000000, find("nvme0n1").read_ops)
  end)

  it("describes the device to everybody", function()
    local k = assert(chain:lookup("sr", 0, "sr0,dev"))
    assert.are.equal("device", k.class)
    assert.are.same({ "cd", "scsi", 1 }, { k:get("device_type"), k:get("interface"), k:get("removable") })
    assert.is_nil((k:get("block_size")))
  end)
end)
