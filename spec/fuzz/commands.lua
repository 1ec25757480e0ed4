--- commands.lua [SECONDS [SEED]]: fuzzes the command lines of all commands, in this process and without side effects:
-- what writes files, listens, waits or takes a terminal is refused. $KSTAT_SOURCE is a capture. Each command line is
-- made of good words, times, expressions and pieces by random changes. Whatever it is, the command ends within seconds
-- with a status from 0 to 3; it says why not in lines without control characters that a screen holds, and never shows
-- a stack. Otherwise the program ends with status 1, and prints the words. The same seed tries the same command lines.
-- SPDX-License-Identifier: MIT
-- luacheck: ignore 122
local core = require("kstat.core")
local script = require("kstat.host").script

local HOST = os.getenv("KSTAT_SOURCE")
local NAMES = { "kstat", "arcstat", "convert", "devstat", "diff", "exporter", "fsstat", "intrstat", "iostat", "listen",
  "mpstat", "nicstat", "prstat", "prtop", "record", "top", "use", "vmstat" }
local OPTIONS = { "-p", "-j", "-a", "-l", "-d", "-q", "-m", "-n", "-s", "-c", "-i", "-x", "-z", "-y", "-C", "-D", "-e",
  "-E", "-M",
  "-t", "-u", "-P", "-T", "-r", "-o", "-b", "-A", "-v", "-h", "-k", "-K", "-N", "--", "-", "--help", "--json", "--csv",
  "--openmetrics", "--sort", "--top", "--summary", "--color", "--watch", "--from", "--to", "--at", "--host", "--replay",
  "--trust", "--machine", "--rate", "--filter", "--skip-idle", "--skip-first", "--timestamp", "--explain", "--check",
  "--view", "--directory", "--names", "--select", "--base", "--latency", "--steal", "--output", "--version",
  "--web.listen-address", "--max-series", "--no-processes", "--args", "--keep", "--size" }
local VALUES = { HOST, "1", "5", "0", "-1", "0.5", "1e9", "1e999", "nan", "0x10", "99999999999999999999", "d", "u",
  "always", "sda", "vda", "cpu", "cpu_stat", "unix:0:system_misc:nproc", "sd:::/^n/", ":::", "/(/", "/a|b/i", "::sda*",
  "now", "noon", "3h ago", "10:30", "yesterday", "last tuesday 16:00", "2026-10-27T16:30:00Z", "10/27", "@0", "-5m",
  "2 days ago", "25:61", "sum by (module)", "sum(x) by (k) > 40", "top 5 sum(rate(nread)) by (name)", "quantize",
  "p99(latency, 1h) where state == 'on'", "avg(svc_t, 60s) - svc_t ago 1m", "rate(reads + writes)", "root", "nobody",
  "%b", "*", "processes", "/nonexistent", "/dev/null", "127.0.0.1:0", "node", "critical", "all", "", "a=b", "--" }
local PIECES = { "(", ")", "'", "\"", "/", ":", ",", " ", "-", "=", "*", "9", "\27[31m", "\n", "\t", "\255",
  "\226\128\174", "[", "]", "{", "\\", "%", "%s", "~", "^", ".", "é", ("x"):rep(300) }

-- --- a world in which nothing happens ----------------------------------------------------------------------

local stderr, said, started = io.stderr, {}, 0
local devnull = assert(io.open("/dev/null", "w"))

local function refuse()
  return nil, "this is not done here", 13
end
for _, name in ipairs({ "recorder", "recorder_directory", "replace_file", "own_replace", "own_file", "remove",
  "publish", "own", "create", "gc", "screen", "signal", "store" }) do
  core[name] = refuse
end
function core.terminal()
end
function core.wait()
  return core.fail("nobody waits here")
end
package.loaded["kstat.http"] = setmetatable({}, { __index = function() return refuse end })
local open = io.open
function io.open(name, mode)
  return (mode or "r"):find("[wa+]") and refuse() or open(name, mode)
end
io.popen, os.execute, os.remove, os.rename, os.tmpname, io.tmpfile = refuse, refuse, refuse, refuse, refuse, refuse
os.exit = function(status) error({ status = status }) end
io.stdout = devnull
io.output(devnull)
-- What is said on standard error is looked at.
io.stderr = setmetatable({}, { __index = {
  write = function(self, ...) said[#said + 1] = table.concat({ ... }) return self end,
  flush = function() end, setvbuf = function() end, close = function() end } })

-- --- command lines -----------------------------------------------------------------------------------------

local function pick(list)
  return list[math.random(#list)]
end

local function change(word)
  local at = math.random(0, #word)
  local kind = math.random(4)
  if kind == 1 then
    return word:sub(1, at) .. pick(PIECES) .. word:sub(at + 1)
  elseif kind == 2 then
    return word:sub(1, at)
  elseif kind == 3 then
    return word:sub(1, at) .. pick(VALUES):sub(math.random(20))
  end
  return word .. "=" .. pick(VALUES)
end

local function command_line()
  local words = { [0] = pick(NAMES) }
  for i = 1, math.random(0, 6) do
    local word = math.random(2) == 1 and pick(OPTIONS) or pick(VALUES)
    word = math.random(4) == 1 and change(word) or word
    words[i] = word:gsub("%z", "")
  end
  return words
end

-- What is wrong with what a command said, or nil.
local function wrong(status, text)
  if type(status) ~= "number" or status % 1 ~= 0 or status < 0 or status > 3 then
    return "the status is " .. tostring(status)
  elseif text:find("stack traceback", 1, true) or text:find("attempt to", 1, true) then
    return "a stack is shown"
  elseif status == 2 and not text:find("\n$") then
    return "nothing is said"
  elseif text:find("[%c]", 1) and text:gsub("\n", ""):find("[\1-\8\11-\31\127]") then
    return "control characters are said"
  end
  for line in text:gmatch("[^\n]+") do
    if #line > 500 then
      return ("a line has %d bytes"):format(#line)
    end
  end
end

local function try(words)
  said, started = {}, os.clock()
  _G.arg = words
  local ok, status = xpcall(function()
    local result = assert(script(words[0]))(table.unpack(words))
    return type(result) == "table" and 0 or result or 0
  end, function(problem)
    local message, failed = core.failed(problem)
    return type(problem) == "table" and problem.status and problem or message and { status = failed } or
      debug.traceback(tostring(problem))
  end)
  if not ok then
    if type(status) ~= "table" then
      return status
    end
    status = status.status
  end
  return wrong(status, table.concat(said))
end

-- --- what is tried -----------------------------------------------------------------------------------------

local LONGEST = 20 -- seconds; with sanitizers on a machine that has other things to do
local seconds, seed = tonumber(arg[1]) or 10, tonumber(arg[2]) or 1
local ends, n = os.clock() + seconds, 0
math.randomseed(seed)
debug.sethook(function()
  if os.clock() - started > LONGEST then
    started = os.clock()
    error("it takes too long")
  end
end, "", 10000000)
while os.clock() < ends do
  local words = command_line()
  local problem = try(words)
  if problem then
    for i = 0, #words do
      words[i] = ("%q"):format(words[i])
    end
    stderr:write(("%s %s\n%s\n%s"):format(words[0], table.concat(words, " "), problem, table.concat(said)))
    os.exit = nil
    error("a command line is not answered")
  end
  n = n + 1
  collectgarbage("step")
end
stderr:write(("%d command lines of %d commands\n"):format(n, #NAMES))
