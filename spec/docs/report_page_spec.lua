-- The report of doc/scripting.md, taken from the page: the five slowest disks with a p99, on a recording and live.
local run = require("support.run")

local TICKS, DISKS, START = 80, 7, 1700000000

local script, capture, recording
local want -- by tick: the lines that are to come, computed here from what the capture holds

-- Numbers that look like those of a busy machine and are the same in every run.
local seed = 1
local function random(n)
  seed = (seed * 16807) % 2147483647
  return seed % n
end

-- The percentile of some numbers as the page has it: of all of them, between two neighbours if it falls there.
-- Then what a digest may be off: the numbers three places from the largest, and the largest.
local function percentile(list, share)
  if #list == 0 then
    return nil
  end
  local sorted = {}
  for i, v in ipairs(list) do
    sorted[i] = v
  end
  table.sort(sorted)
  local at = share * (#sorted - 1) + 1
  local below = math.floor(at)
  local above = math.min(below + 1, #sorted)
  return sorted[below] + (sorted[above] - sorted[below]) * (at - below), sorted[math.max(1, #sorted - 3)],
    sorted[#sorted]
end

local function kstat_text(i, time, c)
  return ('{"module":"sd","instance":%d,"name":"sd%d","class":"disk","type":3,"snaptime":%d.0,"data":{"crtime":1.0,' ..
    '"snaptime":%d.0,"nread":%d,"nwritten":0,"reads":%d,"writes":0,"wtime":0.0,"wlentime":%.9f,"wlastupdate":0.0,' ..
    '"rtime":0.0,"rlentime":%.9f,"rlastupdate":0.0,"wcnt":0,"rcnt":0}}'):format(i, i, time, time, 4096 * c.reads,
    c.reads, c.waited, c.served)
end

-- Writes the capture and works out what the report has to show.
local function prepare()
  local f = assert(io.open(capture, "w"))
  local counts, seen = {}, {}
  want = {}
  for i = 0, DISKS - 1 do
    counts[i], seen[i] = { reads = 1000, waited = 1, served = 5 + i }, {}
  end
  for tick = 0, TICKS do
    local texts, rows = {}, {}
    for i = 0, DISKS - 1 do
      local c, new = counts[i], { reads = 0, waited = 0, served = 0 }
      if tick > 0 and random(4) > 0 then
        new.reads = 1 + random(200)
        new.waited, new.served = random(1000000) / 1000000, (1 + random(5000000)) / 1000000
      end
      for name, more in pairs(new) do
        c[name] = c[name] + more
      end
      if tick > 0 then
        local svc_t = new.reads > 0 and 1000 * (new.waited + new.served) / new.reads or nil -- nothing took a time
        table.insert(seen[i], svc_t)
        local p99, low, high = percentile(seen[i], 0.99)
        rows[i + 1] = { "sd" .. i, new.reads / 10, 4096 * new.reads / 10 / 1048576, svc_t or false, p99,
          low = #seen[i] > 64 and low, high = high, order = i }
      end
      texts[i + 1] = kstat_text(i, 101 + 10 * tick, c)
    end
    table.sort(rows, function(a, b)
      if a[4] == b[4] then
        return a.order < b.order
      end
      return (a[4] or -1) > (b[4] or -1)
    end)
    want[tick] = rows
    f:write(("%d\n[%s]\n\n"):format(START + 10 * tick, table.concat(texts, ",")))
  end
  f:close()
end

local function report(...)
  local r = run.run({ "kstatlua", "-r", recording, script, ... })
  assert.equal("", r.err)
  assert.equal(0, r.status)
  return r.out
end

-- Compares a line's values with what is to come; from more than 64 values on a percentile is that of a digest.
local function compare(row, given, tick)
  for at = 1, 5 do
    local value, expected = given[at] or nil, row[at] or nil
    if at == 1 or expected == nil then
      assert.equal(expected, value)
    elseif at == 5 and row.low then
      assert.is_true(tonumber(value) >= row.low and tonumber(value) <= row.high)
    else
      assert.is_true(math.abs(tonumber(value) - expected) <= 1e-9 * expected,
        ("tick %d, %s, column %d: %s, not %s"):format(tick, row[1], at, tostring(value), tostring(expected)))
    end
  end
end

describe("the report of the page", function()
  setup(function()
    local text
    for block in run.read_file("doc/scripting.md"):gmatch("\n```lua\n(.-)\n```") do
      text = text or block:find("p99", 1, true) and block
    end
    script, capture, recording = os.tmpname() .. ".lua", os.tmpname(), os.tmpname()
    run.write_file(script, text)
    prepare()
    os.remove(recording)
    local r = run.run({ "kstatlua", "convert", "-o", recording, capture })
    assert.equal("", r.err)
  end)

  teardown(function()
    for _, path in ipairs({ script, capture, recording }) do
      os.remove(path)
    end
  end)

  it("has less than fifteen lines", function()
    local _, n = run.read_file(script):gsub("\n", "")
    assert.is_true(n + 1 < 15)
  end)

  it("gives each interval's five slowest disks in JSON", function()
    local cjson = require("cjson")
    local n = 0
    for line in report("-y", "-j", "10"):gmatch("[^\n]+") do
      local o = cjson.decode(line)
      local tick, place = 1 + math.floor(n / 5), n % 5 + 1
      assert.equal(START + 10 * tick, o.time)
      compare(want[tick][place], { o.device, o["r/s"], o["MB/s"], o.svc_t ~= cjson.null and o.svc_t,
        o.p99 ~= cjson.null and o.p99 }, tick)
      n = n + 1
    end
    assert.equal(5 * TICKS, n)
  end)

  it("gives them in CSV", function()
    local n = -1
    for line in report("-y", "--csv", "10"):gmatch("[^\n]+") do
      local fields = {}
      for field in (line .. ","):gmatch("([^,]*),") do
        fields[#fields + 1] = field ~= "" and field
      end
      if n < 0 then
        assert.equal("time,device,r/s,MB/s,svc_t,p99", line)
      else
        local tick = 1 + math.floor(n / 5)
        assert.equal(START + 10 * tick, tonumber(table.remove(fields, 1)))
        local row = want[tick][n % 5 + 1]
        assert.equal(("%.2f"):format(row[3]), fields[3])
        fields[3] = row[3]
        compare(row, fields, tick)
      end
      n = n + 1
    end
    assert.equal(5 * TICKS, n)
  end)

  it("gives them as a table, the first since creation and without a p99", function()
    local block, n = 0, 0
    for line in (report("10", "60") .. "\n"):gmatch("([^\n]*)\n") do
      if line:find("^device ") then
        assert.same({ "device", "r/s", "MB/s", "svc_t", "p99" }, { line:match("(%S+) +(%S+) +(%S+) +(%S+) +(%S+)") })
        block, n = block + 1, 0
      elseif line ~= "" then
        n = n + 1
        local words = { line:match("^(%S+) +(%S+) +(%S+) +(%S+) +(%S+)$") }
        if block == 1 then
          assert.equal("-", words[5])
        else
          local row = want[block - 1][n]
          assert.same({ row[1], ("%.1f"):format(row[2]), ("%.2f"):format(row[3]),
            row[4] and ("%.1f"):format(row[4]) or "-", row[5] and ("%.1f"):format(row[5]) or "-" }, words)
        end
      end
    end
    assert.equal(60, block)
  end)

  it("runs on this machine", function()
    local r = run.run({ "kstatlua", script, "0.05", "3" })
    assert.equal("", r.err)
    assert.equal(0, r.status)
    assert.matches("^device +r/s +MB/s +svc_t +p99\n", r.out)
    r = run.run({ "kstatlua", script, "0.05", "3", "-j" })
    assert.equal("", r.err)
    assert.equal(0, r.status)
  end)
end)
