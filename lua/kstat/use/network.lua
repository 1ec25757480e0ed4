--- Links, and what the network drops for all of them, as kstatlua use measures it.
-- @module kstat.use.network
local figures = require("kstat.use.figures")
local latency = require("kstat.figures.latency")

local count, now, percent, sum_of = figures.count, figures.now, figures.percent, figures.sum_of

local limits = {
  { "link", "utilization", "speed", unit = "%", warning = 90,
    file = "/proc/net/dev: bytes, /sys/class/net/*/speed",
    reason = "Of the busier direction; of both together if the link is not full duplex. Peaks fill the rest." },
  { "link", "saturation", "dropped", unit = "%", critical = 2,
    file = "/proc/net/dev: drop of what was sent; rx_missed_errors; drops of the queueing discipline (netlink)",
    reason = "Share of the packets for which there was no room. TCP is slow from 1 or 2 % on. Less than one a " ..
      "second is not counted, nor what is sent to a link without a carrier." },
  { "link", "saturation", "unwanted", unit = "per s", warning = 100, quiet = true,
    file = "/proc/net/dev: drop of what was received",
    reason = "Packets that arrived and were dropped by the kernel, mostly of protocols that nobody here has (LLDP, " ..
      "spanning tree): a few a second are on every network. So many may be meant for somebody, or cost CPU time." },
  { "link", "errors", "errors", unit = "", warning = 1, critical = 1, hourly = true,
    file = "/proc/net/dev: errs",
    reason = "Packets arrived damaged or could not be sent: cable, port or driver." },
  { "link", "errors", "carrier changes", unit = "", warning = 1, critical = 1, hourly = true,
    file = "/sys/class/net/*/carrier_changes",
    reason = "The carrier went or came: cable, port, or the machine on the other side." },
  { "network", "saturation", "backlog dropped", unit = "per s", critical = 1,
    file = "/proc/net/softnet_stat: dropped",
    reason = "Packets dropped because a CPU did not keep up with what arrived. A link that goes takes some along." },
  { "network", "saturation", "listen overflows", unit = "", warning = 1, critical = 1, hourly = true,
    file = "/proc/net/netstat: ListenOverflows",
    reason = "Connections dropped because a program did not accept them fast enough." },
  { "network", "saturation", "refused SYNs", unit = "per s", critical = 1, quiet = true,
    file = "/proc/net/netstat: ListenDrops less ListenOverflows; net.ipv4.tcp_max_syn_backlog",
    reason = "Connections that were not begun, because too many half open ones waited at a port already: a flood, " ..
      "or answers that do not arrive. net.ipv4.tcp_syncookies=1 goes on without the queue." },
  { "network", "errors", "refused connections", unit = "per s", warning = 1, quiet = true,
    file = "kstatlua latency: connections that were refused",
    reason = "Connections from here that a server refused, ten or more: it does not run. Those by IPv6 count as far " ..
      "as there are more than connections by IPv4, which follow where a server has no other address." },
  { "network", "saturation", "SYN cookies", unit = "per s", warning = 10, quiet = true,
    file = "/proc/net/netstat: SyncookiesSent; net.ipv4.tcp_max_syn_backlog",
    reason = "The queue of half open connections of a port is full, and the kernel goes on without it: a flood, or " ..
      "more clients than the backlog is made for." },
  { "network", "saturation", "socket backlog", unit = "per s", critical = 1, quiet = true,
    file = "/proc/net/netstat: TCPBacklogDrop; net.core.rmem_max",
    reason = "TCP's segments dropped because the backlog of their socket was full while its program held it." },
  { "network", "saturation", "TCP memory", unit = "per s", warning = 0.1, critical = 1, quiet = true,
    file = "/proc/net/netstat: RcvPruned, TCPAbortOnMemory; net.ipv4.tcp_mem, tcp_rmem",
    reason = "Data that had arrived were thrown away, or connections ended, for want of memory for sockets." },
  { "network", "saturation", "TIME_WAIT overflow", unit = "per s", warning = 1, quiet = true,
    file = "/proc/net/netstat: TCPTimeWaitOverflow; net.ipv4.tcp_max_tw_buckets",
    reason = "Connections that ended were forgotten at once: late segments may meet a new connection of their port." },
  { "network", "saturation", "reassembly", unit = "per s", warning = 1, critical = 100, quiet = true,
    file = "/proc/net/snmp: ReasmFails; net.ipv4.ipfrag_high_thresh, ipfrag_time",
    reason = "Packets of which parts were missing, or found no room: large datagrams of UDP get lost." },
  { "network", "saturation", "reverse path", unit = "%", warning = 2, critical = 50, quiet = true,
    file = "/proc/net/netstat: IPReversePathFilter; net.ipv4.conf.*.rp_filter",
    reason = "Share of the packets that were dropped because answers would leave by another link. Less than one a " ..
      "second is not counted." },
  { "network", "saturation", "udp overflows", unit = "%", critical = 1, quiet = true,
    file = "/proc/net/snmp, snmp6: RcvbufErrors",
    reason = "Share of the datagrams that were dropped because a program did not read them fast enough, or has too " ..
      "small a buffer. Less than one a second is not counted." },
  { "network", "saturation", "retransmitted", unit = "%", warning = 2, critical = 5, quiet = true,
    file = "/proc/net/snmp: RetransSegs, OutSegs",
    reason = "Share of TCP's segments that were sent again: packets get lost here, on the way, or where they go. " ..
      "SYNs and their answers do not count: who does not answer may not be there. Less than ten, or one a second, " ..
      "are not counted." },
  { "network", "saturation", "squeezed", unit = "per s", warning = 100, quiet = true,
    file = "/proc/net/softnet_stat: time_squeeze",
    reason = "Times that the CPU with most of them left packets for later, as net.core.netdev_budget was used up." },
}

