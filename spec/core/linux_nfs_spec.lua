-- NFS of the Linux source: on a tree of our own, and on node_exporter's.
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

-- What node_exporter shows for the same files. Its names of a few calls differ; two columns it has exchanged.
local CALLS = { opendgrd = "opendowngrade", rellockowner = "releaselockowner", ["2:fsstat"] = "statfs",
  getdeviceinfo = "layoutget", layoutget = "getdeviceinfo", ["nfsd:4:lookuproot"] = "lookupp" }
local MOUNT = {
  age_seconds_total = "age", direct_read_bytes_total = "directreadbytes",
  direct_write_bytes_total = "directwrittenbytes", event_attribute_invalidate_total = "attrinvalidate",
  event_data_invalidate_total = "datainvalidate", event_dnode_revalidate_total = "dentryrevalidate",
  event_inode_revalidate_total = "inoderevalidate", event_jukebox_delay_total = "delay",
  event_pnfs_read_total = "pnfs_read", event_pnfs_write_total = "pnfs_write",
  event_short_read_total = "shortread", event_short_write_total = "shortwrite",
  event_silly_rename_total = "sillyrename", event_truncation_total = "setattrtrunc",
  event_vfs_access_total = "vfsaccess", event_vfs_file_release_total = "vfsrelease",
  event_vfs_flush_total = "vfsflush", event_vfs_fsync_total = "vfsfsync", event_vfs_getdents_total = "vfsgetdents",
  event_vfs_lock_total = "vfslock", event_vfs_lookup_total = "vfslookup", event_vfs_open_total = "vfsopen",
  event_vfs_read_page_total = "vfsreadpage", event_vfs_read_pages_total = "vfsreadpages",
  event_vfs_setattr_total = "vfssetattr", event_vfs_update_page_total = "vfsupdatepage",
  event_vfs_write_page_total = "vfswritepage", event_vfs_write_pages_total = "vfswritepages",
  event_write_extension_total = "extendwrite", read_bytes_total = "normalreadbytes", read_pages_total = "readpages",
  total_read_bytes_total = "serverreadbytes", total_write_bytes_total = "serverwrittenbytes",
  transport_backlog_queue_total = "backlog", transport_bad_transaction_ids_total = "bad_xids",
  transport_bind_total = "binds", transport_connect_total = "connects", transport_idle_time_seconds = "idle_time",
  transport_maximum_rpc_slots = "max_slots", transport_pending_queue_total = "pending",
  transport_receives_total = "receives", transport_sending_queue_total = "sending", transport_sends_total = "sends",
  write_bytes_total = "normalwrittenbytes", write_pages_total = "writepages",
}
local OPERATION = { major_timeouts_total = "op_timeouts", queue_time_seconds_total = "op_queue_time",
  received_bytes_total = "op_received", request_time_seconds_total = "op_time", requests_total = "op_count",
  response_time_seconds_total = "op_rtt_time", sent_bytes_total = "op_sent",
  transmissions_total = "op_transmissions" }

describe("NFS of node_exporter's tree", function()
  it("equals what node_exporter shows", function()
    local dir = L.copy()
    L.sh(("cp -r %s/proc/10 %s/proc/self; rm -rf %s/proc/net/rpc; cp -r %s/proc/net/rpc %s/proc/net"):format(
      L.node_exporter, dir, dir, L.node_exporter, dir))
    local d = L.dump(dir .. "/proc", dir .. "/sys")
    L.remove(dir)
    local compared = { calls = 0, mounts = 0, operations = 0 }

    local plain = {} -- the calls without "_"
    for id, value in pairs(d.stat) do
      local kstat, call = id:match("^nfs:0:(rfs%l+_v%d):([%w_]+)$")
      if kstat then
        plain[kstat .. ":" .. call:gsub("_", "")] = value
      end
    end
    local function call(who, method, version, value)
      method = method:lower()
      method = CALLS[who .. ":" .. version .. ":" .. method] or CALLS[version .. ":" .. method] or CALLS[method]
        or method
      local id = (who == "nfs" and "rfsreqcnt_v" or "rfsproccnt_v") .. version .. ":" .. method
      -- It shows a 0 for calls that the file does not have.
      if method == "wdelegetattr" or method == "wdeleggetattr" then
        plain[id] = d.stat["nfs:0:nfsd:wdeleg_getattr"]
      end
      assert.equal(value, tonumber(plain[id] or 0), id)
      compared.calls = compared.calls + 1
    end
    -- udp: the mount of version 3. Queue times below 0 are none.
    local function instance(protocol)
      return protocol == "udp" and 44 or 42
    end
    for line in L.node_metrics() do
      local name, labels, value = line:match("^node_([%w_]+){(.*)} (%S+)$")
      value = tonumber(value)
      local who, _ = (name or ""):match("^(nfsd?)_requests_total$")
      local protocol = labels and labels:match('protocol="(%l+)"')
      local operation = name and OPERATION[name:match("^mountstats_nfs_operations_([%w_]+)$")]
      local stat = name and MOUNT[name:match("^mountstats_nfs_([%w_]+)$")]
      if who then
        call(who, labels:match('method="(%w+)"'), labels:match('proto="(%d)"'), value)
      elseif operation then
        local id = ("nfs:%d:%s:%s"):format(instance(protocol), operation, labels:match('operation="(%u+)"'):lower())
        local scale = operation:find("time$") and 1e9 or 1
        if value < 1e12 and (d.stat[id] or value ~= 0) then
          assert.is_true(math.abs(value - tonumber(d.stat[id]) / scale) <= value * 1e-9, id)
        end
        compared.operations = compared.operations + 1
      elseif stat then
        local id = ("nfs:%d:mountstats:%s"):format(instance(protocol), stat)
        assert.equal(value, tonumber(d.stat[id] or 0), id)
        compared.mounts = compared.mounts + 1
      end
    end
    assert.same({ calls = 173, mounts = 90, operations = 56 }, compared)
    assert.equal("18628", d.stat["unix:0:rpc_server:calls"])
    assert.equal("374636", d.stat["unix:0:rpc_client:retrans"])
    assert.equal("157286400", d.stat["nfs:0:nfsd:read_bytes"])
  end)
end)
