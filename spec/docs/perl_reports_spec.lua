-- The three reports of doc/from-perl.md, over the illumos capture: figures worked out from its samples.
local run = require("support.run")

local function report(name, ...)
  return run.run({ "kstatlua", "-r", "spec/vectors/kstat/host.jsonl", "examples/" .. name .. ".lua", ... })
end

describe("the report", function()
  it("cpu_usage shares out the ticks of each CPU", function()
    local result = report("cpu_usage", "-y", "5", "2")
    assert.equals("", result.err)
    assert.equals([[
CPU  usr  sys  wt  idl
0   55.3  3.8 0.0 40.9
1   57.5  5.4 0.0 37.1
2   27.8 22.5 0.0 49.7
3   31.0 66.3 0.0  2.8
10  26.5 42.3 0.0 31.2
11  10.4 51.6 0.0 38.0
]], result.out)
  end)

  it("net_per_nic adds up the interfaces", function()
    local result = report("net_per_nic", "-y", "5", "2")
    assert.equals([[
NIC    rKB/s wKB/s rPk/s wPk/s  KB/s
vnic10 184.2 180.4  35.2 165.8 364.6
net1    95.0 129.4 218.0  64.8 224.4
net0    64.0 110.3   7.2 214.4 174.4
total  343.2 420.1 260.4 445.0 763.3
]], result.out)
  end)

  it("disk_service puts the slowest disk first, and leaves out the idle ones", function()
    local result = report("disk_service", "-yz", "5", "2")
    assert.equals([[
device  r/s  w/s   kr/s   kw/s wait actv wsvc_t asvc_t %b
sd2     7.4 15.2 1185.2  695.8  0.3  0.2   11.4   10.9 20
sd1    11.8 12.4  283.7 1414.5  0.3  0.2   11.0    6.5  5
rpool  18.6 44.6 2114.3 1290.9  0.1  0.3    1.8    4.8  9
sd11   22.2 68.0 3434.8 2493.4  0.2  0.2    2.0    2.7 24
sd0    44.0 57.4 2708.8 3922.5  0.0  0.2    0.3    2.4 18
sd10   11.0 87.0 1325.1 2039.5  0.1  0.2    1.1    2.2 26
]], result.out)
  end)
end)