-- Links without a cable, whose other end may go at any time: containers and machines come and go with them. Their
-- kinds as the kernel says them, and their names where it does not.
local CABLED_KINDS = { bond = true, team = true }
local CABLELESS = { "^lo$", "^veth", "^v?tap", "^tun", "^vnet", "^docker", "^podman", "^cni", "^cali", "^lxc", "^lxd",
  "^br%-", "^virbr", "^vmnet", "^vif", "^wg", "^dummy", "^flannel" }

local function has_cable(k)
  local kind = now(k, "kind", "string")
  if kind and kind ~= "" then
    return CABLED_KINDS[kind] or false
  end
  for _, pattern in ipairs(CABLELESS) do
    if k.name:find(pattern) then
      return false
    end
  end
  return true
end

-- What the limits are compared with, of one link, and who is to blame.
local function one(d, k)
  local r, w = count(k, "rbytes64") or count(k, "rbytes"), count(k, "obytes64") or count(k, "obytes")
  local speed = now(k, "ifspeed")
  local bytes = r and w and (now(k, "link_duplex") == 2 and math.max(r, w) or r + w)
  local packets = count(k, "ipackets64", "opackets64") or count(k, "ipackets", "opackets")
  local missed, received = count(k, "rx_missed_errors"), count(k, "norcvbuf")
  local dropped = sum_of({ k, (d:lookup("qdisc", 0, k.name)) }, "noxmtbuf", "drops", "rx_missed_errors")
  local up = now(k, "link_state")
  if dropped and k.elapsed and (dropped < k.elapsed or up == 0) then
    dropped = 0
  end
  local unwanted = received and math.max(received - (missed or 0), 0)
  return {
    speed = speed and speed > 0 and k.elapsed and percent(bytes and 8 * bytes, speed * k.elapsed) or nil,
    dropped = dropped == 0 and 0 or percent(dropped, packets and dropped and packets + dropped),
    unwanted = unwanted and k.elapsed and k.elapsed > 0 and unwanted / k.elapsed or nil,
    errors = count(k, "ierrors", "oerrors"), ["carrier changes"] = has_cable(k) and count(k, "carrier_changes") or nil,
  }, { ["carrier changes"] = up and (up == 1 and "now up" or "now down") }
end

-- A share in percent of what was counted, 0 where it is less than `least` or one a second.
local function share_of(part, all, elapsed, least)
  if not (part and all) then
    return nil
  end
  return part >= math.max(least, elapsed or 0) and percent(part, all) or 0
end

local REFUSED = 10

-- Connections per second that servers refused; nil where nothing counts them.
local function refused_connections(d)
  local n = latency.by(d, latency.connections, function(k)
    local outcome, side, family, space = k:get("outcome", "side", "family", "namespace")
    return space == "own" and side ~= "server" and ("%s %s"):format(outcome, family) or nil
  end)
  local function number(key)
    return n[key] and n[key].count or 0
  end
  local all = number("refused tcp") + math.max(number("refused tcp6") - number("established tcp"), 0)
  return next(n) and d.elapsed and d.elapsed > 0 and (all >= REFUSED and all / d.elapsed or 0) or nil
end

-- Connections per second that were dropped before they were made, and not because nobody accepts them.
local function refused_syns(k)
  local all, unaccepted = figures.per_second(k, "ListenDrops"), figures.per_second(k, "ListenOverflows")
  return all and math.max(all - (unaccepted or 0), 0)
end

