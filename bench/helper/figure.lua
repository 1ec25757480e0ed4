--- What benchmarks share: printing figures, measuring programs. See bench/README.md.
-- SPDX-License-Identifier: MIT
local figure = {}

--- Prints one figure. `met` is a boolean, nil where there is no goal to meet; the rest are strings, a number `ratio`
-- is shown as 12.3x.
function figure.print(name, ours, theirs, ratio, goal, met)
  if type(ratio) == "number" then
    ratio = ("%.3gx"):format(ratio)
  end
  local verdict = met and "met" or met == nil and "-" or "missed"
  io.stdout:write(table.concat({ name, ours, theirs, ratio, goal, verdict }, "\t"), "\n")
  io.stdout:flush()
end

--- Quotes a word of a shell command.
function figure.quote(s)
  return "'" .. s:gsub("'", "'\\''") .. "'"
end

--- Runs a program (a list: program, arguments) and returns the least CPU time in ms, the least wall
-- time in ms and the peak memory in KiB. Its output is discarded; an exit status above 1 is an error.
-- @param options `runs` (default 5), `shell` (a prefix such as "KSTAT_DIR=x")
function figure.measure(argv, options)
  options = options or {}
  local words = { options.shell or "", figure.quote(os.getenv("KSTAT_BENCH") .. "/helper/cputime"),
    tostring(options.runs or 5) }
  for _, word in ipairs(argv) do
    words[#words + 1] = figure.quote(word)
  end
  local pipe = assert(io.popen(table.concat(words, " ")))
  local line = pipe:read("l") or ""
  pipe:close()
  local cpu, wall, memory = line:match("^(%S+)\t(%S+)\t(%S+)$")
  if not cpu then
    error("cannot measure " .. table.concat(argv, " "), 2)
  end
  return tonumber(cpu), tonumber(wall), tonumber(memory)
end

--- Returns what a shell command prints.
function figure.capture(command)
  local p = assert(io.popen(command))
  local text = p:read("a")
  p:close()
  return text
end

--- Returns the first result of condition() that is true, which it awaits for ten seconds.
function figure.await(what, condition)
  for _ = 1, 200 do
    local result = condition()
    if result then
      return result
    end
    os.execute("sleep 0.05")
  end
  error("waited too long for " .. what)
end

--- Returns the CPU time of processes in seconds, by the kernel's ticks of 1/100 s.
function figure.cpu_seconds(...)
  local ticks = 0
  for _, pid in ipairs({ ... }) do
    local f = assert(io.open("/proc/" .. pid .. "/stat"))
    local user, system = f:read("a"):match("%) " .. ("%S+ "):rep(11) .. "(%d+) (%d+)")
    f:close()
    ticks = ticks + user + system
  end
  return ticks / 100
end

return figure
