-- What the Linux source says of the network: protocols, sockets, neighbours, links.
local L = require("support.linux")
local run = require("support.run")
local cjson = require("cjson")

local same = L.same

-- A tree with these files only, by path below it; remove it with L.remove.
local function tree_of(files)
  local dir = run.shell("mktemp -d").out:gsub("\n", "")
  L.sh(("mkdir -p %s/proc %s/sys"):format(dir, dir))
  for path, text in pairs(files) do
    L.sh(("mkdir -p $(dirname %s/%s)"):format(dir, path))
    L.write(dir .. "/" .. path, text)
  end
  return dir
end

-- The dump of a tree with these files only.
local function dump_of(files)
  local dir = tree_of(files)
  local d = L.dump(dir .. "/proc", dir .. "/sys")
  L.remove(dir)
  return d
end

describe("the network in a recorded tree", function()
  local d

  setup(function() d = L.dump_tree("small") end)

  it("has IPv6 with names like those of IPv4", function()
    same(d, "ip:0:ip6", { inReceives = "101", forwDatagrams = "110", fragCreates = "120", inOctets = "123",
      inCEPkts = "132", outTransmits = "133" })
    same(d, "ip:0:icmpv6", { inMsgs = "134", inCksumErrs = "138", inDestUnreachs = "140", outMLDv2Reports = "169" })
    same(d, "udp:0:udp6", { inDatagrams = "174", inOverflows = "178", memErrors = "182" })
    same(d, "udp:0:udplite6", { inDatagrams = "183" })
    same(d, "ip:0:icmpv6_msg", { InType1 = "170", OutType143 = "173" })
    assert.equal("mib2", d.kstat["ip:0:ip6"].class)
    assert.equal("bytes", d.meta["ip:0:ip6:inOctets"].unit)
    assert.matches("type 135 %(neighbour solicitation%), sent", d.meta["ip:0:icmpv6_msg:OutType135"].desc)
  end)

  it("has UDP-Lite, MPTCP and ICMP messages by type", function()
    same(d, "udp:0:udp", { ignoredMulti = "11", memErrors = "12" })
    same(d, "udp:0:udplite", { inDatagrams = "1", noPorts = "2", inOverflows = "5", memErrors = "9" })
    same(d, "tcp:0:mptcp_ext", { MPTCPRetrans = "5", SomethingNew = "7" })
    assert.equal("gauge", d.meta["tcp:0:mptcp_ext:MPCurrEstab"].kind)
    same(d, "ip:0:icmp_msg", { InType3 = "104", OutType8 = "120" })
    assert.matches("type 8 %(echo request%), sent", d.meta["ip:0:icmp_msg:OutType8"].desc)
    assert.matches("not known", d.meta["ip:0:icmp_msg:OutType99"].desc)
  end)

  it("has the errors of IPsec", function()
    same(d, "ip:0:xfrm", { inError = "1", inNoStates = "3", outPolDead = "7656" })
    assert.is_nil(d.stat["ip:0:xfrm:inPolBlock"])
  end)

  it("has sockets by protocol, with their memory in bytes", function()
    same(d, "sockets:0:all", { used = "229" })
    same(d, "sockets:0:tcp", { inuse = "4", orphan = "1", tw = "5", alloc = "17", memory = tostring(3 * 4096) })
    same(d, "sockets:0:udp", { inuse = "6", memory = tostring(2 * 4096) })
    same(d, "sockets:0:frag", { inuse = "2", memory = "4096" })
    same(d, "sockets:0:tcp6", { inuse = "17" })
    assert.is_nil(d.stat["sockets:0:tcp6:tw"])
    assert.is_nil(d.kstat["sockets:0:udplite6"], "the file has no such line")
  end)

  it("has what each CPU received, by the number of the CPU", function()
    same(d, "cpu:0:softnet", { processed = tostring(0x49279), dropped = "2", time_squeezed = "1",
      cpu_collision = "3", received_rps = "4", flow_limit = "5", backlog_len = "6", input_qlen = "4",
      process_qlen = "2" })
    same(d, "cpu:2:softnet", { dropped = tostring(0x29) })
    assert.is_nil(d.kstat["cpu:1:softnet"])
  end)

  it("has neighbours and tracked connections, added up over the CPUs", function()
    same(d, "neighbour:0:arp", { entries = "20", entries_max = "1024", allocs = tostring(1 + 0xd),
      table_fulls = tostring(0xc + 0x18) })
    same(d, "conntrack:0:nf_conntrack", { entries = "123", entries_max = "65536", buckets = "16384",
      invalid = "6", ignore = tostring(0x588a + 0x56a4), search_restart = tostring(0xf) })
    assert.is_nil(d.stat["conntrack:0:nf_conntrack:searched"], "this kernel does not count it")
    assert.is_nil(d.kstat["neighbour:0:ndisc"])
  end)

  it("describes every statistic", function()
    for id in pairs(d.stat) do
      assert.is_not_nil(d.meta[id], id)
    end
    assert.same({}, d.error)
    assert.same({}, d.warnings)
  end)
end)