-- The process that holds the socket of a listener. All descriptors are looked at for it, so it is asked only here.
local function owner_of(sample, k)
  local owner = sample and sample:select({ module = "listen", instance = k.instance, name = k.name .. ",owner",
    class = "socket_owner" })[1]
  local pid, name = (owner or k):get("pid", "fname")
  return pid and name and (" of %s[%d]"):format(name, pid) or ""
end

-- The ports at which connections were dropped. Asked at each tick, so that there is an earlier sample.
local function ports(d, sample)
  local dropping = {}
  for _, k in ipairs(d:select({ module = "listen", class = "socket" })) do
    dropping[#dropping + 1] = (count(k, "drops") or 0) > 0 and k or nil
  end
  return function()
    local names = {}
    for i, k in ipairs(dropping) do
      names[i] = "port " .. k.instance .. owner_of(sample, k)
    end
    return names[1] and table.concat(names, ", ")
  end
end

local function network(d, add, sample)
  local listeners = ports(d, sample)
  local extended, tcp = d:lookup("tcp", 0, "tcp_ext"), d:lookup("tcp", 0, "tcp")
  local udp = { d:lookup("udp", 0, "udp"), (d:lookup("udp", 0, "udp6")) }
  local softnet = figures.select(d, "cpu::softnet")
  local _, behind = figures.most(softnet, function(k) return count(k, "dropped") end)
  local squeezed, late = figures.most(softnet, function(k) return figures.per_second(k, "time_squeezed") end)
  local lost, again = sum_of(udp, "inOverflows"), count(tcp, "retransSegs")
  again = again and math.max(again - (count(extended, "TCPSynRetrans") or 0), 0)
  local ip = { d:lookup("ip", 0, "ip"), (d:lookup("ip", 0, "ip6")) }
  local unexpected, all = count(extended, "IPReversePathFilter"), sum_of(ip, "inReceives")
  add("network", "all", {
    ["backlog dropped"] = figures.per_second(behind, "dropped"),
    ["listen overflows"] = count(extended, "ListenOverflows") or count(tcp, "listenDrop", "listenDropQ0"),
    ["udp overflows"] = share_of(lost, sum_of(udp, "inDatagrams", "inOverflows"), udp[1] and udp[1].elapsed, 1),
    retransmitted = share_of(again, count(tcp, "retransSegs", "outSegs"), tcp and tcp.elapsed, 10),
    squeezed = squeezed,
    ["refused SYNs"] = refused_syns(extended), ["refused connections"] = refused_connections(d),
    ["SYN cookies"] = figures.per_second(extended, "SyncookiesSent"),
    ["socket backlog"] = figures.per_second(extended, "TCPBacklogDrop"),
    ["TCP memory"] = figures.per_second(extended, "RcvPruned", "TCPAbortOnMemory"),
    ["TIME_WAIT overflow"] = figures.per_second(extended, "TCPTimeWaitOverflow"),
    reassembly = (figures.most(ip, function(k) return figures.per_second(k, "reasmFails") end)),
    ["reverse path"] = share_of(unexpected, all, extended and extended.elapsed, 1),
  }, { ["refused SYNs"] = listeners, ["SYN cookies"] = listeners,
    ["backlog dropped"] = behind and "cpu" .. behind.instance, squeezed = late and "cpu" .. late.instance,
    ["listen overflows"] = listeners })
end

-- Other network name spaces, as those of containers, where connections were dropped.
local function elsewhere(d, add)
  for _, k in ipairs(figures.select(d, "netns:::")) do
    local overflows, refused = count(k, "ListenOverflows") or 0, refused_syns(k) or 0
    if overflows + refused > 0 then
      local first = ("%s[%d]"):format(now(k, "fname", "string") or "?", now(k, "pid") or 0)
      add("network", "of " .. first, { ["listen overflows"] = overflows, ["refused SYNs"] = refused },
        { ["listen overflows"] = first, ["refused SYNs"] = first })
    end
  end
end

local function measure(d, add, is_new, _, kept)
  for _, k in ipairs(figures.select(d, "class net")) do
    if now(k, "admin_state") ~= 0 and not is_new(k) then
      local values, who = one(d, k)
      add("link", k.name, values, who, k)
    end
  end
  network(d, add, kept and kept.now)
  elsewhere(d, add)
end

return {
  limits = limits, measure = measure, one = one,
  select = { { module = "link", class = "net" }, { class = "qdisc" },
    { module = "tcp", name = "/^tcp(_ext)?$/", class = "mib2" },
    { module = "udp", name = "/^udp6?$/", class = "mib2" }, { module = "ip", name = "/^ip6?$/", class = "mib2" },
    { module = "netns" }, { module = "listen", class = "socket" }, { module = "listen", class = "socket_owner" },
    { module = "cpu", name = "softnet", class = "misc" }, latency.connections },
}
