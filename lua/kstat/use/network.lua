--- Links, and what the network drops for all of them, as kstatlua use measures it.
--
-- @module kstat.use.network
local figures = require("kstat.use.figures")

local count, now, percent, sum_of = figures.count, figures.now, figures.percent, figures.sum_of

local limits = {
  { "link", "utilization", "speed", unit = "%", warning = 90,
    file = "/proc/net/dev: bytes, /sys/class/net/*/speed",
    reason = "Of the busier direction; of both together if the link is not full duplex. Peaks fill the rest." },
  { "link", "saturation", "dropped", unit = "%", critical = 2,
    file = "/proc/net/dev: drop, drops of the queueing discipline (netlink)",
    reason = "Share of the packets for which there was no room. TCP is slow from 1 or 2 % on. Less than one a " ..
      "second is not counted: some links drop packets of protocols that nobody wants." },
  { "link", "errors", "errors", unit = "", critical = 1, file = "/proc/net/dev: errs",
    reason = "Packets arrived damaged or could not be sent: cable, port or driver." },
  { "link", "errors", "carrier changes", unit = "", critical = 1, file = "/sys/class/net/*/carrier_changes",
    reason = "The carrier went or came: cable, port, or the machine on the other side." },
  { "network", "saturation", "backlog dropped", unit = "per s", critical = 1,
    file = "/proc/net/softnet_stat: dropped",
    reason = "Packets dropped because a CPU did not keep up with what arrived. A link that goes takes some along." },
  { "network", "saturation", "listen overflows", unit = "", critical = 1,
    file = "/proc/net/netstat: ListenOverflows",
    reason = "Connections dropped because a program did not accept them fast enough." },
  { "network", "saturation", "udp overflows", unit = "%", critical = 1, quiet = true,
    file = "/proc/net/snmp, snmp6: RcvbufErrors",
    reason = "Share of the datagrams that were dropped because a program did not read them fast enough, or has too " ..
      "small a buffer. Less than one a second is not counted." },
  { "network", "saturation", "retransmitted", unit = "%", warning = 2, critical = 5, quiet = true,
    file = "/proc/net/snmp: RetransSegs, OutSegs",
    reason = "Share of TCP's segments that were sent again: packets get lost here, on the way, or where they go. " ..
      "Less than ten, or one a second, are not counted." },
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
  local dropped = sum_of({ k, (d:lookup("qdisc", 0, k.name)) }, "norcvbuf", "noxmtbuf", "drops")
  if dropped and k.elapsed and dropped < k.elapsed then
    dropped = 0
  end
  local up = now(k, "link_state")
  return {
    speed = speed and speed > 0 and k.elapsed and percent(bytes and 8 * bytes, speed * k.elapsed) or nil,
    dropped = dropped == 0 and 0 or percent(dropped, packets and dropped and packets + dropped),
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

-- The ports at which connections were dropped. Asked at each tick, so that there is an earlier sample.
local function ports(d)
  local names = {}
  for _, k in ipairs(d:select({ module = "listen", class = "socket" })) do
    names[#names + 1] = (count(k, "drops") or 0) > 0 and "port " .. k.instance or nil
  end
  return table.concat(names, ", ")
end

local function network(d, add)
  local extended, tcp = d:lookup("tcp", 0, "tcp_ext"), d:lookup("tcp", 0, "tcp")
  local udp = { d:lookup("udp", 0, "udp"), (d:lookup("udp", 0, "udp6")) }
  local softnet = figures.select(d, "cpu::softnet")
  local _, behind = figures.most(softnet, function(k) return count(k, "dropped") end)
  local squeezed, late = figures.most(softnet, function(k) return figures.per_second(k, "time_squeezed") end)
  local lost, again = sum_of(udp, "inOverflows"), count(tcp, "retransSegs")
  add("network", "all", {
    ["backlog dropped"] = figures.per_second(behind, "dropped"),
    ["listen overflows"] = count(extended, "ListenOverflows") or count(tcp, "listenDrop", "listenDropQ0"),
    ["udp overflows"] = share_of(lost, sum_of(udp, "inDatagrams", "inOverflows"), udp[1] and udp[1].elapsed, 1),
    retransmitted = share_of(again, count(tcp, "retransSegs", "outSegs"), tcp and tcp.elapsed, 10),
    squeezed = squeezed,
  }, { ["backlog dropped"] = behind and "cpu" .. behind.instance, squeezed = late and "cpu" .. late.instance,
    ["listen overflows"] = ports(d) })
end

local function measure(d, add, is_new)
  for _, k in ipairs(figures.select(d, "class net")) do
    if now(k, "admin_state") ~= 0 and not is_new(k) then
      local values, who = one(d, k)
      add("link", k.name, values, who, k)
    end
  end
  network(d, add)
end

return {
  limits = limits, measure = measure, one = one,
  select = { { module = "link", class = "net" }, { class = "qdisc" }, { module = "tcp", name = "/^tcp(_ext)?$/" },
    { module = "udp", name = "/^udp6?$/" }, { module = "listen", class = "socket" },
    { module = "cpu", name = "softnet", class = "misc" } },
}
