-- Does the same as counter_updates.c, from Lua: counter_updates.lua WHAT N; also "histogram", "latency" and "io".
local kstat = require("kstat")

local what, n = arg[1], tonumber(arg[2])
local pub = assert(kstat.publish("bench"))

local cell = { [0] = 0 }
if rawget(_G, "jit") then
  cell = require("ffi").new("int64_t[1]")
end

local make = {
  plain = function()
    return function() for _ = 1, n do cell[0] = cell[0] + 1 end end
  end,
  atomic = function()
    local c = assert(pub:named({ name = "n", statistics = { "n" }, shards = 1 })):counter("n")
    return function() for _ = 1, n do c:add(1) end end
  end,
  own = function()
    local c = assert(pub:named({ name = "n", statistics = { "n" } })):counter("n")
    return function() for _ = 1, n do c:add(1) end end
  end,
  histogram = function()
    local h = assert(pub:histogram({ name = "h", type = "log2" }))
    return function() for i = 1, n do h:add_value(i) end end
  end,
  latency = function()
    local h = assert(pub:latency({ name = "l" }))
    return function() for i = 1, n do h:add(i) end end
  end,
  io = function()
    local io_kstat = assert(pub:io({ name = "io" }))
    return function()
      for _ = 1, n do
        io_kstat:runq_enter()
        io_kstat:done("read", 512)
      end
    end
  end,
}

local run = make[what]()
local start = kstat.hrtime()
run()
print(("%.4f"):format((kstat.hrtime() - start) / n * 1e9))
pub:close()
