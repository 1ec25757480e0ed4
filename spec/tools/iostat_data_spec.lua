-- iostat and devstat for programs: JSON, an object a line, and CSV.
local capture = require("support.capture")
local cjson = require("cjson")
local run = require("support.run")

-- A disk that reads 100 times and writes 50 times a second, busy half of the time, and a CPU.
local function samples()
  local list = {}
  for i = 0, 2 do
    list[i + 1] = {
      capture.kstat("sd", 0, "sd0", "disk", 3, 1, 10 + i, ('"nread":%d,"nwritten":%d,"reads":%d,"writes":%d,"wtime":0,'
        .. '"wlentime":0,"wlastupdate":0,"rtime":%.9f,"rlentime":%.9f,"rlastupdate":0,"wcnt":0,"rcnt":0')
        :format(409600 * i, 51200 * i, 100 * i, 50 * i, 0.5 * i, 1.5 * i)),
      capture.kstat("sd", 0, "sd0,error", "device_error", 1, 1, 10 + i, '"Soft Errors":1,"Hard Errors":2,'
        .. '"Transport Errors":3'),
      capture.kstat("sd", 1, "sd1", "disk", 3, 1, 10 + i, '"nread":0,"nwritten":0,"reads":0,"writes":0,"wtime":0,'
        .. '"wlentime":0,"wlastupdate":0,"rtime":0,"rlentime":0,"rlastupdate":0,"wcnt":0,"rcnt":0'),
      capture.kstat("cpu", 0, "sys", "misc", 1, 1, 10 + i, ('"cpu_ticks_user":%d,"cpu_ticks_kernel":%d,'
        .. '"cpu_ticks_idle":%d,"rawch":%d,"outch":%d'):format(75 * i, 20 * i, 5 * i, 10 * i, 20 * i)),
    }
  end
  return capture.file(list)
end

describe("for programs,", function()
  local path
  setup(function() path = samples() end)
  teardown(capture.clean)

  local function show(line, status)
    local r = run.shell(("%s/kstatlua -r %s %s"):format(run.bin, path, line))
    assert.equal(status or 0, r.status, r.err)
    return status and r.err or r.out
  end

  local function objects(line)
    local list = {}
    for text in show(line):gmatch("[^\n]+") do
      list[#list + 1] = cjson.decode(text)
    end
    return list
  end

  it("iostat has a row for each device with all its figures", function()
    local rows = objects("iostat -j 1 2")
    assert.equal(4, #rows)
    assert.equal("iostat sd0 true", ("%s %s %s"):format(rows[1].report, rows[1].device,
      tostring(rows[1].since_creation)))
    local row = rows[3]
    assert.same({ "sd0", false, 1, 100, 50, 400, 50, 1.5, 10, 50 }, { row.device, row.since_creation, row.elapsed,
      row["r/s"], row["w/s"], row["kr/s"], row["kw/s"], row.actv, row.asvc_t, row["%b"] })
    assert.is_nil(row.us)
  end)

  it("iostat has errors, terminals and CPUs in the same row", function()
    local row = objects("iostat -j -ect sd0 1 2")[2]
    assert.same({ 1, 2, 3, 6, 10, 20, 75, 20, 5, cjson.null }, { row["s/w"], row["h/w"], row.trn, row.tot, row.tin,
      row.tout, row.us, row.sy, row.id, row.dt })
    local only = objects("iostat --json -c 1 2")
    assert.equal(2, #only)
    assert.equal(75, only[2].us)
    assert.is_nil(only[2].device)
  end)

  it("iostat counts in place of rates, leaves out what is idle, and the first report", function()
    local rows = objects("iostat -jIyz 1 3")
    assert.equal(2, #rows)
    assert.same({ "sd0", 100, 400 }, { rows[2].device, rows[2]["r/i"], rows[2]["kr/i"] })
  end)

  it("iostat writes CSV, rounded as its columns are", function()
    local text = show("iostat --csv sd0 1 2")
    assert.equal("time,device,r/s,w/s,kr/s,kw/s,wait,actv,wsvc_t,asvc_t,%w,%b", text:match("^[^\n]*"))
    assert.equal("sd0,100.0,50.0,400.0,50.0,0.0,1.5,0.0,10.0,0,50", text:match(",(sd0[^\n]*)\n$"))
    assert.matches("^time,us,sy,dt,id\n%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d[+-]%d%d:%d%d,", show("iostat --csv -c -T d"))
  end)

  it("iostat refuses what has no rows", function()
    assert.matches("-E and --json cannot be used together", show("iostat -jE", 2), 1, true)
    assert.matches("-r and --csv cannot be used together", show("iostat -r --csv", 2), 1, true)
    assert.matches("--json and --csv cannot be used together", show("iostat -j --csv", 2), 1, true)
    assert.matches("--json and --csv cannot be used together", show("devstat -j --csv", 2), 1, true)
  end)

  it("devstat has a row for each device with the columns of -x", function()
    local rows = objects("devstat -j sd0 1 2")
    assert.equal(2, #rows)
    local row = rows[2]
    assert.same({ "devstat", "sd0", 100, 50, 400, 50, 0 }, { row.report, row.device, row["r/s"], row["w/s"],
      row["kr/s"], row["kw/s"], row.qlen })
    local totals = objects("devstat -jICT sd0 1 2")[2]
    assert.same({ 100, 50, 400 }, { totals["r/i"], totals["w/i"], totals["kr/i"] })
    assert.is_not_nil(totals.us)
  end)

  it("devstat writes CSV", function()
    local text = show("devstat --csv sd0 1 2")
    assert.equal("time,device,r/s,w/s,kr/s,kw/s,qlen,svc_t,%b", text:match("^[^\n]*"))
    assert.matches(",sd0,100.0,50.0,400.0,50.0,0.0,", text, 1, true)
    assert.equal(1, select(2, text:gsub("time,", "")))
  end)
end)
