--- listen: sockets that wait for TCP connections: who holds them, how many wait, and what was dropped.
--
-- QUEUE    connections that wait to be accepted     BACKLOG  the most that may wait
-- DROPS    connections that were refused or dropped because too many waited, or for other reasons
--
-- NPROC    processes that hold the socket            PID, PROCESS  the first one of them
--
-- Of other users' processes only root sees which sockets they hold: "-".
-- SPDX-License-Identifier: MIT
local kstat = require("kstat")
local machine = require("kstat.base.machine")
local running = require("kstat.base.running")

local owners = assert(kstat.selector({ module = "listen", class = "socket_owner" }))
local ports -- that -p names, as keys
local is_replay

-- Tells of ports at which nothing listens; ends the command if a recording has no such sockets.
local function check_ports(list)
  if #list == 0 and is_replay then
    running.stop(1, "this recording has no listening sockets; record with: " ..
      "kstatlua record -o FILE 'listen::*,owner' 10")
  end
  local lines, asked = {}, 0
  for port in pairs(ports) do
    local found = false
    for _, k in ipairs(list) do
      found = found or k.instance == port
    end
    asked = asked + 1
    lines[#lines + 1] = not found and ("nothing listens at port %d"):format(port) or nil
  end
  running.missing(lines, asked)
end

local function rows(d, _, _, options)
  local list, rest = d:select(owners), {}
  if options.first then
    check_ports(list)
  end
  for _, k in ipairs(list) do
    if not next(ports) or ports[k.instance] then
      local now = k:now()
      local address = now:get("address") or "?"
      rest[#rest + 1] = { kind = k.name:match("^%w+"), user = machine.user_name(now:get("uid")), pid = now:get("pid"),
        address = (address:find(":") and "[%s]:%d" or "%s:%d"):format(address, k.instance), port = k.instance,
        process = now:get("fname"), processes = now:get("processes"), queue = now:get("queue"),
        backlog = now:get("queue_max"), drops = k:get("drops") }
    end
  end
  return rest
end

local function number(title, field, width)
  return { title, field, width = width, format = "%.0f", align = "right" }
end

return kstat.report({
  name = "listen", about = "Sockets that wait for TCP connections: their owners, queues and drops.",
  note = "PID and PROCESS: the first of NPROC processes that hold the socket; of other users' ones only root knows.",
  options = { { "p", "ports", arg = "LIST", help = "only these ports: numbers with commas" } },
  optional = true, select = owners, rows = rows, follow = function(ks) is_replay = ks:is_replay() end,
  columns = {
    { "PROTO", "kind" }, { "ADDRESS", "address", align = "left" }, number("QUEUE", "queue", 5),
    number("BACKLOG", "backlog", 7), number("DROPS", "drops", 6), { "USERNAME", "user", width = 8, align = "left" },
    number("NPROC", "processes", 5), { "PID", "pid", width = 7, align = "right", format = "%d", kind = "label" },
    { "PROCESS", "process", align = "left" },
  },
  sort = function(a, b)
    if a.port ~= b.port then
      return a.port < b.port
    end
    return a.kind .. a.address < b.kind .. b.address
  end,
  check = function(options)
    ports = {}
    for word in (options.ports or ""):gmatch("[^,%s]+") do
      if not word:find("^%d+$") or #word > 5 then
        return ("-p: '%s' is not the number of a port"):format(word)
      end
      ports[tonumber(word)] = true
    end
    if options.ports and not next(ports) then
      return ("-p: '%s' is an empty list"):format(options.ports)
    end
  end,
})
