-- Publishes 2,000 kstats with two counters each, a queue, a histogram, a statsblob, and what looks like a link and a
-- file system, and changes them until it is killed: $interpreter spec/support/many_kstats.lua
local kstat = require("kstat")
local stats = require("kstat.stats")

local pub = assert(kstat.publish("many"))
local counters = {}
for i = 1, 2000 do
  local k = assert(pub:named({ name = ("row%d"):format(i), statistics = {
    { name = "hits", kind = "counter" }, { name = "bytes", kind = "counter", unit = "bytes" } } }))
  counters[i] = k:counter("hits")
end
-- No link and no file system of the machine.
assert(pub:named({ module = "link", name = "forged0", class = "net", statistics = {
  { name = "rbytes64", value = 1 }, { name = "obytes64", value = 1 } } }))
assert(pub:named({ module = "fs", name = "/forged", class = "fs", statistics = {
  { name = "capacity", kind = "gauge", value = 3 }, { name = "available", kind = "gauge", value = 1 },
  { name = "used", kind = "gauge", value = 2 }, { name = "mount_point", type = "string", value = "/forged" },
  { name = "fs_type", type = "string", value = "ext4" } } }))
-- Not what kstat.nginx publishes under these names.
assert(pub:named({ module = "odd", name = "nginx,server", class = "nginx", statistics = { { name = "c" } } }))
assert(pub:named({ module = "odd", name = "t", class = "http_time", statistics = {
  { name = "time_bounds", value = 1 }, { name = "time_buckets", value = 1 } } }))
local queue = assert(pub:io({ name = "queue" }))
local waits = assert(pub:histogram({ name = "waits", type = "log10_lin", range_min = 3, range_max = 7, stepping = 5,
  meta = "t_rel", scale = 1000000000, fract = true }))
local template = assert(stats.template("answers"))
assert(template:add_voi(0, "time", "u64", { stats.sum(), stats.tdgstclust64(20, 4), stats.crhist64_lin(0, 1000, 50) }))
local answers = assert(pub:blob({ name = "answers", template = template, vois = { time = { unit = "us" } } }))

io.stdout:write("published\n")
io.stdout:flush()
while true do
  for i = 1, 2000 do
    counters[i]:add(i)
  end
  for i = 1, 20 do
    waits:add_value(math.random(1, 5000000))
    answers:update("time", math.random(0, 1200))
    queue:waitq_enter()
    queue:waitq_to_runq()
    queue:done(i % 2 == 0 and "read" or "write", 512)
  end
  os.execute("sleep 0.1")
end
