--- FreeBSD's iostat(8) over the devices of kstat.devstat: its options, columns and rounding.
--
-- It differs where the original is wrong or has nothing to say: devices are compared with
-- themselves and not with what has their position in the list, one that was missing for a while
-- with what it was then, over that time; one that is new is counted from its creation; `-` stands
-- for what the system does not count; intervals may have fractions; what should be a number has to
-- be one; a name is cut only where its column does not hold it, and ends as it does.
-- @module kstat.devstat.iostat
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local devstat = require("kstat.devstat")
local interval = require("kstat.base.options.interval")
local options = require("kstat.base.options")
local past = require("kstat.base.past")
local report = require("kstat.report")
local running = require("kstat.base.running")
local tick = require("kstat.command.tick")
local fixed = core.devstat.fixed

local HELP = [=[
usage: kstatlua devstat [-CdhIjKoTxz?] [--csv] [--watch] [-c count] [-n devs] [-t type,if,pass] [-w wait]
                        [drives] [wait [count]]

  -C  CPU statistics (on by default unless -d or -x)   -c  number of reports
  -d  devices only                                     -n  at most so many devices
  -h  those that move most bytes first                 -t  only devices of that kind, such as da,scsi
  -I  totals of the interval in place of rates         -w  seconds between reports
  -K  blocks of 1024 bytes in -o -I
  -o  blocks, transfers and milliseconds per transfer
  -T  terminal statistics (on by default unless -d or -x)
  -x  one line per device                              -z  without idle ones (with -x)
  -j, --json  what -x shows, a row for each device, with -C and -T in it: JSON, an object a line    --csv  CSV
  --watch  on a terminal, with the keys of kstatlua top
  -r FILE, --replay FILE, --at TIME, --from TIME, --to TIME, --host NAME  what was recorded in place of now: kstat(7)

FreeBSD's iostat(8). The first report is since boot; `-` stands for what the system does not count. Of a wait and a
count at the end, -w and -c are not used.
]=]

local PAGE = 20 -- lines after which the header is printed again

-- Ends the command with one line on standard error, as iostat(8) does.
local function fail(format, ...)
  running.stop(1, format:format(...))
end

--- Options ---------------------------------------------------------------------

local OPTIONS = options.command({
  { "?", "help", final = true }, { "t", "patterns", long = false, arg = "", repeated = true },
  { "j", "json" }, { nil, "csv" }, options.watch, operands = { { class = "disk" } },
}, options.letters("CdhIKoTxz", "cMnNw"), options.past)

-- A whole number, cut to what a C int holds. iostat(8) takes "abc" for 0 and "3x" for 3, whatever was meant.
local function integer(s, what)
  local n = tonumber(s:match("^%s*([+-]?%d+)%s*$"))
  if not n then fail("%s '%s' is not a whole number", what, s) end
  return math.max(-2147483648, math.min(2147483647, n))
end

local function seconds(s)
  local n = interval.seconds(s:match("^%s*(.-)%s*$"))
  if not n then fail("wait time '%s' is not a number", s) end
  return n
end

-- Ends the command for a command line that cannot be meant.
local function usage(format, ...)
  running.stop(2, format:format(...) .. "; 'kstatlua devstat --help' explains")
end

-- The values of -c, -n, -t and -w.
local function check_values(o)
  if o.M or o.N then
    fail("-%s: there is no kernel image to read here; use KSTAT_SOURCE for a capture", o.M and "M" or "N")
  end
  o.count, o.max = o.c and integer(o.c, "count"), o.n and integer(o.n, "number of devices")
  o.interval = o.w and seconds(o.w)
  if o.c and o.count < 1 then fail("count %d is < 1", o.count) end
  if o.n and o.max < 0 then fail("number of devices %d is < 0", o.max) end
  if o.w and o.interval < 0.001 then fail("wait time is < 1ms") end
  o.form = o.json and "json" or o.csv and "csv"
  if o.json and o.csv then usage("--json and --csv cannot be used together") end
  o.patterns = o.patterns or {}
  for _, pattern in ipairs(o.patterns) do
    local ok, message = devstat.match(pattern)
    if not ok then fail("%s", message) end
  end
end

-- [wait [count]] at the end of the command line. They replace -w and -c, and a line says so, as with
-- iostat(8).
local function read_times(o, wait, count)
  local option_wait, option_count = o.interval, o.count
  o.interval = seconds(wait)
  if o.interval < 0.001 then o.interval = 1 end
  if count then
    o.count = integer(count, "count")
    if o.count < 1 then fail("count %d is < 1", o.count) end
  end
  if option_wait then running.warn(("-w %g is not used, the interval is %g"):format(option_wait, o.interval)) end
  if option_count and count then
    running.warn(("-c %d is not used, the count is %d"):format(option_count, o.count))
  end
