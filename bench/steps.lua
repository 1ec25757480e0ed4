--- steps: a recording in steps beside `sar -i`: the CPU time of all CPUs, of data that sadc and kstatlua record take at
-- the same time. `kstatlua bench/steps.lua [SECONDS STEP]`, by default a day in hours; it takes that long. Both round
-- steps to samples, a second apart (ten of a day); the last line is the greatest difference of a step, in points.
local kstat = require("kstat")
local SECONDS, STEP = tonumber(arg[1]) or 86400, tonumber(arg[2]) or 3600
local DISTANCE = SECONDS >= 3600 and 10 or 1 -- of samples, seconds

local function output(line)
  local p = assert(io.popen(line))
  local text = p:read("*a")
  p:close()
  return text
end

local dir = output("mktemp -d"):match("[^\n]+")
local program = os.getenv("KSTATLUA") or "build/bin/kstatlua"
local count = math.floor(SECONDS / DISTANCE) + 1
os.execute(("{ /usr/lib/sysstat/sadc %d %d %s/sa & %s record -o %s/a.rec cpu unix %d %d; wait; } 2>&1")
  :format(DISTANCE, count, dir, program, dir, DISTANCE, count))

-- What sar says of each step: user (with nice), system and idle, in percent.
local ours, theirs = {}, {}
for line in output(("LC_ALL=C S_TIME_FORMAT=ISO sar -u ALL -i %d -f %s/sa"):format(STEP, dir)):gmatch("[^\n]+") do
  local user, nice, system, _, _, irq, soft, _, _, idle =
    line:match("^%d.*all" .. ("%s+([%d.]+)"):rep(10))
  if user then
    theirs[#theirs + 1] = { user + nice, system + irq + soft, tonumber(idle) }
  end
end
for now, prev in kstat.every(STEP, { source = dir .. "/a.rec", select = "cpu:::cpu_nsec_*" }) do
  local d, sum, all = prev and now - prev, { 0, 0, 0 }, 0
  for k in d and d:each({ module = "cpu", name = "sys" }) or function() end do
    for i, names in ipairs({ { "user" }, { "kernel" }, { "idle" }, { "wait", "stolen" } }) do
      for _, name in ipairs(names) do
        local ns = k["cpu_nsec_" .. name] or 0
        sum[i], all = (sum[i] or 0) + ns, all + ns
      end
    end
  end
  if all > 0 then
    ours[#ours + 1] = { 100 * sum[1] / all, 100 * sum[2] / all, 100 * sum[3] / all }
  end
end
local greatest = 0
print("step    user    sar  system    sar    idle    sar")
for i = 1, math.min(#ours, #theirs) do
  local line = { ("%4d"):format(i) }
  for c = 1, 3 do
    line[#line + 1] = ("%7.2f%7.2f"):format(ours[i][c], theirs[i][c])
    greatest = math.max(greatest, math.abs(ours[i][c] - theirs[i][c]))
  end
  print(table.concat(line, " "))
end
os.execute("rm -r " .. dir)
print(("steps: %d ours, %d of sar; the greatest difference is %.2f points"):format(#ours, #theirs, greatest))
