-- Runs spec/c/core_linux.c and parses its output, for linux_spec.lua.
local luassert = require("luassert")
local run = require("support.run")

local M = {}

M.build = os.getenv("KSTAT_BUILD") or "build"
local function quote(s)
  return "'" .. s:gsub("'", "'\\''") .. "'"
end

--- True if a file can be opened.
function M.exists(path)
  local f = io.open(path, "r")
  if f then
    f:close()
  end
  return f ~= nil
end

local function new_dump()
  return { stat = {}, kstat = {}, meta = {}, error = {}, warnings = {}, order = {}, twice = {} }
end

local function parse_line(dump, line)
  local what, id, rest = line:match("^(%l+)\t([^\t]*)\t?(.*)$")
  if what == "kstat" then
    local class, type_, crtime = rest:match("^([^\t]*)\t(%d+)\t(%-?%d+)$")
    if dump.kstat[id] then
      dump.twice[#dump.twice + 1] = id
    end
    dump.kstat[id] = { class = class, type = tonumber(type_), crtime = tonumber(crtime) }
    dump.order[#dump.order + 1] = id
  elseif what == "stat" then
    if dump.stat[id] then
      dump.twice[#dump.twice + 1] = id
    end
    dump.stat[id] = rest
  elseif what == "meta" then
    local kind, unit, desc = rest:match("^([^\t]*)\t([^\t]*)\t(.*)$")
    dump.meta[id] = { kind = kind, unit = unit, desc = desc }
  elseif what == "error" then
    dump.error[id] = rest
  elseif what == "warning" then
    dump.warnings[#dump.warnings + 1] = id
  elseif what == "failed" then
    dump.failed = id
  end
end

local function run_program(program, proc, sys, ...)
  local args = { program, quote(proc), quote(sys) }
  for _, command in ipairs({ ... }) do
    args[#args + 1] = quote(command)
  end
  local pipe = assert(io.popen(table.concat(args, " ") .. " 2>&1; echo exit $?", "r"))
  local list = { new_dump() }
  local status
  for line in pipe:lines() do
    local kcid = line:match("^%-%-\t(%-?%d+)$")
    status = line:match("^exit (%d+)$") or status
    if kcid then
      list[#list + 1] = new_dump()
      list[#list].kcid = tonumber(kcid)
    else
      parse_line(list[#list], line)
    end
  end
  pipe:close()
  list.status = tonumber(status)
  return list
end

--- Returns the dumps of the source on two roots ("-": the default): one, and one more after each shell command.
function M.dumps(proc, sys, ...)
  return run_program(quote(M.build .. "/spec/core_linux"), proc, sys, ...)
end

--- The same by another command than core_linux, which takes its arguments.
function M.dumps_of(program, proc, sys, ...)
  return run_program(program, proc, sys, ...)
end

--- Returns a program for M.dump() that runs as an ordinary user; dir is a directory for a copy of it.
function M.as_nobody(dir)
  local program = dir .. "/core_linux"
  M.sh(("cp %s/spec/core_linux %s && chmod 755 %s %s"):format(quote(M.build), quote(program), quote(program),
    quote(dir)))
  local pipe = assert(io.popen("id -u"))
  local root = pipe:read("*l") == "0"
  pipe:close()
  return (root and "setpriv --reuid=65534 --regid=65534 --clear-groups " or "") .. quote(program)
end

--- Returns one dump. program: what to run instead of core_linux.
function M.dump(proc, sys, program)
  local list = run_program(program or quote(M.build .. "/spec/core_linux"), proc, sys)
  assert(list.status == 0, "core_linux failed with status " .. tostring(list.status))
  return list[1]
end

--- The same of a recorded tree.
function M.dump_tree(name)
  return M.dump(run.tree(name) .. "/proc", run.tree(name) .. "/sys")
end

--- Runs a shell command that must succeed.
function M.sh(command)
  local a, _, c = os.execute(command)
  assert(a == true or a == 0 or c == 0, "failed: " .. command)
end

--- A copy of a tree (default: the small one) that a test may change; remove it with M.remove.
function M.copy(tree)
  local dir = os.tmpname()
  os.remove(dir)
  M.sh("cp -r " .. (tree or run.tree("small")) .. " " .. quote(dir))
  return dir
end

--- Asserts that statistics of a kstat in a dump have these values; expected: their texts by name.
function M.same(dump, id, expected)
  for name, value in pairs(expected) do
    luassert.equal(value, dump.stat[id .. ":" .. name], id .. ":" .. name)
  end
end

function M.remove(dir)
  M.sh("rm -rf " .. quote(dir))
end

function M.write(path, text)
  local f = assert(io.open(path, "wb"))
  f:write(text)
  f:close()
end

function M.read(path)
  local f = assert(io.open(path, "rb"))
  local text = f:read("*a")
  f:close()
  return text
end

return M
