-- The Linux source: on a small tree of our own and on the machine.
local L = require("support.linux")
local kstat = require("kstat")
local run = require("support.run")

describe("the Linux source on a small tree", function()
  local d

  setup(function()
    d = L.dump_tree("small")
  end)

  local function same(...) L.same(d, ...) end

  it("reads everything without an error", function()
    assert.same({}, d.error)
    assert.same({}, d.warnings)
    assert.same({}, d.twice)
  end)

  it("lists its kstats for any caller, without a chain", function()
    local command = run.build .. ("/spec/core_source %s/proc %s/sys"):format(run.tree("small"), run.tree("small"))
    local all = run.shell(command)
    assert.equal(0, all.status, all.err)
    assert.matches("unix:0:system_misc\n", all.out)
    assert.matches("link:0:eth0\n", all.out)
    assert.falsy(all.out:find("warning"))
    local links = run.shell(command .. " link").out
    assert.matches("link:0:eth0\n", links)
    assert.falsy(links:find("unix:0:system_misc\n"), "what the caller does not want is left out")
  end)

  it("has the types of kstats", function()
    same("unix:0:kstat_types", { raw = "0", ["name=value"] = "1", interrupt = "2", ["i/o"] = "3",
      event_timer = "4" })
    assert.equal("kstat", d.kstat["unix:0:kstat_types"].class)
  end)

  it("has the machine's figures in system_misc", function()
    same("unix:0:system_misc", { ncpus = "2", lbolt = "100050", nproc = "2", avenrun_1min = "128",
      avenrun_5min = "320", avenrun_15min = "512", boot_time = "1700000000",
      nsec_per_tick = "10000000", clk_intr = "100050", deficit = "0" })
  end)

  it("leaves out what Linux does not have", function()
    assert.is_nil(d.stat["unix:0:system_misc:vac"])
    assert.is_nil(d.stat["unix:0:system_pages:econtig"])
    assert.is_nil(d.stat["cpu:0:sys:syscall"])
    assert.is_nil(d.stat["link:0:eth0:brdcstrcv"])
  end)

  it("counts memory in pages, and sums the zones' watermarks", function()
    same("unix:0:system_pages", { physmem = "1000000", freemem = "250000", availrmem = "500000",
      minfree = "550", desfree = "660", lotsfree = "770", pp_kernel = "24000",
      pageslocked = "1000", pagestotal = "1000000", pagesfree = "250000" })
    assert.equal("pages", d.kstat["unix:0:system_pages"].class)
  end)

  it("has the sums that the kernel keeps, and no sum that each reader would begin for itself", function()
    same("unix:0:sysinfo", { updates = "1000", runque = "4", runocc = "7" })
    for _, statistic in ipairs({ "waiting", "swpque", "swpocc" }) do
      assert.is_nil(d.stat["unix:0:sysinfo:" .. statistic])
    end
    assert.equal(0, d.kstat["unix:0:sysinfo"].type)
    assert.is_nil(d.kstat["unix:0:vminfo"])
    same("unix:0:var", { v_proc = "32000", v_maxup = "16000", v_autoup = "30" })
    assert.is_nil(d.stat["unix:0:var:v_buf"])
  end)

  it("counts paging with the names of Solaris and as Linux does", function()
    same("unix:0:vm", { pgpgin = "1000", pgpgout = "2000", pgswapin = "11", pgswapout = "22",
      dfree = "33", scan = "44", as_fault = "900", maj_fault = "100" })
    same("unix:0:vm_events", { pgpgin = "4000", nr_dirty = "12", pgscan_direct_throttle = "9" })
    same("unix:0:meminfo", { MemTotal = "4096000000", ["Active(anon)"] = "51200000",
      HugePages_Total = "3" })
    same("unix:0:sys", { pswitch = "123456", intr = "1810", sysfork = "4321", procs_running = "5",
      cpu_nsec_user = "30300000000", cpu_nsec_kernel = "7300000000", cpu_nsec_idle = "90000000000",
      cpu_nsec_wait = "900000000", cpu_nsec_intr = "300000000", cpu_nsec_stolen = "50000000" })
  end)

  it("has cpu_stat per CPU", function()
    same("cpu_stat:0:cpu_stat0", { idle = "4000", user = "1010", kernel = "312", wait = "40",
      wait_io = "40", intr = "789", intrthread = "190", pswitch = "90", idlethread = "40", xcalls = "60" })
    for _, statistic in ipairs({ "intrblk", "syscall", "scan", "fsfree", "wait_swap" }) do
      assert.is_nil(d.stat["cpu_stat:0:cpu_stat0:" .. statistic]) -- Linux does not count these
    end
    same("cpu_stat:1:cpu_stat1", { idle = "5000", user = "2020", kernel = "418", intr = "1031" })
    assert.equal(0, d.kstat["cpu_stat:1:cpu_stat1"].type)
    assert.equal("misc", d.kstat["cpu_stat:1:cpu_stat1"].class)
  end)

  it("has cpu:N:sys, vm, time and sched", function()
    same("cpu:1:sys", { cpu_ticks_idle = "5000", cpu_nsec_idle = "50000000000",
      cpu_nsec_intr = "180000000", cpu_ticks_stolen = "3", intr = "1031", pswitch = "180" })
    same("cpu:0:time", { nsec_nice = "100000000", nsec_softirq = "80000000", nsec_steal = "20000000" })
    same("cpu:0:sched", { run_nsec = "5000000000", wait_nsec = "2500000000", timeslices = "90" })
    assert.is_not_nil(d.kstat["cpu:0:vm"])
    assert.is_nil(d.stat["cpu:0:vm:maj_fault"]) -- Linux does not count it per CPU
  end)

  it("describes CPUs, offline ones too", function()
    same("cpu_info:0:cpu_info0", { state = "on-line", state_begin = "1700000000", clock_MHz = "2600",
      current_clock_Hz = "1200000000", chip_id = "0", core_id = "0", cache_id = "4",
      supported_frequencies_Hz = "1200000000:1900000000:2600000000:2601000000",
      implementation = "x86 (GenuineIntel 306E4 family 6 model 62 step 4 clock 2600 MHz)",
      brand = "Intel(R) Xeon(R) CPU E5-2650 v2 @ 2.60GHz", vendor_id = "GenuineIntel",
      family = "6", model = "62", stepping = "4", ncpu_per_chip = "1", ncore_per_chip = "1" })
    same("cpu_info:1:cpu_info1", { core_id = "1", pkg_core_id = "0", chip_id = "1",
      current_clock_Hz = "1200250000" })
    same("cpu_info:2:cpu_info2", { state = "off-line" })
    assert.is_nil(d.kstat["cpu_stat:2:cpu_stat2"])
  end)

  it("has disks and partitions as I/O kstats", function()
    same("sd:0:sda", { nread = "409600", nwritten = "819200", reads = "100", writes = "200",
      rtime = "120000000", rlentime = "200000000", rcnt = "3", wcnt = "0", wtime = "0" })
    same("sd:0:sda1", { nread = "245760", reads = "60" })
    same("sd:1:sdb1", { reads = "7", nread = "28672", writes = "9", nwritten = "36864" }) -- Linux 2.6.24
    same("sd:26:sdaa", { reads = "2", rtime = "1000000", rcnt = "0" })
    assert.equal("disk", d.kstat["sd:0:sda"].class)
    assert.equal("partition", d.kstat["sd:0:sda1"].class)
    assert.equal(3, d.kstat["sd:0:sda1"].type)
  end)

  it("takes driver and number from the names of disks", function()
    for _, id in ipairs({ "nvme:0:nvme0n1", "nvme:0:nvme0n1p1", "mmcblk:1:mmcblk1",
      "mmcblk:1:mmcblk1p1", "dm:3:dm-3", "loop:0:loop0", "cciss:0:cciss/c0d1" }) do
      assert.is_not_nil(d.kstat[id], id)
    end
    assert.equal("partition", d.kstat["nvme:0:nvme0n1p1"].class)
    assert.equal("disk", d.kstat["dm:3:dm-3"].class)
    assert.equal("sda", d.stat["sd:0:sda1,dev:disk"])
    assert.equal("nvme0n1", d.stat["nvme:0:nvme0n1p1,dev:disk"])
  end)

  it("keeps what an I/O kstat has no room for in the detail kstat", function()
    same("sd:0:sda,detail", { discards = "5", ndiscarded = "40960", flushes = "9",
      flush_nsec = "4000000", queue_nsec = "210000000", read_merges = "10" })
    assert.is_nil(d.stat["sd:1:sdb,detail:discards"])
  end)

  it("has the inventory of disks", function()
    same("sderr:0:sda,err", { Vendor = "ATA", Product = "SAMSUNG HD103UJ", Revision = "00.1",
      ["Serial No"] = "S13PJ90QC00123", Size = "1000204886016", ["Hard Errors"] = "42" })
    same("nvmeerr:0:nvme0n1,err", { Product = "Fast NVMe 1", ["Serial No"] = "N1" })
    same("ccisserr:0:cciss/c0d1,err", { Product = "LOGICAL" })
    assert.is_nil(d.kstat["looperr:0:loop0,err"])
  end)

  it("has links with the names of mac kstats", function()
    same("link:0:eth0", { rbytes64 = "874510413233", rbytes = "2632052145", ipackets64 = "872002599946",
      ipackets = "124238858", obytes64 = "420346650648", obytes = "3734822936", opackets = "60",
      ierrors = "1", norcvbuf = "2", oerrors = "3", noxmtbuf = "4", collisions = "5",
      multircv = "9", ifspeed = "1000000000", link_duplex = "2", link_state = "1" })
    same("link:0:lo", { link_state = "1" })
    assert.is_nil(d.stat["link:0:lo:ifspeed"])
    assert.equal("net", d.kstat["link:0:eth0"].class)
  end)

  it("has interrupts by device, and tells those of one name apart", function()
    same("i8042:0:i8042,1", { hard = "40", soft = "0" })
    same("i8042:0:i8042,12", { hard = "20" })
    same("ehci_hcd:0:ehci_hcd_usb1, mmc0", { hard = "100" })
    same("eth:0:eth0-TxRx-0", { hard = "50" })
    same("nvme:0:nvme0q1", { hard = "100" })
    same("irq:26:irq26", { hard = "0" })
    same("intr:0:LOC", { hard = "1100" })
    same("intr:0:SPU", { hard = "0", spurious = "7" })
    same("softirq:0:NET_RX", { soft = "200", hard = "0" })
    assert.equal("controller", d.kstat["nvme:0:nvme0q1"].class)
    assert.equal(2, d.kstat["nvme:0:nvme0q1"].type)
  end)

  it("has tcp, udp, ip and icmp with the names of Solaris", function()
    same("tcp:0:tcp", { rtoAlgorithm = "1", rtoMin = "200", maxConn = "-1", currEstab = "7",
      inSegs = "61884485876", outSegs = "27643008924", retransSegs = "227", outRsts = "1003",
      inCksumErrs = "9", outAckDelayed = "102471", outFastRetrans = "44", timRetrans = "115",
      listenDrop = "33", listenDropQ0 = "2", timKeepaliveProbe = "66" })
    same("udp:0:udp", { inDatagrams = "88542", noPorts = "120", inErrors = "3", inOverflows = "9" })
    same("ip:0:ip", { forwarding = "1", defaultTTL = "64", inReceives = "5774", fragCreates = "14" })
    same("ip:0:icmp", { inMsgs = "104", inDestUnreachs = "100", outMsgs = "120", outErrors = "3" })
    same("tcp:0:tcp_ext", { SyncookiesSent = "1", TCPTimeouts = "115" })
    same("ip:0:ip_ext", { InOctets = "6286396970" })
    assert.equal("mib2", d.kstat["tcp:0:tcp"].class)
    assert.is_nil(d.stat["tcp:0:tcp:halfOpenDrop"])
  end)

  it("has pressure, with times in nanoseconds", function()
    same("pressure:0:io", { some_avg10 = "125", some_avg60 = "34", some_nsec = "159886802000",
      full_avg10 = "18", full_nsec = "159229614000" })
    same("pressure:0:cpu", { some_avg10 = "50", some_nsec = "7000000000" })
    assert.is_nil(d.kstat["pressure:0:irq"])
  end)

  it("passes on the kstats that OpenZFS keeps", function()
    same("zfs:0:arcstats", { hits = "8772612", c = "1643208777", memory_available_bytes = "-12345",
      dataset = "tank/home 1" })
    same("zfs:0:tank", { nread = "1884160", nwritten = "3206144", reads = "22", writes = "132",
      wtime = "7155162", wlentime = "104112268", rtime = "24168078", wcnt = "1", rcnt = "2" })
    same("zfs/tank:0:objset-0x36", { dataset_name = "tank", nwritten = "40" })
    same("zfs/tank:0:state", { state = "ONLINE" })
    assert.equal("disk", d.kstat["zfs:0:tank"].class)
    assert.equal(3, d.kstat["zfs:0:tank"].type)
    assert.equal(5266997922, d.kstat["zfs:0:arcstats"].crtime)
    assert.is_nil(d.kstat["zfs:0:dbufs"])
  end)

  it("has object caches", function()
    same("unix:0:dentry", { buf_size = "192", slab_size = "4096", buf_inuse = "60000",
      buf_avail = "3000", buf_total = "63000", slabs = "3000", slabs_active = "2990" })
    assert.equal("kmem_cache", d.kstat["unix:0:kmalloc-8192"].class)
  end)

  it("has control groups, told apart by their numbers", function()
    local web
    for id, k in pairs(d.kstat) do
      if k.class == "cgroup" and id:match(":web.service$") then
        web = id
      end
    end
    same(assert(web), { path = "/system.slice/web.service", cpu_nsec = "5000000", cpu_throttled = "7",
      cpu_nsec_throttled = "250000", memory = "4096000", oom_kills = "1", nread = "1001",
      nwritten = "2002", reads = "13", writes = "24", io_nsec_waiting = "77000", pids = "12",
      pids_max = "100" })
    assert.is_nil(d.stat[web .. ":memory_max"]) -- there is no limit
  end)

  it("has sensors, in the kernel's units", function()
    same("hwmon:2:coretemp", { temp1 = "45000", temp1_label = "Package id 0", temp1_max = "100000",
      temp1_crit_alarm = "0", temp2 = "-5000", fan10 = "1200", fan10_target = "1500", fan10_fault = "0",
      pwm1 = "128", pwm1_enable = "2", intrusion0_alarm = "1" })
    assert.equal("1/1000 C", d.meta["hwmon:2:coretemp:temp2"].unit)
    assert.equal("sensor", d.kstat["hwmon:2:coretemp"].class)
  end)

  it("describes every statistic", function()
    local n = 0
    for id in pairs(d.stat) do
      assert.is_not_nil(d.meta[id], id)
      assert.is_true(#d.meta[id].desc > 0, id)
      n = n + 1
    end
    assert.is_true(n > 400)
  end)
end)

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

describe("a program that reads cpu_stat as a structure", function()
  it("agrees with the statistics that the command decodes", function()
    local tree = run.tree_words("small") .. " "
    local pipe = assert(io.popen(tree .. L.build .. "/spec/raw_structures"))
    local out = pipe:read("*a")
    pipe:close()
    local d = L.dump_tree("small")
    local values = {}
    for i, name in ipairs({ "idle", "user", "kernel" }) do
      values[i] = d.stat["cpu_stat:0:cpu_stat0:" .. name]
    end
    assert.equal(table.concat(values, " ") .. " 0\n", out)
    assert.equal(3, #values)
  end)
end)

describe("the structure of cpu_stat", function()
  it("is known for a CPU with any digit in its number", function()
    local dir = L.copy()
    L.sh(("sed -i 's/^cpu0/cpu9/; s/^cpu1/cpu178/' %s/proc/stat"):format(dir))
    local d = L.dump(dir .. "/proc", dir .. "/sys")
    assert.equal("4000", d.stat["cpu_stat:9:cpu_stat9:idle"])
    assert.equal("5000", d.stat["cpu_stat:178:cpu_stat178:idle"])
    L.remove(dir)
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

describe("the Linux source on this machine", function()
  local d

  setup(function()
    d = L.dump("-", "-")
  end)

  it("reads everything without an error", function()
    assert.same({}, d.error)
    assert.same({}, d.warnings)
    assert.same({}, d.twice)
    assert.is_true(#d.order > 20)
  end)

  it("lists object caches only if asked to", function()
    for _, k in pairs(d.kstat) do
      assert.not_equal("kmem_cache", k.class)
    end
  end)

  it("counts no CPU more than /proc/stat, and no less than before", function()
    local function idle()
      local sum = 0
      for line in io.lines("/proc/stat") do
        local v = line:match("^cpu%d+ %d+ %d+ %d+ (%d+)")
        sum = sum + (v and tonumber(v) or 0)
      end
      return sum
    end
    -- Where /proc/stat itself goes back by a tick, as it may, again.
    local before, sum, after
    run.await(function() return ("%d <= %d <= %d"):format(before, sum, after) end, function()
      before, sum = idle(), 0
      for id, value in pairs(L.dump("-", "-").stat) do
        if id:match("^cpu_stat:%d+:cpu_stat%d+:idle$") then
          sum = sum + tonumber(value)
        end
      end
      after = idle()
      return sum >= before and sum <= after
    end)
  end)

  it("has the memory and the boot time that /proc tells", function()
    local total = tonumber(L.read("/proc/meminfo"):match("MemTotal:%s+(%d+)"))
    assert.equal(total * 1024, tonumber(d.stat["unix:0:meminfo:MemTotal"]))
    local btime = tonumber(L.read("/proc/stat"):match("btime (%d+)"))
    assert.is_true(math.abs(btime - tonumber(d.stat["unix:0:system_misc:boot_time"])) <= 1)
  end)

  it("counts processes as ls does", function()
    local function listed()
      return tonumber(run.shell("ls -d /proc/[0-9]* 2>/dev/null | wc -l").out)
    end
    -- They come and go. Where ls looks, it has a shell and wc beside it.
    local before, nproc, after
    run.await(function() return ("%d, %d and %d to agree"):format(before, nproc, after) end, function()
      before, nproc, after = listed(), tonumber(L.dump("-", "-").stat["unix:0:system_misc:nproc"]), listed()
      return nproc >= math.min(before, after) - 3 and nproc <= math.max(before, after) + 3
    end)
  end)

  it("has every disk and link there is", function()
    for line in io.lines("/proc/diskstats") do
      local name, counts = line:match("^%s*%d+%s+%d+%s+(%S+) (.*)$")
      local found = not counts:find("[1-9]") -- perhaps nothing is in it
      for id, k in pairs(d.kstat) do
        found = found or (k.type == 3 and id:match("[^:]*$") == name)
      end
      assert.is_true(found, name)
    end
    for line in io.lines("/proc/net/dev") do
      local name = line:match("^%s*([^%s:]+):")
      if name then
        assert.is_not_nil(d.kstat["link:0:" .. name], name)
      end
    end
  end)

  it("reads few disks from files of their own, with the figures of diskstats", function()
    local r = run.run({ run.build .. "/spec/core_disk_own", env = { KSTAT_DIR = "/nonexistent" } })
    local why = r.out:match("^pending\t(.*)\n$")
    if why then
      return pending(why)
    end
    assert.matches("^0 of %d+ checks failed\n$", r.out)
    assert.equal(0, r.status, r.err)
  end)

  it("describes every statistic", function()
    for id in pairs(d.stat) do
      assert.is_not_nil(d.meta[id], id)
    end
  end)

  it("reads the part of a file that one kstat needs, and all of it for another", function()
    local ks = assert(kstat.open())
    local vm, events = ks:lookup("unix", 0, "vm"), ks:lookup("unix", 0, "vm_events")
    local faults = 0
    for i = 1, 4 do
      local n = vm:read():get("as_fault")
      assert.is_true(n > faults, i)
      faults = n
      run.shell("true")
    end
    events:read()
    for line in io.lines("/proc/vmstat") do
      assert.is_not_nil(events:get(line:match("^%S+")), line)
    end
    assert.is_true(vm:read():get("as_fault") > faults)
    ks:close()
  end)

  it("has the time that somebody waited for a CPU, once the CPUs were busy", function()
    if not io.open("/proc/pressure/cpu") then
      return pending("this kernel does not tell it")
    end
    local ks = assert(kstat.open())
    local sysinfo = ks:lookup("unix", 0, "sysinfo")
    local function told() return tonumber(L.read("/proc/pressure/cpu"):match("some.-total=(%d+)")) / 1e6 end
    local before = sysinfo:read():get("runocc")
    assert.is_true(before >= told() - 2)
    run.await("those who wait", function()
      -- More that run than there are CPUs. The kernel brings the file up to date every two seconds.
      run.shell("for i in $(seq $(($(nproc) + 1))); do timeout 0.7 sh -c 'while :; do :; done' & done; wait")
      local after = sysinfo:read():get("runocc")
      assert.is_true(after <= told())
      return after > before and after >= told() - 4
    end)
    ks:close()
  end)
end)
