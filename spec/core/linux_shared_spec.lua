-- What processes share, what runs, and further tables of the kernel. Where a tool shows the same, it is the judge.
local L = require("support.linux")
local run = require("support.run")

-- The statistics of a tree with these files of /proc and /sys.
local function dump(files)
  local dir = L.copy()
  for path, text in pairs(files) do
    L.sh(("mkdir -p '%s/%s'"):format(dir, path:match("^(.*)/")))
    L.write(dir .. "/" .. path, text)
  end
  local r = run.shell(("KSTAT_DIR=/nonexistent KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys %s/kstat -p : sockets::udp_queues")
    :format(dir, dir, run.bin))
  L.remove(dir)
  return { stat = setmetatable({}, { __index = function(_, id)
    return ("\n" .. r.out):match("\n" .. id:gsub("%p", "%%%0") .. "\t([^\n]*)")
  end }) }
end

local function same(d, kstat, expected)
  for stat, value in pairs(expected) do
    assert.equal(value, d.stat[kstat .. ":" .. stat], kstat .. ":" .. stat)
  end
end

describe("the Linux source counts", function()
  it("locks of files by kind, and who waits for them", function()
    same(dump({ ["proc/locks"] = "1: POSIX  ADVISORY  WRITE 1 fe:00:1 0 EOF\n" ..
      "1: -> POSIX  ADVISORY  WRITE 2 fe:00:1 0 EOF\n" ..
      "2: FLOCK  MANDATORY WRITE 3 fe:00:2 0 EOF\n3: OFDLCK ADVISORY  READ -1 fe:00:3 0 EOF\n" ..
      "4: LEASE  ACTIVE    READ 4 fe:00:4 0 EOF\n" }), "unix:0:locks",
      { posix = "1", flock = "1", ofd = "1", lease = "1", delegation = "0", waiting = "1", mandatory = "1" })
  end)

  it("the shared memory, queues and semaphores of System V", function()
    same(dump({ ["proc/sysvipc/shm"] = "       key      shmid perms size  cpid  lpid nattch rss swap\n" ..
        "0 1 600 4096 10 11 2 4096 0\n 5 2 600 8192 10 11 1 0 8192\n",
      ["proc/sysvipc/msg"] = "  key msqid perms cbytes qnum\n 1 0 644 300 3\n",
      ["proc/sysvipc/sem"] = "  key semid perms nsems\n 1 0 644 10\n 2 1 644 5\n" }), "unix:0:sysvipc",
      { shm_segments = "2", shm_bytes = "12288", shm_attached = "3", shm_resident = "4096", shm_swapped = "8192",
        msg_queues = "1", msg_bytes = "300", msg_messages = "3", sem_sets = "2", sem_semaphores = "15" })
  end)

  it("what waits in UDP sockets, neighbours of each link, and what IPVS balances", function()
    local d = dump({ ["proc/net/udp"] = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt" ..
        "   uid  timeout inode ref pointer drops\n" ..
        "   46: 0100007F:0035 00000000:0000 07 00000010:00000A00 00:00000000 00000000   0   0 17 2 0000 4\n" ..
        "   47: 0100007F:0036 00000000:0000 07 00000001:00000001 00:00000000 00000000   0   0 18 2 0000 3\n",
      ["proc/net/arp"] = "IP address HW type Flags HW address Mask Device\n" ..
        "10.0.0.1 0x1 0x2 02:00:00:00:00:01 * eth0\n" ..
        "10.0.1.1 0x1 0x2 02:00:00:00:00:02 * eth1\n10.0.0.2 0x1 0x2 02:00:00:00:00:03 * eth0\n",
      ["proc/net/ip_vs_stats"] = "   Total Incoming Outgoing         Incoming         Outgoing\n" ..
        "   Conns  Packets  Packets            Bytes            Bytes\n" ..
        "  16AA370 E33656E5        0     51D8C8883AB3                0\n" })
    same(d, "sockets:0:udp_queues", { tx_queue = "17", rx_queue = "2561", drops = "7" })
    same(d, "neighbour:0:links", { eth0 = "2", eth1 = "1" })
    same(d, "ipvs:0:all", { connections = "23765872", inpackets = "3811989221", outpackets = "0",
      inbytes = "89991519156915" })
  end)

  it("the trees, the log and the quotas of XFS", function()
    local d = dump({ ["sys/fs/xfs/sda4/stats/stats"] = "push_ail 1 2 3 4 5 6 7 8 9 10\n" ..
      "abtb2 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\nqm 1 2 3 4 5 6 7 8\n" })
    same(d, "xfs:0:sda4", { push_ail = "3" })
    same(d, "xfs:0:sda4,log", { push_ail_success = "4", push_ail_flush = "10", qm_dquot_reclaims = "1",
      qm_dquot_unused = "8" })
    same(d, "xfs:0:sda4,trees", { abtb2_lookup = "1", abtb2_split = "11", abtb2_free = "14" })
  end)
end)

describe("unix:0:os", function()
  it("says what uname and os-release say", function()
    local out = run.shell(run.bin .. "/kstat -p unix:0:os").out
    for stat, command in pairs({ release = "uname -r", sysname = "uname -s", nodename = "uname -n",
      machine = "uname -m", os_id = ". /etc/os-release; echo $ID" }) do
      assert.equal(run.shell(command).out:gsub("\n", ""), out:match("unix:0:os:" .. stat .. "\t([^\n]*)"), stat)
    end
  end)
end)
