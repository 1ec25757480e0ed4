--- convert: a recording to the JSON of `kstat -T u -j` on standard output, or a capture to a recording.
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local kstat = require("kstat")
local recording = require("kstat.recording")

local USAGE = [=[
usage: kstatlua convert [--from TIME] [--to TIME] FILE [module[:instance[:name[:statistic]]] ...]
       kstatlua convert -o RECORDING [--from TIME] [--to TIME] FILE [module[:instance[:name]] ...]

  -o RECORDING  write a recording (one that exists is continued) in place of JSON
  --from TIME, --to TIME
                only samples between: seconds since 1970, or local time as "2026-11-21 14:05"
  -h            this

FILE is a recording or a capture (what kstat -j printed, gzip or plain; -: standard input). Samples of a
capture without times of day get $KSTAT_REPLAY_TIME (default: now) and go on by their snaptimes.
]=]

local function stop(status, message)
  io.stderr:write("convert: ", message, "\n")
  os.exit(status, true)
end

local function wrong(message)
  stop(2, message .. "; 'kstatlua convert -h' explains")
end

local VALUED = { ["-o"] = "output", ["--from"] = "from", ["--to"] = "to" }

local function read_arguments(words)
  local options, operands = {}, {}
  local i = 1
  while words[i] do
    local word = words[i]
    if word == "-h" or word == "--help" then
      io.stdout:write(USAGE)
      os.exit(0, true)
    elseif VALUED[word] then
      i = i + 1
      options[VALUED[word]] = words[i] or wrong(word .. " needs an argument")
    elseif word:find("^%-.") then
      wrong(("unknown option '%s'"):format(word))
    else
      operands[#operands + 1] = word
    end
    i = i + 1
  end
  local file = table.remove(operands, 1) or wrong("no file to convert")
  return options, file, operands
end

local function compile(operands)
  local selectors = {}
  for i, operand in ipairs(operands) do
    local sel, message = kstat.selector(operand)
    selectors[i] = sel or stop(2, message)
  end
  return selectors
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

--- When the first kstat of the sample was read: for captures that do not tell the time.
local function first_snaptime(ks)
  local first = ks:select("*")[1]
  return first and first:read() and first.snaptime
end

--- Walks the samples; calls write(number) for each.
local function each_sample(ks, write)
  local tell = progress()
  local samples, before = 0, nil
  repeat
    local time = first_snaptime(ks)
    if before and time and time > before then
      ks:pass(time - before)
    end
    before = time
    local ok, message = write(samples)
    if not ok then
      stop(3, message)
    end
    samples = samples + 1
    tell(samples)
    ok, message = ks:update()
    if ok == nil then
      io.stdout:flush()
      stop(3, message)
    end
  until ks:ended() or core.interrupted()
  tell(samples, true)
  for _, line in ipairs(ks:warnings()) do
    io.stderr:write("convert: ", line, "\n")
  end
end

local function to_recording(ks, path, selectors)
  local rec, message = recording.open(path)
  if not rec then
    stop(3, message)
  end
  local unpack = table.unpack or unpack
  each_sample(ks, function()
    return rec:add(ks, unpack(selectors))
  end)
  rec:close()
end

local function to_json(ks, selectors)
  each_sample(ks, function(samples)
    io.stdout:write(samples > 0 and "\n" or "", ("%d"):format(math.floor(ks:time_of_day())), "\n")
    return core.render(ks, selectors, "json", io.stdout)
  end)
end

local options, file, operands = read_arguments(arg)
local selectors = compile(operands)
local understood, ks, message = pcall(kstat.open, { capture = file, from = options.from, to = options.to })
if not understood then
  wrong("--from and --to take seconds since 1970 or a time such as '2026-11-21 14:05'")
elseif not ks then
  stop(3, message)
elseif options.output then
  to_recording(ks, options.output, selectors)
else
  to_json(ks, selectors)
end
