--- convert: a recording to the JSON of `kstat -T u -j` on standard output, or a capture, or several recordings, to one.
-- Exit status: 0, 1 no kstat matched in any sample, 2 the command line was wrong, 3 a file could not be read or
-- written, or is damaged.
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local opening = require("kstat.command.opening")
local operand = require("kstat.command.operand")
local options = require("kstat.base.options")
local recording = require("kstat.recording")
local running = require("kstat.base.running")
local stdout = require("kstat.base.stdout")

local USAGE = [=[
usage: kstatlua convert [--from TIME] [--to TIME] FILE|DIRECTORY [module[:instance[:name[:statistic]]] ...]
       kstatlua convert -o RECORDING [--from TIME] [--to TIME] FILE ... [module[:instance[:name]] ...]

  -o, --output RECORDING
                write a recording (one that exists is continued) in place of JSON
  --from TIME, --to TIME
                only samples between: 14:32, yesterday 3:12, mon 9:00, -3h, 2026-11-21 14:05
  --at TIME     the two samples of the one interval that ends then
  --host NAME   of recordings of several machines, those of this one
  -h, --help    this

Recordings of several machines become one, in which each kstat has the statistic `host`: the machine's name, or that
of its file where a recording does not hold unix:0:os.

FILE is a recording or a capture (what kstat -j printed, gzip or plain; -: standard input). Samples of a
capture without times of day get $KSTAT_REPLAY_TIME (default: now) and go on by their snaptimes.
]=]

local OPTIONS = options.command({
  { "o", "output", arg = "RECORDING" }, { nil, "from", arg = "TIME" }, { nil, "to", arg = "TIME" },
  { nil, "at", arg = "TIME" }, { nil, "host", arg = "NAME" },
  { "h", "help", final = true }, operands = "files",
})

local stop = running.stop

local wrong = running.refusal("kstatlua convert -h")

-- Prints operands that matched nothing. Returns the exit status.
local function finish(damaged, missing, ok, message)
  if not ok then
    stop(ok == false and 0 or 3, message)
  end
  for _, selected in ipairs(missing) do
    running.warn(("no kstat matches '%s'"):format(selected.typed))
  end
  return damaged and 3 or missing.all and #missing == missing.all and 1 or 0
end

--- Walks the samples; calls write(number) for each. Unlike the loop of a report it is broken off by an
-- interrupt: what was converted by then is not all, and the status has to say so.
local function each_sample(ks, write)
  local samples = 0
  repeat
    local ok, message = write(samples)
    if not ok then
      return ok, message
    end
    samples = samples + 1
    ok, message = ks:update()
    if not ok then
      return nil, message
    end
  until ks:ended()
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

local function to_recording(ks, selectors, missing, path)
  local rec, message = recording.open(path)
  if not rec then
    return nil, message
  end
  local unpack = table.unpack or unpack
  local ok
  ok, message = opening.reading(each_sample, ks, function()
    remove_matching(missing, ks)
    return rec:add(ks, unpack(selectors))
  end)
  rec:close()
  running.warnings(ks)
  return ok, message, ks:damaged()
end

-- --- several machines ----------------------------------------------------------------------------

-- The machine that a recording is of: as it says itself; else, or if it is of several, the name of the file.
local function host_of(ks, path)
  local os = ks:lookup("unix", 0, "os")
  return os and not os:get("host") and os:get("nodename") or path:match("([^/]+)$"):gsub("%.[^.]*$", "")
end

local function open(file, given)
  local ks, message, status = opening.open({ replay = file, from = given.from, to = given.to, at = given.at,
    host = given.host or "*", names_hosts = true })
  return ks or stop(status, message)
end

-- Goes to the next sample; stores when the one behind that is. Where that is not known it is due after the samples that
-- the other machines have at this time: there it turns out that there is none. A machine whose recording is damaged
-- ends there, and `problem` says so.
local function advance(host)
  local ks, is_there = host.chain, true
  if host[1] then
    local message
    is_there, message = core.chain_methods.update(ks, true)
    host.problem = not is_there and message or nil
    is_there = is_there and not ks:ended()
  end
  local now = ks:time_of_day_ns()
  host[1] = is_there and ks
  host.next = is_there and (host.following[now] or now + 1000)
end

