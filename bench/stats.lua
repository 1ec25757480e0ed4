-- The cost of an update of a statsblob, beside a plain HdrHistogram record and a plain t-digest in doubles. It prints
-- nanoseconds (the least of several runs) and instructions (counted by callgrind), without the loop around them.
-- HdrHistogram_c is built from the C source inside the npm package native-hdr-histogram, which is fetched into the
-- build tree.
-- SPDX-License-Identifier: MIT
local figure = require("figure")

local build, bench = os.getenv("KSTAT_BUILD"), os.getenv("KSTAT_BENCH")
local quote = figure.quote
local N = 4000000

local function capture(command)
  local p = assert(io.popen(command, "r"))
  local text = p:read("a")
  return p:close() and text or nil, text
end

-- Returns the path of HdrHistogram as a shared object, or nil and the reason.
local function hdr_library()
  local dir = bench .. "/hdr"
  local lib = dir .. "/libhdr.so"
  local f = io.open(lib)
  if f then
    f:close()
    return lib
  end
  local script = ([[set -e; mkdir -p %s; cd %s; timeout 60 npm pack --silent native-hdr-histogram >/dev/null
tar xzf native-hdr-histogram-*.tgz
cc -O2 -shared -fPIC -o libhdr.so package/HdrHistogram_c/src/hdr_histogram.c -lm]]):format(quote(dir), quote(dir))
  local ok, text = capture("{ " .. script .. "; } 2>&1")
  if ok then return lib end
  return nil, "HdrHistogram_c could not be fetched or built: " .. (text:match("[^\n]+") or "?")
end

local lib, why = hdr_library()

local function program(what, n)
  return ("%s/helper/stats_updates %s %d %s"):format(quote(bench), what, n, lib and quote(lib) or "")
end

local function least(command, runs)
  local best
  for _ = 1, runs do
    local v = tonumber(((capture(command) or ""):match("^%S+")))
    if not v then return nil end
    best = math.min(best or v, v)
  end
  return best
end

local function collected(what, n)
  local _, text = capture("valgrind --tool=callgrind --callgrind-out-file=/dev/null " ..
    program(what, n) .. " 2>&1")
  return tonumber(text:match("Collected : (%d+)"))
end

local costs = {}

-- Returns the nanoseconds and the instructions for a value, without the loop.
local function cost(what)
  if costs[what] then return costs[what] end
  local c = { ns = least(program(what, N), 5) }
  local a, b = collected(what, 100000), collected(what, 500000)
  c.instructions = a and b and (b - a) / 400000
  if what ~= "nothing" then
    local loop = cost("nothing")
    c.ns = c.ns and c.ns - loop.ns
    c.instructions = c.instructions and c.instructions - loop.instructions
  end
  costs[what] = c
  return c
end

local function unit(v, key)
  if not v then return "n/a" end
  return key == "ns" and ("%.1f ns"):format(v) or ("%.0f instructions"):format(v)
end

local function line(name, what, key, against, label, limit)
  local ours, theirs = cost(what)[key], against and cost(against)[key]
  local other = label and (label .. " " .. unit(theirs, key)) or why or "-"
  local goal = limit and ("at most %g %s"):format(limit, key) or "-"
  figure.print(("%s, %s"):format(name, key), unit(ours, key), other,
    ours and theirs and ours / theirs or "-", goal, ours ~= nil and (not limit or ours <= limit))
end

local hdr = lib and "hdr" or nil
local hdr_name = lib and "HdrHistogram_c record" or nil
if not lib then io.stderr:write("bench/stats: ", why, "\n") end

local cases = {
  { "blob SUM+MIN+MAX", "sum3", hdr, hdr_name, 60 },
  { "blob SUM+MIN+MAX+10 linear buckets", "lin10", hdr, hdr_name, 90 },
  { "blob SUM+MIN+MAX+20 linear buckets", "lin20", hdr, hdr_name, 90 },
  { "blob SUM+MIN+MAX+20 user buckets", "user20", hdr, hdr_name, 130 },
  { "blob SUM+MAX+digest(100)", "digest", "tdigest", "plain t-digest(100) in doubles", 250, 60 },
  { "blob SUM+MAX+digest(100)", "digest", hdr, hdr_name },
}
for _, set in ipairs({ "uniform", "bimodal", "sorted", "reversed", "constant" }) do
  cases[#cases + 1] = { ("blob SUM+MAX+digest(100) of %s values"):format(set), "digest:" .. set, "tdigest:" .. set,
    "plain t-digest(100) in doubles", 250, 60 }
end
for _, c in ipairs(cases) do
  line(c[1], c[2], "instructions", c[3], c[4], c[5])
  line(c[1], c[2], "ns", c[3], c[4], c[6])
end

-- From Lua. LuaJIT, which loads the module for Lua 5.1, is searched under its usual name.
local function lua_cost(interpreter, abi, what)
  local command = ("env -u LUA_PATH -u LUA_CPATH LUA_PATH=%s LUA_CPATH=%s %s bench/helper/stats_updates.lua")
    :format(quote("lua/?.lua;lua/?/init.lua;;"), quote(build .. "/lib/lua/" .. abi .. "/?.so;;"), interpreter)
  local loop = least(command .. " nothing 4000000 2>/dev/null", 3)
  local all = least(command .. " " .. what .. " 4000000 2>/dev/null", 5)
  return loop and all and all - loop
end

for _, what in ipairs({ "sum3", "digest" }) do
  local name = what == "sum3" and "blob SUM+MIN+MAX" or "blob SUM+MAX+digest(100)"
  local c = cost(what).ns
  local ns = lua_cost("lua5.4", "5.4", what)
  figure.print(name .. " from Lua 5.4, ns", unit(ns, "ns"), "C " .. unit(c, "ns"), ns and c and ns / c or "-",
    what == "sum3" and "at most 60 ns" or "-", ns ~= nil and (what ~= "sum3" or ns <= 60))
  ns = lua_cost("luajit", "5.1", what)
  figure.print(name .. " from LuaJIT, ns", unit(ns, "ns"), "C " .. unit(c, "ns"), ns and c and ns / c or "-",
    "at most 2x C", ns ~= nil and c ~= nil and ns <= 2 * c)
end
