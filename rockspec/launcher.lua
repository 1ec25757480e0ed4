-- kstatlua, kstat and the other commands for a Lua that the host is not built for: LuaRocks wraps this file and starts
-- it with the interpreter of the tree. Under a name other than kstatlua it runs the installed script of that name.
-- SPDX-License-Identifier: MIT
local directory, program = arg[0]:match("^(.*)/([^/]*)$")
directory, program = directory or ".", program or arg[0]
local unpack = table.unpack or unpack

local usage = [=[
usage: kstatlua [options] script.lua [arguments] [interval [count]]
       kstatlua [options] name [arguments] [interval [count]]     an installed script
       kstatlua [options] -e chunk [arguments] [interval [count]]

  -e chunk    run this Lua text, and the report that it returns; may be repeated
  -l module   load a module into the global of its name first (-l name=module: another name)
  -r capture  read kstats from a capture (kstat -j, a recording) in place of the machine; -: stdin
  -v          print the version
  --help      print this

In a script, `kstat` is the module and `arg` holds the arguments. The prompt (-i) is in kstatlua for Lua 5.4.

Installed scripts; name --help explains each:

]=]

-- Returns a line for each installed script: its name, and what its first line says of it.
local function read_abouts()
  local lines = {}
  local sed = io.popen("sed -sn '1s/^--- //p' '" .. directory:gsub("'", "'\\''") .. "/../scripts/'*.lua")
  for line in sed:lines() do
    local name, about = line:match("^(%w+): (.-)%.?$")
    lines[#lines + 1] = name and ("  %-11s %s\n"):format(name, about)
  end
  sed:close()
  return table.concat(lines)
end

-- The first use of the global `kstat` loads the module.
setmetatable(_G, { __index = function(globals, name)
  if name == "kstat" then
    local kstat = require("kstat")
    rawset(globals, name, kstat)
    return kstat
  end
end })

local function die(status, line)
  io.stdout:flush()
  io.stderr:write(("%s: %s\n"):format(program, line))
  os.exit(status)
end

-- Runs the same command line again, with the capture in the environment: Lua cannot set a variable of its own process.
local function replay(capture, rest)
  local words, first = {}, 0
  while arg[first - 1] do
    first = first - 1
  end
  for i = first, 0 do
    words[#words + 1] = arg[i]
  end
  for _, word in ipairs(rest) do
    words[#words + 1] = word
  end
  for i, word in ipairs(words) do
    words[i] = "'" .. word:gsub("'", "'\\''") .. "'"
  end
  local command = "KSTAT_SOURCE='" .. capture:gsub("'", "'\\''") .. "' exec " .. table.concat(words, " ")
  local ok, _, status = os.execute(command)
  status = status or (type(ok) == "number" and math.floor(ok / 256)) or 0
  os.exit(status)
end

-- Runs a chunk, then what it returned if that is a report. Returns the exit status.
local function run(chunk, message)
  if not chunk then
    die(1, message)
  end
  local status
  local ok, result = xpcall(function()
    local value = chunk(unpack(arg))
    if type(value) == "table" and type(value.run) == "function" then
      value = value:run(arg)
    end
    status = value
  end, function(problem)
    local failed, code = require("kstat.core").failed(problem)
    return { failed and problem or debug.traceback(tostring(problem), 2), failed and code or 1 }
  end)
  if ok then
    return type(status) == "number" and status % 256 or status == false and 1 or 0
  elseif result[2] == 0 then
    io.stdout:write(result[1], "\n")
    return 0
  end
  die(result[2], result[1])
end

-- Returns the function of an installed script, or nil.
local function load_script(script)
  return loadfile(directory .. "/../scripts/" .. script .. ".lua")
end

-- Returns the file of a script: the installed one of that name, else the file that the name is itself. Ends the
-- process if there is neither.
local function find(name)
  local path = not name:find("/", 1, true) and not name:find("%.lua$") and directory .. "/../scripts/" .. name .. ".lua"
  for _, candidate in ipairs({ path or name, name }) do
    local file = io.open(candidate)
    if file then
      file:close()
      return candidate
    end
  end
  die(2, require("kstat.base.unknown").script(name, nil, ""))
end

local preload = {} -- functions, in the order of the command line
local function load_module(text)
  local name, module = text:match("^(.-)=(.*)$")
  _G[name or text] = require(module or text)
end

-- Takes the options off `words`; returns true if there was a chunk.
local function read_options(words)
  local chunks = false
  while words[1] and words[1]:find("^%-.") do
    local word = table.remove(words, 1)
    local letter, value = word:match("^%-([elr])(.*)$")
    if word == "--" then
      break
    elseif word == "--help" or word == "-h" then
      io.stdout:write(usage, read_abouts())
      os.exit(0)
    elseif word == "--complete" then
      local host = { usage = usage, abouts = read_abouts(), load = load_script }
      io.stdout:write(require("kstat.complete").lines(words, host))
      os.exit(0)
    elseif word == "--version" or word == "-v" then
      print(("kstatlua %s (%s)"):format(require("kstat.core").version, rawget(_G, "jit") and jit.version or _VERSION))
      os.exit(0)
    elseif word == "-i" or word == "-W" then
      die(2, ("'%s' is an option of the kstatlua for Lua 5.4; this one is for %s"):format(word, _VERSION))
    elseif not letter then
      die(2, ("unknown option '%s'; 'kstatlua --help' lists the options"):format(word))
    end
    if value == "" then
      value = table.remove(words, 1) or die(2, ("an argument is missing behind '%s'"):format(word))
    end
    if letter == "r" then
      replay(value, words)
    elseif letter == "l" then
      preload[#preload + 1] = function()
        load_module(value)
      end
    else
      chunks = true
      local chunk, message = (loadstring or load)(value, "=(command line)")
      preload[#preload + 1] = chunk or die(1, message)
    end
  end
  return chunks
end

local words, chunks = { unpack(arg) }, false
local name = program
if program:find("^kstatlua") then
  chunks = read_options(words)
  name = not chunks and table.remove(words, 1) or nil
end
if not name and not chunks then
  io.stderr:write(usage, read_abouts())
  os.exit(2)
end
arg = { [0] = name or program, unpack(words) } -- luacheck: globals arg
for _, chunk in ipairs(preload) do
  local status = run(chunk)
  if status ~= 0 then
    os.exit(status)
  end
end
os.exit(name and run(loadfile(name ~= "-" and find(name) or nil)) or 0, true)
