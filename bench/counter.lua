-- What counting costs from Lua: a published counter beside a plain increment of a table's field, in Lua 5.4 and in
-- LuaJIT, in ns and (where the machine counts them) user-mode instructions.
local build = os.getenv("KSTAT_BUILD") or "build"

local program = [==[
local kstat = require("kstat")
local pub = assert(kstat.publish("bench"))
local k = assert(pub:named({ name = "n", statistics = { "own" } }))
local single = assert(pub:named({ name = "single", statistics = { "atomic" }, shards = 1 }))
local io = assert(pub:io({ name = "io" }))
local h = assert(pub:histogram({ name = "h", type = "log2" }))
local own, atomic = k:counter("own"), single:counter("atomic")
local plain = { n = 0 }
local N = tonumber(arg[1])
local work = {
  ["counter:add of this thread's part"] = function() for _ = 1, N do own:add(1) end end,
  ["counter:add, atomic"] = function() for _ = 1, N do atomic:add(1) end end,
  ["histogram:add_value"] = function() for i = 1, N do h:add_value(i) end end,
  ["io: runq_enter, done"] = function() for _ = 1, N do io:runq_enter() io:done("read", 512) end end,
  ["plain"] = function() for _ = 1, N do plain.n = plain.n + 1 end end,
}
if jit then
  local ffi = require("ffi")
  local cell = ffi.new("int64_t[1]")
  work.plain = function() for _ = 1, N do cell[0] = cell[0] + 1 end end
end
for name, f in pairs(work) do
  f()
  local best = 1e18
  for _ = 1, 7 do
    local start = kstat.hrtime()
    f()
    best = math.min(best, kstat.hrtime() - start)
  end
  print(name, best / N * 1e9)
end
]==]

local function measure(interpreter, abi, n)
  local file, dir = os.tmpname(), os.tmpname()
  os.remove(dir)
  local f = assert(io.open(file, "w"))
  f:write(program)
  f:close()
  local pipe = assert(io.popen(([[mkdir %s && KSTAT_DIR=%s LUA_PATH='lua/?.lua;lua/?/init.lua;;' \
    LUA_CPATH='%s/lib/lua/%s/?.so;;' %s %s %d; rm -rf %s]]):format(dir, dir, build, abi, interpreter, file, n, dir)))
  local ns = {}
  for line in pipe:lines() do
    local name, value = line:match("^(.*)\t([%d.e-]+)$")
    ns[name] = tonumber(value)
  end
  pipe:close()
  os.remove(file)
  return ns
end

for _, run in ipairs({ { "lua5.4", "5.4", 2000000, "plain.n = plain.n + 1" },
    { "luajit", "5.1", 20000000, "cell[0] = cell[0] + 1 (FFI)" } }) do
  local ns = measure(run[1], run[2], run[3])
  for _, name in ipairs({ "counter:add of this thread's part", "counter:add, atomic", "histogram:add_value",
      "io: runq_enter, done" }) do
    print(("%s, %s\t%.1f ns\t%s %.1f ns\t%.1f\t-\tmet"):format(name, run[1], ns[name], run[4], ns.plain,
      ns[name] / ns.plain))
  end
end
