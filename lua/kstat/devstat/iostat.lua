--- FreeBSD's iostat(8) over the devices of kstat.devstat: its options, columns and rounding.
--
-- It differs where the original is wrong or has nothing to say: devices are compared with
-- themselves and not with what has their position in the list, one that was missing for a while
-- with what it was then, over that time; one that is new is counted from its creation; `-` stands
-- for what the system does not count; intervals may have fractions; what should be a number has to
-- be one; a name is cut only where its column does not hold it, and ends as it does.
-- @module kstat.devstat.iostat
-- SPDX-License-Identifier: MIT
local chain = require("kstat.chain")
local core = require("kstat.core")
local devstat = require("kstat.devstat")
local options = require("kstat.options")
local tick = require("kstat.tick")
local tool = require("kstat.tool")
local fixed = core.devstat.fixed

local M = {}

local HELP = [=[
usage: kstatlua devstat [-CdhIjKoTxz?] [--csv] [-c count] [-n devs] [-t type,if,pass] [-w wait] [drives] [wait [count]]

  -C  CPU statistics (on by default unless -d or -x)   -c  number of reports
  -d  devices only                                     -n  at most so many devices
  -h  those that move most bytes first                 -t  only devices of that kind, such as da,scsi
  -I  totals of the interval in place of rates         -w  seconds between reports
  -K  blocks of 1024 bytes in -o -I
  -o  blocks, transfers and milliseconds per transfer
  -T  terminal statistics (on by default unless -d or -x)
  -x  one line per device                              -z  without idle ones (with -x)
  -j, --json  what -x shows, a row for each device, with -C and -T in it: JSON, an object a line    --csv  CSV

FreeBSD's iostat(8). The first report is since boot; `-` stands for what the system does not count. Of a wait and a
count at the end, -w and -c are not used. With `kstatlua -r FILE devstat` a capture stands in place of the machine.
]=]

local PAGE = 20 -- lines after which the header is printed again

-- Ends the command with one line on standard error, as iostat(8) does.
local function fail(format, ...)
  tool.stop(1, format:format(...))
end

local out = tool.write

--- Options ---------------------------------------------------------------------

local OPTIONS = options.command({
  { "?", "help", final = true }, { "t", "patterns", long = false, arg = "", repeated = true },
  { "j", "json" }, { nil, "csv" }, operands = { { class = "disk" } },
}, options.letters("CdhIKoTxz", "cMnNw"))

-- A whole number, cut to what a C int holds. iostat(8) takes "abc" for 0 and "3x" for 3, whatever was meant.
local function integer(s, what)
  local n = tonumber(s:match("^%s*([+-]?%d+)%s*$"))
  if not n then fail("%s '%s' is not a whole number", what, s) end
  return math.max(-2147483648, math.min(2147483647, n))
end

local function seconds(s)
  local n = tonumber(s:match("^%s*([+-]?%d*%.?%d*)%s*$"))
  if not n then fail("wait time '%s' is not a number", s) end
  return n
end

-- Ends the command for a command line that cannot be meant.
local function usage(format, ...)
  tool.stop(2, format:format(...) .. "; 'kstatlua devstat --help' explains")
end

-- The values of -c, -n, -t and -w.
local function check_values(o)
  if o.M or o.N then
    fail("-%s: there is no kernel image to read here; use KSTAT_SOURCE for a capture", o.M and "M" or "N")
  end
  o.count, o.max = o.c and integer(o.c, "count"), o.n and integer(o.n, "number of devices")
  o.wait = o.w and seconds(o.w)
  if o.c and o.count < 1 then fail("count %d is < 1", o.count) end
  if o.n and o.max < 0 then fail("number of devices %d is < 0", o.max) end
  if o.w and o.wait < 0.001 then fail("wait time is < 1ms") end
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
  local option_wait, option_count = o.wait, o.count
  o.wait = seconds(wait)
  if o.wait < 0.001 then o.wait = 1 end
  if count then
    o.count = integer(count, "count")
    if o.count < 1 then fail("count %d is < 1", o.count) end
  end
  if option_wait then tool.warn(("-w %g is not used, the interval is %g"):format(option_wait, o.wait)) end
  if option_count and count then
    tool.warn(("-c %d is not used, the count is %d"):format(option_count, o.count))
  end
end

-- Reads options and operands into a table.
local function parse(args)
  local o, message = options.read(OPTIONS, args)
  if not o then usage("%s", message) end
  if o.help then tool.show(HELP) end
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
  if not o.count and not o.wait then o.count = 1 end
  o.wait = o.wait or 1
  return o
end

-- How many devices are shown if -n does not say.
local function default_max(o)
  if o.x or o.form then return math.huge end
  local wide = o.d and not o.C
  if o.o then return wide and 5 or 4 end
  return wide and 4 or 3
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

