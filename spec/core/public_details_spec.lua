-- Details of public functions that no reference vector covers, by way of spec/c/public_details.c.
local capture = require("support.devstat_capture")
local run = require("support.run")

describe("public functions", function()
  local lines, disks_of = {}, {}

  setup(function()
    local file, disks = os.tmpname(), {}
    for i, name in ipairs({ "sda", "nvme0n1", "sd12", "fourteenletter12", "fifteen_letters12", "sd012" }) do
      local data = {}
      for j, stat in ipairs({ "nread", "nwritten", "reads", "writes", "wtime", "wlentime", "wlastupdate", "rtime",
        "rlentime", "rlastupdate", "wcnt", "rcnt" }) do
        data[j] = { stat, "0" }
      end
      disks[i] = capture.kstat("sd", i, name, "disk", 3, "1", data)
    end
    run.write_file(file, "[" .. table.concat(disks, ",") .. "]")
    local r = run.run({ run.build .. "/spec/public_details", file })
    os.remove(file)
    assert.equal("", r.err)
    assert.equal(0, r.status)
    for line in r.out:gmatch("[^\n]+") do
      local list = line:find("^disk ") and disks_of or lines
      list[#list + 1] = line
    end
  end)

  it("give a disk the system's name where it is not the name and the unit together", function()
    table.sort(disks_of)
    assert.same({ "disk fifteen_letters 12 ''", "disk fourteenletter 12 ''", "disk nvme0n 1 ''", "disk sd 0 'sda'",
      "disk sd 12 ''", "disk sd0 12 ''" }, disks_of)
  end)

  it("count both sequence numbers of a device up, so that a reader finds them equal", function()
    assert.same({ "start 1 1", "end 2 2" }, { lines[1], lines[2] })
  end)

  it("return whether a text had room for what was appended to it", function()
    assert.equal("text 0 -1 -1", lines[3])
  end)

  it("print a single statistic in free form and in JSON", function()
    assert.same({ "sum freeform 15", "sum json 15" }, { lines[4], lines[5] })
    assert.equal("histogram freeform nbkts=3, oob=0", lines[6])
    assert.matches("^%s+{lb=10,ub=20,cnt=1}$", lines[8])
    assert.equal('histogram json {"nbkts":3,"oob":0,"bkts":[{"lb":0,"ub":10,"cnt":0},{"lb":10,"ub":20,"cnt":1},' ..
      '{"lb":20,"ub":4294967295,"cnt":0}]}', lines[10])
  end)

  it("refuse to print what is no statistic", function()
    assert.equal("refused 1 1 1 1 1 0", lines[11])
  end)

  it("count in generated ranges, below the first and above the last", function()
    assert.equal('ranges json {"nbkts":5,"oob":0,"bkts":[{"lb":0,"ub":10,"cnt":1},{"lb":10,"ub":15,"cnt":2},' ..
      '{"lb":15,"ub":20,"cnt":0},{"lb":20,"ub":25,"cnt":0},{"lb":25,"ub":4294967295,"cnt":0}]}', lines[18])
  end)

  it("report no change when the only device is selected again", function()
    assert.same({ "selected 1", "selected 0" }, { lines[#lines - 1], lines[#lines] })
  end)
end)