describe("the network of another kernel", function()
  it("may have fewer sections and columns", function()
    local d = dump_of({
      ["proc/net/snmp"] = "Udp: InDatagrams NoPorts\nUdp: 1 2\n",
      ["proc/net/netstat"] = "TcpExt: SyncookiesSent\nTcpExt: 1\n",
      ["proc/net/softnet_stat"] = ("0000000%x 00000000 00000000 00000000 00000000 00000000 00000000 00000000 " ..
        "00000000 00000000 00000000\n"):rep(2):format(7, 9),
      ["proc/net/stat/nf_conntrack"] = "entries searched found\n00000002 00000003 00000004\n",
      ["proc/sys/net/netfilter/nf_conntrack_count"] = "2\n",
    })
    same(d, "udp:0:udp", { inDatagrams = "1", noPorts = "2" })
    assert.is_nil(d.stat["udp:0:udp:memErrors"])
    assert.is_nil(d.kstat["udp:0:udplite"])
    assert.is_nil(d.kstat["tcp:0:mptcp_ext"])
    assert.is_nil(d.kstat["ip:0:ip6"])
    same(d, "cpu:0:softnet", { processed = "7" })
    same(d, "cpu:1:softnet", { processed = "9" })
    assert.is_nil(d.stat["cpu:1:softnet:backlog_len"])
    same(d, "conntrack:0:nf_conntrack", { searched = "3", entries = "2" })
    assert.is_nil(d.stat["conntrack:0:nf_conntrack:entries_max"])
    assert.same({}, d.warnings)
    assert.same({}, d.error)
  end)

  it("is left out where it cannot be parsed, and the file is named", function()
    local d = dump_of({
      ["proc/net/snmp6"] = "Ip6InReceives 7\nIp6InDelivers -1\n\nIp6OutRequests 8 9\n",
      ["proc/net/sockstat"] = "TCP: inuse 4 orphan x\n",
      ["proc/net/softnet_stat"] = "00000001 00000002 00000003 xyz\n00000001\n",
      ["proc/net/stat/arp_cache"] = "entries allocs\n00000001 00000002 garbage\n",
    })
    same(d, "ip:0:ip6", { inReceives = "7" })
    assert.is_nil(d.stat["ip:0:ip6:inDelivers"])
    assert.is_nil(d.stat["ip:0:ip6:outRequests"])
    same(d, "sockets:0:tcp", { inuse = "4" })
    assert.is_nil(d.stat["sockets:0:tcp:orphan"])
    same(d, "neighbour:0:arp", { entries = "1", allocs = "2" })
    table.sort(d.warnings)
    local files = {}
    for _, line in ipairs(d.warnings) do
      files[#files + 1] = line:match("/proc/(net/[%w_/]+): line %d+ cannot be understood")
    end
    assert.same({ "net/snmp6", "net/sockstat", "net/softnet_stat", "net/stat/arp_cache" }, files)
  end)

  it("counts on where the kernel's 32 bits pass their width", function()
    local function line(n) return ("%08x 00000000 00000000\n"):format(n) end
    local dir = tree_of({ ["proc/net/softnet_stat"] = line(0xfffffff0) })
    local l = L.dumps(dir .. "/proc", dir .. "/sys", ("printf '%s' >%s/proc/net/softnet_stat"):format(
      line(0x10):gsub("\n", "\\n"), dir))
    L.remove(dir)
    same(l[1], "cpu:0:softnet", { processed = tostring(0xfffffff0) })
    same(l[2], "cpu:0:softnet", { processed = tostring(0x100000010) })
  end)
end)

-- --- the running machine ----------------------------------------------------------------------------

local namespace = run.shell("unshare -n ip link show lo").status == 0

-- The dump of an own network namespace after shell commands, and what they printed. More dumps after further ones.
local function in_namespace(commands, ...)
  local program = run.shell("mktemp").out:gsub("\n", "")
  L.write(program, ("#!/bin/sh\nset -e\n%s\nexec %s/spec/core_linux \"$@\"\n"):format(commands, run.build))
  L.sh("chmod 755 " .. program)
  local list = L.dumps_of("unshare -n " .. program, "-", "-", ...)
  L.remove(program)
  return list
end

local function ip_links()
  local links = {}
  for _, link in ipairs(cjson.decode(run.shell("ip -j -s -s -d link").out)) do
    links[link.ifname] = link
  end
  return links
end

-- Asserts that a value lies between two others, taken before and after it.
local function between(before, value, after, what)
  assert.is_true(before <= value and value <= after, ("%s: %s <= %s <= %s"):format(what, before, value, after))
end

local counters = {
  rx = { bytes = "rbytes64", packets = "ipackets64", errors = "ierrors", multicast = "multircv",
    length_errors = "rx_length_errors", crc_errors = "rx_crc_errors", frame_errors = "rx_frame_errors",
    fifo_errors = "rx_fifo_errors", missed_errors = "rx_missed_errors", over_errors = "rx_over_errors" },
  tx = { bytes = "obytes64", packets = "opackets64", errors = "oerrors", dropped = "noxmtbuf",
    collisions = "collisions", carrier_changes = "carrier_changes", aborted_errors = "tx_aborted_errors",
    fifo_errors = "tx_fifo_errors", window_errors = "tx_window_errors", heartbeat_errors = "tx_heartbeat_errors" },
}

describe("network links of this machine", function()
  it("have the figures of ip -s -s link", function()
    if run.shell("ip -j link").status ~= 0 then
      return pending("there is no ip -j link here")
    end
    local before, d, after = ip_links(), L.dump("-", "-"), ip_links()
    for name, link in pairs(after) do
      local first = before[name]
      for direction, stats in pairs(counters) do
        for theirs, ours in pairs(stats) do
          local value = link.stats64[direction][theirs]
          if value and first then
            local id = ("link:0:%s:%s"):format(name, ours)
            between(first.stats64[direction][theirs], tonumber(d.stat[id]), value, id)
          end
        end
      end
      same(d, "link:0:" .. name, { mtu = ("%d"):format(link.mtu), ifindex = ("%d"):format(link.ifindex) })
    end
  end)

  it("have the figures of /proc/net/dev, columns that are sums included", function()
    local function columns()
      local links = {}
      for line in io.lines("/proc/net/dev") do
        local name, rest = line:match("^%s*([^%s:|]+):(.*)$")
        local numbers = {}
        for number in (rest or ""):gmatch("%d+") do
          numbers[#numbers + 1] = tonumber(number)
        end
        links[name or ""] = numbers
      end
      return links
    end
    local before, d, after = columns(), L.dump("-", "-"), columns()
    local names = { "rbytes64", "ipackets64", "ierrors", "norcvbuf", "rx_fifo_errors", "frame_errors", "rx_compressed",
      "multircv", "obytes64", "opackets64", "oerrors", "noxmtbuf", "tx_fifo_errors", "collisions", "carrier_errors",
      "tx_compressed" }
    for link, numbers in pairs(before) do
      for i, number in ipairs(numbers) do
        local id = ("link:0:%s:%s"):format(link, names[i])
        between(number, tonumber(d.stat[id]), after[link][i], id)
      end
    end
  end)

  it("say what kind they are and what they belong to, and come and go", function()
    if not namespace then
      return pending("network namespaces cannot be made here")
    end
    -- The kernel brings a link up a moment after it was told to.
    local l = in_namespace([[
      ip link add bridge9 type bridge
      ip link add veth8 type veth peer name veth9
      ip link set veth8 master bridge9 up
      ip link set veth9 mtu 1280]],
      "ip link set veth9 up; ip link set bridge9 up; for i in $(seq 1200); do " ..
      "ip link show veth8 | grep -q 'state UP' && exit; sleep 0.05; done; exit 1",
      "ip link set veth9 name lan9", "ip link del veth8")
    same(l[1], "link:0:bridge9", { kind = "bridge", slaves = "1", slaves_up = "0", admin_state = "0" })
    same(l[1], "link:0:veth8", { kind = "veth", master = "bridge9", admin_state = "1", link_state = "0" })
    same(l[1], "link:0:veth9", { mtu = "1280", admin_state = "0" })
    assert.is_nil(l[1].stat["link:0:veth9:master"])
    assert.is_nil(l[1].stat["link:0:lo:kind"])
    same(l[2], "link:0:bridge9", { slaves_up = "1" })
    same(l[2], "link:0:veth8", { link_state = "1" })
    assert.is_true(tonumber(l[2].stat["link:0:veth8:carrier_changes"]) >
      tonumber(l[1].stat["link:0:veth8:carrier_changes"]))
    assert.is_nil(l[3].kstat["link:0:veth9"])
    same(l[3], "link:0:lan9", { mtu = "1280" })
    assert.is_nil(l[4].kstat["link:0:lan9"])
    assert.is_nil(l[4].kstat["link:0:veth8"])
    same(l[4], "link:0:bridge9", { slaves = "0" })
    for i = 1, 4 do
      for id, message in pairs(l[i].error) do
        assert.falsy(id:find("^link:") or id:find("^qdisc:"), message)
      end
    end
  end)

  it("count on between two looks at the list", function()
    if not namespace then
      return pending("network namespaces cannot be made here")
    end
    local l = in_namespace("ip link set lo up", "read:ping -c 3 -i 0.01 127.0.0.1 >/dev/null || " ..
      "bash -c 'for i in 1 2 3; do echo >/dev/udp/127.0.0.1/9; done'", "read:true")
    local first, second = tonumber(l[1].stat["link:0:lo:ipackets64"]), tonumber(l[2].stat["link:0:lo:ipackets64"])
    assert.is_true(second >= first + 3, ("%d, then %d"):format(first, second))
    assert.equal(l[2].stat["link:0:lo:ipackets64"], l[3].stat["link:0:lo:ipackets64"])
  end)

  it("are answered to each process on its own after a fork", function()
    if not namespace then
      return pending("network namespaces cannot be made here")
    end
    -- So many links that an answer comes in several parts.
    local r = run.shell(("unset KSTAT_SOURCE KSTAT_PROC KSTAT_SYS; unshare -n sh -c '" ..
      "for i in $(seq 60); do echo link add v$i type veth peer name w$i; done | ip -batch - && " ..
      "exec %s/spec/core_link_fork'"):format(run.build))
    assert.same({ 0, "0\n" }, { r.status, r.out })
  end)

  it("come from /proc/net/dev where netlink is refused", function()
    if run.shell("strace -o /dev/null true").status ~= 0 then
      return pending("processes cannot be traced here: no strace, or no ptrace()")
    end
    local r = run.shell(("unset KSTAT_SOURCE KSTAT_PROC KSTAT_SYS; " ..
      "strace -f -o /dev/null -e inject=socket:error=EAFNOSUPPORT %s/kstat -p link:0:lo"):format(run.bin))
    assert.equal("", r.err)
    for _, stat in ipairs({ "rbytes64", "frame_errors", "rx_fifo_errors", "mtu" }) do
      assert.matches("link:0:lo:" .. stat .. "\t%d+\n", r.out)
    end
    assert.falsy(r.out:find("rx_nohandler", 1, true))
  end)
end)

-- The statistic that shows a counter of nstat; nil if nstat makes it up.
local function id_of(counter)
  local own = { TcpExt = "tcp:0:tcp_ext:", IpExt = "ip:0:ip_ext:", MPTcpExt = "tcp:0:mptcp_ext:" }
  local solaris = { Ip6 = "ip:0:ip6:", Icmp6 = "ip:0:icmpv6:", Udp6 = "udp:0:udp6:", UdpLite6 = "udp:0:udplite6:",
    Ip = "ip:0:ip:", Icmp = "ip:0:icmp:", Tcp = "tcp:0:tcp:", Udp = "udp:0:udp:", UdpLite = "udp:0:udplite:" }
  local names = { RcvbufErrors = "inOverflows", SndbufErrors = "outErrors", OutForwDatagrams = "forwDatagrams",
    InCsumErrors = "inCksumErrs" }
  for _, section in ipairs({ "TcpExt", "MPTcpExt", "IpExt" }) do
    if counter:sub(1, #section) == section then
      return own[section] .. counter:sub(#section + 1)
    end
  end
  for _, section in ipairs({ "UdpLite6", "UdpLite", "Icmp6", "Icmp", "Udp6", "Udp", "Ip6", "Ip", "Tcp" }) do
    if counter:sub(1, #section) == section then
      local name = counter:sub(#section + 1)
      return solaris[section] .. (names[name] or name:sub(1, 1):lower() .. name:sub(2))
    end
  end
end

describe("protocols and sockets of this machine", function()
  it("have the figures of nstat", function()
    local function counters_now()
      local now = {}
      for name, value in run.shell("nstat -asz").out:gmatch("\n(%w+) +(%d+)") do
        now[name] = tonumber(value)
      end
      return now
    end
    local before, d, after = counters_now(), L.dump("-", "-"), counters_now()
    local n = 0
    for name, value in pairs(before) do
      local id = id_of(name)
      if id and d.stat[id] and d.meta[id].kind == "counter" then
        between(value, tonumber(d.stat[id]), after[name], name)
        n = n + 1
      end
    end
    if next(before) == nil then
      return pending("there is no nstat here")
    end
    assert.is_true(n > 200, n .. " counters were compared")
  end)

  it("have the figures of ss -s", function()
    if run.shell("ss -s").status ~= 0 then
      return pending("there is no ss here")
    end
    local function now()
      local out = run.shell("ss -s").out
      local orphan, tw = out:match("orphaned (%d+), timewait (%d+)")
      local _, udp, udp6 = out:match("UDP%s+(%d+)%s+(%d+)%s+(%d+)")
      local _, tcp, tcp6 = out:match("TCP%s+(%d+)%s+(%d+)%s+(%d+)%s*\n")
      return { ["tcp:orphan"] = orphan, ["tcp:tw"] = tw, ["udp:inuse"] = udp, ["udp6:inuse"] = udp6,
        ["tcp:inuse"] = tcp, ["tcp6:inuse"] = tcp6 }
    end
    -- Others open and close sockets meanwhile: once nothing changes from ss to ss, the figures are the same.
    run.await("ss -s and the kstats to agree", function()
      local before, d, after = now(), L.dump("-", "-"), now()
      for stat, value in pairs(before) do
        if value ~= after[stat] or d.stat["sockets:0:" .. stat] ~= value then
          return false
        end
      end
      return before["tcp:tw"] ~= nil and before["tcp6:inuse"] ~= nil
    end)
  end)
end)

describe("queues of this machine's links", function()
  it("have the figures of tc -s qdisc", function()
    local function queues()
      local r = run.shell("tc -j -s qdisc show")
      return r.status == 0 and cjson.decode(r.out) or nil
    end
    local before, d, after = queues(), L.dump("-", "-"), queues()
    if not before then
      return pending("there is no tc -j here")
    end
    for i, queue in ipairs(after) do
      if queue.root and queue.dev == before[i].dev then
        local id = ("qdisc:0:%s:"):format(queue.dev)
        assert.equal(queue.kind, d.stat[id .. "kind"])
        for _, stat in ipairs({ "bytes", "packets", "drops", "overlimits", "requeues" }) do
          between(before[i][stat], tonumber(d.stat[id .. stat]), queue[stat], id .. stat)
        end
      end
    end
  end)

  it("count what they drop", function()
    if not namespace or run.shell("unshare -n tc qdisc add dev lo root pfifo limit 1").status ~= 0 then
      return pending("network namespaces with a queue cannot be made here")
    end
    local l = in_namespace([[ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up
      tc qdisc add dev v0 root tbf rate 8kbit burst 1540 limit 1600; ip addr add 10.9.9.1/24 dev v0
      ip neigh add 10.9.9.2 lladdr 02:00:00:00:00:01 dev v0]],
      "read:bash -c 'for i in $(seq 20); do head -c 900 /dev/zero >/dev/udp/10.9.9.2/9; done' 2>/dev/null || true")
    same(l[2], "qdisc:0:v0", { kind = "tbf" })
    assert.is_true(tonumber(l[2].stat["qdisc:0:v0:drops"]) > tonumber(l[1].stat["qdisc:0:v0:drops"]))
    assert.is_true(tonumber(l[2].stat["qdisc:0:v0:backlog"]) > 0)
  end)
end)

-- Listens at 127.0.0.1:5001 with two sockets and at [::1]:5002, opens connections, and runs its arguments.
local sockets = [[
import socket, subprocess, sys
held = []
def listen(family, address, backlog):
    s = socket.socket(family)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(address)
    s.listen(backlog)
    held.append(s)
    return s
def connect(family, address):
    c = socket.socket(family)
    c.connect(address)
    held.append(c)
    return c
for backlog in (7, 4):
    listen(socket.AF_INET, ("127.0.0.1", 5001), backlog)
server = listen(socket.AF_INET6, ("::1", 5002), 5)
for i in range(3):
    connect(socket.AF_INET, ("127.0.0.1", 5001))
first = connect(socket.AF_INET6, ("::1", 5002))
accepted = server.accept()[0]
first.sendall(b"hello")
sys.exit(subprocess.call(sys.argv[1:]))
]]

describe("TCP sockets of this machine", function()
  it("are counted by state and by listener, where they are asked for", function()
    if not namespace or run.shell("python3 -c 'import socket'").status ~= 0 then
      return pending("network namespaces cannot be made here, or there is no python3")
    end
    local program = run.shell("mktemp").out:gsub("\n", "")
    L.write(program, sockets)
    local function shown(with, operands)
      return run.shell(("unset KSTAT_SOURCE KSTAT_PROC KSTAT_SYS; export KSTAT_WITH=%s; unshare -n " ..
        "sh -c 'ip link set lo up; exec python3 %s %s/kstat -p %s'"):format(with, program, run.bin, operands)).out
    end
    local all, named = shown("listen,tcp_state", ""), shown("", "listen::: tcp_state:::")
    local none = shown("", "")
    L.remove(program)
    for _, text in ipairs({ all, named }) do
      local out = "\n" .. text
      for id, value in pairs({ ["listen:5001:tcp,127.0.0.1:sockets"] = 2, ["listen:5001:tcp,127.0.0.1:queue"] = 3,
        ["listen:5001:tcp,127.0.0.1:queue_max"] = 11, ["listen:5001:tcp,127.0.0.1:drops"] = 0,
        ["listen:5001:tcp,127.0.0.1:address"] = "127.0.0.1", ["listen:5002:tcp6,__1:queue"] = 0,
        ["listen:5002:tcp6,__1:address"] = "::1", ["tcp_state:0:tcp:listen"] = 2, ["tcp_state:0:tcp:established"] = 6,
        ["tcp_state:0:tcp6:listen"] = 1, ["tcp_state:0:tcp6:established"] = 2, ["tcp_state:0:tcp6:rx_queued"] = 5,
        ["tcp_state:0:tcp:time_wait"] = 0 }) do
        assert.truthy((out):find(("\n%s\t%s\n"):format(id, value), 1, true), id .. " is " .. value .. " in\n" .. out)
      end
    end
    assert.falsy(none:find("listen:5001", 1, true))
    assert.falsy(none:find("tcp_state:", 1, true))
  end)
end)

describe("ports for connections from here", function()
  it("are counted towards the address with most, with its user, once half of them may be in use", function()
    if not namespace or run.shell("python3 -c ''").status ~= 0 then
      return pending("network namespaces cannot be made here, or there is no Python")
    end
    local program = os.tmpname()
    run.write_file(program, [[
import socket, subprocess, sys
to = socket.socket()
to.bind(("127.0.0.1", 9999))
to.listen(64)
held = []
def connect(n):
    for i in range(n):
        held.append(socket.create_connection(("127.0.0.1", 9999)))
        held.append(to.accept()[0])
    subprocess.run([sys.argv[1], "-p", "ports"], check=True)
connect(1)
connect(8)
]])
    local out = run.shell(("unset KSTAT_SOURCE KSTAT_PROC KSTAT_SYS; unshare -n sh -c 'ip link set lo up; " ..
      'echo "40000 40009" >/proc/sys/net/ipv4/ip_local_port_range; exec python3 %s %s/kstat' .. "'"):format(program,
      run.bin)).out
    L.remove(program)
    local used = {}
    for n in out:gmatch("\nports:0:tcp:used\t(%d+)\n") do
      used[#used + 1] = n
    end
    assert.same({ "9" }, used, out)
    assert.matches("\nports:0:tcp:ports\t10\n", out)
    assert.matches("\nports:0:tcp:to\t127%.0%.0%.1:9999\nports:0:tcp:uid\t%d+\nports:0:tcp:used\t9\n", out)
  end)
end)

describe("other network name spaces", function()
  it("show what their listeners dropped, and the first process in each", function()
    if not namespace or run.shell("python3 -c ''").status ~= 0 then
      return pending("network namespaces cannot be made here, or there is no Python")
    end
    local program = os.tmpname()
    run.write_file(program, [[
import socket, sys
to = socket.socket()
to.bind(("127.0.0.1", 9999))
to.listen(1)
held = [socket.socket() for i in range(9)]
for s in held:
    s.setblocking(False)
    s.connect_ex(("127.0.0.1", 9999))
print(flush=True)
sys.stdin.read()
]])
    local shell = ([[unset KSTAT_SOURCE KSTAT_PROC KSTAT_SYS; mkfifo P.in P.out
      unshare -n sh -c 'ip link set lo up; exec python3 P' <P.in >P.out & exec 3>P.in
      read line <P.out; echo "pid $!"; BIN/kstat -p netns; exec 3>&-; wait; rm P.in P.out]]):gsub("P%f[ .']", program)
    local out = run.shell((shell:gsub("BIN", run.bin))).out
    L.remove(program)
    local pid = out:match("pid (%d+)\n")
    local inode = assert(out:match("\nnetns:0:(%d+):pid\t" .. pid .. "\n"), out)
    assert.matches(("\nnetns:0:%s:ListenOverflows\t[1-9]"):format(inode), out)
    assert.truthy(out:find(("\nnetns:0:%s:fname\tpython3\n"):format(inode), 1, true), out)
  end)
end)

describe("sockets of this machine", function()
  it("are counted without those that kstat asks the kernel with", function()
    if not namespace then
      return pending("network namespaces cannot be made here")
    end
    local r = run.shell(("unset KSTAT_SOURCE KSTAT_PROC KSTAT_SYS KSTAT_WITH; unshare -n sh -c '" ..
      "%s/kstat -p sockets:0:all:used; %s/kstat -p | grep ^sockets:0:all:used'"):format(run.bin, run.bin))
    assert.equal(("sockets:0:all:used\t0\n"):rep(2), r.out)
  end)
end)

describe("what is slow to list", function()
  it("is there once an open chain is asked for it", function()
    local r = run.shell(("unset KSTAT_SOURCE KSTAT_PROC KSTAT_SYS KSTAT_WITH; %s/kstatlua -e '%s'"):format(run.bin,
      "local function n(ks) return #ks:select({ module = [[netdev]] }) end " ..
      "print(n(kstat.open()), n(kstat.open({ only = { module = [[netdev]] } })))"))
    assert.matches("^(%d+)\t%1\n$", r.out)
  end)
end)

describe("drivers of this machine's links", function()
  it("show what ethtool -S shows, for links that are named", function()
    if not namespace or run.shell("ethtool --version").status ~= 0 then
      return pending("network namespaces cannot be made here, or there is no ethtool")
    end
    local r = run.shell(("unset KSTAT_SOURCE KSTAT_PROC KSTAT_SYS KSTAT_WITH; unshare -n sh -c '" ..
      "ip link add v0 type veth peer name v1 && ethtool -S v0 && %s/kstat -p ethtool:0:v0; " ..
      "%s/kstat -l -c net_driver; true'"):format(run.bin, run.bin))
    local n = 0
    for stat, value in r.out:gmatch("\n +([%w_]+): (%d+)") do
      assert.truthy(r.out:find(("ethtool:0:v0:%s\t%s\n"):format(stat, value), 1, true), stat)
      n = n + 1
    end
    assert.is_true(n > 0)
    assert.falsy(r.out:find("ethtool:0:v1", 1, true))
    assert.falsy(r.out:find("ethtool:0:lo", 1, true), "the loopback has no such statistics")
  end)
end)
