--- Units of systemd, as its own tools see them.
local run = require("support.run")
local M = {}

-- Adds the names of system calls that systemd knows by a name, which may be that of a set.
local function add_calls(sets, name, value, into)
  if name:sub(1, 1) ~= "@" then
    into[name] = value
  end
  for _, one in ipairs(sets[name] or {}) do
    add_calls(sets, one, value, into)
  end
end

local function read_sets()
  local sets, current = {}, nil
  for line in run.shell("systemd-analyze syscall-filter").out:gmatch("[^\n]+") do
    current = line:match("^@%S+") or current
    sets[current or ""] = sets[current or ""] or {}
    table.insert(sets[current or ""], line:match("^ +([@%w_-]+)$"))
  end
  return sets
end

--- The system calls that a unit allows, as keys.
function M.allowed_calls(file)
  local sets, allowed = read_sets(), {}
  for line in run.read_file(file):gmatch("\nSystemCallFilter=([^\n]+)") do
    for name in line:gmatch("[^%s~]+") do
      add_calls(sets, name, line:sub(1, 1) ~= "~" or nil, allowed)
    end
  end
  return allowed
end

--- The system calls in what `strace -f` wrote, one after the other.
function M.calls(file)
  local calls = {}
  for call in run.read_file(file):gmatch("%f[^\n%z]%d+ +([%w_]+)%(") do
    calls[#calls + 1] = call
  end
  return calls
end

--- What `systemd-analyze verify` says of a unit, and how much it exposes, from 0 to 10. The programs are those of the
-- build.
function M.verify(file)
  local dir, name = run.directory(), file:match("[^/]*$")
  run.shell(("sed 's|[^=]*/bin/kstatlua|%s/kstatlua|' %s > %s/%s"):format(
    run.shell("realpath " .. run.bin).out:match("[^\n]+"), file, dir, name))
  -- It also looks for the page of the manual, which is not installed here.
  local trouble = run.shell(("systemd-analyze verify %s/%s 2>&1 | grep %s | grep -v man"):format(dir, name, name)).out
  local text = run.shell(("systemd-analyze security --offline=yes %s/%s"):format(dir, name)).out
  run.remove_directory(dir)
  return trouble, tonumber(text:match("Overall exposure level for [^:]*: ([%d.]+)"))
end

return M
