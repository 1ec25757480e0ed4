--- Which part of the past is shown: what a command line or a script says, or the environment in its place. Nothing else
-- of the Lua half reads these variables; the host sets them for the options before the name of a command.
-- @module kstat.base.past
local core = require("kstat.core")
local running = require("kstat.base.running")
local variable = require("kstat.base.environment").variable

local past = {}

local VARIABLES = { capture = "KSTAT_SOURCE", at = "KSTAT_AT", from = "KSTAT_FROM", to = "KSTAT_TO",
  host = "KSTAT_HOST" }

--- What the environment says of a field of kstat.open.
-- @string field "capture", "at", "from", "to" or "host"
-- @treturn string|nil
function past.named(field)
  return variable(VARIABLES[field])
end

--- Whether a command line, or the environment, names a part of the past.
-- @tparam table given the options of the command line
-- @treturn boolean
function past.is_named(given)
  local is_named = given.replay ~= nil
  for field in pairs(VARIABLES) do
    is_named = is_named or (given[field] or past.named(field)) ~= nil
  end
  return is_named
end

--- Whether the environment names other kstats than those of the machine that runs: a recording, or a recorded tree.
-- @treturn boolean
function past.is_elsewhere()
  return (past.named("capture") or variable("KSTAT_PROC")) ~= nil
end

--- Whether what is replayed is read once: standard input, a FIFO or a pipe, which nobody may open again, because that
-- waits for who writes.
-- @tparam[opt] string path default: what the environment names
-- @treturn boolean
function past.is_read_once(path)
  path = path or past.named("capture")
  local names, times
  if path and path ~= "-" then
    names, times = core.directory(path:match("^.*/") or ".")
  end
  for i, name in ipairs(names or {}) do
    if name == path:match("[^/]*$") then
      return not times[i] and not core.directory(path)
    end
  end
  return path == "-"
end

--- The end of the one interval that is asked for: --at, or in its place `$KSTAT_AT`.
-- @tparam table given the options of the command line, or fields of kstat.open
-- @treturn string|nil
function past.at(given)
  return given.at or not (given.from or given.to) and past.named("at") or nil
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
