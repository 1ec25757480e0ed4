--- Which part of the past a command shows: what its command line says, or the environment in its place.
-- @module kstat.base.past
local running = require("kstat.base.running")

local past = {}

--- The end of the one interval that a command line asks for: --at, or in its place `$KSTAT_AT`, which `kstatlua --at`
-- sets for the command behind it.
-- @tparam table given the options of the command line
-- @treturn string|nil
function past.at(given)
  local named = not (given.from or given.to) and os.getenv("KSTAT_AT")
  return given.at or named ~= "" and named or nil
end

--- The fields of kstat.open for the options that say which part of the past a command shows, kstat.base.options.past;
-- ends the command with status 2 if they do not go together.
-- @tparam table given the options of the command line, with `interval` and `count`
-- @tparam[opt] table source fields to add them to
-- @treturn table source; without any it is the machine, or what the environment names
function past.source(given, source)
  source = source or {}
  local at = past.at(given)
  if given.at and (given.from or given.to) then
    running.stop(2, "--at is the end of one interval, and --from and --to bound many: they cannot be used together")
  elseif at and given.interval and given.count and given.count > 1 then
    running.stop(2, "--at is the end of one interval, which has no count; --from and --to bound many")
  elseif given.replay then
    source.capture = type(given.replay) == "table" and table.concat(given.replay, "\n") or given.replay
  end
  source.interval = at and given.interval or nil
  source.from, source.to, source.at, source.host = given.from, given.to, source.interval and at or given.at, given.host
  return source
end

return past
