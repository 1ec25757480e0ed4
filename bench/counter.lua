-- The cost of counting in C, in LuaJIT and in Lua 5.4: of a published number that all threads share, and of this
-- thread's own part of one with shards, beside a plain increment of memory (in C and LuaJIT of an int64_t, in Lua of a
-- table's field). It prints nanoseconds (the least of several runs) and instructions (counted by callgrind), both
-- including the loop around them.
-- SPDX-License-Identifier: MIT
local figure = require("figure")

local build, bench = os.getenv("KSTAT_BUILD"), os.getenv("KSTAT_BENCH")
local quote = figure.quote

local function capture(command)
  local p = assert(io.popen(command, "r"))
  local text = p:read("a")
  return p:close() and text or nil, text
end

local dir = assert(capture("mktemp -d /dev/shm/kstat-bench-XXXXXX")):match("%S+")
local valgrind = capture("command -v valgrind") and true or false
if not valgrind then io.stderr:write("bench/counter: no instructions, valgrind is not installed\n") end

-- Name, environment, command, runs, and the two runs that callgrind counts. Their difference does not include the
-- start, nor compiling in LuaJIT.
local function lua(name, interpreter, abi, ...)
  return { name, ("LUA_PATH=%s LUA_CPATH=%s"):format(quote("lua/?.lua;lua/?/init.lua;;"),
    quote(build .. "/lib/lua/" .. abi .. "/?.so;;")), interpreter .. " bench/helper/counter_updates.lua", ... }
end

local languages = {
  { "C", "", quote(bench .. "/helper/counter_updates"), 20000000, 100000, 500000 },
  lua("LuaJIT", "luajit", "5.1", 20000000, 400000, 2000000),
  lua("Lua 5.4", "lua5.4", "5.4", 2000000, 50000, 250000),
}

local function run(environment, prefix, command, what, n)
  local _, text = capture(("KSTAT_DIR=%s %s %s %s %s %d 2>&1"):format(quote(dir), environment, prefix, command,
    what, n))
  return text
end

local function collected(environment, command, what, n)
  return tonumber(run(environment, "valgrind --tool=callgrind --callgrind-out-file=/dev/null", command, what, n):match(
    "Collected : (%d+)"))
end

local function measure(language, what)
  local _, environment, command, n, few, many = table.unpack(language)
  local c = {}
  for _ = 1, 7 do
    local text = run(environment, "", command, what, n)
    local ns = tonumber(text)
    if not ns then error(("%s, %s: %s"):format(language[1], what, text), 0) end
    c.ns = math.min(c.ns or ns, ns)
  end
  if valgrind then
    local a, b = collected(environment, command, what, few), collected(environment, command, what, many)
    c.instructions = a and b and (b - a) / (many - few)
  end
  return c
end

local names = {
  { "atomic", "counter add, atomic" },
  { "own", "counter add, this thread's part" },
  { "histogram", "histogram value" },
  { "latency", "latency value" },
  { "io", "I/O queue: run, done" },
}

local function text(c, unit)
  if c[unit] then return ("%.1f %s"):format(c[unit], unit) end
  return valgrind and "n/a" or "n/a (no valgrind)"
end

local ok, message = pcall(function()
  for _, language in ipairs(languages) do
    local plain, histogram = measure(language, "plain"), nil
    for _, name in ipairs(names) do
      -- C's queues and histograms are in bench/publish.c.
      if language[1] ~= "C" or name[1] == "atomic" or name[1] == "own" then
        local c = measure(language, name[1])
        for _, unit in ipairs({ "ns", "instructions" }) do
          figure.print(("%s, %s, %s"):format(name[2], language[1], unit), text(c, unit),
            "plain increment " .. text(plain, unit), c[unit] and plain[unit] and c[unit] / plain[unit] or "-", "-",
            c[unit] ~= nil or not valgrind)
        end
        if name[1] == "histogram" then
          histogram = c.ns
        elseif name[1] == "latency" then
          figure.print("latency value, " .. language[1], text(c, "ns"), ("histogram value %.1f ns"):format(histogram),
            c.ns / histogram, "<= 1.1x", c.ns <= 1.1 * histogram)
        end
      end
    end
  end
end)
os.execute("rm -rf " .. quote(dir))
if not ok then error(message, 0) end
