-- GPUs of NVIDIA, by a stub of the driver's library (spec/stub/nvml.c) and a tree in which the driver runs.
local run = require("support.run")

describe("GPUs of NVIDIA", function()
  local dir, env

  before_each(function()
    dir = run.shell("mktemp -d").out:match("%S+")
    run.shell(("mkdir -p %s/proc/driver/nvidia %s/sys; echo 1000.00 1.00 > %s/proc/uptime"):format(dir, dir, dir))
    env = { KSTAT_PROC = dir .. "/proc", KSTAT_SYS = dir .. "/sys", NVML_STUB = dir .. "/trouble",
      KSTAT_NVML = run.build .. "/spec/nvml_stub.so" }
  end)
  after_each(function() run.shell("rm -rf " .. run.quote(dir)) end)

  local function trouble(text) run.write_file(dir .. "/trouble", text) end

  -- What kstat -p prints of the operands, by name, and its result.
  local function read(...)
    local r = run.run({ env = env, "kstat", "-p", ... })
    local found = {}
    for name, value in r.out:gmatch("([^\t\n]+)\t([^\n]*)") do
      found[name] = value
    end
    return found, r
  end

  local function same(found, kstat, expected)
    for name, value in pairs(expected) do
      assert.equal(value, found[kstat .. ":" .. name], kstat .. ":" .. name)
    end
  end

  -- Runs a script in which fill(text) writes what goes wrong from then on.
  local function script(text)
    return run.run({ env = env, "kstatlua", "-e", ([[
      local function fill(text) local f = io.open(%q, "w"); f:write(text); f:close() end
      ]]):format(dir .. "/trouble") .. text })
  end

  it("have their figures, each with its unit", function()
    trouble("pending 1\n")
    local found, r = read("nvidia:::")
    assert.equal("", r.err)
    same(found, "nvidia:0:gpu0", { state = "ok", model = "Stub H100 80GB HBM3", driver_version = "580.65.06",
      uuid = "GPU-00000000-0000-0000-0000-000000000000", pci_bus_id = "00000000:1B:00.0", gpu_util = "97",
      memory_util = "41", memory_total = "85899345920", memory_used = "63795363840", memory_reserved = "629145600",
      temp = "64", power = "699000", power_limit = "700000", clock_graphics = "1410", clock_sm = "1411",
      clock_memory = "2619", clock_video = "1275", clock_graphics_max = "1980", clock_sm_max = "1981",
      clock_memory_max = "2620", clock_video_max = "1545", pstate = "0", throttle_reasons = "36",
      throttle = "power cap, thermal", throttled_power = "1", throttled_heat = "1", ecc_corrected = "2",
      ecc_uncorrected = "1", ecc_corrected_ever = "12", ecc_uncorrected_ever = "11", rows_remapped_corrected = "3",
      rows_remapped_uncorrected = "1", rows_pending = "1", rows_failed = "0", pcie_generation = "5", pcie_width = "16",
      pcie_generation_max = "5", pcie_width_max = "16" })
    same(found, "nvidia:1:gpu1", { state = "ok", throttle = "idle", throttled_power = "0", pcie_generation = "1" })
    assert.is_nil(found["nvidia:1:gpu1:ecc_corrected"], "what a GPU does not have is absent")
    local described = run.run({ env = env, "kstat", "-d", "nvidia:0:gpu0:power" }).out
    assert.truthy(described:find("mW", 1, true), described)
  end)

  it("have what takes long in kstats of its own, for those who spell it out", function()
    assert.is_nil(read("nvidia:::")["nvidia:0:gpu0,pcie:tx_rate"])
    local found = read("nvidia:0:/,/")
    same(found, "nvidia:0:gpu0,energy", { energy = "123456789" })
    same(found, "nvidia:0:gpu0,violation", { power_nsec = "1000", thermal_nsec = "2000", board_limit_nsec = "4000",
      reliability_nsec = "6000" })
    same(found, "nvidia:0:gpu0,pcie", { tx_rate = "5000", rx_rate = "7000", replays = "6" })
    same(found, "nvidia:0:gpu0,nvlink", { links = "3", tx = "111", rx = "222", replay_errors = "4",
      recovery_errors = "8", crc_flit_errors = "12", crc_data_errors = "16" })
    assert.is_nil(found["nvidia:0:gpu0:temp"])
    found = read("nvidia:1:gpu1,pcie", "nvidia:0:gpu0")
    assert.equal("5000", found["nvidia:1:gpu1,pcie:tx_rate"])
    assert.is_nil(found["nvidia:0:gpu0,pcie:tx_rate"])
    assert.same({ ["nvidia:0:gpu0,energy:energy"] = "123456789" }, (read("nvidia:0::energy")))
    local classes = run.run({ env = env, "kstat", "-p", "-c", "gpu_energy" }).out
    assert.truthy(classes:find("nvidia:1:gpu1,energy:energy", 1, true), classes)
  end)

  it("have the processes that use them", function()
    local found = read("nvidia::gpu0,process")
    same(found, "nvidia:4711:gpu0,process", { memory = "1073741824", sm_util = "88", mem_util = "40",
      enc_util = "0", dec_util = "5" })
    assert.equal("gpu_process", found["nvidia:4712:gpu0,process:class"])
    assert.is_nil(found["nvidia:4712:gpu0,process:memory"], "not known is absent")
  end)

  it("lose the kstat of a process that ends", function()
    local r = script([[
      fill("")
      local k = kstat.open({ only = "nvidia::gpu0,process" })
      for _, text in ipairs({ "", "ended 1\n" }) do
        fill(text)
        k:update()
        print(k:lookup("nvidia", 4711, "gpu0,process") ~= nil, k:lookup("nvidia", 4712, "gpu0,process") ~= nil)
      end
    ]])
    assert.equal("true\ttrue\ntrue\tfalse\n", r.out, r.err)
  end)

  it("have XID errors, counted from the time when the program began to listen", function()
    local r = script([[
      local k = kstat.open({ only = "nvidia::*,xid" })
      local x = k:lookup("nvidia", 1, "gpu1,xid")
      print(x:get("errors"), x:get("last"))
      fill("xid 79\nxid 31\n")
      k:update()
      print(x:get("errors"), x:get("last"), x.crtime > 0)
    ]])
    assert.equal("0\tnil\n2\t31\ttrue\n", r.out, r.err)
  end)

  it("are not looked for by those who do not name them", function()
    env.KSTAT_NVML = "/nonexistent"
    assert.equal("", run.run({ env = env, "kstat", "-p" }).err)
    assert.equal("", run.run({ env = env, "kstat", "-p", ":::" }).err)
  end)

  it("of a recorded tree do not stand for those of this machine", function()
    env.LD_LIBRARY_PATH, env.KSTAT_NVML = dir, nil
    run.shell(("cp %s/spec/nvml_stub.so %s/libnvidia-ml.so.1"):format(run.build, dir))
    local r = run.run({ env = env, "kstat", "-p", "nvidia:::" })
    assert.same({ "", "", 1 }, { r.out, r.err, r.status })
    run.shell(("rmdir %s/proc/driver/nvidia"):format(dir))
    env.KSTAT_NVML = dir .. "/libnvidia-ml.so.1"
    assert.equal("", run.run({ env = env, "kstat", "-p", "nvidia:::" }).out, "nor is there one without the driver")
  end)

  it("of an old driver lack what its library does not know, and no more", function()
    env.KSTAT_NVML = run.build .. "/spec/nvml_stub_old.so"
    local found, r = read("nvidia:::", "nvidia::/,/")
    assert.same({ "", 0 }, { r.err, r.status })
    same(found, "nvidia:0:gpu0", { state = "ok", memory_used = "64424509440", temp = "64", throttle_reasons = "36" })
    assert.is_nil(found["nvidia:0:gpu0:memory_reserved"])
    assert.is_nil(found["nvidia:0:gpu0:rows_failed"])
    assert.equal("gpu_energy", found["nvidia:0:gpu0,energy:class"])
    assert.is_nil(found["nvidia:0:gpu0,energy:energy"])
    assert.equal("1073741824", found["nvidia:4711:gpu0,process:memory"])
    assert.equal("4096", found["nvidia:4713:gpu0,process:memory"])
  end)

  it("are lost without harm to others, with a line each time that it happens", function()
    trouble("lost 0\n")
    local found, r = read("nvidia:::")
    same(found, "nvidia:0:gpu0", { state = "lost", model = "Stub H100 80GB HBM3" })
    assert.is_nil(found["nvidia:0:gpu0:temp"])
    same(found, "nvidia:1:gpu1", { state = "ok", temp = "44" })
    assert.equal("kstat: nvidia:0:gpu0: lost; its statistics are missing (the kernel's log says why; reset the GPU " ..
      "or restart the machine)\n", r.err)
    assert.equal(0, r.status)
    trouble("reset 1\n")
    assert.equal("to be reset", read("nvidia:::")["nvidia:1:gpu1:state"])
    r = script([[
      local k = kstat.open({ only = "nvidia:0:gpu0" })
      local g = k:lookup("nvidia", 0, "gpu0")
      for _, text in ipairs({ "", "lost 0\n", "lost 0\n", "" }) do
        fill(text)
        k:update()
        print(g:get("state"), g:get("temp"))
      end
    ]])
    assert.equal("ok\t64\nlost\tnil\nlost\tnil\nok\t64\n", r.out, r.err)
  end)

  it("that hang delay a reading once, and the others are read", function()
    env.KSTAT_WAIT_MAX = "250"
    local r = script([[
      fill("")
      local k = kstat.open({ only = "nvidia:::" })
      local a, b
      repeat
        k:update()
        a, b = k:lookup("nvidia", 0, "gpu0"), k:lookup("nvidia", 1, "gpu1")
      until a and b and a:get("state") == "ok" and b:get("state") == "ok"
      fill("hang nvmlDeviceGetPowerUsage\n")
      for i = 1, 20 do
        k:update()
        print(a:get("state"), b:get("state"), a:get("temp"))
      end
      fill("")
      repeat k:update() until a:get("state") == "ok" and b:get("state") == "ok"
      print(a:get("temp"), b:get("temp"))
    ]])
    assert.equal(("no answer\tno answer\tnil\n"):rep(20) .. "64\t44\n", r.out, r.err)
  end)

  it("are asked once for what never changes", function()
    local r = script([[
      local k = kstat.open({ only = "nvidia:1:gpu1" })
      local g = k:lookup("nvidia", 1, "gpu1")
      local clock, width = g:get("clock_graphics_max"), g:get("pcie_width_max")
      fill("hang nvmlDeviceGetMaxClockInfo\nhang nvmlDeviceGetMaxPcieLinkWidth\n")
      k:update()
      print(g:get("state"), clock ~= nil and g:get("clock_graphics_max") == clock, g:get("pcie_width_max") == width)
    ]])
    assert.equal("ok\ttrue\ttrue\n", r.out, r.err)
  end)

  it("are found once the library is there, also by a process that looked for them before", function()
    local library = env.KSTAT_NVML
    env.KSTAT_NVML = dir .. "/libnvidia-ml.so.1"
    local r = script(([[
      print((kstat.open({ only = "nvidia:::" }):lookup("nvidia", 0, "gpu0")))
      os.execute("cp %s %s")
      print(kstat.open({ only = "nvidia:::" }):lookup("nvidia", 0, "gpu0"):get("temp"))
    ]]):format(library, env.KSTAT_NVML))
    assert.equal("nil\n64\n", r.out, r.err)
  end)

  it("are missing with a line if the library cannot be started", function()
    env.KSTAT_WAIT_MAX = "250"
    local function line(text)
      trouble(text)
      local r = run.run({ env = env, "kstat", "-p", "nvidia:::" })
      assert.same({ "", 1 }, { r.out, r.status })
      return r.err
    end
    assert.equal("kstat: GPUs of NVIDIA are missing: " .. env.KSTAT_NVML .. ": Driver/library version mismatch\n",
      line("init 18\n"))
    assert.equal("kstat: GPUs of NVIDIA are missing: the driver's library does not answer\n",
      line("hang nvmlInit_v2\n"))
    env.KSTAT_NVML = "/nonexistent/libnvidia-ml.so.1"
    assert.truthy(line(""):find("^kstat: GPUs of NVIDIA are missing: /nonexistent/libnvidia%-ml.so.1: cannot open"))
    env.KSTAT_NVML = run.build .. "/lib/libkstat.so"
    assert.equal("kstat: GPUs of NVIDIA are missing: " .. env.KSTAT_NVML .. " has no nvmlInit\n", line(""))
  end)
end)
