-- Solaris's habit: two commands, and a subtraction. No counter is less in the second one, unless the thing that it is
-- about is another one, as its crtime says. (Some counters of a process are sums over the threads that it has now:
-- these fall when a thread ends, and are looked at where there is one thread.) A pair takes a tenth of a second;
-- KSTAT_PAIRS=1000 makes that many pairs, a second apart, with some load beside them (make soak).
local run = require("support.run")

local pairs_wanted = tonumber(os.getenv("KSTAT_PAIRS"))
local EVERYTHING = "KSTAT_WITH=all KSTAT_DIR=/nonexistent %s/kstat %s : process::: thread::: listen::: tcp_state::: " ..
  "intr_cpu::: softirq_cpu::: ethtool::: 2>/dev/null"

-- The kernel's own figures that may fall by a tick or two, as proc(5) says of iowait: these hold of all CPUs.
local MAY_FALL = { "idle$", "wait$", "wait_ticks_io$", "wait_io$", "iowait$", "steal$", "stolen$" }
local TICKS = 3

-- The counters by module and statistic. The names of processes may have colons, so both ends are looked at.
local function counters()
  local set = {}
  for line in run.shell(EVERYTHING:format(run.bin, "-d")).out:gmatch("[^\n]+") do
    local module, stat = line:match("^([^:]+):.*:([^:\t]+)\tcounter\t")
    if module then
      set[module .. ":" .. stat] = true
    end
  end
  return set
end

-- The values of a command by kstat: of each its statistics.
local function sample()
  local kstats = {}
  for line in run.shell(EVERYTHING:format(run.bin, "-p")).out:gmatch("[^\n]+") do
    local kstat, stat, value = line:match("^(.*):([^:\t]+)\t(%-?[%d.]+)$")
    if kstat then
      kstats[kstat] = kstats[kstat] or {}
      kstats[kstat][stat] = value
    end
  end
  return kstats
end

-- True if a value that fell did no harm: a tick or two, or a counter of 32 bits that started again.
local function is_excused(stat, before, now)
  local per_tick = stat:find("nsec") and 1e7 or 1
  for _, pattern in ipairs(MAY_FALL) do
    if stat:find(pattern) and before - now <= TICKS * per_tick then
      return true
    end
  end
  return before < 2 ^ 32 and before - now > 2 ^ 31
end

-- Adds the counters that fell to `fell`; returns how many were compared.
local function compare(kinds, before, now, fell)
  local n = 0
  for name, old in pairs(before) do
    local new = now[name]
    local process = name:match("^(process:.*),sched$") or name:match("^(process:.*),status$")
      or name:match("^(process:.*),io$")
    local is_of_threads = process and not (before[process] and before[process].nlwp == "1")
    for stat, value in pairs(not is_of_threads and new and new.crtime == old.crtime and old or {}) do
      if kinds[name:match("^[^:]+") .. ":" .. stat] and new[stat] then
        local was, is = tonumber(value), tonumber(new[stat])
        n = n + 1
        if is < was and not is_excused(stat, was, is) then
          fell[#fell + 1] = ("%s:%s %s -> %s"):format(name, stat, value, new[stat])
        end
      end
    end
  end
  return n
end

describe("the difference of two commands", function()
  it("is not negative for any counter", function()
    local load = pairs_wanted and io.popen([[
      file=$(mktemp); echo $$; trap 'rm -f $file; exit' TERM
      while :; do dd if=/dev/zero of=$file bs=64k count=200 conv=fsync; sleep 0.2; done 2>/dev/null]])
    local pid = load and load:read("*l")
    local kinds, fell, compared = counters(), {}, 0
    local before = sample()
    for _ = 1, pairs_wanted or 3 do
      run.shell(pairs_wanted and "sleep 1" or "sleep 0.1")
      local now = sample()
      compared = compared + compare(kinds, before, now, fell)
      before = now
    end
    if pid then
      run.shell("kill " .. pid)
      load:close()
      print(("%d counters compared in %d pairs"):format(compared, pairs_wanted))
    end
    assert.same({}, fell)
    assert.is_true(compared > 100, compared)
  end)
end)
