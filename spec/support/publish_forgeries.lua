-- Publishes kstats that look like the machine's: under its modules, and of its classes under a module of its own. Their
-- names and instances say "forged" and 7799. Ends with the process; prints a line when all are there.
local kstat = require("kstat")
local pub = assert(kstat.publish("forger"))

local function named(module, name, class, ...)
  assert(pub:named({ module = module, instance = 7799, name = name, class = class, statistics = { ... } }))
end

named("cpu", "time", "misc", "nsec_idle", "nsec_user")
named("cpu", "sys", "misc", "cpu_ticks_idle", "cpu_ticks_user", "pswitch")
named("cpu_stat", "cpu_stat7799", "misc", "idle", "user", "kernel", "wait")
named("unix", "vopstats_forged", "misc", "ncreate", "nread")
named("link", "forged0", "net", "rbytes64", "obytes64", "ipackets64", "opackets64")
named("fs", "/forged", "fs", "capacity", "free", "available")
named("zfs/forged", "objset-0x1", "misc", "nread", "reads")
named("pressure", "forged", "pressure", "some_nsec")
named("process", "forged,7799", "process", "utime_nsec")
named("forger", "forged1", "net", "rbytes64", "obytes64", "ipackets64", "opackets64")
named("forger", "forged,detail", "disk_detail", "reads", "read_nsec")
named("forger", "forged,dev", "device", "size")
named("forger", "tcp", "mib2", "inSegs")
for class, module in pairs({ disk = "sd", tape = "st", partition = "forger", nfs = "nfs", iopath = "forger" }) do
  local queue = assert(pub:io({ module = module, instance = 7799, name = "forged" .. class, class = class }))
  queue:waitq_enter()
  queue:waitq_to_runq()
  queue:done("read", 4096)
end
assert(pub:intr({ module = "forger", instance = 7799, name = "forgedintr", class = "controller" }))
named("shop", "jobs", "misc", "done")
print("ready")
io.stdout:flush()
for _ in kstat.every(600, { source = { only = "unix:0:system_misc" } }) do end -- until a signal comes
