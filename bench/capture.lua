--- Replaying captures: the cost of `kstat -p -r` per kstat at three sizes, beside the sorted list that
-- the old command inserts into (bench/helper/insertion.c), and the speed of reading JSON.
-- SPDX-License-Identifier: MIT
local figure = require("figure")

local build = assert(os.getenv("KSTAT_BUILD"))
local data = build .. "/bench/data"
local kstat = build .. "/bin/kstat"
assert(os.execute("mkdir -p " .. figure.quote(data)))

--- Returns numbers that look like counters, the same in each run.
local seed = 1
local function random(limit)
  seed = (seed * 16807) % 2147483647
  return seed % limit
end

local shapes = {
  { module = "sd", class = "disk", type = 3, stats = { "nread", "nwritten", "reads", "writes", "wtime", "wlentime",
    "wlastupdate", "rtime", "rlentime", "rlastupdate", "wcnt", "rcnt" } },
  { module = "link", class = "net", type = 1, stats = { "ifspeed", "ipackets64", "opackets64", "rbytes64", "obytes64",
    "ierrors", "oerrors", "collisions", "multircv", "link_state" } },
  { module = "vmem", class = "vmem", type = 1, stats = { "mem_inuse", "mem_import", "mem_total", "alloc", "free",
    "wait", "fail", "lookup", "search", "populate_fail", "contains" } },
  { module = "unix", class = "kmem_cache", type = 1, stats = { "align", "alloc", "alloc_fail", "buf_avail",
    "buf_constructed", "buf_inuse", "buf_max", "buf_size", "buf_total", "chunk_size", "depot_alloc", "depot_free" } },
  { module = "e1000g", class = "controller", type = 2, stats = { "hard", "soft", "watchdog", "spurious",
    "multiple_service" } },
}

--- Returns the numbers 1 to n in an order like that of a chain, which is not sorted.
local function shuffled(n)
  local list = {}
  for i = 1, n do
    list[i] = i
  end
  for i = n, 2, -1 do
    local j = random(i) + 1
    list[i], list[j] = list[j], list[i]
  end
  return list
end

--- Writes a capture of n kstats and the same statistics as lines; returns both paths and the bytes.
local function generate(n)
  local json, lines = data .. "/" .. n .. ".json", data .. "/" .. n .. ".tsv"
  local j, l = assert(io.open(json, "wb")), assert(io.open(lines, "wb"))
  j:write("[")
  for position, i in ipairs(shuffled(n)) do
    local shape = shapes[i % #shapes + 1]
    local name = shape.module .. i
    local crtime = ("%d.%09d"):format(60 + i % 40, random(1000000000))
    local members = {}
    for at, stat in ipairs(shape.stats) do
      local value = ("%d"):format(random(2147483647) * (at <= 2 and 1 or random(3)))
      if value + 0 > 4294967295 then
        value = "4294967295"
      end
      members[at] = ('"%s":%s'):format(stat, value)
      l:write(table.concat({ shape.module, i, name, shape.class, stat, value }, "\t"), "\n")
    end
    for _, pair in ipairs({ { "class", shape.class }, { "crtime", crtime }, { "snaptime", "5000.123456789" } }) do
      l:write(table.concat({ shape.module, i, name, shape.class, pair[1], pair[2] }, "\t"), "\n")
    end
    j:write(position > 1 and "," or "", ('{"module":"%s","instance":%d,"name":"%s","class":"%s","type":%d,'
      .. '"snaptime":5000.123456789,"data":{"crtime":%s,"snaptime":5000.123456789,%s}}')
      :format(shape.module, i, name, shape.class, shape.type, crtime, table.concat(members, ",")))
  end
  j:write("]\n")
  local bytes = j:seek("end")
  j:close()
  l:close()
  return json, lines, bytes
end

local function same_output(a, b)
  return os.execute(("bash -c %s"):format(figure.quote(("cmp <(%s) <(%s)"):format(a, b)))) == true
end

local cost, total, json, lines, bytes = {}, {}, {}, {}, {}
for _, n in ipairs({ 2000, 20000, 200000 }) do
  json[n], lines[n], bytes[n] = generate(n)
  total[n] = figure.measure({ kstat, "-p", "-r", json[n] }, { runs = n == 2000 and 20 or 5 })
  cost[n] = total[n] / n * 1000
end
for _, n in ipairs({ 20000, 200000 }) do
  local ratio = cost[n] / cost[2000]
  figure.print(("capture: CPU of kstat -p per kstat, %d kstats"):format(n), ("%.2f us"):format(cost[n]),
    ("2000 kstats: %.2f us"):format(cost[2000]), ratio, "<= 1.5x", ratio <= 1.5)
end

local old = os.getenv("KSTAT_BENCH") .. "/helper/insertion"
assert(same_output(("%s -p -r %s"):format(kstat, json[2000]), ("%s %s"):format(old, lines[2000])),
  "the two ways print different things")
local slow = figure.measure({ old, lines[20000] }, { runs = 2 })
figure.print("capture: CPU of kstat -p, 20000 kstats", ("%.1f ms"):format(total[20000]),
  ("quadratic insertion in C, parsed beforehand: %.0f ms"):format(slow), slow / total[20000], ">= 20x",
  slow / total[20000] >= 20)

-- Nothing is selected, so this measures only the reading of the capture and its headers.
local parse, _, memory = figure.measure({ kstat, "-q", "-m", "none", "-r", json[200000] })
local cjson = figure.measure({ os.getenv("LUA") or "lua5.4", "-e",
  ("require('cjson').decode(io.open(%q):read('a'))"):format(json[200000]) }, { runs = 3 })
local speed, theirs = bytes[200000] / parse / 1000, bytes[200000] / cjson / 1000
figure.print("capture: reading JSON", ("%.0f MB/s"):format(speed), ("lua-cjson: %.0f MB/s"):format(theirs),
  speed / theirs, ">= 100 MB/s", speed >= 100)
figure.print("capture: peak memory, 200000 kstats", ("%.0f MB"):format(memory / 1024),
  ("the capture itself: %.0f MB"):format(bytes[200000] / 1e6), memory * 1024 / bytes[200000], "<= 4x",
  memory * 1024 / bytes[200000] <= 4)