local function write_header(o, shown)
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
  for _, e in ipairs(shown) do
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
  out(columns:rep(#shown))
  out(o.cpu and " us ni sy in id" or "", "\n")
end

-- Characters per second that terminals read and wrote; nil where nothing counts them.
local function tty_rates(now, prev, etime)
  if not now.tk_nin then return nil end
  local nin = now.tk_nin - (prev and prev.tk_nin or 0)
  local nout = now.tk_nout - (prev and prev.tk_nout or 0)
  return math.max(nin, 0) / etime, math.max(nout, 0) / etime
end

local function tty_text(format, now, prev, etime)
  local nin, nout = tty_rates(now, prev, etime)
  if not nin then return format:format("-", "-") end
  return format:format(fixed(nin, 0), fixed(nout, 0))
end

local STATES = { "user", "nice", "sys", "intr", "idle" }

-- The percentages of the time of all CPUs; none where it is not known.
local function cpu_shares(now, prev)
  local ticks, total = {}, 0
  for i, state in ipairs(now.cp_time and STATES or {}) do
    ticks[i] = math.max(now.cp_time[state] - (prev and prev.cp_time and prev.cp_time[state] or 0), 0)
    total = total + ticks[i]
  end
  for i, n in ipairs(ticks) do
    ticks[i] = total > 0 and 100 * n / total or 0
  end
  return ticks
end

local function cpu_text(now, prev)
  if not now.cp_time then return ("  -"):rep(#STATES) end
  local texts = cpu_shares(now, prev)
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

-- Makes the sink of the data formats.
local function data_sink(o)
  local keys = { { "device" } }
  local function add(list)
    for _, column in ipairs(list) do keys[#keys + 1] = column end
  end
  add(o.I and TOTALS or RATES)
  add(o.T and { { "tin" }, { "tout" } } or {})
  add(o.C and { { "us" }, { "ni" }, { "sy" }, { "in" }, { "id" } } or {})
  for i, column in ipairs(keys) do
    keys[i] = { key = column[1], format = i > 1 and "%.1f" or nil }
  end
  local sink = require("kstat.output").sink(o.form, keys, out, { name = "devstat" })
  if sink.start then sink.start() end
  return sink
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

--- The loop -----------------------------------------------------------------------------

-- The devices to show, as entries of the selection, in its order.
local function shown_entries(o, selection, devices)
  local shown = {}
  for place, e in ipairs(selection:entries()) do
    local device = devices[e.index]
    if e.selected > 0 and e.selected <= o.max then
      shown[#shown + 1] = { place = place, device = device }
    end
  end
  return shown
end

-- What a device is compared with, and over what time; the first report is since boot, whatever its age.
local function interval_of(history, device, now, prev)
  local previous, etime
  if prev then
    previous, etime = history:previous(device, now)
  else
    etime = now.snap_time
  end
  return previous, etime > 0 and etime or 1
end

-- Writes a report, or returns its rows if they are for the data formats.
local function write_report(o, selection, shown, now, prev, history)
  local etime = prev and now.snap_time - prev.snap_time or now.snap_time
  if etime <= 0 then etime = 1 end
  local has_line, rows = false, {}
  local tty, cpu = { tty_rates(now, prev, etime) }, cpu_shares(now, prev)
  -- The terminals' and the CPUs' columns. In iostat(8) terminals are a blank narrower behind a device's line.
  local function sides(format)
    return (o.tty and tty_text(format, now, prev, etime) or "") .. (o.cpu and cpu_text(now, prev) or "")
  end
  if not o.x and not o.form and o.tty then out(tty_text("%4s%6s", now, prev, etime)) end
  for _, e in ipairs(shown) do
    local previous, elapsed = interval_of(history, e.device, now, prev)
    local s = devstat.compute(e.device, previous, elapsed)
    local function text(figure, decimals, scale)
      return devstat.text(e.device, previous, elapsed, figure, decimals, scale)
    end
    -- Only what is shown is ranked: the others keep the rank they had.
    selection:set_bytes(e.place, s.total_bytes)
    if o.form then
      rows[#rows + 1] = not (o.z and is_idle(s)) and data_row(o, e.device.name, s, text, tty, cpu) or nil
    elseif o.x then
      if not (o.z and is_idle(s)) then
        out(extended_line(o, e.device.name, text), has_line and "" or sides("%4s%5s"), "\n")
        has_line = true
      end
    else
      out(columns(o, e.device, s, text))
    end
  end
  if o.form then
    return rows
  elseif o.x and not has_line and (o.tty or o.cpu) then
    out((" "):rep(o.I and 85 or 52), sides("%4s%6s"), "\n")
  elseif not o.x then
    out(o.cpu and cpu_text(now, prev) or "", "\n")
  end
end

local function report(o, reader)
  local selection, history = devstat.selection(), devstat.history()
  local mode = (#o.names > 0 or #o.patterns > 0) and "only" or "add"
  local max = math.min(o.max, 2147483647)
  local heads_due, prev, sink, since = tick.pager(PAGE), nil, nil, nil
  return tick.run(reader.chain, o.wait, o.count, function(sample)
    local now, message = reader:read()
    if not now then tool.stop(3, message) end
    local changed, why
    if now.changed or o.h then
      changed, why = selection:apply(now.devices, now.generation, mode, o.names, o.patterns,
        max, o.h)
      if changed == nil then fail("%s", why) end
    end
    local shown = shown_entries(o, selection, now.devices)
    if not o.form and heads_due(1, changed or o.x) then write_header(o, shown) end
    local rows = write_report(o, selection, shown, now, prev, history)
    if o.form then
      sink = sink or data_sink(o)
      sink.show(rows, tool.moment(o.form, nil, sample, since and sample - since or sample:since_creation(), not since))
    end
    since = sample
    history:add(now)
    prev = now
  end)
end

--- Runs the command; one line on standard error says what went wrong.
-- @tparam {string,...} args its command line
-- @treturn integer exit status: 0, 1 as iostat(8), 2 an option that is none, 3 the source could not be read or
-- the output not be written
function M.run(args)
  return tool.run("iostat", function()
    local o = parse(args)
    local ks, message = chain.open()
    if not ks then tool.stop(3, message) end
    local reader
    reader, message = devstat.open(ks)
    if not reader then tool.stop(3, message) end
    if not o.max then o.max = math.max(default_max(o), #o.names) end
    o.tty = o.T or not (o.d or o.x)
    o.cpu = o.C or not (o.d or o.x)
    local status = report(o, reader)
    ks:close()
    return status
  end)
end

return M
