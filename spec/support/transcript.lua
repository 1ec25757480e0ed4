--- Transcripts in documents: fenced blocks whose lines "$ command" stand above what the command printed. A block of
-- Lua that begins with "-- NAME.lua" is the file of that name for the commands after it.
--
--     LUA_PATH='spec/?.lua;;' lua5.4 spec/support/transcript.lua doc/cookbook.md
--
-- puts what the commands print now into the document. They run in a directory that has the recordings of
-- spec/vectors/cookbook; the rest is read from this machine.
local run = require("support.run")

local M = {}

M.FAILS = "; echo %$%?$" -- how a command ends that shows what a mistake is answered with

--- Makes the directory in which the commands of a document run; remove it with run.remove_directory().
function M.directory()
  local dir = run.directory()
  run.shell(("cp spec/vectors/cookbook/*.rec %s && mkdir %s/published && ln -s $PWD/examples %s"):format(dir, dir, dir))
  return dir
end

--- Runs a line of sh in that directory, the programs of the build tree first in the PATH.
-- Of one that ends by printing its status, what it says on standard error is part of its output.
-- Returns { out =, err =, status = }, lines without the carriage returns of a terminal.
function M.run(dir, line)
  line = line:find(M.FAILS) and ("{ %s; } 2>&1"):format(line) or line
  local r = run.shell(([[
cd %s && unset KSTAT_SOURCE KSTAT_PROC KSTAT_SYS KSTAT_WITH && export PATH=%s:"$PATH" KSTAT_DIR=%s/published
export LC_ALL=C.UTF-8 TZ=UTC COLUMNS=100 KSTAT_PRELOAD=
]]):format(dir, run.quote(run.bin), dir) .. line)
  r.out = r.out:gsub("\r\n", "\n")
  return r
end

-- The text without what a wider column changes.
local function words(text)
  return (text:gsub("[ \t]+", " "):gsub(" ?\n", "\n"))
end

-- The first line, each number being N.
local function form(text)
  return (words(text):match("^[^\n]*"):gsub("%d[%d.]*", "N"))
end

--- Starts a command that ends in " &", and waits until the kstats that it publishes are there. Returns its process, for
-- run.stop(); nil: it is no such command.
function M.start(dir, line)
  local command, name = line:match("^(.*/(%w+)%.lua.*) &$")
  if not command then
    return nil
  end
  local pid = M.run(dir, ("{ exec %s; } >/dev/null 2>&1 </dev/null & echo $!"):format(command)).out:match("%d+")
  run.await(line, function() return M.run(dir, "kstat -q " .. name).status == 0 end)
  return pid
end

--- Runs a command and compares what it prints with a document: word by word if it reads a recording; of this machine,
-- of which today.rec is a recording, the form of the first line.
function M.check(dir, line, output)
  local assert = require("luassert")
  local r = M.run(dir, line)
  assert.equal("", r.err, line)
  assert.equal(0, r.status, line)
  if line:find(M.FAILS) or line:find("%.rec") and not line:find("today%.rec") then
    assert.equal(words(output), words(r.out), line)
  else
    assert.equal(form(output), form(r.out), line)
  end
end

-- The commands of a block: an array of { line =, output = }.
local function commands_of(body)
  local list = {}
  for line in body:gmatch("([^\n]*)\n") do
    if line:find("^%$ ") then
      list[#list + 1] = { line = line:sub(3), output = "" }
    else
      list[#list].output = list[#list].output .. line .. "\n"
    end
  end
  return list
end

--- Calls f(line, output) for each command of a text, in order, and writes its scripts into the directory.
-- Returns the text with what f returned in place of the outputs; nil keeps the one that there is.
function M.each(text, dir, f)
  return (text:gsub("(\n```%w*\n)(.-\n)(```)", function(head, body, tail)
    local name = body:match("^%-%- ([%w_]+%.lua)")
    if name then
      run.write_file(dir .. "/" .. name, body)
    elseif body:find("^%$ ") then
      local list = commands_of(body)
      for i, command in ipairs(list) do
        list[i] = "$ " .. command.line .. "\n" .. (f(command.line, command.output) or command.output)
      end
      body = table.concat(list)
    end
    return head .. body .. tail
  end))
end

-- The program: only where this file is the script.
if arg and arg[0] and arg[0]:find("transcript%.lua$") then
  local dir, started = M.directory(), nil
  local text = run.read_file(arg[1])
  run.write_file(arg[1], M.each(text, dir, function(line)
    local pid = M.start(dir, line)
    started = pid or started
    if pid then
      return ""
    end
    local r = M.run(dir, line)
    io.stderr:write(r.err)
    return (r.out:gsub(" +\n", "\n"))
  end))
  if started then
    run.stop(started)
  end
  run.remove_directory(dir)
end

return M
