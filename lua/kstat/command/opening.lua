--- Opening what a command line names: the machine or the past, and whose kstats of it.
-- @module kstat.command.opening
local core = require("kstat.core")

local past = require("kstat.base.past")
local running = require("kstat.base.running")

local opening = {}

--- The fields of kstat.open for the options that say whose kstats a command shows, kstat.base.options.whose; ends the
-- command with status 2 if they do not go together.
-- @tparam table given the options of the command line
-- @tparam[opt] table source fields to add them to
-- @treturn table source
function opening.whose(given, source)
  source = source or {}
  if given.machine and given.trust then
    running.stop(2, "--machine and --trust cannot be used together")
  end
  source.machine = given.machine
  if given.trust then
    source.trust = {}
    for user in given.trust:gmatch("[^,]+") do
      source.trust[#source.trust + 1] = user
    end
  end
  return source
end

--- The field `args` of kstat.open for a command whose output is kept or sent: command lines of processes hold secrets,
-- so that they are in it only if --args asks for them. Tells those who name them without that, or have no processes.
-- @tparam table given the options of the command line
-- @tparam {selector,...} selectors
-- @treturn boolean
function opening.args(given, selectors)
  local has_processes, has_args = false, false
  for _, sel in ipairs(selectors) do
    local fields = sel:fields()
    has_processes = has_processes or fields.module == "process" or fields.class:find("^process") ~= nil
    has_args = has_args or fields.class == "process_args" or fields.statistic == "psargs" or
      fields.name:find(",args", 1, true) ~= nil
  end
  if has_args and not given.args then
    running.warn("command lines of processes, which may hold secrets, are left out; --args takes them, too")
  elseif given.args and not has_processes then
    running.warn("--args: there are no processes without an operand that names them: process")
  end
  return given.args or false
end

--- The exit status for a chain that could not be opened: 2 the command line, 1 there is no interval that ends then,
-- 3 the source.
-- @tparam table given the options of the command line
-- @string errname
-- @treturn int
function opening.not_opened(given, errname)
  local asks = given.from or given.to or given.at or given.host
  if errname == "EINVAL" and (asks or given.trust) or errname == "ENOENT" and asks and not given.replay then
    return 2
  end
  return errname == "ENODATA" and (given.at or past.named("at")) and 1 or 3
end

local function finish_reading(...)
  core.progress(-1)
  return ...
end

--- Calls a function that may read many samples of the past. What takes more than a second shows how far it is, on a
-- terminal.
-- @func f
-- @param ... its arguments
-- @return what f returns
function opening.reading(f, ...)
  core.progress(1)
  return finish_reading(f(...))
end

--- Opens what a command line names: the machine, or the past, see kstat.base.options.past. A recording of several
-- machines is refused, unless --host chooses one, or is "*" and each row says which one it is of.
-- @tparam table given its options: those of kstat.base.options.past and kstat.base.options.whose, and `interval` and
-- `count`; `names_hosts`: each row does
-- @tparam[opt] {selector,...} only see kstat.open
-- @tparam[opt] boolean|"own" published see kstat.open; "own": root and this user are trusted; of the past everything
-- @treturn[1] chain
-- @treturn[2] nil
-- @treturn[2] string what is wrong
-- @treturn[2] int the exit status, see opening.not_opened
function opening.open(given, only, published)
  local source = past.source(given, opening.whose(given, { only = only }))
  local is_past = source.capture or source.from or source.to or source.at or source.host
  if published == "own" then
    source.trust = source.trust or not given.machine and {} or nil
  elseif not is_past and not (given.machine and published) then
    source.published = published
  end
  local chain = require("kstat.read.chain")
  local ks, message, errname = opening.reading(chain.open, source)
  local problem = ks and chain.several_machines(ks, source, given.names_hosts)
  if problem then
    ks:close()
    return nil, problem, 3
  end
  return ks, message, not ks and opening.not_opened(given, errname) or nil
end

return opening
