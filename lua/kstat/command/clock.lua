--- When a tick was, as commands write it.
-- @module kstat.command.clock
local core = require("kstat.core")

local clock = {}

--- The line of -T.
-- @string how "u": seconds since 1970, "d": a date
-- @int seconds since 1970
-- @treturn string with a newline
function clock.timestamp(how, seconds)
  return (how == "u" and ("%d"):format(seconds) or os.date("%a %b %e %H:%M:%S %Z %Y", seconds)) .. "\n"
end

--- The time of day of a sample in whole seconds, as clocks show it: rounded if it follows the snaptimes.
-- @tparam sample now
-- @treturn int seconds since 1970
function clock.seconds(now)
  return (select(3, core.sample_time_of_day(now)))
end

-- A date as ISO 8601 has it: local time, with its distance from UTC, such as 2026-11-21T14:05:00+01:00.
local function iso_date(seconds)
  return (os.date("%Y-%m-%dT%H:%M:%S%z", seconds):gsub("(%d%d)$", ":%1"))
end

--- When a tick was, as the data formats of kstat.command.output have it.
-- @string form "json", "csv" or "openmetrics"
-- @tparam[opt] string timestamp "d": CSV has dates
-- @tparam sample now
-- @tparam difference d
-- @tparam bool first whether d is since creation
-- @treturn table `time`, `elapsed`, `first`
function clock.moment(form, timestamp, now, d, first)
  return { time = form == "csv" and timestamp == "d" and iso_date(clock.seconds(now)) or now.time_of_day,
    elapsed = d.elapsed, first = first }
end

return clock
