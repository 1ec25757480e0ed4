-- Request latencies as percentiles that any reader on the host sees: of each interval, and of all publishers together.
--
--     kstatlua examples/latency.lua 30 &         (or lua5.4, luajit: any Lua that has the module)
--     kstat -a 'count(requests), p50(requests), p99(requests)' -m answers 5
--
-- Usage: latency.lua [SECONDS]
local kstat = kstat or require("kstat")
local status = kstat.usage(arg, "[seconds]")
if status then os.exit(status) end

local requests = assert(assert(kstat.publish("answers")):latency({
  name = "requests", unit = "us", desc = "time to answer a request",
}))

local function answer()
  local x = 0
  for i = 1, 100 * math.random(10, 100) do x = x + i end
end

local stop = kstat.hrtime() + (tonumber(arg and arg[1]) or 30)
repeat requests:time(answer) until kstat.hrtime() >= stop
