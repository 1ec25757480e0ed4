-- Makes spec/vectors/kstat/latency.rec: this machine's CPUs and its disk vda beside what a program of root's publishes
-- of latencies, here by hand. Run as root in a directory of its own:
--
--     KSTAT_DIR=$(mktemp -d) build/bin/kstatlua spec/support/latency_recording.lua spec/vectors/kstat/latency.rec
--
-- Each interval has 1,000 reads of vda: 980 within its device in 1 ms and 20 in 4 ms, a tenth of that in its queue; a
-- write in 2 ms; 1,000 waits for each CPU, of 0.1 ms (cpu0) or 1 ms (cpu1); 20 connections in 50 ms; and a hundred
-- children `true` of `storm`, which lived 5 ms. The samples are: 1 the first, 2 as it was, 3 reads take 100 times as
-- long, waits 40 ms, and 30 connections are refused, 4 the disk has left, 5 it is back, 6 the program was started
-- again, 7 it has ended.
local kstat = require("kstat")

local pub, made, exits, children

local function of(name, spec)
  if not made[name] then
    spec.name, spec.unit, spec.scale, spec.lowest, spec.highest = name:match(":(.*)") or name, "ns", 4, 1, 1e12
    made[name] = assert(pub:latency(spec))
  end
  return made[name]
end

local function disk(operation, part)
  return of("vda," .. operation .. "," .. part, { class = "disk_latency",
    labels = { device = "vda", operation = operation, part = part } })
end

local function connections(name, outcome)
  return of(name .. ",tcp", { class = "connect_latency",
    labels = { outcome = outcome, side = "client", family = "tcp", namespace = "own" } })
end

local function begin()
  pub, made = assert(kstat.publish("latency")), {}
  exits = assert(pub:named({ module = "exits", name = "exits", class = "exits",
    statistics = { "exits", "failed", "killed", "lifetime", "cputime", "lost" } }))
  children = assert(pub:named({ module = "exits", instance = 1, name = "true,storm", class = "exits_command",
    statistics = { "exits", "failed", "killed", "lifetime", "cputime",
      { name = "command", type = "string", value = "true" },
    { name = "parent", type = "string", value = "storm" }, { name = "cgroup", type = "string", value = "/" } } }))
end

local function count(is_slow, has_disk)
  local slow = is_slow and 100 or 1
  for i = 1, has_disk and 1000 or 0 do
    local ns = (i > 980 and 4e6 or 1e6) * slow
    disk("read", "device"):add(ns)
    disk("read", "queue"):add(ns / 10)
  end
  for _, part in ipairs(has_disk and { "device", "queue" } or {}) do
    disk("write", part):add(2e6 * slow)
  end
  for cpu = 0, 1 do
    for _ = 1, 1000 do
      of(cpu .. ":runq", { instance = cpu, class = "runq_latency" }):add(is_slow and 4e7 or 1e5 * 10 ^ cpu)
    end
  end
  for _ = 1, 20 do
    connections("connect", "established"):add(5e7)
  end
  for _ = 1, is_slow and 30 or 0 do
    connections("refused", "refused"):add(1e6)
  end
  for _, k in ipairs({ exits, children }) do
    k:counter("exits"):add(100)
    k:counter("lifetime"):add(5e8)
    k:counter("cputime"):add(4e8)
  end
end

begin()
local ks = assert(kstat.open({ only = { { class = "disk", name = "vda" }, "cpu:/^[01]$/:sys", "unix:0:/^(vm|sys)$/",
  "pressure", "latency", "exits" } }))
local recording = assert(require("kstat.recording").open(arg[1]))
for sample = 1, 7 do
  if sample == 4 then
    for name, l in pairs(made) do
      if name:find("^vda") then
        l:delete()
        made[name] = nil
      end
    end
  elseif sample == 6 then
    pub:close()
    begin()
  end
  if sample < 7 then
    count(sample == 3, sample ~= 4)
  else
    pub:close()
  end
  os.execute("sleep 1")
  ks:update()
  assert(recording:add(ks))
end
recording:close()
