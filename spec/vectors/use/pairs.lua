-- For each rule of kstatlua use a machine that is sick, and one that is well and looks like it. The files of /proc and
-- /sys are those of spec/trees/small.tree but for what stands here: `from` at the begin, `to` ten seconds later
-- (`both`: at both ends; false: there is no such file). `row` is what is looked at, `state` what has to be said of it,
-- `why` what is wrong, `who` is to blame (both as patterns; of a machine that is well nothing is looked at but the
-- state). `situation` says what the two machines do; figures in it were measured, the others are chosen as such
-- machines have them. CONTRIBUTING.md says how a pair is added.
local function pressure(some, full)
  return ("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n")
    :format(some * 1e5, full * 1e5) -- percent of ten seconds
end

-- Ticks of two CPUs: user, nice, system, idle, iowait, irq, softirq.
local function stat(first, second, running, blocked)
  return ("cpu0 %d %d %d %d %d %d %d 0 0 0\ncpu1 %d %d %d %d %d %d %d 0 0 0\nprocs_running %d\nprocs_blocked %d\n")
    :format(first[1], first[2], first[3], first[4], first[5], first[6], first[7], second[1], second[2], second[3],
      second[4], second[5], second[6], second[7], running or 1, blocked or 0)
end

local REST = { 0, 0, 0, 0, 0, 0, 0 }
local IDLE = { 5, 0, 5, 990, 0, 0, 0 }

local function netstat(name, n)
  return ("TcpExt: ListenOverflows %s\nTcpExt: 0 %d\n"):format(name, n)
end

local function reverse_path(n, received)
  return { ["proc/net/netstat"] = netstat("IPReversePathFilter", n),
    ["proc/net/snmp"] = ("Ip: InReceives\nIp: %d\n"):format(received) }
end

local function two(name, n, other, m)
  return ("TcpExt: ListenOverflows %s %s\nTcpExt: 0 %d %d\n"):format(name, other, n, m)
end

local function net(bytes, packets, received, sent)
  return "Inter-| Receive | Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets " ..
    "errs drop fifo colls carrier compressed\n" .. ("  eth0: %d %d 0 %d 0 0 0 0 %d %d 0 %d 0 0 0 0\n"):format(
    bytes, packets, received, bytes, packets, sent)
end

-- sda: reads, milliseconds of all reads, milliseconds that it was busy, milliseconds in the queue
local function disk(reads, took, busy, queued)
  return ("8 0 sda %d 0 800 %d 0 0 0 0 0 %d %d 0 0 0 0\n"):format(reads, took, busy, queued)
end

local function memory(available, huge)
  return ("MemTotal: 65536000 kB\nMemFree: 1000 kB\nMemAvailable: %d kB\nHugePages_Total: %d\nHugepagesize: 2048 kB\n")
    :format(available, huge or 0)
end

local function vmstat(name, n)
  return ("nr_free_pages 250000\npgfault 1\n%s %d\n"):format(name, n)
end

local function tables(name, n, most)
  return { ["proc/sys/fs/" .. name .. "-nr"] = n .. "\n", ["proc/sys/fs/" .. name .. "-max-nr"] = most .. "\n" }
end

-- What kstatlua latency measures: reads of sda, waits for a CPU, or connections, by milliseconds.
local use = require("support.use")

local function latencies(...)
  return { ["latency.json"] = table.concat({ ... }, ",") }
end

local function reads(counts)
  return latencies(use.latency("sda,read,device", 0, "disk_latency",
    { device = "sda", operation = "read", part = "device" }, counts))
end

local function waits(counts)
  return latencies(use.latency("runq", 0, "runq_latency", nil, counts))
end

local function connections(outcome, family, n)
  return use.latency(outcome .. "," .. family, 0, "connect_latency",
    { outcome = outcome, side = "client", family = family, namespace = "own" }, { [1] = n })
end

local TURNS = { ["sys/block/sda/queue/rotational"] = "1\n" }
local FAR_AHEAD = { ["sys/block/sda/queue/read_ahead_kb"] = "8192\n" }
local function carrier(n)
  return { ["sys/class/net/eth0/carrier"] = n .. "\n",
    ["sys/class/net/eth0/operstate"] = n == 1 and "up\n" or "down\n" }
end

