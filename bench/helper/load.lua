--- A machine with a given number of processes, of which one in ten works now and then.
-- SPDX-License-Identifier: MIT
local figure = require("figure")

local load = {}

local WORKER = "exec perl -e 'while (1) { select(undef, undef, undef, 0.2); $x = 0; $x++ while $x < 5000 }'"
local started = {}

--- Starts a line of sh `n` times (once) and returns the id of the last process; load.stop() ends it.
function load.start(command, n)
  for pid in figure.capture(("for i in $(seq %d); do %s >/dev/null 2>&1 & echo $!; done"):format(n or 1, command))
    :gmatch("%d+") do
    started[#started + 1] = pid
  end
  return started[#started]
end

--- Starts processes until there are `count`. Returns nil, and says so, if there are more already.
function load.fill(count)
  local n = count - tonumber(figure.capture("ls /proc | grep -c '^[0-9]'"))
  if n < 0 then
    io.stderr:write(("there are more than %d processes already\n"):format(count))
    return nil
  end
  load.start(WORKER, n // 10)
  load.start("exec sleep 3600", n - n // 10)
  return true
end

--- Calls a function with the name of a new directory; ends all processes and removes the directory even if it fails.
function load.with_directory(f)
  local dir = figure.capture("mktemp -d"):match("%S+")
  local ok, message = pcall(f, dir)
  os.execute(("kill %s 2>/dev/null; rm -rf %s"):format(table.concat(started, " "), dir))
  assert(ok, message)
end

return load
