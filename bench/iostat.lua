-- Our iostat beside sysstat's: one report, and each further one at an interval of a second; and 10,000 disks.
-- SPDX-License-Identifier: MIT
local figure = require("figure")

local ours = { os.getenv("KSTAT_BUILD") .. "/bin/kstatlua", "iostat", "-x" }
local theirs = { "/usr/bin/iostat", "-x" }

local function with(argv, ...)
  local list = {}
  for _, word in ipairs(argv) do list[#list + 1] = word end
  for _, word in ipairs({ ... }) do list[#list + 1] = word end
  return list
end

local function compare(name, a, b, goal)
  figure.print(name, ("%.2f ms CPU"):format(a), ("sysstat's iostat -x: %.2f ms CPU"):format(b), a / b,
    ("at most %gx"):format(goal), a <= goal * b)
end

-- Returns the CPU time of a report after the first, from the difference that `MORE` reports make. Both programs sleep
-- between their reports, so that both start with the caches that another program left.
local FEW, MORE, RUNS = 2, 6, 5

local function further(argv)
  local few = figure.measure(with(argv, "1", tostring(FEW)), { runs = RUNS })
  local many = figure.measure(with(argv, "1", tostring(FEW + MORE)), { runs = RUNS })
  return (many - few) / MORE
end

compare("iostat -x", figure.measure(ours, { runs = 200 }), figure.measure(theirs, { runs = 200 }), 2)
compare("iostat -x 1, a further report", further(ours), further(theirs), 2)

-- How the cost grows: captures of many disks, two samples each.
local function capture(disks)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  for sample = 1, 2 do
    local list = {}
    for i = 1, disks do
      list[i] = ('{"module":"sd","instance":%d,"name":"sd%d","class":"disk","type":3,"snaptime":%d.000000001,'
        .. '"data":{"crtime":0,"snaptime":%d.000000001,"nread":%d,"nwritten":0,"reads":%d,"writes":0,"wtime":0,'
        .. '"wlentime":0,"wlastupdate":0,"rtime":%d,"rlentime":%d,"rlastupdate":0,"wcnt":0,"rcnt":0}}'):format(
          i, i, sample * 5, sample * 5, sample * 4096 * i, sample * i, sample * i, sample * i)
    end
    file:write("[", table.concat(list, ","), "]\n")
  end
  file:close()
  return path
end

local function many_disks(disks)
  local path = capture(disks)
  local cpu = figure.measure({ ours[1], "-r", path, "iostat", "-x", "5", "2" }, { runs = 5 })
  os.remove(path)
  return cpu
end

local small, large = many_disks(1000), many_disks(10000)
figure.print("iostat -x 5 2 of 10,000 disks", ("%.0f ms CPU"):format(large), ("1,000 disks: %.1f ms CPU"):format(small),
  large / small, "under 15x", large < 15 * small)
