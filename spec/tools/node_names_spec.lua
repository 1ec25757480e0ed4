-- kstat.node, the names of node_exporter, over a small machine of files.
local run = require("support.run")

local SCRIPT = [[
local core = require("kstat.core")
local kstat = require("kstat")
local words = { (table.unpack or unpack)(arg, 3) }
local taken = assert(require("kstat.node.options").take(words))
local ks = assert(kstat.open({ only = require("kstat.node").selectors(taken.enabled) }))
local scrape = require("kstat.node.scrape").new(ks, taken, 10000)
local function render()
  local w = core.metrics(arg[1])
  local text = assert(scrape(taken.enabled, arg[1], w))
  print(w:text() .. text)
end
render()
if (arg[2] or "") ~= "" then
  os.execute(arg[2])
  ks:update()
  print("==")
  render()
end
]]

describe("the names of node_exporter", function()
  local dir

  local function write(path, text)
    run.shell("mkdir -p " .. run.quote(dir .. "/" .. path:match("^(.*)/")))
    run.write_file(dir .. "/" .. path, text)
  end

  setup(function()
    dir = run.directory()
    write("proc/net/dev", "Inter-| Receive | Transmit\n face |bytes\n"
      .. "  eth0: 1000 10 1 2 3 4 5 6 2000 20 7 8 9 10 11 12\n")
    write("sys/class/net/eth0/speed", "1000\n")
    write("sys/class/net/eth0/operstate", "up\n")
    write("sys/class/net/eth0/carrier", "1\n")
    write("sys/class/net/eth1/operstate", "down\n")
    write("sys/fs/xfs/dm-1/stats/stats", "extent_alloc 21 22 23 24\nblk_map 11 12 13 14 15 16 17\ndir 31 32 33 34\n")
    write("proc/loadavg", "0.21 0.05 12.34 1/10 5\n")
    write("proc/diskstats", " 179 0 mmcblk0 5 1 16 2 3 1 8 1 0 3 3\n 179 1 mmcblk0p1 4 1 8 1 2 1 4 1 0 2 2\n"
      .. " 8 0 sda 5 1 16 2 3 1 8 1 0 3 3\n 8 1 sda1 4 1 8 1 2 1 4 1 0 2 2\n")
    write("proc/vmstat", "pgfault 5\npgpgin 3\n")
    write("proc/self/mountinfo", '30 1 8:1 / /mnt/a"\\134\255\\012b rw - ext4 /dev/sd\254 rw\n'
      .. "31 1 0:6 / /dev rw - devtmpfs udev rw\n32 1 0:7 / /srv rw - tmpfs tmpfs rw\n")
  end)
  teardown(function() run.remove_directory(dir) end)

  -- The exposition, and another one after a command (nil or "": none). Options of node_exporter may follow.
  local function render(format, command, ...)
    local words = { "kstatlua", "-e", SCRIPT, format, command or "", ... }
    words.env = { KSTAT_PROC = dir .. "/proc", KSTAT_SYS = dir .. "/sys", KSTAT_DIR = dir }
    local r = run.run(words)
    assert.equal("", r.err)
    return r.out
  end

  local function has(text, line)
    assert.truthy(("\n" .. text):find("\n" .. line .. "\n", 1, true), line .. "\n\n" .. text)
  end

  it("are those of collectors that it has, and that doc/exporter.md names", function()
    -- What node_exporter 1.x has on Linux, those that are here or may come.
    local theirs = (" " .. [[
      arp bcache bonding btrfs buddyinfo cgroups conntrack cpu cpufreq cpu_vulnerabilities diskstats dmi
      drbd drm edac entropy ethtool fibrechannel filefd filesystem hwmon infiniband interrupts ipvs
      kernel_hung ksmd lnstat loadavg logind mdadm meminfo meminfo_numa mountstats netclass netdev netstat
      network_route nfs nfsd ntp nvme os pcidevice perf powersupplyclass pressure processes qdisc rapl
      schedstat selinux slabinfo sockstat softirqs softnet stat supervisord swap sysctl systemd tapestats
      tcpstat textfile thermal_zone time timex udp_queues uname vmstat watchdog wifi xfrm xfs zfs zoneinfo
    ]]):gsub("%s+", " ")
    local listed = run.read_file("doc/exporter.md"):match("There are (`arp`.-`)%.%s"):gsub("\n", " ")
    local on, off = listed:match("^(.*); and, off by default, (.*)$")
    local expected = {}
    for name in on:gmatch("`([^`]+)`") do
      expected[name] = true
    end
    for name in off:gmatch("`([^`]+)`") do
      expected[name] = false
    end
    local collectors = require("kstat.node").collectors()
    for name in pairs(collectors) do
      assert.truthy(theirs:find(" " .. name .. " ", 1, true), name .. ": node_exporter has no such collector")
    end
    local how = { [true] = "on", [false] = "off" }
    for name, is_on in pairs(collectors) do
      assert.equal(how[is_on], how[expected[name]] or "missing",
        name .. ": not as in the list of doc/exporter.md that begins with 'There are', by default on or off there")
    end
    for name in pairs(expected) do
      assert.is_not_nil(collectors[name], name .. ": doc/exporter.md names a collector that there is not")
    end
  end)

  it("have its units and types, in both formats", function()
    local classic, open = render("prometheus"), render("openmetrics")
    for _, text in ipairs({ classic, open }) do
      has(text, 'node_network_speed_bytes{device="eth0"} 125000000')
      has(text, 'node_network_receive_bytes_total{device="eth0"} 1000')
      has(text, "node_vmstat_pgfault 5")
    end
    has(classic, "# TYPE node_network_receive_bytes_total counter")
    has(open, "# TYPE node_network_receive_bytes counter")
    has(classic, "# TYPE node_vmstat_pgfault untyped")
    has(open, "# TYPE node_vmstat_pgfault unknown")
  end)

  it("are text for Prometheus, whatever file systems are called", function()
    has(render("prometheus"),
      [[node_filesystem_readonly{device="/dev/sd?",fstype="ext4",mountpoint="/mnt/a\"\\??b"} 0]])
  end)

  it("are of the same devices and file systems, unless a filter says otherwise", function()
    local text = render("prometheus")
    has(text, 'node_disk_reads_completed_total{device="mmcblk0p1"} 4')
    has(text, 'node_network_up{device="eth1"} 0')
    assert.falsy(text:find('reads_completed_total{device="sda1"}', 1, true)
      or text:find('node_network_carrier{device="eth1"}', 1, true) or text:find('mountpoint="/dev"', 1, true))
    text = render("prometheus", nil, "--collector.filesystem.fs-types-exclude=^(tmpfs|ext4)$",
      "--collector.filesystem.mount-points-exclude=", "--collector.diskstats.device-include=^sd")
    has(text, 'node_filesystem_readonly{device="udev",fstype="devtmpfs",mountpoint="/dev"} 0')
    has(text, 'node_disk_reads_completed_total{device="sda"} 5')
    assert.falsy(text:find("mmcblk0", 1, true) or text:find('mountpoint="/srv"', 1, true))
  end)

  it("are those of the collectors that are on", function()
    local text = render("prometheus", nil, "--collector.disable-defaults", "--collector.loadavg")
    has(text, "node_load1 0.21")
    has(text, "node_load15 12.34")
    has(text, 'node_scrape_collector_success{collector="loadavg"} 1')
    assert.falsy(text:find("\nnode_disk_", 1, true) or text:find("\nnode_time_", 1, true))
  end)

  it("have what XFS counts, each as it is", function()
    local text = render("prometheus", nil, "--collector.disable-defaults", "--collector.xfs")
    for i, name in ipairs({ "reads", "writes", "unmaps", "extent_list_insertions", "extent_list_deletions",
      "extent_list_lookups", "extent_list_compares" }) do
      has(text, ('node_xfs_block_mapping_%s_total{device="dm-1"} %d'):format(name, 10 + i))
    end
    for i, name in ipairs({ "lookup", "create", "remove", "getdents" }) do
      has(text, ('node_xfs_directory_operation_%s_total{device="dm-1"} %d'):format(name, 30 + i))
    end
  end)

  it("are those of an expression for the fields of a collector", function()
    local text = render("prometheus", nil, "--collector.vmstat.fields", "^pgf")
    has(text, "node_vmstat_pgfault 5")
    assert.falsy(text:find("node_vmstat_pgpgin", 1, true))
  end)

  it("are of one type each: the first that has a name keeps it", function()
    local r = run.run({ "kstatlua", "-e", [[
      local core = require("kstat.core")
      local names = {}
      for i, kind in ipairs({ "counter", "gauge" }) do
        names[i] = { selector = core.selector_of("unix:0:vm_events"), labels = {},
          names = { { family = "node_faults", stat = "pgfault", type = kind } } }
      end
      local ks = assert(kstat.open())
      io.write(assert(core.exposition(ks, core.metric_names(names), "openmetrics")):step(true))
    ]], env = { KSTAT_PROC = dir .. "/proc", KSTAT_SYS = dir .. "/sys", KSTAT_DIR = dir } })
    assert.equal("", r.err)
    assert.equal("node_faults_total 5\n", r.out:gsub("#[^\n]*\n", ""), r.out)
  end)

  it("are those of what there is now", function()
    local text = render("prometheus",
      ("cd %s && sed -i s/eth0/eth2/ proc/net/dev && rm -r sys/class/net/eth0"):format(dir))
    local first, second = text:match("^(.-\n)==(\n.*)$")
    has(first, 'node_network_receive_bytes_total{device="eth0"} 1000')
    has(second, 'node_network_receive_bytes_total{device="eth2"} 1000')
    assert.falsy(first:find("eth2", 1, true) or second:find("eth0", 1, true))
    assert.falsy(second:find("node_network_speed_bytes", 1, true)) -- nor the head of a family without samples
  end)
end)
