-- Request latencies as percentiles that any reader on the host sees: a statsblob, published.
--
--     kstatlua examples/latency.lua 30 &         (or lua5.4, luajit: any Lua that has the module)
--     kstat -p 'latency::requests:/_p|_count/' 5
--
-- Usage: latency.lua [SECONDS]
local kstat = kstat or require("kstat")
local status = kstat.usage(arg, "[seconds]")
if status then os.exit(status) end
local stats = require("kstat.stats")

local tpl = assert(stats.template("requests"))
assert(tpl:add_voi(0, "rtt", "u64", { stats.sum(), stats.max(), stats.tdgstclust64(100, 4) }))
local requests = assert(assert(kstat.publish("latency")):blob({
  name = "requests", template = tpl, vois = { rtt = { unit = "us", desc = "time to answer a request" } },
}))

local function answer()
  local x = 0
  for i = 1, 100 * math.random(10, 100) do x = x + i end
end

local stop = kstat.hrtime() + (tonumber(arg and arg[1]) or 30)
repeat
  local start = kstat.hrtime()
  answer()
  requests:update("rtt", math.floor((kstat.hrtime() - start) * 1e6))
until kstat.hrtime() >= stop
