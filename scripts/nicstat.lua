--- nicstat: network interfaces, after Brendan Gregg's tool of that name.
--
-- rKB/s wKB/s  received and sent, KB of 1024 bytes   rPk/s wPk/s  packets
-- rAvs wAvs    bytes a packet                        %Util  of the link's speed: of the busier direction if it is
--                                                    full duplex, else of both together
-- Sat          packets per second that found no buffer: defer, nocanput, norcvbuf and noxmtbuf, as far as counted
--
-- Linux does not count defer, nocanput, nor the bytes of TCP (-t), and not every link has a speed: "-".
-- SPDX-License-Identifier: MIT
local clock = require("kstat.command.clock")
local kstat = require("kstat")
local link = require("kstat.figures.link")
local operand = require("kstat.command.operand")
local output = require("kstat.command.output")
local running = require("kstat.base.running")
local unknown = require("kstat.base.unknown")

local links = assert(kstat.selector({ module = "link", class = "net" }))
local protocols = assert(kstat.selector({ class = "mib2" }))

-- Two decimals below 100, one below 100000.
local function short(v)
  return type(v) == "string" and v or (v < 100 and "%.2f" or v < 100000 and "%.1f" or "%.0f"):format(v)
end

local rates = link.rates

local function scaled(value, factor)
  return value and value * factor
end

local function per(value, count)
  return value and count and (count > 0 and value / count or 0)
end

local function link_row(k, time, options)
  local row, unit = link.figures(k), options.megabits and 8 / 1e6 or 1 / 1024
  row.rAvs, row.wAvs = per(row.r, row.rpk), per(row.w, row.wpk)
  row.Time, row.Int, row.r, row.w = time, k.name, scaled(row.r, unit), scaled(row.w, unit)
  row.coll, row.nocp, row.defer = rates(k, "collisions"), rates(k, "nocanput"), rates(k, "defer")
  row.loopback, row.mbit = k.name:find("^lo%d*$") and "Yes" or "No", row.speed and row.speed / 1e6
  return row
end

local PARSEABLE = { "Int", "r", "w", "rpk", "wpk", "rAvs", "wAvs", "util", "sat" }

-- The row as a line for programs.
local function parseable(row, seconds)
  local words = { ("%d"):format(seconds) }
  for i, field in ipairs(PARSEABLE) do
    local value = row[field]
    words[i + 1] = type(value) == "number" and ("%.3f"):format(value) or value or "-"
  end
  row.text = table.concat(words, ":")
  return row
end

local patterns -- of the operands, compiled once
local checked = false

