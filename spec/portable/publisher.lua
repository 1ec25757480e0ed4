-- Publishes a kstat of each kind, and counts on until it is ended; for spec/core/portable_spec.lua.
-- SPDX-License-Identifier: MIT
local kstat = require("kstat")
local stats = require("kstat.stats")
local pub = assert(kstat.publish("publisher"))

local named = assert(pub:named({ name = "named", statistics = {
  { name = "count" }, { name = "narrow", type = "uint32" }, { name = "below", type = "int64", kind = "gauge" },
  { name = "ratio", type = "double", kind = "gauge" }, { name = "word", type = "string", value = "a word" },
} }))
named:counter("count"):add(math.maxinteger)
named:counter("narrow"):add(4294967295)
named:counter("below"):set(math.mininteger)
named:set("ratio", 1 / 3)

local queue = assert(pub:io({ name = "queue", class = "disk" }))
queue:waitq_enter()
queue:waitq_to_runq()
queue:done("read", 1 << 40)

local times = assert(pub:histogram({ name = "times", type = "log10_lin", range_min = 3, range_max = 7, stepping = 5 }))
for i = 1, 1000 do times:add_value(i * i) end

local template = assert(stats.template("durations"))
assert(template:add_voi(0, "v", "s64", { stats.sum(), stats.max(), stats.tdgstclust64(20, 4) }))
local blob = assert(pub:blob({ name = "blob", template = template }))
for i = -500, 500 do blob:update("v", i * 1000000007) end

local live = assert(pub:named({ name = "live", statistics = { { name = "count" } } })):counter("count")
print("ready")
io.stdout:flush()
for _ in kstat.every(0.1) do live:add(1) end
