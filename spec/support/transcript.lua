--- Transcripts in documents: fenced blocks whose lines "$ command" stand above what the command printed. A block of
-- Lua that begins with "-- NAME.lua" is the file of that name for the commands after it.
--
--     LUA_PATH='spec/?.lua;;' lua5.4 spec/support/transcript.lua doc/cookbook.md
--
-- puts what the commands print now into the document. They run in a directory that has the recordings of
-- spec/vectors/cookbook; the rest is read from this machine.
local run = require("support.run")

local M = {}

--- Makes the directory in which the commands of a document run; remove it with run.remove_directory().
function M.directory()
  local dir = run.directory()
  run.shell(("cp spec/vectors/cookbook/*.rec %s && mkdir %s/published"):format(dir, dir))
  return dir
end

--- Runs a line of sh in that directory, the programs of the build tree first in the PATH.
-- Returns { out =, err =, status = }.
function M.run(dir, line)
  return run.shell(([[
cd %s && unset KSTAT_SOURCE KSTAT_PROC KSTAT_SYS KSTAT_WITH && export PATH=%s:"$PATH" KSTAT_DIR=%s/published
export LC_ALL=C.UTF-8 TZ=UTC COLUMNS=100 KSTAT_PRELOAD=
]]):format(dir, run.quote(run.bin), dir) .. line)
end

--- Returns true if a command reads recordings alone, so that it prints the same on each machine.
function M.is_replay(line)
  return line:find("%.rec") ~= nil and not line:find("^kstatlua record")
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
  local dir = M.directory()
  local text = run.read_file(arg[1])
  run.write_file(arg[1], M.each(text, dir, function(line)
    local r = M.run(dir, line)
    io.stderr:write(r.err)
    return (r.out:gsub(" +\n", "\n"))
  end))
  run.remove_directory(dir)
end

return M
