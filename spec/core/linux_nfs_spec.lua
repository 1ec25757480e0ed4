-- NFS of the Linux source, on a tree of our own. spec/tools/node_tree_spec.lua has more of it.
local L = require("support.linux")

describe("NFS of a recorded tree", function()
  local d

  setup(function()
    d = L.dump_tree("fs")
  end)

  local function same(...) L.same(d, ...) end

  it("has the mounts as illumos has them: mntinfo and the I/O, once for a file system", function()
    assert.same({}, d.warnings)
    assert.same({}, d.error)
    same("nfs:40:mntinfo", { mik_proto = "tcp", mik_vers = "4", mik_flags = "1", mik_secmod = "390004",
      mik_curread = "1048576", mik_curwrite = "524288", mik_timeo = "600", mik_retrans = "2", mik_acregmin = "3",
      mik_acregmax = "60", mik_acdirmin = "30", mik_acdirmax = "61", mik_curserver = "filer.example.com" })
    same("nfs:41:mntinfo", { mik_proto = "udp6", mik_vers = "3", mik_flags = tostring(0x10 + 0x20 + 0x80),
      mik_secmod = "1", mik_acregmax = "0", mik_curserver = "2001:db8::1" })
    assert.equal(0, d.kstat["nfs:40:mntinfo"].type)
    same("nfs:40:nfs40", { nread = "1100000", nwritten = "2200000", reads = "300", writes = "100",
      wlentime = "25000000", rlentime = "5000000000", rtime = "0" })
    assert.equal("nfs", d.kstat["nfs:40:nfs40"].class)
    assert.equal(3, d.kstat["nfs:40:nfs40"].type)
  end)

  it("has the events, bytes and connections of a mount", function()
    same("nfs:40:mountstats", { age = "7200", inoderevalidate = "1", vfsrelease = "18", pnfs_write = "27",
      normalreadbytes = "1000000", writepages = "400", mount_point = "/nfs", protocol = "tcp",
      device = "filer.example.com:/export/home" })
    same("nfs:40:mountstats", { transports = "2", binds = "2", connects = "3", connect_time = "3", idle_time = "11",
      sends = "600", receives = "599", bad_xids = "6", requests_pending = "8000", backlog = "8", max_slots = "30",
      sending = "10", pending = "12" })
    same("nfs:41:mountstats", { transports = "1", binds = "0", sends = "64", receives = "63", bad_xids = "0",
      requests_pending = "121", backlog = "0", max_slots = "24", sending = "26", pending = "57", delay = "0" })
    assert.is_nil(d.stat["nfs:41:mountstats:connects"])
    assert.is_nil(d.stat["nfs:41:mountstats:pnfs_read"])
  end)

  it("has the operations of a mount, and only the count of those that were never called", function()
    same("nfs:40:op_count", { read = "300", write = "100", getattr = "50", open_confirm = "0" })
    same("nfs:40:op_transmissions", { read = "301", getattr = "52" })
    same("nfs:40:op_timeouts", { read = "1" })
    same("nfs:40:op_sent", { write = "2210000" })
    same("nfs:40:op_received", { read = "1150000" })
    same("nfs:40:op_rtt_time", { read = "4000000000" })
    same("nfs:40:op_time", { read = "4050000000" })
    same("nfs:40:op_errors", { read = "2", write = "0" })
    assert.is_nil(d.stat["nfs:40:op_rtt_time:open_confirm"])
    assert.is_nil(d.stat["nfs:40:op_queue_time:write"], "a time below 0 is none")
    assert.is_nil(d.stat["nfs:41:op_errors:read"], "older kernels do not count errors")
    assert.same({ kind = "counter", unit = "ns", desc = "time from sending read to its reply: round trips" },
      d.meta["nfs:40:op_rtt_time:read"])
  end)

  it("has the calls of client and server", function()
    same("unix:0:rpc_client", { calls = "1000", retrans = "7", newcreds = "1001", tcp_packets = "6" })
    assert.equal("rpc", d.kstat["unix:0:rpc_client"].class)
    same("nfs:0:rfsreqcnt_v3", { null = "0", getattr = "1", commit = "21" })
    same("nfs:0:rfsreqcnt_v4", { read = "11", open = "44" })
    assert.is_nil(d.stat["nfs:0:rfsreqcnt_v4:open_confirm"])
    same("unix:0:rpc_server", { calls = "800", badcalls = "6", badfmt = "1", badauth = "2", badclnt = "3",
      dupchecks = "65", dupreqs = "5", tcp_connections = "9" })
    same("nfs:0:rfsproccnt_v3", { null = "1", commit = "22" })
    same("nfs:0:rfsproccnt_v4", { null = "4", compound = "500", access = "30", close = "40", commit = "50" })
    same("nfs:0:nfsd", { threads = "16", read_bytes = "4096", write_bytes = "8192", stale_handles = "3",
      reply_cache_nocache = "700", wdeleg_getattr = "2" })
  end)
end)
