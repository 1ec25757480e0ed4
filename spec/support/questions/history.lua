-- Captures in which everything goes wrong that does in the field: kstats come, go, are away and begin anew; counters
-- fall, stand still and are larger than a double holds; statistics are missing; distances are irregular, the machine is
-- started again or sleeps, and nobody samples for a while.
local exact = require("support.questions.exact")
local random = require("support.questions.random")

local history = {}

-- What there may be: names with colons and commas, texts whose printed forms could be taken for each other.
local KSTATS = {
  { "db", 0, "main", "store", device = "a", mount = "b,c", nick = "one" },
  { "db", 1, "copy", "store", nick = "zero" },
  { "queue", 0, "q", "store" },
  { "web", 0, "worker0", "worker", device = "nfs", mount = "host:/x", nick = "zero" },
  { "web", 1, "worker1", "worker", device = "nfs:host", mount = "/x" },
  { "web", 2, "w:2,a", "worker", device = "a,b", mount = "c", always = true }, -- read last: it dates the sample
}
local STATES = { "run", "sleep", "bad:x", "a,b" }
local BIG = { 2 ^ 53, 2 ^ 62, 2 ^ 63, 2 ^ 64 - 2 ^ 20, 2 ^ 54, 2 ^ 61 } -- so far apart that doubles tell them apart

local function begin_anew(kstat, r, crtime)
  kstat.crtime = crtime
  kstat.requests, kstat.errors = r:below(50), r:below(5)
  kstat.over = r:below(1000) - 500
end

-- What happens to a kstat up to the next sample: `before` and `now` are the machine's clock.
local function live(kstat, r, before, now)
  if kstat.idle > 0 then
    kstat.idle = kstat.idle - 1
  else
    kstat.requests, kstat.errors = kstat.requests + r:below(90), kstat.errors + r:below(4)
    kstat.over = kstat.over + r:below(2000)
    kstat.inflight, kstat.load = r:between(-20, 80) / 4, r:below(64) / 16
    kstat.state = r:one_of(STATES)
    kstat.idle = r:chance(8) and r:between(1, 8) or 0
  end
  if r:chance(5) then
    kstat.requests = math.floor(kstat.requests / 3)
  end
  if r:chance(5) then
    begin_anew(kstat, r, before + (now - before) * r:between(1, 7) / 8)
  end
  kstat.away = kstat.always and 0 or kstat.away > 0 and kstat.away - 1 or r:chance(8) and r:between(1, 5) or 0
end

-- The statistics of a kstat in a sample.
local function data_of(kstat, r)
  local data = {
    requests = exact.integer(kstat.requests), errors = exact.integer(kstat.errors),
    big = exact.integer(kstat.base, kstat.over), inflight = kstat.inflight, load = kstat.load, state = kstat.state,
    device = kstat.device, mount = kstat.mount, nick = kstat.nick,
  }
  if kstat.class == "store" then
    data.errors = nil
  end
  for _, name in ipairs({ "requests", "errors", "inflight", "state", "big" }) do
    if r:chance(4) then
      data[name] = nil
    end
  end
  return data
end

-- How long it is to the next sample, how far the machine's clock goes on in this time, and whether it was started; if
-- not, the clock of the day may be set back.
local function next_distance(r, distance)
  local length = r:chance(20) and math.floor(distance * r:one_of({ 0.5, 1.5, 2, 2.5, 3 })) or distance
  if r:chance(5) then
    length = length * r:between(4, 12) + 60
  end
  local asleep = r:chance(3) and r:one_of({ 70, length * 4 + 60 }) or 0
  local is_started, back = r:chance(3), r:chance(4) and r:one_of({ 7, 40, 500 }) or 0
  return length + asleep - (is_started and 0 or back), length, is_started
end

local function kstats_of(r, clock)
  local kstats = {}
  for i, k in ipairs(KSTATS) do
    local kstat = { base = BIG[i], module = k[1], instance = k[2], name = k[3], class = k[4], device = k.device,
      mount = k.mount, nick = k.nick, always = k.always, idle = 0,
      away = not k.always and r:chance(25) and r:between(1, 9) or 0, inflight = 1, load = 0.5,
      state = "run" }
    begin_anew(kstat, r, clock - r:between(2, 900))
    kstats[#kstats + 1] = kstat
  end
  return kstats
end

-- A history: samples with `time` (seconds since 1970), `clock` (the machine's), `boot`, and kstats as records.
function history.make(seed)
  local r = random.new(seed)
  local distance, jitter = r:one_of({ 8, 10, 16, 32, 60, 64, 300 }), r:chance(40)
  local time, clock = 1700000000 + r:below(604800), 1000 + r:below(1000)
  local kstats, samples, boot = kstats_of(r, clock), {}, false
  for tick = 1, r:between(14, 30) do
    local sample = { time = time, clock = clock, tick = tick, boot = boot, kstats = {} }
    for i, kstat in ipairs(kstats) do
      if kstat.away == 0 then
        local earlier = kstat.always and 0 or (#kstats - i) / 64 + (jitter and r:below(4) / 512 or 0)
        sample.kstats[#sample.kstats + 1] = { tick = tick, crtime = kstat.crtime, snaptime = clock - earlier,
          data = data_of(kstat, r), module = kstat.module, instance = kstat.instance, name = kstat.name,
          class = kstat.class }
      end
    end
    samples[tick] = sample
    local length, awake
    length, awake, boot = next_distance(r, distance)
    boot = boot and clock > 30 -- what is started again has a clock that goes back
    local before = clock
    time, clock = time + length, boot and 5 + r:below(20) or clock + awake
    for _, kstat in ipairs(kstats) do
      if boot then
        begin_anew(kstat, r, r:between(1, 16) / 4)
      end
      live(kstat, r, boot and 4 or before, clock)
    end
  end
  return { seed = seed, distance = distance, samples = samples }
end

local function json_of(record)
  local members = { ('"crtime":%.9f,"snaptime":%.9f'):format(record.crtime, record.snaptime) }
  for name, value in pairs(record.data) do
    members[#members + 1] = ('"%s":%s'):format(name, type(value) == "string" and ('"%s"'):format(value)
      or exact.text(value))
  end
  table.sort(members)
  return ('{"module":"%s","instance":%d,"name":"%s","class":"%s","type":1,"snaptime":%.9f,"data":{%s}}'):format(
    record.module, record.instance, record.name, record.class, record.snaptime, table.concat(members, ","))
end

-- The history as `kstat -T u -j` prints it.
function history.capture(h)
  local lines = {}
  for _, sample in ipairs(h.samples) do
    local kstats = {}
    for i, record in ipairs(sample.kstats) do
      kstats[i] = json_of(record)
    end
    lines[#lines + 1] = ("%d\n[%s]\n"):format(sample.time, table.concat(kstats, ",\n"))
  end
  return table.concat(lines, "\n")
end

return history
