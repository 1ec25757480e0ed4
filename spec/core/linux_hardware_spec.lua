-- Hardware of Linux: directories of devices with small files.
local L = require("support.linux")
local run = require("support.run")

local TREE = run.tree("hardware")

describe("hardware", function()
  local d

  setup(function()
    d = L.dump(TREE .. "/proc", TREE .. "/sys")
  end)

  local function same(...) L.same(d, ...) end

  it("has temperatures and what cools", function()
    same("thermal:0:x86_pkg_temp", { temp = "49925", trip_point_0 = "100000", trip_point_0_type = "critical" })
    same("thermal:10:acpitz", { temp = "-5000" })
    same("thermal:0:cooling", { type = "Processor", cur_state = "1", max_state = "3" })
    assert.equal("1/1000 C", d.meta["thermal:0:x86_pkg_temp:temp"].unit)
  end)

  it("has supplies and batteries", function()
    same("power_supply:0:AC", { type = "Mains", online = "1" })
    same("power_supply:1:BAT1", { type = "Battery", capacity = "81", current_now = "-1500000",
      energy_now = "36580000", cycle_count = "17", status = "Discharging" })
  end)

  it("has errors of memory", function()
    same("edac:0:mc0", { ce_count = "1", ue_count = "5", size = "16384", mc_name = "Skylake Socket#0 IMC#0" })
    same("edac:0:csrow0", { ce_count = "3", ue_count = "4", ch0_ce_count = "2" })
    same("edac:0:dimm0", { ce_count = "3", label = "CPU_SrcID#0_MC#0_Chan#0_DIMM#0" })
    assert.equal("counter", d.meta["edac:0:mc0:ue_count"].kind)
  end)

  it("has ports of InfiniBand and Fibre Channel", function()
    same("infiniband:1:mlx5_0", { state = "4", phys_state = "5", rate = "100", port_rcv_data = "4631917",
      symbol_error = "2", out_of_buffer = "9", link_layer = "InfiniBand" })
    assert.is_nil(d.stat["infiniband:1:mlx5_0:link_downed"], "what the port does not count is absent")
    same("fc:3:host3", { port_state = "Online", speed = "16 Gbit", rx_frames = "3", tx_words = "68719476736" })
    assert.is_nil(d.stat["fc:3:host3:invalid_crc_count"], "-1 is no count")
    assert.is_nil(d.stat["fc:3:host3:link_failure_count"])
  end)

  it("has GPUs of AMD and Intel, whose drivers have files of their own", function()
    same("drm:0:card0", { gpu_busy_percent = "37", mem_info_vram_total = "8573157376", sclk = "2371", mclk = "1000",
      pcie_replay_count = "4", ecc_uncorrected = "1", ecc_corrected = "12", link_speed = "16.0 GT/s PCIe",
      link_width = "16", temp = "61000", temp_crit = "100000", power = "203000000", power_limit = "303000000",
      fan = "1230" })
    same("drm:1:card1", { gt_act_freq = "350", gt_max_freq = "1450", idle_msec = "987654", throttled = "1",
      throttled_pl1 = "1", throttled_thermal = "0" })
    same("drm:2:card2", { gt_act_freq = "2400", gt_max_freq = "2850", idle_msec = "1234", throttled = "1",
      throttled_pl1 = "0", throttled_thermal = "1", energy = "4123456789", temp = "45000" })
    assert.is_nil(d.stat["drm:2:card2:power_limit"], "0 is no limit")
    assert.is_nil(d.kstat["drm:0:card0-HDMI-A-1"], "an output is no GPU")
  end)

  it("has watchdogs", function()
    same("watchdog:0:watchdog0", { identity = "iTCO_wdt", state = "inactive", timeout = "30" })
  end)

  it("has what slows CPUs down, and how long they were in each state", function()
    same("cpu:0:throttle", { core_throttle_count = "5", package_throttle_count = "30", core_throttle_time = "1200",
      core_power_limit_count = "3", core_id = "2" })
    same("cpu:1:throttle", { core_throttle_count = "7" })
    assert.is_nil(d.kstat["cpu:1:cstates"])
    same("cpu:0:cstates", { POLL_time = "12", C1E_time = "987654321", C1E_usage = "4000", C1E_rejected = "6" })
    same("cpu:0:pstates", { ["1200000kHz"] = "500", ["2600000kHz"] = "777", transitions = "42" })
    assert.equal("us", d.meta["cpu:0:cstates:C1E_time"].unit)
    assert.equal("1/100 s", d.meta["cpu:0:pstates:1200000kHz"].unit)
  end)

  it("describes every statistic", function()
    for id in pairs(d.stat) do
      assert.is_not_nil(d.meta[id], id)
      assert.is_true(#d.meta[id].desc > 5, id)
    end
  end)

  it("continues the counter of energy, which starts again while it runs", function()
    local dir = L.copy(TREE)
    local file = dir .. "/sys/class/powercap/intel-rapl:0/energy_uj"
    local list = L.dumps(dir .. "/proc", dir .. "/sys", "echo 1000 > " .. file, "echo 5000 > " .. file,
      "rm " .. file, "echo 6000 > " .. file)
    L.remove(dir)
    local function energy(i)
      return list[i].stat["rapl:0:package-0:energy"]
    end
    assert.equal("262143000000", energy(1))
    assert.equal("262143329850", energy(2))
    assert.equal("262143333850", energy(3))
    assert.is_nil(energy(4))
    assert.equal(0, list.status)
  end)

  it("survives files that hold nothing, garbage or too much", function()
    local dir = L.copy(TREE)
    L.sh(("cd %s/sys/class && : > thermal/thermal_zone0/type && head -c 100000 /dev/urandom > power_supply/BAT1/status"
      .. " && printf '%%0500d' 7 > thermal/thermal_zone0/temp && echo 99999999999999999999 > power_supply/BAT1/capacity"
      .. " && ln -s /dev/zero watchdog/watchdog0/nowayout && mkdir drm/card0/device/unique_id"
      .. " && mkdir thermal/thermal_zone99999999999999"):format(dir))
    L.sh(("cd %s/sys/devices/system/cpu/cpu0 && echo nonsense > cpufreq/stats/time_in_state"):format(dir))
    local g = L.dump(dir .. "/proc", dir .. "/sys")
    L.remove(dir)
    assert.same({}, g.error)
    assert.is_not_nil(g.kstat["thermal:0:thermal_zone0"], "without a text the directory is the name")
    assert.is_nil(g.stat["power_supply:1:BAT1:capacity"])
    assert.equal("42", g.stat["cpu:0:pstates:transitions"])
    assert.truthy(table.concat(g.warnings):find("time_in_state", 1, true))
  end)
end)

describe("on this machine, what is optional", function()
  it("is there for those who name it", function()
    local all = run.run({ "kstat", "-l" }).out
    assert.falsy(all:find("cpu:%d+:cstates"))
    assert.falsy(all:find("cpu:%d+:throttle"))
    local has = L.exists("/sys/devices/system/cpu/cpu0/cpuidle/state0/name")
    assert.equal(has, run.run({ "kstat", "-l", "cpu::cstates" }).out:find("cpu:0:cstates") ~= nil)
    assert.equal(has, run.run({ env = { KSTAT_WITH = "power" }, "kstat", "-l" }).out:find("cpu:0:cstates") ~= nil)
    assert.falsy(run.run({ "kstat", "-l", "cpu:::" }).out:find("cstates"))
  end)
end)
