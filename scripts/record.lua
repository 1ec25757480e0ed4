--- record: writes samples of kstats to a recording, or for years into a directory of them; see kstat.recording.
-- A recording that exists is continued. Exit status: 0, 1 no kstat matched in any sample, 2 the command line
-- was wrong, 3 the kstats could not be read or the file not be written. SPDX-License-Identifier: MIT
local interval = require("kstat.base.options.interval")
local kstat = require("kstat")
local opening = require("kstat.command.opening")
local operand = require("kstat.command.operand")
local options = require("kstat.base.options")
local recording = require("kstat.recording")
local running = require("kstat.base.running")
local tick = require("kstat.command.tick")

local USAGE = [=[
usage: kstatlua record -o FILE [--args | --no-processes] [--machine | --trust USER,...]
                       [module[:instance[:name]] ...] interval [count]
       kstatlua record --directory DIRECTORY [--keep 14d] [--keep-bytes 1G] [--args | --no-processes]
                       [--machine | --trust USER,...] [module[:instance[:name]] ...] interval [count]

  -o, --output FILE
              the recording; one that exists is continued behind its last sample
  --directory DIRECTORY
              files in it, one a day: as a service, see below
  --keep TIME how old samples may become there: a number with s, m, h or d (14d)
  --keep-bytes BYTES
              how large all its files may be together: a number with k, M, G or T (1G)
  --args      the command lines of processes, too, which may hold secrets
  --no-processes
              no processes, which are there without operands
  --machine   the machine's kstats alone, nobody's who publishes
  --trust USER,...
              of published ones those of these users, too, beside root's and your own
  -h, --help  this

Records the kstats that match any operand every interval seconds, count times or until it is interrupted;
without operands all, and the processes with their CPU time, memory and I/O. In a directory the
oldest files go first, and nothing is written while less than 5 % or 256 MB of the file system are free; the
recorder publishes what became of its samples: kstat kstat_record.
Read it with:  kstat -r FILE, kstatlua -r FILE script, kstatlua convert FILE
]=]

local OPTIONS = options.command({
  { "o", "output", arg = "FILE" }, { nil, "directory", arg = "DIRECTORY" }, { nil, "keep", arg = "TIME" },
  { nil, "keep_bytes", long = "keep-bytes", arg = "BYTES" }, { "h", "help", final = true }, { nil, "args" },
  { nil, "no_processes", long = "no-processes" }, operands = "selector",
}, options.whose)

-- Of processes what kstatlua use and prstat ask for: where the CPU time, the memory and the I/O went.
local PROCESSES = { { class = "process" }, { class = "process_io" } }
local WITH_ARGS = { PROCESSES[1], PROCESSES[2], { class = "process_args" } }

local HOUR = 3600 -- seconds

local stop = running.stop

local wrong = running.refusal("kstatlua record --help")

local BYTES = { [""] = 1, k = 2 ^ 10, M = 2 ^ 20, G = 2 ^ 30, T = 2 ^ 40 }
local LEAST_BYTES = 2 ^ 16 -- a file is an eighth of it

-- The limits of a directory, as recording.directory() takes them.
local function limits_of(given)
  local limits = {}
  if given.keep then
    limits.keep = given.keep:find("%a$") and interval.seconds(given.keep) or 0
    if not (limits.keep > 0 and limits.keep < 2 ^ 31) then
      wrong(("--keep: '%s' is no time such as 14d or 36h"):format(given.keep))
    end
  end
  if given.keep_bytes then
    local number, unit = given.keep_bytes:match("^(%d+%.?%d*)(%a?)$")
    limits.keep_bytes = math.floor((tonumber(number) or 0) * (BYTES[unit] or 0))
    if not (limits.keep_bytes >= LEAST_BYTES and limits.keep_bytes < 2 ^ 60) then
      wrong(("--keep-bytes: '%s' is no number of bytes such as 1G or 500M, of at least 64k"):format(given.keep_bytes))
    end
  end
  return limits
end

--- Returns the options, the operands that are selectors, the interval and the count.
local function read_arguments(words)
  local given, operands, seconds, count = operand.command_line(OPTIONS, words, USAGE, wrong)
  if not seconds then
    wrong("no interval")
  elseif not given.output == not given.directory then
    wrong(given.output and "-o and --directory cannot be used together" or
      "no file to write (-o FILE, or --directory DIRECTORY)")
  elseif given.output == "-" then
    wrong("-o -: a recording is a plain file, no stream")
  elseif given.no_processes and (given.args or operands[1]) then
    wrong(("--no-processes and %s cannot be used together"):format(given.args and "--args" or "operands"))
  elseif not given.directory and (given.keep or given.keep_bytes) then
    wrong("--keep and --keep-bytes are limits of a --directory")
  end
  return given, operands, seconds, count
