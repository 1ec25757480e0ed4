--- Runs programs for specs, with exact arguments, and returns their standard output, standard error and status.
local M = {}

--- The build tree under test, absolute.
M.build = os.getenv("KSTAT_BUILD") or "build"
M.bin = M.build .. "/bin"

--- The directory of a recorded tree of /proc and /sys, which make has unpacked from spec/trees. Specs change copies.
function M.tree(name)
  return M.build .. "/trees/" .. name
end

--- The names of all trees.
function M.trees()
  local names = {}
  local p = assert(io.popen("cd spec/trees && ls -d *.tree"))
  for file in p:lines() do
    names[#names + 1] = file:match("^(.*)%.tree$")
  end
  p:close()
  return names
end

--- The roots that open() takes to read a tree.
function M.tree_roots(name)
  return { proc = M.tree(name) .. "/proc", sys = M.tree(name) .. "/sys" }
end

--- The variables that put a tree in place of this machine, for run(), and more variables.
function M.tree_env(name, more)
  local env = { KSTAT_PROC = M.tree(name) .. "/proc", KSTAT_SYS = M.tree(name) .. "/sys" }
  for variable, value in pairs(more or {}) do
    env[variable] = value
  end
  return env
end

--- The same variables as words of sh.
function M.tree_words(name)
  return ("KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys"):format(M.tree(name), M.tree(name))
end

--- Quotes any text for sh.
function M.quote(text)
  return "'" .. (tostring(text):gsub("'", "'\\''")) .. "'"
end

local function slurp(path)
  local f = assert(io.open(path, "rb"))
  local text = f:read("*a")
  f:close()
  return text
end

--- The whole text of a file; written with write_file(path, text).
M.read_file = slurp

function M.write_file(path, text)
  local f = assert(io.open(path, "wb"))
  assert(f:write(text))
  f:close()
end

--- The text of a file of spec/vectors, of which large ones are compressed: NAME, or NAME.gz.
function M.vector(name)
  local path = "spec/vectors/" .. name
  local p = assert(io.popen(("gzip -dcf $(ls %s %s.gz 2>/dev/null)"):format(path, path)))
  local text = p:read("*a")
  p:close()
  assert(text ~= "", path .. " is not there")
  return text
end

-- A sanitizer that is preloaded into this interpreter is not preloaded into other programs (some, such as curl,
-- stop in it), except those that load our modules: "$interpreter NAME" in a line of sh.
local preamble = "unset LD_PRELOAD; interpreter='env LD_PRELOAD=" .. (os.getenv("KSTAT_PRELOAD") or "") .. "'\n"

--- The words of sh that start the interpreter that runs the specs, in which our modules can be loaded.
M.lua = ("env LD_PRELOAD=%s %s"):format(os.getenv("KSTAT_PRELOAD") or "",
  rawget(_G, "jit") and "luajit" or "lua" .. _VERSION:match("%d%.%d"))

--- Runs a line of sh. Returns { out =, err =, status = }; status is that of sh: 128+n for signal n.
-- `$interpreter PROGRAM ...` in it runs a program that loads our modules.
function M.shell(line)
  local err = os.tmpname()
  local script = os.tmpname()
  M.write_file(script, preamble .. line .. "\n")
  -- In the shell that popen() starts, not in one more.
  local p = assert(io.popen("(. " .. M.quote(script) .. ") 2>" .. M.quote(err) .. "; echo \"status $?\"", "r"))
  local out = p:read("*a")
  p:close()
  local text, status = out:match("^(.*)status (%d+)\n$")
  local result = { out = text, err = slurp(err), status = tonumber(status) }
  os.remove(err)
  os.remove(script)
  return result
end

--- Waits for other processes, on a machine of any speed: calls condition() until it returns neither nil nor false,
-- and returns its result. It asks often at first, since most are there at once. Fails after a minute or more; `what`, a
-- text or a function that returns one, names in the message what it waited for.
function M.await(what, condition)
  for i = 1, 1200 do
    local result = condition()
    if result then
      return result
    end
    os.execute("exec sleep " .. math.min(0.004 * i, 0.06))
  end
  error("waited too long for " .. (type(what) == "function" and what() or what), 2)
end

--- Compares again and again what others on the machine may change meanwhile: `compare` returns what is wrong, by name.
-- Returns what was wrong each of six times: a disturbance is of some figures at some times, a fault of one at all.
function M.always_wrong(compare)
  local wrong = compare()
  for _ = 2, 6 do
    local again = next(wrong) and compare() or {}
    for name in pairs(wrong) do
      wrong[name] = again[name]
    end
  end
  return wrong
end

--- Starts a program in the background; returns the id of its process, for M.stop().
-- program: what sh can exec, such as "env NAME=value program argument"; out: the file for what it prints.
function M.start(program, out)
  -- The file is empty before this returns: what an earlier program wrote there is not taken for this one's.
  return M.shell((": >%s; { exec %s; } >%s 2>&1 </dev/null & echo $!"):format(M.quote(out), program, M.quote(out)))
    .out:match("%d+")
end

--- Waits until a process listens at 127.0.0.1, and returns the port: the kernel's choice, where it was told port 0.
function M.port_of(pid)
  return M.await("a port of process " .. pid, function()
    return M.shell(("ss -ltnpH | grep 'pid=%s,' | grep -o '127.0.0.1:[0-9]*'"):format(pid)).out:match(":(%d+)")
  end)
end

--- Returns true if a process exists and has not ended.
function M.alive(pid)
  local f = io.open(("/proc/%s/stat"):format(pid))
  local text = f and f:read("*a")
  if f then
    f:close()
  end
  return text ~= nil and text:find("%) [^ZX][^)]*$") ~= nil
end

--- Ends a process by a signal (TERM if there is none) and waits for its end.
function M.stop(pid, signal)
  M.shell(("kill -%s %s"):format(signal or "TERM", pid))
  M.await("the end of process " .. pid, function() return not M.alive(pid) end)
end

--- Like M.shell(), for make and the commands that it runs, without the variables of the make that runs the specs.
function M.tool(line)
  return M.shell("unset MAKEFLAGS; " .. line)
end

--- Runs a program: command = { program, argument, ... }; a bare program name is one of the build tree.
-- Optional fields: env (table of variables; false unsets), stdin (text), directory.
function M.run(command)
  local words = {}
  local input
  if command.directory then
    words[#words + 1] = "cd " .. M.quote(command.directory) .. " || exit;"
  end
  -- The shell sets the variables: env would be one more program to start.
  local unset, set = "unset KSTAT_SOURCE KSTAT_PROC KSTAT_SYS KSTAT_REPLAY_TIME", { "; export LC_ALL=C TZ=UTC" }
  -- In interpreters the sanitizer does not look for leaks; in our own programs it does.
  local asan = os.getenv("ASAN_OPTIONS")
  if command[1]:find("%f[%w]lua[%d.]*$") or command[1]:find("luajit$") then -- not kstatlua
    set[#set + 1] = M.quote("LD_PRELOAD=" .. (os.getenv("KSTAT_PRELOAD") or ""))
  end
  if asan and not command[1]:find("/", 1, true) then
    set[#set + 1] = M.quote("ASAN_OPTIONS=" .. asan .. ":detect_leaks=1")
  end
  for name, value in pairs(command.env or {}) do
    if value then
      set[#set + 1] = M.quote(name .. "=" .. value)
    else
      unset = unset .. " " .. name
    end
  end
  words[#words + 1] = unset .. table.concat(set, " ") .. "; exec"
  for i, word in ipairs(command) do
    if i == 1 and not word:find("/", 1, true) then
      word = M.bin .. "/" .. word
    end
    words[#words + 1] = " " .. M.quote(word)
  end
  if command.stdin then
    input = os.tmpname()
    M.write_file(input, command.stdin)
    words[#words + 1] = " <" .. M.quote(input)
  else
    words[#words + 1] = " </dev/null"
  end
  local result = M.shell(table.concat(words))
  if input then
    os.remove(input)
  end
  return result
end

local public

--- Where other users find `build/bin`, `build/lib` and `lua`: here, or in a copy if root's directory keeps them out, as
-- its home does. The copy is below the directory of temporary files, and goes with it.
function M.public()
  local as_other = "setpriv --reuid=65534 --regid=65534 --clear-groups test -x "
  if not public then
    public = { build = M.build, lua = os.getenv("PWD") .. "/lua" }
    if M.shell("id -u").out == "0\n" and M.shell(as_other .. M.quote(M.bin .. "/kstat")).status ~= 0 then
      local dir = M.directory()
      M.shell(("chmod 755 %s; cp -r lua %s; mkdir %s/build; cp -rL %s/bin %s/lib %s/build"):format(dir, dir, dir,
        M.build, M.build, dir))
      public = { build = dir .. "/build", lua = dir .. "/lua" }
    end
  end
  return public
end

--- A fresh empty directory; remove it with remove_directory. top: where (default: where temporary files are).
function M.directory(top)
  local p = assert(io.popen("mktemp -d" .. (top and " -p " .. top or ""), "r"))
  local path = p:read("*l")
  p:close()
  return path
end

function M.remove_directory(path)
  assert(path:find("^/[^/]+/."))
  M.shell("rm -rf " .. M.quote(path))
end

return M
