-- Details of public functions that no reference vector covers, by way of spec/c/public_details.c.
local run = require("support.run")

describe("public functions", function()
  local lines = {}

  setup(function()
    local r = run.run({ run.build .. "/spec/public_details" })
    assert.equal("", r.err)
    assert.equal(0, r.status)
    for line in r.out:gmatch("[^\n]+") do
      lines[#lines + 1] = line
    end
  end)

  it("count both sequence numbers of a device up, so that a reader finds them equal", function()
    assert.same({ "start 1 1", "end 2 2" }, { lines[1], lines[2] })
  end)

  it("print a single statistic in free form and in JSON", function()
    assert.same({ "sum freeform 15", "sum json 15" }, { lines[3], lines[4] })
    assert.equal("histogram freeform nbkts=3, oob=0", lines[5])
    assert.matches("^%s+{lb=10,ub=20,cnt=1}$", lines[7])
    assert.equal('histogram json {"nbkts":3,"oob":0,"bkts":[{"lb":0,"ub":10,"cnt":0},{"lb":10,"ub":20,"cnt":1},' ..
      '{"lb":20,"ub":4294967295,"cnt":0}]}', lines[9])
  end)

  it("report no change when the only device is selected again", function()
    assert.same({ "selected 1", "selected 0" }, { lines[#lines - 1], lines[#lines] })
  end)
end)