-- Prints, after the first tick, the interfaces of the command line that there are not.
local function check_names(d, options)
  local names = {}
  for _, k in ipairs(d:select(links)) do
    names[k.name] = true
  end
  local lines = unknown.patterns("there is no interface", options.operands, patterns, names)
  local asked = #patterns
  for name in (options.links or ""):gmatch("[^,]+") do
    asked = asked + 1
    lines[#lines + 1] = not names[name] and unknown.line("there is no interface", name, names) or nil
  end
  running.missing(lines, asked)
  checked = true
end

local function is_wanted(k, options)
  if options.links and not ("," .. options.links .. ","):find("," .. k.name .. ",", 1, true) then
    return false
  end
  return operand.matches(patterns, k.name) and not (options.nonlocal_only and k.name:find("^lo%d*$"))
end

local function protocol_rows(d, options)
  local k = options.tcp and d:lookup("tcp", 0, "tcp") or options.udp and d:lookup("udp", 0, "udp")
  local name = options.tcp and "TCP" or "UDP"
  if not k then
    return { { name = name } }
  end
  local sent, again = rates(k, "outSegs"), rates(k, "retransSegs")
  return { {
    name = name,
    inkb = scaled(rates(k, "inDataInorderBytes", "inDataUnorderBytes"), 1 / 1024),
    outkb = scaled(rates(k, "outDataBytes"), 1 / 1024), inseg = rates(k, "inSegs"), outseg = sent,
    reset = rates(k, "estabResets"), attf = rates(k, "attemptFails"), retx = scaled(per(again, sent), 100),
    inconn = rates(k, "passiveOpens"), outcon = rates(k, "activeOpens"),
    drops = rates(k, "listenDrop", "listenDropQ0", "halfOpenDrop"),
    indg = rates(k, "inDatagrams"), outdg = rates(k, "outDatagrams"), inerr = rates(k, "inErrors"),
    outerr = rates(k, "outErrors"),
  } }
end

local function rows(d, now, _, options)
  if options.tcp or options.udp then
    return protocol_rows(d, options)
  end
  if not checked then
    check_names(d, options)
  end
  local list, seconds = {}, clock.seconds(now)
  local time = os.date("%H:%M:%S", seconds)
  local as_text = options.parseable and not output.format(options)
  for _, k in ipairs(d:select(links)) do
    if is_wanted(k, options) then
      local row = link_row(k, time, options)
      list[#list + 1] = as_text and parseable(row, seconds) or row
    end
  end
  return list
end

-- Titles, fields and widths of each form.
local FORMS = {
  default = {
    { "Time", "Time", 8 }, { "Int", "Int", 8 }, { "rKB/s", "r", 7 }, { "wKB/s", "w", 7 }, { "rPk/s", "rpk", 7 },
    { "wPk/s", "wpk", 7 }, { "rAvs", "rAvs", 7 }, { "wAvs", "wAvs", 7 }, { "%Util", "util", 5 },
    { "Sat", "sat", 6 },
  },
  brief = {
    { "Time", "Time", 8 }, { "Int", "Int", 8 }, { "rKB/s", "r", 14 }, { "wKB/s", "w", 14 },
  },
  extended = {
    { "Int", "Int", -10 }, { "RdKB", "r", 7 }, { "WrKB", "w", 7 }, { "RdPkt", "rpk", 7 }, { "WrPkt", "wpk", 7 },
    { "IErr", "ierr", 5 }, { "OErr", "oerr", 5 }, { "Coll", "coll", 5 }, { "NoCP", "nocp", 5 },
    { "Defer", "defer", 5 }, { "%Util", "util", 6 },
  },
  tcp = {
    { "", "name", -8 }, { "InKB", "inkb", 7 }, { "OutKB", "outkb", 7 }, { "InSeg", "inseg", 7 },
    { "OutSeg", "outseg", 7 }, { "Reset", "reset", 5 }, { "AttF", "attf", 5 }, { "%ReTX", "retx", 5 },
    { "InConn", "inconn", 6 }, { "OutCon", "outcon", 6 }, { "Drops", "drops", 5 },
  },
  udp = {
    { "", "name", -8 }, { "InDG", "indg", 7 }, { "OutDG", "outdg", 7 }, { "InErr", "inerr", 7 },
    { "OutErr", "outerr", 7 },
  },
  list = {
    { "Int", "Int", -8 }, { "Loopback", "loopback", 8 }, { "Mbit/s", "mbit", 8 }, { "Duplex", "duplex", 6 },
    { "State", "state", 5 },
  },
  parseable = {},
}
for i, field in ipairs(PARSEABLE) do
  FORMS.parseable[i] = { "", field, 1 }
end

-- From where on a number is a warning: a busy link, and any packet that found no buffer.
local WARNING = { util = 90, sat = 0.01 }

local MEGABITS = { ["rKB/s"] = "rMbps", ["wKB/s"] = "wMbps", RdKB = "RdMbps", WrKB = "WrMbps" }

local function columns(options)
  local form = FORMS.default
  for _, name in ipairs({ "tcp", "udp", "list", "parseable", "brief", "extended" }) do
    form = options[name] and FORMS[name] or form
  end
  local list = {}
  for i, c in ipairs(form) do
    local title = options.megabits and MEGABITS[c[1]] or c[1]
    list[i] = { title, c[2], data = title ~= "Time", width = math.abs(c[3]), format = short,
      align = c[3] < 0 and "left" or "right", warning = WARNING[c[2]] }
  end
  return list
end

return kstat.report({
  optional = true,
  name = "nicstat", about = "Network interfaces: throughput, packet sizes, utilisation, saturation.",
  options = {
    { "i", "links", arg = "NAME,...", help = "only these interfaces" },
    { "n", "nonlocal_only", long = "non-local", help = "without loopback" },
    { "s", "brief", help = "only received and sent" }, { "x", "extended", help = "errors and collisions too" },
    { "M", "megabits", help = "millions of bits per second in place of KB/s" },
    { "t", "tcp", help = "TCP" }, { "u", "udp", help = "UDP" },
    { "l", "list", help = "the interfaces, their speed and state" },
    { "p", "parseable", help = "seconds since 1970 and the figures, colons between" },
  },
  check = function(options)
    if options.tcp and options.udp then
      return "-t and -u cannot be used together"
    end
    if options.list then
      options.interval, options.count = nil, nil
    end
    local message
    patterns, message = operand.patterns(options.operands)
    return message
  end,
  note = "Linux does not count defer, nocanput, nor the bytes of TCP (-t), and not every link has a speed: \"-\".",
  operands = "interface", columns = columns, rows = rows, squeeze = true, blank = false, repeat_header = 19,
  select = function(options)
    return (options.tcp or options.udp) and protocols or links
  end,
})
