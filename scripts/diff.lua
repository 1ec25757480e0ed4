--- diff: what was different in a window of time from a base before it, or in one recording from another.
--
-- Exit status: 0, 1 there is nothing to compare, 2 the command line was wrong, 3 a recording could not be read or is
-- damaged. SPDX-License-Identifier: MIT
local blocks = require("kstat.diff.blocks")
local comparison = require("kstat.diff.comparison")
local opening = require("kstat.command.opening")
local operand = require("kstat.command.operand")
local options = require("kstat.base.options")
local output = require("kstat.diff.output")
local running = require("kstat.base.running")

local USAGE = [=[
usage: kstatlua diff [-r FILE] [--at TIME] [SELECTOR...] [interval]
       kstatlua diff [-r FILE] --from TIME [--to TIME] [--base TIME] [SELECTOR...]
       kstatlua diff BEFORE.rec AFTER.rec [SELECTOR...]

  --at TIME     the window is the interval (default: 5m) that ends then, or at the end of the recording
  --from TIME, --to TIME
                the window: 14:32, yesterday 3:12, mon 9:00, -3h, 2026-11-21 14:05
  --base TIME   the base begins then and is as long as the window (default: the hour before the window)
  -r, --replay FILE
                a recording, a directory of them or a capture; without, what was recorded here
  --host NAME   of recordings of several machines, those of this one
  -a, --all     each statistic that differs, not only the first ones of those that moved together
  -j, --json    JSON, an object a line
  -h, --help    this

Without times the window is the last five minutes of a recording, of a short one its last third. First come
those who use more of the machine than in the base. A figure differs if that is hardly by chance (Mann-Whitney,
ten blocks of each, false discovery rate 5 %) and by more than 20 %. Counters are compared as rates.
]=]

local OPTIONS = options.command({
  { nil, "base", arg = "TIME" }, { "a", "all" }, { "j", "json" }, { "h", "help", final = true }, operands = "files",
}, options.past)

local WINDOW, BASE = 300, 3600 -- seconds
local status = 0 -- how the command ends where all else is well, or there is nothing to compare

local wrong = running.refusal("kstatlua diff -h")

-- Opens a part of the past: `given`, the options, with other times.
local function open(given, times)
  local ks, message, code = opening.open({ replay = given.replay, host = given.host, from = times.from, to = times.to,
    at = times.at, interval = times.interval })
  return ks or running.stop(code, message)
end

-- The times of the samples, and the cuts between them.
local function times_of(ks)
  local times, cuts = blocks.times(ks)
  if ks:damaged() then
    status = 3
    running.warnings(ks)
  end
  return times, cuts
end

local function date(time)
  return os.date("%Y-%m-%d %H:%M:%S", math.floor(time))
end

-- The numbers of the first and the last sample between two times; ends the command if there is none.
local function span(what, times, from, to)
  local first, last
  for i, time in ipairs(times) do
    if time >= from and time <= to then
      first, last = first or i, i
    end
  end
  return first and { first, last } or running.stop(math.max(status, 1),
    ("there is no sample in the %s, from %s to %s"):format(what, date(from), date(to)))
end

-- When the window begins and ends. seconds: how long it is; nil: five minutes, and the last third of what is shorter.
local function window_of(given, seconds)
  local is_named = given.from or given.to or given.at
  local times = is_named and times_of(open(given, { from = given.from, to = given.to, at = given.at,
    interval = given.at and seconds }))
  if is_named and (seconds or not given.at) then
    return times[1], times[#times]
  end
  local ks = open(given, given.replay and {} or { from = "-9999d" }) -- all that is recorded here
  local first, last = ks:time_of_day(), times and times[#times]
  if not last then
    local ok, message = ks:seek(math.huge)
    if not ok then
      running.stop(3, message)
    end
    last = ks:time_of_day()
  end
  return last - (seconds or math.min(WINDOW, (last - first) / 3)), last
end

-- What to compare of one recording.
local function within(given, seconds)
  local from, to = window_of(given, seconds)
  local start, stop = from - BASE, from
  if given.base then
    local ks = open(given, { from = given.base })
    start = ks:time_of_day()
    stop = start + (to - from)
    ks:update(true)
    -- Samples lie a little behind the times that were typed: what is less than an interval is no overlap.
    if start < from and stop - from < ks:time_of_day() - start then
      stop = math.min(stop, from)
    elseif start < to and stop > from then
      wrong(("the base, from %s to %s, overlaps the window, from %s to %s: let it begin earlier"):format(date(start),
        date(stop), date(from), date(to)))
    end
  end
  local range = { from = math.min(start, from), to = math.max(stop, to) }
  local times, cuts = times_of(open(given, range))
  return { open = function() return open(given, range) end, times = times, base_times = times, cuts = cuts,
    base_cuts = cuts, window = span("window", times, from, to), base = span("base", times, start, stop) }
end

-- What to compare of two.
local function between(given, ...)
  local list = {}
  for i, file in ipairs({ ... }) do
    local one = { replay = { file }, host = given.host }
    local function open_one() return open(one, {}) end
    list[i] = { open = open_one }
    list[i].times, list[i].cuts = times_of(open_one())
  end
  local before, after = list[1], list[2]
  return { open = after.open, times = after.times, cuts = after.cuts, window = { 1, #after.times },
    open_base = before.open, base_times = before.times, base_cuts = before.cuts, base = { 1, #before.times } }
end

local function main()
  local given, operands, seconds = operand.command_line(OPTIONS, arg, USAGE, wrong)
  local what
  if given.replay or given.at or given.from or given.to or #operands == 0 then
    what = opening.reading(within, given, seconds)
  elseif #operands == 1 then
    wrong("two recordings are needed, or --at, --from or -r")
  elseif given.base then
    wrong("--base is a time of one recording; of two the first one is the base")
  else
    what = opening.reading(between, given, table.remove(operands, 1), table.remove(operands, 1))
  end
  what.status = math.max(status, 1)
  what.selectors = operand.selectors(#operands > 0 and operands or { ":::" })
  local result = opening.reading(comparison.compare, what)
  if #operands > 0 and result.rows + #result.changed + #result.news == 0 then
    running.stop(what.status, ("no figure of '%s' is in the base and in the window, and no text of it changed"):format(
      table.concat(operands, " ")))
  end
  running.write(given.json and output.json(result) or output.text(result, given.all))
  running.flush()
  return status
end

return running.run("diff", main)
