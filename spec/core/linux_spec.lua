-- The Linux source: what it has of a small tree of our own, and for programs of illumos.
local L = require("support.linux")
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
