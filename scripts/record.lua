--- record: writes samples of kstats to a recording, one every interval; see kstat.recording.
-- A recording that exists is continued. Exit status: 0, 1 no kstat matched in any sample, 2 the command line
-- was wrong, 3 the kstats could not be read or the file not be written. SPDX-License-Identifier: MIT
local kstat = require("kstat")
local options = require("kstat.options")
local recording = require("kstat.recording")
local split = require("kstat.options.interval").split
local tick = require("kstat.tick")
local tool = require("kstat.tool")

local USAGE = [=[
usage: kstatlua record -o FILE [--args] [--machine | --trust USER,...] [module[:instance[:name]] ...]
                       interval [count]

  -o, --output FILE
              the recording; one that exists is continued behind its last sample
  --args      the command lines of processes, too, which may hold secrets
  --machine   the machine's kstats alone, nobody's who publishes
  --trust USER,...
              of published ones root's, your own and those of these users
  -h, --help  this

Records the kstats that match any operand (none: all) every interval seconds, count times or until it is
interrupted. Read it with:  kstat -r FILE, kstatlua -r FILE script, kstatlua convert FILE
]=]

local OPTIONS = options.command({
  { "o", "output", arg = "FILE" }, { "h", "help", final = true }, { nil, "args" }, operands = "selector",
}, options.whose)

local stop = tool.stop

local function wrong(message)
  stop(2, message .. "; usage: kstatlua record -o FILE [selectors] interval [count]")
end

--- Returns the options, the operands that are selectors, the interval and the count.
local function read_arguments(words)
  local given, problem = options.read(OPTIONS, words)
  if not given then
    wrong(problem)
  elseif given.help then
    tool.show(USAGE)
  end
  local operands, seconds, count = split(given.operands)
  if not operands then
    wrong(seconds)
  elseif not seconds then
    wrong("no interval")
  elseif not given.output then
    wrong("no file to write (-o FILE)")
  elseif given.output == "-" then
    wrong("-o -: a recording is a plain file, no stream")
  end
  return given, operands, seconds, count
end

local function main()
  local given, typed, seconds, count = read_arguments(arg)
  local selectors = tool.selectors(typed)
  local ks, message, errname = kstat.open(tool.whose(given, { everybody = true,
    only = #selectors > 0 and selectors or nil, args = tool.args(given, selectors) }))
  if not ks then
    stop(given.trust and errname == "EINVAL" and 2 or 3, message)
  end
  local rec
  rec, message = recording.open(given.output)
  if not rec then
    stop(3, message)
  end

  local unpack = table.unpack or unpack
  local unmatched, first = { unpack(typed) }, true -- an operand until something matches it, then false

  -- Tells of operands that match nothing, once; what they name may still come.
  local function look_for_matches()
    for i, sel in ipairs(selectors) do
      if unmatched[i] and #ks:select(sel) > 0 then
        unmatched[i] = false
      elseif unmatched[i] and first then
        tool.warn(("no kstat matches '%s' yet"):format(typed[i]))
      end
    end
    first = false
  end

  local status = tick.run(ks, seconds, count, function()
    local ok
    ok, message = rec:add(ks, unpack(selectors))
    if not ok then
      stop(3, message)
    end
    look_for_matches()
  end)
  rec:close()
  if status ~= 0 then
    return status
  end
  for i = 1, #selectors do
    if not unmatched[i] then
      return 0
    end
  end
  return #selectors > 0 and 1 or 0
end

return tool.run("record", main)