end

-- How many devices are shown if -n does not say.
local function default_max(o)
  if o.x or o.form then return math.huge end
  local wide = o.d and not o.C
  if o.o then return wide and 5 or 4 end
  return wide and 4 or 3
end

-- Reads options and operands into a table.
local function parse(args)
  local o, message = options.read(OPTIONS, args)
  if not o then usage("%s", message) end
  if o.help then running.show(HELP) end
  check_values(o)
  o.names = {}
  local words, i = o.operands, 1
  while words[i] and not words[i]:match("^%d") do
    o.names[i] = words[i]
    i = i + 1
  end
  if words[i] then
    if words[i + 2] then usage("'%s' is one word too many", words[i + 2]) end
    read_times(o, words[i], words[i + 1])
  end
  if not o.watch then
    if not o.count and not o.interval then o.count = 1 end
    o.by_sample = not o.interval
    o.interval = o.interval or not past.at(o) and 1 or nil
  end
  o.max = o.max or math.max(default_max(o), #o.names)
  o.tty, o.cpu = o.T or not (o.d or o.x), o.C or not (o.d or o.x)
  o.selection, o.history, o.heads_due = devstat.selection(), devstat.history(), tick.pager(PAGE)
  return o
end

--- Lines -----------------------------------------------------------------------------

local LONG = 16 -- what the widest column of names holds

-- A name as a column shows it. One that no column holds begins as iostat(8) has it, cut to so many places; of others
-- that the column does not hold the end is kept, because it distinguishes mmcblk0boot0 from mmcblk0boot1.
local function label(name, room, cut)
  if #name <= room then return name end
  if #name > LONG then return name:sub(1, cut) end
  local unit = name:match("%d*$"):sub(-(room - 2))
  return name:sub(1, room - 1 - #unit) .. "~" .. unit
end

-- The columns of -x and of the data formats, and with -I: title, figure of devstat.compute, width, decimals, scale.
local RATES = {
  { "r/s", "transfers_per_second_read", 5, 1 }, { "w/s", "transfers_per_second_write", 5, 1 },
  { "kr/s", "mb_per_second_read", 7, 1, 1024 }, { "kw/s", "mb_per_second_write", 7, 1, 1024 },
  { "qlen", "queue_length", 4, 0 }, { "svc_t", "ms_per_transaction", 5, 1 }, { "%b", "busy_pct", 3, 0 },
}
local TOTALS = {
  { "r/i", "total_transfers_read", 11, 1 }, { "w/i", "total_transfers_write", 11, 1 },
  { "kr/i", "total_bytes_read", 12, 1, 1 / 1024 }, { "kw/i", "total_bytes_write", 12, 1, 1 / 1024 },
  { "qlen", "queue_length", 4, 0 }, { "tsvc_t/i", "total_duration", 10, 1 }, { "sb/i", "total_busy_time", 9, 1 },
}

local layout -- of -x

-- The cells of a line of -x side by side, with the blank that ends them.
local function extended_text(o, texts)
  if not layout then
    local columns = { { room = 8, align = "left" } }
    for i, c in ipairs(o.I and TOTALS or RATES) do
      columns[i + 1] = { room = c[3] }
    end
    columns[#columns + 1] = { room = 0 }
    layout = core.layout(columns, " ", false, true)
  end
  return core.line(layout, texts, ""):sub(1, -2)
end

local function write_header(o, out)
  if o.x then
    out(("%24sextended device statistics  "):format(""))
    out(o.tty and "      tty " or "", o.cpu and "           cpu " or "", "\n")
    local titles = { "device" }
    for i, c in ipairs(o.I and TOTALS or RATES) do
      titles[i + 1] = c[1]
    end
    out(extended_text(o, titles), " ")
    out(o.tty and "tin  tout " or "", o.cpu and "us ni sy in id " or "", "\n")
    return
  end
  out(o.tty and "       tty" or "")
  for _, e in ipairs(o.shown) do
    local room = o.o and 13 or 16
    out(("%" .. room .. "s "):format(label(e.device.name, room, 6)))
  end
  out(o.cpu and "            cpu" or "", "\n")
  out(o.tty and " tin  tout" or "")
  local columns
  if o.o then
    columns = o.I and " blk xfr msps " or " sps tps msps "
  else
    columns = o.I and "  KB/t xfrs   MB " or "  KB/t tps  MB/s "
  end
  out(columns:rep(#o.shown))
  out(o.cpu and " us ni sy in id" or "", "\n")
end

-- Characters per second that terminals read and wrote; nil where nothing counts them.
local function tty_rates(o)
  local now, prev = o.now, o.before
  if not now.tk_nin then return nil end
  local nin = now.tk_nin - (prev and prev.tk_nin or 0)
  local nout = now.tk_nout - (prev and prev.tk_nout or 0)
  return math.max(nin, 0) / o.etime, math.max(nout, 0) / o.etime
end

local function tty_text(o, format)
  local nin, nout = tty_rates(o)
  if not nin then return format:format("-", "-") end
  return format:format(fixed(nin, 0), fixed(nout, 0))
end

local STATES = { "user", "nice", "sys", "intr", "idle" }

-- The percentages of the time of all CPUs; none where it is not known.
local function cpu_shares(o)
  local now, prev = o.now.cp_time, o.before and o.before.cp_time
  local ticks, total = {}, 0
  for i, state in ipairs(now and STATES or {}) do
    ticks[i] = math.max(now[state] - (prev and prev[state] or 0), 0)
    total = total + ticks[i]
  end
  for i, n in ipairs(ticks) do
    ticks[i] = total > 0 and 100 * n / total or 0
  end
  return ticks
end

local function cpu_text(o)
  if not o.now.cp_time then return ("  -"):rep(#STATES) end
  local texts = cpu_shares(o)
  for i, share in ipairs(texts) do
    texts[i] = (" %2s"):format(fixed(share, 0))
  end
  return table.concat(texts)
end

-- Whether -z hides a device with these figures.
local function is_idle(s)
  return not (s.transfers_per_second_read > 0.05 or s.transfers_per_second_write > 0.05
    or s.mb_per_second_read * 1024 > 0.0005 or s.mb_per_second_write * 1024 > 0.0005
    or s.busy_pct > 0.5)
end

-- One device in the extended format; text(figure, decimals, scale) renders a figure.
local function extended_line(o, name, text)
  local texts = { label(name, 8, 8) }
  for i, c in ipairs(o.I and TOTALS or RATES) do
    texts[i + 1] = text(c[2], c[4], c[5])
  end
  return extended_text(o, texts)
end

-- The columns of the data formats.
local function data_columns(o)
  local list = { { "device" } }
  for _, columns in ipairs({ o.I and TOTALS or RATES, o.T and { { "tin" }, { "tout" } } or {},
    o.C and { { "us" }, { "ni" }, { "sy" }, { "in" }, { "id" } } or {} }) do
    for _, column in ipairs(columns) do
      list[#list + 1] = { column[1], "value", format = "%.1f" }
    end
  end
  return list
end

-- A device's row in the data formats. What the text shows as "-" is not counted.
local function data_row(o, name, s, text, tty, cpu)
  local row, columns = { name }, o.I and TOTALS or RATES
  for i, column in ipairs(columns) do
    row[i + 1] = text(column[2], 1) ~= "-" and s[column[2]] * (column[5] or 1) or nil
  end
  local n = #columns + 1
  if o.T then
    row[n + 1], row[n + 2] = tty[1], tty[2]
    n = n + 2
  end
  for i = 1, o.C and #STATES or 0 do
    row[n + i] = cpu[i]
  end
  return row
end

-- One device's columns in the other formats.
local function columns(o, device, s, text)
  local transfers = text(o.I and "total_transfers" or "transfers_per_second", 0)
  if o.o then
    local blocks
    if o.I and o.K then
      -- Whole blocks of 1024 bytes. What Lua has as a negative integer is above 2^63.
      local n = s.total_blocks < 0 and s.total_blocks + 18446744073709551616.0 or s.total_blocks
      blocks = fixed(math.floor(n * ((device.block_size or 512) / 1024)), 0)
    else
      blocks = text(o.I and "total_blocks" or "blocks_per_second", 0)
    end
    local ms = text("ms_per_transaction", s.ms_per_transaction < 100 and 1 or 0)
    return ("%4s%4s%5s "):format(blocks, transfers, ms)
  end
  local mb = o.I and text("total_bytes", 2, 1 / 1048576) or text("mb_per_second", 2)
  return (" %5s %3s %5s "):format(text("kb_per_transfer", 2), transfers, mb)
end

--- The report -----------------------------------------------------------------------------

-- The devices to show, as entries of the selection, in its order.
local function shown_entries(o)
  local shown = {}
  for place, e in ipairs(o.selection:entries()) do
    local device = o.now.devices[e.index]
    if e.selected > 0 and e.selected <= o.max then
      shown[#shown + 1] = { place = place, device = device }
    end
  end
  return shown
end

-- Reads the devices. What was read before is what they are compared with.
local function read(ks, o)
  local message
  if o.chain ~= ks then -- the first one, or on a screen that of the past or of now
    o.chain, o.now, o.history = ks, nil, devstat.history()
    o.reader, message = devstat.open(ks)
  elseif o.now then
    o.history:add(o.now)
  end
  if o.reader then
    o.before, o.now, message = o.now, o.reader:read()
  end
  if message then running.stop(3, message) end
end

-- On a screen that goes through the past the sample before is any: it is read now.
local function read_sample_before(ks, o)
  if ks:previous(true) then
    o.history, o.now = devstat.history(), nil
    read(ks, o)
    local ok, message = ks:update(true)
    if not ok then running.stop(3, message) end
  end
end

-- Reads the devices, and chooses anew if they changed.
local function follow(ks, o)
  local message
  local is_past = o.screen and o.screen.past
  if is_past then read_sample_before(ks, o) end
  read(ks, o)
  o.etime = o.now.snap_time - (o.before and o.before.snap_time or 0)
  if o.etime <= 0 then o.etime = 1 end
  o.changed = false
  if o.now.changed or o.h or is_past then
    local mode = (#o.names > 0 or #o.patterns > 0) and "only" or "add"
    o.changed, message = o.selection:apply(o.now.devices, o.now.generation, mode, o.names, o.patterns,
      math.min(o.max, 2147483647), o.h)
    if o.changed == nil then fail("%s", message) end
  end
  o.shown = shown_entries(o)
end

-- The figures of an entry, and function(figure, decimals, scale) that renders one. The first report is since boot,
-- whatever a device's age.
local function figures_of(o, e)
  local previous, elapsed
  if o.before then
    previous, elapsed = o.history:previous(e.device, o.now)
  else
    elapsed = o.now.snap_time
  end
  elapsed = elapsed > 0 and elapsed or 1
  local s = devstat.compute(e.device, previous, elapsed)
  -- Only what is shown is ranked: the others keep the rank they had.
  o.selection:set_bytes(e.place, s.total_bytes)
  return s, function(figure, decimals, scale)
    return devstat.text(e.device, previous, elapsed, figure, decimals, scale)
  end
end

local function rows(_, _, _, o)
  local list, tty, cpu = {}, { tty_rates(o) }, cpu_shares(o)
  for _, e in ipairs(o.shown) do
    local s, text = figures_of(o, e)
    list[#list + 1] = not (o.z and is_idle(s)) and data_row(o, e.device.name, s, text, tty, cpu) or nil
  end
  return list
end

-- The terminals' and the CPUs' columns. In iostat(8) terminals are a blank narrower behind a device's line.
local function sides(o, format)
  return (o.tty and tty_text(o, format) or "") .. (o.cpu and cpu_text(o) or "")
end

-- A line per device.
local function write_extended(o, out)
  local has_line = false
  for _, e in ipairs(o.shown) do
    local s, text = figures_of(o, e)
    if not (o.z and is_idle(s)) then
      out(extended_line(o, e.device.name, text), has_line and "" or sides(o, "%4s%5s"), "\n")
      has_line = true
    end
  end
  if not has_line and (o.tty or o.cpu) then
    out((" "):rep(o.I and 85 or 52), sides(o, "%4s%6s"), "\n")
  end
end

-- All devices in one line.
local function write_line(o, out)
  out(o.tty and tty_text(o, "%4s%6s") or "")
  for _, e in ipairs(o.shown) do
    out(columns(o, e.device, figures_of(o, e)))
  end
  out(o.cpu and cpu_text(o) or "", "\n")
end

local function text(_, _, _, o)
  local texts = {}
  local function out(...)
    texts[#texts + 1] = table.concat({ ... })
  end
  if o.heads_due(1, o.changed or o.x) then write_header(o, out) end
  local write = o.x and write_extended or write_line
  write(o, out)
  return table.concat(texts)
end

return report({
  name = "devstat", options = parse, operands = "drives", optional = true,
  select = { { class = "disk" }, { class = "tape" }, { class = "disk_detail" }, { class = "device" },
    { module = "cpu", name = "/^(sys|time)$/" } },
  follow = follow, columns = data_columns, rows = rows, text = text,
})