end

-- --- into a directory -------------------------------------------------------------------------

-- Publishes what becomes of the samples. Returns function(status), which brings it up to date.
local function publish()
  local pub, message = kstat.publish("kstat_record")
  local k
  if pub then
    k, message = pub:named({ name = "recorder", shards = 1, statistics = {
      { name = "samples", kind = "counter", desc = "samples that were written" },
      { name = "bytes", kind = "counter", unit = "bytes", meta = "bytes", desc = "bytes of the samples written" },
      { name = "dropped", kind = "counter", desc = "samples that were not written" },
      { name = "write_time", kind = "counter", unit = "ns", meta = "t_acc", desc = "time that writing samples took" },
      { name = "waiting", kind = "gauge", desc = "samples that wait to be written" },
      { name = "size", kind = "gauge", unit = "bytes", meta = "bytes", desc = "bytes of all files of the directory" },
      { name = "is_writing", kind = "gauge", meta = "state", value = 1,
        desc = "1: samples are written; 0: not now, because of the disk" },
    } })
  end
  if not k then
    running.warn(("what becomes of the samples is not published: %s"):format(message))
    return function() end
  end
  return function(status)
    for _, name in ipairs({ "samples", "bytes", "dropped", "waiting", "size" }) do
      k:set(name, status[name])
    end
    k:set("write_time", status.write_ns)
    k:set("is_writing", status.problem and 0 or 1)
  end
end

-- Returns function(status), which tells when samples begin not to be written, and when that ends.
local function watch(path)
  local problem, before = nil, 0 -- and how many were dropped before it
  return function(status)
    if status.problem and status.problem ~= problem then
      running.tell(status.problem .. "; samples are dropped until that ends")
    elseif problem and not status.problem then
      running.tell(("%s: samples are written again; %d were dropped"):format(path, status.dropped - before))
    end
    problem, before = status.problem, status.problem and before or status.dropped
  end
end

-- Returns a function that looks after the recorder when a sample was added.
local function attend(ks, rec)
  local update, look, told = publish(), watch(rec:path()), kstat.hrtime()
  return function()
    local status = rec:status()
    update(status)
    look(status)
    -- Who reads the lines of a service looks at those of the last hours.
    if kstat.hrtime() - told > HOUR then
      told = kstat.hrtime()
      running.warn_again(ks)
    end
  end
end

-- --- the command ------------------------------------------------------------------------------

-- Opens what is recorded: without operands also processes, and of publishers only those who are trusted.
local function open_chain(given, selectors)
  local processes = given.args and WITH_ARGS or PROCESSES
  local also = #selectors == 0 and not given.no_processes and operand.selectors(processes) or nil
  local source = opening.whose(given, { everybody = true, only = #selectors > 0 and selectors or nil,
    args = opening.args(given, also or selectors), trust = not given.machine and {} or nil })
  local ks, message, errname = kstat.open(source, also)
  return ks or stop(given.trust and errname == "EINVAL" and 2 or 3, message)
end

local function open_recording(given)
  local rec, message
  if given.output then
    rec, message = recording.open(given.output)
  else
    rec, message = recording.directory(given.directory, limits_of(given))
  end
  return rec or stop(3, message)
end

local function main()
  local given, typed, seconds, count = read_arguments(arg)
  local selectors = operand.selectors(typed)
  local ks = open_chain(given, selectors)
  local rec = open_recording(given)

  local unpack = table.unpack or unpack
  local unmatched, first = { unpack(typed) }, true -- an operand until something matches it, then false

  -- Tells of operands that match nothing, once; what they name may still come.
  local function look_for_matches()
    for i, sel in ipairs(selectors) do
      if unmatched[i] and #ks:select(sel) > 0 then
        unmatched[i] = false
      elseif unmatched[i] and first then
        running.warn(("no kstat matches '%s' yet"):format(typed[i]))
      end
    end
    first = false
  end

  local look_after = given.directory and attend(ks, rec) or function() end

  local status = tick.run(ks, seconds, count, function()
    local ok, message = rec:add(ks, unpack(selectors))
    if not ok then
      stop(3, message)
    end
    look_after()
    look_for_matches()
  end)
  rec:close()
  look_after()
  status = rec:status().problem and 3 or status
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

return running.run("record", main)
