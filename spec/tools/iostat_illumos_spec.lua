-- iostat on captures of illumos whose values its vectors do not have: many characters of terminals, blank texts.
local capture = require("support.capture")
local run = require("support.run")

local ERRORS = '"Soft Errors":0,"Hard Errors":2,"Transport Errors":0,"Vendor":"","Product":"DISK    ",' ..
  '"Revision":"01","Serial No":"","Size":1000000000,"Media Error":12345,"Device Not Ready":0,"No Device":0,' ..
  '"Recoverable":0,"Illegal Request":38'
local TICKS = '"rawch":123456,"outch":5,"cpu_ticks_idle":1000,"cpu_ticks_user":0,"cpu_ticks_kernel":0'
local IO = '"nread":0,"nwritten":0,"reads":0,"writes":0,"wtime":0,"wlentime":0,"wlastupdate":0,"rtime":0,' ..
  '"rlentime":0,"rlastupdate":0,"wcnt":0,"rcnt":0'

-- "$" stands for the end of a line that ends with a blank.
local function ends(text)
  return (text:gsub("%$\n", "\n"))
end

describe("iostat of illumos", function()
  local function iostat(...)
    local samples = { {
      capture.kstat("cpu", 0, "sys", "misc", 1, 1, 11, TICKS),
      capture.kstat("sd", 0, "sd0", "disk", 3, 1, 11, IO),
      capture.kstat("sderr", 0, "sd0,err", "device_error", 1, 1, 11, ERRORS),
    } }
    local r = run.run({ "kstatlua", "iostat", ..., env = { KSTAT_SOURCE = capture.file(samples) } })
    capture.clean()
    assert.equal("", r.err)
    return r.out
  end

  it("leaves a blank before a thousand characters", function()
    assert.equal("   tty    \n tin tout \n 12346    0 \n", iostat("-t"))
  end)

  it("shows blank texts, and wraps lines without regard to the digits of numbers (-E)", function()
    assert.equal(ends([[
sd0       Soft Errors: 0 Hard Errors: 2 Transport Errors: 0 $
Vendor:  Product: DISK     Revision: 01 Serial No:  $
Size: 1.00GB <1000000000 bytes>
Media Error: 12345 Device Not Ready: 0 No Device: 0 Recoverable: 0 $
Illegal Request: 38 $
]]), iostat("-E"))
  end)

  it("separates items by commas (-Er)", function()
    assert.equal(ends([[
sd0       ,Soft Errors: 0 ,Hard Errors: 2 ,Transport Errors: 0 $
Vendor:  ,Product: DISK     ,Revision: 01 ,Serial No:  $
Size: 1.00GB <1000000000 bytes>
Media Error: 12345 ,Device Not Ready: 0 ,No Device: 0 ,Recoverable: 0 $
Illegal Request: 38 $
]]), iostat("-Er"))
  end)

  it("indents the heads alone of the errors of paths (-Xe)", function()
    assert.equal(ends("           ---- errors --- $\ndevice  s/w h/w trn tot $\nsd0     0   2   0   2 $\n"),
      iostat("-Xe"))
    assert.equal(ends("  ---- errors --- $\n  s/w h/w trn tot device\n  0   2   0   2 sd0\n"), iostat("-Xne"))
  end)
end)