-- The files of each machine: an array of { name =, paths = the files as one stream, following = of the time of a sample
-- that of the next one in the file }.
local function by_host(files, given)
  local list, found = {}, {}
  for _, file in ipairs(files) do
    local ks = open(file, given)
    local name = host_of(ks, file)
    ks:close()
    if found[name] then
      found[name].paths = found[name].paths .. "\n" .. file
    else
      found[name] = { name = name, paths = file, following = {} }
      list[#list + 1] = found[name]
    end
    local times = core.times(file)
    for i = 2, #times do
      found[name].following[times[i - 1]] = times[i]
    end
  end
  return list
end

-- Opens what by_host() returned: an array of { `chain` where it is in this sample, else false; name, ns by which its
-- times become later, `following`, `next` = the time of day of the next sample }. Times of a recording are on a clock
-- that began when its machine was started, and become times of the first one's clock.
local function open_hosts(list, given)
  local hosts, first = {}, nil
  for i, one in ipairs(list) do
    local ks = open(one.paths, given)
    local began = ks:time_of_day_ns() - select(2, core.sample_taken(ks:sample("unix:0:os"))) -- when the clock was 0
    first = first or began
    hosts[i] = { false, one.name, began - first, chain = ks, following = one.following, next = ks:time_of_day_ns() }
  end
  return hosts
end

-- The machine whose next sample is the earliest; nil at the end of all.
local function earliest(hosts)
  local found
  for _, host in ipairs(hosts) do
    if host.next and (not found or host.next < found.next) then
      found = host
    end
  end
  return found
end

-- A sample has each machine's latest; at most one step of each lies between two, so that none is lost, and machines
-- that are recorded equally often have one sample together.
local function hosts_to_recording(hosts, selectors, missing, path)
  local rec, message = recording.open(path)
  if not rec then
    return nil, message
  end
  local ok, host = true, earliest(hosts)
  while ok and host do
    local stepped = {}
    while host and not stepped[host] do
      stepped[host] = true
      advance(host)
      remove_matching(missing, host.chain)
      host = earliest(hosts)
    end
    if host then
      ok, message = rec.recorder:add_hosts(hosts, selectors)
    end
  end
  rec:close()
  local damaged = false
  for _, one in ipairs(hosts) do
    running.warnings(one.chain)
    damaged = damaged or one.chain:damaged()
    if ok and one.problem then
      ok, message = nil, one.problem
    end
  end
  return ok, message, damaged
end

local function to_json(ks, selectors, missing)
  local function write(samples)
    remove_matching(missing, ks)
    running.write(samples > 0 and "\n" or "", ("%d"):format(ks:clock()), "\n")
    return stdout.check(core.render(ks, selectors, "json", io.stdout))
  end
  local ok, message
  if core.terminal(1) then
    ok, message = each_sample(ks, write)
  else
    ok, message = opening.reading(each_sample, ks, write)
  end
  if ok then
    running.flush()
  end
  running.warnings(ks)
  return ok, message, ks:damaged()
end

-- Takes the files from the front of the operands: the first, and for a recording those behind it that are there.
local function files_of(given)
  local files = { table.remove(given.operands, 1) or wrong("no file to convert") }
  local file = given.output and given.operands[1] and io.open(given.operands[1])
  while file do
    file:close()
    files[#files + 1] = table.remove(given.operands, 1)
    file = given.operands[1] and io.open(given.operands[1])
  end
  return files
end

local function main()
  local given = operand.read(OPTIONS, arg, USAGE, wrong)
  if given.output == "-" then
    wrong("-o -: a recording is a plain file, no stream")
  end
  local files = files_of(given)
  local selectors = operand.selectors(given.operands)
  local missing = { all = #selectors > 0 and #selectors or nil }
  for i, selector in ipairs(selectors) do
    missing[i] = { selector = selector, typed = given.operands[i] }
  end
  local hosts = #files > 1 and not given.host and by_host(files, given) or { { paths = table.concat(files, "\n") } }
  local ok, message, damaged
  if #hosts > 1 then
    ok, message, damaged = hosts_to_recording(open_hosts(hosts, given), selectors, missing, given.output)
  else
    local to = given.output and to_recording or to_json
    ok, message, damaged = to(open(hosts[1].paths, given), selectors, missing, given.output)
  end
  return finish(damaged, missing, ok, message)
end

return running.run("convert", main)