-- A group that uses half of its limit, which it met n times, while somebody waited for memory for that share of it
local function group(n, share)
  local at = "sys/fs/cgroup/system.slice/web.service/memory."
  return { [at .. "current"] = "50\n", [at .. "max"] = "100\n", [at .. "events"] = ("max %d\noom_kill 0\n"):format(n),
    ["proc/pressure/memory"] = ("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 " ..
      "avg300=0.00 total=0\n"):format(share * 1e5) }
end

local NO_PRESSURE = { ["proc/pressure"] = false, ["proc/schedstat"] = false }
local KSOFTIRQD = { 0, 0, 10, 0, 0, 0, 990 }

return {
  { rule = "cpu pressure", situation = "two CPUs: four loops; two loops of nice -n 19",
    sick = { row = "cpu all", state = "critical", why = "pressure 99%%",
      from = { ["proc/stat"] = stat(REST, REST), ["proc/pressure/cpu"] = pressure(0, 0) },
      to = { ["proc/stat"] = stat({ 1000, 0, 0, 0, 0, 0, 0 }, { 1000, 0, 0, 0, 0, 0, 0 }, 5),
        ["proc/pressure/cpu"] = pressure(99, 0) } },
    well = { row = "cpu all", state = "ok",
      from = { ["proc/stat"] = stat(REST, REST), ["proc/pressure/cpu"] = pressure(0, 0) },
      to = { ["proc/stat"] = stat({ 4, 990, 4, 2, 0, 0, 0 }, { 4, 990, 4, 2, 0, 0, 0 }, 3),
        ["proc/pressure/cpu"] = pressure(9, 0) } } },
  { rule = "cpu busy while others wait",
    situation = "short children that fill two CPUs, others wait for 52.3 %; make -j2, busy for 99.6 %",
    sick = { row = "cpu all", state = "warning", why = "busy while others wait 99%.6%%",
      from = { ["proc/stat"] = stat(REST, REST), ["proc/pressure/cpu"] = pressure(0, 0) },
      to = { ["proc/stat"] = stat({ 900, 0, 96, 4, 0, 0, 0 }, { 900, 0, 96, 4, 0, 0, 0 }, 4),
        ["proc/pressure/cpu"] = pressure(52.3, 0) } },
    well = { row = "cpu all", state = "ok",
      from = { ["proc/stat"] = stat(REST, REST), ["proc/pressure/cpu"] = pressure(0, 0) },
      to = { ["proc/stat"] = stat({ 900, 0, 96, 4, 0, 0, 0 }, { 900, 0, 96, 4, 0, 0, 0 }, 2),
        ["proc/pressure/cpu"] = pressure(31, 0) } } },
  { rule = "cpu running, without pressure",
    situation = "RHEL 9 without psi=1, 16 CPUs with a load of 300 and of 14, " ..
      "for two CPUs",
    sick = { row = "cpu all", state = "critical", why = "running 18%.5 per CPU", both = NO_PRESSURE,
      from = { ["proc/stat"] = stat(REST, REST, 37) }, to = { ["proc/stat"] = stat({ 900, 0, 90, 10, 0, 0, 0 },
        { 900, 0, 90, 10, 0, 0, 0 }, 38) } },
    well = { row = "cpu all", state = "ok", both = NO_PRESSURE, from = { ["proc/stat"] = stat(REST, REST, 2) },
      to = { ["proc/stat"] = stat({ 900, 0, 90, 10, 0, 0, 0 }, { 900, 0, 90, 10, 0, 0, 0 }, 9) } } },
  { rule = "process blocked, without pressure", situation = "400 writers to a file system whose disk stopped; a backup",
    sick = { row = "process all", state = "critical", why = "blocked 398", both = NO_PRESSURE,
      from = { ["proc/stat"] = stat(REST, REST, 1, 398) }, to = { ["proc/stat"] = stat(IDLE, IDLE, 1, 400) } },
    well = { row = "process all", state = "ok", both = NO_PRESSURE,
      from = { ["proc/stat"] = stat(REST, REST, 1, 2) }, to = { ["proc/stat"] = stat(IDLE, IDLE, 1, 60) } } },
  { rule = "memory stalled allocations, without pressure", situation = "allocstall 5,000 in ten seconds; after a copy",
    sick = { row = "memory all", state = "critical", why = "stalled allocations 500", both = NO_PRESSURE,
      from = { ["proc/vmstat"] = vmstat("allocstall_normal", 0) },
      to = { ["proc/vmstat"] = vmstat("allocstall_normal", 5000) } },
    well = { row = "memory all", state = "ok", both = NO_PRESSURE,
      from = { ["proc/vmstat"] = vmstat("allocstall_normal", 7000) },
      to = { ["proc/vmstat"] = vmstat("allocstall_normal", 7040) } } },
  { rule = "cpu interrupts of one", situation = "one CPU of many that gets all packets of a link; the same at 40 %",
    sick = { row = "cpu all", state = "critical", why = "interrupts of one 99%%", who = "cpu1 softirq",
      from = { ["proc/stat"] = stat(REST, REST) }, to = { ["proc/stat"] = stat(IDLE, KSOFTIRQD) } },
    well = { row = "cpu all", state = "ok", from = { ["proc/stat"] = stat(REST, REST) },
      to = { ["proc/stat"] = stat(IDLE, { 100, 0, 100, 400, 0, 0, 400 }) } } },
  { rule = "disk all stalled", situation = "four writers on a slow disk; one grep -r over cold files: 78 % stalled, " ..
      "2.5 requests",
    sick = { row = "disk sda", state = "critical", why = "all stalled 78%%",
      from = { ["proc/diskstats"] = disk(0, 0, 0, 0),
        ["proc/pressure/io"] = pressure(0, 0), ["proc/stat"] = stat(REST, REST, 1, 4) },
      to = { ["proc/diskstats"] = disk(9000, 39000, 9900, 39000), ["proc/pressure/io"] = pressure(90, 78),
        ["proc/stat"] = stat(IDLE, IDLE, 1, 4) } },
    well = { row = "disk sda", state = "ok", from = { ["proc/diskstats"] = disk(0, 0, 0, 0),
        ["proc/pressure/io"] = pressure(0, 0), ["proc/stat"] = stat(REST, REST, 1, 1) },
      to = { ["proc/diskstats"] = disk(9000, 25000, 9900, 25000), ["proc/pressure/io"] = pressure(80, 78),
        ["proc/stat"] = stat(IDLE, IDLE, 1, 1) } } },
  { rule = "cgroup at limit", situation = "a program larger than its group, with swap; " ..
      "200 MB written again and again through a group of 64 MB: 22.6 %",
    sick = { row = "cgroup web.service", state = "critical", why = "at limit 4000", from = group(0, 0),
      to = group(4000, 45) },
    well = { row = "cgroup web.service", state = "ok", from = group(0, 0), to = group(4000, 22.6) } },
  { rule = "disk all stalled, of a disk that reads far ahead",
    situation = "programs that read with a queue of 60; one cat, read_ahead_kb 8192, 1.1 GB/s in requests of 4 MB",
    sick = { row = "disk sda", state = "critical", why = "all stalled 21%%", both = FAR_AHEAD,
      from = { ["proc/diskstats"] = disk(0, 0, 0, 0), ["proc/pressure/io"] = pressure(0, 0),
        ["proc/stat"] = stat(REST, REST, 1, 1) },
      to = { ["proc/diskstats"] = "8 0 sda 3000 0 22500000 600000 0 0 0 0 0 9900 600000 0 0 0 0\n",
        ["proc/pressure/io"] = pressure(60, 21), ["proc/stat"] = stat(IDLE, IDLE, 1, 1) } },
    well = { row = "disk sda", state = "ok", both = FAR_AHEAD,
      from = { ["proc/diskstats"] = disk(0, 0, 0, 0), ["proc/pressure/io"] = pressure(0, 0),
        ["proc/stat"] = stat(REST, REST, 1, 1) },
      to = { ["proc/diskstats"] = "8 0 sda 3000 0 22500000 63000 0 0 0 0 0 6700 63000 0 0 0 0\n",
        ["proc/pressure/io"] = pressure(60, 21), ["proc/stat"] = stat(IDLE, IDLE, 1, 1) } } },
  { rule = "disk busy rotational", situation = "a disk that turns under two programs; virtio, which says that it turns",
    sick = { row = "disk sda", state = "warning", why = "busy rotational 95%%", both = TURNS,
      from = { ["proc/diskstats"] = disk(0, 0, 0, 0) }, to = { ["proc/diskstats"] = disk(900, 30000, 9500, 30000) } },
    well = { row = "disk sda", state = "ok", both = TURNS, from = { ["proc/diskstats"] = disk(0, 0, 0, 0) },
      to = { ["proc/diskstats"] = disk(90000, 9500, 9500, 9500) } } },
  { rule = "memory used", situation = "a database that took all; one with 52 of 64 GB in huge pages, 5 GB left",
    sick = { row = "memory all", state = "warning", why = "used 92%%", from = {},
      to = { ["proc/meminfo"] = memory(5242880) } },
    well = { row = "memory all", state = "ok", from = {}, to = { ["proc/meminfo"] = memory(5242880, 26624) } } },
  { rule = "memory used, of what huge pages leave", situation = "the same with 0.8 GB left",
    sick = { row = "memory all", state = "warning", why = "used 92%.6%%", from = {},
      to = { ["proc/meminfo"] = memory(819200, 26624) } },
    well = { row = "memory all", state = "ok", from = {}, to = { ["proc/meminfo"] = memory(2097152, 26624) } } },
  { rule = "memory swapped out", situation = "memory.reclaim of a group swaps 3,070 pages a second out with 22 GB free",
    sick = { row = "memory all", state = "critical", why = "swapped out 3070",
      from = { ["proc/vmstat"] = vmstat("pswpout", 0), ["proc/meminfo"] = memory(3000000) },
      to = { ["proc/vmstat"] = vmstat("pswpout", 30700) } },
    well = { row = "memory all", state = "ok",
      from = { ["proc/vmstat"] = vmstat("pswpout", 0), ["proc/meminfo"] = memory(23068672) },
      to = { ["proc/vmstat"] = vmstat("pswpout", 30700) } } },
  { rule = "memory swapped in", situation = "a program larger than memory; pages that memory.reclaim swapped out " ..
      "come back with 22 GB free",
    sick = { row = "memory all", state = "critical", why = "swapped in 3070",
      from = { ["proc/vmstat"] = vmstat("pswpin", 0), ["proc/meminfo"] = memory(3000000) },
      to = { ["proc/vmstat"] = vmstat("pswpin", 30700) } },
    well = { row = "memory all", state = "ok",
      from = { ["proc/vmstat"] = vmstat("pswpin", 0), ["proc/meminfo"] = memory(23068672) },
      to = { ["proc/vmstat"] = vmstat("pswpin", 30700) } } },
  { rule = "link dropped", situation = "a full queue; a quiet link with 20 frames a second and 2 of LLDP, CDP, STP",
    sick = { row = "link eth0", state = "critical", why = "dropped 9", from = { ["proc/net/dev"] = net(0, 0, 0, 0) },
      to = { ["proc/net/dev"] = net(9000, 200, 0, 40) } },
    well = { row = "link eth0", state = "ok", from = { ["proc/net/dev"] = net(0, 0, 0, 0) },
      to = { ["proc/net/dev"] = net(9000, 200, 20, 0) } } },
  { rule = "link dropped, with a carrier", situation = "a full queue; a veth whose other end is set down: " ..
      "its router solicitations are dropped",
    sick = { row = "link eth0", state = "critical", why = "dropped 100", both = carrier(1),
      from = { ["proc/net/dev"] = net(0, 0, 0, 0) }, to = { ["proc/net/dev"] = net(0, 0, 0, 10) } },
    well = { row = "link eth0", state = "ok", both = carrier(0), from = { ["proc/net/dev"] = net(0, 0, 0, 0) },
      to = { ["proc/net/dev"] = net(0, 0, 0, 10) } } },
  { rule = "link unwanted", situation = "a broadcast storm of a protocol that nobody has; LLDP, CDP, STP",
    sick = { row = "link eth0", state = "warning", why = "unwanted 500 per s",
      from = { ["proc/net/dev"] = net(0, 0, 0, 0) }, to = { ["proc/net/dev"] = net(9000, 6000, 5000, 0) } },
    well = { row = "link eth0", state = "ok", from = { ["proc/net/dev"] = net(0, 0, 0, 0) },
      to = { ["proc/net/dev"] = net(9000, 6000, 20, 0) } } },
  { rule = "network refused SYNs", situation = "a SYN flood on loopback: 7,227 ListenDrops in 5 s; one in an hour",
    sick = { row = "network all", state = "critical", why = "refused SYNs 1445%.4 per s",
      from = { ["proc/net/netstat"] = netstat("ListenDrops", 0) },
      to = { ["proc/net/netstat"] = netstat("ListenDrops", 14454) } },
    well = { row = "network all", state = "ok", from = { ["proc/net/netstat"] = netstat("ListenDrops", 30) },
      to = { ["proc/net/netstat"] = netstat("ListenDrops", 31) } } },
  { rule = "network SYN cookies", situation = "the same with net.ipv4.tcp_syncookies=1: 6,898 in 5 s; a short burst",
    sick = { row = "network all", state = "warning", why = "SYN cookies 1379%.6 per s",
      from = { ["proc/net/netstat"] = netstat("SyncookiesSent", 0) },
      to = { ["proc/net/netstat"] = netstat("SyncookiesSent", 13796) } },
    well = { row = "network all", state = "ok", from = { ["proc/net/netstat"] = netstat("SyncookiesSent", 0) },
      to = { ["proc/net/netstat"] = netstat("SyncookiesSent", 50) } } },
  { rule = "network retransmitted", situation = "netem loses 8 %; the answers of a SYN flood that are sent again: 50 %",
    sick = { row = "network all", state = "critical", why = "retransmitted 7%.4%%",
      from = { ["proc/net/snmp"] = "Tcp: OutSegs RetransSegs\nTcp: 0 0\n" },
      to = { ["proc/net/snmp"] = "Tcp: OutSegs RetransSegs\nTcp: 9260 740\n" } },
    well = { row = "network all", state = "ok", from = { ["proc/net/netstat"] = netstat("TCPSynRetrans", 0),
        ["proc/net/snmp"] = "Tcp: OutSegs RetransSegs\nTcp: 0 0\n" },
      to = { ["proc/net/netstat"] = netstat("TCPSynRetrans", 5000),
        ["proc/net/snmp"] = "Tcp: OutSegs RetransSegs\nTcp: 5000 5000\n" } } },
  { rule = "network TIME_WAIT overflow", situation = "net.ipv4.tcp_max_tw_buckets=5 and a client; none",
    sick = { row = "network all", state = "warning", why = "TIME_WAIT overflow 50 per s",
      from = { ["proc/net/netstat"] = netstat("TCPTimeWaitOverflow", 0) },
      to = { ["proc/net/netstat"] = netstat("TCPTimeWaitOverflow", 500) } },
    well = { row = "network all", state = "ok", from = { ["proc/net/netstat"] = netstat("TCPTimeWaitOverflow", 500) },
      to = { ["proc/net/netstat"] = netstat("TCPTimeWaitOverflow", 500) } } },
  { rule = "disk slower than in its hour",
    situation = "a disk that begins to retry: one read of fifty takes 300 ms; a disk that is used more than before",
    sick = { row = "disk sda", state = "warning", why = "slower than in its hour %d+", from = reads({ [1] = 5000 }),
      to = reads({ [1] = 5980, [300] = 20 }) },
    well = { row = "disk sda", state = "ok", from = reads({ [1] = 4950, [8] = 50 }),
      to = reads({ [1] = 4950, [8] = 550, [16] = 400 }) } },
  { rule = "disk slower than in its hour, of few requests",
    situation = "a disk that begins to retry; one that sleeps and takes 3 s to spin up for the first of a few reads",
    sick = { row = "disk sda", state = "warning", why = "slower than in its hour %d+", from = reads({ [4] = 5000 }),
      to = reads({ [4] = 5080, [500] = 20 }) },
    well = { row = "disk sda", state = "ok", from = reads({ [4] = 5000 }), to = reads({ [4] = 5040, [3000] = 1 }) } },
  { rule = "cpu run queue", situation = "forty threads at each CPU; a build with as many processes as CPUs",
    sick = { row = "cpu all", state = "warning", why = "run queue 2%d%.%d ms", from = waits({ [1] = 9 }),
      to = waits({ [1] = 2009, [30] = 500 }) },
    well = { row = "cpu all", state = "ok", from = waits({ [1] = 9 }),
      to = waits({ [0.01] = 9000, [1] = 809, [4] = 200, [16] = 30 }) } },
  { rule = "network refused connections",
    situation = "clients of a server that does not run; clients that try ::1 first, of one that has only 127.0.0.1",
    sick = { row = "network all", state = "warning", why = "refused connections 20 per s",
      from = latencies(connections("refused", "tcp", 7)), to = latencies(connections("refused", "tcp", 207)) },
    well = { row = "network all", state = "ok",
      from = latencies(connections("refused", "tcp6", 9), connections("established", "tcp", 9)),
      to = latencies(connections("refused", "tcp6", 209), connections("established", "tcp", 209)) } },
  { rule = "network reassembly", situation = "ipfrag_high_thresh=1 and large datagrams; a fragment that came late",
    sick = { row = "network all", state = "critical", why = "reassembly 300 per s",
      from = { ["proc/net/snmp"] = "Ip: ReasmFails\nIp: 0\n" },
      to = { ["proc/net/snmp"] = "Ip: ReasmFails\nIp: 3000\n" } },
    well = { row = "network all", state = "ok", from = { ["proc/net/snmp"] = "Ip: ReasmFails\nIp: 8\n" },
      to = { ["proc/net/snmp"] = "Ip: ReasmFails\nIp: 10\n" } } },
  { rule = "network reverse path", situation = "rp_filter=1 on a machine of two links; a stray packet now and then",
    sick = { row = "network all", state = "critical", why = "reverse path 97%%",
      from = reverse_path(0, 0), to = reverse_path(970, 1000) },
    well = { row = "network all", state = "ok", from = reverse_path(0, 0), to = reverse_path(4, 100) } },
  { rule = "network TCP memory",
    situation = "tcp_mem=\"1 2 3\": PruneCalled 90, RcvPruned 40, TCPAbortOnMemory 5; a " ..
      "small buffer that is merely made smaller",
    sick = { row = "network all", state = "critical", why = "TCP memory 4%.5 per s",
      from = { ["proc/net/netstat"] = two("RcvPruned", 0, "TCPAbortOnMemory", 0) },
      to = { ["proc/net/netstat"] = two("RcvPruned", 40, "TCPAbortOnMemory", 5) } },
    well = { row = "network all", state = "ok", from = { ["proc/net/netstat"] = two("PruneCalled", 0, "RcvPruned", 0) },
      to = { ["proc/net/netstat"] = two("PruneCalled", 90, "RcvPruned", 0) } } },
  { rule = "network socket backlog", situation = "SO_RCVBUF of 2 kB and a program that works with its socket; once",
    sick = { row = "network all", state = "critical", why = "socket backlog 12 per s",
      from = { ["proc/net/netstat"] = netstat("TCPBacklogDrop", 0) },
      to = { ["proc/net/netstat"] = netstat("TCPBacklogDrop", 120) } },
    well = { row = "network all", state = "ok", from = { ["proc/net/netstat"] = netstat("TCPBacklogDrop", 0) },
      to = { ["proc/net/netstat"] = netstat("TCPBacklogDrop", 3) } } },
  { rule = "table full, of aio", situation = "io_setup() up to fs.aio-max-nr; a database with half of it",
    sick = { row = "table aio", state = "critical", why = "full 100%%", from = {}, to = tables("aio", 65536, 65536) },
    well = { row = "table aio", state = "ok", from = {}, to = tables("aio", 32768, 65536) } },
  { rule = "table full, of keys", situation = "keyctl add as nobody up to kernel.keys.maxkeys; root has a thousand",
    sick = { row = "table keys of 65534", state = "critical", why = "full 99%%", who = "user 65534", from = {}, to = {},
      both = { ["proc/key-users"] =
        "    0:     9 8/8 3/1000000 40/25000000\n65534:   199 199/199 198/200 3900/20000\n" } },
    well = { row = "table keys of 65534", state = "ok", from = {}, to = {}, both = {
      ["proc/key-users"] = "    0:  1009 1008/1008 1003/1000 4000/25000\n65534:  9 9/9 8/200 300/20000\n" } } },
  { rule = "table promised", situation = "vm.overcommit_memory=2 at its limit; the same figures with 0",
    sick = { row = "table commit", state = "critical", why = "promised up to the limit 99%%", from = {}, to = {
      ["proc/sys/vm/overcommit_memory"] = "2\n",
      ["proc/meminfo"] = "MemTotal: 900 kB\nMemAvailable: 800 kB\nCommitLimit: 100 kB\nCommitted_AS: 99 kB\n" } },
    well = { row = "table commit", state = nil, from = {}, to = { ["proc/sys/vm/overcommit_memory"] = "0\n",
      ["proc/meminfo"] = "MemTotal: 900 kB\nMemAvailable: 800 kB\nCommitLimit: 100 kB\nCommitted_AS: 990 kB\n" } } },
}
