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
  { "network", "saturation", "backlog dropped", unit = "", critical = 1, file = "/proc/net/softnet_stat: dropped",
    reason = "Packets dropped because a CPU did not keep up with what arrived." },
  { "network", "saturation", "listen overflows", unit = "", critical = 1,
    file = "/proc/net/netstat: ListenOverflows",
    reason = "Connections dropped because a program did not accept them fast enough." },
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

local function link(d, add, k)
  local r, w = count(k, "rbytes64") or count(k, "rbytes"), count(k, "obytes64") or count(k, "obytes")
  local speed = now(k, "ifspeed")
  local bytes = r and w and (now(k, "link_duplex") == 2 and math.max(r, w) or r + w)
  local packets = count(k, "ipackets64", "opackets64") or count(k, "ipackets", "opackets")
  local dropped = sum_of({ k, (d:lookup("qdisc", 0, k.name)) }, "norcvbuf", "noxmtbuf", "drops")
  if dropped and k.elapsed and dropped < k.elapsed then
    dropped = 0
  end
  local up = now(k, "link_state")
  add("link", k.name, {
    speed = speed and speed > 0 and k.elapsed and percent(bytes and 8 * bytes, speed * k.elapsed) or nil,
    dropped = dropped == 0 and 0 or percent(dropped, packets and dropped and packets + dropped),
    errors = count(k, "ierrors", "oerrors"), ["carrier changes"] = has_cable(k) and count(k, "carrier_changes") or nil,
  }, { ["carrier changes"] = up and (up == 1 and "now up" or "now down") })
end

local function measure(d, add, is_new)
  for _, k in ipairs(d:select({ class = "net" })) do
    if now(k, "admin_state") ~= 0 and not is_new(k) then
      link(d, add, k)
    end
  end
  local extended = d:lookup("tcp", 0, "tcp_ext")
  local softnet = d:select("cpu::softnet")
  local _, behind = figures.most(softnet, function(k) return count(k, "dropped") end)
  add("network", "all", {
    ["backlog dropped"] = sum_of(softnet, "dropped"),
    ["listen overflows"] = count(extended, "ListenOverflows") or
      count(d:lookup("tcp", 0, "tcp"), "listenDrop", "listenDropQ0"),
  }, { ["backlog dropped"] = behind and "cpu" .. behind.instance })
end

return {
  limits = limits, measure = measure,
  select = { { module = "link", class = "net" }, { class = "qdisc" }, { module = "tcp", name = "/^tcp(_ext)?$/" },
    { module = "cpu", name = "softnet", class = "misc" } },
}
