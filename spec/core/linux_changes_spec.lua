-- The Linux source: what comes, goes and changes between two readings of a tree.
local L = require("support.linux")
local kstat = require("kstat")

describe("changes of the machine", function()
  local dir

  before_each(function()
    dir = L.copy()
  end)
  after_each(function()
    L.remove(dir)
  end)

  local function dumps(...)
    local list = L.dumps(dir .. "/proc", dir .. "/sys", ...)
    assert.equal(0, list.status)
    return list
  end

  it("are none where nothing changed", function()
    assert.equal(0, dumps("true")[2].kcid)
  end)

  it("show at the next reading, without a change of the chain", function()
    local l = dumps("sed -i 's/sda 100/sda 101/' " .. dir .. "/proc/diskstats")
    assert.equal(0, l[2].kcid)
    assert.equal("100", l[1].stat["sd:0:sda:reads"])
    assert.equal("101", l[2].stat["sd:0:sda:reads"])
  end)

  it("show at the next reading, whether the chain was updated or not", function()
    local l = dumps("read:sed -i 's/sda 100/sda 102/' " .. dir .. "/proc/diskstats",
      "read:sed -i 's/^cpu0 1000/cpu0 1001/' " .. dir .. "/proc/stat")
    assert.equal("102", l[2].stat["sd:0:sda:reads"])
    assert.equal("102", l[2].stat["sd:0:sda,detail:reads"])
    assert.equal("1010", l[2].stat["cpu_stat:0:cpu_stat0:user"])
    assert.equal("1011", l[3].stat["cpu_stat:0:cpu_stat0:user"])
  end)

  it("make kstats of what is gone unreadable until the next update", function()
    local l = dumps("read:sed -i '/nvme0n1p1/d; /^cpu1/d' " .. dir .. "/proc/diskstats " .. dir ..
      "/proc/stat; sed -i '/eth0/d' " .. dir .. "/proc/net/dev", "true")
    assert.is_not_nil(l[2].kstat["nvme:0:nvme0n1p1"])
    assert.equal("nvme0n1p1 is gone", l[2].error["nvme:0:nvme0n1p1"])
    assert.equal("eth0 is gone", l[2].error["link:0:eth0"])
    assert.is_truthy(l[2].error["cpu_stat:1:cpu_stat1"])
    assert.is_nil(l[2].error["cpu_stat:0:cpu_stat0"])
    assert.is_nil(l[3].kstat["nvme:0:nvme0n1p1"])
    assert.same({}, l[3].error)
  end)

  it("remove and add disks; a disk that came back is another one", function()
    local file = dir .. "/proc/diskstats"
    local l = dumps("cp " .. file .. " " .. dir .. "/save; sed -i '/nvme/d' " .. file,
      "cp " .. dir .. "/save " .. file)
    assert.is_nil(l[2].kstat["nvme:0:nvme0n1"])
    assert.is_nil(l[2].kstat["nvme:0:nvme0n1p1"])
    assert.is_not_nil(l[2].kstat["sd:0:sda"])
    assert.is_true(l[2].kcid > 0)
    assert.equal(0, l[1].kstat["nvme:0:nvme0n1"].crtime)
    assert.is_true(l[3].kstat["nvme:0:nvme0n1"].crtime > 0)
    assert.equal("1000", l[3].stat["nvme:0:nvme0n1:reads"])
    assert.equal(0, l[3].kstat["sd:0:sda"].crtime)
  end)

  it("give a disk that came the rates of the interval, not of the instant since it was found", function()
    local function wait(seconds)
      local start = kstat.hrtime()
      repeat until kstat.hrtime() > start + seconds
    end
    local ks = assert(kstat.open({ proc = dir .. "/proc", sys = dir .. "/sys" }))
    wait(0.3)
    local before = ks:sample("sd") -- some time after the chain was looked at
    wait(0.1)
    L.sh("echo ' 8 32 sdc 1000 2 3 4 5 6 7 8 9 10 11' >> " .. dir .. "/proc/diskstats")
    assert.is_true(ks:update() > 0)
    for _, d in ipairs({ ks:sample("sd") - before, ks:sample("sd"):since_creation() }) do
      local k = d:lookup("sd", 2, "sdc")
      assert.is_true(k.elapsed >= 0.05 and k:rate("reads") <= 1000 / 0.05)
      assert.is_true(require("kstat.io").rates(k).r_s <= 1000 / 0.05)
    end
    ks:close()
  end)

  it("put newcomers at the end of the chain", function()
    local l = dumps("echo ' 8 32 sdc 1 2 3 4 5 6 7 8 9 10 11' >> " .. dir .. "/proc/diskstats")
    local order = {}
    for i = #l[2].order - 2, #l[2].order do
      order[l[2].order[i]] = true
    end
    assert.same({ ["sd:2:sdc"] = true, ["sd:2:sdc,detail"] = true, ["sd:2:sdc,dev"] = true }, order)
    assert.equal(#l[1].order + 3, #l[2].order)
  end)

  it("notice a link that was replaced by another of its name", function()
    local net = dir .. "/sys/class/net"
    local l = dumps("cp -r " .. net .. "/eth0 " .. net .. "/new; mv " .. net .. "/eth0 " .. net ..
      "/old; mv " .. net .. "/new " .. net .. "/eth0")
    assert.is_true(l[2].kcid > 0)
    assert.is_true(l[2].kstat["link:0:eth0"].crtime > 0)
    assert.equal(0, l[2].kstat["link:0:lo"].crtime)
  end)

  it("take CPUs off line and back", function()
    local file = dir .. "/proc/stat"
    local l = dumps("cp " .. file .. " " .. dir .. "/save; sed -i '/^cpu1/d' " .. file,
      "cp " .. dir .. "/save " .. file)
    assert.equal("1", l[2].stat["unix:0:system_misc:ncpus"])
    assert.equal("off-line", l[2].stat["cpu_info:1:cpu_info1:state"])
    assert.is_nil(l[2].kstat["cpu_stat:1:cpu_stat1"])
    assert.is_true(tonumber(l[2].stat["cpu_info:1:cpu_info1:state_begin"]) > 1700000000)
    assert.equal("on-line", l[3].stat["cpu_info:1:cpu_info1:state"])
    assert.equal("5000", l[3].stat["cpu_stat:1:cpu_stat1:idle"])
  end)

  it("give interrupts that share a name names that no other interrupt has", function()
    local l = dumps(("printf '%%s\\n' '%s' '%s' '%s' '%s' '%s' >> "):format("123456789012: 1 1 X 1-edge      pair",
      "123456789013: 1 1 X 2-edge      pair", " 41: 1 1 X 3-edge      i8042,1", " 42: 1 1 X 4-edge      cpu-fan",
      " 43: 1 1 X 5-edge      i8042,12,12") .. dir .. "/proc/interrupts")
    for _, id in ipairs({ "pair:0:pair,123456789012", "pair:0:pair,123456789013", "i8042:0:i8042,1",
      "i8042:0:i8042,1,1",
      "i8042:0:i8042,12", "irq:0:cpu-fan" }) do
      assert.is_not_nil(l[2].kstat[id], id)
    end
  end)

  it("rename interrupts that come to share a name", function()
    local l = dumps("sed -i '/^ *1:.*i8042/d' " .. dir .. "/proc/interrupts")
    assert.is_not_nil(l[1].kstat["i8042:0:i8042,12"])
    assert.is_not_nil(l[2].kstat["i8042:0:i8042"])
    assert.is_nil(l[2].kstat["i8042:0:i8042,12"])
  end)
end)

describe("interrupts whose names have the same 64-bit hash", function()
  it("keep their names", function()
    local dir = L.copy()
    local f = assert(io.open(dir .. "/proc/interrupts", "w"))
    f:write("           CPU0       CPU1\n")
    for i, name in ipairs({ "dev-tkvpdygru2uza", "dev-gm1ozrxx3lrub" }) do
      f:write((" %d:          %d          0   IO-APIC   %d-edge      %s\n"):format(i, 10 * i, i, name))
    end
    f:close()
    local d = L.dump(dir .. "/proc", dir .. "/sys")
    L.remove(dir)
    assert.equal("10", d.stat["dev:0:dev-tkvpdygru2uza:hard"])
    assert.equal("20", d.stat["dev:0:dev-gm1ozrxx3lrub:hard"])
  end)
end)
