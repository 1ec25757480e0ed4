--- convert: a recording to the JSON of `kstat -T u -j` on standard output, or a capture to a recording.
-- Exit status: 0, 1 no kstat matched in any sample, 2 the command line was wrong, 3 a file could not be read or
-- written, or is damaged.
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local kstat = require("kstat")
local options = require("kstat.options")
local stdout = require("kstat.stdout")
local recording = require("kstat.recording")
local tool = require("kstat.tool")

local USAGE = [=[
usage: kstatlua convert [--from TIME] [--to TIME] FILE [module[:instance[:name[:statistic]]] ...]
       kstatlua convert -o RECORDING [--from TIME] [--to TIME] FILE [module[:instance[:name]] ...]

  -o, --output RECORDING
                write a recording (one that exists is continued) in place of JSON
  --from TIME, --to TIME
                only samples between: seconds since 1970, or local time as "2026-11-21 14:05"
  -h, --help    this

FILE is a recording or a capture (what kstat -j printed, gzip or plain; -: standard input). Samples of a
capture without times of day get $KSTAT_REPLAY_TIME (default: now) and go on by their snaptimes.
]=]

local OPTIONS = options.command({
  { "o", "output", arg = "RECORDING" }, { nil, "from", arg = "TIME" }, { nil, "to", arg = "TIME" },
  { "h", "help", final = true }, operands = "files",
})

local stop = tool.stop

local function wrong(message)
  stop(2, message .. "; 'kstatlua convert -h' explains")
end

-- Prints warnings, and operands that matched nothing. Returns the exit status.
local function finish(ks, missing, ok, message)
  tool.warnings(ks)
  if not ok then
    stop(ok == false and 0 or 3, message)
  end
  for _, operand in ipairs(missing) do
    tool.warn(("no kstat matches '%s'"):format(operand.typed))
  end
  return ks:damaged() and 3 or missing.all and #missing == missing.all and 1 or 0
end

--- How far it is, on the terminal, at most ten times a second; nothing if nobody looks.
local function progress()
  if not core.terminal(2) then
    return function() end
  end
  local last = -math.huge
  return function(samples, done)
    local time = kstat.hrtime()
    if done or time - last > 0.1 then
      last = time
      io.stderr:write(("\r%d samples%s"):format(samples, done and "\n" or ""))
    end
  end
end

--- Walks the samples; calls write(number) for each. Unlike the loop of a report it is broken off by an
-- interrupt: what was converted by then is not all, and the status has to say so.
local function each_sample(ks, write)
  local tell = progress()
  local samples = 0
  repeat
    local ok, message = write(samples)
    if not ok then
      return ok, message
    end
    samples = samples + 1
    tell(samples)
    ok, message = ks:update()
    if ok == nil then
      return nil, message
    end
  until ks:ended()
  tell(samples, true)
  return true
end

-- Removes the operands that match something in this sample from the list.
local function remove_matching(missing, ks)
  for i = #missing, 1, -1 do
    if #ks:select(missing[i].selector) > 0 then
      table.remove(missing, i)
    end
  end
end

local function to_recording(ks, selectors, path, missing)
  local rec, message = recording.open(path)
  if not rec then
    return nil, message
  end
  local unpack = table.unpack or unpack
  local ok
  ok, message = each_sample(ks, function()
    remove_matching(missing, ks)
    return rec:add(ks, unpack(selectors))
  end)
  rec:close()
  return ok, message
end

local function to_json(ks, selectors, missing)
  local ok, message = each_sample(ks, function(samples)
    remove_matching(missing, ks)
    tool.write(samples > 0 and "\n" or "", ("%d"):format(ks:clock()), "\n")
    return stdout.check(core.render(ks, selectors, "json", io.stdout))
  end)
  if ok then
    tool.flush()
  end
  return ok, message
end

local function main()
  local given, problem = options.read(OPTIONS, arg)
  if not given then
    wrong(problem)
  elseif given.help then
    tool.show(USAGE)
  elseif given.output == "-" then
    wrong("-o -: a recording is a plain file, no stream")
  end
  local file = table.remove(given.operands, 1) or wrong("no file to convert")
  local selectors = tool.selectors(given.operands)
  local ks, message, errname = kstat.open({ capture = file, from = given.from, to = given.to })
  if not ks then
    stop(errname == "EINVAL" and 2 or 3, message)
  end
  local missing = { all = #selectors > 0 and #selectors or nil }
  for i, selector in ipairs(selectors) do
    missing[i] = { selector = selector, typed = given.operands[i] }
  end
  if given.output then
    return finish(ks, missing, to_recording(ks, selectors, given.output, missing))
  end
  return finish(ks, missing, to_json(ks, selectors, missing))
end

return tool.run("convert", main)
