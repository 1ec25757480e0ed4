--- Data points of OpenTelemetry, decoded by its own description: the counts are those that were added. It needs Node.js
-- and NODE_PATH=DIR/node_modules after `npm install @opentelemetry/otlp-transformer@0.57` in DIR, no later one.
-- SPDX-License-Identifier: MIT
local figure = require("figure")
local kstat = require("kstat")

local VALUES = 10000

local pub = assert(kstat.publish("bench-otlp"))
local ks = assert(kstat.open())
local points, expected = {}, {}
for scale = 0, 8 do
  local l = assert(pub:latency({ name = "scale" .. scale, scale = scale }))
  local counts, least, greatest, value = {}, math.huge, -math.huge, 1
  for _ = 1, VALUES do
    value = value * 48271 % 2147483647
    local ns = 2000 + value % 10 ^ (4 + value % 6)
    local index = math.ceil(math.log(ns, 2) * 2 ^ scale - 1e-9) - 1
    counts[index] = (counts[index] or 0) + 1
    least, greatest = math.min(least, index), math.max(greatest, index)
    assert(l:add(ns))
  end
  assert(l:add(0))
  ks:update()
  local words = { scale, 1, least }
  for index = least, greatest do
    words[#words + 1] = counts[index] or 0
  end
  expected[#expected + 1] = table.concat(words, " "):gsub("%.0", "")
  local bytes = assert(ks:lookup("bench-otlp", 0, "scale" .. scale):distribution():otlp(0, ks:time_of_day_ns()))
  points[#points + 1] = bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
end
pub:close()

local path = os.tmpname()
local file = assert(io.open(path, "wb"))
file:write(table.concat(points, "\n"), "\n")
file:close()
local p = assert(io.popen("node bench/helper/otlp.js < " .. path))
local decoded = p:read("*a")
p:close()
os.remove(path)
if decoded == "" then
  io.stderr:write("bench/otlp: set NODE_PATH to a directory with @opentelemetry/otlp-transformer@0.57 of npm\n")
  os.exit(1)
end
local equal = decoded == table.concat(expected, "\n") .. "\n"
figure.print("counts of OpenTelemetry's data points", equal and "equal" or "different", "protobufjs", "-", "equal",
  equal)
